"""Columns of Python's values of several kinds: what Arrow takes for another kind is refused, and named."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.capabilities import need_module

import tare
from tare import kinds
from tare.errors import EncodeError

DAY = dt.date(2024, 1, 2)
MOMENT = dt.datetime(2024, 1, 2, 3, 4, 5)
IN_UTC = MOMENT.replace(tzinfo=dt.UTC)
CLOCK = dt.time(1, 2)
LENGTH = dt.timedelta(seconds=5)
NUMBERS = (5, True, 1.5, Decimal(5), np.int64(5), np.float32(5), uuid.UUID(int=5))
MIXED = [
    *((one, number) for one in (DAY, MOMENT, IN_UTC, CLOCK, LENGTH) for number in NUMBERS),
    (DAY, MOMENT),
    (DAY, IN_UTC),
    (MOMENT, IN_UTC),
    (IN_UTC, MOMENT),
    (MOMENT, DAY),
    ("x", b"x"),
    (b"x", "x"),
]
WITHIN = [
    lambda value: value,
    lambda value: {"in": value, "beside": 1},
    lambda value: [value],
    lambda value: [None, {"in": [value]}],
]


@pytest.mark.parametrize(("good", "other"), MIXED, ids=repr)
@pytest.mark.parametrize("within", WITHIN[:2])
def test_a_value_of_another_kind_is_refused(good: Any, other: Any, within: Any) -> None:
    """In the row that has it."""
    with pytest.raises(
        EncodeError, match=r"column 'a': no one type holds its values, from item 3 on: ."
    ) as told:
        kinds.column_of("a", [within(good), None, within(other), within(good)])
    assert told.value.item == 2


@pytest.mark.parametrize("within", WITHIN)
@pytest.mark.parametrize("numbers", [[DAY, 5], [DAY, MOMENT], [CLOCK, 1]], ids=repr)
def test_it_is_refused_however_deep(within: Any, numbers: list[Any]) -> None:
    with pytest.raises(EncodeError, match="no one type"):
        kinds.convert([{"a": within(one)} for one in numbers], "arrow")
    with pytest.raises(EncodeError, match="no one type"):
        kinds.column_of("a", [[within(one) for one in numbers]])


def test_numbers_beside_moments_of_numpy_end_no_process() -> None:
    """Arrow reads memory that is not there."""
    with pytest.raises(EncodeError, match="from item 2 on"):
        kinds.column_of("a", [np.datetime64("2024-01-02T03", "s"), np.int64(5)])
    assert kinds.column_of("a", [np.datetime64("2024-01-02T03", "s"), None]).null_count == 1


def moments() -> list[Any]:
    """Values with one of NumPy's moments beside something else, each of which is a column."""
    day, length, number = np.datetime64("2024-01-02", "s"), np.timedelta64(5, "s"), np.int64(5)
    pairs = [(day, number), (number, day), (day, length), (length, np.float64(1.5)), (5, day), (day, "x")]
    columns: list[Any] = [list(pair) for pair in pairs]
    columns += [[list(pair)] for pair in pairs]
    columns += [[None, [[one]], [[other]]] for one, other in pairs]
    columns += [[{"t": one}, {"t": other}] for one, other in pairs]
    columns += [[{"l": [{"t": one}, {"t": other}]}] for one, other in pairs]
    columns += [[(day, number)], [np.array([day, number], object)], [np.array([day]), np.array([5])]]
    return columns


@pytest.mark.parametrize("place", range(len(moments())))
def test_what_stands_beside_moments_of_numpy_is_refused_before_arrow_reads_it(place: int) -> None:
    """However deep, and in what every library holds; a crash would end this process."""
    cells = moments()[place]
    with pytest.raises(EncodeError, match="no one type"):
        kinds.column_of("a", cells)
    held = np.empty(len(cells), object)
    held[:] = cells
    pandas = need_module("pandas")
    with pytest.raises(EncodeError):
        kinds.convert(pandas.DataFrame({"a": pandas.Series(held, dtype=object)}), "arrow")
    with pytest.raises(EncodeError):
        tare.r.write(held, None, format="rds")


