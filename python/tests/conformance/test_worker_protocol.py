"""The worker protocol, tare-worker/2, held against every worker: each operation, errors, the end.

A worker in another language joins by one entry in ``WORKERS``.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.capabilities import need_language, need_linux, need_worker_codec
from support.raw_worker import Raw
from support.shared_workers import in_one_process, shared_worker
from support.worker_requests import DEADLINE_S, ask, load_document, worker_command

from tare.errors import WorkerError
from tare.measure.worker_client.client import LINE_BYTES, Worker
from tare.media.file import cold_possible

DOCUMENT = [{"id": n, "name": f"n{n}", "price": n / 4, "tags": ["a", "b"], "note": None} for n in range(500)]
BIG = [{"id": n, "text": "x" * 100} for n in range(20_000)]


@dataclass(frozen=True)
class Speaker:
    """One worker: how it is started, a codec of it that can be measured, and what its runtime lacks."""

    command: tuple[str, ...]
    codec: str
    language: str = "python"
    media: tuple[str, ...] = ("fifo", "unix", "tcp")
    syncs: bool = True
    evicts: bool = True
    stops_collector: bool = True
    works_beside: bool = False
    """Threads of the runtime compile, collect or finalize while the sample runs."""


WORKERS = {
    "python": Speaker(worker_command("python"), "json:stdlib"),
    "r": Speaker(
        worker_command("r"),
        "rds:r",
        "r",
        media=("fifo", "tcp"),
        syncs=False,
        stops_collector=False,
        evicts=False,
    ),
    "node": Speaker(
        worker_command("node"), "json:node", "node", evicts=False, stops_collector=False, works_beside=True
    ),
    "rust": Speaker(worker_command("rust"), "json:rust-serdejson", "rust", evicts=False),
    "java": Speaker(
        worker_command("java"), "java:java", "java", evicts=False, stops_collector=False, works_beside=True
    ),
    "mono": Speaker(
        worker_command("mono"),
        "json:mono-newtonsoft",
        "mono",
        stops_collector=False,
        evicts=False,
        works_beside=True,
    ),
}


def need_speaker(speaker: Speaker, *, codec: bool = False) -> None:
    """Require that the worker starts, and that it has its codec if a test uses that."""
    if speaker.language != "python" and codec:
        need_worker_codec(speaker.codec, language=speaker.language)
    elif speaker.language != "python":
        need_language(speaker.language)


@pytest.fixture(params=[pytest.param(name, marks=in_one_process(name)) for name in WORKERS])
def speaker(request: pytest.FixtureRequest) -> Speaker:
    found = WORKERS[request.param]
    need_speaker(found)
    return found


@pytest.fixture
def worker(speaker: Speaker) -> Iterator[Worker]:
    """The language's worker, with whatever an earlier test loaded."""
    with shared_worker(speaker.language, command=speaker.command) as started:
        yield started


@pytest.fixture
def reader(speaker: Speaker) -> Iterator[Worker]:
    """A second worker of the language, for the other end of a connection."""
    with shared_worker(speaker.language, "reader", speaker.command) as started:
        yield started


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "document.json"
    path.write_text(json.dumps(DOCUMENT))
    return path


def ready(worker: Worker, speaker: Speaker, path: Path, **fields: Any) -> dict[str, Any]:
    need_speaker(speaker, codec=True)
    load_document(worker, path)
    return ask(worker, "prepare", codec=speaker.codec, threads=1, delivery="whole", **fields)


def error_of(worker: Worker, op: str, **fields: Any) -> WorkerError:
    with pytest.raises(WorkerError) as caught:
        ask(worker, op, **fields)
    return caught.value


@pytest.fixture(scope="module")
def raws() -> Iterator[dict[Speaker, Raw]]:
    """The processes that tests have started, of which the next one uses what is still running."""
    started: dict[Speaker, Raw] = {}
    yield started
    for one in started.values():
        one.stop()


@pytest.fixture
def raw(speaker: Speaker, raws: dict[Speaker, Raw]) -> Raw:
    if speaker not in raws or raws[speaker].process.returncode is not None:
        raws[speaker] = Raw(speaker.command)
    return raws[speaker]


# --- lines ----------------------------------------------------------------------


