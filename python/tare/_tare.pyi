"""The compiled core: what needs Rust and is used by more than one module.

Functions take any contiguous bytes-like object. ``bytes`` and a ``memoryview`` of them are
not copied; others are copied, because other threads may change them while the GIL is released:
`compress` from 16 MiB on in steps of 1 MiB (but for gzip, and for chunks of 16 MiB or more), all
else whole.
"""

from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, ValuesView
from typing import Any, BinaryIO, Self, TypeAlias, overload

import pyarrow as pa
from typing_extensions import Buffer, Unpack

from tare.blit.columns import Column
from tare.blit.options import Writing
from tare.blit.support import Summary

__version__: str
"""Version of the core and of the package: the one in Cargo.toml."""

__commit__: str
"""Short commit the core was built from; ``unknown`` outside a repository."""

__features__: list[str]
"""What the core was built with: the names of its compressors."""

__debug_build__: bool
"""Whether the core was built without optimisation, which no measurement should use."""

def compress(
    data: Buffer,
    compressor: str = "zstd:3",
    threads: int | None = None,
    chunk_size: int | None = None,
    layout: str | None = None,
    checksum: bool = True,
) -> bytes:
    """Compress one buffer, as `tare.compress.compress` says; ``layout`` None is the id's, else single.

    >>> len(compress(b"a" * 1000, "zstd")) < 40
    True
    """

def decompress(
    data: Buffer,
    compressor: str | None = None,
    max_output: int | None = None,
    threads: int | None = None,
    strict: bool = False,
) -> bytes:
    """Decompress one buffer, as `tare.compress.decompress` says; without a limit by default.

    >>> decompress(compress(b"plain", "gzip"))
    b'plain'
    """

def compressors() -> list[tuple[str, tuple[int, int] | None, int | None, str, bytes]]:
    """Each compressor: name, levels, default level, file ending, first bytes."""

def parse(id: str) -> tuple[str, int | None, str]:
    """Name, level and full spelling of a compressor's id.

    Raises:
        UsageError: No such compressor, level or option.

    >>> parse("zstd,chunk=1048576")
    ('zstd', 3, 'zstd:3,chunk=1MiB')
    """

def effort(name: str, effort: int) -> str:
    """The id of a compressor at an effort of 0 to 100.

    Raises:
        UsageError: No such compressor or effort.
    """

def choose(
    sample: Buffer, bandwidth: float, compressor: str | None = None, threads: int | None = None
) -> str:
    """The id that lets most of a sample through ``bandwidth`` bytes per second.

    Raises:
        UsageError: An empty sample, or a bandwidth that is not above 0.
    """

def sniff(head: bytes) -> str:
    """The compressor whose files begin so; ``none`` for no other."""

def survey(
    file: Any, base: int
) -> tuple[str, str | None, int | None, int | None, int, bool, bool | None, bool]:
    """What a file's headers say: the fields of `tare.compress.Info`, the end as whether it is proven.

    Args:
        file: A path, as text, or an object with ``seek`` and ``read``.
        base: Where the stored stream begins in the object.

    Raises:
        Truncated, Malformed, Unsupported: As far as headers show it.
        OSError: It cannot be opened or read.
    """

class Relay:
    """A TCP relay that delays and paces every connection, to emulate a link.

    It runs until it is collected. What it reaches must be measured: it is no network.

    Args:
        target: ``IP:PORT`` that connections are passed on to.
        bytes_per_second: Rate of each direction; 0 for no limit.
        round_trip_s: Time from a byte sent to its answer, beside the rate, in seconds.

    Raises:
        ValueError: The target is no address, or the time is negative.
        OSError: No port can be bound.
    """

    address: str
    """Where to connect instead of the target, as ``IP:PORT``."""
    bytes_moved: int
    """Bytes that left the relay so far, both directions."""

    def __new__(cls, target: str, bytes_per_second: float, round_trip_s: float) -> Self: ...

class PacketRelay:
    """Packets between two network devices, paced and delayed; it runs as long as its process.

    Args:
        left, right: Descriptors of devices that give and take a packet a call; they must stay open.
        bytes_per_second: Rate of each direction; 0 for no limit.
        round_trip_s: Delay of both directions together, in seconds.

    Raises:
        ValueError: The time is negative.
    """

    counts: tuple[int, int, int]
    """Packets and bytes that arrived, and packets that were lost to a full queue or device."""

    def __new__(cls, left: int, right: int, bytes_per_second: float, round_trip_s: float) -> Self: ...

class Writer:
    """Compresses what is written to it; what is collected without `finish` is refused by readers.

    Used in a forked child, or by a signal handler while it is at work, its methods raise.

    Args:
        file: A path, as text, of a file that is there; or an object with ``write``.
        compressor: Id.
        options: ``threads``, ``chunk_size``, ``layout``, ``checksum``, ``index``, ``content_size``
            and ``memory_limit``, all of them.

    Raises:
        UsageError: An id or option that does not exist.
        Limit: The memory limit is too little.
        OSError: The file cannot be opened.
    """

    descriptor: int | None
    """The system's number of the file; None for a Python object."""
    kind: str
    """The compressor's name."""

    def __new__(cls, file: Any, compressor: str, options: dict[str, Any]) -> Self: ...
    def write(self, data: Buffer) -> int:
        """Take bytes: all of them.

        Raises:
            ValueError: It was finished or aborted.
            Exception: What the object's ``write`` raised, as it was.
        """

    def flush(self) -> None:
        """Write all so far, so that a reader can have it."""

    def finish(self) -> tuple[int, int, int, str, str, str, int, bytes | None] | None:
        """End the stream: the fields of `tare.compress.Summary`; None if it was ended before."""

    def abort(self) -> None:
        """End the work without ending the stream."""

    def progress(self) -> tuple[int, int]:
        """Plain bytes taken, and stored bytes written, so far."""

