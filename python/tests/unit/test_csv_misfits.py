"""A row that does not fit the header: the message says where it is and what can be done today, and doing it works."""

from __future__ import annotations

import io
import shlex
import subprocess
import sys

import pandas as pd
import pytest

import tare
from tare import open_dataset
from tare.datasets import csvload
from tare.errors import Malformed, Truncated


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
        ('"a","b"\n"1",1.5,"x"\n"2",2.5,"y"\n', r"row 2 has 3 fields.* at byte 8. Each row has one field more than the header"),
        ('"a","b"\n"1",NA,"x, y"\n"2",2.5,NA\n', "one field more than the header, as R's write.table writes row names"),
        ('"a"\t"b"\n"1"\t"x"\t""\n', r"one field more than the header.* by awk 'NR==1{printf \"row.t\"}1' a.csv"),
        ('"a","b"\n"1",2,"x \\"q, r\\""\n"2",3,"y"\n', "one field more than the header"),
        ("a,b\n1,2,3\n4,5\n", "row 2 has 3 fields.* at byte 4. Put a value that holds"),
        ('a,b\n"x","y",\n"u","v",\n', "row 2 has 3 fields.* at byte 4. Each row ends with a delimiter"),
        ("x, y\na,b,c\n1,2,3\n4,5,6\n", r"at byte 5. If line 2 is the header \(a,b,c\), remove"),
        ('a, b\n1, "x, y"\n', "row 2 has 3 fields.* at byte 5. A blank before a quote keeps it from enclosing"),
        ('a,b\n "x, y",1\n2,3\n', "row 2 has 3 fields.* at byte 4. A blank before a quote"),
        ('a,b\nx "y\nz" w,2\n', "row 2 has 1 field.* at byte 4. A quote within a value encloses nothing"),
        ('a,b\n1,2\nx "y\nz" w,2\n3,4\n', "row 3 has 1 field.* at byte 8. A quote within a value encloses nothing"),
        ("a,b\n1,2\n\x1a", "row 3 has 1 field.* at byte 8. It is the byte 0x1a, with which old programs of DOS end"),
        ("a,b\r\n1,2\r\n\x1a\r\n", "row 3 has 1 field.* at byte 10. It is the byte 0x1a"),
        ("a\n1\n\x1a", "mark that is no text, at byte 4. It is the byte 0x1a, with which old programs of DOS end"),
        ("a\r\nx\r\n\x1a\r\n", "at byte 6. It is the byte 0x1a"),
        ("a,b\n1,2\x1a\n", "at byte 7. It is the byte 0x1a"),
        ("; c\n; d\na,b\n1,2\n", r"at byte 8. If the lines that begin with ';' are comments.* grep -vE '\^;' a.csv \| tare"),
        (";c\n#d\na,b\n1,2\n", r"If the lines that begin with ';' or '#' are comments.* grep -vE '\^\(;\|#\)' a.csv"),
        ("% c, d, e\na,b\n1,2\n", r"at byte 10. If the lines that begin with '%' are comments"),
        ("% a,b\n1,2,3\n4,5\n", "Put a value that holds a delimiter"),
        ("a,b\n1,2\n; end\n3,4\n", r"at byte 8. If a line that begins with ';' is a comment.* grep -v '\^;' a.csv"),
        ("a,b\n1,2\n3,4\n\n(2 rows affected)\n", r"at byte 13. It is how clients of SQL end, .* sed '\$d' a.csv"),
        (" a | b \n---+---\n 1 | 2\n(1 row)\n", r"row 2 has 1 field.* at byte 8. A line between names and rows"),
        ("a,b\n1,2\n   \n3,4\n", "row 3 has 1 field.* at byte 8. It holds blanks alone"),
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
    fixed = (
        ("a,b\n1,2,\n3,4,\n", 2),
        ("a|b\n1|2|\n", 1),
        ("a,b\n1,2\n#x\n3,4\n", 2),
        ("a,b\n1,2\n\x1a", 1),
    )
    for text, rows in fixed:
        path.write_text(text)
        (tmp_path / "b.csv").write_bytes(shell(message_of(path).partition("e.g. by ")[2].rstrip(".")))
        assert (["a", "b"], rows) == (
            tare.read(tmp_path / "b.csv").column_names,
            tare.read(tmp_path / "b.csv").num_rows,
        )
    for text in ('"a"\t"b"\n"1"\t1.5\t"x"\n"2"\tNA\t"y"\n', '\n\n"a";"b"\n"1";1,5;"x"\n"2";NA;"y"\n'):
        path.write_text(text)
        (tmp_path / "b.csv").write_bytes(shell(message_of(path).partition("e.g. by ")[2].rstrip(".")))
        assert [{"row": 1, "a": 1.5, "b": "x"}, {"row": 2, "a": None, "b": "y"}] == tare.read(
            tmp_path / "b.csv"
        ).to_pylist()
    path.write_text('a, b\n1, "x, y"\n2, z\n')
    assert "read_csv('a file.csv', sep=',', skipinitialspace=True)" in message_of(path)
    assert ["x, y", "z"] == pd.read_csv(path, sep=",", skipinitialspace=True)["b"].to_list()
    path.write_text("a,b\n'x,y',1\n'z',2\n")
    assert "read_csv('a file.csv', quotechar=\"'\")" in message_of(path)
    assert ["x,y", "z"] == pd.read_csv(path, quotechar="'")["a"].to_list()
    path.write_text("a,b\n1,2,\n3,4,\n".replace("a,b", "a,b,"))
    assert ["a", "b", ""] == tare.read(path).column_names


