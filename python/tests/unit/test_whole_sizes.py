"""Sizes of the whole, where only a part was measured."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tare
from tare import measure
from tare.codec import Codec
from tare.measure.stages import whole_sizes


def seat(id: str, size: int, encode_ns: float, status: str = "ok") -> Any:
    columns = {"round": [0], "wall_ns": [encode_ns], "batch": [1]}
    return _Seat(
        codec=Codec.parse(id),
        case={"bytes": size, "status": status},
        part=SimpleNamespace(share=0.25, kind="table"),
        samples={"encode": columns, "decode": columns},
        operations=("encode", "decode"),
    )


class _Seat(SimpleNamespace):
    __hash__ = object.__hash__
    __eq__ = object.__eq__


def test_the_recommended_codec_is_written_first_and_then_one_of_each_writer():
    """Of a writer the quickest codec that may be the smallest; what is far larger is written if it is named."""
    best = seat("parquet:polars,compression=lz4", 130, 1e6)
    dear, quick = (
        seat("parquet:duckdb,compression=zstd", 100, 9e6),
        seat("parquet:duckdb,compression=zstd,level=9", 101, 2e6),
    )
    other, far = seat("parquet:polars", 110, 1e6), seat("arrow:pyarrow", 900, 1e5)
    lossy = seat("csv:pyarrow+zstd:3", 10, 1e6, "lossy")
    found = whole_sizes.in_order([far, dear, other, quick, lossy, best], [str(best.codec), str(far.codec)])
    assert found == [best, quick, far, other, dear]


def test_codecs_of_one_writer_are_mistaken_alike():
    """Three quarters of what was predicted: so are its siblings; others are left as they are, and what is known stays."""
    known, like = seat("parquet:polars", 100, 1e6), seat("parquet:polars,compression=lz4", 200, 1e6)
    other = seat("parquet:duckdb,compression=zstd", 100, 1e6)
    known.case["whole_bytes"] = 300
    whole_sizes.correct([known, like, other], [known])
    assert like.case["whole_factor"] == pytest.approx(0.75)
    assert "whole_factor" not in other.case
    assert "whole_factor" not in known.case


def test_sizes_of_a_part_are_those_of_the_whole():
    """A column whose dictionary outgrows its limit: twelve per cent off by the part, exact where it was written."""
    random = np.random.RandomState(1)
    table = pa.table(
        {
            "ride": np.sort(random.randint(0, 1 << 40, 400_000)),
            "fare": random.randint(0, 200_000, 400_000) / 100,
        }
    )
    codec = "parquet:pyarrow,compression=zstd,level=3"
    result = measure.run(table, share=0.2, time_s=120, codecs=(codec,))
    (case,) = (one for one in result.cases if one["labels"]["codec"] == codec and "twin" not in one["labels"])
    true = len(tare.encode(table, codec))
    assert case["labels"]["size"] == "0.2"
    assert abs(case["bytes"] / 0.2 / true - 1) > 0.05, "the part is no guide to it"
    assert case["whole_bytes"] == pytest.approx(true, rel=1e-5)
    figure = result.recommend("keep").detail["figures"][codec]["bytes"]
    assert figure == pytest.approx(case["whole_bytes"], rel=1e-5)  # figures have six digits


def test_a_part_that_was_opened_stands_for_the_whole_by_its_share():
    """Of half a file a quarter was measured: 100 B stand for 800 B; written whole it came to 300 B of half a file."""
    known, like = seat("parquet:polars", 100, 1e6), seat("parquet:polars,compression=lz4", 200, 1e6)
    known.case["whole_bytes"] = 600
    whole_sizes.correct([known, like], [known], 0.5)
    assert like.case["whole_factor"] == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("kind", "byte_s", "seconds"), [("table", 0.0, 1.2), ("document", 0.0, 8.0), ("document", 1e-8, 3.4)]
)
def test_documents_take_as_long_to_load_as_their_part_did(kind, byte_s, seconds):
    """A quarter of them took a second: the whole is saved and loaded in eight; or by what the base takes for a byte."""
    session: Any = SimpleNamespace(
        start_s=1.0, byte_s=byte_s, dataset=SimpleNamespace(bytes_memory=200_000_000)
    )
    one = seat("json:orjson", 100, 1e6)
    one.part.kind = kind
    assert whole_sizes._ready_s(session, one) == pytest.approx(seconds)
