"""`tare measure` as typed: messages and exit codes, what is printed where, what is left behind."""

from __future__ import annotations

import csv
import io
import json
import os
import pickle
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from tare.cli import main
from tare.measure.records.record import read_record
from tare.measure.stages.measurement import Measurement
from tare.measure.worker_client.client import Worker

DOCUMENT = [{"n": n, "t": "x" * (n % 7)} for n in range(500)]
PLAN = """
plan = 1
name = "small"
question = "Does a small plan run?"
[grow]
start = 0.5
factor = 2
stop_s = 2
[statistics]
launches = 1
rounds = 1
[[block]]
dataset = ["doc"]
codec = ["json:orjson"]
medium = ["memory", "file", "fifo"]
"""


@dataclass
class Said:
    """What a command said: exit code, standard output, standard error."""

    code: int
    out: str
    err: str


Run = Callable[..., Said]


@pytest.fixture
def tare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Run]:
    """Runs the command line in a folder of its own; at the end nothing may be left in its temporary folder."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> Said:
        monkeypatch.setattr("sys.argv", ["tare", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            main(list(words))
        said = capsys.readouterr()
        return Said(int(caught.value.code or 0), said.out, said.err)

    yield run
    # The folder of this process's workers lives as long as the process; nothing may be in it.
    assert [] == [path for path in scratch.rglob("*") if path.name != ".lock" and path.parent != scratch]
    assert {"tare-run"} >= {path.name.rpartition("-")[0] for path in scratch.iterdir()}


@pytest.fixture
def document(tmp_path: Path) -> str:
    """A small JSON file."""
    path = tmp_path / "doc.json"
    path.write_text(json.dumps(DOCUMENT))
    return str(path)


def once(tmp_path: Path, *codecs: str) -> str:
    """Write a plan of one launch and one round of these codecs in memory."""
    path = tmp_path / "once.toml"
    path.write_text(
        'plan = 1\nname = "once"\nstatistics = {launches = 1, rounds = 1}\n[[block]]\n'
        f'dataset = ["d"]\ncodec = {json.dumps(codecs)}\nmedium = ["memory"]\n'
    )
    return str(path)


def records(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "state" / "tare" / "records").glob("*"))


def refused(said: Said, code: int, *words: str) -> None:
    """One line on standard error with these words, nothing on standard output, that exit code."""
    assert (code, "") == (said.code, said.out), said
    lines = said.err.strip().splitlines()
    assert 1 == len(lines), said.err
    assert lines[0].startswith("tare: ")
    assert "Traceback" not in said.err
    for word in words:
        assert word in said.err


# --- bad input ------------------------------------------------------------------

BAD = {
    "empty.json": (b"", ["empty.json: json: the file is empty", "byte 0"]),
    "cut.json": (json.dumps(DOCUMENT).encode()[:-50], ["cut.json: json:", "at byte", "cut"]),
    "garbage.bin": (random.Random(1).randbytes(4000), ["garbage.bin", "--format", "byte 0"]),
    "latin1.csv": (
        "a,b\n1,caf\xe9\n".encode("latin1"),
        ["latin1.csv: csv:", "at byte 9", "--encoding latin1"],
    ),
    "mixed.csv": (
        "a,b\n1,\xe9\n".encode() + b"2,na\xefve\n",
        ["mixed.csv: csv:", "at byte", "mixes encodings"],
    ),
    "deep.json": (b"[" * 100_000 + b"]" * 100_000, ["deep.json: json:", "100,000 levels"]),
    "wrong.parquet": (b"PAR1" + bytes(200), ["wrong.parquet: parquet:"]),
    "object.pkl": (pickle.dumps(DOCUMENT), ["object.pkl: pickle:", "--allow-pickle"]),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_told_in_one_line(tare, tmp_path, name):
    """File, format, offset and what to do; exit code 1; no record."""
    data, words = BAD[name]
    (tmp_path / name).write_bytes(data)
    refused(tare("measure", name, "--quiet"), 1, *words)
    assert [] == records(tmp_path)


def test_a_missing_file_and_a_folder(tare, tmp_path):
    """The path is named, with what it is."""
    refused(tare("measure", "missing.json"), 1, "missing.json: no such file")
    refused(tare("measure", str(tmp_path)), 1, "the folder has no files")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--codec", "jsn:orjson"], 2, "json"),
        (["--codec", "json:orjsn"], 2, "orjson"),
        (["--codec", "json:orjson,level=3"], 2, "level"),
        (["--codec", "json:orjson+zst"], 2, "zstd"),
        (["--base", "nothing"], 2, "nothing"),
        (["--medium", "fifi"], 2, "did you mean fifo"),
        (["--medium", "remote"], 2, "--remote ssh://host"),
        (["--remote", "http://x"], 2, "is not a remote"),
        (["--link", "fast"], 2, "1Gbit,0.3ms"),
        (["--must", "keep-type"], 2, "keep-types"),
        (["--plan", "transport"], 2, "transports"),
        (["--plan", "none.toml"], 2, "none.toml"),
        (["--format", "jsonn"], 2, "json"),
        (["--encoding", "none-such"], 2, "none-such"),
        (["--out", "file/x/r.json"], 1, "file/x/r.json cannot be written"),
        (["--html", "file/r.html"], 1, "file/r.html cannot be written"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_runs(
    tare, tmp_path, monkeypatch, document, words, code, message
):
    """The message names what is near; no worker is started, nothing recorded."""
    (tmp_path / "file").write_text("in the way")
    started = []
    monkeypatch.setattr(Worker, "__init__", lambda *given, **_: started.append(given))
    refused(tare("measure", document, *words, "--quiet"), code, message)
    assert [] == records(tmp_path)
    assert [] == started


@pytest.mark.parametrize("words", [["--must", "keep-type"], ["--format", "msgpack"]])
def test_a_run_that_fails_leaves_no_folders(tare, tmp_path, document, words):
    """Neither those of the record nor those of the report, whether it fails before or after opening the data."""
    before = sorted(os.listdir(tmp_path))
    said = tare("measure", document, "--out", "new/a/r.json", "--html", "other/r.html", *words, "--quiet")
    assert said.code != 0
    assert before == sorted(os.listdir(tmp_path))


@pytest.mark.parametrize(
    "words", [["--for", "caching"], ["--time", "soon"], ["--time", "-1s"], ["--dir", "none"], ["--what"], []]
)
def test_click_refuses_the_rest(tare, document, words):
    """Choices, times, folders and unknown options: usage and exit code 2."""
    said = tare("measure", *([document, *words] if words else []))
    assert (2, "") == (said.code, said.out)
    assert "Usage: tare measure" in said.err


def test_a_plan_file_that_is_none(tare, tmp_path):
    """The file and the wrong key are named, with the near one."""
    (tmp_path / "p.toml").write_text('plan = 1\nname = "x"\nblok = []\n')
    refused(tare("measure", "--plan", "p.toml"), 2, "p.toml", "block")


def test_codecs_for_the_other_kind_of_data(tare, document):
    """A codec for tables alone cannot hold a document: said, not a crash."""
    said = tare("measure", document, "--quiet", "--time", "4s", "--codec", "parquet:pyarrow")
    assert said.code in (0, 1, 2)
    assert "Traceback" not in said.err
    assert "parquet:pyarrow" in said.err
    assert "tables" in said.err


# --- small and odd data ---------------------------------------------------------


@pytest.mark.parametrize("rows", [0, 1])
def test_hardly_any_rows(tare, tmp_path, rows):
    """A table without rows, or with one, is measured like any other."""
    (tmp_path / "few.csv").write_text("a,b\n" + "1,x\n" * rows)
    out = tmp_path / "r.tare.json"
    plan = once(tmp_path, "csv:pyarrow", "parquet:pyarrow")
    said = tare("measure", "few.csv", "--quiet", "--plan", plan, "--out", str(out))
    assert (0, "", "") == (said.code, said.out, said.err)
    cases = {case["labels"]["codec"]: case for case in read_record(out)["cases"]}
    assert rows == read_record(out)["dataset"]["rows"]
    # CSV without rows has no types to come back: lossy is the truth there.
    assert cases["csv:pyarrow"]["status"] in ("ok", "lossy")
    assert "ok" == cases["parquet:pyarrow"]["status"]


def test_ten_thousand_columns(tare, tmp_path):
    """A table wider than long is measured."""
    names = [f"c{n}" for n in range(10_000)]
    (tmp_path / "wide.csv").write_text(
        "\n".join([",".join(names), *[",".join("1" for _ in names)] * 2]) + "\n"
    )
    out = tmp_path / "r.tare.json"
    said = tare("measure", "wide.csv", "--quiet", "--out", str(out), "--plan", once(tmp_path, "csv:pyarrow"))
    assert 0 == said.code, said.err
    cases = {case["labels"]["codec"]: case for case in read_record(out)["cases"]}
    assert "ok" == cases["csv:pyarrow"]["status"], cases["csv:pyarrow"]["reason"]
    assert 10_000 == cases["csv:pyarrow"]["verify"]["columns"]


def test_a_wrong_name_does_not_matter(tare, tmp_path):
    """What a file is, its bytes say: a CSV called .parquet is read as CSV, and that is told."""
    (tmp_path / "table.parquet").write_text("a,b\n1,x\n2,y\n")
    said = tare("measure", "table.parquet", "--dry-run")
    assert 0 == said.code, said.err
    assert "2 x 2" in said.out


def test_a_pickle_is_read_when_allowed(tare, tmp_path):
    """The user's word opens it."""
    (tmp_path / "object.pkl").write_bytes(pickle.dumps(DOCUMENT))
    said = tare("measure", "object.pkl", "--allow-pickle", "--dry-run")
    assert 0 == said.code, said.err
    assert "500 items" in said.out


