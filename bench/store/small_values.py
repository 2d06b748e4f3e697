"""Goals of ``definitions/store.toml`` about small values: one double under a key."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import tare
from store import inputs
from store.inputs import SCALE, Found, Took, disk, fresh, in_r, once, per, quoted, taken, turns

__all__ = [
    "collect",
    "list_keys",
    "many_disk",
    "many_get",
    "many_set",
    "small_get",
    "small_get_hash",
    "small_set",
]

US = 1e6


def _store(name: str, **options: Any) -> Any:
    return tare.open_store(str(fresh(name)), **options)


def _numbers(count: int) -> tuple[list[str], list[float]]:
    """So many new keys, each with a number that no store has."""
    first = [once() for _ in range(count)]
    return [f"k{number}" for number in first], [number + 0.25 for number in first]


def small_set(peer: str, durability: str) -> Found:
    """One double under a new key."""
    store = _store("small", durability=durability)

    def ours() -> Took:
        keys, values = _numbers(SCALE.calls)
        return taken(lambda: _each_set(store.set, keys, values), SCALE.calls)

    return turns(ours, _small_set_of(peer), unit=US)


def _each_set(set_: Callable[[str, float], object], keys: Sequence[str], values: Sequence[float]) -> None:
    for key, value in zip(keys, values, strict=True):
        set_(key, value)


def _small_set_of(peer: str) -> Callable[[], Took]:
    if peer == "diskcache":
        cache = inputs.cache_of_disk()

        def theirs() -> Took:
            keys, values = _numbers(SCALE.calls)
            return taken(lambda: _each_set(cache.set, keys, values), SCALE.calls)

        return theirs
    root, gzip = inputs.steps_root(), "TRUE" if peer == "gzip" else "FALSE"

    def steps() -> Took:
        count, start = SCALE.calls // 4, once()
        code = f"for (i in seq_len({count})) steps_set({quoted(root)}, paste0('s{start}-', i), {start} + i / {count + 1}, {gzip})"
        return per(count, in_r(code))

    return steps


@functools.cache
def _filled() -> tuple[Any, Any, Path, list[str]]:
    """3,000 one-number keys in a store, in diskcache and in a folder of storr's kind; their names."""
    keys, values = _numbers(SCALE.keys)
    store, root = _store("filled"), fresh("filled-steps")
    store.mset(keys, values)
    assert store.get(keys[7]) == values[7]
    in_r(f"steps_open({quoted(root)})")
    in_r(f"keys <- sprintf('k%d', seq_len({len(keys)}))")
    in_r(f"for (i in seq_along(keys)) steps_set({quoted(root)}, keys[i], i + 0.25, FALSE)")
    try:
        cache = inputs.cache_of_disk()
        _each_set(cache.set, keys, values)
    except RuntimeError:
        cache = None
    return store, cache, root, keys


def small_get(peer: str) -> Found:
    """The double of a key, in random order; ours is verified."""
    store, _, _, keys = _filled()
    return turns(
        lambda: taken(lambda: _each(store.get, _shuffled(keys)), len(keys)), _small_get_of(peer), unit=US
    )


def _small_get_of(peer: str, function: str = "steps_get") -> Callable[[], Took]:
    _, cache, root, keys = _filled()
    if peer == "diskcache":
        theirs = cache if cache is not None else inputs.cache_of_disk()
        return lambda: taken(lambda: _each(theirs.get, _shuffled(keys)), len(keys))
    return lambda: per(len(keys), in_r(f"for (key in sample(keys)) {function}({quoted(root)}, key)"))


def _each(get: Callable[[str], object], keys: Sequence[str]) -> None:
    for key in keys:
        get(key)


def _shuffled(keys: Sequence[str]) -> list[str]:
    return random.sample(keys, len(keys))


def small_get_hash() -> Found:
    """The hash of a key, beside reading storr's key file."""
    store, _, _, keys = _filled()
    ours = functools.partial(taken, lambda: _each(store.get_hash, _shuffled(keys)), len(keys))
    return turns(ours, _small_get_of("storr", "steps_get_hash"), unit=US)


def many_set(peer: str, durability: str) -> Found:
    """3,000 new keys in one call, beside a loop of the peer's."""
    store, count = _store("many", durability=durability), SCALE.keys

    def ours() -> Took:
        keys, values = _numbers(count)
        return taken(lambda: store.mset(keys, values))

    if peer == "diskcache":
        cache = inputs.cache_of_disk()

        def theirs() -> Took:
            keys, values = _numbers(count)
            return taken(lambda: _each_set(cache.set, keys, values))

        return turns(ours, theirs, unit=1e3)
    root = inputs.steps_root()

    def steps() -> Took:
        start = once()
        return in_r(
            f"for (i in seq_len({count})) steps_set({quoted(root)}, paste0('m{start}-', i), {start} + i / {count + 1}, FALSE)"
        )

    return turns(ours, steps, unit=1e3)


def many_get(peer: str) -> Found:
    """3,000 keys in one call, verified, beside a loop of the peer's."""
    store, _, _, keys = _filled()
    theirs = _small_get_of(peer)

    def loop() -> Took:
        cpu, wall = theirs()
        return cpu * len(keys), wall * len(keys)

    return turns(lambda: taken(lambda: store.mget(keys)), loop, unit=1e3)


def list_keys() -> Found:
    """The sorted names of 3,000 keys."""
    store, _, root, keys = _filled()
    assert sorted(keys) == list(store.list())
    repeats = 20
    code = f"for (i in seq_len({repeats})) steps_list({quoted(root)})"
    return turns(
        lambda: taken(lambda: [store.list() for _ in range(repeats)], repeats),
        lambda: per(repeats, in_r(code)),
        unit=1e3,
    )


def collect() -> Found:
    """Collecting where 3,000 keys are and 300 more were deleted."""
    store, _, root, _ = _filled()
    dead = SCALE.keys // 10

    def ours() -> Took:
        keys, values = _numbers(dead)
        store.mset(keys, values)
        store.del_(keys)
        return taken(lambda: store.gc(grace=0))

    def steps() -> Took:
        start = once()
        in_r(f"dead <- paste0('d{start}-', seq_len({dead}))")
        in_r(
            f"for (i in seq_len({dead})) steps_set({quoted(root)}, dead[i], {start} + i / {dead + 1}, FALSE)"
        )
        in_r(f"invisible(file.remove(file.path({quoted(root)}, 'keys/objects', dead)))")
        return in_r(f"steps_gc({quoted(root)})")

    return turns(ours, steps, unit=1e3)


def many_disk(what: str) -> Found:
    """Disk that 3,000 one-number keys take, each set by itself, the store closed: MB or files."""
    root = fresh("disk")
    with tare.open_store(str(root)) as store:
        _each_set(store.set, *_numbers(SCALE.keys))
        opened = disk(root)
    used, files = disk(root)
    detail = {"bytes": used, "files": files, "open_bytes": opened[0], "open_files": opened[1]}
    peer = fresh("disk-steps")
    in_r(f"steps_open({quoted(peer)})")
    in_r(f"for (i in seq_len({SCALE.keys})) steps_set({quoted(peer)}, paste0('k', i), i + 0.25, TRUE)")
    theirs, their_files = disk(peer)
    detail |= {"steps_bytes": theirs, "steps_files": their_files}
    ours, limit = (used / 1e6, 1.5) if what == "MB" else (float(files), 10.0)
    return ours, limit, ours / limit, detail
