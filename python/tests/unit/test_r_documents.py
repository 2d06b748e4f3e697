"""What documents do not say of R's objects is told, and stops a strict conversion where a value is another then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.capabilities import need_codec

import tare
from tare import kinds, r, scale
from tare.cli import main
from tare.errors import EncodeError, LossError, Unsupported

MOMENT = 'structure(1704182645, class = c("POSIXct", "POSIXt"), tzone = "America/New_York")'
PARTS = """structure(list(sec = 5, min = 4L, hour = 3L, mday = 2L, mon = 0L, year = 124L, wday = 2L, yday = 1L,
  isdst = 0L), class = c("POSIXlt", "POSIXt"), tzone = c("America/New_York", "EST", "EDT"))"""
MOMENTS = MOMENT.replace("1704182645", "c(1704182645, 0)")
FACTOR = 'structure(2:1, levels = c("2", "1"), class = "factor")'
NO_ROWS = 'structure(list(f = structure(integer(0), levels = c("u", "v"), class = "factor")), class = "data.frame", row.names = integer(0))'

# quote(x), as version 2 has it.
SYMBOL = b"X\n" + bytes.fromhex("00000002000402020002030000000001000400090000000178")


def rds(path: Path, text: str) -> Path:
    """A file of that object."""
    r.write(r.read(text.encode(), format="dput", as_="robject"), path)
    return path


def told(done: tare.Conversion) -> list[tuple[str, str, str, int]]:
    """Losses: where, kind, what R has, how many."""
    return [(one["path"], one["kind"], one["r"], one["count"]) for one in done.losses]


@pytest.mark.parametrize("ending", ["json", "ndjson", "csv"])
def test_a_bare_factor_loses_its_levels_out_loud(tmp_path, ending):
    """A document has its values; a table says the same of the type of its column."""
    source = rds(tmp_path / "x.rds", FACTOR)
    done = tare.convert(source, tmp_path / f"x.{ending}")
    if ending == "csv":
        assert "value (levels)" in {change["path"] for change in done.changes}
        return
    assert [("@levels", "attribute_dropped", "levels and their order", 1)] == told(done)
    with pytest.raises(LossError, match="@levels"):
        tare.convert(source, tmp_path / f"y.{ending}", strict=True)
    assert not (tmp_path / f"y.{ending}").exists()


def test_a_factor_deep_inside_is_told_where_it_is(tmp_path):
    """In a list, and as a column of a data frame that is a value of a list."""
    frame = f'structure(list(x = {FACTOR}), class = "data.frame", row.names = c(NA, -2L))'
    source = rds(tmp_path / "x.rds", f"list(a = list({FACTOR}), d = {frame})")
    done = tare.convert(source, tmp_path / "x.json")
    assert {"$a[[1]]@levels", "$d$x@levels"} == {
        one["path"] for one in done.losses if one["kind"] == "attribute_dropped"
    }
    assert ("$d", "type_changed", "data.frame", 1) in told(done)


@pytest.mark.parametrize("ending", ["json", "cbor", "msgpack", "yaml"])
def test_kinds_of_missing_values_are_told(tmp_path, ending, capsys):
    """Those of one list together; a null among numbers is theirs, and NULL is a null."""
    text = "list(a = list(NA_integer_, NA_integer_, NA_real_, TRUE), b = c(1, NA), c = c(NA, NA), d = NULL, e = NA_character_)"
    source = rds(tmp_path / "x.rds", text)
    done = tare.convert(source, tmp_path / f"x.{ending}")
    assert [
        ("$a[[]]", "na_to_null", "NA_integer_", 2),
        ("$a[[3]]", "na_to_null", "NA_real_", 1),
        ("$c", "na_to_null", "NA", 2),
        ("$e", "na_to_null", "NA_character_", 1),
    ] == [one for one in told(done) if one[1] == "na_to_null"]
    with pytest.raises(LossError, match="na_to_null"):
        tare.convert(source, tmp_path / f"y.{ending}", strict=True)
    with pytest.raises(SystemExit) as ended:
        main(["convert", str(source), str(tmp_path / f"z.{ending}")])
    assert 0 == ended.value.code
    assert "lost: $a[[]]: na_to_null: NA_integer_, kept null (2 values)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("list(1, 2)", "a list of single values"),
        ("integer(0)", "integer of no values"),
        ("matrix(1:4, 2)", "array of 2 x 2"),
        ('structure(c(1, 2), class = "Date")', "vector of Date"),
        ('structure(4.94065645841247e-324, class = "integer64")', "integer64"),
        ("pairlist(a = 1)", "pairlist"),
        ("data.frame(a = 1.5)", "data.frame"),
    ],
)
def test_another_shape_on_the_way_back_is_information(tmp_path, text, what):
    """Every value is there, so that a strict conversion does it."""
    done = tare.convert(rds(tmp_path / "x.rds", text), tmp_path / "x.cbor", strict=True)
    assert ("", "type_changed", what, 1) in told(done)


@pytest.mark.parametrize(
    "text", ["1", "c(1, 2.5)", '"a"', "list()", "list(a = 1L, b = list())", "c(1L, NA)", "NULL"]
)
def test_what_comes_back_as_it_was_is_not_told(tmp_path, text):
    """Nothing is."""
    source = rds(tmp_path / "x.rds", text)
    assert [] == tare.convert(source, tmp_path / "x.json", strict=True).losses
    tare.convert(tmp_path / "x.json", tmp_path / "back.rds")
    assert r.read(source, as_="robject").identical(r.read(tmp_path / "back.rds", as_="robject"))


def test_many_elements_that_lose_the_same_are_told_once(tmp_path):
    """However many lists they are in; so are places beyond a thousand."""
    r.write([[r.NA_integer] for _ in range(3000)], tmp_path / "x.rds")
    assert [("[[]]", "na_to_null", "NA_integer_", 3000)] == told(
        tare.convert(tmp_path / "x.rds", tmp_path / "x.json")
    )
    r.write({f"k{place}": r.NA_integer for place in range(3000)}, tmp_path / "y.rds")
    done = told(tare.convert(tmp_path / "y.rds", tmp_path / "y.json"))
    assert 1001 == len(done)
    assert ("", "na_to_null", "NA_integer_", 2000) == done[-1]


def test_levels_of_a_factor_without_rows_are_lost_in_parquet(tmp_path):
    """Which notes those of rows; Arrow's own files have them."""
    source = rds(tmp_path / "x.rds", NO_ROWS)
    with pytest.raises(LossError, match=r"\$f@levels"):
        tare.convert(source, tmp_path / "x.parquet", strict=True)
    assert [("$f@levels", "attribute_dropped")] == [
        one[:2] for one in told(tare.convert(source, tmp_path / "x.parquet"))
    ]
    assert [] == tare.convert(source, tmp_path / "x.arrow", strict=True).losses


