"""What goes wrong with a store is told precisely: damaged is not missing, and every error has its facts."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.capabilities import need_namespaces
from support.stores import new_store

from tare import errors, open_store
from tare.errors import (
    ConfigMismatch,
    Conflict,
    Corrupt,
    HashNotFound,
    KeyInvalid,
    KeyNotFound,
    ReadOnly,
    StoreError,
    TareError,
    UsageError,
)


@pytest.fixture
def bad(tmp_path: Path, shared: Callable[[str], Path]) -> Callable[[str], Any]:
    """A damaged store of R, opened."""

    def opened(name: str) -> Any:
        with tarfile.open(shared(f"fixtures/storr/{name}.tar")) as tar:
            tar.extractall(tmp_path, filter="data")
        return open_store(f"storr:{tmp_path / name}", mode="r")

    return opened


def test_each_error_has_its_class_its_base_and_its_facts() -> None:
    """Whoever knows Python's own classes catches them; attributes survive pickling."""
    bases = {
        "KeyNotFound": KeyError, "HashNotFound": KeyError, "ConfigMismatch": ValueError, "Busy": TimeoutError,
        "NoSpace": OSError, "KeyInvalid": ValueError, "Corrupt": TareError, "Collision": TareError,
        "Conflict": TareError, "ReadOnly": TareError, "StoreVersion": TareError,
    }  # fmt: skip
    for name, base in bases.items():
        cls = getattr(errors, name)
        assert issubclass(cls, StoreError)
        assert issubclass(cls, base)
        made = cls(
            "what was wrong",
            key="k",
            namespace="n",
            store="memory:",
            hash="ab",
            place="there",
            expected="x",
            got="y",
        )
        assert str(made) == "what was wrong"
        for one in (made, pickle.loads(pickle.dumps(made))):
            assert (one.key, one.keys, one.namespace, one.store, one.hash) == (
                "k",
                ("k",),
                "n",
                "memory:",
                "ab",
            )
            assert (one.place, one.expected, one.got) == ("there", "x", "y")
    assert cls("x", keys=["a", "b"]).keys == ("a", "b")


def test_damaged_is_not_missing_and_a_lost_object_is_not_a_lost_key(bad: Any) -> None:
    """Corrupt, HashNotFound and KeyNotFound, each where it belongs; a default hides the last alone."""
    with bad("corrupt") as store:
        for key in ("k", "t", "z"):
            for call in (
                lambda key=key: store.get(key),
                lambda key=key: store.get(key, default=1),
                lambda key=key: store.mget([key], missing=1),
            ):
                with pytest.raises(Corrupt) as caught:
                    call()
                assert caught.value.hash == store.get_hash(key)
                assert caught.value.place
                assert not isinstance(caught.value, KeyError)
        with pytest.raises(Corrupt), store.open("k") as file:
            file.read()
        assert store.exists("k")
    with bad("dangling") as store:
        for call in (
            lambda: store["k"],
            lambda: store.get("k", default=1),
            lambda: store.mget(["k"], missing=1),
        ):
            with pytest.raises(HashNotFound) as lost:
                call()
            assert (lost.value.key, lost.value.namespace, lost.value.hash[:8]) == ("k", "objects", "35e2c0a4")
        with pytest.raises(KeyNotFound):
            _ = store["nothing"]


def test_setting_the_value_again_mends_it(tmp_path: Path, shared: Callable[[str], Path]) -> None:
    """Whatever was flipped, the same value set again reads back."""
    for driver in ("storr", "folder"):
        place = tmp_path / driver  # of its own: files are looked for below
        place.mkdir()
        with new_store(driver, place, **({} if driver == "storr" else {"compressor": "none"})) as store:
            value = np.arange(100_000.0)
            hash = store.set("k", value)
            path = next(path for path in place.rglob("*") if path.is_file() and path.stat().st_size > 90_000)
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.chmod(0o600)
        path.write_bytes(data)
        with open_store(store._url) as again:
            with pytest.raises(Corrupt):
                again.get("k")
            assert not again.check("full").is_clean
            assert again.set("other", value) == hash
            back = again.get("k")
            np.testing.assert_array_equal(back if driver == "folder" else back.to_python(), value)
            assert again.check("full").is_clean


