"""What a unit does with rows: partitions, parts and documents hold what the file held, or the unit fails."""

from __future__ import annotations

import json
import math
import re
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.capabilities import need_module

import tare
from tare import scale
from tare.errors import UsageError
from tare.scale.report import Report
from tare.scale.tasks import partition
from tare.scale.tasks.partition import partitions

NAN = float("nan")


def convert(source: Path, out: Path, **options: Any) -> Report:
    to = options.pop("to", "parquet")
    return scale.convert(str(source), str(out), to=to, executor="inline", **options)


def failure(report: Report) -> dict[str, Any]:
    (receipt,) = report.failures
    error = receipt["error"]
    assert isinstance(error, dict)
    return error


# Partitions


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.float16()])
def test_no_row_of_floats_is_lost_or_twice(tmp_path: Path, kind: pa.DataType) -> None:
    values = [0.0, NAN, -0.0, 1.5, None, NAN, 0.0, math.inf]
    table = pa.table({"k": pa.array(values, kind), "n": list(range(8))})
    parquet.write_table(table, tmp_path / "a.parquet")
    report = convert(tmp_path / "a.parquet", tmp_path / "o", partition="k")
    assert (report.done, report.rows) == (1, 8)
    found = {
        path.parent.name: parquet.ParquetFile(path).read()["n"].to_pylist()
        for path in (tmp_path / "o").glob("*/*.parquet")
    }
    assert found == {
        "k=-0.0": [2], "k=0.0": [0, 6], "k=1.5": [3], "k=__HIVE_DEFAULT_PARTITION__": [4], "k=inf": [7],
        "k=nan": [1, 5],
    }  # fmt: skip


def test_many_values_are_one_pass() -> None:
    count = 20_000
    table = pa.table({"k": [n % count for n in range(3 * count)], "n": list(range(3 * count))})
    began_s = time.process_time()
    found = dict(partitions(table, "k"))
    assert time.process_time() - began_s < 15  # it was over a minute when each value went over all rows
    assert len(found) == count
    assert found["k=7"]["n"].to_pylist() == [7, count + 7, 2 * count + 7]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1], [2]]), pa.array([{"x": 1}, {"x": 2}]),
        pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64())),
    ],
)  # fmt: skip
def test_nested_values_name_no_folder(tmp_path: Path, column: pa.Array[Any]) -> None:
    parquet.write_table(pa.table({"k": column, "n": [1, 2]}), tmp_path / "a.parquet")
    error = failure(convert(tmp_path / "a.parquet", tmp_path / "o", partition="k"))
    assert error["class"] == "input"
    assert "names no folder" in error["message"] or "name no folder" in error["message"]
    assert "choose a column of plain values" in error["message"]


@pytest.mark.parametrize(
    "values",
    [
        ["", None, "__HIVE_DEFAULT_PARTITION__", "__HIVE_EMPTY__", "a/b", "a%2Fb", "..", "."],
        [True, False, None], [b"\x00", b"\xff", b"", b"a/b", b"."],
        pa.array([1, 2, 3, 1000, 1001, None], pa.time64("ns")),
    ],
)  # fmt: skip
def test_different_values_have_different_folders(values: list[Any]) -> None:
    found = list(partitions(pa.table({"k": values, "n": list(range(len(values)))}), "k"))
    assert len({name for name, _ in found}) == len(values)
    assert sorted(rows["n"][0].as_py() for _, rows in found) == list(range(len(values)))
    assert not any(name.count("/") for name, _ in found)


def test_intervals_name_no_folder() -> None:
    column = pa.array([(1, 2, 3), (1, 2, 4)], pa.month_day_nano_interval())
    with pytest.raises(UsageError, match="name no folder; choose a column of plain values"):
        list(partitions(pa.table({"k": column, "n": [0, 1]}), "k"))


def test_bytes_are_named_as_they_are() -> None:
    """No repr of Python's: who reads the folders gets the bytes."""
    found = [name for name, _ in partitions(pa.table({"k": [b"a", b"\xff", b""], "n": [0, 1, 2]}), "k")]
    assert found == ["k=", "k=%FF", "k=a"]


