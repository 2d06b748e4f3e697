"""Progress on standard error: live on a terminal, a line per five seconds in a pipe, or JSON events."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from tare.measure.session import Event

__all__ = ["display"]

_LINE_EVERY_S = 5.0
_DRAW_EVERY_S = 0.25
_BEST = 5


@contextmanager
def display(kind: str, options: dict[str, Any]) -> Iterator[Callable[[Event], None] | None]:
    """A display for progress events.

    Args:
        kind: ``auto``, ``lines``, ``json`` or ``quiet``.
        options: The command's options; ``profile`` decides what is shown as best.

    Yields:
        What to call with each event.
    """
    if kind == "quiet":
        yield None
    elif kind == "json":
        yield _json_events
    elif kind == "lines" or not sys.stderr.isatty():
        yield _Lines()
    else:
        with _Live() as live:
            yield live


def _json_events(event: Event) -> None:
    click.echo(
        json.dumps(
            {
                "stage": event.stage,
                "done": event.done,
                "total": event.total,
                "elapsed_s": round(event.elapsed_s, 2),
                "budget_s": event.budget_s,
                "text": event.text,
                "verdict": sentence(event) if event.verdict else None,
            }
        ),
        err=True,
    )


def sentence(event: Event) -> str:
    """The verdict so far in one sentence; empty if there is none."""
    derived = (event.record or {}).get("derived") or {}
    return str((derived.get("headline") or {}).get("sentence", ""))


def line(event: Event) -> str:
    """An event as one line of text."""
    share = f" {event.done}/{event.total}" if event.total else ""
    budget = f" of {event.budget_s:.0f}" if event.budget_s else ""
    return f"[{event.elapsed_s:5.1f}{budget} s] {event.stage}{share}  {event.text}"


class _Lines:
    """A line every five seconds, and each verdict as it comes."""

    def __init__(self) -> None:
        self._last_s = -_LINE_EVERY_S

    def __call__(self, event: Event) -> None:
        now = time.monotonic()
        if event.verdict and sentence(event):
            click.echo(f"[{event.elapsed_s:5.1f} s] so far: {sentence(event)}", err=True)
        elif _always(event) or now - self._last_s >= _LINE_EVERY_S:
            self._last_s = now
            click.echo(line(event), err=True)


def _always(event: Event) -> bool:
    """Whether an event has a line however soon it comes: what is opened, what the exchange tries and what it took."""
    return event.stage == "open" or (event.stage == "exchange" and event.done in (0, event.total))


class _Live:
    """A small table redrawn at most four times a second, between samples only."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(stderr=True)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._drawn_s = 0.0
        self._verdict = ""
        self._rows: list[tuple[str, str, str]] = []

    def __enter__(self) -> _Live:  # noqa: PYI034 - typing.Self is newer than our oldest Python
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def __call__(self, event: Event) -> None:
        if event.verdict:
            self._verdict = sentence(event)
            self._rows = best(event)
        now = time.monotonic()
        if event.verdict or now - self._drawn_s >= _DRAW_EVERY_S:
            self._drawn_s = now
            self._live.update(self._picture(event), refresh=True)

    def _picture(self, event: Event) -> Any:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        from tare.report.words import RATIO

        parts: list[Any] = [Text(line(event), no_wrap=True, overflow="ellipsis")]
        if event.budget_s:
            parts.append(
                ProgressBar(total=event.budget_s, completed=min(event.elapsed_s, event.budget_s), width=60)
            )
        if self._verdict:
            parts.append(Text("so far: " + self._verdict, style="bold"))
        if self._rows:
            table = Table(box=None, pad_edge=False, show_edge=False)
            for heading in ("best so far", RATIO, "size"):
                table.add_column(heading, justify="left" if heading == "best so far" else "right")
            for row in self._rows:
                table.add_row(*(Text(cell) for cell in row))
            parts.append(table)
        return Group(*parts)


def best(event: Event) -> list[tuple[str, str, str]]:
    """The best few codecs so far: id, ratio to the base with its interval, size."""
    record = event.record or {}
    derived = (record.get("derived") or {}).get("cases", {})
    codecs = {
        case["key"]: case["labels"]["codec"] for case in record.get("cases", ()) if case["status"] == "ok"
    }
    rows = []
    for key, case in derived.items():
        total = case.get("total") or {}
        if key in codecs and total.get("ratio") and codecs[key] != "copy":
            rows.append((total["ratio"], codecs[key], total, case.get("bytes") or 0))
    rows.sort(key=lambda row: row[0])
    return [
        (codec, f"{ratio:.2f} [{total['ratio_lo']:.2f}, {total['ratio_hi']:.2f}]", f"{size / 1e6:,.2f} MB")
        for ratio, codec, total, size in rows[:_BEST]
        if total.get("ratio_lo") is not None
    ]
