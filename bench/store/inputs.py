"""What ``goals`` feeds, starts and times: vectors, storr's steps in R, peers, a server, clocks.

Everything lies in one folder, on the disk that ``TARE_BENCH_DIR`` names (default: that of temporary
files), and goes with the process.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib.util
import itertools
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
Found = tuple[float, float, float, dict[str, Any]]
Took = tuple[float, float]
"""CPU and wall seconds."""


@dataclass
class Scale:
    """How much is measured."""

    turns: int = 9
    longest_s: float = 40.0
    calls: int = 2000
    keys: int = 3000
    small: int = 1_000_000
    large: int = 10_000_000
    stream_bytes: int = 4_000_000_000
    alone_s: float = 20.0
    together_s: float = 60.0
    requests: int = 200


SCALE = Scale()
_LEAST_TURNS = 3


def be_quick() -> None:
    """Little of everything: whether it runs, not how fast."""
    SCALE.turns, SCALE.calls, SCALE.keys = 2, 100, 300
    SCALE.small, SCALE.large, SCALE.stream_bytes = 20_000, 100_000, 32 << 20
    SCALE.alone_s, SCALE.together_s, SCALE.requests = 1.0, 2.0, 10


# --- clocks -------------------------------------------------------------------------------


def taken(work: Callable[[], object], count: int = 1) -> Took:
    """CPU of all threads and wall time of one of ``count`` things that a call does."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return (time.process_time() - cpu) / count, (time.perf_counter() - wall) / count


def rounds(ours: Callable[[], Took], peer: Callable[[], Took]) -> list[tuple[Took, Took]]:
    """Both sides in turn, in both orders; where calls are long, fewer times, but thrice at least.

    Args:
        ours: Makes what it needs, then times one call of ours.
        peer: The same for the peer.
    """
    pairs: list[tuple[Took, Took]] = []
    ends = time.monotonic() + SCALE.longest_s
    gc.disable()
    try:
        while len(pairs) < SCALE.turns and (len(pairs) < _LEAST_TURNS or time.monotonic() < ends):
            gc.collect()
            if len(pairs) % 2:
                theirs, mine = peer(), ours()
            else:
                mine, theirs = ours(), peer()
            pairs.append((mine, theirs))
    finally:
        gc.enable()
    return pairs


def found(pairs: list[tuple[Took, Took]], *, clock: str = "cpu", unit: float = 1.0, **more: Any) -> Found:
    """What `rounds` found; the ratio is the median of the turns' own.

    Args:
        pairs: The turns.
        clock: Which time is compared, ``cpu`` or ``wall``; the other is in the record.
        unit: What one second is multiplied with: 1e6 for microseconds.
        more: What else the record says.
    """
    column = ("cpu", "wall").index(clock)
    ratios = [mine[column] / max(theirs[column], 1e-9) for mine, theirs in pairs]
    detail = {"clock": clock, "turns": len(pairs), "lowest_ratio": min(ratios), "highest_ratio": max(ratios)}
    for place, name in enumerate(("cpu", "wall")):
        detail[f"ours_{name}"] = statistics.median(mine[place] for mine, _ in pairs) * unit
        detail[f"peer_{name}"] = statistics.median(theirs[place] for _, theirs in pairs) * unit
    return detail[f"ours_{clock}"], detail[f"peer_{clock}"], statistics.median(ratios), detail | more


def turns(ours: Callable[[], Took], peer: Callable[[], Took], **how: Any) -> Found:
    """`found` of `rounds`."""
    return found(rounds(ours, peer), **how)


# --- places and values --------------------------------------------------------------------


@functools.cache
def base() -> Path:
    """The folder of all."""
    folder = Path(tempfile.mkdtemp(prefix="tare-bench-store-", dir=os.environ.get("TARE_BENCH_DIR")))
    owner = os.getpid()
    atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == owner else None)
    return folder


_NUMBERS = itertools.count()


def fresh(name: str) -> Path:
    """A place that nothing was at before."""
    return base() / f"{name}-{next(_NUMBERS)}"


def once() -> int:
    """A number that was not given before: a value made with it is new to every store."""
    return next(_NUMBERS)


@functools.cache
def doubles(content: str, count: int) -> Any:
    """Uniform doubles: ``runif32`` by R itself, 32 bits each; ``unif53`` by NumPy, 53 bits each.

    Both are in R too, under the name that `in_r_as` gives.
    """
    import numpy as np

    name, path = in_r_as(content, count), fresh("doubles")
    if content == "runif32":
        in_r(f"set.seed(1); {name} <- runif({count})")
        in_r(f"out <- file({quoted(path)}, 'wb'); writeBin({name}, out); close(out)")
        values = np.fromfile(path, "<f8")
    else:
        values = np.random.default_rng(1).random(count)
        values.tofile(path)
        in_r(f"{name} <- readBin({quoted(path)}, 'double', {count})")
    path.unlink()
    return values


