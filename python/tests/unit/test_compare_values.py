"""The document comparer: verdicts, paths, counts, and what its fast path must not hide."""

from __future__ import annotations

import copy
import datetime as dt
import struct
import uuid
from collections import OrderedDict
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from tare.fidelity.comparison import show
from tare.fidelity.values import compare_values, equal_bytes
from tare.tagged import Attr, Pairs

BERLIN = ZoneInfo("Europe/Berlin")
UTC = dt.UTC
NOON = dt.datetime(2021, 3, 4, 12, 0, 0, 8)
PAYLOAD = struct.unpack("<d", struct.pack("<Q", 0x7FF80000000007A2))[0]
MINUS_NAN = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000000))[0]
NAN = float("nan")

SAME = [
    (NAN, NAN),
    ({"a": [1, 1.0, True, None, "x", b"y"]}, {"a": [1, 1.0, True, None, "x", b"y"]}),
    (NOON.replace(tzinfo=UTC), NOON.replace(tzinfo=ZoneInfo("UTC"))),
    ({1, 2}, {2, 1}),
    (Pairs([("a", 1), ("a", 2)]), Pairs([("a", 1), ("a", 2)])),
    (np.float32(0.1), np.float32(0.1)),
    (np.array([1, 2]), np.array([1, 2])),
    (1 + 2j, 1 + 2j),
]

TYPE = [
    ((1, 2), [1, 2]),
    ([1, 2], (1, 2)),
    ({1, 2}, [2, 1]),
    (frozenset({1}), {1}),
    (1.0, 1),
    (5, 5.0),
    (5, "5"),
    (True, 1),
    (True, "true"),
    (0.1, "0.1"),
    (Decimal("1.10"), "1.10"),
    (Decimal("1.5"), 1.5),
    (b"abc", "YWJj"),
    (b"\xff\xfe", "//4="),
    (b"\xff\xfe", "__4"),
    (b"abc", "abc"),
    (b"abc", bytearray(b"abc")),
    (b"abc", [97, 98, 99]),
    ("abc", b"abc"),
    ("5", 5),
    (uuid.UUID(int=7), str(uuid.UUID(int=7))),
    (uuid.UUID(int=7), uuid.UUID(int=7).bytes),
    (NOON, NOON.isoformat()),
    (NOON, str(NOON)),
    (NOON.replace(tzinfo=UTC), "2021-03-04T12:00:00.000008Z"),
    (NOON.date(), "2021-03-04"),
    (NOON.date(), dt.datetime(2021, 3, 4)),
    (NOON.date(), dt.datetime(2021, 3, 4, tzinfo=UTC)),
    (NOON.date(), dt.datetime(2021, 3, 4, tzinfo=ZoneInfo("Etc/UTC"))),
    (NOON.date(), "2021-03-04T00:00:00Z"),
    (NOON.date(), "2021-03-04T00:00:00.000Z"),
    (NOON.date(), "2021-03-04 00:00:00+00:00"),
    (dt.time(1, 2, 3), "01:02:03"),
    (dt.timedelta(days=-1, microseconds=3), "-P0DT23H59M59.999997S"),
    (dt.timedelta(days=1, seconds=3), "1 day, 0:00:03"),
    (np.datetime64("2021-03-04T12:00:00.123456789"), "2021-03-04T12:00:00.123456789"),
    (np.float32(0.1), float(np.float32(0.1))),
    (np.int16(5), 5),
    ({1: "a", 2: "b"}, {"1": "a", "2": "b"}),
    ({True: 1, False: 2}, {"true": 1, "false": 2}),
    ({None: 1}, {"null": 1}),
    ({1.5: 1}, {"1.5": 1}),
    (OrderedDict(a=1), {"a": 1}),
    ({"a": 1}, [["a", 1]]),
    (MINUS_NAN, NAN),
]

