"""A row that does not fit the header: the message says where it is and what can be done today, and doing it works."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pandas as pd
import pytest

import tare
from tare import open_dataset
from tare.datasets import csvload
from tare.errors import Malformed


def message_of(path) -> str:
    """The message of a file that is refused."""
    with pytest.raises(Malformed) as caught:
        open_dataset(path)
    return str(caught.value)


@pytest.mark.parametrize("stream_bytes", [1, 1 << 30])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n'x,y',1\n'z',2\n", "row 2 has 3 fields.* at byte 4. If its values are in single quotes, write double"),
        ("a,b,c\n1,2\n3,4,5\n6\n", "row 2 has 2 fields.* at byte 6. If its last values are missing, add"),
        ("a,b,c\n1,2,3,\n4,5,6,\n", "row 2 has 4 fields.* at byte 6. Each row ends with a delimiter"),
        ("Of 2024\n\na,b,c\n1,2,3\n4,5,6\n", r"at byte 9. If line 3 is the header \(a,b,c\), remove the lines above"),
        ("Of, 2024\nx, y\na,b,c\n1,2,3\n4,5,6\n", r"at byte 14. If line 3 is the header \(a,b,c\), remove"),
        ("a,b\n1,2\n# end\n3,4\n", "row 3 has 1 field.* at byte 8. Comment lines are skipped before the header only"),
        ("a,b,c\n1,2,3\n1,2,3,4\n4,5,6\n", "row 3 has 4 fields.* at byte 12. Put a value that holds a delimiter"),
        ("# c\na,b,c\n1,2,3\n1,it's,3,4\n4,5,6\n", "row 3 has 4 fields.* at byte 16. Put a value that holds"),
    ],
)  # fmt: skip
def test_what_can_be_done_is_said(tmp_path, monkeypatch, text, message, stream_bytes):
    """By what the row and those around it look like, in blocks as at once."""
    monkeypatch.setattr(csvload, "STREAM_BYTES", stream_bytes)
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(Malformed, match=message):
        open_dataset(path)


def test_the_commands_that_are_said_do_it(tmp_path):
    """Those of the shell, and of pandas, word by word; the name has a blank."""
    path, out = tmp_path / "a file.csv", tmp_path / "out.parquet"
    tare_command = f"{shlex.quote(sys.executable)} -m tare"

    def shell(command: str) -> bytes:
        done = subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True, capture_output=True)
        return done.stdout

    path.write_text("Report, of 2024\nof x\na,b,c\n1,2,3\n4,5,6\n")
    command = message_of(path).partition("above it: ")[2].rstrip(".")
    shell(command.replace("| tare", f"| {tare_command}").replace("OUT", "out.parquet"))
    assert [{"a": 1, "b": 2, "c": 3}, {"a": 4, "b": 5, "c": 6}] == tare.read(out).to_pylist()
    for text, rows in (("a,b\n1,2,\n3,4,\n", 2), ("a|b\n1|2|\n", 1), ("a,b\n1,2\n#x\n3,4\n", 2)):
        path.write_text(text)
        (tmp_path / "b.csv").write_bytes(shell(message_of(path).partition("e.g. by ")[2].rstrip(".")))
        assert (["a", "b"], rows) == (
            tare.read(tmp_path / "b.csv").column_names,
            tare.read(tmp_path / "b.csv").num_rows,
        )
    path.write_text("a,b\n'x,y',1\n'z',2\n")
    assert "read_csv('a file.csv', quotechar=\"'\")" in message_of(path)
    assert ["x,y", "z"] == pd.read_csv(path, quotechar="'")["a"].to_list()
    path.write_text("a,b\n1,2,\n3,4,\n".replace("a,b", "a,b,"))
    assert ["a", "b", ""] == tare.read(path).column_names


@pytest.mark.parametrize("stream_bytes", [1, 1 << 30])
@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("Of 2024\n\na;b;c\n1;2;3\n4;5;6\n", "its rows have 3 fields between ';' from 'a;b;c' on"),
        ("Of 2024\nx\na\tb\n1\t2\n4\t5\n", "its rows have 2 fields between '\\t' from 'a\\\\tb' on"),
        ("name\nx;y\nz\nu;v\n", ""),
        ("name\nx\nz\nu;v\n", ""),
        ('name\n"x;y"\n"u;v"\n', ""),
    ],
)
def test_a_text_of_one_column_that_seems_to_have_more_is_noted(
    tmp_path, monkeypatch, text, note, stream_bytes
):
    """Lines above a header whose delimiter is no comma would make one column of all."""
    monkeypatch.setattr(csvload, "STREAM_BYTES", stream_bytes)
    (tmp_path / "a.csv").write_text(text)
    notes = open_dataset(tmp_path / "a.csv").notes
    assert [True] * bool(note) == [note in one for one in notes]
