"""`tare.convert` judges what comes back by the rule that measuring goes by: what can be rebuilt is no loss, what cannot is one."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal

import pyarrow as pa
import pytest
from support.capabilities import need_codec

import tare
from tare.converting.changes import document_changes, table_changes
from tare.errors import EncodeError, Truncated, Unsupported
from tare.fidelity import compare


def ordered(values, levels):
    return pa.DictionaryArray.from_arrays(pa.array(values, pa.int8()), levels, ordered=True)


KEPT = {
    "times": (pa.table({"n": [1, 2], "t": pa.array([dt.time(1, 2, 3), None], pa.time64("us"))}), ["csv", "ndjson", "json", "cbor"]),
    "nan in lists": (pa.table({"l": [[1.0, float("nan")], [2.0]]}), ["arrow", "orc", "rds", "cbor", "msgpack"]),
    "nan in structs": (pa.table({"s": [{"a": float("nan")}, None]}), ["arrow", "cbor"]),
    "bytes": (pa.table({"b": [b"abc", b"\xff\0"]}), ["json", "ndjson"]),
    "lengths of time": (pa.table({"d": pa.array([1, 2], pa.duration("us"))}), ["json", "msgpack"]),
    "times to the nanosecond": (pa.table({"n": [1, 2], "t": pa.array([1, None], pa.time64("ns"))}), ["csv", "parquet"]),
    "lengths below none": (pa.table({"n": [1, 2], "d": pa.array([-1, -90_000], pa.duration("s"))}), ["csv:pandas", "json"]),
    "orders in structs": (pa.table({"s": pa.StructArray.from_arrays([ordered([0, 1], ["lo", "hi"])], ["c"])}), ["arrow", "parquet", "rds", "pickle:pyarrow", "pickle:pandas"]),
    "maps": (pa.table({"m": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64()))}), ["rds", "orc"]),
    "integers of 64 bits": (pa.table({"u": pa.array([None, 2**63, 5], pa.uint64())}), ["json", "ndjson", "msgpack", "yaml"]),
    "lists of them": (pa.table({"u": pa.array([[2**63], None, []], pa.list_(pa.uint64()))}), ["json", "ndjson", "cbor"]),
    "structs of them": (pa.table({"u": pa.array([{"h": 2**63}, None], pa.struct([("h", pa.uint64())]))}), ["json"]),
    "uuids": (pa.table({"u": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([uuid.uuid4().bytes, None], pa.binary(16)))}), ["json", "avro", "msgpack"]),
    "categories": (pa.table({"c": pa.array(["x", "y", "x"]).dictionary_encode()}), ["csv", "json", "parquet:polars"]),
    "a level that no row has": (pa.table({"o": pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), ["a", "b", "c"])}), ["csv", "json", "parquet:polars"]),
}  # fmt: skip
LOST = {
    "an order with a level that no row has": (pa.table({"o": ordered([0, 1], ["lo", "mid", "hi"])}), ["csv", "json"]),
    "an order": (pa.table({"o": ordered([0, 1], ["lo", "hi"])}), ["csv", "ndjson", "json", "parquet:polars"]),
    "an order in structs": (pa.table({"s": pa.StructArray.from_arrays([ordered([0, 1], ["lo", "hi"])], ["c"])}), ["ndjson", "json"]),
    "an order in lists": (pa.table({"l": pa.ListArray.from_arrays([0, 1, 2], ordered([0, 1], ["lo", "hi"]))}), ["json", "msgpack"]),
    "nan": (pa.table({"l": [[1.0, float("nan")], [2.0]]}), ["ndjson", "json:orjson"]),
}  # fmt: skip


def _each(cases):
    return [pytest.param(table, codec, id=f"{name}-{codec}") for name, (table, codecs) in cases.items() for codec in codecs]  # fmt: skip


@pytest.mark.parametrize(("table", "codec"), _each(KEPT))
def test_what_can_be_rebuilt_is_no_loss(tmp_path, table, codec):
    need_codec(codec)
    done = tare.convert(table, tmp_path / "out", codec=codec)
    assert done.verified
    assert {change["verdict"] for change in done.changes} <= {"type"}


@pytest.mark.parametrize(("table", "codec"), _each(LOST))
def test_what_cannot_be_rebuilt_is_refused(tmp_path, table, codec):
    need_codec(codec)
    with pytest.raises(EncodeError, match="would change"):
        tare.convert(table, tmp_path / "out", codec=codec)
    assert list(tmp_path.iterdir()) == []
    done = tare.convert(table, tmp_path / "out", codec=codec, allow_loss=True)
    assert "lossy" in {change["verdict"] for change in done.changes}


@pytest.mark.parametrize(
    ("before", "back"),
    [
        ([[-0.0]], [[0.0]]),
        ([Decimal("1.10")], [1.1049]),
        ([True], [5]),
        ([dt.date(2020, 1, 1)], [dt.datetime(2020, 1, 1, 12)]),
        ([dt.date(2020, 1, 1)], [dt.datetime(2020, 1, 1)]),
        ([1], [1.0]),
    ],
)
def test_columns_are_judged_as_when_they_are_measured(before, back):
    before, back = pa.table({"a": pa.array(before)}), pa.table({"a": pa.array(back)})
    wanted = compare(before, back, kind="table").verdict
    assert {change["verdict"] for change in table_changes(before, back)} == {wanted}


def test_documents_are_judged_as_when_they_are_measured():
    assert document_changes({"b": b"abc"}, {"b": "YWJj"})[0]["verdict"] == "type"
    assert document_changes({"b": b"abc"}, {"b": "abd"})[0]["verdict"] == "lossy"


def test_metadata_that_does_not_come_back_is_told_and_is_no_reason_to_refuse(tmp_path):
    table = pa.table({"a": [1]}).replace_schema_metadata({"crs": "EPSG:4326"})
    done = tare.convert(table, tmp_path / "out.csv")
    assert [(change["path"], change["verdict"]) for change in done.changes] == [("(metadata)", "lost")]


@pytest.mark.parametrize("streamed", [False, True])
def test_what_the_type_alone_tells_is_refused_without_reading_back(tmp_path, monkeypatch, streamed):
    """As of a table too large to be read back, written whole or batch by batch."""
    table = pa.table({"o": ordered([0, 1, 1], ["lo", "hi"])})
    tare.write(table, tmp_path / "a.arrow")
    monkeypatch.setattr("tare.io.VERIFY_BYTES", 1)
    monkeypatch.setattr("tare.io.STREAM_BYTES", 1 if streamed else 1 << 30)
    with pytest.raises(EncodeError, match=r"'o' \(levels\) would change"):
        tare.convert(tmp_path / "a.arrow", tmp_path / "a.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.arrow"]
    done = tare.convert(tmp_path / "a.arrow", tmp_path / "a.csv", allow_loss=True)
    assert (done.streamed, done.verified, [change["verdict"] for change in done.changes]) == (
        streamed,
        False,
        ["lossy"],
    )
    assert tare.convert(tmp_path / "a.arrow", tmp_path / "a.parquet").changes == []


def test_every_column_that_changed_is_told(tmp_path):
    table = pa.table({f"c{n}": pa.array([1, None], pa.int32()) for n in range(1500)})
    assert len(tare.convert(table, tmp_path / "wide.ndjson").changes) == 1500


def test_notes_of_libraries_are_no_metadata_that_is_lost(tmp_path):
    table = pa.table({"a": [1]}).replace_schema_metadata({"duckdb.bloom": "x", "pandas": "{}"})
    assert tare.convert(table, tmp_path / "out.csv").changes == []


@pytest.mark.parametrize(
    ("levels", "codec", "kept"),
    [
        (["lo", "hi"], "parquet", True),
        (["lo", "hi"], "arrow", True),
        (["lo", "hi"], "rds", True),
        (["lo", "hi"], "pickle:pyarrow", True),
        (["lo", "hi"], "pickle:pandas", True),
        (["lo", "hi"], "parquet:polars", False),
        (["lo", "hi"], "parquet:duckdb", False),
        ([1, 2], "arrow", True),
        ([1, 2], "parquet", False),
        ([1, 2], "rds", False),
    ],
)
@pytest.mark.parametrize("verify", [True, False])
def test_an_order_is_kept_or_told_whether_or_not_it_is_read_back(tmp_path, levels, codec, kept, verify):
    need_codec(codec)
    table = pa.table({"o": ordered([0, 1, 1], levels)})
    if not kept:
        with pytest.raises(EncodeError, match="would change"):
            tare.convert(table, tmp_path / "out", codec=codec, verify=verify)
    done = tare.convert(table, tmp_path / "out", codec=codec, verify=verify, allow_loss=not kept)
    assert ("lossy" in {change["verdict"] for change in done.changes}) == (not kept)


@pytest.mark.parametrize("kind", [pa.string(), pa.int64()])
@pytest.mark.parametrize(
    "codec",
    [
        "ndjson", "msgpack", "rds", "arrow", "arrow:polars", "parquet:polars", "parquet:duckdb", "pickle:pyarrow",
        "pickle:pandas",
    ],
)  # fmt: skip
def test_maps_are_judged_alike_whether_or_not_they_are_read_back(tmp_path, kind, codec):
    need_codec(codec)
    pairs = [[("a", "x" if kind == pa.string() else 1)], None, []]
    table = pa.table({"n": [1, 2, 3], "m": pa.array(pairs, pa.map_(pa.string(), kind))})
    found = [
        tare.convert(table, tmp_path / f"{verify}", codec=codec, verify=verify, allow_loss=True)
        for verify in (True, False)
    ]
    lossy = [{change["path"] for change in one.changes if change["verdict"] == "lossy"} for one in found]
    assert lossy[0] == lossy[1]


def test_a_list_of_nothing_becomes_lines(tmp_path):
    assert tare.convert([], tmp_path / "out.ndjson").changes == []


@pytest.mark.parametrize("codec", ["ndjson", "json", "msgpack", "csv:stdlib"])
def test_nanoseconds_that_python_has_not_are_text_and_not_left_out(tmp_path, codec):
    table = pa.table({"t": pa.array([86_399_000_000_001], pa.time64("ns"))})
    with pytest.raises(Unsupported, match="times of day with nanoseconds"):
        tare.encode(table, codec)
    tare.convert(table, tmp_path / "out", codec=codec)
    assert b"23:59:59.000000001" in (tmp_path / "out").read_bytes()
    table = pa.table({"t": pa.array([86_399_000_001_000], pa.time64("ns"))})
    assert tare.convert(table, tmp_path / "out", codec=codec).verified


@pytest.mark.parametrize("nested", [False, True])
def test_an_order_that_was_turned_is_a_loss(nested):
    """With equal values, and whether or not it is that of a whole column."""
    one, other = ordered([0, 1], ["lo", "hi"]), ordered([1, 0], ["hi", "lo"])
    if nested:
        one, other = (pa.ListArray.from_arrays([0, 1, 2], coded) for coded in (one, other))
    found = compare(pa.table({"o": one}), pa.table({"o": other}), kind="table")
    assert [(change.path, change.verdict) for change in found.changes] == [("o (levels)", "lossy")]


def test_an_order_within_is_found_in_every_kind_of_nesting():
    """And is none where the categories have no order, or the levels that none has are more."""
    coded = ordered([0, 1], ["lo", "hi"])
    more = ordered([0, 1], ["lo", "hi", "most"])
    plain = pa.DictionaryArray.from_arrays(coded.indices, coded.dictionary)
    ends = [0, 1, 2]

    def nestings(inner):
        yield pa.ListArray.from_arrays(ends, inner)
        yield pa.LargeListArray.from_arrays(ends, inner)
        yield pa.FixedSizeListArray.from_arrays(inner, 1)
        yield pa.MapArray.from_arrays(ends, pa.array(["a", "b"]), inner)
        yield pa.MapArray.from_arrays(ends, inner, pa.array([1, 2]))
        yield pa.StructArray.from_arrays(
            [pa.array([1, 2]), pa.ListArray.from_arrays(ends, inner)], ["n", "l"]
        )

    for one, same, flat, text in zip(
        *map(nestings, (coded, more, plain, coded.cast(pa.string()))), strict=True
    ):
        for back, lossy in ((one, False), (same, False), (flat, True), (text, True)):
            found = compare(pa.table({"o": one}), pa.table({"o": back}), kind="table")
            assert (found.verdict == "lossy") == lossy, (one.type, back.type)
        assert compare(pa.table({"o": flat}), pa.table({"o": text}), kind="table").verdict == "type"


def test_levels_are_the_same_whatever_the_width_of_their_offsets():
    """The rest is their type: an ordered category of polars is of large texts, one of R's of texts."""
    kinds = (pa.string(), pa.large_string(), pa.string_view())
    tables = [pa.table({"o": ordered([0, 1], pa.array(["b", "a"], kind))}) for kind in kinds]
    for one in tables:
        for other in tables:
            found = compare(one, other, kind="table")
            assert [change.path for change in found.changes] == ([] if one is other else ["o"])
            assert found.verdict == ("same" if one is other else "type")


