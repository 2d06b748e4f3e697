"""Parts of files: whatever they are cut at, every row is in one part, and in order."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import ipc, parquet

import tare
from tare import scale
from tare.errors import Malformed
from tare.scale.ranges import border, line_blocks, read_range, schema_from_text, schema_to_text

LINES = st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")), max_size=30)
ENDS = st.sampled_from([b"\n", b"\r\n"])


@given(LINES, ENDS, st.booleans(), st.integers(1, 40), st.integers(1, 7))
def test_every_line_is_in_one_part(lines: list[bytes], end: bytes, last: bool, step: int, block: int) -> None:
    """Empty lines, CRLF, no last line feed, lines longer than a part: the parts joined are the file."""
    data = end.join(lines) + (end if last and lines else b"")
    parts = []
    from tare.scale import ranges

    before = ranges._BLOCK_BYTES
    ranges._BLOCK_BYTES = block
    try:
        for start in range(0, max(len(data), 1), step):
            found = list(line_blocks(io.BytesIO(data), start, min(start + step, len(data)) or 1))
            for at, text in found:
                assert data[at : at + len(text)] == text
            parts.append(b"".join(text for _, text in found))
    finally:
        ranges._BLOCK_BYTES = before
    assert b"".join(parts) == data


@given(st.binary(max_size=60), st.integers(0, 70))
def test_a_border_is_where_a_line_begins(data: bytes, at: int) -> None:
    starts = [0, *(k + 1 for k, byte in enumerate(data) if byte == 10)]
    expected = 0 if at == 0 else min((k for k in starts if k >= at), default=len(data))
    assert border(io.BytesIO(data), at) == min(expected, len(data))


def parts_of(path: Path, kind: str, count: int, step: int, options: dict[str, str]) -> pa.Table:
    tables = []
    for start in range(0, count, step):
        part = {"kind": kind, "start": start, "end": min(start + step, count)}
        schema, rows = read_range(str(path), part, options, path.name)
        tables.append(pa.Table.from_batches(list(rows), schema))
    return pa.concat_tables(tables)


TABLE = pa.table(
    {"id": range(10_000), "text": [f"t{n % 97}" for n in range(10_000)], "v": [n / 7 for n in range(10_000)]}
)


@pytest.mark.parametrize("step", [1, 2, 3, 10])
def test_row_groups_and_batches(tmp_path: Path, step: int) -> None:
    parquet.write_table(TABLE, tmp_path / "a.parquet", row_group_size=1000)
    assert parts_of(tmp_path / "a.parquet", "row_groups", 10, step, {}).equals(TABLE)
    with ipc.new_file(tmp_path / "a.arrow", TABLE.schema) as file:
        file.write_table(TABLE, max_chunksize=1000)
    assert parts_of(tmp_path / "a.arrow", "batches", 10, step, {}).equals(TABLE)


def test_rows_of_fst(tmp_path: Path) -> None:
    tare.write(TABLE, tmp_path / "a.fst")
    whole = tare.read(tmp_path / "a.fst")
    assert parts_of(tmp_path / "a.fst", "rows", 10_000, 4096, {}).equals(whole)


@pytest.mark.parametrize("packed", ["", ".zst", ".gz"])
@pytest.mark.parametrize("step", [1000, 70_001, 10**9])
def test_lines_of_json(tmp_path: Path, packed: str, step: int) -> None:
    """Also where Tare's own compression has an index of its chunks."""
    text = b"".join(json.dumps(row).encode() + b"\n" for row in TABLE.to_pylist())
    path = tmp_path / f"a.ndjson{packed}"
    path.write_bytes(text)
    if packed:
        with tare.compress.open(
            path, "wb", {".zst": "zstd", ".gz": "gzip"}[packed], chunk_size=65_536
        ) as file:
            file.write(text)
    found = parts_of(path, "bytes", len(text), step, {"schema": schema_to_text(TABLE.schema)})
    assert found.equals(TABLE)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"id": 1.5, "text": "a", "v": 1}', "id: 1.5 is no int64"), (b'{"id": "x", "text": "a", "v": 1}', "id"),
        (b'{"id": 1, "text": "a", "v": 1, "new": 2}', 'no column "new"'), (b'{"id": 1, "text": ', "not JSON"),
        (b'{"id": 99999999999999999999, "text": "a", "v": 1}', "id"), (b'{"id": 1, "text": 5, "v": 1}', "text"),
        (b'{"id": 1, "text": "\xff", "v": 1}', "not JSON"),
    ],
)  # fmt: skip
def test_a_value_outside_the_schema_fails(tmp_path: Path, line: bytes, said: str) -> None:
    """Its type is never changed in silence: parts of one file agree."""
    good = b'{"id": 1, "text": "a", "v": 0.5}\n'
    (tmp_path / "a.ndjson").write_bytes(good * 3 + line + b"\n" + good)
    size = (tmp_path / "a.ndjson").stat().st_size
    with pytest.raises(Malformed, match=said) as caught:
        parts_of(tmp_path / "a.ndjson", "bytes", size, size, {"schema": schema_to_text(TABLE.schema)})
    assert "a.ndjson" in str(caught.value)
    assert caught.value.offset == 3 * len(good)


def test_schemas_go_through_a_unit() -> None:
    schema = pa.schema([("a", pa.list_(pa.struct([("b", pa.int64())]))), ("c", pa.null())])
    assert schema_from_text(schema_to_text(schema)).equals(schema)
    with pytest.raises(Malformed, match="no schema"):
        schema_from_text("AAAA")


@pytest.mark.parametrize("to", ["parquet", "csv", "arrow", "ndjson+zstd:3", "rds"])
def test_a_file_in_parts_is_the_file(tmp_path: Path, to: str) -> None:
    """As one unit, or as many: the same rows of the same types."""
    text = b"".join(json.dumps(row).encode() + b"\n" for row in TABLE.to_pylist())
    (tmp_path / "a.ndjson").write_bytes(text)
    plan = scale.plan_convert(str(tmp_path / "a.ndjson"), str(tmp_path / "out"), to=to, split="100KB")
    assert plan.count > 3
    report = scale.run(plan, executor="inline", verify="decode")
    assert report.ok, report.failures
    names = sorted((tmp_path / "out" / "a").iterdir())
    read = [tare.read(name) for name in names]
    parts = [one if isinstance(one, pa.Table) else pa.Table.from_pylist(one) for one in read]
    assert pa.concat_tables([part.cast(TABLE.schema) for part in parts]).equals(TABLE)


def test_a_large_plain_file_is_cut(tmp_path: Path) -> None:
    """Beyond what a compressed file would be walked over for."""
    with open(tmp_path / "a.ndjson", "wb") as file:
        file.writelines((b'{"a": 1}' + b" " * 1015 + b"\n") * 1024 for _ in range(70))
    plan = scale.plan_convert(str(tmp_path / "a.ndjson"), str(tmp_path / "out"), to="parquet", split="16MiB")
    assert plan.count == 5
