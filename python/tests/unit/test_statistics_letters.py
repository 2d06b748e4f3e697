"""Tie letters against brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tare.measure.analysis.letter_display import letters, tie_groups


def all_pairs(count):
    return list(itertools.combinations(range(count), 2))


def maximal_cliques(count, apart):
    """Every largest set of items that do not differ pairwise, by trying all subsets."""
    tied = [
        set(some)
        for size in range(1, count + 1)
        for some in itertools.combinations(range(count), size)
        if not any(pair in apart for pair in itertools.combinations(some, 2))
    ]
    return [some for some in tied if not any(some < other for other in tied)]


def shares(words, a, b):
    return bool(set(words[a]) & set(words[b]))


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_every_pattern_of_few_items(count):
    """For all patterns of differences: two items share a letter exactly when they do not differ."""
    pairs = all_pairs(count)
    for pattern in itertools.product((False, True), repeat=len(pairs)):
        apart = {pair for pair, is_apart in zip(pairs, pattern, strict=True) if is_apart}
        words = letters(count, apart)
        assert all(words)
        assert {pair: pair not in apart for pair in pairs} == {pair: shares(words, *pair) for pair in pairs}


@pytest.mark.parametrize("seed", range(40))
def test_random_patterns_against_brute_force(seed):
    """Every group is one of the maximal ones, and no group could be left out."""
    random = np.random.RandomState(seed)
    count = random.randint(5, 9)
    apart = {pair for pair in all_pairs(count) if random.random_sample() < 0.5}
    groups = [set(group) for group in tie_groups(count, apart)]
    assert all(group in maximal_cliques(count, apart) for group in groups)
    tied = {pair for pair in all_pairs(count) if pair not in apart}
    assert tied == {pair for group in groups for pair in itertools.combinations(sorted(group), 2)}
    for group in groups:
        others = [other for other in groups if other != group]
        covered = {pair for other in others for pair in itertools.combinations(sorted(other), 2)}
        lone = {item for other in others for item in other}
        assert not tied <= covered or not group <= lone


def test_order_of_times_gives_runs_of_letters():
    """Neighbours that tie read as a, ab, b; the best comes first."""
    assert letters(4, {(0, 2), (0, 3), (1, 3), (2, 3)}) == ["a", "ab", "b", "c"]


def test_all_apart_and_all_tied():
    """All apart: a letter each. All tied: one letter. More than 52 groups: letters with a number."""
    assert letters(3, set(all_pairs(3))) == ["a", "b", "c"]
    assert letters(3, set()) == ["a", "a", "a"]
    assert letters(0, set()) == []
    words = letters(60, set(all_pairs(60)))
    assert len(set(words)) == 60
    assert words[52] == "a2"
