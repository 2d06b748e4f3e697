"""What an attempt renamed, or set, before it died: no receipt tells of it yet, and of partitions no plan."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.capabilities import need_codec, need_module
from support.crashes import end_at_step, some_steps, visible_hashes
from support.soak import scaled

import tare
from tare import scale
from tare.errors import UsageError
from tare.scale.place import LocalPlace
from tare.scale.planning import others
from tare.scale.planning.grouping import Limits
from tare.scale.state import State
from tare.scale.unit import unit_key
from tare.store import Store

BEFORE = "k,v\na,1\nb,2\nc,3\n"
CHANGES = {
    "unchanged": BEFORE,
    "values gone": "k,v\nc,30\nd,40\n",
    "values stay": "k,v\na,10\nb,20\nc,30\n",
    "other order": "k,v\nc,3\na,1\n",
}


def write(path: Path, text: str) -> None:
    """Another state of a source has another time, however soon it follows."""
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text)
    os.utime(path, ns=(before + 10**9, before + 10**9))


def convert(folder: Path, **options: Any) -> scale.Report:
    given: dict[str, Any] = {"to": "parquet", "partition": "k", "executor": "inline", **options}
    return scale.convert(str(folder / "pk.csv"), str(folder / "out"), **given)


def rows(folder: Path) -> list[tuple[str, int]]:
    """What a reader of the folder gets."""
    found = []
    for name in visible_hashes(folder / "out"):
        value = name.partition("/")[0].removeprefix("k=")
        found += [(value, v) for v in tare.read(folder / "out" / name).column("v").to_pylist()]
    return sorted(found)


def expected(text: str) -> list[tuple[str, int]]:
    return sorted((k, int(v)) for k, v in (line.split(",") for line in text.split()[1:]))


def intents(folder: Path) -> set[str]:
    return State((folder / "out").as_uri()).intents()


def died(child: Callable[[], object]) -> bool:
    """Run it in a fork of this process, and whether it ended as a death does.

    Never with what keeps threads of its own, as polars does: in a fork of a process that used it already, it waits for
    them for ever.
    """
    pid = os.fork()
    if pid == 0:
        try:
            child()
        finally:
            os._exit(0)
    until = time.monotonic() + 120
    while (ended := os.waitpid(pid, os.WNOHANG))[0] == 0:
        if time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            pytest.fail("the child hangs")
        time.sleep(0.002)
    return os.waitstatus_to_exitcode(ended[1]) == 9


def died_at_rename(folder: Path, number: int, **options: Any) -> None:
    """A run that ends instead of its nth rename of a partition; 3 of 3 is before the receipt."""

    def child() -> None:
        real, left = LocalPlace.commit, [number]

        def commit(self: LocalPlace, path: str, name: str) -> None:
            if name.startswith("k="):
                if not left[0]:
                    os._exit(9)
                left[0] -= 1
            real(self, path, name)

        def receipt(*_: Any, **__: Any) -> None:
            os._exit(9)

        LocalPlace.commit = commit  # type: ignore[method-assign]
        State.write_receipt = receipt  # type: ignore[method-assign]
        convert(folder, **options)

    assert died(child)


@pytest.mark.parametrize(
    ("number", "change", "verify"),
    [
        *itertools.product(range(4), CHANGES, ["hash"]),
        (1, "values stay", "size"),
        (3, "unchanged", "size"),
        (3, "values gone", "size"),
    ],
)
def test_a_death_between_renames(tmp_path: Path, number: int, change: str, verify: str) -> None:
    """Whatever the source is then, its rows are there, each once, and nothing else."""
    write(tmp_path / "pk.csv", BEFORE)
    died_at_rename(tmp_path, number, verify=verify)
    assert len(visible_hashes(tmp_path / "out")) == number
    assert len(intents(tmp_path)) == 1
    if CHANGES[change] != BEFORE:
        write(tmp_path / "pk.csv", CHANGES[change])
    report = convert(tmp_path, verify=verify)
    assert report.ok, report.failures
    assert rows(tmp_path) == expected(CHANGES[change])
    assert not intents(tmp_path)
    assert convert(tmp_path, verify=verify).skipped == 1


def test_a_death_at_every_step(tmp_path: Path) -> None:
    """Of the file system, the manifest and the removal of what is superseded included."""
    texts = [BEFORE, CHANGES["values gone"]]
    deaths = 0
    for number in some_steps():
        folder = tmp_path / str(number)
        folder.mkdir()
        write(folder / "pk.csv", texts[0])

        def child(folder: Path = folder, number: int = number) -> None:
            end_at_step(number)
            convert(folder)
            write(folder / "pk.csv", texts[1])
            convert(folder)

        ended = died(child)
        deaths += ended
        write(folder / "pk.csv", "k,v\na,5\ne,6\n")
        assert convert(folder).ok
        assert rows(folder) == [("a", 5), ("e", 6)], number
        assert not intents(folder)
        if not ended:
            break
    assert deaths >= scaled(5, 20)


@pytest.mark.parametrize("options", [{"overwrite": True}, {"partition": None}, {"partition": "v"}])
def test_whatever_is_asked_for_then(tmp_path: Path, options: dict[str, Any]) -> None:
    write(tmp_path / "pk.csv", BEFORE)
    died_at_rename(tmp_path, 2)
    write(tmp_path / "pk.csv", CHANGES["values gone"])
    report = convert(tmp_path, **options)
    assert (report.ok, report.superseded) == (True, 2)
    assert sum(tare.read(tmp_path / "out" / name).num_rows for name in visible_hashes(tmp_path / "out")) == 2


def test_several_deaths(tmp_path: Path) -> None:
    """Of the same state of a source and of others; a later attempt hides nothing that an earlier one renamed."""
    for number, text in ((3, BEFORE), (1, BEFORE), (1, "k,v\nb,7\nx,1\n"), (2, "k,v\nw,1\nx,1\nz,1\n")):
        if not (tmp_path / "pk.csv").exists() or (tmp_path / "pk.csv").read_text() != text:
            write(tmp_path / "pk.csv", text)
        died_at_rename(tmp_path, number)
    assert len(intents(tmp_path)) == 3
    write(tmp_path / "pk.csv", "k,v\nc,9\n")
    assert convert(tmp_path).ok
    assert rows(tmp_path) == [("c", 9)]
    assert not intents(tmp_path)


@pytest.mark.parametrize("verify", ["hash", "size"])
@pytest.mark.parametrize("text", ["k,v\nd,4\n", "k,v\nc,30\n"])
def test_a_file_that_is_not_as_it_was_to_be_is_nobody_s(tmp_path: Path, text: str, verify: str) -> None:
    """One that was there before its rename, and one that was changed since: of the same name, even of the same size."""
    write(tmp_path / "pk.csv", BEFORE)
    died_at_rename(tmp_path, 2, verify=verify)
    out = tmp_path / "out"
    changed = out / "k=a" / "pk.parquet"
    changed.write_bytes(bytes(len(changed.read_bytes())))
    (out / "k=c").mkdir()
    (out / "k=c" / "pk.parquet").write_bytes(b"mine")
    before = {name: digest for name, digest in visible_hashes(out).items() if name != "k=b/pk.parquet"}
    write(tmp_path / "pk.csv", text)
    report = convert(tmp_path)
    if "c" in text:
        (failed,) = report.failures
        assert "k=c/pk.parquet exists already, and no plan knows it" in failed["error"]["message"]
        assert (out / "k=b" / "pk.parquet").exists(), "nothing takes its place yet"
        assert convert(tmp_path, overwrite=True).ok
        del before["k=c/pk.parquet"]
    else:
        assert report.ok
    assert before.items() <= visible_hashes(out).items()
    assert not (out / "k=b" / "pk.parquet").exists()


def test_another_source_s_is_left(tmp_path: Path) -> None:
    """Two files of one name into one folder: what an attempt at the one renamed is not the other's to replace."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    write(tmp_path / "pk.csv", BEFORE)
    died_at_rename(tmp_path, 2)
    before = visible_hashes(tmp_path / "out")
    write(tmp_path / "b" / "pk.csv", "k,v\nb,7\n")
    given: dict[str, Any] = {"to": "parquet", "partition": "k", "executor": "inline"}
    (failed,) = scale.convert(str(tmp_path / "b" / "pk.csv"), str(tmp_path / "out"), **given).failures
    assert f"exists already, made of {tmp_path}/pk.csv" in failed["error"]["message"]
    assert visible_hashes(tmp_path / "out") == before
    assert convert(tmp_path).ok
    assert rows(tmp_path) == expected(BEFORE)


