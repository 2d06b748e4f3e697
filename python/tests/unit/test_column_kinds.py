"""Columns of every kind that Arrow has, within every other: none breaks the comparison off, and what differs is found."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tare.fidelity.column_masks import whole
from tare.fidelity.tables import compare_tables

ROWS = 4
NAN = float("nan")
NUMBERS = pa.array([1, 2, 3, 4], pa.int32())
LISTS = [[1], None, [2, 3], []]


class Own(pa.ExtensionType):
    """A type of somebody's own, with whatever storage."""

    def __init__(self, storage: Any) -> None:
        super().__init__(storage, "tests.own")

    def __arrow_ext_serialize__(self) -> bytes:
        """What tells it from another of the same name."""
        return str(self.storage_type).encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: Any, serialized: bytes) -> Own:
        """The same of what was stored."""
        del serialized
        return cls(storage)


def own(array: Any) -> Any:
    """The array as one of an extension type."""
    return pa.ExtensionArray.from_storage(Own(array.type), array)


def sparse(*members: Any) -> Any:
    """A union of members in turn."""
    return pa.UnionArray.from_sparse(pa.array([0, 1, 0, 1], pa.int8()), list(members))


def dense(*members: Any) -> Any:
    """The same, without places for what is not there; codes that are no places."""
    places = pa.array([0, 0, 1, 1], pa.int32())
    return pa.UnionArray.from_dense(
        pa.array([5, 7, 5, 7], pa.int8()), places, list(members), ["m", "n"], [5, 7]
    )


KINDS: dict[str, Any] = {
    "numbers": pa.array([1, None, 3, 4]),
    "floats": pa.array([1.5, None, NAN, -0.0]),
    "texts": pa.array(["a", None, "c", ""]),
    "views of texts": pa.array(["a", None, "c", ""], pa.string_view()),
    "views of bytes": pa.array([b"a", None, b"c", b""], pa.binary_view()),
    "nothing": pa.nulls(ROWS),
    "decimals": pa.array([1, None, 3, 4]).cast(pa.decimal128(21, 2)),
    "moments": pa.array([1, None, 3, 4], pa.timestamp("ns", "UTC")),
    "intervals": pa.array([(1, 2, 3), None, (1, 2, 4), (0, 0, 0)], pa.month_day_nano_interval()),
    "lists": pa.array(LISTS, pa.list_(pa.int64())),
    "long lists": pa.array(LISTS, pa.large_list(pa.float64())),
    "views of lists": pa.array(LISTS, pa.list_view(pa.int64())),
    "long views of lists": pa.array(LISTS, pa.large_list_view(pa.float64())),
    "lists of views of texts": pa.array([["a"], None, ["b", None], []], pa.list_(pa.string_view())),
    "structs of views of bytes": pa.array([{"p": b"a"}, None, {"p": None}, {"p": b"d"}], pa.struct([("p", pa.binary_view())])),
    "two views of texts": pa.array([["a", "b"], None, ["c", None], ["d", "e"]], pa.list_(pa.string_view(), 2)),
    "lists of two": pa.array([[1, 2], None, [3, 4], [5, None]], pa.list_(pa.int64(), 2)),
    "maps": pa.array([[("a", 1)], None, [], [("b", None)]], pa.map_(pa.string(), pa.int64())),
    "structs": pa.array([{"p": 1}, None, {"p": None}, {"p": 4}], pa.struct([("p", pa.int64())])),
    "structs of nothing": pa.array([{}, None, {}, {}], pa.struct([])),
    "levels": pa.array(["a", None, "a", "b"]).dictionary_encode(),
    "levels of lists": pa.DictionaryArray.from_arrays(pa.array([0, None, 1, 0]), pa.array([[1], [2, 3]])),
    "levels of floats": pa.DictionaryArray.from_arrays(pa.array([0, None, 0, 1]), pa.array([NAN, 1.5])),
    "runs": pc.call_function("run_end_encode", [pa.array([1, 1, None, 4])]),
    "runs of lists": pa.RunEndEncodedArray.from_arrays(pa.array([2, 4], pa.int32()), pa.array([[1], [2, 3]])),
    "a dense union": dense(pa.array([1, 2]), pa.array(["a", None])),
    "a sparse union": sparse(pa.array([1, 2, 3, 4]), pa.array(["a", "b", "c", "d"])),
    "a union of floats": sparse(pa.array([NAN, 2, -0.0, 4]), pa.array([[1.5]] * 4)),
    "a type of its own": own(pa.array([1, None, 3, 4])),
    "lists of a type of their own": own(pa.array(LISTS, pa.list_(pa.int64()))),
    "uuids": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"a" * 16, None, b"c" * 16, b"d" * 16], pa.binary(16))),
}  # fmt: skip
ENDS = pa.array(range(ROWS + 1), pa.int32())
NAMES = pa.array(["a", "b", "c", "d"])
WITHIN: dict[str, Callable[[Any], Any]] = {
    "a column": lambda kind: kind,
    "structs": lambda kind: pa.StructArray.from_arrays([kind], ["u"]),
    "structs and nulls": lambda kind: pa.StructArray.from_arrays(
        [kind], ["u"], mask=pa.array([False, True, False, False])
    ),
    "lists": lambda kind: pa.ListArray.from_arrays(ENDS, kind),
    "views of lists": lambda kind: pa.ListViewArray.from_arrays(
        ENDS[:-1], pa.array([1] * ROWS, pa.int32()), kind
    ),
    "lists of one": lambda kind: pa.FixedSizeListArray.from_arrays(kind, 1),
    "maps": lambda kind: pa.MapArray.from_arrays(ENDS, NAMES, kind),
    "lists of structs": lambda kind: pa.ListArray.from_arrays(
        ENDS, pa.StructArray.from_arrays([kind, NAMES], ["u", "v"])
    ),
    "levels": lambda kind: pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3]), kind),
    "runs": lambda kind: pa.RunEndEncodedArray.from_arrays(ENDS[1:], kind),
    "a union": lambda kind: sparse(kind, kind),
    "a dense union": lambda kind: dense(kind, kind),
    "a type of its own": own,
}


