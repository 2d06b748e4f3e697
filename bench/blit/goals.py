"""What the goals of ``definitions/blit.toml`` measure.

Sizes are exact. Rust's times come from ``examples/bench_blit.rs``, Python's from ``python_times.py``:
both run ours and the peer in turn, and the ratio is the median over the rounds of each round's.
"""

from __future__ import annotations

import functools
import json
import lzma
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("TARE_SHARED", ROOT.parent / "shared"))
NAMES = {"openapi": "openapi-api.github.com"}
Found = tuple[float, float, float, dict[str, Any]]


@dataclass
class Scale:
    """How much is measured."""

    rounds: int = 15
    seconds: float = 2.0
    documents: int = 10_000_000


SCALE = Scale()


def quick() -> None:
    """Few rounds: whether everything runs, not how fast."""
    SCALE.rounds, SCALE.seconds, SCALE.documents = 3, 0.1, 20_000


def about() -> dict[str, Any]:
    """What the record says beside the goals."""
    from tare import codec

    peers = ("msgpack:msgpack", "bson:pymongo", "cbor:cbor2", "flexbuffers", "sqlitejsonb", "pgjsonb")
    versions = {id: codec.Codec.parse(id).library.version for id in peers}
    crates = subprocess.run(
        ["cargo", "tree", "--locked", "--edges", "dev", "--depth", "1"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    ).stdout  # fmt: skip
    told = [" ".join(line.split()[1:]) for line in crates.splitlines() if "json" in line]
    return {"peers": versions, "crates": told, "scale": vars(SCALE)}


# --- data -------------------------------------------------------------------------------


def _read(path: Path) -> bytes:
    if path.suffix == ".xz":
        return lzma.decompress(path.read_bytes())
    if path.suffix == ".zst":
        from tare.compress import decompress

        return decompress(path.read_bytes(), "zstd")
    return path.read_bytes()


def _dumped(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _path(name: str, kind: str) -> Path:
    for folder in ("json", "docs"):
        for ending in (".xz", "", ".zst"):
            path = SHARED / "data" / folder / f"{NAMES.get(name, name)}.{kind}{ending}"
            if path.exists():
                return path
    raise FileNotFoundError(f"no {name}.{kind} under {SHARED}/data; set TARE_SHARED")


@functools.cache
def _minified(name: str) -> bytes:
    return _dumped(json.loads(_read(_path(name, "json"))))


@functools.cache
def _lines(name: str) -> bytes:
    lines = _read(_path(name, "ndjson")).splitlines()
    return b"".join(_dumped(json.loads(line)) + b"\n" for line in lines if line.strip())


@functools.cache
def _documents() -> dict[str, bytes]:
    """Every document of the shared data: whole files, and each line of collections."""
    found: dict[str, bytes] = {}
    for folder in ("json", "docs"):
        for path in sorted((SHARED / "data" / folder).iterdir()):
            if ".ndjson" in path.name:
                for number, line in enumerate(_lines(path.name.partition(".")[0]).splitlines(), 1):
                    found[f"{path.name}:{number}"] = line
            elif ".json" in path.name:
                found[path.name] = _dumped(json.loads(_read(path)))
    return found


# --- sizes ------------------------------------------------------------------------------


def _encoded(text: bytes, **options: Any) -> bytes:
    from tare import blit

    data: bytes = blit.from_json(text, **options)
    assert blit.view(data).to_json() == text or json.loads(blit.view(data).to_json()) == json.loads(text)
    return data


def _sizes(ours: float, peer: float, **detail: Any) -> Found:
    return ours, peer, ours / peer, detail


def size(input: str) -> Found:
    """One document, as it is written by default."""
    text = _minified(input)
    return _sizes(len(_encoded(text)), len(text))


def size_zstd(input: str) -> Found:
    """Both through zstd:3."""
    from tare.compress import compress

    text = _minified(input)
    return _sizes(len(compress(_encoded(text), "zstd:3")), len(compress(text, "zstd:3")))


def size_beside(peer: str, input: str) -> Found:
    """The same values by another format."""
    from tare import codec

    text = _minified(input)
    return _sizes(len(_encoded(text)), len(codec.encode(json.loads(text), peer)))


def _worst(least: int) -> Iterator[tuple[int, int, str]]:
    from tare import blit

    for name, text in _documents().items():
        if len(text) > least:
            yield len(blit.from_json(text, checksum=False)), len(text), name


def size_worst(least: int) -> Found:
    """Most bytes above JSON, without a checksum; 16 are allowed."""
    rows = list(_worst(least))
    ours, peer, name = max(rows, key=lambda row: row[0] - row[1])
    return _sizes(ours - peer, 16, document=name, documents=len(rows))


def size_worst_share(least: int) -> Found:
    """The worst share of JSON among long documents."""
    rows = list(_worst(least))
    ours, peer, name = max(rows, key=lambda row: row[0] / row[1])
    return _sizes(ours / peer, 1, document=name, documents=len(rows))


def size_collection(input: str) -> Found:
    """A collection without compressor beside its lines."""
    from tare import blit

    text = _lines(input)
    if input == "companies":
        text = text[: text.index(b"\n", 8_000_000) + 1]  # the first 8 MB
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.blits"
        with blit.open_collection(path, "w") as collection:
            for line in text.splitlines():
                collection.append_json(line)
        return _sizes(path.stat().st_size, len(text))


# --- times ------------------------------------------------------------------------------


@functools.cache
def _program(name: str) -> str:
    """An example of the crate, built."""
    command = ["cargo", "build", "--locked", "--release", "--quiet", "--example", name]
    subprocess.run(command, cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return str(target / "release/examples" / name)


@functools.cache
def _rust(task: str, input: str) -> dict[str, Any]:
    document = NAMES.get(input, input)
    command = [_program("bench_blit"), task, document, "--minified", "--rounds", str(SCALE.rounds)]
    run = subprocess.run(
        command, check=False, capture_output=True, text=True, env=os.environ | {"TARE_SHARED": str(SHARED)}
    )
    if run.returncode:
        raise RuntimeError(run.stderr.strip().splitlines()[-1])
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def rust(task: str, input: str) -> Found:
    """Ours and the peer in turn, us."""
    found = _rust(task, input)
    ratios = [ours / peer for ours, peer in zip(found["ours_s"], found["peer_s"], strict=True)]
    ours, peer = (statistics.median(found[side]) * 1e6 for side in ("ours_s", "peer_s"))
    detail = {"rounds": len(ratios), "lowest_ratio": min(ratios), "highest_ratio": max(ratios)}
    return ours, peer, statistics.median(ratios), detail


def rust_limit(task: str, limit_ns: float, input: str) -> Found:
    """One call, ns, beside what the design allows."""
    found = _rust(task, input)
    ours = statistics.median(found["ours_s"]) * 1e9
    return (
        ours,
        limit_ns,
        ours / limit_ns,
        {"pointer": found["pointer"], "lowest_ns": min(found["ours_s"]) * 1e9},
    )


def rust_speed(task: str, limit_gb_s: float, input: str) -> Found:
    """Encoded bytes a second, GB/s."""
    found = _rust(task, input)
    ours = found["blit_bytes"] / statistics.median(found["ours_s"]) / 1e9
    return ours, limit_gb_s, ours / limit_gb_s, {"blit_bytes": found["blit_bytes"]}


def python(what: str, input: str) -> Found:
    """One measurement of ``python_times.py``, us."""
    command = [
        sys.executable,
        str(ROOT / "bench/blit/python_times.py"),
        "--seconds",
        str(SCALE.seconds),
        f"{what}/{input}",
    ]
    run = subprocess.run(
        command, check=False, capture_output=True, text=True, env=os.environ | {"TARE_SHARED": str(SHARED)}
    )
    if run.returncode or not run.stdout:
        raise RuntimeError((run.stderr.strip().splitlines() or [f"it measures no {what}/{input}"])[-1])
    found = json.loads(run.stdout)
    return (
        found["ours"] * 1e6,
        found["peer_s"] * 1e6,
        found["ours"] / found["peer_s"],
        {"rounds": found["runs"]},
    )


# --- collections ------------------------------------------------------------------------


@functools.cache
def _blits(folder: str) -> dict[str, dict[str, Any]]:
    """One run of ``examples/bench_blits.rs``: its lines by task."""
    command = [
        _program("bench_blits"),
        str(SCALE.documents),
        "--rounds",
        str(SCALE.rounds),
        "--folder",
        folder,
    ]
    run = subprocess.run(command, check=False, capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(run.stderr.strip().splitlines()[-1])
    return {row["task"]: row for row in map(json.loads, run.stdout.splitlines())}


def collection_memory() -> Found:
    """Most memory of the process while all documents are encoded and committed, MB."""
    found = _blits(tempfile.gettempdir())["encode"]
    ours = found["peak_bytes"] / 1e6
    detail = {name: found[name] for name in ("documents", "json_bytes", "blits_bytes", "seconds")}
    return ours, 256, ours / 256, detail


def collection_random(task: str, limit_ns: float) -> Found:
    """A random document and the text of one field, ns."""
    times = _blits(tempfile.gettempdir())[task]["ns"]
    ours = statistics.median(times)
    return ours, limit_ns, ours / limit_ns, {"rounds": len(times), "lowest_ns": min(times)}


def collection_random_python() -> Found:
    """The same from Python, us: 20,000 documents, warm."""
    from tare import blit

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.blits"
        with blit.open_collection(path, "w") as collection:
            for i in range(20_000):
                collection.append_json(
                    b'{"id":%d,"name":"carrier %d","from":"JFK","delay":%d}' % (i, i % 97, i % 60)
                )
        documents = blit.open_collection(path)
        picks = random.Random(1).choices(range(20_000), k=5_000)
        assert documents[picks[0]]["name"] == f"carrier {picks[0] % 97}"
        times = []
        for _ in range(SCALE.rounds):
            start = time.perf_counter()
            for i in picks:
                documents[i]["name"]
            times.append((time.perf_counter() - start) / len(picks) * 1e6)
    ours = statistics.median(times)
    return ours, 2, ours / 2, {"rounds": len(times), "lowest_us": min(times)}
