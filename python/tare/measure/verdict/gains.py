"""What is gained by a codec against the file that the user has, or against another codec, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tare.codec.ids import split_id
from tare.codec.titles import title_of
from tare.measure.verdict.units import percent, times

__all__ = [
    "PRESSED",
    "WORTH",
    "against",
    "beside",
    "comparable",
    "format_name",
    "is_own_format",
    "only_ours",
    "owned",
    "source_name",
]

# Formats that compress by themselves.
PRESSED = ("parquet", "arrow", "orc", "avro")
# Below this, a difference is not worth a sentence.
WORTH = 1.1


def against(own: Mapping[str, Any], other: Mapping[str, Any], ways: Sequence[str] = ("read",)) -> str:
    """How a codec differs from another, by one ratio each, always in the direction above one; empty if it does not.

    Args:
        own: ``bytes, write_s, read_s`` of the codec, ``part_s`` where parts are read; what is None is left out.
        other: The same of the other.
        ways: Which times are compared: ``read``, ``write``.

    >>> against({"bytes": 5.7e6, "read_s": 0.016}, {"bytes": 29.9e6, "read_s": 0.037})
    '5.2x smaller and 2.3x faster to read'
    >>> against({"bytes": 2e6, "read_s": 1.0}, {"bytes": 1e6, "read_s": 1.02})
    '2.0x larger'
    >>> against({"bytes": 2e6, "read_s": 1.0}, {"bytes": 1e6, "read_s": 9.0})
    '2.0x larger but 9.0x faster to read'
    """
    better: list[str] = []
    worse: list[str] = []
    size = _ratio(own.get("bytes"), other.get("bytes"))
    if size:
        (better if size > 1 else worse).append(
            f"{times(max(size, 1 / size))} {'smaller' if size > 1 else 'larger'}"
        )
    for way in ways:
        part = way == "read" and "part_s" in own
        speed = _ratio(*(one.get("part_s" if part else f"{way}_s") for one in (own, other)))
        if speed:
            said = f"{times(max(speed, 1 / speed))} {'faster' if speed > 1 else 'slower'} to {way}{' a part' * part}"
            (better if speed > 1 else worse).append(said)
    if better and worse:
        # The size stands first, whichever side it is on.
        first, second = (better, worse) if size is None or size > 1 else (worse, better)
        return f"{_joined(first)} but {_joined(second)}"
    return _joined(better or worse)


def _joined(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _ratio(own: float | None, other: float | None) -> float | None:
    """How many times less the own figure is; None where that is not worth a word."""
    if not own or not other:
        return None
    ratio = other / own
    return ratio if ratio >= WORTH or ratio <= 1 / WORTH else None


def beside(verdict: Mapping[str, Any]) -> str:
    """What is gained against the file that the user has, or against the usual format; empty if nothing is known.

    Args:
        verdict: The verdict, with ``chosen``, ``source`` and ``reference``.
    """
    own, have, usual = verdict["chosen"], verdict["source"], verdict["reference"]
    message = verdict["profile"] == "message"
    ways = ("write", "read") if message else ("read",)
    # A line is a message: the file's size is not the size of one.
    if have["format"] and not (message and have["format"] == "ndjson"):
        if is_own_format(own["codec"], have):
            # What is too small to matter is not told from the file by what writing it anew makes of it.
            said = "" if verdict.get("small") else against(own, {"bytes": have["bytes"]})
            name = f"the {'compressed ' * have['compressed']}{source_name(have)} you have"
            return f"{said} than {name}" if said else name
        if said := against(own, comparable(own, have), ways):
            return f"{said} than {owned(own, have)}"
    if usual and usual["codec"] != own["codec"]:
        said = against(own, usual, ways)
        if said:
            return f"{said} than {title_of(usual['codec'])}"
    return ""


def comparable(own: Mapping[str, Any], have: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the figures of the file that the user has, for `against`: where that cannot be read in part, all is read for a part.

    >>> comparable({"part_s": 1e-4}, {"bytes": 9, "read_s": 0.2, "part_s": None})
    {'bytes': 9, 'read_s': 0.2, 'part_s': 0.2}
    """
    if own.get("part_s") is None:
        return dict(have)
    return {**have, "part_s": have.get("part_s") or have.get("read_s")}


