"""Progress on standard error: live on a terminal, a line per five seconds in a pipe, or JSON events."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from tare.measure import progress
from tare.report.terminal import encodable

if TYPE_CHECKING:
    from tare.measure.session import Event

__all__ = ["display"]

_LINE_EVERY_S = 5.0


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


def state(event: Event, width: int = 0) -> str:
    """Returns what is being done, in one line that the stream can show."""
    return _encodable(progress.state(event, width))


def best(event: Event, width: int = 0) -> str:
    """Returns the best so far, in one line that the stream can show; empty if nothing can be named yet."""
    return _encodable(progress.best(event, width))


def _encodable(line: str) -> str:
    return encodable(line, getattr(sys.stderr, "encoding", None) or "utf-8")


class _Lines:
    """A line every five seconds, and each verdict as it comes."""

    def __init__(self) -> None:
        self._last_s = -_LINE_EVERY_S
        self._best = ""

    def __call__(self, event: Event) -> None:
        now = time.monotonic()
        if event.verdict and (found := best(event)):
            if found != self._best:
                click.echo(f"[{event.elapsed_s:.1f} s] {found}", err=True)
            self._best = found
        elif _always(event) or now - self._last_s >= _LINE_EVERY_S:
            self._last_s = now
            click.echo(state(event), err=True)


def _always(event: Event) -> bool:
    """Whether an event has a line however soon it comes: what is opened, what the exchange tries and what it took."""
    return event.stage == "open" or (event.stage == "exchange" and event.done in (0, event.total))


class _Live:
    """Two lines that are redrawn in place, at most four times a second and between samples only."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(stderr=True)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._drawn_s = 0.0
        self._best: Event | None = None

    def __enter__(self) -> _Live:  # noqa: PYI034 - typing.Self is newer than our oldest Python
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def __call__(self, event: Event) -> None:
        if event.verdict:
            self._best = event
        now = time.monotonic()
        if event.verdict or now - self._drawn_s >= progress.DRAW_EVERY_S:
            self._drawn_s = now
            self._live.update(self._picture(event), refresh=True)

    def _picture(self, event: Event) -> Any:
        from rich.text import Text

        # The last column stays free: some terminals wrap a line that fills it.
        width = self._console.width - 1
        shown = Text(state(event, width), no_wrap=True)
        found = best(self._best, width) if self._best else ""
        return shown.append(f"\n{found}", style="bold") if found else shown
