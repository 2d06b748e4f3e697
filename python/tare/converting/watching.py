"""A source that must stay what it is until the last of it was read."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from tare import formats
from tare.converting import objects
from tare.datasets.source import Source, printable
from tare.unchanged import Identity, Watch, identity

__all__ = ["watching"]


@contextlib.contextmanager
def watching(source: Source | None, left: str) -> Iterator[Watch]:
    """A block in which a source is read; see `Watch` for what is seen of a change, and what is not.

    A file that is put in its place by renaming leaves the one that was opened as it was. Readers of text
    read what they opened, and all they opened is compared: that is one version, and is taken. Readers of
    other formats open the path themselves, so that it must lead to the same file at the end, or nowhere.
    What was read at once, such as a pipe, is not watched.

    Args:
        source: What is read; None for what is no file.
        left: What became of the result if the source changed, for the message.

    Raises:
        SourceChanged: The block failed before the check, and the file is no more what it was.
    """
    if source is None or source.path is None or source.identity is None:
        yield Watch("", None, lambda: None)
        return
    path = source.path
    # Held open, the file can be asked also when its name has gone to another.
    with open(path, "rb", buffering=0) as held:

        def look() -> Identity | None:
            now = identity(os.fstat(held.fileno()))
            if source.others:
                return source.others[0]
            return now if _by_opening(source) or now != source.identity else _under(path, now)

        with Watch(printable(source.name), source.identity, look, left) as watch:
            yield watch


def _by_opening(source: Source) -> bool:
    """Whether all that is read of the stored bytes goes through `Source.open_stored`."""
    return source.format not in objects.FORMATS and formats.get(source.format).text


def _under(path: str, otherwise: Identity | None) -> Identity | None:
    """What lies under a path; if nothing does, nothing else can have been read from there."""
    try:
        return identity(os.stat(path))
    except FileNotFoundError:
        return otherwise
