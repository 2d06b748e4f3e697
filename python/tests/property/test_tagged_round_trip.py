"""Tagged values hold any value exactly, whatever it is made of."""

from __future__ import annotations

import contextlib
import datetime as dt
import struct
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from tare.errors import TareError
from tare.tagged import dump_text, exact_json, from_tagged, load_text, to_tagged

ZONES = [None, dt.UTC, dt.timezone(dt.timedelta(minutes=-210)), ZoneInfo("Europe/Berlin")]

floats = st.binary(min_size=8, max_size=8).map(lambda bits: struct.unpack("<d", bits)[0])
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | floats
    | st.text(st.characters(codec=None))
    | st.binary(max_size=20)
    | st.decimals()
    | st.dates()
    | st.times()
    | st.datetimes(timezones=st.sampled_from(ZONES))
    | st.timedeltas()
    | st.uuids()
)
keys = (
    st.text(st.characters(codec=None), max_size=5)
    | st.integers()
    | st.booleans()
    | st.dates()
    | st.tuples(st.integers())
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(keys, inner, max_size=4)
        | st.sets(st.integers() | st.text(max_size=3), max_size=4)
    ),
    max_leaves=20,
)


def alike(a: Any, b: Any) -> bool:
    """The naive reference: recursive, one rule a type."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return struct.pack("<d", a) == struct.pack("<d", b)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, dict):
        return len(a) == len(b) and all(
            alike(ka, kb) and alike(va, vb) for (ka, va), (kb, vb) in zip(a.items(), b.items(), strict=True)
        )
    if isinstance(a, dt.datetime):
        return (
            a.replace(tzinfo=None) == b.replace(tzinfo=None)
            and a.utcoffset() == b.utcoffset()
            and str(a.tzinfo) == str(b.tzinfo)
        )
    return str(a) == str(b) if not isinstance(a, set) else a == b


@given(values)
def test_text_and_back_is_the_identity(value: Any) -> None:
    """from_tagged(to_tagged(x)) is x, through text as well."""
    assert alike(value, from_tagged(to_tagged(value)))
    assert alike(value, load_text(dump_text(value)))


@given(values)
def test_writing_is_a_function_of_the_value(value: Any) -> None:
    """Read and written again, the text is the same: it can be hashed."""
    text = dump_text(value, share=False)
    assert text == dump_text(load_text(text), share=False)


@given(values)
def test_plain_json_is_offered_only_where_exact(value: Any) -> None:
    """What exact_json gives reads back as the very value."""
    text = exact_json(value)
    if text is not None:
        import orjson

        assert alike(value, orjson.loads(text))


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["$int", "$f64", "$map", "$def", "$ref", "$nest", "$ts", "$dur", "of", "unit", "tz", "a"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=15,
)


@given(json_like)
def test_any_json_is_read_or_refused_clearly(tree: Any) -> None:
    """No tree makes the reader fail in another way, and what it reads it can write."""
    with contextlib.suppress(TareError):
        value = from_tagged(tree, max_nodes=10_000, max_depth=1_000)
        assert alike(value, from_tagged(to_tagged(value)))


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_clearly(data: bytes) -> None:
    """Binary garbage gives one of our errors."""
    with contextlib.suppress(TareError):
        assert data.strip() == data.strip()[:0] or dump_text(load_text(data))
