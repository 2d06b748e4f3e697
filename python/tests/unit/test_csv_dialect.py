"""What stands between fields, and which values are no numbers: rows, names and digits come as they were written."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

import tare
from tare import io as tare_io
from tare.datasets import csvs, csvstream
from tare.datasets.csv_dialect import dialect
from tare.datasets.source import find
from tare.errors import DecodeError, Malformed, Truncated
from tare.measure.verdict import figures, gains
from tare.measure.verdict.negligible import no_matter
from tare.scale.csv_ranges import read_csv_range
from tare.scale.ranges import schema_to_text

MAIL = "Hello.\nplease call me back.\nThe matter is urgent.\nPlease.\nRegards\nBob"


def parsed(text: str | bytes, name: str = "x.csv") -> pa.Table:
    """The table of a text in a file of that name."""
    data = text.encode() if isinstance(text, str) else text
    source = find(data, format="csv")
    source.name = name
    return csvs.parse(source, data)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("names", [("id", "body"), ("a\nb", "c\nd")])
def test_line_ends_within_quotes_do_not_hide_the_delimiter(delimiter: str, names: tuple[str, str]) -> None:
    rows = [[str(k), MAIL] for k in range(100)]
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows([names, *rows])
    table = parsed(text.getvalue())
    assert list(names) == table.column_names
    assert rows == [[str(row[names[0]]), row[names[1]]] for row in table.to_pylist()]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("other", [",", ";", "\t", "|"])
@pytest.mark.parametrize("count", [1, 2])
def test_another_delimiter_within_quotes_is_none(delimiter: str, other: str, count: int) -> None:
    """As many in every row as the delimiter itself, or more, in the names too."""
    names = ["id", f"Name{other}Vorname{other * (count - 1)}"]
    rows = [[str(k), f"Meier{other}Hans{other * (count - 1)}"] for k in range(3)]
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerows([names, *([int(one), two] for one, two in rows)])
    table = parsed(text.getvalue())
    assert [names, *rows] == [
        table.column_names,
        *([str(row["id"]), row[names[1]]] for row in table.to_pylist()),
    ]


def test_a_quote_within_a_field_hides_nothing_from_the_delimiter() -> None:
    assert [{"a": '5," x', "b": 1}, {"a": '6," y', "b": 2}] == parsed('a;b\n5," x;1\n6," y;2\n').to_pylist()


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_blank_lines_however_many_stand_before_the_names(tmp_path: Path, mark: str) -> None:
    text = "\n" * 70_000 + "a;b\n1;2\n"
    (tmp_path / "x.csv").write_text(mark + text, encoding="utf-8")
    tare.convert(tmp_path / "x.csv", tmp_path / "x.parquet")
    assert [{"a": 1, "b": 2}] == parsed(text).to_pylist() == tare.read(tmp_path / "x.parquet").to_pylist()


@pytest.mark.parametrize("name", ["x.tsv", "x.TAB", "x.tsv.gz"])
def test_the_ending_says_what_the_header_leaves_open(name: str) -> None:
    table = parsed("City, State\tPop\nAustin, TX\t900\nReno, NV\t264\n", name)
    assert [
        {"City, State": "Austin, TX", "Pop": 900},
        {"City, State": "Reno, NV", "Pop": 264},
    ] == table.to_pylist()


def test_inspect_reads_all_with_the_delimiter_that_it_told(tmp_path: Path) -> None:
    """The header alone looks like one of commas."""
    path = tmp_path / "city.csv"
    path.write_text("City, State\tPop\nReno, NV\t264\nParis\t20\nRome\t30\nOslo\t7\n")
    found = tare.inspect(path).as_dict()
    assert [one["name"] for one in found["columns"]] == ["City, State", "Pop"]


def test_an_ending_that_the_header_contradicts_says_nothing() -> None:
    assert ["a", "b"] == parsed("a;b\n1;2\n", "x.tsv").column_names
    assert "|" == dialect(b"a,b|c\n1|2\n", ".psv").delimiter


def test_a_table_with_several_lines_in_a_value_is_written_with_tabs_and_read_back(tmp_path: Path) -> None:
    table = pa.table({"id": range(50), "body": [MAIL] * 50})
    tare.write(table, tmp_path / "x.parquet")
    done = tare.convert(tmp_path / "x.parquet", tmp_path / "x.tsv", verify=True)
    assert (True, table.to_pylist()) == (done.verified, tare.read(tmp_path / "x.tsv").to_pylist())


@pytest.mark.parametrize(
    "cells",
    [
        ["0xFFFFFFFFFFFFFFFF", "0xdeadbeefdeadbeef", "7"],
        ["0X1f", "7"],
        ["1e309", "2.5"],
        ["1e9999999999999999999", "2.5"],
        ["-1E+400", "2.5"],
        [" 02139", " 01001"],
        ["7", "   007"],
        ["7", "\t-007"],
        ['" 007"', "7"],
        ["-007", "7"],
        ["+491701234567", "+4930123456"],
        ["+491701234567", "7"],
        ["7", " +14155550123 "],
        ["2.5", "+14155550123"],
    ],
)
def test_values_that_a_number_would_change_are_text(cells: list[str]) -> None:
    table = parsed("v,w\n" + "".join(f"{cell},2020-01-05 00:00:00\n" for cell in cells))
    assert [cell.strip('"') for cell in cells] == table["v"].to_pylist()


@pytest.mark.parametrize(
    "cells",
    [
        ["inf", "2.5"],
        ["+5", "7.0"],
        ["+1234567.5", "-1234567.5"],
        ["+12345", "1e300"],
        ["1e+300", "-1e+99"],
        ["1e308", "2.5"],
        ["0", "7"],
        ["-0.5", "0.25"],
        ["1e-05", "7"],
    ],
)
def test_numbers_are_numbers(cells: list[str]) -> None:
    table = parsed("v,w\n" + "".join(f"{cell},2020-01-05 00:00:00\n" for cell in cells))
    assert [float(cell) for cell in cells] == table["v"].to_pylist()


def test_dates_and_times_do_not_make_numbers_doubtful() -> None:
    """Their zeros stand behind digits: no column is read twice for them."""
    from tare.datasets import csv_fields, csv_guesses

    data = b"v,w\n" + b"12,2020-01-05 00:07:00\n-3,2020-01-05T00:07:00+02:00\n" * 50
    found = csvs.guessed(find(data, format="csv"), data, dialect(data))
    assert [] == csv_guesses.doubtful(
        found.table, csv_fields.fields_of(data, dialect(data), ["v", "w"]).codes
    )


@pytest.mark.parametrize("ended", [False, True])
@pytest.mark.parametrize("name", ["a", '5" pipe'])
def test_a_missing_last_value_is_missing_without_a_last_line_end(
    tmp_path: Path, ended: bool, name: str
) -> None:
    """Whatever quotes stand within fields."""
    text = f'{name},b\n"x","y"\n"z",' + "\n" * ended
    assert [{name: "x", "b": "y"}, {name: "z", "b": None}] == parsed(text).to_pylist()
    (tmp_path / "x.csv").write_text(text)  # of a part the names are a row
    rows = range_of(tmp_path / "x.csv", 0, len(text), ["a", "b"])
    assert [{"a": name, "b": "b"}, {"a": "x", "b": "y"}, {"a": "z", "b": None}] == rows


@pytest.mark.parametrize("begin", ["1", '5" p'])
def test_a_value_that_the_end_cuts_gets_no_line_end(begin: str) -> None:
    """Its quote is not closed: nothing says that a line ended there."""
    assert [{"a": begin, "b": "x,"}] == [
        {**row, "a": str(row["a"])} for row in parsed(f'a,b\n{begin},"x,').to_pylist()
    ]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("\na,b", ["a", "b"]),
        ('"a\nb",c', ["a\nb", "c"]),
        ("a,b", ["a", "b"]),
        ('5" pipe,b', ['5" pipe', "b"]),
    ],
)
def test_names_alone_are_a_table_without_rows(text: str, names: list[str]) -> None:
    assert (names, 0) == (parsed(text).column_names, parsed(text).num_rows)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tare_io, "STREAM_BYTES", 0)
    monkeypatch.setattr(csvstream, "_LEAST_BLOCK_BYTES", 1000)
    monkeypatch.setattr(csvstream, "_MOST_BLOCK_BYTES", 1000)


@pytest.mark.usefixtures("small_blocks")
def test_a_stream_has_the_types_of_the_whole(tmp_path: Path) -> None:
    rows = ["2020-01-01,1"] * 1000 + ["2020-01-01 10:00:00,18446744073709551615"]
    (tmp_path / "x.csv").write_text("d,u\n" + "\n".join(rows) + "\n")
    done = tare.convert(tmp_path / "x.csv", tmp_path / "x.parquet")
    whole = parsed((tmp_path / "x.csv").read_bytes())
    assert done.streamed
    assert [] == [note for note in done.notes if "kept as text" in note]
    assert [str(t) for t in whole.schema.types] == ["timestamp[s]", "uint64"]
    assert whole.to_pylist() == tare.read(tmp_path / "x.parquet").to_pylist()


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    ("cells", "alike"),
    [
        (["-0", "7", "18446744073709551615"], False),
        (["8", "7", "18446744073709551615"], True),
        (["-8", "7", "18446744073709551615"], True),
        ([" 8", "7", " 18446744073709551615"], True),
        ([" -8", "7", "18446744073709551615"], True),
        (["100000000000000000000", "7", "1.5"], False),
        (["100000000000000000000", "7", ""], True),
        (["9007199254740993", "7", "1.5"], False),
        (["0x10", "7", "true"], True),
        (["1", "0", "true"], False),
        (["0.5", "7", "18446744073709551615"], False),
    ],
)
def test_a_stream_is_read_as_the_whole_or_says_that_it_is_text(
    tmp_path: Path, cells: list[str], alike: bool
) -> None:
    """Each value fills blocks of its own; one in the middle fits every type."""
    counts = (300, 2000, 300)
    rows = [cell for cell, count in zip(cells, counts, strict=True) for _ in range(count)]
    (tmp_path / "x.csv").write_text("v,w\n" + "".join(f"{cell},2020-01-05\n" for cell in rows))
    done = tare.convert(tmp_path / "x.csv", tmp_path / "x.parquet")
    stream, whole = tare.read(tmp_path / "x.parquet")["v"], parsed((tmp_path / "x.csv").read_bytes())["v"]
    assert done.streamed
    if alike:
        assert (whole.type, whole.to_pylist()) == (stream.type, stream.to_pylist())
    else:
        assert [cell or None for cell in rows] == stream.to_pylist()
    assert alike == (not any("no one type" in note for note in done.notes))


@pytest.mark.usefixtures("small_blocks")
def test_a_stream_says_which_columns_only_the_whole_would_tell(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("d\n" + "1\n" * 1000 + "true\n")
    done = tare.convert(tmp_path / "x.csv", tmp_path / "x.ndjson")
    assert any("no one type" in note and "kept as text: 'd'" in note for note in done.notes)
    assert not any("leading zeros" in note for note in done.notes)
    assert {"1": 1000, "true": 1} == {
        cell: [row["d"] for row in tare.read(tmp_path / "x.ndjson")].count(cell) for cell in ("1", "true")
    }


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_stream_of_blank_lines_alone_is_refused(tmp_path: Path, mark: str) -> None:
    (tmp_path / "x.csv").write_text(mark + "\n" * 5000, encoding="utf-8")
    with pytest.raises(Truncated, match="white space only"):
        tare.convert(tmp_path / "x.csv", tmp_path / "x.parquet")


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("before", ["", "\n" * 5000])
def test_a_byte_order_mark_within_a_text_is_a_part_of_it(tmp_path: Path, before: str) -> None:
    cells = ["\ufeffx" * (k % 3 == 0) or f"y{k}" for k in range(2000)]
    (tmp_path / "x.csv").write_text(
        before + "v,w\n" + "".join(f"{cell},1\n" for cell in cells), encoding="utf-8"
    )
    assert tare.convert(tmp_path / "x.csv", tmp_path / "x.parquet").streamed
    assert cells == tare.read(tmp_path / "x.parquet")["v"].to_pylist()


def range_of(path: Path, start: int, end: int, names: list[str]) -> list[dict[str, object]]:
    schema = pa.schema([(name, pa.string()) for name in names])
    options = {"schema": schema_to_text(schema), "delimiter": ",", "header": 0}
    return [
        row
        for batch in read_csv_range(str(path), start, end, options, path.name)[1]
        for row in batch.to_pylist()
    ]


def test_a_byte_order_mark_at_a_parts_begin_is_a_part_of_its_value(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n\ufeffx,1\n", encoding="utf-8")
    assert [{"a": "\ufeffx", "b": "1"}] == range_of(path, 4, path.stat().st_size, ["a", "b"])


@pytest.mark.parametrize("value", ["t\n9,u", "\n9,", "t\n9,", "a\n,b\n", "\n"])
def test_a_part_that_begins_and_ends_within_values_is_refused(tmp_path: Path, value: str) -> None:
    path = tmp_path / "x.csv"
    text = "".join(f'{k},"{value}"\n' for k in range(40)).encode()
    path.write_bytes(text)
    ends = [at + 1 for at, byte in enumerate(text) if byte == ord("\n")]
    for start in ends[:8]:
        for end in ends[9:40]:
            with pytest.raises(Malformed, match="without --split-lines"):
                range_of(path, start, end, ["id", "t"])


@pytest.mark.parametrize("end", ['5,"abc', '5,"abc\n', '4,x\n5,"abc,', '5,"abc""'])
def test_a_part_that_the_file_ends_within_a_value_is_refused(tmp_path: Path, end: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(end)
    with pytest.raises(Malformed, match="a quote is not closed in its line"):
        range_of(path, 0, path.stat().st_size, ["id", "t"])


def test_the_files_own_byte_order_mark_is_no_part_of_a_value(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("\ufeffx,1\n", encoding="utf-8")
    assert [{"a": "x", "b": "1"}] == range_of(path, 0, path.stat().st_size, ["a", "b"])


def test_a_quote_within_a_field_is_a_character_of_a_part_too(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('5" pipe,1\n6",2\n"a ""b""",3\n')
    assert ['5" pipe', '6"', 'a "b"'] == [
        row["a"] for row in range_of(path, 0, path.stat().st_size, ["a", "b"])
    ]


