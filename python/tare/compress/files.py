"""Compressed files as file objects."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, cast, overload

from tare.compress.facts import Info
from tare.compress.names import COMPRESSORS, check_counts, parse, refuse_auto
from tare.compress.reading import RawFile, ReadFile, info_of, reading_options
from tare.compress.text import TextFile
from tare.compress.writing import WriteFile
from tare.errors import UsageError

if TYPE_CHECKING:
    from typing import TypedDict

    from typing_extensions import Unpack  # in the standard library from 3.12 on, with `Buffer`

    Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]

    class _Options(TypedDict, total=False):
        """The keywords of `open`."""

        threads: int | None
        chunk_size: int | None
        layout: str | None
        checksum: bool
        index: bool
        content_size: int | None
        memory_limit: int | None
        strict: bool
        max_output: int | None
        max_window: int
        build_index: bool
        encoding: str | None
        newline: str | None


__all__ = ["ReadFile", "TextFile", "WriteFile", "info", "open", "open_reader"]

_SUFFIXES = {".bgz": "gzip"} | {known.extension: known.name for known in COMPRESSORS if known.extension}
_READS: dict[str, Any] = {"strict": False, "max_output": None, "max_window": 1 << 27, "build_index": False}
_WRITES: dict[str, Any] = {
    "chunk_size": None,
    "layout": None,
    "checksum": True,
    "index": False,
    "content_size": None,
    "memory_limit": None,
}


@overload
def open(
    path: Path | BinaryIO,
    mode: Literal["rb"] = "rb",
    compressor: str | None = None,
    **options: Unpack[_Options],
) -> ReadFile: ...
@overload
def open(
    path: Path | BinaryIO,
    mode: Literal["wb", "xb"],
    compressor: str | None = None,
    **options: Unpack[_Options],
) -> WriteFile: ...
@overload
def open(
    path: Path | BinaryIO,
    mode: Literal["rt", "wt", "xt"],
    compressor: str | None = None,
    **options: Unpack[_Options],
) -> TextFile: ...
@overload
def open(
    path: Path | BinaryIO, mode: str, compressor: str | None = None, **options: Unpack[_Options]
) -> ReadFile | WriteFile | TextFile: ...
def open(  # noqa: PLR0913 - each keyword is one the containers have
    path: Path | BinaryIO,
    mode: str = "rb",
    compressor: str | None = None,
    *,
    threads: int | None = None,
    chunk_size: int | None = None,
    layout: str | None = None,
    checksum: bool = True,
    index: bool = False,
    content_size: int | None = None,
    memory_limit: int | None = None,
    strict: bool = False,
    max_output: int | None = None,
    max_window: int = 1 << 27,
    build_index: bool = False,
    encoding: str | None = None,
    newline: str | None = None,
) -> ReadFile | WriteFile | TextFile:
    r"""Open a compressed file.

    What is written to a path stands under a temporary name beside it until the file is closed;
    left by an exception, or collected without being closed, it is gone. A file object that was
    passed in stays open; what was begun in it is then refused by every reader.

    Args:
        path: A path, or an open binary file, pipe or socket file, at which the stored bytes begin.
        mode: ``rb``, ``wb``, ``xb`` (only if nothing is there), or ``rt``, ``wt``, ``xt`` for text.
            There is no appending: write a second file and join them.
        compressor: Id such as ``zstd:3`` or ``gzip:6,layout=members``. Writing goes by the path's
            ending if none is named, else ``zstd:3``; reading tells by the first bytes, and a
            compressor that is named must agree with them. A path that ends as a compressor's
            files do and holds plain bytes is `Malformed`, or `Truncated` if it is empty: ``none``
            reads it as it is. ``zlib`` streams are read where they are named so, and never written.
        threads: How many may work; by default all cores, at most 16. The bytes do not depend on it.
        chunk_size: Plain bytes that one thread takes at once; by default 1 to 4 MiB.
        layout: ``seekable`` (the default), ``single``: one frame or member, for readers that stop
            after the first; ``members``: of gzip, one a chunk.
        checksum: Whether zstd and lz4 keep a checksum of the content.
        index: Whether ``bgzip``'s index, ``.gzi``, is written beside the path; of gzip's layout
            ``seekable``. For a file object it is in ``summary.index`` after `close`.
        content_size: Plain bytes that will be written, where that is known; other than so many
            is an error.
        memory_limit: Most bytes for buffers and contexts when writing.
        strict: Whether an end that nothing proves to be the end is an error.
        max_output: Most plain bytes to read; no limit by default, since memory is bounded.
        max_window: Largest zstd window to read, in bytes.
        build_index: Whether finding the chunks for `seek` may decode the file once.
        encoding: Of text; by default UTF-8.
        newline: Of text, as in `io.open`.

    Raises:
        UsageError: A mode, compressor or option that does not exist or does not fit the mode.
        FileExistsError: Mode ``x``, and something is there.
        OSError: As the operating system says.
        Truncated, Malformed, Unsupported: Not what it should be; most are told while reading.

    >>> import io
    >>> file = io.BytesIO()
    >>> with open(file, "wb", "lz4", threads=2) as packed:
    ...     packed.write(b"a,b\n1,2\n")
    8
    >>> _ = file.seek(0)
    >>> with open(file) as packed:
    ...     packed.readline(), packed.read()
    (b'a,b\n', b'1,2\n')
    """
    if mode not in ("rb", "wb", "xb", "rt", "wt", "xt"):
        hint = " to append, write a second file and join them;" if "a" in mode else ""
        raise UsageError(f"no mode {mode[:20]!r};{hint} there are rb, wb, xb, rt, wt and xt")
    text = mode[1] == "t"
    if not text and (encoding is not None or newline is not None):
        raise UsageError(f"encoding and newline belong to text modes, not to {mode!r}")
    given = {
        "chunk_size": chunk_size, "layout": layout, "checksum": checksum, "index": index,
        "content_size": content_size, "memory_limit": memory_limit, "strict": strict, "max_output": max_output,
        "max_window": max_window, "build_index": build_index,
    }  # fmt: skip
    mine, others = (_READS, _WRITES) if mode[0] == "r" else (_WRITES, _READS)
    for name, default in others.items():
        if given[name] != default:
            raise UsageError(f"{name} does not belong to mode {mode!r}")
    check_counts(
        threads=threads,
        chunk_size=chunk_size,
        content_size=content_size,
        memory_limit=memory_limit,
        max_output=max_output,
        max_window=max_window,
    )
    if compressor is not None:
        refuse_auto(compressor)
    options = {"threads": threads} | {name: given[name] for name in mine}
    file: ReadFile | WriteFile
    if mode[0] == "r":
        file = ReadFile(RawFile(path, reading_options(compressor=compressor, **options)))
    else:
        file = WriteFile(path, mode[0] + "b", compressor or _by_suffix(path), options)
    return TextFile(file, encoding=encoding or "utf-8", newline=newline, mode=mode) if text else file


def _by_suffix(path: Path | BinaryIO) -> str:
    if isinstance(path, str | bytes | os.PathLike):
        suffix = os.path.splitext(os.fsdecode(path))[1].lower()
        return _SUFFIXES.get(suffix, "zstd:3")
    return "zstd:3"


def open_reader(
    path_or_file: Path | BinaryIO,
    name: str | None = None,
    *,
    threads: int | None = None,
    read_ahead: bool = True,
) -> BinaryIO:
    r"""Open a compressed file for reading, as `open` does.

    Args:
        path_or_file: A path, or an open binary file, pipe or socket file.
        name: The compressor's name, or ``zlib``; ``none`` gives the bytes themselves; None to tell.
        threads: How many may work; by default all cores, at most 16.
        read_ahead: Whether to decode more than was asked for, in parallel; never done for sockets.

    Raises:
        Truncated, Malformed, ChecksumMismatch: From the reads, as in `decompress`.
        OSError: The file cannot be opened or read.

    >>> import io
    >>> from tare.compress import compress
    >>> reader = open_reader(io.BytesIO(compress(b"a,b\n1,2\n")), "zstd")
    >>> reader.readline(), reader.read()
    (b'a,b\n', b'1,2\n')
    """
    if name not in (None, "zlib"):
        name = parse(name)[0]
    check_counts(threads=threads)
    options = reading_options(compressor=name, threads=threads, read_ahead=read_ahead)
    return cast(BinaryIO, ReadFile(RawFile(path_or_file, options)))


def info(path: Path | BinaryIO) -> Info:
    """What a compressed file is, without decoding it: of its bytes only headers are read.

    All fields are known of zstd, lz4, BGZF and files of no compressor, but for the plain size
    where frames do not say it and no index does. Of other gzip members, bz2 and xz only decoding
    would tell: their ``layout``, ``units``, ``plain_size`` and ``complete`` are None.

    Args:
        path: The path, or an open binary file that can be sought; it is put back where it was.

    Raises:
        Truncated, Malformed, Unsupported: Not what its compressor writes, as far as headers show it.
        OSError: It cannot be opened or read.

    >>> import io
    >>> from tare.compress import compress
    >>> found = info(io.BytesIO(compress(b"plain" * 1000, "zstd")))
    >>> found.container, found.units, found.plain_size, found.complete
    ('zstd', 1, 5000, 'proven')
    """
    return info_of(path)
