"""What `import tare` shows and loads."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import tare

MODULES = ("blit", "compress", "errors", "formats", "measure", "messages", "r", "scale", "store")


def test_dir_shows_the_public_names_and_modules() -> None:
    """In order, each once, and nothing else."""
    assert sorted({*tare.__all__, *MODULES}) == dir(tare)


@pytest.mark.parametrize("name", MODULES)
def test_modules_are_there_without_an_import(name: str) -> None:
    """An attribute is the module of that name."""
    assert getattr(tare, name) is importlib.import_module(f"tare.{name}")


def test_an_unknown_name_is_an_attribute_error() -> None:
    """As of any module."""
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        _ = tare.nope


def test_importing_and_listing_load_no_module() -> None:
    """``import tare`` and ``dir(tare)`` load the package alone; a name loads what it needs."""
    code = (
        "import sys, tare; dir(tare); print([n for n in sys.modules if n.startswith('tare')]);"
        "tare.errors; print('tare.errors' in sys.modules, 'tare.formats' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ["['tare']", "True False"] == done.stdout.splitlines()
