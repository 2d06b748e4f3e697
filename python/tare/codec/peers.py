"""Other libraries' compressors, to be measured beside Tare's own: ``+zstd:3,library=zstandard``.

Each is called as its users call it: one buffer in memory, its own file object for files. They
compress and decompress what a codec encodes, no more: limits, strictness and endings of files
are those of `tare.compress` alone. Metadata is eager, libraries are imported when they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

from tare.codec import peer_calls as calls
from tare.formats.base import Option
from tare.formats.installable import Installable

if TYPE_CHECKING:
    from tare.formats.base import Buffer

__all__ = ["PEERS", "Peer", "library_names", "peer"]

# They refuse longer ones themselves, or keep only what is left of the length in 32 bits.
_BLOSC_BYTES = (1 << 31) - 33


@dataclass(frozen=True)
class Peer(Installable):
    """One library's compressor.

    Args:
        compressor: Name in ids: ``zstd``; a container of its own has a name of its own.
        name: Name of the library in ids: ``zstandard``.
        modules: What must be importable.
        distribution: Name on the package index; empty for the standard library.
        levels: Lowest and highest level.
        default_level: Level of an id without one: the library's own.
        compress: ``compress(data, level, threads, **options) -> Buffer``; None for all threads.
        decompress: ``decompress(data, threads) -> Buffer``.
        writer: ``writer(file, level, threads)`` opens a binary file to compress into, for those
            whose users write files through one; None: compressed in memory, then written.
        reader: ``reader(file, threads)``, as ``writer``.
        parallel: Media in which it can use several threads.
        options: Options of ids beside the library.
        most_bytes: Longest buffer it takes; None for any.
        own_container: Whether nothing but this library reads its bytes; ids leave the library out.
        extra: Extra of Tare that installs it.
    """

    compressor: str
    name: str
    modules: tuple[str, ...]
    distribution: str
    levels: tuple[int, int]
    default_level: int
    compress: Callable[..., Buffer]
    decompress: Callable[..., Buffer]
    writer: Callable[[BinaryIO, int, int | None], Any] | None = None
    reader: Callable[[BinaryIO, int | None], Any] | None = None
    parallel: tuple[str, ...] = ()
    options: Mapping[str, Option] = field(default_factory=dict)
    most_bytes: int | None = None
    own_container: bool = False
    extra: str = "compress"


_SHUFFLED = Option("zstd", ("zstd", "lz4", "blosclz"), "What compresses the shuffled bytes.")

PEERS: tuple[Peer, ...] = (
    Peer("zstd", "zstandard", ("zstandard",), "zstandard", (-7, 22), 3, calls.zstandard_compress, calls.zstandard_decompress,
         calls.zstandard_writer, calls.zstandard_reader, parallel=("memory", "file")),
    Peer("zstd", "cramjam", ("cramjam",), "cramjam", (-7, 22), 11, calls.cramjam_zstd, calls.cramjam_unzstd),
    Peer("lz4", "lz4", ("lz4.frame",), "lz4", (-64, 12), 1, calls.lz4_compress, calls.lz4_decompress,
         calls.lz4_writer, calls.lz4_reader),
    Peer("gzip", "stdlib", ("gzip",), "", (0, 9), 9, calls.stdlib_compress, calls.stdlib_decompress,
         calls.stdlib_writer, calls.stdlib_reader, extra=""),
    Peer("gzip", "isal", ("isal",), "isal", (0, 3), 2, calls.isal_compress, calls.isal_decompress,
         calls.isal_writer, calls.isal_reader, parallel=("file",)),
    Peer("gzip", "zlib-ng", ("zlib_ng",), "zlib-ng", (0, 9), 6, calls.zlib_ng_compress, calls.zlib_ng_decompress,
         calls.zlib_ng_writer, calls.zlib_ng_reader, parallel=("file",)),
    Peer("blosc2", "blosc2", ("blosc2",), "blosc2", (0, 9), 5, calls.blosc2_compress, calls.blosc2_decompress,
         parallel=("memory", "file"), options={"codec": _SHUFFLED}, most_bytes=_BLOSC_BYTES,
         own_container=True),
)  # fmt: skip


def peer(compressor: str | None, library: str | None) -> Peer | None:
    """The library's compressor of that name; None for Tare's own and for what is not known.

    >>> peer("gzip", "isal").levels, peer("blosc2", None).name, peer("zstd", None)
    ((0, 3), 'blosc2', None)
    """
    return next(
        (
            one
            for one in PEERS
            if one.compressor == compressor and (library == one.name or (not library and one.own_container))
        ),
        None,
    )


def library_names(compressor: str) -> list[str]:
    """Libraries of a compressor, Tare first if it has it.

    >>> library_names("lz4"), library_names("blosc2")
    (['tare', 'lz4'], ['blosc2'])
    """
    from tare.compress import COMPRESSORS

    own = ["tare"] if any(known.name == compressor for known in COMPRESSORS) else []
    return own + [one.name for one in PEERS if one.compressor == compressor]
