"""What each language's worker adds to a sample, measured with a codec that does nothing."""

from __future__ import annotations

import functools
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

CODECS = {
    "python": "json:orjson",
    "r": "json:r-jsonlite",
    "node": "json:node",
    "java": "json:java-jackson",
    "mono": "json:mono-newtonsoft",
    "rust": "json:rust-serdejson",
}
"""The JSON codec whose samples the worker's share is told of: where there are several, a quick one."""

ROWS = {"small": 12, "large": 1200}
"""Records of a document of about 1 KB, and of one of about 100 KB."""

TARGET_NS = 2_000_000
SAMPLES = 15
COLUMNS = ("wall", "cpu")
_BENCH = Path(__file__).resolve().parents[1]
_DEADLINE_S = 120.0


def worker_overhead(input: str) -> float:
    """The largest share of a sample, on either clock, that is the worker's own and not the codec's.

    A sample costs the worker once what a sample without calls does, and for each call what a call of the codec
    ``none`` does. Both are held against samples of a real codec, in batches as the worker calibrates them.
    """
    from tare.measure.worker_client.client import Worker

    with Worker(input, command(input)) as worker:
        found = {
            (size, what, clock): share
            for size in ROWS
            for what, both in shares(worker, input, size).items()
            for clock, share in both.items()
        }
    for name, share in found.items():
        print(f"  {input}: {' '.join(name)} {share:.3%}", file=sys.stderr)
    return max(found.values())


def shares(worker: Any, language: str, size: str) -> dict[str, dict[str, float]]:
    """The worker's share of samples of encoding and of decoding, by clock."""
    ask = functools.partial(worker.request, deadline_s=_DEADLINE_S)
    ask("load", path=str(_document(size)), kind="document", **{"as": "json"})
    for codec in (f"none:{language}", CODECS[language]):
        ask("prepare", codec=codec, threads=1, delivery="whole")
    found = {}
    for what in ("encode", "decode"):
        # A compiler that is still at work beside an empty sample is seen on the CPU clock: the least of three counts.
        alones = [_sample(ask, "null", None)[0]]
        real, calls = _sample(ask, what, CODECS[language])
        alones.append(_sample(ask, "null", None)[0])
        nothing, nothings = _sample(ask, what, f"none:{language}")
        alones.append(_sample(ask, "null", None)[0])
        alone = {clock: min(one[clock] for one in alones) for clock in COLUMNS}
        found[what] = {
            clock: (alone[clock] + max(0.0, nothing[clock] - alone[clock]) / nothings * calls) / real[clock]
            for clock in COLUMNS
        }
    return found


def _sample(ask: Any, what: str, codec: str | None) -> tuple[dict[str, float], int]:
    """Median wall and CPU time of a sample in ns, and its calls: calibrated, or one that does nothing at all."""
    fields = {"codec": codec, "batch": 0, "target_ns": TARGET_NS, "warm_ms": 2000} if codec else {"batch": 1}
    asked = {"what": what, "gc": "off", "budget_ms": 4000, **fields}
    ask("run", samples=3, **asked)  # what is compiled, is compiled now
    reply = ask("run", samples=SAMPLES if codec else 101, **asked)
    rows = [dict(zip(reply["cols"], row, strict=True)) for row in reply["samples"]]
    wall = statistics.median(row["wall_ns"] for row in rows)
    cpu = statistics.median(row["user_ns"] + row["sys_ns"] for row in rows)
    return {"wall": wall, "cpu": max(1.0, cpu)}, int(reply["batch"])


@functools.cache
def _document(size: str) -> Path:
    rows = [
        {"id": n, "name": f"row {n}", "price": n / 4, "tags": ["a", "b"], "note": None}
        for n in range(ROWS[size])
    ]
    path = Path(tempfile.mkdtemp(prefix="tare-bench-")) / f"{size}.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def command(language: str) -> tuple[str, ...]:
    """The program of a language's worker, with the codec ``none``."""
    from tare.measure.worker_client.languages import command_of

    if language != "python":
        return command_of(language, {})
    start = f"import sys; sys.path.insert(0, {str(_BENCH)!r}); from measure.overhead import python_worker; python_worker()"
    return (sys.executable, "-c", start)


def python_worker() -> None:
    """Python's worker with one more format, ``none``: no run of a user may meet it, so Tare has it not."""
    from tare import formats
    from tare.formats.base import Format, Library
    from tare.measure.worker.main import main

    library = Library(
        name="python",
        native={"document": "python"},
        encode=lambda _: b"\0",
        decode=lambda _: None,
    )
    nothing = Format(
        id="none", title="nothing", extensions=(), kinds=frozenset({"document"}), libraries=(library,)
    )
    formats.FORMATS = (*formats.FORMATS, nothing)
    main()
