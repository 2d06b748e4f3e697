"""The codecs of the Node and R workers, and their options, stand in the tables of their READMEs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

_ROW = re.compile(r"^\| (`[a-z0-9]+:[^|]*) \|(?:[^|]|\\\|)*\|[^|]*\| ?((?:[^|]|\\\|)*) ?\|$", re.MULTILINE)
_ID = r"[a-z0-9]+:[a-z][\w.-]*"


def told(root: Path, language: str) -> dict[str, set[str]]:
    """The codecs of a README's table, with the names of their options."""
    text = (root / "workers" / language / "README.md").read_text(encoding="utf-8")
    return {
        codec: set(re.findall(r"`(\w+)=", options))
        for codecs, options in _ROW.findall(text)
        for codec in re.findall(f"`({_ID})`", codecs)
    }


def programmed(root: Path, language: str) -> dict[str, set[str]]:
    """The same as the worker's program has it."""
    folder = root / "python/tare/workers" / language
    begins, options, name = {
        "node": (rf'\{{\s*id: "({_ID})"', r"options: \{(.*?)\}", r"(\w+): \["),
        "r": (rf'\ncodec\("({_ID})"', r"options = list\((.*?)\)\)", r"(\w+) = (?:c|as\.character)\("),
    }[language]
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.[mR]*")))
    _, *parts = re.split(begins, text)
    found = {}
    for codec, body in zip(parts[::2], parts[1::2], strict=True):
        listed = re.search(options, body, re.DOTALL)
        found[codec] = set(re.findall(name, listed[1])) if listed else set()
    return found


@pytest.mark.parametrize("language", ["node", "r"])
def test_codecs_are_told(root: Path, language: str) -> None:
    """Each codec, with each of its options, and no other."""
    expected = programmed(root, language)
    assert len(expected) > 10
    assert expected == told(root, language)
