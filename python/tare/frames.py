"""Arrow tables to pandas and polars data frames and back.

pandas: a column becomes the dtype that pandas users have (NumPy's where nothing
is lost, ``str`` for text, ``Int64`` and its kin for integers with nulls), if that
converts back to the very same Arrow column; else ``ArrowDtype``, which always
does. So arrow -> pandas -> arrow is an identity, checked column by column, and a
loss that shows up later is not this module's.

From pandas, NaN in a NumPy float column is a null, as everywhere in pandas; only
an ``ArrowDtype`` column tells the two apart. An index other than the default
becomes columns, named in the ``pandas`` metadata as pyarrow does it.

Of parts that an engine puts together the dtypes may not hang on what each holds: see `pandas_by_types`.

What pandas and polars give as text, bytes and lists with 64-bit offsets or views
becomes the plain form, so that text is one type whichever library gave it.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any, cast

from tare.arrays import array_of
from tare.categories import in_one_order, same_levels
from tare.errors import EncodeError, Limit, Unsupported
from tare.pandas_metadata import (
    Shape,
    dtype_name,
    is_plain,
    label_columns,
    mixture,
    pandas_metadata,
    shape_of_frame,
    shape_of_table,
    with_pandas_types,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from tare.pandas_metadata import Level

__all__ = [
    "arrow_from_pandas",
    "arrow_from_polars",
    "bytes_of",
    "empty_records",
    "hold_empty",
    "only_counts",
    "pandas_by_types",
    "pandas_from_arrow",
    "plain",
    "polars_from_arrow",
    "rows_alone",
    "series_from_arrow",
    "with_columns",
    "with_nullable_types",
]

_CATEGORY_OF = "category of "
_MOST_EMPTY = 10_000_000  # rows without a column that become objects


def pandas_from_arrow(table: pa.Table) -> pd.DataFrame:
    """A data frame that converts back to the very same table.

    >>> import pyarrow as pa
    >>> pandas_from_arrow(pa.table({"n": [1, None], "x": [0.5, None]})).dtypes.astype(str).to_dict()
    {'n': 'Int64', 'x': 'float64'}
    """
    table, shape = with_pandas_types(table), shape_of_table(table)
    dtypes: dict[str, list[str]] = {}
    for name, dtype in (*shape.dtypes, *((level.field, level.dtype) for level in shape.index)):
        dtypes.setdefault(name, []).append(dtype)
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        known = dtypes.get(name)
        columns.append(_as_it_was(series_from_arrow(column), column, known.pop(0) if known else ""))
    places = [table.column_names.index(level.field) for level in shape.index]
    rest = [place for place in range(table.num_columns) if place not in places]
    frame = _frame(table.select(rest), [columns[place] for place in rest])
    if not rest:
        frame = frame.reindex(range(table.num_rows))
    label_columns(frame, shape)
    if places:
        frame.index = _index_of([columns[place] for place in places], shape.index)
    return frame


def _index_of(columns: list[pd.Series], levels: tuple[Level, ...]) -> Any:
    """An index of columns; its frequency, where the times still have it."""
    import pandas as pd

    if len(levels) > 1:
        return pd.MultiIndex.from_arrays(columns, names=[level.name for level in levels])
    index: Any = pd.Index(columns[0], dtype=columns[0].dtype).rename(levels[0].name)
    if levels[0].freq:
        with contextlib.suppress(ValueError, TypeError, AttributeError):
            index.freq = levels[0].freq
    return index


def _as_it_was(series: pd.Series, column: pa.ChunkedArray[Any], dtype: str) -> pd.Series:
    """A column with the dtype that it had, where that holds the same values; else as it is."""
    import pandas as pd

    if not dtype or str(series.dtype) == dtype:
        return series
    try:
        if dtype == "object":
            values = column.to_numpy(zero_copy_only=False)
            was: Any = pd.Series(values.astype(object), dtype=object)
        elif dtype.startswith(_CATEGORY_OF):
            return _categories(column, dtype.removeprefix(_CATEGORY_OF))
        elif dtype.endswith("[pyarrow]"):
            was = column.to_pandas(types_mapper=pd.ArrowDtype)
        else:
            was = series.astype(dtype)  # type: ignore[call-overload]
        if str(was.dtype) == dtype and (dtype == "string" or _comes_back(was, column)):
            return cast("pd.Series", was)
    except (ValueError, TypeError, ArithmeticError, AttributeError, NotImplementedError):
        pass  # the dtype does not hold them, or its name does not say what it is
    return series


def pandas_by_types(table: pa.Table) -> pd.DataFrame:
    """A data frame whose dtypes follow from the types of the columns alone, so that the parts of one table agree.

    Floats and times have NumPy's, text has pandas' own, dictionaries of text or whole numbers are categories. All else
    is an ``ArrowDtype``: whole numbers too, as any part may have nulls, and Dask takes no quantiles of ``Int64``. A
    null among floats is NaN: of ``ArrowDtype``, Dask's sums would pass over each part with a NaN. No column is of
    objects, of which Dask makes text. What was an index is a column.

    >>> import pyarrow as pa
    >>> pandas_by_types(pa.table({"n": [1, 2], "x": [0.5, None]})).dtypes.astype(str).to_dict()
    {'n': 'int64[pyarrow]', 'x': 'float64'}
    """
    table = in_one_order(table)  # pandas takes levels in order of appearance
    return _frame(table, [column.to_pandas(types_mapper=_dtype_of) for column in table.columns])


def with_nullable_types(table: pa.Table) -> pa.Table:
    """The table with word for pandas' own readers that nulls of whole numbers make no floats, and of no index."""
    dtypes = [str(_nullable_dtypes().get(kind, "object")) for kind in table.schema.types]
    shape = Shape(dtypes=tuple(zip(table.column_names, dtypes, strict=True)))
    told = json.dumps(pandas_metadata(shape, None))
    if not table.num_columns:
        return rows_alone(table.num_rows, {"pandas": told})
    return table.replace_schema_metadata({"pandas": told})