def test_what_a_source_that_fails_gave_before_stays(tmp_path: Path) -> None:
    write(tmp_path / "pk.csv", BEFORE)
    died_at_rename(tmp_path, 3)
    before = visible_hashes(tmp_path / "out")
    write(tmp_path / "pk.csv", 'k,v\n"a,1\n')
    assert convert(tmp_path).failed == 1
    assert visible_hashes(tmp_path / "out") == before
    write(tmp_path / "pk.csv", CHANGES["values gone"])
    assert convert(tmp_path).ok
    assert rows(tmp_path) == expected(CHANGES["values gone"])


def test_an_attempt_that_another_shard_is_at_is_left(tmp_path: Path) -> None:
    """The end of a run takes nothing from a unit that is wanted, begun or not."""
    write(tmp_path / "pk.csv", BEFORE)
    write(tmp_path / "other.csv", BEFORE)
    plan = scale.plan_convert(
        [str(tmp_path / "pk.csv"), str(tmp_path / "other.csv")],
        str(tmp_path / "out"),
        to="parquet",
        partition="k",
    )
    number = next(n for n, unit in enumerate(plan.units(), 1) if unit["output"]["names"] == ["pk.parquet"])
    died_at_rename(tmp_path, 2)
    report = scale.run(plan, executor="inline", shard=(3 - number, 2))
    assert (report.ok, report.superseded) == (True, 0)
    assert {"k=a/pk.parquet", "k=b/pk.parquet"} < visible_hashes(tmp_path / "out").keys()
    assert len(intents(tmp_path)) == 1
    assert scale.run(plan, executor="inline").ok
    assert not intents(tmp_path)
    assert len(rows(tmp_path)) == 6


