"""Opening a store by its URL."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from tare._tare import store_open
from tare.errors import UsageError
from tare.store.store import Store
from tare.store.values import known_codec

__all__ = ["open_store"]

_SCHEME = re.compile(r"([A-Za-z0-9+-]{2,}):")
_SIZES = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def open_store(  # noqa: PLR0913, PLR0917 - each is an option of the store, in the order that is documented
    url: str | os.PathLike[str],
    mode: str = "rw",
    create: bool = True,
    codec: str | None = None,
    compressor: str = "auto",
    durability: str = "batch",
    verify: str = "always",
    threads: int | None = None,
    cache: int | str = 0,
    missing: Callable[[str, str], Any] | None = None,
    allow_pickle: bool = False,
    namespace: str = "objects",
    canonical: bool = False,
    **driver_options: object,
) -> Store:
    """Open a store, or make it.

    Args:
        url: A path (a folder of Tare's, or an existing one of R's storr), ``memory:``, ``memory:NAME``,
            ``storr:path``, ``s3://bucket/prefix``, ``gs://``, ``az://``, ``redis://host:port/db?prefix=P``,
            ``postgres://user@host:port/db?schema=S``.
        mode: ``rw``, or ``r`` to refuse writing.
        create: Whether a store that does not exist is made.
        codec: Codec id for all values; by default chosen by the kind of each.
        compressor: ``auto`` (zstd:3 where it helps), ``none``, or a compressor's id such as ``zstd:9``.
        durability: ``none``, ``batch`` (all but the last second survives a power failure) or ``each``.
        verify: When what is read is hashed: ``always``, ``once`` a process for each object, or ``never``.
        threads: Threads that compress and decompress; all by default.
        cache: Bytes of objects that are kept in memory, or a text such as ``64M``.
        missing: Called as ``missing(key, namespace)`` for a key that does not exist, once per key and process
            at a time; what it gives is set and returned.
        allow_pickle: Whether codecs may be used whose reading can run code.
        namespace: The namespace that is meant where none is named.
        canonical: Whether the canonical hash of each value that `set` sets is kept, for `Store.find`; folder and
            memory keep them.
        driver_options: The driver's own, such as ``compress`` and ``mangle_key`` of storr.

    Raises:
        UsageError: A URL, a codec or an option that does not exist.
        FileNotFoundError: There is no store, and none is to be made.
        ConfigMismatch: An option against what the store was made with.
        StoreVersion: A store of a newer version.
        OSError: As the operating system says.

    >>> store = open_store("memory:")
    >>> store["scale"] = {"max_kg": 150, "divisions": [0.1, 0.5]}
    >>> store["scale"]["max_kg"], list(store)
    (150, ['scale'])
    """
    if mode not in ("r", "rw"):
        raise UsageError(f"mode={mode!r} is neither r nor rw")
    text = _absolute(os.fspath(url))
    if codec is not None:
        known_codec(codec, allow_pickle=allow_pickle)
    opened: dict[str, Any] = {
        "read_only": mode == "r",
        "create": create and mode == "rw",
        "compressor": compressor,
        "durability": durability,
        "verify": verify,
        "threads": threads,
        "cache_bytes": _bytes(cache),
        "driver": [(name, _spelt(value)) for name, value in driver_options.items()],
    }
    handle = store_open(text, opened)
    again = {
        "mode": mode,
        "create": create,
        "codec": codec,
        "compressor": compressor,
        "durability": durability,
        "verify": verify,
        "threads": threads,
        "cache": cache,
        "missing": missing,
        "allow_pickle": allow_pickle,
        "canonical": canonical,
        **driver_options,
    }
    return Store(handle, namespace, codec, url=text, options=again)


def _absolute(url: str) -> str:
    """The URL, with the path of a folder from the root on: a store stays where it is if the process moves."""
    scheme = _SCHEME.match(url)
    if scheme is None:
        return os.path.abspath(url)
    if scheme[1] in ("storr", "folder") and not url[scheme.end() :].startswith("//"):
        return f"{scheme[1]}:{os.path.abspath(url[scheme.end() :])}"
    return url


def _bytes(size: int | str) -> int:
    if isinstance(size, int):
        return size
    found = re.fullmatch(r"([0-9]+)([kmgKMG]?)i?B?", size.strip())
    if found is None:
        raise UsageError(f"cache={size!r} is no number of bytes: write 64M or 1G")
    return int(found[1]) * _SIZES.get(found[2].lower(), 1)


def _spelt(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
