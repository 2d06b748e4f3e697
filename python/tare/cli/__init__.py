"""The command line: arguments and printing only.

Each command lives in a module of its own that is imported when it is run, so
that ``tare --help`` imports click and nothing else.
"""

from __future__ import annotations

import importlib
import os
import shlex
import sys
from typing import IO, Any, NoReturn

import click

from tare.cli.closed_streams import replace_closed
from tare.cli.grouping import write_groups
from tare.cli.leaving import Leaving
from tare.cli.signals import lost_signals_sent_again
from tare.errors import NotComparable, PlanError, RecordError, TareError, UsageError, WorkerError

__all__ = ["SHOWS", "main"]

# name -> (module, one line of help shown by `tare --help`)
COMMANDS = {
    "measure": ("tare.cli.measure", "Weigh every format on your data and recommend one."),
    "report": ("tare.cli.report", "Show a saved record again: terminal, HTML, Markdown, CSV, JSON."),
    "compare": ("tare.cli.compare", "Compare two records case by case."),
    "gate": ("tare.cli.gate", "Fail when something got slower, larger or lossy."),
    "codecs": ("tare.cli.codecs", "List every codec: version, options, installed or the install line."),
    "convert": ("tare.cli.convert", "Convert a file from one format to another."),
    "plan": ("tare.cli.plan", "Write down work over many files, for any number of machines."),
    "run": ("tare.cli.run", "Carry out a plan, or one share of it."),
    "status": ("tare.cli.status", "How far a plan is, and what failed."),
    "clean": ("tare.cli.clean", "Remove what killed runs left half written."),
    "compress": ("tare.cli.compress", "Compress files on all cores, for stock tools to read."),
    "decompress": ("tare.cli.decompress", "Decompress or test files, or read a part of one."),
    "inspect": ("tare.cli.inspect", "Say what a file is and where its bytes go."),
    "blit": ("tare.cli.blit", "Documents that are read by field: encode, decode, get, info, check, repair."),
    "store": ("tare.cli.store", "Values under keys: set, get, ls, rm, stat, gc, check, repair, copy."),
    "send": ("tare.cli.send", "Send values or files over TCP, a socket, a fifo or a pipe."),
    "receive": ("tare.cli.receive", "Receive what `tare send` or another program sends."),
    "worker": ("tare.cli.worker", "Speak the worker protocol on standard input and output."),
}

# The commands as `tare --help` shows them.
GROUPS = {
    "Measure": ("measure", "report", "compare", "gate", "codecs"),
    "Convert": ("convert", "inspect", "compress", "decompress", "blit"),
    "Store and send": ("store", "send", "receive"),
    "Many files, on many machines": ("plan", "run", "status", "clean"),
    "Other languages": ("worker",),
}

# Commands that only show something: a reader such as `head` may stop when it has seen enough.
_SHOWING = ("report", "compare", "codecs", "inspect", "status")
# Where a command that is several says of the one that runs whether it only shows something.
SHOWS = "tare.shows"
_PIPE_CLOSED = 141  # as a shell reports SIGPIPE: what the others found must not look like success

_LESS_MEMORY = (
    "End other programs, take a part of the data (e.g. --columns A,B), or use a machine with more memory."
)
# What Arrow and Python say where a thread's stack finds no memory, or the user may have no more threads.
_NO_THREAD = ("Failed to launch worker thread", "can't start new thread")
# What to do where an object store refuses access: the variables that it is reached by.
_ACCESS = (
    "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to a key that may read it (with AWS_SESSION_TOKEN if it is a "
    "temporary one), AWS_REGION to the bucket's region, or AWS_SKIP_SIGNATURE=true if the bucket is public."
)
_USAGE = (UsageError, PlanError, RecordError, NotComparable)


class _Failed(click.ClickException):
    """An error of ours as one line: what was wrong, where, what to do."""

    exit_code = 1

    def show(self, file: IO[Any] | None = None) -> None:
        """Print it to standard error."""
        click.echo(f"tare: {self.message}", err=True, file=file)


class _Misused(_Failed):
    """One that the caller made: a name, an option, a plan or a record that cannot be."""

    exit_code = 2


