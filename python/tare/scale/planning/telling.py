"""What a source holds, as far as a plan must know it; one that cannot be told stops no other."""

from __future__ import annotations

from typing import BinaryIO

from tare.codec import Codec
from tare.datasets.source import find
from tare.errors import TareError, Truncated
from tare.scale.left import Undone
from tare.scale.place import said_by
from tare.scale.planning.sources import Found
from tare.scale.tasks.inputs import opened

__all__ = ["format_of", "unknown"]


def unknown(one: Found) -> tuple[str, str] | None:
    """A file of which nothing says what it holds: its name, and why; None where its name or its bytes do.

    It is `Undone` where it may be data, or where the user named it.
    """
    told = _unknown(one)
    return Undone(told) if told is not None and one.named else told


def _unknown(one: Found) -> tuple[str, str] | None:
    if Codec.for_path(one.name) is not None:
        return None
    if not one.size:
        return one.name, "is empty"
    if one.uri.startswith("file:"):
        try:
            with opened(one.as_input()) as path:
                if find(path, known_only=False).format:
                    return None
        except Truncated:
            return Undone((one.name, "ends too early to tell what it holds"))
        except TareError:
            return Undone((one.name, "its bytes cannot be read: damaged, or changed meanwhile"))
        except OSError as error:  # find() says it with name and advice
            cause = error.__context__ if isinstance(error.__context__, OSError) else error
            return Undone((one.name, said_by(cause)))
    return one.name, "no data that can be told"


def format_of(path: str | BinaryIO, name: str) -> str:
    """By its bytes; of a file that is elsewhere, by its name."""
    if not isinstance(path, str):
        codec = Codec.for_path(name)
        return codec.format_id if codec is not None else ""
    try:
        return find(path, known_only=False).format
    except TareError:
        return ""
