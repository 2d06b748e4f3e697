"""R's matrices and arrays: NumPy's in Fortran order, nested lists, or a table with a column for each of theirs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tare.errors import Malformed, Unsupported
from tare.r import odd_names, vectors
from tare.r.losses import Loss, losses_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    from tare._tare import RObject as Core
    from tare.r.values import Settings

__all__ = ["is_matrix", "table", "value"]

# Classes that say what the numbers are; any other is a name alone, such as `table` and `ts`.
_TYPED = frozenset({"factor", "Date", "POSIXct", "difftime", "hms", "integer64", "nanotime"})
_SHAPE = ("@dim", "@dimnames")


def is_matrix(core: Core) -> bool:
    """Whether it is a vector in rows and columns."""
    dim = core.dim
    return core.type in vectors.TYPES and dim is not None and len(dim) == 2


def value(core: Core, settings: Settings, path: str, found: list[Loss]) -> Any:
    """The value of a vector with dimensions, in its shape, whatever its class.

    Raises:
        Malformed: It has another number of values than its dimensions say.
        Unsupported: It has more than two dimensions, and Arrow is asked for.
    """
    dim = _dim(core, path)
    if settings.to in ("arrow", "polars"):
        if len(dim) == 2:
            from tare.r.frames import faced

            return faced(table(core, settings.na, path, found), settings.to)
        if len(dim) > 2:
            raise Unsupported(
                f"{path or 'it'} is an array of {_sizes(dim)}: Arrow has none; as_='python' gives NumPy's",
                format="rds",
                path=path,
            )
    if len(dim) == 1 and settings.to in ("arrow", "polars", "pandas"):
        return _of_one(core, settings, path, found)
    array = _flat(core, settings, path, found).reshape(dim, order="F")
    if settings.to == "pandas" and len(dim) == 2:
        found.append(Loss(path, "type_changed", "matrix", "data frame"))
        return _frame(array, core, path, found)
    names = core.attribute("dimnames")
    if names is not None and names.type != "NULL":
        found.append(Loss(f"{path}@dimnames", "attribute_dropped", vectors.shown(names)))
    return array.tolist() if settings.to == "plain" else array


def table(core: Core, na: str, path: str, found: list[Loss]) -> pa.Table:
    """The Arrow table of a matrix: a column for each of its own, named as they are, else V1, V2 and so on as R does.

    Args:
        core: The matrix.
        na: ``null``, or ``nan`` to make missing doubles NaN.
        path: Where it is, for losses.
        found: The list that losses are added to.

    Raises:
        Malformed: It has another number of values than its dimensions say.
    """
    import pyarrow as pa

    rows, columns = _dim(core, path)
    exported, lost = core.to_arrow({"na": na, "metadata": False})
    found.extend(losses_of([one for one in lost if one[0] not in _SHAPE], path))
    found.append(Loss(path, "type_changed", "matrix", "table"))
    row_names = _names(core, 0, rows, path, found)
    if row_names is not None:
        found.append(Loss(f"{path}@dimnames", "row_names_dropped", "names of rows", "", rows))
    names = _names(core, 1, columns, path, found) or [f"V{place + 1}" for place in range(columns)]
    _titles(core, path, found)
    if not columns:
        from tare.kinds import rows_alone

        return rows_alone(rows)
    array = vectors.imported(exported)
    return pa.Table.from_arrays([array.slice(place * rows, rows) for place in range(columns)], names=names)


def _dim(core: Core, path: str) -> tuple[int, ...]:
    """The dimensions, which the values fill.

    Raises:
        Malformed: They do not.
    """
    dim = tuple(core.dim or ())
    if math.prod(dim) != len(core) or min(dim, default=0) < 0:
        raise Malformed(
            f"{path or 'it'} has {len(core):,} values, and the dimensions {_sizes(dim)}", format="rds"
        )
    return dim


def _sizes(dim: tuple[int, ...]) -> str:
    return " x ".join(map(str, dim))


def _of_one(core: Core, settings: Settings, path: str, found: list[Loss]) -> Any:
    """A vector with one dimension: its names are the index of pandas' series."""
    from tare.r.frames import faced_vector

    exported, lost = core.to_arrow({"na": settings.na, "metadata": False})
    found.extend(losses_of([one for one in lost if one[0] not in _SHAPE], path))
    names = _names(core, 0, len(core), path, found)
    if names is not None and settings.to != "pandas":
        found.append(Loss(f"{path}@dimnames", "attribute_dropped", "names of values", "", len(names)))
    _titles(core, path, found)
    return faced_vector(vectors.imported(exported), settings.to, names)


