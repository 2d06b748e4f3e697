"""Folders in an object store: a server that speaks S3's language, real requests over loopback."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import os
import random
import re
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from support.capabilities import need_module
from support.commands import invoke
from support.s3_server import sign_in
from support.soak import scaled

import tare
from tare import compress, scale
from tare.scale.failures import SourceChanged
from tare.scale.owners import Guard
from tare.scale.place import ObjectPlace, place_of
from tare.scale.planning import convert, telling
from tare.scale.planning.sources import find_sources
from tare.scale.report import errors_of
from tare.scale.running import run_unit
from tare.scale.state import State
from tare.scale.tasks.inputs import opened_part
from tare.scale.unit import unit_key

pytestmark = pytest.mark.xdist_group("S3")  # one server


@pytest.fixture
def log(s3_log: Path) -> Path:
    return s3_log


@pytest.fixture(autouse=True)
def credentials(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sign_in(monkeypatch, s3_server)


def sources(folder: Path, count: int = 5) -> Path:
    folder.mkdir()
    for n in range(count):
        (folder / f"f{n}.ndjson").write_text("".join(f'{{"a": {k}, "b": "t{n}"}}\n' for k in range(500)))
    return folder


def stored_hashes(url: str) -> dict[str, str]:
    found = place_of(url)
    return {
        entry.name: hashlib.sha256(found.read(entry.name)).hexdigest()
        for entry in found.entries()
        if not entry.name.startswith(".tare/")
    }


def test_to_the_store_and_back(tmp_path: Path) -> None:
    folder = sources(tmp_path / "in")
    there = "s3://bucket/to/raw"
    plan = scale.plan_convert(str(folder), there, to="parquet")
    report = scale.run(plan, executor="local:2")
    assert (report.done, report.failed) == (5, 0), report.failures
    assert sorted(stored_hashes(there)) == [f"f{n}.parquet" for n in range(5)]
    assert scale.run(plan, executor="inline").skipped == 5
    assert scale.status(there)["done"] == 5
    plan = scale.plan_convert(f"{there}/*.parquet", str(tmp_path / "back"), to="ndjson")
    back = scale.run(plan, executor="inline")
    assert back.ok, back.failures
    for n in range(5):
        table = tare.read(tmp_path / "back" / f"f{n}.ndjson")
        assert table == tare.read(folder / f"f{n}.ndjson")


@pytest.mark.parametrize("count", [5, 40])
def test_what_is_there_already_is_left(tmp_path: Path, count: int) -> None:
    """Of many names by one listing, of few by a request each."""
    folder, there = sources(tmp_path / "in", count), f"s3://bucket/there-{count}"
    place_of(there).put("f3.parquet", b"somebody's")
    left: list[tuple[str, str]] = []
    plan = scale.plan_convert(str(folder), there, to="parquet", skipped=left)
    said = "a file of that name exists already, and not from here; --overwrite replaces it"
    assert (plan.count, left) == (count - 1, [("f3.ndjson", said)])
    assert scale.plan_convert(str(folder), there, to="parquet", overwrite=True).count == count


def test_a_source_that_changed_there(tmp_path: Path) -> None:
    place = place_of("s3://bucket/changing")
    place.put("a.ndjson", b'{"a": 1}\n')
    plan = scale.plan_convert("s3://bucket/changing", str(tmp_path / "out"), to="parquet")
    place.put("a.ndjson", b'{"a": 2}\n')
    report = scale.run(plan, executor="inline")
    assert (
        "s3://bucket/changing/a.ndjson changed since the plan was made"
        in report.failures[0]["error"]["message"]
    )


def test_an_object_that_changes_while_it_is_planned(tmp_path: Path) -> None:
    """What is asked for is not there any more: told is why."""
    place = place_of("s3://bucket/shrinking")
    place.put("a.ndjson", b'{"a": 1}\n' * 1_000_000)
    (one,) = find_sources(["s3://bucket/shrinking"])
    with (  # noqa: PT012 - it is the block that fails
        pytest.raises(SourceChanged, match=r"shrinking/a\.ndjson changed while it was read"),
        opened_part(one.as_input()) as file,
    ):
        assert not isinstance(file, str)
        place.put("a.ndjson", b'{"a": 2}\n')
        file.seek(8_000_000)
        file.read(100)


def test_a_key_that_cannot_be_listed_costs_its_folder_alone(s3_server: str, tmp_path: Path) -> None:
    """A key with an empty part, as other tools make it; the library that lists refuses the whole answer."""
    place = place_of("s3://bucket/slashes")
    for name in ("a.ndjson", "b/c.ndjson", "d/e/f.ndjson", "z.ndjson"):
        place.put(name, b'{"a": 1}\n{"a": 2}\n')
    headers = {
        "Content-Type": "application/octet-stream",
        "Authorization": "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=x",
    }
    request = urllib.request.Request(f"{s3_server}/bucket/slashes/b//x", b"{}", headers, method="PUT")
    urllib.request.urlopen(request, timeout=60).close()
    left: list[tuple[str, str]] = []
    report = scale.convert(
        "s3://bucket/slashes", str(tmp_path / "out"), to="parquet", executor="inline", skipped=left
    )
    assert (report.files, report.failed) == (3, 0)
    (told,) = left
    assert told[0] == "b/"
    assert "empty part (//)" in told[1]
    with pytest.raises(OSError, match="empty path segment"):
        find_sources(["s3://bucket/slashes/b"])


def test_parts_are_ranges_of_requests(tmp_path: Path) -> None:
    place = place_of("s3://bucket/large")
    text = b"".join(b'{"n": %d}\n' % n for n in range(20_000))
    place.put("a.ndjson", text)
    plan = scale.plan_convert("s3://bucket/large/a.ndjson", "s3://bucket/ranges", to="parquet", split="50KB")
    assert plan.count >= 4
    assert scale.run(plan, executor="inline").ok
    rows: list[Any] = []
    for name in sorted(stored_hashes("s3://bucket/ranges")):
        with place_of("s3://bucket/ranges").local(name) as path:
            rows += tare.read(path).column("n").to_pylist()
    assert rows == list(range(20_000))


def test_what_a_part_is_to_be_is_two_requests(tmp_path: Path, log: Path) -> None:
    """Said before it is put, removed behind its receipt; what an earlier attempt said is read where there may be one."""
    source, out = tmp_path / "a.ndjson", "s3://bucket/said"
    source.write_bytes(b"".join(b'{"n": %d}\n' % n for n in range(20_000)))
    plan = scale.plan_convert(str(source), out, to="parquet", split="20KB")
    requests = Requests(log)

    def asked() -> list[str]:
        """Each request about an intent; and each removal, whose path does not tell of what."""
        return [
            "removed" if path.endswith("?delete") else method
            for method, path in requests.since()
            if path.endswith("?delete") or re.search("intents/[0-9a-f]{64}", path)
        ]

    for receipt in scale.iter_run(plan, executor="inline"):
        found = asked()
        assert (receipt["status"], found[-2:], "GET" in found) == ("done", ["PUT", "removed"], False)
    assert not asked()
    first, *others = plan.units()
    state, made = State.of(plan), [{"name": "gone", "size": 1, "hash": "0" * 64}]
    state.place.remove(first["output"]["names"][0])
    for unit in (first, *others):  # all but the first have receipts
        state.write_intent(unit_key(unit), [], made)
    asked()
    assert scale.run(plan, executor="inline").done == 1
    found = asked()
    assert (found.count("GET"), found.count("PUT")) == (1, 1)
    assert not state.intents()


def test_what_is_told_has_no_credentials(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = sources(tmp_path / "in", 1)
    (folder / "bad.ndjson").write_bytes(b"{")
    plan = scale.plan_convert(str(folder), "s3://bucket/secret", to="parquet")
    scale.run(plan, executor="inline", on_event=print)
    state = State.of(plan)
    everything = (
        Path(plan.path).read_text()
        + capfd.readouterr().out
        + str(list(state.receipts()))
        + str([state.failure(key) for key in state.failed()])
    )
    assert "secret-of-the-test" not in everything
    assert "bad.ndjson" in everything


def test_no_such_bucket_and_no_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = sources(tmp_path / "in", 1)
    with pytest.raises((OSError, tare.errors.TareError), match="nobucket"):
        scale.run(scale.plan_convert(str(folder), "s3://nobucket/x", to="parquet"), executor="inline")
    with pytest.raises(OSError, match=r"No such bucket \(404\)"):
        scale.plan_convert("s3://nobucket/x", str(tmp_path / "out"), to="parquet")


def test_the_command(tmp_path: Path) -> None:
    folder = sources(tmp_path / "in", 2)
    command = [sys.executable, "-c", "from tare.cli import main; main()", "convert"]
    done = subprocess.run(
        [*command, str(folder), "s3://bucket/command", "--to", "parquet"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "2 done into s3://bucket/command" in done.stderr
    assert os.environ["AWS_SECRET_ACCESS_KEY"] not in done.stderr


def test_one_object_and_one_file(tmp_path: Path) -> None:
    """As one file and another: no folder, no receipts, nothing replaced unless that is said."""

    def command(*words: str) -> subprocess.CompletedProcess[str]:
        return invoke("convert", *words, cwd=tmp_path)

    (tmp_path / "x.csv").write_text("n\n1\n2\n")
    done = command("x.csv", "s3://bucket/one/y.parquet")
    assert done.returncode == 0, done.stderr
    again = command("x.csv", "s3://bucket/one/y.parquet")
    assert (again.returncode, "exists already" in again.stderr) == (1, True)
    assert command("x.csv", "s3://bucket/one/y.parquet", "--overwrite").returncode == 0
    done = command("s3://bucket/one/y.parquet", "s3://bucket/one/z.ndjson")
    assert done.returncode == 0, done.stderr
    done = command("s3://bucket/one/z.ndjson", "back.parquet")
    assert done.returncode == 0, done.stderr
    assert tare.read(tmp_path / "back.parquet")["n"].to_pylist() == [1, 2]
    assert [entry.name for entry in place_of("s3://bucket/one").entries()] == ["y.parquet", "z.ndjson"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["back.parquet", "x.csv"]
    done = command("s3://bucket/one/nothing.csv", "a.parquet")
    assert done.returncode == 1, done.stderr


def test_partitions_of_a_frame_are_written_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dask = need_module("dask")
    need_module("dask.dataframe")
    monkeypatch.chdir(tmp_path)
    frame = scale.dask_dataframe(str(sources(tmp_path / "in", 2)))
    with dask.config.set(scheduler="synchronous"):
        names = scale.write_parts(frame, "s3://bucket/frame", to="parquet")
    assert names == ["s3://bucket/frame/part-00001.parquet", "s3://bucket/frame/part-00002.parquet"]
    assert sorted(stored_hashes("s3://bucket/frame")) == ["part-00001.parquet", "part-00002.parquet"]
    assert len(State("s3://bucket/frame").done()) == 2
    assert not (tmp_path / "s3:").exists()


def test_keys_are_what_they_are(tmp_path: Path) -> None:
    """What other URLs would take for an escape, a query or a fragment is a part of a key, in folders too."""
    odd = "odd/100%/what?x=1/a#1"
    bucket = place_of("s3://bucket")
    bucket.put(f"{odd}/a%20b.ndjson", b'{"a": 1}\n')
    out = "s3://bucket/out 50%?#"
    for source in ("s3://bucket/odd", "s3://bucket/odd/100%", f"s3://bucket/{odd}/a%20b.ndjson"):
        report = scale.convert(source, f"{out}/{len(source)}", to="parquet", executor="inline")
        assert (report.done, report.failed) == (1, 0), report.failures
        again = scale.convert(source, f"{out}/{len(source)}", to="parquet", executor="inline")
        assert (again.done, again.skipped) == (0, 1)
    # The result's name keeps the %: it is written as %25 nowhere.
    names = [entry.name for entry in bucket.entries("out 50%?#") if entry.name.endswith(".parquet")]
    assert len(names) == 3
    assert all(name.endswith("a%20b.parquet") for name in names), names


class Requests:
    """What a server is asked for, from its log, since the last time that was asked."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._at = log.stat().st_size

    def since(self) -> list[tuple[str, str]]:
        """Method and path of each."""
        text = self._log.read_bytes()
        found = re.findall(
            rb'"(?:\x1b\[[\d;]*m)*([A-Z]+) (/\S*) HTTP', text[self._at :]
        )  # misses are in colour
        self._at = len(text)
        return [(method.decode(), path.decode()) for method, path in found]