def test_another_encoding_is_read_when_named(tare, tmp_path):
    """What the message says to do works."""
    (tmp_path / "latin1.csv").write_bytes("a,b\n1,caf\xe9\n".encode("latin1"))
    said = tare("measure", "latin1.csv", "--encoding", "latin1", "--dry-run")
    assert 0 == said.code, said.err
    assert "1 x 2" in said.out


# --- dry runs -------------------------------------------------------------------


def test_a_dry_run_measures_nothing(tare, tmp_path, document):
    """Cases and an estimate on standard output, no record."""
    said = tare(
        "measure", document, "--dry-run", "--codec", "json:orjson", "--medium", "memory", "--medium", "tcp"
    )
    assert (0, "") == (said.code, said.err)
    lines = said.out.splitlines()
    assert ["  json:orjson@memory", "  json:orjson@tcp"] == lines[1:3]
    assert "2 cases" in lines[3]
    assert "10 s" in lines[3]
    assert [] == records(tmp_path)


@pytest.mark.parametrize("given", ["--must keep-typs", "--link fast", "--for random", "--base jsn"])
def test_a_dry_run_refuses_what_a_run_refuses(tare, document, given):
    """It passed options that the run itself did not take."""
    dry, wet = (tare("measure", document, *given.split(), *more) for more in (("--dry-run",), ()))
    assert (2, wet.err) == (dry.code, dry.err)
    assert given.split()[1] in dry.err


