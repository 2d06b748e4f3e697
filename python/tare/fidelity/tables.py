"""Compares an Arrow table with what came back, column by column, cell by cell.

Compared are: number of rows; names and order of columns; each column's type,
nulls and values, floats by their bits, with dictionary levels, of which those
inside nested types by their order alone; metadata of the schema and the fields.
Not compared, as no cell depends on them: how a column is
cut into chunks, whether a field is declared nullable, the names of list items,
metadata that was added, and bookkeeping that libraries keep for themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tare.categories import orders_of
from tare.fidelity.column_casts import alike, cast_differences
from tare.fidelity.column_masks import (
    INTEGERS,
    Differences,
    as_pairs,
    decoded,
    differences,
    equal_types,
    has_floats,
    holds,
    members,
    storage,
    whole,
)
from tare.fidelity.comparison import LIMIT_CHARACTERS, Comparison, Tally, show
from tare.fidelity.nested_orders import lost_order
from tare.fidelity.pandas_shapes import compare_shapes
from tare.pandas_metadata import numbered_rows

__all__ = ["cell_text", "compare_tables", "distinct", "numbered"]

ROWS = 65_536
_NO_ORDER = "levels in orders that contradict each other"
# Metadata that says how a library stored a table, not what is in it.
_BOOKKEEPING = (
    b"pandas",
    b"ARROW:schema",
    b"PARQUET:",
    b"duckdb.",
    b"_PL_",
    b"org.apache.spark",
    b"parquet.avro",
    b"r",
)


def compare_tables(original: Any, back: Any, *, limit: int = 20, as_frame: bool = False) -> Comparison:
    """What the table ``back`` kept of the table ``original``.

    A column has the verdict ``type`` if its type differs and casting it back
    gives every cell again, ``lossy`` with the number of changed cells if not.

    Args:
        original: Arrow table that was encoded.
        back: Arrow table that decoding gave.
        limit: Most changes in the answer; the worst come first.
        as_frame: Whether both were data frames of pandas, of which the index, the labels and the dtypes count too.

    >>> before = pa.table({"n": pa.array([1, 2**53 + 1])})
    >>> after = pa.table({"n": pa.array([1.0, 2.0**53])})
    >>> change = compare_tables(before, after).changes[0]
    >>> change.path, change.verdict, change.count, change.at
    ('n', 'lossy', 1, 'row 1')
    """
    tally = Tally()
    rows_in, rows_out = original.num_rows, back.num_rows
    if rows_in != rows_out:
        tally.add("", "lossy", str(rows_in), str(rows_out), "", count=abs(rows_in - rows_out), side="rows")
        rows = min(rows_in, rows_out)
        original_cut, back_cut = original.slice(0, rows), back.slice(0, rows)
    else:
        original_cut, back_cut = original, back
    names = _paths(original.column_names)
    for i, j in _matched(original, back, names, tally):
        _column(original_cut.column(i), back_cut.column(j), names[i], tally)
        left, right = original.schema.field(i), back.schema.field(j)
        _metadata(left.metadata, right.metadata, names[i], tally)
    _metadata(original.schema.metadata, back.schema.metadata, "", tally)
    if as_frame:
        compare_shapes(original, back, names, tally)
    return tally.comparison(rows_in, rows_out, limit, original.num_columns)


# --- names ----------------------------------------------------------------------------------


def _paths(names: list[str]) -> list[str]:
    """A distinct, printable path for each column, duplicates and empty names included."""
    met: dict[str, int] = {}
    out = []
    for at, name in enumerate(names):
        met[name] = met.get(name, 0) + 1
        path = name if name and name.isprintable() and len(name) <= 200 else show(name)
        path = path if name else f"(column {at + 1})"
        out.append(path if met[name] == 1 else f"{path} #{met[name]}")
    return out


def _matched(original: Any, back: Any, names: list[str], tally: Tally) -> list[tuple[int, int]]:
    """Which column of ``back`` answers which of ``original``; notes names that changed."""
    before, after = original.column_names, back.column_names
    if before == after:
        return [(at, at) for at in range(len(before))]
    free: dict[str, list[int]] = {}
    for at, name in enumerate(after):
        free.setdefault(name, []).append(at)
    pairs = [(at, free[name].pop(0)) for at, name in enumerate(before) if free.get(name)]
    found = {i for i, _ in pairs}
    lost = [at for at in range(len(before)) if at not in found]
    extra = sorted(at for left in free.values() for at in left)
    if lost and len(before) == len(after) and all(at in extra for at in lost):
        # As many columns, some under another name at the same place: renamed, not gone.
        first = lost[0]
        tally.add(
            "",
            "lossy",
            show(before[first]),
            show(after[first]),
            f"column {first + 1}",
            count=len(lost),
            side="column names",
        )
        pairs += [(at, at) for at in lost]
        extra = []
    else:
        for at in lost:
            tally.add(
                names[at], "lossy", str(original.schema.field(at).type), "(missing)", f"column {at + 1}"
            )
    if extra:
        first = extra[0]
        added, place = f"{show(after[first])} added", f"column {first + 1}"
        tally.add("", "type", "(none)", added, place, count=len(extra), side="columns")
    order = [j for _, j in sorted(pairs)]
    if order != sorted(order):
        tally.add("", "type", show(before), show(after), "", side="column order")
    return sorted(pairs)


def _metadata(before: Any, after: Any, path: str, tally: Tally) -> None:
    after = after or {}
    for key, value in (before or {}).items():
        if key == b"pandas" and (rows := numbered_rows(value)) and rows != numbered_rows(after.get(key)):
            tally.add(path, "type", rows, "none", "", side="index")
        if key.startswith(_BOOKKEEPING[:-1]) or key == _BOOKKEEPING[-1]:
            continue
        if key == b"ARROW:extension:name" and key not in after:
            tally.add(path, "type", show(value), "its storage type", "", side="type")
        elif key == b"ARROW:extension:metadata" and key not in after:
            continue
        elif after.get(key) != value:
            now = show(after[key]) if key in after else "(missing)"
            tally.add(path, "lossy", show({key: value}), now, "", side="metadata")


# --- columns --------------------------------------------------------------------------------


def _column(a: Any, b: Any, path: str, tally: Tally) -> None:
    if _has_levels(a.type):
        _dictionary(a, b, path, tally)
        return
    if alike(a.type, b.type) and _equal(a, b):
        return
    before = len(tally.found)
    _count(a, b, path, tally, cast=not (alike(a.type, b.type) and a.type.equals(b.type)))
    if any(key[:2] == (path, "") for key in list(tally.found)[before:]):
        return
    if not alike(a.type, b.type):
        tally.add(path, "type", str(a.type), str(b.type), "", count=max(1, len(a)))
    if lost := lost_order(a, b):
        tally.add(path, "lossy", *lost, "", side="levels")


def _has_levels(kind: Any) -> bool:
    return bool(pa.types.is_dictionary(storage_type(kind)))


def storage_type(kind: Any) -> Any:
    """The type below an extension type."""
    while isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    return kind


def _equal(a: Any, b: Any) -> bool:
    """The quick yes: whole columns, floats as integers."""
    if not equal_types(a.type, b.type) or isinstance(a.type, pa.BaseExtensionType):
        return False
    if not has_floats(a.type):
        return bool(a.equals(b))
    if not pa.types.is_floating(a.type):
        return False
    left, right = (_as_integers(side) for side in (a, b))
    return bool(left.equals(right))


def _as_integers(column: Any) -> Any:
    whole: Any = INTEGERS[column.type.bit_width]
    return pa.chunked_array([chunk.view(whole) for chunk in column.chunks], whole)


def _array(chunked: Any) -> Any:
    if chunked.num_chunks == 1:
        return chunked.chunk(0)
    # Levels of several chunks are not always brought together: nulls among them, or of nested types.
    apart = holds(chunked.type, pa.types.is_dictionary)
    return pa.concat_arrays([whole(one) for one in chunked.chunks] if apart else chunked.chunks)


def _compared(a: Any, b: Any, find: Any, start: int = 0) -> Iterator[tuple[int, Any, Any, Differences]]:
    """Both columns in arrays of the same rows, few enough to copy, with their differences; where they begin."""
    for at in range(0, len(a), ROWS):
        rows = a.slice(at, ROWS), b.slice(at, ROWS)
        try:
            left, right = (_array(side) for side in rows)
            found = find(left, right)
        except (pa.ArrowInvalid, pa.ArrowCapacityError):
            # Offsets of 32 bits may not lead to the end of their values.
            half = len(rows[0]) // 2
            if not half:
                raise
            for first, count in ((0, half), (half, ROWS)):
                left, right = (side.slice(first, count) for side in rows)
                yield from _compared(left, right, find, start + at + first)
        else:
            yield start + at, left, right, found


def _count(a: Any, b: Any, path: str, tally: Tally, *, cast: bool) -> None:
    """Counts the cells that differ, and keeps the first of each kind."""
    find = cast_differences if cast else differences
    changed_type = cast and not alike(a.type, b.type)
    for start, left, right, found in _compared(a, b, find):
        kinds = (
            ("", "lossy", found.value),
            ("NaN payload", "lossy", found.payload),
            ("NaN sign", "type", found.sign),
        )
        for side, verdict, mask in kinds:
            if mask is None:
                continue
            count = int(np.count_nonzero(mask))
            if tally.known(path, verdict, count, side) is None:
                row = int(np.argmax(mask))
                in_, out = cell_text(left, row), cell_text(right, row)
                if changed_type:
                    in_, out = f"{in_} ({left.type})"[:80], f"{out} ({right.type})"[:80]
                tally.add(path, verdict, in_, out, f"row {start + row}", count=count, side=side)


def cell_text(array: Any, row: int) -> str:
    """One cell as text. Times print themselves: Python's have no nanoseconds."""
    array = decoded(
        _array(array.slice(row, 1)) if isinstance(array, pa.ChunkedArray) else array.slice(row, 1)
    )
    kind = array.type
    if not array[0].is_valid:
        return "null"
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        if pa.types.is_duration(kind):
            return f"{array.view(pa.int64())[0].as_py()} {kind.unit}"
        try:
            text = str(array.cast(pa.string())[0].as_py())
        except pa.ArrowInvalid:
            text = str(array.cast(pa.int64())[0].as_py())
        return text[:80]
    try:
        return show(array[0].as_py())
    except (ValueError, OverflowError, UnicodeDecodeError) as error:
        return f"<{kind}: {error}>"[:80]


