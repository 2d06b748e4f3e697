"""Refusals of folders, patterns and URLs, which are not measured, with what to do instead."""

from __future__ import annotations

import glob
import os
import re
import shlex
from collections.abc import Iterable, Iterator

from tare.codec import Codec
from tare.datasets.source import printable
from tare.errors import UsageError

__all__ = ["refuse_many"]

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)
_STORES = ("s3", "gs", "gcs", "az", "abfs", "abfss")
_MOST = 100_000  # files that are counted


def refuse_many(data: object) -> None:
    """Refuse a text that names a folder, several files or a URL, and name the command that helps.

    Args:
        data: What is to be measured; whatever names one file, or nothing, passes.

    Raises:
        IsADirectoryError: A folder.
        FileNotFoundError: A pattern that no file matches.
        UsageError: A URL, or a pattern that files match.
    """
    if not isinstance(data, str | os.PathLike):
        return
    text = os.fspath(data)
    if not isinstance(text, str) or os.path.isfile(text):
        return
    if os.path.isdir(text):
        raise IsADirectoryError(f"{_shown(text)}: is a directory{_instead(text, _below(text))}")
    if os.path.lexists(text):
        return
    if (url := _URL.fullmatch(text)) is not None:
        raise UsageError(f"{_shown(text)}: is a URL, which is not measured. {_fetching(text, *url.groups())}")
    if glob.has_magic(text):
        found = sorted(path for path in glob.iglob(text, recursive=True) if os.path.isfile(path))
        if not found:
            raise FileNotFoundError(f"{_shown(text)}: no file matches this pattern. Check the path.")
        raise UsageError(f"{_shown(text)}: is a pattern{_instead(text, found)}")


def _fetching(text: str, scheme: str, path: str) -> str:
    if scheme.lower() == "s3" and (path.endswith("/") or glob.has_magic(path)):
        return "The command reads one object: name it."
    if scheme.lower() == "s3":
        return f"The command reads one object: tare measure {shlex.quote(_shown(text))}"
    name = os.path.basename(path.partition("?")[0].partition("#")[0].rstrip("/")) or "FILE"
    if scheme.lower() == "file":
        return f"Name the file: tare measure {shlex.quote(_shown('/' + path.lstrip('/')))}"
    how = (
        ""
        if scheme.lower() in _STORES
        else f" with: curl -L {shlex.quote(_shown(text))} -o {shlex.quote(_shown(name))}"
    )
    return f"Download it{how}; then: tare measure {shlex.quote(_shown(name))}"


def _below(folder: str) -> Iterator[str]:
    """The files in a folder and below it, in order; hidden ones are passed over."""
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (os.path.join(at, name) for name in sorted(names) if not name.startswith("."))


def _instead(text: str, files: Iterable[str]) -> str:
    """Returns the number of files, and the command for the first whose ending names a format."""
    count, first, named = 0, "", ""
    for path in files:
        count += 1
        first = first or path
        named = named or (path if Codec.for_path(path) is not None else "")
        if count == _MOST:
            break
    if not count:
        return " without files. Name a file."
    several = "1 file" if count == 1 else f"{'at least ' * (count == _MOST)}{count:,} files"
    return f" of {several}; one file at a time is measured, e.g.: tare measure {shlex.quote(_shown(named or first))}"


def _shown(text: str) -> str:
    return printable(text, 400)
