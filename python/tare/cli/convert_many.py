"""`tare convert` of many files: in parallel, on a cluster, restartable."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tare.cli.lines import counted
from tare.cli.running import RESOURCES, carry_out, ended_by, run_options, tell
from tare.cli.signals import terminated_as_interrupted

if TYPE_CHECKING:
    from tare.scale.executors import Engine

__all__ = ["convert", "one", "options", "planned", "taken", "wanted"]

_SORTED = 10_000  # units of a plan that are held to be listed by name
_F = TypeVar("_F", bound=Callable[..., Any])
_OWN = (
    click.option("--include", multiple=True, metavar="GLOB", help="Of a folder, only names that match; may be given again."),
    click.option("--exclude", multiple=True, metavar="GLOB", help="Not names, or folders, that match; may be given again."),
    click.option("--split", metavar="SIZE", help="Cut large files into parts of this size, such as 64MiB, where that can be done."),
    click.option("--split-lines", is_flag=True, help="No line break of a CSV stands within a value: it may be cut."),
    click.option("--whole-schema", is_flag=True, help="Look at every line of a text that is cut, not at a sample."),
    click.option("--partition", metavar="COLUMN", help="A folder COLUMN=VALUE for each value."),
    click.option("--identify", type=click.Choice(["stat", "content"]), default="stat", help="Know sources by size and time, or by content."),
    click.option("--overwrite", is_flag=True, help="Replace results that no earlier run knows, as --force does."),
    click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing."),
    click.option("--check", "check", type=click.Choice(["size", "hash", "decode"]), hidden=True),
)  # fmt: skip
_NAMES = (
    "include", "exclude", "split", "split_lines", "whole_schema", "partition", "on_loss", "identify", "overwrite",
    "dry_run", "check", "executor", "jobs", "retries", "unit_timeout", "worker_timeout", "on_failure", "fsync",
    "allow_mixed", "progress",
)  # fmt: skip
_OF_ONE = {"overwrite", "on_loss", "dry_run", "progress", "check", "fsync"}
_USUAL: dict[str, Any] = {
    "identify": "stat", "retries": 2, "worker_timeout": 60.0, "on_failure": "continue", "fsync": "unit",
    "progress": "auto",
}  # fmt: skip


def options(function: _F) -> _F:
    """The options that are of many files, behind those of one."""
    function = run_options(function)
    for option in reversed(_OWN):
        function = option(function)
    return function


def taken(given: dict[str, Any]) -> dict[str, Any]:
    """The options of many files, out of all that were given."""
    return {name: given.pop(name) for name in _NAMES}


def wanted(sources: Sequence[str], given: dict[str, Any]) -> bool:
    """Whether it is a run of many: by what is to be converted, or by an option that only such a run has."""
    if len(sources) > 2 or os.path.isdir(sources[0]):
        return True
    if any(one in sources[0] for one in "*?["):
        from tare.scale.planning.sources import is_glob

        if is_glob(sources[0]):
            return True
    asked = [name for name, value in given.items() if value and value != _USUAL.get(name)]
    if not _is_file_name(sources[1]):
        missing = sources[0] != "-" and not os.path.lexists(sources[0])
        return missing or any(text.startswith("s3://") for text in sources) or bool(asked)
    return bool(set(asked) - _OF_ONE)


def _is_file_name(destination: str) -> bool:
    """Whether it is named as files are, and is no folder."""
    from tare.codec import Codec

    if destination == "-":
        return True
    folder = destination.endswith("/") or os.path.isdir(destination)
    return not folder and Codec.for_path(destination) is not None


def one(options: dict[str, Any], given: dict[str, Any]) -> None:
    """The options of one file that are said by the words of many."""
    options["force"] = options["force"] or given["overwrite"]
    options["allow_loss"] = options["allow_loss"] or given["on_loss"] in ("warn", "allow")
    if given["check"] in ("size", "decode"):
        options["verify"] = given["check"] == "decode"


def convert(sources: list[str], destination: str, options: dict[str, Any], given: dict[str, Any]) -> int:
    """Plan it, or take up the plan of an earlier start, and carry it out.

    Raises:
        UsageError: Options that do not go together.
    """
    to = _checked(sources, destination, options, given)
    verify = given["check"] or ("decode" if options["verify"] else "hash")
    replaced = given["overwrite"] or options["force"]
    with contextlib.ExitStack() as held:
        held.enter_context(terminated_as_interrupted())
        folder = held.enter_context(tempfile.TemporaryDirectory()) if given["dry_run"] else ""
        engine = None if given["dry_run"] else _started(given, held)

        from tare.converting.naming import pressed
        from tare.scale import plan_convert
        from tare.scale.failures import classify, unwritable
        from tare.scale.place import shown

        to = pressed(to, destination, options["compressor"]) or to
        try:
            plan, undone = planned(
                plan_convert, sources, destination, to=to, read=options["from_"] or "", split=given["split"],
                split_lines=given["split_lines"], whole_schema=given["whole_schema"], include=given["include"],
                exclude=given["exclude"], partition=given["partition"], identify=given["identify"],
                overwrite=replaced, options=_unit_options(options, given),
                path=os.path.join(folder, "plan.jsonl") if folder else None,
            )  # fmt: skip
        except OSError as error:
            beside = str(error.filename or "").startswith(os.path.abspath(destination))
            if classify(error, writing=beside) != "resources":
                raise
            click.echo(f"tare: {unwritable(error, destination) if beside else error}", err=True)
            return RESOURCES
        if given["dry_run"]:
            _shown(plan, options["as_json"], verify)
            return undone
        on_loss = given["on_loss"] or ("allow" if options["allow_loss"] else "fail")
        rules = {
            **given, "allow_pickle": options["allow_pickle"], "overwrite": replaced, "on_loss": on_loss,
            "executor": engine or given["executor"] or _usual_executor(plan.bytes_in, plan.count),
        }  # fmt: skip
        report, code = carry_out(plan, rules, verify=verify)
    if report is not None:
        again = shlex.join(["tare", *sys.argv[1:]])
        tell(report, shown(plan.base), again, as_json=options["as_json"])
    return code


def _checked(sources: list[str], destination: str, options: dict[str, Any], given: dict[str, Any]) -> str:
    """Whether the options go together; what the files become."""
    from tare.errors import UsageError
    from tare.scale.executors import check_executor

    to = options["codec"] or options["to"]
    if to is None:
        raise UsageError(
            "the results go into a folder: say what the files become with --to, such as --to parquet"
        )
    if destination != "-" and _is_file_name(destination):
        raise UsageError(
            f"the results go into a folder, and {destination} is named as a file is: name a folder, or end it with a /"
        )
    if os.path.isfile(destination):
        raise UsageError(f"the results go into a folder, and {destination} is a file: name another place")
    if options["codec"] and options["to"] and options["codec"] != options["to"]:
        raise UsageError(f"--to {options['to']} and --codec {options['codec']}: say one of them")
    if destination == "-" or "-" in sources:
        raise UsageError("many files are no stream: name files, and a folder for the results")
    check_executor(given["executor"] or "local")
    return str(to)


def _started(given: dict[str, Any], held: contextlib.ExitStack) -> Engine | None:
    """The processes of this machine that are asked for: they load what they need while the plan is made.

    None for another engine, and where it depends on the work whether there are any.
    """
    from tare.scale.executors import engine_of

    asked = given["jobs"] is not None or given["unit_timeout"] is not None
    name = given["executor"] or ("local" if asked else "")
    if not name.startswith("local"):
        return None
    engine = engine_of(name, given["jobs"])
    held.callback(engine.close)
    engine.start()
    return engine


def _unit_options(options: dict[str, Any], given: dict[str, Any]) -> dict[str, str | int]:
    more: dict[str, str | int] = {}
    if options["columns"]:
        more["columns"] = options["columns"]
    if options["encoding"]:
        more["encoding"] = options["encoding"]
    if options["variable"] is not None:
        more["variable"] = options["variable"]
    return more | {name: 1 for name in ("data_only", "strict") if options[name]}


def _usual_executor(size: int, count: int) -> str:
    """Here, where starting processes would take longer than the work."""
    return "inline" if count == 1 or size < 16 << 20 else "local"


def planned(make: Callable[..., Any], *given: Any, **options: Any) -> tuple[Any, int]:
    """Make a plan, and say what it leaves out, also where that is all.

    The plan, and the exit code of what it leaves out: 1 if something was asked for and may hold data, as a file that
    cannot be read does, or one whose result has the name of another file.
    """
    from tare.scale.left import any_undone

    skipped: list[tuple[str, str]] = []
    try:
        plan = make(*given, skipped=skipped, **options)
    except OSError as error:
        raise ended_by(error, given[0]) from error
    finally:
        _tell(skipped)
    return plan, int(any_undone(skipped))


def _tell(skipped: list[tuple[str, str]]) -> None:
    """Say which files were passed over: how many, by reason."""
    from tare.datasets.source import printable

    reasons: dict[str, list[str]] = {}
    for name, why in skipped:
        reasons.setdefault(why, []).append(name)
    for why, names in reasons.items():
        shown = ", ".join(printable(name, 40) for name in names[:3])
        click.echo(
            f"{len(names):,} passed over: {why} ({shown}{', ...' if len(names) > 3 else ''})", err=True
        )


def _shown(plan: Any, as_json: bool, verify: str) -> None:
    """The units of a plan that are not done: of a plan that is not huge by name, else, and as JSON, the largest first."""
    from tare.report import text
    from tare.scale.place import shown
    from tare.scale.state import State
    from tare.scale.unit import input_bytes, unit_key

    state, before, size = State.of(plan), 0, 0
    known = state.done()
    units = plan.units()
    if not as_json and plan.count <= _SORTED:
        units = iter(sorted(units, key=lambda unit: str(unit["output"]["names"])))
    for unit in units:
        receipt = state.receipt(key) if (key := unit_key(unit)) in known else None
        if receipt is not None and state.is_done(receipt, verify=verify, unit=unit):
            before += 1
            continue
        size += input_bytes(unit)
        if as_json:
            click.echo(json.dumps(unit, ensure_ascii=False))
            continue
        for given, name in zip(unit["input"], unit["output"]["names"], strict=True):
            part = given.get("range")
            cut = f" {part['kind']} {part['start']:,} to {part['end']:,}" if part else ""
            click.echo(f"{shown(given['uri'])}{cut} -> {name}  {text.size(input_bytes(unit))}")
    done = f"; {before:,} more are done" if before else ""
    click.echo(f"{counted(plan.count - before, 'unit')}, {text.size(size)}{done}", err=True)
