"""Types that ORC has no place for: a conversion casts them and tells it; what is measured refuses them as ever."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc

import tare
from tare.errors import EncodeError

COLUMNS: dict[str, tuple[Any, list[Any]]] = {
    "categories": (pa.array(["b", None, "b"]).dictionary_encode(), ["b", None, "b"]),
    "categories within": (
        pa.ListArray.from_arrays([0, 2, 2, 3], pa.array(["b", "a", "b"]).dictionary_encode()),
        [["b", "a"], [], ["b"]],
    ),
    "64 bits": (pa.array([2**64 - 1, None, 0], pa.uint64()), [Decimal(2**64 - 1), None, Decimal(0)]),
    "63 bits": (pa.array([2**63 - 1, None, 0], pa.uint64()), [2**63 - 1, None, 0]),
    "half floats": (pa.array([1.5, None, -0.0], pa.float16()), [1.5, None, -0.0]),
    "bytes of a byte": (pa.array([255, None, 0], pa.uint8()), [255, None, 0]),
    "times": (pa.array([dt.time(1, 2, 3, 4), None, dt.time()]), ["01:02:03.000004", None, "00:00:00.000000"]),
    "times in ns": (
        pa.array([1, None, 0], pa.time64("ns")),
        ["00:00:00.000000001", None, "00:00:00.000000000"],
    ),
    "lengths": (pa.array([1, None, -1], pa.duration("ms")), [1, None, -1]),
    "nothing": (pa.nulls(3), [None] * 3),
    "small decimals": (
        pa.array([Decimal("1.10"), None, Decimal("-0.05")], pa.decimal32(5, 2)),
        [Decimal("1.10"), None, Decimal("-0.05")],
    ),
    "decimals of 64 bits": (
        pa.array([Decimal("1.10"), None, Decimal(0)], pa.decimal64(15, 2)),
        [Decimal("1.10"), None, Decimal("0.00")],
    ),
    "hundreds": (
        pa.array([Decimal(1200), None, Decimal(-100)], pa.decimal128(10, -2)),
        [Decimal(1200), None, Decimal(-100)],
    ),
    "hundreds within": (
        pa.array([[Decimal(1200)], None, []], pa.list_(pa.decimal128(10, -2))),
        [[Decimal(1200)], None, []],
    ),
    "runs": (pa.RunEndEncodedArray.from_arrays([2, 3], ["a", None]), ["a", "a", None]),
    "runs of categories": (
        pa.RunEndEncodedArray.from_arrays([2, 3], pa.array(["a", None]).dictionary_encode()),
        ["a", "a", None],
    ),
    "runs of 64 bits": (
        pa.RunEndEncodedArray.from_arrays([1, 3], pa.array([2**64 - 1, 0], pa.uint64())),
        [Decimal(2**64 - 1), Decimal(0), Decimal(0)],
    ),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("verify", [True, False])
def test_a_conversion_casts_and_tells(name: str, verify: bool, tmp_path: Path) -> None:
    """What stands in the file is read with Arrow alone."""
    column, wanted = COLUMNS[name]
    table = pa.table({"c": column})
    done = tare.convert(table, tmp_path / "x.orc", verify=verify)
    assert orc.read_table(tmp_path / "x.orc")["c"].to_pylist() == wanted
    told = [change["path"] for change in done.changes] + [
        note.partition(":")[0].strip("'") for note in done.notes
    ]
    assert "c" in told
    assert {change["verdict"] for change in done.changes} <= {"type"}
    with pytest.raises(EncodeError):
        tare.encode(table, "orc")


def test_runs_within_others_are_refused_by_name_of_their_type(tmp_path: Path) -> None:
    runs = pa.StructArray.from_arrays([pa.RunEndEncodedArray.from_arrays([2, 3], ["a", None])], ["r"])
    with pytest.raises(EncodeError, match=r"orc:pyarrow: .*run_end_encoded"):
        tare.convert(pa.table({"c": runs}), tmp_path / "x.orc")
    assert not any(tmp_path.iterdir())


def test_an_order_of_categories_is_still_refused(tmp_path: Path) -> None:
    levels = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), ["lo", "hi"], ordered=True)
    with pytest.raises(EncodeError, match="would change"):
        tare.convert(pa.table({"o": levels}), tmp_path / "x.orc")


def test_what_cannot_be_read_back_is_said_so(tmp_path: Path) -> None:
    """Arrow's reader of ORC knows nanoseconds alone."""
    table = pa.table({"t": pa.array([dt.datetime(9999, 12, 31)], pa.timestamp("us"))})
    with pytest.raises(EncodeError, match=r"cannot be read back here to compare it: .* --no-verify"):
        tare.convert(table, tmp_path / "x.orc")
    assert tare.convert(table, tmp_path / "x.orc", verify=False).rows == 1
