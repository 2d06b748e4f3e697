"""Tables with rows and no column: their number is kept, or refused by what cannot hold it."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from support.capabilities import need_codec, need_module

import tare
from tare import formats, kinds, r, scale
from tare.converting.changes import table_changes
from tare.errors import EncodeError, Limit, Unsupported
from tare.formats.columnar import join, run_of_rows
from tare.frames import rows_alone, with_nullable_types

NO_COLUMN = "the table has no column: that it has 3 rows would be lost"
ALONE = pa.table({"a": [1, 2, 3]}).select([])
REFUSE = ["parquet:pyarrow", "parquet:duckdb", "orc:pyarrow", "csv:pyarrow", "csv:pandas", "csv:polars", "csv:duckdb", "csv:stdlib", "json:orjson,orient=columns", "pickle:pyarrow"]  # fmt: skip
KEEP = [
    f"{format.id}:{library.name}"
    for format in formats.FORMATS
    if "table" in format.kinds
    for library in format.libraries
    if library.writes and library.installed and f"{format.id}:{library.name}" not in REFUSE
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with pa.ipc.new_file(str(tmp_path / "in.arrow"), ALONE.schema) as writer:
        writer.write_table(ALONE)
    return tmp_path / "in.arrow"


def rows_of(path: Path, codec: str) -> int:
    back = tare.read(path, format=tare.Codec.parse(codec).format_id, trust=True)
    if isinstance(back, dict):  # variables by name
        (back,) = back.values()
    return len(back) if isinstance(back, list) else int(back.num_rows)


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("codec", KEEP)
def test_rows_are_kept(path: Path, tmp_path: Path, codec: str, verify: bool) -> None:
    done = tare.convert(path, tmp_path / "out", codec=codec, verify=verify)
    assert (done.rows, done.verified, done.changes, rows_of(tmp_path / "out", codec)) == (3, verify, [], 3)


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("codec", REFUSE)
def test_rows_are_refused(path: Path, tmp_path: Path, codec: str, verify: bool) -> None:
    need_codec(codec)
    with pytest.raises((EncodeError, Unsupported), match=r"no column|at least one column|0-width"):
        tare.convert(path, tmp_path / "out", codec=codec, verify=verify, allow_loss=True)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("codec", ["csv", "parquet"])
def test_rows_without_a_column_are_refused_for_that(tmp_path: Path, codec: str) -> None:
    """And not for being no table."""
    tare.write([{}, {}, {}], tmp_path / "in.json")
    with pytest.raises(EncodeError, match=rf"in\.json: {codec}:pyarrow: {NO_COLUMN}\. Nothing was written"):
        tare.convert(tmp_path / "in.json", tmp_path / f"out.{codec}")


@pytest.mark.parametrize("name", ["out.csv", "out.tsv.gz"])
@pytest.mark.parametrize("library", ["pyarrow", "polars", "pandas", "stdlib"])
def test_a_csv_of_no_columns_is_refused(tmp_path: Path, name: str, library: str) -> None:
    """Its text would be none that is read as a table: that is said, and not that a result is empty."""
    codec = None if library == "pyarrow" else f"csv:{library}"
    tare.write([], tmp_path / "in.json")
    for source in (tmp_path / "in.json", pa.table({})):
        with pytest.raises(EncodeError, match="the table has no columns, and a CSV begins with their names"):
            tare.convert(source, tmp_path / name, codec=codec)
    assert not (tmp_path / name).exists()


def test_no_rows_are_nothing_to_refuse(tmp_path: Path) -> None:
    for codec in ("parquet", "orc", "arrow", "pickle:pyarrow"):
        assert tare.convert(pa.table({}), tmp_path / "out", codec=codec).rows == 0


@pytest.mark.parametrize("source", ["parquet", "arrow", "ndjson"])
@pytest.mark.parametrize("target", ["arrow", "ndjson", "parquet", "csv"])
@pytest.mark.parametrize("large", [True, False])
def test_no_column_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, target: str, large: bool
) -> None:
    monkeypatch.setattr("tare.io.STREAM_BYTES", 0 if large else 1 << 40)
    tare.write(pa.table({"a": [1, 2, 3]}), tmp_path / f"in.{source}")
    out = tmp_path / f"out.{target}"
    if target in ("parquet", "csv"):
        with pytest.raises(EncodeError, match=NO_COLUMN):
            tare.convert(tmp_path / f"in.{source}", out, columns=[], verify=False)
        return
    done = tare.convert(tmp_path / f"in.{source}", out, columns=[], verify=False)
    assert (done.rows, rows_of(out, target)) == (3, 3)


@pytest.mark.parametrize("how", [{}, {"split": 100}])
def test_parts_and_the_only_column_as_folders(tmp_path: Path, how: dict[str, int]) -> None:
    tare.write(pa.table({"k": ["a", "b", "a"]}), tmp_path / "in.arrow")
    source, cut = str(tmp_path / "in.arrow"), {"partition": "k", "executor": "inline", **how}
    kept = scale.convert(source, str(tmp_path / "kept"), to="arrow", **cut)
    found = {path.parent.name: rows_of(path, "arrow") for path in (tmp_path / "kept").glob("k=*/*.arrow")}
    assert (kept.ok, found) == (True, {"k=a": 2, "k=b": 1})
    for codec in ("parquet", "csv"):
        report = scale.convert(source, str(tmp_path / codec), to=codec, **cut)
        assert (report.ok, list((tmp_path / codec).glob("k=*"))) == (False, [])
        assert "the table has no column" in report.failures[0]["error"]["message"]


def test_a_comparison_counts_them() -> None:
    assert table_changes(ALONE, ALONE) == []
    assert table_changes(ALONE, [{}, {}, {}]) == []
    for other in (rows_alone(2), [{}]):
        assert [change["path"] for change in table_changes(ALONE, other)] == ["(rows)"]


@pytest.mark.parametrize("kind", ["pandas", "polars", "records"])
def test_each_kind_in_memory_keeps_them(kind: str) -> None:
    if kind != "records":
        need_module(kind)
    back = kinds.convert(kinds.convert(ALONE, kind), "arrow")
    assert back.shape == (3, 0)


def test_lists_of_values_cannot_hold_them() -> None:
    with pytest.raises(Unsupported, match=NO_COLUMN):
        kinds.convert(ALONE, "columns")
    assert kinds.convert(pa.table({}), "columns") == {}


def test_pieces_are_put_together_and_cut() -> None:
    named = rows_alone(3, {"a": "b"})
    assert (join([named, named]).shape, join([named, named]).schema.metadata) == ((6, 0), {b"a": b"b"})
    assert [len(run_of_rows([named, named], *at)) for at in ((0, 2), (2, 3), (5, 9), (9, 1))] == [2, 3, 1, 0]
    assert with_nullable_types(named).shape == (3, 0)
    library = tare.Codec.parse("arrow").library
    assert library.rows is not None
    assert len(library.rows(tare.encode(named, "arrow"), 1, 9)) == 2


@pytest.mark.parametrize(("names", "losses"), [('c("x", "y")', {"row_names_dropped"}), ("c(NA, -2L)", set())])
@pytest.mark.parametrize("target", ["arrow", "fst", "ndjson", "parquet"])
def test_data_frames_of_r_without_columns(tmp_path: Path, names: str, losses: set[str], target: str) -> None:
    text = f'structure(list(), names = character(0), row.names = {names}, class = "data.frame")'
    r.write(r.read(text.encode(), format="dput", as_="robject"), tmp_path / "a.rds")
    out = tmp_path / f"out.{target}"
    if target == "parquet":
        with pytest.raises(EncodeError, match="the table has no column: that it has 2 rows"):
            tare.convert(tmp_path / "a.rds", out)
        return
    done = tare.convert(tmp_path / "a.rds", out)
    assert (done.rows, done.verified, done.changes, rows_of(out, target)) == (2, True, [], 2)
    told = losses if target != "arrow" else set()
    if target == "ndjson":  # a document comes back as a list
        told = told | {"type_changed"}
    assert {loss["kind"] for loss in done.losses} == told


@pytest.mark.parametrize("name", ["out.csv", "out.ndjson", "out.json", "out.rds", "out.msgpack", "out.yaml"])
def test_rows_of_nothing_are_no_text_beyond_some_millions(tmp_path: Path, name: str) -> None:
    """Billions of them stand in a file of some hundred bytes."""
    for column in (
        pa.nulls(2**31 - 1),
        pa.RunEndEncodedArray.from_arrays(pa.array([10**8], pa.int32()), pa.array([7])),
    ):
        with pa.ipc.new_file(str(tmp_path / "in.arrow"), pa.schema([("a", column.type)])) as writer:
            writer.write_table(pa.table({"a": column}))
        with pytest.raises(
            Limit, match=r"in\.arrow: .* rows that hold next to nothing \(.*: at most 10,000,000"
        ):
            tare.convert(tmp_path / "in.arrow", tmp_path / name)
    assert not (tmp_path / name).exists()


def test_rows_without_a_column_are_looked_at_in_no_memory() -> None:
    """A summary takes a sample of rows, and a sample a share, without a mask of all of them."""
    from tare.datasets import sampling, summary

    peak = tracemalloc_peak(lambda: summary.of_table(rows_alone(2**31 - 1)))
    assert peak < 1 << 20
    assert tracemalloc_peak(lambda: summary.of_table(pa.table({"a": pa.nulls(2**31 - 1)}))) < 1 << 24
    assert sampling.table(rows_alone(2**31 - 2), 0.5).num_rows == 2**30
    with pytest.raises(Limit, match="2,147,483,647 rows without a column: at most 10,000,000"):
        tare.encode(rows_alone(2**31 - 1), "ndjson:polars")


def tracemalloc_peak(work: Callable[[], object]) -> int:
    """The most bytes that Python and NumPy held meanwhile."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
