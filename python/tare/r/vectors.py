"""R's vectors as arrays and lists: integers stay integers, and what is missing is null."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from tare.errors import Unsupported
from tare.r.instants import instants, is_in_parts
from tare.r.losses import Loss, losses_of
from tare.r.zones import in_known_zone, tell_zone

if TYPE_CHECKING:
    import numpy as np

    from tare._tare import RArrow
    from tare._tare import RObject as Core
    from tare.r.values import Settings

__all__ = [
    "TYPES",
    "imported",
    "in_parts",
    "listed",
    "masked",
    "objects",
    "scalar",
    "shown",
    "storage",
    "texts_of",
    "value",
    "with_none",
]

TYPES = frozenset({"logical", "integer", "double", "complex", "character", "raw"})

_NA_INT = -(2**31)
_DTYPES = {"logical": "<i4", "integer": "<i4", "double": "<f8", "complex": "<c16", "raw": "u1"}
# Attributes that the values themselves carry.
_OWN = frozenset({"names", "dim", "dimnames", "class", "tzone", "units", "levels"})
_SHOWN = 60


def value(core: Core, settings: Settings, path: str, found: list[Loss]) -> Any:
    """The value of a vector, or of a time that R keeps as a list.

    Raises:
        Unsupported: An array or complex numbers have no form in what is wanted.
        Malformed: A matrix has another number of values than its dimensions say.
    """
    if core.type in TYPES and core.dim is not None:
        from tare.r import matrices

        return matrices.value(core, settings, path, found)
    if core.type == "list" or core.attribute("class") is not None:
        return _with_class(core, settings, path, found)
    _dropped(core, settings, path, found)
    if settings.to in ("arrow", "polars", "pandas"):
        return _series(core, settings, path, found)
    if settings.to == "plain" or (settings.scalars and len(core) == 1 and core.type != "raw"):
        return _plain(core, settings, path, found)
    if core.type == "character":
        texts = texts_of(core, path, found)
        if not texts and settings.to == "python":
            found.append(Loss(path, "type_changed", "character of no strings", "an empty list"))
        return texts if settings.to == "python" else objects(texts)
    if core.type == "raw" and settings.to == "python":
        return bytes(core.data())
    return _array(core, settings, path, found)


def scalar(core: Core, place: int) -> Any:
    """One value of a vector; None if it is missing."""
    if core.attribute("class") is not None:
        array = in_known_zone(imported(core.to_arrow({})[0]), "", [])
        return listed(array.slice(place, 1), "")[0]
    if core.type == "character":
        return core.strings()[place]
    item = _numbers(core)[place]
    if core.type == "complex":
        return complex(item)
    if core.type == "double":
        return None if _is_na(item) else float(item)
    if core.type == "raw":
        return int(item)
    if item == _NA_INT:
        return None
    return bool(item) if core.type == "logical" else int(item)


def shown(core: Core) -> str:
    """A value of R in a few words, for a report of losses: its strings, or its type and length."""
    if core.type in ("character", "symbol"):
        text = ", ".join("NA" if one is None else str(one) for one in core.strings()[:5])
        return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
    size = len(core)
    return f"{core.type} of {size:,} value{'s' * (size != 1)}"


def imported(exported: RArrow) -> Any:
    """A table of a data frame that the core exports, an array of any other vector."""
    import pyarrow as pa

    if exported.is_table:
        return pa.Table.from_batches([pa.record_batch(cast(Any, exported))])
    return pa.array(cast(Any, exported))


def listed(array: Any, path: str) -> list[Any]:
    """The values of an array or column of Arrow as Python's own.

    Raises:
        Unsupported: Python has none like one of them: a day beyond the year 9999, a struct with a name twice.
    """
    import pyarrow as pa

    try:
        values: list[Any] = array.to_pylist()
    except (ValueError, OverflowError, pa.ArrowException) as error:
        raise Unsupported(
            f"{path or 'it'}: Python has no such value ({str(error)[:160]}). R's own formats hold it, and from Python as_='arrow'",
            format="rds",
            path=path,
        ) from error
    return values


def _with_class(core: Core, settings: Settings, path: str, found: list[Loss]) -> Any:
    """Factors, dates, times, 64-bit integers: the type of Arrow that says the same."""
    array = in_parts(core, path, found) if is_in_parts(core) else None
    if array is None:
        array = _series(core, settings, path, found, plain=True)
    storage(core, path, found)
    if settings.to in ("polars", "plain") and core.attribute("levels") is not None:
        found.append(Loss(f"{path}@levels", "attribute_dropped", "levels and their order", "values"))
    if settings.to == "plain":
        tell_zone(array.type, path, found)
        if "integer64" in core.r_class:
            found.append(Loss(path, "type_changed", "integer64", "integers"))
    if settings.to == "plain" or (settings.scalars and len(array) == 1):
        values = listed(array, path)
        return values[0] if settings.scalars and len(values) == 1 else values
    return _faced(array, settings, core)


def in_parts(core: Core, path: str, found: list[Loss]) -> Any:
    """Instants of a time in parts; None where its parts are no time."""
    exported, lost = core.to_arrow({"metadata": False})
    parts = imported(exported)
    array = instants(core, parts, path, found)
    if array is parts:
        return None
    kept = {"@class"} | ({"@tzone"} if array.type.tz is not None else set())
    found.extend(losses_of([one for one in lost if one[0].startswith("@") and one[0] not in kept], path))
    return array


def storage(core: Core, path: str, found: list[Loss]) -> None:
    """Tell what the type of Arrow does not say of how R stores a time."""
    if not {"Date", "POSIXct", "difftime"}.intersection(core.r_class):
        return
    if core.type == "integer":
        found.append(Loss(path, "type_changed", "time stored as integers", "as doubles"))
    if "POSIXct" in core.r_class and core.attribute("tzone") is None:
        found.append(Loss(f"{path}@tzone", "type_changed", "no attribute tzone", "one that is empty"))


def _series(core: Core, settings: Settings, path: str, found: list[Loss], *, plain: bool = False) -> Any:
    # An array alone has no place for R's attributes.
    exported, lost = core.to_arrow({"na": settings.na, "metadata": False})
    # Names are the index of pandas' series.
    lost = [one for one in lost if settings.to != "pandas" or one[0] != "@names"]
    found.extend(losses_of(lost, path))
    array = imported(exported)
    if settings.to not in ("python", "arrow") or settings.scalars:
        array = in_known_zone(array, path, found)
    return array if plain else _faced(array, settings, core)


def _faced(array: Any, settings: Settings, core: Core) -> Any:
    """An Arrow array as what was asked for."""
    from tare.r.frames import faced_vector

    # A time in parts has their names, which are not those of its values.
    return faced_vector(array, settings.to, None if core.type == "list" else core.names)


def _dropped(core: Core, settings: Settings, path: str, found: list[Loss]) -> None:
    """Attributes of a vector without a class that its value has not."""
    if settings.to in ("arrow", "polars", "pandas"):
        return  # the core tells what its array has not
    for name, inner in core.attributes:
        found.append(Loss(f"{path}@{name}", "attribute_dropped", shown(inner)))


def _array(core: Core, settings: Settings, path: str, found: list[Loss]) -> Any:
    """Numbers as they lie, without a copy, if none is missing."""
    import numpy as np

    numbers = _numbers(core)
    if core.type in ("logical", "integer"):
        missing = numbers == _NA_INT
        if missing.any():
            if settings.to == "numpy":
                values = numbers.astype(bool) if core.type == "logical" else numbers
                return np.ma.MaskedArray(values, missing)
            return imported(core.to_arrow({})[0])
        return numbers.astype(bool) if core.type == "logical" else numbers
    if core.type == "double":
        count = _count_na(numbers)
        if count and settings.to == "python" and settings.na == "null":
            return imported(core.to_arrow({})[0])
        if count and settings.na == "nan":
            found.append(Loss(path, "na_to_nan", "NA", "NaN", count))
    return numbers


def _plain(core: Core, settings: Settings, path: str, found: list[Loss]) -> Any:
    """Python's own values: a list, or the only one of them."""
    if core.type == "raw":
        return bytes(core.data())
    if core.type == "character":
        values = texts_of(core, path, found)
    elif core.type == "complex":
        values = _numbers(core).tolist()
    else:
        numbers = _numbers(core)
        values = numbers.astype(bool).tolist() if core.type == "logical" else numbers.tolist()
        missing = _missing(core.type, numbers)
        if core.type == "double" and settings.na == "nan" and len(missing):
            found.append(Loss(path, "na_to_nan", "NA", "NaN", len(missing)))
        else:
            for place in missing:
                values[place] = None
    return values[0] if settings.scalars and len(values) == 1 else values