def test_a_unit_is_few_requests(tmp_path: Path, log: Path) -> None:
    """Of small files the requests are the work: nothing is removed that never was, or asked for twice."""
    folder, count = sources(tmp_path / "in", 40), 40
    there = place_of("s3://bucket/few/in")
    for path in folder.iterdir():
        there.put(path.name, path.read_bytes())
    requests = Requests(log)
    plan = scale.plan_convert("s3://bucket/few/in", "s3://bucket/few/out", to="parquet")
    looked = requests.since()
    assert scale.run(plan, executor="inline").ok
    ran = requests.since()
    removed = [path for method, path in ran if method == "DELETE" or path.endswith("?delete")]
    assert len(removed) <= 4, removed  # of looking whether the place takes anything, and the manifest
    assert len(looked) + len(ran) <= 9 * count + 40, (len(looked), len(ran))
    assert scale.status("s3://bucket/few/out")["done"] == count
    asked = requests.since()
    assert len(asked) <= count + 15, asked
    assert scale.run(plan, executor="inline").skipped == count
    assert len(requests.since()) <= 2 * count + 30


def test_a_failure_goes_with_the_success(tmp_path: Path) -> None:
    """Of an earlier start and of an earlier attempt."""
    folder = sources(tmp_path / "in", 2)
    (folder / "bad.ndjson").write_bytes(b"{")
    there = "s3://bucket/stale"
    report = scale.run(scale.plan_convert(str(folder), there, to="parquet"), executor="inline")
    assert (report.done, report.failed) == (2, 1)
    state = State(there)
    (key,) = state.failed()
    receipt = state.failure(key)
    assert receipt is not None
    begun = State(there).settings()  # of a start that finds a failure
    State.from_settings(begun).write_receipt({"key": key, "output": [], "attempt": 1})
    assert not state.failed()
    begun = State(there).settings()  # of one that finds none, and has one
    again = State.from_settings(begun)
    again.write_failure(receipt)
    again.write_receipt({"key": key, "output": [], "attempt": 2})
    assert not state.failed()