def test_hello_tells_what_the_parent_needs(worker, speaker):
    """Protocol, name, version, pid, codecs, clocks, collector modes."""
    hello = worker.hello
    assert (hello["proto"], hello["pid"]) == (2, worker.pid)
    assert {"worker", "runtime", "version", "codecs", "clocks", "cpu_source", "gc"} <= set(hello)
    assert "wall_ns" in hello["clocks"]
    assert set(hello["gc"]) == ({"off", "on"} if speaker.stops_collector else {"on"})
    for codec in hello["codecs"]:
        wanted = {"id", "library", "version", "kinds", "media", "delivery", "threads", "executes_code"}
        assert wanted <= set(codec)
    need_speaker(speaker, codec=True)
    found = {codec["id"]: codec for codec in hello["codecs"]}
    assert found[speaker.codec]["version"]
    assert "document" in found[speaker.codec]["kinds"]


def test_the_command_runs_the_worker_of_python():
    """``tare worker`` is the worker that a run starts."""
    raw = Raw((sys.executable, "-c", "from tare.cli import main; main(['worker'])"))
    raw.write(b'{"id":1,"op":"hello","proto":2,"list":false}\n{"id":2,"op":"quit"}\n')
    assert raw.reply()["ok"]["worker"] == "python"
    assert raw.reply() == {"id": 2, "ok": {}}
    assert raw.end() == 0


@pytest.mark.parametrize("proto", [1, 3])
def test_another_protocol_is_refused(raw, proto):
    """A worker does not guess what another protocol means."""
    raw.write(b'{"id":1,"op":"hello","proto":%d}\n' % proto)
    reply = raw.reply()
    assert (reply["id"], reply["error"]["type"]) == (1, "usage")
    assert "speaks protocol 2" in reply["error"]["message"]


def test_an_unknown_operation_is_told(worker):
    """And costs nothing."""
    assert error_of(worker, "dance").type == "unknown_op"
    assert error_of(worker, "__init__").type == "unknown_op"
    assert "samples" in ask(worker, "run", what="null", batch=1)


def test_unknown_fields_are_ignored(worker, document):
    """So that a newer parent can ask an older worker."""
    assert ask(worker, "load", path=str(document), kind="document", colour="green", **{"as": "json"})[
        "items"
    ] == len(DOCUMENT)


def test_a_line_that_is_no_request_is_an_error(raw):
    """Each gets one reply without an id; the next request is served."""
    for line in (b"not json", b"[1,2]", b"7", b'"text"', b"{", b"\xff\xfe", b"[" * 100_000):
        raw.write(line + b"\n" + b'{"id":5,"op":"run","what":"null","batch":1}\n')
        first = raw.reply()
        assert (first["id"], first["error"]["type"]) == (None, "protocol"), line[:20]
        assert raw.reply()["id"] == 5, line[:20]


def test_empty_lines_are_nothing(raw):
    """No reply to them."""
    raw.write(b'\n\n  \n{"id":1,"op":"quit"}\n')
    assert raw.reply() == {"id": 1, "ok": {}}
    assert raw.end() == 0


def test_a_line_of_16_mib_is_served_and_a_longer_one_refused(raw):
    """The limit is the same for requests and replies."""
    head, tail = b'{"id":1,"op":"dance","pad":"', b'"}'
    raw.write(head + b"x" * (LINE_BYTES - len(head) - len(tail)) + tail + b"\n")
    assert raw.reply()["error"]["type"] == "unknown_op"
    raw.write(head + b"x" * LINE_BYTES + tail + b"\n")
    assert raw.reply()["error"]["type"] == "protocol"
    raw.write(b'{"id":3,"op":"run","what":"null","batch":1}\n')
    assert raw.reply()["id"] == 3


def test_requests_are_answered_in_order(raw):
    """Several may be waiting; each reply carries its id."""
    raw.write(b"".join(b'{"id":%d,"op":"run","what":"null","batch":1}\n' % n for n in (7, 3, 9)))
    assert [raw.reply()["id"] for _ in range(3)] == [7, 3, 9]


@pytest.mark.parametrize("half", [b"", b'{"id":2,"op":"qu'])
def test_the_end_of_the_input_ends_the_worker(raw, half):
    """Without a word, and with exit code 0; a parent that died in the middle of a request asked for nothing."""
    raw.write(b'{"id":1,"op":"run","what":"null","batch":1}\n' + half)
    assert raw.reply()["id"] == 1
    assert raw.end() == 0


