"""What is no data frame in R keeps its shape: matrices, bare vectors, times in parts, lists among columns, several variables."""

from __future__ import annotations

import datetime as dt
import json
import zoneinfo

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.capabilities import need_module

import tare
from tare import r
from tare.cli import main
from tare.errors import EncodeError, LossError, Malformed, Unsupported, UsageError

MTS = """structure(c(1, 2, 3, 4, 5, 6), dim = 3:2, dimnames = list(NULL, c("a", "b")),
  tsp = c(2001, 2003, 1), class = c("mts", "ts", "matrix"))"""
COUNTS = """structure(c(1L, 0L, 1L, 1L), dim = c(2L, 2L), class = "table",
  dimnames = structure(list(c("a", "b"), c("x", "y")), names = c("g", "h")))"""
DAYS = 'structure(c(0, 1, NA, 3), dim = c(2L, 2L), class = "Date")'
NEW_YORK = """structure(list(sec = c(0, 0.5, 0, NA), min = c(0L, 0L, 30L, NA), hour = c(10L, 10L, 1L, NA),
  mday = c(1L, 1L, 3L, NA), mon = c(0L, 6L, 10L, NA), year = c(124L, 124L, 124L, NA), wday = c(1L, 1L, 0L, NA),
  yday = c(0L, 182L, 307L, NA), isdst = c(0L, 1L, 1L, -1L)), class = c("POSIXlt", "POSIXt"),
  tzone = c("America/New_York", "EST", "EDT"))"""
MIXED = 'structure(list(n = 1:3, x = list(1:2, NULL, "a")), class = "data.frame", row.names = c(NA, -3L))'


def dput(text, **options):
    """What text of dput is read as."""
    return r.read(text.encode(), format="dput", **options)


def rds(path, text):
    """A file of that object."""
    r.write(dput(text, as_="robject"), path)
    return path


def command(*argv):
    """The exit code of the command."""
    with pytest.raises(SystemExit) as ended:
        main([*map(str, argv)])
    return ended.value.code


@pytest.mark.parametrize(("text", "rows"), [(MTS, [[1, 4], [2, 5], [3, 6]]), (COUNTS, [[1, 1], [0, 1]])])
def test_a_matrix_with_a_class_keeps_its_rows_and_columns(text, rows):
    """In every form; that the class is gone is told."""
    for as_ in ("python", "pandas", "polars", "arrow"):
        if as_ in ("pandas", "polars"):
            need_module(as_)
        lost: list[r.Loss] = []
        made = dput(text, as_=as_, loss=lost)
        if as_ == "arrow":
            made = np.array([column.to_numpy() for column in made.columns]).T
        assert rows == np.asarray(made).tolist(), as_
        assert "class_dropped" in {loss.kind for loss in lost}


def test_a_matrix_as_a_table_has_its_names():
    """Of columns; those of rows, which a table has no place for, are told."""
    lost: list[r.Loss] = []
    table = dput(COUNTS, as_="arrow", loss=lost)
    assert {"x": [1, 0], "y": [1, 1]} == table.to_pydict()
    assert pa.int32() == table.schema.field("x").type
    assert {"row_names_dropped", "attribute_dropped"} <= {loss.kind for loss in lost}
    assert ["V1", "V2"] == dput("matrix(1:4, 2)", as_="arrow", loss=[]).column_names


def test_a_matrix_of_days_is_one():
    """NumPy's days, in rows and columns; lists of lists where values are plain."""
    made = dput(DAYS, loss=[])
    assert "datetime64[D]" == str(made.dtype)
    assert [["1970-01-01", "NaT"], ["1970-01-02", "1970-01-04"]] == made.astype(str).tolist()


def test_a_table_of_one_dimension_has_the_names_of_its_values():
    """In pandas as the index."""
    need_module("pandas")
    text = 'structure(2:3, dim = 2L, dimnames = list(c("a", "b")), class = "table")'
    assert {"a": 2, "b": 3} == dput(text, as_="pandas", loss=[]).to_dict()
    assert [2, 3] == dput(text, as_="arrow", loss=[]).to_pylist()


