"""Carrying out one unit: read, write, check, rename, receipt; in this order, any number of times.

`run_unit` never raises: an exception of another process that cannot be unpickled would break its pool.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import resource
import shutil
import stat
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from tare import atomic
from tare._version import __version__
from tare.datasets.source import printable
from tare.errors import EncodeError, TareError, UsageError
from tare.scale.attempts import attempt_of
from tare.scale.failures import NameTaken, Several, classify, error_of
from tare.scale.owners import Owners, not_ours, seen
from tare.scale.place import LocalPlace, Place, entry_of, hashed, local_path, place_of, shown
from tare.scale.state import State
from tare.scale.unit import check_unit, input_bytes, unit_key

__all__ = ["Made", "Writing", "run_unit"]

_COUNT = itertools.count()
_NAME_BYTES = 255


@dataclass
class Made:
    """What a task made: one output, or several of one unit.

    Args:
        rows: Rows or documents.
        fidelity: What came back as another type or value, as `tare convert` tells it.
        libraries: Versions of the libraries that did it.
        output: Each file written: ``name, size, hash``.
        extra: What the task's own receipt says beside.
    """

    rows: int = 0
    fidelity: list[dict[str, Any]] = field(default_factory=list)
    libraries: dict[str, str] = field(default_factory=dict)
    output: list[dict[str, Any]] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)


class Writing:
    """The outputs of one attempt: each is written beside, checked, and renamed when all are there.

    Args:
        place: Where they go.
        key: Of the unit.
        settings: ``verify``, ``fsync``, ``allow_pickle``, ``on_loss``, ``overwrite``, ``engine``, ``again``, whether this
            run may have been at it before; ``there``, as `Guard.there` gives it; of `put` ``turn``, the plan's, and ``begun``, whether an earlier run began it.
        sources: The URIs of what is read.
        names: Of outputs that are made of one source each, in the order of these.
    """

    def __init__(
        self,
        place: Place,
        key: str,
        settings: Mapping[str, Any],
        sources: Sequence[str] = (),
        names: Sequence[str] = (),
    ) -> None:
        self.place = place
        self.key = key
        self._sources = set(sources)
        self._source_of = dict(zip(names, sources, strict=False))
        self._modes: dict[str, int] = {}
        self.allow_pickle = bool(settings.get("allow_pickle"))
        self.allow_loss = str(settings.get("on_loss", "fail")) != "fail"
        self.overwrite = bool(settings.get("overwrite"))
        self.engine = str(settings.get("engine", ""))
        self.verify = str(settings.get("verify", "hash"))
        self._fsync = str(settings.get("fsync", "unit"))
        self._again = bool(settings.get("again", settings.get("attempt", 0) != 1))
        self._turn = str(settings.get("turn", ""))
        self._begun = bool(settings.get("begun"))
        self._state = State.from_settings(settings) if settings.get("state") else None
        self._there: Mapping[str, str] | None = settings.get("there")
        self._parts: list[tuple[str, str]] = []
        self._free: set[str] = set()  # names that were free, or never looked at, of an object store
        self._attempts: dict[str, set[str]] = {}
        self._folders: set[str] = set()
        self.committed: list[str] = []
        """The outputs that were renamed, or the keys that are set, also if the unit fails for another's sake."""
        self.rows: dict[str, int] = {}
        """Of each output, where a unit has several: some may be well if it fails."""
        self._bytes: dict[str, int] = {}
        self.guarded = False
        """Whether names that no plan knows beforehand may take the place of nobody else's file."""
        self.noted = False
        """Whether what is about to be renamed is written down, as a later plan may not know of it."""
        self.to_replace = "say --overwrite"
        """What whoever asked can do to replace a file that is somebody else's."""

    @contextlib.contextmanager
    def output(self, name: str) -> Iterator[str]:
        """A path to write an output at; its ending is that of the output.

        Raises:
            UsageError: No file can have that name.
        """
        long = next((part for part in name.split("/") if len(part.encode()) > _NAME_BYTES), "")
        if long:
            raise UsageError(
                f"no file can be named {printable(long, 60)}: names have at most {_NAME_BYTES} bytes, this has "
                f"{len(long.encode()):,}"
            )
        base = atomic.last_bytes(name.rsplit("/", 1)[-1], 80)
        path = self.place.scratch(f"{self._attempt(base)}/{base}")
        self._folders.add(os.path.dirname(path))
        self._parts.append((path, name))
        try:
            yield path
            self._narrow(path, name)
        except BaseException:
            self._parts.remove((path, name))
            with contextlib.suppress(OSError):
                os.unlink(path)
            raise

    def _narrow(self, path: str, name: str) -> None:
        """Let nobody at an output who may not read its source; of a unit's pieces that have no source of their own, any source."""
        if not isinstance(self.place, LocalPlace):
            return
        mode = stat.S_IMODE(os.stat(path).st_mode)
        allowed = mode
        for uri in [self._source_of[name]] if name in self._source_of else self._sources:
            if uri not in self._modes:
                self._modes[uri] = atomic.mode_of(local_path(uri)) if uri.startswith("file:") else 0o777
            allowed &= self._modes[uri]
        if allowed != mode:
            os.chmod(path, allowed)

    def _attempt(self, base: str) -> str:
        """The name of a folder that has no file of that name yet: one for all outputs, if their names differ."""
        for attempt, names in self._attempts.items():
            if base not in names:
                names.add(base)
                return attempt
        attempt = attempt_of(self.key, next(_COUNT))
        self._attempts[attempt] = {base}
        return attempt

    def mark(self) -> int:
        """Where `back_to` goes back to."""
        return len(self._parts)

    def back_to(self, mark: int) -> None:
        """Give up the outputs that were written since."""
        for path, _ in self._parts[mark:]:
            with contextlib.suppress(OSError):
                os.unlink(path)
        del self._parts[mark:]

    def written(self) -> list[dict[str, Any]]:
        """Name, size and content hash of what is to be renamed; no hash if sizes are all that is checked."""
        sizes_alone = self.verify == "size"
        found = (
            (name, (os.path.getsize(path), "") if sizes_alone else hashed(path)) for path, name in self._parts
        )
        return [{"name": name, "size": size, "hash": hash} for name, (size, hash) in found]

    def commit(self) -> list[dict[str, Any]]:
        """Rename all, or none if one cannot be; what was written.

        Raises:
            NameTaken: A file of somebody else has the name of an output, and may not be replaced.
            EncodeError, OSError: An output could not be put in its place.
        """
        if others := self.give_up_others():
            raise next(iter(others.values()))
        facts = self.written()
        self._bytes |= {str(fact["name"]): int(fact["size"]) for fact in facts}
        if self.guarded:
            self._leave_others()
        if self._fsync != "none":
            self.place.settle([path for path, _ in self._parts])
        if self.noted and self._state is not None:
            self._write_intent(facts)
        self._put()
        self._parts.clear()
        if self._fsync == "all":
            self.place.flush(str(fact["name"]) for fact in facts)
        for number, fact in enumerate(facts):
            found = self.place.stat(str(fact["name"]))
            if found is None or found.size != fact["size"]:
                raise EncodeError(
                    f"{fact['name']} has {found.size if found else 0} bytes, {fact['size']} were written"
                )
            facts[number] = {**fact, **found.identity}
        return facts

    def _put(self) -> None:
        """Give the outputs their names: all, or none if a place fails; a name that is taken costs its output alone."""
        new: list[str] = []
        taken: list[Exception] = []
        for path, name in self._parts:
            try:
                if name in self._free:
                    is_new = self.place.create(path, name)
                    if not is_new:
                        self._check_same(path, name)
                else:
                    is_new = len(self._parts) > 1 and self.place.stat(name) is None
                    self.place.commit(path, name)
            except NameTaken as error:
                taken.append(error)
                continue
            except (OSError, TareError):
                for one in new:
                    self.place.remove(one)
                self.committed = [one for one in self.committed if one not in new]
                raise
            self.committed.append(name)
            new += [name] if is_new else []
        if taken:
            raise taken[0] if len(self._parts) == 1 else Several(taken)

    def _check_same(self, path: str, name: str) -> None:
        """Of a name that was taken meanwhile: another attempt at this unit, or somebody else?"""
        there = self.place.stat(name)
        if there is None:  # gone again: the next attempt finds it free
            raise OSError(errno.EAGAIN, "was there, and is not any more", name)
        if not self._is_same(path, name, there.size):
            raise NameTaken(f"{name}: {not_ours()}")

    def _write_intent(self, facts: Sequence[dict[str, Any]]) -> None:
        """Say what is about to be renamed: if no receipt follows, nothing else tells that these files are from here."""
        told = [
            fact if fact["hash"] else {**fact, **self._known_by(path)}
            for fact, (path, _) in zip(facts, self._parts, strict=True)
        ]
        cast(State, self._state).write_intent(
            self.key, self._sources, told, again=self._again, flush=self._fsync != "none"
        )

    def _known_by(self, path: str) -> dict[str, Any]:
        """What tells a file from another of its size, if nothing was hashed: its time, which a rename leaves as it is."""
        if isinstance(self.place, LocalPlace):
            return {**entry_of("", os.stat(path)).identity}
        return {"hash": hashed(path)[1]}

    def give_up_others(self) -> dict[str, NameTaken]:
        """Give up the outputs in whose place a file of somebody else stands; why, by name.

        What is the same is of an attempt that died, or of another run of this unit.
        """
        found: dict[str, NameTaken] = {}
        if self._there is None:
            return found
        # What has appeared since is looked for here: of an object store by the put itself, which is no request more.
        is_near = isinstance(self.place, LocalPlace)
        unseen = not_ours() if is_near else ""
        for path, name in [*self._parts]:
            why = self._there.get(name, unseen)
            there = seen(self.place, name) if why else None
            if there is None:
                self._free.update([] if is_near or (name in self._there and not why) else [name])
            if there is None or self._is_same(path, name, there.size):
                continue
            found[name] = NameTaken(f"{name}: {why}")
            self._parts.remove((path, name))
            with contextlib.suppress(OSError):
                os.unlink(path)
        return found

    def _is_same(self, path: str, name: str, size: int) -> bool:
        """Whether what was written has the bytes of what is there."""
        if os.path.getsize(path) != size:
            return False
        with self.place.local(name) as other:
            return hashed(other) == hashed(path)

    def _leave_others(self) -> None:
        """Refuse to replace what another source gave, or nobody knows; what is the same is of an attempt that died."""
        owners = Owners(self._state) if self._state is not None else None
        for path, name in self._parts:
            there = self.place.stat(name)
            if there is None or self._is_same(path, name, there.size):
                continue
            others = owners.of(name) if owners is not None else None
            if others is None:
                whose = "and no plan knows it"
            elif others == self._sources or not others.isdisjoint(self._sources):
                continue  # parts of data frames have no sources: one may replace another
            else:
                whose = f"made of {shown(min(others))}" if others else "made of a data frame"
            raise NameTaken(
                f"{name} exists already, {whose}. Move it away, or {self.to_replace} to replace it."
            )

    def before(self) -> set[str]:
        """The keys that earlier attempts have set, also of a unit that failed."""
        if self._state is None:
            return set()
        receipt, failure = self._state.receipt(self.key) or {}, self._state.failure(self.key) or {}
        return {str(one["key"]) for one in receipt.get("objects", [])}.union(failure.get("committed", []))

    def begun_keys(self) -> Mapping[str, str] | None:
        """What the unit's keys named when the turn of the plan began, as hashes; None if no attempt can have set any since."""
        if self._state is None or not self._turn or not (self._begun or self._again):
            return None
        return self._state.begun_keys(self._turn, self.key)

    def well(self) -> dict[str, int]:
        """Rows and bytes of the outputs that are in their place."""
        rows, sizes = (sum(each.get(name, 0) for name in self.committed) for each in (self.rows, self._bytes))
        return {"rows": rows, "bytes_out": sizes}

    def discard(self) -> None:
        """Remove what was not renamed, and the folders that it was written in."""
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)
        self._parts.clear()


