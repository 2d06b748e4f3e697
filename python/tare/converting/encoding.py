"""Encodes what is converted, with the options that keep most, and says of what a codec refuses what to do."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, BinaryIO

from tare import kinds
from tare.codec import Codec, codec_part, packed, text_parts, write_parts
from tare.converting import refused
from tare.converting.counting import Counted, counted_in
from tare.converting.orc_types import with_types_of_orc
from tare.converting.plain_types import first_of_r, with_base64, with_plain_types
from tare.converting.rows import is_rows
from tare.datasets.source import printable
from tare.errors import EncodeError, Limit, TareError, Unsupported
from tare.fidelity.comparison import show
from tare.scalar_text import as_text, is_foreign

__all__ = ["Encoded", "advising", "encode", "refuse_first", "usual_codec"]

_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_CAST = re.compile(r"Unsupported cast from (.+?) to utf8 using function \w+")  # as Arrow refuses one
_TOLD = 3


def usual_codec(chosen: Codec, given: str | None, kind: str) -> Codec:
    """Returns the codec with the options that keep most, where the user named none.

    Args:
        chosen: The codec.
        given: Its id as the user gave it; None if they did not.
        kind: ``table`` or ``document``.
    """
    if _names_options(given):
        return chosen
    more: dict[str, object] = {}
    if kind == "table" and "default" in chosen.library.options:
        more["default"] = "text"  # dates and decimals become text instead of an error
    if chosen.format_id == "yaml" and chosen.library_name == "pyyaml":
        more |= {"loader": "c", "sort_keys": False}
    return _with(chosen, more)


def _names_options(given: str | None) -> bool:
    """Returns true if an id names a library or an option."""
    plain = None if given is None else codec_part(given)
    return plain is not None and ("," in plain or ":" in plain.partition("+")[0])


def _with(codec: Codec, options: dict[str, object]) -> Codec:
    settings = {key: value for key, value in options.items() if codec.library.options[key].default != value}
    return replace(codec, settings=tuple(sorted({**settings, **dict(codec.settings)}.items())))


@dataclass(frozen=True)
class Encoded:
    """Data as a codec wrote it.

    Args:
        data: The bytes.
        codec: The codec, with the options that it needed.
        counted: What the columns of a table made of objects.
        notes: Types that were changed, which reading the bytes back would show too.
        told: What to know of the result, whether or not it is read back.
        into: Writes the bytes into a file where they are not there yet, and returns how many they are.
    """

    data: bytes
    codec: Codec
    counted: Counted = field(default_factory=list)
    notes: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    into: Callable[[BinaryIO], int] | None = None

    def write(self, file: BinaryIO) -> int:
        """Writes the bytes into a file, and returns how many they are.

        Raises:
            TareError: As `Codec.write`, where they are only made now.
        """
        if self.into is not None:
            return self.into(file)
        file.write(self.data)
        return len(self.data)


def encode(
    value: Any, kind: str, codec: Codec, given: str | None, *, later: bool = False, base64: bool = True
) -> Encoded:
    """Encodes data; what a codec has no type for becomes text or another type, unless the user named its options.

    Args:
        value: The document or table.
        kind: Which of both it is.
        codec: The codec, as `usual_codec` gives it.
        given: Its id as the user gave it; None if they did not.
        later: Whether the bytes of a table may be made when they are written, so that they never lie in memory whole.
        base64: Whether bytes of a table that are not UTF-8 may be written as base64; false where `--encoding` would make text of them.

    Raises:
        TareError: As `Codec.encode`.
    """
    if kind == "table":
        return _table(value, codec, later=later, base64=base64)
    if "document" not in codec.format.kinds and is_rows(value):
        table, said = _table_of(value)
        written = _table(table, codec, later=later)
        notes = (*written.notes, *said)
        return replace(written, counted=counted_in(value, table.schema), notes=notes)
    try:
        return Encoded(codec.encode(value), codec, told=_of_no_items(value, codec))
    except (EncodeError, Unsupported):
        if _names_options(given):
            raise
        if (timed := _with_timestamps(codec, value)) is not None:
            codec = timed
            with contextlib.suppress(EncodeError, Unsupported):
                return Encoded(codec.encode(value), codec)
        other = _as_text(codec)
        if other is None:
            raise
        return Encoded(other.encode(value), other)


def _with_timestamps(codec: Codec, value: Any) -> Codec | None:
    """Returns the codec with which datetimes are timestamps of MessagePack; None where it has none, or zones would be lost."""
    if codec.format_id != "msgpack" or "datetime" not in codec.library.options:
        return None
    found = False
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            stack += [*one, *one.values()]
        elif isinstance(one, list | tuple):
            stack += one
        elif isinstance(one, datetime):
            if one.tzname() != "UTC":
                return None
            found = True
    return _with(codec, {"datetime": True}) if found else None


def refuse_first(schema: Any, batch: Any, codec: Codec, given: str | None, name: str) -> None:
    """Refuses the first rows of a table that is written batch by batch, if they are refused as a table too.

    Args:
        schema: The schema of all rows.
        batch: The first rows; None if there are none.
        codec: The codec.
        given: Its id as the user gave it.
        name: What the source is called.

    Raises:
        TareError: As `encode`, in the words of `advising`.
    """
    import pyarrow as pa

    first = schema.empty_table() if batch is None else pa.Table.from_batches([batch])
    with advising(name, first, "table", codec, given=given, line_of=None):
        encode(first, "table", codec, given)


def _table(table: Any, codec: Codec, *, later: bool, base64: bool = True) -> Encoded:
    if codec.format_id == "csv" and (name := first_of_r(table)) is not None:
        said = (
            f"csv: cannot write column {printable(name)!r}: its values are R's serialization, which is binary"
        )
        raise EncodeError(said, format="csv", path=name)
    if base64 and codec.format_id == "csv" and (texts := with_base64(table)) is not table:
        written = _encoded(texts, codec, later=later)
        written = replace(written, notes=(*written.notes, *_of_types(table, texts, " (base64)")))
    else:
        written = _encoded(table, codec, later=later)
    if codec.format_id == "avro":
        return replace(written, told=_odd_names(table.schema))
    if not table.num_rows:
        return replace(written, told=_of_no_items([], codec))
    if codec.format_id == "csv" and codec.compressor is None and b"\0" in written.data:
        said = "it holds NUL characters, as no text does: read it with --from csv (format=)"
        return replace(written, told=(said,))
    return written


def _of_no_items(value: Any, codec: Codec) -> tuple[str, ...]:
    """Returns the note on how a list without items is written where each item is a line; none of any other."""
    if codec.format_id != "ndjson" or codec.compressor is not None or not isinstance(value, list) or value:
        return ()
    return (
        "nothing is in it, which is written as one blank line: an empty file may have been cut to nothing",
    )


def _odd_names(schema: Any) -> tuple[str, ...]:
    """Returns the note on names of columns that the specification of Avro does not allow, under "Names"; none without any."""
    odd = [name for name in schema.names if _NAME.fullmatch(name) is None]
    if not odd:
        return ()
    some = ", ".join(repr(printable(name, 30)) for name in odd[:_TOLD]) + ", ..." * (len(odd) > _TOLD)
    return (f"names that Avro does not allow, so that many of its readers refuse the file: {some}",)


def _encoded(table: Any, codec: Codec, *, later: bool) -> Encoded:
    try:
        if (parts := text_parts(codec, table)) is not None:
            if later:
                return Encoded(b"", codec, into=partial(write_parts, codec, parts))
            return Encoded(_packed(b"".join(parts), codec), codec)
        if later and codec.library.write is not None:
            # What refuses a type refuses it here.
            codec.encode(table.slice(0, 1) if table.num_columns else table)
            return Encoded(b"", codec, into=partial(codec.write, table))
        return Encoded(codec.encode(table), codec)
    except (EncodeError, Unsupported) as error:
        cast = with_types_of_orc(table) if codec.format_id == "orc" else with_plain_types(table, codec)
        if cast is table:
            raise
        refused = error
    later = later and codec.library.write is not None
    try:
        data = codec.encode(cast.slice(0, 1) if later else cast)
    except (EncodeError, Unsupported) as again:
        raise (again if codec.format_id == "orc" else refused) from again
    notes = _of_types(table, cast)
    if later:
        return Encoded(b"", codec, notes=tuple(notes), into=partial(codec.write, cast))
    return Encoded(data, codec, notes=tuple(notes))


def _of_types(table: Any, cast: Any, how: str = "") -> list[str]:
    """Returns what to tell of columns that were cast."""
    return [
        f"{printable(now.name, 30)!r}: {was.type} is written as {now.type}{how}"
        for was, now in zip(table.schema, cast.schema, strict=True)
        if not was.type.equals(now.type)
    ]


def _packed(data: bytes, codec: Codec) -> bytes:
    if codec.compressor is None:
        return data
    return bytes(packed(data, codec.compressor, codec.level, codec.compressor_settings))


def _table_of(rows: list[Any]) -> tuple[Any, list[str]]:
    """Returns rows as a table of Arrow's, and what to tell of types that only their own format has."""
    try:
        return kinds.convert(rows, "arrow"), []
    except (EncodeError, Unsupported):
        told: dict[str, None] = {}
        plain = _plainer(rows, told, decimals=True)
        if not told:
            raise
        with contextlib.suppress(EncodeError, Unsupported):
            return kinds.convert(plain, "arrow"), list(told)
        told = {}
        plain = _plainer(rows, told, decimals=False)
        return kinds.convert(plain, "arrow"), list(told)