def _missing(kind: str, numbers: np.ndarray[Any, Any]) -> Any:
    import numpy as np

    if kind == "double":
        return np.flatnonzero(_na_mask(numbers))
    return np.flatnonzero(numbers == _NA_INT)


def masked(core: Core, settings: Settings, path: str, found: list[Loss]) -> Any:
    """Numbers of a matrix; those that miss integers are masked."""
    import numpy as np

    numbers = _numbers(core)
    if core.type in ("logical", "integer"):
        missing = numbers == _NA_INT
        values = numbers.astype(bool) if core.type == "logical" else numbers
        return np.ma.MaskedArray(values, missing) if missing.any() else values
    if core.type == "double" and settings.to != "plain":
        count = _count_na(numbers)
        if count:
            found.append(Loss(path, "na_to_nan", "NA", "NaN with R's bits", count))
    return numbers


def with_none(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Numbers of which doubles are objects of Python, None where one is R's NA."""
    if numbers.dtype.kind != "f":
        return numbers
    flat = numbers.astype(object)
    flat[_na_mask(numbers)] = None
    return flat


def _na_mask(array: np.ndarray[Any, Any]) -> Any:
    import numpy as np

    bits = np.asfortranarray(array).view("<u8")
    return np.isnan(array) & ((bits & 0xFFFF_FFFF) == 1954)


def _numbers(core: Core) -> np.ndarray[Any, Any]:
    """The numbers as they lie in memory; R's logicals are 32-bit integers."""
    import numpy as np

    numbers: np.ndarray[Any, Any] = np.frombuffer(cast(Any, core.data()), _DTYPES[core.type])
    return numbers


def texts_of(core: Core, path: str, found: list[Loss]) -> list[Any]:
    """The strings of a vector; what is no text is bytes, and told."""
    texts: list[Any] = core.strings()
    count = sum(type(one) is bytes for one in texts)
    if count:
        r = "strings marked as bytes, or not UTF-8 without a mark (encoding= names their encoding)"
        found.append(Loss(path, "bytes_string", r, "bytes", count))
    return texts


def objects(values: list[Any]) -> np.ndarray[Any, Any]:
    """Any values as an array of one dimension."""
    import numpy as np

    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _count_na(numbers: np.ndarray[Any, Any]) -> int:
    import numpy as np

    if not np.isnan(numbers).any():
        return 0
    return len(_missing("double", numbers))


def _is_na(item: Any) -> bool:
    bits = item.view("<u8")
    return bool(item != item and int(bits) & 0xFFFF_FFFF == 1954)  # noqa: PLR0124 - only NaN differs from itself
