"""R's times in parts (`POSIXlt`: year, month, day ... each a vector) as instants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare.r.losses import Loss

if TYPE_CHECKING:
    from tare._tare import RObject as Core

__all__ = ["instants", "is_in_parts"]

_PARTS = ("sec", "min", "hour", "mday", "mon", "year")
_UTC = frozenset({"UTC", "GMT", "Etc/UTC", "Etc/GMT", "Etc/UCT", "UCT", "GMT0", "Zulu"})
# Beyond it a year has no time of Arrow in microseconds.
_MOST_YEARS = 290_000


def is_in_parts(core: Core) -> bool:
    """Whether it is a time that R keeps as a list of its parts."""
    return core.type == "list" and "POSIXlt" in core.r_class


def instants(core: Core, parts: Any, path: str, found: list[Loss]) -> Any:
    """The times as instants in their zone, without a zone where R would take that of the machine.

    Args:
        core: The object of R, for its zone.
        parts: The same as a struct of Arrow.
        path: Where it is, for losses.
        found: The list that losses are added to.

    Returns:
        An array of instants; the struct itself where its parts are no time.
    """
    import numpy as np
    import pyarrow as pa

    names = [parts.type.field(place).name for place in range(parts.type.num_fields)]
    if any(names.count(name) != 1 for name in _PARTS):
        return parts
    numbers = [_numbers(parts.field(name)) for name in _PARTS]
    if any(one is None for one in numbers):
        return parts
    sec, minute, hour, mday, mon, year = numbers
    known = np.isfinite(np.stack(numbers)).all(axis=0) & (np.abs(year) < _MOST_YEARS)
    sec, minute, hour, mday, mon, year = (np.where(known, one, 0.0) for one in numbers)
    months = ((year - 70) * 12 + mon).astype("int64").astype("datetime64[M]").astype("datetime64[D]")
    whole = np.floor(sec)
    seconds = ((mday - 1) * 86_400 + hour * 3_600 + minute * 60 + whole).astype("int64")
    micros = np.round((sec - whole) * 1e6).astype("int64")
    local = months.astype("datetime64[us]") + seconds * np.timedelta64(1_000_000, "us") + micros
    lost = int(np.count_nonzero(np.isfinite(numbers[5])) - np.count_nonzero(known))
    if lost:
        found.append(Loss(path, "value_dropped", "a time with a missing part, or beyond Arrow's", "NA", lost))
    found.append(Loss(f"{path}@class", "class_dropped", "POSIXlt, POSIXt", "instants"))
    return _in_zone(pa.array(local, pa.timestamp("us"), mask=~known), core, parts, names)


def _numbers(array: Any) -> Any:
    """A part as doubles, NaN where it is missing; None if it is none."""
    import numpy as np
    import pyarrow as pa

    if not (pa.types.is_integer(array.type) or pa.types.is_floating(array.type)):
        return None
    made: np.ndarray[Any, Any] = (
        array.cast(pa.float64()).fill_null(float("nan")).to_numpy(zero_copy_only=False)
    )
    return made


def _in_zone(local: Any, core: Core, parts: Any, names: list[str]) -> Any:
    """Times of a clock on the wall as instants: by the offset that R kept, else by the zone's rules."""
    import pyarrow as pa
    import pyarrow.compute as pc

    zone = _zone(core)
    if zone is None:
        return local
    if zone in _UTC:
        return local.cast(pa.timestamp("us", "UTC"))
    summer = _numbers(parts.field("isdst")) if "isdst" in names else None
    try:
        early, late = (
            pc.assume_timezone(local, zone, ambiguous=which, nonexistent="latest")
            for which in ("earliest", "latest")
        )
    except pa.ArrowException:
        return local  # a zone that the database of zones has not
    if summer is None:
        return early
    return pc.if_else(pa.array(summer > 0), early, late)


def _zone(core: Core) -> str | None:
    """The name of the zone; None where it is that of the machine."""
    found = core.attribute("tzone")
    if found is None or found.type != "character" or not len(found):
        return None
    name = found.strings()[0]
    return name if isinstance(name, str) and name and "\0" not in name else None
