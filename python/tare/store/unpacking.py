"""Unpacks the tar of a store that a stranger may have made: regular files below one folder, and nothing else.

`tarfile.extractall` is not used, whatever its filter: links in an archive have led its checks astray more than once,
and no store needs one.
"""

from __future__ import annotations

import os
import shutil
import tarfile
from typing import BinaryIO, cast

from tare.errors import Malformed

__all__ = ["unpack_store"]

_DEEPEST = 16  # folders inside each other; a store has four
_LONGEST = 255  # bytes of a name, as file systems have them


class _InsideFile:
    """A file in which nothing is sought or read beyond its ends, so that no header asks for memory it does not fill.

    Args:
        file: An archive, open for reading.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size

    def read(self, size: int = -1) -> bytes:
        """Read at most what there is."""
        if size < 0:
            raise tarfile.ReadError("a header has a negative size")
        return self._file.read(min(size, self._size - self._file.tell()))

    def seek(self, offset: int) -> int:
        """Go to an offset within the file."""
        if not 0 <= offset <= self._size:
            raise tarfile.ReadError("a member ends beyond the end of the file")
        return self._file.seek(offset)

    def tell(self) -> int:
        """Return the offset."""
        return self._file.tell()


def unpack_store(path: str, folder: str, root: str = "store") -> None:
    """Write the files of an archive below a folder that nobody else writes to.

    Args:
        path: The tar, not compressed.
        folder: Where to; it must be empty.
        root: The only folder of the archive.

    Raises:
        Malformed: It is not such an archive, is damaged, or holds a link, a special file, or a name twice or that
            leads elsewhere.
        OSError: It cannot be read, or its files cannot be written.
    """
    with open(path, "rb") as file:
        members = _members(path, file)
        while (member := _next(path, members)) is not None:
            name = member.name if len(member.name) <= 80 else member.name[:79] + "~"
            fault = _fault(member, root)
            if fault is not None:
                raise Malformed(f"{path}: not an archive of a store: {name!a} {fault}", format="tar")
            place = os.path.join(folder, *member.name.split("/"))
            try:
                os.makedirs(place if member.isdir() else os.path.dirname(place), mode=0o700, exist_ok=True)
                if member.isreg():
                    _write(path, members, member, place)
            except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
                raise Malformed(
                    f"{path}: not an archive of a store: {name!a} comes twice", format="tar"
                ) from error
    if not os.path.isdir(os.path.join(folder, root)):
        raise Malformed(f"{path}: not an archive of a store: there is no folder {root!r} in it", format="tar")


def _members(path: str, file: BinaryIO) -> tarfile.TarFile:
    try:
        return tarfile.open(fileobj=cast("BinaryIO", _InsideFile(file)), mode="r:")
    except Exception as error:  # as in `_next`
        raise _damaged(path, error) from error


def _next(path: str, members: tarfile.TarFile) -> tarfile.TarInfo | None:
    """Return the header of the next member; None at the end.

    Raises:
        Malformed: It is damaged.
    """
    try:
        member = members.next()
    except (
        Exception
    ) as error:  # a damaged header makes it raise KeyError, ValueError, OverflowError and others
        raise _damaged(path, error) from error
    members.members.clear()  # type: ignore[attr-defined] # not in its stubs; it would keep all of them
    return member


def _damaged(path: str, error: Exception) -> Exception:
    """Return what to raise for an error of tarfile: the system's own errors stay."""
    if isinstance(error, OSError) and error.errno is not None:
        return error
    return Malformed(f"{path}: not an archive of a store: {error}", format="tar")


def _fault(member: tarfile.TarInfo, root: str) -> str | None:
    """Return what is wrong with a member; None if nothing is."""
    if not (member.isdir() or (member.isreg() and not member.issparse())):
        return "is neither a file nor a folder"
    if member.size < 0:
        return f"has {member.size} bytes"
    parts = member.name.split("/")
    if parts[0] != root or (len(parts) == 1 and not member.isdir()):
        return f"is not in the folder {root!r}"
    if len(parts) > _DEEPEST:
        return f"lies in more than {_DEEPEST} folders"
    if any(part in {"", ".", ".."} or "\0" in part for part in parts):
        return "is not the path of a file"
    if any(len(part.encode(errors="surrogateescape")) > _LONGEST for part in parts):
        return f"has a name of more than {_LONGEST} bytes"
    return None


def _write(path: str, members: tarfile.TarFile, member: tarfile.TarInfo, place: str) -> None:
    """Write a file that is not there yet.

    Raises:
        Malformed: The archive ends within it.
        FileExistsError: It is there.
    """
    source = members.extractfile(member)
    assert source is not None  # a regular file has content
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with source, open(descriptor, "wb") as file:
        try:
            shutil.copyfileobj(source, file, 1 << 20)
        except tarfile.TarError as error:
            raise Malformed(f"{path}: not an archive of a store: {error}", format="tar") from error
