"""Keys and values from one store into another, into archives and indexes, and back."""

from __future__ import annotations

import contextlib
import os
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tare._tare import store_copy
from tare.errors import HashNotFound, KeyNotFound, Malformed, TareError
from tare.store.reports import TransferReport
from tare.store.unpacking import unpack_store

if TYPE_CHECKING:
    import pyarrow as pa

    from tare.store.store import Store

__all__ = [
    "Chosen", "Rename", "archive_export", "archive_import", "copy", "from_dict", "index_export", "index_import",
    "opened_archive", "other", "to_dict",
]  # fmt: skip

Rename = Mapping[str, str] | Callable[[str], str] | None
_Told = Callable[[int], object] | None
_PAGE = 1000


@dataclass(frozen=True)
class Chosen:
    """Which keys are copied, and what they are called then.

    Args:
        keys: Keys of one namespace; None for all.
        rename: New names by old ones; None for the same.
        namespace: The namespace; None for all, or the store's own if keys are named.
        skip_missing: Whether keys that do not exist are passed over.
        skip_damaged: Whether keys whose object is damaged or gone are passed over.
    """

    keys: Iterable[str] | None = None
    rename: Rename = None
    namespace: str | None = None
    skip_missing: bool = False
    skip_damaged: bool = False

    def pages(self, store: Store) -> Iterator[list[tuple[str, str, str, str]]]:
        """Namespace and key, here and there, so many at a time."""
        if self.keys is not None:
            space = store.default_namespace if self.namespace is None else self.namespace
            yield [(space, key, space, self.name(key)) for key in self.keys]
            return
        for space in store.namespaces() if self.namespace is None else [self.namespace]:
            page = []
            for key in store.iter_keys(space):
                page.append((space, key, space, self.name(key)))
                if len(page) == _PAGE:
                    yield page
                    page = []
            yield page

    def name(self, key: str) -> str:
        """What a key is called in the other store."""
        if self.rename is None:
            return key
        return self.rename(key) if callable(self.rename) else self.rename.get(key, key)


@contextlib.contextmanager
def other(place: Any, mode: str) -> Iterator[Store]:
    """A store that was given, or that of a URL, which is closed in the end."""
    from tare.store.opening import open_store
    from tare.store.store import Store

    if isinstance(place, Store):
        yield place
        return
    with open_store(place, mode=mode) as store:
        yield store


def copy(src: Store, dest: Store, chosen: Chosen, on_progress: _Told) -> TransferReport:
    """Copy keys: stored bytes where both stores name objects alike, else values; what is there stays.

    Raises:
        KeyNotFound, Corrupt: Of the one store; what was copied before stays.
        Unsupported, EncodeError: A value that the other does not hold.
    """
    facts, there = src.info(), dest.info()
    notes = []
    if facts["hash"] != there["hash"]:
        notes.append(f"objects are named by {there['hash']} now, were by {facts['hash']}: all hashes changed")
    fixed = there["codec"]

    def convert(codec: str, data: bytes) -> tuple[str, bytes]:
        if codec == fixed == "rds":
            return codec, _version_2(data)
        value = src._decoded(codec, data)  # noqa: SLF001 - of the same package
        made, parts = dest._encoded(value, None, True)  # noqa: SLF001 - of the same package
        return made, b"".join(parts)

    found = store_copy(
        src, dest, chosen.pages(src), True, chosen.skip_missing, chosen.skip_damaged, convert, on_progress
    )
    if found["converted"]:
        notes.append(f"{found['converted']:,} objects are {fixed} now, as the store holds nothing else")
    return TransferReport(**found, notes=notes)


def _version_2(data: bytes) -> bytes:
    """An R object as version 2 of R's serialization, which storr's hashes are of."""
    from tare import r

    if data[:6] == b"X\n\x00\x00\x00\x02":
        return data
    value = r.read(data, format="rds", as_="robject")
    again = r.write(value, None, format="rds", version=2, encoding="xdr", compressor="none").data
    assert again is not None  # as without a path
    return again


def from_dict(
    store: Store, src: Mapping[Any, Any], keys: Iterable[str] | None, rename: Rename, namespace: str | None
) -> TransferReport:
    """Set all of a dict in one batch.

    Raises:
        KeyNotFound: The dict has no such key.
    """
    chosen = Chosen(keys, rename, namespace)
    names = [*src] if keys is None else [*keys]
    absent = [name for name in names if name not in src]
    if absent:
        raise KeyNotFound(f"the dict has no key {absent[0]!r}", key=absent[0], keys=absent)
    store.mset([chosen.name(name) for name in names], [src[name] for name in names], namespace)
    return TransferReport(len(names))


