"""What is to be measured: one file, or several as one dataset; URLs are refused with what to do instead."""

from __future__ import annotations

import glob
import os
import re
import shlex
from typing import Any

from tare.dataset import FileSet, find_file_set
from tare.datasets.source import printable
from tare.errors import UsageError

__all__ = ["gather_files"]

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)
_STORES = ("s3", "gs", "gcs", "az", "abfs", "abfss")


def gather_files(data: Any) -> Any:
    """Returns the files that a folder or a pattern stands for; anything else as it is.

    Args:
        data: What is to be measured.

    Raises:
        FileNotFoundError: A pattern that no file matches.
        IsADirectoryError: A folder without files of data.
        UsageError: A URL, or files of several formats.
    """
    if isinstance(data, FileSet) or not isinstance(data, str | os.PathLike):
        return data
    text = os.fspath(data)
    if not isinstance(text, str) or os.path.isfile(text):
        return data
    if os.path.isdir(text):
        return find_file_set([text])
    if os.path.lexists(text):
        return data
    if (url := _URL.fullmatch(text)) is not None:
        raise UsageError(f"{_shown(text)} {_fetching(text, *url.groups())}")
    return find_file_set([text]) if glob.has_magic(text) else data


def _fetching(text: str, scheme: str, path: str) -> str:
    """What a URL is that is not measured, and what to do instead."""
    if scheme.lower() == "s3" and (path.endswith("/") or glob.has_magic(path) or "/" not in path):
        bucket = text[: re.search(r"[*?\[]|$", text).start()]  # type: ignore[union-attr]
        bucket = bucket.rpartition("/")[0] if "/" in path else bucket
        name = os.path.basename(bucket) or "data"
        what = (
            "is a pattern of"
            if glob.has_magic(path)
            else "is a folder in"
            if "/" in path.strip("/")
            else "is"
        )
        return (
            f"{what} a bucket, of which one object can be measured. Name the object, or copy them all and measure the "
            f"folder: aws s3 cp --recursive {shlex.quote(_shown(bucket))} {shlex.quote(_shown(name))}; "
            f"then: tare measure {shlex.quote(_shown(name))}"
        )
    if scheme.lower() == "s3":
        return (
            "is an object of a bucket, which the command alone reads: "
            f"tare measure {shlex.quote(_shown(text))}; in Python download it first"
        )
    name = os.path.basename(path.partition("?")[0].partition("#")[0].rstrip("/")) or "FILE"
    if scheme.lower() == "file":
        return f"is a URL, which is not measured. Name the file: tare measure {shlex.quote(_shown('/' + path.lstrip('/')))}"
    how = (
        ""
        if scheme.lower() in _STORES
        else f" with: curl -L {shlex.quote(_shown(text))} -o {shlex.quote(_shown(name))}"
    )
    return (
        f"is a URL, which is not measured. Download it{how}; then: tare measure {shlex.quote(_shown(name))}"
    )


def _shown(text: str) -> str:
    return printable(text, 400)