class StoredFile:
    """A file of the system, opened once for a `Reader` and a `SeekableReader` of it.

    Args:
        path: Of the file.

    Raises:
        OSError: It cannot be opened.
    """

    def __new__(cls, path: str) -> Self: ...
    def size(self) -> int:
        """Bytes in it."""

    def pread(self, offset: int, size: int) -> bytes:
        """Bytes from an offset on, at most ``size``; its position stays."""

class Reader:
    """The plain bytes of a compressed stream, read once from front to back.

    Used in a forked child, or by a signal handler while it is at work, its methods raise.

    Args:
        file: A path, as text, a `StoredFile`, or an object with ``read1`` or ``read``.
        options: ``compressor``, ``threads``, ``strict``, ``max_output``, ``max_window``,
            ``build_index`` and ``read_ahead``, all of them.

    Raises:
        UsageError: No such compressor.
        OSError: The file cannot be opened or read.
    """

    descriptor: int | None
    """The system's number of the file; None for a Python object."""

    def __new__(cls, file: Any, options: dict[str, Any]) -> Self: ...
    def readinto(self, buffer: Buffer) -> int:
        """Fill the start of a writable buffer; 0 at the proven end.

        Raises:
            Truncated, Malformed, ChecksumMismatch, Unsupported, Limit: As `decompress`.
            Exception: What the object's ``read`` raised, as it was.
        """

    def read(self, size: int) -> bytes:
        """Give up to ``size`` plain bytes; none at the proven end."""

    def info(self) -> tuple[str, int, int, int, bool | None, bool]:
        """Compressor, units, stored and plain bytes so far; once the end is reached whether it is proven, looks cut."""

    def close(self) -> None:
        """End the work; the object stays as it is."""

class SeekableReader:
    """The plain bytes of a compressed file, from any offset on.

    Args:
        file: A path, as text, or an object with ``seek`` and ``read``.
        base: Where the stored stream begins in the object.
        options: As of `Reader`.

    Raises:
        Unsupported, UsageError: It has no parts that can be decoded by themselves.
        Truncated, Malformed: Not what its compressor writes.
    """

    descriptor: int | None
    """The system's number of the file; None for a Python object."""

    def __new__(cls, file: Any, base: int, options: dict[str, Any]) -> Self: ...
    def pread(self, offset: int, size: int) -> bytes:
        """Give the plain bytes from an offset on, ``size`` of them unless they end before."""

    def readinto(self, position: int, buffer: Buffer) -> int:
        """Fill the start of a writable buffer from a position on; decodes ahead when that is in order."""

    def facts(self) -> tuple[int, int, bool, str, bool]:
        """Plain bytes, units, whether the end is proven, the compressor's name, whether the end looks cut."""

class BlitView:
    """A value of a blit document that is read where it lies: `tare.blit.View`."""

    def find(self, query: str, *, max_elements: int = 268435456) -> list[Any]:
        """All values that a JSONPath query finds."""

    def finditer(self, query: str, *, max_elements: int = 268435456) -> Iterator[Any]:
        """Values that a JSONPath query finds, each looked for when it is asked for."""

    def elements(self, most: int = 268435456) -> int:
        """How many values are in this one, at any depth."""

    @property
    def kind(self) -> str:
        """The kind of list that an array's elements or an object's values lie in; ``VALUE`` of others."""

    @property
    def nbytes(self) -> int:
        """Bytes of `raw`."""

    def raw(self) -> bytes:
        """The value as a document of its own: that of a whole document is the document."""

    def to_python(self, *, decimal: bool = False, max_elements: int = 268435456) -> Any:
        """The whole value as Python objects: what `json.loads` gives of its JSON."""

    def to_json(
        self,
        order: str = "insertion",
        *,
        nan: str = "error",
        bytes: str = "error",
        max_output: int = 4294967296,
    ) -> bytes:
        """JSON text without spaces."""

    def validate(self, *, canonical: bool = False) -> Summary:
        """Look at every byte of the document; what was seen."""

class BlitObjectView(BlitView):
    """An object of a document: a `collections.abc.Mapping`."""

    def __len__(self) -> int: ...
    def __getitem__(self, key: str, /) -> Any: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __reversed__(self) -> Iterator[str]: ...
    def keys(self) -> KeysView[str]:
        """The names, in the order in which they were written."""

    def values(self) -> ValuesView[Any]:
        """The values."""

    def items(self) -> ItemsView[str, Any]:
        """Names and values."""

    def entries(self) -> list[tuple[str, Any]]:
        """Names and values, all at once."""

    def get(self, path: str | BlitPath, default: Any = None) -> Any:
        """The value of a name, else at a JSON pointer: ``""``, what begins with ``/``, or a `Path`."""

class BlitListView(BlitView):
    """An array of a document: a `collections.abc.Sequence`."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __reversed__(self) -> Iterator[Any]: ...
    def __contains__(self, value: object, /) -> bool: ...
    @overload
    def __getitem__(self, key: int, /) -> Any: ...
    @overload
    def __getitem__(self, key: slice, /) -> list[Any]: ...
    def index(self, value: Any, start: int = 0, stop: int = ...) -> int:
        """Where a value is first."""

    def count(self, value: Any) -> int:
        """How often a value is there."""

    def get(self, path: str | BlitPath, default: Any = None) -> Any:
        """The value at a JSON pointer: ``""``, what begins with ``/``, or a `Path`."""

    def names(self) -> list[str] | None:
        """The names of the columns, where the elements are objects in columns."""

    def runs(self) -> Iterator[tuple[Any, int]]:
        """All elements, each with how many like it lie side by side as far as their list says it."""

    def chunks(self, names: list[str]) -> list[BlitChunk] | None:
        """The pieces of a column; None where elements lie row by row."""

    def column(self, path: str | BlitPath | list[str]) -> Column:
        """One value of every element: a name, or a JSON pointer, with numbers for elements of arrays."""

    def to_arrow(self) -> pa.Table:
        """A table of Arrow, of an array of objects."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any: ...

