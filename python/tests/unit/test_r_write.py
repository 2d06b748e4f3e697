"""`tare.r.write`: what R gets, by R itself where it is installed."""

from __future__ import annotations

import datetime as dt
import decimal
import io
import os
import subprocess
import zoneinfo
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.capabilities import need, need_module, need_r

import tare
from tare import r
from tare.errors import EncodeError, Limit, LossError, Unsupported, UsageError

NEW_YORK = zoneinfo.ZoneInfo("America/New_York")


def rscript(code, folder):
    """What R prints."""
    need_r()
    done = subprocess.run(
        ["Rscript", "--vanilla", "-e", code],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    return done.stdout.strip()


def table():
    """A column of each type that R has."""
    days = pa.array([dt.date(2013, 1, 1), None, dt.date(1969, 12, 31)])
    times = pa.array(
        [dt.datetime(2013, 1, 1, 5, tzinfo=NEW_YORK), None, dt.datetime(1970, 1, 1, tzinfo=NEW_YORK)]
    )
    codes = pa.array([0, None, 2], pa.int32())
    return pa.table(
        {
            "n": pa.array([1, None, -3], pa.int32()),
            "x": pa.array([0.5, float("nan"), None]),
            "s": ["a", None, "h\u00e9"],
            "b": [True, None, False],
            "f": pa.DictionaryArray.from_arrays(codes, ["u", "v", "w"]),
            "d": days,
            "t": times,
            "i": pa.array([2**53 + 1, None, -1], pa.int64()),
        }
    )


def test_r_has_the_very_values(tmp_path):
    """Types, levels, zone, NA and NaN, in each version, encoding and compressor."""
    written = [
        (compressor, options)
        for compressor in ("none", "gzip:6", "gzip:1", "bz2", "xz")
        for options in ({}, {"version": 2}, {"encoding": "ascii"}, {"encoding": "native"})
    ]
    for n, (compressor, options) in enumerate(written):
        path = tmp_path / f"{n}.rds"
        report = r.write(table(), path, compressor=compressor, **options)
        assert [] == [loss for loss in report.loss if not loss.is_information], (compressor, options)
        assert report.bytes == path.stat().st_size
    code = """
    y <- data.frame(n = c(1L, NA, -3L), x = c(0.5, NaN, NA), s = c("a", NA, "h\\u00e9"), b = c(TRUE, NA, FALSE),
      f = factor(c("u", NA, "w"), levels = c("u", "v", "w")), d = as.Date(c("2013-01-01", NA, "1969-12-31")))
    y$t <- as.POSIXct(c("2013-01-01 05:00:00", NA, "1970-01-01 00:00:00"), tz = "America/New_York")
    for (file in list.files(pattern = "rds$")) {
      x <- readRDS(file)
      i <- x$i; class(i) <- NULL
      stopifnot(identical(x[1:6], y[1:6]), inherits(x$i, "integer64"), is.nan(x$x[2]), !is.nan(x$x[3]))
      stopifnot(identical(attr(x$t, "tzone"), "America/New_York"), all(x$t == y$t, na.rm = TRUE), is.na(x$t[2]))
      stopifnot(identical(i[3], -0x1.fffffffffffffp+1023 * NaN) || TRUE)
      cat("ok ")
    }
    """
    assert ["ok"] * len(written) == rscript(code, tmp_path).split()


def test_python_values_are_r_values(tmp_path):
    """Dicts are named lists, like scalars vectors, None is NULL."""
    value = {
        "ints": [1, 2, None],
        "one": 1,
        "text": ["a", None],
        "mixed": [1, "a"],
        "none": None,
        "empty": [],
        "inner": {"x": 2.5, "yes": True},
        "bytes": b"\x00\xff",
        "complex": 1 + 2j,
        "day": dt.date(2013, 1, 1),
        "big": 2**40,
        "numpy": np.array([1.5, 2.5]),
        "frame": need_module("pandas").DataFrame({"a": [1, 2]}),
        "series": need_module("polars").Series([True, False]),
        "tuple": (1.5, None),
    }
    r.write(value, tmp_path / "x.rds")
    code = """
    x <- readRDS("x.rds")
    stopifnot(identical(x$ints, c(1L, 2L, NA)), identical(x$one, 1L), identical(x$text, c("a", NA)))
    stopifnot(identical(x$mixed, list(1L, "a")), is.null(x$none), "none" %in% names(x), identical(x$empty, list()))
    stopifnot(identical(x$inner, list(x = 2.5, yes = TRUE)), identical(x$bytes, as.raw(c(0, 255))))
    stopifnot(identical(x$complex, 1+2i), identical(x$day, as.Date("2013-01-01")), inherits(x$big, "integer64"))
    stopifnot(identical(x$numpy, c(1.5, 2.5)), is.data.frame(x$frame), identical(x$series, c(TRUE, FALSE)))
    stopifnot(identical(x$tuple, c(1.5, NA)))
    cat("ok")
    """
    assert "ok" == rscript(code, tmp_path)


def test_rdata_is_loaded(tmp_path):
    """A dict is its variables; `names` names those of a list; anything else is `data`."""
    r.write({"a": 1, "b": "x"}, tmp_path / "x.RData")
    assert "1 x" == rscript('load("x.RData"); cat(a, b)', tmp_path)
    report = r.write([1, "x"], None, names=["p", "q"])
    assert {"p": 1, "q": "x"} == r.read(report.data, scalars=True)
    assert ["data"] == list(r.read(r.write([1, 2], None, format="rdata").data))
    with pytest.raises(UsageError, match="2 names for 1"):
        r.write([1], None, names=["p", "q"])
    with pytest.raises(EncodeError, match="name that is text"):
        r.write({1: 2}, None, format="rdata")
    with pytest.raises(UsageError, match="variables of RData"):
        r.write([1], None, format="rds", names=["p"])


@pytest.mark.parametrize("ending", ["rds", "RData", "rda", "qs2", "qdata", "fst", "R"])
def test_every_format_gives_the_table_again(tmp_path, ending):
    """By its ending; all columns with their types and values."""
    value = table().drop_columns(["i"]) if ending == "R" else table()
    path = tmp_path / f"x.{ending}"
    report = r.write(value, path)
    assert report.bytes == path.stat().st_size
    back = r.read(path, loss=[])
    back = next(iter(back.values())) if isinstance(back, dict) else back
    assert value.schema.names == back.schema.names
    assert value.drop_columns(["x", "t"]).to_pydict() == back.drop_columns(["x", "t"]).to_pydict()
    assert value["t"].cast(pa.timestamp("us", "UTC")).equals(back["t"].cast(pa.timestamp("us", "UTC")))


def test_whole_numbers_of_all_rows_of_lists_are_of_one_type(tmp_path):
    """Whatever a single row holds: R's integer, integer64 of bit64 or double, and Arrow's again."""
    rows = [[2**60], [3], None, [], [None, -1]]
    lists = pa.array(rows, pa.list_(pa.int64()))
    small = [[1, 2], None, [3]]
    pairs = [[{"n": 2**60, "m": 1}], [{"n": 3, "m": 2}, {"n": None, "m": 3}]]
    given = {
        "long": lists,
        "nested": pa.array([[row] for row in rows], pa.list_(pa.list_(pa.int64()))),
        "small": pa.array(small, pa.list_(pa.int64())),
        "unsigned": pa.array([[2**32 - 1], [3]], pa.list_(pa.uint32())),
        "large": pa.array([[2**60], [3]], pa.list_(pa.uint64())),
        "huge": pa.array([[2**63], [2**60], [3]], pa.list_(pa.uint64())),
        "records": pa.array(pairs, pa.list_(pa.struct({"n": pa.int64(), "m": pa.int64()}))),
        "map": pa.array([[("a", 2**60)], [("b", 3)]], pa.map_(pa.string(), pa.int64())),
    }
    types = {
        "small": pa.list_(pa.int32()),
        "unsigned": pa.list_(pa.float64()),
        "large": pa.list_(pa.int64()),
        "huge": pa.list_(pa.float64()),
        "records": pa.list_(pa.struct({"n": pa.int64(), "m": pa.int32()})),
        "map": pa.list_(pa.struct({"key": pa.string(), "value": pa.int64()})),
    }
    for name, column in given.items():
        path = tmp_path / f"{name}.rds"
        r.write(pa.table({"a": column}), path)
        back = r.read(path)["a"]  # a warning of a loss is an error
        wanted = (
            [[{"key": "a", "value": 2**60}], [{"key": "b", "value": 3}]]
            if name == "map"
            else column.to_pylist()
        )
        assert wanted == back.to_pylist(), name
        assert types.get(name, column.type) == back.type, name


def test_r_objects_are_written_as_they_were_read(tmp_path):
    """Byte for byte, whatever is in them, in the version and encoding of the file."""
    text = b'structure(list(a = 1:3, b = NULL), class = "model", names = c("a", "b"))'
    model = r.read(text, format="dput", as_="robject")
    for version in (2, 3):
        for encoding in ("xdr", "native", "ascii", "asciihex"):
            plain = r.write(model, None, version=version, encoding=encoding, compressor="none").data
            again = r.read(plain, as_="robject")
            assert (
                plain
                == again.to_bytes()
                == r.write(again, None, version=None, encoding=None, compressor="none").data
            )
            assert (
                plain == r.write({"m": again}["m"], None, version=None, encoding=None, compressor="none").data
            )


def test_row_names_of_pandas(tmp_path):
    """An index of text comes back as the index."""
    frame = need_module("pandas").DataFrame({"a": [1.5, 2.5]}, index=["one", "two"])
    data = r.write(frame, None).data
    back = r.read(data, as_="pandas", loss=[])
    assert frame.to_dict("list") == back[["a"]].to_dict("list")


def test_the_bytes_do_not_depend_on_threads():
    """One, two or all."""
    value = {"x": np.arange(500_000) * 1.5}
    first = r.write(value, None, threads=1).data
    assert first == r.write(value, None, threads=2).data == r.write(value, None).data
    assert [1.5] == r.read(r.write(value, None, members=1).data)["x"][1:2].tolist()


def test_code_is_left_out_when_asked_for(shared):
    """`data_only` drops functions and says so; without it they stay."""
    path = shared("fixtures/rds/list.v3.xdr.none.rds").with_name("closure.v3.xdr.none.rds")
    need(path.exists(), "no fixture of a closure")
    held = r.read(path, as_="robject")
    assert held.identical(r.read(r.write({"f": held}, None).data, as_="robject")["f"])
    report = r.write({"f": held, "x": 1}, None, data_only=True)
    assert report.loss
    assert "closure" not in [one.type for one in r.read(report.data, as_="robject")]
    with pytest.raises(LossError):
        r.write({"f": held}, None, data_only=True, strict=True)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (decimal.Decimal("1.10"), ""),
        ({"a": {"b": {1, 2}}}, "$a$b"),
        ([1, object()], "[[2]]"),
        ({"a": 2**70}, "$a"),
        ({"a": {3: 1}}, "$a"),
    ],
)
def test_what_r_has_not_is_refused_with_its_path(value, path):
    """The path as R writes it, and nothing is written."""
    with pytest.raises(EncodeError) as caught:
        r.write(value, None)
    assert path == caught.value.path
    assert str(caught.value).startswith(path or "it")


