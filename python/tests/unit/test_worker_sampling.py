"""Batches, clocks, memory and the touching of values, inside this process."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from support.capabilities import need, need_module

from tare.codec import Codec
from tare.measure.worker import calibration, clocks, peak_memory
from tare.measure.worker.errors import MESSAGE_BYTES, OpError, cut, phase
from tare.measure.worker.materialize import touch


def cells(row: list[int]) -> dict[str, int]:
    return dict(zip(clocks.COLUMNS, row))


def spin(cpu_ns: int) -> None:
    until = time.process_time_ns() + cpu_ns
    while time.process_time_ns() < until:
        pass


def test_a_busy_call_is_cpu_time():
    """30 ms of spinning are 30 ms of CPU, and at least that by the wall."""
    found = cells(clocks.sample(spin, 30_000_000, 1))
    assert 30_000_000 <= found["user_ns"] + found["sys_ns"] <= found["wall_ns"]
    assert found["user_ns"] + found["sys_ns"] < 60_000_000


def test_a_sleeping_call_is_wall_time():
    """CPU stays small."""
    found = cells(clocks.sample(time.sleep, 0.03, 1))
    assert found["wall_ns"] >= 30_000_000
    assert found["user_ns"] + found["sys_ns"] < 15_000_000


class Counted:
    """A result that counts how many of its kind are alive."""

    alive = made = 0

    def __init__(self) -> None:
        type(self).alive += 1
        type(self).made += 1

    def __del__(self) -> None:
        type(self).alive -= 1


def counting(most: list[int]) -> Callable[[Any], Counted]:
    """Makes a call that notes how many results are alive when it begins; counts start anew."""
    Counted.alive = Counted.made = 0

    def call(_: Any) -> Counted:
        most.append(Counted.alive)
        return Counted()

    return call


@pytest.mark.parametrize("batch", [1, 2, 500])
@pytest.mark.parametrize("collect", [True, False])
def test_each_result_is_dropped_before_the_next_call(batch: int, collect: bool) -> None:
    """The last one lives until it was looked at, and not longer: a row has as many freeings as calls."""
    alive: list[int] = []
    seen: list[int] = []

    def look(result: Counted) -> None:
        seen.append(Counted.alive)

    row = clocks.sample(counting(alive), None, batch, collect=collect, look=look)
    assert alive == [0] * batch
    assert (seen, Counted.alive, Counted.made) == ([1], 0, batch)
    assert len(row) == len(clocks.COLUMNS)


def test_calibration_drops_results_too() -> None:
    alive: list[int] = []
    assert calibration.calibrate(counting(alive), None, target_ns=200_000) >= 1
    assert set(alive) == {0}
    assert (Counted.alive, Counted.made) == (0, len(alive))


def test_looking_is_outside_of_the_sample() -> None:
    """Neither its time nor its collections are in the row."""
    row = cells(clocks.sample(str, 1, 3, collect=True, look=lambda _: (spin(30_000_000), gc.collect())))
    assert row["user_ns"] + row["sys_ns"] < 30_000_000


def test_a_batch_makes_so_many_calls():
    """The last result is looked at."""
    made: list[int] = []
    seen: list[int] = []
    clocks.sample(lambda value: made.append(value) or len(made), 7, 5, look=seen.append)
    assert (made, seen) == ([7] * 5, [5])


@pytest.mark.parametrize("was_on", [True, False])
def test_the_collector_is_left_as_it_was(was_on):
    """And is off, or on and counted, during the call."""
    before = gc.isenabled()
    try:
        (gc.enable if was_on else gc.disable)()
        for collect in (False, True):
            during: list[bool] = []
            row = clocks.sample(lambda _: during.append(gc.isenabled()), None, 2, collect=collect)  # noqa: B023
            assert (during, gc.isenabled()) == ([collect] * 2, was_on)
            assert collect or cells(row)["gc_n"] == 0
    finally:
        (gc.enable if before else gc.disable)()
        gc.unfreeze()


def test_collections_are_counted_and_timed():
    """Only those inside the sample."""
    row = cells(clocks.sample(lambda _: gc.collect(), None, 3, collect=True))
    assert row["gc_n"] == 3
    assert row["gc_ns"] > 0


def test_a_failing_call_leaves_no_trace():
    """The callback goes, the collector returns."""
    before = (gc.isenabled(), len(gc.callbacks))
    with pytest.raises(ZeroDivisionError):
        clocks.sample(lambda _: 1 / 0, None, 1, collect=True)
    assert (gc.isenabled(), len(gc.callbacks)) == before


def test_a_traced_process_is_told():
    """A trace function, a profile function and tracemalloc; nothing else here."""
    import tracemalloc

    need(sys.gettrace() is None and sys.getprofile() is None, "the tests themselves are traced")
    need(not clocks.tracer(), f"this process is watched: {clocks.tracer()}")
    sys.setprofile(lambda *_: None)
    found = clocks.tracer()
    sys.setprofile(None)
    assert found == "a profiler is set"
    tracemalloc.start()
    found = clocks.tracer()
    tracemalloc.stop()
    assert found == "tracemalloc is on"
    assert clocks.tracer() == ""


def test_short_calls_are_batched_and_long_ones_are_not():
    """About the target; one call if that is longer."""
    # A stolen CPU makes one calibration short now and then; a wrong one is wrong every time.
    found = [calibration.calibrate(spin, 100_000, target_ns=2_000_000) for _ in range(10)]
    assert any(batch in range(10, 22) for batch in found), found
    assert calibration.calibrate(spin, 5_000_000, target_ns=2_000_000) == 1


def test_batches_are_limited(monkeypatch):
    """A call that takes no time by a coarse clock would never fill a sample."""
    monkeypatch.setattr(calibration, "_MOST_CALLS", 17)
    assert calibration.calibrate(lambda _: None, None, target_ns=10_000_000) == 17


def test_the_last_result_is_looked_at_before_it_is_freed():
    """Each sample proves that something came back; the columns that are added follow."""

    class Looking(calibration.Around):
        def __init__(self) -> None:
            self.log: list[object] = []

        def before(self) -> None:
            self.log.append("before")

        def look(self, result: object) -> None:
            self.log.append(result)

        def extra(self) -> list[int]:
            return [41, 42]

        def after(self) -> None:
            self.log.append("after")

    around = Looking()
    rows = calibration.take(lambda x: x + 1, 1, 3, samples=2, collect=False, budget_ns=None, around=around)
    assert around.log == ["before", 2, "after"] * 2
    assert [len(row) for row in rows] == [len(clocks.COLUMNS) + 2] * 2
    assert [row[-2:] for row in rows] == [[41, 42]] * 2


def test_freeing_is_a_part_of_the_call():
    """What one result costs to free is told apart, and is in the sample's time too."""

    class Slow:
        def __del__(self) -> None:
            spin(5_000_000)

    row = cells(clocks.sample(lambda _: Slow(), None, 3))
    assert row["drop_ns"] >= 5_000_000
    assert row["wall_ns"] >= row["user_ns"] + row["sys_ns"] >= 15_000_000


