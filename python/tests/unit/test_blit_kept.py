"""What encoding keeps from one document to the next: names that come again, and no more than a little."""

from __future__ import annotations

import tracemalloc

from tare import blit


def test_long_names_of_others_are_let_go() -> None:
    """Each document has a new object for a name of 100 kB: none of them is there afterwards."""
    blit.encode({"a": 1})
    tracemalloc.start()
    for _ in range(50):
        blit.encode({"".join(["k"] * 100_000): 1, "short": 2})
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert size < 300_000
