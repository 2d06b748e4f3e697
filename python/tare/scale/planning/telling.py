"""What a source holds, as far as a plan must know it; one that cannot be told stops no other."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO

from tare.codec import Codec
from tare.datasets.source import HEAD_BYTES, find
from tare.errors import TareError, Truncated
from tare.scale.left import Undone
from tare.scale.place import said_by, split_uri
from tare.scale.planning.sources import Found
from tare.scale.tasks.inputs import opened

__all__ = ["format_of", "unknown", "unknown_of"]

_HEADS = (HEAD_BYTES, 1 << 20, 16 << 20)  # one block of a compressor may be larger than a head
_REQUESTS = 16  # at a time, of an object store


class _Untold(TareError):
    """More of a file than is asked for would be needed."""


def unknown_of(found: Iterable[Found]) -> Iterator[tuple[str, str] | None]:
    """`unknown` of each; of objects some are asked for at a time, as each without a known ending is a request."""
    left = iter(found)
    with ThreadPoolExecutor(_REQUESTS) as pool:
        while some := list(itertools.islice(left, 8 * _REQUESTS)):
            if all(one.uri.startswith("file:") for one in some):
                yield from map(unknown, some)
            else:
                yield from pool.map(unknown, some)


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
        return one.name, "an empty file"
    try:
        if _told(one):
            return None
    except _Untold as error:
        return Undone((one.name, str(error)))
    except Truncated:
        return Undone((one.name, "it ends too early to tell what it holds"))
    except TareError:
        return Undone((one.name, "its bytes cannot be read: damaged, or changed meanwhile"))
    except OSError as error:  # find() says it with name and advice
        cause = error.__context__ if isinstance(error.__context__, OSError) else error
        return Undone((one.name, said_by(cause)))
    return one.name, "no data that can be told"


def _told(one: Found) -> str:
    """The format that a file's bytes tell; empty if they tell none."""
    if not one.uri.startswith("file:"):
        return _told_by_head(one)
    with opened(one.as_input()) as path:
        return find(path, known_only=False).format


def _told_by_head(one: Found) -> str:
    """The same of an object, by no more of it than that takes; a head that is as long as a file's tells the same.

    Raises:
        TareError, OSError: As `find`, and of the store.
    """
    place, name = split_uri(one.uri)
    told = None
    for most in _HEADS:
        end = min(most, one.size)
        try:
            found = find(place.read(name, 0, end), name=os.path.basename(one.name), known_only=False)
        except TareError:
            if end == one.size:
                raise
            continue  # cut within what a compressor needs to begin
        told = found.format
        if end == one.size or len(found.head) >= HEAD_BYTES:
            break
    if told is None:
        raise _Untold(f"its first {_HEADS[-1]:,} bytes do not tell what it holds; say its format with --from")
    return told


def format_of(path: str | BinaryIO, one: Found) -> str:
    """By its bytes: of a path, or of an object, whose head is asked for."""
    try:
        return find(path, known_only=False).format if isinstance(path, str) else _told_by_head(one)
    except TareError:
        return ""
