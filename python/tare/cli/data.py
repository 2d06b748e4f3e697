"""The data that a command is given: a file, several files as one dataset, an object far away, a pipe."""

from __future__ import annotations

import contextlib
import shlex
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from tare.dataset import FileSet

__all__ = ["fetched", "find_data", "way_of", "words_of"]


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
    path = words[0].removeprefix("s3://")
    far = path != words[0] and "/" in path and not (path.endswith("/") or "*" in path)
    found: str | FileSet = words[0] if far else gather_files(words[0])
    return found


def words_of(given: str | FileSet | None) -> str:
    """Returns what names the data in a command of the shell, quoted where it is several files; empty for a pipe."""
    if isinstance(given, str) or given is None:
        return given if given not in (None, "-") else ""
    return shlex.join(given.words)


def way_of(words: str, record: Mapping[str, Any]) -> str:
    """Returns a note that the way from a bucket does not count; empty where the data are near, or a link does.

    Args:
        words: What names the data, as of `words_of`.
        record: The run's record.

    >>> way_of("a.csv", {}), way_of("s3://lake/a.csv", {"settings": {"link": "50MB/s"}})
    ('', '')
    """
    from tare.measure.verdict.default_use import default_profile

    if not words.startswith("s3://") or (record.get("settings") or {}).get("link"):
        return ""
    if default_profile(record) not in ("keep", "cache"):
        return ""  # the others count a link of their own, or none at all
    return (
        "reads are judged at the speed of a local file; --link RATE, such as --link 50MB/s, counts the way "
        "from the bucket"
    )


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
