"""Every goal of a benchmark has the function that measures it."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parents[3] / "bench"
NAMES = sorted(path.stem for path in (BENCH / "definitions").glob("*.toml"))


@pytest.mark.parametrize("name", NAMES)
def test_every_goal_has_its_function(name: str) -> None:
    """Also one that stands for several, by input; the function takes what the goal gives it."""
    run = _run()
    definition = tomllib.loads((BENCH / "definitions" / f"{name}.toml").read_text(encoding="utf-8"))
    tree = ast.parse((BENCH / f"{definition['module'].replace('.', '/')}.py").read_text(encoding="utf-8"))
    known = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
    elsewhere = {
        name.asname or name.name for one in tree.body if isinstance(one, ast.ImportFrom) for name in one.names
    }
    goals = list(run.expanded(definition["goal"]))
    assert len({goal["name"] for goal in goals}) == len(goals) > 0
    for goal in goals:
        wanted = goal.get("function", goal["name"]).replace("-", "_")
        if wanted in elsewhere:
            continue
        function = known.get(wanted)
        assert function is not None, goal["name"]
        takes = {one.arg for one in (*function.args.args, *function.args.kwonlyargs)}
        assert set(goal.get("with", {})) <= takes, goal["name"]


def test_goals_are_named_alone_together_or_by_a_pattern() -> None:
    """The name before the inputs stands for all of them."""
    run = _run()
    goals = list(run.expanded([{"name": "to-csv", "each": ["a", "b"]}, {"name": "to-csv-c"}]))
    assert [run.named(goal, "to-csv") for goal in goals] == [True, True, False]
    assert [run.named(goal, "to-csv-b") for goal in goals] == [False, True, False]
    assert [run.named(goal, "*-c") for goal in goals] == [False, False, True]


def test_an_unknown_goal_is_an_error_of_usage() -> None:
    """Nothing is measured, so that a slip does not look like a goal that was reached."""
    done = subprocess.run(
        [sys.executable, str(BENCH / "run.py"), "convert", "to-csw"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "no goal 'to-csw' in convert.toml" in done.stderr


def _run() -> Any:
    spec = importlib.util.spec_from_file_location("bench_run", BENCH / "run.py")
    assert spec is not None
    assert spec.loader is not None
    run = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(run)
    return run


def test_no_folder_has_more_modules_than_one_can_see() -> None:
    """The house rule: at most 20 modules a folder."""
    for folder in (BENCH, *filter(Path.is_dir, BENCH.iterdir())):
        assert len([path for path in folder.glob("*.py") if path.name != "__init__.py"]) <= 20, folder.name
