"""`tare measure` of a folder, a pattern and several files: what is said, and that the commands that it prints work."""

from __future__ import annotations

import json
import pathlib
import re
import shlex
from typing import Any

import polars as pl
import pytest

import tare
from tare.cli import main
from tare.cli.measure import default_record


@pytest.fixture
def logs(tmp_path, monkeypatch):
    """Three files of lines, 400 each, and a note, in a folder of the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "100")
    folder = tmp_path / "my logs"
    folder.mkdir()
    for day in range(3):
        rows = [
            {"id": day * 400 + k, "path": f"/items/{k % 17}", "ms": k / 8, "user": None if k % 3 else f"u{k}"}
            for k in range(400)
        ]
        (folder / f"day-{day}.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "README").write_text("what this is\n")
    return folder


def run(capsys, *words):
    """The exit code, and what is printed on standard output and standard error."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as caught:
        main(list(words))
    return caught.value.code, *capsys.readouterr()


def test_the_commands_that_are_printed_for_a_folder_work(logs, capsys):
    """Measured as one dataset; converted by the line that is printed, read back by the other: all rows, as polars has them."""
    code, shown, said = run(
        capsys, "measure", "my logs", "--for", "keep", "--time", "8s",
        "--codec", "ndjson:orjson+zstd:3", "--codec", "msgpack:msgspec+zstd:3",
    )  # fmt: skip
    assert code == 0
    size = sum(path.stat().st_size for path in logs.glob("*.ndjson"))
    assert shown.startswith(f"my logs/   1,200 items   3 files, {size / 1000:.1f} kB as NDJSON")
    assert "1 file passed over: of no format that is known by the ending (README)" in said
    reading = shown[shown.index("  Read it:") :].partition(":")[2].strip()
    reading = re.split(r"\n  (?:Table:|All|Details)", reading)[0]
    assert all(len(line) <= 80 for line in f"  Read it:  {reading}".splitlines()), reading
    lines = {
        line.partition(":")[0].strip(): line.partition(":")[2].strip()
        for line in shown.splitlines()
        if line.startswith("  Do it:")
    }
    words = shlex.split(lines["Do it"])
    assert words[:3] == ["tare", "convert", "my logs/*.ndjson"]
    code, *_ = run(capsys, *words[1:])
    assert code == 0
    made: dict[str, Any] = {"tare": tare}
    exec(reading, made)  # as it is pasted, after `import tare`
    several = made["tables"]
    assert len(several) == 3
    assert "of all 3 files as one" in " ".join(shown.split())
    rows = sorted((row for one in several for row in one), key=lambda row: row["id"])
    others = pl.concat([pl.read_ndjson(path) for path in sorted(logs.glob("*.ndjson"))])
    assert rows == others.to_dicts()


def test_several_names_are_one_dataset(logs, capsys):
    """As a shell makes them of a pattern; nothing is measured."""
    names = sorted(str(path.relative_to(logs.parent)) for path in logs.glob("*.ndjson"))
    code, shown, _ = run(capsys, "measure", *names, "--dry-run")
    assert code == 0
    assert shown.startswith("day-0.ndjson and 2 more files  document of 1,200 items")


@pytest.mark.parametrize(
    ("name", "record"),
    [("my logs/", "my logs"), ("logs/*.csv", "logs"), ("*.csv", "data"), ("a/b.csv.gz", "b")],
)
def test_the_record_of_a_pattern_has_a_name_without_stars(name, record, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert pathlib.Path(default_record(name)).name == f"{record}-1.tare.json"
