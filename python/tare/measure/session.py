"""One run in progress: its settings, its data in parts, its record, its budget.

The stages (``stages/``) share a Session and nothing else.
"""

from __future__ import annotations

import contextlib
import os
import random
import sys
import threading
import time
from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tare.errors import WorkerError
from tare.measure.analysis.pace import usual_pace
from tare.measure.environment import system_load, tempdirs
from tare.measure.stages import END_S, END_SHARE
from tare.measure.worker_client.languages import command_of
from tare.measure.worker_client.load_check import changed_types, handed
from tare.measure.worker_client.network import Reach
from tare.measure.worker_client.samples import threads_of

if TYPE_CHECKING:
    from tare.codec import Codec
    from tare.dataset import Dataset
    from tare.measure.records.journal import Journal
    from tare.measure.settings import Settings
    from tare.measure.worker_client.client import Worker

__all__ = [
    "Control",
    "Event",
    "Part",
    "Session",
    "Stopped",
    "Wiring",
]

# Verdicts that the end of a run takes as long as: one is derived, and it is saved and shown.
_ENDINGS = 3.0


class Stopped(Exception):
    """The user asked to stop; what is finished is kept."""


class Control:
    """The way to stop a run from outside: from a signal handler or another thread.

    >>> control = Control()
    >>> control.stop(); control.stopped
    True
    """

    def __init__(self) -> None:
        self.stopped = False
        self._on_stop: Callable[[], None] | None = None

    def stop(self) -> None:
        """End the run after at most the current sample; what is finished is kept."""
        self.stopped = True
        if self._on_stop is not None:
            self._on_stop()

    def on_stop(self, action: Callable[[], None]) -> None:
        """Set what ends the sample under way."""
        self._on_stop = action


@dataclass(frozen=True)
class Event:
    """What a progress display is told, never during a sample.

    Args:
        stage: ``open``, ``pass``, ``rounds``, ``probe``, ``memory``, ``growth``, ``exchange`` or ``done``; of a plan
            also ``weigh``.
        done: Cases or rounds finished in this stage.
        total: Cases or rounds of this stage; 0 when unknown.
        elapsed_s: Since the run began.
        budget_s: The run's time limit in seconds; 0 for none.
        text: The case at work, or a message.
        record: The record so far, with ``derived`` when ``verdict`` is True.
        verdict: Whether a new (provisional) verdict can be shown.
    """

    stage: str
    done: int
    total: int
    elapsed_s: float
    budget_s: float
    text: str = ""
    record: Mapping[str, Any] | None = None
    verdict: bool = False


@dataclass(frozen=True)
class Wiring:
    """How a run is connected to the world outside it.

    Args:
        out: Where the record is saved; nowhere if None.
        resume: An interrupted record whose finished cases are used again.
        on_progress: Called with an Event between samples.
        control: How to stop the run.
        command: The command line, for the record.
        shared: Folder of the data sets that named plans use; None if there is none.
    """

    out: str | Path | None = None
    resume: str | Path | None = None
    on_progress: Callable[[Event], None] | None = None
    control: Control = field(default_factory=Control)
    command: str = ""
    shared: str | Path | None = None


@dataclass(frozen=True)
class Part:
    """A share of the data, saved once for every worker.

    Args:
        share: Share of the data, in (0, 1].
        path: Where it is.
        as_: How it is saved: ``arrow``, ``json`` or ``values``.
        kind: ``document`` or ``table``.
        rows: Rows of a table, or documents of a list.
        items: What proves that data came back; rows or documents.
        bytes_memory: Its size in memory.
        hash: Content hash.
        drawn: Share of the documents at ``path`` that it is: workers load all of them, and draw these.
        of_r: What R has beside its values; see `tare.dataset.Dataset`.
    """

    share: float
    path: str
    as_: str
    kind: str
    rows: int
    items: int
    bytes_memory: int
    hash: str
    drawn: float = 1.0
    of_r: tuple[str, ...] | None = None

    def request(self) -> dict[str, Any]:
        """What a worker's ``load`` is asked."""
        beside = {} if self.of_r is None else {"of_r": list(self.of_r)}
        return {"path": self.path, "as": self.as_, "kind": self.kind, **beside}

    @property
    def label(self) -> str:
        """The level of the factor ``size``."""
        return f"{self.share:g}"


