"""What a run would do, without doing it: cases and an estimate of the time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tare.measure.plan.datasets import nominal_bytes
from tare.measure.worker_client.network import DEFAULT_LINK

if TYPE_CHECKING:
    from tare.measure.cases import Case
    from tare.measure.plan.plan import Plan
    from tare.measure.settings import Settings

__all__ = ["estimate", "linked", "narrowed", "plan_seconds"]

# A quick codec on a quiet machine, and a slow one on a busy machine: a launch, a round, and the
# bytes a second that both ways together get through.
_QUICK = (0.35, 0.05, 500e6)
_SLOW = (1.0, 0.15, 10e6)
# One size of a curve: processes start and load. Those of eight curves are run together, and a slow
# codec's curve ends before the others'.
_GROWN_S = (0.8, 3.0)
_TOGETHER = 8
# The last size of a curve is loaded, checked and run once, each up to as long as the curve may take.
_LAST_CALLS = 4
_HOURS_FROM_S = 3 * 3600


def estimate(
    data: Any, plan: Plan | None, settings: Settings, *, allow_pickle: bool = False
) -> Iterator[str]:
    """Say in lines what would be measured and how long it would take.

    Args:
        data: The data of a default run; None for a plan's own.
        plan: The plan; None for a default run.
        settings: What was asked for.
        allow_pickle: Whether ``data`` may be a pickle file.

    Yields:
        Lines of text.

    Raises:
        TareError: The data cannot be opened, or what was asked for does not exist or does not fit it.
    """
    from tare.measure.run import check_columns_named, check_settings, check_use, without_media

    settings = without_media(settings)
    check_settings(settings)
    if plan is not None:
        yield from _of_plan(plan, settings)
        return
    from tare.dataset import open_dataset
    from tare.measure.environment.limits import with_limits
    from tare.measure.inputs import gather_files
    from tare.measure.plan.availability import not_on, tried, usual_medium

    data = gather_files(data)
    settings = with_limits(settings, data)
    dataset = open_dataset(
        data, allow_pickle=allow_pickle, max_bytes=settings.max_bytes, enough_bytes=settings.enough_bytes
    )
    check_use(settings, dataset)
    check_columns_named(settings, dataset)
    yield dataset.headline()
    yield from (f"  note: {note}" for note in dataset.notes)
    codecs, left_out = tried(settings, dataset)
    yield from (f"  left out: {line}" for line in left_out)
    media = settings.media or (usual_medium(settings, dataset.kind),)
    cases = [(codec, medium, not_on(codec, medium)) for codec in codecs for medium in media]
    for codec, medium, reason in cases:
        yield f"  {codec}@{medium}" + (f"  (n/a: {reason})" if reason else "")
    count = sum(reason is None for *_, reason in cases)
    yield f"{count} case{'s' * (count != 1)}; {_limit_of(settings.time_s)}"


def _limit_of(time_s: float | None) -> str:
    """What is known of a default run's time beforehand.

    >>> _limit_of(10.0), _limit_of(0.0)
    ('at most 10 s (the limit, --time), less if every figure is narrow before', 'no limit: until every figure is narrow')
    """
    if not time_s:
        return "no limit: until every figure is narrow"
    return f"at most {time_s:g} s (the limit, --time), less if every figure is narrow before"


def linked(settings: Settings) -> Settings:
    """What a plan is run with: the link of a local network, where none was asked for."""
    return replace(settings, link=settings.link or DEFAULT_LINK)


def narrowed(plan: Plan, settings: Settings) -> Plan:
    """The part of a plan that was asked for.

    Raises:
        PlanError: Nothing is left of it.
    """
    return plan.narrow(
        codecs=settings.codecs,
        media=settings.media,
        threads=None if settings.threads == 1 else ["all"],
        where=settings.where,
        stop_s=settings.stop_s,
    )


def _of_plan(plan: Plan, settings: Settings) -> Iterator[str]:
    from tare.measure.plan.availability import supports

    settings = linked(settings)
    plan = narrowed(plan, settings)
    cases = plan.cases(supports=lambda labels: supports(labels, settings))
    for case in cases:
        reason = f"  ({case.status}: {case.reason})" if case.status != "pending" else ""
        if case.labels.get("size", "1") == "1":
            labels = " ".join(f"{name}={value}" for name, value in case.labels.items() if name != "size")
            yield f"  {labels}{reason}"
    yield from (f"  note: {note}" for note in plan.notes)
    counts = Counter(case.status for case in cases)
    yield f"{plan.name}: {plan.question}"
    yield f"{counts['pending']} cases to measure, {counts['n/a']} not available here; {_said(plan_seconds(plan, cases), settings.limit_s)}"
    if plan.grow is not None:
        yield f"a point of a growth curve may take {plan.grow.stop_s:g} s and more; --stop ends the curves earlier"


def plan_seconds(plan: Plan, cases: Sequence[Case]) -> tuple[float, float]:
    """From how many to how many seconds a plan takes, before anything of it was tried.

    The first is for codecs that are quick, on a quiet machine; the second for slow ones on a busy
    machine, where calls beyond the plan's ``slow_s`` are made less often. It is no promise: a
    codec may be slower still.
    """
    pending = [case for case in cases if case.status == "pending"]
    if plan.grow is not None:
        curves, stop_s = len({case.curve for case in pending}), plan.grow.stop_s
        least = curves * stop_s / (1 - 1 / plan.grow.factor) / 4 + len(pending) * _GROWN_S[0]
        rounds_s = len(pending) / _TOGETHER * stop_s / 4
        return least, len(pending) * _GROWN_S[1] + rounds_s + curves * stop_s * _LAST_CALLS
    return (
        sum(_case_seconds(plan, case, *_QUICK) for case in pending),
        sum(_case_seconds(plan, case, *_SLOW) for case in pending),
    )


def _case_seconds(plan: Plan, case: Case, launch_s: float, round_s: float, bytes_per_s: float) -> float:
    statistics = plan.statistics
    launches, rounds = case.launches or statistics.launches, case.rounds or statistics.rounds
    call_s = round_s + nominal_bytes(case.labels.get("dataset", "")) / bytes_per_s
    if call_s > statistics.slow_s:
        launches, rounds = min(launches, statistics.slow_launches), min(rounds, statistics.slow_rounds)
    return launches * (launch_s + (1 + rounds) * call_s)  # one call more, to check what came back


def _said(seconds: tuple[float, float], limit_s: float) -> str:
    """Minutes from and to; what is certain about them is the limit only.

    >>> _said((80.0, 260.0), 0.0), _said((20.0, 30.0), 0.0), _said((80.0, 260.0), 45.0)
    ('about 1 to 4 min, more if a codec is slow', 'about 1 min, more if a codec is slow', 'at most 45 s (--time)')
    """
    if limit_s and limit_s <= seconds[0]:
        return f"at most {limit_s:.0f} s (--time)"
    unit, unit_s = ("h", 3600) if seconds[1] > _HOURS_FROM_S else ("min", 60)
    least, most = (max(1, round(part / unit_s)) for part in seconds)
    span = f"{least} {unit}" if least == most else f"{least} to {most} {unit}"
    return f"about {span}, {f'at most {limit_s:.0f} s (--time)' if limit_s else 'more if a codec is slow'}"
