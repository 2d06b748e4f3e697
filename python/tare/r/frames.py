"""R's data frames as tables of Arrow, pandas and polars; matrices as data frames with their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare.errors import Unsupported, UsageError
from tare.r.losses import Loss, losses_of
from tare.r.vectors import imported, storage
from tare.r.zones import in_known_zone

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from tare._tare import RObject as Core
    from tare.r.values import Settings

__all__ = [
    "faced",
    "matrix",
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
        _unkeyed(core, settings.to, path, lost)
    if settings.to == "pandas":
        names = row_names(core)
        if names is not None:
            lost = [loss for loss in lost if loss.kind != _ROWS]
    found.extend(lost)
    if settings.to == "plain":
        return plain(made, path, found)
    return faced(made, settings.to, names)


def _unkeyed(core: Core, to: str, path: str, found: list[Loss]) -> None:
    """What only the key ``r``, or the schema, would keep of a data frame and its columns."""
    extra = [name for name in core.r_class if name != "data.frame"]
    if extra:
        found.append(Loss(f"{path}@class", "class_dropped", ", ".join(extra)))
    for place, name in enumerate(core.names or []):
        column = core.child(place)
        storage(column, f"{path}${name}", found)
        if to == "polars" and column.attribute("levels") is not None:
            found.append(
                Loss(f"{path}${name}@levels", "attribute_dropped", "levels and their order", "values")
            )


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
    found.extend(losses_of(lost, path))
    made: pa.Table = imported(exported)
    if not keyed:
        for place, field in enumerate(made.schema):
            column = in_known_zone(made.column(place), f"{path}${field.name}", found)
            if column.type != field.type:
                made = made.set_column(place, field.with_type(column.type), column)
    return made if columns is None or columns == made.column_names else _selected(made, columns)


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
            column: Any = made.column(place).combine_chunks()
            levels = len(column.dictionary)
            width = pa.int8() if levels < 1 << 7 else pa.int16() if levels < 1 << 15 else pa.int32()
            codes = column.indices.cast(width)
            made = made.set_column(
                place,
                field.name,
                pa.DictionaryArray.from_arrays(codes, column.dictionary, ordered=field.type.ordered),
            )
    return made


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
    return ["NA" if one is None else str(one) for one in core.strings()]


def plain(made: pa.Table, path: str, found: list[Loss]) -> dict[str, list[Any]] | list[list[Any]]:
    """Columns by name as lists; a list of columns if a name stands twice."""
    columns = [column.to_pylist() for column in made.columns]
    if len(set(made.column_names)) == made.num_columns:
        return dict(zip(made.column_names, columns, strict=True))
    found.append(Loss(f"{path}@names", "duplicate_names", "names that stand twice", "", made.num_columns))
    return columns


def series(array: Any, names: list[str | None] | None) -> pd.Series:
    """A series of an Arrow array, its names as the index."""
    import pyarrow as pa

    from tare.frames import pandas_from_arrow

    frame = pandas_from_arrow(narrowed(pa.table({"x": array})))
    made: pd.Series = frame["x"].rename(None)
    if names is not None:
        made.index = _index([name or "" for name in names])
    return made


def matrix(array: Any, names: Core | None, path: str, found: list[Loss]) -> pd.DataFrame:
    """A data frame of a matrix, with the names of its rows and columns; other ones than those are lost."""
    import pandas as pd

    rows, columns = (
        (None, None) if names is None or names.type == "NULL" else (names.child(0), names.child(1))
    )

    def labels(one: Core | None) -> Any:
        return None if one is None or one.type == "NULL" else _index(texts(one))

    titles = (None if names is None else names.names) or [None, None]

    frame = _of_masked(array) if hasattr(array, "mask") else pd.DataFrame(array)
    axes: list[Any] = [labels(rows), labels(columns)]
    for axis, one in enumerate(axes):
        if one is not None and len(one) != frame.shape[axis]:
            found.append(Loss(f"{path}@dimnames", "attribute_dropped", f"{len(one):,} names of an axis"))
            axes[axis] = None
    if axes[0] is not None:
        frame.index = axes[0]
    if axes[1] is not None:
        frame.columns = axes[1]
    frame.index.name, frame.columns.name = (title or None for title in titles[:2])
    return frame


def _of_masked(array: Any) -> pd.DataFrame:
    """Columns that miss whole numbers stay whole numbers."""
    import pyarrow as pa

    from tare.frames import pandas_from_arrow

    columns = [pa.array(array.data[:, k], mask=array.mask[:, k]) for k in range(array.shape[1])]
    frame = pandas_from_arrow(pa.Table.from_arrays(columns, names=[str(k) for k in range(len(columns))]))
    return frame.set_axis(range(len(columns)), axis=1)


def _index(names: list[str] | list[int]) -> pd.Index:
    import pandas as pd

    return pd.Index(names)
