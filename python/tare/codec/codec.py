"""The codec: a format, a library of it, its options and a compressor; encode and decode with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast

from tare import formats, kinds
from tare.codec.bound import Encoders, rows_encoder, shallow, shallow_bytes, text_parts, write_parts
from tare.codec.compressing import Counted, compressor_id, packer, packing, peer_of, unpacked, unpacking
from tare.codec.ids import compressor_of, settings_of, split_id, unknown
from tare.codec.refusals import PASSED, mapped, ours
from tare.codec.whole_files import copies
from tare.errors import EncodeError, Limit, Malformed, NotTrusted, Truncated, Unsupported, UsageError
from tare.formats.base import spell

if TYPE_CHECKING:
    import os
    from typing import BinaryIO

    from tare.codec.compressing import Settings
    from tare.codec.peers import Peer
    from tare.formats.base import Buffer, Format, Library, Stream

__all__ = ["Codec"]


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
        compressor_settings: The compressor's options that differ from their defaults, sorted by
            name: another library of it, or how Tare's own lays out its chunks.

    >>> codec = Codec.parse("pickle,protocol=2+zstd")
    >>> str(codec), codec.options["impl"], codec.executes_code
    ('pickle,protocol=2+zstd:3', 'c', True)
    """

    format_id: str
    library_name: str
    settings: tuple[tuple[str, object], ...] = ()
    compressor: str | None = None
    level: int | None = None
    compressor_settings: Settings = ()

    @classmethod
    def parse(cls, text: str) -> Codec:
        """The codec that an id names.

        Raises:
            UsageError: Not an id, or a name or value in it does not exist; near names are listed.

        >>> str(Codec.parse("json:orjson,default=refuse")), str(Codec.parse("tsv:polars"))
        ('json:orjson', 'csv:polars,delimiter=tab')
        """
        format_id, library_name, given, compressor = split_id(text)
        if format_id == "tsv":
            format_id, given = "csv", {"delimiter": "tab", **given}
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
        level: int | None = None
        pressing: Settings = ()
        if compressor is not None:
            compressor, level, pressing = compressor_of(compressor)
        codec = cls(format.id, library.name, settings, compressor, level, pressing)
        _ = codec.options  # options that do not go together are told here, not at the first use
        return codec

    @classmethod
    def for_path(cls, path: str | os.PathLike[str]) -> Codec | None:
        """The codec that a file name's endings stand for: format, compressor, delimiter.

        The level is the compressor's default, the compressor that the format's own ending implies if
        none is named. None if no ending is known.

        >>> str(Codec.for_path("flights.tsv.gz")), Codec.for_path("notes")
        ('csv:pyarrow,delimiter=tab+gzip:6', None)
        >>> str(Codec.for_path("flights.rds"))
        'rds:tare+gzip:6'
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
        compressor, level, pressing = compressor_of(
            found.name if found is not None else format.extension_compressors.get(end, "none")
        )
        return cls(format.id, library.name, tuple(sorted(settings.items())), compressor, level, pressing)

    def __str__(self) -> str:
        text = self.format_id
        if self.library_name != self.format.home:
            text += f":{self.library_name}"
        if self.settings:
            from urllib.parse import quote  # 4 ms that most ids do not need

            text += "".join(f",{key}={quote(spell(value), safe='')}" for key, value in self.settings)
        if self.compressor is not None:
            text += f"+{compressor_id(self.compressor, self.level, self.compressor_settings)}"
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
    def peer(self) -> Peer | None:
        """The library that compresses, if that is another than Tare: for measuring beside its own.

        >>> Codec.parse("csv+gzip:6,library=stdlib").peer.own_container, Codec.parse("csv+gzip").peer
        (False, None)
        """
        return peer_of(self.compressor, self.compressor_settings)

    @property
    def installed(self) -> bool:
        """Whether all that runs can be found: the library, and the compressor's if it is another."""
        return self.library.installed and (self.peer is None or self.peer.installed)

    @property
    def install_line(self) -> str:
        """The command that installs what is missing; the library's if nothing is."""
        if self.library.installed and self.peer is not None:
            return self.peer.install_line
        return self.library.install_line

    def require(self) -> None:
        """Raise MissingLibrary with the install line unless all that runs is installed."""
        self.library.require()
        if self.peer is not None:
            self.peer.require()

    def threads(self, medium: str = "memory") -> tuple[int | str, ...]:
        """``(1,)``, or ``(1, "all")`` if the library or the compressor can use several cores there.

        >>> Codec.parse("csv:stdlib").threads(), Codec.parse("csv:stdlib+zstd").threads()
        ((1,), (1, 'all'))
        """
        found = self.peer
        medium = "memory" if medium == "store" else medium  # what is stored is encoded in memory first
        parallel = (
            medium in found.parallel if found is not None else self.compressor in ("zstd", "lz4", "gzip")
        )
        return (1, "all") if parallel else self.library.threads

    @cached_property
    def thread_knob(self) -> Callable[[int | None], int | None] | None:
        """Returns the function that sets the number of threads; None if the library has none, or is not installed."""
        library = self.library
        return library.set_threads if library.set_threads is not None and library.installed else None

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
        """Returns the call that runs and that measuring times: encodes a value of the native kind.

        Options are resolved, and errors come as the library raises them. It is the library's own function
        where that can be; values that could overflow its stack are looked at for their depth first.

        Raises:
            MissingLibrary: The library is not installed.
            Unsupported: The codec does not hold that kind, or the library only reads.
        """
        return self._packed(self._plain_encoder(kind))

    def _packed(self, encode: Callable[[Any], Buffer]) -> Callable[[Any], Buffer]:
        if self.compressor is None:
            return encode
        pack = packer(self.compressor, self.level, self.compressor_settings)
        return lambda obj: pack(encode(obj))

    def _plain_encoder(
        self, kind: str, function: Callable[..., Buffer] | None = None
    ) -> Callable[[Any], Buffer]:
        """The call of the library, or of another function of it, with options bound and depth looked at."""
        library = self.library
        self.native(kind)
        self.require()
        if not library.writes:
            raise Unsupported(f"{self} only reads", format=self.format_id)
        encode = library.encoder(self.options) if function is None else partial(function, **self.options)
        limit = self._depth_limit(kind)
        return encode if limit is None else shallow(self, limit, encode)

    def _in_parts(self, kind: str) -> Callable[..., None] | None:
        """The library's writing in parts, as `_plain_encoder`; None if it has none."""
        if self.library.write is None:
            return None
        write, limit = partial(self.library.write, **self.options), self._depth_limit(kind)
        return write if limit is None else shallow(self, limit, write)

    def _depth_limit(self, kind: str) -> int | None:
        """The deepest nesting of a value; None where the library refuses what is deeper, or tables are flat."""
        return self.library.max_depth if kind == "document" else None

    def writer(self, kind: str) -> Callable[[Any, BinaryIO], None]:
        """What measuring times: encodes a value of the native kind into a file, compressed on its way.

        What the format's library and the compressor write part by part never lies in memory whole;
        another library's compressor writes as its users write files.

        Raises:
            MissingLibrary: A library is not installed.
            Unsupported: The codec does not hold that kind, or the library only reads.
        """
        return self._writer(self._plain_encoder(kind), self._in_parts(kind))

    def _writer(
        self, encode: Callable[[Any], Buffer], in_parts: Callable[..., None] | None
    ) -> Callable[[Any, BinaryIO], None]:
        # An unbuffered file may take less than it is given: whoever opens one wraps it in `Counted`.
        name, level, settings = self.compressor, self.level, self.compressor_settings

        def write(obj: Any, file: BinaryIO) -> None:
            if in_parts is not None and name is not None:
                with packing(file, name, level, settings) as out:
                    in_parts(obj, out)
                return
            data = encode(obj)
            if name is None:
                file.write(data)
                return
            with packing(file, name, level, settings, size=memoryview(data).nbytes) as out:
                out.write(data)

        return write

    def reader(self, kind: str) -> Callable[[BinaryIO], Any]:
        """What measuring times: reads a file to its end and decodes it, as `decoder`.

        Raises:
            MissingLibrary: A library is not installed.
            Unsupported: The codec does not hold that kind.
        """
        if self.peer is None:
            decode_whole = self.decoder(kind)
            return lambda file: decode_whole(file.read())
        decode = replace(self, compressor=None, level=None, compressor_settings=()).decoder(kind)
        self.require()
        name, settings = self.compressor or "", self.compressor_settings

        def read(file: BinaryIO) -> Any:
            with unpacking(file, name, settings) as plain:
                data = plain.read()
            return decode(data)

        return read

    def decoder(self, kind: str) -> Callable[[Buffer], Any]:
        """Returns the call that measuring times, and that runs with ``trust=True``: decodes to the native kind.

        Raises:
            MissingLibrary: The library is not installed.
            Unsupported: The codec does not hold that kind.
        """
        self.native(kind)
        self.require()
        decode = self._plain_decoder()
        if self.compressor is None:
            return decode
        name, settings = self.compressor, self.compressor_settings
        return lambda data: decode(unpacked(data, name, None, settings))

    def _plain_decoder(self) -> Callable[[Buffer], Any]:
        decode, depth, limit = self.library.decoder(self.options), self.format.depth, self.library.max_depth
        return decode if limit is None or depth is None else shallow_bytes(self, limit, depth, decode)

    def encode(self, obj: Any) -> bytes:
        """Encode a document or a table of any in-memory kind.

        It is the call that was measured: less than a microsecond is added, whatever the size of the value.
        A table of another kind than the library's own is converted first.

        Raises:
            EncodeError: A value that the format cannot hold or the library refuses.
            Limit: It is nested too deeply for the library.
            Unsupported: The codec does not hold this kind of data.
            MissingLibrary: The library is not installed.

        >>> Codec.parse("json:msgspec").encode({"a": [1, 2.5]})
        b'{"a":[1,2.5]}'
        """
        try:
            data = self._encoders[kinds.class_kind(type(obj))](obj)
            return data if isinstance(data, bytes) else bytes(data)
        except PASSED:
            raise
        except BaseException as error:  # a panic of a Rust library is not an Exception
            raise ours(self, EncodeError, error) from error

    @cached_property
    def _encoders(self) -> Encoders:
        return Encoders(self)

    def write(self, obj: Any, file: BinaryIO) -> int:
        """Encode a document or a table of any in-memory kind into a binary file, compressed on its way.

        Where the library and the compressor write part by part, memory beside the value does not
        grow with it. The bytes are those of `encode`, but for what a frame says of its length.

        Returns:
            Bytes written.

        Raises:
            EncodeError, Limit, Unsupported, MissingLibrary: As `encode`; something may be written by then.
            OSError: From the file.

        >>> import io
        >>> file = io.BytesIO()
        >>> codec = Codec.parse("json:orjson+zstd")
        >>> size = codec.write({"a": [1, None]}, file)
        >>> codec.decode(file.getvalue())
        {'a': [1, None]}
        """
        kind, value = self._taken(obj)
        write, in_parts = self.writer(kind), self._in_parts(kind)
        of_rows = rows_encoder(self, kind) if kinds.class_kind(type(obj)) and in_parts is None else None
        if of_rows is not None:
            write, value = self._writer(of_rows, None), lambda: obj
        counted = Counted(file)
        with mapped(self, EncodeError, but=OSError):
            if kind == "table" and self.library.of_arrow is not None and self.native(kind) == "arrow":
                obj = value()  # once for both ways
                value = lambda: obj  # noqa: E731 - as above
            if kind == "table" and (parts := text_parts(self, obj)) is not None:
                return write_parts(self, parts, file)
            if self.compressor is None and in_parts is not None:
                in_parts(value(), counted)  # `writer` measures encoding, then writing
            else:
                write(value(), cast("BinaryIO", counted))
        return counted.count

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
        if self.library.append is None or self.peer is not None:  # some read the first frame only
            raise Unsupported(f"{self} cannot be appended to: write the whole again", format=self.format_id)
        kind, value = self._taken(obj)
        encode = self._packed(self._plain_encoder(kind, self.library.append))
        with mapped(self, EncodeError):
            data = encode(value())
            return data if isinstance(data, bytes) else bytes(data)

    def _taken(self, obj: Any) -> tuple[str, Callable[[], Any]]:
        """The kind of data that a value is taken for, and what makes it one of the native kind."""
        memory = kinds.class_kind(type(obj))
        kind = self._data_kind(memory)
        convert = self._converter(kind, memory)
        return kind, lambda: obj if convert is None else convert(obj)

    def _data_kind(self, memory: str) -> str:
        """The kind of data that a value of an in-memory kind of tables, or of none, is taken for."""
        native = self.library.native
        if memory or "document" in native:
            return "table" if memory else "document"
        return "array" if "array" in native else "table"

    def _converter(self, kind: str, memory: str) -> Callable[[Any], Any] | None:
        """Returns the function that converts a value to the native kind; None if it has that kind."""
        native = self.native(kind)
        if native in ("python", "numpy", memory):
            return None
        return lambda obj: kinds.convert(obj, native)

    def decode(self, data: Buffer, *, trust: bool = False, max_bytes: int | None = None) -> Any:
        """Decode bytes to the native in-memory kind, whole.

        With ``trust`` it is the call that was measured: less than a microsecond is added, whatever the size
        of the data; but MessagePack is searched for timestamps, of which datetimes are made. Without it that is so too, but for Arrow, Parquet read by polars and PostgreSQL's
        JSONB, whose libraries damaged bytes could crash: these are read once more before; for CBOR, which is
        searched for keys that would take forever to hash; and for ORC, which is read by another process.

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
        decode = self._trusting if trust else self._wary
        if self.compressor is not None:
            data = self._unpacked(data, max_bytes)
        if not len(data):
            raise Truncated(f"{self.format_id}: no bytes at all", format=self.format_id, offset=0)
        if max_bytes is not None and len(data) > max_bytes:
            raise Limit(
                f"{self.format_id}: {len(data)} bytes, more than max_bytes={max_bytes}", format=self.format_id
            )
        try:
            return decode(data)
        except PASSED:
            raise
        except BaseException as error:
            raise ours(self, Malformed, error, len(data)) from error

    @cached_property
    def _trusting(self) -> Callable[[Buffer], Any]:
        """Decodes bytes that are not compressed and that the caller trusts."""
        self.require()
        with mapped(self, Malformed):
            exact = self.library.bind_exact
            return self._plain_decoder() if exact is None else exact(**self.options)

    @cached_property
    def _wary(self) -> Callable[[Buffer], Any]:
        """Decodes bytes that are not compressed and that may be damaged or hostile."""
        if self.executes_code:
            raise NotTrusted(
                f"{self.format_id}: reading hostile bytes can run code or crash Python; pass trust=True for data you trust",
                format=self.format_id,
            )
        if self.library.crashes:
            return self._apart
        decode, check = self._trusting, self.library.check
        if check is None:
            return decode
        checked = check

        def wary(data: Buffer) -> Any:
            checked(data)
            return decode(data)

        return wary

    def _apart(self, data: Buffer) -> Any:
        """Decodes bytes in a process that they may crash."""
        from tare import child_process

        asked = {"format": self.format_id, "library": self.library_name, "options": self.options}
        try:
            return child_process.read_table("decode", data, **asked)[0]
        except (Malformed, Limit) as error:
            raise type(error)(f"{self.format_id}: {error}", format=self.format_id) from error

    def __reduce__(self) -> tuple[type[Codec], tuple[Any, ...]]:
        return type(self), (  # without the calls that were bound
            self.format_id, self.library_name, self.settings,
            self.compressor, self.level, self.compressor_settings,
        )  # fmt: skip

    def _unpacked(self, data: Buffer, max_bytes: int | None) -> Buffer:
        name, settings = self.compressor or "", self.compressor_settings
        if self.peer is None:
            return unpacked(data, name, max_bytes)
        with mapped(self, Malformed):  # what another library raises is no error of ours
            return unpacked(data, name, max_bytes, settings)

    def flags(self) -> dict[str, Any]:
        """What the record keeps of the format and the library beside the times."""
        format, library = self.format, self.library
        own = any(self.options.get(name) == value for name, value in library.own_bytes.items())
        return {
            "executes_code": self.executes_code,
            "spec": "" if own else format.spec,
            "languages": ["python"] if own else list(format.languages),
            "independent": ["python"] if own else list(format.independent),
            "streams": self.stream is not None,
            "append": library.append is not None and self.peer is None,
            "subset": list(format.subset) if library.subset is not None and self.compressor is None else [],
            "text": format.text and self.compressor is None,
            "copies": copies(self),
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

            other = self.peer
            found["tare" if other is None else other.name] = __version__ if other is None else other.version
        return found

    def compressor_options(self) -> dict[str, Any]:
        """Every option of the compressor with its value, its library among them; empty without one.

        >>> Codec.parse("arrow+zstd").compressor_options()
        {'library': 'tare'}
        """
        if self.compressor is None:
            return {}
        other = self.peer
        if other is None:
            return {"library": "tare", **dict(self.compressor_settings)}
        defaults = {name: option.default for name, option in other.options.items()}
        return {"library": other.name, **defaults, **dict(self.compressor_settings)}
