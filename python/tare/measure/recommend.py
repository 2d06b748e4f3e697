"""The verdict: one route for a use, its runner-up, how sure that is, and what would change it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tare.errors import UsageError
from tare.measure import smallness, wording
from tare.measure.analysis import Analysis, analyse
from tare.measure.constraints import Condition, allowed, barred, conditions, losses
from tare.measure.copied import copying, idle
from tare.measure.cost import PROFILES, Costed, Profile, cost, wins
from tare.measure.curves import full_share, growth_rows
from tare.measure.flips import flips
from tare.measure.full_size import costed
from tare.measure.mains import TOTAL, USUAL, main_cases, main_stage, number, of_one_work
from tare.measure.statistics import FIRM, Array, quantiles
from tare.measure.ties import SURE_IN_NOISE, tie_of

__all__ = ["Choice", "Evidence", "choose", "default_profile", "gather", "recommend"]

# What a file medium is taken for when none was measured, in bytes per second.
ASSUMED_FILE = 1e9
# Documents and lines below this are messages, and are sent one by one.
MESSAGE_BYTES = 64 << 10


@dataclass(frozen=True)
class Evidence:
    """What a verdict rests on.

    Args:
        record: The record.
        analysis: Its figures.
        growth: Its growth rows.
    """

    record: Mapping[str, Any]
    analysis: Analysis
    growth: Sequence[Mapping[str, Any]]


@dataclass
class Choice:
    """Who may be chosen, and who may not and why.

    Args:
        profile: The use, with the link and weights asked for.
        medium: Medium whose measured times are used.
        several: Codecs that qualify.
        base: The base's figures, qualified or not; None if it was not measured.
        excluded: (codec, names of the conditions it fails, reason).
        cases: Case behind each codec.
        notes: What was assumed.
        predicted: Whether times are predicted for the whole data from a part.
        flags: Flags of each codec's format.
        unreached: Codecs for which the time did not suffice.
    """

    profile: Profile
    medium: str
    several: list[Costed]
    base: Costed | None
    excluded: list[tuple[str, tuple[str, ...], str]]
    cases: dict[str, dict[str, Any]]
    notes: list[str]
    predicted: bool
    flags: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    unreached: list[str] = field(default_factory=list)

    @property
    def waiting(self) -> list[str]:
        """Codecs that hold the data as far as is known and were not weighed: one of them may be the best."""
        return [codec for codec, names, _ in self.excluded if names[0] in ("measured", "screened")]

    def runs_code(self, codec: str) -> bool:
        """Whether reading the codec's format runs code that the bytes name."""
        return bool(self.flags.get(codec, {}).get("executes_code"))


def default_profile(record: Mapping[str, Any]) -> str:
    """Returns the use the headline is for: as asked, else ``message`` for small documents and lines, ``keep`` for the rest.

    >>> default_profile({"dataset": {"kind": "table"}})
    'keep'
    >>> default_profile({"dataset": {"kind": "document", "items": 1, "bytes_memory": 900, "bytes_disk": 246}})
    'message'
    """
    asked = (record.get("settings") or {}).get("profile")
    if asked in PROFILES:
        return str(asked)
    dataset = record.get("dataset") or {}
    small = dataset.get("kind") == "document" and _item_bytes(dataset) < MESSAGE_BYTES
    return "message" if small else "keep"


def _item_bytes(dataset: Mapping[str, Any]) -> float:
    """Bytes of one message: of lines of JSON their mean, else the whole document; encoded, as far as is known."""
    items = dataset.get("items") or 1
    size = float(dataset.get("bytes_disk") or dataset.get("bytes_memory") or 0)
    return size / items if dataset.get("source_format") == "ndjson" else size


