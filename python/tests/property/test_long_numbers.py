"""Long integers in text are found wherever they stand."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tare.datasets import numbers


@given(
    parts=st.lists(
        st.one_of(st.integers(1, 30).map(lambda n: b"7" * n), st.sampled_from([b",", b"x", b"."])),
        max_size=12,
    ),
    pad=st.integers(0, 40),
)
def test_agrees_with_a_regular_expression(parts, pad):
    """A run of nineteen digits is found if and only if there is one."""
    data = b" " * pad + b"".join(parts)
    assert (re.search(rb"\d{19}", data) is not None) == numbers.has_long_number(data)


def test_runs_across_blocks_are_found(monkeypatch):
    """A run over the edge of a block is seen, whatever the block."""
    monkeypatch.setattr(numbers, "_BLOCK_BYTES", 50)
    for at in range(120):
        for digits in (18, 19, 20):
            data = b"x" * at + b"1" * digits + b"x" * 60
            assert (digits >= 19) == numbers.has_long_number(data), (at, digits)
