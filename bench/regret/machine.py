"""This machine: a hash that tells it from others, and what writing and reading a warm file take."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import time
from pathlib import Path

from regret.data import CACHE


@functools.cache
def machine() -> str:
    """Returns a hash that tells this machine from others, and says nothing of it."""
    model = ""
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = next((line for line in file if line.startswith("model name")), "")
    return hashlib.sha256(f"regret {platform.node()} {model} {os.cpu_count()}".encode()).hexdigest()[:12]


def file_rate() -> float:
    """Returns the bytes a second of a warm file."""
    return 1 / rates()["read"][1]


@functools.cache
def rates() -> dict[str, list[float]]:
    """Returns what writing and reading a file take: seconds of a call, and seconds a byte; kept for this machine."""
    kept = CACHE / "oracle" / f"file-rates-{machine()}.json"
    if not kept.exists():
        path = CACHE / "rate.bin"
        kept.parent.mkdir(parents=True, exist_ok=True)
        block, many = (
            _file_times(path, os.urandom(1 << 10), 200),
            _file_times(path, os.urandom(1 << 20) * 64, 9),
        )
        path.unlink()
        found = {name: [block[name], (many[name] - block[name]) / (64 << 20)] for name in block}
        kept.write_text(json.dumps(found))
    return dict(json.loads(kept.read_text()))


def _file_times(path: Path, data: bytes, times: int) -> dict[str, float]:
    """Smallest seconds of writing a file, and of reading it into memory that is there.

    Fresh memory for each reading of 32 MB or more would be paid for page by page: 2.1 GB/s where the file gives 6,
    and small files, or libraries that keep their memory, never pay it.
    """
    best = {"write": float("inf"), "read": float("inf")}
    buffer = bytearray(len(data))

    def read() -> None:
        with path.open("rb", buffering=0) as file:
            file.readinto(buffer)

    for _ in range(times):
        for name, call in (("write", functools.partial(path.write_bytes, data)), ("read", read)):
            began = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - began)
    return best
