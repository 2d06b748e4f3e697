"""Columns of arrays of objects as NumPy and Arrow arrays, without a copy where they lie packed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import TYPE_CHECKING, Any, overload

from tare.errors import EncodeError, Limit, Malformed, Unsupported, UsageError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from tare._tare import BlitChunk, BlitListView, BlitPath

    _Part = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]
    """Numbers, and which of them are there."""

__all__ = ["Column", "table"]

_EXACT = 2**53
"""Integers up to here are the same as floats."""
_MOST = 2**28
"""Values that are made at most: a few bytes can say any number of them."""
_ANY = {"EMPTY", "GENERIC", "PARTIAL", "UNIFORM"}
"""Kinds of lists that may have numbers among their elements."""


class Column:
    """One value of every element of an array: a name, or a JSON pointer.

    Args:
        rows: The array.
        path: A name, if the first element has it; else a pointer, with ``""`` for the elements themselves, and
            numbers for elements of arrays; or its steps as a list.

    Raises:
        UsageError: A pointer that is none, or a name that no element has.
        Limit: More than 2^28 elements that lie row by row.

    >>> from tare import blit
    >>> flights = blit.view(blit.encode([{"delay": 300, "to": "JFK"}, {"delay": -1200, "to": None}]))
    >>> flights.column("delay").to_numpy()
    array([  300, -1200], dtype=int16)
    >>> flights.column("/to").to_list()
    ['JFK', None]
    >>> blit.view(blit.encode([{"at": [51.5, "N"]}, {"at": [0.1, "W"]}])).column("/at/1").to_list()
    ['N', 'W']
    """

    def __init__(self, rows: BlitListView, path: str | BlitPath | list[str]) -> None:
        self._rows = rows
        self._names = _steps(rows, path)
        self.name = "/".join(self._names)
        self._chunks = rows.chunks(self._names)
        if self._chunks is None:
            self._bounded()
            if self._names and not any(self._has(row) for row, _ in rows.runs()):
                raise UsageError(f"no element has {_shown(path)}", format="blit")

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.to_list())

    @overload
    def __getitem__(self, key: int) -> Any: ...
    @overload
    def __getitem__(self, key: slice) -> list[Any]: ...
    def __getitem__(self, key: int | slice) -> Any:
        """The value of one element, or those of a slice; None where it is missing."""
        found = self._rows[key]
        return [self._at(row) for row in found] if isinstance(key, slice) else self._at(found)

    def __reduce__(self) -> tuple[Any, ...]:
        return Column, (self._rows, self._names)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """What `to_numpy` gives, for ``numpy.asarray``."""
        try:
            array = self.to_numpy(copy=copy)
        except Unsupported as error:
            raise ValueError(str(error)) from error  # what NumPy says of copy=False
        if dtype is None or array.dtype == dtype:
            return array
        if copy is False:
            raise ValueError(f"column {self.name!r:.80} is of {array.dtype}: {dtype} needs a copy")
        return array.astype(dtype)

    def __repr__(self) -> str:
        return f"Column({self.name!r:.80}, {len(self)} values, {'+'.join(self.kinds) or 'by rows'})"

    @property
    def kinds(self) -> list[str]:
        """The kinds of list that it lies in, one for each segment; none where it lies row by row."""
        return [chunk.kind for chunk in self._chunks or []]

    def to_list(self) -> list[Any]:
        """Python objects; None where the value is missing.

        Raises:
            Limit: More than 2^28.
        """
        self._bounded()
        if self._chunks is None:
            return self._by_rows()
        return [value for chunk in self._chunks for value in chunk.to_list()]

    def to_numpy(
        self, copy: bool | None = None, *, masked: bool = False, nan: bool = False
    ) -> np.ndarray[Any, Any]:
        """An array of numbers or truth values; of objects, with None where one is missing, for anything else.

        Integers that do not lie as NumPy has them are int64, or uint64 where one needs it; integers beside
        floats become floats. A column without any value is float64.

        Args:
            copy: False to have no copy or an error, True to have one; None copies where it must. Floats, and
                integers of 1, 2, 4 or 8 bytes without a base, lie as NumPy has them: the array is read-only
                then, and keeps the document.
            masked: Missing values give a masked array.
            nan: Missing numbers become NaN, and integers floats.

        Raises:
            EncodeError: Numbers are missing, and nobody said what becomes of them; or an integer would not be
                the same as a float.
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
        parts = self._parts()
        if parts is None:
            return self._objects(masked=masked)
        present = np.concatenate([np.empty(0, bool), *(present for _, present in parts)])
        if not present.all() and nan and not masked:
            floats = [self._as(np.dtype(float), part) for part in parts]
            return np.where(present, np.concatenate(floats), np.nan)
        common = _common(parts)
        if common is None:  # truth values among numbers
            return self._objects(masked=masked)
        values = np.concatenate([np.empty(0, common), *(self._as(common, part) for part in parts)])
        if masked:
            return np.ma.MaskedArray(values) if present.all() else np.ma.MaskedArray(values, ~present)
        if present.all():
            return values
        missing = int((~present).sum())
        text = (
            f"column {self.name!r:.80}: {missing} of {len(self)} values are missing; masked=True or nan=True"
        )
        raise EncodeError(text, format="blit", path=self.name)

    def to_arrow(self) -> pa.Array[Any] | pa.ChunkedArray[Any]:
        """An Arrow array; of several segments, a chunked one.

        Strings that are stored once become a dictionary; objects become structs, arrays lists.

        Raises:
            Unsupported: Values of kinds that no Arrow column has together; half a surrogate pair.
            Malformed: The document is damaged.
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

    def _parts(self) -> list[_Part] | None:
        """Numbers of each segment; None if anything is none."""
        if self._chunks is None:
            part = _of_list(self.to_list(), self.name)
            return None if part is None else [part]
        parts = []
        inexact = None
        for chunk in self._chunks:
            part = _numbers(chunk)
            if part is None and chunk.kind in _ANY:
                try:
                    part = _of_list(chunk.to_list(), self.name)
                except EncodeError as error:
                    inexact = error  # unless a later segment makes objects of all
                    continue
            if part is None:
                return None
            parts.append(part)
        if inexact is not None:
            raise inexact
        return parts

    def _as(self, dtype: np.dtype[Any], part: _Part) -> np.ndarray[Any, Any]:
        """Numbers of another type, if all of them are the same in it."""
        values, present = part
        if dtype.kind == "f" and values.dtype.kind in "iu":
            large = values > _EXACT
            if values.dtype.kind == "i":
                large |= values < -_EXACT
            _exact(values[large & present].tolist(), self.name)
        return values.astype(dtype, copy=False)

    def _bounded(self) -> None:
        if len(self) > _MOST:
            raise Limit(f"column {self.name!r:.80}: {len(self)} values, more than 2^28", format="blit")

    def _by_rows(self) -> list[Any]:
        """Python objects of elements that lie row by row: 2^28 with all that is in them."""
        from tare._tare import BlitView

        values: list[Any] = []
        left = _MOST - len(self)
        for row, n in self._rows.runs():
            found = self._found(row)
            if not isinstance(found, BlitView):
                values.extend(repeat(found, n))
                continue
            left -= n * found.elements(left // n)
            values.extend(found.to_python() for _ in range(n))
        return values

    def _has(self, row: Any) -> bool:
        missing = object()
        return self._found(row, missing) is not missing

    def _at(self, row: Any) -> Any:
        from tare._tare import BlitView

        found = self._found(row)
        return found.to_python() if isinstance(found, BlitView) else found

    def _found(self, row: Any, default: object = None) -> Any:
        """The value in a row, where it lies."""
        from tare._tare import BlitListView, BlitObjectView

        for name in self._names:
            if isinstance(row, BlitObjectView) and name in row:
                row = row[name]
            elif isinstance(row, BlitListView) and (i := _index(name)) is not None and i < len(row):
                row = row[i]
            else:
                return default
        return row

    def _objects(self, *, masked: bool) -> np.ndarray[Any, Any]:
        import numpy as np

        values = self.to_list()
        array = np.empty(len(values), object)
        array[:] = values
        return np.ma.MaskedArray(array, [value is None for value in values]) if masked else array

    def _inferred(self, values: list[Any]) -> pa.Array[Any]:
        import pyarrow as pa

        there = [value for value in values if value is not None]
        unsigned = (
            all(type(value) is int and 0 <= value < 2**64 for value in there)
            and max(there, default=0) >= 2**63
        )
        try:
            array: pa.Array[Any] = pa.array(values, pa.uint64() if unsigned else None)
        except UnicodeEncodeError as error:
            raise Unsupported(
                f"column {self.name!r:.80} has half a surrogate pair, which is no UTF-8",
                format="blit",
                path=self.name,
            ) from error
        except (pa.ArrowException, OverflowError, TypeError) as error:
            large = next(
                (value for value in there if type(value) is int and not -(2**63) <= value < 2**64), None
            )
            if large is not None:
                raise Unsupported(
                    f"column {self.name!r:.80} has the integer {large.bit_length()} bits long, and Arrow's have 64 at"
                    " most: to_list() gives it",
                    format="blit",
                    path=self.name,
                ) from error
            raise Unsupported(
                f"column {self.name!r:.80} has values of several kinds: {str(error)[:200]}",
                format="blit",
                path=self.name,
            ) from error
        return array

    def _arrow(self, chunk: BlitChunk) -> pa.Array[Any]:
        import numpy as np
        import pyarrow as pa

        one = chunk.alike()
        if one is not None:
            return _repeated(self._inferred([*one]), len(chunk))
        codes = chunk.codes()
        if codes is not None and codes[0] in {1, 2, 4}:
            width, offset, unique = codes
            indices = _fixed(np.dtype(f"<u{width}"), chunk, offset)
            strings = self._arrow(unique)
            try:
                return pa.DictionaryArray.from_arrays(indices, strings)
            except (pa.ArrowException, IndexError) as error:
                wrong = f"column {self.name!r:.80} has a code of no string (rule V25)"
                raise Malformed(wrong, format="blit", path=self.name) from error
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
        Limit: More than 2^28 elements.
    """
    import pyarrow as pa

    known = rows.names()
    names: dict[str, None] = dict.fromkeys(known or [])
    if len(rows) > _MOST:
        raise Limit(f"a table of {len(rows)} rows, more than 2^28", format="blit")
    for row, _ in rows.runs() if known is None else []:
        if not hasattr(row, "keys"):
            raise Unsupported("a table is made of an array of objects", format="blit")
        names.update(dict.fromkeys(row))
    for name in names:
        if not name.isprintable() and any("\ud800" <= each <= "\udfff" for each in name):
            text = f"the name {name!r:.80} has half a surrogate pair, which is no UTF-8"
            raise Unsupported(text, format="blit")
    if not names:  # a table of no columns has no rows, but what is made of a batch keeps their number
        empty: Any = pa.StructArray.from_buffers(pa.struct([]), len(rows), [None])
        return pa.Table.from_batches([pa.RecordBatch.from_struct_array(empty)])
    columns: dict[str, Any] = {name: Column(rows, [name]).to_arrow() for name in names}
    return pa.table(columns)