def test_a_client_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """And made anew where the environment says something else, or in another process."""
    from tare.scale import place

    def client(uri: str = "s3://bucket/once") -> Any:
        found = place_of(uri)
        assert isinstance(found, place.ObjectPlace)
        return found._store

    first = client()
    assert client() is first
    assert client("s3://bucket/other") is not first
    with monkeypatch.context() as patch:
        patch.setenv("AWS_SECRET_ACCESS_KEY", "another")
        assert client() is not first
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: 1)
        assert client() is not first
    assert client() is first


def test_parts_of_others_are_left_there(tmp_path: Path, log: Path) -> None:
    """Found by one listing, not by a request for each name."""
    folder = sources(tmp_path / "in", 40)
    there = place_of("s3://bucket/parts")
    for n in (0, 7):
        there.put(f"f{n}/part-00009.parquet", b"somebody's")
    left: list[tuple[str, str]] = []
    requests = Requests(log)
    plan = scale.plan_convert(str(folder), there.uri, to="parquet", split=3000, skipped=left)
    asked = [path for _, path in requests.since() if "parts" in path]
    said = "a file of that name exists already, and not from here; --overwrite replaces it"
    assert left == [("f0.ndjson", said), ("f7.ndjson", said)]
    assert len(asked) <= 8 < plan.count, asked


