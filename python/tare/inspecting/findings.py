"""What an inspection found: plain data that the command line prints."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Findings", "Inspection", "Part"]


@dataclass
class Part:
    """Some of the bytes and what they are.

    Args:
        what: Such as ``keys``, or the name of a column.
        bytes: How many, in the file (compressed where the format compresses).
        plain_bytes: How many before the format's own compression; None if it has none.
        detail: More about it, such as its type and encodings.
    """

    what: str
    bytes: int
    plain_bytes: int | None = None
    detail: str = ""


@dataclass
class Findings:
    """What one format's inspector adds.

    Args:
        version: Version of the format the file names, if any.
        kind: ``document``, ``table`` or ``array``.
        rows: Rows of a table, values of a stream, items of a list; None if unknown.
        columns: Name, type, and missing values of each column, for a table.
        shape: Depth and counts, for a document.
        parts: Where the bytes go.
        details: Other facts by name.
        flags: What a user must know before reading it.
        kinds: What it holds beside data, and how often: ``promise``, ``closure`` ...; of R objects only.
        tree: The structure in lines: depth, name, what; of R objects only.
        notes: Remarks, such as what was estimated.
        damaged: Whether a flag says that it is cut or malformed.
    """

    version: str = ""
    kind: str = ""
    rows: int | None = None
    columns: list[dict[str, Any]] | None = None
    shape: dict[str, Any] | None = None
    parts: list[Part] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)
    kinds: dict[str, int] | None = None
    tree: list[dict[str, Any]] | None = None
    notes: list[str] = field(default_factory=list)
    damaged: bool = False

    def damage(self, said: str) -> None:
        """Flag what no reader gets past; what can be told of the rest stays."""
        self.flags.append(said)
        self.damaged = True


@dataclass
class Inspection(Findings):
    """What a file is and where its bytes go.

    Args:
        name: The file's base name.
        format: Id of the format; of one that is only recognised too; empty if unknown.
        title: The format's name.
        readable: Whether Tare reads it.
        bytes: Size as stored.
        plain_bytes: Size after decompression; None if not known.
        containers: The compressors around it, outermost first: name, frames, facts.
        error: What is wrong with it, if it cannot be read to its end.
    """

    name: str = ""
    format: str = ""
    title: str = ""
    readable: bool = False
    bytes: int = 0
    plain_bytes: int | None = None
    containers: list[dict[str, Any]] = field(default_factory=list)
    error: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return asdict(self)
