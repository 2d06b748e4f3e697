"""The output protocol: a death at any step, two at one unit, a full disk, sources that change."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet
from support.capabilities import need, need_command, need_root
from support.commands import invoke
from support.crashes import end_at_step, some_steps, visible_hashes
from support.soak import scaled

from tare import scale
from tare.cli.plan import command
from tare.scale import place, running
from tare.scale.attempts import attempt_of
from tare.scale.failures import HostBusy, classify, unwritable
from tare.scale.plan import read_plan
from tare.scale.planning import convert
from tare.scale.report import grouped
from tare.scale.state import State
from tare.scale.unit import unit_key

ROWS = "".join(f"{n},{n * n}\n" for n in range(200))


def source(folder: Path, count: int = 3) -> Path:
    folder.mkdir(parents=True)
    for n in range(count):
        (folder / f"f{n}.csv").write_text(f"a,b\n{n},0\n{ROWS}")
    return folder


def planned(tmp_path: Path, name: str = "out", count: int = 3, **options: Any) -> scale.Plan:
    where = tmp_path / "in"
    if not where.exists():
        source(where, count)
    return scale.plan_convert(str(where), str(tmp_path / name), to="parquet", **options)


def test_a_death_at_every_step_loses_nothing(tmp_path: Path) -> None:
    """A child ends between two system calls of the protocol; the next run makes the tree whole."""
    expected_plan = planned(tmp_path, "expected")
    assert scale.run(expected_plan, executor="inline").ok
    expected = visible_hashes(tmp_path / "expected")
    deaths = 0
    for number in some_steps():
        plan = planned(tmp_path, f"out{number}")
        unit = next(plan.units())
        pid = os.fork()
        if pid == 0:  # every call that changes the file system counts; the nth is the last
            end_at_step(number)
            running.run_unit(unit, State.of(plan).settings())
            os._exit(0)
        died = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
        deaths += died
        for name, digest in visible_hashes(tmp_path / f"out{number}").items():
            assert expected[name] == digest, "a result under its name is whole"
        report = scale.run(plan, executor="inline")
        assert report.ok, report.failures
        assert visible_hashes(tmp_path / f"out{number}") == expected
        assert not list((tmp_path / f"out{number}" / ".tare" / "writing").iterdir())
        if not died:
            break
    assert deaths >= scaled(2, 5)


@pytest.mark.parametrize("changed", [False, True])
def test_a_death_at_every_step_of_a_run_takes_nothing_for_another_s(tmp_path: Path, changed: bool) -> None:
    """What the run made before it ended is ours, also of a source that changes then; what was there before is not."""
    where = source(tmp_path / "in", 2)
    sources = {path: path.read_text() for path in where.iterdir()}
    deaths = 0
    for number in some_steps():
        out = tmp_path / f"out{number}"
        out.mkdir()
        (out / "f1.parquet").write_bytes(b"mine")
        # Planned before that: nothing but a run makes it known to the destination.
        plan = scale.plan_convert(str(where / "f0.csv"), str(out), to="parquet", path=tmp_path / "a.jsonl")
        other = scale.plan_convert(
            str(where / "f1.csv"), str(out), to="parquet", path=tmp_path / "b.jsonl", overwrite=True
        )
        pid = os.fork()
        if pid == 0:
            end_at_step(number)
            for one in (plan, other):
                scale.run(one.path, executor="inline")
            os._exit(0)
        died = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
        deaths += died
        if changed:
            (where / "f0.csv").write_text("a,b\n7,7\n")
            plan = scale.plan_convert(
                str(where / "f0.csv"), str(out), to="parquet", path=tmp_path / "a.jsonl"
            )
        assert scale.run(plan, executor="inline").ok
        assert len(parquet.read_table(out / "f0.parquet")) == (1 if changed else 201)
        (failed,) = scale.run(other.path, executor="inline").failures
        assert (
            "f1.parquet: a file of that name exists already, and not from here" in failed["error"]["message"]
        )
        assert (out / "f1.parquet").read_bytes() == b"mine"
        for path, text in sources.items() if changed else ():
            path.write_text(text)
        if not died:
            break
    assert deaths >= scaled(5, 20)


_TWICE = """
import json, sys
from tare.scale.plan import read_plan
from tare.scale.running import run_unit
from tare.scale.state import State
plan = read_plan(sys.argv[1])
for unit in plan.units():
    sys.stdin.readline()
    print(json.dumps(run_unit(unit, State.of(plan).settings())), flush=True)
