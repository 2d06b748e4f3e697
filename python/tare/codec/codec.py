"""The codec: a format, a library of it, its options and a compressor; encode and decode with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from tare import formats, kinds
from tare.codec.compressing import packed, unpacked
from tare.codec.ids import compressor_of, settings_of, split_id, unknown
from tare.codec.refusals import deeper_than, mapped, too_deep
from tare.errors import EncodeError, Limit, Malformed, NotTrusted, Truncated, Unsupported, UsageError
from tare.formats.base import spell

if TYPE_CHECKING:
    import os

    from tare.formats.base import Buffer, Format, Library, Stream

__all__ = ["Codec", "decode", "encode"]


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
                raise UsageError(unknown(f"the format {format_id} has no library", library_name, names))
            library = found
        settings = tuple(sorted(settings_of(text, library, given).items()))
        level = None
        if compressor is not None:
            compressor, level = compressor_of(compressor)
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
        compressor, level = compressor_of(found.name) if found is not None else (None, None)
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
        return self._encoder(kind, self.library.encode)

    def _encoder(self, kind: str, function: Callable[..., Buffer]) -> Callable[[Any], Buffer]:
        self.native(kind)
        self.library.require()
        if not self.library.writes:
            raise Unsupported(f"{self} only reads", format=self.format_id)
        encode = partial(function, **self.options)
        if self.compressor is None:
            return encode
        name, level = self.compressor, self.level
        return lambda obj: packed(encode(obj), name, level)

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
        name = self.compressor
        return lambda data: decode(unpacked(data, name))

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
        return self._encoded(obj, self.library.encode)

    def append(self, obj: Any) -> bytes:
        """Encode rows or list items as bytes that, written at the end of a file of this codec, add them to it.

        A compressor begins a new member, which every reader takes for a continuation.

        Raises:
            EncodeError: A value that the format cannot hold or the library refuses.
            Limit: It is nested too deeply for the library.
            Unsupported: The codec cannot be appended to, or does not hold this kind of data.
            MissingLibrary: The library is not installed.

        >>> codec = Codec.parse("ndjson:orjson+zstd:3")
        >>> codec.decode(codec.encode([{"a": 1}]) + codec.append([{"a": 2}]))
        [{'a': 1}, {'a': 2}]
        """
        if self.library.append is None:
            raise Unsupported(f"{self} cannot be appended to: write the whole again", format=self.format_id)
        return self._encoded(obj, self.library.append)

    def _encoded(self, obj: Any, function: Callable[..., Buffer]) -> bytes:
        kind = kinds.kind_of(obj)
        if kind == "document" and "document" not in self.library.native:
            kind = "table"
        encode = self._encoder(kind, function)
        native = self.native(kind)
        limit = self.library.max_depth
        if limit is not None and kind == "document" and deeper_than(obj, limit):
            raise too_deep(self, limit)
        with mapped(self, EncodeError):
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
            data = unpacked(data, self.compressor, max_bytes)
        if not len(data):
            raise Truncated(f"{self.format_id}: no bytes at all", format=self.format_id, offset=0)
        if max_bytes is not None and len(data) > max_bytes:
            raise Limit(
                f"{self.format_id}: {len(data)} bytes, more than max_bytes={max_bytes}", format=self.format_id
            )
        limit = self.library.max_depth
        if limit is not None and self.format.depth is not None and self.format.depth(data, limit) > limit:
            raise too_deep(self, limit)
        with mapped(self, Malformed):
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
            "append": library.append is not None,
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
