"""``tare worker``: the measuring process, for another machine or another driver; and the check of others' workers."""

from __future__ import annotations

import click

from tare.cli.types import CodecId

__all__ = ["command"]


@click.command("worker")
@click.option(
    "--check", metavar="COMMAND", help="Hold another worker program against the protocol, and report."
)
@click.option(
    "--codec",
    type=CodecId(),
    metavar="ID",
    help="With --check: the codec to check with; by default its first.",
)
def command(check: str | None, codec: str | None) -> int:
    """Speak the worker protocol (tare-worker/2) on standard input and output.

    Started by 'tare measure' itself, and over ssh on the far side of '--remote'.
    It ends when its input ends.

    --check 'node my-worker.js' starts that program instead and holds it against
    docs/specs/worker-protocol.md: exit code 0 if nothing failed, else 1.
    """
    if check is None:
        from tare.measure.worker.main import main

        main()
        return 0
    from tare.measure.conformance.checks import check_worker
    from tare.measure.worker_client.languages import located

    counts = {"ok": 0, "not offered": 0, "failed": 0}
    for found in check_worker(located(check), codec):
        counts[found.status] += 1
        click.echo(f"{found.status:<12} {found.name}" + (f": {found.why}" if found.why else ""))
        if found.status == "failed":
            click.echo(f"{'':12} the protocol says: {found.says}")
    click.echo(f"{counts['ok']} ok, {counts['not offered']} not offered, {counts['failed']} failed", err=True)
    return 1 if counts["failed"] else 0
