"""What a conversion read and wrote is read again by another library: no reader's mistake hides behind itself."""

from __future__ import annotations

import datetime as dt
import gzip
import importlib.util
import io
import itertools
import json
import os
import subprocess
import sys
import threading
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.capabilities import need_codec, need_module
from support.commands import invoke

import tare
import tare.io as tare_io
from tare.codec import Codec
from tare.converting import encoding
from tare.converting.second_reading import Request, read_again
from tare.converting.second_reading.agreement import first_difference
from tare.converting.second_reading.outcome import windows
from tare.dataset import Dataset
from tare.datasets.source import find
from tare.errors import DecodeError, EncodeError, TareError

ROWS = 2_000
TABLE = pa.table({
    "n": range(ROWS),
    "f": [k / 7 for k in range(ROWS)],
    "s": [f"name {k}" if k % 5 else None for k in range(ROWS)],
    "d": pa.array([dt.date(2020, 1, 1) + dt.timedelta(k) for k in range(ROWS)]),
})  # fmt: skip
READERS = {"parquet": "duckdb", "arrow": "polars", "csv": "Python's csv", "json": "msgspec", "ndjson": "msgspec", "msgpack": "msgspec"}  # fmt: skip
NOTED = ("csv", "yaml")


def written(folder, name, table=TABLE):
    path = folder / name
    tare.write(table, path)
    return path


def converted(path, out, **options):
    """What a conversion says of two readers: an error or a note; empty if they agree."""
    try:
        done = tare.convert(path, out, verify=True, **options)
    except TareError as error:
        assert not out.exists()
        return str(error)
    assert not any("failed" in one["why"] for one in done.second.values())
    return "".join(note for note in done.notes if "Tare reads" in note)


def changed(value):
    """The same data, but for the number in row 1,501."""
    if isinstance(value, pa.Table):
        numbers = value["n"].to_pylist()
        numbers[1_500] += 1
        return value.set_column(0, "n", pa.array(numbers))
    return [*value[:1_500], {**value[1_500], "n": 1_501}, *value[1_501:]]


def swallowed(value):
    """The same data without one row."""
    if isinstance(value, pa.Table):
        return pa.concat_tables([value.slice(0, 700), value.slice(701)])
    return [*value[:700], *value[701:]]


@pytest.mark.parametrize("format", READERS)
@pytest.mark.parametrize("how", [changed, swallowed])
def test_a_wrong_reader_of_the_source_is_found(tmp_path, monkeypatch, format, how):
    need_module(READERS[format].split()[0].replace("Python's", "csv"))
    path = written(tmp_path, f"a.{format}")
    was = tare_io.open_dataset
    names = []

    def wrong(x, **options):
        right = was(x, **options)
        names.append(right.name)
        if right.name != path.name:
            return right
        return Dataset(how(right.value), name=right.name, path=right.path, format=right.format)

    monkeypatch.setattr(tare_io, "open_dataset", wrong)
    said = converted(path, tmp_path / "out.pickle")
    place = "the number of " if how is swallowed else "1,501"
    assert said.startswith(f"a.{format}: {format}: ")
    assert place in said
    assert READERS[format] in said
    assert ("Nothing was written" in said) == (format not in NOTED)
    assert path.name in names


@pytest.mark.parametrize("format", READERS)
@pytest.mark.parametrize("how", [changed, swallowed])
def test_what_was_written_and_read_wrongly_is_found(tmp_path, monkeypatch, format, how):
    """A library whose reader undoes what its writer did wrong."""
    need_module(READERS[format].split()[0].replace("Python's", "csv"))
    was, encode = tare_io.open_dataset, Codec.encode
    source = TABLE.to_pylist() if format in {"json", "ndjson", "msgpack"} else TABLE
    if format in {"json", "ndjson", "msgpack"}:
        source = [{**row, "d": str(row["d"])} for row in source]
    kept = []

    def wrong(x, **options):
        right = was(x, **options)
        return kept[0] if right.name == "the result" else right

    def write(codec, value):
        kept.append(was(find(encode(codec, value), format=codec.format_id, name="the result")))
        return encode(codec, how(value))

    monkeypatch.setattr(tare_io, "open_dataset", wrong)
    monkeypatch.setattr(Codec, "encode", write)
    monkeypatch.setattr(encoding, "text_parts", lambda *_: None)  # the other way in which tables are written
    said = converted(source, tmp_path / f"out.{format}")
    assert said.startswith(f"the result: {format}: ")
    assert ("the number of " if how is swallowed else "1,501") in said
    assert READERS[format] in said


