"""`tare run`: a plan, whole or one share of it."""

from __future__ import annotations

import shlex
import sys
from typing import Any

import click

from tare.cli.running import carry_out, run_options, tell

__all__ = ["command"]


@click.command("run", short_help="Carry out a plan, or one share of it.")
@click.argument("plan", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--shard", metavar="I/N", help="Every Nth unit from the Ith on: for batch systems, without an engine."
)
@click.option(
    "--verify",
    type=click.Choice(["size", "hash", "decode"]),
    default="hash",
    show_default=True,
    help="How each result is checked.",
)
@run_options
@click.option(
    "--allow-pickle", is_flag=True, help="Read sources that can run code; only for files you trust."
)
@click.option(
    "--allow-source",
    "sources",
    multiple=True,
    metavar="PLACE",
    help="A folder, file or s3:// prefix that the plan may read; may be given again.",
)
@click.option(
    "--allow-destination",
    "destinations",
    multiple=True,
    metavar="PLACE",
    help="A folder or s3:// prefix that results may go to; may be given again.",
)
@click.option(
    "--allow-store",
    "stores",
    multiple=True,
    metavar="URL",
    help="A store that the plan may set keys in; may be given again.",
)
@click.option("--overwrite", is_flag=True, help="Replace files that are not from here, or of another source.")
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON on standard output.")
def command(plan: str, shard: str | None, verify: str, as_json: bool, **options: Any) -> int:
    """Carry out the units of PLAN, as `tare plan` wrote it; those that are done are passed over.

    A plan may come from anywhere: what it reads and writes must lie below the current folder or that of PLAN, not in
    hidden folders, or be allowed. `tare plan` prints the line with what it needs.

    Exit code 0: all done; 1: some failed; 3: no engine or worker; 4: stopped for want of disk or rights;
    130: interrupted. The same line goes on where it ended.

    \b
    Examples:
      tare run plan.jsonl --jobs 8
      tare run plan.jsonl --shard $SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT
      tare run plan.jsonl --executor dask://scheduler:8786
    """  # noqa: D301 - click keeps lines after a backspace character
    from tare.scale.confinement import Allowed, check_places
    from tare.scale.plan import read_plan

    opened = read_plan(plan)
    allowed = Allowed(**{name: options.pop(name) for name in ("sources", "destinations", "stores")})
    check_places(opened, allowed)
    report, code = carry_out(opened, options, verify=verify, shard=_shard(shard))
    if report is not None:
        again = shlex.join(["tare", *sys.argv[1:]])
        tell(report, _where(opened, plan), again, as_json=as_json)
    return code


def _where(plan: Any, path: str) -> str:
    """Where results went: the folder, the store, or what is beside the plan."""
    from tare.scale.place import shown

    if plan.base:
        return shown(plan.base)
    first: dict[str, Any] = next(plan.units(), {})
    return str(first.get("options", {}).get("store", "")) or path


def _shard(text: str | None) -> tuple[int, int] | None:
    from tare.errors import UsageError

    if text is None:
        return None
    first, slash, count = text.partition("/")
    if not (slash and first.isdigit() and count.isdigit() and 1 <= int(first) <= int(count)):
        raise UsageError(f"--shard {text!r:.40}: I/N with I from 1 to N, such as 2/8")
    return int(first), int(count)
