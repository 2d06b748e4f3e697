"""A destination through its life: sources change, results go, plans follow plans; what stands is what was asked for last."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import shutil
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.scale_folders import convert, count_rows, visible_names, write_lines

import tare
from tare import scale
from tare.cli import main
from tare.errors import PlanError
from tare.scale.planning import convert as planning
from tare.scale.state import State
from tare.scale.tasks import partition, put
from tare.scale.unit import check_unit


def manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / ".tare" / "manifest.json").read_text())
    return found


def test_parts_of_a_source_that_is_shorter_now_are_removed(tmp_path: Path) -> None:
    source, out = tmp_path / "in" / "big.ndjson", tmp_path / "out"
    write_lines(source, 5000)
    assert convert(source, out, split="20KiB").ok
    before = visible_names(out)
    write_lines(source, 2000)
    report = convert(source, out, split="20KiB")
    assert report.superseded == len(before) - len(visible_names(out)) > 0
    assert count_rows(out) == 2000
    status = scale.status(str(out))
    assert (status["done"], status["missing"], status["rows"]) == (report.done, 0, 2000)
    assert [one["name"] for one in manifest(out)["outputs"]] == visible_names(out)


@pytest.mark.parametrize(
    "later",
    [
        {"to": "parquet:pyarrow,compression=gzip", "split": "40KiB"},
        {"options": {"columns": "n"}, "split": "40KiB"},
        {"read": "ndjson", "split": "40KiB"},
        {"split": None},
        {"split": None, "partition": "k"},
    ],
)
def test_rows_are_there_once_whatever_is_said_later(tmp_path: Path, later: dict[str, Any]) -> None:
    """Another library's options, columns, parts, partitions: of one ending there is one result of a source."""
    source, out = tmp_path / "in" / "big.ndjson", tmp_path / "out"
    write_lines(source, 5000)
    assert convert(source, out, split="20KiB").ok
    assert convert(source, out, **later).superseded > 0
    assert count_rows(out) == 5000
    assert convert(source, out, split="20KiB").ok
    assert count_rows(out) == 5000
    assert convert(source, out, to="csv", split=None).superseded == 0
    assert len([name for name in visible_names(out) if name.endswith(".csv")]) == 1


def test_a_bad_file_keeps_nothing_but_its_own(tmp_path: Path) -> None:
    """What is superseded goes, of the sources that are done; what there is of the bad one stays."""
    folder, out = tmp_path / "in", tmp_path / "out"
    for name in ("a", "b"):
        write_lines(folder / f"{name}.ndjson", 5000)
    assert convert(folder, out, split="20KiB").ok
    write_lines(folder / "a.ndjson", 1000)
    (folder / "b.ndjson").write_text("{oops}\n")
    report = convert(folder, out, split="40KiB")
    assert (report.failed > 0, report.superseded > 0) == (True, True)
    assert tare.read(out / "a.parquet").num_rows == 1000
    assert not (out / "a").exists() or not visible_names(out / "a")
    assert count_rows(out / "b") == 5000
    write_lines(folder / "b.ndjson", 1000)
    assert convert(folder, out, split="40KiB").ok
    assert (visible_names(out), count_rows(out)) == (["a.parquet", "b.parquet"], 2000)


def test_parts_of_a_csv_that_is_shorter_now_are_removed(tmp_path: Path) -> None:
    """Its layout is found anew, and is no other wish of the user's."""
    source, out = tmp_path / "in" / "big.csv", tmp_path / "out"
    source.parent.mkdir()
    source.write_text("n,t\n" + "".join(f"{n},x{n}\n" for n in range(9000)))
    assert convert(source, out, split="20KiB", split_lines=True).ok
    source.write_text("n,t\n" + "".join(f"{n / 2},{n}\n" for n in range(4000)))
    assert convert(source, out, split="20KiB", split_lines=True).superseded > 0
    assert count_rows(out) == 4000


