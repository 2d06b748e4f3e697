"""The answers: ``tare measure FILE`` as a user runs it, and what its record says.

Where records of a later version keep something elsewhere, ``verdicts`` and ``reported`` are what changes.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regret.data import CACHE

PYTHON = sys.executable
COMMAND = (PYTHON, "-c", "from tare.cli import main; main()", "measure")
WORDS = ("clear", "close", "can't tell")
GRACE_S = 120.0  # beyond the limit, before a command is ended


@dataclass(frozen=True)
class Answer:
    """The outcome of one run of the command.

    Args:
        elapsed_s: Seconds of the whole command.
        limit_s: Its time limit; 0 if it named none.
        first_s: Seconds to the first verdict; None if none came before the end.
        record: The record; empty if the command failed.
        failed: The last line of its errors, if it failed.
    """

    elapsed_s: float
    limit_s: float
    first_s: float | None
    record: Mapping[str, Any] = field(default_factory=dict)
    failed: str = ""


def asked(name: str, path: Path, load: str, *, limit: str = "", more: Sequence[str] = ()) -> Answer:
    """Returns the answer of a run; with ``REGRET_REUSE`` that of the last one, if there was one.

    Args:
        name: What the answer is kept under.
        path: The file.
        load: ``quiet``, or ``busy`` with every core at work.
        limit: Time limit, as ``--time`` takes it; by default the command's own.
        more: Further arguments.
    """
    folder = CACHE / "answers" / load
    kept, record = folder / f"{name}.json", folder / f"{name}.tare.json"
    if os.environ.get("REGRET_REUSE") and kept.exists():
        return _kept(kept, record)
    record.unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    with spinning(os.cpu_count() or 2 if load == "busy" else 0):
        one = _run(path, record, [*(("--time", limit) if limit else ()), *more])
    kept.write_text(
        json.dumps(
            {"elapsed_s": one.elapsed_s, "limit_s": one.limit_s, "first_s": one.first_s, "failed": one.failed}
        )
    )
    return one


def _kept(kept: Path, record: Path) -> Answer:
    return Answer(**json.loads(kept.read_text()), record=_read(record))


def _read(record: Path) -> dict[str, Any]:
    """The record, also where it was long enough to be compressed."""
    pressed = record.with_name(f"{record.name}.zst")
    if record.exists():
        return dict(json.loads(record.read_text()))
    if pressed.exists():
        from tare import compress

        return dict(json.loads(compress.decompress(pressed.read_bytes(), "zstd", max_output=None)))
    return {}


def _run(path: Path, record: Path, more: Sequence[str]) -> Answer:
    record.with_name(f"{record.name}.zst").unlink(missing_ok=True)
    began = time.monotonic()
    process = subprocess.Popen(
        [*COMMAND, str(path), "--out", str(record), "--progress", "json", *more],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    first, limit_s, last = None, 0.0, ""
    assert process.stderr is not None
    timer: threading.Timer | None = None
    for line in process.stderr:
        last = line.strip() or last
        if not line.startswith("{"):
            continue
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if first is None and event.get("verdict"):
            first = time.monotonic() - began
        if timer is None:
            limit_s = float(event.get("budget_s") or 0)
            timer = threading.Timer((limit_s or 60.0) + GRACE_S, process.kill)
            timer.start()
    status = process.wait()
    elapsed = time.monotonic() - began
    if timer is not None:
        timer.cancel()
    found = _read(record)
    return Answer(elapsed, limit_s, first, found, "" if found else f"exit {status}: {last[:200]}")


@contextlib.contextmanager
def spinning(processes: int) -> Iterator[None]:
    """Keeps so many cores busy, no longer than this process lives."""
    loop = f"import os\nwhile os.getppid() == {os.getpid()}: sum(range(10000))"
    busy = [subprocess.Popen([PYTHON, "-c", loop]) for _ in range(processes)]
    try:
        if busy:
            time.sleep(0.5)
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


# --- what a record says -------------------------------------------------------------------


def verdicts(record: Mapping[str, Any]) -> dict[str, tuple[str | None, str]]:
    """Returns of each use the codec that is recommended, and the word of its confidence."""
    found = {}
    derived = record.get("derived") or {}
    for use, verdict in (derived.get("uses") or derived.get("profiles") or {}).items():
        codec = verdict.get("codec")
        found[str(use)] = (str(codec).partition("@")[0] if codec else None, word_of(verdict))
    return found


def word_of(verdict: Mapping[str, Any]) -> str:
    """Returns the confidence of a verdict in words; those of version 1 are what its flags come to.

    >>> word_of({"named": True, "vague": False}), word_of({"named": False, "vague": True})
    ('clear', "can't tell")
    """
    word = verdict.get("confidence")
    if word in WORDS:
        return str(word)
    if verdict.get("named"):
        return "clear"
    return "can't tell" if verdict.get("vague") or not verdict.get("codec") else "close"


def weights(record: Mapping[str, Any], use: str) -> Mapping[str, Any]:
    """Returns the weights that a record's verdict was computed with: ``w r n v s``."""
    derived = record.get("derived") or {}
    verdict = (derived.get("uses") or derived.get("profiles") or {}).get(use) or {}
    return verdict.get("weights") or {}


@dataclass(frozen=True)
class Reported:
    """Figures that a record reports of one codec on the whole data.

    Args:
        bytes: Encoded bytes.
        times: Seconds by operation: ``encode decode`` in memory, ``write read`` of a file.
        whole: Whether it was measured on the whole, and not predicted from a part.
    """

    bytes: float
    times: Mapping[str, float]
    whole: bool


def reported(record: Mapping[str, Any]) -> dict[str, Reported]:
    """Returns the figures of every codec that a record has times of."""
    share = float((record.get("weighing") or {}).get("share") or 1)
    figures = _figures_said(record)
    found: dict[str, Reported] = {}
    for case in record.get("cases", ()):
        labels = case["labels"]
        plain = {"twin", "grain", "subset"}.isdisjoint(labels) and labels["codec"] != "copy"
        if not plain or case.get("stage", "weigh") != "weigh" or case.get("status") != "ok":
            continue
        id, derived = labels["codec"], (record["derived"]["cases"].get(case["key"]) or {}).get("ops") or {}
        whole = math.isclose(float(labels.get("size", "1")) * share, share) and share >= 1
        if whole:
            times = {op: one["t_ns"] / 1e9 for op, one in derived.items() if one.get("t_ns")}
            size = float(case.get("bytes") or math.nan)
        else:
            said = figures.get(id) or {}
            first, second = (
                ("encode", "decode") if labels.get("medium", "memory") == "memory" else ("write", "read")
            )
            times = {op: said[key] for op, key in ((first, "write_s"), (second, "read_s")) if said.get(key)}
            size = said.get("bytes") or math.nan
        kept = {op: value for op, value in times.items() if op in ("encode", "decode", "write", "read")}
        if kept and id not in found:
            found[id] = Reported(size, kept, whole)
    return found


def _figures_said(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The figures of the whole data that a report shows of each codec."""
    derived = record.get("derived") or {}
    uses = derived.get("uses") or derived.get("profiles") or {}
    return (uses.get("keep") or {}).get("figures") or {}


def settled(record: Mapping[str, Any]) -> set[str]:
    """Returns the codecs that a record has times of, or a reason that more time would not change."""
    done = {"ok", "lossy", "refused", "error", "killed", "timeout", "n/a", "unproven"}
    weighed = {
        case["labels"]["codec"]
        for case in record.get("cases", ())
        if case.get("status") in done and case.get("stage", "weigh") in ("weigh", "screen")
    }
    return weighed | set(reported(record))
