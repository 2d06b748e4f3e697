"""`tare.r.read`: what each value of R becomes, by hand."""

from __future__ import annotations

import datetime as dt
import io
import warnings
import zoneinfo

import numpy as np
import pyarrow as pa
import pytest
from support.capabilities import need_module

from tare import r
from tare.errors import Limit, LossError, Malformed, Truncated, Unsupported, UsageError

FRAME = b"""structure(list(
  n = c(1L, NA, 3L), x = c(0.5, NaN, NA), s = c("a", NA, ""), b = c(TRUE, FALSE, NA),
  f = structure(c(1L, NA, 3L), levels = c("u", "v", "w"), class = "factor"),
  d = structure(c(15706, NA, 0), class = "Date"),
  t = structure(c(1357034400.25, NA, 0), class = c("POSIXct", "POSIXt"), tzone = "America/New_York"),
  i = structure(c(0x0.0000000000001p-1022, 0, 0), class = "integer64")),
  row.names = c("one", "two", "three"), class = "data.frame")"""


def dput(text, **options):
    """What text of dput is read as."""
    return r.read(text if isinstance(text, bytes) else text.encode(), format="dput", **options)


def test_a_data_frame_is_a_table_of_its_types():
    """No integer becomes a float, no factor text; a zone stays, NA is null and NaN is not."""
    table = dput(FRAME, loss=[])
    assert isinstance(table, pa.Table)
    types = {field.name: field.type for field in table.schema}
    zone = "America/New_York"
    assert pa.int32() == types["n"]
    assert pa.float64() == types["x"]
    assert pa.string() == types["s"]
    assert pa.bool_() == types["b"]
    assert pa.types.is_dictionary(types["f"])
    assert pa.date32() == types["d"]
    assert pa.timestamp("us", zone) == types["t"] or pa.timestamp("ns", zone) == types["t"]
    assert pa.int64() == types["i"]
    assert [1, None, 3] == table["n"].to_pylist()
    assert "[0.5, nan, None]" == str(table["x"].to_pylist())
    assert ["a", None, ""] == table["s"].to_pylist()
    assert ["u", None, "w"] == table["f"].to_pylist()
    assert [dt.date(2013, 1, 1), None, dt.date(1970, 1, 1)] == table["d"].to_pylist()
    moment = dt.datetime(2013, 1, 1, 5, 0, 0, 250_000, zoneinfo.ZoneInfo(zone))
    assert moment == table["t"].to_pylist()[0]
    assert [1, 0, 0] == table["i"].to_pylist()


def test_pandas_has_row_names_and_its_own_types():
    """Row names are the index; factors are categories with all levels; nothing is lost."""
    need_module("pandas")
    lost: list[r.Loss] = []
    frame = dput(FRAME, as_="pandas", loss=lost)
    assert ["one", "two", "three"] == list(frame.index)
    assert ["u", "v", "w"] == list(frame["f"].cat.categories)
    assert "Int32" == str(frame["n"].dtype)
    assert "America/New_York" == str(frame["t"].dt.tz)
    assert [] == [loss for loss in lost if loss.kind == "row_names_dropped"]


def test_polars_is_a_data_frame():
    """The same columns."""
    pl = need_module("polars")
    frame = dput(FRAME, as_="polars", loss=[])
    assert isinstance(frame, pl.DataFrame)
    assert [1, None, 3] == frame["n"].to_list()
    assert pl.Int32 == frame["n"].dtype


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("c(1L, 2L)", "int32"),
        ("c(1.5, NaN)", "float64"),
        ("c(TRUE, FALSE)", "bool"),
        ("c(1i, 2)", "complex128"),
    ],
)
def test_vectors_without_missing_values_are_numpy(text, dtype):
    """Of R's own width; one value is an array of one unless scalars are asked for."""
    found = dput(text)
    assert isinstance(found, np.ndarray)
    assert dtype == str(found.dtype)


