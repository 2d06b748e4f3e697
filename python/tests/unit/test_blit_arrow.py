"""Documents of Arrow tables, and the options that all that write documents take."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.soak import scaled

from tare import blit, errors
from tare.scalar_text import as_text


def table(n: int) -> Any:
    """A table of `n` rows of all that a document has."""
    return pa.table(
        {
            "int": pa.array([None if i % 7 == 0 else i - 50 for i in range(n)], pa.int16()),
            "large": pa.array([2**64 - 1 - i for i in range(n)], pa.uint64()),
            "float": [i / 7 for i in range(n)],
            "odd": pa.array([None if i % 3 == 0 else float(i) for i in range(n)], pa.float32()),
            "half": pa.array([1.5] * n, pa.float16()),
            "bool": [None if i % 5 == 0 else i % 2 == 0 for i in range(n)],
            "str": [f"x{i % 9}" for i in range(n)],
            "dict": pa.array([f"x{i % 9}" for i in range(n)]).dictionary_encode(),
            "bytes": [bytes([i % 256]) for i in range(n)],
            "decimal": [Decimal(i) / 4 for i in range(n)],
            "list": [list(range(i % 4)) for i in range(n)],
            "struct": [{"a": i, "b": None} for i in range(n)],
            "null": pa.nulls(n),
        }
    )


@pytest.mark.parametrize("n", [0, 1, 4096, 9000])
def test_a_table_is_its_rows_however_it_comes(n: int):
    whole = table(n)
    document = blit.encode(whole.to_pylist())
    assert blit.from_arrow(whole) == document
    assert blit.from_arrow(whole.to_reader(max_chunksize=1000)) == document
    chunks = pa.concat_tables([whole.slice(0, n // 3), whole.slice(n // 3)])
    assert blit.from_arrow(chunks, layout="rows") == blit.encode(whole.to_pylist(), layout="rows")


def test_a_table_without_columns_has_rows_all_the_same():
    assert blit.view(blit.from_arrow(pa.table({"a": [1, 2]}).select([]))) == [{}, {}]
    assert blit.view(blit.from_arrow(pa.table({}))) == []


def test_python_objects_are_made_of_some_rows_at_a_time():
    large = pa.table({"a": range(100_000), "b": [f"text {i % 1000}" for i in range(100_000)]})
    tracemalloc.start()
    document = blit.from_arrow(large)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(blit.view(document)) == 100_000
    assert peak < len(document) + (8 << 20), "all rows as objects are some 30 MB"


def test_times_are_refused_or_what_default_makes_of_them():
    noon = datetime(2013, 1, 1, 12, tzinfo=UTC)
    for value, text in (
        (date(2013, 1, 1), "2013-01-01"),
        (datetime(2013, 1, 1, 12, 0, 0, 5), "2013-01-01T12:00:00.000005"),
        (noon, "2013-01-01T12:00:00+00:00"),
        (time(1, 2, 3), "01:02:03"),
        (timedelta(minutes=1), "PT60S"),
    ):
        rows = pa.table({"t": [value, None], "l": [[value], []], "s": [{"x": value}, {"x": None}]})
        with pytest.raises(errors.Unsupported, match="cast it first, or say") as caught:
            blit.from_arrow(rows)
        assert caught.value.path == "t"
        expected = [{"t": text, "l": [text], "s": {"x": text}}, {"t": None, "l": [], "s": {"x": None}}]
        assert blit.view(blit.from_arrow(rows, default=as_text)) == expected
    fine = pa.table({"t": pa.array([1000, None], pa.time64("ns"))})
    assert blit.view(blit.from_arrow(fine, default=as_text)) == [{"t": "00:00:00.000001"}, {"t": None}]
    with pytest.raises(errors.EncodeError, match="'t'"):  # Python would cut it
        blit.from_arrow(pa.table({"t": pa.array([1001], pa.time64("ns"))}), default=as_text)
    with pytest.raises(errors.Unsupported):
        blit.from_arrow(
            pa.table({"t": [fine["t"].to_pylist()]}).cast(pa.schema([("t", pa.list_(pa.time64("ns")))])),
            default=as_text,
        )


def test_what_is_no_table_of_rows_is_refused_in_plain_words():
    twice = pa.table([[1], [2], [3]], names=["a", "b", "a"])
    with pytest.raises(errors.Unsupported, match=r"2 fields of the name 'a', number 0, 2: rename them"):
        blit.from_arrow(twice)
    inner = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    with pytest.raises(errors.Unsupported, match=r"column 's' has 2 fields of the name 'x'"):
        blit.from_arrow(pa.table({"s": inner}))
    with pytest.raises(errors.Unsupported, match="map<"):
        blit.from_arrow(pa.table({"m": pa.array([[(1, 2)]], pa.map_(pa.int8(), pa.int8()))}))
    for other in (7, [1], {"a": [1]}):
        with pytest.raises(errors.Unsupported, match="__arrow_c_stream__"):
            blit.from_arrow(other)


def writers() -> list[Callable[..., bytes]]:
    """All that write a document, of the same value."""
    return [
        lambda **options: blit.encode([{"a": 1}], **options),
        lambda **options: blit.from_json('[{"a":1}]', **options),
        lambda **options: blit.from_ndjson('{"a":1}', **options),
        lambda **options: blit.from_arrow(pa.table({"a": [1]}), **options),
        lambda **options: blit.edit(blit.view(blit.encode([{"a": 1}]))).to_blit(**options),
    ]


@pytest.mark.parametrize("write", writers())
def test_all_that_write_take_the_same_options(write: Callable[..., bytes]):
    for options in (
        {},
        {"canonical": True},
        {"layout": "rows"},
        {"layout": None, "numbers": None, "duplicates": None, "surrogates": None, "checksum": None},
        {"numbers": "text", "duplicates": "error", "surrogates": "keep", "checksum": True},
        {"aligned": True, "pool": True, "compress_strings": 600, "checksum": False},
    ):
        assert write(**options) == blit.encode([{"a": 1}], **options)
    for options, text in (
        ({"cheksum": True}, 'no option "cheksum"; near: checksum'),
        ({"compress_string": 600}, "near: compress_strings"),
        ({"zzz": 1}, "there are canonical, layout, numbers, duplicates, surrogates, checksum, aligned"),
        ({"layout": "colums"}, 'layout="colums" is none of columns, rows'),
        ({"layout": 3}, "layout=3 is none of columns, rows"),
        ({"canonical": None}, "canonical=None is neither True nor False"),
        ({"checksum": "yes"}, "checksum='yes' is neither True nor False"),
        ({"compress_strings": -1}, "compress_strings=-1 is no number of bytes"),
        ({"compress_strings": 511}, "512"),
        ({"canonical": True, "checksum": True}, "canonical"),
    ):
        with pytest.raises(errors.UsageError) as caught:
            write(**options)
        assert text in str(caught.value)
        assert caught.value.format == "blit"


def test_the_options_are_those_that_writing_names():
    with pytest.raises(errors.UsageError) as caught:
        blit.encode(1, zzz=1)
    listed = str(caught.value).rpartition("there are ")[2].split(", ")
    assert listed == list(blit.Writing.__annotations__)


def test_signaling_nans_are_refused_in_plain_words():
    with pytest.raises(errors.EncodeError, match="signaling") as caught:
        blit.encode([{"a": Decimal("sNaN")}])
    assert caught.value.path == "$[0].a"
    for quiet in ("NaN", "-NaN", "Infinity"):
        found = blit.view(blit.encode(Decimal(quiet))).to_python()
        assert repr(found) == repr(abs(float(quiet)) if "N" in quiet else float(quiet))


COLUMNS: list[tuple[str | blit.Path | list[str], Callable[[dict[str, Any]], Any]]] = [
    ("/a/0", lambda row: row["a"][0]),
    ("/a/1", lambda row: row["a"][1]),
    ("/a/2/q", lambda row: row["a"][2]["q"]),
    (["a", "2", "q"], lambda row: row["a"][2]["q"]),
    (blit.Path("/b/2"), lambda row: row["b"][2]),
    ("/c/1", lambda row: row["c"][1] if len(row["c"]) > 1 else None),
    ("/d/0/0", lambda row: row["d"][0][0]),
]


@pytest.mark.parametrize("n", [1, 5, 20, 66_000])
@pytest.mark.parametrize("layout", ["columns", "rows"])
def test_columns_lead_through_arrays(n: int, layout: str):
    rows = [
        {"a": [i, "x", {"q": i / 2}], "b": [1, 2, i], "c": [i] * (i % 3 + (n == 1) * 2), "d": [[i]]}
        for i in range(n)
    ]
    view = blit.view(blit.encode(rows, layout=layout))
    for path, of in COLUMNS if n < 65_536 else scaled(COLUMNS[2:6:3], COLUMNS):
        assert view.column(path).to_list() == [of(row) for row in rows]
    arrays = blit.view(blit.encode([row["a"] for row in rows], layout=layout))
    assert arrays.column("/0").to_numpy().tolist() == list(range(n))
    assert arrays.column("/2/q").to_arrow().to_pylist() == [i / 2 for i in range(n)]
    for path in ("/a/3", "/a/00", "/a/-", "/a/0/0", "/b/x", "/a/99999999999999999999"):
        with pytest.raises(errors.UsageError, match="no element has"):
            view.column(path)


def test_tuples_lie_in_columns_that_are_not_copied():
    view = blit.view(blit.encode([[i / 7, f"{i}"] for i in range(100)]))
    assert view.kind == "TUPLES"
    assert view.column("/0").kinds == ["FLOAT"]
    assert view.column("/0").to_numpy(copy=False)[3] == 3 / 7


@pytest.mark.parametrize("path", [None, 0, [1], b"a", Path("/a"), ("a", None), 1.5])
def test_what_names_no_column_is_refused_in_plain_words(path: Any):
    view = blit.view(blit.encode([{"a": 1, "0": 2, "None": 3}]))
    with pytest.raises(
        errors.UsageError, match="a column is a name, a JSON pointer or a list of names, not "
    ):
        view.column(path)


def test_names_with_halves_of_pairs_are_columns():
    view = blit.view(blit.encode([{"\ud83d": 1}, {"\ud83d": 2}], surrogates="keep"))
    assert view.column("\ud83d").to_list() == view.column("/\ud83d").to_list() == [1, 2]
    with pytest.raises(errors.UsageError):
        view.column("\ude00")
