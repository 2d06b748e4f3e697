"""Differences that do not matter: what decides between codecs that cost nearly the same."""

from __future__ import annotations

import pytest
from support.planted_codecs import Planted
from support.synthetic_records import synthetic_record

from tare.measure.cases import NOT_REACHED
from tare.measure.derive import derive
from tare.measure.verdict.negligible import no_matter
from tare.measure.verdict.recommend import recommend
from tare.report import terminal
from tare.report.html import render as render_html

SAFE = {"languages": ["python", "r", "c"], "spec": "https://example.org"}
BASE = Planted("parquet:pyarrow", 400, 200, 0.2, flags=SAFE)
QUIET = {"launch_sd": 0.001, "noise_sd": 0.001, "preempted": 0.0}


def verdict_of(*planted, profile="cache", **options):
    record = synthetic_record("table", planted=(BASE, *planted), growth=False, derived=False, **QUIET)
    return recommend(record, profile=profile, **options)


ORC = "orc:pyarrow,compression=zstd"
TYPED = (("time_hour", "type", 9),)
CODE = {"executes_code": True, "languages": ["python"], "spec": ""}


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        # The other costs 5 % less, and that is less than 50 ms of the whole use.
        (Planted("rare:r", 4.2, 4.2, 0.5, flags=SAFE), Planted("odd:o", 4, 4, 0.5, changes=TYPED, flags=SAFE), "rare:r"),
        (Planted("rare:r", 4.2, 4.2, 0.5, flags=SAFE), Planted("code:c", 4, 4, 0.5, flags=CODE), "rare:r"),
        (Planted("arrow:pyarrow", 4.2, 4.2, 0.5, flags=SAFE), Planted("rare:r", 4, 4, 0.5, flags=SAFE), "arrow:pyarrow"),
        # ORC is on the shortlist too, and smaller; but how many use it is asked first.
        (Planted("parquet:polars", 4, 4, 0.5, flags=SAFE), Planted(ORC, 5.1, 5.1, 0.42, flags=SAFE), "parquet:polars"),
        (Planted("parquet:polars", 4.2, 4.2, 0.5, flags=SAFE), Planted(ORC, 4, 4, 0.5, flags=SAFE), "parquet:polars"),
        (Planted("rare:r", 4.2, 4.2, 0.5, flags=SAFE), Planted(ORC, 4.2, 4.2, 0.5, flags=SAFE), ORC),
        (Planted("rare:r", 4.2, 4.2, 0.4, flags=SAFE), Planted("odd:o", 4, 4, 0.5, flags=SAFE), "rare:r"),
        # 1 % smaller does not pay for 5 % more cost.
        (Planted("rare:r", 4.2, 4.2, 0.495, flags=SAFE), Planted("odd:o", 4, 4, 0.5, flags=SAFE), "odd:o"),
        # Nor does a fifth fewer bytes for 8 % more: a figure is off by as much.
        (Planted("rare:r", 6.2, 6.2, 0.4, flags=SAFE), Planted("odd:o", 4, 4, 0.5, flags=SAFE), "odd:o"),
        # A quarter more is more than anything can pay for.
        (Planted("arrow:pyarrow", 8, 8, 0.5, flags=SAFE), Planted("odd:o", 4, 4, 0.5, changes=TYPED, flags=CODE), "odd:o"),
    ],
    ids=["types", "safety", "common", "more common", "most common", "on the list", "smaller", "hardly smaller", "smaller for too much", "too dear"],
)  # fmt: skip
def test_nearly_equal_costs_are_decided_by_what_else_a_codec_offers(one, other, expected):
    """Types come first, then safety, what is common, and what is smaller by more than it costs."""
    assert verdict_of(one, other)["codec"] == expected