class BlitChunk(Buffer):
    """Elements of a column that lie together, and the buffer of the document that they are in."""

    def __len__(self) -> int: ...
    @property
    def kind(self) -> str:
        """The kind of list."""

    def packed(self) -> tuple[str, int] | None:
        """NumPy's type of numbers that can be used where they lie, and the offset of the first."""

    def numbers(self) -> tuple[str, bytes] | None:
        """NumPy's type of numbers and truth values, and those decoded."""

    def present(self) -> tuple[bytes, BlitChunk] | None:
        """A bit for each element, and those whose bit is set; None without gaps."""

    def codes(self) -> tuple[int, int, BlitChunk] | None:
        """Bytes of a code, the offset of the first, and the strings; None unless there are codes."""

    def texts(self) -> tuple[bytes, int, int] | None:
        """Ends of strings as int32, from 0 on, and where their text begins and ends; None of others."""

    def alike(self) -> tuple[Any] | None:
        """The value of all elements, where the list says it once for all of them."""

    def to_list(self) -> list[Any]:
        """All elements as Python objects."""

class BlitPath:
    """A JSON pointer (RFC 6901) that is parsed once: `tare.blit.Path`."""

    def __new__(cls, pointer: str | Self) -> Self: ...

def blit_encode(
    obj: Any,
    *,
    default: Callable[[Any], Any] | None = None,
    **options: Unpack[Writing],
) -> bytes:
    """A document of Python objects."""

class BlitEdit:
    """Changes over a document, by JSON pointers; ``-`` is the place behind an array's last element."""

    def get(self, path: str | BlitPath, default: Any = None) -> Any:
        """The value of a name, else at a JSON pointer, with the changes so far: as `BlitObjectView.get`."""

    def __getitem__(self, key: str | BlitPath | int | slice, /) -> Any: ...
    def __contains__(self, key: object, /) -> bool: ...
    def set(self, pointer: str | BlitPath, value: Any) -> None:
        """Put a value in the place of another, or under a new name."""

    def insert(self, pointer: str | BlitPath, value: Any) -> None:
        """Put a value in front of an element, or under a name."""

    def delete(self, pointer: str | BlitPath) -> None:
        """Take a value out."""

    def patch(self, patch: Any) -> None:
        """Carry out a JSON Patch (RFC 6902): text, or a list of operations."""

    def merge(self, patch: Any) -> None:
        """Carry out a JSON Merge Patch (RFC 7396): text, or its value."""

    def to_blit(self, **options: Unpack[Writing]) -> bytes:
        """The changed document."""

def blit_edit(view: BlitView) -> BlitEdit:
    """Edit a document, or a value of one."""

def blit_patch(document: Buffer, pointer: str | BlitPath, value: Any) -> None:
    """Replace a value where it lies in a `bytearray`, by one that takes the same place."""

def blit_from_ndjson(
    data: Buffer | str,
    **options: Unpack[Writing],
) -> bytes:
    """A document of lines of JSON text: their array; the options are those of `Writing`."""

def blit_from_json(
    data: Buffer | str,
    **options: Unpack[Writing],
) -> bytes:
    """A document of JSON text; the options are those of `Writing`."""

class BlitReader:
    """An open collection; `tare.blit.Collection` is its face."""

    def __init__(self, path: str, mmap: bool) -> None: ...
    def __len__(self) -> int: ...
    def view(self, i: int) -> BlitView:
        """Document ``i``, from 0 on, as a view whatever it is."""

    def document(self, i: int) -> Any:
        """Document ``i``, from the end with a negative number, as a view."""

    def find(self, i: int, path: str | BlitPath, default: Any) -> Any:
        """The value at a path of document ``i``, as of `document`; ``default`` where there is none."""

    def account(self) -> dict[str, Any]:
        """Where the bytes go: ``stored`` adds up to the file, ``parts`` to the chunks as they are read."""

    def validate(self) -> dict[str, Any]:
        """Look at every byte; what was seen."""

    @property
    def commits(self) -> int:
        """How many commits there are."""

    @property
    def chunks(self) -> int:
        """How many chunks there are."""

class BlitWriter:
    """A collection that is appended to; ``mode`` is ``w``, ``x`` or ``a``."""

    def __init__(
        self, path: str, mode: str, compressor: str | None, chunk_size: int, **options: Unpack[Writing]
    ) -> None: ...
    def __len__(self) -> int: ...
    def push(self, obj: Any, default: Callable[[Any], Any] | None) -> None:
        """Append a document of Python objects."""

    def append_document(self, document: Buffer) -> None:
        """Append an encoded document."""

    def append_from(self, reader: BlitReader, i: int) -> None:
        """Append document ``i`` of another collection."""

    def keep_as(self, reader: BlitReader) -> None:
        """Keep names that are there twice and halves of surrogate pairs where another collection does."""

    def append_json(self, text: Buffer | str) -> None:
        """Append a JSON text."""

    def append_ndjson(self, text: Buffer, threads: int | None) -> int:
        """Append the JSON text of each line; how many there were."""

    def commit(self) -> int:
        """Make all documents so far survive a crash; how many are committed."""

    def rollback(self) -> None:
        """Drop what was not committed."""

    def close(self) -> None:
        """Let the file go; what was not committed is cut off.

        Raises:
            RuntimeError: While this thread appends an object.
        """

def blit_repair(path: str) -> tuple[int, int]:
    """Cut off what follows the last whole commit: documents there are, and bytes cut."""

def blit_account(buffer: Buffer) -> dict[str, Any]:
    """Where the bytes of a document go."""

def blit_view(buffer: Buffer) -> Any:
    """Open a document; its object as `BlitObjectView`, its array as `BlitListView`, else a `BlitView`."""

RLoss: TypeAlias = tuple[str, str, str, str, int]
"""What a conversion lost: path, kind, what R has, what was kept of it, how many values."""

