"""Files of R: read and written as R has them, and from one format of R to another without a conversion."""

from __future__ import annotations

from typing import Any

from tare.bare_arrays import python_values
from tare.codec import Codec
from tare.codec.compressing import compressor_id
from tare.converting.plain_types import with_listed_intervals
from tare.datasets import encoding_hints, robjects
from tare.datasets.r_losses import (
    keeps_keys,
    keeps_schema,
    losses_of_columns,
    not_kept,
    types_not_kept,
    writes,
)
from tare.datasets.source import Source, printable
from tare.errors import EncodeError, UsageError
from tare.frames import with_columns
from tare.r import Loss, RObject, WriteReport
from tare.r import read as read_r
from tare.r import write as write_r
from tare.r.losses import Losses, settle
from tare.r.plain import chosen

__all__ = [
    "FORMATS",
    "data_of",
    "encoding_hint",
    "keeps_keys",
    "keeps_schema",
    "not_kept",
    "notes_of",
    "of_name",
    "read",
    "read_object",
    "refuse_without_r",
    "same",
    "select_variable",
    "stays",
    "types_not_kept",
    "with_losses_told",
    "write",
    "writes",
]

FORMATS = robjects.FORMATS
# Above all integers of R; its negative stands for a missing one.
_NO_INTEGER = 1 << 31
_TREES = frozenset(FORMATS) - {"fst"}
_LOOKED_AT = 10_000  # strings whose bytes tell an encoding


def stays(source_format: str, target: Codec) -> bool:
    """Whether an object goes from that format to this codec without becoming a value of Python."""
    return source_format in _TREES and target.format_id in _TREES and writes(target)


def notes_of(codec: Codec, value: Any = None) -> list[str]:
    """Returns notes on a file of R: which R reads the compressor around it, and what its integers ask for.

    Args:
        codec: What it was written by.
        value: The table or document that it holds.
    """
    if codec.format_id not in ("rds", "rdata"):
        return []
    large = _large_integers(value)
    if codec.compressor in (None, "gzip", "bz2", "xz"):
        return large
    older = "R before 4.5 reads no zstd" if codec.compressor == "zstd" else f"R reads no {codec.compressor}"
    return [f"{older}; gzip, bz2 and xz are read by every R", *large]


def _large_integers(table: Any) -> list[str]:
    """The note on columns that become integer64, as R's own integers have 32 bits; none without any."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not isinstance(table, pa.Table):
        return []
    large = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        ends: Any = pc.min_max(column).as_py() if column.type == pa.int64() else {"min": None}
        if ends["min"] is not None and (ends["min"] <= -_NO_INTEGER or ends["max"] >= _NO_INTEGER):
            large.append(repr(printable(name, 30)))
    if not large:
        return []
    some = f"column{'s' * (len(large) > 1)} {', '.join(large[:3])}{', ...' * (len(large) > 3)}"
    return [f"R shows {some} (integer64) rightly only with the package bit64"]


def with_losses_told(table: Any, codec: Codec, losses: Losses, *, strict: bool, name: str) -> Any:
    """Returns a table of R as it is written, once what its columns lose in a file of a codec is told.

    Args:
        table: The table.
        codec: What it becomes.
        losses: The list that they are added to.
        strict: Whether a loss is an error.
        name: What the table is called.

    Raises:
        LossError: There is one, and ``strict``.
    """
    inside = losses_of_columns(table, codec)
    losses += inside
    settle(inside, [], strict=strict, what=printable(name))
    return _without_told_order(table, inside)


def _without_told_order(table: Any, told: list[Loss]) -> Any:
    """Returns a table of R whose ordered factors have no order where it is told as lost: their texts are all that is written."""
    import pyarrow as pa

    lost = {loss.path for loss in told}
    changed = {}
    for at, (field, column) in enumerate(zip(table.schema, table.columns, strict=True)):
        wanted: Any = _unordered(field.type)
        gone = {f"${field.name}@levels"}
        if pa.types.is_list(field.type):
            gone.add(f"${field.name}[[]]@levels")
        if gone & lost and not wanted.equals(field.type):
            changed[at] = field.with_type(wanted), column.cast(wanted)
    return with_columns(table, changed)


def _unordered(kind: Any) -> Any:
    """Returns a type whose categories have no order; those that R's lists and data frames become are its only nested ones."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_unordered(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_unordered(kind.value_type)))
    return kind


