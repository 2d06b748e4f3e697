"""Types that few files have, converted: what is written is read by other libraries, and what is refused is named."""

from __future__ import annotations

import csv
import datetime as dt
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc
from support.capabilities import need_codec

import tare
from tare.errors import EncodeError, Limit, Unsupported
from tare.fidelity.column_casts import cast_differences

ONE = uuid.UUID(int=2**100 + 7)
EXTENSIONS: dict[str, tuple[Any, list[str]]] = {
    "uuid": (pa.array([ONE.bytes, None], pa.uuid()), [str(ONE), ""]),
    "json": (pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a": [1, "x"]}', None])), ['{"a": [1, "x"]}', ""]),
    "truths of a byte": (pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, None], pa.int8())), ["true", ""]),
    "opaque": (pa.ExtensionArray.from_storage(pa.opaque(pa.int8(), "x", "y"), pa.array([7, None], pa.int8())), ["7", ""]),
}  # fmt: skip


@pytest.mark.parametrize("name", EXTENSIONS)
def test_types_that_extend_another_go_into_csv(name: str, tmp_path: Path) -> None:
    column, wanted = EXTENSIONS[name]
    table = pa.table({"id": [1, 2], "c": column})
    done = tare.convert(table, tmp_path / "x.csv")
    with (tmp_path / "x.csv").open(newline="") as file:
        assert [row["c"] for row in csv.DictReader(file)] == wanted
    assert done.verified
    assert [change["verdict"] for change in done.changes if change["path"] == "c"] == ["type"]


def test_moments_of_orc_beyond_nanoseconds_are_no_damage(tmp_path: Path) -> None:
    """Spark writes 9999-12-31; Arrow's reader has nanoseconds alone."""
    source = tmp_path / "x.orc"
    moments = pa.array([dt.datetime(9999, 12, 31), dt.datetime(2024, 1, 1)], pa.timestamp("us"))
    orc.write_table(pa.table({"t": moments, "v": [1, 2]}), source)
    with pytest.raises(Unsupported, match=r"beyond the years 1677 to 2262.*--columns"):
        tare.convert(source, tmp_path / "x.csv")
    tare.convert(source, tmp_path / "x.csv", columns=["v"])
    assert (tmp_path / "x.csv").read_text().split() == ['"v"', "1", "2"]


@pytest.mark.parametrize("nested", [False, True])
def test_a_zone_that_is_not_known_is_named(nested: bool, tmp_path: Path) -> None:
    moments: Any = pa.array([0, None], pa.timestamp("s", "Mars/Base"))
    if nested:
        moments = pa.StructArray.from_arrays([moments], ["t"])
    with pytest.raises(
        Unsupported, match="invalid time zone 'Mars/Base': expected a name that is known here"
    ):
        tare.convert(pa.table({"c": moments}), tmp_path / "x.ndjson")


@pytest.mark.parametrize("name", ["json", "ndjson", "yaml", "msgpack"])
def test_an_offset_that_is_none_is_no_year_that_is_too_far(name: str, tmp_path: Path) -> None:
    for zone in ("+99:99", "+0530", "+24:00"):
        table = pa.table({"c": pa.array([None, 0], pa.timestamp("s", zone))})
        with pytest.raises(Unsupported, match=f"column 'c', row 2: invalid time zone '[+]{zone[1:]}'"):
            tare.convert(table, tmp_path / f"x.{name}")


BEFORE_1937 = pa.array([-2_000_000_000, None, 1_000_000_000], pa.timestamp("s", "Europe/Amsterdam"))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.json", '"1906-08-16T20:46:12+00:19:32"'),
        ("x.ndjson", '"1906-08-16T20:46:12+00:19:32"'),
        ("x.csv", "1906-08-16 20:26:40"),
        ("x.yaml", "1906-08-16 20:26:40+00:00"),
        ("x.msgpack", "1906-08-16T20:46:12+00:19:32"),
    ],
)
def test_moments_whose_offset_has_seconds_are_kept(unit: str, name: str, text: str, tmp_path: Path) -> None:
    """As those before 1937 in Amsterdam: by the text that has them, in UTC where none has."""
    table = pa.table({"t": BEFORE_1937.cast(pa.timestamp(unit, BEFORE_1937.type.tz))})
    done = tare.convert(table, tmp_path / name)
    assert done.verified
    assert {"type"} == {change["verdict"] for change in done.changes}
    if unit != "ns" or name == "x.csv":
        assert text in (tmp_path / name).read_bytes().decode("latin1")
    assert not [note for note in done.notes if "reads" in note]


