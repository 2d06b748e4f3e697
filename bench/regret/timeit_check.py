"""Nanoseconds a call, as a record says, beside ``timeit`` of the same plain call."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from regret.answers import asked, reported
from regret.data import document_path

SIZES = (300, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)  # bytes of JSON
LIBRARIES = (
    "json:stdlib",
    "json:orjson",
    "json:msgspec",
    "json:ujson",
    "json:rapidjson",
    "json:simdjson",
    "json:simplejson",
    "msgpack:msgpack",
    "msgpack:msgspec",
    "msgpack:ormsgpack",
    "cbor:cbor2",
    "bson:pymongo",
)
TIMER = """
import json, sys, timeit
from regret.calls import calls_of
value = json.load(open(sys.argv[1]))
found = {}
for id in sys.argv[2:]:
    calls = calls_of(id, "document")
    data = calls.encode(value)
    for name, call, argument in (("encode", calls.encode, value), ("decode", calls.decode, data)):
        timer = timeit.Timer("call(argument)", globals={"call": call, "argument": argument})
        number = max(1, timer.autorange()[0] // 8)
        found.setdefault(id, {})[name] = min(timer.repeat(9, number)) / number
print(json.dumps(found))
"""


def by_timeit(size: int) -> dict[str, dict[str, float]]:
    """Returns what ``timeit`` says of each library, seconds a call by direction."""
    done = subprocess.run(
        [sys.executable, "-c", TIMER, str(document_path(size)), *LIBRARIES],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).resolve().parents[1],
    )
    return dict(json.loads(done.stdout))


@functools.cache
def compared(limit: str) -> list[dict[str, Any]]:
    """Returns a row for each size, library and direction: what is reported, and what ``timeit`` says.

    Args:
        limit: Time limit of each size's run.
    """
    rows = []
    for size in SIZES:
        more = [word for id in LIBRARIES for word in ("--codec", id)]
        answer = asked(f"timeit-{size}", document_path(size), "quiet", limit=limit, more=more)
        found, true = reported(answer.record), by_timeit(size)
        for id, directions in true.items():
            for name, seconds in directions.items():
                one = found[id].times.get(name) if id in found else None
                rows.append({"size": size, "codec": id, "op": name, "ours": one, "timeit": seconds})
    return rows
