"""Where files are: a folder of this machine or a prefix of an object store, by URI.

Both hold files by names with ``/``. Local files are written beside and renamed; an object store's put is
its commit. Credentials for ``s3://`` come from the environment.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import os
import re
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, BinaryIO, cast
from urllib.parse import quote, unquote, urlsplit

from tare import atomic
from tare._tare import Blake3
from tare.datasets.source import printable
from tare.errors import MissingLibrary, PlanError, UsageError
from tare.scale import temporary
from tare.scale.attempts import attempt_of
from tare.scale.left import Undone
from tare.scale.object_errors import told
from tare.scale.object_file import ObjectFile
from tare.scale.opening import open_file, special

__all__ = [
    "Entry",
    "LocalPlace",
    "ObjectPlace",
    "Place",
    "as_uri",
    "bucket_and_key",
    "entry_of",
    "folder_uri",
    "hashed",
    "local_path",
    "path_uri",
    "place_of",
    "said_by",
    "shown",
    "split_uri",
]

_STEP_BYTES = 8 << 20
_RANGE_BYTES = 4 << 20
_FLUSHES = 16
_CLIENTS = 64
_AT_ONCE_BYTES = (
    64 << 20
)  # a put that may not replace is one request, out of memory; what is larger is looked for first
_PLAIN: set[tuple[object, ...]] = set()
"""Buckets of stores that do not know such a put: there a request for each asks what is there."""
_BEHIND = re.compile("[?#]")
_OURS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})  # what this process lacks is no fault of a file


@dataclass(frozen=True)
class Entry:
    """A file of a place.

    Args:
        name: Under the place, with ``/``.
        size: Its bytes.
        identity: What changes when its content does: ``mtime_ns`` or ``etag``.
        special: What it is if it is no file: ``is a pipe``.
    """

    name: str
    size: int
    identity: dict[str, int | str]
    special: str = ""


class Place(ABC):
    """Files by name under a URI."""

    passed: list[tuple[str, str]]
    """Names that `entries` came by and are no files, or cannot be looked at, with why."""

    @property
    @abstractmethod
    def uri(self) -> str:
        """Where it is."""

    @abstractmethod
    def entries(self, prefix: str = "") -> Iterator[Entry]:
        """Every file under a folder of the place, by name."""

    @abstractmethod
    def stat(self, name: str) -> Entry | None:
        """One file; None if there is none."""

    @abstractmethod
    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        """Its bytes, or some of them."""

    @abstractmethod
    def put(self, name: str, data: bytes) -> None:
        """Write a small file at once, in the place of one that is there."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Delete a file; one that is not there is no error."""

    @abstractmethod
    def local(self, name: str) -> contextlib.AbstractContextManager[str]:
        """A path of this machine that has the file's bytes, as long as it is open."""

    @abstractmethod
    def open(self, name: str) -> BinaryIO:
        """Its bytes as a file that can be read from anywhere; nothing is fetched that is not read."""

    @abstractmethod
    def scratch(self, label: str) -> str:
        """A new path of this machine where an output can be written; `commit` takes it over."""

    @abstractmethod
    def commit(self, path: str, name: str) -> None:
        """Make a written file the file of that name, whole or not at all."""

    def create(self, path: str, name: str) -> bool:
        """As `commit`, unless a file has that name: then nothing is done, and it is False."""
        if self.stat(name) is not None:
            return False
        self.commit(path, name)
        return True

    def settle(self, paths: Sequence[str]) -> None:  # noqa: B027 - an object store acknowledges what it has
        """Wait until the bytes of written files are on the disk, before any gets its name."""

    def flush(self, names: Iterable[str]) -> None:  # noqa: B027 - an object store acknowledges what it has
        """Wait until files, and their names in their folders, are on the disk."""


def place_of(uri: str) -> Place:
    """The place of a URI.

    Raises:
        UsageError: Neither a folder of this machine nor ``s3://``.
        MissingLibrary: ``s3://`` without obstore.

    >>> place_of("file:///tmp").uri
    'file:///tmp'
    """
    if uri.startswith("file:"):
        return LocalPlace(local_path(uri))
    if uri.startswith("s3://"):
        return ObjectPlace(uri)
    raise UsageError(f"{shown(uri)}: a folder of this machine or s3://bucket/prefix is needed")


