"""The number of calls in a sample, and the time of one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tare.measure.analysis.pace import at_one_speed

__all__ = ["calls_ns", "first_call_ns", "long_enough", "wall_ns"]

_TRIES = 3
_MOST_CALLS = 1_000_000


def long_enough(
    ask: Callable[[int], dict[str, Any]], calls: int, target_ns: int, *, full: bool = False
) -> tuple[dict[str, Any], bool]:
    """One sample; one that took less than half of the target is taken again, of more calls.

    A first call that loads classes or libraries, or code that was compiled only after the batch was calibrated,
    says too much of the calls that follow: what is left of such a sample is the reading of the clocks.

    Args:
        ask: Takes one sample of so many calls (0: as many as the worker finds) and gives the reply of ``run``.
        calls: How many to ask for.
        target_ns: How long a sample should take, in nanoseconds.
        full: Whether it is known that the worker makes no larger batch.

    Returns:
        The last reply, and whether the worker made no larger batch.

    >>> def ask(calls):
    ...     return {"cols": ["wall_ns"], "samples": [[5_000 * calls]], "batch": calls}
    >>> long_enough(ask, 2, 2_000_000)[0]["batch"]
    400
    """
    reply = ask(calls)
    for _ in range(_TRIES):
        made, took_ns = int(reply["batch"]), wall_ns(reply)
        # Each call is a sample of its own, as in a store.
        full = full or made < calls
        if full or 2 * took_ns >= target_ns:
            break
        # One call is a guess of ours; a batch that the worker calibrated itself it would only repeat.
        calls = 0 if calls == 1 else min(_MOST_CALLS, round(made * target_ns / max(1, took_ns)))
        reply = ask(calls)
    return reply, full


def wall_ns(reply: dict[str, Any]) -> int:
    """Wall time of the last sample of a reply of ``run``, in nanoseconds."""
    return int(reply["samples"][-1][reply["cols"].index("wall_ns")])


def first_call_ns(reply: dict[str, Any]) -> int:
    """Time of the first call of a reply of ``run`` of single calls, in nanoseconds: CPU where another process took the CPU, else wall."""
    first = {name: [int(value)] for name, value in zip(reply["cols"], reply["samples"][0], strict=True)}
    return round(calls_ns({**first, "batch": [1]})[0])


def calls_ns(columns: dict[str, list[int]], pace_ns: float | None = None) -> list[float]:
    """Returns the time of one call in each sample, in nanoseconds: CPU where another process took the CPU, else wall.

    Args:
        columns: The samples.
        pace_ns: What the fixed work beside a sample takes at the usual speed, to which times are brought; None: as they are.

    >>> calls_ns({"wall_ns": [90, 20], "user_ns": [30, 10], "sys_ns": [0, 0], "nivcsw": [1, 0], "batch": [3, 1]})
    [10.0, 20.0]
    """
    # Without user_ns the rest of CPU time says nothing.
    names = [name for name in ("user_ns", "sys_ns") if name in columns and "user_ns" in columns]
    calls = []
    for index, (wall, batch) in enumerate(zip(columns["wall_ns"], columns["batch"], strict=True)):
        preempted = columns.get("nivcsw", [1] * len(columns["batch"]))[index]
        cpu = sum(columns[name][index] for name in names)
        calls.append((min(wall, cpu) if preempted and cpu else wall) / batch)
    return at_one_speed(calls, columns, pace_ns)
