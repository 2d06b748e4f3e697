"""What fits: how much data to load, how many codecs to weigh in how many launches, on how large a share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tare.codec import Codec
    from tare.measure.session import Part, Settings
    from tare.measure.stages.weigh import Contender

__all__ = [
    "FIRST_WEIGHT",
    "Cost",
    "available_bytes",
    "bound_bytes",
    "fit_launches",
    "fit_share",
    "in_groups",
    "load_bytes",
    "memory_factor",
    "plan_launches",
    "share_by_time",
]

LAUNCHES = 5
QUICK_LAUNCHES = 3
# CPU to start, load and warm one worker, on one of two cores: pyarrow and polars are heavier than orjson.
_START_S = {"document": 0.1, "table": 0.22}
_STARTING = 1 / 4
# A launch warms up once, on two cores, and takes two rounds; the first one encodes, decodes and compares too.
_ROUNDS = 2.5
_FIRST_ROUNDS = 1.5
FIRST_WEIGHT = 1 + _FIRST_ROUNDS / _ROUNDS
"""How many times the time of another launch the first one gets."""
_LOADERS = 2
_LOAD_BYTES_S = 8 << 20
_SHORT_S = 12.0
_TRUSTED = 16.0
_FEWEST = 4


@dataclass(frozen=True)
class Cost:
    """What one codec takes, as a line over the size of the data.

    Args:
        fixed_s: Seconds of a round that do not depend on the size.
        byte_s: Seconds of a round for each byte in memory.
        load_byte_s: Seconds to load and convert, for each byte in memory.

    >>> Cost.through((10, 1.0), (30, 2.0))
    Cost(fixed_s=0.5, byte_s=0.05, load_byte_s=0.0)
    """

    fixed_s: float
    byte_s: float
    load_byte_s: float = 0.0

    @classmethod
    def through(
        cls, small: tuple[int, float], large: tuple[int, float] | None = None, load_byte_s: float = 0.0
    ) -> Cost:
        """The line through one or two measured sizes.

        Args:
            small: Bytes in memory, and seconds of a round.
            large: The same of a larger part; None takes all of the small one's time to grow with
                the size, which is too much by what is fixed.
            load_byte_s: Seconds to load and convert a byte.
        """
        if large is None:
            return cls(0.0, small[1] / max(1, small[0]), load_byte_s)
        byte_s = max(0.0, (large[1] - small[1]) / max(1, large[0] - small[0]))
        # A line below the larger size's own time would promise what was not seen.
        return cls(max(0.0, large[1] - byte_s * large[0]), byte_s, load_byte_s)


def available_bytes() -> int:
    """Memory that new processes may use without swapping."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return 4 << 30


def load_bytes(time_s: float) -> int:
    """How much of the data to load, in bytes in memory: what can be weighed in the time, within the memory.

    Args:
        time_s: Time limit of the run in seconds; 0 for none.

    >>> load_bytes(60.0) <= 480 << 20
    True
    """
    by_memory = available_bytes() // 16
    return min(by_memory, int(time_s * _LOAD_BYTES_S)) if time_s else by_memory


def bound_bytes(settings: Settings) -> int:
    """How much of the data a run with these settings loads, in bytes in memory."""
    return load_bytes(settings.time_s) if settings.max_bytes is None else settings.max_bytes


def plan_launches(
    budget_s: float, wanted: int, kind: str, *, quick: bool, start_s: float = 0.0
) -> tuple[int, int]:
    """How many launches to make and how many codecs to weigh, so that three quarters of the time are left for rounds.

    Args:
        budget_s: Time for all launches, in seconds; infinite for no limit.
        wanted: Codecs that deserve weighing.
        kind: ``document`` or ``table``.
        quick: Whether three launches are enough.
        start_s: What starting a worker took so far, in seconds; counts if it is more than expected.

    Returns:
        Launches, codecs.

    >>> plan_launches(38.0, 20, "table", quick=False), plan_launches(6.0, 20, "document", quick=False)
    ((5, 8), (3, 5))
    """
    launches = QUICK_LAUNCHES if quick or budget_s < _SHORT_S else LAUNCHES
    if budget_s == float("inf"):
        return launches, wanted
    return launches, min(
        wanted, max(_FEWEST, int(budget_s * _STARTING / launches / max(_START_S[kind], start_s)))
    )


