"""What the goals of ``definitions/r.toml`` measure.

Ours run in ``examples/bench_r.rs`` and ``examples/bench_fst.rs``; R, zlib and pyarrow take turns with
them, so that what else the machine does falls on both. pyreadr is measured where it is installed: it
is under the AGPL, so no part of Tare requires it, and it is not among the tools of ``make setup``.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
import tomllib
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("TARE_SHARED", ROOT.parent / "shared"))
Found = tuple[float, float, float, dict[str, Any]]


@dataclass
class Scale:
    """How much is measured."""

    turns: int = 7
    rounds: int = 5
    rows: int = 1_000_000
    flights: int = 336_776


SCALE = Scale()


def quick() -> None:
    """Few rounds and rows: whether everything runs, not how fast."""
    SCALE.turns, SCALE.rounds, SCALE.rows, SCALE.flights = 2, 1, 20_000, 20_000


def about() -> dict[str, Any]:
    """What the record says beside the goals."""
    definition = tomllib.loads((ROOT / "bench/definitions/r.toml").read_text(encoding="utf-8"))
    version = subprocess.run(
        ["Rscript", "-e", "cat(R.version.string)"], capture_output=True, text=True, check=False
    ).stdout
    return {"r": version, "zlib": zlib.ZLIB_RUNTIME_VERSION, "reference": definition["reference"]}


def epilogue() -> None:
    """Print what is known of packages that are not run."""
    for name, figures in about()["reference"].items():
        print(f"reference, not run: {name} | {figures}")


# --- what runs ---------------------------------------------------------------------------


@functools.cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="bench-r-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.cache
def _program(name: str) -> str:
    """An example of the crate, built."""
    command = ["cargo", "build", "--locked", "--release", "--quiet", "--example", name]
    subprocess.run(command, cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return str(target / "release/examples" / name)


def _ours(task: str, path: Path, *words: str, program: str = "bench_r") -> dict[str, Any]:
    words = ("--rounds", str(SCALE.rounds), *words)
    first = [task, str(path)] if program == "bench_r" else [str(path), "--only", task]
    run = subprocess.run([_program(program), *first, *words], capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError((run.stderr.strip().splitlines() or [f"{task} failed"])[-1])
    found: dict[str, Any] = json.loads(run.stdout)
    return found


@functools.cache
def _r() -> subprocess.Popen[str]:
    """One R for all: it reads a line of code and prints user + system and elapsed seconds."""
    code = (
        "input <- file('stdin', 'r'); while (length(line <- readLines(input, 1)) == 1) {"
        " code <- parse(text = line); invisible(gc());"
        " t <- system.time(eval(code, globalenv()), gcFirst = FALSE);"
        " cat(t[[1]] + t[[2]], t[[3]], '\\n'); flush(stdout()) }"
    )
    process = subprocess.Popen(
        ["Rscript", "-e", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(process.kill)
    return process


def _in_r(code: str) -> tuple[float, float]:
    """CPU and wall seconds of a line of R."""
    process = _r()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(code + "\n")
    process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"R could not run {code[:80]}")
    cpu, wall = map(float, line.split())
    return cpu, wall


def _turns(ours: Callable[[], float], peer: Callable[[], float], **detail: Any) -> Found:
    """Both in turn; the ratio is the median of the turns' own."""
    pairs = [(ours(), peer()) for _ in range(SCALE.turns)]
    ratios = [one / other for one, other in pairs]
    detail |= {"turns": len(ratios), "lowest_ratio": min(ratios), "highest_ratio": max(ratios)}
    return (
        statistics.median(one for one, _ in pairs),
        statistics.median(other for _, other in pairs),
        statistics.median(ratios),
        detail,
    )


def _cpu(task: str, path: Path, *words: str) -> Callable[[], float]:
    return lambda: float(_ours(task, path, "--threads", "1", *words)["cpu_s"])


def _wall(task: str, path: Path, *words: str) -> Callable[[], float]:
    return lambda: statistics.median(_ours(task, path, *words)["wall_s"])


def _repeated(work: Callable[[], object], clock: Callable[[], float]) -> Callable[[], float]:
    def one() -> float:
        work()
        start = clock()
        for _ in range(SCALE.rounds):
            work()
        return (clock() - start) / SCALE.rounds

    return one


# --- files -------------------------------------------------------------------------------


