"""Constants, texts and moments of Arrow as its own functions give them, without what these import."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare import bare_arrays

ZONES = ["UTC", "America/New_York", "Asia/Kolkata", "+05:45", "Africa/Monrovia"]


def test_constants_are_those_of_arrow() -> None:
    assert bare_arrays.false().equals(pa.scalar(False))
    assert bare_arrays.true().equals(pa.scalar(True))
    for kind in (pa.string(), pa.large_string()):
        assert bare_arrays.empty_text(kind).equals(pa.scalar("", kind))
        assert bare_arrays.null(kind).equals(pa.scalar(None, kind))


@given(values=st.lists(st.one_of(st.none(), st.text(max_size=5)), max_size=20))
def test_texts_are_those_of_arrow(values: list[str | None]) -> None:
    made = bare_arrays.texts(values)
    made.validate(full=True)
    assert made.equals(pa.array(values, pa.string()))


def test_half_of_a_surrogate_pair_is_no_text() -> None:
    with pytest.raises(UnicodeEncodeError):
        bare_arrays.texts(["\ud800"])


@given(
    values=st.lists(st.one_of(st.none(), st.datetimes(dt.datetime(1880, 1, 1), dt.datetime(2300, 1, 1))), max_size=9),
    unit=st.sampled_from(["s", "ms", "us"]),
    zone=st.sampled_from(ZONES),
)  # fmt: skip
def test_moments_are_those_of_arrow(values: list[dt.datetime | None], unit: str, zone: str) -> None:
    array = pa.array(values, pa.timestamp("us")).cast(pa.timestamp(unit), safe=False).cast(pa.int64())
    array = array.cast(pa.timestamp(unit, zone))
    for whole in (array, pa.chunked_array([array.slice(1), array])):
        expected = whole.to_pylist()
        found = bare_arrays.python_values(whole)
        assert found == expected
        assert [one and one.isoformat() for one in found] == [one and one.isoformat() for one in expected]


@pytest.mark.parametrize("to", ["csv", "ndjson", "json", "parquet", "arrow", "orc"])
def test_converting_a_table_imports_no_pandas(tmp_path: Path, to: str) -> None:
    """It takes a third of the time of a short command."""
    (tmp_path / "x.csv").write_text("n,x,t,d\n1,0.5,a,2013-01-01T05:00:00Z\n2,,b,2013-01-01T06:00:00Z\n")
    code = (
        "import sys, tare\n"
        "tare.convert(sys.argv[1], sys.argv[2])\n"
        "tare.convert(sys.argv[2], sys.argv[3])\n"
        "assert 'pandas' not in sys.modules"
    )
    files = [str(tmp_path / name) for name in ("x.csv", f"y.{to}", "z.ndjson.zst")]
    subprocess.run([sys.executable, "-c", code, *files], check=True)