def test_a_result_that_was_changed_since_is_not_removed(tmp_path: Path) -> None:
    """It is nobody's but the user's."""
    source, out = tmp_path / "in" / "big.ndjson", tmp_path / "out"
    write_lines(source, 5000)
    assert convert(source, out, split="20KiB").ok
    last = out / visible_names(out)[-1]
    last.write_bytes(b"mine")
    write_lines(source, 2000)
    assert convert(source, out, split="20KiB").ok
    assert last.read_bytes() == b"mine"


def test_whole_and_then_in_parts_and_whole_again(tmp_path: Path) -> None:
    source, out = tmp_path / "in" / "big.ndjson", tmp_path / "out"
    write_lines(source, 3000)
    for split in (None, "20KiB", None, "30KiB"):
        assert convert(source, out, split=split).ok
        assert count_rows(out) == 3000, (split, visible_names(out))


def test_other_sources_stay(tmp_path: Path) -> None:
    """Two plans of one destination: the manifest has both, and status counts both."""
    out = tmp_path / "out"
    for name in ("a", "b"):
        write_lines(tmp_path / name / f"{name}.ndjson", 10)
        report = convert(tmp_path / name, out)
        assert (report.ok, report.superseded) == (True, 0)
    write_lines(tmp_path / "a" / "a.ndjson", 20)
    assert convert(tmp_path / "a", out).ok
    assert visible_names(out) == ["a.parquet", "b.parquet"]
    assert [one["name"] for one in manifest(out)["outputs"]] == visible_names(out)
    status = scale.status(str(out))
    assert (status["units"], status["done"], status["rows"]) == (2, 2, 30)
    (out / "b.parquet").unlink()
    write_lines(tmp_path / "a" / "a.ndjson", 21)
    assert convert(tmp_path / "a", out).ok
    assert [one["name"] for one in manifest(out)["outputs"]] == ["a.parquet"]


def test_sources_named_another_way_have_one_result(tmp_path: Path) -> None:
    """Its rows would be there twice for whoever reads the folder."""
    folder, out = tmp_path / "logs", tmp_path / "out"
    write_lines(folder / "a.ndjson", 5)
    write_lines(folder / "2026" / "x.ndjson", 5)
    assert convert(folder, out).ok
    assert convert(folder / "2026" / "*.ndjson", out).superseded == 1
    assert visible_names(out) == ["a.parquet", "x.parquet"]


