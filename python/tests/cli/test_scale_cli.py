"""The commands of many files: what they choose, what they say, how they end."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from support.capabilities import need_linux
from support.commands import invoke as run

import tare
from tare.cli import main
from tare.cli.running import _near, _saying, summary
from tare.scale.place import LocalPlace
from tare.scale.report import Report

TARE = (sys.executable, "-c", "from tare.cli import main; main()")


def process(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*TARE, *arguments], cwd=cwd, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.csv", "b.csv", "sub/c.csv", "sub/d.tsv", "tmp/e.csv", ".hidden.csv", "notes.bin"):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\ty\n1\t2\n" if name.endswith("tsv") else "x,y\n1,2\n")
    (tmp_path / "in" / "notes.bin").write_bytes(b"\x00\x01\x02")
    return tmp_path


def results(folder: Path) -> list[str]:
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and ".tare" not in path.parts
    )


def test_a_folder_is_told_by_name_and_that_it_was_read_back(tmp_path: Path) -> None:
    """Though large files are converted first."""
    (tmp_path / "in").mkdir()
    moments = pa.table({"at": pa.array(range(1000), pa.timestamp("us", "UTC"))})
    for number, name in enumerate("abcde"):
        tare.write(moments.slice(0, 10 + 200 * number), tmp_path / "in" / f"{name}.parquet")
    listed = run("convert", "in", "out", "--to", "ndjson", "--dry-run", cwd=tmp_path).stdout.splitlines()
    assert [line.partition(" -> ")[2][:8] for line in listed] == [f"{name}.ndjson" for name in "abcde"]
    first, changed = run("convert", "in", "out", "--to", "ndjson", cwd=tmp_path).stderr.splitlines()
    assert first.endswith("  each read back and compared")
    assert changed.endswith("(a.ndjson: at, b.ndjson: at, c.ndjson: at, ...)")
    done = run("convert", "in", "out", "--to", "ndjson", "--force", "--check", "size", cwd=tmp_path).stderr
    assert done.startswith("0 done, 5 done before into out\n")


def test_a_folder_in_parallel(folder: Path) -> None:
    done = process("convert", "in", "out", "--to", "parquet", "--jobs", "2", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert results(folder / "out") == [
        "a.parquet",
        "b.parquet",
        "sub/c.parquet",
        "sub/d.parquet",
        "tmp/e.parquet",
    ]
    assert "1 passed over: no data that can be told (notes.bin)" in done.stderr
    assert "5 done into" in done.stderr
    assert done.stdout == ""
    again = process("convert", "in", "out", "--to", "parquet", "--jobs", "2", cwd=folder)
    assert "0 done, 5 done before" in again.stderr


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--include", "*.tsv"], ["sub/d.parquet"]),
        (["--exclude", "tmp"], ["a.parquet", "b.parquet", "sub/c.parquet", "sub/d.parquet"]),
        (["--include", "sub/", "--verify=decode"], ["sub/c.parquet", "sub/d.parquet"]),
        (["--exclude", "tmp/**"], ["a.parquet", "b.parquet", "sub/c.parquet", "sub/d.parquet"]),
        (["--include", "**/*.csv", "--exclude", "tmp/*"], ["a.parquet", "b.parquet", "sub/c.parquet"]),
    ],
)  # fmt: skip
def test_what_is_chosen(folder: Path, options: list[str], names: list[str]) -> None:
    done = run("convert", "in", "out", "--to", "parquet", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert results(folder / "out") == names


def test_several_sources(folder: Path) -> None:
    done = run("convert", "in/a.csv", "in/sub", "out", "--to", "ndjson", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert results(folder / "out") == ["a.ndjson", "c.ndjson", "d.ndjson"]
    assert tare.read(folder / "out" / "d.ndjson") == [{"x": 1, "y": 2}]
    (folder / "other").mkdir()
    (folder / "other" / "a.csv").write_text("x\n9\n")
    both = run("convert", "in/a.csv", "other/a.csv", "out2", "--to", "ndjson", cwd=folder)
    assert both.returncode == 2
    assert "have one name" in both.stderr


def test_a_dry_run_does_nothing(folder: Path) -> None:
    done = run("convert", "in/*.csv", "out", "--to", "parquet", "--dry-run", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert [line.split(" -> ")[1].split()[0] for line in done.stdout.splitlines()] == [
        "a.parquet",
        "b.parquet",
    ]
    assert not (folder / "out").exists()
    some = run("convert", "in", "out", "--to", "parquet", "--include", "a.csv", cwd=folder)
    assert some.returncode == 0
    left = run("convert", "in", "out", "--to", "parquet", "--include", "[ab].csv", "--dry-run", cwd=folder)
    assert [line.split(" -> ")[1].split()[0] for line in left.stdout.splitlines()] == ["b.parquet"]
    assert left.stderr.startswith("1 unit, ")
    assert left.stderr.endswith("; 1 more are done\n")
    every = ("convert", "in", "out", "--to", "parquet", "--include", "a.csv", "--dry-run")
    assert run(*every, cwd=folder).stderr.startswith("0 units, ")
    assert run(*every, "--verify", "decode", cwd=folder).stderr.startswith("1 unit, ")  # none was read back
    shutil.rmtree(folder / "out")
    units = run("convert", "in/*.csv", "out", "--to", "parquet", "--dry-run", "--json", cwd=folder)
    assert [json.loads(line)["task"] for line in units.stdout.splitlines()] == ["convert", "convert"]


def test_what_cannot_be_is_said_before_it_is_begun(folder: Path) -> None:
    """An engine that is none, a folder that is not there, a plan in the place of something else."""
    done = run("convert", "in", "out", "--to", "parquet", "--executor", "dusk", cwd=folder)
    assert (done.returncode, (folder / "out").exists()) == (2, False)
    assert "--executor 'dusk': local, inline, dask" in done.stderr
    done = run("clean", "nowhere", cwd=folder)
    assert (done.returncode, "nowhere: there is no such folder" in done.stderr) == (2, True)
    for wrong, said in (
        (("run", "nothing.jsonl"), "'nothing.jsonl' does not exist"),
        (("convert", "nowhere/", "out", "--to", "parquet", "--jobs", "1"), "nowhere/ does not exist"),
        (("convert", "nowhere", "out", "--to", "parquet"), "nowhere does not exist"),
        (("convert", "gs://b/x", "out", "--to", "parquet"), "gs:// is not read"),
        (("convert", "in", "in/a.csv", "--to", "parquet"), "and in/a.csv is named as a file is"),
        (("convert", "in", "file", "--to", "parquet"), "the results go into a folder, and file is a file"),
        (("convert", "in", "out", "--to", "parquet", "--split", "0"), "'0': a size such as 64MiB"),
        (
            ("convert", "in", "out", "--to", "parquet", "--allow-loss", "--on-loss", "fail"),
            "say the opposite",
        ),
    ):
        (folder / "file").write_text("")
        done = run(*wrong, cwd=folder)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    (folder / "file").unlink()
    for _ in range(2):  # a plan takes the place of a plan
        assert run("plan", "convert", "in", "out", "--to", "parquet", "-o", "p", cwd=folder).returncode == 0
    done = run("plan", "convert", "in", "out", "--to", "parquet", "-o", "in/a.csv", cwd=folder)
    assert (done.returncode, "in/a.csv exists and is not a plan" in done.stderr) == (2, True)
    assert (folder / "in" / "a.csv").read_text().startswith("x,y")


def test_losses_of_an_earlier_start_are_told_again(folder: Path) -> None:
    tare.write(pa.table({"v": [1.0, float("nan")]}), folder / "in" / "n.parquet")
    command = ("convert", "in", "out", "--include", "n.parquet", "--to", "ndjson", "--on-loss", "warn")
    first, again = (run(*command, cwd=folder).stderr.splitlines()[1:] for _ in range(2))
    assert first == again
    assert any("VALUES CHANGED in 1 file" in line for line in first)


def test_the_same_line_is_offered_where_it_helps(folder: Path) -> None:
    tare.write(pa.table({"v": [1.0, float("nan")]}), folder / "in" / "n.parquet")
    command = ("convert", "in", "out", "--include", "n.parquet", "--to", "ndjson", "--verify", "decode")
    done = run(*command, cwd=folder)
    assert (
        f"  the same line takes them with --on-loss allow, and does nothing else again: tare {' '.join(command)} --on-loss allow"
        in done.stderr
    )
    done = run("convert", "in/a.csv", "out2", "--to", "parquet", "--partition", "nosuch", cwd=folder)
    assert (done.returncode, "the same line would fail again: say it another way" in done.stderr) == (
        1,
        True,
    ), done.stderr
    run("plan", "convert", "in", "out3", "--to", "parquet", "-o", "p", cwd=folder)
    (folder / "in" / "a.csv").write_text("x,y\n1,2\n3,4\n5,6\n")
    done = run("run", "p", cwd=folder)
    assert (done.returncode, "`tare plan` makes a new one" in done.stderr) == (1, True), done.stderr


@pytest.mark.parametrize("more", [(), ("--on-loss", "allow")])
def test_what_strict_refuses_is_taken_without_it(folder: Path, more: tuple[str, ...]) -> None:
    """Not with an option that is there already, nor with one that does not help; of a plan, by another plan."""
    table = pa.table({"d": pa.array([2**63 + 1], pa.uint64())})
    tare.write(table, folder / "in" / "n.parquet")
    words = ["convert", "in", "out", "--include", "n.parquet", "--to", "rds"]
    done = run(*words, "--strict", *more, cwd=folder)
    assert done.returncode == 1
    (advice,) = (line for line in done.stderr.splitlines() if "--strict" in line)
    line = " ".join(["tare", *words, *more])
    assert advice == f"  without --strict what is lost is told, not refused; all is done again for it: {line}"
    run("plan", *words, "--strict", "-o", "p", cwd=folder)
    done = run("run", "p", *more, cwd=folder)
    assert (
        done.returncode,
        "the plan says --strict: of one that `tare plan` makes without it" in done.stderr,
    ) == (1, True)


def test_what_is_there_of_others_is_not_done(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "a.parquet").write_text("mine")
    command = ("convert", "in", "out", "--include", "*.csv", "--to", "parquet")
    done = run(*command, cwd=folder)
    assert (done.returncode, "1 passed over: a file of that name exists already" in done.stderr) == (
        1,
        True,
    ), done.stderr
    assert (folder / "out" / "a.parquet").read_text() == "mine"
    planned = run("plan", *command, "-o", "p", cwd=folder)
    assert (planned.returncode, "1 passed over: a file of that name exists already" in planned.stderr) == (
        1,
        True,
    ), planned.stderr
    assert run(*command, "--overwrite", cwd=folder).returncode == 0


def test_a_plan_that_may_replace(folder: Path) -> None:
    """What is said to `tare plan` is kept in the destination, until it is planned otherwise; to look does nothing there."""
    mine = folder / "out" / "a.parquet"
    command = ("convert", "in", "out", "--include", "*.csv", "--to", "parquet")
    assert run("plan", *command, "-o", "p", cwd=folder).returncode == 0
    mine.parent.mkdir()
    mine.write_text("mine")
    assert run(*command, "--overwrite", "--dry-run", cwd=folder).returncode == 0
    assert list((folder / "out").iterdir()) == [mine]
    done = run("run", "p", cwd=folder)
    said = (
        "in/a.csv: a.parquet: a file of that name exists already, and not from here; --overwrite replaces it"
    )
    assert (done.returncode, said in done.stderr, mine.read_text()) == (1, True, "mine"), done.stderr
    assert done.stderr.endswith("\n  move them away, or: tare run p --overwrite\n")
    assert run("plan", *command, "--overwrite", "-o", "p", cwd=folder).returncode == 0
    assert run("run", "p", cwd=folder).returncode == 0
    assert mine.read_bytes()[:4] == b"PAR1"
    assert run("plan", *command, "-o", "p", cwd=folder).returncode == 0
    assert not list((folder / "out" / ".tare" / "overwrite").iterdir())


def test_a_partition_that_is_taken_is_said_with_what_settles_it(folder: Path) -> None:
    """By a line that says nothing twice, in front of what is no option."""
    (folder / "out" / "x=1").mkdir(parents=True)
    (folder / "out" / "x=1" / "a.parquet").write_text("mine")
    command = ("convert", "--to", "parquet", "--partition", "x", "--", "in/a.csv", "out")
    done = run(*command, cwd=folder)
    line = "tare convert --to parquet --partition x --overwrite -- in/a.csv out"
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, f"  move them away, or: {line}")
    assert _saying(line, "--overwrite") == line
    assert run(*line.split()[1:], cwd=folder).returncode == 0


def test_a_plan_that_may_replace_where_that_cannot_be_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The destination is another machine's, or takes nothing from this one: the plan is made, and says what is to be said."""
    monkeypatch.chdir(folder)

    def planned() -> list[str]:
        words = ["in", "out", "--include", "*.csv", "--to", "parquet", "--overwrite", "-o", "p"]
        with pytest.raises(SystemExit) as ended:
            main(["plan", "convert", *words])
        assert ended.value.code == 0
        return capsys.readouterr().err.splitlines()

    said = f"say --overwrite to tare run: it could not be kept in {folder}/out (%s)"
    assert planned() == ["4 units, 32 B: tare run p", said % "there is no such folder here yet"]
    assert not (folder / "out").exists()

    def refuses(self: LocalPlace, name: str, data: bytes) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(LocalPlace, "put", refuses)
    (folder / "out").mkdir()
    assert planned()[1:] == [said % "Permission denied"]


