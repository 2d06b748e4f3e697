"""What a data frame of pandas has beside its values, as metadata of an Arrow schema: index, labels, dtypes.

It is what pandas' own ``to_parquet`` writes, under the key ``pandas``, so that pandas' own readers give the frame
back. What pandas leaves out of it stands beside, under ``tare``: the dtype of each column, labels that are not text
as they are, and the frequency of an index of times.
"""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = [
    "NULLABLE",
    "Level",
    "Shape",
    "dtype_name",
    "is_plain",
    "label_columns",
    "mixture",
    "numbered_rows",
    "pandas_metadata",
    "shape_of_frame",
    "shape_of_table",
    "with_pandas_types",
]

# pandas' types of whole numbers, floats and truth values that hold nulls of their own.
NULLABLE = frozenset(
    [f"{kind}{bits}" for kind in ("Int", "UInt") for bits in (8, 16, 32, 64)]
    + ["Float32", "Float64", "boolean"]
)
# dtypes that Arrow's type alone gives back.
_WHOLE = frozenset(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64))
_PLAIN = _WHOLE | {"float32", "float64", "bool", "str"}
_OF_TEXT = ("object", "str", "string")
_OF_TIME = ("datetime64[", "timedelta64[")

_WORDS = {
    "str": "text",
    "int": "numbers",
    "float": "numbers",
    "bool": "truth values",
    "bytes": "bytes",
    "dict": "dicts",
    "list": "lists",
    "tuple": "tuples",
    "date": "dates",
    "datetime": "moments",
    "Timestamp": "moments",
    "time": "times of day",
    "timedelta": "lengths of time",
    "Timedelta": "lengths of time",
    "Decimal": "decimals",
}


@dataclass(frozen=True)
class Level:
    """One level of a row index.

    Args:
        field: Name of the column that holds it.
        name: Its name as pandas has it; None for one without.
        dtype: Its dtype; empty where the metadata has none.
        freq: Frequency of times at equal distances; empty without one.
    """

    field: str
    name: Any
    dtype: str = ""
    freq: str = ""


@dataclass(frozen=True)
class Shape:
    """What a frame has beside its values.

    Args:
        index: The levels of its row index; none for one that only counts the rows.
        labels: The labels of its columns, a tuple for each of several levels; None where they are the names as text.
        label_names: Names of the levels of the labels.
        label_dtypes: Their dtypes.
        dtypes: dtypes of the columns, by the names of the fields and their places among equal names.
    """

    index: tuple[Level, ...] = ()
    labels: tuple[Any, ...] | None = None
    label_names: tuple[Any, ...] = (None,)
    label_dtypes: tuple[str, ...] = ("str",)
    dtypes: tuple[tuple[str, str], ...] = ()


def shape_of_frame(frame: pd.DataFrame, *, counts: bool) -> Shape:
    """Returns what a frame has beside its values.

    Args:
        frame: The frame.
        counts: Whether its index only counts the rows.

    >>> import pandas as pd
    >>> shape_of_frame(pd.DataFrame({1: [0.5]}, index=pd.Index(["a"], name="k")), counts=False).labels
    (1,)
    """
    columns: Any = frame.columns
    index: Any = frame.index
    names = [str(name) for name in columns]
    levels: list[Level] = []
    for place, name in enumerate([] if counts else index.names):
        taken = name is None or str(name) in names or str(name) in [level.field for level in levels]
        level = index.levels[place] if index.nlevels > 1 else index
        freq = str(getattr(index, "freqstr", None) or "") if index.nlevels == 1 else ""
        is_times = str(level.dtype).startswith(_OF_TIME)
        field = f"__index_level_{place}__" if taken else str(name)
        levels.append(Level(field, _plain(name), dtype_name(level.dtype), freq if is_times else ""))
    dtypes = tuple((name, dtype_name(dtype)) for name, dtype in zip(names, frame.dtypes, strict=True))
    of_text = columns.nlevels == 1 and str(columns.dtype) in _OF_TEXT
    if of_text and columns.name is None and all(type(name) is str for name in columns):
        return Shape(tuple(levels), dtypes=dtypes)
    kinds = (
        [str(columns.levels[place].dtype) for place in range(columns.nlevels)]
        if columns.nlevels > 1
        else [str(columns.dtype)]
    )
    return Shape(
        tuple(levels), tuple(map(_plain, columns)), tuple(map(_plain, columns.names)), tuple(kinds), dtypes
    )