def test_a_name_of_a_folder_below_is_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a group: `x` is spoken of by the second plan, `w/x` is not."""
    monkeypatch.setattr("tare.scale.planning.convert._GROUPED_FROM", 2)
    folder, out = tmp_path / "in", tmp_path / "out"
    for name in ("x", "y", "w/x", "w/y"):
        write_lines(folder / f"{name}.ndjson", 5)
    assert convert(folder, out).ok
    write_lines(folder / "x.ndjson", 6)
    some = [str(folder / "x.ndjson"), str(folder / "y.ndjson")]
    assert scale.convert(some, str(out), to="parquet", executor="inline").superseded == 0
    assert visible_names(out) == ["w/x.parquet", "w/y.parquet", "x.parquet", "y.parquet"]


def test_a_partition_of_another_source_is_left(tmp_path: Path) -> None:
    """Two files of one name, from two folders, into one folder of partitions."""
    out = tmp_path / "out"
    for name, count in (("a", 6), ("b", 9)):
        write_lines(tmp_path / name / "f.ndjson", count)
    assert convert(tmp_path / "a", out, partition="k").ok
    before = {name: (out / name).read_bytes() for name in visible_names(out)}
    report = convert(tmp_path / "b", out, partition="k")
    (failed,) = report.failures
    assert f"of {tmp_path / 'a' / 'f.ndjson'}" in failed["error"]["message"]
    assert {name: (out / name).read_bytes() for name in visible_names(out)} == before
    assert convert(tmp_path / "b", out, partition="k", overwrite=True).ok
    assert not convert(tmp_path / "a", out, partition="k").ok  # they are b's now
    assert count_rows(out) == 9
    write_lines(tmp_path / "b" / "f.ndjson", 12)
    assert convert(tmp_path / "b", out, partition="k").ok
    assert count_rows(out) == 12


def test_results_that_are_there_are_decoded_where_that_is_asked_for(tmp_path: Path) -> None:
    """A flipped bit leaves size and time as they were."""
    source, out = tmp_path / "in" / "x.ndjson", tmp_path / "out"
    write_lines(source, 50)
    assert convert(source, out).done == 1
    assert convert(source, out, verify="decode").done == 1  # it was never decoded
    assert convert(source, out, verify="decode").skipped == 1
    result = out / "x.parquet"
    found, data = result.stat(), bytearray(result.read_bytes())
    data[20] ^= 1
    result.write_bytes(data)
    os.utime(result, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert convert(source, out).skipped == 1
    assert convert(source, out, verify="decode").done == 1
    assert count_rows(out) == 50


def test_a_manifest_that_is_true_no_more_goes(tmp_path: Path) -> None:
    """From the first result that is made anew until all are there."""
    folder, out = tmp_path / "in", tmp_path / "out"
    for name in ("a", "b"):
        write_lines(folder / f"{name}.ndjson", 5)
    assert convert(folder, out).ok
    write_lines(folder / "a.ndjson", 6)
    (folder / "b.ndjson").write_text('{"a": ')
    assert not convert(folder, out).ok
    assert not (out / ".tare" / "manifest.json").exists()
    write_lines(folder / "b.ndjson", 7)
    assert convert(folder, out).ok
    assert [one["name"] for one in manifest(out)["outputs"]] == ["a.parquet", "b.parquet"]


def test_plans_that_say_nothing_any_more_go(tmp_path: Path) -> None:
    """A folder that is converted each day keeps the last plans, and those that something stands for."""
    out, plans = tmp_path / "out", tmp_path / "out" / ".tare" / "plans"
    write_lines(tmp_path / "other" / "b.ndjson", 10)
    assert convert(tmp_path / "other", out).ok
    (other,) = os.listdir(plans)
    for day in range(20):
        write_lines(tmp_path / "in" / "a.ndjson", 10 + day)
        write_lines(tmp_path / "in" / f"day-{day}.ndjson", 3)
        assert convert(tmp_path / "in", out).ok
    kept = os.listdir(plans)
    assert other in kept
    assert len(kept) == len(os.listdir(out / ".tare" / "started")) == 17
    status = scale.status(str(out))
    assert (status["inputs_done"], status["missing"], status["rows"]) == (22, 0, 10 + 29 + 20 * 3)
    assert convert(tmp_path / "in", out).done == 0


def test_a_plan_that_overrules_one_that_is_kept_stays(tmp_path: Path) -> None:
    """Without it the older one would speak again, of results that are gone."""
    out = tmp_path / "out"
    write_lines(tmp_path / "in" / "a.ndjson", 10)
    write_lines(tmp_path / "in" / "b.ndjson", 10)
    assert convert(tmp_path / "in", out).ok
    for day in range(20):  # the first plan stands for b alone from here on
        write_lines(tmp_path / "in" / "a.ndjson", 20 + day)
        assert convert(tmp_path / "in" / "a.ndjson", out).ok
    assert len(os.listdir(out / ".tare" / "plans")) == 21
    status = scale.status(str(out))
    assert (status["units"], status["missing"], status["rows"]) == (2, 0, 10 + 39)


def test_a_name_that_another_source_takes_part_in(tmp_path: Path) -> None:
    """`x.ndjson` comes beside `x.csv`: both results have other names, and the first is not there twice."""
    folder, out = tmp_path / "in", tmp_path / "out"
    write_lines(folder / "x.csv", 0)
    (folder / "x.csv").write_text("n\n1\n")
    assert convert(folder, out).ok
    write_lines(folder / "x.ndjson", 5)
    assert convert(folder, out).superseded == 1
    assert visible_names(out) == ["x.csv.parquet", "x.ndjson.parquet"]


def test_a_partition_that_has_gone(tmp_path: Path) -> None:
    source, out = tmp_path / "in" / "x.ndjson", tmp_path / "out"
    write_lines(source, 30)
    assert convert(source, out, partition="k").ok
    assert len(visible_names(out)) == 3
    write_lines(source, 2)
    report = convert(source, out, partition="k")
    assert (report.ok, report.superseded) == (True, 1)
    assert visible_names(out) == ["k=0/x.parquet", "k=1/x.parquet"]
    (out / "k=1" / "x.parquet").unlink()
    assert convert(source, out, partition="k").done == 1
    assert len(visible_names(out)) == 2


@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize("dies", [False, True])
def test_partitions_that_were_named_otherwise_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: bool, dies: bool
) -> None:
    """Empty text had a name of its own: those rows would be there twice. Also of a run that ended before its receipt."""
    source, out = tmp_path / "a.csv", tmp_path / "out"
    source.write_text('k,n\n"",1\nx,2\n')
    older = "k=__HIVE_EMPTY__/a.parquet"
    with monkeypatch.context() as patch:
        patch.setattr(partition, "folder_of", lambda column, value: f"{column}={value or '__HIVE_EMPTY__'}")
        patch.setattr(planning, "NAMING", 1)
        if dies:
            patch.setattr(State, "write_receipt", lambda *_, **__: sys.exit(9))
        with pytest.raises(SystemExit) if dies else contextlib.nullcontext():
            convert(source, out, partition="k")
    assert older in visible_names(out)
    assert tare.read(out / older)["n"].to_pylist() == [1]
    if changed:
        source.write_text('k,n\n"",1\nx,2\ny,3\n')
    report = convert(source, out, partition="k")
    assert (report.ok, report.done, report.superseded) == (True, 1, 1), report.failures
    named = ["k=", "k=x", "k=y"][: 3 if changed else 2]
    assert visible_names(out) == [f"{name}/a.parquet" for name in named]
    assert [one["name"] for one in manifest(out)["outputs"]] == visible_names(out)
    assert convert(source, out, partition="k").skipped == 1


def test_one_name_by_turns(tmp_path: Path) -> None:
    """Three conversions to one name in two ways: each gives what was asked for, not what is there."""
    source, out = tmp_path / "in" / "x.csv", tmp_path / "out"
    source.parent.mkdir()
    source.write_text("n\n" + "1\n" * 5000)
    sizes = []
    for to in ("parquet:pyarrow,compression=zstd", "parquet:pyarrow,compression=none") * 2:
        assert convert(source, out, to=to).done == 1
        (made,) = manifest(out)["outputs"]
        assert made["size"] == (out / "x.parquet").stat().st_size
        sizes.append(made["size"])
    assert (sizes[0], sizes[1]) == (sizes[2], sizes[3])
    assert sizes[0] != sizes[1]


def test_a_source_that_comes_back(tmp_path: Path) -> None:
    """One state, another of the same size, the first again with its time: the result follows."""
    source, out, kept = tmp_path / "in" / "x.ndjson", tmp_path / "out", tmp_path / "kept"
    write_lines(source, 5)
    shutil.copy2(source, kept)
    assert convert(source, out).ok
    source.write_text(source.read_text().replace('"n": 4', '"n": 9'))
    assert convert(source, out).done == 1
    shutil.copy2(kept, source)
    assert convert(source, out).done == 1
    assert tare.read(out / "x.parquet")["n"].to_pylist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("damage", [b"", b"other bytes"])
def test_a_result_that_was_cut_or_replaced_is_made_again(tmp_path: Path, damage: bytes) -> None:
    source, out = tmp_path / "in" / "x.ndjson", tmp_path / "out"
    write_lines(source, 5)
    assert convert(source, out).ok
    (out / "x.parquet").write_bytes(damage)
    assert scale.status(str(out))["done"] == 0
    assert convert(source, out).done == 1
    assert count_rows(out) == 5


def test_a_copy_of_a_destination_is_done(tmp_path: Path) -> None:
    """Its files have other times; their hashes tell."""
    source, out = tmp_path / "in" / "x.ndjson", tmp_path / "out"
    write_lines(source, 5)
    assert convert(source, out).ok
    shutil.copytree(out, tmp_path / "copy", copy_function=shutil.copyfile)
    os.utime(tmp_path / "copy" / "x.parquet", ns=(1, 1))
    report = convert(source, tmp_path / "copy")
    assert (report.skipped, report.done) == (1, 0)


def test_a_plan_of_ones_own_is_known_where_it_was_run(tmp_path: Path) -> None:
    """`tare plan -o` and `tare run`: status of the destination, and a conversion after a source changed."""
    folder, out = tmp_path / "in", tmp_path / "out"
    for n in range(4):
        write_lines(folder / f"{n}.ndjson", 5)
    plan = scale.plan_convert(str(folder), str(out), to="parquet", path=str(tmp_path / "plan.jsonl"))
    for n in (1, 2, 3):
        assert scale.run(plan, executor="inline", shard=(n, 3)).ok
    assert scale.status(str(out))["done"] == 4
    assert [one["name"] for one in manifest(out)["outputs"]] == visible_names(out)  # by the last shard
    write_lines(folder / "2.ndjson", 7)
    report = convert(folder, out)
    assert (report.done, report.skipped) == (1, 3)


@pytest.mark.parametrize("values", [False, True])
def test_a_store_is_asked_what_it_has(tmp_path: Path, values: bool) -> None:
    """Receipts beside the plan are no proof: a store may be gone, or a key. What somebody set since stays."""
    for n in range(3):
        write_lines(tmp_path / "in" / f"{n}.ndjson", n + 1)
    store, file = tmp_path / "store", tmp_path / "put.jsonl"
    plan = scale.plan_put(str(tmp_path / "in"), str(store), file, values=values, namespace="mine")
    assert scale.run(plan, executor="inline").done == plan.count
    assert scale.run(plan, executor="inline").skipped == plan.count
    shutil.rmtree(store)
    assert scale.status(file)["missing"] == plan.count
    assert not store.exists()
    report = scale.run(plan, executor="inline")
    assert (report.done, report.skipped, report.duplicate) == (plan.count, 0, 0)
    with tare.open_store(str(store), namespace="mine") as opened:
        assert sorted(opened.list()) == ["0.ndjson", "1.ndjson", "2.ndjson"]
        before = opened.get("0.ndjson")
        opened.set("1.ndjson", b"newer")
    assert scale.status(file)["done"] == plan.count
    assert scale.run(plan, executor="inline").skipped == plan.count
    with tare.open_store(str(store), namespace="mine") as opened:
        opened.del_("0.ndjson")
    assert scale.status(file)["missing"] == plan.count
    (tmp_path / "in" / "2.ndjson").unlink()  # what is there is not read again
    report = scale.run(plan, executor="inline")
    assert (report.done, [*report.notes]) == (plan.count, ["keys that were there already stay as they are"])
    with tare.open_store(str(store), namespace="mine") as opened:
        assert (opened.get("0.ndjson"), bytes(opened.get("1.ndjson"))) == (before, b"newer")
    assert scale.run(plan, executor="inline").skipped == plan.count


def test_what_a_put_has_set_is_known_though_its_store_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start in which the store cannot be asked forgets no key that was set: what somebody set since stays."""
    from tare.scale import stored

    for name in "abc":
        write_lines(tmp_path / "in" / f"{name}.ndjson", 2)
    store = tmp_path / "store"
    plan = scale.plan_put(str(tmp_path / "in"), str(store), tmp_path / "put.jsonl")
    kept = (tmp_path / "in" / "c.ndjson").rename(tmp_path / "c")
    assert scale.run(plan, executor="inline").failed == 1
    with tare.open_store(str(store)) as opened:
        opened.set("a.ndjson", b"newer")
    kept.rename(tmp_path / "in" / "c.ndjson")
    with monkeypatch.context() as patched:
        patched.setattr(stored, "hashes", _unreachable)
        assert scale.run(plan, executor="inline", retries=0).failed == 1
    assert scale.run(plan, executor="inline").ok
    with tare.open_store(str(store)) as opened:
        assert bytes(opened.get("a.ndjson")) == b"newer"
        assert sorted(opened.list()) == ["a.ndjson", "b.ndjson", "c.ndjson"]