def test_moments_of_numpy_alone_stay() -> None:
    day = np.datetime64("2024-01-02T03", "s")
    moment = day.item()
    assert kinds.column_of("a", [day, None]).to_pylist() == [moment, None]
    assert kinds.column_of("a", [[day], None, []]).to_pylist() == [[moment], None, []]
    assert kinds.column_of("a", [{"t": day}, {}]).to_pylist() == [{"t": moment}, {"t": None}]
    assert kinds.column_of("a", [np.array([day, day])]).to_pylist() == [[moment, moment]]


def test_integers_beyond_63_bits_beside_it_loosen_nothing() -> None:
    with pytest.raises(EncodeError):
        kinds.column_of("a", [{"t": DAY, "n": 2**63}, {"t": 5, "n": 1}])


@pytest.mark.parametrize("within", WITHIN)
@pytest.mark.parametrize("value", [DAY, MOMENT, IN_UTC, CLOCK, LENGTH, b"x", "x"], ids=repr)
def test_values_of_one_kind_stay(within: Any, value: Any) -> None:
    column = kinds.column_of("a", [within(value), None, within(value)])
    assert kinds.values_of("a", pa.chunked_array([column])) == [within(value), None, within(value)]


def test_subclasses_are_of_the_kind_of_their_base() -> None:
    day, moment, data = (type("Own", (one,), {}) for one in (dt.date, dt.datetime, bytes))
    cells = [day(2024, 1, 2), DAY], [moment(2024, 1, 2), MOMENT], [data(b"x"), bytearray(b"y"), b"z"]
    assert [kinds.column_of("a", one).null_count for one in cells] == [0, 0, 0]


def test_neither_a_file_nor_a_message_has_it(tmp_path: Path) -> None:
    """Nothing is verified there, and no one would see it."""
    rows = [{"a": DAY}, {"a": 5}]
    for write in (lambda: tare.write(rows, tmp_path / "x.parquet"), lambda: tare.encode(rows, "parquet")):
        with pytest.raises(EncodeError, match=r"'a': .*from item 2 on: int beside date"):
            write()
    assert not any(tmp_path.iterdir())


def test_a_text_of_yaml_has_it_at_a_row(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("- a: 2024-01-02\n- a: 2024-01-02 03:04:05\n")
    with pytest.raises(EncodeError, match="from item 2 on"):
        tare.convert(tmp_path / "x.yaml", tmp_path / "x.parquet", verify=False)


def test_objects_of_pandas_are_not_taken_for_others_either() -> None:
    pandas = need_module("pandas")
    with pytest.raises(EncodeError, match="'a': no one type"):
        kinds.convert(pandas.DataFrame({"a": [DAY, 5]}), "arrow")
    frame = pandas.DataFrame({"a": [DAY, None, float("nan"), pandas.NaT, pandas.NA]})
    assert kinds.convert(frame, "arrow").column("a").to_pylist() == [DAY, None, None, None, None]


def test_what_has_nanoseconds_keeps_them_beside_what_has_none() -> None:
    """Or is refused, where the type is told by what stands before it."""
    pandas = need_module("pandas")
    moment, length = pandas.Timestamp(1), pandas.Timedelta(1)
    for plain, fine in ((MOMENT, moment), (LENGTH, length)):
        assert kinds.column_of("a", [plain, fine]).cast(pa.int64())[1].as_py() == 1
        with pytest.raises(EncodeError, match="nanoseconds"):
            kinds.column_of("a", [[plain, fine]])
    with pytest.raises(EncodeError):
        kinds.column_of("a", [DAY, pandas.NaT])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1.5, 2**96], "from item 2 on: a whole number of 97 bits, and types have 64"),
        (["x", "a\ud800"], r"from item 2 on: a text has half of a pair of surrogates, '\\ud800', of which UTF-8 has no bytes"),
        ([None, DAY, "x"], "from item 3 on: str beside date"),
        ([[1], "x"], "from item 2 on: str beside list"),
    ],
    ids=repr,
)  # fmt: skip
def test_why_no_type_holds_them_is_said_in_words(values: list[Any], said: str) -> None:
    """Arrow's own words name its functions and Python's types in C."""
    with pytest.raises(EncodeError, match=said):
        kinds.column_of("a", values)
