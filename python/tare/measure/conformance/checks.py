"""The conformance kit: a worker program of anybody's, held against tare-worker/2.

Each check is one sentence of docs/specs/worker-protocol.md. What a worker says that it does not offer (an error of type
``Unsupported``, a medium that its codec does not list) is told as such and is no failure, but for the checks of ``verify``:
a worker that passes has shown that it tells what is lost, so what these need must be there.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tare.errors import UsageError, WorkerError
from tare.measure.conformance.context import DEADLINE_S, DOCUMENT, Bench, NotOffered, need, tested
from tare.measure.conformance.raw_process import Raw
from tare.measure.worker_client.client import Worker
from tare.measure.worker_client.handshake import PROTOCOL, hello_fault, listed_codecs
from tare.measure.worker_client.languages import spelled
from tare.measure.worker_client.sample_check import System, Timed, timed
from tare.measure.worker_client.samples import cpu_ns_of

__all__ = ["CHECKS", "Outcome", "check_worker"]

_LONG_NS = 10_000_000
_LEAST_NS = 1  # no machine makes an object of two properties, or writes its text, in less
_BIG = [{"id": n, "text": "x" * 100} for n in range(20_000)]
_TAGGED = {"int": 2**53 - 1, "float": 0.1, "text": "\u00e9\U0001f600", "none": None, "list": [True, [], {}]}
# A name, what is loaded and what comes back in its place, and whether every language holds the two apart.
_PLANTED: tuple[tuple[str, Any, Any, bool], ...] = (
    ("the last bit", 0.1 + 0.2, 0.3, True),
    ("a zero's sign", -0.0, 0.0, True),
    ("true", True, 1, True),
    ("the order of names", dict.fromkeys("hgfedcba", 1), dict.fromkeys("abcdefgh", 1), True),
    ("a whole number", 1, 1.0, False),
    ("above 2^53", 2**53 + 1, 2**53, False),
)
_OF_FIDELITY = "what verify says"
_RUBBISH = (b"not json", b"[1,2]", b"7", b"{", b"\xff\xfe")


@dataclass
class Outcome:
    """What became of one check.

    Args:
        name: The check.
        says: The sentence that it holds the worker to.
        status: ``ok``, ``not offered`` or ``failed``.
        why: What was wrong, or is not offered.
    """

    name: str
    says: str
    status: str = "ok"
    why: str = ""


def check_worker(
    command: Sequence[str], codec: str | None = None, *, only: Collection[str] = ()
) -> Iterator[Outcome]:
    """Hold a worker against every check, one after another.

    Args:
        command: Program and arguments.
        codec: Id of the codec to check with; by default its first one of documents.
        only: Names of checks; all if none is named.

    Yields:
        What became of each check.

    Raises:
        UsageError: The worker lists no codec of documents, or not this one.
        WorkerError: It cannot be started, or says no hello.
    """
    with tempfile.TemporaryDirectory(prefix="tare-kit-") as folder:
        with Worker("under test", tuple(command)) as first:
            fault, codecs = hello_fault(first.hello), listed_codecs(first.hello)
        listed = {one["id"]: one for one in codecs if "document" in one["kinds"]}
        chosen = codec or next(iter(listed), "")
        if chosen.partition(",")[0] not in listed:
            if fault:  # what else it can do needs a codec to ask for
                yield Outcome("hello", (_hello.__doc__ or "").strip(), "failed", fault)
                return
            if codec is not None or not codecs:
                known = ", ".join(listed) or "none"
                raise UsageError(
                    f"the worker lists no codec {chosen or 'of documents'}; of documents there are {known}"
                )
            bench = Bench(tuple(command), codecs[0]["id"], Path(folder), codecs[0])
            yield from (_outcome(one, bench) for one in _OF_LINES)
            why = "it lists codecs of tables alone, which tare measure tries with a table of yours"
            yield Outcome("documents", "Every other check needs a codec of documents.", "not offered", why)
            return
        bench = Bench(tuple(command), chosen, Path(folder), listed[chosen.partition(",")[0]])
        for check in CHECKS:
            if not only or _name(check) in only:
                yield _outcome(check, bench)


def _name(check: Callable[[Bench], None]) -> str:
    return check.__name__.removeprefix("_").replace("_", " ")


def _outcome(check: Callable[[Bench], None], bench: Bench) -> Outcome:
    found = Outcome(_name(check), (check.__doc__ or "").strip())
    try:
        check(bench)
    except NotOffered as error:
        found.status, found.why = "not offered", str(error)
    except Exception as error:  # whatever a worker's replies make of a check is the worker's
        found.status = "failed"
        found.why = _why(error)
    return found


def _why(error: Exception) -> str:
    if isinstance(error, AssertionError):
        return str(error)
    if isinstance(error, KeyError):
        return f"the reply lacks {error}"
    return f"{type(error).__name__}: {error}"


# --- lines --------------------------------------------------------------------------


def _hello(bench: Bench) -> None:
    """Hello tells protocol 2, pid, codecs, clocks, where CPU time comes from, and the collector's modes."""
    with bench.worker() as worker:
        hello = worker.hello
        need(not (fault := hello_fault(hello)), fault)
        need(
            (hello["proto"], hello["pid"]) == (PROTOCOL, worker.pid),
            f"proto {hello['proto']}, pid {hello['pid']}",
        )


