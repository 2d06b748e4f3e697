"""Moments that a library writes as text are compared all at once, whatever digits it writes."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tare.fidelity import column_casts, compare


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
@pytest.mark.parametrize(
    "text", ["2023-11-14T22:13:40.000+0000", "2023-11-14T22:13:40.000Z", "2023-11-14T22:13:40Z"]
)
def test_no_value_is_looked_at_alone(unit: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Polars writes thousandths of moments in seconds: 900,000 of them took longer than a run."""

    def refuse(*_: object) -> None:
        raise AssertionError("one value after the other")

    monkeypatch.setattr(column_casts, "_by_value", refuse)
    moments = pa.array([1700000020] * 3, pa.timestamp("s", "UTC")).cast(pa.timestamp(unit, "UTC"))
    found = compare(pa.table({"t": moments}), pa.table({"t": [text] * 3}), kind="table")
    assert found.verdict == "type"
    other = pa.table({"t": [text, text, text.replace(":40", ":41")]})
    assert compare(pa.table({"t": moments}), other, kind="table").verdict == "lossy"
