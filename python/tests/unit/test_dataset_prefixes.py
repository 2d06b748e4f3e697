"""A bound on memory takes the first items of formats that can be read in part; the others say why not."""

from __future__ import annotations

import gzip

import pytest
from support.capabilities import need_codec

import tare
from tare.dataset import open_dataset
from tare.errors import DecodeError, Limit

ROWS = [{"id": k, "name": f"name {k}", "x": k / 7} for k in range(5000)]
FEW = ROWS[:2000]
DEAR = ("x.bson", "x.yaml")  # few rows of these: they are read in Python
BOUND = 200_000


def packed(codec: str) -> bytes:
    """The rows as a file of the codec."""
    return need_codec(codec).encode(ROWS)


def on_end(format: str) -> bytes:
    """The rows one after another, with nothing around them."""
    need_codec(format)
    if format == "yaml":
        return b"".join(b"---\n" + tare.encode(row, "yaml") for row in FEW)
    return b"".join(tare.encode(row, format) for row in (FEW if format == "bson" else ROWS))


FILES = {
    "list.msgpack": lambda: packed("msgpack"),
    "stream.msgpack": lambda: on_end("msgpack"),
    "x.cbor": lambda: packed("cbor"),
    "x.bson": lambda: on_end("bson"),
    "x.avro": lambda: packed("avro"),
    "x.yaml": lambda: on_end("yaml"),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("compressed", [False, True])
def test_the_first_items_that_fit(tmp_path, name, compressed):
    """They are those of the whole file, and the share says how many are left."""
    path = tmp_path / (name + ".gz" * compressed)
    path.write_bytes(gzip.compress(FILES[name]()) if compressed else FILES[name]())
    whole = FEW if name in DEAR else ROWS
    data = open_dataset(path, max_bytes=BOUND * len(whole) // len(ROWS))
    rows = data.value.to_pylist() if data.kind == "table" else data.value
    assert 10 < len(rows) < len(whole) // 2
    assert whole[: len(rows)] == rows
    assert "first rows" == data.partial["rule"]
    if not compressed:
        assert abs(data.partial["rows_total"] / len(whole) - 1) < 0.5


@pytest.mark.parametrize("name", FILES)
def test_the_whole_where_it_fits(tmp_path, name):
    """A bound that is large enough changes nothing."""
    (tmp_path / name).write_bytes(FILES[name]())
    data = open_dataset(tmp_path / name, max_bytes=1 << 30)
    assert (None, len(FEW if name in DEAR else ROWS)) == (data.partial, data.items)


@pytest.mark.parametrize("format", ["msgpack", "cbor", "yaml"])
def test_one_value_is_read_whole_or_refused(tmp_path, format):
    """A map cannot be cut: the message says so, and what to do."""
    need_codec(format)
    path = tmp_path / f"x.{format}"
    path.write_bytes(tare.encode({row["name"]: row for row in ROWS}, format))
    with pytest.raises(Limit, match=r"do not fit in 50,000, and .* read whole.*max_bytes"):
        open_dataset(path, max_bytes=50_000)


@pytest.mark.parametrize("name", ["list.msgpack", "x.cbor", "x.bson", "x.avro"])
def test_damage_is_named(tmp_path, name):
    """A cut file is an error as ever, where no bound cuts it before."""
    data = FILES[name]()
    (tmp_path / name).write_bytes(data[: len(data) - 3])
    with pytest.raises(DecodeError):
        open_dataset(tmp_path / name, max_bytes=1 << 30)
