"""Time zones that R names and the time zone database does not."""

from __future__ import annotations

from typing import Any

from tare.r.losses import Loss

__all__ = ["in_known_zone"]


def in_known_zone(array: Any, path: str, found: list[Loss]) -> Any:
    """The array, in UTC if nothing knows the zone of its times; the moments are the same.

    Args:
        array: An array or column of Arrow.
        path: Where it is.
        found: The list that the loss is added to.
    """
    import pyarrow as pa

    if not pa.types.is_timestamp(array.type) or array.type.tz is None or _is_known(array.type.tz):
        return array
    found.append(Loss(f"{path}@tzone", "attribute_dropped", f"unknown time zone {array.type.tz[:60]}", "UTC"))
    return array.cast(pa.timestamp(array.type.unit, "UTC"))


def _is_known(zone: str) -> bool:
    import zoneinfo

    if zone[:1] in "+-":
        return True
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