@functools.cache
def _flights() -> dict[str, Path]:
    """nycflights13's flights by R: gzip, twice as many rows, plain, R code; the other formats by us."""
    source = SHARED / "data/r/nycflights13/nycflights13.rds"
    if not source.exists():
        raise FileNotFoundError(f"no {source}; set TARE_SHARED")
    folder = _folder()
    paths = {
        name: folder / f"flights.{name}"
        for name in (
            "gz.rds",
            "twice.rds",
            "none.rds",
            "R",
            "half.R",
            "qs2",
            "qdata",
            "twice.qs2",
            "twice.qdata",
        )
    }
    _in_r(f"all <- readRDS({json.dumps(str(source))})")
    _in_r("flights <- if (is.data.frame(all)) all else all$flights")
    _in_r(f"flights <- head(flights, {SCALE.flights})")
    _in_r(f"saveRDS(flights, {json.dumps(str(paths['gz.rds']))})")
    _in_r(f"saveRDS(rbind(flights, flights), {json.dumps(str(paths['twice.rds']))})")
    _in_r(f"saveRDS(flights, {json.dumps(str(paths['none.rds']))}, compress = FALSE)")
    for name, rows in (("R", 30_000), ("half.R", 15_000)):
        _in_r(
            f"dput(as.data.frame(head(flights, {rows})), {json.dumps(str(paths[name]))}, control = 'exact')"
        )
    for format in ("qs2", "qdata"):
        _ours(f"write-{format}", paths["none.rds"], "--out", str(paths[format]))
        _ours(f"write-{format}", paths["twice.rds"], "--out", str(paths[f"twice.{format}"]))
    return paths


@functools.cache
def _twice_qs() -> Path:
    """The columns of twice as many rows in qs."""
    import pyarrow as pa

    import tare.r
    from r.qs_file import write_qs

    table = tare.r.read(_flights()["twice.rds"], as_="arrow")
    path = _folder() / "twice.qs"
    write_qs(
        [column.combine_chunks() for column in table.columns if not pa.types.is_temporal(column.type)], path
    )
    return path


@functools.cache
def _flights_fst() -> Path:
    import tare.r

    path = _folder() / "flights.fst"
    tare.r.write(tare.r.read(_flights()["none.rds"], as_="robject"), path, loss=[])
    return path


@functools.cache
def _gz() -> bytes:
    return _flights()["gz.rds"].read_bytes()


def _inflate() -> int:
    return len(zlib.decompress(_gz(), wbits=31))


@functools.cache
def _table() -> tuple[Any, Path, Path]:
    """Synthpop as Arrow, as Feather, and as fst by us."""
    from pyarrow import feather

    import tare.r
    from tare.datasets.synthpop import synthpop

    table = synthpop(SCALE.rows)
    folder = _folder()
    feather.write_feather(table, folder / "synthpop.feather", compression="lz4")
    tare.r.write(table, folder / "synthpop.fst")
    return table, folder / "synthpop.feather", folder / "synthpop.fst"


# --- goals -------------------------------------------------------------------------------


def rds_gz_read_inflate() -> Found:
    """Gzip RDS to Arrow beside inflating alone."""
    return _turns(_cpu("arrow", _flights()["gz.rds"]), _repeated(_inflate, time.process_time))


def rds_gz_read_r() -> Found:
    """Gzip RDS to Arrow beside readRDS."""
    path = _flights()["gz.rds"]
    return _turns(_cpu("arrow", path), lambda: _in_r(f"x <- readRDS({json.dumps(str(path))})")[0])


def rds_gz_read_pyreadr() -> Found:
    """Gzip RDS to Arrow beside pyreadr to pandas."""
    import pyreadr

    path = _flights()["gz.rds"]
    peer = _repeated(lambda: pyreadr.read_r(str(path)), time.process_time)
    return _turns(_cpu("arrow", path), peer, pyreadr=pyreadr.__version__)


def rds_gz_read_wall() -> Found:
    """The same on all cores, by the clock."""
    return _turns(_wall("arrow", _flights()["gz.rds"]), _repeated(_inflate, time.perf_counter))


def rds_none_read_r() -> Found:
    """Plain RDS to Arrow beside readRDS."""
    path = _flights()["none.rds"]
    return _turns(_cpu("arrow", path), lambda: _in_r(f"x <- readRDS({json.dumps(str(path))})")[0])


def rds_gz_write_r() -> Found:
    """Gzip RDS on all cores beside saveRDS."""
    _flights()
    mine, theirs = _folder() / "ours.rds", _folder() / "theirs.rds"
    ours = _wall("write-rds", _flights()["none.rds"], "--out", str(mine))
    return _turns(ours, lambda: _in_r(f"saveRDS(flights, {json.dumps(str(theirs))})")[1])


