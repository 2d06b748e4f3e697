"""The known findings: `findings.toml`, each with its reason."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

__all__ = ["Finding", "explained", "read_findings"]

_FINDINGS = Path(__file__).with_name("findings.toml")


@dataclass(frozen=True)
class Finding:
    """Something wrong that is known.

    Attributes:
        files: A pattern of names, e.g. ``apache/orc/*``.
        steps: A pattern of the step, e.g. ``back to *``.
        what: A regular expression that is found in what is reported.
        reason: Why it is so.
    """

    files: str
    steps: str
    what: str
    reason: str


def read_findings(path: Path = _FINDINGS) -> list[Finding]:
    """Return the findings of the file."""
    raw = tomllib.loads(path.read_text(encoding="utf-8"))
    return [
        Finding(one.get("files", "*"), one.get("steps", "*"), one["what"], one["reason"])
        for one in raw.get("finding", [])
    ]


def explained(findings: list[Finding], name: str, step: str, what: str) -> bool:
    """Return whether one of the findings is of this file, step and report."""
    return any(
        fnmatchcase(name, one.files) and fnmatchcase(step, one.steps) and re.search(one.what, what)
        for one in findings
    )
