"""Line breaks in quoted values, as exports of notes and addresses have them: every reader and the sniffer take them."""

from __future__ import annotations

import csv
import io

import pytest

import tare
from tare import open_dataset
from tare.codec import Codec
from tare.datasets import recognise

ROWS = 60_000
BY_PYARROW = ("csv:pyarrow", "csv:pandas,engine=pyarrow")


def export_of(rows: int, end: str = "\n", *, long: int = 0) -> bytes:
    """A CSV with a note in each row, of which a third have a line break; the last has so many characters more."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator=end)
    writer.writerow(["id", "name", "note"])
    writer.writerows(
        [i, f"Name {i}", f"called back {end * (i % 3 == 0)}on day {i}{'x' * long * (i == rows - 1)}"]
        for i in range(rows)
    )
    return text.getvalue().encode()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("codec", [*BY_PYARROW, "csv:pyarrow,newlines=true"])
def test_line_breaks_in_values_are_read_where_a_block_ends_in_one(codec, end):
    """A file of several blocks: without an option, whole, in part, and as a stream."""
    data, by = export_of(ROWS, end), Codec.parse(codec)
    assert len(data) > 2 << 20
    table = by.decode(data)
    column = table["note"].to_list() if codec.startswith("csv:pandas") else table["note"].to_pylist()
    assert [f"called back {end * (i % 3 == 0)}on day {i}" for i in range(ROWS)] == column
    assert list(range(ROWS)) == list(by.library.subset(data, ["id"], **by.options)["id"].to_numpy())
    if codec.startswith("csv:pyarrow"):
        part = by.library.rows(data, ROWS - 3, 2, **by.options)
        assert [ROWS - 3, ROWS - 2] == part["id"].to_pylist()
        read = by.stream.join(list(by.stream.read(io.BytesIO(data), **by.options)))
        assert column == read["note"].to_pylist()


@pytest.mark.parametrize("codec", [*BY_PYARROW, "csv:duckdb", "csv:polars", "csv:pandas"])
def test_a_value_longer_than_a_block_is_read(codec):
    """Of three million characters, behind line breaks in others."""
    table = Codec.parse(codec).decode(export_of(ROWS, long=3_000_000))
    assert (ROWS, 3) == table.shape


def test_a_part_of_rows_is_read_beside_a_long_value():
    """By DuckDB too, which takes no row for longer than two million bytes unless it is told."""
    data, by = export_of(100, long=3_000_000), Codec.parse("csv:duckdb")
    assert list(range(100)) == by.library.subset(data, ["id"], **by.options)["id"].to_pylist()
    assert [97, 98] == by.library.rows(data, 97, 2, **by.options)["id"].to_pylist()


def test_a_row_that_does_not_fit_is_still_refused():
    """Reading again makes no row of one that has too many values."""
    with pytest.raises(tare.errors.TareError, match="Expected 3 columns, got 4"):
        Codec.parse("csv:pyarrow").decode(export_of(ROWS) + b"1,2,3,4\n")


def test_a_file_with_line_breaks_is_read_by_the_codec_that_is_asked_for(tmp_path):
    """By `tare.read`, and by the reader that convert compares its own result with."""
    path = tmp_path / "customers.csv"
    path.write_bytes(export_of(ROWS))
    assert ROWS == tare.read(path, codec="csv:pyarrow").num_rows
    done = tare.convert(path, tmp_path / "back.csv")
    assert ROWS == tare.read(tmp_path / "back.csv", codec="csv:pyarrow").num_rows
    assert not done.changes


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b'id,note\n1,"a\nb"\n2,c\n', "csv"),
        (b'id;note\r\n1;"a\r\n\r\nb, c"\r\n2;c\r\n', "csv"),
        (b'\xef\xbb\xbfid\tnote\n1\t"a\nb ""c"""\n2\tc\n', "csv"),
        (export_of(2_000)[: 64 << 10], "csv"),
        (b'He said, "well\nthen" and left.\nNobody saw him\n', None),
        (b'a,b\n1,"2\n3,4\n', "csv"),
    ],
)
def test_a_csv_without_a_name_is_known_by_its_rows(text, found):
    """Lines that are parts of a quoted value are no rows; a quote that is not closed hides none."""
    assert (found, None) == recognise.tell(text, None)


def test_a_file_without_an_ending_is_opened(tmp_path):
    """Nothing but its rows says what it is."""
    path = tmp_path / "export"
    path.write_bytes(b'id,note\n1,"a\nb"\n2,c\n')
    assert ["a\nb", "c"] == open_dataset(path).value["note"].to_pylist()
