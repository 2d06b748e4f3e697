"""The use that a record's headline is for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tare.measure.verdict.cost_model import PROFILES

__all__ = ["MESSAGE_BYTES", "default_profile", "has_short_lines", "link_of", "sends_lines"]

MESSAGE_BYTES = 64 << 10
"""Documents and lines below this are messages, and are sent one by one."""


def default_profile(record: Mapping[str, Any]) -> str:
    """Returns the use the headline is for: as asked, else ``message`` for small documents and lines, ``keep`` for the rest.

    Nobody sends YAML, which people write by hand, nor lines that lie compressed or in several files.

    >>> default_profile({"dataset": {"kind": "table"}})
    'keep'
    >>> small = {"kind": "document", "items": 1, "bytes_memory": 900, "bytes_disk": 246}
    >>> default_profile({"dataset": small}), default_profile({"dataset": {**small, "source_format": "yaml"}})
    ('message', 'keep')
    """
    asked = (record.get("settings") or {}).get("profile")
    if asked in PROFILES:
        return str(asked)
    dataset = record.get("dataset") or {}
    kept = (
        dataset.get("source_format") == "yaml"
        or (dataset.get("files") or 0) > 1
        or dataset.get("compressors")
    )
    small = dataset.get("kind") == "document" and _item_bytes(dataset) < MESSAGE_BYTES
    return "message" if small and not kept else "keep"


def link_of(record: Mapping[str, Any], use: str) -> str | None:
    """Returns the link that was asked for, where the use counts it. Plans have one of their own, for messages.

    >>> asked = {"settings": {"link": "50MB/s"}, "plan": {"name": "default"}}
    >>> link_of(asked, "keep"), link_of(asked, "random"), link_of(asked | {"plan": {"name": "load"}}, "keep")
    ('50MB/s', None, None)
    """
    link = (record.get("settings") or {}).get("link")
    is_plan = (record.get("plan") or {}).get("name") not in (None, "default")
    counts = use == "message" or not (is_plan or PROFILES[use].subset_reads)
    return str(link) if link and counts else None


def sends_lines(record: Mapping[str, Any]) -> bool:
    """Returns whether the headline is of lines of JSON that are sent one by one.

    >>> lines = {"kind": "document", "source_format": "ndjson", "shape": {"mean_doc_bytes": 120.0}}
    >>> sends_lines({"dataset": lines}), sends_lines({"dataset": lines, "settings": {"profile": "keep"}})
    (True, False)
    """
    dataset = record.get("dataset") or {}
    lines = dataset.get("source_format") == "ndjson" and has_short_lines(dataset)
    return lines and default_profile(record) == "message"


def has_short_lines(dataset: Mapping[str, Any]) -> bool:
    """Returns whether the documents are small enough, on average, to be messages."""
    mean = (dataset.get("shape") or {}).get("mean_doc_bytes")
    return mean is not None and mean < MESSAGE_BYTES


def _item_bytes(dataset: Mapping[str, Any]) -> float:
    """Bytes of one message as JSON: of lines their mean, else the whole document; by the file's size if that is not known.

    The file may be larger than the part of it that was loaded, and compressed, so its size comes second.
    """
    items = dataset.get("items") or 1
    lines = dataset.get("source_format") == "ndjson"
    if mean := (dataset.get("shape") or {}).get("mean_doc_bytes"):
        return float(mean if lines else mean * items)
    size = float(dataset.get("bytes_disk") or dataset.get("bytes_memory") or 0)
    return size / items if lines else size
