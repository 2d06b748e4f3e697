"""`tare status`: how far a plan is."""

from __future__ import annotations

import json

import click

from tare.cli.lines import counted

__all__ = ["command"]


@click.command("status", short_help="How far a plan is, and what failed.")
@click.argument("where")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON on standard output.")
@click.option(
    "--failures", "every", is_flag=True, help="Every input that failed, a line each on standard output."
)
def command(where: str, as_json: bool, every: bool) -> int:
    """Say how many inputs of WHERE, a plan or a destination, are done, failed or missing.

    Exit code 0 if all are done, else 1. Nothing is changed.

    \b
    Examples:
      tare status plan.jsonl
      tare status s3://bucket/out --json
      tare status out --failures > again.txt
    """  # noqa: D301 - click keeps lines after a backspace character
    from tare.report import text
    from tare.scale.standing import status_of

    found = status_of(where, every=every)
    if as_json:
        click.echo(json.dumps(found, indent=1, ensure_ascii=False))
        return 0 if found["done"] == found["units"] else 1
    if every:
        for error in found["failed_inputs"]:
            click.echo(f"{error['class']}\t{error['kind']}\t{' '.join(error['message'].split())}")
        return 0 if found["done"] == found["units"] else 1
    units = f"  in {counted(found['units'], 'unit')}" if found["units"] != found["inputs"] else ""
    click.echo(
        f"{found['inputs_done']:,} of {found['inputs']:,} done, {found['inputs_failed']:,} failed, "
        f"{found['inputs_missing']:,} missing{units}  "
        f"{text.size(found['bytes_done'])} of {text.size(found['bytes'])}  {found['rows']:,} rows"
    )
    if found["unasked"]:
        click.echo(f"  by receipts alone, as the store could not be asked: {found['unasked']}")
    if found["results_besides"]:
        some = found["results_besides"]
        names = ", ".join(found["besides"]) + (", ..." if some > len(found["besides"]) else "")
        click.echo(
            f"  {some:,} result{'s' * (some != 1)} that the last plan does not make, as of sources that went since: {names}"
        )
    for host, count in sorted(found["hosts"].items()):
        click.echo(f"  {host}: {counted(count, 'unit') if units else f'{count:,}'}")
    for group in found["failures"]:
        of = f" of {group['format']}" if group["format"] else ""
        click.echo(f"  {group['count']:,} x {group['class']}: {group['kind']}{of}")
        for said in group["examples"]:
            click.echo(f"      {said}")
    return 0 if found["done"] == found["units"] else 1
