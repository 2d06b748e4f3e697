"""What the goals of ``definitions/compress.toml`` measure.

Speeds are MB/s of plain bytes, whole processes from a file in the page cache to null, both
sides in turn; the ratio is the median over the rounds of each round's. Our side is
``examples/stream.rs``, which reads and writes standard streams through the core.
"""

from __future__ import annotations

import functools
import gc
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from compress import inputs
from compress.inputs import MIB, SCALE, interleaved, piped, source, stored

Found = tuple[float, float, float, dict[str, Any]]
THREADS = 2


def quick() -> None:
    """Small inputs; what comes out says nothing about speed."""
    inputs.be_quick()


def about() -> dict[str, Any]:
    """What the record says beside the goals."""
    return {
        "tools": inputs.versions(),
        "lz4": f"built from {inputs.LZ4_CRATE}",
        "inputs": {name: (make.__doc__ or name).split("\n")[0] for name, make in inputs.BASES.items()},
        "scale": vars(SCALE),
    }


def _speeds(pair: inputs.Pair, plain: int, ratio: float | None = None) -> Found:
    ours, peer = (plain / 1e6 / statistics.median(times) for times in (pair.ours, pair.peer))
    low, high = pair.spread()
    detail = {"rounds": len(pair.ours), "lowest_ratio": low, "highest_ratio": high}
    return ours, peer, pair.ratio() if ratio is None else ratio, detail


# --- speed and size -------------------------------------------------------------------


def write_speed(id: str, peer: str, input: str) -> Found:
    """Compressing."""
    file = source(input)
    pair = interleaved((f"stream write {id} {THREADS}", file), (peer, file))
    return _speeds(pair, file.stat().st_size)


def write_size(id: str, peer: str, input: str) -> Found:
    """Plain over stored bytes."""
    file = source(input)
    plain = file.stat().st_size
    ours = plain / stored(f"stream write {id} {THREADS}", file).stat().st_size
    theirs = plain / stored(peer, file).stat().st_size
    return ours, theirs, ours / theirs, {}


def write_memory(id: str, peer: str, input: str) -> Found:
    """Most memory of the process, MB."""
    file = source(input)
    ours, theirs = (
        statistics.median(piped([command], file).peaks[0] for _ in range(3)) / 1e6
        for command in (f"stream write {id} {THREADS}", peer)
    )
    return ours, theirs, ours / theirs, {}


def read_speed(of: str, peer_of: str, peer: str, input: str) -> Found:
    """Decompressing what ``of`` wrote, beside the peer on what ``peer_of`` wrote."""
    file = source(input)
    pair = interleaved((f"stream read {THREADS}", stored(of, file)), (peer, stored(peer_of, file)))
    return _speeds(pair, file.stat().st_size)


def threads_write(id: str, input: str) -> Found:
    """Two threads against twice one, compressing."""
    file = source(input)
    return _doubled(interleaved((f"stream write {id} 2", file), (f"stream write {id} 1", file)), file)


def threads_read(of: str, input: str) -> Found:
    """Two threads against twice one, decompressing."""
    file = source(input)
    packed = stored(of, file)
    return _doubled(interleaved(("stream read 2", packed), ("stream read 1", packed)), file)


def _doubled(pair: inputs.Pair, file: Path) -> Found:
    ours, one, ratio, detail = _speeds(pair, file.stat().st_size)
    return ours, 2 * one, ratio / 2, detail


# --- memory and length ------------------------------------------------------------------


@functools.cache
def _long_stream(id: str, input: str) -> list[int]:
    """Peaks of the writer and of the reader of a long stream, one piped into the other."""
    commands = [f"stream write {id} {THREADS}", f"stream read {THREADS}"]
    return piped(commands, inputs.endless(input, SCALE.stream_bytes)).peaks


def stream_memory(id: str, chunk_mib: int, side: str, input: str) -> Found:
    """Most memory of one side of a 4 GiB stream, MB."""
    ours = _long_stream(id, input)[("write", "read").index(side)] / 1e6
    limit = 16 + THREADS * 2 * chunk_mib * MIB / 1e6
    return ours, limit, ours / limit, {"stream_bytes": SCALE.stream_bytes}


