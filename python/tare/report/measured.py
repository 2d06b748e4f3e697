"""The measured codecs of an answer: their order, what each keeps, and what speaks against it."""

from __future__ import annotations

from collections.abc import Iterable

from tare.measure.verdict import text as verdict_text
from tare.report import text
from tare.report.digest import TIMED, Digest, items, mapping, number

__all__ = ["estimated", "kept_by", "mark_of", "ranked"]


def ranked(found: Digest) -> list[str]:
    """The measured codecs: the recommended one, then by cost, those that qualify first."""
    figures, costs = mapping(found.verdict.get("figures")), mapping(found.verdict.get("cost_s"))
    timed = {row.codec for grid in found.grids for row in grid.rows if row.status in TIMED}

    best = found.verdict.get("codec")

    def order(codec: str) -> tuple[bool, bool, float]:
        cost = items(costs.get(codec))
        return (
            codec != best,
            not cost,
            (number(cost[0]) if cost else number(figures[codec].get("read_s"))) or 0.0,
        )

    return sorted((codec for codec in figures if codec in timed), key=order)


def estimated(found: Digest, codecs: Iterable[str]) -> str:
    """Returns what a tilde before the size of one of these codecs means; empty where none has one."""
    figures = mapping(found.verdict.get("figures"))
    several = [mapping(figures.get(codec)) for codec in codecs]
    shares = [float(one["size_share"]) for one in several if verdict_text.is_estimated(one)]
    if not shares:
        return ""
    least, most = text.percent(min(shares)), text.percent(max(shares))
    of = least if least == most else f"{least.removesuffix(' %')} to {most}"
    return f"~ estimated from {of} of the data"


def kept_by(found: Digest, codec: str) -> str:
    """What a codec keeps of the data, in words."""
    row = next((row for grid in found.grids for row in grid.rows if row.codec == codec and row.timed), None)
    if row is None:
        return ""
    format, index = str(found.dataset.get("source_format") or ""), found.dataset.get("index_columns")
    return text.one_line(verdict_text.came_back(row.case, format, index=int(number(index) or 0)), 200)


def mark_of(found: Digest, codec: str, reason: str) -> str:
    """What speaks against a codec: what it changes, or why it was left out."""
    kept = kept_by(found, codec)
    if kept.startswith("changes"):
        return kept
    return text.one_line(reason, 120) if reason else ""
