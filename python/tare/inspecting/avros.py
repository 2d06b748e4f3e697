"""Avro object container files: schema, compression, blocks."""

from __future__ import annotations

import io
import json
from typing import Any

from tare.datasets.source import Source
from tare.errors import Truncated
from tare.inspecting.findings import Findings, Part

__all__ = ["look"]


def look(source: Source, max_bytes: int) -> Findings:
    """Read the header, then walk the blocks (the Avro specification 1.12, "Object Container Files").

    Raises:
        Truncated: It ends inside its header or a block.
    """
    data, share = source.read(max_bytes)
    file = io.BytesIO(data)
    file.seek(4)
    findings = Findings(version="1", kind="table")
    try:
        header = _map(file)
        sync = file.read(16)
        start = file.tell()
        rows = blocks = stored = 0
        while len(data) - file.tell() > 17:
            count, size = _long(file), _long(file)
            if count < 0 or size < 0:  # which would lead back to where it was
                findings.damage(f"block {blocks + 1:,} has {count:,} rows in {size:,} bytes: damaged")
                break
            rows += count
            file.seek(size, 1)
            if file.read(16) != sync:
                if share == 1.0:
                    findings.damage(
                        f"block {blocks + 1:,} does not end with the file's marker: cut or damaged"
                    )
                break
            blocks += 1
            stored += size
    except (IndexError, OverflowError):
        raise source.error(
            Truncated, "it ends inside its header or a block", offset=file.tell(), advice="Fetch it again."
        ) from None
    findings.rows = rows
    schema: Any = {}
    try:
        schema = json.loads(header.get("avro.schema", b"{}"))
    except ValueError:
        findings.damage("its schema is no JSON")
    if isinstance(schema, dict):
        findings.columns = [
            {"name": str(item.get("name")), "type": json.dumps(item.get("type"))[:60], "nulls": None}
            for item in schema.get("fields", []) if isinstance(item, dict)
        ]  # fmt: skip
    findings.details = {
        "compression": header.get("avro.codec", b"null").decode("utf-8", "replace"),
        "blocks": blocks,
    }
    findings.parts = [
        Part("header", start),
        Part("blocks", stored),
        Part("markers and counts", file.tell() - start - stored),
    ]
    return findings


def _map(file: io.BytesIO) -> dict[str, bytes]:
    found = {}
    while count := _long(file):
        if count < 0:
            count = -count
            _long(file)
        for _ in range(count):
            key = _bytes(file).decode("utf-8", "replace")
            found[key] = _bytes(file)
    return found


def _bytes(file: io.BytesIO) -> bytes:
    size = _long(file)
    data = file.read(max(size, 0))
    if len(data) != size:
        raise IndexError(size)
    return data


def _long(file: io.BytesIO) -> int:
    value = shift = 0
    while True:
        byte = file.read(1)
        if not byte or shift > 63:
            raise IndexError(shift)
        value |= (byte[0] & 127) << shift
        shift += 7
        if byte[0] < 128:
            return (value >> 1) ^ -(value & 1)
