"""Inspect a file: its containers first, then the format inside by its own inspector."""

from __future__ import annotations

import importlib
from dataclasses import fields
from typing import Any

from tare import formats
from tare.datasets import encoding_hints, recognise
from tare.datasets.source import Source, begins, find
from tare.errors import TareError
from tare.inspecting.containers import describe
from tare.inspecting.findings import Findings, Inspection

__all__ = ["inspect"]

# Format -> module with `look(source, max_bytes) -> Findings`.
_INSPECTORS = {
    "json": "jsons", "ndjson": "jsons", "csv": "csvs", "parquet": "parquets", "arrow": "arrows", "orc": "orcs",
    "pickle": "pickles", "msgpack": "binaries", "cbor": "binaries", "yaml": "yamls", "bson": "bsons", "avro": "avros",
    "blit": "blits", "rds": "robjects", "rdata": "robjects", "qs2": "robjects", "qdata": "robjects", "qs": "robjects",
    "dput": "robjects", "fst": "fsts", "npy": "npys",
}  # fmt: skip


def inspect(
    path: Any,
    *,
    format: str | None = None,
    max_bytes: int = 128 << 20,
    tree: bool = False,
    everything: bool = False,
) -> Inspection:
    """Say what a file is and where its bytes go; nothing in it is run.

    Args:
        path: A path, ``-`` for standard input, or a binary file object.
        format: Id of the format, when neither bytes nor name tell.
        max_bytes: How much of a large file is looked at.
        tree: Of files of R: also the structure of what they hold, in lines.
        everything: Whether that has every line.

    Raises:
        OSError: The file cannot be read.
        UsageError: No such format.
        Truncated: It is empty.
    """
    source = find(path, format=format, known_only=False, look_bytes=max_bytes)
    found = Inspection(name=source.name, bytes=source.size, notes=list(source.notes))
    if source.cut:
        found.notes.append(f"it gives more than {max_bytes:,} bytes: the rest was not read")
    found.containers, found.plain_bytes = describe(source, max_bytes)
    if not source.format:
        return _recognised(source, found)
    known = formats.get(source.format)
    found.format, found.title, found.readable = known.id, source.title, True
    if known.executes_code or known.default.executes_code:
        found.flags.append("runs code when read: only for files you trust (--allow-pickle)")
    module = _INSPECTORS.get(known.id)
    if module is None:
        found.kind = " or ".join(sorted(known.kinds))
        found.notes.append("its parts are not looked into")
        return found
    try:
        with source.naming():
            looking = importlib.import_module(f"tare.inspecting.{module}")
            if tree and module == "robjects":
                more: Findings = looking.look(source, max_bytes, tree=True, everything=everything)
            else:
                more = looking.look(source, max_bytes)
    except TareError as error:
        found.error = str(error)
        return found
    _add(found, more)
    return found


def _recognised(source: Source, found: Inspection) -> Inspection:
    known = recognise.foreign(source.head)
    if known is not None:
        found.format, found.title = known.id, known.title
        found.notes.append("recognised by its first bytes, not read yet")
        if known.executes_code:
            found.flags.append("can run code when read by its usual reader")
        return found
    found.title = "text of no known format" if recognise.is_text(source.head) else "unknown"
    found.details["first bytes"] = " ".join(f"{byte:02x}" for byte in source.head[:16])
    if two := encoding_hints.without_mark(source.head):
        found.notes.append(f"it may be text in {two} without a byte order mark")
    found.notes.append(
        f"cannot tell what it is: {begins(source.head)}; name a format with --format if you know it"
    )
    return found


def _add(found: Inspection, more: Findings) -> None:
    for item in fields(Findings):
        value = getattr(more, item.name)
        if isinstance(value, list) and item.name not in ("columns", "tree"):
            getattr(found, item.name).extend(value)
        elif value is not None:
            setattr(found, item.name, value)
