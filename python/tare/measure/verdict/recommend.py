"""The verdict: one route for a use, how sure that is, what stands beside it, and what would change it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tare.codec.titles import title_of
from tare.errors import UsageError
from tare.measure.analysis.figures import Analysis
from tare.measure.analysis.ranked_cases import TOTAL
from tare.measure.analysis.statistics import Array, quantiles
from tare.measure.verdict import figures, gains, text
from tare.measure.verdict.break_even import flips
from tare.measure.verdict.choice import Choice, Evidence, choose, gather, short_of_time
from tare.measure.verdict.confidence import FEW_SAMPLES, Confidence, confidence_of
from tare.measure.verdict.constraints import conditions
from tare.measure.verdict.cost_model import PROFILES, Costed, Profile, cost, wins
from tare.measure.verdict.default_use import default_profile
from tare.measure.verdict.negligible import TINY_BYTES, is_small, keeps_file, no_matter, preference, preferred

__all__ = ["recommend"]


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
        record: A record, version 1 or 2.
        derived_cases: Not needed; the figures are computed from the samples again.
        profile: ``keep``, ``cache``, ``archive``, ``exchange``, ``message`` or ``random``; None for the default.
        allow_loss: Paths whose silent change is put up with; ``*`` for all.
        must: ``keep-types``, ``untrusted``, ``append``, ``subset``, ``readable:LANGUAGE``.
        link: ``RATE,RTT``, as ``1Gbit,0.3ms``: the bytes go over this instead of the profile's own.
        gb_seconds: Seconds worth spending to save 1 GB, instead of the profile's own.
        weights: (writes, reads) instead of the profile's own.
        evidence: Figures and growth rows of the record, if at hand.

    Returns:
        ``profile, weights, linked, route, codec, key``: what to use, and whether over a link that was given; ``route`` is None only when nothing qualifies.
        ``confidence, why, rivals, near_best``: ``clear``, ``close`` or ``can't tell``, what keeps it from being clear,
        the codecs that may be as good, and the share of draws in which none costs a tenth less.
        ``chosen, fastest, smallest, source, reference, figures``: sizes and seconds of the whole data, or of one message
        where ``messages`` says of how many; ``share``: how much of the data was measured; ``part``: the column that is read; ``beside, keeps,
        doubt, preferred, only_ours``: the gain, what comes back, what is not sure, why it is not the cheapest, and whether
        only Tare reads its format, in words; ``for_others``: then the codec that costs least of those that others read. ``cost_s, p, p_best, runner_up, tie, noise``: the costs behind it, without the round
        trip, which is the same for all. ``small`` says that no choice can be felt, ``keeps_file`` then to keep the
        file, or that the table has no rows, in words; ``source_costs`` is the cost of the format that the user has, as a multiple. ``sentence, reasons, flips,
        excluded, executes_code, provisional, named`` as reports need them.

    Raises:
        UsageError: A profile, condition or link that does not exist.

    Example:
        >>> nothing = recommend({"cases": [], "codecs": {}}, profile="cache")
        >>> nothing["route"], nothing["sentence"]
        (None, 'No codec fits cache: no codec was measured.')
    """
    use = _profile(profile or default_profile(record), link, gb_seconds, weights)
    evidence = evidence or gather(record)
    choice = choose(evidence, use, conditions(use.conditions, must), allow_loss)
    if not choice.several or choice.is_alone:
        return _nothing(record, choice, [condition.name for condition in conditions((), must)])
    return _verdict(record, choice, evidence.analysis)


def _profile(
    name: str, link: str | None, gb_seconds: float | None, weights: tuple[float, float] | None
) -> Profile:
    if name not in PROFILES:
        raise UsageError(f"invalid use {name!r:.80}: expected one of {', '.join(PROFILES)}")
    use = PROFILES[name].with_link(link)
    if gb_seconds is not None:
        use = replace(use, seconds_per_byte=gb_seconds / 1e9)
    if weights is not None:
        use = replace(use, says="as asked", writes=float(weights[0]), reads=float(weights[1]))
    if not all(math.isfinite(x) and x >= 0 for x in (use.writes, use.reads, use.seconds_per_byte)):
        raise UsageError("weights and seconds per GB must be 0 or more")
    return use


