"""What a run would do, without doing it: cases and an estimate of the time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tare.measure.plan import Plan
    from tare.measure.session import Settings

__all__ = ["estimate", "narrowed", "plan_seconds"]

_LAUNCH_S = 0.35
_ROUND_S = 0.05
_GROWN_S = 1.5


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
        TareError: The data cannot be opened, or a codec does not exist.
    """
    if plan is not None:
        yield from _of_plan(plan, settings)
        return
    from tare.codec import candidates
    from tare.dataset import Dataset, open_dataset
    from tare.measure.stages.fit import load_bytes
    from tare.measure.supports import asked_for

    dataset = (
        data
        if isinstance(data, Dataset)
        else open_dataset(data, allow_pickle=allow_pickle, max_bytes=load_bytes(settings.time_s))
    )
    yield dataset.headline()
    yield from (f"  note: {note}" for note in dataset.notes)
    codecs = candidates(dataset.kind)
    if settings.codecs:
        codecs = asked_for(settings.codecs, codecs)
    media = settings.media or (("file",) if dataset.kind == "table" else ("memory",))
    for codec in codecs:
        for medium in media:
            yield f"  {codec}@{medium}"
    limit = (
        f"{settings.time_s:.0f} s"
        if settings.time_s
        else "no limit: until every interval is narrow or 5 launches are made"
    )
    yield f"{len(codecs) * len(media)} cases to screen; time: {limit}"


def narrowed(plan: Plan, settings: Settings) -> Plan:
    """The part of a plan that was asked for.

    Raises:
        PlanError: Nothing is left of it.
    """
    return plan.narrow(
        codecs=settings.codecs,
        media=settings.media,
        threads=None if settings.threads == 1 else ["all"],
        stop_s=settings.stop_s,
    )


def _of_plan(plan: Plan, settings: Settings) -> Iterator[str]:
    from tare.measure.supports import supports

    plan = narrowed(plan, settings)
    cases = plan.cases(supports=lambda labels: supports(labels, settings))
    for case in cases:
        reason = f"  ({case.status}: {case.reason})" if case.status != "pending" else ""
        if case.labels.get("size", "1") == "1":
            labels = " ".join(f"{name}={value}" for name, value in case.labels.items() if name != "size")
            yield f"  {labels}{reason}"
    counts = Counter(case.status for case in cases)
    yield f"{plan.name}: {plan.question}"
    yield f"{counts['pending']} cases to measure, {counts['n/a']} not available here; about {plan_seconds(plan, cases) / 60:.0f} min"


def plan_seconds(plan: Plan, cases: Any) -> float:
    """A rough upper estimate of a plan's time, in seconds.

    A growth curve ends at ``stop_s``, its sizes before that add up to a geometric series,
    and each size starts new processes; other cases are taken as half a second a launch.
    """
    pending = [case for case in cases if case.status == "pending"]
    if plan.grow is not None:
        curves = len({case.curve for case in pending})
        return curves * plan.grow.stop_s / (1 - 1 / plan.grow.factor) / 4 + len(pending) * _GROWN_S
    statistics = plan.statistics
    return len(pending) * statistics.launches * (_LAUNCH_S + statistics.rounds * _ROUND_S)
