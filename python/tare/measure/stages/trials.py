"""Trials: each candidate's first write, read and comparison, two at a time.

Codecs of one library share a worker, because starting forty processes would cost more
than the first answer may take. A codec that ends the worker costs only itself.
"""

from __future__ import annotations

import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import TYPE_CHECKING, Any

from tare.errors import WorkerError
from tare.measure.cases import NOT_REACHED
from tare.measure.sampling.outcome import fail, lacks_descriptors
from tare.measure.stages import GRACE, GRACE_S, LEAST, SHARES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tare.measure.sampling.case_runner import Seat
    from tare.measure.session import Part, Session
    from tare.measure.worker_client.client import Worker

__all__ = ["TRIAL", "Trials"]

_AT_ONCE = 2
_LEAST_S = 3.0
# Loading is what a run cannot do without; beyond its time nothing would be measured.
_LEAST_LOAD_S = 10.0
# How often it is looked whether the time is over, in seconds.
_LOOK_S = 0.1
# Longer than this, in seconds, no trial waits for another's timed call: that may hang.
_PATIENCE_S = 1.0
# Files that a codec may leave open in its trial and still share a worker: libraries open some once.
_LEAK = 16
TRIAL = 0
"""Number of the round that trials take."""


class Trials:
    """Seats waiting for their trial, and the workers that they share.

    Args:
        session: The run.
        seats: One seat a codec, in the order in which they are tried.
        part: The sample.
        known: Seats whose workers hold the sample already: codecs of the same library use them.
        fewest: Codecs that are tried though their time is used, and for a while beyond the limit of the run.
        grain: The grain that the answer is of, ``each`` or ``whole``: no other is tried for longer. Empty for any.
    """

    def __init__(
        self,
        session: Session,
        seats: Sequence[Seat],
        part: Part,
        known: Sequence[Seat] = (),
        *,
        fewest: int = 0,
        grain: str = "",
    ) -> None:
        self._fewest, self._grain = fewest, grain
        self._began_s = session.elapsed_s
        self._session = session
        self._part = part
        self._seats = list(seats)
        self._waiting = list(seats)
        self._known = list(known)
        self._workers: dict[tuple[Any, ...], Worker] = {
            _group(seat): seat.worker for seat in known if seat.worker is not None and seat.worker.alive
        }
        self._busy: set[tuple[Any, ...]] = set()
        self._late: dict[str, str] = {}
        self._change = threading.Condition()
        self._timing = threading.Lock()
        self._ended = False
        self._over = False

    @property
    def waiting(self) -> bool:
        """Whether some have not been tried."""
        return bool(self._waiting)

    def run(self, until_s: float, *, last: bool, on_done: Callable[[int, Seat], None]) -> None:
        """Try those that wait, until the time is up.

        Args:
            until_s: Elapsed seconds of the run at which no further trial begins; the base is tried all the
                same, and at the last call what the user named.
            last: Whether no later call will come: then a codec that takes too long has failed, and
                those not reached say so.
            on_done: Called in this thread after each trial, with the number tried so far.
        """
        limit_s = min(
            self._session.settings.deadline_s, max(_LEAST_S, (until_s - self._session.elapsed_s) / 2)
        )
        done: queue.SimpleQueue[Seat | None] = queue.SimpleQueue()
        late: list[Seat] = []

        def work() -> None:
            try:
                while (seat := self._next(until_s, last)) is not None:
                    group = _group(seat)  # which a codec that leaves files open loses
                    try:
                        lives = self._try(seat, self._patience_s(seat, until_s, limit_s))
                    finally:
                        self._leave(group)
                    if self._over and not lives:
                        seat.case.update(status="pending", reason=NOT_REACHED, note="")
                    if not lives and not last and seat.case["status"] == "timeout":
                        late.append(seat)
                    done.put(seat)
            except BaseException:
                self._ended = True
                raise
            finally:
                done.put(None)

        self._ended = False
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            jobs = [pool.submit(work) for _ in range(_AT_ONCE)]
            working = _AT_ONCE
            try:
                while working:
                    try:
                        seat = done.get(timeout=_LOOK_S)
                    except queue.Empty:
                        self._end_late()
                        continue
                    working -= seat is None
                    if seat is not None:
                        on_done(len(self._seats) - len(self._waiting), seat)
            finally:
                self._ended = True
            for job in jobs:
                job.result()
        for seat in late:
            self._late[str(seat.codec)] = seat.case["reason"]
            seat.case.update(status="pending", reason="", note="")
            seat.alive, seat.worker = True, None
        self._waiting += late
        if not self._over and self._session.elapsed_s + self._session.start_s < self._session.end_s:
            self._revive()
        if last:
            for seat in self._waiting:
                seat.case["reason"] = NOT_REACHED
                if said := self._late.get(str(seat.codec)):  # it was reached, and did not answer
                    seat.case.update(status="timeout", reason=said)
                seat.alive = False

    def _end_late(self) -> None:
        """Ends what runs when the time of the run is over: its figures would come too late."""
        session = self._session
        if not session.settings.limit_s or session.elapsed_s < self._last_s():
            return
        self._over = self._ended = True
        session.kill_workers()

    def _last_s(self) -> float:
        """Elapsed seconds of the run at which a trial is ended."""
        last_s = max(self._session.end_s, self._began_s)
        return max([last_s, *(self._grace_end_s(seat) for seat in self._seats if self._lacks_answer(seat))])

    def _grace_end_s(self, seat: Seat) -> float:
        """Elapsed seconds of the run up to which a codec is tried that an answer needs: longer where there would be none at all.

        Opening alone may take longer than the limit: then an answer is worth as much again.
        """
        session = self._session
        over_s = max(session.limit_s(1.0), self._began_s)
        # Where opening alone took longer than the limit, all that follows does as well.
        grace_s = max(session.limit_s(GRACE), GRACE * self._began_s)
        if self._timed_like(seat) >= LEAST:
            grace_s = min(session.limit_s(GRACE), GRACE_S)
        return over_s + grace_s

    def _next(self, until_s: float, last: bool) -> Seat | None:
        """The first seat whose worker is free; None if nothing is to be done."""
        with self._change:
            while True:
                due = [seat for seat in self._waiting if self._due(seat, until_s, last)]
                if self._ended or not due:
                    return None
                # Text is timed last, even if its process is free earlier than those of likelier codecs.
                due = [seat for seat in due if not self._is_text(seat)] or due
                for seat in due:
                    if (group := _group(seat)) not in self._busy:
                        self._busy.add(group)
                        self._waiting.remove(seat)
                        return seat
                self._change.wait()

    def _is_text(self, seat: Seat) -> bool:
        """Returns true if the codec writes a table as text that is not the user's format: slow, and seldom the best."""
        own = self._session.dataset.format
        text = seat.part.kind == "table" and not seat.language and seat.codec.format.text
        return text and (own is None or own.id != seat.codec.format_id or seat.codec.compressor is not None)

    def _leave(self, group: tuple[Any, ...]) -> None:
        with self._change:
            self._busy.discard(group)
            self._change.notify_all()

    def _due(self, seat: Seat, until_s: float, last: bool) -> bool:
        """Whether there is time; all ratios need the base, a user who names codecs wants those, and one codec is no answer."""
        session = self._session
        if self._lacks_answer(seat):
            return session.elapsed_s < self._grace_end_s(seat)
        wanted = seat.codec == session.base or (last and bool(session.settings.codecs))
        if wanted:
            return session.elapsed_s < session.limit_s(1.0)
        tried = [other.tried_s for other in self._seats if other.tried_s]
        usual_s = median(tried) if tried else 0.0
        if self._fewest and 2 * len(tried) < len(self._seats):
            until_s = max(until_s, session.limit_s(SHARES["slow pass"]))
        return session.elapsed_s < until_s and session.elapsed_s + usual_s < session.limit_s(1.0)

    def _patience_s(self, seat: Seat, until_s: float, limit_s: float) -> float:
        """Returns after how many seconds a trial has failed.

        Where the share of the pass is used before there is an answer, the machine is slow and not the codec: it may take
        all of the time in which one may begin. Else the imports of the usual libraries, three seconds each, would be failures.

        Args:
            seat: The seat to try.
            until_s: Elapsed seconds of the run at which the share of the pass is used.
            limit_s: Seconds that a trial may take otherwise.
        """
        late = self._session.elapsed_s >= until_s and self._lacks_answer(seat)
        return max(limit_s, self._grace_end_s(seat) - self._session.elapsed_s) if late else limit_s

    def _lacks_answer(self, seat: Seat) -> bool:
        """Whether so few codecs have been timed, one call each document or whole as this one is, that one more is a must."""
        if not self._fewest or self._grain not in ("", seat.case["labels"].get("grain", "whole")):
            return False
        return self._timed_like(seat) < self._fewest

    def _timed_like(self, seat: Seat) -> int:
        """How many codecs have been timed both ways as this one is: one call each document, or whole."""
        grain = seat.case["labels"].get("grain")
        several = [one for one in (*self._known, *self._seats) if one.case["labels"].get("grain") == grain]
        # What was written and is being read still has no figure, and may never get one.
        return sum(all(operation in one.samples for operation in one.operations[:2]) for one in several)

    def _try(self, seat: Seat, limit_s: float) -> bool:
        """Prepare and compare, then one warm call of each operation; whether the codec lives.

        A worker whose files grew is ended: the next codec gets a new one. A codec that finds no descriptor left in a
        worker that others used is tried once more, in a new one.
        """
        group = _group(seat)
        is_new = group not in self._workers
        if (worker := self._loaded_for(seat, group)) is None:
            return False
        before = worker.descriptors
        lives = self._try_in(seat, worker, limit_s)
        if not worker.alive:
            del self._workers[group]
            return lives
        lacked = lacks_descriptors(str(seat.case.get("reason", "")))
        grown = before is not None and (worker.descriptors or 0) - before >= _LEAK
        if not (lacked or grown):
            return lives
        del self._workers[group]
        worker.kill()  # those that are well get another one: `_revive`
        if lacked and not is_new:
            seat.case.update(status="pending", reason="", note="")
            seat.alive, seat.worker = True, None
            return self._try(seat, limit_s)
        seat.leaks = grown
        return lives

    def _loaded_for(self, seat: Seat, group: tuple[Any, ...]) -> Worker | None:
        """The worker of a group, started if there is none; None if it cannot be, which the seat's case says."""
        session = self._session
        try:
            worker = self._workers.get(group) or _loaded(session, self._part, seat.language)
        except WorkerError as error:
            session.check()
            fail(seat.case, error)
            seat.alive = False
            return None
        self._workers[group] = worker
        return worker

    def _try_in(self, seat: Seat, worker: Worker, limit_s: float) -> bool:
        """Prepare and compare, then one warm call of each operation; whether the codec lives."""
        session = self._session
        seat.limit_s = session.settings.deadline_s if seat.codec == session.base else limit_s
        seat.share(worker)
        began_s = session.elapsed_s
        # Two are tried at a time, for processes start and compare while another is timed.
        if seat.is_plain:
            seat.turn = _Turn(self._timing)
            seat.try_once(TRIAL)
        else:
            seat.ready(verify=True)
            for position, operation in enumerate(seat.operations):
                # What the answer needs is not left without a figure when it has been prepared beyond the limit.
                ends_s = self._grace_end_s(seat) if self._lacks_answer(seat) else session.limit_s(1.0)
                if seat.alive and session.elapsed_s + seat.expected_s(operation) < ends_s:
                    seat.sample(operation, TRIAL, position)
        seat.tried_s = session.elapsed_s - began_s
        return seat.alive

    def _revive(self) -> None:
        """Give codecs that are well, but whose shared worker another one ended, a new worker."""
        for seat in [*self._known, *self._seats]:
            if not seat.alive or seat.worker is None or seat.worker.alive:
                continue
            group = _group(seat)
            try:
                self._workers[group] = self._workers.get(group) or _loaded(
                    self._session, self._part, seat.language
                )
            except WorkerError:
                self._session.check()
                return
            seat.share(self._workers[group])
            seat.ready()
            if not self._workers[group].alive:
                del self._workers[group]


