"""Numbers in text that fast readers would change."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["finite", "has_infinity", "has_long_number", "may_overflow"]

# An integer of 19 digits may be above 64 bits, which fast JSON parsers turn into a double.
_DIGITS = 19
_STRIDE = 10
_BLOCK_BYTES = 1 << 20
# Above 1.8e308 there is no double: an exponent of three digits is needed, or more digits than one of two leaves room for.
_MANY_DIGITS = 200
_FAR_STRIDE = 50
_SHOWN = 50  # characters of a number, that the words behind it are not cut


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


def may_overflow(data: bytes) -> bool:
    """Whether a number may be too large for a double; some texts that hold none say so too.

    >>> [may_overflow(one) for one in (b"[1e400]", b"[-1.5E+0400]", b"[1e-400]", b"[1e99]", b"9" * 309)]
    [True, True, False, False, True]
    """
    import numpy as np

    view = np.frombuffer(data, np.uint8)
    for start in range(0, len(view), _BLOCK_BYTES):
        block = view[start : start + _BLOCK_BYTES + 4]  # what follows an e may stand over the edge
        if len(block) < 4:
            break
        sign = block[1:-2] == 0x2B
        at = np.flatnonzero(((block[:-3] | 0x20) == 0x65) & (_digits(block[1:-2]) | sign))
        at = at + sign[at]
        at = at[at + 3 < len(block)]
        if (_digits(block[at + 1]) & _digits(block[at + 2]) & _digits(block[at + 3])).any():
            return True
    far = _digits(view[::_FAR_STRIDE])
    # A run of so many digits covers as many of the places that are looked at, but for the one it begins behind.
    count = _MANY_DIGITS // _FAR_STRIDE
    if len(far) < count:
        return False
    runs = np.flatnonzero(np.logical_and.reduce([far[k : len(far) - count + 1 + k] for k in range(count)]))
    return any(
        data[at : at + (count - 1) * _FAR_STRIDE + 1].isdigit() for at in (runs * _FAR_STRIDE).tolist()
    )


def finite(text: str) -> float:
    """A number of a text.

    Raises:
        ValueError: It is larger, or less, than any double.

    >>> finite("1e308")
    1e+308
    """
    number = float(text)
    if number in (float("inf"), float("-inf")):
        shown = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
        raise ValueError(f"{shown} is {'less' if text.startswith('-') else 'larger'} than any double")
    return number


def has_infinity(value: Any) -> bool:
    """Returns whether a document has an infinity in it.

    Args:
        value: The document.

    >>> has_infinity({"a": [1.5, float("-inf")]}), has_infinity({"a": [1.5, "inf"]})
    (True, False)
    """
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            stack += node.values()
        elif isinstance(node, list | tuple):
            stack += node
        elif isinstance(node, float) and math.isinf(node):
            return True
    return False