def columns(kind: str) -> Iterator[Any]:
    """Yield columns of a kind within each other kind, as far as Arrow can hold them."""
    for within in WITHIN.values():
        with contextlib.suppress(pa.ArrowException, TypeError, ValueError):
            yield within(KINDS[kind])


def beside(column: Any, other: Any) -> Any:
    """Structs of both."""
    return pa.StructArray.from_arrays([column, other], ["u", "x"])


def found(before: Any, after: Any) -> tuple[str, int]:
    """The verdict on one column, and how many cells are lost."""
    said = compare_tables(pa.table({"c": before}), pa.table({"c": after}))
    return said.verdict, sum(change.count for change in said.changes if change.verdict == "lossy")


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_is_the_same_as_itself(kind: str) -> None:
    """Whole, and in parts."""
    for column in columns(kind):
        assert found(column, column) == ("same", 0), column.type
        assert found(column.slice(1, 2), column.slice(1, 2)) == ("same", 0), column.type
        parts = pa.chunked_array([column.slice(0, 1), column.slice(1)])
        assert found(parts, column) == ("same", 0), column.type


@pytest.mark.parametrize("kind", KINDS)
def test_of_no_rows_none_is_lost(kind: str) -> None:
    """Without chunks too, of which Arrow cannot make an array of every type."""
    for column in columns(kind):
        none = pa.chunked_array([], column.type)
        assert found(none, none) == ("same", 0), column.type
        # It may have levels.
        assert found(none, pa.chunked_array([column.slice(0, 0)]))[1] == 0, column.type
        assert found(none, pa.chunked_array([], pa.string()))[1] == 0, column.type


