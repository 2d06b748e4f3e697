"""Read, write, convert: what comes back, what changed, and that files appear whole or not at all."""

from __future__ import annotations

import datetime as dt
import errno
import gzip
import io
import json
import os
import stat
from pathlib import Path

import pyarrow as pa
import pytest

import tare
from tare import compress
from tare import io as tare_io
from tare.converting import batches
from tare.datasets.source import find
from tare.datasets.synthpop import synthpop
from tare.errors import DecodeError, EncodeError, Malformed, NotTrusted, Unsupported, UsageError

PEOPLE = synthpop(400)


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow", "x.orc", "x.feather.zst", "x.parquet.gz"])
def test_tables_come_back_equal(name, tmp_path):
    """Typed formats keep a table whole, compressed or not."""
    assert tare.write(PEOPLE, tmp_path / name) == (tmp_path / name).stat().st_size
    assert PEOPLE.equals(tare.read(tmp_path / name))


@pytest.mark.parametrize("name", ["x.json", "x.json.zst", "x.msgpack", "x.ndjson.gz"])
def test_documents_come_back_equal(name, tmp_path):
    """Documents keep their values and order."""
    value = [{"b": 1, "a": [1.5, None, "\u00e9"]}, {"b": 2, "a": []}]
    tare.write(value, tmp_path / name)
    assert value == tare.read(tmp_path / name)


def test_a_codec_can_be_named(tmp_path):
    """The name's ending does not matter then, for writing and for reading."""
    path = tmp_path / "cache.bin"
    tare.write({"a": 1}, path, codec="msgpack:msgspec+lz4")
    assert {"a": 1} == tare.read(path, codec="msgpack:msgspec+lz4")
    with pytest.raises(UsageError, match="--codec"):
        tare.write({"a": 1}, path)


def test_reading_a_pickle_needs_trust(tmp_path):
    """trust=True is the only way in."""
    tare.write({"a": (1, 2)}, tmp_path / "x.pkl")
    with pytest.raises(NotTrusted):
        tare.read(tmp_path / "x.pkl")
    assert {"a": (1, 2)} == tare.read(tmp_path / "x.pkl", trust=True)


def test_a_failed_write_leaves_what_was_there(tmp_path):
    """A value that the format refuses touches no file."""
    path = tmp_path / "x.json"
    path.write_text('"old"')
    with pytest.raises(EncodeError):
        tare.write({"a": object()}, path)
    assert '"old"' == path.read_text()
    assert ["x.json"] == os.listdir(tmp_path)


def test_a_replaced_file_keeps_its_mode(tmp_path):
    """Mode bits survive, links are followed."""
    path = tmp_path / "x.json"
    path.write_text("1")
    path.chmod(0o640)
    (tmp_path / "link.json").symlink_to(path)
    tare.write([1], tmp_path / "link.json")
    assert [1] == tare.read(path)
    assert 0o640 == stat.S_IMODE(path.stat().st_mode)
    assert (tmp_path / "link.json").is_symlink()


CONVERSIONS = [
    ("x.parquet", {}),
    ("x.arrow", {}),
    ("x.orc", {}),
    ("x.csv", {"age": "type", "income": "type", "nociga": "type"}),
    ("x.tsv.gz", {"age": "type", "income": "type", "nociga": "type"}),
    ("x.json", {"age": "type", "income": "type", "nociga": "type"}),
    ("x.ndjson.zst", {"age": "type", "income": "type", "nociga": "type"}),
    ("x.msgpack", {"age": "type", "income": "type", "nociga": "type"}),
]


@pytest.mark.parametrize(("name", "expected"), CONVERSIONS)
def test_a_conversion_says_what_changed(name, expected, tmp_path):
    """int32 becomes int64 where the format has no width; nothing else changes."""
    tare.write(PEOPLE, tmp_path / "in.parquet")
    done = tare.convert(tmp_path / "in.parquet", tmp_path / name)
    assert expected == {change["path"]: change["verdict"] for change in done.changes}
    assert (400, True) == (done.rows, done.verified)
    assert done.bytes_out == (tmp_path / name).stat().st_size
    assert json.dumps(done.as_dict())


