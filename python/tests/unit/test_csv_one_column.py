"""A CSV of one column: a blank line is a row whose value is missing, to every reader, as to others' tools."""

from __future__ import annotations

import io
import random
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from support.capabilities import need_codec, need_module, need_r
from support.soak import scaled

import tare
from tare import kinds, scale
from tare.converting import changes
from tare.datasets import csvload, csvs, csvstream
from tare.datasets.csv_dialect import Dialect, dialect
from tare.datasets.source import find
from tare.errors import Malformed
from tare.formats import csv_rows
from tare.scale.planning.schemas import layout_of_csv
from tare.scale.ranges import read_range

TEXTS = {
    "middle": b"v\n1\n\n3\n",
    "first": b"v\n\n1\n",
    "last": b"v\n1\n\n",
    "two last": b"v\n1\n\n\n",
    "no end": b"v\n1\n\n3",
    "crlf": b"v\r\n1\r\n\r\n3\r\n",
    "crlf last": b"v\r\n1\r\n\r\n",
    "before the header": b"\n\nv\n1\n\n3\n",
    "quoted": b'"v"\n"1"\n\n"3"\n',
    "comma in the name": b'"v,w"\n1\n\n3\n',
    "only null": b"v\n\n",
    "no row": b"v\n",
    "blanks": b"v\na\n  \nb\n",
    "lone cr": b"v\r1\r\r3\r",
}
CODECS = [
    "csv:pyarrow", "csv:pyarrow,newlines=true", "csv:polars", "csv:duckdb", "csv:pandas", "csv:pandas,engine=python",
    "csv:pandas,engine=pyarrow", "csv:stdlib",
]  # fmt: skip
LIBRARIES = ["csv:pyarrow", "csv:polars", "csv:duckdb", "csv:pandas", "csv:stdlib"]


def by_duckdb(path: Path) -> list[Any]:
    found = (
        need_module("duckdb")
        .connect()
        .execute(f"FROM read_csv('{path}', header = true, delim = ',')")
        .fetchall()
    )
    return [None if row[0] is None else str(row[0]) for row in found]


def values_of(table: Any) -> list[Any]:
    """Of the only column: numbers as texts without the ``.0`` that pandas gives beside a missing one."""
    column = kinds.convert(table, "arrow").column(0).to_pylist()
    return [None if one is None else str(one).removesuffix(".0") for one in column]


def same(found: list[Any], expected: list[Any]) -> bool:
    """Whether they are: of thousands of rows a difference shown takes minutes."""
    return found == expected


def rows_of(seed: int, count: int) -> list[str]:
    chosen = random.Random(seed)
    return [chosen.choice(["", "", "7", "12345"]) for _ in range(count)]


@pytest.mark.parametrize("name", TEXTS)
def test_a_blank_line_is_a_row_as_to_duckdb(tmp_path: Path, name: str) -> None:
    path = tmp_path / "one.csv"
    path.write_bytes(TEXTS[name])
    expected = by_duckdb(path)
    assert values_of(tare.read(path)) == expected
    assert values_of(tare.open_dataset(path, columns=list(tare.read(path).column_names)).value) == expected
    assert tare.inspect(path).rows == len(expected)
    done = tare.convert(path, tmp_path / "one.parquet", verify=True)
    assert done.rows == len(expected)
    assert values_of(parquet.read_table(tmp_path / "one.parquet")) == expected


@pytest.mark.parametrize("codec", CODECS)
def test_every_library_reads_it(codec: str) -> None:
    parsed = need_codec(codec)
    for name, text in TEXTS.items():
        if name == "lone cr":
            continue
        expected = values_of(tare.read(io.BytesIO(text), format="csv"))
        assert values_of(tare.decode(text, codec)) == expected, name
        assert values_of(parsed.reader("table")(io.BytesIO(text))) == expected, name


@pytest.mark.parametrize("codec", LIBRARIES)
def test_parts_of_columns_and_rows_have_the_blank_lines(codec: str) -> None:
    text = b"v\n1\n\n3\n\n5\n\n"
    parsed = need_codec(codec)
    assert parsed.library.subset is not None
    assert parsed.library.rows is not None
    some = parsed.library.subset(text, ["v"], **parsed.options)
    assert values_of(some) == ["1", None, "3", None, "5", None]
    assert values_of(parsed.library.rows(text, 1, 3, **parsed.options)) == [None, "3", None]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_of_several_columns_a_blank_line_is_no_row(tmp_path: Path, end: str) -> None:
    path = tmp_path / "two.csv"
    path.write_bytes(end.join(["", "a,b", "1,2", "", "3,4", "", ""]).encode())
    expected = {"a": [1, 3], "b": [2, 4]}
    assert tare.read(path).to_pydict() == expected
    assert tare.open_dataset(path, columns=["a"]).value.to_pydict() == {"a": [1, 3]}
    for codec in ("csv:pyarrow", "csv:duckdb", "csv:pandas"):
        found = need_codec(codec).decode(path.read_bytes())
        assert kinds.convert(found, "arrow").to_pydict() == expected