def _verdict(record: Mapping[str, Any], choice: Choice, analysis: Analysis) -> dict[str, Any]:
    # A round trip is the same for all: with it, microseconds would look alike.
    use = replace(choice.profile, rtt_s=0.0)
    costs = {one.codec: cost(one, use) for one in choice.several}
    shares = dict(zip(costs, wins([draws for _, draws in costs.values()]), strict=True))
    best = preferred(choice, costs)
    sure = confidence_of(best, choice, costs, analysis)
    others = sorted((one for one in choice.several if one is not best), key=lambda one: costs[one.codec][0])
    have = figures.source(record, choice)
    few = analysis.figures[best.key][TOTAL].samples < FEW_SAMPLES
    about = record.get("dataset") or {}
    has_rows = about.get("kind") != "table" or about.get("rows") != 0
    verdict = {
        "profile": use.name,
        "weights": choice.profile.weights(),
        "linked": choice.profile.linked,
        "route": f"{best.codec}@{use.medium}",
        "codec": best.codec,
        "key": best.key,
        "runner_up": others[0].codec if others else None,
        "p_best": shares[best.codec] if others else None,
        "p": shares,
        "cost_s": {codec: [point, *_ends(point, draws)] for codec, (point, draws) in costs.items()},
        "noise": sure.noise,
        "executes_code": choice.runs_code(best.codec),
        "small": is_small(choice, costs, have["codec"]) or not has_rows,
        "source_costs": _source_costs(choice, costs[best.codec][0], have["codec"]),
        "provisional": few or choice.predicted or sure.noise > 0 or bool(choice.unreached),
        "flips": flips(best, choice, costs, _unsettled(choice, sure)),
        "excluded": _excluded(choice),
        "messages": choice.messages,
        "share": choice.share,
        "part": _part(record) if use.subset_reads else "",
        **_certainty(best, sure),
        **_figures(record, choice, best),
    }
    if sure.noise:
        choice.notes.append(f"provisional: the machine was busy: {text.noise_floor(sure.noise)}")
    if few:
        choice.notes.append("provisional: measured only once or twice")
    verdict |= _for_others(best, others, choice, costs)
    verdict["preferred"] = preference(best, choice, costs)
    settled = keeps_file(verdict) or not has_rows
    verdict["keeps_file"] = no_matter(verdict, has_rows=has_rows) if settled else ""
    verdict["beside"] = gains.beside(verdict)
    verdict["keeps"] = text.came_back(choice.cases[best.codec], choice.source_format, index=choice.index)
    verdict["doubt"] = text.doubt(verdict)
    verdict["sentence"] = text.sentence(verdict, choice)
    verdict["reasons"] = text.reasons(verdict, choice, others)
    return verdict


def _source_costs(choice: Choice, own: float, codec: str | None) -> float | None:
    """Returns the cost of the format that the user has as a multiple of the recommended one's; None where it is not known.

    It need not qualify: the file is there already.
    """
    have = choice.timed.get(codec or "")
    return cost(have, replace(choice.profile, rtt_s=0.0))[0] / own if have is not None and own > 0 else None


def _part(record: Mapping[str, Any]) -> str:
    """Returns the column of the table that is read as a part; empty where it is not known."""
    return str((record.get("weighing") or {}).get("part") or "").removeprefix("column:")


def _for_others(
    best: Costed, others: Sequence[Costed], choice: Choice, costs: Mapping[str, tuple[float, Array]]
) -> dict[str, Any]:
    """Whether Tare alone reads the format, and what costs least of those that others read; empty if others do."""

    def is_ours(codec: str) -> bool:
        return choice.flags.get(codec, {}).get("independent") == []

    if not is_ours(best.codec):
        return {"only_ours": "", "for_others": None}
    usual = next((one for one in others if not is_ours(one.codec)), None)
    if usual is None:
        return {"only_ours": gains.only_ours(best.codec), "for_others": None}
    ratio = costs[usual.codec][0] / max(costs[best.codec][0], 1e-30)
    return {"only_ours": gains.only_ours(best.codec, usual.codec, ratio), "for_others": usual.codec}


