"""Fuzz target: codec and route ids. Either an id that is stable once printed, or a UsageError."""

from __future__ import annotations

from tare.codec import Codec
from tare.errors import MissingLibrary, UsageError
from tare.route import Route

__all__ = ["fuzz"]


def fuzz(data: bytes) -> None:
    """Read the bytes as a codec id and as a route id."""
    text = data.decode("utf-8", "surrogateescape")
    for make in (Codec.parse, Route):
        try:
            found = make(text)
        except (UsageError, MissingLibrary) as error:
            assert len(str(error)) < 2000, "an id from outside is cut in messages"
            continue
        assert str(found) == str(make(str(found)))
