"""What texts say to install: never a package called tare, which on the index is a stranger's."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest
from support.source_imports import PACKAGE

from tare import formats
from tare.codec.peers import PEERS

ROOT = PACKAGE.parents[1]
FOLDERS = (
    "bench",
    "crates",
    "docs",
    "examples",
    "fuzz",
    "python/tare",
    "python/tests",
    "src",
    "tests",
    "workers",
)
TEXTS = {
    ".py",
    ".pyi",
    ".md",
    ".rs",
    ".toml",
    ".sh",
    ".R",
    ".js",
    ".mjs",
    ".java",
    ".cs",
    ".html",
    ".css",
    ".ipynb",
}
# An installer, its verb, what may stand between, and the name as a word of its own, with or without extras.
ASKS_THE_INDEX = re.compile(
    r"\b(?:pip3?|pipx|uv|conda|mamba|poetry|pdm|cargo|npm|yarn)\s+(?:pip\s+)?(?:install|add|i)\b"
    r"(?:\s+(?!--path\b)-\S+)*(?:\s+[\w.,'\"=<>\[\]-]+)*?\s+[`'\"]?tare(?![\w/.-])",
)
HERE = Path(__file__).name


def texts() -> list[Path]:
    """The README, the docs, and every text of the code."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in TEXTS]
    return [
        *ROOT.glob("*.md"),
        *(path for path in found if "node_modules" not in path.parts and path.name != HERE),
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("pip install tare", True),
        ("run `pip install --upgrade tare`", True),
        ("pip install 'tare[tables]'", True),
        ("uv pip install pandas tare", True),
        ("pipx install tare", True),
        ("cargo add tare", True),
        ("pip install '.[tables]'", False),
        ("pip install tare-extra", False),
        ("pip install pandas; then: tare measure x.csv", False),
        ("cargo install --locked --path workers/rust", False),
    ],
)
def test_the_pattern_finds_what_it_should(text: str, found: bool) -> None:
    assert found == bool(ASKS_THE_INDEX.search(text))


def test_no_text_installs_tare_from_the_index() -> None:
    """It is installed from its source: `pip install .`."""
    wrong = []
    for path in texts():
        for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1):
            if ASKS_THE_INDEX.search(line):
                wrong.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert wrong == []


def test_libraries_are_installed_by_what_the_extras_name() -> None:
    """The line of each library names a distribution of an extra, or of what Tare needs itself."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    names = {re.split(r"[>=<;\s]", one)[0].lower() for wanted in lists for one in wanted}
    libraries = [library for format in formats.FORMATS for library in format.libraries]
    for one in (*libraries, *PEERS):
        words = shlex.split(one.install_line.partition(" && ")[0])
        if words[:2] == ["pip", "install"] and one.extra:
            assert {word.lower() for word in words[2:]} <= names, one.name
