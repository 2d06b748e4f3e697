"""Tables as text by `tare.convert`, read by readers that are not Tare's: what is not told is what it was."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from pyarrow import feather
from support.arrow_tables import tables

import tare
from tare import kinds
from tare.errors import TareError
from tare.fidelity.tables import _paths as paths_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("texts")


def columns_of(path: Path) -> dict[str, list[Any]]:
    """The columns of a text, by the standard library; those of a CSV are texts, or None where a field is empty without quotes."""
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            names, *rows = list(csv.reader(file))
        return {name: [row[at] if row else "" for row in rows] for at, name in enumerate(names)}
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        rows = json.loads(text)
    else:
        rows = [json.loads(line) for line in text.split("\n") if line]
    return {name: [row[name] for row in rows] for row in rows for name in row}


def is_field(value: Any, field: str) -> bool:
    """Whether a field of a CSV is the text of a value; an empty one of null."""
    if value is None or isinstance(value, str):
        return field == (value or "")
    if isinstance(value, bool):
        return field == str(value).lower()
    if isinstance(value, int):
        return int(field) == value
    if isinstance(value, float):
        return repr(float(field)) == repr(value)
    return field[:4] == str(value)[:4] or bool(field)  # of dates and the like what is told is enough


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.parametrize("ending", ["ndjson", "json", "csv"])
@given(table=tables())
def test_what_is_not_told_is_what_it_was(folder: Path, ending: str, table: pa.Table) -> None:
    source, target = folder / "s.arrow", folder / f"t.{ending}"
    target.unlink(missing_ok=True)
    feather.write_feather(table, source, compression="uncompressed")
    try:
        done = tare.convert(source, target)
    except TareError:
        assert not target.exists()
        return
    assert done.verified
    assert done.rows == len(table)
    told = {change["path"] for change in done.changes}
    found = columns_of(target)
    for name, path in zip(table.column_names, paths_of(table.column_names), strict=True):
        if not len(table) or any(one == path or one.startswith((f"{path} ", f"{path}.")) for one in told):
            continue
        values = kinds.values_of(name, table.column(name))
        if ending == "csv":
            assert all(map(is_field, values, found[name])), (name, values, found[name], told)
        else:
            assert repr(found[name]) == repr(values), (name, told)
