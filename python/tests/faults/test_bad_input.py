"""Bad input: one clear message with file, format, offset and what to do; never a crash."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import random
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import feather, ipc, orc, parquet
from support.capabilities import need_codec, unavailable

import tare
from tare import compress
from tare.codec import Codec
from tare.dataset import open_dataset
from tare.datasets.synthpop import synthpop
from tare.errors import (
    DecodeError,
    Limit,
    Malformed,
    NotTrusted,
    TareError,
    Truncated,
    Unsupported,
    UsageError,
)

PEOPLE = synthpop(300)
RECORDS = [{"id": k, "name": f"n\u00e9{k}", "tags": ["a", "b"], "x": k / 7, "none": None} for k in range(60)]


def in_memory(write) -> bytes:
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def arrow_stream() -> bytes:
    file = io.BytesIO()
    with ipc.new_stream(file, PEOPLE.schema) as writer:
        writer.write_table(PEOPLE)
    return file.getvalue()


def files() -> dict[str, bytes]:
    """One good file of each format, by name."""
    text = json.dumps(RECORDS).encode()
    csv = tare.encode(PEOPLE, "csv:pyarrow")
    good = {
        "a.csv": csv,
        "a.tsv": csv.replace(b",", b"\t"),
        "a.json": text,
        "a.ndjson": b"".join(json.dumps(row).encode() + b"\n" for row in RECORDS),
        "a.parquet": in_memory(lambda file: parquet.write_table(PEOPLE, file)),
        "a.feather": in_memory(lambda file: feather.write_feather(PEOPLE, file, compression="zstd")),
        "a.arrows": arrow_stream(),
        "a.orc": in_memory(lambda file: orc.write_table(PEOPLE, file)),
        "a.msgpack": tare.encode(RECORDS, "msgpack:msgspec"),
        "a.pkl": pickle.dumps(RECORDS),
        "a.json.zst": compress.compress(text, "zstd"),
        "a.json.lz4": compress.compress(text, "lz4"),
        "a.csv.gz": compress.compress(csv, "gzip"),
        "a.csv.bz2": compress.compress(csv, "bz2"),
        "a.csv.xz": compress.compress(csv, "xz"),
    }
    for name, codec in (("a.yaml", "yaml"), ("a.cbor", "cbor"), ("a.bson", "bson"), ("a.avro", "avro")):
        if tare.Codec.parse(codec).library.installed:
            value = PEOPLE.to_pylist() if codec == "avro" else RECORDS
            good[name] = tare.encode(value, codec)
    return good


FILES = files()
# A cut text of these may be a smaller good one: rows or values may end there.
PREFIXES_MAY_BE_GOOD = {"a.csv", "a.tsv", "a.ndjson", "a.yaml", "a.bson", "a.arrows", "a.avro"}


def said(error: BaseException, name: str) -> str:
    """Check that an error is what a user can read; give its text."""
    text = str(error)
    assert text.startswith(f"{name}: ")
    assert "\n" not in text
    assert text.isprintable()
    assert 20 < len(text) < 500
    return text


@pytest.mark.parametrize("name", FILES)
def test_the_good_file_opens(name, tmp_path):
    """The files that are cut and bent below are good as they are."""
    path = tmp_path / name
    path.write_bytes(FILES[name])
    data = open_dataset(path, allow_pickle=True)
    assert 300 == data.rows if data.kind == "table" else 60 == data.items


@pytest.mark.parametrize("name", FILES)
def test_a_file_cut_anywhere_is_told_in_one_line(name, tmp_path):
    """Every prefix is refused with a clear message, or is a good smaller file of a text format."""
    path = tmp_path / name
    data = FILES[name]
    cuts = sorted(
        {*range(1, 24), *(len(data) * k // 37 for k in range(1, 37)), *range(len(data) - 12, len(data))}
    )
    refused = 0
    for end in cuts:
        path.write_bytes(data[:end])
        try:
            found = open_dataset(path, allow_pickle=True)
        except TareError as error:
            said(error, name)
            if not isinstance(error, DecodeError | Unsupported):
                pytest.fail(f"cut at {end}: {error!r}")
            refused += 1
        else:
            assert name in PREFIXES_MAY_BE_GOOD or end < 8, end
            assert found.items <= 300
    assert refused >= len(cuts) // 4


@pytest.mark.parametrize("name", FILES)
def test_a_bent_file_never_crashes(name, tmp_path):
    """A byte changed anywhere gives a value or one clear message."""
    path = tmp_path / name
    draw = random.Random(name)
    for _ in range(40):
        data = bytearray(FILES[name])
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        path.write_bytes(data)
        # A bent pickle may ask for anything: it is not read, only refused.
        try:
            open_dataset(path)
        except (DecodeError, Unsupported, Limit, NotTrusted) as error:
            said(error, name)


@pytest.mark.parametrize("name", FILES)
def test_garbage_under_any_name(name, tmp_path):
    """Random bytes are refused whatever they are called."""
    path = tmp_path / name
    path.write_bytes(random.Random(name).randbytes(4000))
    with pytest.raises((DecodeError, Unsupported, NotTrusted)) as caught:
        open_dataset(path)
    said(caught.value, name)


@pytest.mark.parametrize("name", [*FILES, "noname", "a.gz"])
def test_an_empty_file_says_so(name, tmp_path):
    """Zero bytes are Truncated at offset 0, whatever the name."""
    path = tmp_path / name
    path.write_bytes(b"")
    with pytest.raises(Truncated, match=r"empty \(0 bytes\)") as caught:
        open_dataset(path, allow_pickle=True)
    assert 0 == caught.value.offset
    assert str(path) == caught.value.path


def test_a_missing_file_names_near_ones(tmp_path):
    """A slip of the pen is answered with the name that is there."""
    (tmp_path / "flights.csv").write_bytes(b"a\n1\n")
    with pytest.raises(FileNotFoundError, match=r"Did you mean flights\.csv"):
        open_dataset(tmp_path / "flihgts.csv")
    with pytest.raises(FileNotFoundError, match="no such folder"):
        open_dataset(tmp_path / "nowhere" / "x.csv")


def test_a_link_to_nothing_says_where_it_leads(tmp_path):
    (tmp_path / "x.csv").symlink_to("gone.csv")
    with pytest.raises(FileNotFoundError, match=r"is a link to gone\.csv, which does not exist"):
        tare.read(tmp_path / "x.csv")


def test_a_directory_is_no_file(tmp_path):
    """A folder is told from a file."""
    with pytest.raises(IsADirectoryError, match="Name one file in it"):
        open_dataset(tmp_path)


def test_a_file_that_may_not_be_read(tmp_path):
    """Permission is an error of the operating system, in words."""
    if os.geteuid() == 0:
        unavailable("root may read everything")
    path = tmp_path / "x.csv"
    path.write_bytes(b"a\n1\n")
    path.chmod(0)
    with pytest.raises(PermissionError, match="may not be read"):
        open_dataset(path)


def test_names_that_no_system_takes():
    """A NUL or an endless name is a usage error."""
    with pytest.raises(UsageError, match="Check the name"):
        open_dataset("a\0b.csv")
    with pytest.raises(UsageError, match="Check the name"):
        open_dataset("x" * 5000 + ".csv")


def deep(name: str, levels: int) -> bytes:
    """Values nested a hundred thousand levels deep."""
    return {
        "d.json": b"[" * levels + b"]" * levels,
        "o.json": b'{"a":' * levels + b"1" + b"}" * levels,
        "open.json": b"[" * levels,
        "d.ndjson": b'{"a":1}\n' + b"[" * levels + b"]" * levels + b"\n",
        "d.yaml": b"[" * levels + b"]" * levels,
        "b.yaml": b"a:\n" + b"- " * levels + b"1",
        "i.yaml": b"".join(b" " * k + b"a:\n" for k in range(2000)),
        "d.msgpack": b"\x91" * levels + b"\xc0",
        "d.cbor": b"\x81" * levels + b"\xf6",
        "d.pkl": b"\x80\x04" + b"]" * levels + b"a" * (levels - 1) + b".",
    }[name]


@pytest.mark.parametrize(
    "name",
    [
        "d.json",
        "o.json",
        "open.json",
        "d.ndjson",
        "d.yaml",
        "b.yaml",
        "i.yaml",
        "d.msgpack",
        "d.cbor",
        "d.pkl",
    ],
)
def test_a_hundred_thousand_levels_are_a_limit(name, tmp_path):
    """Depth is refused as a limit, without recursion; JSON says where it starts."""
    path = tmp_path / name
    need_codec(str(Codec.for_path(path)))
    path.write_bytes(deep(name, 100_000))
    with pytest.raises(Limit) as caught:
        open_dataset(path, allow_pickle=True)
    text = said(caught.value, name)
    assert "nested" in text
    if name == "d.json":
        assert 1000 == caught.value.offset


def test_aliases_that_explode_are_a_limit(tmp_path):
    """Nine lines of YAML that stand for a billion values are not expanded."""
    lines = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    lines += [f"{b}: &{b} [{','.join(['*' + a] * 9)}]" for a, b in zip("abcdefghi", "bcdefghij", strict=True)]
    path = tmp_path / "bomb.yaml"
    path.write_text("\n".join(lines))
    with pytest.raises(Limit, match="shared parts"):
        open_dataset(path)


def test_yaml_never_runs_code(tmp_path):
    """A tag that names code is refused, and the code does not run."""
    path = tmp_path / "x.yaml"
    witness = tmp_path / "witness"
    path.write_text(f'!!python/object/apply:os.mkdir ["{witness}"]')
    with pytest.raises(Malformed):
        open_dataset(path)
    assert not witness.exists()


class Planted:
    """Pickles to something that makes a folder when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("name", ["x.pkl", "x.bin", "x.csv", "x.pkl.gz", "x.json"])
