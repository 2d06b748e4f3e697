"""Columns of any type within any other: equal to themselves however they are cut or copied, and one changed leaf is found."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import assume, given
from hypothesis import strategies as st

from tare.fidelity.tables import compare_tables

NAN = float("nan")
FAR = 2**61
FLOATS = (0.0, -0.0, NAN, 1.5)
LEAVES: tuple[tuple[Any, tuple[Any, ...]], ...] = (
    (pa.int8(), (0, 1, 2)),
    (pa.bool_(), (True, False)),
    (pa.float16(), FLOATS),
    (pa.float32(), FLOATS),
    (pa.float64(), FLOATS),
    (pa.string(), ("", "a", "b")),
    (pa.string_view(), ("", "a", "longer than what is held in place")),
    (pa.binary_view(), (b"", b"a", b"b")),
    (pa.date32(), (0, 1, 2**30)),
    (pa.time64("ns"), (0, 1, 1000)),
    (pa.timestamp("s"), (0, 1, FAR)),
    (pa.timestamp("ns", "UTC"), (0, 1, 1000)),
)
LISTS: dict[str, tuple[Any, Any]] = {
    "list": (pa.ListArray, pa.int32()),
    "large list": (pa.LargeListArray, pa.int64()),
    "list view": (pa.ListViewArray, pa.int32()),
    "large list view": (pa.LargeListViewArray, pa.int64()),
}
NESTED = (*LISTS, "fixed list", "map", "struct", "sparse union", "dense union", "levels", "runs")


@dataclass(frozen=True)
class Column:
    """What a column is made of, so that it can be made again with another leaf.

    Args:
        shape: What it is.
        make: Of the parts, the array and the twin: what each row holds, made without Arrow.
        parts: The columns within.
        cells: Of a leaf, its cells, which may be changed, and what they are taken from.
    """

    shape: str
    make: Callable[[], tuple[Any, list[Any]]]
    parts: tuple[Column, ...] = ()
    cells: list[Any] = field(default_factory=list)
    choices: tuple[Any, ...] = ()

    def leaves(self) -> Iterator[Column]:
        """Those with cells, at every depth."""
        if self.cells:
            yield self
        for part in self.parts:
            yield from part.leaves()

    def levels_of_levels(self) -> bool:
        """Whether there are any, at whatever depth: Arrow's IPC writes what it cannot read back."""
        own = self.shape == "levels" and self.parts[0].shape == "levels"
        return own or any(part.levels_of_levels() for part in self.parts)


def _bits(value: Any) -> Any:
    return struct.pack("<d", value) if isinstance(value, float) else value


def _nulls(draw: st.DrawFn, rows: int) -> list[bool]:
    return draw(st.lists(st.sampled_from([False, False, True]), min_size=rows, max_size=rows))


def _mask(nulls: list[bool]) -> Any:
    return pa.array(nulls, pa.bool_())


def _shown(nulls: list[bool], twin: list[Any]) -> list[Any]:
    return [None if null else cell for null, cell in zip(nulls, twin, strict=True)]


def _leaf(draw: st.DrawFn, rows: int, *, names: bool = False) -> Column:
    kind, choices = (pa.string(), ("", "a", "b")) if names else draw(st.sampled_from(LEAVES))
    some = st.sampled_from(choices) if names else st.none() | st.sampled_from(choices)
    cells = draw(st.lists(some, min_size=rows, max_size=rows))

    def make() -> tuple[Any, list[Any]]:
        of = pa.float32() if kind == pa.float16() else kind
        return pa.array(cells, of).cast(kind), [_bits(cell) for cell in cells]

    return Column(str(kind), make, (), cells, choices)


def _column(draw: st.DrawFn, rows: int, depth: int) -> Column:
    shape = draw(st.sampled_from(NESTED)) if depth else "leaf"
    if shape == "leaf":
        return _leaf(draw, rows)
    if shape in LISTS or shape in ("fixed list", "map"):
        return _lists(draw, rows, depth, shape)
    if shape == "struct":
        return _struct(draw, rows, depth)
    if shape in ("levels", "runs"):
        return _encoded(draw, rows, depth, shape)
    return _union(draw, rows, depth, shape)


def _lists(draw: st.DrawFn, rows: int, depth: int, shape: str) -> Column:
    nulls, size = _nulls(draw, rows), draw(st.integers(1, 2))
    fixed = shape == "fixed list"
    sizes = [size] * rows if fixed else [0 if null else draw(st.integers(0, 2)) for null in nulls]
    ends = np.cumsum([0, *sizes])
    items = _column(draw, int(ends[-1]), depth - 1)
    keys = _leaf(draw, int(ends[-1]), names=True) if shape == "map" else None

    def make() -> tuple[Any, list[Any]]:
        values, twin = items.make()
        if keys is not None:
            names, names_twin = keys.make()
            array = pa.MapArray.from_arrays(pa.array(ends, pa.int32()), names, values, mask=_mask(nulls))
            twin = list(zip(names_twin, twin, strict=True))
        elif fixed:
            array = pa.FixedSizeListArray.from_arrays(values, size, mask=_mask(nulls))
        else:
            of, whole = LISTS[shape]
            places = [ends[:-1], sizes] if "view" in shape else [ends]
            array = of.from_arrays(*(pa.array(some, whole) for some in places), values, mask=_mask(nulls))
        return array, _shown(
            nulls, [tuple(twin[at : at + n]) for at, n in zip(ends[:-1], sizes, strict=True)]
        )

    return Column(shape, make, (items,) if keys is None else (items, keys))