def test_missing_values_never_change_the_type():
    """Integers and logicals with NA are Arrow's, with nulls."""
    assert pa.array([1, None], pa.int32()).equals(dput("c(1L, NA)"))
    assert pa.array([True, None]).equals(dput("c(TRUE, NA)"))
    assert [1.5, None] == dput("c(1.5, NA)").to_pylist()
    assert ["NA", None] == dput('c("NA", NA)')


def test_missing_doubles_can_be_nan_and_that_is_told():
    """`na='nan'` gives NumPy's array and one loss."""
    lost: list[r.Loss] = []
    found = dput("c(1.5, NA, NaN)", na="nan", loss=lost)
    assert isinstance(found, np.ndarray)
    assert [("na_to_nan", 1)] == [(loss.kind, loss.count) for loss in lost]


def test_scalars_are_asked_for():
    """A vector of one value stays a vector; with scalars=True it is the value."""
    assert [1] == dput("1L").tolist()
    assert {"a": 1, "b": None, "c": "x", "d": 2.5, "e": True, "f": dt.date(1970, 1, 2)} == dput(
        'list(a = 1L, b = NA, c = "x", d = 2.5, e = TRUE, f = structure(1, class = "Date"))', scalars=True
    )


def test_lists_are_dicts_and_lists():
    """Names make a dict, no names a list; names that are missing or twice stay an R object."""
    assert {"a": None, "b": ["x"]} == dput('list(a = NULL, b = list("x"))', scalars=True)
    odd = dput('structure(list(1L, 2L), names = c("a", "a"))')
    assert isinstance(odd, r.RObject)
    assert ["a", "a"] == odd.names


def test_matrices_are_numpy_in_fortran_order():
    """The shape is R's, nothing is copied, and the names are told as lost or are pandas' own."""
    lost: list[r.Loss] = []
    text = 'structure(1:6, dim = c(2L, 3L), dimnames = list(NULL, c("a", "b", "c")))'
    found = dput(text, loss=lost)
    assert (2, 3) == found.shape
    assert found.flags.f_contiguous
    assert [[1, 3, 5], [2, 4, 6]] == found.tolist()
    assert ["@dimnames"] == [loss.path for loss in lost]
    frame = dput(text, as_="robject").to_pandas()
    assert ["a", "b", "c"] == list(frame.columns)
    assert (2, 2, 2) == dput("structure(1:8, dim = c(2L, 2L, 2L))").shape
    masked = dput("structure(c(1L, NA), dim = c(1L, 2L))")
    assert [[1, None]] == masked.tolist()


def test_some_columns_and_rows():
    """Only these; others are told, and rows from one to before another."""
    table = dput(FRAME, columns=["s", "n"], rows=(1, 3), loss=[])
    assert {"s": [None, ""], "n": [None, 3]} == table.to_pydict()
    assert 1 == dput(FRAME, rows=slice(2, 9), loss=[]).num_rows
    need_module("pandas")
    frame = dput(FRAME, rows=range(1, 2), as_="pandas", loss=[])
    assert ["two"] == list(frame.index)
    with pytest.raises(UsageError, match="no column 'q'"):
        dput(FRAME, columns=["q"])
    with pytest.raises(UsageError, match="first row is 0"):
        dput(FRAME, rows=(2, 1))
    with pytest.raises(UsageError, match="side by side"):
        dput(FRAME, rows=slice(0, 9, 2))
    for wrong in (3, "ab", (1, 2, 3), ("a", "b")):
        with pytest.raises(UsageError, match="rows="):
            dput(FRAME, rows=wrong)
    with pytest.raises(UsageError, match=r"\['n'\]"):
        dput(FRAME, columns="n")
    fst = r.write(pa.table({"n": [1, 2, 3]}), None, format="fst").data
    assert [3] == r.read(fst, rows=(2, 9))["n"].to_pylist()
    assert 0 == r.read(fst, rows=(5, 9)).num_rows
    with pytest.raises(Unsupported, match="data frames"):
        dput("1L", columns=["a"])


