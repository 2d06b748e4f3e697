"""CSV in blocks gives what the whole text gives: the same rows, types and notes, or it says that it cannot tell."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import random

import pytest

from tare.datasets import csvload, csvs, csvstream
from tare.datasets.source import find
from tare.errors import Malformed, Truncated

BLOCK = 4096
ROWS = 3000


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Everything is large."""
    monkeypatch.setattr(csvload, "STREAM_BYTES", 0)
    monkeypatch.setattr(csvload, "_PROBE_BYTES", BLOCK)
    monkeypatch.setattr(csvstream, "_LEAST_BLOCK_BYTES", BLOCK)
    monkeypatch.setattr(csvstream, "_MOST_BLOCK_BYTES", BLOCK)


def column(late: str, early: str = "7") -> bytes:
    """A file whose column ``x`` holds something else in its last rows."""
    rows = [f"{k},{early if k < ROWS - 5 else late},t{k}" for k in range(ROWS)]
    return ("id,x,name\n" + "\n".join(rows) + "\n").encode()


WITHIN_BLOCKS = [
    ("1.5", "7"), ("x", "7"), ("0012", "7"), ("", "7"), ("7", ""), ("7", "x"), ("NA", "1.5"), ("true", "false"),
    ("18446744073709551615", "18446744073709551614"), ('"a\nb"', '"c,""d"""'), ("2020-01-01", "2020-01-02"), ("10:00:00", "7"),
    ("18446744073709551615", "7"), ("18446744073709551615", "-7"), ("2020-01-01 10:00:00", "2020-01-02"), ("0x1F", "7"),
    ("100000000000000000000", "7"), (" 18446744073709551615", " 8"), (" 18446744073709551615", " -8"),
    ("+491701234567", "7"), ("7", "+491701234567"), ("+491701234567", "+1.5"),
]  # fmt: skip
# Told by a block that holds both, if there is one; else the whole is read, so that either answer is right here.
BY_BORDERS = [("1.5", "9007199254740993"), ("100000000000000000000", "1.5"), ("18446744073709551615", "-0")]
WHOLE_ONLY = [
    ("true", "1"), ("2020-01-01 10:00:00.5", "2020-01-02"),
]  # fmt: skip


@pytest.mark.parametrize(("late", "early"), [*WITHIN_BLOCKS, *WHOLE_ONLY, *BY_BORDERS])
@pytest.mark.parametrize("packed", [False, True])
def test_blocks_and_the_whole_agree(tmp_path, late, early, packed):
    """Rows, types and notes are the same, compressed or not."""
    data = column(late, early)
    path = tmp_path / ("x.csv.gz" if packed else "x.csv")
    path.write_bytes(gzip.compress(data) if packed else data)
    source, whole = find(path), find(data, format="csv")
    expected = csvs.parse(whole, data)
    table, share, _ = csvload.load(source)
    assert 1.0 == share
    assert expected.schema == table.schema
    assert expected.equals(table)
    assert whole.notes == list(dict.fromkeys(source.notes))


@pytest.mark.parametrize(("late", "early"), WITHIN_BLOCKS)
def test_what_blocks_can_tell_they_do(tmp_path, late, early):
    """No column is left unsure, so that memory stays bounded."""
    (tmp_path / "x.csv").write_bytes(column(late, early))
    assert not csvstream.guess(find(tmp_path / "x.csv")).unsure


@pytest.mark.parametrize(("late", "early"), WHOLE_ONLY)
def test_what_blocks_cannot_tell_they_say(tmp_path, late, early):
    """The column is named."""
    (tmp_path / "x.csv").write_bytes(column(late, early))
    assert {"x"} == csvstream.guess(find(tmp_path / "x.csv")).unsure


@pytest.mark.parametrize("odd", ['15" pipe', '6" and 7"', 'a"b', '"a"b'])
def test_stray_quotes_are_left_to_the_whole(tmp_path, odd):
    """They would lead blocks astray; the rows come as the whole text gives them."""
    data = column(odd)
    (tmp_path / "x.csv").write_bytes(data)
    source = find(tmp_path / "x.csv")
    with pytest.raises(csvstream.Undecided):
        csvstream.guess(source)
    assert csvs.parse(find(data, format="csv"), data).equals(csvload.load(source)[0])


