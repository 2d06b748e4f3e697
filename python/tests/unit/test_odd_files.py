"""Files that are damaged, or odd in ways of their own: converted or refused in words, by exceptions of Tare's alone."""

from __future__ import annotations

import datetime as dt
import pickle
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

import tare
from tare.converting import batches
from tare.datasets.source import find
from tare.errors import DecodeError, EncodeError, Malformed, TareError


def arrow_file(table: pa.Table) -> bytearray:
    sink = pa.BufferOutputStream()
    with ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return bytearray(sink.getvalue().to_pybytes())


COLUMNS = {
    "categories": pa.array(["a", "b", None, "a"]).dictionary_encode(),
    "runs": pa.RunEndEncodedArray.from_arrays([1, 4], pa.array(["a", "b"])),
    "lists": pa.array([["a"], [], None, ["b", "c"]]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_damaged_arrow_file_ends_no_process(name: str, tmp_path: Path) -> None:
    """Arrow crashes at counting the bytes of columns whose lengths are not those of their buffers."""
    data = arrow_file(pa.table({name: COLUMNS[name]}))
    code = (
        "import sys, tare\n"
        "from tare.dataset import open_dataset\n"
        "for path in sys.argv[1:]:\n"
        "    for look in (tare.inspect, lambda path: open_dataset(path, max_bytes=1 << 20)):\n"
        "        try:\n"
        "            look(path)\n"
        "        except tare.TareError:\n"
        "            pass\n"
    )
    paths = []
    for at in range(200, len(data) - 8, 3):
        damaged = data.copy()
        damaged[at] ^= 0xF8
        paths.append(tmp_path / f"{at}.arrow")
        paths[-1].write_bytes(damaged)
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, paths)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-600:]


@pytest.mark.parametrize("target", ["ndjson", "json", "msgpack", "csv"])
@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_moments_of_a_named_zone_are_kept(target: str, unit: str, tmp_path: Path) -> None:
    """Their text has six digits behind the second, of which Arrow reads as many as the unit has."""
    moment = dt.datetime(2024, 5, 5, 10, 0, 0, 120_000 if unit != "s" else 0)
    table = pa.table({"t": pa.array([moment, None], pa.timestamp(unit, "Europe/Vienna"))})
    parquet.write_table(table, tmp_path / "a.parquet")
    done = tare.convert(tmp_path / "a.parquet", tmp_path / f"b.{target}")
    assert done.verified
    assert "120" in (tmp_path / f"b.{target}").read_bytes().decode("latin1") or unit == "s"


def test_a_frame_that_is_no_list_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.dput").write_text('structure(1:3, class = "data.frame", row.names = 1:3)')
    assert tare.convert(tmp_path / "a.dput", tmp_path / "a.json").losses


def test_a_time_with_a_part_twice_is_refused(tmp_path: Path) -> None:
    parts = "sec = 0, min = 0L, hour = 0L, mday = 1L, mon = 0L, mon = 1L, year = 100L, wday = 0L, yday = 0L, isdst = 0L"
    (tmp_path / "a.dput").write_text(f'structure(list({parts}), class = c("POSIXlt", "POSIXt"))')
    with pytest.raises(TareError, match="duplicate field names"):
        tare.convert(tmp_path / "a.dput", tmp_path / "a.json")


@pytest.mark.parametrize("target", ["rds", "qs2", "fst"])
def test_metadata_that_is_no_text_stops_nothing(target: str, tmp_path: Path) -> None:
    """Arrow's metadata may be any bytes."""
    table = pa.table({"a": [1]}).replace_schema_metadata({b"k\xef": b"v\xff"})
    parquet.write_table(table, tmp_path / "a.parquet")
    done = tare.convert(tmp_path / "a.parquet", tmp_path / f"a.{target}")
    assert any(change["path"] == "(metadata)" for change in done.changes)
    assert tare.read(tmp_path / f"a.{target}").column("a").to_pylist() == [1]


