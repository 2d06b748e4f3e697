"""Plans: the list of units of one piece of work, as a file that any number of processes can carry out.

A plan is JSON lines: a head, then one unit a line, the largest first, so that what takes longest does not
come last. It is written once and never changed. It is data from outside: every line is checked.
"""

from __future__ import annotations

import json
import os
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

from tare import atomic
from tare._tare import Blake3
from tare._version import __version__
from tare.datasets.source import printable
from tare.errors import PlanError
from tare.scale.unit import MAX_BYTES, canonical, check_unit, input_bytes, unit_key

__all__ = ["MAX_UNITS", "Plan", "make_plan", "read_plan"]

MAX_UNITS = 10_000_000
_HEAD = {"tare_plan", "id", "task", "units", "bytes", "base", "tare", "about"}


class Plan:
    """The units of one piece of work.

    Args:
        path: The file, of JSON lines.
        head: Its first line, checked.
        start: Where the first unit begins in the file.
    """

    def __init__(self, path: str, head: dict[str, Any], start: int) -> None:
        self.path = path
        self.head = head
        self._start = start
        self.is_checked = False
        """Whether every unit was read and is one: then the file can be kept. Its head alone does not tell."""
        self.overwrite = False
        """Whether who has just made it allows that files are replaced that are not from here. Its file cannot say so."""
        self.passed_over: list[tuple[str, str]] = []
        """``(name, why)`` of what was left out when it was just made, `Undone` if it may be data. Its file does not say so."""
        self.names: Callable[[str], bool] | None = None
        """Of a source's URI, whether what it was just made of names it, there or not. Its file does not say so."""

    def __repr__(self) -> str:
        return f"<Plan {self.id}: {self.count:,} units, {self.bytes_in:,} bytes>"

    def __len__(self) -> int:
        return self.count

    @property
    def id(self) -> str:
        """16 hex digits that equal plans have in common."""
        return str(self.head["id"])

    @property
    def task(self) -> str:
        """``convert``, ``encode``, ``put`` or ``measure``."""
        return str(self.head["task"])

    @property
    def count(self) -> int:
        """Number of units."""
        return int(self.head["units"])

    @property
    def bytes_in(self) -> int:
        """Bytes that all units read."""
        return int(self.head["bytes"])

    @property
    def base(self) -> str:
        """The folder of the outputs, as a URI; empty for tasks without."""
        return str(self.head.get("base", ""))

    def units(self) -> Iterator[dict[str, Any]]:
        """The units, the largest first; one at a time is in memory.

        Raises:
            PlanError: A line is no unit of this plan; the line is named.
        """
        with open(self.path, "rb") as file:
            file.seek(self._start)
            count = 0
            for number, line in enumerate(_lines(file), 2):
                yield _checked(self.path, number, line, self.base or None)
                count += 1
        if count != self.count:
            raise PlanError(
                f"{printable(self.path)}: its head says {self.count:,} units, there are {count:,}"
            )
        self.is_checked = True

    def check(self) -> None:
        """Read every unit, unless that was done.

        Raises:
            PlanError: A line is no unit of this plan; the line is named.
        """
        if not self.is_checked:
            for _ in self.units():
                pass


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """Open a plan's file; units are checked as they are read.

    Raises:
        PlanError: Not a plan, or of a newer version.
        OSError: It cannot be read.
    """
    name = os.fspath(path)
    with open(name, "rb") as file:
        line = file.readline(MAX_BYTES + 1)
        start = file.tell()
    try:
        head = json.loads(line)
    except (ValueError, RecursionError):
        head = None
    if not isinstance(head, dict) or "tare_plan" not in head:
        raise PlanError(f"{printable(name)}: line 1: not a plan, as `tare plan` writes them")
    if head["tare_plan"] != 1:
        raise PlanError(
            f"{printable(name)}: line 1: this version reads plan 1, not {head['tare_plan']!r:.40}"
        )
    for field, kind in (("id", str), ("task", str), ("units", int), ("bytes", int)):
        if type(head.get(field)) is not kind:
            raise PlanError(f"{printable(name)}: line 1: {field} is missing, or not of its type")
    unknown = sorted(head.keys() - _HEAD)
    if unknown:
        raise PlanError(f"{printable(name)}: line 1: there is no field {unknown[0]!r:.60}")
    if not 0 <= head["units"] <= MAX_UNITS:
        raise PlanError(f"{printable(name)}: line 1: at most {MAX_UNITS:,} units")
    if not head["id"].isalnum():
        raise PlanError(f"{printable(name)}: line 1: an id has letters and digits")
    return Plan(name, head, start)


def make_plan(
    units: Iterable[dict[str, Any]],
    path: str | os.PathLike[str],
    *,
    task: str,
    base: str = "",
    about: str = "",
) -> Plan:
    """Write units as a plan, the largest first.

    Args:
        units: They are taken one at a time; where each lies is all that is kept in memory.
        path: The file; it appears when it is complete.
        task: What all of them do.
        base: The folder of the outputs, as a URI.
        about: What the user asked for, for those who read the plan.

    Raises:
        PlanError: There are none, too many, or two write the same output.
        OSError: The file cannot be written.
    """
    sizes, starts, lengths = array("q"), array("q"), array("l")
    names: set[bytes] = set()
    keys = Blake3()
    with tempfile.TemporaryFile() as raw:
        at = 0
        for unit in units:
            line = canonical(check_unit(unit)) + b"\n"
            keys.update(unit_key(unit).encode())
            _new_names(unit, names)
            raw.write(line)
            sizes.append(input_bytes(unit))
            starts.append(at)
            lengths.append(len(line))
            at += len(line)
            if len(sizes) > MAX_UNITS:
                raise PlanError(f"more than {MAX_UNITS:,} units: choose a larger --split")
        if not sizes:
            raise PlanError("there is nothing to do: no file was found")
        keys.update(base.encode())
        head = {
            "tare_plan": 1, "id": keys.hexdigest()[:16], "task": task, "units": len(sizes), "bytes": sum(sizes),
            "base": base, "tare": __version__, "about": about,
        }  # fmt: skip
        order = sorted(range(len(sizes)), key=lambda k: (-sizes[k], k))
        with atomic.replacing(path) as file:
            file.write(canonical(head) + b"\n")
            for k in order:
                raw.seek(starts[k])
                file.write(raw.read(lengths[k]))
    plan = read_plan(path)
    plan.is_checked = True  # each unit was, before it was written
    return plan


def _new_names(unit: dict[str, Any], names: set[bytes]) -> None:
    """Remember the outputs, as digests of 16 bytes: millions of names would be heavy."""
    for name in unit.get("output", {}).get("names", []):
        hasher = Blake3()
        hasher.update(name.encode())
        digest = bytes.fromhex(hasher.hexdigest()[:32])
        if digest in names:
            raise PlanError(f"two units write {printable(name)}")
        names.add(digest)


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(MAX_BYTES + 2):
        yield line


def _checked(path: str, number: int, line: bytes, base: str | None) -> dict[str, Any]:
    try:
        if len(line) > MAX_BYTES + 1:
            raise PlanError(f"a unit has at most {MAX_BYTES:,} bytes")
        return check_unit(json.loads(line, parse_constant=_refused), base=base)
    except (ValueError, RecursionError) as error:
        said = str(error) if isinstance(error, PlanError) else "not JSON"
        raise PlanError(f"{printable(path)}: line {number}: {said}") from None


def _refused(name: str) -> None:
    raise PlanError(f"{name} is no number of a plan")