def _errors_are_replies(bench: Bench) -> None:
    """An unknown op is an error of type unknown_op; unknown fields are ignored; the worker goes on."""
    with bench.worker() as worker:
        need((kind := bench.refused(worker, "dance").type) == "unknown_op", f"type {kind}")
        path = bench.file("d.json", DOCUMENT)
        reply = bench.ask(worker, "load", path=path, kind="document", colour="green", **{"as": "json"})
        need(reply["items"] == len(DOCUMENT), f"load counts {reply['items']} items of {len(DOCUMENT)}")


def _rubbish_is_an_error(bench: Bench) -> None:
    """A line that is no request gets one reply with id null and type protocol; empty lines are nothing."""
    with Raw(bench) as program:
        for line in _RUBBISH:
            reply = program.ask(b"\n\n" + line + b"\n")
            need(reply["id"] is None and reply["error"]["type"] == "protocol", f"{line!r} got {reply}")
        need(program.ask(b'{"id":5,"op":"quit"}\n') == {"id": 5, "ok": {}}, "quit is not answered")


def _requests_in_order(bench: Bench) -> None:
    """Several requests may wait; replies come in their order, each with its id."""
    with Raw(bench) as program:
        lines = b"".join(b'{"id":%d,"op":"run","what":"null","batch":1}\n' % n for n in (7, 3, 9))
        first = program.ask(lines)
        need([first["id"], program.line()["id"], program.line()["id"]] == [7, 3, 9], "ids are out of order")


def _ends_with_its_input(bench: Bench) -> None:
    """At the end of its input, also in the midst of a line, it ends with exit code 0 and says nothing."""
    with Raw(bench) as program:
        program.say(b'{"id":1,"op":"qu')
        code, printed = program.end()
        need(code == 0, f"exit code {code}")
        need(printed == b"", "something was printed")


# --- data ---------------------------------------------------------------------------


def _bad_files(bench: Bench) -> None:
    """Files that are missing, empty or cut are errors of the phase load, after which nothing is loaded until a good one is."""
    with bench.worker() as worker:
        for name, content in (("none", None), ("empty", b""), ("cut", b'{"a": ')):
            bench.ready(worker)
            path = bench.folder / f"{name}.json"
            if content is not None:
                path.write_bytes(content)
            error = bench.refused(worker, "load", path=str(path), kind="document", **{"as": "json"})
            need(worker.alive, f"{name}: the worker ended ({error})")
            need(error.phase == "load", f"{name}: phase {error.phase}")
            error = bench.refused(worker, "prepare", codec=bench.codec, threads=1, delivery="whole")
            need(worker.alive, f"{name}: the worker ended at the next prepare ({error})")
            need(error.type == "usage", f"{name}: prepare without a value is of type {error.type}")
        bench.ready(worker)


