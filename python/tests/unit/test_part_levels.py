"""A part of a table has the levels of its rows, and those that no row of the whole has: what is lost of a part is lost of the whole."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import ipc

from tare import scale
from tare.dataset import Dataset, load_saved
from tare.datasets.levels import levels_of_part
from tare.fidelity import compare
from tare.scale.tasks import written


def _coded(codes, levels, ordered):
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(levels), ordered=ordered)


@pytest.mark.parametrize("ordered", [False, True])
def test_a_part_as_plain_values_loses_what_the_whole_loses(tmp_path, ordered):
    """One row has `rare`; parts without it are judged as the whole is."""
    codes = [0, 2] * 5000
    codes[7001] = 1
    table = pa.table({"k": _coded(codes, ["a", "rare", "b"], ordered), "n": range(10_000)})
    plain = table.cast(pa.schema({"k": pa.string(), "n": pa.int64()}))
    wanted = compare(table, plain, kind="table").verdict
    assert wanted == ("lossy" if ordered else "type")
    data = Dataset(table, name="x")
    for seed in range(5):
        saved = data.save_part(tmp_path / str(seed), 0.01, seed=seed)
        part = load_saved(saved.path, saved.as_, "table")
        assert part.equals(data.subset(0.01, seed=seed).value)
        assert compare(part, part.cast(plain.schema), kind="table").verdict == wanted


def test_a_level_that_no_row_has_stays(tmp_path):
    table = pa.table({"k": _coded([0, 2] * 500, ["a", "in no row", "b"], False)})
    part = Dataset(table, name="x").subset(0.1, "head").value
    assert part["k"].chunk(0).dictionary.to_pylist() == ["a", "in no row", "b"]


@given(st.data())
def test_values_of_the_part_stay(data):
    levels = data.draw(st.lists(st.text(max_size=3), unique=True, min_size=1, max_size=6))
    code = st.one_of(st.none(), st.integers(0, len(levels) - 1))
    chunks = [
        _coded(data.draw(st.lists(code, max_size=8)), data.draw(st.permutations(levels)), False)
        for _ in range(data.draw(st.integers(1, 3)))
    ]
    table = pa.table({"k": pa.chunked_array(chunks), "n": range(sum(map(len, chunks)))})
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(table), max_size=len(table))), bool)
    part = levels_of_part(table, mask).filter(pa.array(mask, pa.bool_()))
    assert part.to_pylist() == table.filter(pa.array(mask, pa.bool_())).to_pylist()
    whole, inside = ({one for one in t["k"].to_pylist() if one is not None} for t in (table, part))
    kept = (
        set(part["k"].unify_dictionaries().chunk(0).dictionary.to_pylist()) if part["k"].num_chunks else set()
    )
    assert kept == inside | (set(levels) - whole) or not part["k"].num_chunks


@pytest.mark.parametrize("to", ["ndjson", "csv", "arrow", "parquet", "rds"])
@pytest.mark.parametrize("unused", [False, True])
def test_parts_of_a_file_do_not_lose_what_other_parts_have(tmp_path, to, unused):
    """Each part has one level of three: the run writes what the whole file gives, and says what it cannot know."""
    folder = tmp_path / "in"
    folder.mkdir()
    codes = np.repeat([2, 0, 1], 3000)
    levels = ["b", "a", "c", "in no row"] if unused else ["b", "a", "c"]
    table = pa.table({"n": range(9000), "k": _coded(codes, levels, False)})
    with ipc.new_file(str(folder / "x.arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=3000)
    done = scale.run(scale.plan_convert(folder, tmp_path / "o", to=to, split=40_000), executor="inline")
    assert done.ok, done
    files = sorted((tmp_path / "o").rglob(f"*.{to}"))
    assert len(files) > 1
    assert any("that no row of a part has" in note for note in done.notes) == (to in ("ndjson", "csv"))


@pytest.mark.parametrize("to", ["ndjson", "csv"])
def test_folders_of_one_file_do_not_lose_what_other_folders_have(tmp_path, to):
    folder = tmp_path / "in"
    folder.mkdir()
    table = pa.table({"k": _coded([2, 0, 1], ["b", "a", "c"], False), "p": ["x", "y", "x"]})
    with ipc.new_file(str(folder / "x.arrow"), table.schema) as writer:
        writer.write_table(table)
    done = scale.run(scale.plan_convert(folder, tmp_path / "o", to=to, partition="p"), executor="inline")
    assert done.ok, done
    assert len(list((tmp_path / "o").rglob(f"*.{to}"))) == 2


def test_a_source_without_rows_has_no_folder_and_that_is_said(tmp_path):
    (tmp_path / "x.csv").write_text("k,v\n")
    done = scale.run(
        scale.plan_convert(tmp_path / "x.csv", tmp_path / "o", to="parquet", partition="k"), executor="inline"
    )
    assert done.done == 1
    assert not list((tmp_path / "o").rglob("*.parquet"))
    assert any("without rows has no folders" in note for note in done.notes)


def test_what_a_part_loses_besides_is_told_alone(tmp_path):
    """The levels came back: nothing is said of them."""
    table = pa.table({"x": [2**53 + 1, 1], "k": _coded([0, 0], ["a", "b"], False)})
    back = table.set_column(0, "x", pa.array([2.0**53, 1.0]))
    found, unused = written._compared(table, back, part=True)
    assert ([one["path"] for one in found], unused) == (["x"], False)


def test_an_order_is_lost_of_a_part_as_of_the_whole(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    table = pa.table({"n": range(9000), "k": _coded(np.repeat([2, 0, 1], 3000), ["b", "a", "c"], True)})
    with ipc.new_file(str(folder / "x.arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=3000)
    done = scale.run(scale.plan_convert(folder, tmp_path / "o", to="ndjson", split=40_000), executor="inline")
    assert done.failed > 1
    assert "would change" in str(done.failures[0])