ODD = pa.table(
    {
        "when": pa.array([dt.datetime(2020, 1, 1, 12, 30), None], pa.timestamp("us", "America/New_York")),
        "day": pa.array([dt.date(1969, 12, 31), None]),
        "text": ["NA", ""],
        "zeros": ["001", "1e5"],
        "float": [float("nan"), -0.0],
        "yes": [True, None],
        "small": pa.array([1, None], pa.uint8()),
    }
)


def test_odd_values_survive_csv():
    """Times keep their instant, text that looks like a number or a missing value stays text, NaN is not null."""
    file = io.BytesIO()
    done = tare.convert(ODD, file, codec="csv")
    verdicts = {change["path"]: change["verdict"] for change in done.changes}
    assert set(verdicts.values()) <= {"type"}
    assert "text" not in verdicts
    assert "zeros" not in verdicts
    assert "float" not in verdicts


def test_a_lossy_conversion_is_refused_unless_allowed(tmp_path):
    """Orjson writes NaN as null: told with row and values, and nothing is written."""
    table = pa.table({"a": [1.0, 2.0, float("nan")]})
    with pytest.raises(
        EncodeError, match=r"'a' would change: nan comes back as null \(first in row 3\)"
    ) as caught:
        tare.convert(table, tmp_path / "x.json", codec="json:orjson")
    assert "--allow-loss (to tare run: --on-loss allow)" in str(caught.value)
    assert [] == os.listdir(tmp_path)
    done = tare.convert(table, tmp_path / "x.json", codec="json:orjson", allow_loss=True)
    assert ["lossy"] == [change["verdict"] for change in done.changes]
    assert [{"a": 1.0}, {"a": 2.0}, {"a": None}] == tare.read(tmp_path / "x.json")


def test_documents_are_compared_by_path(tmp_path):
    """A tuple that comes back as a list is a change of type; the path says where."""
    done = tare.convert({"a": [{"b": (1, 2)}]}, tmp_path / "x.msgpack")
    assert [("a[*].b (type)", "type", "tuple", "list")] == [
        (change["path"], change["verdict"], change["from"], change["to"]) for change in done.changes
    ]


def test_only_the_compression_changes(tmp_path):
    """The same format in another compressor keeps its very bytes."""
    text = b'{"a": 1}\n{"a":   2}\n'
    (tmp_path / "x.ndjson").write_bytes(text)
    tare.convert(tmp_path / "x.ndjson", tmp_path / "x.ndjson.zst")
    done = tare.convert(tmp_path / "x.ndjson.zst", tmp_path / "y.ndjson")
    assert text == (tmp_path / "y.ndjson").read_bytes()
    assert any("same" in note for note in done.notes)


def test_existing_files_can_be_protected(tmp_path):
    """overwrite=False refuses, and also for a link that leads nowhere."""
    (tmp_path / "x.json").write_text("1")
    with pytest.raises(FileExistsError, match="--force"):
        tare.convert({"a": 1}, tmp_path / "x.json", overwrite=False)
    (tmp_path / "y.json").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileExistsError):
        tare.convert({"a": 1}, tmp_path / "y.json", overwrite=False)


STREAMED = [
    (source, target)
    for source in ("csv", "ndjson", "parquet", "arrow", "csv.gz")
    for target in ("csv", "ndjson", "parquet", "arrow", "ndjson.zst")
    if source.split(".")[0] != target.split(".")[0]  # else only the compression changes
]


@pytest.mark.parametrize(("source", "target"), STREAMED)
def test_large_files_go_batch_by_batch(source, target, tmp_path, monkeypatch):
    """Batches give the same rows as one piece, whatever the formats and however small the blocks."""
    from tare.converting import batches
    from tare.datasets import csvstream

    monkeypatch.setattr(csvstream, "_LEAST_BLOCK_BYTES", 40_000)
    table = synthpop(3000)
    tare.convert(table, tmp_path / f"in.{source}", verify=False)
    monkeypatch.setattr(tare_io, "STREAM_BYTES", 0)
    monkeypatch.setattr(batches, "_BLOCK_BYTES", 40_000)
    done = tare.convert(tmp_path / f"in.{source}", tmp_path / f"out.{target}")
    assert (True, 3000) == (done.streamed, done.rows)
    back = tare.read(tmp_path / f"out.{target}")
    wanted = tare.read(tmp_path / f"in.{source}")
    rows = [value if isinstance(value, list) else value.to_pylist() for value in (back, wanted)]
    assert rows[1] == rows[0]


