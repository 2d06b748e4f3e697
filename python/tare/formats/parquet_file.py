"""Opens Parquet files with pyarrow, so that moments of the type INT96 are read in a unit that holds them all. Not a format.

INT96 is a day and the nanoseconds of it: it holds years that 64 bits of nanoseconds do not, and Arrow reads those as other
years without a word. Which unit is exact only the values tell: statistics of such columns are seldom written, and may lie.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tare.errors import Unsupported

if TYPE_CHECKING:
    import numpy as np
    import pyarrow.parquet as pq

__all__ = ["int96_paths", "open_parquet"]

_ROWS = 65_536
_IN_A_SECOND = {"ns": 1_000_000_000, "us": 1_000_000, "ms": 1_000, "s": 1}
_SAFE_S = (-(2**63) // 10**9 + 1, 2**63 // 10**9 - 1)  # whole seconds of which nanoseconds have 64 bits


def open_parquet(
    source: Any, *, columns: Sequence[str] | None = None, page_checksum_verification: bool = False
) -> pq.ParquetFile:
    """Returns a Parquet file that is open, its footer read.

    If it has INT96 columns they are read once more, to choose their unit.

    Args:
        source: A path, or a file of Arrow's or Python's that can be read anywhere.
        columns: Names of the columns that will be read; None for all. One unit has to hold the moments of these.
        page_checksum_verification: Whether the checksums of pages are looked at.

    Raises:
        Unsupported: Some moments lie beyond the years that nanoseconds reach, and others need nanoseconds.
    """
    from pyarrow import parquet

    file = parquet.ParquetFile(source, page_checksum_verification=page_checksum_verification)
    paths = int96_paths(file.metadata, columns)
    if not paths:
        return file
    try:
        unit = _exact_unit(source, file.metadata, paths)
    except BaseException:
        file.close()
        raise
    if unit == "ns":
        return file
    file.close()
    return parquet.ParquetFile(
        source,
        metadata=file.metadata,
        coerce_int96_timestamp_unit=unit,
        page_checksum_verification=page_checksum_verification,
    )


def int96_paths(metadata: pq.FileMetaData, columns: Sequence[str] | None = None) -> list[str]:
    """Returns the paths of INT96 columns, of those at or below some names."""
    schema = metadata.schema
    leaves = (schema.column(at) for at in range(len(schema)))
    paths = [leaf.path for leaf in leaves if leaf.physical_type == "INT96"]
    if columns is None:
        return paths
    return [path for path in paths if any(path == name or path.startswith(f"{name}.") for name in columns)]


def _exact_unit(source: Any, metadata: pq.FileMetaData, paths: list[str]) -> str:
    """Returns the finest unit that changes no moment of these columns."""
    first, last = _SAFE_S
    if all(((first <= part) & (part <= last)).all() for part in _read(source, metadata, paths, "s")):
        return "ns"
    exact = dict.fromkeys(_IN_A_SECOND, True)
    units = [_read(source, metadata, paths, unit) for unit in exact]
    for parts in zip(*units, strict=True):
        nanoseconds, seconds = parts[0], parts[-1]
        for (unit, each), part in zip(_IN_A_SECOND.items(), parts, strict=True):
            # What did not fit has other seconds; what was finer has, beyond 64 bits too, other nanoseconds.
            same = (part // each == seconds) & (part * (10**9 // each) == nanoseconds)
            exact[unit] &= bool(same.all())
    found = next((unit for unit, fits in exact.items() if fits), None)
    if found is None:
        raise Unsupported(
            f"no unit of 64 bits holds the INT96 moments of {', '.join(paths)[:80]!r} together: some lie beyond the years 1677 "
            "to 2262, and some have nanoseconds. Read columns with such moments apart from the others (columns, --columns)",
            format="parquet",
        )
    return found


def _read(source: Any, metadata: pq.FileMetaData, paths: list[str], unit: str) -> Iterator[np.ndarray]:
    """Yields the moments of columns as numbers of units, part by part."""
    import pyarrow as pa
    from pyarrow import parquet

    with parquet.ParquetFile(source, metadata=metadata, coerce_int96_timestamp_unit=unit) as file:
        for batch in file.iter_batches(_ROWS, columns=paths):
            for column in batch.columns:
                for moments in _moments(column):
                    yield moments.drop_null().cast(pa.int64()).to_numpy()


def _moments(array: Any) -> Iterator[Any]:
    """Yields the moments in an array, at whatever depth."""
    import pyarrow as pa

    if pa.types.is_timestamp(array.type):
        yield array
    elif pa.types.is_struct(array.type):
        for child in array.flatten():
            yield from _moments(child)
    elif pa.types.is_nested(array.type):
        yield from _moments(array.flatten())