def test_a_record_of_avro_that_became_another_is_found(tmp_path):
    """A map whose rows have keys of their own is no record of all of them."""
    fastavro = need_module("fastavro")
    schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "m", "type": {"type": "map", "values": "long"}}],
    }
    path = tmp_path / "a.avro"
    with path.open("wb") as file:
        fastavro.writer(file, schema, [{"m": {"a": 1}}, {"m": {"b": 2}}, {"m": {}}])
    wrong = pa.table({"m": [{"a": 1, "b": None}, {"a": None, "b": 2}, {"a": None, "b": None}]})
    found = read_again(Request(find(path), wrong))
    assert (found.difference.place, found.difference.second) == ("column 'm', row 1", "{'a': 1}")
    right = pa.table({"m": pa.array([[("a", 1)], [("b", 2)], []], pa.map_(pa.string(), pa.int64()))})
    assert read_again(Request(find(path), right)).difference is None
    assert read_again(Request(find(path), right.slice(0, 2))).difference.place == "the number of rows"


def test_moments_of_96_bits_are_found(tmp_path):
    """Nanoseconds of 64 bits end in 2262: Arrow's reader begins anew where they end."""
    need_module("duckdb")
    path = tmp_path / "a.parquet"
    moments = pa.array([dt.datetime(2024, 1, 5), dt.datetime(9999, 12, 31)], pa.timestamp("us"))
    pq.write_table(pa.table({"t": moments}), path, use_deprecated_int96_timestamps=True)
    wrong = pa.table({"t": pa.array([1704412800 * 10**9, -4852202631933722624], pa.timestamp("ns"))})
    found = read_again(Request(find(path), wrong)).difference
    assert found.place == "column 't', row 2"
    assert found.second.startswith("9999-12-31 00:00:00")
    assert read_again(Request(find(path), pa.table({"t": moments}))).difference is None


def test_yaml_of_two_versions_is_noted(tmp_path):
    need_module("ruamel.yaml")
    (tmp_path / "a.yaml").write_text("country: NO\nport: 22\n")
    done = tare.convert(tmp_path / "a.yaml", tmp_path / "a.json")
    assert [note.partition(";")[0] for note in done.notes] == ["read by YAML 1.1: NO is False (line 1)"]
    assert done.second["source"]["difference"]["second"] == "'NO'"
    (tmp_path / "b.yaml").write_text("country: 'NO'\nport: 22\n")
    assert tare.convert(tmp_path / "b.yaml", tmp_path / "b.json").notes == []


def test_what_one_wants_in_spite_of_it(tmp_path, monkeypatch):
    """`allow_loss` notes the difference, and `verify=False` reads nothing twice."""
    need_module("duckdb")
    path = written(tmp_path, "a.parquet")
    was = tare_io.open_dataset

    def wrong(x, **options):
        right = was(x, **options)
        return (
            Dataset(changed(right.value), name=right.name, format=right.format)
            if right.name == path.name
            else right
        )

    monkeypatch.setattr(tare_io, "open_dataset", wrong)
    done = tare.convert(path, tmp_path / "a.arrow", allow_loss=True)
    assert ["column 'n', row 1,501" in note for note in done.notes] == [True]
    monkeypatch.setattr("tare.io.read_again", None)
    assert tare.convert(path, tmp_path / "b.arrow", verify=False).second == {}


def test_nothing_goes_into_a_file_object_before_two_readers_agree(tmp_path, monkeypatch):
    """A file waits for its name; what was written into a file object is not taken back."""
    need_module("duckdb")
    path = written(tmp_path, "a.parquet")
    was = tare_io.open_dataset

    def wrong(x, **options):
        right = was(x, **options)
        return Dataset(changed(right.value), name=right.name, format=right.format)

    monkeypatch.setattr(tare_io, "open_dataset", wrong)
    out = io.BytesIO()
    with pytest.raises(DecodeError, match="column 'n', row 1,501"):
        tare.convert(path, out, codec="arrow")
    assert out.getvalue() == b""


