"""The noise plan: ten libraries on a 5 MB document, once quiet and once with every core busy."""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parents[1]


def document() -> Path:
    """A deterministic document of 5 MB: orders with customers, lines, prices and notes."""
    rng = random.Random(1)
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
    orders: list[dict[str, Any]] = []
    size = 0
    while size < 5_000_000:
        orders.append(
            {
                "id": len(orders),
                "customer": {"name": " ".join(rng.choices(words, k=2)), "age": rng.randrange(18, 90)},
                "lines": [
                    {
                        "sku": f"S{rng.randrange(10**6):06}",
                        "price": rng.randrange(10**5) / 100,
                        "n": rng.randrange(9),
                    }
                    for _ in range(rng.randrange(1, 6))
                ],
                "paid": rng.random() < 0.8,
                "note": None if rng.random() < 0.7 else " ".join(rng.choices(words, k=8)),
            }
        )
        size += len(json.dumps(orders[-1])) + 2
    path = Path(tempfile.mkdtemp(prefix="tare-bench-")) / "document-5MB.json"
    path.write_text(json.dumps(orders))
    return path


def measured(path: Path, load: int) -> dict[str, Any]:
    """The plan's record, with so many busy processes beside it."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: sum(range(10000))"]) for _ in range(load)]
    out = path.with_name(f"load-{load}.tare.json")
    try:
        subprocess.run(
            [
                sys.executable,
                "-c",
                "from tare.cli import main; main()",
                "measure",
                str(path),
                "--plan",
                str(BENCH / "plans" / "noise.toml"),
                "--base",
                "json:orjson",
                "--out",
                str(out),
                "--quiet",
            ],
            check=True,
        )
    finally:
        for process in busy:
            process.kill()
            process.wait()
    record: dict[str, Any] = json.loads(out.read_text())
    return record


def pair() -> tuple[dict[str, Any], dict[str, Any]]:
    """The quiet record and the busy one."""
    path = document()
    return measured(path, 0), measured(path, os.cpu_count() or 2)


def aa_width(record: dict[str, Any]) -> tuple[float, bool]:
    """Full width of the base's interval against itself, and whether it contains 1."""
    rows = [row for row in record["derived"]["noise"]["aa"] if row.get("op") == "total"] or record["derived"][
        "noise"
    ]["aa"]
    low, high = min(row["lo"] for row in rows), max(row["hi"] for row in rows)
    return high - low, low <= 1 <= high


def kendall(quiet: dict[str, Any], busy: dict[str, Any]) -> float:
    """Agreement of the order of totals, over the pairs that neither run calls a tie."""
    figures = []
    for record in (quiet, busy):
        cases = {
            case["key"]: case["labels"]["codec"]
            for case in record["cases"]
            if case["status"] == "ok" and "twin" not in case["labels"] and case["labels"]["codec"] != "copy"
        }
        figures.append({codec: record["derived"]["cases"][key]["total"] for key, codec in cases.items()})
    agree = differ = 0
    for a, b in itertools.combinations(sorted(figures[0].keys() & figures[1].keys()), 2):
        tied = any(set(f[a]["letters"]) & set(f[b]["letters"]) for f in figures)
        if not tied:
            same = (figures[0][a]["ratio"] < figures[0][b]["ratio"]) == (
                figures[1][a]["ratio"] < figures[1][b]["ratio"]
            )
            agree, differ = agree + same, differ + (not same)
    return (agree - differ) / max(1, agree + differ)
