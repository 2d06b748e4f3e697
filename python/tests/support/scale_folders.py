"""Folders of small sources and what was made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tare
from tare import scale


def write_lines(path: Path, count: int, start: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f'{{"k": {n % 3}, "n": {n}}}\n' for n in range(start, start + count)))


def visible_names(folder: Path) -> list[str]:
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted(str(path) for path in found if ".tare" not in path.parts)


def convert(source: Path, out: Path, **options: Any) -> scale.Report:
    return scale.convert(str(source), str(out), to=options.pop("to", "parquet"), executor="inline", **options)


def count_rows(out: Path) -> int:
    return sum(tare.read(out / name).num_rows for name in visible_names(out))
