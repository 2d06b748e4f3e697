"""What a route costs in a use: times, bytes and bandwidth in one figure.

With E and D the times to encode and decode, B the bytes, v the bandwidth, w writes,
r reads, and s the seconds one is willing to spend to save a byte:

    C = w E + r (B / v + rtt + D) + s B

Of a format that is read by copying its bytes alone, the greater of B / v and D stands for their sum.

Every figure is an array of draws beside its point, so whatever is computed from
costs (a crossing, a share of wins) has an interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tare.errors import UsageError
from tare.measure.analysis.statistics import Array, quantiles
from tare.measure.verdict.uses import USES

__all__ = [
    "PROFILES",
    "Costed",
    "Crossing",
    "Profile",
    "cost",
    "crossing",
    "envelope",
    "pareto",
    "parse_link",
    "timed_share",
    "wins",
]

GB = 1e9


@dataclass(frozen=True)
class Profile:
    """One way of using data, as numbers and conditions.

    Args:
        name: ``keep``, ``cache``, ``archive``, ``message``, ``exchange`` or ``random``.
        says: What the use is for, in words.
        medium: Medium of the route it recommends.
        writes: w.
        reads: r, full reads.
        subset_reads: Reads of a part.
        seconds_per_byte: s.
        bytes_per_s: v; infinite where the medium's own time was measured.
        rtt_s: One round trip, once a read.
        measured: Media whose measured times are used, best first.
        conditions: Names of what must hold; see ``recommend``.
        linked: Whether the user gave the link.
    """

    name: str
    says: str
    medium: str
    writes: float = 1.0
    reads: float = 1.0
    subset_reads: float = 0.0
    seconds_per_byte: float = 0.0
    bytes_per_s: float = math.inf
    rtt_s: float = 0.0
    measured: tuple[str, ...] = ("memory", "file", "store")
    conditions: tuple[str, ...] = ()
    linked: bool = False

    def with_link(self, link: str | tuple[float, float] | None) -> Profile:
        """The same use over a link: ``1Gbit,0.3ms``, or bytes per second and seconds.

        Raises:
            UsageError: It is no link, or the use reads parts, of which nobody knows how many bytes go over it.
        """
        if link is None:
            return self
        if self.subset_reads:
            raise UsageError(
                f"no link counts for the use {self.name}: how many bytes the reading of one column takes is not "
                "measured. Leave --link out, or choose another use with --for"
            )
        rate, rtt = parse_link(link) if isinstance(link, str) else link
        return replace(self, bytes_per_s=rate, rtt_s=rtt, measured=("memory", "file", "store"), linked=True)

    def weights(self) -> dict[str, float | None]:
        """The numbers of the cost as plain JSON: w, r, n, s as above, bandwidth v and round trip in seconds.

        ``v`` is None where the medium's own time was measured, so that no link is added.

        >>> PROFILES["exchange"].weights()
        {'w': 1.0, 'r': 3, 'n': 0.0, 'v': 12500000.0, 'rtt': 0.0, 's': 0.0}
        """
        return {
            "w": self.writes,
            "r": self.reads,
            "n": self.subset_reads,
            "v": self.bytes_per_s if math.isfinite(self.bytes_per_s) else None,
            "rtt": self.rtt_s,
            "s": self.seconds_per_byte,
        }


PROFILES = {
    profile.name: profile
    for profile in (
        Profile(
            "keep",
            USES["keep"],
            "file",
            reads=5,
            seconds_per_byte=20 / GB,
            measured=("file", "memory", "store"),
            conditions=("no code",),
        ),
        Profile(
            "cache",
            USES["cache"],
            "file",
            reads=10,
            seconds_per_byte=1 / GB,
            measured=("file", "memory", "store"),
        ),
        Profile(
            "archive",
            USES["archive"],
            "file",
            seconds_per_byte=20 / GB,
            bytes_per_s=200e6,
            conditions=("spec", "two readers", "no code"),
        ),
        Profile(
            "message",
            USES["message"],
            "tcp",
            bytes_per_s=125e6,
            rtt_s=0.3e-3,
            conditions=("no code",),
        ),
        Profile(
            "exchange",
            USES["exchange"],
            "file",
            reads=3,
            bytes_per_s=12.5e6,
            conditions=("three languages", "spec", "no code"),
        ),
        Profile(
            "random",
            USES["random"],
            "file",
            subset_reads=1000,
            measured=("file", "memory", "store"),
            conditions=("subset",),
        ),
    )
}


# Compared by identity: arrays have no truth value.
@dataclass(eq=False)
class Costed:
    """One codec with the figures a cost is made of, for the whole data.

    Args:
        codec: Its id.
        key: Key of the case the figures are from.
        bytes: Encoded bytes.
        write_s: Time to encode or write, seconds.
        read_s: Time to decode or read.
        write_draws: Draws of the same.
        read_draws: Draws of the same.
        subset_s: Time to read the part; None if it was not measured.
        subset_draws: Draws of the same.
        cold: Whether writing or reading was timed by its first call alone.
        size_share: The share of the data whose bytes were counted; below 1, those of all of it are estimated.
        copied: Whether reading copies the bytes and does no more, which their passage does already.
    """

    codec: str
    key: str
    bytes: float
    write_s: float
    read_s: float
    write_draws: Array
    read_draws: Array
    subset_s: float | None = None
    subset_draws: Array = field(default_factory=lambda: np.zeros(1))
    cold: bool = False
    size_share: float = 1.0
    copied: bool = False

    def divided(self, number: int) -> Costed:
        """The mean of so many messages, where its own figures are of all of them."""
        return replace(
            self,
            bytes=self.bytes / number,
            write_s=self.write_s / number,
            read_s=self.read_s / number,
            write_draws=self.write_draws / number,
            read_draws=self.read_draws / number,
            size_share=1.0,  # a mean is of those that were measured
        )

    def line(self, profile: Profile, axis: str) -> tuple[float, float, Array, Array]:
        """Cost as a line: constant and slope, then their draws.

        Args:
            profile: The use.
            axis: ``bandwidth``: over 1 / v; ``reads``: over r.
        """
        rest = profile.seconds_per_byte * self.bytes
        rest_draws: Array = np.asarray(rest)
        if profile.subset_reads and self.subset_s is not None:
            rest, rest_draws = (
                rest + profile.subset_reads * self.subset_s,
                rest + profile.subset_reads * self.subset_draws,
            )
        fixed = profile.writes * self.write_s + rest
        fixed_draws = profile.writes * self.write_draws + rest_draws
        read, read_draws = self.read_s + profile.rtt_s, self.read_draws + profile.rtt_s
        if axis == "bandwidth":
            slope = profile.reads * self.bytes
            return (
                fixed + profile.reads * read,
                slope,
                fixed_draws + profile.reads * read_draws,
                np.asarray(slope),
            )
        passage = self.bytes / profile.bytes_per_s
        if self.copied:
            return fixed, max(read, passage), fixed_draws, np.maximum(read_draws, passage)
        return fixed, read + passage, fixed_draws, read_draws + passage


def cost(one: Costed, profile: Profile) -> tuple[float, Array]:
    """C of a codec in a use, in seconds, and its draws.

    >>> one = Costed("a", "a", 100e6, 1.0, 0.5, np.array([1.0]), np.array([0.5]))
    >>> cost(one, Profile("p", "", "file", reads=2, bytes_per_s=100e6))[0]
    4.0
    """
    constant, slope, constant_draws, slope_draws = one.line(profile, "reads")
    return constant + profile.reads * slope, constant_draws + profile.reads * slope_draws


def timed_share(one: Costed, profile: Profile) -> float:
    """The part of a cost that was timed, 0 to 1; the rest (bytes over a link, their price) has no noise.

    >>> one = Costed("a", "a", 100e6, 1.0, 1.0, np.ones(1), np.ones(1))
    >>> timed_share(one, Profile("p", "", "file", bytes_per_s=50e6))
    0.5
    """
    read_s = one.read_s
    if one.copied and one.bytes / profile.bytes_per_s > read_s:
        read_s = 0.0  # its passage counts in its place
    timed = profile.writes * one.write_s + profile.reads * read_s
    timed += profile.subset_reads * (one.subset_s or 0.0)
    whole = cost(one, profile)[0]
    return timed / whole if whole > 0 else 1.0


def wins(draws: Sequence[Array]) -> list[float]:
    """P(best) of each: the share of draws in which it costs least; equal costs share the draw.

    >>> wins([np.array([1.0, 2.0, 1.0]), np.array([2.0, 1.0, 1.0])])
    [0.5, 0.5]
    """
    costs = np.stack([np.broadcast_to(one, np.broadcast_shapes(*(d.shape for d in draws))) for one in draws])
    least = costs == np.nanmin(costs, axis=0)
    return [float(share) for share in (least / np.maximum(least.sum(axis=0), 1)).mean(axis=1)]


@dataclass(frozen=True)
class Crossing:
    """Where two codecs cost the same.

    Args:
        at: Bytes per second, or number of reads.
        lo: Lower end of the 95 % interval.
        hi: Upper end.
    """

    at: float
    lo: float
    hi: float


def crossing(a: Costed, b: Costed, profile: Profile, axis: str = "bandwidth") -> Crossing | None:
    """Where the costs of two codecs cross; None where one is better everywhere.

    For one write and one read without s this is v* = (B_a - B_b) / ((E_b + D_b) - (E_a + D_a)).

    Args:
        a: One codec.
        b: The other.
        profile: The use.
        axis: ``bandwidth`` or ``reads``.

    >>> small = Costed("s", "s", 10e6, 2.0, 1.0, np.full(5, 2.0), np.full(5, 1.0))
    >>> quick = Costed("q", "q", 110e6, 0.5, 0.5, np.full(5, 0.5), np.full(5, 0.5))
    >>> crossing(small, quick, Profile("p", "", "file")).at
    50000000.0
    """
    c_a, m_a, c_a_draws, m_a_draws = a.line(profile, axis)
    c_b, m_b, c_b_draws, m_b_draws = b.line(profile, axis)

    def at(constant: Array, slope: Array) -> Array:
        # constant + slope x = 0, where x is 1 / v or r.
        with np.errstate(divide="ignore", invalid="ignore"):
            x = -np.asarray(constant, dtype=np.float64) / slope
            x = np.where(np.isfinite(x) & (x > 0), x, np.nan)
            return np.asarray(1 / x if axis == "bandwidth" else x)

    point = float(at(np.asarray(c_a - c_b), np.asarray(m_a - m_b)))
    if math.isnan(point):
        return None
    some = at(c_a_draws - c_b_draws, m_a_draws - m_b_draws)
    some = some[~np.isnan(some)]
    if some.size == 0:
        return Crossing(point, point, point)
    lo, hi = quantiles(some)
    return Crossing(point, min(point, float(lo)), max(point, float(hi)))


def envelope(several: Sequence[Costed], profile: Profile) -> list[tuple[Costed, Costed, Crossing]]:
    """The bandwidths at which the best codec changes, from slow to fast.

    Returns:
        (best below, best above, where) for each change.
    """
    lines = [(one, *one.line(profile, "bandwidth")[:2]) for one in several]
    if not lines:
        return []
    # At v = 0 bytes decide, then time.
    here = min(lines, key=lambda line: (line[2], line[1], line[0].codec))
    x = math.inf
    found: list[tuple[Costed, Costed, Crossing]] = []
    while True:
        best = None
        for other in lines:
            if other[1] < here[1] and other[2] > here[2]:
                meets = (here[1] - other[1]) / (other[2] - here[2])
                if meets < x and (best is None or (meets, other[2]) > (best[0], best[1][2])):
                    best = (meets, other)
        if best is None:
            return found
        where = crossing(here[0], best[1][0], profile)
        if where is not None:
            found.append((here[0], best[1][0], where))
        x, here = best


def pareto(axes: Sequence[Sequence[tuple[float, Array]]]) -> list[int]:
    """Which items no other one beats on every axis.

    a beats b only if on each axis it is surely not worse (its 97.5 % end of the
    difference is not above 0), and on some axis surely better.

    Args:
        axes: items x axes of (point, draws); the least is the best.

    >>> sure = lambda *values: [(v, np.array([v])) for v in values]
    >>> pareto([sure(1, 9), sure(9, 1), sure(9, 9)])
    [0, 1]
    """

    def beats(a: Sequence[tuple[float, Array]], b: Sequence[tuple[float, Array]]) -> bool:
        better = False
        for (x, x_draws), (y, y_draws) in zip(a, b, strict=True):
            if x > y:
                return False
            hi = quantiles(np.asarray(x_draws - y_draws))[1]
            if hi > 0:
                return False
            better = better or float(hi) < 0
        return better

    return [
        i
        for i, item in enumerate(axes)
        if not any(beats(other, item) for j, other in enumerate(axes) if j != i)
    ]


def parse_link(text: str) -> tuple[float, float]:
    """Rate and round trip of a link as bytes per second and seconds.

    Args:
        text: ``RATE[,RTT]``, as ``1Gbit,0.3ms``, ``12.5MB`` or ``20MB/s,10ms``.

    Raises:
        UsageError: It is neither.

    >>> parse_link("1Gbit,0.3ms")
    (125000000.0, 0.0003)
    >>> parse_link("12.5MB/s")
    (12500000.0, 0.0)
    """
    from tare.media.link import Link

    link = Link.parse(text)
    return link.bytes_per_second, link.round_trip_s