@pytest.mark.parametrize("name", ["transports", "files", "load", "compress", "documents"])
def test_a_dry_run_of_each_named_plan(tare, tmp_path, name):
    """Every plan says its cases, what is not available here, and a time."""
    said = tare("measure", "--plan", name, "--dry-run")
    assert 0 == said.code, said.err
    last = next(line for line in said.out.splitlines() if "cases to measure" in line)
    least, most = map(float, re.search(r"about (\d+) to (\d+) (?:min|h)", last).groups())
    assert least < most
    assert ("a point of a growth curve may take 10 s" in said.out) == (name == "transports")
    assert [] == records(tmp_path)


def test_a_wrong_name_is_told(tare, tmp_path):
    """What the bytes are, beside what the name says, as converting says it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a": [1, 2, 3]}), tmp_path / "wrong.csv")
    said = tare("measure", "wrong.csv", "--dry-run")
    assert "note: named as csv, but it is parquet" in said.out
    said = tare("measure", "wrong.csv", "--time", "3s", "--codec", "parquet:pyarrow", "--out", "r.tare.json")
    assert 0 == said.code, said.err
    assert "note    named as csv, but it is parquet" in said.err


# --- one run, looked at from all sides ------------------------------------------


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One run from standard input with JSON on standard output and JSON progress, as a process of its own."""
    folder = tmp_path_factory.mktemp("finished")
    scratch = folder / "scratch"
    scratch.mkdir()
    words = ["measure", "-", "--json", "--progress", "json", "--time", "6s", "--codec", "json:orjson"]
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from tare.cli import main; main()",
            *words,
            "--must",
            "untrusted",
            "--codec",
            "pickle",
        ],
        input=json.dumps(DOCUMENT).encode(),
        env={**os.environ, "XDG_STATE_HOME": str(folder / "state"), "TMPDIR": str(scratch)},
        capture_output=True,
        timeout=120,
        check=False,
    )
    left = [path.name for path in scratch.iterdir()]
    return {
        "code": done.returncode,
        "out": done.stdout.decode(),
        "err": done.stderr.decode(),
        "folder": folder,
        "left": left,
    }


