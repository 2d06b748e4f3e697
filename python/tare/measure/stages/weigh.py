"""Weighing: the contenders on the full data (or the largest part that fits), in launches of interleaved rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tare.measure import pressure
from tare.measure.rounds import launch_seats, run_rounds
from tare.measure.seat import Seat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.codec import Codec
    from tare.measure.plan_reader import Statistics
    from tare.measure.session import Part, Session

__all__ = [
    "Contender",
    "available_bytes",
    "fit_share",
    "in_groups",
    "load_bytes",
    "memory_factor",
    "plan_launches",
    "weigh",
]

_LAUNCHES = 5
_QUICK_LAUNCHES = 3
_ROUNDS = 9
_ROUNDS_UNLIMITED = 15
# CPU to start, load and warm one worker, on one of two cores: pyarrow and polars are heavier than orjson.
_START_S = {"document": 0.1, "table": 0.22}
_PER_LAUNCH = 4
_LOAD_BYTES_S = 8 << 20
_SHORT_S = 12.0
_FEWEST = 4


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
class _Launch:
    """One launch: its data, which one of how many it is, when it ends, how slow cases are treated."""

    part: Part
    number: int
    wanted: int
    until_s: float
    slow: Statistics | None


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


def available_bytes() -> int:
    """Memory that new processes may use without swapping."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return 4 << 30


def load_bytes(time_s: float) -> int:
    """How much of the data to load, in bytes in memory: what can be weighed in the time, within the memory.

    Args:
        time_s: Time limit of the run in seconds; 0 for none.

    >>> load_bytes(60.0) <= 480 << 20
    True
    """
    by_memory = available_bytes() // 16
    return min(by_memory, int(time_s * _LOAD_BYTES_S)) if time_s else by_memory


def plan_launches(budget_s: float, wanted: int, kind: str, *, quick: bool) -> tuple[int, int]:
    """How many launches to make and how many codecs to weigh, so that two thirds of the time are left for rounds.

    Args:
        budget_s: Time for all launches, in seconds; infinite for no limit.
        wanted: Codecs that deserve weighing.
        kind: ``document`` or ``table``.
        quick: Whether three launches are enough.

    Returns:
        Launches, codecs.

    >>> plan_launches(28.0, 20, "table", quick=False), plan_launches(6.0, 20, "document", quick=False)
    ((5, 8), (3, 6))
    """
    launches = _QUICK_LAUNCHES if quick or budget_s < _SHORT_S else _LAUNCHES
    if budget_s == float("inf"):
        return launches, wanted
    return launches, min(wanted, max(_FEWEST, int(budget_s / 3 / launches / _START_S[kind])))


def fit_share(
    session: Session, seconds: dict[Codec, float], small: Part, budget_s: float, launches: int
) -> float:
    """The largest share of the data whose launches fit the time and the memory.

    Args:
        session: The run.
        seconds: Time of one round on the small part, in seconds, by codec.
        small: The part that was screened.
        budget_s: Time for all launches, in seconds; infinite for no limit.
        launches: Launches to fit.

    Returns:
        A share in (0, 1].
    """
    scale = session.dataset.bytes_memory / max(1, small.bytes_memory)
    round_s = sum(seconds.values()) * scale
    start_s = launches * len(seconds) * _START_S[small.kind]
    # A launch encodes and decodes once before its rounds, then takes three rounds; a large part is slower
    # than the small one says (caches, page faults).
    by_time = (budget_s - start_s) / max(1e-9, launches * _PER_LAUNCH * round_s)
    # Groups keep the sum of all copies in bounds; one contender with the base and its twin must fit.
    copies = 3 * max((memory_factor(codec, small.kind) for codec in seconds), default=3.0)
    by_memory = available_bytes() / 2 / max(1.0, copies * session.dataset.bytes_memory)
    return float(f"{max(min(1.0, small.share), min(1.0, max(by_time, 1 / 64), by_memory)):.2g}")