def test_peak_memory_falls_back_to_a_child(monkeypatch):
    """Where the mark cannot be reset, the method is another and says so."""
    monkeypatch.setattr(peak_memory, "_reset_mark", lambda: False)
    found = peak_memory.peak(lambda: bytearray(b"x") * (64 << 20))
    assert found["method"] == "maxrss of a child"
    assert 48 << 20 < found["peak_bytes"] < 96 << 20


def test_memory_errors_of_the_child_are_ours(monkeypatch):
    """And so is every other failure of the call."""

    def hungry() -> None:
        raise MemoryError

    monkeypatch.setattr(peak_memory, "_reset_mark", lambda: False)
    with pytest.raises(MemoryError):
        peak_memory.peak(hungry)
    with pytest.raises(RuntimeError, match="failed in the child"):
        peak_memory.peak(lambda: 1 / 0)


def test_peak_memory_is_above_the_start():
    """What was there before is not counted; what was freed within the call is."""
    held = bytearray(b"x") * (32 << 20)

    def call() -> int:
        first = bytearray(b"x") * (48 << 20)
        return len(first)

    found = peak_memory.peak(call)
    need(found["method"] == "hwm", "the high-water mark cannot be reset here")
    assert 44 << 20 < found["peak_bytes"] < 64 << 20
    assert found["before_bytes"] > len(held)


@pytest.mark.parametrize(
    ("value", "leaves"),
    [([], 0), ({}, 0), (7, 1), ("text", 1), ([1, [2, (3, {4})], {"a": b"x", "b": None}], 6)],
)
def test_every_leaf_of_a_document_is_touched(value, leaves):
    """Containers are walked, texts and bytes are leaves."""
    assert touch(value) == leaves


def test_deep_documents_are_touched():
    """Deeper than the stack."""
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    assert touch(value) == 0
    while value:  # freeing it at once would overflow the stack
        value = value.pop()  # type: ignore[assignment]


def test_every_cell_of_a_table_is_touched():
    """Arrow, pandas and polars; nulls count too."""
    import pyarrow as pa

    table = pa.table({"a": [1, None, 3], "b": ["x", "yy", None], "c": [0.5, 1.5, 2.5]})
    assert touch(table) == 9
    pandas = need_module("pandas")
    assert (
        touch(pandas.DataFrame({"a": [1, 2], "b": ["x", None], "c": pandas.to_datetime(["2020", "2021"])}))
        == 6
    )
    polars = need_module("polars")
    assert touch(polars.DataFrame({"a": [1, 2]}).lazy()) == 2


def test_an_error_takes_the_phase_it_happened_in():
    """Type, message and phase; an OpError keeps its own."""
    with pytest.raises(OpError) as caught, phase("decode"):
        raise KeyError("x")
    assert (caught.value.type, str(caught.value), caught.value.phase) == (
        "KeyError",
        "KeyError: 'x'",
        "decode",
    )
    with pytest.raises(OpError) as caught, phase("decode"), phase("io"):
        raise FileNotFoundError(2, "gone", "x")
    assert (caught.value.type, caught.value.phase) == ("FileNotFoundError", "io")


@pytest.mark.parametrize("text", ["\U0001f600" * 2000, "a" + "\u00e9" * 5000, "\ud800" * 3000])
def test_long_messages_are_cut_between_characters(text):
    """At most 2 KiB of valid UTF-8."""
    short = cut(text)
    assert len(short.encode()) <= MESSAGE_BYTES
    assert short.endswith("...")


def test_touching_a_view_of_a_parquet_file_reads_every_cell():
    """The view holds the footer alone: its columns are read, all of them."""
    import pyarrow as pa

    codec = Codec.parse("parquet:pyarrow")
    table = pa.table({"n": list(range(3000)), "t": [str(n) for n in range(3000)]})
    assert touch(codec.library.open(codec.encode(table))) == 6000