def test_a_source_that_two_readers_read_differently_is_told_before_what_its_target_refuses(
    tmp_path, monkeypatch
):
    need_module("duckdb")
    path = written(tmp_path, "a.parquet")
    was = tare_io.open_dataset

    def wrong(x, **options):
        right = was(x, **options)
        return Dataset(changed(right.value), name=right.name, format=right.format)

    def refuse(*_, **__):
        raise EncodeError("refused")

    monkeypatch.setattr(tare_io, "open_dataset", wrong)
    monkeypatch.setattr(tare_io, "encode", refuse)
    with pytest.raises(DecodeError, match="column 'n', row 1,501"):
        tare.convert(path, tmp_path / "b.arrow")
    assert os.listdir(tmp_path) == ["a.parquet"]
    left = [one for one in threading.enumerate() if one.name == "second reading"]
    assert left == []


# --- no false alarms ------------------------------------------------------------------------


def _nulls(values, kind=None):
    return pa.array([*values, None], kind)


MOMENT = dt.datetime(2024, 2, 29, 23, 59, 59, 999_999)
EVERY_TYPE = {
    **{str(kind): _nulls([0, 1, 100], kind) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())},
    "ends": _nulls([-(2**63), 2**63 - 1]), "large": _nulls([2**64 - 1], pa.uint64()), "beyond doubles": _nulls([2**53 + 1]),
    "half": _nulls([0.5, -1.25], pa.float16()), "float": _nulls([0.1, 1e30, -0.0], pa.float32()),
    "double": _nulls([0.1, 1e300, 5e-324, -0.0, 1 / 3]), "nan": _nulls([float("nan"), float("inf"), -float("inf")]),
    "bool": _nulls([True, False]), "null": pa.nulls(3), "text": _nulls(["", "NA", "null", " a ", "a,b", 'say "x"', "1", "001", "\u00e9\U0001f600", "a\nb", "a\r\nb", "NULL", "true", "2020-01-01"]),
    "large text": _nulls(["x"], pa.large_string()), "bytes": _nulls([b"\x00\xff", b""]), "fixed": _nulls([b"abcd"], pa.binary(4)),
    "date": _nulls([dt.date(1, 1, 1), dt.date(9999, 12, 31)]), "date64": _nulls([dt.date(2020, 1, 1)], pa.date64()),
    **{f"moment {unit}": _nulls([0, 1_700_000_000], pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")},
    "moment": _nulls([MOMENT, dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)], pa.timestamp("us")),
    "zone": _nulls([MOMENT], pa.timestamp("us", "Europe/Berlin")), "utc": _nulls([MOMENT], pa.timestamp("ms", "UTC")),
    "fine": _nulls([1_700_000_000_123_456_789], pa.timestamp("ns")), "fine time": _nulls([1, 86_399_999_999_999], pa.time64("ns")),
    "time": _nulls([dt.time(0), dt.time(23, 59, 59, 999_999)]), "time s": _nulls([0, 86_399], pa.time32("s")), "time ms": _nulls([1, 999], pa.time32("ms")),
    **{f"length {unit}": _nulls([0, -5, 10**9], pa.duration(unit)) for unit in ("s", "ms", "us", "ns")},
    "decimal": _nulls([Decimal("1.10"), Decimal("-99999999.99")]), "wide decimal": _nulls([Decimal(10) ** 37], pa.decimal128(38, 0)),
    "wider decimal": _nulls([Decimal(10) ** 60], pa.decimal256(76, 2)),
    "list": _nulls([[1, None], [], [3]]), "list of texts": _nulls([["a", None], []]), "two of them": _nulls([[1, 2]], pa.list_(pa.int64(), 2)),
    "struct": _nulls([{"a": 1, "b": "x"}, {"a": None, "b": None}]), "deep": _nulls([[{"a": [{"b": 1}]}], []]),
    "map": _nulls([[("a", 1), ("b", None)], []], pa.map_(pa.string(), pa.int64())),
    "levels": _nulls(["x", "y", "x"]).dictionary_encode(), "levels of numbers": _nulls([5, 7, 5]).dictionary_encode(),
    "ordered": pa.DictionaryArray.from_arrays(pa.array([0, 1, None], pa.int8()), ["lo", "hi"], ordered=True),
}  # fmt: skip
TARGETS = ("parquet", "arrow", "csv", "json", "ndjson", "msgpack", "yaml", "avro", "orc", "csv:polars", "parquet:polars", "parquet:duckdb", "ndjson:polars", "cbor")  # fmt: skip


