"""What parts and partitions lose: told, and refused, as of a file that is converted whole."""

from __future__ import annotations

import decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.capabilities import need_codec

import tare
from tare import r, scale

HOW: dict[str, Any] = {"executor": "inline"}
CUT: list[dict[str, Any]] = [{"split": 100}, {"partition": "k"}, {"split": 100, "partition": "k"}]
NOTE = "not verified; --verify reads it back"
FRAME = b"""structure(list(k = c("a", "b", "a"), v = structure(c(1.5, 2.5, NA), note = "hm"),
    d = structure(c(1, 2, 3), units = "mins", class = "difftime")), row.names = c("x", "y", "z"),
    class = "data.frame", extra = "whole")"""


def visible_files(folder: Path) -> list[Path]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in found if ".tare" not in path.parts)


def lost(report: scale.Report) -> set[str]:
    return {one["what"] for one in report.changes if one["verdict"] == "lost"}


def classes(report: scale.Report) -> set[tuple[str, str]]:
    return {(one["error"]["class"], one["error"]["kind"]) for one in report.failures}


@pytest.fixture
def numbers(tmp_path: Path) -> str:
    """Decimals and whole numbers that no double is."""
    count = 3000
    table = pa.table({
        "k": [n % 2 for n in range(count)],
        "d": pa.array([decimal.Decimal(10**20 + n) for n in range(count)], pa.decimal128(38, 0)),
        "u": pa.array([2**63 + 2 * n + 1 for n in range(count)], pa.uint64()),
    })  # fmt: skip
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=1000)
    return str(tmp_path / "a.parquet")


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every file were too large to be read back."""
    monkeypatch.setattr("tare.io.VERIFY_BYTES", 1)


@pytest.mark.parametrize("how", CUT)
@pytest.mark.parametrize("to", ["rds", "qs2", "fst", "rdata"])
@pytest.mark.usefixtures("large")
def test_what_r_rounds_is_told_of_large_parts(
    tmp_path: Path, numbers: str, to: str, how: dict[str, Any]
) -> None:
    whole = scale.convert(numbers, str(tmp_path / "whole"), to=to, **HOW)
    assert (whole.ok, lost(whole), list(whole.notes)) == (True, {"precision"}, [NOTE])
    report = scale.convert(numbers, str(tmp_path / "out"), to=to, **how, **HOW)
    assert (report.ok, lost(report), list(report.notes)) == (True, {"precision"}, [NOTE])
    told = {example for one in report.changes if one["verdict"] == "lost" for example in one["examples"]}
    assert all(one.endswith("$d") for one in told)
    strict = scale.convert(numbers, str(tmp_path / "no"), to=to, options={"strict": 1}, **how, **HOW)
    assert (classes(strict), visible_files(tmp_path / "no")) == ({("loss", "LossError")}, [])


@pytest.mark.parametrize("how", CUT)
def test_what_r_rounds_is_refused_of_small_parts(tmp_path: Path, numbers: str, how: dict[str, Any]) -> None:
    """As values would change; where they may, it is told by both, unless --strict says no."""
    refused = scale.convert(numbers, str(tmp_path / "out"), to="rds", **how, **HOW)
    assert (classes(refused), visible_files(tmp_path / "out")) == ({("loss", "LossRefused")}, [])
    taken = scale.convert(numbers, str(tmp_path / "out"), to="rds", on_loss="allow", **how, **HOW)
    assert (taken.ok, lost(taken), list(taken.notes)) == (True, {"precision"}, [])
    assert "lossy" in {one["verdict"] for one in taken.changes}
    strict = scale.convert(
        numbers, str(tmp_path / "no"), to="rds", on_loss="allow", options={"strict": 1}, **how, **HOW
    )
    assert classes(strict) == {("loss", "LossError")}


@pytest.mark.parametrize(("verify", "notes"), [("hash", [NOTE]), ("decode", [])])
@pytest.mark.usefixtures("large")
def test_large_parts_say_that_nothing_was_read_back(
    tmp_path: Path, numbers: str, verify: str, notes: list[str]
) -> None:
    report = scale.convert(numbers, str(tmp_path / "out"), to="parquet", split=100, verify=verify, **HOW)
    assert (report.ok, list(report.notes)) == (True, notes)


@pytest.fixture
def frame(tmp_path: Path) -> r.RObject:
    made: r.RObject = r.read(FRAME, format="dput", as_="robject")
    r.write(made, tmp_path / "a.rds")
    r.write({"made": made}, tmp_path / "a.RData")
    return made


@pytest.mark.parametrize("name", ["a.rds", "a.RData"])
@pytest.mark.parametrize("to", ["csv", "ndjson"])
@pytest.mark.usefixtures("frame")
def test_what_partitions_have_not_of_r_is_told(tmp_path: Path, name: str, to: str) -> None:
    source = str(tmp_path / name)
    how = {"to": to, "on_loss": "allow", **HOW}  # durations are no JSON
    whole = scale.convert(source, str(tmp_path / "whole"), **how)
    expected = {"attribute_dropped", "units_changed", "row_names_dropped"}
    assert (whole.ok, lost(whole)) == (True, expected)
    report = scale.convert(source, str(tmp_path / "out"), partition="k", **how)
    assert (report.ok, lost(report), len(visible_files(tmp_path / "out"))) == (True, expected, 2)
    for partition in (None, "k"):
        refused = scale.convert(
            source, str(tmp_path / "no"), partition=partition, options={"strict": 1}, **how
        )
        assert (classes(refused), visible_files(tmp_path / "no")) == ({("loss", "LossError")}, [])
        place = "$made$v" if name == "a.RData" else "$v"
        assert f"{name}: {place}@note: attribute_dropped" in refused.failures[0]["error"]["message"]


@pytest.mark.usefixtures("frame")
def test_columns_that_are_left_out_lose_nothing(tmp_path: Path) -> None:
    how: dict[str, Any] = {"to": "csv", "options": {"columns": "d,k"}, **HOW}
    report = scale.convert(str(tmp_path / "a.rds"), str(tmp_path / "out"), partition="k", **how)
    assert (report.ok, lost(report)) == (True, {"units_changed", "row_names_dropped", "attribute_dropped"})
    assert not any("$v" in example for one in report.changes for example in one["examples"])


@pytest.mark.parametrize("to", ["parquet", "arrow", "rds", "qs2"])
@pytest.mark.usefixtures("frame")
def test_names_of_rows_are_lost_where_rows_part(tmp_path: Path, to: str) -> None:
    """All else is kept by these."""
    source = str(tmp_path / "a.rds")
    report = scale.convert(source, str(tmp_path / "out"), to=to, partition="k", **HOW)
    assert (report.ok, lost(report)) == (True, {"row_names_dropped"})
    for path in visible_files(tmp_path / "out"):
        tare.convert(path, tmp_path / "back.rds")
        back = r.read(tmp_path / "back.rds", as_="robject")
        assert dict(back.attributes)["extra"].identical(r.read(b'"whole"', format="dput", as_="robject"))
    refused = scale.convert(source, str(tmp_path / "no"), to=to, partition="k", options={"strict": 1}, **HOW)
    assert (classes(refused), visible_files(tmp_path / "no")) == ({("loss", "LossError")}, [])


def test_parts_of_fst_tell_what_they_lose(tmp_path: Path) -> None:
    count = 20_000
    minutes = ",".join(map(str, range(count)))
    text = (
        f'structure(list(d = structure(c({minutes}), units = "mins", class = "difftime")), '
        f'row.names = c(NA, -{count}L), class = "data.frame")'
    )
    r.write(r.read(text.encode(), format="dput", as_="robject"), tmp_path / "a.fst")
    how: dict[str, Any] = {"split": "16KiB", **HOW}
    source = str(tmp_path / "a.fst")
    report = scale.convert(source, str(tmp_path / "out"), to="csv", **how)
    assert (report.ok, lost(report)) == (True, {"units_changed"})
    assert len(visible_files(tmp_path / "out")) > 2
    refused = scale.convert(source, str(tmp_path / "no"), to="csv", options={"strict": 1}, **how)
    assert (classes(refused), visible_files(tmp_path / "no")) == ({("loss", "LossError")}, [])
    kept = scale.convert(source, str(tmp_path / "kept"), to="arrow", options={"strict": 1}, **how)
    assert (kept.ok, kept.changes) == (True, [])


@pytest.mark.parametrize("to", ["ndjson", "csv"])
@pytest.mark.parametrize("how", [{"split": 500}, {"partition": "k"}])
def test_data_only_is_refused_where_nothing_is_of_r(tmp_path: Path, to: str, how: dict[str, Any]) -> None:
    (tmp_path / "a.ndjson").write_text('{"k": 1, "v": 2}\n' * 200)
    source, more = str(tmp_path / "a.ndjson"), {"to": to, "options": {"data_only": 1}}
    report = scale.convert(source, str(tmp_path / "out"), **more, **how, **HOW)
    assert classes(report) == {("input", "UsageError")}
    assert visible_files(tmp_path / "out") == []


def in_batches(path: Path, table: pa.Table) -> None:
    with pa.ipc.new_file(str(path), table.schema) as writer:
        for batch in table.to_batches(max_chunksize=len(table) // 4):
            writer.write_batch(batch)


@pytest.mark.parametrize("how", [{"split": 70_000}, {"partition": "k"}])
def test_what_another_library_of_parquet_makes_text_of_is_refused(
    tmp_path: Path, how: dict[str, Any]
) -> None:
    """Arrow keeps every type of its own in Parquet. fastparquet makes JSON text of structs."""
    need_codec("parquet:fastparquet")
    rows = [{"a": n, "t": "x" * 50} for n in range(4000)]
    in_batches(tmp_path / "a.arrow", pa.table({"k": [n % 2 for n in range(4000)], "l": pa.array(rows)}))
    source, codec = str(tmp_path / "a.arrow"), "parquet:fastparquet"
    for chosen in ({}, how):
        report = scale.convert(source, str(tmp_path / "no"), to=codec, **chosen, **HOW)
        assert (classes(report), visible_files(tmp_path / "no")) == ({("loss", "LossRefused")}, [])
    taken = scale.convert(source, str(tmp_path / "out"), to=codec, on_loss="allow", **how, **HOW)
    assert (taken.ok, {one["verdict"] for one in taken.changes}) == (True, {"lossy"})


@pytest.mark.parametrize(
    ("codec", "name", "told"),
    [
        ("parquet:fastparquet", "h", {"halffloat comes back as float"}),
        ("parquet:duckdb", "z", {"timestamp[us, tz=Europe/Berlin] comes back as timestamp[us, tz=UTC]"}),
        ("parquet:polars", "t", {"string comes back as large_string"}),
        ("parquet", "h", set()),
        ("arrow", "z", set()),
    ],
)
def test_types_that_another_library_changes_are_told_of_parts(
    tmp_path: Path, codec: str, name: str, told: set[str]
) -> None:
    need_codec(codec)
    held = {
        "h": pa.array([1.5] * 400, pa.float16()),
        "t": pa.array(["x"] * 400),
        "z": pa.array([1_700_000_000_000_000 + n for n in range(400)], pa.timestamp("us", "Europe/Berlin")),
    }
    in_batches(tmp_path / "a.arrow", pa.table({"b": [2**62] * 400, name: held[name]}))
    for split in ("off", 1000):
        out = tmp_path / f"{split}"
        report = scale.convert(str(tmp_path / "a.arrow"), str(out), to=codec, split=split, **HOW)
        assert (report.ok, len(visible_files(out))) == (True, 1 if split == "off" else 4)
        assert {one["what"] for one in report.changes} == told


@pytest.mark.parametrize("codec", ["ndjson:msgspec", "ndjson:polars", "json:msgspec", "ndjson"])
@pytest.mark.usefixtures("large")
def test_numbers_that_are_none_are_refused_of_large_parts(tmp_path: Path, codec: str) -> None:
    """Each library that writes null for them is known."""
    need_codec(codec)
    in_batches(tmp_path / "a.arrow", pa.table({"x": [float("nan")] * 400, "k": list(range(400))}))
    how: dict[str, Any] = {"split": 2000, "options": {"columns": "x,k"}}  # rows, not documents
    report = scale.convert(str(tmp_path / "a.arrow"), str(tmp_path / "out"), to=codec, **how, **HOW)
    assert (classes(report), visible_files(tmp_path / "out")) == ({("loss", "LossRefused")}, [])