def test_pickle_is_never_loaded_unasked(name, tmp_path):
    """Under any name and inside a compressor: refused, nothing ran, and the option is named."""
    witness = tmp_path / "witness"
    data = pickle.dumps(Planted(witness))
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    with pytest.raises(NotTrusted, match="--allow-pickle"):
        open_dataset(path)
    with pytest.raises(NotTrusted):
        tare.read(path)
    tare.inspect(path)
    assert not witness.exists()


def test_mixed_encodings_have_an_offset(tmp_path):
    """The byte where a text stops being UTF-8 is given, and whether the rest is."""
    path = tmp_path / "x.csv"
    path.write_bytes("a,b\n\u00e9,1\n".encode() + "\u00fc,2\n".encode("latin1"))
    with pytest.raises(Malformed, match="Line 3 mixes encodings") as caught:
        open_dataset(path)
    assert 9 == caught.value.offset
    path.write_bytes("a,b\n\u00e9,1\n".encode("latin1"))
    with pytest.raises(Malformed, match="--encoding latin1") as caught:
        open_dataset(path)
    assert 4 == caught.value.offset
    assert [{"a": "\u00e9", "b": 1}] == open_dataset(path, encoding="latin1").value.to_pylist()
    with pytest.raises(UsageError, match="no encoding"):
        open_dataset(path, encoding="latin99")


