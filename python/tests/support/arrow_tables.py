"""Tables of Arrow of random types, values and nulls."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

__all__ = ["tables"]

_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
_DAY = 86_400
_FIRST, _LAST = -62_135_596_800, 253_402_300_799
_TEXT = st.text(max_size=12) | st.sampled_from(
    ['"', "\\", "a\nb", "\x7f", "\x1f", "\u00e9", "\U0001f600", "a,b", " "]
)


def _bounded(kind: pa.DataType) -> st.SearchStrategy[int]:
    bits = kind.bit_width
    signed = pa.types.is_signed_integer(kind)
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else st.integers(0, 2**bits - 1)


def _moments(kind: Any) -> tuple[pa.DataType, st.SearchStrategy[Any]]:
    scale = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    low, high = (_FIRST, _LAST) if kind.unit != "ns" else (-9_000_000_000, 9_000_000_000)
    return kind, st.integers(low * scale, high * scale) | st.integers(-(10**6), 10**6)


def _scalars() -> list[tuple[Any, st.SearchStrategy[Any]]]:
    found: list[tuple[Any, st.SearchStrategy[Any]]] = [(kind, _bounded(kind)) for kind in _INTEGERS]
    found += [(pa.float64(), st.floats()), (pa.float32(), st.floats(width=32)), (pa.bool_(), st.booleans())]
    found += [
        (pa.float64(), st.integers(-(10**12), 10**12).map(lambda n: n / 1000.0)),
        (pa.null(), st.none()),
    ]
    found += [(pa.string(), _TEXT), (pa.large_string(), _TEXT), (pa.binary(), st.binary(max_size=6))]
    found += [
        (pa.date32(), st.integers(-719_162, 2_932_896)),
        (pa.decimal128(20, 4), st.decimals(-(10**9), 10**9, places=4)),
    ]
    units: Any = ("s", "ms", "us", "ns")
    found += [
        _moments(pa.timestamp(unit, zone)) for unit in units for zone in (None, "UTC", "America/New_York")
    ]
    found += [(pa.time32("s"), st.integers(0, _DAY - 1)), (pa.duration("us"), st.integers(-(10**15), 10**15))]
    found += [
        (pa.time32("ms"), st.integers(0, _DAY * 10**3 - 1).filter(lambda ms: not 10 <= ms % 1000 < 100))
    ]
    micro = st.integers(0, _DAY * 10**6 - 1).filter(lambda us: not 10_000 <= us % 10**6 < 100_000)
    found += [(pa.time64("us"), micro)]  # see `test_hundredths_of_a_second_keep_their_zero`
    return found


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def lists(pair: Any) -> Any:
        kind, values = pair
        return pa.list_(kind), st.lists(st.none() | values, max_size=3)

    def structs(pairs: Any) -> Any:
        fields = [pa.field(f"f{at}\u00e9", kind) for at, (kind, _) in enumerate(pairs)]
        cells = {field.name: st.none() | values for field, (_, values) in zip(fields, pairs, strict=True)}
        return pa.struct(fields), st.fixed_dictionaries(cells)

    def maps(pair: Any) -> Any:
        kind, values = pair
        return pa.map_(pa.string(), kind), st.lists(st.tuples(_TEXT, st.none() | values), max_size=3)

    def numbered(pair: Any) -> Any:
        kind, values = pair
        return pa.map_(pa.int64(), kind), st.lists(
            st.tuples(st.integers(0, 9), st.none() | values), max_size=3
        )

    some = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(inner.map(lists), some.map(structs), inner.map(maps), inner.map(numbered))


_KINDS = st.recursive(st.sampled_from(_scalars()), _nested, max_leaves=4)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Draws a table of at most six rows; some have their first row cut off."""
    rows = draw(st.integers(0, 6))
    columns: dict[str, Any] = {}
    for name in draw(st.lists(_TEXT, min_size=1, max_size=4, unique=True)):
        kind, values = draw(_KINDS)
        column = pa.array(draw(st.lists(st.none() | values, min_size=rows, max_size=rows)), kind)
        if draw(st.booleans()) and not pa.types.is_nested(kind) and not pa.types.is_null(kind):
            column = column.dictionary_encode()
        columns[name] = column
    table = pa.table(columns)
    return table.slice(draw(st.integers(0, 1)))
