"""What a study published beside what a record has: the tables of an experiment's page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Found", "compared", "has", "look", "table"]

# How far a multiple of the base may be from the published one to count as the same: other machines, other
# versions. Within it "yes"; beyond it, on the same side of the base, "direction", unless it is no distance.
_SAME = 1.5
_NO_DISTANCE = 1.1


@dataclass(frozen=True)
class Found:
    """A figure of a record: nanoseconds or bytes, what stands beside it, or why there is none."""

    value: float | None = None
    kept: str = ""
    reason: str = ""
    predicted: bool = False


def compared(figures: Mapping[str, Any], record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row for each published figure.

    Args:
        figures: An entry of ``figures`` of the study.
        record: The record, with what is derived from it.
    """
    return [_row(figures, row, record) for row in figures["rows"]]


def _row(figures: Mapping[str, Any], row: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    where = {**figures.get("where", {}), **row.get("where", {})}
    found = look(record, row["codec"], figures["operation"], where, bool(figures.get("predicted")))
    base = None
    if "base" in figures:
        labels = {**where, **figures.get("base_where", {})}
        operation = figures.get("base_operation", figures["operation"])
        base = look(record, figures["base"], operation, labels, bool(figures.get("predicted")))
    ours = _ratio(found.value, base.value) if base is not None else found.value
    published = row["published"] if isinstance(row["published"], list) else [row["published"]] * 2
    multiple = (
        [value / _published_base(figures) for value in published] if figures["unit"] == "s" else published
    )
    scaled = None if ours is None else ours / 1e6 if figures["unit"] == "MB" else ours
    return {
        "codec": row["codec"],
        "as": row.get("as", ""),
        "where": " ".join(f"{value}" for value in row.get("where", {}).values()),
        "published": published,
        "multiple": multiple,
        "found": found,
        "ours": scaled,
        "agrees": "base" if _is_base(figures, row) else _agrees(scaled, multiple, figures),
        "reason": found.reason or (base.reason if base is not None and base.value is None else ""),
    }


def _is_base(figures: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    return row["codec"] == figures.get("base") and "where" not in row


def _published_base(figures: Mapping[str, Any]) -> float:
    return next(float(row["published"]) for row in figures["rows"] if row["codec"] == figures["base"])


def _ratio(value: float | None, base: float | None) -> float | None:
    return None if value is None or not base else value / base


def _agrees(ours: float | None, published: list[float], figures: Mapping[str, Any]) -> str:
    """Whether a figure is as published: ``yes``, ``direction`` or ``no``; empty without one."""
    if ours is None:
        return ""
    lo, hi = published
    margin = 1 + figures["within"] if "within" in figures else _SAME
    if lo / margin <= ours <= hi * margin:
        return "yes"
    if figures["unit"] == "MB":
        return "no"
    return "direction" if (ours < 1 / _NO_DISTANCE and hi < 1) or (ours > _NO_DISTANCE and lo > 1) else "no"


def look(
    record: Mapping[str, Any], codec: str, operation: str, where: Mapping[str, str], predicted: bool
) -> Found:
    """The figure of a codec under conditions: measured, or predicted where a curve ended before."""
    labels = {"codec": codec, **where}
    cases = [case for case in record["cases"] if has(case["labels"], labels)]
    derived = record["derived"]["cases"]
    reason = ""
    for case in cases:
        row = derived.get(case["key"]) or {}
        if case["status"] in ("ok", "lossy") and (value := _figure(row, operation)) is not None:
            return Found(value, str(row.get("kept", "")))
        reason = case.get("reason") or case["status"]
    if predicted and (found := _predicted(record["derived"]["growth"], labels, operation)) is not None:
        kept = next(
            (derived[case["key"]].get("kept", "") for case in _of(record, codec) if case["key"] in derived),
            "",
        )
        return Found(found, str(kept), predicted=True)
    return Found(reason=reason or "not in the record")


def _of(record: Mapping[str, Any], codec: str) -> Iterable[Mapping[str, Any]]:
    return (
        case
        for case in record["cases"]
        if case["labels"]["codec"] == codec and case["status"] in ("ok", "lossy")
    )


def has(labels: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    """Whether a case has these labels; a factor that it leaves out is at its default."""
    from tare.measure.cases import FACTORS

    return all(str(labels.get(name, FACTORS[name].default)) == value for name, value in wanted.items())


def _figure(row: Mapping[str, Any], operation: str) -> float | None:
    if operation == "bytes":
        return row.get("bytes")
    times = row.get("total") if operation == "total" else (row.get("ops") or {}).get(operation)
    return None if not times or row.get("predicted") else times.get("t_ns")


def _predicted(
    growth: Iterable[Mapping[str, Any]], labels: Mapping[str, str], operation: str
) -> float | None:
    wanted = {name: value for name, value in labels.items() if name != "size"}
    rows = [row for row in growth if all(str(row.get(name)) == value for name, value in wanted.items())]
    if operation == "bytes":
        return next((row["predicted_bytes"] for row in rows if row.get("predicted_bytes")), None)
    times = [row["predicted_ns"] for row in rows if row["op"] in ("encode", "decode", "write", "read")]
    return sum(times) if operation == "total" and len(times) == 2 else None


def table(figures: Mapping[str, Any], rows: list[dict[str, Any]]) -> list[str]:
    """Lay the rows out as a Markdown table."""
    unit = figures["unit"]
    heads = {
        "x": ["codec", "published", "here", "as published", "kept"],
        "s": ["codec", "published", "x base", "here", "x base", "as published", "kept"],
        "MB": ["codec", "published MB", "here MB", "as published", "kept"],
    }[unit]
    lines = [_line(heads), _line(["---"] + ["---:"] * (len(heads) - 3) + ["---", "---"])]
    for row in rows:
        found = row["found"]
        name = f"`{row['codec']}`" + (f" {row['where']}" if row["where"] else "")
        name += f" (for {row['as']})" if row["as"] else ""
        published = _span(row["published"]) + (" s" if unit == "s" else "")
        mark = "~" if found.predicted else ""
        cells = [name, published]
        if row["ours"] is None:
            cells += [_span(row["multiple"])] if unit == "s" else []
            cells += [""] * (len(heads) - len(cells) - 1) + [_short(row["reason"])]
        else:
            if unit == "s":
                cells += [_span(row["multiple"]), f"{mark}{_time(found.value)}"]
            cells += [f"{mark}{_number(row['ours'])}", row["agrees"], found.kept]
        lines.append(_line(cells))
    return lines


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _span(values: list[float]) -> str:
    lo, hi = values
    return _number(lo) if lo == hi else f"{_number(lo)} to {_number(hi)}"


def _number(value: float) -> str:
    """Three digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _time(ns: float | None) -> str:
    from tare.report import text

    return text.duration(ns)


def _short(reason: str) -> str:
    said = " ".join(reason.split()).replace("|", "\\|")
    return said if len(said) <= 90 else said[:87] + "..."
