"""Vectors of doubles as the `compress` study stored them: ``runif(10^k)`` and two variants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CONTENTS", "uniform"]

CONTENTS = ("uniform", "rounded", "sorted")
_MOST = 8
_CHUNK = 1 << 20
_STEP = 0x9E3779B97F4A7C15
_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB


def uniform(power: int, *, content: str = "uniform", seed: int = 1) -> pa.Table:
    """A table of one column ``x`` of 10^power doubles in [0, 1).

    Every value is a function of (seed, row) alone, by splitmix64, so the same values
    come out on every machine and with every version of NumPy.

    Args:
        power: 0 to 8; 8 needs 0.8 GB.
        content: ``uniform``, as published and barely compressible; ``rounded`` to two
            decimals; ``sorted``.
        seed: Another seed gives other values.

    Raises:
        UsageError: There is no such power or content.

    >>> uniform(2, content="rounded")["x"][:3].to_pylist()
    [0.89, 0.25, 0.02]
    """
    import numpy as np
    import pyarrow as pa

    if not 0 <= power <= _MOST:
        raise UsageError(
            f"runif:{power} is not a data set: runif:1 to runif:{_MOST} are 10 to 10^{_MOST} doubles"
        )
    if content not in CONTENTS:
        raise UsageError(f"the content of runif is one of {', '.join(CONTENTS)}, not {content[:80]!r}")
    count = int(10**power)
    values = np.empty(count)
    for start in range(0, count, _CHUNK):
        stop = min(count, start + _CHUNK)
        values[start:stop] = _draws(start, stop, seed)
    if content == "rounded":
        np.round(values, 2, out=values)
    elif content == "sorted":
        values.sort()
    return pa.table({"x": pa.array(values)})


def _draws(start: int, stop: int, seed: int) -> Any:
    """Doubles in [0, 1) with 53 random bits each: splitmix64 of the row number."""
    import numpy as np

    state = np.arange(start + 1, stop + 1, dtype=np.uint64)
    state *= np.uint64(_STEP)
    state += np.uint64(seed * _FIRST % 2**64)
    for shift, factor in ((30, _FIRST), (27, _SECOND)):
        state ^= state >> np.uint64(shift)
        state *= np.uint64(factor)
    state ^= state >> np.uint64(31)
    return (state >> np.uint64(11)).astype(np.float64) * 2.0**-53
