"""Processes that ``goals`` starts: streams whose memory is watched, and loads of many at once.

``children.py stream set|get PATH BYTES COMPRESSOR`` prints ``{"extra_bytes", "seconds"}``;
``children.py load PATH NUMBER SECONDS`` waits for a line, works, and prints what it did.
"""

from __future__ import annotations

import io
import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

BLOCK = 8 << 20
LARGE = 200_000
SHARED_KEYS = 64


# --- memory -------------------------------------------------------------------------------


class Endless(io.RawIOBase):
    """So many bytes, made of one block again and again, which is in memory before anything is measured."""

    def __init__(self, block: bytes, size: int) -> None:
        super().__init__()
        self._block, self._left, self._size = memoryview(block), size, size

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """What comes next."""
        at = (self._size - self._left) % len(self._block)
        count = min(len(buffer), self._left, len(self._block) - at)
        buffer[:count] = self._block[at : at + count]
        self._left -= count
        return count


def stream(what: str, path: str, size: int, compressor: str) -> dict[str, Any]:
    """Set or get a value of ``size`` bytes as a stream; most memory beside what the process had before."""
    import numpy as np

    import tare

    block = (np.random.RandomState(1).randint(0, 1 << 32, BLOCK // 8, np.uint32) * 2.0**-32).tobytes()
    store = tare.open_store(path, compressor=compressor)
    space = bytearray(1 << 20)
    start = time.perf_counter()
    call: Callable[[], object]
    if what == "set":
        source = Endless(block, size)
        call = lambda: store.set("stream", source)  # noqa: E731 - one of two
    else:
        call = lambda: drained(store.open("stream"), space, size)  # noqa: E731 - one of two
    before = mark()
    call()
    return {"extra_bytes": peak() - before, "seconds": time.perf_counter() - start}


def drained(reader: Any, space: bytearray, size: int) -> None:
    """Read to the verified end."""
    total = 0
    while count := reader.readinto(space):
        total += count
    if total != size:
        raise RuntimeError(f"{total} of {size} bytes came back")


def mark() -> int:
    """Forget the peak; what is resident now, in bytes."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _status("VmRSS")


def peak() -> int:
    """Most that was resident since `mark`, in bytes."""
    return _status("VmHWM")


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {name}")


# --- load ---------------------------------------------------------------------------------


def value(number: int, step: int) -> Any:
    """What a process sets at a step: a number, a document, and every 50th time bytes that need a file."""
    if step % 50 == 0:
        return random.Random(number << 32 | step).randbytes(LARGE)
    return {"process": number, "step": step} if step % 2 else number + step / 7


def load(path: str, number: int, seconds: float) -> dict[str, Any]:
    """Set and get for so long: three gets to a set, own keys once each, a few keys that all overwrite."""
    import tare

    store = tare.open_store(path)
    choose = random.Random(number)
    errors: list[str] = []
    steps = calls = wrong = 0
    print("ready", flush=True)
    sys.stdin.readline()
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        try:
            store.set(f"{number}/{steps}", value(number, steps))
            steps += 1
            if steps % 8 == 0:
                store.set(f"shared/{choose.randrange(SHARED_KEYS)}", [number, steps])
                calls += 1
            for _ in range(3):
                one = choose.randrange(steps)
                wrong += store.get(f"{number}/{one}") != value(number, one)
            found = store.get(f"shared/{choose.randrange(SHARED_KEYS)}", default=None)
            wrong += found is not None and len(found) != 2
            calls += 5
        except Exception as error:
            errors.append(f"{type(error).__name__}: {error}"[:300])
            if len(errors) > 100:
                break
    store.close()
    return {"number": number, "steps": steps, "calls": calls, "wrong": wrong, "errors": errors}


if __name__ == "__main__":
    if sys.argv[1] == "stream":
        print(json.dumps(stream(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])))
    else:
        print(json.dumps(load(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))))
