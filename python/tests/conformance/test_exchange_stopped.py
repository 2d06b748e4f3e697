"""An exchange that is stopped: at once, with what was tried until then, and what was not told as such."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from support.planted_reader import planted_reader

from tare import measure
from tare.cli.progress import display
from tare.measure.exchange import documents as exchanging
from tare.measure.exchange.documents import NOT_NAMED, NOT_TRIED, exchange, steps_of
from tare.measure.exchange.tables import exchange_tables
from tare.measure.records.schema import check
from tare.measure.session import Control, Event
from tare.report import markdown, terminal
from tare.report.html import render

DOCUMENT = [{"id": n, "x": n / 4, "name": f"n{n}"} for n in range(20)]
CODECS = ["json:stdlib", "json:node"]
# The design allows 2 s; a machine with other work gets more, a hang of 10 minutes (10 s for a probe) shows.
SOON_S = 6.0


def hanging(tmp_path: Path) -> dict[str, str]:
    return planted_reader(
        tmp_path, "hangs", codec="json:stdlib", kind="document", dies='"n19"', changes="", change=""
    )


class Stopping:
    """Stops a second after the reader of CODECS that hangs was begun."""

    def __init__(self, stop: Any) -> None:
        self.stop, self.at, self.steps = stop, 0.0, []

    def __call__(self, line: str, done: int, total: int) -> None:
        self.steps.append((line, done, total))
        if line == "json:node reads" and not self.at:
            self.at = time.monotonic() + 1.0
            threading.Timer(1.0, self.stop).start()


def test_a_reply_is_not_waited_for(tmp_path: Path) -> None:
    """What other readers did is there; the pair at which it hung, and all after it, were not tried."""
    asked = threading.Event()
    tell = Stopping(asked.set)
    block = exchange(
        "json", CODECS, given=hanging(tmp_path), only=["text_empty"], own=DOCUMENT, has_own=True,
        tell=tell, stop=asked.is_set,
    )  # fmt: skip
    assert time.monotonic() - tell.at < SOON_S
    for writer in CODECS:
        assert block["pairs"][writer]["json:stdlib"] == {"counts": {"same": 2}, "values": {}}
        assert block["pairs"][writer]["json:node"] == {"counts": {}, "values": {}, "reason": NOT_TRIED}
    assert tell.steps[:3] == [
        ("json:stdlib writes", 0, 6), ("json:node writes", 1, 6), ("json:stdlib reads", 2, 6)
    ]  # fmt: skip
    assert steps_of(CODECS) == 6


def test_before_it_began_nothing_is_tried() -> None:
    """Of documents and of tables; no process is started."""
    for block in (
        exchange("json", CODECS, only=["text_empty"], stop=lambda: True),
        exchange_tables("csv", ["csv:pyarrow", "csv:stdlib"], stop=lambda: True),
    ):
        pairs = [pair for readers in block["pairs"].values() for pair in readers.values()]
        assert [pair.get("reason") for pair in pairs] == [NOT_TRIED] * 4


def test_only_the_pairs_that_are_asked_for_are_tried(tmp_path: Path) -> None:
    """Of documents and of tables: the others say that they were left out, and cost no step."""
    steps: list[tuple[str, int, int]] = []
    block = exchange(
        "json", CODECS, given=hanging(tmp_path), only=["text_empty"], only_pairs=[("json:node", "json:stdlib")],
        tell=lambda *step: steps.append(step),
    )  # fmt: skip
    assert steps == [("json:node writes", 0, 2), ("json:stdlib reads", 1, 2)]
    assert block["pairs"]["json:node"]["json:stdlib"] == {"counts": {"same": 1}, "values": {}}
    left = {"counts": {}, "values": {}, "reason": NOT_NAMED}
    assert block["pairs"]["json:stdlib"] == dict.fromkeys(CODECS, left)
    assert block["pairs"]["json:node"]["json:node"] == left
    names = ["csv:pyarrow", "csv:stdlib"]
    block = exchange_tables("csv", names, only=["int8"], only_pairs=[(names[0], names[1])])
    reasons = [pair.get("reason") for readers in block["pairs"].values() for pair in readers.values()]
    assert reasons == [NOT_NAMED, None, NOT_NAMED, NOT_NAMED]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A run that was stopped at the last pair, one of a codec that was not named; with what it told."""
    folder = tmp_path_factory.mktemp("stopped")
    control, events = Control(), []
    tell = Stopping(control.stop)

    def on_progress(event: Event) -> None:
        if event.stage == "exchange":
            events.append(event)
            tell(event.text, event.done, event.total)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder))
        patch.setattr(exchanging, "LANGUAGES", {})
        patch.setattr(exchanging, "VALUES", exchanging.VALUES[:12])
        patch.setattr(exchanging, "shared_formats", lambda given, kind="document": ["json", "msgpack"])
        record = measure.run(
            DOCUMENT, codecs=("json:stdlib", "msgpack"), time_s=2, exchange=True, workers=hanging(folder),
            on_progress=on_progress, control=control, out=folder / "a.tare.json",
        ).record  # fmt: skip
    return {"record": record, "events": events, "took_s": time.monotonic() - tell.at, "folder": folder}


