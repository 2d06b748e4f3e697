"""Parts of CSV files: whatever they are cut at, all parts together are what the whole file gives."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tare
from tare import scale
from tare.scale.planning.schemas import layout_of_csv
from tare.scale.ranges import read_range


def text_of(rows: int, delimiter: str = ",", end: str = "\n", last: bool = True, seed: int = 1) -> bytes:
    chosen = random.Random(seed)
    lines = [delimiter.join(["id", "zip", "v", "text", "none"])]
    for n in range(rows):
        decimal = "," if delimiter == ";" else "."
        value = f"{chosen.randrange(1000)}{decimal}{chosen.randrange(10)}" if n % 7 else ""
        text = chosen.choice(["x", '"a b"', '"say ""so"""', "NA", '"NA"', '""', "caf\u00e9"])
        lines.append(delimiter.join([str(n), f"{chosen.randrange(999):05}", value, text, ""]))
    return (end.join(lines) + (end if last else "")).encode()


@given(
    st.integers(1, 60), st.sampled_from([",", ";", "\t", "|"]), st.sampled_from(["\n", "\r\n"]), st.booleans(),
    st.integers(1, 400), st.booleans(),
)  # fmt: skip
def test_every_row_is_in_one_part(
    tmp_path_factory: pytest.TempPathFactory, rows: int, delimiter: str, end: str, last: bool, step: int, mark: bool
) -> None:  # fmt: skip
    path = tmp_path_factory.getbasetemp() / "every.csv"
    data = (b"\xef\xbb\xbf" if mark else b"") + text_of(rows, delimiter, end, last)
    path.write_bytes(data)
    layout = layout_of_csv(str(path))
    assert layout is not None
    tables = []
    for start in range(0, len(data), step):
        part = {"kind": "bytes", "start": start, "end": min(start + step, len(data))}
        schema, batches = read_range(str(path), part, layout, "x")
        tables.append(pa.Table.from_batches(list(batches), schema))
    whole = tare.read(path)
    assert pa.concat_tables(tables).equals(whole)


@pytest.mark.parametrize("to", ["parquet", "csv", "ndjson", "csv+zstd:3", "arrow"])
@pytest.mark.parametrize("packed", ["", ".zst"])
def test_a_csv_in_parts_is_the_csv(tmp_path: Path, to: str, packed: str) -> None:
    source = tmp_path / f"a.csv{packed}"
    data = text_of(30_000 if packed else 3000)
    if packed:
        with tare.compress.open(source, "wb", "zstd:3,chunk=65536") as file:
            file.write(data)
    else:
        source.write_bytes(data)
    report = scale.convert(
        str(source), str(tmp_path / "o"), to=to, split="64KiB" if packed else "8KiB", split_lines=True,
        executor="inline",
    )  # fmt: skip
    assert report.failures == []
    parts = sorted((tmp_path / "o").glob("a/part-*"))
    assert len(parts) > 2
    found = [tare.read(part) for part in parts]
    whole = tmp_path / "whole"
    tare.convert(source, whole, codec=to)
    expected = tare.read(whole)
    if to == "ndjson":
        assert [row for part in found for row in part] == expected
        return
    names = expected.column_names
    assert all(part.column_names == names for part in found)  # each CSV has its header
    rows = [row for part in found for row in part.cast(expected.schema).to_pylist()]
    assert rows == expected.to_pylist()


def test_columns_and_partitions_of_parts(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text("".join(f'{{"k": {n % 2}, "v": {n}, "w": 1}}\n' for n in range(2000)))
    chosen: dict[str, Any] = {"split": "8KiB", "executor": "inline", "to": "ndjson"}
    source = str(tmp_path / "a.ndjson")
    assert scale.convert(source, str(tmp_path / "o"), **chosen, options={"columns": "v"}).ok
    rows = [row for part in sorted((tmp_path / "o").glob("a/*")) for row in tare.read(part)]
    assert rows == [{"v": n} for n in range(2000)]
    assert scale.convert(source, str(tmp_path / "p"), **chosen, partition="k").ok
    rows = [row for part in sorted((tmp_path / "p").glob("k=1/a/*")) for row in tare.read(part)]
    assert rows == [{"v": n, "w": 1} for n in range(1, 2000, 2)]


def test_a_promise_that_is_broken_names_the_row(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "1,2\n" * 1000 + '7,"x\ny"\n' + "3,4\n" * 1000)
    layout = layout_of_csv(str(path))
    assert layout is not None
    part = {"kind": "bytes", "start": 0, "end": 4009}  # ends within the value
    rows = read_range(str(path), part, layout, "a.csv")[1]
    with pytest.raises(tare.TareError, match=r"a\.csv: csv: the row from byte 4,004 on"):
        list(rows)


def test_what_only_the_whole_text_tells_is_not_cut(tmp_path: Path) -> None:
    """Stray quotes, an encoding that is not UTF-8: one unit, which says what is wrong or reads it all."""
    (tmp_path / "a.csv").write_bytes(b"a,b\n" + b'1,x"y\n' * 5000)
    (tmp_path / "b.csv").write_bytes(b"a,b\n" + b"1,caf\xe9\n" * 5000)
    plan = scale.plan_convert(
        str(tmp_path / "*.csv"), str(tmp_path / "o"), to="parquet", split="4KiB", split_lines=True
    )
    assert plan.count == 2


@pytest.mark.parametrize(
    ("head", "end"), [(b"a,b\r", b"\n"), (b"a,b\r", b"\r"), (b"a,b\n", b"\r"), (b"\n\na,b\n", b"\n")]
)
def test_lone_carriage_returns_lose_no_row(tmp_path: Path, head: bytes, end: bytes) -> None:
    """Where the header ends in one, the first row has no line feed before it: such a file is read whole."""
    (tmp_path / "a.csv").write_bytes(head + b"".join(b"%d,x%s" % (n, end) for n in range(400)))
    report = scale.convert(
        str(tmp_path / "a.csv"), str(tmp_path / "o"), to="ndjson", split=500, split_lines=True,
        executor="inline",
    )  # fmt: skip
    assert report.ok, report.failures
    parts = [part for part in sorted((tmp_path / "o").rglob("*.ndjson")) if part.stat().st_size]
    assert [row["a"] for part in parts for row in tare.read(part)] == list(range(400))
    assert (tmp_path / "o" / "a.ndjson").exists() == head.endswith(b"\r")