def test_a_store_opened_for_reading_is_not_written(tmp_path: Path) -> None:
    """ReadOnly, of every verb that would change it."""
    with new_store("storr", tmp_path) as store:
        store["a"] = 1
        url = store._url
    before = sorted((path, path.stat().st_mtime_ns) for path in tmp_path.rglob("*"))
    with open_store(url, mode="r") as store:
        for call in (
            lambda: store.set("b", 1), lambda: store.del_("a"), store.clear, lambda: store.mset(["b"], [1]),
            lambda: store.duplicate("a", "b"), store.gc, lambda: store.repair(apply=True),
            lambda: store.destroy(confirm=True), lambda: store.import_({"b": 1}), lambda: store.set_value(1),
        ):  # fmt: skip
            with pytest.raises(ReadOnly):
                call()
        assert store["a"].to_python() == 1
    assert sorted((path, path.stat().st_mtime_ns) for path in tmp_path.rglob("*")) == before


def test_options_against_an_existing_store_are_told(tmp_path: Path) -> None:
    """Both values are named."""
    new_store("storr", tmp_path).close()
    url = next(f"storr:{path}" for path in tmp_path.iterdir() if path.name.startswith("storr-"))
    with pytest.raises(ConfigMismatch, match=r"mangle_key"):
        open_store(url, mangle_key=True)
    with pytest.raises(UsageError, match="no option"):
        open_store(url, prefix="x")
    for wrong in (
        {"mode": "w"},
        {"durability": "some"},
        {"verify": "maybe"},
        {"cache": "much"},
        {"codec": "jsn"},
        {"compressor": "zip"},
    ):
        with pytest.raises(TareError):
            open_store("memory:", **wrong)


def test_what_does_not_exist_is_not_found(tmp_path: Path) -> None:
    """Opening for reading, or without making one."""
    for url in (f"storr:{tmp_path}/nowhere", f"{tmp_path}/nowhere"):
        for options in ({"mode": "r"}, {"create": False}):
            with pytest.raises((FileNotFoundError, errors.Unsupported)):
                open_store(url, **options)
    assert list(tmp_path.iterdir()) == []


def test_destroying_needs_a_word(tmp_path: Path) -> None:
    """And takes the store away, and nothing beside it."""
    (tmp_path / "beside").write_text("x")
    store = new_store("storr", tmp_path)
    store["a"] = 1
    with pytest.raises(UsageError, match="confirm=True"):
        store.destroy()
    assert store["a"].to_python() == 1
    store.destroy(confirm=True)
    assert store.closed
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["beside"]


FULL = """
import sys
import numpy as np, tare
from tare.errors import NoSpace
store = tare.open_store(sys.argv[1], **({"compress": False} if sys.argv[1].startswith("storr:") else {"compressor": "none"}))
store["k"] = [1.5]
for _ in range(3):
    try:
        store["k"] = np.random.default_rng(0).random(1_000_000)
    except NoSpace as error:
        assert isinstance(error, OSError) and error.key == "k", error
    else:
        raise AssertionError("no error")
found = store["k"]
assert (found if isinstance(found, list) else [found.to_python()[0]]) == [1.5]
store["small"] = [0.5] * 1000
assert store.list() == ["k", "small"] and len(store.list_hashes()) == 2
assert store.check("full").findings == [], store.check("full")
"""