@pytest.mark.parametrize("stream_bytes", [1, 1 << 30])
def test_a_title_above_the_header_is_noted_and_the_command_that_is_said_works(
    tmp_path, monkeypatch, stream_bytes
):
    """As Excel writes it, with a delimiter for each empty cell."""
    monkeypatch.setattr(csvload, "STREAM_BYTES", stream_bytes)
    path = tmp_path / "a.csv"
    path.write_text('"Sales, of\n2024",,\n,,\nid,name,amount\n1,a,3\n2,b,4\n')
    note = next(one for one in open_dataset(path).notes if "header" in one)
    assert note.startswith(
        "most names of its header are empty: if line 4 is the header (id,name,amount), remove"
    )
    command = note.partition("above it: ")[2].replace("| tare", f"| {shlex.quote(sys.executable)} -m tare")
    subprocess.run(["sh", "-c", command.replace("OUT", "b.parquet")], cwd=tmp_path, check=True)
    assert {"id": [1, 2], "name": ["a", "b"], "amount": [3, 4]} == tare.read(
        tmp_path / "b.parquet"
    ).to_pydict()
    for text in ("id,,\n1,2,3\n4,5,6\n", "id,name,\n1,a,b\nx,y,z\n", "id,,\n"):
        path.write_text(text)
        assert not [one for one in open_dataset(path).notes if "header" in one and "rows" not in one]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("id,name,n\n1,a\n02,b,3\n3,c,4,5\n", [("1", "a", ""), ("02", "b", "3")]),
        (
            "# of 2024\nid;name;n\n2;b;3\n3;c;4\n01;NA\n5;e;6\n",
            [("2", "b", "3"), ("3", "c", "4"), ("01", "NA", ""), ("5", "e", "6")],
        ),
    ],
)
def test_pandas_adds_values_that_rows_lack_as_is_said(tmp_path, monkeypatch, text, rows):
    """Though others have too many, and as the text that they are."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text(text)
    call = message_of(tmp_path / "a.csv").partition("more fields: ")[2].rstrip(".")
    eval(call, {"pd": pd})
    header, *found = (tmp_path / "whole.csv").read_text().split()
    assert ("id,name,n", rows) == (header, [tuple(line.split(",")) for line in found])
    assert len(rows) == tare.read(tmp_path / "whole.csv").num_rows


@pytest.mark.parametrize("stream_bytes", [1, 1 << 30])
@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("Of 2024\n\na;b;c\n1;2;3\n4;5;6\n", "its rows have 3 fields between ';' from 'a;b;c' on"),
        ("Of 2024\nx\na\tb\n1\t2\n4\t5\n", "its rows have 2 fields between '\\t' from 'a\\\\tb' on"),
        (
            "a\nx\t5\ny\t6\n",
            """if the first are R's row names, give them a name, e.g. by awk 'NR==1{printf "row\\t"}1' a.csv""",
        ),
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


def test_a_delimiter_that_none_looks_for_is_noted_and_what_makes_it_one_works(tmp_path):
    """The rows are one column until then."""
    path, out = tmp_path / "a.csv", tmp_path / "out.parquet"
    for delimiter in ("~", "\x1f", "@@", "\u00ac"):
        path.write_text(f"a{delimiter}b\n1{delimiter}x\n2{delimiter}y\n")
        (note,) = open_dataset(path).notes
        assert f"each row has 2 fields between {delimiter!r}" in note
        made = subprocess.run(["bash", "-c", note.partition("do so: ")[2].partition(" | ")[0]], cwd=tmp_path, capture_output=True, check=True)  # fmt: skip
        tare.convert(io.BytesIO(made.stdout), out, format="csv")
        assert {"a": [1, 2], "b": ["x", "y"]} == pd.read_parquet(out).to_dict("list")


def test_a_last_line_that_is_a_comment_is_no_cut_file(tmp_path):
    """Exports end like this; the same line among the rows had the hint already."""
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n3,4\n# total: 2\n")
    with pytest.raises(Malformed, match=r"grep -v '\^#' a\.csv"):
        tare.read(path)
    path.write_text("a,b\n1,2\n3\n")
    with pytest.raises(Truncated, match="the file was cut"):
        tare.read(path)