def test_what_appears_there_between_plan_and_run_is_left(tmp_path: Path) -> None:
    """And two plans do not take each other's results away."""
    out, folder = "s3://bucket/appears", sources(tmp_path / "in", 3)
    plan = scale.plan_convert(str(folder), out, to="parquet", path=tmp_path / "a.jsonl")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "f0.ndjson").write_text('{"a": 1}\n')
    other = scale.plan_convert(str(tmp_path / "b"), out, to="parquet", path=tmp_path / "b.jsonl")
    place_of(out).put("f1.parquet", b"somebody's")
    for done in (2, 0):
        report = scale.run(plan, executor="inline")
        assert (report.done, report.failed) == (done, 1)
        assert (
            "f1.parquet: a file of that name exists already, and not from here"
            in report.failures[0]["error"]["message"]
        )
    before = stored_hashes(out)
    assert before["f1.parquet"] == hashlib.sha256(b"somebody's").hexdigest()
    (failed,) = scale.run(other, executor="inline").failures
    assert f"a file of that name exists already, made of {folder}/f0.ndjson" in failed["error"]["message"]
    assert stored_hashes(out) == before
    assert scale.run(plan, executor="inline", overwrite=True).ok
    assert stored_hashes(out)["f1.parquet"] != before["f1.parquet"]


