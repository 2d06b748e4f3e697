"""The content hash: what is told apart, and what of memory does not matter."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import ipc

from tare.dataset import open_dataset
from tare.datasets import hashed_columns
from tare.datasets.hashing import hash_table
from tare.frames import rows_alone

WORDS = ["b", None, "", "longer than the twelve bytes of a view", "b", "\u00fc", None, "c"] * 5


def hash_of(*chunks: Any, kind: Any = None) -> str:
    return open_dataset(pa.table({"k": pa.chunked_array(list(chunks), kind)})).hash()


def coded(codes: list[int | None], levels: list[Any], *, ordered: bool = False, width: Any = None) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(codes, width or pa.int8()), levels, ordered=ordered)


def listed(items: Any, size: int = 1) -> Any:
    return pa.ListArray.from_arrays(np.arange(0, len(items) + 1, size, dtype=np.int32), items)


def test_hashes_of_records_stay() -> None:
    """Those of tables without categories were published in records."""
    table = pa.table(
        {
            "n": [1, None],
            "t": ["a", "bc"],
            "b": [True, False],
            "l": [[1], None],
            "s": [{"x": 1.5}, {"x": -0.0}],
        }
    )
    assert hash_table(table) == "08d2a35c0076dd29baebb2c7dc58dc34c61121b44197fa040fc699524cd9eaf5"


def test_hashes_of_long_columns_of_texts_stay() -> None:
    """They hold the first bytes of the next rows, as Arrow serializes them; of the values, whatever lies there."""
    rows = [f"row {k}" for k in range(70_000)]
    for next_, frozen in (
        ("b", "9d74efee984ab976cda116ad9690349ecba0974b00c0cb2e20f4395510216a2e"),
        (None, "9c6d2af6c3f5b30c1d1b0b2c0380300f7770034f8a09fb9b0e92734a2689a98e"),
        ("", "42c0aa92b9faf268db198ea499bcd1107ac1e269db08d1c08250ecc797b19258"),
    ):
        rows[65_536:69_990] = [next_] * 4454
        column = pa.array(rows)
        found = {hash_of(column), hash_of(column.slice(0, 65_536), column.slice(65_536))}
        assert found == {frozen}
    valid = pa.array([True] * 65_536 + [None] * 4454 + [True] * 10).buffers()[0]
    texts = pa.array(["something"] * 70_000)
    hidden = pa.Array.from_buffers(pa.string(), 70_000, [valid, *texts.buffers()[1:]])
    assert hash_of(hidden) == hash_of(pa.array(hidden.to_pylist()))


@pytest.mark.parametrize(
    "wrap",
    [
        lambda one: one,
        listed,
        lambda one: pa.StructArray.from_arrays([one], ["x"]),
        lambda one: listed(pa.StructArray.from_arrays([one], ["x"])),
        lambda one: pa.FixedSizeListArray.from_arrays(one, 1),
        lambda one: pa.MapArray.from_arrays(np.arange(len(one) + 1, dtype=np.int32), one, one),
        lambda one: pa.RunEndEncodedArray.from_arrays(pa.array(range(1, len(one) + 1), pa.int32()), one),
        lambda one: pa.UnionArray.from_sparse(pa.array([0] * len(one), pa.int8()), [one]),
        lambda one: pa.ExtensionArray.from_storage(pa.opaque(one.type, "x", "y"), one),
    ],
    ids=["column", "list", "struct", "structs", "fixed", "map", "runs", "union", "extension"],
)
def test_categories_are_told_apart(wrap: Any) -> None:
    """By their values, by their levels, by the order of these, and by whether they are ordered."""
    different = [
        coded([0, 0], ["b"]),
        coded([0, 0], ["z"]),
        coded([0, 1], ["b", "z"]),
        coded([0, 0], ["b", "z"]),
        coded([1, 1], ["z", "b"]),
        coded([0, 0], ["b", "z"], ordered=True),
        coded([0, 0], ["b"], width=pa.int32()),  # another type
        pa.array(["b", "b"]),
    ]
    assert len({hash_of(wrap(one)) for one in different}) == len(different)


def test_levels_are_those_of_all_chunks_in_their_order() -> None:
    whole = coded([0, 1, 2, None], ["b", "z", "a"])
    parts = [coded([0, 1], ["b", "z"]), coded([0, None], ["a", "b"])]
    assert hash_of(whole) == hash_of(*parts) == hash_of(whole.slice(0, 1), whole.slice(1))
    assert hash_of(whole) != hash_of(parts[1], parts[0])
    held = listed(whole), [listed(one) for one in parts]
    assert hash_of(held[0]) == hash_of(*held[1])
    null_level = coded([0, 2], ["b", None, "z"])
    assert hash_of(coded([0, 1], ["b", None])) == hash_of(coded([0, None], ["b", None]))
    assert hash_of(null_level) != hash_of(coded([0, 1], ["b", "z"]))


class Counting:
    """Counts what a digest is fed."""

    fed = 0

    def update(self, data: Any) -> None:
        self.fed += len(data)


@pytest.mark.parametrize("wrap", [lambda one: one, listed], ids=["column", "list"])
def test_each_level_is_hashed_once(wrap: Any) -> None:
    """Four levels of 20 KB: codes and levels are 143 KB, decoded values 1.3 GB."""
    levels = pa.array([letter * 20_000 for letter in "abcd"])
    column = wrap(pa.DictionaryArray.from_arrays(pa.array(np.arange(65_536) % 4, pa.int32()), levels))
    digest = Counting()
    hashed_columns.hash_column(digest, pa.chunked_array([column.slice(0, 9), column.slice(9)]))
    assert 140_000 < digest.fed < 800_000


def test_the_number_of_a_level_depends_on_no_chunk() -> None:
    """Chunks with dictionaries of their own, levels that are there twice, and more levels than the codes of a chunk count."""
    once = coded([0, 1, 0, 2, None], ["b", "z", "a"])
    own = [coded([0, 1], ["b", "z"]), coded([1], ["z", "b", "z"]), coded([0, None], ["a"])]
    order = [coded([0, 1, 0], ["b", "z"], ordered=True), coded([1, None], ["b", "a", "z"], ordered=True)]
    for wrap in (lambda one: one, listed, lambda one: pa.StructArray.from_arrays([one, one], ["x", "y"])):
        assert hash_of(wrap(once)) == hash_of(*map(wrap, own))
        sorted_ = coded([0, 2, 0, 1, None], ["b", "a", "z"], ordered=True)
        assert hash_of(wrap(sorted_)) == hash_of(*map(wrap, order))
    many = [coded(list(range(100)), [f"{k} {at}" for k in range(100)]) for at in range(3)]
    cut = [part for one in many for part in (one.slice(0, 30), one.slice(30))]
    assert hash_of(*many) == hash_of(*cut) != hash_of(many[1], many[0], many[2])


def test_categories_within_one_column_are_told_apart() -> None:
    """Levels that two fields of a struct share have one number; which field has which is told."""
    b, z = coded([0, 1], ["b", "z"]), coded([1, 0], ["z", "b"])
    pairs = [
        (b, b),
        (b, z),
        (z, b),
        (z, z),
        (b, coded([0, 1], ["b", "z", "a"])),
        (coded([0, 1], ["b", "z", "a"]), b),
    ]
    found = {hash_of(pa.StructArray.from_arrays(list(pair), ["x", "y"])) for pair in pairs}
    assert len(found) == len(pairs)


def test_rows_without_a_column_are_counted(tmp_path: Any) -> None:
    assert len({hash_table(rows_alone(count)) for count in (0, 3, 5)}) == 3
    data = open_dataset(rows_alone(9))
    saved = data.save_part(tmp_path / "x.arrow", 0.5)
    assert saved.hash == data.subset(0.5).hash() == open_dataset(tmp_path / "x.arrow").hash()


def test_levels_of_any_type() -> None:
    nan, other = (np.array([bits], "u8").view("f8") for bits in (0x7FF8 << 48, (0x7FF8 << 48) + 1))
    structs = [pa.array([{"a": 1}, {"a": 2}]), pa.array([{"a": 1}, {"a": 3}])]
    for one, two in ((pa.array(nan), pa.array(other)), (pa.array([0.0]), pa.array([-0.0])), structs):
        assert hash_of(coded([0], one)) == hash_of(coded([0], one), coded([], one))
        assert hash_of(coded([0], one)) != hash_of(coded([0], two))


def test_a_saved_part_has_the_hash_of_what_it_holds(tmp_path: Any) -> None:
    rows = [None if k % 7 == 0 else f"w{k % 90}" for k in range(3000)]
    column = pa.array(rows).dictionary_encode()
    data = open_dataset(pa.table({"k": column, "l": listed(column), "s": pa.array(rows)}))
    for size in (1.0, 0.3):
        saved = data.save_part(tmp_path / "x.arrow", size)
        assert saved.hash == data.subset(size).hash() == open_dataset(tmp_path / "x.arrow").hash()


def forms(random_: random.Random) -> dict[str, Any]:
    """Arrays of many types with nulls at every depth and something under them."""
    words = pa.array(WORDS)
    size = len(words)
    under = pa.Array.from_buffers(  # a null at every third place, and a value under it
        pa.int64(),
        size,
        [
            pa.py_buffer(np.packbits(np.arange(size) % 3 > 0, bitorder="little").tobytes()),
            pa.py_buffer(np.arange(size)),
        ],
    )
    mask = pa.array([random_.random() < 0.3 for _ in range(size)])
    ends = np.sort(np.array([0, *(random_.randrange(size) for _ in range(size - 1)), size], np.int32))
    nested = pa.StructArray.from_arrays([under, words], ["n", "w"], mask=mask)
    codes = pa.array([random_.randrange(2) for _ in range(size)], pa.int8())
    places = pa.array(range(size), pa.int32())
    runs = pc.run_end_encode(words)
    starts = pa.array(ends[:-1][::-1], pa.int32())
    lengths = pa.array(np.diff(ends)[::-1], pa.int32())
    sparse = pa.UnionArray.from_sparse(codes, [under, words])
    return {
        "numbers": under,
        "words": words,
        "booleans": pc.equal(under, 3),
        "lists": pa.ListArray.from_arrays(pa.array(ends, pa.int32()), nested, mask=mask),
        "booleans in lists": pa.ListArray.from_arrays(ends, pc.equal(words, "b").fill_null(True)),
        "fixed": pa.FixedSizeListArray.from_arrays(pa.concat_arrays([under, under]), 2, mask=mask),
        "maps": pa.MapArray.from_arrays(ends, pa.array(range(size)), under),
        "structs": pa.StructArray.from_arrays([nested, under], ["s", "n"]),
        "codes": words.dictionary_encode(),
        "codes in lists": pa.ListArray.from_arrays(ends, words.dictionary_encode()),
        "runs": runs,
        "runs in structs": pa.StructArray.from_arrays([runs], ["r"]),
        "views": words.cast(pa.string_view()),
        "views of lists": pa.ListViewArray.from_arrays(starts, lengths, words),
        "sparse": sparse,
        "dense": pa.UnionArray.from_dense(codes, places, [under, words]),
        "unions in structs": pa.StructArray.from_arrays([sparse], ["u"], mask=mask),
        "unions in lists": pa.ListArray.from_arrays(ends, sparse),
    }


@pytest.mark.parametrize("rows", [65_536, 16])
def test_it_does_not_matter_how_values_lie_in_memory(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks, offsets, what is behind a slice; and a row that is another one changes the hash."""
    monkeypatch.setattr(hashed_columns, "_ROWS", rows)
    random_ = random.Random(5)
    for name, array in forms(random_).items():
        size = len(array)
        ends = sorted({0, size, *(random_.randrange(size) for _ in range(4))})
        slices = [array.slice(a, b - a) for a, b in pairwise(ends)]
        copies = [pa.concat_arrays([one, one.slice(0, 0)]) for one in slices]
        moved = pa.concat_arrays([array.slice(size - 3), array]).slice(3)
        longer = pa.concat_arrays([array, array.slice(1, 9)]).slice(0, size)
        found = {hash_of(*chunks) for chunks in ([array], slices, copies, [moved], [longer])}
        assert len(found) == 1, name
        values = array.to_pylist()
        place = next(at for at in range(size) if values[at] != values[-1])
        other = pa.concat_arrays([array.slice(0, size - 1), array.slice(place, 1)])
        assert hash_of(other) not in found, name


