"""What a plan that grows has measured: each curve at its largest size, and what it predicts of the whole data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from experiment_pages.figures import ENDS, FEW, WIDE, Found, percent, whole
from experiment_pages.table import lines, short

__all__ = ["curves"]

_MEDIA = ("memory", "conn", "file", "fifo", "unix", "tcp", "link", "remote")
_TEXT = frozenset({"codec", "ended by", "kept"})
_DONE = ("ok", "lossy")
# What a case at some size says of all sizes above it; one that took too long says nothing of the kind.
_FAILS = ("n/a", "refused", "error")
# What was tried, and gave no figure.
_TRIED = ("unproven", "refused", "error", "timeout", "killed")

Place = tuple[str, str, str]


def curves(result: Any, limits: Mapping[str, str]) -> Iterator[str]:
    """Paragraphs and tables, one table a medium.

    Args:
        result: The Result of a growing plan.
        limits: What is said of a codec that is not run above a size, by codec.
    """
    from tare.report import digest, words

    found = digest.digest(result)
    last = _last(result.cases)
    yield words.dataset_line(found)
    if link := words.link_line(found):
        yield link
    totals = [total for row in found.derived["cases"].values() if (total := row.get("total"))]
    few = sum((total.get("samples") or 0) < FEW for total in totals)
    yield (
        f"Of {len(totals):,} points, {few:,} have fewer than {FEW} samples, so that no interval is shown. "
        "Each curve stands at the largest size that it reached, with the times there, in order of time for as much "
        "data. *k* is the exponent: 1 means that twice the data takes twice the time. *whole data* is predicted from "
        "the curve of the sum (of the span, where both ends work at once); where its ends are more than "
        f"{WIDE:g} times apart it says *cannot be told*. *receive* is the reader's call, which waits for the writer "
        "and begins before it: it may be longer than the span." + _timeouts(result.cases)
    )
    for medium in sorted({place[0] for place in last}, key=_MEDIA.index):
        if any(place[0] == medium and _measured(case) for place, case in last.items()):
            yield f"### {'link (emulated)' if medium == 'link' else medium}"
            yield "\n".join(_table(result, medium, last))
    if missing := _missing(result.cases, limits):
        yield "Not measured:\n\n" + "\n".join(f"- {line}" for line in missing)
    if lost := _lost(found, last):
        yield "Changed silently:\n\n" + "\n".join(f"- {line}" for line in lost)
    yield f"{words.noise_line(found)}."


def _timeouts(cases: list[dict[str, Any]]) -> str:
    """What a timeout says, where there is one: the deadline is of more than the call that is timed."""
    if all(case["status"] != "timeout" for case in cases):
        return ""
    return (
        " *timeout*: at the next size one request had no answer in the time told; such a request is a call that is "
        "timed, or what is done before it: encoding, decoding, comparing what came back."
    )


def _place(case: Mapping[str, Any]) -> Place:
    labels = case["labels"]
    return labels.get("medium", "memory"), labels["codec"], labels.get("delivery", "whole")


def _size(case: Mapping[str, Any]) -> float:
    return float(case["labels"].get("size", "1"))


def _measured(case: Mapping[str, Any]) -> bool:
    return bool(case.get("launches")) and case["status"] in _DONE


def _last(cases: list[dict[str, Any]]) -> dict[Place, dict[str, Any]]:
    """The largest case of each curve that was measured, or any if none was."""
    found: dict[Place, dict[str, Any]] = {}
    for case in cases:
        if "twin" in case["labels"] or case["labels"]["codec"] == "copy":
            continue
        before = found.setdefault(_place(case), case)
        if (_measured(case), _size(case)) > (_measured(before), _size(before)):
            found[_place(case)] = case
    return found


def _table(result: Any, medium: str, last: Mapping[Place, dict[str, Any]]) -> list[str]:
    operations = ENDS.get(medium, ("send", "receive"))
    joint = "sum" if medium in ENDS else "span"
    heads = ["codec", "of the data", "size", *operations, joint, "k", "whole data", "ended by", "kept"]
    rows = []
    for place, case in last.items():
        if place[0] == medium and _measured(case):
            curve = _curve(result, place)
            rows.append((_order(curve, result, case), _cells(result, case, curve, operations)))
    return lines(heads, [cells for _, cells in sorted(rows)], _TEXT)


def _curve(result: Any, place: Place) -> Mapping[str, Any]:
    """The growth of a curve's sum or span; empty where it has too few points."""
    rows = [
        row
        for row in result.derived["growth"]
        if (row["medium"], row["codec"], row["delivery"]) == place and row["op"] in ("total", "span")
    ]
    return next(iter(rows), {})


