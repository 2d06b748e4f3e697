"""The result of a conversion."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Conversion"]


@dataclass(frozen=True)
class Conversion:
    """The result of a conversion: what was read, written, changed and compared.

    Args:
        source: Id of the format that was read.
        to: Codec id of what was written.
        rows: Rows of a table, items of a document.
        bytes_in: Bytes of the source as stored.
        bytes_out: Bytes written.
        streamed: Whether it went batch by batch.
        verified: Whether the result was read back and its values compared.
        same_bytes: Whether only the compression changed, so that the format's own bytes are those
            of the source. Their values are read only if verification was asked for.
        changes: What a reader gets back other than it was: path, verdict (``type``, ``lossy``, ``lost`` of
            metadata, or ``null`` of names that objects lack, in a table), from, to, count. Without verification only what the types tell.
        losses: What an R object had and the result has not: path, kind, r, kept, count.
        notes: What the user should know.
        second: Of ``source`` and of ``result``, what another library read of them: reader, or why none did,
            rows that were compared, total.
    """

    source: str
    to: str
    rows: int
    bytes_in: int
    bytes_out: int
    streamed: bool = False
    verified: bool = False
    same_bytes: bool = False
    changes: list[dict[str, Any]] = field(default_factory=list)
    losses: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    second: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return asdict(self)
