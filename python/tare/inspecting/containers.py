"""The compressors around a file: frames and members, what their headers say, how much they save."""

from __future__ import annotations

import struct
from typing import Any, BinaryIO

from tare.datasets.source import Source
from tare.errors import TareError

__all__ = ["describe"]

_MOST_FRAMES = 1_000_000
_ZSTD, _LZ4 = 0xFD2FB528, 0x184D2204


def describe(source: Source, max_bytes: int) -> tuple[list[dict[str, Any]], int | None]:
    """Each container's facts, and the plain size: counted if it is within `max_bytes`, else None."""
    if not source.compressors:
        return [], source.size
    containers = []
    for depth, name in enumerate(source.compressors):
        facts: dict[str, Any] = {"name": name}
        if depth == 0:
            with source.open_stored() as file:
                facts |= _FACTS.get(name, _nothing)(file)
        containers.append(facts)
    plain: int | None = 0
    try:
        for step in source.steps():
            plain = (plain or 0) + len(step)
            if plain > max_bytes:
                plain = containers[0].get("plain_bytes")
                containers[0]["note"] = f"decompressed to its first {max_bytes:,} bytes only"
                break
    except TareError as error:
        containers[0]["error"] = str(error)
        plain = None
    if plain:
        containers[0]["ratio"] = round(plain / max(source.size, 1), 2)
    return containers, plain


def _gzip(file: BinaryIO) -> dict[str, Any]:
    """RFC 1952: the first member's header; members can only be told by decompressing."""
    head = file.read(65_536)
    flags = head[3] if len(head) > 3 else 0
    facts: dict[str, Any] = {}
    stamp = int.from_bytes(head[4:8], "little")
    if stamp:
        facts["modified_unix_s"] = stamp
    at = 10
    if flags & 4:
        at += 2 + int.from_bytes(head[at : at + 2], "little")
        if b"BC\x02\x00" in head[10:at]:
            facts["variant"] = "BGZF (blocked gzip)"
    if flags & 8:
        facts["original_name"] = head[at : head.find(b"\0", at)].decode("latin1")
    return facts


def _zstd(file: BinaryIO) -> dict[str, Any]:
    """RFC 8878: walk the frames by their block headers, nothing decompressed."""
    frames = skippable = 0
    sizes: list[int | None] = []
    checksums = 0
    dictionary = 0
    window = 0
    while frames + skippable < _MOST_FRAMES and len(head := file.read(4)) == 4:
        magic = int.from_bytes(head, "little")
        if magic & 0xFFFFFFF0 == 0x184D2A50:
            file.seek(int.from_bytes(file.read(4), "little"), 1)
            skippable += 1
            continue
        if magic != _ZSTD:
            break
        frames += 1
        descriptor = (file.read(1) or b"\0")[0]
        single = descriptor >> 5 & 1
        if not single:
            byte = (file.read(1) or b"\0")[0]
            window = max(window, (1 << (10 + (byte >> 3))) * (8 + (byte & 7)) // 8)
        dictionary = int.from_bytes(file.read((0, 1, 2, 4)[descriptor & 3]), "little") or dictionary
        width = (single, 2, 4, 8)[descriptor >> 6]
        sizes.append(
            int.from_bytes(file.read(width), "little") + (256 if width == 2 else 0) if width else None
        )
        checksums += descriptor >> 2 & 1
        _zstd_blocks(file)
        file.seek(4 * (descriptor >> 2 & 1), 1)
    facts: dict[str, Any] = {"frames": frames, "with_checksum": checksums}
    if skippable:
        facts["skippable_frames"] = skippable
    if dictionary:
        facts["dictionary_id"] = dictionary
    if window:
        facts["window_bytes"] = window
    known = [size for size in sizes if size is not None]
    if known and len(known) == len(sizes):
        facts["plain_bytes"] = sum(known)
    return facts


def _zstd_blocks(file: BinaryIO) -> None:
    while len(header := file.read(3)) == 3:
        word = int.from_bytes(header, "little")
        file.seek(1 if word >> 1 & 3 == 1 else word >> 3, 1)
        if word & 1:
            return


def _lz4(file: BinaryIO) -> dict[str, Any]:
    """The LZ4 frame format 1.6.4: walk the frames by their block sizes."""
    frames = blocks = 0
    independent = content_checksum = True
    plain: int | None = 0
    largest = 0
    while frames < _MOST_FRAMES and len(head := file.read(4)) == 4 and int.from_bytes(head, "little") == _LZ4:
        flags, sizes = struct.unpack("<BB", file.read(2).ljust(2, b"\0"))
        frames += 1
        independent &= bool(flags & 0x20)
        content_checksum &= bool(flags & 4)
        largest = max(largest, 1 << (8 + 2 * (sizes >> 4 & 7)))
        if flags & 8 and plain is not None:
            plain += int.from_bytes(file.read(8), "little")
        else:
            plain = None
        file.seek((4 if flags & 1 else 0) + 1, 1)
        while blocks < _MOST_FRAMES and len(word := file.read(4)) == 4 and any(word):
            file.seek((int.from_bytes(word, "little") & 0x7FFFFFFF) + (4 if flags & 0x10 else 0), 1)
            blocks += 1
        file.seek(4 if flags & 4 else 0, 1)
    facts: dict[str, Any] = {
        "frames": frames, "blocks": blocks, "block_bytes": largest,
        "independent_blocks": independent, "content_checksum": content_checksum,
    }  # fmt: skip
    return facts if plain is None else {**facts, "plain_bytes": plain}


def _bz2(file: BinaryIO) -> dict[str, Any]:
    return {"block_bytes": (file.read(4)[3] - 0x30) * 100_000}


def _xz(file: BinaryIO) -> dict[str, Any]:
    head = file.read(8)
    return {
        "check": {0: "none", 1: "CRC32", 4: "CRC64", 10: "SHA-256"}.get(head[7] & 15, "other")
        if len(head) == 8
        else "?"
    }


def _nothing(file: BinaryIO) -> dict[str, Any]:
    return {}


_FACTS = {"gzip": _gzip, "zstd": _zstd, "lz4": _lz4, "bz2": _bz2, "xz": _xz}