one_run = pytest.mark.xdist_group("one run with a stopped exchange")


@one_run
def test_a_run_that_is_stopped_keeps_its_figures_and_says_what_was_not_tried(stopped: dict[str, Any]) -> None:
    """Soon, interrupted, with a verdict; pairs of two codecs that were named came first, of every format."""
    record = stopped["record"]
    check(record)
    assert stopped["took_s"] < SOON_S
    assert record["interrupted"] is True
    assert record["derived"]["headline"]["sentence"]
    assert [path.name for path in stopped["folder"].glob("*.tare.json*")] == ["a.tare.json"]
    found = record["fidelity"]["exchange"]
    assert found["json"]["pairs"]["json:node"]["json:stdlib"]["counts"]
    assert found["json"]["pairs"]["json:stdlib"]["json:stdlib"]["counts"]
    assert found["json"]["pairs"]["json:stdlib"]["json:node"]["reason"] == NOT_TRIED
    assert found["json"]["pairs"]["json:node"]["json:node"]["reason"] == NOT_NAMED
    pairs = [pair for readers in found["msgpack"]["pairs"].values() for pair in readers.values()]
    assert pairs
    assert all(pair["counts"] and "reason" not in pair for pair in pairs)


@one_run
def test_every_report_says_what_was_not_tried(stopped: dict[str, Any]) -> None:
    """A dash in the matrix, and in words how many and why."""
    for shown in (f(stopped["record"]) for f in (terminal.render, markdown.render, render)):
        plain = " ".join(shown.replace("\\", "").split())
        assert f"1 of 4 pairs (-) {NOT_TRIED}" in plain
        assert f"1 of 4 pairs (-) {NOT_NAMED}" in plain


@one_run
def test_progress_tells_pairs_and_steps(stopped: dict[str, Any]) -> None:
    """How many pairs before the first, without those left out, then each step of all formats together."""
    events = stopped["events"]
    formats = stopped["record"]["fidelity"]["exchange"]
    many = len(formats["msgpack"]["codecs"])
    pairs = 3 + many**2
    assert events[0].done == 0
    assert events[0].text.startswith(f"{pairs} pairs of json, msgpack; not part of --time")
    assert {event.total for event in events} == {2 + many * (1 + many) + 4}
    assert events[-1].text == "json:node reads"
    assert [event.done for event in events] == [0, *range(len(events) - 1)]


def test_lines_tell_how_much_is_tried_and_what_it_took(capsys: pytest.CaptureFixture[str]) -> None:
    """However soon these come after another line; steps have one in five seconds."""
    with display("lines", {}) as tell:
        for done, text in enumerate(("4 pairs", "one step", "another", "4 pairs in 1 s")):
            tell(Event("exchange", done, 3, 7.0, 6.0, text))
    said = capsys.readouterr().err
    assert [one.rpartition(": ")[2] for one in said.splitlines()] == ["4 pairs", "4 pairs in 1 s"]


def test_bytes_that_were_read_are_not_read_again(tmp_path: Path) -> None:
    """Two writers of the same bytes cost each reader one decoding; another's layout is read by itself."""
    log = tmp_path / "log"
    told = planted_reader(
        tmp_path, "counts", codec="json:stdlib", kind="document", dies="", changes="", change=""
    )
    program = tmp_path / "reader.py"
    program.write_text(
        program.read_text().replace(
            "    done = was(self", f"    open({str(log)!r}, 'a').write(asked + chr(10))\n    done = was(self"
        )
    )
    codecs = ["json:orjson", "json:msgspec", "json:stdlib", "json:node"]
    block = exchange("json", codecs, given=told, only=["text_number"], own=[{"a": 1}], has_own=True)
    assert all(block["pairs"][one]["json:node"]["counts"] == {"same": 2} for one in codecs)
    read = log.read_text().splitlines()
    assert len(read) == len(set(read)) == 4
