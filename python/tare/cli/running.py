"""Options of every command that runs units, what a run shows meanwhile, and what it says at its end."""

from __future__ import annotations

import contextlib
import errno
import importlib
import json
import logging
import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

from tare.cli.lines import counted
from tare.cli.signals import terminated_as_interrupted
from tare.errors import TareError, UsageError

if TYPE_CHECKING:
    from tare.scale.plan import Plan
    from tare.scale.report import Report
    from tare.scale.runs import Running

__all__ = ["carry_out", "ended_by", "run_options", "summary", "tell"]

_F = TypeVar("_F", bound=Callable[..., Any])
_EVERY_S = 0.2
_SHOWN = 20
ENGINE = 3
RESOURCES = 4

_OPTIONS = (
    click.option("--executor", metavar="E", help="Who runs it: local (default), inline, dask, dask://HOST:PORT, dask+file:PATH, ray, ray://HOST:PORT."),
    click.option("--jobs", type=click.IntRange(1, 4096), help="Processes of local, dask and ray; by default one a core."),
    click.option("--retries", type=click.IntRange(0, 100), default=2, show_default=True, help="Of failures that may pass: a network, a server that is busy."),
    click.option("--unit-timeout", type=click.FloatRange(0, min_open=True), metavar="S", help="End what takes longer; it is tried once more."),
    click.option("--worker-timeout", type=click.FloatRange(0, min_open=True), default=60.0, metavar="S", help="Give up when there is no worker for so long.  [default: 60]"),
    click.option("--on-failure", type=click.Choice(["continue", "stop"]), default="continue", show_default=True, help="When a file fails."),
    click.option("--on-loss", type=click.Choice(["fail", "warn", "allow"]), help="When values would change; by default fail."),
    click.option("--fsync", type=click.Choice(["none", "unit", "all"]), default="unit", show_default=True, help="What must be on the disk before it counts."),
    click.option("--allow-mixed", is_flag=True, help="Take workers with other versions of libraries."),
    click.option("--progress", type=click.Choice(["auto", "bar", "json", "none"]), default="auto", show_default=True, help="On standard error."),
)  # fmt: skip


