"""The rate of a warm file: what reading its bytes takes where a codec was measured in memory."""

from __future__ import annotations

import os
import tempfile
import time
from typing import BinaryIO

__all__ = ["measure_file_rate"]

# More than the caches of a CPU hold: 8 MiB of one came out of them at 50 GB/s, where 64 MiB took 5.
_BYTES, _TIMES = 32 << 20, 4


def measure_file_rate(directory: str | os.PathLike[str] | None = None) -> float | None:
    """Returns the bytes per second at which a file that is in the page cache is read; None if no file can be written.

    The least of four readings of 32 MiB into memory that is there: fresh memory would cost more than the file. A
    reading in which others took the CPU counts by its CPU time, as calls of codecs do: on a busy machine none of the
    four may be undisturbed, and bytes would be priced at ten times what they cost.

    Args:
        directory: Where the file is made, and removed again; None for the folder for temporary files.

    >>> rate = measure_file_rate()
    >>> rate is None or rate > 0
    True
    """
    buffer = bytearray(_BYTES)
    best = float("inf")
    try:
        with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
            file.write(buffer)
            for _ in range(_TIMES):
                file.seek(0)
                best = min(best, _byte_s(file, buffer))
    except OSError:
        return None
    return 1 / best if 0 < best < float("inf") else None


def _byte_s(file: BinaryIO, buffer: bytearray) -> float:
    """Seconds of one byte of a reading: of CPU where another process took the CPU, else by the wall clock."""
    preempted = _preemptions()
    wall_ns, cpu_ns = time.perf_counter_ns(), time.thread_time_ns()
    read = file.readinto(buffer)  # type: ignore[attr-defined]  # of a file without a buffer
    cpu_ns, wall_ns = time.thread_time_ns() - cpu_ns, time.perf_counter_ns() - wall_ns
    took_ns = min(wall_ns, cpu_ns) if cpu_ns and _preemptions() > preempted else wall_ns
    return took_ns / 1e9 / max(1, read or 0)


def _preemptions() -> int:
    """How often this thread lost the CPU to another one; 0 where the system does not tell."""
    try:
        import resource

        return resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw
    except (ImportError, AttributeError):
        return 0
