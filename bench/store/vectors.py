"""Goals of ``definitions/store.toml`` about vectors of doubles, in our folders and in R's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tare
from store import inputs
from store.inputs import (
    SCALE,
    Found,
    Took,
    disk,
    doubles,
    found,
    fresh,
    in_r,
    in_r_as,
    once,
    quoted,
    rounds,
    taken,
    turns,
)

__all__ = [
    "get_none",
    "get_zstd",
    "memory_hit",
    "set_again",
    "set_default",
    "set_none",
    "size_default",
    "storr_get",
    "storr_same",
    "storr_set",
]

US = 1e6


def _store(name: str, **options: Any) -> Any:
    return tare.open_store(str(fresh(name)), **options)


def _count(size: str) -> int:
    return {"1e6": SCALE.small, "1e7": SCALE.large}[size]


def _new(values: Any) -> Any:
    """The same vector with another first value, made in its place: no store has it."""
    values[0] = once() / 2**32
    return values


@functools.cache
def _vectors(content: str, size: str) -> Any:
    return doubles(content, _count(size)).copy()


def _ours_set(store: Any, values: Any) -> Callable[[], Took]:
    def ours() -> Took:
        _new(values)
        took = taken(lambda: store.set("x", values))
        store.del_("x")
        store.gc(grace=0)
        return took

    return ours


def _steps_set(content: str, size: str, *, gzip: bool) -> Callable[[], Took]:
    root, name = fresh("steps"), in_r_as(content, _count(size))
    doubles(content, _count(size))
    in_r(f"steps_open({quoted(root)})")
    in_r(f"new <- {name}")

    def steps() -> Took:
        in_r(f"new[1] <- {once()} / 2^32")
        took = in_r(f"hash <- steps_set({quoted(root)}, 'x', new, {'TRUE' if gzip else 'FALSE'})")
        in_r(f"invisible(file.remove(steps_data({quoted(root)}, hash)))")
        return took

    return steps


def set_default(content: str, size: str, clock: str) -> Found:
    """A vector with the default compressor, beside storr's steps with gzip."""
    return found(_set_default(content, size), clock=clock)


@functools.cache
def _set_default(content: str, size: str) -> list[tuple[Took, Took]]:
    store = _store("default")
    return rounds(_ours_set(store, _vectors(content, size)), _steps_set(content, size, gzip=True))


def size_default(content: str, size: str) -> Found:
    """Stored bytes of both, MB."""
    values = doubles(content, _count(size))
    root, peer = fresh("size"), fresh("size-steps")
    with tare.open_store(str(root)) as store:
        store.set("x", values)
        assert (store.get("x") == values).all()
    in_r(f"steps_open({quoted(peer)})")
    in_r(f"steps_set({quoted(peer)}, 'x', {in_r_as(content, _count(size))})")
    ours, theirs = (inputs.stored_bytes(*at) / 1e6 for at in ((root, "objects"), (peer, "data")))
    ours = ours or disk(root)[0] / 1e6  # so little that it is in the index
    return ours, theirs, ours / theirs, {}


def set_none(peer: str, size: str) -> Found:
    """A vector without a compressor and without a sync."""
    values = _vectors("runif32", size)
    store = _store("none", compressor="none", durability="none")
    store.set("x", values)
    assert (store.get("x") == values).all()
    if peer == "storr":
        return turns(_ours_set(store, values), _steps_set("runif32", size, gzip=False))
    return turns(_ours_set(store, values), _plain_set(peer, values))


def _plain_set(peer: str, values: Any) -> Callable[[], Took]:
    if peer == "diskcache":
        cache = inputs.cache_of_disk()

        def cached() -> Took:
            took = taken(lambda: cache.set("x", _new(values)))
            cache.delete("x")
            return took

        return cached
    dump = inputs.peer("joblib").dump if peer == "joblib" else _write

    def theirs() -> Took:
        path = fresh("plain")
        took = taken(lambda: dump(values, path))
        path.unlink()
        return took

    return theirs


def _write(values: Any, path: Path) -> None:
    with open(path, "wb", buffering=0) as file:
        file.write(values.data)


def get_none(peer: str, size: str) -> Found:
    """A vector that is stored as it is, verified, from the page cache."""
    values = doubles("runif32", _count(size))
    store = _store("none", compressor="none", durability="none")
    store.set("x", values)
    assert (store.get("x") == values).all()
    return turns(lambda: taken(lambda: store.get("x")), _plain_get(peer, values, size))


def _plain_get(peer: str, values: Any, size: str) -> Callable[[], Took]:
    if peer in ("storr", "gzip"):
        root = fresh("steps")
        in_r(f"steps_open({quoted(root)})")
        gzip = "TRUE" if peer == "gzip" else "FALSE"
        in_r(f"steps_set({quoted(root)}, 'x', {in_r_as('runif32', _count(size))}, {gzip})")
        return lambda: in_r(f"x <- steps_get({quoted(root)}, 'x')")
    if peer == "diskcache":
        cache = inputs.cache_of_disk()
        cache.set("x", values)
        return lambda: taken(lambda: cache.get("x"))
    path = fresh("plain")
    if peer == "joblib":
        joblib = inputs.peer("joblib")
        joblib.dump(values, path)
        return lambda: taken(lambda: joblib.load(path))
    _write(values, path)
    return lambda: taken(path.read_bytes)