@pytest.mark.parametrize("codec", ["json:stdlib,default=text", "yaml:ruamel,default=text", "msgpack"])
def test_a_value_whose_offset_has_seconds_is_kept_or_refused(codec: str, tmp_path: Path) -> None:
    """Its text has them; that YAML has no such text is told."""
    moment = dt.datetime(1930, 1, 1, tzinfo=dt.timezone(dt.timedelta(minutes=19, seconds=32)))
    if codec.startswith("yaml"):
        with pytest.raises(
            EncodeError, match=r"'a' would change: .* comes back as datetime.datetime\(1929, 12, 31"
        ):
            tare.convert({"a": moment}, tmp_path / "x", codec=codec)
        return
    tare.convert({"a": moment}, tmp_path / "x", codec=codec)
    assert b"1930-01-01T00:00:00+00:19:32" in (tmp_path / "x").read_bytes()


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_nanoseconds_before_1970_are_no_difference(zone: str | None, tmp_path: Path) -> None:
    """Python's csv is compared in microseconds: rounded down, as its texts are."""
    table = pa.table({"v": [1, 2, 3], "t": pa.array([-1, 1_999, None], pa.timestamp("ns", zone))})
    done = tare.convert(table, tmp_path / "x.csv")
    assert done.second["result"]["reader"] == "Python's csv"
    assert not [note for note in done.notes if "Python's csv" in note]


@pytest.mark.parametrize("verify", [True, False])
def test_two_columns_of_one_name_are_no_record(verify: bool, tmp_path: Path) -> None:
    """Rows of dicts would have the last column twice."""
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(Unsupported, match="two columns are named 'a'"):
        tare.convert(table, tmp_path / "x.avro", verify=verify)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("verify", [True, False])
def test_names_that_avro_does_not_allow_are_told(verify: bool, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("id,a.b,unit price\n1,2,3\n")
    done = tare.convert(tmp_path / "x.csv", tmp_path / "x.avro", verify=verify)
    (note,) = [note for note in done.notes if "Avro does not allow" in note]
    assert note.endswith("'a.b', 'unit price'")
    (tmp_path / "x.csv").write_text("id,a_b,Unit2\n1,2,3\n")
    done = tare.convert(tmp_path / "x.csv", tmp_path / "x.avro", verify=verify)
    assert not [note for note in done.notes if "Avro does not allow" in note]


def test_what_is_nested_too_deeply_to_be_written_names_the_file(tmp_path: Path) -> None:
    """R's lists are read to any depth; JSON is not written so."""
    (tmp_path / "x.R").write_text("list(" * 2500 + "1" + ")" * 2500)
    with pytest.raises(
        Limit, match=r"^x\.R: .*nested too deeply.*Nothing was written\. Choose another --codec"
    ):
        tare.convert(tmp_path / "x.R", tmp_path / "x.json", format="dput")


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("within", [lambda column: column, lambda column: column.dictionary_encode()])
@pytest.mark.parametrize(
    ("kind", "days"),
    [(pa.date32(), 1), (pa.date64(), 86_400_000), (pa.timestamp("s"), 86_400), (pa.timestamp("us", "UTC"), 86_400_000_000)],
)  # fmt: skip
def test_days_of_no_four_digits_are_text_or_refused(
    kind: Any, days: int, within: Any, verify: bool, tmp_path: Path
) -> None:
    """Arrow's text of those beyond the year 32,767 is no date: `<value out of range: 2147483647>`."""
    numbers = pa.int32() if pa.types.is_date32(kind) else pa.int64()
    column = within(pa.array([0, None, 2_932_897 * days, -800_000 * days], numbers).cast(kind))
    done = tare.convert(pa.table({"c": column}), tmp_path / "x.csv", verify=verify)
    assert done.rows == 4
    texts = [line.strip('"') for line in (tmp_path / "x.csv").read_text().splitlines()[1:]]
    starts = ["1970-01-01", "", "10000-01-01", "-0221-09-04"]
    assert [text[: len(start)] for text, start in zip(texts, starts, strict=True)] == starts
    far = within(pa.array([0, None, 100_000_000 * days], numbers).cast(kind))
    with pytest.raises(Unsupported, match=r"column 'c', row 3: .*beyond the years -32,767 to 32,767"):
        tare.convert(pa.table({"c": far}), tmp_path / "x.csv", verify=verify)


@pytest.mark.parametrize("target", ["json", "ndjson", "yaml", "avro", "cbor"])
def test_dates_beyond_those_of_python_are_refused_with_what_holds_them(target: str, tmp_path: Path) -> None:
    """Rather than texts of years that a reader of these formats takes for no date."""
    need_codec(target)
    table = pa.table({"c": pa.array([None, 2_932_897], pa.date32())})
    with pytest.raises(
        Unsupported, match=r"column 'c', row 2: .*years 1 to 9999.*Parquet and Arrow hold it, and CSV"
    ):
        tare.convert(table, tmp_path / f"x.{target}")
    for able in ("parquet", "arrow", "csv"):
        tare.convert(table, tmp_path / f"x.{able}")


def test_an_offset_that_lost_its_seconds_is_another_moment() -> None:
    """Though it is the text that Arrow writes."""
    column = pa.array([-2_000_000_000], pa.timestamp("s", "Europe/Amsterdam"))
    assert cast_differences(column, pa.array(["1906-08-16 20:46:12+0019"])).value is not None
    assert cast_differences(column, pa.array(["1906-08-16 20:46:12+00:19:32"])).value is None
    assert cast_differences(column, pa.array(["1906-08-16 20:46:12+00:19:33"])).value is not None