def is_plain(shape: Shape) -> bool:
    """Returns whether Arrow's columns alone give a frame of this shape back.

    >>> is_plain(Shape(dtypes=(("a", "int64"),))), is_plain(Shape(dtypes=(("a", "Int64"),)))
    (True, False)
    """
    dtypes = {dtype for _, dtype in shape.dtypes}
    return (
        not shape.index
        and shape.labels is None
        and all(dtype in _PLAIN or dtype.startswith(_OF_TIME) for dtype in dtypes)
    )


def shape_of_table(table: pa.Table) -> Shape:
    """Returns what the metadata of a table says of the frame that it was; a plain shape where there is none.

    >>> import pyarrow as pa
    >>> shape_of_table(pa.table({"a": [1]}))
    Shape(index=(), labels=None, label_names=(None,), label_dtypes=('str',), dtypes=())
    """
    said = _said(table)
    entries = [one for one in _list(said.get("columns")) if isinstance(one, dict)]
    of_field = {str(one.get("field_name")): one for one in entries}
    levels = []
    for field in _list(said.get("index_columns")):
        if not isinstance(field, str) or field not in table.column_names:
            continue
        entry = of_field.get(field) or {}
        own = _own(entry)
        name = entry.get("name", None if field.startswith("__index_level_") else field)
        if field.startswith("__index_level_") and name == field:
            name = None  # as older metadata had it
        name = _tuples(own["label"]) if "label" in own else name
        levels.append(Level(field, name, str(own.get("dtype") or ""), str(own.get("freq") or "")))
    fields = [level.field for level in levels]
    columns = [one for one in entries if one.get("field_name") not in fields]
    names = [str(one.get("field_name")) for one in columns]
    dtypes = tuple(
        (name, str(_own(one)["dtype"]))
        for name, one in zip(names, columns, strict=True)
        if "dtype" in _own(one)
    )
    own = _own(said)
    there = [name for name in table.column_names if name not in fields]
    at = {name: place for place, name in enumerate(names)}
    if "label_names" not in own or not all(name in at for name in there):
        return Shape(tuple(levels), dtypes=dtypes)
    places = list(range(len(names))) if there == names else [at[name] for name in there]
    label_dtypes = tuple(map(str, _list(own.get("label_dtypes"))))
    is_whole = len(label_dtypes) == 1 and label_dtypes[0] in _WHOLE
    labels = tuple(
        _tuples(_own(columns[place]).get("label", _number(names[place]) if is_whole else names[place]))
        for place in places
    )
    return Shape(
        tuple(levels),
        labels,
        tuple(map(_tuples, _list(own["label_names"]))),
        label_dtypes,
        dtypes,
    )


def label_columns(frame: pd.DataFrame, shape: Shape) -> None:
    """Gives the columns of a frame their labels; they stay as they are where the labels cannot be made again.

    Args:
        frame: The frame, which is changed.
        shape: What it had.
    """
    import pandas as pd

    if shape.labels is None or len(shape.labels) != frame.shape[1]:
        return
    try:
        if len(shape.label_names) > 1:
            parts = zip(*shape.labels, strict=True) if shape.labels else [()] * len(shape.label_names)
            levels = [
                _index(list(part), dtype) for part, dtype in zip(parts, shape.label_dtypes, strict=True)
            ]
            frame.columns = pd.MultiIndex.from_arrays(levels, names=shape.label_names)
        else:
            made = _index(list(shape.labels), shape.label_dtypes[0])
            frame.columns = made.rename(shape.label_names[0])
    except (ValueError, TypeError, IndexError):
        return


