"""The data behind the charts, and their Vega specs with that data put in.

The same numbers feed the page, its tables, and the exported PNG and SVG files.
A codec keeps its slot (hue, dash and shape) in every chart; slots go to the
codecs that matter for the verdict, the others are drawn in grey.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from tare.measure.analysis.ranked_cases import off_usual
from tare.report import text
from tare.report.digest import PROFILES, Digest, Grid, Row, Times, mapping, number
from tare.report.precision import seldom
from tare.report.series import MUTED, growth_ends, growth_points, samples, short, twins

__all__ = [
    "CHARTS",
    "FEATURED",
    "bases",
    "basis_of",
    "chart_data",
    "featured",
    "group_of",
    "group_said",
    "link_of",
    "orders",
    "spec",
    "themes",
    "verdict_of",
]

# Name -> heading and what the chart shows, for readers who do not see it.
CHARTS: dict[str, tuple[str, str]] = {
    "bandwidth": (
        "Total time against bandwidth",
        "Lines: cost of each codec from 1 MB/s to 10 GB/s, with interval bands, both axes logarithmic; in grey, "
        "without a name, the codecs that matter less. The strip below names the cheapest codec at each bandwidth; "
        "dashed lines mark where the choice changes.",
    ),
    "pareto": (
        "Size against time",
        "Points: encoded size against the time of one write and of one read, both axes logarithmic, down and "
        "left is better. The stepped line joins codecs that no other beats in both. Filled points are on the "
        "Pareto front over size, write and read; those without a name are in the tables.",
    ),
    "growth": (
        "Growth with the data",
        "Time against size of the data, one panel per medium and operation, both axes logarithmic. Each curve is "
        "named at its end, with k, the exponent: 1 means that twice the data takes twice the time, ! that the time "
        "grows faster than the data. A cross ends a curve that failed.",
    ),
    "times": (
        "Write and read, with intervals",
        "Dots: filled for the write, hollow for the read, on a logarithmic axis, with 95 % intervals where launches "
        "were enough for one, in order of the chosen cost. The short tick is the floor, the least time seen.",
    ),
    "memory": (
        "Peak memory",
        "Bars: memory taken at the peak of one write (solid) and of one read (outlined), above what was in use "
        "before, and the larger as a multiple of the encoded bytes where those are 1 MiB or more. The dashed line "
        "is the size of the data in memory.",
    ),
    "samples": (
        "Raw samples",
        "Every mark is one timed sample, placed by how far it is from its codec's median; rows within a codec "
        "are launches. Hollow marks were preempted by other work.",
    ),
    "noise": (
        "The run against itself",
        "The base codec was measured twice in each round. Points are the ratio of the two, by operation, on a "
        "logarithmic axis, with intervals; a quiet run stays close to 1. The band is the noise floor. A triangle at "
        "the edge: the interval reaches further.",
    ),
}
FEATURED = 10


def themes() -> dict[str, Any]:
    """Vega's ``config`` for light and dark, with the palette as range ``codec``."""
    loaded: dict[str, Any] = json.loads(_asset("theme.json"))
    return loaded


def spec(name: str) -> dict[str, Any]:
    """A chart's Vega spec without data.

    >>> spec("pareto")["$schema"]
    'https://vega.github.io/schema/vega/v6.json'
    """
    loaded: dict[str, Any] = json.loads(_asset(f"{name}.json"))
    return loaded


def _asset(name: str) -> str:
    return resources.files("tare.report").joinpath("vega", name).read_text("utf-8")


