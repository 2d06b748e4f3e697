"""Running a plan: its data sets one after another, its cases by medium, its curves size by size."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tare.errors import TareError, UsageError
from tare.measure.analysis.figures import GROUP_LABELS
from tare.measure.environment import system_load
from tare.measure.environment.limits import available_bytes, load_bytes
from tare.measure.estimate import linked, narrowed
from tare.measure.plan.datasets import nominal_bytes
from tare.measure.plan.resume import Earlier, data_key, has_ended, take
from tare.measure.plan.subsets import remark
from tare.measure.records.codec_entry import describe
from tare.measure.run import finish, note_time, open_session, start_record
from tare.measure.sampling.case_runner import Seat
from tare.measure.sampling.rounds import launch_seats, run_rounds
from tare.measure.session import Session, Stopped, Wiring
from tare.measure.settings import Settings
from tare.measure.stages.memory import measure_memory
from tare.measure.stages.transfer import StreamSeat, weigh_streams
from tare.measure.stages.weigh import Contender, weigh
from tare.measure.worker_client.languages import Foreign, inventory, language_of

if TYPE_CHECKING:
    from tare.codec import Codec
    from tare.dataset import Dataset
    from tare.measure.cases import Case
    from tare.measure.plan.plan import Plan
    from tare.measure.result import Result

__all__ = ["run_plan"]

# The smallest group: the base, its twin and one more, with the data, its encoded form and what comes
# back each; and the parent's own, while the next data set is made.
_COPIES = 11
_STREAMS = ("fifo", "unix", "tcp", "link", "remote")
_AT_ONCE = 8
_BASE = {"document": "json:stdlib", "table": "parquet:pyarrow"}
_LATE = "not reached in the time given; --time gives more"
_UNLIMITED_S = 24 * 3600.0
# The rest is for peaks of memory, a fresh process each.
_WEIGHED_BY = 0.85
_WHOLE = (
    ("subset", "all"),
    ("materialise", "full"),
    ("sync", "none"),
    ("cache", "warm"),
    ("order", "insertion"),
)


def run_plan(plan: Plan, data: Any, settings: Settings, wiring: Wiring) -> Result:
    """Measure every case of a plan.

    Args:
        plan: The plan.
        data: Data that replaces the plan's own; None for the plan's.
        settings: What to do; ``codecs`` and ``media`` narrow the plan.
        wiring: Display, control, where the record and the shared data are.

    Returns:
        The Result; data sets that could not be opened are cases with the reason.

    Raises:
        PlanError: Nothing is left of the plan.
    """
    from tare.measure.plan.availability import supports
    from tare.measure.result import Result

    settings = linked(settings)
    plan = narrowed(plan, settings)
    record: dict[str, Any] = {}
    cases = _by_dataset(plan.cases(supports=lambda labels: supports(labels, settings)))
    began_s = time.monotonic()
    earlier = None if wiring.resume is None else Earlier(Result.load(wiring.resume).record)
    last: Session | None = None
    for number, ((name, content), wanted) in enumerate(cases.items()):
        if not any(case.status == "pending" for case in wanted):
            record.setdefault("cases", []).extend(_closed(case, case.status, case.reason) for case in wanted)
            continue
        left_s = settings.limit_s - (time.monotonic() - began_s)
        if settings.limit_s and left_s <= 0:
            record.setdefault("cases", []).extend(_closed(case, "pending", _LATE) for case in wanted)
            continue
        try:
            if data is None:
                _need_memory(name)
            dataset = _open(name, content, wiring.shared) if data is None else _opened(data)
        except (TareError, OSError) as error:
            record.setdefault("cases", []).extend(_closed(case, "n/a", str(error)[:300]) for case in wanted)
            continue
        # What is left of the time is shared by the data sets that are left, but for what an earlier run finished.
        later = list(cases.values())[number + 1 :]
        due = 1 + sum(earlier is None or not earlier.seems_finished(some) for some in later)
        share_s = left_s / due if settings.limit_s else 0.0
        fresh = start_record(dataset, settings, wiring.command, plan.as_dict())
        fresh["dataset"]["name"] = name
        _join(record, fresh, name)
        session = open_session(
            dataset,
            replace(settings, time_s=share_s, deadline_s=_deadline_s(plan, settings, share_s)),
            record,
            wiring if last is None else replace(wiring, out=None),
        )
        session.block, session.name = fresh["dataset"], name  # labels speak of the plan's name
        session.journal = session.journal or (last.journal if last else None)
        record.setdefault("data_hashes", {})[data_key(name, content)] = fresh["dataset"]["hash"]
        _go_on(session, earlier, first=last is None)
        if last is not None:  # what is said of the run is said of all its data sets
            session.pressure, session.sample_ns, session.round_ns = (
                last.pressure,
                last.sample_ns,
                last.round_ns,
            )
        last = session
        with session:
            try:
                _measure(session, plan, wanted, earlier, data_key(name, content))
            except Stopped:
                record["interrupted"] = True
                break
            finally:
                _show_largest(record)
    if last is None:
        raise UsageError(
            f"no data set of the plan {plan.name!r} could be opened: "
            + "; ".join(sorted({case["reason"] for case in record.get("cases", ())}))[:400]
        )
    if earlier is not None:
        record["resumed"] = earlier.told(record["resumed"]["used"])
        for line in [] if record.get("interrupted") else record["resumed"]["lines"]:
            last.tell("open", 1, 1, line)
    last.started_at, last.settings = began_s, settings  # the whole run, not its last data set
    note_time(last)
    finish(last, wiring.out)
    return Result(record)


def _go_on(session: Session, earlier: Earlier | None, *, first: bool) -> None:
    """Begin the journal with what an earlier run finished; every data set's hash is in it before its cases."""
    if earlier is not None:
        session.record.setdefault("resumed", {"used": 0, "lines": []})
    if session.journal is None:
        return
    if first and earlier is not None:
        session.journal.head(earlier.head(session.record))
        return
    for name in ("datasets", "data_hashes"):
        session.journal.stage(name, session.record[name])


