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
    seen: dict[str, Any] = r_inspect(given, {"format": source.format})
    held = objects(given, {"format": source.format})
    findings = Findings(version=_version(seen), kind="")
    named = held if isinstance(held, list) else [("", held)]
    findings.details = _details(seen) | _what(held)
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
    return {words: seen[name] for name, words in names.items() if seen.get(name) not in (None, "")}


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