def _unreachable(*_: Any) -> Any:
    raise OSError("the store is away")


def test_a_store_that_cannot_be_asked_is_told_with_what_receipts_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for n in range(3):
        write_lines(tmp_path / "in" / f"{n}.ndjson", n + 1)
    store, file = tmp_path / "store", tmp_path / "put.jsonl"
    plan = scale.plan_put(str(tmp_path / "in"), str(store), file)
    assert scale.run(plan, executor="inline").ok
    assert scale.status(file)["unasked"] == ""
    (store / "tare-store.json").write_text("x")
    found = scale.status(file)
    assert (found["done"], found["inputs_done"]) == (plan.count, 3)
    assert "marker is not JSON" in found["unasked"]
    with pytest.raises(SystemExit) as ended:
        main(["status", str(file)])
    told = capsys.readouterr().out
    assert (ended.value.code, told.partition(",")[0]) == (0, "3 of 3 done")
    assert "by receipts alone, as the store could not be asked" in told


def test_a_key_that_was_set_since_stays_though_its_unit_failed(tmp_path: Path) -> None:
    """The next start sets what is missing; what somebody sets at that very moment stays too."""
    for n in range(3):
        write_lines(tmp_path / "in" / f"{n}.ndjson", n + 1)
    store, bad = str(tmp_path / "store"), tmp_path / "in" / "1.ndjson"
    plan = scale.plan_put(str(tmp_path / "in"), store, tmp_path / "put.jsonl")
    bad.rename(tmp_path / "kept")
    assert scale.run(plan, executor="inline").files_failed == 1
    with tare.open_store(store) as opened:
        opened.set("0.ndjson", b"newer")
    assert scale.run(plan, executor="inline").files_failed == 1
    (tmp_path / "kept").rename(bad)
    assert scale.run(plan, executor="inline").ok
    with tare.open_store(store) as opened:
        assert bytes(opened.get("0.ndjson")) == b"newer"
        assert bytes(opened.get("1.ndjson")) == bad.read_bytes()
        found = put._add(opened, {"1.ndjson": b"late", "x": b"1", "y": b"2"}, None)
        assert bytes(opened.get("1.ndjson")) == bad.read_bytes()
        assert found == {key: opened.get_hash(key) for key in ("1.ndjson", "x", "y")}