def test_what_was_not_begun_is_not_well(folder: Path) -> None:
    """No engine: what earlier starts did is counted, the rest is told as not begun."""
    command = ("convert", "in", "out", "--include", "*.csv", "--to", "parquet")
    for made, left in ((0, 4), (1, 3)):
        done = run(*command, "--executor", "dask+file:nothing.json", "--json", cwd=folder)
        report = json.loads(done.stdout)
        assert (done.returncode, report["ok"], report["skipped"], report["missing"]) == (3, False, made, left)
        assert f"{left} not begun into out" in done.stderr
        assert "the same line goes on with the rest: tare convert in out" in done.stderr
        run("convert", "in/a.csv", "out/", "--to", "parquet", "--jobs", "1", cwd=folder)


def test_one_fails(folder: Path) -> None:
    (folder / "in" / "b.csv").write_text('x,y\n1,2\n"3')
    done = run("convert", "in/*.csv", "out", "--to", "parquet", "--json", cwd=folder)
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert (report["done"], report["failed"], report["ok"]) == (1, 1, False)
    assert "1 failed: a file ends too early (input: Truncated, csv)" in done.stderr
    assert (
        "the same line tries these again, and does nothing else: tare convert 'in/*.csv' out --to parquet --json"
        in done.stderr
    )
    status = run("status", "out", cwd=folder)
    assert (status.returncode, status.stdout.splitlines()[0][:24]) == (1, "1 of 2 done, 1 failed, 0")