class RBuffer:
    """The numbers of an R vector, by the buffer protocol: read-only, not copied.

    Formats are ``i`` (logical and integer; NA is -2**31), ``d``, ``Zd`` and ``B``.
    """

    @property
    def format(self) -> str: ...
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

class RArrow:
    """An R value as Arrow, by the Arrow C data interface: numbers and text are not copied.

    A data frame is a struct array whose schema has the columns, and in its metadata the key
    ``r``: `pyarrow.record_batch` makes a record batch of it, `pyarrow.array` any other.
    """

    @property
    def is_table(self) -> bool:
        """Whether it is a data frame."""

    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

def look_at_fields(
    text: bytes, delimiter: int, words: list[bytes], *, quotes: bool = True, escapes: bool = False
) -> list[tuple[bool, bool, list[tuple[int, int]]]]:
    """Tells what stands in the fields of each column of a CSV whose first row names them.

    Args:
        text: The text; blank lines are no rows.
        delimiter: The byte between fields.
        words: What a field may be as a whole, without quotes; each is counted.
        quotes: Whether a quote that begins a field encloses it.
        escapes: Whether the byte behind a backslash is part of its field, whatever it is.

    Returns:
        Whether any field is written as no decimal number is (a leading zero, hexadecimal, a plus and seven to fifteen
        digits), whether any is a zero with a minus, and which of the words stand in how many fields, the first one first.
    """

def read_columns(
    text: bytes, delimiter: int, words: list[bytes], names: list[str]
) -> tuple[NdjsonRows, list[tuple[bool, list[tuple[int, int]], tuple[int, int] | None]]] | None:
    """Reads a CSV whose first row names the columns, if there is no doubt what its fields are.

    Columns are null, int64, double, bool, date32, timestamps in seconds or nanoseconds, with or without UTC, or text, as all
    their fields are. A field that is empty, or one of the words, and not in quotes, is missing; blank lines are no rows.

    Args:
        text: The text.
        delimiter: The byte between fields.
        words: What a missing value may be written as, beside an empty field.
        names: The names of the columns.

    Returns:
        The rows; and of each column whether it is text as numbers in it have leading zeros, which of the words stand in how
        many fields, the first one first, and of whole numbers the least and the most. None where a reader may take
        another view of any field.
    """

def whole_rows(text: bytes, delimiter: int) -> tuple[int, bool] | None:
    """Tells where the last whole row of a text ends, 0 if none does, and whether a value before holds an end of line.

    None if a quote stands where it neither opens nor closes a field, so that quotes do not tell.

    Args:
        text: The text, which begins at a row.
        delimiter: The byte between fields.
    """

def read_avro_blocks(
    blocks: list[tuple[bytes, int]], fields: list[tuple[str, str, bool | None]]
) -> NdjsonRows | None:
    """Reads blocks of Avro whose records have plain fields; None if the blocks hold anything else than these.

    Args:
        blocks: Each block's bytes without compression, and how many records they are.
        fields: The name of each field, its type (``boolean``, ``int``, ``long``, ``float``, ``double``, ``string``,
            ``bytes``), and whether null is the first branch of its union, None if the type is not a union with null.
    """

def row_end(text: bytes) -> int:
    """Tells where the last whole row of a text ends, 0 if none does; quotes are counted, and their places not looked at.

    It is what `whole_rows` gives where that is not None.

    Args:
        text: The text, which begins at a row.
    """

def lines_of_rows(text: bytes, delimiter: int) -> int | None:
    """Counts the lines of a text, if each of them is a row; None if one is blank, or that cannot be said.

    Args:
        text: The text from its start to its end.
        delimiter: The byte between fields.
    """

class NdjsonReader:
    """Reads blocks of whole lines of JSON, an object each, as rows of a table whose types are known.

    Args:
        schema: Anything with ``__arrow_c_schema__`` that gives a table's schema, of null, boolean, int64, uint64,
            float64, utf8, and lists and structs of such.

    Raises:
        Unsupported: A column of another type.
    """

    def __init__(self, schema: object) -> None: ...
    def changes(self) -> list[tuple[str, str, str, int]]:
        """What was not as the columns have it, in all blocks since the reader was made or failed.

        Returns:
            Column, path (``legs[].to``), ``missing`` (a name that an object has not is null) or ``whole`` (a whole
            number is a double of the same value), and how often.
        """

    def read(self, lines: bytes) -> NdjsonRows:
        """The rows of a block; nothing is rounded, and what fits no column is refused.

        Raises:
            Malformed, Truncated: With the byte offset in the block: no JSON, or no row of the table.
            Limit: 2 GiB of text in a column.
        """

class JsonStructure:
    """Passes over JSON text, one value or many, and counts what stands in it; strings are found by their quotes."""

    def __init__(self) -> None: ...
    def pass_over(self, text: bytes) -> None:
        """Passes over more of the text."""

    def counts(self) -> list[tuple[str, int]]:
        """What was counted so far, by the names of `tare.datasets.jsonscan.Scan`.

        ``lines`` are not blank and stand before the last line feed; ``in_line`` tells whether there is more behind it.
        """

def json_elements(lines: bytes, separator: bytes) -> tuple[bytes, int]:
    """Checks lines of JSON, takes out the white space between their tokens, and gives them with a separator between.

    Numbers and strings keep their spelling. Blank lines are left out.

    Returns:
        The text, and how many lines it has.

    Raises:
        Malformed: A line is invalid JSON; with the byte offset in the text.
    """

class JsonArrayLines:
    """Cuts the text of an array of JSON into a line for each element, in pieces of any size.

    What is within the elements is not checked: `json_elements` does that.
    """

    def __init__(self) -> None: ...
    def pass_over(self, text: bytes) -> bytes:
        """Passes over more of the text; gives the lines of the elements that end in it.

        Raises:
            Malformed: No array, an element is missing, or something stands behind it; with the byte offset in all of it.
        """

    def end(self) -> None:
        """Ends the text.

        Raises:
            Truncated: The array has not ended.
        """

