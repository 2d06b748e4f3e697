"""Weighing: the contenders on the full data (or the largest part that fits), in launches of interleaved rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tare.errors import WorkerError
from tare.measure import pressure
from tare.measure.rounds import Loading, run_rounds
from tare.measure.seat import Seat
from tare.measure.stages.fit import LAUNCHES, QUICK_LAUNCHES, available_bytes, in_groups
from tare.measure.stages.memory import missing_peak, peak

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.codec import Codec
    from tare.measure.plan_reader import Statistics
    from tare.measure.session import Part, Session

__all__ = ["Contender", "weigh"]

_ROUNDS = 9
_ROUNDS_MOST = 45
_ROUNDS_UNLIMITED = 15


@dataclass(frozen=True)
class Contender:
    """One case to weigh in every launch.

    Args:
        codec: The codec.
        case: Its dict in the record.
        operations: What to sample; empty for the medium's own.
    """

    codec: Codec
    case: dict[str, Any]
    operations: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Turn:
    """One launch of one group: whom it weighs, which launch of how many it is, when it ends."""

    group: Sequence[Contender]
    base: Codec
    part: Part
    number: int
    wanted: int
    until_s: float
    slow: Statistics | None
    peaks: bool


class _Floor(Seat):
    """The floor row: copying the base's encoded bytes, in the base's own worker."""

    def __init__(self, session: Session, case: dict[str, Any], base: Seat) -> None:
        super().__init__(session, case, base.codec, base.part)
        self.operations = ("copy",)
        self._base = base
        self.shared = True

    def start(self) -> None:
        """Nothing: the base's worker is used."""

    def ready(self, *, verify: bool = False) -> None:
        """Take the base's worker, which is loaded by now."""
        self.worker = self._base.worker
        self.alive = self._base.alive
        self.case["status"] = "ok"
        self.case["bytes"] = self._base.case.get("bytes")


class _PeakSeat(Seat):
    """A seat whose worker makes, before any other call, the one whose peak of memory is wanted.

    The process is as fresh as one started for the purpose, and is timed afterwards.
    """

    peak: dict[str, Any] | None = None
    peak_of = ""

    def load(self) -> None:
        """Load the part, then measure the peak; a worker that it ends is replaced."""
        super().load()
        self.peak_of = missing_peak(self.case)
        if self.worker is None:
            return
        try:
            self.peak = peak(self.session, self.worker, self.case, self.codec, self.peak_of)
        except WorkerError as error:
            self.session.check()
            # What goes wrong here costs the memory figure, not the case.
            self.peak = {"error": str(error)[:200]}
            if not self.worker.alive:
                self.session.release(self.worker)
                self.worker = None
                self.start()
                super().load()


class _Launch:
    """One launch of one group: fresh workers, rounds, results into the cases.

    Workers start at once and load while the caller folds what came before.
    """

    def __init__(self, session: Session, turn: _Turn) -> None:
        self._session, self._turn = session, turn
        self._began_s = session.elapsed_s
        self.least_s = 0.0
        """What a launch like this one takes with a single round, in seconds."""
        self._seats = [seat for contender in turn.group if (seat := self._seat(contender)) is not None]
        self._base = next((seat for seat in self._seats if seat.codec == turn.base), None)
        if self._base is not None:
            self._seats.append(self._twin(self._base))
        self._loading = Loading(self._seats, warm_until_s=turn.until_s)

    def measure(self) -> None:
        """Wait until all are loaded, then sample; the workers are asked to end."""
        session, turn = self._session, self._turn
        self._loading.wait(
            lambda seat: session.tell("weigh", turn.number - 1, turn.wanted, f"loading {seat.codec}")
        )
        if self._base is not None and self._base.alive:
            floor = _Floor(session, session.case("copy", turn.part, "weigh"), self._base)
            floor.ready()
            floor.warm("copy")
            self._seats.append(floor)
        if turn.slow is not None:
            for seat in self._seats:
                if _is_slow(seat.case, turn.slow):
                    seat.rounds_left = turn.slow.slow_rounds
        self._before = pressure.snapshot()
        began_s = session.elapsed_s
        rounds = run_rounds(
            session,
            self._seats,
            rounds=_ROUNDS if session.settings.time_s else _ROUNDS_UNLIMITED,
            until_s=turn.until_s,
            at_least=1,
            most=_ROUNDS_MOST,
            on_round=lambda r: session.tell(
                "weigh", turn.number - 1, turn.wanted, f"launch {turn.number}, round {r}"
            ),
        )
        sampled_s = session.elapsed_s - began_s
        self._after = pressure.snapshot()
        for seat in self._seats:
            if isinstance(seat, _PeakSeat) and seat.peak is not None:
                seat.case["memory"][seat.peak_of] = seat.peak
            seat.quit()
        self.least_s = session.elapsed_s - self._began_s - sampled_s + sampled_s / max(1, rounds)

    def fold(self) -> None:
        """Put the results into the cases and the journal; see the workers end."""
        before, after = self._before, self._after
        for seat in self._seats:
            if seat.alive and seat.samples:
                launch = seat.launch(self._turn.number, before.stalled_share(after), after.load)
                self._session.save_launch(seat.case, launch)
            self._session.save_case(seat.case)
            seat.close()

    def abandon(self) -> None:
        """Nobody will measure it."""
        self._session.kill_workers()
        self._loading.abandon()

    def _seat(self, contender: Contender) -> Seat | None:
        """The contender's seat, unless it failed or has had its launches."""
        case, turn = contender.case, self._turn
        if case["status"] not in ("pending", "ok", "lossy") or _spared(case, turn.number, turn.slow):
            return None
        # The first launch times first calls, and nothing may come before those.
        kind = _PeakSeat if turn.peaks and "cold" in case and missing_peak(case) else Seat
        seat = kind(self._session, case, contender.codec, turn.part)
        seat.operations = contender.operations or seat.operations
        return seat

    def _twin(self, base: Seat) -> Seat:
        """The base once more, in a process of its own: what differs between the two is noise."""
        twin = _twin(self._session, base.case, base.codec, self._turn.part)
        # The twin is asked what the base is asked, or their totals would be of different things.
        twin["operations"] = list(base.operations)
        seat = Seat(self._session, twin, base.codec, self._turn.part)
        seat.operations = base.operations
        return seat


