"""The charts' long datasets: growth curves, raw samples, the run against itself."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tare.report import text
from tare.report.digest import Digest, Row, mapping, number

__all__ = ["MUTED", "growth_ends", "growth_points", "samples", "short", "twins"]

MUTED = 99
_MAX_SAMPLES = 1800
_PER_CASE = 200
_OPERATIONS = ("encode", "write", "send", "decode", "read", "receive", "open", "subset", "span", "total")
_FAILED = ("error", "timeout", "killed", "unproven")


def short(value: float | None) -> float | int | None:
    """Five significant digits are more than a pixel shows, and keep the file small."""
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.5g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def growth_points(found: Digest, slots: dict[str, int]) -> list[dict[str, Any]]:
    """The points of the growth curves, one row each."""
    out = []
    for entry, series in _curves(found, slots):
        for point in entry.get("points") or []:
            size, _items, n_bytes, t_ns = [number(value) for value in point][:4]
            if size and t_ns:
                out.append({**series, "size": short(size), "t": short(t_ns), "B": short(n_bytes)})
    return out


def growth_ends(found: Digest, slots: dict[str, int]) -> list[dict[str, Any]]:
    """Where each growth curve ends, what is said of it there, and its reason if it failed."""
    out = []
    for entry, series in _curves(found, slots):
        points = [point for point in entry.get("points") or [] if number(point[0]) and number(point[3])]
        if not points:
            continue
        last = max(points, key=lambda point: point[0])
        k, end = number(entry.get("k")), mapping(entry.get("end"))
        steep, failed = bool(entry.get("superlinear")), end.get("status") in _FAILED
        exponent = "" if k is None else f"{k:.1f}{'!' if steep else ''} "
        stop = f": {end['status']}" if failed else ""
        out.append(
            {
                **series,
                "size": short(number(last[0])),
                "t": short(number(last[3])),
                "said": f"{exponent}{series['label']}{stop}",
                "steep": int(steep),
                "failed": int(failed),
                "why": text.one_line(end.get("reason") or "", 120),
            }
        )
    return out


def _curves(found: Digest, slots: dict[str, int]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The growth curves that are shown, with what tells one from another: its panel, its name, its looks.

    A codec that was handed over in several ways has a curve for each; they share its
    colour, and differ in name, dash and shape.
    """
    panels, ways = set(_panels(found)), _deliveries(found)
    for entry in found.growth:
        medium, op, codec = str(entry.get("medium")), str(entry.get("op")), str(entry.get("codec"))
        if (medium, op) not in panels:
            continue
        several, slot = ways[codec, medium], slots.get(codec, MUTED)
        way = str(entry.get("delivery"))
        title = found.titles.get(codec, codec)
        name = f"{title}, {way}" if len(several) > 1 else title
        yield (
            entry,
            {
                # An emulated link is never taken for a network.
                "panel": f"{'link(emulated)' if medium == 'link' else medium}, {op}",
                "series": name,
                "codec": codec,
                "label": text.visible(name, 44),
                "slot": slot,
                "form": slot if slot == MUTED else (slot + 3 * several.index(way)) % 10,
            },
        )


def _deliveries(found: Digest) -> dict[tuple[str, str], list[str]]:
    """In which ways a codec was handed over on a medium."""
    out: dict[tuple[str, str], set[str]] = {}
    for entry in found.growth:
        at = str(entry.get("codec")), str(entry.get("medium"))
        out.setdefault(at, set()).add(str(entry.get("delivery")))
    return {at: sorted(ways) for at, ways in out.items()}


def samples(found: Digest, slots: dict[str, int]) -> list[dict[str, Any]]:
    """Raw samples of the codecs with a colour, as distances from their median."""
    picked = []
    for place, grid in enumerate(found.grids):
        for row in grid.rows:
            if row.codec in slots and row.timed:
                picked += [(place, row, which, op) for which, op in enumerate(grid.ops)]
    # The headline grid comes first: when the file would grow too large, the later ones are thinned out of it.
    per_case = max(24, min(_PER_CASE, _MAX_SAMPLES // max(1, len(picked))))
    out: list[dict[str, Any]] = []
    for place, row, which, op in picked:
        if len(out) > _MAX_SAMPLES:
            break
        out += _strip(
            row, op, per_case, {"grid": place, "codec": row.codec, "slot": slots[row.codec], "op": which}
        )
    return out


def _strip(row: Row, op: str, limit: int, head: dict[str, Any]) -> list[dict[str, Any]]:
    points = []
    clocked = op in ("encode", "decode")
    for launch in row.case.get("launches") or []:
        columns = (launch.get("samples") or {}).get(op) or {}
        wall, batch = columns.get("wall_ns") or [], columns.get("batch") or []
        user, system, switches = columns.get("user_ns"), columns.get("sys_ns"), columns.get("nivcsw")
        for i, (total, calls) in enumerate(zip(wall, batch, strict=False)):
            cpu = user[i] + (system[i] if system else 0) if clocked and user else total
            points.append(
                (
                    number(launch.get("n")) or 0,
                    (cpu or total) / max(1, calls),
                    int(bool(switches and switches[i])),
                )
            )
    if not points:
        return []
    middle = sorted(t for _, t, _ in points)[len(points) // 2]
    step = max(1, math.ceil(len(points) / limit))
    return [
        {**head, "n": int(n), "d": short(round(t / middle - 1, 4)), "p": p}
        for n, t, p in points[::step]
        if middle
    ]


def twins(found: Digest) -> list[dict[str, Any]]:
    """The ratios of the base codec to its twin, by operation."""
    floor = number(found.noise.get("floor"))
    given = [
        entry
        for entry in found.noise.get("aa") or []
        if isinstance(entry, dict) and (number(entry.get("ratio")) or 0.0) > 0
    ]
    media = {entry.get("medium") for entry in given}
    rows = [
        {
            "launch": int(number(entry.get("launch")) or 0),
            "op": text.visible(entry.get("op") or "", 20),
            "medium": text.visible(entry.get("medium") or "", 20) if len(media) > 1 else "",
            "ratio": number(entry.get("ratio")),
            "lo": number(entry.get("lo")) or number(entry.get("ratio")),
            "hi": number(entry.get("hi")) or number(entry.get("ratio")),
            "floor": floor or 0.0,
        }
        for entry in given
    ]
    return [
        {**row, "part": f"{row['medium']}, {row['op']}" if row["medium"] else row["op"], "n": place}
        for place, row in enumerate(sorted(rows, key=_by_operation), 1)
    ]


def _by_operation(row: dict[str, Any]) -> tuple[Any, ...]:
    known = row["op"] in _OPERATIONS
    return (
        row["medium"],
        _OPERATIONS.index(row["op"]) if known else -1,
        row["op"],
        row["launch"],
        row["ratio"],
    )


def _panels(found: Digest) -> list[tuple[str, str]]:
    """The growth panels: medium and operation; only totals when there are many media."""
    pairs = sorted(
        {(str(entry.get("medium")), str(entry.get("op"))) for entry in found.growth if entry.get("points")}
    )
    # Over a stream the span is the total.
    spans = {medium for medium, op in pairs if op == "span"}
    pairs = [(medium, op) for medium, op in pairs if op != "total" or medium not in spans]
    totals = [pair for pair in pairs if pair[1] in ("total", "span")]
    return totals if len(pairs) > 6 and totals else pairs