def test_a_quoted_empty_text_is_no_null(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_bytes(b'v\na\n\n""\n"x\n\ny"\n')
    assert tare.read(path).to_pydict() == {"v": ["a", None, "", "x\n\ny"]}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize("seed", range(scaled(1, 6)))
def test_blocks_have_every_blank_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, quoted: bool, seed: int
) -> None:
    path = tmp_path / "one.csv"
    rows = [f'"{one}"' if quoted and one else one for one in rows_of(seed, 10_000 + seed)]
    path.write_bytes((end.join(["v", *rows]) + end).encode())
    expected = [one.strip('"') or None for one in rows]
    assert same(values_of(tare.read(path)), expected)
    assert same(by_duckdb(path), expected)
    monkeypatch.setattr(csvload, "STREAM_BYTES", 0)
    for size in (1009, 4096):
        monkeypatch.setattr(csvstream, "_LEAST_BLOCK_BYTES", size)
        monkeypatch.setattr(csvstream, "_MOST_BLOCK_BYTES", size)
        assert same(values_of(csvload.load(find(path))[0]), expected)
    monkeypatch.setattr(csvload, "_PROBE_BYTES", 4096)
    part = tare.open_dataset(path, max_bytes=40_000)
    assert part.partial is not None
    assert 0 < part.items < len(rows)
    assert same(values_of(part.value), expected[: part.items])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_pyarrow_in_blocks_takes_no_line_end_for_a_row(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    """A block may end between CR and LF."""
    rows = rows_of(3, 400)
    text = (end.join(["v", *rows]) + end).encode()
    for quoted in (False, True):
        style = Dialect(quoted=quoted, one=True)
        given = csvs.options(style, {"v": pa.int64()}, None, len(text))
        for size in range(16, 80):
            given["read_options"] = csv.ReadOptions(block_size=size, use_threads=False)
            table = csv.read_csv(io.BytesIO(text), **given)
            assert values_of(table) == [one or None for one in rows]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "one", "two"])
def test_ranges_have_every_blank_line_once(tmp_path: Path, end: str, last: str) -> None:
    path = tmp_path / "one.csv"
    text = end + end.join(["v", *rows_of(5, 60), "", "8"]) + {"": "", "one": end, "two": end + end}[last]
    path.write_bytes(text.encode())
    layout = layout_of_csv(str(path))
    assert layout is not None
    expected = by_duckdb(path)
    for step in (1, 2, 3, 7, 50, len(text)):
        found: list[Any] = []
        for start in range(0, len(text), step):
            part = {"kind": "bytes", "start": start, "end": min(start + step, len(text))}
            schema, batches = read_range(str(path), part, layout, "x")
            found += values_of(pa.Table.from_batches(list(batches), schema))
        assert found == expected


