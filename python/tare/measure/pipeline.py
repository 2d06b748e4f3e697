"""A default run, stage by stage: what people use over the whole data, then the others, then rounds in turn.

```
pass of the shortlist -> first answer -> the others on a small part, the promising ones on the whole
                      -> rounds in turn until the figures are narrow or the time is over
```
Method: docs/guides/how-tare-measures.md.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tare.codec.shortlist import beside
from tare.errors import UsageError
from tare.measure.cases import NOT_REACHED, ONE_END
from tare.measure.records.codec_entry import describe
from tare.measure.stages import END_S, SHARES
from tare.measure.stages.budget import fitting_share
from tare.measure.stages.growth import measure_growth
from tare.measure.stages.measurement import Measurement, column_read, lines_share
from tare.measure.stages.memory import measure_memory
from tare.measure.stages.probe import measure_fidelity
from tare.measure.stages.standings import least_ns
from tare.measure.stages.weigh import Contender
from tare.measure.stages.whole_sizes import can_write_whole, reserved, write_whole

if TYPE_CHECKING:
    from tare.codec import Codec
    from tare.measure.sampling.case_runner import Seat
    from tare.measure.session import Part, Session

__all__ = ["adopt", "base_codec", "candidates", "keep_base", "mark_unmeasured", "measure_stages"]

_BASE = {"document": "json:stdlib", "table": "parquet:pyarrow"}
_PROBED = ("ok", "lossy", "unproven", "refused")
_STREAMED = 8
"""Codecs measured on a medium with two ends."""
_UNLIMITED_S = 24 * 3600.0


def measure_stages(session: Session, before: dict[str, Any] | None = None) -> None:
    """Go through the stages of a default run; Stopped leaves what is finished.

    Args:
        session: The run.
        before: Record of an interrupted run to go on from; None for a fresh one.
    """
    from tare.measure.plan.availability import usual_medium

    settings, dataset = session.settings, session.dataset
    base = base_codec(session)
    codecs = candidates(session, base)
    session.tell("open", 1, 1, dataset.headline())
    if before is not None:
        adopt(session, before)
    elif session.journal is not None:
        session.journal.stage("codecs", session.record["codecs"])
    usual = usual_medium(settings, dataset.kind)
    media = settings.media or (usual,)
    local = [medium for medium in media if medium in ONE_END] or [usual]
    first, later = in_order(session, codecs, base)
    part = session.part(
        settings.share
        or weighed_share(session)
        or fitting_share(session, base, first, lines=_lines_beside(session))
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
    until_s = session.limit_s(SHARES["streams"]) if streams else session.end_s
    writes_whole = can_write_whole(session, races[0].part.share)
    end_s = until_s - session.limit_s(reserved(races[0].part.share)) if writes_whole else until_s
    for number, race in enumerate(races):
        left_s = (end_s - session.elapsed_s) / (len(races) - number)
        ends_s = session.elapsed_s + left_s
        # What may be the best is measured well before anything else is tried.
        race.rounds(session.elapsed_s + SHARES["first rounds"] * left_s, once=True)
        close = set(beside(race.part.kind, sequence=True))
        race.variants(
            [codec for codec in later if str(codec) in close],
            session.elapsed_s + SHARES["variants"] * (ends_s - session.elapsed_s),
        )
        # So are variants of it: the trial of one is a single call beside another's.
        race.rounds(session.elapsed_s + SHARES["first rounds"] * (ends_s - session.elapsed_s), once=True)
        rest = [codec for codec in later if str(codec) not in close]
        race.others(rest, session.elapsed_s + SHARES["others"] * (ends_s - session.elapsed_s))
        if not streams or race.medium in (session.settings.media or ()):
            race.control(session.elapsed_s + 0.5 * (ends_s - session.elapsed_s))
        race.rounds(ends_s)
        mark_unmeasured(race)
    if writes_whole:
        write_whole(session, races[0].seats, _named(session), until_s)
        races[0].rounds(until_s)  # in what writing did not take
    if session.elapsed_s < session.end_s - END_S:
        session.verdict("rounds", "rounds done")


def _named(session: Session) -> list[str]:
    """Returns the codecs that the answer names, the recommended one first."""
    from tare.measure.verdict.default_use import default_profile, link_of
    from tare.measure.verdict.recommend import recommend

    use = default_profile(session.record)
    verdict = recommend(session.record, profile=use, link=link_of(session.record, use))
    return [one["codec"] for name in ("chosen", "smallest", "fastest") if (one := verdict[name])]


def measure_streams(
    session: Session, race: Measurement, base: Codec, part: Part, media: Sequence[str]
) -> None:
    """Measures the best few on media with two ends, which are too slow to try everything on."""
    from tare.measure.stages.transfer import weigh_streams

    ranked = sorted((seat for seat in race.seats if seat.samples), key=lambda seat: seat.distance)
    chosen = [seat.codec for seat in ranked]
    if not session.settings.codecs:
        chosen = keep_base(chosen, base, _STREAMED)
    race.finish()
    ends_s = session.end_s
    for index, medium in enumerate(media):
        contenders = contenders_on(session, medium, chosen, part)
        until_s = session.elapsed_s + (ends_s - session.elapsed_s) / (len(media) - index)
        if contenders:
            weigh_streams(session, contenders, base, part, until_s=min(until_s, _UNLIMITED_S), launches=3)
    if race.medium not in (session.settings.media or ()):
        show_on(session, media, [*race.seats, *race.scouts])
    session.verdict("rounds", "rounds done")


def measure_rest(session: Session, races: Sequence[Measurement], part: Part) -> None:
    """Runs the probes in the time that remains and, with ``deep``, measures peaks of memory and growth."""
    seats = [seat for race in races for seat in race.seats]
    probed = [
        seat.codec for seat in sorted(seats, key=lambda one: one.distance) if seat.case["status"] in _PROBED
    ]
    measure_fidelity(session, probed, session.end_s + END_S / 4, seats)
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
        source_format=dataset.stored_as,
    )
    common = {id: place for place, id in enumerate(ids)}
    first = sorted((codec for codec in codecs if str(codec) in common), key=lambda codec: common[str(codec)])
    if base not in first:
        first.append(base)
    return first, [codec for codec in codecs if codec not in first]


def grains_of(session: Session) -> tuple[str, ...]:
    """Returns the grains to measure: ``whole``, and for lines of JSON ``each``, since one line is one message."""
    dataset = session.dataset
    lines = dataset.format is not None and dataset.format.id == "ndjson" and isinstance(dataset.value, list)
    return ("each", "whole") if lines and dataset.items > 1 else ("whole",)


def _lines_beside(session: Session) -> float:
    """The share of the data that is measured one call a line, beside the whole; 0 where no line is a message."""
    return lines_share(session.dataset.bytes_memory) if len(grains_of(session)) > 1 else 0.0


def mark_unmeasured(race: Measurement) -> None:
    """Predicts the figures of codecs that were tried on the small part only, and gives the reason."""
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
    from tare.measure.plan.availability import not_on

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
    from tare.measure.records.resume import reusable

    found = reusable(before, session.record)
    # Trials on a small part are done again: they decide what is measured on the whole.
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


def weighed_share(session: Session) -> float | None:
    """The share of the data that an interrupted run weighed, or had begun to; None if there is none."""
    begun = (session.record.get("weighing") or {}).get("share")
    shares = [float(case["labels"]["size"]) for case in session.adopted.values() if case["stage"] == "weigh"]
    return max(shares, default=begun)


def note_weighing(session: Session, chosen: Sequence[Codec], share: float) -> None:
    """Write down what is weighed before it is: a run that goes on with an interrupted one weighs the same."""
    session.record["weighing"] = {"share": share, "codecs": [str(codec) for codec in chosen]}
    if column := column_read(session):
        session.record["weighing"]["part"] = column
    if session.journal is not None:
        session.journal.stage("weighing", session.record["weighing"])


def keep_base(chosen: list[Codec], base: Codec, most: int) -> list[Codec]:
    """The best few, the base among them."""
    kept = chosen[:most]
    return kept if base in kept or base not in chosen else [*kept[:-1], base]


def show_on(session: Session, media: Sequence[str], seats: Sequence[Seat]) -> None:
    """Lists the result of each tried codec under the media that were asked for, and under no other.

    A file or memory stands in for a medium with two ends. Its times are not those of the medium, so they are
    dropped; the status stays with its reason.
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
    """Returns the codecs to measure: those asked for, else those tried by default; the base is always among them.

    The time in which workers of other languages list their codecs does not count towards the limit.

    Raises:
        UsageError: A codec id does not exist, or nothing is left.
        Stopped: The user asked to stop while workers were asked what they have.
    """
    from tare.measure.plan.availability import tried

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
        # It is measured for the ratios alone and is never recommended.
        session.record["codecs"][str(base)]["asked"] = False
    if not found:
        raise UsageError("no codec is left to measure: give --codec, or fewer --not")
    return found
