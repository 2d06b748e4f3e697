"""The core's text of tables, byte for byte beside that of the libraries whose text it is."""

from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from pyarrow import csv
from support.arrow_tables import tables

from tare import kinds
from tare.codec import Codec, text_parts
from tare.errors import TareError


def _slowly(codec: Codec, table: pa.Table) -> bytes | type[BaseException]:
    """The bytes of all rows as objects of Python."""
    try:
        return bytes(codec.encoder("table")(kinds.convert(table, "records")))
    except (TareError, TypeError, ValueError, OverflowError) as error:
        return type(error)


@pytest.mark.parametrize(
    "id",
    [
        "ndjson:orjson,default=text",
        "ndjson:orjson",
        "json:orjson,default=text",
        "json:stdlib,default=text",
        "json:stdlib,default=text,compact=true",
        "json:stdlib",
        "blit:tare,default=text",
        "blit:tare",
        "blit:tare,canonical=true,default=text",
        "blit:tare,default=text,layout=rows",
    ],
)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(table=tables())
def test_objects_are_those_of_the_library(id: str, table: pa.Table) -> None:
    codec = Codec.parse(id)
    parts = text_parts(codec, table)
    if parts is not None:
        assert b"".join(parts) == _slowly(codec, table)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(table=tables())
def test_fields_are_those_of_arrow(table: pa.Table) -> None:
    parts = text_parts(Codec.parse("csv:pyarrow,delimiter=semicolon"), table)
    if parts is None:
        return
    file = io.BytesIO()
    csv.write_csv(table, file, csv.WriteOptions(delimiter=";"))
    assert b"".join(parts) == file.getvalue()


_OF_ALL = pa.table(
    {
        "i": [1, None, -3],
        "u": pa.array([2**64 - 1, 0, None], pa.uint64()),
        "x": [0.1, None, 1e300],
        "s": ['a"b', None, "\u00e9"],
        "c": pa.array(["x", None, "x"]).dictionary_encode(),
        "b": [True, None, False],
        "d": [dt.date(2013, 1, 1), None, dt.date(9999, 12, 31)],
        "m": pa.array([0, None, 1_500], pa.timestamp("ms", "UTC")),
        "t": [dt.time(1, 2, 3, 4), None, dt.time(0)],
        "z": pa.array([0, None, 1_500], pa.timestamp("ms", "Europe/Berlin")),
        "n": pa.array([Decimal("1.10"), None, Decimal("0.00")]),
        "l": pa.array([[1, None], None, []]),
        "o": pa.array([{"a": 1}, None, {"a": None}]),
        "k": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())),
    }
)


@pytest.mark.parametrize(
    "id",
    [
        "ndjson:orjson,default=text",
        "json:orjson,default=text",
        "json:stdlib,default=text",
        "blit:tare,default=text",
    ],
)
def test_usual_types_are_written_by_the_core(id: str) -> None:
    codec = Codec.parse(id)
    table = _OF_ALL.drop_columns(["n", "k"]) if id.startswith("blit") else _OF_ALL
    parts = text_parts(codec, table)
    assert parts is not None
    assert b"".join(parts) == _slowly(codec, table)


@pytest.mark.parametrize("name", ["n", "k"])
def test_documents_have_what_text_has_not(name: str) -> None:
    """Decimals are numbers there, and names of maps of any type."""
    assert text_parts(Codec.parse("blit:tare,default=text"), _OF_ALL.select([name])) is None


def test_usual_types_of_fields_are_written_by_the_core() -> None:
    flat = _OF_ALL.drop_columns(["l", "o", "k"])
    parts = text_parts(Codec.parse("csv"), flat)
    assert parts is not None
    assert b"".join(parts) == Codec.parse("csv").encode(flat)


def test_rows_of_many_batches_and_threads_come_in_order() -> None:
    part = pa.table({"a": range(30_000), "s": [f"v{at}" for at in range(30_000)]})
    table = pa.concat_tables([part, part.slice(7), part.slice(0, 1)])
    for id in ("ndjson:orjson", "json:stdlib"):
        codec = Codec.parse(id)
        parts = text_parts(codec, table)
        assert parts is not None
        assert b"".join(parts) == _slowly(codec, table)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int64())),
        pa.array([-(10**14)], pa.timestamp("s")),
        pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
    ],
    ids=["key-twice", "before-year-1", "interval"],
)
def test_what_has_no_text_is_left_to_the_library(column: Any) -> None:
    codec = Codec.parse("ndjson:orjson,default=text")
    table = pa.table({"a": pa.chunked_array([column])})
    assert text_parts(codec, table) is None
    with pytest.raises(TareError):
        codec.encode(table)


@pytest.mark.parametrize("cell", [float("nan"), [float("inf")], {"a": float("nan")}], ids=str)
def test_documents_keep_what_is_not_finite(cell: Any) -> None:
    """Text has none of it."""
    table = pa.table({"a": [cell]})
    codec = Codec.parse("blit:tare,default=text")
    assert text_parts(codec, table) is None
    assert repr(codec.decode(codec.encode(table))) == repr([{"a": cell}])


def test_text_that_is_not_utf8_is_left_to_the_library() -> None:
    text = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    assert text_parts(Codec.parse("ndjson:orjson"), pa.table({"a": text})) is None
    assert text_parts(Codec.parse("csv"), pa.table({"a": text})) is None


@pytest.mark.parametrize("id", ["ndjson:orjson", "json:orjson", "json:stdlib,default=text", "csv"])
def test_hundredths_of_a_second_keep_their_zero(id: str) -> None:
    """Orjson 3.13 writes 00:00:00.010000 as 00:00:00.10000, which is another time."""
    table = pa.table({"a": [dt.time(0, 0, 0, 10_000)]})
    parts = text_parts(Codec.parse(id), table)
    assert parts is not None
    assert b"00:00:00.010000" in b"".join(parts)
