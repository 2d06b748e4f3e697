"""The inputs of a unit: opened where they are, and the same at the end as at the beginning."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from tare.scale.failures import SourceChanged
from tare.scale.place import LocalPlace, Place, shown, split_uri

__all__ = ["opened", "opened_part"]


@contextlib.contextmanager
def opened(given: Mapping[str, Any]) -> Iterator[str]:
    """A local path with the bytes of an input.

    Raises:
        SourceChanged: It is no more what the plan knows, before or behind.
        FileNotFoundError: It is gone.
    """
    place, name = split_uri(str(given["uri"]))
    _check(place, name, given, "since the plan was made")
    with place.local(name) as path:
        yield path
    _check(place, name, given, "while it was read")


@contextlib.contextmanager
def opened_part(given: Mapping[str, Any]) -> Iterator[str | BinaryIO]:
    """An input of which a part is wanted: a local path, or a file that fetches what is read.

    Raises:
        SourceChanged, FileNotFoundError: As `opened`.
    """
    place, name = split_uri(str(given["uri"]))
    if isinstance(place, LocalPlace):
        with opened(given) as path:
            yield path
        return
    _check(place, name, given, "since the plan was made")
    with place.open(name) as file:
        yield file
    _check(place, name, given, "while it was read")


def _check(place: Place, name: str, given: Mapping[str, Any], when: str) -> None:
    found = place.stat(name)
    if found is None:
        raise FileNotFoundError(f"{shown(str(given['uri']))}: is not there")
    known = {key: given[key] for key in ("mtime_ns", "etag") if given.get(key)}
    if found.size != given.get("size", found.size) or any(
        found.identity.get(key) != value for key, value in known.items()
    ):
        raise SourceChanged(f"{shown(str(given['uri']))}: changed {when}; plan again")
