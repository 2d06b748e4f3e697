"""Run one benchmark: `python bench/run.py NAME [GOAL...]`.

Definitions are data (``bench/definitions/NAME.toml``); what a goal measures is the
function of its name in the definition's module. One line per goal is printed and a
record with the machine's description is kept under ``bench/records/``.
"""

from __future__ import annotations

import datetime as dt
import importlib
import json
import operator
import sys
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
COMPARE = {"<=": operator.le, ">=": operator.ge}


def main(argv: list[str]) -> int:
    """Measure every goal (or those named) and keep the record; 1 if one falls short."""
    if not argv:
        names = ", ".join(sorted(path.stem for path in (HERE / "definitions").glob("*.toml")))
        print(f"usage: bench/run.py NAME [GOAL...]; there are {names}", file=sys.stderr)
        return 2
    path = HERE / "definitions" / f"{argv[0]}.toml"
    if not path.exists():
        print(f"no benchmark {argv[0]!r} under bench/definitions", file=sys.stderr)
        return 2
    definition = tomllib.loads(path.read_text(encoding="utf-8"))
    sys.path.insert(0, str(HERE))
    module = importlib.import_module(definition["module"])
    rows = []
    print("name | ours | peer | ratio | goal | ok/SHORT")
    for goal in definition["goal"]:
        if argv[1:] and goal["name"] not in argv[1:]:
            continue
        rows.append(one(module, goal))
        row = rows[-1]
        print(
            f"{row['name']} | {show(row['ours'])} | {show(row['peer'])} | {show(row['ratio'])} | "
            f"{goal['goal']} | {row['verdict']}",
            flush=True,
        )
        keep(argv[0], definition, rows)  # after each, so that an interrupted run leaves what it has
    return 0 if all(row["verdict"] == "ok" for row in rows) else 1


def one(module: Any, goal: dict[str, Any]) -> dict[str, Any]:
    """Measure one goal; a goal that cannot be measured here says why and is SHORT."""
    row: dict[str, Any] = {**goal, "ours_is": goal["ours"], "peer_is": goal["peer"]}
    try:
        found = getattr(module, goal["name"].replace("-", "_"))()
    except Exception as error:
        return row | {
            "ours": None,
            "peer": None,
            "ratio": None,
            "verdict": f"SHORT: {type(error).__name__}: {error}",
        }
    ours, peer = found if isinstance(found, tuple) else (found, goal["peer_value"])
    sign, limit = goal["goal"].split()
    ratio = ours / peer
    return row | {
        "ours": ours,
        "peer": peer,
        "ratio": ratio,
        "verdict": "ok" if COMPARE[sign](ratio, float(limit)) else "SHORT",
    }


def show(value: float | None) -> str:
    """Four digits are enough."""
    return "-" if value is None else f"{value:.4g}"


def keep(name: str, definition: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """Write the record: machine, versions, every goal."""
    from importlib import metadata

    from tare._tare import __commit__, __version__
    from tare.measure.machine import describe_machine

    machine = describe_machine(None)
    today = dt.datetime.now(dt.UTC)
    folder = HERE / "records" / f"{machine.get('cores', 'n')}-cores-{machine.get('host', 'unknown')[:8]}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{today.date()}-{name}.json"
    if path.exists():
        # A goal measured again replaces its row; the others stand.
        again = {row["name"] for row in rows}
        before = json.loads(path.read_text(encoding="utf-8"))["rows"]
        rows = [row for row in before if row["name"] not in again] + rows
    record = {
        "bench": name,
        "question": definition["question"],
        "at": today.isoformat(timespec="seconds"),
        "tare": f"{__version__} ({__commit__})",
        "machine": machine,
        "libraries": {d.name: d.version for d in metadata.distributions() if d.name in LIBRARIES},
        "rows": rows,
    }
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


LIBRARIES = ("numpy", "pyarrow", "orjson", "msgspec", "pandas", "polars", "duckdb", "pyperf", "rich", "click")

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
