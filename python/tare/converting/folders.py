"""A folder of files, each to one of the same name in another folder: what becomes what."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tare import compress, formats
from tare.codec import Codec
from tare.datasets.source import printable
from tare.errors import UsageError

__all__ = ["Folder", "Outcome", "ending_of", "inside", "plan", "stem_of"]

_LAYERS = 3  # compressors in compressors, as elsewhere


@dataclass
class Outcome:
    """What became of one file of a folder.

    Args:
        source: Its path under the folder, with ``/``.
        target: The path of the result under the other folder.
        status: ``converted``, ``there`` (a result was there already), ``left out`` (no data that can be
            told), or ``failed``.
        conversion: What was done, if it was converted.
        error: Why it failed or was left out.
    """

    source: str
    target: str
    status: str = "converted"
    conversion: Any = None
    error: str = ""


@dataclass
class Folder:
    """What became of a folder.

    Args:
        files: The outcome of each file, in the order of their names.
    """

    files: list[Outcome] = field(default_factory=list)

    def of(self, status: str) -> list[Outcome]:
        """The files with this status."""
        return [one for one in self.files if one.status == status]

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        listed = [
            {
                "source": one.source,
                "target": one.target,
                "status": one.status,
                "error": one.error or None,
                "conversion": one.conversion.as_dict() if one.conversion is not None else None,
            }
            for one in self.files
        ]
        return {"files": listed}


def plan(src: str, dst: str, codec: str) -> list[Outcome]:
    """Every file under a folder and what it becomes under another; nothing is opened.

    Endings of formats and compressors are replaced by the codec's; where two files would become one,
    their old endings stay. Files and folders whose name begins with a dot are left alone, and so is
    what is under `dst`.

    Args:
        src: The folder.
        dst: The other folder.
        codec: Codec id of the results.

    Raises:
        UsageError: There is no such codec, or its format has no file ending.
        NotADirectoryError: `dst` is a file.
    """
    ending = ending_of(codec)
    if os.path.exists(dst) and not os.path.isdir(dst):
        raise NotADirectoryError(f"{printable(dst)}: is a file. Name a folder for the results of a folder.")
    names = sorted(_files(src, os.path.realpath(dst)))
    targets: dict[str, list[str]] = {}
    for name in names:
        targets.setdefault(stem_of(name) + ending, []).append(name)
    return sorted(
        (
            Outcome(name, target if len(sharing) == 1 else name + ending)
            for target, sharing in targets.items()
            for name in sharing
        ),
        key=lambda one: one.source,
    )


def ending_of(codec: str) -> str:
    """The file ending that a codec writes under, its compressor's included.

    Raises:
        UsageError: There is no such codec, or its format has no ending.

    >>> ending_of("parquet"), ending_of("csv,delimiter=tab+zstd:3")
    ('.parquet', '.tsv.zst')
    """
    found = Codec.parse(codec)
    implied = found.format.extension_options
    ending = next(
        (
            end
            for end, options in implied.items()
            if options and dict(found.settings).items() >= options.items()
        ),
        next(iter(found.format.extensions), ""),
    )
    if not ending:
        raise UsageError(
            f"{codec[:80]}: {found.format.title} has no file ending; convert its files one by one."
        )
    if found.compressor is None or found.format.extension_compressors.get(ending) is not None:
        return ending
    return ending + next(c.extension for c in compress.COMPRESSORS if c.name == found.compressor)


def inside(folder: str, src: str, codec: str | None) -> str:
    """The path of what a file becomes in a folder, which is made if it is not there: its name, another ending.

    Args:
        folder: The folder.
        src: The file that is converted.
        codec: Codec id of the result.

    Raises:
        UsageError: Nothing says what it becomes, or what it is called.
        OSError: The folder cannot be made.
    """
    if codec is None or src == "-":
        what = "what the result is called" if src == "-" else "what the file becomes there (--to)"
        raise UsageError(f"{printable(folder)}: is a folder; say {what}.")
    target = os.path.join(folder, stem_of(os.path.basename(src)) + ending_of(codec))
    os.makedirs(folder, exist_ok=True)
    return target


def _files(src: str, dst: str) -> Iterator[str]:
    """Paths under the folder, with ``/``; links to folders are not followed, pipes and devices are left."""

    def fail(error: OSError) -> None:
        raise error

    for folder, inner, files in os.walk(src, onerror=fail):
        inner[:] = [
            name
            for name in inner
            if not name.startswith(".") and os.path.realpath(os.path.join(folder, name)) != dst
        ]
        for name in files:
            path = os.path.join(folder, name)
            if name.startswith(".") or (os.path.exists(path) and not os.path.isfile(path)):
                continue
            yield os.path.relpath(path, src).replace(os.sep, "/")


def stem_of(name: str) -> str:
    """A path without the endings of compressors and of its format."""
    folder, slash, base = name.rpartition("/")
    for _ in range(_LAYERS):
        lower = base.lower()
        packed = next(
            (c.extension for c in compress.COMPRESSORS if c.extension and lower.endswith(c.extension)), ""
        )
        if not packed:
            break
        base = base[: -len(packed)]
    lower = base.lower()
    known = [end for format in formats.FORMATS for end in (*format.extensions, *format.extension_options)]
    ending = max((end for end in known if lower.endswith(end)), key=len, default="")
    return folder + slash + (base[: -len(ending)] if ending and len(base) > len(ending) else base)
