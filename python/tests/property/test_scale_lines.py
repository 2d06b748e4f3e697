"""Whole files of JSON lines in blocks: the table is the one that `tare.convert` makes, or its way is taken."""

from __future__ import annotations

import dataclasses
import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.line_texts import texts

import tare
from tare import scale
from tare.converting.counting import changes_of
from tare.scale.tasks import lines


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lines")


def both(
    folder: Path, text: bytes, block: int, to: str, *, small: bool
) -> tuple[lines.Done | None, pa.Table | None, Any]:
    """What the way in blocks did, its table, and what `tare.convert` did: its table or what it said."""
    source, ours, theirs = folder / "s.ndjson", folder / f"o.{to}", folder / f"t.{to}"
    for one in (ours, theirs):
        one.unlink(missing_ok=True)
    source.write_bytes(text)
    with pytest.MonkeyPatch.context() as patch:
        if not small:
            patch.setattr(lines, "_COMPARED_BYTES", 0)
        done = lines.converted(str(source), str(ours), read="", write=to, block_bytes=block)
    assert (done is not None) == ours.exists()
    try:
        told: Any = tare.convert(
            source, theirs, codec=to, verify=small
        )  # of Python's values, where it is compared
    except tare.TareError as error:
        told = error
    return (
        done,
        None if done is None else tare.read(ours),
        (told, tare.read(theirs) if theirs.exists() else None),
    )


@given(
    texts(), st.sampled_from([1, 20, 60, 200, 10_000]), st.sampled_from(["parquet", "arrow"]), st.booleans()
)
@example(b'{"a": 1.5}\n{"a": -0}\n', 1, "parquet", False)
@example(b'{"": {"x": 0}}\n{"": {"x": 0, "y": ""}}\n', 1, "parquet", False)
@example(b'{"a": 1.5}\n{"a": 1152921504606846976}\n', 1, "parquet", False)
@example(b'{"a": 9007199254740994}\n{"a": 1.5}\n', 1, "parquet", False)
@example(b'{"a": 1.5}\n{"a": true}\n', 1, "arrow", False)
@example(b'{"a": 1}\n{"a": 18446744073709551615}\n', 1, "arrow", False)
@example(b'{"a": {"y": 1, "x": [{}]}}\n{"a": {"x": [{"q": 1}], "z": 2}, "b": 1}\n', 1, "arrow", False)
def test_the_table_is_the_same(folder: Path, text: bytes, block: int, to: str, small: bool) -> None:
    done, ours, (told, theirs) = both(folder, text, block, to, small=small)
    if done is None:
        return
    assert not isinstance(told, Exception), (text, told)
    assert ours is not None
    assert ours.schema.equals(theirs.schema), (text, ours.schema, theirs.schema)
    assert repr(ours.to_pylist()) == repr(theirs.to_pylist())
    assert done.rows == told.rows
    counted = changes_of(done.counted, nulls_alone=small)
    if small:  # what else changed is told of the values that were compared
        assert done.notes == told.notes
        told = dataclasses.replace(told, changes=[one for one in told.changes if one["verdict"] == "null"])
    assert sorted(counted, key=str) == sorted(told.changes, key=str)  # blocks tell them as they come


@given(texts(), st.sampled_from([1, 20, 60]))
def test_blocks_never_take_what_is_refused(folder: Path, text: bytes, block: int) -> None:
    spoilt = text[: len(text) * 2 // 3] + b"\xff" + text[len(text) * 2 // 3 :]
    assert both(folder, spoilt, block, "parquet", small=False)[0] is None


def test_usual_files_go_in_blocks(folder: Path) -> None:
    """What makes the other tests say something: of tables without surprises none goes the old way."""
    rows = [
        {"a": n, "b": None if n % 3 else n / 2, "c": "x" * (n % 5), "d": {"x": n, "y": [True]}}
        for n in range(200)
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    for small in (True, False):
        done, ours, (told, theirs) = both(folder, text, 4_000 if small else 100, "parquet", small=small)
        assert done is not None
        assert ours is not None
        assert ours.equals(theirs)
        assert told.rows == done.rows == 200
    late = text + b'{"e": "late", "a": 0.5}\n'
    for small in (True, False):
        done, ours, (_, theirs) = both(folder, late, 100, "parquet", small=small)
        assert done is not None
        assert ours is not None
        assert ours.equals(theirs)
        assert (ours.schema.field("a").type, ours.column_names[-1]) == (pa.float64(), "e")


@pytest.mark.parametrize("packed", ["", "gzip", "zstd:3", "lz4"])
def test_a_folder_is_what_convert_makes(tmp_path: Path, packed: str) -> None:
    (tmp_path / "in").mkdir()
    ending = {"": "", "gzip": ".gz", "zstd:3": ".zst", "lz4": ".lz4"}[packed]
    text = "".join(f'{{"k": {n}, "v": "{n % 7}"}}\n' for n in range(3000)).encode()
    source = tmp_path / "in" / f"a.ndjson{ending}"
    if packed == "gzip":
        source.write_bytes(gzip.compress(text[:9000]) + gzip.compress(text[9000:]))
    elif packed:
        with tare.compress.open(source, "wb", packed) as file:
            file.write(text)
    else:
        source.write_bytes(text)
    report = scale.convert(str(tmp_path / "in"), str(tmp_path / "o"), to="parquet", executor="inline")
    assert report.ok
    whole = tmp_path / "whole.parquet"
    told = tare.convert(source, whole)
    made = tmp_path / "o" / "a.parquet"
    assert tare.read(made).equals(tare.read(whole))
    assert made.read_bytes() == whole.read_bytes()
    assert told.rows == 3000


def test_types_of_a_large_file_are_those_of_all_its_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line between those that a sample has fails no part; where values have no one type, a sample is taken."""
    monkeypatch.setattr("tare.scale.planning.schemas._ALL_BYTES", 0)
    monkeypatch.setattr("tare.scale.planning.schemas._SAMPLE_BYTES", 100)
    rows = [b'{"id": 1}\n'] * 3000
    rows[100] = b'{"id": 0.5, "late": [1]}\n'
    (tmp_path / "x.ndjson").write_bytes(b"".join(rows))
    report = scale.convert(
        str(tmp_path / "x.ndjson"), str(tmp_path / "o"), to="parquet", split=5000, executor="inline"
    )
    assert report.ok
    types = {tuple(map(str, tare.read(one).schema.types)) for one in (tmp_path / "o" / "x").iterdir()}
    assert types == {("double", "list<element: int64>")}
    rows[200] = b'{"id": "text"}\n'
    (tmp_path / "y.ndjson").write_bytes(b"".join(rows))
    report = scale.convert(
        str(tmp_path / "y.ndjson"), str(tmp_path / "o"), to="parquet", split=5000, executor="inline"
    )
    assert report.failed == 1
    assert report.done > 4
