"""R's data frames as tables of Arrow, pandas and polars; matrices as data frames with their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare.errors import Unsupported, UsageError
from tare.r import nested_frames, odd_names, vectors
from tare.r.instants import is_in_parts
from tare.r.losses import Loss, losses_of
from tare.r.vectors import imported, storage
from tare.r.zones import in_known_zone, tell_zone

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from tare._tare import RObject as Core
    from tare.r.values import Settings

__all__ = [
    "cells",
    "faced",
    "faced_vector",
    "has_levels",
    "has_mixed_lists",
    "narrowed",
    "part",
    "polars_of",
    "row_names",
    "series",
    "table",
    "texts",
    "value",
]

_ROWS = "row_names_dropped"


def value(core: Core, settings: Settings, path: str, found: list[Loss]) -> Any:
    """A data frame as what was asked for; lists of columns where values are plain."""
    lost: list[Loss] = []
    made = table(core, settings.na, path, lost, keyed=settings.to in ("python", "arrow"))
    names = None
    if settings.to not in ("python", "arrow"):
        _unkeyed(core, made, settings.to, path, lost)
    if settings.to == "pandas":
        names = row_names(core)
        if names is not None:
            lost = [loss for loss in lost if loss.kind != _ROWS]
            odd_names.tell(core.attribute("row.names"), f"{path}@row.names", lost)
    found.extend(lost)
    if settings.to == "plain":
        return plain(core, made, path, found)
    return faced(made, settings.to, names)


def _unkeyed(core: Core, made: pa.Table, to: str, path: str, found: list[Loss]) -> None:
    """What only the key ``r``, or the schema, would keep of a data frame and its columns."""
    extra = [name for name in core.r_class if name != "data.frame"]
    if extra:
        found.append(Loss(f"{path}@class", "class_dropped", ", ".join(extra)))
    for place, field in enumerate(made.schema):
        storage(core.child(place), f"{path}${field.name}", found)
        at = f"{path}${field.name}"
        if to in ("polars", "plain") and has_levels(field.type):
            found.append(Loss(f"{at}@levels", "attribute_dropped", "levels and their order", "values"))
        if to == "plain":
            tell_zone(field.type, at, found)
    if to == "polars" and "" in made.column_names:
        found.append(Loss(f"{path}@names", "attribute_dropped", "an empty name", "that of its place"))


def has_levels(kind: Any) -> bool:
    """Whether a type is one of categories, or has them inside."""
    import pyarrow as pa

    inside = (kind.field(place).type for place in range(kind.num_fields))
    return pa.types.is_dictionary(kind) or any(map(has_levels, inside))


def table(
    core: Core, na: str, path: str, found: list[Loss], columns: list[str] | None = None, *, keyed: bool = True
) -> pa.Table:
    """The Arrow table of a data frame, R's attributes in its schema's key ``r``.

    Args:
        core: The data frame.
        na: ``null``, or ``nan`` to make missing doubles NaN.
        path: Where it is, for losses.
        found: The list that losses are added to.
        columns: Names of the columns; all by default.
        keyed: Whether what follows keeps the key ``r``; if not, what is in it is lost.

    Raises:
        UsageError: It has no such column.
    """
    options: dict[str, Any] = {"na": na, "metadata": keyed}
    if columns is not None:
        known = [name or "" for name in core.names or []]
        missing = next((name for name in columns if name not in known), None)
        if missing is not None:
            raise UsageError(f"there is no column {missing[:60]!a}; there are {', '.join(known)[:200]}")
        options["columns"] = columns
    exported, lost = core.to_arrow(options)
    odd_names.tell(core.attribute("names"), f"{path}@names", found, columns)
    found.extend(losses_of(lost, path))
    made: pa.Table = imported(exported)
    made = _with_nested(core, made, path, found, columns)
    if not keyed:
        made = _unnoted(core, made, path, found, columns)
    return made if columns is None or columns == made.column_names else _selected(made, columns)


def _with_nested(
    core: Core, made: pa.Table, path: str, found: list[Loss], columns: list[str] | None
) -> pa.Table:
    """The table with lists of data frames that were left as bytes although one type holds all of them."""
    places = [
        place for place, name in enumerate(core.names or []) if columns is None or (name or "") in columns
    ]
    for place, field in enumerate(made.schema):
        inner = core.child(places[place]) if place < len(places) else None
        if inner is None or not _is_mixed(inner, field.type):
            continue
        array = nested_frames.column_of(inner, {"na": "null", "metadata": False})
        if array is not None:
            made = made.set_column(place, field.name, array)
            found[:] = [
                loss for loss in found if (loss.path, loss.kind) != (f"{path}${field.name}", "code_opaque")
            ]
    return made


def _unnoted(core: Core, made: pa.Table, path: str, found: list[Loss], columns: list[str] | None) -> pa.Table:
    """The table without what only notes in a schema explain: zones that nothing knows, and times in parts."""
    names = [name or "" for name in core.names or []]
    children = [place for place, name in enumerate(names) if columns is None or name in columns]
    for place, field in enumerate(made.schema):
        at = f"{path}${field.name}"
        column: Any = in_known_zone(made.column(place), at, found)
        inner = core.child(children[place]) if place < len(children) and children[place] < len(core) else None
        if inner is not None and is_in_parts(inner):
            told = [loss for loss in found if not loss.path.startswith(f"{at}@")]
            array = vectors.in_parts(inner, at, told)
            if array is not None:
                column, found[:] = array, told
        if column.type != field.type:
            made = made.set_column(place, field.with_type(column.type), column)
    return made


def _selected(made: pa.Table, columns: list[str]) -> pa.Table:
    """The columns of those names, in their order.

    Raises:
        UsageError: Two have one of them.
    """
    twice = next((name for name in columns if made.column_names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(
            f"{made.column_names.count(twice)} columns are named {twice[:60]!a}; read all of them"
        )
    return made.select(columns)


def has_mixed_lists(core: Core, made: pa.Table) -> bool:
    """Whether a data frame has a list as a column whose values no one type of Arrow holds: its table has bytes."""
    return any(_is_mixed(core.child(place), column.type) for place, column in enumerate(made.columns))


def cells(core: Core, made: pa.Table, path: str, found: list[Loss]) -> list[list[Any]]:
    """The columns of a data frame as lists; of a list the values that it has by itself, where Arrow has bytes for them.

    Args:
        core: The data frame.
        made: Its table.
        path: Where it is, for losses.
        found: Losses of the table; those of what was bytes are taken out, and those of the values added.
    """
    from tare.r import documents
    from tare.r.values import Settings, converted

    columns: list[list[Any]] = []
    for place, column in enumerate(made.columns):
        inner, at = core.child(place), f"{path}${made.schema.field(place).name}"
        if not _is_mixed(inner, column.type):
            columns.append(vectors.listed(column, at))
            continue
        found[:] = [loss for loss in found if (loss.path, loss.kind) != (at, "code_opaque")]
        cells = converted(inner, Settings("plain", scalars=True), found, at)
        documents.tell(inner, cells, at, found)
        columns.append(cells)
    return columns


def _is_mixed(core: Core, kind: Any) -> bool:
    """Whether it is a list of other things than bytes that is a column of bytes."""
    import pyarrow as pa

    if core.type != "list" or not pa.types.is_binary(kind):
        return False
    return any(core.child(place).type not in ("raw", "NULL") for place in range(len(core)))


def faced(made: pa.Table, to: str, names: list[str] | list[int] | None = None) -> Any:
    """A table as what was asked for.

    Args:
        made: The table.
        to: ``arrow``, ``python``, ``pandas``, ``polars``, ``numpy``.
        names: Names of the rows, which pandas has as its index.
    """
    if to == "pandas":
        from tare.frames import pandas_from_arrow

        frame = pandas_from_arrow(narrowed(made))
        if names is not None:
            frame.index = _index(names)
        return frame
    if to == "polars":
        return polars_of(made)
    if to == "numpy":
        return made.to_pandas().to_numpy()
    return made


def polars_of(made: Any) -> Any:
    """A table or array of Arrow as a data frame or series of polars.

    Raises:
        Unsupported: Polars has no such values, or names.
    """
    import polars as pl

    from tare.kinds import convert

    try:
        return convert(made, "polars") if hasattr(made, "schema") else pl.from_arrow(made)
    except pl.exceptions.PolarsError as error:
        first = str(error).partition("\n")[0][:160]
        raise Unsupported(f"polars does not take it: {first}. as_='arrow' gives it") from error


def narrowed(made: pa.Table) -> pa.Table:
    """The table with codes of factors as narrow as pandas has those of its categories."""
    import pyarrow as pa

    for place, field in enumerate(made.schema):
        if pa.types.is_dictionary(field.type):
            made = made.set_column(place, field.name, _narrow(made.column(place).combine_chunks()))
    return made


def _narrow(array: Any) -> Any:
    """A dictionary with codes that are as narrow as its levels allow."""
    import pyarrow as pa

    levels = len(array.dictionary)
    width = pa.int8() if levels < 1 << 7 else pa.int16() if levels < 1 << 15 else pa.int32()
    return pa.DictionaryArray.from_arrays(
        array.indices.cast(width), array.dictionary, ordered=array.type.ordered
    )


def part(made: pa.Table, columns: list[str] | None, rows: tuple[int, int] | None) -> pa.Table:
    """Some columns, and rows from one to before another, of a table.

    Raises:
        UsageError: It has no such column.
    """
    if columns is not None:
        missing = next((name for name in columns if name not in made.column_names), None)
        if missing is not None:
            known = ", ".join(made.column_names)
            raise UsageError(f"there is no column {missing[:60]!a}; there are {known[:200]}")
        made = _selected(made, columns)
    if rows is not None:
        made = made.slice(rows[0], rows[1] - rows[0])
    return made


def row_names(core: Core) -> list[str] | list[int] | None:
    """Names of the rows, which are text or numbers; None where they only count."""
    found = core.attribute("row.names")
    if found is not None and found.type == "integer":
        numbers = imported(found.to_arrow({})[0]).to_pylist()
        counts = None in numbers or numbers == list(range(1, len(numbers) + 1))
        return None if counts else numbers
    if found is None or found.type != "character":
        return None
    return texts(found)


def texts(core: Core) -> list[str]:
    """Strings of a vector as text; a missing one is NA, as R shows it."""
    return odd_names.texts(core.strings())


def plain(core: Core, made: pa.Table, path: str, found: list[Loss]) -> dict[str, list[Any]] | list[list[Any]]:
    """Columns by name as lists; a list of columns if a name stands twice."""
    columns = cells(core, made, path, found)
    if len(set(made.column_names)) == made.num_columns:
        return dict(zip(made.column_names, columns, strict=True))
    found.append(Loss(f"{path}@names", "duplicate_names", "names that stand twice", "", made.num_columns))
    return columns


def faced_vector(array: Any, to: str, names: list[str | None] | list[str] | None = None) -> Any:
    """An Arrow array as what was asked for.

    Args:
        array: The array.
        to: ``arrow``, ``python``, ``pandas``, ``polars``, ``numpy``.
        names: Names of the values, which pandas has as its index.
    """
    if to == "pandas":
        return series(array, names)
    if to == "polars":
        return polars_of(array)
    if to == "numpy":
        return array.to_numpy(zero_copy_only=False)
    return array


def series(array: Any, names: list[str | None] | list[str] | None) -> pd.Series:
    """A series of an Arrow array, its names as the index."""
    import pyarrow as pa

    from tare.frames import series_from_arrow

    kind: Any = array.type
    narrow = _narrow(array) if pa.types.is_dictionary(kind) else array
    made = series_from_arrow(pa.chunked_array([narrow]))
    if names is not None:
        made.index = _index([name or "" for name in names])
    return made


def _index(names: list[str] | list[int]) -> pd.Index:
    import pandas as pd

    return pd.Index(names)