@pytest.mark.parametrize(("left", "level"), [((), "close"), (("arrow:pyarrow",), "can't tell")])
def test_what_is_not_the_cheapest_is_named_with_the_reason(left, level):
    """Whether the answer is close, or codecs were left: the text says why the dearer of two is taken."""
    truth = (Planted("parquet:polars", 4.2, 4.2, 0.5, flags=SAFE), Planted(ORC, 4, 4, 0.5, flags=SAFE))
    record = synthetic_record(
        "table",
        planted=(BASE, *truth, *(Planted(codec, 4, 4, 0.5, flags=SAFE) for codec in left)),
        growth=False,
        derived=False,
        **QUIET,
    )
    for case in record["cases"]:
        if case["labels"]["codec"] in left:
            case.update(status="pending", reason=NOT_REACHED, launches=[])
    verdict = recommend(record, profile="cache")
    assert (verdict["codec"], verdict["confidence"]) == ("parquet:polars", level)
    assert verdict["doubt"].count("Parquet (zstd, polars) is recommended because more people use it.") == 1


def test_fifty_milliseconds_that_were_shown_decide():
    """5 % of two seconds are noticed: the cheaper one is named, though the other is common."""
    common, rare = (
        Planted("arrow:pyarrow", 210, 210, 0.5, flags=SAFE),
        Planted("rare:r", 200, 200, 0.5, flags=SAFE),
    )
    assert verdict_of(common, rare)["codec"] == "rare:r"


def test_a_round_trip_hides_no_difference_between_messages():
    """Ten microseconds against twenty, over a link whose round trip takes 300: ten are named."""
    quick = Planted("rare:r", 0.005, 0.005, 1e-7, flags=SAFE)
    slow = Planted("blit:tare", 0.010, 0.010, 1e-7, flags=SAFE)
    verdict = verdict_of(quick, slow, profile="message")
    assert verdict["codec"] == "rare:r"
    assert verdict["weights"]["rtt"] == 0.3e-3
    assert verdict["cost_s"]["rare:r"][0] < 20e-6


def test_small_data_is_marked_as_such_and_decided_as_ever():
    """No choice can be felt, which reports say; the cheapest is named all the same."""
    small = [Planted(name, ms, ms, 1e-5, flags=SAFE) for name, ms in (("odd:o", 0.1), ("rare:r", 0.3))]
    record = synthetic_record("table", planted=tuple(small), base="odd:o", growth=False, derived=False)
    verdict = recommend(record, profile="cache")
    assert (verdict["small"], verdict["codec"]) == (True, "odd:o")
    assert not recommend(record, profile="message")["small"]
    # Beside a codec that takes 200 ms it is felt; what the file is in already is what counts, where it is known.
    assert not verdict_of(*small)["small"]
    dear = [
        Planted("arrow:pyarrow", 0.1, 0.1, 1e-5, flags=SAFE),
        Planted("csv:pyarrow", 0.5, 0.5, 1e-5, flags=SAFE),
    ]
    record = synthetic_record("table", planted=(BASE, *dear), growth=False, derived=False)
    record["dataset"] |= {"source_format": "csv", "bytes_disk": 100}
    verdict = recommend(record, profile="keep")
    assert verdict["small"]
    assert no_matter(verdict).startswith("keep the CSV you have: ")
    record["derived"] = derive(record)
    shown = terminal.render(record)
    assert "  Keep the CSV you have: the data is too small for the format to matter.\n" in shown
    assert "  Cheapest" in shown
    assert "keep the file as it is" in shown
    assert not any(doubt in shown for doubt in ("Close", "Can't tell"))
    # A format that was not measured may do worse: nothing is said of it.
    record["dataset"] |= {"source_format": "xlsx"}
    verdict = recommend(record, profile="keep")
    assert verdict["source"]["codec"] is None
    assert "you have" not in no_matter(verdict | {"small": True})


@pytest.mark.parametrize(("size", "own"), [(1.0, "rds:tare+gzip:6"), (3.0, None)])
def test_a_file_that_is_compressed_without_an_ending_is_known_by_its_size(size, own):
    """R's files are: one of the size of the compressed codec is read as that; one three times as large is not."""
    packed = Planted("rds:tare+gzip:6", 90, 50, 0.1, flags=SAFE)
    record = synthetic_record(
        "table", planted=(BASE, packed), growth=False, derived=False, media=("file",), **QUIET
    )
    encoded = next(case["bytes"] for case in record["cases"] if case["labels"]["codec"] == packed.codec)
    record["dataset"] |= {"name": "study.rds", "source_format": "rds", "bytes_disk": size * encoded}
    source = recommend(record, profile="cache")["source"]
    assert source["codec"] == own
    assert (source["read_s"] is None) is (own is None)


