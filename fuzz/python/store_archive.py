"""Fuzz target: tars for `tare store import`. Plain files and folders below one folder, or Malformed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tare.errors import Malformed
from tare.store.unpacking import unpack_store

__all__ = ["fuzz"]


def fuzz(data: bytes) -> None:
    """Unpack the bytes, with the checksums of headers made right: without, no change would pass them."""
    whole = bytearray(data)
    for at in range(0, len(whole) - 511, 512):
        if whole[at + 257 : at + 262] == b"ustar":
            whole[at + 148 : at + 156] = b" " * 8
            whole[at + 148 : at + 156] = b"%06o\0 " % sum(whole[at : at + 512])
    with tempfile.TemporaryDirectory() as folder:
        path, inside = Path(folder, "a.tar"), Path(folder, "to")
        path.write_bytes(whole)
        inside.mkdir()
        try:
            unpack_store(str(path), str(inside))
        except Malformed:
            pass
        else:
            assert os.listdir(inside) == ["store"]
        assert sorted(os.listdir(folder)) == ["a.tar", "to"]
        for place in inside.rglob("*"):
            assert not place.is_symlink()
            assert place.is_dir() or place.stat().st_nlink == 1
            assert place.resolve().is_relative_to(inside.resolve())
