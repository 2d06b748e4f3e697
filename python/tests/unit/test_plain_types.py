"""Types that few formats have: written as plainer ones, to the last digit, and told; none ends the process."""

from __future__ import annotations

import datetime as dt
import io
import json
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc, parquet
from support.capabilities import need_codec, need_module

import tare
from tare.errors import EncodeError, Unsupported
from tare.scalar_text import as_text

FINE = pa.array([1, None, 3_600_000_000_001], pa.time64("ns"))
FINE_TEXTS = ["00:00:00.000000001", None, "01:00:00.000000001"]
HUNDREDS = pa.array([Decimal(1200), None], pa.decimal128(5, -2))
ID = uuid.UUID(int=5)


def in_lists(array: Any) -> Any:
    """Each value in a list of its own."""
    return pa.ListArray.from_arrays(pa.array(range(len(array) + 1), pa.int32()), array)


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("target", ["json", "ndjson", "msgpack", "cbor", "bson", "yaml", "avro", "orc"])
def test_times_of_day_finer_than_python_has_are_text(target: str, nested: bool, tmp_path: Path) -> None:
    """Whole microseconds stay times where a format has them; Arrow's own files have nanoseconds."""
    need_codec(target)
    table = pa.table({"t": in_lists(FINE) if nested else FINE, "n": [1, 2, 3]})
    done = tare.convert(table, tmp_path / f"x.{target}")
    assert {one["verdict"] for one in done.changes if one["path"] == "t"} == {"type"}
    back = tare.read(tmp_path / f"x.{target}")
    rows = back.to_pylist() if hasattr(back, "to_pylist") else back
    assert [row["t"] for row in rows] == ([[text] for text in FINE_TEXTS] if nested else FINE_TEXTS)
    if target == "avro":
        coarse = pa.array([1000, None], pa.int64()).cast(pa.time64("ns"))
        tare.convert(pa.table({"t": coarse}), tmp_path / "y.avro")
        assert tare.read(tmp_path / "y.avro").column("t").to_pylist() == [dt.time(0, 0, 0, 1), None]


def test_a_library_that_was_named_refuses_them_as_it_does(tmp_path: Path) -> None:
    with pytest.raises((EncodeError, Unsupported), match="'t'"):
        tare.convert(pa.table({"t": FINE}), tmp_path / "x.json", codec="json:stdlib,default=refuse")


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("zone", [None, "Europe/Paris"])
def test_moments_finer_than_python_has_are_text_in_yaml(
    nested: bool, zone: str | None, tmp_path: Path
) -> None:
    """As in JSON: all of the column, whatever fraction each has."""
    need_codec("yaml")
    moments = pa.array([0, 1001 if zone else -(2**63) + 1, None], pa.timestamp("ns", zone))
    table = pa.table({"t": in_lists(moments) if nested else moments})
    done = tare.convert(table, tmp_path / "x.yaml")
    assert [(one["path"], one["verdict"]) for one in done.changes] == [("t", "type")]
    tare.convert(table, tmp_path / "x.json")
    assert tare.read(tmp_path / "x.yaml") == json.loads((tmp_path / "x.json").read_text())
    with pytest.raises(EncodeError, match="cannot represent an object of type Timestamp, in column 't'"):
        tare.convert(table, tmp_path / "y.yaml", codec="yaml:pyyaml")


def test_lengths_of_time_keep_their_nanoseconds(tmp_path: Path) -> None:
    pandas = need_module("pandas")
    table = pa.table({"d": pa.array([0, None, -1_700_000_001, 5], pa.duration("ns"))})
    done = tare.convert(table, tmp_path / "x.json")
    texts = ["PT0S", None, "-PT1.700000001S", "PT0.000000005S"]
    assert [row["d"] for row in json.loads((tmp_path / "x.json").read_text())] == texts
    assert {one["verdict"] for one in done.changes} == {"type"}
    assert [pandas.Timedelta(text).value for text in texts if text] == [0, -1_700_000_001, 5]
    assert as_text(dt.timedelta(minutes=1, milliseconds=5)) == "PT60.005S"


@pytest.mark.parametrize("nested", [False, True])
def test_decimals_of_a_negative_scale_end_no_process(nested: bool, tmp_path: Path) -> None:
    """Arrow's writer of ORC does; its Parquet has none either."""
    table = pa.table({"a": in_lists(HUNDREDS) if nested else HUNDREDS})
    with pytest.raises(EncodeError, match="'a': ORC has no decimals of a negative scale"):
        tare.encode(table, "orc")
    wanted = [[Decimal(1200)], [None]] if nested else [Decimal(1200), None]
    for target, read in (("x.orc", orc.read_table), ("x.parquet", parquet.read_table)):
        done = tare.convert(table, tmp_path / target)
        assert read(tmp_path / target).column("a").to_pylist() == wanted
        assert {one["verdict"] for one in done.changes} == {"type"}


