"""The guide 'Convert a terabyte' runs as it is written."""

from __future__ import annotations

import os
from pathlib import Path

from support.guides import run_guide


def test_convert_a_terabyte(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    said = run_guide(root, "convert-a-terabyte.md", tmp_path, folder, least=7)
    for expected in (
        "8 done, 1 failed into",
        "day-9.ndjson: ",
        "1 done, 8 done before into",
        "9 of 9 done, 0 failed, 0 missing",
        "carrier=B6\ncarrier=UA\n",
        "9 files, 40001 rows; changed: []",
    ):
        assert expected in said, f"{expected}\n{said}"
    # What the guide says of the damaged file is what the program said.
    guide = (root / "docs/guides/convert-a-terabyte.md").read_text(encoding="utf-8")
    place = "in line 2, at byte 56"
    assert place in guide
    assert f"day-9.ndjson: ndjson: it ends inside a string {place}" in said
    assert len(os.listdir(folder / "parts" / "big")) > 3
    assert {
        "logs",
        "tables",
        "tables2",
        "parts",
        "packed",
        "by-carrier",
        "shares",
        "big.ndjson",
        "whole.ndjson.zst",
        "plan.jsonl",
    } == set(os.listdir(folder))