def run_options(function: _F) -> _F:
    """The options of a run, as a decorator."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def carry_out(
    plan: Plan, options: dict[str, Any], *, verify: str = "hash", shard: tuple[int, int] | None = None
) -> tuple[Report | None, int]:
    """Run a plan as its options say; the report and the exit code.

    Ctrl-C, or SIGTERM, ends it after the units that run; a second one gives these up.
    """
    from tare.scale.failures import classify, unwritable
    from tare.scale.place import shown
    from tare.scale.preflight import EngineError
    from tare.scale.runs import Running

    _quiet(str(options["executor"]))
    with _display(options["progress"]) as show, terminated_as_interrupted():
        running = Running(
            plan,
            executor=options["executor"] or "local",
            jobs=options["jobs"],
            retries=options["retries"],
            unit_timeout=options["unit_timeout"],
            worker_timeout=options["worker_timeout"],
            on_failure=options["on_failure"],
            fsync=options["fsync"],
            allow_mixed=options["allow_mixed"],
            allow_pickle=options["allow_pickle"],
            on_loss=options["on_loss"] or "fail",
            overwrite=options["overwrite"],
            verify=verify,
            shard=shard,
            on_event=show,
        )
        try:
            for _ in running:
                pass
        except EngineError as error:
            show({"event": "finished"})
            click.echo(f"tare: {error}", err=True)
            _count_before(running)
            return running.report, ENGINE
        except OSError as error:
            if classify(error, writing=True) != "resources":
                raise ended_by(error) from error
            show({"event": "finished"})
            where = shown(plan.base) if plan.base else os.fspath(plan.path)
            click.echo(f"tare: {unwritable(error, where)}", err=True)
            return running.report, RESOURCES
        except KeyboardInterrupt:
            running.report.stopped = "interrupted"
            _count_before(running)
            return running.report, 130
    return running.report, running.report.exit_code


class _Unreached(click.ClickException):
    """Nothing answers where a source or the results are: as with an engine, nothing is wrong with the command."""

    exit_code = ENGINE

    def show(self, file: IO[Any] | None = None) -> None:
        """Print it to standard error."""
        click.echo(f"tare: {self.message}", err=True, file=file)


def ended_by(error: OSError, sources: Sequence[str] = ()) -> Exception:
    """The error by which a command ends with the code that the guide has for it; the same where that is 1.

    Args:
        error: What ended a plan or a run.
        sources: What was to be read, where only files of this machine that are among them are sources.
    """
    from tare.datasets.source import printable
    from tare.scale.failures import unreachable
    from tare.scale.place import said_by

    name = os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes)) else ""
    said = f"{printable(name, 400)}: {said_by(error)}" if name else str(error)
    if unreachable(error):
        return _Unreached(said)
    if error.errno != errno.ENOENT or isinstance(error, TareError):
        return error
    if said.startswith("s3://"):  # a bucket or a key, of sources or of the results
        return UsageError(said)
    if os.path.abspath(name) in map(os.path.abspath, sources):
        return UsageError(f"{printable(name, 400)} does not exist")
    return error


def _count_before(running: Running) -> None:
    """What earlier starts have done, where this one did not come so far as to look."""
    from tare.scale.standing import status_of

    report = running.report
    if report.done or report.skipped or report.failed or running.rules.shard is not None:
        return
    with contextlib.suppress(TareError, OSError):
        found = status_of(running.plan)
        report.skipped, report.files_before = found["done"], found["inputs_done"]
        report.missing = max(0, running.plan.count - found["done"])


def _quiet(executor: str) -> None:
    """What Dask logs of a scheduler that has gone: the command says it in a line.

    Its import sets the levels of its loggers, each for itself, so that it comes first.
    """
    if not executor.startswith("dask"):
        return
    with contextlib.suppress(ImportError):  # the engine says what to install
        importlib.import_module("distributed")
    families = ("distributed", "tornado", "asyncio")
    known = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in families]
    for name in {*families, *known}:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def tell(report: Report, where: str, again: str, *, as_json: bool) -> None:
    """The report on standard output, if that is asked for, and the summary in any case.

    Raises:
        OSError: Standard output takes nothing.
    """
    try:
        if as_json:
            click.echo(json.dumps(report.as_dict(), indent=1, ensure_ascii=False))
    except BrokenPipeError:
        raise
    except OSError as error:
        summary(report, where, again)
        raise OSError(error.errno, error.strerror, "standard output") from error
    summary(report, where, again)


def summary(report: Report, where: str, again: str) -> None:
    """What was done, and what failed: grouped, with examples, and the line that goes on from here."""
    from tare.report import text
    from tare.scale.report import grouped

    made, before, failed = report.done + report.duplicate, report.skipped, report.failed
    if report.files or report.files_before or report.files_failed:  # several files may be one unit
        made, before, failed = report.files, report.files_before, report.files_failed
    parts = [f"{made:,} done"]
    parts += [f"{before:,} done before"] if before else []
    parts += [f"{failed:,} failed"] if failed else []
    if report.missing:
        units = " units of several files" if report.files > report.done + report.duplicate else ""
        parts.append(f"{report.missing:,}{units} not begun")
    rate = report.bytes_in / report.seconds if report.seconds else 0.0
    out = f" -> {text.size(report.bytes_out)}" if report.bytes_out else ""  # none of what goes into a store
    sizes = f"  {text.size(report.bytes_in)}{out}" if report.bytes_in else ""
    speed = f"  {text.duration(report.seconds * 1e9)}, {text.size(rate)}/s" if report.bytes_in else ""
    hosts = f", {len(report.hosts)} hosts" if len(report.hosts) > 1 else ""
    deaths = f", {report.deaths} worker{'s' * (report.deaths != 1)} died" if report.deaths else ""
    each = "each" if report.compared == report.files else f"{report.compared:,} of them"
    checked = f"  {each} read back and compared" if report.compared else ""
    click.echo(f"{', '.join(parts)} into {_near(where)}{sizes}{speed}{hosts}{deaths}{checked}", err=True)
    if report.superseded:
        click.echo(
            f"  {report.superseded:,} earlier result{'s' * (report.superseded != 1)} of these sources, of another state or under another name, {'were' if report.superseded != 1 else 'was'} removed",
            err=True,
        )
    if report.stale:
        click.echo(
            f"  {report.stale:,} earlier result{'s' * (report.stale != 1)} of sources that went since, or were passed over, {'stay' if report.stale != 1 else 'stays'}: tare status {shlex.quote(_near(where))}",
            err=True,
        )
    if report.not_deterministic:
        click.echo(
            f"  {report.not_deterministic:,} unit{'s' * (report.not_deterministic != 1)} gave other bytes the second time; the first were kept",
            err=True,
        )
    _changed(report)
    for group in grouped(report.failures)[:_SHOWN]:
        click.echo(f"  {_failed(group)}", err=True)
        for said in group["examples"]:
            click.echo(f"      {_near(said)}", err=True)
    if report.stopped == "resources":
        click.echo("  stopped: everything else would fail too. Make room, or give the right, then:", err=True)
    elif report.stopped == "interrupted":
        click.echo("  interrupted; what is done is kept. To go on:", err=True)
    if report.failed or report.missing or report.stopped:  # what was passed over is told before the run
        click.echo(f"  {_onwards(report, again)}", err=True)


_FAILED = {
    "Truncated": "a file ends too early",
    "Malformed": "a file is damaged, or not what it was taken for",
    "ChecksumMismatch": "a file is damaged",
    "Unsupported": "what a file holds does not go into that format",
    "EncodeError": "what a file holds does not go into that format",
    "LossRefused": "values would change",
    "LossError": "something would be lost",
    "NameTaken": "a file of that name exists already",
    "SourceChanged": "a file changed meanwhile",
}


def _failed(group: dict[str, Any]) -> str:
    """Returns how many failed for one reason, in words, and what the reason is called in reports.

    >>> _failed({"count": 2, "class": "input", "kind": "Truncated", "format": "csv"})
    '2 failed: a file ends too early (input: Truncated, csv)'
    """
    words = _FAILED.get(str(group["kind"]), "")
    called = f"({group['class']}: {group['kind']}{', ' * bool(group['format'])}{group['format']})"
    return f"{group['count']:,} failed{f': {words}' if words else ''} {called}"


def _onwards(report: Report, again: str) -> str:
    """How to go on: what the same line cannot do is not said of it."""
    from tare.scale.report import errors_of

    errors = [one for each in report.failures for one in errors_of(each)]
    found = [(str(one["class"]), str(one["kind"])) for one in errors]
    kinds = {kind for _, kind in found}
    rest = report.missing or report.stopped
    grouped = any(len(each.get("input", ())) > 1 for each in report.failures)
    others = " with the small files of their groups" if grouped else ""
    if found and not rest and kinds == {"NameTaken"}:
        return f"move them away, or: {_saying(again, '--overwrite')}"
    if found and not rest and kinds <= {"UsageError", "NameTaken"}:
        return "the same line would fail again: say it another way"
    if found and not rest and {name for name, _ in found} == {"loss"}:
        return _taking(kinds, again, others)
    if found and not rest and {name for name, _ in found} == {"timeout"}:
        return (
            f"units that take longer need a larger --unit-timeout; the same line does what is left: {again}"
        )
    if kinds & {"SourceChanged", "FileNotFoundError"} and again.startswith("tare run "):
        return "sources are not what the plan was made of: `tare plan` makes a new one, of which only units that changed are done again"
    if found and not rest and {name for name, _ in found} == {"input"}:
        return f"the same line tries these again{others}, and does nothing else: {again}"
    return f"the same line goes on with the rest: {again}"


def _taking(kinds: set[str], again: str, others: str) -> str:
    """What takes losses that were refused: by --strict, which is part of what is asked for, or as values would change."""
    if "LossError" not in kinds:
        line = again.replace(" --on-loss fail", "").replace(" --on-loss=fail", "")
        line = _saying(line, "--on-loss", "allow")
        return f"the same line takes them with --on-loss allow{others}, and does nothing else again: {line}"
    if again.startswith("tare run "):
        return "the plan says --strict: of one that `tare plan` makes without it, what is lost is told, not refused"
    line = shlex.join(word for word in shlex.split(again) if word != "--strict")
    return f"without --strict what is lost is told, not refused; all is done again for it: {line}"


def _saying(again: str, *option: str) -> str:
    """The same line with an option that it may have already, in front of what is no option."""
    words = shlex.split(again)
    if option[0] in words:
        return again
    at = words.index("--") if "--" in words else len(words)
    return shlex.join([*words[:at], *option, *words[at:]])


def _near(text: str) -> str:
    """Returns a text whose paths under the folder where the command was given are as they would be typed there."""
    here = os.path.join(os.getcwd(), "")
    if here == os.sep:
        return text
    # What begins within another path, or goes on with a slash, would become the name of another file.
    return re.sub(rf"(?<![^\s'\"(=,]){re.escape(here)}(?!/)", "", text)


def _changed(report: Report) -> None:
    """What a reader of the results gets other than it was: values first."""
    from tare.datasets.source import printable

    words = {"lost": "lost", "lossy": "VALUES CHANGED", "null": "NULLS", "type": "type only"}
    # By the name of the first file, and within one in the order of its columns.
    found = sorted(report.changes, key=lambda one: str(one["examples"][0]).partition(": ")[0])
    listed = [one for word in words for one in found if one["verdict"] == word]
    for one in listed[:_SHOWN]:
        names = ", ".join(printable(name, 60) for name in one["examples"])
        more = ", ..." if one["count"] > len(one["examples"]) else ""
        files = f"{one['count']:,} file{'s' * (one['count'] != 1)}"
        click.echo(f"  {words[one['verdict']]} in {files}: {one['what']} ({names}{more})", err=True)
    if len(listed) > _SHOWN:
        click.echo(f"  ... {len(listed) - _SHOWN} more kinds of change; --json lists them", err=True)
    for note, count in report.notes.most_common(_SHOWN):
        click.echo(f"  note{f' ({count:,} times)' if count > 1 else ''}: {note}", err=True)


@contextmanager
def _display(kind: str) -> Iterator[Callable[[dict[str, Any]], None]]:
    """What takes the events: a line that is drawn again on a terminal, JSON lines, or nothing."""
    if kind == "json":
        yield lambda event: click.echo(json.dumps(event, ensure_ascii=False), err=True)
    elif kind == "bar" or (kind == "auto" and sys.stderr.isatty()):
        bar = _Bar()
        try:
            yield bar
        finally:
            bar.end()
    else:
        yield lambda event: None


class _Bar:
    """One line: how much, how fast, how long still."""

    def __init__(self) -> None:
        self._last = 0.0
        self._failed = 0
        self._drawn = False

    def __call__(self, event: dict[str, Any]) -> None:
        from tare.report import text

        name = event["event"]
        if name == "worker_died":
            suspects = event["suspects"]
            tried = (
                f"; {counted(suspects, 'unit')} {'is' if suspects == 1 else 'are'} tried again"
                if suspects
                else ""
            )
            self._line(f"a worker died{tried}")
        elif name == "retry":
            self._line(f"tried again in {event['in_seconds']} s: {event['error']['message'][:120]}")
        elif name == "interrupted":
            self._line(f"ending after the {event['in_flight']} that run; Ctrl-C again gives them up")
        elif name == "unit_failed":
            self._failed += 1
        if name not in ("unit_done", "unit_failed") or time.monotonic() - self._last < _EVERY_S:
            return
        self._last = time.monotonic()
        total = event.get("bytes_total") or 1
        left = f", {text.duration(event['seconds_left'] * 1e9)} left" if event.get("seconds_left") else ""
        failed = f", {self._failed} failed" if self._failed else ""
        share = min(100, 100 * event["bytes"] // total)
        click.echo(
            f"\r\x1b[K{share:3d} %  {event['done']:,}/{event['total']:,}  {text.size(event.get('rate', 0))}/s{left}{failed}",
            nl=False, err=True,
        )  # fmt: skip
        self._drawn = True

    def end(self) -> None:
        """Leave no half line."""
        if self._drawn:
            click.echo("\r\x1b[K", nl=False, err=True)
            self._drawn = False

    def _line(self, said: str) -> None:
        self.end()
        click.echo(said, err=True)
