"""R's formats in the registry: told by their bytes, read and written by the front door."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess

import pyarrow as pa
import pytest
from support.capabilities import need_codec, need_r

import tare
from tare import formats, r, scale
from tare.codec import Codec
from tare.datasets import recognise
from tare.errors import DecodeError, LossError, TareError, Unsupported

WRITTEN = ("rds", "rdata", "qs2", "qdata", "dput")
TABLE = pa.table({"n": pa.array([1, 2, None], pa.int32()), "s": ["a", "b", None]})
DOCUMENT = {
    "a": [1, 2, 3],
    "b": {"c": None, "d": "x", "e": [], "f": {}},
    "g": [1],
    "h": [1, "x", [True]],
    "i": 2.5,
}


@pytest.mark.parametrize("id", [*WRITTEN, "fst"])
def test_a_table_comes_back(id, tmp_path):
    """Through the codec and through the front door."""
    codec = Codec.parse(f"{id}:tare")
    assert TABLE.to_pydict() == codec.decode(codec.encode(TABLE)).to_pydict()
    path = tmp_path / f"x{formats.get(id).extensions[0]}"
    size = tare.write(TABLE, path)
    assert size == path.stat().st_size
    found = tare.read(path)
    assert TABLE.to_pydict() == (found["data"] if id == "rdata" else found).to_pydict()
    data = tare.open_dataset(path)
    assert ("table", 3, id) == (data.kind, data.rows, data.format.id)


@pytest.mark.parametrize("id", WRITTEN)
def test_a_document_comes_back(id):
    """Every list, also of one value or none, every empty dict."""
    codec = Codec.parse(f"{id}:tare")
    back = codec.decode(codec.encode(DOCUMENT))
    assert DOCUMENT == back
    assert json.dumps(DOCUMENT) == json.dumps(back)


def test_endings_imply_what_r_does():
    """`.rds` is gzip unless said otherwise; qs2 has its own compressor; qs is read only."""
    assert "rds:tare+gzip:6" == str(Codec.for_path("x.rds"))
    assert "rdata:tare+gzip:6" == str(Codec.for_path("X.RData")) == str(Codec.for_path("x.rda"))
    assert "rds:tare+xz:6" == str(Codec.for_path("x.rds.xz"))
    assert "qs2:tare" == str(Codec.for_path("x.qs2"))
    assert "fst:tare" == str(Codec.for_path("x.fst"))
    with pytest.raises(Unsupported, match="only reads"):
        Codec.parse("qs:tare").encode(TABLE)


@pytest.mark.parametrize("group", ["rds", "rdata", "qs", "fst"])
def test_fixtures_are_told_by_their_bytes_alone(shared, group):
    """Each is its format, whatever its name says; compressed ones are looked through."""
    endings = {
        ".rds": "rds",
        ".RData": "rdata",
        ".rda": "rdata",
        ".fst": "fst",
        ".qs": "qs",
        ".qs2": "qs2",
        ".qdata": "qdata",
    }
    files = [
        path
        for path in sorted(shared(f"fixtures/{group}").iterdir())
        if path.suffix in endings and path.stat().st_size
    ]
    assert files
    for path in files[:: max(1, len(files) // 60)]:
        with open(path, "rb") as file:
            source = tare.datasets.source.find(file, name="unnamed")
        assert endings[path.suffix] == source.format, path.name


def test_a_column_named_a_is_no_file_of_r():
    """Text that begins as R's does, and goes on as numbers do not."""
    assert "csv" != recognise.looks_like(b"A\n2\n3\n")
    assert recognise.looks_like(b"A\n2\n3\n4\n") != "rds"
    assert "rds" == recognise.looks_like(b"A\n3\n262658\n197888\n5\nUTF-8\n254\n")
    assert "rds" == recognise.looks_like(b"A\r\n2\r\n262658\r\n131840\r\n254\r\n")


