"""From a source to a value in memory: which reader takes which format."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tare.datasets import csvload, documents, robjects, stretches, tables, views
from tare.datasets.by_codec import select_columns
from tare.datasets.source import Source, free_memory
from tare.datasets.tables import places_of
from tare.errors import Limit
from tare.r.losses import Losses

__all__ = ["Loaded", "Options", "load"]


@dataclass(frozen=True)
class Options:
    """How a file is to be read.

    Args:
        allow_pickle: Whether a file may be read that names code to run.
        max_bytes: Bound on the value's bytes in memory; what does not fit is left out.
        encoding: The text's encoding if it is not UTF-8.
        columns: Names of the columns to read; all by default.
        check_names: Whether to note a name that stands twice in one JSON object.
        losses: A list to fill with what a file of R holds and the value does not; else it is noted.
        enough_bytes: Bytes in memory that suffice where items of JSON can be read from all over the file.
    """

    allow_pickle: bool = False
    max_bytes: int | None = None
    encoding: str | None = None
    columns: list[str] | None = None
    check_names: bool = False
    losses: list[Any] | None = None
    enough_bytes: int | None = None


@dataclass
class Loaded:
    """A value and how it came.

    Args:
        value: A table as `pyarrow.Table`, or a document.
        kind: ``table`` or ``document``.
        partial: Which part it is: rule, share, totals; None for the whole.
        notes: What the user should know.
        plain: Whether it is a document that JSON is known to carry exactly.
        of_r: Of an object of R: paths of what its schema, or its zones, alone keep; None of others.
    """

    value: Any
    kind: str
    partial: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list)
    plain: bool = False
    of_r: tuple[str, ...] | None = None


_TABLES = {"parquet": tables.load_parquet, "arrow": tables.load_arrow, "orc": tables.load_orc}


def load(source: Source, options: Options) -> Loaded:
    """Read the source.

    Raises:
        TareError: Name, format, offset, and what to do.
        OSError: As the operating system says.
    """
    if options.max_bytes is None:
        _fits(source)
    partial: dict[str, Any] | None
    with source.naming():
        if source.reader is not None:
            return _document(source, options)
        if source.format == "csv":
            value, share, rule = csvload.load(
                source, max_bytes=options.max_bytes, encoding=options.encoding, columns=options.columns
            )
            partial = _first(rule, value.num_rows, share)
        elif source.format in _TABLES:
            value, partial = _TABLES[source.format](
                source, max_bytes=options.max_bytes, columns=options.columns
            )
        elif source.format in robjects.FORMATS:
            return _robject(source, options)
        else:
            return _document(source, options)
    plain = views.without_views(value)
    if plain is not value:
        source.notes.append(views.note(value.schema))
    return Loaded(plain, "table", partial, source.notes)


def _document(source: Source, options: Options) -> Loaded:
    from tare import formats, kinds

    value, share, rule = documents.load(
        source,
        max_bytes=options.max_bytes,
        encoding=options.encoding,
        allow_pickle=options.allow_pickle,
        check_names=options.check_names,
        enough_bytes=options.enough_bytes,
    )
    # Avro's records are documents where a column would be of several types.
    of_tables = formats.get(source.format).kinds == {"table"} and source.format != "avro"
    if kinds.kind_of(value) == "table" or of_tables:
        value = kinds.convert(value, "arrow")
        if options.columns is not None:
            value = value.select(places_of(source, value.schema, options.columns))
        return Loaded(value, "table", _first("first rows", value.num_rows, share), source.notes)
    if options.columns is not None:
        value = select_columns(source, value, options.columns, is_part=share < 1.0)
    items = len(value) if isinstance(value, list) else 1
    partial = _first(rule, items, share)
    if partial is not None and rule == documents.SPREAD:
        partial["blocks"] = stretches.STRETCHES
    if partial is not None and not isinstance(value, list):
        partial["rows_total"] = 1
    return Loaded(value, "document", partial, source.notes, source.plain)


def _robject(source: Source, options: Options) -> Loaded:
    from tare import kinds

    losses = Losses() if options.losses is None else options.losses
    value = robjects.load(
        source,
        max_bytes=options.max_bytes,
        encoding=options.encoding,
        columns=options.columns,
        losses=losses,
    )
    if options.losses is None:
        source.notes += robjects.notes_of(losses)
    kind = kinds.kind_of(value)
    return Loaded(value, kind, None, source.notes, of_r=robjects.beside(losses, kind))


def _first(rule: str, rows: int, share: float) -> dict[str, Any] | None:
    if share >= 1.0:
        return None
    return {"rule": rule, "share": share, "rows_total": round(rows / max(share, 1e-9)), "estimated": True}


def _fits(source: Source) -> None:
    """Refuse a file that is larger than the free memory unless a bound was given."""
    free = free_memory()
    if free is not None and source.size > free:
        raise source.error(
            Limit,
            f"{source.size:,} bytes do not fit in the {free:,} bytes of free memory",
            advice="Give a bound (max_bytes) to open the part that fits.",
        )