def rds_gz_write_size() -> Found:
    """Bytes of both."""
    mine = _folder() / "size.rds"
    ours = _ours("write-rds", _flights()["none.rds"], "--out", str(mine))["bytes"]
    return ours, len(_gz()), ours / len(_gz()), {}


def rds_gz_write_identical() -> float:
    """Whether R calls what was written identical to what it wrote."""
    mine, told = _folder() / "identical.rds", _folder() / "told"
    _ours("write-rds", _flights()["none.rds"], "--out", str(mine))
    _in_r(f"cat(identical(readRDS({json.dumps(str(mine))}), flights), file = {json.dumps(str(told))})")
    return float(told.read_text() == "TRUE")


def read_memory(input: str, limit_mib: int) -> Found:
    """Most memory of a read beside its result."""
    found = _ours("memory", _twice_qs() if input == "twice.qs" else _flights()[input])
    limit = limit_mib << 20
    return found["beside_bytes"], limit, found["beside_bytes"] / limit, found


def block_read(input: str, keep: bool) -> Found:
    """qs2 or qdata beside bare zstd of its blocks, in new memory or in what an earlier read freed."""
    path = _flights()[input]
    return _turns(_cpu("read", path, *(["--keep"] if keep else [])), _cpu("frames", path))


def _as_published(ours: Callable[[], float], figure: str) -> Found:
    """Beside a package that cannot be installed: its published time, as much longer as zlib takes here."""
    definition = tomllib.loads((ROOT / "bench/definitions/r.toml").read_text(encoding="utf-8"))
    seconds, inflating = definition["published"][figure], definition["published"]["zlib-inflate"]
    inflate = _repeated(_inflate, time.process_time)
    return _turns(
        ours, lambda: seconds * inflate() / inflating, published_s=seconds, published_inflate_s=inflating
    )


def block_write(input: str) -> Found:
    """qs2 or qdata written on one thread beside the published time of the package qs2."""
    out = _folder() / f"again.{input}"
    ours = _cpu(f"write-{input}", _flights()["none.rds"], "--out", str(out))
    return _as_published(ours, f"{input}-write")


def fst_flights(input: str) -> Found:
    """Fst on one thread beside the published time of the package fst."""
    return _as_published(_fst(input, ("--threads", "1"), _flights_fst()), f"fst-{input}")


def _fst(task: str, threads: tuple[str, ...], path: Path | None = None) -> Callable[[], float]:
    path = path or _table()[2]
    return lambda: statistics.median(_ours(task, path, *threads, program="bench_fst")[f"{task}_s"])


def _feather(task: str, clock: Callable[[], float]) -> Callable[[], float]:
    from pyarrow import feather

    table, path, _ = _table()
    again = path.with_suffix(".again")
    if task == "read":
        return _repeated(lambda: feather.read_table(path, memory_map=False), clock)
    return _repeated(lambda: feather.write_feather(table, again, compression="lz4"), clock)


def fst_read_feather() -> Found:
    """Fst beside Feather, the processor's time."""
    return _turns(_fst("read", ("--threads", "1")), _feather("read", time.process_time))


def fst_read_feather_kept() -> Found:
    """The same in memory that an earlier read freed, as pyarrow's own pool keeps it."""
    return _turns(_fst("read", ("--threads", "1", "--keep")), _feather("read", time.process_time))


def fst_read_feather_wall() -> Found:
    """Fst beside Feather by the clock, both on all cores."""
    return _turns(_fst("read", ()), _feather("read", time.perf_counter))


def fst_write_feather() -> Found:
    """The same for writing."""
    return _turns(_fst("write", ("--threads", "1")), _feather("write", time.process_time))


def fst_write_feather_wall() -> Found:
    """The same for writing, by the clock."""
    return _turns(_fst("write", ()), _feather("write", time.perf_counter))


def fst_part() -> Found:
    """Bytes that a part of the table needs."""
    found = _ours("part", _table()[2], program="bench_fst")
    ours, peer = found["touched_bytes"], found["file_bytes"]
    return ours, peer, ours / peer, {}


def dput_parse_r() -> Found:
    """R code by our grammar beside R's own parser and evaluator."""
    path = _flights()["R"]
    return _turns(_cpu("dput", path), lambda: _in_r(f"x <- dget({json.dumps(str(path))})")[0])


def dput_linear() -> Found:
    """Time of twice as much R code."""
    paths = _flights()
    return _turns(_cpu("dput", paths["R"]), _cpu("dput", paths["half.R"]))
