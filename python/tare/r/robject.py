"""`RObject`: any value of R as it is, to be looked into, converted, and written again unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tare.r.losses import Loss

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from tare._tare import RObject as Core

__all__ = ["RObject"]


class RObject:
    """A value of R: a handle on it, which copies nothing.

    What cannot be a Python value, a function, an environment, an S4 object, stays one of these. Lists,
    calls and S4 objects are looked into by position and name; an environment is a mapping too.

    ``==`` tells whether two would be written as the same bytes; `identical` asks as R does.

    >>> from tare import r
    >>> model = r.read(b'structure(list(a = 1:3, b = "x"), class = "model")', format="dput", as_="robject")
    >>> model.type, model.r_class, model.names, len(model)
    ('list', ['model'], ['a', 'b'], 2)
    >>> model["a"].to_python()
    array([1, 2, 3], dtype=int32)
    """

    __slots__ = ("_core", "loss")
    __hash__ = None  # type: ignore[assignment] # it is equal to others that are written alike

    def __init__(self, core: Core) -> None:
        self._core = core
        self.loss: list[Loss] = []
        """What conversions of this handle did not keep, in their order."""

    @property
    def type(self) -> str:
        """R's ``typeof``: ``double``, ``list``, ``closure``, ``environment`` ..."""
        return self._core.type

    @property
    def r_class(self) -> list[str]:
        """R's ``class()``, implicit ones as ``matrix`` and ``function`` included."""
        return self._core.r_class

    @property
    def attributes(self) -> list[tuple[str, RObject]]:
        """All attributes in the order of the file; row names are compact if they are there."""
        return [(name, RObject(value)) for name, value in self._core.attributes]

    @property
    def names(self) -> list[str | None] | None:
        """R's ``names()``; None if there are none."""
        return self._core.names

    @property
    def dim(self) -> tuple[int, ...] | None:
        """Rows, columns and so on of a matrix or array; None of other values."""
        found = self._core.dim
        return None if found is None else tuple(found)

    @property
    def slots(self) -> dict[str, RObject] | None:
        """The slots of an S4 object; None of other values."""
        found = self._core.slots
        return None if found is None else {name: RObject(value) for name, value in found}

    @property
    def flags(self) -> list[str]:
        """What is in it beside data: ``promise``, ``closure``, ``bytecode``, ``external pointer`` ..."""
        return self._core.flags

    def __len__(self) -> int:
        return len(self._core)

    def __getitem__(self, key: int | str) -> Any:
        """An element by position or name: an `RObject`, of a vector its value.

        Raises:
            IndexError, KeyError: There is none.
            TypeError: It has no elements, or the key is neither.
        """
        if isinstance(key, str):
            if self._is_vector:
                return self._value(self._place_of(key))
            return RObject(self._core.get(key))
        if not isinstance(key, int):
            raise TypeError(f"an element of an R object is asked for by position or name, not {key!r:.40}")
        place = key + len(self) if key < 0 else key
        if not 0 <= place < len(self):
            raise IndexError(f"there is no element {key} of {len(self):,}")
        if self.type == "environment":
            raise TypeError("an environment has names and no positions")
        return self._value(place) if self._is_vector else RObject(self._core.child(place))

    @property
    def _is_vector(self) -> bool:
        return self.type in ("logical", "integer", "double", "complex", "character", "raw")

    def _place_of(self, name: str) -> int:
        names = self.names or []
        if name not in names:
            raise KeyError(name)
        return names.index(name)

    def _value(self, place: int) -> Any:
        from tare.r.values import element

        return element(self._core, place)

    def keys(self) -> list[str]:
        """The names: of an environment's variables, of slots or elements."""
        return self._core.keys()

    def values(self) -> list[Any]:
        """The values of `keys`."""
        return [value for _, value in self.items()]

    def items(self) -> list[tuple[str, Any]]:
        """Names and values; of a name that stands twice each value."""
        if self._is_vector:
            return list(zip(self.keys(), self, strict=False))
        return [(name, RObject(value)) for name, value in self._core.items()]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.keys()

    def __iter__(self) -> Iterator[Any]:
        if self.type == "environment":
            return iter(self.keys())
        return (self[place] for place in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return self._core.equal(other._core) if isinstance(other, RObject) else NotImplemented

    def identical(self, other: RObject) -> bool:
        """Whether R's ``identical()`` would say so: the same values and attributes, however they are written."""
        return self._core.identical(other._core)

    def __repr__(self) -> str:
        return repr(self._core)

    def to_python(self, *, scalars: bool = False, na: str = "null", strict: bool = False) -> Any:
        """NumPy and Arrow arrays, lists, dicts; what has no such value stays an `RObject`.

        Args:
            scalars: Whether vectors of one value are that value.
            na: ``nan`` makes missing doubles NaN.
            strict: Whether the first loss is an error.

        Raises:
            LossError: Something would be lost, and ``strict``.
        """
        return self._converted("python", scalars=scalars, na=na, strict=strict)

    def to_arrow(self, *, na: str = "null", strict: bool = False) -> pa.Table | pa.Array[Any]:
        """A `pyarrow.Table` of a data frame, an array of a vector.

        Raises:
            Unsupported: It is neither.
            LossError: Something would be lost, and ``strict``.
        """
        found: pa.Table | pa.Array[Any] = self._converted("arrow", na=na, strict=strict)
        return found

    def to_pandas(self, *, na: str = "null", strict: bool = False) -> pd.DataFrame | pd.Series:
        """A data frame, row names that are text as its index; a series of a vector.

        Raises:
            Unsupported: It is neither.
            LossError: Something would be lost, and ``strict``.
        """
        found: pd.DataFrame | pd.Series = self._converted("pandas", na=na, strict=strict)
        return found

    def to_polars(self, *, na: str = "null", strict: bool = False) -> pl.DataFrame | pl.Series:
        """A data frame, or a series of a vector.

        Raises:
            Unsupported: It is neither.
            LossError: Something would be lost, and ``strict``.
        """
        found: pl.DataFrame | pl.Series = self._converted("polars", na=na, strict=strict)
        return found

    def to_numpy(self, *, na: str = "null", strict: bool = False) -> np.ndarray[Any, Any]:
        """An array of a vector, a matrix or an array of more dimensions, in Fortran order, as R has it.

        Numbers are not copied. Integers of which some are missing are a masked array.

        Raises:
            Unsupported: It is no vector.
            LossError: Something would be lost, and ``strict``.
        """
        found: np.ndarray[Any, Any] = self._converted("numpy", na=na, strict=strict)
        return found

    def to_bytes(self, *, version: int | None = None, encoding: str | None = None) -> bytes:
        """R's serialization of it, as ``serialize()`` gives it; by default as it was read.

        Args:
            version: 2 or 3.
            encoding: ``xdr``, ``native``, ``ascii`` or ``asciihex``.

        Raises:
            UsageError: There is no such version or encoding.
        """
        return self._core.to_bytes(version=version, encoding=encoding or self._core.header["encoding"])

    def _converted(self, to: str, *, scalars: bool = False, na: str, strict: bool) -> Any:
        from tare.r.losses import settle
        from tare.r.values import Settings, converted

        found: list[Loss] = []
        value = converted(self._core, Settings(to, scalars=scalars, na=na), found)
        settle(found, self.loss, strict=strict, what="R object")
        return value