def _measure(session: Session, plan: Plan, wanted: Sequence[Case], earlier: Earlier | None, key: str) -> None:
    """All cases of one data set, but for those that an earlier run finished."""
    kind = session.dataset.kind
    pending = []
    only = getattr(session.dataset, "only", "")
    for one in wanted:
        # Several tables at once are held by R alone.
        held = not only or language_of(one.labels["codec"], session.settings.workers) == only
        case = one if held else replace(one, status="n/a", reason="holds one table, not several at once")
        if case.status == "pending":
            pending.append(case)
        else:
            _put(session, case)
    for case in pending:
        _codec(session, case)  # the record says which versions they are of
    if session.journal is not None:
        session.journal.stage("codecs", session.record["codecs"])
    if plan.grow is not None:
        if earlier is not None:
            session.adopted = earlier.cases(session, key)
        _grow(session, plan, pending)
        return
    if earlier is not None and (finished := earlier.finished(session, key, pending)):
        take(session, finished)
        return
    part = session.part(1.0)
    batches: list[tuple[str, Codec, list[Contender]]] = []
    everybody: list[Contender] = []
    launches = 3 if session.settings.quick else plan.statistics.launches
    for some in _comparable(pending):
        contenders = [
            Contender(
                _codec(session, case),
                _put(session, case, part),
                case.operations,
                launches=min(case.launches, launches) if session.settings.quick else case.launches,
                rounds=case.rounds,
            )
            for case in some
        ]
        peaks = {id(contender) for contender in _one_peak_each([*everybody, *contenders])}
        contenders = [replace(one, peak=id(one) in peaks) for one in contenders]
        base = _base(session, kind, contenders)
        batches += [(some[0].labels["medium"], base, group) for group in _groups(contenders, base)]
        everybody += contenders
    ends_s = session.limit_s(_WEIGHED_BY)
    for number, (medium, base, group) in enumerate(batches):
        if session.elapsed_s > ends_s:
            for contender in group:
                if contender.case["status"] == "pending":
                    contender.case["reason"] = _LATE
            continue
        # What is left of the time is shared by the batches that are left.
        left_s = min(ends_s, session.elapsed_s + _UNLIMITED_S) - session.elapsed_s
        until_s = session.elapsed_s + max(0.0, left_s) / (len(batches) - number)
        session.tell("weigh", number, len(batches), f"{session.name}@{medium}")
        if medium in _STREAMS:
            weigh_streams(
                session, group, base, part, until_s=until_s, launches=launches, rounds=plan.statistics.rounds
            )
        else:
            weigh(
                session,
                group,
                base,
                part,
                until_s=until_s,
                launches=launches,
                plan=plan.statistics,
                peaks=True,
            )
    measure_memory(session, _one_peak_each(everybody), part, session.limit_s(1.0))