def encoding_hint(losses: list[Loss], value: Any = None) -> str:
    """What to do about strings of which nothing tells the encoding; empty where there are none.

    Args:
        losses: What was found in a file of R.
        value: Its value; the columns of a table have the bytes, which tell what they may be.

    >>> encoding_hint([Loss("$d$x", "bytes_string", "text without a mark (encoding= names it)", "bytes")])
    '$d$x holds text whose encoding nothing tells: say it with --encoding, such as latin1 (encoding=). '
    """
    found = [loss for loss in losses if loss.kind == "bytes_string" and "encoding=" in loss.r]
    if not found:
        return ""
    where = printable(found[0].path, 80) or "it"
    likely = next(filter(None, (_likely(loss, value) for loss in found)), "latin1")
    return f"{where} holds text whose encoding nothing tells: say it with --encoding, such as {likely} (encoding=). "


def _likely(loss: Loss, value: Any) -> str:
    """Returns the likeliest encoding of the strings of a column; empty if none is found."""
    import pyarrow as pa

    name = loss.path.rpartition("$")[2]
    if not isinstance(value, pa.Table) or value.column_names.count(name) != 1:
        return ""
    column = value.column(name).slice(0, _LOOKED_AT)
    if not (pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)):
        return ""
    lines = [line for line in python_values(column.drop_null()) if not line.isascii()]
    return next(iter(encoding_hints.likely(b"\n".join(lines))), "")


def read(source: Source, *, columns: list[str] | None, encoding: str | None) -> Any:
    """A file of R as `tare.r.read` gives it, under the source's name in messages.

    Raises:
        TareError: As `tare.r.read`.
    """
    with source.naming():
        return read_r(robjects.stored(source), columns=columns, encoding=encoding, format=source.format)


def read_object(source: Source, *, encoding: str | None) -> RObject | dict[str, RObject]:
    """What a file holds, as it is.

    Raises:
        TareError: As `tare.r.read`.
    """
    with source.naming():
        found: RObject | dict[str, RObject] = read_r(
            robjects.stored(source), as_="robject", encoding=encoding, format=source.format
        )
        if source.variable is None or not isinstance(found, dict):
            return found
        return {source.variable: chosen(found, source.variable)}


def refuse_without_r(source_format: str | None, target: Codec) -> None:
    """Refuse to leave out what is no data where neither side could hold it.

    Raises:
        UsageError: Neither is a format of R.
    """
    if source_format not in FORMATS and target.format_id not in FORMATS:
        raise UsageError(
            "data_only (--data-only) leaves out what R has beside data, and neither side is a format of R"
        )


def select_variable(source: Source | None, variable: str | None) -> None:
    """Makes a source one variable of its RData file; None leaves all.

    Raises:
        UsageError: The source is not such a file.
    """
    if variable is None:
        return
    if source is None or source.format != "rdata":
        found = "a value" if source is None else f"{printable(source.name)}, which is {source.format}"
        raise UsageError(
            f"invalid --variable (variable=) {printable(variable, 60)!r}: expected an RData file, got {found}"
        )
    source.variable = variable


def data_of(source: Source, *, encoding: str | None, columns: list[str] | None, losses: list[Loss]) -> Any:
    """A file of R as a table or document, without what is no data.

    Promises, functions, bytecode, active bindings and external pointers are left out wherever they stand,
    also inside what a table keeps as bytes of R. What else has no value, such as calls, becomes None.

    Args:
        source: The file.
        encoding: Encoding of strings without a mark.
        columns: Names of the columns of a data frame; all by default.
        losses: The list that what is left out is added to.

    Raises:
        TareError: As `tare.r.read`.
    """
    held = read_object(source, encoding=encoding)
    kept = "rdata" if isinstance(held, dict) else "rds"
    done = write_r(held, None, format=kept, version=3, encoding="native", compressor="none", data_only=True)
    losses.extend(done.loss)
    plain = Source(source.name, data=done.data, size=done.bytes, format=kept)
    plain.variable, plain.tabular, plain.keyed = source.variable, source.tabular, source.keyed
    return robjects.load(plain, max_bytes=None, encoding=None, columns=columns, losses=losses, data_only=True)


