"""Progress on standard error: live on a terminal, a line per five seconds in a pipe, or JSON events."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from tare.codec.titles import title_of
from tare.measure.verdict.text import sized, spent
from tare.report.answer import signed
from tare.report.layout import cut, middle
from tare.report.terminal import encodable
from tare.report.text import visible, width_of

if TYPE_CHECKING:
    from tare.measure.session import Event

__all__ = ["display"]

_LINE_EVERY_S = 5.0
_DRAW_EVERY_S = 0.25
# A name is cut to no fewer columns.
_NAME = 8
# Stage -> what is done there.
_DOING = {
    "open": "reading the data",
    "screen": "trying",
    "weigh": "measuring",
    "memory": "memory",
    "growth": "growth",
    "probe": "checking what is kept",
    "exchange": "exchange",
    "done": "done",
}


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
    """Returns what is being done, in one line; where a width is given, without the last of its details that do not fit."""
    share = f" {event.done} of {event.total}" if event.total > (event.stage == "open") else ""
    budget = f" of {event.budget_s:.0f}" if event.budget_s else ""
    doing = _DOING.get(event.stage, event.stage)
    work = " ".join(title_of(word) if ":" in word else word for word in event.text.split(" "))
    lead, parts = f"[{event.elapsed_s:.1f}{budget} s] {doing}{share}", work.split("  ")
    shown = [f"{lead}: {'  '.join(parts[:some])}" for some in range(len(parts), 0, -1)] if work else [lead]
    return _cut(_fitting(shown, width), width)


def best(event: Event, width: int = 0) -> str:
    """The best so far with its size and times of the whole data, in one line; empty if nothing can be named yet."""
    verdict = ((event.record or {}).get("derived") or {}).get("headline") or {}
    found = verdict.get("chosen")
    if not found:
        return ""
    name, times = title_of(found["codec"]), spent(found)
    sure = [f"({verdict['confidence']})"] if verdict.get("confidence") != "clear" else []
    # The figures and how sure they are stay whole: first the gaps become narrow, then the time to write goes.
    shown = [
        signed(gap.join([f"{lead}: {name}", sized(found), *told, *sure]))
        for lead, gap, told in (
            ("best so far", "   ", times),
            ("best so far", "  ", times),
            ("best", "  ", times),
            ("best so far", "  ", times[-1:]),
            ("best", "  ", times[-1:]),
        )
    ]
    least = _fitting(shown, width)
    room = width - width_of(least) + width_of(name)
    if width and width_of(name) > room >= _NAME:
        least = least.replace(name, middle(name, room), 1)
    return _cut(least, width)


def _fitting(shown: Sequence[str], width: int) -> str:
    """The first of several forms of a line that is not wider than a terminal, else the last; 0 for any width."""
    return next((one for one in shown if not width or width_of(visible(one, 400)) <= width), shown[-1])


def _cut(shown: str, width: int) -> str:
    """Text of one line, at most so many columns; 0 for any."""
    plain = visible(shown, 400)
    return encodable(cut(plain, width) if width else plain, getattr(sys.stderr, "encoding", None) or "utf-8")


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
        if event.verdict or now - self._drawn_s >= _DRAW_EVERY_S:
            self._drawn_s = now
            self._live.update(self._picture(event), refresh=True)

    def _picture(self, event: Event) -> Any:
        from rich.text import Text

        # The last column stays free: some terminals wrap a line that fills it.
        width = self._console.width - 1
        shown = Text(state(event, width), no_wrap=True)
        found = best(self._best, width) if self._best else ""
        return shown.append(f"\n{found}", style="bold") if found else shown
