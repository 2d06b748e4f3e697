"""One codec made ready in a worker: its value, its bytes, and the calls that are timed.

Every call takes one argument and returns what it made. Conversions to the library's
own in-memory kind are made before; only where a *kind* is demanded (all codecs must
end in pandas, say) is the conversion part of the call.
"""

from __future__ import annotations

import os
from collections import deque
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from tare.errors import Unsupported, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from tare.codec import Codec
    from tare.media.store import Shelf

__all__ = ["JSON_TEXT", "MATERIALISE", "NO_JSON", "Prepared", "Target", "in_order", "sorted_names"]

MATERIALISE = ("full", "open", "touch")
JSON_TEXT = "json"
"""The kind of calls that start from JSON text and end in it: parsing, and writing back."""
NO_JSON = "takes and gives objects, not JSON text"
_SYNCS = ("none", "fsync")
_ORDERS = ("insertion", "lexical")
_OWN = (None, "", "own", "document", "table")


class Target:
    """The files that a batch of writes makes: a new one for each call.

    Truncating the file of the last call would be work that the first call does not have.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._made = 0

    def next(self) -> str:
        """Path of the next file; the first one is the path itself."""
        made = self._made
        self._made = made + 1
        return f"{self.path}.{made}" if made else self.path

    def clear(self, *, keep_first: bool) -> None:
        """Remove the files made (outside the clock) and begin again."""
        if not keep_first:
            _remove(self.path)
        for n in range(1, self._made):
            _remove(f"{self.path}.{n}")
        self._made = 0


class Prepared:
    """A codec, the value in the kind it takes, and its calls.

    Args:
        codec: The codec.
        data_kind: ``document`` or ``table``.
        value: The value in the kind that calls start from.
        kind: In-memory kind that calls must start from and end in; None for the library's own.
        grain: ``whole``, or ``each``: one call a document of a list.
        order: ``insertion``, or ``lexical``: the names of each mapping are written sorted.
        has_value: False if there are encoded bytes only.
    """

    def __init__(
        self,
        codec: Codec,
        data_kind: str,
        value: Any,
        *,
        kind: str | None = None,
        grain: str = "whole",
        order: str = "insertion",
        has_value: bool = True,
    ) -> None:
        codec = in_order(codec, order)
        if grain not in ("whole", "each"):
            raise UsageError(f"grain is whole or each, not {grain!r}")
        if grain == "each" and has_value and not isinstance(value, list):
            raise Unsupported("one call a document needs a list of documents")
        self.codec = codec
        self.data_kind = data_kind
        self.value = value
        self.has_value = has_value
        self.grain = grain
        self.order = order
        self.delivery = "whole"
        self.encoded: Any = None
        self.batches: dict[tuple[Any, ...], int] = {}
        self.last: Any = None
        self.last_call: Callable[[], Any] | None = None
        self.part: Callable[[Any], Any] | None = None
        self.native = codec.native(data_kind)
        self.kind = self.native if kind in _OWN else str(kind)
        encode, decode = self._encoder(), self._decoder()
        each = grain == "each"
        self.encode, self.decode = (_each(encode), _each(decode)) if each else (encode, decode)
        self.timed_encode = _each_dropped(encode) if each else encode
        self._timed_decode = _each_dropped(decode) if each else decode

    @property
    def encoded_bytes(self) -> int:
        """Bytes of the encoded value, or of all encoded documents."""
        if self.encoded is None:
            return 0
        return sum(map(_size, self.encoded)) if self.grain == "each" else _size(self.encoded)

    def need_encoded(self) -> Any:
        """The encoded value; made now, outside every clock, if nobody has made it."""
        if self.encoded is None:
            self.encoded = self.encode(self.need_value())
        return self.encoded

    def need_value(self) -> Any:
        """The value to encode.

        Raises:
            UsageError: There is none.
        """
        if not self.has_value:
            raise UsageError("nothing to encode: load first")
        return self.value

    def own_reading(self) -> Any:
        """What came back last as the library itself gives it: another kind may have no other word for a missing number than NaN."""
        if self.kind in (self.native, JSON_TEXT) or self.encoded is None:
            return self.last
        return self.codec.decoder(self.data_kind)(self.encoded)

    # --- what is timed --------------------------------------------------------

    def decoder(self, materialise: str) -> Callable[[Any], Any]:
        """Decode fully, open a lazy view, or open and read every value once."""
        if materialise not in MATERIALISE:
            raise UsageError(f"materialise is one of {', '.join(MATERIALISE)}, not {materialise!r}")
        if materialise == "full":
            return self._timed_decode
        opened = self.opener()
        if materialise == "open":
            return opened
        from tare.measure.worker.materialize import touch

        def touched(data: Any) -> Any:
            view = opened(data)
            touch(view)
            return view

        return touched

    def opener(self) -> Callable[[Any], Any]:
        """Open encoded bytes as a lazy view.

        Raises:
            Unsupported: The library has none, or a compressor is around it.
        """
        function = self.codec.library.open
        self._plain("be opened lazily")
        if function is None:
            raise Unsupported(f"{self.codec} cannot be opened lazily; it decodes the whole")
        options = self.codec.options
        return lambda data: function(data, **options)

    def subsetter(self, subset: str, items: int) -> Callable[[Any], Any]:
        """Read a part of the encoded bytes; see `tare.measure.plan.subsets`.

        Args:
            subset: Which part.
            items: Rows of the whole table.

        Raises:
            Unsupported: The library cannot read that part.
            UsageError: The part is not written as one.
        """
        from tare.measure.plan.subsets import subset_of

        found = subset_of(self.codec, subset, self._decoder(), grain=self.grain, items=items)
        self.part = found.of
        return found.read

    def writer(self, target: Target, sync: str) -> Callable[[Any], Any]:
        """Open a new file, encode, write, [fsync,] close."""
        if sync not in _SYNCS:
            raise UsageError(f"sync is one of {', '.join(_SYNCS)}, not {sync!r}")
        self._whole("files")
        if self.delivery == "streaming":
            return self._part_writer(target, sync)
        if self.codec.compressor is not None:
            return self._packed_writer(target, sync)
        from tare.media import file

        encode = self.encode
        return lambda value: file.write(target.next(), encode(value), sync=sync)

    def reader(self, path: str, materialise: str) -> Callable[[Any], Any]:
        """Open a file, read, decode, close; a lazy view maps the file instead of reading it."""
        self._whole("files")
        from tare.media import file

        decode = self.decoder(materialise)
        if materialise != "full":
            return lambda _: decode(file.mapped(path))
        if self.delivery == "streaming":
            return self._part_reader(path)
        if self.codec.peer is not None:
            return self._packed_reader(path)
        return lambda _: decode(file.read(path))

    def shelver(self, shelf: Shelf) -> Callable[[Any], Any]:
        """Encode whole, and set that in a store."""
        self._whole("stores")
        encode = self.encode
        return lambda value: shelf.write(encode(value))

    def unshelver(self, shelf: Shelf) -> Callable[[Any], Any]:
        """Get verified bytes from a store, and decode them."""
        self._whole("stores")
        decode = self.decode
        return lambda _: decode(shelf.read())

    # --- private --------------------------------------------------------------

    def _from_json(self) -> Callable[[Any], Any]:
        """Encode JSON text, through no objects."""
        function = self.codec.library.from_json
        if function is None:
            raise Unsupported(f"{self.codec} {NO_JSON}")
        self._plain("be made of JSON text")
        return partial(function, **self.codec.options)

    def _to_json(self) -> Callable[[Any], Any]:
        """Write JSON text, through no objects."""
        function = self.codec.library.to_json
        if function is None:
            raise Unsupported(f"{self.codec} {NO_JSON}")
        self._plain("be written as JSON text")
        return partial(function, **self.codec.options)

    def _encoder(self) -> Callable[[Any], Any]:
        if self.kind == JSON_TEXT:
            return self._from_json()
        encode = self.codec.encoder(self.data_kind)
        if self.kind == self.native:
            return encode
        from tare.kinds import convert

        native = self.native
        return lambda value: encode(convert(value, native))

    def _decoder(self) -> Callable[[Any], Any]:
        if self.kind == JSON_TEXT:
            return self._to_json()
        decode = self.codec.decoder(self.data_kind)
        if self.kind == self.native:
            return decode
        from tare.kinds import convert

        kind = self.kind
        return lambda data: convert(decode(data), kind)

    def _packed_writer(self, target: Target, sync: str) -> Callable[[Any], Any]:
        """Encode into the compressor, and that into the file, as `Route.write` does."""
        from tare.codec import Counted

        write_into, convert = self.codec.writer(self.data_kind), self._converted()

        def write(value: Any) -> int:
            with open(target.next(), "wb", buffering=0) as out:
                write_into(convert(value), cast("BinaryIO", Counted(out)))
                if sync == "fsync":
                    os.fsync(out.fileno())
                return out.tell()

        return write

    def _packed_reader(self, path: str) -> Callable[[Any], Any]:
        """Read as the users of the compressor's library read files."""
        read_from = self.codec.reader(self.data_kind)
        kind, native = self.kind, self.native

        def read(_: Any) -> Any:
            with open(path, "rb", buffering=0) as source:
                value = read_from(source)
            if kind == native:
                return value
            from tare.kinds import convert

            return convert(value, kind)

        return read

    def _converted(self) -> Callable[[Any], Any]:
        """Makes a value of the kind that calls start from one of the library's own."""
        if self.kind == self.native:
            return lambda value: value
        from tare.kinds import convert

        native = self.native
        return lambda value: convert(value, native)

    def _part_writer(self, target: Target, sync: str) -> Callable[[Any], Any]:
        stream, options = self.need_stream(), self.codec.options

        def write(value: Any) -> int:
            with open(target.next(), "wb") as out:
                stream.write(value, out, **options)
                out.flush()
                if sync == "fsync":
                    os.fsync(out.fileno())
                return out.tell()

        return write

    def _part_reader(self, path: str) -> Callable[[Any], Any]:
        stream, options = self.need_stream(), self.codec.options

        def read(_: Any) -> Any:
            with open(path, "rb") as source:
                return stream.join(list(stream.read(source, **options)))

        return read

    def need_stream(self) -> Any:
        """The library's parts.

        Raises:
            Unsupported: It has none, or a compressor is around it.
        """
        self._plain("be written and read in parts")
        stream = self.codec.library.stream
        if stream is None:
            raise Unsupported(f"{self.codec} cannot be written and read in parts")
        if self.kind == self.native:
            return stream
        from tare.kinds import convert

        native, kind, write, join = self.native, self.kind, stream.write, stream.join
        return replace(
            stream,
            write=lambda value, out, **options: write(convert(value, native), out, **options),
            join=lambda parts: convert(join(parts), kind),
        )

    def _plain(self, what: str) -> None:
        if self.codec.compressor not in (None, "none"):
            raise Unsupported(f"{self.codec} cannot {what}: a compressor is around it")

    def _whole(self, what: str) -> None:
        if self.grain == "each":
            raise Unsupported(f"one call a document is measured in memory and framed, not on {what}")


