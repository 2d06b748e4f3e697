"""Every library that claims to be appended to reads back what was there and what was added."""

from __future__ import annotations

from typing import Any

import pytest
from support.capabilities import need_codec

from tare import formats, kinds
from tare.codec import Codec
from tare.errors import Unsupported

ALL = [(format, library) for format in formats.FORMATS for library in format.libraries]
CLAIMS = [(f"{f.id}:{lib.name}", kind) for f, lib in ALL if lib.append is not None for kind in lib.native]
OTHERS = [f"{f.id}:{lib.name}" for f, lib in ALL if lib.append is None]
COMPRESSORS = ("", "+zstd:3", "+lz4:1", "+gzip:6", "+bz2:9", "+xz:6")


def parts(kind: str) -> list[Any]:
    """What is there first, then two additions; a null, a quoted line end and a delimiter among the cells."""
    rows = [
        [{"n": 1, "x": 0.5, "s": "a"}, {"n": 2, "x": None, "s": "b,c"}],
        [{"n": 3, "x": -2.5, "s": 'say "d"'}],
        [{"n": 4, "x": 1e10, "s": "e"}, {"n": 5, "x": 0.25, "s": "f"}],
    ]
    if kind == "document":
        return rows
    import pyarrow as pa

    schema = pa.schema({"n": pa.int64(), "x": pa.float64(), "s": pa.string()})
    return [pa.Table.from_pylist(part, schema) for part in rows]


def as_rows(value: Any, kind: str) -> Any:
    """Rows in plain types, numbers read from text where a format has text only."""
    if kind == "document":
        return value
    table = kinds.convert(value, "arrow").select(["n", "x", "s"])
    return [
        {"n": int(row["n"]), "x": None if row["x"] in (None, "") else float(row["x"]), "s": row["s"]}
        for row in table.to_pylist()
    ]


@pytest.mark.parametrize("compressor", COMPRESSORS)
@pytest.mark.parametrize(("id", "kind"), CLAIMS)
def test_what_is_appended_is_read_behind_what_was_there(id: str, kind: str, compressor: str) -> None:
    """decode(encode(a) + append(b) + append(c)) is a, b and c, in this order."""
    codec = need_codec(id + compressor)
    assert codec.flags()["append"]
    first, *more = parts(kind)
    data = codec.encode(first) + b"".join(map(codec.append, more))
    whole = [row for part in parts(kind) for row in as_rows(part, kind)]
    assert whole == as_rows(codec.decode(data, trust=True), kind)


@pytest.mark.parametrize("id", OTHERS)
def test_what_cannot_be_appended_to_says_so(id: str) -> None:
    """A library without the claim has no flag, so that no one is recommended it, and refuses."""
    codec = Codec.parse(id)
    assert not codec.flags()["append"]
    with pytest.raises(Unsupported, match="cannot be appended to"):
        codec.append([{"a": 1}])


def test_a_single_value_format_is_not_recommended_for_appending() -> None:
    """MessagePack, CBOR and pickle read one value: another behind it is an error, or is never seen."""
    claimed = {id.partition(":")[0] for id, _ in CLAIMS}
    assert {"bson", "csv", "ndjson"} == claimed
