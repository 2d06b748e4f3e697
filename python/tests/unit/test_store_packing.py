"""What the compressor `auto` makes of values: looked at is what is long in them, whatever comes first."""

from __future__ import annotations

import numpy as np
import pytest

from tare import open_store

# As R's runif makes doubles: 32 bits of each are random, so that a third of the bytes can go.
WORDS = np.random.default_rng(1).integers(0, 1 << 32, 1_000_000, dtype=np.uint32)


@pytest.mark.parametrize("count", [10_000, 100_000, 1_000_000])
def test_an_array_is_compressed_as_its_bytes_are(count):
    """The header of an array does not decide about its numbers."""
    store = open_store("memory:", compressor="auto")
    values = WORDS[:count] * 2.0**-32
    store.set("array", values)
    store.set("bytes", values.tobytes())
    found = store._stat_objects([store.get_hash("array"), store.get_hash("bytes")])
    for plain, stored, compressor, _ in found:
        assert compressor == "zstd"
        assert stored < 0.7 * plain
    assert (store.get("array") == values).all()
