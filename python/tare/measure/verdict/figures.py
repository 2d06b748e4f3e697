"""The figures that stand beside a recommendation: the fastest, the smallest, and what the user has."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from tare.codec.ids import split_id
from tare.errors import UsageError
from tare.measure.verdict.choice import Choice
from tare.measure.verdict.cost_model import Costed
from tare.measure.verdict.gains import PRESSED

__all__ = ["compressor_of", "fastest", "figures_of", "reference", "smallest", "source"]

# What people compare with where the file is in another format, by kind of data.
USUAL = {
    "table": ("parquet:pyarrow,compression=zstd", "parquet:polars", "parquet:pyarrow"),
    "document": ("json:stdlib", "json:orjson"),
}


# Libraries write the same format in sizes that differ by no more than this, as a logarithm.
ALIKE = 0.1
# In formats that compress by themselves the size tells which compressor it was, and nothing near it.
SAME = 0.005
# A file of the same format that differs by no more than this is compressed alike.
NEAR = 0.3
# Formats whose size is also a matter of spaces and quotes.
TEXTS = ("csv", "tsv", "json", "ndjson", "yaml")


def figures_of(one: Costed, choice: Choice) -> dict[str, Any]:
    """Returns a codec's figures for the whole data, or for one message: ``codec, bytes, write_s, read_s``.

    ``size_share`` is the share of the data whose bytes were counted: below 1 those of all of it are estimated. Where the use reads parts, ``part_s`` is the time of one.
    Of a file that is read by copying its bytes alone ``read_s`` is no less than their passage, which is that copy.
    """
    read_s = one.read_s
    if one.copied and choice.medium == "memory" and choice.profile.medium == "file":
        read_s = max(
            read_s, one.bytes / choice.file_rate
        )  # of a file here: what a link takes is in the cost alone
    found = {"codec": one.codec, "bytes": one.bytes, "write_s": one.write_s, "read_s": read_s}
    found["size_share"] = one.size_share
    return found | ({"part_s": one.subset_s} if choice.profile.subset_reads else {})


def fastest(choice: Choice) -> Costed:
    """Returns the codec that is quickest to read, or to read a part; of messages, to write and read together."""
    both, parts = choice.profile.name == "message", choice.profile.subset_reads

    def order(one: Costed) -> tuple[float, float, str]:
        read_s = one.subset_s if parts and one.subset_s is not None else figures_of(one, choice)["read_s"]
        return read_s + (one.write_s if both else 0.0), one.bytes, one.codec

    return min(choice.several, key=order)


def smallest(choice: Choice) -> Costed:
    """Returns the codec with the fewest bytes; of equal ones, the quickest."""
    return min(choice.several, key=lambda one: (one.bytes, one.write_s + one.read_s, one.codec))


def source(record: Mapping[str, Any], choice: Choice) -> dict[str, Any]:
    """Returns what the user has: ``format, title, compressed, bytes`` of the file, and ``codec, write_s, read_s`` of its best reader.

    Of JSON it is the library that comes with Python. Where the use reads parts, ``part_s`` is the time of one. What was not measured is None: a file whose own format was not among the codecs has a size only.
    """
    data = record.get("dataset") or {}
    format, size = str(data.get("source_format") or ""), data.get("bytes_disk")
    around = data.get("compressors") or []
    compressor = (
        around[0] if around else None if data.get("files") else compressor_of(str(data.get("name") or ""))
    )
    found: dict[str, Any] = {
        "format": format or None,
        "title": data.get("source_title"),
        "compressed": compressor is not None,
        "bytes": size,
        "codec": None,
        "write_s": None,
        "read_s": None,
    } | ({"part_s": None} if choice.profile.subset_reads else {})
    same = [one for one in choice.timed.values() if format and _layout(one.codec)[0] == format]
    off = {one.codec: abs(math.log(one.bytes / size)) for one in same if one.bytes and size}
    alike = [one for one in same if _layout(one.codec)[1] == compressor]
    if inner := data.get("source_compression"):
        alike = [one for one in alike if _option(record, one.codec, "compression") == inner]
    elif compressor is None and not alike:
        # R's files are compressed without an ending that says so: then the size tells.
        alike = [one for one in same if off.get(one.codec, math.inf) <= NEAR]
    if size and format not in TEXTS:
        # Text has more or fewer spaces; what else is far from the file's size holds something else.
        alike = [one for one in alike if off.get(one.codec, math.inf) <= NEAR]
    if not alike:
        return found
    if size:
        # A format may compress by itself, or not, and libraries differ: what is nearest in size is what the user has.
        least = min((off[one.codec] for one in alike if one.codec in off), default=0.0)
        near = SAME if format in PRESSED and not inner else ALIKE
        alike = [one for one in alike if off.get(one.codec, math.inf) <= least + near] or alike
    # Of the libraries for documents the one that everybody has stands for the file, whichever was quicker today.
    best = min(alike, key=lambda one: (_place(one.codec), one.read_s, one.codec))
    found |= {"codec": best.codec, "write_s": best.write_s, "read_s": best.read_s}
    return found | ({"part_s": best.subset_s} if choice.profile.subset_reads else {})


def _place(codec: str) -> int:
    """Returns the place of a codec among those that people use for documents."""
    usual = USUAL["document"]
    return usual.index(codec) if codec in usual else len(usual)


def reference(record: Mapping[str, Any], choice: Choice) -> dict[str, Any] | None:
    """Returns the figures of what people usually take: Parquet (zstd) for tables, JSON for documents, nothing that loses values.

    Of a data frame of pandas it is what ``to_parquet`` writes.
    """
    data = record.get("dataset") or {}
    known: Iterable[str] = USUAL.get(str(data.get("kind") or ""), ())
    if data.get("source_kind") == "pandas":
        known = ("parquet:pyarrow", *known)
    lost = {codec for codec, names, _ in choice.excluded if names[0] == "loss"}
    able = (choice.timed[codec] for codec in known if codec in choice.timed and codec not in lost)
    found = next(able, None)
    return None if found is None else figures_of(found, choice)


def _option(record: Mapping[str, Any], codec: str, name: str) -> Any:
    """Returns an option of a codec as the record has it."""
    return (((record.get("codecs") or {}).get(codec) or {}).get("options") or {}).get(name)


def _layout(codec: str) -> tuple[str, str | None]:
    """Returns the format of a codec and the name of the compressor around it.

    >>> _layout("csv:pyarrow+gzip:6"), _layout("orc:pyarrow")
    (('csv', 'gzip'), ('orc', None))
    """
    try:
        format, _, _, compressor = split_id(codec)
    except UsageError:
        return "", None
    return format, re.split("[:,]", compressor)[0] if compressor else None


def compressor_of(name: str) -> str | None:
    """Returns the compressor that a file's name ends in; None if in none.

    >>> compressor_of("a.csv.GZ"), compressor_of("a.csv")
    ('gzip', None)
    """
    from tare import compress

    end = "." + name.lower().rpartition(".")[2]
    return next((one.name for one in compress.COMPRESSORS if one.extension == end), None)