def test_sources_that_went_before_they_were_begun(tmp_path: Path) -> None:
    """What a plan of before had not begun, and is no more, is nobody's: what is there is told as done."""
    folder, out = tmp_path / "in", tmp_path / "out"
    for n in range(4):
        write_lines(folder / f"{n}.ndjson", 5)
    plan = scale.plan_convert(str(folder), str(out), to="parquet")
    assert scale.run(plan, executor="inline", shard=(1, 2)).done == 2
    assert scale.status(str(out))["missing"] == 2
    made = {Path(name).stem for name in visible_names(out)}
    for n in range(4):
        if str(n) not in made:
            (folder / f"{n}.ndjson").unlink()
    assert scale.status(str(out))["missing"] == 2  # of the plan that is the last
    assert convert(folder, out).skipped == 2
    status = scale.status(str(out))
    assert (status["units"], status["done"], status["missing"], status["inputs"]) == (2, 2, 0, 2)
    assert status["bytes"] == status["bytes_done"]
    (
        out / visible_names(out)[0]
    ).unlink()  # a result that went is missing, whether or not it can be made again
    shutil.rmtree(folder)
    write_lines(tmp_path / "other" / "z.ndjson", 1)
    assert convert(tmp_path / "other", out).done == 1
    assert scale.status(str(out))["missing"] == 1


