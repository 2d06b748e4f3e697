"""The inputs of a unit: opened where they are, and the same at the end as at the beginning."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from tare import kinds
from tare._tare import Blake3
from tare.codec import Codec
from tare.converting import objects
from tare.errors import TareError, UsageError
from tare.scale.failures import SourceChanged
from tare.scale.opening import NotAFile, open_file
from tare.scale.place import Entry, LocalPlace, Place, entry_of, hashed, local_path, shown, split_uri

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["as_documents", "bytes_of", "named", "opened", "opened_part", "table_of"]

_HASHES = 64  # of so many files the hash is kept that they had when a part of them was read


def as_documents(codec: Codec, options: Mapping[str, Any]) -> bool:
    """Whether lines of JSON become what they are, documents, and no rows of a table, in which every row has every name.

    >>> from tare.codec import Codec
    >>> [as_documents(Codec.parse(one), {}) for one in ("ndjson", "json", "parquet", "csv")]
    [True, True, False, False]
    """
    holds = "document" in codec.format.kinds and codec.format_id not in objects.FORMATS
    return holds and not {"columns", "partition"} & options.keys()


def named(error: Exception, uri: str) -> Exception:
    """The error with its file's whole path in front, where it does not say it; numbers stay, as classes go by them."""
    path = shown(uri)
    said = str(error)
    if path in said:
        return error
    if isinstance(error, OSError) and error.errno is not None:
        told = type(error)(f"{path}: {said}")
        told.errno, told.__cause__ = error.errno, error
        return told
    if error.args and isinstance(error.args[0], str):
        error.args = (f"{path}: {said.removeprefix(f'{os.path.basename(path)}: ')}", *error.args[1:])
    return error


@contextlib.contextmanager
def opened(given: Mapping[str, Any]) -> Iterator[str]:
    """A local path with the bytes of an input. One that is known by its content is hashed first.

    Raises:
        SourceChanged: It is no more what the plan knows, before or behind.
        FileNotFoundError: It is gone.
    """
    place, name = split_uri(str(given["uri"]))
    before = _check(place, name, given, "since the plan was made")
    with _changes_first(place, name, given, before), place.local(name) as path:
        if given.get("hash") and hashed(path)[1] != given["hash"]:
            raise _changed(given, "since the plan was made")
        yield path
    _check(place, name, given, "while it was read", before)


def bytes_of(given: Mapping[str, Any]) -> bytes:
    """All bytes of an input: of a file of this machine by one opening, for a unit may have a thousand small ones.

    Raises:
        SourceChanged, FileNotFoundError: As `opened`.
    """
    uri = str(given["uri"])
    if not uri.startswith("file:"):
        with opened(given) as path, open(path, "rb") as file:
            return file.read()
    try:
        plain = open_file(local_path(uri), buffering=0)
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(f"{shown(uri)} does not exist") from None
    except NotAFile:
        raise _changed(given, "since the plan was made") from None
    with plain:
        before = entry_of("", os.fstat(plain.fileno()))
        _compare(before, given, "since the plan was made")
        data = bytes(plain.readall())
        if entry_of("", os.fstat(plain.fileno())) != before:
            raise _changed(given, "while it was read")
    if given.get("hash"):
        hasher = Blake3()
        hasher.update(data)
        if hasher.hexdigest() != given["hash"]:
            raise _changed(given, "since the plan was made")
    return data


@contextlib.contextmanager
def opened_part(given: Mapping[str, Any]) -> Iterator[str | BinaryIO]:
    """An input of which a part is wanted: a local path, or a file that fetches what is read.

    One that is known by its content is not hashed for each of its parts, but once in a process, and not at all if
    its time is still the one that it was planned with.

    Raises:
        SourceChanged, FileNotFoundError: As `opened`.
    """
    place, name = split_uri(str(given["uri"]))
    before = _check(place, name, given, "since the plan was made")
    if given.get("hash") and isinstance(place, LocalPlace):
        _check_content(place.path(name), given, before)
    held = place.local(name) if isinstance(place, LocalPlace) else place.open(name)
    with held as file, _changes_first(place, name, given, before):
        yield file
    _check(place, name, given, "while it was read", before)


def _check_content(path: str, given: Mapping[str, Any], before: Entry) -> None:
    """Whether a file that is known by its hash is what the plan knows, if its time does not say so already."""
    time = before.identity["mtime_ns"]
    if time != given.get("mtime_ns") and _hash_of(path, before.size, time) != given["hash"]:
        raise _changed(given, "since the plan was made")


@functools.lru_cache(maxsize=_HASHES)
def _hash_of(path: str, size: int, mtime_ns: int | str) -> str:
    """The hash of a file as it is since that time; its parts come one after another."""
    del size, mtime_ns
    return hashed(path)[1]


def table_of(value: Any, name: str) -> pa.Table:
    """What a reader gave as a table, as `tare.convert` makes one: a name that a row lacks is null there.

    Args:
        value: A table, or a list of objects.
        name: What to call the file.

    Raises:
        UsageError: It is neither.
        EncodeError: No one type holds the values of a column.

    >>> table_of([{"a": 1}, {"a": 2, "b": "late"}], "x").to_pylist()
    [{'a': 1, 'b': None}, {'a': 2, 'b': 'late'}]
    """
    is_rows = isinstance(value, list) and all(isinstance(row, dict) for row in value)
    if not is_rows and kinds.kind_of(value) != "table":
        raise UsageError(f"{name} holds no table: rows are needed, as lists of objects and tables have them")
    return cast("pa.Table", kinds.convert(value, "arrow"))


def _check(
    place: Place, name: str, given: Mapping[str, Any], when: str, before: Entry | None = None
) -> Entry:
    """What is there now: as the plan says, and as it was before."""
    found = place.stat(name)
    if found is None:
        raise FileNotFoundError(f"{shown(str(given['uri']))} does not exist")
    _compare(found, given, when)
    if before is not None and found.identity != before.identity:
        raise _changed(given, when)
    return found


@contextlib.contextmanager
def _changes_first(place: Place, name: str, given: Mapping[str, Any], before: Entry) -> Iterator[None]:
    """What changed meanwhile fails in odd ways, such as bytes that are not there: told is that it changed."""
    try:
        yield
    except (TareError, OSError, ValueError) as error:
        try:
            _check(place, name, given, "while it was read", before)
        except (SourceChanged, FileNotFoundError) as changed:
            raise changed from error
        except OSError:
            pass  # the store is out of reach: that is what failed
        raise


def _compare(found: Entry, given: Mapping[str, Any], when: str) -> None:
    """Whether a file is what the plan knows; of one that is known by its hash the time says nothing."""
    asked = ("etag",) if given.get("hash") else ("mtime_ns", "etag")
    known = {key: given[key] for key in asked if given.get(key, "") != ""}
    if (
        found.special
        or found.size != given.get("size", found.size)
        or any(found.identity.get(key) != value for key, value in known.items())
    ):
        raise _changed(given, when)


def _changed(given: Mapping[str, Any], when: str) -> SourceChanged:
    return SourceChanged(f"{shown(str(given['uri']))} changed {when}")
