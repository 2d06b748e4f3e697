"""What a study published beside what a record has: each figure looked up, and whether it is as published."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["ENDS", "FEW", "WIDE", "Found", "Row", "compared", "has", "is_base", "look", "percent", "whole"]

# How far a multiple of the base may be from the published one to count as the same: other machines, other
# versions. Within it "yes"; beyond it, on the same side of the base, "direction", unless it is no distance.
_SAME = 1.5
_BYTES = {"MB": 1e6, "B": 1.0}
_NO_DISTANCE = 1.1
# What is timed one after the other; over any other medium both ends are at work at once.
ENDS = {"memory": ("encode", "decode"), "conn": ("write", "read"), "file": ("write", "read")}
# Fewer samples than this have no interval that means anything.
FEW = 3
# A prediction whose ends are further apart than this says nothing.
WIDE = 3.0
_DONE = ("ok", "lossy")
# What a case at some size says of all sizes above it.
_FAILS = ("n/a", "refused", "error")


@dataclass(frozen=True)
class Found:
    """A figure of a record: nanoseconds or bytes with its interval, or why there is none."""

    value: float | None = None
    lo: float | None = None
    hi: float | None = None
    samples: int | None = None
    launches: int = 0
    kept: str = ""
    reason: str = ""
    predicted: bool = False
    too_wide: bool = False
    ratio: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class Row:
    """A published figure beside ours.

    Args:
        said: The row of the study, as it is in its file.
        published: The published figure, least and most.
        multiple: The same as a multiple of the published base, where it is seconds.
        found: What the record has.
        base: What it has of the base; None without one.
        ours: Our figure in the unit of the published one, its least and its most.
        agrees: ``base, yes, direction, no, untold, void``, or empty if there is nothing to compare.
        reason: Why there is nothing.
        parts: Nanoseconds of our write and read, where both are shown beside their sum or span.
        k: Exponent of our curve, where the study's is shown.
    """

    said: Mapping[str, Any]
    published: list[float]
    multiple: list[float]
    found: Found
    base: Found | None
    ours: tuple[float, float, float] | None
    agrees: str
    reason: str
    parts: tuple[float | None, ...] = ()
    k: float | None = None

    @property
    def few(self) -> bool:
        """Whether the figure or its base has too few samples for an interval."""
        return "sizes" not in self.said and (_few(self.found) or _few(self.base))

    @property
    def codec(self) -> str:
        """Id of the codec."""
        return str(self.said["codec"])

    @property
    def stands_for(self) -> str:
        """What of the study it stands for; empty if it is that itself."""
        return str(self.said.get("as", ""))

    @property
    def where(self) -> str:
        """The conditions of this row alone."""
        return " ".join(str(value) for value in self.said.get("where", {}).values())


def _few(found: Found | None) -> bool:
    """Whether a time has too few samples; sizes in bytes have none and need none."""
    return found is not None and not found.predicted and found.samples is not None and found.samples < FEW


def compared(figures: Mapping[str, Any], record: Mapping[str, Any]) -> list[Row]:
    """One row for each published figure.

    Args:
        figures: An entry of ``figures`` of the study.
        record: The record, with what is derived from it.
    """
    return [_row(figures, row, record) for row in figures["rows"]]


def _row(figures: Mapping[str, Any], row: Mapping[str, Any], record: Mapping[str, Any]) -> Row:
    sizes = row.get("sizes") or [None]
    pairs = [_pair(figures, row, record, size) for size in sizes]
    found, base = pairs[-1]
    ours = _ours(figures, record, found, base)
    if len(sizes) > 1 and ours is not None:
        ours = _over(ours[0], [_ours(figures, record, *pair) for pair in pairs])
    published = row["published"] if isinstance(row["published"], list) else [row["published"]] * 2
    multiple = _multiple(figures, row, published)
    return Row(
        said=row,
        published=published,
        multiple=multiple,
        found=found,
        base=base,
        ours=ours,
        agrees=_verdict(figures, row, multiple, (found, base, ours)),
        reason=found.reason or (base.reason if base is not None and base.value is None else ""),
        parts=_parts(figures, row, record),
        k=_exponent(figures, row, record),
    )


def _parts(
    figures: Mapping[str, Any], row: Mapping[str, Any], record: Mapping[str, Any]
) -> tuple[float | None, ...]:
    """Writing and reading apart, at the largest size of the row."""
    if "sizes" not in row:
        return ()
    operations = ENDS.get(figures["where"]["medium"], ("send", "receive"))
    where = {**_where(figures, row), "size": row["sizes"][-1]}
    return tuple(look(record, row["codec"], operation, where, False).value for operation in operations)


def _exponent(figures: Mapping[str, Any], row: Mapping[str, Any], record: Mapping[str, Any]) -> float | None:
    """How our curve grows, of which a row shows several sizes."""
    if "sizes" not in row:
        return None
    labels = {"codec": row["codec"], "op": figures["operation"], **_where(figures, row)}
    return next((grown.get("k") for grown in _grown(record, labels)), None)


def _where(figures: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, str]:
    return {**figures.get("where", {}), **row.get("where", {})}


def _pair(
    figures: Mapping[str, Any], row: Mapping[str, Any], record: Mapping[str, Any], size: str | None
) -> tuple[Found, Found | None]:
    """The figure and its base, at a size where the row has several."""
    where = {**_where(figures, row), **({"size": size} if size else {})}
    predicted = bool(figures.get("predicted"))
    found = look(record, row["codec"], figures["operation"], where, predicted)
    if "base" not in figures:
        return found, None
    labels = {**where, **figures.get("base_where", {})}
    operation = figures.get("base_operation", figures["operation"])
    return found, look(record, figures["base"], operation, labels, predicted)


def _over(
    last: float, every: Iterable[tuple[float, float, float] | None]
) -> tuple[float, float, float] | None:
    """A multiple at the largest size, with the least and the most of it at all of them."""
    values = [ours[0] for ours in every if ours is not None]
    return (last, min(values), max(values)) if len(values) >= FEW else None


def _multiple(figures: Mapping[str, Any], row: Mapping[str, Any], published: list[float]) -> list[float]:
    """What is compared: sums where the study's own total is none, as a multiple of the base."""
    if "multiple" in row:
        return list(row["multiple"])
    if figures["unit"] != "s":
        return published
    base = next(one for one in figures["rows"] if one["codec"] == figures["base"])
    values = [row["sum"]] * 2 if "sum" in row else published
    return [value / float(base.get("sum", base["published"])) for value in values]