def test_a_plan_cannot_allow_code(tmp_path: Path) -> None:
    """Who runs it can."""
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    (folder / "x.pickle").write_bytes(pickle.dumps(pa.table({"a": [1], "b": [2]})))
    plan = scale.plan_convert(str(folder), str(out), to="parquet")
    report = scale.run(plan, executor="inline")
    assert report.failures[0]["error"]["kind"] == "NotTrusted"
    (unit,) = plan.units()
    with pytest.raises(PlanError, match="allowed by whoever runs a plan"):
        check_unit({**unit, "options": {**unit["options"], "allow_pickle": 1}})
    with pytest.raises(PlanError, match="allowed by whoever runs a plan"):
        check_unit({**unit, "options": {**unit["options"], "overwrite": 1}})
    with pytest.raises(PlanError, match="allowed by whoever runs a plan"):
        check_unit({**unit, "options": {**unit["options"], "on_loss": "allow"}})
    assert scale.run(plan, executor="inline", allow_pickle=True).ok
    parts = scale.plan_convert(str(folder), str(out / "parts"), to="parquet", partition="a")
    assert scale.run(parts, executor="inline").failures[0]["error"]["kind"] == "NotTrusted"
    assert scale.run(parts, executor="inline", allow_pickle=True).ok


class Fatal:
    """A row that ends the process that loads it, once, if a file is there."""

    def __init__(self, flag: Path) -> None:
        self.flag = str(flag)

    def __reduce__(self) -> Any:
        die = "__import__('os').kill(__import__('os').getpid(), 9)"
        once = (
            f"__import__('os').path.exists({self.flag!r}) and (__import__('os').unlink({self.flag!r}), {die})"
        )
        return eval, (f"({once}, {{'a': 1}})[1]",)


