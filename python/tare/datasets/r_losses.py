"""Tells what files of a codec keep of R's objects beside their values, and what they lose."""

from __future__ import annotations

import datetime as dt
import zoneinfo
from collections.abc import Sequence
from typing import Any

from tare.codec import Codec
from tare.datasets import robjects
from tare.errors import TareError
from tare.r import Loss, write
from tare.r.losses import Losses
from tare.tagged.scalars import zone_of

__all__ = [
    "keeps_keys",
    "keeps_schema",
    "losses_of_columns",
    "not_kept",
    "paths_lost",
    "types_not_kept",
    "writes",
]


def writes(codec: Codec) -> bool:
    """Returns whether a codec writes R's objects with a compressor that R knows."""
    known = codec.compressor in (None, "gzip", "bz2", "xz", "zstd") and codec.peer is None
    own = codec.format_id in ("rds", "rdata") or codec.compressor is None
    return (
        codec.format_id in robjects.FORMATS
        and codec.library_name == "tare"
        and known
        and own
        and codec.library.writes
    )


def keeps_schema(table: Any, codec: Codec) -> bool:
    """Returns whether a file of the codec keeps the key ``r`` of a schema, which holds what R says of a table."""
    try:
        back = codec.decode(codec.encode(table.slice(0, 0)))
    except TareError:
        return False
    metadata = getattr(getattr(back, "schema", None), "metadata", None) or {}
    return b"r" in metadata


def not_kept(
    losses: Losses, value: Any, kind: str, codec: Codec, counted: Sequence[tuple[str, str, str, int]] = ()
) -> list[Loss]:
    """Returns what a file of the codec does not keep of the schema of a table of R, or of the zones of a document.

    Args:
        losses: What was lost on the way to the value.
        value: The table or document.
        kind: ``table`` or ``document``.
        codec: What it becomes.
        counted: What the columns of a table made of a document's objects: column, path, ``whole`` where integers became doubles, how often.
    """
    found = losses.of_schema if losses.of_schema and not keeps_schema(value, codec) else []
    if losses.of_zones and kind == "document" and not keeps_zones(codec):
        found = [*found, *losses.of_zones]
    if kind == "table" and value.num_columns and not value.num_rows and codec.native("table") == "records":
        found = [*found, Loss("@names", "attribute_dropped", "names of columns without rows")]
    merged = [(path, count) for _, path, what, count in counted if what == "whole"]
    return [*found, *(Loss(f"$[[]]${path}", "identity_lost", "integer", "double", n) for path, n in merged)]


def paths_lost(beside: Sequence[str], value: Any, kind: str, codec: Codec) -> list[str]:
    """Returns the paths of what files of a codec do not keep of an object of R, as R would write them.

    Args:
        beside: Paths of what the schema of its table, or the zones of its document, alone keep.
        value: The table or document.
        kind: ``table`` or ``document``.
        codec: What it becomes.
    """
    if kind == "document":
        return [] if not beside or keeps_zones(codec) else list(beside)
    if writes(codec):  # those of R's formats keep it all but for fst, whose writer tells
        done = write(value.slice(0, 0), None, format="fst").loss if codec.format_id == "fst" else []
        return [loss.path for loss in done if not loss.is_information]
    lost = [] if not beside or keeps_schema(value, codec) else list(beside)
    columns = [loss.path for loss in losses_of_columns(value, codec) if not loss.is_information]
    return list(dict.fromkeys([*lost, *columns]))


def keeps_keys(codec: Codec) -> bool:
    """Returns whether a file of the codec keeps what the schema of a table of R says, as R's own files do."""
    if writes(codec):
        return True
    import pyarrow as pa

    return "table" in codec.format.kinds and keeps_schema(
        pa.table({"x": pa.array([], pa.int32())}).replace_schema_metadata({"r": ""}), codec
    )