def test_whole_rows_agree_with_a_reader(tmp_path):
    """Wherever a text is cut, what stands before the end that is told parses to the first rows of all."""
    rng = random.Random(3)
    cells = ["x", "1", "", "a,b", "line\nend", 'say "so"', "\r\n"]
    rows = [[rng.choice(cells) for _ in range(3)] for _ in range(60)]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    data = text.getvalue().encode()
    for end in range(0, len(data), 7):
        whole = csvstream.whole_rows(data[:end], ",")
        found = list(csv.reader(io.StringIO(data[:whole].decode(), newline="")))
        assert rows[: len(found)] == found


@pytest.mark.parametrize(
    ("row", "kind"), [("1", Malformed), ("1,2,3,4", Malformed), ("1,\xff,3", Malformed), (None, Truncated)]
)
def test_faults_are_told_by_their_place_in_the_file(tmp_path, row, kind):
    """Row and byte are those of the file, not of a block."""
    lines = column("1").decode().splitlines()
    if row is None:
        lines[-1] = "1,2"
    else:
        lines[2000] = row
    data = "\n".join(lines).encode("latin1")
    (tmp_path / "x.csv").write_bytes(data)
    at = len("\n".join(lines[: 2000 if row else -1])) + 1
    with pytest.raises(kind) as caught:
        csvload.load(find(tmp_path / "x.csv"))
    assert caught.value.offset in (at, at + 2)


def test_the_part_that_fits_is_read_in_blocks(tmp_path):
    """Its share of the file and of the rows agree."""
    (tmp_path / "x.csv").write_bytes(column("1"))
    table, share, _ = csvload.load(find(tmp_path / "x.csv"), max_bytes=30_000)
    assert 0.2 < share < 0.8
    assert abs(table.num_rows / ROWS - share) < 0.05
    assert table.nbytes < 45_000


@pytest.fixture
def short_stretches(monkeypatch):
    """A small file is spread too."""
    monkeypatch.setattr(csvstream, "_LEAST_STRETCH_BYTES", 64)


