"""Compressors behind the codec's ``+zstd:3``: one-shot, and readers that stream.

Reading is strict for every compressor: what is cut is `Truncated`, what follows the last
frame, member or stream is `Malformed`, and several of them are read whole. Streams are
opened with `open_reader`, in memory that does not depend on their length.
"""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, cast

from tare import _streams, _tare
from tare.errors import UsageError

if TYPE_CHECKING:
    from typing_extensions import Buffer  # in the standard library from 3.12 on

__all__ = [
    "COMPRESSORS",
    "Compressor",
    "compress",
    "compressor",
    "decompress",
    "open_reader",
    "parse",
    "sniff",
]


@dataclass(frozen=True)
class Compressor:
    """One compressor: its name, its levels, and how files of it are told.

    Args:
        name: Name in ids and on the command line.
        levels: Lowest and highest level, both allowed; 0 is no level where the lowest is
            negative; None where there are no levels.
        default_level: Level of an id without one.
        extension: File ending, with the dot; empty for none.
        magic: First bytes of its files; empty for none.
        core: Whether the compiled core does it; the standard library does the others.
    """

    name: str
    levels: tuple[int, int] | None
    default_level: int | None
    extension: str
    magic: bytes
    core: bool = True

    def check(self, level: int | None) -> int | None:
        """Give ``level``, or the default level for None.

        Raises:
            UsageError: A level out of range.

        >>> compressor("gzip").check(None)
        6
        """
        if self.levels is None:
            if level is not None:
                raise UsageError(f"{self.name} takes no level", format=self.name)
            return None
        if level is None:
            return self.default_level
        low, high = self.levels
        if not low <= level <= high or (level == 0 and low < 0):
            but = ", not 0" if low < 0 else ""
            raise UsageError(
                f"{self.name} has levels {low} to {high}{but}; no level {level}", format=self.name
            )
        return level


COMPRESSORS: tuple[Compressor, ...] = (
    Compressor("none", None, None, "", b""),
    Compressor("zstd", (-7, 22), 3, ".zst", b"\x28\xb5\x2f\xfd"),
    Compressor("lz4", (-64, 12), 1, ".lz4", b"\x04\x22\x4d\x18"),
    Compressor("gzip", (0, 12), 6, ".gz", b"\x1f\x8b\x08"),
    Compressor("bz2", (1, 9), 9, ".bz2", b"BZh", core=False),
    Compressor("xz", (0, 9), 6, ".xz", b"\xfd7zXZ\x00", core=False),
)
_BY_NAME = {known.name: known for known in COMPRESSORS}


def compressor(name: str) -> Compressor:
    """Find a compressor by its name.

    Raises:
        UsageError: There is none of that name; near names are listed.

    >>> compressor("zstd").extension
    '.zst'
    """
    found = _BY_NAME.get(name)
    if found is None:
        import difflib

        near = difflib.get_close_matches(name, _BY_NAME, cutoff=0.4)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(_BY_NAME)}"
        raise UsageError(f"no compressor {name[:80]!a}; {hint}")
    return found


def parse(id: str) -> tuple[str, int | None]:
    """Split a compressor's id into its name and level, the default level if it names none.

    Raises:
        UsageError: No such compressor or level.

    >>> parse("zstd"), parse("lz4:-4"), parse("none")
    (('zstd', 3), ('lz4', -4), ('none', None))
    """
    name, colon, text = id.partition(":")
    found = compressor(name)
    if not colon:
        return found.name, found.check(None)
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 3):
        raise UsageError(f"the level in {id[:80]!a} is no whole number", format=name)
    return found.name, found.check(int(text))


def compress(data: Buffer, id: str = "zstd:3") -> bytes:
    """Compress into one frame, member or stream that stock tools read.

    Args:
        data: Any contiguous bytes-like object.
        id: Compressor and level: ``zstd:3``, ``lz4``, ``gzip:9``, ``bz2``, ``xz:6``, ``none``.

    Raises:
        UsageError: No such compressor or level.

    >>> decompress(compress(b"weigh" * 1000, "lz4:9"), "lz4") == b"weigh" * 1000
    True
    """
    name, level = parse(id)
    if _BY_NAME[name].core:
        return _tare.compress(name, data, level)
    return _streams.compress(name, data, level)


def decompress(data: Buffer, name: str, *, max_bytes: int | None = None) -> bytes:
    """Decompress all frames, members or streams of ``data``.

    Args:
        data: Any contiguous bytes-like object; it must end where the last frame ends.
        name: The compressor's name; a level in it is ignored.
        max_bytes: Longest result allowed, in bytes; by default as much as there is memory.

    Raises:
        Truncated: More bytes could make ``data`` valid.
        Malformed: Not of that compressor, damaged, or followed by other bytes.
        ChecksumMismatch: Well formed, but damaged.
        Limit: The result would be longer than ``max_bytes``.
        UsageError: No such compressor.

    >>> decompress(compress(b"plain", "xz"), "xz")
    b'plain'
    """
    name, _level = parse(name)
    if _BY_NAME[name].core:
        return _tare.decompress(name, data, max_bytes)
    return _streams.decompress(name, data, max_bytes)


def sniff(head: bytes) -> str | None:
    """Tell the compressor from a file's first bytes; None if they are of no compressor.

    >>> sniff(compress(b"", "gzip")), sniff(b"a,b,c")
    ('gzip', None)
    """
    for known in COMPRESSORS:
        if known.magic and head.startswith(known.magic):
            # "BZh" alone begins ordinary texts too; a bzip2 file goes on with its block size.
            if known.name == "bz2" and head[3:4] not in tuple(b"123456789"[i : i + 1] for i in range(9)):
                continue
            return known.name
    return None


def open_reader(path_or_file: str | os.PathLike[str] | BinaryIO, name: str) -> BinaryIO:
    r"""Open a compressed file for reading its plain bytes from front to back.

    Memory is bounded by the compressor's window (at most 128 MiB), not by the file. A file
    object that was passed in stays open when the reader is closed; it must end where the last
    frame ends.

    Args:
        path_or_file: A path, or an open binary file, pipe or socket file.
        name: The compressor's name; ``none`` gives the bytes themselves.

    Raises:
        Truncated, Malformed, ChecksumMismatch: From the reads, as in `decompress`.
        OSError: The file cannot be opened or read.

    >>> import io
    >>> reader = open_reader(io.BytesIO(compress(b"a,b\n1,2\n", "zstd")), "zstd")
    >>> reader.readline(), reader.read()
    (b'a,b\n', b'1,2\n')
    """
    name, _level = parse(name)
    if isinstance(path_or_file, str | os.PathLike):
        if name == "none":
            return open(path_or_file, "rb")
        file = cast(BinaryIO, open(path_or_file, "rb", buffering=0))
        raw = _streams.Reader(file, name, owned=True)
    else:
        raw = _streams.Reader(path_or_file, name, owned=False)
    return io.BufferedReader(raw, buffer_size=_streams.STEP_BYTES)
