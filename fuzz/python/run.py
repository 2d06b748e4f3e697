"""Fuzzes the Python parsers: replays every corpus, then mutates it for some seconds each.

    python fuzz/python/run.py [--seconds N] [TARGET ...]

A target is a module beside this one with a function ``fuzz(data: bytes)`` that must return for
any bytes, letting only the package's own errors pass inside. Its corpus is the folder of its
name in ``fuzz/corpus``. What fails is shrunk, and kept in ``fuzz/artifacts``. A search goes on
where the last one ended: ``fuzz/work`` keeps its number of rounds, each of which has inputs of its own.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import sys
import time
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

HERE = Path(__file__).resolve().parent
CORPUS = HERE.parent / "corpus"
ARTIFACTS = HERE.parent / "artifacts"
WORK = HERE.parent / "work"

# One line for each parser that reads what others wrote.
TARGETS = (
    "blit_json",
    "codec_id",
    "compressed",
    "plan_parse",
    "plan_reader",
    "r_files",
    "read_files",
    "record_reader",
    "store_archive",
    "tagged_values",
    "worker_reply",
)

EXAMPLES = 500  # a round, between two looks at the clock


def mutated(seeds: list[bytes]) -> st.SearchStrategy[bytes]:
    """Any bytes, or a seed with some slices replaced, repeated or cut."""
    if not seeds:
        return st.binary(max_size=2000)
    pieces = sorted({seed[at : at + 12] for seed in seeds for at in range(0, min(len(seed), 600), 5)})
    piece = st.one_of(st.sampled_from(pieces or [b""]), st.binary(max_size=6))
    edit = st.tuples(st.integers(0, 1 << 16), st.integers(0, 20), piece, st.integers(1, 3))

    def apply(seed: bytes, edits: list[tuple[int, int, bytes, int]]) -> bytes:
        for at, cut, new, times in edits:
            start = at % (len(seed) + 1)
            seed = seed[:start] + new * times + seed[start + cut :]
        return seed

    changed = st.builds(apply, st.sampled_from(seeds), st.lists(edit, max_size=6))
    return st.one_of(changed, changed, changed, st.binary(max_size=300))


def replay(name: str, fuzz: Callable[[bytes], None]) -> list[bytes]:
    """Run a target over its corpus; return the corpus."""
    seeds = []
    for path in sorted((CORPUS / name).iterdir()):
        data = path.read_bytes()
        try:
            fuzz(data)
        except Exception:
            print(f"{name}: fails on {path}", file=sys.stderr)
            raise
        seeds.append(data)
    if not seeds:
        raise SystemExit(f"{name}: its corpus is empty")
    return seeds


def search(name: str, fuzz: Callable[[bytes], None], seeds: list[bytes], seconds: float) -> int:
    """Mutate the corpus for some seconds; return how many inputs were tried."""
    end = time.monotonic() + seconds
    done = WORK / name / "rounds"
    rounds = int(done.read_text(encoding="utf-8") or 0) if done.exists() else 0
    tried = 0
    last = b""
    while time.monotonic() < end:

        def one(data: bytes) -> None:
            nonlocal tried, last
            tried += 1
            last = data
            fuzz(data)

        config = settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )
        try:
            seeded(f"{name}-{rounds}")(config(given(mutated(seeds))(one)))()
        except Exception:
            # The last input run is the shrunk one.
            ARTIFACTS.mkdir(exist_ok=True)
            path = ARTIFACTS / f"{name}-{hashlib.sha256(last).hexdigest()[:12]}"
            path.write_bytes(last)
            print(f"{name}: failed; the input is {path}", file=sys.stderr)
            raise
        rounds += 1
        done.parent.mkdir(parents=True, exist_ok=True)
        done.write_text(f"{rounds}\n", encoding="utf-8")
    return tried


def main() -> None:
    """Replay and search the targets named on the command line, by default all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("targets", nargs="*", default=TARGETS, metavar="TARGET")
    arguments = parser.parse_args()
    sys.path.insert(0, str(HERE))
    for name in arguments.targets:
        fuzz = importlib.import_module(name).fuzz
        seeds = replay(name, fuzz)
        tried = search(name, fuzz, seeds, arguments.seconds)
        print(f"{name}: {len(seeds)} of the corpus replayed, {tried} new inputs tried")


if __name__ == "__main__":
    main()
