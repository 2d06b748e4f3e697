"""Differences that do not matter: codecs that cost nearly the same are told apart by what they keep, not by time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tare.codec import shortlist
from tare.codec.ids import split_id
from tare.codec.titles import title_of
from tare.errors import UsageError
from tare.fidelity.guesses import is_guessed
from tare.measure.analysis.statistics import Array, quantiles
from tare.measure.verdict.cost_model import cost
from tare.measure.verdict.gains import source_name

if TYPE_CHECKING:
    from tare.measure.verdict.choice import Choice
    from tare.measure.verdict.cost_model import Costed

__all__ = [
    "REPEATED",
    "TINY_BYTES",
    "WORTH",
    "is_common",
    "is_small",
    "keeps_file",
    "keeps_types",
    "line_change",
    "no_matter",
    "preference",
    "preferred",
    "rarity",
    "types_lost",
]

Costs = Mapping[str, tuple[float, Array]]

# A codec that costs more than so many times the least is never recommended.
WORTH = 1.10
# Nor, in the whole use, one that costs so many seconds more, if that was shown.
NOTICED_S = 50e-3
# Nor one for its size alone that costs more than so many times the least: what is measured is off by as much again.
WORTH_OF_SIZE = 1.05
# A codec is smaller if it takes at most this share of the bytes.
SMALLER = 0.95
# One message is measured, but they are sent by the million: each microsecond counts.
REPEATED = ("message",)
# So few bytes of these formats are read in a few milliseconds, whether that was timed or not.
_QUICK, TINY_BYTES = (
    ("csv", "json", "ndjson", "parquet", "arrow", "msgpack", "cbor", "bson", "blit"),
    64 << 10,
)
# Nobody feels this in the whole use, seconds.
MOMENT_S = 10e-3


def preferred(choice: Choice, costs: Costs) -> Costed:
    """Returns the codec to recommend: the cheapest, or one that costs nearly the same and has more to offer.

    A difference does not matter below a tenth of the least cost and below 50 ms of the whole use, or where it
    is not shown. Then types that come back come first, codecs that many people use next, and last what is
    smaller by more than it costs more, where that is at most a twentieth. No codec that costs a tenth more than
    the least is ever returned.

    Args:
        choice: The codecs that qualify; at least one.
        costs: Codec -> its cost in seconds, with draws.
    """
    cheapest = min(choice.several, key=lambda one: (costs[one.codec][0], one.bytes, one.codec))
    alike = [one for one in choice.several if one is cheapest or _alike(one, cheapest, choice, costs)]
    offer = min(_drawbacks(one, choice) for one in alike)
    return _smaller([one for one in alike if _drawbacks(one, choice) == offer], costs)


def preference(best: Costed, choice: Choice, costs: Costs) -> str:
    """Returns why a codec is recommended that is not the cheapest, in words; empty if it is the cheapest."""
    cheapest = min(choice.several, key=lambda one: (costs[one.codec][0], one.bytes, one.codec))
    if best is cheapest:
        return ""
    ours, its = (_drawbacks(one, choice) for one in (best, cheapest))
    whys = (
        "it keeps more types" if ours[0] else "it keeps all types",
        "reading it runs no code",
        "more people use it",
        "it keeps one document" if choice.source_format == "json" else "it keeps one line for each item",
    )
    smaller = f"it is smaller than {title_of(cheapest.codec)}"
    why = next((why for why, own, other in zip(whys, ours, its, strict=True) if own < other), smaller)
    return f"{title_of(best.codec)} is recommended because {why}"


def _drawbacks(one: Costed, choice: Choice) -> tuple[int, int, int, int]:
    """Returns the drawbacks that decide between codecs of nearly the same cost, the most important first; less sorts first."""
    return (
        types_lost(choice.cases[one.codec].get("verify") or {}, choice.source_format),
        choice.runs_code(one.codec),
        rarity(one.codec, choice.source_format),
        bool(line_change(one.codec, choice.source_format)),
    )


def keeps_types(verify: Mapping[str, Any], source_format: str) -> bool:
    """Whether the types of the data come back; the unit of a time that was read from text is a guess, and no type of it.

    Args:
        verify: What the comparison found: ``verdict``, ``changes``.
        source_format: Format that the data came in.

    >>> unit = {"verdict": "type", "changes": [{"verdict": "type", "in": "timestamp[s]", "out": "timestamp[ms]"}]}
    >>> keeps_types(unit, "csv"), keeps_types(unit, "parquet")
    (True, False)
    """
    if verify.get("verdict") != "type":
        return verify.get("verdict") == "same"
    changes = verify.get("changes") or ()
    return bool(changes) and all(is_guessed(one, source_format) for one in changes)


def types_lost(verify: Mapping[str, Any], source_format: str) -> int:
    """How many types of a document come back as others; of a table 1 if any column's does, and 0 where all come back.

    >>> types_lost({"verdict": "type", "types": [["bytes", "str", 9], ["tuple", "list", 1]], "changes": [{}]}, "")
    2
    >>> types_lost({"verdict": "same"}, "")
    0
    """
    return 0 if keeps_types(verify, source_format) else max(1, len(verify.get("types") or ()))


def line_change(codec: str, source_format: str) -> str:
    """Says how a codec changes the lines that the user has, or makes lines of one document; empty if it does neither.

    >>> line_change("json:orjson+zstd:3", "ndjson"), line_change("ndjson:orjson", "json")
    ('all lines become one JSON array', 'each item becomes a line')
    >>> line_change("ndjson:orjson+zstd:3", "ndjson"), line_change("msgpack:msgspec", "ndjson")
    ('', 'all lines become one list')
    """
    if source_format == "ndjson" and not codec.startswith("ndjson:"):
        return f"all lines become one {'JSON array' if codec.startswith('json:') else 'list'}"
    if source_format == "json" and codec.startswith("ndjson:"):
        return "each item becomes a line"
    return ""


def _smaller(several: Sequence[Costed], costs: Costs) -> Costed:
    """Returns the cheapest, or one that is smaller by more than it costs more."""
    cheapest = min(several, key=lambda one: (costs[one.codec][0], one.bytes, one.codec))
    least = costs[cheapest.codec][0]
    smaller = [
        one
        for one in several
        if one is cheapest
        or (one.bytes <= SMALLER * cheapest.bytes and costs[one.codec][0] <= WORTH_OF_SIZE * least)
    ]
    return min(smaller, key=lambda one: (one.bytes * costs[one.codec][0], one.codec))


def _alike(one: Costed, cheapest: Costed, choice: Choice, costs: Costs) -> bool:
    """Whether the difference of two costs does not matter."""
    (cost, draws), (least, least_draws) = costs[one.codec], costs[cheapest.codec]
    if cost > WORTH * least:
        return False
    if choice.profile.name in REPEATED or cost - least <= NOTICED_S:
        return True
    return float(quantiles(draws - least_draws)[0]) <= 0


def is_small(choice: Choice, costs: Costs, own: str | None = None) -> bool:
    """Whether the data is too small for any choice to be felt: not the cheapest codec in place of the user's own.

    Args:
        choice: The codecs that qualify.
        costs: Codec -> its cost in seconds, with draws.
        own: Codec that the user's file is in, which need not qualify: the file is there already. Where it is not
            known or costs least, the dearest stands for it.
    """
    if choice.profile.name in REPEATED or len(choice.several) < 2:
        return False
    spent = [costs[one.codec][0] for one in choice.several]
    least = min(spent)
    have = choice.timed.get(own or "")
    kept_s = 0.0 if have is None else cost(have, replace(choice.profile, rtt_s=0.0))[0]
    return (kept_s if kept_s > least else max(spent)) - least < MOMENT_S


def no_matter(verdict: Mapping[str, Any], *, has_rows: bool = True) -> str:
    """Says that the data is too small for the choice to matter, and to keep the user's own file if that was timed; empty if it is not.

    Args:
        verdict: The verdict.
        has_rows: Whether the table has rows; without any there is nothing to measure.

    >>> no_matter({"small": True, "source": {"format": "csv", "codec": "csv:pyarrow"}})
    'keep the CSV you have: the data is too small for the format to matter'
    >>> no_matter({"small": True, "source": {"format": "csv", "codec": None}})
    'the data is too small for the format to matter'
    >>> no_matter({"small": True, "source": {}}, has_rows=False)
    'the table has no rows, so there is nothing to measure'
    """
    if not verdict.get("small"):
        return ""
    said = "the data is too small for the format to matter"
    said = said if has_rows else "the table has no rows, so there is nothing to measure"
    return f"keep the {source_name(verdict['source'])} you have: {said}" if keeps_file(verdict) else said


def keeps_file(verdict: Mapping[str, Any]) -> bool:
    """Whether the file that the user has does as well as what is recommended, as the data is too small to tell.

    >>> keeps_file({"small": True, "source": {"format": "csv", "codec": "csv:pyarrow"}}), keeps_file({"small": False})
    (True, False)
    """
    source = verdict.get("source") or {}
    tiny = source.get("format") in _QUICK and (source.get("bytes") or math.inf) <= TINY_BYTES
    return bool(verdict.get("small") and (source.get("codec") or tiny) and source_name(source))


def rarity(codec: str, source_format: str = "") -> int:
    """Returns how few people use a codec: 0 of what everybody does, 1 of a format that fewer use, 2 of all others.

    >>> rarity("parquet:polars"), rarity("orc:pyarrow,compression=zstd"), rarity("qdata:tare")
    (0, 1, 2)
    >>> rarity("orc:pyarrow", "orc")
    0
    """
    if not is_common(codec, source_format):
        return 2
    return int(shortlist.is_less_used(codec) and codec.partition(":")[0] != source_format)


def is_common(codec: str, source_format: str = "") -> bool:
    """Whether many people use a codec, or the data is in its format already.

    >>> is_common("parquet:polars"), is_common("json:orjson,default=text"), is_common("qdata:tare")
    (True, True, False)
    >>> is_common("csv:pyarrow", "csv"), is_common("csv:pyarrow+gzip:6", "csv")
    (True, False)
    """
    if shortlist.is_common(codec.replace(",default=text", "")):
        return True
    try:
        format, _, _, compressor = split_id(codec)
    except UsageError:
        return False
    return bool(source_format) and format == source_format and compressor is None
