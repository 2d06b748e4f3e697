"""Lines and arrays of JSON read by the core: the table, and what is told of it, are those of Python's values, or it says no."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from support.line_texts import rows, texts

import tare
from tare import kinds
from tare._tare import NdjsonFinder, NdjsonReader
from tare.converting import line_tables
from tare.converting.counting import counted_in
from tare.datasets import documents
from tare.datasets.source import Source, find
from tare.errors import EncodeError, Malformed, TareError, Unsupported


def of_values(text: bytes, format: str) -> tuple[pa.Table, list[Any]] | None:
    """The table of Python's values, and what its columns make of them; None if they are no table."""
    source = Source("s", format=format)
    parse = documents.parse_lines if format == "ndjson" else documents.parse_whole
    try:
        values = parse(source, text)
        table = kinds.convert(values, "arrow")
    except (EncodeError, Unsupported, Malformed, UnicodeEncodeError):
        return None
    return table, counted_in(values, table.schema)


def agree(found: tuple[pa.Table, list[Any]] | None, text: bytes, format: str) -> None:
    """The core found what Python's values are, if anything."""
    known = of_values(text, format)
    if found is None:
        assert known is None or not known[0].num_columns or has_more(text), (text, known)
        return
    assert known is not None, (text, found[0])
    table, counted = found
    table.validate(full=True)
    assert table.schema.equals(known[0].schema), (text, table.schema, known[0].schema)
    assert repr(table.to_pylist()) == repr(known[0].to_pylist())
    assert sorted(counted) == sorted(known[1])


def has_more(text: bytes) -> bool:
    """Whether half a surrogate pair is in it: Python has texts for it, and a table has not."""
    return b"\\ud" in text.lower() or not is_utf8(text)


def is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


@given(texts(), st.sampled_from([1, 20, 60, 200, 10_000]))
@example(b'{"a": 1.5}\n{"a": -0}\n', 1)
@example(b'{"a": 1.5}\n{"a": 1152921504606846976}\n', 1)
@example(b'{"a": 9007199254740994}\n{"a": 1.5}\n', 1)
@example(b'{"a": 1}\n{"a": 18446744073709551615}\n{"a": -0}\n', 1)
@example(b'{"a": -1}\n{"a": 18446744073709551615}\n', 100)
@example(b'{"a": null}\n{"a": {}}\n{"a": {"x": []}}\n{}\n{"a": {"x": [[]]}}', 1)
@example(b'{"a": {"y": 1, "x": [{}]}}\n{"a": {"x": [{"q": 1}], "z": 2}, "b": 1}\n', 1)
@example(b'\xef\xbb\xbf{"a": 1}\n', 3)
def test_lines_are_the_table_of_their_values(text: bytes, block: int) -> None:
    source = Source("s", data=text, size=len(text), head=text, format="ndjson")
    agree(line_tables.table_of(source, size=block), text.removeprefix(b"\xef\xbb\xbf"), "ndjson")
    found = line_tables.columns_of(source, size=block)
    if found is not None:
        again = list(line_tables.batches_of(source, found.schema, size=block))
        table, counted = line_tables.table_of(source)  # type: ignore[misc]
        assert pa.Table.from_batches(again, found.schema).equals(table)
        assert (found.counted, found.rows) == (counted, table.num_rows)
        reader = NdjsonReader(found.schema)
        assert (
            pa.record_batch(reader.read(text.removeprefix(b"\xef\xbb\xbf"))).to_pylist() == table.to_pylist()
        )
        assert sorted(reader.changes()) == sorted(counted)


@given(texts(), st.sampled_from([1, 20, 60, 200, 10_000]), st.integers(1, 3))
@example(b'{"a": 1}\n{"a": 0.5}\n', 1, 1)
@example(b'{"a": 1}\n{"b": 1}\n', 1, 1)
@example(b'{"a": 1}\n{"a": ]}\n', 1, 1)
def test_lines_that_are_read_once_are_the_same(text: bytes, block: int, first: int) -> None:
    """Or it is said, before the last row, that later lines have other types than the first."""
    source = Source("s", data=text, size=len(text), head=text, format="ndjson")
    whole = line_tables.table_of(source, size=block)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_tables, "_FIRST_BLOCKS", first)
        try:
            schema, batches = line_tables.batches_of_once(source, size=block)
            table = pa.Table.from_batches(list(batches), schema)
        except line_tables.Contradicted:
            assert whole is None or block < len(text)
            assert not source.counted
            return
    assert whole is not None
    assert table.equals(whole[0])
    assert source.counted == whole[1]


@given(rows(), st.sampled_from([None, 1, 3]), st.sampled_from(["", " ", "\n  "]))
def test_arrays_are_the_table_of_their_values(values: list[Any], indent: int | None, space: str) -> None:
    text = (space + json.dumps(values, indent=indent) + space).encode("utf-8", "surrogatepass")
    source = Source("s", data=text, size=len(text), head=text, format="json")
    agree(line_tables.table_of(source), text, "json")


@given(texts(), st.data())
def test_damaged_lines_are_refused_as_ever(text: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text) - 1)) if text else 0
    more = data.draw(st.sampled_from([b"", b"\xff", b"{", b"]", b'"', b"x", b",", b"1", b"\n", b":", b"NaN"]))
    spoilt = text[:at] + more + text[at + data.draw(st.integers(0, 2)) :]
    source = Source("s", data=spoilt, size=len(spoilt), head=spoilt, format="ndjson")
    found = line_tables.table_of(source, size=data.draw(st.sampled_from([1, 50])))
    if found is not None:
        agree(found, spoilt, "ndjson")


