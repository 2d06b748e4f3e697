"""`Store`: values under keys, each named by the hash of its bytes."""

from __future__ import annotations

import builtins
import contextlib
import mmap as mapping
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from tare._tare import StoreCore, StoreHandle
from tare.errors import KeyNotFound, Limit, Unsupported, UsageError
from tare.store import moving, reports, streams, values
from tare.store.grace import seconds
from tare.store.hook import Hook

if TYPE_CHECKING:
    import io
    from typing import Self

    import pyarrow as pa

    from tare.store.aio import AsyncStore
    from tare.store.memo import Memoize

__all__ = ["Store"]

_PAGE = 1000


class Store(StoreCore, MutableMapping[str, Any]):  # type: ignore[misc] # `get` raises where a mapping's gives None
    """Values under keys, each named by the hash of its bytes; `tare.open_store` opens one.

    It is a mapping too. All calls release the GIL; threads share a store, and processes open it again: a
    store that is pickled opens by its URL. Within ``with store.batch():`` changes of this thread happen
    together at the end.

    >>> from tare import open_store
    >>> with open_store("memory:") as store:
    ...     hash = store.set("a", [1, 2.5])
    ...     store.get("a"), store.get_hash("a") == hash, store.get("b", default=None)
    ([1, 2.5], True, None)
    """

    def __new__(
        cls, handle: StoreHandle, namespace: str, codec: str | None, *, options: Mapping[str, Any], **_: Any
    ) -> Self:
        """As `tare.open_store` calls it."""
        return super().__new__(cls, handle, namespace, codec, bool(options.get("canonical")))

    def __init__(
        self,
        handle: StoreHandle,
        namespace: str,
        codec: str | None,
        *,
        url: str,
        options: Mapping[str, Any],
        hook: Hook | None = None,
    ) -> None:
        self._url = url
        self._options = dict(options)
        self._codec = codec
        self._allow_pickle = bool(options.get("allow_pickle"))
        self._hook = hook if hook is not None else Hook(options.get("missing"))
        self._fixed: str | None = self.info()["codec"]
        self._has_hook = self._hook.function is not None

    # What the core asks for.

    def _encoded(self, value: Any, codec: str | None, whole: bool) -> values.Encoded:
        return values.encoded(
            value,
            codec if codec is not None else self._codec if self._fixed is None else None,
            whole=whole,
            allow_pickle=self._allow_pickle,
            fixed=self._fixed,
        )

    def _decoded(self, codec: str, data: bytes) -> Any:
        return values.decoded(codec, data, allow_pickle=self._allow_pickle)

    def _canonical(self, value: Any) -> str | None:
        from tare.store.hashing import canonical_hash

        try:
            return canonical_hash(value)
        except (Unsupported, Limit):
            return None

    def _refused(self, value: Any, error: Exception) -> Exception:
        return values.refused(value, error)

    def _missed(self, key: str, namespace: str, wanted: bool) -> tuple[bool, Any]:
        """What the hook makes of a key that does not exist, if there is a hook."""
        make = self._hook.function
        if make is None:
            return False, None
        absent = object()
        with self._hook.alone(key, namespace):
            if bool(self.exists(key, namespace)):  # another thread made it
                other = self._without_hook().get(key, namespace, absent)
                if other is not absent:
                    return True, other
            try:
                value = make(key, namespace)
            except Exception as error:
                raise KeyNotFound(
                    f"no key {key!r} in the namespace {namespace!r}, and its hook failed: {error}",
                    key=key,
                    namespace=namespace,
                    store=self.url,
                ) from error
            self.set(key, value, namespace)
            # As it is given from now on; within a batch it is not there yet.
            return True, self._without_hook().get(key, namespace, value)

    def _without_hook(self) -> Store:
        return Store(
            self._handle,
            self.default_namespace,
            self._codec,
            url=self._url,
            options=self._options,
            hook=Hook(None),
        )

    # What it is.

    @property
    def url(self) -> str:
        """Where it lies, without secrets."""
        return str(self.info()["url"])

    def __repr__(self) -> str:
        if self.closed:
            return "<tare.Store, closed>"
        return f"<tare.Store {self.url!r}, namespace {self.default_namespace!r}>"

    def __reduce__(self) -> tuple[Callable[..., Store], tuple[Any, ...]]:
        if self._url == "memory:":
            raise TypeError("a store in memory without a name is of one process: it cannot be pickled")
        return _opened, (self._url, self.default_namespace, self._options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __bool__(self) -> bool:
        return True  # an empty store is one, and `len` may cost much

    def __eq__(self, other: object) -> bool:
        return self is other  # two stores are not compared value by value

    __hash__ = object.__hash__

    def __iter__(self) -> Iterator[str]:
        return self.iter_keys()

    def namespace(self, name: str) -> Store:
        """The same store, where another namespace is meant if none is named.

        >>> from tare import open_store
        >>> store = open_store("memory:")
        >>> store.namespace("models")["a"] = 1
        >>> store.get("a", "models"), "a" in store
        (1, False)
        """
        return Store(self._handle, name, self._codec, url=self._url, options=self._options, hook=self._hook)

    @property
    def aio(self) -> AsyncStore:
        """The same verbs, to be awaited: each runs in a thread.

        >>> import asyncio, tare
        >>> store = tare.open_store("memory:")
        >>> async def both():
        ...     await store.aio.set("a", 1)
        ...     return await store.aio.get("a")
        >>> asyncio.run(both())
        1
        """
        from tare.store.aio import AsyncStore

        return AsyncStore(self)

    # Keys and hashes.

    def iter_keys(self, namespace: str | None = None, prefix: str = "") -> Iterator[str]:
        """The keys of a namespace that begin with a prefix, sorted by their UTF-8 bytes, page by page."""
        space = self.default_namespace if namespace is None else namespace
        after: str | None = None
        while True:
            page = self._page(space, prefix, after, _PAGE)
            yield from page
            if not page:
                return
            after = page[-1]

    def list(self, namespace: str | None = None, prefix: str = "") -> builtins.list[str]:
        """The keys of a namespace that begin with a prefix, sorted by their UTF-8 bytes."""
        return [*self.iter_keys(namespace, prefix)]

    def list_hashes(self) -> builtins.list[str]:
        """The hashes of all objects, sorted."""
        found: builtins.list[str] = []
        while page := self._hashes(found[-1] if found else None, _PAGE):
            found += page
        return found

    def mget_hash(self, keys: Iterable[str], namespace: Any = None, missing: Any = ...) -> builtins.list[Any]:
        """The hashes of the objects that keys name.

        Raises:
            KeyNotFound: Keys do not exist, and nothing stands for them; `keys` names all of them.
        """
        names = [*keys]
        found = self._records(names, namespace)
        absent = [name for name, record in zip(names, found, strict=True) if record is None]
        if absent and missing is ...:
            raise KeyNotFound(
                f"no key {', '.join(map(repr, absent[:3]))}", key=absent[0], keys=absent, store=self.url
            )
        return [missing if record is None else record[0] for record in found]

    def codec_of(self, key: str, namespace: str | None = None) -> str:
        """The id of the codec of the value at a key.

        Raises:
            KeyNotFound: No such key.
        """
        record = self._records([key], namespace)[0]
        if record is None:
            raise KeyNotFound(f"no key {key!r}", key=key, namespace=namespace, store=self.url)
        return record[1]

    def hash_object(self, value: Any, codec: str | None = None, canonical: bool = False) -> str:
        """The hash that a value has in this store; nothing is stored.

        Args:
            value: Any value that can be set.
            codec: Codec id; by default chosen by the kind of the value.
            canonical: The hash of what the value is, which does not depend on how it is encoded.

        Raises:
            Unsupported, EncodeError: As `set` says; of canonical hashes as `canonical_hash` says.
        """
        if canonical:
            from tare.store.hashing import canonical_hash

            return canonical_hash(value)
        return self._hash_bytes(value, codec)

    def find(self, canonical: str) -> builtins.list[str]:
        """The hashes of the objects whose canonical hash this is.

        Raises:
            Unsupported: The driver keeps no canonical hashes.
        """
        return self._find(canonical)

    # Values.

    def set_by_value(
        self,
        value: Any,
        namespace: str | None = None,
        codec: str | None = None,
        compressor: str | None = None,
    ) -> str:
        """Set a value under its own hash, which is given back.

        Raises:
            As `set`.
        """
        hash = self.set_value(value, codec, compressor)
        self.set(hash, value, namespace, codec, compressor)
        return hash

    def set_stream(
        self, key: str, file: Any, namespace: str | None = None, compressor: str | None = None
    ) -> str:
        """Set a key to all bytes of a binary file object, in bounded memory; their hash.

        Raises:
            As `set`.
        """
        if not callable(getattr(file, "read", None)):
            raise UsageError(f"a binary file object is read, not {type(file).__name__}")
        return self.set(key, file, namespace, "raw", compressor)

    def open(self, key: str, namespace: str | None = None) -> io.BufferedReader:
        """A binary file of the bytes at a key, as its codec wrote them. A damaged object is an error before its end.

        Raises:
            KeyNotFound, HashNotFound: There is nothing.
            Corrupt: While it is read.
        """
        reader, codec = self._reader(key, namespace)
        return streams.opened(reader, codec, key)

    def view(self, key: str, namespace: str | None = None, *, mmap: bool = False) -> memoryview:
        """Return the bytes at a key, as its codec wrote them; ``tare.blit.view`` and ``numpy.frombuffer`` take them.

        Args:
            key: The key.
            namespace: Its namespace; None for the default.
            mmap: Map the file of the store in which they lie: verified first, nothing is copied. Only where nobody
                may cut the file, as by writing into the store's folder: reading what is gone ends the process
                (SIGBUS). Small objects lie in no file of their own, and are read.

        Raises:
            KeyNotFound, HashNotFound, Corrupt: As `get` says.
            Unsupported: The object is compressed, and was to be mapped: set it with ``compressor='none'``.
        """
        if not mmap:
            return memoryview(self._bytes(key, namespace)[1])
        hash = self.get_hash(key, namespace)
        path = self._local_file(hash)
        if path is None:
            return memoryview(self._bytes(key, namespace)[1])
        found = self._stat_objects([hash])[0]
        if found is None or found[2] != "none":
            how = "gone" if found is None else f"compressed by {found[2]}"
            raise Unsupported(
                f"{key!r}: the object is {how}, so it cannot be mapped: set it with compressor='none'"
            )
        with builtins.open(path, "rb") as file:
            return memoryview(mapping.mmap(file.fileno(), 0, access=mapping.ACCESS_READ))

    def duplicate(self, src: Any, dest: Any, namespace: Any = None, namespace_dest: Any = None) -> Any:
        """Let keys name what other keys name; their hashes. No bytes are moved.

        Args:
            src: A key, or a list of keys.
            dest: As many keys.
            namespace: Namespace of the first.
            namespace_dest: Namespace of the others; None for the same.

        Raises:
            KeyNotFound: One of the first does not exist; nothing was changed.
        """
        target = namespace if namespace_dest is None else namespace_dest
        found = self._duplicate(src, dest, namespace, target)
        return found[0] if isinstance(src, str) and isinstance(dest, str) else found

    def clear(self, namespace: str | None = None, all: bool = False) -> int:  # type: ignore[override]  # storr's verb counts
        """Delete all keys of a namespace, or of all; how many. Objects stay until they are collected."""
        spaces = self.namespaces() if all else [self.default_namespace if namespace is None else namespace]
        return sum(self._clear(space) for space in spaces)

    @contextlib.contextmanager
    def batch(self, durability: str | None = None) -> Iterator[Store]:
        """Gather the changes that this thread makes, and make them together at the end; after an error none.

        Until then the store answers as before. Where the driver's batches are atomic, all happen or none.

        Args:
            durability: Of the whole batch; None for the store's.

        Raises:
            Conflict, NoSpace, Busy: At the end.
        """
        self._begin(durability)
        try:
            yield self
        except BaseException:
            self._end(False)
            raise
        self._end(True)

    def memoize(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        version: object = None,
        ignore: Iterable[str] = (),
        namespace: str = "memoize",
    ) -> Any:
        """Keep what a function gives, by the canonical hash of its arguments.

        The first call too gives the result as it comes back from the store: an array read-only, a named tuple as a tuple.

        The key is the function's qualified name, its version, and the canonical hash of its arguments as they
        are bound, defaults included. Without a version the digest of the function's own source is part of the
        key, so that a changed function is called anew; what it calls is not looked at. With a version the source
        is not looked at: change the version when results change. What it closes over counts as it is when the
        function is decorated.

        Args:
            function: The function; left out when options are given. Coroutine functions are awaited.
            version: Any text or number.
            ignore: Names of arguments, or of what is closed over, that do not count.
            namespace: Where results are kept.

        Returns:
            The function, which has ``forget(...)``, ``key_of(...)`` and ``uncached`` besides.

        Raises:
            Unsupported: When called with an argument that has no lasting description; it is named.
            UsageError: ``ignore`` names no argument; a lambda, which has no name of its own; or the source cannot be
                read, and there is no version.

        >>> from tare import open_store
        >>> @open_store("memory:").memoize(version=1)
        ... def square(n):
        ...     print("weighing", n)
        ...     return n * n
        >>> square(3), square(n=3)
        weighing 3
        (9, 9)
        """
        from tare.store.memo import memoized

        def wrapped(function: Callable[..., Any]) -> Memoize:
            return memoized(self, function, version=version, ignore=[*ignore], namespace=namespace)

        return wrapped if function is None else wrapped(function)

    # Upkeep.

    def gc(self, grace: float | str = "24h", dry_run: bool = False) -> reports.GcReport:
        """Delete objects that no key names, and has named for the grace.

        Args:
            grace: Seconds, or a text such as ``30m``, ``24h``, ``7d``. 0 needs the store for itself; in an object
                store, which has no locks, so does all below 24 hours: say ``exclusive=1`` in its URL.
            dry_run: Only say what would go.

        Raises:
            Busy: A grace of 0 while others use the store.
            Unsupported: A short grace in an object store that others may write to.
        """
        return reports.GcReport(**self._gc(seconds(grace), dry_run))

    def check(
        self, level: str = "quick", on_progress: Callable[[int], object] | None = None
    ) -> reports.CheckReport:
        """Compare keys, objects and places with each other.

        Args:
            level: ``quick``, or ``full`` to read and hash every object too.
            on_progress: Called with the objects done so far.

        Raises:
            UsageError: Any other level.
        """
        if level not in ("quick", "full"):
            raise UsageError(f"level={level!r} is neither quick nor full")
        return reports.check_report(self._check(level == "full", on_progress))

    def repair(self, apply: bool = False, purge: bool = False) -> reports.RepairReport:
        """Check in full and mend what was found, or say how it would be mended.

        Args:
            apply: Do it. Damaged objects and the list of dangling keys are set aside.
            purge: Delete instead of setting aside.
        """
        before, done = self._repair(apply, purge)
        actions = [
            reports.Action(reports.Finding(**one["finding"]), one["what"], one["done"]) for one in done
        ]
        return reports.RepairReport(apply, actions, reports.check_report(before))

    def stat(self) -> reports.Stat:
        """How much it holds."""
        return reports.Stat(**self._stat())

    def destroy(self, confirm: bool = False) -> None:
        """Delete the store and all that it holds.

        Raises:
            UsageError: Without ``confirm=True``.
        """
        if not confirm:
            raise UsageError(f"destroy() deletes all of {self.url}: say confirm=True")
        self._destroy()

    # From and to other places.

    def import_(
        self,
        src: Any,
        keys: Iterable[str] | None = None,
        rename: moving.Rename = None,
        *,
        namespace: str | None = None,
        skip_missing: bool = False,
        skip_damaged: bool = False,
        on_progress: Callable[[int], object] | None = None,
    ) -> reports.TransferReport:
        """Copy keys and their values into this store; what is there already is not copied again.

        Args:
            src: A store, its URL, or a dict.
            keys: Keys of one namespace; None for all keys of all namespaces, or of ``namespace``.
            rename: A dict or a function that gives the new name of a key.
            namespace: The namespace of the keys.
            skip_missing: Whether keys that do not exist are passed over.
            skip_damaged: Whether keys whose object is damaged or gone are passed over; ``damaged`` of the report
                names them.
            on_progress: Called with the keys done so far.

        Raises:
            KeyNotFound, Corrupt: Of the other store; what was copied before stays.
            Unsupported, EncodeError: A value that this store does not hold.
        """
        if isinstance(src, dict):
            return moving.from_dict(self, src, keys, rename, namespace)
        with moving.other(src, "r") as store:
            chosen = moving.Chosen(keys, rename, namespace, skip_missing, skip_damaged)
            return moving.copy(store, self, chosen, on_progress)

    def export_(
        self,
        dest: Any,
        keys: Iterable[str] | None = None,
        rename: moving.Rename = None,
        *,
        namespace: str | None = None,
        skip_missing: bool = False,
        skip_damaged: bool = False,
        on_progress: Callable[[int], object] | None = None,
    ) -> Any:
        """Copy keys and their values out of this store, as `import_` copies them in.

        Args:
            dest: A store, its URL, or a dict, which is filled with values and given back.
            keys: As of `import_`, as all that follow.
            rename: New names of keys.
            namespace: The namespace of the keys.
            skip_missing: Whether keys that do not exist are passed over.
            skip_damaged: Whether keys whose object is damaged or gone are passed over; ``damaged`` of the report
                names them.
            on_progress: Called with the keys done so far.

        Raises:
            As `import_`.
        """
        if isinstance(dest, dict):
            return moving.to_dict(
                self, dest, moving.Chosen(keys, rename, namespace, skip_missing, skip_damaged)
            )
        with moving.other(dest, "rw") as store:
            chosen = moving.Chosen(keys, rename, namespace, skip_missing, skip_damaged)
            return moving.copy(self, store, chosen, on_progress)

    def archive_export(
        self,
        dest: str,
        on_progress: Callable[[int], object] | None = None,
        *,
        skip_damaged: bool = False,
    ) -> reports.TransferReport:
        """Copy the whole store into a folder, a storr (``storr:folder``), or a tar of a folder (``x.tar``).

        ``skip_damaged`` as of `import_`.

        Raises:
            FileExistsError: There is something.
        """
        return moving.archive_export(self, dest, on_progress, skip_damaged)

    def archive_import(
        self,
        src: str,
        on_progress: Callable[[int], object] | None = None,
        *,
        skip_damaged: bool = False,
    ) -> reports.TransferReport:
        """Copy a whole archive, as `archive_export` makes it, into this store; ``skip_damaged`` as of `import_`.

        Raises:
            DecodeError: It is no archive.
        """
        return moving.archive_import(self, src, on_progress, skip_damaged)

    def index_export(self) -> pa.Table:
        """All keys with what they name: namespace, key, hash, codec, plain_len, stored_len, time."""
        return moving.index_export(self)

    def index_import(self, table: pa.Table) -> int:
        """Let keys name what a table of `index_export` says; how many. The objects must be there.

        Raises:
            HashNotFound: An object is not there; nothing was changed for it and what follows.
        """
        return moving.index_import(self, table)


def _opened(url: str, namespace: str, options: dict[str, Any]) -> Store:
    """A store that was pickled."""
    from tare.store.opening import open_store

    return open_store(url, namespace=namespace, **options)
