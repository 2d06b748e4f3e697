"""Whether a file is still what it was when reading it began: one version of it, or an error that says so."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING

from tare.errors import SourceChanged

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Identity", "Watch", "identity", "opened"]

#: Device, number, size in bytes and time of change in ns of a file.
Identity = tuple[int, int, int, int]


def identity(status: os.stat_result) -> Identity | None:
    """What tells one version of a file from another; None of what is no regular file, such as a pipe.

    Nor of a file of no bytes: those of the kernel, as in ``/proc``, have none and give some.
    """
    if not stat.S_ISREG(status.st_mode) or not status.st_size:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


class Watch:
    """A block in which a file is read. `check` ends the reading, before what was made of it gets its name.

    Seen is what a file tells of itself: that it is longer, shorter or another, or that its time is. A change
    that keeps size and time is not: one that sets the time back, or comes within a tick of the file
    system's clock after the one before.

    What changed meanwhile fails in odd ways, such as a row that is cut: if the block fails before the check
    and the file changed, that is told instead.

    Args:
        name: What to call the file.
        before: What it was; None if it is not watched.
        look: What it is now; None if it can be said no more.
        left: What became of the result, for the message.
    """

    def __init__(
        self,
        name: str,
        before: Identity | None,
        look: Callable[[], Identity | None],
        left: str = "nothing was written",
    ) -> None:
        self._name = name
        self._before = before
        self._look = look
        self._left = left

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _type: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, SourceChanged):
            try:
                self.check()
            except SourceChanged as changed:
                raise changed from error

    def check(self) -> None:
        """Whether the file is what it was. What comes after this is no more of the reading.

        Raises:
            SourceChanged: It is not.
        """
        before, self._before = self._before, None
        if before is not None and self._look() != before:
            raise SourceChanged(f"{self._name} changed while it was read; {self._left}")


def opened(name: str, descriptor: int, left: str = "nothing was written") -> Watch:
    """A watch of a file that is open, and is read by this one opening alone.

    One that is put in its place under its name is another file: what is read here stays what it was.

    Args:
        name: What to call it.
        descriptor: The open file, from its beginning on.
        left: As in `Watch`.
    """
    return Watch(name, identity(os.fstat(descriptor)), lambda: identity(os.fstat(descriptor)), left)