def round_trip(id: str) -> Found:
    """Bytes that come back from a 5 GiB stream, if their hash is that of what was sent."""
    commands = [f"stream write {id} {THREADS}", f"stream read {THREADS}"]
    start = time.perf_counter()
    done = piped(commands, inputs.endless("csv", SCALE.trip_bytes), hashed=True)
    took = time.perf_counter() - start
    same = done.bytes_out if done.got == done.sent else 0
    return same, SCALE.trip_bytes, same / SCALE.trip_bytes, {"sha256": done.got, "seconds": took}


def added_memory(id: str, peer_mb: float) -> Found:
    """Most memory beside a buffer of 400 MB while it is compressed, MB."""
    file = source("csv", SCALE.memory_bytes)
    peaks = piped([f"stream buffer {id} {THREADS} {file}"], Path("/dev/null")).peaks
    ours = (peaks[0] - SCALE.memory_bytes) / 1e6
    return ours, peer_mb, ours / peer_mb, {"peer_measured": "fstlib 5174c38, from the design, not here"}


def pread() -> Found:
    """4 KiB at random from 1 GiB of csv, us, beside reading and decoding a chunk of it."""
    size = SCALE.pread_bytes

    def make(path: Path) -> None:
        base = source("csv").read_bytes()
        with open(path, "wb") as file:
            file.writelines(base[: size - at] for at in range(0, size, len(base)))

    file = stored(f"stream write zstd:3 {THREADS}", inputs.made(f"csv-long-{size}", make))
    rounds = []
    for seed in range(SCALE.rounds):
        ours, peer = _floats(f"stream pread {file} 200 {seed + 1}")
        rounds.append((ours * 1e6, peer * 1e6, ours / peer))
    ours, peer, ratio = (statistics.median(column) for column in zip(*rounds, strict=True))
    return ours, peer, ratio, {"rounds": len(rounds)}


# --- calls ------------------------------------------------------------------------------


def _floats(command: str) -> list[float]:
    run = subprocess.run(inputs.program(command), check=True, capture_output=True, text=True)
    return [float(word) for word in run.stdout.split()]


def _best(call: Callable[[], object], count: int) -> float:
    """Seconds of the quickest of ``count`` calls, taken in runs of 20 us or more."""
    start = time.perf_counter()
    call()
    each = max(1, int(20e-6 / max(time.perf_counter() - start, 1e-9)))
    best = float("inf")
    for _ in range(max(3, count // each)):
        start = time.perf_counter()
        for _ in range(each):
            call()
        best = min(best, (time.perf_counter() - start) / each)
    return best


def small_object(size: int, operation: str) -> Found:
    """One Python call on a small object, us, beside ``zstandard``'s."""
    import zstandard

    from tare import compress

    plain = source("csv").read_bytes()[:size]
    packed = zstandard.compress(plain, 3)
    assert compress.decompress(compress.compress(plain, "zstd:3"), "zstd") == plain
    calls: list[Callable[[], object]] = {
        "compress": [lambda: compress.compress(plain, "zstd:3"), lambda: zstandard.compress(plain, 3)],
        "decompress": [lambda: compress.decompress(packed, "zstd"), lambda: zstandard.decompress(packed)],
    }[operation]
    return _in_turn(lambda: _best(calls[0], 2000), lambda: _best(calls[1], 2000))


def python_overhead(mib: int, operation: str, id: str) -> Found:
    """A Python call, us, beside the same call in Rust; the quickest of each round."""
    from tare import compress

    size = mib * MIB
    file = source("csv", size)
    plain = file.read_bytes()
    packed = compress.compress(plain, id)
    call: Callable[[], object] = {
        "compress": lambda: compress.compress(plain, id),
        "decompress": lambda: compress.decompress(packed, id.split(":", maxsplit=1)[0]),
    }[operation]
    count = 100 // mib + 10
    column = ("compress", "decompress").index(operation)
    return _in_turn(lambda: _best(call, count), lambda: _floats(f"stream calls {id} {count} {file}")[column])


def _in_turn(ours: Callable[[], float], peer: Callable[[], float]) -> Found:
    rounds = []
    gc.disable()
    try:
        for number in range(SCALE.rounds):
            if number % 2:
                mine, theirs = ours(), peer()
            else:
                theirs, mine = peer(), ours()
            rounds.append((mine * 1e6, theirs * 1e6, mine / theirs))
    finally:
        gc.enable()
    mine, theirs, ratio = (statistics.median(column) for column in zip(*rounds, strict=True))
    return mine, theirs, ratio, {"rounds": len(rounds)}
