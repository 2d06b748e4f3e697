"""`tare report`: what it prints, writes and refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import invoke
from support.synthetic_records import synthetic_record

RUN = "import sys; from tare.cli import main; main(sys.argv[1:])"


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    """A record on disk."""
    path = tmp_path_factory.mktemp("records") / "flights-1.tare.json"
    path.write_text(json.dumps(synthetic_record("table")), encoding="utf-8")
    return path


def tare(*args):
    """Run the command line in this process."""
    return invoke("report", *map(str, args), cwd=Path.cwd())


def process(*args, env=None):
    """Run the command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", RUN, "report", *map(str, args)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=env,
    )


def test_a_pipe_gets_the_plain_table(record):
    """Data on standard output, without escapes; nothing on standard error."""
    done = process(record)
    assert (0, "") == (done.returncode, done.stderr)
    assert "\n  Use        Arrow / Feather, uncompressed   44.1 MB" in done.stdout
    assert "\x1b" not in done.stdout
    details = process(record, "-v").stdout
    assert "Use  arrow:pyarrow@file  for cache" in details
    assert f"record  {record}" in details
    every = process(record, "--all").stdout
    assert "Not measured, or without a result" in every
    assert "BSON" in every


@pytest.mark.parametrize(
    ("option", "start"), [("--md", "# flights.csv"), ("--csv", "dataset,codec,"), ("--json", "{")]
)
def test_other_formats_go_to_standard_output(record, option, start):
    """Markdown, CSV and JSON are printed alone."""
    done = tare(record, option)
    assert (0, "") == (done.returncode, done.stderr)
    assert done.stdout.startswith(start)


def test_html_is_written_whole_or_not_at_all(record, tmp_path):
    """The page appears under its name; no part file stays; its place is told on standard error."""
    done = tare(record, "--html", tmp_path / "deep" / "report.html")
    assert (0, "") == (done.returncode, done.stdout)
    assert ["report.html"] == [path.name for path in (tmp_path / "deep").iterdir()]
    assert (tmp_path / "deep" / "report.html").read_text("utf-8").endswith("</html>\n")


def test_the_same_record_gives_the_same_page(record, tmp_path):
    """Two runs, two hash seeds, one page."""
    import os

    for seed in ("1", "2"):
        process(record, "--html", tmp_path / f"{seed}.html", env={**os.environ, "PYTHONHASHSEED": seed})
    assert (tmp_path / "1.html").read_bytes() == (tmp_path / "2.html").read_bytes()


def test_a_field_is_printed_alone(record):
    """One value for a script; another profile or link changes the route."""
    assert "arrow:pyarrow@file\n" == tare(record, "--field", "recommendation.route").stdout
    slow = tare(record, "--link", "10Mbit,20ms", "--field", "recommendation.route").stdout
    assert "parquet:pyarrow,compression=zstd,level=9@file\n" == slow
    sent = tare(record, "--for", "message", "--link", "10Mbit,20ms", "--field", "recommendation.route").stdout
    assert "parquet:pyarrow,compression=zstd,level=9@tcp\n" == sent
    assert "336776\n" == tare(record, "--field", "dataset.rows").stdout


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "no record was saved yet"),
        (("--field", "no.such"), "no field 'no.such'"),
        (("--for", "nothing"), "nothing"),
        (("--link", "fast"), "link"),
    ],
)
def test_wrong_use_is_told_in_one_line(record, args, said, monkeypatch, tmp_path):
    """Exit code 2, and a message that says what to give."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    done = tare(*(() if args == () else (record, *args)))
    assert 2 == done.returncode
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("option", [(), ("--json",), ("--field", "recommendation.route")])
def test_a_use_without_an_answer_is_exit_code_1(option, tmp_path):
    """As `tare measure` ends; the record alone is shown, and a use that has an answer is no error."""
    path = tmp_path / "x.tare.json"
    path.write_text(json.dumps(synthetic_record("document")), encoding="utf-8")
    done = tare(path, "--for", "random", *option)
    assert 1 == done.returncode
    assert done.stdout
    assert done.stderr.startswith("tare: nothing is recommended: No codec fits random: ")
    assert 0 == tare(path, *option).returncode
    assert 0 == tare(path, "--for", "archive", *option).returncode


def test_saved_records_are_shown_by_name_and_the_last_one_without(tmp_path, monkeypatch):
    """As the line of `tare measure` says: no path has to be typed."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = tmp_path / "tare" / "records"
    folder.mkdir(parents=True)
    for age, name in enumerate(("flights-1", "orders-1")):
        path = folder / f"{name}.tare.json"
        record = synthetic_record("table")
        record["dataset"]["name"] = name
        path.write_text(json.dumps(record), encoding="utf-8")
        os.utime(path, (1e9 + age, 1e9 + age))
    shown = ("--field", "dataset.name")
    assert tare(*shown).stdout == "orders-1\n"
    assert tare("flights-1", *shown).stdout == "flights-1\n"
    assert tare("flights-1.tare.json", *shown).stdout == "flights-1\n"
    assert tare(folder / "flights-1.tare.json", *shown).stdout == "flights-1\n"
    assert "no such file" in tare("flights-2", *shown).stderr


@pytest.mark.parametrize("ending", ["json", "json.zst", "jsonl"])
@pytest.mark.parametrize("option", ["--like", "--resume"])
def test_measure_takes_a_saved_record_by_its_name(tmp_path, monkeypatch, option, ending):
    """As `tare report` and `tare compare` do; a run that was killed left its journal alone."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("tare.cli.measure.dry_run", lambda *given: print(given[2][option[2:]]) or 0)
    path = tmp_path / "tare" / "records" / f"rows-1.tare.{ending}"
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    done = invoke("measure", "synthpop:10", "--dry-run", option, "rows-1", cwd=tmp_path)
    assert (f"{path}\n", 0) == (done.stdout, done.returncode)
    done = invoke("measure", "synthpop:10", "--dry-run", option, "rows-2", cwd=tmp_path)
    assert "rows-2' does not exist" in done.stderr


def test_a_missing_record_is_told_by_its_name(tmp_path):
    """In the words that every command has, without a number."""
    done = tare(tmp_path / "nofile.json")
    assert 1 == done.returncode
    assert f"tare: {tmp_path}/nofile.json: no such file or directory\n" == done.stderr


@pytest.mark.parametrize(
    "content", [b"", b"{", b"not a record", b'{"tare_record":99}', b"\x28\xb5\x2f\xfd\x00"]
)
def test_what_is_not_a_record_is_refused(tmp_path, content):
    """One clear message that names the file, and no traceback."""
    path = tmp_path / "x.tare.json"
    path.write_bytes(content)
    done = tare(path)
    assert done.returncode in (1, 2)
    assert "x.tare.json" in done.stderr
    assert "Traceback" not in done.stderr
    assert "" == done.stdout


def test_published_figures_are_imported(shared):
    """The study's table: the reader that never ran has no time, and sums stand beside published totals."""
    done = tare("--import", "msgpack-r", shared("data/r/msgpack-r/benchmarks.csv.xz"))
    assert 0 == done.returncode
    assert "no data came back (0 of 5 tables)" in done.stdout
    assert "published" in done.stdout
    assert "imported, not measured here" in done.stdout
