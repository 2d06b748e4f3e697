"""What `tare convert` loads and starts before its work: no more than the work needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

RUN = """
import sys
sys.argv = ["tare", "convert", *sys.argv[1:]]
from tare import cli
ended = cli.sys.exit
def loaded(code):
    print(*sorted(sys.modules))
    ended(code)
cli.sys.exit = loaded
cli.main()
"""


def loaded(folder: Path, *words: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", RUN, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(done.stdout.split())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.csv").write_text("n\n1\n")
    return tmp_path


def test_one_file_loads_nothing_of_many(folder: Path) -> None:
    modules = loaded(folder, "a.csv", "b.parquet")
    assert (folder / "b.parquet").exists()
    unwanted = {"tare.scale.planning", "tare.scale.tasks", "tare.scale.loop", "tare.store", "multiprocessing"}
    assert not unwanted & modules


def test_one_file_loads_nothing_that_its_conversion_does_not_need(folder: Path) -> None:
    """Least of all what reads the metadata of every package that is installed."""
    modules = loaded(folder, "a.csv", "b.arrow")
    assert (folder / "b.arrow").exists()
    unwanted = {"importlib.metadata", "tare.scale.place", "pandas", "polars", "rich", "fastavro"}
    assert not unwanted & modules


def test_a_format_of_a_package_is_found_by_its_entry_point(folder: Path) -> None:
    package = folder / "site" / "planted-1.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: planted\nVersion: 1\n")
    (package / "entry_points.txt").write_text("[tare.formats]\nplanted = planted:FORMAT\n")
    (folder / "site" / "planted.py").write_text(
        "from tare.formats.base import Format, Library\n"
        "one = Library('planted', {'table': 'arrow'}, lambda obj: b'planted', lambda data: None)\n"
        "FORMAT = Format('planted', 'Planted', ('.planted',), frozenset({'table'}), (one,))\n"
    )
    code = f"import sys; sys.path.insert(0, {str(folder / 'site')!r}); from tare import formats; print(formats.get('planted').title)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "Planted\n"


def test_many_files_load_no_task_but_theirs(folder: Path) -> None:
    modules = loaded(folder, "a.csv", "out/", "--to", "parquet", "--executor", "inline")
    assert (folder / "out" / "a.parquet").exists()
    assert "tare.scale.tasks.convert" in modules
    assert not {"tare.scale.tasks.put", "tare.scale.tasks.measure", "tare.store"} & modules


@pytest.mark.parametrize("source", ["nowhere", "."])
def test_a_plan_that_cannot_be_made_leaves_no_process(folder: Path, source: str) -> None:
    """Processes start while the plan is made, and end with it; their pipes would keep the output open."""
    done = subprocess.run(
        [sys.executable, "-c", "from tare.cli import main; main()", "convert", source, "out/", "--to", "parquet",
         "--executor", "local:2", "--include", "*.x"],
        cwd=folder, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("tare: "), done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