def _as_text(codec: Codec) -> Codec | None:
    """Returns the codec with ``default=text``; None if it has no such option, or has it."""
    if "default" not in codec.library.options or codec.options["default"] == "text":
        return None
    return _with(codec, {"default": "text"})


def _plainer(value: Any, told: dict[str, None], *, decimals: bool) -> Any:
    """Returns a copy in which scalars that only their own format has are text.

    Args:
        value: The document.
        told: Takes what to tell of their types.
        decimals: Whether decimals of BSON that are numbers become decimals instead.
    """
    if isinstance(value, dict):
        return {key: _plainer(item, told, decimals=decimals) for key, item in value.items()}
    if is_foreign(value):  # of which some are tuples
        name = type(value).__name__
        if decimals and name == "Decimal128" and (number := value.to_decimal()).is_finite():
            told[f"written as decimals: values of the type {name}"] = None
            return number
        told[f"written as text: values of the type {name}"] = None
        try:
            return as_text(value)
        except TypeError as error:  # of its type, some values have none
            raise EncodeError(str(error)) from error
    if isinstance(value, list | tuple):
        return [_plainer(item, told, decimals=decimals) for item in value]
    return value


@contextlib.contextmanager
def advising(
    name: str,
    value: Any,
    kind: str,
    codec: Codec,
    *,
    given: str | None,
    line_of: Callable[[int], int] | None,
    hint: str = "",
) -> Iterator[None]:
    """Names the source in what an encoder says, the part of it that is refused, and what to do.

    Args:
        name: What the source is called.
        value: The document or table.
        kind: Which of both it is.
        codec: The codec that encodes it.
        given: Its id as the user gave it; None if they did not.
        line_of: The line of the source, from 0, that an item stands in; None if it is not one value a line.
        hint: What to do first, where that is known.

    Raises:
        EncodeError, Unsupported, Limit: As the encoder's, with all that.
    """
    try:
        yield
    except Limit as error:
        said = str(error).rstrip(".")
        text = f"{printable(name)}: {said}. Nothing was written. {hint}Choose another --codec."
        raise Limit(text, format=error.format, path=error.path) from error
    except (EncodeError, Unsupported) as error:
        where, path, reason = "", error.path, str(error)
        tried = codec if _names_options(given) else _as_text(codec) or codec
        whole = codec.format.sequence and not isinstance(
            value, list
        )  # then it is the document that is refused
        look = kind == "document" and path is None and not whole
        part = refused.first_refused(tried, value) if look else None
        if part is not None:
            path = part[0]
            where = f", at {printable(path) or 'the top'} ({show(part[1], 40)})"
        table = value if kind == "table" else _as_table(value, codec)
        if table is not None and path is None and "column" not in str(error):
            path, where, reason = _refused_column(codec, table, reason, base64=not hint)
        if error.item is not None and line_of is not None:
            where += f", in line {line_of(error.item) + 1:,}"
        said = reason.rstrip(".")
        if kind == "document" and "document" not in codec.format.kinds and not is_rows(value):
            said = f"{codec.format_id} stores tables, and this document is not one: {said}"
        hint = hint[:1].upper() + hint[1:]
        text = f"{printable(name)}: {said}{where}. Nothing was written. {hint}{_advice(value, kind, codec, part)}"
        raise type(error)(text, format=error.format, path=path) from error