def _unsettled(choice: Choice, sure: Confidence) -> list[Costed]:
    """Returns the codecs that are no change for each other, as nobody can tell which is better."""
    return [one for one in choice.several if one.codec in sure.rivals and sure.level == text.CANNOT_TELL]


def _certainty(best: Costed, sure: Confidence) -> dict[str, Any]:
    return {
        "confidence": sure.level,
        "near_best": sure.near_best,
        "why": list(sure.why),
        "rivals": list(sure.rivals),
        "tie": [best.codec, *sure.rivals],
        "named": sure.level != text.CANNOT_TELL,
    }


def _figures(record: Mapping[str, Any], choice: Choice, best: Costed) -> dict[str, Any]:
    """Sizes and times of the whole data that stand beside the recommendation."""
    return {
        "chosen": figures.figures_of(best, choice),
        "fastest": figures.figures_of(figures.fastest(choice), choice),
        "smallest": figures.figures_of(figures.smallest(choice), choice),
        "source": figures.source(record, choice),
        "reference": figures.reference(record, choice),
        "figures": {codec: figures.figures_of(one, choice) for codec, one in choice.timed.items()},
    }


def _ends(point: float, draws: Array) -> tuple[float, float]:
    lo, hi = quantiles(draws)
    return min(point, float(lo)), max(point, float(hi))


def _excluded(choice: Choice) -> list[dict[str, str]]:
    return [{"codec": codec, "reason": reason} for codec, _, reason in choice.excluded]


def _until_then(record: Mapping[str, Any]) -> str:
    """Returns what to take where nothing was measured in the time: what suits most data, or the file that there is."""
    data = record.get("dataset") or {}
    if data.get("source_format") and (data.get("bytes_disk") or math.inf) <= TINY_BYTES:
        return "until then keep the file: the data is too small for the format to matter"
    usual = "parquet:pyarrow,compression=zstd" if data.get("kind") == "table" else "json:orjson+zstd:3"
    return f"until then {title_of(usual)} suits most {data.get('kind') or 'document'}s (--codec {usual} measures it alone)"


def _nothing(record: Mapping[str, Any], choice: Choice, must: Sequence[str]) -> dict[str, Any]:
    """No codec qualifies, or one alone was measured: say which condition removed whom, and what to give up."""
    sentence, reasons = text.nothing(
        choice.profile.name,
        choice.excluded,
        own=choice.profile.conditions,
        must=must,
        provisional=bool(choice.unreached),
        timed=bool(choice.timed),
        lines=bool(choice.messages),
    )
    if choice.is_alone:
        sentence, reasons = text.alone(figures.figures_of(choice.several[0], choice), len(choice.unmeasured))
    if sentence.startswith("No answer yet"):
        reasons = [*reasons, _until_then(record)]
    if record.get("interrupted") and not any(case.get("launches") for case in record.get("cases", ())):
        sentence, reasons = "Nothing was measured before the run was stopped.", []
    absent = (
        "route",
        "codec",
        "key",
        "runner_up",
        "p_best",
        "chosen",
        "fastest",
        "smallest",
        "for_others",
        "confidence",
        "near_best",
    )
    return {
        "profile": choice.profile.name,
        "weights": choice.profile.weights(),
        "linked": choice.profile.linked,
        **dict.fromkeys(absent),
        **{name: [] for name in ("why", "rivals", "tie", "flips")},
        "source": figures.source(record, choice),
        "reference": figures.reference(record, choice),
        "figures": {codec: figures.figures_of(one, choice) for codec, one in choice.timed.items()},
        "p": {},
        "cost_s": {},
        "noise": 0.0,
        "small": False,
        "named": False,
        "executes_code": False,
        "provisional": bool(choice.unreached),
        **dict.fromkeys(("beside", "keeps", "doubt", "preferred", "only_ours"), ""),
        "sentence": sentence,
        # How times were come by is no news where no time decided.
        "reasons": reasons + short_of_time(choice),
        "excluded": _excluded(choice),
    }
