"""The examples in the documentation of compiled functions, and of `tare.blit`, give what they say."""

from __future__ import annotations

import ast
import doctest
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import tare._tare

MODULES = ["arrow", "collection", "columns", "options", "support"]


def documented(node: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    """Names and documentation of all classes and functions."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(inner)
            if text is not None and ">>>" in text:
                yield f"{name}.{inner.name}", text
            yield from documented(inner, f"{name}.{inner.name}")


def test_the_examples_of_the_core_are_true(root: Path) -> None:
    tree = ast.parse((root / "python/tare/_tare.pyi").read_text(encoding="utf-8"))
    ran = 0
    for name, text in documented(tree, "tare._tare"):
        test = doctest.DocTestParser().get_doctest(text, vars(tare._tare).copy(), name, None, 0)
        found = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
        assert found.failed == 0, name
        ran += found.attempted
    assert ran > 2  # those of blit are in the compiled functions themselves: test_blit_help.py


@pytest.mark.parametrize("name", ["", *(f".{module}" for module in MODULES)])
def test_the_examples_of_blit_are_true(name: str) -> None:
    found = doctest.testmod(importlib.import_module(f"tare.blit{name}"))
    assert found.failed == 0
