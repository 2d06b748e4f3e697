"""Two records side by side: times with intervals, sizes, memory, and what fidelity changed.

Cases are joined by their key. Where two runs weighed nearly the same share of the data, those that differ in it alone
are joined too, by figures of the whole. Records of different machines or data are refused,
unless ``across`` is asked for: then only ratios to the base codec are compared,
which carry over where absolute times do not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tare.errors import NotComparable
from tare.measure.analysis.extrapolate import UNKNOWN, least_shifts
from tare.measure.analysis.figures import Analysis, Figure, Group, analyse, pair_summary
from tare.measure.analysis.ranked_cases import TOTAL, is_ranked, number, peak_of
from tare.measure.analysis.statistics import FIRM, Array, differs, quantiles
from tare.measure.derive import noise_of, rounded
from tare.measure.records.record import method_of
from tare.measure.verdict.constraints import losses
from tare.measure.verdict.text import percent

__all__ = ["Side", "check_comparable", "compare", "compare_sides", "drift", "side", "total_op"]

STAGES = ("weigh",)
# Shares of the data within this factor of each other are compared by figures of the whole.
NEAR = 1.5
MACHINE = (("host", "host"), ("cpu_model", "processor"), ("cores", "cores"))


@dataclass(frozen=True)
class Side:
    """One of the two records.

    Args:
        record: The record.
        analysis: Its figures.
    """

    record: Mapping[str, Any]
    analysis: Analysis


def side(value: Any) -> Side:
    """A Result or a record with its figures."""
    record: Mapping[str, Any] = getattr(value, "record", value)
    return Side(record, analyse(record))


def compare(a: Any, b: Any, *, across: bool = False) -> dict[str, Any]:
    """Compare two records case by case.

    Args:
        a: The older Result or record.
        b: The newer one.
        across: Compare records of different machines or data, by ratios to the base only.

    Returns:
        ``a``, ``b`` (heads), ``across``, ``differences`` (of machine and data), ``floor``
        (noise floor of the two), ``cases``: for each common case ``key, codec, medium,
        size, size_b, status_a, status_b, ops, bytes_a, bytes_b, size_ratio, peak_a, peak_b,
        peak_ratio, verdict_a, verdict_b, lost, regained``; where ``size`` and ``size_b``, the shares of the data,
        differ, times and bytes are estimates for the whole, and no peaks are compared. ``ops`` has for each operation
        ``a_ns, b_ns, ratio`` (b / a), ``lo, hi, differs, letters_a, letters_b``. Also
        ``only_a`` and ``only_b`` (cases of one record alone: ``key, codec, medium, size,
        status``, and ``other``, what the other record says of it in words), ``unlike`` (why
        no case at all could be compared; empty if one was), ``untimed`` (why no times are compared and
        ``ops`` is empty; else empty), ``shares`` (that shares of the data differ, in words; empty if none of a case
        does), ``versions`` and ``probes`` that changed.

    Raises:
        NotComparable: Machine, data or base differ.

    >>> compare({"id": "x", "cases": []}, {"id": "y", "cases": []})["cases"]
    []
    """
    return compare_sides(side(a), side(b), across=across, near=not across)


def compare_sides(a: Side, b: Side, *, across: bool = False, near: bool = False) -> dict[str, Any]:
    """`compare`, for records whose figures are at hand.

    Args:
        a: The older record.
        b: The newer one.
        across: As of `compare`.
        near: Whether cases of nearly the same share of the data are compared too.

    Raises:
        NotComparable: Machine, data or base differ.
    """
    first, second, one, two = a.record, b.record, a.analysis, b.analysis
    differences = check_comparable(first, second, across=across)
    if across and one.base != two.base:
        raise NotComparable(
            f"ratios to different bases cannot be compared: {one.base} and {two.base}; measure with --base"
        )
    left, right = _cases(first, across), _cases(second, across)
    if near:
        right = _with_keys_of(left, right)
    floor = max(noise_of(first, one)["floor"] or 0.0, noise_of(second, two)["floor"] or 0.0)
    untimed = _untimed(first, second)
    rows = [
        _row(key, left[key], right[key])
        | {"ops": {} if untimed else _ops((left[key], one), (right[key], two), across)}
        for key in left
        if key in right
    ]
    plain: dict[str, Any] = rounded(
        {
            "a": _head(first),
            "b": _head(second),
            "across": across,
            "differences": differences,
            "base": one.base,
            "floor": floor,
            "cases": rows,
            "only_a": [_alone(left[key], second) for key in left if key not in right],
            "only_b": [_alone(right[key], first) for key in right if key not in left],
            "unlike": "" if rows else _unlike(left, right),
            "untimed": untimed,
            "shares": _shares(rows),
            "versions": _versions(first, second),
            "probes": _probes(first, second),
        }
    )
    return plain


def check_comparable(a: Mapping[str, Any], b: Mapping[str, Any], *, across: bool = False) -> list[str]:
    """What differs between the machines and the data of two records.

    Args:
        a: One record.
        b: The other.
        across: Do not raise.

    Raises:
        NotComparable: Something differs, and ``across`` is not given.
    """
    found = []
    one, two = a.get("machine") or {}, b.get("machine") or {}
    for name, says in MACHINE:
        if one.get(name) != two.get(name):
            found.append(f"{says}: {one.get(name)} and {two.get(name)}")
    here, there = a.get("dataset") or {}, b.get("dataset") or {}
    if here.get("hash") != there.get("hash"):
        found.append(
            f"data: {here.get('name')} ({str(here.get('hash'))[:8]}) and {there.get('name')} ({str(there.get('hash'))[:8]})"
        )
    if found and not across:
        raise NotComparable(
            f"the records differ in {'; '.join(found)}; --across compares their ratios to the base only"
        )
    return found


def _untimed(a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    """Why the times of two records cannot be compared; empty if they can.

    >>> _untimed({}, {"method": 2})
    'times are not compared: A was measured with results held in memory, B with each result freed at once'
    """
    said = {1: "with results held in memory", 2: "with each result freed at once"}
    methods = method_of(a), method_of(b)
    if methods[0] == methods[1]:
        return ""
    one, two = (said.get(method, f"by method {method}") for method in methods)
    return f"times are not compared: A was measured {one}, B {two}"


def _head(record: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": record.get("id"),
        "created": record.get("created"),
        "tare": record.get("tare"),
        "dataset": (record.get("dataset") or {}).get("name"),
    }


def _cases(record: Mapping[str, Any], across: bool) -> dict[str, Mapping[str, Any]]:
    """Weighed cases by key; the data's name is no part of it across data sets."""
    found: dict[str, Mapping[str, Any]] = {}
    for case in record.get("cases", ()):
        if case.get("stage", "weigh") in STAGES and is_ranked(case):
            labels = {
                name: level for name, level in case["labels"].items() if not (across and name == "dataset")
            }
            found["|".join(sorted(f"{name}={level}" for name, level in labels.items()))] = case
    return found


