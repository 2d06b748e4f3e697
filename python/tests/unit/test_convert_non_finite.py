"""NaN and infinities into JSON: refused as a loss at any size, whether or not the result is read back."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import tare
from tare.codec import Codec
from tare.converting.non_finite import NonFinite
from tare.errors import EncodeError

NAN, INF = math.nan, math.inf


@pytest.fixture(params=["read back", "not read back", "unverified", "streamed"])
def verify(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool | None:
    """One of the ways that data of several sizes go."""
    if request.param != "read back":
        monkeypatch.setattr("tare.io.VERIFY_BYTES", 1)
    if request.param == "streamed":
        monkeypatch.setattr("tare.io.STREAM_BYTES", 1)
    return False if request.param == "unverified" else None


@pytest.mark.parametrize("to", ["json", "ndjson"])
def test_a_table_is_refused_unless_loss_is_allowed(tmp_path: Path, to: str, verify: bool | None) -> None:
    table = pa.table({"n": [1, 2, 3], "x": [0.5, -INF, NAN], "l": [[{"y": 1.5}], None, [{"y": NAN}]]})
    parquet.write_table(table, tmp_path / "x.parquet")
    out = tmp_path / f"x.{to}"
    with pytest.raises(
        EncodeError, match=r"'x' would change: -(inf|Infinity) .* \(first in row 2\), and 1 more"
    ):
        tare.convert(tmp_path / "x.parquet", out, verify=verify)
    assert not out.exists()
    done = tare.convert(tmp_path / "x.parquet", out, verify=verify, allow_loss=True)
    told = [(one["path"], one["verdict"], one["count"]) for one in done.changes if one["verdict"] == "lossy"]
    assert ("x", "lossy", 2) in told
    assert len(told) == 2


@pytest.mark.parametrize("name", ["x.ndjson", "x.json"])
def test_lines_with_such_words_are_refused_unless_loss_is_allowed(
    tmp_path: Path, name: str, verify: bool | None
) -> None:
    text = '{"a": 1.5}\n{"a": NaN}\n{"a": Infinity}\n'
    (tmp_path / name).write_text(text if name == "x.ndjson" else f"[{','.join(text.split(chr(10))[:-1])}]")
    out = tmp_path / ("y.json" if name == "x.ndjson" else "y.ndjson")
    with pytest.raises(EncodeError, match=r"a' would change: (nan|NaN) "):
        tare.convert(tmp_path / name, out, verify=verify)
    assert not out.exists()


def test_formats_that_have_them_take_them(tmp_path: Path, verify: bool | None) -> None:
    parquet.write_table(pa.table({"x": [NAN, INF]}), tmp_path / "x.parquet")
    for to in ("csv", "arrow", "msgpack"):
        tare.convert(tmp_path / "x.parquet", tmp_path / f"x.{to}", verify=verify)


FLOATS = st.one_of(st.none(), st.sampled_from([NAN, INF, -INF, 0.5]), st.floats(width=32))


@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {
                "x": FLOATS,
                "l": st.one_of(st.none(), st.lists(st.one_of(st.none(), st.fixed_dictionaries({"y": FLOATS})), max_size=3)),
                "m": st.one_of(st.none(), st.lists(st.tuples(st.text(max_size=1), FLOATS), max_size=2)),
            }
        ),
        min_size=1,
        max_size=12,
    ),
    cut=st.integers(0, 12),
)  # fmt: skip
def test_each_is_counted_wherever_it_stands(rows: list[dict[str, Any]], cut: int) -> None:
    schema = pa.schema(
        {
            "x": pa.float32(),
            "l": pa.list_(pa.struct([("y", pa.float64())])),
            "m": pa.map_(pa.string(), pa.float64()),
        }
    )
    table = pa.Table.from_pylist(rows, schema)
    found = NonFinite(Codec.parse("json"), allow_loss=True)
    found.pass_over(table.slice(0, cut))
    for batch in table.slice(cut).to_batches():
        found.pass_over(batch)
    expected: dict[str, list[int]] = {}
    for row, values in enumerate(rows):
        inner = [("x", values["x"])]
        inner += [("l[].y", one["y"]) for one in values["l"] or [] if one is not None]
        inner += [("m[].value", value) for _, value in values["m"] or []]
        for path, value in inner:
            if value is not None and not math.isfinite(value):
                expected.setdefault(path, []).append(row)
    told = {one["path"].replace("m[]", "m[].value"): (one["count"], one["row"]) for one in found.changes}
    assert told == {path: (len(at), at[0]) for path, at in expected.items()}


def test_json_of_the_allowed_has_null(tmp_path: Path, verify: bool | None) -> None:
    parquet.write_table(pa.table({"x": [NAN, 1.5]}), tmp_path / "x.parquet")
    tare.convert(tmp_path / "x.parquet", tmp_path / "x.ndjson", verify=verify, allow_loss=True)
    assert [json.loads(line) for line in (tmp_path / "x.ndjson").read_text().splitlines()] == [
        {"x": None},
        {"x": 1.5},
    ]