@pytest.mark.parametrize("codec", TARGETS)
@pytest.mark.parametrize("column", EVERY_TYPE.values(), ids=EVERY_TYPE)
def test_right_readers_agree(tmp_path, codec, column):
    """What a codec takes at all is read alike by two readers; and so is what it is made of."""
    need_module("duckdb")
    need_module("polars")
    need_codec(codec)
    table = pa.table({"v": column, "n": range(len(column))})
    path = tmp_path / f"a.{codec.split(':')[0]}"
    assert "Tare reads" not in converted(table, path, codec=codec, allow_loss=True)
    if not path.exists():
        return
    assert "Tare reads" not in converted(path, tmp_path / "b.arrow", allow_loss=True)


def test_fields_whose_names_differ_in_case_alone(tmp_path):
    """DuckDB gives one of them another name."""
    need_module("duckdb")
    table = pa.table({"s": [{"a": 1, "A": 2}], "n": [1], "N": [2]})
    path = written(tmp_path, "a.parquet", table)
    assert converted(path, tmp_path / "b.parquet") == ""
    wrong = table.set_column(2, "N", pa.array([3]))
    assert read_again(Request(find(path), wrong)).difference.place == "column 'N', row 1"


NS = pa.timestamp("ns")
FINE = {
    "moment": pa.array([1_234_567_891, -1, None, 10**18 + 1], NS),
    "zone": pa.array([1_234_567_891, -1, None], pa.timestamp("ns", "UTC")),
    "list": pa.array([[-1_234_567_891, None], None, []], pa.list_(NS)),
    "struct": pa.array(
        [{"a": -1, "n": 7}, None, {"a": None, "n": 8}], pa.struct([("a", NS), ("n", pa.int64())])
    ),
    "map": pa.array([[("k", -1)], None, []], pa.map_(pa.string(), NS)),
    "deep": pa.array([[{"a": [-1_001]}], [], None], pa.list_(pa.struct([("a", pa.list_(NS))]))),
}


@pytest.mark.parametrize("column", FINE.values(), ids=FINE)
def test_nanoseconds_of_96_bits_are_no_difference(tmp_path, column):
    """DuckDB cuts them to microseconds, those before 1970 downwards."""
    need_module("duckdb")
    path = tmp_path / "a.parquet"
    table = pa.table({"v": column, "n": range(len(column))})
    pq.write_table(table, path, use_deprecated_int96_timestamps=True)
    assert read_again(Request(find(path), tare.read(path))).as_dict()["difference"] is None
    assert converted(path, tmp_path / "b.arrow") == ""
    assert tare.read(tmp_path / "b.arrow")["v"].to_pylist() == tare.read(path)["v"].to_pylist()


def test_a_microsecond_more_is_found_among_nanoseconds(tmp_path):
    need_module("duckdb")
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"v": FINE["moment"]}), path, use_deprecated_int96_timestamps=True)
    later = pa.table({"v": pa.array([1_234_568_000, -1, None, 10**18 + 1], NS)})
    assert read_again(Request(find(path), later)).difference.place == "column 'v', row 1"


def test_moments_that_polars_cuts(tmp_path, monkeypatch):
    """DuckDB refuses a file with moments beyond its own; polars makes the last nanosecond of them."""
    need_module("polars")
    monkeypatch.setattr("tare.converting.second_reading.columnar._MOST_COLUMNS_OF_DUCKDB", 0)
    path = tmp_path / "a.parquet"
    table = pa.table(
        {"t": pa.array([dt.datetime(2024, 1, 5), dt.datetime(9999, 12, 31)], pa.timestamp("us"))}
    )
    pq.write_table(table, path, use_deprecated_int96_timestamps=True, store_schema=False)
    found = read_again(Request(find(path), table, thorough=True))
    assert (found.reader, found.difference) == ("polars", None)