def featured(found: Digest) -> list[str]:
    """The codecs that get a hue of their own: what the verdicts name, the Pareto front, the base, the cheapest."""
    chosen: list[str] = []

    def add(codec: Any) -> None:
        known = isinstance(codec, str) and codec in found.codecs
        if known and codec not in chosen and len(chosen) < FEATURED:
            chosen.append(codec)

    for verdict in [found.verdict, *(verdict_of(found, name) for name in PROFILES)]:
        add(verdict.get("codec"))
        for flip in verdict.get("flips") or []:
            add(flip.get("codec") if isinstance(flip, dict) else None)
    add(found.base)
    front = set(map(str, found.derived.get("pareto") or []))
    timed = [row for grid in found.grids for row in grid.rows if row.timed]
    for row in timed:
        if row.key in front:
            add(row.codec)
    add(found.verdict.get("runner_up"))
    for row in timed:
        add(row.codec)
    # Curves that all end before the whole of the data leave no row with times of it.
    grown = {entry.get("codec") for entry in found.growth if entry.get("points")}
    for grid in found.grids:
        for row in grid.rows:
            if row.codec in grown:
                add(row.codec)
    return chosen


def chart_data(found: Digest) -> dict[str, list[dict[str, Any]]]:
    """Every dataset that the specs name, as lists of flat objects."""
    slots = {codec: place for place, codec in enumerate(featured(found))}
    return {
        "codecs": [
            {"codec": codec, "label": text.visible(found.titles[codec], 60), "slot": slots.get(codec, MUTED)}
            for codec in found.codecs
        ],
        "cost": _cost(found, slots),
        "rows": _rows(found, slots),
        "growth": growth_points(found, slots),
        "ends": growth_ends(found, slots),
        "samples": samples(found, slots),
        "aa": twins(found),
        "marks": _marks(found),
        "known": _known(found),
    }


def bases(found: Digest) -> dict[str, Grid]:
    """Medium -> the grid that stands for it, whose times hold no link: what a cost over a bandwidth is made of.

    That is the verdict's own, then one of its data, then the most usual one.
    """
    head = found.grids[0] if found.grids else None
    data = head.labels.get("dataset") if head else None
    out: dict[str, Grid] = {}
    for grid in sorted(
        found.grids,
        key=lambda grid: (grid is not head, grid.labels.get("dataset") != data, off_usual(grid.labels)),
    ):
        if grid.medium in ("memory", "conn", "file", "store") and any(row.timed for row in grid.rows):
            out.setdefault(grid.medium, grid)
    return out


def group_of(found: Digest, name: str) -> Grid | None:
    """The group of codecs that a chart shows at first; None for those that show all of the run."""
    if name in ("growth", "noise"):
        return None
    if name == "bandwidth":
        return bases(found).get(basis_of(found, found.profile))
    return found.grids[0] if found.grids else None


def group_said(found: Digest, name: str) -> str:
    """Which group of the run a chart is of, for its caption: one of many looks like all that was measured."""
    grid, data = group_of(found, name), str(found.dataset.get("name") or "")
    groups = sum(any(row.timed for row in grid.rows) for grid in found.grids)
    if grid is None:
        said = data if name == "growth" else "all groups of the run"
    else:
        told = grid.labels.get("dataset") in grid.title.split(", ")
        said = grid.title if told else ": ".join(filter(None, (data, grid.title)))
        said += f" (one of {groups} groups that were measured)" if groups > 1 else ""
    return text.visible(said, 160)


def basis_of(found: Digest, profile: str) -> str:
    """The medium whose times a profile's cost was computed from; empty when there is none."""
    known = bases(found)
    key = str(verdict_of(found, profile).get("key") or "")
    for medium, grid in known.items():
        if any(row.key == key for row in grid.rows):
            return medium
    preferred = ("file", "memory") if profile in ("keep", "cache", "random") else ("memory", "file")
    return next((medium for medium in (*preferred, *known) if medium in known), "")


def link_of(found: Digest, profile: str) -> dict[str, Any]:
    """A profile's weights for the chart: over its own link, or over none where the medium's time was measured.

    A span that was measured over a link is in no curve: then the profile's usual link is added to them.
    """
    weights = found.weights(profile)
    key = str(verdict_of(found, profile).get("key") or "")
    if (
        weights["v"] is None
        and key
        and all(row.key != key for grid in bases(found).values() for row in grid.rows)
    ):
        usual = PROFILES.get(profile, {})
        return weights | {"v": usual.get("v"), "rtt": usual.get("rtt", 0.0)}
    return weights


