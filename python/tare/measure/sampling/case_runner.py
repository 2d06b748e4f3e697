"""A seat: one case in one launch, ready to be sampled.

A seat owns what the case needs: one worker for memory, files and stores, two for media
with two ends. It turns every failure into the case's status; it never raises for
a codec's fault.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import time
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from tare.errors import WorkerError
from tare.fidelity.comparison import column_of
from tare.measure.cases import FACTORS, operations
from tare.measure.exchange.verify_foreign import Given, held
from tare.measure.sampling.batch_length import first_call_ns, long_enough, wall_ns
from tare.measure.sampling.outcome import fail, judge_verify, lacks_descriptors
from tare.measure.verdict.text import HELD, of_memory
from tare.measure.worker_client.clock_check import Told, around_ns, far_short
from tare.measure.worker_client.languages import language_of
from tare.measure.worker_client.sample_check import System
from tare.measure.worker_client.samples import OURS, believable, clock_fault, cpu_ns_of, queued_ns_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.codec import Codec
    from tare.measure.session import Part, Session
    from tare.measure.worker_client.client import Worker

__all__ = ["TARGET_NS", "WARM_MS", "Seat", "level", "threads_of"]

TARGET_NS = 2_000_000
"""A sample is a batch of calls calibrated to this long, in nanoseconds."""

_ONE_WAY_IN_MEMORY = frozenset({"node", "java", "mono", "rust"})
_SLOWEST = 20
# The first call is up to several times slower than the rest.
_SURE = 10
_SPARE_S = 2.0
_LATE_S = 0.5  # a call that began in time may end so much after the run's
_TRIAL_MS = 300
_AGAIN_MS = 50  # a first call that takes longer is not made again in a trial
_LONG_NS = 20_000_000
"""From here on a first call is taken for what others take: what it pays for once is little beside it."""
_WARM_SHARE = 1 / 60
WARM_MS = 4000
"""How long, at most, a runtime that compiles what it runs may warm up in each process, for each operation."""


def level(case: dict[str, Any], factor: str) -> str:
    """The case's level of a factor; labels leave defaults out.

    >>> level({"labels": {}}, "sync")
    'none'
    """
    return str(case["labels"].get(factor, FACTORS[factor].default))


def threads_of(case: dict[str, Any]) -> int | str:
    """Threads that the case's codec may use: 1, or ``all``.

    >>> threads_of({"labels": {"threads": "all"}}), threads_of({"labels": {}})
    ('all', 1)
    """
    return "all" if level(case, "threads") == "all" else 1


class Seat:
    """One case in one launch.

    Args:
        session: The run.
        case: The case's dict in the record.
        codec: Its codec.
        part: The data it holds.
        worker: A worker that is already loaded, shared with other seats; None for one of its own.
    """

    def __init__(
        self,
        session: Session,
        case: dict[str, Any],
        codec: Codec,
        part: Part,
        *,
        worker: Worker | None = None,
    ) -> None:
        self.session = session
        self.case = case
        self.codec = codec
        self.part = part
        self.kind = codec.native(part.kind)
        self.language = language_of(str(codec), session.settings.workers)
        self.medium = case["labels"]["medium"]
        self.operations: tuple[str, ...] = tuple(case.get("operations") or operations(case["labels"]))
        self.threads = threads_of(case)
        self.rounds_left = 1 << 30
        self.samples: dict[str, dict[str, list[int]]] = {}
        self.told = Told()
        self.alive = True
        self.leaks = False
        """Whether its codec leaves files open: it shares its worker with no other."""
        self.limit_s = 0.0
        """Deadline of preparing and verifying, in seconds; 0 for the run's own."""
        self.distance = float("inf")
        """Its cost as a multiple of the least, in the use that suits it most; from the samples so far."""
        self.tried_s = 0.0
        """Seconds of its trial: preparing, first calls and comparing."""
        self.room = part
        """The largest part that its worker will have to hold."""
        self.part_read = ""
        """The part that its operation ``subset`` reads, where its labels name none."""
        self.inside: Sequence[str] = ()
        """What comes before its worker's command: the namespace of a link's end."""
        self.turn: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()
        """Entered while a call of a trial is timed, where several trials run at a time."""
        self.shared = worker is not None
        self.worker = worker
        # What an earlier launch took is the best guess of what this one will.
        self._expect_ns = session.expected.setdefault(case.get("key", ""), {})
        self._path = session.new_path() if self.medium in ("file", "store") else None
        self._hash_seed = session.rng.randrange(1, 2**32 - 1)
        self._began = time.time()
        self._pid: int | None = None
        self._looked = False

    @property
    def is_plain(self) -> bool:
        """Returns true for a Python codec on a medium with one end, used whole: one write and one read suffice."""
        plain = self.medium in ("memory", "file") and level(self.case, "grain") == "whole"
        usual = self.operations[:2] in (("encode", "decode"), ("write", "read"))
        return plain and usual and not self.language

    # --- life -----------------------------------------------------------------

    def share(self, worker: Worker) -> None:
        """Use a worker that is loaded already and that somebody else ends."""
        self.worker, self.shared = worker, True

    def take_over(self, other: Seat) -> None:
        """Use the other's own worker from now on: a seat of another size, in the same process."""
        self.worker, other.worker, other.alive = other.worker, None, False
        self._hash_seed = other._hash_seed

    def start(self) -> None:
        """Start the worker without waiting for it."""
        if self.worker is None:
            self.session.check()
            self.worker = self.session.worker(
                self.room,
                self.kind,
                hash_seed=self._hash_seed,
                loading=True,
                threads=self.threads,
                language=self.language,
                inside=self.inside,
            )

    def ready(self, *, verify: bool = False) -> None:
        """Load the data and prepare the codec.

        Encode and decode once if the case's first calls have not been timed, and compare
        what came back if that has not been done, or if ``verify``.
        """
        compares = verify or "verify" not in self.case
        try:
            if not self.shared:
                self.load()
            reply = self.prepare(cold=compares or "cold" not in self.case)
            if "bytes" in reply:
                self._prepared(reply)
            if compares:
                # What came back of the part, or by the route that is timed, is what is compared.
                if not all(self._run(operation, batch=1) for operation in self._compared()):
                    return
                found = self._ask("verify", codec=str(self.codec), full=True, limit=20)
                judge_verify(self.case, self._with_loaded(self._held(found)), self.part)
        except WorkerError as error:
            self.lose(error)

    def try_once(self, round_: int) -> None:
        """Write and read, twice each if that is quick, and compare what came back; a Python codec, whole.

        Calls that are long are kept as samples; short ones are sampled once more, in batches.

        Args:
            round_: Number of the round that the samples get.
        """
        try:
            self.prepare(cold=False)
            with self.turn:  # the first call pays for memory and pages that the second one finds
                replies = [
                    self._request(operation, samples=2, batch=1, budget_ms=_AGAIN_MS, keep=True)
                    for operation in self.operations[:2]
                ]
            made, came = replies
            first_ns = [first_call_ns(reply) for reply in replies]
            self._prepared(
                {
                    "bytes": made["bytes"],
                    "sha256": made["sha256"],
                    "items": came.get("items"),
                    "cold_encode_ns": first_ns[0],
                    "cold_decode_ns": first_ns[1],
                }
            )
            self.case["first_calls"] = [op for op, ns in zip(self.operations, first_ns) if ns > _LONG_NS]
            found = self._ask("verify", codec=str(self.codec), full=True, limit=20)
            judge_verify(self.case, self._with_loaded(found), self.part)
        except WorkerError as error:
            self.lose(error)
            return
        for position, operation in enumerate(self.operations):
            if not self.alive:
                return
            if position < len(replies) and first_ns[position] > _LONG_NS:
                self.keep(operation, round_, position, replies[position])
            else:
                with self.turn:
                    self.sample(operation, round_, position)

    def _held(self, found: dict[str, Any]) -> dict[str, Any]:
        """A comparison as it is to be believed: what a given worker says is held against what its bytes give."""
        if level(self.case, "grain") != "whole" or self.operations == ("subset",):
            if self.language not in self.session.settings.workers:
                return found
            return {**found, "unchecked": "parts of the data were decoded"}
        written = self._path if self.medium == "file" and self._path and os.path.exists(self._path) else None
        media = getattr(self.codec, "about", {}).get("media", ())
        names = {name: level(self.case, name) for name in ("delivery", "kind", "order")}
        given = Given(self.session, self.part, str(self.codec), self.language, names, "file" in media)
        return held(found, given, written)

    def _with_loaded(self, found: dict[str, Any]) -> dict[str, Any]:
        """A comparison with the types that were lost before it: its worker compares with what it loaded."""
        if self.part.kind != "table":
            return found
        known = set(map(column_of, found["changes"]))
        more = [
            one for one in self.session.changed_types(self.part, self.language) if column_of(one) not in known
        ]
        if not more:
            return found
        verdict = "type" if found["verdict"] == "same" else found["verdict"]
        return {**found, "verdict": verdict, "changes": [*found["changes"], *more][:20]}

    def _compared(self) -> tuple[str, ...]:
        """What is run once before what comes back is compared.

        Another language's worker may prepare by other calls than those of the medium: R's jsonlite writes a file
        by lines, and readr has a form of its own in memory. Python's own has one way.
        """
        if self.operations == ("subset",):
            return self.operations
        if not self.language or "span" in self.operations:
            return ()
        if self.medium == "memory" and self.language in _ONE_WAY_IN_MEMORY:
            return ()
        return tuple(one for one in self.operations if one in ("encode", "decode", "write", "read"))

    def settle(self) -> None:
        """Move the worker to the CPU that is measured on; it loaded on any."""
        if self.worker is not None and not self.shared and self.worker.alive:
            self.session.settle(self.worker)

    def load(self) -> None:
        """Have the worker load the part. Raises WorkerError."""
        self._ask("load", **self.session.given(self.part, self.language))

    def prepare(self, *, cold: bool) -> dict[str, Any]:
        """Have the worker make the codec ready; its reply.

        Args:
            cold: Whether it encodes and decodes once, each first call timed.

        Raises:
            WorkerError: It cannot.
        """
        return self._ask(
            "prepare",
            codec=str(self.codec),
            threads=self.threads,
            delivery=level(self.case, "delivery"),
            grain=level(self.case, "grain"),
            kind=level(self.case, "kind"),
            order=level(self.case, "order"),
            cold=cold,
            **({"share": self.part.drawn, "seed": self.session.settings.seed} if self.part.drawn < 1 else {}),
        )

    def _prepared(self, reply: dict[str, Any]) -> None:
        self.case["bytes"] = reply["bytes"]
        self.case["sha256"] = reply.get("sha256", "")
        self.case["items"] = reply.get("items")
        encode_ns, decode_ns = reply.get("cold_encode_ns"), reply.get("cold_decode_ns")
        self.case.setdefault("cold", {"encode_ns": encode_ns, "decode_ns": decode_ns})
        for operation, first_ns in (
            ("encode", encode_ns), ("write", encode_ns), ("decode", decode_ns), ("read", decode_ns),
        ):  # fmt: skip
            self._expect_ns.setdefault(operation, first_ns or 0)

    def lose(self, error: WorkerError) -> None:
        """The case failed: write it down and give up the worker."""
        self.session.check()
        fail(self.case, error)
        limit = self.worker.memory_limit if self.worker is not None else None
        # Some libraries do not look whether they were given memory: they crash.
        if limit and (error.type == "killed" or of_memory(str(error))):
            self.case["reason"] += f"{HELD}{limit / 1e9:.3g} GB"
        self.close()

    def quit(self) -> None:
        """Ask the worker, if it is our own, to end, without waiting for it; ``close`` does."""
        if self.worker is not None and not self.shared:
            self.worker.quit()

    def close(self) -> None:
        """End the worker, if it is our own; what was written goes too."""
        self.alive = False
        if self.worker is not None and not self.shared:
            self.session.release(self.worker)
            self.worker = None
        if self._path is not None:
            with contextlib.suppress(OSError):
                shutil.rmtree(self._path) if self.medium == "store" else os.unlink(self._path)

    # --- sampling ---------------------------------------------------------------

    def expected_s(self, operation: str) -> float:
        """What one sample of the operation will take, in seconds."""
        return max(self._expect_ns.get(operation, 0.0), TARGET_NS) / 1e9

    def warm(self, operation: str) -> None:
        """Make one call that is not kept: it calibrates the batch and pays for pages and files."""
        reply = self._run(operation)
        if reply is not None:
            self._learn(operation, reply)

    def sample(self, operation: str, round_: int, position: int, *, in_a_row: int = 1) -> None:
        """Take one sample, or several, and keep them; a failure ends the case.

        Args:
            operation: The operation.
            round_: Number of the round.
            position: Place in the round.
            in_a_row: Samples to take. The first pays for memory that was given back to the system since the last
                round, and for cold caches; the next is what a program sees that goes on.
        """
        began = time.monotonic_ns()
        reply = self._run(operation, in_a_row=in_a_row)
        if reply is None:
            return
        self.session.round_ns += time.monotonic_ns() - began
        wall = reply["cols"].index("wall_ns")
        self.session.sample_ns += sum(int(row[wall]) for row in reply["samples"])
        self.keep(operation, round_, position, reply)

    def trial_s(self, operation: str) -> float:
        """Mean wall time of one call, in seconds, of two if they are short; nothing is kept. Raises WorkerError."""
        reply = self._request(operation, samples=2, batch=1, budget_ms=_TRIAL_MS, warm=False)
        wall = reply["cols"].index("wall_ns")
        return sum(int(row[wall]) for row in reply["samples"]) / len(reply["samples"]) / 1e9

    def _run(self, operation: str, batch: int | None = None, in_a_row: int = 1) -> dict[str, Any] | None:
        """One sample of the worker, or some single calls in a row; None when there is none, and then the seat is lost."""
        if self.shared and self.worker is not None and not self.worker.alive:
            # Another codec ended the worker we share: our earlier samples stand.
            self.alive = False
            return None
        budget_ms = int(self.session.settings.deadline_s * 1000)

        def ask(calls: int) -> dict[str, Any]:
            samples = in_a_row if calls == 1 or not self.language else 1
            return self._request(
                operation, samples=samples, batch=calls, budget_ms=budget_ms, warm=batch is None
            )

        key = (self.case.get("key", ""), operation)
        try:
            if operation == "read" and self.language and self._path and not os.path.exists(self._path):
                # Rounds are shuffled, and where time is short nothing was warmed: there may be no file yet.
                self._request("write", samples=1, batch=1, budget_ms=budget_ms, warm=False)
            if batch is not None:
                return ask(batch)
            calls = self._batch_of(operation)
            reply, full = long_enough(ask, calls, TARGET_NS, full=key in self.session.full_batches)
            if full:
                self.session.full_batches.add(key)
            return reply
        except WorkerError as error:
            if self.shared and self.worker is not None and lacks_descriptors(str(error)):
                self.worker.kill()  # it cannot be told whose files they are: earlier samples stand
                self.alive = False
                return None
            over = self.session.elapsed_s > self.session.end_s
            if over and error.type == "timeout" and self._has_round(operation):
                self.alive = False  # earlier samples stand
                return None
            self.lose(error)
            return None

    def _request(
        self,
        operation: str,
        *,
        samples: int,
        batch: int,
        budget_ms: int,
        warm: bool = True,
        keep: bool | None = None,
    ) -> dict[str, Any]:
        self._hold_clock()
        began_ns = time.monotonic_ns()
        reply = self._ask_run(
            what=operation,
            samples=samples,
            batch=batch,
            budget_ms=budget_ms,
            warm_ms=self.warm_ms() if self.language and warm else None,
            keep=keep,
            deadline_s=self._deadline_s(operation),
        )
        waited_ns = time.monotonic_ns() - began_ns
        believable(reply, self.language or "python", waited_ns)
        if self.language and batch:  # what calibrates makes calls that are no sample
            self.told.add(operation, reply, waited_ns)
        return reply

    def _ask_run(self, *, deadline_s: float, **fields: Any) -> dict[str, Any]:
        factors = {name: level(self.case, name) for name in ("gc", "sync", "cache", "materialise", "subset")}
        if self.part_read and fields.get("what") == "subset":
            factors["subset"] = self.part_read
        return self._ask(
            "run",
            deadline_s=deadline_s,
            codec=str(self.codec),
            path=self._path,
            medium=self.medium if self.medium in ("store", "conn") else None,
            target_ns=TARGET_NS,
            **{**factors, **fields},
        )

    def warm_ms(self) -> int:
        """How long its runtime may warm up for one operation: a small share of a run that has a time limit."""
        limit_s = self.session.settings.limit_s
        return min(WARM_MS, int(limit_s * 1000 * _WARM_SHARE)) if limit_s else WARM_MS

    def _hold_clock(self) -> None:
        """Hold the clock of another language's worker against ours, once in a run; a seat tries it once."""
        faults = self.session.clock_faults
        if not self.language:
            return
        if self.language not in faults and not self._looked:
            self._looked = True
            limit_s = (self.limit_s or self.session.settings.deadline_s) + _SPARE_S

            def ask(**fields: Any) -> dict[str, Any]:
                reply = self._ask("run", codec=str(self.codec), deadline_s=limit_s, **fields)
                believable(reply, self.language)
                return reply

            try:
                faults[self.language] = clock_fault(ask, self._counted)
            except WorkerError as error:
                # One that cannot encode, or has died: the case tells that. Its clock is not known, and the next seat looks.
                if error.type == "timeout":
                    raise
        if said := faults.get(self.language):
            self._wrong_clock(said)

    def hold_sums(self) -> None:
        """Hold what the samples of this launch told against our wait for them; a clock that loses time ends the case."""
        worker = self.worker
        if not self.alive or worker is None or not worker.alive:
            return

        def ask(*, what: str, **fields: Any) -> dict[str, Any]:
            reply = self._ask_run(what=what, deadline_s=self._deadline_s(what), **fields)
            believable(reply, self.language)
            return reply

        try:
            for operation, batch in self.told.suspected(partial(around_ns, ask)).items():
                if said := far_short(ask, self._counted, operation, batch):
                    self._wrong_clock(said)
        except WorkerError as error:
            # What was sampled stands where a call of many more is refused: a disk may be full of its files.
            # So it does where our longer sample was too much for the worker.
            if error.type == "clock":
                self.samples = {}  # what the record has of an earlier launch is another's
                self.lose(error)
            elif self.worker is not None and not self.worker.alive:
                self._pid = worker.pid
                self.close()

    def _wrong_clock(self, said: str) -> NoReturn:
        raise WorkerError(
            f"the worker's clock is wrong: {said}", worker=self.language, type="clock", phase="protocol"
        )

    def _counted(self) -> System:
        pid = self.worker.pid if self.worker is not None else 0
        return System(cpu_ns_of(pid), (queued_ns_of(pid) or 0) + (queued_ns_of(os.getpid()) or 0))

    def _learn(self, operation: str, reply: dict[str, Any]) -> None:
        """Remember the batch and how long a sample takes."""
        self.session.batches[self.case.get("key", ""), operation] = int(reply["batch"])
        self._expect_ns[operation] = wall_ns(reply)

    def keep(self, operation: str, round_: int, position: int, reply: dict[str, Any]) -> None:
        """Keep a reply of ``run`` as columns."""
        batch = int(reply["batch"])
        columns = self.samples.setdefault(operation, {name: [] for name in OURS})
        if columns["round"] and (odd := (columns.keys() - OURS) ^ set(reply["cols"])):
            # A time would be of CPU in one sample, and of the wall clock in another.
            said = f"the worker told {min(odd)[:40]} in some samples only"
            self.lose(WorkerError(said, worker=self.language, type="protocol", phase="protocol"))
            return
        self._learn(operation, reply)
        for row in reply["samples"]:
            columns["round"].append(round_)
            columns["position"].append(position)
            columns["batch"].append(batch)
            for name, value in zip(reply["cols"], row, strict=True):
                columns.setdefault(name, []).append(value)
        self.session.note_pace(columns, len(reply["samples"]))
        expected = self.case.get("items")
        came = reply.get("items")
        if operation in ("decode", "read", "receive") and expected and came is not None and came != expected:
            self.case["status"] = "unproven"
            self.case["reason"] = f"{came} of {expected} items came back in round {round_}"

    def forget(self, round_: int) -> None:
        """Drop the samples of a round where there are two or more others of every operation."""
        if any(len(set(columns["round"]) - {round_}) < 2 for columns in self.samples.values()):
            return
        for columns in self.samples.values():
            kept = [i for i, one in enumerate(columns["round"]) if one != round_]
            for name, values in columns.items():
                columns[name] = [values[i] for i in kept]

    def _batch_of(self, operation: str) -> int:
        """Calls of one sample: as many as before; one if the first call was that long; 0 asks to calibrate."""
        known = self.session.batches.get((self.case.get("key", ""), operation), 0)
        return known or int(self._expect_ns.get(operation, 0) > _SURE * TARGET_NS)

    def launch(self, number: int, psi_some: float | None, load: float | None) -> dict[str, Any]:
        """The finished launch as the record keeps it."""
        worker = self.worker
        return {
            "n": number,
            "pid": worker.pid if worker is not None else self._pid,
            "cpu": self.session.cpus[-1] if self.threads == 1 and len(self.session.cpus) > 1 else None,
            "hash_seed": self._hash_seed,
            "started": round(self._began, 3),
            "psi_some": psi_some,
            "load": load,
            "samples": self.samples,
        }

    @property
    def stands(self) -> bool:
        """Whether no failure has ended it: its samples count, though its worker may be gone."""
        return self.alive or self.case["status"] in ("ok", "lossy", "unproven")

    def floor_ns(self) -> float | None:
        """What timing one empty call costs, in nanoseconds; None if the worker cannot say."""
        try:
            reply = self._ask("run", what="null", samples=1, batch=0, target_ns=TARGET_NS, budget_ms=2000)
        except WorkerError:
            return None
        wall = reply["cols"].index("wall_ns")
        return min(float(row[wall]) / float(reply["batch"]) for row in reply["samples"])

    def _deadline_s(self, operation: str) -> float:
        warming_s = 2 * WARM_MS / 1e3 if self.language else 0.0
        slowest_s = max(self.session.settings.deadline_s, _SLOWEST * self.expected_s(operation))
        left_s = max(0.0, self.session.end_s - self.session.elapsed_s) + _LATE_S
        return min(slowest_s + _SPARE_S + warming_s, left_s if self._has_round(operation) else math.inf)

    def _has_round(self, operation: str) -> bool:
        """Whether a round has given a figure, so that no call need outlast the run; a trial is round 0."""
        return any(self.samples.get(operation, {}).get("round", ()))

    def _ask(self, op: str, *, deadline_s: float | None = None, **fields: Any) -> dict[str, Any]:
        if self.worker is None:
            raise WorkerError("the worker has gone", type="killed")
        self.session.check()
        if not self.language and op in ("run", "verify"):
            # Seats of lines share a process, where the same codec is prepared in both grains.
            fields.setdefault("grain", level(self.case, "grain"))
        limit = self.limit_s or self.session.settings.deadline_s if deadline_s is None else deadline_s
        return self.worker.request(op, deadline_s=limit, **{k: v for k, v in fields.items() if v is not None})
