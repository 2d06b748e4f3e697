"""The memory medium: bytes stay in the process.

It exists so that a route to memory runs like any other, and as the floor of every
measurement: ``copy`` is what moving the encoded bytes once costs.
"""

from __future__ import annotations

__all__ = ["copy", "read", "write"]

Buffer = bytes | bytearray | memoryview


def write(data: Buffer) -> bytes:
    """Keep encoded bytes; bytes objects are kept as they are, others copied.

    >>> write(b"abc")
    b'abc'
    """
    return bytes(data)


def read(data: Buffer) -> bytes:
    """Give the bytes back; bytes objects are given as they are.

    >>> read(bytearray(b"abc"))
    b'abc'
    """
    return bytes(data)


def copy(data: Buffer) -> bytes:
    """Copy the bytes once, whatever they are in (``bytes(x)`` alone would not copy bytes).

    >>> data = b"abc"
    >>> copy(data) == data and copy(data) is not data
    True
    """
    return memoryview(data).tobytes()