def test_what_no_row_shows_does_not_matter() -> None:
    """What stands under a null of an item or of a field, in no view of a list, in the other members of a union."""
    bits = pa.py_buffer(b"\x01")
    hidden = pa.Array.from_buffers(pa.int64(), 2, [bits, pa.py_buffer(np.array([1, 7]))])
    plain = pa.array([1, None])
    assert hash_of(listed(hidden, 2)) == hash_of(listed(plain, 2))
    assert hash_of(pa.StructArray.from_arrays([hidden], ["x"])) == hash_of(
        pa.StructArray.from_arrays([plain], ["x"])
    )
    views = [
        pa.ListViewArray.from_arrays([0], [1], pa.array([1])),
        pa.ListViewArray.from_arrays([1], [1], pa.array([5, 1])),
    ]
    assert hash_of(views[0]) == hash_of(views[1]) != hash_of(pa.ListViewArray.from_arrays([0], [1], [5]))
    unions = [
        pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1]), pa.array([text])])
        for text in ("a", "b")
    ]
    assert hash_of(unions[0]) == hash_of(unions[1])
    ones = pa.BooleanArray.from_buffers(pa.bool_(), 5, [None, pa.py_buffer(b"\xff")])
    assert hash_of(ones) == hash_of(pa.array([True] * 5))
    assert hash_of(listed(ones)) == hash_of(listed(pa.array([True] * 5)))