def test_dimensions_that_the_values_do_not_fill_are_refused():
    """Whatever they become."""
    for as_ in ("python", "arrow"):
        with pytest.raises((Malformed, Unsupported)):
            dput('structure(1:6, dim = c(2L, 4L), class = "table")', as_=as_)


def test_names_of_dimensions_that_are_no_text_are_left_out(tmp_path):
    """Formulas may stand there; that they are gone is told."""
    need_module("pandas")
    lost: list[r.Loss] = []
    text = "structure(1:2, dim = 1:2, dimnames = list(NULL, list(1, 2)))"
    frame = dput(text, as_="pandas", loss=lost)
    assert [0, 1] == list(frame.columns)
    assert "@dimnames" in {loss.path for loss in lost}


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (
            'structure(c(1, 2, 3, 4), dim = c(2L, 2L), dimnames = list(NULL, c("a", "b")))',
            {"a": [1, 2], "b": [3, 4]},
        ),
        ("c(1.5, NA)", {"value": [1.5, None]}),
    ],
)
def test_a_matrix_and_a_vector_are_tables_of_columns(tmp_path, ending, text, columns):
    """The same of .rds and .RData, where the vector has the name of its variable."""
    one = dput(text, as_="robject")
    r.write(one, tmp_path / "x.rds")
    r.write({"value": one}, tmp_path / "x.RData")
    for name in ("x.rds", "x.RData"):
        tare.convert(tmp_path / name, tmp_path / f"out.{ending}")
        if ending == "parquet":
            assert columns == pq.read_table(tmp_path / "out.parquet").to_pydict()
            continue
        rows = (tmp_path / "out.csv").read_text().splitlines()
        assert ",".join(f'"{name}"' for name in columns) == rows[0]
        assert 2 == len(rows[1:])


def test_a_vector_without_values_is_a_column_without_rows(tmp_path):
    """Not an empty file, which nothing reads."""
    rds(tmp_path / "x.rds", 'structure(numeric(0), class = "Date")')
    tare.convert(tmp_path / "x.rds", tmp_path / "x.csv")
    assert '"value"\n' == (tmp_path / "x.csv").read_text()


def test_nothing_at_all_is_refused_as_csv(tmp_path):
    """By one sentence that says why."""
    (tmp_path / "x.json").write_text("[]")
    with pytest.raises(EncodeError, match=r"^x\.json: csv:pyarrow: the table has no columns"):
        tare.convert(tmp_path / "x.json", tmp_path / "x.csv")
    assert ["x.json"] == [path.name for path in tmp_path.iterdir()]


def test_variables_are_named_and_chosen(tmp_path):
    """A table is one of them; documents hold them all."""
    source = tmp_path / "x.RData"
    r.write({"one": pa.table({"a": [1, 2]}), "two": pa.table({"b": [3, 4]}), "f": dput("1:3")}, source)
    with pytest.raises(
        Unsupported,
        match=r"3 variables: choose one with --variable NAME.* one \(data\.frame: 2 rows x 1 column\), two",
    ):
        tare.convert(source, tmp_path / "x.parquet")
    assert 0 == command("convert", source, tmp_path / "x.parquet", "--variable", "two")
    assert {"b": [3, 4]} == pq.read_table(tmp_path / "x.parquet").to_pydict()
    tare.convert(source, tmp_path / "two.json", variable="two")
    assert [{"b": 3}, {"b": 4}] == json.loads((tmp_path / "two.json").read_text())
    tare.convert(source, tmp_path / "two.rds", variable="two")
    assert ["b"] == r.read(tmp_path / "two.rds").column_names
    tare.convert(source, tmp_path / "two.RData", variable="two")
    assert ["two"] == list(r.read(tmp_path / "two.RData"))
    for name, options in (("x.RData", {"variable": "three"}), ("two.rds", {"variable": "two"})):
        with pytest.raises(UsageError):
            tare.convert(tmp_path / name, tmp_path / "no.parquet", **options)