# --- dictionaries ---------------------------------------------------------------------------


def _dictionary(a: Any, b: Any, path: str, tally: Tally) -> None:
    """Values first, then the levels: their order, and those that no row uses."""
    before = len(tally.found)
    both = _has_levels(b.type)
    plain = storage_type(a.type).value_type
    same_values = both and alike(plain, storage_type(b.type).value_type)
    _count(a, b, path, tally, cast=not same_values)
    if len(tally.found) > before:
        return
    kind = storage_type(a.type)
    levels, chains = _levels(a)
    back, chains_back = _levels(b) if both else (_used(b, levels), None)
    back = _as_long(back, levels.type) if both else back
    if kind.ordered and chains != chains_back:
        was, now = (
            _shown(one) if order is None else _NO_ORDER
            for one, order in ((levels, chains), (back, chains_back))
        )
        tally.add(path, "lossy", was, now, "", side="levels")
        return
    exact = both and kind.ordered == storage_type(b.type).ordered and alike(kind, storage_type(b.type))
    if _same(levels, back):
        if not exact and (both or not kind.ordered):
            lost = both and kind.ordered and not storage_type(b.type).ordered
            tally.add(path, "lossy" if lost else "type", str(a.type), str(b.type), "", count=max(1, len(a)))
        elif not both:
            tally.add(path, "lossy", "ordered", str(b.type), "", side="levels")
        return
    gone = _gone(levels, back) if len(levels) else 0
    verdict = "lossy" if gone or kind.ordered else "type"
    tally.add(path, verdict, _shown(levels), _shown(back), "", count=max(1, gone), side="levels")
    if not both:
        tally.add(path, "type", str(a.type), str(b.type), "", count=max(1, len(a)))


