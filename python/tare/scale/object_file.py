"""An object as a file that can be read from anywhere."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tare.scale.place import Place

__all__ = ["ObjectFile"]


class ObjectFile(io.RawIOBase):
    """An object as a file: each read is a request."""

    def __init__(self, place: Place, name: str, size: int) -> None:
        super().__init__()
        self._place, self._name, self._size, self._at = place, name, size, 0

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Where the next read begins."""
        self._at = max(0, offset + (0, self._at, self._size)[whence])
        return self._at

    def tell(self) -> int:
        """Where the next read begins."""
        return self._at

    def readinto(self, buffer: Any, /) -> int:
        """Up to as many bytes as fit."""
        view = memoryview(buffer).cast("B")
        data = self._place.read(self._name, self._at, min(self._size, self._at + len(view)))
        view[: len(data)] = data
        self._at += len(data)
        return len(data)
