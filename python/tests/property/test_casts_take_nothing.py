"""What Arrow's casts take without a word, in columns of any depth, against a slow twin cell by cell."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.fidelity.column_casts import cast_differences
from tare.fidelity.tables import compare_tables

DAY_S = 86_400
EPOCH = dt.datetime(1970, 1, 1)
seconds = st.sampled_from([0, 5 * 3600, DAY_S, DAY_S + 5 * 3600, -DAY_S, -1, 17_000 * DAY_S])
numbers = st.sampled_from([0, 1, 1, 0, 5])
floats = st.sampled_from([0.0, -0.0, 1.0, 0.5, 5.0])
# Cents, and what may come to them.
prices = st.tuples(st.integers(-(10**13), 10**13), st.sampled_from([0.0, 0.0, 0.0, 0.004]))


@dataclass(frozen=True)
class Hidden:
    """A null with a cell under it, as arrays may have."""

    cell: Any


@dataclass(frozen=True)
class Kind:
    """A type and the one that came back; what cells of the latter are; and whether one gives back what went in.

    ``make`` gives the cell that went in of one that came back: the cast's own answer, by Python.
    """

    wanted: Any
    other: Any
    cells: st.SearchStrategy[Any]
    make: Callable[[Any], Any]
    exact: Callable[[Any], bool]


def _moment(since: int) -> dt.datetime:
    return EPOCH + dt.timedelta(seconds=since)


def _leaves() -> list[Kind]:
    found = [
        Kind(pa.int32(), pa.int64(), st.integers(-5, 5), lambda n: n, lambda n: True),
        *(
            Kind(pa.bool_(), kind, numbers, bool, lambda n: n in (0, 1))
            for kind in (pa.int8(), pa.uint64(), pa.int64())
        ),
        *(
            Kind(pa.bool_(), kind, floats, bool, lambda n: n in (0, 1))
            for kind in (pa.float32(), pa.float64())
        ),
        Kind(
            pa.decimal128(15, 2),
            pa.float64(),
            prices.map(lambda price: float(Decimal(price[0]).scaleb(-2)) + price[1]),
            lambda x: Decimal(x).quantize(Decimal("0.01")),
            lambda x: float(Decimal(x).quantize(Decimal("0.01"))) == x,
        ),
    ]
    for unit in ("s", "ms", "us", "ns"):
        for zone in (None, "UTC"):
            moments = pa.timestamp(unit, zone)
            found += [
                Kind(days, moments, seconds, lambda s: _moment(s).date(), lambda s: s % DAY_S == 0)
                for days in (pa.date32(), pa.date64())
            ]
            if zone is None:
                found += [
                    Kind(clock, moments, seconds, lambda s: _moment(s).time(), lambda s: 0 <= s < DAY_S)
                    for clock in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"))
                ]
    return found


def _within(kind: Kind, shape: str, size: int) -> Kind:
    """Lists, maps or structs of a kind; nulls among them, and under them."""
    cells = st.none() | kind.cells.map(Hidden) | kind.cells | kind.cells
    if shape == "struct":
        plain = pa.field("n", pa.int16()), pa.field("n", pa.int32())
        return Kind(
            pa.struct([plain[0], ("m", kind.wanted)]),
            pa.struct([("m", kind.other), plain[1]]),
            st.fixed_dictionaries({"m": cells, "n": st.none() | st.integers(0, 3)}),
            lambda cell: {"n": cell["n"], "m": _made(kind, cell["m"])},
            lambda cell: _right(kind, cell["m"]),
        )
    if shape == "map":
        return Kind(
            pa.map_(pa.string(), kind.wanted),
            pa.map_(pa.string(), kind.other),
            st.lists(st.tuples(st.sampled_from("ab"), cells), max_size=3),
            lambda cell: [(name, _made(kind, item)) for name, item in cell],
            lambda cell: all(_right(kind, item) for _, item in cell),
        )
    wanted, other = shape.split(">")
    fixed = "fixed" in (wanted, other)
    return Kind(
        LISTS[wanted](kind.wanted, size),
        LISTS[other](kind.other, size),
        st.lists(cells, min_size=size if fixed else 0, max_size=size),
        lambda cell: [_made(kind, item) for item in cell],
        lambda cell: all(_right(kind, item) for item in cell),
    )


LISTS: dict[str, Callable[[Any, int], Any]] = {
    "list": lambda kind, size: pa.list_(kind),
    "large": lambda kind, size: pa.large_list(kind),
    "fixed": pa.list_,
    "view": lambda kind, size: pa.list_view(kind),
    "large view": lambda kind, size: pa.large_list_view(kind),
}
SHAPES = ["struct", "map", *(f"{a}>{b}" for a in LISTS for b in LISTS)]


def _made(kind: Kind, cell: Any) -> Any:
    if isinstance(cell, Hidden):
        return Hidden(_made(kind, cell.cell))
    return None if cell is None else kind.make(cell)


def _right(kind: Kind, cell: Any) -> bool:
    """The twin: whether a cell gives back what went in. Under a null there is nothing."""
    return cell is None or isinstance(cell, Hidden) or kind.exact(cell)


def _array(kind: Any, cells: list[Any], *, encoded: bool) -> Any:
    """An array of cells, with what is hidden under its nulls."""
    mask = pa.array([cell is None or isinstance(cell, Hidden) for cell in cells], pa.bool_())
    cells = [cell.cell if isinstance(cell, Hidden) else cell for cell in cells]
    if pa.types.is_struct(kind):
        parts = [
            _array(field.type, [cell and cell[field.name] for cell in cells], encoded=encoded)
            for field in kind
        ]
        return pa.StructArray.from_arrays(parts, [field.name for field in kind], mask=mask)
    if not pa.types.is_nested(kind):
        return _leaf(kind, cells, mask, encoded=encoded)
    if pa.types.is_fixed_size_list(kind):
        cells = [[None] * kind.list_size if cell is None else cell for cell in cells]
    lengths = [len(cell or ()) for cell in cells]
    items = [item for cell in cells for item in cell or ()]
    ends = np.cumsum([0, *lengths])
    if pa.types.is_map(kind):
        keys = pa.array([name for name, _ in items], pa.string())
        values = _array(kind.item_type, [item for _, item in items], encoded=encoded)
        return pa.MapArray.from_arrays(pa.array(ends, pa.int32()), keys, values, mask=mask)
    values = _array(kind.value_type, items, encoded=encoded)
    if pa.types.is_fixed_size_list(kind):
        return pa.FixedSizeListArray.from_arrays(values, kind.list_size, mask=mask)
    views = {
        "list_view": (pa.ListViewArray, pa.int32()),
        "large_list_view": (pa.LargeListViewArray, pa.int64()),
    }
    if found := views.get(str(kind).partition("<")[0]):
        of, whole = found
        return of.from_arrays(pa.array(ends[:-1], whole), pa.array(lengths, whole), values, mask=mask)
    if pa.types.is_large_list(kind):
        return pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), values, mask=mask)
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values, mask=mask)


def _leaf(kind: Any, cells: list[Any], mask: Any, *, encoded: bool) -> Any:
    """Hidden cells are in the buffer, under a null."""
    if pa.types.is_timestamp(kind):
        times = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
        cells = [None if cell is None else cell * times for cell in cells]
    full = pa.array([0 if cell is None else cell for cell in cells] if _counts(kind) else cells, kind)
    if _counts(kind):
        bits = pa.array([not null for null in mask.to_pylist()], pa.bool_()).buffers()[1]
        full = pa.Array.from_buffers(kind, len(cells), [bits, full.buffers()[1]])
    else:
        full = pa.array(
            [None if null else cell for null, cell in zip(mask.to_pylist(), cells, strict=True)], kind
        )
    return full.dictionary_encode() if encoded else full


def _counts(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_timestamp(kind))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_row_beside_one_that_lost_something_did_not(shape: str) -> None:
    """What was cast is looked at again in parts, and not given up as a whole."""
    leaf = next(kind for kind in _leaves() if kind.wanted == pa.date32())
    kind = _within(leaf, shape, 1)
    made: dict[str, Callable[[int], Any]] = {
        "struct": lambda s: {"m": s, "n": 1},
        "map": lambda s: [("k", s)],
    }
    cells = [made.get(shape, lambda s: [s])(since) for since in (0, 5 * 3600)]
    a = _array(kind.wanted, [_made(kind, cell) for cell in cells], encoded=False)
    b = _array(kind.other, cells, encoded=False)
    assert [False, True] == cast_differences(a, b).value.tolist()


@st.composite
def columns(draw: st.DrawFn) -> tuple[Kind, list[Any], bool]:
    """A kind of any depth, the cells that came back, and whether they are encoded as dictionaries."""
    kind = draw(st.sampled_from(_leaves()))
    for _ in range(draw(st.integers(0, 3))):
        kind = _within(kind, draw(st.sampled_from(SHAPES)), draw(st.integers(1, 3)))
    cells = st.none() | kind.cells.map(Hidden) | kind.cells
    return kind, draw(st.lists(cells, max_size=6)), draw(st.booleans())


@given(columns(), st.integers(0, 3), st.integers(0, 3), st.integers(0, 6))
def test_rows_that_a_cast_does_not_give_back_are_those_of_the_twin(
    drawn: tuple[Kind, list[Any], bool], before: int, after: int, cut: int
) -> None:
    """Whole, in slices of either side, and in chunks."""
    kind, cells, encoded = drawn
    wrong = [not _right(kind, cell) for cell in cells]
    more = cells[:1]

    def padded(of: Any, make: Callable[[Any], Any], *, encoded: bool, ahead: int) -> Any:
        made = [make(cell) for cell in (*more * ahead, *cells, *more)]
        return _array(of, made, encoded=encoded).slice(ahead * len(more), len(cells))

    a = padded(kind.wanted, lambda cell: _made(kind, cell), encoded=False, ahead=before)
    b = padded(kind.other, lambda cell: cell, encoded=encoded, ahead=after)
    found = cast_differences(a, b).value
    assert wrong == ([False] * len(cells) if found is None else found.tolist())
    cut = min(cut, len(cells))
    chunks = pa.chunked_array([b.slice(0, cut), b.slice(cut)], b.type)
    change = compare_tables(pa.table({"c": a}), pa.table({"c": chunks})).changes[0]
    assert ("lossy", sum(wrong)) == (change.verdict, change.count) if any(wrong) else change.verdict == "type"
