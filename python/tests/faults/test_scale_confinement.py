"""Plans from elsewhere: a refused one leaves nothing, and none reads or writes what nobody named."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.commands import invoke as run

from tare import open_store, scale
from tare.errors import PlanError, UsageError
from tare.scale.confinement import Allowed, check_places, places_beyond
from tare.scale.plan import read_plan


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder to work in, with a source in it, beside one with a secret."""
    for name in ("work/src/a.csv", "elsewhere/secret.csv"):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text("a,b\n1,2\n")
    return tmp_path / "work"


def rewrite(path: Path, change: Callable[[list[dict[str, Any]]], None]) -> None:
    """Change the lines of a plan."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    change(lines)
    path.write_text("".join(json.dumps(line, sort_keys=True, separators=(",", ":")) + "\n" for line in lines))


def planned(folder: Path, name: str = "p.jsonl", destination: str = "dst") -> Path:
    """Plan a conversion."""
    assert (
        run("plan", "convert", "src", destination, "--to", "parquet", "-o", name, cwd=folder).returncode == 0
    )
    return folder / name


REFUSED: dict[str, Callable[[list[dict[str, Any]]], None]] = {
    "a name that leads out": lambda lines: lines[1]["output"].update(names=["../a.parquet"]),
    "a field that is not one": lambda lines: lines[1].update(code="x"),
    "a permission": lambda lines: lines[1]["options"].update(allow_pickle=1),
    "more units than there are": lambda lines: lines[0].update(units=2),
    "fewer units than there are": lambda lines: lines.append(lines[1]),
    "another base": lambda lines: lines[1]["output"].update(base="file:///tmp"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_refused_plan_leaves_nothing(why: str, folder: Path) -> None:
    """Neither by the command nor from Python; what is honest is done afterwards."""
    planned(folder)
    bad = planned(folder, "bad.jsonl")
    rewrite(bad, REFUSED[why])
    assert run("run", "bad.jsonl", "--executor", "inline", cwd=folder).returncode == 2
    with pytest.raises(PlanError):
        scale.run(bad, executor="inline")
    assert sorted(os.listdir(folder)) == ["bad.jsonl", "p.jsonl", "src"]
    assert run("convert", "src", "dst", "--to", "parquet", "--jobs", "1", cwd=folder).returncode == 0
    assert run("run", "p.jsonl", "--executor", "inline", cwd=folder).returncode == 0


def test_a_refused_put_leaves_nothing(folder: Path) -> None:
    """Its state lies beside the plan."""
    assert run("plan", "put", "src/a.csv", "kept", "-o", "p.jsonl", cwd=folder).returncode == 0
    rewrite(folder / "p.jsonl", lambda lines: lines[1]["options"].update(keys=[]))
    assert run("run", "p.jsonl", "--executor", "inline", cwd=folder).returncode == 2
    assert sorted(os.listdir(folder)) == ["p.jsonl", "src"]


def test_a_plan_under_the_id_of_another_is_not_carried_out_in_its_place(folder: Path) -> None:
    """What is kept under an id is what is run."""
    planned(folder)
    forged = planned(folder, "forged.jsonl")
    rewrite(forged, lambda lines: lines[1]["output"].update(names=["forged.parquet"]))
    assert run("run", "forged.jsonl", "--executor", "inline", cwd=folder).returncode == 0
    assert run("convert", "src", "dst", "--to", "parquet", "--jobs", "1", cwd=folder).returncode == 0
    assert sorted(path.name for path in (folder / "dst").glob("*.parquet")) == ["a.parquet", "forged.parquet"]
    kept = folder / "dst/.tare/plans"
    assert [path.read_bytes() for path in kept.iterdir()] == [(folder / "p.jsonl").read_bytes()]


def test_ones_own_plan_needs_nothing(folder: Path) -> None:
    """Sources and results below the current folder, or that of the plan."""
    planned(folder)
    assert run("run", "p.jsonl", "--executor", "inline", cwd=folder).returncode == 0
    assert (
        run(
            "run", str(folder / "p.jsonl"), "--executor", "inline", cwd=folder.parent / "elsewhere"
        ).returncode
        == 0
    )


def test_a_plan_reads_and_writes_nothing_that_was_not_named(folder: Path) -> None:
    """Each is refused with the option that allows it, and the line that is told is the one to type."""
    secret = folder.parent / "elsewhere"
    path = planned(folder)
    rewrite(path, lambda lines: lines[1]["input"][0].update(uri=f"file://{secret}/secret.csv"))
    done = run("run", "p.jsonl", "--executor", "inline", cwd=folder)
    assert done.returncode == 2
    assert f"reads {secret}" in done.stderr
    assert f"--allow-source {secret}" in done.stderr
    assert not (folder / "dst").exists()
    out = planned(folder, "out.jsonl", "../elsewhere/dst")
    done = run("run", "out.jsonl", "--executor", "inline", cwd=folder)
    assert (done.returncode, f"--allow-destination {secret}/dst" in done.stderr) == (2, True)
    assert os.listdir(secret) == ["secret.csv"]
    assert places_beyond(read_plan(out)) == ["--allow-destination", f"{secret}/dst"]
    said = run(
        "plan", "convert", "src", "../elsewhere/dst", "--to", "parquet", "-o", "out.jsonl", cwd=folder
    ).stderr
    typed = shlex.split(said.split(": tare ")[1].splitlines()[0])
    assert run(*typed, "--executor", "inline", cwd=folder).returncode == 0
    assert (secret / "dst/a.parquet").exists()


def test_a_store_of_a_plan_is_named(folder: Path) -> None:
    """A server above all: nothing connects to it."""
    assert run("plan", "put", "src/a.csv", "kept", "-o", "p.jsonl", cwd=folder).returncode == 0
    assert run("run", "p.jsonl", "--executor", "inline", cwd=folder).returncode == 0
    with open_store(folder / "kept", mode="r") as store:
        assert store.list() == ["a.csv"]
    for url in (
        "redis://127.0.0.1:9/0",
        "storr:/tmp/elsewhere",
        str(folder.parent / "elsewhere/store"),
        "s3://b/c",
    ):
        rewrite(folder / "p.jsonl", lambda lines, url=url: lines[1]["options"].update(store=url))
        done = run("run", "p.jsonl", "--executor", "inline", cwd=folder)
        assert (done.returncode, f"--allow-store {url}" in done.stderr) == (2, True), done.stderr
    check_places(read_plan(folder / "p.jsonl"), Allowed(stores=["s3://b"]))
    with pytest.raises(UsageError):
        check_places(read_plan(folder / "p.jsonl"), Allowed(stores=["s3://b/ca"], sources=["s3://b"]))


@pytest.mark.parametrize(
    ("uri", "allowed", "held"),
    [
        ("{work}/src/b.csv", (), True),
        ("{work}/src/../../elsewhere/secret.csv", (), False),
        ("{work}/link.csv", (), False),
        ("{work}/link.csv", ("{top}/elsewhere",), True),
        ("{work}/linked/secret.csv", (), False),
        ("{work}/.ssh/id", (), False),
        ("{work}/src/.env", (), False),
        ("{work}/src/.env", ("{work}/src/.env",), True),
        ("{work}/.ssh/id", ("{work}/.ssh",), True),
        ("{top}/elsewhere/secret.csv", ("{top}/elsewhere/secret.csv",), True),
        ("{top}/elsewhere/other.csv", ("{top}/elsewhere/secret.csv",), False),
        ("{top}/elsewhere2/a", ("{top}/elsewhere",), False),
        ("/etc/passwd", ("/",), True),
    ],
)
def test_links_and_hidden_files_are_not_at_hand(
    uri: str, allowed: tuple[str, ...], held: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that came with a plan may lead anywhere."""
    (folder / "link.csv").symlink_to(folder.parent / "elsewhere/secret.csv")
    (folder / "linked").symlink_to(folder.parent / "elsewhere")
    path = planned(folder)
    where = {"work": str(folder), "top": str(folder.parent)}
    rewrite(path, lambda lines: lines[1]["input"][0].update(uri="file://" + uri.format(**where)))
    monkeypatch.chdir(folder)
    given = Allowed(sources=[one.format(**where) for one in allowed])
    if held:
        check_places(read_plan(path), given)
    else:
        with pytest.raises(UsageError, match="--allow-source"):
            check_places(read_plan(path), given)


