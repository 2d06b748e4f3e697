"""What ``goals`` feeds and starts: inputs, stock tools, the native driver, processes.

Inputs are 135 MB each, made once in a cache folder outside the repository from the shared data
(``TARE_SHARED``) and from generators: copies of a base of 30 to 100 MB, further apart than any
window that is used.
"""

from __future__ import annotations

import functools
import glob
import hashlib
import io
import lzma
import os
import shlex
import shutil
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("TARE_SHARED", ROOT.parent / "shared"))
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tare-bench"
LZ4_CRATE = "lz4-sys-1.11.1+lz4-1.10.0"
MIB = 1 << 20


@dataclass
class Scale:
    """How much is measured."""

    input_bytes: int = 135_000_000
    rounds: int = 9
    stream_bytes: int = 4 << 30
    trip_bytes: int = 5 << 30
    pread_bytes: int = 1 << 30
    memory_bytes: int = 400_000_000


SCALE = Scale()


def be_quick() -> None:
    """Small inputs and few rounds: whether everything runs, not how fast."""
    SCALE.input_bytes, SCALE.rounds = 8_000_000, 3
    SCALE.stream_bytes = SCALE.trip_bytes = SCALE.pread_bytes = 64 * MIB
    SCALE.memory_bytes = 40_000_000


# --- inputs -------------------------------------------------------------------------


def _rser() -> bytes:
    """The five tables of nycflights13 as R serialized them, of which flights is nearly all."""
    return lzma.decompress((SHARED / "data/r/nycflights13/nycflights13.rds").read_bytes())


def _csv() -> bytes:
    return lzma.decompress((SHARED / "data/tables/nycflights13/flights.csv.xz").read_bytes())


def _flights() -> Any:
    import pyarrow.parquet as pq

    return pq.read_table(SHARED / "data/tables/nycflights13/flights.parquet").to_pandas()


def _json() -> bytes:
    text: str = _flights().to_json(orient="records", date_format="iso")
    return text.encode()


def _intdbl() -> bytes:
    """Fifteen columns of flights as doubles, one column after the other."""
    import numpy as np

    flights = _flights()
    flights["time_hour"] = flights["time_hour"].astype("int64")
    columns = flights.select_dtypes("number").astype(float)
    return np.concatenate([columns[name].to_numpy() for name in columns]).tobytes()


