"""Files that appear whole or not at all: written under a temporary name, then renamed."""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import os
import stat
import tempfile
import threading
import weakref
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

__all__ = [
    "Replacement",
    "commit_both",
    "first_bytes",
    "flush_to_disk",
    "is_special",
    "last_bytes",
    "make_folders",
    "mode_of",
    "refuse_unwritable",
    "remove_folders",
    "replacing",
    "replacing_both",
    "replacing_path",
    "write_atomic",
]

_ASKING = threading.Lock()


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
def replacing(
    path: str | os.PathLike[str], *, sync: bool = True, exclusive: bool = False, source: str | None = None
) -> Iterator[BinaryIO]:
    """A binary file that takes the place of ``path`` when the block ends without an error.

    A link is followed, so that its target is replaced; the mode of a file that was
    there is kept, and a new one gets what the umask allows.

    Args:
        path: The file; its folder must exist.
        sync: Whether to wait for the disk before renaming.
        exclusive: Whether it is an error if something is there, also when the block ends.
        source: The file that it is made of, as of `Replacement`.

    Raises:
        FileExistsError: Something is there, and ``exclusive``.
        OSError: The file cannot be written; what was at ``path`` is untouched.
    """
    with _replacement(path, exclusive=exclusive, source=source) as place, _opened(place) as file:
        yield cast(BinaryIO, file)
        file.flush()
        if sync and os.path.isfile(place.temporary):
            os.fsync(file.fileno())


@contextlib.contextmanager
def replacing_path(path: str | os.PathLike[str]) -> Iterator[str]:
    """As `replacing`, for those who open the file themselves, by the name that this gives.

    Args:
        path: The file; its folder must exist.

    Raises:
        OSError: The file cannot be written; what was at ``path`` is untouched.
    """
    with _replacement(path) as place:
        yield place.temporary


@contextlib.contextmanager
def _replacement(
    path: str | os.PathLike[str], *, exclusive: bool = False, source: str | None = None
) -> Iterator[Replacement]:
    place = Replacement(path, exclusive=exclusive, source=source)
    try:
        yield place
        place.commit()
    except BaseException:
        place.abandon()
        raise


class _Written(io.FileIO):
    """A temporary file, whose errors tell the name that it will have: the system's, of a full disk, tell none."""

    def __init__(self, place: Replacement) -> None:
        super().__init__(place.temporary, "wb")
        self._told = place.target

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = error.filename or self._told
            raise


def _opened(place: Replacement) -> io.BufferedWriter:
    return io.BufferedWriter(_Written(place))


def flush_to_disk(path: str | os.PathLike[str]) -> None:
    """Wait until the bytes of a file are on the disk; of what is no file, not at all.

    Raises:
        OSError: They cannot be written there.
    """
    if os.path.isfile(path):
        with open(path, "rb+") as file:
            os.fsync(file.fileno())


@contextlib.contextmanager
def replacing_both(
    path: str | os.PathLike[str], beside: str | os.PathLike[str]
) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Two binary files, as of `replacing`: one, and another that describes it.

    Args:
        path: The one.
        beside: The other. What is there never describes another file than the one at ``path``.

    Raises:
        OSError: One of them cannot be written; neither is left.
    """
    with contextlib.ExitStack() as undo:
        place = Replacement(path)
        undo.callback(place.abandon)
        described = Replacement(beside)
        undo.callback(described.abandon)
        with _opened(place) as file, _opened(described) as other:
            yield cast(BinaryIO, file), cast(BinaryIO, other)
            for written in (file, other):
                written.flush()
                os.fsync(written.fileno())
        commit_both(place, described)


def commit_both(place: Replacement, beside: Replacement) -> None:
    """Give a file and the one that describes it their names: both, or neither.

    A description that was there goes first, so that none is ever seen beside another file.

    Raises:
        OSError: As of `Replacement.commit`.
    """
    if not beside.exclusive and not beside.direct:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside.target)
    place.commit()
    try:
        beside.commit()
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(place.target)
        raise


class Replacement:
    """A file that takes the place of another when it is complete.

    The temporary file is removed with this object, at the latest when the interpreter ends, unless it was committed:
    an exception that a signal raises can come before the caller has the object, or in the middle of its clean-up.

    Args:
        path: The file; its folder must exist. A link is followed.
        exclusive: Whether it is an error if something is there.
        source: The file that it is made of: a new one is never open to more users than that.

    Raises:
        FileExistsError: Something is there, and ``exclusive``.
        OSError: The temporary file cannot be made.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, exclusive: bool = False, source: str | None = None
    ) -> None:
        self._source = source
        # A device, a fifo: there is nothing to replace, and renaming would destroy it.
        self.direct = is_special(path)
        self.target = os.fspath(path) if self.direct else os.path.realpath(path)
        self.exclusive = exclusive
        if exclusive and not self.direct and os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(path))
        if os.path.isdir(self.target):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        self.temporary = self.target
        self._removal: weakref.finalize[..., Replacement] | None = None
        if not self.direct:
            try:
                descriptor = self._create()
            except OSError as error:  # which names the temporary file
                raise OSError(error.errno, error.strerror, os.fspath(path)) from None
            os.close(descriptor)

    def _create(self) -> int:
        """Create the temporary file, whose removal is arranged before it exists; its descriptor."""
        folder, name = os.path.split(self.target)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        for _ in range(tempfile.TMP_MAX):
            self.temporary = os.path.join(folder, f".{first_bytes(name, 64)}.{os.urandom(8).hex()}.part")
            self._removal = weakref.finalize(self, _remove, self.temporary, os.getpid())
            try:
                return os.open(self.temporary, flags, 0o600)
            except FileExistsError:
                self._removal.detach()  # it is another's
        raise FileExistsError(errno.EEXIST, "no temporary name is free", self.target)

    def commit(self) -> None:
        """Give the file its name and the mode of what was there.

        Raises:
            OSError: That cannot be done, or something came to be there and it must not be.
        """
        if self.direct:
            return
        os.chmod(self.temporary, _mode(self.target, self._source))
        if self.exclusive:
            try:
                os.link(self.temporary, self.target)
            except FileExistsError:
                raise
            except (AttributeError, NotImplementedError, OSError):
                # No links here, as of many file systems of a network: between this look and the renaming something may come to be there.
                if os.path.lexists(self.target):
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), self.target) from None
            else:
                os.unlink(self.temporary)
                self._keep()
                return
        os.replace(self.temporary, self.target)
        self._keep()

    def abandon(self) -> None:
        """Remove what was written."""
        if not self.direct:
            with contextlib.suppress(OSError):
                os.unlink(self.temporary)
            self._keep()

    def _keep(self) -> None:
        """Remove nothing any more: the name may come to be another's."""
        if self._removal is not None:
            self._removal.detach()