@pytest.mark.parametrize("how", ["put", "group", "large", "old-store"])
def test_what_appears_there_during_the_run_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: Path, how: str
) -> None:
    """Also under the name of a result that is put in parts, of a small file in a group, and in a store of old."""
    import obstore

    from tare.scale import place

    refused: list[str] = []
    real = obstore.put

    def put(store: Any, name: str, data: Any, **given: Any) -> Any:
        if given.get("mode") == "create":
            refused.append(name)
            raise obstore.exceptions.GenericError(
                "Server returned non-2xx status code: 501 Not Implemented: <Error><Code>NotImplemented</Code>"
            )
        return real(store, name, data, **given)

    if how == "old-store":
        monkeypatch.setattr(obstore, "put", put)
    if how == "group":
        monkeypatch.setattr(convert, "_GROUPED_FROM", 5)
    monkeypatch.setattr(place, "_PLAIN", set())
    monkeypatch.setattr(place, "_AT_ONCE_BYTES", 0 if how == "large" else 1 << 20)
    out = place_of(f"s3://bucket/during-{how}")
    plan = scale.plan_convert(str(sources(tmp_path / "in", 10)), out.uri, to="parquet")
    begun: list[Requests] = []

    def foreign(event: dict[str, Any]) -> None:
        if event["event"] == "started" and not begun:
            out.put("f9.parquet", b"somebody's")
            begun.append(Requests(log))

    report = scale.run(plan, executor="inline", on_event=foreign)
    (error,) = [one for each in report.failures for one in errors_of(each)]
    assert "f9.parquet: a file of that name exists already, and not from here" in error["message"]
    assert out.read("f9.parquet") == b"somebody's"
    assert len(stored_hashes(out.uri)) == 10
    one = len(tare.read(tmp_path / "in" / "f0.ndjson"))
    assert (report.files, report.rows, report.bytes_out > 9 * 100) == (9, 9 * one, True)
    assert len(refused) == (how == "old-store")
    # After it is put, and before where the put cannot tell.
    asked = [path for method, path in begun[0].since() if method == "HEAD"]
    assert sum(path.endswith("/f3.parquet") for path in asked) == {"put": 1, "group": 0}.get(how, 2)


def test_what_another_attempt_put_there_is_a_result(tmp_path: Path) -> None:
    """Of the same bytes, as of a worker that was thought dead; of others too where this run may have made them."""
    out, folder = place_of("s3://bucket/attempts"), sources(tmp_path / "in", 3)
    tare.convert(folder / "f0.ndjson", tmp_path / "same.parquet")
    plan = scale.plan_convert(str(folder), out.uri, to="parquet")

    def another(event: dict[str, Any]) -> None:
        if event["event"] == "started":
            out.put("f0.parquet", (tmp_path / "same.parquet").read_bytes())

    report = scale.run(plan, executor="inline", on_event=another)
    assert (report.done, report.failed) == (3, 0), report.failures
    unit, state = next(plan.units()), State(out.uri)
    (name,) = unit["output"]["names"]
    state.forget(unit_key(unit))
    out.remove(name)
    guard = Guard(state, plan, overwrite=False)
    guard.begin()
    assert guard.listed is not None
    out.put(name, b"of an attempt that died")
    for attempt, status in ((1, "failed"), (2, "done")):
        there = guard.there(unit, made=False, again=attempt > 1)
        receipt = run_unit(unit, {**state.settings(), "attempt": attempt, "there": there})
        assert receipt["status"] == status, receipt


@pytest.mark.parametrize(
    ("number", "values"),
    scaled(
        [(0, '"",10 b,20 c,30'), (2, "c,30 d,40"), (3, '"",10 b,20 c,30')],
        [*itertools.product(range(4), ["c,30 d,40", '"",10 b,20 c,30'])],
    ),
)
def test_a_death_between_partitions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, values: str
) -> None:
    """Each is there when it is put: what the source has no more is removed, and what it has is replaced.

    One is of empty text: its key has nothing behind the equals sign.
    """
    there, source = f"s3://bucket/died-{number}-{len(values)}", tmp_path / "pk.csv"
    source.write_text('k,v\n"",1\nb,2\nc,3\n')
    given: dict[str, Any] = {"to": "parquet", "partition": "k", "executor": "inline"}
    with monkeypatch.context() as patch:
        real, left = ObjectPlace.commit, [number]

        def commit(self: ObjectPlace, path: str, name: str) -> None:
            if name.startswith("k="):
                if not left[0]:
                    raise SystemExit(9)
                left[0] -= 1
            real(self, path, name)

        def dies(*_: Any, **__: Any) -> None:
            raise SystemExit(9)

        patch.setattr(ObjectPlace, "commit", commit)
        patch.setattr(State, "write_receipt", dies)
        with pytest.raises(SystemExit):
            scale.convert(str(source), there, **given)
    assert len(stored_hashes(there)) == number
    assert len(State(there).intents()) == 1
    text = "".join(f"{line}\n" for line in values.split())
    source.write_text(f"k,v\n{text}")
    report = scale.convert(str(source), there, **given)
    assert report.ok, report.failures
    rows = set()
    for name in stored_hashes(there):
        with place_of(there).local(name) as path:
            rows |= {(name.partition("/")[0][2:], v) for v in tare.read(path).column("v").to_pylist()}
    lines = [line.split(",") for line in values.split()]
    assert rows == {(k.strip('"'), int(v)) for k, v in lines}
    assert not State(there).intents()


