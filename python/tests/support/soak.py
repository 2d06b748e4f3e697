"""The size of a test: short in ``make test``, the whole in ``make soak``, which sets ``TARE_SOAK=1``."""

from __future__ import annotations

import os
from typing import TypeVar

T = TypeVar("T")

SOAK = os.environ.get("TARE_SOAK") == "1"


def scaled(short: T, long: T) -> T:
    """Return ``short`` in ``make test`` and ``long`` in ``make soak``."""
    return long if SOAK else short


def count(what: str, number: int) -> None:
    """Report how much a test did, e.g. kills, to ``make soak``, which adds the numbers up and records them."""
    if SOAK:
        print(f"soak: {what}={number}")