def test_readers_of_folders_get_the_texts(tmp_path: Path) -> None:
    """Empty text is that, and no name that stands for it; null is null, and what looks like a name of ours a text."""
    duckdb, pl = need_module("duckdb"), need_module("polars")
    texts = ["", None, "\u00e9\U0001f600", "a/b", "__HIVE_EMPTY__"]
    out, source = tmp_path / "o", tmp_path / "big.ndjson"
    source.write_text("".join(json.dumps({"s": text, "n": n}) + "\n" for n, text in enumerate(texts)))
    report = convert(source, out, partition="s", verify="decode")
    assert (report.done, report.rows) == (1, len(texts))
    found = {
        "pyarrow": parquet.read_table(out).select(["n", "s"]).to_pylist(),
        "polars": pl.read_parquet(out / "**" / "*.parquet", hive_partitioning=True).to_dicts(),
        "duckdb": [
            {"n": n, "s": text} for n, text in duckdb.sql(f"SELECT n, s FROM '{out}/*/*.parquet'").fetchall()
        ],
    }
    wanted = [{"n": n, "s": text} for n, text in enumerate(texts)]
    assert {name: sorted(some, key=lambda row: row["n"]) for name, some in found.items()} == dict.fromkeys(
        found, wanted
    )
    # Our own commands take the folder too, and a second start finds what is there.
    assert convert(out, tmp_path / "csv", to="csv").rows == len(texts)
    assert convert(source, out, partition="s", verify="decode").skipped == 1
    (out / "s=" / "big.parquet").unlink()
    assert convert(source, out, partition="s").done == 1


@pytest.mark.parametrize(
    ("values", "guessed"),
    [
        (["007", "010"], {"pyarrow": [7, 10], "duckdb": ["007", "010"], "polars": [7, 10]}),
        ([False, True], {"pyarrow": ["False", "True"], "duckdb": ["False", "True"], "polars": [False, True]}),
        (["", "7"], {"pyarrow": ["", "7"], "duckdb": ["", "7"], "polars": [None, 7]}),
    ],
)  # fmt: skip
def test_readers_guess_types_unless_they_are_told(
    tmp_path: Path, values: list[Any], guessed: dict[str, list[Any]]
) -> None:
    """As the guide says; folders have none."""
    from pyarrow import dataset

    duckdb, pl = need_module("duckdb"), need_module("polars")
    out, table = tmp_path / "o", pa.table({"k": values, "n": [0, 1]})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert convert(tmp_path / "a.parquet", out, partition="k").done == 1
    kind = table.schema.field("k").type
    is_text = pa.types.is_string(kind)
    told = dataset.partitioning(pa.schema([("k", kind)]), flavor="hive")
    types = f", hive_types = {{'k': {'VARCHAR' if is_text else 'BOOLEAN'}}}"
    schema = {"k": pl.String if is_text else pl.Boolean}
    glob = f"{out}/**/*.parquet"  # polars takes `.tare` in a folder for data

    def read(**more: Any) -> dict[str, list[Any]]:
        of_duckdb = f"SELECT k FROM read_parquet('{out}/*/*.parquet'{types if more else ''}) ORDER BY n"
        held = parquet.read_table(out, partitioning=told if more else "hive").sort_by("n")
        return {
            "pyarrow": held["k"].to_pylist(),
            "duckdb": [k for (k,) in duckdb.sql(of_duckdb).fetchall()],
            "polars": pl.read_parquet(glob, hive_partitioning=True, **more).sort("n")["k"].to_list(),
        }

    assert read() == guessed
    assert read(hive_schema=schema) == dict.fromkeys(guessed, values)


def test_two_values_of_one_folder_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition, "quote", lambda text, safe="": str(text)[:1])
    with pytest.raises(UsageError, match="two of its values would both have the folder k=a"):
        list(partitions(pa.table({"k": ["ab", "ac"], "n": [0, 1]}), "k"))