def test_types_are_found_in_the_whole_file_before_a_batch_is_written(tmp_path, monkeypatch):
    """A text in the last row makes the whole column text; the first rows keep how they were written."""
    from tare.datasets import csvstream

    monkeypatch.setattr(tare_io, "STREAM_BYTES", 0)
    monkeypatch.setattr(csvstream, "_LEAST_BLOCK_BYTES", 1000)
    monkeypatch.setattr(csvstream, "_MOST_BLOCK_BYTES", 1000)
    (tmp_path / "x.csv").write_bytes(b"a,b,c\n" + b"1,7,\n" * 2000 + b"1.5,0012,3\n")
    tare.convert(tmp_path / "x.csv", tmp_path / "x.parquet")
    table = tare.read(tmp_path / "x.parquet")
    assert ["double", "string", "int64"] == [str(t) for t in table.schema.types]
    assert ["7", "0012"] == [table["b"][0].as_py(), table["b"][-1].as_py()]


@pytest.mark.parametrize("text", ["1.10", "2026-01-01T00:00:00.123Z"])
def test_text_that_readers_of_csv_take_for_another_type_is_told_as_such(tmp_path, text):
    (tmp_path / "x.ndjson").write_text(f'{{"a": "{text}"}}\n{{"a": "{text}"}}\n')
    with pytest.raises(
        EncodeError, match="The file would hold this very text, but readers of CSV that guess types"
    ):
        tare.convert(tmp_path / "x.ndjson", tmp_path / "x.csv")
    tare.convert(tmp_path / "x.ndjson", tmp_path / "x.csv", allow_loss=True)
    assert (tmp_path / "x.csv").read_text().splitlines()[1:] == [f'"{text}"'] * 2


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("cell", "kept"), [("9007199254740993", "string"), ("9007199254740992", "double")])
def test_integers_that_no_double_holds_make_a_streamed_column_text(
    cell, kept, reverse, tmp_path, monkeypatch
):
    """Integers above 2^53 in one block and decimals in another: text, as in one piece, and a note."""
    from tare.datasets import csvstream

    monkeypatch.setattr(tare_io, "STREAM_BYTES", 0)
    monkeypatch.setattr(csvstream, "_LEAST_BLOCK_BYTES", 1000)
    monkeypatch.setattr(csvstream, "_MOST_BLOCK_BYTES", 1000)
    cells = [cell] * 500 + ["0.5"] * 2000
    cells = cells[::-1] if reverse else cells
    (tmp_path / "x.csv").write_text("a\n" + "\n".join(cells) + "\n")
    done = tare.convert(tmp_path / "x.csv", tmp_path / "x.parquet")
    column = tare.read(tmp_path / "x.parquet")["a"]
    assert (True, kept) == (done.streamed, str(column.type))
    assert (kept == "string") == any("kept as text: 'a'" in note for note in done.notes)
    assert (cells if kept == "string" else [float(c) for c in cells]) == column.to_pylist()


def test_a_fault_in_the_middle_of_a_stream_leaves_nothing(tmp_path, monkeypatch):
    """A broken row far into a large file: one message, and no half-written file."""
    from tare.datasets import csvstream

    monkeypatch.setattr(tare_io, "STREAM_BYTES", 0)
    monkeypatch.setattr(csvstream, "_LEAST_BLOCK_BYTES", 1000)
    monkeypatch.setattr(csvstream, "_MOST_BLOCK_BYTES", 1000)
    (tmp_path / "x.csv").write_bytes(b"a,b\n" + b"1,2\n" * 3000 + b"1\n" + b"1,2\n" * 3000)
    with pytest.raises(Malformed, match="1 field"):
        tare.convert(tmp_path / "x.csv", tmp_path / "y.parquet")
    assert ["x.csv"] == os.listdir(tmp_path)


