"""Timestamps of MessagePack are datetimes in UTC in every reader; where one is none, all are kept, which is told."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.capabilities import need_module

import tare
from tare.dataset import open_dataset
from tare.errors import DecodeError, EncodeError, Unsupported
from tare.formats.msgpack_times import are_datetimes, decoded

UTC = dt.UTC
MOMENTS = [
    dt.datetime(2026, 1, 1, tzinfo=UTC),  # 4 bytes
    dt.datetime(2026, 1, 1, 1, 2, 3, 999_999, tzinfo=UTC),  # 8
    dt.datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=UTC),  # 12
    dt.datetime(1, 1, 1, tzinfo=UTC),
    dt.datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
]
READERS = [
    None, "msgpack:msgpack", "msgpack:msgpack,impl=python", "msgpack:msgpack,datetime=true", "msgpack:msgspec", "msgpack:ormsgpack"
]  # fmt: skip
LIKE_ONE = b"\xd7\xff\0\0\0\x0f\0\0\0\5"  # bytes that are no timestamp, and would be of nanoseconds


def timestamps(*given: tuple[int, int]) -> bytes:
    """A list of objects, each with a timestamp of so many seconds and nanoseconds."""
    msgpack = need_module("msgpack")
    return bytes(msgpack.packb([{"t": msgpack.Timestamp(*one)} for one in given]))


def file_of(moments: list[Any], path: Path) -> Path:
    path.write_bytes(
        need_module("msgpack").packb([{"t": one, "b": LIKE_ONE} for one in moments], datetime=True)
    )
    return path


@pytest.mark.parametrize("reader", READERS)
def test_each_reader_gives_datetimes(reader: str | None, tmp_path: Path) -> None:
    if reader is not None:
        need_module(tare.Codec.parse(reader).library_name)
    source = file_of(MOMENTS, tmp_path / "x.msgpack")
    data = open_dataset(source, format=reader)
    assert [row["t"] for row in data.value] == MOMENTS
    assert data.notes == ()
    if reader in (
        "msgpack:msgpack,datetime=true",
        "msgpack:msgspec",
    ):  # the library's own call makes datetimes too
        back = tare.decode(source.read_bytes(), reader)
        assert {row["b"] for row in back} == {LIKE_ONE}
        assert [row["t"] for row in back] == MOMENTS


def test_a_first_part_and_values_on_end_have_datetimes_too(tmp_path: Path) -> None:
    source = file_of(MOMENTS * 400, tmp_path / "x.msgpack")
    part = open_dataset(source, max_bytes=100_000)
    assert part.partial
    assert [row["t"] for row in part.value] == (MOMENTS * 400)[: len(part.value)]
    pack = need_module("msgpack").packb
    source.write_bytes(b"".join(pack({"t": one}, datetime=True) for one in MOMENTS))
    assert [row["t"] for row in tare.read(source)] == MOMENTS


def test_keys_and_a_lone_value_are_datetimes(tmp_path: Path) -> None:
    msgpack = need_module("msgpack")
    for value in ({MOMENTS[1]: [1]}, MOMENTS[0], {LIKE_ONE: {MOMENTS[0]: MOMENTS[1]}}):
        (tmp_path / "x.msgpack").write_bytes(msgpack.packb(value, datetime=True))
        assert tare.read(tmp_path / "x.msgpack") == value


@pytest.mark.parametrize("other", [(1, 5), (253_402_300_800, 0), (-(10**15), 0)])
def test_what_is_no_datetime_is_kept_and_told(other: tuple[int, int], tmp_path: Path) -> None:
    msgpack = need_module("msgpack")
    source = tmp_path / "x.msgpack"
    for data in (timestamps((1, 0), other), timestamps((1, 0), other)[1:]):  # a list, and values on end
        source.write_bytes(data)
        found = open_dataset(source)
        assert [row["t"] for row in found.value] == [msgpack.Timestamp(1, 0), msgpack.Timestamp(*other)]
        assert "all are read as msgpack.Timestamp" in found.notes[-1]
    assert tare.convert(source, tmp_path / "y.msgpack").changes == []
    assert (tmp_path / "y.msgpack").read_bytes() == timestamps((1, 0), other)


@pytest.mark.parametrize("reader", ["msgpack:msgspec", "msgpack:ormsgpack"])
def test_who_would_round_it_refuses_it(reader: str, tmp_path: Path) -> None:
    need_module(tare.Codec.parse(reader).library_name)
    (tmp_path / "x.msgpack").write_bytes(timestamps((1, 0), (1, 5)))
    with pytest.raises(Unsupported, match=r"x\.msgpack: .*, at byte 13\. Read it by msgpack:msgpack"):
        tare.read(tmp_path / "x.msgpack", format=reader)
    with pytest.raises(DecodeError):
        tare.decode(timestamps((1, 0), (1, 5))[:-1], reader)


def test_what_only_looks_like_one_decides_nothing() -> None:
    unpack = lambda data, timestamp: timestamp  # noqa: E731 - how it is asked for
    assert decoded(b"\x91\xd6\xff\0\0\0\5", unpack) == 3
    assert [
        are_datetimes(data) for data in (LIKE_ONE, b"\xff" + LIKE_ONE[:-8], b"\xc7\x0c\xff" + bytes(12))
    ] == [
        False,
        True,
        True,
    ]
    # Longer heads than are needed, which readers take.
    assert not are_datetimes(b"\xc7\x08\xff" + LIKE_ONE[2:])
    assert not are_datetimes(b"\xc8\0\x0c\xff\0\0\0\5" + bytes(8))


def test_the_command_of_a_report_passes_its_check(tmp_path: Path) -> None:
    """By msgspec, which writes moments with a zone as timestamps, of a table and of documents."""
    table = pa.table({"t": pa.array([0, None, 1_767_225_600], pa.timestamp("us", "UTC")), "d": [1, 2, 3]})
    parquet.write_table(table, tmp_path / "x.parquet")
    done = tare.convert(tmp_path / "x.parquet", tmp_path / "x.msgpack", codec="msgpack:msgspec,default=text")
    assert (done.verified, done.changes) == (True, [])
    back = tare.convert(tmp_path / "x.msgpack", tmp_path / "y.parquet")
    assert back.changes == []
    assert parquet.read_table(tmp_path / "y.parquet").equals(table)


def test_documents_keep_moments_in_utc_as_timestamps(tmp_path: Path) -> None:
    """Where a zone is another, which a timestamp has not, all are text."""
    source = file_of(MOMENTS, tmp_path / "x.msgpack")
    done = tare.convert(source, tmp_path / "y.msgpack")
    assert (done.to, done.changes) == ("msgpack:msgpack,datetime=true", [])
    assert (tmp_path / "y.msgpack").read_bytes() == source.read_bytes()
    away = dt.timezone(dt.timedelta(hours=1))
    rows = [{"t": MOMENTS[0]}, {"t": dt.datetime(2026, 1, 1, tzinfo=away)}]
    (tmp_path / "x.cbor").write_bytes(tare.encode(rows, "cbor"))
    done = tare.convert(tmp_path / "x.cbor", tmp_path / "z.msgpack")
    assert (done.to, {one["verdict"] for one in done.changes}) == ("msgpack:msgpack,default=text", {"type"})


def test_a_timestamp_without_a_text_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "x.msgpack").write_bytes(timestamps((10**15, 0)))
    for target in ("x.csv", "x.parquet", "x.json"):
        with pytest.raises(EncodeError, match=r"x\.msgpack: .*1,000,000,000,000,000 s lies beyond the years"):
            tare.convert(tmp_path / "x.msgpack", tmp_path / target)
