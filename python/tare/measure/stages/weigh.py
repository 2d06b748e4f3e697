"""Weighing: the contenders on the full data (or the largest part that fits), in launches of interleaved rounds."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tare.errors import WorkerError
from tare.measure.environment import system_load
from tare.measure.environment.limits import available_bytes
from tare.measure.sampling.case_runner import Seat
from tare.measure.sampling.rounds import Loading, run_rounds
from tare.measure.stages.budget import FIRST_WEIGHT, LAUNCHES, QUICK_LAUNCHES, in_groups
from tare.measure.stages.memory import missing_peak, peak

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.codec import Codec
    from tare.measure.plan.reader import Statistics
    from tare.measure.session import Part, Session

__all__ = ["Contender", "twin_case", "weigh"]

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
        launches: Launches to make at most; 0 for those of the run.
        rounds: Rounds to take in each launch at most; 0 for those of the run.
        peak: Whether its peak of memory is wanted, where launches measure peaks.
    """

    codec: Codec
    case: dict[str, Any]
    operations: tuple[str, ...] = ()
    launches: int = 0
    rounds: int = 0
    peak: bool = True


@dataclass(frozen=True)
class _Turn:
    """One launch of one group: whom it weighs, which launch of how many it is, when it ends.

    ``nth`` is the number without launches of an interrupted run that not every case had.
    """

    group: Sequence[Contender]
    base: Codec
    part: Part
    number: int
    nth: int
    usual: int
    wanted: int
    until_s: float
    plan: Statistics | None
    limited: bool
    peaks: bool

    @property
    def rounds(self) -> tuple[int, int]:
        """Rounds to take if there is time, and the most to take while times are not steady."""
        asked = [one.rounds for one in self.group]
        if self.plan is not None:
            wanted = max(one or self.plan.rounds for one in asked)
            return wanted, wanted
        return (_ROUNDS if self.limited else _ROUNDS_UNLIMITED), _ROUNDS_MOST