def lines_of(count: int) -> bytes:
    return b"".join(b'{"a": %d, "b": "%x"}\n' % (n, n * 7919 % 10007) for n in range(count))


def untold(count: int = 30_000) -> dict[str, bytes]:
    """Objects whose keys have no ending that tells, as engines and streams write them."""
    lines = lines_of(count)
    csv = b"a,b\n" + b"".join(b"%d,%x\n" % (n, n * 7919 % 10007) for n in range(count))
    found = {"noext": lines, "part-0000": csv, "x.gz": gzip.compress(lines), "day=1/000000_0": lines}
    return found | {name: compress.compress(lines, name) for name in ("zstd", "lz4", "xz", "bz2")}


def test_what_has_no_ending_is_told_by_its_bytes(tmp_path: Path) -> None:
    """As the same files in a folder are: a head of each is asked for, which of a compressor may have to be larger."""
    folder, there = tmp_path / "in", place_of("s3://bucket/untold")
    given = {**untold(), "text": b"hello\n", "empty": b"", "half.gz": gzip.compress(b"{}" * 50)[:9]}
    for name, data in given.items():
        there.put(name, data)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    left: dict[str, list[tuple[str, str]]] = {}
    for where, out in ((str(folder), "near"), (there.uri, "far")):
        passed = left[out] = []
        report = scale.convert(where, tmp_path / out, to="parquet", executor="inline", skipped=passed)
        assert (report.failed, report.done) == (0, 8), report.failures
        assert (report.ok, report.passed_over) == (False, passed)  # half.gz may be data
    assert left["far"] == left["near"]
    assert [type(one).__name__ for one in left["far"]] == [type(one).__name__ for one in left["near"]]
    names = sorted(
        str(path.relative_to(tmp_path / "near")) for path in (tmp_path / "near").rglob("*.parquet")
    )
    assert len(names) == 8
    for name in names:
        assert tare.read(tmp_path / "far" / name) == tare.read(tmp_path / "near" / name)


def test_a_head_is_all_that_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an object that is told by it; one whose head does not tell is left undone, and no data is called none."""
    there, asked = place_of("s3://bucket/heads"), []
    noise = random.Random(1).randbytes(3 << 20)
    for name, data in {"lines": b'{"a": 1}\n' * 400_000, "block": compress.compress(noise, "lz4")}.items():
        there.put(name, data)
    real = ObjectPlace.read

    def read(self: ObjectPlace, name: str, start: int = 0, end: int | None = None) -> bytes:
        asked.append((name, start, end))
        return real(self, name, start, end)

    monkeypatch.setattr(ObjectPlace, "read", read)
    monkeypatch.setattr(telling, "_HEADS", (64 << 10, 1 << 20))
    left: list[tuple[str, str]] = []
    plan = scale.plan_convert(there.uri, str(tmp_path / "out"), to="parquet", skipped=left)
    assert plan.count == 1
    assert sorted(asked) == [("block", 0, 64 << 10), ("block", 0, 1 << 20), ("lines", 0, 64 << 10)]
    said = "its first 1,048,576 bytes do not tell what it holds; say its format with --from"
    assert left == [("block", said)]
    assert isinstance(left[0], scale.Undone)


@pytest.mark.parametrize("name", ["noext", "x.json"])
def test_lines_without_a_name_are_cut_there(tmp_path: Path, name: str) -> None:
    """By their bytes, whatever the key says; their parts are read by ranges too."""
    there = place_of("s3://bucket/cut-untold")
    there.put(name, lines_of(30_000))
    out = tmp_path / name
    plan = scale.plan_convert(f"{there.uri}/{name}", str(out), to="parquet", split="200KB")
    assert plan.count >= 4
    assert scale.run(plan, executor="inline").ok
    rows = [n for path in sorted(out.rglob("*.parquet")) for n in tare.read(path).column("a").to_pylist()]
    assert rows == list(range(30_000))
    plan = scale.plan_encode(f"{there.uri}/{name}", str(tmp_path / "blit"), split="200KB")
    assert plan.count >= 4
    assert scale.run(plan, executor="inline").ok
