"""Columns of unions in formats whose lists hold values of any types: what is said of them is true."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from support.capabilities import need_codec

import tare
from tare.converting.changes import columns_changes

CHILDREN = [pa.array([1, 2, 3, 4]), pa.array(["a", "b", "c", "d"]), pa.array([1.5, 2.5, 3.5, None])]
UNION = pa.UnionArray.from_sparse(pa.array([0, 1, 2, 1], pa.int8()), CHILDREN)
FLAGS = pa.UnionArray.from_dense(
    pa.array([0, 1, 1, 0], pa.int8()),
    pa.array([0, 0, 1, 1], pa.int32()),
    [pa.array([1, 2]), pa.array([True, False])],
)
COLUMNS = {
    "top": (UNION, "integers, text and numbers"),
    "dense": (FLAGS, "integers and booleans"),
    "in lists": (pa.ListArray.from_arrays(pa.array([0, 2, 3, 4, 4], pa.int32()), UNION), "lists"),
    "in objects": (pa.StructArray.from_arrays([UNION], ["x"]), "objects"),
}


@pytest.mark.parametrize("to", ["json", "ndjson", "yaml", "msgpack", "cbor", "bson"])
@pytest.mark.parametrize("name", COLUMNS)
def test_a_union_comes_back_as_its_values(to: str, name: str, tmp_path: Path) -> None:
    """It was told to be text; within lists and objects it was refused, as if it had become text."""
    need_codec(to)
    array, became = COLUMNS[name]
    done = tare.convert(pa.table({"u": array}), tmp_path / f"x.{to}", codec=to, verify=True)
    assert [("u", "type", became)] == [(one["path"], one["verdict"], one["to"]) for one in done.changes]
    assert [row["u"] for row in tare.read(tmp_path / f"x.{to}", format=to)] == array.to_pylist()


@pytest.mark.parametrize("other", [[1, "c"], [2, "b"], [1], ["b", 1]])
def test_values_within_that_changed_are_lossy(other: list[object]) -> None:
    before = pa.table({"u": COLUMNS["in lists"][0]})
    cells = [other, *COLUMNS["in lists"][0].to_pylist()[1:]]
    assert "lossy" in {one["verdict"] for one in columns_changes(before, {"u": cells})}
