"""HDF5 as pandas writes it with PyTables (https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html).

Columns of Python objects inside an HDF5 file are pickles, so reading one may run code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare.formats.base import Buffer, Format, Library, Option

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FORMAT"]

_LAYOUT = Option(
    "fixed", ("fixed", "table"), "fixed = whole arrays, faster; table = rows that can be queried."
)
_KEY = "table"
_EXACT = 2**53  # integers up to here are floats exactly
# The file lives in memory: the driver wants a name and touches no file.
_DRIVER: dict[str, Any] = {"driver": "H5FD_CORE", "driver_core_backing_store": 0}


def _encode(obj: pd.DataFrame, *, layout: Any) -> bytes:
    import warnings

    import pandas as pd

    with warnings.catch_warnings(), pd.HDFStore("memory.h5", mode="w", **_DRIVER) as store:
        # That objects become pickles is in the library's notes, and not for standard error.
        warnings.simplefilter("ignore", pd.errors.PerformanceWarning)
        store.put(_KEY, _storable(obj), format=layout, track_times=False)
        handle: Any = store._handle  # noqa: SLF001 - pandas has no door to an image in memory
        image: bytes = handle.get_file_image()
        return image


def _storable(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with NumPy's dtypes in place of pandas' and Arrow's for integers and truth values.

    HDFStore takes no other. Its arrays have no place for a null, so integers that have some
    become floats where each is one exactly, as pandas itself does it, else objects.
    """
    import pandas as pd

    stored = frame.copy(deep=False)
    for place, dtype in enumerate(frame.dtypes):
        if isinstance(dtype, pd.api.extensions.ExtensionDtype) and dtype.kind in "iub":
            stored.isetitem(place, _without_mask(frame.iloc[:, place]))
    return stored


def _without_mask(series: Any) -> Any:
    import pandas as pd

    missing = series.isna()
    known = series[~missing]
    plain: Any = getattr(series.dtype, "numpy_dtype", object)
    if not missing.any():
        return pd.Series(series.to_numpy(dtype=plain), index=series.index)
    if series.dtype.kind != "b" and (known.empty or max(int(known.max()), -int(known.min())) <= _EXACT):
        return pd.Series(series.to_numpy(dtype="float64", na_value=float("nan")), index=series.index)
    return pd.Series(series.to_numpy(dtype=object, na_value=None), index=series.index, dtype=object)


def _decode(data: Buffer, *, layout: str) -> Any:
    import pandas as pd

    with pd.HDFStore("memory.h5", mode="r", driver_core_image=bytes(data), **_DRIVER) as store:
        return store[_KEY if f"/{_KEY}" in store.keys() else store.keys()[0]]  # noqa: SIM118 - no mapping


FORMAT = Format(
    id="hdf5",
    title="HDF5",
    extensions=(".h5", ".hdf5", ".hdf"),
    kinds=frozenset({"table"}),
    magic=(b"\x89HDF\r\n\x1a\n",),
    spec="https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html",
    languages=("c", "c++", "csharp", "java", "julia", "python", "r"),
    executes_code=True,
    libraries=(
        Library(
            name="pandas",
            native={"table": "pandas"},
            encode=_encode,
            decode=_decode,
            modules=("pandas", "tables"),
            distribution="tables",
            extra="tables",
            options={"layout": _LAYOUT},
            variants={"table": ({},)},
            executes_code=True,
            notes=(
                "Columns of objects are pickles inside the file: reading runs code that the bytes name.",
                "Integers with nulls come back as floats; above 2**53 they and truth values with nulls are objects.",
            ),
        ),
    ),
)