@pytest.mark.parametrize(
    "name", ["a.csv", "a.csv.gz", "a.tsv", "a.parquet", "a.json", "a.ndjson.gz", "a.msgpack", "a.arrow"]
)
@pytest.mark.parametrize("columns", [None, ["s", "n"]])
def test_files_that_are_compressed_or_read_in_part(tmp_path, name, columns):
    path = written(tmp_path, name)
    assert converted(path, tmp_path / "out.pickle", columns=columns) == ""


CSV = {
    "quotes": b'a,b\n"x ""y""",1\n"1\n2",2\n', "one column": b"a\n1\n\n3\n", "blank lines": b"a,b\n\n1,2\n\n3,4\n", "semicolons": b"a;b\n1,5;x\n2,25;y\n",
    "bom": b"\xef\xbb\xbfa,b\n1,2\n", "crlf": b"a,b\r\n1,2\r\n3,\r\n", "missing": b'a,b\nNA,"NA"\n,""\nnull,x\n', "zeros": b"a,b\n001,1e3\n010,-1.50\n",
    "no end": b"a,b\n1,2", "times": b"t,z,d,h\n2024-01-05 10:00:00,2024-01-05T10:00:00+02:00,2024-01-05,10:00:00\n,,,\n", "truths": b"a,b\ntrue,TRUE\nFalse,false\n",
    "words": b"a,b\nnan,inf\n1.5,-inf\n", "twice": b"a,a\n1,2\n", "comment": b"# by hand\na,b\n1,2\n", "backslash": b'a,b\n"x\\"y",1\n', "no rows": b"a,b\n", "lines in the last": b'a,b\n1,2\n3,"x\ny"',
}  # fmt: skip


@pytest.mark.parametrize("text", CSV.values(), ids=CSV)
@pytest.mark.parametrize("step", [0, 5, 1 << 20])
def test_texts_of_many_kinds_are_read_alike(tmp_path, monkeypatch, text, step):
    """Larger ones by steps; also by polars, which is asked for those whose rows are not lines."""
    if step:
        need_module("polars")
        monkeypatch.setattr("tare.converting.second_reading.delimited._PLAIN_BYTES", 1)
        monkeypatch.setattr("tare.converting.second_reading.delimited._STEP_BYTES", step)
    path = tmp_path / "a.csv"
    path.write_bytes(text)
    done = tare.convert(path, tmp_path / "a.arrow", verify=True)
    assert [note for note in done.notes if "Tare reads" in note] == []


DOCUMENTS = {
    "numbers": b'{"a": [1, 1.0, -0.0, 1e300, 18446744073709551616, 123456789012345678901234567890]}', "nan": b"[NaN, Infinity]", "twice": b'{"a": 1, "a": 2}',
    "texts": rb'["\u00e9\ud83d\ude00", "", "\u0000"]', "half a pair": rb'["\ud83d"]', "deep": b"[" * 500 + b"]" * 500, "scalar": b'"x"', "empty": b"{}",
}  # fmt: skip


@pytest.mark.parametrize("text", DOCUMENTS.values(), ids=DOCUMENTS)
def test_documents_of_many_kinds_are_read_alike(tmp_path, text):
    (tmp_path / "a.json").write_bytes(text)
    assert "Tare reads" not in converted(tmp_path / "a.json", tmp_path / "a.pickle")


@pytest.mark.parametrize("folder", ["csv", "json", "msgpack", "yaml"])
def test_files_of_others_are_read_alike(shared, folder):
    """Files of data that others wrote; what YAML 1.1 and 1.2 read differently is told of them."""
    paths = sorted(path for path in shared(f"data/{folder}").rglob("*") if path.is_file())
    for path in paths[:150]:
        try:
            data = tare.open_dataset(path)
        except (TareError, OSError):
            continue
        source = find(path)
        found = read_again(Request(source, data.value, thorough=True))
        assert found.difference is None or source.format == "yaml", (path, found)


# --- samples and words -----------------------------------------------------------------------


def test_blocks_have_the_first_rows_and_the_last():
    assert windows(100, 100) == [(0, 100)]
    assert windows(0, 10) == []
    found = windows(1_000_003, 80)
    assert (found[0], found[-1], len(found)) == ((0, 10), (999_993, 1_000_003), 8)
    assert all(start < end < after for (start, end), (after, _) in itertools.pairwise(found))