def test_nanoseconds_of_a_time_name_folders(tmp_path: Path) -> None:
    table = pa.table({"k": pa.array([1, 2, 3, 1001], pa.time64("ns")), "v": [1, 2, 3, 4]})
    parquet.write_table(table, tmp_path / "t.parquet")
    report = convert(tmp_path / "t.parquet", tmp_path / "o", partition="k", verify="decode")
    assert (report.done, len([*(tmp_path / "o").glob("k=*/t.parquet")])) == (1, 4)


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", "b", "a"]).dictionary_encode(), pa.nulls(3), pa.array([], pa.string()),
        pa.array([1, 2, 1], pa.timestamp("ns")), pa.chunked_array([[1, 2], [1]]),
        pa.array([1, 2, 1], pa.decimal128(5, 2)), pa.array([0, 1, 0], pa.date32()),
    ],
)  # fmt: skip
def test_every_plain_type_is_a_key(column: Any) -> None:
    table = pa.table({"k": column, "n": list(range(len(column)))})
    found = [rows["n"].to_pylist() for _, rows in partitions(table, "k")]
    wanted = [] if not len(column) else [[0, 1, 2]] if column.null_count else [[0, 2], [1]]
    assert found == wanted


# Documents


LATE = b'{"k":1,"a":1}\n{"k":1,"a":2,"b":"late"}\n'


def test_a_name_that_comes_late_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_bytes(LATE)
    (tmp_path / "b.json").write_text(json.dumps([json.loads(line) for line in LATE.splitlines()]))
    for name in ("a.ndjson", "b.json"):
        assert scale.read_unit(tmp_path / name).to_pylist()[1] == {"k": 1, "a": 2, "b": "late"}
        report = convert(tmp_path / name, tmp_path / f"o-{name}", partition="k")
        assert report.done == 1
        (path,) = (tmp_path / f"o-{name}" / "k=1").iterdir()
        assert parquet.ParquetFile(path).read().to_pylist() == [{"a": 1, "b": None}, {"a": 2, "b": "late"}]


def test_what_is_no_table_has_no_partitions(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": 1}')
    error = failure(convert(tmp_path / "a.json", tmp_path / "o", partition="a"))
    assert error["class"] == "input"
    assert "holds no table" in error["message"]


# Values that would change


def held(kind: str) -> pa.Table:
    count = 3000
    if kind == "nan":
        return pa.table({"k": [1] * count, "v": [*([1.0] * (count - 1)), NAN]})
    if kind == "nested nan":
        return pa.table({"k": [1] * count, "v": [*([[1.0]] * (count - 1)), [math.inf]]})
    if kind == "ordered":
        codes = pa.array([0, 1, 1] * (count // 3), pa.int8())
        return pa.table(
            {"k": [1] * count, "v": pa.DictionaryArray.from_arrays(codes, ["lo", "hi"], ordered=True)}
        )
    pairs = pa.array([[("a", 1)]] * count, pa.map_(pa.string(), pa.int64()))
    return pa.table({"k": [1] * count, "v": pairs})


@pytest.mark.parametrize("how", [{"split": 100}, {"partition": "k"}, {"split": 100, "partition": "k"}])
@pytest.mark.parametrize(("kind", "to"), [("nan", "ndjson"), ("nested nan", "ndjson"), ("ordered", "csv")])
@pytest.mark.parametrize("streamed", [False, True])
def test_what_a_whole_file_refuses_its_parts_refuse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any], kind: str, to: str, streamed: bool
) -> None:
    if streamed:
        monkeypatch.setattr("tare.io.VERIFY_BYTES", 1)  # as if every part were large
    parquet.write_table(held(kind), tmp_path / "a.parquet", row_group_size=1000)
    report = convert(tmp_path / "a.parquet", tmp_path / "o", to=to, **how)
    assert report.failed >= 1
    assert {one["error"]["class"] for one in report.failures} == {"loss"}
    said = re.compile(r"'v'( \(levels\))? would change")
    assert all(said.search(one["error"]["message"]) for one in report.failures)
    report = convert(tmp_path / "a.parquet", tmp_path / "p", to=to, on_loss="allow", **how)
    assert report.failed == 0
    assert "lossy" in [one["verdict"] for one in report.changes]


@pytest.mark.parametrize("how", [{}, {"split": 100}, {"partition": "k"}])
@pytest.mark.parametrize("streamed", [False, True])
def test_maps_in_a_file_of_r_are_of_another_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any], streamed: bool
) -> None:
    """R has them as data frames of keys and values, from which they can be rebuilt."""
    if streamed:
        monkeypatch.setattr("tare.io.VERIFY_BYTES", 1)
    parquet.write_table(held("map"), tmp_path / "a.parquet", row_group_size=1000)
    report = convert(tmp_path / "a.parquet", tmp_path / "o", to="rds", **how)
    assert (report.failed, "lossy" in [one["verdict"] for one in report.changes]) == (0, False)