def test_a_variable_is_chosen_of_each_of_many_files(tmp_path, capsys):
    """Also where its rows go to folders; what has no such variable is named, and costs the others nothing."""
    for k in range(3):
        held = {"flights": pa.table({"n": [k, k + 1], "g": ["a", "b"]}), "other": dput("1:9")}
        r.write(held if k < 2 else {"other": dput("1")}, tmp_path / f"{k}.RData")
    (tmp_path / "x.csv").write_text("a\n1\n")
    words = ("convert", tmp_path / "0.RData", tmp_path / "1.RData", f"{tmp_path}/o/", "--to", "parquet")
    assert 0 == command(*words, "--variable", "flights")
    for k in range(2):
        assert {"n": [k, k + 1], "g": ["a", "b"]} == pq.read_table(tmp_path / f"o/{k}.parquet").to_pydict()
    assert 0 == command(
        "convert", *words[1:3], f"{tmp_path}/p/", "--to", "csv", "--variable", "flights", "--partition", "g"
    )
    assert '"n"\n2\n' == (tmp_path / "p/g=b/1.csv").read_text()
    capsys.readouterr()
    rest = (tmp_path / "0.RData", tmp_path / "2.RData", tmp_path / "x.csv", f"{tmp_path}/q/")
    assert 1 == command("convert", *rest, "--to", "parquet", "--variable", "flights")
    said = capsys.readouterr()
    assert "there is no variable 'flights'; there are other" in said.out + said.err
    assert "expected an RData file, got x.csv, which is csv" in said.out + said.err
    assert (tmp_path / "q/0.parquet").exists()


def test_times_in_parts_are_instants():
    """By the rules of their zone, in summer and winter, and in the hour that is there twice."""
    zone = zoneinfo.ZoneInfo("America/New_York")
    lost: list[r.Loss] = []
    times = dput(NEW_YORK, loss=lost)
    assert pa.timestamp("us", "America/New_York") == times.type
    found = times.to_pylist()
    assert [1704121200, 1719842400.5, 1730611800] == [
        one.timestamp() for one in found[:3]
    ]  # as R's as.numeric() has them
    assert found[3] is None
    assert dt.datetime(2024, 1, 1, 10, tzinfo=zone) == found[0]
    assert [("@class", "class_dropped")] == [(loss.path, loss.kind) for loss in lost]


def test_times_in_parts_may_be_beyond_their_month():
    """R counts on: the 31st of February is the second of March."""
    text = NEW_YORK.replace("mon = c(0L, 6L, 10L, NA)", "mon = c(1L, 6L, 10L, NA)").replace(
        "mday = c(1L,", "mday = c(31L,"
    )
    assert dt.date(2024, 3, 2) == dput(text, loss=[]).to_pylist()[0].date()


@pytest.mark.parametrize(
    ("zone", "type"), [("UTC", "timestamp[us, tz=UTC]"), ("", "timestamp[us]"), ("Mars/X", "timestamp[us]")]
)
def test_times_in_parts_have_the_zone_that_they_had(zone, type):
    """None where R takes that of the machine, and where nobody knows it."""
    text = NEW_YORK.replace('c("America/New_York", "EST", "EDT")', f'"{zone}"')
    assert type == str(dput(text, loss=[]).type)


