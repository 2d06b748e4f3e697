"""Words in columns of text that are read as missing are told of: `NA` may be a name."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tare import compress, open_dataset
from tare import io as tare_io
from tare.cli.convert import command
from tare.datasets import csvload

HEAD = "id,country,note\n"
LATE = HEAD + "".join(
    f"{n},{'' if n == 5 else 'NA' if n == 85_000 else 'DE'},NATION {n}\n" for n in range(90_000)
)


def notes_of(path: Path, text: str) -> list[str]:
    path.write_text(text)
    return [note for note in open_dataset(path).notes if "read as missing" in note]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("1,NA,x\n2,DE,y\n3,NA,null\n", ["'NA' in 'country'", "'null' in 'note'"]),
        ("1,N/A,x\n2,NA,y\n3,NA,\n", ["'NA' in 'country'"]),
        ("1,#N/A,x\n2,DE,y\n", ["'#N/A' in 'country'"]),
    ],
)
def test_words_that_are_read_as_missing_are_told(tmp_path, rows, told):
    """The most frequent word of each column."""
    (note,) = notes_of(tmp_path / "a.csv", HEAD + rows)
    assert [
        part for part in ("'NA' in 'country'", "'#N/A' in 'country'", "'null' in 'note'") if part in note
    ] == told
    assert "in quotes they are text" in note


@pytest.mark.parametrize("rows", ["1,,x\n2,DE,\n", '1,"NA",x\n2,DE,""\n', "NA,DE,x\n2,FR,y\n"])
def test_what_is_empty_quoted_or_a_number_is_not_told(tmp_path, rows):
    """Missing numbers are what `NA` means everywhere; what is in quotes is kept."""
    assert notes_of(tmp_path / "a.csv", HEAD + rows) == []


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
@pytest.mark.parametrize("stream_bytes", [1 << 10, 1 << 30])
def test_a_word_behind_the_first_mebibyte_is_told(tmp_path, monkeypatch, ending, stream_bytes):
    """In blocks as at once, compressed as plain; an empty field before it does not hide it."""
    monkeypatch.setattr(csvload, "STREAM_BYTES", stream_bytes)
    path = tmp_path / f"a.csv{ending}"
    with compress.open(path, "wb", {"": "none", ".gz": "gzip", ".zst": "zstd"}[ending]) as file:
        file.write(LATE.encode())
    (note,) = [note for note in open_dataset(path).notes if "read as missing" in note]
    assert "'NA' in 'country';" in note


def test_a_conversion_batch_by_batch_tells_a_late_word(tmp_path, monkeypatch):
    """As one that reads the whole file does."""
    monkeypatch.setattr(tare_io, "STREAM_BYTES", 1 << 10)
    path = tmp_path / "a.csv"
    path.write_text(LATE)
    done = tare_io.convert(path, tmp_path / "a.parquet", verify=False)
    assert done.streamed
    assert any("'NA' in 'country';" in note for note in done.notes)


def test_another_encoding_and_delimiter(tmp_path):
    """The text is looked at as it is read."""
    path = tmp_path / "a.csv"
    path.write_bytes("id;pa\xeds\n1;NA\n2;\xe9\n".encode("latin-1"))
    found = open_dataset(path, encoding="latin-1")
    assert any("'NA' in 'pa\xeds'" in note for note in found.notes)


def test_convert_tells_it_too(tmp_path):
    """On standard error, beside what was written."""
    path = tmp_path / "a.csv"
    path.write_text(HEAD + "1,NA,x\n2,DE,y\n")
    done = CliRunner().invoke(command, [str(path), str(tmp_path / "a.parquet")])
    assert (done.exit_code, "'NA' in 'country'" in done.stderr) == (0, True)