def _flat(core: Core, settings: Settings, path: str, found: list[Loss]) -> np.ndarray[Any, Any]:
    """The values one column behind another, as they lie."""
    classes = core.attribute("class")
    typed = classes is not None and bool(_TYPED.intersection(core.r_class))
    if not typed:
        for name, inner in core.attributes:
            if name not in ("dim", "dimnames"):
                kind = "class_dropped" if name == "class" else "attribute_dropped"
                found.append(Loss(f"{path}@{name}", kind, vectors.shown(inner)))
        if core.type == "character":
            return vectors.objects(vectors.texts_of(core, path, found))
        if core.type == "raw":
            found.append(Loss(path, "type_changed", "bytes", "integers from 0 to 255"))
        numbers = vectors.masked(core, settings, path, found)
        return vectors.with_none(numbers) if settings.to == "plain" else numbers
    exported, lost = core.to_arrow({"na": settings.na, "metadata": False})
    found.extend(losses_of([one for one in lost if one[0] not in _SHAPE], path))
    vectors.storage(core, path, found)
    array = vectors.imported(exported)
    if settings.to == "plain":
        return vectors.objects(vectors.listed(array, path))
    return _numpy(array, path, found)


def _numpy(array: Any, path: str, found: list[Loss]) -> np.ndarray[Any, Any]:
    """Values of a type of Arrow as NumPy's; integers that are missing are masked."""
    import numpy as np
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        found.append(Loss(f"{path}@levels", "attribute_dropped", "levels and their order", "values"))
        array = array.dictionary_decode()
    if pa.types.is_timestamp(array.type) and array.type.tz is not None:
        found.append(Loss(f"{path}@tzone", "attribute_dropped", array.type.tz[:60], "UTC"))
    if pa.types.is_integer(array.type) and array.null_count:
        missing = array.is_null().to_numpy(zero_copy_only=False)
        return np.ma.MaskedArray(array.fill_null(0).to_numpy(zero_copy_only=False), missing)
    made: np.ndarray[Any, Any] = array.to_numpy(zero_copy_only=False)
    return made


def _frame(array: Any, core: Core, path: str, found: list[Loss]) -> pd.DataFrame:
    """A data frame of a matrix, with the names of its rows and columns."""
    import pandas as pd

    frame = _of_masked(array) if hasattr(array, "mask") else pd.DataFrame(array)
    rows, columns = (_names(core, axis, frame.shape[axis], path, found) for axis in (0, 1))
    if rows is not None:
        frame.index = pd.Index(rows)
    if columns is not None:
        frame.columns = pd.Index(columns)
    names = core.attribute("dimnames")
    titles = (None if names is None else names.names) or []
    frame.index.name, frame.columns.name = ([title or None for title in titles[:2]] + [None, None])[:2]
    return frame


def _of_masked(array: Any) -> pd.DataFrame:
    """Columns that miss whole numbers stay whole numbers."""
    import pyarrow as pa

    from tare.frames import pandas_from_arrow

    columns = [pa.array(array.data[:, k], mask=array.mask[:, k]) for k in range(array.shape[1])]
    frame = pandas_from_arrow(pa.Table.from_arrays(columns, names=[str(k) for k in range(len(columns))]))
    return frame.set_axis(range(len(columns)), axis=1)


def _names(core: Core, axis: int, size: int, path: str, found: list[Loss]) -> list[str] | None:
    """The names along an axis; None where there are none, and where they are no texts or not as many."""
    names = core.attribute("dimnames")
    if names is None or names.type != "list" or len(names) <= axis:
        return None
    one = names.child(axis)
    if one.type == "NULL":
        return None
    if one.type != "character" or len(one) != size:
        found.append(Loss(f"{path}@dimnames", "attribute_dropped", vectors.shown(one)))
        return None
    odd_names.tell(one, f"{path}@dimnames[[{axis + 1}]]", found)
    return odd_names.texts(one.strings())


def _titles(core: Core, path: str, found: list[Loss]) -> None:
    """Tell what an axis is called, which no table has a place for."""
    names = core.attribute("dimnames")
    if names is not None and names.names is not None:
        found.append(Loss(f"{path}@dimnames@names", "attribute_dropped", "names of the dimensions"))