def _struct(draw: st.DrawFn, rows: int, depth: int) -> Column:
    nulls = _nulls(draw, rows)
    parts = tuple(_column(draw, rows, depth - 1 - at) for at in range(min(depth, 2)))

    def make() -> tuple[Any, list[Any]]:
        arrays, twins = zip(*(part.make() for part in parts), strict=True)
        names = draw_names[: len(parts)]
        return pa.StructArray.from_arrays(arrays, names, mask=_mask(nulls)), _shown(
            nulls, list(zip(*twins, strict=True))
        )

    draw_names = draw(st.sampled_from([["x", "y"], ["x", "x"]]))
    return Column("struct", make, parts)


def _union(draw: st.DrawFn, rows: int, depth: int, shape: str) -> Column:
    codes = draw(st.lists(st.integers(0, 1), min_size=rows, max_size=rows))
    dense = shape == "dense union"
    places = [codes[:row].count(code) if dense else row for row, code in enumerate(codes)]
    parts = tuple(
        _column(draw, codes.count(code) if dense else rows, depth - 1 if code else 0) for code in (0, 1)
    )

    def make() -> tuple[Any, list[Any]]:
        arrays, twins = zip(*(part.make() for part in parts), strict=True)
        of = pa.array(codes, pa.int8())
        if dense:
            array = pa.UnionArray.from_dense(of, pa.array(places, pa.int32()), list(arrays))
        else:
            array = pa.UnionArray.from_sparse(of, list(arrays))
        return array, [(code, twins[code][place]) for code, place in zip(codes, places, strict=True)]

    return Column(shape, make, parts)


def _encoded(draw: st.DrawFn, rows: int, depth: int, shape: str) -> Column:
    """Levels, of which some may belong to no row; or runs."""
    if shape == "levels":
        held = draw(st.integers(1, 3))
        places = draw(st.lists(st.none() | st.integers(0, held - 1), min_size=rows, max_size=rows))
    else:
        places = list(np.cumsum([0, *draw(st.lists(st.integers(0, 1), min_size=rows, max_size=rows))])[1:])
        places = [int(place - places[0]) for place in places]
        held = places[-1] + 1 if places else 0
    values = _column(draw, held, depth - 1)

    def make() -> tuple[Any, list[Any]]:
        array, twin = values.make()
        if shape == "levels":
            encoded = pa.DictionaryArray.from_arrays(pa.array(places, pa.int8()), array)
        else:
            ends = [rows - places[::-1].index(run) for run in range(held)]
            encoded = pa.RunEndEncodedArray.from_arrays(pa.array(ends, pa.int32()), array)
        return encoded, [None if place is None else twin[place] for place in places]

    return Column(shape, make, (values,))


@st.composite
def columns(draw: st.DrawFn) -> Column:
    """A column of few rows and any depth to four, as far as Arrow can hold it."""
    column = _column(draw, draw(st.integers(0, 5)), draw(st.integers(0, 3)))
    try:
        column.make()
    except (pa.ArrowException, TypeError):
        assume(False)
    return column


def _lost(before: Any, after: Any) -> int:
    """How many cells are lost."""
    said = compare_tables(pa.table({"c": before}), pa.table({"c": after}))
    return sum(change.count for change in said.changes if (change.path, change.verdict) == ("c", "lossy"))


def _copied(table: Any) -> Any:
    """A table through IPC; None if Arrow cannot write it: of no rows it writes no levels."""
    if not table.num_rows:
        return None
    sink = pa.BufferOutputStream()
    try:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    except pa.ArrowException:
        return None
    return pa.ipc.open_stream(sink.getvalue()).read_all()


@given(columns(), st.integers(0, 5), st.integers(0, 5))
def test_a_column_is_the_same_as_itself_in_any_cut_and_as_a_copy(
    column: Column, cut: int, other: int
) -> None:
    """Made twice, in chunks, as a slice, and through IPC."""
    array, again = column.make()[0], column.make()[0]
    table = pa.table({"c": array})
    assert compare_tables(table, pa.table({"c": again})).verdict == "same"
    assert compare_tables(table, table).verdict == "same"
    for at in (cut, other):
        chunks = pa.chunked_array([array.slice(0, at), again.slice(at)], array.type)
        assert compare_tables(table, pa.table({"c": chunks})).verdict == "same"
        assert compare_tables(pa.table({"c": chunks}), table).verdict == "same"
    copy = None if column.levels_of_levels() else _copied(table)
    if copy is not None:
        assert compare_tables(table, copy).verdict == "same"


@given(columns(), st.data())
def test_rows_with_a_changed_leaf_are_found_and_no_others(column: Column, data: st.DataObject) -> None:
    """Those of the twin: none if it lies under a null or belongs to no row."""
    leaves = list(column.leaves())
    assume(leaves)
    before, twin = column.make()
    leaf = data.draw(st.sampled_from(leaves))
    at = data.draw(st.integers(0, len(leaf.cells) - 1))
    leaf.cells[at] = data.draw(st.sampled_from([one for one in leaf.choices if one is not leaf.cells[at]]))
    after, other = column.make()
    wrong = sum(a != b for a, b in zip(twin, other, strict=True))
    assert wrong == _lost(before, after) == _lost(after, before)
