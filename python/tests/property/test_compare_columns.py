"""The table comparer against a naive one, and planted differences."""

from __future__ import annotations

import struct
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tare.fidelity.tables import compare_tables

bits = st.binary(min_size=8, max_size=8).map(lambda data: struct.unpack("<d", data)[0])
doubles = st.sampled_from([0.0, -0.0, 1.0, float("nan"), float("inf")]) | bits
longs = st.integers(-(2**63), 2**63 - 1)
KINDS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (pa.int64(), longs),
    (pa.uint8(), st.integers(0, 255)),
    (pa.float64(), doubles),
    (pa.string(), st.text(max_size=3)),
    (pa.large_binary(), st.binary(max_size=3)),
    (pa.bool_(), st.booleans()),
    (pa.date32(), st.dates()),
    (pa.timestamp("us", "Europe/Berlin"), st.integers(0, 2**50)),
    (pa.list_(pa.float64()), st.lists(st.none() | doubles, max_size=3)),
    (
        pa.list_(pa.list_(pa.string())),
        st.lists(st.none() | st.lists(st.text(max_size=2), max_size=2), max_size=2),
    ),
    (
        pa.struct([("a", pa.float64()), ("b", pa.list_(pa.int64()))]),
        st.fixed_dictionaries(
            {"a": st.none() | doubles, "b": st.none() | st.lists(st.none() | longs, max_size=2)}
        ),
    ),
    (
        pa.map_(pa.string(), pa.float64()),
        st.lists(st.tuples(st.text(max_size=2), st.none() | doubles), max_size=2),
    ),
    (pa.list_(pa.float64(), 2), st.lists(doubles, min_size=2, max_size=2)),
    (
        pa.list_(pa.struct([("x", pa.float64())])),
        st.lists(st.none() | st.fixed_dictionaries({"x": doubles}), max_size=2),
    ),
]


def key(value: Any) -> Any:
    """A cell as something that is equal only if the cell is, bit for bit."""
    if isinstance(value, float):
        return struct.pack("<d", value)
    if isinstance(value, list | tuple):
        return [key(item) for item in value]
    if isinstance(value, dict):
        return {name: key(item) for name, item in value.items()}
    return value


@st.composite
def two_columns(draw: st.DrawFn) -> tuple[Any, list[Any], list[Any]]:
    """A type and two lists of cells, of which some differ."""
    kind, cells = draw(st.sampled_from(KINDS))
    rows = draw(st.integers(0, 8))
    before = [draw(st.none() | cells) for _ in range(rows)]
    after = [draw(st.none() | cells) if draw(st.integers(0, 3)) == 0 else cell for cell in before]
    return kind, before, after


def chunked(kind: Any, cells: list[Any], cut: int) -> Any:
    """A column in two chunks, the second a slice with an offset."""
    whole = pa.array([*cells[cut:], *cells[cut:]], kind)
    rest = len(cells) - cut
    return pa.chunked_array([pa.array(cells[:cut], kind), whole.slice(rest)], kind)


@given(two_columns(), st.integers(0, 8), st.integers(0, 8))
def test_changed_cells_are_counted_as_the_naive_reference_does(
    columns: tuple[Any, list[Any], list[Any]], cut: int, other_cut: int
) -> None:
    """Number of cells and the first row, for every type and any chunks."""
    kind, before, after = columns
    left = chunked(kind, before, min(cut, len(before)))
    right = chunked(kind, after, min(other_cut, len(after)))
    found = compare_tables(pa.table({"c": left}), pa.table({"c": right}))
    differ = [
        row
        for row, (a, b) in enumerate(zip(left.to_pylist(), right.to_pylist(), strict=True))
        if key(a) != key(b)
    ]
    assert bool(differ) == (found.verdict != "same")
    if differ:
        rows = {int(change.at.removeprefix("row ")) for change in found.changes}
        assert differ[0] == min(rows)
        assert len(differ) <= sum(change.count for change in found.changes) <= 3 * len(differ)
        if kind != pa.float64() and "double" not in str(kind):
            assert len(differ) == found.changes[0].count


@given(two_columns())
def test_a_column_of_another_type_is_never_called_the_same(columns: tuple[Any, list[Any], list[Any]]) -> None:
    """Type or lossy, and lossy if a cell cannot be had back as text."""
    kind, before, _ = columns
    if pa.types.is_nested(kind) or kind in (pa.string(), pa.large_binary(), pa.float64()):
        return
    column = pa.array(before, kind)
    text = column.cast(pa.string())
    assert "type" == compare_tables(pa.table({"c": column}), pa.table({"c": text})).verdict
    if len(before) and before[-1] is not None:
        broken = pa.array([*text.to_pylist()[:-1], "?"])
        found = compare_tables(pa.table({"c": column}), pa.table({"c": broken}))
        assert ("lossy", 1, f"row {len(before) - 1}") == (
            found.verdict,
            found.changes[0].count,
            found.changes[0].at,
        )