def _steps(rows: BlitListView, path: object) -> list[str]:
    """The names that a path is: one, if an element has it; else those of a pointer."""
    from tare._tare import BlitPath

    if isinstance(path, list | tuple) and all(isinstance(step, str) for step in path):
        return [*path]
    if not isinstance(path, str | BlitPath):
        text = f"a column is a name, a JSON pointer or a list of names, not {_shown(path)}"
        raise UsageError(text, format="blit")
    if isinstance(path, str):
        if path and not path.startswith("/"):
            return [path]
        if path and len(rows) and hasattr(rows[0], "keys") and path in rows[0]:
            return [path]
    pointer = str(BlitPath(path)) if isinstance(path, str) else str(path)  # checks it
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _index(step: str) -> int | None:
    """The place in an array that a step of a pointer is."""
    is_place = step.isascii() and step.isdigit() and len(step) < 20 and (step == "0" or step[0] != "0")
    return int(step) if is_place else None


def _shown(path: object) -> str:
    return (
        f"{path!r:.80}" if isinstance(path, str | list | tuple) else f"{path!r:.80} ({type(path).__name__})"
    )


def _common(parts: list[_Part]) -> np.dtype[Any] | None:
    """The type that has the numbers of all parts; None of truth values among numbers."""
    import numpy as np

    there = [values[present] for values, present in parts]
    types = {values.dtype for values in there if len(values)} or {np.dtype(float)}
    if len(types) > 1 and np.dtype(bool) in types:
        return None
    signed = [values for values in there if values.dtype.kind == "i" and len(values)]
    if {each.kind for each in types} == {"i", "u"} and all(values.min() >= 0 for values in signed):
        return np.dtype(np.uint64)
    return np.result_type(*types)