def weigh(
    session: Session,
    contenders: Sequence[Contender],
    base: Codec,
    part: Part,
    *,
    until_s: float,
    launches: int | None = None,
    slow: Statistics | None = None,
    peaks: bool = False,
) -> int:
    """Weigh the contenders; every launch is a new set of processes.

    Args:
        session: The run.
        contenders: Cases to weigh; the base should be among them.
        base: Base codec; it runs twice, the second time as the A/A twin.
        part: The data.
        until_s: Elapsed seconds of the run at which this stage must end.
        launches: Launches to make; None for five (three if quick).
        slow: How often slow cases are measured; None treats all alike.
        peaks: Whether launches after the first measure peaks of memory before they sample.

    Returns:
        Launches made.
    """
    wanted = launches or (QUICK_LAUNCHES if session.settings.quick else LAUNCHES)
    groups = in_groups(contenders, base, part, available_bytes() // 2)
    began_s = session.elapsed_s
    # Launches that are there already count: an interrupted run's, or the base's of another group.
    had = [max((launch["n"] for launch in c.case["launches"]), default=0) for c in contenders]
    first = 1 + max(had, default=0)
    wanted = max(first - 1, first - 1 + wanted - min(had, default=0))
    step_s = (until_s - began_s) / max(1, wanted - first + 1) / len(groups)
    turns = [
        _Turn(
            groups[n % len(groups)],
            base,
            part,
            number=first + n // len(groups),
            wanted=wanted,
            until_s=began_s + (n + 1) * step_s,
            slow=slow,
            peaks=peaks,
        )
        for n in range((wanted - first + 1) * len(groups))
    ]
    made = _take(session, turns, until_s)
    if not made:  # an interrupted run had made them all
        _take_over_controls(session, contenders, base, part)
    return made


def _take(session: Session, turns: Sequence[_Turn], until_s: float) -> int:
    """Take the turns; each one's workers start and load while the results of the one before are folded."""
    made, launch, following = 0, None, None
    try:
        for turn, after in zip(turns, [*turns[1:], None], strict=True):
            launch, following = following or _Launch(session, turn), None
            launch.measure()
            last = after is None or after.number != turn.number
            if after is not None and not (last and session.elapsed_s + launch.least_s > until_s):
                following = _Launch(session, after)
            launch.fold()
            if last:
                made = turn.number
                if made >= 2:
                    session.verdict("weigh", f"launch {made} of {turn.wanted} done")
                if following is None:
                    break
    except BaseException:
        for one in (launch, following):
            if one is not None:
                one.abandon()
        raise
    return made


def _take_over_controls(session: Session, contenders: Sequence[Contender], base: Codec, part: Part) -> None:
    """Put the base's twin and the floor of an interrupted run into the record, as its launches would."""
    for contender in contenders:
        if contender.codec == base and contender.case["launches"]:
            _twin(session, contender.case, base, part)
            session.case("copy", part, "weigh")


def _twin(session: Session, case: dict[str, Any], base: Codec, part: Part) -> dict[str, Any]:
    """The case of the base's second worker, which shows what is noise."""
    return session.case(str(base), part, "weigh", **_shared_labels(case), twin="1")


def _shared_labels(case: dict[str, Any]) -> dict[str, str]:
    """What the cases that are compared with this one have in common with it."""
    return {name: level for name, level in case["labels"].items() if name not in ("dataset", "size", "codec")}


def _is_slow(case: dict[str, Any], slow: Statistics) -> bool:
    cold = case.get("cold") or {}
    return max(cold.get("encode_ns") or 0, cold.get("decode_ns") or 0) > slow.slow_s * 1e9


def _spared(case: dict[str, Any], number: int, slow: Statistics | None) -> bool:
    """Whether a slow case has had its launches."""
    return slow is not None and number > slow.slow_launches and _is_slow(case, slow)