def test_types_that_come_back_as_others_are_told(tmp_path: Path) -> None:
    table = pa.table({"k": [1] * 10, "t": pa.array([0] * 10, pa.timestamp("s"))})
    tare.write(table, tmp_path / "a.arrow")
    report = convert(tmp_path / "a.arrow", tmp_path / "o", partition="k")
    assert (report.failed, [one["verdict"] for one in report.changes]) == (0, ["type"])


@pytest.mark.parametrize("values", [True, False])
def test_one_that_cannot_be_put_costs_no_other_its_key(tmp_path: Path, values: bool) -> None:
    """The others are set; it is named by its path, and the next start tries again."""
    folder = tmp_path / "in"
    folder.mkdir()
    for n in range(30):
        (folder / f"{n:02}.ndjson").write_text(f'{{"n": {n}}}\n')
    bad = folder / "07.ndjson"
    bad.write_bytes(b'{"n":-}\n')
    plan = scale.plan_put(str(folder), str(tmp_path / "store"), tmp_path / "put.jsonl", values=values)
    if not values:  # bytes are never wrong, but they may have gone
        bad.unlink()
    report = scale.run(plan, executor="inline")
    assert (report.files, report.files_failed, report.failed) == (29, 1, 1)
    assert str(bad) in failure(report)["message"]
    with tare.open_store(str(tmp_path / "store")) as store:
        assert len(list(store.list())) == 29
    found = scale.status(tmp_path / "put.jsonl")
    assert (found["inputs"], found["inputs_done"], found["inputs_failed"]) == (30, 29, 1)
    size = sum(path.stat().st_size for path in folder.iterdir() if path != bad)
    assert (found["bytes_done"], found["rows"]) == (size, 29)
    bad.write_text('{"n": 7}\n')
    plan = scale.plan_put(str(folder), str(tmp_path / "store"), tmp_path / "put.jsonl", values=values)
    report = scale.run(plan, executor="inline")
    assert (report.files, report.files_failed) == (30, 0)
    with tare.open_store(str(tmp_path / "store")) as store:
        assert len(list(store.list())) == 30
    assert scale.run(plan, executor="inline").files_before == 30


def test_parts_of_lines_say_that_they_were_not_read(tmp_path: Path) -> None:
    """A line that is no JSON is copied as it is, as of a whole file; --verify decode finds it."""
    lines = [b'{"a": 1}\n'] * 300
    lines[150] = b'{"a": 1} x\n'
    (tmp_path / "a.ndjson").write_bytes(b"".join(lines))
    report = convert(tmp_path / "a.ndjson", tmp_path / "o", to="ndjson+zstd:3", split=1000)
    assert report.ok
    assert any("whether they are valid was not checked" in note for note in report.notes)
    report = convert(tmp_path / "a.ndjson", tmp_path / "o2", to="ndjson+zstd:3", split=1000, verify="decode")
    assert report.failed == 1


def test_zero_below_zero_among_doubles_is_the_same_whole_and_split(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_bytes(b'{"a":1.5}\n{"a":-0}\n{"a":-0.0}\n')
    assert convert(tmp_path / "a.ndjson", tmp_path / "w").ok
    assert convert(tmp_path / "a.ndjson", tmp_path / "s", split=12).ok
    whole = parquet.ParquetFile(tmp_path / "w" / "a.parquet").read()["a"].to_pylist()
    parts = [
        value
        for path in sorted((tmp_path / "s" / "a").iterdir())
        for value in parquet.ParquetFile(path).read()["a"].to_pylist()
    ]
    assert repr(whole) == repr(parts) == "[1.5, 0.0, -0.0]"


def test_a_table_is_no_document_to_encode(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("n\n1\n")
    plan = scale.plan_encode(str(tmp_path / "a.csv"), str(tmp_path / "o"))
    error = failure(scale.run(plan, executor="inline"))
    assert (error["class"], error["kind"]) == ("input", "UsageError")
    assert "a.csv: holds a table, and documents are encoded: `tare convert" in error["message"]
