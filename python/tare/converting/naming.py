"""What a file is called when it has become one of another format."""

from __future__ import annotations

import os
from typing import Any

from tare import compress, formats
from tare.codec import Codec, compressor_id
from tare.datasets.source import printable
from tare.errors import Unsupported, UsageError

__all__ = [
    "codec_for",
    "compressor_of",
    "contradiction",
    "ending_of",
    "inside",
    "near_ending",
    "of_files",
    "pressed",
    "stem_of",
]

_LAYERS = 3  # compressors in compressors, as elsewhere
_NEAR = 0.75  # .cvs is near .csv, and .foo near nothing


def codec_for(path: Any, codec: str | None) -> Codec:
    """Returns the codec that writes a file: one that is named, or that of the name's ending.

    Args:
        path: The file, or a file object that may have a name.
        codec: Codec id; None for the one of the ending.

    Raises:
        UsageError: Neither names a format.
        Unsupported: As `of_files`.

    >>> str(codec_for("x.csv.gz", None)), str(codec_for("x.csv", "json:orjson"))
    ('csv:pyarrow+gzip:6', 'json:orjson')
    """
    if codec is not None:
        return of_files(Codec.parse(codec))
    name = getattr(path, "name", None) if hasattr(path, "write") else os.fspath(path)
    found = Codec.for_path(name) if isinstance(name, str) else None
    if found is None:
        raise UsageError(
            f"{printable(str(name))}: the ending names no format{near_ending(str(name))}. Say which with --codec, such as parquet or json+zstd:3; "
            "`tare codecs` lists them."
        )
    return found


def of_files(codec: Codec) -> Codec:
    """Returns the codec, if files are written and read with it.

    Args:
        codec: A codec.

    Raises:
        Unsupported: Its compressor is another library's.

    >>> str(of_files(Codec.parse("csv+gzip")))
    'csv:pyarrow+gzip:6'
    """
    other = codec.peer
    if other is None:
        return codec
    own = "+zstd:3, +lz4 or +gzip" if other.own_container else f"+{codec.compressor}"
    why = (
        "a container that no other tool reads"
        if other.own_container
        else "there to be measured beside Tare's own"
    )
    plain = str(codec).partition("+")[0]
    raise Unsupported(
        f"{codec}: files are not written and read with {other.name}'s compressor, which is {why}. "
        f"Choose {plain} with {own}, or run the route itself: Route({str(codec)!r} '@file').",
        format=codec.format_id,
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
        raise UsageError(f"{printable(folder)} is a folder: say {what}.")
    target = os.path.join(folder, stem_of(os.path.basename(src)) + ending_of(codec))
    try:
        os.makedirs(folder, exist_ok=True)
    except FileExistsError:
        what = "a link to nothing" if os.path.islink(folder.rstrip("/")) else "a file"
        raise NotADirectoryError(
            f"{printable(folder)} is {what}, and the result goes into a folder: name another, or remove it"
        ) from None
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
        raise UsageError(f"{dst}: the ending names no format{near_ending(dst)}; say which with --codec")
    ending = os.path.splitext(dst)[1].lower()
    if codec is None and ending in found.format.extension_compressors:  # what the ending means otherwise
        return f"{str(found).partition('+')[0]}+{compressor}"
    if found.compressor is not None:
        raise UsageError(f"{found} has a compressor already: not with --compressor {compressor}")
    if dict(found.settings).get("container") == "collection":
        return str(Codec.parse(f"{found},compression={compressor}"))
    # Who names no library gets the one that is usual with that compressor, as by the ending `.json.zst`.
    bare = found.format_id == codec if codec is not None else not found.settings
    return f"{found.format_id if bare else found}+{compressor}"


def contradiction(dst: str, codec: Codec) -> str:
    """Returns the format that the ending of a name means, where a codec writes another; empty where they agree.

    Args:
        dst: Name of the file.
        codec: What is written into it.

    >>> contradiction("out.parquet", Codec.parse("json:orjson")), contradiction("out.json", Codec.parse("json"))
    ('parquet', '')
    >>> contradiction("out.csv.zst", Codec.parse("csv")), contradiction("out.tsv", Codec.parse("csv"))
    ('csv+zstd', 'csv,delimiter=tab')
    """
    meant = Codec.for_path(dst)
    if meant is None:
        return ""
    name = dst.lower()
    packed = next((c for c in compress.COMPRESSORS if c.extension and name.endswith(c.extension)), None)
    name = name.removesuffix(packed.extension) if packed is not None else name
    if not name.endswith(tuple(codec.format.extensions)):
        return meant.format_id + (f"+{packed.name}" if packed is not None else "")
    ending = max((end for end in codec.format.extensions if name.endswith(end)), key=len)
    own = packed is None and ending in codec.format.extension_compressors
    if not own and codec.compressor != (packed.name if packed is not None else None):
        return (
            f"{codec.format_id}+{packed.name}" if packed is not None else f"{codec.format_id}, not compressed"
        )
    implied, options = codec.format.extension_options.get(ending, {}), codec.options
    others = [f",{key}={value}" for key, value in implied.items() if options.get(key, value) != value]
    return f"{codec.format_id}{''.join(others)}" if others else ""


def near_ending(name: str) -> str:
    """A question for an ending that looks like a known one; empty if none does.

    >>> near_ending("out.parqet"), near_ending("out.cvs.gz"), near_ending("out.csv.zts"), near_ending("notes.foo")
    (' (did you mean .parquet?)', ' (did you mean .csv?)', ' (did you mean .zst?)', '')
    """
    from difflib import get_close_matches

    lower = os.path.basename(name).lower()
    packers = [c.extension for c in compress.COMPRESSORS if c.extension]
    lower = next((lower.removesuffix(end) for end in packers if lower.endswith(end)), lower)
    known = [end for format in formats.FORMATS for end in format.extensions]
    near = get_close_matches(os.path.splitext(lower)[1], [*known, *packers], n=1, cutoff=_NEAR)
    return f" (did you mean {near[0]}?)" if near else ""


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


def compressor_of(codec: Codec) -> str | None:
    """Returns the id of a codec's compressor."""
    if codec.compressor is None:
        return None
    return compressor_id(codec.compressor, codec.level, codec.compressor_settings)