class NdjsonFinder:
    """Reads whole lines of JSON, an object each, as rows of a table, and finds out what types its columns have.

    One type is that of all values of a path, and the narrowest: whole numbers are int64, or uint64 where one is beyond
    2^63, or double where one value is none and none is beyond 2^53. Objects are structs with all names that any of them has,
    in the order in which these first appear; a name that an object has not is null.

    Args:
        schema: The columns of other lines, which those of these lines may widen; none by default. As for `NdjsonReader`.

    Raises:
        Unsupported: A column of another type.
    """

    def __init__(self, schema: object | None = None) -> None: ...
    def read(self, lines: bytes, threads: int | None = None) -> None:
        """Takes rows, which stand behind those before; all threads that the process may use read by default.

        Raises:
            Malformed, Truncated: With the byte offset in all lines, if it is known: no JSON, or no row of a table whose
                columns have one type each. Nothing more is to be read then.
            Limit: 2 GiB of text in a column, more than 4,096 names in objects, or far more missing names than bytes.
        """

    def read_array(self, text: bytes, threads: int | None = None) -> None:
        """Takes the objects of an array, the whole text of one value of JSON, as rows.

        Raises:
            Malformed, Truncated, Limit: As `read`.
        """

    def take(self) -> list[NdjsonRows]:
        """The rows that were not taken before, with the columns of all lines so far."""

    def changes(self) -> list[tuple[str, str, str, int]]:
        """What was not as the columns have it, in all lines so far: as `NdjsonReader.changes`."""

    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...

class NdjsonRows:
    """Rows as Arrow, by the Arrow C data interface: `pyarrow.record_batch` makes a record batch of them."""

    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

class RowText:
    """The rows of a record batch, ready to be written as text: writing them never fails.

    Args:
        rows: Anything with ``__arrow_c_array__`` that gives a record batch, of null, boolean, integers, floats, texts,
            dates of 32 bits, times, timestamps without a zone or in UTC, dictionaries, and in JSON lists, structs and
            maps of such.
        form: ``lines`` or ``items`` of JSON as orjson writes it, ``spaced items`` or ``ascii items`` as Python's json
            does; or one character, the delimiter of a CSV as Arrow writes it.

    Raises:
        Unsupported: A column of another type, or a value without a text: a date beyond the years 1 to 9999, a map
            with a key twice, a struct with a name twice.
        Malformed: The arrays are not valid, such as text that is not UTF-8.
    """

    def __init__(self, rows: object, form: str) -> None: ...
    def __len__(self) -> int: ...
    def write(self, start: int, end: int, threads: int = 1) -> list[TextBytes]:
        """The text of the rows from one to before another, in parts: each row with a line feed or comma behind it."""

class TextBytes(Buffer):
    """Bytes of text, read-only, by the buffer protocol."""

    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

class RObject:
    """A handle on one R value: of a file, or a part of one. Nothing is ever evaluated.

    `tare.r` has the class that users see.
    """

    @property
    def type(self) -> str:
        """R's ``typeof``."""

    @property
    def r_class(self) -> list[str]:
        """R's ``class``: of a value without one, the class that its type and dimensions mean."""

    @property
    def attributes(self) -> list[tuple[str, RObject]]:
        """Names and values, in the order of the file."""

    def attribute(self, name: str) -> RObject | None:
        """The value of an attribute."""

    @property
    def names(self) -> list[str | None] | None:
        """Names of the elements, None for a missing one; of a call or pairlist, its tags."""

    @property
    def dim(self) -> list[int] | None:
        """Dimensions of a matrix or array."""

    @property
    def slots(self) -> list[tuple[str, RObject]] | None:
        """Slots of an S4 object."""

    @property
    def rows(self) -> int | None:
        """Rows of a data frame."""

    @property
    def flags(self) -> list[str]:
        """What should be known before R loads this: ``promise``, ``closure``, ``bytecode``, ..."""

    @property
    def place(self) -> tuple[int, int]:
        """The same for handles on the same node while one lives: what to memoize by."""

    @property
    def header(self) -> dict[str, Any]:
        """How the file was written: encoding, version, r_version, min_reader, native_encoding."""

    @property
    def marks(self) -> tuple[int, bool]:
        """The general purpose bits, and whether R dispatches on it."""

    def __len__(self) -> int: ...
    def child(self, index: int) -> RObject:
        """Element of a list, expression, pairlist or call.

        Raises:
            IndexError: There is none.
        """

    def get(self, name: str) -> RObject:
        """Element, binding or slot of a name, the first of it.

        Raises:
            KeyError: There is none.
        """

    def keys(self) -> list[str]:
        """Names of bindings (sorted), slots or elements."""

    def items(self) -> list[tuple[str, RObject]]:
        """What `keys` names, with its values, in one go."""

    def data(self) -> RBuffer:
        """The numbers or bytes of a vector; a deferred vector is made.

        Raises:
            TypeError: Not such a vector.
            Limit: A deferred vector beyond the memory budget.
        """

    def strings(self) -> list[str | bytes | None]:
        """The strings of a character vector: bytes for what is no text, None for NA."""

    def to_arrow(self, options: dict[str, Any]) -> tuple[RArrow, list[RLoss]]:
        """As Arrow, and what was lost.

        Options: ``strict`` (False), ``metadata`` (True: the key ``r`` and what cannot be told
        from the type are kept), ``columns`` (None, or names of a data frame's columns),
        ``na`` ('null' or 'nan').

        Raises:
            Unsupported: A value that Arrow has no type for, or any loss where strict.
        """

    def to_python(
        self,
        scalars: bool,
        leaf: Callable[[RObject, str], Any],
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, list[RLoss]]:
        """As plain Python, and what was lost.

        Made here: NULL; lists, as `dict` where all names are there and differ, else `list`;
        strings; with ``scalars`` vectors of one element without attributes. ``leaf`` makes all
        else: vectors of numbers, data frames, what has a class, lists whose names repeat,
        environments and code, of a handle and the path to it. The same node becomes the same
        object. Options: ``strict``.
        """

    def identical(self, other: RObject) -> bool:
        """R's ``identical``: attributes in any order, NaN as NaN, functions by their code."""

    def equal(self, other: RObject) -> bool:
        """Whether both are written as the same bytes."""

    def to_bytes(self, version: int | None = None, encoding: str | None = None) -> bytes:
        """The plain bytes of R's serialization."""