class _Turn:
    """The turn of one seat to be timed; it does not wait long for a codec that hangs.

    Args:
        timing: The lock that all seats of the trials share.
    """

    def __init__(self, timing: threading.Lock) -> None:
        self._timing, self._held = timing, False

    def __enter__(self) -> None:
        self._held = self._timing.acquire(timeout=_PATIENCE_S)

    def __exit__(self, *_: object) -> None:
        if self._held:
            self._timing.release()


def _group(seat: Seat) -> tuple[Any, ...]:
    """Codecs of one group share a worker: they are of one library and work on one kind. One that leaves files open has its own."""
    labels = seat.case["labels"]
    apart = labels["codec"] if seat.leaks else "twin" in labels or labels["codec"] == "copy"
    return seat.codec.library.modules or seat.codec.format.id, seat.kind, apart


def _loaded(session: Session, part: Part, language: str = "") -> Worker:
    began_s = session.elapsed_s
    given = session.given(part, language)
    worker = session.worker(part, language or "python", hash_seed=1, loading=True, language=language)
    left_s = session.limit_s(1.0) - session.elapsed_s
    worker.request("load", deadline_s=min(session.settings.deadline_s, max(_LEAST_LOAD_S, left_s)), **given)
    # Two load at a time, and the library's import, made later, takes about as long again.
    session.starts_s.append(session.elapsed_s - began_s)
    return worker
