"""Large JSON that is cut or damaged, or has NaN where none can go, is refused before its values are made, in the same words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tare
from tare.converting import json_elements
from tare.datasets import documents, json_check
from tare.errors import EncodeError, TareError

ROWS = [{"a": k, "b": ["x,]}", {"c": None}], "d": 0.5} for k in range(40)]
ARRAY, LINES = json.dumps(ROWS), "".join(f"{json.dumps(row)}\n" for row in ROWS)
BROKEN = {
    "x.json": [
        *(ARRAY[:cut] for cut in range(2, 140)),
        *(ARRAY[:-cut] for cut in (1, 2, 3, 9)),
        ARRAY.replace("0.5", "nope", 1),
        ARRAY.replace("0.5", "0.5.5"),
        json.dumps(ROWS, indent=2).replace('"a": 7', '"a" 7'),
        ARRAY.replace('"d"', '"d', 1),
        ARRAY.replace('"d"', 'd"', 1),
        ARRAY.replace("}, {", "},, {", 1),
        ARRAY[:-1] + ",]",
        ARRAY + "]",
        ARRAY + "x",
        '["\\ud800", nope]',
        "[1, 1e400, 2]",
        "[NaN, nope]",
        "{" + ARRAY,
        *(f'{{"r": {ARRAY[:-cut]}' for cut in (1, 2, 3, 9, 40)),
        *(f'{{"a": 1, "r": {ARRAY}'[:cut] for cut in (1, 2, 4, 6, 9, 30)),
        f'{{"r": {ARRAY.replace("0.5", "NaN", 1)}',
        f'{{"r": {ARRAY.replace("x,]", "x,", 1)}}}',
        f'{{"r": {ARRAY.replace(chr(34) + "d", "d", 1)}}}',
        f'{{"rows": {ARRAY}',
    ],
    "x.ndjson": [
        *(LINES[:-cut] for cut in (2, 3, 9, 30)),
        LINES.replace("0.5", "nope", 1),
        LINES.replace('"d"', '"d', 1),
        LINES + "\n\n[1",
        LINES + "[NaN]\n[1, ]\n",
    ],
}
GOOD = {
    "x.json": [ARRAY, json.dumps(ROWS, indent=2), "[NaN, -Infinity]", f" \n{ARRAY}\n", f"{ARRAY}{ARRAY}", '["\\ud800"]', "{}", "7"],
    "x.ndjson": [LINES, LINES + "\n \n[NaN]\n", LINES[:-1], "\n"],
}  # fmt: skip


def read(path: Path) -> Any:
    """A value, or what is said of it."""
    try:
        return repr(tare.read(path))
    except TareError as error:
        return type(error), str(error), error.offset


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("block", [1 << 20, 7])
def test_it_is_said_in_the_same_words(
    name: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_check, "_BLOCK_BYTES", block)
    path = tmp_path / name
    for text in [*BROKEN[name], *GOOD[name]]:
        path.write_text(text)
        monkeypatch.setattr(documents, "_CHECKED_BYTES", 1 << 40)
        before = read(path)
        monkeypatch.setattr(documents, "_CHECKED_BYTES", 0)
        assert before == read(path), text[-60:]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.json", ARRAY[:-20]),
        ("x.json", f'{{"r": {ARRAY}'),
        ("x.json", ARRAY.replace("0.5", "nope", 1)),
        ("x.ndjson", LINES[:-20]),
    ],
)
def test_no_value_is_made_of_it(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are many times as large as the text."""

    def never(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(documents, "_CHECKED_BYTES", 0)
    monkeypatch.setattr(documents, "parse_whole", never)
    monkeypatch.setattr(documents, "parse_lines", never)
    (tmp_path / name).write_text(text)
    with pytest.raises(TareError, match=r"json: .*, at byte \d"):
        tare.read(tmp_path / name)


@pytest.mark.parametrize("verify", [None, False, True])
@pytest.mark.parametrize(("name", "to"), [("x.json", "x.ndjson"), ("x.ndjson", "x.json")])
def test_nan_between_json_and_ndjson_is_refused_without_documents(
    name: str, to: str, verify: bool | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_elements, "_LARGE_BYTES", 0)
    (tmp_path / name).write_text((ARRAY if name == "x.json" else LINES).replace("0.5", "NaN", 1))
    with monkeypatch.context() as patched:
        patched.setattr("tare.io.open_dataset", None)
        with pytest.raises(EncodeError, match=r"'\[\*\]\.d' would change: NaN is written as text"):
            tare.convert(tmp_path / name, tmp_path / to, verify=verify)
    assert not (tmp_path / to).exists()
    done = tare.convert(tmp_path / name, tmp_path / to, verify=verify, allow_loss=True)
    assert ["lossy"] == [one["verdict"] for one in done.changes]
