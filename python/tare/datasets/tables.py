"""Tables from binary files: Parquet, Arrow, ORC; the part that fits in memory when the whole does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tare import child_process, formats
from tare.datasets import recognise
from tare.datasets.invalid_texts import check_texts
from tare.datasets.source import Source, printable
from tare.errors import ChecksumMismatch, Limit, Malformed, TareError, Truncated, Unsupported, UsageError
from tare.formats import parquet_footer
from tare.formats.columnar import check_names, check_values, read_groups
from tare.formats.parquet_file import open_parquet
from tare.frames import bytes_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "arrow_errors",
    "check_columns",
    "encrypted_ones",
    "ends_with",
    "load_arrow",
    "load_orc",
    "load_parquet",
    "places_of",
    "random_access",
    "spread",
]

# Rows taken at a time when the first rows are all that fits.
_BATCH_ROWS = 16_384
_AGAIN = "Fetch or write it again"
_SHOWN = 5
_HOW_FAR = "`tare inspect` says how far it is readable."
Part = dict[str, Any] | None


def load_parquet(
    source: Source, *, max_bytes: int | None, columns: list[str] | None
) -> tuple[pa.Table, Part]:
    """Read a Parquet file, or row groups spread over it that fit in `max_bytes`.

    Returns:
        The table, and which part it is: None for the whole.

    Raises:
        Truncated, Malformed: The footer or a page is missing or damaged, or a text is not UTF-8.
    """
    ends_with(source, b"PAR1", least=12)
    with (
        arrow_errors(source),
        random_access(source) as file,
        open_parquet(file, columns=columns, page_checksum_verification=True) as parquet,
    ):
        meta = parquet.metadata
        check_names(parquet.schema_arrow)
        check_columns(source, parquet.schema_arrow.names, columns)
        if max_bytes is None or meta.num_row_groups == 0:
            return check_texts(source, read_groups(parquet, columns=columns)), None
        groups = [meta.row_group(k).num_rows for k in range(meta.num_row_groups)]
        batches = _first_rows(parquet.iter_batches(_BATCH_ROWS, [0], columns), max_bytes)
        first = _table(batches, parquet.schema_arrow if columns is None else None)
        per_row = bytes_of(first) / max(first.num_rows, 1)
        if first.num_rows < groups[0]:
            return check_texts(source, first), _part("first rows", first.num_rows, meta.num_rows, source)
        if per_row * meta.num_rows <= max_bytes:
            return check_texts(source, read_groups(parquet, columns=columns)), None
        chosen = spread(groups, int(max_bytes / max(per_row, 1e-9)))
        table = check_texts(source, read_groups(parquet, chosen, columns))
        return table, _part("row groups", table.num_rows, meta.num_rows, source)


def load_arrow(source: Source, *, max_bytes: int | None, columns: list[str] | None) -> tuple[pa.Table, Part]:
    """Read an Arrow IPC file or stream, or record batches spread over it that fit in `max_bytes`.

    Returns:
        The table, and which part it is: None for the whole.

    Raises:
        Truncated, Malformed: A message is missing or damaged.
    """
    from pyarrow import ipc

    with arrow_errors(source), random_access(source) as file:
        if not source.head.startswith(b"ARROW1"):
            table, part = _stream(source, ipc.open_stream(file), max_bytes)
        else:
            ends_with(source, b"ARROW1", least=16)
            reader = ipc.open_file(file)
            table, part = _batches(source, reader, max_bytes)
        check_names(table.schema)
        if columns is not None:
            table = table.select(places_of(source, table.schema, columns))
        check_values(table)  # offsets and text of a foreign file are not to be trusted
        return table, part


def load_orc(source: Source, *, max_bytes: int | None, columns: list[str] | None) -> tuple[pa.Table, Part]:
    """Read an ORC file, or stripes spread over it that fit in `max_bytes`, in a process that may crash.

    Raises:
        Truncated, Malformed: The file's end or a stripe is missing or damaged.
    """
    plain = source.path if source.path is not None and not source.compressors else source.read()[0]
    with arrow_errors(source):
        table, said = child_process.read_table("load_orc", plain, columns=columns, max_bytes=max_bytes)
    check_columns(source, said["names"], columns)
    return table, None if said["whole"] else _part("stripes", table.num_rows, said["rows"], source)


def _stream(source: Source, reader: Any, max_bytes: int | None) -> tuple[Any, Part]:
    if max_bytes is None:
        return reader.read_all(), None
    batches = _first_rows(reader, max_bytes)
    table = _table(batches, reader.schema)
    rest = next(iter(reader), None)
    if rest is None:
        return table, None
    return table, _part("first rows", table.num_rows, None, source, share=max_bytes / max(source.size, 1))


def _batches(source: Source, reader: Any, max_bytes: int | None) -> tuple[Any, Part]:
    count = reader.num_record_batches
    if max_bytes is None or count == 0:
        return reader.read_all(), None
    first = reader.get_batch(0)
    first.validate(full=True)  # Arrow crashes at counting what is not valid
    if bytes_of(first) > max_bytes:
        rows = max(int(first.num_rows * max_bytes / bytes_of(first)), 1)
        total = first.num_rows * count
        return _table([first.slice(0, rows)], reader.schema), _part("first rows", rows, total, source)
    if bytes_of(first) * count <= max_bytes:
        return reader.read_all(), None
    chosen = spread([1] * count, max(int(max_bytes / max(bytes_of(first), 1)), 1))
    table = _table([reader.get_batch(k) for k in chosen], reader.schema)
    return table, _part("row groups", table.num_rows, None, source, share=len(chosen) / count)


def _first_rows(batches: Any, max_bytes: int) -> list[Any]:
    """Batches from the front while they fit, at least one row."""
    taken: list[Any] = []
    room = max_bytes
    for batch in batches:
        batch.validate(full=True)  # as above
        if bytes_of(batch) > room:
            rows = max(int(batch.num_rows * room / max(bytes_of(batch), 1)), 0 if taken else 1)
            if rows:
                taken.append(batch.slice(0, rows))
            break
        taken.append(batch)
        room -= bytes_of(batch)
    return taken


def spread(sizes: list[int], room: int) -> list[int]:
    """Returns indices spread evenly from first to last, their sizes together at most `room`; at least the first."""
    mean = sum(sizes) / len(sizes)
    count = max(1, min(len(sizes), int(room / max(mean, 1e-9))))
    while count > 1:
        chosen = sorted({round(k * (len(sizes) - 1) / (count - 1)) for k in range(count)})
        if sum(sizes[k] for k in chosen) <= room:
            return chosen
        count -= 1
    return [0]


def _part(
    rule: str, rows: int, total: int | None, source: Source, share: float | None = None
) -> dict[str, Any]:
    share = rows / total if total else min(share or 1.0, 1.0)
    return {
        "rule": rule,
        "share": share,
        "rows_total": total if total is not None else round(rows / max(share, 1e-9)),
        "estimated": total is None,
    }


def _table(batches: list[Any], schema: Any) -> Any:
    import pyarrow as pa

    if not batches:
        return schema.empty_table()
    return pa.Table.from_batches(batches, schema=None if schema is None else batches[0].schema)


def check_columns(source: Source | None, names: Sequence[object], columns: Sequence[str] | None) -> None:
    """Refuse a column that is not there.

    Args:
        source: The file; None if whoever asks names it.
        names: What it has; keys of a document may be no text.
        columns: What was asked for; None for all.

    Raises:
        UsageError: One of them is not there.
    """
    missing = next((name for name in columns or () if name not in names), None)
    if missing is None:
        return
    what = f"it has no column {printable(missing, 40)!a}"
    advice = f"It has {printable(', '.join(map(_name_of, names)), 200) or 'none'}."
    raise UsageError(f"{what}. {advice}") if source is None else source.error(UsageError, what, advice=advice)


def _name_of(key: object) -> str:
    return key if isinstance(key, str) else f"{str(key)[:40]} ({type(key).__name__})"


def places_of(source: Source | None, schema: pa.Schema, columns: Sequence[str]) -> list[int]:
    """Where the columns stand that were asked for, all of a name that several have.

    Raises:
        UsageError: One of them is not there.
    """
    check_columns(source, schema.names, columns)
    return [place for name in columns for place in schema.get_all_field_indices(name)]


def random_access(source: Source) -> Any:
    """The plain bytes as an Arrow file that can be read anywhere."""
    import pyarrow as pa

    if source.path is not None and not source.compressors:
        return pa.OSFile(source.path, "rb")
    return pa.BufferReader(source.read()[0])


def ends_with(source: Source, magic: bytes, *, least: int, advice: str = f"{_AGAIN}.") -> None:
    """Refuse a file whose last bytes are not the closing magic: it was cut, or is something else.

    Raises:
        Malformed: It does not begin with the magic either.
        Truncated: The magic is not there; the offset is where the file ends.
    """
    if not source.head.startswith(magic[:3]):
        found = recognise.tell(source.head, None)[0]
        is_other = (
            f"; by its bytes it is {formats.get(found).title}" if found not in (None, source.format) else ""
        )
        raise source.error(
            Malformed,
            f"it does not begin with {magic.decode()}, as {formats.get(source.format).title} does{is_other}",
            advice="Name its own format, or none: then its bytes tell.",
        )
    if source.compressors or source.path is None:
        data = source.read()[0]
        size, end = len(data), data[-len(magic) :]
    else:
        with source.open() as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - len(magic)))
            end = file.read()
    if size < least or end != magic:
        raise source.error(
            Truncated,
            f"it starts as {source.format} but does not end with {magic.decode()}: the end of the file is missing",
            offset=size,
            advice=advice,
        )


def encrypted_ones(source: Source) -> str:
    """Returns the encrypted columns of a Parquet file with the verb behind them, as its footer tells them."""
    with random_access(source) as file:
        paths = [repr(printable(path, 60)) for path in parquet_footer.encrypted_columns(file)]
    if not paths:
        return "a column is"
    shown = ", ".join(paths[:_SHOWN]) + (f" and {len(paths) - _SHOWN:,} more" if len(paths) > _SHOWN else "")
    return f"the columns {shown} are" if len(paths) > 1 else f"the column {shown} is"


class arrow_errors:  # noqa: N801 - it is used as a statement
    """Turns Arrow's errors into ours: with the file's name, short, and with what to do.

    Args:
        source: The file.
        advice: What to do with a damaged one.
    """

    def __init__(self, source: Source, advice: str = f"{_AGAIN}; {_HOW_FAR}") -> None:
        self.source = source
        self.advice = advice

    def __enter__(self) -> None:
        return None

    def __exit__(self, _type: object, error: BaseException | None, _trace: object) -> None:
        import pyarrow as pa

        if error is None or isinstance(error, TareError):
            return
        text = printable(str(error).split("\n")[0], 160).rstrip(". ")
        if isinstance(error, UnicodeDecodeError):  # of names: texts are looked at
            text = f"a name in its schema is not UTF-8 ({printable(repr(error.object[:40]))})"
        if isinstance(error, pa.ArrowMemoryError | MemoryError):
            raise self.source.error(
                Limit, f"it asks for more memory than there is ({text})", advice=self.advice
            ) from error
        if "decrypt" in text.lower():
            raise self.source.error(
                Unsupported,
                f"{encrypted_ones(self.source)} encrypted, and Tare has no keys ({text})",
                advice="Read its other columns (columns, --columns), or all with the tool that wrote it.",
            ) from error
        if "out of range for nanosecond resolution" in text:  # of ORC, whose moments reach further
            raise self.source.error(
                Unsupported,
                f"a moment lies beyond the years 1677 to 2262, which its reader holds ({text})",
                advice="Read its other columns (columns, --columns), or all with the tool that wrote it.",
            ) from error
        if isinstance(error, pa.ArrowNotImplementedError):
            raise self.source.error(
                Unsupported, text, advice="Read it with the tool that wrote it."
            ) from error
        if isinstance(error, pa.ArrowException | OSError | ValueError | KeyError | EOFError | OverflowError):
            if (
                isinstance(error, OSError)
                and error.errno is not None
                and not isinstance(error, pa.ArrowException)
            ):
                return  # the operating system's own
            cut = any(
                word in text.lower()
                for word in ("end of", "truncat", "eof", "fewer", "expected to be able to read")
            )
            kind = ChecksumMismatch if "checksum" in text.lower() else Truncated if cut else Malformed
            raise self.source.error(kind, text, advice=self.advice) from error
