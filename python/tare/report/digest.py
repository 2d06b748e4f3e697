"""What a report shows of a record, and in which order, decided once for every renderer.

A `Digest` groups the cases of a record into grids (all codecs under the same
conditions), orders each grid by the chosen profile's cost, and says for every
row what may be shown: figures, a prediction, or the reason why there are none.
It computes no statistic: figures come from the record's ``derived``. Every part
may be missing: a record of an interrupted run is still shown as far as it goes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

__all__ = ["PROFILES", "Digest", "Grid", "Row", "Times", "digest", "number"]

# Name -> writes, full reads, bytes per second, seconds per byte saved, what the profile is for.
PROFILES: dict[str, dict[str, Any]] = {
    "cache": {"w": 1.0, "r": 10.0, "v": None, "s": 0.0, "about": "written once, read ten times, here"},
    "archive": {"w": 1.0, "r": 1.0, "v": 200e6, "s": 20e-9, "about": "kept for years, readable by others, small"},
    "message": {"w": 1.0, "r": 1.0, "v": 125e6, "s": 0.0, "about": "sent once, received once, over a link"},
    "exchange": {"w": 1.0, "r": 3.0, "v": 12.5e6, "s": 0.0, "about": "handed to other people and languages"},
    "random": {"w": 1.0, "r": 1.0, "v": None, "s": 0.0, "about": "read in small parts, a thousand times"},
}
_MEDIA = ("memory", "file", "conn", "fifo", "unix", "tcp", "remote", "link", "store")
_PAIRS = (("write", "read"), ("encode", "decode"), ("send", "receive"))
_HIDDEN = frozenset({"codec", "size", "twin"})
_FACTORS = ("dataset", "medium", "delivery", "cache", "sync", "threads", "gc", "materialise", "subset", "kind",
            "grain", "orient", "order", "content")
_TIMED = frozenset({"ok", "lossy"})
_RANK = {"ok": 0, "lossy": 0, "screened": 1}


def number(value: Any) -> float | None:
    """The value as a finite float, or None: records may lack any figure.

    >>> number(3), number(None), number(float("nan")), number(True)
    (3.0, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


@dataclass(frozen=True)
class Times:
    """One operation's derived figures; None where the record has none."""

    t_ns: float | None = None
    lo_ns: float | None = None
    hi_ns: float | None = None
    floor_ns: float | None = None
    ratio: float | None = None
    ratio_lo: float | None = None
    ratio_hi: float | None = None
    letters: str = ""
    provisional: bool = False
    contended: bool = False

    @classmethod
    def of(cls, figures: Any) -> Times:
        """Read one entry of ``derived.cases[key].ops`` or ``.total``."""
        if not isinstance(figures, dict):
            return cls()
        numbers = {name: number(figures.get(name)) for name in
                   ("t_ns", "lo_ns", "hi_ns", "floor_ns", "ratio", "ratio_lo", "ratio_hi")}
        return cls(**numbers, letters=str(figures.get("letters") or ""), provisional=bool(figures.get("provisional")),
                   contended=bool(figures.get("contended")))


@dataclass(frozen=True)
class Row:
    """One codec in one grid."""

    codec: str
    key: str
    status: str
    reason: str
    size: float
    write: Times
    read: Times
    total: Times
    bytes: float | None
    size_share: float | None
    peak_bytes: float | None
    copies: float | None
    k: float | None
    k_lo: float | None
    superlinear: bool
    kept: str
    predicted_ns: tuple[float, float | None, float | None] | None
    flags: tuple[str, ...]
    cost: tuple[float, float, float] | None
    excluded: str
    case: dict[str, Any] = field(repr=False)
    derived: dict[str, Any] = field(repr=False)

    @property
    def timed(self) -> bool:
        """Whether the row's own figures may be shown: it ran, and the data came back."""
        return self.status in _TIMED and self.total.t_ns is not None

    @property
    def delivery(self) -> str:
        """How the value was handed over, where that is not the whole of it at once."""
        found = str(self.case["labels"].get("delivery") or "whole")
        return "" if found == "whole" else found

    @property
    def published(self) -> Times:
        """The total that the imported source printed."""
        return Times(t_ns=number(_dict(self.case.get("published")).get("total_ns")))

    @property
    def provisional(self) -> bool:
        """Whether fewer than three launches stand behind the figures."""
        return self.total.provisional or self.write.provisional or self.read.provisional


@dataclass(frozen=True)
class Grid:
    """All codecs measured under the same conditions."""

    id: str
    title: str
    labels: dict[str, str]
    size: float
    ops: tuple[str, str]
    rows: tuple[Row, ...]

    @property
    def medium(self) -> str:
        """The grid's medium."""
        return self.labels.get("medium", "memory")


@dataclass(frozen=True)
class Digest:
    """A record, ready to be laid out."""

    record: dict[str, Any]
    derived: dict[str, Any]
    profile: str
    verdict: dict[str, Any]
    grids: tuple[Grid, ...]
    codecs: tuple[str, ...]
    growth: tuple[dict[str, Any], ...]

    @property
    def dataset(self) -> dict[str, Any]:
        """The dataset's summary."""
        return _dict(self.record.get("dataset"))

    @property
    def noise(self) -> dict[str, Any]:
        """The run's noise figures; those derived from the samples fill what the run did not note."""
        derived = {key: value for key, value in _dict(self.derived.get("noise")).items() if value not in (None, [])}
        return {**derived, **{key: value for key, value in _dict(self.record.get("noise")).items()
                              if value not in (None, [])}}

    @property
    def imported(self) -> str:
        """Where the figures come from when they were not measured here; empty when they were."""
        origin = self.record.get("imported")
        if isinstance(origin, dict):
            return str(origin.get("source") or "elsewhere")
        return str(origin) if isinstance(origin, str) else "elsewhere" if origin else ""

    @property
    def base(self) -> str:
        """Id of the codec that ratios are taken to."""
        return str(self.derived.get("base") or _dict(self.record.get("plan")).get("base") or "")

    @property
    def partial(self) -> float | None:
        """Share of the data that was measured, when it is not all of it."""
        loaded = number(_dict(self.dataset.get("partial")).get("share"))
        largest = max((grid.size for grid in self.grids), default=1.0)
        share = (1.0 if loaded is None else loaded) * largest
        return share if share < 0.9995 else None

    def weights(self, profile: str | None = None) -> dict[str, Any]:
        """Writes, reads, bandwidth and price of a byte of a profile."""
        name = profile or self.profile
        verdict = _dict(_dict(self.derived.get("profiles")).get(name))
        given = {key: number(verdict.get(key)) for key in ("w", "r", "v", "s")}
        standard = PROFILES.get(name, PROFILES["message"])
        return {**standard, **{key: value for key, value in given.items() if value is not None}}


def digest(result: Any, *, profile: str | None = None) -> Digest:
    """Read what a report shows from a Result.

    Args:
        result: A Result, or a record as a dict.
        profile: Profile whose cost orders the rows; the record's headline by default.
    """
    record = result if isinstance(result, dict) else result.record
    derived = _dict(record.get("derived"))
    profiles = _dict(derived.get("profiles"))
    name = profile or str(derived.get("headline_profile") or "") or next(iter(profiles), "cache")
    headline = _dict(derived.get("headline")) if profile in (None, derived.get("headline_profile")) else {}
    verdict = _dict(profiles.get(name)) or headline
    growth = tuple(entry for entry in _list(derived.get("growth")) if isinstance(entry, dict))
    grids = _grids(record, derived, verdict, growth)
    codecs = []
    for grid in grids:
        codecs += [row.codec for row in grid.rows if row.codec not in codecs]
    return Digest(record, derived, name, verdict, grids, tuple(codecs), growth)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _grids(record: dict[str, Any], derived: dict[str, Any], verdict: dict[str, Any],
           growth: tuple[dict[str, Any], ...]) -> tuple[Grid, ...]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for case in _list(record.get("cases")):
        labels = _dict(_dict(case).get("labels"))
        if labels.get("twin") or labels.get("codec") in (None, "copy"):
            continue
        name = "|".join(f"{k}={labels[k]}" for k in sorted(labels) if k not in _HIDDEN and k != "delivery")
        groups.setdefault(name, []).append(case)
    groups = _by_delivery(groups)
    varying = _varying(groups)
    headline = str(verdict.get("key") or "")
    grids = []
    for name, cases in groups.items():
        labels = {k: str(v) for k, v in cases[0]["labels"].items() if k not in _HIDDEN}
        if len({case["labels"].get("delivery") for case in cases}) > 1:
            labels.pop("delivery", None)
        grid = _grid(name, _title(labels, varying), labels, cases, derived, verdict, growth)
        grids.append(grid)
    medium = {name: place for place, name in enumerate(_MEDIA)}
    grids.sort(key=lambda grid: (all(row.key != headline for row in grid.rows),
                                 not any(row.timed for row in grid.rows),
                                 medium.get(grid.medium, 99), grid.id))
    return tuple(grids)


def _by_delivery(groups: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Split a grid by delivery only where a codec has more than one: else each codec shows its own."""
    out: dict[str, list[dict[str, Any]]] = {}
    for name, cases in groups.items():
        seen: dict[str, set[str]] = {}
        for case in cases:
            seen.setdefault(str(case["labels"]["codec"]), set()).add(str(case["labels"].get("delivery")))
        if all(len(deliveries) == 1 for deliveries in seen.values()):
            out[name] = cases
            continue
        for case in cases:
            out.setdefault(f"{name}|delivery={case['labels'].get('delivery')}", []).append(case)
    return out


def _varying(groups: dict[str, list[dict[str, Any]]]) -> set[str]:
    levels: dict[str, set[str]] = {}
    for cases in groups.values():
        labels = cases[0]["labels"]
        for factor in _FACTORS:
            if factor == "delivery" and len({case["labels"].get(factor) for case in cases}) > 1:
                continue
            # A factor that only one medium has (sync, cache) tells nothing between media.
            levels.setdefault(f"{labels.get('medium')}/{factor}", set()).add(str(labels.get(factor)))
    return {name.partition("/")[2] for name, seen in levels.items() if len(seen) > 1}


def _title(labels: dict[str, str], varying: set[str]) -> str:
    words = [labels.get("medium", "memory")]
    for factor in _FACTORS:
        if factor == "medium" or factor not in varying or factor not in labels:
            continue
        level = labels[factor]
        words.append(level if factor in ("dataset", "delivery", "cache") else f"{factor} {level}")
    return ", ".join(words)


def _size(case: dict[str, Any]) -> float:
    try:
        value = float(case["labels"].get("size", 1))
    except (TypeError, ValueError):
        return 1.0
    return value if math.isfinite(value) else 1.0


def _grid(name: str, title: str, labels: dict[str, str], cases: list[dict[str, Any]], derived: dict[str, Any],
          verdict: dict[str, Any], growth: tuple[dict[str, Any], ...]) -> Grid:
    weighed = [case for case in cases if case.get("stage") in (None, "weigh")] or cases
    full = max(_size(case) for case in weighed)
    best: dict[str, dict[str, Any]] = {}
    for case in cases:
        codec = str(case["labels"]["codec"])
        if codec not in best or _size(case) > _size(best[codec]):
            best[codec] = case
    figures = _dict(derived.get("cases"))
    ops = _ops(best, figures)
    scale = _base_total(best, figures, derived)
    excluded = {str(entry.get("codec")): str(entry.get("reason") or "") for entry in _list(verdict.get("excluded"))
                if isinstance(entry, dict)}
    rows = []
    for codec, case in best.items():
        curve = [entry for entry in growth if entry.get("codec") == codec
                 and entry.get("medium") == labels.get("medium")
                 and entry.get("delivery") in (None, case["labels"].get("delivery"))]
        small = [other for other in cases if other["labels"]["codec"] == codec and other is not case]
        rows.append(_row(case, ops, figures, curve, _Around(full, scale, small, verdict, excluded)))
    return Grid(name, title, labels, full, ops, tuple(sorted(rows, key=_order)))


@dataclass(frozen=True)
class _Around:
    """What a row needs to know of its grid."""

    full: float
    base_total: float | None
    smaller: list[dict[str, Any]]
    verdict: dict[str, Any]
    excluded: dict[str, str]


def _ops(cases: dict[str, dict[str, Any]], figures: dict[str, Any]) -> tuple[str, str]:
    seen: set[str] = set()
    for case in cases.values():
        seen |= set(_dict(_dict(figures.get(case.get("key"))).get("ops")))
    for pair in _PAIRS:
        if seen & set(pair):
            return pair
    medium = next(iter(cases.values()))["labels"].get("medium") if cases else "memory"
    return {"memory": _PAIRS[1], "file": _PAIRS[0], "store": _PAIRS[0]}.get(str(medium), _PAIRS[2])


def _base_total(cases: dict[str, dict[str, Any]], figures: dict[str, Any], derived: dict[str, Any]) -> float | None:
    case = cases.get(str(derived.get("base")), {})
    return Times.of(_dict(figures.get(case.get("key"))).get("total")).t_ns


def _row(case: dict[str, Any], ops: tuple[str, str], figures: dict[str, Any], curve: list[dict[str, Any]],
         around: _Around) -> Row:
    labels = case["labels"]
    codec = str(labels["codec"])
    own = _dict(figures.get(case.get("key")))
    timings = _dict(own.get("ops"))
    status = str(case.get("status") or "pending")
    if status in _TIMED and (_size(case) < around.full * 0.9995 or not own.get("total")):
        # A codec that got no further than the screening sample has a prediction, not a figure.
        status = "screened" if _size(case) < around.full * 0.9995 else "pending"
    steepest = max(curve, key=lambda entry: number(entry.get("k")) or 0.0, default={})
    cost = [number(value) for value in _list(_dict(around.verdict.get("cost_s")).get(codec))]
    n_bytes = number(own.get("bytes")) if number(own.get("bytes")) is not None else number(case.get("bytes"))
    raw = number(case.get("raw_bytes"))
    projected = bool(case.get("predicted")) and number(own.get("bytes")) is not None
    if status == "screened" and n_bytes is not None and _size(case) < around.full * 0.9995 and not projected:
        n_bytes = n_bytes * around.full / _size(case)
        raw = None if raw is None else raw * around.full / _size(case)
    share = number(own.get("size_share"))
    if share is None and n_bytes is not None and raw:
        share = n_bytes / raw
    return Row(
        codec=codec, key=str(case.get("key")), status=status, reason=str(case.get("reason") or ""),
        size=_size(case), write=Times.of(timings.get(ops[0])), read=Times.of(timings.get(ops[1])),
        total=Times.of(own.get("total")), bytes=n_bytes, size_share=share, peak_bytes=number(own.get("peak_bytes")),
        copies=number(own.get("copies_encoded")), k=number(steepest.get("k")), k_lo=number(steepest.get("k_lo")),
        superlinear=any(bool(entry.get("superlinear")) for entry in curve), kept=_kept(case, own),
        predicted_ns=_predicted(status, own, curve, figures, around), flags=tuple(map(str, _list(own.get("flags")))),
        cost=(cost[0], cost[1], cost[2]) if len(cost) == 3 and None not in cost else None,  # type: ignore[arg-type]
        excluded=around.excluded.get(codec, ""), case=case, derived=own)


def _kept(case: dict[str, Any], own: dict[str, Any]) -> str:
    verify = _dict(case.get("verify"))
    columns = number(verify.get("columns"))
    silent = sum(1 for change in _list(verify.get("changes")) if _dict(change).get("verdict") == "lossy")
    if not verify or (own.get("kept") and not silent):
        return str(own.get("kept") or "")
    if columns is None:
        return f"{silent} silent" if silent else str(verify.get("verdict") or "")
    return f"{columns - silent:.0f}+{silent} silent" if silent else f"{columns:.0f}/{columns:.0f}"


def _predicted(status: str, own: dict[str, Any], curve: list[dict[str, Any]], figures: dict[str, Any],
               around: _Around) -> tuple[float, float | None, float | None] | None:
    """The predicted time of one write and one read: the record's own, the growth curve's, or by the screening ratio."""
    total = _dict(own.get("total"))
    if total.get("predicted") and number(total.get("t_ns")) is not None:
        return float(total["t_ns"]), number(total.get("lo_ns")), number(total.get("hi_ns"))
    by_op = {str(entry.get("op")): entry for entry in curve if number(entry.get("predicted_ns")) is not None}
    chosen = [by_op["total"]] if "total" in by_op else [by_op["span"]] if "span" in by_op else list(by_op.values())
    if chosen and (len(chosen) > 1 or "total" in by_op or "span" in by_op):
        parts = [[number(entry.get(name)) for entry in chosen]
                 for name in ("predicted_ns", "predicted_lo_ns", "predicted_hi_ns")]
        sums = [None if None in part else sum(part) for part in parts]  # type: ignore[arg-type]
        return float(sums[0] or 0.0), sums[1], sums[2]
    if status != "screened" or around.base_total is None:
        return None
    for case in sorted(around.smaller, key=_size, reverse=True):
        times = Times.of(_dict(figures.get(case.get("key"))).get("total"))
        if times.ratio is not None:
            lo = None if times.ratio_lo is None else times.ratio_lo * around.base_total
            hi = None if times.ratio_hi is None else times.ratio_hi * around.base_total
            return times.ratio * around.base_total, lo, hi
    return None


def _order(row: Row) -> tuple[Any, ...]:
    # Codecs with a cost come first, then by time: a prediction after every figure, reasons last.
    figure = row.cost[0] if row.cost else row.total.t_ns
    if row.status == "screened":
        figure = row.predicted_ns[0] if row.predicted_ns else None
    place = _RANK.get(row.status, 2) if figure is not None or row.status == "screened" else 2
    uncosted = row.cost is None and place == 0
    return (place, uncosted, math.inf if figure is None else figure, row.codec)
