"""Fuzz target: tagged values. Text is a value that writing gives again, or a TareError."""

from __future__ import annotations

from tare.errors import TareError
from tare.tagged import dump_text, load_text

__all__ = ["fuzz"]


def fuzz(data: bytes) -> None:
    """Read the bytes as tagged values within small limits; what is read is written the same twice."""
    try:
        value = load_text(data, max_bytes=2**20, max_depth=2_000, max_nodes=100_000)
    except TareError:
        return
    text = dump_text(value)
    assert text == dump_text(load_text(text))
