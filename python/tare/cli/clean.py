"""`tare clean`: what runs that were killed left behind."""

from __future__ import annotations

import click

__all__ = ["command"]


@click.command("clean", short_help="Remove what killed runs left half written.")
@click.argument("destination")
def command(destination: str) -> int:
    """Remove files under DESTINATION/.tare/writing that nobody writes any more; results stay.

    They are those older than a day, and those of processes of this host that are gone. So are copies of objects, plans and
    results on their way to a bucket, of any destination, that such processes left in this machine's temporary folder.

    \b
    Example:
      tare clean out/
    """  # noqa: D301 - click keeps lines after a backspace character
    from tare.scale.standing import clean

    click.echo(f"{clean(destination):,} files removed", err=True)
    return 0
