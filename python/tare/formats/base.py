"""What a format and a library are: plain data that the registry lists.

A *format* is a byte layout; a *library* is one implementation of it. Nothing
here imports a library: metadata is eager, libraries are lazy (imported inside
the functions that use them), so listing every codec costs no import.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tare.formats.installable import Installable

__all__ = ["ANY_LANGUAGE", "Buffer", "Format", "Library", "Option", "Stream", "bound", "spell"]

Buffer = bytes | bytearray | memoryview

# Where the most usual text formats are read: every language that a `Format.languages` names.
ANY_LANGUAGE = (
    "c",
    "c++",
    "csharp",
    "go",
    "java",
    "javascript",
    "julia",
    "php",
    "python",
    "r",
    "ruby",
    "rust",
)


@dataclass(frozen=True)
class Option:
    """One option of a library.

    Args:
        default: Value used when the codec id does not name the option.
        choices: Allowed values; empty means any value of ``type``.
        help: One sentence: what it does and why another value.
        type: Name of the type, ``bool``, ``int`` or ``str``; taken from the default, so that only
            an option whose default is None has to say it.

    >>> Option(default=3, choices=(1, 2, 3)).parse("2")
    2
    """

    default: object
    choices: tuple[object, ...] = ()
    help: str = ""
    type: str | None = None

    @property
    def value_type(self) -> str:
        """Type of its values, by name: ``bool``, ``int`` or ``str``."""
        if self.type is not None:
            return self.type
        return "str" if self.default is None else self.default.__class__.__name__

    def parse(self, text: str) -> object:
        """The value that ``text`` spells in a codec id.

        Raises:
            ValueError: It is not a value of this option; the text says what is.
        """
        value: object = text
        if self.value_type == "bool":
            value = _BOOLS.get(text.lower(), text)
        elif self.value_type == "int" and re.fullmatch(r"-?[0-9]{1,18}", text):
            value = int(text)
        if value not in self.choices if self.choices else value.__class__.__name__ != self.value_type:
            raise ValueError(f"expected {self.expected}")
        return value

    @property
    def expected(self) -> str:
        """What it takes, for messages and listings: ``none|zstd``, ``a whole number``."""
        if self.choices:
            return "|".join(spell(choice) for choice in self.choices)
        return {"bool": "true|false", "int": "a whole number"}.get(self.value_type, "text")


_BOOLS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def spell(value: object) -> str:
    """How a codec id spells an option's value: ``true``, ``3``, ``zstd``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


@dataclass(frozen=True)
class Stream:
    """How a library writes and reads in parts, over any binary file.

    Args:
        write: ``write(obj, file, **options)`` writes the parts of ``obj``.
        read: ``read(file, **options)`` yields parts as they arrive; it reads
            no further than it must to give the next one.
        join: ``join(parts)`` makes the list of parts one value of the native kind.
    """

    write: Callable[..., None]
    read: Callable[..., Iterator[Any]]
    join: Callable[[list[Any]], Any]