def share_by_time(
    costs: Mapping[Codec, Cost],
    kind: str,
    total_bytes: int,
    budget_s: float,
    launches: int,
    *,
    start_s: float = 0.0,
) -> float:
    """The share of the data whose launches take the whole budget; above 1 if there is time to spare.

    Args:
        costs: What each codec to weigh takes.
        kind: ``document`` or ``table``.
        total_bytes: All of the data, in memory.
        budget_s: Time for all launches, in seconds; infinite for no limit.
        launches: Launches to fit.
        start_s: What starting a worker took so far, in seconds; counts if it is more than expected.

    >>> from tare.codec import Codec
    >>> costs = {Codec.parse("pickle"): Cost(0.0, 1e-6)}
    >>> round(share_by_time(costs, "document", 1_000_000, 9.5, 5), 2)
    0.64
    """
    rounds = launches * _ROUNDS + _FIRST_ROUNDS
    starts_s = launches * len(costs) * max(_START_S[kind], start_s)
    fixed_s = starts_s + rounds * sum(cost.fixed_s for cost in costs.values())
    byte_s = sum(rounds * cost.byte_s + launches * cost.load_byte_s / _LOADERS for cost in costs.values())
    return (budget_s - fixed_s) / max(1e-9, byte_s * total_bytes)


def fit_share(
    costs: Mapping[Codec, Cost],
    small: Part,
    total_bytes: int,
    budget_s: float,
    launches: int,
    *,
    tried_bytes: int,
    start_s: float = 0.0,
) -> float:
    """The largest share of the data whose launches fit the time and the memory.

    Args:
        costs: What each codec to weigh takes.
        small: The part that was screened; no smaller one is weighed.
        total_bytes: All of the data, in memory.
        budget_s: Time for all launches, in seconds; infinite for no limit.
        launches: Launches to fit.
        tried_bytes: The largest size that was tried, in memory; a line is trusted up to 16 times of it.
        start_s: What starting a worker took so far, in seconds; counts if it is more than expected.

    Returns:
        A share in (0, 1].
    """
    by_time = share_by_time(costs, small.kind, total_bytes, budget_s, launches, start_s=start_s)
    # Groups keep the sum of all copies in bounds; one contender with the base, its twin and the floor must fit.
    copies = 4 * max((memory_factor(codec, small.kind) for codec in costs), default=3.0)
    by_memory = available_bytes() / 2 / max(1.0, copies * total_bytes)
    trusted = _TRUSTED * tried_bytes / max(1, total_bytes)
    return float(f"{max(min(1.0, small.share), min(1.0, by_time, by_memory, trusted)):.2g}")


def fit_launches(
    costs: Mapping[Codec, Cost],
    small: Part,
    total_bytes: int,
    budget_s: float,
    launches: int,
    *,
    tried_bytes: int,
    start_s: float = 0.0,
) -> tuple[int, float]:
    """How many launches of how much of the data: all of it if three or more launches do, else the most of it in three.

    Args:
        costs: What each codec to weigh takes.
        small: The part that was screened; no smaller one is weighed.
        total_bytes: All of the data, in memory.
        budget_s: Time for all launches, in seconds; infinite for no limit.
        launches: The most launches.
        tried_bytes: The largest size that was tried, in memory.
        start_s: What starting a worker took so far, in seconds.

    Returns:
        Launches, and a share in (0, 1].
    """
    fewest = min(launches, QUICK_LAUNCHES)
    for wanted in range(launches, fewest - 1, -1):
        share = fit_share(
            costs, small, total_bytes, budget_s, wanted, tried_bytes=tried_bytes, start_s=start_s
        )
        if share >= 1.0:
            return wanted, share
    if budget_s == float("inf"):
        return launches, share  # memory sets the share, and there is time
    return fewest, share


def in_groups(
    contenders: Sequence[Contender], base: Codec, part: Part, limit_bytes: int
) -> list[list[Contender]]:
    """Split the contenders so that the copies of one group's workers stay below the limit.

    Args:
        contenders: All contenders.
        base: The base codec; it joins every group, so that each has its pairs.
        part: The data each worker holds.
        limit_bytes: Memory for all workers of a group, in bytes.

    Returns:
        Groups, each with the base first.
    """
    bases = [c for c in contenders if c.codec == base]
    groups: list[list[Contender]] = []
    used = float("inf")
    for contender in contenders:
        if contender.codec == base:
            continue
        need = memory_factor(contender.codec, part.kind) * part.bytes_memory
        if used + need > limit_bytes and (not groups or len(groups[-1]) > len(bases)):
            groups.append(list(bases))
            used = 3 * sum(memory_factor(c.codec, part.kind) for c in bases) * part.bytes_memory
        groups[-1].append(contender)
        used += need
    return groups or [list(bases)]


def memory_factor(codec: Codec, kind: str) -> float:
    """Copies of the data that a worker of this codec holds while it works, roughly."""
    return 3.0 if codec.native(kind) in ("arrow", "polars", "python") else 6.0