def to_dict(store: Store, dest: dict[str, Any], chosen: Chosen) -> dict[str, Any]:
    """Fill a dict with values of one namespace.

    Raises:
        KeyNotFound: There is no such key.
    """
    space = store.default_namespace if chosen.namespace is None else chosen.namespace
    keys = store.list(space) if chosen.keys is None else [*chosen.keys]
    absent = object()
    found = store.mget(keys, space, absent) if chosen.skip_missing else store.mget(keys, space)
    for key, value in zip(keys, found, strict=True):
        if value is not absent:
            dest[chosen.name(key)] = value
    return dest


def archive_export(store: Store, dest: str, on_progress: _Told, skip_damaged: bool) -> TransferReport:
    """Copy a whole store into a folder, a storr, or a tar of a folder.

    Raises:
        FileExistsError: There is something.
    """
    from tare import atomic
    from tare.store.opening import open_store

    path = dest.removeprefix("storr:").removeprefix("folder:")
    if os.path.lexists(path) and not (os.path.isdir(path) and not os.listdir(path)):
        raise FileExistsError(f"{path} exists already")
    if not dest.endswith(".tar"):
        with open_store(dest) as made:
            return copy(store, made, Chosen(skip_damaged=skip_damaged), on_progress)
    with tempfile.TemporaryDirectory(prefix="tare-", dir=os.path.dirname(os.path.abspath(dest))) as folder:
        inside = os.path.join(folder, "store")
        with open_store(inside) as made:
            report = copy(store, made, Chosen(skip_damaged=skip_damaged), on_progress)
        with atomic.replacing(dest) as file, tarfile.open(fileobj=file, mode="w") as tar:
            tar.add(inside, arcname="store")
    return report


def archive_import(store: Store, src: str, on_progress: _Told, skip_damaged: bool) -> TransferReport:
    """Copy a whole archive into a store.

    Raises:
        Malformed: It is not an archive of a store, or holds what no store has, such as a link.
    """
    with opened_archive(src) as made:
        return copy(made, store, Chosen(skip_damaged=skip_damaged), on_progress)


@contextlib.contextmanager
def opened_archive(src: str) -> Iterator[Store]:
    """The store that an archive holds: a tar is unpacked for so long.

    Raises:
        Malformed: As `archive_import`.
    """
    from tare.store.opening import open_store

    if not os.path.isfile(src):
        with open_store(src, mode="r") as made:
            yield made
        return
    with tempfile.TemporaryDirectory(prefix="tare-") as folder:
        unpack_store(src, folder)
        inside = os.path.join(folder, "store")
        try:
            made = open_store(inside, create=False)
        except (TareError, OSError) as error:
            why = (
                "its folder 'store' holds no store: if the tar was cut, copy it again; `tare store export` makes one"
                if isinstance(error, FileNotFoundError)
                else str(error).replace(inside, "its folder 'store'")
            )
            raise Malformed(f"{src}: not an archive of a store: {why}", format="tar") from error
        with made:
            yield made


def index_export(store: Store) -> pa.Table:
    """All keys with what they name."""
    import pyarrow as pa

    rows: dict[str, list[Any]] = {
        name: [] for name in ("namespace", "key", "hash", "codec", "plain_len", "stored_len", "time")
    }
    for page in Chosen().pages(store):
        if not page:
            continue
        records = store._records([key for _, key, _, _ in page], page[0][0])  # noqa: SLF001 - of the same package
        there = [(row, record) for row, record in zip(page, records, strict=True) if record is not None]
        stats = store._stat_objects([record[0] for _, record in there])  # noqa: SLF001 - of the same package
        for ((space, key, _, _), record), stat in zip(there, stats, strict=True):
            plain, stored = (None, None) if stat is None else stat[:2]
            for name, value in zip(
                rows, (space, key, *record[:2], plain, stored, record[2] or None), strict=True
            ):
                rows[name].append(value)
    schema = pa.schema(
        [(name, pa.string()) for name in ("namespace", "key", "hash", "codec")]
        + [("plain_len", pa.int64()), ("stored_len", pa.int64()), ("time", pa.timestamp("us", "UTC"))]
    )
    return pa.table(rows, schema)


def index_import(store: Store, table: pa.Table) -> int:
    """Let keys name objects that are there.

    Raises:
        HashNotFound: An object is not there; nothing was changed.
    """
    rows = table.select(["namespace", "key", "hash", "codec"]).to_pylist()
    hashes = sorted({row["hash"] for row in rows})
    there = store.exists_object(hashes)
    absent = [hash for hash, found in zip(hashes, there, strict=True) if not found]
    if absent:
        raise HashNotFound(
            f"{len(absent):,} objects are not in the store, such as {absent[0]}",
            hash=absent[0],
            store=store.url,
        )
    store._name([(row["namespace"], row["key"], row["hash"], row["codec"]) for row in rows])  # noqa: SLF001 - of the same package
    return len(rows)