def recommend(  # noqa: PLR0913 - one keyword for each thing a user may ask
    record: Mapping[str, Any],
    derived_cases: Mapping[str, Any] | None = None,
    profile: str | None = None,
    *,
    allow_loss: Sequence[str] = (),
    must: Sequence[str] = (),
    link: str | None = None,
    gb_seconds: float | None = None,
    weights: tuple[float, float] | None = None,
    evidence: Evidence | None = None,
) -> dict[str, Any]:
    """Recommend one route of a record for a use.

    Args:
        record: A record, version 1.
        derived_cases: Not needed; the figures are computed from the samples again.
        profile: ``cache``, ``archive``, ``message``, ``exchange`` or ``random``; None for the default.
        allow_loss: Paths whose silent change is put up with; ``*`` for all.
        must: ``keep-types``, ``untrusted``, ``append``, ``subset``, ``readable:LANGUAGE``.
        link: ``RATE,RTT``, as ``1Gbit,0.3ms``: the bytes go over this instead of the profile's own.
        gb_seconds: Seconds worth spending to save 1 GB, instead of the profile's own.
        weights: (writes, reads) instead of the profile's own.
        evidence: Figures and growth rows of the record, if at hand.

    Returns:
        ``profile, route, codec, key, runner_up, p_best, p, cost_s, tie, named, vague, noise,
        executes_code, provisional, small, weights, sentence, reasons, flips, excluded``; ``route`` is None when
        nothing qualifies, ``vague`` says that the costs of the tie lie too far apart to choose by size,
        ``noise`` is the noise floor where it is too high for sure words, else 0, and ``small`` says that the data is too small for its times to matter.

    Raises:
        UsageError: A profile, condition or link that does not exist.

    Example:
        >>> nothing = recommend({"cases": [], "codecs": {}}, profile="cache")
        >>> nothing["route"], nothing["sentence"]
        (None, 'No route for cache: no codec was measured.')
    """
    use = _profile(profile or default_profile(record), link, gb_seconds, weights)
    evidence = evidence or gather(record)
    choice = choose(evidence, use, conditions(use.conditions, must), allow_loss)
    if not choice.several:
        return _nothing(choice, [condition.name for condition in conditions((), must)])
    return smallness.settled(_verdict(choice, evidence.analysis), choice)


def gather(record: Mapping[str, Any]) -> Evidence:
    """The figures and growth rows of a record."""
    analysis = analyse(record)
    return Evidence(record, analysis, growth_rows(record, analysis))


def _profile(
    name: str, link: str | None, gb_seconds: float | None, weights: tuple[float, float] | None
) -> Profile:
    if name not in PROFILES:
        raise UsageError(f"profile {name!r} does not exist; there are {', '.join(PROFILES)}")
    use = PROFILES[name].with_link(link)
    if gb_seconds is not None:
        use = replace(use, seconds_per_byte=gb_seconds / 1e9)
    if weights is not None:
        use = replace(use, says="as asked", writes=float(weights[0]), reads=float(weights[1]))
    if not all(math.isfinite(x) and x >= 0 for x in (use.writes, use.reads, use.seconds_per_byte)):
        raise UsageError("weights and seconds per GB must be 0 or more")
    return use


def choose(
    evidence: Evidence, use: Profile, wanted: Sequence[Condition], allow_loss: Sequence[str]
) -> Choice:
    """Sort the codecs of a record into those that qualify for a use and those that do not."""
    record, analysis = evidence.record, evidence.analysis
    notes: list[str] = []
    mains = main_cases(record, grain=_grain(record, use, notes))
    stage, size = main_stage(record)
    # A codec that was tried on a small part only is in no race with those that were weighed.
    weighed = {
        at: case
        for at, case in mains.items()
        if (case.get("stage", "weigh"), case["labels"].get("size", "1")) == (stage, size)
    }
    weighed, odd = of_one_work(weighed)
    notes += _work_note(record, odd)
    # One way alone is in no race with both, unless the whole plan asked for one way.
    both = {at: case for at, case in weighed.items() if len(case.get("operations") or ()) != 1}
    weighed = both or weighed
    if not both:
        use = _one_way(weighed, use, notes)
    medium, use = _medium(weighed, analysis, use, notes)
    full = full_share(record) / (number(size) or 1.0)
    choice = Choice(use, medium, [], None, [], {}, notes, not math.isclose(full, 1.0))
    if choice.predicted:
        notes.append(f"provisional: predicted from {wording.percent(1 / full)} of the data")
    per_byte = copying(record, analysis)
    names = list(record.get("codecs") or {})
    names += [codec for codec, _ in mains if codec not in names]
    for codec in names:
        case = mains.get((codec, medium)) or next(
            (c for (name, _), c in mains.items() if name == codec), None
        )
        one = None
        if case is not None:
            choice.cases[codec] = case
            one = (
                costed(case, analysis, evidence.growth, full, str(record.get("id", "")))
                if (codec, medium) in weighed
                else None
            )
        if codec == analysis.base:
            choice.base = one
        entry = (record.get("codecs") or {}).get(codec) or {}
        if case is not None and case.get("status") == "pending" and not barred(entry, wanted):
            choice.unreached.append(codec)
        choice.flags[codec] = entry.get("flags") or {}
        failed, why = _unfit(case, one, allow_loss)
        if failed == ("measured",) and barred(entry, wanted):
            # Time would not help it.
            known = [condition for condition in wanted if condition.by_flags]
            failed, why = _failing(entry, {}, None, use, known)
        elif not why and case is not None and one is not None:
            failed, why = _failing(entry, case, one, use, wanted)
        reads = not why and case is not None and use.reads + use.subset_reads > 0
        if reads and case and idle(record, case, analysis.figures.get(case["key"], {}), per_byte):
            failed, why = ("idle",), wording.IDLE
        if not why and entry.get("asked") is False:
            failed, why = ("asked",), "there for comparison: it was not asked for"
        if why or one is None:
            choice.excluded.append((codec, failed, why))
        else:
            choice.several.append(one)
    notes += _short_of_time(choice)
    return choice


