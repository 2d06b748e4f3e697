"""NDJSON read by Polars: the columns stand in the order of the first line, however many they are."""

from __future__ import annotations

import polars as pl

from tare.codec import Codec

BY_POLARS = Codec.parse("ndjson:polars")


def test_many_columns_come_back_in_order() -> None:
    """Polars by itself gives two hundred in any order."""
    frame = pl.DataFrame({f"c{number}": [number, None, 2] for number in range(200)})
    assert frame.columns == BY_POLARS.decode(BY_POLARS.encode(frame)).columns


def test_names_that_later_lines_add_come_behind_those_of_the_first() -> None:
    """Blank lines before it are passed over; a first line that is no object changes nothing."""
    assert ["b", "c", "a"] == BY_POLARS.decode(b'\n \n{"b": 1, "c": 2}\n{"a": 2, "b": 3}\n').columns
    assert ["v"] == BY_POLARS.decode(b'{"v": 1}\n{"v": 2}\n').columns