@pytest.mark.xdist_group("one run")
def test_standard_input_is_measured(finished):
    """`-` is standard input; the record is named after it, under the state folder; nothing else stays."""
    assert 0 == finished["code"], finished["err"]
    kept = sorted((finished["folder"] / "state" / "tare" / "records").iterdir())
    assert ["stdin-1.tare.json"] == [path.name for path in kept]
    assert [] == finished["left"]


@pytest.mark.xdist_group("one run")
def test_json_on_standard_output_is_the_record(finished):
    """--json prints what was saved."""
    [path] = (finished["folder"] / "state" / "tare" / "records").iterdir()
    assert read_record(path)["id"] == json.loads(finished["out"])["id"]
    assert read_record(path)["cases"] == json.loads(finished["out"])["cases"]


@pytest.mark.xdist_group("one run")
def test_json_progress_is_json_lines(finished):
    """Each line is one event; stages come in their order; verdicts have words."""
    lines = [line for line in finished["err"].splitlines() if line.startswith("{")]
    events = [json.loads(line) for line in lines]
    assert {"stage", "done", "total", "elapsed_s", "budget_s", "text", "verdict"} == set(events[0])
    stages = [stage for stage, _ in groupby(event["stage"] for event in events)]
    # Further codecs are tried between rounds, and probes fill the time at the end.
    others = [stage for stage in stages if stage != "probe"]
    assert ["open", "pass", "rounds"] == list(dict.fromkeys(others))
    times = [event["elapsed_s"] for event in events]
    assert times == sorted(times)
    assert any(event["verdict"] for event in events)
    # What is no event is the place of the record.
    assert 1 == len(finished["err"].splitlines()) - len(lines)


@pytest.mark.xdist_group("one run")
def test_a_constraint_removes_codecs_with_its_reason(finished):
    """--must untrusted leaves pickle out of the verdict, and says why."""
    headline = json.loads(finished["out"])["derived"]["headline"]
    assert "pickle" != headline["codec"]
    reasons = {entry["codec"]: entry["reason"] for entry in headline["excluded"]}
    assert "code" in reasons["pickle"]


@pytest.mark.xdist_group("one run")
def test_a_saved_record_gives_csv_and_markdown_that_read_back(tare, tmp_path, finished):
    """The same run as CSV and Markdown: a row for each codec."""
    [path] = (finished["folder"] / "state" / "tare" / "records").iterdir()
    said = tare("report", str(path), "--csv")
    rows = list(csv.DictReader(io.StringIO(said.out)))
    assert {"json:orjson", "json:stdlib", "pickle"} <= {row["codec"] for row in rows}
    said = tare("report", str(path), "--md")
    assert any(line.startswith("|") and "json:orjson" in line for line in said.out.splitlines())


