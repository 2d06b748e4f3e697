"""Whether reading did its work: no values are made of bytes in less time than the bytes are copied in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tare.measure.analysis.figures import Analysis, Figure

__all__ = ["COPY_MARGIN", "READING", "copying", "idle", "too_quick"]

READING = ("decode", "read", "receive")
# Copying as measured once and again differs by the state of caches; only below this share of it is a decode too fast.
COPY_MARGIN = 0.8
# Columns may be copied into memory that is used again, in a quarter of what a first copy into fresh memory takes.
COLUMNS_MARGIN = 0.1
# Nanoseconds to copy a byte where that was not measured, as at screening: less than in any cache.
LEAST_NS = 0.005


def copying(record: Mapping[str, Any], analysis: Analysis) -> dict[str, float]:
    """Nanoseconds to copy one byte, by size label, from the floor row."""
    found = {}
    for case in record.get("cases", ()):
        figure = analysis.figures.get(case["key"], {}).get("copy")
        if figure is not None and case["labels"]["codec"] == "copy" and case.get("bytes"):
            found[case["labels"].get("size", "1")] = figure.time_ns / case["bytes"]
    return found


def too_quick(
    case: Mapping[str, Any],
    figures: Mapping[str, Figure],
    per_byte: Mapping[str, float],
    *,
    margin: float = COPY_MARGIN,
    least_ns: float = 0.0,
) -> list[str]:
    """The operations of a case that read its bytes in less time than copying them takes.

    Args:
        case: The case, with its bytes.
        figures: Its figures.
        per_byte: What `copying` gave.
        margin: Share of the time to copy below which reading is too quick.
        least_ns: Nanoseconds to copy a byte, where that was not measured.
    """
    if not case.get("bytes"):
        return []
    own = figures.get("copy")
    byte_ns = per_byte.get(case["labels"].get("size", "1")) or least_ns
    floor_ns = own.time_ns if own is not None else byte_ns * case["bytes"]
    return [op for op in READING if op in figures and figures[op].hi_ns < margin * floor_ns]


def idle(
    record: Mapping[str, Any],
    case: Mapping[str, Any],
    figures: Mapping[str, Figure],
    per_byte: Mapping[str, float],
) -> bool:
    """Whether a codec of somebody's own worker is too quick to have read anything: its times are of no work.

    Tare's own codecs are tested to give values of their own, or views where views were asked for. Some of them only
    copy, and may do that quicker than the floor does: of them it is a mark and no more.

    Args:
        record: The record.
        case: Its case.
        figures: Figures of the case.
        per_byte: What `copying` gave.
    """
    entry = (record.get("codecs") or {}).get(case["labels"]["codec"]) or {}
    if entry.get("given") is not True or case["labels"].get("materialise", "full") == "open":
        return False
    table = (record.get("dataset") or {}).get("kind") == "table"
    margin = COLUMNS_MARGIN if table else COPY_MARGIN
    return bool(too_quick(case, figures, per_byte, margin=margin, least_ns=LEAST_NS))
