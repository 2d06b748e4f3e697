"""A whole measurement: open the data, go through the stages, derive, save.

```
open -> screen -> probe -> weigh -> memory -> growth -> probe -> derive
```
It prints nothing; a display is told by events, and a plan is run by ``plan_run``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tare.codec.route_ids import codec_part, split_route
from tare.errors import UsageError
from tare.measure.cases import CONN, FACTORS, ONE_END
from tare.measure.mains import shown_cases
from tare.measure.one_file import refuse_many
from tare.measure.session import Control, Event, Session, Settings, Stopped, Wiring
from tare.measure.stages import SHARES
from tare.measure.stages.choose import BEATEN, asked_use, choose, per_call_ns, sure, unfit
from tare.measure.stages.fit import bound_bytes, fit_launches, plan_launches
from tare.measure.stages.growth import measure_growth
from tare.measure.stages.memory import measure_memory
from tare.measure.stages.probe import measure_fidelity
from tare.measure.stages.screen import first_answer_s, release, screen, small_part
from tare.measure.stages.sizing import costs_of, in_time
from tare.measure.stages.weigh import Contender, weigh

if TYPE_CHECKING:
    from tare.codec import Codec
    from tare.dataset import Dataset
    from tare.measure.result import Result
    from tare.measure.seat import Seat
    from tare.measure.session import Part

__all__ = ["LEAST_S", "run"]

_BASE = {"document": "json:stdlib", "table": "parquet:pyarrow"}
_MEDIUM = {"document": "memory", "table": "file"}
_PROBED = ("ok", "lossy", "unproven", "refused")
_PROBING = 2 / 60
"""Share of the time limit for probes in the workers of screening."""
_UNLIMITED_S = 24 * 3600.0
LEAST_S = 2.0
"""Shortest time limit of a run, in seconds: in less, not even a first library is started and tried."""


def run(  # noqa: PLR0913 - one keyword for each thing a caller may decide
    data: Any,
    *,
    settings: Settings | None = None,
    plan: Any = None,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    on_progress: Callable[[Event], None] | None = None,
    control: Control | None = None,
    command: str = "",
    allow_pickle: bool = False,
    shared: str | Path | None = None,
    **options: Any,
) -> Result:
    """Weigh every codec that can hold the data, on this machine.

    Args:
        data: A path, a built-in name, an object, or an opened Dataset.
        settings: What to do; single fields can be given as keyword arguments instead
            (``time_s=10``, ``codecs=("json:orjson",)``, ``media=("memory", "file")``, ...).
        plan: A Plan to run instead of the default stages.
        out: Where the record is saved; nowhere if None.
        resume: An interrupted record whose finished cases are used again.
        on_progress: Called with an Event between samples, never during one.
        control: How to stop the run from another thread or a signal handler.
        command: The command line, for the record.
        allow_pickle: Whether ``data`` may be a pickle file, which runs code when read.
        shared: Folder of the data sets that named plans use; None if there is none.
        **options: Fields of Settings.

    Returns:
        The Result; ``result.best`` is the route to use.

    Raises:
        DecodeError: The file is not what it should be.
        UsageError: A codec, medium or option does not exist.
        OSError: The file cannot be read, or the record cannot be written.

    Example:
        >>> from tare import measure
        >>> result = measure.run({"a": list(range(1000))}, time_s=4, codecs=("json:orjson", "pickle"))
        >>> sorted(case["status"] for case in result.cases if case["stage"] == "weigh")[0]
        'ok'
    """
    from tare.dataset import Dataset, open_dataset
    from tare.measure.result import Result

    settings = without_media(replace(settings or Settings(), **options))
    check_settings(settings)
    wiring = Wiring(out, resume, on_progress, control or Control(), command, shared)
    if plan is not None:
        from tare.measure.plan_run import run_plan

        return run_plan(plan, data, settings, wiring)
    began_s = time.monotonic()
    before = None if resume is None else Result.load(resume).record
    if before is not None and settings.max_bytes is None:
        # Free memory is another now, and of other data nothing could be used again.
        settings = replace(settings, max_bytes=(before.get("settings") or {}).get("max_bytes"))
    settings = replace(settings, max_bytes=bound_bytes(settings))
    if isinstance(data, Dataset):
        dataset = data
    else:
        refuse_many(data)
        dataset = open_dataset(data, allow_pickle=allow_pickle, max_bytes=settings.max_bytes)
    if settings.kind is None:
        settings = replace(settings, kind=kind_given(data, dataset))
    record = start_record(dataset, settings, command)
    with open_session(dataset, settings, record, wiring) as session:
        session.started_at = began_s  # opening is part of the time that was given
        try:
            try:
                measure_stages(session, before)
            finally:
                note_time(session)  # before the exchange, which is no part of the time
            if settings.exchange:
                from tare.measure.stages.exchange import measure_exchange

                measure_exchange(session)
        except Stopped:
            record["interrupted"] = True
        finish(session, out)
    return Result(record)


def without_media(settings: Settings) -> Settings:
    """The settings with codec ids for route ids; media that ``codecs`` names are those to measure on.

    Raises:
        UsageError: A medium that does not exist.

    >>> found = without_media(Settings(codecs=("arrow:pyarrow@file",), exclude=("orc@file",)))
    >>> found.codecs, found.media, found.exclude
    (('arrow:pyarrow',), ('file',), ('orc',))
    """
    routes = [split_route(text) for text in settings.codecs or ()]
    named = tuple(dict.fromkeys(medium for _, medium, _ in routes if medium is not None))
    return replace(
        settings,
        codecs=None if settings.codecs is None else tuple(codec for codec, _, _ in routes),
        exclude=tuple(codec_part(text) for text in settings.exclude),
        base=None if settings.base is None else codec_part(settings.base),
        media=settings.media or named or None,
    )


def check_settings(settings: Settings) -> None:
    """Refuse what no run could do, before anything is opened or started.

    Raises:
        UsageError: A codec, medium, link, remote host, constraint, kind, profile or time that does not exist.
    """
    from tare.codec import Codec
    from tare.measure.constraints import conditions
    from tare.measure.cost import PROFILES
    from tare.measure.foreign import language_of, name_of
    from tare.media import medium
    from tare.media.link import Link
    from tare.media.remote import Remote

    if settings.kind is not None and (refusal := FACTORS["kind"].refuses(settings.kind)):
        raise UsageError(f"{refusal}, not {settings.kind!r}")
    if settings.profile is not None and settings.profile not in PROFILES:
        raise UsageError(f"profile is one of {', '.join(PROFILES)}, not {settings.profile!r}")
    if settings.time_s != 0 and not LEAST_S <= settings.time_s < float("inf"):
        raise UsageError(
            f"time_s is 0 (no limit) or at least {LEAST_S:g} seconds, in which processes start and load, "
            f"not {settings.time_s!r}"
        )
    if not 0 < settings.deadline_s < float("inf"):
        raise UsageError(f"deadline_s is more than 0 seconds, not {settings.deadline_s!r}")
    if settings.share is not None and not 0 < settings.share <= 1:
        raise UsageError(f"share is a share of the data in (0, 1], not {settings.share!r}")
    if settings.threads not in (1, "all"):
        raise UsageError(f"threads is 1 or 'all', not {settings.threads!r}")
    for name in settings.media or ():
        if name == CONN:
            continue
        if medium(name).name == "remote" and not settings.remote:
            raise UsageError("the medium 'remote' needs the other host: --remote ssh://host")
    if settings.link:
        Link.parse(settings.link)
    if settings.remote:
        Remote.parse(settings.remote)
    if settings.base:
        if language := language_of(settings.base, settings.workers):
            raise UsageError(
                f"--base {settings.base}: is of the {name_of(language)} worker; the base is one of Python's codecs"
            )
        Codec.parse(settings.base).require()
    conditions((), settings.must)


def kind_given(data: Any, dataset: Dataset) -> str:
    """The in-memory kind of the object given; ``own`` for a path, a name or a document.

    >>> from tare.dataset import open_dataset
    >>> kind_given("synthpop:10", open_dataset("synthpop:10"))
    'own'
    """
    named = isinstance(data, str | bytes | os.PathLike) or hasattr(data, "read")
    # Of an opened Dataset only these kinds tell that an object was given: tables from files are Arrow too.
    sure = ("pandas", "polars") if data is dataset else ("arrow", "pandas", "polars")
    return dataset.source_kind if not named and dataset.source_kind in sure else "own"


def measure_stages(session: Session, before: dict[str, Any] | None = None) -> None:
    """Go through the stages of a default run; Stopped leaves what is finished.

    Args:
        session: The run.
        before: Record of an interrupted run to go on from; None for a fresh one.
    """
    settings, dataset = session.settings, session.dataset
    base = base_codec(session)
    codecs = candidates(session, base)
    session.tell("open", 1, 1, dataset.headline())
    if before is not None:
        adopt(session, before)
    elif session.journal is not None:
        session.journal.stage("codecs", session.record["codecs"])
    opened_s = session.elapsed_s
    small = small_part(session, base)
    # A medium with two ends is too slow to try everything on.
    medium = next((name for name in settings.media or () if name in ONE_END), _MEDIUM[dataset.kind])
    first_s = first_answer_s(settings.time_s, opened_s, session.elapsed_s)
    seats = screen(session, codecs, medium, small, first_s)
    barred = unfit(session, codecs)
    chosen = weighed_before(session, codecs) or (
        list(codecs) if settings.codecs else choose(seats, base, asked=asked_use(session), barred=barred)
    )
    chosen = [codec for codec in chosen if _alive(seats, codec)]
    if not settings.codecs and len(chosen) > 1:
        ranked = [seat for codec in chosen for seat in seats if seat.codec == codec]
        chosen = in_time(ranked, base, session.limit_s(1.0) - session.elapsed_s, session.start_s)
    if session.elapsed_s > session.limit_s(1.0) or not chosen:
        # A launch of all contenders would end nobody knows when; what was screened has a verdict.
        release(session, seats)
        session.tell(
            "screen", len(seats), len(seats), "the time is up: nothing was weighed; --time gives more"
        )
        return
    measure_chosen(session, chosen, seats, base, small)


def measure_chosen(
    session: Session, chosen: Sequence[Codec], seats: Sequence[Seat], base: Codec, small: Part
) -> None:
    """All that follows screening: weigh the chosen codecs on every medium, then peaks, probes and growth."""
    settings, dataset = session.settings, session.dataset
    media = settings.media or (_MEDIUM[dataset.kind],)
    probed = [seat.codec for seat in seats if seat.case["status"] in _PROBED]
    probed.sort(key=lambda codec: codec not in chosen)
    ends = session.limit_s(SHARES["weigh"])
    # The workers of screening have their libraries already.
    measure_fidelity(session, probed, session.elapsed_s + session.limit_s(_PROBING), seats)
    budget = (ends - session.elapsed_s) / len(media)
    start_s = session.start_s
    launches, most = plan_launches(budget, len(chosen), dataset.kind, quick=settings.quick, start_s=start_s)
    resumed = weighed_share(session)
    if not settings.codecs and not resumed:
        chosen = keep_base(list(chosen), base, most)
    fixed = settings.share or resumed
    share = fixed or small.share
    if chosen and not fixed:
        costs, tried = costs_of(session, [s for s in seats if s.codec in chosen], small, budget, launches)
        budget = (ends - session.elapsed_s) / len(media)
        launches, share = fit_launches(
            costs, small, dataset.bytes_memory, budget, launches, tried_bytes=tried, start_s=start_s
        )
    release(session, seats)
    note_weighing(session, chosen, share)
    part = session.part(share)
    everyone: list[Contender] = []
    for index, medium in enumerate(media):
        until = session.elapsed_s + (ends - session.elapsed_s) / (len(media) - index)
        contenders = contenders_on(session, medium, chosen, part)
        if not contenders:
            continue
        until = min(until, _UNLIMITED_S)
        if medium in ONE_END:
            weigh(session, contenders, base, part, until_s=until, launches=launches, peaks=True)
        else:
            from tare.measure.stages.stream import weigh_streams

            weigh_streams(session, contenders, base, part, until_s=until, launches=launches)
        everyone += contenders
    mark_screened(seats, chosen, part, unfit(session, [seat.codec for seat in seats]))
    show_on(session, media, seats)
    session.verdict("weigh", "weighed")
    local = [contender for contender in everyone if contender.case["labels"]["medium"] in ONE_END]
    measure_memory(session, local, part, session.limit_s(SHARES["memory"]))
    measure_growth(session, local, session.limit_s(SHARES["growth"]), share)
    measure_fidelity(session, probed, session.limit_s(SHARES["probe"]))


def contenders_on(session: Session, medium: str, chosen: Sequence[Codec], part: Part) -> list[Contender]:
    """The codecs that can be weighed on a medium; the others have a row there with the reason."""
    from tare.measure.supports import not_on

    found = []
    for codec in chosen:
        case = session.case(str(codec), part, "weigh", medium=medium)
        if reason := not_on(codec, medium):
            case.update(status="n/a", reason=reason)
            session.save_case(case)
        else:
            found.append(Contender(codec, case))
    return found


def adopt(session: Session, before: dict[str, Any]) -> None:
    """Take over the finished cases of an interrupted run; say what is measured again, and why."""
    from tare.measure.resume import reusable

    found = reusable(before, session.record)
    # Screening is done again: it chooses, and its workers go on with what follows.
    found.cases = {key: case for key, case in found.cases.items() if case.get("stage") in ("weigh", "growth")}
    session.adopted = dict(found.cases)
    session.record["resumed"] = {"used": 0, "lines": found.lines()}
    if not found.reasons and before.get("weighing"):
        session.record["weighing"] = before["weighing"]
    if session.journal is not None:
        # What is taken over is on the disk before the old journal of the same name goes.
        session.journal.head({**session.record, "cases": list(session.adopted.values())})
    for line in found.lines():
        session.tell("open", 1, 1, line)


def weighed_before(session: Session, codecs: Sequence[Codec]) -> list[Codec]:
    """The codecs that an interrupted run had begun to weigh."""
    weighed = {case["labels"]["codec"] for case in session.adopted.values() if case["stage"] == "weigh"}
    weighed |= set((session.record.get("weighing") or {}).get("codecs") or ())
    return [codec for codec in codecs if str(codec) in weighed]


def weighed_share(session: Session) -> float | None:
    """The share of the data that an interrupted run weighed, or had begun to; None if there is none."""
    begun = (session.record.get("weighing") or {}).get("share")
    shares = [float(case["labels"]["size"]) for case in session.adopted.values() if case["stage"] == "weigh"]
    return max(shares, default=begun)


def note_weighing(session: Session, chosen: Sequence[Codec], share: float) -> None:
    """Write down what is weighed before it is: a run that goes on with an interrupted one weighs the same."""
    session.record["weighing"] = {"share": share, "codecs": [str(codec) for codec in chosen]}
    if session.journal is not None:
        session.journal.stage("weighing", session.record["weighing"])


def keep_base(chosen: list[Codec], base: Codec, most: int) -> list[Codec]:
    """The best few, the base among them."""
    kept = chosen[:most]
    return kept if base in kept or base not in chosen else [*kept[:-1], base]


def mark_screened(
    seats: Sequence[Seat], chosen: Sequence[Codec], part: Part, barred: Mapping[Codec, str] | None = None
) -> None:
    """Codecs that were not weighed stay on screen, with the time predicted for the weighed size.

    One whose operations were not timed twice is predicted nothing: it counts as not reached.

    Args:
        seats: The screened seats.
        chosen: The codecs that were weighed.
        part: The part that was weighed.
        barred: Codecs that can never be chosen, and why: that is their reason, whatever was timed.
    """
    for seat in seats:
        case, never = seat.case, (barred or {}).get(seat.codec, "")
        if case["status"] == "pending" and never:
            case["reason"] = never
        if seat.codec in chosen or case["status"] not in ("ok", "lossy"):
            continue
        case["verdict_at_screening"] = case["status"]
        if not sure(seat):
            case["status"] = "pending"
            case["reason"] = never or "only its first calls were timed; --time gives more"
            continue
        scale = part.bytes_memory / max(1, seat.part.bytes_memory)
        case["predicted"] = {
            "size": part.label,
            "bytes": round(case["bytes"] * scale),
            "ops": {op: round((per_call_ns(seat, op) or 0.0) * scale) for op in seat.operations},
        }
        case["status"] = "screened"
        why = never or (
            f"{seat.distance:.0f} times over the best in every use"
            if seat.distance > BEATEN
            else "not among the best few at screening; --codec or more --time weighs it"
        )
        case["reason"] = f"{case['reason']}; {why}" if case["reason"] else why


def show_on(session: Session, media: Sequence[str], seats: Sequence[Seat]) -> None:
    """Show what became of each screened codec on the media that were asked for, and on no other.

    Screening takes a file or memory in place of a medium with two ends. Its times are not
    the medium's, so they go; what they were good for, the choice, stays with its reason.
    """
    for seat in seats:
        if seat.case["labels"]["medium"] in media:
            continue
        session.drop(seat.case)
        for medium in media:
            session.screened_on(medium, seat.case)


def base_codec(session: Session) -> Codec:
    """The codec all ratios refer to."""
    from tare.codec import Codec

    session.base = Codec.parse(session.settings.base or _BASE[session.dataset.kind])
    session.record["base"] = str(session.base)
    return session.base


def candidates(session: Session, base: Codec) -> list[Codec]:
    """The codecs to screen: those asked for, else every installed one; the base is always among them.

    What workers of other languages take to say what they have is no part of the time that was given.

    Raises:
        UsageError: A codec id does not exist, or nothing is left.
        Stopped: The user asked to stop while workers were asked what they have.
    """
    from tare.measure.supports import tried

    settings = session.settings
    began_s = time.monotonic()
    found, left_out = tried(settings, session.dataset, session.check)
    if settings.codecs or settings.exclude:
        # One that does not answer is waited for as long as a slow one may take; the others' time is theirs.
        asked_s = time.monotonic() - began_s
        session.started_at += asked_s
        session.record["asked_s"] = round(asked_s, 3)
    if left_out:
        session.record["left_out"] = left_out
    asked = base in found
    if not asked:
        found.insert(0, base)
    session.record["codecs"] = {
        str(codec): describe(codec, settings.threads, settings.workers) for codec in found
    }
    if not asked:
        # It is measured for the ratios, and is no answer to a question about others.
        session.record["codecs"][str(base)]["asked"] = False
    if not found:
        raise UsageError("no codec is left to measure: give --codec, or fewer --not")
    return found


def describe(codec: Codec, threads: int | str, workers: Collection[str] = ()) -> dict[str, Any]:
    """What the record says of a codec: everything resolved.

    Args:
        codec: The codec.
        threads: 1 or ``all``.
        workers: Languages whose worker is somebody's own.
    """
    from tare.measure.foreign import Foreign

    stand_in: object = codec
    if isinstance(stand_in, Foreign):
        own = {"given": True} if stand_in.language in workers else {}
        return {**stand_in.describe(threads), **own}
    return {
        "format": codec.format.id,
        "library": codec.library.name,
        "compressor": codec.compressor,
        "level": codec.level,
        "compressor_options": codec.compressor_options(),
        "options": dict(codec.options),
        "version": codec.library.version,
        "versions": codec.versions(),
        "threads": threads,
        "flags": codec.flags(),
    }


def start_record(
    dataset: Dataset, settings: Settings, command: str, plan: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The record before anything was measured."""
    from tare.measure.record import new_record

    record = new_record(
        command=command, plan=plan or {"name": "default"}, seed=settings.seed, directory=settings.directory
    )
    summary = dataset.summary()
    record["dataset"] = {**summary, "hash": dataset.hash(), "sizes": {}, "sampling": _sampling(dataset)}
    record["settings"] = {
        "time_s": settings.time_s,
        "profile": settings.profile,
        "link": settings.link,
        "allow_loss": list(settings.allow_loss),
        "must": list(settings.must),
        "share": settings.share,
        "max_bytes": settings.max_bytes,
    }
    record.setdefault("noise", {})
    record.setdefault("fidelity", {}).setdefault("probes", {})
    record.setdefault("cases", [])
    return record