"""


def test_two_processes_at_one_unit(tmp_path: Path) -> None:
    """One output, one receipt, whoever was first."""
    plan = planned(tmp_path, count=scaled(12, 60))
    both = [
        subprocess.Popen(
            [sys.executable, "-c", _TWICE, plan.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    statuses: dict[str, int] = {}
    for _ in range(plan.count):
        for one in both:
            assert one.stdin is not None
            one.stdin.write("\n")
            one.stdin.flush()
        for one in both:
            assert one.stdout is not None
            receipt = json.loads(one.stdout.readline())
            statuses[receipt["status"]] = statuses.get(receipt["status"], 0) + 1
            assert receipt["status"] in ("done", "duplicate", "skipped"), receipt
            assert "not_deterministic" not in receipt
    for one in both:
        one.communicate(timeout=60)
    state = State.of(plan)
    assert len(state.done()) == plan.count
    assert len(visible_hashes(tmp_path / "out")) == plan.count
    assert not list((tmp_path / "out" / ".tare" / "writing").iterdir())
    assert statuses.get("done", 0) >= plan.count


@pytest.fixture
def small_disk(tmp_path: Path) -> Path:
    need_root()
    need_command("mount", "umount")
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)], check=False)
    need(mounted.returncode == 0, "no tmpfs can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_stops_the_run(tmp_path: Path, small_disk: Path) -> None:
    """Exit code 4; nothing half written under a name; with room the same plan goes on."""
    folder = tmp_path / "in"
    folder.mkdir()
    for n in range(20):
        (folder / f"f{n:02}.csv").write_text("a\n" + "".join(f"{k * 7919 % 10007}\n" for k in range(n, 9000)))
    plan = scale.plan_convert(str(folder), str(small_disk / "out"), to="parquet")
    report = scale.run(plan, executor="inline")
    assert (report.stopped, report.exit_code) == ("resources", 4)
    error = report.failures[-1]["error"]
    assert error["class"] == "resources"
    assert "its disk is full; make room there" in error["message"]
    assert error["message"].startswith(str(small_disk / "out"))
    assert report.missing > 0
    import pyarrow.parquet as pq

    for name in visible_hashes(small_disk / "out"):
        assert pq.read_table(small_disk / "out" / name).num_rows > 8000
    subprocess.run(["mount", "-o", "remount,size=16m", str(small_disk)], check=True)
    again = scale.run(plan, executor="inline")
    assert again.ok, again.failures
    assert again.skipped == report.done


def test_a_destination_that_is_read_only(tmp_path: Path, small_disk: Path) -> None:
    plan = scale.plan_convert(str(source(tmp_path / "in")), str(small_disk / "out"), to="parquet")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(OSError, match=r"[Rr]ead-only"):
        scale.run(plan, executor="inline")


def test_the_command_says_in_words_what_takes_nothing(tmp_path: Path, small_disk: Path) -> None:
    """Where the plan is kept, and where it is begun: the place, what it lacks, no number and no folder of ours."""
    folder = source(tmp_path / "in")
    out, plan = small_disk / "out", tmp_path / "plan.jsonl"
    scale.plan_convert(str(folder), str(out), to="parquet", path=plan)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    for words in (("convert", str(folder), str(out), "--to", "parquet"), ("run", str(plan))):
        done = invoke(*words, cwd=tmp_path)
        assert done.returncode == 4, done.stderr
        assert f"tare: {out}: its disk is read-only; name another place" in done.stderr
        assert "Errno" not in done.stderr
        assert ".tare" not in done.stderr


def test_what_may_not_be_written_is_said_in_words() -> None:
    """Root may write everywhere: the error alone."""
    denied = PermissionError(errno.EACCES, "Permission denied", "/x/ro/.tare")
    said = str(unwritable(denied, "/x/ro"))
    assert (
        said
        == "/x/ro: this user may not write there; get the right, or name another place (Permission denied)"
    )
    assert classify(unwritable(denied, "/x/ro"), writing=True) == "resources"


@pytest.mark.parametrize("busy", [False, True])
def test_a_busy_host_is_measured_if_the_plan_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, busy: bool
) -> None:
    (tmp_path / "a.json").write_text('[{"x": 1}]')
    path = tmp_path / "plan.jsonl"
    line = (
        f"measure {tmp_path}/a.json {tmp_path}/o --codec json:orjson --seconds 2 -o {path}{' --busy' * busy}"
    )
    assert CliRunner().invoke(command, line.split()).exit_code == 0
    monkeypatch.setattr("os.getloadavg", lambda: (1000.0, 0.0, 0.0))
    report = scale.run(read_plan(path), executor="inline", retries=0)
    assert (report.done, report.failed) == (int(busy), int(not busy)), report
    assert busy or "or plan it with --busy" in str(report.failures)


def test_a_busy_host_is_no_fault_of_the_data() -> None:
    """It is tried again, there or elsewhere, later."""
    assert classify(HostBusy("host: a load of 8.6 on 2 cores")) == "transient"


def test_a_source_that_changed_since_the_plan(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    (tmp_path / "in" / "f1.csv").write_text("a,b\n1,2\n")
    report = scale.run(plan, executor="inline")
    assert (report.done, report.failed) == (2, 1)
    error = report.failures[0]["error"]
    assert (error["class"], error["kind"]) == ("input", "SourceChanged")
    assert "f1.csv changed since the plan was made" in error["message"]
    again = scale.run(planned(tmp_path), executor="inline")
    assert again.ok
    assert (again.done, again.skipped) == (1, 2)


@pytest.mark.parametrize("verify", ["size", "hash", "decode"])
@pytest.mark.parametrize("fsync", ["none", "unit", "all"])
def test_what_is_waited_for_and_what_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verify: str, fsync: str
) -> None:
    """Files, then folders and receipts too; no hash if sizes alone are checked."""
    flushed: list[str] = []
    real = os.fsync

    def told(number: int) -> None:
        flushed.append(os.path.relpath(os.readlink(f"/proc/self/fd/{number}"), tmp_path / "out"))
        real(number)

    monkeypatch.setattr(os, "fsync", told)
    report = scale.run(planned(tmp_path), executor="inline", verify=verify, fsync=fsync)
    assert report.ok
    (receipt, *_) = State((tmp_path / "out").as_uri()).receipts()
    assert bool(receipt["output"][0]["hash"]) == (verify != "size")
    made = [
        name for name in flushed if not name.endswith("/plan.jsonl")
    ]  # half a plan would stop later starts
    writing = any(name.startswith(".tare/writing") for name in made)
    assert writing == (fsync != "none")
    assert ("." in flushed, any(name.endswith(".json") for name in flushed)) == (fsync == "all",) * 2


def test_a_source_known_by_content_is_held_to_it(tmp_path: Path) -> None:
    """Another time is no change; other bytes of the same length are."""
    plan = planned(tmp_path, identify="content")
    first, second = (tmp_path / "in" / f"f{n}.csv" for n in (0, 1))
    os.utime(first, ns=(1, 1))
    data = second.read_bytes()
    second.write_bytes(data.replace(b"1", b"2"))
    assert len(second.read_bytes()) == len(data)
    report = scale.run(plan, executor="inline")
    assert (report.done, report.failed) == (2, 1)
    assert "f1.csv changed since the plan was made" in report.failures[0]["error"]["message"]


def test_a_source_that_changes_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(tmp_path)
    real = place.LocalPlace.local

    def changing(self: place.LocalPlace, name: str) -> Any:
        if name == "f1.csv":
            with open(self.path(name), "a") as file:
                file.write("7,7\n")
        return real(self, name)

    monkeypatch.setattr(place.LocalPlace, "local", changing)
    report = scale.run(plan, executor="inline")
    assert "f1.csv changed while it was read" in report.failures[0]["error"]["message"]
    assert sorted(visible_hashes(tmp_path / "out")) == ["f0.parquet", "f2.parquet"]


def test_one_bad_file_of_a_hundred(tmp_path: Path) -> None:
    """It is named, with the byte; the others are done."""
    folder = tmp_path / "in"
    folder.mkdir()
    for n in range(100):
        (folder / f"{n:02}.ndjson").write_text(f'{{"a": {n}}}\n')
    (folder / "50.ndjson").write_text('{"a": 1}\n{"a": ]}\n')
    report = scale.run(
        scale.plan_convert(str(folder), str(tmp_path / "out"), to="parquet"), executor="local:2"
    )
    assert (report.done, report.failed, report.exit_code) == (99, 1, 1)
    error = report.failures[0]["error"]
    assert error["class"] == "input"
    assert "50.ndjson" in error["message"]
    assert type(error["offset"]) is int or "line 2" in error["message"]
    assert len(visible_hashes(tmp_path / "out")) == 99
    again = scale.run(scale.plan_convert(str(folder), str(tmp_path / "out"), to="parquet"), executor="inline")
    assert (again.done, again.skipped, again.failed) == (0, 99, 1)


def test_each_bad_file_of_a_group_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files are grouped; one that fails costs none of its group, and each is told with its reason."""
    monkeypatch.setattr(convert, "_GROUPED_FROM", 200)
    folder = tmp_path / "in"
    folder.mkdir()
    for n in range(210):
        (folder / f"{n:03}.ndjson").write_text(f'{{"a": {n}}}\n')
    bad = ("050", "051", "190")
    for name in bad:
        (folder / f"{name}.ndjson").write_text('{"a": ]}\n')
    report = scale.convert(str(folder), str(tmp_path / "out"), to="parquet", executor="local:2")
    assert report.done < 40
    assert (report.files, report.files_failed, report.exit_code) == (207, 3, 1)
    assert len(visible_hashes(tmp_path / "out")) == 207
    status = scale.status(str(tmp_path / "out"))
    assert [status[f"inputs{one}"] for one in ("", "_done", "_failed", "_missing")] == [210, 207, 3, 0]
    (group,) = grouped(report.failures)
    assert (group["class"], group["count"]) == ("input", 3)
    assert [name for name in bad if any(f"{name}.ndjson" in said for said in group["examples"])] == [*bad]
    for name in bad:
        (folder / f"{name}.ndjson").write_text('{"a": 1}\n')
    assert scale.convert(str(folder), str(tmp_path / "out"), to="parquet", executor="local:2").ok
    assert len(visible_hashes(tmp_path / "out")) == 210


