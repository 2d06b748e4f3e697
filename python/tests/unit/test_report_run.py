"""What the page and the terminal say how to run: the same commands and calls, and code that runs as it stands there."""

from __future__ import annotations

import contextlib
import copy
import html
import os
import re
import threading

import pytest
from support.synthetic_records import synthetic_record

from tare.measure.derive import derive
from tare.measure.result import Result
from tare.report import terminal
from tare.report.charts import verdict_of
from tare.report.digest import PROFILES, digest
from tare.report.html import render, snippets


@pytest.fixture(scope="module")
def record():
    return synthetic_record("table", media=("memory", "file"), growth=False)


def text_of(part):
    """What a reader sees of a piece of HTML."""
    return re.sub(r"<[^>]+>", "", part)


ROUTES = [
    ("table", "parquet:pyarrow,compression=zstd@file", False),
    ("table", "arrow:pyarrow@memory", False),
    ("table", "parquet:pyarrow@tcp", False),
    ("document", "json:orjson+zstd:3@tcp", False),
    ("document", "msgpack:msgpack@remote", False),
    ("document", "json:orjson@unix", False),
    ("document", "json:orjson@fifo", False),
    ("document", "pickle@link", True),
]


@pytest.mark.parametrize(("kind", "route", "runs_code"), ROUTES)
def test_the_code_that_runs_a_connection_runs_as_written(kind, route, runs_code, tmp_path, monkeypatch):
    """Nothing has to be filled in; what was sent comes back."""
    monkeypatch.chdir(tmp_path)
    receiver, sender = snippets.connected(route, kind, runs_code=runs_code)
    assert bool(receiver) == (route.partition("@")[2] not in ("file", "memory"))
    if receiver:
        _send(receiver, sender)


def test_the_code_for_the_users_own_file_sends_it(tmp_path, monkeypatch):
    """It reads the file, and sends it as it was read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my x.csv").write_text("x\n1\n2\n3\n")
    _send(*snippets.connected("parquet:pyarrow@tcp", "table", runs_code=False, path="my x.csv"))
    sender = snippets.connected("arrow:pyarrow@tcp", "table", runs_code=False, is_value=True)[1]
    compile(sender, "page", "exec")
    assert "data = value  # yours" in sender


def _send(receiver, sender):
    """Run both programs; the sender tries again until the receiver waits."""
    port = str(10_000 + os.getpid() % 20_000)  # of this process alone: others get theirs from 32,768 on
    got = {}
    waiting = threading.Thread(target=exec, args=(receiver.replace("9000", port), got), daemon=True)
    waiting.start()
    for _ in range(2000):
        with contextlib.suppress(OSError):
            if "fifo" not in sender or os.path.exists("tare.fifo"):
                exec(sender.replace("9000", port), {})
                break
        threading.Event().wait(0.01)
    waiting.join(60)
    data = got["data"]
    assert {"x": [1, 2, 3]} == (data if isinstance(data, dict) else data.to_pydict())


def test_an_id_of_a_foreign_record_stays_a_string():
    """It cannot end its quotes."""
    for code in snippets.connected('no"\n+such:x@tcp', "document", runs_code=False):
        compile(code, "page", "exec")


BOX = re.compile(r'<pre [^>]*aria-label="([^"]*)"><code>(.*?)</code></pre>', re.DOTALL)


def boxes_of(page, use):
    """Labels and texts of the boxes of code of a use."""
    part = page.partition(f'<div class="verdict v-{use}"')[2].partition('<div class="verdict ')[0]
    return [(label, html.unescape(text_of(code))) for label, code in BOX.findall(part)]


def calls_of(shown):
    """The commands and calls of the terminal; those of several lines by their first."""
    return re.findall(r"^  (?:Do it|Read it|Python):  +(.*)", shown, re.MULTILINE)


@pytest.mark.parametrize("use", PROFILES)
@pytest.mark.parametrize(
    ("kind", "about"),
    [
        ("table", {}),
        ("document", {}),
        ("table", {"files": 3, "name": "logs/*.csv"}),
        ("table", {"source_kind": "pandas", "source_format": None, "path": None}),
    ],
)
def test_the_page_has_the_calls_of_the_terminal(kind, about, use):
    """And nothing in a box of Python that Python does not read: what else there is to say stands below."""
    record = synthetic_record(kind, media=("memory", "file"), growth=False)
    record["dataset"] |= about
    record["derived"] = derive(record)
    boxes = boxes_of(render(record), use)
    python = [code for label, code in boxes if label == "Python code that does it"]
    for code in python:
        compile(code, "page", "exec")
        assert "#" not in code
    lines = [line for _, code in boxes for line in code.split("\n")]
    lines += [line.removeprefix("data = ") for line in lines]
    told = calls_of(terminal.render(Result(record), profile=use, width=200))
    assert told or not verdict_of(digest(record), use).get("codec")
    for call in told:
        assert call in lines or call.startswith("keep the file")


def test_a_file_that_had_better_be_kept_is_said_to_be(record):
    """No code rewrites it, unless nothing can be felt: then the page says what would."""
    kept = copy.deepcopy(record)
    for found in kept["derived"]["profiles"].values():
        found["beside"] = "the CSV you have"
    assert boxes_of(render(kept), "keep") == []
    assert "<h2>Run it</h2><p>Keep the file as it is.</p>" in render(kept)
    for found in kept["derived"]["profiles"].values():
        found["keeps_file"] = "keep the CSV you have"
    boxes = boxes_of(render(kept), "keep")
    assert [code.partition(" ")[0] for _, code in boxes] == ["tare", "import"]
    assert "<h2>To convert it all the same</h2>" in render(kept)


def test_a_value_is_written_in_the_words_of_the_terminal():
    """A data frame came in no file: both show the same calls, and neither a sample of another kind."""
    record = synthetic_record("table", media=("memory", "file"), growth=False)
    record["dataset"] |= {"source_kind": "pandas", "source_format": None, "path": None}
    record["derived"] = derive(record)
    page = html.unescape(text_of(render(record)))
    called = re.search(r"tare\.write\(value, .*?\)", terminal.render(Result(record)))[0]
    assert called in page
    assert "import pyarrow" not in page


@pytest.mark.parametrize("part", ["carrier", ""])
@pytest.mark.parametrize("is_value", [False, True])
def test_what_is_used_a_column_at_a_time_is_read_so(record, part, is_value):
    """The call reads the column that was measured, else the first that there is, and the note is true of it."""
    found = copy.deepcopy(record) | {"weighing": {"part": f"column:{part}" if part else ""}}
    found["dataset"] |= {"columns": [{"name": "time_hour"}, {"name": "carrier"}]}
    for case in found["cases"]:
        if case["status"] == "ok":
            for launch in case["launches"]:
                launch["samples"]["subset"] = copy.deepcopy(next(iter(launch["samples"].values())))
    if is_value:
        found["dataset"] |= {"source_kind": "pandas", "source_format": None, "path": None}
    found["derived"] = derive(found)
    shown = terminal.render(found, profile="random", width=200)
    call = re.search(
        r'Read it: +(tare\.read\("[^"]+", codec="[^"]+"(?:, trust=True)?, columns=\["(\w+)"\]\))', shown
    )
    assert call[2] == (part or "time_hour")
    assert call[1] in html.unescape(text_of(render(found, profile="random")))
    if is_value:
        assert re.search(
            r"gives that column as a table of pyarrow; result\.best\.read\(.*\) gives all of it as", shown
        )
    assert "columns=" not in terminal.render(found, profile="archive")
