"""What stands between fields, and which values are no numbers: rows, names and digits come as they were written."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pyarrow as pa
import pytest

import tare
from tare import io as tare_io
from tare.datasets import csvs, csvstream
from tare.datasets.csv_dialect import dialect
from tare.datasets.source import find
from tare.errors import Malformed
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


@pytest.mark.parametrize("name", ["x.tsv", "x.TAB", "x.tsv.gz"])
def test_the_ending_says_what_the_header_leaves_open(name: str) -> None:
    table = parsed("City, State\tPop\nAustin, TX\t900\nReno, NV\t264\n", name)
    assert [
        {"City, State": "Austin, TX", "Pop": 900},
        {"City, State": "Reno, NV", "Pop": 264},
    ] == table.to_pylist()


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
        ["-1E+400", "2.5"],
        [" 02139", " 01001"],
        ["7", "   007"],
        ["7", "\t-007"],
        ['" 007"', "7"],
        ["-007", "7"],
    ],
)
def test_values_that_a_number_would_change_are_text(cells: list[str]) -> None:
    table = parsed("v,w\n" + "".join(f"{cell},2020-01-05 00:00:00\n" for cell in cells))
    assert [cell.strip('"') for cell in cells] == table["v"].to_pylist()


@pytest.mark.parametrize(
    "cells", [["inf", "2.5"], ["1e308", "2.5"], ["0", "7"], ["-0.5", "0.25"], ["1e-05", "7"]]
)
def test_numbers_are_numbers(cells: list[str]) -> None:
    table = parsed("v,w\n" + "".join(f"{cell},2020-01-05 00:00:00\n" for cell in cells))
    assert [float(cell) for cell in cells] == table["v"].to_pylist()


def test_dates_and_times_do_not_make_numbers_doubtful() -> None:
    """Their zeros stand behind digits: no column is read twice for them."""
    from tare.datasets import csv_guesses

    data = b"v,w\n" + b"12,2020-01-05 00:07:00\n-3,2020-01-05T00:07:00+02:00\n" * 50
    style = dialect(data)
    assert [] == csv_guesses.doubtful(data, style, csvs.read(find(data, format="csv"), data, style)[0])


@pytest.mark.parametrize("ended", [False, True])
def test_a_missing_last_value_is_missing_without_a_last_line_end(ended: bool) -> None:
    table = parsed('a,b\n"x","y"\n"z",' + "\n" * ended)
    assert [{"a": "x", "b": "y"}, {"a": "z", "b": None}] == table.to_pylist()


@pytest.mark.parametrize(
    ("text", "names"), [("\na,b", ["a", "b"]), ('"a\nb",c', ["a\nb", "c"]), ("a,b", ["a", "b"])]
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
def test_a_stream_says_which_columns_only_the_whole_would_tell(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("d\n" + "1\n" * 1000 + "true\n")
    done = tare.convert(tmp_path / "x.csv", tmp_path / "x.ndjson")
    assert any("no one type" in note and "kept as text: d" in note for note in done.notes)
    assert not any("leading zeros" in note for note in done.notes)
    assert {"1": 1000, "true": 1} == {
        cell: [row["d"] for row in tare.read(tmp_path / "x.ndjson")].count(cell) for cell in ("1", "true")
    }


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


def test_a_quote_within_a_field_is_a_character_of_a_part_too(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('5" pipe,1\n6",2\n"a ""b""",3\n')
    assert ['5" pipe', '6"', 'a "b"'] == [
        row["a"] for row in range_of(path, 0, path.stat().st_size, ["a", "b"])
    ]