def _as_table(value: Any, codec: Codec) -> Any:
    """Returns rows as the table that a format of tables alone was to write; None if they are none."""
    if "document" in codec.format.kinds or not is_rows(value):
        return None
    with contextlib.suppress(TareError):
        return kinds.convert(value, "arrow")
    return None


def _refused_column(codec: Codec, table: Any, said: str, *, base64: bool) -> tuple[str | None, str, str]:
    """Returns the name of the column that is refused, what a message adds (it, its type and its row), and why it is.

    Args:
        codec: The codec that refused the table.
        table: The table.
        said: Why it did, which may be said of another column.
        base64: As of `encode`.
    """
    write = partial(_table, codec=codec, later=False, base64=base64)
    found = refused.first_refused_column(codec, table, write)
    if found is None:
        return None, "", said
    name, row = found
    said = refused.reason_of(write, table.select([table.column_names.index(name)])) or said
    said = _CAST.sub(r"\1 has no form in this format", said)
    kind = str(table.schema.types[table.column_names.index(name)])
    where = f", in column {printable(name)!r}" + f" ({printable(kind)})" * (kind not in said)
    return name, where if row is None else f"{where}, row {row + 1:,}", said


def _advice(value: Any, kind: str, codec: Codec, part: tuple[str, Any] | None) -> str:
    if kind == "table":
        return "Choose another --codec, or some --columns."
    able = next((other for other in _others(codec) if _takes(other, value)), None)
    if able is None and part is not None and isinstance(part[1], int) and codec.format_id != "cbor":
        return "Say --codec cbor, which holds integers of any length."
    return "Choose another --codec." if able is None else f"Say --codec {able}, which takes it."


def _others(codec: Codec) -> Iterator[Codec]:
    """Yields codecs of the same format that take more: by the same library, then by the others."""
    for library in (codec.library, *codec.format.libraries):
        if (
            not library.installed
            or not library.writes
            or library.executes_code
            or "document" not in library.native
        ):
            continue
        own = dict(codec.settings) if library is codec.library else {}
        for wanted in ({"default": "text"}, {"default": "text", "non_str_keys": True}):
            if wanted.keys() <= library.options.keys():
                settings = tuple(sorted({**own, **wanted}.items()))
                yield replace(codec, library_name=library.name, settings=settings)


def _takes(codec: Codec, value: Any) -> bool:
    try:
        codec.encode(value)
    except TareError:
        return False
    return True