class Session:
    """A run in progress. Use it as a context manager: it leaves nothing behind.

    Args:
        dataset: The data, opened.
        settings: What was asked for.
        record: Head, machine and dataset blocks of the record, to be filled.
        wiring: Display, control, and where the record goes.
        journal: Where finished cases are saved as they come; None for nowhere.
    """

    def __init__(
        self,
        dataset: Dataset,
        settings: Settings,
        record: dict[str, Any],
        wiring: Wiring,
        journal: Journal | None,
    ) -> None:
        self.control = wiring.control
        self.control.on_stop(self.kill_workers)
        self._on_event = wiring.on_progress
        self.dataset = dataset
        self.block: dict[str, Any] = record["dataset"]
        # A level of the cases' keys, whose marks it may not have.
        self.name = "".join("?" if mark in "|\n\r\0" else mark for mark in str(self.block["name"]))
        self.settings = settings
        self.record = record
        self.journal = journal
        self.rng = random.Random(settings.seed)  # noqa: S311 - order and seeds, no secrets
        self.started_at = time.monotonic()
        self.base: Codec | None = None
        self._parts: dict[str, Part] = {}
        self._types: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self._handed: dict[tuple[str, str], tuple[str, str] | WorkerError] = {}
        self._writing = threading.Lock()
        self._cases: dict[str, dict[str, Any]] = {}
        self.adopted: dict[str, dict[str, Any]] = {}
        self._workers: set[Worker] = set()
        self._pinned: set[Worker] = set()
        self._tmp = tempdirs.make()
        self._files = tempdirs.make(settings.directory)
        self.cpus = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        self.batches: dict[tuple[str, str], int] = {}
        self.full_batches: set[tuple[str, str]] = set()
        self.expected: dict[str, dict[str, float]] = {}
        self.encoded: dict[str, str] = {}
        self.handed_back: dict[tuple[str, str, bytes], list[dict[str, Any]]] = {}
        self.clock_faults: dict[str, str] = {}
        self.starts_s: list[float] = []
        self.byte_s = 0.0
        self.verdict_s = 0.0
        self.hashing: threading.Thread | None = None
        self.reach = Reach(settings, record.setdefault("noise", {}))
        self.sample_ns = 0
        self.round_ns = 0
        self._paces: list[float] = []
        self.pace_ns: float | None = None
        self.pressure = system_load.snapshot()

    def note_pace(self, columns: dict[str, list[int]], count: int) -> None:
        """Keeps how long the fixed work took beside the latest samples of some columns, for the usual speed of the run."""
        for pace in columns.get("pace_ns", ())[-count:]:
            insort(self._paces, pace)
        self.pace_ns = usual_pace(self._paces)

    def __enter__(self) -> Session:  # noqa: PYI034 - typing.Self is newer than our oldest Python
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.kill_workers()
        if (
            exc_type is not None
            and self.journal is not None
            and not any(c["launches"] for c in self.record["cases"])
        ):
            self.journal.remove()
        if exc_type is None:
            self.reach.check_again()
        self.reach.close()
        tempdirs.remove(self._tmp)
        tempdirs.remove(self._files)

    def wait_for_hash(self) -> None:
        """Waits for the hash of the data, if it is computed in a thread: no round is timed beside it."""
        if self.hashing is not None:
            self.hashing.join()

    def kill_workers(self) -> None:
        """Kill every worker at once; whoever waits for one gets a WorkerError."""
        for worker in list(self._workers):
            worker.kill()

    # --- time -----------------------------------------------------------------

    @property
    def elapsed_s(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self.started_at

    def limit_s(self, share: float) -> float:
        """The moment (in elapsed seconds) when ``share`` of the budget is used; infinite without a budget."""
        return self.settings.limit_s * share if self.settings.limit_s else float("inf")

    @property
    def end_s(self) -> float:
        """The moment (in elapsed seconds) when the last sample ends: figures, record and report take time too.

        What they will take, the last verdict tells: on a busy machine each takes several times as long.
        """
        ending_s = max(END_S, _ENDINGS * self.verdict_s)
        return self.limit_s(1 - END_SHARE) - ending_s

    @property
    def start_s(self) -> float:
        """What starting a worker takes here and now, in seconds; 0 if none was timed."""
        return median(self.starts_s) if self.starts_s else 0.0

    def round_s(self, case: Mapping[str, Any]) -> float:
        """What a sample of each operation of the case takes, in seconds, by the last ones; 0 if there are none."""
        return sum(self.expected.get(case["key"], {}).values()) / 1e9

    @property
    def stop_asked(self) -> bool:
        """Whether the user asked to stop."""
        return self.control.stopped

    def check(self) -> None:
        """Raise Stopped if the user asked to stop."""
        if self.stop_asked:
            raise Stopped

    def verdict(self, stage: str, text: str) -> None:
        """Derive what can be said from the samples so far, and tell the display."""
        from tare.measure.derive import derive

        began_s = self.elapsed_s
        self.record["derived"] = derive(self.record)
        self.tell(stage, 0, 0, text, verdict=True)
        self.verdict_s = self.elapsed_s - began_s

    def tell(self, stage: str, done: int, total: int, text: str = "", *, verdict: bool = False) -> None:
        """Send an Event to the display; never called during a sample."""
        self.check()
        if self._on_event is not None:
            self._on_event(
                Event(stage, done, total, self.elapsed_s, self.settings.limit_s, text, self.record, verdict)
            )

    def pressure_since_start(self) -> dict[str, Any]:
        """What the noise block of the record says of the whole run."""
        now = system_load.snapshot()
        return {
            "psi_some": self.pressure.stalled_share(now),
            "steal": self.pressure.steal_share(now),
            "load": now.load,
            "sample_share": self.sample_ns / 1e9 / max(1e-9, self.elapsed_s),
            "parent_share": (self.round_ns - self.sample_ns) / max(1, self.round_ns),
        }

    # --- data -----------------------------------------------------------------

    def part(self, share: float) -> Part:
        """The share of the data, saved for the workers; the same rows for every one of them."""
        label = f"{min(1.0, share):g}"
        if label not in self._parts:
            path = self._tmp / f"part-{len(self._parts)}"
            saved = self.dataset.save_part(path, float(label), seed=self.settings.seed)
            part = Part(
                float(label),
                saved.path,
                saved.as_,
                saved.kind,
                saved.items,
                saved.items,
                saved.bytes_memory,
                saved.hash,
                of_r=self.dataset.of_r,
            )
            self._parts[label] = part
            self._note_size(part)
        return self._parts[label]

    def _note_size(self, part: Part) -> None:
        self.block.setdefault("sizes", {})[part.label] = {
            "hash": part.hash,
            "rows": part.rows,
            "items": part.items,
            "bytes_memory": part.bytes_memory,
        }
        if self.journal is not None and self.journal.started:
            self.journal.stage("dataset", {"sizes": self.block["sizes"]})

    def drawn(self, part: Part, share: float) -> Part:
        """Returns contiguous blocks of the documents of a part, drawn by each worker that holds the part.

        Args:
            part: A part of a list of documents.
            share: Share of it; of all of it the part itself is returned.
        """
        if share >= 1:
            return part
        label = f"{part.share * share:.4g}"  # sizes are scaled by it
        piece = self.dataset.subset(part.share, seed=self.settings.seed).subset(
            share, seed=self.settings.seed
        )
        found = replace(
            part,
            share=float(label),
            rows=piece.items,
            items=piece.items,
            bytes_memory=piece.bytes_memory,
            hash=piece.hash(),
            drawn=share,
        )
        self._note_size(found)
        return found

    def given(self, part: Part, language: str) -> dict[str, Any]:
        """What a worker of that language is asked to load.

        Args:
            part: The data.
            language: Language of the worker; empty for Python.

        Raises:
            WorkerError: The language would load other values than these: what came back would be held against those.
        """
        if not language:
            return part.request()
        with self._writing:  # seats load two at a time
            known = self._handed.get((part.path, language))
            if known is None:
                try:
                    known = handed(part.path, part.as_, language)
                except WorkerError as error:
                    known = error
                self._handed[part.path, language] = known
        if isinstance(known, WorkerError):
            raise WorkerError(str(known), worker=known.worker, type=known.type, phase=known.phase)
        path, as_ = known
        return {**part.request(), "path": path, "as": as_}

    def changed_types(self, part: Part, language: str) -> list[dict[str, Any]]:
        """Columns that the language loads as another type, as changes of ``verify``."""
        with self._writing:
            key = (part.path, language)
            if key not in self._types:
                self._types[key] = changed_types(part.path, part.as_, language)
            return self._types[key]

    def new_path(self) -> str:
        """A path for the file medium that nothing else uses."""
        self._paths = getattr(self, "_paths", 0) + 1
        return str(self._files / f"{self._paths}")

    # --- cases ----------------------------------------------------------------

    def case(self, codec: str, part: Part, stage: str, **labels: str) -> dict[str, Any]:
        """The case with these labels, made if new; a later stage replaces an earlier one's."""
        from tare.measure.cases import case_key, full_labels

        twin = {"twin": labels.pop("twin")} if "twin" in labels else {}
        full = (
            full_labels(
                {
                    "dataset": self.name,
                    "size": part.label,
                    "codec": codec,
                    "threads": str(self.settings.threads),
                    "kind": self.settings.kind or "own",
                    **labels,
                }
            )
            | twin
        )
        key = case_key(full)
        known = self._cases.get(key)
        if known is not None and known["stage"] == stage:
            return known
        case = self._adopt(key, stage) or {
            "key": key,
            "labels": full,
            "status": "pending",
            "reason": "",
            "note": "",
            "raw_bytes": part.bytes_memory,
            "stage": stage,
            "memory": {},
            "launches": [],
        }
        if known is not None:
            self.record["cases"].remove(known)
        self._cases[key] = case
        self.record["cases"].append(case)
        return case

    def drop(self, case: dict[str, Any]) -> None:
        """Take a case out of the record, unless a later stage's has taken its place."""
        if self._cases.get(case["key"]) is case:
            del self._cases[case["key"]]
            self.record["cases"].remove(case)

    def screened_on(self, medium: str, case: dict[str, Any]) -> None:
        """Put what screening found, without its times, where no case of this medium stands."""
        from tare.measure.cases import case_key

        labels = {**case["labels"], "medium": medium}
        whole = {name: level for name, level in labels.items() if name != "size"}
        if any(whole == {n: v for n, v in c["labels"].items() if n != "size"} for c in self.record["cases"]):
            return
        made = {
            name: value for name, value in case.items() if name not in ("predicted", "cold", "launches")
        } | {"key": case_key(labels), "labels": labels, "launches": []}
        self._cases[made["key"]] = made
        self.record["cases"].append(made)
        self.save_case(made)

    def _adopt(self, key: str, stage: str) -> dict[str, Any] | None:
        """The finished case of an interrupted run, if there is one of this stage."""
        found = self.adopted.get(key)
        if found is None or found.get("stage") != stage:
            return None
        del self.adopted[key]
        self.record["resumed"]["used"] += 1
        if self.journal is not None:
            self.journal.case({name: value for name, value in found.items() if name != "launches"})
            for launch in found["launches"]:
                self.journal.launch(key, launch)
        return found

    def save_case(self, case: dict[str, Any]) -> None:
        """Put the case without its samples into the journal."""
        if self.journal is not None:
            self.journal.case({name: value for name, value in case.items() if name != "launches"})

    def save_launch(self, case: dict[str, Any], launch: dict[str, Any]) -> None:
        """Add a finished launch to the case and to the journal, where the case comes first."""
        self.save_case(case)
        case["launches"].append(launch)
        if self.journal is not None:
            self.journal.launch(case["key"], launch)

    # --- workers --------------------------------------------------------------

    def worker(
        self,
        part: Part,
        kind: str,
        *,
        hash_seed: int = 0,
        loading: bool = False,
        cpu: int | None = None,
        threads: int | str | None = None,
        language: str = "",
        inside: Sequence[str] = (),
    ) -> Worker:
        """Start a worker process for data of this size; it is pinned when threads is 1.

        Args:
            part: The data it will load.
            kind: The kind in memory its codec works on.
            hash_seed: Seed of its hashes.
            loading: Whether it loads on any CPU, to be moved by ``settle`` before it is timed.
            cpu: CPU to pin it to; None for the one that is measured on.
            threads: 1 or ``all``; None for what the run was asked for.
            language: Language of the worker, as ids name it; empty for Python's.
            inside: What comes before its command, to run it in a namespace.
        """
        from tare.measure.environment.limits import available_bytes
        from tare.measure.sampling.memory_limits import memory_limit_bytes
        from tare.measure.worker_client.client import PYTHON_COMMAND, Worker

        threads = self.settings.threads if threads is None else threads
        pins = threads == 1 and len(self.cpus) > 1
        own = (sys.executable, *PYTHON_COMMAND)
        command = command_of(language, self.settings.workers) if language else own
        worker = Worker(
            language or "python",
            [*inside, *command],
            lists=False,
            # Two load at a time: pinned in turn, they shared one CPU as often as not.
            cpu=(self.timed_cpu if cpu is None else cpu) if pins and not loading else None,
            hash_seed=hash_seed,
            threads=threads,
            memory_limit=memory_limit_bytes(part, kind, available_bytes()),
        )
        self._workers.add(worker)
        if pins:
            self._pinned.add(worker)
        return worker

    @property
    def timed_cpu(self) -> int | None:
        """The CPU that is measured on: the last one, where the parent is least likely to be."""
        return self.cpus[-1] if self.cpus else None

    def settle(self, worker: Worker) -> None:
        """Move a loaded worker, with all its threads, to the CPU that is measured on; one of many threads stays free."""
        if worker in self._pinned and self.timed_cpu is not None:
            _move(worker, {self.timed_cpu})

    def loosen(self, worker: Worker) -> None:
        """Let a worker run on any CPU again, as two work at a time in trials."""
        if worker in self._pinned and self.cpus:
            _move(worker, set(self.cpus))

    def remote_worker(self) -> Worker:
        """Start a worker on the other host; its protocol goes through ssh."""
        from tare.measure.worker_client.client import Worker

        worker = Worker("remote", command=self.reach.remote.command)
        self._workers.add(worker)
        return worker

    def release(self, worker: Worker) -> None:
        """End a worker and forget it."""
        self._workers.discard(worker)
        self._pinned.discard(worker)
        worker.close()


def _move(worker: Worker, cpus: set[int]) -> None:
    for thread in threads_of(worker.pid):
        with contextlib.suppress(OSError):  # a thread that has ended meanwhile
            os.sched_setaffinity(thread, cpus)