def test_times_in_parts_in_a_table(tmp_path):
    """Instants, where no schema says what the parts are; R has the very parts again from Parquet."""
    need_module("polars")
    times = NEW_YORK.replace('c("America/New_York", "EST", "EDT")', '"UTC"')
    text = f'structure(list(t = {times}), class = "data.frame", row.names = c(NA, -4L))'
    source = rds(tmp_path / "x.rds", text)
    moment = dt.datetime(2024, 1, 1, 10, tzinfo=dt.UTC)
    assert moment == r.read(source, as_="polars", loss=[])["t"][0]
    assert moment == r.read(source, as_="pandas", loss=[])["t"][0]
    assert moment == r.read(source, as_="pandas", columns=["t"], rows=(0, 1), loss=[])["t"][0]
    tare.convert(source, tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text().splitlines()[1].startswith("2024-01-01 10:00:00")
    tare.convert(source, tmp_path / "x.json")
    assert "2024-01-01T10:00:00+00:00" == json.loads((tmp_path / "x.json").read_text())[0]["t"]
    tare.convert(source, tmp_path / "x.parquet", strict=True)
    tare.convert(tmp_path / "x.parquet", tmp_path / "back.rds")
    assert r.read(tmp_path / "back.rds", as_="robject").identical(dput(text, as_="robject"))


def test_dates_in_lists_are_text_in_json(tmp_path):
    """As in tables; the type is told."""
    source = rds(tmp_path / "x.rds", 'list(d = structure(19724, class = "Date"), n = 1)')
    done = tare.convert(source, tmp_path / "x.json")
    assert {"d": "2024-01-02", "n": 1} == json.loads((tmp_path / "x.json").read_text())
    assert [("d", "type")] == [(one["path"], one["verdict"]) for one in done.changes]


def test_a_list_among_columns_is_nested_in_json(tmp_path):
    """The values that the list has by itself, not R's bytes of them."""
    source = rds(tmp_path / "x.rds", MIXED)
    done = tare.convert(source, tmp_path / "x.json")
    rows = [{"n": 1, "x": [1, 2]}, {"n": 2, "x": None}, {"n": 3, "x": "a"}]
    assert rows == json.loads((tmp_path / "x.json").read_text())
    assert "code_opaque" not in {loss["kind"] for loss in done.losses}
    rds(tmp_path / "list.rds", 'list(1:2, NULL, "a")')
    tare.convert(tmp_path / "list.rds", tmp_path / "list.json")
    assert [row["x"] for row in rows] == json.loads((tmp_path / "list.json").read_text())
    nested = rds(tmp_path / "nested.rds", f"list(d = {MIXED})")
    tare.convert(nested, tmp_path / "nested.json")
    assert {"d": {"n": [1, 2, 3], "x": [[1, 2], None, "a"]}} == json.loads(
        (tmp_path / "nested.json").read_text()
    )
    tare.convert(source, tmp_path / "x.parquet")
    tare.convert(tmp_path / "x.parquet", tmp_path / "back.rds")
    assert r.read(tmp_path / "back.rds", as_="robject").identical(dput(MIXED, as_="robject"))


def test_a_level_that_no_row_has_stops_no_conversion(tmp_path):
    """The levels are told as part of the type."""
    text = 'structure(list(f = structure(1L, levels = c("a", "b"), class = "factor")), class = "data.frame", row.names = c(NA, -1L))'
    source = rds(tmp_path / "x.rds", text)
    for ending, expected in (("csv", '"f"\n"a"\n'), ("json", '[{"f": "a"}]')):
        done = tare.convert(source, tmp_path / f"x.{ending}")
        assert expected == (tmp_path / f"x.{ending}").read_text()
        assert {"type"} == {one["verdict"] for one in done.changes}
        assert "f (levels)" in {one["path"] for one in done.changes}


def test_a_matrix_with_a_class_is_refused_where_nothing_may_be_lost():
    """Its class is."""
    with pytest.raises(LossError, match="class_dropped"):
        dput(COUNTS, as_="arrow", strict=True)


def test_values_of_many_vectors_are_those_of_one_data_frame():
    """A series of pandas has the type that its column would have."""
    pd = need_module("pandas")
    texts = {
        "n": "c(1L, NA)",
        "m": "1:2",
        "x": "c(0.5, NaN)",
        "y": "c(0.5, NA)",
        "z": "c(0.5, 1)",
        "s": 'c("a", NA)',
        "b": "c(TRUE, FALSE)",
    }
    columns = ", ".join(f"{name} = {text}" for name, text in texts.items())
    frame = dput(
        f'structure(list({columns}), class = "data.frame", row.names = c(NA, -2L))', as_="pandas", loss=[]
    )
    for name, text in texts.items():
        one = dput(text, as_="pandas", loss=[])
        pd.testing.assert_series_equal(one, frame[name], check_names=False)
    assert {"n": "Int32", "m": "int32", "y": "float64", "b": "bool"}.items() <= frame.dtypes.astype(
        str
    ).to_dict().items()


@pytest.mark.parametrize("ending", ["parquet", "orc", "arrow", "avro"])
@pytest.mark.parametrize("text", ["c(1+2i, NA)", "structure(c(1i, NA, 2i, 3+0i), dim = c(2L, 2L))"])
def test_complex_numbers_come_back_from_tables_without_notes_of_r(tmp_path, text, ending):
    """A struct of re and im was taken for a data frame, which has no missing row."""
    made = tmp_path / f"x.{ending}"
    tare.convert(rds(tmp_path / "x.rds", text), made)
    tare.convert(made, tmp_path / "back.rds")
    assert "complex" == next(iter(r.read(tmp_path / "back.rds", as_="robject"))).type


@pytest.mark.parametrize("ending", ["parquet", "orc", "arrow", "avro"])
def test_complex_numbers_keep_each_part(tmp_path, ending):
    """A part that is NA beside one that is not was a missing number: NA in both."""
    parts = [("NA", "5"), ("NA", "NaN"), ("NA", "0"), ("NaN", "NA"), ("1", "NA"), ("NA", "NA")]
    text = ", ".join(f"complex(real = {re}, imaginary = {im})" for re, im in parts)
    done = tare.convert(rds(tmp_path / "x.rds", f"c({text})"), tmp_path / f"x.{ending}")
    assert {loss["kind"] for loss in done.losses} == {"type_changed"}
    tare.convert(tmp_path / f"x.{ending}", tmp_path / "back.rds")
    back = next(iter(r.read(tmp_path / "back.rds", as_="robject")))
    assert r.read(tmp_path / "x.rds", as_="robject") == back


@pytest.mark.parametrize("ending", ["parquet", "arrow", "avro"])
def test_strict_refuses_integers_that_become_doubles(tmp_path, ending):
    """In a list of lists, of which a column is made: R tells 1L from 1."""
    source = rds(tmp_path / "x.rds", "list(list(a = 1L), list(a = 2.5))")
    done = tare.convert(source, tmp_path / f"x.{ending}")
    assert ("$[[]]$a", "identity_lost") in [(loss["path"], loss["kind"]) for loss in done.losses]
    with pytest.raises(LossError, match=r"\$\[\[\]\]\$a: identity_lost: integer, kept double"):
        tare.convert(source, tmp_path / f"y.{ending}", strict=True)
    same = rds(tmp_path / "same.rds", "list(list(a = 1L), list(a = 2L))")
    found = tare.convert(same, tmp_path / f"same.{ending}", strict=True)
    assert "identity_lost" not in {loss["kind"] for loss in found.losses}


@pytest.mark.parametrize("values", ['1L, "a"', "data.frame, 1"], ids=["text", "bytes"])
def test_values_of_r_in_a_column_are_no_text(tmp_path, values):
    """Their serialization has NUL, or bytes that are no UTF-8: the first was written, and refused when it was read."""
    inner = values.replace(
        "data.frame", 'structure(list(p = 1), class = "data.frame", row.names = c(NA, -1L))'
    )
    text = f'structure(list(a = 1:2, l = list({inner})), class = "data.frame", row.names = c(NA, -2L))'
    with pytest.raises(
        EncodeError, match="cannot write column 'l': its values are R's serialization, which is binary"
    ):
        tare.convert(rds(tmp_path / "x.rds", text), tmp_path / "x.csv")


@pytest.mark.parametrize(
    ("ending", "told"), [("json", True), ("yaml", True), ("csv", False), ("parquet", False)]
)
def test_names_of_columns_without_rows_are_told(tmp_path, ending, told):
    """Where a table is its rows alone."""
    text = 'structure(list(a = integer(0)), class = "data.frame", row.names = integer(0))'
    done = tare.convert(rds(tmp_path / "x.rds", text), tmp_path / f"x.{ending}")
    assert told == ("@names" in [loss["path"] for loss in done.losses])


def test_data_frames_of_re_and_im_stay_data_frames(tmp_path):
    """The key `r` tells which structs are complex numbers."""
    frame = """structure(list(q = 1:2, b = structure(list(re = c(1, 2), im = c(3, 4)), class = "data.frame",
      row.names = c(NA, -2L))), class = "data.frame", row.names = c(NA, -2L))"""
    tare.convert(rds(tmp_path / "x.rds", frame), tmp_path / "x.arrow")
    tare.convert(tmp_path / "x.arrow", tmp_path / "back.rds")
    assert r.read(tmp_path / "x.rds", as_="robject") == r.read(tmp_path / "back.rds", as_="robject")


ORDERED = 'structure(c(2L, 1L, NA), levels = c("lo", "hi"), class = c("ordered", "factor"))'


@pytest.mark.parametrize("ending", ["csv", "json", "ndjson", "avro"])
@pytest.mark.parametrize("list_of", [False, True])
def test_ordered_factors_are_their_texts_where_no_format_has_their_order(tmp_path, ending, list_of):
    """As factors are: told as a loss of R's, which `strict` alone refuses."""
    column = f"list({ORDERED}, {ORDERED}, NULL)" if list_of else ORDERED
    frame = f'structure(list(n = 1:3, f = {column}), class = "data.frame", row.names = c(NA, -3L))'
    source, made = rds(tmp_path / "x.rds", frame), tmp_path / f"x.{ending}"
    if list_of and ending == "csv":
        return  # which has no lists
    with pytest.raises(LossError, match=r"\$f@levels.*levels and their order"):
        tare.convert(source, made, strict=True)
    done = tare.convert(source, made)
    assert "$f@levels" in [loss["path"] for loss in done.losses]
    back = tare.read(made)
    found = back["f"].to_pylist() if isinstance(back, pa.Table) else [row["f"] for row in back]
    assert ([["hi", "lo", None], ["hi", "lo", None], None] if list_of else ["hi", "lo", None]) == found


@pytest.mark.parametrize(
    "text", [b"a: 2020-01-01 10:00:00\n", b"- 2020-01-01 10:00:00\n- [2021-01-01 10:00:00]\n"]
)
def test_times_without_a_zone_go_to_r_as_those_of_tables_do(tmp_path, text):
    """R has moments alone: they are in UTC, which is a change of the type; documents with times were refused."""
    (tmp_path / "x.yaml").write_bytes(text)
    done = tare.convert(tmp_path / "x.yaml", tmp_path / "x.rds")
    assert {change["verdict"] for change in done.changes} == {"type"}


@pytest.mark.parametrize("layout", ["file", "stream"])
def test_factors_without_rows_keep_their_levels_in_arrow(tmp_path, layout):
    """They stand in a batch, and a table without rows had none."""
    frame = 'structure(list(f = structure(integer(0), levels = c("b", "a"), class = "factor")), class = "data.frame", row.names = integer(0))'
    tare.convert(rds(tmp_path / "x.rds", frame), tmp_path / "x.arrow", codec=f"arrow:pyarrow,layout={layout}")
    tare.convert(tmp_path / "x.arrow", tmp_path / "back.rds")
    assert r.read(tmp_path / "x.rds", as_="robject") == r.read(tmp_path / "back.rds", as_="robject")


def test_complex_numbers_are_a_column_beside_other_variables(tmp_path):
    """As they are alone; several vectors of one length are the columns of a table."""
    variables = {"a": dput("c(1+2i, NA)", as_="robject"), "b": dput("c(1, 2)", as_="robject")}
    r.write(variables, tmp_path / "x.RData")
    tare.convert(tmp_path / "x.RData", tmp_path / "x.parquet")
    back = pq.read_table(tmp_path / "x.parquet").to_pydict()
    assert {"a": [{"re": 1.0, "im": 2.0}, None], "b": [1.0, 2.0]} == back