def as_uri(path: str | os.PathLike[str]) -> str:
    """The URI of what a user typed: a path, or a URI as it is.

    >>> as_uri("s3://bucket/a"), as_uri("/data/a b")
    ('s3://bucket/a', 'file:///data/a%20b')

    Raises:
        UsageError: A scheme that is not read, or credentials.
    """
    path = os.fspath(path)
    if "://" in path:
        scheme, _, rest = path.partition("://")
        if "@" in rest.partition("/")[0]:
            raise UsageError("credentials come from the environment, not from a URL")
        if scheme not in ("s3", "file"):
            raise UsageError(f"{scheme}:// is not read; paths, file:// and s3:// are")
        return path.rstrip("/") if rest.partition("/")[2].strip("/") else path
    return path_uri(path)


def path_uri(path: str) -> str:
    """The URI of a path, whatever characters it has.

    >>> path_uri("/run #3/100%20?"), local_path(path_uri("/run #3/100%20?"))
    ('file:///run%20%233/100%2520%3F', '/run #3/100%20?')
    """
    return "file://" + quote(os.fsencode(os.path.abspath(path)), safe="/")


def folder_uri(path: str | os.PathLike[str]) -> str:
    """The URI of a folder of results, which need not be there.

    Raises:
        UsageError: As of `as_uri`.
        NotADirectoryError: It is a file.
    """
    uri = as_uri(path)
    if uri.startswith("file:") and os.path.isfile(local_path(uri)):
        raise NotADirectoryError(
            f"{printable(os.fspath(path))} is a file. Name a folder for the results of many files."
        )
    return uri


def local_path(uri: str) -> str:
    """The path of a ``file:`` URI.

    Raises:
        PlanError: It is of another machine.
    """
    if uri.startswith("file:///") and not _BEHIND.search(uri):
        return unquote(uri[7:], errors="surrogateescape")
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        raise PlanError(f"{shown(uri)}: not a file of this machine")
    return unquote(parts.path, errors="surrogateescape")


def shown(uri: str) -> str:
    """A URI for people: a path for files, a key of an object store as it is."""
    if uri.startswith("s3://"):
        return uri
    parts = urlsplit(uri)
    if parts.scheme == "file":
        return unquote(parts.path, errors="replace")
    return f"{parts.scheme}://{parts.hostname or ''}{parts.path}" if parts.scheme else uri


def split_uri(uri: str) -> tuple[Place, str]:
    """The place that a file is in, and its name there.

    >>> place, name = split_uri("file:///data/a.csv")
    >>> place.uri, name
    ('file:///data', 'a.csv')
    """
    if uri.startswith("file:"):
        folder, _, name = local_path(uri).rpartition("/")
        return LocalPlace(folder or "/"), name
    base, _, name = uri.rpartition("/")
    return place_of(base), name


def bucket_and_key(uri: str) -> tuple[str, str]:
    """The two halves of an ``s3:`` URI; a key is what it is, as in other tools: nothing of it is an escape.

    >>> bucket_and_key("s3://bucket/100%/what?/a#1/")
    ('bucket', '100%/what?/a#1')
    """
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    return bucket, key.strip("/")


def said_by(error: OSError) -> str:
    """What the system says, without the name.

    >>> said_by(PermissionError(errno.EACCES, "Permission denied", "/a"))
    'permission denied'
    """
    said = error.strerror or str(error)
    return said[:1].lower() + said[1:]


def hashed(path: str) -> tuple[int, str]:
    """Size and content hash of a local file."""
    hasher, size = Blake3(), 0
    with open_file(path) as file:
        while part := file.read(_STEP_BYTES):
            hasher.update(part)
            size += len(part)
    return size, hasher.hexdigest()


