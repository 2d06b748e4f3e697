"""How much memory a worker may use."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tare.measure.session import Part

__all__ = ["memory_limit_bytes"]

# Kinds that hold a table several times larger than Arrow does: what a worker may use
# is a multiple of the data in the worker's own kind. Beside Arrow's the calls count: its bytes,
# grown and copied, and what a compressor makes of them and gives back are six times the data at 10^8 doubles.
_KIND_FACTOR = {
    "arrow": 3.0,
    "polars": 3.0,
    "pandas": 2.0,
    "columns": 10.0,
    "records": 24.0,
    "python": 1.5,
    "r": 24.0,
}
_WORKER_FLOOR_BYTES = 2 << 30
_WORKER_COPIES = 3


def memory_limit_bytes(part: Part, kind: str, available: int) -> int:
    """What a worker may hold beside its libraries: three times the part in its own kind, more where there is room.

    Args:
        part: What it loads.
        kind: How it holds it.
        available: Memory in bytes that new processes may use. A quarter of it is never too much: a codec that
            holds its value, its text and its copy at once has died of a limit where memory stood empty.

    Returns:
        Bytes, at least 2 GiB.
    """
    copies = int(_WORKER_COPIES * part.bytes_memory * _KIND_FACTOR.get(kind, 2.0))
    return max(_WORKER_FLOOR_BYTES, available // 4, copies)
