"""Measuring: which route is fastest, smallest and safest for this data, here.

>>> from tare import measure
>>> len(measure.Plan.named("load").cases()) > 20
True

Names are resolved on first use, so that importing this package costs nothing.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["Plan", "Result", "compare", "gate", "load", "run"]

if TYPE_CHECKING:
    from tare.measure.comparing import compare
    from tare.measure.gating import gate
    from tare.measure.plan import Plan
    from tare.measure.result import Result, load
    from tare.measure.run import run

_HOMES = {
    "Plan": "tare.measure.plan",
    "Result": "tare.measure.result",
    "compare": "tare.measure.comparing",
    "gate": "tare.measure.gating",
    "load": "tare.measure.result",
    "run": "tare.measure.run",
}


class _Package(ModuleType):
    """Keeps ``measure.run`` the function when the module of that name is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tare.measure' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
