"""The registry of formats: an explicit list, loaded on first use.

Adding a format is one file here and one line in ``_MODULES``; adding a library
is one entry in its format's file. Other packages add formats, or libraries to a
format listed here, through the entry point group ``tare.formats``: each entry
point names a `Format`. See docs/guides/add-a-format.md.

>>> from tare import formats
>>> formats.get("json").title
'JSON'
>>> [library.name for library in formats.get("marshal").libraries]
['stdlib']
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tare.errors import UsageError

if TYPE_CHECKING:
    from tare.formats.base import Format

__all__ = ["FORMATS", "by_extension", "get", "holding", "sniff"]

# In the order in which their bytes are told apart (formats with a fixed magic
# are tried before all others) and in which listings show them.
_MODULES = (
    "json",
    "ndjson",
    "blit",
    "msgpack",
    "cbor",
    "bson",
    "yaml",
    "pickle",
    "marshal",
    "repr",
    "fory",
    "parquet",
    "arrow",
    "csv",
    "orc",
    "avro",
    "hdf5",
    "npy",
    "flexbuffers",
    "sqlitejsonb",
    "pgjsonb",
    "variant",
    "rds",
    "rdata",
    "fst",
    "qs2",
    "qdata",
    "qs",
    "dput",
)
_GROUP = "tare.formats"

FORMATS: tuple[Format, ...]


def __getattr__(name: str) -> Any:
    if name != "FORMATS":
        raise AttributeError(f"module 'tare.formats' has no attribute {name!r}")
    value = _load()
    globals()[name] = value
    return value


def get(id: str) -> Format:
    """The format of that id.

    Raises:
        UsageError: There is none; the text says which has it as its ending, or lists ids that look like it.

    >>> get("jsn")
    Traceback (most recent call last):
    tare.errors.UsageError: there is no format 'jsn'; did you mean json, ndjson, pgjsonb? `tare codecs` lists all
    >>> get("feather")
    Traceback (most recent call last):
    tare.errors.UsageError: there is no format 'feather'; feather is an ending of arrow: say arrow; `tare codecs` lists all
    >>> get("protobuf")
    Traceback (most recent call last):
    tare.errors.UsageError: there is no format 'protobuf'; protobuf needs a schema of your own, and Tare measures formats that need none: msgpack and cbor are the nearest; `tare codecs` lists all
    """
    found = next((format for format in _formats() if format.id == id), None)
    if found is not None:
        return found
    raise UsageError(f"there is no format {id[:80]!r}; {_hint(id)}`tare codecs` lists all")


# Formats that backend developers ask for, whose bytes say nothing without a schema.
_WITH_SCHEMA = ("protobuf", "proto", "pb", "thrift", "capnp", "capnproto", "flatbuffers-schema")


def _hint(id: str) -> str:
    """What may be meant by an id that no format has: a file ending, or one that looks like it."""
    if id.lower() in _WITH_SCHEMA:
        return f"{id} needs a schema of your own, and Tare measures formats that need none: msgpack and cbor are the nearest; "
    end = f".{id}"
    meant = next((format for format in _formats() if end in format.extensions), None)
    if meant is not None:
        more = ",".join(f"{key}={value}" for key, value in meant.extension_options.get(end, {}).items())
        writes = f" ({meant.id},{more} to write it)" if more else ""
        return f"{id} is an ending of {meant.id}: say {meant.id}{writes}; "
    from difflib import get_close_matches

    near = get_close_matches(id, [format.id for format in _formats()], cutoff=0.5)
    return f"did you mean {', '.join(near)}? " if near else ""


def holding(id: str, library: str | None) -> Format:
    """The format of that id, without loading the others where that changes nothing.

    A process that runs one codec needs one format. Other packages can add
    libraries to a format but replace none, so only a library that we do not
    list makes the whole registry necessary.

    Raises:
        UsageError: There is no such format.

    >>> holding("json", "orjson").id
    'json'
    """
    if "FORMATS" not in globals() and id in _MODULES:
        format: Format = importlib.import_module(f"tare.formats.{id}").FORMAT
        found = format.default if library is None else format.library(library)
        if found is not None and (library is not None or found.installed):
            return format
    return get(id)


def by_extension(name: str) -> Format | None:
    """The format that a file name's ending stands for; None if it stands for none.

    Args:
        name: A file name or an ending with its dot; letter case does not matter.
            Endings of compressors are the caller's to remove.

    >>> by_extension("Flights.PARQUET").id
    'parquet'
    >>> by_extension("notes.txt") is None
    True
    """
    lower = name.lower()
    hits = [(len(end), format) for format in _formats() for end in format.extensions if lower.endswith(end)]
    return max(hits, key=lambda hit: hit[0])[1] if hits else None


def sniff(head: bytes) -> Format | None:
    """The format that the first bytes of a file tell; None if they tell none.

    Args:
        head: The first bytes, at best 4 KiB or more; formats without a magic of
            their own are told by what a text or a length field looks like.

    >>> sniff(b"PAR1....").id
    'parquet'
    >>> sniff(b'{"a": 1}').id
    'json'
    """
    for format in _formats():
        if any(head.startswith(magic) for magic in format.magic):
            return format
    return next((format for format in _formats() if format.sniff is not None and format.sniff(head)), None)


def _formats() -> tuple[Format, ...]:
    value: tuple[Format, ...] = globals().get("FORMATS") or __getattr__("FORMATS")
    return value


def _load() -> tuple[Format, ...]:
    known = {name: importlib.import_module(f"tare.formats.{name}").FORMAT for name in _MODULES}
    for format in _plugins():
        known[format.id] = _merged(known[format.id], format) if format.id in known else format
    return tuple(known.values())


def _plugins() -> list[Format]:
    """Formats of other packages; one that cannot be loaded is named in a warning, not fatal."""
    if not _may_have_plugins():
        return []
    import warnings
    from importlib.metadata import entry_points

    from tare.formats.base import Format

    found = []
    for point in entry_points(group=_GROUP):
        try:
            format = point.load()
            if not isinstance(format, Format):
                raise TypeError("it is not a tare.formats.base.Format")
            found.append(format)
        except Exception as error:
            warnings.warn(f"the format {point.name!r} of {point.value} is left out: {error}", stacklevel=2)
    return found


def _may_have_plugins() -> bool:
    """Whether an installed package may add formats: its entry points are looked at here, as loading what reads them takes 30 ms.

    Where packages may lie elsewhere than in folders, or that is loaded already, it is asked.
    """
    import os
    import sys

    finders = [finder for finder in sys.meta_path if getattr(finder, "__name__", "") != "PathFinder"]
    if "importlib.metadata" in sys.modules or any(hasattr(one, "find_distributions") for one in finders):
        return True
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except FileNotFoundError:
            continue
        except OSError:  # an archive
            return True
        for name in names:
            if name.endswith((".dist-info", ".egg-info", ".egg")) and _mentions(os.path.join(folder, name)):
                return True
    return False


def _mentions(package: str) -> bool:
    """Whether the entry points of a package name the group of ours; an archive may."""
    import os

    if package.endswith(".egg"):
        return True
    try:
        with open(os.path.join(package, "entry_points.txt"), "rb") as file:
            return _GROUP.encode() in file.read()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def _merged(ours: Format, theirs: Format) -> Format:
    """Our format with the libraries that another package adds to it; names taken stay ours."""
    from dataclasses import replace

    taken = {library.name for library in ours.libraries}
    added = tuple(library for library in theirs.libraries if library.name not in taken)
    return replace(ours, libraries=ours.libraries + added)