LOSSY = [
    (None, ""),
    (None, NAN),
    (None, 0),
    (NAN, None),
    (PAYLOAD, NAN),
    (0.0, -0.0),
    (-0.0, 0),
    (float("inf"), None),
    (2**53 + 1, float(2**53)),
    (2**60, float(2**60)),
    (2**200, float(2**200)),
    (Decimal("1.10"), 1.1),
    (Decimal("1.10"), Decimal("1.1")),
    (np.float32(0.1), 0.3),
    ("001", 1),
    ("TRUE", True),
    ("e\u0301", "\u00e9"),
    (b"abc", "b'abc'"),
    (NOON, NOON.replace(microsecond=0)),
    (NOON, NOON.replace(tzinfo=UTC)),
    (NOON, NOON.timestamp()),
    (NOON, "2021-03-04T12:00:00"),
    (NOON.date(), dt.datetime(2021, 3, 4, 12, tzinfo=UTC)),
    (NOON.date(), dt.datetime(2021, 3, 4, tzinfo=BERLIN)),
    (NOON.date(), dt.datetime(2021, 3, 4, tzinfo=ZoneInfo("Europe/London"))),
    (NOON.date(), "2021-03-04T00:00:00+01:00"),
    (NOON.replace(tzinfo=BERLIN), NOON.replace(tzinfo=BERLIN).isoformat()),
    (NOON.replace(tzinfo=BERLIN), NOON.replace(tzinfo=BERLIN).astimezone(UTC)),
    (np.datetime64("2021-03-04T12:00:00.123456789"), "2021-03-04T12:00:00.123456"),
    (dt.timedelta(seconds=1), 1.0),
    ([1, 2], [1]),
    ([1], [1, 2]),
    ([], None),
    ({}, None),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({"a": None, "b": 1}, {"b": 1}),
    ({"b": 1}, {"a": None, "b": 1}),
    ({1: "a", "1": "b"}, {"1": "b"}),
    ({1: "a", "2": "b"}, {"1": "a", "2": "b"}),
    ({(1, 2): "a"}, {"(1, 2)": "a"}),
    ({2: "a", 1: "b"}, {"1": "b", "2": "a"}),
    ({1: "a"}, {"x": "a"}),
    (Pairs([("a", 1), ("a", 2)]), {"a": 2}),
    ({1, 2}, {1}),
    (Attr({"names": ["a"]}, [1]), [1]),
    ("text", ...),
]


@pytest.mark.parametrize(("before", "after"), SAME, ids=lambda item: show(item, 30))
def test_equal_values_are_the_same(before: object, after: object) -> None:
    """No change at all, in any place."""
    assert "same" == compare_values(before, after).verdict
    assert "same" == compare_values([{"x": before}], [{"x": after}]).verdict


@pytest.mark.parametrize(("before", "after"), TYPE, ids=lambda item: show(item, 30))
def test_another_type_that_gives_the_value_back(before: object, after: object) -> None:
    """The value can be rebuilt by someone who knows only its type."""
    assert "type" == compare_values([{"x": before}], [{"x": after}]).verdict


@pytest.mark.parametrize(("before", "after"), LOSSY, ids=lambda item: show(item, 30))
def test_changed_values_are_lossy(before: object, after: object) -> None:
    """Something about the value is gone, and nothing had said so."""
    assert "lossy" == compare_values([{"x": before}], [{"x": after}]).verdict


def test_changes_are_counted_by_path_with_the_first_difference() -> None:
    """One line for all prices, and where the first one is."""
    before = {"items": [{"price": 1.5, "ok": True} for _ in range(10)], "n": 1}
    after = copy.deepcopy(before)
    for item in after["items"][3:]:
        item["price"] = None
    change = compare_values(before, after).changes[0]
    assert ("items[*].price", "lossy", 7, "1.5", "None", "items[3].price") == (
        change.path,
        change.verdict,
        change.count,
        change.in_,
        change.out,
        change.at,
    )


def test_the_worst_and_most_frequent_come_first() -> None:
    """A limit cuts the least interesting ones, and says how many."""
    before = {f"k{number}": (number,) for number in range(50)} | {"bad": [1.0, None]}
    after = {f"k{number}": [number] for number in range(50)} | {"bad": [1.0, 0]}
    found = compare_values(before, after, limit=5)
    assert ("lossy", "bad[*]", 5, 46) == (
        found.verdict,
        found.changes[0].path,
        len(found.changes),
        found.more,
    )
    assert found.as_dict()["more"] == 46


@pytest.mark.parametrize(
    "other", [bytearray(b"\x01"), np.int8(1), memoryview(b"\x01")], ids=lambda item: type(item).__name__
)
def test_the_fast_path_does_not_take_buffers_for_bytes(other: object) -> None:
    """Marshal writes whatever has a buffer as bytes."""
    assert not equal_bytes([b"\x01"], [other])
    assert "same" != compare_values([b"\x01"], [other]).verdict
    assert "same" != compare_values([other], [b"\x01"]).verdict


