"""The store medium: a folder of Tare's own store, in which encoded bytes are set and verified when they are got.

The store compresses nothing, so that the bytes that lie there are those of the codec. Equal bytes are kept
once, so whoever times a second set of the same bytes must ``clear`` before it: else the bytes are hashed and
not written.
"""

from __future__ import annotations

import os

from tare.errors import UsageError

__all__ = ["Shelf", "read", "write"]

Buffer = bytes | bytearray | memoryview

_KEY = "value"
# What `sync` of the file medium means here.
_DURABILITY = {"none": "none", "fsync": "each"}


class Shelf:
    """A store in a folder that holds one value, open.

    Args:
        path: The folder; made if it does not exist.
        sync: ``none`` leaves the bytes to the page cache; ``fsync`` waits until object and key are on the disk.

    Raises:
        UsageError: ``sync`` is neither.
        StoreError, OSError: The store cannot be opened.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shelf = Shelf(folder)
    ...     shelf.write(b"abc"), shelf.read(), shelf.clear(), shelf.holds(), shelf.close()
    (3, b'abc', None, False, None)
    """

    def __init__(self, path: str | os.PathLike[str], *, sync: str = "none") -> None:
        if sync not in _DURABILITY:
            raise UsageError(f"sync is {' or '.join(_DURABILITY)}, not {sync!r}")
        from tare.store import open_store

        self._store = open_store(f"folder:{os.fspath(path)}", compressor="none", durability=_DURABILITY[sync])

    def write(self, data: Buffer) -> int:
        """Set the value: hash, write, [sync,] name.

        Returns:
            Bytes stored.

        Raises:
            StoreError, OSError: The store cannot be written.
        """
        self._store.set(_KEY, data)
        return memoryview(data).nbytes

    def read(self) -> bytes:
        """Get the value, hashed and held against its name.

        Raises:
            KeyNotFound: There is none.
            Corrupt: The bytes are not those that were set.
        """
        value = self._store.get(_KEY)
        assert isinstance(value, bytes)  # as it was set
        return value

    def holds(self) -> bool:
        """Whether there is a value."""
        return bool(self._store.exists(_KEY))

    def stored_bytes(self) -> int:
        """Bytes of the object, as the store itself says.

        Raises:
            KeyNotFound: There is no value.
        """
        return int(self._store.stat().stored_bytes)

    def clear(self) -> None:
        """Delete the value and its object: the next ``write`` is of bytes that the store does not have."""
        if self._store.del_(_KEY):
            self._store.gc(grace=0)

    def close(self) -> None:
        """Close the store; what was written stays."""
        self._store.close()


def write(path: str | os.PathLike[str], data: Buffer, *, sync: str = "none") -> int:
    """Open the store at a path, set the value, close.

    Returns:
        Bytes stored.

    Raises:
        UsageError: ``sync`` is neither ``none`` nor ``fsync``.
        StoreError, OSError: The store cannot be written.
    """
    shelf = Shelf(path, sync=sync)
    try:
        return shelf.write(data)
    finally:
        shelf.close()


def read(path: str | os.PathLike[str]) -> bytes:
    """Open the store at a path, get the value, close.

    Raises:
        KeyNotFound, Corrupt: As `Shelf.read` says.
    """
    shelf = Shelf(path)
    try:
        return shelf.read()
    finally:
        shelf.close()
