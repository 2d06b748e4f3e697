"""Columns that the core reads of a CSV are what Arrow's reader makes of the text, and no text is read that Python's csv reads otherwise."""

from __future__ import annotations

import csv
import io
import random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tare
from tare.datasets import csv_fields, csvload, csvs, csvstream
from tare.datasets.csv_dialect import dialect
from tare.datasets.source import find
from tare.errors import TareError

KINDS = {
    "whole": ["1", "-7", "0", "42", "123456789012345678", "-999999999999999999", '"5"'],
    "numbers": ["1.5", "-0.25", "3", "1e5", "2.5E-3", ".5", "7.", "0.1", "1234567.891", "-0.0", "1e22", "9007199254740991.5",
                "0.30000000000000004", "123456789.123456789", "1e15", "4.9e-5", "100000000000000000.5", "00.5"],
    "codes": ["007", "01067", "7", "-01", "0", "00", '"08"', "010.5"],
    "odd numbers": ["+5", " 5", "5 ", "0x1F", "-0", "nan", "inf", "-inf", "1e309", "1_000", "9007199254740993", "18446744073709551615",
                    "+491701234567", "1e-400", "NaN", "Infinity", "-", "+", ".", "1e", "e5", "-.", "1.2.3", "--1", "1-2", "0X2", "-0x3", "1f", "5d"],
    "truths": ["true", "false", "True", "FALSE", "TRUE", "tRUE", "0", "1", "true ", "yes"],
    "days": ["2024-02-29", "1999-12-31", "1000-01-01", "9999-12-31", "2023-02-29", "2024-2-1", "0001-01-01", "20240101"],
    "moments": ["2024-02-29 23:59:59", "1970-01-01T00:00:00", "2024-02-29 10:00", "2024-02-29 10", "2024-02-29 24:00:00", "1677-01-01 00:00:00",
                "2262-01-01 00:00:00", "2024-02-29  10:00:00", "1678-01-01 00:00:00", "2261-12-31 23:59:59"],
    "fine moments": ["2024-02-29 23:59:59.5", "2024-02-29T10:00:00.123456789", "2024-02-29 10:00:00.1234567890", "2024-02-29 10:00:00.",
                     "2024-02-29 10:00:00"],
    "zones": ["2024-02-29T23:59:59Z", "1970-01-01 00:00:00Z", "2024-02-29T10:00:00+02:00", "2024-02-29T10:00:00.5Z", "2024-02-29T10:00:00",
              "2013-01-01 05:00:00.000000-0500", "2013-12-31 23:59:59.25+0530", "2024-02-29T10:00:00+01", "2024-02-29T10:00:00-24:00", "2024-02-29T10:00:00+00:00"],
    "times": ["10:00:00", "23:59:59", "12:30", "10:00:00.5", "24:00:00"],
    "texts": ["x", "London", "N14228", "nancy", "info", "falsehood", "10.0.0.1", "555-1234", "a-1", "caf\u00e9", "\u20ac5", "$5", "01/02/2013", "A0",
              '"a, b"', '"say ""so"""', '"a\nb"', '"a\r\nb"', '""', '"NA"', "'", "#", "1%", "T", "true north", "nan bread"],
    "missing": ["", "NA", "N/A", "#N/A", "NULL", "null", "na", "None", "NAN"],
}  # fmt: skip
ALL = [cell for cells in KINDS.values() for cell in cells]


def both(data: bytes, columns: list[str] | None = None) -> tuple[csvs.Guessed, csvs.Guessed | None]:
    """The table by Arrow, with what `fields_of` adds; and by the core, None if it leaves the text."""
    source, style = find(data, format="csv"), dialect(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csvs, "plain_columns", lambda *_: None)
        expected = csvs.guessed(source, data, style, columns=columns)
    read = csv_fields.plain_columns(data, style, csvs.names_of(data, style))
    return expected, None if read is None else csvs.guessed(source, data, style, columns=columns)


def check(data: bytes) -> bool:
    """Whether the core reads a text, which it reads as Arrow does."""
    try:
        expected, found = both(data)
    except TareError:
        assert csv_fields.plain_columns(data, dialect(data), csvs.names_of(data, dialect(data))) is None
        return False
    if found is None:
        return False
    assert found.table.schema == expected.table.schema, data
    assert found.table.equals(expected.table), data
    found.table.validate(full=True)
    assert (found.kept, found.fields.words) == (expected.kept, expected.fields.words), data
    return True


def text_of(columns: list[list[str]], end: str = "\n", last: bool = True) -> bytes:
    names = ",".join(f"c{place}" for place in range(len(columns)))
    rows = end.join([names, *map(",".join, zip(*columns, strict=True))])
    return (rows + end * last).encode()


@pytest.mark.parametrize("kind", KINDS)
def test_each_value_by_itself_and_beside_each_other(kind: str) -> None:
    """All pairs of a kind, and each value beside one of every other kind."""
    others = [cells[0] for cells in KINDS.values()]
    pairs = [(one, other) for one in KINDS[kind] for other in (*KINDS[kind], *others)]
    for one, other in pairs:
        check(text_of([[one, other, ""], ["x", "y", "z"]]))
        check(text_of([[other, one], ["x", "y"]]))