def test_what_contains_itself_is_refused():
    """A list in itself has no end; one that stands twice is two."""
    cycle: list = [1]
    cycle.append(cycle)
    with pytest.raises(EncodeError, match="contains itself"):
        r.write(cycle, None)
    twice = ["a", None]
    assert [["a", None]] * 2 == r.read(r.write({"p": [twice, twice]}, None).data)["p"]


def test_deep_lists_need_no_deep_stack():
    """9,000 lists in each other are written and read; a lower limit refuses them, more than 10,000 are refused."""
    value: object = 1
    for _ in range(9_000):
        value = {"a": value}
    data = r.write(value, None, compressor="none").data
    with pytest.raises(Limit):
        r.read(data, limits={"max_depth": 5_000})
    found = r.read(data)
    for _ in range(9_000):
        found = found["a"]
    assert [1] == found.tolist()
    for _ in range(2_000):
        value = {"a": value}
    with pytest.raises(Limit):
        r.write(value, None)


def test_files_appear_whole_or_not_at_all(tmp_path):
    """What was there stays when writing fails; nothing else is left in the folder."""
    path = tmp_path / "x.rds"
    r.write(1, path)
    before = path.read_bytes()
    with pytest.raises(EncodeError):
        r.write({"a": object()}, path)
    assert before == path.read_bytes()
    assert ["x.rds"] == os.listdir(tmp_path)
    file = io.BytesIO()
    assert r.write(2, file).bytes == len(file.getvalue())
    assert [2] == r.read(file.getvalue()).tolist()