def test_results_do_not_go_through_links(folder: Path) -> None:
    """A folder of the destination may be a link to elsewhere, or a result a hidden file."""
    (folder / "dst").mkdir()
    (folder / "dst/sub").symlink_to(folder.parent / "elsewhere")
    for name in ("sub/a.parquet", ".profile"):
        rewrite(planned(folder), lambda lines, name=name: lines[1]["output"].update(names=[name]))
        done = run("run", "p.jsonl", "--executor", "inline", cwd=folder)
        assert (done.returncode, "--allow-destination" in done.stderr) == (2, True)
        hidden = name == ".profile"
        assert ("dst/.profile is hidden" in done.stderr, "beyond the current" in done.stderr) == (
            hidden,
            not hidden,
        )
    assert os.listdir(folder.parent / "elsewhere") == ["secret.csv"]


@pytest.mark.parametrize("name", [".tare", ".tare/plans", ".tare/writing", ".tare/done", ".tare/started"])
def test_a_link_in_the_place_of_our_folders_is_refused(name: str, folder: Path) -> None:
    """Nothing is written, or swept, where it leads."""
    there = folder.parent / "elsewhere"
    link = folder / "dst" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(there)
    planned(folder, destination="free")
    for line in (
        ("convert", "src", "dst", "--to", "parquet", "--jobs", "1"),
        ("plan", "convert", "src", "dst", "--to", "parquet", "-o", "q.jsonl"),
        ("status", "dst"),
        ("clean", "dst"),
    ):
        done = run(*line, cwd=folder)
        assert (done.returncode, "is a link" in done.stderr) == (2, True), (line, done.stderr)
    assert os.listdir(there) == ["secret.csv"]
