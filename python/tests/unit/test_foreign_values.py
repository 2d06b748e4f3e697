"""Values that one format alone has: text in others, which is told, or a message that says which option makes it so."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.capabilities import need_codec, need_module

import tare
from tare.errors import EncodeError
from tare.fidelity import compare
from tare.scalar_text import as_text


def bson_file(path: Path) -> Path:
    """Documents as MongoDB dumps them."""
    bson = need_module("bson")
    ids = (bson.ObjectId(f"{k:024x}") for k in range(3))
    path.write_bytes(b"".join(bson.encode({"_id": id, "n": k}) for k, id in enumerate(ids)))
    return path


TEXTS = [{"_id": f"{k:024x}", "n": k} for k in range(3)]


@pytest.mark.parametrize("target", ["x.ndjson", "x.json", "x.yaml"])
def test_object_ids_are_text_in_documents(target: str, tmp_path: Path) -> None:
    need_codec(str(tare.Codec.for_path(target)))
    done = tare.convert(bson_file(tmp_path / "d.bson"), tmp_path / target)
    assert tare.read(tmp_path / target) == TEXTS
    assert [(change["path"], change["verdict"], change["count"]) for change in done.changes] == [
        ("[*]._id", "type", 3)
    ]


@pytest.mark.parametrize("verify", [True, False])
def test_object_ids_are_text_in_tables(verify: bool, tmp_path: Path) -> None:
    done = tare.convert(bson_file(tmp_path / "d.bson"), tmp_path / "x.parquet", verify=verify)
    assert parquet.read_table(tmp_path / "x.parquet").to_pylist() == TEXTS
    told = [change["verdict"] for change in done.changes] if verify else done.notes
    assert ("type" if verify else "written as text: values of the type ObjectId") in told
    tare.convert(tmp_path / "d.bson", tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text().splitlines()[2] == '"000000000000000000000001",1'


def test_a_library_that_was_named_is_told_its_option(tmp_path: Path) -> None:
    """And the option is enough."""
    bson_file(tmp_path / "d.bson")
    with pytest.raises(
        EncodeError, match=r"at /0/_id .*Say --codec json:orjson,default=text, which takes it"
    ):
        tare.convert(tmp_path / "d.bson", tmp_path / "x.json", codec="json:orjson")
    tare.convert(tmp_path / "d.bson", tmp_path / "x.json", codec="json:orjson,default=text")
    assert json.loads((tmp_path / "x.json").read_text()) == TEXTS


def test_keys_that_are_no_text_are_told_the_library_that_takes_them(tmp_path: Path) -> None:
    need_codec("cbor")
    (tmp_path / "x.cbor").write_bytes(tare.encode([{1: dt.date(2024, 1, 5)}], "cbor"))
    with pytest.raises(EncodeError, match=r"Say --codec ndjson:\w+,default=text, which takes it"):
        tare.convert(tmp_path / "x.cbor", tmp_path / "x.ndjson", codec="ndjson:orjson")


@pytest.mark.parametrize("source", ["yaml", "cbor", "pickle"])
@pytest.mark.parametrize("target", ["json", "ndjson", "msgpack", "bson"])
def test_dates_within_documents(source: str, target: str, tmp_path: Path) -> None:
    need_codec(source)
    need_codec(target)
    rows = [{"when": [dt.date(2024, 1, 5)], "x": 1}, {"when": [], "x": 2}]
    (tmp_path / "in").write_bytes(tare.encode(rows, source))
    done = tare.convert(tmp_path / "in", tmp_path / "out", format=source, codec=target, allow_pickle=True)
    assert tare.read(tmp_path / "out", format=target)[0] == {"when": ["2024-01-05"], "x": 1}
    assert {change["verdict"] for change in done.changes} == {"type"}


def test_tags_of_cbor_and_extensions_of_messagepack(tmp_path: Path) -> None:
    cbor2, msgpack = need_module("cbor2"), need_module("msgpack")
    (tmp_path / "x.cbor").write_bytes(
        cbor2.dumps({"u": cbor2.CBORTag(12345, {"k": b"a"}), "d": Decimal("1.10")})
    )
    tare.convert(tmp_path / "x.cbor", tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_text()) == {"u": '12345({"k": "YQ=="})', "d": "1.10"}
    value = {"t": msgpack.Timestamp(1, 5), "e": [msgpack.ExtType(5, b"ab")]}
    (tmp_path / "x.msgpack").write_bytes(msgpack.packb(value))
    tare.convert(tmp_path / "x.msgpack", tmp_path / "y.json")
    assert json.loads((tmp_path / "y.json").read_text())["t"] == "1970-01-01T00:00:01.000000005Z"
    tare.convert(tmp_path / "x.msgpack", tmp_path / "x.yaml")
    assert tare.read(tmp_path / "x.yaml")["e"] == ["5:YWI="]


def texts() -> list[tuple[Any, str]]:
    """Values and their texts, of the packages that are there."""
    bson, cbor2, msgpack = need_module("bson"), need_module("cbor2"), need_module("msgpack")
    return [
        (bson.ObjectId("0" * 24), "0" * 24),
        (bson.Decimal128("1.10"), "1.10"),
        (bson.MinKey(), '{"$minKey": 1}'),
        (bson.Timestamp(1, 2), '{"$timestamp": {"t": 1, "i": 2}}'),
        (bson.Regex("a", "i"), '{"$regularExpression": {"pattern": "a", "options": "i"}}'),
        (cbor2.CBORSimpleValue(32), "simple(32)"),
        (cbor2.undefined, "undefined"),
        (Fraction(1, 3), "1/3"),
        (msgpack.Timestamp(-1, 500_000_000), "1969-12-31T23:59:59.5Z"),
        (msgpack.Timestamp(0, 0), "1970-01-01T00:00:00Z"),
    ]


def test_each_has_a_text_from_which_it_can_be_had_back() -> None:
    for value, text in texts():
        assert as_text(value) == text
        assert compare([value], [text], kind="document").verdict == "type"
        assert compare([value], [f"{text}0"], kind="document").verdict == "lossy"


def test_what_has_no_text_is_refused() -> None:
    msgpack = need_module("msgpack")
    for value in (object(), 1j, msgpack.Timestamp(10**15, 0)):
        with pytest.raises(TypeError):
            as_text(value)


@pytest.mark.parametrize("target", ["x.json", "x.ndjson", "x.yaml"])
def test_an_integer_of_many_digits_is_an_error_in_words(target: str, tmp_path: Path) -> None:
    need_codec("cbor")
    need_codec(str(tare.Codec.for_path(target)))
    (tmp_path / "x.cbor").write_bytes(tare.encode([{"n": 10**5000}], "cbor"))
    with pytest.raises(EncodeError, match=r"^x\.cbor: .* at /0/n \(0x31e"):
        tare.convert(tmp_path / "x.cbor", tmp_path / target)
    assert not (tmp_path / target).exists()


DECIMALS = {
    "one scale": ["1.10", "12.50"],
    "several scales": ["1.10", "12.5", "-3"],
    "more digits than a double": ["1234567.12345678901234", "0.5"],
    "34 digits": ["1234567890123456789012345.678901234", "0.000001"],
    "integers": ["100", "200"],
}


@pytest.mark.parametrize("name", DECIMALS)
def test_decimals_of_bson_are_kept_to_the_last_digit(name: str, tmp_path: Path) -> None:
    """As text in documents and as decimals in tables; a reader of CSV that guesses gives doubles, which is told."""
    bson, duckdb = need_module("bson"), need_module("duckdb")
    texts = DECIMALS[name]
    rows = [{"n": k, "p": bson.Decimal128(text)} for k, text in enumerate(texts)]
    (tmp_path / "d.bson").write_bytes(b"".join(map(bson.encode, rows)))
    numbers = [Decimal(text) for text in texts]
    for target in ("x.json", "x.ndjson", "x.parquet", "x.csv", "x.avro", "x.orc"):
        done = tare.convert(tmp_path / "d.bson", tmp_path / target)
        assert {change["verdict"] for change in done.changes} == {"type"}, target
    assert [row["p"] for row in json.loads((tmp_path / "x.json").read_text())] == texts
    assert parquet.read_table(tmp_path / "x.parquet").column("p").to_pylist() == numbers
    told = duckdb.sql(f"SELECT p FROM read_csv('{tmp_path / 'x.csv'}', all_varchar = true)").fetchall()
    assert [Decimal(cell) for (cell,) in told] == numbers


def test_decimals_of_a_table_are_kept_in_csv(tmp_path: Path) -> None:
    """Of which a double has too few digits; one that the text itself had not would still be a change."""
    numbers = [Decimal("1234567.12345678901234"), None, Decimal("0.50000000000001")]
    table = pa.table({"p": pa.array(numbers, pa.decimal128(25, 14)), "q": [1, 2, 3]})
    done = tare.convert(table, tmp_path / "x.csv")
    assert [(one["path"], one["verdict"], one["to"]) for one in done.changes] == [
        ("p", "type", "double, and its text has every digit")
    ]
    assert (tmp_path / "x.csv").read_text().split() == [
        '"p","q"',
        "1234567.12345678901234,1",
        ",2",
        "0.50000000000001,3",
    ]


@pytest.mark.parametrize("text", ["NaN", "-Infinity", "1E+6000"])
def test_decimals_that_no_column_holds_are_text(text: str, tmp_path: Path) -> None:
    bson = need_module("bson")
    rows = [{"p": bson.Decimal128(text)}, {"p": bson.Decimal128("1.5")}]
    (tmp_path / "d.bson").write_bytes(b"".join(map(bson.encode, rows)))
    done = tare.convert(tmp_path / "d.bson", tmp_path / "x.parquet")
    assert parquet.read_table(tmp_path / "x.parquet").column("p").to_pylist() == [text, "1.5"]
    assert {change["verdict"] for change in done.changes} == {"type"}


def test_the_sign_of_a_zero_is_no_digit_of_a_column(tmp_path: Path) -> None:
    """A decimal of Arrow's has no signed zero: refused, and not lost."""
    bson = need_module("bson")
    (tmp_path / "d.bson").write_bytes(bson.encode({"p": bson.Decimal128("-0.00")}) * 2)
    with pytest.raises(EncodeError, match="would change"):
        tare.convert(tmp_path / "d.bson", tmp_path / "x.parquet")