def _prepare_proves(bench: Bench) -> None:
    """Prepare tells the encoded bytes, their SHA-256, the first calls' times, and how many items came back, if any did."""
    with bench.worker() as worker:
        reply = bench.ready(worker)
        path = bench.encoded(worker, "encoded")
        need(
            reply["bytes"] == path.stat().st_size,
            f"bytes {reply['bytes']}, the file has {path.stat().st_size}",
        )
        need(reply["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest(), "sha256 is of other bytes")
        need(reply["items"] == len(DOCUMENT), f"items {reply['items']} of {len(DOCUMENT)}")
        need(reply["cold_encode_ns"] > 0 and reply["cold_decode_ns"] > 0, "the first calls took no time")
        bench.ready(worker, DOCUMENT[:1])
        bench.encoded(worker, "encoded")
        items = bench.ready(worker, encoded=str(path), cold=False).get("items")
        need(items in (None, 1), f"items {items}, and of what was encoded 1 can come back")


def _decodes_in_a_fresh_process(bench: Bench) -> None:
    """With encoded, a path, nothing is encoded and no value needs to be loaded."""
    with bench.worker() as worker:
        bench.ready(worker)
        path = bench.encoded(worker, "encoded")
    with bench.worker() as fresh:
        reply = bench.ask(fresh, "prepare", codec=bench.codec, encoded=str(path))
        need(reply["items"] == len(DOCUMENT), f"items {reply['items']}")
        need(
            bench.refused(fresh, "run", what="encode", batch=1).type == "usage",
            "encode without a value is no usage error",
        )


def _verify_tells_the_same(bench: Bench) -> None:
    """Verify compares what came back with what was loaded."""
    with tested(_OF_FIDELITY), bench.worker() as worker:
        bench.ready(worker)
        found = bench.ask(worker, "verify", full=True, limit=5)
        need(found["verdict"] == "same", f"verdict {found['verdict']}: {found.get('changes')}")
        need(
            found["items_in"] == found["items_out"] == len(DOCUMENT),
            f"items {found['items_in']}, {found['items_out']}",
        )


def _verify_finds_a_difference(bench: Bench) -> None:
    """A planted difference is found, and its path says where."""
    changed = json.loads(json.dumps(DOCUMENT))
    changed[-1]["price"] = -1.0
    with tested(_OF_FIDELITY), bench.worker() as worker:
        bench.ready(worker, changed)
        path = bench.encoded(worker, "other")
        bench.ready(worker, encoded=str(path))
        found = bench.ask(worker, "verify", full=True, limit=5)
        need(found["verdict"] != "same", "the difference was not seen")
        need(any("price" in one["path"] for one in found["changes"]), f"changes {found['changes']}")


def _verify_is_exact(bench: Bench) -> None:
    """Verify sees the last bit of a number, -0.0, the order of names, and true, 1, 1.0 and 2^53 + 1 where they are held apart."""
    for name, here, there, always in _PLANTED:
        with tested(_OF_FIDELITY), bench.worker() as worker:
            made = []
            try:
                for number, value in enumerate((here, there)):
                    bench.ready(worker, [{"id": 1, "v": value}])
                    made.append(bench.encoded(worker, f"planted{number}").read_bytes())
            except (NotOffered, WorkerError):
                if always or not worker.alive:
                    raise
                continue  # the language has no such value
            if not always and made[0] == made[1]:
                continue  # the language has one value for both
            bench.ready(worker, [{"id": 1, "v": here}], encoded=str(bench.folder / "planted1"))
            verdict = bench.ask(worker, "verify", full=True, limit=5)["verdict"]
            need(verdict != "same", f"{name}: {here!r} was loaded, {there!r} came back: verdict same")


def _tagged_values(bench: Bench) -> None:
    """decode_from writes the value as tagged values, from which another language makes the same."""
    from tare.tagged import from_tagged

    with bench.worker() as worker:
        bench.ready(worker, _TAGGED)
        path = bench.encoded(worker, "t.bin")
        bench.ask(worker, "decode_from", path=str(path), out=str(bench.folder / "t.json"))
    back = from_tagged(json.loads((bench.folder / "t.json").read_text(encoding="utf-8")))
    need(back == _TAGGED, f"{back!r:.200} came back")


def _probes(bench: Bench) -> None:
    """Probe tells of each value what happened to it."""
    with bench.worker() as worker:
        cells = bench.ask(worker, "probe", codec=bench.codec, set="values/1")["cells"]
        odd = {cell["status"] for cell in cells} - {"decoded", "refused", "error", "n/a"}
        need(not odd, f"status {', '.join(map(str, odd))}")
        need(len(cells) > 30, f"{len(cells)} cells")


# --- time ---------------------------------------------------------------------------


def _samples(bench: Bench) -> None:
    """A sample is a row of whole numbers in the order of cols: wall time above zero, nothing negative."""
    with bench.worker() as worker:
        bench.ready(worker)
        for what in ("encode", "decode", "null"):
            reply = bench.ask(worker, "run", what=what, samples=3, batch=2)
            need(
                (len(reply["samples"]), reply["batch"]) == (3, 2),
                f"{what}: {len(reply['samples'])} samples of {reply['batch']}",
            )
            for row in reply["samples"]:
                cells = dict(zip(reply["cols"], row, strict=True))
                need((cells["wall_ns"] or 0) > 0 and min(row) >= 0, f"{what}: {cells}")


def _runs_what_is_prepared(bench: Bench) -> None:
    """Run encodes and decodes what was prepared, and counts what came of it."""
    with bench.worker() as worker:
        bench.ready(worker, DOCUMENT[:3])
        path = bench.encoded(worker, "few")
        for fields, count in (({}, len(DOCUMENT)), ({"encoded": str(path), "cold": False}, 3)):
            bench.ready(worker, **fields)
            items = bench.ask(worker, "run", what="decode", batch=2, samples=1).get("items")
            need(items == count, f"items {items} of bytes that hold {count}")
        size = bench.ready(worker)["bytes"]
        made = bench.ask(worker, "run", what="encode", batch=1, samples=1).get("bytes")
        need(made == size, f"encode makes {made} bytes, and prepare told {size}")


def _calls_are_made(bench: Bench) -> None:
    """Every call of a batch encodes or decodes anew: what came of an earlier one is not given back."""
    with bench.worker() as worker:
        bench.ready(worker, _BIG)
        for what in ("encode", "decode"):
            # The fastest of several: where the machine is busy, a call that does nothing can take long too.
            reply = bench.ask(worker, "run", what=what, batch=2, samples=3)
            wall = reply["cols"].index("wall_ns")
            wall_ns = min(sample[wall] for sample in reply["samples"]) / reply["batch"]
            need(
                wall_ns >= len(_BIG) * _LEAST_NS,
                f"{what} takes {wall_ns:.0f} ns for {len(_BIG)} objects, less than {_LEAST_NS} ns each",
            )


def _every_choice(bench: Bench) -> None:
    """Every value that a codec lists as a choice of an option can be prepared."""
    plain = bench.codec.partition(",")[0]
    choices = {name: some for name, some in (bench.about.get("choices") or {}).items() if some}
    if not choices:
        raise NotOffered("its codec lists no choices")
    for name, some in choices.items():
        for one in some:
            said = spelled(one)
            with bench.worker() as worker:
                path = bench.file("document.json", DOCUMENT[:2])
                bench.ask(worker, "load", path=path, kind="document", **{"as": "json"})
                try:
                    worker.request(
                        "prepare", deadline_s=DEADLINE_S, codec=f"{plain},{name}={said}", threads=1
                    )
                except WorkerError as error:
                    raise AssertionError(f"{name}={said} is listed, and refused: {error}") from error


def _batches_are_calibrated(bench: Bench) -> None:
    """Batch 0 means as many calls as take target_ns, and the same number the next time; budget_ms ends samples."""
    with bench.worker() as worker:
        bench.ready(worker)
        asked = {"what": "decode", "batch": 0, "target_ns": 20_000_000}
        first = bench.ask(worker, "run", **asked)["batch"]
        need(
            first >= 1 and bench.ask(worker, "run", **asked)["batch"] == first,
            "another number the second time",
        )
        many = bench.ask(worker, "run", what="decode", batch=1, samples=100_000, budget_ms=1)["samples"]
        need(1 <= len(many) < 100_000, f"{len(many)} samples in a millisecond")


def _the_cpu_clock(bench: Bench) -> None:
    """CPU time is the process's own, within a tenth of what the kernel counts."""
    with bench.worker() as worker:
        if cpu_ns_of(worker.pid) is None:
            raise NotOffered("this system does not count the CPU time of other processes")

        bench.ready(worker, _BIG)
        if _timed(bench, worker, "encode", 1).cpu is None:
            raise NotOffered("it tells no CPU time")
        empty = [_timed(bench, worker, "null", 1) for _ in range(3)]
        around = min(one.used - (one.cpu or 0) for one in empty)
        told = counted = 0
        for batch in (8, 16, 32, 64):
            sample = _timed(bench, worker, "encode", batch)
            told, counted = sample.cpu or 0, sample.used
            if counted > 50_000_000 + 2 * around:
                break
        need(
            0.9 * (counted - around) <= told <= counted * 1.02,
            f"{told / 1e6:.1f} ms told, {counted / 1e6:.1f} ms counted",
        )


def _timed(bench: Bench, worker: Worker, what: str, batch: int, **fields: Any) -> Timed:
    return timed(
        partial(bench.ask, worker, "run", **fields), lambda: System(cpu_ns_of(worker.pid), 0), what, batch
    )


def _the_wall_clock(bench: Bench) -> None:
    """Wall time is real time: long samples of each operation are as long as the parent waited, to a fifth, writing to a half."""
    path = str(bench.folder / "timed")
    with bench.worker() as worker:
        bench.ready(worker, _BIG)
        for what in ("encode", "decode", *(("write", "read") if "file" in bench.about["media"] else ())):
            _hold_wall(bench, worker, what, path)


def _hold_wall(bench: Bench, worker: Worker, what: str, path: str) -> None:
    _timed(bench, worker, what, 1, path=path)
    said, long = "", 0
    for batch in (1, 2, 4, 8, 16, 32, 64):
        around = min(_timed(bench, worker, "null", 1, path=path).waited for _ in range(3))
        sample = _timed(bench, worker, what, batch, path=path)
        told, waited = sample.wall, sample.waited
        said = f"{what}: {told / 1e6:.1f} ms told, {waited / 1e6:.1f} ms waited"
        need(told <= waited * 1.02, said)
        # One try may be disturbed between the clocks and the reply; four of them are not.
        if waited > _LONG_NS + around:
            if (0.5 if what == "write" else 0.8) * (waited - around) <= told:
                return
            long += 1
        if long == 4:
            break
    raise AssertionError(said)


def _memory(bench: Bench) -> None:
    """Mem tells the peak of one call above what was resident, and how it knows."""
    path = bench.file("big.json", _BIG)
    with bench.worker() as worker:
        bench.ask(worker, "load", path=path, kind="document", **{"as": "json"})
        bench.ask(worker, "prepare", codec=bench.codec, cold=False)
        reply = bench.ask(worker, "mem", what="encode")
        need(reply["method"] and reply["before_bytes"] > 0 and reply["peak_bytes"] > 0, f"{reply}")


# --- files and streams --------------------------------------------------------------


def _files(bench: Bench) -> None:
    """Write leaves one file with the encoded bytes; read gives the items back."""
    if "file" not in bench.about["media"]:
        raise NotOffered("its codec does not list the medium file")
    folder = bench.folder / "files"
    folder.mkdir(exist_ok=True)
    with bench.worker() as worker:
        size = bench.ready(worker)["bytes"]
        written = bench.ask(worker, "run", what="write", path=str(folder / "data"), batch=3)
        need(
            written["bytes"] == size == (folder / "data").stat().st_size,
            f"{written['bytes']} of {size} bytes",
        )
        need(os.listdir(folder) == ["data"], f"{os.listdir(folder)} are left")
        read = bench.ask(worker, "run", what="read", path=str(folder / "data"), batch=3)
        need(read["items"] == len(DOCUMENT), f"{read['items']} items")


def _streams(bench: Bench) -> None:
    """What a writer sends, a reader receives whole, over each medium with two ends that the codec lists."""
    media = [name for name in ("fifo", "unix", "tcp") if name in bench.about["media"]]
    known = {"memory", "file", "fifo", "unix", "tcp", "conn", "store", "link", "remote"}
    need(
        set(bench.about["media"]) <= known,
        f"media {bench.about['media']}: there are {', '.join(sorted(known))}",
    )
    if not media:
        raise NotOffered("its codec lists no fifo, unix or tcp")
    for name in media:
        for delivery in bench.about["delivery"]:
            _message(bench, name, delivery)


def _message(bench: Bench, name: str, delivery: str) -> None:
    common = {"kind": name, "token": os.urandom(16).hex()}
    with bench.worker() as writer, bench.worker() as reader:
        for end in (writer, reader):
            bench.ready(end)
        opened = bench.ask(reader, "open", medium={**common, "role": "reader"})
        writing = bench.ask(writer, "open", medium={**common, "role": "writer", "address": opened["address"]})
        number = reader.send("run", what="receive", handle=opened["handle"], delivery=delivery)
        sent = bench.ask(writer, "run", what="send", handle=writing["handle"], delivery=delivery)
        received = reader.wait(number, DEADLINE_S)
        where = f"{name}, {delivery}"
        need(received["items"] == len(DOCUMENT), f"{where}: {received['items']} items")
        need(
            received["bytes"] == sent["bytes"],
            f"{where}: {sent['bytes']} bytes sent, {received['bytes']} received",
        )


CHECKS: tuple[Callable[[Bench], None], ...] = (
    _hello, _errors_are_replies, _rubbish_is_an_error, _requests_in_order, _ends_with_its_input, _bad_files,
    _prepare_proves, _decodes_in_a_fresh_process, _verify_tells_the_same, _verify_finds_a_difference, _verify_is_exact, _tagged_values,
    _probes, _every_choice, _samples, _runs_what_is_prepared, _calls_are_made, _batches_are_calibrated, _the_wall_clock, _the_cpu_clock, _memory, _files, _streams,
)  # fmt: skip
"""Every check, in the order of the specification."""
_OF_LINES = (_hello, _rubbish_is_an_error, _requests_in_order, _ends_with_its_input)