def in_order(codec: Codec, order: str) -> Codec:
    """The codec that writes names in that order.

    Raises:
        UsageError: There is no such order.
        Unsupported: The library writes names in the order they come, and no other.

    >>> from tare.codec import Codec
    >>> str(in_order(Codec.parse("json:orjson"), "lexical"))
    'json:orjson,sort_keys=true'
    """
    if order not in _ORDERS:
        raise UsageError(f"order is one of {', '.join(_ORDERS)}, not {order!r}")
    if order == "insertion":
        return codec
    if "sort_keys" not in codec.library.options:
        raise Unsupported(f"{codec} does not write names sorted")
    return replace(codec, settings=tuple(sorted((dict(codec.settings) | {"sort_keys": True}).items())))


def sorted_names(value: Any) -> Any:
    """The document with the names of each mapping sorted: what must come back from a sorted writing.

    >>> sorted_names([{"b": {"d": 1, "c": 2}, "a": 0}])
    [{'a': 0, 'b': {'c': 2, 'd': 1}}]
    """
    if isinstance(value, dict):
        return {name: sorted_names(value[name]) for name in sorted(value)}
    return [sorted_names(item) for item in value] if isinstance(value, list) else value


def _each(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda values: [function(value) for value in values]


def _each_dropped(function: Callable[[Any], Any]) -> Callable[[Any], None]:
    """One call a value, each result dropped before the next call, as a program that sends messages does."""
    return lambda values: deque(map(function, values), maxlen=0).clear()


def _size(data: Any) -> int:
    return memoryview(data).nbytes


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