# --- data -----------------------------------------------------------------------


def test_load_counts_truly(worker, document):
    """Items as in the file."""
    reply = load_document(worker, document)
    assert (reply["kind"], reply["items"]) == ("document", len(DOCUMENT))
    assert reply["resident_bytes"] >= 0


def test_data_that_cannot_be_loaded(worker, speaker, document, tmp_path):
    """Missing, empty, truncated and garbage files are errors of the phase load, and leave nothing loaded nor prepared."""
    ready(worker, speaker, document)
    path = tmp_path / "bad.json"
    for content in (None, b"", b'{"a": ', b"\x00\x01"):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(WorkerError) as caught:
            load_document(worker, path)
        assert caught.value.phase == "load", content
        assert error_of(worker, "prepare", codec=speaker.codec).type == "usage", content
        assert error_of(worker, "run", what="decode", batch=1).type == "usage", content
        assert ready(worker, speaker, document)["items"] == len(DOCUMENT), content


def test_a_load_that_is_asked_wrongly_changes_nothing(worker, speaker, document):
    """What is loaded and prepared stays: no file was meant to be read."""
    ready(worker, speaker, document)
    asked = {"path": str(document), "as": "json"}
    for lacks in asked:
        rest = {name: value for name, value in asked.items() if name != lacks}
        assert error_of(worker, "load", kind="document", **rest).type == "usage", lacks
        assert ask(worker, "run", what="encode", batch=1)["bytes"] > 0, lacks


def test_prepare_encodes_and_decodes_once(worker, speaker, document):
    """Bytes, their hash, the first calls' times, and proof that data came back; without these nothing has run."""
    assert "cold_encode_ns" not in ready(worker, speaker, document, cold=False)
    reply = ready(worker, speaker, document)
    path = document.with_name("encoded")
    assert ask(worker, "encode_to", path=str(path))["bytes"] == reply["bytes"] == path.stat().st_size
    assert reply["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (reply["items"], reply["cold_encode_ns"] > 0, reply["cold_decode_ns"] > 0) == (
        len(DOCUMENT),
        True,
        True,
    )


def test_prepare_from_encoded_bytes_needs_no_value(worker, speaker, document):
    """Decoding in a process that has loaded nothing."""
    ready(worker, speaker, document)
    path = document.with_name("encoded")
    ask(worker, "encode_to", path=str(path))
    assert error_of(worker, "load", path="nowhere", kind="document", **{"as": "json"}).phase == "load"
    assert "items" not in ask(worker, "prepare", codec=speaker.codec, encoded=str(path), cold=False)
    reply = ask(worker, "prepare", codec=speaker.codec, encoded=str(path))
    assert reply["items"] == len(DOCUMENT)
    assert ask(worker, "run", what="decode", batch=1)["items"] == len(DOCUMENT)
    assert error_of(worker, "run", what="encode", batch=1).type == "usage"


def test_codecs_that_do_not_exist(worker, document):
    """An error, not an end."""
    load_document(worker, document)
    assert error_of(worker, "prepare", codec="jsn:none").type == "usage"
    assert error_of(worker, "run", what="decode", batch=1).type == "usage"


def test_what_is_decoded_is_verified(worker, speaker, document):
    """The value that came back is the one that was loaded."""
    ready(worker, speaker, document)
    found = ask(worker, "verify", full=True, limit=5)
    assert (found["verdict"], found["items_in"], found["items_out"]) == ("same", len(DOCUMENT), len(DOCUMENT))
    ask(worker, "run", what="decode", batch=2)
    assert ask(worker, "verify")["verdict"] == "same"


def test_a_planted_difference_is_found(worker, speaker, document):
    """Encoded bytes of another value decode to something else, and verify says where."""
    changed = json.loads(json.dumps(DOCUMENT))
    changed[-1]["price"] = -1.0
    other = document.with_name("changed.json")
    other.write_text(json.dumps(changed))
    ready(worker, speaker, other)
    path = document.with_name("encoded")
    ask(worker, "encode_to", path=str(path))
    ready(worker, speaker, document, encoded=str(path))
    found = ask(worker, "verify", full=True, limit=5)
    assert found["verdict"] != "same"
    assert ["price" in change["path"] for change in found["changes"]] == [True]


