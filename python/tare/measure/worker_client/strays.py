"""Processes that a worker left: a codec may fork twice and call setsid, which takes them out of its group.

They are found by what they cannot shed by that: the environment that the worker was started with, which names its own
directory, and, while the worker lives, that they are its descendants (it adopts those whose parent has ended).
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys

__all__ = ["descendants", "end_strays", "release_all"]

_ROUNDS = 20  # one that forks on and on gets so many


def descendants(pid: int) -> list[int]:
    """Open what a process started, and what that started: descriptors of processes, for `end_strays`.

    Args:
        pid: The process; it must not be reaped yet.
    """
    found: list[int] = []
    if not _can():
        return found
    parents = {one: parent for one in _pids() if (parent := _parent(one)) is not None}
    below = {pid}
    while more := {one for one, parent in parents.items() if parent in below and one not in below}:
        below |= more
    for one in below - {pid}:
        with contextlib.suppress(OSError):
            descriptor = os.pidfd_open(one)
            if _parent(one) == parents[one]:  # its number is still its own
                found.append(descriptor)
            else:
                os.close(descriptor)
    return found


def end_strays(directory: str, known: list[int]) -> None:
    """Kill what a worker left, once it has ended.

    Args:
        directory: The worker's own, which its environment names.
        known: What `descendants` gave before; each is closed.
    """
    for descriptor in known:
        _kill(descriptor)
    release_all(known)
    if not _can():
        return
    mark = b"\0TMPDIR=" + os.fsencode(directory) + b"\0"
    for _ in range(_ROUNDS):
        marked = [pid for pid in _pids() if _is_marked(pid, mark)]
        if not marked:
            return
        for pid in marked:
            with contextlib.suppress(OSError):
                descriptor = os.pidfd_open(pid)
                if _is_marked(pid, mark):
                    _kill(descriptor)
                os.close(descriptor)


def release_all(descriptors: list[int]) -> None:
    """Close what `descendants` opened."""
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    descriptors.clear()


def _can() -> bool:
    return sys.platform.startswith("linux") and hasattr(os, "pidfd_open")


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _parent(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None


def _is_marked(pid: int, mark: bytes) -> bool:
    """Whether a process that goes on was started with an environment; one that has ended has none."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return mark in b"\0" + file.read()
    except OSError:  # another user's, or it has ended
        return False


def _kill(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