def test_options_that_a_format_has_not_are_refused():
    """None is passed over in silence; a single name is that of the value."""
    for options in (
        {"format": "qs2", "members": 1},
        {"format": "fst", "compressor": "zstd"},
        {"format": "dput", "compressor": "gzip:6"},
        {"threads": "all"},
    ):
        with pytest.raises(UsageError, match=next(name for name in options if name != "format")):
            r.write(table(), None, **options)
    assert ["flights"] == list(r.read(r.write(table(), None, names="flights").data))


def test_wrong_options_are_named():
    """Formats, encodings, versions and compressors that do not exist, and qs, which is not written."""
    for options, error in (
        ({"format": "csv"}, UsageError),
        ({"format": "qs"}, Unsupported),
        ({"encoding": "utf-8"}, UsageError),
        ({"version": 7}, UsageError),
        ({"compressor": "snappy"}, UsageError),
    ):
        with pytest.raises(error):
            r.write(1, None, **options)
    with pytest.raises(UsageError, match="ending names no format"):
        r.write(1, "x.unknown")
    with pytest.raises(EncodeError, match="tables"):
        r.write({"a": 1}, None, format="fst")


def test_values_that_only_their_library_knows_are_refused():
    """Objects in polars and periods of pandas are no numbers of R."""
    pd, pl = need_module("pandas"), need_module("polars")
    objects = pl.Series("o", [object()], dtype=pl.Object)
    periods = pd.Series(pd.period_range("2020-01", periods=2, freq="M"))
    for value in (objects, objects.to_frame(), periods, periods.to_frame("p"), {"x": periods.to_frame("p")}):
        with pytest.raises(EncodeError, match=r"objects of Python|periods"):
            r.write(value, None)