def arrow_from_pandas(frame: pd.DataFrame) -> pa.Table:
    """A table of a data frame's columns, and of its index unless that only counts the rows.

    Raises:
        EncodeError: A column mixes types that no Arrow type holds together.
    """
    import pyarrow as pa

    shape = shape_of_frame(frame, counts=only_counts(frame.index))
    names = [name for name, _ in shape.dtypes]
    arrays = [_array(name, frame.iloc[:, place]) for place, name in enumerate(names)]
    for place, level in enumerate(shape.index):
        arrays.append(_array(level.field, frame.index.get_level_values(place).to_series()))
    names += [level.field for level in shape.index]
    metadata = None
    if not is_plain(shape):
        metadata = {"pandas": json.dumps(pandas_metadata(shape, len(frame)), separators=(",", ":"))}
    if not arrays:
        return rows_alone(len(frame), metadata)
    table = pa.Table.from_arrays(arrays, names=names)
    return table.replace_schema_metadata(metadata)


def bytes_of(data: Any) -> int:
    """Returns the bytes that rows of Arrow's take in memory; where unions are in them, with what they are a slice of.

    Arrow counts those of a slice alone, and crashes at a union without a row that was read from a file.

    Args:
        data: A table, batch, array or chunked array.

    >>> import pyarrow as pa
    >>> bytes_of(pa.table({"a": [1, 2]}).slice(1))
    8
    """
    kinds = data.schema.types if hasattr(data, "schema") else [data.type]
    return int(data.get_total_buffer_size() if any(map(_has_union, kinds)) else data.nbytes)