@pytest.mark.parametrize("target", ["x.yaml", "x.json", "x.msgpack"])
def test_numbers_and_bytes_of_bson_are_those_of_others(target: str, tmp_path: Path) -> None:
    """Its classes are ints, texts and bytes to every writer; code with values of its own is no text."""
    bson = need_module("bson")
    need_codec(str(tare.Codec.for_path(target)))
    from bson.code import Code

    held = {"i": bson.Int64(5), "c": Code("x"), "b": bson.Binary(b"x", 128)}
    (tmp_path / "d.bson").write_bytes(bson.encode(held))
    tare.convert(tmp_path / "d.bson", tmp_path / target)
    back = tare.read(tmp_path / target)
    assert (back["i"], back["c"], back["b"]) == (5, "x", "eA==" if target == "x.json" else b"x")
    (tmp_path / "e.bson").write_bytes(bson.encode({"c": Code("x", {"y": 1})}))
    with pytest.raises(EncodeError):
        tare.convert(tmp_path / "e.bson", tmp_path / target)


def test_one_object_in_bson_is_told_as_one_row_is(tmp_path: Path) -> None:
    """Which has no list at its top; what is in it is compared all the same."""
    bson = need_module("bson")
    (tmp_path / "x.json").write_text('[{"a": 1, "u": null}]')
    done = tare.convert(tmp_path / "x.json", tmp_path / "x.bson")
    assert [(one["verdict"], one["from"], one["to"]) for one in done.changes] == [
        ("type", "a list of one object", "the object")
    ]
    assert bson.decode_all((tmp_path / "x.bson").read_bytes()) == [{"a": 1, "u": None}]


