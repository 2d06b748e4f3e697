"""Cells of days, times and durations that came back as another type, alone and inside lists and structs."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tare.fidelity.tables import compare_tables
from tare.measure.exchange.tables import cells_of, judge_columns

DAY = dt.date(2024, 1, 1)
DAYS = pa.array([DAY, None])
CLOCK = pa.array([3600, None], pa.time32("s"))
NOON = dt.datetime(2024, 1, 1, 12)
BERLIN = dt.timezone(dt.timedelta(hours=1))
PAIR = pa.array([{"a": DAY, "b": 1}, None], pa.struct([("a", pa.date32()), ("b", pa.int64())]))
HOLE = pa.array([{"a": DAY, "b": None}], PAIR.type)
FLOATS = pa.array([{"d": DAY, "x": 0.1}], pa.struct([("d", pa.date32()), ("x", pa.float32())]))
PRICES = pa.array([Decimal("1.10"), Decimal("2.55"), None])
IN_BERLIN = pa.array([NOON], pa.timestamp("us", "Europe/Berlin"))
MIDNIGHT = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


def at(*of: int, zone: dt.tzinfo = dt.UTC) -> dt.datetime:
    return dt.datetime(*of, tzinfo=zone)  # type: ignore[misc,arg-type]


def judged(column: Any, back: list[Any]) -> str:
    table = pa.table({"c": column})
    return str(judge_columns(table, cells_of(table), {"c": back}).get("verdict", "same"))


REBUILT = [
    (DAYS, [at(2024, 1, 1), None]),
    (DAYS, [dt.datetime(2024, 1, 1), None]),
    (DAYS, ["2024-01-01T00:00:00.000Z", None]),
    (DAYS, [19723, None]),
    (DAYS.cast(pa.date64()), [19723 * 86_400_000, None]),
    (DAYS.dictionary_encode(), [at(2024, 1, 1), None]),
    (CLOCK, [3600, None]),
    (CLOCK, [at(1970, 1, 1, 1), None]),
    (CLOCK, ["1970-01-01T01:00:00Z", None]),
    (pa.array([-7], pa.duration("ms")), [-7]),
    (pa.array([5], pa.duration("ns")), [5]),
    (pa.array([3601], pa.time64("ns")), [3601]),
    (pa.array([NOON]), [at(2024, 1, 1, 12)]),
    (pa.array([NOON], pa.timestamp("us", "Europe/Berlin")), [at(2024, 1, 1, 12)]),
    (pa.array([NOON], pa.timestamp("ms", "UTC")), [1704110400000]),
    (pa.array([1_704_110_400_000_000_001], pa.timestamp("ns", "UTC")), [1_704_110_400_000_000_001]),
    (pa.array([[DAY, None], None]), [[at(2024, 1, 1), None], None]),
    (PAIR, [{"a": at(2024, 1, 1), "b": 1}, None]),
    (PAIR, [{"a": "2024-01-01T00:00:00.000Z", "b": 1.0}, None]),
    (pa.array([[("k", DAY)]], pa.map_(pa.string(), pa.date32())), [[("k", at(2024, 1, 1))]]),
    (PRICES, [1.1, 2.55, None]),
    (PRICES, ["1.1", "2.55", None]),
    (PRICES, [Decimal("1.1"), Decimal("2.55"), None]),
    (PRICES.dictionary_encode(), [1.1, 2.55, None]),
    (pa.array([Decimal("2.00")]), [2]),
    (pa.array([[Decimal("1.10")]]), [[1.1]]),
    (IN_BERLIN, ["2024-01-01 13:00:00"]),
    (IN_BERLIN, ["2024-01-01T13:00:00.000000+0100"]),
    (IN_BERLIN, ["2024-01-01T12:00:00Z"]),
    (pa.array([NOON], pa.timestamp("us", "+05:30")), ["2024-01-01 17:30:00"]),
    (pa.array([NOON], pa.timestamp("us", "-05:30")), ["2024-01-01 06:30:00"]),
]

LOST = [
    (PRICES, [1.1000000000000003, 2.55, None]),
    (PRICES, [True, 2.55, None]),
    (PRICES, ["1.1 EUR", 2.55, None]),
    (PRICES, [" 1.1 ", 2.55, None]),
    (pa.array([Decimal("12345678901234567890.12")]), [12345678901234567890.12]),
    (IN_BERLIN, ["2024-01-01 12:00:00"]),
    (IN_BERLIN, ["2024-01-01 13:00:00+0000"]),
    (IN_BERLIN, [dt.datetime(2024, 1, 1, 13)]),
    # An hour that Berlin had twice.
    (
        pa.array([dt.datetime(2024, 10, 27, 0, 30)], pa.timestamp("us", "Europe/Berlin")),
        ["2024-10-27 02:30:00"],
    ),
    (DAYS, [at(2024, 1, 1, 5), None]),
    (DAYS, [dt.datetime(2024, 1, 1, 5), None]),
    (DAYS, ["2024-01-01T05:00:00.000Z", None]),
    (DAYS, ["2024-13-01T05:00:00.000Z", None]),
    (DAYS, [at(2024, 1, 1, zone=BERLIN), None]),
    (DAYS, [at(2023, 12, 31, 23), None]),
    (DAYS, [True, None]),
    (pa.array([dt.date(1970, 1, 2)]), [True]),
    (DAYS, [19723.0, None]),
    (DAYS, ["2024-01-01", ""]),
    (pa.array([None, None], pa.date32()), ["", ""]),
    (CLOCK, [at(2024, 1, 1, 1), None]),
    (CLOCK, [at(1970, 1, 2, 1), None]),
    (CLOCK, [3601, None]),
    (CLOCK, [3600, 0]),
    (pa.array([NOON]), [at(2024, 1, 1, 12, 0, 1)]),
    (pa.array([1_704_110_400_000_000_001], pa.timestamp("ns", "UTC")), [1_704_110_400_000_000_000]),
    (PAIR, [{"a": DAY, "b": 1, "x": 2}, None]),
    (PAIR, [{"a": at(2024, 1, 1), "b": 1, "x": 2}, None]),
    (PAIR, [{"a": at(2024, 1, 1), "b": 2}, None]),
    (HOLE, [{"a": DAY}]),
    (HOLE, [{"a": at(2024, 1, 1)}]),
    (pa.array([[DAY, DAY]]), [[at(2024, 1, 1)]]),
    (pa.array([[DAY]]), [[at(2024, 1, 1, 5)]]),
    (pa.array([(1, 2, 3)], pa.month_day_nano_interval()), [3]),
]


@pytest.mark.parametrize(("column", "back"), REBUILT)
def test_a_cell_that_its_column_gives_back_is_of_another_type(column: Any, back: list[Any]) -> None:
    assert judged(column, back) == "type"


@pytest.mark.parametrize(("column", "back"), LOST)
def test_a_cell_with_more_or_less_than_it_had_is_lost(column: Any, back: list[Any]) -> None:
    """A time of day where a day was, a day where a time was; and a moment beside loosens nothing."""
    assert judged(column, back) == "lossy"


def test_cells_that_are_as_they_were_are_the_same() -> None:
    assert judged(PAIR, cells_of(pa.table({"c": PAIR}))["c"]) == "same"


FIVE = 5 * 3600
WITHIN = [
    lambda cells: cells,
    lambda cells: pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), cells),
    lambda cells: pa.LargeListArray.from_arrays(pa.array([0, 1], pa.int64()), cells),
    lambda cells: pa.FixedSizeListArray.from_arrays(cells, 1),
    lambda cells: pa.StructArray.from_arrays([cells], ["a"]),
    lambda cells: pa.StructArray.from_arrays([pa.array([1]), cells], ["a", "a"]),
    lambda cells: pa.MapArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array(["k"]), cells),
]
WEIGHED = [
    (DAYS, pa.array([at(2024, 1, 1), None], pa.timestamp("us")), "type"),
    (DAYS, pa.array([at(2024, 1, 1), None], pa.timestamp("us", "UTC")), "type"),
    (DAYS, pa.array([at(2024, 1, 1, 5), None], pa.timestamp("us")), "lossy"),
    (DAYS, pa.array([at(2024, 1, 1, 5), None], pa.timestamp("us", "UTC")), "lossy"),
    (DAYS, pa.array([at(2023, 12, 31, 23), None], pa.timestamp("us", "+01:00")), "lossy"),
    (DAYS, DAYS.cast(pa.date64()), "type"),
    (CLOCK, pa.array([3600, None], pa.timestamp("s")), "type"),
    (CLOCK, pa.array([3_600_000_000_000, None], pa.timestamp("ns")), "type"),
    (CLOCK, pa.array([86400 + 3600, None], pa.timestamp("s")), "lossy"),
    (CLOCK, pa.array([None, None], pa.timestamp("s")), "lossy"),
    (pa.array([[DAY, None], None]), pa.array([[MIDNIGHT, None], None]), "type"),
    (pa.array([[DAY]]), pa.array([[at(2024, 1, 1, 5)]]), "lossy"),
    (FLOATS, pa.array([{"d": MIDNIGHT, "x": 0.1}]), "type"),
    (FLOATS, pa.array([{"d": at(2024, 1, 1, 5), "x": 0.1}]), "lossy"),
    *(
        (within(days), within(pa.array([moment], pa.timestamp("us"))), verdict)
        for within in WITHIN
        for days, moment, verdict in (
            (DAYS[:1], at(2024, 1, 1), "type"),
            (DAYS[:1], at(2024, 1, 1, 5), "lossy"),
            (pa.array([FIVE * 10**6], pa.time64("us")), at(1970, 1, 1, 5), "type"),
            (pa.array([FIVE * 10**6], pa.time64("us")), at(2020, 1, 1, 5), "lossy"),
        )
    ),
]


@pytest.mark.parametrize(("before", "after", "verdict"), WEIGHED)
def test_columns_of_moments_are_weighed_alike(before: Any, after: Any, verdict: str) -> None:
    """Arrow's cast floors: what it left out must have been nothing."""
    assert compare_tables(pa.table({"c": before}), pa.table({"c": after})).verdict == verdict