class _Floor(Seat):
    """The floor row: copying the base's encoded bytes, in a process of its own.

    In the base's own worker the copies, held until the clocks are read, leave its heap
    large: the base then decoded 4,000 documents without page faults, its twin with 250
    a call, 1.3 times slower.
    """

    def __init__(self, session: Session, case: dict[str, Any], base: Codec, part: Part) -> None:
        super().__init__(session, case, base, part)
        self.operations = ("copy",)

    def ready(self, *, verify: bool = False) -> None:
        """Load the data and encode them; nothing is decoded or compared."""
        try:
            self.load()
            self.prepare(cold=False)
            self.case["status"] = "ok"
        except WorkerError as error:
            self.lose(error)


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
            floor = _Floor(session, session.case("copy", turn.part, "weigh"), turn.base, turn.part)
            self._seats += [self._twin(self._base), floor]
        self._loading = Loading(self._seats, warm_until_s=turn.until_s)

    def measure(self) -> None:
        """Wait until all are loaded, then sample; the workers are asked to end."""
        session, turn = self._session, self._turn
        self._loading.wait(
            lambda seat: session.tell("weigh", turn.number - 1, turn.wanted, f"loading {seat.codec}")
        )
        if self._base is not None:
            floor = self._seats[-1]
            floor.case["bytes"] = self._base.case.get("bytes")
            if not self._base.alive:
                floor.close()
        if turn.plan is not None:
            for seat in self._seats:
                seat.rounds_left = _rounds_of(seat.case, turn)
        self._before = system_load.snapshot()
        wanted, most = turn.rounds
        taken = run_rounds(
            session,
            self._seats,
            rounds=wanted,
            until_s=turn.until_s,
            at_least=1,
            most=most,
            on_round=lambda r: session.tell(
                "weigh", turn.number - 1, turn.wanted, f"launch {turn.number}, round {r}"
            ),
        )
        self._after = system_load.snapshot()
        for seat in self._seats:
            if isinstance(seat, _PeakSeat) and seat.peak is not None:
                seat.case["memory"][seat.peak_of] = seat.peak
            seat.quit()
        one_s = taken.seconds / max(1, taken.rounds)
        self.least_s = session.elapsed_s - self._began_s - taken.seconds + one_s

    def fold(self) -> None:
        """Put the results into the cases and the journal; see the workers end."""
        before, after = self._before, self._after
        for seat in self._seats:
            if seat.stands and seat.samples:
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
        if case["status"] not in ("pending", "ok", "lossy") or _spared(contender, turn):
            return None
        # The first launch times first calls, and nothing may come before those.
        wanted = turn.peaks and contender.peak and "cold" in case
        kind = _PeakSeat if wanted and missing_peak(case) else Seat
        seat = kind(self._session, case, contender.codec, turn.part)
        seat.operations = contender.operations or seat.operations
        return seat

    def _twin(self, base: Seat) -> Seat:
        """The base once more, in a process of its own: what differs between the two is noise."""
        twin = twin_case(self._session, base.case, base.codec, self._turn.part)
        # The twin is asked what the base is asked, or their totals would be of different things.
        twin["operations"] = list(base.operations)
        # The same calls come before the samples: what a process did earlier is in its heap.
        seat = type(base)(self._session, twin, base.codec, self._turn.part)
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
    plan: Statistics | None = None,
    peaks: bool = False,
) -> int:
    """Weigh the contenders; every launch is a new set of processes.

    Args:
        session: The run.
        contenders: Cases to weigh; the base should be among them.
        base: Base codec; it runs twice, the second time as the A/A twin.
        part: The data.
        until_s: Elapsed seconds of the run at which this stage must end.
        launches: Launches to make; None for five (three if quick), and more where a contender wants more.
        plan: How often a plan measures, slow cases apart; None for as often as there is time.
        peaks: Whether launches after the first measure peaks of memory before they sample.

    Returns:
        Launches made.
    """
    usual = launches or (QUICK_LAUNCHES if session.settings.quick else LAUNCHES)
    most = max((contender.launches or usual for contender in contenders), default=usual)
    groups = in_groups(contenders, base, part, available_bytes() // 2)
    began_s = session.elapsed_s
    # Launches that are there already count: an interrupted run's, or the base's of another group.
    had = [_last(case) for case in _with_controls(session, contenders, base, part)]
    first = 1 + max(had, default=0)
    skipped = first - 1 - min(had, default=0)
    wanted = max(first - 1, skipped + most)
    numbers = range(first, wanted + 1)
    # The first launch times first calls and compares what came back.
    weights = [FIRST_WEIGHT if number == 1 else 1.0 for number in numbers for _ in groups]
    ends = itertools.accumulate(weights)
    turns = [
        _Turn(
            group,
            base,
            part,
            number=number,
            nth=number - skipped,
            usual=usual,
            wanted=wanted,
            until_s=began_s + end * (until_s - began_s) / sum(weights),
            plan=plan,
            limited=bool(session.settings.limit_s),
            peaks=peaks,
        )
        for (number, group), end in zip(itertools.product(numbers, groups), ends, strict=True)
    ]
    return _take(session, turns, until_s)


def _take(session: Session, turns: Sequence[_Turn], until_s: float) -> int:
    """Take the turns; each one's workers start and load while the results of the one before are folded."""
    made, launch, following, least_s = 0, None, None, 0.0
    try:
        for turn, after in itertools.zip_longest(turns, turns[1:]):
            launch, following = following or _Launch(session, turn), None
            launch.measure()
            least_s += launch.least_s
            last = after is None or after.number != turn.number
            if after is not None and not (last and session.elapsed_s + least_s > until_s):
                following = _Launch(session, after)
            launch.fold()
            if last:
                made, least_s = turn.number, 0.0
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


def _with_controls(
    session: Session, contenders: Sequence[Contender], base: Codec, part: Part
) -> list[dict[str, Any]]:
    """The cases of the contenders, and those of the twin and the floor where an interrupted run had the base's.

    A kill between two cases of one launch leaves the base without its controls: they want a launch too.
    """
    cases = [contender.case for contender in contenders]
    for contender in contenders:
        if contender.codec == base and contender.case["launches"]:
            cases += [twin_case(session, contender.case, base, part), session.case("copy", part, "weigh")]
    return cases


def _last(case: dict[str, Any]) -> int:
    """The number of the last launch of a case; 0 if there is none."""
    return max((launch["n"] for launch in case["launches"]), default=0)


def twin_case(session: Session, case: dict[str, Any], base: Codec, part: Part) -> dict[str, Any]:
    """The case of the base's second worker, which shows what is noise."""
    return session.case(str(base), part, "weigh", **_shared_labels(case), twin="1")


def _shared_labels(case: dict[str, Any]) -> dict[str, str]:
    """What the cases that are compared with this one have in common with it."""
    return {name: level for name, level in case["labels"].items() if name not in ("dataset", "size", "codec")}


def _is_slow(case: dict[str, Any], plan: Statistics) -> bool:
    cold = case.get("cold") or {}
    return max(cold.get("encode_ns") or 0, cold.get("decode_ns") or 0) > plan.slow_s * 1e9


def _spared(contender: Contender, turn: _Turn) -> bool:
    """Whether a case has had its launches: those it wants itself, else the usual ones, fewer if it is slow."""
    usual = turn.usual
    if turn.plan is not None and _is_slow(contender.case, turn.plan):
        usual = min(usual, turn.plan.slow_launches)
    return turn.nth > (contender.launches or usual)


def _rounds_of(case: dict[str, Any], turn: _Turn) -> int:
    """Rounds of a case in a plan's launch; the base's twin and the floor get the most."""
    asked = next((one.rounds for one in turn.group if one.case is case), 0)
    if turn.plan is None or asked:
        return asked or turn.rounds[0]
    return turn.plan.slow_rounds if _is_slow(case, turn.plan) else turn.rounds[0]