def write(
    value: Any,
    path: Any,
    codec: Codec,
    *,
    sync: bool = True,
    data_only: bool = False,
    strict: bool = False,
    kept: bool = False,
) -> WriteReport:
    """Write a value as a codec of R's says, by the core that compresses on its way.

    Args:
        value: As `tare.r.write` takes it.
        path: The file, or a binary file object.
        codec: The codec; see `writes`.
        sync: Whether to wait until the bytes are on the disk.
        data_only: Leave out what is no data.
        strict: Whether a loss is an error.
        kept: Whether version and encoding stay those that the object was read with, unless the codec says others.

    Raises:
        EncodeError: R, or the format, has no such value.
        LossError: Something would be lost, and ``strict``.
    """
    options: dict[str, Any] = {
        name: one for name, one in codec.options.items() if name in ("version", "encoding", "compress")
    }
    if kept:
        options |= dict.fromkeys({"version", "encoding"} - dict(codec.settings).keys() & options.keys())
    if "level" in codec.options:
        options["compressor"] = f"zstd:{codec.options['level']}"
    elif codec.format_id in ("rds", "rdata"):
        options["compressor"] = (
            "none"
            if codec.compressor is None
            else compressor_id(codec.compressor, codec.level, codec.compressor_settings)
        )
    if hasattr(value, "schema"):
        value = with_listed_intervals(value)
    return write_r(
        value, path, format=codec.format_id, sync=sync, data_only=data_only, strict=strict, **options
    )


def same(value: Any, data: bytes, codec: Codec) -> None:
    """Read what was written back, and compare it as R's ``identical()`` does.

    Args:
        value: The R object, or variables by name.
        data: What was written of it.
        codec: The codec that wrote it.

    Raises:
        EncodeError: Something changed.
    """
    back = read_r(data, as_="robject", format=codec.format_id)
    before = value if isinstance(value, dict) else {"": value}
    after = {name: back[name] for name in before} if isinstance(value, dict) else {"": back}
    wrong = next((name for name in before if not before[name].identical(after[name])), None)
    if wrong is not None:
        where = f" ({printable(wrong, 60)})" if wrong else ""
        raise EncodeError(
            f"{codec}: the object{where} would not come back identical. Nothing was written. Choose rds or qs2.",
            format=codec.format_id,
        )


def of_name(held: RObject | dict[str, RObject], target: Codec, name: str) -> tuple[Any, list[Loss], str]:
    """What is written of what a file held: one object where the target has one, else variables.

    Args:
        held: What was read.
        target: The codec of the result.
        name: The file's name, for a variable that has none.

    Returns:
        The value, what is lost by it, and a note for the user; empty if there is nothing to say.

    Raises:
        EncodeError: Variables whose names a list cannot have.
    """
    if target.format_id == "rdata":
        if isinstance(held, dict):
            return held, [], ""
        variable = _variable(name)
        return {variable: held}, [], f"the object is the variable `{variable}`"
    if not isinstance(held, dict):
        return held, [], ""
    if len(held) == 1:
        variable, only = next(iter(held.items()))
        return only, [], f"the object is what was the variable `{printable(variable, 60)}`"
    if not held:
        raise EncodeError(f"{target.format_id}: the file has no variables, so there is nothing to write")
    return held, [], f"the {len(held):,} variables became one named list"


def _variable(name: str) -> str:
    """A name of R made of a file's: its stem, with dots where R has no other sign."""
    stem = name.partition(".")[0] or "data"
    clean = "".join(c if c.isalnum() or c in "._" else "." for c in stem)
    return clean if clean[:1].isalpha() else f"x{clean}"
