"""Notes on columns of a CSV that are not what their text suggests."""

from __future__ import annotations

import pytest

from tare import io as tare_io
from tare import open_dataset
from tare.datasets import csvload

OFFSETS = "times with offsets are read as UTC: 'ts'"
VERSIONS = "texts such as 1.10 are read as numbers (1.1): 'version'"
MARK = "'{}' is read as text; if it stands for a missing value, leave the field empty: '{}'"
AGAIN = "its header stands again in line 3, as where files were joined: there it is read as a row"
BETWEEN = "it was read as one column, and each row has {} fields between {!r}: if that separates them, have tabs do so: {}"
COLONS = BETWEEN.format(2, ":", "tr ':' '\\t' < a.csv | tare convert - OUT --from csv")
BLANKS = BETWEEN.format(2, " ", "tr ' ' '\\t' < a.csv | tare convert - OUT --from csv")
ALIGNED = BETWEEN.format(2, " ", "sed -E 's/^ +//; s/ +/\\t/g' < a.csv | tare convert - OUT --from csv")
THOUSANDS = "numbers with thousands separators are read as text: 'amount'"
SIGNS = "numbers with a percent or currency sign are read as text: '{}'"
DATES = "dates in another form than 2024-01-31 are read as text: '{}'"
COMMENT = "line {} begins with '{mark}' and is read as a row: if it is a comment, remove it, e.g. by grep -v '^{mark}' a.csv"
COMMA = "numbers with a decimal comma are read as text: 'betrag'"


@pytest.mark.parametrize("stream_bytes", [1, 1 << 30])
@pytest.mark.parametrize(
    ("name", "text", "note"),
    [
        ("a.tsv", "id\tts\n1\t2024-03-30T01:00:00+01:00\n2\t2024-04-30T01:00:00+02:00\n", OFFSETS),
        ("a.csv", "id,ts\n1,2024-03-30T01:00:00Z\n2,2024-04-30T01:00:00+00:00\n", ""),
        (
            "a.csv",
            "datum;betrag;ort\n01.02.2023;7.779,20;Bonn\n02.02.2023;12,5;Ulm, Land\n",
            [COMMA, DATES.format("datum")],
        ),
        ("a.csv", "id,d,e\n1,1/31/24,1.2.10\n2,2024-02-01,1.3.1\n", DATES.format("d")),
        ("a.csv", "id,d\n1,2024-01-31\n2,soon 1/2/2024\n", ""),
        ("a.csv", 'id,betrag\n1,"7.779,20"\n2,"12,5"\n', COMMA),
        ("a.tsv", "id\tbetrag\n1\t7,5\n2\t12,5\n", COMMA),
        ("a.csv", 'id,amount\n1,"1,234.50"\n2,12.00\n', THOUSANDS),
        ("a.tsv", "id\tamount\n1\t1,234\n2\t2,000,000\n", THOUSANDS),
        ("a.csv", "id,amount\n1,1'234.50\n2,12\n", THOUSANDS),
        ("a.tsv", "id\tamount\n1\t1\u202f234,50\n2\t12\n", THOUSANDS),
        ("a.csv", "id,amount\n1,1\u00a0234\n2,2\u2019345\n", THOUSANDS),
        ("a.csv", "id,share\n1,5 %\n2,7.5%\n3,\n", SIGNS.format("share")),
        ("a.csv", 'id,price\n1,"$1,234.50"\n2,-$3\n', SIGNS.format("price")),
        ("a.csv", "id,price\n1,1.50\u20ac\n2,\u00a33\n", SIGNS.format("price")),
        ("a.csv", "id,said\n1,5 %\n2,half\n", ""),
        ("a.csv", "id,plate\n1,12 345\n2,M 12\n", ""),
        ("a.csv", 'id,place\n1,"1,234"\n2,"Reno, NV"\n', ""),
        ("a.csv", "id,version\n1,1.9\n2,1.10\n", VERSIONS),
        ("a.csv", 'id,version,b\n1,"1.9",2.25\n2,"1.10",1.5\n', VERSIONS),
        ("a.csv", "id,shift\n1,+12345\n2,-5\n", "integers with a plus are read as doubles: 'shift'"),
        ("a.csv", "id,shift\n1,+1.5\n2,-5\n", ""),
        ("a.csv", "id,price\n1,1.90\n2,12.10\n", ""),
        ("a.csv", "id,measured\n1,12.3\n2,1.10\n", ""),
        ("a.csv", "id,version\na,1.9\nb,1.10\nc,1.10.2\n", ""),
        ("a.csv", "x,y\n1,a\n.,b\n", MARK.format(".", "x")),
        ("a.csv", "x,y\n1,a\n.A,b\n-2.5,c\n", MARK.format(".A", "x")),
        ("a.csv", "x,y\n1,2\n3,#DIV/0!\n", MARK.format("#DIV/0!", "y")),
        ("a.tsv", "x\ty\n1\ta\n2\t\\N\n", MARK.format("\\\\N", "y")),
        ("a.csv", "x,y\n1,a\n2,-\n3,.\n", ""),
        ("a.csv", "x,y\n1,a\nx,y\n2,b\n", AGAIN),
        ("a.csv", "x,y\r\n1,a\r\n\ufeffx,y\r\n2,b\r\n", AGAIN),
        ("a.csv", "x,y\n1,a\nx,yes\n2,b\n", ""),
        ("a.csv", "datum;betrag\n01.02.2023;7,5\n02.02.2023;12,5\n", DATES.format("datum")),
        ("a.csv", "a:b\n1:2\n3:4\n", COLONS),
        ("a.csv", "title year\nAlien 1979\nJaws 1975\n", BLANKS),
        ("a.csv", "  id  value\n   1    2.5\n  22    3.5\n", ALIGNED),
        ("a.csv", "first name\nJohn Smith\nJane Doe\n", ""),
        ("a.csv", "11:00\n10:30\n12:30\n", ""),
        ("a.csv", "time of day\n10:30\n12:30\n", ""),
        ("a.csv", "Item 1\nItem 2\nItem 3\n", ""),
        ("a.csv", "a,b\n1,2\n#c,d\n2,3\n", COMMENT.format(3, mark="#")),
        ("a.csv", "a,b\n#c,d\n2,3\n", COMMENT.format(2, mark="#")),
        ("a.csv", "a\n1\n//c\n2\n", COMMENT.format(3, mark="//")),
        ("a.csv", "a,b\nx,1\n# y, z\nu,2\n", COMMENT.format(3, mark="#")),
        ("a.csv", "a,b\nx,1\n#y,3\nu,2\n", ""),
        ("a.csv", 'a,b\n1,"x\n#y"\n3,2\n', ""),
    ],
)
def test_what_a_type_does_not_say_is_told(tmp_path, monkeypatch, name, text, note, stream_bytes):
    """At once as in blocks."""
    monkeypatch.setattr(csvload, "STREAM_BYTES", stream_bytes)
    path = tmp_path / name
    path.write_text(text, encoding="utf-8", newline="")
    notes = [note] if isinstance(note, str) else note
    assert list(open_dataset(path).notes) == [one for one in notes if one]