@pytest.mark.parametrize("task", ["convert", "encode"])
def test_a_part_of_a_source_that_has_become_shorter(tmp_path: Path, task: str) -> None:
    """Its attempt died before the receipt, and no later plan has a part of that number."""
    source, out = tmp_path / "a.ndjson", tmp_path / "out"

    def write_lines(count: int) -> None:
        write(source, "".join(f'{{"n": {n}}}\n' for n in range(count)))

    def run() -> scale.Report:
        if task == "encode":
            return scale.run(scale.plan_encode(str(source), str(out), split=2000), executor="inline")
        return scale.convert(str(source), str(out), to="parquet", split=2000, executor="inline")

    def child() -> None:
        real = State.write_receipt

        def receipt(self: State, receipt: Any, **options: Any) -> None:
            if "part-00005" in str(receipt["output"]):
                os._exit(9)
            real(self, receipt, **options)

        State.write_receipt = receipt  # type: ignore[method-assign]
        run()

    write_lines(1000)
    assert died(child)
    assert any("part-00005" in name for name in visible_hashes(out))
    write_lines(300)
    assert run().ok
    assert not any("part-00005" in name for name in visible_hashes(out))
    values = [tare.read(path) for path in sorted(out.glob("a/*"))]
    assert sum(len(one) for one in values) == 300
    assert not State(out.as_uri()).intents()


@pytest.mark.parametrize("options", [{"split": 2000}, {"partition": "n"}])
def test_an_intent_lasts_until_its_receipt(tmp_path: Path, options: dict[str, Any]) -> None:
    """The end of a run removes what a death between the two left, and nothing else is left to it."""
    source, out = tmp_path / "a.ndjson", tmp_path / "out"
    write(source, "".join(f'{{"n": {n % 5}, "v": {n}}}\n' for n in range(1000)))
    plan = scale.plan_convert(str(source), str(out), to="parquet", **options)
    count = sum(not intents(tmp_path) for _ in scale.iter_run(plan, executor="inline"))
    assert count == plan.count
    write(source, "".join(f'{{"n": {n % 5}, "v": {n}}}\n' for n in range(900)))

    def run() -> scale.Report:
        return scale.convert(str(source), str(out), to="parquet", executor="inline", **options)

    def child() -> None:
        State.drop_intent = lambda *_: os._exit(9)  # type: ignore[method-assign, assignment]
        run()

    assert died(child)
    assert len(intents(tmp_path)) == 1
    assert run().ok
    assert not intents(tmp_path)
    assert sum(tare.read(out / name).num_rows for name in visible_hashes(out)) == 900