@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a.arrow"])
def test_of_a_large_file_blocks_of_rows_are_compared(tmp_path, name):
    need_module("polars")
    need_module("duckdb")
    rows = 300_000
    table = pa.table({"n": range(rows), "s": [f"name {k % 1_000}" for k in range(rows)]})
    path = written(tmp_path, name, table)
    right = read_again(Request(find(path), table))
    assert (right.difference, right.total) == (None, rows)
    assert 1_000 < right.rows < rows
    wrong = table.set_column(0, "n", pa.array([*range(rows - 1), 0]))
    assert read_again(Request(find(path), wrong)).difference.place == f"column 'n', row {rows:,}"
    assert read_again(Request(find(path), table.slice(1))).difference.place == "the number of rows"


@pytest.mark.parametrize("name", ["a.json", "a.ndjson", "a.msgpack"])
def test_of_a_large_document_some_items_are_compared(tmp_path, name):
    need_module("msgspec")
    items = [{"n": k, "s": f"name {k} " + "x" * 60} for k in range(80_000)]
    path = written(tmp_path, name, items)
    right = read_again(Request(find(path), items))
    assert (right.reader, right.difference, right.total) == ("msgspec", None, 80_000)
    assert 1_000 < right.rows < 80_000
    wrong = [*items[:-1], {**items[-1], "n": 0}]
    assert "n" in read_again(Request(find(path), wrong)).difference.place
    assert read_again(Request(find(path), items[1:])).difference.place == "the number of items"


@pytest.mark.parametrize(
    ("a", "b", "place"),
    [
        ([1, True], [1, 1], "[1]"), ([1], [1.0], None), ([2**70], [float(2**70)], None), ([2**53 + 1], [float(2**53)], None), ([3], [4.0], "[0]"),
        ({"a": float("nan")}, {"a": float("nan")}, None), ([("a", 1)], {"a": 1}, None), ([("a", 1), ("a", 1)], {"a": 1}, ""), ({"a": {}}, {"a": None}, "a"),
        ("1", 1, ""), ([object()], [1], None), ({"a": [{"b c": 1}]}, {"a": [{"b c": 2}]}, "a[0].b c"), (b"x", "x", ""),
    ],
)  # fmt: skip
def test_values_agree_by_what_they_mean(a, b, place):
    found = first_difference(a, b)
    assert (None if found is None else found[0]) == place


@pytest.mark.parametrize(("target", "words"), [("b.orc", "read back and compared, by the same reader only (Tare has no other for orc)"), ("b.json", "read back and compared, also by msgspec")])  # fmt: skip
def test_the_command_says_who_read_what(tmp_path, target, words):
    (tmp_path / "a.csv").write_bytes(b"a,b\n1,x\n2,y\n")
    done = invoke("convert", "a.csv", target, cwd=tmp_path)
    assert done.stderr.splitlines()[0].endswith(f"  {words}; source read by Python's csv too")
    told = json.loads(invoke("convert", "a.csv", target, "--force", "--json", cwd=tmp_path).stdout)["second"]
    assert told["source"] == {"reader": "Python's csv", "why": "", "rows": 2, "total": 2, "difference": None}
    assert told["result"]["reader"] == ("msgspec" if target == "b.json" else "")
    done = invoke("convert", "a.csv", target, "--force", "--no-verify", cwd=tmp_path)
    assert "read" not in done.stderr.splitlines()[0]


