"""Codecs that misbehave: each costs its own worker at most, and is told apart from the others."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.worker_requests import DEADLINE_S

from tare.errors import WorkerError
from tare.measure.worker_client.client import Worker

PLANTED = (sys.executable, str(Path(__file__).parent / "planted_worker.py"))
VALUE = list(range(1000))


@pytest.fixture
def planted(tmp_path: Path) -> Iterator[Callable[..., Worker]]:
    """Starts a worker with the planted codecs and loads a list of integers."""
    workers = []
    path = tmp_path / "value.json"

    def start(value: object = VALUE, **options: object) -> Worker:
        path.write_text(json.dumps(value))
        worker = Worker("planted", PLANTED, workdir=tmp_path, **options)
        workers.append(worker)
        worker.request("load", deadline_s=DEADLINE_S, path=str(path), **{"as": "json"}, kind="document")
        return worker

    yield start
    for worker in workers:
        worker.close()
    assert list(tmp_path.glob("tare-run-*/worker-*")) == []


def prepare(worker: Worker, library: str, *, deadline_s: float = DEADLINE_S) -> dict[str, object]:
    return worker.request("prepare", deadline_s=deadline_s, codec=f"planted:{library}")


def decode(worker: Worker, **fields: object) -> dict[str, object]:
    return worker.request("run", deadline_s=DEADLINE_S, what="decode", batch=1, **fields)


def fails(worker: Worker, library: str, **options: float) -> WorkerError:
    with pytest.raises(WorkerError) as caught:
        prepare(worker, library, **options)
    return caught.value


def test_an_honest_codec_is_measured_and_proven(planted):
    """The control: items come back, and verify finds them the same."""
    worker = planted()
    assert prepare(worker, "honest")["items"] == 1000
    assert decode(worker)["items"] == 1000
    assert worker.request("verify", deadline_s=DEADLINE_S)["verdict"] == "same"


def test_a_decode_that_returns_nothing_has_no_items(planted):
    """The time is worth nothing: 0 items came back, and verify does not say same."""
    worker = planted()
    assert prepare(worker, "nothing")["items"] == 0
    assert decode(worker)["items"] == 0
    assert worker.request("verify", deadline_s=DEADLINE_S)["verdict"] != "same"


def test_a_lazy_decode_has_no_items(planted):
    """A generator is no data until somebody reads it."""
    worker = planted()
    assert prepare(worker, "lazy")["items"] != 1000
    assert decode(worker)["items"] != 1000
    assert worker.request("verify", deadline_s=DEADLINE_S)["verdict"] != "same"


def test_a_decode_that_swallows_its_error_has_no_items(planted):
    """The published CSV case: an undefined connection read in no time at all."""
    worker = planted()
    assert prepare(worker, "swallow")["items"] == 0
    found = worker.request("verify", deadline_s=DEADLINE_S)
    assert (found["verdict"] != "same", found["items_in"], found["items_out"]) == (True, 1000, 0)


def test_one_changed_value_in_a_million_is_found(planted):
    """All items came back; only verify knows that one is another."""
    worker = planted(list(range(1_000_000)))
    assert prepare(worker, "change")["items"] == 1_000_000
    found = worker.request("verify", deadline_s=DEADLINE_S)
    assert found["verdict"] == "lossy"
    assert [change["count"] for change in found["changes"]] == [1]


def test_a_sleeping_decode_is_blocked_not_busy(planted):
    """Wall time tells the sleep, CPU time does not."""
    worker = planted()
    prepare(worker, "sleep")
    reply = decode(worker)
    row = dict(zip(reply["cols"], reply["samples"][0]))
    assert row["wall_ns"] >= 50_000_000
    assert row["user_ns"] + row["sys_ns"] < row["wall_ns"] / 2
    assert row["nvcsw"] >= 1


@pytest.mark.parametrize("library", ["hang", "stubborn"])
def test_a_hanging_decode_is_killed_at_its_deadline(planted, library):
    """TERM, or KILL for one that ignores it; the process and its directory are gone."""
    worker = planted()
    error = fails(worker, library, deadline_s=0.2)
    assert (error.type, error.worker) == ("timeout", "planted")
    assert not Path(f"/proc/{worker.pid}").exists()
    assert not worker.directory.exists()
    with pytest.raises(WorkerError, match="no answer within"):
        worker.request("verify", deadline_s=1)


def test_what_a_decode_prints_goes_to_the_log(planted):
    """Neither print nor a raw write to descriptor 1 reaches the protocol."""
    worker = planted()
    assert prepare(worker, "print")["items"] == 1000
    assert decode(worker)["items"] == 1000
    assert "half of the data was read" in worker.log_tail()


def test_a_decode_that_eats_all_memory_is_a_memory_error(planted):
    """The limit stops it; the worker says so and lives on."""
    worker = planted(memory_limit=2 << 30)
    error = fails(worker, "hog")
    assert (error.type, error.phase) == ("memory", "decode")
    assert prepare(worker, "honest")["items"] == 1000


def test_a_decode_that_exits(planted):
    """The exit code is told."""
    error = fails(planted(), "exit")
    assert (error.type, str(error)) == ("exit", "exited with code 3")


@pytest.mark.parametrize(
    ("library", "message"), [("kill", "killed by SIGKILL (memory?)"), ("crash", "killed by SIGSEGV")]
)
def test_a_decode_that_is_killed(planted, library, message):
    """The signal is told; for SIGKILL, which the kernel sends when memory is short, with a guess."""
    error = fails(planted(), library)
    assert (error.type, str(error)) == ("killed", message)


def test_a_decode_that_raises(planted):
    """Type, phase and at most 2 KiB of message; the worker lives on."""
    worker = planted()
    error = fails(worker, "raise")
    assert (error.type, error.phase) == ("ValueError", "decode")
    assert str(error).startswith("ValueError: line 7 is not a line")
    assert len(str(error).encode()) <= 2048
    assert prepare(worker, "honest")["items"] == 1000


def test_a_panic_is_an_error_too(planted):
    """What compiled codecs raise is no Exception, and still costs no worker."""
    worker = planted()
    assert fails(worker, "panic").type == "Panic"
    assert prepare(worker, "honest")["items"] == 1000


def test_a_loud_refusal_is_told_from_an_error(planted):
    """Encoding that raises is a refusal."""
    error = fails(planted(), "refuse")
    assert (error.type, error.phase) == ("refused", "encode")
    assert str(error) == "TypeError: Type is not JSON serializable: set"


def test_an_encode_that_returns_nothing_is_refused(planted):
    """No bytes are no encoding."""
    error = fails(planted(), "encode-nothing")
    assert (error.type, error.phase) == ("refused", "encode")


def test_what_a_codec_starts_ends_with_it(planted):
    """A forked child would outlive its worker; the whole group is killed."""
    worker = planted()
    assert prepare(worker, "fork")["items"] == 1000
    group = worker.pid
    worker.close()
    until = time.monotonic() + 60
    while _members(group) and time.monotonic() < until:
        time.sleep(0.01)
    assert _members(group) == []


def test_a_chatty_codec_blocks_nobody(planted):
    """More log than a pipe holds; its end is kept."""
    worker = planted()
    assert prepare(worker, "log")["items"] == 1000
    tail = worker.log_tail()
    assert tail.endswith("the last words")
    assert len(tail) <= 64 << 10


def test_faults_have_different_types(planted):
    """Each fault that ends a request is told apart from the others."""
    limits = {"hang": 0.2}
    types = {}
    for library in ("hang", "hog", "exit", "kill", "raise", "refuse"):
        types[library] = fails(
            planted(memory_limit=2 << 30), library, deadline_s=limits.get(library, DEADLINE_S)
        ).type
    assert len(set(types.values())) == len(types), types


def _members(group: int) -> list[int]:
    """Living processes of a process group."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[2]) == group and fields[0] != "Z":
                found.append(int(entry))
    return found