def _one_way(weighed: Mapping[tuple[str, str], Mapping[str, Any]], use: Profile, notes: list[str]) -> Profile:
    """The use without the way that was not measured: it would count as no time at all."""
    ways = {operation for case in weighed.values() for operation in case.get("operations") or ()}
    if ways and ways <= {"decode", "read", "receive"} and use.writes:
        notes.append(wording.READING_ALONE)
        return replace(use, writes=0.0)
    if ways and ways <= {"encode", "write", "send"} and use.reads:
        notes.append(wording.WRITING_ALONE)
        return replace(use, reads=0.0)
    return use


def _short_of_time(choice: Choice) -> list[str]:
    # What was encoded once was reached, and its first calls are no times to compare.
    untimed = sum(choice.cases[codec].get("bytes") is not None for codec in choice.unreached)
    some, of = len(choice.unreached) - untimed, len(choice.several) + len(choice.excluded)
    return [f"provisional: {wording.unreached(some, of, untimed)}"] if choice.unreached else []


def _grain(record: Mapping[str, Any], use: Profile, notes: list[str]) -> str:
    """One call per document where messages are small, if that was measured."""
    mean = ((record.get("dataset") or {}).get("shape") or {}).get("mean_doc_bytes")
    each = any(
        case["labels"].get("grain") == "each" and case.get("launches") for case in record.get("cases", ())
    )
    if use.name == "message" and each and mean is not None and mean < MESSAGE_BYTES:
        notes.append(f"one call per document, as documents are {mean:.0f} bytes on average")
        return "each"
    return "whole"


def _work_note(record: Mapping[str, Any], odd: Mapping[str, str]) -> list[str]:
    """What the verdict is of, where other data, or other forms of it, were measured too; parts and orders go without saying."""
    cases = [case["labels"] for case in record.get("cases", ())]
    several = [
        name
        for name in ("kind", "content")
        if len({labels.get(name, USUAL[name]) for labels in cases if labels.get("codec") != "copy"}) > 1
    ]
    told = ", ".join(f"{name} {odd.get(name, USUAL[name])}" for name in several)
    return [f"of {told} alone; the rest stands in the tables"] if told else []


def _medium(
    mains: Mapping[tuple[str, str], Mapping[str, Any]], analysis: Analysis, use: Profile, notes: list[str]
) -> tuple[str, Profile]:
    """The medium whose times are used, and the use with what had to be assumed."""
    timed = {medium for (_, medium), case in mains.items() if TOTAL in analysis.figures.get(case["key"], {})}
    streams = [medium for medium in ("link", "remote", "tcp", "unix", "fifo") if medium in timed]
    local = [medium for medium in use.measured if medium in timed]
    if (
        use.name == "message"
        and not use.linked
        and streams
        and (streams[0] in ("link", "remote") or not local)
    ):
        notes.append(f"the measured span over {streams[0]}")
        return streams[0], replace(use, medium=streams[0], bytes_per_s=math.inf, rtt_s=0.0)
    if not local:
        if not streams:
            return use.measured[0], use
        notes.append(f"the measured span over {streams[0]}")
        return streams[0], replace(use, medium=streams[0], bytes_per_s=math.inf, rtt_s=0.0)
    medium = local[0]
    if use.measured[0] == "memory" and medium == "file":
        notes.append("encode and decode taken from warm files, as memory was not measured")
    if medium == "store":
        notes.append("writing and reading taken from the store, as nothing else was measured")
        use = replace(use, medium="store")
    if use.measured[0] == "file" and medium == "memory" and not use.linked:
        notes.append(f"no file was measured: its medium taken as {wording.rate(ASSUMED_FILE)}")
        use = replace(use, bytes_per_s=ASSUMED_FILE)
    return medium, use


def _unfit(
    case: Mapping[str, Any] | None, one: Costed | None, allow_loss: Sequence[str]
) -> tuple[tuple[str, ...], str]:
    """Why a codec's case cannot be ranked at all: what it is called, and the reason in words."""
    if case is None:
        return ("measured",), "was not measured"
    status, lost = case.get("status"), losses(case.get("verify"))
    if status == "lossy" or lost:
        if not allowed(case.get("verify"), allow_loss):
            return (
                "loss",
            ), f"changes data silently: {wording.listed(lost)}" if lost else "changes data silently"
    elif status == "pending":
        return ("measured",), case.get("reason") or "the time ran out before it was measured"
    elif status != "ok":
        return (str(status),), wording.failure(str(status), str(case.get("reason") or ""))
    if one is None:
        return ("measured",), "was not measured both ways at this size and on this medium"
    return (), ""


