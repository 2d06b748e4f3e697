"""How arrays and tables are described for the canonical hash: by what they hold, not by how it lies in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from tare.store.hashing import Walk

__all__ = ["arrows", "numpys", "pandases", "polarses"]

# Rows that are described at a time, counted from the first, so that chunks do not matter.
_ROWS = 1 << 16


def numpys(walk: Walk, value: Any) -> None:
    """An array, a scalar or a type of NumPy.

    Raises:
        Unsupported: It has no lasting description.
    """
    import numpy as np

    if isinstance(value, np.dtype):
        walk.text("numpy type", value.str if value.names is None else repr(value.descr))
    elif isinstance(value, np.generic):
        walk.mark("numpy scalar")
        _items(walk, np.asarray(value))
    elif isinstance(value, np.ma.MaskedArray):
        walk.mark("masked")
        _items(walk, value.filled(0))
        _items(walk, np.ma.getmaskarray(value))
    elif type(value) in (np.ndarray, np.memmap):
        walk.mark("numpy")
        _items(walk, np.asarray(value))
    elif isinstance(value, np.ndarray) and type(value).__module__.partition(".")[0] == "numpy":
        walk.text("numpy", type(value).__name__)
        _items(walk, np.asarray(value))
    else:
        raise walk.refusal(value)


def _items(walk: Walk, array: np.ndarray[Any, Any]) -> None:
    """Type, shape and items of an array, in C's order and little-endian."""
    import numpy as np

    dtype = array.dtype
    if dtype.names is not None:
        walk.text("fields", f"{array.shape}")
        for name in dtype.names:
            walk.text("field", name)
            _items(walk, array[name])
        return
    if dtype.kind in "OT":
        walk.text("objects", f"{dtype.kind} {array.shape}")
        items = array.reshape(-1).tolist()
        walk.holding(array, ((f"[{i}]", item) for i, item in enumerate(items)))
        return
    if dtype.kind in "fc" and dtype.itemsize > (8 if dtype.kind == "f" else 16):
        raise walk.refusal(array, "whose long doubles differ between machines")
    plain = dtype.newbyteorder("<")
    walk.text("items", f"{plain.str} {array.shape}")
    if not array.size or not dtype.itemsize:
        return
    if array.flags.c_contiguous and dtype == plain and dtype.kind not in "fc":
        walk.large(array.reshape(-1).view(np.uint8))
        return
    chunks = np.nditer(
        array,
        flags=["external_loop", "buffered"],
        op_dtypes=[plain],
        casting="equiv",
        order="C",
        buffersize=_ROWS,
    )
    for chunk in chunks:
        walk.large(_one_nan(np.atleast_1d(chunk)).view(np.uint8))