def test_names_in_another_order_are_told(worker, speaker, document):
    """One row whose names come the other way round: everything else is the same, and that is said as well."""
    turned = json.loads(json.dumps(DOCUMENT))
    turned[7] = dict(reversed(turned[7].items()))
    other = document.with_name("turned.json")
    other.write_text(json.dumps(turned))
    ready(worker, speaker, other)
    path = document.with_name("encoded")
    ask(worker, "encode_to", path=str(path))
    ready(worker, speaker, document, encoded=str(path))
    found = ask(worker, "verify", full=True, limit=5)
    assert found["verdict"] == "lossy"
    (change,) = found["changes"]
    assert change["path"].endswith(" (key order)")
    assert change["verdict"] == "lossy"


def test_tagged_values_go_from_worker_to_worker(worker, speaker, tmp_path):
    """A decodes what B encoded and writes it so that nothing is lost on the way."""
    from tare.tagged import from_tagged

    value = {"int": 2**53 - 1, "float": 0.1, "text": "\u00e9\U0001f600", "none": None, "list": [True, [], {}]}
    path, encoded, out = (tmp_path / name for name in ("v.json", "v.bin", "v.tagged"))
    path.write_text(json.dumps(value))
    ready(worker, speaker, path)
    ask(worker, "encode_to", path=str(encoded))
    ask(worker, "decode_from", path=str(encoded), out=str(out))
    assert from_tagged(json.loads(out.read_text())) == value


def test_probes_come_back_as_tagged_values(worker, speaker):
    """Each cell says what happened to one value."""
    need_speaker(speaker, codec=True)
    cells = ask(worker, "probe", codec=speaker.codec, set="values/1")["cells"]
    assert len(cells) > 30
    assert {cell["status"] for cell in cells} <= {"decoded", "refused", "error", "n/a"}
    one = ask(worker, "probe", codec=speaker.codec, set="values/1", only=[cells[0]["probe"]])["cells"]
    assert [cell["probe"] for cell in one] == [cells[0]["probe"]]


# --- time and memory ----------------------------------------------------------------


def test_samples_fit_their_columns(worker, speaker, document):
    """As many rows as asked for; totals of the batch; nothing negative; CPU within wall, give or take its precision."""
    ready(worker, speaker, document)
    for what in ("encode", "decode", "copy", "null"):
        reply = ask(worker, "run", what=what, samples=3, batch=2)
        assert (len(reply["samples"]), reply["batch"]) == (3, 2), what
        for row in reply["samples"]:
            cells = dict(zip(reply["cols"], row, strict=True))
            assert min(row) >= 0, what
            assert cells["wall_ns"] > 0, what
            # Here nothing pins it to one CPU, as a launch does; and what a thread beside it used is
            # told when the kernel's clock ticks, up to 10 ms late, whatever the sample took.
            at_once = (os.cpu_count() or 1) if speaker.works_beside else 1
            late = 10_000_000 * at_once if speaker.works_beside else 100_000
            assert cells["user_ns"] + cells["sys_ns"] <= cells["wall_ns"] * at_once * 1.05 + late, what
        if what == "decode":
            assert reply["items"] == len(DOCUMENT)
        if what in ("encode", "copy"):
            assert reply["bytes"] > 0, what


def test_a_batch_is_calibrated(worker, speaker, document):
    """``batch`` 0 means: as many calls as take the target, and the same number next time."""
    ready(worker, speaker, document)
    short = ask(worker, "run", what="null", batch=0, target_ns=20_000_000)["batch"]
    assert short > 1
    kept = ask(worker, "run", what="decode", batch=0, target_ns=5_000_000)["batch"]
    assert ask(worker, "run", what="decode", batch=0, target_ns=5_000_000)["batch"] == kept >= 1


def test_a_batch_is_as_large_as_asked(worker, speaker, tmp_path):
    """Results are dropped and need no memory: more of them than version 1 held are one sample."""
    path = tmp_path / "big.json"
    path.write_text(json.dumps(BIG))
    size = ready(worker, speaker, path)["bytes"]
    calls = (64 << 20) // size + 2
    reply = ask(worker, "run", what="copy", samples=1, batch=calls)
    assert (reply["batch"], reply["bytes"]) == (calls, size)


