"""The synthpop table: its shape, its sizes, and that it never changes."""

from __future__ import annotations

import hashlib
import io

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import csv, parquet

from tare.dataset import Dataset
from tare.datasets.places import PLACES, place_names
from tare.datasets.synthpop import COLUMNS, MAX_ROWS, batches, synthpop
from tare.errors import UsageError

ROWS = 100_000


@pytest.fixture(scope="module")
def people() -> pa.Table:
    return synthpop(ROWS)


def test_columns_and_types_are_those_of_the_study(people):
    """Thirteen columns: six of text, three int32, three booleans, one double."""
    assert list(COLUMNS) == people.column_names
    assert [str(t) for t in people.schema.types] == [
        "string", "int32", "string", "string", "int32", "string", "string",
        "bool", "bool", "int32", "bool", "double", "string",
    ]  # fmt: skip


def test_values_never_change():
    """The content hash of the first thousand rows is frozen: published sizes depend on it."""
    expected = "63cf24acad9645126188a9fc0f2d6fb8cfe4a91ab6831344f15fe6b4d58bffa5"
    assert expected == Dataset(synthpop(1000), name="x").hash()


def test_rows_do_not_depend_on_how_they_are_made():
    """Any start, number and batch size give the same rows."""
    whole = synthpop(1000)
    for rows in (1, 7, 333, 1000):
        parts = pa.Table.from_batches(list(batches(1000, batch_rows=rows)))
        assert parts.combine_chunks().equals(whole.combine_chunks())
    assert synthpop(10, start=500).equals(whole.slice(500, 10).combine_chunks())


def test_another_seed_gives_other_people():
    """Seeds differ in every column."""
    one, two = synthpop(500, seed=1), synthpop(500, seed=2)
    assert [name for name in COLUMNS if one[name].equals(two[name])] == []


def test_rows_far_out_are_as_good():
    """The counter does not repeat or overflow near the last row."""
    far = synthpop(1000, start=MAX_ROWS - 1000)
    assert 1000 == far.num_rows
    assert len(far["location"].unique()) > 300


def test_sizes_of_the_files_are_as_published(people):
    """Parquet 7.0 bytes a row and CSV 111, within ten per cent, at a million rows.

    At a tenth of the rows the dictionaries weigh more, so Parquet is judged on its data pages.
    """
    file = io.BytesIO()
    csv.write_csv(people, file)
    assert 100 <= file.tell() / ROWS <= 122.3
    file = io.BytesIO()
    parquet.write_table(people, file)
    assert 6.3 <= file.tell() / ROWS <= 7.7


def test_missing_and_distinct_values_are_plausible(people):
    """Seven columns have missing values; the others none."""
    shares = {name: people[name].null_count / ROWS for name in COLUMNS}
    assert {"agegr", "socprof", "income", "marital", "edu", "nociga", "bmi"} == {
        n for n, s in shares.items() if s
    }
    assert 0.2 < shares["income"] < 0.32
    assert 0.7 < shares["nociga"] < 0.8
    assert len(people["location"].unique()) > PLACES * 0.9


def test_values_agree_with_each_other(people):
    """Age groups hold their ages; only smokers have cigarettes; body mass is human."""
    for low, high, name in ((16, 24, "16-24"), (25, 34, "25-34"), (65, 120, "65+")):
        ages = people.filter(pc.equal(people["agegr"], name))["age"]
        limits = pc.min_max(ages).as_py()
        assert low <= limits["min"] <= limits["max"] <= high
    assert pc.sum(people.filter(pc.invert(people["smoke"]))["nociga"].is_valid()).as_py() == 0
    limits = pc.min_max(people["bmi"]).as_py()
    assert 10 < limits["min"] < limits["max"] < 60


def test_places_have_one_name_each():
    """Names are distinct, ASCII, and short for large places."""
    names = place_names()
    assert PLACES == len(set(names))
    assert all(name.isascii() for name in names)
    assert len(names[0]) < len(names[-1])


@pytest.mark.parametrize(("rows", "start"), [(-1, 0), (1, -1), (MAX_ROWS + 1, 0)])
def test_impossible_rows_are_refused(rows, start):
    """Negative and astronomical row numbers are a usage error."""
    with pytest.raises(UsageError, match="synthpop has"):
        synthpop(rows, start=start)


def test_no_rows_have_types():
    """Zero rows still have all columns."""
    assert (0, 13) == synthpop(0).shape


def test_numbers_use_integer_arithmetic_only():
    """The hash of the raw bytes of the integer columns is frozen too: no platform's libm is involved."""
    table = synthpop(4096, start=123_456)
    digest = hashlib.sha256()
    for name in ("age", "income"):
        digest.update(table[name].combine_chunks().fill_null(0).to_numpy().astype("<i4").tobytes())
    assert FROZEN == digest.hexdigest()[:16]


FROZEN = "f50c4fee375b1aa1"