def _ours(
    figures: Mapping[str, Any], record: Mapping[str, Any], found: Found, base: Found | None
) -> tuple[float, float, float] | None:
    """Our figure in the unit of the published one, with its least and its most."""
    if found.value is None:
        return None
    ends = (found.value, found.lo or found.value, found.hi or found.value)
    if base is None:
        return _scaled(ends, _BYTES.get(figures["unit"], 1.0))
    if not base.value:
        return None
    # In pairs, as the tables below have it, where the record has the same base.
    paired = figures["unit"] == "x" and "base_operation" not in figures
    if paired and found.ratio and record["derived"].get("base") == figures["base"]:
        return found.ratio
    # The far ends of both intervals: wider than that of the pairs, which another base has not.
    return ends[0] / base.value, ends[1] / (base.hi or base.value), ends[2] / (base.lo or base.value)


def _scaled(ends: tuple[float, float, float], by: float) -> tuple[float, float, float]:
    return ends[0] / by, ends[1] / by, ends[2] / by


def _verdict(
    figures: Mapping[str, Any],
    row: Mapping[str, Any],
    published: list[float],
    here: tuple[Found, Found | None, tuple[float, float, float] | None],
) -> str:
    """Whether a figure is as published, where the whole of its interval says the same."""
    found, base, ours = here
    if row.get("void") and ours is not None:
        return "void"
    if is_base(figures, row):
        return "base"
    if ours is None:
        return "untold" if found.too_wide or (base is not None and base.too_wide) else ""
    if "sizes" in row and published[1] > WIDE * published[0]:
        return "untold"
    if "sizes" not in row and (_few(found) or _few(base)):
        return "untold"
    middle = (published[0] * published[1]) ** 0.5
    nearest = min(max(middle, ours[1]), ours[2])
    said = {_agrees(value, published, figures) for value in (*ours, nearest)}
    return said.pop() if len(said) == 1 else "untold"