def test_one_warning_a_call_or_a_list_or_an_error():
    """Losses warn once with their number; `loss=` takes them; `strict` raises on the first."""
    text = 'structure(list(a = structure(1, unit = "km"), b = structure(2, unit = "s")), note = "x")'
    with pytest.warns(r.LossWarning, match="3 things not kept") as caught:
        dput(text)
    assert 1 == len(caught)
    assert __file__ == caught[0].filename or caught[0].filename.endswith("test_r_read.py")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lost: list[r.Loss] = []
        dput(text, loss=lost)
    assert {"@note", "$a@unit", "$b@unit"} == {loss.path for loss in lost}
    with pytest.raises(LossError, match=r"attribute_dropped"):
        dput(text, strict=True)


def test_sources(tmp_path):
    """A path, bytes, a buffer, a binary file object; text and nonsense are refused in words."""
    data = r.write([1, 2, 3], None).data
    path = tmp_path / "x.rds"
    path.write_bytes(data)
    for source in (path, str(path), data, bytearray(data), memoryview(data), io.BytesIO(data)):
        assert [1, 2, 3] == r.read(source).tolist()
    with pytest.raises(UsageError, match="binary mode"):
        r.read(io.StringIO("x"))
    with pytest.raises(UsageError, match="neither path"):
        r.read(17)
    with pytest.raises(Truncated, match="empty"):
        r.read(b"")
    with pytest.raises(Unsupported, match="dput"):
        r.read(b"c(1, 2)")
    with pytest.raises(FileNotFoundError):
        r.read(tmp_path / "none.rds")
    with pytest.raises(UsageError, match="no format of R"):
        r.read(data, format="csv")
    with pytest.raises(UsageError, match="as_="):
        r.read(data, as_="table")
    with pytest.raises(UsageError, match="na="):
        r.read(data, na="x")


def test_bzip2_is_told_by_its_bytes(tmp_path):
    """Nothing of it is known before the first block, of up to 900 kB, is there as a whole."""
    noise = np.random.default_rng(7).random(200_000)
    file = r.write(noise, None, format="rds", compressor="bz2:9").data
    assert file.startswith(b"BZh")
    assert len(file) > 1 << 20
    path = tmp_path / "noise"
    path.write_bytes(file)
    for source in (file, io.BytesIO(file), path):
        np.testing.assert_array_equal(noise, r.read(source))


def test_limits_are_obeyed():
    """Depth and memory; a limit that does not exist is named with those that do."""
    deep = r.write({"a": {"b": {"c": {"d": 1}}}}, None).data
    with pytest.raises(Limit):
        r.read(deep, limits={"max_depth": 3})
    assert {"a": {"b": {"c": {"d": 1}}}} == r.read(deep, scalars=True, limits=r.Limits(max_depth=8))
    with pytest.raises(Limit):
        r.read(r.write(list(range(100_000)), None).data, limits={"memory_budget": 1000})
    fst = r.write(pa.table({"x": range(100_000)}), None, format="fst", loss=[]).data
    with pytest.raises(Limit, match="memory_budget"):
        r.read(fst, limits={"memory_budget": 1000})
    with pytest.raises(UsageError, match="max_depth"):
        r.read(deep, limits={"depth": 3})


def test_what_is_cut_is_an_error_at_every_byte():
    """Never a shorter vector."""
    data = r.write(pa.table({"n": [1, 2, 3], "s": ["a", None, "c"]}), None, compressor="none").data
    for cut in range(1, len(data)):
        with pytest.raises((Truncated, Malformed, Unsupported)):
            r.read(data[:cut], format="rds")
    with pytest.raises(Malformed):
        r.read(data + b"x")


