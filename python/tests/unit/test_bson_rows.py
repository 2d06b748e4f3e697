"""Tables of one row in BSON, which has no list at its top: a reader gives the row, and every value is there."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest
from support.capabilities import need_module

import tare
from tare.errors import EncodeError


def test_a_table_of_one_row_is_written_and_told(tmp_path: Path) -> None:
    need_module("bson")
    table = pa.table({"i": [1], "s": ["x"], "l": [[1, 2]], "t": pa.array([dt.date(2024, 1, 2)])})
    done = tare.convert(table, tmp_path / "x.bson")
    assert {change["verdict"] for change in done.changes} == {"type"}
    assert [(change["from"], change["to"]) for change in done.changes if not change["path"]] == [
        ("a table of one row", "its row")
    ]
    assert tare.read(tmp_path / "x.bson") == {"i": 1, "s": "x", "l": [1, 2], "t": "2024-01-02"}


def test_a_value_that_it_changes_is_still_refused(tmp_path: Path) -> None:
    need_module("bson")
    table = pa.table({"t": [dt.datetime(2024, 1, 2, 3, 4, 5, 123456)]})
    with pytest.raises(EncodeError, match="'t' would change"):
        tare.convert(table, tmp_path / "x.bson")
    assert not any(tmp_path.iterdir())


def test_integers_of_another_type_are_named_by_it(tmp_path: Path) -> None:
    """Both have the same text, and a line that says `1 comes back as 1` would tell nothing."""
    need_module("bson")
    (tmp_path / "x.json").write_text('{"a": 1099511627776, "b": 1}')
    done = tare.convert(tmp_path / "x.json", tmp_path / "x.bson")
    assert [(one["path"], one["from"], one["to"]) for one in done.changes] == [("a", "int", "Int64")]
