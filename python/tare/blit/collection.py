"""Collections: many documents in one `.blits` file, appended to, read by number."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, overload

from tare._tare import BlitPath, BlitReader, BlitView, BlitWriter, blit_repair
from tare.blit.support import Summary
from tare.errors import DecodeError, Limit, Unsupported, UsageError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tare.blit.options import Writing

__all__ = ["Collection", "open_collection", "repair"]

_MODES = ("r", "a", "w", "x")
_CHUNK_BYTES = 262_144
_BLOCK_BYTES = 1 << 24

_MOST_DOCUMENTS = 1 << 28
"""Most documents that one list of values is made of; of views, which are larger, a sixteenth.

A few bytes can say that there are four billion like documents."""


class SupportsRead(Protocol):
    """A file that is read as bytes."""

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes; none at the end."""


def open_collection(
    path: str | bytes | os.PathLike[str] | os.PathLike[bytes],
    mode: str = "r",
    *,
    compressor: str | None = None,
    chunk_size: int = _CHUNK_BYTES,
    mmap: bool = True,
    **options: Unpack[Writing],
) -> Collection:
    """Open a collection of documents.

    Args:
        path: The file, usually ``NAME.blits``.
        mode: ``r`` reads, ``a`` goes on behind what is committed, ``w`` starts one that takes the place
            of what is there with the first commit, ``x`` starts one where there must be none. A new
            one that is closed without a commit leaves no file.
        compressor: Of chunks that are written: ``zstd``, ``zstd:9``, ``lz4``; None leaves them as they are.
        chunk_size: Bytes of source in a chunk.
        mmap: Whether the file is mapped when it is read. Not for files that others may cut.
        options: Of documents that are written: those of `Writing` but canonical, pool and checksum; every
            chunk has a checksum.

    Raises:
        UsageError: No such mode, compressor or option; it is being appended to. No file is touched.
        Truncated: The last commit was torn: `repair` helps.
        DecodeError: It is no collection, or damaged; rule and offset are given.
        OSError: The file cannot be opened.

    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "flights.blits")
    >>> with open_collection(path, "w") as flights:
    ...     flights.append({"id": 1, "from": "JFK"})
    ...     flights.append_json('{"id": 2, "from": "LGA"}')
    >>> flights = open_collection(path)
    >>> len(flights), flights[1]["from"], [flight["id"] for flight in flights]
    (2, 'LGA', [1, 2])
    >>> folder.cleanup()
    """
    if mode not in _MODES:
        raise UsageError(f"mode is one of {', '.join(_MODES)}, not {mode!r}")
    place = os.fsdecode(path)
    try:
        if mode != "r":
            return Collection(place, None, BlitWriter(place, mode, compressor, chunk_size, **options))
        if options:
            raise UsageError(f"{', '.join(options)}: of documents that are written, not read")
        return Collection(place, BlitReader(place, mmap), None)
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = place
        raise


