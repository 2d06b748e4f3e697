"""What every driver of a store keeps to, as checks that drivers of others can be run through too.

>>> import itertools
>>> names = itertools.count()
>>> driver_conformance(lambda: f"memory:conformance-{next(names)}")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from tare.errors import Conflict, HashNotFound, KeyInvalid, KeyNotFound

if TYPE_CHECKING:
    from tare.store.store import Store

__all__ = ["CHECKS", "Place", "driver_conformance"]


class Place:
    """A new, empty store for one check.

    Args:
        url: Its URL.
        options: What `tare.open_store` takes beside it.
    """

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        self.url = url
        self.options = dict(options)

    def open(self, **more: Any) -> Store:
        """The store, as often as it is asked for."""
        from tare.store.opening import open_store

        return open_store(self.url, **{**self.options, **more})

    def values(self, store: Store) -> list[Any]:
        """Values that differ, of a kind that the store holds."""
        plain = [1.5, [1, 2, 3], "text", {"a": 1, "b": "x"}, [0.25] * 20_000]
        if store.info()["codec"] != "rds":
            return [*plain, b"bytes", None]
        from tare import r

        data = [
            r.write(value, None, format="rds", version=2, encoding="xdr", compressor="none").data
            for value in plain
        ]
        return [r.read(one, format="rds", as_="robject") for one in data]


def driver_conformance(url: Callable[[], str], **options: Any) -> None:
    """Run every check over stores that are made for it.

    Args:
        url: Gives the URL of a new store with each call.
        options: What `tare.open_store` takes beside it.

    Raises:
        AssertionError: A check that does not hold, named.
    """
    for check in CHECKS:
        try:
            check(Place(url(), options))
        except Exception as error:
            raise AssertionError(f"{check.__name__}: {type(error).__name__}: {error}") from error


def holds(condition: object, what: str) -> None:
    """Raise unless it holds, whatever Python's -O says of assertions.

    Raises:
        AssertionError: It does not.
    """
    if not condition:
        raise AssertionError(what)


def refuses(error: type[Exception], call: Callable[[], object], what: str) -> Exception:
    """The error of a call that must raise it.

    Raises:
        AssertionError: It does not.
    """
    try:
        call()
    except error as raised:
        return raised
    raise AssertionError(f"{what}: no {error.__name__}")


def check_empty(place: Place) -> None:
    """A new store holds nothing, and says so."""
    with place.open() as store:
        holds(store.list() == [] and store.namespaces() == [] and len(store) == 0, "a new store is empty")
        holds(store.list_hashes() == [], "no objects")
        holds(not store.exists("a") and "a" not in store and store.exists([]) == [], "no keys")
        error = refuses(KeyNotFound, lambda: store.get("a"), "get")
        holds(
            isinstance(error, KeyNotFound) and (error.key, error.namespace) == ("a", "objects"),
            "names the key",
        )
        holds(store.get("a", default=7) == 7, "the default")
        refuses(HashNotFound, lambda: store.get_value(store.hash_object(place.values(store)[0])), "get_value")
        holds(store.stat().keys == 0 and store.check("full").is_clean, "stat and check")


def check_set_update_delete(place: Place) -> None:
    """What was set is there, the last value stands, and what was deleted is not."""
    with place.open() as store:
        for value in place.values(store):
            hash = store.set("k", value)
            holds(store.get("k") == value and store["k"] == value, f"{value!r:.60} comes back")
            holds(store.get_hash("k") == hash == store.hash_object(value), "the hash of the value")
            holds(store.get_value(hash) == value and store.exists_object(hash), "by its hash")
        holds(store.list() == ["k"] and len(store) == 1, "one key")
        holds(store.del_("k") is True and store.del_("k") is False, "del_ says whether it was there")
        refuses(KeyNotFound, lambda: store.get("k"), "get after del_")
        refuses(KeyNotFound, lambda: store.__delitem__("k"), "del store[k]")


def check_equal_values_are_kept_once(place: Place) -> None:
    """Keys with equal values name one object."""
    with place.open() as store:
        value, other = place.values(store)[:2]
        holds(store.set("a", value) == store.set("b", value, "n") != store.set("c", other), "hashes")
        holds(len(store.list_hashes()) == 2 and store.stat().objects == 2, "two objects")
        store.del_("a")
        holds(store.get("b", "n") == value, "the other key keeps it")


def check_namespaces(place: Place) -> None:
    """A key is another in each namespace."""
    with place.open() as store:
        one, other = place.values(store)[:2]
        store.set("k", one)
        store.namespace("second")["k"] = other
        holds(store["k"] == one and store.get("k", "second") == other, "two values")
        holds(store.namespaces() == ["objects", "second"], "namespaces are listed")
        holds(store.list("second") == ["k"], "keys of one")
        holds(
            store.exists("k", ["objects", "second", "third"]) == [True, True, False],
            "one key, three namespaces",
        )
        holds(store.clear("second") == 1 and store.clear("second") == 0, "clear counts")
        holds(store.namespaces() == ["objects"], "an empty namespace is none")
        store.set("l", one, "third")
        holds(store.clear(all=True) == 2 and store.namespaces() == [], "clear(all=True)")


def check_many(place: Place) -> None:
    """Many keys in one call; of a key that is there twice the last value stands."""
    with place.open() as store:
        values = place.values(store)
        keys = [f"k{i}" for i in range(len(values))]
        hashes = store.mset(keys, values)
        holds(store.mget(keys) == values and store.mget_hash(keys) == hashes, "in their order")
        holds(store.mget(keys[::-1]) == values[::-1], "backwards")
        store.mset(["d", "d"], values[:2])
        holds(store["d"] == values[1], "the last stands")
        error = refuses(KeyNotFound, lambda: store.mget([*keys, "x", "y"]), "mget")
        holds(isinstance(error, KeyNotFound) and error.keys == ("x", "y"), "all missing keys are named")
        holds(store.mget(["x", "k0"], missing=None) == [None, values[0]], "what stands for a missing one")
        holds(store.exists([*keys, "x"]) == [True] * len(keys) + [False], "exists")
        holds(
            store.fill(["f", "g"], values[0]) == hashes[0] and store.mget(["f", "g"]) == [values[0]] * 2,
            "fill",
        )
        holds(store.del_(["x", *keys]) == [False] + [True] * len(keys), "del_")
        holds(store.mset([], []) == [] and store.mget([]) == [], "none at all")


def check_listing(place: Place) -> None:
    """Keys are listed in the order of their bytes, by prefix, over any number of pages."""
    with place.open() as store:
        value = place.values(store)[0]
        keys = sorted([f"k{i:04}" for i in range(2500)] + ["a", "k", "z"], key=str.encode)
        store.fill(keys, value)
        holds(store.list() == keys == [*store.iter_keys()] == [*store], "all, sorted")
        holds(store.list(prefix="k24") == [key for key in keys if key.startswith("k24")], "by prefix")
        holds(store.list(prefix="nothing") == [] and len(store) == len(keys), "none, and how many")


def check_odd_keys(place: Place) -> None:
    """Keys of any characters come back, or are refused before anything is written."""
    with place.open() as store:
        value = place.values(store)[0]
        for key in (
            "a b",
            ".hidden",
            "..",
            "a/b",
            "/",
            "x" * 1024,
            "\u00e9",
            "\U0001f6eb",
            "\n",
            "?*:|",
            "A",
            "a",
            "%2F",
        ):
            try:
                store.set(key, value)
            except KeyInvalid:
                holds(key not in store.list(), f"{key[:20]!r} was refused, and is there")
                continue
            holds(store.get(key) == value and key in store.list(), f"{key[:20]!r} comes back")
            holds(store.del_(key) is True and key not in store.list(), f"{key[:20]!r} goes")
        for key in ("", "a\0b", "x" * 1025, "\u00e9" * 513):
            refuses(KeyInvalid, partial(store.set, key, value), f"{key[:20]!r}")
        none: Any = None
        refuses(KeyInvalid, lambda: store.set(none, value), "None")
        refuses(KeyInvalid, lambda: store.set("k", value, ""), "no namespace")
        holds(store.list() == [], "nothing is left")


def check_conditions(place: Place) -> None:
    """A change that expects something else is refused, and changes nothing."""
    with place.open() as store:
        if not store.info()["conditions"]:
            return
        one, other = place.values(store)[:2]
        hash = store.set("k", one, if_absent=True)
        error = refuses(Conflict, lambda: store.set("k", other, if_absent=True), "if_absent")
        holds(isinstance(error, Conflict) and error.key == "k" and store["k"] == one, "nothing was changed")
        refuses(Conflict, lambda: store.set("k", other, if_hash=store.hash_object(other)), "if_hash")
        holds(store["k"] == one, "nothing was changed")
        store.set("k", other, if_hash=hash)
        holds(store["k"] == other, "if_hash that is so")
        refuses(Conflict, lambda: store.set("new", other, if_hash=hash), "if_hash of no key")


def check_batch(place: Place) -> None:
    """What a batch gathers happens at its end, or after an error not at all."""
    with place.open() as store:
        one, other = place.values(store)[:2]
        store["old"] = one
        with store.batch():
            store["a"] = one
            store.mset(["b", "c"], [one, other])
            del store["old"]
            holds("a" not in store and "old" in store, "nothing yet")
        holds(store.list() == ["a", "b", "c"] and store["c"] == other, "all at the end")

        def failing() -> None:
            with store.batch():
                store["d"] = one
                raise ZeroDivisionError

        refuses(ZeroDivisionError, failing, "the error goes on")
        holds(store.list() == ["a", "b", "c"], "nothing of it")


def check_duplicate(place: Place) -> None:
    """A key can name what another names, in any namespace; nothing is copied."""
    with place.open() as store:
        one, other = place.values(store)[:2]
        store.mset(["a", "b"], [one, other])
        store.duplicate("a", "c", namespace_dest="n")
        store.duplicate(["a", "b"], ["b", "d"])
        holds(store.get("c", "n") == one and store.mget(["b", "d"]) == [one, other], "all from before")
        refuses(KeyNotFound, lambda: store.duplicate(["a", "x"], ["e", "f"]), "a missing one")
        holds(not store.exists("e"), "and nothing was changed")


def check_reopened(place: Place) -> None:
    """What was set is there when the store is opened again, also by another while it is open."""
    with place.open() as store:
        values = place.values(store)
        store.mset([f"k{i}" for i in range(len(values))], values)
        with place.open(mode="r") as reader:
            holds(reader.mget(reader.list()) == values, "a reader beside a writer")
    with place.open() as store:
        holds(store.mget(store.list()) == values and store.check("full").is_clean, "again")
        store.gc(grace=0)
        holds(store.mget(store.list()) == values, "a collection takes nothing that has a key")


def check_collected(place: Place) -> None:
    """Objects without a key go after the grace, and not before."""
    with place.open() as store:
        one, other, third = place.values(store)[:3]
        store.set("keep", one)
        gone = store.set("lose", other)
        store.del_("lose")
        kept = store.set_value(third)
        holds(store.get_value(gone) == other and store.get_value(kept) == third, "still there")
        holds(
            store.gc(grace="24h").deleted == 0 and store.exists_object([gone, kept]) == [True, True],
            "kept for the grace",
        )
        holds(store.gc(grace=0, dry_run=True).deleted in (0, 2) and store.exists_object(gone), "a dry run")
        holds(store.gc(grace=0).deleted == 2 and store.exists_object([gone, kept]) == [False, False], "gone")
        holds(
            store["keep"] == one and store.set("again", other) == gone and store["again"] == other, "and back"
        )


def check_transfer(place: Place) -> None:
    """Keys go into another store and back, renamed if asked; what is there is passed over."""
    with place.open() as store:
        values = place.values(store)
        keys = [f"k{i}" for i in range(len(values))]
        store.mset(keys, values)
        store.set("k0", values[1], "n")
        found = store.export_({})
        holds([found[key] for key in keys] == values, "into a dict")
        store.clear(all=True)
        store.import_(found)
        holds(store.mget(keys) == values, "out of a dict")
        holds(
            store.import_(store, ["k0"], {"k0": "renamed"}).keys == 1 and store["renamed"] == values[0],
            "renamed",
        )
        refuses(KeyNotFound, lambda: store.import_(store, ["k0", "x"]), "a missing one")
        holds(store.import_(store, ["k0", "x"], skip_missing=True).missing == 1, "is passed over")
        index = store.index_export()
        holds(index.num_rows == len(keys) + 1 and index["key"].to_pylist() == store.list(), "an index")
        store.clear()
        holds(store.index_import(index) == index.num_rows and store.mget(keys) == values, "and back")


def check_missing_hook(place: Place) -> None:
    """A key that does not exist is made once by the hook, and kept."""
    calls = []
    with place.open() as store:
        value = place.values(store)[0]

    def make(key: str, namespace: str) -> Any:
        calls.append((key, namespace))
        if key == "bad":
            raise ZeroDivisionError
        return value

    with place.open(missing=make) as store:
        holds(
            store["a"] == value and store["a"] == value and store.mget(["a", "b"]) == [value, value], "made"
        )
        holds(calls == [("a", "objects"), ("b", "objects")], "once each")
        holds(not store.exists("c"), "exists asks no hook")
        error = refuses(KeyNotFound, lambda: store["bad"], "a hook that fails")
        holds(isinstance(error.__cause__, ZeroDivisionError), "its error is the cause")


def check_streams(place: Place) -> None:
    """A value comes and goes as a file."""
    import io

    with place.open() as store:
        if store.info()["codec"] is not None:
            return
        data = bytes(range(256)) * 4001
        hash = store.set("k", io.BytesIO(data))
        holds(store["k"] == data and store.set("l", data) == hash, "as from memory")
        with store.open("k") as file:
            holds(
                file.read(10) == data[:10] and file.read() == data[10:] and file.read() == b"",
                "read by and by",
            )
        store.set("plain", data, compressor="none")
        holds(bytes(store.view("plain")) == data, "mapped")


CHECKS: tuple[Callable[[Place], None], ...] = (
    check_empty,
    check_set_update_delete,
    check_equal_values_are_kept_once,
    check_namespaces,
    check_many,
    check_listing,
    check_odd_keys,
    check_conditions,
    check_batch,
    check_duplicate,
    check_reopened,
    check_collected,
    check_transfer,
    check_missing_hook,
    check_streams,
)
