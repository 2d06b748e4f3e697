"""`put`: files into a store, each under its name; the objects first, then the keys that name them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tare import io
from tare.errors import TareError
from tare.scale.failures import Several
from tare.scale.running import Made, Writing
from tare.scale.tasks.inputs import bytes_of, named, opened
from tare.store import open_store

__all__ = ["run"]


def run(unit: dict[str, Any], writing: Writing) -> Made:
    """Set every input under its key, by one flush; one that cannot be read costs no other its key.

    Raises:
        TareError, OSError: What is wrong with the store: then no key is set. Or what is wrong with inputs, `Several` of
            a unit of several: all others are set, and set again with it by the next start.
    """
    del writing  # outputs are the store's
    options = unit["options"]
    values: dict[str, Any] = {}
    failed: list[Exception] = []
    for given, key in zip(unit["input"], options["keys"], strict=True):
        try:
            values[str(key)] = _value(given) if options.get("values") else bytes_of(given)
        except (TareError, OSError) as error:
            failed.append(named(error, str(given["uri"])))
    objects = _set(values, options)
    if failed:
        raise failed[0] if len(unit["input"]) == 1 else Several(failed)
    return Made(rows=len(values), extra={"objects": objects})


def _set(values: Mapping[str, Any], options: Mapping[str, Any]) -> list[dict[str, str]]:
    if not values:
        return []
    with open_store(str(options["store"])) as store:
        namespace = str(options.get("namespace", "")) or None
        hashes = store.mset(list(values), list(values.values()), namespace=namespace)
    return [{"key": key, "hash": hash} for key, hash in zip(values, hashes, strict=True)]


def _value(given: Mapping[str, Any]) -> Any:
    with opened(given) as path:
        return io.read(path)