@pytest.mark.parametrize("kind", KINDS)
def test_what_stays_beside_another_type_is_not_lost(kind: str) -> None:
    wide = NUMBERS.cast(pa.int64())
    for column in columns(kind):
        before, after = beside(column, NUMBERS), beside(column, wide)
        assert found(before, after) == ("type", 0), column.type
        assert found(before.slice(1), after.slice(1)) == ("type", 0), column.type
        lists = [pa.ListArray.from_arrays(ENDS, one) for one in (before, after)]
        assert found(*lists) == ("type", 0), column.type
        assert found(*(one.slice(1, 2) for one in lists)) == ("type", 0), column.type


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_lost_beside_it_is_found(kind: str) -> None:
    truths = pa.array([True, True, False, True])
    for column in columns(kind):
        verdict, lost = found(beside(column, truths), beside(column, pa.array([1, 5, 0, 1])))
        assert (verdict, lost >= 1) == ("lossy", True), column.type


@pytest.mark.parametrize("kind", KINDS)
def test_rows_in_another_order_are_lost(kind: str) -> None:
    """What is beside them is the same."""
    for column in columns(kind):
        try:
            other = pa.concat_arrays([column.slice(at, 1) for at in (3, 1, 2, 0)])
        except pa.ArrowException:
            continue  # Arrow cannot
        if column.to_pylist() == other.to_pylist():
            continue
        assert found(column, other) == ("lossy", 2), column.type
        before, after = beside(column, NUMBERS), beside(other, NUMBERS)
        assert found(before, after) == ("lossy", 2), column.type
        assert found(before, beside(other, NUMBERS.cast(pa.int64())))[0] == "lossy", column.type


@pytest.mark.parametrize("kind", KINDS)
def test_a_list_that_became_longer_is_lost_alone(kind: str) -> None:
    """What is in the others is compared, whatever it is."""
    for column in columns(kind):
        before, after = (
            pa.ListArray.from_arrays(pa.array(ends, pa.int32()), column)
            for ends in ([0, 1, 2, 3], [0, 1, 2, 4])
        )
        assert found(before, after) == ("lossy", 1), column.type
        levels = [pa.DictionaryArray.from_arrays(pa.array([0, 2, 1, 0]), one) for one in (before, after)]
        assert found(*levels) == ("lossy", 1), column.type


def test_most_kinds_hold_most_others() -> None:
    """A loop over no columns would find nothing."""
    assert sum(1 for kind in KINDS for _ in columns(kind)) > 390


VIEWS = [pa.array(cells, pa.string_view()) for cells in (["a", None, "c", "d"], ["d", "c", None, "a"])]
HALVES = pa.array([1.5, None, 0.5, 1.5], pa.float32()).cast(pa.float16())


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        (*(WITHIN["maps"](WITHIN["lists"](WITHIN["runs"](one))) for one in (NUMBERS, NUMBERS[::-1])), 4),
        (*(WITHIN["maps"](WITHIN["lists of one"](WITHIN["runs"](one))) for one in (NAMES, NAMES[::-1])), 4),
        (
            *(WITHIN["levels"](WITHIN["maps"](sparse(one, one))) for one in VIEWS),
            4,
        ),
        (*[pa.FixedSizeListArray.from_arrays(WITHIN["levels"](HALVES), 1, mask=pa.array([True] * 4))] * 2, 0),
    ],
)
def test_what_arrow_mistakes_within_maps_and_lists_is_found(before: Any, after: Any, lost: int) -> None:
    """Its cast of a map takes other rows of runs within lists; a union in a flattened map ends the process."""
    assert found(before, after) == ("lossy" if lost else "same", lost)


FAR = 2**61
LEVELS = [
    pa.array([FAR, 1, FAR - 1], pa.timestamp("s")),
    pa.array([[FAR], [1], [FAR - 1]], pa.list_(pa.timestamp("s"))),
    pa.array([[1], [2], [3]], pa.list_(pa.time64("ns"))),
    pa.StructArray.from_arrays([NUMBERS[:3], NUMBERS[1:]], ["twice", "twice"]),
    pa.UnionArray.from_sparse(pa.array([0, 1, 1], pa.int8()), [NUMBERS[:3], pa.array([[1], [NAN], [2]])]),
    pa.array([[("a", 1)], [], [("a", None)]], pa.map_(pa.string(), pa.int64())),
    pa.array([["a"], ["b"], []], pa.list_(pa.string_view())),
]


