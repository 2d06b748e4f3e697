"""Reads the imports of the package's sources, without importing them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PACKAGE", "Import", "imports", "module_name", "sources"]

PACKAGE = Path(__file__).resolve().parents[2] / "tare"


@dataclass(frozen=True)
class Import:
    """One imported module: its full name, where, and whether it runs when the file is imported."""

    name: str
    line: int
    at_import: bool


def sources() -> list[Path]:
    """Every source file of the package."""
    found = sorted(PACKAGE.rglob("*.py"))
    assert found, f"no sources in {PACKAGE}"
    return found


def module_name(path: Path) -> str:
    """``tare.formats.json`` for its file."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(text: str, known: frozenset[str] = frozenset()) -> list[Import]:
    """Every import of a source text.

    ``from tare import formats`` counts as ``tare.formats`` where that module is known.
    """
    return list(_walk(ast.parse(text), known, at_import=True))


def _walk(node: ast.AST, known: frozenset[str], *, at_import: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(alias.name, child.lineno, at_import)
        elif isinstance(child, ast.ImportFrom):
            module = child.module or ""
            for alias in child.names:
                inner = f"{module}.{alias.name}"
                yield Import(inner if inner in known else module, child.lineno, at_import)
        elif isinstance(child, ast.If) and _is_type_checking(child.test):
            yield from _walk(child, known, at_import=False)
        else:
            inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _walk(child, known, at_import=at_import and not inside)


def _is_type_checking(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"