def test_values_that_would_change(folder: Path) -> None:
    """Fail that file, with the words of a single conversion; --on-loss takes them."""
    import pyarrow as pa

    tare.write(pa.table({"v": [float("nan"), 1.0]}), folder / "in" / "nan.parquet")
    done = run("convert", "in/*.parquet", "out", "--to", "ndjson", "--verify", "decode", cwd=folder)
    assert done.returncode == 1, done.stderr
    assert "1 failed: values would change (loss: LossRefused" in done.stderr
    taken = run(
        "convert",
        "in/*.parquet",
        "out",
        "--to",
        "ndjson",
        "--verify",
        "decode",
        "--on-loss",
        "allow",
        cwd=folder,
    )
    assert taken.returncode == 0, taken.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["in/*.csv", "out"], "say what the files become with --to"),
        (["in/*.csv", "-", "--to", "csv"], "many files are no stream"),
        (["in/*.nothing", "out", "--to", "csv"], "no file is there"),
        (["in", "out", "--to", "parquet", "--split", "much"], "a size such as 64MiB"),
        (["in", "out", "--to", "parquet", "--verify", "decoed"], "--verify takes size, hash, decode, not 'decoed'"),
        (["in", "out", "--to", "parquet", "--executor", "slurm"], "--executor 'slurm'"),
        (["in", "out", "--to", "parquet", "--executor", "dask://127.0.0.1:1", "--worker-timeout", "1"], "no scheduler answers"),
        (["in", "out", "--to", "nothing", "--jobs", "2"], "nothing"),
    ],
)  # fmt: skip
def test_misuse(folder: Path, arguments: list[str], said: str) -> None:
    done = run("convert", *arguments, cwd=folder)
    assert done.returncode in (1, 2, 3), done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_plans_and_shards(folder: Path) -> None:
    assert (
        run(
            "plan", "convert", "in", "out", "--to", "csv", "-o", "p.jsonl", "--include", "*.csv", cwd=folder
        ).returncode
        == 0
    )
    assert run("status", "p.jsonl", cwd=folder).returncode == 1
    for share in ("1/2", "2/2"):
        assert run("run", "p.jsonl", "--shard", share, "--executor", "inline", cwd=folder).returncode == 0
    assert run("status", "p.jsonl", cwd=folder).returncode == 0
    assert run("clean", "out", cwd=folder).stderr == "0 files removed\n"
    for wrong in ("3/2", "0/2", "x", "1"):
        assert run("run", "p.jsonl", "--shard", wrong, cwd=folder).returncode == 2
    (folder / "p.jsonl").write_text("{}")
    broken = run("run", "p.jsonl", cwd=folder)
    assert (broken.returncode, "line 1: not a plan" in broken.stderr) == (2, True)


