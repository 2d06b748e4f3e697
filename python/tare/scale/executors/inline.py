"""No engine: units run here, one after another."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from tare.scale.executors.base import Engine

__all__ = ["InlineEngine"]


class InlineEngine(Engine):
    """This process."""

    name = "inline"
    most = 1  # it runs a unit when it is given it

    def submit(self, unit: dict[str, Any], settings: Mapping[str, Any]) -> Future[dict[str, Any]]:
        """Run a unit now."""
        from tare.scale.running import run_unit

        done: Future[dict[str, Any]] = Future()
        done.set_result(run_unit(unit, settings))
        return done

    def close(self) -> None:
        """Nothing was started."""
