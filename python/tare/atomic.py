"""Files that appear whole or not at all: written under a temporary name, then renamed."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from typing import BinaryIO, cast

__all__ = ["replacing", "write_atomic"]


def write_atomic(
    path: str | os.PathLike[str], data: bytes | bytearray | memoryview, *, sync: bool = True
) -> int:
    """Create or replace a file in one step.

    Args:
        path: The file; its folder must exist.
        data: Its bytes.
        sync: Whether to wait until the bytes are on the disk before renaming, so that
            after a crash the name never leads to half a file.

    Returns:
        Bytes written.

    Raises:
        OSError: The file cannot be written; what was at ``path`` is untouched.
    """
    with replacing(path, sync=sync) as file:
        file.write(data)
    return memoryview(data).nbytes


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], *, sync: bool = True) -> Iterator[BinaryIO]:
    """A binary file that takes the place of ``path`` when the block ends without an error.

    A link is followed, so that its target is replaced; the mode of a file that was
    there is kept, and a new one gets what the umask allows.

    Args:
        path: The file; its folder must exist.
        sync: Whether to wait for the disk before renaming.

    Raises:
        OSError: The file cannot be written; what was at ``path`` is untouched.
    """
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        # A device, a fifo: there is nothing to replace, and renaming would destroy it.
        with open(target, "wb") as device:
            yield cast(BinaryIO, device)
        return
    folder, name = os.path.split(target)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{name[:64]}.", suffix=".part", dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield cast(BinaryIO, file)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _mode(target: str) -> int:
    try:
        return os.stat(target).st_mode & 0o7777
    except FileNotFoundError:
        umask = os.umask(0)
        os.umask(umask)
        return 0o666 & ~umask
