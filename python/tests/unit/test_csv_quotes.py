"""Quotes that enclose nothing swallow no row of a CSV without a word: an error names the line, or a note says how they are read."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from typing import Any

import pytest

import tare
from tare import io as tare_io
from tare import open_dataset
from tare.datasets import csv_quotes, csvload, csvs
from tare.datasets.csv_dialect import dialect
from tare.datasets.source import find
from tare.errors import Malformed

# An even number of quotes, an odd one, a pair in one line, one behind text, and a value that ends at a border.
TITLES = [
    ['"Rome', "Paris", '"Oslo', "Bern"],
    ['"Rome', "Paris", "Oslo", "Bern"],
    ["Rome", "Paris", "Oslo", '"Bern'],
    ['"Rome" by night', "Paris", "Oslo", 'the "city"'],
    ['"Rome', "Paris", 'Oslo"', "Bern"],
    ['"', '""', '"""', "Bern"],
]


def file_of(folder: Path, name: str, rows: list[list[Any]], delimiter: str) -> Path:
    """A file of rows whose writer knows no quotes."""
    path = folder / name
    path.write_text("".join(delimiter.join(map(str, row)) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("titles", TITLES)
@pytest.mark.parametrize("more", [0, 3000])
@pytest.mark.parametrize("stream_bytes", [1, 1 << 30])
@pytest.mark.parametrize("name", ["a.tsv", "a.txt", "a.tsv.gz"])
def test_a_tsv_whose_writer_knows_no_quotes_keeps_all_rows(
    tmp_path, monkeypatch, titles, more, stream_bytes, name
):
    """Its quotes are part of the text, as the standard library reads them without quoting; a note says so."""
    monkeypatch.setattr(csvload, "STREAM_BYTES", stream_bytes)
    monkeypatch.setattr(csv_quotes, "_STEP_BYTES", 64)
    rows = [["id", "title"], *([k, title] for k, title in enumerate(titles + ["x"] * more))]
    path = file_of(tmp_path, "plain.tsv" if name.endswith("gz") else name, rows, "\t")
    expected = list(csv.reader(io.StringIO(path.read_text()), delimiter="\t", quoting=csv.QUOTE_NONE))
    if name.endswith(".gz"):
        (tmp_path / name).write_bytes(gzip.compress(path.read_bytes()))
    found = open_dataset(tmp_path / name)
    assert expected == [["id", "title"], *([str(row["id"]), row["title"]] for row in found.value.to_pylist())]
    assert any(note.startswith("quotes are read as part of the text") for note in found.notes)


def test_a_conversion_of_a_tsv_with_quotes_in_text_says_so(tmp_path, monkeypatch):
    """Also where it would go batch by batch, and of a part that fits."""
    rows = [["id", "title"], *([k, '"Rome' if k % 3 == 0 else "Paris"] for k in range(3000))]
    path = file_of(tmp_path, "a.tsv", rows, "\t")
    monkeypatch.setattr(tare_io, "STREAM_BYTES", 1)
    done = tare.convert(path, tmp_path / "a.parquet")
    assert (3000, 1) == (done.rows, sum("quotes are read as part of the text" in note for note in done.notes))
    monkeypatch.setattr(csvload, "_PROBE_BYTES", 1 << 10)
    part = open_dataset(path, max_bytes=20_000)
    assert 0 < part.items < 3000
    assert {'"Rome', "Paris"} == set(part.value["title"].to_pylist())
    found = tare.inspect(path)
    assert (3000, 1) == (
        found.rows,
        sum("quotes are read as part of the text" in note for note in found.notes),
    )


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_values_in_quotes_stay_what_they_are(tmp_path, name):
    """Line ends, delimiters and quotes in them too, and a table in a cell of which not all lines look like rows."""
    delimiter = "," if name.endswith("csv") else "\t"
    rows = [
        ["id", "te\nxt"],
        ["1", f"a{delimiter}b\nc"],
        ["2", 'say "so"'],
        ["3", "x\ny"],
        ["4", f"{delimiter}\n{delimiter}"],
    ]
    with (tmp_path / name).open("w", newline="") as file:
        csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows(rows * 1)
    found = open_dataset(tmp_path / name)
    assert [{"id": int(one), "te\nxt": text} for one, text in rows[1:]] == found.value.to_pylist()
    assert () == found.notes


@pytest.mark.parametrize("stream_bytes", [1, 1 << 30])
@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        ('id,title\n1,"Rome\n2,Paris\n3,"Oslo\n4,Bern\n', "a quote in line 2 begins a value that ends in line 4", 11),
        ('id,title\n1,a\n2,"Rome\n3,"Paris"\n4,b\n', "a quote in line 3 begins a value that ends in line 4", 15),
        ('title\n"Rome\nParis\n"Oslo\n', "a quote in line 2 begins a value that ends in line 4", 6),
        ('# c\nid,title\n1,"Rome\n2,P\n3,"Oslo\n', "a quote in line 3 begins a value that ends in line 5", 15),
        ('id,title\n1,"Rome\n2,Paris\n3,Oslo\n', "a quote in line 2 is never closed: the 2 lines after it", 11),
        ('id|title\n1|"Rome\n2|Paris\n3|"Oslo\n', "a quote in line 2 begins a value that ends in line 4", 11),
        ('id\ttitle\tx\n1\t"Rome\ta\n2\tParis\n3\t"Oslo\tb\n', "a quote in line 2 begins a value that ends in line 4", 13),
        ('"id"\t"title"\n1\t"Rome\n2\tParis\n3\t"Oslo\n', "a quote in line 2 begins a value that ends in line 4", 15),
    ],
)  # fmt: skip
def test_a_quote_in_which_rows_vanish_is_an_error(tmp_path, monkeypatch, text, message, offset, stream_bytes):
    """Its line is named, and its byte, in blocks as at once."""
    monkeypatch.setattr(csvload, "STREAM_BYTES", stream_bytes)
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(Malformed, match=message) as caught:
        open_dataset(path)
    assert offset == caught.value.offset
    assert '"' == text[offset]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("before", [0, 200_000])
