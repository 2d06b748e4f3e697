"""The codecs of a run: what is read alone of a table, what a grain decides, and what is read by copying."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather

import tare
from tare.codec import Codec
from tare.measure.settings import Settings
from tare.measure.stages.measurement import column_read
from tare.measure.stages.standings import Uses
from tare.measure.verdict.cost_model import PROFILES, Costed, Profile, cost, timed_share

GB = 1e9


def seat_of(codec: Codec, *, write_ms: float, read_ms: float, size: int) -> Any:
    """A seat with one sample of each operation, from a round."""
    times = {"encode": write_ms, "decode": read_ms}
    samples = {name: {"wall_ns": [round(ms * 1e6)], "batch": [1], "round": [1]} for name, ms in times.items()}
    case = {"status": "ok", "bytes": size}
    return SimpleNamespace(
        codec=codec,
        operations=("encode", "decode"),
        samples=samples,
        case=case,
        medium="memory",
        session=SimpleNamespace(pace_ns=None),
    )


def uses_of(*codecs: Codec) -> Uses:
    record = {"codecs": {str(codec): {"flags": codec.flags()} for codec in codecs}}
    return Uses(cast(Any, SimpleNamespace(record=record, settings=Settings())))


def test_lines_decide_messages_and_files_all_else() -> None:
    """One call a line is no file, and a file of short lines is no message."""
    codec = Codec.parse("json:orjson")
    uses, seat = uses_of(codec), seat_of(codec, write_ms=1, read_ms=1, size=1000)
    messages, files = uses.costs(seat, messages=True), uses.costs(seat, messages=False)
    assert [math.isfinite(one) for one in messages] == [name == "message" for name in PROFILES]
    assert [min(costs) for costs in zip(messages, files, strict=True)] == uses.costs(seat)


def test_the_column_that_is_read_alone_has_a_name_of_its_own() -> None:
    """Arrow finds none by a name that several have."""

    def of(*names: str) -> str:
        table = pa.table([pa.array([1])] * len(names), names=list(names))
        return column_read(cast(Any, SimpleNamespace(dataset=SimpleNamespace(kind="table", value=table))))

    assert of("a", "b", "c") == "column:b"
    assert of("a", "x", "x") == "column:a"
    assert of("x", "x", "c") == "column:c"
    assert of("x", "x") == of() == ""


def test_a_repeated_name_costs_no_codec(tmp_path: Path) -> None:
    (tmp_path / "a|b.csv").write_text("a,x,x\n" + "1,2,3\n" * 2000)
    record = tare.measure(tmp_path / "a|b.csv", codecs=["arrow:pyarrow", "parquet:pyarrow"], time=5).record
    status = {case["labels"]["codec"]: case["status"] for case in record["cases"]}
    assert status["arrow:pyarrow"] == status["parquet:pyarrow"] == "ok"
    assert record["dataset"]["name"] == "a|b.csv"


# --- reading that is a copy of the bytes --------------------------------------------------------------


def test_a_copy_of_the_bytes_is_made_once() -> None:
    """Reading 100 MB of a file at 10 GB/s is the copy that decoding them makes in 8 ms: 10 ms, not 18."""
    draws = np.ones(4)
    one = Costed("a", "a", 100e6, 1.0, 8e-3, draws, 8e-3 * draws)
    use = Profile("p", "", "file", writes=0, reads=5, bytes_per_s=10 * GB)
    assert cost(one, use)[0] == pytest.approx(5 * 18e-3)
    one.copied = True
    point, drawn = cost(one, use)
    assert point == pytest.approx(5 * 10e-3) == pytest.approx(float(drawn[0]))
    assert timed_share(one, use) == 0.0, "none of it was timed"
    slow = Costed("a", "a", 100e6, 1.0, 12e-3, draws, 12e-3 * draws, copied=True)
    assert cost(slow, use)[0] == pytest.approx(5 * 12e-3)
    assert timed_share(slow, use) == 1.0


def test_what_may_be_the_best_is_told_by_the_same_rule() -> None:
    arrow, lz4 = Codec.parse("arrow:pyarrow"), Codec.parse("arrow:pyarrow,compression=lz4")
    uses = uses_of(arrow, lz4)
    cache = list(PROFILES).index("cache")
    # 1 GB/s is taken where the rate of files is not known.
    for codec, taken_s in ((arrow, 0.1), (lz4, 0.18)):
        costs = uses.costs(seat_of(codec, write_ms=0, read_ms=80, size=100_000_000))
        assert costs[cache] == pytest.approx(10 * taken_s + 0.1)


def test_only_what_does_not_decompress_is_a_copy() -> None:
    """A compressor around it has other work, as has one within it."""
    assert Codec.parse("arrow:pyarrow").flags()["copies"]
    for id in ("arrow:pyarrow,compression=lz4", "arrow:pyarrow+zstd:3", "parquet:pyarrow", "json:orjson"):
        assert not Codec.parse(id).flags()["copies"]


@pytest.mark.parametrize("compression", ["uncompressed", "lz4"])
def test_a_trusted_arrow_file_is_read_where_it_stays(compression: str, tmp_path: Path) -> None:
    """The table is a value of its own: the file may go."""
    table = pa.table({"n": pa.array(range(1000)), "t": [f"x{n}" for n in range(1000)]})
    feather.write_feather(table, tmp_path / "a.arrow", compression=cast(Any, compression))
    codec = "arrow:pyarrow" if compression == "uncompressed" else f"arrow:pyarrow,compression={compression}"
    found = tare.read(tmp_path / "a.arrow", codec=codec, trust=True)
    (tmp_path / "a.arrow").write_bytes(b"\0" * 100)
    assert found == table
    (tmp_path / "b.arrow").write_bytes(b"ARROW1\0\0" + b"\xff" * 100)
    with pytest.raises(tare.errors.DecodeError, match=r"b\.arrow"):
        tare.read(tmp_path / "b.arrow", codec=codec, trust=True)


def test_compressed_columns_are_read_from_bytes_as_they_are() -> None:
    """Noise does not get smaller and lies in the bytes, which nobody can change; a bytearray is copied."""
    noise = np.random.default_rng(1).integers(0, 2**62, 5000)
    table = pa.table({"n": noise})
    codec = Codec.parse("arrow:pyarrow,compression=lz4")
    data = codec.encode(table)
    assert codec.decode(data) == table
    changing = bytearray(data)
    back = codec.decode(changing)
    changing[:] = b"\0" * len(changing)
    assert back == table