def test_old_files_say_what_they_are(tmp_path, shared):
    """RData of before R 1.4, and fst of before 0.8, are named and refused."""
    (tmp_path / "x.RData").write_bytes(b"RDX1\nabcdefgh")
    with pytest.raises(TareError, match="version 1"):
        tare.read(tmp_path / "x.RData")
    old = shared("data/r/fst/previousversion.fst")
    with pytest.raises(TareError, match=r"0\.8"):
        tare.read(old)


def test_bad_fixtures_are_errors_with_their_name(shared):
    """Cut, versioned wrongly, empty: an error of ours that begins with the file's name.

    The length of `BAD_huge_length.rds` was put into its first number, so that it is whole.
    """
    files = [path for path in sorted(shared("fixtures/rds").iterdir()) if path.name.startswith("BAD")]
    assert len(files) == 5
    for path in (path for path in files if path.name != "BAD_huge_length.rds"):
        for read in (tare.read, r.read):
            with pytest.raises(TareError) as caught:
                read(path)
            assert str(caught.value).startswith(path.name)
        assert str(path) == caught.value.path


def test_objects_go_from_format_to_format_unchanged(tmp_path):
    """From rds to qs2 to RData to rds: the same bytes again, attributes and all."""
    text = b'structure(list(a = 1:3, b = structure(1, unit = "km")), class = "model")'
    plain = r.write(r.read(text, format="dput", as_="robject"), None, compressor="none").data
    (tmp_path / "x.rds").write_bytes(plain)
    for src, dst in (("x.rds", "x.qs2"), ("x.qs2", "x.RData"), ("x.RData", "y.rds")):
        done = tare.convert(tmp_path / src, tmp_path / dst)
        assert [] == done.losses
    tare.convert(tmp_path / "y.rds", tmp_path / "z.rds", codec="rds")
    assert plain == (tmp_path / "z.rds").read_bytes()


def test_losses_are_listed_and_strict_refuses(tmp_path):
    """To a table of another format: what is not kept is in the conversion; strict writes nothing."""
    need_codec("parquet:polars")
    text = 'structure(list(a = 1:2), row.names = c("p", "q"), source = "x", class = "data.frame")'
    r.write(r.read(text.encode(), format="dput", as_="robject"), tmp_path / "x.rds")
    lost = ["attribute_dropped", "row_names_dropped"]
    for name, codec, expected in (
        ("x.csv", None, lost),
        ("x.fst", None, lost),
        ("y.parquet", "parquet:polars", lost),
        ("x.parquet", None, []),
        ("x.arrow", None, []),
    ):
        done = tare.convert(tmp_path / "x.rds", tmp_path / name, codec=codec)
        assert expected == sorted(loss["kind"] for loss in done.losses if loss["kind"] != "type_changed"), (
            name
        )
    with pytest.raises(LossError, match="row_names"):
        tare.convert(tmp_path / "x.rds", tmp_path / "y.csv", strict=True)
    assert not (tmp_path / "y.csv").exists()


def test_a_folder_is_converted_file_by_file(tmp_path):
    """Names are kept; what fails costs itself; what is there stays; what is no data is left out."""
    src, dst = tmp_path / "in", tmp_path / "out"
    (src / "deep").mkdir(parents=True)
    tare.write(TABLE, src / "a.rds")
    tare.write(TABLE, src / "deep" / "b.qs2")
    tare.write({"x": [1, "no table"]}, src / "c.rds")
    (src / "d.rds").write_bytes((src / "a.rds").read_bytes()[:-9])
    (src / "notes").write_bytes(b"\x01\x02\x03\x04\x05")
    tare.write(TABLE, src / "same.csv")
    tare.write(TABLE, src / "same.rds")
    report = scale.convert(str(src), str(dst), to="parquet", executor="inline")
    assert (4, 2, False) == (report.files, report.files_failed, report.ok)
    assert ["c.rds", "d.rds"] == sorted(os.path.basename(one["input"][0]) for one in report.failures)
    made = sorted(str(path.relative_to(dst)) for path in dst.rglob("*.parquet"))
    assert ["a.parquet", "deep/b.parquet", "same.csv.parquet", "same.rds.parquet"] == made
    again = scale.convert(str(src), str(dst), to="parquet", executor="inline")
    assert (0, 4, 2) == (again.files, again.files_before, again.files_failed)