def in_groups(
    contenders: Sequence[Contender], base: Codec, part: Part, limit_bytes: int
) -> list[list[Contender]]:
    """Split the contenders so that the copies of one group's workers stay below the limit.

    Args:
        contenders: All contenders.
        base: The base codec; it joins every group, so that each has its pairs.
        part: The data each worker holds.
        limit_bytes: Memory for all workers of a group, in bytes.

    Returns:
        Groups, each with the base first.
    """
    bases = [c for c in contenders if c.codec == base]
    groups: list[list[Contender]] = []
    used = float("inf")
    for contender in contenders:
        if contender.codec == base:
            continue
        need = memory_factor(contender.codec, part.kind) * part.bytes_memory
        if used + need > limit_bytes and (not groups or len(groups[-1]) > len(bases)):
            groups.append(list(bases))
            used = 2 * sum(memory_factor(c.codec, part.kind) for c in bases) * part.bytes_memory
        groups[-1].append(contender)
        used += need
    return groups or [list(bases)]


def memory_factor(codec: Codec, kind: str) -> float:
    """Copies of the data that a worker of this codec holds while it works, roughly."""
    return 3.0 if codec.native(kind) in ("arrow", "polars", "python") else 6.0


def weigh(
    session: Session,
    contenders: Sequence[Contender],
    base: Codec,
    part: Part,
    *,
    until_s: float,
    launches: int | None = None,
    slow: Statistics | None = None,
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

    Returns:
        Launches made.
    """
    wanted = launches or (_QUICK_LAUNCHES if session.settings.quick else _LAUNCHES)
    groups = in_groups(contenders, base, part, available_bytes() // 2)
    began_s = session.elapsed_s
    # Launches that are there already count: an interrupted run's, or the base's of another group.
    had = [max((launch["n"] for launch in c.case["launches"]), default=0) for c in contenders]
    first = 1 + max(had, default=0)
    wanted = max(first - 1, first - 1 + wanted - min(had, default=0))
    step_s = (until_s - began_s) / max(1, wanted - first + 1) / len(groups)
    made = 0
    for number in range(first, wanted + 1):
        if made and session.elapsed_s >= until_s:
            break
        for index, group in enumerate(groups):
            ends_s = began_s + ((number - first) * len(groups) + index + 1) * step_s
            _launch(session, group, base, _Launch(part, number, wanted, ends_s, slow))
        made = number
        if made >= 2:
            session.verdict("weigh", f"launch {number} of {wanted} done")
    if not made:  # an interrupted run had made them all
        _take_over_controls(session, contenders, base, part)
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


def _launch(session: Session, group: Sequence[Contender], base: Codec, plan: _Launch) -> None:
    """One launch of one group: fresh workers, rounds, results into the cases."""
    seats = []
    for contender in group:
        if contender.case["status"] in ("pending", "ok", "lossy") and not _spared(
            contender.case, plan.number, plan.slow
        ):
            seat = Seat(session, contender.case, contender.codec, plan.part)
            seat.operations = contender.operations or seat.operations
            seats.append(seat)
    base_seat = next((seat for seat in seats if seat.codec == base), None)
    if base_seat is not None:
        twin = _twin(session, base_seat.case, base, plan.part)
        second = Seat(session, twin, base, plan.part)
        # The twin is asked what the base is asked, or their totals would be of different things.
        twin["operations"] = list(base_seat.operations)
        second.operations = base_seat.operations
        seats.append(second)
    launch_seats(
        seats,
        verify=False,
        on_ready=lambda seat: session.tell("weigh", plan.number - 1, plan.wanted, f"loading {seat.codec}"),
    )
    if base_seat is not None and base_seat.alive:
        floor = _Floor(session, session.case("copy", plan.part, "weigh"), base_seat)
        floor.ready()
        seats.append(floor)
    if plan.slow is not None:
        for seat in seats:
            if _is_slow(seat.case, plan.slow):
                seat.rounds_left = plan.slow.slow_rounds
    before = pressure.snapshot()
    run_rounds(
        session,
        seats,
        rounds=_ROUNDS if session.settings.time_s else _ROUNDS_UNLIMITED,
        until_s=plan.until_s,
        at_least=1,
        warm=True,
        on_round=lambda r: session.tell(
            "weigh", plan.number - 1, plan.wanted, f"launch {plan.number}, round {r}"
        ),
    )
    after = pressure.snapshot()
    for seat in seats:
        if seat.alive and seat.samples:
            session.save_launch(seat.case, seat.launch(plan.number, before.stalled_share(after), after.load))
        session.save_case(seat.case)
        seat.close()