CSV_IN_JSON = "named as json, but it looks like csv; --format json if it is not"


@pytest.mark.parametrize(
    ("name", "data", "kind", "rows", "note"),
    [
        ("x.csv", b'[{"a":1},{"a":2}]', "document", 2, "named as csv, but it is json"),
        ("x.json", b"a,b\n1,2\n3,4\n", "table", 2, CSV_IN_JSON),
        ("x.json", b'"a","b"\n1,2\n3,4\n', "table", 2, CSV_IN_JSON),
        ("x.json", b"name,flag\ntrue,1\nno,2\n", "table", 2, CSV_IN_JSON),
        ("x.json", b"1,2\n3,4\n", "table", 1, CSV_IN_JSON),
        ("x.parquet", b"a,b\n1,2\n3,4\n", "table", 2, "named as parquet, but it looks like csv"),
        ("x.json", b'{"a":1}\n{"a":2}\n', "document", 2, "named as json, but it is ndjson"),
        ("x.ndjson", b'[\n {"a":1},\n {"a":2}\n]', "document", 2, "named as ndjson, but it is json"),
        ("x.ndjson", b"[[1,2]\n,[3,4]\n]", "document", 2, "named as ndjson, but it is json"),
        ("x.ndjson", b'{"a":{"b":1}\n,"c":2}', "document", 1, "named as ndjson, but it is json"),
        ("x.csv", FILES["a.parquet"], "table", 300, "named as csv, but it is parquet"),
        (
            "x.json",
            compress.compress(FILES["a.feather"], "zstd"),
            "table",
            300,
            "named as json, but it is arrow",
        ),
    ],
)
def test_a_wrongly_named_file_opens_for_what_it_is(name, data, kind, rows, note, tmp_path):
    """The bytes decide, and the note says so."""
    path = tmp_path / name
    path.write_bytes(data)
    found = open_dataset(path)
    assert (kind, rows) == (found.kind, found.items)
    assert note in found.notes


