"""The codec id: parse it, print it, encode and decode with it.

Grammar: ``format[:library][,key=value]*[+compressor[:level]]``, for example
``yaml:pyyaml,loader=c``, ``parquet:pyarrow,compression=zstd,level=3`` or
``json:orjson+zstd:3``. The library may be left out: the first installed one of
the format is taken. Options equal to their default are not printed; characters
outside ``A-Z a-z 0-9 . _ -`` in a value are written ``%XX``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from tare import formats, kinds
from tare.errors import (
    DecodeError,
    EncodeError,
    Limit,
    Malformed,
    NotTrusted,
    TareError,
    Truncated,
    Unsupported,
    UsageError,
)
from tare.formats.base import spell

if TYPE_CHECKING:
    import os

    from tare.formats.base import Buffer, Format, Library, Stream

__all__ = ["Codec", "candidates", "decode", "encode", "set_threads", "split_id", "thread_environment"]

_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_ID = re.compile(
    rf"(?P<format>{_NAME})(?::(?P<library>{_NAME}))?(?P<options>(?:,[^,+]*)*)(?:\+(?P<compressor>.*))?",
    re.DOTALL,
)
_MESSAGE_CHARACTERS = 300


@dataclass(frozen=True)
class Codec:
    """A format, a library of it, its options, and a compressor or none: what a case is about.

    Make one with `parse`. Equal codecs print equally and hash equally.

    Args:
        format_id: Id of the format.
        library_name: Name of the library.
        settings: The options that differ from their defaults, sorted by name.
        compressor: Name of the compressor; None if the bytes are not compressed.
        level: The compressor's level; None if it has none.

    >>> codec = Codec.parse("pickle,protocol=2+zstd")
    >>> str(codec), codec.options["impl"], codec.executes_code
    ('pickle,protocol=2+zstd:3', 'c', True)
    """

    format_id: str
    library_name: str
    settings: tuple[tuple[str, object], ...] = ()
    compressor: str | None = None
    level: int | None = None

    @classmethod
    def parse(cls, text: str) -> Codec:
        """The codec that an id names.

        Raises:
            UsageError: Not an id, or a name or value in it does not exist; near names are listed.

        >>> str(Codec.parse("json:orjson,default=refuse"))
        'json:orjson'
        """
        format_id, library_name, given, compressor = split_id(text)
        format = formats.holding(format_id, library_name)
        if library_name is None:
            library = format.default
        else:
            found = format.library(library_name)
            if found is None:
                names = [known.name for known in format.libraries]
                raise UsageError(_unknown(f"the format {format_id} has no library", library_name, names))
            library = found
        settings = tuple(sorted(_settings(text, library, given).items()))
        level = None
        if compressor is not None:
            compressor, level = _compressor(compressor)
        codec = cls(format.id, library.name, settings, compressor, level)
        _ = codec.options  # options that do not go together are told here, not at the first use
        return codec

    @classmethod
    def for_path(cls, path: str | os.PathLike[str]) -> Codec | None:
        """The codec that a file name's endings stand for: format, compressor, delimiter.

        The level is the compressor's default. None if no ending is known.

        >>> str(Codec.for_path("flights.tsv.gz")), Codec.for_path("notes")
        ('csv:pyarrow,delimiter=tab+gzip:6', None)
        """
        import os

        from tare.compress import COMPRESSORS

        name = os.fspath(path).lower()
        found = next((c for c in COMPRESSORS if c.extension and name.endswith(c.extension)), None)
        if found is not None:
            name = name.removesuffix(found.extension)
        format = formats.by_extension(name)
        if format is None:
            return None
        end = max((end for end in format.extensions if name.endswith(end)), key=len)
        implied = format.extension_options.get(end, {})
        library = format.default
        settings = {
            key: value
            for key, value in implied.items()
            if key in library.options and library.options[key].default != value
        }
        compressor, level = _compressor(found.name) if found is not None else (None, None)
        return cls(format.id, library.name, tuple(sorted(settings.items())), compressor, level)

    def __str__(self) -> str:
        text = self.format_id
        if self.library_name != self.format.home:
            text += f":{self.library_name}"
        if self.settings:
            from urllib.parse import quote  # 4 ms that most ids do not need

            text += "".join(f",{key}={quote(spell(value), safe='')}" for key, value in self.settings)
        if self.compressor is not None:
            text += f"+{self.compressor}" + ("" if self.level is None else f":{self.level}")
        return text

    @property
    def format(self) -> Format:
        """The format, from the registry."""
        return formats.holding(self.format_id, self.library_name)

    @property
    def library(self) -> Library:
        """The library, from the registry."""
        library = self.format.library(self.library_name)
        if library is None:
            raise UsageError(f"the format {self.format_id} has no library {self.library_name!r}")
        return library

    @property
    def options(self) -> dict[str, Any]:
        """Every option of the library with its value; defaults that depend on others are filled in.

        Raises:
            UsageError: Two options do not go together.
        """
        library = self.library
        options: dict[str, Any] = {name: option.default for name, option in library.options.items()}
        options.update(self.settings)
        if library.resolve is not None:
            try:
                options = library.resolve(options)
            except ValueError as error:
                raise UsageError(f"{self.format_id}:{self.library_name}: {error}") from error
        return options

    @property
    def executes_code(self) -> bool:
        """Whether decoding can run code that the bytes name."""
        return self.format.executes_code or self.library.executes_code

    @property
    def stream(self) -> Stream | None:
        """Reading and writing in parts; None if the library or the compressor cannot."""
        return self.library.stream if self.compressor is None else None

    def native(self, kind: str) -> str:
        """The in-memory kind that encoding takes and decoding gives for that kind of data.

        Raises:
            Unsupported: The codec does not hold that kind.

        >>> Codec.parse("json:orjson,orient=columns").native("table")
        'columns'
        """
        native = self.library.native.get(kind)
        if native is None:
            holds = " and ".join(f"{kind}s" for kind in self.library.native)
            raise Unsupported(f"{self} holds {holds}, not {kind}s", format=self.format_id)
        if native == "records" and self.options.get("orient") == "columns":
            return "columns"
        return native

    def encoder(self, kind: str) -> Callable[[Any], Buffer]:
        """What measuring times: encodes a value of the native kind, options bound, errors as they come.

        Raises:
            MissingLibrary: The library is not installed.
            Unsupported: The codec does not hold that kind, or the library only reads.
        """
        self.native(kind)
        library = self.library
        library.require()
        if not library.writes:
            raise Unsupported(f"{self} only reads", format=self.format_id)
        encode = partial(library.encode, **self.options)
        if self.compressor is None:
            return encode
        from tare.compress import compress

        id = self.compressor if self.level is None else f"{self.compressor}:{self.level}"
        return lambda obj: compress(encode(obj), id)

    def decoder(self, kind: str) -> Callable[[Buffer], Any]:
        """What measuring times: decodes to the native kind; no check of trust, size or depth.

        Raises:
            MissingLibrary: The library is not installed.
            Unsupported: The codec does not hold that kind.
        """
        self.native(kind)
        self.library.require()
        decode = partial(self.library.decode, **self.options)
        if self.compressor is None:
            return decode
        from tare.compress import decompress

        name = self.compressor
        return lambda data: decode(decompress(data, name))

    def encode(self, obj: Any) -> bytes:
        """Encode a document or a table of any in-memory kind.

        Raises:
            EncodeError: A value that the format cannot hold or the library refuses.
            Limit: It is nested too deeply for the library.
            Unsupported: The codec does not hold this kind of data.
            MissingLibrary: The library is not installed.

        >>> Codec.parse("json:msgspec").encode({"a": [1, 2.5]})
        b'{"a":[1,2.5]}'
        """
        kind = kinds.kind_of(obj)
        if kind == "document" and "document" not in self.library.native:
            kind = "table"
        encode = self.encoder(kind)
        native = self.native(kind)
        limit = self.library.max_depth
        if limit is not None and kind == "document" and _deeper_than(obj, limit):
            raise _too_deep(self, limit)
        with self._mapped(EncodeError):
            data = encode(obj if native == "python" else kinds.convert(obj, native))
            return data if isinstance(data, bytes) else bytes(data)

    def decode(self, data: Buffer, *, trust: bool = False, max_bytes: int | None = None) -> Any:
        """Decode bytes to the native in-memory kind, whole.

        Args:
            data: Any bytes-like object.
            trust: Allow a format in which hostile bytes can run code or crash
                Python, and leave out the checks that keep a library from crashing.
            max_bytes: Longest encoding allowed, after decompression; None is no limit.

        Raises:
            DecodeError: The bytes are not what they should be (`Truncated`, `Malformed`, ...).
            NotTrusted: Decoding can run code, and ``trust`` is not given.
            Limit: Longer than ``max_bytes``, or nested too deeply for the library.
            MissingLibrary: The library is not installed.

        >>> Codec.parse("json:orjson").decode(b'{"a":[1,2.5]}')
        {'a': [1, 2.5]}
        """
        if self.executes_code and not trust:
            raise NotTrusted(
                f"{self.format_id}: reading hostile bytes can run code or crash Python; pass trust=True for data you trust",
                format=self.format_id,
            )
        self.library.require()
        if self.compressor is not None:
            from tare.compress import decompress

            data = decompress(data, self.compressor, max_bytes=max_bytes)
        if not len(data):
            raise Truncated(f"{self.format_id}: no bytes at all", format=self.format_id, offset=0)
        if max_bytes is not None and len(data) > max_bytes:
            raise Limit(
                f"{self.format_id}: {len(data)} bytes, more than max_bytes={max_bytes}", format=self.format_id
            )
        limit = self.library.max_depth
        if limit is not None and self.format.depth is not None and self.format.depth(data, limit) > limit:
            raise _too_deep(self, limit)
        with self._mapped(Malformed):
            if self.library.check is not None and not trust:
                self.library.check(data)
            return self.library.decode(data, **self.options)

    def flags(self) -> dict[str, Any]:
        """What the record keeps of the format and the library beside the times."""
        format, library = self.format, self.library
        return {
            "executes_code": self.executes_code,
            "spec": format.spec,
            "languages": list(format.languages),
            "streams": self.stream is not None,
            "append": format.append,
            "subset": list(format.subset) if library.subset is not None and self.compressor is None else [],
            "text": format.text and self.compressor is None,
        }

    def versions(self) -> dict[str, str | None]:
        """Version of everything that runs: the library, what it builds on, the compressor."""
        from importlib import metadata

        library = self.library
        found = {library.distribution or "python": library.version}
        for module in library.modules[1:]:
            try:
                found[module] = metadata.version(module)
            except metadata.PackageNotFoundError:
                continue
        if self.compressor is not None:
            from tare._version import __version__

            found["tare"] = __version__
        return found

    @contextmanager
    def _mapped(self, general: type[EncodeError | Malformed]) -> Iterator[None]:
        """Turn whatever a library raises into an error of ours, with its cause kept."""
        try:
            yield
        except (TareError, KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except RecursionError as error:
            raise Limit(f"{self}: nested too deeply for this library", format=self.format_id) from error
        except MemoryError as error:
            raise Limit(f"{self}: not enough memory", format=self.format_id) from error
        except BaseException as error:  # a panic of a Rust library is no Exception
            if general is EncodeError:
                raise EncodeError(f"{self}: {_message(error)}", format=self.format_id) from error
            offset = _offset(error)
            cls: type[DecodeError] = Truncated if _is_truncation(error) else Malformed
            raise cls(f"{self}: {_message(error)}", format=self.format_id, offset=offset) from error


def encode(obj: Any, id: str) -> bytes:
    """Encode a value with the codec of that id; see `Codec.encode`.

    Raises:
        UsageError: The id names nothing.
        EncodeError: The codec refuses the value.

    >>> encode([1, None], "json:orjson")
    b'[1,null]'
    """
    return Codec.parse(id).encode(obj)


def decode(data: Buffer, id: str, *, trust: bool = False) -> Any:
    """Decode bytes with the codec of that id; see `Codec.decode`.

    Raises:
        UsageError: The id names nothing.
        DecodeError: The bytes are not what they should be.
        NotTrusted: Decoding can run code, and ``trust`` is not given.

    >>> decode(b'[1,null]', "json:orjson")
    [1, None]
    """
    return Codec.parse(id).decode(data, trust=trust)


def split_id(text: str) -> tuple[str, str | None, dict[str, str], str | None]:
    """Split an id by the grammar alone: format, library, options, compressor with level.

    Nothing is looked up, so ids of other languages' workers split too.

    Raises:
        UsageError: Not an id.

    >>> split_id("yaml:pyyaml,loader=c+zstd:9")
    ('yaml', 'pyyaml', {'loader': 'c'}, 'zstd:9')
    """
    match = _ID.fullmatch(text)
    if match is None:
        raise UsageError(
            f"not a codec id: {text[:80]!r}; expected format[:library][,key=value]*[+compressor[:level]]"
        )
    options: dict[str, str] = {}
    for part in match["options"].split(",")[1:]:
        key, equals, value = part.partition("=")
        if not equals or not key:
            raise UsageError(f"{text[:80]!r}: expected key=value after a comma, not {part[:80]!r}")
        if key in options:
            raise UsageError(f"{text[:80]!r}: the option {key!r} is given twice")
        if "%" in value:
            from urllib.parse import unquote

            value = unquote(value)
        options[key] = value
    return match["format"], match["library"], options, match["compressor"]


def candidates(kind: str, *, extras: bool = True, sequence: bool = False) -> list[Codec]:
    """What ``tare measure`` tries by default: installed libraries in their default variants.

    Args:
        kind: ``document`` or ``table``.
        extras: Whether libraries of Tare's optional extras count too.
        sequence: Whether the document is a list of documents, which formats such as NDJSON can hold.

    Returns:
        Most useful first: formats made for the kind before those that can also
        hold it, compressed forms next, libraries in pure Python last.
    """
    ranked: list[tuple[bool, bool, Codec]] = []
    for format in formats.FORMATS:
        if format.sequence and kind == "document" and not sequence:
            continue
        for library in format.libraries:
            if kind not in library.native or not library.installed or (library.extra and not extras):
                continue
            for variant in library.variants.get(kind, ({},)):
                settings = tuple(
                    sorted((k, v) for k, v in variant.items() if library.options[k].default != v)
                )
                ranked.append((library.slow, len(format.kinds) > 1, Codec(format.id, library.name, settings)))
    ranked.sort(key=lambda entry: entry[:2])  # stable: the registry's order within a rank
    quick = [codec for slow, _, codec in ranked if not slow]
    pressed = [Codec.parse(id) for id in _COMPRESSED[kind]]
    pressed = [codec for codec in pressed if codec.library.installed and (extras or not codec.library.extra)]
    return quick + pressed + [codec for slow, _, codec in ranked if slow]


# Compressed forms worth a row of their own: the usual text and the usual binary format.
_COMPRESSED: Mapping[str, tuple[str, ...]] = {
    "document": ("json:orjson+zstd:3", "json:orjson+gzip:6", "msgpack:msgspec+zstd:3", "msgpack:msgspec+lz4"),
    "table": ("csv:pyarrow+zstd:3", "csv:pyarrow+gzip:6"),
}


def set_threads(codec: Codec, threads: int | str) -> int | None:
    """Turn the in-process knobs of the codec's library; the driver sets `thread_environment` before.

    Args:
        codec: The codec about to run.
        threads: A number of threads, or ``all``.

    Returns:
        The number that was set before; None if the library has no knob or does not say.
    """
    knob = codec.library.set_threads
    if knob is None or not codec.library.installed:
        return None
    return knob(None if threads == "all" else int(threads))


def thread_environment(threads: int | str) -> dict[str, str]:
    """Environment of a process in which every library uses that many threads; empty for ``all``.

    >>> thread_environment(1)["POLARS_MAX_THREADS"]
    '1'
    """
    if threads == "all":
        return {}
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS",
             "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS", "POLARS_MAX_THREADS", "ARROW_IO_THREADS",
             "BLOSC_NTHREADS")  # fmt: skip
    return dict.fromkeys(names, str(threads))


def _settings(text: str, library: Library, given: Mapping[str, str]) -> dict[str, object]:
    settings: dict[str, object] = {}
    for key, raw in given.items():
        option = library.options.get(key)
        if option is None:
            raise UsageError(
                _unknown(f"{text[:80]!r}: {library.name} has no option", key, list(library.options))
            )
        try:
            value = option.parse(raw)
        except ValueError as error:
            raise UsageError(f"{text[:80]!r}: {key}={raw[:80]}: {error}") from error
        if value != option.default or type(value) is not type(option.default):
            settings[key] = value
    return settings


def _compressor(text: str) -> tuple[str | None, int | None]:
    from tare.compress import parse

    name, level = parse(text)
    return (None, None) if name == "none" else (name, level)


def _unknown(what: str, name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, cutoff=0.5) or known
    hint = f"did you mean {', '.join(near)}?" if near else "it has none"
    return f"{what} {name[:80]!r}; {hint}"


def _too_deep(codec: Codec, limit: int) -> Limit:
    return Limit(
        f"{codec}: nested deeper than {limit} levels, more than this library survives; another library may take it",
        format=codec.format_id,
    )


def _deeper_than(obj: object, limit: int) -> bool:
    """Whether containers are nested more than ``limit`` deep, by level and without recursion."""
    level: dict[int, Any] = {id(obj): obj}
    for _ in range(limit):
        below: dict[int, Any] = {}  # by identity: what is shared is looked at once a level
        for item in level.values():
            values = (
                item.values() if isinstance(item, dict) else item if isinstance(item, (list, tuple)) else ()
            )
            below.update((id(value), value) for value in values if isinstance(value, (dict, list, tuple)))
        if not below:
            return False
        level = below
    return True


_ENDS_EARLY = re.compile(
    r"truncat|unexpected(ly)? end|unexpected eof|incomplete|\beof\b|end of (the )?(data|input|file|stream|buffer|string)"
    r"|premature|too (short|small)|not enough (data|bytes)|ran out|no more data|exhausted",
    re.IGNORECASE,
)


def _is_truncation(error: BaseException) -> bool:
    """Whether a library's error says that the bytes end too early; libraries have no common class."""
    return isinstance(error, EOFError) or _ENDS_EARLY.search(str(error)) is not None


def _offset(error: BaseException) -> int | None:
    """Byte offset, where the error carries one (text offsets count characters: close enough to look)."""
    for name in ("pos", "start"):
        value = getattr(error, name, None)
        if isinstance(value, int):
            return value
    return None


def _message(error: BaseException) -> str:
    """The library's message on one line, escaped and cut: it may quote the data."""
    text = " ".join(str(error).split()) or type(error).__name__
    text = "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)
    return text if len(text) <= _MESSAGE_CHARACTERS else text[: _MESSAGE_CHARACTERS - 3] + "..."