def verdict_of(found: Digest, profile: str) -> dict[str, Any]:
    """A profile's verdict; an empty one when the record has none."""
    return mapping(mapping(found.derived.get("profiles")).get(profile))


def _cost(found: Digest, slots: dict[str, int]) -> list[dict[str, Any]]:
    removed: dict[str, list[str]] = {}
    for name in PROFILES:
        for entry in verdict_of(found, name).get("excluded") or []:
            if isinstance(entry, dict):
                removed.setdefault(str(entry.get("codec")), []).append(name)
    return [one for grid in bases(found).values() for one in _cost_rows(found, grid, slots, removed)]


def _cost_rows(
    found: Digest, grid: Grid, slots: dict[str, int], removed: dict[str, list[str]]
) -> list[dict[str, Any]]:
    out = []
    for row in grid.rows:
        if not row.timed or row.bytes is None or row.write.t_ns is None or row.read.t_ns is None:
            continue
        part = Times.of(mapping(row.derived.get("ops")).get("subset"))
        whole, n_bytes = _whole(found, grid, row)
        out.append(
            {
                "basis": grid.medium,
                "codec": row.codec,
                "label": text.visible(found.titles[row.codec], 40),
                "slot": slots.get(row.codec, MUTED),
                "B": short(n_bytes),
                "S": short((part.t_ns or 0) * whole["subset"] / 1e9),
                "ok": int(row.status == "ok"),
                "out": removed.get(row.codec, []),
                **{
                    f"{side}{end}": short((value or 0) * whole[op] / 1e9)
                    for side, times, op in zip("ED", (row.write, row.read), grid.ops, strict=True)
                    for end, value in (
                        ("", times.t_ns),
                        ("l", times.lo_ns or times.t_ns),
                        ("h", times.hi_ns or times.t_ns),
                    )
                },
            }
        )
    return out


def _whole(found: Digest, grid: Grid, row: Row) -> tuple[dict[str, float], float]:
    """Factors from the measured part to the whole data, by operation, and the whole's bytes.

    Costs are of the whole data, as in the record's verdicts: by the growth curve where there
    is one, else in proportion.
    """
    timings = mapping(row.derived.get("ops"))
    factors = dict.fromkeys((*grid.ops, "subset"), 1.0 / (found.partial or 1.0))
    if found.partial is None:
        return factors, row.bytes or 0.0
    curves = {
        str(entry.get("op")): entry
        for entry in found.growth
        if (entry.get("codec"), entry.get("medium")) == (row.codec, grid.medium)
    }
    for op in factors:
        predicted, t_ns = number(mapping(curves.get(op)).get("predicted_ns")), Times.of(timings.get(op)).t_ns
        if predicted and t_ns:
            factors[op] = predicted / t_ns
    grown = [number(entry.get("predicted_bytes")) for entry in curves.values()]
    n_bytes = next((value for value in grown if value), (row.bytes or 0.0) / found.partial)
    return factors, n_bytes


def orders(found: Digest, grid: Grid) -> dict[str, dict[str, int]]:
    """Profile -> codec -> place in the grid's order under that profile's cost."""
    out: dict[str, dict[str, int]] = {}
    for name in PROFILES:
        costs = verdict_of(found, name).get("cost_s") or {}

        def place(row: Row, costs: dict[str, Any] = costs) -> tuple[int, float]:
            cost = costs.get(row.codec)
            known = number(cost[0]) if isinstance(cost, list) and cost else None
            if known is not None:
                return 0, known
            return (1, row.total.t_ns) if row.total.t_ns is not None else (2, 0.0)

        ordered = sorted(grid.rows, key=place) if costs else list(grid.rows)
        out[name] = {row.codec: i for i, row in enumerate(ordered)}
    return out