class Collection(Sequence[Any]):
    """Many documents in one file; made by `open_collection`.

    One that is read is a sequence of views. One that is written takes documents and keeps them when
    they are committed, which leaving a ``with`` block without an exception does; with one, what was
    not committed is cut off.
    """

    __slots__ = ("_document", "_place", "_reader", "_writer", "path")

    def __init__(self, path: str, reader: BlitReader | None, writer: BlitWriter | None) -> None:
        self.path = path
        self._place = os.path.abspath(path)
        self._reader = reader
        self._writer = writer
        # No method of this very object, which would be kept alive by itself, its lock with it.
        self._document: Callable[[Any], Any] | None = None if reader is None else reader.document

    # --- reading ----------------------------------------------------------------

    def __len__(self) -> int:
        """Documents; in a collection that is written also those not committed yet."""
        return len(self._writer if self._writer is not None else self._read())

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        """A document as a view, from the end with a negative number; of a slice a list of them.

        Raises:
            Limit: A slice of more than 2^24 documents: iterate over the collection instead.
        """
        document = self._document
        if document is not None and index.__class__ is not slice:
            return document(index)
        reader = self._read()
        if not isinstance(index, slice):
            return reader.document(index)
        indices = range(*index.indices(len(reader)))
        if len(indices) > _MOST_DOCUMENTS >> 4:
            raise Limit(
                f"a list of {len(indices):,} views; at most {_MOST_DOCUMENTS >> 4:,} are made at once: iterate"
                " over the collection instead",
                format="blit",
            )
        return [reader.document(i) for i in indices]

    def __iter__(self) -> Iterator[Any]:
        """Every document as a view."""
        reader = self._read()
        return map(reader.document, range(len(reader)))

    def views(self) -> Iterator[BlitView]:
        """Every document as a view, one that is a plain value too: as exact as it is stored."""
        reader = self._read()
        return map(reader.view, range(len(reader)))

    def get(self, index: int, path: str | BlitPath, default: Any = None) -> Any:
        """The value at a JSON pointer of a document.

        Args:
            index: The document, from the end with a negative number.
            path: A pointer; a `Path` is parsed once for many documents.
            default: Where there is no such document, or it has no such value.
        """
        return self._read().find(index, path, default)

    def column(self, path: str | BlitPath, default: Any = None) -> list[Any]:
        """The values at a JSON pointer, one of each document; ``default`` where there is none.

        Raises:
            Limit: More than 2^28 documents: use `get` of each.
        """
        reader = self._read()
        if len(reader) > _MOST_DOCUMENTS:
            raise Limit(
                f"a list of {len(reader):,} values; at most {_MOST_DOCUMENTS:,} are made at once: use get() of each",
                format="blit",
            )
        parsed = path if isinstance(path, BlitPath) else BlitPath(path)
        return [reader.find(i, parsed, default) for i in range(len(reader))]

    def validate(self) -> Summary:
        """Look at every byte.

        Returns:
            What was seen, of all commits.

        Raises:
            DecodeError: The first rule that is broken, with the byte in the file.
        """
        return Summary(**self._read().validate())

    def account(self) -> dict[str, Any]:
        """Where the bytes go, counted in the memory of one chunk.

        Returns:
            ``bytes``, ``documents``, ``commits``, ``chunks``, how many of these are ``compressed``, ``keys``,
            ``shapes``; ``stored``, bytes of the file by what they are; ``raw``, bytes of all chunks before
            they were compressed; ``parts``, these by what they are; ``kinds``, how many lists of each
            kind there are, and their bytes.

        Raises:
            DecodeError: It is damaged.
        """
        return self._read().account()

    @property
    def commits(self) -> int:
        """How many commits there are."""
        return self._read().commits

    @property
    def chunks(self) -> int:
        """How many chunks there are."""
        return self._read().chunks

    def compact(
        self,
        path: str | bytes | os.PathLike[str] | os.PathLike[bytes],
        keep: Callable[[Any], object] | None = None,
        *,
        compressor: str | None = None,
        **options: Unpack[Writing],
    ) -> int:
        """Write the documents into a collection of one commit.

        Names that are there twice and halves of surrogate pairs are kept where they were.

        Args:
            path: Where. It may be the file itself, and then its newest documents are those that are
                written, also ones that were committed since it was opened here.
            keep: Called with the view of each document: false leaves it out.
            compressor: As of `open_collection`.
            options: As of `open_collection`.

        Returns:
            Documents kept.

        Raises:
            UsageError: What is there is being appended to.
            OSError: The file cannot be written.
            DecodeError: It is damaged. What was there is untouched by any error.
        """
        reader = self._read()
        place = os.fsdecode(path)
        is_own = os.path.exists(place) and _is_same(place, self._place)
        # The writer has the lock of what is there until its commit takes the place of that.
        writer = BlitWriter(place, "w", compressor, _CHUNK_BYTES, **options)
        try:
            if is_own:
                reader = BlitReader(place, False)
            writer.keep_as(reader)
            for i in range(len(reader)):
                if keep is None or keep(reader.document(i)):
                    writer.append_from(reader, i)
            return writer.commit()
        finally:
            writer.close()

    def _read(self) -> BlitReader:
        if self._reader is not None:
            return self._reader
        if self._writer is None:
            raise self._closed()
        raise UsageError(f"{self.path}: it is open to be written; open it with mode='r' to read")

    def _closed(self) -> UsageError:
        return UsageError(f"{self.path}: the collection is closed")

    # --- writing ----------------------------------------------------------------

    def append(self, obj: Any, *, default: Callable[[Any], Any] | None = None) -> None:
        """Append a Python object, or a view.

        Args:
            obj: What `tare.blit.encode` takes.
            default: As of `tare.blit.encode`.

        Raises:
            Unsupported: It has no place in a document; nothing is appended.
            OSError: The file cannot be written.
        """
        self._write().push(obj, default)

    def append_json(self, text: bytes | bytearray | memoryview | str) -> None:
        """Append the value of a JSON text.

        Raises:
            Malformed, Truncated: Not JSON, with the byte in the text; nothing is appended.
            OSError: The file cannot be written.
        """
        self._write().append_json(text)

    def extend_ndjson(
        self, source: bytes | bytearray | memoryview | SupportsRead, *, threads: int | None = None
    ) -> int:
        r"""Append the value of each line of JSON text; blank lines are left out.

        The file is the same for every number of threads, and as by `append_json` of each line.
        Memory is that of 16 MiB of text, or of one line that is longer, and of the chunks in work.

        Args:
            source: The text, or a file that was opened to be read as bytes.
            threads: How many encode; None for all cores, at most 16.

        Returns:
            How many there were.

        Raises:
            Malformed, Truncated: A line is not JSON: ``offset`` is its byte in the text, and the
                message says which line; the lines before it are appended.
            OSError: The file cannot be written.

        >>> import io, os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> with open_collection(os.path.join(folder.name, "a.blits"), "w") as flights:
        ...     flights.extend_ndjson(io.BytesIO(b'{"id": 1}\n{"id": 2}\n'))
        2
        >>> folder.cleanup()
        """
        if threads is not None and threads < 1:
            raise UsageError(f"threads is at least 1, not {threads}")
        append = self._write().append_ndjson
        documents, lines, done = 0, 0, 0
        for block in _blocks(source):
            try:
                documents += append(block, threads)
            except (DecodeError, Limit, Unsupported) as error:
                at = getattr(error, "offset", None)
                if at is not None:
                    line = lines + block.count(b"\n", 0, at) + 1
                    error.args = (f"line {line:,}: {error}",)
                    error.offset = done + at
                raise
            lines += block.count(b"\n")
            done += len(block)
        return documents

    def extend(self, objects: Iterable[Any], *, default: Callable[[Any], Any] | None = None) -> None:
        """Append each object, as `append`."""
        push = self._write().push
        for obj in objects:
            push(obj, default)

    def commit(self) -> int:
        """Make sure that all documents so far survive a crash; until then nobody else sees them.

        Returns:
            Documents that are committed.
        """
        return self._write().commit()

    def rollback(self) -> None:
        """Drop all documents since the last `commit`."""
        self._write().rollback()

    def close(self) -> None:
        """Let the file go; what was not committed is cut off. Documents that were read stay readable.

        Raises:
            RuntimeError: In ``default`` of `append`.
        """
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None
        self._document = None

    def __enter__(self) -> Collection:  # noqa: PYI034 - typing.Self is newer than our oldest Python
        if self._reader is None and self._writer is None:
            raise self._closed()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._writer is not None and kind is None:
                self.commit()
        finally:
            self.close()

    def __repr__(self) -> str:
        state = "written" if self._writer is not None else "read" if self._reader is not None else "closed"
        return f"<tare.blit.Collection {self.path!r}, {state}>"

    def _write(self) -> BlitWriter:
        if self._writer is not None:
            return self._writer
        if self._reader is None:
            raise self._closed()
        raise UsageError(f"{self.path}: it is open to be read; open it with mode='a' to append")