def test_a_value_whose_lines_look_like_rows_is_noted(tmp_path, monkeypatch, stream, before):
    """Its quotes are right by themselves, so it is one value: nothing but a note can tell."""
    monkeypatch.setattr(csvload, "STREAM_BYTES", 1 if stream else 1 << 30)
    path = tmp_path / "a.csv"
    path.write_text("# c\nid,title\n" + "0,None of them\n" * before + '1,"Rome\n2,Paris\n3,Oslo"\n4,Bern\n')
    found = open_dataset(path)
    assert [(1, "Rome\n2,Paris\n3,Oslo"), (4, "Bern")] == [
        (row["id"], row["title"]) for row in found.value.to_pylist()[before:]
    ]
    assert (
        f"a quoted value that begins in line {before + 3:,} holds the ends of 2 lines that look like rows; "
        "if its quote is part of the text, double it"
    ) in found.notes
    if stream:
        monkeypatch.setattr(tare_io, "STREAM_BYTES", 1)
        done = tare.convert(path, tmp_path / "a.parquet")
        assert (True, 1) == (done.streamed, sum("look like rows" in note for note in done.notes))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('a,b\n"x\\"y",1\n"z",2\n', [('x"y', 1), ("z", 2)]),
        ('a,b\n"x\\"y, z",1\n"z",2\n', [('x"y, z', 1), ("z", 2)]),
        ('a,b\n"x\\"",1\n"\\"z\\\\",2\n', [('x"', 1), ('"z\\', 2)]),
        ('"a"\t"b"\n"x\\"y"\t1\n', [('x"y', 1)]),
    ],
)
def test_a_backslash_before_a_quote_makes_it_text(tmp_path, text, rows):
    """If backslashes stand nowhere else: a note says so."""
    path = tmp_path / "a.csv"
    path.write_text(text)
    found = open_dataset(path)
    assert rows == [tuple(row.values()) for row in found.value.to_pylist()]
    assert any(note.startswith("a backslash before a quote") for note in found.notes)
    out = tmp_path / "a.parquet"
    assert list(found.notes) == [note for note in tare.convert(path, out).notes if "verif" not in note]


def test_backslashes_that_are_text_stay(tmp_path):
    """A path may end in one within quotes."""
    path = tmp_path / "a.csv"
    path.write_text('a,b\n"C:\\new\\",1\n"D:\\",2\n')
    found = open_dataset(path)
    assert (["C:\\new\\", "D:\\"], ()) == (found.value["a"].to_pylist(), found.notes)


def test_text_behind_a_closing_quote_is_noted(tmp_path):
    """No row is lost; the first line is named, and how many more there are."""
    path = tmp_path / "a.csv"
    path.write_text('a,b\n"x" y,1\nz,2\n"u"v,3\n5" pipe,4\n')
    found = open_dataset(path)
    assert ["x y", "z", "uv", '5" pipe'] == found.value["a"].to_pylist()
    assert (
        "text follows a closing quote in line 2 and 1 more; a quote that is part of the text must be doubled",
    ) == found.notes
    path.write_text('a,b\n1,x\n2,"z\n')
    assert ("the quote in line 3, the last, is never closed: the file may be cut",) == open_dataset(
        path
    ).notes


@pytest.mark.parametrize("step", [16, 40, 1 << 20])
def test_faults_are_found_wherever_the_text_is_cut(monkeypatch, step):
    """By the array's way and quote by quote alike."""
    monkeypatch.setattr(csv_quotes, "_STEP_BYTES", step)
    clean = '"a, ""b""",1\nc,2\n"d\n",3\n' * 20
    text = (
        "x,y\n" + clean + '5" pipe,6\n' + clean + '"u" v,4\n' + clean + '"r,1\ns,2\nt",3\n' + clean
    ).encode()
    expected = [("stray", text.index(b'"u" v')), ("rows", text.index(b'"r,1'))]
    assert expected == [(one.kind, one.start) for one in csv_quotes.faults(text, dialect(text))]
    assert csvs.parse(find(text, format="csv"), text).num_rows == 20 * 3 * 4 + 3
