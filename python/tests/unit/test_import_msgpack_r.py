"""The published timings of the transports study, and what they show when they are read rightly."""

from __future__ import annotations

import lzma
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from tare.errors import RecordError
from tare.measure.records.importers import import_msgpack_r, import_record
from tare.measure.records.record import encode_record, parse_record
from tare.measure.result import Result

pytestmark = pytest.mark.xdist_group("published timings")  # they are imported once, in one process

HEAD = "method,encoder,size,read.user,read.sys,read.elapsed,write.user,write.sys,write.elapsed,total.user,total.sys,total.elapsed,bytes,note\n"
ROW = "convert,msgpack,1,0.1,0.0,0.1,0.2,0.0,0.2,0.3,0.0,0.2,100,NA\n"


@lru_cache
def imported(folder: Path) -> dict[str, Any]:
    """The import, once for all tests; none of them changes it."""
    return import_msgpack_r(folder)


@pytest.fixture
def record(shared: Callable[[str], Path]) -> dict[str, Any]:
    """The imported record."""
    return imported(shared("data/r/msgpack-r"))


def exponent(record: dict[str, Any], codec: str, medium: str, name: str) -> float:
    """The fitted exponent of one curve."""
    rows = record["imported"]["exponents"]
    return next(row[name]["k"] for row in rows if (row["codec"], row["medium"]) == (codec, medium))


def test_every_published_row_is_a_case(record: dict[str, Any]) -> None:
    """894 rows, 894 cases with samples; curves that stopped have one row more that says why."""
    assert 894 == record["imported"]["rows"] == sum(bool(case["launches"]) for case in record["cases"])
    ended = [case for case in record["cases"] if not case["launches"]]
    assert {"timeout", "refused"} == {case["status"] for case in ended}
    assert all(case["reason"] and case["labels"]["size"] == "1" for case in ended)
    assert len(record["cases"]) == len({case["key"] for case in record["cases"]})


@pytest.mark.parametrize("medium", ["conn", "file"])
def test_csv_reading_never_ran(record: dict[str, Any], medium: str) -> None:
    """The CSV cell has no reading time and is never ranked: no data came back."""
    cases = [
        c for c in record["cases"] if c["labels"]["codec"] == "csv:r" and c["labels"]["medium"] == medium
    ]
    assert 21 == len(cases)
    assert {"unproven"} == {case["status"] for case in cases}
    assert all("no data came back (0 of 5 tables)" in case["reason"] for case in cases)
    assert all(list(case["launches"][0]["samples"]) == ["write"] for case in cases)
    assert (5, 0) == (cases[0]["verify"]["items_in"], cases[0]["verify"]["items_out"])
    row = next(row for row in Result(record).table(medium=medium, all=True) if row["codec"] == "csv:r")
    assert (None, None) == (row["read_ns"], row["total_ns"])
    for profile in record["derived"]["profiles"].values():
        assert "csv:r" not in profile["p"]
    assert not any("csv:r" in key and f"medium={medium}" in key for key in record["derived"]["pareto"])


def test_published_totals_are_the_larger_part(record: dict[str, Any]) -> None:
    """A published total is max(read, write); the true sum is 1.48 times that in the median."""
    published = [case["published"] for case in record["cases"] if "published" in case]
    assert all(one["total_ns"] == max(one["read_ns"], one["write_ns"]) for one in published)
    ratios = record["imported"]["sum_over_total"]
    assert 1.48 == pytest.approx(ratios["median"], abs=0.005)
    assert 2.0 == ratios["most"]


def test_both_orders_flip(record: dict[str, Any]) -> None:
    """conn: rjson 2.8 < msgpack 3.1 becomes 4.9 > 3.4; memory: RJSONIO 8.5 < jsonlite 10.6 becomes 14.0 > 13.9."""
    flips = {
        (
            f["medium"],
            f["a"],
            f["b"],
            *(round(f[name] / 1e9, 1) for name in ("a_total_ns", "b_total_ns", "a_sum_ns", "b_sum_ns")),
        )
        for f in record["imported"]["flips"]
    }
    assert {
        ("conn", "json:r-rjson", "msgpack:r-msgpack", 2.8, 3.1, 4.9, 3.4),
        ("memory", "json:r-rjsonio", "json:r-jsonlite", 8.5, 10.6, 14.0, 13.9),
    } == flips


@pytest.mark.parametrize(
    ("codec", "medium", "name", "expected"),
    [
        ("dput:r", "memory", "total", 1.89),
        ("json:r-rjsonio", "file", "total", 1.95),
        ("json:r-rjsonio", "tcp", "total", 1.74),
        ("json:r-rjsonio", "memory", "total", 1.00),
        ("json:r-jsonlite", "conn", "total", 1.79),
        ("msgpack:r-msgpack", "conn", "total", 1.69),
        ("msgpack:r-msgpack", "tcp", "total", 1.60),
        ("msgpack:r-msgpack", "file", "total", 1.67),
        ("dput:r", "memory", "sum", 1.80),
        ("json:r-rjsonio", "file", "sum", 1.86),
        ("json:r-rjsonio", "conn", "sum", 1.87),
        ("json:r-jsonlite", "conn", "sum", 1.75),
        ("msgpack:r-msgpack", "conn", "sum", 1.58),
        ("msgpack:r-msgpack", "file", "sum", 1.49),
    ],
)
def test_exponents(record: dict[str, Any], codec: str, medium: str, name: str, expected: float) -> None:
    """The exponents of the last 8 sizes above 0.05 s, from published totals and from true sums."""
    assert expected == pytest.approx(exponent(record, codec, medium, name), abs=0.03)