def test_a_zone_that_is_an_offset_is_no_panic(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Nor is polars asked for it, which ends in one."""
    table = pa.table({"t": pa.array([1, 2], pa.timestamp("us", "+05:30"))})
    (tmp_path / "a.arrow").write_bytes(arrow_file(table))
    tare.convert(tmp_path / "a.arrow", tmp_path / "a.csv", verify=True)
    assert "panicked" not in capfd.readouterr().err


def test_wide_lines_are_compared_in_part(tmp_path: Path) -> None:
    """As many objects as lines, each with all of their names, took a gigabyte."""
    (tmp_path / "a.ndjson").write_text("".join(f'{{"k{n}": {n}}}\n' for n in range(1500)))
    done = tare.convert(tmp_path / "a.ndjson", tmp_path / "a.parquet")
    assert 0 < done.second["source"]["rows"] < 100
    with pytest.raises(DecodeError):
        tare.read(b"{", format="ndjson")


MICRO = pa.array([1714903200123456 + n for n in range(5000)], pa.timestamp("us", "UTC"))
LONG = pa.array([Decimal("12345678901234567890.123")] * 5000)
LATE = pa.array([None] * 4990 + [1714903200123456] * 10, pa.timestamp("us", "UTC"))


@pytest.mark.parametrize(
    ("target", "column", "row"),
    [("bson", MICRO, 1), ("blit", LONG, 1), ("bson", LATE, 4991), ("bson", pa.array([[moment] for moment in MICRO.to_pylist()]), 1)],
    ids=["moments", "decimals", "late", "lists"],
)  # fmt: skip
def test_what_a_format_loses_is_refused_at_any_size(
    target: str, column: pa.Array, row: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table that is too large to be read back whole is in some of its rows, the first and the last among them."""
    monkeypatch.setattr("tare.io.VERIFY_BYTES", 0)
    parquet.write_table(pa.table({"v": column}), tmp_path / "a.parquet")
    with pytest.raises(EncodeError, match=rf"v.* would change: .*\(first in row {row:,}\)"):
        tare.convert(tmp_path / "a.parquet", tmp_path / f"a.{target}")
    assert not (tmp_path / f"a.{target}").exists()
    done = tare.convert(tmp_path / "a.parquet", tmp_path / f"a.{target}", allow_loss=True)
    assert [(one["verdict"], one["count"]) for one in done.changes if one["verdict"] == "lossy"] == [
        ("lossy", None)
    ]


@pytest.mark.parametrize(
    "target", ["avro", "orc", "parquet", "arrow", "csv", "ndjson", "msgpack", "cbor", "rds", "fst"]
)
def test_what_a_format_keeps_is_no_loss_at_any_size(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tare.io.VERIFY_BYTES", 0)
    table = pa.table({"t": MICRO, "l": LATE, "n": pa.array([f"{n}.10" for n in range(4999)] + ["1.10.3"])})
    parquet.write_table(table, tmp_path / "a.parquet")
    done = tare.convert(tmp_path / "a.parquet", tmp_path / f"a.{target}")
    assert not done.verified
    assert [one for one in done.changes if one["verdict"] == "lossy"] == []


def test_what_a_format_loses_of_items_is_refused_at_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list that no table was made of; what is no list is not looked at in part."""
    monkeypatch.setattr("tare.io.VERIFY_BYTES", 0)
    items: list[Any] = [
        {"n": n, "t": [dt.datetime(2024, 5, 5, 10, 0, 0, 123_000 + (n == 4999))]} for n in range(5000)
    ]
    with open(tmp_path / "a.pickle", "wb") as file:
        pickle.dump(items, file)
    with pytest.raises(EncodeError, match=r"t\[\*\]' would change: .*123001\) comes back as"):
        tare.convert(tmp_path / "a.pickle", tmp_path / "a.bson", allow_pickle=True)
    assert not tare.convert(tmp_path / "a.pickle", tmp_path / "a.cbor", allow_pickle=True).verified
    with open(tmp_path / "b.pickle", "wb") as file:
        pickle.dump({"a": items[:10]}, file)
    assert not tare.convert(tmp_path / "b.pickle", tmp_path / "b.bson", allow_pickle=True).verified


def table_of_invalid_texts(rows: int, at: int) -> pa.Table:
    """A text at ``at`` ends in the byte of latin1 for an accent, which no UTF-8 has there."""
    plain = pa.array([b"caf\xe9" if row == at else b"tea" for row in range(rows)], pa.binary())
    texts = pa.Array.from_buffers(pa.string(), rows, plain.buffers())
    return pa.table({"n": range(rows), "s": texts, "inside": pa.StructArray.from_arrays([texts], ["t"])})


@pytest.mark.parametrize("column", ["s", "inside"])
@pytest.mark.parametrize("target", ["csv", "orc", "ndjson"])
def test_texts_of_parquet_that_are_not_utf8_are_refused(column: str, target: str, tmp_path: Path) -> None:
    """Arrow reads them unseen, so that large tables had taken them into CSV and ORC, which nothing could read."""
    parquet.write_table(table_of_invalid_texts(1_000, 701), tmp_path / "a.parquet")
    for read in (
        lambda: tare.convert(tmp_path / "a.parquet", tmp_path / f"b.{target}", columns=["n", column]),
        lambda: tare.read(tmp_path / "a.parquet", columns=[column]),
    ):
        place = "'s', row 702: the" if column == "s" else "'inside': a"
        with pytest.raises(Malformed, match=rf"column {place} text.* is not UTF-8\. .*--columns"):
            read()
    assert not (tmp_path / f"b.{target}").exists()
    assert tare.read(tmp_path / "a.parquet", columns=["n"]).num_rows == 1_000


def test_texts_of_parquet_in_batches_are_looked_at(tmp_path: Path) -> None:
    parquet.write_table(table_of_invalid_texts(1_000, 701), tmp_path / "a.parquet")
    with pytest.raises(Malformed, match="column 's', row 702: "):
        list(batches.reader(find(tmp_path / "a.parquet"))[1])


@pytest.mark.parametrize(
    ("text", "target", "said"),
    [
        (
            '[{"a": 1, "b": {"x": 1}}]',
            "csv",
            "there is no place for values of the type struct<x: int64>, in column 'b'",
        ),
        ('[{"a": 1}, null]', "bson", "item 2 is of type NoneType, and each item of BSON is an object"),
        ('[{"a": 1}, 5]', "bson", "item 2 is of type int, and each item of BSON is an object"),
        ('{"a": 1}', "ndjson", "expected a list of items, of which each is a line, got one dict"),
    ],
)
def test_what_is_refused_of_json_is_named(text: str, target: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(TareError, match=re.escape(said)):
        tare.convert(tmp_path / "a.json", tmp_path / f"b.{target}")


@pytest.mark.parametrize("ending", ["arrow", "parquet"])
@pytest.mark.parametrize("nested", [False, True])
def test_names_that_are_no_text_are_refused(tmp_path: Path, ending: str, nested: bool) -> None:
    """Arrow takes them, and what asks for them ended in a panic, or in an error of Python's."""
    column = pa.array([{"zzqzz": 1}]) if nested else pa.array([1])

    path = tmp_path / f"x.{ending}"
    tare.write(pa.table({"c" if nested else "zzqzz": column}), path)
    data = path.read_bytes()
    assert b"zzqzz" in data
    path.write_bytes(data.replace(b"zzqzz", b"zz\xffzz"))
    for use in (tare.read, lambda path: tare.convert(path, tmp_path / "y.ndjson")):
        with pytest.raises(Malformed, match=r"x.(arrow|parquet): .*name .*is not UTF-8"):
            use(path)
    assert tare.inspect(path).error