def _failing(
    entry: Mapping[str, Any],
    case: Mapping[str, Any],
    one: Costed | None,
    use: Profile,
    wanted: Sequence[Condition],
) -> tuple[tuple[str, ...], str]:
    """Which conditions a codec fails, and why in words; empty if it qualifies."""
    failed = [
        (condition.name, text)
        for condition in wanted
        if (text := condition.failing(entry, case.get("verify") or {}))
    ]
    if (
        one is not None
        and use.subset_reads
        and one.subset_s is None
        and not any(name == "subset" for name, _ in failed)
    ):
        failed.append(("subset measured", "no reading of a part was measured"))
    return tuple(name for name, _ in failed), "; ".join(text for _, text in failed)


def _verdict(choice: Choice, analysis: Analysis) -> dict[str, Any]:
    use = choice.profile
    costs = {one.codec: cost(one, use) for one in choice.several}
    shares = dict(zip(costs, wins([draws for _, draws in costs.values()]), strict=True))
    tie = tie_of(choice.several, costs, shares, analysis, use)
    if tie.noise >= 1:
        # Draws know rounds and launches; what moves the base by a multiple moves any other as well.
        shares = {codec: min(share, SURE_IN_NOISE) for codec, share in shares.items()}
    winner = tie.winner
    if tie.noise:
        choice.notes.append(f"provisional: the machine was too noisy: {wording.noise_floor(tie.noise)}")
    others = sorted((one for one in choice.several if one is not winner), key=lambda one: costs[one.codec][0])
    cheapest = min(tie.members, key=lambda one: costs[one.codec][0])
    # One alone is the best of nothing; where others were tried it is no choice either.
    early = not others and bool(choice.waiting)
    few = analysis.figures[winner.key][TOTAL].launches < FIRM
    if few:
        choice.notes.append(f"provisional: fewer than {FIRM} launches")
    verdict = {
        "profile": use.name,
        "weights": use.weights(),
        "route": f"{winner.codec}@{use.medium}",
        "codec": winner.codec,
        "key": winner.key,
        "runner_up": others[0].codec if others else None,
        "p_best": shares[winner.codec] if others else None,
        "p": shares,
        "cost_s": {codec: [point, *_ends(point, draws)] for codec, (point, draws) in costs.items()},
        "tie": [one.codec for one in tie.members],
        "named": tie.named and not early,
        "vague": tie.vague or early,
        "noise": tie.noise,
        "executes_code": choice.runs_code(winner.codec),
        "provisional": few or choice.predicted or tie.noise > 0 or bool(choice.unreached) or early,
        "flips": flips(winner, choice, costs) if tie.named else flips(cheapest, choice, costs, tie.members),
        "excluded": [{"codec": codec, "reason": reason} for codec, _, reason in choice.excluded],
    }
    base_cost = cost(choice.base, use)[0] if choice.base is not None and _complete(choice.base, use) else None
    verdict["sentence"] = wording.sentence(verdict, choice, winner, others, base_cost)
    verdict["reasons"] = wording.reasons(verdict, choice, winner, others)
    return verdict


def _complete(one: Costed, use: Profile) -> bool:
    return not use.subset_reads or one.subset_s is not None


def _ends(point: float, draws: Array) -> tuple[float, float]:
    lo, hi = quantiles(draws)
    return min(point, float(lo)), max(point, float(hi))


def _nothing(choice: Choice, must: Sequence[str]) -> dict[str, Any]:
    """No codec qualifies: say which condition removed whom, and what to give up."""
    sentence, reasons = wording.nothing(
        choice.profile.name,
        choice.excluded,
        own=choice.profile.conditions,
        must=must,
        provisional=bool(choice.unreached),
    )
    return {
        "profile": choice.profile.name,
        "weights": choice.profile.weights(),
        "small": False,
        "route": None,
        "codec": None,
        "key": None,
        "runner_up": None,
        "p_best": None,
        "p": {},
        "cost_s": {},
        "tie": [],
        "named": False,
        "vague": False,
        "noise": 0.0,
        "executes_code": False,
        "provisional": bool(choice.unreached),
        "sentence": sentence,
        # How times were come by is no news where no time decided.
        "reasons": reasons + _short_of_time(choice),
        "flips": [],
        "excluded": [{"codec": codec, "reason": reason} for codec, _, reason in choice.excluded],
    }