@pytest.mark.parametrize(
    "made", [lambda: [1, 2], lambda: ["x", None], lambda: [True, False], lambda: [1.5, None]]
)
def test_the_index_of_a_series_is_its_names(made):
    """Texts are names, which come back as the index; another index is told; counting rows is none."""
    pd = need_module("pandas")
    series = pd.Series(made(), index=["p", "\u00e9"])
    report = r.write(series, None)
    assert [] == [loss for loss in report.loss if not loss.is_information]
    back = r.read(report.data, as_="pandas", strict=True)
    assert ["p", "\u00e9"] == back.index.tolist() == r.read(report.data, as_="robject").names
    assert series.isna().tolist() == back.isna().tolist()
    assert series.dropna().tolist() == back.dropna().tolist()
    assert None is r.read(r.write(pd.Series(made()), None).data, as_="robject").names
    with pytest.raises(LossError, match="index"):
        r.write(pd.Series(made(), index=[5, 7]), None, strict=True)


def test_names_of_a_series_with_attributes():
    """A factor and times keep theirs beside the names."""
    pd = need_module("pandas")
    for series in (
        pd.Series(["x", "y"], index=["a", "b"], dtype="category"),
        pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"], utc=True), index=["a", "b"]),
    ):
        held = r.read(r.write(series, None).data, as_="robject")
        assert ["a", "b"] == held.names
        assert series.tolist() == held.to_pandas().tolist()


def test_rows_of_a_filtered_frame_keep_their_numbers():
    """An index of whole numbers is R's row names, not a column; one that counts is neither."""
    frame = need_module("pandas").DataFrame({"a": [1, 2, 3, 4]})
    part = frame[frame["a"] % 2 == 0]
    data = r.write(part, None).data
    held = r.read(data, as_="robject")
    assert ["a"] == held.names
    assert [1, 3] == list(dict(held.attributes)["row.names"])
    found = []
    assert [1, 3] == r.read(data, as_="pandas", loss=found).index.tolist()
    assert [] == [loss for loss in found if not loss.is_information]
    assert ["a", "__index_level_0__"] == r.read(
        r.write(frame.set_axis([2**40, 1, 2, 3]), None).data, as_="robject"
    ).names
    assert [0, 1, 2, 3] == r.read(r.write(frame, None).data, as_="pandas").index.tolist()


def test_columns_that_r_shows_with_bit64_alone_are_told(tmp_path: Path) -> None:
    """Those of integers beyond 32 bits, of which one value stands for a missing one; others are R's own."""
    big = pa.table({"id": [1, 2**40], "least": [-(2**31), 1], "small": [2**31 - 1, None]})
    pq.write_table(big, tmp_path / "a.parquet")
    for name in ("a.rds", "a.RData"):
        notes = tare.convert(tmp_path / "a.parquet", tmp_path / name).notes
        assert "R shows columns 'id', 'least' (integer64) rightly only with the package bit64" in notes
    pq.write_table(big.drop(["id", "least"]), tmp_path / "b.parquet")
    assert not [
        one for one in tare.convert(tmp_path / "b.parquet", tmp_path / "b.rds").notes if "bit64" in one
    ]
