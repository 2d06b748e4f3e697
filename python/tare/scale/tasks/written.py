"""Rows into a file, and whether a reader gets them back: what would change is refused, as of a whole file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from tare import io
from tare.categories import has_levels, has_order
from tare.codec import Codec
from tare.converting import batches as stream
from tare.converting import changes, line_tables, objects
from tare.converting.naming import compressor_of
from tare.datasets.levels import used_levels
from tare.datasets.source import find
from tare.errors import EncodeError
from tare.frames import bytes_of
from tare.r.losses import Loss
from tare.scale.failures import LossRefused

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Terms", "Written", "write_rows"]

_NULL_FOR_NAN = {"json": ("msgspec", "orjson"), "ndjson": ("msgspec", "orjson", "polars")}
_NESTED_DEPTH = 8
_UNUSED = "levels of categories that no row of a part has are not in {}: were there such that no row of all has, they are gone"


@dataclass(frozen=True)
class Written:
    """A file of rows.

    Args:
        rows: How many.
        changes: The columns that come back as another type, or with other values.
        losses: What a format of R does not hold of them.
        notes: What the user should know.
    """

    rows: int
    changes: list[dict[str, Any]]
    losses: list[Loss]
    notes: list[str]


@dataclass(frozen=True)
class Terms:
    """What is verified of rows that are written, and what may be lost.

    Args:
        verify: ``size``, ``hash`` or ``decode``.
        allow_loss: Whether values may change.
        strict: Whether what a format of R does not hold is refused.
        data_only: Whether what is no data is left out of a file of R.
        part: Whether the rows are some of a file's: levels that none of them has are then no loss, for others have them.
    """

    verify: str
    allow_loss: bool = False
    strict: bool = False
    data_only: bool = False
    part: bool = False


def write_rows(
    found: tuple[pa.Schema, Iterable[pa.RecordBatch]],
    target: str,
    codec: Codec,
    name: str,
    terms: Terms,
) -> Written:
    """Write rows, batch by batch where the format can be written so, else as one table.

    What is written is read back and compared by the rule of `tare.convert`: below 64 MiB of rows, or when
    the terms verify by ``decode``. Parquet and Arrow hold plain types as they are, if Arrow writes them; nothing is read
    back there then. What a format of R does not hold, its writer tells of every value, however many there are.

    Args:
        found: The schema and the rows.
        target: The path to write at, which must not be there.
        codec: How.
        name: What to call the file in messages.
        terms: What is verified, and what may be lost.

    Raises:
        LossRefused: Values would change, and may not.
        LossError: Something would be lost, and the terms are strict.
        EncodeError: The format cannot hold them.
    """
    import pyarrow as pa

    schema, rows = found
    exact = terms.verify != "decode" and changes.has_arrows_types(codec) and all(map(_is_plain, schema.types))
    keep = _Kept(schema, None if terms.verify == "decode" else 0 if exact else io.VERIFY_BYTES)
    try:
        passing = keep.passing(rows, _lost_floats(codec))
        if objects.writes(codec):
            table = pa.Table.from_batches(list(passing), schema)
            done = objects.write(
                table, target, codec, sync=False, strict=terms.strict, data_only=terms.data_only
            )
            count, losses = table.num_rows, done.loss
        else:
            count, losses = _write(schema, passing, target, codec), []
    except pa.ArrowException as error:
        raise EncodeError(f"{codec}: {str(error)[:200]}", format=codec.format_id) from error
    left_out = terms.data_only and bool(losses)  # it differs, as was asked for
    changed, unused = keep.lost, False
    if keep.table is not None and not left_out and not exact:
        changed, unused = _compared(keep.table, _read_back(target, codec, keep.table), part=terms.part)
    elif not exact:
        changed = [*changes.type_losses(schema, codec), *changed]
    lossy = _lossy(changed)
    if lossy and not terms.allow_loss:
        raise _refusal(lossy, codec, name)
    notes = _notes(codec, keep.size, left_out=left_out, verify=terms.verify)
    return Written(count, changed, losses, [*notes, _UNUSED.format(codec.format_id)] if unused else notes)


def _compared(table: pa.Table, back: Any, *, part: bool) -> tuple[list[dict[str, Any]], bool]:
    """What changed, and whether levels that no row of the part has were left out of the comparison."""
    changed = changes.table_changes(table, back)
    if part and any(one["path"].endswith(" (levels)") for one in changed):
        used = changes.table_changes(used_levels(table), back)
        if len(used) < len(changed) and all(one in changed for one in used):
            return used, True
    return changed, False


def _lossy(changed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in changed if one["verdict"] == "lossy"]


def _notes(codec: Codec, size: int, *, left_out: bool, verify: str) -> list[str]:
    """What is said of a whole file of so many bytes of rows."""
    notes = list(objects.notes_of(codec))
    if left_out:
        notes.append("not verified, as something was left out")
    elif verify != "decode" and size > io.VERIFY_BYTES:
        notes.append("not verified; --verify reads it back")
    return notes


def _write(schema: pa.Schema, rows: Iterator[pa.RecordBatch], target: str, codec: Codec) -> int:
    import pyarrow as pa

    # An Arrow file has one dictionary of a category, and ordered levels have one order: the rows of a unit are few enough to be
    # held together.
    wanted = {"arrow": has_levels, "parquet": has_order}.get(codec.format_id)
    whole = wanted is not None and any(map(wanted, schema.types))
    if (
        whole
        or not schema.names
        or codec.format_id not in stream.WRITTEN
        or codec.library_name not in ("pyarrow", "orjson")
    ):
        table = pa.Table.from_batches(list(rows), schema)
        with open(target, "xb") as file:
            codec.write(table, file)
        return int(table.num_rows)
    count = 0
    with (
        open(target, "xb") as file,
        stream.compressing(cast(BinaryIO, file), compressor_of(codec)) as out,
        stream.writer(out, codec, schema) as writer,
    ):
        for batch in rows:
            writer.write_batch(batch)
            count += batch.num_rows
    return count


class _Kept:
    """The rows that went by, as long as they are few enough to be compared.

    Args:
        schema: Of the rows.
        limit: Bytes to keep; None for all.
    """

    def __init__(self, schema: pa.Schema, limit: int | None) -> None:
        self._schema, self._limit = schema, limit
        self.size = 0
        self._batches: list[pa.RecordBatch] | None = [] if limit != 0 else None
        self.lost: list[dict[str, Any]] = []

    @property
    def table(self) -> pa.Table | None:
        """All of them; None if they were too many."""
        import pyarrow as pa

        return None if self._batches is None else pa.Table.from_batches(self._batches, self._schema)

    def passing(self, rows: Iterable[pa.RecordBatch], floats: bool) -> Iterator[pa.RecordBatch]:
        """The same rows; `floats` looks for numbers that the format has no text for."""
        for batch in rows:
            self.size += bytes_of(batch)
            if self._batches is not None:
                self._batches.append(batch)
                if self._limit is not None and self.size > self._limit:
                    self._batches = None
            if floats:
                for field, column in zip(self._schema, batch.columns, strict=True):
                    if all(one["path"] != field.name for one in self.lost) and _has_odd_floats(column):
                        self.lost.append(_change(field.name, "nan or infinite", "null"))
            yield batch


def _read_back(target: str, codec: Codec, table: pa.Table) -> Any:
    if codec.format_id == "ndjson" and not table.num_rows:
        return []  # no rows are no text: there is nothing to read
    if codec.format_id in ("json", "ndjson"):
        rows = line_tables.table_written(find(target, format=codec.format_id), table.schema)
        if rows is not None:
            return rows
    return io.read(target, format=codec.format_id, trust=True)  # our own bytes


def _refusal(lossy: list[dict[str, Any]], codec: Codec, name: str) -> LossRefused:
    first = lossy[0]
    row = f" (first in row {first['row'] + 1:,})" if "row" in first else ""
    more = f", and {len(lossy) - 1} more" if len(lossy) > 1 else ""
    return LossRefused(
        f"{name}: {changes.subject(first)} would change: {first['from']} comes back as {first['to']}{row}{more}. "
        f"{changes.guessed(first, codec)}Nothing was written. Say --on-loss allow to write it, or choose another format.",
        format=codec.format_id,
        path=first["path"],
    )


def _lost_floats(codec: Codec) -> bool:
    return codec.library_name in _NULL_FOR_NAN.get(codec.format_id, ())


def _change(path: str, before: str, after: str) -> dict[str, Any]:
    return {"path": path, "verdict": "lossy", "from": before, "to": after, "count": None}


def _children(kind: Any) -> list[Any]:
    return [kind.field(k).type for k in range(kind.num_fields)]


def _is_plain(kind: Any) -> bool:
    """A type of Arrow's that its Parquet and Arrow files hold with every value."""
    import pyarrow as pa

    is_ = pa.types
    if is_.is_list(kind) or is_.is_large_list(kind) or is_.is_struct(kind):
        return bool(kind.num_fields) and all(map(_is_plain, _children(kind)))
    return bool(
        is_.is_boolean(kind)
        or is_.is_integer(kind)
        or is_.is_floating(kind)
        or is_.is_string(kind)
        or is_.is_large_string(kind)
        or is_.is_binary(kind)
        or is_.is_null(kind)
        or is_.is_date32(kind)
        or is_.is_decimal128(kind)
        or (is_.is_timestamp(kind) and kind.unit != "s")
    )


def _has_odd_floats(column: Any, depth: int = 0) -> bool:
    """Whether a column holds, at whatever depth, a float that is no finite number."""
    import pyarrow as pa
    from pyarrow import compute

    kind = column.type
    if pa.types.is_float16(kind):
        column, kind = column.cast(pa.float32()), pa.float32()
    if pa.types.is_floating(kind):
        return bool(compute.any(compute.invert(compute.is_finite(column))).as_py())
    if depth >= _NESTED_DEPTH or not kind.num_fields or pa.types.is_map(kind) or pa.types.is_union(kind):
        return False
    inner = column.flatten()
    return any(_has_odd_floats(one, depth + 1) for one in (inner if isinstance(inner, list) else [inner]))