def r_read(source: Buffer | str, options: dict[str, Any]) -> RObject | list[tuple[str, RObject]]:
    """Read bytes, or a file of a path, in any format of R but fst; of RData each name and value.

    Options, all of them optional: ``format``, ``max_depth``, ``memory_budget``, ``max_ratio``,
    ``encoding``, ``threads``.
    """

def r_write(
    value: RObject | list[tuple[str, RObject]], sink: str | BinaryIO | None, options: dict[str, Any]
) -> tuple[bytes | int, list[RLoss]]:
    """Write to a file of a path or a file object, which says how many bytes, or to bytes.

    Options, all of them optional: ``format``, ``version``, ``encoding``, ``compressor``,
    ``threads``, ``members``, ``r_version``, ``data_only``.
    """

def r_inspect(source: Buffer | str, options: dict[str, Any]) -> dict[str, Any]:
    """What a file is and holds, without its values.

    ``format``, ``compressor``, ``version``, ``r_version``, ``min_reader``, ``encoding``,
    ``native_encoding``, ``nodes``; ``tree`` (each its depth, name, type, class and length) and
    whether it is cut, ``tree_cut``; ``flags``; ``findings`` (each its path and kind).
    """

def r_from_arrow(value: object, options: dict[str, Any]) -> tuple[RObject, list[RLoss]]:
    """An R value of anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``.

    Options: ``strict`` (False), ``metadata`` (True: the key ``r`` is read), ``int64`` ('auto':
    integer where all of a column fit, in lists those of all its rows, else integer64; 'integer64'; 'double').
    """

def r_from_python(value: object, options: dict[str, Any]) -> tuple[RObject, list[RLoss]]:
    """An R value of plain Python and NumPy.

    Taken are None, bool, int, float, complex, str, bytes, list, tuple, dict, date, datetime,
    timedelta, arrays by their buffer, RObject.
    A list of scalars of one kind becomes a vector, any other a list; None in a vector is NA.
    Options: ``strict``; ``other``, a function that makes an RObject of any other value.
    """

def fst_schema(source: Buffer | str) -> dict[str, Any]:
    """What the headers of an fst file say.

    ``columns`` (each its name, type, classes, units and time zone), ``rows``, ``keys`` (positions
    of columns), ``file_bytes``.
    """

def fst_read(
    source: Buffer | str,
    columns: list[str] | None,
    rows: tuple[int, int] | None,
    options: dict[str, Any] | None = None,
) -> RObject:
    """Columns and rows (from 0 on, end exclusive) of an fst file as a data frame.

    Options, all of them optional: ``memory_budget``, ``max_ratio``, ``threads``.
    """

def fst_write(value: RObject, path: str | None, options: dict[str, Any]) -> tuple[bytes | int, list[RLoss]]:
    """Write a data frame as fst. Options: ``compress`` (0 to 100; 50), ``keys``."""

def sniff_r(source: str | Buffer) -> str | None:
    """The format of R that a file or bytes are in by their beginning: rds, rdata, qs2, qdata, qs or fst; None for others."""

class Blake3:
    """BLAKE3 of bytes that come in parts.

    >>> Blake3().hexdigest()[:16]
    'af1349b9f5f9a1a6'
    """

    def __init__(self) -> None: ...
    def update(self, data: Buffer) -> None:
        """Takes further bytes; the GIL is released for many."""

    def hexdigest(self) -> str:
        """The hash of all that came, in hex digits."""

def r_canonical(object: RObject) -> str:
    """BLAKE3 of the canonical form of an R object: equal for all that R calls identical."""

class StoreHandle:
    """An open store, which the faces of its namespaces share."""

class StoreReader:
    """The plain bytes of an object; its end is told only if all of them were what the hash says."""

    def readinto(self, buffer: Buffer) -> int: ...
    def close(self) -> None: ...

class StoreWriter:
    """An object that is written by and by, and named when it is complete."""

    def write(self, data: Buffer) -> int: ...
    def name(self, key: str, namespace: str) -> str: ...
    def abort(self) -> None: ...
    def flush(self) -> None: ...
    @property
    def closed(self) -> bool: ...
    def writable(self) -> bool: ...
    def readable(self) -> bool: ...
    def seekable(self) -> bool: ...

