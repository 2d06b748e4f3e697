"""Files that appear whole or not at all: written under a temporary name, then renamed."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from typing import BinaryIO, cast

__all__ = ["make_folders", "refuse_unwritable", "remove_folders", "replacing", "write_atomic"]


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


def refuse_unwritable(path: str | os.PathLike[str]) -> None:
    """Refuse a file that could not be written, before the work that makes it; nothing is made or changed.

    Folders of the path that are missing count as writable if the nearest one that is there is.

    Args:
        path: The file, there or not.

    Raises:
        OSError: It cannot be written there.

    >>> refuse_unwritable(os.path.join(tempfile.gettempdir(), "new", "folder", "x.json"))
    """
    try:
        if os.path.lexists(path):
            with open(path, "ab"):
                return
        missing = _missing_folders(path)
        with tempfile.TemporaryFile(dir=os.path.dirname(missing[-1] if missing else os.path.abspath(path))):
            return
    except OSError as error:
        name = os.fspath(path)
        raise OSError(f"{name}: cannot be written: {error.strerror}. Name another place.") from error


def make_folders(path: str | os.PathLike[str]) -> list[str]:
    """Make the folders that lead to a file.

    Args:
        path: The file.

    Returns:
        Those that were not there, the innermost first: what `remove_folders` takes.

    Raises:
        OSError: One of them cannot be made.
    """
    missing = _missing_folders(path)
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    except OSError:
        remove_folders(missing)
        raise
    return missing


def remove_folders(made: list[str]) -> None:
    """Remove folders that `make_folders` made, as far as they are empty."""
    for folder in made:
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def _missing_folders(path: str | os.PathLike[str]) -> list[str]:
    """The folders that lead to a file and are not there, the innermost first."""
    folder = os.path.dirname(os.path.abspath(path))
    missing = []
    while True:
        try:
            os.lstat(folder)
        except FileNotFoundError:
            missing.append(folder)
            folder = os.path.dirname(folder)
        else:
            return missing


def _mode(target: str) -> int:
    try:
        return os.stat(target).st_mode & 0o7777
    except FileNotFoundError:
        umask = os.umask(0)
        os.umask(umask)
        return 0o666 & ~umask