@pytest.mark.parametrize(
    ("array", "target", "wanted"),
    [
        (pa.array([Decimal("1.5"), None], pa.decimal32(5, 2)), "orc", [Decimal("1.50"), None]),
        (pa.array([Decimal(10) ** 70, None], pa.decimal256(76, 0)), "orc", [str(10**70), None]),
        (
            pa.ExtensionArray.from_storage(pa.uuid(), pa.array([ID.bytes, None], pa.binary(16))),
            "csv",
            [str(ID), None],
        ),
        (
            pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, None], pa.int8())),
            "csv",
            [True, False, None],
        ),
        (
            pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, None], pa.int8())),
            "avro",
            [True, False, None],
        ),
        (
            pa.DictionaryArray.from_arrays(pa.array([0, 1, None], pa.int8()), pa.array(["a", None])),
            "parquet",
            ["a", None, None],
        ),
    ],
)
def test_what_a_format_refuses_is_written_plainly(
    array: Any, target: str, wanted: list[Any], tmp_path: Path
) -> None:
    need_codec(target)
    done = tare.convert(pa.table({"a": array, "n": range(len(array))}), tmp_path / f"x.{target}")
    back = tare.read(tmp_path / f"x.{target}")
    rows = back.to_pylist() if hasattr(back, "to_pylist") else back
    assert [row["a"] for row in rows] == wanted
    assert {one["verdict"] for one in done.changes if one["path"].startswith("a")} == {"type"}
    unread = tare.convert(pa.table({"a": array}), tmp_path / f"y.{target}", verify=False)
    # A writer that takes the values of a type of its own is not told as another type.
    assert (
        any("is written as" in note for note in unread.notes)
        or target == "parquet"
        or isinstance(array, pa.ExtensionArray)
    )


def test_what_no_plainer_type_helps_is_said_of_the_type_that_it_has(tmp_path: Path) -> None:
    with pytest.raises(EncodeError, match=r"list<item: decimal128\(5, -2\)>"):
        tare.convert(pa.table({"a": in_lists(HUNDREDS)}), tmp_path / "x.csv")
    levels = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(["b", None]), ordered=True)
    with pytest.raises(EncodeError):
        tare.convert(pa.table({"a": levels}), tmp_path / "x.parquet")


BYTES: dict[str, Any] = {
    "bytes": pa.array([b"a", b"\xff\0", None, b""]),
    "of one size": pa.array([b"\xff\xff", b"ab", None], pa.binary(2)),
    "large": pa.array([b"\xff", b"", None], pa.large_binary()),
    "views": pa.array([b"\xff", b"x", None], pa.binary_view()),
    "levels": pa.array([b"\xff", b"x", None]).dictionary_encode(),
}


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("name", BYTES)
@pytest.mark.parametrize("target", ["csv", "tsv"])
def test_bytes_that_are_no_text_are_base64_in_csv(
    target: str, name: str, verify: bool, tmp_path: Path
) -> None:
    """All of the column, as in JSON; a column of texts alone stays as it is."""
    array = BYTES[name]
    table = pa.table({"b": array, "t": pa.array(["\u00e9".encode(), *[b"x"] * (len(array) - 1)])})
    done = tare.convert(table, tmp_path / f"x.{target}", verify=verify)
    assert {one["verdict"] for one in done.changes} <= {"type"}
    assert verify or any(note.startswith("'b': ") and "base64" in note for note in done.notes)
    back = tare.read(tmp_path / f"x.{target}")
    assert back["b"].to_pylist() == [None if one is None else as_text(one) for one in array.to_pylist()]
    assert back["t"].to_pylist() == ["\u00e9", *["x"] * (len(array) - 1)]


def test_bytes_of_rows_are_base64_in_csv_too(tmp_path: Path) -> None:
    need_codec("msgpack")
    (tmp_path / "x.msgpack").write_bytes(tare.encode([{"b": b"\xff", "n": 1}], "msgpack"))
    done = tare.convert(tmp_path / "x.msgpack", tmp_path / "x.csv")
    assert {one["verdict"] for one in done.changes} == {"type"}
    assert tare.read(tmp_path / "x.csv").to_pylist() == [{"b": "/w==", "n": 1}]