def test_the_core_threads_of_r_are_optional(tmp_path):
    """R reads what the front door writes."""
    need_r()
    import subprocess

    tare.write(TABLE, tmp_path / "x.rds")
    done = subprocess.run(
        ["Rscript", "--vanilla", "-e", 'x <- readRDS("x.rds"); cat(identical(x$n, c(1L, 2L, NA)))'],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "TRUE" == done.stdout


def test_damage_of_a_checksum_is_told(tmp_path):
    """qs2 has one: a flipped byte is an error, never another value."""
    data = bytearray(r.write(list(range(1000)), None, format="qs2").data)
    for place in range(24, len(data), 7):
        data[place] ^= 1
        with pytest.raises(DecodeError):
            r.read(bytes(data))
        data[place] ^= 1


def test_times_in_a_list_are_what_document_formats_hold(tmp_path):
    """Not those of pandas, which each refuses; digits below a microsecond are told as lost."""
    time = 'structure({}, class = c("POSIXct", "POSIXt"), tzone = "UTC")'
    frame = 'structure(list(t = {}), class = "data.frame", row.names = c(NA, -2L))'
    path = tmp_path / "x.txt"
    column = frame.format(time.format("c(1e9, NA)"))
    path.write_text(f"list(a = {time.format('1e9')}, b = list({column}))")
    found = tare.open_dataset(path, format="dput")
    when = dt.datetime(2001, 9, 9, 1, 46, 40, tzinfo=dt.UTC)
    assert {"a": when, "b": [{"t": [when, None]}]} == found.value
    assert {dt.datetime} == {type(found.value["a"]), type(found.value["b"][0]["t"][0])}
    assert () == found.notes
    assert len(Codec.parse("msgpack:msgspec").encode(found.value)) > 1
    path.write_text(f"list({time.format('1357034400.1234567')})")
    (note,) = tare.open_dataset(path, format="dput").notes
    assert "precision: fractions of a microsecond" in note


@pytest.mark.parametrize("value", [-4294965342, 9221120237041092514, -(2**51)], ids=str)
def test_integers_whose_bits_are_a_nan_are_told_in_code(value, tmp_path):
    """R's code for the double in whose bits they lie has two NaN: NA_real_ and NaN."""
    table = pa.table({"x": pa.array([value, 1], pa.int64())})
    tare.convert(table, tmp_path / "x.rds")
    with pytest.raises(LossError, match="nan_payload"):
        tare.convert(tmp_path / "x.rds", tmp_path / "x.dput", strict=True)


def test_pointers_of_a_process_are_no_part_of_code(tmp_path):
    """Every data.table has one, and was refused for it."""
    program, path = need_r("data.table"), tmp_path / "x.rds"
    code = "saveRDS(data.table::data.table(a = 1:2), commandArgs(TRUE)[1])"
    subprocess.run([program, "-e", code, str(path)], check=True, capture_output=True)
    done = tare.convert(path, tmp_path / "x.dput", strict=True)
    assert ["@.internal.selfref"] == [loss["path"] for loss in done.losses]
    assert "pointer" not in (tmp_path / "x.dput").read_text()


def test_zones_behind_the_first_are_told(tmp_path):
    """Of which fst has no place: the zone itself is kept."""
    zones = 'structure(0, class = c("POSIXct", "POSIXt"), tzone = c("America/New_York", "EST", "EDT"))'
    text = f'structure(list(t = {zones}), class = "data.frame", row.names = c(NA, -1L))'
    (tmp_path / "x.dput").write_text(text)
    done = tare.convert(tmp_path / "x.dput", tmp_path / "x.fst")
    assert [("$t@tzone", "EST, EDT")] == [(loss["path"], loss["r"]) for loss in done.losses]
    with pytest.raises(LossError):
        tare.convert(tmp_path / "x.dput", tmp_path / "y.fst", strict=True)