def _has_union(kind: Any) -> bool:
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        return _has_union(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _has_union(kind.value_type)
    return pa.types.is_union(kind) or any(_has_union(kind.field(at).type) for at in range(kind.num_fields))


def empty_records(rows: int) -> list[dict[str, Any]]:
    """Returns the objects of rows that have no column.

    Raises:
        Limit: They are more than ten million, which a few bytes may claim.
    """
    hold_empty(rows)
    return [{} for _ in range(rows)]


def hold_empty(rows: int) -> None:
    """Refuses rows that have no column, where they become objects.

    Raises:
        Limit: They are more than ten million, which a few bytes may claim.
    """
    if rows > _MOST_EMPTY:
        raise Limit(f"{rows:,} rows without a column: at most {_MOST_EMPTY:,} become objects without a name")


def rows_alone(count: int, metadata: Any = None) -> pa.Table:
    """A table of so many rows and no column, which Arrow makes of no list of columns.

    Nor does it keep their number when such a table gets another schema or is sliced.

    Args:
        count: How many rows.
        metadata: Of the schema.

    >>> rows_alone(3, {"a": "b"}).shape
    (3, 0)
    """
    import pyarrow as pa

    batch = pa.record_batch({"": pa.nulls(count)}).select([])
    return pa.Table.from_batches([batch.replace_schema_metadata(metadata)])


def polars_from_arrow(table: pa.Table) -> pl.DataFrame:
    """A polars data frame of the same columns; its categories have levels in order of appearance, and no order.

    Raises:
        Unsupported: A column has a union, at which polars panics.
    """
    import polars as pl

    odd = next((field for field in table.schema if _has_union(field.type)), None)
    if odd is not None:
        raise Unsupported(f"column {odd.name[:80]!r}: polars has no type for {odd.type}", path=odd.name)

    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)  # a Series only comes of an array
    return frame


def arrow_from_polars(frame: pl.DataFrame) -> pa.Table:
    """A table of the same columns; categories get 32-bit indices, as Arrow's default is.

    Raises:
        EncodeError: Polars cannot give it, for example because a name holds a NUL; a column holds objects of
            Python, of which polars gives where they are in memory.
    """
    odd = next((name for name, kind in frame.schema.items() if "Object" in str(kind)), None)
    if odd is not None:
        raise EncodeError(f"column {odd[:80]!r}: polars holds its values as objects of Python", path=odd)
    try:
        return plain(frame.to_arrow())
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # polars panics, for example on a NUL in a name
        raise EncodeError(f"polars cannot give this table to Arrow: {str(error)[:200]!r}") from error


def _categories(column: pa.ChunkedArray[Any], dtype: str) -> pd.Series:
    """A category of intervals or periods, of which a dictionary holds the storage."""
    import pandas as pd
    import pyarrow as pa

    kind: Any = column.type
    inner: Any = pd.api.types.pandas_dtype(dtype)
    own: Any = pa.array(pd.array([], dtype=inner)).type
    one: Any = column.unify_dictionaries().combine_chunks()
    levels = pa.ExtensionArray.from_storage(own, one.dictionary.cast(own.storage_type)).to_pandas()
    codes = one.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return pd.Series(pd.Categorical.from_codes(codes, pd.Index(levels), ordered=kind.ordered))


def plain(table: pa.Table) -> pa.Table:
    """The table with ``string``, ``binary`` and ``list`` in place of their large and view forms.

    A column too large for 32-bit offsets keeps its type.

    >>> import pyarrow as pa
    >>> plain(pa.table({"a": pa.array(["x"], pa.large_string())})).schema.field("a").type
    DataType(string)
    """
    changed = {}
    for place, field in enumerate(table.schema):
        column = _plain_array(table.column(place))
        if column.type != field.type:
            changed[place] = field.with_type(column.type), column
    return with_columns(table, changed)


def with_columns(table: pa.Table, changed: Mapping[int, tuple[pa.Field[Any], Any]]) -> pa.Table:
    """Returns the table with other columns at some places; one by one, each would copy the list of all of them.

    Args:
        table: The table.
        changed: Field and column by place.

    >>> import pyarrow as pa
    >>> with_columns(pa.table({"a": [1], "b": [2]}), {1: (pa.field("c", pa.bool_()), pa.array([True]))}).to_pydict()
    {'a': [1], 'c': [True]}
    """
    import pyarrow as pa

    if not changed:
        return table
    fields, columns = list(table.schema), list(table.columns)
    for place, (field, column) in changed.items():
        fields[place], columns[place] = field, column
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, cast("Any", table.schema.metadata)))


