"""Parts of tables of any type that Arrow files hold, also those that Arrow picks no rows of."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tare.dataset import Dataset, open_dataset
from tare.errors import Unsupported

ROWS = 600
WORDS = pa.array([None if k % 7 == 0 else f"a text of more than twelve bytes {k // 3}" for k in range(ROWS)])
RUNS = pc.run_end_encode(WORDS)
ENDS = np.arange(0, ROWS + 1, 2, dtype=np.int32)
NULLS = pa.array([k % 5 == 0 for k in range(ROWS // 2)])
VIEWS = WORDS.cast(pa.string_view())
CODES = pa.array([k % 2 for k in range(ROWS)], pa.int8())
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
    "views in views of lists": pa.ListViewArray.from_arrays(
        ENDS[:-1][::-1], np.full(ROWS // 2, 2, np.int32), VIEWS, mask=NULLS
    ),
    "views in large lists": pa.LargeListArray.from_arrays(ENDS.astype(np.int64), VIEWS, mask=NULLS),
    "views in large views of lists": pa.LargeListViewArray.from_arrays(
        ENDS[:-1].astype(np.int64), np.full(ROWS // 2, 2), VIEWS
    ),
    "views in lists of a size": pa.FixedSizeListArray.from_arrays(VIEWS, 2, mask=NULLS),
    "views in maps": pa.MapArray.from_arrays(ENDS, pa.array(range(ROWS)), VIEWS),
    "views in a sparse union": pa.UnionArray.from_sparse(CODES, [pa.array(range(ROWS)), VIEWS]),
    "views in a dense union": pa.UnionArray.from_dense(
        CODES, pa.array(range(ROWS), pa.int32()), [pa.array(range(ROWS)), VIEWS]
    ),
    "views of a type of its own": pa.ExtensionArray.from_storage(pa.opaque(VIEWS.type, "x", "y"), VIEWS),
    "bytes in views": WORDS.cast(pa.binary()).cast(pa.binary_view()),
    "runs of codes in lists": pa.ListArray.from_arrays(
        ENDS,
        pa.RunEndEncodedArray.from_arrays(
            pa.array(range(1, ROWS + 1), pa.int32()), WORDS.dictionary_encode()
        ),
    ),
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


@pytest.mark.parametrize("name", [name for name in COLUMNS if "views" in name])
def test_a_part_is_no_larger_than_the_whole(name: str, tmp_path: Any) -> None:
    """Slices of views each have all of their texts, and those of their batch: a part was many times the whole."""
    column = COLUMNS[name]
    data = Dataset(
        pa.table({"k": pa.concat_arrays([column] * 5)}), name="x"
    )  # as views, which are read as texts
    part = data.subset(0.5).value
    assert part.nbytes < data.value.nbytes
    data.save_part(tmp_path / "x.arrow", 0.5)
    assert (tmp_path / "x.arrow").stat().st_size < data.value.nbytes


CATEGORIES = {
    "one chunk": [pa.array(["a"] * 80 + ["b"] * 20).dictionary_encode()],
    "chunks of their own": [
        pa.array([letter] * size).dictionary_encode() for letter, size in (("a", 80), ("b", 20))
    ],
    "nulls": [
        pa.array(["a"] * 40).dictionary_encode(),
        pa.array(["a"] * 40 + [None] * 20).dictionary_encode(),
    ],
    "a level that is null": [pa.array(["a"] * 80 + [None] * 20).dictionary_encode("encode")],
    "levels that Arrow does not look up": [
        pa.DictionaryArray.from_arrays(pa.array([0] * 80 + [1] * 20, pa.int8()), pa.array([["a"], ["b"]]))
    ],
}


@pytest.mark.parametrize("name", CATEGORIES)
@pytest.mark.parametrize("own", [False, True], ids=["category", "extension"])
def test_each_category_has_its_share(name: str, own: bool) -> None:
    chunks: list[Any] = CATEGORIES[name]
    if own:
        chunks = [pa.ExtensionArray.from_storage(pa.opaque(one.type, "x", "y"), one) for one in chunks]
    part = open_dataset(pa.table({"k": pa.chunked_array(chunks)})).subset(0.49, how="stratify=k").value
    rows = pa.chunked_array(chunks).to_pylist()
    assert part["k"].to_pylist() == rows[:40] + rows[-10:]


def test_more_categories_than_codes_of_a_chunk_count() -> None:
    chunks = [
        pa.DictionaryArray.from_arrays(
            pa.array(list(range(100)) * 4, pa.int8()), [f"{at} {k}" for k in range(100)]
        )
        for at in range(2)
    ]
    part = open_dataset(pa.table({"k": pa.chunked_array(chunks)})).subset(0.499, how="stratify=k").value
    assert Counter(part["k"].to_pylist()) == {f"{at} {k}": 2 for at in range(2) for k in range(100)}


def test_groups_are_those_of_values() -> None:
    table = pa.table({"k": pc.run_end_encode(pa.array(["a"] * 80 + ["b"] * 20)), "n": range(100)})
    part = open_dataset(table).subset(0.49, how="stratify=k").value
    assert part["k"].to_pylist() == ["a"] * 40 + ["b"] * 10


def test_values_that_are_in_no_groups_are_told() -> None:
    table = pa.table({"k": [{"a": 1}, {"a": 2}, None] * 9})
    with pytest.raises(Unsupported, match=r"column 'k' .*struct<a: int64>.*groups"):
        open_dataset(table).subset(0.5, how="stratify=k")