def test_objects_inside_others_are_no_rows() -> None:
    """An array is cut where an object seems to begin; where it is one of a list inside, its text is read again."""
    inner = [{"k": n, "v": "x" * 90} for n in range(60_000)]
    values = [{"k": 1, "in": inner}, {"k": 2, "in": inner[:10_000]}, *[{"k": n} for n in range(60_000)]]
    text = json.dumps(values, separators=(",", ":")).encode()
    assert len(text) > 6 << 20
    for threads in (1, 3):
        finder = NdjsonFinder()
        finder.read_array(text, threads)
        table = pa.Table.from_batches(map(pa.record_batch, finder.take()), pa.schema(finder))  # type: ignore[arg-type]
        assert table.equals(kinds.convert(values, "arrow").cast(table.schema))
        assert len(table) == len(values)


@pytest.mark.parametrize(
    "text",
    [b"[]", b"[{}]", b"[1]", b'[{"a": 1}, 2]', b'[{"a": 1},]', b'[{"a": 1}', b'[{"a": 1}] 1', b'{"a": 1}', b'[{"a": 1, "a": 2}]'],
)  # fmt: skip
def test_what_is_no_array_of_rows_is_left_to_others(text: bytes) -> None:
    source = Source("s", data=text, size=len(text), head=text, format="json")
    assert line_tables.table_of(source) is None


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_give_the_same(threads: int) -> None:
    """The order of names is that of the lines, whoever reads them."""
    lines = [
        json.dumps({"n": n, **({f"c{n // 4000}": "x" * 300} if n % 7 == 0 else {}), "v": n / (1 + n % 2)})
        for n in range(60_000)
    ]
    text = "\n".join(lines).encode()
    finder = NdjsonFinder()
    finder.read(text, threads)
    table = pa.Table.from_batches(map(pa.record_batch, finder.take()), pa.schema(finder))  # type: ignore[arg-type]
    assert table.equals(kinds.convert(list(map(json.loads, lines)), "arrow").cast(table.schema))
    assert table.column_names[:5] == ["n", "c0", "v", "c1", "c2"]
    assert len(finder) == 60_000


def test_the_byte_of_a_fault_is_told() -> None:
    lines = b'{"a": 1}\n' * 400_000
    finder = NdjsonFinder()
    finder.read(lines)
    with pytest.raises(Malformed) as caught:
        finder.read(lines + b'{"a": ]}\n' + lines)
    assert caught.value.offset == 2 * len(lines) + 6


def test_too_many_names_are_left_to_others() -> None:
    with pytest.raises(TareError, match="too many names"):
        NdjsonFinder().read(b"".join(b'{"n%d": 1}\n' % n for n in range(5000)))
    with pytest.raises(TareError, match="too many names"):
        NdjsonFinder().read(b"".join(b'{"n%d": 1}\n' % (n % 1000) for n in range(100_000)))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.ndjson", b'{"\\u0000": 1}\n{"\\u0000": 2}\n'),
        ("a.json", b'[{"a\\u0000b": 1}]'),
        ("b.ndjson", b'{"x": {"\\u0000": 1}}\n'),
    ],
)
def test_a_name_with_a_nul_is_left_to_others(tmp_path: Any, name: str, text: bytes) -> None:
    """Arrow's C interface, by which the core gives its columns, has no such names; Parquet has them."""
    import tare

    path = tmp_path / name
    path.write_bytes(text)
    assert line_tables.columns_of(find(path)) is None
    if name == "b.ndjson":  # which DuckDB reads as an empty name
        with pytest.raises(TareError, match="duckdb"):
            tare.convert(path, tmp_path / "a.parquet", verify=True)
        return
    done = tare.convert(path, tmp_path / "a.parquet")
    assert done.rows == text.count(b"1") + text.count(b"2")
    rows = json.loads(text) if text[:1] == b"[" else [*map(json.loads, text.splitlines())]
    assert parquet.read_table(tmp_path / "a.parquet").to_pylist() == rows


def test_a_file_is_read_through_its_compressor(tmp_path: Any) -> None:
    import tare

    path = tmp_path / "a.ndjson.zst"
    with tare.compress.open(path, "wb", "zstd:3") as file:
        file.write(b'{"a": 1}\n' * 1000)
    table, _ = line_tables.table_of(find(path), size=100)  # type: ignore[misc]
    assert table.num_rows == 1000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lines")


def converted(source: Path, target: Path, *, columns: bool) -> Any:
    """What a conversion tells, and what it wrote; or what it refused."""
    target.unlink(missing_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        if not columns:
            patch.setattr(line_tables, "becomes_columns", lambda *_: False)
        try:
            done = tare.convert(source, target)
        except TareError as error:
            assert not target.exists()
            return str(error)
    return done, tare.read(target)


@settings(deadline=None, max_examples=40)
@given(texts(), st.sampled_from(["csv", "orc", "avro"]))
def test_other_formats_hold_what_they_would_of_documents(folder: Path, text: bytes, to: str) -> None:
    """What is refused does not depend on how lines are read, and what is told of documents is told of columns."""
    source = folder / "s.ndjson"
    source.write_bytes(text or b" ")
    ours = converted(source, folder / f"o.{to}", columns=True)
    theirs = converted(source, folder / f"o.{to}", columns=False)
    if isinstance(ours, str) or isinstance(theirs, str):
        assert ours == theirs
        return
    (done, table), (known, of_documents) = ours, theirs
    assert repr(kinds.convert(table, "columns")) == repr(kinds.convert(of_documents, "columns"))
    assert (done.rows, done.verified, done.to) == (known.rows, known.verified, known.to)
    # A document has other places than a table: of names their letters are compared.
    told = [
        {(re.sub(r"\W|type$", "", one["path"]), one["verdict"]) for one in these.changes}
        for these in (done, known)
    ]
    assert told[0] >= told[1], text  # types of columns too, such as that of nulls alone