def _plain_array(array: Any) -> Any:
    import pyarrow as pa

    wanted = _plain_type(array.type)
    if wanted == array.type:
        return array
    if pa.types.is_dictionary(wanted) and isinstance(array, pa.DictionaryArray) and not len(array):
        levels = _plain_array(array.dictionary)  # which Arrow's cast leaves out where no row has one
        return pa.DictionaryArray.from_arrays(array.indices, levels, ordered=array.type.ordered)
    try:
        return array.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return array


def _plain_type(kind: Any) -> Any:
    import pyarrow as pa

    is_ = pa.types
    if is_.is_large_string(kind) or is_.is_string_view(kind):
        return pa.string()
    if is_.is_large_binary(kind) or is_.is_binary_view(kind):
        return pa.binary()
    if is_.is_large_list(kind) or is_.is_list(kind):
        return pa.list_(kind.value_field.with_type(_plain_type(kind.value_type)))
    if is_.is_struct(kind):
        fields = [kind.field(place) for place in range(kind.num_fields)]
        return pa.struct([field.with_type(_plain_type(field.type)) for field in fields])
    if is_.is_dictionary(kind):
        index = pa.int32() if kind.index_type == pa.uint32() else kind.index_type
        return pa.dictionary(index, _plain_type(kind.value_type), kind.ordered)
    return kind


def _frame(table: pa.Table, columns: list[pd.Series]) -> pd.DataFrame:
    """Columns under the names of a table's, of which two may be the same."""
    import pandas as pd

    # Series would be aligned by their index, one after another.
    # Of an array of objects that are texts, pandas makes its own type of text.
    series = {
        place: column if column.dtype == object else column.array for place, column in enumerate(columns)
    }
    frame = pd.DataFrame(series, copy=False) if series else pd.DataFrame(index=range(table.num_rows))
    frame.columns = pd.Index(table.column_names, dtype=None if series else object)
    return frame


def _dtype_of(kind: Any) -> Any:
    """The dtype that holds every column of a type; None for the one that pandas takes itself."""
    import pandas as pd
    import pyarrow as pa

    is_ = pa.types
    if is_.is_dictionary(kind):
        inner = kind.value_type
        own = is_.is_integer(inner) or is_.is_string(inner) or is_.is_large_string(inner)
    else:
        own = is_.is_floating(kind) or is_.is_timestamp(kind) or is_.is_duration(kind)
        own = own or is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind)
    return None if own else pd.ArrowDtype(kind)


def series_from_arrow(column: pa.ChunkedArray[Any]) -> pd.Series:
    """The series that `pandas_from_arrow` has of a column.

    >>> import pyarrow as pa
    >>> str(series_from_arrow(pa.chunked_array([[1, None]])).dtype)
    'Int64'
    """
    import pandas as pd

    if _is_numpy_alone(column):
        return column.to_pandas()
    column = _same_levels(column)
    nullable = _nullable_dtypes()
    for mapper in (None, nullable.get):
        if mapper is nullable.get and column.type not in nullable:
            continue
        if mapper is None and not _numpy_may_hold(column):
            continue
        series = _tried(column, mapper)
        if series is not None and (_is_exact(column) or _comes_back(series, column)):
            return series
    return column.to_pandas(types_mapper=pd.ArrowDtype)


def _is_numpy_alone(column: pa.ChunkedArray[Any]) -> bool:
    """Whether NumPy's type holds the column without a trial: numbers of which none is missing, or NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count:
        return False
    if pa.types.is_integer(column.type):
        return True
    return pa.types.is_float64(column.type) and not pc.any(pc.is_nan(column)).as_py()


def _same_levels(column: pa.ChunkedArray[Any]) -> pa.ChunkedArray[Any]:
    """A category with the same levels in all chunks, as pandas' has; as it is, where its chunks have none in common."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type) or column.num_chunks < 2:
        return column
    with contextlib.suppress(EncodeError):  # orders that contradict each other: an ArrowDtype holds them
        kind: Any = column.type
        return pa.chunked_array(same_levels(column.chunks), kind)
    return column