def test_depth_is_no_limit() -> None:
    """A change 100,000 lists deep is found, in bounded words."""
    before: list[object] = [1]
    after: list[object] = [2]
    for _ in range(100_000):
        before, after = [before], [after]
    found = compare_values(before, after)
    assert ("lossy", "1", "2") == (found.verdict, found.changes[0].in_, found.changes[0].out)
    assert len(found.changes[0].path) < 300
    assert len(found.changes[0].at) < 300
    assert "same" == compare_values(before, before).verdict


def test_cycles_end() -> None:
    """A list that holds itself equals another that does, and differs from one that does not."""
    cycles: list[list[object]] = [[1], [1], [2]]
    for cycle in cycles:
        cycle.append(cycle)
    assert "same" == compare_values(cycles[0], cycles[1]).verdict
    assert "lossy" == compare_values(cycles[0], cycles[2]).verdict
    assert "lossy" == compare_values(cycles[0], [1, None]).verdict


def test_a_change_in_the_last_of_many_is_found() -> None:
    """Slices of a long list are compared apart; none is left out."""
    before = [{"id": number, "tags": ["a", "b"]} for number in range(10_001)]
    for place in (0, 1_999, 2_000, 4_001, 10_000):
        after = copy.deepcopy(before)
        after[place]["tags"][1] = "c"
        change = compare_values({"rows": before}, {"rows": after}).changes[0]
        assert ("rows[*].tags[*]", 1, f"rows[{place}].tags[1]") == (change.path, change.count, change.at)
    assert "lossy" == compare_values(before, before[:-1]).verdict


def test_many_paths_are_counted_under_one_name() -> None:
    """A map used as a table does not make a report of a million lines."""
    before = {f"id {number}": number for number in range(20_000)}
    after = dict.fromkeys(before)
    found = compare_values(before, after)
    assert found.changes[0].path == "(other paths)"
    assert 20_000 == sum(change.count for change in compare_values(before, after, limit=100_000).changes)


def test_text_from_the_data_is_escaped_and_cut() -> None:
    """Control characters and huge values do no harm in a report."""
    found = compare_values({"a\x1b[31m": "x" * 10**6}, {"a\x1b[31m": "\u202ey\x00" + "z" * 10**6}).changes[0]
    assert r"['a\x1b[31m']" == found.path
    assert len(found.in_) <= 80
    assert len(found.out) <= 80
    assert r"\u202ey\x00" in found.out


def test_shared_references_equal_copies() -> None:
    """Identity is no value."""
    inner = [1]
    assert "same" == compare_values([inner, inner], [[1], [1]]).verdict


def test_items_are_those_of_a_list_else_one() -> None:
    """The proof that something came back."""
    assert (3, 0) == (compare_values([1, 2, 3], []).items_in, compare_values([1, 2, 3], []).items_out)
    assert (1, 1) == (compare_values({"a": 1}, {}).items_in, compare_values({"a": 1}, {}).items_out)


def test_sets_that_marshal_has_no_room_for_are_compared() -> None:
    """Of values that it does not know it says in a set that memory is lacking."""
    import numpy as np

    odd = [{np.timedelta64(7, "M"), np.timedelta64(7, "as")}]
    assert compare_values(odd, odd).verdict == "same"


class _Moment(dt.datetime):
    """A moment of another library."""


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (_Moment(2021, 3, 4, 12), "2021-03-04T12:00:00", "type"),
        (_Moment(2021, 3, 4, 12), "2021-03-04T13:00:00", "lossy"),
        (_Moment(2021, 3, 4, 12), 5, "lossy"),
        (pd.NaT, "1677-09-21 00:12:43.145224192", "type"),
        (pd.NaT, "1677-09-21 00:12:43.145224193", "lossy"),
        (pd.NaT, 5, "lossy"),
    ],
)
def test_moments_of_other_types_are_compared(before: object, after: object, verdict: str) -> None:
    """A subclass of Python's type, and the least moment of 64 bits, of which pandas makes a missing one."""
    assert [change.verdict for change in compare_values([before], [after]).changes] == [verdict]