def _rows(found: Digest, slots: dict[str, int]) -> list[dict[str, Any]]:
    raw = number(found.dataset.get("bytes_memory"))
    out = []
    for place, grid in enumerate(found.grids):
        places, front = orders(found, grid), _front(found, grid)
        for row in grid.rows:
            if not row.timed:
                continue
            memory = mapping(row.case.get("memory"))
            peaks = [number(mapping(memory.get(op)).get("peak_bytes")) for op in grid.ops]
            out.append(
                {
                    "grid": place,
                    "codec": row.codec,
                    "label": text.visible(found.titles[row.codec], 40),
                    "slot": slots.get(row.codec, MUTED),
                    "B": short(row.bytes),
                    "lossy": int(row.status == "lossy"),
                    "front": int(row.key in front),
                    "raw": short(number(row.case.get("raw_bytes")) or raw),
                    **_side("w", row.write, few=bool(seldom(row, grid.ops[0]))),
                    **_side("r", row.read, few=bool(seldom(row, grid.ops[1]))),
                    "mw": short(peaks[0]),
                    "mr": short(peaks[1]),
                    **{f"o_{name}": order[row.codec] for name, order in places.items()},
                }
            )
    return out


def _front(found: Digest, grid: Grid) -> set[str]:
    """Keys on the Pareto front of a grid: the record's own, or those that no interval says are beaten."""
    known = set(map(str, found.derived.get("pareto") or [])) & {row.key for row in grid.rows}
    if known:
        return known
    rows = [row for row in grid.rows if row.status == "ok" and row.timed and row.bytes is not None]

    def beats(a: Row, b: Row) -> bool:
        sides = [(a.write, b.write), (a.read, b.read)]
        return (a.bytes or 0) < (b.bytes or 0) and all(
            (x.hi_ns or x.t_ns or 0) < (y.lo_ns or y.t_ns or 0) for x, y in sides
        )

    return {row.key for row in rows if not any(beats(other, row) for other in rows)}


def _side(name: str, times: Times, *, few: bool) -> dict[str, Any]:
    """A time with its interval, which a few samples do not give."""
    return {
        name: short(times.t_ns),
        f"{name}l": None if few else short(times.lo_ns),
        f"{name}h": None if few else short(times.hi_ns),
        f"{name}f": short(times.floor_ns),
    }


def _known(found: Digest) -> list[dict[str, Any]]:
    """Crossings with the intervals of the record, by profile and pair: cheaper below first."""
    out: list[tuple[Any, ...]] = []
    for name in PROFILES:
        verdict = verdict_of(found, name)
        for flip in verdict.get("flips") or []:
            if not isinstance(flip, dict) or flip.get("axis") != "bandwidth":
                continue
            pair = (flip.get("codec"), verdict.get("codec"))
            below = flip.get("side") == "below" or str(flip.get("text")).startswith("below")
            out.append(
                (name, *(pair if below else pair[::-1]), flip.get("at"), flip.get("lo"), flip.get("hi"))
            )
    crossings = [entry for entry in found.derived.get("crossings") or [] if isinstance(entry, dict)]
    out += [
        ("message", *(entry.get(part) for part in ("a", "b", "v_bytes_s", "lo", "hi"))) for entry in crossings
    ]
    return [
        {"pair": f"{name}|{a}|{b}", "at": number(at), "lo": number(lo), "hi": number(hi)}
        for name, a, b, at, lo, hi in out
        if None not in (number(at), number(lo), number(hi))
    ]


def _marks(found: Digest) -> list[dict[str, Any]]:
    """Bandwidths worth a mark under the strip: the profiles' own; those that share one share its mark."""
    sides = {"message": "right", "archive": "left"}
    names: dict[float, list[str]] = {}
    for name in PROFILES:
        v = link_of(found, name)["v"]
        if v:
            names.setdefault(v, []).append(name)
    return [
        {"name": ", ".join(some), "v": v, "align": sides.get(some[0], "center")} for v, some in names.items()
    ]
