"""Exchange of tables: what one codec writes of each column and another of the same format reads.

Tables reach a worker as Arrow, R's as RDS, and come back as tagged values: columns, or rows. So
cells are compared, a column at a time; the width of a column's type (int8 against int64) and
metadata are not in what workers hand back, and not judged here.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tare.datasets.saving import save
from tare.errors import TareError, UsageError
from tare.measure.environment import tempdirs
from tare.measure.exchange.documents import (
    CHANGED,
    DEADLINE_S,
    MOST_CHANGES,
    OWN,
    OWN_DEADLINE_S,
    OnlyPairs,
    Seat,
    Stop,
    Tell,
    Values,
    digest_of,
    gravest,
    paired,
    reason_of,
)
from tare.measure.exchange.temporal import has_typed, with_rebuilt
from tare.measure.fidelity.probe_columns import COLUMNS, ROW
from tare.measure.worker_client.languages import language_of

__all__ = [
    "NOT_OWN",
    "OWN_NAMES",
    "as_columns",
    "cells_of",
    "exchange_tables",
    "judge_columns",
    "nulls",
    "table_block",
]

OWN_NAMES = f"{OWN}'s columns"
"""Name of the cell that holds the names of the user's columns; a column's own is ``own data NAME``."""

NOT_OWN = f"{OWN} was not exchanged"
"""How the reason begins where nothing of the user's table was exchanged."""

# Tagged values have no place for what these two ask: a second column of one name, and metadata.
_NOT_HANDED_BACK = frozenset({"duplicate_names", "metadata"})
_R_NA = 1954  # low word of R's NA_real_


def table_block(format: str, beside: Mapping[str, Any]) -> str:
    """Name of a format's exchange of tables in a record: its id, unless documents have that.

    >>> table_block("csv", {}), table_block("rds", {"rds": {}})
    ('csv', 'rds tables')
    """
    return f"{format} tables" if format in beside else format


def exchange_tables(  # noqa: PLR0913 - one keyword for each thing a caller may decide
    format: str,
    codecs: Sequence[str],
    *,
    given: Mapping[str, str] | None = None,
    only: Sequence[str] = (),
    own: Any = None,
    only_pairs: OnlyPairs = None,
    workdir: str | Path | None = None,
    tell: Tell | None = None,
    stop: Stop | None = None,
) -> dict[str, Any]:
    """Every table written by every codec and read by every codec, as the record holds it.

    Args:
        format: Id of the format that the codecs share.
        codecs: Their ids; each is a writer and a reader.
        given: Commands of workers by name.
        only: Names of probes of ``columns/1``; all whose answer workers can hand back if none is named.
        own: A table of the user's, of any kind; each of its columns is told apart, and the list of their names.
        only_pairs: Writers and readers to try; every pair of the codecs if None.
        workdir: Where files are kept until the end; None for the system's temporary files.
        tell: Told the codec that is at work.
        stop: Whether to end; a worker that is asked something then is killed.

    Returns:
        What `tare.measure.exchange.documents.exchange` returns; the values of own data are named by column, and `OWN_NAMES`.
        With ``reason`` if own data cannot be exchanged, as where two columns have one name.

    Raises:
        UsageError: A codec of another format, or no such probe.
    """
    tables = _tables(only)
    wanted = {name: cells_of(table) for name, table in tables.items()}
    reason = _add_own(own, tables, wanted)
    folder = tempdirs.make(workdir)
    judged: dict[tuple[str, bool, bytes], dict[str, dict[str, Any]]] = {}
    try:
        values = Values(
            "table",
            tables,
            lambda name, language: _handed(tables[name], folder / "given", language),
            lambda seat, name, cell: _cells(
                seat, name, cell, folder / "out", judged, table=tables[name], wanted=wanted[name]
            ),
        )
        pairs = paired(
            format, codecs, values, folder, given=given or {}, only_pairs=only_pairs, tell=tell, stop=stop
        )
    finally:
        tempdirs.remove(folder)
    return {
        "set": "columns/1",
        "codecs": list(codecs),
        "pairs": pairs,
        **({"reason": reason} if reason else {}),
    }


def _tables(only: Sequence[str]) -> dict[str, Any]:
    known = {one.name: one for one in COLUMNS if one.name not in _NOT_HANDED_BACK}
    for name in only:
        if name not in known:
            raise UsageError(f"no probe {name!r} of tables to exchange; there are {', '.join(known)}")
    return {name: known[name].build() for name in only or known}


def _add_own(own: Any, tables: dict[str, Any], wanted: dict[str, dict[str, Any]]) -> str:
    """Add the user's table, if there is one, to those that are exchanged; why it cannot be, or nothing."""
    from tare.categories import in_one_order
    from tare.kinds import convert

    if own is None:
        return ""
    untold: dict[str, str] = {}
    try:
        table = in_one_order(convert(own, "arrow"))
        try:
            cells = cells_of(table)
        except (TareError, ValueError, ArithmeticError):  # what Python has no value for
            if len(set(table.column_names)) < table.num_columns:
                raise
            cells, untold = _columns_told(table)
            if not cells:
                raise
    except (TareError, ValueError, ArithmeticError) as error:
        return f"{NOT_OWN}: {' '.join(str(error).split())[:200]}"
    wanted[OWN], tables[OWN] = cells, table.select(list(cells))
    return "; ".join(f"{OWN}'s column {name} was not exchanged: {why}" for name, why in untold.items())[:1000]


