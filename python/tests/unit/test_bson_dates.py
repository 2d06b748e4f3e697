"""Dates of BSON, which are moments in UTC: read without a zone, which is told."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from support.capabilities import need_module

import tare

NOTE = "dates of BSON are in UTC, and are read without a zone"
DATE = dt.datetime(2024, 1, 1)


@pytest.mark.parametrize(
    ("value", "told"),
    [({"a": DATE}, True), ({"a": [{"b": DATE}]}, True), ({"a": "\ttab"}, False), ({"a": 1}, False)],
    ids=str,
)
def test_a_conversion_tells_it(value: dict[str, Any], told: bool, tmp_path: Path) -> None:
    """Into JSON they are texts without a zone, and into Parquet moments without one."""
    (tmp_path / "x.bson").write_bytes(need_module("bson").encode(value))
    assert told == (NOTE in tare.convert(tmp_path / "x.bson", tmp_path / "x.json").notes)
