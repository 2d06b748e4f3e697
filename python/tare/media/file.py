"""The file medium: written with or without fsync, read warm or cold, proven cold.

*Cold* means that no page of the file is in the page cache: ``evict`` writes the
file's dirty pages back, asks the kernel to drop its pages (``posix_fadvise``, no
privilege needed), and counts with ``mincore`` what is still there. File systems that
live in memory keep their pages; ``cold_possible`` finds that out by a trial.
"""

from __future__ import annotations

import mmap
import os
from typing import Any

from tare.errors import UsageError

__all__ = ["cold_possible", "evict", "filesystem", "mapped", "read", "residency", "write"]

Buffer = bytes | bytearray | memoryview

_TRIAL_BYTES = 8 << 20
_COLD_AT_MOST = 0.05
_ODD = bytes(i & 1 for i in range(256))
_SYNCS = ("none", "fsync")


def write(path: str | os.PathLike[str], data: Buffer, *, sync: str = "none") -> int:
    """Create or replace a file: open, write, [fsync,] close.

    Args:
        path: The file.
        data: Its bytes.
        sync: ``none`` leaves the bytes to the page cache; ``fsync`` waits until they are on the disk.

    Returns:
        Bytes written.

    Raises:
        OSError: The file cannot be written.
        UsageError: ``sync`` is neither.
    """
    if sync not in _SYNCS:
        raise UsageError(f"sync is {' or '.join(_SYNCS)}, not {sync!r}")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with memoryview(data) as view, view.cast("B") as rest:
            total = len(rest)
            done = 0
            while done < total:
                # One call writes at most 2 GiB on Linux.
                done += os.write(descriptor, rest[done:])
        if sync == "fsync":
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return total


def read(path: str | os.PathLike[str]) -> bytes:
    """The whole file, in one buffer of its size.

    Raises:
        OSError: The file cannot be read.
    """
    with open(path, "rb", buffering=0) as file:
        return file.readall()


def mapped(path: str | os.PathLike[str]) -> memoryview:
    """The file as a read-only view; nothing is read before it is touched.

    The view keeps the mapping alive; an empty file gives an empty view.

    Raises:
        OSError: The file cannot be opened or mapped.
    """
    with open(path, "rb", buffering=0) as file:
        if os.fstat(file.fileno()).st_size == 0:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def residency(path: str | os.PathLike[str]) -> float | None:
    """Share of the file's pages that are in the page cache, 0 to 1; None if it cannot be told.

    An empty file has no page that is cached: 0.

    Raises:
        OSError: The file cannot be opened.
    """
    libc = _libc()
    if libc is None:
        return None
    import ctypes

    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.fstat(descriptor).st_size
        if size == 0:
            return 0.0
        address = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
        if address in (None, ctypes.c_void_p(-1).value):
            return None
        pages = -(-size // mmap.PAGESIZE)
        flags = ctypes.create_string_buffer(pages)
        failed = libc.mincore(address, size, flags)
        libc.munmap(address, size)
        return None if failed else flags.raw[:pages].translate(_ODD).count(b"\x01") / pages
    finally:
        os.close(descriptor)


def evict(path: str | os.PathLike[str]) -> float | None:
    """Drop the file from the page cache.

    Returns:
        What is still cached, 0 to 1; None where the system cannot drop or cannot tell.

    Raises:
        OSError: The file cannot be opened or synced.
    """
    if not hasattr(os, "posix_fadvise"):
        return None
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)  # dirty pages are never dropped
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
    return residency(path)


def cold_possible(directory: str | os.PathLike[str]) -> tuple[bool, str]:
    """Whether files in this directory can be read cold: an 8 MiB file is written, dropped and counted.

    Returns:
        True and an empty text, or False and the reason in words.

    Raises:
        OSError: No file can be written there.
    """
    import tempfile  # 10 ms that workers need not pay

    descriptor, path = tempfile.mkstemp(prefix=".tare-cold-", dir=directory)
    os.close(descriptor)
    try:
        write(path, bytes(_TRIAL_BYTES), sync="fsync")
        left = evict(path)
    finally:
        os.unlink(path)
    where = filesystem(directory) or "this file system"
    if left is None:
        return False, "cold not possible: this system cannot drop or count cached pages"
    if left > _COLD_AT_MOST:
        return False, f"cold not possible on {where}: {left:.0%} of a dropped file stayed in memory"
    return True, ""


def filesystem(directory: str | os.PathLike[str]) -> str | None:
    """Type of the file system that holds the directory, such as ``ext4``; None if unknown."""
    try:
        device = os.stat(directory).st_dev
        wanted = f"{os.major(device)}:{os.minor(device)}"
        real = os.path.realpath(directory)
        best: tuple[int, str] | None = None
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as mounts:
            for line in mounts:
                left, _, right = line.partition(" - ")
                fields = left.split()
                point = fields[4].encode().decode("unicode_escape")
                inside = real == point or real.startswith(point.rstrip("/") + "/")
                score = (2 if fields[2] == wanted else 0) * 10_000 + len(point)
                if inside and (best is None or score >= best[0]):
                    best = (score, right.split()[0])
    except (OSError, IndexError, UnicodeDecodeError):
        return None
    return best[1] if best else None


def _libc() -> Any:
    """The C library with the three functions declared; None where there is no mincore."""
    if not hasattr(os, "posix_fadvise"):
        return None
    import ctypes

    try:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = (
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.c_int,
            ctypes.c_int,
            ctypes.c_int,
            ctypes.c_long,
        )
        libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
        libc.mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p)
    except (OSError, AttributeError):
        return None
    return libc
