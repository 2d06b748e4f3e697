"""`tare plan`: work as a file, for batch systems and for reading before it runs."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from typing import Any

import click

from tare.cli.convert_many import planned
from tare.cli.lines import counted
from tare.cli.signals import terminated_as_interrupted
from tare.cli.types import CodecId

__all__ = ["command"]


@click.group("plan", short_help="Write down what a conversion, an encoding, a put or a benchmark would do.")
def command() -> None:
    """Write a plan: units of work that `tare run` carries out, on any number of machines.

    Exit code 1, with the plan of all others, if a source cannot be read or another file has the name of its result.
    """


def _free(context: click.Context, parameter: click.Parameter, out: str) -> str:
    """A name that is free, or that of an earlier plan: nothing else is replaced."""
    from tare.errors import PlanError, UsageError
    from tare.scale.plan import read_plan

    del context, parameter
    if os.path.exists(out):
        try:
            read_plan(out)
        except PlanError:
            raise UsageError(
                f"{out} exists and is not a plan, so it is not replaced: name another file with -o"
            ) from None
    return out


_OUT = click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(dir_okay=False),
    callback=_free,
    help="Where the plan is written.",
)
_INCLUDE = click.option(
    "--include", multiple=True, metavar="GLOB", help="Only names that match; may be given again."
)
_EXCLUDE = click.option(
    "--exclude", multiple=True, metavar="GLOB", help="Not names that match; may be given again."
)
_SPLIT = click.option(
    "--split", metavar="SIZE", help="Bytes of a part of a large file, such as 64MiB; off leaves files whole."
)
_IDENTIFY = click.option(
    "--identify",
    type=click.Choice(["stat", "content"]),
    default="stat",
    help="Know sources by size and time, or by content.",
)


@command.command("convert", short_help="Files, or parts of large ones, into another format.")
@click.argument("sources", nargs=-1, required=True)
@click.option(
    "--to",
    required=True,
    type=CodecId(),
    metavar="CODEC",
    help="What the files become: parquet, rds, ndjson+zstd:3.",
)
@click.option(
    "--from",
    "read",
    default="",
    metavar="FORMAT",
    help="Format of the sources, when neither bytes nor name tell.",
)
@click.option("--partition", metavar="COLUMN", help="A folder COLUMN=VALUE for each value.")
@click.option("--columns", metavar="A,B", help="Convert only these columns.")
@click.option(
    "--split-lines", is_flag=True, help="No line break of a CSV stands within a value: it may be split."
)
@click.option(
    "--whole-schema", is_flag=True, help="Look at every line of a text that is split, not at a sample."
)
@click.option("--encoding", metavar="NAME", help="Encoding of source texts that are not UTF-8.")
@click.option(
    "--data-only",
    is_flag=True,
    help="Leave out promises, functions and the like of R's files; each is a loss.",
)
@click.option("--strict", is_flag=True, help="Refuse a file if an R object would lose something.")
@_SPLIT
@_INCLUDE
@_EXCLUDE
@_IDENTIFY
@click.option(
    "--overwrite", is_flag=True, help="Let every run of the plan replace files that are not from here."
)
@_OUT
def convert(sources: tuple[str, ...], out: str, **options: Any) -> int:
    """Plan the conversion of SOURCES... into the folder that is given last.

    \b
    Example:
      tare plan convert s3://bucket/raw s3://bucket/parquet --to parquet --split 256MiB -o plan.jsonl
    """  # noqa: D301 - click keeps lines after a backspace character
    from tare.scale import plan_convert

    given, destination = _last(sources)
    given_options = {name: options.pop(name) for name in ("columns", "encoding", "data_only", "strict")}
    more: dict[str, str | int] = {
        name: value if isinstance(value, str) else 1 for name, value in given_options.items() if value
    }
    return _written(out, plan_convert, given, destination, options=more, **options)


@command.command("encode", short_help="Documents into collections of blit.")
@click.argument("sources", nargs=-1, required=True)
@click.option("--compressor", default="", metavar="ID", help="Of the chunks: zstd, zstd:9, lz4.")
@_SPLIT
@_INCLUDE
@_EXCLUDE
@_IDENTIFY
@click.option(
    "--overwrite", is_flag=True, help="Let every run of the plan replace files that are not from here."
)
@_OUT
def encode(sources: tuple[str, ...], out: str, **options: Any) -> int:
    """Plan the encoding of SOURCES..., documents, as collections of blit in the folder that is given last."""
    from tare.scale import plan_encode

    given, destination = _last(sources)
    options["split"] = options["split"] or "64MiB"
    return _written(out, plan_encode, given, destination, **options)


@command.command("put", short_help="Many objects into a store.")
@click.argument("sources", nargs=-1, required=True)
@click.option("--namespace", default="", metavar="NAME", help="Of the keys.")
@click.option("--values", is_flag=True, help="Set what a file holds instead of its bytes.")
@_INCLUDE
@_EXCLUDE
@_OUT
def put(sources: tuple[str, ...], out: str, **options: Any) -> int:
    """Plan setting SOURCES... in the store whose URL is given last; a file's name is its key."""
    from tare.scale import plan_put

    given, store = _last(sources)
    return _written(out, plan_put, given, store, **options)


@command.command("measure", short_help="A benchmark of each dataset, one at a time on a host.")
@click.argument("sources", nargs=-1, required=True)
@click.option("--codec", "codecs", multiple=True, type=CodecId(), metavar="ID", help="Only these codecs.")
@click.option("--seconds", type=click.IntRange(2), default=60, show_default=True, help="For each dataset.")
@click.option("--busy", is_flag=True, help="Measure on hosts whose load is above 1.5 a core too.")
@_OUT
def measure(sources: tuple[str, ...], out: str, **options: Any) -> int:
    """Plan a benchmark of each of SOURCES..., one at a time on a host; records go to the folder given last."""
    from tare.scale import plan_measure

    given, destination = _last(sources)
    return _written(out, plan_measure, given, destination, **options)


def _last(sources: tuple[str, ...]) -> tuple[list[str], str]:
    from tare.errors import UsageError

    if len(sources) < 2:
        raise UsageError("give at least one source, and the destination last")
    return list(sources[:-1]), sources[-1]


def _written(out: str, make: Callable[..., Any], *given: Any, **options: Any) -> int:
    from tare.report import text
    from tare.scale.confinement import places_beyond
    from tare.scale.place import shown

    with terminated_as_interrupted():
        plan, undone = planned(make, *given, path=out, **options)
    why = _not_kept(plan, options["overwrite"]) if "overwrite" in options else ""
    again = shlex.join([f"./{out}" if out.startswith("-") else out, *places_beyond(plan)])
    click.echo(f"{counted(plan.count, 'unit')}, {text.size(plan.bytes_in)}: tare run {again}", err=True)
    if why:
        click.echo(
            f"say --overwrite to tare run: it could not be kept in {shown(plan.base)} ({why})", err=True
        )
    return undone


def _not_kept(plan: Any, overwrite: bool) -> str:
    """Keep in a destination whether runs of a plan may replace what is there; why that cannot be, empty if it can.

    A plan may be made on a machine that has not the destination, or may not write there: it is not made here.
    """
    from tare.errors import TareError
    from tare.scale.place import LocalPlace
    from tare.scale.state import State

    state = State(plan.base)
    if overwrite and isinstance(state.place, LocalPlace) and not os.path.isdir(state.place.path("")):
        return "there is no such folder here yet"
    try:
        state.allow(plan.id, overwrite)
    except (OSError, TareError) as error:
        if not overwrite:
            raise
        return str(getattr(error, "strerror", None) or error)
    return ""