def test_put_and_encode_and_measure(folder: Path) -> None:
    """Every task of units, from its plan to its end."""
    (folder / "docs.ndjson").write_text("".join(f'{{"n": {n}}}\n' for n in range(5000)))
    for words in (
        ("put", "in", "objects", "--include", "*.csv"),
        ("encode", "docs.ndjson", "blits", "--split", "20KB"),
        ("measure", "docs.ndjson", "records", "--codec", "json:orjson", "--seconds", "2"),
    ):
        assert run("plan", *words, "-o", f"{words[0]}.jsonl", cwd=folder).returncode == 0
        done = run("run", f"{words[0]}.jsonl", "--executor", "inline", cwd=folder)
        if words[0] == "measure" and "a load of" in done.stderr:
            continue  # others are at work here: it refuses, as it should
        assert done.returncode == 0, done.stderr
        assert "done before" in run("run", f"{words[0]}.jsonl", "--executor", "inline", cwd=folder).stderr
    with tare.open_store(str(folder / "objects")) as store:
        assert sorted(store.list()) == ["a.csv", "b.csv", "sub/c.csv", "tmp/e.csv"]
        assert bytes(store["a.csv"]) == b"x,y\n1,2\n"
    parts = sorted((folder / "blits" / "docs").iterdir())
    assert len(parts) > 2
    assert [value["n"] for part in parts for value in tare.blit.open_collection(part)] == list(range(5000))


