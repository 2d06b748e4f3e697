"""`put`: files into a store, each under its name; the objects first, then the keys that name them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tare import io
from tare.scale.running import Made, Writing
from tare.scale.tasks.inputs import bytes_of, opened
from tare.store import open_store

__all__ = ["run"]


def run(unit: dict[str, Any], writing: Writing) -> Made:
    """Set every input under its key, by one flush.

    Raises:
        TareError, OSError: What is wrong with an input or with the store; keys are set all or none.
    """
    del writing  # outputs are the store's
    options = unit["options"]
    values: dict[str, Any] = {}
    for given, key in zip(unit["input"], options["keys"], strict=True):
        values[str(key)] = _value(given) if options.get("values") else bytes_of(given)
    with open_store(str(options["store"])) as store:
        namespace = str(options.get("namespace", "")) or None
        hashes = store.mset(list(values), list(values.values()), namespace=namespace)
    named = [{"key": key, "hash": hash} for key, hash in zip(values, hashes, strict=True)]
    return Made(rows=len(values), extra={"objects": named})


def _value(given: Mapping[str, Any]) -> Any:
    with opened(given) as path:
        return io.read(path)
