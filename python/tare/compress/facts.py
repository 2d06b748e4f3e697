"""What is known of a compressed file."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Info", "Summary"]


@dataclass(frozen=True)
class Info:
    """What a compressed file is.

    Args:
        container: Name of its compressor; ``none`` for a file of none.
        layout: ``seekable`` with a seek table, an index or of BGZF, ``single`` for one frame, member
            or stream, ``members`` for several of gzip; None for others, and where that is not
            known (yet).
        units: Frames, blocks and members; of a file that is being read, those so far. None
            where only decoding would tell.
        plain_size: Plain bytes, as its headers say; None where only decoding would tell, or
            before the end is reached.
        stored_size: Stored bytes; of a stream those taken so far.
        has_index: Whether a seek table or index ends it; None where that was not looked at.
        complete: ``proven`` if the end proves itself to be the end, ``unproven`` if it ends where
            a frame or member ends and nothing says that no more belongs to it; None before the
            end is reached.
        looks_cut: Whether an end that is unproven looks like that of a file written here and cut
            between two chunks: equal zstd frames without a seek table, BGZF without its marker.
    """

    container: str
    layout: str | None = None
    units: int | None = None
    plain_size: int | None = None
    stored_size: int | None = None
    has_index: bool | None = None
    complete: str | None = None
    looks_cut: bool = False


@dataclass(frozen=True)
class Summary:
    """What was written, or read to its end.

    Args:
        bytes_in: Bytes that went in: plain ones when writing, stored ones when reading.
        bytes_out: Bytes that came out.
        units: Chunks written, or frames, blocks and members read.
        compressor: Id when writing, name when reading.
        layout: How units are laid out; ``auto`` where reading cannot tell.
        completeness: ``proven`` or ``unproven``: see `Info`.
        peak_buffers: Buffers that existed at once when writing, each of a chunk and its stored form.
        index: What belongs into ``.gzi`` beside a BGZF file, where ``index=True`` asked for it.
    """

    bytes_in: int
    bytes_out: int
    units: int
    compressor: str
    layout: str
    completeness: str
    peak_buffers: int
    index: bytes | None = None
