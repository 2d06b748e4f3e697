"""Arrow IPC, file (Feather version 2) and stream, as defined in https://arrow.apache.org/docs/format/IPC.html."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

from tare.categories import has_levels, one_dictionary
from tare.formats.base import Buffer, Format, Option, Stream
from tare.formats.columnar import (
    CHUNK_ROWS,
    batches,
    check_values,
    join,
    levels,
    plain_name,
    polars_library,
    pyarrow_library,
    run_of_rows,
    written,
)

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

__all__ = ["FORMAT"]

_MAGIC = b"ARROW1"
_CONTINUED = b"\xff\xff\xff\xff"  # opens every message of the stream layout
_COMPRESSION = Option(
    "none", ("none", "lz4", "zstd"), "Compression of the column buffers; `none` can be mapped."
)
_LEVEL = Option(None, (), "Level of zstd; unset = Arrow's default, 1.", "int")
_LAYOUT = Option("file", ("file", "stream"), "With a footer that finds any batch, or in order only.")


def _ipc_options(compression: Any, level: int | None) -> Any:
    import pyarrow as pa
    from pyarrow import ipc

    codec = None if compression == "none" else pa.Codec(compression, compression_level=level)
    return ipc.IpcWriteOptions(compression=codec)


def _encode_pyarrow(obj: pa.Table, *, compression: str, layout: str, level: int | None) -> bytes:
    return written(partial(_into_pyarrow, obj, compression=compression, layout=layout, level=level))


def _into_pyarrow(obj: pa.Table, sink: Any, *, compression: str, layout: str, level: int | None) -> None:
    from pyarrow import ipc

    new = ipc.new_file if layout == "file" else ipc.new_stream
    if layout == "file":  # which has room for one dictionary of a column, a stream for many
        obj = one_dictionary(obj)
    with new(sink, obj.schema, options=_ipc_options(compression, level)) as writer:
        _write_batches(writer, obj)


def _write_batches(writer: Any, table: pa.Table, most_rows: int | None = None) -> None:
    """Writes a table; without rows as one batch if it has categories, whose levels stand in a batch alone."""
    import pyarrow as pa

    if table.num_rows or not any(map(has_levels, table.schema.types)):
        writer.write_table(table, max_chunksize=most_rows)
        return
    columns = [column.combine_chunks() for column in table.columns]
    writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=table.schema))


def _decode_pyarrow(data: Buffer, *, compression: str, layout: str, level: int | None) -> pa.Table:
    # Of compressed columns only what did not get smaller lies in the bytes, which nobody can change.
    kept = compression != "none" and isinstance(data, bytes)
    return _read_pyarrow(data if kept else _own(data), None)


def _subset_pyarrow(
    data: Buffer, columns: list[str], *, compression: str, layout: str, level: int | None
) -> pa.Table:
    return _read_pyarrow(data, columns)


def _rows_pyarrow(data: Buffer, start: int, count: int, **options: Any) -> pa.Table:
    """Those rows, copied out: of uncompressed bytes nothing else is touched."""
    import pyarrow as pa

    part = run_of_rows([_read_pyarrow(data, None)], start, count)
    if not part.num_columns:
        return part
    # Batch by batch: those of a stream may have levels of their own, which taking from all joins in order of appearance.
    copied = [batch.take(pa.array(range(len(batch)), pa.int64())) for batch in part.to_batches()]
    return pa.Table.from_batches(copied, part.schema)


def _open_pyarrow(data: Buffer, **options: Any) -> pa.Table:
    """A table whose uncompressed columns lie in ``data`` itself: nothing is copied."""
    return _read_pyarrow(data, None)


def _read_file(path: str) -> pa.Table:
    """A table whose uncompressed columns lie where the file was read to, which is theirs alone."""
    import pyarrow as pa

    with pa.OSFile(path, "rb") as file:
        return _read_pyarrow(file.read_buffer(), None)


def _subset_file(path: str, columns: list[str]) -> pa.Table:
    """The columns, read from where they lie in the file."""
    import pyarrow as pa

    with pa.OSFile(path, "rb") as file:
        return _read_columns(file, columns)


def _check(data: Buffer) -> None:
    """Look at every offset and text: readers take them as they are, and their users would crash."""
    check_values(_read_pyarrow(data, None))


def _own(data: Buffer) -> pa.Buffer:
    """A copy, so that what is read from it is a value of its own and not a view of the encoded bytes."""
    import pyarrow as pa

    buffer = pa.allocate_buffer(len(data))
    pa.FixedSizeBufferWriter(buffer).write(data)
    return buffer


def _read_pyarrow(data: Buffer | pa.Buffer, columns: list[str] | None) -> pa.Table:
    import pyarrow as pa

    source = pa.py_buffer(data)
    if columns is not None:
        return _read_columns(pa.BufferReader(source), columns)
    with _opening(source[: len(_MAGIC)].to_pybytes())(source) as reader:
        table: pa.Table = reader.read_all()
    return table


def _read_columns(source: pa.NativeFile, columns: list[str]) -> pa.Table:
    from pyarrow import ipc

    new = _opening(source.read(len(_MAGIC)))
    source.seek(0)
    with new(source) as reader:
        places = [reader.schema.get_field_index(name) for name in columns]
    source.seek(0)
    with new(source, options=ipc.IpcReadOptions(included_fields=places)) as reader:
        table: pa.Table = reader.read_all()
    return table.select(columns)


def _opening(head: bytes) -> Any:
    """What opens bytes that begin so: a file, or a stream."""
    from pyarrow import ipc

    return ipc.open_file if head == _MAGIC else ipc.open_stream


def _write_pyarrow(obj: pa.Table, file: Any, *, compression: str, layout: str, level: int | None) -> None:
    from pyarrow import ipc

    with ipc.new_stream(file, obj.schema, options=_ipc_options(compression, level)) as writer:
        _write_batches(writer, obj, CHUNK_ROWS)


def _read_stream(file: Any, *, compression: str, layout: str, level: int | None) -> Iterator[pa.Table]:
    from pyarrow import ipc

    with ipc.open_stream(file) as reader:
        yield from batches(reader)


def _encode_polars(obj: pl.DataFrame, *, compression: Any, layout: str) -> bytes:
    file = BytesIO()
    name: Any = plain_name(compression)
    if layout == "file":
        obj.write_ipc(file, compression=name)
    else:
        obj.write_ipc_stream(file, compression=name)
    return file.getvalue()


def _decode_polars(data: Buffer, *, compression: str, layout: str) -> pl.DataFrame:
    return _read_polars(data, None)


def _subset_polars(data: Buffer, columns: list[str], *, compression: str, layout: str) -> pl.DataFrame:
    return _read_polars(data, columns)


def _read_polars(data: Buffer, columns: list[str] | None) -> pl.DataFrame:
    import polars as pl

    if bytes(data[: len(_MAGIC)]) == _MAGIC:
        return pl.read_ipc(BytesIO(data), columns=columns)
    return pl.read_ipc_stream(BytesIO(data), columns=columns)


def _rows_polars(data: Buffer, start: int, count: int, **options: Any) -> pl.DataFrame:
    import polars as pl

    if bytes(data[: len(_MAGIC)]) == _MAGIC:
        return pl.scan_ipc(BytesIO(data)).slice(start, count).collect()
    return pl.read_ipc_stream(BytesIO(data), n_rows=start + count).slice(start, count)


_VARIANTS: tuple[dict[str, object], ...] = ({}, {"compression": "lz4"}, {"compression": "zstd"})

FORMAT = Format(
    id="arrow",
    title="Arrow IPC",
    extensions=(".arrow", ".feather", ".ipc", ".arrows"),
    extension_options={".arrows": {"layout": "stream"}},
    kinds=frozenset({"table"}),
    magic=(_MAGIC,),
    spec="https://arrow.apache.org/docs/format/IPC.html",
    languages=("c++", "csharp", "go", "java", "javascript", "julia", "python", "r", "ruby", "rust", "swift"),
    subset=("columns", "rows"),
    sniff=lambda head: head.startswith(_CONTINUED),
    libraries=(
        pyarrow_library(
            encode=_encode_pyarrow,
            decode=_decode_pyarrow,
            options={"compression": _COMPRESSION, "layout": _LAYOUT, "level": _LEVEL},
            variants={"table": _VARIANTS},
            resolve=levels({"zstd": 1}),
            write=_into_pyarrow,
            stream=Stream(_write_pyarrow, _read_stream, join),
            subset=_subset_pyarrow,
            subset_file=_subset_file,
            rows=_rows_pyarrow,
            open=_open_pyarrow,
            check=_check,
            copies={"compression": "none"},
            read_file=_read_file,
            notes=(
                "Reading copies the bytes once, so that the table does not hang on them; `open` does not.",
            ),
        ),
        polars_library(
            encode=_encode_polars,
            decode=_decode_polars,
            options={"compression": _COMPRESSION, "layout": _LAYOUT},
            variants={"table": _VARIANTS[:2]},
            subset=_subset_polars,
            rows=_rows_polars,
            check=_check,
        ),
    ),
)
