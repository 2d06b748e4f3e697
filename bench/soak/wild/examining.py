"""Checks of one table or document: read it, convert it there and back, and compare with what another library reads."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from readers import ROWS, Cells, Table, read_again, table_of, table_of_rows
from values import agree, canonical, cell_agrees

import tare

__all__ = ["DOCUMENTS", "Findings", "attempt", "difference", "examine", "told_of"]

DOCUMENTS = frozenset({"json", "yaml"})
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
    """

    refused: list[list[str]] = field(default_factory=list)
    told: list[list[str]] = field(default_factory=list)
    wrong: list[list[str]] = field(default_factory=list)
    judges: list[str] = field(default_factory=list)


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
    own = table_of(value) if isinstance(value, pa.Table) else canonical(value)
    truth: Any = own
    problems = []
    for name, other in read_again(kind, path, expected):
        found.judges.append(name)
        problem = difference(other, own)
        if not problem:
            truth, problems = other, []
            break
        problems.append(f"{name}: {problem}")
    form = "table" if isinstance(value, pa.Table) else "document"
    done = {}
    for target in (*_TARGETS[form], *((kind,) if kind in ("avro", "orc") else ())):
        out = folder / f"x.{target}"
        done[target] = _convert(found, _Step(target, path, out, _KIND_OF[target]), truth)
    if problems and not any(_noted(outcome) for outcome in done.values() if outcome):
        found.wrong.append(["read", "; ".join(problems)[:500]])
    elif problems:
        found.told.append(["read", "; ".join(problems)[:500]])
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
    problems = []
    for name, other in itertools.chain(read_again(step.kind, step.out), _by_tare(step.kind, step.out)):
        problem = difference(truth, other)
        if not problem:
            return done
        problems.append(f"{name}: {problem}")
    what = "; ".join(problems)[:500] + (f" (told: {told[:200]})" if told else "")
    if problems and any(_is_told(problems, one) for one in (done, *earlier)):
        found.told.append([step.name, f"differs: {what}"])
    elif problems:
        found.wrong.append([step.name, what])
    return done


def _by_tare(kind: str, path: Path) -> Any:
    """Yield Tare's own reading where no other library reads a format."""
    if kind == "orc":
        yield "tare", table_of(tare.read(path))


def told_of(done: Any) -> str:
    """Return what a conversion told of losses; types alone are none."""
    told = [
        f"{change['path']}: {change['verdict']} {change['from']} to {change['to']}"
        for change in done.changes
        if change["verdict"] != "type"
    ]
    told += [f"{loss['path']}: {loss['kind']}" for loss in done.losses]
    return "; ".join([*told, *done.notes])


def _noted(done: Any) -> bool:
    """Return whether a conversion said that the source may be read in another way."""
    return bool(done.notes) or bool((done.second.get("source") or {}).get("difference"))


def _is_told(problems: list[str], done: Any) -> bool:
    """Return whether a conversion told the difference: of the column, or of all."""
    paths = {str(change["path"]) for change in (*done.changes, *done.losses)}
    return all(any(path and path.split(".")[0] in problem for path in paths) for problem in problems) or bool(
        done.notes
    )


def difference(truth: Any, other: Any) -> str:
    """Return the first difference of two readings; empty if there is none."""
    if isinstance(truth, Cells) and isinstance(other, Cells):
        return _cells_beside_cells(truth, other)
    if isinstance(truth, Cells) and isinstance(other, Table):
        return _cells_beside_table(truth, other)
    if isinstance(truth, Table) and isinstance(other, Cells):
        return _cells_beside_table(other, truth)
    if isinstance(truth, Table) and isinstance(other, Table):
        return _tables(truth, other)
    if isinstance(truth, Table) and isinstance(other, list):
        return difference(truth, _rows(other))
    if isinstance(truth, list) and isinstance(other, Table):
        return difference(_rows(truth), other)
    if isinstance(truth, (Table, Cells)) or isinstance(other, (Table, Cells)):
        return f"{type(truth).__name__} beside {type(other).__name__}"
    return "" if agree(truth, other) else _first(truth, other, "")


def _rows(rows: list[Any]) -> Any:
    try:
        return table_of_rows(rows)
    except TypeError:
        return rows if not rows else {"": rows}


def _tables(one: Table, other: Table) -> str:
    if one.rows != other.rows:
        return f"{one.rows} rows, {other.rows} rows"
    given = dict(other.columns)
    if len(given) != len(other.columns) or len(dict(one.columns)) != len(one.columns):
        pairs = [
            (name, values, back)
            for (name, values), (_, back) in zip(one.columns, other.columns, strict=False)
        ]
    else:
        # A column of nulls may be missing where records leave nulls out.
        pairs = [(name, values, given.get(name, [None] * len(values))) for name, values in one.columns]
    for name, values, back in pairs:
        for row, (a, b) in enumerate(zip(values, back, strict=False)):
            if not agree(a, b):
                return f"column {name}, row {row + 1}: {_short(a)} beside {_short(b)}"
    return ""


def _cells_beside_table(cells: Cells, table: Table) -> str:
    rows = cells.rows
    names = [name for name, _ in table.columns]
    body = (
        rows[1:] if rows and [name.strip() for name in rows[0]] == [name.strip() for name in names] else rows
    )
    if len(body) not in (table.rows, table.rows + 1) or not rows:
        return f"{len(body)} rows, {table.rows} rows"
    if len(body) == table.rows + 1:
        body = body[1:]
    for at, (name, values) in enumerate(table.columns):
        for row, (cells_of_row, value) in enumerate(zip(body[:ROWS], values, strict=False)):
            cell = cells_of_row[at] if at < len(cells_of_row) else ""
            if not cell_agrees(cell, value):
                return f"column {name}, row {row + 1}: {_short(cell)} beside {_short(value)}"
    return ""


def _cells_beside_cells(one: Cells, other: Cells) -> str:
    if len(one.rows) != len(other.rows):
        return f"{len(one.rows)} rows, {len(other.rows)} rows"
    for row, (a, b) in enumerate(zip(one.rows[1:ROWS], other.rows[1:ROWS], strict=True)):
        for at, (cell, back) in enumerate(zip(a, b, strict=False)):
            if not (cell_agrees(cell, back) or (back == "" and cell_agrees(cell, None))):
                name = one.rows[0][at] if at < len(one.rows[0]) else str(at)
                return f"column {name}, row {row + 1}: {_short(cell)} beside {_short(back)}"
    return ""


def _first(a: Any, b: Any, path: str) -> str:
    """Return where two documents first differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        if a.keys() != b.keys():
            return f"{path}: keys {_short(sorted(a.keys() ^ b.keys()))}"
        for key in a:
            if not agree(a[key], b[key]):
                return _first(a[key], b[key], f"{path}/{key}")
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for at, (x, y) in enumerate(zip(a, b, strict=True)):
            if not agree(x, y):
                return _first(x, y, f"{path}/{at}")
    return f"{path}: {_short(a)} beside {_short(b)}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return json.dumps(text if len(text) <= 60 else text[:57] + "...") if isinstance(value, str) else text[:80]