def test_what_is_printed(tare, tmp_path, document):
    """--csv and --md print the table; two runs do not overwrite each other."""
    words = ["--progress", "lines", "--time", "3s", "--codec", "json:orjson", "--base", "json:orjson"]
    said = tare("measure", document, "--csv", *words)
    assert 0 == said.code, said.err
    assert {"json:orjson"} <= {row["codec"] for row in csv.DictReader(io.StringIO(said.out))}
    said = tare("measure", document, "--md", *words)
    assert 0 == said.code, said.err
    assert "| " in said.out
    assert "json:orjson" in said.out
    assert ["doc-1.tare.json", "doc-2.tare.json"] == records(tmp_path)
    record = read_record(tmp_path / "state" / "tare" / "records" / "doc-1.tare.json")
    assert "json:orjson" == record["derived"]["base"]
    # On a busy machine three seconds leave none for the control.
    assert {"json:orjson"} == {case["labels"]["codec"] for case in record["cases"]} - {"copy"}


def test_strict_fails_when_something_was_lost(tare, tmp_path):
    """--strict exits 1 if a codec lost data, and 0 if none did."""
    (tmp_path / "nan.pkl").write_bytes(pickle.dumps([{"a": float("nan"), "b": n} for n in range(50)]))
    common = ["--quiet", "--strict", "--time", "3s", "--allow-pickle", "--base", "pickle", "--for", "cache"]
    lost = tare("measure", "nan.pkl", *common, "--codec", "json:orjson")
    assert 1 == lost.code
    kept = tare("measure", "nan.pkl", *common, "--codec", "pickle")
    assert 0 == kept.code, kept.err


def test_nothing_measured_is_no_success(tare, tmp_path, document, monkeypatch):
    """The exit code is 1 and standard error says why, with --quiet too; the record is there."""
    first_pass = Measurement.first_pass

    def late(self, *arguments):
        self.session.started_at -= 1000
        first_pass(self, *arguments)

    monkeypatch.setattr(Measurement, "first_pass", late)
    monkeypatch.setattr(
        "tare.measure.stages.measurement.FEWEST", 0
    )  # codecs that are tried though it is late
    out = tmp_path / "r.tare.json"
    said = tare("measure", document, "--quiet", "--codec", "json:orjson", "--time", "9s", "--out", str(out))
    assert {"pending"} == {case["status"] for case in read_record(out)["cases"]}
    refused(said, 1, "tare: nothing was measured: not reached in the time given")


def test_data_that_each_codec_refuses_is_no_success(tare, tmp_path):
    """Nothing was measured: the exit code is 1, and the reason is the refusal."""
    (tmp_path / "bytes.pkl").write_bytes(pickle.dumps([{"a": b"x"}] * 50))
    said = tare("measure", "bytes.pkl", "--quiet", "--allow-pickle", "--time", "9s", "--codec", "json:stdlib",
                "--base", "json:stdlib")  # fmt: skip
    refused(said, 1, "tare: nothing was measured: refused: ")


def test_not_leaves_out(tare, tmp_path, document):
    """--not takes an id, a library or a format."""
    out = tmp_path / "r.tare.json"
    wanted = ["json:orjson", "json:stdlib", "pickle", "pickle,protocol=0", "msgpack:msgspec"]
    said = tare(
        "measure", document, "--quiet", "--time", "3s", "--out", str(out),
        *[word for codec in wanted for word in ("--codec", codec)],
        "--not", "pickle", "--not", "msgpack:msgspec",
    )  # fmt: skip
    assert 0 == said.code, said.err
    assert "" == said.out
    assert {"json:orjson", "json:stdlib"} == set(read_record(out)["codecs"])


# --- plans ----------------------------------------------------------------------


def test_the_plan_load_runs(tare, tmp_path, shared, monkeypatch):
    """A named plan, narrowed to two codecs, on its own data."""
    monkeypatch.setenv("TARE_SHARED", str(shared("data/json/senators.json").parents[2]))
    out = tmp_path / "r.tare.json"
    said = tare(
        "measure", "--plan", "load", "--codec", "json:orjson", "--codec", "pickle", "--time", "5s", "--out", str(out), "--quiet"
    )  # fmt: skip
    assert 0 == said.code, said.err
    cases = [case for case in read_record(out)["cases"] if not case["labels"].get("twin")]
    measured = {case["labels"]["codec"]: case for case in cases if case["launches"]}
    assert {"json:orjson", "pickle"} <= set(measured)
    for name in ("json:orjson", "pickle"):
        assert "ok" == measured[name]["status"]
        assert ["decode"] == list(measured[name]["launches"][0]["samples"])