@pytest.mark.parametrize("options", [{"split": 2000}, {"partition": "n"}])
def test_where_sizes_are_enough_nothing_is_hashed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    write(tmp_path / "a.ndjson", "".join(f'{{"n": {n % 5}, "v": {n}}}\n' for n in range(1000)))
    hashed: list[str] = []
    monkeypatch.setattr("tare.scale.running.hashed", lambda path: hashed.append(path) or (0, ""))
    given: dict[str, Any] = {"to": "parquet", "executor": "inline", "verify": "size", **options}
    assert scale.convert(str(tmp_path / "a.ndjson"), str(tmp_path / "out"), **given).ok
    assert not hashed


@pytest.fixture
def dask() -> None:
    need_module("dask.dataframe")


def write_parts(folder: Path, rows: int, parts: int, **options: Any) -> None:
    import dask
    from dask import dataframe

    pd = need_module("pandas")
    with dask.config.set(scheduler="sync"):
        frame = dataframe.from_pandas(pd.DataFrame({"v": range(rows)}), npartitions=parts)
        scale.write_parts(frame, folder / "out", **{"to": "parquet", **options})


def write_frame(folder: Path, rows: int, parts: int, *, died_at: int) -> bool:
    """Write a frame in a process that ends between the rename of a part and its receipt; whether it did."""

    def child() -> None:
        real, left = State.write_receipt, [died_at]

        def receipt(self: State, receipt: Any, **more: Any) -> None:
            left[0] -= 1
            if left[0] == 0:
                os._exit(9)
            real(self, receipt, **more)

        State.write_receipt = receipt  # type: ignore[method-assign]
        write_parts(folder, rows, parts)

    return died(child)


def rows_of_parts(folder: Path) -> list[int]:
    found = [tare.read(folder / "out" / name)["v"].to_pylist() for name in visible_hashes(folder / "out")]
    return [v for one in found for v in one]


@pytest.mark.usefixtures("dask")
@pytest.mark.parametrize("died_at", [1, 2, 4])
@pytest.mark.parametrize(("parts", "to"), [(2, "parquet"), (4, "parquet"), (1, "parquet:polars")])
def test_a_part_of_a_frame_that_died_before_its_receipt(
    tmp_path: Path, died_at: int, parts: int, to: str
) -> None:
    """The next frame replaces it, or removes it if it has fewer parts, whatever it holds."""
    need_codec(to)
    assert write_frame(tmp_path, 80, 4, died_at=died_at)
    assert len(visible_hashes(tmp_path / "out")) == died_at
    assert len(intents(tmp_path)) == 1
    write_parts(tmp_path, 20, parts, to=to)
    assert len(visible_hashes(tmp_path / "out")) == parts
    assert sorted(rows_of_parts(tmp_path)) == [*range(20)]
    assert not intents(tmp_path)


@pytest.mark.usefixtures("dask")
def test_a_part_that_somebody_replaced_since_is_his(tmp_path: Path) -> None:
    """It is neither removed nor replaced, and what is said can be done from Python."""
    assert write_frame(tmp_path, 80, 4, died_at=1)
    (name,) = visible_hashes(tmp_path / "out")
    there = tmp_path / "out" / name
    there.write_bytes(bytes(len(there.read_bytes())))
    before = visible_hashes(tmp_path / "out")
    with pytest.raises(UsageError, match="Move it away, or pass overwrite=True to replace it"):
        write_parts(tmp_path, 20, 4)
    # Dask chooses which part is the first; a frame of one part has the name of one of them.
    first = name == "part-00001.parquet"
    with pytest.raises(UsageError, match="Move it away") if first else contextlib.nullcontext():
        write_parts(tmp_path, 20, 1)
    assert before.items() <= visible_hashes(tmp_path / "out").items()
    write_parts(tmp_path, 20, 4, overwrite=True)
    assert len(rows_of_parts(tmp_path)) == 20
    assert not intents(tmp_path)


KEYS = ("absent", "older", "newer", "gone")


def put_plan(folder: Path) -> scale.Plan:
    """Four files for a store that has keys of two of their names."""
    for key in KEYS:
        (folder / "in").mkdir(exist_ok=True)
        (folder / "in" / key).write_text(f"file {key}")
    with tare.open_store(str(folder / "store")) as store:
        store.set("older", b"before")
        store.set("newer", b"before")
    return scale.plan_put(str(folder / "in"), str(folder / "store"), folder / "put.jsonl")


