"""The gate: fail when something got slower, larger, hungrier or lossy, and only then.

A slowdown fails only if the whole interval of its ratio lies beyond the limit and
the noise floor, and a second, fresh set of launches says the same. What cannot be
told is called so, never a pass and never a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tare.errors import UsageError
from tare.measure.comparison.compare import Side, compare_sides, drift, side, total_op

__all__ = ["EXIT", "gate"]

EXIT = {"pass": 0, "fail": 1, "unsure": 3}
FAILED = ("unproven", "refused", "error", "timeout", "killed", "lossy")
WORKED = ("ok", "lossy")
# Copying that is surely this much slower says that the machine, not the code, may have changed.
DRIFT = 1.03


def gate(
    baseline: Any,
    current: Any,
    *,
    max_slowdown: float = 1.10,
    max_size: float = 1.01,
    max_memory: float = 1.10,
    unsure: str | None = None,
    across: bool = False,
    remeasure: Callable[[Sequence[str]], Any] | None = None,
) -> dict[str, Any]:
    """Hold a record against its baseline.

    Args:
        baseline: The Result or record to hold against.
        current: The new one.
        max_slowdown: Largest time allowed, as a multiple of the baseline's.
        max_size: Largest encoded size allowed, likewise.
        max_memory: Largest peak memory allowed, likewise.
        unsure: What an undecided gate counts as: ``pass``, ``fail``, or None for undecided.
        across: Compare ratios to the base only, for different machines or data.
        remeasure: ``remeasure(codecs)`` measures some codecs again in fresh launches and
            gives a Result or record; without it a slowdown cannot be confirmed and the
            gate is undecided.

    Returns:
        ``outcome`` (``pass``, ``fail``, ``unsure``), ``exit`` (0, 1, 3), ``findings``: each
        with ``key, codec, what`` (``time``, ``size``, ``memory``, ``fidelity``, ``status``),
        ``ratio, lo, hi, limit, outcome, confirmed, text``; and ``checked``, the number of cases.

    Raises:
        NotComparable: Machine or data differ and ``across`` is not given.
        UsageError: A limit that is not positive, or an unknown ``unsure``.

    >>> gate({"id": "x", "cases": []}, {"id": "y", "cases": []})["outcome"]
    'unsure'
    """
    limits = {"time": max_slowdown, "size": max_size, "memory": max_memory}
    if not all(limit > 0 for limit in limits.values()):
        raise UsageError("limits of the gate must be above 0, e.g. --max-slowdown 1.10")
    if unsure not in (None, "pass", "fail"):
        raise UsageError(f"invalid unsure {unsure!r:.80}: expected pass or fail")
    before = side(baseline)
    findings, checked, unlike = _findings(before, side(current), limits, across)
    suspects = [finding for finding in findings if finding["outcome"] == "suspect"]
    if suspects:
        _confirm(suspects, before, remeasure, limits, across)
    if not checked:
        findings.append(_finding({"key": "", "codec": ""}, "status", "unsure", unlike))
    outcomes = {finding["outcome"] for finding in findings}
    outcome = "fail" if "fail" in outcomes else "unsure" if "unsure" in outcomes else "pass"
    code = EXIT[outcome] if outcome != "unsure" or unsure is None else EXIT[unsure]
    return {
        "outcome": outcome,
        "exit": code,
        "checked": checked,
        "findings": sorted(
            findings, key=lambda f: (("fail", "unsure", "pass").index(f["outcome"]), f["codec"])
        ),
    }


def _findings(
    baseline: Side, current: Side, limits: Mapping[str, float], across: bool
) -> tuple[list[dict[str, Any]], int, str]:
    """Everything that is or may be worse, times and memory as suspects until confirmed.

    Returns:
        The findings, the number of cases in both records, and why there are none.
    """
    compared = compare_sides(baseline, current, across=across)
    machine = None if across else drift(baseline.analysis, current.analysis)
    findings: list[dict[str, Any]] = []
    if compared["cases"] and compared["untimed"]:
        text = f"{compared['untimed']} (A is the baseline); measure a new baseline"
        findings.append(_finding({"key": "", "codec": ""}, "time", "unsure", text))
    for row in compared["cases"]:
        findings += _fidelity(row)
        findings += _size(row, limits["size"])
        if row["status_b"] in WORKED and row["status_a"] in WORKED:
            findings += _time(row, limits["time"], machine)
            findings += _memory(row, limits["memory"])
    for case in compared["only_a"]:
        if compared["cases"] and case["status"] in WORKED:
            text = f"{case['codec']} on {case['medium']} is in the baseline only; now: {case['other']}"
            findings.append(_finding(case, "status", "unsure", text))
    return findings, len(compared["cases"]), compared["unlike"]


def _finding(row: Mapping[str, Any], what: str, outcome: str, text: str, **more: Any) -> dict[str, Any]:
    empty = {"ratio": None, "lo": None, "hi": None, "limit": None, "confirmed": None, "op": None}
    return {
        "key": row["key"],
        "codec": row["codec"],
        "what": what,
        "outcome": outcome,
        "text": text,
        **empty,
        **more,
    }


def _fidelity(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A new silent loss always fails; so does a codec that worked and no longer does."""
    before, now = row["status_a"], row["status_b"]
    if row["lost"] or (now == "lossy" and before == "ok"):
        where = f" at {', '.join(row['lost'][:3])}" if row["lost"] else ""
        return [_finding(row, "fidelity", "fail", f"{row['codec']} now changes data silently{where}")]
    if before in WORKED and now in FAILED and now != "lossy":
        return [_finding(row, "status", "fail", f"{row['codec']} worked and is now {now}: {row['reason_b']}")]
    if before in WORKED and now not in WORKED:
        return [_finding(row, "status", "unsure", f"{row['codec']} is now {now}: {row['reason_b']}")]
    return []