@pytest.mark.parametrize(
    ("name", "delimiter", "title"),
    [
        ("a.tsv", "\t", "TSV"),
        ("a.tsv.gz", "\t", "TSV"),
        ("a.txt", "\t", "TSV"),
        ("a.csv", ",", "CSV"),
        ("a.tsv", ";", "CSV"),
    ],
)
def test_a_text_with_tabs_is_called_tsv(tmp_path: Path, name: str, delimiter: str, title: str) -> None:
    text = "id,name\n1,a\n2,b\n".replace(",", delimiter).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    found = tare.open_dataset(path)
    assert (title, "csv") == (found.summary()["source_title"], found.summary()["source_format"])
    assert title == tare.inspect(path).title
    record = {"dataset": found.summary()}
    source = figures.source(
        record, cast(Any, SimpleNamespace(timed={}, profile=SimpleNamespace(subset_reads=0)))
    )
    assert title == gains.source_name(source)
    timed = {**source, "codec": "csv:pyarrow"}
    assert f"keep the {title} you have" in no_matter({"small": True, "source": timed})


def test_tsv_is_a_format_wherever_csv_is_one(tmp_path: Path) -> None:
    path, out = tmp_path / "a.dat", tmp_path / "b.dat"
    path.write_text("name, first\tn\nA, B\t1\nC, D\t2\n")
    assert ["name, first", "n"] == tare.open_dataset(path, format="tsv").value.column_names
    done = tare.convert(path, out, format="tsv", codec="tsv", verify=True)
    assert ("csv:pyarrow,delimiter=tab", True) == (done.to, done.verified)
    assert '"name, first"\t"n"\n"A, B"\t1\n"C, D"\t2\n' == out.read_text()