def _of_list(items: list[Any], name: str) -> _Part | None:
    """Numbers and which of them are there; None of other values, and of more than 64 bits."""
    import numpy as np

    there = [item for item in items if item is not None]
    types = {type(item) for item in there}
    integers = [item for item in there if type(item) is int]
    least, most = min(integers, default=0), max(integers, default=0)
    if types - {bool, int, float} or (bool in types and len(types) > 1) or least < -(2**63) or most >= 2**64:
        return None
    dtype: type[Any] = float
    if types == {bool}:
        dtype = bool
    elif types == {int} and most < 2**63:
        dtype = np.int64
    elif types == {int} and least >= 0:
        dtype = np.uint64
    else:
        _exact(integers, name)
    present = np.array([item is not None for item in items], bool)
    values = np.zeros(len(items), dtype)
    values[present] = there
    return values, present


def _exact(integers: list[int], name: str) -> None:
    """Checks that they are the same as floats."""
    wrong = next((number for number in integers if int(float(number)) != number), None)
    if wrong is not None:
        raise EncodeError(
            f"column {name!r:.80}: {wrong} would change as a float, beside floats, NaN, or integers of another"
            " sign; numpy.array(column.to_list(), object) keeps it",
            format="blit",
            path=name,
        )


def _numbers(chunk: BlitChunk) -> _Part | None:
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


def _repeated(one: pa.Array[Any], n: int) -> pa.Array[Any]:
    """An element so many times; what repeats it is slow for lists, and what joins arrays is not."""
    import pyarrow as pa

    block: pa.Array[Any] = pa.repeat(one[0], min(n, 1 << 16))
    if n == len(block):
        return block
    whole, rest = divmod(n, len(block))
    joined: pa.Array[Any] = pa.concat_arrays([*repeat(block, whole), block[:rest]])
    return joined


def _fixed(dtype: np.dtype[Any], chunk: BlitChunk, offset: int) -> pa.Array[Any]:
    """Numbers where they lie; copied where they lie at no multiple of their width, which Arrow needs."""
    import pyarrow as pa

    n = len(chunk)
    data = pa.py_buffer(memoryview(chunk))[offset : offset + n * dtype.itemsize]
    if data.address % dtype.itemsize:
        data = pa.py_buffer(data.to_pybytes())
    return pa.Array.from_buffers(pa.from_numpy_dtype(dtype), n, [None, data])
