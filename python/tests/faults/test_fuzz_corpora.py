"""Every Python fuzz target runs over its whole corpus, so that no target falls behind the code."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

FUZZ = Path(__file__).resolve().parents[3] / "fuzz" / "python"


def loaded(name: str) -> ModuleType:
    """A module of the fuzz folder, which is no package."""
    spec = importlib.util.spec_from_file_location(f"tare_fuzz_{name}", FUZZ / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RUN = loaded("run")


def test_every_module_of_the_folder_is_a_target() -> None:
    assert sorted(path.stem for path in FUZZ.glob("*.py")) == sorted([*RUN.TARGETS, "run"])


@pytest.mark.parametrize("name", RUN.TARGETS)
def test_target_takes_its_corpus(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(FUZZ), *sys.path])
    assert RUN.replay(name, loaded(name).fuzz)
