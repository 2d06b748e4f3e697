"""The data that a command is given: a file, several files as one dataset, an object far away, a pipe."""

from __future__ import annotations

import contextlib
import shlex
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tare.dataset import FileSet

__all__ = ["fetched", "find_data", "words_of"]


def find_data(words: Sequence[str]) -> str | FileSet | None:
    """Returns what the words name: one thing as it is, a folder, a pattern or several files as a set; None for nothing.

    Raises:
        UsageError: A URL that is not read, or files of several formats.
        OSError: A name among several that does not exist, or a folder without data.
    """
    from tare.dataset import find_file_set
    from tare.measure.inputs import gather_files

    if len(words) > 1:
        for word in words:
            if word == "-" or "://" in word:
                raise click.UsageError(f"{word[:80]} is measured alone; only files can be measured together")
        return find_file_set(words)
    if not words:
        return None
    far = words[0].startswith("s3://") and not (words[0].endswith("/") or "*" in words[0])
    found: str | FileSet = words[0] if far else gather_files(words[0])
    return found


def words_of(given: str | FileSet | None) -> str:
    """Returns what names the data in a command of the shell, quoted where it is several files; empty for a pipe."""
    if isinstance(given, str) or given is None:
        return given if given not in (None, "-") else ""
    return shlex.join(given.words)


@contextlib.contextmanager
def fetched(data: str | FileSet | None) -> Iterator[str | FileSet | None]:
    """The path of the data as long as it is needed: of an object of S3 a temporary copy.

    Raises:
        FileNotFoundError: The object does not exist.
        OSError, MissingLibrary: As of the object store.
    """
    if not isinstance(data, str) or not data.startswith("s3://"):
        yield data
        return
    from tare.scale import remote

    with remote.ends(data, None, force=False) as (path, _):
        yield path