def test_jsonlite_grows_with_the_data_but_on_connections(record: dict[str, Any]) -> None:
    """Its exponent is 1.79 on connections and about 1 on every other medium."""
    rows = {
        r["medium"]: r["total"] for r in record["imported"]["exponents"] if r["codec"] == "json:r-jsonlite"
    }
    assert {"conn", "memory", "file", "tcp"} <= set(rows)
    for medium, row in rows.items():
        assert (1.79 if medium == "conn" else 1.0) == pytest.approx(row["k"], abs=0.08), medium
        assert row["superlinear"] is (medium == "conn")


def test_an_exponent_has_the_interval_of_its_scatter(record: dict[str, Any]) -> None:
    """Dput in memory: k = 1.89 [1.87, 1.92]."""
    row = next(
        r for r in record["imported"]["exponents"] if (r["codec"], r["medium"]) == ("dput:r", "memory")
    )
    assert (1.87, 1.92) == pytest.approx((row["total"]["k_lo"], row["total"]["k_hi"]), abs=0.015)


def test_growth_of_the_record_is_that_of_the_sums(record: dict[str, Any]) -> None:
    """What reports draw from the samples agrees with the fit to the sums."""
    rows = {(r["codec"], r["medium"]): r for r in record["derived"]["growth"] if r["op"] == "total"}
    for codec, medium in (("dput:r", "memory"), ("json:r-rjsonio", "file"), ("json:r-jsonlite", "conn")):
        assert exponent(record, codec, medium, "sum") == pytest.approx(rows[codec, medium]["k"], abs=0.03)
        assert rows[codec, medium]["superlinear"]


def test_predicted_full_times(record: dict[str, Any]) -> None:
    """On its line dput in memory takes 3,800 s, and RJSONIO on files 4,130 s against 8.5 s in memory."""
    rows = {(row["codec"], row["medium"]): row for row in record["imported"]["exponents"]}
    assert 3800 == pytest.approx(rows["dput:r", "memory"]["total"]["line_s"], rel=0.02)
    assert 4130 == pytest.approx(rows["json:r-rjsonio", "file"]["total"]["line_s"], rel=0.01)
    assert 8.5 == pytest.approx(rows["json:r-rjsonio", "memory"]["total"]["line_s"], rel=0.05)


def test_no_small_size_wins_against_the_full_one(record: dict[str, Any]) -> None:
    """A curve that stopped at 6 % of the data is not compared with those that finished."""
    best = Result(record).recommend("cache")
    for codec in best.detail["p"]:  # type: ignore[index]
        case = next(
            c for c in record["cases"]
            if c["labels"]["codec"] == codec and c["labels"]["medium"] == "file" and c["labels"]["size"] == "1"
        )  # fmt: skip
        assert "ok" == case["status"]


def test_limits_are_rows_and_notes_are_facts(record: dict[str, Any]) -> None:
    """'Max 0.14' is a refusal, and msgpackR's replaced NA is a loss."""
    yaml = [
        c for c in record["cases"] if c["labels"]["codec"] == "yaml:r-yaml" and c["labels"]["size"] == "1"
    ]
    assert 6 == len(yaml)
    assert all(c["status"] == "refused" and "0.14" in c["reason"] for c in yaml)
    msgpackr = [c for c in record["cases"] if c["labels"]["codec"] == "msgpack:r-msgpackr" and c["launches"]]
    assert {"lossy"} == {case["status"] for case in msgpackr}


def test_the_import_is_a_record(record: dict[str, Any]) -> None:
    """It is saved and read like any other, and the same file gives the same record but for its date."""
    assert record == parse_record(encode_record(record))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "no column method, encoder"),
        ("", "no column"),
        (HEAD + ROW.replace("msgpack", "xml"), "line 2: 'convert' with 'xml' is not part of the study"),
        (HEAD + ROW.replace(",1,", ",7,"), "line 2: size is a share"),
        (HEAD + ROW.replace(",0.2,0.0,0.2,", ",0.2,0.0,NA,"), "line 2: write.elapsed is missing"),
        (HEAD + ROW.replace(",100,", ",-100,"), "line 2: bytes is a number of 0 or more"),
        (HEAD + ROW.replace("0.1,0.0,0.1", "0.1,0.0,inf"), "line 2: read.elapsed is a number of 0 or more"),
        (HEAD + "convert\n", "line 2"),
        (HEAD + '"' + "x" * 200_000, "not CSV"),
    ],
)
def test_other_files_are_refused(text: str, message: str, tmp_path: Path) -> None:
    """What is not the published file is one clear error with its line."""
    path = tmp_path / "benchmarks.csv"
    path.write_text(text)
    with pytest.raises(RecordError, match=message):
        import_msgpack_r(path)


def test_damaged_and_missing_files(tmp_path: Path) -> None:
    """A damaged xz file, an empty folder and an unknown source are told."""
    path = tmp_path / "x.csv.xz"
    path.write_bytes(lzma.compress(b"a" * 100)[:-20][:30] + b"\0" * 9)
    with pytest.raises(RecordError):
        import_msgpack_r(path)
    with pytest.raises(RecordError, match=r"no benchmarks\.csv\.xz in this folder"):
        import_msgpack_r(tmp_path)
    with pytest.raises(RecordError, match="there are msgpack-r"):
        import_record("msgpack", path)


def test_a_single_row_is_enough(tmp_path: Path) -> None:
    """One timing makes a record with one case and no curve."""
    path = tmp_path / "benchmarks.csv"
    path.write_text(HEAD + ROW)
    record = import_msgpack_r(path)
    assert 1 == len(record["cases"])
    assert [] == record["imported"]["exponents"]