def test_a_row_of_tabs_alone_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a block or range that has nothing else, and as a last line without an end."""
    path = tmp_path / "two.tsv"
    text = b"a\tb\n1\t2\n\n\t\n3\t4\n\t"
    path.write_bytes(text)
    expected = {"a": [1, None, 3, None], "b": [2, None, 4, None]}
    assert tare.read(path).to_pydict() == expected
    layout = layout_of_csv(str(path))
    assert layout is not None
    found = []
    for start in range(len(text)):
        schema, batches = read_range(
            str(path), {"kind": "bytes", "start": start, "end": start + 1}, layout, "x"
        )
        found.append(pa.Table.from_batches(list(batches), schema))
    assert pa.concat_tables(found).to_pydict() == expected
    monkeypatch.setattr(csvload, "STREAM_BYTES", 0)
    monkeypatch.setattr(csvstream, "_LEAST_BLOCK_BYTES", 8)
    monkeypatch.setattr(csvstream, "_MOST_BLOCK_BYTES", 8)
    assert csvload.load(find(path))[0].to_pydict() == expected


def test_a_range_names_the_byte_behind_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_bytes(b"v\n1\n\n\n2\n")
    layout = layout_of_csv(str(path))
    assert layout is not None
    path.write_bytes(b"v\n1\n\n\nx\n\n")
    _, batches = read_range(str(path), {"kind": "bytes", "start": 0, "end": 9}, layout, "x")
    with pytest.raises(Malformed) as told:
        list(batches)
    assert told.value.offset == 6


@pytest.mark.parametrize(
    ("text", "offset"), [(b"v\n1\n\n2,3\n", 5), (b"\n\nv\n1\n\n2,3\n4\n", 7), (b"v\n\n\n2,3\n4", 4)]
)
def test_blank_lines_count_in_what_is_told_of_a_row(text: bytes, offset: int) -> None:
    with pytest.raises(tare.TareError) as told:
        tare.read(io.BytesIO(text), format="csv")
    assert getattr(told.value, "offset", None) == offset


TABLES = {
    "numbers": pa.table({"v": pa.array([1, None, 3, None, None])}),
    "doubles": pa.table({"v": pa.array([None, 1.5, None])}),
    "texts": pa.table({"v": ["a", None, "", "b,c", 'd"\n\ne', None]}),
    "no value": pa.table({"v": pa.array([None, None], pa.int64())}),
    "no row": pa.table({"v": pa.array([], pa.int64())}),
    "truth": pa.table({"v": [True, None, False]}),
}


@pytest.mark.parametrize("codec", LIBRARIES)
@pytest.mark.parametrize("name", TABLES)
def test_what_every_library_writes_comes_back(tmp_path: Path, codec: str, name: str) -> None:
    table, parsed = TABLES[name], need_codec(codec)
    done = tare.convert(table, tmp_path / "one.csv", codec=codec, verify=True, allow_loss=True)
    lossy = [one for one in done.changes if one["verdict"] == "lossy"]
    assert lossy == []
    back = tare.read(tmp_path / "one.csv")
    assert [None if one is None else str(one) for one in back["v"].to_pylist()] == [
        None if one is None else str(one) for one in table["v"].to_pylist()
    ]  # fmt: skip
    file = io.BytesIO()
    parsed.writer("table")(kinds.convert(table, parsed.native("table")), file)
    assert tare.read(io.BytesIO(file.getvalue()), format="csv").equals(back)


def test_pandas_writes_no_mark_for_a_missing_value() -> None:
    """Of each type of a column: the mark is cut off nowhere."""
    import numpy as np

    pd = need_module("pandas")
    for column in (
        pd.Series([1.5, None]), pd.Series([1.5, None], dtype=np.float32), pd.Series(["a", None]),
        pd.Series(pd.to_datetime(["2020-01-01", None])), pd.Series([True, None], dtype="boolean"),
        pd.Series(pd.to_timedelta(["1s", None])), pd.Series(["a", None], dtype="category"), pd.Series([1, None], dtype="Int8"),
        pd.Series(["a", None], dtype="string[pyarrow]"),
    ):  # fmt: skip
        text = tare.Codec.parse("csv:pandas").encode(column.to_frame("v"))
        assert text.endswith(b"\n\n"), text
        assert text.count(b"\n") == 3


def test_large_tables_go_and_come_back_batch_by_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tare.io, "STREAM_BYTES", 0)
    monkeypatch.setattr(csvstream, "_LEAST_BLOCK_BYTES", 4096)
    monkeypatch.setattr(csvstream, "_MOST_BLOCK_BYTES", 4096)
    table = pa.table({"v": pa.array([None if n % 10 == 9 else n for n in range(90_000)])})
    parquet.write_table(table, tmp_path / "one.parquet")
    there = tare.convert(tmp_path / "one.parquet", tmp_path / "one.csv")
    back = tare.convert(tmp_path / "one.csv", tmp_path / "back.parquet")
    assert (there.streamed, there.rows, back.streamed, back.rows) == (True, 90_000, True, 90_000)
    assert parquet.read_table(tmp_path / "back.parquet").equals(table)


@pytest.mark.parametrize("to", ["parquet", "csv", "csv:pandas", "csv:stdlib", "csv:polars", "csv:duckdb"])
def test_parts_of_runs_have_every_row(tmp_path: Path, to: str) -> None:
    need_codec(to)
    need_module("duckdb")
    rows = rows_of(9, 9000)
    (tmp_path / "one.csv").write_text("\n".join(["v", *rows, "", ""]) + "\n")
    report = scale.convert(
        str(tmp_path / "one.csv"),
        str(tmp_path / "o"),
        to=to,
        split="4KiB",
        split_lines=True,
        executor="inline",
    )
    assert report.failures == []
    parts = sorted((tmp_path / "o").glob("one/part-*"))
    assert len(parts) > 3
    found = [value for part in parts for value in values_of(tare.read(part))]
    assert same(found, [one or None for one in [*rows, "", ""]])
    assert same(found, by_duckdb(tmp_path / "one.csv"))


def test_another_number_of_rows_is_told_before_the_shift() -> None:
    before = pa.table({"v": [1, None, 3, 4, 5]})
    found = changes.table_changes(before, pa.table({"v": [1, 3, 4, 5]}))
    assert [changes.subject(one) for one in found] == ["the number of rows", "'v'"]
    assert (found[0]["from"], found[0]["to"]) == ("5", "4")


def test_the_header_of_a_stream_is_read_once() -> None:
    """A header that is longer than what is read at once, of a file that cannot go back."""

    class Slow(io.RawIOBase):
        def __init__(self, data: bytes) -> None:
            self._data = io.BytesIO(data)

        def readable(self) -> bool:
            return True

        def read(self, size: int = -1) -> bytes:
            return self._data.read(min(size, 5) if size > 0 else size)

    for text in (b"\n\nlonger than five\n1\n\n3\n", b"first,second\n1,2\n\n3,4\n"):
        rest, one = csv_rows.opened(Slow(text), ",")  # type: ignore[arg-type]
        assert one == (b"," not in text)
        assert rest.read() == (text.lstrip(b"\n") if one else text)


def test_r_counts_the_same_rows(tmp_path: Path) -> None:
    """What R itself reads, where blank lines are kept; so it is of the last line."""
    need_r()
    texts = {name: text for name, text in TEXTS.items() if name != "before the header"}
    paths = [tmp_path / f"{n}.csv" for n in range(len(texts))]
    for path, text in zip(paths, texts.values()):
        path.write_bytes(text)
    code = "".join(f"cat(nrow(read.csv('{path}', blank.lines.skip = FALSE)), '')\n" for path in paths)
    done = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True, check=True)
    found = dict(zip(texts, map(int, done.stdout.split()), strict=True))
    assert found == {name: tare.read(path).num_rows for name, path in zip(texts, paths)}


def test_polars_counts_the_same_rows() -> None:
    pl = need_module("polars")
    for name, text in TEXTS.items():
        if name != "lone cr":
            assert pl.read_csv(text).height == tare.read(io.BytesIO(text), format="csv").num_rows


def test_a_quote_in_the_name_of_a_column_is_a_character(tmp_path: Path) -> None:
    """It opens nothing: only a quote that begins a field does."""
    path = tmp_path / "inch.csv"
    path.write_bytes(b'5" pipe\n"1,0"\n\n3\n')
    assert tare.read(path).to_pydict() == {'5" pipe': ["1,0", None, "3"]}
    assert csv_rows.first_row(b'\xef\xbb\xbf"a\n""b"\r\n1\r\n') == 12
    assert dialect(b'5" pipe,n\n1,2\n').delimiter == ","


@pytest.mark.parametrize("lines", [3, 20])
@pytest.mark.parametrize("delimiter", [";", "\t", "|", ","])
def test_what_the_header_does_not_have_separates_nothing(tmp_path: Path, delimiter: str, lines: int) -> None:
    table = pa.table({"v": [f"a{delimiter}b"] * lines})
    for codec in LIBRARIES:
        need_codec(codec)
        path = tmp_path / f"{codec.partition(':')[2]}.csv"
        path.write_bytes(tare.encode(table, codec))
        assert tare.read(path).equals(table), codec


@pytest.mark.parametrize("start", [0, 1, 2, 4])
@pytest.mark.parametrize("codec", [one for one in CODECS if one != "csv:pandas,engine=pyarrow"])
def test_a_part_may_begin_at_a_blank_line(codec: str, start: int) -> None:
    data = b"v\n1\n2\n\n4\n\n6\n"
    parsed = need_codec(codec)
    found = parsed.library.rows(data, start, 3, **parsed.options)  # type: ignore[misc]
    assert values_of(found) == ["1", "2", None, "4", None, "6"][start : start + 3]


@pytest.mark.parametrize("ends", [b"\r\n", b"\n"])
def test_line_ends_within_quotes_stay_wherever_a_block_ends(tmp_path: Path, ends: bytes) -> None:
    """Pyarrow leaves out a line feed that begins a block of its own, behind a carriage return."""
    row = b'"aaaaaaaaaa\r\nb",1' + ends
    text = bytearray(b"v,w" + ends)
    text += row * (((1 << 20) - 20 - len(text)) // len(row))
    text += b'"' + b"x" * ((1 << 20) - 2 - len(text)) + b'\r\nZ",2' + ends
    assert text[(1 << 20) - 1 : (1 << 20) + 1] == b"\r\n"
    text += row * ((3 << 20) // len(row) - len(text) // len(row))
    path = tmp_path / "quoted.csv"
    path.write_bytes(text)
    codec = tare.Codec.parse("csv:pyarrow,newlines=true")
    with path.open("rb") as file:
        streamed = codec.reader("table")(file)
    some = codec.library.subset(bytes(text), ["v"], **codec.options)  # type: ignore[misc]
    for found in (tare.read(path), codec.decode(bytes(text)), some, streamed):
        values = kinds.convert(found, "arrow")["v"].to_pylist()
        assert len(values) == text.count(b"\r\n" if ends == b"\n" else b'",')
        assert all("\r\n" in one for one in values)
