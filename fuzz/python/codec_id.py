"""Fuzz target: codec and route ids. Either an id that is stable once printed, or a UsageError."""

from __future__ import annotations

from tare.codec import Codec
from tare.errors import UsageError
from tare.route import Route

__all__ = ["fuzz"]


def fuzz(data: bytes) -> None:
    """Read the bytes as a codec id and as a route id."""
    text = data.decode("utf-8", "replace")
    for make in (Codec.parse, Route):
        try:
            found = make(text)
        except UsageError:
            continue
        assert str(found) == str(make(str(found)))
