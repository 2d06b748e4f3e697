"""Columns of arrays of objects as NumPy and Arrow arrays, without a copy where they lie packed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tare.errors import EncodeError, Unsupported, UsageError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from tare._tare import BlitChunk, BlitListView

__all__ = ["Column", "table"]


class Column:
    """One value of every element of an array: a name, or a JSON pointer.

    Args:
        rows: The array.
        path: A name, if the first element has it; else a pointer, with ``""`` for the elements themselves; or a
            list of names.

    Raises:
        UsageError: A pointer that is none, or a name that no element has.

    >>> from tare import blit
    >>> flights = blit.view(blit.encode([{"delay": 300, "to": "JFK"}, {"delay": -1200, "to": None}]))
    >>> flights.column("delay").to_numpy()
    array([  300, -1200], dtype=int16)
    >>> flights.column("/to").to_list()
    ['JFK', None]
    """

    def __init__(self, rows: BlitListView, path: object) -> None:
        self._rows = rows
        self._names = path if isinstance(path, list) else _steps(rows, str(path))
        self.name = "/".join(self._names)
        self._chunks = rows.chunks(self._names)
        if self._chunks is None and self._names and not any(self._has(row) for row in rows):
            raise UsageError(f"no element has {path!r:.80}", format="blit")

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.to_list())

    def __repr__(self) -> str:
        return f"Column({self.name!r:.80}, {len(self)} values, {'+'.join(self.kinds) or 'by rows'})"

    @property
    def kinds(self) -> list[str]:
        """The kinds of list that it lies in, one for each segment; none where it lies row by row."""
        return [chunk.kind for chunk in self._chunks or []]

    def to_list(self) -> list[Any]:
        """Python objects; None where the value is missing."""
        if self._chunks is None:
            return [self._at(row) for row in self._rows]
        return [value for chunk in self._chunks for value in chunk.to_list()]

    def to_numpy(
        self, copy: bool | None = None, *, masked: bool = False, nan: bool = False
    ) -> np.ndarray[Any, Any]:
        """An array of numbers or truth values; of objects for anything else.

        Args:
            copy: False to have no copy or an error, True to have one; None copies where it must. Floats, and
                integers of 1, 2, 4 or 8 bytes without a base, lie as NumPy has them: the array is read-only
                then, and keeps the document.
            masked: Missing values give a masked array.
            nan: Missing values become NaN, and integers floats.

        Raises:
            EncodeError: Values are missing, and nobody said what becomes of them.
            Unsupported: ``copy=False``, but the values lie otherwise.
        """
        import numpy as np

        chunks = self._chunks or []
        if copy is not True and len(chunks) == 1 and (packed := chunks[0].packed()) is not None:
            dtype, offset = packed
            values = np.frombuffer(memoryview(chunks[0]), dtype, len(self), offset)
            return np.ma.MaskedArray(values) if masked else values
        if copy is False:
            raise Unsupported(
                f"column {self.name!r:.80}: its values lie as {self.kinds}, not as NumPy has them"
            )
        parts = [part for chunk in chunks if (part := _numbers(chunk)) is not None]
        if not parts or len(parts) < len(chunks):
            return self._objects(masked=masked)
        values = np.concatenate([values for values, _ in parts])
        present = np.concatenate([present for _, present in parts])
        if present.all():
            return np.ma.MaskedArray(values) if masked else values
        if masked:
            return np.ma.MaskedArray(values, ~present)
        if nan:
            return np.where(present, values.astype(float), np.nan)
        missing = int((~present).sum())
        text = (
            f"column {self.name!r:.80}: {missing} of {len(self)} values are missing; masked=True or nan=True"
        )
        raise EncodeError(text, format="blit", path=self.name)

    def to_arrow(self) -> pa.Array[Any] | pa.ChunkedArray[Any]:
        """An Arrow array; of several segments, a chunked one.

        Strings that are stored once become a dictionary; objects become structs, arrays lists.

        Raises:
            Unsupported: Values of kinds that no Arrow column has together.
        """
        import pyarrow as pa

        if self._chunks is None:
            return self._inferred(self.to_list())
        if not self._chunks:
            return pa.nulls(0)
        arrays = [self._arrow(chunk) for chunk in self._chunks]
        if len(arrays) == 1:
            return arrays[0]
        if len({array.type for array in arrays}) > 1:
            return self._inferred(self.to_list())
        return pa.chunked_array(arrays)

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        import pyarrow as pa

        array = self.to_arrow()
        whole = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        return whole.__arrow_c_array__(requested_schema)

    def _has(self, row: Any) -> bool:
        missing = object()
        return self._at(row, missing) is not missing

    def _at(self, row: Any, default: object = None) -> Any:
        from tare._tare import BlitObjectView, BlitView

        for name in self._names:
            if not isinstance(row, BlitObjectView) or name not in row:
                return default
            row = row[name]
        return row.to_python() if isinstance(row, BlitView) else row

    def _objects(self, *, masked: bool) -> np.ndarray[Any, Any]:
        import numpy as np

        values = self.to_list()
        array = np.empty(len(values), object)
        array[:] = values
        return np.ma.MaskedArray(array, [value is None for value in values]) if masked else array

    def _inferred(self, values: list[Any]) -> pa.Array[Any]:
        import pyarrow as pa

        try:
            array: pa.Array[Any] = pa.array(values)
        except (pa.ArrowException, OverflowError, TypeError) as error:
            raise Unsupported(
                f"column {self.name!r:.80} has values of several kinds: {str(error)[:200]}",
                format="blit",
                path=self.name,
            ) from error
        return array

    def _arrow(self, chunk: BlitChunk) -> pa.Array[Any]:
        import numpy as np
        import pyarrow as pa

        codes = chunk.codes()
        if codes is not None and codes[0] in {1, 2, 4}:
            width, offset, unique = codes
            indices = _fixed(np.dtype(f"<u{width}"), chunk, offset)
            return pa.DictionaryArray.from_arrays(indices, self._arrow(unique))
        packed = chunk.packed()
        if packed is not None:
            return _fixed(np.dtype(packed[0]), chunk, packed[1])
        numbers = chunk.numbers()
        if numbers is not None:
            array: pa.Array[Any] = pa.array(np.frombuffer(numbers[1], numbers[0]))
            return array
        texts = chunk.texts()
        if texts is not None:
            offsets, start, end = texts
            text = pa.py_buffer(memoryview(chunk))[start:end]
            return pa.Array.from_buffers(pa.string(), len(chunk), [None, pa.py_buffer(offsets), text])
        return self._inferred(chunk.to_list())


def table(rows: BlitListView) -> pa.Table:
    """All elements of an array of objects as a table; segments are its chunks.

    Raises:
        Unsupported: The elements are no objects, or a column's values are of several kinds.
    """
    import pyarrow as pa

    known = rows.names()
    names: dict[str, None] = dict.fromkeys(known or [])
    for row in rows if known is None else []:
        if not hasattr(row, "keys"):
            raise Unsupported("a table is made of an array of objects", format="blit")
        names.update(dict.fromkeys(row))
    columns: dict[str, Any] = {name: Column(rows, [name]).to_arrow() for name in names}
    return pa.table(columns)


def _steps(rows: BlitListView, path: str) -> list[str]:
    """The names that a path is: one, if an element has it; else those of a pointer."""
    if path and not path.startswith("/"):
        return [path]
    if path and len(rows) and hasattr(rows[0], "keys") and path in rows[0]:
        return [path]
    from tare._tare import BlitPath

    BlitPath(path)  # checks it
    return [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]


def _numbers(chunk: BlitChunk) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None:
    """Numbers and which of them are there; None of other values."""
    import numpy as np

    gaps = chunk.present()
    found = (chunk if gaps is None else gaps[1]).numbers()
    if found is None:
        return None
    values = np.frombuffer(found[1], found[0])
    if gaps is None:
        return values, np.ones(len(chunk), bool)
    present = np.unpackbits(np.frombuffer(gaps[0], np.uint8), count=len(chunk), bitorder="little").astype(
        bool
    )
    spread = np.zeros(len(chunk), values.dtype)
    spread[present] = values
    return spread, present


def _fixed(dtype: np.dtype[Any], chunk: BlitChunk, offset: int) -> pa.Array[Any]:
    """Numbers where they lie; copied where they lie at no multiple of their width, which Arrow needs."""
    import pyarrow as pa

    n = len(chunk)
    data = pa.py_buffer(memoryview(chunk))[offset : offset + n * dtype.itemsize]
    if data.address % dtype.itemsize:
        data = pa.py_buffer(data.to_pybytes())
    return pa.Array.from_buffers(pa.from_numpy_dtype(dtype), n, [None, data])
