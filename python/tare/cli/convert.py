"""`tare convert`: a file, or every file of a folder, from one format to another."""

from __future__ import annotations

import json
import os
import sys
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

from tare.cli import convert_many as many
from tare.cli.types import CodecId
from tare.fidelity.guesses import is_guessed

if TYPE_CHECKING:
    from collections.abc import Callable

    from tare.io import Conversion
    from tare.r import Loss

__all__ = ["command"]

_SHOWN = 8
_WHAT = {"type": "type only", "lossy": "VALUES CHANGED", "lost": "lost", "null": "NULLS"}
_VERIFY = ("size", "hash", "decode")
# Names of the standard output of this process: opened anew, a file that it leads to would be cut.
_STANDARD_OUTPUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


class _Command(click.Command):
    """`--verify` alone, or with how: the next word, or after an equals sign."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given: list[str] = []
        for place, word in enumerate(args):
            option, equals, how = word.partition("=")
            if "--" in args[:place]:
                given.append(word)
            elif option == "--verify" and equals:
                given += ["--check", how]
            else:
                if given and given[-1] == "--verify":
                    if word in _VERIFY:
                        given[-1] = "--check"
                    elif get_close_matches(word, _VERIFY) and not os.path.exists(word):
                        # It would be the folder of the results, and what was that a source.
                        raise click.UsageError(f"--verify takes {', '.join(_VERIFY)}, not {word!r}.", ctx)
                given.append(word)
        return super().parse_args(ctx, given)


@click.command("convert", cls=_Command, short_help="Convert a file, or many, from one format to another.")
@click.argument("sources", nargs=-1, required=True, metavar="SRC... DST")
@click.option(
    "--codec",
    type=CodecId(),
    metavar="ID",
    help="How to write, such as json:orjson+zstd:3; by default what DST's ending says.",
)
@click.option(
    "--compressor",
    metavar="ID",
    help="Compressor of DST, such as zstd:3; of the chunks inside, where the format has them (.blits).",
)
@click.option(
    "--from",
    "from_",
    metavar="ID",
    help="Format of SRC, when neither bytes nor name tell; or the codec that reads it, such as yaml:ruamel.",
)
@click.option(
    "--to",
    type=CodecId(),
    metavar="FORMAT",
    help="Format of DST, the same as --codec; needed when DST is -.",
)
@click.option("--columns", metavar="A,B", help="Convert only these columns.")
@click.option("--encoding", metavar="NAME", help="Encoding of a SRC text that is not UTF-8, such as latin1.")
@click.option("--force", is_flag=True, help="Replace DST if it is there.")
@click.option(
    "--verify/--no-verify",
    default=None,
    help="Read DST back and compare; by default when it is below 64 MiB in memory. Of many: --verify size, hash or "
    "decode.",
)
@click.option("--allow-loss", is_flag=True, help="Write DST although values change.")
@click.option(
    "--allow-pickle", is_flag=True, help="Read SRC although that can run code; only for files you trust."
)
@click.option(
    "--data-only",
    is_flag=True,
    help="From and to R: leave out promises, functions, bytecode, active bindings, external pointers.",
)
@click.option("--variable", metavar="NAME", help="Convert this variable of each RData file; all by default.")
@click.option(
    "--strict",
    is_flag=True,
    help="Write nothing if an R object would lose something, or a CSV its comment lines.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON on standard output.")
@many.options
def command(sources: tuple[str, ...], **options: Any) -> int:
    """Convert SRC to DST; - is standard input or output.

    DST appears when it is complete, or not at all. If values would change, nothing is
    written and the first change is shown; a change of type alone is reported.

    If DST is a folder or ends with a slash, the result stands in it under the name of SRC.
    A folder, several SRC, a glob in quotes, or an option such as --jobs or --split make it a run of
    many, into a folder: in parallel, or on a cluster, names kept, with a receipt beside each result,
    so that the same line goes on where it was ended. What was lost is listed at the end, and what
    failed, with exit code 1. See docs/guides/convert-a-terabyte.md.

    \b
    Examples:
      tare convert flights.csv flights.parquet
      tare convert data.json.gz data.msgpack --verify
      tare convert - out.parquet --from csv < flights.csv
      tare convert big.parquet - --to ndjson --columns year,month
      tare convert events.ndjson events.blits --compressor zstd
      tare convert model.qs model.rds
      tare convert old/ tables/ --to parquet
      tare convert 'logs/**/*.ndjson.gz' s3://bucket/logs --to parquet --jobs 8
      tare convert big.ndjson parts/ --to parquet --split 64MiB --executor dask://scheduler:8786
    """  # noqa: D301 - click keeps lines after a backspace character
    from tare.errors import UsageError

    if len(sources) < 2:
        raise click.UsageError("Missing argument 'DST': give what to convert, and into what.")
    given = many.taken(options)
    if options["allow_loss"] and given["on_loss"] == "fail":
        raise UsageError("--allow-loss and --on-loss fail say the opposite; give one.")
    if many.wanted(sources, given):
        return many.convert(list(sources[:-1]), sources[-1], options, given)

    from tare import io
    from tare.converting.naming import inside, pressed
    from tare.scale import remote

    src, dst = sources
    dst = "-" if dst in _STANDARD_OUTPUT else dst
    many.one(options, given)
    if options["to"] and options["codec"]:
        raise UsageError("--to and --codec both name the format of DST; give one.")
    if dst.endswith(("/", os.sep)) or (dst != "-" and os.path.isdir(dst)):
        dst = inside(dst, src, options["codec"] or options["to"])
    codec = pressed(options["codec"] or options["to"], dst, options["compressor"])
    if dst == "-" and codec is None:
        raise UsageError("standard output has no name to tell the format by; say --to FORMAT.")
    if dst == "-" and options["as_json"]:
        raise UsageError("--json needs standard output for itself; write DST to a file.")
    target: Any = dst
    if dst == "-":
        target = sys.stdout.buffer
        if target.isatty() and not _is_text(str(codec)):
            raise UsageError(
                "the result is not text and standard output is a terminal; name a file, or pipe it."
            )
    if codec is not None and dst != "-":
        _warn(dst, codec, "--to" if options["to"] else "--codec" if options["codec"] else "")
    if given["dry_run"]:
        click.echo(f"{src} -> {dst}")
        return 0
    with remote.ends(src, target, force=options["force"]) as (source, place):
        done = io.convert(
            source,
            place,
            codec=codec,
            format=options["from_"],
            sync=given["fsync"] != "none",
            variable=options["variable"],
            **_shared(options),
            on_progress=_progress() if sys.stderr.isatty() and given["progress"] in ("auto", "bar") else None,
        )
    if options["as_json"]:
        click.echo(json.dumps(done.as_dict(), indent=1))
    else:
        _report(done, "standard output" if dst == "-" else dst)
    return 0


def _warn(dst: str, codec: str, option: str) -> None:
    """Warns of a name whose ending means another format than is written."""
    from tare.codec import Codec
    from tare.converting.naming import contradiction
    from tare.datasets.source import printable

    written = Codec.parse(codec)
    if meant := contradiction(dst, written):
        asked = f"{option} asks for {codec}" if option else f"--compressor makes it {codec}"
        click.echo(
            f"warning: {printable(dst)}: the ending means {meant}, but {asked}: {written} is written",
            err=True,
        )


def _report(done: Conversion, dst: str) -> None:
    from tare.converting.changes import subject
    from tare.datasets.source import printable
    from tare.report import text

    sizes = (
        f"{text.size(done.bytes_in)} -> {text.size(done.bytes_out)}"
        if done.bytes_in
        else text.size(done.bytes_out)
    )
    rows = f"  {_counted(done)}" if done.rows else ""
    checked = _checked(done)
    click.echo(f"{printable(dst)}: {done.source} -> {done.to}{rows}  {sizes}{checked}", err=True)
    changes = [change for change in done.changes if _is_news(change, done.source)]
    for change in changes[:_SHOWN]:
        number = change["count"]
        count = "" if number is None else f", {number:,} value{'s' * (number != 1)}"
        what = _WHAT[change["verdict"]]
        said = f"  {subject(change, 30)}: {change['from']} comes back as {change['to']}  ({what}{count})"
        click.echo(said, err=True)
    if left := changes[_SHOWN:]:
        others = sum(one["count"] - 1 for one in left if one["path"].endswith(" more columns"))
        listed = f"{len(left) - 1:,} of them" if others else "them"
        click.echo(f"  ... {len(left) + others:,} more changes; --json lists {listed}", err=True)
    _losses(done)
    for note in done.notes:
        click.echo(f"  note: {note}", err=True)


def _checked(done: Conversion) -> str:
    """Returns what was compared, and who read it: what one library wrote and read is no proof of either."""
    said = []
    if done.verified and not done.same_bytes:
        result = done.second.get("result", {})
        why = f" ({result['why']})" if result.get("why") else ""
        other = f", also by {_reader(result)}" if result.get("reader") else f", by the same reader only{why}"
        said.append(f"read back and compared{other}")
    source = done.second.get("source", {})
    if source.get("reader"):
        said.append(f"source read by {_reader(source)} too")
    return f"  {'; '.join(said)}" if said else ""


def _reader(second: dict[str, Any]) -> str:
    """Returns the name of a second reader, and how much of a large file was compared."""
    some = second["rows"] < second["total"]
    return str(second["reader"]) + (f" ({second['rows']:,} of {second['total']:,} rows)" if some else "")


def _counted(done: Conversion) -> str:
    """Returns the number of rows of a table, or of items of a document, in words."""
    from tare import formats

    known = {format.id: format for format in formats.FORMATS}
    table = done.source in known and known[done.source].kinds == {"table"}
    return f"{done.rows:,} {'row' if table else 'item'}{'s' * (done.rows != 1)}"


def _is_news(change: dict[str, Any], source_format: str) -> bool:
    """Returns whether a change is more than another unit of a guessed time, or another layout in memory."""
    sides = {"in": change["from"], "out": change["to"]}
    return change["verdict"] != "type" or not is_guessed(sides, source_format)


def _losses(done: Conversion) -> None:
    """What R had and the result has not."""
    from tare.datasets.source import printable

    found = _real(done)
    for loss in found[:_SHOWN]:
        click.echo(f"  lost: {printable(str(loss), 140)}", err=True)
    more = len(found) - _SHOWN
    if more > 0:
        click.echo(f"  ... {more} more losses; --json lists them", err=True)


def _shared(options: dict[str, Any]) -> dict[str, Any]:
    """Options of the conversion itself."""
    return {
        "columns": options["columns"].split(",") if options["columns"] else None,
        "encoding": options["encoding"],
        "verify": options["verify"],
        "allow_pickle": options["allow_pickle"],
        "allow_loss": options["allow_loss"],
        "overwrite": options["force"],
        "data_only": options["data_only"],
        "strict": options["strict"],
    }


def _real(done: Conversion) -> list[Loss]:
    """The losses by which a value changed."""
    from tare.r import Loss

    found = [Loss(**loss) for loss in done.losses]
    return [loss for loss in found if not loss.is_information]


def _progress() -> Callable[[int, int], None]:
    """A line that is rewritten at most once for each per cent."""
    last = -1

    def show(done: int, total: int) -> None:
        nonlocal last
        now = 100 * done // max(total, 1)
        if now != last:
            last = now
            click.echo(f"\r  {now:3d} %" if now < 100 else "\r       \r", nl=False, err=True)

    return show


def _is_text(codec: str) -> bool:
    from tare.codec import Codec

    parsed = Codec.parse(codec)
    return parsed.format.text and parsed.compressor is None