def get_zstd(peer: str, size: str) -> Found:
    """A vector that is stored with zstd, verified, beside the sum of its parts, or storr's gzip."""
    values = doubles("runif32", _count(size))
    store = _store("zstd", compressor="zstd:3", durability="none")
    store.set("x", values)
    assert (store.get("x") == values).all()

    def ours() -> Took:
        return taken(lambda: store.get("x"))

    if peer == "storr":
        return turns(ours, _plain_get("gzip", values, size))
    import zstandard

    digest, whose = inputs.blake3()
    packed = zstandard.compress(values.tobytes(), 3)
    path = fresh("bare")
    path.write_bytes(packed)
    unpack = zstandard.ZstdDecompressor()
    return turns(ours, lambda: taken(lambda: digest(unpack.decompress(path.read_bytes()))), hash=whose)


def set_again(first: bool, size: str) -> Found:
    """A value that is there already: of a store just opened, or later; beside storr's steps for a new one."""
    values = doubles("runif32", _count(size))
    path = str(fresh("again"))
    tare.open_store(path, compressor="none", durability="none").set("x", values)

    def ours() -> Took:
        with tare.open_store(path, compressor="none", durability="none") as store:
            if not first:
                store.set("x", values)
            return taken(lambda: store.set("x", values))

    root, name = fresh("steps"), in_r_as("runif32", _count(size))
    in_r(f"steps_open({quoted(root)})")
    in_r(f"steps_set({quoted(root)}, 'x', {name}, FALSE)")
    return turns(ours, lambda: in_r(f"steps_set({quoted(root)}, 'x', {name}, FALSE)"))


def memory_hit(size: str, through: str) -> Found:
    """What was computed before is given again, beside joblib.Memory."""
    joblib = inputs.peer("joblib")
    values = doubles("runif32", SCALE.large) if size == "80MB" else 1.25
    memory = joblib.Memory(str(fresh("joblib")), verbose=0)
    theirs = memory.cache(_computed, ignore=["values"])

    def hook(key: str, namespace: str) -> Any:
        return values

    store = tare.open_store(
        str(fresh("memory")), compressor="none", missing=hook if through == "hook" else None
    )
    if through == "hook":
        mine: Callable[[], Any] = functools.partial(store.get, "x")
    else:
        mine = functools.partial(store.memoize(ignore=["values"])(_computed), values, 1)
    peer = functools.partial(theirs, values, 1)
    mine(), peer()
    calls = 3 if size == "80MB" else SCALE.calls // 4
    return turns(
        lambda: taken(lambda: [_dropped(mine) for _ in range(calls)], calls),
        lambda: taken(lambda: [_dropped(peer) for _ in range(calls)], calls),
        unit=US,
    )


def _computed(values: Any, x: int) -> Any:
    return values


def _dropped(call: Callable[[], Any]) -> None:
    call()


# --- storr's folders ----------------------------------------------------------------------


def storr_set(size: str) -> Found:
    """A vector into a storr folder with gzip, wall time on all cores, beside storr's steps."""
    store = tare.open_store(f"storr:{fresh('storr')}")
    values = _vectors("runif32", size)
    return turns(_ours_set(store, values), _steps_set("runif32", size, gzip=True), clock="wall")


def storr_get(size: str, verified: bool) -> Found:
    """A vector that R's steps wrote, verified by md5, beside the steps, which hash nothing unless ``verified``."""
    root = fresh("storr")
    doubles("runif32", _count(size))
    in_r(f"steps_open({quoted(root)})")
    _as_storr(root)
    in_r(f"steps_set({quoted(root)}, 'x', {in_r_as('runif32', _count(size))})")
    store = tare.open_store(f"storr:{root}")
    assert store.exists("x")
    store.get("x")
    get = "steps_get_verified" if verified else "steps_get"
    return turns(lambda: taken(lambda: store.get("x")), lambda: in_r(f"x <- {get}({quoted(root)}, 'x')"))


def _as_storr(root: Path) -> None:
    """The options that make a folder storr's."""
    (root / "config").mkdir()
    options = {"version": "1.2.6", "hash_algorithm": "md5", "mangle_key": "FALSE", "mangle_key_pad": "FALSE"}
    for name, text in (options | {"compress": "TRUE"}).items():
        (root / "config" / name).write_text(text + "\n", encoding="ascii")


def storr_same() -> float:
    """1 where R computes the same hash and reads from our file what it holds itself."""
    values, root = doubles("runif32", SCALE.small), fresh("storr")
    store = tare.open_store(f"storr:{root}")
    hash_ = store.set("x", values)
    name = in_r_as("runif32", SCALE.small)
    in_r(f"theirs <- steps_hash(serialize({name}, NULL, xdr = TRUE, version = 2L))")
    same = told_identical(root, name)
    return float(same and hash_ == inputs.told_by_r("theirs"))


def told_identical(root: Path, name: str) -> bool:
    """Whether R reads from a storr folder what it has under a name."""
    return inputs.told_by_r(f"identical(steps_get({quoted(root)}, 'x'), {name})") == "TRUE"
