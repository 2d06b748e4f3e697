"""The loop: units in, receipts out; retries, deaths, time limits, and an end that can be gone on from.

At most a few units a worker are in flight, so that a plan of millions needs no memory. What is done is a fact
on storage: a unit with a receipt, and its outputs in place, is not begun.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass
from typing import Any

from tare._version import __version__
from tare.datasets.source import free_memory
from tare.scale.executors.base import DYING, Engine
from tare.scale.failures import RETRIED, STOPS, error_of
from tare.scale.owners import Guard
from tare.scale.place import LocalPlace, shown
from tare.scale.plan import Plan
from tare.scale.preflight import EngineError
from tare.scale.report import Report
from tare.scale.room import Room
from tare.scale.state import State
from tare.scale.unit import input_bytes, unit_key

__all__ = ["Loop", "Rules", "in_shard"]

_POLL_S = 0.2
_LOOK_S = 2.0
_NEWCOMERS_S = 5.0
_DEATHS = 3
_ALONE_FROM = 2
_WORKER_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Rules:
    """What to do when a unit fails.

    Args:
        retries: How often a failure that may pass is tried again.
        unit_timeout: Seconds that a unit may take; None is for ever.
        on_failure: ``continue`` or ``stop``.
        worker_timeout: Seconds to wait for a first, or another, worker.
        shard: ``(i, n)``: every nth unit, from the ith on.
        verify: ``size``, ``hash`` or ``decode``.
        fsync: ``none``, ``unit`` or ``all``.
        allow_pickle: Whether sources may be read that can run code. A plan cannot say it.
        on_loss: What becomes of values that would change: ``fail``, ``warn`` or ``allow``.
        overwrite: Whether results may take the place of files that are not from here.
    """

    retries: int = 2
    unit_timeout: float | None = None
    on_failure: str = "continue"
    worker_timeout: float = _WORKER_TIMEOUT_S
    shard: tuple[int, int] | None = None
    verify: str = "hash"
    fsync: str = "unit"
    allow_pickle: bool = False
    on_loss: str = "fail"
    overwrite: bool = False


@dataclass
class _Task:
    """A unit on its way."""

    unit: dict[str, Any]
    key: str
    made: bool = False
    attempt: int = 1
    again: bool = False  # whether it may have been begun before, whatever its attempt is
    deaths: int = 0
    timeouts: int = 0
    not_before: float = 0.0
    began: float = 0.0
    at_work: float | None = None  # since when it has a worker, as far as can be told


def in_shard(number: int, shard: tuple[int, int] | None) -> bool:
    """Whether unit `number` (0 is the largest) belongs to shard ``(i, n)``.

    >>> [in_shard(number, (2, 3)) for number in range(6)]
    [False, True, False, False, True, False]
    """
    return shard is None or number % shard[1] + 1 == shard[0]


class Loop:
    """One run of a plan.

    Args:
        plan: The plan.
        engine: Who runs the units.
        rules: What to do when one fails.
        tell: Takes events.
        look: Looks at workers that joined meanwhile, now and then; raises what a run ends with.
        guard: Knows what may not be replaced.
        more: What units of this task are told beside.
    """

    def __init__(
        self,
        plan: Plan,
        engine: Engine,
        rules: Rules,
        tell: Callable[[dict[str, Any]], None],
        look: Callable[[], None] | None = None,
        *,
        guard: Guard,
        more: Mapping[str, Any],
    ) -> None:
        self.plan = plan
        self.engine = engine
        self.rules = rules
        self.report = Report(passed_over=list(plan.passed_over))
        self.state = State.of(plan)
        self._guard = guard
        self._tell = tell
        self._look = look
        self._newcomers_at = time.monotonic() + _NEWCOMERS_S
        self._settings = {
            **self.state.settings(),
            **more,
            "engine": engine.name,
            **{
                name: getattr(rules, name)
                for name in ("verify", "fsync", "allow_pickle", "on_loss", "overwrite")
            },
        }
        self._flying: dict[Future[dict[str, Any]], _Task] = {}
        self._again: deque[_Task] = deque()
        self._room = Room(free_memory() if engine.is_pool else None)
        self._fresh: Iterator[_Task] = iter(())
        self._stopping = ""
        self._begun = False
        self._refusals = 0
        self._idle_since: float | None = None
        self._look_at = time.monotonic() + _LOOK_S
        self._read = 0
        self._read_before = 0
        self._own = self._own_count()
        self._who_died: list[str] = []
        self._dead: set[str] = set()

    def receipts(self) -> Iterator[dict[str, Any]]:
        """Carry out the plan; each receipt as it comes. `report` is complete at the end.

        Raises:
            EngineError: There is no worker any more.
            KeyboardInterrupt: A second one: units in flight were given up.
        """
        began = time.monotonic()
        self._fresh = self._unfinished()
        try:
            while True:
                try:
                    yield from self._step()
                    if not self._flying and (self._stopping or not self._next_there()):
                        break
                except KeyboardInterrupt:
                    if self._stopping == "interrupted":
                        raise
                    self._stopping = "interrupted"
                    self.engine.withdraw()  # what waits for a worker need not run
                    self._tell(
                        {"event": "interrupted", "in_flight": min(len(self._flying), self.engine.workers)}
                    )
        finally:
            for future in self._flying:
                future.cancel()
            self.report.seconds = time.monotonic() - began
            self.report.stopped = self._stopping
            counted = self.report.done + self.report.skipped + self.report.duplicate + self.report.failed
            self.report.missing = max(0, self._own - counted)

    # Units

    def _unfinished(self) -> Iterator[_Task]:
        done = self.state.done()
        far = not isinstance(self.state.place, LocalPlace)
        listed = self._guard.listed if done and far else None
        own = (unit for n, unit in enumerate(self.plan.units()) if in_shard(n, self.rules.shard))
        keyed = ((unit, unit_key(unit)) for unit in own)
        for (unit, key), receipt in self.state.with_receipts(
            keyed, lambda one: one[1] if one[1] in done else ""
        ):
            if receipt is not None and self.state.is_done(
                receipt, listed, unit=unit, verify=self.rules.verify
            ):
                self.report.add_before(receipt, len(unit.get("output", {}).get("names", [])))
                self._read += input_bytes(unit)
                self._read_before += input_bytes(unit)
                continue
            yield _Task(unit, key, made=receipt is not None)

    def _own_count(self) -> int:
        first, step = self.rules.shard or (1, 1)
        return len(range(first - 1, self.plan.count, step))

    def _next_there(self) -> bool:
        """Whether a unit waits; one that comes from the plan is put in front."""
        if self._again:
            return True
        task = next(self._fresh, None)
        if task is not None:
            self._again.appendleft(task)
        return task is not None

    # One step

    def _step(self) -> Iterator[dict[str, Any]]:
        self._fill()
        if not self._flying:
            if self._again and not self._stopping:
                self._wait_for_work()
            return
        done, _ = wait(self._flying, timeout=_POLL_S, return_when=FIRST_COMPLETED)
        self._check_workers(bool(done))
        died: list[_Task] = []
        for future in done:
            task = self._flying.pop(future)
            receipt = self._result(future, task, died)
            if receipt is not None and self._is_final(task, receipt):
                yield self._counted(task, receipt)
        if died:
            yield from self._after_death(died)
        yield from self._overdue()

    def _fill(self) -> None:
        """Begin units while there is room: none beside one that may kill its worker."""
        now = time.monotonic()
        while not self._stopping and len(self._flying) < self.engine.most and self._next_there():
            task = self._again[0]
            if task.deaths >= _ALONE_FROM and self._flying:
                # Others are waited for; those that are no suspects may go before it.
                others = next((k for k, one in enumerate(self._again) if one.deaths < _ALONE_FROM), None)
                if others is None or any(one.deaths >= _ALONE_FROM for one in self._flying.values()):
                    return
                task = self._again[others]
                del self._again[others]
                self._again.appendleft(task)
            if any(one.deaths >= _ALONE_FROM for one in self._flying.values()):
                return
            if task.not_before > now:
                ready = next((k for k, one in enumerate(self._again) if one.not_before <= now), None)
                if ready is None:
                    return
                self._again.rotate(-ready)
                task = self._again[0]
            if self._flying and not self._room.has_for(
                task.unit, (one.unit for one in self._flying.values())
            ):
                return
            self._again.popleft()
            if not self._begin(task):
                return

    def _begin(self, task: _Task) -> bool:
        """Hand a unit to the engine; whether that takes it."""
        if not self._begun:
            self._begun = True
            self.state.drop_manifest()  # what it says may be true no more
        task.began, task.at_work = time.monotonic(), None
        self._tell({"event": "started", "key": task.key, "attempt": task.attempt})
        again = task.again or task.attempt > 1
        there = self._guard.there(task.unit, made=task.made, again=again)
        settings = {
            **self._settings, "attempt": task.attempt, "again": int(again or self.engine.repeats), "key": task.key, "there": there,
        }  # fmt: skip
        try:
            future = self.engine.submit(task.unit, settings)
        except Exception as error:
            if not self.engine.is_death(error):
                raise
            self._refused(task)
            return False
        self._refusals = 0
        self._flying[future] = task
        return True

    def _refused(self, task: _Task) -> None:
        """A pool that broke before it was given a unit, which waits for another: those in flight tell of the death.

        Raises:
            EngineError: New processes have died as soon as they were there, several times.
        """
        self._again.appendleft(task)
        if self._flying:
            return
        self._refusals += 1
        if self._refusals >= _DEATHS:
            raise EngineError(f"{self.engine.name}: {DYING}")
        self.report.deaths += 1
        self._tell({"event": "worker_died", "suspects": 0})
        self.engine.restart()

    def _wait_for_work(self) -> None:
        soonest = min(task.not_before for task in self._again)
        time.sleep(min(_POLL_S, max(0.0, soonest - time.monotonic())))
        self._check_workers(False)

    def _check_workers(self, came: bool) -> None:
        """Whoever waits for workers that never come must be told."""
        now = time.monotonic()
        if self._look is not None and now >= self._newcomers_at and not self._stopping:
            self._newcomers_at = now + _NEWCOMERS_S
            self._look()
        if came:
            self._idle_since = None
            self._look_at = now + _LOOK_S
        if came or now < self._look_at:
            return
        self._look_at = now + _LOOK_S
        if self.engine.alive():
            self._idle_since = None
            return
        self._idle_since = self._idle_since or now
        if now - self._idle_since >= self.rules.worker_timeout:
            raise EngineError(
                f"{self.engine.name}: no worker for {self.rules.worker_timeout:g} s; what is done is kept"
            )

    # Results

    def _result(
        self, future: Future[dict[str, Any]], task: _Task, died: list[_Task]
    ) -> dict[str, Any] | None:
        try:
            return future.result()
        except CancelledError:
            if not self._stopping:
                task.again = True
                self._again.append(task)
            return None
        except BaseException as error:
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                self._again.appendleft(task)
                raise
            if self.engine.is_death(error):
                died.append(task)
                self._who_died.append(self.engine.who_died(error))
                return None
            if isinstance(error, EngineError):
                raise
            return self._failure(task, error_of(error, "bug", repr(error)))

    def _failure(self, task: _Task, error: dict[str, Any]) -> dict[str, Any]:
        """A receipt for a unit that could not write one itself."""
        receipt = {
            "key": task.key, "status": "failed", "output": [], "bytes_in": 0, "bytes_out": 0, "rows": 0,
            "fidelity": [], "seconds": round(time.monotonic() - task.began, 3), "cpu_seconds": 0.0,
            "peak_memory": 0, "host": "", "pid": 0, "attempt": task.attempt, "tare": __version__,
            "libraries": {}, "input": [str(one["uri"]) for one in task.unit.get("input", [])], "error": error,
            "committed": (self.state.failure(task.key) or {}).get("committed", []),
        }  # fmt: skip
        self.state.write_failure({**receipt, "unit": task.unit})
        return receipt

    def _is_final(self, task: _Task, receipt: dict[str, Any]) -> bool:
        """Whether a receipt stands, or its unit is tried again."""
        if receipt["status"] != "failed":
            return True
        failure = receipt["error"]["class"]
        if failure in STOPS:
            self._stopping = self._stopping or "resources"
            return True
        if failure in RETRIED and task.attempt <= self.rules.retries and not self._stopping:
            wait_s = 2 ** (task.attempt - 1) * (0.8 + 0.4 * random.random())  # noqa: S311 - spreads retries
            self._tell(
                {"event": "retry", "key": task.key, "in_seconds": round(wait_s, 1), "error": receipt["error"]}
            )
            task.attempt += 1
            task.not_before = time.monotonic() + wait_s
            self._again.append(task)
            return False
        if self.rules.on_failure == "stop":
            self._stopping = self._stopping or "failure"
        return True

    def _counted(self, task: _Task, receipt: dict[str, Any]) -> dict[str, Any]:
        if receipt["status"] == "skipped":
            # Done since this run began: by the attempt whose worker died behind its receipt, or by another run.
            ours = task.again or task.attempt > 1
            receipt = {**receipt, "status": "done" if ours else "duplicate"}
        self._guard.made(receipt)
        self.report.add(receipt, len(task.unit.get("output", {}).get("names", [])))
        self._room.learn(task.unit, receipt)
        self._read += input_bytes(task.unit)
        failed = receipt["status"] == "failed"
        count = self.report.done + self.report.skipped + self.report.duplicate + self.report.failed
        self._tell({
            "event": "unit_failed" if failed else "unit_done", "key": task.key, "status": receipt["status"],
            "input": receipt["input"], "output": receipt["output"], "done": count, "total": self._own,
            "bytes": self._read, "bytes_before": self._read_before, "bytes_total": self.plan.bytes_in * self._own // max(1, self.plan.count), **({"error": receipt["error"]} if failed else {}),
        })  # fmt: skip
        return receipt

    # Deaths and delays

    def _after_death(self, died: list[_Task]) -> Iterator[dict[str, Any]]:
        """A worker died: who was in flight with it is a suspect; what has a receipt is done."""
        who, self._who_died = set(self._who_died) - self._dead, []
        self.report.deaths += len(who)
        self._dead |= who - {""}
        # A pool that broke gives up all of its futures: none of the others comes any more.
        if self.engine.is_pool:
            done, _ = wait(self._flying, timeout=5.0)
            for future in list(self._flying):
                task = self._flying.pop(future)
                receipt = self._result(future, task, died) if future in done else None
                if receipt is not None and self._is_final(task, receipt):
                    yield self._counted(task, receipt)
                elif future not in done:
                    died.append(task)
        self._tell({"event": "worker_died", "suspects": len(died)})
        self.engine.restart()
        alone = len(died) == 1
        for task in died:
            receipt = self.state.receipt(task.key)
            # Not that of results that went since, or that were checked less than is asked now.
            if receipt is not None and self.state.is_done(receipt, verify=self.rules.verify, unit=task.unit):
                yield self._counted(task, receipt)
                continue
            # With several suspects one only is at fault: no one of them is given up for it.
            task.deaths += 1 if alone or task.deaths < _ALONE_FROM else 0
            task.attempt += 1
            if task.deaths >= _DEATHS:
                said = f"its worker died {task.deaths} times: out of memory, or a fault of a library"
                error = {"class": "killed", "kind": "WorkerDied", "format": "", "offset": None,
                         "message": f"{_what(task)}: {said}", "traceback": ""}  # fmt: skip
                yield self._counted(task, self._failure(task, error))
            else:
                self._again.append(task)

    def _overdue(self) -> Iterator[dict[str, Any]]:
        """Units that took too long: their workers are ended, the others' work is done again."""
        limit = self.rules.unit_timeout
        if limit is None:
            return
        late = self._late(limit)
        if not late:
            return
        innocent = [task for task in self._flying.values() if task not in late]
        for future in self._flying:
            future.cancel()
        self._flying.clear()
        self.engine.give_up()
        for task in innocent:
            task.again = True
        self._again.extend(innocent)
        for task in late:
            task.timeouts += 1
            task.attempt += 1
            if task.timeouts > 1:
                error = {"class": "timeout", "kind": "Timeout", "format": "", "offset": None,
                         "message": f"{_what(task)}: took longer than {limit:g} s, twice", "traceback": ""}  # fmt: skip
                yield self._counted(task, self._failure(task, error))
            else:
                self._again.append(task)

    def _late(self, limit: float) -> list[_Task]:
        """Units whose worker is at them for longer than that: the time that they wait in the queue is nobody's."""
        now = time.monotonic()
        first = list(self._flying.values())[
            : self.engine.workers
        ]  # an engine takes them in the order of submission
        for task in first:
            task.at_work = task.at_work or now
        return [task for task in first if now - (task.at_work or now) > limit]


def _what(task: _Task) -> str:
    given = task.unit.get("input") or []
    return shown(str(given[0]["uri"])) if given else task.key[:12]
