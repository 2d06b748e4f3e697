"""Python's pickle, as its documentation defines it (https://docs.python.org/3/library/pickle.html).

Reading a pickle runs whatever code its bytes name: never read one that you
would not also execute as a program.
"""

from __future__ import annotations

import pickle as stdlib_pickle
import pickletools
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from typing import Any, BinaryIO

from tare.formats.base import Buffer, Format, Library, Option, Stream
from tare.formats.columnar import need_columns
from tare.formats.scalars import NATIVE, ORIENT, parts_of

__all__ = ["FORMAT"]

_PROTOCOL = Option(
    5, (0, 1, 2, 3, 4, 5), "Version of the layout: 5 is the newest, 0 was the default of Python 2."
)
_IMPL = Option("c", ("c", "python"), "The C implementation, or the one in Python that every interpreter has.")


def _bind_encode(*, impl: str, protocol: int, orient: str) -> Callable[[Any], bytes]:
    if impl == "c":
        dumps = stdlib_pickle.dumps
        return lambda obj: dumps(obj, protocol)
    return partial(_encode, impl=impl, protocol=protocol, orient=orient)


def _bind_decode(*, impl: str, protocol: int, orient: str) -> Callable[[Any], Any]:
    if impl == "c":
        return stdlib_pickle.loads
    return partial(_decode, impl=impl, protocol=protocol, orient=orient)


def _encode(obj: Any, *, impl: str, protocol: int, orient: str) -> bytes:
    if impl == "c":
        return stdlib_pickle.dumps(obj, protocol)
    file = BytesIO()
    stdlib_pickle._Pickler(file, protocol).dump(obj)  # noqa: SLF001 - the only door to the Python implementation
    return file.getvalue()


def _decode(data: Buffer, *, impl: str, protocol: int, orient: str) -> Any:
    if impl == "c":
        return stdlib_pickle.loads(data)
    return stdlib_pickle._Unpickler(BytesIO(data)).load()  # noqa: SLF001 - the only door to the Python implementation


def _write(obj: Any, file: BinaryIO, *, impl: str, protocol: int, orient: str) -> None:
    for part in parts_of(obj):  # noqa: FURB122 - a medium has write() alone
        file.write(_encode(part, impl=impl, protocol=protocol, orient=orient))


def _read(file: BinaryIO, *, impl: str, protocol: int, orient: str) -> Iterator[Any]:
    load = stdlib_pickle.load if impl == "c" else lambda f: stdlib_pickle._Unpickler(f).load()  # noqa: SLF001 - the only door to the Python implementation
    while True:
        try:
            yield load(file)
        except EOFError:
            return


def _encode_object(obj: Any, *, protocol: int) -> bytes:
    return stdlib_pickle.dumps(obj, protocol)


def _encode_table(obj: Any, *, protocol: int) -> bytes:
    need_columns(obj)
    return _encode_object(obj, protocol=protocol)


def _decode_object(data: Buffer, *, protocol: int) -> Any:
    return stdlib_pickle.loads(data)


def _sniff(head: bytes) -> bool:
    """Protocols 0 and 1 have no magic: the whole text must be opcodes that end in STOP."""
    if head[:1] not in b"(]}lcdIFVSNUKXGJM" or not head.rstrip(b"\n").endswith(b"."):
        return False
    try:
        return sum(1 for _ in pickletools.genops(head)) > 1
    except Exception:
        return False


FORMAT = Format(
    id="pickle",
    title="pickle",
    extensions=(".pickle", ".pkl"),
    kinds=frozenset({"document", "table"}),
    magic=(b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"),
    languages=("python",),
    native_to="python",
    executes_code=True,
    sniff=_sniff,
    home="stdlib",
    libraries=(
        Library(
            name="stdlib",
            native=NATIVE,
            encode=_encode,
            decode=_decode,
            bind_encode=_bind_encode,
            bind_decode=_bind_decode,
            options={"impl": _IMPL, "orient": ORIENT, "protocol": _PROTOCOL},
            variants={"document": ({}, {"protocol": 2}), "table": ({"orient": "columns"},)},
            stream=Stream(_write, _read, list),
            executes_code=True,
            notes=("Reading runs code that the bytes name: trusted files only.",),
        ),
        Library(
            name="pandas",
            native={"table": "pandas"},
            encode=_encode_object,
            decode=_decode_object,
            modules=("pandas",),
            distribution="pandas",
            extra="tables",
            options={"protocol": _PROTOCOL},
            executes_code=True,
            notes=("A pickled data frame: readable only where pandas of a like version is.",),
        ),
        Library(
            name="pyarrow",
            native={"table": "arrow"},
            encode=_encode_table,
            decode=_decode_object,
            modules=("pyarrow",),
            distribution="pyarrow",
            options={"protocol": _PROTOCOL},
            executes_code=True,
            notes=("A pickled Arrow table: readable only where pyarrow is.",),
        ),
    ),
)