def test_an_empty_list_as_a_table_is_told(tmp_path):
    """It comes back as a data frame."""
    done = tare.convert(rds(tmp_path / "x.rds", "list()"), tmp_path / "x.parquet", strict=True)
    assert [("", "type_changed", "list", 1)] == told(done)


@pytest.mark.parametrize(
    ("text", "path"),
    [(f"list(a = {MOMENT})", "$a@tzone"), (PARTS, "@tzone"), (f"list(list({PARTS}))", "[[1]][[1]]@tzone")],
)
@pytest.mark.parametrize("ending", ["json", "msgpack", "cbor"])
def test_a_moment_in_a_zone_is_written_with_its_offset(tmp_path, text, path, ending):
    """The moment and its clock are there: the name of the zone is lost, and told."""
    source = rds(tmp_path / "x.rds", text)
    done = tare.convert(source, tmp_path / f"x.{ending}")
    assert {"type"} == {change["verdict"] for change in done.changes}
    assert (path, "attribute_dropped", "time zone America/New_York", 1) in told(done)
    if ending == "json":
        assert "2024-01-02T03:04:05-05:00" in (tmp_path / "x.json").read_text()
    with pytest.raises(LossError):
        tare.convert(source, tmp_path / f"y.{ending}", strict=True)


def test_an_object_that_is_no_data_is_named_with_its_variable(tmp_path):
    """As a list has it."""
    code = r.read(SYMBOL, as_="robject")
    for value, path in ((code, r"\$inc is of"), ([code], r"\$inc\[\[1\]\] is of")):
        r.write({"inc": value, "n": [1.5]}, tmp_path / "x.RData")
        with pytest.raises(Unsupported, match=path):
            tare.convert(tmp_path / "x.RData", tmp_path / "x.json")


