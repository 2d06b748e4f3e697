"""Inspecting files: what they are, where their bytes go, what reading them would do."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import re
import zipfile

import pyarrow as pa
import pytest
from support.capabilities import need_codec
from support.commands import invoke

import tare
from tare import compress
from tare.datasets.synthpop import synthpop
from tare.errors import Unsupported

PEOPLE = synthpop(500)


def looked(tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(data)
    found = tare.inspect(path)
    assert json.dumps(found.as_dict(), default=str)
    return found


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow", "x.csv", "x.orc", "x.avro"])
def test_tables_have_columns_rows_and_parts(name, tmp_path):
    """Rows and columns are those of the table; the parts add up to the file."""
    need_codec(str(tare.Codec.for_path(name)))
    tare.write(PEOPLE, tmp_path / name)
    found = tare.inspect(tmp_path / name)
    assert ("table", 500, 13) == (found.kind, found.rows, len(found.columns))
    assert PEOPLE.column_names == [column["name"] for column in found.columns]
    size = (tmp_path / name).stat().st_size
    assert abs(sum(part.bytes for part in found.parts) - size) <= 64


def test_parquet_tells_its_footer(tmp_path):
    """Row groups, writer, encodings, sizes before and after compression, nulls from the statistics."""
    tare.write(PEOPLE, tmp_path / "x.parquet", codec="parquet:pyarrow,compression=zstd")
    found = tare.inspect(tmp_path / "x.parquet")
    assert "zstd" == found.details["compression"]
    assert "parquet-cpp-arrow" in found.details["writer"]
    nulls = {column["name"]: column["nulls"] for column in found.columns}
    assert PEOPLE["nociga"].null_count == nulls["nociga"]
    part = next(part for part in found.parts if part.what == "location")
    assert part.plain_bytes > part.bytes
    assert "RLE_DICTIONARY" in part.detail


def test_json_tells_where_its_bytes_go(tmp_path):
    """Keys, strings, numbers, words, structure and space, to the byte."""
    found = looked(tmp_path, "x.json", b'{"key": ["a\\"b", 1.5, true, null]}')
    parts = {part.what: part.bytes for part in found.parts}
    assert {"keys": 5, "strings": 6, "numbers": 3, "true, false, null": 8} == {
        name: parts[name] for name in ("keys", "strings", "numbers", "true, false, null")
    }
    assert 34 == sum(parts.values())
    assert (2, 4, 1) == (found.shape["depth"], found.shape["values"], found.shape["keys"])


def test_ndjson_counts_its_values(tmp_path):
    """Blank lines are none."""
    assert 3 == looked(tmp_path, "x.ndjson", b'{"a":1}\n\n{"a":2}\n{"a":3}').rows


def test_a_cut_document_is_said_to_be_cut(tmp_path):
    """Open ends are a flag, not a failure: the rest is still described."""
    found = looked(tmp_path, "x.json", b'{"a": [1, 2, "x')
    assert any("cut" in flag for flag in found.flags)


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("x.ndjson", b'{"a":1}\n{"a":2\n{"a":3}\n', "line 2 is not one whole JSON value, at byte 8"),
        ("x.ndjson", b'{"a":1}\n{"a":2', "The file was cut"),
        ("x.json", b'{"a":1}]', "Extra data, near ']', at byte 7"),
        ("x.json", b'{"a":1,"b":{"c":1,"c":2}}', "the name 'c' stands twice in one object; only the last"),
        ("x.ndjson", b'{"a":1,"a":2}\n{"b":1,"b":2}\n', "twice in one object, and in 1 more object a name"),
    ],
)
def test_json_is_diagnosed_as_the_reader_does(name, data, said, tmp_path):
    """What `measure` refuses, and at which byte; what a reader would drop without a word."""
    found = looked(tmp_path, name, data)
    assert 1 == len(found.flags)
    assert said in found.flags[0]


def test_a_long_text_is_checked_as_far_as_it_is_read(tmp_path, monkeypatch):
    """Lines within the bound are; an open end beyond it is called what it may be, in the singular."""
    monkeypatch.setattr("tare.inspecting.jsons._READ_BYTES", 20)
    early = looked(tmp_path, "x.ndjson", b'{"a":1}\n{"a":2\n{"a":3}\n{"a":4}\n')
    assert "line 2 is not one whole JSON value" in early.flags[0]
    late = looked(tmp_path, "x.ndjson", b'{"a":1}\n{"a":2}\n{"a":3\n{"a":4}\n')
    assert ["ends inside 1 open array or object: a line is malformed, or the file was cut"] == late.flags


@pytest.mark.parametrize("codec", ["msgpack:msgspec", "cbor:cbor2"])
def test_binary_documents_are_walked(codec, tmp_path):
    """Every value is counted under its type, every byte under one."""
    need_codec(codec)
    value = {"text": "x" * 300, "n": [0, -1, 2**40, 1.5, None, True], "b": b"\x00" * 20, "m": {"k": []}}
    data = tare.encode(value, codec)
    found = looked(tmp_path, f"x.{codec.partition(':')[0]}", data)
    parts = {part.what: part.bytes for part in found.parts}
    assert len(data) == sum(parts.values())
    assert (3, 1) == (found.shape["depth"], found.shape["top-level values"])
    # Five names; two maps, two lists, six items of one, a text and a byte string.
    assert 5 + 12 == found.shape["values"]
    cut = looked(tmp_path, f"y.{codec.partition(':')[0]}", data[:-1])
    assert any("ends inside" in flag for flag in cut.flags)


class Planted:
    """Pickles to a call of a function that must not run."""

    def __reduce__(self):
        return os.mkdir, ("planted",)


def test_pickle_is_taken_apart_unrun(tmp_path, monkeypatch):
    """What it would import is named for every protocol, and does not run."""
    monkeypatch.chdir(tmp_path)
    for protocol in range(6):
        found = looked(tmp_path, "x.pkl", pickle.dumps([Planted(), {"a": 1}], protocol))
        assert f"protocol {max(protocol, 0) if protocol >= 2 else 0}" == found.version
        assert "posix.mkdir" in found.details["imports"] or "nt.mkdir" in found.details["imports"]
        assert any("runs code when read" in flag for flag in found.flags)
        assert any("mkdir" in flag for flag in found.flags)
    assert not (tmp_path / "planted").exists()


@pytest.mark.parametrize("name", ["zstd", "lz4", "gzip", "bz2", "xz"])
def test_containers_are_described(name, tmp_path):
    """Compressor, plain size and ratio; frames where they can be told without decompressing."""
    plain = b'{"a": [' + b"1, " * 5000 + b"1]}"
    found = looked(tmp_path, "x.json" + compress.compressor(name).extension, compress.compress(plain, name))
    assert [name] == [box["name"] for box in found.containers]
    assert len(plain) == found.plain_bytes
    assert found.containers[0]["ratio"] > 5
    assert "json" == found.format
    if name in ("zstd", "lz4"):
        twice = compress.compress(plain, name) + compress.compress(b" ", name)
        assert 2 == looked(tmp_path, "y.json", twice).containers[0]["frames"]


def test_gzip_names_its_original(tmp_path):
    """The first member's name and time are shown."""
    with gzip.GzipFile(tmp_path / "data.csv.gz", "wb", mtime=1_000_000_000) as file:
        file.write(b"a,b\n1,2\n")
    box = tare.inspect(tmp_path / "data.csv.gz").containers[0]
    assert ("data.csv", 1_000_000_000) == (box["original_name"], box["modified_unix_s"])
    said = invoke("inspect", "data.csv.gz", cwd=tmp_path).stdout
    assert "gzip: modified 2001-09-09 01:46:40 UTC, original name data.csv, ratio" in said
    assert "kind               table  1 row x 2 columns\n" in said
    assert re.search(r"size +\d\d bytes\n", said)


