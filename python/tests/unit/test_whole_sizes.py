"""Sizes of the whole, where only a part was measured."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tare
from tare import measure
from tare.codec import Codec
from tare.measure.stages import whole_sizes

WORDS = "amber basil cedar dill elder fennel ginger hazel iris juniper".split()  # noqa: SIM905


def seat(id: str, size: int, encode_ns: float, status: str = "ok", kind: str = "table") -> Any:
    columns = {"round": [0], "wall_ns": [encode_ns], "batch": [1]}
    return _Seat(
        codec=Codec.parse(id),
        case={"bytes": size, "status": status},
        part=SimpleNamespace(share=0.25, kind=kind),
        samples={"encode": columns, "decode": columns},
        operations=("encode", "decode"),
        worker=None,
        alive=True,
        expected_s=lambda operation: encode_ns / 1e9,
    )


class _Seat(SimpleNamespace):
    __hash__ = object.__hash__
    __eq__ = object.__eq__


def test_the_recommended_codec_is_written_first_and_then_one_of_each_writer():
    """Of a writer the quickest codec that may be the smallest; what is far larger or loses values comes last, unless it is named."""
    best = seat("parquet:polars,compression=lz4", 130, 1e6)
    dear, quick = (
        seat("parquet:duckdb,compression=zstd", 100, 9e6),
        seat("parquet:duckdb,compression=zstd,level=9", 101, 2e6),
    )
    other, far = seat("parquet:polars", 110, 1e6), seat("arrow:pyarrow", 900, 1e5)
    lossy = seat("csv:pyarrow+zstd:3", 10, 1e6, "lossy")
    found = whole_sizes.in_order([far, dear, other, quick, lossy, best], [str(best.codec), str(far.codec)])
    assert found == [best, quick, far, other, dear, lossy]


def test_codecs_of_one_writer_are_mistaken_alike():
    """Three quarters of what was predicted: so are its siblings; others are left as they are, and what is known stays."""
    known, like = seat("parquet:polars", 100, 1e6), seat("parquet:polars,compression=lz4", 200, 1e6)
    other = seat("parquet:duckdb,compression=zstd", 100, 1e6)
    known.case["whole_bytes"] = 300
    whole_sizes.correct([known, like, other], [known])
    assert like.case["whole_factor"] == pytest.approx(0.75)
    assert "whole_factor" not in other.case
    assert "whole_factor" not in known.case


def test_a_compressor_around_the_bytes_is_mistaken_by_itself():
    """That blit with zstd gains from more data says nothing of blit; MessagePack has the same bytes from every library."""
    ids = (
        "blit:tare+zstd:3",
        "blit:tare",
        "msgpack:msgspec+zstd:3",
        "msgpack:ormsgpack+zstd:3",
        "msgpack:ormsgpack",
    )
    pressed, plain, known, like, other = (seat(id, 100, 1e6, kind="document") for id in ids)
    pressed.case["whole_bytes"] = known.case["whole_bytes"] = 340
    whole_sizes.correct([pressed, plain, known, like, other], [pressed, known])
    assert like.case["whole_factor"] == pytest.approx(0.85)
    assert "whole_factor" not in plain.case
    assert "whole_factor" not in other.case


@pytest.mark.parametrize(
    ("left_s", "alive", "share"),
    [
        (10.0, True, 1.0),
        (2.0, True, 0.53),
        (1.45, True, 0.38),
        (1.2, True, 0.0),
        (3.0, False, 0.53),
        (1.0, False, 0.0),
    ],
)
def test_as_much_is_written_as_the_time_allows(left_s, alive, share):
    """A quarter took 0.5 s to write; loading takes 1.2 s, and a process 1 s where none runs. A little more is not worth it."""
    session: Any = SimpleNamespace(
        start_s=1.0, byte_s=0.0, elapsed_s=5.0, dataset=SimpleNamespace(bytes_memory=300_000_000)
    )
    one = seat("parquet:polars", 100, 0.5e9)
    one.worker = SimpleNamespace(alive=alive)
    assert whole_sizes.fitting(session, one, 5.0 + left_s) == share


def test_a_larger_part_tells_the_size_of_long_documents(monkeypatch):
    """A list is one table of blit up to 65,536 items: of a fiftieth, zstd says far too much; of two fifths less than half of that."""
    some = random.Random(8)
    value = [
        {
            "id": number,
            "name": f"{some.choice(WORDS)} {some.choice(WORDS)}",
            "lines": [
                {"sku": f"S{some.randrange(10**5):05}", "n": some.randrange(9)}
                for _ in range(some.randrange(1, 5))
            ],
            "paid": some.random() < 0.8,
        }
        for number in range(90_000)
    ]
    codec = "blit:tare+zstd:3"
    monkeypatch.setattr(whole_sizes, "fitting", lambda *_: 0.4)
    result = measure.run(value, share=0.02, time_s=120, codecs=(codec,), profile="keep")
    (case,) = (one for one in result.cases if one["labels"]["codec"] == codec and "twin" not in one["labels"])
    true = len(tare.encode(value, codec))
    off = case["bytes"] / 0.02 / true - 1
    assert off > 0.15, "the part is no guide to it"
    assert abs(case["whole_bytes"] / true - 1) < off / 2


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
    ("kind", "byte_s", "seconds"), [("table", 0.0, 0.8), ("document", 0.0, 8.0), ("document", 1e-8, 3.0)]
)
def test_documents_take_as_long_to_load_as_their_part_did(kind, byte_s, seconds):
    """A quarter of them took a second: the whole is saved and loaded in eight; or by what the base takes for a byte."""
    session: Any = SimpleNamespace(
        start_s=1.0, byte_s=byte_s, dataset=SimpleNamespace(bytes_memory=200_000_000)
    )
    one = seat("json:orjson", 100, 1e6)
    one.part.kind = kind
    assert whole_sizes._ready_s(session, one) == pytest.approx(seconds)
