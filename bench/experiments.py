"""The five studies, measured again: `make bench NAME=experiments`, or one by `NAME='experiments load'`.

Each is a plan that Tare ships, what its study published (``bench/experiments/NAME.toml``), a record of a full
run (``bench/records/MACHINE/experiments``), and a page with both (``docs/experiments/NAME.md``). Records and pages
name the commit that measured (``experiment_pages/commits.py``). A run that was
cut short goes on where it stopped; with `--continue` also one whose time ran out. `--pages` makes the pages anew
from the records alone; `--quick` runs all at reduced size into a folder that is shown at the end, and keeps
nothing in the repository.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SHARED = Path(os.environ.get("TARE_SHARED", ROOT.parent / "shared"))
STUDIES = HERE / "experiments"
RECORDS = HERE / "records"
PAGES = ROOT / "docs" / "experiments"
NAMES = ("transports", "files", "load", "compress", "documents")


def main(argv: list[str]) -> int:
    """Measure and show the experiments named, all by default; 1 if one has no record."""
    sys.path.insert(0, str(HERE))
    flags = {word for word in argv if word.startswith("-")}
    named = [word for word in argv if not word.startswith("-")]
    unknown = [word for word in named if word not in NAMES] + sorted(
        flags - {"--pages", "--quick", "--continue"}
    )
    if unknown:
        print(
            f"no experiment {unknown[0]!r}: there are {', '.join(NAMES)}; --pages, --quick, --continue",
            file=sys.stderr,
        )
        return 2
    if "--quick" in flags:
        return quick(named or NAMES)
    missing = 0
    for name in named or NAMES:
        study = read_study(name)
        if "--pages" not in flags:
            for run in study["run"]:
                measure(study, run, record_path(name, run), more="--continue" in flags)
        missing += not show(study, PAGES)
    return 1 if missing else 0


def read_study(name: str) -> dict[str, Any]:
    """What a study published and how it is run again; without ``run`` it is one run of its whole plan."""
    study = tomllib.loads((STUDIES / f"{name}.toml").read_text(encoding="utf-8"))
    return {"run": [{"name": ""}], **study}


def record_path(name: str, run: dict[str, Any]) -> Path:
    """Where the record of a run on this machine is."""
    from tare.measure.environment.machine import describe_machine

    machine = describe_machine(None)
    folder = (
        RECORDS / f"{machine.get('cores', 'n')}-cores-{machine.get('host', 'unknown')[:8]}" / "experiments"
    )
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{'-'.join(filter(None, (name, run['name'])))}.tare.json"


def measure(study: dict[str, Any], run: dict[str, Any], path: Path, *, more: bool = False) -> None:
    """Run the plan as a user would, on from where it was cut short; with ``more`` also from where its time ran out.

    The record says the commits of the Tare that measured it.
    """
    from experiment_pages.commits import begin, commit_of, keep

    command = [sys.executable, "-c", "from tare.cli import main; main()", "measure"]
    command += [run["data"]] if "data" in run else []
    command += ["--plan", study["plan"], "--out", str(path)]
    for option in ("codec", "medium", "where"):
        for level in run.get(option, ()):
            command += [f"--{option}", level]
    command += ["--stop", run["stop"]] if "stop" in run else []
    command += ["--time", run.get("time", "0")]
    before = unfinished(path, more=more)
    command += ["--resume", str(before)] if before is not None else []
    known = _known(path)
    begin(path, before, commit_of(ROOT))
    try:
        subprocess.run(command, check=True, env={**os.environ, "TARE_SHARED": str(SHARED)})
    finally:
        keep(path, known)


def _known(path: Path) -> frozenset[str]:
    """Ids of the records that are there already."""
    from tare.measure.records.record import read_record

    places = (path, Path(f"{path}.zst"))
    return frozenset(str(read_record(place)["id"]) for place in places if place.exists())


def unfinished(path: Path, *, more: bool = False) -> Path | None:
    """What a run left that was cut short; None if there is no such.

    That is its journal, if it was killed, or its record, if it was interrupted or, with ``more``, if cases were not
    reached in the time given.
    """
    from tare.measure.records.record import read_record

    journal = Path(f"{path}l")
    if journal.exists():
        return journal
    kept = next((one for one in (path, Path(f"{path}.zst")) if one.exists()), None)
    if kept is None:
        return None
    record = read_record(kept)
    pending = more and any(case["status"] == "pending" for case in record["cases"])
    return kept if pending or record.get("interrupted") else None


def reduced_study(study: dict[str, Any]) -> dict[str, Any]:
    """The study with its reduced run alone, which is told as such and not as the full run that it stands for."""
    run = {key: value for key, value in study["quick"].items() if key != "run"}
    return {
        **study,
        "run": [{"about": "at reduced size", **run, "name": study["quick"].get("run", "")}],
        "reduced": True,
    }


def found_records(study: dict[str, Any], folder: Path | None = None) -> dict[str, Path]:
    """The newest record of each run, by the run's name."""
    found = {}
    for run in study["run"]:
        stem = "-".join(filter(None, (study["plan"], run["name"])))
        places = [folder] if folder is not None else sorted(RECORDS.glob("*/experiments"))
        paths = [
            path
            for place in places
            for path in place.glob(f"{stem}.tare.json*")
            if path.suffix in (".json", ".zst")
        ]
        if paths:
            found[run["name"]] = max(paths, key=_created) if len(paths) > 1 else paths[0]
    return found