def _size(row: Mapping[str, Any], limit: float) -> list[dict[str, Any]]:
    ratio = row["size_ratio"]
    if ratio is None or ratio <= limit:
        return []
    # Encoded bytes have no noise.
    text = f"{row['codec']} writes {ratio:.3f}x the bytes ({row['bytes_a']:,} before, {row['bytes_b']:,} now; limit {limit:g}x)"
    return [_finding(row, "size", "fail", text, ratio=ratio, limit=limit, confirmed=True)]


def _time(row: Mapping[str, Any], limit: float, machine: tuple[float, float] | None) -> list[dict[str, Any]]:
    total = total_op(row)
    ops = {"total": total} if total is not None else row["ops"]
    findings = []
    for op, found in ops.items():
        least = max(limit, 1 + found["floor"])
        about = f"{row['codec']} on {row['medium']}, {op}: {found['ratio']:.2f}x [{found['lo']:.2f}, {found['hi']:.2f}]"
        figures = {name: found[name] for name in ("ratio", "lo", "hi")} | {"limit": limit, "op": op}
        if found["lo"] > least and found["provisional"]:
            findings.append(_finding(row, "time", "unsure", f"{about}, from too few samples", **figures))
        elif found["lo"] > least and machine and machine[0] > DRIFT and found["lo"] / machine[1] <= least:
            text = f"{about}; copying memory got {machine[0]:.2f}x slower too: the machine, perhaps"
            findings.append(_finding(row, "time", "unsure", text, **figures))
        elif found["lo"] > least:
            findings.append(_finding(row, "time", "suspect", f"{about}, limit {limit:g}x", **figures))
        elif found["ratio"] > limit:
            findings.append(
                _finding(row, "time", "unsure", f"{about}: too noisy for the limit {limit:g}x", **figures)
            )
    return findings


def _memory(row: Mapping[str, Any], limit: float) -> list[dict[str, Any]]:
    ratio = row["peak_ratio"]
    if ratio is None or ratio <= limit:
        return []
    text = f"{row['codec']} on {row['medium']} needs {ratio:.2f}x the memory, limit {limit:g}x"
    return [_finding(row, "memory", "suspect", text, ratio=ratio, limit=limit)]


def _confirm(
    suspects: Sequence[dict[str, Any]],
    baseline: Side,
    remeasure: Callable[[Sequence[str]], Any] | None,
    limits: Mapping[str, float],
    across: bool,
) -> None:
    """A suspect fails only if fresh launches say the same."""
    if remeasure is None:
        for finding in suspects:
            finding["outcome"] = "unsure"
            finding["text"] += "; not confirmed by fresh launches (give the data to measure again)"
        return
    again = side(remeasure(sorted({finding["codec"] for finding in suspects})))
    second, _, _ = _findings(baseline, again, limits, across)
    same = {(finding["key"], finding["what"], finding["op"]): finding for finding in second}
    measured = {key for key, figures in again.analysis.figures.items() if figures}
    for finding in suspects:
        found = same.get((finding["key"], finding["what"], finding["op"]))
        if finding["key"] not in measured:
            finding["outcome"], finding["confirmed"] = "unsure", None
            finding["text"] += "; it could not be measured again"
        elif found is not None and found["outcome"] in ("suspect", "fail"):
            finding["outcome"], finding["confirmed"] = "fail", True
            finding["text"] += f"; confirmed: {found['ratio']:.2f}x" if found["ratio"] else "; confirmed"
        elif found is not None:
            finding["outcome"], finding["confirmed"] = "unsure", False
            finding["text"] += "; fresh launches were too noisy to confirm it"
        else:
            finding["outcome"], finding["confirmed"] = "pass", False
            finding["text"] += "; fresh launches did not show it"