def in_r_as(content: str, count: int) -> str:
    """The name in R of a vector of `doubles`."""
    return f"{content}_{count}"


def disk(root: Path) -> tuple[int, int]:
    """Bytes of disk that a folder takes, blocks and not lengths, and how many files it has."""
    files = [path for path in root.rglob("*") if path.is_file()]
    return sum(path.stat().st_blocks * 512 for path in files), len(files)


def stored_bytes(root: Path, folder: str) -> int:
    """Length of all files below a folder of a store."""
    return sum(path.stat().st_size for path in (root / folder).rglob("*") if path.is_file())


# --- R ------------------------------------------------------------------------------------


@functools.cache
def _r() -> subprocess.Popen[str]:
    if shutil.which("Rscript") is None:
        raise RuntimeError(
            "Rscript is not installed: storr's steps run in it (Debian: r-base-core r-cran-digest)"
        )
    process = subprocess.Popen(
        ["Rscript", "--vanilla", str(HERE / "storr_steps.R")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    atexit.register(process.kill)
    return process


def in_r(code: str) -> Took:
    """CPU and wall seconds of a line of R; all lines run in one R."""
    process = _r()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(code.replace("\n", " ") + "\n")
    process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"R could not run {code[:80]}")
    cpu, wall = map(float, line.split())
    return cpu, wall


def per(count: int, took: Took) -> Took:
    """One of several."""
    return took[0] / count, took[1] / count


def told_by_r(code: str) -> str:
    """The text that an expression of R gives."""
    path = fresh("told")
    in_r(f"cat({code}, file = {quoted(path)})")
    return path.read_text(encoding="utf-8")


def quoted(path: object) -> str:
    """A text as R and JSON write it."""
    return json.dumps(str(path))


@functools.cache
def steps_root() -> Path:
    """A folder that R keeps as storr does."""
    root = fresh("steps")
    in_r(f"steps_open({quoted(root)})")
    return root


# --- peers --------------------------------------------------------------------------------


def peer(name: str) -> Any:
    """A library that is compared with.

    Raises:
        RuntimeError: It is not installed.
    """
    if importlib.util.find_spec(name) is None:
        raise RuntimeError(f"{name} is not installed: pip install {name}")
    return importlib.import_module(name)


def cache_of_disk() -> Any:
    """A new diskcache with its defaults: SQLite without a sync at each set, nothing verified."""
    return peer("diskcache").Cache(str(fresh("diskcache")))


def blake3() -> tuple[Callable[[bytes], object], str]:
    """The hash function for the bare sum of steps, on one thread, and whose it is."""
    if importlib.util.find_spec("blake3") is not None:
        from blake3 import blake3 as theirs

        return (lambda data: theirs(data).digest()), "blake3 of PyPI"
    from tare._tare import Blake3

    def ours(data: bytes) -> str:
        state = Blake3()
        state.update(data)
        return state.hexdigest()

    return ours, "blake3 of Tare's core: the package of PyPI is not installed"


def versions() -> dict[str, str]:
    """Versions of what is compared with; how R's side is called."""
    from importlib import metadata

    known = {}
    for name in ("diskcache", "joblib", "blake3", "obstore", "zstandard", "numpy"):
        try:
            known[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            known[name] = "not installed"
    if shutil.which("Rscript") is not None:
        known["R"] = told_by_r("R.version.string")
        known["digest"] = told_by_r("as.character(packageVersion('digest'))")
    return known


# --- an S3 server -------------------------------------------------------------------------


@functools.cache
def s3() -> str:
    """The endpoint of a moto server with the bucket ``bench``.

    Raises:
        RuntimeError: It is not installed or does not start.
    """
    named = os.environ.get("TARE_MOTO_SERVER")
    own = Path(sys.executable).with_name("moto_server")
    program = named or (str(own) if own.exists() else shutil.which("moto_server"))
    if program is None:
        raise RuntimeError(
            "moto_server is not installed: pip install 'moto[server]', or TARE_MOTO_SERVER names it"
        )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    quiet = subprocess.DEVNULL
    server = subprocess.Popen([program, "-H", "127.0.0.1", "-p", str(port)], stdout=quiet, stderr=quiet)
    atexit.register(server.kill)
    endpoint = f"http://127.0.0.1:{port}"
    for _ in range(300):
        if server.poll() is not None:
            raise RuntimeError(f"moto_server ended with {server.returncode}")
        try:
            urllib.request.urlopen(f"{endpoint}/moto-api/", timeout=5).close()
            break
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    else:
        raise RuntimeError("moto_server did not answer in 30 s")
    os.environ.setdefault("AWS_ACCESS_KEY_ID", "test")
    os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "test")
    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/bench", method="PUT"), timeout=10).close()
    return endpoint