def test_yaml_and_csv_details(tmp_path):
    """Anchors, aliases and tags; delimiter, quoting and line ends."""
    found = looked(tmp_path, "x.yaml", b"# c\na: &x [1, 2]\nb: *x\nt: !!str 5\n")
    assert (1, 1, "!!str") == (found.details["anchors"], found.details["aliases"], found.details["tags"])
    found = looked(tmp_path, "x.csv", b'a;b\r\n1;"x"\r\n')
    assert ("semicolon", "yes", "CRLF") == tuple(
        found.details[k] for k in ("delimiter", "quoted fields", "line ends")
    )


def test_what_is_unknown_is_said_to_be(tmp_path):
    """Neither format nor name: first bytes are shown and nothing is claimed."""
    found = looked(tmp_path, "noname", b"\x01\x02\x03\x04 what is this")
    assert ("", "unknown") == (found.format, found.title)
    assert found.details["first bytes"].startswith("01 02 03 04")
    assert "its first bytes are 01 02 03 04" in found.notes[-1]
    told = r"cannot tell what it is: it begins with 'title = \"x\"', at byte 0\. Say what it is"
    (tmp_path / "x.toml").write_text('title = "x"\n[owner]\n')
    with pytest.raises(tare.errors.Unsupported, match=told):
        tare.read(tmp_path / "x.toml")
    assert "text of no known format" == looked(tmp_path, "notes.txt", b"hello\n").title