def _is_same(path: str, other: str) -> bool:
    """Whether two names are those of one file, or would be."""
    if os.path.realpath(path) == os.path.realpath(other):
        return True
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False


def _pieces(source: Any) -> Iterator[Any]:
    """A text or what a file gives, some mebibytes at a time."""
    read = getattr(source, "read", None)
    if read is not None:
        yield from iter(lambda: read(_BLOCK_BYTES), b"")
        return
    view = memoryview(source).cast("B")
    for at in range(0, len(view), _BLOCK_BYTES):
        yield bytes(view[at : at + _BLOCK_BYTES])


def _blocks(source: Any) -> Iterator[bytes]:
    """The same, as whole lines."""
    rest: list[bytes] = []
    for block in _pieces(source):
        if not isinstance(block, bytes):
            raise UsageError("a file that is read as text: open it with 'rb'")
        end = block.rfind(b"\n") + 1
        if end == 0:
            rest.append(block)
            continue
        whole = block if end == len(block) and not rest else b"".join((*rest, memoryview(block)[:end]))
        rest = [block[end:]] if end < len(block) else []
        yield whole
    if rest:
        yield b"".join(rest)


def repair(path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> tuple[int, int]:
    """Cut a collection back to its last whole commit: a crash while appending leaves more.

    Returns:
        Documents that there are, and bytes that were cut off.

    Raises:
        Malformed: There is no whole commit; nothing is changed.
        UsageError: It is being appended to.
        OSError: The file cannot be written.
    """
    return blit_repair(os.fsdecode(path))
