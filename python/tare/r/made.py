"""Values of Python as R objects: tables as data frames, dicts as named lists, scalars as vectors of one value."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tare.arrays import array_of
from tare.categories import has_order, in_one_order, same_levels
from tare.errors import EncodeError
from tare.frames import with_columns
from tare.r.losses import Loss, losses_of
from tare.r.missing import NA

if TYPE_CHECKING:
    from tare._tare import RObject as Core

__all__ = ["core_of"]

_PLAIN = frozenset({bool, float, str, bytes, complex})
_TIMES = (dt.datetime, dt.date, dt.timedelta)
_LEAST = -(2**31) + 1
# Of a field: what R has there, as the core notes it.
_NOTE = b"tare:r"


def core_of(value: Any, found: list[Loss], *, simplify: int = 1) -> Core:
    """The R object of a value.

    Args:
        value: An `RObject`, a table or array of Arrow, pandas, polars or NumPy, or lists, dicts and scalars.
        found: The list that losses are added to.
        simplify: Least length of a list of like scalars that becomes a vector; shorter ones are lists of R.

    Raises:
        EncodeError: R has no such value; the path is given.
    """
    from tare._tare import r_from_python
    from tare.r.robject import RObject

    if isinstance(value, RObject):
        return value._core  # noqa: SLF001 - as it was read, with the header of its file
    top: list[Any] = [None]
    open_: set[int] = set()
    tasks: list[tuple[Any, Any, Any, str]] = [(top, 0, value, "")]
    while tasks:
        into, key, one, path = tasks.pop()
        if into is None:  # everything inside is done
            open_.discard(key)
            continue
        if isinstance(one, Mapping | list | tuple) and not hasattr(one, "__arrow_c_stream__"):
            if id(one) in open_:
                raise EncodeError(
                    f"{path or 'it'} contains itself: R's lists are trees", format="rds", path=path
                )
            leaf = _vector(one, simplify) if isinstance(one, list | tuple) else None
            if leaf is not None:
                into[key] = _of_arrow(leaf, path, found)
                continue
            open_.add(id(one))
            tasks.append((None, id(one), None, ""))
            into[key] = _spread(one, path, tasks)
            continue
        into[key] = _leaf(one, path, found)
    made, lost = r_from_python(top[0], {})
    found.extend(losses_of(lost))
    return made


def _spread(one: Any, path: str, tasks: list[tuple[Any, Any, Any, str]]) -> Any:
    """An empty copy of a dict or list, whose values become tasks."""
    if isinstance(one, Mapping):
        wrong = next((name for name in one if not isinstance(name, str)), None)
        if wrong is not None:
            raise EncodeError(
                f"{path or 'it'}: a name of R is text, not {type(wrong).__name__}: {wrong!r:.40}",
                format="rds",
                path=path,
            )
        named: dict[str, Any] = dict.fromkeys(one)
        tasks.extend((named, name, inner, f"{path}${name}") for name, inner in one.items())
        return named
    values: list[Any] = [None] * len(one)
    # What the core would take for a vector is given to it as objects, so that the list stays one.
    one = [_alone(inner) for inner in one]
    tasks.extend((values, place, inner, f"{path}[[{place + 1}]]") for place, inner in enumerate(one))
    return values


def _alone(inner: Any) -> Any:
    """A scalar as an R object; anything else as it is."""
    from tare._tare import r_from_python
    from tare.r.robject import RObject

    plain = inner is None or type(inner) in _PLAIN or (type(inner) is int and _LEAST <= inner < 2**31)
    return RObject(r_from_python(inner, {})[0]) if plain else inner


def _leaf(one: Any, path: str, found: list[Loss]) -> Any:
    """What the core takes: None, a scalar, bytes, or an R object."""
    from tare.r.robject import RObject

    if isinstance(one, RObject):
        return one._core  # noqa: SLF001 - it is the same package's
    if one is None or isinstance(one, bool | float | str | bytes | complex):
        return one
    if isinstance(one, int):
        if _LEAST <= one < 2**31:
            return one
        return _of_arrow(_integers([one], path), path, found)
    if isinstance(one, bytearray | memoryview):
        return bytes(one)
    import pyarrow as pa

    if (
        type(one).__module__ == "numpy"
        and one.ndim
        and not hasattr(one, "mask")
        and one.dtype.kind in "biufc"
    ):
        return one
    if isinstance(one, NA):
        return _of_arrow(pa.array([None], _type_of(one.type)), path, found)
    if isinstance(one, _TIMES):
        return _of_arrow(pa.array([one]), path, found)
    names = _row_names(one)
    if names is not None:
        return _named_rows(_of_arrow(_columnar(one.reset_index(drop=True), path), path, found), names)
    made = _of_arrow(_columnar(one, path), path, found)
    return _named(made, one.index, path, found) if _is_series(one) else made


def _is_series(one: Any) -> bool:
    """Whether it is a series of pandas."""
    return type(one).__module__.partition(".")[0] == "pandas" and type(one).__name__ == "Series"


def _named(core: Core, index: Any, path: str, found: list[Loss]) -> Core:
    """The vector with the names that a series has as its index; an index of anything else is a loss."""
    from tare.frames import only_counts

    names = index.tolist() if index.nlevels == 1 else []
    if not len(index) or only_counts(index):
        return core
    if not names or not all(isinstance(name, str) for name in names):
        found.append(Loss(f"{path}@names", "attribute_dropped", f"index of {index.dtype}"))
        return core
    from tare._tare import r_from_python, r_read

    plain = core.to_bytes(3, "xdr")
    flags = int.from_bytes(plain[_HEADER_BYTES : _HEADER_BYTES + 4], "big")
    begun = _words(flags | _ATTRIBUTES).join((plain[:_HEADER_BYTES], plain[_HEADER_BYTES + 4 :]))
    texts = r_from_python(names, {})[0].to_bytes(3, "xdr")[_HEADER_BYTES:]
    pair = _words(_TAGGED, 1, 0x40009, 5) + b"names" + texts + _words(254)
    made = r_read((begun[:-4] if flags & _ATTRIBUTES else begun) + pair, {"format": "rds"})
    assert not isinstance(made, list)
    return made


def _row_names(one: Any) -> list[str] | list[int] | None:
    """The index of a data frame of pandas, if R can have it as names of rows: texts or integers, each once."""
    if type(one).__module__.partition(".")[0] != "pandas" or type(one).__name__ != "DataFrame":
        return None
    index = one.index
    if index.nlevels > 1 or index.name is not None or not len(index) or not index.is_unique:
        return None
    names = index.tolist()
    if index.dtype.kind in "iu":
        from tare.frames import only_counts

        return None if only_counts(index) or not all(_LEAST <= name < 2**31 for name in names) else names
    return names if all(isinstance(name, str) for name in names) else None


def _named_rows(core: Core, names: list[str] | list[int]) -> Core:
    """The data frame with names of rows, which its serialization has last."""
    from tare._tare import r_from_python, r_read

    plain = core.to_bytes(3, "xdr")
    counted = _words(13, 2, -(2**31), -len(names))
    if not plain.endswith(counted + _words(254)):
        raise EncodeError("a data frame does not end with its row names", format="rds")
    texts = r_from_python(names, {})[0].to_bytes(3, "xdr")[_HEADER_BYTES:]
    made = r_read(plain[: -len(counted) - 4] + texts + _words(254), {"format": "rds"})
    assert not isinstance(made, list)
    return made


# Of version 3 with UTF-8 as native encoding.
_HEADER_BYTES = 23
# Bits of the word before a value, and that of a pairlist's node with a tag.
_ATTRIBUTES = 0x200
_TAGGED = 0x402


def _words(*words: int) -> bytes:
    return b"".join(word.to_bytes(4, "big", signed=True) for word in words)


def _columnar(one: Any, path: str) -> Any:
    """A table or array of another library as one of Arrow.

    Raises:
        EncodeError: It is none, or has values that are nothing outside their library.
    """
    made = _as_arrow(one, path)
    schema = getattr(made, "schema", None)
    types = (
        {field.name: field.type for field in schema}
        if schema is not None
        else {"": getattr(made, "type", None)}
    )
    odd = next((name for name, kind in types.items() if getattr(kind, "extension_name", "") == _PERIOD), None)
    if odd is not None:
        where = f"{path}${odd}" if odd else path
        raise EncodeError(
            f"{where or 'it'}: R has no periods; make them times with .dt.to_timestamp()",
            format="rds",
            path=where,
        )
    return made


_PERIOD = "pandas.period"


def _as_arrow(one: Any, path: str) -> Any:
    import pyarrow as pa

    from tare import kinds

    library = type(one).__module__.partition(".")[0]
    if kinds.kind_of(one) == "table":
        return kinds.convert(one, "arrow")
    if library == "polars" and "Object" in str(getattr(one, "dtype", "")):
        raise EncodeError(
            f"{path or 'it'}: polars holds its values as objects of Python", format="rds", path=path
        )
    try:
        if _is_series(one):
            return kinds.convert(one.to_frame("x").reset_index(drop=True), "arrow").column(0)
        if library == "numpy" and getattr(one, "ndim", 0) == 0:
            return pa.array([one.item()])
        if hasattr(one, "__arrow_c_stream__") or hasattr(one, "__arrow_c_array__"):
            return one
        if library == "numpy" and one.ndim == 1:
            return array_of(one.filled(None) if hasattr(one, "mask") else one)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise EncodeError(f"{path or 'it'}: {str(error)[:160]}", format="rds", path=path) from error
    raise EncodeError(
        f"{path or 'it'}: R has no value for {one!r:.60} ({type(one).__name__})", format="rds", path=path
    )


def _of_arrow(one: Any, path: str, found: list[Loss]) -> Core:
    from tare._tare import r_from_arrow

    try:
        made, lost = r_from_arrow(_with_levels(_with_complex(_with_text_alone(_in_one_order(one)))), {})
    except ValueError as error:
        raise EncodeError(f"{path or 'it'}: {str(error)[:160]}", format="rds", path=path) from error
    found.extend(losses_of(lost, path))
    return made


def _with_text_alone(one: Any) -> Any:
    """Returns a table without its metadata if these are not UTF-8, which the core refuses."""
    metadata = getattr(getattr(one, "schema", None), "metadata", None) or {}
    try:
        b"\n".join((*metadata, *metadata.values())).decode()
    except UnicodeDecodeError:
        return one.replace_schema_metadata(None)
    return one


def _with_complex(one: Any) -> Any:
    """Returns a table whose columns of structs of re and im, as complex numbers are in Arrow, say that they are complex.

    A table with the key ``r`` says itself what they are. A data frame, which a struct is else, has no missing row.
    """
    import pyarrow as pa

    if not isinstance(one, pa.Table) or b"r" in (one.schema.metadata or {}):
        return one
    changed = {}
    for at, (field, column) in enumerate(zip(one.schema, one.columns, strict=True)):
        notes: Any = field.metadata or {}
        if _is_complex(column) and _NOTE not in notes:
            changed[at] = field.with_metadata({**notes, _NOTE: b"complex"}), column
    return with_columns(one, changed)


def _is_complex(column: Any) -> bool:
    """Whether a column is a struct of re and im, both doubles."""
    import pyarrow as pa

    kind = column.type
    return (
        pa.types.is_struct(kind)
        and [field.name for field in kind] == ["re", "im"]
        and all(field.type == pa.float64() for field in kind)
    )


def _in_one_order(one: Any) -> Any:
    """Ordered categories with one order over all chunks: the core takes levels in order of appearance."""
    import pyarrow as pa

    if isinstance(one, pa.ChunkedArray):
        return pa.chunked_array(same_levels(one.chunks), one.type) if has_order(one.type) else one
    return in_one_order(one) if isinstance(one, pa.Table) else one


def _with_levels(one: Any) -> Any:
    """A table without rows as a batch: as a stream it has no batch, and the levels of its factors stand in those."""
    import pyarrow as pa

    if not isinstance(one, pa.Table) or one.num_rows:
        return one
    columns = [column.combine_chunks() for column in one.columns]
    return pa.RecordBatch.from_arrays(columns, schema=one.schema)


def _vector(values: list[Any] | tuple[Any, ...], least: int) -> Any:
    """An Arrow array of scalars of one type, None and R's NA among them; None if they are no vector."""
    import pyarrow as pa

    if len(values) < least or not values:
        return None
    kinds = {type(one) for one in values}
    if NA in kinds:
        typed = {one.type for one in values if isinstance(one, NA)}
        values = [None if isinstance(one, NA) else one for one in values]
        kinds = {kind for kind in kinds if kind is not NA}
        if len(typed) > 1:
            return None
        if not kinds - {type(None)}:
            return pa.array(values, _type_of(typed.pop()))
    kinds.discard(type(None))
    if len(kinds) != 1:
        return None
    kind = kinds.pop()
    if kind is int:
        return _integers(values, "") if _all_fit(values) else None
    if kind is float:
        return _doubles(values)
    return pa.array(values) if kind in (bool, str) else None


def _type_of(kind: str) -> Any:
    """The type of Arrow of one of R's."""
    import pyarrow as pa

    return {"logical": pa.bool_(), "integer": pa.int32(), "character": pa.string()}[kind]


def _doubles(values: list[Any] | tuple[Any, ...]) -> Any:
    import pyarrow as pa

    return pa.array(values, pa.float64())


def _all_fit(values: Iterable[Any]) -> bool:
    return all(one is None or -(2**63) < one < 2**63 for one in values)


def _integers(values: list[Any] | tuple[Any, ...], path: str) -> Any:
    """Integers of 32 bits where all fit, of 64 where they do not.

    Raises:
        EncodeError: One has more.
    """
    import pyarrow as pa

    if not _all_fit(values):
        raise EncodeError(
            f"{path or 'it'}: an integer of more than 64 bits, which R does not have", format="rds", path=path
        )
    small = all(one is None or _LEAST <= one < 2**31 for one in values)
    return pa.array(values, pa.int32() if small else pa.int64())
