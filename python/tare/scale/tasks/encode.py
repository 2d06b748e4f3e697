"""`encode`: documents, or a range of the lines of a file, into one collection of blit."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any

from tare import io as files
from tare.blit import open_collection
from tare.errors import Malformed, TareError, UsageError
from tare.kinds import kind_of
from tare.scale.place import shown
from tare.scale.ranges import border, open_plain
from tare.scale.running import Made, Writing
from tare.scale.tasks.inputs import opened, opened_part

__all__ = ["run"]


class _Between(io.RawIOBase):
    """The bytes of a file between two offsets."""

    def __init__(self, file: Any, start: int, end: int) -> None:
        super().__init__()
        self._file, self._left = file, end - start
        file.seek(start)

    def read(self, size: int = -1, /) -> bytes:
        """Up to so many bytes."""
        wanted = self._left if size < 0 else min(size, self._left)
        found: bytes = self._file.read(wanted) if wanted else b""
        self._left -= len(found)
        return found

    def readable(self) -> bool:
        """True."""
        return True


def run(unit: dict[str, Any], writing: Writing) -> Made:
    """Encode the documents of each input into a collection of its own.

    Raises:
        TareError, OSError: What is wrong with an input; nothing of the unit is written then.
    """
    made = Made(libraries={})
    packed = str(unit["options"].get("compressor", "")) or None
    for given, name in zip(unit["input"], unit["output"]["names"], strict=True):
        if why := unit["options"].get("unreadable"):
            raise Malformed(str(why))
        whole = given.get("range") is None
        with (
            opened(given) if whole else opened_part(given) as path,
            writing.output(name) as target,
            _named(str(given["uri"])),
            open_collection(target, "x", compressor=packed) as collection,
        ):
            made.rows += _fill(collection, path, given, unit)
    return made


@contextlib.contextmanager
def _named(uri: str) -> Iterator[None]:
    """The file in front of what its decoder says."""
    try:
        yield
    except TareError as error:
        error.args = (f"{shown(uri)}: {error.args[0] if error.args else error}", *error.args[1:])
        raise


def _fill(collection: Any, path: Any, given: dict[str, Any], unit: dict[str, Any]) -> int:
    part = given.get("range")
    if part is None and unit.get("read") != "ndjson":
        value = files.read(path, format=str(unit.get("read", "")) or None)
        if kind_of(value) == "table":
            raise UsageError(
                "holds a table, and documents are encoded: `tare convert SRC DST --to blit` writes its rows"
            )
        values = value if isinstance(value, list) else [value]
        collection.extend(values)
        return len(values)
    with open_plain(path) as file:
        if part is None:
            return int(collection.extend_ndjson(file, threads=1))
        first, stop = border(file, int(part["start"])), border(file, int(part["end"]))
        return int(collection.extend_ndjson(_Between(file, first, stop), threads=1)) if stop > first else 0
