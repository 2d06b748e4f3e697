"""Categories whose levels grow from one row group to the next: an Arrow file has room for one dictionary of a column."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyarrow import feather, ipc, parquet
from support.plans import one_round_plan

import tare
from tare import categories, measure, scale
from tare import io as tare_io
from tare.categories import one_dictionary
from tare.converting.dictionaries import columns_with_levels, of_one_dictionary, with_all_levels
from tare.dataset import Dataset, load_saved
from tare.datasets.source import Source
from tare.errors import EncodeError, Unsupported

LETTERS = "abc"


def grown(rows: int = 1000) -> pa.Table:
    """Three chunks, each of one level of its own, plain, in lists and in structs."""
    parts = []
    for letter in LETTERS:
        coded = pa.array([letter] * rows).dictionary_encode()
        lists = pa.ListArray.from_arrays(list(range(rows + 1)), coded)
        records = pa.StructArray.from_arrays([coded, pa.array(range(rows))], ["k", "n"])
        parts.append(pa.table({"n": range(rows), "k": coded, "l": lists, "s": records}))
    return pa.concat_tables(parts)


@pytest.mark.parametrize("size", [1.0, 0.5])
def test_a_table_is_saved_for_workers(tmp_path, size: float) -> None:
    table = grown()
    data = Dataset(table, name="x")
    saved = data.save_part(tmp_path / "part", size)
    part = load_saved(saved.path, "arrow", "table")
    assert part.to_pylist() == data.subset(size).value.to_pylist()
    levels = len(set(part["k"].to_pylist()))
    assert {len(chunk.dictionary) for chunk in part["k"].chunks} == {levels}
    assert table.equals(grown()), "the user's own table was changed"
    data.save(tmp_path / "saved")
    assert load_saved(tmp_path / "saved", "arrow", "table").to_pylist() == table.to_pylist()
    assert table.equals(grown()), "the user's own table was changed"


def test_one_dictionary_in_all_chunks_is_taken_as_it_is(tmp_path) -> None:
    """Also where Arrow brings none together, as of a null among levels; nothing is looked up."""
    coded = pa.DictionaryArray.from_arrays([0, 1], ["a", None])
    table = pa.table({"k": pa.chunked_array([coded, coded])})
    assert one_dictionary(table)["k"].chunk(1).dictionary is not None
    Dataset(table, name="x").save_part(tmp_path / "x")
    assert load_saved(tmp_path / "x", "arrow", "table").to_pylist() == table.to_pylist()
    assert tare.decode(tare.encode(table, "arrow"), "arrow").to_pylist() == table.to_pylist()


def test_codes_that_count_no_further_are_no_reason_to_refuse_parquet(tmp_path, monkeypatch) -> None:
    """100 levels in each of two batches, by codes of 8 bits: an Arrow file has no room for them, and says so."""
    parts = [
        pa.DictionaryArray.from_arrays(pa.array(range(100), pa.int8()), [f"{batch}-{n}" for n in range(100)])
        for batch in range(2)
    ]
    table = pa.table({"k": pa.chunked_array(parts)})
    with ipc.new_stream(tmp_path / "in.arrows", table.schema) as writer:
        writer.write_table(table)
    monkeypatch.setattr(tare_io, "STREAM_BYTES", 0)
    tare.convert(tmp_path / "in.arrows", tmp_path / "out.parquet", verify=False)
    assert tare.read(tmp_path / "out.parquet").to_pylist() == table.to_pylist()
    with pytest.raises(EncodeError, match="Dictionary replacement"):
        tare.convert(
            tmp_path / "in.arrows",
            tmp_path / "out.arrow",
            verify=False,
            codec="arrow:pyarrow,compression=lz4",
        )


@pytest.mark.parametrize("target", ["out.arrow", "out.parquet"])
@pytest.mark.parametrize("names", [["p", "p"], ["a.b", "a"]])
def test_columns_that_a_name_does_not_tell_apart(
    tmp_path, monkeypatch, names: list[str], target: str
) -> None:
    parts = [
        pa.record_batch([pa.array([n]), pa.array([letter]).dictionary_encode()], names)
        for n, letter in enumerate(LETTERS)
    ]
    with ipc.new_stream(tmp_path / "in.arrows", parts[0].schema) as writer:
        for part in parts:
            writer.write_batch(part)
    monkeypatch.setattr(tare_io, "STREAM_BYTES", 0)
    done = tare.convert(tmp_path / "in.arrows", tmp_path / target, verify=False)
    assert done.streamed
    read = parquet.read_table if target == "out.parquet" else feather.read_table
    back = (
        read(tmp_path / target) if target != "out.parquet" else parquet.ParquetFile(tmp_path / target).read()
    )
    assert [column.to_pylist() for column in back.columns] == [[0, 1, 2], list(LETTERS)]


def test_a_row_group_repeats_no_levels_of_others(tmp_path, monkeypatch) -> None:
    """Twenty batches of names of their own: as large as each with its own, but for the levels that all begin with."""
    parts = [
        pa.record_batch({"k": pa.array([f"name {n * 4000 + at}" for at in range(4000)]).dictionary_encode()})
        for n in range(20)
    ]
    with ipc.new_stream(tmp_path / "in.arrows", parts[0].schema) as writer:
        for part in parts:
            writer.write_batch(part)
    monkeypatch.setattr(tare_io, "STREAM_BYTES", 0)
    done = tare.convert(tmp_path / "in.arrows", tmp_path / "out.parquet", verify=False)
    assert done.streamed
    with parquet.ParquetWriter(tmp_path / "own.parquet", parts[0].schema) as writer:
        for part in parts:
            writer.write_batch(part)
    assert done.bytes_out < 2.5 * (tmp_path / "own.parquet").stat().st_size
    assert tare.read(tmp_path / "out.parquet")["k"].to_pylist() == [f"name {n}" for n in range(80_000)]


def test_parts_of_a_run_of_many_go_to_arrow(tmp_path) -> None:
    """Each part has row groups with a dictionary each."""
    table = grown(20_000).select(["n", "k"])
    folder = tmp_path / "in"
    folder.mkdir()
    with parquet.ParquetWriter(folder / "a.parquet", table.schema) as writer:
        for start in range(0, table.num_rows, 5000):
            writer.write_table(table.slice(start, 5000))
    scale.run(scale.plan_convert(folder, tmp_path / "o", to="arrow", split=60_000), executor="inline")
    files = sorted((tmp_path / "o").rglob("*.arrow"))
    rows = [row for file in files for row in feather.read_table(file).to_pylist()]
    assert sorted(row["n"] for row in rows) == sorted(table["n"].to_pylist())
    assert rows[0]["k"] in LETTERS


def test_a_table_is_measured() -> None:
    result = measure.run(grown(), plan=one_round_plan("arrow:pyarrow", "parquet:pyarrow"))
    told = {case["labels"]["codec"]: case["status"] for case in result.cases if case["stage"] == "weigh"}
    assert told.items() >= {"arrow:pyarrow": "ok", "parquet:pyarrow": "ok"}.items()


def test_levels_that_arrow_does_not_bring_together_are_told(tmp_path) -> None:
    """Levels that are structs, another in each chunk."""
    chunks = [
        pa.DictionaryArray.from_arrays([0], pa.array([{"a": n}], pa.struct([("a", pa.int64())])))
        for n in range(2)
    ]
    with pytest.raises(Unsupported, match="several dictionaries"):
        Dataset(pa.table({"k": pa.chunked_array(chunks)}), name="x").save_part(tmp_path / "x")


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("name", ["in.parquet", "in.arrows"])
@pytest.mark.parametrize("codec", ["arrow", "arrow:pyarrow,compression=zstd", "arrow:pyarrow,layout=stream"])
def test_a_file_is_converted_to_arrow(tmp_path, monkeypatch, streamed: bool, name: str, codec: str) -> None:
    table = grown()
    new = parquet.ParquetWriter if name == "in.parquet" else ipc.new_stream
    with new(tmp_path / name, table.schema) as writer:
        for start in range(0, table.num_rows, 1000):
            writer.write_table(table.slice(start, 1000))
    monkeypatch.setattr(tare_io, "STREAM_BYTES", 0 if streamed else 1 << 40)
    done = tare.convert(tmp_path / name, tmp_path / "out.arrow", codec=codec, verify=False)
    assert (done.streamed, done.rows, done.changes) == (streamed, table.num_rows, [])
    back = tare.read(tmp_path / "out.arrow")
    assert (back.schema.types, back.to_pylist()) == (table.schema.types, table.to_pylist())
    head = (tmp_path / "out.arrow").read_bytes()[:6]
    assert (head == b"ARROW1") == ("stream" not in codec)


def test_a_stream_is_written_where_its_name_asks_for_one(tmp_path, monkeypatch) -> None:
    """However large the source; the level of zstd too is that which was asked for."""
    monkeypatch.setattr(tare_io, "STREAM_BYTES", 0)
    tare.write(pa.table({"t": [str(n % 977) * 9 for n in range(50_000)]}), tmp_path / "in.parquet")
    assert tare.convert(tmp_path / "in.parquet", tmp_path / "out.arrows").streamed
    assert (tmp_path / "out.arrows").read_bytes()[:4] == b"\xff\xff\xff\xff"
    sizes = [
        tare.convert(tmp_path / "in.parquet", tmp_path / "out.arrow", codec=f"arrow:pyarrow,compression=zstd,level={level}").bytes_out
        for level in (1, 19)
    ]  # fmt: skip
    assert sizes[1] < sizes[0]


def test_batches_get_the_levels_of_all() -> None:
    """Nulls and rows of none among them; codes count as many as they must."""
    letters = [chr(97 + n) for n in range(26)]
    batches = [
        pa.record_batch({"k": pa.array(cells, pa.string()).dictionary_encode(), "n": pa.array(range(len(cells)))})
        for cells in (["a", None], [], letters, ["z", "a"])
    ]  # fmt: skip
    given = list(of_one_dictionary(batches, [one.select(["k"]) for one in batches]))
    assert [one.to_pylist() for one in given] == [one.to_pylist() for one in batches]
    assert {tuple(one["k"].dictionary.to_pylist()) for one in given} == {tuple(letters)}
    assert columns_with_levels(batches[0].schema) == ["k"]


@pytest.mark.parametrize("streamed", [False, True])
def test_levels_of_no_row_stay_in_parquet(tmp_path, monkeypatch, streamed: bool) -> None:
    """Of each row group's own dictionary, also of the second one's."""
    codes = [[0, 1, None], [0, 1, 2]]
    levels = [["a", "b"], ["c", "b", "z", "in no row"]]
    table = pa.concat_tables(
        pa.table({"k": pa.DictionaryArray.from_arrays(pa.array(one, pa.int8()), other)})
        for one, other in zip(codes, levels, strict=True)
    )
    with ipc.new_stream(tmp_path / "in.arrows", table.schema) as writer:
        writer.write_table(table)
    monkeypatch.setattr(tare_io, "STREAM_BYTES", 0 if streamed else 1 << 40)
    done = tare.convert(tmp_path / "in.arrows", tmp_path / "out.parquet", verify=not streamed)
    assert (done.streamed, done.changes) == (streamed, [])
    back = tare.read(tmp_path / "out.parquet")
    assert back.to_pylist() == table.to_pylist()
    assert back["k"].unify_dictionaries().chunk(0).dictionary.to_pylist() == ["a", "b", "c", "z", "in no row"]


def test_few_batches_are_held_at_once(monkeypatch) -> None:
    """However many there are: those that are looked up together are small together."""
    monkeypatch.setattr("tare.converting.dictionaries._BYTES_AT_ONCE", 1 << 20)
    start = pa.total_allocated_bytes()

    def batches(peak: list[int]):
        for n in range(40):
            texts = pa.array(["x" * 1000] * 800)
            coded = pa.array([f"{n}"]).dictionary_encode().take(pa.array([0] * 800))
            yield pa.record_batch({"k": coded, "t": texts})
            del texts, coded
            peak.append(pa.total_allocated_bytes() - start)

    peak: list[int] = []
    assert sum(batch.num_rows for batch in of_one_dictionary(batches(peak), batches(peak))) == 32_000
    assert len(peak) == 80
    assert max(peak) < 5_000_000, max(peak)


def test_a_null_among_levels_within_lists_is_no_reason_to_refuse(tmp_path, monkeypatch) -> None:
    """Where all batches have the same: Arrow brings no such levels together."""
    lists = pa.ListArray.from_arrays([0, 1, 2], pa.DictionaryArray.from_arrays([0, 1], ["a", None]))
    table = pa.table({"l": lists})
    with ipc.new_stream(tmp_path / "in.arrows", table.schema) as writer:
        writer.write_table(table)
    monkeypatch.setattr(tare_io, "STREAM_BYTES", 0)
    done = tare.convert(tmp_path / "in.arrows", tmp_path / "out.arrow", verify=False)
    assert done.streamed
    assert tare.read(tmp_path / "out.arrow").to_pylist() == table.to_pylist()


@pytest.mark.parametrize(("columns", "nested"), [(None, True), (["k"], False), (["k"], True), (None, False)])
@pytest.mark.parametrize("target", ["out.arrow", "out.parquet"])
def test_batches_of_an_arrow_file_are_not_kept(
    tmp_path, monkeypatch, columns, nested: bool, target: str
) -> None:
    """Each is one piece of memory, of which a column or a slice keeps all."""
    parts = []
    for n in range(24):
        coded = pa.array([f"{n}"] * 2000).dictionary_encode()
        lists = pa.ListArray.from_arrays(list(range(2001)), coded) if nested else coded
        parts.append(pa.record_batch({"k": lists, "t": ["x" * 1000] * 2000}))
    with ipc.new_stream(tmp_path / "in.arrows", parts[0].schema) as writer:
        for part in parts:
            writer.write_batch(part)
    del parts, part, coded, lists
    monkeypatch.setattr(tare_io, "STREAM_BYTES", 0)
    monkeypatch.setattr("tare.converting.dictionaries._BYTES_AT_ONCE", 1 << 20)
    start, peak = pa.total_allocated_bytes(), []
    done = tare.convert(
        tmp_path / "in.arrows", tmp_path / target, columns=columns, verify=False,
        on_progress=lambda *_: peak.append(pa.total_allocated_bytes() - start),
    )  # fmt: skip
    assert (done.streamed, done.rows, len(peak)) == (True, 48_000, 24)
    # Parquet's writer has memory of its own.
    assert max(peak) < (12_000_000 if target == "out.arrow" else 24_000_000), max(peak)
    got = tare.read(tmp_path / target)["k"]
    assert got[0].as_py() == (["0"] if nested else "0")
    assert got[-1].as_py() == (["23"] if nested else "23")


def test_a_compressed_source_is_decompressed_once(tmp_path, monkeypatch) -> None:
    """For both passes: as large a file goes as before there were two."""
    tare.write(grown().select(["n", "k"]), tmp_path / "in.arrow.zst")
    monkeypatch.setattr(tare_io, "STREAM_BYTES", 0)
    reads = []
    was = Source._read_all
    monkeypatch.setattr(Source, "_read_all", lambda self, plain: reads.append(self.name) or was(self, plain))
    done = tare.convert(tmp_path / "in.arrow.zst", tmp_path / "out.parquet", verify=False)
    assert (done.streamed, done.rows, reads) == (True, 3000, ["in.arrow.zst"])
    assert tare.read(tmp_path / "out.parquet")["k"].to_pylist() == grown()["k"].to_pylist()


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("way", ["to one dictionary", "to the first batch"])
def test_each_level_is_looked_up_a_few_times(monkeypatch, way: str, ordered: bool) -> None:
    """However many batches bring new ones: four times as many batches are about four times as much to look up."""
    monkeypatch.setattr("tare.converting.dictionaries._BYTES_AT_ONCE", 1 << 12)
    monkeypatch.setattr("tare.categories._BYTES_AT_ONCE", 1 << 12)
    looked_up: list[int] = []
    was = categories._looked_up

    def counted(arrays):
        looked_up.append(sum(len(one.dictionary) for one in arrays))
        return was(arrays)

    monkeypatch.setattr(categories, "_looked_up", counted)
    counts = []
    for many in (40, 160):
        batches = []
        for n in range(many):
            levels = pa.array([f"name {n * 100 + at:06}" for at in range(100)])
            codes = pa.array(range(100), pa.int32())
            batches.append(
                pa.record_batch({"k": pa.DictionaryArray.from_arrays(codes, levels, ordered=ordered)})
            )
        looked_up.clear()
        if way == "to one dictionary":
            got = list(of_one_dictionary(batches, batches))
            assert {len(one["k"].dictionary) for one in got} == {many * 100}
        else:
            got = list(with_all_levels(batches, lambda given=batches: given))
            assert [len(one["k"].dictionary) for one in got] == [many * 100] + [100] * (many - 1)
        assert all(one.equals(two) for one, two in zip(map(values, got), map(values, batches), strict=True))
        counts.append(sum(looked_up) / (many * 100))
    assert max(counts) < 8, counts
    assert counts[1] < 1.6 * counts[0], counts


def values(batch: pa.RecordBatch) -> pa.Array:
    return batch["k"].dictionary_decode()


def test_too_many_levels_stay_in_their_row_groups(tmp_path, monkeypatch) -> None:
    """The user is told; those that no row has stay too, but for a batch without rows; what is ordered stays in one order."""
    monkeypatch.setattr("tare.converting.dictionaries._MOST_LEVELS", 1000)
    monkeypatch.setattr("tare.categories._BYTES_AT_ONCE", 100)
    parts = []
    for n in range(20):
        many = pa.DictionaryArray.from_arrays([0, 1, 0], [f"{n} {at}" + "." * 40 for at in range(3)])
        sizes = ["lo", "hi"] if n < 10 else ["lo", "mid", "hi"]
        order = pa.DictionaryArray.from_arrays([0, 1, 1], sizes, ordered=True)
        parts.append(
            pa.record_batch(
                {
                    "many": many,
                    "few": pa.array([n % 2] * 3).cast(pa.string()).dictionary_encode(),
                    "order": order,
                }
            )
        )
    with ipc.new_stream(tmp_path / "in.arrows", parts[0].schema) as writer:
        for part in parts:
            writer.write_batch(part)
    monkeypatch.setattr(tare_io, "STREAM_BYTES", 0)
    done = tare.convert(tmp_path / "in.arrows", tmp_path / "out.parquet", verify=False)
    assert done.streamed
    assert [note.partition(":")[0] for note in done.notes if "levels" in note] == ["column 'many'"]
    back = tare.read(tmp_path / "out.parquet")
    assert back.to_pylist() == pa.Table.from_batches(parts).to_pylist()
    chunks = {name: [one.dictionary.to_pylist() for one in back[name].chunks] for name in back.column_names}
    assert chunks["many"] == [part["many"].dictionary.to_pylist() for part in parts]
    assert chunks["few"][0] == ["0", "1"]
    assert chunks["order"][0] == ["lo", "mid", "hi"]
    assert tare.convert(tmp_path / "in.arrows", tmp_path / "again.parquet", verify=True).changes == []
    # An Arrow file needs one dictionary, however many levels there are.
    done = tare.convert(tmp_path / "in.arrows", tmp_path / "out.arrow", verify=False)
    assert not any("levels" in note for note in done.notes)
    assert len(tare.read(tmp_path / "out.arrow")["many"].chunk(0).dictionary) == 60


def test_no_more_is_read_than_tells_that_levels_are_too_many(monkeypatch) -> None:
    monkeypatch.setattr("tare.converting.dictionaries._MOST_LEVELS", 1000)
    monkeypatch.setattr("tare.categories._BYTES_AT_ONCE", 100)
    batches = [pa.record_batch({"k": pa.array([f"{n}" + "." * 100]).dictionary_encode()}) for n in range(200)]
    read = []
    told: list[str] = []
    given = with_all_levels(batches, lambda: (read.append(0) or one for one in batches), tell=told.append)
    assert [one.equals(two) for one, two in zip(given, batches, strict=True)] == [True] * 200
    assert len(read) < 50
    assert len(told) == 1


def test_the_first_batch_that_has_rows_has_all_levels(tmp_path, monkeypatch) -> None:
    """A row group without rows has none."""
    parts = [
        pa.record_batch({"k": pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), levels)})
        for codes, levels in (([], ["a"]), ([0], ["b"]), ([], ["c"]))
    ]
    with ipc.new_stream(tmp_path / "in.arrows", parts[0].schema) as writer:
        for part in parts:
            writer.write_batch(part)
    monkeypatch.setattr(tare_io, "STREAM_BYTES", 0)
    assert tare.convert(tmp_path / "in.arrows", tmp_path / "out.parquet", verify=False).streamed
    assert tare.read(tmp_path / "out.parquet")["k"].chunk(0).dictionary.to_pylist() == ["a", "b", "c"]


def test_levels_beyond_what_an_array_holds_stay_as_they_are(tmp_path, monkeypatch) -> None:
    """Arrow says so from 2 GiB on; here from 10 bytes on, with the same error."""
    was = categories._looked_up

    def full(arrays):
        if sum(one.dictionary.nbytes for one in arrays) > 10:
            raise pa.ArrowCapacityError("array cannot contain more than 2147483646 bytes")
        return was(arrays)

    monkeypatch.setattr(categories, "_looked_up", full)
    table = grown().select(["k"])
    assert [one.dictionary.to_pylist() for one in one_dictionary(table)["k"].chunks] == [[x] for x in LETTERS]
    assert list(of_one_dictionary(table.to_batches(), table.to_batches())) == table.to_batches()
    tare.write(table, tmp_path / "in.parquet")
    monkeypatch.setattr(tare_io, "STREAM_BYTES", 0)
    assert tare.convert(tmp_path / "in.parquet", tmp_path / "out.parquet", verify=False).streamed
    assert tare.read(tmp_path / "out.parquet").to_pylist() == table.to_pylist()
    with pytest.raises(Unsupported, match="several dictionaries"):
        Dataset(table, name="x").save_part(tmp_path / "x")


@pytest.mark.parametrize("to", ["parquet", "csv", "orc", "avro", "ndjson", "arrow"])
def test_categories_that_are_lists_are_written_or_refused_in_words(tmp_path, to: str) -> None:
    """Arrow casts no such categories, whether or not null is one of their levels."""
    for level in ([3], None):
        indices = pa.array([0, 1, None, 0], pa.int8())
        lists = pa.DictionaryArray.from_arrays(indices, pa.array([[1, 2], level], pa.list_(pa.int64())))
        feather.write_feather(pa.table({"l": lists}), tmp_path / "x.feather", compression="uncompressed")
        try:
            tare.convert(tmp_path / "x.feather", tmp_path / f"x.{to}")
        except tare.TareError:
            assert not (tmp_path / f"x.{to}").exists()
            continue
        back = tare.kinds.convert(tare.read(tmp_path / f"x.{to}"), "arrow")
        assert back["l"].to_pylist() == [[1, 2], level, None, [1, 2]]
        (tmp_path / f"x.{to}").unlink()