def pandas_metadata(shape: Shape, rows: int | None) -> dict[str, Any]:
    """Returns the metadata that pandas' own readers go by: the index, labels, and which columns are of nullable types.

    Without the latter they give whole numbers with nulls back as floats, which hold them to 2^53 only.

    Args:
        shape: What the frame has beside its values.
        rows: How many rows it has; None for word of the types alone, whatever frame it was.
    """
    labels = shape.labels if shape.labels is not None else [None] * len(shape.dtypes)
    fields = []
    for (name, dtype), label in zip(shape.dtypes, labels, strict=True):
        # The name says a label that is a number, and there may be thousands.
        is_said = shape.labels is None or (
            isinstance(label, int) and len(set(shape.label_dtypes) & _WHOLE) == 1
        )
        own = {"dtype": dtype} | ({} if is_said else {"label": label})
        fields.append(_entry(name, name, dtype) | ({} if rows is None else {"tare": own}))
    for level in shape.index:
        own = {"dtype": level.dtype}
        own |= {"freq": level.freq} if level.freq else {}
        own |= {} if level.name is None or isinstance(level.name, str) else {"label": level.name}
        known = None if level.name is None else str(level.name)
        fields.append(_entry(known, level.field, level.dtype) | {"tare": own})
    rows_alone = {"kind": "range", "name": None, "start": 0, "stop": rows, "step": 1}
    told: dict[str, Any] = {
        "index_columns": [level.field for level in shape.index] or ([] if rows is None else [rows_alone]),
        "column_indexes": _label_levels(shape),
        "columns": fields,
        "creator": {"library": "tare"},
    }
    if shape.labels is not None:
        told["tare"] = {"label_names": shape.label_names, "label_dtypes": shape.label_dtypes}
    return told


def with_pandas_types(table: pa.Table) -> pa.Table:
    """Returns a table with the periods and intervals of pandas, which are their storage where they were read without it.

    >>> import pyarrow as pa
    >>> table = pa.table({"a": [1]})
    >>> with_pandas_types(table) is table
    True
    """
    import pyarrow as pa

    for place, field in enumerate(table.schema):
        about = field.metadata or {}
        name = about.get(b"ARROW:extension:name", b"")
        if not name.startswith(b"pandas.") or isinstance(field.type, pa.BaseExtensionType):
            continue
        own: Any = import_module("pandas.core.arrays.arrow.extension_types")
        made: Any = {b"pandas.period": own.ArrowPeriodType, b"pandas.interval": own.ArrowIntervalType}.get(
            name
        )
        try:
            kind = made.__arrow_ext_deserialize__(field.type, about.get(b"ARROW:extension:metadata", b""))
            chunks = [pa.ExtensionArray.from_storage(kind, chunk) for chunk in table.column(place).chunks]
        except (AttributeError, KeyError, TypeError, ValueError):
            continue  # what another program wrote
        rest: Any = {key: value for key, value in about.items() if not key.startswith(b"ARROW:extension:")}
        typed: Any = pa.chunked_array(chunks, kind)
        table = table.set_column(place, field.with_type(kind).with_metadata(rest), typed)
    return table


def dtype_name(dtype: Any) -> str:
    """Returns a dtype as text; that of a category of intervals or periods names these too.

    >>> import pandas as pd
    >>> dtype_name(pd.CategoricalDtype(pd.interval_range(0, 2)))
    'category of interval[int64, right]'
    """
    levels = getattr(getattr(dtype, "categories", None), "dtype", None)
    return f"category of {levels}" if str(levels).startswith(("interval", "period")) else str(dtype)


def mixture(values: Any) -> str:
    """Returns the kinds of values of a column in words; empty where they are of one.

    Args:
        values: A column of objects.

    >>> mixture(["a", 1, None, 2.5])
    'text and numbers'
    """
    kinds: dict[str, None] = {}
    for kind in dict.fromkeys(type(value) for value in values if not _is_nan(value)):
        if kind.__name__ not in ("NoneType", "NAType", "NaTType"):
            kinds.setdefault(_WORDS.get(kind.__name__, kind.__name__[:40]))
    names = list(kinds)
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else ""


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value  # noqa: PLR0124 - which is what NaN is


