"""What the goals of ``definitions/scale.toml`` measure.

Ours and the peer take turns in one run; the ratio is the median of the turns' own. Peers run in processes of their own,
as ours do; starting them is in both figures. ``TARE_SCALE_GB`` says how large the large file is (5).
"""

from __future__ import annotations

import atexit
import functools
import gzip
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Found = tuple[float, float, float, dict[str, Any]]


@dataclass
class Size:
    """How much is measured."""

    turns: int = 3
    large: int = int(float(os.environ.get("TARE_SCALE_GB", "5")) * 1e9)
    units: int = 40
    unit_bytes: int = 26_000_000
    unit_seconds: float = 0.5
    again: int = 10_000
    many: int = 1_000_000
    objects: int = 100_000


SIZE = Size()


def quick() -> None:
    """Little of everything; what comes out says nothing about speed."""
    SIZE.turns, SIZE.large, SIZE.units, SIZE.unit_bytes, SIZE.unit_seconds = 1, 100_000_000, 4, 600_000, 0
    SIZE.again, SIZE.many, SIZE.objects = 200, 5000, 200


@functools.cache
def folder() -> Path:
    """Where everything lies; removed at the end."""
    made = Path(tempfile.mkdtemp(prefix="tare-scale-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


@functools.cache
def flights() -> bytes:
    """The demo's flights as lines of JSON: 107 MB."""
    import orjson

    from tare import open_dataset

    rows = open_dataset("nycflights13").value.to_pylist()
    return b"".join(orjson.dumps(row, default=str) + b"\n" for row in rows)


@functools.cache
def large_file() -> Path:
    """As much of it, again and again, as the large file has."""
    path, text = folder() / "large.ndjson", flights()
    with path.open("wb") as file:
        for _ in range(-(-SIZE.large // len(text))):
            file.write(text)
    return path


@functools.cache
def packed_files() -> Path:
    """A folder of the flights as they come in logs: eight files of gzip, of 65 MB of text each."""
    where, text = folder() / "packed", flights()
    where.mkdir()
    packed = gzip.compress(text[: text.rfind(b"\n", 0, min(65_000_000, SIZE.large // 8)) + 1], 6)
    for n in range(8):
        (where / f"{n}.ndjson.gz").write_bytes(packed)
    return where


@functools.cache
def unit_files() -> Path:
    """Files that take at least half a second of one core of this machine each: one file by many names."""
    where, trial, size = folder() / "units", folder() / "trial", SIZE.unit_bytes
    trial.mkdir()

    def seconds() -> float:
        text = flights() * -(-size // len(flights()))
        (trial / "u.ndjson").write_bytes(text[: text.rfind(b"\n", 0, size) + 1])
        return min(_run(trial, "inline", 1).seconds for _ in range(3))

    while seconds() < SIZE.unit_seconds:
        size = size * 5 // 4
    where.mkdir()
    for n in range(SIZE.units):
        os.link(trial / "u.ndjson", where / f"u{n:02}.ndjson")
    return where


def turns(ours: Callable[[], float], peer: Callable[[], float]) -> Found:
    """Medians of both, and of the ratios of the turns; every second turn begins with the peer."""
    a: list[float] = []
    b: list[float] = []
    for n in range(SIZE.turns):
        for one in ((ours, peer), (peer, ours))[n % 2]:
            (a if one is ours else b).append(one())
    ratio = statistics.median(x / y for x, y in zip(a, b, strict=True))
    return statistics.median(a), statistics.median(b), ratio, {"turns_ours": a, "turns_peer": b}


def _run(source: Path, executor: str, jobs: int, **options: Any) -> Any:
    """Convert into a new folder; the report. The engine's start is not in its seconds."""
    from tare import scale

    out = folder() / "out"
    shutil.rmtree(out, ignore_errors=True)
    plan = scale.plan_convert(str(source), str(out), to="parquet", **options)
    report = scale.run(plan, executor=executor, jobs=jobs)
    if not report.ok:
        raise RuntimeError(report.failures[0]["error"]["message"])
    return report


def two_workers(engine: str) -> Found:
    """CPU-bound units on two processes and on one."""
    where = unit_files()
    a, b, ratio, detail = turns(
        lambda: _run(where, engine, 2).seconds, lambda: _run(where, engine, 1).seconds
    )
    return a, b, ratio, {**detail, "units": SIZE.units, "unit_seconds": b / SIZE.units}


def overhead() -> Found:
    """What the engine adds to units of 64 MiB: from the first unit to the last receipt."""
    from tare import scale

    source, out = large_file(), folder() / "out"
    shutil.rmtree(out, ignore_errors=True)
    plan = scale.plan_convert(str(source), str(out), to="parquet", split="64MiB")
    summed = 0.0
    running = scale.iter_run(plan, executor="local:1")
    began = 0.0
    for receipt in running:
        began = began or time.monotonic() - receipt["seconds"]
        summed += receipt["seconds"]
        ended = time.monotonic()
    wall = ended - began
    return wall, summed, wall / summed, {"units": plan.count}


def small_unit() -> Found:
    """One small file as a unit, and converted without any."""
    from tare import io, scale
    from tare.scale.running import run_unit
    from tare.scale.state import State

    where, count = folder() / "small", 300
    where.mkdir(exist_ok=True)
    for n in range(count):
        (where / f"{n}.csv").write_text("a,b\n" + "1,2\n" * 50)

    def ours() -> float:
        out = folder() / "small-out"
        shutil.rmtree(out, ignore_errors=True)
        plan = scale.plan_convert(str(where), str(out), to="parquet")
        settings, units = State.of(plan).settings(), list(plan.units())
        began = time.monotonic()
        for unit in units:
            run_unit(unit, {**settings, "fsync": "none"})
        return (time.monotonic() - began) / count * 1e3

    def peer() -> float:
        out = folder() / "small-peer"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        began = time.monotonic()
        for n in range(count):
            io.convert(where / f"{n}.csv", out / f"{n}.parquet", codec="parquet:pyarrow", sync=False)
        return (time.monotonic() - began) / count * 1e3

    return turns(ours, peer)


def start_again() -> float:
    """A second start when all is done: seconds, planning not included."""
    from unittest import mock

    from tare import scale
    from tare.scale.planning import convert

    where, out = folder() / "many", folder() / "many-out"
    where.mkdir(exist_ok=True)
    for n in range(SIZE.again):
        (where / f"{n}.ndjson").write_text('{"a": 1}\n')
    with mock.patch.object(convert, "_GROUPED_FROM", SIZE.again):  # a unit each
        plan = scale.plan_convert(str(where), str(out), to="ndjson+zstd:1", options={"again": 1})
    scale.run(plan, executor="local", fsync="none")
    began = time.monotonic()
    report = scale.run(plan, executor="inline")
    if report.skipped != plan.count:
        raise RuntimeError(f"{report.skipped} of {plan.count} were passed over")
    return time.monotonic() - began


@functools.cache
def objects() -> Path:
    """Files of 1 KiB."""
    where = folder() / "objects"
    where.mkdir()
    for n in range(SIZE.objects):
        (where / f"{n:06}").write_bytes(random.Random(n).randbytes(1024))
    return where


def _put(store: Path, source: Path) -> float:
    """Seconds of the units, receipts included, in this process."""
    from tare import scale

    shutil.rmtree(store, ignore_errors=True)
    plan = scale.plan_put(str(source), f"{store}", str(folder() / f"put-{time.monotonic_ns()}.jsonl"))
    report = scale.run(plan, executor="inline")
    if not report.ok:
        raise RuntimeError(report.failures[0]["error"]["message"])
    return float(report.seconds)


def put_grouped() -> Found:
    """An object in a group, and in a unit of its own: milliseconds of each. Few of the latter, for they are slow."""
    from unittest import mock

    from tare.scale.planning import others
    from tare.scale.planning.grouping import Limits

    few = folder() / "few-objects"
    few.mkdir(exist_ok=True)
    count = max(10, SIZE.objects // 50)
    for path in sorted(objects().iterdir())[:count]:
        shutil.copyfile(path, few / path.name)

    def single() -> float:
        with mock.patch.object(others, "_GROUPS", Limits(1, 1)):
            return _put(folder() / "store-single", few) / count * 1e3

    return turns(lambda: _put(folder() / "store-grouped", objects()) / SIZE.objects * 1e3, single)


def put_loop() -> Found:
    """Units, and a loop that sets as many objects by as many flushes without any."""
    from tare.store import open_store

    def loop() -> float:
        store = folder() / "store-loop"
        shutil.rmtree(store, ignore_errors=True)
        paths = sorted(objects().iterdir())
        began = time.monotonic()
        with open_store(str(store)) as opened:
            for at in range(0, len(paths), 1000):
                some = paths[at : at + 1000]
                opened.mset([path.name for path in some], [path.read_bytes() for path in some])
        return time.monotonic() - began

    return turns(lambda: _put(folder() / "store-grouped", objects()), loop)


_MANY = """
import json, resource, sys
from tare.scale.plan import make_plan
def units(count):
    for n in range(count):
        yield {"tare_unit": 1, "task": "convert", "read": "", "write": "parquet",
               "input": [{"uri": f"file:///data/some/folder/file-{n}.ndjson", "size": n * 7919 % 1000003, "mtime_ns": n}],
               "output": {"base": "file:///out", "names": [f"some/folder/file-{n}.parquet"]}, "options": {"tare": "0"}}
plan = make_plan(units(int(sys.argv[1])), sys.argv[2], task="convert", base="file:///out")
print(sum(1 for _ in plan.units()), file=sys.stderr)
print(next(int(line.split()[1]) / 1024 for line in open("/proc/self/status") if line.startswith("VmHWM:")))
"""


def million_units() -> float:
    """MiB at the peak of a process of its own."""
    command = [sys.executable, "-c", _MANY, str(SIZE.many), str(folder() / "many.jsonl")]
    return float(
        subprocess.run(
            command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ).stdout
    )


def one_small_file() -> Found:
    """The command, through a pool and without one."""
    (folder() / "one.csv").write_text("a,b\n1,2\n")
    call = [sys.executable, "-c", "from tare.cli import main; main()", "convert", str(folder() / "one.csv")]

    def command(*more: str) -> float:
        shutil.rmtree(folder() / "one-out", ignore_errors=True)
        began = time.monotonic()
        subprocess.run([*call, *more], check=True, capture_output=True)
        return time.monotonic() - began

    return turns(
        lambda: command(str(folder() / "one-out"), "--to", "parquet", "--executor", "local:1"),
        lambda: command(str(folder() / "one.parquet"), "--force") + 0.3,
    )


_OURS = """
import json, resource, shutil, sys, time
if __name__ == "__main__":
    began = time.monotonic()
    from tare import scale
    from tare.scale.state import State
    what, source, out = sys.argv[1:]
    shutil.rmtree(out, ignore_errors=True)
    plan = (scale.plan_convert(source, out, to="parquet") if what == "packed"
            else scale.plan_convert(source, out, to="parquet", split="64MiB") if what == "parquet"
            else scale.plan_encode(source, out, split="64MiB"))
    report = scale.run(plan, executor="local")
    report.raise_for_failures()
    took = time.monotonic() - began
    peak = max(one["peak_memory"] for one in State.of(plan).receipts())
    print(json.dumps({"s": took, "peak": peak, "rows": report.rows, "bytes": report.bytes_out}))
"""
_PEERS = {
    "duckdb": "import duckdb; duckdb.sql(f\"copy (from read_ndjson_auto('{source}')) to '{out}' (format parquet)\")",
    # DuckDB and we compress by Snappy; by itself Polars takes zstd.
    "polars": "import polars; polars.scan_ndjson(source).sink_parquet(out, compression='snappy')",
}
_PEER = """
import json, resource, sys, time
began = time.monotonic()
source, out = sys.argv[1:]
{call}
print(json.dumps({{"s": time.monotonic() - began, "peak": next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line[:6] == "VmHWM:")}}))
"""


def _source(what: str) -> Path:
    return packed_files() if what == "packed" else large_file()


def _large(what: str) -> dict[str, Any]:
    script = folder() / "ours.py"
    script.write_text(_OURS)
    command = [sys.executable, str(script), what, str(_source(what)), str(folder() / f"large-{what}")]
    found: dict[str, Any] = json.loads(
        subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    )
    return found


def _peer(name: str, what: str) -> dict[str, Any]:
    out = folder() / f"{name}.parquet"
    out.unlink(missing_ok=True)
    code = _PEER.format(call=_PEERS[name])
    source = packed_files() / "*.gz" if what == "packed" else large_file()
    command = [sys.executable, "-c", code, str(source), str(out)]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: dict[str, Any] = json.loads(said.splitlines()[-1])  # DuckDB shows its progress there too
    return {**found, "bytes": out.stat().st_size}


def large(what: str, peer: str) -> Found:
    """Ours beside a tool that does the same; the peaks and the bytes of both are in the record."""
    ours_found: list[dict[str, Any]] = []
    peer_found: list[dict[str, Any]] = []

    def ours() -> float:
        ours_found.append(_large(what))
        return float(ours_found[-1]["s"])

    def other() -> float:
        peer_found.append(_peer(peer, what))
        return float(peer_found[-1]["s"])

    a, b, ratio, detail = turns(ours, other)
    return (
        a,
        b,
        ratio,
        {**detail, "bytes": _bytes(_source(what)), "ours_runs": ours_found, "peer_runs": peer_found},
    )


def _bytes(source: Path) -> int:
    return sum(path.stat().st_size for path in (source.iterdir() if source.is_dir() else [source]))


def worker_memory(what: str) -> float:
    """MiB at the peak of the worker that took most."""
    return float(_large(what)["peak"]) / (1 << 20)


def about() -> dict[str, Any]:
    """What the record says beside the goals."""
    from importlib import metadata

    names = ("distributed", "duckdb", "polars", "pyarrow")
    return {
        "versions": {name: metadata.version(name) for name in names},
        "memory_of_this": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