def _with_keys_of(
    left: Mapping[str, Mapping[str, Any]], right: Mapping[str, Mapping[str, Any]]
) -> dict[str, Mapping[str, Any]]:
    """The cases of `right`, by the key of the case of `left` that differs in a near share of the data alone, if there is one."""
    renamed = {}
    mine, theirs = (
        _by_rest({k: some[k] for k in some if k not in others})
        for some, others in ((left, right), (right, left))
    )
    for rest, keys in theirs.items():
        others = mine.get(rest, [])
        if len(keys) == len(others) == 1:
            a, b = (number(case["labels"].get("size", "1")) for case in (left[others[0]], right[keys[0]]))
            if a and b and max(a / b, b / a) <= NEAR:
                renamed[keys[0]] = others[0]
    return {renamed.get(key, key): case for key, case in right.items()}


def _by_rest(cases: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """Keys of cases by all of their labels but the share of the data."""
    found: dict[str, list[str]] = {}
    for key in cases:
        rest = "|".join(part for part in key.split("|") if not part.startswith("size="))
        found.setdefault(rest, []).append(key)
    return found


def _shares(rows: Sequence[Mapping[str, Any]]) -> str:
    """That cases were compared whose shares of the data differ; empty if none were.

    >>> _shares([{"size": "0.38", "size_b": "0.42"}, {"size": "1", "size_b": "1"}])
    'A weighed 38 %, B 42 % of the data: their times and sizes are estimates for the whole, and less sure'
    """
    pairs = [(row["size"], row["size_b"]) for row in rows if row["size"] != row["size_b"]]
    if not pairs:
        return ""
    a, b = (
        " and ".join(percent(number(size)) for size in sorted({pair[n] for pair in pairs}, key=number))
        for n in (0, 1)
    )
    return (
        f"A weighed {a}, B {b} of the data: their times and sizes are estimates for the whole, and less sure"
    )


def _alone(case: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """A case that the other record does not have, with what became of its codec there."""
    labels = case["labels"]
    return {
        "key": case["key"],
        "codec": labels["codec"],
        "medium": labels.get("medium", "memory"),
        "size": labels.get("size", "1"),
        "status": case.get("status"),
        "other": _elsewhere(labels, other),
    }


def _elsewhere(labels: Mapping[str, str], record: Mapping[str, Any]) -> str:
    """What a record says of a codec on a medium that it has no case of the same labels of."""
    codec, medium = labels["codec"], labels.get("medium", "memory")
    found = [
        case
        for case in record.get("cases", ())
        if is_ranked(case)
        and case["labels"]["codec"] == codec
        and case["labels"].get("medium", "memory") == medium
    ]
    weighed = [case for case in found if case.get("stage", "weigh") in STAGES]
    if weighed:
        size = weighed[0]["labels"].get("size", "1")
        same = size == labels.get("size", "1")
        return "weighed in another way" if same else f"weighed with {percent(number(size))} of the data"
    if found:
        said = found[0].get("reason") or ""
        return f"{found[0].get('status')}{': ' if said else ''}{said}"
    return f"not on {medium}" if codec in (record.get("codecs") or {}) else "not among its codecs"


def _unlike(left: Mapping[str, Mapping[str, Any]], right: Mapping[str, Mapping[str, Any]]) -> str:
    """Why two records have no case in common, and what to do."""
    sizes = [
        sorted({case["labels"].get("size", "1") for case in cases.values()}, key=number)
        for cases in (left, right)
    ]
    if not all(sizes):
        weighed = [name for name, some in zip("AB", sizes, strict=True) if not some]
        return f"{' and '.join(weighed)} weighed nothing: not comparable"
    if not set(sizes[0]) & set(sizes[1]):
        a, b = (" and ".join(percent(number(size)) for size in some) for some in sizes)
        return f"A weighed {a}, B {b} of the data: not comparable; measure B with --like A"
    return "no codec was weighed in both records in the same way: measure B with --like A"


def _row(key: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, Any]:
    labels = a["labels"]
    sizes = labels.get("size", "1"), b["labels"].get("size", "1")
    same = sizes[0] == sizes[1]
    bytes_a, bytes_b = [a.get("bytes"), b.get("bytes")] if same else _of_whole(a, b)
    peak_a, peak_b = (peak_of(a), peak_of(b)) if same else (None, None)
    lost_a, lost_b = set(losses(a.get("verify"))), set(losses(b.get("verify")))
    return {
        "key": key,
        "codec": labels["codec"],
        "medium": labels.get("medium", "memory"),
        "size": sizes[0],
        "size_b": sizes[1],
        "status_a": a.get("status"),
        "status_b": b.get("status"),
        "reason_b": b.get("reason", ""),
        "bytes_a": bytes_a,
        "bytes_b": bytes_b,
        "size_ratio": bytes_b / bytes_a if bytes_a and bytes_b else None,
        "peak_a": peak_a,
        "peak_b": peak_b,
        "peak_ratio": peak_b / peak_a if peak_a and peak_b else None,
        "verdict_a": (a.get("verify") or {}).get("verdict"),
        "verdict_b": (b.get("verify") or {}).get("verdict"),
        "lost": sorted(lost_b - lost_a),
        "regained": sorted(lost_a - lost_b) if b.get("verify") else [],
    }


def _of_whole(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[int | None]:
    """The bytes of the whole data, as both wrote them, else estimated alike from the share that each was measured on."""
    if a.get("whole_bytes") and b.get("whole_bytes"):
        return [a["whole_bytes"], b["whole_bytes"]]
    return [
        round(case["bytes"] / number(case["labels"].get("size", "1"))) if case.get("bytes") else None
        for case in (a, b)
    ]


def _ops(
    a: tuple[Mapping[str, Any], Analysis], b: tuple[Mapping[str, Any], Analysis], across: bool
) -> dict[str, Any]:
    """The operations both cases have, each with its ratio."""
    (case_a, one), (case_b, two) = a, b
    left, right = one.figures.get(case_a["key"], {}), two.figures.get(case_b["key"], {})
    sizes = [case["labels"].get("size", "1") for case in (case_a, case_b)]
    # What each is multiplied by: of one share none has to be.
    wholes = [1.0, 1.0] if sizes[0] == sizes[1] else [1 / number(size) for size in sizes]
    ops = {}
    for op in left:
        found = _ratio(left[op], right[op], one, two, across) if op in right else None
        if found is None:
            continue
        factor = wholes[1] / wholes[0]
        # Times need not grow as the data does.
        unsure = math.exp(abs(math.log(factor)) * (UNKNOWN[1] - 1))
        ratio, lo, hi = found[0] * factor, found[1] * factor / unsure, found[2] * factor * unsure
        floor = max(one.floor(case_a["key"], op), two.floor(case_b["key"], op))
        ops[op] = {
            "a_ns": left[op].time_ns * wholes[0],
            "b_ns": right[op].time_ns * wholes[1],
            "ratio": ratio,
            "lo": lo,
            "hi": hi,
            "floor": floor,
            "differs": differs(lo, hi, floor),
            "letters_a": left[op].letters,
            "letters_b": right[op].letters,
            "provisional": any(_is_provisional(one) for one in (left[op], right[op])),
        }
    return ops


def _is_provisional(figure: Figure) -> bool:
    """Returns true if there are too few samples to report a difference."""
    return not figure.sure if figure.method == "least" else figure.launches < FIRM


def _ratio(
    a: Figure, b: Figure, one: Analysis, two: Analysis, across: bool
) -> tuple[float, float, float] | None:
    """B / a with its interval; across machines the ratio of the ratios to the base."""
    if across:
        left, right = _to_base(a, one), _to_base(b, two)
        if left is None or right is None:
            return None
        (x, x_draws), (y, y_draws) = left, right
    else:
        x, y = math.log(a.time_ns), math.log(b.time_ns)
        x_draws, y_draws = (
            figure.draws + least_shifts(figure, len(figure.draws), f"{name}|{figure.key}")
            for figure, name in ((a, "a"), (b, "b"))
        )
    # Launches of two runs are no pairs: the draws of each are its own, seeded by its own record.
    lo, hi = quantiles(np.asarray(y_draws - x_draws))
    point = y - x
    return math.exp(point), math.exp(min(point, float(lo))), math.exp(max(point, float(hi)))


def _to_base(figure: Figure, analysis: Analysis) -> tuple[float, Array] | None:
    group = _group_of(figure, analysis)
    if group is None or group.base is None or (group.base, figure.op) not in group.figures:
        return None
    found = pair_summary(figure, group.figures[group.base, figure.op], analysis.sampler)
    return None if found.method[0] == "none" else (float(found.point[0]), found.draws[0])


def _group_of(figure: Figure, analysis: Analysis) -> Group | None:
    return next((group for group in analysis.groups if (figure.key, figure.op) in group.figures), None)


def _versions(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[dict[str, Any]]:
    one, two = a.get("codecs") or {}, b.get("codecs") or {}
    return [
        {"codec": codec, "a": one[codec].get("version"), "b": two[codec].get("version")}
        for codec in one
        if codec in two and one[codec].get("version") != two[codec].get("version")
    ]


def _probes(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Probe cells whose verdict changed."""
    found = []
    before, after = ((record.get("fidelity") or {}).get("probes") or {} for record in (a, b))
    for name, codecs in before.items():
        for codec, cells in codecs.items():
            for probe, cell in cells.items():
                now = after.get(name, {}).get(codec, {}).get(probe)
                if now is not None and now.get("verdict") != cell.get("verdict"):
                    found.append(
                        {
                            "set": name,
                            "codec": codec,
                            "probe": probe,
                            "a": cell.get("verdict"),
                            "b": now.get("verdict"),
                        }
                    )
    return found


def drift(a: Analysis, b: Analysis) -> tuple[float, float] | None:
    """How much slower copying memory got between two runs: the interval of b / a of the floor row.

    Copying is no code of any codec, so it is a witness for the machine.
    """
    rows = []
    for analysis in (a, b):
        copies = [figures["copy"] for figures in analysis.figures.values() if "copy" in figures]
        if not copies:
            return None
        rows.append(copies[0])
    lo, hi = quantiles(np.asarray(rows[1].draws - rows[0].draws))
    return math.exp(float(lo)), math.exp(float(hi))


def total_op(row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The total of a row of ``compare``, if both records have one."""
    ops: Mapping[str, Mapping[str, Any]] = row["ops"]
    return ops.get(TOTAL)