def test_a_clock_that_is_lacking_is_absent(worker, speaker):
    """A collector frees results at its own time, so that nobody can tell what one of them costs."""
    reply = ask(worker, "run", what="null", batch=1)
    assert reply["cols"] == worker.hello["clocks"]
    assert ("drop_ns" in reply["cols"]) == (speaker.language in ("python", "rust"))
    assert len(reply["samples"][0]) == len(reply["cols"])


def test_samples_stop_at_their_budget(worker, speaker, document):
    """At least one is taken, and not thousands."""
    ready(worker, speaker, document)
    reply = ask(worker, "run", what="decode", samples=100_000, batch=1, budget_ms=1)
    assert 1 <= len(reply["samples"]) < 100_000


@pytest.mark.alone  # a machine that does something else moves what is around a sample
def test_the_cpu_clock_is_the_processs_own(worker, speaker, tmp_path):
    """CPU of a long sample lies within 5 % of what the kernel counted for the process, and never above it."""
    tasks = Path(f"/proc/{worker.pid}/task")
    need_linux("/proc/self/schedstat")

    def used() -> int:
        """Of all threads: where a runtime compiles and collects in others, the leader does next to nothing."""
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir())

    path = tmp_path / "big.json"
    path.write_text(json.dumps(BIG))
    ready(worker, speaker, path)
    ask(worker, "run", what="encode", batch=1)

    def sampled(what: str, batch: int) -> tuple[int, int]:
        before = used()
        reply = ask(worker, "run", what=what, samples=1, batch=batch)
        counted = used() - before
        cells = dict(zip(reply["cols"], reply["samples"][0], strict=True))
        return cells["user_ns"] + cells["sys_ns"], counted

    # What a worker does around a sample, such as collecting, is in no clock of it.
    around = min(counted - told for told, counted in (sampled("null", 1) for _ in range(3)))
    told = counted = 0
    for batch in (15, 30, 60, 120, 240):
        # A fast machine needs more calls before the two clocks can be compared.
        told, counted = sampled("encode", batch)
        if counted > 50_000_000 + 2 * around:
            break
    # A runtime that compiles beside does so between samples too, where no clock of its own is read. Freeing pages
    # behind a sample takes longer now and then, so that the nearest of several is taken: a clock that lies is never near.
    found = [(told, counted), *(sampled("encode", batch) for _ in range(4))]
    assert all(told <= counted * 1.01 for told, counted in found)
    assert max(told / (counted - around) for told, counted in found) >= (
        0.85 if speaker.works_beside else 0.9
    )


def test_the_collector_can_be_on(worker, speaker, document):
    """Both modes are measured; with it off nothing is collected."""
    ready(worker, speaker, document)
    for mode in worker.hello["gc"]:
        reply = ask(worker, "run", what="decode", batch=20, gc=mode)
        cells = dict(zip(reply["cols"], reply["samples"][0], strict=True))
        if mode == "off":
            assert (cells["gc_ns"], cells["gc_n"]) == (0, 0)


def test_peak_memory_sees_what_is_allocated(speaker, tmp_path):
    """Encoding a large value peaks at its bytes at least; the method is named."""
    need_speaker(speaker, codec=True)
    path = tmp_path / "big.json"
    path.write_text(json.dumps(BIG * 3))  # smaller data may fit into memory that loading it has freed
    with Worker("fresh", speaker.command) as worker:
        load_document(worker, path)
        ask(worker, "prepare", codec=speaker.codec, cold=False)
        reply = ask(worker, "mem", what="encode")
        size = ask(worker, "encode_to", path=str(tmp_path / "encoded"))["bytes"]
    assert reply["method"]
    assert reply["before_bytes"] > 0
    assert size * 0.9 < reply["peak_bytes"] < size * 40


# --- files and streams --------------------------------------------------------------


@pytest.mark.parametrize("sync", ["none", "fsync"])
def test_files_are_written_and_read(worker, speaker, document, sync):
    """The file holds the encoded bytes; one file is left, whatever the batch."""
    size = ready(worker, speaker, document)["bytes"]
    folder = document.parent / "files"
    folder.mkdir()
    path = str(folder / "data")
    if sync == "fsync" and not speaker.syncs:
        refused = error_of(worker, "run", what="write", path=path, batch=3, sync=sync)
        assert (refused.type, os.listdir(folder)) == ("Unsupported", [])
        return
    assert ask(worker, "run", what="write", path=path, batch=3, sync=sync)["bytes"] == size
    assert os.listdir(folder) == ["data"]
    assert ask(worker, "run", what="read", path=path, batch=3)["items"] == len(DOCUMENT)
    assert ask(worker, "verify")["verdict"] == "same"


