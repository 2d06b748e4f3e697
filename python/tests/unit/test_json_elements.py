"""Lines of JSON into an array and back by their own text: exact, in any size, and left to documents where it is no JSON."""

from __future__ import annotations

import gzip
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import tare
from tare._tare import decompress
from tare.errors import EncodeError, TareError

ROWS: list[dict[str, Any]] = [
    {"n": k, **({"late": [{"x": k / 2}]} if k % 7 == 0 else {}), "s": f"a, ]{k}"} for k in range(1000)
]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)


def both(folder: Path) -> list[tuple[Path, Path]]:
    """The rows as lines and as an array on lines of its own, and where each goes."""
    (folder / "x.ndjson").write_text(LINES)
    (folder / "y.json").write_text(json.dumps(ROWS, indent=1))
    return [(folder / "x.ndjson", folder / "x.json"), (folder / "y.json", folder / "y.ndjson")]


def read(path: Path) -> Any:
    """What Python's own json reads."""
    text = path.read_text()
    if path.suffix == ".json":
        return json.loads(text, parse_float=Decimal)
    return [json.loads(line, parse_float=Decimal) for line in text.splitlines()]


@pytest.mark.usefixtures("no_values")
def test_rows_are_copied_and_read_back(tmp_path: Path) -> None:
    for source, target in both(tmp_path):
        done = tare.convert(source, target)
        assert (done.rows, done.verified, done.streamed, done.changes) == (1000, True, False, [])
        assert done.notes == ["each value's own text was copied"]
        assert done.second["result"]["rows"] == 1000
        assert read(target) == read(source)
        assert " " not in target.read_text().replace("a, ]", "")


@pytest.mark.usefixtures("no_values")
def test_large_files_are_copied_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tare.io.VERIFY_BYTES", 10_000)
    monkeypatch.setattr("tare.converting.json_elements._BLOCK_BYTES", 4_001)
    for source, target in both(tmp_path):
        seen: list[tuple[int, int]] = []
        done = tare.convert(source, target, on_progress=lambda at, size, seen=seen: seen.append((at, size)))
        assert (done.rows, done.verified, done.streamed) == (1000, False, True)
        assert done.notes[-1] == "not verified; --verify reads it back"
        assert read(target) == read(source)
        assert len(seen) > 5
        assert seen[-1] == (source.stat().st_size,) * 2


@pytest.mark.usefixtures("no_values")
def test_compressors_and_marks_are_read_and_written(tmp_path: Path) -> None:
    (tmp_path / "x.ndjson.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + LINES.encode()))
    tare.convert(tmp_path / "x.ndjson.gz", tmp_path / "x.json.gz")
    assert json.loads(gzip.decompress((tmp_path / "x.json.gz").read_bytes())) == ROWS


@pytest.mark.parametrize("most", [1, 1 << 20])
@pytest.mark.parametrize("verify", [None, False, True])
def test_a_value_keeps_its_text_at_any_size(
    tmp_path: Path, verify: bool | None, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of these is a table, or would be what it was as one of Python's values."""
    monkeypatch.setattr("tare.io.VERIFY_BYTES", most)
    text = (
        '{"a":0.1000000000000000055511151231257827,"b":-0,"c":1E+2}\n[12345678901234567890123,1E400]\n"\\u00e9\\ud800"\n'
        '{"a":1,"a":2}\n'
    )
    (tmp_path / "x.ndjson").write_text(text)
    done = tare.convert(tmp_path / "x.ndjson", tmp_path / "x.json", verify=verify)
    assert (tmp_path / "x.json").read_text() == f"[{','.join(text.splitlines())}]"
    assert done.verified == (verify is True or (verify is None and most > 1))
    noted = (
        "the name 'a' stands twice in one object; all of its values are kept, and most readers take the last"
    )
    assert (noted in done.notes) == (verify is True or most > 1)
    tare.convert(tmp_path / "x.json", tmp_path / "y.ndjson", verify=verify)
    assert (tmp_path / "y.ndjson").read_text() == text


@pytest.mark.parametrize("most", [1, 1 << 20])
def test_a_file_object_gets_the_same_text(tmp_path: Path, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing goes into it before all of the source is known to be JSON."""
    monkeypatch.setattr("tare.io.VERIFY_BYTES", most)
    (tmp_path / "x.ndjson").write_text('{"a":1.50}\n{"b":-0}\n')
    out = io.BytesIO()
    tare.convert(tmp_path / "x.ndjson", out, codec="json")
    assert out.getvalue() == b'[{"a":1.50},{"b":-0}]'
    (tmp_path / "x.ndjson").write_text('{"a":1.50}\n' * 9 + '{"a": 1 2}\n')
    out = io.BytesIO()
    with pytest.raises(TareError, match="line 10"):
        tare.convert(tmp_path / "x.ndjson", out, codec="json")
    assert out.getvalue() == b""


@pytest.mark.parametrize("codec", ["json+zstd", None])
def test_a_compressor_changes_no_text(tmp_path: Path, codec: str | None) -> None:
    (tmp_path / "x.ndjson").write_text('{"a":1.50}\n')
    name = tmp_path / ("x.json" if codec else "x.json.zst")
    tare.convert(tmp_path / "x.ndjson", name, codec=codec)
    assert decompress(name.read_bytes()) == b'[{"a":1.50}]'


@pytest.mark.parametrize("verify", [None, False, True])
@pytest.mark.parametrize(
    "line", ['{"a": NaN}', '{"a": 1} 2', '{"a": "\\ud800"}', '{"a": 1,}', '"a\tb"', "\x0c"]
)
def test_what_is_no_json_is_left_to_documents(tmp_path: Path, line: str, verify: bool | None) -> None:
    """Whatever they say of it, they say as before, and nothing is half-written."""
    good = '{"a": 0}\n' * 3
    for name, text in [("x.ndjson", f"{good}{line}\n"), ("y.json", f"[{','.join([*good.split(), line])}]")]:
        source, target = tmp_path / name, tmp_path / {"x.ndjson": "x.json", "y.json": "y.ndjson"}[name]
        source.write_text(text)
        try:
            value = tare.read(source)
        except TareError as error:
            with pytest.raises(type(error)):
                tare.convert(source, target, verify=verify)
            assert not target.exists()
            continue
        try:
            tare.convert(source, target, verify=verify)
        except TareError:
            assert not target.exists()
        else:
            assert tare.read(target) == value


@pytest.mark.parametrize("text", ["{}", '{"a": [1]}', '"a"', " 7 "])
def test_what_is_no_array_is_left_to_documents(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(EncodeError, match="expected a list of items"):
        tare.convert(tmp_path / "x.json", tmp_path / "x.ndjson", verify=False)
    assert not (tmp_path / "x.ndjson").exists()


def test_no_values_are_no_lines(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("[ ]")
    tare.convert(tmp_path / "x.json", tmp_path / "x.ndjson")
    assert not (tmp_path / "x.ndjson").read_text().strip()


def test_who_names_a_library_gets_it(tmp_path: Path) -> None:
    (tmp_path / "x.ndjson").write_text(LINES)
    done = tare.convert(tmp_path / "x.ndjson", tmp_path / "x.json", codec="json:stdlib", verify=False)
    assert done.to == "json:stdlib"
    assert "each value's own text was copied" not in done.notes


def test_columns_are_chosen_by_who_reads_them(tmp_path: Path) -> None:
    (tmp_path / "x.ndjson").write_text(LINES)
    tare.convert(tmp_path / "x.ndjson", tmp_path / "x.json", columns=["s"])
    assert read(tmp_path / "x.json") == [{"s": row["s"]} for row in ROWS]
