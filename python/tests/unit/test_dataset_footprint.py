"""Bytes in memory: exact for ordinary documents, close for those with very long lists."""

from __future__ import annotations

import pytest

from tare import kinds
from tare.dataset import Dataset
from tare.datasets.footprint import document_bytes


@pytest.mark.parametrize(
    "value", [None, "x", [1, [2.5, "x"]], {"a": [{"b": 1}] * 5, "c": None}, list(range(1000))]
)
def test_ordinary_documents_are_counted(value):
    """No list is long: the count is that of every object."""
    assert kinds.resident_bytes(value) == document_bytes(value)


@pytest.mark.parametrize(
    "wrap", [lambda rows: rows, lambda rows: {"meta": 1, "rows": rows}, lambda rows: [{"x": {"rows": rows}}]]
)
def test_long_lists_are_estimated(wrap):
    """Within a tenth of the count, wherever the list stands."""
    value = wrap([{"id": k, "name": f"n{k}", "x": k / 7} for k in range(50_000)])
    assert abs(document_bytes(value) / kinds.resident_bytes(value) - 1) < 0.1
    assert document_bytes(value) == Dataset(value, name="x").bytes_memory
