"""NPY, one array of NumPy (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).

The header is written here, so that equal arrays have equal bytes whichever release of NumPy is installed.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, BinaryIO

from tare.errors import EncodeError, Malformed, Truncated, Unsupported
from tare.formats.base import Buffer, Format, Library

if TYPE_CHECKING:
    import numpy as np

__all__ = ["FORMAT", "decoded", "header", "parts"]

_MAGIC = b"\x93NUMPY"
_ALIGNED = 64  # where the items begin, as the format asks for
_LONGEST = 1 << 16  # of a header that is read: more is no array of anyone's


def parts(array: np.ndarray[Any, Any]) -> tuple[bytes, memoryview]:
    r"""The header of an array, and its items: the array's own memory where that is in one piece.

    An array in Fortran's order stays in it. A view with gaps is copied into one piece.

    Raises:
        EncodeError: It holds objects of Python, or hides items behind a mask.

    >>> import numpy as np
    >>> header, items = parts(np.arange(3, dtype="<i2"))
    >>> header[10:].rstrip(), bytes(items)
    (b"{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }", b'\x00\x00\x01\x00\x02\x00')
    """
    import numpy as np

    if not isinstance(array, np.ndarray):
        raise EncodeError(f"npy: it holds arrays of NumPy, not {type(array).__name__}", format="npy")
    if isinstance(array, np.ma.MaskedArray):
        raise EncodeError("npy: it has no masks: give .filled() and .mask apart", format="npy")
    if array.dtype.hasobject or array.dtype.kind == "T":
        raise EncodeError("npy: its items are objects of Python: only pickle holds them", format="npy")
    array = np.asarray(array)
    fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    flat = array.T.reshape(-1) if fortran else np.ascontiguousarray(array).reshape(-1)
    descr = np.lib.format.dtype_to_descr(array.dtype)
    text = f"{{'descr': {descr!r}, 'fortran_order': {fortran}, 'shape': {array.shape!r}, }}"
    header = text.encode("latin-1") if text.isascii() else text.encode()
    version = 3 if not text.isascii() else 1
    if version == 1 and len(header) + _ALIGNED > 0xFFFF:
        version = 2
    lead = 10 if version == 1 else 12
    pad = -(lead + len(header) + 1) % _ALIGNED
    header += b" " * pad + b"\n"
    size = len(header).to_bytes(lead - 8, "little")
    items = flat.view(np.uint8).data if flat.size and flat.itemsize else memoryview(b"")
    return _MAGIC + bytes((version, 0)) + size + header, items


def decoded(data: Any) -> np.ndarray[Any, Any]:
    """The array of encoded bytes, as a view of them: it keeps them, and is read-only if they are.

    Raises:
        Truncated: The bytes end too early.
        Malformed: They are no array.
        Unsupported: An array of objects, which only running code could read.
    """
    import numpy as np

    shape, fortran, dtype, start = header(data)
    count = 1
    for length in shape:
        count *= length
    have, need = memoryview(data).nbytes - start, count * dtype.itemsize
    if have < need:
        text = f"npy: {have:,} bytes of items, {need:,} expected"
        raise Truncated(text, format="npy", offset=start + have)
    if have > need:
        raise Malformed(f"npy: {have - need:,} bytes behind the array", format="npy", offset=start + need)
    try:
        if not need:
            flat = np.empty(count, dtype)
        else:
            flat = np.frombuffer(data, dtype, count, start)
        return flat.reshape(shape, order="F" if fortran else "C")
    except (ValueError, TypeError, MemoryError) as error:
        raise Malformed(f"npy: {error}", format="npy", offset=8) from error


def header(data: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Shape, order and type of the items, and where they begin.

    Raises:
        Truncated, Malformed, Unsupported: As `decoded` says.
    """
    import numpy as np

    head = io.BytesIO(memoryview(data).cast("B")[: _LONGEST + 12])
    length = head.getbuffer().nbytes
    if head.read(6) != _MAGIC[:length] or not length:
        raise Malformed("npy: it does not begin as an array of NumPy does", format="npy", offset=0)
    version, lead = head.read(2), 0
    if len(version) < 2:
        raise Truncated("npy: the header is cut", format="npy", offset=length)
    if version not in (b"\x01\x00", b"\x02\x00", b"\x03\x00"):
        raise Malformed(
            f"npy: version {version[0]}.{version[1]}, 1.0 to 3.0 are known", format="npy", offset=6
        )
    lead = 2 if version[0] == 1 else 4
    size = int.from_bytes(head.read(lead), "little")
    start = 8 + lead + size
    if size > _LONGEST:
        raise Malformed(f"npy: a header of {size:,} bytes, at most {_LONGEST:,}", format="npy", offset=8)
    if length < start:
        raise Truncated("npy: the header is cut", format="npy", offset=length)
    import ast

    try:
        text = head.read(size).decode("utf-8" if version[0] == 3 else "latin-1")
        found = ast.literal_eval(text.strip())
        shape, fortran = found["shape"], found["fortran_order"]
        dtype = np.lib.format.descr_to_dtype(found["descr"])
    except (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError) as error:
        raise Malformed(f"npy: the header says {str(error)[:80]!r}", format="npy", offset=8 + lead) from error
    fine = isinstance(shape, tuple) and all(type(length) is int and 0 <= length < 2**62 for length in shape)
    if not fine or not isinstance(fortran, bool) or set(found) != {"descr", "fortran_order", "shape"}:
        raise Malformed("npy: the header lacks type, order or shape", format="npy", offset=8 + lead)
    if dtype.hasobject:
        raise Unsupported("npy: an array of Python's objects, which only a pickle could hold", format="npy")
    return shape, fortran, dtype, start


def _encode(obj: Any) -> bytes:
    return b"".join(parts(obj))


def _decode(data: Buffer) -> np.ndarray[Any, Any]:
    return decoded(data if isinstance(data, bytes) else bytes(data))


def _write(obj: Any, file: BinaryIO) -> None:
    for part in parts(obj):  # noqa: FURB122 - a medium has write() alone
        file.write(part)


FORMAT = Format(
    id="npy",
    title="NPY",
    extensions=(".npy",),
    magic=(_MAGIC,),
    kinds=frozenset({"array"}),
    spec="https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html",
    languages=("c++", "java", "julia", "python", "r", "rust"),
    native_to="numpy",
    home="numpy",
    libraries=(
        Library(
            name="numpy",
            native={"array": "numpy"},
            encode=_encode,
            decode=_decode,
            write=_write,
            open=decoded,
            modules=("numpy",),
            distribution="numpy",
            extra="tables",
            notes=("Reading copies nothing: the array is a read-only view of the bytes, which it keeps.",),
        ),
    ),
)
