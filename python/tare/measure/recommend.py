"""The use that a recommendation is for, where none was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tare.measure.cost import PROFILES

__all__ = ["default_profile"]


def default_profile(record: Mapping[str, Any]) -> str:
    """The use the headline is for: as asked, else ``cache`` for tables and R objects, ``message`` for documents."""
    asked = (record.get("settings") or {}).get("profile")
    if asked in PROFILES:
        return str(asked)
    return "message" if (record.get("dataset") or {}).get("kind") == "document" else "cache"
