"""What a unit can be asked to do. A plan names one of these; it can carry no other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tare.scale.tasks import convert, encode, measure, put

if TYPE_CHECKING:
    from tare.scale.running import Made, Writing

__all__ = ["TASKS"]

TASKS: Mapping[str, Callable[[dict[str, Any], Writing], Made]] = {
    "convert": convert.run,
    "encode": encode.run,
    "put": put.run,
    "measure": measure.run,
}