def test_a_new_file_among_many_changes_its_group_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(convert, "_GROUPED_FROM", 200)
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    for n in range(250):
        (folder / f"{n:03}.ndjson").write_text(f'{{"a": {n}}}\n')
    given: dict[str, Any] = {"to": "ndjson", "executor": "inline"}
    first = scale.convert(str(folder), str(out), **given)
    assert 4 < first.done < 40
    before = visible_hashes(out)
    (folder / "100b.ndjson").write_text('{"a": "new"}\n')
    second = scale.convert(str(folder), str(out), **given)
    assert (second.done, second.skipped, second.superseded) == (1, first.done - 1, 0)
    assert second.files < 100
    assert {name: hash for name, hash in visible_hashes(out).items() if name != "100b.ndjson"} == before
    (folder / "100b.ndjson").unlink()
    third = scale.convert(str(folder), str(out), **given)
    # What a source gave that is gone stays, as it does where each file is a unit; and it stays known.
    assert (third.failed, third.superseded) == (0, 0)
    assert visible_hashes(out).keys() == before.keys() | {"100b.ndjson"}
    assert "100b.ndjson" in (out / ".tare" / "manifest.json").read_text()
    assert scale.convert(str(folder), str(out), **given).done == 0


def test_a_result_that_was_deleted_is_made_again(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    assert scale.run(plan, executor="inline").done == 3
    (tmp_path / "out" / "f1.parquet").unlink()
    assert scale.run(plan, executor="inline").done == 1
    assert len(visible_hashes(tmp_path / "out")) == 3


def test_to_replace_is_no_other_work(tmp_path: Path) -> None:
    """What one run was refused, the next is allowed: nothing else is done again."""
    folder, out = tmp_path / "in", tmp_path / "o"
    folder.mkdir()
    for n in range(2):
        parquet.write_table(pa.table({"k": [n], "v": [1]}), folder / f"{n}.parquet", row_group_size=1)
    (out / "k=1").mkdir(parents=True)
    (out / "k=1" / "1.parquet").write_bytes(b"mine")
    plan = scale.plan_convert(str(folder), str(out), to="parquet", partition="k", split=1)
    report = scale.run(plan, executor="inline")
    assert (report.done, report.failed) == (1, 1)
    report = scale.run(plan, executor="inline", overwrite=True)
    assert (report.done, report.skipped, report.failed) == (1, 1, 0)


def test_many_outputs_of_one_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one name in several folders, or of many: each is what its source says, and no folder is left over."""
    for n in range(40):
        folder = tmp_path / "in" / f"d{n % 20}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"x{n // 20}.csv").write_text(f"a\n{n}\n")
    monkeypatch.setattr(convert, "_GROUPED_FROM", 10)
    plan = scale.plan_convert(str(tmp_path / "in"), str(tmp_path / "out"), to="parquet")
    assert plan.count < 10
    assert scale.run(plan, executor="inline", fsync="all").files == 40
    for n in range(40):
        path = tmp_path / "out" / f"d{n % 20}" / f"x{n // 20}.parquet"
        assert parquet.read_table(path, partitioning=None)["a"].to_pylist() == [n]
    assert not list((tmp_path / "out" / ".tare" / "writing").iterdir())


def test_results_of_others_are_left(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "f1.parquet").write_bytes(b"mine")
    left: list[tuple[str, str]] = []
    report = scale.run(planned(tmp_path, skipped=left), executor="inline")
    assert (report.done, left) == (
        2,
        [("f1.csv", "a file of that name exists already, and not from here; --overwrite replaces it")],
    )
    assert (tmp_path / "out" / "f1.parquet").read_bytes() == b"mine"
    assert scale.run(planned(tmp_path, overwrite=True), executor="inline").done == 1
    assert (tmp_path / "out" / "f1.parquet").read_bytes()[:4] == b"PAR1"


def test_a_unit_never_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(tmp_path)
    unit = next(plan.units())
    for wrong in ({}, {"tare_unit": 1}, None, 7, {**unit, "write": "nothing:at-all"}, {**unit, "task": "x"}):
        receipt = running.run_unit(wrong, {})  # type: ignore[arg-type]
        assert receipt["status"] == "failed", wrong
        json.dumps(receipt)

    def broken(*_: Any, **__: Any) -> Any:
        raise RecursionError("a fault of ours")

    monkeypatch.setattr("tare.io.convert", broken)
    receipt = running.run_unit(unit, State.of(plan).settings())
    assert (receipt["error"]["class"], receipt["error"]["kind"]) == ("bug", "RecursionError")
    assert "broken" in receipt["error"]["traceback"]


def test_receipts_and_manifest(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    assert scale.run(plan, executor="inline").ok
    state = State.of(plan)
    for unit in plan.units():
        receipt = state.receipt(unit_key(unit))
        assert receipt is not None
        assert (
            receipt["output"][0]["size"] == (tmp_path / "out" / receipt["output"][0]["name"]).stat().st_size
        )
        assert receipt["libraries"]["pyarrow"]
    manifest = json.loads((tmp_path / "out" / ".tare" / "manifest.json").read_text())
    assert [one["name"] for one in manifest["outputs"]] == ["f0.parquet", "f1.parquet", "f2.parquet"]


def test_a_half_receipt_is_none(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    assert scale.run(plan, executor="inline").ok
    key = unit_key(next(plan.units()))
    path = tmp_path / "out" / ".tare" / "done" / key[:2] / f"{key}.json"
    path.write_bytes(path.read_bytes()[:20])
    assert State.of(plan).receipt(key) is None
    assert scale.run(plan, executor="inline").ok


def test_errors_of_the_system_have_their_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(tmp_path)
    tries = []

    def fails(*_: Any, **__: Any) -> Any:
        tries.append(1)
        if len(tries) < 3:
            raise OSError(errno.EIO, "a bad moment")
        return real(*_, **__)

    from tare import io

    real = io.convert
    monkeypatch.setattr("tare.io.convert", fails)
    report = scale.run(plan, executor="inline")
    assert report.ok
    assert len(tries) == 5


def test_what_a_killed_run_left_is_swept(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    child = subprocess.Popen(
        [sys.executable, "-c", "import time; print(1, flush=True); time.sleep(60)"], stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    with child.stdout as said:
        said.readline()
    writing = tmp_path / "out" / ".tare" / "writing"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "getpid", lambda: child.pid)
        attempt = writing / attempt_of("a" * 64, 0)
    attempt.mkdir(parents=True)
    (attempt / "x.parquet").write_bytes(b"half")
    assert scale.clean(str(tmp_path / "out")) == 0
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert scale.clean(str(tmp_path / "out")) == 1
    assert scale.run(plan, executor="inline").ok


@pytest.mark.parametrize("named", ["by another namespace", "by an older version", "by another host"])
def test_an_attempt_whose_process_this_one_cannot_see_is_swept_by_its_age(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """Two containers may have one host name, and a number of a process in the one says nothing in the other."""
    planned(tmp_path)
    own = os.stat("/proc/self/ns/pid").st_ino
    with monkeypatch.context() as patched:
        patched.setattr(os, "getpid", lambda: 2**22 + 1)  # beyond all numbers that there are
        name = attempt_of("a" * 64, 0)
    assert f"-{own}." in name
    gone = {
        "by another namespace": name.replace(f"-{own}.", f"-{own + 1}."),
        "by an older version": name.replace(f"-{own}.", "-"),
        "by another host": name.replace(os.uname().nodename, "other-host"),
    }
    attempt = tmp_path / "out" / ".tare" / "writing" / gone[named]
    attempt.mkdir(parents=True)
    (attempt / "x.parquet").write_bytes(b"half")
    assert scale.clean(str(tmp_path / "out")) == 0
    for path in (attempt / "x.parquet", attempt):
        os.utime(path, (time.time() - 90_000,) * 2)
    assert scale.clean(str(tmp_path / "out")) == 1


def test_a_partition_whose_name_is_too_long_leaves_nothing(tmp_path: Path) -> None:
    table = pa.table({"k": ["a", "b" * 300], "v": [1, 2]})
    parquet.write_table(table, tmp_path / "long.parquet")
    out = tmp_path / "o"
    report = scale.convert(
        str(tmp_path / "long.parquet"), str(out), to="parquet", partition="k", executor="inline"
    )
    (failed,) = report.failures
    assert failed["error"]["class"] == "input"
    assert failed["error"]["message"].startswith(f"{tmp_path}/long.parquet: no file can be named k=bbb")
    assert visible_hashes(out) == {}


def test_a_rename_that_fails_takes_the_others_back(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"k": [1, 2, 3], "v": [1, 2, 3]}), tmp_path / "a.parquet")
    out = tmp_path / "o"
    (out / "k=2").mkdir(parents=True)
    (out / "k=2" / "a.parquet").mkdir()  # no rename replaces a folder
    report = scale.convert(
        str(tmp_path / "a.parquet"), str(out), to="parquet", partition="k", executor="inline", overwrite=True
    )
    assert report.failed == 1
    assert visible_hashes(out) == {}


def test_partitions_replace_nothing_of_others(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"k": [1, 2], "v": [1, 2]}), tmp_path / "a.parquet")
    out = tmp_path / "o"
    (out / "k=2").mkdir(parents=True)
    other = out / "k=2" / "a.parquet"
    other.write_bytes(b"mine")
    chosen: dict[str, Any] = {"to": "parquet", "partition": "k", "executor": "inline"}
    (failed,) = scale.convert(str(tmp_path / "a.parquet"), str(out), **chosen).failures
    assert failed["error"]["class"] == "input"
    assert "k=2/a.parquet exists already" in failed["error"]["message"]
    assert {name: other.read_bytes() for name in visible_hashes(out)} == {"k=2/a.parquet": b"mine"}
    assert scale.convert(str(tmp_path / "a.parquet"), str(out), overwrite=True, **chosen).done == 1
    assert other.read_bytes()[:4] == b"PAR1"
    # What a receipt knows is ours, also when its source has changed since.
    parquet.write_table(pa.table({"k": [1, 2, 2], "v": [1, 2, 3]}), tmp_path / "a.parquet")
    assert scale.convert(str(tmp_path / "a.parquet"), str(out), **chosen).done == 1
    assert parquet.ParquetFile(other).read()["v"].to_pylist() == [2, 3]
    # So is what an attempt left that died before its receipt.
    for receipt in (out / ".tare" / "done").glob("*/*.json"):
        receipt.unlink()
    assert scale.convert(str(tmp_path / "a.parquet"), str(out), **chosen).done == 1