def owned(own: Mapping[str, Any], have: Mapping[str, Any]) -> str:
    """Names the file that the user has, as what a codec is compared with.

    Args:
        own: Figures of the codec.
        have: The file: ``format, title, compressed, codec``. JSON, and a file of R that Tare reads, are named with what
            read them, as other readers may differ by ten times.

    >>> owned({}, {"format": "csv", "compressed": False, "codec": "csv:pyarrow"})
    'the CSV you have'
    >>> owned({}, {"format": "json", "compressed": False, "codec": "json:stdlib"})
    'the JSON you have (read by stdlib)'
    >>> owned({}, {"format": "rds", "title": "RDS", "compressed": True, "codec": "rds:tare+gzip:6"})
    'the compressed RDS you have (read by Tare)'
    >>> owned({"part_s": 1e-4}, {"format": "csv", "compressed": True, "codec": "csv:pyarrow"})
    'all of the compressed CSV you have'
    """
    whole = "all of " * (own.get("part_s") is not None and have.get("part_s") is None)
    name = f"{whole}the {'compressed ' * bool(have.get('compressed'))}{source_name(have)} you have"
    library = split_id(have["codec"])[1] if have.get("codec") else ""
    if library == "tare" and have["format"] != "blit":  # which others read as well
        return f"{name} (read by Tare)"
    return f"{name} (read by {library})" if library and have["format"] == "json" else name


def is_own_format(codec: str, source: Mapping[str, Any]) -> bool:
    """Returns whether a codec writes what the user has: the same, or its text by whatever library, not compressed.

    A format that compresses by itself is another file with another compression.

    >>> have = {"format": "csv", "codec": "csv:pandas"}
    >>> is_own_format("csv:pyarrow", have), is_own_format("csv:pyarrow+zstd:3", have), is_own_format("orc", have)
    (True, False, False)
    >>> is_own_format("parquet:polars", {"format": "parquet", "codec": "parquet:pyarrow"})
    False
    """
    if codec == source["codec"]:
        return True
    plain = source["format"] not in PRESSED and not source.get("compressed")
    return plain and split_id(codec)[::3] == (source["format"], None)


def only_ours(codec: str, usual: str = "", ratio: float = 1.0) -> str:
    """Says that Tare alone reads a format.

    Args:
        codec: Codec of the format.
        usual: The codec that costs least of those that others read; empty if there is none.
        ratio: What it costs, as a multiple.

    >>> only_ours("blit:tare+lz4:1", "json:orjson+zstd:3", 1.3)
    'only Tare reads blit; the cheapest that other tools read is JSON (orjson) + zstd, 30 % dearer'
    """
    lead = f"only Tare reads {format_name(split_id(codec)[0])}"
    if not usual:
        return lead
    more = f"{percent(ratio - 1)} dearer" if ratio >= 1.01 else "which costs the same"
    return f"{lead}; the cheapest that other tools read is {title_of(usual)}, {more}"


def format_name(id: str) -> str:
    """Returns the name of a format; the id itself of one that is not known."""
    from tare import formats

    return formats.get(id).title if id in {format.id for format in formats.FORMATS} else id


def source_name(source: Mapping[str, Any]) -> str:
    """Returns the name of the format of a verdict's ``source``, as TSV of a CSV with tabs; empty if it is not known.

    >>> source_name({"format": "csv", "title": "TSV"}), source_name({"format": "csv"}), source_name({})
    ('TSV', 'CSV', '')
    """
    format = str(source.get("format") or "")
    return str(source.get("title") or format_name(format))[:20] if format else ""
