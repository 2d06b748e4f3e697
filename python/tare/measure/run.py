"""A whole measurement: open the data, go through the stages, derive, save.

```
open -> screen -> probe -> weigh -> memory -> growth -> probe -> derive
```
It prints nothing; a display is told by events, and a plan is run by ``plan_run``.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tare.codec.route_ids import codec_part, split_route
from tare.errors import UsageError
from tare.measure.cases import CONN, FACTORS, ONE_END
from tare.measure.estimate import least_ns
from tare.measure.limits import with_limits
from tare.measure.mains import shown_cases
from tare.measure.one_file import refuse_many
from tare.measure.pipeline import Measurement
from tare.measure.session import Control, Event, Session, Stopped, Wiring
from tare.measure.settings import Settings
from tare.measure.stages import END_S, END_SHARE, SHARES
from tare.measure.stages.fit import fitting_share
from tare.measure.stages.growth import measure_growth
from tare.measure.stages.memory import measure_memory
from tare.measure.stages.probe import measure_fidelity
from tare.measure.stages.trials import NOT_REACHED
from tare.measure.stages.weigh import Contender

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
_STREAMED = 8
"""Codecs measured on a medium with two ends."""
_HASHED_AT_ONCE = 32 << 20
"""Bytes in memory of a document from which on its hash is computed beside the first pass."""
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
    from tare.dataset import open_dataset
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
    if not isinstance(data, str | bytes | os.PathLike) and not hasattr(data, "read"):
        data, given = open_dataset(data), data
    else:
        given = data
        refuse_many(data)
    settings = with_limits(settings, data)
    dataset = open_dataset(data, allow_pickle=allow_pickle, max_bytes=settings.max_bytes)
    if settings.kind is None:
        settings = replace(settings, kind=kind_given(given, dataset))
    record = start_record(dataset, settings, command, hash_late=before is None)
    with open_session(dataset, settings, record, wiring) as session:
        session.started_at = began_s  # opening is part of the time that was given
        hash_beside(session)
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
    if settings.limit_s != 0 and not LEAST_S <= settings.limit_s < float("inf"):
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
    media = settings.media or (_MEDIUM[dataset.kind],)
    local = [medium for medium in media if medium in ONE_END] or [_MEDIUM[dataset.kind]]
    first, later = in_order(session, codecs, base)
    part = session.part(
        settings.share
        or weighed_share(session)
        or fitting_share(session, base, len(first) * len(grains_of(session)))
    )
    note_weighing(session, codecs, part.share)
    races = [Measurement(session, base, part, medium, asked=medium in media) for medium in local]
    try:
        measure_local(session, races, first, later, streams=not set(media) <= set(local))
        if streams := [medium for medium in media if medium not in ONE_END]:
            measure_streams(session, races[0], base, part, streams)
        measure_rest(session, races, part)
    finally:
        for race in races:
            race.finish()


def measure_local(
    session: Session,
    races: Sequence[Measurement],
    first: Sequence[Codec],
    later: Sequence[Codec],
    *,
    streams: bool,
) -> None:
    """Measures on media with one end: a pass of what people use, the first answer, the others, rounds."""
    end_s = session.limit_s(SHARES["streams"]) if streams else last_s(session)
    grains = grains_of(session)
    for race in races:
        race.first_pass(
            first, grains if race.medium == "memory" else ("whole",), session.limit_s(SHARES["pass"])
        )
    session.record["noise"]["timer_floor_ns"] = next(
        (seat.floor_ns() for race in races for seat in race.seats if seat.alive), None
    )
    session.wait_for_hash()
    races[0].answer()
    for number, race in enumerate(races):
        left_s = (end_s - session.elapsed_s) / (len(races) - number)
        ends_s = session.elapsed_s + left_s
        race.others(later, session.elapsed_s + SHARES["others"] * left_s)
        if not streams or race.medium in (session.settings.media or ()):
            race.control(session.elapsed_s + 0.5 * (ends_s - session.elapsed_s))
        race.rounds(ends_s)
        mark_unmeasured(race)
    if session.elapsed_s < last_s(session) - END_S:
        session.verdict("rounds", "measured")


def last_s(session: Session) -> float:
    """Returns when the last sample ends, in elapsed seconds of the run: figures and reports take time too."""
    return session.limit_s(1 - END_SHARE) - END_S


def measure_streams(
    session: Session, race: Measurement, base: Codec, part: Part, media: Sequence[str]
) -> None:
    """Measures the best few on media with two ends, which are too slow to try everything on."""
    from tare.measure.stages.stream import weigh_streams

    ranked = sorted((seat for seat in race.seats if seat.samples), key=lambda seat: seat.distance)
    chosen = [seat.codec for seat in ranked]
    if not session.settings.codecs:
        chosen = keep_base(chosen, base, _STREAMED)
    race.finish()
    ends_s = last_s(session)
    for index, medium in enumerate(media):
        contenders = contenders_on(session, medium, chosen, part)
        until_s = session.elapsed_s + (ends_s - session.elapsed_s) / (len(media) - index)
        if contenders:
            weigh_streams(session, contenders, base, part, until_s=min(until_s, _UNLIMITED_S), launches=3)
    if race.medium not in (session.settings.media or ()):
        show_on(session, media, [*race.seats, *race.scouts])
    session.verdict("rounds", "measured")


def measure_rest(session: Session, races: Sequence[Measurement], part: Part) -> None:
    """What the answer does not need, in the time that remains: probes of values; with ``deep`` peaks of memory and growth."""
    seats = [seat for race in races for seat in race.seats]
    probed = [
        seat.codec for seat in sorted(seats, key=lambda one: one.distance) if seat.case["status"] in _PROBED
    ]
    measure_fidelity(session, probed, last_s(session) + END_S / 4, seats)
    if not session.settings.deep:
        return
    contenders = [
        Contender(seat.codec, seat.case) for seat in seats if seat.case["status"] in ("ok", "lossy")
    ]
    for race in races:
        race.finish()
    measure_memory(session, contenders, part, session.limit_s(SHARES["memory"]))
    measure_growth(session, contenders, session.limit_s(1.0), part.share)


def in_order(session: Session, codecs: Sequence[Codec], base: Codec) -> tuple[list[Codec], list[Codec]]:
    """The codecs of the first pass, likeliest first, and those after it: all that were named are in the first."""
    if session.settings.codecs:
        return list(codecs), []
    from tare.codec.shortlist import shortlist

    dataset = session.dataset
    ids = shortlist(
        dataset.kind,
        sequence=dataset.kind == "document" and isinstance(dataset.value, list),
        source_format=dataset.format.id if dataset.format is not None else None,
    )
    common = {id: place for place, id in enumerate(ids)}
    first = sorted((codec for codec in codecs if str(codec) in common), key=lambda codec: common[str(codec)])
    if base not in first:
        first.append(base)
    return first, [codec for codec in codecs if codec not in first]


def grains_of(session: Session) -> tuple[str, ...]:
    """What one call is given: the whole, and of lines of JSON each line, as a message is one line."""
    dataset = session.dataset
    lines = dataset.format is not None and dataset.format.id == "ndjson" and isinstance(dataset.value, list)
    return ("each", "whole") if lines and dataset.items > 1 else ("whole",)


def mark_unmeasured(race: Measurement) -> None:
    """Says of those that were tried on the small part only what they would take on the whole, and why not more is known."""
    for scout in race.scouts:
        case = scout.case
        if case["status"] not in ("ok", "lossy"):
            continue
        scale = race.part.bytes_memory / max(1, scout.part.bytes_memory)
        times = {operation: least_ns(scout, operation) for operation in scout.operations}
        if any(time is None for time in times.values()):
            case.update(status="pending", reason=NOT_REACHED)
            continue
        case["verdict_at_screening"] = case["status"]
        case["predicted"] = {
            "size": race.part.label,
            "bytes": round(case["bytes"] * scale),
            "ops": {operation: round((time or 0.0) * scale) for operation, time in times.items()},
        }
        case["status"] = "screened"
        case["reason"] = f"{scout.distance:.3g} times the best, on a small part of the data"


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
    dataset: Dataset,
    settings: Settings,
    command: str,
    plan: dict[str, Any] | None = None,
    *,
    hash_late: bool = False,
) -> dict[str, Any]:
    """The record before anything was measured.

    Args:
        dataset: The data.
        settings: What was asked for.
        command: The command line.
        plan: The plan's head; None for a default run.
        hash_late: Whether the hash of a large document may be left to `hash_beside`.
    """
    from tare.measure.record import new_record

    record = new_record(
        command=command, plan=plan or {"name": "default"}, seed=settings.seed, directory=settings.directory
    )
    summary = dataset.summary()
    late = hash_late and dataset.kind == "document" and dataset.bytes_memory > _HASHED_AT_ONCE
    record["dataset"] = {
        **summary,
        "hash": None if late else dataset.hash(),
        "sizes": {},
        "sampling": _sampling(dataset),
    }
    record["settings"] = {
        "time_s": settings.time_s,
        "profile": settings.profile,
        "link": settings.link,
        "allow_loss": list(settings.allow_loss),
        "must": list(settings.must),
        "share": settings.share,
        "all_codecs": settings.all_codecs,
        "max_bytes": settings.max_bytes,
    }
    record.setdefault("noise", {})
    record.setdefault("fidelity", {}).setdefault("probes", {})
    record.setdefault("cases", [])
    return record


def hash_beside(session: Session) -> None:
    """Hashes a large document while codecs are tried: it takes longer than parsing it."""
    if session.block["hash"] is not None:
        return

    def work() -> None:
        session.block["hash"] = session.dataset.hash()
        if session.journal is not None and session.journal.started:
            session.journal.stage("dataset", {"hash": session.block["hash"]})

    session.hashing = threading.Thread(target=work, daemon=True)
    session.hashing.start()


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
    if session.settings.limit_s:
        record["noise"]["overrun_s"] = round(max(0.0, session.elapsed_s - session.settings.limit_s), 3)


def finish(session: Session, out: str | Path | None) -> None:
    """Derive, save, and drop the journal."""
    from tare.measure.derive import derive
    from tare.measure.result import Result

    session.reach.check_again()
    session.wait_for_hash()
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


def _sampling(dataset: Dataset) -> str:
    return f"contiguous blocks of {'rows' if dataset.kind == 'table' else 'items'}, spread over the data"
