"""Ordered categories whose chunks or batches have levels of their own: one order that all of them have, or none."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather, ipc, parquet
from support.plans import one_round_plan

import tare
from tare import categories, kinds, measure, r, scale
from tare import io as tare_io
from tare.categories import Contradiction, Gathered, merged_order, same_levels
from tare.dataset import Dataset, load_saved
from tare.datasets.saving import is_stream
from tare.errors import EncodeError, WorkerError
from tare.fidelity import compare
from tare.formats import arrow
from tare.frames import pandas_by_types
from tare.measure.exchange import tables as exchange_tables
from tare.measure.worker_client.load_check import handed
from tare.scale.tasks import partition

SIZES = ["lo", "mid", "hi"]


def coded(codes, levels, *, ordered: bool = True):
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(levels), ordered=ordered)


def grown(ordered: bool = True) -> pa.Table:
    """`mid` is known to the second chunk alone, which says where it stands."""
    parts = [coded([0, 1], ["lo", "hi"], ordered=ordered), coded([0, 1, 2, None], SIZES, ordered=ordered)]
    return pa.table({"k": pa.chunked_array(parts)})


def contradicting() -> pa.Table:
    parts = [coded([0, 1], ["lo", "hi"]), coded([0, 1], ["hi", "lo"])]
    return pa.table({"n": range(4), "k": pa.chunked_array(parts)})


def nested(table: pa.Table, kind: str) -> pa.Table:
    """The column `k` within another type, chunk by chunk."""

    def within(chunk):
        if kind == "list":
            return pa.ListArray.from_arrays(list(range(len(chunk) + 1)), chunk)
        if kind == "map":
            return pa.MapArray.from_arrays(list(range(len(chunk) + 1)), pa.array(["x"] * len(chunk)), chunk)
        return pa.StructArray.from_arrays([pa.array([7] * len(chunk)), chunk], ["n", "k"])

    return pa.table({"k": pa.chunked_array([within(one) for one in table["k"].chunks])})


def levels_of(column: pa.ChunkedArray) -> set[tuple]:
    return {tuple(chunk.dictionary.to_pylist()) for chunk in column.chunks}


def stream(table: pa.Table, path) -> None:
    with ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("target", ["out.arrow", "out.parquet"])
def test_levels_stand_where_a_later_chunk_says(tmp_path, monkeypatch, target: str, streamed: bool) -> None:
    stream(grown(), tmp_path / "in.arrows")
    monkeypatch.setattr(tare_io, "STREAM_BYTES", 0 if streamed else 1 << 40)
    done = tare.convert(tmp_path / "in.arrows", tmp_path / target, verify=not streamed)
    assert (done.streamed, done.changes) == (streamed, [])
    back = tare.read(tmp_path / target)
    assert back.to_pylist() == grown().to_pylist()
    assert levels_of(back["k"]) == {tuple(SIZES)}


def test_unordered_levels_stay_in_order_of_appearance() -> None:
    chunks = same_levels(grown(ordered=False)["k"].chunks)
    assert {tuple(one.dictionary.to_pylist()) for one in chunks} == {("lo", "hi", "mid")}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("target", ["out.arrow", "out.parquet"])
def test_orders_that_contradict_each_other_are_refused(
    tmp_path, monkeypatch, target: str, streamed: bool
) -> None:
    stream(contradicting(), tmp_path / "in.arrows")
    monkeypatch.setattr(tare_io, "STREAM_BYTES", 0 if streamed else 1 << 40)
    with pytest.raises(EncodeError, match=r"column 'k': .*'lo' comes before 'hi'") as told:
        tare.convert(tmp_path / "in.arrows", tmp_path / target, verify=None if streamed else True)
    assert told.value.path == "k"
    assert [one.name for one in tmp_path.iterdir()] == ["in.arrows"]
    # A stream has a dictionary for each batch.
    done = tare.convert(tmp_path / "in.arrows", tmp_path / "out.arrows", codec="arrow:pyarrow,layout=stream,compression=lz4")  # fmt: skip
    assert done.changes == []
    assert tare.read(tmp_path / "out.arrows").equals(contradicting())


@pytest.mark.parametrize("kind", ["list", "struct", "map"])
@pytest.mark.parametrize("streamed", [False, True])
def test_within_other_types(tmp_path, monkeypatch, kind: str, streamed: bool) -> None:
    table = nested(grown(), kind)
    stream(table, tmp_path / "in.arrows")
    monkeypatch.setattr(tare_io, "STREAM_BYTES", 0 if streamed else 1 << 40)
    done = tare.convert(tmp_path / "in.arrows", tmp_path / "out.arrow", verify=not streamed)
    assert (done.streamed, done.changes) == (streamed, [])
    back = tare.read(tmp_path / "out.arrow")
    assert back.to_pylist() == table.to_pylist()
    inside = {"list": lambda a: a.values, "map": lambda a: a.items, "struct": lambda a: a.field(1)}[kind]
    assert {tuple(inside(one).dictionary.to_pylist()) for one in back["k"].chunks} == {tuple(SIZES)}
    stream(nested(contradicting(), kind), tmp_path / "other.arrows")
    with pytest.raises(EncodeError, match="'lo' comes before 'hi'"):
        tare.convert(tmp_path / "other.arrows", tmp_path / "other.arrow")


def of(*chunks) -> pa.Table:
    return pa.table({"k": pa.chunked_array([coded(range(len(one)), one) for one in chunks])})


def whole(*orders) -> pa.Table:
    """The values of the chunks `lo, hi` and `lo, mid, hi`, with levels in chunks as given."""
    values = ["lo", "hi", *SIZES]
    cuts = np.linspace(0, len(values), len(orders) + 1).astype(int)
    chunks = []
    for at, order in enumerate(orders):
        part = values[cuts[at] : cuts[at + 1]]
        chunks.append(coded([order.index(one) for one in part], order))
    return pa.table({"k": pa.chunked_array(chunks)})


@pytest.mark.parametrize("kind", [None, "list", "struct", "map"])
def test_the_comparison_knows_the_order_that_chunks_have(kind) -> None:
    """Chunks `lo, hi` and `lo, mid, hi` are `lo, mid, hi`; as the levels `lo, hi, mid` they are in another order."""
    verdicts = []
    for order in (SIZES, ["lo", "hi", "mid"]):
        before, after = of(["lo", "hi"], SIZES), whole(order)
        if kind is not None:
            before, after = nested(before, kind), nested(after, kind)
        assert before.to_pylist() == after.to_pylist()
        verdicts.append([compare(*pair, kind="table").verdict for pair in ((before, after), (after, before))])
    assert verdicts == [["same", "same"], ["lossy", "lossy"]]


@pytest.mark.parametrize("kind", [None, "list"])
def test_chunks_that_contradict_each_other_are_like_the_same_alone(kind) -> None:
    table, other = contradicting().select(["k"]), None
    other = pa.table({"k": table["k"].combine_chunks()})
    assert other.to_pylist() == table.to_pylist()
    if kind is not None:
        table, other = (
            nested(table, kind),
            nested(pa.table({"k": pa.chunked_array([other["k"].chunk(0)])}), kind),
        )
    assert compare(table, table, kind="table").verdict == "same"
    for pair in ((table, other), (other, table)):
        found = compare(*pair, kind="table")
        assert found.verdict == "lossy"
        assert "contradict" in found.changes[0].in_ + found.changes[0].out


def test_levels_that_are_structs_are_compared_too() -> None:
    """Arrow does not look these up."""
    kind = pa.struct([("a", pa.int64())])

    def table(*chunks):
        parts = [
            pa.DictionaryArray.from_arrays(
                pa.array(range(len(one)), pa.int8()), pa.array([{"a": n} for n in one], kind), ordered=True
            )
            for one in chunks
        ]
        return pa.table({"k": pa.chunked_array(parts)})

    assert compare(table([1, 3], [1, 2, 3]), table([1, 3], [1, 2, 3]), kind="table").verdict == "same"
    assert compare(table([1, 3], [3, 1]), table([1, 3], [3, 1]), kind="table").verdict == "same"


def test_parts_for_workers_have_that_order(tmp_path) -> None:
    data = Dataset(pa.concat_tables([grown()] * 50), name="x")
    for size in (1.0, 0.5):
        saved = data.save_part(tmp_path / str(size), size)
        part = load_saved(saved.path, saved.as_, "table")
        assert levels_of(part["k"]) == {tuple(SIZES)}
        assert levels_of(data.subset(size).value["k"].unify_dictionaries()) <= {
            tuple(SIZES),
            ("lo", "hi", "mid"),
        }
    assert levels_of(data.subset(0.5).value["k"]) == {tuple(SIZES)}
    assert Dataset(load_saved(tmp_path / "1.0", "arrow", "table"), name="y").hash() == data.hash()
    assert not is_stream(tmp_path / "1.0")


@pytest.mark.parametrize("size", [1.0, 0.5])
def test_parts_that_contradict_each_other_are_saved_batch_by_batch(tmp_path, size: float) -> None:
    """Python loads what it was; a language whose own tables are made of one dictionary is given none."""
    data = Dataset(pa.concat_tables([contradicting()] * 50), name="x")
    saved = data.save_part(tmp_path / "part", size)
    part = load_saved(saved.path, saved.as_, "table")
    assert (is_stream(saved.path), saved.items, part.num_rows) == (
        True,
        part.num_rows,
        {1.0: 200, 0.5: 101}[size],
    )
    assert levels_of(part["k"]) == {("lo", "hi"), ("hi", "lo")}
    wanted = data.value.to_pylist()
    assert all(row in wanted for row in part.to_pylist())
    assert Dataset(part, name="x").hash() == saved.hash
    for language in ("r", "node"):
        with pytest.raises(WorkerError, match=r"column 'k': .*'lo' comes before 'hi'") as told:
            handed(saved.path, saved.as_, language)
        assert told.value.type == "refused"
    assert handed(saved.path, saved.as_, "") == (saved.path, "arrow")
    tell = data.save(tmp_path / "whole")
    assert load_saved(tell["path"], tell["as"], "table").equals(data.value)


def test_languages_exchange_no_table_without_one_order() -> None:
    for table, count in ((grown(), 1), (contradicting(), 0)):
        own: dict = {}
        said = exchange_tables._add_own(table, own, {})
        assert len(own) == count
        assert ("column 'k'" in said) is not bool(count)


def test_a_run_weighs_what_needs_no_one_order() -> None:
    found = measure.run(contradicting(), plan=one_round_plan("json:orjson", "parquet:pyarrow"))
    cases = {one["labels"]["codec"]: one for one in found.cases}
    assert cases["json:orjson"]["bytes"]
    assert "column 'k'" in cases["parquet:pyarrow"]["reason"]
    assert cases["parquet:pyarrow"]["status"] == "refused"


def test_pandas_and_r_get_that_order() -> None:
    table = grown()
    assert list(pandas_by_types(table)["k"].cat.categories) == SIZES
    assert list(kinds.convert(table, "pandas")["k"].cat.categories) == SIZES
    back = r.read(r.write(table, None).data, as_="arrow")
    assert back["k"].chunk(0).dictionary.to_pylist() == SIZES
    assert r.read(r.write(table["k"], None).data, as_="arrow").dictionary.to_pylist() == SIZES


def test_one_dtype_of_pandas_however_a_category_is_cut(tmp_path) -> None:
    for ordered in (True, False):
        frame = kinds.convert(grown(ordered), "pandas")
        assert str(frame["k"].dtype) == "category"
        assert kinds.convert(frame, "arrow").to_pylist() == grown().to_pylist()
    apart = kinds.convert(contradicting(), "pandas")  # none of pandas' own holds both orders
    assert str(apart["k"].dtype) != "category"
    assert kinds.convert(apart, "arrow")["k"].equals(contradicting()["k"])
    stream(grown(), tmp_path / "in.arrows")
    done = tare.convert(tmp_path / "in.arrows", tmp_path / "out.pkl", codec="pickle:pandas", verify=True)
    assert done.changes == []
    back = tare.codec.Codec.parse("pickle:pandas").decode((tmp_path / "out.pkl").read_bytes(), trust=True)
    assert list(back["k"].cat.categories) == SIZES


def test_rows_of_a_stream_keep_the_levels_of_their_batches() -> None:
    codec = tare.codec.Codec.parse("arrow:pyarrow,layout=stream")
    for table in (grown(), contradicting()):
        some = arrow.FORMAT.library("pyarrow").rows(codec.encode(table), 1, 2, **codec.options)
        assert some.equals(table.slice(1, 2))
        assert levels_of(some["k"]) == levels_of(table["k"])


def placed(table: pa.Table) -> pa.Table:
    return table.append_column("p", pa.array(["x", "y"] * (len(table) // 2)))


@pytest.mark.parametrize("to", ["arrow", "parquet"])
@pytest.mark.parametrize("kind", [None, "struct"])
def test_partitions_have_that_order(tmp_path, to: str, kind: str | None) -> None:
    (tmp_path / "in").mkdir()
    for name, table in (("a", grown()), ("b", contradicting().select(["k"]))):
        stream(placed(table if kind is None else nested(table, kind)), tmp_path / "in" / f"{name}.arrows")
    done = scale.run(
        scale.plan_convert(tmp_path / "in", tmp_path / "o", to=to, partition="p"), executor="inline"
    )
    (failed,) = done.failures
    assert "'lo' comes before 'hi'" in str(failed)
    assert "b.arrows" in str(failed)
    read = feather.read_table if to == "arrow" else parquet.ParquetFile
    for value in "xy":
        (file,) = (tmp_path / "o" / f"p={value}").iterdir()
        found = read(file) if to == "arrow" else read(file).read()
        column = found["k"].chunk(0) if kind is None else found["k"].chunk(0).field("k")
        assert column.dictionary.to_pylist() == SIZES


def test_partitions_of_chunks_that_contradict_each_other_keep_their_values() -> None:
    table = placed(contradicting())
    found = dict(partition.partitions(table, "p"))
    assert {name: rows.num_rows for name, rows in found.items()} == {"p=x": 2, "p=y": 2}
    for name, rows in found.items():
        wanted = [row for row in table.to_pylist() if f"p={row['p']}" == name]
        assert rows.to_pylist() == [{"n": row["n"], "k": row["k"]} for row in wanted]
        assert levels_of(rows["k"]) == levels_of(table["k"])


def test_a_level_that_a_dictionary_has_twice_moves_no_other(monkeypatch) -> None:
    monkeypatch.setattr(categories, "_BYTES_AT_ONCE", 1)
    levels = Gathered(coded([], ["x"]).type)
    for one in (["x", "x", "b", "c"], ["b", "q", "c"], ["q", "c"]):
        levels.add(coded([0], one))
    assert levels.array().dictionary.to_pylist() == ["x", "b", "q", "c"]


@pytest.mark.parametrize("to", ["arrow", "parquet"])
@pytest.mark.parametrize("cut", [False, True])
def test_a_run_of_many_writes_that_order(tmp_path, to: str, cut: bool) -> None:
    """Of files, and of parts of one: each has row groups with levels of their own."""
    folder = tmp_path / "in"
    folder.mkdir()
    parts = [coded([0, 1] * 5000, ["lo", "hi"]), coded([0, 1, 2] * 3000, SIZES)]
    table = pa.table({"n": range(38_000), "k": pa.chunked_array([*parts, *parts])})
    with parquet.ParquetWriter(folder / "a.parquet", table.schema) as writer:
        for batch in table.to_batches():
            writer.write_batch(batch)
    stored = (folder / "a.parquet").stat().st_size
    scale.run(
        scale.plan_convert(folder, tmp_path / "o", to=to, split=stored * 3 // 4 if cut else None),
        executor="inline",
    )
    files = sorted((tmp_path / "o").rglob(f"*.{to}"))
    assert len(files) == (2 if cut else 1)
    read = feather.read_table if to == "arrow" else parquet.read_table
    found = [read(file) for file in files]
    assert sorted(row["n"] for one in found for row in one.to_pylist()) == list(range(38_000))
    for one in found:
        assert one["k"].unify_dictionaries().chunk(0).dictionary.to_pylist() == SIZES


def test_where_several_orders_fit_what_appeared_first_comes_first() -> None:
    assert merged_order([np.array([0, 1]), np.array([2])], 3).tolist() == [0, 1, 2]
    assert merged_order([np.array([1, 0]), np.array([2, 1]), np.array([3])], 4).tolist() == [2, 1, 0, 3]


@given(st.data())
def test_parts_of_one_order_give_an_order_of_all(data) -> None:
    size = data.draw(st.integers(1, 9))
    order = data.draw(st.permutations(range(size)))
    chains = [
        np.array([one for one in order if one in kept], np.int64)
        for kept in data.draw(st.lists(st.sets(st.sampled_from(order)), max_size=6))
    ]
    found = merged_order(chains, size).tolist()
    assert sorted(found) == list(range(size))
    for chain in chains:
        assert [one for one in found if one in chain] == chain.tolist()
    assert merged_order([*chains, np.array(order)], size).tolist() == order


@given(st.lists(st.lists(st.integers(0, 5), unique=True), min_size=1, max_size=6))
def test_an_order_is_refused_only_where_levels_stand_in_a_circle(chains) -> None:
    """Held against all that follows of the chains, one comparison after another."""
    before = {(a, b) for chain in chains for at, a in enumerate(chain) for b in chain[at + 1 :]}
    while more := {(a, d) for a, b in before for c, d in before if b == c} - before:
        before |= more
    try:
        found = merged_order([np.array(one, np.int64) for one in chains], 6).tolist()
    except Contradiction as error:
        first, second = error.places
        assert {(first, second), (second, first)} <= before
    else:
        assert all((a, a) not in before for a in range(6))
        assert all(found.index(a) < found.index(b) for a, b in before)


@pytest.mark.parametrize("ordered", [False, True])
def test_a_loss_that_is_told_of_a_factor_is_not_told_again_as_its_numbers(tmp_path, ordered) -> None:
    """Types that differ in how categories are numbered read alike: the loss of the levels says it all."""
    tare.write(pa.table({"k": coded([0, 1, 2], SIZES, ordered=ordered)}), tmp_path / "a.rds")
    done = tare.convert(tmp_path / "a.rds", tmp_path / "a.parquet", codec="parquet:polars")
    assert [loss["path"] for loss in done.losses] == ["$k@levels"]
    assert done.changes == []


def test_what_categories_come_back_as_is_said_in_words(tmp_path) -> None:
    """Elsewhere too, where nothing else tells it."""
    tare.write(pa.table({"k": coded([0, 1, 2], SIZES, ordered=False)}), tmp_path / "a.arrow")
    (told,) = tare.convert(tmp_path / "a.arrow", tmp_path / "a.parquet", codec="parquet:polars").changes
    assert (told["from"], told["to"]) == ("categories numbered by int8", "categories numbered by uint32")
