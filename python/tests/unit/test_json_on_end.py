"""JSON values one behind the other, in a file that is not one value a line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tare
from tare.errors import DecodeError, Truncated

ROWS = [{"a": 1}, {"a": [2, {}]}, [3], {"a": "}{"}]


@pytest.mark.parametrize(
    ("name", "indent", "between", "noted"),
    [
        *(("x.json", None, between, True) for between in ("", " ", "\t")),
        *((name, 1, between, True) for name in ("x.json", "x.ndjson") for between in ("", "\n", " \r\n\t", "\n\n")),
        *((name, None, between, False) for name in ("x.json", "x.ndjson") for between in ("\n", "\n\n")),
    ],
)  # fmt: skip
def test_they_are_a_list(name: str, indent: int | None, between: str, noted: bool, tmp_path: Path) -> None:
    """Those that stand in a line each are NDJSON, whatever the file is called."""
    (tmp_path / name).write_text(f" {between.join(json.dumps(row, indent=indent) for row in ROWS)}\n")
    data = tare.open_dataset(tmp_path / name)
    assert data.value == ROWS
    assert ("4 JSON values on end, read as a list" in data.notes) == noted
    tare.convert(tmp_path / name, tmp_path / "y.msgpack")
    assert tare.read(tmp_path / "y.msgpack") == ROWS


def test_integers_of_any_length_and_long_floats_stay_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"a":\n1180591620717411303424}{"a":\n1e400}')
    with pytest.raises(DecodeError, match="1e400"):
        tare.read(tmp_path / "x.json")
    (tmp_path / "x.json").write_text('{"a":\n1180591620717411303424}{"a":\n0.1}')
    assert tare.read(tmp_path / "x.json") == [{"a": 2**70}, {"a": 0.1}]


@pytest.mark.parametrize("text", ['{"a":\n1}]', '{"a":\n1} 5', '{"a":\n1},{"a":2}', '{"a":\n1}x', "1 2"])
def test_what_else_follows_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(DecodeError, match="Extra data"):
        tare.read(tmp_path / "x.json")


def test_the_value_that_is_broken_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"\u00e4":\n1}\n{"a": nope}\n')
    with pytest.raises(DecodeError, match=r"in value 2, near 'nope}.*', at byte 16"):
        tare.read(tmp_path / "x.json")
    (tmp_path / "x.json").write_text('{"a":\n1}\n{"a": [1')
    with pytest.raises(Truncated, match="in value 2, at byte 17"):
        tare.read(tmp_path / "x.json")


def test_inspect_says_it(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"a":\n1}{"a":2}')
    found = tare.inspect(tmp_path / "x.json")
    assert "2 JSON values on end, read as a list" in found.notes
    assert not found.damaged