def test_a_worker_that_died_has_decoded_nothing(tmp_path: Path) -> None:
    """A receipt of an earlier run, which read nothing back, does not stand for a unit that is to be read back."""
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    (folder / "x.pickle").write_bytes(pickle.dumps([Fatal(tmp_path / "flag")]))
    plan = scale.plan_convert(str(folder), str(out), to="parquet")
    assert scale.run(plan, executor="inline", allow_pickle=True).ok
    (tmp_path / "flag").touch()
    report = scale.run(plan, executor="local:1", verify="decode", allow_pickle=True)
    assert (report.deaths, report.done, report.failed) == (1, 1, 0)
    (path,) = (out / ".tare" / "done").glob("*/*.json")
    assert json.loads(path.read_text())["verify"] == "decode"


def test_every_failure_can_be_listed(tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    for n in range(6):
        write_lines(folder / f"{n}.ndjson", 0)
        (folder / f"{n}.ndjson").write_text('{"a": ]}\n')
    assert convert(folder, out).files_failed == 6
    (group,) = scale.status(str(out))["failures"]
    assert (group["count"], len(group["examples"])) == (6, 3)
    every = scale.status(str(out), every=True)["failed_inputs"]
    assert all(any(f"{n}.ndjson" in one["message"] for one in every) for n in range(6))


GOOD: dict[str, Any] = {
    "tare_unit": 1, "task": "convert", "input": [{"uri": "file:///a", "size": 1}], "write": "parquet",
    "output": {"base": "file:///out", "names": ["a.parquet"]}, "options": {"tare": "0"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"write": None}, "write: a unit of convert has it"),
        ({"options": None}, "options: a unit of convert has it"),
        ({"input": []}, "input: a unit has one at least"),
        ({"input": [{"uri": "file:///a", "size": "x"}]}, r"input\[0\].size: a whole number is needed"),
        ({"input": [{"uri": "file:///a", "size": -1}]}, r"input\[0\].size: a whole number is needed"),
        ({"output": {"base": "file:///out", "names": []}}, "a name for each input"),
        ({"options": {"columns": 3}}, "options.columns: a text is needed"),
        ({"task": "put", "options": {"store": "/s"}}, "a store, and a key for each input"),
        ({"task": "put", "options": {"store": "/s", "keys": [1]}}, "options.keys: a list of texts"),
    ],
)
def test_what_a_unit_cannot_do_without(change: dict[str, Any], said: str) -> None:
    assert check_unit(GOOD) == GOOD
    unit = {name: value for name, value in {**GOOD, **change}.items() if value is not None}
    with pytest.raises(PlanError, match=said):
        check_unit(unit)