class StoreCore:
    """What `tare.store.Store` is derived from: its verbs, of which each is one call of the core.

    What begins with an underscore is for `tare.store`.
    """

    def __new__(
        cls, handle: StoreHandle, namespace: str, codec: str | None, canonical: bool = False
    ) -> Self: ...
    @property
    def _handle(self) -> StoreHandle: ...
    @property
    def default_namespace(self) -> str: ...
    @property
    def closed(self) -> bool: ...
    def info(self) -> dict[str, Any]: ...
    def get(self, key: str, namespace: str | None = None, default: Any = ...) -> Any: ...
    def set(
        self,
        key: str,
        value: Any,
        namespace: str | None = None,
        codec: str | None = None,
        compressor: str | None = None,
        if_hash: str | None = None,
        if_absent: bool = False,
    ) -> str: ...
    def __getitem__(self, key: str) -> Any: ...
    def __setitem__(self, key: str, value: Any) -> None: ...
    def __delitem__(self, key: str) -> None: ...
    def __contains__(self, key: object) -> bool: ...
    def __len__(self) -> int: ...
    @overload
    def exists(self, key: str, namespace: str | None = None) -> bool: ...  # type: ignore[overload-overlap] # a text is one key
    @overload
    def exists(
        self, key: Iterable[str] | str, namespace: Iterable[str] | str | None = None
    ) -> list[bool]: ...
    @overload
    def del_(self, key: str, namespace: str | None = None) -> bool: ...  # type: ignore[overload-overlap] # a text is one key
    @overload
    def del_(self, key: Iterable[str] | str, namespace: Iterable[str] | str | None = None) -> list[bool]: ...
    def mget(
        self, keys: Iterable[str] | str, namespace: Iterable[str] | str | None = None, missing: Any = ...
    ) -> list[Any]: ...
    def mset(
        self,
        keys: Iterable[str] | str,
        values: Iterable[Any],
        namespace: Iterable[str] | str | None = None,
        codec: str | None = None,
        compressor: str | None = None,
    ) -> list[str]: ...
    def set_value(self, value: Any, codec: str | None = None, compressor: str | None = None) -> str: ...
    def get_value(self, hash: str, codec: str | None = None) -> Any: ...
    def fill(
        self,
        keys: Iterable[str] | str,
        value: Any,
        namespace: Iterable[str] | str | None = None,
        codec: str | None = None,
        compressor: str | None = None,
    ) -> str: ...
    def get_hash(self, key: str, namespace: str | None = None) -> str: ...
    def namespaces(self) -> list[str]: ...
    @overload
    def exists_object(self, hash: str) -> bool: ...  # type: ignore[overload-overlap] # a text is one key
    @overload
    def exists_object(self, hash: Iterable[str]) -> list[bool]: ...
    def flush(self) -> None: ...
    def flush_cache(self) -> None: ...
    def close(self) -> None: ...
    def _hash_bytes(self, value: Any, codec: str | None = None) -> str: ...
    def _records(
        self, keys: Iterable[str] | str, namespace: Iterable[str] | str | None = None
    ) -> list[tuple[str, str, int] | None]: ...
    def _duplicate(self, src: Any, dest: Any, namespace: Any, namespace_dest: Any) -> list[str]: ...
    def _clear(self, namespace: str) -> int: ...
    def _page(self, namespace: str, prefix: str, after: str | None, limit: int) -> list[str]: ...
    def _hashes(self, after: str | None, limit: int) -> list[str]: ...
    def _stat_objects(self, hashes: list[str]) -> list[tuple[int | None, int, str, str] | None]: ...
    def _local_file(self, hash: str) -> str | None: ...
    def _bytes(self, key: str, namespace: str | None = None) -> tuple[str, bytes]: ...
    def _reader(self, key: str, namespace: str | None = None) -> tuple[StoreReader, str]: ...
    def _writer(self, codec: str, compressor: str | None = None) -> StoreWriter: ...
    def _begin(self, durability: str | None) -> None: ...
    def _end(self, commit: bool) -> None: ...
    def _destroy(self) -> None: ...
    def _name(self, rows: list[tuple[str, str, str, str]]) -> None: ...
    def _find(self, canonical: str) -> list[str]: ...
    def _stat(self) -> dict[str, int]: ...
    def _gc(self, grace_s: float, dry_run: bool) -> dict[str, Any]: ...
    def _check(self, full: bool, progress: Callable[[int], object] | None) -> dict[str, Any]: ...
    def _repair(self, apply: bool, purge: bool) -> tuple[dict[str, Any], list[dict[str, Any]]]: ...

def store_open(url: str, options: dict[str, Any]) -> StoreHandle:
    """Open a store; what `tare.open_store` checks is taken as it is."""

def store_document(value: Any) -> bytes:
    """The document of a value that comes back as it is; Unsupported if a part of it would not."""

def store_copy(
    source: StoreCore,
    dest: StoreCore,
    pairs: Iterable[list[tuple[str, str, str, str]]],
    resume: bool,
    skip_missing: bool,
    skip_damaged: bool,
    convert: Callable[[str, bytes], tuple[str, bytes]],
    progress: Callable[[int], object] | None,
) -> dict[str, Any]:
    """Copy keys from one store into another, page by page; what was done, in numbers, and what is damaged."""

class MessageBatcher:
    """`send` of a connection within a batch, for bytes.

    Args:
        session: Where to queue.
        flush: Called with the timeout, if one is given, when ``limit`` bytes wait.
        limit: Bytes.
    """

    def __init__(self, session: MessageSession, flush: Callable[..., object], limit: int) -> None: ...
    def send(self, data: Buffer, timeout: Any = None) -> None:
        """Queue a message, and flush what has grown."""

class MessageDeadline:
    """A moment on the monotonic clock: what is left of a timeout.

    Args:
        seconds: From now; None is never.

    >>> MessageDeadline(0).over, MessageDeadline(None).left()
    (True, None)
    """

    def __init__(self, seconds: float | None = None) -> None: ...
    def left(self) -> float | None:
        """Seconds that are left, none below 0; None is for ever."""

    @property
    def over(self) -> bool:
        """Whether nothing is left."""

    @property
    def long_over(self) -> bool:
        """Whether it was over a tenth of a second ago: not even what is there is read any more."""

class MessageMarks:
    """Where the messages of a batch lay in their stream."""

    def offset(self, index: int, /) -> int:
        """First byte of the message at an index."""

    def end(self, index: int, /) -> int:
        """Where so many messages of the batch ended; for none, where the one before did."""

    def number(self, index: int, /) -> int:
        """How many messages of the stream came before it."""

def message_needing(ends: list[MessageSession | None], /) -> list[int]:
    """Indices of those that `message_poll` does not watch: they have something at hand, or are None."""

def message_poll(
    ends: list[MessageSession | None], others: list[tuple[int, int]], seconds: float | None = None
) -> list[int]:
    """Wait for the descriptors of sessions, and for others, each with its index; indices with events."""