def _runif32() -> bytes:
    """Doubles as R's runif makes them: the Mersenne Twister's 32 bits times 2^-32."""
    import numpy as np

    twister = np.random.RandomState(1)
    words = twister.randint(0, 1 << 32, SCALE.input_bytes // 8, dtype=np.uint32)
    return (words * 2.0**-32).tobytes()


def _unif53() -> bytes:
    import numpy as np

    return np.random.default_rng(1).random(SCALE.input_bytes // 8).tobytes()


def _random() -> bytes:
    return os.urandom(64 * MIB)


BASES: dict[str, Callable[[], bytes]] = {
    "rser": _rser,
    "csv": _csv,
    "json": _json,
    "intdbl": _intdbl,
    "runif32": _runif32,
    "unif53": _unif53,
    "random": _random,
}


def made(name: str, make: Callable[[Path], None]) -> Path:
    """A file of the cache, made if it is not there."""
    path = CACHE / name
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(path.name + ".partial")
        make(partial)
        partial.rename(path)
    return path


def source(name: str, size: int | None = None) -> Path:
    """An input of section 3 of the design, of ``size`` bytes or the usual ones."""
    size = size or SCALE.input_bytes

    def make(path: Path) -> None:
        base = BASES[name]()
        whole, rest = divmod(size, len(base))
        path.write_bytes(base * whole + base[:rest])

    return made(f"{name}-{size}", make)


# --- programs -----------------------------------------------------------------------


@functools.cache
def driver() -> str:
    """``examples/stream.rs``, built."""
    command = ["cargo", "build", "--locked", "--release", "--quiet", "--example", "stream"]
    subprocess.run(command, cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return str(target / "release/examples/stream")


@functools.cache
def lz4() -> str:
    """lz4 1.10, which Debian 12 does not have, from the sources in the crate that we link."""
    home = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
    found = glob.glob(f"{home}/registry/src/*/{LZ4_CRATE}/liblz4")
    if not found:
        raise FileNotFoundError(f"no sources of {LZ4_CRATE} in cargo's registry")

    def make(path: Path) -> None:
        shutil.copytree(found[0], path)
        subprocess.run(["make", "-s", "lz4"], cwd=path / "programs", check=True, capture_output=True)

    return str(made(LZ4_CRATE, make) / "programs/lz4")


def program(command: str) -> list[str]:
    """A command's words, its program looked up: ``stream`` is ours, ``lz4`` is built."""
    name, *rest = shlex.split(command)
    if name == "stream":
        return [driver(), *rest]
    if name == "lz4":
        return [lz4(), *rest]
    found = shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"{name} is not installed")
    return [found, *rest]


@functools.cache
def versions() -> dict[str, str]:
    """What the stock tools say they are."""
    said = {}
    for name in ("zstd", "pzstd", "lz4", "pigz", "bgzip", "gzip"):
        try:
            run = subprocess.run([*program(name), "--version"], check=False, capture_output=True, text=True)
            said[name] = (run.stdout + run.stderr).strip().split("\n")[0]
        except FileNotFoundError as error:
            said[name] = str(error)
    return said


# --- runs ---------------------------------------------------------------------------


def seconds(command: str, file: Path, output: Path | None = None) -> float:
    """Wall time of a process that reads ``file`` as its input; its output goes to null."""
    words = program(command)
    with open(file, "rb") as stdin, open(output or os.devnull, "wb") as stdout:
        start = time.perf_counter()
        subprocess.run(words, stdin=stdin, stdout=stdout, stderr=subprocess.DEVNULL, check=True)
        return time.perf_counter() - start


def stored(command: str, file: Path) -> Path:
    """What ``command`` writes for ``file``; kept beside the input for this run."""
    ours = command.startswith("stream")
    name = f"{file.name}.{hashlib.sha256(command.encode()).hexdigest()[:12]}"
    path = CACHE / "stored" / name
    if (ours and path not in FRESH) or not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        seconds(command, file, path)
        FRESH.add(path)
    return path


FRESH: set[Path] = set()


@dataclass
class Pair:
    """Two commands timed in turn."""

    ours: list[float]
    peer: list[float]

    def ratio(self) -> float:
        """Median over the rounds of how much faster ours was."""
        return statistics.median(peer / ours for ours, peer in zip(self.ours, self.peer, strict=True))

    def spread(self) -> tuple[float, float]:
        """Lowest and highest such ratio."""
        ratios = [peer / ours for ours, peer in zip(self.ours, self.peer, strict=True)]
        return min(ratios), max(ratios)


def interleaved(ours: tuple[str, Path], peer: tuple[str, Path]) -> Pair:
    """Both commands in turn, the first one alternating; five rounds or more."""
    slow = max(seconds(*ours), seconds(*peer))  # also warms the page cache
    rounds = SCALE.rounds if slow < 1 else min(SCALE.rounds, 5)
    pair = Pair([], [])
    for number in range(rounds):
        for mine in (True, False) if number % 2 else (False, True):
            (pair.ours if mine else pair.peer).append(seconds(*(ours if mine else peer)))
    return pair


def high_water(pid: int) -> int:
    """Bytes of the most memory a process held so far; 0 once it is over."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith("VmHWM"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


@dataclass
class Piped:
    """What a pipeline did."""

    peaks: list[int]
    sent: str
    got: str
    bytes_out: int


def piped(commands: list[str], feed: Iterator[bytes] | Path, *, hashed: bool = False) -> Piped:
    """Runs a pipeline, fed from a file or by a thread; its last output is hashed or thrown away.

    Memory is each process's own high-water mark, asked every 5 ms: what ``wait4`` says would
    count this process's memory before the program was loaded.
    """
    processes: list[subprocess.Popen[bytes]] = []
    stdin: Any = open(feed, "rb") if isinstance(feed, Path) else subprocess.PIPE
    for number, command in enumerate(commands):
        last = number + 1 == len(commands)
        stdout = subprocess.PIPE if hashed or not last else subprocess.DEVNULL
        processes.append(subprocess.Popen(program(command), stdin=stdin, stdout=stdout))
        if isinstance(stdin, io.IOBase):
            stdin.close()
        stdin = processes[-1].stdout
    sent, got, count = hashlib.sha256(), hashlib.sha256(), [0]

    def send() -> None:
        with processes[0].stdin as pipe:  # type: ignore[union-attr]
            for part in feed:  # type: ignore[union-attr]
                if hashed:
                    sent.update(part)
                pipe.write(part)

    def take() -> None:
        while part := stdin.read(MIB):
            got.update(part)
            count[0] += len(part)

    work = ([] if isinstance(feed, Path) else [send]) + ([take] if hashed else [])
    threads = [threading.Thread(target=each) for each in work]
    for thread in threads:
        thread.start()
    peaks = [0] * len(processes)
    while any(process.poll() is None for process in processes):
        peaks = [max(peak, high_water(p.pid)) for peak, p in zip(peaks, processes, strict=True)]
        time.sleep(0.005)
    for thread in threads:
        thread.join()
    codes = [process.wait() for process in processes]
    if any(codes):
        raise RuntimeError(f"exit codes {codes} of {commands}")
    return Piped(peaks, sent.hexdigest(), got.hexdigest(), count[0])


def endless(name: str, size: int) -> Iterator[bytes]:
    """``size`` bytes of an input over and over, each part of 1 MiB with its number in front.

    So bytes that come from a wrong place, 2^32 further on for example, are other bytes.
    """
    base = source(name).read_bytes() if name != "random" else source(name, 64 * MIB).read_bytes()
    whole = len(base) // MIB
    for number in range(-(-size // MIB)):
        at = number % whole * MIB
        part = number.to_bytes(8, "little") + base[at + 8 : at + MIB]
        yield part[: size - number * MIB]