def test_data_whose_own_format_costs_least_is_not_small_for_that():
    """That there is nothing to gain says nothing of what there is to lose."""
    own, other = (
        Planted("parquet:pyarrow", 200, 200, 0.5, flags=SAFE),
        Planted("orc:pyarrow", 900, 900, 0.4, flags=SAFE),
    )
    record = synthetic_record("table", planted=(own, other), media=("file",), growth=False, derived=False)
    record["dataset"] |= {"source_format": "parquet", "bytes_disk": None}
    verdict = recommend(record, profile="cache")
    assert (verdict["codec"], verdict["small"]) == ("parquet:pyarrow", False)


def test_a_small_file_does_as_well_though_its_format_loses_values_when_written_anew():
    """The file is there already; that a library writes empty text for what is missing is no reason to convert it."""
    own = Planted("csv:pyarrow", 0.07, 0.3, 5e-5, "lossy", changes=(("note", "lossy", 9),), flags=SAFE)
    quick, dear = (
        Planted("arrow:pyarrow", 0.02, 0.02, 9e-5, flags=SAFE),
        Planted("rare:r", 40, 40, 5e-5, flags=SAFE),
    )
    record = synthetic_record(
        "table", planted=(own, quick, dear), base="arrow:pyarrow", growth=False, derived=False
    )
    sizes = {case["labels"]["codec"]: case["bytes"] for case in record["cases"]}
    record["dataset"] |= {"source_format": "csv", "bytes_disk": sizes["csv:pyarrow"]}
    verdict = recommend(record, profile="cache")
    assert (verdict["codec"], verdict["source"]["codec"], verdict["small"]) == (
        "arrow:pyarrow",
        "csv:pyarrow",
        True,
    )
    assert no_matter(verdict).startswith("keep the CSV you have: ")
    record["dataset"] |= {"source_format": "parquet"}
    assert recommend(record, profile="cache")["small"] is False


def test_the_compressor_of_a_parquet_file_is_told_by_its_size():
    """The nearest in size, not the quickest of those near: lz4 and zstd may be 6 % apart."""
    zstd = Planted("parquet:polars", 90, 90, 0.5, flags=SAFE)
    lz4 = Planted("parquet:polars,compression=lz4", 60, 60, 0.53, flags=SAFE)
    record = synthetic_record(
        "table", planted=(zstd, lz4), base="parquet:polars", media=("file",), growth=False, derived=False
    )
    sizes = {case["labels"]["codec"]: case["bytes"] for case in record["cases"]}
    record["dataset"] |= {"source_format": "parquet", "bytes_disk": sizes["parquet:polars"]}
    assert recommend(record, profile="cache")["source"]["codec"] == "parquet:polars"


@pytest.mark.parametrize("source", ["csv", None])
@pytest.mark.parametrize("profile", ["keep", "message"])
def test_of_a_table_without_rows_there_is_nothing_to_measure(source, profile):
    """That is the answer, of a file with a header alone as of an empty data frame, and no codec is praised."""
    record = synthetic_record("table", planted=(BASE, Planted(ORC, 40, 20, 0.1, flags=SAFE)), growth=False)
    record["dataset"] |= {"rows": 0, "source_format": source, "source_kind": "pandas"}
    record["derived"] = derive(record)
    said = recommend(record, profile=profile)["keeps_file"]
    assert said == "the table has no rows, so there is nothing to measure" or source == "csv"
    assert said.endswith("the table has no rows, so there is nothing to measure")
    for shown in (terminal.render(record, profile=profile), render_html(record, profile=profile)):
        assert f"{said[:1].upper()}{said[1:]}." in shown
    assert "smaller" not in terminal.render(record, profile=profile)
    record["dataset"]["rows"] = 1
    assert "no rows" not in terminal.render(record | {"derived": derive(record)}, profile=profile)