@pytest.mark.parametrize("codec", ["json:stdlib", "ndjson:stdlib"])
def test_a_number_that_json_does_not_have_is_a_loss(codec, tmp_path):
    """A library that writes the word NaN reads it back, other readers do not."""
    table = pa.table({"i": [1, 2], "d": [0.5, float("nan")], "word": ["NaN", "Infinity"]})
    with pytest.raises(EncodeError, match="'d' would change: NaN is written as text that is not JSON"):
        tare.convert(table, tmp_path / "x.out", codec=codec)
    done = tare.convert(table, tmp_path / "x.out", codec=codec, allow_loss=True)
    assert [(one["path"], one["verdict"], one["count"]) for one in done.changes] == [("d", "lossy", 1)]


def test_words_in_text_are_no_numbers(tmp_path):
    """Only numbers count, wherever they lie."""
    assert not tare.convert(pa.table({"w": ["NaN"]}), tmp_path / "x.json").changes
    with pytest.raises(EncodeError, match="Infinity is written as"):
        tare.convert(pa.table({"l": [[1.0], [float("inf")]]}), tmp_path / "y.json")


@pytest.mark.parametrize("value", [[], pa.table({"a": pa.array([], pa.int64())})])
def test_a_list_without_items_is_told_to_be_a_blank_line_of_ndjson(tmp_path, value):
    """It comes back, and an empty file says what to write in its place."""
    done = tare.convert(value, tmp_path / "x.ndjson")
    assert (tmp_path / "x.ndjson").read_bytes() == b"\n"
    assert any("one blank line" in note for note in done.notes)
    assert tare.read(tmp_path / "x.ndjson") == []
    (tmp_path / "x.ndjson").write_bytes(b"")
    with pytest.raises(Truncated, match=r"empty .0 bytes.*write one blank line"):
        tare.read(tmp_path / "x.ndjson")
