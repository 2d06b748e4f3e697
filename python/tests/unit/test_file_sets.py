"""Folders, patterns and several files are one dataset, as other readers read them; what is not one is refused in true words."""

from __future__ import annotations

import gzip
import itertools
import json
import random

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

import tare
from tare.dataset import FileSet, find_file_set, open_dataset
from tare.datasets import file_sets
from tare.errors import Malformed, UsageError
from tare.measure.inputs import gather_files

WORDS = "amber basil cedar dill elder fennel ginger hazel".split()  # noqa: SIM905


def rows_of(place, count):
    """Rows of one file: numbers that rise over all files, words, and missing values."""
    some = random.Random(place)
    return [
        {
            "id": place * count + number,
            "word": some.choice(WORDS),
            "price": round(some.random() * 50, 2),
            "note": None if some.random() < 0.3 else f"{some.choice(WORDS)} {number}",
        }
        for number in range(count)
    ]


def parquet_folder(folder, files=4, count=500):
    """A folder as Spark writes it: parts, a mark of success, a checksum, an empty file."""
    folder.mkdir()
    for place in range(files):
        path = folder / f"part-{place:05}-ab12.snappy.parquet"
        pa.parquet.write_table(pa.Table.from_pylist(rows_of(place, count)), path)
    (folder / "_SUCCESS").touch()
    (folder / ".part-00000-ab12.snappy.parquet.crc").write_bytes(b"crc\0")
    (folder / "part-00009-ab12.snappy.parquet").touch()
    return folder


def lines_folder(folder, files=4, count=500, ending="ndjson"):
    """A folder of lines of JSON."""
    folder.mkdir()
    for place in range(files):
        text = "".join(json.dumps(row) + "\n" for row in rows_of(place, count))
        data = text.encode()
        (folder / f"log-{place}.{ending}").write_bytes(gzip.compress(data) if ending.endswith("gz") else data)
    return folder


def csv_folder(folder, tables):
    folder.mkdir()
    for name, text in tables.items():
        (folder / name).write_text(text)
    return folder


# --- read as others read them ---------------------------------------------------------------


def test_a_folder_of_parquet_is_what_arrow_reads_of_it(tmp_path):
    """Marks and checksums are no data; files come by name."""
    folder = parquet_folder(tmp_path / "orders.parquet")
    found = open_dataset(find_file_set([str(folder)]))
    names = sorted(map(str, folder.glob("part-0000[0-3]*")))
    assert found.value.equals(pyarrow.dataset.dataset(names, format="parquet").to_table())
    assert (found.name, found.files, found.partial) == ("orders.parquet/", 4, None)
    assert found.bytes_disk == sum(path.stat().st_size for path in folder.glob("*.parquet"))
    assert any("1 file passed over: empty" in note for note in found.notes)


@pytest.mark.parametrize("ending", ["ndjson", "ndjson.gz", "jsonl", "log"])
def test_a_folder_of_lines_is_what_duckdb_reads_of_it(tmp_path, ending):
    """Compressed, or of an ending that names no format."""
    folder = lines_folder(tmp_path / "logs", ending=ending)
    found = open_dataset(find_file_set([str(folder)]))
    sql = f"select id, word, price, note from read_json('{folder}/*', format='newline_delimited') order by id"
    others = duckdb.sql(sql).fetchall()
    assert [tuple(one.values()) for one in found.value] == others
    assert (found.stored_as, found.files) == ("ndjson+gzip" if ending.endswith("gz") else "ndjson", 4)


def test_a_column_has_one_type_in_all_files(tmp_path):
    """Numbers in one file and codes with leading zeros in another: text in both, as polars has it when it looks at all."""
    folder = csv_folder(
        tmp_path / "zips", {"a.csv": "zip,n\n8001,1\n8002,2\n", "b.csv": "zip,n\n00501,3\n10001,4.5\n"}
    )
    found = open_dataset(find_file_set([str(folder)])).value
    assert found.column("zip").to_pylist() == ["8001", "8002", "00501", "10001"]
    other = pl.scan_csv(str(folder / "*.csv"), infer_schema=False).collect()
    assert found.column("zip").to_pylist() == other["zip"].to_list()
    assert found.column("n").to_pylist() == other["n"].cast(pl.Float64).to_list()