def _remove(path: str, process: int) -> None:
    """Remove a temporary file, but not in a forked child: it is the parent's."""
    if os.getpid() == process:
        with contextlib.suppress(OSError):
            os.unlink(path)


def is_special(path: str | os.PathLike[str]) -> bool:
    """Returns true if a path leads to what is written into rather than replaced: a device, a pipe, a socket.

    Links such as ``/dev/stdout`` are followed by the system: where they lead need not have a name.

    Args:
        path: The path.

    >>> is_special(os.devnull), is_special(tempfile.gettempdir()), is_special("/dev/none/x")
    (True, False, False)
    """
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def refuse_unwritable(path: str | os.PathLike[str]) -> None:
    """Refuse a file that could not be written, before the work that makes it; nothing is made or changed.

    Folders of the path that are missing count as writable if the nearest one that is there is. What is there already is
    replaced by a file beside it, so that its folder is tried. A pipe or a device is not opened: who reads a pipe would see its end.

    Args:
        path: The file, there or not.

    Raises:
        OSError: It cannot be written there.

    >>> refuse_unwritable(os.path.join(tempfile.gettempdir(), "new", "folder", "x.json"))
    """
    target = os.path.realpath(path)
    try:
        if os.path.isdir(target):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), target)
        if is_special(path):
            if not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), target)
            return
        if os.path.exists(target):
            _refuse_fixed(target)
        missing = _missing_folders(target)
        with tempfile.TemporaryFile(dir=os.path.dirname(missing[-1] if missing else target)):
            return
    except OSError as error:
        name = os.fspath(path)
        raise OSError(f"{name} cannot be written: {error.strerror}. Name another place.") from error


def _refuse_fixed(target: str) -> None:
    """Refuse a file that no rename replaces: one that is mounted by itself, or another user's in a folder such as /tmp."""
    if _is_mounted(target):
        raise OSError(errno.EBUSY, "it is mounted by itself, and cannot be replaced", target)
    folder = os.stat(os.path.dirname(target))
    if folder.st_mode & stat.S_ISVTX and os.geteuid() not in (0, folder.st_uid, os.stat(target).st_uid):
        raise PermissionError(errno.EPERM, "it is another user's, and cannot be replaced", target)


def _is_mounted(target: str) -> bool:
    """Whether a file is a mount of its own, as containers are given single files."""
    try:
        with open("/proc/self/mountinfo", "rb") as file:
            places = [line.split()[4] for line in file]
    except (OSError, IndexError):  # no Linux
        return os.stat(target).st_dev != os.stat(os.path.dirname(target)).st_dev
    name = os.fsencode(target)
    for byte in b"\\ \t\n":
        name = name.replace(bytes([byte]), b"\\%03o" % byte)
    return name in places


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


def _mode(target: str, source: str | None = None) -> int:
    try:
        return os.stat(target).st_mode & 0o7777
    except FileNotFoundError:
        return 0o666 & ~_umask() & (0o777 if source is None else mode_of(source))


def mode_of(source: str) -> int:
    """Return who may do what with a file, as far as what is made of it is concerned: all, if it is no regular file."""
    try:
        mode = os.stat(source).st_mode
    except OSError:
        return 0o777
    return stat.S_IMODE(mode) | stat.S_IRUSR | stat.S_IWUSR if stat.S_ISREG(mode) else 0o777


def first_bytes(name: str, most: int) -> str:
    r"""Return the beginning of a name that has at most so many bytes: file systems count them, not characters.

    >>> first_bytes("data.csv", 4), first_bytes("\U0001f600\U0001f600", 7) == "\U0001f600"
    ('data', True)
    """
    return os.fsencode(name)[:most].decode(errors="ignore")


def last_bytes(name: str, most: int) -> str:
    """Return the end of a name that has at most so many bytes.

    >>> last_bytes("data.csv", 4)
    '.csv'
    """
    return os.fsencode(name)[-most:].decode(errors="ignore")


def _umask() -> int:
    """What the process keeps from new files. It is read where that can be; setting it is seen by all threads."""
    try:
        with open("/proc/self/status", "rb") as file:
            for line in file:
                if line.startswith(b"Umask:"):
                    return int(line.split()[1], 8)
    except (OSError, ValueError, IndexError):
        pass
    return _asked_umask()


@functools.cache
def _asked_umask() -> int:
    """By setting it, once: to what lets no other user at a file that another thread makes meanwhile."""
    with _ASKING:
        umask = os.umask(0o077)
        os.umask(umask)
    return umask
