"""Values one behind the other in one file: none is dropped, and that they are several is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.capabilities import need_codec

import tare
from tare.errors import DecodeError, Malformed


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_a_sequence_of_cbor_is_a_list(tmp_path: Path) -> None:
    """RFC 8742; the reader gives the first value alone, and says nothing of the others."""
    need_codec("cbor")
    import cbor2

    rows: list[Any] = [{"a": 1}, {"a": 2, "b": [b"\xff", "x" * 300]}, {"a": None}]
    source = written(tmp_path / "x.cbor", b"".join(map(cbor2.dumps, rows)))
    data = tare.open_dataset(source)
    assert data.value == rows
    assert "3 CBOR values on end, read as a list" in data.notes
    done = tare.convert(source, tmp_path / "x.msgpack")
    assert "3 CBOR values on end, read as a list" in done.notes


@pytest.mark.parametrize("behind", [b"garbage", b"\x00", b"\xff", b"\x82\x01", b"\x5a\x00\x00\x10\x00x"])
def test_other_bytes_behind_a_value_of_cbor_are_refused(behind: bytes, tmp_path: Path) -> None:
    need_codec("cbor")
    with pytest.raises(Malformed, match=r"first value|one behind the other"):
        tare.read(written(tmp_path / "x.cbor", b"\x82\x01\x02" + behind))


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_cut_value_of_cbor_is_never_taken_for_a_whole_one(cut: int, tmp_path: Path) -> None:
    need_codec("cbor")
    import cbor2

    whole = cbor2.dumps({"a": [1, "text"], "b": b"xy"})
    with pytest.raises(DecodeError):
        tare.read(written(tmp_path / "x.cbor", whole[:-cut]))


def test_self_described_cbor_is_what_it_describes(tmp_path: Path) -> None:
    """RFC 8949, section 3.4.6: the reader makes other containers of what stands within a tag."""
    need_codec("cbor")
    import cbor2

    rows = [{"a": 1, "b": [1, {}]}, {"a": 2, "b": []}]
    source = written(tmp_path / "x.cbor", b"\xd9\xd9\xf7" + cbor2.dumps(rows))
    assert tare.read(source) == rows
    tare.convert(source, tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_bytes()) == rows


def test_several_documents_of_yaml_are_told(tmp_path: Path) -> None:
    need_codec("yaml")
    source = written(tmp_path / "x.yaml", b"---\na: 1\n---\na: 2\n")
    done = tare.convert(source, tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_bytes()) == [{"a": 1}, {"a": 2}]
    assert "2 YAML documents, read as a list" in done.notes
    written(source, b"---\na: 1\n...\n")
    assert not tare.convert(source, tmp_path / "x.json").notes


@pytest.mark.parametrize("target", ["yaml", "json", "cbor", "msgpack"])
def test_integers_and_bytes_of_bson_go_into_documents(target: str, tmp_path: Path) -> None:
    """Its 64-bit integers and its bytes with a subtype are classes of their own."""
    need_codec("bson")
    need_codec(target)
    import bson

    value = {"a": bson.Int64(2**40), "b": bson.Binary(b"\xff", 128), "c": {"d": [bson.Int64(-1)]}}
    source = written(tmp_path / "x.bson", bson.encode(value))
    result = tmp_path / f"x.{target}"
    done = tare.convert(source, result)
    back = tare.read(result)
    assert (back["a"], back["c"]) == (2**40, {"d": [-1]})
    assert back["b"] in (b"\xff", "/w==")
    assert {change["verdict"] for change in done.changes} == {"type"}
