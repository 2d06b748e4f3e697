"""Bytes in memory: of a document, in bounded time, as long lists are judged by some of their items; and given back."""

from __future__ import annotations

import sys
from typing import Any

from tare import kinds

__all__ = ["document_bytes", "give_back"]

_LONG_LIST = 5_000
_SAMPLED = 2_000
_LEVELS = 4
_FEW = 200


def document_bytes(value: Any) -> int:
    """Bytes of the document, exact unless it has lists of more than 5,000 items.

    >>> document_bytes([1, 2, 3]) == kinds.resident_bytes([1, 2, 3])
    True
    """
    return round(_bytes(value, _LEVELS))


def give_back() -> None:
    """Return freed memory to the system: the C library's heap and Arrow's pool."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    if not sys.platform.startswith("linux"):
        return
    import ctypes  # which most commands do not need

    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):
        return  # another C library


def _bytes(value: Any, levels: int) -> float:
    if isinstance(value, list) and len(value) > _LONG_LIST:
        sample = value[:: len(value) // _SAMPLED]
        inner = kinds.resident_bytes(sample) - sys.getsizeof(sample)
        return sys.getsizeof(value) + inner * len(value) / len(sample)
    if levels and isinstance(value, dict | list) and len(value) <= _FEW and _has_long(value):
        children = value.values() if isinstance(value, dict) else value
        keys = sum(map(sys.getsizeof, value)) if isinstance(value, dict) else 0
        return sys.getsizeof(value) + keys + sum(_bytes(child, levels - 1) for child in children)
    return kinds.resident_bytes(value)


def _has_long(value: Any) -> bool:
    """Whether a long list stands within the first levels."""
    level = [value]
    for _ in range(_LEVELS):
        if any(isinstance(node, list) and len(node) > _LONG_LIST for node in level):
            return True
        small = (node for node in level if isinstance(node, dict | list) and len(node) <= _FEW)
        level = [child for node in small for child in (node.values() if isinstance(node, dict) else node)]
        if len(level) > _LONG_LIST:
            return False
    return False