def test_r_files_are_recognised(shared):
    """Tables of fst with what does not guard them; files of before R 1.4 are named."""
    found = tare.inspect(next(iter(sorted(shared("fixtures/fst").glob("*.fst")))))
    assert "fst" == found.format
    assert any("no checksum" in flag for flag in found.flags)
    assert found.readable


def test_large_files_are_estimated(tmp_path):
    """Beyond the bound nothing is read, totals are close, and a note says so."""
    table = pa.concat_tables([PEOPLE] * 200)
    tare.write(table, tmp_path / "x.csv")
    found = tare.inspect(tmp_path / "x.csv", max_bytes=1_000_000)
    assert abs(found.rows / table.num_rows - 1) < 0.05
    assert any("estimated" in note for note in found.notes)
    size = (tmp_path / "x.csv").stat().st_size
    assert abs(sum(part.bytes for part in found.parts) / size - 1) < 0.02


@pytest.mark.parametrize(
    "name", ["a.parquet", "a.arrow", "a.orc", "a.avro", "a.msgpack", "a.pkl", "a.bson", "a.yaml"]
)
def test_inspecting_cut_files_never_crashes(name, tmp_path):
    """Every cut gives findings with an error or a flag, or is refused in words."""
    codec = need_codec(str(tare.Codec.for_path(name)))
    value = PEOPLE if "document" not in codec.format.kinds else PEOPLE.slice(0, 50).to_pylist()
    data = codec.encode(value)
    for end in sorted({*range(1, 20), *(len(data) * k // 29 for k in range(1, 29))}):
        found = looked(tmp_path, name, data[:end])
        assert found.bytes == end


@pytest.mark.parametrize(
    ("names", "title", "advice"),
    [
        (("[Content_Types].xml", "xl/workbook.xml"), "Excel workbook (xlsx)", "Save the sheet as CSV"),
        (("mimetype",), "OpenDocument spreadsheet (ods)", "Save the sheet as CSV"),
        (("a.npy",), "ZIP archive (also xlsx, npz)", "Unpack it first"),
    ],
)
def test_workbooks_are_named(tmp_path, names, title, advice):
    """With what their owner can do."""
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as file:
        for name in names:
            file.writestr(
                name, "application/vnd.oasis.opendocument.spreadsheet" if name == "mimetype" else "x"
            )
    with pytest.raises(Unsupported, match=f"{re.escape(title)}.*{advice}"):
        tare.read(tmp_path / "a.xlsx")
    assert title in json.dumps(tare.inspect(tmp_path / "a.xlsx").as_dict(), default=str)