@pytest.mark.parametrize(
    "first", [b'{"a":NaN}', b'{"a":"\\ud83d"}', b"[1,NaN]", b'\xef\xbb\xbf{"a":-Infinity}']
)  # fmt: skip
@pytest.mark.parametrize("name", ["x.ndjson", "x"])
def test_lines_begin_with_what_no_strict_reader_takes(tmp_path, name, first):
    """They are lines all the same, as when such a value stands in the second."""
    path = tmp_path / name
    path.write_bytes(first + b'\n{"a":1}\n')
    found = open_dataset(path)
    assert (found.format.id, found.items, found.notes) == ("ndjson", 2, ())


def test_a_broken_first_line_is_told_as_one(tmp_path):
    """By its own place, and not as the end of a document that it would be."""
    path = tmp_path / "x.ndjson"
    path.write_bytes(b'{"a":}\n{"a":1}\n')
    with pytest.raises(Malformed, match=r"x\.ndjson: ndjson: .*line 1"):
        open_dataset(path)


@pytest.mark.parametrize(
    ("data", "title"),
    [(b"SQLite format 3\0" + bytes(100), "SQLite"), (b"PK\x03\x04" + bytes(30), "ZIP"), (b"%PDF-1.7\n", "PDF")],
)  # fmt: skip
def test_what_is_recognised_but_not_read_is_named(data, title, tmp_path):
    """The message names the format, and inspect describes it."""
    path = tmp_path / "x.dat"
    path.write_bytes(data)
    with pytest.raises(Unsupported, match=title):
        open_dataset(path)
    assert title in tare.inspect(path).title


def test_a_column_under_the_name_a_is_no_r_file(tmp_path):
    """The text form of RDS starts like a column named A; numbers under it stay a table."""
    path = tmp_path / "x.csv"
    path.write_bytes(b"A\n2\n3\n")
    assert [2, 3] == open_dataset(path).value["A"].to_pylist()


def test_rows_of_unequal_length_have_number_and_offset(tmp_path):
    """The row is counted with the header, quoted newlines left out."""
    path = tmp_path / "x.csv"
    path.write_bytes(b'a,b\n"x\ny",2\n3\n4,5\n')
    with pytest.raises(Malformed, match="row 3 has 1 field, the header has 2") as caught:
        open_dataset(path)
    assert 12 == caught.value.offset
    path.write_bytes(b"a,b,c\n1,2,3\n3,4")
    with pytest.raises(Truncated, match="last row") as caught:
        open_dataset(path)
    assert 12 == caught.value.offset


@pytest.mark.parametrize(
    ("text", "error", "offset"),
    [
        (b'{"a": [1, 2, "xy', Truncated, 16),
        (b'{"a": [1, 2', Truncated, 11),
        (b'{"a": ', Truncated, 6),
        (b'{"a": [1, 2, xy]}', Malformed, 13),
        (b'{"a": 1} x', Malformed, 9),
        ('["\u00e9", oops]'.encode(), Malformed, 7),
    ],
)
def test_json_faults_have_their_byte(text, error, offset, tmp_path):
    """Cut and malformed JSON are told apart; offsets are bytes, not characters."""
    path = tmp_path / "x.json"
    path.write_bytes(text)
    with pytest.raises(error) as caught:
        open_dataset(path)
    assert offset == caught.value.offset


