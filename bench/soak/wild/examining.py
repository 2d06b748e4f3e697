"""Checks of one table or document: read it, convert it there and back, and compare with what another library reads."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from differences import Difference, differences
from excuses import left
from readers import is_own, most_rows, read_again, table_of
from values import canonical

import tare

__all__ = ["Findings", "attempt", "examine", "told_of"]

_TARGETS = {"table": ("parquet", "feather", "ndjson", "csv"), "document": ("json", "msgpack", "yaml")}
_KIND_OF = {"feather": "arrow", "parquet": "parquet", "ndjson": "ndjson", "csv": "csv", "json": "json",
            "msgpack": "msgpack", "yaml": "yaml", "avro": "avro", "orc": "orc"}  # fmt: skip


@dataclass
class Findings:
    """The findings of one file.

    Attributes:
        refused: Steps that Tare refused, with its words.
        told: Steps that told a loss or a note.
        wrong: Steps that went wrong, with what happened.
        judges: Libraries that a reading was compared with.
        reader: The one that reads the same, or comes nearest; not the library by which Tare reads it.
    """

    refused: list[list[str]] = field(default_factory=list)
    told: list[list[str]] = field(default_factory=list)
    wrong: list[list[str]] = field(default_factory=list)
    judges: list[str] = field(default_factory=list)
    reader: str = ""


def attempt(found: Findings, step: str, call: Any) -> Any:
    """Return what a call gives; None if Tare refused it, in its own words, or anything went wrong."""
    try:
        return call()
    except tare.TareError as error:
        found.refused.append([step, f"{type(error).__name__}: {error}"[:400]])
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        found.wrong.append([step, f"{type(error).__module__}.{type(error).__name__}: {error}"[:400]])
    return None


def examine(kind: str, path: Path, folder: Path, expected: Path | None) -> Findings:
    """Try everything on a file.

    Args:
        kind: Its format.
        path: The file.
        folder: An empty folder for the results.
        expected: What its makers wrote down of what it holds.
    """
    found = Findings()
    attempt(found, "inspect", lambda: tare.inspect(path))
    value = attempt(found, "read", lambda: tare.read(path))
    if value is None and (found.refused or found.wrong):
        if any(step == "read" for step, _ in found.refused):
            return found
        if any(step == "read" for step, _ in found.wrong):
            return found
    own = table_of(value, most_rows(path)) if isinstance(value, pa.Table) else canonical(value)
    readings = []
    truth: Any = own
    for name, other in read_again(kind, path, expected):
        found.judges.append(name)
        if is_own(kind, name):
            continue
        readings.append(_Reading(name, differences(other, own)))
        if not readings[-1].differs:
            truth = other
            break
    form = "table" if isinstance(value, pa.Table) else "document"
    done = {}
    for target in (*_TARGETS[form], *((kind,) if kind in ("avro", "orc") else ())):
        out = folder / f"x.{target}"
        done[target] = _convert(found, _Step(target, path, out, _KIND_OF[target]), truth)
    # Of a conversion only what it says of the source is of the reading.
    read = [replace(one, changes=[], losses=[]) for one in done.values() if one]
    found.reader = _judge(found, "read", readings, read)
    middle = folder / ("x.parquet" if form == "table" else "x.msgpack")
    if middle.exists():
        ending = {"arrow": "feather"}.get(kind, kind)
        back = _Step(f"back to {ending}", middle, folder / f"back.{ending}", kind)
        _convert(found, back, truth, [one for one in done.values() if one])
    return found


@dataclass(frozen=True)
class _Step:
    """One conversion.

    Attributes:
        name: What the report calls it.
        path: The source.
        out: The result.
        kind: The format of the result.
    """

    name: str
    path: Path
    out: Path
    kind: str


def _convert(found: Findings, step: _Step, truth: Any, earlier: Iterable[Any] = ()) -> Any:
    """Convert a file and compare what another library reads of the result with the truth.

    Args:
        found: What is added to.
        step: The conversion.
        truth: What its source has.
        earlier: Conversions that made the source: what they told need not be told again.
    """
    done = attempt(found, step.name, lambda: tare.convert(step.path, step.out, sync=False))
    if done is None:
        return None
    told = told_of(done)
    if told:
        found.told.append([step.name, told[:300]])
    readings = []
    for name, other in itertools.chain(read_again(step.kind, step.out), _by_tare(step.kind, step.out)):
        readings.append(_Reading(name, differences(truth, other)))
        if not readings[-1].differs:
            break
    _judge(found, step.name, readings, [done, *earlier])
    return done


@dataclass(frozen=True)
class _Reading:
    """The reading of another library.

    Attributes:
        name: The library.
        differs: Where it reads something else.
    """

    name: str
    differs: list[Difference]


def _judge(found: Findings, step: str, readings: list[_Reading], done: list[Any]) -> str:
    """Add what no conversion told to what is wrong, by the reading that comes nearest; return whose that is.

    Args:
        found: What is added to.
        step: What the report calls it.
        readings: Those of each library, until one reads the same.
        done: The conversions that may have told a difference.
    """
    if not readings:
        return ""
    nearest = min(readings, key=lambda one: (len(left(one.differs, done)), len(one.differs)))
    wrong = left(nearest.differs, done)
    found.wrong += [[step, f"{nearest.name}: {one.text}"[:500]] for one in wrong]
    found.told += [[step, f"{nearest.name}: {one.text}"[:500]] for one in nearest.differs if one not in wrong]
    return nearest.name


def _by_tare(kind: str, path: Path) -> Iterator[tuple[str, Any]]:
    """Yield Tare's own reading where no other library reads a format."""
    if kind == "orc":
        yield "tare", table_of(tare.read(path), most_rows(path))


def told_of(done: Any) -> str:
    """Return what a conversion told of losses; types alone are none."""
    told = [
        f"{change['path']}: {change['verdict']} {change['from']} to {change['to']}"
        for change in done.changes
        if change["verdict"] != "type"
    ]
    told += [f"{loss['path']}: {loss['kind']}" for loss in done.losses]
    return "; ".join([*told, *done.notes])
