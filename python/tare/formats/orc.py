"""Apache ORC, as defined in https://orc.apache.org/specification/ORCv1/."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare.formats.base import Buffer, Format, Library, Option
from tare.formats.columnar import batches, naming_column, need_columns, plain_name, run_of_rows, written

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FORMAT"]

_COMPRESSION = Option("none", ("none", "snappy", "zlib", "lz4", "zstd"), "Compression of the stripes.")


def _encode(obj: pa.Table, *, compression: str) -> bytes:
    from pyarrow import orc

    need_columns(obj)  # Arrow's writer crashes
    _refuse_scales(obj.schema)
    name: Any = plain_name(compression)
    with naming_column(obj.schema):
        return written(lambda sink: orc.write_table(obj, sink, compression=name))


def _refuse_scales(schema: pa.Schema) -> None:
    """Refuse decimals of a negative scale, at which Arrow's writer ends the process."""
    odd = next((field for field in schema if _has_negative_scale(field.type)), None)
    if odd is not None:
        raise TypeError(f"column {odd.name[:80]!r}: ORC has no decimals of a negative scale ({odd.type})")


def _has_negative_scale(kind: Any) -> bool:
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        return _has_negative_scale(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _has_negative_scale(kind.value_type)
    if pa.types.is_decimal(kind):
        return bool(kind.scale < 0)
    return any(_has_negative_scale(kind.field(at).type) for at in range(kind.num_fields))


def _decode(data: Buffer, *, compression: str) -> pa.Table:
    return _read(data, None)


def _subset(data: Buffer, columns: list[str], *, compression: str) -> pa.Table:
    return _read(data, columns)


def _rows(data: Buffer, start: int, count: int, *, compression: str) -> pa.Table:
    """Those rows; the stripes before them are read too, because only a stripe says how long it is."""
    import pyarrow as pa
    from pyarrow import orc

    file = orc.ORCFile(pa.BufferReader(data))
    return run_of_rows(batches(map(file.read_stripe, range(file.nstripes))), start, count)


def _read(data: Buffer, columns: list[str] | None) -> pa.Table:
    import pyarrow as pa
    from pyarrow import orc

    table = orc.ORCFile(pa.BufferReader(data)).read(columns=columns)
    return table if columns is None else table.select(columns)  # ORC keeps the order of the file


FORMAT = Format(
    id="orc",
    title="ORC",
    extensions=(".orc",),
    kinds=frozenset({"table"}),
    magic=(b"ORC",),
    spec="https://orc.apache.org/specification/ORCv1/",
    languages=("c++", "go", "java", "python", "rust"),
    subset=("columns", "rows"),
    libraries=(
        Library(
            name="pyarrow",
            native={"table": "arrow"},
            encode=_encode,
            decode=_decode,
            modules=("pyarrow",),
            distribution="pyarrow",
            options={"compression": _COMPRESSION},
            variants={"table": ({"compression": "zstd"},)},
            subset=_subset,
            rows=_rows,
            crashes=True,
            notes=(
                "Damaged bytes can crash it: unless trusted they are read in a process of their own, which dies alone.",
            ),
        ),
    ),
)