def test_an_interrupt_leaves_nothing(tmp_path, monkeypatch):
    """Ctrl-C while batches are written: the old file stays, no temporary one does."""
    from tare.datasets import csvstream

    monkeypatch.setattr(tare_io, "STREAM_BYTES", 0)
    monkeypatch.setattr(csvstream, "_LEAST_BLOCK_BYTES", 1000)
    monkeypatch.setattr(csvstream, "_MOST_BLOCK_BYTES", 1000)
    (tmp_path / "x.csv").write_bytes(b"a,b\n" + b"1,2\n" * 3000)
    (tmp_path / "y.parquet").write_bytes(b"old")

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tare.convert(tmp_path / "x.csv", tmp_path / "y.parquet", on_progress=stop)
    assert b"old" == (tmp_path / "y.parquet").read_bytes()
    assert ["x.csv", "y.parquet"] == sorted(os.listdir(tmp_path))


def test_rows_without_a_common_type_name_their_column(tmp_path, monkeypatch):
    """Text and numbers in one column of NDJSON have no table, in one piece and in batches."""
    (tmp_path / "x.ndjson").write_bytes(b'{"a": 1}\n{"a": "x"}\n')
    with pytest.raises(EncodeError, match="a"):
        tare.convert(tmp_path / "x.ndjson", tmp_path / "y.parquet")
    monkeypatch.setattr(tare_io, "STREAM_BYTES", 0)
    with pytest.raises(EncodeError, match="no one type"):
        tare.convert(tmp_path / "x.ndjson", tmp_path / "y.parquet")


def test_columns_can_be_chosen(tmp_path):
    """Only the columns asked for are written."""
    tare.write(PEOPLE, tmp_path / "x.parquet")
    tare.convert(tmp_path / "x.parquet", tmp_path / "y.csv", columns=["age", "sex"])
    assert ["age", "sex"] == tare.read(tmp_path / "y.csv").column_names


def test_a_change_of_compression_claims_no_more_than_was_compared(tmp_path):
    """Broken JSON in gzip becomes the same broken JSON in zstd; values count as verified only when they were read."""
    (tmp_path / "bad.json.gz").write_bytes(gzip.compress(b'{"a":1\n'))
    done = tare.convert(tmp_path / "bad.json.gz", tmp_path / "bad.json.zst")
    assert (False, True) == (done.verified, done.same_bytes)
    assert "compared; whether they are valid json was not checked" in done.notes[-1]
    assert b'{"a":1\n' == compress.decompress((tmp_path / "bad.json.zst").read_bytes(), "zstd")
    with pytest.raises(DecodeError, match=r"bad\.json\.gz"):
        tare.convert(tmp_path / "bad.json.gz", tmp_path / "other.json.zst", verify=True)
    assert not (tmp_path / "other.json.zst").exists()
    (tmp_path / "good.json").write_bytes(b'{"a":1}')
    assert tare.convert(tmp_path / "good.json", tmp_path / "good.json.gz", verify=True).verified


def test_a_compressor_whose_bytes_do_not_come_back_writes_nothing(tmp_path, monkeypatch):
    """The comparison of bytes that the note speaks of takes place."""
    (tmp_path / "x.json").write_bytes(b'{"a":1}')
    real = compress.open

    def altered(file, mode, *args, **options):
        return io.BytesIO(b'{"a":2}') if mode == "rb" else real(file, mode, *args, **options)

    monkeypatch.setattr(compress, "open", altered)
    with pytest.raises(EncodeError, match="do not come back"):
        tare.convert(tmp_path / "x.json", tmp_path / "x.json.zst")
    assert ["x.json"] == os.listdir(tmp_path)