def _columns_told(table: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """The cells of the columns that Python has values for, and why the others have none: a year 11000."""
    cells: dict[str, Any] = {}
    untold: dict[str, str] = {}
    for name in table.column_names:
        try:
            cells |= cells_of(table.select([name]))
        except (TareError, ValueError, ArithmeticError) as error:
            untold[name] = " ".join(str(error).split())[:200]
    return cells, untold


def cells_of(table: Any) -> dict[str, Any]:
    """The table as it would come back if nothing changed; times of day to the microsecond, as Python has no finer ones."""
    import pyarrow as pa

    from tare.kinds import convert
    from tare.tagged import from_tagged, to_tagged

    if not table.num_columns:
        return {}  # which has no place for rows
    for at, field in enumerate(table.schema):
        if pa.types.is_time64(field.type) and field.type.unit == "ns":
            table = table.set_column(at, field.name, table.column(at).cast(pa.time64("us"), safe=False))
    back: dict[str, Any] = from_tagged(to_tagged(convert(table, "columns"), other=True))
    return back


def _handed(table: Any, path: Path, language: str) -> tuple[Path, str]:
    """Write the table as the language takes it; where, and how that is called."""
    if language == "r":
        from tare.codec import encode

        path.write_bytes(encode(table, "rds:tare"))
        return path, "rds"
    saved = save(table, "table", path)
    return path, saved["as"]


def _cells(
    seat: Seat,
    name: str,
    written: dict[str, Any],
    out: Path,
    judged: dict[tuple[str, bool, bytes], dict[str, dict[str, Any]]],
    *,
    table: Any,
    wanted: dict[str, Any],
) -> dict[str, dict[str, Any]]:
    """What the reader made of one table: a cell for a probe, one for the user's names and each of its columns.

    `judged` has what readers handed back before.
    """
    kept = name == OWN
    columns = [column for column in wanted if column != ROW or kept]
    shown = "" if kept else _shown(wanted, columns)
    if "path" not in written:
        return {name: {**written, "in": shown}}
    out.unlink(missing_ok=True)
    try:
        seat.decode(written["path"], out, OWN_DEADLINE_S if kept else DEADLINE_S, parts=kept)
        of_r = language_of(seat.codec, seat.given) == "r"
        key = (name, of_r, digest_of(out))
        if key in judged:
            return judged[key]
        tree = json.loads(out.read_bytes())
        seat.heed()
        back, untold = _told(tree, wanted, by_column=kept)
        if of_r:
            back = {key: nulls(cells) for key, cells in back.items()}
    except (TareError, OSError, ValueError, RecursionError) as error:
        return {name: {"outcome": "error", "in": shown, "error": reason_of(error)}}
    seat.heed()
    judged[key] = _held(name, table, {column: wanted[column] for column in columns}, back, seat)
    for column, reason in untold.items():
        if column in wanted:
            judged[key][f"{OWN} {column}"] = {"outcome": "error", "in": "", "error": reason}
    return judged[key]


def _told(tree: Any, wanted: Mapping[str, Any], *, by_column: bool) -> tuple[dict[str, Any], dict[str, str]]:
    """The columns that a reader handed back; of the user's table, also why some are not told, which are None then.

    >>> _told({"a": [1], "t": [{"$date": "no day"}]}, {}, by_column=True)
    ({'a': [1], 't': None}, {'t': 'Malformed: $date needs ISO 8601 text, at $[0]'})
    """
    from tare.tagged import from_tagged

    try:
        return as_columns(from_tagged(tree), wanted), {}
    except (TareError, ValueError, RecursionError):
        columns = _tagged_columns(tree, wanted) if by_column else None
        if columns is None:
            raise
    back: dict[str, Any] = {}
    untold: dict[str, str] = {}
    for name, cells in columns.items():
        if isinstance(cells, dict) and isinstance(cells.get("$untold"), str):
            back[name], untold[name] = None, " ".join(cells["$untold"].split())[:200]
            continue
        try:
            back[name] = from_tagged(cells)
        except (TareError, ValueError, RecursionError) as error:
            back[name], untold[name] = None, reason_of(error)
    return back, untold


def _tagged_columns(tree: Any, wanted: Mapping[str, Any]) -> dict[str, Any] | None:
    """The columns of a table as they are before they are read; None where what is there tells no columns."""
    if isinstance(tree, dict) and list(tree) == ["$map"] and isinstance(tree["$map"], list):
        pairs = tree["$map"]
        if not all(isinstance(one, list) and len(one) == 2 and isinstance(one[0], str) for one in pairs):
            return None
        return dict(pairs)
    rows = [tree] if isinstance(tree, dict) else tree if isinstance(tree, list) else [None]
    if not all(isinstance(row, dict) and not any(name[:1] == "$" for name in row) for row in rows):
        return None
    return as_columns(tree, wanted)


def _held(
    name: str, table: Any, wanted: dict[str, Any], back: dict[str, Any], seat: Seat
) -> dict[str, dict[str, Any]]:
    """The cells of what came back, held against what was wanted."""
    if name == OWN:
        cells = {}
        for column, kept in wanted.items():
            cells[f"{OWN} {column}"] = judge_columns(table, {column: kept}, _part(back, column))
            seat.heed()
        return {OWN_NAMES: _named(list(wanted), list(back)), **cells}
    cell = judge_columns(
        table,
        wanted,
        {key: found for key, found in back.items() if key != ROW},
    )
    if cell["outcome"] == "same":
        return {name: cell}
    return {
        name: {
            **cell,
            "in": _shown(wanted, list(wanted)),
            "out": _shown(back, [key for key in back if key != ROW]),
        }
    }


def _part(back: Mapping[str, Any], column: str) -> dict[str, Any]:
    return {column: back[column]} if column in back else {}


def _named(wanted: list[str], back: list[str]) -> dict[str, Any]:
    """The names of a whole table: one that was added, or another order, is in no column's own cell.

    The verdict is that of the same names when a table is weighed: only one that is gone is lost.
    """
    from tare.fidelity.comparison import show

    if wanted == back:
        return {"outcome": "same", "in": ""}
    pairs = zip_longest(wanted, back)
    places = [place for place, (one, other) in enumerate(pairs) if one != other]
    whole = all(show(names).endswith("]") for names in (wanted, back))
    first = 0 if whole else max(0, places[0] - 1)  # of many names those around the first that differs
    return {
        "outcome": "changed",
        "verdict": "type" if set(wanted) <= set(back) else "lossy",
        "in": show(wanted[first:]),
        "out": show(back[first:]),
        "at": f"[{places[0]}]",
        "count": len(set(wanted) ^ set(back)) or len(places),
    }


def judge_columns(table: Any, wanted: dict[str, Any], back: dict[str, Any]) -> dict[str, Any]:
    """What became of some columns of a table; `wanted` are their cells as they would come back unchanged."""
    import pyarrow as pa

    from tare.measure.fidelity.run_probes import compare

    found = compare(wanted, back, kind="document", limit=MOST_CHANGES)
    if found.verdict not in CHANGED:
        return {"outcome": "same", "in": ""}
    if not found.changes:
        return {"outcome": "changed", "verdict": found.verdict, "in": ""}
    verdict = found.verdict
    if verdict == "lossy":
        kinds = {name: table.schema.field(name).type for name in wanted if name in back}
        rebuilt = {
            name: with_rebuilt(pa.list_(kind), wanted[name], back[name])
            for name, kind in kinds.items()
            if has_typed(kind)
        }
        if rebuilt and compare(wanted, {**back, **rebuilt}, kind="document", limit=1).verdict != "lossy":
            verdict = "type"
    first, count = gravest(found)
    return {
        "outcome": "changed",
        "verdict": verdict,
        "in": first.in_,
        "out": first.out,
        "at": first.at or first.path,
        "count": count,
    }


def as_columns(back: Any, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of what a reader handed back; of rows, a name that the first ones lack stands behind the one before it.

    Raises:
        ValueError: It is neither.

    >>> list(as_columns([{"a": 1, "c": 3}, {"a": 1, "b": 2, "c": 3}], {}))
    ['a', 'b', 'c']
    """
    if isinstance(back, dict):
        return back
    if not isinstance(back, list) or not all(isinstance(row, dict) for row in back):
        raise ValueError(f"the reader gave no table: {type(back).__name__}")
    if not back:  # rows that are none tell no names
        return {name: [] for name in wanted}
    names: list[str] = []
    known: set[str] = set()
    for row in back:
        if row.keys() <= known:
            continue
        place = 0
        for name in row:
            if name in known:
                place = names.index(name) + 1
                continue
            names.insert(place, name)
            known.add(name)
            place += 1
    return {name: [row.get(name) for row in back] for name in names}


def nulls(cells: Any) -> Any:
    """R's NA is the null of a table: of a type's own, or among doubles the NaN that R made its NA. A factor has its values."""
    from tare.tagged import NA, Factor

    if isinstance(cells, Factor) and all(
        code is None or 0 < code <= len(cells.levels) for code in cells.codes
    ):
        return [None if code is None else cells.levels[code - 1] for code in cells.codes]
    if not isinstance(cells, list):
        return cells
    return [
        None
        if isinstance(cell, NA) or (isinstance(cell, float) and math.isnan(cell) and _low_word(cell) == _R_NA)
        else cell
        for cell in cells
    ]


def _low_word(cell: float) -> int:
    return int.from_bytes(struct.pack("<d", cell)[:4], "little")


def _shown(columns: Mapping[str, Any], names: Sequence[str]) -> str:
    from tare.fidelity.comparison import show

    if len(names) == 1 and names[0] == "c":
        return show(columns["c"])
    return show({name: columns[name] for name in names})
