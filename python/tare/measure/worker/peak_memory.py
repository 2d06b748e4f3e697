"""Peak memory of one call, native heaps included.

Where the kernel allows it: free memory is given back, the high-water mark of the
resident set is reset (``5`` to ``/proc/self/clear_refs``), the call is made once, and
the peak is the mark minus what was resident before. Elsewhere the call is made in a
forked child, and the peak is its ``ru_maxrss`` minus that of a child that does nothing.
Only a process that has not made the call before tells the truth: a second call reuses
the heap of the first.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING, Any

from tare.datasets.footprint import give_back

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FIXED", "copies", "peak", "resident_bytes"]

# One call's own needs (arenas, pools, pages of code touched first) are 0.2 to 10 MiB however small the data is:
# a peak beside fewer bytes than this says nothing of copies.
FIXED = 1 << 20
_CLEAR = "/proc/self/clear_refs"


def copies(peak_bytes: float | None, whole_bytes: float | None) -> float | None:
    """A peak as a multiple of the data; None if one is unknown or the data is too small to tell.

    >>> copies(30 << 20, 10 << 20), copies(30 << 20, 600), copies(None, 10 << 20)
    (3.0, None, None)
    """
    if peak_bytes is None or whole_bytes is None or whole_bytes < FIXED:
        return None
    return peak_bytes / whole_bytes


def peak(call: Callable[[], Any]) -> dict[str, int | str]:
    """Make the call once and measure its peak.

    Args:
        call: Takes nothing; its result is held until the peak is read.

    Returns:
        ``before_bytes`` resident at the start, ``peak_bytes`` above that, and the
        ``method``: ``hwm`` or ``maxrss of a child``.

    >>> found = peak(lambda: bytearray(32 << 20))
    >>> 30 << 20 < found["peak_bytes"] < 40 << 20
    True
    """
    gc.collect()
    give_back()
    if _reset_mark():
        before = _status("VmRSS")
        mark = _status("VmHWM")
        if before is not None and mark is not None:
            held = call()
            top = _status("VmHWM") or before
            del held
            return {"before_bytes": before, "peak_bytes": max(0, top - before), "method": "hwm"}
    before = resident_bytes() or 0
    idle, busy = _child_peak(_nothing), _child_peak(call)
    return {"before_bytes": before, "peak_bytes": max(0, busy - idle), "method": "maxrss of a child"}


def resident_bytes() -> int | None:
    """Resident set of this process, in bytes; None where there is no /proc."""
    return _status("VmRSS")


def _reset_mark() -> bool:
    try:
        with open(_CLEAR, "w", encoding="ascii") as file:
            file.write("5")
    except OSError:
        return False
    return True


def _status(name: str) -> int | None:
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith(name):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def _nothing() -> None:
    return None


def _child_peak(call: Callable[[], Any]) -> int:
    """``ru_maxrss`` in bytes of a forked child that makes the call.

    Raises:
        MemoryError: The child ran out of memory.
        RuntimeError: The child died of anything else.
    """
    pid = os.fork()
    if pid == 0:
        code = 0
        try:
            call()
        except MemoryError:
            code = 3
        except BaseException:
            code = 4
        os._exit(code)
    _, status, usage = os.wait4(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == 3:
        raise MemoryError("the call ran out of memory")
    if code:
        raise RuntimeError(f"the call failed in the child that measured its memory ({code})")
    unit = 1 if sys.platform == "darwin" else 1024
    return int(usage.ru_maxrss) * unit
