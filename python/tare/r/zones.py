"""Time zones that R names and the time zone database does not."""

from __future__ import annotations

from typing import Any

from tare.arrays import is_known_zone
from tare.r.losses import Loss, Losses

__all__ = ["in_known_zone", "tell_zone", "zone_within"]

_UTC = frozenset({"UTC", "Etc/UTC", "GMT", "Etc/GMT"})


def in_known_zone(array: Any, path: str, found: list[Loss]) -> Any:
    """The array, in UTC if nothing knows the zone of its times; the moments are the same.

    Args:
        array: An array or column of Arrow.
        path: Where it is.
        found: The list that the loss is added to.
    """
    import pyarrow as pa

    if not pa.types.is_timestamp(array.type) or array.type.tz is None or is_known_zone(array.type.tz):
        return array
    found.append(Loss(f"{path}@tzone", "attribute_dropped", f"unknown time zone {array.type.tz[:60]}", "UTC"))
    return array.cast(pa.timestamp(array.type.unit, "UTC"))


def tell_zone(kind: Any, path: str, found: list[Loss]) -> None:
    """Tells the name of a zone where a list of losses has a place for what some formats do not keep.

    Args:
        kind: The type of an array or column of Arrow.
        path: Where it is.
        found: The list; only `Losses` have that place.
    """
    zone = zone_within(kind)
    if isinstance(found, Losses) and zone is not None:
        found.of_zones.append(Loss(f"{path}@tzone", "attribute_dropped", f"time zone {zone}", "its offset"))


def zone_within(kind: Any) -> str | None:
    """Returns the name of the first zone that a type of Arrow has, at whatever depth; None for UTC, an offset, and no zone.

    Args:
        kind: The type.

    >>> import pyarrow as pa
    >>> zone_within(pa.list_(pa.timestamp("us", "Asia/Tokyo"))), zone_within(pa.timestamp("us", "UTC"))
    ('Asia/Tokyo', None)
    """
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        zone: str | None = kind.tz
        return None if zone is None or zone in _UTC or zone[:1] in "+-" else zone
    found = (zone_within(kind.field(at).type) for at in range(kind.num_fields))
    return next((zone for zone in found if zone is not None), None)