def _comparable(cases: Iterable[Case]) -> list[list[Case]]:
    """Cases that will be compared with each other stand together, so that their rounds interleave."""
    found: dict[tuple[str, ...], list[Case]] = {}
    for case in cases:
        labels = tuple(case.labels.get(name, "") for name in GROUP_LABELS)
        found.setdefault(labels, []).append(case)
    return list(found.values())


def _one_peak_each(contenders: Iterable[Contender]) -> list[Contender]:
    """The cases whose memory is measured: whole, warm, without fsync, on the first such medium of their codec.

    Of a codec with a compressor, on each.
    """
    found: dict[tuple[str, ...], Contender] = {}
    for contender in contenders:
        labels = contender.case["labels"]
        if labels["medium"] in _STREAMS or any(labels.get(name, level) != level for name, level in _WHOLE):
            continue
        # Writing compresses on the way into the file, which takes less memory than bytes made whole.
        medium = labels["medium"] if contender.codec.compressor is not None else ""
        found.setdefault((labels["codec"], labels["threads"], labels.get("grain", ""), medium), contender)
    return list(found.values())


def _grow(session: Session, plan: Plan, pending: Sequence[Case]) -> None:
    """Each curve through its sizes, until its time limit, the full size or a failure."""
    curves: dict[str, list[Case]] = {}
    for case in pending:
        curves.setdefault(case.curve, []).append(case)
    living = {curve: sorted(cases, key=lambda case: case.size) for curve, cases in curves.items()}
    sizes = plan.sizes()
    for number, size in enumerate(sizes):
        due = {
            curve: case
            for curve, cases in living.items()
            for case in cases
            if abs(case.size / size - 1) < 1e-4
        }
        names = list(due)
        session.rng.shuffle(names)
        for start in range(0, len(names), _AT_ONCE):
            if session.elapsed_s > session.limit_s(1.0):
                break
            batch = names[start : start + _AT_ONCE]
            ended = _grow_once(session, plan, {curve: due[curve] for curve in batch}, size)
            for curve in ended:
                del living[curve]
            session.tell("growth", number, len(sizes), f"size {size:g}, {len(living)} curves")
        if not living or session.elapsed_s > session.limit_s(1.0):
            break


def _grow_once(session: Session, plan: Plan, due: dict[str, Case], size: float) -> list[str]:
    """One size of some curves; gives the curves that end here."""
    if plan.grow is None:
        return []
    part = session.part(size)
    seats: dict[str, Seat] = {}
    ended = []
    for curve, case in due.items():
        made = _put(session, case, part, "growth")
        if made["launches"] or made["status"] != "pending":  # of an earlier run
            ended += [curve] if has_ended(made) else []
            continue
        kind = StreamSeat if case.labels["medium"] in _STREAMS else Seat
        seats[curve] = kind(session, made, _codec(session, case), part)
    launch_seats(list(seats.values()), verify=True)
    before = system_load.snapshot()
    run_rounds(
        session,
        list(seats.values()),
        rounds=plan.statistics.rounds,
        until_s=session.elapsed_s + plan.grow.stop_s / 4,
        at_least=1,
    )
    after = system_load.snapshot()
    for curve, seat in seats.items():
        if seat.samples:
            session.save_launch(seat.case, seat.launch(1, before.stalled_share(after), after.load))
        total_s = sum(seat.expected_s(operation) for operation in seat.operations)
        if total_s > plan.grow.stop_s:
            seat.case["note"] = f"the curve ends here: {total_s:.1f} s is above {plan.grow.stop_s:g} s"
        if not seat.stands or total_s > plan.grow.stop_s:
            ended.append(curve)
        session.save_case(seat.case)
        seat.close()
    return ended


def _put(session: Session, case: Case, part: Any = None, stage: str = "weigh") -> dict[str, Any]:
    """The plan's case as a case of the record."""
    part = part or session.part(1.0)
    labels = {name: value for name, value in case.labels.items() if name not in ("dataset", "codec", "size")}
    made = session.case(case.labels["codec"], part, stage, **labels)
    if made["status"] == "pending":
        note = case.note or (_part_remark(case) if case.status == "pending" else "")
        made.update(status=case.status, reason=case.reason, note=note, operations=list(case.operations))
    return made