@pytest.mark.parametrize("end", ["zst", "lz4", "gz"])
@pytest.mark.parametrize("verify", [None, False, True])
def test_a_changed_compression_is_laid_out_in_chunks(end, verify, tmp_path):
    """Compared or not: the same file as any other of that compressor, one frame of lz4, with its end proven."""
    rows = "".join(f"{n},{n * n}\n" for n in range(300_000))
    (tmp_path / "x.csv").write_text("a,b\n" + rows)
    tare.convert(tmp_path / "x.csv", tmp_path / f"x.csv.{end}", verify=verify)
    found = compress.info(tmp_path / f"x.csv.{end}")
    assert ("seekable", "proven") == (found.layout, found.complete)
    with compress.open(tmp_path / f"x.csv.{end}") as file:
        assert (tmp_path / "x.csv").read_bytes() == file.read()


def test_what_was_not_verified_is_noted(tmp_path, monkeypatch):
    """A whole source above the bound is converted without reading it back, and a note says so."""
    monkeypatch.setattr(tare_io, "VERIFY_BYTES", 0)
    done = tare.convert({"a": 1}, tmp_path / "x.json")
    assert (False, ["not verified; --verify reads it back"]) == (done.verified, done.notes)


@pytest.mark.parametrize("source", ["csv", "csv.gz", "parquet", "arrow"])
def test_progress_is_of_bytes_read(source, tmp_path, monkeypatch):
    """Progress grows, never beyond the source's size, and ends at it however small the result is."""
    from tare.converting import batches

    tare.convert(synthpop(3000), tmp_path / f"in.{source}", verify=False)
    size = (tmp_path / f"in.{source}").stat().st_size
    monkeypatch.setattr(tare_io, "STREAM_BYTES", 0)
    monkeypatch.setattr(batches, "_BLOCK_BYTES", 40_000)
    monkeypatch.setattr(batches, "_BATCH_ROWS", 500)
    seen: list[tuple[int, int]] = []
    target = "parquet" if source != "parquet" else "arrow"
    tare.convert(
        tmp_path / f"in.{source}", tmp_path / f"out.{target}", on_progress=lambda *at: seen.append(at)
    )
    assert {size} == {total for _, total in seen}
    done = [at for at, _ in seen]
    assert sorted(done) == done
    assert size == done[-1]


@pytest.mark.parametrize("links", [True, False])
def test_what_appeared_in_the_meantime_stays(tmp_path, monkeypatch, links):
    """Two conversions to one name: the slower one is told so, as if it had begun later; also where nothing is linked."""

    def no_link(*_):
        raise OSError(errno.EOPNOTSUPP, "no links here")

    monkeypatch.setattr(tare_io, "STREAM_BYTES", 0)
    if not links:
        monkeypatch.setattr(os, "link", no_link)
    tare.write(synthpop(1000), tmp_path / "in.parquet")
    monkeypatch.chdir(tmp_path)
    out = Path("out.csv")  # an error cuts a long path
    with pytest.raises(FileExistsError, match=r"out\.csv exists already\. Say --force"):
        tare.convert(
            tmp_path / "in.parquet", out, overwrite=False, on_progress=lambda *_: out.write_text("quicker")
        )
    assert out.read_text() == "quicker"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.parquet", "out.csv"]
    out.unlink()
    assert tare.convert(tmp_path / "in.parquet", out, overwrite=False).rows == 1000


def test_a_line_that_is_no_row_is_named(tmp_path):
    """By its number and byte, read at once and batch by batch."""
    path = tmp_path / "a.ndjson"
    path.write_text('{"a": 1}\n\n{"a": 2}\n[3]\n"x"\n')
    with pytest.raises(Unsupported, match=r"item 3 is of type list, and each row of a table is an object"):
        tare.convert(path, tmp_path / "a.parquet")
    source = find(path)
    with pytest.raises(Malformed, match=r"line 4 is of type list, .*, at byte 19\."):
        batches.reader(source)


def test_a_named_library_that_does_not_write_is_told(tmp_path):
    """The same bytes are copied where only the compression changes, whatever library the codec names."""
    (tmp_path / "x.json").write_text('{"a":  1}')
    for codec, told in (("json:orjson+zstd:3", True), ("json+zstd:3", False)):
        done = tare.convert(tmp_path / "x.json", tmp_path / "y.json.zst", codec=codec)
        assert done.same_bytes
        assert any("not written again by orjson" in note for note in done.notes) is told
