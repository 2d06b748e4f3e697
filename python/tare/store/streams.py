"""Values of a store as binary streams."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tare._tare import StoreReader

__all__ = ["Stream", "opened"]


class Stream(io.RawIOBase):
    """The plain bytes of an object. Its end is told only if all of them were what the hash says.

    Args:
        reader: The core's.
        codec: The codec of the value.
        name: What it is the value of.
    """

    def __init__(self, reader: StoreReader, codec: str, name: str) -> None:
        super().__init__()
        self._reader = reader
        self.codec = codec
        self.name = name

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Buffer, /) -> int:
        """Fill a buffer with what comes next; how many bytes, 0 at the verified end.

        Raises:
            Corrupt: The bytes so far are not those of the object.
        """
        if self.closed:
            raise ValueError("I/O operation on closed file.")
        return self._reader.readinto(buffer)

    def close(self) -> None:
        """Let the object go; it is not read to its end."""
        if not self.closed:
            self._reader.close()
        super().close()


def opened(reader: StoreReader, codec: str, name: str) -> io.BufferedReader:
    """A buffered binary file of an object."""
    return io.BufferedReader(Stream(reader, codec, name), 1 << 18)
