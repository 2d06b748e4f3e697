"""How many threads the library of a codec uses: its own knob, and the environment of its process."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tare.codec.codec import Codec

__all__ = ["compressor_threads", "set_threads", "thread_environment"]

# The knob of the compressors, which belongs to the process as those of the libraries do.
_KNOB: dict[str, int | None] = {"compressor": None}


def compressor_threads() -> int | None:
    """How many threads compress and decompress; None, the default, for all cores, at most 16."""
    return _KNOB["compressor"]


def set_threads(codec: Codec, threads: int | str) -> int | None:
    """Turn the in-process knobs of the codec's library and of the compressors; the driver sets `thread_environment` before.

    Args:
        codec: The codec about to run.
        threads: A number of threads, or ``all``.

    Returns:
        The number that was set before; None if the library has no knob or does not say.
    """
    _KNOB["compressor"] = None if threads == "all" else int(threads)
    knob = codec.thread_knob
    return None if knob is None else knob(_KNOB["compressor"])


def thread_environment(threads: int | str) -> dict[str, str]:
    """Environment of a process in which every library uses that many threads; empty for ``all``.

    >>> thread_environment(1)["POLARS_MAX_THREADS"]
    '1'
    """
    if threads == "all":
        return {}
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS",
             "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS", "POLARS_MAX_THREADS", "ARROW_IO_THREADS",
             "BLOSC_NTHREADS")  # fmt: skip
    return dict.fromkeys(names, str(threads))
