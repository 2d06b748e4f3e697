"""The store that units of `put` set keys in: open from one unit of a process to the next, until the run ends.

Closing a folder moves its log into its index, and beginning another log waits for the disk: of units of 300 objects of 1 KiB
both took three times as long as setting them. Only processes that end with the run keep a folder open: one of an engine that is
not ours might hold it for days. Servers may end what is idle, and so are opened by each unit.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tare.errors import TareError
from tare.store import Store, open_store

if TYPE_CHECKING:
    from tare.scale.plan import Plan

__all__ = ["ENGINES", "let_go", "let_go_all", "opened"]

ENGINES = frozenset({"inline", "local"})
"""The engines whose processes end, or whose `let_go` is called, with the run."""

_FILES = ("tare-store.json", "index.sqlite")
_Seen = tuple[tuple[int, int, int], ...]
_idle: dict[str, tuple[Store, _Seen]] = {}
"""The store that no unit of this process uses now, by URL, and what its folder was; one at most."""


@contextlib.contextmanager
def opened(url: str, *, stays: bool) -> Iterator[Store]:
    """A store to set keys in, made if it is not there; at the end what was set lasts. Units of other threads have their own.

    Args:
        url: Of the store.
        stays: Whether a folder stays open behind it, until `let_go`.

    Raises:
        TareError, OSError: What is wrong with the store; it does not stay open.
    """
    store, seen = _idle.pop(url, (None, ()))
    if store is not None and seen != _seen(store):  # removed, or moved, and maybe put back from a copy
        _close(store)
        store = None
    store = store or _opened(url, stays=stays)
    try:
        yield store
        seen = _seen(store) if stays else ()
    except BaseException:
        store.close()
        raise
    if not seen:
        store.close()
        return
    let_go_all()
    _idle[url] = (store, seen)


def _opened(url: str, *, stays: bool) -> Store:
    store = open_store(url)
    if not stays or store.info()["driver"] != "folder":
        return store
    # Closing it is what would make a single key last; a batch does when it is acknowledged.
    store.close()
    return open_store(url, durability="each")


def _seen(store: Store) -> _Seen:
    """What tells a folder's files from others of their names, such as copies; empty of what is no folder, or has gone.

    A number of a file is soon given to another: of the one that nobody writes again its time of change tells them apart.
    """
    about = store.info()
    if about["driver"] != "folder":
        return ()
    try:
        found = [os.stat(os.path.join(about["url"], name)) for name in _FILES]
    except OSError:
        return ()
    return tuple(
        (one.st_dev, one.st_ino, one.st_ctime_ns if name == _FILES[0] else 0)
        for name, one in zip(_FILES, found, strict=True)
    )


def let_go(plan: Plan) -> None:
    """Close what `opened` left open in this process, and what it did in processes that the run has ended.

    The last process that closes a folder leaves no log there.
    """
    let_go_all()
    with contextlib.suppress(OSError, TareError, StopIteration):
        url = str(next(plan.units())["options"]["store"])
        with open_store(url, create=False) as store:
            if store.info()["driver"] == "folder":
                next(store.iter_keys(), None)  # who has read nothing has no log to leave


def let_go_all() -> None:
    """Close what `opened` left open in this process."""
    while _idle:
        _close(_idle.popitem()[1][0])


def _close(store: Store) -> None:
    """Close a store in which all lasts already; its files may have gone."""
    with contextlib.suppress(OSError, TareError):
        store.close()