@pytest.mark.parametrize("levels", LEVELS, ids=lambda levels: str(levels.type))
def test_levels_that_python_cannot_hold_are_told_apart(levels: Any) -> None:
    """Moments beyond its years, a name twice: in another order nothing is lost, and one that is gone is found."""
    before = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), levels)
    other = pa.DictionaryArray.from_arrays(pa.array([1, 0, 1]), whole(levels).take(pa.array([1, 0, 2])))
    if other.type == before.type:
        assert found(before, other) == ("type", 0)
    assert found(before, pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), levels[:2])) == ("lossy", 1)
    assert found(before, whole(levels).take(pa.array([0, 1, 0]))) == ("lossy", 1)
    chunks = pa.chunked_array([before, pa.DictionaryArray.from_arrays(pa.array([0, 1]), levels[1:])])
    assert found(chunks, pa.chunked_array([before, before.take(pa.array([1]))])) == ("lossy", 1)
    again = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 1, 2]), levels)
    assert found(chunks, again) == ("same", 0)


@pytest.mark.parametrize("levels", [pa.array([None, "a"]), pa.array([[1], [2]]), pa.array([NAN, 1.5])])
def test_levels_within_lists_may_be_others_in_each_chunk(levels: Any) -> None:
    """Arrow does not bring those together."""
    ends = pa.array([0, 1, 2], pa.int32())
    chunks = pa.chunked_array(
        [
            pa.ListArray.from_arrays(ends, pa.DictionaryArray.from_arrays(pa.array(places), some))
            for places, some in (([0, 1], levels), ([1, 0], levels.take(pa.array([1, 0]))))
        ]
    )
    assert found(chunks, chunks) == ("same", 0)
    plain = pa.ListArray.from_arrays(pa.array(range(5), pa.int32()), pa.concat_arrays([levels, levels]))
    assert found(chunks, plain) == ("type", 0)
    assert found(plain, chunks) == ("type", 0)


FLOATS = pa.array([0.5, 0.0, NAN, 1.0])
MAPS = pa.array([[("a", NAN)], None, [], [("a", 1.5)]], pa.map_(pa.string(), pa.float64()))
PAIRS = pa.array([[{"k": "a", "v": NAN}], None, [], [{"k": "a", "v": 1.5}]])
STRUCTS = pa.array([{"a": NAN, "b": 1.0}, None, {"a": 0.0, "b": None}, {"a": 1.5, "b": 2.0}])
AS_MAPS = [[("a", NAN), ("b", 1.0)], None, [("a", 0.0), ("b", None)], [("b", 2.0), ("a", 1.5)]]
NANS = pa.array([NAN, None, 0.0, 1.5])
BY_PARTS = [
    (WITHIN["lists"](NANS.dictionary_encode()), WITHIN["lists"](NANS)),
    (WITHIN["structs"](NANS.dictionary_encode()), WITHIN["structs"](NANS)),
    (WITHIN["structs"](NANS), WITHIN["structs"](NANS.dictionary_encode())),
    (MAPS, PAIRS),
    (PAIRS, MAPS),
    (WITHIN["structs and nulls"](MAPS), WITHIN["structs and nulls"](PAIRS)),
    (STRUCTS, pa.array(AS_MAPS, MAPS.type)),
    (pa.array([*AS_MAPS[:3], [("a", 1.5), ("b", 2.0)]], MAPS.type), STRUCTS),
    (WITHIN["a union"](NANS.cast(pa.float32())), WITHIN["a union"](NANS)),
    (WITHIN["a dense union"](WITHIN["lists"](NANS)), WITHIN["lists"](NANS.take(pa.array([0, 0, 1, 1])))),
    (WITHIN["lists"](MAPS), WITHIN["lists"](PAIRS)),
]


@pytest.mark.parametrize(("before", "after"), BY_PARTS)
def test_a_nan_within_what_arrow_does_not_cast_is_no_loss(before: Any, after: Any) -> None:
    """Members of lists, structs and maps are compared by the rules for single values, however deep."""
    assert found(before, after) == ("type", 0)
    assert found(before.slice(1), after.slice(1)) == ("type", 0)
    rows = pa.array([3, 1, 2, 0])
    if not pa.types.is_union(before.type):
        assert found(before, after.take(rows)) == ("lossy", 2)