def test_types_that_one_type_holds_are_joined_and_others_refused(tmp_path):
    for name, values in (("a", pa.array([1, 2])), ("b", pa.array([1.5]))):
        pa.parquet.write_table(pa.table({"x": values}), tmp_path / f"{name}.parquet")
    found = open_dataset(find_file_set([str(tmp_path)]))
    assert found.value.column("x").to_pylist() == [1.0, 2.0, 1.5]
    assert any("types differ between files" in note for note in found.notes)
    pa.parquet.write_table(pa.table({"x": ["one"]}), tmp_path / "c.parquet")
    with pytest.raises(UsageError, match=r"x is int64 in .*a\.parquet and string in .*c\.parquet"):
        open_dataset(find_file_set([str(tmp_path)]))


def test_what_a_folder_means_beyond_its_files_is_noted(tmp_path):
    """Columns in the names of folders are in no file, and small files have a footer each."""
    for year in (2025, 2026):
        (tmp_path / f"year={year}").mkdir()
        pa.parquet.write_table(pa.table({"x": [1, 2]}), tmp_path / f"year={year}" / "part.parquet")
    notes = find_file_set([str(tmp_path)]).notes
    assert notes[0] == "columns that names of folders hold are not measured: year"
    assert notes[1].startswith("small files are measured as one")
    assert len(find_file_set([str(tmp_path / "year=2025" / "*")]).notes) == 1
    assert open_dataset(find_file_set([str(tmp_path)])).value.column_names == ["x"]


def test_documents_of_a_folder_are_a_list(tmp_path):
    for place in range(3):
        (tmp_path / f"{place}.json").write_text(json.dumps({"id": place, "tags": ["a"]}, indent=1))
    assert [one["id"] for one in open_dataset(find_file_set([str(tmp_path)])).value] == [0, 1, 2]


# --- blocks of what is too much -------------------------------------------------------------


