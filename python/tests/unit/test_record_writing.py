"""Records are written whole or not at all, and name nobody."""

from __future__ import annotations

import getpass
import os
import platform
from pathlib import Path
from typing import Any

import pytest
from support import synthetic_records

from tare.errors import RecordError
from tare.measure.environment.machine import describe_machine, same_machine
from tare.measure.records import record as record_module
from tare.measure.records.record import (
    encode_record,
    new_record,
    parse_record,
    read_record,
    without_paths,
    write_record,
)


def small(**more: Any) -> dict[str, Any]:
    """A new record with a name for its data."""
    return {**new_record(), "dataset": {"name": "d.csv"}, **more}


def test_write_then_read_is_the_identity(tmp_path: Path) -> None:
    """A record with samples, fidelity and everything derived comes back equal."""
    record = synthetic_records.synthetic_record()
    assert record == read_record(write_record(record, tmp_path / "a.tare.json"))


def test_large_record_is_compressed(tmp_path: Path) -> None:
    """Above 4 MiB the file is compressed, its name says so, and the plain name still finds it."""
    record = small(command="x" * (4 << 20))
    place = write_record(record, tmp_path / "a.tare.json")
    assert "a.tare.json.zst" == place.name
    assert 1 << 20 > place.stat().st_size
    assert record == read_record(tmp_path / "a.tare.json")


def test_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    """A record that JSON cannot hold, or a full folder, does not harm the file."""
    place = tmp_path / "a.tare.json"
    write_record(small(), place)
    before = place.read_bytes()
    with pytest.raises(RecordError, match="cannot be written as JSON"):
        write_record(small(noise={"aa": object()}), place)
    assert before == place.read_bytes()
    assert [place.name] == os.listdir(tmp_path)


def test_interrupted_replace_leaves_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When renaming fails, the temporary file is gone and the old one stays."""
    place = tmp_path / "a.tare.json"
    write_record(small(), place)
    before = place.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        write_record(small(), place)
    assert before == place.read_bytes()
    assert [place.name] == os.listdir(tmp_path)


def test_record_names_neither_user_nor_host_nor_folders(tmp_path: Path) -> None:
    """The host is a salted hash, and paths in commands and messages are cut to their last part."""
    record = new_record(
        command=f"tare measure {tmp_path}/secret/people.csv --dir {tmp_path} --remote ssh://ada@host",
        plan={"name": "p", "block": [{"dataset": [f"{tmp_path}/secret/people.csv"], "codec": ["csv"]}]},
        directory=str(tmp_path),
    )
    record["cases"] = [
        {
            "key": "k",
            "labels": {},
            "status": "error",
            "reason": f"[Errno 2] No such file: '{tmp_path}/secret/x'",
            "note": "",
        }
    ]
    text = encode_record(record).decode()
    for hidden in (str(tmp_path), "secret", "ada@host", platform.node()):
        assert hidden not in text
    assert "people.csv" in text
    user = getpass.getuser()
    assert f"/{user}/" not in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cannot open /home/ada/a b.csv", "cannot open a b.csv"),
        (r"C:\Users\ada\x.json is missing", "x.json is missing"),
        ("read 1/64 and write/read", "read 1/64 and write/read"),
        ("json:orjson@file", "json:orjson@file"),
        ("~/data/x: no", "x: no"),
    ],
)
def test_paths_are_cut_and_other_text_is_not(text: str, expected: str) -> None:
    """Only what looks like a path loses its folders."""
    assert expected == without_paths(text)


def sampled(**columns: list[int | None]) -> bytes:
    """A record with two samples of one operation."""
    record = synthetic_records.synthetic_record()
    both = {"round": [1, 2], "position": [0, 0], "batch": [4, 4], "wall_ns": [900, 800]}
    record["cases"][0]["launches"] = [{"n": 1, "samples": {"encode": both | columns}}]
    return encode_record(record)


@pytest.mark.parametrize(
    ("columns", "read"),
    [
        ({"user_ns": [9, 8], "sys_ns": [1, 0]}, {"user_ns", "sys_ns"}),
        ({"user_ns": [9, 8], "sys_ns": [None, None], "gc_n": [None, None]}, {"user_ns"}),
        ({"user_ns": [None, None], "sys_ns": [None, None], "nivcsw": [0, 0]}, {"nivcsw"}),
        ({"user_ns": [9, None], "sys_ns": [1, 0], "nivcsw": [0, None]}, {"sys_ns"}),
        ({"user_ns": [9, 8], "sys_ns": [1, None]}, set()),
    ],
)
def test_a_column_that_lacks_numbers_is_read_as_absent(
    columns: dict[str, list[int | None]], read: set[str]
) -> None:
    """Whoever computes with it need not ask, and CPU time is not told by a part of it."""
    (launch,) = parse_record(sampled(**columns))["cases"][0]["launches"]
    assert launch["samples"]["encode"].keys() == {"round", "position", "batch", "wall_ns"} | read


@pytest.mark.parametrize("name", ["round", "position", "batch", "wall_ns"])
def test_a_sample_without_its_wall_time_or_place_is_none(name: str) -> None:
    with pytest.raises(RecordError, match=rf"launch 1: {name} of 'encode' lacks numbers"):
        parse_record(sampled(**{name: [1, None]}))


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record above the limit is refused before and after decompression."""
    from tare.compress import compress

    monkeypatch.setattr(record_module, "MAX_BYTES", 1000)
    with pytest.raises(RecordError, match="larger than a record may be, 1000 bytes"):
        parse_record(b" " * 1001)
    with pytest.raises(RecordError, match="larger than a record may be, 1000 bytes"):
        parse_record(compress(b" " * 100_000, "zstd:3"))


def test_damaged_compression_is_told() -> None:
    """A cut zstd frame is a damaged record, not a crash."""
    from tare.compress import compress

    data = compress(encode_record(small()), "zstd:3")
    with pytest.raises(RecordError, match="the compressed record cannot be read: zstd"):
        parse_record(data[:-5])


def test_compression_with_a_dictionary_is_told() -> None:
    """A zstd frame that needs the dictionary is refused like any other damage."""
    with pytest.raises(RecordError, match="needs the dictionary"):
        parse_record(b"\x28\xb5\x2f\xfd\x21\x07\x05\x01\x00\x00")


def test_too_many_cases_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of cases has a limit."""
    from tare.measure.records.schema import SCHEMA

    monkeypatch.setitem(SCHEMA["properties"]["cases"], "maxItems", 2)
    case = {"key": "k", "labels": {}, "status": "ok"}
    with pytest.raises(RecordError, match="3 entries; at most 2 are allowed"):
        parse_record(encode_record(small(cases=[case] * 3)))


def test_machine_is_the_same_as_itself_and_not_another() -> None:
    """The same machine agrees; another core count or host is named."""
    here = describe_machine()
    assert [] == same_machine(here, describe_machine())
    assert [f"cores {here['cores']} against 1000"] == same_machine(here, {**here, "cores": 1000})
    assert platform.node() not in str(here["host"])
