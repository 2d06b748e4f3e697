"""Nullable columns of pandas: its own readers must find them in what is written from a frame."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.capabilities import need_module

import tare

pd = need_module("pandas")

FRAME = {"i": ("Int64", [2**53 + 1, None]), "b": ("boolean", [True, None]), "x": ("float64", [0.5, 1.5])}


@pytest.mark.parametrize("index", [None, ["k", "l"]])
@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_pandas_reads_them_as_they_were(tmp_path: Path, ending: str, index: list[str] | None) -> None:
    """Whole numbers with nulls are no floats, with a counting index and with a real one."""
    frame = pd.DataFrame({name: pd.array(values, dtype=dtype) for name, (dtype, values) in FRAME.items()})
    if index is not None:
        frame.index = pd.Index(index)
    path = tmp_path / f"w.{ending}"
    tare.write(frame, path)
    found = (pd.read_parquet if ending == "parquet" else pd.read_feather)(path)
    assert ["Int64", "boolean", "float64"] == [str(dtype) for dtype in found.dtypes]
    assert 2**53 + 1 == found["i"].iloc[0]
    assert list(frame.index) == list(found.index)
    pd.testing.assert_frame_equal(frame, found, check_index_type=False)
