"""Times of day that Python has not: 24:00:00, which DuckDB writes, negative ones, nanoseconds. Arrow gives it others."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.capabilities import need_module

import tare
from tare import kinds
from tare.errors import Unsupported
from tare.fidelity.rebuild import rebuilt
from tare.fidelity.tables import compare_tables

DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def clocks(values: list[int | None], unit: str = "us") -> Any:
    small = unit in ("s", "ms")
    kind: Any = pa.time32(unit) if small else pa.time64(unit)
    return pa.array(values, pa.int32() if small else pa.int64()).view(kind)


def lists(column: Any) -> Any:
    return pa.ListArray.from_arrays(pa.array(range(len(column) + 1), pa.int32()), column)


def structs(column: Any) -> Any:
    return pa.StructArray.from_arrays([column], ["t"])


def maps(column: Any) -> Any:
    ends = pa.array(range(len(column) + 1), pa.int32())
    return pa.MapArray.from_arrays(ends, pa.array(["k"] * len(column)), column)


def levels(column: Any) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(range(len(column))), column)


def unions(column: Any) -> Any:
    return pa.UnionArray.from_sparse(pa.array([0] * len(column), pa.int8()), [column])


WITHIN = [lambda column: column, lists, structs, maps, levels, unions, lambda column: lists(structs(column))]


@pytest.mark.parametrize("within", WITHIN)
@pytest.mark.parametrize("unit", DAY)
def test_a_time_of_no_day_is_refused_in_its_row(within: Any, unit: str) -> None:
    for beyond in (DAY[unit], DAY[unit] + 5000, -1000):
        column = within(clocks([0, DAY[unit] - DAY[unit] // 24, None, beyond], unit))
        with pytest.raises(Unsupported, match=r"column 't', row 4: a value of type .* lies outside of a day"):
            kinds.values_of("t", pa.chunked_array([column.slice(0, 1), column.slice(1)]))
        table = pa.table({"t": column})
        with pytest.raises(Unsupported, match="row 4"):
            list(kinds.record_slices(table))


@pytest.mark.parametrize("within", WITHIN)
@pytest.mark.parametrize("unit", DAY)
def test_the_ends_of_a_day_are_of_it(within: Any, unit: str) -> None:
    column = within(clocks([0, DAY[unit] - DAY[unit] // 86_400, None], unit))
    kinds.values_of("t", pa.chunked_array([column]))


@pytest.mark.parametrize("within", WITHIN[1:])
def test_nanoseconds_are_refused_within_others_too(within: Any) -> None:
    column = pa.chunked_array([within(clocks([1000, None, 1001], "ns"))])
    with pytest.raises(Unsupported, match=r"'t', row 3: .* or has nanoseconds"):
        kinds.values_of("t", column)
    whole = kinds.values_of("t", column.slice(0, 2))
    assert "microsecond" in repr(whole[:1]) or ", 1)" in repr(whole[:1])


def test_what_is_under_a_null_or_between_rows_is_nothing() -> None:
    """Arrays may have anything there."""
    hidden = pa.StructArray.from_arrays([clocks([1, -1])], ["t"], mask=pa.array([False, True]))
    assert len(kinds.values_of("t", pa.chunked_array([hidden]))) == 2
    assert len(kinds.values_of("t", pa.chunked_array([clocks([-1, 1]).slice(1)]))) == 1
    unused = pa.DictionaryArray.from_arrays(pa.array([0, 0]), clocks([1, -1]))
    assert len(kinds.values_of("t", pa.chunked_array([unused]))) == 2


@pytest.mark.parametrize("within", WITHIN[:4])
def test_it_is_not_the_time_that_python_makes_of_it(within: Any) -> None:
    before = within(clocks([DAY["us"], 1]))
    for text in (["00:00:00", "00:00:00.000001"],):
        said = compare_tables(pa.table({"t": before}), pa.table({"t": within(pa.array(text))}))
        assert (said.verdict, [change.count for change in said.changes if change.verdict == "lossy"]) == (
            "lossy",
            [1],
        )


@pytest.mark.parametrize("to", ["json", "ndjson", "cbor", "msgpack", "yaml", "avro"])
@pytest.mark.parametrize("within", WITHIN[:2])
def test_no_file_has_another_time_instead(tmp_path: Path, to: str, within: Any) -> None:
    table = pa.table({"t": within(clocks([1, DAY["us"]])), "i": [1, 2]})
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(Unsupported, match=r"'t', row 2: a value of type .* lies outside of a day"):
        tare.convert(tmp_path / "t.parquet", tmp_path / f"t.{to}", verify=False)
    assert not (tmp_path / f"t.{to}").exists()


LEAST = -(2**63)


@pytest.mark.parametrize("kind", [pa.timestamp("ns"), pa.timestamp("ns", "UTC"), pa.duration("ns")])
@pytest.mark.parametrize("within", WITHIN)
def test_the_moment_that_is_none_to_pandas_is_refused(kind: Any, within: Any) -> None:
    column = within(pa.array([5, None, LEAST, LEAST + 1], pa.int64()).view(kind))
    with pytest.raises(Unsupported, match=r"column 't', row 3: "):
        kinds.values_of("t", pa.chunked_array([column]))
    assert len(kinds.values_of("t", pa.chunked_array([column.take(pa.array([0, 1, 3]))]))) == 3


@pytest.mark.parametrize("to", ["csv", "ndjson", "json", "bson", "cbor", "msgpack", "yaml"])
@pytest.mark.parametrize("kind", [pa.timestamp("ns"), pa.timestamp("ns", "UTC"), pa.duration("ns")])
def test_a_file_of_it_ends_in_a_word_or_has_it(tmp_path: Path, to: str, kind: Any) -> None:
    """And in no endless recursion."""
    table = pa.table({"t": pa.array([LEAST, 5], pa.int64()).view(kind)})
    if to == "csv":
        assert [change["verdict"] for change in tare.convert(table, tmp_path / "t.csv").changes] in (
            [],
            ["type"],
        )
        return
    with pytest.raises(tare.TareError, match=r"column 't', row 1: .* is no value to pandas"):
        tare.convert(table, tmp_path / f"t.{to}")


def test_the_rule_for_values_comes_to_an_end() -> None:
    """For what is a moment of nothing, and for moments of somebody's own type."""
    pandas = need_module("pandas")
    own = type("Own", (dt.datetime,), {})(2024, 1, 2)
    assert not rebuilt(pandas.NaT, "NaT")
    assert not rebuilt(pandas.NaT, None)
    assert rebuilt(own, "2024-01-02T00:00:00")
    assert not rebuilt(own, "2024-01-02T00:00:01")