def test_the_sign_of_a_zero_and_nanoseconds_there_are_not_lost_unseen() -> None:
    zeros = [[("a", 0.0)], [("a", -0.0)]]
    other = [[{"k": "a", "v": 0.0}], [{"k": "a", "v": 0.0}]]
    assert found(pa.array(zeros, MAPS.type), pa.array(other, PAIRS.type)) == ("lossy", 1)
    times, places = pa.array([1, 2], pa.time64("ns")), pa.array([0, 1, 2], pa.int32())
    maps = pa.MapArray.from_arrays(places, NAMES[:2], times)
    pairs = [
        pa.ListArray.from_arrays(places, pa.StructArray.from_arrays([NAMES[:2], one], ["k", "v"]))
        for one in (times, pa.array([1, 3], pa.time64("ns")))
    ]
    assert [found(maps, one) for one in pairs] == [("type", 0), ("lossy", 1)]


HIDDEN = [False, False, True, False]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (sparse(FLOATS, FLOATS), sparse(FLOATS, pa.array([9.5, 0.0, 9.5, 1.0])), ("same", 0)),
        (sparse(FLOATS, FLOATS), sparse(FLOATS, pa.array([0.5, -0.0, NAN, 1.0])), ("lossy", 1)),
        (sparse(FLOATS, NAMES), sparse(FLOATS, pa.array(["a", "b", "c", "x"])), ("lossy", 1)),
        (dense(FLOATS[:2], FLOATS[2:]), dense(FLOATS[:2], pa.array([NAN, 1.0, 7.0])), ("same", 0)),
        (dense(FLOATS[:2], FLOATS[2:]), dense(FLOATS[:2], pa.array([NAN, 7.0])), ("lossy", 1)),
        (
            pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [NUMBERS[:2], NUMBERS[:2]]),
            pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [NUMBERS[:2], NUMBERS[:2]]),
            ("lossy", 1),
        ),
    ],
)
def test_unions_are_compared_by_what_they_hold(before: Any, after: Any, said: tuple[str, int]) -> None:
    """Places that belong to no row, and which place a row has, are nothing; the sign of a zero is something."""
    assert found(before, after) == said
    structs = [pa.StructArray.from_arrays([one], ["u"]) for one in (before, after)]
    assert found(*structs) == said


@pytest.mark.parametrize(
    "kinds", [(FLOATS, [0.5, 0.0, 8.0, 1.0]), (NUMBERS, [1, 2, 8, 4]), (NAMES, ["a", "b", "x", "d"])]
)
@pytest.mark.parametrize("number", [NUMBERS, NUMBERS.cast(pa.int64())])
def test_what_lies_under_a_null_is_nothing(kinds: tuple[Any, list[Any]], number: Any) -> None:
    """Arrays may have anything there; a union in a struct has no null of its own."""
    plain, other = kinds[0], pa.array(kinds[1], kinds[0].type)
    for within in (lambda kind: kind, lambda kind: sparse(kind, kind)):
        before, after = (
            pa.StructArray.from_arrays([within(one), beside], ["u", "x"], mask=pa.array(HIDDEN))
            for one, beside in ((plain, NUMBERS), (other, number))
        )
        assert found(before, after)[1] == 0


def test_runs_of_another_extension_type_are_of_another_type() -> None:
    """Arrow says that the types are equal, and compares what is not there."""
    structs = pa.array([{"p": 1}] * ROWS, pa.struct([("p", pa.int64())]))
    before, after = (WITHIN["runs"](one) for one in (own(structs), KINDS["uuids"]))
    assert found(before, after) == ("lossy", ROWS)
    texts = pa.array(["1", "2", "3", "4"])
    json = pa.ExtensionArray.from_storage(pa.json_(), texts)
    assert found(WITHIN["runs"](own(texts)), WITHIN["runs"](json)) == ("type", 0)
