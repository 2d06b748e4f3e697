"""Tie letters: a compact letter display of pairwise differences.

Two codecs share a letter exactly when they were not shown to differ. Ranks
would claim an order that the samples do not carry.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

__all__ = ["letters", "tie_groups"]

ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def tie_groups(count: int, apart: Collection[tuple[int, int]]) -> list[list[int]]:
    """Groups whose members do not differ pairwise; every such pair is in some group.

    Args:
        count: Number of items, numbered in the order of their figures, best first.
        apart: Pairs (a, b), a < b, that were shown to differ.

    Returns:
        The groups, best first; each is as large as it can be, and none could be left out.

    >>> tie_groups(3, {(0, 2)})
    [[0, 1], [1, 2]]
    """
    tied = [[False] * count for _ in range(count)]
    for i in range(count):
        for j in range(i + 1, count):
            tied[i][j] = tied[j][i] = (i, j) not in apart
    groups: list[list[int]] = []
    covered: set[tuple[int, int]] = set()
    for i in range(count):
        if not any(tied[i]):
            groups.append([i])
        for j in range(i + 1, count):
            if not tied[i][j] or (i, j) in covered:
                continue
            group = [i, j]
            # Neighbours first, so that a group is a run of the order wherever it can be.
            for k in sorted(
                (k for k in range(count) if k not in (i, j)), key=lambda k: (abs(k - i) + abs(k - j), k)
            ):
                if all(tied[k][member] for member in group):
                    group.append(k)
            group.sort()
            groups.append(group)
            covered.update((a, b) for a in group for b in group if a < b)
    return _needed(groups)


def letters(count: int, apart: Collection[tuple[int, int]]) -> list[str]:
    """The letters of each item; two items share one exactly when they do not differ.

    Args:
        count: Number of items, best first.
        apart: Pairs (a, b), a < b, that were shown to differ.

    >>> letters(4, {(0, 2), (0, 3), (1, 3)})
    ['a', 'ab', 'bc', 'c']
    """
    words = [""] * count
    for place, group in enumerate(tie_groups(count, apart)):
        for member in group:
            words[member] += _letter(place)
    return words


def _needed(groups: Sequence[list[int]]) -> list[list[int]]:
    """The groups without those whose every pair is in another group too."""
    owners: dict[tuple[int, int], int] = {}
    for group in groups:
        for pair in _pairs(group):
            owners[pair] = owners.get(pair, 0) + 1
    kept = []
    for group in groups:
        pairs = _pairs(group)
        if len(group) > 1 and all(owners[pair] > 1 for pair in pairs):
            for pair in pairs:
                owners[pair] -= 1
            continue
        kept.append(group)
    return sorted(kept)


def _pairs(group: Sequence[int]) -> list[tuple[int, int]]:
    return [(a, b) for a in group for b in group if a < b]


def _letter(place: int) -> str:
    """The letter of a group; past 52 groups a letter with a number: ``a2``."""
    turn, at = divmod(place, len(ALPHABET))
    return ALPHABET[at] + (str(turn + 1) if turn else "")