def test_base64_that_reads_as_a_number_is_told(tmp_path: Path) -> None:
    with pytest.raises(EncodeError, match="'b' would change"):
        tare.convert(pa.table({"b": [b"\xd7m\xf8"]}), tmp_path / "x.csv")


def test_bytes_that_are_no_text_are_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches have been written when the first is met: into an object, which takes nothing back, they are refused by name."""
    monkeypatch.setattr(tare.io, "STREAM_BYTES", 0)
    with pa.ipc.new_file(tmp_path / "x.arrow", pa.schema({"b": pa.binary()})) as file:
        file.write_batch(pa.record_batch({"b": [b"a"] * 3}))
        file.write_batch(pa.record_batch({"b": [b"a", b"\xff"]}))
    tare.convert(tmp_path / "x.arrow", tmp_path / "x.csv", verify=False)
    assert tare.read(tmp_path / "x.csv")["b"].to_pylist() == ["YQ=="] * 4 + ["/w=="]
    with pytest.raises(EncodeError, match="csv: column 'b', row 5: its bytes are not UTF-8"):
        tare.convert(tmp_path / "x.arrow", io.BytesIO(), codec="csv", verify=False)


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize(
    "target", ["json", "ndjson", "msgpack", "cbor", "bson", "yaml", "avro", "orc", "parquet", "rds", "qs2"]
)
def test_intervals_are_lists_of_their_parts(target: str, nested: bool, tmp_path: Path) -> None:
    """In every format that has lists; months, days and nanoseconds in this order."""
    need_codec(target)
    spans = pa.array([(1, -2, 3), None], pa.month_day_nano_interval())
    done = tare.convert(pa.table({"i": in_lists(spans) if nested else spans}), tmp_path / f"x.{target}")
    assert {one["verdict"] for one in done.changes} == {"type"}
    back = tare.read(tmp_path / f"x.{target}")
    rows = back.to_pylist() if hasattr(back, "to_pylist") else back
    found = [row["i"] for row in rows] if isinstance(rows, list) else rows["i"]
    assert ([[[1, -2, 3]], [None]] if nested else [[1, -2, 3], None]) == found


def test_intervals_are_refused_by_column_where_there_are_no_lists(tmp_path: Path) -> None:
    spans = pa.array([(1, -2, 3)], pa.month_day_nano_interval())
    with pytest.raises(EncodeError, match=r"csv.*month_day_nano_interval.* in column 'i'"):
        tare.convert(pa.table({"i": spans}), tmp_path / "x.csv")


LARGE = {
    "decimals": (pa.array([Decimal("1.10"), None]), "ndjson", ["1.10", None]),
    "bytes": (pa.array([b"\xff", None]), "ndjson", ["/w==", None]),
    "lengths of time": (pa.array([1, None], pa.duration("s")), "ndjson", ["PT1S", None]),
    "decimals in lists": (in_lists(pa.array([Decimal("1.10"), None])), "ndjson", [["1.10"], [None]]),
    "hundreds": (HUNDREDS, "parquet", [Decimal(1200), None]),
    "intervals": (pa.array([(1, 2, 3), None], pa.month_day_nano_interval()), "parquet", [[1, 2, 3], None]),
    "identifiers": (pa.array([ID.bytes, None], pa.uuid()), "csv", [str(ID), None]),
    "times within": (FINE, "ndjson", FINE_TEXTS),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_files_are_written_as_small_ones_are(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files beyond what is read at once go batch by batch, and the first batch of such a column was refused."""
    array, target, wanted = LARGE[name]
    monkeypatch.setattr(tare.io, "STREAM_BYTES", 0)
    table = pa.table({"c": array, "n": range(len(array))})
    with pa.ipc.new_file(tmp_path / "x.arrow", table.schema) as file:
        file.write_table(table)
    tare.convert(tmp_path / "x.arrow", tmp_path / f"x.{target}", verify=False)
    back = tare.read(tmp_path / f"x.{target}")
    assert wanted == (back["c"].to_pylist() if isinstance(back, pa.Table) else [row["c"] for row in back])


def test_large_files_name_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the file and the column, as small ones do, and without reading the rest."""
    monkeypatch.setattr(tare.io, "STREAM_BYTES", 0)
    monkeypatch.setattr(tare.io, "_whole", None)
    table = pa.table({"c": in_lists(FINE)})
    with pa.ipc.new_file(tmp_path / "x.arrow", table.schema) as file:
        file.write_table(table)
    with pytest.raises(EncodeError, match=r"x\.arrow: csv:pyarrow: .*in column 'c'.*Nothing was written"):
        tare.convert(tmp_path / "x.arrow", tmp_path / "x.csv", verify=False)
