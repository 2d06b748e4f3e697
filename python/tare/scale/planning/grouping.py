"""Small files, some at a time: where a group ends is told by the names in it.

Ends counted from the first file would all move when a file is added, and every unit would be another. An end that
its own name tells moves none: a new file changes the one group that it falls into.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from tare._tare import Blake3
from tare.scale.planning.sources import Found
from tare.scale.unit import canonical

__all__ = ["Limits", "in_groups"]

_T = TypeVar("_T")


@dataclass(frozen=True)
class Limits:
    """How large a group becomes.

    Args:
        usual: So many files on average.
        most: So many at most.
        most_bytes: Their bytes, at most.
        most_text: Bytes of the unit that names them, of the 64 KiB that it may have.
    """

    usual: int
    most: int
    most_bytes: int = 64 << 20
    most_text: int = 48 << 10


def in_groups(
    some: Iterable[_T], limits: Limits, *, source: Callable[[_T], Found], said: Callable[[_T], Any]
) -> Iterator[list[_T]]:
    """Neighbours together.

    Args:
        some: In the order of their names.
        limits: How large a group becomes.
        source: The file of one.
        said: What the unit says of one.

    >>> files = [Found(f"file:///d/{n}", f"{n:04}", 1, {}) for n in range(1000)]
    >>> def groups(files):
    ...     found = in_groups(files, Limits(32, 256), source=lambda one: one, said=lambda one: one.name)
    ...     return {tuple(one.name for one in group) for group in found}
    >>> before, after = groups(files), groups(files[:500] + files[501:])
    >>> len(before) > 10, len(after - before)
    (True, 1)
    """
    group: list[_T] = []
    size = text = 0
    for one in some:
        found = source(one)
        length = len(canonical(said(one)))
        if group and (size + found.size > limits.most_bytes or text + length > limits.most_text):
            yield group
            group, size, text = [], 0, 0
        group.append(one)
        size += found.size
        text += length
        if len(group) >= limits.most or _is_end(found.name, limits.usual):
            yield group
            group, size, text = [], 0, 0
    if group:
        yield group


def _is_end(name: str, usual: int) -> bool:
    hasher = Blake3()
    hasher.update(name.encode(errors="surrogateescape"))
    return int(hasher.hexdigest()[:8], 16) % usual == 0