@pytest.mark.parametrize("stream_bytes", [1, 1 << 30])
def test_a_file_longer_than_its_head_is_told_too(tmp_path, monkeypatch, stream_bytes):
    """Though its head ends within a row, at once as in blocks and in a conversion in batches."""
    monkeypatch.setattr(csvload, "STREAM_BYTES", stream_bytes)
    monkeypatch.setattr(tare_io, "STREAM_BYTES", stream_bytes)
    path = tmp_path / "a.csv"
    path.write_text("ts,a,b,c\n" + "2024-03-30T01:00:00+01:00,2.5,x,y\n" * 4_000)
    assert list(open_dataset(path).notes) == [OFFSETS]
    done = tare_io.convert(path, tmp_path / "a.parquet")
    assert done.notes.count(OFFSETS) == 1


def test_latin1_is_told_too(tmp_path):
    """Names are those of the decoded text."""
    path = tmp_path / "a.csv"
    path.write_bytes("gr\xf6\xdfe;ort\n1.007,5;K\xf6ln\n".encode("latin1"))
    done = tare_io.convert(path, tmp_path / "a.parquet", encoding="latin1")
    assert "numbers with a decimal comma are read as text: 'gr\xf6\xdfe'" in done.notes


def test_inspect_tells_what_convert_does(tmp_path):
    """Who looks at a file first need not convert it to be told."""
    (tmp_path / "a.csv").write_text('id,amount\n1,"1,234.50"\n2,12.00\n')
    assert [THOUSANDS] == list(tare_io.inspect(tmp_path / "a.csv").notes)


def test_batches_tell_it_once(tmp_path, monkeypatch):
    """A conversion in batches notes what one at once does."""
    monkeypatch.setattr(tare_io, "STREAM_BYTES", 1)
    path = tmp_path / "a.csv"
    path.write_text("ort;betrag\nBonn;7.779,20\n")
    done = tare_io.convert(path, tmp_path / "a.parquet")
    assert done.streamed
    assert done.notes.count(COMMA) == 1


def test_a_comment_far_within_a_large_file_has_its_line(tmp_path, monkeypatch):
    """In the third block of a megabyte."""
    monkeypatch.setattr(csvload, "STREAM_BYTES", 1)
    path = tmp_path / "a.csv"
    rows = [f"{number},{'x' * 30}\n" for number in range(100_000)]
    path.write_text("".join(["a,b\n", *rows[:80_000], "#c,d\n", *rows[80_000:]]))
    assert any(note.startswith("line 80,002 begins with '#'") for note in open_dataset(path).notes)
