"""What a report shows of a record, and in which order, decided once for every renderer.

A `Digest` groups the cases of a record into grids (all codecs under the same
conditions), orders each grid by the chosen profile's cost, and says for every
row what may be shown: figures, a prediction, or the reason why there are none.
It computes no statistic: figures come from the record's ``derived``. Every part
may be missing: a record of an interrupted run is still shown as far as it goes.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import Any

from tare.codec.titles import titles_of
from tare.measure.verdict.uses import USES

__all__ = ["PROFILES", "TIMED", "Digest", "Grid", "Row", "Times", "digest", "items", "mapping", "number"]

# Name -> what the profile is for, and its weights as `tare.measure.verdict.cost_model.Profile.weights` has them: what a
# record says of its own verdicts comes first, these stand for records that do not.
PROFILES: dict[str, dict[str, Any]] = {
    "keep": {"about": USES["keep"], "r": 5.0, "s": 20e-9},
    "cache": {"about": USES["cache"], "r": 10.0, "s": 1e-9},
    "archive": {"about": USES["archive"], "v": 200e6, "s": 20e-9},
    "message": {"about": USES["message"], "v": 125e6, "rtt": 0.3e-3},
    "exchange": {"about": USES["exchange"], "r": 3.0, "v": 12.5e6},
    "random": {"about": USES["random"], "n": 1000.0},
}
_ONCE: dict[str, Any] = {"w": 1.0, "r": 1.0, "n": 0.0, "v": None, "rtt": 0.0, "s": 0.0}
TIMED = frozenset({"ok", "lossy"})


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
        letters = figures.get("letters")
        numbers = {
            name: number(figures.get(name))
            for name in ("t_ns", "lo_ns", "hi_ns", "floor_ns", "ratio", "ratio_lo", "ratio_hi")
        }
        return cls(
            **numbers,
            letters=letters if isinstance(letters, str) and letters.isascii() and letters.isalpha() else "",
            provisional=bool(figures.get("provisional")),
            contended=bool(figures.get("contended")),
        )


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
    bytes_predicted: bool
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
        return self.status in TIMED and self.total.t_ns is not None

    @property
    def delivery(self) -> str:
        """How the value was handed over, where that is not the whole of it at once."""
        found = str(self.case["labels"].get("delivery") or "whole")
        return "" if found == "whole" else found

    @property
    def published(self) -> Times:
        """The total that the imported source printed."""
        return Times(t_ns=number(mapping(self.case.get("published")).get("total_ns")))

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

    @functools.cached_property
    def titles(self) -> dict[str, str]:
        """The human name of each codec; no two are the same."""
        return titles_of(self.codecs)

    @property
    def dataset(self) -> dict[str, Any]:
        """The dataset's summary."""
        return mapping(self.record.get("dataset"))

    @property
    def files(self) -> int:
        """Returns how many files of a folder, a pattern or a list of names the data is; 0 of anything else."""
        return int(number(self.dataset.get("files")) or 0)

    @property
    def noise(self) -> dict[str, Any]:
        """The run's noise figures; those derived from the samples fill what the run did not note."""
        derived = {
            key: value for key, value in mapping(self.derived.get("noise")).items() if value not in (None, [])
        }
        return {
            **derived,
            **{
                key: value
                for key, value in mapping(self.record.get("noise")).items()
                if value not in (None, [])
            },
        }

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
        return str(self.derived.get("base") or mapping(self.record.get("plan")).get("base") or "")

    @property
    def partial(self) -> float | None:
        """Share of the data that was measured, when it is not all of it."""
        loaded = number(mapping(self.dataset.get("partial")).get("share"))
        largest = max((grid.size for grid in self.grids), default=1.0)
        share = (1.0 if loaded is None else loaded) * largest
        return share if share < 0.9995 else None

    def weights(self, profile: str | None = None) -> dict[str, Any]:
        """A profile's writes, reads, reads of a part, bandwidth (None: no link), round trip and price of a byte."""
        name = profile or self.profile
        given = mapping(mapping(mapping(self.derived.get("profiles")).get(name)).get("weights"))
        if given:
            return {key: number(given[key]) if key in given else value for key, value in _ONCE.items()}
        standard = PROFILES.get(name, PROFILES["message"])
        return {key: standard.get(key, value) for key, value in _ONCE.items()}


def digest(result: Any, *, profile: str | None = None) -> Digest:
    """Read what a report shows from a Result.

    Args:
        result: A Result, or a record as a dict.
        profile: Profile whose cost orders the rows; the record's headline by default.
    """
    from tare.report.grids import Source, grids_of

    record = result if isinstance(result, dict) else result.record
    derived = mapping(record.get("derived") if isinstance(result, dict) else result.derived)
    profiles = mapping(derived.get("profiles"))
    name = profile or str(derived.get("headline_profile") or "") or next(iter(profiles), "keep")
    headline = mapping(derived.get("headline")) if profile in (None, derived.get("headline_profile")) else {}
    verdict = mapping(profiles.get(name)) or headline
    if not verdict and profile in PROFILES and items(record.get("cases")):
        from tare.measure.verdict.recommend import recommend

        # A use that was not measured has no verdict of its own; the sentence says why.
        verdict = recommend(record, profile=profile)
    growth = tuple(entry for entry in items(derived.get("growth")) if isinstance(entry, dict))
    format = str(mapping(record.get("dataset")).get("source_format") or "")
    grids = grids_of(record, Source(derived, verdict, growth, format))
    codecs = []
    for grid in grids:
        codecs += [row.codec for row in grid.rows if row.codec not in codecs]
    return Digest(record, derived, name, verdict, grids, tuple(codecs), growth)


def mapping(value: Any) -> dict[str, Any]:
    """The value if it is a dict, else an empty one: records may lack any part.

    >>> mapping(None), mapping({"a": 1})
    ({}, {'a': 1})
    """
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []
