"""Every driver keeps to what `tare.store.testing` checks, from Python."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from support.stores import new_store

from tare.store import testing

NAMES = itertools.count()
DRIVERS: dict[str, tuple[str, dict[str, Any]]] = {
    "memory": ("memory:python-{n}", {}),
    "memory-zstd": ("memory:python-{n}", {"compressor": "zstd:1", "cache": "1M"}),
    "folder": ("{path}/kit-folder-{n}", {}),
    "folder-each": ("{path}/kit-folder-{n}", {"durability": "each", "verify": "once", "compressor": "none"}),
    "storr": ("storr:{path}/kit-storr-{n}", {}),
    "storr-mangled": ("storr:{path}/kit-storr-{n}", {"mangle_key": True, "hash_algorithm": "blake3", "compress": False}),
}  # fmt: skip


@pytest.mark.parametrize("check", testing.CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.parametrize("driver", DRIVERS)
def test_drivers_conform(driver: str, check: Any, tmp_path: Path) -> None:
    """Check by check, each over a store of its own."""
    new_store(driver.partition("-")[0], tmp_path).close()  # a skip where it is not built in
    url, options = DRIVERS[driver]
    check(testing.Place(url.format(n=next(NAMES), path=tmp_path), options))


def test_the_kit_fails_for_a_driver_that_does_not_conform() -> None:
    """A store that is not empty is named by the first check that it fails."""
    from tare import open_store

    open_store("memory:used")["a"] = 1
    with pytest.raises(AssertionError, match="check_empty"):
        testing.driver_conformance(lambda: "memory:used")


def test_the_kit_is_one_call(tmp_path: Path) -> None:
    """For drivers of others: a function that gives a URL."""
    testing.driver_conformance(lambda: f"storr:{tmp_path}/{next(NAMES)}", mangle_key=True)