@pytest.mark.parametrize(
    "options",
    [
        ("--overwrite",),
        ("--progress", "none"),
        ("--on-loss", "allow"),
        ("--verify", "decode"),
        ("--fsync", "none"),
    ],
)
def test_one_file_stays_one_file(folder: Path, options: tuple[str, ...]) -> None:
    """Words of many that one file has a meaning for do not make a folder of it."""
    (folder / "a.csv").write_text("n\n1\n")
    done = run("convert", "a.csv", "b.parquet", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "b.parquet").is_file()
    assert not (folder / ".tare").exists()


def test_one_file_dry(folder: Path) -> None:
    (folder / "a.csv").write_text("n\n1\n")
    done = run("convert", "a.csv", "b.parquet", "--dry-run", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "a.csv -> b.parquet\n")
    assert not (folder / "b.parquet").exists()


def test_a_folder_is_not_named_as_a_file(folder: Path) -> None:
    (folder / "a.ndjson").write_text('{"n": 1}\n')
    done = run("convert", "a.ndjson", "b.parquet", "--to", "parquet", "--split", "1KiB", cwd=folder)
    assert done.returncode == 2
    assert "end it with a /" in done.stderr
    done = run("convert", "a.ndjson", "b.parquet/", "--to", "parquet", "--split", "1KiB", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "b.parquet" / "a.parquet").is_file()


