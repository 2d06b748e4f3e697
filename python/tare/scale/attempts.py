"""Attempts at units: how the folder is called that one writes in, and whether it is over.

The name tells the host, the namespace of its processes, and the process: two containers may have one host name, and what
the number of a process means is known in its own namespace alone.
"""

from __future__ import annotations

import contextlib
import os
import time

__all__ = ["attempt_of", "is_over", "last_written"]

_OLD_S = 24 * 3600.0


def attempt_of(key: str, label: int | str) -> str:
    """The name of an attempt of this process.

    Args:
        key: Of what is written.
        label: What tells it from others of this process.
    """
    space = _namespace()
    return f"{key}.{os.uname().nodename}-{f'{space}.' if space else ''}{os.getpid()}-{label}"


def is_over(attempt: str, mtime_s: float) -> bool:
    """Whether nobody writes there any more: its process, which can be seen from here, has gone, or it is a day old."""
    if time.time() - mtime_s > _OLD_S:
        return True
    host, _, process = attempt.partition(".")[2].rpartition("-")[0].rpartition("-")
    space, _, pid = process.rpartition(".")  # older versions told no namespace
    if not space or host != os.uname().nodename or space != _namespace() or not pid.isdigit():
        return False
    return os.path.isdir("/proc/self") and not _lives(pid)


def last_written(attempt: os.DirEntry[str]) -> float:
    """When anything of it was written: the folder alone keeps the time of its first file."""
    times = [attempt.stat().st_mtime]
    if attempt.is_dir():
        with contextlib.suppress(FileNotFoundError), os.scandir(attempt.path) as files:
            times += [one.stat().st_mtime for one in files]
    return max(times)


def _namespace() -> str:
    """What tells the namespace in which this process has its number from others of the machine; empty where there is none."""
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        return ""


def _lives(pid: str) -> bool:
    """Whether a process runs: one that ended and whose parent has not asked does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (OSError, IndexError):
        return False
