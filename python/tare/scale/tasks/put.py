"""`put`: files into a store, each under its name; the objects first, then the keys that name them.

A key is set once, whatever it named before. One that is there when its unit is done again has been left, or set by
somebody, and stays. So it is of a unit that died, which no receipt tells of: what keys named when the plan was begun is kept,
and one that names something else in a later attempt was set by an earlier one, or since.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tare import io
from tare.errors import Conflict, TareError
from tare.scale import stored, stores
from tare.scale.failures import Several
from tare.scale.running import Made, Writing
from tare.scale.tasks.inputs import bytes_of, named, opened
from tare.store import Store

__all__ = ["run"]


def run(unit: dict[str, Any], writing: Writing) -> Made:
    """Set every input under its key, by one flush; one that cannot be read costs no other its key.

    Raises:
        TareError, OSError: What is wrong with the store: then no key is set. Or what is wrong with inputs, `Several` of
            a unit of several: all others are set.
    """
    options = unit["options"]
    keys = [str(key) for key in options["keys"]]
    before = writing.before()
    writing.committed = sorted(before)  # whatever happens from here: what was set once is not set again
    begun = writing.begun_keys()
    asked = before if begun is None else before.union(keys)
    there = stored.hashes(options, sorted(asked)) if asked else {}
    if begun is not None:
        before |= {key for key, hash in there.items() if hash != begun.get(key, "")}
        writing.committed = sorted(before)
    found = {key: hash for key, hash in there.items() if key in before}
    values: dict[str, Any] = {}
    failed: list[Exception] = []
    notes = ["keys that were there already stay as they are"] if found else []
    for given, key in zip(unit["input"], keys, strict=True):
        if key in found:
            continue
        try:
            values[key] = _value(given) if options.get("values") else bytes_of(given)
        except (TareError, OSError) as error:
            failed.append(named(error, str(given["uri"])))
    if values:
        namespace = str(options.get("namespace", "")) or None
        with stores.opened(str(options["store"]), stays=writing.engine in stores.ENGINES) as store:
            found |= _set(store, {key: one for key, one in values.items() if key not in before}, namespace)
            found |= _add(store, {key: one for key, one in values.items() if key in before}, namespace)
    writing.committed = [key for key in keys if key in found or key in before]
    writing.rows = dict.fromkeys(writing.committed, 1)
    if failed:
        raise failed[0] if len(unit["input"]) == 1 else Several(failed)
    objects = [{"key": key, "hash": found[key]} for key in keys]
    where = {name: str(options.get(name, "")) for name in ("store", "namespace")}
    return Made(rows=len(keys), extra={"objects": objects, "notes": notes, **where})


def _set(store: Store, values: Mapping[str, Any], namespace: str | None) -> dict[str, str]:
    """Set keys, whatever they name; their hashes."""
    if not values:
        return {}
    hashes = store.mset(list(values), list(values.values()), namespace=namespace)
    return dict(zip(values, hashes, strict=True))


def _add(store: Store, values: Mapping[str, Any], namespace: str | None) -> dict[str, str]:
    """Set keys that have gone; their hashes. One that somebody sets meanwhile stays as it is set."""
    if not store.info()["conditions"]:
        return _set(store, values, namespace)
    found: dict[str, str] = {}
    left = dict(values)
    while left:
        try:
            with store.batch():
                return found | {
                    key: store.set(key, one, namespace, if_absent=True) for key, one in left.items()
                }
        except Conflict:
            there = store.mget_hash(list(left), namespace, missing="")
            found |= {key: hash for key, hash in zip(left, there, strict=True) if hash}
            left = {key: one for key, one in left.items() if key not in found}
    return found


def _value(given: Mapping[str, Any]) -> Any:
    with opened(given) as path:
        return io.read(path)