class MessageSession:
    """Cuts and joins the bytes of a stream of messages; whoever has it reads and writes them.

    Args:
        wire: ``frame``, ``msgpack``, ``cbor``, ``ndjson`` or ``wrap``.
        options: Limits, and what is said to the peer: ``max_message``, ``hello``, ``end``, ``expected``;
            ``midway`` is of a reader that did not see the stream from its start, so that END's count says nothing.

    >>> session = MessageSession("frame", {})
    >>> session.send(b"hi")
    >>> session.outgoing().hex()
    'e0020000006869'
    """

    def __init__(self, wire: str, options: dict[str, Any]) -> None: ...
    def send(self, payload: Buffer, compressed: bool = False) -> None:
        """Queue a message. Raises `Limit` for one that is too long."""

    def send_many(self, payloads: list[Any], start: int, limit: int, flags: bytes | None = None) -> int:
        """Queue messages from an index on until ``limit`` bytes wait; the index of the next."""

    def token(self, token: bytes) -> None:
        """Queue a token; it must be the first."""

    def finish(self) -> None:
        """Queue END, where the framing has one; nothing follows."""

    def outgoing(self, limit: int | None = None) -> bytes:
        """What is to be written next, at most ``limit`` bytes; it stays queued."""

    def written(self, count: int) -> None:
        """So many of them were written."""

    def received(self, data: Buffer) -> None:
        """Take bytes in."""

    def read_from(self, descriptor: int, round: int, most: int) -> tuple[int, bool]:
        """Take in what a descriptor that does not block has: bytes, and whether it is at its end.

        Args:
            descriptor: It.
            round: Bytes after which it stops.
            most: Bytes of one read.
        """

    def write_to(self, descriptor: int) -> int | None:
        """Write once to a descriptor that does not block: bytes, or None if it has no room."""

    def rest(self) -> None:
        """Free what an idle connection does not need."""

    def pull(
        self,
        source: tuple[int, int, bool, float | None],
        count: int,
        budget: int,
        seconds: float | None = None,
    ) -> tuple[list[bytes], bytes | None, MessageMarks] | str | None:
        """As `take`, reading from a descriptor that does not block and waiting for it; None at the end.

        Args:
            source: It; bytes of one read; whether it is a fifo, which reads as at its end before its
                first writer; seconds that a message may be on its way.
            count: The most messages.
            budget: Payload bytes after which it stops.
            seconds: How long to wait; None for ever.

        Returns:
            A `str` says why there is nothing: ``late``, ``slow`` for the message under way, or
            ``unsent``, for what is queued must leave meanwhile.

        Raises:
            Truncated, Malformed, ChecksumMismatch, Limit: The stream is damaged there.
            OSError: From reading.
        """

    def look(self, source: tuple[int, int, bool, float | None], seconds: float | None = None) -> str:
        """``ready`` if a message is there, the end or an error; else why not, as `pull`."""

    def pull_into(
        self, source: tuple[int, int, bool, float | None], buffer: Buffer, seconds: float | None = None
    ) -> tuple[int, tuple[list[bytes], bytes | None, MessageMarks] | None] | str | None:
        """As `take_into`, with the arguments of `pull`; a large message is read into the buffer itself."""

    def push_out(self, descriptor: int, down_to: int, seconds: float | None = None) -> bool:
        """Write to a descriptor that does not block until so few bytes are queued; False if not in time."""

    def clock(self, seconds: float | None) -> None:
        """Remember that the message under way, if one is, must be whole so many seconds after it began."""

    def clock_left(self) -> float | None:
        """Seconds that it has left; None if none is under way."""

    def watch(self, descriptor: int | None = None) -> None:
        """Let `message_poll` watch the descriptor; None, and it has to be asked."""

    def settled(self) -> None:
        """All that was given was used up."""

    @property
    def more(self) -> bool:
        """Whether the last reads stopped before nothing was left."""

    def take_into(
        self, buffer: Buffer
    ) -> tuple[int, tuple[list[bytes], bytes | None, MessageMarks] | None] | None:
        """The payload of one message into a buffer: its length, and the message if it does not fit."""

    def received_end(self) -> None:
        """The stream ends here."""

    def received_failure(self, number: int) -> None:
        """Reading failed with an error of the system."""

    def take(self, count: int, budget: int) -> tuple[list[bytes], bytes | None, MessageMarks] | None:
        """At least one message, at most ``count``, no more behind ``budget`` bytes; None if none is whole.

        Raises:
            Truncated, Malformed, ChecksumMismatch, Limit: The stream is damaged there.
        """

    def note_skipped(self, offset: int) -> None:
        """Count a line that did not decode and was passed over."""

    def accept_last_line(self) -> None:
        """From now on a last line of JSON without its end is taken for whole: the transport cannot cut."""

    def read_ahead(self) -> bytes:
        """All bytes that were received and not taken. Raises if some were already put together."""

    @property
    def inside(self) -> bool:
        """Whether a message has begun and is not whole."""

    @property
    def ready(self) -> bool:
        """Whether `take` gives or raises something, or the end was reached."""

    @property
    def at_end(self) -> bool:
        """Whether the stream ended between messages, and all were taken."""

    @property
    def full(self) -> bool:
        """Whether ``max_ready`` is reached, and reading should stop."""

    @property
    def trusted(self) -> bool:
        """Whether the token came, or none is expected. Raises if another one came, or something else."""

    @property
    def unsent(self) -> int:
        """Bytes that are queued."""

    @property
    def pending(self) -> int:
        """Whole messages that were not taken."""

    @property
    def partial_size(self) -> int:
        """Bytes of the message that is not whole yet."""

    @property
    def peer_codec(self) -> str | None:
        """What the peer says that the messages taken last are in."""

    def partial(self) -> bytes:
        """The bytes of the message that is not whole yet."""

    def status(self) -> tuple[str, int | None, int | None]:
        """Name, offset and hint of the state."""

    def position(self) -> tuple[int, int]:
        """Bytes of whole messages taken and queued."""

    def facts(self) -> dict[str, Any]:
        """Counts."""
