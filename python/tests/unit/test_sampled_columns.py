"""Parts of tables of any type that Arrow files hold, also those that Arrow picks no rows of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tare.dataset import open_dataset
from tare.errors import Unsupported

ROWS = 600
WORDS = pa.array([None if k % 7 == 0 else f"a text of more than twelve bytes {k // 3}" for k in range(ROWS)])
RUNS = pc.run_end_encode(WORDS)
ENDS = np.arange(0, ROWS + 1, 2, dtype=np.int32)
COLUMNS = {
    "runs": RUNS,
    "runs in structs": pa.StructArray.from_arrays([RUNS], ["x"]),
    "runs in structs with nulls": pa.StructArray.from_arrays(
        [RUNS],
        fields=[pa.field("x", RUNS.type, metadata={"m": "m"})],
        mask=pa.array([k % 5 == 0 for k in range(ROWS)]),
    ),
    "runs in lists": pa.ListArray.from_arrays(ENDS, RUNS),
    "runs in maps": pa.MapArray.from_arrays(ENDS, pa.array(range(ROWS)), RUNS),
    "runs of codes": pa.RunEndEncodedArray.from_arrays(
        pa.array(range(1, ROWS + 1), pa.int32()), WORDS.dictionary_encode()
    ),
    "runs of views": pa.RunEndEncodedArray.from_arrays(
        pa.array(range(1, ROWS + 1), pa.int16()), WORDS.cast(pa.string_view())
    ),
    "views": WORDS.cast(pa.string_view()),
    "views in lists": pa.ListArray.from_arrays(ENDS, WORDS.cast(pa.string_view())),
    "views of lists": pa.ListViewArray.from_arrays(ENDS[:-1], np.full(ROWS // 2, 2, np.int32), WORDS),
    "uuids": pa.array([b"%016d" % k for k in range(ROWS)], pa.uuid()),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_part_has_the_rows_and_the_type(name: str, tmp_path: Any) -> None:
    """However it is drawn, and as a file for workers too."""
    column = COLUMNS[name]
    table = pa.table({"k": column, "n": pa.array(range(len(column)))})
    values = column.to_pylist()
    cut = pa.concat_tables([table.slice(0, 9), table.slice(9)])
    for data in (open_dataset(table), open_dataset(cut)):
        for how in ("random", "head", "stratify=n"):
            part = data.subset(0.4, how=how).value
            part.validate(full=True)
            assert part.schema.equals(data.value.schema)
            assert part.num_rows == 1 + round(len(column) * 0.4)
            assert part["k"].to_pylist() == [values[at] for at in part["n"].to_pylist()]
        saved = data.save_part(tmp_path / "x.arrow", 0.4)
        assert saved.hash == data.subset(0.4).hash()
        with pa.OSFile(str(tmp_path / "x.arrow"), "rb") as file:
            back = pa.ipc.open_file(file).read_all()
        assert back.to_pylist() == data.subset(0.4).value.to_pylist()


def test_groups_are_those_of_values() -> None:
    table = pa.table({"k": pc.run_end_encode(pa.array(["a"] * 80 + ["b"] * 20)), "n": range(100)})
    part = open_dataset(table).subset(0.49, how="stratify=k").value
    assert part["k"].to_pylist() == ["a"] * 40 + ["b"] * 10


def test_values_that_are_in_no_groups_are_told() -> None:
    table = pa.table({"k": [{"a": 1}, {"a": 2}, None] * 9})
    with pytest.raises(Unsupported, match=r"column 'k' .*struct<a: int64>.*groups"):
        open_dataset(table).subset(0.5, how="stratify=k")