def _tried(column: pa.ChunkedArray[Any], mapper: Any) -> pd.Series | None:
    import pyarrow as pa

    try:
        return column.to_pandas(types_mapper=mapper)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None  # values that the dtype cannot hold: times with nanoseconds, far dates, categories of structs


def _numpy_may_hold(column: pa.ChunkedArray[Any]) -> bool:
    """False where the trial is known to fail: it would cost a copy of the column for nothing."""
    import pyarrow as pa

    whole = pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)
    return not (whole and column.null_count)


def _is_exact(column: pa.ChunkedArray[Any]) -> bool:
    """Whether Arrow makes the same column of the objects that it makes of this one: of days, and of times of day, if there are any."""
    import pyarrow as pa

    kind: Any = column.type
    plain = pa.types.is_date32(kind) or (pa.types.is_time64(kind) and kind.unit == "us")
    return plain and column.null_count < len(column)


def _comes_back(series: pd.Series, column: pa.ChunkedArray[Any]) -> bool:
    import pyarrow as pa

    try:
        back = pa.Table.from_arrays([_array("", series)], names=["x"]).column(0)
    except (EncodeError, pa.ArrowException, ValueError, TypeError):
        return False
    if back.type != column.type or back.null_count != column.null_count:
        return False
    if pa.types.is_floating(column.type):  # by bits: NaN is not equal to itself, and -0.0 is to 0.0
        bits = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[column.type.bit_width]
        return bool(_bits(back, bits).equals(_bits(column, bits)))
    return bool(back.equals(column))


def _bits(column: pa.ChunkedArray[Any], kind: Any) -> Any:
    import pyarrow as pa

    return pa.chunked_array([chunk.view(kind) for chunk in column.chunks], kind)


def _nullable_dtypes() -> dict[Any, Any]:
    import pandas as pd
    import pyarrow as pa

    return {
        pa.int8(): pd.Int8Dtype(),
        pa.int16(): pd.Int16Dtype(),
        pa.int32(): pd.Int32Dtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.uint8(): pd.UInt8Dtype(),
        pa.uint16(): pd.UInt16Dtype(),
        pa.uint32(): pd.UInt32Dtype(),
        pa.uint64(): pd.UInt64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
    }


def _array(name: str, series: pd.Series) -> Any:
    import pandas as pd
    import pyarrow as pa

    if isinstance(series.dtype, pd.SparseDtype):
        series = cast("Any", series).sparse.to_dense()
    elif isinstance(series.dtype, pd.CategoricalDtype) and dtype_name(series.dtype) != "category":
        # Files of Arrow have no dictionary of an extension type: of its storage they have.
        levels: Any = pa.array(series.cat.categories).storage
        codes = series.cat.codes.to_numpy()
        places: Any = pa.array(codes, mask=codes < 0)
        return pa.DictionaryArray.from_arrays(places, levels, ordered=bool(series.cat.ordered))
    try:
        # Only a column of objects may hold values of several types.
        array = (array_of if series.dtype == object else pa.array)(series, from_pandas=True)
        # An ArrowDtype names its type; pandas' own text is always of the large form.
        return array if isinstance(series.dtype, pd.ArrowDtype) else _plain_array(array)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        found = mixture(series) if series.dtype == object else ""
        text = (
            f"{found}; make it text with .astype(str), or keep it with to_pickle of pandas"
            if found
            else str(error)[:200]
        )
        raise EncodeError(f"column {name[:80]!r}: no one type holds its values: {text}", path=name) from error


def only_counts(index: pd.Index) -> bool:
    """Whether an index is 0, 1, 2, ... without a name, whatever way it is stored."""
    import pandas as pd

    if index.nlevels > 1 or index.name is not None or index.dtype.kind not in "iu":
        return len(index) == 0 and index.name is None and index.nlevels == 1
    return bool(index.equals(pd.RangeIndex(len(index))))