def _entry(name: str | None, field: str, dtype: str) -> dict[str, Any]:
    return {
        "name": name,
        "field_name": field,
        "pandas_type": dtype.lower() if dtype in NULLABLE else "object",
        "numpy_type": dtype if dtype in NULLABLE or dtype == "string" else "object",
        "metadata": None,
    }


def _label_levels(shape: Shape) -> list[dict[str, Any]]:
    """The levels of the labels as pandas' readers take them; none where they could not read the labels."""
    if shape.labels is None:
        return []
    if not all(dtype in _WHOLE or dtype in _OF_TEXT for dtype in shape.label_dtypes):
        return []
    if len(shape.label_names) > 1:
        try:
            read = [ast.literal_eval(name) for name, _ in shape.dtypes]
        except (ValueError, SyntaxError):
            return []
        if read != list(shape.labels):
            return []
    return [
        {
            "name": name,
            "field_name": name,
            "pandas_type": dtype if dtype in _WHOLE else "unicode",
            "numpy_type": dtype if dtype in _WHOLE else "object",
            "metadata": {"encoding": "UTF-8"} if dtype not in _WHOLE else None,
        }
        for name, dtype in zip(shape.label_names, shape.label_dtypes, strict=True)
    ]


def _index(labels: list[Any], dtype: str) -> Any:
    import pandas as pd

    if dtype in _OF_TEXT:
        return pd.Index(labels, dtype=dtype)
    return pd.Index(labels).astype(dtype)


def _plain(label: Any) -> Any:
    """A label as JSON holds it; that of another type as text."""
    if isinstance(label, tuple):
        return tuple(map(_plain, label))
    if label is None or isinstance(label, str | bool):
        return label
    if hasattr(label, "dtype") and hasattr(label, "item"):
        label = label.item()  # NumPy's
    return label if isinstance(label, int) and abs(label) < 2**63 else str(label)


def _number(name: str) -> int | str:
    try:
        return int(name)
    except ValueError:
        return name  # of another program


def _tuples(label: Any) -> Any:
    return tuple(map(_tuples, label)) if isinstance(label, list) else label


def numbered_rows(raw: bytes | None) -> str:
    """Returns how pandas counts the rows of a table whose index is in no column, in words; empty where it counts from 0.

    Args:
        raw: The metadata under ``pandas``; None without any.

    >>> numbered_rows(b'{"index_columns": [{"kind": "range", "name": null, "start": 3, "stop": 6, "step": 1}]}')
    'from 3 to 5'
    >>> numbered_rows(b'{"index_columns": [{"kind": "range", "name": null, "start": 0, "stop": 6, "step": 1}]}'), numbered_rows(None)
    ('', '')
    """
    try:
        found = _read(raw)["index_columns"][0]
        counts = range(*(int(found[name]) for name in ("start", "stop", "step")))
    except (ValueError, KeyError, IndexError, TypeError):
        return ""
    if (counts.start, counts.step) == (0, 1) or not counts:
        return ""
    return f"from {counts[0]} to {counts[-1]}{f' by {counts.step}' if counts.step != 1 else ''}"


def _said(table: pa.Table) -> dict[str, Any]:
    return _read((table.schema.metadata or {}).get(b"pandas"))


def _read(raw: bytes | None) -> dict[str, Any]:
    try:
        said = json.loads(raw) if raw else {}
    except ValueError:
        return {}  # from a file: not worth an error, the columns are all there
    return said if isinstance(said, dict) else {}


def _own(said: dict[str, Any]) -> dict[str, Any]:
    own = said.get("tare")
    return own if isinstance(own, dict) else {}


def _list(found: Any) -> list[Any]:
    return found if isinstance(found, list) else []