@pytest.mark.parametrize("make", [parquet_folder, lines_folder], ids=["parquet", "lines"])
def test_blocks_come_from_all_over_the_files(tmp_path, make):
    """A quarter of 40 files: rows in a row of whole files, from the first tenth to the last."""
    folder = make(tmp_path / "many", 40, 300)
    files = find_file_set([str(folder)])
    whole = open_dataset(files)
    part = open_dataset(files, max_bytes=whole.bytes_memory // 4)
    ids = part.value.column("id").to_pylist() if part.kind == "table" else [one["id"] for one in part.value]
    assert part.partial["share"] == pytest.approx(len(ids) / 12_000, rel=0.05)
    assert 0.1 < part.partial["share"] < 0.4
    assert part.partial["rows_total"] == pytest.approx(12_000, rel=0.05)
    jumps = sum(after != before + 1 for before, after in itertools.pairwise(ids))
    assert 4 <= jumps <= 8
    assert ids == sorted(set(ids))
    assert ids[0] < 1_200
    assert ids[-1] > 10_000


def test_blocks_of_few_large_csvs_begin_within_them(tmp_path):
    """Two files: blocks of both, from within them, and each row whole, line breaks in fields and all."""
    some = random.Random(5)
    for name in "ab":
        lines = [f'{name}{number},"x, {number}\n{some.random()}",{number % 7}\n' for number in range(120_000)]
        (tmp_path / f"{name}.csv").write_text("key,text,n\n" + "".join(lines))
    files = find_file_set([str(tmp_path / "*.csv")])
    part = open_dataset(files, max_bytes=2 << 20)
    other = pl.concat([pl.read_csv(path) for path in files.paths])
    texts = dict(other.select("key", "text").iter_rows())
    keys = part.value.column("key").to_pylist()
    assert part.value.column("text").to_pylist() == [texts[key] for key in keys]
    assert {key[0] for key in keys} == {"a", "b"}
    assert any(int(key[1:]) > 85_000 for key in keys if key[0] == "a")
    assert part.partial["rows_total"] == pytest.approx(240_000, rel=0.05)


# --- refused --------------------------------------------------------------------------------


@pytest.fixture
def logs(tmp_path, monkeypatch):
    """A folder with a note, two logs, one below, and a hidden file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs" / "2026 b").mkdir(parents=True)
    for name in (".hidden.csv", "README", "b.csv", "c.csv", "2026 b/a.csv"):
        (tmp_path / "logs" / name).write_bytes(b"a,b\n1,2\n")
    return tmp_path


@pytest.mark.parametrize(
    ("data", "paths", "words"),
    [
        ("logs", ["logs/2026 b/a.csv", "logs/b.csv", "logs/c.csv"], ("logs/**/*.csv",)),
        ("logs/2026 b/", ["logs/2026 b/a.csv"], ("logs/2026 b/",)),
        ("logs/*.csv", ["logs/b.csv", "logs/c.csv"], ("logs/*.csv",)),
        ("logs/**/a.csv", ["logs/2026 b/a.csv"], ("logs/**/a.csv",)),
    ],
)
def test_the_files_of_a_folder_or_a_pattern(data, paths, words, logs):
    """Hidden files and notes are passed over; the words of a command mean these files and no others."""
    found = gather_files(data)
    assert isinstance(found, FileSet)
    assert list(found.paths) == paths
    assert found.words == words


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ("logs/*.parquet", FileNotFoundError, "logs/*.parquet: no file matches this pattern. Check the path."),
        ("https://example.org/data/x.csv?v=1", UsageError, "https://example.org/data/x.csv?v=1 is a URL, which is not measured. Download it with: curl -L 'https://example.org/data/x.csv?v=1' -o x.csv; then: tare measure x.csv"),
        ("http://example.org/", UsageError, "http://example.org/ is a URL, which is not measured. Download it with: curl -L http://example.org/ -o example.org; then: tare measure example.org"),
        ("gs://bucket/a/x.parquet", UsageError, "gs://bucket/a/x.parquet is a URL, which is not measured. Download it; then: tare measure x.parquet"),
        ("s3://bucket/x.csv", UsageError, "s3://bucket/x.csv is an object of a bucket, which the command alone reads: tare measure s3://bucket/x.csv; in Python download it first"),
        ("s3://lake/events/", UsageError, "s3://lake/events/ is a folder in a bucket, of which one object can be measured. Name the object, or copy them all and measure the folder: aws s3 cp --recursive s3://lake/events events; then: tare measure events"),
        ("s3://lake/", UsageError, "s3://lake/ is a bucket, of which one object can be measured. Name the object, or copy them all and measure the folder: aws s3 cp --recursive s3://lake lake; then: tare measure lake"),
        ("s3://lake", UsageError, "s3://lake is a bucket, of which one object can be measured. Name the object, or copy them all and measure the folder: aws s3 cp --recursive s3://lake lake; then: tare measure lake"),
        ("s3://bucket/logs/*.csv", UsageError, "s3://bucket/logs/*.csv is a pattern of a bucket, of which one object can be measured. Name the object, or copy them all and measure the folder: aws s3 cp --recursive s3://bucket/logs logs; then: tare measure logs"),
        ("file:///tmp/x.csv", UsageError, "file:///tmp/x.csv is a URL, which is not measured. Name the file: tare measure /tmp/x.csv"),
    ],
)  # fmt: skip
def test_what_is_not_measured_is_refused(data, error, message, logs):
    """What it is, and what to type; from Python too, before anything is opened."""
    with pytest.raises(error) as caught:
        gather_files(data)
    assert message == str(caught.value)
    with pytest.raises(error):
        tare.measure(data, time="2s")


def test_files_of_several_formats_are_refused_with_a_pattern_that_works(logs):
    """The format of the most bytes is named; its pattern gives those files."""
    (logs / "logs" / "z.json").write_text('{"a": 1}')
    with pytest.raises(UsageError) as caught:
        gather_files("logs")
    said = str(caught.value)
    assert said == (
        "logs/: files of several formats: 3 of CSV (24 B), 1 of JSON (8 B). Measure those of one: "
        "tare measure 'logs/**/*.csv'"
    )
    assert len(gather_files("logs/**/*.csv").paths) == 3


def test_where_no_pattern_fits_the_largest_file_is_named(logs):
    """The first in order may be a header of six bytes."""
    (logs / "logs" / "z.json").write_text('{"a": 1}')
    (logs / "logs" / "wide.tsv").write_text("a\tb\n" + 9 * "1\t2\n")
    with pytest.raises(UsageError, match=r"tare measure logs/wide\.tsv$"):
        gather_files("logs")


def test_too_many_files_are_refused_before_all_are_listed(logs, monkeypatch):
    """A home folder by mistake: the walk ends when there are too many."""
    monkeypatch.setattr(file_sets, "_MOST", 2)
    seen = []
    walk = file_sets.os.walk
    monkeypatch.setattr(file_sets.os, "walk", lambda top: (seen.append(one[0]) or one for one in walk(top)))
    (logs / "logs" / "z").mkdir()
    with pytest.raises(UsageError, match="logs/: more than 2 files: name a pattern that fewer of them match"):
        gather_files("logs")
    assert len(seen) < 3


def test_files_of_different_columns_are_refused(tmp_path):
    """Of text and of Parquet; which file has what."""
    folder = csv_folder(
        tmp_path / "shop", {"customers.csv": "name,city\na,b\n", "orders.csv": "id,price\n1,2\n"}
    )
    with pytest.raises(
        UsageError, match=r"customers\.csv has name, city; .*orders\.csv lacks name, city and has id, price"
    ):
        open_dataset(find_file_set([str(folder)]))
    for name, table in (("a", {"x": [1]}), ("b", {"x": [1], "y": [2]})):
        pa.parquet.write_table(pa.table(table), tmp_path / f"{name}.parquet")
    with pytest.raises(UsageError, match=r"a\.parquet has x; .*b\.parquet has y beside them"):
        open_dataset(find_file_set([str(tmp_path / "*.parquet")]))


@pytest.mark.parametrize("make", [parquet_folder, csv_folder], ids=["parquet", "csv"])
def test_a_file_of_other_columns_is_refused_though_it_is_not_read(tmp_path, make):
    """Of 40 files some are read; that one of the others has a column more is seen all the same."""
    folder = tmp_path / "many"
    if make is csv_folder:
        rows = "".join(f"{k},{k % 7},text {k}\n" for k in range(3_000))
        make(folder, {f"part-{place}.csv": "id,n,t\n" + rows for place in range(40)})
        odd = folder / "part-3.csv"
        odd.write_text("id,n,t,extra\n1,2,x,3\n" + "4,5,y,6\n" * 8_000)
    else:
        make(folder, 40, 3_000)
        odd = folder / "part-00003-ab12.snappy.parquet"
        pa.parquet.write_table(pa.Table.from_pylist([row | {"extra": 1} for row in rows_of(3, 3_000)]), odd)
    files = find_file_set([str(folder)])
    with pytest.raises(UsageError, match=r"part-0*3\S* has extra beside them"):
        open_dataset(files, max_bytes=400_000)
    odd.unlink()
    part = open_dataset(find_file_set([str(folder)]), max_bytes=400_000)
    assert part.partial["share"] < 0.5


def test_a_broken_file_is_named(tmp_path):
    folder = lines_folder(tmp_path / "logs", 3, 5)
    with (folder / "log-1.ndjson").open("a") as file:
        file.write('{"id": 7,, "word": "x"}\n')
    with pytest.raises(Malformed, match=r"log-1\.ndjson: .*line 6"):
        open_dataset(find_file_set([str(folder)]))


def test_a_folder_without_data_says_so(logs):
    """Nothing in it, or nothing that its ending or its bytes tell."""
    (logs / "empty").mkdir()
    with pytest.raises(IsADirectoryError, match=r"empty/: the folder has no files\. Name a file\."):
        gather_files(logs / "empty")
    (logs / "empty" / "x.dat").write_bytes(b"\0\1\2\3")
    with pytest.raises(
        IsADirectoryError, match=r"its one file is not .*: tare measure empty/x\.dat --format FORMAT"
    ):
        gather_files("empty")


@pytest.mark.parametrize(
    "data", ["logs/b.csv", "a[1].csv", "nothing.csv", "synthpop:10", "-", [1], b"x", None, {"a": 1}]
)
def test_what_may_be_one_file_passes(data, logs) -> None:
    """A file whose name looks like a pattern is that file; what is missing is told by who opens it."""
    (logs / "a[1].csv").write_bytes(b"a\n1\n")
    assert gather_files(data) is data