def _shown(levels: Any) -> str:
    """The levels as text; each as `cell_text` has it where Python has no value for one."""
    try:
        return show(levels.to_pylist())
    except (ValueError, OverflowError):
        texts = ", ".join(cell_text(levels, row) for row in range(min(len(levels), LIMIT_CHARACTERS)))
        return f"[{texts}]" if len(texts) < LIMIT_CHARACTERS - 1 else f"[{texts[: LIMIT_CHARACTERS - 4]}..."


def _levels(column: Any) -> tuple[Any, list[list[int]] | None]:
    """The levels of a dictionary column over all its chunks, in their order, as `tare.categories` brings them together.

    Returns:
        The levels; and where chunks contradict each other in their order, of which there is none then, the orders
        of the chunks, as places in the levels.
    """
    found = [whole(storage(chunk).dictionary) for chunk in column.chunks]
    kind = storage_type(column.type)
    if not found:
        return whole(pa.nulls(0, kind.value_type)), None
    if all(_same(found[0], other) for other in found[1:]):
        return found[0], None
    levels = distinct(found)
    if not kind.ordered:
        return levels, None
    orders = orders_of(_places(found, levels), len(levels))
    return (levels, orders) if len(orders) > 1 else (levels.take(pa.array(orders[0], pa.int64())), None)


def _places(chunks: list[Any], levels: Any) -> list[Any]:
    """Where the values of each chunk stand among the levels."""
    try:
        return [pc.index_in(one, value_set=levels).to_numpy() for one in chunks]
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError, pa.ArrowInvalid):
        place = {key: at for at, key in enumerate(_keys(levels))}
        return [np.array([place[key] for key in _keys(one)], np.int64) for one in chunks]


