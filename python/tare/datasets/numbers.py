"""Numbers in text that fast readers would change."""

from __future__ import annotations

from typing import Any

__all__ = ["has_long_number"]

# An integer of 19 digits may be above 64 bits, which fast JSON parsers turn into a double.
_DIGITS = 19
_STRIDE = 10
_BLOCK_BYTES = 1 << 20


def has_long_number(data: bytes) -> bool:
    """Whether nineteen digits stand together anywhere.

    Only every tenth byte is looked at first: a run of nineteen covers one of them and
    the nine bytes after it.

    >>> has_long_number(b'[1234567890123456789]'), has_long_number(b'[123456789012345678]')
    (True, False)
    """
    import numpy as np

    view = np.frombuffer(data, np.uint8)
    for start in range(0, len(view), _BLOCK_BYTES):
        # Runs over the edge of a block are seen by the next one, which starts earlier.
        block = view[max(start - _DIGITS, 0) : start + _BLOCK_BYTES]
        usable = len(block) - 9
        if usable <= 0:
            continue
        hits = np.flatnonzero(
            _digits(block[0:usable:_STRIDE]) & _digits(block[5::_STRIDE][: -(-usable // _STRIDE)])
            & _digits(block[9::_STRIDE][: -(-usable // _STRIDE)])
        )  # fmt: skip
        if len(hits) and _run(block, hits * _STRIDE):
            return True
    return False


def _digits(bytes_: Any) -> Any:
    import numpy as np

    return (bytes_ - np.uint8(0x30)) < 10


def _run(block: Any, at: Any) -> bool:
    """Whether a run of nineteen digits covers one of the places."""
    import numpy as np

    reach = np.arange(-_DIGITS + 1, _DIGITS)
    for part in np.array_split(at, len(at) // 20_000 + 1):
        places = part[:, None] + reach
        inside = (places >= 0) & (places < len(block))
        digit = _digits(block[np.clip(places, 0, len(block) - 1)]) & inside
        sums = np.cumsum(digit, axis=1)
        sums[:, _DIGITS:] -= sums[:, :-_DIGITS].copy()
        if (sums == _DIGITS).any():
            return True
    return False
