"""What the bytes of a given worker give is held against the data: what a language has no place for is no loss of its codec."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest import need
from pyarrow import ipc, parquet

from tare import measure
from tare.measure.foreign import command_of
from tare.measure.own_word import _compared
from tare.measure.session import Part


def compared(folder: Path, column: pa.Array, back: list[Any]) -> list[str]:
    """Paths that are lost of a table of one column, of which these tagged cells came back."""
    table = pa.table({"x": column})
    with ipc.new_file(folder / "x.arrow", table.schema) as file:
        file.write_table(table)
    part = Part(1.0, str(folder / "x.arrow"), "arrow", "table", len(table), len(table), table.nbytes, "")
    return [one["path"] for one in _compared(part, "perl", {"x": back})]


@pytest.mark.parametrize("ordered", [False, True])
def test_levels_are_left_to_verify(tmp_path: Path, ordered: bool) -> None:
    """Tagged values are texts: what no row has, and the order, are not among them. What a row has is."""
    kept = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int8()), ["b", "a", "z"], ordered=ordered)
    assert compared(tmp_path, kept, ["b", "a", "b"]) == []
    assert compared(tmp_path, kept, ["b", "b", "b"]) == ["x"]


def test_times_of_day_come_back_from_r_as_the_time_since_midnight(tmp_path: Path) -> None:
    need(shutil.which("Rscript") is not None, "R is not installed")
    times = pa.array([1, 3_720_000_000, None], pa.time64("us"))
    table = pa.table({"t": times, "s": pa.array([1, None, 86_399], pa.time32("s")), "n": [1, 2, 3]})
    parquet.write_table(table, tmp_path / "t.parquet")
    record = measure.run(
        str(tmp_path / "t.parquet"),
        codecs=("rds:r", "parquet:pyarrow"),
        time_s=8,
        workers={"r": shlex.join(command_of("r", {}))},
    ).record
    cases = [one for one in record["cases"] if one["labels"]["codec"] == "rds:r"]
    assert {one["status"] for one in cases} == {"ok"}, [(one["status"], one.get("reason")) for one in cases]
    assert not any(one["verify"].get(name) for one in cases for name in ("unchecked", "told"))
