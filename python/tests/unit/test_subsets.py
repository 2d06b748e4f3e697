"""Reading a part gives that part, by whichever means."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from support.capabilities import need_codec

from tare import kinds
from tare.codec import Codec
from tare.formats import FORMATS
from tare.measure.fidelity.run_probes import compare
from tare.measure.plan.subsets import remark, row_range, steps_of
from tare.measure.worker.prepared_codec import Prepared

ROWS = 150_001
TABLE = pa.table(
    {"n": range(ROWS), "s": [f"x{n % 97}" for n in range(ROWS)], "f": [n / 8 for n in range(ROWS)]}
)
IN_ROWS = [
    f"{format.id}:{library.name}"
    for format in FORMATS
    for library in format.libraries
    if library.rows is not None and library.installed and library.writes
]
DOCUMENT = {
    "list": [{"a/b": None, "k": n, "deep": {"x": [n, {"y": "z" * n}]}} for n in range(50)],
    "last": True,
}
BY_PATH = (
    "json:stdlib",
    "json:orjson",
    "json:simdjson",
    "json:orjson+zstd:3",
    "msgpack:msgpack",
    "bson:pymongo",
)


def part_of(codec: str, value: Any, subset: str, **more: Any) -> tuple[Any, Any]:
    """The part that the codec reads, and the part of the value."""
    kind = "table" if isinstance(value, pa.Table) else "document"
    found = need_codec(codec)
    native = kinds.convert(value, found.native(kind)) if kind == "table" else value
    ready = Prepared(found, kind, native, **more)
    read = ready.subsetter(subset, len(value))
    assert ready.part is not None
    return read(ready.need_encoded()), ready.part(value)


@pytest.mark.parametrize("codec", IN_ROWS)
@pytest.mark.parametrize("share", ["1%", "60%", "100%", "0.0001%"])
def test_these_rows_come_back(codec: str, share: str) -> None:
    """In their order and with their values, over the borders of batches and row groups."""
    got, wanted = part_of(codec, TABLE, f"rows:{share}")
    assert row_range(share, ROWS)[1] == len(wanted)
    assert compare(wanted, got, kind="table", limit=3).as_dict()["verdict"] in ("same", "type")


@pytest.mark.parametrize("codec", ["parquet:pyarrow", "parquet:fastparquet", "orc:pyarrow"])
def test_rows_of_a_file_of_several_groups(codec: str) -> None:
    """Whichever groups hold them."""
    import io

    from pyarrow import orc, parquet

    file = io.BytesIO()
    if codec.startswith("orc"):
        orc.write_table(TABLE, file, stripe_size=1 << 16)
    else:
        parquet.write_table(TABLE, file, row_group_size=7_000)
    found = need_codec(codec)
    assert found.library.rows is not None
    for start, count in ((0, 1), (6_999, 2), (70_000, 7_000), (149_000, 1_001), (3, 100_000)):
        got = kinds.convert(found.library.rows(file.getvalue(), start, count, **found.options), "arrow")
        assert TABLE.slice(start, count)["n"].to_pylist() == got["n"].to_pylist()


@pytest.mark.parametrize("codec", BY_PATH)
@pytest.mark.parametrize(
    "pointer", ["/list/7/deep/x/1/y", "/list/0/a~1b", "/list/49/deep", "/last", "/list", ""]
)
def test_the_property_comes_back(codec: str, pointer: str) -> None:
    """A scalar, a null, a mapping, a list and the whole, from every depth."""
    got, wanted = part_of(codec, DOCUMENT, f"path:{pointer}")
    assert wanted == got


@pytest.mark.parametrize("codec", BY_PATH)
@pytest.mark.parametrize("pointer", ["/none", "/list/50", "/list/0/none"])
def test_a_property_that_is_not_there(codec: str, pointer: str) -> None:
    """An error of looking it up, not another value."""
    ready = Prepared(need_codec(codec), "document", DOCUMENT)
    with pytest.raises((KeyError, IndexError)):
        ready.subsetter(f"path:{pointer}", 1)(ready.need_encoded())


@pytest.mark.parametrize("codec", ["json:stdlib", "json:simdjson", "msgpack:msgpack"])
def test_the_first_value_of_each_document(codec: str) -> None:
    """Mappings, lists, empty ones, scalars."""
    documents = [{"a": 1, "b": 2}, {"c": {"d": [1]}}, [5, 6], {}, [], 7, {"e": [1, 2]}]
    got, wanted = part_of(codec, documents, "first", grain="each")
    assert [1, {"d": [1]}, 5, None, None, 7, [1, 2]] == wanted == got


def test_what_decodes_the_whole_says_so() -> None:
    """A property by a library's own means needs no remark; through a compressor there are none."""
    assert not remark(Codec.parse("json:simdjson"), "path:/a")
    assert "decodes the whole" in remark(Codec.parse("json:orjson"), "path:/a")
    assert "decodes the whole" in remark(Codec.parse("json:simdjson+zstd:3"), "path:/a")


def test_how_a_part_is_written() -> None:
    """The run of rows lies in the middle; a pointer is unescaped."""
    assert (0, 10) == row_range("100%", 10)
    assert (4, 1) == row_range("1%", 10)
    assert ["m~n", "o/p", ""] == steps_of("/m~0n/o~1p/")