def run_unit(unit: dict[str, Any], settings: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Carry out one unit.

    Args:
        unit: As a plan holds it.
        settings: ``state`` and ``inner`` as `State.settings` gives them, by default those of the unit's own
            folder; ``verify`` (``size``, ``hash``, ``decode``), ``fsync`` (``none``, ``unit``, ``all``), ``allow_pickle``,
            ``on_loss``, ``overwrite``, ``engine``, ``attempt``; ``key``, from who has checked the unit already; ``there``,
            the results that are there, and why each stays (`Guard.there`).

    Returns:
        The receipt: ``key, status`` (``done``, ``skipped``, ``duplicate``, ``failed``), ``output, bytes_in,
        bytes_out, rows, fidelity, seconds, cpu_seconds, peak_memory, host, pid, attempt, tare, libraries``, and
        if it failed ``error``, and ``committed``: the names of outputs, or keys, that are in their place for all that.
    """
    given = dict(settings or {})
    began_s, cpu_s = time.monotonic(), time.process_time()
    receipt: dict[str, Any] = {
        "key": "", "status": "failed", "output": [], "bytes_in": 0, "bytes_out": 0, "rows": 0, "fidelity": [],
        "host": os.uname().nodename, "pid": os.getpid(), "attempt": int(given.get("attempt", 1)),
        "tare": __version__, "libraries": {}, "input": [],
    }  # fmt: skip
    stage = ["reading"]
    _begin_peak()
    try:
        receipt["key"] = str(given.get("key") or unit_key(check_unit(unit)))
        receipt["input"] = [str(one["uri"]) for one in unit.get("input", [])]
        _carry_out(unit, given, receipt, stage)
    except Exception as error:
        failure = classify(error, writing=stage[0] == "writing")
        receipt |= {"status": "failed", "error": error_of(error, failure, traceback.format_exc())}
    receipt |= {
        "seconds": round(time.monotonic() - began_s, 6),
        "cpu_seconds": round(time.process_time() - cpu_s, 6),
        "peak_memory": _peak_memory(),
    }
    return _filed(receipt, given, unit)


def _carry_out(
    unit: dict[str, Any], settings: dict[str, Any], receipt: dict[str, Any], stage: list[str]
) -> None:
    from tare.scale.tasks import task_of

    settings.setdefault("state", str(unit.get("output", {}).get("base", "")))
    state = State.from_settings(settings)
    before = state.receipt(receipt["key"])
    verify = str(settings.get("verify", "hash"))
    if before is not None and state.is_done(before, unit=unit, verify=verify):
        receipt |= {
            name: before[name]
            for name in ("output", "verify", "rows", "fidelity", "libraries")
            if name in before
        }
        receipt["status"] = "skipped"
        return
    receipt["bytes_in"] = input_bytes(unit)
    base = unit.get("output", {}).get("base")
    names = unit.get("output", {}).get("names", ())
    place = place_of(base) if base else state.place
    writing = Writing(place, receipt["key"], settings, receipt["input"], names)
    writing.noted = _is_noted(unit)
    try:
        made = task_of(unit["task"])(unit, writing)
        stage[0] = "writing"
        output = _committed(state, writing, unit, receipt, before)
    except Exception:
        receipt |= {"committed": writing.committed, **writing.well()}
        raise
    finally:
        writing.discard()
    receipt |= {
        "output": output or made.output,
        "verify": verify,
        "rows": made.rows,
        "fidelity": made.fidelity,
        "libraries": made.libraries,
        **made.extra,
    }
    receipt["bytes_out"] = sum(int(one["size"]) for one in receipt["output"])


def _committed(
    state: State,
    writing: Writing,
    unit: dict[str, Any],
    receipt: dict[str, Any],
    before: dict[str, Any] | None,
) -> list[dict[str, Any]]:
    """Rename the outputs, unless somebody else finished the same unit meanwhile."""
    again = state.receipt(receipt["key"])
    receipt["status"] = "done"
    if again in (None, before) or not state.is_done(again, unit=unit, verify=writing.verify):
        try:
            return writing.commit()
        except (NameTaken, Several):  # another attempt may have been faster, and its receipt be there by now
            again = state.receipt(receipt["key"])
            if again in (None, before) or not state.is_done(again, unit=unit, verify=writing.verify):
                raise
    receipt["status"] = "duplicate"
    if [one["hash"] for one in writing.written()] != [one["hash"] for one in again["output"]]:
        receipt["not_deterministic"] = 1
    return list(again["output"])


def _is_noted(unit: Mapping[str, Any]) -> bool:
    """Whether a later plan may not know what a unit has renamed, so that it must be said before.

    Values tell the names of partitions; of a source that has become shorter there are fewer parts.
    """
    return "partition" in unit["options"] or any("range" in one for one in unit.get("input", ()))


def _begin_peak() -> None:
    """From now on the peak of this process is that of the unit; where it cannot be said, of all units before it too."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


def _peak_memory() -> int:
    """Bytes at the peak of this process; what getrusage says begins with the peak of who started it."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _filed(receipt: dict[str, Any], settings: Mapping[str, Any], unit: Any) -> dict[str, Any]:
    """The receipt, written where the next run finds it."""
    if not receipt["key"] or not settings.get("state") or receipt["status"] in ("skipped", "duplicate"):
        return receipt
    try:
        state = State.from_settings(settings)
        if receipt["status"] == "done":
            state.write_receipt(receipt, flush=settings.get("fsync") == "all")
            if _is_noted(unit):
                with contextlib.suppress(OSError, TareError):  # it is done; the end of a run removes it too
                    state.drop_intent(receipt["key"])
        else:
            state.write_failure({**receipt, "unit": unit})
    except (OSError, TareError) as error:
        if receipt["status"] == "done":
            receipt |= {"status": "failed", "error": error_of(error, classify(error, writing=True))}
        else:
            receipt["unfiled"] = str(error)[:200]
    return receipt
