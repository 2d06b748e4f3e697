"""MessagePack, as defined in https://github.com/msgpack/msgpack/blob/master/spec.md."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from io import BytesIO
from typing import Any, BinaryIO

from tare.formats.base import Buffer, Format, Library, Option, Stream, decode_by, encode_by
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


def _msgpack(*, datetime: bool, default: str, impl: str, orient: str) -> tuple[Any, Any]:
    timestamp = 3 if datetime else 0
    if impl == "c":
        import msgpack

        # A packer for each call, as its `packb` has.
        pack, unpack = msgpack.packb, partial(msgpack.unpackb, strict_map_key=False)
        if not datetime and hook(default) is None:
            return pack, unpack
        return partial(pack, datetime=datetime, default=hook(default)), partial(unpack, timestamp=timestamp)
    return (
        lambda obj: bytes(_packer(datetime, default, impl).pack(obj)),
        partial(_decode_in_python, timestamp=timestamp),
    )


def _decode_in_python(data: Buffer, *, timestamp: int) -> Any:
    from msgpack.fallback import Unpacker

    unpacker = Unpacker(None, timestamp=timestamp, strict_map_key=False, max_buffer_size=max(len(data), 1))
    unpacker.feed(data)
    value = unpacker.unpack()
    if unpacker.tell() != len(data):
        raise ValueError(f"{len(data) - unpacker.tell()} bytes follow the value")
    return value


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


def _msgspec(*, default: str, orient: str) -> tuple[Any, Any]:
    import msgspec

    encode, decode = msgspec.msgpack.encode, msgspec.msgpack.decode
    return encode if hook(default) is None else partial(encode, enc_hook=hook(default)), decode


def _ormsgpack(*, default: str, non_str_keys: bool, orient: str) -> tuple[Any, Any]:
    import ormsgpack

    if not non_str_keys and hook(default) is None:
        return ormsgpack.packb, ormsgpack.unpackb
    option = ormsgpack.OPT_NON_STR_KEYS if non_str_keys else None
    return partial(ormsgpack.packb, default=hook(default), option=option), partial(
        ormsgpack.unpackb, option=option
    )


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
            encode=encode_by(_msgpack),
            decode=decode_by(_msgpack),
            calls=_msgpack,
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
            encode=encode_by(_msgspec),
            decode=decode_by(_msgspec),
            calls=_msgspec,
            modules=("msgspec",),
            distribution="msgspec",
            options={"default": DEFAULT, "orient": ORIENT},
            variants=ROWS_AS_TEXT,
            notes=("Datetimes come back in UTC; decimals and UUIDs come back as text.",),
        ),
        Library(
            name="ormsgpack",
            native=NATIVE,
            encode=encode_by(_ormsgpack),
            decode=decode_by(_ormsgpack),
            calls=_ormsgpack,
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