def test_an_array_as_a_table_says_what_to_do(tmp_path):
    """In words of the command."""
    source = rds(tmp_path / "x.rds", "array(1:8, c(2, 2, 2))")
    with pytest.raises(
        Unsupported, match=r"array of 2 x 2 x 2, and tables have rows and columns: .* \.json or \.rds"
    ):
        tare.convert(source, tmp_path / "x.parquet")
    tare.convert(source, tmp_path / "x.json")
    assert [[[1, 5], [3, 7]], [[2, 6], [4, 8]]] == json.loads((tmp_path / "x.json").read_text())


@pytest.mark.parametrize(
    ("column", "where"),
    [
        (
            'list(1:2, NULL, "a")',
            r"cannot write column 'l': its values are R's serialization, which is binary\.",
        ),
        ("list(1L, 2L, 3:4)", r"there is no place for values of the type list<item: int32>, in column 'l'\."),
    ],
)
def test_a_list_as_a_column_is_named_where_csv_refuses_it(tmp_path, column, where):
    """Mixed or not."""
    text = f'structure(list(i = 1:3, l = {column}), class = "data.frame", row.names = c(NA, -3L))'
    with pytest.raises(EncodeError, match=where):
        tare.convert(rds(tmp_path / "x.rds", text), tmp_path / "x.csv")


def test_one_level_is_one(tmp_path):
    """In what `inspect` says."""
    text = 'structure(1L, levels = "a", class = "factor")'
    shown = tare.inspect(rds(tmp_path / "x.rds", text)).details["object"]
    assert str(shown).endswith(", 1 level")


@pytest.mark.parametrize("ending", ["json", "ndjson", "csv", "msgpack", "yaml", "avro"])
def test_levels_and_zones_of_columns_are_lost_as_those_of_vectors_are(tmp_path, ending):
    """One rule: told, and refused where nothing may be lost; formats that keep them lose nothing."""
    need_codec(str(tare.Codec.for_path(f"x.{ending}")))
    columns = f'structure(list(f = {FACTOR}, t = {MOMENTS}), class = "data.frame", row.names = c(NA, -2L))'
    source = rds(tmp_path / "x.rds", columns)
    done = tare.convert(source, tmp_path / f"x.{ending}")
    assert {("$f@levels", "levels and their order"), ("$t@tzone", "time zone America/New_York")} == {
        (one["path"], one["r"]) for one in done.losses if one["kind"] == "attribute_dropped"
    }
    for name in ("f", "t"):
        with pytest.raises(LossError, match=rf"\${name}@"):
            tare.convert(source, tmp_path / f"y.{ending}", columns=[name], strict=True)
    assert not (tmp_path / f"y.{ending}").exists()
    for kept in ("parquet", "arrow"):
        assert [] == tare.convert(source, tmp_path / f"x.{kept}", strict=True).losses
    report = scale.convert(
        str(source), str(tmp_path / "out"), to=ending, partition="f", options={"strict": 1}, executor="inline"
    )
    assert not report.ok


def test_a_moment_in_utc_loses_no_zone(tmp_path):
    """Nor does one in the zone of the machine, which R does not name."""
    text = 'structure(list(t = structure(c(0, 1), class = c("POSIXct", "POSIXt"), tzone = "UTC")), class = "data.frame", row.names = c(NA, -2L))'
    source = rds(tmp_path / "x.rds", text)
    for ending in ("json", "csv"):
        losses = tare.convert(source, tmp_path / f"x.{ending}", strict=True).losses
        assert not [one for one in losses if one["kind"] == "attribute_dropped"]


@pytest.mark.parametrize("text", ["list()", "character(0)", "integer(0)", "NULL"])
@pytest.mark.parametrize("ending", ["json", "ndjson", "yaml", "msgpack", "cbor", "parquet", "arrow"])
def test_what_is_empty_is_read_again(tmp_path, text, ending):
    """Or refused with a reason; nothing is written that is refused when it is read."""
    need_codec(str(tare.Codec.for_path(f"x.{ending}")))
    source = rds(tmp_path / "x.rds", text)
    if text == "NULL" and ending in ("ndjson", "parquet", "arrow"):
        with pytest.raises((EncodeError, Unsupported), match=r"^x\.rds: "):
            tare.convert(source, tmp_path / f"x.{ending}")
        return
    tare.convert(source, tmp_path / f"x.{ending}")
    back = tare.read(tmp_path / f"x.{ending}")
    assert 0 == kinds.count_items(back)
    for again in ("json", "ndjson", "yaml"):
        if text != "NULL" or again != "ndjson":
            tare.convert(tmp_path / f"x.{ending}", tmp_path / f"again.{again}")
