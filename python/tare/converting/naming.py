"""What a file is called when it has become one of another format."""

from __future__ import annotations

import os

from tare import compress, formats
from tare.codec import Codec
from tare.datasets.source import printable
from tare.errors import UsageError

__all__ = ["ending_of", "inside", "pressed", "stem_of"]

_LAYERS = 3  # compressors in compressors, as elsewhere


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


def pressed(codec: str | None, dst: str, compressor: str | None) -> str | None:
    """The codec with a compressor: inside its format if that has one, else around it.

    Args:
        codec: Codec id; None for what the name's ending stands for.
        dst: Name of the result.
        compressor: Id of the compressor; None leaves the codec as it is.

    Raises:
        UsageError: It has one already, or there is nothing to tell the format by.
    """
    if compressor is None:
        return codec
    found = Codec.parse(codec) if codec is not None else Codec.for_path(dst)
    if found is None:
        raise UsageError(f"{dst}: the ending names no format; say which with --codec")
    ending = os.path.splitext(dst)[1].lower()
    if codec is None and ending in found.format.extension_compressors:  # what the ending means otherwise
        return f"{str(found).partition('+')[0]}+{compressor}"
    if found.compressor is not None:
        raise UsageError(f"{found} has a compressor already: not with --compressor {compressor}")
    if dict(found.settings).get("container") == "collection":
        return str(Codec.parse(f"{found},compression={compressor}"))
    return f"{found}+{compressor}"


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
