"""Where a result goes: what is refused before the work that makes it."""

from __future__ import annotations

import os
import shlex
from typing import Any

from tare import atomic
from tare.datasets.source import printable

__all__ = ["already_there", "refuse_target"]


def refuse_target(dst: Any, *, overwrite: bool) -> None:
    """Refuses a place where a result could not be put; nothing is made or changed.

    What is written into rather than replaced, e.g. ``/dev/null`` or a named pipe, needs no permission to be replaced.

    Args:
        dst: The path of the result, or a file object, of which nothing is asked.
        overwrite: Whether a file that is there may be replaced.

    Raises:
        FileExistsError: It may not, and one is there.
        FileNotFoundError: The folder that it would be in is missing.
        IsADirectoryError: It is a folder.
        OSError: Nothing can be written there.
    """
    if hasattr(dst, "write"):
        return
    if os.path.isdir(dst):
        raise IsADirectoryError(
            f"{printable(os.fspath(dst))} is a folder, and the result is one file: name the file"
        )
    if not overwrite and os.path.lexists(dst) and not atomic.is_special(dst):
        raise already_there(dst)
    folder = os.path.dirname(os.path.realpath(dst))
    if not os.path.exists(folder):
        shown = os.path.dirname(os.fspath(dst)) or folder
        raise FileNotFoundError(
            f"{printable(os.fspath(dst))} cannot be written: its folder does not exist. Make it first: "
            f"mkdir -p {shlex.quote(printable(shown, 400))}"
        )
    if os.path.isdir(folder):  # what else it is is told when it is opened
        atomic.refuse_unwritable(dst)


def already_there(dst: Any) -> FileExistsError:
    """Returns the error of a file that may not be replaced.

    Args:
        dst: Its path.
    """
    return FileExistsError(f"{printable(os.fspath(dst))} exists already. Say --force to replace it.")