@pytest.mark.parametrize(
    "kind", ["whole", "numbers", "codes", "days", "moments", "zones", "fine moments", "texts"]
)
def test_plain_columns_are_read_by_the_core(kind: str) -> None:
    """It is no use if it leaves everything."""
    plain = [cell for cell in KINDS[kind] if check(text_of([[cell], ["x"]]))]
    assert len(plain) >= 2


CELLS = st.sampled_from(list(KINDS.values())).flatmap(
    lambda cells: st.sampled_from([*cells, *KINDS["missing"][:2]])
)


@given(
    st.lists(
        st.sampled_from(list(KINDS)).flatmap(
            lambda kind: st.lists(
                st.sampled_from([*KINDS[kind], "", "NA"]) | st.sampled_from(ALL), min_size=6, max_size=6
            )
        ),
        min_size=2, max_size=4,
    ),
    st.sampled_from(["\n", "\r\n"]), st.booleans(),
)  # fmt: skip
def test_any_mixture_is_what_arrow_reads(columns: list[list[str]], end: str, last: bool) -> None:
    check(text_of(columns, end, last))


@given(st.text(alphabet='0129.,-+eExNAantrufls:TZ "\n\r\t', max_size=40))
def test_any_text_is_what_arrow_reads(text: str) -> None:
    check(f"a,b\n{text}\n".encode())
    check(f"a,b\n{text},\n1,2\n".encode())


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "7", "2.5", "007", "x", "NA", "2024-01-01", "-0", "18446744073709551615"]),
            st.text(max_size=6), st.integers() | st.floats(allow_nan=False, allow_infinity=False),
        ),
        min_size=1, max_size=40,
    ),
    st.integers(1, 200), st.sampled_from(["\n", "\r\n"]),
)  # fmt: skip
def test_a_table_of_texts_comes_back_by_the_documented_rules(
    rows: list[tuple[str, str, float]], size: int, end: str
) -> None:
    """As Python's csv reads it, block by block: bare words are missing, numbers that would change are text."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator=end, quoting=csv.QUOTE_MINIMAL)
    writer.writerows([("a", "b", "c"), *rows])
    data = out.getvalue().encode("utf-8", "replace")
    expected = list(csv.reader(io.StringIO(data.decode(), newline="")))[1:]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csvload, "STREAM_BYTES", 0)
        for name in ("_LEAST_BLOCK_BYTES", "_MOST_BLOCK_BYTES"):
            patch.setattr(csvstream, name, size)
        try:
            table = tare.read(data, format="csv")
        except TareError:
            return  # a quote that looks misplaced, or rows within one
    whole = csvs.parse(find(data, format="csv"), data)
    assert whole.equals(table)
    assert table.num_rows == len(expected)
    for place, column in enumerate(table.columns):
        texts = [row[place] for row in expected]
        for text, value in zip(texts, column.to_pylist(), strict=True):
            if value is None:
                assert text in csvs.MISSING
            elif pa.types.is_string(column.type):
                assert value == text
            elif pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
                assert value == (int if pa.types.is_integer(column.type) else float)(text)
                assert not text.strip().lstrip("+-").startswith("00")
            else:
                assert str(value)[: len(text)].lower() == text.lower()  # such as TRUE


def test_many_rows_side_by_side_are_what_they_are_one_by_one() -> None:
    """Types that only later blocks tell: the rows before them are read again, or made doubles."""
    draw = random.Random(5)
    columns = {
        "int": [str(draw.randrange(10**6)) for _ in range(4000)],
        "late double": [*map(str, range(3999)), "0.5"],
        "late zero": ["-0", *map(str, range(3998)), "0.5"],
        "late text": [*map(str, range(3999)), "x"],
        "late code": [*map(str, range(3999)), "007"],
        "late day": [*[""] * 3999, "2024-01-01"],
        "late word": [*["x"] * 3999, "NA"],
        "days, then a moment": [*["2024-01-01"] * 3999, "2024-01-01 10:00:00"],
        "long": [*map(str, range(3999)), "18446744073709551615"],
    }
    data = text_of(list(columns.values()))
    whole, notes = csvs.parse(find(data, format="csv"), data), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csvload, "STREAM_BYTES", 0)
        for name in ("_LEAST_BLOCK_BYTES", "_MOST_BLOCK_BYTES"):
            patch.setattr(csvstream, name, 4096)
        for threads in (1, 2, 3):
            before = pa.cpu_count()
            pa.set_cpu_count(threads)
            try:
                found = tare.open_dataset(io.BytesIO(data), format="csv")
            finally:
                pa.set_cpu_count(before)
            assert found.value.equals(whole), threads
            notes[threads] = found.notes
    assert notes[1] == notes[2] == notes[3]
    assert any("'NA' in 'c6'" in note for note in notes[1])
    assert any(note.startswith(csvs.KEPT) and "c4" in note for note in notes[1])