def test_moments_and_uuids_are_kept_in_bson(tmp_path: Path) -> None:
    """Which has moments in UTC, to the millisecond, and UUIDs as binary; the types are told."""
    bson, uuid = need_module("bson"), need_module("uuid")
    need_codec("cbor")
    zone = dt.timezone(dt.timedelta(hours=2))
    rows = [{"t": dt.datetime(2024, 1, 1, 3, tzinfo=zone), "u": uuid.UUID(int=9)}] * 2
    (tmp_path / "x.cbor").write_bytes(tare.encode(rows, "cbor"))
    done = tare.convert(tmp_path / "x.cbor", tmp_path / "x.bson")
    assert {one["verdict"] for one in done.changes} == {"type"}
    (first, _) = bson.decode_all((tmp_path / "x.bson").read_bytes())
    assert (first["t"], first["u"].as_uuid()) == (dt.datetime(2024, 1, 1, 1), uuid.UUID(int=9))
    (tmp_path / "y.cbor").write_bytes(
        tare.encode([{"t": dt.datetime(2024, 1, 1, 1, 2, 3, 4, tzinfo=zone)}], "cbor")
    )
    with pytest.raises(EncodeError, match="would change"):
        tare.convert(tmp_path / "y.cbor", tmp_path / "y.bson")


def test_timestamps_of_messagepack_are_moments_of_csv(tmp_path: Path) -> None:
    msgpack = need_module("msgpack")
    rows = [{"t": msgpack.Timestamp(1, 5)}, {"t": msgpack.Timestamp(2, 0)}]
    (tmp_path / "x.msgpack").write_bytes(msgpack.packb(rows))
    done = tare.convert(tmp_path / "x.msgpack", tmp_path / "x.csv")
    assert {one["verdict"] for one in done.changes} == {"type"}
    assert tare.read(tmp_path / "x.csv").column("t").cast(pa.int64()).to_pylist() == [
        1_000_000_005,
        2_000_000_000,
    ]


@pytest.mark.parametrize("target", ["parquet", "arrow", "orc", "cbor"])
def test_a_name_with_a_nul_ends_no_conversion(target: str, tmp_path: Path) -> None:
    need_codec(target)
    (tmp_path / "x.json").write_text(r'[{"a\u0000b": 1}, {"a\u0000b": 2}]')
    tare.convert(tmp_path / "x.json", tmp_path / f"x.{target}")
    back = tare.read(tmp_path / f"x.{target}")
    rows = back.to_pylist() if hasattr(back, "to_pylist") else back
    assert rows == [{"a\0b": 1}, {"a\0b": 2}]


def test_a_csv_that_needs_its_format_said_says_so(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(r'[{"a": "x\u0000y"}]')
    done = tare.convert(tmp_path / "x.json", tmp_path / "x.csv")
    assert "it holds NUL characters, as no text does: read it with --from csv (format=)" in done.notes
    assert tare.read(tmp_path / "x.csv", format="csv").to_pylist() == [{"a": "x\0y"}]