def test_a_time_limit_holds_for_little_work_too(folder: Path) -> None:
    """What cannot be ended in this process runs in another. It takes longer than from one look at the time to the next."""
    (folder / "in2").mkdir()
    rows = "".join(f'{{"n": {n}, "t": "{n * 7919}"}}\n' for n in range(60_000))
    (folder / "in2" / "a.ndjson").write_text(rows)
    done = run("convert", "in2", "out2", "--to", "yaml", "--unit-timeout", "0.01", cwd=folder)
    assert done.returncode == 1, done.stderr
    assert "took longer than 0.01 s, twice" in done.stderr
    assert "need a larger --unit-timeout" in done.stderr


def test_a_destination_that_takes_nothing_is_told_as_a_full_one_is(folder: Path) -> None:
    """At the start as later: for want of rights or of disk the code is 4."""
    for name in ("one.csv", "two.csv"):
        (folder / name).write_text("n\n1\n")
    done = run("convert", "one.csv", "two.csv", "/sys/tare-results/", "--to", "parquet", cwd=folder)
    assert done.returncode == 4, done.stderr
    assert "/sys/tare-results" in done.stderr


def test_half_a_plan_of_earlier_stops_no_start(folder: Path) -> None:
    (folder / "one.csv").write_text("n\n1\n")
    (folder / "two.csv").write_text("n\n1\n")
    line = ("convert", "one.csv", "two.csv", "results", "--to", "parquet")
    assert run(*line, cwd=folder).returncode == 0
    (kept,) = (folder / "results" / ".tare" / "plans").iterdir()
    (kept.parent / f"{'0' * 64}.jsonl").write_bytes(b"")
    (folder / "two.csv").write_text("n\n2\n2\n")
    done = run(*line, cwd=folder)
    assert done.returncode == 0, done.stderr


def test_counts_and_sizes_are_said_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    """One is no plural, and what goes into a store has no size of results."""
    for count, said in ((1, "1 earlier result of these sources"), (2, "2 earlier results of these sources")):
        report = Report(done=1, bytes_in=2000, seconds=1.0, superseded=count, not_deterministic=count)
        summary(report, "x", "again")
        told = capsys.readouterr().err
        assert said in told
        assert f"{count} unit{'s' * (count > 1)} gave other bytes" in told
        assert "into x  2.00 kB  1.00 s" in told
        assert "->" not in told


def test_a_full_standard_output_hides_nothing(folder: Path) -> None:
    """What was done is said all the same, and what failed is named."""
    need_linux("/dev/full")
    plan = run("plan", "convert", "in", "out", "--to", "parquet", "-o", "plan.jsonl", cwd=folder)
    assert plan.returncode == 0, plan.stderr
    for line in (("convert", "in", "out", "--to", "parquet"), ("run", "plan.jsonl")):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [*TARE, *line, "--json"],
                cwd=folder,
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        assert done.returncode == 1
        assert "into out" in done.stderr
        assert "tare: standard output: no space left on device" in done.stderr


def test_paths_are_shortened_at_their_beginning_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One with two slashes, of a plan that was edited, and one within another path would name other files."""
    monkeypatch.chdir(tmp_path)
    others = f"{tmp_path}//etc/hostname does not exist; /mnt{tmp_path}/x; s3://b{tmp_path}/x"
    assert _near(others) == others
    assert _near(f"{tmp_path}/a/b.csv: changed, '{tmp_path}/c'") == "a/b.csv: changed, 'c'"
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.csv").write_text("a\n1\n")
    assert (
        run("plan", "convert", "src", "dst", "--to", "parquet", "-o", "p.jsonl", cwd=tmp_path).returncode == 0
    )
    plan = (tmp_path / "p.jsonl").read_text().replace("src/a.csv", "/etc/hostname")
    (tmp_path / "p.jsonl").write_text(plan)
    done = run("run", "p.jsonl", cwd=tmp_path)
    assert done.returncode == 1
    assert f"{tmp_path}//etc/hostname does not exist" in done.stderr
