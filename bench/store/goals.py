"""What the goals of ``definitions/store.toml`` measure.

Both sides take turns in one run, in both orders; the ratio is the median of the turns' own. Which clock
is compared is in each goal; the record has both. Times of Python are of one process and all its threads.
What comes back is compared before anything is timed.
"""

from __future__ import annotations

import functools
import json
import random
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tare
from store import inputs
from store.inputs import SCALE, Found, Took, fresh, once, taken, turns
from store.small_values import (
    collect,
    list_keys,
    many_disk,
    many_get,
    many_set,
    small_get,
    small_get_hash,
    small_set,
)
from store.vectors import (
    get_none,
    get_zstd,
    memory_hit,
    set_again,
    set_default,
    set_none,
    size_default,
    storr_get,
    storr_same,
    storr_set,
)

__all__ = [
    "about",
    "collect",
    "epilogue",
    "get_none",
    "get_zstd",
    "list_keys",
    "many_disk",
    "many_get",
    "many_set",
    "memory_hit",
    "quick",
    "s3_client",
    "set_again",
    "set_default",
    "set_none",
    "size_default",
    "small_get",
    "small_get_hash",
    "small_set",
    "storr_get",
    "storr_same",
    "storr_set",
    "stream_memory",
    "together_faults",
    "together_speed",
]

HERE = Path(__file__).resolve().parent
CHILD = str(HERE / "children.py")
US = 1e6


def quick() -> None:
    """Little of everything; what comes out says nothing about speed."""
    inputs.be_quick()


def about() -> dict[str, Any]:
    """What the record says beside the goals."""
    from tare.media.file import filesystem

    return {
        "peers": inputs.versions(),
        "bare_hash": inputs.blake3()[1],
        "filesystem": filesystem(inputs.base()),
        "scale": vars(SCALE),
        "reference": _definition()["reference"],
    }


def epilogue() -> None:
    """Print what was measured of storr itself, elsewhere."""
    for name, figures in _definition()["reference"].items():
        print(f"reference, not run: {name} | {figures}")


def _definition() -> dict[str, Any]:
    return tomllib.loads((HERE.parent / "definitions/store.toml").read_text(encoding="utf-8"))


# --- memory and load ----------------------------------------------------------------------


@functools.cache
def _streamed(compressor: str) -> dict[str, dict[str, Any]]:
    """A long value set and then read by processes of their own."""
    root = fresh("stream")
    found = {}
    for what in ("set", "get"):
        command = [sys.executable, CHILD, "stream", what, str(root), str(SCALE.stream_bytes), compressor]
        run = subprocess.run(command, check=False, capture_output=True, text=True)
        if run.returncode:
            raise RuntimeError(run.stderr.strip().splitlines()[-1])
        found[what] = json.loads(run.stdout)
    tare.open_store(str(root)).destroy(confirm=True)
    return found


def stream_memory(what: str, compressor: str) -> Found:
    """Most memory beside what the process had with the store open, MB."""
    found = _streamed(compressor)[what]
    ours, limit = found["extra_bytes"] / 1e6, 16.0
    return ours, limit, ours / limit, {"value_bytes": SCALE.stream_bytes, "seconds": found["seconds"]}


def _load(root: Path, numbers: Sequence[int], seconds: float) -> list[dict[str, Any]]:
    """Processes that set and get at once; what each says of itself."""
    pipe = subprocess.PIPE
    command = [sys.executable, CHILD, "load", str(root)]
    running = [
        subprocess.Popen(
            [*command, str(number), str(seconds)], stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )
        for number in numbers
    ]
    ready = [child.stdout.readline() for child in running if child.stdout is not None]
    if not all(ready):
        ends = [child.communicate()[1].strip().splitlines()[-1:] for child in running]
        raise RuntimeError(f"a process ended before it began: {next(filter(None, ends), '')}")
    for child in running:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    found = []
    for child, number in zip(running, numbers, strict=True):
        said, _ = child.communicate(timeout=seconds * 10 + 60)
        failed = {
            "number": number,
            "steps": 0,
            "calls": 0,
            "wrong": 0,
            "errors": [f"exit {child.returncode}"],
        }
        found.append(failed if child.returncode else json.loads(said))
    return found


