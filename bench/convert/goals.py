"""Measures the goals of ``definitions/convert.toml``: conversions beside the libraries that do the same.

Each peer that does a pair is a side of the race, if what it writes holds the values: it is read by Tare and compared
with the table. All sides take turns, but those that were far behind in the first. The ratio is that of the medians, to the
best of the peers.

Variables: ``CONVERT_TURNS`` is how often each side converts (5); ``CONVERT_CACHE`` is where the data lies.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from convert import data, sides

HERE = Path(__file__).resolve().parent
TURNS = dict.fromkeys(("process", "command"), int(os.environ.get("CONVERT_TURNS", "5")))
# A peer that took so long in the first turn, and so many times as long as the best, is raced no further.
FAR_S = 2.0
FAR = 4.0
ALLOWED_S = 0.25  # what a command may take beside the conversion
TEXTS = ("csv", "tsv", "ndjson", "json")
Found = tuple[float, float, float, dict[str, Any]]


def quick() -> None:
    """Small data and one turn: whether everything runs, not how fast it is."""
    data.quick()
    TURNS.update(process=1, command=1)


def _pair(input: str) -> tuple[str, Path, str]:
    """Returns the table, the source and the ending of the target of ``flights:csv-parquet``."""
    name, _, pair = input.rpartition(":")
    source, _, target = pair.partition("-")
    return name or "flights", data.path(name or "flights", source), target


@functools.cache
def peers(name: str, source: str, target: str) -> tuple[str, ...]:
    """Returns the libraries that convert so and keep the values."""
    return tuple(
        side
        for side in sides.READS
        if source in sides.READS[side] and target in sides.WRITES[side] and _keeps(side, name, source, target)
    )


def _keeps(side: str, name: str, source: str, target: str) -> bool:
    """Returns whether what a library writes holds the values; dates and times of a text may stay text."""
    from pyarrow import parquet, types

    from tare import kinds, read
    from tare.converting.changes import table_changes

    kept = [
        field.name
        for field in parquet.read_schema(data.path(name, "parquet"))
        if not {source, target} & set(TEXTS) or not types.is_temporal(field.type)
    ]
    with tempfile.TemporaryDirectory() as folder:
        tables = []
        for one in ("tare", side):
            to = Path(folder, f"{one}.{target}")
            try:
                _once(one, data.path(name, source), to)
                tables.append(kinds.convert(read(to), "arrow").select(kept))
            except Exception:
                return False
    return all(change["verdict"] != "lossy" for change in table_changes(*tables))


def _near(first: dict[str, float]) -> list[str]:
    """Returns Tare and the peers that may be the best: one that took far longer in the first turn takes no more."""
    least = min((taken for side, taken in first.items() if side != "tare"), default=0.0)
    return [side for side, taken in first.items() if side == "tare" or taken <= max(FAR_S, FAR * least)]


def _once(side: str, source: Path, target: Path) -> tuple[float, int]:
    """Converts in a new process; returns its seconds and the most memory it had."""
    start = time.perf_counter()
    command = [sys.executable, str(HERE / "sides.py"), side, str(source), str(target), "once"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return time.perf_counter() - start, int(done.stdout)


@contextlib.contextmanager
def _served(side: str, source: Path, target: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(HERE / "sides.py"), side, str(source), str(target), "serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        assert process.stdin is not None
        process.stdin.close()


def _turn(process: subprocess.Popen[str]) -> float:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def in_process(input: str, alone: bool = False) -> Found:
    """Returns the seconds of a conversion in a process that has its libraries, and those of the best peer.

    With ``alone`` there need be none.
    """
    name, source, target = _pair(input)
    others = peers(name, source.suffix[1:], target)
    times: dict[str, list[float]] = {side: [] for side in ("tare", *others)}
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        served = {
            side: stack.enter_context(_served(side, source, Path(folder, f"{side}.{target}")))
            for side in times
        }
        # Libraries load parts of themselves when they are first used.
        first = {side: _turn(process) for side, process in served.items()}
        racing = _near(first)
        for number in range(TURNS["process"]):
            for side in racing if number % 2 == 0 else racing[::-1]:
                times[side].append(_turn(served[side]))
        for side in first.keys() - set(racing):
            times[side].append(first[side])
    return _found(times, 0.0, alone=alone)


def command(input: str) -> Found:
    """Returns the seconds of `tare convert`, and of the best peer's script; a quarter of a second is allowed for."""
    name, source, target = _pair(input)
    others = peers(name, source.suffix[1:], target)
    times: dict[str, list[float]] = {side: [] for side in ("tare", *others)}
    with tempfile.TemporaryDirectory() as folder:
        racing = list(times)
        for number in range(TURNS["command"]):
            for side in racing:
                to = Path(folder, f"{side}.{target}")
                to.unlink(missing_ok=True)
                times[side].append(_command(source, to) if side == "tare" else _once(side, source, to)[0])
            if number == 0:
                racing = _near({side: taken[0] for side, taken in times.items()})
    return _found(times, ALLOWED_S)