def _part_remark(case: Case) -> str:
    """What must be said of how a part is read; empty for the whole."""
    from tare.codec import Codec

    subset = case.labels.get("subset", "all")
    return "" if subset == "all" else remark(Codec.parse(case.labels["codec"]), subset)


def _codec(session: Session, case: Case) -> Codec:
    """The case's codec; of another language, what stands in for one."""
    from tare.codec import Codec

    text, threads = case.labels["codec"], session.settings.threads
    if language := language_of(text, session.settings.workers):
        foreign = Foreign(text, inventory(language, session.settings.workers))
        session.record["codecs"].setdefault(
            text, describe(cast("Codec", foreign), threads, session.settings.workers)
        )
        return cast("Codec", foreign)
    codec = Codec.parse(text)
    session.record["codecs"].setdefault(str(codec), describe(codec, threads))
    return codec


def _base(session: Session, kind: str, contenders: Sequence[Contender]) -> Codec:
    """The base codec: the one asked for or the kind's, if it is in the plan; else the first."""
    from tare.codec import Codec

    wanted = Codec.parse(session.settings.base or _BASE[kind])
    base = wanted if any(contender.codec == wanted for contender in contenders) else contenders[0].codec
    session.record.setdefault("base", str(base))
    return base


def _groups(contenders: Sequence[Contender], base: Codec) -> Iterable[list[Contender]]:
    """Some at a time, the base among them each time, so that each group has its pairs."""
    bases = [contender for contender in contenders if contender.codec == base][:1]
    others = [contender for contender in contenders if contender not in bases]
    for start in range(0, max(1, len(others)), _AT_ONCE):
        yield bases + others[start : start + _AT_ONCE]


def _by_dataset(cases: Iterable[Case]) -> dict[tuple[str, str], list[Case]]:
    """Cases by what must be opened for them: the data set and the generator's variant."""
    found: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        found.setdefault((case.labels["dataset"], case.labels.get("content", "")), []).append(case)
    return found


def _deadline_s(plan: Plan, settings: Settings, share_s: float) -> float:
    """How long one call may take, in seconds: what the plan allows, no longer than the data set's time."""
    allowed_s = plan.statistics.deadline_s
    return max(settings.deadline_s, min(allowed_s, share_s) if share_s else allowed_s)


def _need_memory(name: str) -> None:
    """Refuse a generated data set that there is no room to measure.

    Raises:
        UsageError: With what it needs and what there is.
    """
    need, free = _COPIES * nominal_bytes(name), available_bytes()
    if need > free:
        raise UsageError(
            f"{name} needs about {need / 1e9:.1f} GB of free memory, for the processes that are measured at a time; "
            f"{free / 1e9:.1f} GB are free"
        )


def _open(name: str, content: str, shared: str | Path | None) -> Dataset:
    from tare.measure.plan.datasets import resolve_dataset

    source, why = resolve_dataset(name, shared, content=content)
    if source is None:
        raise UsageError(why)
    return _opened(source)


def _opened(source: Any) -> Dataset:
    from tare.dataset import Dataset, open_dataset
    from tare.measure.worker_client.table_set import FIVE, five_tables

    if isinstance(source, str) and source == FIVE:
        return five_tables()
    return source if isinstance(source, Dataset) else open_dataset(source, max_bytes=load_bytes(0.0))


def _join(record: dict[str, Any], fresh: dict[str, Any], name: str) -> None:
    """Add a data set to the record; the first one gives the head."""
    if not record.get("dataset"):
        cases = record.get("cases", [])
        record.clear()
        record.update(fresh)
        record["cases"] = cases + record["cases"]
        record["datasets"] = {}
    record["datasets"][name] = fresh["dataset"]


def _show_largest(record: dict[str, Any]) -> None:
    """Put the largest data set at the record's head, of those measured to the end: the verdict is of that one."""
    measured = {case["labels"]["dataset"] for case in record["cases"] if case.get("launches")}
    unfinished = {case["labels"]["dataset"] for case in record["cases"] if case["status"] == "pending"}
    found = [record["datasets"][name] for name in measured - unfinished or measured]
    record["dataset"] = max(found, key=lambda block: block["bytes_memory"], default=record["dataset"])


def _closed(case: Case, status: str, reason: str) -> dict[str, Any]:
    """A case that is not measured, as the record holds it."""
    return case.as_dict() | {"status": status, "reason": reason, "stage": "weigh", "memory": {}}