def _order(curve: Mapping[str, Any], result: Any, case: Mapping[str, Any]) -> tuple[float, str]:
    """By time for as much data: curves end at different sizes, and a wide prediction orders nothing."""
    total = result.derived["cases"][case["key"]].get("total") or {}
    return float(total.get("t_ns") or 0.0) / _size(case), case["key"]


def _cells(
    result: Any, case: Mapping[str, Any], curve: Mapping[str, Any], operations: tuple[str, ...]
) -> list[str]:
    from tare.report import text

    own = result.derived["cases"][case["key"]]
    times = [(own.get("ops") or {}).get(name) or {} for name in operations] + [own.get("total") or {}]
    delivery = case["labels"].get("delivery", "whole")
    return [
        f"`{case['labels']['codec']}`" + ("" if delivery == "whole" else f" {delivery}"),
        percent(_size(case)),
        text.size(own.get("bytes")),
        *(text.duration(one["t_ns"]) if one.get("t_ns") else "" for one in times),
        "" if curve.get("k") is None else f"{curve['k']:.2f}",
        _whole(result, case, curve),
        _ended(result, case),
        f"{'**lossy** ' if case['status'] == 'lossy' else ''}{own.get('kept', '')}",
    ]


def _whole(result: Any, case: Mapping[str, Any], curve: Mapping[str, Any]) -> str:
    from tare.report import text

    if _limit(result.cases, case) is not None:
        return "not told: above its limit"
    if not curve:
        return ""
    found: Found = whole(curve)
    if found.value is None:
        return "cannot be told"
    ends = f" ({text.duration(found.lo)} to {text.duration(found.hi)})" if found.lo != found.hi else ""
    return f"{'' if curve['measured'] else '~'}{text.duration(found.value)}{ends}"


def _limit(cases: list[dict[str, Any]], case: Mapping[str, Any]) -> float | None:
    """The size above which a curve is said to fail; None if nothing is said."""
    for other in cases:
        if other["status"] in _FAILS and _place(other) == _place(case) and _size(other) > _size(case):
            found = re.search(r"above size ([0-9.]+)", other["reason"])
            return float(found[1]) if found else _size(other)
    return None


def _ended(result: Any, case: Mapping[str, Any]) -> str:
    """Why a curve is not longer: its time, how its next size failed, what is said to fail above, the end of the run."""
    if _size(case) >= 1:
        return ""
    grow = result.record["plan"]["grow"]
    if str(case.get("note", "")).startswith("the curve ends here"):
        return f"more than {grow['stop_s']:g} s"
    own = [one for one in result.cases if _place(one) == _place(case) and "twin" not in one["labels"]]
    above = [one for one in own if _size(one) > _size(case)]
    after = min(above, key=_size, default=None)
    if after is not None and after["status"] in _TRIED:
        return f"{_failed(after)}: {short(after['reason'])}"
    limit = _limit(result.cases, case)
    return "its limit" if limit is not None and _size(case) * grow["factor"] > limit else "the run's time"


def _failed(case: Mapping[str, Any]) -> str:
    return f"{case['status']} at {percent(_size(case))}"


def _missing(cases: list[dict[str, Any]], limits: Mapping[str, str]) -> list[str]:
    """Each reason once, with the codecs and media that it is of, and the size where what was tried failed."""
    found: dict[str, dict[str, set[str]]] = {}
    for case in cases:
        if case["status"] not in (*_FAILS, *_TRIED) or "twin" in case["labels"]:
            continue
        medium, codec, _ = _place(case)
        reason = " ".join(case["reason"].replace(codec, "it").split())
        if case["status"] in _TRIED:
            reason = f"{_failed(case)} of the data: {reason}"
        media = found.setdefault(reason, {"codec": set(), "medium": set()})
        media["codec"].add(codec)
        media["medium"].add(medium)
    everywhere = {_place(case)[0] for case in cases}
    said = []
    for reason, at in found.items():
        names = ", ".join(f"`{codec}`" for codec in sorted(at["codec"]))
        where = "" if at["medium"] == everywhere else f" ({', '.join(sorted(at['medium']))})"
        note = "; ".join(
            limits[codec] for codec in sorted(at["codec"]) if codec in limits and "above size" in reason
        )
        said.append(f"{names}{where}: {reason}" + (f" {note}" if note else ""))
    return said


def _lost(found: Any, last: Mapping[Place, dict[str, Any]]) -> list[str]:
    """What each codec changed silently, at the largest size of its longest curve."""
    from tare.report import words

    row = next(row for grid in found.grids for row in grid.rows)
    longest: dict[str, dict[str, Any]] = {}
    for (_, codec, _), case in last.items():
        if _measured(case) and _size(case) > _size(longest.get(codec, {"labels": {"size": "0"}})):
            longest[codec] = case
    said = {codec: words.losses(replace(row, case=case), 6) for codec, case in sorted(longest.items())}
    return [f"`{codec}`: {lost}" for codec, lost in said.items() if lost]
