"""Files of one format read as one dataset: all of them, or contiguous blocks from several where that is too much.

CSV and lines of JSON are joined as text, so that a column has one type in all files; of other formats each file is read,
and the tables or lists are joined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tare import kinds
from tare.datasets import csvload, csvs, csvstream, documents, encodings, opening
from tare.datasets.file_sets import FileSet
from tare.datasets.opening import Loaded, Options
from tare.datasets.source import HEAD_BYTES, Source, find, printable
from tare.datasets.tables import arrow_errors
from tare.errors import TareError, UsageError
from tare.formats.csv_rows import first_row

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Piece", "load_file_set", "pieces"]

_STRETCHES = 8
# As many files are opened; of more some are taken, as of too many bytes.
_MOST_FILES = 512
# So much is nearly all: then it may as well be all.
_NEARLY_ALL = 0.8
# What a part is read of to tell how many bytes in memory a byte of a file becomes.
_PROBE_BYTES = 1 << 20
_JOINED = ("csv", "ndjson")
# Files that are not read, of which the columns are looked at.
_LOOKED_AT = 64
_SHOWN_COLUMNS = 4


@dataclass(frozen=True)
class Piece:
    """A stretch of a file.

    Args:
        index: Place of the file.
        start: First byte of it.
        end: Byte behind its last.
    """

    index: int
    start: int
    end: int


def load_file_set(files: FileSet, options: Options, format: str | None = None) -> tuple[Source, Loaded]:
    """Reads files as one dataset.

    Args:
        files: The files.
        options: How they are to be read.
        format: Id of their format, where neither bytes nor names tell it.

    Returns:
        The first file as what the others are like, under the name of all; and what was read, with how much that is.

    Raises:
        UsageError: Their columns, or the formats that their bytes tell, differ.
        TareError: A file is not what it should be; it is named.
    """
    reader = _Reader(files, options, format)
    return reader.first, reader.load()


def pieces(sizes: Sequence[int], wanted: float) -> list[Piece]:
    """Returns contiguous blocks of about so many bytes, spread over files that are thought of as one.

    Small files are taken whole, several in a row; of large ones stretches.

    Args:
        sizes: The bytes of each file.
        wanted: Bytes of all blocks together.

    >>> pieces([100, 100], 1000)
    [Piece(index=0, start=0, end=100), Piece(index=1, start=0, end=100)]
    >>> [(one.index, one.start, one.end) for one in pieces([4000, 4000], 800)][::3]
    [(0, 0, 100), (0, 3000, 3100), (1, 2000, 2100)]
    >>> [one.index for one in pieces([10] * 80, 160)]
    [0, 1, 10, 11, 20, 21, 30, 31, 40, 41, 50, 51, 60, 61, 70, 71]
    """
    total = sum(sizes)
    if wanted >= _NEARLY_ALL * total and len(sizes) <= _MOST_FILES:
        return [Piece(index, 0, size) for index, size in enumerate(sizes)]
    length, each = max(1, int(min(wanted, total) / _STRETCHES)), _MOST_FILES // _STRETCHES
    found: dict[tuple[int, int], Piece] = {}
    for stretch in range(_STRETCHES):
        begin, at, taken = stretch * total // _STRETCHES, 0, 0
        for index, size in enumerate(sizes):
            start, at = at, at + size
            small = size <= length
            if at <= begin or (small and start < begin) or taken == each:
                continue
            if start >= begin + length:
                break
            lo = max(0, begin - start)
            one = Piece(index, 0, size) if small else Piece(index, lo, min(size, begin + length - start))
            found.setdefault((index, one.start), one)
            taken += 1
    return list(found.values())


class _Reader:
    """Reads the files of a set.

    Args:
        files: The files.
        options: How they are to be read.
        format: Id of their format, where neither bytes nor names tell it.
    """

    def __init__(self, files: FileSet, options: Options, format: str | None) -> None:
        self.files, self.options, self.asked = files, options, format
        self.bound = min(filter(None, (options.max_bytes, options.enough_bytes)), default=0)
        first = find(files.paths[0], format=format, encoding=options.encoding)
        self.lines = first.format
        if first.format == "json" and self._is_lines():
            self.lines = "ndjson"
        self.first = replace(first, name=files.name, format=self.lines, notes=[*first.notes, *files.notes])
        self._opened: list[str] = []

    def load(self) -> Loaded:
        """Returns what was read."""
        if self.lines in _JOINED and self.first.reader is None:
            return self._joined()
        return self._each()

    def _is_lines(self) -> bool:
        """Whether another file is lines of JSON: one of a single line looks like a document."""
        return any(
            self._source(index).format == "ndjson" for index in range(1, min(len(self.files.paths), 4))
        )

    def _source(self, index: int) -> Source:
        """A file; refused if its bytes are of another format than those of the first."""
        path = self.files.paths[index]
        source = find(path, format=self.asked, encoding=self.options.encoding)
        if source.format == "json" and self.lines == "ndjson":
            source.format = "ndjson"
        if source.format != self.lines and not (source.format == "ndjson" and self.lines == "json"):
            raise UsageError(
                f"{printable(path, 400)} is {source.format}, and {printable(self.files.paths[0], 400)} is "
                f"{self.lines}: files of one format are measured together"
            )
        return source

    # --- text -------------------------------------------------------------------

    def _joined(self) -> Loaded:
        """CSV or lines of JSON as one text."""
        chosen = self._pieces(self._text_factor()) if self.bound else pieces(self.files.sizes, float("inf"))
        header, texts, taken = b"", [], 0.0
        for one in chosen:
            text, stored = self._text(one)
            taken += stored
            if self.lines == "csv":
                header, text = self._without_header(one, text, header)
            texts.append(text)
        self._compare_headers({one.index for one in chosen}, header)
        data = header + b"".join(texts)
        whole = replace(
            self.first, path=None, data=data, size=len(data), compressors=(), head=data[:HEAD_BYTES],
            identity=None, above=b"", skipped=b"", said=self.first.delimiter if self.lines == "csv" else "",
        )  # fmt: skip
        try:
            loaded = opening.load(whole, Options(columns=self.options.columns))
        except TareError:
            self._find_fault()
            raise
        self.first.plain = whole.plain
        return replace(loaded, partial=self._partial(loaded, taken, len(chosen)), plain=whole.plain)

    def _text_factor(self) -> float:
        """Bytes in memory that a stored byte becomes, judged by the beginning of the first file."""
        source = self._source(0)
        data, share = source.read(_PROBE_BYTES)
        stored = max(1.0, share * source.size)
        if self.lines == "csv":
            text = csvs.text_of(source, data, self.options.encoding, final=share == 1.0)
            style = csvs.settled(source, text, final=share == 1.0)
            rows = text if share == 1.0 else text[: csvs.last_row(text, style)]
            made = float(csvs.parse(source, rows, style).nbytes) if rows else float(len(text))
            return made / max(1, len(rows)) * len(text) / stored
        text = encodings.to_utf8(source, data, self.options.encoding, final=share == 1.0)
        rows = text if share == 1.0 else text[: text.rfind(b"\n") + 1]
        made = float(kinds.resident_bytes(documents.parse_lines(source, rows))) if rows else 4.0 * len(text)
        return made / max(1, len(rows)) * len(text) / stored

    def _pieces(self, factor: float) -> list[Piece]:
        """What is read: all if that fits, else blocks; of files that cannot be read from within, their beginnings."""
        chosen = pieces(self.files.sizes, self.bound / max(factor, 1e-9))
        if self._seeks():
            return chosen
        length: dict[int, int] = {}
        for one in chosen:
            length[one.index] = length.get(one.index, 0) + one.end - one.start
        return [Piece(index, 0, size) for index, size in length.items()]

    def _seeks(self) -> bool:
        encoding = self.options.encoding
        plain = encoding is None or encodings.codecs_name(encoding) == "utf-8"
        return self.lines in _JOINED and plain and not self.first.compressors

    def _text(self, one: Piece) -> tuple[bytes, float]:
        """Whole rows of a piece in UTF-8, the header of the file's beginning with them; and the stored bytes that they are."""
        source = self._source(one.index)
        self._opened.append(self.files.paths[one.index])
        csv, whole = self.lines == "csv", one.end >= source.size
        if one.start:
            with source.naming(), open(self.files.paths[one.index], "rb") as file:
                file.seek(one.start)
                data = file.read(one.end - one.start)
            begin = csvstream.first_whole_row(data, source.delimiter or ",") if csv else data.find(b"\n") + 1
            text, share = data[begin:], (len(data) - begin) / max(1, source.size)
        else:
            limit = None if whole else max(4096, one.end)
            if limit is not None and source.compressors:
                limit *= (
                    8  # what a compressor's bytes are taken to stand for; the share tells how much was read
                )
            data, share = source.read(limit)
            whole = share == 1.0
            read = csvs.text_of if csv else encodings.to_utf8
            text = read(source, data, self.options.encoding, final=whole)
        if whole:
            return text if text.endswith(b"\n") else text + b"\n", share * source.size
        end = csvs.last_row(text) if csv else text.rfind(b"\n") + 1
        return text[:end], share * source.size * end / max(1, len(text))

    def _without_header(self, one: Piece, text: bytes, header: bytes) -> tuple[bytes, bytes]:
        """The header of all, and the rows of a piece; a file with another header is refused."""
        if one.start:
            return header, text
        own = text[: first_row(text)]
        if header and own.strip() != header.strip():
            raise self._differ(one.index, _names(header), _names(own))
        return header or own, text[len(own) :]

    def _compare_headers(self, read: set[int], header: bytes) -> None:
        """Refuses a file that was not read and has another header."""
        if self.lines != "csv" or self.first.compressors:
            return
        for index in range(min(len(self.files.paths), _MOST_FILES)):
            if index in read:
                continue
            source = self._source(index)
            own = csvs.text_of(source, source.head, self.options.encoding, final=False)
            own = own[: first_row(own)]
            if own.strip() != header.strip():
                raise self._differ(index, _names(header), _names(own))

    def _find_fault(self) -> None:
        """Reads each file alone, so that the error names the file and the place in it."""
        for path in self._opened:
            opening.load(find(path, format=self.asked, encoding=self.options.encoding), self.options)

    # --- other formats ----------------------------------------------------------

    def _each(self) -> Loaded:
        """Each file by itself, and then what was read in a row."""
        sizes = self.files.sizes
        limit = self.options.max_bytes
        share = 1.0 if limit is None else max(sizes[0] / sum(sizes), 1 / _STRETCHES)
        begun = self._one(0, None if limit is None else int(limit * share))
        several, taken = {0: begun}, _share(begun) * sizes[0]
        factor = kinds.resident_bytes(begun.value) / max(1.0, taken)
        chosen = self._pieces(factor) if limit is not None else pieces(sizes, float("inf"))
        for one in chosen:
            if one.index in several:
                continue
            fits = one.end >= sizes[one.index] and limit is not None
            bound = limit if fits or limit is None else max(1, int(factor * (one.end - one.start)))
            several[one.index] = found = self._one(one.index, bound)
            taken += _share(found) * sizes[one.index]
        if (
            _share(begun) < 1
            and len(chosen) == len(sizes)
            and all(one.end >= sizes[one.index] for one in chosen)
        ):
            several[0] = whole = self._one(0, limit)  # it was judged by its part, and all fits
            taken += (_share(whole) - _share(begun)) * sizes[0]
        several = dict(sorted(several.items()))
        notes = [note for found in several.values() for note in found.notes]
        self.first.notes += [note for note in dict.fromkeys(notes) if note not in self.first.notes]
        if all(found.kind == "table" for found in several.values()):
            value = self._table({index: found.value for index, found in several.items()})
            self._compare_schemas(set(several), value.column_names)
            loaded = Loaded(value, "table", None, self.first.notes)
        else:
            loaded = Loaded(list(_items(several.values())), "document", None, self.first.notes)
            loaded.plain = all(found.plain for found in several.values())
        if all(found.of_r is not None for found in several.values()):
            loaded.of_r = tuple(
                dict.fromkeys(path for found in several.values() for path in found.of_r or ())
            )
        return replace(loaded, partial=self._partial(loaded, taken, len(several)))

    def _compare_schemas(self, read: set[int], names: Sequence[str]) -> None:
        """Refuses a file of Parquet that was not read and has other columns: its footer tells; of very many some are looked at."""
        if self.lines != "parquet" or self.first.compressors or self.options.columns:
            return
        from pyarrow import parquet

        others = [index for index in range(len(self.files.paths)) if index not in read]
        for index in others[:: max(1, len(others) // _LOOKED_AT)]:
            source = self._source(index)
            with arrow_errors(source):
                own = parquet.read_schema(self.files.paths[index]).names
            if list(own) != list(names):
                raise self._differ(index, names, own)

    def _one(self, index: int, limit: int | None) -> Loaded:
        source = self._source(index)
        options = replace(self.options, max_bytes=limit, enough_bytes=None)
        loaded = opening.load(source, options)
        loaded.plain = loaded.plain or source.plain
        return loaded

    def _table(self, several: dict[int, pa.Table]) -> pa.Table:
        """The tables as one; columns that differ are refused, and a type that holds those of all files is noted."""
        import pyarrow as pa

        (first, table), *others = several.items()
        for index, other in others:
            if list(other.column_names) != list(table.column_names):
                raise self._differ(index, table.column_names, other.column_names, first)
        tables = [table, *(other for _, other in others)]
        schemas = [one.schema.remove_metadata() for one in tables]
        if all(schema.equals(schemas[0]) for schema in schemas):
            return pa.concat_tables([one.replace_schema_metadata(table.schema.metadata) for one in tables])
        try:
            joined = pa.concat_tables(tables, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            raise self._types_differ(several) from None
        changed = [
            name
            for place, name in enumerate(joined.column_names)
            if any(one.field(place).type != joined.schema.field(place).type for one in schemas)
        ]
        some = ", ".join(printable(name, 30) for name in changed[:_SHOWN_COLUMNS])
        self.first.notes.append(
            f"types differ between files, and one that holds all values was taken: {some}"
        )
        return joined

    # --- what is said -----------------------------------------------------------

    def _partial(self, loaded: Loaded, taken: float, blocks: int) -> dict[str, Any] | None:
        """Which part was read; None for all."""
        share = taken / max(1, self.files.bytes_disk)
        if share > 1 - 1e-9:
            return None
        rows = loaded.value.num_rows if loaded.kind == "table" else len(loaded.value)
        return {
            "rule": csvload.SPREAD if loaded.kind == "table" else documents.SPREAD,
            "share": share,
            "rows_total": round(rows / max(share, 1e-9)),
            "estimated": True,
            "blocks": blocks,
        }

    def _differ(self, index: int, wanted: Sequence[str], own: Sequence[str], first: int = 0) -> UsageError:
        """The error of files of different columns: which these are, and what to do."""
        one, other = (printable(self.files.paths[place], 200) for place in (first, index))
        missing = [name for name in wanted if name not in own]
        more = [name for name in own if name not in wanted]
        said = [f"{other} lacks {_listed(missing)}"] if missing else []
        said += (
            [f"{other} has {_listed(more)} beside them" if not missing else f"has {_listed(more)}"]
            if more
            else []
        )
        how = " and ".join(said) or f"{other} has them in another order"
        return UsageError(
            f"{self.files.name}: files of different columns: {one} has {_listed(wanted)}; {how}. "
            "Measure files that are alike: name one, or a pattern that only such files match"
        )

    def _types_differ(self, several: dict[int, pa.Table]) -> UsageError:
        """The error of a column of types that have none in common."""
        import pyarrow as pa

        (first, table), *others = several.items()
        for index, other in others:
            for one, two in zip(table.schema, other.schema, strict=True):
                try:
                    pa.unify_schemas([pa.schema([one]), pa.schema([two])], promote_options="permissive")
                except (pa.ArrowInvalid, pa.ArrowTypeError):
                    return UsageError(
                        f"{self.files.name}: files of different types: {printable(one.name, 60)} is {one.type} in "
                        f"{printable(self.files.paths[first], 200)} and {two.type} in {printable(self.files.paths[index], 200)}. "
                        "Measure files that are alike: name one, or a pattern that only such files match"
                    )
        return UsageError(f"{self.files.name}: files of different types")


def _items(several: Any) -> Iterator[Any]:
    """The items of lists, and documents that are no lists."""
    for found in several:
        value = found.value if found.kind == "document" else found.value.to_pylist()
        if isinstance(value, list):
            yield from value
        else:
            yield value


def _share(loaded: Loaded) -> float:
    return 1.0 if loaded.partial is None else float(loaded.partial["share"])


def _names(header: bytes) -> list[str]:
    """The names of a header, as they stand between its delimiters."""
    text = header.decode("utf-8", "replace").strip().removeprefix("\ufeff")
    delimiter = max(",;\t|", key=text.count)
    return [name.strip().strip('"') for name in text.split(delimiter)]


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(printable(name, 30) for name in names[:_SHOWN_COLUMNS])
    return f"{shown}, ..." if len(names) > _SHOWN_COLUMNS else shown