def test_a_small_file_loads_no_large_library(tmp_path):
    """It takes 0.2 s to load polars; --verify has it loaded."""
    need_module("polars")
    written(tmp_path, "a.arrow")
    written(tmp_path, "a.csv")
    code = """
import sys, tare
for name in sys.argv[2:]:
    done = tare.convert(name, "b.arrow", verify=True if sys.argv[1] == "verify" else None)
print("polars" in sys.modules, "pandas" in sys.modules, done.second["source"]["why"])
"""

    def run(*words):
        done = subprocess.run(
            [sys.executable, "-c", code, *words], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    assert run("default", "a.csv", "a.arrow") == "False False with --verify polars reads it too"
    assert run("verify", "a.arrow") == "True False"


def test_a_reader_that_is_not_installed_is_named_with_its_command(tmp_path, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *more: None if name in ("polars", "duckdb") else found(name, *more),
    )
    (tmp_path / "a.csv").write_bytes(b"a,b\n1,x\n2,y\n")
    why = {
        target: tare.convert(tmp_path / "a.csv", tmp_path / target).second["result"]["why"]
        for target in ("b.parquet", "b.arrow", "b.blit")
    }
    assert why == {
        "b.parquet": "duckdb or polars would read it too: pip install duckdb",
        "b.arrow": "polars would read it too: pip install polars",
        "b.blit": "Tare has no other for blit",
    }


def test_what_the_other_reader_does_not_read_is_said(tmp_path):
    """A field longer than Python's csv takes; YAML that ruamel refuses."""
    (tmp_path / "a.csv").write_bytes(b"a,b\n1," + b"x" * 200_000 + b"\n")
    done = tare.convert(tmp_path / "a.csv", tmp_path / "a.json")
    assert done.second["source"]["why"] == "Python's csv does not read it"
    with gzip.open(tmp_path / "b.json.gz", "wb") as file:
        file.write(b"[NaN]")
    done = tare.convert(tmp_path / "b.json.gz", tmp_path / "b.pickle")
    assert done.second["source"]["why"] == "msgspec does not read it"


@pytest.mark.parametrize("library", ["duckdb", "polars"])
def test_a_forked_process_asks_no_library_whose_threads_stayed_behind(tmp_path, library):
    """A pool of workers that are forked, as many servers have, would wait for ever."""
    if not hasattr(os, "fork"):
        return
    need_module(library)
    script = f"""
import os, sys
import {library}, pyarrow as pa, pyarrow.parquet as pq, tare
os.chdir({str(tmp_path)!r})
pq.write_table(pa.table({{"a": list(range(1000))}}), "a.parquet")
tare.convert("a.parquet", "b.arrow", verify=True)  # its threads run
child = os.fork()
if child == 0:
    tare.convert("a.parquet", "c.arrow", verify=True)
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", script], timeout=120, check=False).returncode == 0


def test_thirty_thousand_columns_are_read_again(tmp_path):
    """Lists of all names and types are made once: asked for by each column they would take minutes."""
    names = [f"c{place}" for place in range(30_000)]
    table = pa.table({name: pa.array([place], pa.int64()) for place, name in enumerate(names)})
    pq.write_table(table, tmp_path / "x.parquet")
    done = tare.convert(tmp_path / "x.parquet", tmp_path / "x.arrow", verify=True)
    assert done.verified
    assert done.second["source"]["reader"]
    (tmp_path / "x.csv").write_text(",".join(names) + "\n" + ",".join(map(str, range(30_000))) + "\n")
    assert tare.convert(tmp_path / "x.csv", tmp_path / "y.parquet").verified
    assert pq.read_table(tmp_path / "y.parquet").equals(table)


def test_merges_of_merges_of_yaml_end(tmp_path):
    """The other reader makes each name as often as it is named: here 4 to the power of 13 times."""
    lines = ["a0: &a0 {x: 1}"]
    for level in range(1, 14):
        names = ", ".join([f"*a{level - 1}"] * 4)
        lines += [f"a{level}: &a{level}", f"  <<: [{names}]", f"  k{level}: 1"]
    (tmp_path / "x.yaml").write_text("\n".join(lines))
    done = tare.convert(tmp_path / "x.yaml", tmp_path / "x.json")
    assert done.second["source"]["why"].startswith("its merges stand for more than")
    few = "x: &x {a: 1}\n" + "".join(f"k{k}:\n  <<: *x\n  b: {k}\n" for k in range(9))
    (tmp_path / "y.yaml").write_text(few)
    done = tare.convert(tmp_path / "y.yaml", tmp_path / "y.json")
    assert "ruamel.yaml (YAML 1.2)" == done.second["source"]["reader"]


@pytest.mark.parametrize("target", ["arrow", "avro", "ndjson"])
def test_names_with_nul_are_not_given_to_polars(tmp_path, capfd, target):
    """It panics, with a trace on standard error before any exception is caught."""
    need_module("polars")
    source = written(tmp_path, "x.arrow", pa.table({"a\0": [1], "s": [{"b\0": 1}]}))
    tare_io.convert(source, tmp_path / f"y.{target}", verify=True)
    assert "panicked" not in capfd.readouterr().err
