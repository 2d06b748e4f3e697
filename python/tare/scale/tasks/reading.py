"""The rows of a file, or of a part of it, and what they have not of what a file of R holds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from tare.codec import Codec
from tare.converting import line_tables, objects
from tare.converting.counting import Counted, counted_in
from tare.dataset import open_dataset
from tare.datasets.source import find
from tare.datasets.tables import places_of
from tare.r.losses import Loss, Losses
from tare.scale.place import shown
from tare.scale.ranges import read_range
from tare.scale.tasks.inputs import table_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Rows", "columns_of", "lost_with_schema", "rows_of"]

_ROW_NAMES = "row_names_dropped"


@dataclass
class Rows:
    """Rows, and what is to be told of them.

    Args:
        schema: Of the rows.
        batches: Themselves, once.
        counted: What columns of one type made of lines of JSON: known behind the last row.
        losses: What a file of R has and the rows have not.
        notes: What the user should know.
        of_r: Whether a file of R holds them.
    """

    schema: pa.Schema
    batches: Iterable[pa.RecordBatch]
    counted: Counted = field(default_factory=Counted)
    losses: Losses = field(default_factory=Losses)
    notes: list[str] = field(default_factory=list)
    of_r: bool = False


def columns_of(options: Mapping[str, Any]) -> list[str] | None:
    """The names of the columns that a unit converts; None for all."""
    return str(options["columns"]).split(",") if options.get("columns") else None


def rows_of(
    path: str | BinaryIO,
    given: Mapping[str, Any],
    options: Mapping[str, Any],
    codec: Codec,
    *,
    read: str,
    trust: bool,
) -> Rows:
    """The rows of an input, as `tare.convert` reads them of a whole file.

    Args:
        path: Its path, or of a part a file too.
        given: The input as a unit holds it.
        options: Of the unit.
        codec: What it becomes.
        read: Id of its format, if the user named it.
        trust: Whether it may run code.

    Raises:
        UsageError: It is no table, there is no such column, or ``data_only`` and neither side is a format of R.
        TareError, OSError: It cannot be read.
    """
    if given.get("range"):
        found = _of_part(path, given, options)
    else:
        found = _of_file(str(path), options, codec, read=read, trust=trust)
    names = columns_of(options)
    return found if names is None else _selected(found, names)


def _of_part(path: str | BinaryIO, given: Mapping[str, Any], options: Mapping[str, Any]) -> Rows:
    counted, losses, name = Counted(), Losses(), shown(str(given["uri"]))
    schema, batches = read_range(path, given["range"], options, name, tell=counted.extend, losses=losses)
    return Rows(schema, batches, counted, losses, of_r=given["range"]["kind"] == "rows")  # of fst


def _of_file(path: str, options: Mapping[str, Any], codec: Codec, *, read: str, trust: bool) -> Rows:
    encoding = options.get("encoding")
    source, losses = find(path, format=read or None, encoding=encoding), Losses()
    of_r, data_only = source.format in objects.FORMATS, bool(options.get("data_only"))
    columns = columns_of(options) if of_r else None  # what others lose is not told
    if data_only:
        objects.refuse_without_r(source.format, codec)
    objects.select_variable(source, options.get("variable"))
    if data_only and of_r and source.format != "fst":
        held = objects.data_of(source, encoding=encoding, columns=columns, losses=losses)
        notes = source.notes
    elif encoding is None and (lines := line_tables.table_of(source)) is not None:
        table = lines[0].combine_chunks()  # which is a group of rows, as those of values are
        return Rows(table.schema, table.to_batches(), lines[1], losses, source.notes)
    else:
        data = open_dataset(
            source if source.variable is not None else path,
            format=read or None,
            allow_pickle=trust,
            encoding=encoding,
            columns=columns,
            losses=losses,
        )
        held, notes = data.value, list(data.notes)
    table = table_of(held, os.path.basename(path))
    counted = counted_in(held, table.schema) if isinstance(held, list) else Counted()
    return Rows(table.schema, table.to_batches(), counted, losses, notes, of_r)


def _selected(found: Rows, names: list[str]) -> Rows:
    import pyarrow as pa

    places = places_of(None, found.schema, names)
    fields = [found.schema.field(place) for place in places]
    schema = pa.schema(fields, metadata=cast(Any, found.schema.metadata))
    batches = (batch.select(places) for batch in found.batches)
    return Rows(schema, batches, found.counted, found.losses, found.notes, found.of_r)


def lost_with_schema(found: Rows, codec: Codec) -> list[Loss]:
    """What only the schema of a table of R keeps, or the types of its columns, and its parts or partitions do not.

    A writer of R tells it itself.

    Names of rows are of no fewer rows, and of no fewer columns.

    Args:
        found: The rows.
        codec: What they become.
    """
    lost = found.losses.of_schema
    if not found.of_r or objects.writes(codec):
        return []
    empty = found.schema.empty_table()
    if lost and objects.keeps_schema(empty, codec):
        lost = [one for one in lost if one.kind == _ROW_NAMES]
    return [*lost, *objects.types_not_kept(empty, codec)]