@pytest.mark.parametrize("text", ["t{k}", '"t{k}"', '"t\n{k}"', '"t,{k}\n"', '"""\n{k}"', '"\n\n,\n{k}"'])
def test_a_part_is_rows_from_all_over_the_file(tmp_path, short_stretches, text):
    """Whole rows in their order, in eight stretches spread evenly; an end of line within quotes begins no row."""
    rows = [(k, k // 7, text.format(k=k)) for k in range(ROWS)]
    data = "id,x,name\n" + "".join(f"{k},{x},{name}\n" for k, x, name in rows)
    path = tmp_path / "x.csv"
    path.write_text(data, newline="")
    whole = csvload.load(find(path))[0]
    table, share, rule = csvload.load(find(path), max_bytes=whole.nbytes // 4)
    assert rule == "blocks of rows"
    assert share == pytest.approx(0.25, rel=0.2)
    assert table.num_rows / ROWS == pytest.approx(share, rel=0.1)
    places = table["id"].to_pylist()
    assert places == sorted(set(places))
    steps = [b - a for a, b in itertools.pairwise(places) if b - a > 1]
    assert len(steps) == 7
    assert places[0] == 0
    assert places[-1] > 0.87 * ROWS
    assert table.equals(whole.take(places))


def test_a_part_of_what_cannot_be_spread_is_its_first_rows(tmp_path, short_stretches):
    """Compressed text has one beginning; nearly all of a file is read from its start."""
    data = column("7")
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(data))
    (tmp_path / "x.csv").write_bytes(data)
    _, share, rule = csvload.load(find(tmp_path / "x.csv.gz"), max_bytes=20_000)
    assert (share < 1, rule) == (True, "first rows")  # a decompressor reads ahead
    plain = find(tmp_path / "x.csv")
    assert [csvstream.Blocks(plain, round(part * plain.size)).spread for part in (0.3, 0.7, 0.9)] == [
        True, True, False,
    ]  # fmt: skip


def test_stretches_that_tell_no_rows_are_given_up(tmp_path, short_stretches):
    """Quotes within fields tell no row's beginning: then it is the first rows, read at once."""
    data = "id,x,name\n" + "".join(f'{k},7,t{k} 5" x 3\n' for k in range(ROWS))
    (tmp_path / "x.csv").write_text(data)
    table, share, rule = csvload.load(find(tmp_path / "x.csv"), max_bytes=20_000)
    assert rule == "first rows"
    assert table["id"].to_pylist() == list(range(table.num_rows))
    assert 0 < share < 0.9


@pytest.mark.parametrize("seed", range(5))
def test_a_part_of_random_rows_holds_rows_of_the_file(tmp_path, short_stretches, seed):
    """Fields with quotes, delimiters and ends of lines at random: what is read is in the file, row by row."""
    draw = random.Random(seed)
    words = ["a", "b c", "", 'q"q', "n\nn", "c,c", "\n", '"', "\r\n", "x" * 40]
    rows = [(str(k), draw.choice(words), draw.choice(words)) for k in range(ROWS)]
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows([("id", "x", "name"), *rows])
    (tmp_path / "x.csv").write_text(out.getvalue(), newline="")
    table, share, rule = csvload.load(find(tmp_path / "x.csv"), max_bytes=30_000)
    assert 0 < share < 1
    for row in table.to_pylist():
        at = int(row["id"])
        assert [row["x"] or "", row["name"] or ""] == list(rows[at][1:]), rule


@pytest.mark.parametrize("stream", [True, False])
def test_a_quote_that_is_never_closed_is_an_error(tmp_path, monkeypatch, stream):
    """98 % of the rows were one value of row 100: its line is told, and how much would be part of it."""
    if not stream:
        monkeypatch.setattr(csvload, "STREAM_BYTES", 8 << 20)
    lines = column("1").decode().splitlines()
    lines[100] = lines[100].replace("t99", '"t99')
    (tmp_path / "x.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(
        Malformed, match=r"a quote in line 101 is never closed: the 2,900 lines after it"
    ) as caught:
        csvload.load(find(tmp_path / "x.csv"))
    assert caught.value.offset == len("\n".join(lines[:100]) + "\n99,7,")
    for whole in (b'a,b\n1,"x"\n2,5" pipe\n', b'a,b\n1,"x ""y"" z"\n', b'a,b\n1,"x\ny"\n'):
        assert csvs.parse(find(whole, format="csv"), whole).num_rows >= 1


def test_utf16_is_left_to_the_whole(tmp_path):
    """A newline is no byte there."""
    (tmp_path / "x.csv").write_bytes(column("1").decode().encode("utf-16"))
    assert ROWS == csvload.load(find(tmp_path / "x.csv", format="csv"))[0].num_rows


def test_chosen_columns(tmp_path):
    """In the order asked for; a wrong name is an error that lists the right ones."""
    (tmp_path / "x.csv").write_bytes(column("1"))
    assert ["name", "id"] == csvload.load(find(tmp_path / "x.csv"), columns=["name", "id"])[0].column_names
    with pytest.raises(Exception, match="It has id, x, name"):
        csvload.load(find(tmp_path / "x.csv"), columns=["none"])


@pytest.mark.parametrize("head", [b"id,x,name\r", b"\n\r\nid,x,name\n", b'"id","x\r","name"\r'])
def test_no_row_is_taken_for_the_header(tmp_path, head):
    """A header that ends in a lone CR, though other lines end in LF; or that comes behind empty lines."""
    data = head + column("7").partition(b"\n")[2]
    (tmp_path / "x.csv").write_bytes(data)
    table = csvload.load(find(tmp_path / "x.csv"))[0]
    assert (table["id"].to_pylist(), table.num_columns) == (list(range(ROWS)), 3)
    assert csvs.parse(find(data, format="csv"), data).equals(table)
