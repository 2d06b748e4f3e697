"""``tare worker``: the measuring process, for another machine or another driver."""

from __future__ import annotations

import click

__all__ = ["command"]


@click.command("worker")
def command() -> None:
    """Speak the worker protocol (tare-worker/1) on standard input and output.

    Started by 'tare measure' itself, and over ssh on the far side of '--remote'.
    It ends when its input ends.
    """
    from tare.measure.worker import main

    main()
