"""The codec of a connection: values to payloads and back, compressed message by message."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tare.codec.codec import Codec
from tare.codec.compressing import packed
from tare.codec.ids import compressor_of, split_id
from tare.codec.refusals import deeper_than
from tare.codec.route_ids import codec_part
from tare.errors import (
    CodecMismatch,
    DecodeError,
    EncodeError,
    Limit,
    MissingLibrary,
    TareError,
    Unsupported,
    UsageError,
)
from tare.formats import msgpack_times
from tare.formats.scalars import hook

if TYPE_CHECKING:
    from tare.formats.base import Buffer

__all__ = ["MessageCodec", "adopted", "native_framing"]

RAW = "raw"
_FILE = "file"  # bytes that `tare.messages.files` makes and takes
_BYTES = (RAW, _FILE)
_NATIVE = {"msgpack": "msgpack", "cbor": "cbor", "json": "ndjson"}
_CONTAINERS = ("zstd", "lz4", "gzip")  # what a message with the flag COMPRESSED may hold
_DEFAULT_DEPTH = 512
_FEW = 4  # of fewer payloads, and of more bytes, each is decoded by itself
_JOINED = 1 << 20


class MessageCodec:
    """What a connection encodes and decodes with.

    Args:
        id: A codec's id, or ``raw`` for bytes as they are, or ``file`` for those of `tare.messages.files`;
            each may end in ``+compressor:level``.
        framing: ``frame``, ``native`` or ``native:wrap``.
        max_message: Longest payload, before and after decompression.
        max_depth: Deepest nesting of a value.
        compress_min: From how many bytes on a payload is compressed.

    Raises:
        Unsupported: The codec runs code when it decodes, or does not go with the framing.
        UsageError: The id names nothing.
        MissingLibrary: The library is not installed.
    """

    def __init__(self, id: str, framing: str, *, max_message: int, max_depth: int, compress_min: int) -> None:
        self.max_message = max_message
        self.max_depth = max_depth
        self.compress_min = compress_min
        self._compressor: tuple[str, int | None, Any] | None = None
        id = codec_part(id)
        format_id, _, _, compressor = split_id(id)
        self.plain: Codec | None = None
        if format_id in _BYTES:
            self._raw(id, compressor)
        else:
            codec = Codec.parse(id)
            _refuse_code(codec)
            codec.require()
            if codec.compressor is not None:
                self._compressor = (codec.compressor, codec.level, codec.compressor_settings)
            self.plain = replace(codec, compressor=None, level=None, compressor_settings=())
            self.id, self.format = str(codec), codec.format_id
        self.native = native_framing(self, framing)
        self._check_compressor()
        self.encode: Callable[[Any], bytes]
        self.decode: Callable[[Any], Any]
        fast = self._fast()
        self.encode, self.decode = fast or (self._encode_whole, self._decode_whole)
        self._decode_many: Callable[[bytes], list[Any]] | None = None
        """Decodes values that stand one behind the other, where framing made sure that each is whole."""
        if max_depth != _DEFAULT_DEPTH and self.plain is not None:
            self.decode = partial(self._decode_shallow, self.decode)
        elif self.native == "msgpack" and fast is not None and self.plain is not None:
            self._decode_many = _MANY.get(self.plain.library_name)

    def _raw(self, id: str, compressor: str | None) -> None:
        name = id.partition("+")[0]
        if name not in _BYTES:
            raise UsageError(f"{id[:80]!r}: {' and '.join(_BYTES)} have no libraries and no options")
        if compressor is not None:
            compressor_name, level, settings = compressor_of(compressor)
            if compressor_name is not None:
                self._compressor = (compressor_name, level, settings)
        self.id, self.format = id, name

    def _check_compressor(self) -> None:
        if self._compressor is None:
            return
        if self.native is not None and self.native != "wrap":
            raise Unsupported(
                f"{self.id}: native framing has no compressed messages; use framing='frame'",
                format=self.format,
            )
        if self._compressor[0] not in _CONTAINERS:
            raise Unsupported(
                f"{self.id}: messages are compressed by {', '.join(_CONTAINERS)}, not by {self._compressor[0]}",
                format=self.format,
            )

    @property
    def is_raw(self) -> bool:
        """Whether values are bytes."""
        return self.format in _BYTES

    @property
    def compresses(self) -> bool:
        """Whether payloads may be compressed."""
        return self._compressor is not None

    def _fast(self) -> tuple[Callable[[Any], bytes], Callable[[Any], Any]] | None:
        """The library's own functions, where what the registry does around them is not needed."""
        if self.plain is None:
            return _as_bytes, bytes
        options = self.plain.options
        make = _FAST.get((self.plain.format_id, self.plain.library_name))
        if make is None or options.get("orient") == "columns" or options.get("impl", "c") != "c":
            return None
        return make(options, self._encode_whole)

    def _encode_whole(self, value: Any) -> bytes:
        assert self.plain is not None
        return self.plain.encode(value)

    def _decode_whole(self, data: Buffer) -> Any:
        assert self.plain is not None
        return self.plain.decode(data)

    def _decode_shallow(self, decode: Callable[[Any], Any], data: Buffer) -> Any:
        value = decode(data)
        if deeper_than(value, self.max_depth):
            raise Limit(f"{self.id}: nested deeper than max_depth={self.max_depth}", format=self.format)
        return value

    def encoded(self, value: Any) -> bytes:
        """The payload of a value, not compressed.

        Raises:
            EncodeError, Limit, Unsupported: As `tare.Codec.encode`.
        """
        if self.plain is None:
            return _as_bytes(value)
        try:
            return self.encode(value)
        except Exception:  # a table, or what the library refuses: the registry converts or explains
            return self._encode_whole(value)

    def encoded_many(self, values: Sequence[Any]) -> tuple[list[bytes], Exception | None]:
        """The payloads of values up to the first that cannot be encoded, and its error."""
        if self.plain is None and set(map(type, values)) <= {bytes}:
            return list(values), None
        done: list[bytes] = []
        rest: Iterable[Any] = values
        while True:
            try:
                done.extend(map(self.encode, rest))  # keeps what was done before an error
            except Exception:
                try:
                    done.append(self.encoded(values[len(done)]))
                except Exception as error:
                    return done, error
                rest = values[len(done) :]
            else:
                return done, None

    def decoded_many(self, payloads: list[bytes]) -> list[Any]:
        """The values of payloads that are not compressed; at any error none."""
        if self.is_raw:
            return payloads
        if self._decode_many is not None and len(payloads) >= _FEW and sum(map(len, payloads)) <= _JOINED:
            values = self._decode_many(b"".join(payloads))
            if len(values) == len(payloads):
                return values
        return list(map(self.decode, payloads))

    def packed(self, data: bytes) -> tuple[bytes, bool]:
        """The payload as it is sent, and whether it is compressed: not if it is short, or does not shrink."""
        if self._compressor is None or (len(data) < self.compress_min and self.native is None):
            return data, False
        name, level, settings = self._compressor
        small = packed(data, name, level, settings)
        if self.native is not None:  # wrapped: nothing says whether it is compressed, so it always is
            return bytes(small), False
        return (bytes(small), True) if len(small) < len(data) else (data, False)

    def unpacked(self, data: bytes, *, flagged: bool) -> bytes:
        """The plain payload.

        Raises:
            Limit: Longer than ``max_message`` when decompressed.
            DecodeError: Not of a compressor that messages may be compressed with.
        """
        if not flagged and (self._compressor is None or self.native is None):
            return data
        from tare.compress import decompress, sniff

        name = sniff(data[:32])
        if name not in _CONTAINERS:
            raise DecodeError(f"{self.format}: the message is flagged as compressed and is of no compressor")
        try:
            return decompress(data, name, max_output=self.max_message, threads=1)
        except Limit as error:
            text = f"the message is longer than max_message={self.max_message} when decompressed"
            raise Limit(f"{name}: {text}: raise max_message if the peer is trusted", format=name) from error

    def agree(self, peer: str) -> None:
        """Compare with the codec that the peer says it sends.

        Raises:
            CodecMismatch: It sends another format.
        """
        if self.format == RAW:
            return  # bytes are taken whatever they are
        try:
            format_id = split_id(peer)[0]
        except UsageError:
            format_id = peer
        if format_id != self.format:
            raise CodecMismatch(
                f"the peer sends {format_id[:80]!a}, this end expects {self.format!r}: nothing was decoded",
                format=self.format,
            )

    def refusal(self, error: Exception, offset: int | None, number: int | None) -> Exception:
        """The error of a message that did not decode, with its place in the stream."""
        if isinstance(error, MissingLibrary):
            return error
        text = error.args[0] if isinstance(error, TareError) and error.args else " ".join(str(error).split())
        text = str(text).removeprefix(f"{self.id}: ")
        kind: type[TareError] = (
            Limit if isinstance(error, Limit | RecursionError | MemoryError) else DecodeError
        )
        found = kind(
            f"message {number}, at byte {offset}: {self.id}: {text[:300]}",
            format=self.format,
            offset=offset,
        )
        found.message_number = number
        found.__cause__ = error
        return found


