"""Wrong arguments and odd objects: an error of Tare's that names what is wrong, or a loss that is told."""

from __future__ import annotations

import pytest
from support.capabilities import need_module

import tare
from tare import r
from tare.errors import Malformed, Unsupported, UsageError

FRAME = b'structure(list(a = 1:2, b = 3:4), class = "data.frame", row.names = c(NA, -2L))'
TWICE = b'structure(list(a = 1:2, a = 3:4), class = "data.frame", row.names = c(NA, -2L))'
TIMES = b"""structure(list(sec = c(1, 2), min = c(0L, 0L), hour = c(0L, 0L), mday = c(1L, 1L), mon = c(0L, 0L),
year = c(120L, 120L), wday = c(3L, 3L), yday = c(0L, 0L), isdst = c(0L, 0L)), class = c("POSIXlt", "POSIXt"),
tzone = "UTC")"""
NOWHERE = b'structure(1e9, class = c("POSIXct", "POSIXt"), tzone = "Nowhere/Land")'
NOWHEN = b"structure(list(t = " + NOWHERE + b'), class = "data.frame", row.names = c(NA, -1L))'


@pytest.mark.parametrize(
    "options",
    [
        {"columns": "a"},
        {"columns": [1]},
        {"columns": 3},
        {"rows": 3},
        {"rows": ("a", "b")},
        {"rows": (-1, 2)},
        {"limits": {"max_depth": -1}},
        {"limits": {"memory_budget": -1}},
        {"limits": {"max_ratio": 1 << 70}},
        {"limits": {"max_depth": "x"}},
        {"encoding": "klingon"},
        {"encoding": 3},
        {"format": 3},
    ],
)
def test_reading_names_the_wrong_argument(options):
    """Its name, or that of the limit, stands in the text."""
    name = next(iter(options.get("limits", options)))
    with pytest.raises(UsageError, match=f"{name}="):
        r.read(FRAME, **{"format": "dput", **options})


@pytest.mark.parametrize(
    "options",
    [
        {"threads": -1},
        {"threads": 1 << 70},
        {"members": -1},
        {"members": "x"},
        {"version": "x"},
        {"compressor": 3},
        {"compress": -1},
        {"compress": "a"},
        {"format": 3},
        {"names": 3},
        {"names": [3]},
    ],
)
def test_writing_names_the_wrong_argument(options):
    """As reading does."""
    with pytest.raises(UsageError, match=f"{next(iter(options))}="):
        r.write({"a": 1}, None, **options)


def test_rows_far_behind_the_last_are_those_that_are_there():
    """Also where no machine counts so far; of fst as of any other."""
    table = r.read(FRAME, format="dput")
    for format in ("rds", "fst"):
        data = r.write(table, None, format=format).data
        assert [2] == r.read(data, rows=(1, 99))["a"].to_pylist()
        assert 2 == r.read(data, rows=(0, 1 << 70)).num_rows
        assert 0 == r.read(data, rows=(50, 99)).num_rows


@pytest.mark.parametrize("as_", ["python", "arrow", "pandas", "polars"])
def test_one_name_of_two_columns(as_):
    """Neither is chosen."""
    with pytest.raises(UsageError, match="2 columns are named 'a'"):
        r.read(TWICE, format="dput", as_=as_, columns=["a"])


def test_a_time_in_parts_is_a_series():
    """The names of the parts are not those of the times."""
    need_module("pandas")
    assert 2 == len(r.read(TIMES, format="dput", as_="pandas", loss=[]))


@pytest.mark.parametrize("as_", ["python", "pandas"])
def test_dimensions_that_do_not_fit(as_):
    """The file is wrong."""
    with pytest.raises(Malformed, match="6 values, and the dimensions 2 x 2"):
        r.read(b"structure(1:6, dim = c(2L, 2L))", format="dput", as_=as_)


def test_names_of_an_axis_that_do_not_fit():
    """They are left, and told."""
    need_module("pandas")
    text = b'structure(1:4, dim = c(2L, 2L), dimnames = list(c("a", "b", "c"), NULL))'
    found = []
    assert (2, 2) == r.read(text, format="dput", as_="pandas", loss=found).shape
    assert "@dimnames" in [loss.path for loss in found]


@pytest.mark.parametrize("as_", ["pandas", "polars"])
def test_a_time_zone_that_nobody_knows(as_):
    """The moments stay, in UTC, and it is told; Arrow keeps the name."""
    need_module(as_)
    found = []
    frame = r.read(NOWHEN, format="dput", as_=as_, loss=found)
    assert "2001-09-09 01:46:40+00:00" == str(frame["t"][0])
    r.read(NOWHERE, format="dput", as_=as_, loss=found)
    assert ["$t@tzone", "@tzone"] == [loss.path for loss in found if not loss.is_information]
    assert "Nowhere/Land" == r.read(NOWHEN, format="dput", as_="arrow").schema.field("t").type.tz
    assert 1_000_000_000 == r.read(NOWHERE, format="dput", as_="robject")[0].timestamp()


def test_columns_and_encoding_through_the_front_door(tmp_path):
    """What is no data frame has none."""
    r.write({"a": 1}, tmp_path / "x.rds")
    with pytest.raises(Unsupported, match="data frames"):
        tare.read(tmp_path / "x.rds", columns=["a"])
    with pytest.raises(UsageError, match="data frame"):
        tare.convert(tmp_path / "x.rds", tmp_path / "x.json", columns=["a"])
    with pytest.raises(UsageError, match="klingon"):
        tare.open_dataset(tmp_path / "x.rds", encoding="klingon")