@dataclass(frozen=True)
class Library(Installable):
    """One implementation of a format.

    Args:
        name: As in the codec id: ``orjson``.
        native: For each kind of data it takes, the in-memory kind that its
            ``encode`` takes and its ``decode`` gives: ``python`` for documents;
            ``arrow``, ``pandas``, ``polars``, ``records`` (list of dicts) or
            ``columns`` (dict of lists) for tables; ``numpy`` for arrays.
        encode: ``encode(obj, **options) -> Buffer``, options resolved.
        decode: ``decode(data, **options) -> obj``.
        modules: What must be importable; empty for the standard library.
        distribution: Name on the package index; empty for the standard library.
        extra: The extra of ``tare`` that installs it; empty for the default install.
        options: The options it takes, by name.
        variants: For each kind, the option sets that ``tare measure`` tries by default.
        threads: ``(1,)``, or ``(1, "all")`` if it can use several cores.
        stream: Reading and writing in parts, if the library can.
        write: ``write(obj, file, **options)`` writes the very bytes of ``encode`` into a binary file, part by
            part where it can, so that they never lie in memory whole; None if they are made whole.
        append: ``append(obj, **options) -> Buffer`` gives bytes that, written behind what ``encode`` made of
            rows or list items, make ``decode`` give all of them; None if it cannot, or would rewrite the file.
        join: ``join(parts, **options) -> Buffer`` makes of what ``encode`` wrote of slices of a table's rows the very
            bytes that it writes of all of them; None if it cannot.
        of_arrow: ``of_arrow(table, **options) -> Iterator[Buffer] | None`` gives, in parts, the very bytes that ``encode``
            makes of an Arrow table in the native kind, without making it; None where it cannot. What is measured is
            ``encode``.
        subset: ``subset(data, columns, **options)`` reads some columns of a table only.
        subset_file: ``subset_file(path, columns)`` gives what ``subset`` gives of the file's bytes, and reads no more of the
            file than it must; None if it has to be read whole.
        rows: ``rows(data, start, count, **options)`` reads a run of rows of a table only.
        path: ``path(data, steps, **options)`` reads one property of a document only; steps are the
            names and positions of a JSON Pointer, as text.
        open: ``open(data, **options)`` gives a lazy view, for ``materialise=open``.
        resolve: ``resolve(options) -> options`` fills in defaults that depend on
            other options, such as the level of the chosen compression.
        set_threads: ``set_threads(n)`` turns the library's own knob, None is all cores; it gives
            the number that was set before, or None if the library does not say.
        max_depth: Deepest nesting that its code survives; None if it refuses by
            itself what is too deep. Deeper values and bytes are refused before it sees them, which
            walks them at every call, also when it is measured.
        check: ``check(data)`` raises if the bytes are damaged in a way that would
            crash this library, or keep it busy for ever; `Codec.decode` runs it first unless the data are trusted. What is
            measured is the call with trust.
        slow: Whether it is written in pure Python: tried last.
        executes_code: Whether hostile bytes can run code, or crash the interpreter, when decoded.
        crashes: Whether damaged bytes can end the process that decodes them: `Codec.decode` has another process
            do it unless the data are trusted, which gives a table of Arrow's. What is measured is the call with trust.
        copies: Options with which decoding copies the bytes and does no more. The bytes of a file are copied once, by
            whoever reads it: then the two are one.
        read_file: ``read_file(path) -> obj`` gives what ``decode`` gives of the file's bytes, read to where they stay, so
            that nothing is copied twice; for the options of ``copies``.
        own_bytes: Options with which it writes a layout of its own, which nothing else of the format reads.
        writes: False for libraries that read only.
        notes: What users should know before they choose it, one sentence each.
        missing: ``missing()`` gives the command that installs what it needs beside its modules, such as
            a server; empty if that is there. None if it needs nothing more.
        from_json: ``from_json(text, **options)`` encodes JSON text without making objects of it.
        to_json: ``to_json(data, **options)`` writes JSON text without making objects of the bytes.
        bind_encode: ``bind_encode(**options)`` gives what encodes a value with these options, at best the
            library's own function; None binds the options to ``encode``. See `bound`.
        bind_decode: ``bind_decode(**options)``, as ``bind_encode``.
        bind_exact: ``bind_exact(**options)`` gives what reads a file that is opened, where the library's own function,
            which `Codec.decode` calls, would cut values, or give types of its own for values that Python has types for;
            None if it is ``bind_decode``'s.
    """

    name: str
    native: Mapping[str, str]
    encode: Callable[..., Buffer]
    decode: Callable[..., Any]
    modules: tuple[str, ...] = ()
    distribution: str = ""
    extra: str = ""
    options: Mapping[str, Option] = field(default_factory=dict)
    variants: Mapping[str, tuple[Mapping[str, object], ...]] = field(default_factory=dict)
    threads: tuple[int | str, ...] = (1,)
    stream: Stream | None = None
    write: Callable[..., None] | None = None
    append: Callable[..., Buffer] | None = None
    join: Callable[..., Buffer] | None = None
    of_arrow: Callable[..., Iterator[Buffer] | None] | None = None
    subset: Callable[..., Any] | None = None
    subset_file: Callable[[str, list[str]], Any] | None = None
    rows: Callable[..., Any] | None = None
    path: Callable[..., Any] | None = None
    open: Callable[..., Any] | None = None
    resolve: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    set_threads: Callable[[int | None], int | None] | None = None
    max_depth: int | None = None
    check: Callable[[Buffer], None] | None = None
    slow: bool = False
    executes_code: bool = False
    crashes: bool = False
    copies: Mapping[str, object] = field(default_factory=dict)
    read_file: Callable[[str], Any] | None = None
    own_bytes: Mapping[str, object] = field(default_factory=dict)
    writes: bool = True
    notes: tuple[str, ...] = ()
    missing: Callable[[], str] | None = None
    from_json: Callable[..., Buffer] | None = None
    to_json: Callable[..., bytes] | None = None
    bind_encode: Callable[..., Callable[[Any], Buffer]] | None = None
    bind_decode: Callable[..., Callable[[Any], Any]] | None = None
    bind_exact: Callable[..., Callable[[Any], Any]] | None = None

    def encoder(self, options: Mapping[str, Any]) -> Callable[[Any], Buffer]:
        """Returns the function that encodes a value with these options."""
        return partial(self.encode, **options) if self.bind_encode is None else self.bind_encode(**options)

    def decoder(self, options: Mapping[str, Any]) -> Callable[[Any], Any]:
        """Returns the function that decodes bytes with these options."""
        return partial(self.decode, **options) if self.bind_decode is None else self.bind_decode(**options)


