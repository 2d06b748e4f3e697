"""The process that tries files: a line of JSON in, a line of JSON out, until its input ends."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

from examining import examine
from r_files import examine_r, examine_tables
from sources import R_KINDS

# Libraries reserve far more addresses than they use.
_ADDRESSES = 24 << 30


def main() -> None:
    """Answer each line; the standard output of libraries goes to the log."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        print(json.dumps(_answer(json.loads(line)), default=str), file=answers, flush=True)


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = time.monotonic()
    folder = Path(asked["folder"])
    if asked["task"] == "tables":
        found = examine_tables(folder)
    elif asked["kind"] in R_KINDS:
        found = examine_r(asked["kind"], Path(asked["path"]), folder)
    else:
        expected = Path(asked["expected"]) if asked.get("expected") else None
        found = examine(asked["kind"], Path(asked["path"]), folder, expected)
    return {**asdict(found), "seconds": time.monotonic() - before, "peak": _peak()}


def _peak() -> int:
    """Return the most memory, in bytes, since the file was begun."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    main()
