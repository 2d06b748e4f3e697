"""Signals that end a command: one whose exception Python drops is sent again."""

from __future__ import annotations

import signal
import sys
import time
import weakref
from typing import Any

import pytest

from tare.cli.signals import lost_signals_sent_again


class Target:
    """Something that a weak reference can refer to."""


def dropped(error: BaseException) -> None:
    """Raise an exception where Python cannot pass it on."""

    def callback(_: Any) -> None:
        raise error

    target = Target()
    reference = weakref.ref(target, callback)
    del target
    assert reference() is None


def drop_and_wait(error: BaseException) -> None:
    """Give the signal a minute to arrive."""
    dropped(error)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        time.sleep(0.01)


def test_an_interruption_that_was_dropped_arrives() -> None:
    with pytest.raises(KeyboardInterrupt), lost_signals_sent_again():
        drop_and_wait(KeyboardInterrupt())


def test_so_does_the_end_by_another_signal() -> None:
    def end(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        with pytest.raises(SystemExit) as ended, lost_signals_sent_again():
            drop_and_wait(SystemExit(128 + signal.SIGTERM))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended.value.code == 143


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(1), SystemExit("text")])
def test_another_exception_is_reported_as_ever(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[BaseException] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda lost: seen.append(lost.exc_value))
    with lost_signals_sent_again():
        dropped(error)
    assert seen == [error]
