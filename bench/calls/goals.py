"""Measures the goals of ``definitions/calls.toml``: calls through Tare beside the libraries' own.

Both sides run in turn, in batches, by the CPU time of the thread. `regret.calls` has the libraries' calls as
their own documentation writes them; it shares no code with the codecs but Tare's own formats.
"""

from __future__ import annotations

import gc
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from regret.calls import calls_of
from regret.data import document_path

import tare

Call = Callable[[Any], Any]
SIZES = (300, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)  # bytes of JSON
LIMIT_NS = 1000
Z = 1.96  # of 95 %
LONG_NS = 50_000  # calls of which NOISE is more than the limit
NOISE = 0.02


@dataclass
class Scale:
    """The amount of work of one run."""

    sizes: tuple[int, ...] = SIZES
    rounds: int = 41
    fewest: int = 9
    batch_s: float = 0.002
    longest_s: float = 2.0  # of a pair, once the fewest rounds are done


SCALE = Scale()


def quick() -> None:
    """Small documents, few rounds: whether everything runs, not how fast."""
    SCALE.sizes, SCALE.rounds, SCALE.fewest, SCALE.batch_s = SIZES[:2], 5, 5, 0.0005


def about() -> dict[str, Any]:
    """Returns the record's fields beside the goals."""
    return {"scale": vars(SCALE)}


@dataclass
class Pair:
    """Times of a call through Tare and of the library's own, by round, ns a call."""

    ours: list[float]
    peer: list[float]

    def above(self) -> float:
        """Returns the least that ours costs above the peer, ns a call; of long calls, beyond their noise."""
        differences = [a - b for a, b in zip(self.ours, self.peer, strict=True)]
        middle = statistics.median(differences)
        # Of the median, by the middle half of the differences, which outliers do not move.
        low, _, high = statistics.quantiles(differences, n=4)
        error = 1.253 * (high - low) / 1.349 / len(differences) ** 0.5
        library = statistics.median(self.peer)
        noise = NOISE * library if library > LONG_NS else 0.0
        return max(0.0, middle - Z * error - noise)


def _batch(call: Call, argument: Any, number: int) -> float:
    began = time.thread_time_ns()
    for _ in range(number):
        call(argument)
    return (time.thread_time_ns() - began) / number


def _pair(ours: Call, peer: Call, argument: Any) -> Pair:
    """Both calls in turn, the first of a round now one, now the other."""
    gc.collect()
    gc.disable()  # or collections fall into one side, where both alternate
    try:
        return _rounds(ours, peer, argument)
    finally:
        gc.enable()


def _rounds(ours: Call, peer: Call, argument: Any) -> Pair:
    ours(argument)
    once = min(_batch(peer, argument, 1) for _ in range(3))
    number = max(1, int(SCALE.batch_s * 1e9 / max(once, 1)))
    pair, began = Pair([], []), time.monotonic()
    for turn in range(SCALE.rounds):
        if turn >= SCALE.fewest and time.monotonic() - began > SCALE.longest_s:
            break
        sides = [(ours, pair.ours), (peer, pair.peer)]
        for call, times in sides if turn % 2 else sides[::-1]:
            times.append(_batch(call, argument, number))
    return pair


def _ways(id: str, through: str) -> tuple[Call, Call]:
    """Tare's two calls of a codec."""
    if through == "call":
        return lambda value: tare.encode(value, id), lambda data: tare.decode(data, id)
    made: Any = tare.Codec.parse(id) if through == "codec" else tare.Route(id)
    return made.encode, made.decode


def above(input: str, through: str) -> tuple[float, float, float, dict[str, Any]]:
    """Nanoseconds above the library's own call, the largest of all sizes and both directions."""
    library, (encode, decode) = calls_of(input, "document"), _ways(input, through)
    cells = []
    for size in SCALE.sizes:
        value = json.loads(document_path(size).read_bytes())
        data = library.encode(value)
        for name, ours, peer, argument in (
            ("encode", encode, library.encode, value),
            ("decode", decode, library.decode, data),
        ):
            pair = _pair(ours, peer, argument)
            cells.append(
                {
                    "size": size,
                    "op": name,
                    "library_ns": statistics.median(pair.peer),
                    "ours_ns": statistics.median(pair.ours),
                    "above_ns": pair.above(),
                }
            )
    worst = max(cell["above_ns"] for cell in cells)
    return worst, LIMIT_NS, worst / LIMIT_NS, {"cells": cells}


def share(input: str) -> tuple[float, float]:
    """Microseconds of encoding 1 MB through Tare, and by the library's own call."""
    value = json.loads(document_path(SCALE.sizes[-2]).read_bytes())
    pair = _pair(lambda one: tare.encode(one, input), calls_of(input, "document").encode, value)
    return statistics.median(pair.ours) / 1e3, statistics.median(pair.peer) / 1e3
