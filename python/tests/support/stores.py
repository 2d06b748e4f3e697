"""Stores that tests make: by the names of their drivers."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from tare import open_store
from tare.store import Store

__all__ = ["new_store", "url_of"]

NAMES = itertools.count()


def url_of(driver: str, folder: Path) -> str:
    """The URL of a new store."""
    n = next(NAMES)
    return {
        "memory": f"memory:test-{n}",
        "folder": f"{folder}/folder-{n}",
        "storr": f"storr:{folder}/storr-{n}",
    }[driver]


def new_store(driver: str, folder: Path, **options: Any) -> Store:
    """A new store."""
    return open_store(url_of(driver, folder), **options)
