"""Values that R's formats hold come back from each of them as they were."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.soak import scaled

from tare import r
from tare.codec import Codec

FORMATS = ("rds", "rdata", "qs2", "qdata", "dput")
NAMES = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=6)
TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=8)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**31) + 1, 2**31 - 1), st.floats(allow_nan=False), TEXT
)
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=20,
)
COLUMNS = {
    "n": (pa.int32(), st.integers(-(2**31) + 1, 2**31 - 1)),
    "x": (pa.float64(), st.floats()),
    "s": (pa.string(), TEXT),
    "b": (pa.bool_(), st.booleans()),
    "d": (pa.date32(), st.dates()),
    "i": (pa.int64(), st.integers(2**40, 2**62)),
}


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=scaled(20, 60))
@given(value=st.dictionaries(NAMES, DOCUMENTS, min_size=1, max_size=4))
def test_documents(format: str, value: dict[str, Any]) -> None:
    """A document, whatever its shape, is the same again, to the type of each scalar."""
    codec = Codec.parse(f"{format}:tare")
    back = codec.decode(codec.encode(value))
    assert repr(value) == repr(back)


@pytest.mark.parametrize("format", [*FORMATS[:4], "fst"])
@settings(max_examples=scaled(13, 40))
@given(data=st.data(), rows=st.integers(0, 30))
def test_tables(format: str, data: st.DataObject, rows: int) -> None:
    """A table's columns have their types, nulls and values, NaN beside null."""
    columns = {}
    for name, (kind, values) in COLUMNS.items():
        drawn = data.draw(st.lists(st.none() | values, min_size=rows, max_size=rows), label=name)
        columns[name] = pa.array(drawn, kind)
    if rows == 0 or columns["i"].null_count == rows:
        del columns["i"]  # nothing tells whole numbers of 64 bits from those of 32
    table = pa.table(columns)
    lost: list[r.Loss] = []
    back = r.read(r.write(table, None, format=format, loss=lost).data, as_="arrow", loss=lost)
    back = back["data"] if isinstance(back, dict) else back
    for name in table.column_names:
        assert table.schema.field(name).type == back.schema.field(name).type, name
        for one, other in zip(table[name].to_pylist(), back[name].to_pylist(), strict=True):
            assert one == other or (isinstance(one, float) and math.isnan(one) and math.isnan(other)), name
    assert not [loss for loss in lost if not loss.is_information]


@settings(max_examples=scaled(26, 80))
@given(value=st.dictionaries(NAMES, DOCUMENTS, max_size=4))
def test_objects_are_the_same_bytes(value: dict[str, Any]) -> None:
    """Reading and writing an object gives the bytes again, through every format that holds all objects."""
    plain = r.write(value, None, compressor="none").data
    one = r.read(plain, as_="robject")
    assert plain == one.to_bytes()
    for format in ("rds", "qs2"):
        again = r.read(r.write(one, None, format=format).data, as_="robject")
        assert one == again
        assert one.identical(again)


@settings(max_examples=scaled(20, 60))
@given(value=DOCUMENTS, cut=st.floats(0, 1, exclude_max=True))
def test_what_is_cut_is_an_error(value: Any, cut: float) -> None:
    """Anywhere."""
    from tare.errors import TareError

    for format in ("rds", "qs2", "qdata"):
        data = r.write(value, None, format=format).data
        with pytest.raises(TareError):
            r.read(data[: int(cut * len(data))], format=format)