def _as_long(levels: Any, wanted: Any) -> Any:
    """Texts or bytes with offsets of the same width: which is a matter of the type, not of a level."""
    of_texts = (pa.types.is_string, pa.types.is_large_string)
    of_bytes = (pa.types.is_binary, pa.types.is_large_binary)
    for some in (of_texts, of_bytes):
        if all(any(test(kind) for test in some) for kind in (levels.type, wanted)):
            return levels.cast(wanted)
    return levels


def _used(column: Any, levels: Any) -> Any:
    """The distinct values of a column in order of appearance, as the type of the levels."""
    if not column.num_chunks:
        return levels.slice(0, 0)
    values = distinct([whole(chunk) for chunk in column.chunks])
    try:
        return values.drop_null().cast(levels.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return levels.slice(0, 0)


def _same(levels: Any, back: Any) -> bool:
    if not levels.type.equals(back.type) or len(levels) != len(back):
        return False
    return differences(levels, back).value is None


def distinct(chunks: list[Any]) -> Any:
    """Each value once, in order of appearance."""
    try:
        return pc.unique(pa.chunked_array(chunks))
    except pa.ArrowNotImplementedError:
        values: Any = pa.concat_arrays(chunks)
        first = {key: row for row, key in reversed(list(enumerate(_keys(values))))}
        return values.take(pa.array(sorted(first.values()), pa.int64()))


def numbered(parts: list[Any]) -> tuple[Any, list[Any]]:
    """Each value once, in order of appearance, and for each array where its values are among these.

    >>> levels, numbers = numbered([pa.array(["b", "a"]), pa.array(["a", None])])
    >>> levels.to_pylist(), [one.tolist() for one in numbers]
    (['b', 'a', None], [[0, 1], [1, 2]])
    """
    ends = np.cumsum([len(part) for part in parts])[:-1]
    try:
        chunks: Any = pc.dictionary_encode(pa.chunked_array(parts), null_encoding="encode").chunks
        levels = chunks[0].dictionary if chunks else parts[0]  # without a value there may be no chunk
        every = np.concatenate([np.zeros(0, np.int32), *(chunk.indices.to_numpy() for chunk in chunks)])
    except pa.ArrowNotImplementedError:
        values: Any = pa.concat_arrays(parts)
        places: dict[Any, int] = {}
        every = np.array([places.setdefault(key, len(places)) for key in _keys(values)], np.int64)
        levels = values.take(pa.array(np.unique(every, return_index=True)[1], pa.int64()))
    return levels, np.split(every, ends)


def _gone(levels: Any, back: Any) -> int:
    """How many levels are none of those that came back."""
    try:
        return len(levels) - int(pc.sum(pc.is_in(levels, value_set=back)).as_py())
    except (
        pa.ArrowNotImplementedError,
        pa.ArrowTypeError,
        pa.ArrowInvalid,
    ):  # levels of two types are none alike
        known = set(_keys(back))
        return sum(key not in known for key in _keys(levels))


def _keys(array: Any) -> list[Any]:
    """Values of a type that Arrow does not look up, as keys that differ where the values do.

    They are made of the keys of parts: Python has no value for a struct with a name twice.
    """
    array = storage(array)
    kind = array.type
    if pa.types.is_union(kind):
        return _keys_of_union(array)
    if pa.types.is_struct(kind):
        parts = [_keys(array.field(at)) for at in range(kind.num_fields)]
        found: list[Any] = list(zip(*parts, strict=True)) if parts else [()] * len(array)
    elif pa.types.is_map(kind):
        return _keys(as_pairs(array))
    elif pa.types.is_nested(kind):
        items = iter(_keys(array.flatten()))
        found = [tuple(islice(items, size or 0)) for size in pc.list_value_length(array).to_pylist()]
    else:
        found = [_key_of_leaf(array, row) for row in range(len(array))]
    return [key if valid else None for key, valid in zip(found, array.is_valid().to_pylist(), strict=True)]


def _keys_of_union(array: Any) -> list[Any]:
    found: list[Any] = [None] * len(array)
    for at, (rows, values) in enumerate(members(array)):
        for row, key in zip(rows.tolist(), _keys(values), strict=True):
            found[row] = (at, key)
    return found


def _key_of_leaf(array: Any, row: int) -> str:
    cell = array[row]
    if pa.types.is_time64(array.type) and cell.is_valid and array.type.unit == "ns" and cell.value % 1000:
        return cell_text(array, row)  # Python's has no nanoseconds, and these would be left out
    try:
        return repr(cell.as_py())
    except (ValueError, OverflowError):  # a moment that Python has not
        return cell_text(array, row)