class _Lazy(click.Group):
    """A group that imports a command's module only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name][0]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(f"No such command {args[0]!r}.{_near(args[0])}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        write_groups(
            formatter,
            {
                title: [(name.ljust(width), COMMANDS[name][1]) for name in names]
                for title, names in GROUPS.items()
            },
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except BrokenPipeError:  # of --help and --version
            _reader_has_gone()
            raise click.exceptions.Exit(0) from None
        except OSError as error:
            raise _Failed(_message(error)) from error

    def invoke(self, ctx: click.Context) -> Any:
        # Here and not around main: click takes every EOFError for an interrupted prompt,
        # and a truncated file is one.
        try:
            return super().invoke(ctx)
        except MemoryError as error:
            raise _out_of_memory(error) from None
        except (TareError, OSError) as error:
            if isinstance(error, BrokenPipeError) and _reader_has_gone():
                # Caught before click, which would exit with 1.
                shows = ctx.meta.get(SHOWS, ctx.invoked_subcommand in _SHOWING)
                raise click.exceptions.Exit(0 if shows else _PIPE_CLOSED) from error
            raise (_Misused if isinstance(error, _USAGE) else _Failed)(_message(error)) from error
        except Exception as error:
            if any(words in str(error) for words in _NO_THREAD):
                raise _out_of_memory(error) from None
            raise


def _out_of_memory(error: Exception) -> _Failed:
    said = " ".join(str(error).split())[:160].rstrip(".")
    return _Failed(f"not enough memory{f' ({said})' * bool(said)}. {_LESS_MEMORY}")


def _near(word: str) -> str:
    """Suggests what was meant by a command that does not exist: one that looks like it, or a file to measure."""
    import difflib

    near = difflib.get_close_matches(word, COMMANDS)
    if near:
        return f" Did you mean {' or '.join(near)}?"
    if os.path.exists(word):
        return f" Did you mean: tare measure {shlex.quote(word)}"
    return " 'tare --help' lists them."


def _reader_has_gone() -> bool:
    """Whether standard output is a pipe that nobody reads; if so, what is still to be written goes nowhere."""
    import select

    try:
        number = sys.stdout.fileno()
        state = select.poll()
        state.register(number, select.POLLOUT)
        gone = any(event & (select.POLLERR | select.POLLHUP) for _, event in state.poll(0))
    except (AttributeError, OSError, ValueError):
        return False
    if gone:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)
    return gone


def _message(error: BaseException) -> str:
    """The error's text; of a worker that ended, also the last that it said; of a file, its name first."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        from tare.datasets.source import printable

        name = os.fsdecode(error.filename)
        refused = name.startswith("s3://") and isinstance(error, PermissionError)
        words = f"{printable(name, 400)}: {error.strerror[:1].lower()}{error.strerror[1:]}"
        return f"{words}. {_ACCESS}" if refused else words
    said = error.log_tail.strip().splitlines() if isinstance(error, WorkerError) else []
    return f"{error}: {said[-1][:200]}" if said else str(error)


def _print_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    from tare._tare import __commit__, __features__, __version__

    click.echo(f"tare {__version__} ({__commit__}; core: {', '.join(__features__)})")
    ctx.exit()


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show version, commit and core features.",
)
def tare() -> None:
    """Which data format is fastest, smallest and safest for your data, here?"""


def main(argv: list[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0 well, 1 failed, 2 usage, 130 interrupted.

    3 is that `gate` cannot say, that `send` or `receive` could not connect or waited in vain, or that
    an engine or an object store cannot be used for many files. If the reader of standard output has
    gone, commands that only show something (report, compare, codecs, inspect, receive) exit quietly
    with 0, and the others with 141, as of SIGPIPE.

    Without ``argv`` this is the whole program, which ends with it (`leaving`).
    """
    leaving = Leaving() if argv is None else None
    if leaving is not None:
        replace_closed()
    try:
        with lost_signals_sent_again():
            code: Any = _run(argv)
    except SystemExit as ended:  # of a signal
        code = ended.code
    if leaving is not None and isinstance(code, int):
        leaving.code = code
    sys.exit(code)


def _run(argv: list[str] | None) -> int:
    """Run the command line; the exit code."""
    try:
        # A command that is given no arguments of a caller is the whole program: its start is the program's.
        result = tare.main(args=argv, prog_name="tare", standalone_mode=False, obj={"program": argv is None})
        return result if isinstance(result, int) else 0
    except click.exceptions.Abort:
        click.echo("tare: interrupted", err=True)
        return 130
    except click.ClickException as error:
        from tare.cli.suggestions import with_suggestion

        with_suggestion(error).show()
        return error.exit_code
