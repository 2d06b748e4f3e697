"""Print the requirements of the package and of some of its extras, one to a line.

`pip install tare[extra]` would ask the package index for a package called tare;
here only what it needs is wanted.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path


def main(extras: str) -> None:
    """Print the default dependencies and those of the extras, which are joined by commas."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = list(project["dependencies"])
    for extra in extras.split(","):
        lines += project["optional-dependencies"][extra]
    print("\n".join(lines))


main(sys.argv[1])