def open_session(dataset: Dataset, settings: Settings, record: dict[str, Any], wiring: Wiring) -> Session:
    """The session of a run, with its journal if a record is to be saved."""
    from tare.measure.journal import Journal

    journal = None
    if wiring.out is not None:
        journal = Journal(Path(f"{wiring.out}l"))
    if journal is not None and wiring.resume is None:
        journal.head({name: value for name, value in record.items() if name != "cases"})
    try:
        return Session(dataset, settings, record, wiring, journal)
    except OSError:
        if journal is not None and wiring.resume is None:
            journal.remove()
        raise


def note_time(session: Session) -> None:
    """Fill in how long was measured, and how quiet it was meanwhile."""
    record = session.record
    record["elapsed_s"] = round(session.elapsed_s, 3)
    record["noise"].update(session.pressure_since_start())
    if session.settings.time_s:
        record["noise"]["overrun_s"] = round(max(0.0, session.elapsed_s - session.settings.time_s), 3)


def finish(session: Session, out: str | Path | None) -> None:
    """Derive, save, and drop the journal."""
    from tare.measure.derive import derive
    from tare.measure.result import Result

    session.reach.check_again()
    record = session.record
    record["cases"] = shown_cases(record)
    record["fidelity"]["own"] = {
        case["labels"]["codec"]: case["verify"] for case in record["cases"] if "verify" in case
    }
    record["derived"] = derive(record)
    if out is not None:
        Result(record).save(out)
        if session.journal is not None:
            session.journal.remove()


def _alive(seats: Sequence[Seat], codec: Codec) -> bool:
    case = next(seat.case for seat in seats if seat.codec == codec)
    return case["status"] in ("ok", "lossy")


def _sampling(dataset: Dataset) -> str:
    return f"contiguous blocks of {'rows' if dataset.kind == 'table' else 'items'}, spread over the data"