def test_a_cold_read_is_proven_or_refused(worker, speaker, document):
    """Residency before the read is told and small; where that cannot be, the reason is."""
    ready(worker, speaker, document)
    path = str(document.with_name("cold"))
    if not (speaker.evicts and cold_possible(document.parent)[0]):
        assert "cold not possible" in str(error_of(worker, "run", what="read", path=path, cache="cold"))
        return
    reply = ask(worker, "run", what="read", path=path, samples=2, batch=5, cache="cold")
    assert (reply["batch"], len(reply["samples"]), reply["items"]) == (1, 2, len(DOCUMENT))
    assert reply["residency"] < 0.05


@pytest.mark.parametrize("medium", ["fifo", "unix", "tcp"])
def test_two_workers_exchange_messages(worker, reader, speaker, document, medium):
    """What the writer sends the reader decodes, verifies and stamps, one message after another, each delivered in its way."""
    if medium not in speaker.media:
        there = {"kind": medium, "role": "reader", "token": "00" * 16}
        refused = error_of(reader, "open", medium=there)
        assert (refused.type, refused.phase) == ("Unsupported", "open")
        return
    for end in (worker, reader):
        ready(end, speaker, document)
    for delivery in ("whole", "buffered", "framed", "wrapped"):
        exchange(worker, reader, medium, delivery)


def exchange(writer: Worker, reader: Worker, medium: str, delivery: str) -> None:
    common = {"kind": medium, "token": os.urandom(16).hex()}
    opened = ask(reader, "open", medium={**common, "role": "reader"})
    writing = ask(writer, "open", medium={**common, "role": "writer", "address": opened["address"]})
    received_id = reader.send("run", what="receive", handle=opened["handle"], delivery=delivery)
    sent = ask(writer, "run", what="send", handle=writing["handle"], delivery=delivery)
    received = reader.wait(received_id, DEADLINE_S)
    assert (received["items"], received["bytes"]) == (len(DOCUMENT), sent["bytes"]), delivery
    assert ask(reader, "verify")["verdict"] == "same", delivery
    out = dict(zip(sent["cols"], sent["samples"][0], strict=True))
    back = dict(zip(received["cols"], received["samples"][0], strict=True))
    assert out["start_ns"] <= out["first_byte_ns"] <= out["last_byte_ns"] <= out["closed_ns"], delivery
    assert out["start_ns"] < back["first_byte_ns"] <= back["last_byte_ns"] <= back["last_value_ns"], delivery
    ask(writer, "close", handle=writing["handle"])
    ask(reader, "close", handle=opened["handle"])
    assert error_of(reader, "close", handle=opened["handle"]).type == "usage", delivery


def test_a_stranger_is_not_believed(worker, reader, speaker, document):
    """A writer with the wrong token is turned away, and the reader waits on within its time."""
    for end in (worker, reader):
        ready(end, speaker, document)
    opened = ask(reader, "open", medium={"kind": "tcp", "role": "reader", "token": "00" * 16})
    stranger = {"kind": "tcp", "role": "writer", "token": "11" * 16, "address": opened["address"]}
    lost = ask(worker, "open", medium=stranger)
    asked = {"what": "receive", "handle": opened["handle"]}
    assert error_of(reader, "run", timeout_s=0.3, **asked).phase == "open"
    writing = ask(worker, "open", medium=stranger | {"token": "00" * 16})
    number = reader.send("run", timeout_s=20, **asked)
    ask(worker, "run", what="send", handle=writing["handle"])
    assert reader.wait(number, 20)["items"] == len(DOCUMENT)
    for end, handle in ((worker, lost), (worker, writing), (reader, opened)):
        ask(end, "close", handle=handle["handle"])


def test_an_unknown_handle(worker, speaker, document):
    """An error of the phase open."""
    ready(worker, speaker, document)
    assert error_of(worker, "run", what="send", handle=7).phase == "open"
    assert error_of(worker, "open", medium={"kind": "pigeon", "role": "reader"}).phase == "open"