def _one_nan(items: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same numbers with one NaN; other types as they are."""
    import numpy as np

    items = np.ascontiguousarray(items)
    if items.dtype.kind == "c":
        return _one_nan(items.view(f"<f{items.dtype.itemsize // 2}"))
    if items.dtype.kind != "f":
        return items
    odd = np.isnan(items)
    if odd.any():
        items = items.copy()
        items[odd] = np.nan
    return items


def pandases(walk: Walk, value: Any) -> None:
    """A data frame, a series, an index or a scalar of pandas; `attrs` do not count.

    Raises:
        Unsupported: It has no lasting description.
    """
    import numpy as np
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        walk.mark("pandas", value.shape[1])
        walk.at(".columns", value.columns)
        walk.at(".index", value.index)
        for place in range(value.shape[1]):
            _values(walk, value.iloc[:, place])
    elif isinstance(value, pd.Series):
        walk.mark("series")
        walk.at(".name", value.name)
        walk.at(".index", value.index)
        _values(walk, value)
    elif isinstance(value, pd.MultiIndex):
        walk.mark("levels", value.nlevels)
        for place in range(value.nlevels):
            walk.at(f"[{place}]", value.get_level_values(place))
    elif isinstance(value, pd.RangeIndex):  # the same as one that lies in memory
        walk.at(".name", value.name)
        _values(walk, pd.Series(np.asarray(value)))
    elif isinstance(value, pd.Index):
        walk.at(".name", value.name)
        _values(walk, value.to_series())
    elif value is pd.NA or value is pd.NaT:
        walk.mark(str(value))
    elif isinstance(value, pd.Timestamp | pd.Timedelta):
        walk.text(type(value).__name__, f"{value.value} {getattr(value, 'tz', None)}")
    elif isinstance(value, pd.Period | pd.Interval):
        walk.text(type(value).__name__, repr(value))
    elif isinstance(value, pd.api.extensions.ExtensionArray):
        walk.mark("pandas array")
        _values(walk, pd.Series(value))
    elif isinstance(value, pd.api.extensions.ExtensionDtype):
        walk.text("pandas type", str(value))
    else:
        raise walk.refusal(value)


def _values(walk: Walk, series: pd.Series) -> None:
    """Type and values of a column."""
    import numpy as np
    import pandas as pd

    dtype = series.dtype
    walk.text("dtype", str(dtype))
    if isinstance(dtype, pd.CategoricalDtype):
        walk.mark("ordered" if dtype.ordered else "unordered")
        _values(walk, pd.Series(dtype.categories))
        _items(walk, np.asarray(series.cat.codes, "<i8"))
    elif isinstance(dtype, np.dtype) and dtype.kind == "O":
        if len(series) and pd.api.types.infer_dtype(series, skipna=False) == "string":
            _text(walk, series)
        else:
            _items(walk, series.to_numpy())
    elif isinstance(dtype, np.dtype):
        _items(walk, series.to_numpy())
    elif isinstance(dtype, pd.DatetimeTZDtype):
        _items(walk, series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())
    elif isinstance(dtype, pd.PeriodDtype | pd.IntervalDtype):
        _items(walk, np.asarray(series.astype(str), object))
    elif isinstance(dtype, pd.SparseDtype):
        _items(walk, np.asarray(series))
    else:
        import pyarrow as pa

        column = pa.array(series, from_pandas=True)
        _column(walk, _chunked(column))


def _text(walk: Walk, series: pd.Series) -> None:
    import pyarrow as pa

    try:
        made = pa.array(series, pa.large_string())
    except (pa.ArrowException, UnicodeError):  # halves of surrogate pairs
        _items(walk, series.to_numpy())
        return
    _column(walk, _chunked(made))


def polarses(walk: Walk, value: Any) -> None:
    """A data frame, a series or a type of polars.

    Raises:
        Unsupported: It has no lasting description.
    """
    import polars as pl

    if isinstance(value, pl.DataFrame):
        walk.mark("polars", value.width)
        for series in value.get_columns():
            polarses(walk, series)
    elif isinstance(value, pl.Series):
        walk.text("series", value.name)
        walk.text("dtype", repr(value.dtype))
        if "Object" in repr(value.dtype):
            raise walk.refusal(value, "whose items are objects of Python")
        column = value.to_arrow()
        _column(walk, _chunked(column))
    elif isinstance(value, pl.DataType) or (isinstance(value, type) and issubclass(value, pl.DataType)):
        walk.text("polars type", repr(value))
    else:
        raise walk.refusal(value)


def arrows(walk: Walk, value: Any) -> None:
    """A table, a batch, an array, a scalar, a type or a schema of Arrow; metadata do not count.

    Raises:
        Unsupported: It has no lasting description.
    """
    import pyarrow as pa

    if isinstance(value, pa.Table | pa.RecordBatch):
        walk.mark("arrow", value.num_columns)
        for field, column in zip(value.schema, value.columns, strict=True):
            walk.text("name", field.name)
            _column(walk, _chunked(column))
        walk.put(value.num_rows.to_bytes(8, "little"))
    elif isinstance(value, pa.ChunkedArray):
        walk.mark("arrow array")
        _column(walk, value)
    elif isinstance(value, pa.Array):
        walk.mark("arrow array")
        _column(walk, pa.chunked_array([value]))
    elif isinstance(value, pa.Scalar):
        walk.mark("arrow scalar")
        one: Any = value
        _column(walk, _chunked(pa.repeat(one, 1)))
    elif isinstance(value, pa.DataType | pa.Field | pa.Schema):
        walk.text("arrow type", str(value.remove_metadata() if hasattr(value, "remove_metadata") else value))
    else:
        raise walk.refusal(value)


def _chunked(column: Any) -> Any:
    import pyarrow as pa

    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def _column(walk: Walk, column: Any) -> None:
    """Type and values of a column, so many rows at a time."""
    import pyarrow as pa

    walk.text("type", str(column.type))
    walk.put(len(column).to_bytes(8, "little"))
    for start in range(0, len(column), _ROWS):
        part = column.slice(start, _ROWS)
        whole = part.chunk(0) if part.num_chunks == 1 else pa.concat_arrays(part.chunks)
        _run(walk, whole)


def _run(walk: Walk, part: Any) -> None:
    """Where values are missing, then those that are there."""
    import pyarrow as pa
    import pyarrow.compute as pc

    is_, kind = pa.types, part.type
    if is_.is_null(kind):
        return
    if part.null_count:
        walk.mark("missing")
        _bits(walk, part.is_null())
        part = part.drop_null()
    if is_.is_dictionary(kind):
        _run(walk, part.dictionary_decode())
    elif isinstance(kind, pa.BaseExtensionType):
        _run(walk, part.storage)
    elif is_.is_boolean(kind):
        _bits(walk, part)
    elif is_.is_string_view(kind) or is_.is_binary_view(kind):
        _run(walk, part.cast(pa.large_string() if is_.is_string_view(kind) else pa.large_binary()))
    elif is_.is_string(kind) or is_.is_binary(kind) or is_.is_large_string(kind) or is_.is_large_binary(kind):
        _lengths(walk, pc.binary_length(part))
        _long(walk, part, "<i8" if is_.is_large_string(kind) or is_.is_large_binary(kind) else "<i4")
    elif is_.is_map(kind):
        _run(walk, part.cast(pa.list_(pa.struct([kind.key_field, kind.item_field]))))
    elif (
        is_.is_list(kind) or is_.is_large_list(kind) or is_.is_list_view(kind) or is_.is_large_list_view(kind)
    ):
        _lengths(walk, pc.list_value_length(part))
        _run(walk, part.flatten())
    elif is_.is_fixed_size_list(kind):
        _run(walk, part.flatten())
    elif is_.is_struct(kind):
        for child in part.flatten():
            _run(walk, child)
    elif is_.is_union(kind) or is_.is_run_end_encoded(kind):
        walk.holding(part, ((f"[{i}]", item) for i, item in enumerate(part.to_pylist())))
    else:
        _fixed(walk, part)


def _bits(walk: Walk, part: Any) -> None:
    """Truth values, a byte each: bits would begin anywhere in a byte."""
    import pyarrow as pa

    _fixed(walk, part.cast(pa.uint8()))


def _lengths(walk: Walk, lengths: Any) -> None:
    import pyarrow as pa

    _fixed(walk, lengths.cast(pa.int64()))


def _fixed(walk: Walk, part: Any) -> None:
    """Values of one width, none of them missing."""
    import numpy as np
    import pyarrow as pa

    if not len(part):
        return
    width = part.type.bit_width // 8
    items = np.frombuffer(part.buffers()[1], np.uint8)[
        part.offset * width : (part.offset + len(part)) * width
    ]
    if pa.types.is_floating(part.type):
        items = _one_nan(items.view(f"<f{width}")).view(np.uint8)
    walk.large(items)


def _long(walk: Walk, part: Any, offsets: str) -> None:
    """The bytes of texts, none of them missing, one behind the other."""
    import numpy as np

    if not len(part):
        return
    buffers = part.buffers()
    ends = np.frombuffer(buffers[1], offsets)[[part.offset, part.offset + len(part)]]
    if ends[0] < ends[1]:
        walk.large(np.frombuffer(buffers[2], np.uint8)[int(ends[0]) : int(ends[1])])
