"""Media with two ends: a writer process and a reader process at once.

What counts is the span, from the writer's start to the last value decoded: a
writer's own clock ends early, because the pipe still holds the rest.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tare.errors import WorkerError
from tare.measure.environment import system_load
from tare.measure.sampling.case_runner import TARGET_NS, Seat, level
from tare.measure.sampling.outcome import judge_verify
from tare.measure.sampling.rounds import launch_seats, run_rounds
from tare.measure.stages.budget import LAUNCHES, QUICK_LAUNCHES
from tare.measure.stages.weigh import twin_case
from tare.measure.worker_client.samples import believable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tare.codec import Codec
    from tare.measure.session import Part, Session
    from tare.measure.stages.weigh import Contender
    from tare.measure.worker_client.client import Worker

__all__ = ["StreamSeat", "weigh_streams"]

_ROUNDS = 9
_SLACK_NS = 20_000_000  # what the clock of the day may be moved by meanwhile


class StreamSeat(Seat):
    """One case on a medium with two ends: two workers and a connection a sample."""

    def __init__(self, session: Session, case: dict[str, Any], codec: Any, part: Part) -> None:
        super().__init__(session, case, codec, part)
        self.operations = ("span",)
        self._reader: Worker | None = None

    def start(self) -> None:
        """Start both workers without waiting for them."""
        self.inside = self.session.reach.inside(self.medium, "writer")
        super().start()
        if self.medium == "remote":
            self._reader = self.session.remote_worker()
        else:
            self._reader = self.session.worker(
                self.part,
                self.kind,
                hash_seed=self._hash_seed ^ 1,
                cpu=self.session.cpus[0] if self.session.cpus else None,
                threads=self.threads,
                language=self.language,
                inside=self.session.reach.inside(self.medium, "reader"),
            )

    def ready(self, *, verify: bool = False) -> None:
        """Load both ends; verify what one transfer brings to the reader."""
        first = "verify" not in self.case
        super().ready(verify=False)
        if not self.alive or self._reader is None:
            return
        try:
            load = self.session.given(self.part, self.language)
            if self.medium == "remote":
                load["path"] = self.session.reach.remote.ship(self.part.path)
            self._read("load", **load)
            self._read(
                "prepare",
                codec=str(self.codec),
                threads=self.threads,
                delivery=level(self.case, "delivery"),
                kind=level(self.case, "kind"),
                order=level(self.case, "order"),
            )
            self._warm()
            self._hold_clock()
            if verify or first:
                self._transfer()
                found = self._read("verify", codec=str(self.codec), full=True, limit=20)
                judge_verify(self.case, self._held(found), self.part)
        except WorkerError as error:
            self.lose(error)

    def _warm(self) -> None:
        """Have both ends encode and decode in memory: a compiler that works in steps begins in each process anew.

        Tare's own ends in Python have none. What has no form in memory, as R's CSV, is not warmed.
        """
        if not self.language:
            return
        for worker, what in ((self.worker, "encode"), (self._reader, "decode")):
            if worker is not None:
                asked = worker.send(
                    "run", what=what, codec=str(self.codec), samples=1, batch=1, warm_ms=self.warm_ms()
                )
                try:
                    worker.wait(asked, deadline_s=2 * self.session.settings.deadline_s)
                except WorkerError as error:
                    if error.type != "Unsupported":
                        raise

    def sample(self, operation: str, round_: int, position: int, *, in_a_row: int = 1) -> None:
        """Send the value once and keep span, both sides' CPU and the stamps."""
        try:
            sent, received = self._transfer()
            span = span_of(sent, received, acknowledged=self.medium == "remote")
        except WorkerError as error:
            self.lose(error)
            return
        self.keep("send", round_, position, sent)
        self.keep("receive", round_, position, received)
        self.keep("span", round_, position, span)

    def lose(self, error: WorkerError) -> None:
        """The case failed: give up both workers."""
        super().lose(error)
        self._drop_reader()

    def close(self) -> None:
        """End both workers."""
        super().close()
        self._drop_reader()

    def _drop_reader(self) -> None:
        if self._reader is not None:
            self.session.release(self._reader)
            self._reader = None

    def _transfer(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Open a connection, start the reader, then the writer; both replies."""
        if self._reader is None or self.worker is None:
            raise WorkerError("a worker has gone", type="killed")
        limit = self.session.settings.deadline_s * 2
        token = os.urandom(16).hex()
        reach = self.session.reach
        reader, writer = (
            {**reach.medium(self.medium, role), "role": role, "token": token} for role in ("reader", "writer")
        )
        opened = self._read("open", medium=reader)
        address = reach.through_link(self.medium, opened["address"])
        writing = self.worker.request(
            "open",
            deadline_s=limit,
            codec=str(self.codec),
            medium={**writer, "address": address},
        )
        common = {
            "codec": str(self.codec),
            "samples": 1,
            "batch": 1,
            "target_ns": TARGET_NS,
            "delivery": level(self.case, "delivery"),
            "gc": level(self.case, "gc"),
            "timeout_s": self.session.settings.deadline_s,
            "ack": self.medium == "remote",
        }
        began = _now(self.worker)
        asked = self._reader.send("run", what="receive", handle=opened["handle"], **common)
        sent = self.worker.request("run", deadline_s=limit, what="send", handle=writing["handle"], **common)
        received = self._reader.wait(asked, deadline_s=limit)
        ended = _now(self.worker)
        for reply in (sent, received):
            believable(reply, self.language or "python", ended - began)
        hold_stamps(
            sent, received, began, ended, worker=self.language or "python", apart=self.medium == "remote"
        )
        self.worker.request("close", deadline_s=limit, handle=writing["handle"])
        self._read("close", handle=opened["handle"])
        return sent, received

    def _read(self, op: str, **fields: Any) -> dict[str, Any]:
        if self._reader is None:
            raise WorkerError("the reading worker has gone", type="killed")
        return self._reader.request(op, deadline_s=self.session.settings.deadline_s, **fields)


def _now(worker: Worker) -> int:
    """This moment by the clock that the worker's stamps are of, in nanoseconds."""
    return time.time_ns() if worker.hello.get("stamps") == "realtime" else time.monotonic_ns()


def hold_stamps(
    sent: dict[str, Any],
    received: dict[str, Any],
    began: int,
    ended: int,
    *,
    worker: str,
    apart: bool = False,
) -> None:
    """Refuse a transfer whose stamps are not of the time in which the parent waited for it.

    Args:
        sent: The writer's reply.
        received: The reader's.
        began: When the reader was asked, by the parent's reading of the same clock.
        ended: When both had replied.
        worker: Who gave them.
        apart: Whether the reader is on another host, whose clock is another.

    Raises:
        WorkerError: A stamp lies outside, or the last value came before the first byte was sent.
    """
    writer = dict(zip(sent["cols"], sent["samples"][-1], strict=True))
    reader = dict(zip(received["cols"], received["samples"][-1], strict=True))
    moments = [(name, writer.get(name)) for name in ("start_ns", "closed_ns")]
    moments += [] if apart else [(name, reader.get(name)) for name in ("first_value_ns", "last_value_ns")]
    said = ""
    for name, moment in moments:
        if moment is not None and not began - _SLACK_NS <= moment <= ended + _SLACK_NS:
            said = f"{name} lies {max(began - moment, moment - ended) / 1e6:.0f} ms outside of the transfer"
    start, last = writer.get("start_ns"), reader.get("last_value_ns")
    if not apart and start is not None and last is not None and last <= start:
        said = f"the last value came {(start - last) / 1e6:.3g} ms before the writer began"
    if said:
        raise WorkerError(
            f"the worker's clock is wrong: {said}", worker=worker, type="clock", phase="protocol"
        )


def span_of(sent: dict[str, Any], received: dict[str, Any], *, acknowledged: bool = False) -> dict[str, Any]:
    """One reply for the whole transfer: wall = span, CPU = both sides'.

    Args:
        sent: The writer's reply.
        received: The reader's.
        acknowledged: Whether the span is the writer's own, up to the reader's answer; clocks of
            two hosts are never subtracted.

    Raises:
        WorkerError: An end left out a stamp of the transfer.
    """
    writer = dict(zip(sent["cols"], sent["samples"][0], strict=True))
    reader = dict(zip(received["cols"], received["samples"][0], strict=True))
    needed = {"start_ns": writer, "first_value_ns": reader, "last_value_ns": reader}
    needed |= {"closed_ns": writer} if acknowledged else {}
    for name, end in needed.items():
        if end.get(name) is None:
            raise WorkerError(f"the worker gave no {name}", type="protocol", phase="protocol")
    span = (writer["closed_ns"] if acknowledged else reader["last_value_ns"]) - writer["start_ns"]
    decoding = reader["last_value_ns"] - reader["first_value_ns"]
    first = span - decoding if acknowledged else reader["first_value_ns"] - writer["start_ns"]
    columns = {
        "wall_ns": span,
        **_of_both(writer, reader),
        "first_value_after_ns": first,
    }
    return {
        "cols": list(columns),
        "samples": [list(columns.values())],
        "batch": 1,
        "items": received.get("items"),
    }


def _of_both(*ends: Mapping[str, int | None]) -> dict[str, int]:
    """CPU time and switches of both ends together, where both tell them; all CPU time may be in ``user_ns``."""
    found = {}
    for name, needed in (("user_ns", "user_ns"), ("sys_ns", "user_ns"), ("nivcsw", "nivcsw")):
        told = [cell for end in ends if (cell := end.get(name)) is not None]
        if told and all(end.get(needed) is not None for end in ends):
            found[name] = sum(told)
    return found


def weigh_streams(
    session: Session,
    contenders: Sequence[Contender],
    base: Codec,
    part: Part,
    *,
    until_s: float,
    launches: int | None = None,
    rounds: int = _ROUNDS,
) -> int:
    """Weigh contenders over a medium with two ends.

    Args:
        session: The run.
        contenders: Cases to weigh; the base should be among them.
        base: Base codec; it has a second pair of workers, the A/A twin.
        part: The data.
        until_s: Elapsed seconds of the run at which this stage must end.
        launches: Launches to make; None for five (three if quick), and more where a contender wants more.
        rounds: Rounds to take in each, if there is time.

    Returns:
        Launches made.
    """
    usual = launches or (QUICK_LAUNCHES if session.settings.quick else LAUNCHES)
    wanted = max((contender.launches or usual for contender in contenders), default=usual)
    began_s = session.elapsed_s
    made, least_s = 0, 0.0
    for number in range(1, wanted + 1):
        if made and session.elapsed_s + least_s > until_s:
            break
        due = [
            replace(one, rounds=one.rounds or rounds)
            for one in contenders
            if number <= (one.launches or usual)
        ]
        end_s = began_s + number * (until_s - began_s) / wanted
        least_s = _launch(session, due, base, part, number, end_s)
        session.tell("weigh", number, wanted, f"launch {number} done")
        made = number
    return made


def _launch(  # noqa: PLR0917 - what a launch is of, and when it ends
    session: Session,
    contenders: Sequence[Contender],
    base: Codec,
    part: Part,
    number: int,
    until_s: float,
) -> float:
    """One launch: fresh pairs of workers, rounds, results into the cases; its seconds, had it taken one round."""
    began_s = session.elapsed_s
    living = [c for c in contenders if c.case["status"] in ("pending", "ok", "lossy")]
    seats = [StreamSeat(session, c.case, c.codec, part) for c in living]
    for seat, contender in zip(seats, living, strict=True):
        seat.rounds_left = contender.rounds
    # The base once more, in a pair of its own: what differs between the two is noise.
    of_base = next((seat for seat in seats if seat.codec == base), None)
    if of_base is not None:
        twin = StreamSeat(session, twin_case(session, of_base.case, base, part), base, part)
        twin.rounds_left = of_base.rounds_left
        seats.append(twin)
    launch_seats(seats, verify=False)
    before = system_load.snapshot()
    wanted = max((seat.rounds_left for seat in seats), default=0)
    taken = run_rounds(session, seats, rounds=wanted, until_s=until_s)
    after = system_load.snapshot()
    for seat in seats:
        if seat.stands and seat.samples:
            session.save_launch(seat.case, seat.launch(number, before.stalled_share(after), after.load))
        session.save_case(seat.case)
        seat.close()
    return session.elapsed_s - began_s - taken.seconds + taken.seconds / max(1, taken.rounds)
