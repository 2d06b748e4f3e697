"""How much text a compressed file holds, as far as its first and last bytes tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tare import compress
from tare.scale.opening import open_file
from tare.scale.place import local_path

__all__ = ["is_packed", "plain_bytes", "plain_bytes_of"]

_LOOKED_AT = 64 << 10  # a smaller file is not opened to plan it
_USUAL_RATIO = 8  # of text
_MOST_RATIO = 2000  # more is said by no honest file
_ENDINGS = tuple(one.extension for one in compress.COMPRESSORS if one.extension)
_GZIP = b"\x1f\x8b\x08"
_ZSTD = b"\x28\xb5\x2f\xfd"
_SINGLE_SEGMENT = 0x20


def plain_bytes(path: str, stored: int) -> int:
    """At least so many bytes are in the file when it is decompressed; of a file that is damaged, any number.

    Exact of one member of gzip below 4 GiB, and of one frame of zstd that says it. Of several the one that is looked
    at counts.

    Args:
        path: The file.
        stored: Its bytes as stored, which are the answer where it tells nothing.
    """
    with open_file(path) as file:
        head = file.read(18)
        if head.startswith(_ZSTD):
            return max(stored, _zstd(head))
        if head.startswith(_GZIP) and stored > len(head):
            file.seek(-4, 2)
            return max(stored, int.from_bytes(file.read(4), "little"))
    return stored


def is_packed(uri: str) -> bool:
    """Whether a file is compressed, by its name.

    >>> is_packed("file:///a.ndjson.ZST"), is_packed("file:///a.ndjson")
    (True, False)
    """
    return uri.lower().endswith(_ENDINGS)


def plain_bytes_of(given: Mapping[str, Any]) -> int:
    """About so many bytes are in an input of a unit when it is decompressed; of a text that does not say, what is usual."""
    uri, size = str(given["uri"]), int(given["size"])
    if not is_packed(uri):
        return size
    if size >= _LOOKED_AT and uri.startswith("file:"):
        try:
            told = plain_bytes(local_path(uri), size)
        except OSError:
            told = size  # whoever reads it says so
        if size < told < size * _MOST_RATIO:
            return told
    return size * _USUAL_RATIO


def _zstd(head: bytes) -> int:
    """The content size in the header of a frame (RFC 8878, section 3.1.1.1); 0 if there is none."""
    if len(head) < 18:
        return 0
    flags = head[4]
    width = (1 if flags & _SINGLE_SEGMENT else 0, 2, 4, 8)[flags >> 6]
    at = 5 + (0 if flags & _SINGLE_SEGMENT else 1) + (0, 1, 2, 4)[flags & 3]
    size = int.from_bytes(head[at : at + width], "little")
    return size + 256 if width == 2 else size
