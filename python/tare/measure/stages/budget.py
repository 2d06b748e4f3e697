"""What fits into the time and the memory: how much of the data a run measures, and codecs in groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.errors import WorkerError
from tare.measure.environment.limits import available_bytes
from tare.measure.sampling.case_runner import Seat
from tare.measure.stages import FEWEST, SHARES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.codec import Codec
    from tare.measure.session import Part, Session
    from tare.measure.stages.weigh import Contender

__all__ = [
    "FIRST_WEIGHT",
    "LAUNCHES",
    "QUICK_LAUNCHES",
    "fitting_share",
    "in_groups",
    "memory_factor",
]

LAUNCHES = 5
QUICK_LAUNCHES = 3
FIRST_WEIGHT = 1.6
"""How many times the time of another launch of a plan the first one gets: it warms up, and compares what came back."""
# Less is measured whole, without asking how long it takes.
_LARGE_BYTES = 32 << 20
# What a codec is tried on to tell how long a pass takes; what is measured at the least, and where time is that short
# that not even the least number of codecs would be tried on so much.
_TRIED_BYTES, _LEAST_BYTES, _FEW_BYTES = 4 << 20, 16 << 20, 4 << 20
# Seconds that the base takes for a byte where it could not be tried.
_BYTE_S = 2e-8
# What a codec of the shortlist takes in a pass, in writes and reads of the base: it writes and reads once, or more
# often where that is quick, and what came back is compared, two codecs at a time.
_PASS = {"table": 2.0, "document": 1.2}
# Processes that hold the data at the same time.
_WORKERS = 6
# So much is nearly all: then it may as well be all.
_WHOLE = 0.8


def fitting_share(session: Session, base: Codec, codecs: Sequence[Codec], *, lines: float = 0.0) -> float:
    """Returns how much of the data is measured: all of it if a pass of the codecs fits into its time and the memory.

    Args:
        session: The run.
        base: A codec of middling speed, timed on a part if the data is large.
        codecs: Codecs of the pass.
        lines: Share of the data that is measured one call a line beside it; such calls take about twice as long.

    Returns:
        A share in (0, 1].
    """
    dataset = session.dataset
    total = dataset.bytes_memory
    copies = _WORKERS * memory_factor(base, dataset.kind)
    share = min(1.0, available_bytes() / 2 / max(1.0, copies * total))
    least = float(_LEAST_BYTES)
    if total > _LARGE_BYTES and session.settings.limit_s:
        byte_s, start_s = _pace(session, base)
        session.byte_s = byte_s
        # Each library has a process, which starts and loads while another is measured.
        libraries = len({codec.library.modules or codec.format.id for codec in codecs})
        left_s = session.limit_s(SHARES["fitted pass"]) - session.elapsed_s - libraries * start_s / 2
        one_s = max(1e-9, _PASS[dataset.kind] * byte_s * total)
        share = min(share, left_s / (len(codecs) * one_s) - 2 * lines)
        # Sizes of less are far from those of the whole; but an answer of one codec would be none.
        few_s = session.limit_s(SHARES["pass"]) - session.elapsed_s - FEWEST * start_s
        least = min(_LEAST_BYTES, max(_FEW_BYTES, few_s / (FEWEST * one_s) * total))
    share = max(share, min(1.0, least / max(1, total)))
    return 1.0 if share >= _WHOLE else float(f"{share:.2g}")


def _pace(session: Session, base: Codec) -> tuple[float, float]:
    """Seconds that the base takes to write and read a byte of the data in memory, on a part, and those in which it starts."""
    part = session.part(float(f"{min(1.0, _TRIED_BYTES / session.dataset.bytes_memory):.2g}"))
    probe = Seat(session, {"labels": {"medium": "memory"}, "memory": {}}, base, part)
    began_s = session.elapsed_s
    probe.start()
    try:
        probe.load()
        start_s = session.elapsed_s - began_s
        probe.prepare(cold=True)  # what is first called pays for imports
        seconds = sum(probe.trial_s(operation) for operation in ("encode", "decode"))
    except WorkerError as error:
        probe.lose(error)
        return _BYTE_S, 0.0
    probe.close()
    return seconds / max(1, part.bytes_memory), start_s


def in_groups(
    contenders: Sequence[Contender], base: Codec, part: Part, limit_bytes: int
) -> list[list[Contender]]:
    """Split the contenders so that the copies of one group's workers stay below the limit.

    Args:
        contenders: All contenders.
        base: The base codec; it joins every group, so that each has its pairs.
        part: The data each worker holds.
        limit_bytes: Memory for all workers of a group, in bytes.

    Returns:
        Groups, each with the base first.
    """
    bases = [c for c in contenders if c.codec == base]
    groups: list[list[Contender]] = []
    used = float("inf")
    for contender in contenders:
        if contender.codec == base:
            continue
        need = memory_factor(contender.codec, part.kind) * part.bytes_memory
        if used + need > limit_bytes and (not groups or len(groups[-1]) > len(bases)):
            groups.append(list(bases))
            used = 3 * sum(memory_factor(c.codec, part.kind) for c in bases) * part.bytes_memory
        groups[-1].append(contender)
        used += need
    return groups or [list(bases)]


def memory_factor(codec: Codec, kind: str) -> float:
    """Copies of the data that a worker of this codec holds while it works, roughly."""
    return 3.0 if codec.native(kind) in ("arrow", "polars", "python") else 6.0
