"""The outcome of `tare measure` and `tare report`: whether anything was measured and recommended, and whether a codec failed or lost data."""

from __future__ import annotations

from typing import Any

from tare.cli.lines import clean

__all__ = ["any_failed", "unanswered", "unmeasured"]

# Reasons of cases that are named where none was measured.
_CAUSES = 3


def any_failed(cases: list[dict[str, Any]]) -> bool:
    """Returns whether a case failed or lost data; one that was not reached did neither.

    >>> any_failed([{"status": "ok"}, {"status": "pending"}, {"status": "n/a"}])
    False
    >>> any_failed([{"status": "ok"}, {"status": "lossy"}])
    True
    """
    return any(case["status"] not in ("ok", "screened", "n/a", "pending") for case in cases)


def unmeasured(record: dict[str, Any]) -> str:
    """Returns why no case was measured, e.g. that each codec refuses the data; empty if one was, or failed otherwise.

    >>> unmeasured({"cases": [{"status": "n/a", "reason": "holds tables"}, {"status": "pending", "reason": "no time"}]})
    'nothing was measured: holds tables; no time'
    >>> unmeasured({"cases": [{"status": "pending", "reason": "no time"}, {"status": "error", "reason": "died"}]})
    ''
    >>> unmeasured({"cases": [{"status": "refused", "reason": "encode: it is complex"}]})
    'nothing was measured: refused: encode: it is complex'
    >>> unmeasured({"cases": [{"status": "pending", "reason": "the time was over", "bytes": 99, "launches": []}]})
    'nothing was measured: the time was over'
    """
    cases = record["cases"]
    # A size alone does not count: what was written once was not read, or not compared.
    if any(case["status"] not in ("pending", "n/a", "refused") or case.get("launches") for case in cases):
        return ""
    why = dict.fromkeys(
        "refused: " * (case["status"] == "refused") + clean(case.get("reason") or case["status"], 200)
        for case in sorted(cases, key=lambda case: case["status"] != "refused")
    )
    more = f"; and {len(why) - _CAUSES} more reasons" if len(why) > _CAUSES else ""
    return f"nothing was measured: {'; '.join(list(why)[:_CAUSES]) or 'there was no case'}{more}"


def unanswered(record: dict[str, Any], use: str | None = None) -> str:
    """Returns that nothing is recommended, and why; empty where a codec is, or of a plan, which answers its own question.

    Args:
        record: The record, with what is derived from it.
        use: The use that was asked for, also of a plan; None for that of the record.

    >>> nothing = {"route": None, "sentence": "No codec fits keep: `a` left out (no written spec)."}
    >>> unanswered({"plan": {"name": "default"}, "derived": {"headline": nothing}})
    'nothing is recommended: No codec fits keep: a left out (no written spec).'
    >>> unanswered({"plan": {"name": "load"}, "derived": {"headline": nothing}})
    ''
    """
    derived = record.get("derived") or {}
    headline = (derived.get("headline") if use is None else (derived.get("profiles") or {}).get(use)) or {}
    is_plan = use is None and (record.get("plan") or {}).get("name", "default") != "default"
    if is_plan or headline.get("route"):
        return ""
    said = clean(str(headline.get("sentence") or "no codec was measured"), 1000).replace("`", "")
    return f"nothing is recommended: {said.removeprefix('Provisional: ')}"
