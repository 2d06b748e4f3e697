"""Attempts at units: how the folder is called that one writes in, and whether it is over.

The name tells the host, the namespace of its processes, and the process: two containers may have one host name, and what
the number of a process means is known in its own namespace alone.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Callable

__all__ = ["attempt_of", "is_dead", "is_over", "sweep"]

_OLD_S = 24 * 3600.0
_NAME = re.compile(
    r"[^.]+\.(?P<host>.+)-(?:(?P<space>\d+)\.)?(?P<pid>\d+)-\w+"
)  # older versions told no namespace


def attempt_of(key: str, label: int | str) -> str:
    """The name of an attempt of this process.

    Args:
        key: Of what is written; without a dot.
        label: What tells it from others of this process: letters and digits.
    """
    space = _namespace()
    return f"{key}.{os.uname().nodename}-{f'{space}.' if space else ''}{os.getpid()}-{label}"


def is_dead(attempt: str) -> bool:
    """Whether the process of an attempt can be seen from here, and has gone. One that has its number by now is taken for it."""
    told = _NAME.fullmatch(attempt)
    if told is None or told["host"] != os.uname().nodename:
        return False
    return told["space"] is not None and told["space"] == _namespace() and not _lives(int(told["pid"]))


def is_over(one: os.DirEntry[str]) -> bool:
    """Whether nobody writes an attempt any more: its process is seen to be gone, or it is a day old.

    What has no name of an attempt was put there by somebody else, and is none.
    """
    if _NAME.fullmatch(one.name) is None:
        return False
    return time.time() - _last_written(one) > _OLD_S or is_dead(one.name)


def sweep(folder: str, is_over: Callable[[os.DirEntry[str]], bool]) -> int:
    """Remove what is over in a folder, which need not be there, nor be this user's to read; how many files.

    Args:
        folder: Of attempts.
        is_over: Whether one is.
    """
    try:
        with os.scandir(folder) as found:
            attempts = list(found)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return 0
    removed = 0
    for one in attempts:
        with contextlib.suppress(
            FileNotFoundError, PermissionError
        ):  # another sweeps too; it is another user's
            if is_over(one):
                removed += _removed(one)
    return removed


def _removed(one: os.DirEntry[str]) -> int:
    if not one.is_dir(follow_symlinks=False):
        os.unlink(one.path)
        return 1
    count = len(os.listdir(one.path))
    shutil.rmtree(one.path, ignore_errors=True)
    return count


def _last_written(attempt: os.DirEntry[str]) -> float:
    """When anything of it was written: the folder alone keeps the time of its first file."""
    times = [attempt.stat(follow_symlinks=False).st_mtime]
    if attempt.is_dir(follow_symlinks=False):
        with contextlib.suppress(FileNotFoundError), os.scandir(attempt.path) as files:
            times += [one.stat(follow_symlinks=False).st_mtime for one in files]
    return max(times)


def _namespace() -> str:
    """What tells the namespace in which this process has its number from others of the machine; empty where there is none."""
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        return ""


def _lives(pid: int) -> bool:
    """Whether a process runs: one that ended and whose parent has not asked does not. Those of others may be hidden in /proc."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass  # of another user
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (OSError, IndexError):
        return True
