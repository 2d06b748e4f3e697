"""Progress of a run in words, and its display in a notebook: one line that is updated in place."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tare.codec.titles import title_of
from tare.measure.verdict.text import sized, spent
from tare.report.answer import signed
from tare.report.layout import cut, middle
from tare.report.text import visible, width_of

if TYPE_CHECKING:
    from tare.measure.session import Event

__all__ = ["DRAW_EVERY_S", "Notebook", "best", "in_notebook", "state"]

DRAW_EVERY_S = 0.25
"""Seconds between two drawings in place, at least."""
# A name is cut to no fewer columns.
_NAME = 8
# Stage -> what is done there.
_DOING = {
    "open": "reading the data",
    "pass": "trying",
    "rounds": "measuring",
    "weigh": "measuring",
    "memory": "memory",
    "growth": "growth",
    "probe": "checking what is kept",
    "exchange": "exchange",
    "done": "done",
}


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
    """Returns the best so far with its size and times of the whole data, in one line; empty if nothing can be named yet."""
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
    """Returns the first of several forms of a line that is not wider than a terminal, else the last; 0 for any width."""
    return next((one for one in shown if not width or width_of(visible(one, 400)) <= width), shown[-1])


def _cut(shown: str, width: int) -> str:
    """Returns text of one line, at most so many columns; 0 for any."""
    plain = visible(shown, 400)
    return cut(plain, width) if width else plain


@contextmanager
def in_notebook() -> Iterator[Notebook | None]:
    """Shows progress below a notebook's cell; yields None where the program runs in none."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is None:
        yield None
        return
    shown = Notebook()
    try:
        yield shown
    finally:
        shown.close()


class Notebook:
    """One line below a notebook's cell, redrawn at most four times a second and between samples only."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._drawn_s = 0.0
        self._best = ""
        self._elapsed_s = 0.0

    def __call__(self, event: Event) -> None:
        """Draws what is being done and the best so far."""
        self._elapsed_s = event.elapsed_s
        if event.verdict:
            self._best = best(event) or self._best
        now = time.monotonic()
        if self._handle is None or event.verdict or now - self._drawn_s >= DRAW_EVERY_S:
            self._drawn_s = now
            self._draw("   ".join(filter(None, (state(event), self._best))))

    def close(self) -> None:
        """Leaves how long it took: the answer itself is the result that the cell shows."""
        if self._handle is not None:
            self._draw(f"[{self._elapsed_s:.1f} s] done")

    def _draw(self, line: str) -> None:
        shown = {"text/plain": line}
        if self._handle is None:
            display = importlib.import_module("IPython.display").display
            self._handle = display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)