def _created(path: Path) -> str:
    """When a record was made: text that sorts by time."""
    from tare.measure.records.record import read_record

    return str(read_record(path)["created"])


def read_result(path: Path) -> Any:
    """A record as a Result, with what today's Tare derives from its samples in place of what it was stored with."""
    from tare.measure.records.record import read_record
    from tare.measure.result import Result

    record = read_record(path)
    return Result({name: value for name, value in record.items() if name != "derived"})


def show(study: dict[str, Any], pages: Path, records: Path | None = None) -> bool:
    """Make the page and its charts from the records; False if there is none."""
    from tare.report.images import export

    paths = found_records(study, records)
    if not paths:
        print(f"{study['plan']}: no record; make bench NAME='experiments {study['plan']}'", file=sys.stderr)
        return False
    for run, path in paths.items():
        folder = charts_of(study, run, pages)
        shutil.rmtree(folder, ignore_errors=True)
        result = read_result(path)
        export(result, folder)
        (folder / "samples.svg").unlink(missing_ok=True)  # a mark a sample: megabytes
        if result.record["plan"].get(
            "grow"
        ):  # curves that end at different sizes have no one size to be shown at
            for name in ("bandwidth", "pareto", "times", "memory"):
                (folder / f"{name}.svg").unlink(missing_ok=True)
    path = pages / f"{study['plan']}.md"
    path.write_text(text_of(study, pages, records), encoding="utf-8")
    print(path)
    return True


def text_of(study: dict[str, Any], pages: Path, records: Path | None = None) -> str:
    """The page's text, from the records and the charts that are there."""
    from experiment_pages.page import page

    from tare.report.charts import CHARTS

    paths = found_records(study, records)
    results = {run: read_result(path) for run, path in paths.items()}
    charts = {
        run: [path for name in CHARTS if (path := charts_of(study, run, pages) / f"{name}.svg").exists()]
        for run in paths
    }
    return page(study, results, paths, charts, pages)


def charts_of(study: dict[str, Any], run: str, pages: Path) -> Path:
    """The folder of a run's charts."""
    return pages / "-".join(filter(None, (study["plan"], run)))


def quick(names: Any) -> int:
    """Whether each experiment runs and gives its page: at reduced size, in a folder of its own."""
    folder = Path(tempfile.mkdtemp(prefix="tare-experiments-"))
    for name in names:
        study = read_study(name)
        reduced = reduced_study(study)
        (run,) = reduced["run"]
        measure(reduced, run, folder / f"{'-'.join(filter(None, (name, run['name'])))}.tare.json")
        show(reduced, folder, folder)
    print(f"reduced experiments: {folder}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
