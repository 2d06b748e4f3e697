"""blit: the frame, the names, and where the bytes of its lists go."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from tare.datasets.source import Source
from tare.errors import Limit
from tare.inspecting.findings import Findings, Part

__all__ = ["PARTS", "STORED", "look"]

# What the parts of an account are, in words.
PARTS = {
    "frame": "magic, trailer, checksum",
    "keys": "names of objects, each once, and how they are found",
    "shapes": "key sequences of objects, each once",
    "pool": "strings that occur often, each once",
    "strings": "text, and codes of text that repeats",
    "numbers": "integers and floats",
    "lengths": "where each string, column or list ends",
    "tags": "types of lists of mixed types, with small integers",
    "bits": "booleans, and which values are there",
    "bytes": "values that are bytes",
    "headers": "kind and length of each list",
}

# What a collection is made of, in words.
STORED = {
    "chunks": "the documents",
    "index": "where each chunk is",
    "keys": "names of objects, shared by all documents of a commit",
    "shapes": "key sequences of objects, shared likewise",
    "pool": "strings that occur often, shared likewise",
    "frame": "header, ends of commits, gaps",
}


def look(source: Source, max_bytes: int) -> Findings:
    """Count the bytes of every list by what they are.

    Raises:
        Limit: The document is longer than ``max_bytes``: it is read from its end.
        DecodeError: It is no document, or damaged.
    """
    from tare._tare import blit_account

    data, share = source.read(max_bytes)
    if share < 1.0:
        raise Limit(
            f"blit: longer than the {max_bytes:,} bytes that are looked at; `tare blit info` has no limit",
            format="blit",
        )
    return _collection(data) if data.startswith(b"BLS1") else findings(blit_account(data))


def _collection(data: bytes) -> Findings:
    """The account of a collection, which is read as a file."""
    from tare import blit

    with tempfile.TemporaryDirectory(prefix="tare-") as folder:
        path = os.path.join(folder, "x.blits")
        with open(path, "wb") as file:
            file.write(data)
        with blit.open_collection(path, mmap=False) as collection:
            account = collection.account()
    details: dict[str, Any] = {
        "commits": account["commits"],
        "chunks": account["chunks"],
        "names": account["keys"],
        "key sequences": account["shapes"],
    }
    if account["compressed"]:
        details["bytes of chunks, decompressed"] = f"{account['raw']:,}"
    details |= _lists(account["kinds"])
    return Findings(
        version="collection, version 1",
        kind="document",
        rows=account["documents"],
        parts=_parts(_whole(account), PARTS | STORED),
        details=details,
    )


def _whole(account: dict[str, Any]) -> dict[str, int]:
    """What the file is made of: chunks that are not compressed by what is in them."""
    if account["compressed"]:
        return dict(account["stored"])
    outer: dict[str, int] = {name: size for name, size in account["stored"].items() if name != "chunks"}
    return {**outer, **account["parts"]}


def findings(account: dict[str, Any]) -> Findings:
    """An account as findings."""
    details: dict[str, Any] = {"names": account["keys"], "key sequences": account["shapes"]}
    if account["pool"]:
        details["pooled strings"] = account["pool"]
    details["flags"] = ", ".join(account["flags"]) or "none"
    if account["root"]:
        details["outermost list"] = account["root"]
    details |= _lists(account["kinds"])
    parts = _parts(account["parts"], PARTS)
    return Findings(version="version 1", kind="document", parts=parts, details=details)


def _parts(sizes: dict[str, int], words: dict[str, str]) -> list[Part]:
    """The largest first."""
    largest = sorted(sizes.items(), key=lambda part: -part[1])
    return [Part(what, size, detail=words[what]) for what, size in largest]


def _lists(kinds: dict[str, tuple[int, int]]) -> dict[str, str]:
    """Lists of each kind, in a line."""
    largest = sorted(kinds.items(), key=lambda kind: -kind[1][1])
    shown = ", ".join(f"{count:,} {name} ({size:,} bytes)" for name, (count, size) in largest)
    return {"lists": shown} if shown else {}
