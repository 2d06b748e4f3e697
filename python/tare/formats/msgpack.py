"""MessagePack, as defined in https://github.com/msgpack/msgpack/blob/master/spec.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from typing import Any, BinaryIO

from tare.formats import msgpack_times
from tare.formats.base import Buffer, Format, Library, Option, Stream, bound
from tare.formats.scalars import (
    BOTH_ORIENTS,
    DEFAULT,
    DOCUMENTS_ONLY,
    NATIVE,
    ORIENT,
    ROWS_AS_TEXT,
    hook,
    parts_of,
)

__all__ = ["FORMAT"]

_DATETIME = Option(
    False,
    (False, True),
    "Write datetimes that have a zone as MessagePack timestamps and read them back in UTC.",
)
_IMPL = Option("c", ("c", "python"), "Which of its two implementations runs.")


def _bind_msgpack(*, datetime: bool, default: str, impl: str, orient: str) -> Callable[[Any], bytes]:
    if impl == "c":
        import msgpack

        pack: Callable[..., bytes] = msgpack.packb  # a packer of its own for each value, as threads need it
        if not datetime and default == "refuse":
            return pack
        return partial(pack, datetime=datetime, default=hook(default))
    return lambda obj: bytes(_packer(datetime, default, impl).pack(obj))


def _bound_msgpack(*, datetime: bool, default: str, impl: str, orient: str) -> Callable[[Buffer], Any]:
    return partial(_unpack(impl), timestamp=3 if datetime else 0)


def _exact_msgpack(*, datetime: bool, default: str, impl: str, orient: str) -> Callable[[Buffer], Any]:
    unpack = _unpack(impl)
    return lambda data: msgpack_times.decoded(data, unpack)


def _unpack(impl: str) -> Callable[..., Any]:
    if impl == "c":
        import msgpack

        return partial(msgpack.unpackb, strict_map_key=False)
    from msgpack.fallback import Unpacker

    def decode(data: Buffer, *, timestamp: int) -> Any:
        unpacker = Unpacker(
            None, timestamp=timestamp, strict_map_key=False, max_buffer_size=max(len(data), 1)
        )
        unpacker.feed(data)
        value = unpacker.unpack()
        if unpacker.tell() != len(data):
            raise ValueError(f"{len(data) - unpacker.tell()} bytes follow the value")
        return value

    return decode


def _path_msgpack(data: Buffer, steps: list[str], *, datetime: bool, impl: str, **options: Any) -> Any:
    """The value there; what lies before it is skipped, what lies behind it is not looked at."""
    if impl == "c":
        from msgpack import Unpacker
    else:
        from msgpack.fallback import Unpacker

    unpacker = Unpacker(BytesIO(data), timestamp=3 if datetime else 0, strict_map_key=False)
    for step in steps:
        if _is_map(data[unpacker.tell()]):
            for _ in range(unpacker.read_map_header()):
                if unpacker.unpack() == step:
                    break
                unpacker.skip()
            else:
                raise KeyError(step)
            continue
        if not 0 <= int(step) < unpacker.read_array_header():
            raise IndexError(step)
        for _ in range(int(step)):
            unpacker.skip()
    return unpacker.unpack()


def _is_map(head: int) -> bool:
    """Whether a value that begins with this byte is a mapping (fixmap, map 16, map 32)."""
    return 0x80 <= head <= 0x8F or head in (0xDE, 0xDF)


def _packer(datetime: bool, default: str, impl: str) -> Any:
    if impl == "c":
        from msgpack import Packer
    else:
        from msgpack.fallback import Packer
    return Packer(datetime=datetime, default=hook(default))


def _write_msgpack(obj: Any, file: BinaryIO, *, datetime: bool, default: str, impl: str, orient: str) -> None:
    packer = _packer(datetime, default, impl)
    for part in parts_of(obj):  # noqa: FURB122 - a medium has write() alone
        file.write(packer.pack(part))


def _read_msgpack(file: BinaryIO, *, datetime: bool, default: str, impl: str, orient: str) -> Iterator[Any]:
    if impl == "c":
        from msgpack import Unpacker
    else:
        from msgpack.fallback import Unpacker
    yield from Unpacker(file, timestamp=3 if datetime else 0, strict_map_key=False)


def _bind_msgspec(*, default: str, orient: str) -> Callable[[Any], bytes]:
    import msgspec

    encode = msgspec.msgpack.encode
    return encode if default == "refuse" else partial(encode, enc_hook=hook(default))


def _bound_msgspec(**options: Any) -> Callable[[Buffer], Any]:
    import msgspec

    return msgspec.msgpack.decode


def _exact_msgspec(**options: Any) -> Callable[[Buffer], Any]:
    return _refusing(_bound_msgspec())


def _refusing(decode: Callable[[Buffer], Any]) -> Callable[[Buffer], Any]:
    def refusing(data: Buffer) -> Any:
        msgpack_times.refuse_other(data)
        return decode(data)

    return refusing


def _bind_ormsgpack(*, default: str, non_str_keys: bool, orient: str) -> Callable[[Any], bytes]:
    import ormsgpack

    if not non_str_keys and default == "refuse":
        return ormsgpack.packb
    option = ormsgpack.OPT_NON_STR_KEYS if non_str_keys else None
    return partial(ormsgpack.packb, default=hook(default), option=option)


def _bound_ormsgpack(*, default: str, non_str_keys: bool, orient: str) -> Callable[[Buffer], Any]:
    import ormsgpack

    if not non_str_keys:
        return ormsgpack.unpackb
    return partial(ormsgpack.unpackb, option=ormsgpack.OPT_NON_STR_KEYS)


def _exact_ormsgpack(*, default: str, non_str_keys: bool, orient: str) -> Callable[[Buffer], Any]:
    import ormsgpack

    option = getattr(ormsgpack, "OPT_DATETIME_AS_TIMESTAMP_EXT", 0)  # which its first versions lack
    if non_str_keys:
        option |= ormsgpack.OPT_NON_STR_KEYS
    return _refusing(partial(ormsgpack.unpackb, option=option or None))


FORMAT = Format(
    id="msgpack",
    title="MessagePack",
    extensions=(".msgpack", ".mp"),
    kinds=frozenset({"document", "table"}),
    spec="https://github.com/msgpack/msgpack/blob/master/spec.md",
    languages=("c", "c++", "csharp", "go", "java", "javascript", "php", "python", "r", "ruby", "rust"),
    libraries=(
        Library(
            name="msgpack",
            native=NATIVE,
            **bound(_bind_msgpack, _bound_msgpack),
            bind_exact=_exact_msgpack,
            modules=("msgpack",),
            distribution="msgpack",
            extra="documents",
            options={"datetime": _DATETIME, "default": DEFAULT, "impl": _IMPL, "orient": ORIENT},
            variants=BOTH_ORIENTS,
            stream=Stream(_write_msgpack, _read_msgpack, list),
            path=_path_msgpack,
        ),
        Library(
            name="msgspec",
            native=NATIVE,
            **bound(_bind_msgspec, _bound_msgspec),
            bind_exact=_exact_msgspec,
            modules=("msgspec",),
            distribution="msgspec",
            options={"default": DEFAULT, "orient": ORIENT},
            variants=ROWS_AS_TEXT,
            notes=("Datetimes come back in UTC; decimals and UUIDs come back as text.",),
        ),
        Library(
            name="ormsgpack",
            native=NATIVE,
            **bound(_bind_ormsgpack, _bound_ormsgpack),
            bind_exact=_exact_ormsgpack,
            modules=("ormsgpack",),
            distribution="ormsgpack",
            extra="documents",
            options={
                "default": DEFAULT,
                "non_str_keys": Option(
                    False, (False, True), "Take keys that are not text instead of refusing them."
                ),
                "orient": ORIENT,
            },
            variants=DOCUMENTS_ONLY,
            notes=("Dates, times and UUIDs become text silently; bytes after the value are not noticed.",),
        ),
    ),
)
