"""Run one benchmark: `python bench/run.py NAME [--quick] [GOAL...]`; GOAL is a name or a pattern.

Definitions are data (``bench/definitions/NAME.toml``); what a goal measures is the
function of its name in the definition's module, or the ``function`` that it names, called
``with`` what it says. A goal with ``each`` stands for one goal per input. One line per goal is
printed, with its ``note`` if it has one, and a record with the machine's description is kept
under ``bench/records/``, unless ``--quick`` asks only whether everything runs.
"""

from __future__ import annotations

import datetime as dt
import importlib
import json
import operator
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
COMPARE = {"<=": operator.le, ">=": operator.ge}


def main(argv: list[str]) -> int:
    """Measure every goal (or those named) and keep the record; 1 if one falls short."""
    if not argv:
        names = ", ".join(
            [*sorted(path.stem for path in (HERE / "definitions").glob("*.toml")), "experiments"]
        )
        print(f"usage: bench/run.py NAME [GOAL...]; there are {names}", file=sys.stderr)
        return 2
    if argv[0] == "experiments":
        import experiments

        return experiments.main(argv[1:])
    path = HERE / "definitions" / f"{argv[0]}.toml"
    if not path.exists():
        print(f"no benchmark {argv[0]!r} under bench/definitions", file=sys.stderr)
        return 2
    definition = tomllib.loads(path.read_text(encoding="utf-8"))
    sys.path.insert(0, str(HERE))
    module = importlib.import_module(definition["module"])
    quick = "--quick" in argv
    if quick:
        module.quick()
    goals = list(expanded(definition["goal"]))
    wanted = [word for word in argv[1:] if word != "--quick"]
    for word in wanted:
        if not any(named(goal, word) for goal in goals):
            print(f"no goal {word!r} in {path.name}", file=sys.stderr)
            return 2
    rows = []
    print("name | ours | peer | ratio | goal | ok/SHORT")
    for goal in goals:
        if wanted and not any(named(goal, word) for word in wanted):
            continue
        rows.append(one(module, goal))
        row = rows[-1]
        print(
            f"{row['name']} | {show(row['ours'])} | {show(row['peer'])} | {show(row['ratio'])} | "
            f"{goal['goal']} | {row['verdict']}" + (f" | {goal['note']}" if "note" in goal else ""),
            flush=True,
        )
        if not quick:
            keep(
                argv[0], definition, module, rows
            )  # after each, so that an interrupted run leaves what it has
    if hasattr(module, "epilogue"):
        module.epilogue()
    return 0 if all(row["verdict"] == "ok" for row in rows) else 1


def named(goal: dict[str, Any], word: str) -> bool:
    """Return whether a word names a goal: its name, a pattern of it, or what the goals of several inputs have in common."""
    return fnmatch(goal["name"], word) or goal.get("of") == word


def expanded(goals: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """A goal for each input of those that name several."""
    for goal in goals:
        for input in goal.get("each", [None]):
            if input is None:
                yield goal
                continue
            one = {key: value for key, value in goal.items() if key != "each"}
            yield one | {
                "name": f"{goal['name']}-{input}",
                "of": goal["name"],
                "function": goal.get("function", goal["name"]),
                "with": goal.get("with", {}) | {"input": input},
            }


def one(module: Any, goal: dict[str, Any]) -> dict[str, Any]:
    """Measure one goal; a goal that cannot be measured here says why and is SHORT."""
    row: dict[str, Any] = {**goal, "ours_is": goal["ours"], "peer_is": goal["peer"]}
    try:
        function = getattr(module, goal.get("function", goal["name"]).replace("-", "_"))
        found = function(**goal.get("with", {}))
    except Exception as error:
        return row | {
            "ours": None,
            "peer": None,
            "ratio": None,
            "verdict": f"SHORT: {type(error).__name__}: {error}",
        }
    ours, peer, *more = found if isinstance(found, tuple) else (found, goal["peer_value"])
    sign, limit = goal["goal"].split()
    # Where both sides were timed in turn, the ratio is the median of the rounds' own.
    ratio, detail = more or (ours / peer, {})
    return (
        row
        | detail
        | {
            "ours": ours,
            "peer": peer,
            "ratio": ratio,
            "verdict": "ok" if COMPARE[sign](ratio, float(limit)) else "SHORT",
        }
    )


def show(value: float | None) -> str:
    """Four digits are enough."""
    return "-" if value is None else f"{value:.4g}"


def machine_folder(machine: dict[str, Any]) -> str:
    """Return the name of the folder of a machine's records."""
    return f"{machine.get('cores', 'n')}-cores-{machine.get('host', 'unknown')[:8]}"


def keep(name: str, definition: dict[str, Any], module: Any, rows: list[dict[str, Any]]) -> None:
    """Write the record: machine, versions, every goal."""
    from importlib import metadata

    from experiment_pages.commits import commit_of

    from tare._tare import __version__
    from tare.measure.environment.machine import describe_machine

    machine = describe_machine(None)
    today = dt.datetime.now(dt.UTC)
    folder = HERE / "records" / machine_folder(machine)
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
        "tare": f"{__version__} ({commit_of(HERE.parent) or 'commit unknown'})",
        "machine": machine,
        "libraries": {d.name: d.version for d in metadata.distributions() if d.name in LIBRARIES},
        **(module.about() if hasattr(module, "about") else {}),
        "rows": rows,
    }
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


LIBRARIES = (
    "numpy",
    "pyarrow",
    "orjson",
    "msgspec",
    "msgpack",
    "pandas",
    "polars",
    "duckdb",
    "pyperf",
    "rich",
    "click",
    "zstandard",
    "diskcache",
    "joblib",
    "obstore",
    "blake3",
)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