def test_nulls_at_each_depth_are_told_apart() -> None:
    kind = pa.list_(pa.list_(pa.int64()))
    values = [[[1]], [[]], [], None, [None], [[None]], [[1], []], [[], [1]], [[1, None]], [[None, 1]]]
    assert len({hash_of(pa.array([one], kind)) for one in values}) == len(values)


def test_more_than_offsets_of_32_bits_lead_to() -> None:
    """Lists of nulls take no memory. Three chunks are no array, whatever is done."""
    many = pa.ListArray.from_arrays(pa.array([0, 1 << 30], pa.int32()), pa.nulls(1 << 30))
    wide = pa.StructArray.from_arrays([many, pa.array(["a"]).dictionary_encode()], ["l", "k"])
    for one in (many, wide):
        assert hash_of(one, one, one) == hash_of(one, one.slice(0, 0), one, one) != hash_of(one, one)


@pytest.mark.parametrize(
    "kind",
    [
        pa.dense_union([pa.field("a", pa.int64()), pa.field("b", pa.string())]),
        pa.list_(pa.uuid()),
        pa.run_end_encoded(pa.int32(), pa.string()),
        pa.dictionary(pa.int8(), pa.list_(pa.string())),
        pa.list_view(pa.string_view()),
    ],
    ids=str,
)
def test_a_table_without_rows_of_any_type(kind: Any, tmp_path: Any) -> None:
    """An Arrow file without batches: Arrow can make no empty array of some types."""
    with ipc.new_file(tmp_path / "x.arrow", pa.schema([pa.field("k", kind)])):
        pass
    assert len(open_dataset(tmp_path / "x.arrow").hash()) == 64


@pytest.mark.parametrize(
    "kind", [pa.dictionary(pa.int32(), pa.string()), pa.list_(pa.dictionary(pa.int8(), pa.string()))]
)
def test_a_table_without_rows_has_one_hash(kind: Any) -> None:
    """With no chunk, with an empty one, and with several."""
    schema = pa.schema({"c": kind})
    none = pa.Table.from_batches([], schema)
    empty = pa.RecordBatch.from_pylist([], schema)
    assert (
        len(
            {
                hash_table(one)
                for one in (
                    none,
                    pa.Table.from_batches([empty], schema),
                    pa.Table.from_batches([empty] * 3, schema),
                )
            }
        )
        == 1
    )