@pytest.mark.parametrize("driver", ["folder", "storr"])
def test_a_full_disk_is_told_and_changes_nothing(driver: str, tmp_path: Path) -> None:
    """On a file system of 3 MB: NoSpace, with the key; the old value stays, and small ones go in."""
    new_store(driver, tmp_path).close()
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["unshare", "-rm", "sh", "-c", f'mount -t tmpfs -o size=3m tmpfs {disk} && exec "$@"', "sh"]
    need_namespaces("map-root-user", "mount", inside=f"mount -t tmpfs -o size=3m tmpfs {disk}")
    url = f"{'storr:' if driver == 'storr' else ''}{disk}/full"
    done = subprocess.run(
        [*mount, sys.executable, "-c", FULL, url], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_keys_that_no_store_holds_are_refused() -> None:
    """Before anything is written."""
    store = open_store("memory:")
    wrong: list[Any] = ["", "a\0", "x" * 1025, "\ud800", None, 1, b"x"]
    for key in wrong:
        for call in (
            lambda key=key: store.set(key, 1),
            lambda key=key: store.mset([key], [1]),
            lambda key=key: store.get(key),
        ):
            with pytest.raises(KeyInvalid):
                call()
    with pytest.raises(UsageError, match="2 keys and 1 values"):
        store.mset(["a", "b"], [1])
    with pytest.raises(UsageError, match="as many of both"):
        store.exists(["a", "b"], ["x", "y", "z"])
    with pytest.raises(UsageError, match="is no hash"):
        store.get_value("xyz")
    assert store.list() == []


def test_a_conflict_names_the_key_and_a_batch_with_one_changes_nothing() -> None:
    """All or none, where the driver can."""
    store = open_store("memory:")
    store["a"] = 1

    def all_of_it() -> None:
        with store.batch():
            store["new"] = 2
            store.set("a", 3, if_absent=True)

    with pytest.raises(Conflict) as caught:
        all_of_it()
    assert (caught.value.key, caught.value.namespace) == ("a", "objects")
    assert store.export_({}) == {"a": 1}


def test_an_error_of_a_file_object_goes_through() -> None:
    """What a value is read from raises what it raises, and nothing is set."""

    class Broken:
        def __init__(self, error: BaseException, good: int) -> None:
            self.error, self.good = error, good

        def read(self, size: int = -1) -> bytes:
            self.good -= 1
            if self.good < 0:
                raise self.error
            return b"x" * max(size, 0)

    store = open_store("memory:")
    for error in (OSError(5, "broken"), ZeroDivisionError("x"), KeyboardInterrupt()):
        for good in (0, 1, 30):
            with pytest.raises(type(error)):
                store.set("k", Broken(error, good))
    assert store.list() == []
    assert store.list_hashes() == []


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)


@given(st.dictionaries(WORDS, st.integers() | st.text(max_size=5), max_size=8), WORDS)
@settings(max_examples=60)
def test_any_keys_behave_as_those_of_a_dict(model: dict[str, Any], space: str) -> None:
    """Of a mapping: set, get, len, iteration in order of bytes, update, pop, clear."""
    store = open_store("memory:", namespace=space)
    store.update(model)
    assert dict(store.items()) == model
    assert list(store) == sorted(model, key=str.encode)
    assert len(store) == len(model)
    for key, value in model.items():
        assert key in store
        assert store.pop(key) == value
        assert key not in store
    assert store.pop("gone", 7) == 7
    assert store.setdefault("d", 5) == 5 == store["d"]
    assert store.namespaces() == [space]


def test_equal_values_are_found_by_their_canonical_hash(tmp_path: Path) -> None:
    """However they were encoded; stores that keep none say so."""
    import pyarrow as pa

    store = open_store("memory:", canonical=True)
    table = pa.table({"a": [1, 2, None]})
    chunked = pa.concat_tables([table[:1], table[1:]])
    hashes = {
        store.set("whole", table),
        store.set("parts", chunked),
        store.set("packed", table, codec="arrow:pyarrow,compression=zstd"),
    }
    assert len(hashes) == 3
    assert store.find(store.hash_object(table, canonical=True)) == sorted(hashes)
    assert store.find(store.hash_object([1], canonical=True)) == []
    with new_store("storr", tmp_path) as theirs, pytest.raises(errors.Unsupported, match="canonical"):
        theirs.find("0" * 32)
