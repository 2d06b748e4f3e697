"""The display of a run: one line of state, one of the best so far, at any width."""

from __future__ import annotations

import copy
import io
import re
import sys
from types import SimpleNamespace

import pytest
from rich.console import Console
from support.synthetic_records import synthetic_record

import tare
from tare.cli import progress
from tare.codec.titles import title_of
from tare.measure.progress import in_notebook
from tare.measure.session import Event
from tare.report import terminal
from tare.report.text import width_of


@pytest.fixture(scope="module")
def record():
    return synthetic_record("table", growth=False, partial=0.5)


def event(record=None, **more):
    told = {"stage": "weigh", "done": 3, "total": 12, "elapsed_s": 4.25, "budget_s": 30.0}
    return Event(**(told | more), record=record, verdict=record is not None)


def test_state_and_best_are_a_line_each(record):
    """Names instead of ids, words instead of stages, and figures of the whole data."""
    state = progress.state(event(text="parquet:polars write"))
    assert state == "[4.2 of 30 s] measuring 3 of 12: Parquet (zstd, polars) write"
    for stage, done, total, text, said in (
        ("pass", 4, 11, "parquet:polars", "trying 4 of 11: Parquet (zstd, polars)"),
        ("rounds", 7, 0, "round 7, 5 codecs", "measuring: round 7, 5 codecs"),
    ):
        told = event(stage=stage, done=done, total=total, text=text)
        assert progress.state(told) == f"[4.2 of 30 s] {said}"
    best = progress.best(event(record))
    assert best.startswith("best so far: Arrow / Feather, uncompressed   ~88.3 MB   write ")
    size = best.split("   ")[1]
    assert f"   {size}   write" in terminal.render(record)
    assert progress.best(event()) == ""


@pytest.mark.parametrize("width", [20, 40, 79, 80, 120])
def test_no_line_is_wider_than_the_terminal(record, width):
    """What is too long ends with dots, and control characters do not reach the terminal."""
    told = event(record, text="json:orjson " + "\x1b[31m\u65e5" * 60)
    for shown in (progress.state(told, width), progress.best(told, width)):
        assert width_of(shown) <= width
        assert "\x1b" not in shown
        assert "\n" not in shown


@pytest.mark.parametrize("codec", ["parquet:polars", "arrow:pyarrow", "msgpack:msgspec+zstd:3"])
def test_nothing_is_cut_at_eighty_columns(record, codec):
    """Size, time to read and how sure the answer is stand whole beside the name; of the data the last details are left out."""
    told = event(copy.deepcopy(record))
    chosen = {**told.record["derived"]["headline"]["chosen"], "codec": codec, "bytes": 409e3}
    chosen |= {"write_s": 125e-3, "read_s": 13.7e-3}
    doubt = {"chosen": chosen, "confidence": "can't tell"}
    told.record["derived"]["headline"] = {**told.record["derived"]["headline"], **doubt}
    shown = progress.best(told, 79)
    assert title_of(codec) in shown
    assert re.search(r"  ~409 kB .* read 14 ms  \(can't tell\)$", shown), shown
    assert "\u2026" not in shown
    data = "sensor.csv  table 1,500,000 x 3  79.4 MiB in memory  2 num 1 time  nulls 0.0 %"
    opened = progress.state(event(stage="open", done=1, total=1, text=data), 79)
    assert opened == "[4.2 of 30 s] reading the data: sensor.csv  table 1,500,000 x 3"
    assert progress.state(event(stage="open", done=1, total=1, text=data)).endswith("nulls 0.0 %")


@pytest.mark.parametrize("width", [40, 80])
def test_the_live_display_takes_two_lines(record, width):
    """State first, the best so far below it; later events leave it there."""
    live = progress._Live()
    out = io.StringIO()
    live._console = Console(file=out, width=width, force_terminal=True)
    for told in (event(record), event(text="orc:pyarrow,compression=zstd " + "x" * 200)):
        live._best = told if told.verdict else live._best
        live._console.print(live._picture(told))
    lines = [line for line in out.getvalue().split("\n") if line.strip()]
    assert len(lines) == 4
    assert "best" in lines[1]
    assert "best" in lines[3]
    assert "88.3 MB" in lines[3]


def test_lines_of_a_pipe_say_each_best_once(record, capsys):
    """A verdict that says the same again is no news."""
    lines = progress._Lines()
    for _ in range(3):
        lines(event(record))
    assert capsys.readouterr().err.count("best so far: Arrow") == 1


def test_microseconds_are_written_as_in_the_report(record, monkeypatch):
    """With their sign, and plain where the terminal has none."""
    told = event(copy.deepcopy(record))
    chosen = {**told.record["derived"]["headline"]["chosen"], "write_s": 12e-6}
    told.record["derived"]["headline"] = {**told.record["derived"]["headline"], "chosen": chosen}
    for encoding, shown in (("utf-8", "write 12 \xb5s"), ("ascii", "write 12 us")):
        monkeypatch.setattr("sys.stderr", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
        assert shown in progress.best(told)


@pytest.fixture
def cell(monkeypatch):
    """The output of a notebook's cell: each line with whether it was updated in place; ``shell`` is what runs the cell."""
    output = SimpleNamespace(lines=[], shell=SimpleNamespace(kernel=object()))

    def draw(shown, *, raw, place):
        assert raw
        output.lines.append((place, shown["text/plain"]))

    def display(shown, *, raw, display_id):
        assert display_id
        draw(shown, raw=raw, place="new")
        return SimpleNamespace(update=lambda later, raw: draw(later, raw=raw, place="same"))

    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: output.shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    return output


def test_a_notebook_shows_one_line_that_is_updated(cell, record):
    """The best so far stays beside what is being done; the last line says how long it took."""
    with in_notebook() as tell:
        tell(event(stage="open", text="orders.csv"))
        tell(event(record))
        tell(event(stage="rounds", total=0, text="round 1, 5 codecs", elapsed_s=9.5))  # too soon to be drawn
    assert [place for place, _ in cell.lines] == ["new", "same", "same"]
    assert "reading the data" in cell.lines[0][1]
    assert "best so far: Arrow / Feather, uncompressed" in cell.lines[1][1]
    assert cell.lines[2][1] == "[9.5 s] done"


def test_progress_is_silent_where_no_notebook_shows_it(cell, capsys):
    """In a terminal, also IPython's, and where the caller follows the run."""
    words = {"time": 0, "quick": True, "codecs": "json:stdlib"}
    events = []
    tare.measure([1], **words, on_progress=events.append)
    assert events
    cell.shell = SimpleNamespace(kernel=None)
    tare.measure([1], **words)
    assert (cell.lines, *capsys.readouterr()) == ([], "", "")
    cell.shell = SimpleNamespace(kernel=object())
    tare.measure([1], **words)
    assert cell.lines[0][0] == "new"
    assert cell.lines[-1][1].endswith("s] done")