def _command(source: Path, target: Path, *more: str) -> float:
    start = time.perf_counter()
    command = [sys.executable, "-m", "tare", "convert", str(source), str(target), *more]
    subprocess.run(command, capture_output=True, check=True)
    return time.perf_counter() - start


def _found(times: dict[str, list[float]], allowed: float, *, alone: bool = False) -> Found:
    ours = statistics.median(times.pop("tare"))
    figures = {side: statistics.median(one) for side, one in times.items()}
    if not figures and not alone:
        raise RuntimeError("no peer does it and keeps the values")
    if not figures:
        return ours, ours, 1.0, {"detail": "no peer does it and keeps the values"}
    best = min(figures, key=figures.__getitem__)
    detail = {"detail": {side: round(one, 4) for side, one in figures.items()}, "best": best}
    return ours, figures[best], max(ours - allowed, 0.0) / figures[best], detail


def memory(input: str) -> Found:
    """Returns the most memory of a conversion, imports included, and that of the best peer, in MiB."""
    name, source, target = _pair(input)
    with tempfile.TemporaryDirectory() as folder:
        ours = _once("tare", source, Path(folder, f"tare.{target}"))[1] >> 20
        others = {
            side: _once(side, source, Path(folder, f"{side}.{target}"))[1] >> 20
            for side in peers(name, source.suffix[1:], target)
        }
    least = min(others.values(), default=ours)
    return ours, least, ours / least, {"detail": others}


def bytes_a_row(input: str) -> float:
    """Returns the bytes that a conversion holds for each row, beside what an empty table takes."""
    import pyarrow as pa
    from pyarrow import parquet

    name, source, target = _pair(input)
    table = parquet.read_table(data.path(name, "parquet"))
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder, f"small{source.suffix}")
        first = Path(folder, "first.parquet")
        parquet.write_table(pa.table(table.slice(0, 100)), first)
        _once("tare", first, small) if source.suffix != ".parquet" else shutil.copy(first, small)
        base = _once("tare", small, Path(folder, f"a.{target}"))[1]
        return (_once("tare", source, Path(folder, f"b.{target}"))[1] - base) / len(table)


def many_files(count: int | None = None, size: int | None = None) -> Found:
    """Returns the seconds of `tare convert` of a folder by two jobs, and of a loop of polars over its files.

    More than a hundred files are converted only if ``CONVERT_MANY`` is set.
    """
    if count and count > 100 and not os.environ.get("CONVERT_MANY"):
        return 0.0, 1.0, 0.0, {"detail": "left out: CONVERT_MANY is not set"}
    source = data.many(count or data.MANY["files"], size or data.MANY["bytes"])
    ours: list[float] = []
    loop: list[float] = []
    code = (
        "import sys, pathlib, polars as pl\n"
        "for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):\n"
        "    pl.read_ndjson(path, infer_schema_length=None).write_parquet(f'{sys.argv[2]}/{path.stem}.parquet')\n"
    )
    for _ in range(TURNS["command"]):
        with tempfile.TemporaryDirectory() as folder:
            to = Path(folder, "ours")
            ours.append(_command(source, to, "--to", "parquet", "--jobs", "2"))
            peer = Path(folder, "peer")
            peer.mkdir()
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code, str(source), str(peer)], check=True)
            loop.append(time.perf_counter() - start)
    return (
        statistics.median(ours),
        statistics.median(loop),
        statistics.median(ours) / statistics.median(loop),
        {},
    )


def large(target: str) -> Found:
    """Returns the most memory of a conversion of 5 GB of CSV, in MiB; only if ``CONVERT_LARGE`` is set."""
    if not os.environ.get("CONVERT_LARGE"):
        return 0.0, 1.0, 0.0, {"detail": "left out: CONVERT_LARGE is not set"}
    with tempfile.TemporaryDirectory(dir=data.CACHE["folder"]) as folder:
        seconds, peak = _once("tare", data.large(), Path(folder, f"large.{target}"))
    limit = 256 + 2 * 16
    return peak >> 20, limit, (peak >> 20) / limit, {"detail": f"{seconds:.1f} s"}