def test_robject_is_looked_into():
    """Names, positions, attributes; vectors give values; what is not there is an error of its kind."""
    model = dput(
        'structure(list(a = c(u = 1L, v = NA), b = list("x", NULL)), class = c("fit", "model"), note = "n")',
        as_="robject",
    )
    assert ("list", ["fit", "model"], ["a", "b"], 2) == (model.type, model.r_class, model.names, len(model))
    assert ["names", "class", "note"] == [name for name, _ in model.attributes]
    assert 1 == model["a"][0] == model["a"]["u"]
    assert model["a"]["v"] is None
    assert "x" == model["b"][0][0]
    assert "NULL" == model["b"][-1].type
    assert ["a", "b"] == model.keys()
    assert "a" in model
    assert 2 == len(list(model))
    for key, error in ((5, IndexError), ("q", KeyError), (1.5, TypeError)):
        with pytest.raises(error):
            model[key]
    with pytest.raises(KeyError):
        model["a"]["q"]


def test_equal_and_identical():
    """`==` by bytes, `identical` as R: a sequence that is not made yet is identical to one that is."""
    one, other = (dput(text, as_="robject") for text in ("c(1L, 2L)", "1:2"))
    assert one.identical(other)
    assert one == dput("c(1L, 2L)", as_="robject")
    assert one != dput("c(1L, 3L)", as_="robject")
    assert one != 5
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_vectors_in_every_library():
    """A vector alone as Arrow's array, pandas' and polars' series, NumPy's array."""
    pd = need_module("pandas")
    need_module("polars")
    x = dput("c(a = 1L, b = 2L)", as_="robject")
    assert pa.array([1, 2], pa.int32()).equals(x.to_arrow())
    assert {"a": 1, "b": 2} == x.to_pandas().to_dict()
    assert isinstance(x.to_pandas(), pd.Series)
    assert [1, 2] == x.to_polars().to_list() == x.to_numpy().tolist()
    f = dput('structure(c(2L, 1L), levels = c("lo", "hi"), class = c("ordered", "factor"))', as_="robject")
    assert f.to_pandas().cat.ordered
    assert ["hi", "lo"] == f.to_pandas().tolist()


def test_missing_constants():
    """They have R's types, are neither true nor false, and come back as null."""
    assert "NA_integer_" == repr(r.NA_integer)
    with pytest.raises(TypeError, match="neither"):
        bool(r.NA_logical)
    data = r.write([r.NA_integer, r.NA_logical, r.NA_character, r.NA_real, [1, r.NA_integer]], None).data
    back = r.read(data, as_="robject")
    assert ["integer", "logical", "character", "double", "integer"] == [one.type for one in back]
    assert [None, None, None, None] == [one[0] for one in back][:4]
    assert [1, None] == r.read(data)[4].to_pylist()


def test_an_ordered_factor_as_a_series_of_polars_is_told():
    """Of a table's column it was told already."""
    need_module("polars")
    text = b'structure(1:2, levels = c("u", "v"), class = c("ordered", "factor"))'
    found = []
    r.read(text, format="dput", as_="polars", loss=found)
    assert ["@levels"] == [loss.path for loss in found]


def test_a_matrix_as_a_data_frame_keeps_the_names_of_its_dimensions():
    """That it is no matrix any more is told."""
    need_module("pandas")
    text = b'structure(1:4, dim = c(2L, 2L), dimnames = list(r = c("u", "v"), k = c("a", "b")))'
    found = []
    frame = r.read(text, format="dput", as_="pandas", loss=found)
    assert ("r", "k") == (frame.index.name, frame.columns.name)
    assert ["type_changed"] == [loss.kind for loss in found]


def test_columns_of_variables_that_are_no_tables():
    """They are refused, not passed over."""
    data = r.write({"a": 1, "b": "x"}, None, format="rdata").data
    for options in ({"columns": ["x"]}, {"rows": (0, 1)}):
        with pytest.raises(Unsupported, match="data frames"):
            r.read(data, **options)
