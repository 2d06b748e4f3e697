"""Results are kept by function, version and arguments; what changes counts, what is ignored does not."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.capabilities import need_module

from tare import open_store
from tare.errors import Unsupported, UsageError
from tare.store import Store


@pytest.fixture
def store() -> Store:
    """An empty store."""
    return open_store("memory:")


def test_a_function_is_called_once_for_equal_arguments(store: Store) -> None:
    """However they are given, defaults included; frames and arrays too."""
    calls = []

    @store.memoize
    def weigh(what: Any, unit: str = "kg", *more: int, scale: float = 1.0, **named: int) -> Any:
        """Weighs."""
        calls.append(what)
        return {"what": str(what)[:20], "unit": unit, "n": [*more], "scale": scale, **named}

    pd = need_module("pandas")
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
    for what in (1, True, 1.0, "1", [1], np.arange(3), frame):
        calls.clear()
        first = weigh(what)
        assert weigh(what, "kg") == weigh(what=what, unit="kg", scale=1.0) == first == weigh.uncached(what)
        assert len(calls) == 2  # and the uncached one
    assert weigh(frame.copy()) == weigh(pd.concat([frame[:1], frame[1:]]))
    assert weigh(1, "g", 5, 6, x=1) == {"what": "1", "unit": "g", "n": [5, 6], "scale": 1.0, "x": 1}
    assert weigh(1, scale=2.0) != weigh(1)
    assert (weigh.__name__, weigh.__doc__) == ("weigh", "Weighs.")
    assert len(store.list("memoize")) == 9
    assert store.list() == []


def test_the_first_call_gives_what_later_ones_give(store: Store) -> None:
    """In the same types, from a hook too."""

    @store.memoize
    def pair(n: int) -> Any:
        return {"pair": (n, np.float64(0.5))} if n else np.arange(3)

    @store.memoize(version=1)
    async def awaited(n: int) -> Any:
        return (n,)

    for first, later in ((pair(1), pair(1)), (asyncio.run(awaited(1)), asyncio.run(awaited(1)))):
        assert repr(first) == repr(later)
    assert repr(pair(1)) == repr({"pair": (1, np.float64(0.5))})
    assert not pair(0).flags.writeable
    hooked = open_store("memory:", missing=lambda key, namespace: (key, 1))
    assert hooked.get("k") == ("k", 1) == hooked.get("k") == hooked.mget(["k", "l"])[0]
    with hooked.batch():
        assert hooked.get("in a batch") == ("in a batch", 1)


def test_results_are_forgotten_and_found_by_key(store: Store) -> None:
    """`key_of` names the result, `forget` deletes it."""
    calls = []

    @store.memoize(namespace="results")
    def double(n: int) -> int:
        calls.append(n)
        return 2 * n

    assert double(4) == 8 == store.get(double.key_of(n=4), "results")
    assert double.key_of(4).startswith(f"{__name__}.test_results")
    assert double.forget(4)
    assert not double.forget(4)
    assert double(4) == 8
    assert calls == [4, 4]


def test_none_is_a_result_and_an_error_is_none(store: Store) -> None:
    """None is kept; a function that raises is called again."""
    calls = []

    @store.memoize
    def maybe(n: int) -> None:
        calls.append(n)
        if n < 0:
            raise ValueError("negative")

    assert maybe(1) is None
    assert maybe(1) is None
    for _ in range(2):
        with pytest.raises(ValueError, match="negative"):
            maybe(-1)
    assert calls == [1, -1, -1]


def test_arguments_may_be_ignored_by_name(store: Store) -> None:
    """Whatever they are; a name that is no argument is told."""
    calls = []

    @store.memoize(ignore=["log", "extra"])
    def run(n: int, log: Any = None, **options: Any) -> int:
        calls.append(n)
        return n

    assert run(1, print) == run(1, log=open) == run(1, extra=lambda: 1)
    assert calls == [1]
    assert run(1, more=1) == 1
    assert calls == [1, 1]
    with pytest.raises(UsageError, match="no such argument; it has n"):
        store.memoize(ignore=["logg"])(lambda n: n)


def test_what_cannot_be_hashed_is_refused_by_name(store: Store) -> None:
    """With the function, the argument and the place in it; the function is not called."""

    @store.memoize
    def fit(model: Any, **options: Any) -> int:
        raise AssertionError

    with pytest.raises(
        Unsupported, match=r"an argument of .*fit at model\['layers'\]\[1\] is of type function .*<lambda>"
    ):
        fit({"layers": [1, lambda: 2]})
    with pytest.raises(Unsupported, match=r"options\['hook'\] is of type builtin_function_or_method 'print'"):
        fit(1, hook=print)
    with pytest.raises(TypeError):
        fit()


def source(body: str) -> Callable[[int], int]:
    """A function of the same name with another source."""
    import linecache

    text = f"def changing(n):\n    return {body}\n"
    name = f"<test {body}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope: dict[str, Any] = {"__name__": "somewhere"}
    exec(compile(text, name, "exec"), scope)
    return scope["changing"]  # type: ignore[no-any-return] # made just now


def test_a_changed_source_counts_without_a_version_and_not_with_one(store: Store) -> None:
    """The documented rule."""
    assert store.memoize(source("n + 1"))(1) == 2
    assert store.memoize(source("n + 2"))(1) == 3
    assert store.memoize(source("n + 1")).key_of(1) == store.memoize(source("n + 1")).key_of(1)
    first = store.memoize(source("n + 1"), version=1)
    assert first(1) == 2
    assert store.memoize(source("n + 2"), version=1)(1) == 2
    assert store.memoize(source("n + 2"), version="1")(1) == 3
    assert store.memoize(source("n + 3"), version=2)(1) == 4
    made: dict[str, Any] = {}
    exec("def made(n): return n", made)
    with pytest.raises(UsageError, match="version="):
        store.memoize(made["made"])


def test_methods_hash_their_object_unless_it_is_ignored(store: Store) -> None:
    """As any argument."""

    class Scale:
        def __init__(self, zero: int) -> None:
            self.zero = zero

        @store.memoize(ignore=["self"])
        def read(self, n: int) -> int:
            return n - self.zero

        @store.memoize
        def refused(self, n: int) -> int:
            return n

    assert Scale(1).read(5) == 4
    assert Scale(2).read(5) == 4
    with pytest.raises(Unsupported, match="at self is of type"):
        Scale(1).refused(5)


def test_threads_that_ask_at_once_share_one_call(store: Store) -> None:
    """Once per key and process at a time."""
    calls = []
    started = threading.Event()

    @store.memoize(ignore=["started"])
    def slow(n: int) -> int:
        calls.append(n)
        started.wait(0.2)
        return n * n

    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(slow(7))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (calls, found) == ([7], [49] * 8)


def test_coroutine_functions_are_awaited_once(store: Store) -> None:
    """Tasks that ask at once share one call; results and errors as of others."""
    calls = []

    @store.memoize
    async def fetch(n: int) -> int:
        calls.append(n)
        await asyncio.sleep(0.01)
        if n < 0:
            raise ValueError("negative")
        return n * n

    async def all_of_it() -> None:
        assert await asyncio.gather(fetch(2), fetch(2), fetch(3)) == [4, 4, 9]
        assert await fetch(2) == 4
        with pytest.raises(ValueError, match="negative"):
            await fetch(-1)
        assert await asyncio.to_thread(fetch.forget, 2)
        assert await fetch(2) == 4

    coroutine = fetch(0)
    assert inspect.iscoroutine(coroutine)
    coroutine.close()
    asyncio.run(all_of_it())
    assert calls == [2, 3, -1, 2]


def test_the_hook_of_the_store_makes_no_results(tmp_path: Path) -> None:
    """A store with a hook for missing keys still calls the function."""
    store = open_store("memory:", missing=lambda key, namespace: "made by the hook")

    @store.memoize
    def own(n: int) -> int:
        return n

    assert own(1) == 1


def test_functions_that_one_def_makes_share_nothing(store: Store) -> None:
    """What is closed over counts; what cannot be told is refused by name, unless it is ignored."""

    def adder(n: int) -> Any:
        @store.memoize
        def add(x: int) -> int:
            return x + n

        return add

    assert [adder(1)(1), adder(2)(1), adder(1)(1)] == [2, 3, 2]
    assert len(store.namespace("memoize")) == 2
    link = object()

    def fetch(x: int) -> int:
        return x if link else 0

    with pytest.raises(Unsupported, match="link"):
        store.memoize(fetch)
    assert store.memoize(fetch, ignore=["link"])(3) == 3
    with pytest.raises(UsageError, match="lambda"):
        store.memoize(lambda x: x + 1)
