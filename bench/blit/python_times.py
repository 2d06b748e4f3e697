"""What blit costs in Python, beside orjson and msgpack: one JSON line a measurement.

``python bench/blit/python_times.py [--seconds S] [NAME...]`` times ours and the peer's in turn, so that what else
the machine does falls on both. ``ours`` and ``peer`` are the medians in seconds, ``ratio`` is peer / ours.
Before anything is timed, its result is checked. NAME matches as in a shell: ``to_python/*``.
"""

from __future__ import annotations

import argparse
import gc
import json
import lzma
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import orjson

from tare import blit

SHARED = Path(os.environ.get("TARE_SHARED", Path(__file__).resolve().parents[3] / "shared"))
DOCUMENTS = {
    "twitter": "json/twitter.json.xz",
    "citm_catalog": "json/citm_catalog.json.xz",
    "canada": "json/canada.json.xz",
    "attributes": "json/attributes.json.xz",
    "flights-20k": "docs/flights-20k.json.xz",
}
LEAST_S = 0.002  # of one timing: shorter work is repeated within it

# `--cpu` takes the processor's time instead, which a busy machine disturbs less.
CLOCK = time.perf_counter

Case = tuple[str, str, Callable[[], object], Callable[[], object]]


def minified(name: str) -> bytes:
    """A document of the shared data, without spaces."""
    path = SHARED / "data" / name
    text = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    return json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False).encode()


def grown(text: bytes, size: int) -> bytes:
    """A flat document of about ``size`` bytes: the names and values of one, until there are enough."""
    source: dict[str, Any] = json.loads(text)
    while isinstance(source, dict) and len(source) == 1:
        source = next(iter(source.values()))
    out: dict[str, Any] = {}
    length, turn = 2, 0
    while length < size:
        for name, value in source.items():
            key = name if not turn else f"{name}-{turn}"
            out[key] = value
            length += len(json.dumps({key: value}, separators=(",", ":"), ensure_ascii=False).encode()) - 1
            if length >= size:
                break
        turn += 1
    return json.dumps(out, separators=(",", ":"), ensure_ascii=False).encode()


def cases() -> Iterator[Case]:
    """Name, peer, our work, the peer's."""
    texts = {name: minified(path) for name, path in DOCUMENTS.items()}
    for name, text in texts.items():
        document = blit.from_json(text)
        assert blit.view(document).to_python() == orjson.loads(text)
        yield (
            f"to_python/{name}",
            "orjson.loads",
            lambda document=document: blit.view(document).to_python(),
            lambda text=text: orjson.loads(text),
        )
    for name, text in texts.items():
        obj = orjson.loads(text)
        assert blit.view(blit.encode(obj)).to_python() == obj
        yield (
            f"encode/{name}",
            "msgpack.packb",
            lambda obj=obj: blit.encode(obj),
            lambda obj=obj: msgpack.packb(obj),
        )
    for name, text in texts.items():
        yield (
            f"from_json/{name}",
            "orjson.loads",
            lambda text=text: blit.from_json(text),
            lambda text=text: orjson.loads(text),
        )
    for name, text in {
        "flat": grown(texts["attributes"], 120_000),
        "world-110m": minified("docs/world-110m.json.xz"),
    }.items():
        document = blit.from_json(text)
        key = list(orjson.loads(text))[-1 if name == "flat" else 0]
        value = blit.view(document)[key]
        assert (value.to_python() if isinstance(value, blit.View) else value) == orjson.loads(text)[key]
        yield (
            f"field/{name}",
            "orjson.loads",
            lambda document=document, key=key, view=blit.view: view(document)[key],
            lambda text=text, key=key: orjson.loads(text)[key],
        )
    yield from columns(texts["flights-20k"])


def columns(text: bytes) -> Iterator[Case]:
    """Columns of a table as arrays."""
    view = blit.view(blit.from_json(text))
    if not hasattr(view, "column"):
        return
    for name in view[0]:
        if not isinstance(view[0][name], int | float):
            continue
        expected = np.array([row[name] for row in orjson.loads(text)])
        assert np.array_equal(view.column(name).to_numpy(), expected)
        yield (
            f"column/{name}",
            "orjson.loads",
            lambda name=name: view.column(name).to_numpy(),
            lambda name=name: [row[name] for row in orjson.loads(text)],
        )


def repeats(work: Callable[[], object]) -> int:
    """How often work is done within one timing."""
    count = 1
    while once(work, count) * count < LEAST_S and count < 1 << 20:
        count *= 4
    return count


def once(work: Callable[[], object], count: int) -> float:
    """Seconds of one call, over so many."""
    start = CLOCK()
    for _ in range(count):
        work()
    return (CLOCK() - start) / count


def measured(case: Case, seconds: float) -> dict[str, Any]:
    """Both in turn until the time is over, at least seven times."""
    name, peer, ours, theirs = case
    counts = repeats(ours), repeats(theirs)
    times: tuple[list[float], list[float]] = ([], [])
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 7:
        gc.collect()
        for taken, work, count in zip(times, (ours, theirs), counts):
            taken.append(once(work, count))
    mine, other = (statistics.median(taken) for taken in times)
    return {
        "name": name,
        "peer": peer,
        "ours": mine,
        "peer_s": other,
        "ratio": other / mine,
        "runs": len(times[0]),
    }


def main() -> int:
    """Time what is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0, help="time of each measurement")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--cpu", action="store_true", help="processor time instead of the clock's")
    chosen = parser.parse_args()
    if chosen.cpu:
        globals()["CLOCK"] = time.process_time
    for case in cases():
        if not chosen.names or any(fnmatch(case[0], name) for name in chosen.names):
            sys.stdout.write(json.dumps(measured(case, chosen.seconds)) + "\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
