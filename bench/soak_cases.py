"""The cases of `make soak`: read from `bench/soak/soak.toml`, their commands, and why each is due."""

from __future__ import annotations

import ast
import datetime as dt
import hashlib
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Case", "fingerprint", "fuzz_targets", "guarded_files", "read_cases", "why_due"]

ROOT = Path(__file__).resolve().parent.parent
DEFINITIONS = ROOT / "bench" / "soak" / "soak.toml"
# As in the Makefile: another profile or another set of features would be another build.
CARGO = ("cargo", "test", "--locked", "--workspace", "--quiet", "--profile", "bench")
_BUILT = frozenset({".pyc", ".so"})


@dataclass(frozen=True)
class Case:
    """One line of the schedule.

    Attributes:
        name: What it is called on the command line and in the records.
        kind: ``kills``, ``races``, ``mutations``, ``properties``, ``sizes``, ``wild`` or ``fuzz``.
        command: What runs it, from the top folder of the repository.
        guards: The sources that it tests: files, folders or patterns below the top folder.
        every: Days after which it is due again.
        limit_s: Seconds after which it is stopped and has failed.
        tests: How many tests must pass at least.
        seconds: How long a fuzz target searches; None for what ends by itself.
    """

    name: str
    kind: str
    command: tuple[str, ...]
    guards: tuple[str, ...]
    every: int
    limit_s: float
    tests: int = 0
    seconds: int | None = None


def read_cases(path: Path = DEFINITIONS, seconds: int | None = None) -> list[Case]:
    """Read the definitions.

    Args:
        path: The file.
        seconds: How long each fuzz target searches; by default as long as the file says.

    Raises:
        ValueError: A case has none of ``program``, ``pytest`` and ``script``, or two have one name.
    """
    raw = tomllib.loads(path.read_text(encoding="utf-8"))
    every, limit = int(raw["every"]), float(raw["limit_s"])
    searched = int(raw["seconds"]) if seconds is None else seconds
    cases = [_case(one, every, limit) for one in raw["case"]]
    for target, guards in raw["fuzz"].items():
        cases.append(
            Case(
                name=f"fuzz-{target}",
                kind="fuzz",
                command=(".ci/run-fuzz", sys.executable, str(searched), target),
                guards=tuple(guards),
                every=every,
                limit_s=limit + searched,
                seconds=searched,
            )
        )
    names = [case.name for case in cases]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"invalid {path.name}: expected one case of each name, got several {doubled[0]!r}")
    return cases


def _case(one: Mapping[str, Any], every: int, limit_s: float) -> Case:
    if "program" in one:
        tests: Sequence[str] = one["tests"]
        command = (*CARGO, "--test", one["program"], "--", "--exact", "--show-output", *tests)
    elif "pytest" in one:
        tests = [one["pytest"]] if isinstance(one["pytest"], str) else one["pytest"]
        command = (sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-rP", *tests)
    elif "script" in one:
        tests = []
        command = (sys.executable, one["script"])
    else:
        raise ValueError(
            f"invalid case {one.get('name')!r}: expected program, pytest or script, got {sorted(one)}"
        )
    return Case(
        name=one["name"],
        kind=one["kind"],
        command=command,
        guards=tuple(one["guards"]),
        every=int(one.get("every", every)),
        limit_s=limit_s,
        tests=len(tests),
    )


def fuzz_targets(root: Path = ROOT) -> list[str]:
    """Return the fuzz targets that the repository has, in Rust and in Python."""
    manifest = tomllib.loads((root / "fuzz" / "Cargo.toml").read_text(encoding="utf-8"))
    tree = ast.parse((root / "fuzz" / "python" / "run.py").read_text(encoding="utf-8"))
    python = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "TARGETS"
    )
    return sorted([*(target["name"] for target in manifest["bin"]), *python])


def guarded_files(guard: str, root: Path = ROOT) -> Iterator[Path]:
    """Yield the files of a guard: of a file, a folder or a pattern below the top folder."""
    for place in sorted(root.glob(guard)):
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.is_file() and path.suffix not in _BUILT:
                yield path


def fingerprint(case: Case, root: Path = ROOT) -> str:
    """Return a hash of the names and bytes of all files that a case guards.

    A record keeps it, so that a change is seen whether it was committed or not, and also when the commit of the
    record is not in the history any more.
    """
    found = hashlib.sha256()
    for path in sorted({path for guard in case.guards for path in guarded_files(guard, root)}):
        found.update(path.relative_to(root).as_posix().encode() + b"\0")
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:16]


def why_due(case: Case, runs: Sequence[Mapping[str, Any]], sources: str, now: dt.datetime) -> str | None:
    """Return why a case is due; None if it is not.

    Args:
        case: The case.
        runs: Its records, the latest last.
        sources: The `fingerprint` of what it guards.
        now: The time, with a time zone.
    """
    if not runs:
        return "never run"
    # A failure stays due until a run that is as long passes: a shorter search may not come so far.
    failed = max((k for k, run in enumerate(runs) if run["verdict"] != "ok"), default=None)
    if failed is not None:
        least = runs[failed]["asked_s"] or 0
        if not any((run["asked_s"] or 0) >= least for run in runs[failed + 1 :]):
            return f"failed on {runs[failed]['at'][:10]}"
    full = [run for run in runs if run["verdict"] == "ok" and (run["asked_s"] or 0) >= (case.seconds or 0)]
    if not full:
        return f"ran {runs[-1]['asked_s']} s of {case.seconds} s"
    last = full[-1]
    if last["sources"] != sources:
        return f"sources changed since {last['commit'] or last['at'][:10]}"
    days = (now - dt.datetime.fromisoformat(last["at"])).days
    return f"last run {days} days ago" if days >= case.every else None