def _as_bytes(value: Any) -> bytes:
    if type(value) is bytes:
        return value
    if isinstance(value, str):
        raise EncodeError("raw: sends bytes, not text: encode it first", format=RAW)
    try:
        with memoryview(value) as view:
            return view.tobytes()
    except TypeError:
        raise EncodeError(f"raw: sends bytes-like objects, not {type(value).__name__}", format=RAW) from None


def _refuse_code(codec: Codec) -> None:
    if codec.executes_code:
        raise Unsupported(
            f"{codec}: decoding can run code or crash Python, which no connection allows; send bytes that you"
            " made yourself with codec='raw' between your own programs",
            format=codec.format_id,
        )


def native_framing(codec: MessageCodec, framing: str) -> str | None:
    """How the wire is cut: None for ``frame``, else ``msgpack``, ``cbor``, ``ndjson`` or ``wrap``.

    Raises:
        UsageError: No such framing.
        Unsupported: The codec's format has no ends of its own.
    """
    if framing == "frame":
        return None
    if framing == "native:wrap":
        return "wrap"
    if framing != "native":
        raise UsageError(f"framing={framing!r:.60}: expected 'frame', 'native' or 'native:wrap'")
    found = _NATIVE.get(codec.format)
    if found is None:
        raise Unsupported(
            f"{codec.id}: the format has no ends of its own, so native framing cannot cut it;"
            " use framing='frame', or 'native:wrap'",
            format=codec.format,
        )
    return found


