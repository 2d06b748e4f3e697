"""R objects: how they were written, what they are, and what they hold beside data."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tare.datasets.robjects import stored
from tare.datasets.source import Source
from tare.inspecting.findings import Findings
from tare.inspecting.kinds import KINDS

if TYPE_CHECKING:
    from tare._tare import RObject as Core

__all__ = ["look"]

_MOST = 200
_QS_MAGIC = b"\x0b\x0e\x0a\x0c"
# By the halves of one byte: what compressed, and which types are shuffled.
_QS_COMPRESSORS = ("zstd", "lz4", "lz4hc", "zstd in one stream", "none")
_QS_SHUFFLED = ("logical", "integer", "double", "complex")
_QS_PRESETS = {0x10: "fast", 0x1F: "balanced", 0x0F: "high", 0x3F: "archive", 0x40: "uncompressed"}


def look(source: Source, max_bytes: int, *, tree: bool = False, everything: bool = False) -> Findings:
    """Read the objects, make and run nothing.

    Args:
        source: The file.
        max_bytes: Most bytes of it that are read; a larger one is not looked into.
        tree: Whether to tell the structure.
        everything: Whether to tell every line of it.

    Raises:
        DecodeError: It is damaged.
        Limit: It is nested too deeply.
    """
    from tare._tare import r_inspect
    from tare.r.reading import objects

    given = stored(source)
    # Text of R has no header, and its grammar nothing beside data.
    seen: dict[str, Any] = (
        {"findings": [], "checked": None}
        if source.format == "dput"
        else r_inspect(given, {"format": source.format})
    )
    held = objects(given, {"format": source.format})
    findings = Findings(version=_version(seen), kind="")
    named = held if isinstance(held, list) else [("", held)]
    findings.details = _details(seen) | blocks(source.format, source.head) | _what(held)
    if seen["checked"]:
        findings.details["checksum"] = "there, and right"
    met = Counter(kind.lower().replace(" ", "-") for _, kind in seen["findings"])
    findings.kinds = {kind: met[kind] for kind in KINDS}
    findings.flags = _flags(findings.kinds)
    if seen["checked"] is False:
        findings.flags.append("unchecked: it was written without a checksum, so that damage may go unseen")
    _as_data(findings, named)
    if tree:
        findings.tree = _tree(named, None if everything else _MOST)
    return findings


def _version(seen: dict[str, Any]) -> str:
    return f"version {seen['version']}" if seen.get("version") else ""


def _details(seen: dict[str, Any]) -> dict[str, Any]:
    names = {
        "encoding": "numbers",
        "r_version": "written by R",
        "min_reader": "read by R from",
        "native_encoding": "text without a mark",
        "nodes": "nodes",
        "plain_bytes": "bytes without the compressor around it",
        "payload_bytes": "bytes in its blocks",
    }
    if seen.get("compressor") == "none":  # it would be the size of the file again
        del names["plain_bytes"]
    return {words: seen[name] for name, words in names.items() if seen.get(name) not in (None, "")}


def blocks(format: str, head: bytes) -> dict[str, str]:
    """What the header of a qs, qs2 or qdata file says of the compressor inside.

    >>> blocks("qs2", bytes.fromhex("0b0e0ac101010201"))
    {'compressor inside': 'zstd, blocks may be shuffled'}
    >>> blocks("qs", bytes.fromhex("0b0e0a0c0000000003011f00"))
    {'compressor inside': 'lz4, logical, integer, double, complex shuffled', 'as preset': 'balanced'}
    """
    if format in ("qs2", "qdata") and len(head) > 7:
        name = "zstd" if head[5] == 1 else f"unknown ({head[5]})"
        return {"compressor inside": f"{name}, {'blocks may be shuffled' if head[7] else 'not shuffled'}"}
    if format != "qs":
        return {}
    start = 8 if head.startswith(_QS_MAGIC) else 0
    if len(head) <= start + 2:
        return {}
    packed = head[start + 2]
    turned = ", ".join(name for place, name in enumerate(_QS_SHUFFLED) if packed >> place & 1)
    kind = packed >> 4
    name = _QS_COMPRESSORS[kind] if kind < len(_QS_COMPRESSORS) else f"unknown ({kind})"
    preset = _QS_PRESETS.get(packed)
    made = {"compressor inside": f"{name}, {f'{turned} shuffled' if turned else 'not shuffled'}"}
    return made | ({"as preset": preset} if preset else {})


def _what(held: Core | list[tuple[str, Core]]) -> dict[str, Any]:
    from tare.r.structure import lines

    if isinstance(held, list):
        named = [f"{name} ({next(lines(core)).what})" for name, core in held[:20]]
        return {"variables": ", ".join(named) + (", ..." if len(held) > 20 else "")}
    return {"object": next(lines(held)).what}


def _as_data(findings: Findings, named: list[tuple[str, Core]]) -> None:
    """As Tare opens it: a table of one data frame, a document of anything else."""
    from tare.r.structure import lines

    only = named[0][1] if len(named) == 1 else None
    if only is None or only.rows is None:
        findings.kind = "document"
        return
    findings.kind, findings.rows = "table", only.rows
    names = only.names or []
    findings.columns = [
        {"name": name or "", "type": next(lines(only.child(place))).what, "nulls": None}
        for place, name in enumerate(names)
    ]


def _flags(kinds: dict[str, int]) -> list[str]:
    return [f"{count:,} {kind}{'s' * (count != 1)}: {KINDS[kind]}" for kind, count in kinds.items() if count]


def _tree(named: list[tuple[str, Core]], most: int | None) -> list[dict[str, Any]]:
    from tare.r.structure import lines

    room = 1 << 62 if most is None else most
    return [
        {"depth": line.depth, "name": line.name, "what": line.what}
        for name, core in named
        for line in lines(core, name, most=room)
    ]
