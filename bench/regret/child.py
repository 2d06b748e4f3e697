"""The process of one codec: loads the whole data, checks that it comes back, and times the plain calls.

``main`` reads a job as JSON from standard input and prints the figures as JSON. A call's result is dropped before
the next call, as ``timeit`` and programs do, and collection of cycles is off, as in ``timeit``. A codec that crashes
or hangs takes this process with it and no other codec.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from itertools import repeat
from typing import Any

from regret import uses, values

BATCH_S = 0.002  # of a timed run of calls: long beside the clock's own time
QUICK_S = 0.02  # of a direction, before it is decided whether more is worth it
SLOW_S = 3.0  # a call that takes longer is timed twice


def main() -> None:
    """Runs one job."""
    job = json.load(sys.stdin)
    limit_threads()
    try:
        found = measured(job)
    except Exception as error:  # whatever a library raises is the reason of its own row
        text = str(error).strip().splitlines() or [""]
        found = asdict(uses.Figures(failed=f"{type(error).__name__}: {text[0][:160]}"))
    # JSON has no NaN.
    print(json.dumps({name: None if value != value else value for name, value in found.items()}))  # noqa: PLR0124


def limit_threads() -> None:
    """Lets Arrow use one thread; what other libraries read from the environment is set by the parent."""
    if "pyarrow" in sys.modules or os.environ.get("REGRET_KIND") == "table":
        import pyarrow as pa

        pa.set_cpu_count(1)
        pa.set_io_thread_count(1)


def measured(job: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the figures of a job.

    Args:
        job: ``id``, ``path`` and ``kind`` (``document``, ``lines``, ``table``); ``seconds`` and ``calls``, how long
            and how often each direction is timed at least; ``rows``, to take the first rows alone; ``each``, to
            take a line for a message; ``best`` and ``file_rate``, to stop early; ``module``, which has ``calls_of``.
    """
    kind = "table" if job["kind"] == "table" else "document"
    calls = importlib.import_module(job.get("module", "regret.calls")).calls_of(job["id"], kind)
    value = loaded(job)
    if job.get("each"):
        return _each(job, calls, value)
    argument = converted(value, calls.native)
    data = calls.encode(argument)
    size = os.path.getsize(data) if isinstance(data, str) else len(data)
    if kind == "table":
        lost = values.lost_in_table(value, calls.decode(data))
    else:
        lost = values.lost_in_document(value, calls.decode(data))
        value = None
    seconds, least = job["seconds"], job["calls"]
    # The first calls, which import and allocate, were the check's.
    first = uses.Figures(
        size,
        smallest(calls.encode, argument, QUICK_S, 1),
        smallest(calls.decode, data, QUICK_S, 1),
        lost=lost,
    )
    ways = uses.SECOND | uses.FIRST
    if uses.far_behind(ways.items(), first, job.get("best", {}), job.get("file_rate", 1e9)):
        return asdict(first) | {"behind": True}
    encode_s = min(first.encode_s, smallest(calls.encode, argument, seconds, least - 1))
    decode_s = min(first.decode_s, smallest(calls.decode, data, seconds, least - 1))
    part_s = None
    if calls.part is not None and value is not None and value.num_columns:
        column = value.column_names[value.num_columns // 2]
        part = calls.part
        part_s = smallest(lambda some: part(some, column), data, seconds / 2, least)
    return asdict(uses.Figures(size, encode_s, decode_s, part_s, lost))


def _each(job: Mapping[str, Any], calls: Any, items: list[Any]) -> dict[str, Any]:
    """Figures of all lines, each a message of its own."""
    argument = [[item] for item in items] if uses.format_of(job["id"]) == "ndjson" else items
    encoded = [calls.encode(item) for item in argument]
    back = [calls.decode(data) for data in encoded]
    lost = values.lost_in_document(argument, back)
    del back
    sizes = sum(len(data) for data in encoded)
    encode_s = smallest_of_all(calls.encode, argument, job["seconds"], job["calls"])
    decode_s = smallest_of_all(calls.decode, encoded, job["seconds"], job["calls"])
    return asdict(uses.Figures(sizes, encode_s, decode_s, None, lost))


def loaded(job: Mapping[str, Any]) -> Any:
    """Returns the whole data, or its first rows: an Arrow table that is mapped, or Python objects."""
    rows = job.get("rows")
    if job["kind"] == "table":
        import pyarrow as pa
        from pyarrow import ipc

        table = ipc.open_file(pa.memory_map(job["path"])).read_all()
        return table.slice(0, rows) if rows else table
    with open(job["path"], "rb") as file:
        if job["kind"] == "document":
            return json.load(file)
        return [json.loads(line) for line in file if line.strip()]


def converted(value: Any, native: str) -> Any:
    """Returns data in the kind that a library takes."""
    if native in ("python", "arrow"):
        return value
    if native == "records":
        return value.to_pylist()
    if native == "columns":
        return value.to_pydict()
    if native == "polars":
        import polars as pl

        return pl.from_arrow(value)
    import pandas as pd
    import pyarrow as pa

    # Integers and truth values with nulls have types of their own in pandas; else they would become floats.
    nullable: dict[Any, Any] = {
        getattr(pa, name.lower())(): getattr(pd, f"{name}Dtype")()
        for name in ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
    }
    nullable[pa.bool_()] = pd.BooleanDtype()
    with_nulls = [column for column in value.columns if column.null_count]
    wanted = {column.type for column in with_nulls if column.type in nullable}
    return value.to_pandas(types_mapper=lambda kind: nullable[kind] if kind in wanted else None)


def smallest(call: Callable[[Any], Any], argument: Any, seconds: float, least: int) -> float:
    """Returns the smallest time of a call, over runs of calls, in seconds."""
    gc.collect()
    gc.disable()
    try:
        best, spent, runs, batch = float("inf"), 0.0, 0, 1
        while spent < seconds or runs < least:
            took = _timed(call, repeat(argument, batch))
            spent, runs = spent + took, runs + 1
            best = min(best, took / batch)
            if took > SLOW_S:
                break
            if took < BATCH_S:
                batch = min(batch * 8, max(batch + 1, int(BATCH_S * 1.2 / max(best, 1e-9))))
        return best
    finally:
        gc.enable()


def smallest_of_all(call: Callable[[Any], Any], arguments: list[Any], seconds: float, least: int) -> float:
    """Returns the smallest time of a call with each of the arguments, in seconds."""
    gc.collect()
    gc.disable()
    try:
        best, spent, runs = float("inf"), 0.0, 0
        while (spent < seconds or runs < least) and not (spent > SLOW_S and runs > 1):
            took = _timed(call, arguments)
            best, spent, runs = min(best, took), spent + took, runs + 1
        return best
    finally:
        gc.enable()


def _timed(call: Callable[[Any], Any], arguments: Iterable[Any]) -> float:
    """Seconds of the calls; each result is dropped before the next call, and so is the last one."""
    began = time.perf_counter_ns()
    deque(map(call, arguments), maxlen=0)
    return (time.perf_counter_ns() - began) / 1e9