class LocalPlace(Place):
    """A folder.

    Args:
        root: Its path; it need not be there yet.
    """

    def __init__(self, root: str) -> None:
        self.root = root
        self.passed = []
        self.writing = ".tare/writing"
        """The folder under it where stands what has not its name yet."""

    @property
    def uri(self) -> str:
        """Of the folder; made when it is asked for, as a place is made for each of a unit's inputs."""
        return path_uri(self.root)

    def path(self, name: str) -> str:
        """Where a file lies."""
        return os.path.join(self.root, *name.split("/")) if name else self.root

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        """Every file under a folder of the place, by name; symbolic links to folders are not followed."""
        yield from self._walk(self.path(prefix), prefix)

    def _walk(self, folder: str, prefix: str, within: bool = False) -> Iterator[Entry]:
        try:
            with os.scandir(folder) as found:
                listed = sorted(found, key=lambda one: one.name)
        except FileNotFoundError:
            return
        except OSError as error:
            if not within or error.errno in _OURS:
                raise
            denied = isinstance(error, PermissionError)
            why = "a folder that this user may not read" if denied else said_by(error)
            self.passed.append(Undone((f"{prefix}/", why)))
            return
        for one in listed:
            name = f"{prefix}/{one.name}" if prefix else one.name
            if one.is_dir(follow_symlinks=False):
                yield from self._walk(one.path, name, within=True)
            elif (entry := self._entry(one, name)) is not None:
                yield entry

    def _entry(self, one: os.DirEntry[str], name: str) -> Entry | None:
        """A file; what is none, and what may not be looked at, is told in `passed`."""
        try:
            if one.is_file():
                return entry_of(name, one.stat())
            if one.is_symlink():
                why = "a link to a folder" if one.is_dir() else "a link to nothing"
            else:
                why = special(one.stat().st_mode)
        except FileNotFoundError:  # gone since it was listed
            return None
        except OSError as error:  # no rights on what it links to, links in a circle, a disk that fails
            if error.errno in _OURS:
                raise
            left = (name, said_by(error))
            self.passed.append(left if error.errno == errno.ELOOP else Undone(left))
            return None
        self.passed.append((name, why))
        return None

    def stat(self, name: str) -> Entry | None:
        """One file; None if there is none."""
        try:
            return entry_of(name, os.stat(self.path(name)))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        """Its bytes, or some of them."""
        with open_file(self.path(name)) as file:
            file.seek(start)
            return bytes(file.read(-1 if end is None else max(0, end - start)))

    def put(self, name: str, data: bytes) -> None:
        """Write a small file at once, in the place of one that is there."""
        target, folder = self.path(name), self.path(self.writing)
        for needed in (os.path.dirname(target), folder):
            os.makedirs(needed, exist_ok=True)
        path = os.path.join(folder, attempt_of("put", os.urandom(8).hex()))
        try:
            with open(path, "xb") as file:
                file.write(data)
            os.replace(path, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(path)
            raise

    def remove(self, name: str) -> None:
        """Delete a file; one that is not there is no error."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path(name))

    @contextlib.contextmanager
    def local(self, name: str) -> Iterator[str]:
        """The file itself."""
        yield self.path(name)

    def open(self, name: str) -> BinaryIO:
        """The file itself."""
        return cast(BinaryIO, open_file(self.path(name)))

    def scratch(self, label: str) -> str:
        """A new path under ``writing``, in the same file system as what it will become."""
        attempt, _, base = label.partition("/")
        folder = os.path.join(self.path(self.writing), attempt)
        os.makedirs(
            folder, 0o700, exist_ok=True
        )  # until it has its own mode, an output is nobody else's to read
        return os.path.join(folder, base)

    def settle(self, paths: Sequence[str]) -> None:
        """Many at a time: a disk that is asked for one after the other writes its journal for each."""
        if len(paths) < 3:
            for path in paths:
                atomic.flush_to_disk(path)
            return
        with ThreadPoolExecutor(min(_FLUSHES, len(paths))) as pool:
            for _ in pool.map(atomic.flush_to_disk, paths):
                pass

    def commit(self, path: str, name: str) -> None:
        """Rename a written file to its name."""
        target = self.path(name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.replace(path, target)
        with contextlib.suppress(OSError):
            os.rmdir(os.path.dirname(path))

    def flush(self, names: Iterable[str]) -> None:
        """Each file, and each folder between it and this one."""
        folders = {self.root}
        for name in names:
            path = self.path(name)
            atomic.flush_to_disk(path)
            while (path := os.path.dirname(path)) not in folders:
                folders.add(path)
        for folder in sorted(folders, key=len, reverse=True):
            number = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(number)
            finally:
                os.close(number)


class ObjectPlace(Place):
    """A prefix of a bucket, by obstore.

    Args:
        uri: ``s3://bucket/prefix``; the endpoint, region and credentials come from the environment
            (``AWS_ENDPOINT_URL``, ``AWS_REGION``, ``AWS_ACCESS_KEY_ID``, ...).
    """

    def __init__(self, uri: str) -> None:
        bucket, prefix = bucket_and_key(uri)
        if not bucket:
            raise UsageError(f"{shown(uri)}: its URL is s3://bucket/prefix")
        self._uri = uri.rstrip("/")
        self.passed = []
        self._store = _client(bucket, prefix, os.getpid(), _said_of_aws())

    @property
    def uri(self) -> str:
        """The bucket and the prefix."""
        return self._uri

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        """Every object under a prefix, by name."""
        from tare.scale.listing import objects

        with told(self.uri):
            for one in objects(self._store, prefix, self.passed):
                yield Entry(str(one["path"]), int(one["size"]), _etag(one))

    def stat(self, name: str) -> Entry | None:
        """One object; None if there is none."""
        import obstore

        try:
            with told(f"{self.uri}/{name}"):
                found = obstore.head(self._store, name)
        except FileNotFoundError:
            return None
        return Entry(name, int(found["size"]), _etag(found))

    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        """Its bytes, or some of them."""
        import obstore

        whole = start == 0 and end is None
        stop = 0 if whole else self._size(name) if end is None else end
        with told(f"{self.uri}/{name}"):
            if whole:
                return bytes(obstore.get(self._store, name).bytes())
            return bytes(obstore.get_range(self._store, name, start=start, end=stop)) if stop > start else b""

    def _size(self, name: str) -> int:
        found = self.stat(name)
        if found is None:
            raise FileNotFoundError(f"{shown(self.uri)}/{name} does not exist")
        return found.size

    def put(self, name: str, data: bytes) -> None:
        """Write an object, in the place of one that is there."""
        import obstore

        with told(f"{self.uri}/{name}"):
            obstore.put(self._store, name, data)

    def remove(self, name: str) -> None:
        """Delete an object; one that is not there is no error."""
        import obstore

        with contextlib.suppress(FileNotFoundError), told(f"{self.uri}/{name}"):
            obstore.delete(self._store, name)

    @contextlib.contextmanager
    def local(self, name: str) -> Iterator[str]:
        """A copy in a temporary folder, under its own name: endings tell formats."""
        import obstore

        with tempfile.TemporaryDirectory(prefix=temporary.prefix("get")) as folder:
            path = os.path.join(folder, name.rsplit("/", 1)[-1])
            with open(path, "wb") as file, told(f"{self.uri}/{name}"):
                file.writelines(obstore.get(self._store, name).stream(min_chunk_size=_STEP_BYTES))
            yield path

    def open(self, name: str) -> BinaryIO:
        """An object by requests of ranges."""
        return cast(BinaryIO, io.BufferedReader(ObjectFile(self, name, self._size(name)), _RANGE_BYTES))

    def scratch(self, label: str) -> str:
        """A path in this machine's temporary folder, which tells its process."""
        return os.path.join(tempfile.mkdtemp(prefix=temporary.prefix("put")), label.rpartition("/")[2])

    def commit(self, path: str, name: str) -> None:
        """Put a written file; the put is the commit."""
        import obstore

        with open(path, "rb") as file, told(f"{self.uri}/{name}"):
            obstore.put(self._store, name, cast(BinaryIO, file))
        shutil.rmtree(os.path.dirname(path), ignore_errors=True)

    def create(self, path: str, name: str) -> bool:
        """A put that the store refuses where something is: no request more; see `_AT_ONCE_BYTES` and `_PLAIN`."""
        import obstore

        client = (*bucket_and_key(self.uri)[:1], *_said_of_aws())
        if os.path.getsize(path) > _AT_ONCE_BYTES or client in _PLAIN:
            return super().create(path, name)
        try:
            with open(path, "rb") as file, told(f"{self.uri}/{name}"):
                obstore.put(self._store, name, cast(BinaryIO, file), mode="create")
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in (errno.ENOTSUP, errno.EACCES):
                raise
            try:
                made = super().create(path, name)  # some stores call what they do not know a bad request
            except PermissionError:
                raise error from None  # it was refused, and a put says why, as a look does not
            _PLAIN.add(client)
            return made
        shutil.rmtree(os.path.dirname(path), ignore_errors=True)
        return True


def _said_of_aws() -> tuple[tuple[str, str], ...]:
    """What of the environment tells one client from another: endpoint, region, credentials."""
    return tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith("AWS_")))


@functools.lru_cache(maxsize=_CLIENTS)
def _client(bucket: str, prefix: str, pid: int, said: tuple[tuple[str, str], ...]) -> Any:
    """A client, kept with its connections: making one for each file costs more than a small file does.

    Args:
        bucket: The bucket.
        prefix: What stands in front of all names.
        pid: Of this process: connections do not outlive a fork.
        said: What the environment says now.
    """
    del pid
    try:
        from obstore.store import S3Store
    except ImportError as error:
        raise MissingLibrary("s3:// needs obstore: pip install obstore") from error
    options: dict[str, Any] = {}
    endpoint = dict(said).get("AWS_ENDPOINT_URL_S3") or dict(said).get("AWS_ENDPOINT_URL")
    if endpoint:
        options["endpoint"] = endpoint
        options["client_options"] = {"allow_http": endpoint.startswith("http://")}
    return S3Store(bucket, prefix=prefix or None, **options)


def entry_of(name: str, found: os.stat_result) -> Entry:
    """A local file as the system describes it."""
    return Entry(name, found.st_size, {"mtime_ns": found.st_mtime_ns}, special(found.st_mode))


def _etag(found: Any) -> dict[str, int | str]:
    return {"etag": str(found.get("e_tag") or "")}
