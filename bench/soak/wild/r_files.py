"""Checks of one file of R, whose results R itself compares (`compare.R`)."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from differences import Difference, differences, rows_of
from examining import Findings, attempt, told_of
from readers import Cells, Table, read_again
from values import canonical

import tare
from tare import r

__all__ = ["examine_r", "examine_tables", "read_dump"]


_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}


def examine_r(kind: str, path: Path, folder: Path) -> Findings:
    """Read a file, write it in the formats of R, and in those of tables what is a data frame.

    The folder then has what R reads: ``same.*`` and ``other.*``, by whose names it knows what they must be.
    """
    found = Findings()
    attempt(found, "inspect", lambda: tare.inspect(path))
    whole = attempt(found, "read", lambda: r.read(path, as_="robject"))
    if whole is None:
        return found
    losses: list[Any] = []
    attempt(found, "values", lambda: r.read(path, loss=losses))
    if losses:
        found.told.append(["values", f"{len(losses)} losses"])
    ending = {"rdata": "RData"}.get(kind, "rds")
    attempt(found, "write", lambda: r.write(whole, folder / f"same.{ending}", strict=True))
    for step, target in (("rds", "other.rds"), ("RData", "other.RData"), ("qs2", "middle.qs2")):
        if target.endswith(ending):
            continue
        _tell(
            found, step, attempt(found, step, lambda to=target: tare.convert(path, folder / to, sync=False))
        )
    if (folder / "middle.qs2").exists():
        attempt(found, "qs2 to rds", lambda: tare.convert(folder / "middle.qs2", folder / "qs2.rds"))
    if kind in ("rds", "rdata"):
        shutil.copy(path, folder / f"source.{ending}")
    variable = _first_table(whole) if kind == "rdata" else None
    for step in ("json", "parquet", "csv"):
        if kind == "rdata" and variable is None and step != "json":
            continue
        chosen = {"variable": variable} if variable is not None else {}
        out = folder / f"table.{step}"
        _tell(
            found, step, attempt(found, step, lambda o=out, c=chosen: tare.convert(path, o, sync=False, **c))
        )
    if variable is not None:
        (folder / "variable").write_text(variable, encoding="utf-8")
    return found


def _tell(found: Findings, step: str, done: Any) -> None:
    if done is not None and (told := told_of(done)):
        found.told.append([step, told[:300]])


def _first_table(whole: Any) -> str | None:
    """Return the name of the first data frame of an RData file."""
    for name, value in whole.items():
        if "data.frame" in (getattr(value, "classes", None) or getattr(value, "class_", None) or ()):
            return str(name)
    return next(iter(whole)) if len(whole) == 1 else None


def examine_tables(folder: Path) -> Findings:
    """Compare the tables of a folder with what R wrote down of the same data frame."""
    found = Findings()
    dump = folder / "dump.tsv"
    if not dump.exists():
        return found
    truth = read_dump(dump.read_text(encoding="utf-8"))
    for step in ("parquet", "json", "csv"):
        path = folder / f"table.{step}"
        if not path.exists():
            continue
        readings = [(name, _of_table(truth, other)) for name, other in read_again(step, path)]
        if readings:
            name, differs = min(readings, key=lambda one: len(one[1]))
            found.wrong += [[step, f"{name}: {one.text}"[:500]] for one in differs]
    found.judges.append("R's values")
    return found


def _of_table(truth: Table, other: Any) -> list[Difference]:
    if isinstance(other, Table):
        names = {name for name, _ in other.columns}
        missing = [name for name, _ in truth.columns if name not in names]
        if missing and truth.rows:
            return [Difference(missing[0], "columns", f"no column {missing[0]}")]
    if isinstance(other, Cells):
        # R writes down only columns of its plain types.
        header = other.rows[0] if other.rows else []
        if missing := [name for name, _ in truth.columns if name not in header]:
            return [Difference(missing[0], "columns", f"no column {missing[0]}")]
        places = [header.index(name) for name, _ in truth.columns]
        other = Cells([[row[at] if at < len(row) else "" for at in places] for row in other.rows])
    if isinstance(other, dict):
        return []
    # Columns that R does not write down are compared by R itself.
    if isinstance(other, list):
        other = rows_of(other)
    if isinstance(other, Table):
        names = {name for name, _ in truth.columns}
        other = Table(other.rows, [(name, values) for name, values in other.columns if name in names])
    return differences(truth, other)


def read_dump(text: str) -> Table:
    """Return the table that `compare.R` wrote: lines of a column, each followed by its values."""
    lines = text.split("\n")
    rows = int(lines[0])
    columns = []
    at = 1
    while at + 2 < len(lines):
        name, form, count = _plain(lines[at]), lines[at + 1], int(lines[at + 2])
        values = lines[at + 3 : at + 3 + count]
        columns.append((name, [_value(form, text) for text in values]))
        at += 3 + count
    return Table(rows, columns)


def _value(form: str, text: str) -> Any:
    from values import Stamp

    if text == "\\N":
        return None
    if form == "text":
        return _plain(text)
    if form == "logical":
        return text == "TRUE"
    if form == "integer":
        return int(text)
    if form == "double":
        return float(text)
    if form == "date":
        return Stamp(int(float(text) // 1) * 86_400 * 10**9)
    return canonical(text)


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPED.get(found[1], found[1]), text)