def test_ndjson_faults_have_their_line(tmp_path):
    """A broken line in the middle is malformed, at the end it was cut."""
    path = tmp_path / "x.ndjson"
    path.write_bytes(b'{"a": 1}\n{"a": \n{"a": 1}\n')
    with pytest.raises(Malformed, match="line 2"):
        open_dataset(path)
    path.write_bytes(b'{"a": 1}\n{"a": 2}\n{"a": ')
    with pytest.raises(Truncated, match="line 3"):
        open_dataset(path)


def test_ten_thousand_columns(tmp_path):
    """A table of 10,000 columns opens, is summarised and described."""
    names = [f"c{k}" for k in range(10_000)]
    path = tmp_path / "wide.csv"
    path.write_text(",".join(names) + "\n" + (",".join(["1"] * 10_000) + "\n") * 5)
    data = open_dataset(path)
    assert (5, 10_000) == data.value.shape
    summary = data.summary()
    assert 10_000 == len(summary["columns"])
    assert len(data.headline()) < 130
    parquet.write_table(data.value, tmp_path / "wide.parquet")
    assert 10_000 == len(tare.inspect(tmp_path / "wide.parquet").columns)


@pytest.mark.parametrize(
    ("name", "data", "rows"),
    [("x.csv", b"a,b\n", 0), ("x.csv", b"a,b", 0), ("x.csv", b"a,b\n1,2", 1), ("x.json", b"[]", 0),
     ("x.json", b"[1]", 1), ("x.ndjson", b'{"a":1}', 1), ("x.json", b"{}", 1), ("x.json", b"3", 1)],
)  # fmt: skip
def test_no_row_and_one_row(name, data, rows, tmp_path):
    """Tables and lists of nothing and of one open, and have a summary."""
    path = tmp_path / name
    path.write_bytes(data)
    found = open_dataset(path)
    assert rows == found.items
    assert json.dumps(found.summary())
    assert found.headline()


def test_a_bomb_is_stopped(tmp_path, monkeypatch):
    """A small file that decompresses without end is a limit, not the end of the memory."""
    from tare.datasets import source

    monkeypatch.setattr(source, "free_memory", lambda: 4_000_000)
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"a\n" + b"1\n" * 3_000_000))
    with pytest.raises(Limit, match="decompresses to more"):
        open_dataset(path)


def test_terminal_escapes_do_not_get_out(tmp_path):
    """Names and values from files are escaped in messages."""
    path = tmp_path / "a\x1b[31m.json"
    path.write_bytes(b'{"\x1b[2J')
    with pytest.raises(DecodeError) as caught:
        open_dataset(path)
    assert "\x1b" not in str(caught.value)


def test_a_damaged_parquet_page_is_a_checksum_mismatch(shared):
    """Page checksums are verified."""
    from tare.errors import ChecksumMismatch

    with pytest.raises(ChecksumMismatch):
        open_dataset(
            shared("data/parquet/parquet-testing/data/rle-dict-uncompressed-corrupt-checksum.parquet")
        )


def test_fuzzed_arrow_files_give_a_message_or_a_table(shared):
    """The crashes others found are errors here."""
    messages = []
    for path in sorted(shared("data/arrow/arrow-testing/arrow-ipc-file").iterdir())[:60]:
        try:
            open_dataset(path, format="arrow")
        except TareError as error:
            messages.append((path.name, str(error)))
    assert len(messages) > 10
    assert [] == [text for name, text in messages if not text.startswith(name[:40])]


def test_nothing_is_left_behind(tmp_path):
    """Opening bad files writes nothing beside them."""
    path = tmp_path / "x.parquet"
    path.write_bytes(FILES["a.parquet"][:-20])
    with pytest.raises(Truncated):
        open_dataset(path)
    with pytest.raises(Truncated):
        tare.convert(path, tmp_path / "y.csv")
    assert ["x.parquet"] == os.listdir(tmp_path)


def test_0_row_tables_of_binary_formats(tmp_path):
    """No rows, but types."""
    empty = PEOPLE.slice(0, 0)
    for name in ("x.parquet", "x.arrow", "x.orc"):
        tare.write(empty, tmp_path / name)
        found = open_dataset(tmp_path / name)
        assert (0, 13) == found.value.shape
        assert empty.schema.equals(found.value.schema)
    assert isinstance(empty, pa.Table)
