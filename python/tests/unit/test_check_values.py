"""What foreign bytes say of offsets and texts is looked at on all cores, and what is wrong is said of the column."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from tare.formats.columnar import check_values

ROWS = 300_000


@pytest.fixture(params=[1, 2], autouse=True)
def threads(request: pytest.FixtureRequest) -> Iterator[None]:
    before = pa.cpu_count()
    pa.set_cpu_count(request.param)
    yield
    pa.set_cpu_count(before)


def with_text(text: bytes) -> pa.Table:
    """A table of more than 4 MB, whose last text but one is this."""
    offsets = np.arange(ROWS + 1, dtype=np.int32) * len(text)
    data = b"x" * len(text) * (ROWS - 2) + text + b"y" * len(text)
    texts = pa.StringArray.from_buffers(ROWS, pa.py_buffer(offsets), pa.py_buffer(data))
    return pa.table({"n": np.arange(ROWS), "f": np.arange(ROWS) / 3, "t": texts, "m": np.arange(ROWS)})


def test_valid_values_pass() -> None:
    check_values(with_text(b"abcd"))


def test_bytes_that_are_no_text_are_found() -> None:
    with pytest.raises(pa.ArrowInvalid, match=r"Column 2.*UTF8"):
        check_values(with_text(b"a\xff\xffd"))


def test_offsets_that_lead_out_are_found() -> None:
    offsets = np.arange(ROWS + 1, dtype=np.int32)
    offsets[ROWS // 2] = 2**30
    texts = pa.StringArray.from_buffers(ROWS, pa.py_buffer(offsets), pa.py_buffer(b"x" * ROWS))
    with pytest.raises(pa.ArrowInvalid, match="Column 1"):
        check_values(pa.table({"n": np.arange(ROWS), "t": texts, "m": np.arange(ROWS)}))