def adopted(peer: str, accept: Sequence[str]) -> str:
    """The id to decode with, where a peer says what it sends and this end expects nothing.

    Raises:
        CodecMismatch: It is not on the list of what is accepted.
    """
    try:
        format_id = split_id(peer)[0]
    except UsageError:
        format_id = ""
    if peer in accept:
        return peer
    if format_id not in accept:
        raise CodecMismatch(
            f"the peer sends {peer[:80]!a}, which is not on the list accept={list(accept)}: nothing was decoded",
            format=None,
        )
    try:
        if format_id in _BYTES:
            return format_id
        Codec.parse(peer).require()
    except (UsageError, MissingLibrary):
        return format_id  # another library of the same format reads it too
    return peer


_Pair = tuple[Callable[[Any], bytes], Callable[[Any], Any]]


def _orjson(options: dict[str, Any], whole: Callable[[Any], bytes]) -> _Pair:
    import orjson

    option = (orjson.OPT_NON_STR_KEYS if options["non_str_keys"] else 0) | (
        orjson.OPT_SORT_KEYS if options["sort_keys"] else 0
    )
    return partial(orjson.dumps, default=hook(options["default"]), option=option or None), orjson.loads


def _stdlib_json(options: dict[str, Any], whole: Callable[[Any], bytes]) -> _Pair:
    import json

    write = json.JSONEncoder(
        separators=(",", ":") if options["compact"] else None,
        default=hook(options["default"]),
        sort_keys=options["sort_keys"],
    ).encode
    # Text of UTF-8 and of nothing else, which the library would guess from bytes.
    return (lambda value: write(value).encode()), (lambda data: json.loads(str(data, "utf-8")))


def _msgspec_json(options: dict[str, Any], whole: Callable[[Any], bytes]) -> _Pair:
    import msgspec

    encoder = msgspec.json.Encoder(
        enc_hook=hook(options["default"]), order="sorted" if options["sort_keys"] else None
    )
    return encoder.encode, msgspec.json.Decoder().decode


def _msgspec_msgpack(options: dict[str, Any], whole: Callable[[Any], bytes]) -> _Pair:
    import msgspec

    return msgspec.msgpack.Encoder(enc_hook=hook(options["default"])).encode, msgspec.msgpack.Decoder().decode


def _msgpack(options: dict[str, Any], whole: Callable[[Any], bytes]) -> _Pair:
    import msgpack

    # A packer of its own for each value: one that is shared must not be used by two threads.
    pack = partial(msgpack.packb, datetime=options["datetime"], default=hook(options["default"]))
    unpack = partial(msgpack.unpackb, strict_map_key=False)
    return pack, lambda data: msgpack_times.decoded(data, unpack)


def _msgpack_many(data: bytes) -> list[Any]:
    """Returns values that stand one behind the other, each as it is read by itself."""
    import msgpack

    plain = msgpack_times.are_datetimes(data)
    unpacker = msgpack.Unpacker(
        max_buffer_size=0, read_size=len(data) or 1, timestamp=3 if plain else 0, strict_map_key=False
    )
    unpacker.feed(data)
    return list(unpacker) if plain else list(map(msgpack_times.settled, unpacker))


_MANY: dict[str, Callable[[bytes], list[Any]]] = {"msgpack": _msgpack_many}


def _cbor2(options: dict[str, Any], whole: Callable[[Any], bytes]) -> _Pair:
    import cbor2

    from tare.formats.cbor_keys import refuse_endless_keys

    loads = cbor2.loads

    def decode(data: bytes) -> Any:
        refuse_endless_keys(data)
        return loads(data)

    return whole, decode  # what is written is first looked at for its depth


_FAST: dict[tuple[str, str], Callable[[dict[str, Any], Callable[[Any], bytes]], _Pair]] = {
    ("cbor", "cbor2"): _cbor2,
    ("json", "msgspec"): _msgspec_json,
    ("json", "orjson"): _orjson,
    ("json", "stdlib"): _stdlib_json,
    ("msgpack", "msgpack"): _msgpack,
    ("msgpack", "msgspec"): _msgspec_msgpack,
}