def died_putting(plan: scale.Plan, step: str) -> bool:
    """A run that ends before any key is set, when a half is, or when all are; whether it did."""

    def child() -> None:
        real = Store.mset

        def mset(self: Store, keys: list[str], values: list[Any], **options: Any) -> Any:
            if step == "half":
                real(self, keys[::2], values[::2], **options)
            if step in ("before", "half"):
                os._exit(9)
            return real(self, keys, values, **options)

        def receipt(*_: Any, **__: Any) -> None:
            os._exit(9)

        Store.mset = mset  # type: ignore[method-assign]
        State.write_receipt = receipt  # type: ignore[method-assign]
        scale.run(plan, executor="inline")

    return died(child)


@pytest.mark.parametrize("steps", [["before"], ["half"], ["after"], ["before", "after"], ["half", "before"]])
def test_a_key_that_was_set_since_an_attempt_died_stays(tmp_path: Path, steps: list[str]) -> None:
    """All others name their files, also those that named something else before."""
    plan = put_plan(tmp_path)
    for step in steps:
        assert died_putting(plan, step)
        with tare.open_store(str(tmp_path / "store")) as store:
            store.set("newer", b"since")
            store.del_("gone")
    report = scale.run(plan, executor="inline")
    assert report.ok, report.failures
    with tare.open_store(str(tmp_path / "store")) as store:
        found = {key: bytes(store.get(key)).decode() for key in KEYS}
    assert found == {**{key: f"file {key}" for key in KEYS}, "newer": "since"}
    assert scale.run(plan, executor="inline").skipped == plan.count


def test_keys_that_were_there_are_replaced_once(tmp_path: Path) -> None:
    """By the first start; what a file that could not be read then is to replace, it replaces when it can."""
    plan = put_plan(tmp_path)
    (tmp_path / "in" / "older").rename(tmp_path / "kept")
    assert scale.run(plan, executor="inline").files_failed == 1
    with tare.open_store(str(tmp_path / "store")) as store:
        assert bytes(store.get("older")) == b"before"
        assert bytes(store.get("newer")) == b"file newer"
        store.set("newer", b"since")
    (tmp_path / "kept").rename(tmp_path / "in" / "older")
    assert died_putting(plan, "after")
    with tare.open_store(str(tmp_path / "store")) as store:
        assert bytes(store.get("older")) == b"file older"
        store.set("older", b"since")
    assert scale.run(plan, executor="inline").ok
    with tare.open_store(str(tmp_path / "store")) as store:
        assert (bytes(store.get("older")), bytes(store.get("newer"))) == (b"since", b"since")


def test_a_store_that_fails_while_keys_are_set_forgets_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it set before it failed is as good as set: who sets it then is right."""
    plan = put_plan(tmp_path)
    real = Store.mset

    def failing(self: Store, keys: list[str], values: list[Any], **options: Any) -> Any:
        real(self, keys[:3], values[:3], **options)
        raise OSError("the disk fails")

    with monkeypatch.context() as patched:
        patched.setattr(Store, "mset", failing)
        assert scale.run(plan, executor="inline", retries=0).failed == 1
    with tare.open_store(str(tmp_path / "store")) as store:
        store.set("newer", b"since")
    assert scale.run(plan, executor="inline").ok
    with tare.open_store(str(tmp_path / "store")) as store:
        found = {key: bytes(store.get(key)).decode() for key in KEYS}
    assert found == {**{key: f"file {key}" for key in KEYS}, "newer": "since"}


def test_what_keys_name_is_kept_of_each_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of those that name something: no process need hold all keys of a plan."""
    monkeypatch.setattr(others, "_GROUPS", Limits(usual=1, most=1))
    plan = put_plan(tmp_path)
    assert plan.count == len(KEYS)
    assert died_putting(plan, "before")
    begun = next(tmp_path.rglob("begun"))
    named = {unit_key(unit) for unit in plan.units() if unit["options"]["keys"][0] in ("older", "newer")}
    assert {path.name for path in begun.iterdir()} == {
        f"00000001-{plan.id}.json", *(f"00000001-{plan.id}-{key}.json" for key in named)
    }  # fmt: skip
    with tare.open_store(str(tmp_path / "store")) as store:
        store.set("newer", b"since")
        store.set("absent", b"since")
    assert scale.run(plan, executor="inline").ok
    with tare.open_store(str(tmp_path / "store")) as store:
        found = {key: bytes(store.get(key)).decode() for key in KEYS}
    assert found == {**{key: f"file {key}" for key in KEYS}, "newer": "since", "absent": "since"}