def bound(
    bind_encode: Callable[..., Callable[[Any], Buffer]], bind_decode: Callable[..., Callable[[Any], Any]]
) -> dict[str, Any]:
    """Returns the four arguments of a `Library` whose options are resolved before it is called.

    >>> library = Library("x", {}, **bound(lambda *, times: lambda obj: obj * times, lambda *, times: bytes))
    >>> library.encode(b"a", times=2), library.encoder({"times": 3})(b"a")
    (b'aa', b'aaa')
    """
    return {
        "encode": lambda obj, **options: bind_encode(**options)(obj),
        "decode": lambda data, **options: bind_decode(**options)(data),
        "bind_encode": bind_encode,
        "bind_decode": bind_decode,
    }


@dataclass(frozen=True)
class Format:
    """A byte layout and the libraries that write and read it.

    Args:
        id: Registry id = module name = name on the command line.
        title: Name as its own specification writes it.
        extensions: File endings, with the dot, most usual first.
        magic: Byte strings a file starts with; empty for text formats.
        kinds: Kinds of data it can hold: ``document``, ``table``, ``array``.
        spec: Address of the written specification; empty if there is none.
        languages: Languages with a kept reader; a ``*`` in ``--codec`` asks no other for the format.
        read_by_tare: Those of them whose only reader is Tare's own; they do not count as independent.
        native_to: Language or program whose own format it is, such as ``r``: it is measured only where it is asked
            for, or where the data is in such a format.
        libraries: The implementations, the default one first.
        text: Whether people can read it.
        executes_code: The same of the format itself, whichever library reads it.
        subset: What can be read without the rest: of ``columns``, ``rows``, ``path``.
        sniff: ``sniff(head: bytes) -> bool`` for formats that no fixed magic tells.
        depth: ``depth(data, limit) -> int``: nesting of encoded bytes, counting
            no further than just above ``limit``; for libraries with ``max_depth``.
        sequence: Whether it holds lists only: several documents, or the rows of a table.
        home: Name of the library that ids leave out when they are printed: for
            formats that are one library's own, such as ``pickle``.
        extension_options: Options that a file ending implies: ``{".tsv": {"delimiter": "tab"}}``.
        extension_compressors: Compressors that a file ending implies: ``{".rds": "gzip:6"}``.
    """

    id: str
    title: str
    extensions: tuple[str, ...]
    kinds: frozenset[str]
    libraries: tuple[Library, ...]
    magic: tuple[bytes, ...] = ()
    spec: str = ""
    languages: tuple[str, ...] = ()
    read_by_tare: tuple[str, ...] = ()
    native_to: str = ""
    text: bool = False
    executes_code: bool = False
    subset: tuple[str, ...] = ()
    sniff: Callable[[bytes], bool] | None = None
    depth: Callable[[Buffer, int], int] | None = None
    sequence: bool = False
    home: str = ""
    extension_options: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    extension_compressors: Mapping[str, str] = field(default_factory=dict)

    @property
    def independent(self) -> tuple[str, ...]:
        """Languages with a reader that is not Tare's own."""
        return tuple(language for language in self.languages if language not in self.read_by_tare)

    @property
    def default(self) -> Library:
        """The library an id without one means: the first that is installed, else the first."""
        return next((lib for lib in self.libraries if lib.installed), self.libraries[0])

    def library(self, name: str) -> Library | None:
        """The library of that name, or None."""
        return next((lib for lib in self.libraries if lib.name == name), None)