@functools.cache
def _together() -> dict[str, Any]:
    """Eight processes on one store, one alone on another before and after; then everything is looked for."""
    from store.children import value

    def alone() -> float:
        found = _load(fresh("alone"), [0], SCALE.alone_s)[0]
        return float(found["calls"]) / SCALE.alone_s

    before = alone()
    root = fresh("together")
    tare.open_store(str(root)).close()
    all_ = _load(root, range(8), SCALE.together_s)
    after = alone()
    with tare.open_store(str(root)) as store:
        lost = sum(
            store.get(f"{one['number']}/{step}", default=None) != value(one["number"], step)
            for one in all_
            for step in range(one["steps"])
        )
        findings = len(store.check("full").findings)
    return {
        "errors": [text for one in all_ for text in one["errors"]],
        "wrong": sum(one["wrong"] for one in all_),
        "lost": lost,
        "findings": findings,
        "keys": sum(one["steps"] for one in all_),
        "calls_per_s": sum(one["calls"] for one in all_) / SCALE.together_s,
        "alone_calls_per_s": statistics.mean((before, after)),
    }


def together_faults() -> Found:
    """Errors, wrong answers, lost keys and findings of a full check, of eight processes; there may be none."""
    found = _together()
    faults = len(found["errors"]) + found["wrong"] + found["lost"] + found["findings"]
    return float(faults), 0.0, float(faults), found | {"errors": found["errors"][:10]}


def together_speed() -> Found:
    """Calls a second of eight processes, beside one alone."""
    found = _together()
    ours, peer = found["calls_per_s"], found["alone_calls_per_s"]
    return ours, peer, ours / peer, {"keys": found["keys"]}


# --- an object store ----------------------------------------------------------------------


def s3_client(what: str) -> Found:
    """CPU of the client for a value of 4 KiB, beside obstore putting, or getting, an object and its key."""
    obstore = inputs.peer("obstore")
    from obstore.store import S3Store

    endpoint = inputs.s3()
    plain = {"allow_http": True}
    bare = S3Store(
        "bench", endpoint=endpoint, region="us-east-1", access_key_id="test", secret_access_key="test",
        client_options=plain, virtual_hosted_style_request=False,
    )  # fmt: skip
    url = f"s3://bench/store{once()}?endpoint={endpoint}&region=us-east-1&allow_http=1"
    store = tare.open_store(url, compressor="none")
    count = SCALE.requests
    start = once()
    record = b'{"hash": "' + b"0" * 64 + b'"}'

    def body(number: int) -> bytes:
        return random.Random(number).randbytes(4096)

    def put_ours() -> Took:
        values = [body(once()) for _ in range(count)]
        return taken(lambda: [store.set(f"k{at}", value) for at, value in enumerate(values)], count)

    def put_theirs() -> Took:
        values = [body(once()) for _ in range(count)]

        def puts() -> None:
            for at, value in enumerate(values):
                obstore.put(bare, f"bare{start}/{once()}", value, mode="create")
                obstore.put(bare, f"keys{start}/{at}", record)

        return taken(puts, count)

    if what == "put":
        return turns(put_ours, put_theirs, unit=US)
    put_ours()
    for at in range(count):
        obstore.put(bare, f"get{start}/{at}", body(at))
        obstore.put(bare, f"record{start}/{at}", record)

    def get_theirs() -> Took:
        def gets() -> None:
            for at in range(count):
                obstore.get(bare, f"record{start}/{at}").bytes()
                obstore.get(bare, f"get{start}/{at}").bytes()

        return taken(gets, count)

    return turns(
        lambda: taken(lambda: [store.get(f"k{at}") for at in range(count)], count), get_theirs, unit=US
    )