@pytest.mark.parametrize("delimiter", ["\x01", "^"])
def test_delimiters_of_hive_and_of_old_programs_are_told_by_all_rows(tmp_path: Path, delimiter: str) -> None:
    """With a note; what stands in the header alone, or beside a usual one, is part of names."""
    path = tmp_path / "x.csv"
    for text, rows in (
        ("a^b\n1^x, y\n2^z\n", [{"a": 1, "b": "x, y"}, {"a": 2, "b": "z"}]),
        ("a^b\n1\n", [{f"a{delimiter}b": 1}]),
        ("a^2,b^2\n1,2\n", [{f"a{delimiter}2": 1, f"b{delimiter}2": 2}]),
    ):
        path.write_text(text.replace("^", delimiter))
        found = tare.open_dataset(path)
        assert rows == found.value.to_pylist()
        told = any("taken to be separated" in note for note in found.notes)
        assert told == (len(rows) == 2)
    path.write_text(f"sep={delimiter}\na, b{delimiter}c\n1{delimiter}2\n")
    assert [{"a, b": 1, "c": 2}] == tare.open_dataset(path).value.to_pylist()


@pytest.mark.parametrize("end", ["", "\n", "\r\n\r\n"])
def test_a_line_that_names_the_delimiter_alone_is_told_as_that(tmp_path: Path, end: str) -> None:
    """It is no white space."""
    path = tmp_path / "x.csv"
    for encoding in ("utf-8", "utf-16"):
        path.write_bytes(f"sep=;{end}".encode(encoding))
        with pytest.raises(Truncated, match="it holds the line 'sep=;' alone, no names and no rows"):
            tare.open_dataset(path)


@pytest.mark.parametrize("codec", ["csv:pyarrow", "csv:polars", "csv:stdlib"])
def test_a_codec_that_expects_commas_says_what_does_not(tmp_path: Path, codec: str) -> None:
    """The file is not damaged: its delimiter is another, for which codecs have an option."""
    path = tmp_path / "a.csv"
    path.write_text("id;name;n\n1;a;1,5\n2;b;2,25\n")
    with pytest.raises(
        DecodeError, match=r"Tare's own reader takes other delim.*';': codecs have delimiter=semicolon"
    ):
        tare.read(path, codec=codec)
    assert 3 == len(tare.read(path).column_names)
    assert (2, 3) == tare.read(path, codec="csv:pyarrow,delimiter=semicolon").shape
