"""blit: the frame, the names, and where the bytes of its lists go."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from tare.datasets.source import Source
from tare.errors import Limit
from tare.inspecting.findings import Findings, Part

__all__ = ["PARTS", "look"]

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
    """What validation sees of a collection, which is read as a file."""
    from tare import blit

    with tempfile.TemporaryDirectory(prefix="tare-") as folder:
        path = os.path.join(folder, "x.blits")
        with open(path, "wb") as file:
            file.write(data)
        with blit.open_collection(path) as collection:
            seen = collection.validate()
            details: dict[str, Any] = {
                "commits": collection.commits,
                "chunks": collection.chunks,
                "names": seen.keys,
                "key sequences": seen.shapes,
                "lists": ", ".join(f"{count:,} {name}" for name, count in sorted(seen.kinds.items())),
            }
            return Findings(
                version="collection, version 1", kind="document", rows=len(collection), details=details
            )


def findings(account: dict[str, Any]) -> Findings:
    """An account as findings."""
    parts = sorted(account["parts"].items(), key=lambda part: -part[1])
    details: dict[str, Any] = {"names": account["keys"], "key sequences": account["shapes"]}
    if account["pool"]:
        details["pooled strings"] = account["pool"]
    details["flags"] = ", ".join(account["flags"]) or "none"
    if account["root"]:
        details["outermost list"] = account["root"]
    kinds = sorted(account["kinds"].items(), key=lambda kind: -kind[1][1])
    if kinds:
        details["lists"] = ", ".join(f"{count:,} {name} ({size:,} bytes)" for name, (count, size) in kinds)
    return Findings(
        version="version 1",
        kind="document",
        parts=[Part(what, size, detail=PARTS[what]) for what, size in parts],
        details=details,
    )
