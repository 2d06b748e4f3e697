"""Words in columns of text that are read as missing are told of: `NA` may be a name."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tare import open_dataset
from tare.cli.convert import command
from tare.datasets import csvload

HEAD = "id,country,note\n"


def notes_of(path: Path, text: str) -> list[str]:
    path.write_text(text)
    return [note for note in open_dataset(path).notes if "read as missing" in note]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("1,NA,x\n2,DE,y\n3,NA,null\n", ["'NA' in country", "'null' in note"]),
        ("1,N/A,x\n2,NA,y\n3,NA,\n", ["'NA' in country"]),
        ("1,#N/A,x\n2,DE,y\n", ["'#N/A' in country"]),
    ],
)
def test_words_that_are_read_as_missing_are_told(tmp_path, rows, told):
    """The most frequent word of each column."""
    (note,) = notes_of(tmp_path / "a.csv", HEAD + rows)
    assert [
        part for part in ("'NA' in country", "'#N/A' in country", "'null' in note") if part in note
    ] == told
    assert "in quotes they are text" in note


@pytest.mark.parametrize("rows", ["1,,x\n2,DE,\n", '1,"NA",x\n2,DE,""\n', "NA,DE,x\n2,FR,y\n"])
def test_what_is_empty_quoted_or_a_number_is_not_told(tmp_path, rows):
    """Missing numbers are what `NA` means everywhere; what is in quotes is kept."""
    assert notes_of(tmp_path / "a.csv", HEAD + rows) == []


def test_a_large_file_is_looked_at_in_its_beginning(tmp_path, monkeypatch):
    """In blocks as at once."""
    monkeypatch.setattr(csvload, "STREAM_BYTES", 1 << 10)
    rows = "".join(f"{n},{'NA' if n == 5 else 'DE'},x\n" for n in range(1000))
    (note,) = notes_of(tmp_path / "a.csv", HEAD + rows)
    assert "'NA' in country" in note


def test_another_encoding_and_delimiter(tmp_path):
    """The text is looked at as it is read."""
    path = tmp_path / "a.csv"
    path.write_bytes("id;país\n1;NA\n2;é\n".encode("latin-1"))
    found = open_dataset(path, encoding="latin-1")
    assert any("'NA' in país" in note for note in found.notes)


def test_convert_tells_it_too(tmp_path):
    """On standard error, beside what was written."""
    path = tmp_path / "a.csv"
    path.write_text(HEAD + "1,NA,x\n2,DE,y\n")
    done = CliRunner().invoke(command, [str(path), str(tmp_path / "a.parquet")])
    assert (done.exit_code, "'NA' in country" in done.stderr) == (0, True)