def test_what_a_growing_plan_does_not_heed_is_said(tare, tmp_path, document):
    """Beside the cases of a dry run; and on standard error where it is measured, unless told to be quiet."""
    (tmp_path / "small.toml").write_text(PLAN)
    wanted = "small.toml", "--codec", "json:orjson", "--medium", "memory"
    note = "statistics.launches: not used, for a plan that grows makes one launch a size"
    said = tare("measure", document, "--plan", *wanted, "--dry-run")
    assert f"  note: {note}" in said.out
    for more, told in (((), True), (("--quiet",), False)):
        said = tare("measure", document, "--plan", *wanted, *more, "--out", "small.tare.json")
        assert 0 == said.code, said.err
        assert (f"note    {note}" in said.err) == told


def test_a_plan_of_ones_own_runs_over_media_and_sizes(tare, tmp_path, document):
    """Three media, two sizes: each its own case, each with data that came back."""
    (tmp_path / "small.toml").write_text(PLAN)
    out = tmp_path / "r.tare.json"
    said = tare("measure", document, "--plan", "small.toml", "--out", str(out), "--quiet")
    assert 0 == said.code, said.err
    cases = read_record(out)["cases"]
    labels = {(case["labels"]["medium"], case["labels"]["size"]): case for case in cases}
    assert {(medium, size) for medium in ("memory", "file", "fifo") for size in ("0.5", "1")} == set(labels)
    for (medium, _), case in labels.items():
        assert "ok" == case["status"], case["reason"]
        operations = set(case["launches"][0]["samples"])
        assert {"memory": {"encode", "decode"}, "file": {"write", "read"}}.get(
            medium, {"send", "receive", "span"}
        ) == operations


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("-", "stdin-1"),
        ("my-data.csv", "my-data-1"),
        ("dir-x/a-b.json.gz", "a-b-1"),
        ("synthpop:10", "synthpop-1"),
    ],
)
def test_a_record_is_named_after_its_data(name, stem, tmp_path, monkeypatch):
    """Only the name - means standard input."""
    from tare.cli.measure import default_record

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert f"{stem}.tare.json" == os.path.basename(default_record(name))


@pytest.mark.parametrize("name", ["measure", "report", "compare", "gate", "codecs", "convert", "inspect"])
def test_help_keeps_its_examples_in_lines(name: str, tare: Run) -> None:
    said = tare(name, "--help")
    assert 0 == said.code
    assert "\b" not in said.out
    assert r"\b" not in said.out


def test_too_short_a_time_is_told_as_it_was_written(tare, document):
    """The option's name and the shortest time, not the name of a setting."""
    said = tare("measure", document, "--time", "1s")
    assert 2 == said.code
    assert "'--time': '1s' is too short" in said.err
    assert "give 2s or more, or 0 for no limit" in said.err
    assert "time_s" not in said.err


def test_what_is_no_file_is_measured_alone(tare, document):
    """A pattern that the shell filled in names several files; a pipe or a URL is none of them."""
    for other in ("-", "https://example.org/x.json"):
        said = tare("measure", document, other)
        assert 2 == said.code
        assert f"{other} is measured alone" in said.err


def test_a_document_has_no_parts_to_read(tare, document):
    """Told at once, and not after all of the time."""
    said = tare("measure", document, "--for", "random")
    assert 2 == said.code
    assert "invalid use 'random' for doc.json" in said.err
    assert "keep, cache, archive, message, exchange" in said.err


@pytest.mark.parametrize(
    ("home", "path", "shown"),
    [
        ("/home/ann", "/home/ann/.local/a.tare.json", "~/.local/a.tare.json"),
        ("/home/ann", "/home/anna/a.tare.json", "/home/anna/a.tare.json"),
        ("/home/ann", "/home/ann/my data/a.tare.json", "/home/ann/my data/a.tare.json"),
        ("/", "/a.tare.json", "/a.tare.json"),
    ],
)
def test_the_path_of_a_record_is_short_and_can_be_pasted(monkeypatch, home, path, shown):
    """From the home folder, but where a shell would take it otherwise."""
    from tare.cli.measure import from_home

    monkeypatch.setenv("HOME", home)
    assert shown == from_home(path)