def is_base(figures: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """Whether a row is what the others are multiples of, and so no figure of its own."""
    return row["codec"] == figures.get("base") and "where" not in row


def _agrees(ours: float, published: list[float], figures: Mapping[str, Any]) -> str:
    """Whether one value is as published: ``yes``, ``direction`` or ``no``."""
    lo, hi = published
    margin = 1 + figures["within"] if "within" in figures else _SAME
    near = lo / margin <= ours <= hi * margin
    if figures["unit"] in _BYTES:
        return "yes" if near else "no"
    if near and (lo <= ours <= hi or any(_same_side(ours, end) for end in published)):
        return "yes"
    return "direction" if (ours < 1 / _NO_DISTANCE and hi < 1) or (ours > _NO_DISTANCE and lo > 1) else "no"


def _same_side(ours: float, published: float) -> bool:
    """Whether both are below the base, both above it, or both as good as equal to it."""
    equal = all(1 / _NO_DISTANCE <= value <= _NO_DISTANCE for value in (ours, published))
    return equal or (ours - 1) * (published - 1) > 0


def look(
    record: Mapping[str, Any], codec: str, operation: str, where: Mapping[str, str], predicted: bool
) -> Found:
    """The figure of a codec under conditions: measured, or predicted where a curve ended before."""
    labels = {"codec": codec, **where}
    cases = [case for case in record["cases"] if "twin" not in case["labels"] and has(case["labels"], labels)]
    derived = record["derived"]["cases"]
    reason = ""
    for case in cases:
        row = derived.get(case["key"]) or {}
        if case["status"] in _DONE and (found := _figure(row, operation)) is not None:
            return found
        reason = case.get("reason") or case["status"]
    # Of a size that is said to fail nothing is predicted.
    if predicted and all(case["status"] not in _FAILS for case in cases):
        found = _predicted(record, labels, operation)
        if found is not None:
            return found
    return Found(reason=reason or "not in the record")


def has(labels: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    """Whether a case has these labels; a factor that it leaves out is at its default."""
    from tare.measure.cases import FACTORS

    return all(str(labels.get(name, FACTORS[name].default)) == value for name, value in wanted.items())


def _figure(row: Mapping[str, Any], operation: str) -> Found | None:
    kept = str(row.get("kept", ""))
    if operation == "bytes":
        return None if row.get("bytes") is None else Found(row["bytes"], kept=kept)
    times = row.get("total") if operation == "total" else (row.get("ops") or {}).get(operation)
    if not times or row.get("predicted") or times.get("predicted") or times.get("t_ns") is None:
        return None
    ratio = tuple(times.get(name) for name in ("ratio", "ratio_lo", "ratio_hi"))
    return Found(
        times["t_ns"],
        times.get("lo_ns"),
        times.get("hi_ns"),
        int(times.get("samples") or 0),
        int(times.get("launches") or 0),
        kept,
        ratio=None if None in ratio else ratio,
    )


def _predicted(record: Mapping[str, Any], labels: Mapping[str, str], operation: str) -> Found | None:
    rows = _grown(record, {name: value for name, value in labels.items() if name != "size"})
    kept = _kept(record, labels)
    if operation == "bytes":
        known = next((row["predicted_bytes"] for row in rows if row.get("predicted_bytes")), None)
        return None if known is None else Found(known, kept=kept, predicted=True)
    found = next((whole(row) for row in rows if row["op"] == operation), None)
    return None if found is None else Found(**{**vars(found), "kept": kept})


def _grown(record: Mapping[str, Any], wanted: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """The curves with these labels."""
    return [
        row
        for row in record["derived"]["growth"]
        if all(str(row.get(name)) == value for name, value in wanted.items())
    ]


def _kept(record: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """What came back of the largest part that was measured."""
    wanted = {name: value for name, value in labels.items() if name != "size"}
    cases = [case for case in record["cases"] if case["status"] in _DONE and has(case["labels"], wanted)]
    largest = max(cases, key=lambda case: float(case["labels"].get("size", "1")), default=None)
    return "" if largest is None else str(record["derived"]["cases"][largest["key"]].get("kept", ""))


def whole(row: Mapping[str, Any]) -> Found:
    """What a curve predicts of the whole data, unless its range is too wide to say anything.

    Args:
        row: A row of ``growth``.
    """
    from tare.report import text

    ends = row["predicted_ns"], row["predicted_lo_ns"], row["predicted_hi_ns"]
    if ends[2] > WIDE * ends[1]:
        said = f"predicted {text.duration(ends[1])} to {text.duration(ends[2])}: cannot be told"
        return Found(reason=said, too_wide=True)
    return Found(*ends, samples=len(row.get("points") or ()), launches=1, predicted=True)


def percent(share: float) -> str:
    """A part of the data in words.

    >>> percent(0.0905097), percent(0.128), percent(1.0)
    ('9.1 %', '13 %', '100 %')
    """
    return f"{share * 100:.2g} %" if share < 0.995 else "100 %"