def keeps_zones(codec: Codec) -> bool:
    """Returns whether the codec keeps the name of a time zone in a document."""
    if "document" not in codec.format.kinds or writes(codec):
        return True
    moment = dt.datetime(2024, 1, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Paris"))
    try:
        back: Any = codec.decode(codec.encode([moment]))
        return zone_of(back[0]) == "Europe/Paris"
    except (TareError, AttributeError, LookupError, TypeError):
        return False


def losses_of_columns(table: Any, codec: Codec) -> list[Loss]:
    """Returns what the columns of a table of R, and its shape, lose in a file of a codec.

    Args:
        table: The table.
        codec: What it becomes.
    """
    return [*_levels_inside(table, codec), *types_not_kept(table, codec), *_as_rows(codec)]


def _as_rows(codec: Codec) -> list[Loss]:
    """Returns the loss of a data frame that becomes a document: it is read as a list of rows, or of columns."""
    shape = codec.library.native.get("table")
    if writes(codec) or "document" not in codec.format.kinds or shape not in ("records", "columns"):
        return []
    return [Loss("", "type_changed", "data.frame", "a list of its rows" if shape == "records" else "a list")]


def _levels_inside(table: Any, codec: Codec) -> list[Loss]:
    """What is lost of factors of a table of R, where R has factors again from the codec's files.

    Arrow's own files have the levels of each; Parquet, without rows, has none, and of those in lists the ones that some
    row has, in order of appearance.
    """
    from tare.r.frames import has_levels

    if codec.format_id == "arrow" or writes(codec) or not keeps_keys(codec):
        return []
    inside = [field for field in table.schema if field.type.num_fields and has_levels(field.type)]
    bare = [
        field
        for field in table.schema
        if not table.num_rows and has_levels(field.type) and field not in inside
    ]
    return [
        *(
            Loss(f"${field.name}@levels", "attribute_dropped", "levels of a factor without values")
            for field in bare
        ),
        *(
            Loss(f"${field.name}[[]]@levels", "attribute_dropped", "levels of factors", "values")
            for field in inside
        ),
    ]


def types_not_kept(table: Any, codec: Codec) -> list[Loss]:
    """What is lost of factors and of names of zones of a table of R, where files of the codec have no place for them.

    As of vectors and lists of R in documents: the values and the moments are there, and the rest is a loss.

    Args:
        table: The table.
        codec: What it becomes.
    """
    from tare.r.frames import has_levels
    from tare.r.zones import zone_within

    if writes(codec) or keeps_keys(codec):
        return []
    coded = [field.name for field in table.schema if has_levels(field.type)]
    zoned = [(field.name, zone) for field in table.schema if (zone := zone_within(field.type)) is not None]
    levels = [] if coded and _comes_back(_factor(), codec) else coded
    zones = [] if zoned and _comes_back(_moment(), codec) else zoned
    return [
        *(
            Loss(f"${name}@levels", "attribute_dropped", "levels and their order", "values")
            for name in levels
        ),
        *(
            Loss(f"${name}@tzone", "attribute_dropped", f"time zone {zone}", "its moments")
            for name, zone in zones
        ),
    ]


def _factor() -> Any:
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array([0], pa.int32()), pa.array(["b", "a"]))


def _moment() -> Any:
    import pyarrow as pa

    return pa.array([0], pa.timestamp("us", "Europe/Paris"))


def _comes_back(array: Any, codec: Codec) -> bool:
    """Whether a column of a file of the codec is what it was, with its levels and its zone."""
    import pyarrow as pa

    from tare import kinds

    try:
        back: Any = codec.decode(codec.encode(pa.table({"x": array})))
        column = kinds.convert(back, "arrow").column(0)
    except TareError:
        return False
    if pa.types.is_dictionary(array.type):
        coded = pa.types.is_dictionary(column.type)
        return coded and column.chunk(0).dictionary.to_pylist() == array.dictionary.to_pylist()
    return bool(getattr(column.type, "tz", None) == array.type.tz)
