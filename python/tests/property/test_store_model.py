"""Random calls of a store against dicts of Python: every driver answers as they do."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.stores import new_store

from tare import open_store
from tare.errors import Conflict, KeyNotFound

KEYS = st.sampled_from(["a", "b", "a b", "\u00e9", ".dot", "k" * 90, "A"])
SPACES = st.sampled_from(["objects", "n", "m"])
NUMBERS = st.integers(0, 5)
CALLS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), KEYS, SPACES, NUMBERS),
        st.tuples(st.just("set_if_absent"), KEYS, SPACES, NUMBERS),
        st.tuples(st.just("del"), KEYS, SPACES),
        st.tuples(st.just("mset"), st.lists(KEYS, max_size=4), SPACES, NUMBERS),
        st.tuples(st.just("mget"), st.lists(KEYS, max_size=4), SPACES),
        st.tuples(st.just("get"), KEYS, SPACES),
        st.tuples(st.just("duplicate"), KEYS, SPACES, KEYS, SPACES),
        st.tuples(st.just("clear"), SPACES),
        st.tuples(st.just("list"), SPACES),
        st.tuples(st.just("batch"), st.lists(st.tuples(KEYS, SPACES, st.none() | NUMBERS), max_size=4), st.booleans()),
        st.tuples(st.just("gc")),
        st.tuples(st.just("reopen")),
    ),
    max_size=25,
)  # fmt: skip


class Pair:
    """A store, and the dict that it must be like."""

    def __init__(self, store: Any) -> None:
        self.store = store
        self.model: dict[tuple[str, str], int] = {}
        self.of_r = store.info()["codec"] == "rds"

    def given(self, n: int) -> Any:
        """A value for a number; some lie in files of their own."""
        return [float(n)] * (1 if n < 4 else 30_000)

    def number(self, value: Any) -> int:
        """The number of a value."""
        return int((value.to_python() if self.of_r else value)[0])

    def call(self, name: str, *args: Any) -> None:
        """Calls both and compares."""
        getattr(self, name)(*args)

    def set(self, key: str, space: str, n: int) -> None:
        hash = self.store.set(key, self.given(n), space)
        assert hash == self.store.get_hash(key, space)
        self.model[space, key] = n

    def set_if_absent(self, key: str, space: str, n: int) -> None:
        if not self.store.info()["conditions"]:
            return
        if (space, key) in self.model:
            with pytest.raises(Conflict):
                self.store.set(key, self.given(n), space, if_absent=True)
            return
        self.store.set(key, self.given(n), space, if_absent=True)
        self.model[space, key] = n

    def delete(self, key: str, space: str) -> None:
        assert self.store.del_(key, space) == (self.model.pop((space, key), None) is not None)

    def mset(self, keys: list[str], space: str, n: int) -> None:
        self.store.mset(keys, [self.given((n + i) % 6) for i in range(len(keys))], space)
        self.model |= {(space, key): (n + i) % 6 for i, key in enumerate(keys)}

    def mget(self, keys: list[str], space: str) -> None:
        found = self.store.mget(keys, space, missing=None)
        assert [None if one is None else self.number(one) for one in found] == [
            self.model.get((space, key)) for key in keys
        ]
        assert self.store.exists(keys, space) == [(space, key) in self.model for key in keys]

    def get(self, key: str, space: str) -> None:
        if (space, key) in self.model:
            assert self.number(self.store.get(key, space)) == self.model[space, key]
        else:
            with pytest.raises(KeyNotFound):
                self.store.get(key, space)

    def duplicate(self, key: str, space: str, other: str, other_space: str) -> None:
        if (space, key) in self.model:
            self.store.duplicate(key, other, space, other_space)
            self.model[other_space, other] = self.model[space, key]
        else:
            with pytest.raises(KeyNotFound):
                self.store.duplicate(key, other, space, other_space)

    def clear(self, space: str) -> None:
        names = [place for place in self.model if place[0] == space]
        assert self.store.clear(space) == len(names)
        for place in names:
            del self.model[place]

    def list(self, space: str) -> None:
        assert self.store.list(space) == sorted((key for s, key in self.model if s == space), key=str.encode)
        assert self.store.namespaces() == sorted({s for s, _ in self.model})

    def batch(self, changes: Any, fails: bool) -> None:
        try:
            with self.store.batch():
                for key, space, n in changes:
                    self.store.del_(key, space) if n is None else self.store.set(key, self.given(n), space)
                if fails:
                    raise ZeroDivisionError
        except ZeroDivisionError:
            return
        for key, space, n in changes:
            if n is None:
                self.model.pop((space, key), None)
            else:
                self.model[space, key] = n

    def gc(self) -> None:
        self.store.gc(grace=0)
        assert len(self.store.list_hashes()) == len(set(self.model.values()))

    def reopen(self) -> None:
        url, options = self.store._url, self.store._options
        if not url.startswith("memory:"):
            self.store.close()
            self.store = open_store(url, **options)

    def end(self) -> None:
        for space, key in self.model:
            self.get(key, space)
        for space in ("objects", "n", "m"):
            self.list(space)
        assert self.store.check("full").is_clean
        assert self.store.stat().keys == len(self.model)


@pytest.mark.parametrize("driver", ["memory", "folder", "storr"])
@given(calls=CALLS)
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_a_store_is_like_a_dict(driver: str, calls: Any) -> None:
    """Whatever is called, in whatever order."""
    with tempfile.TemporaryDirectory() as folder:
        options = {"mangle_key": True} if driver == "storr" else {}
        pair = Pair(new_store(driver, Path(folder), **options))
        for name, *args in calls:
            pair.call({"del": "delete"}.get(name, name), *args)
        pair.end()
        pair.store.close()
