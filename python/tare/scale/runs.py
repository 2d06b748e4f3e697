"""`run` and `iter_run`: a plan from its beginning, or from where it ended, to its end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tare.errors import UsageError
from tare.scale.ending import finish
from tare.scale.events import Events
from tare.scale.executors import Engine, check_executor, engine_of
from tare.scale.loop import Loop, Rules
from tare.scale.owners import Guard
from tare.scale.plan import Plan, read_plan
from tare.scale.preflight import check_all, check_bench, check_newcomers
from tare.scale.report import Report
from tare.scale.state import State
from tare.scale.temporary import sweep_temporary

if TYPE_CHECKING:
    from tare.scale.planning.sources import Sources

__all__ = ["Running", "convert", "iter_run", "run", "status"]


def run(plan: Plan | str | os.PathLike[str], **options: Any) -> Report:
    r"""Carry out a plan; a second run goes on where the first ended.

    Args:
        plan: A plan, or its file.
        options: As `iter_run` takes them.

    Returns:
        What was done and what failed. Nothing is raised for units that failed.

    Raises:
        EngineError: The engine, or one of its workers, cannot be used.
        PlanError: The plan is damaged.
        KeyboardInterrupt: A second Ctrl-C.

    >>> import pathlib, tempfile
    >>> from tare import scale
    >>> folder = tempfile.TemporaryDirectory()
    >>> for name in ("a", "b"):
    ...     _ = pathlib.Path(folder.name, f"{name}.csv").write_text("x,y\\n1,2\\n")
    >>> plan = scale.plan_convert(f"{folder.name}/*.csv", f"{folder.name}/out", to="parquet")
    >>> report = scale.run(plan, executor="inline")
    >>> report.done, scale.run(plan, executor="inline").skipped, sorted(
    ...     path.name for path in pathlib.Path(folder.name, "out").glob("*.parquet")
    ... )
    (2, 2, ['a.parquet', 'b.parquet'])
    >>> folder.cleanup()
    """
    running = Running(plan, **options)
    for _ in running:
        pass
    return running.report


def convert(
    sources: Sources, destination: str | os.PathLike[str], *, to: str, executor: Any = "local", **options: Any
) -> Report:
    r"""Convert many files into a folder: `plan_convert`, then `run`; the same call again does what is left.

    Args:
        sources: Files, folders, globs, ``s3://`` prefixes.
        destination: The folder of the results, or ``s3://bucket/prefix``.
        to: Codec id of the results.
        executor: ``local``, ``inline``, ``dask://...``, ``ray://...``, or any executor of ``concurrent.futures``.
            ``local`` starts processes: a script needs ``if __name__ == "__main__":``.
        options: Options of `plan_convert` and of `iter_run`.

    Returns:
        What was done, what changed, what failed, and what was passed over: `Report.raise_for_failures` raises for each
        source that was asked for and is not done.

    Raises:
        PlanError: There is nothing to do, or two results have one name.
        AllUndone: There is nothing to do, as what there is cannot be read, or other files have its results' names.
        EngineError: The engine, or one of its workers, cannot be used.
        TypeError: There is no such option.

    >>> import pathlib, tempfile
    >>> from tare import scale
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = pathlib.Path(folder.name, "a.csv").write_text("x,y\n1,2\n")
    >>> report = scale.convert(f"{folder.name}/*.csv", f"{folder.name}/out", to="parquet", executor="inline")
    >>> report.files, report.rows, report.changes
    (1, 1, [])
    >>> folder.cleanup()
    """
    from tare.scale.planning.convert import plan_convert

    known = plan_convert.__kwdefaults__ or {}
    planned = {name: options.pop(name) for name in [*options] if name in known}
    if "overwrite" in planned:
        options["overwrite"] = planned["overwrite"]
    check_executor(executor)
    return run(plan_convert(sources, destination, to=to, **planned), executor=executor, **options)


def iter_run(plan: Plan | str | os.PathLike[str], **options: Any) -> Iterator[dict[str, Any]]:
    """As `run`, but gives each receipt as it comes.

    Args:
        plan: A plan, or its file.
        options: ``executor`` (``local``), ``jobs``, ``retries`` (2), ``unit_timeout`` in seconds, ``on_failure``
            (``continue``, ``stop``), ``shard`` ``(i, n)``, ``verify`` (``size``, ``hash``, ``decode``), ``fsync``
            (``none``, ``unit``, ``all``: with folders and receipts), ``worker_timeout`` (60), ``allow_mixed``, ``allow_pickle``,
            ``on_loss`` (``fail``, ``warn``, ``allow``), ``overwrite`` (of files that are not from here; also if the plan was made with it), ``on_event``: called with
            a dict.
    """
    yield from Running(plan, **options)


def status(where: Plan | str | os.PathLike[str], *, every: bool = False) -> dict[str, Any]:
    """How far a plan is: counts, bytes, failures by class; nothing is changed.

    Args:
        where: A plan, its file, or a destination.
        every: Whether each failure is told, not three of a kind: ``failed_inputs``.

    Raises:
        PlanError, OSError: There is no plan.
    """
    from tare.scale.standing import status_of

    return status_of(where, every=every)


class Running:
    """One run: its engine is ended however it ends."""

    def __init__(
        self,
        plan: Plan | str | os.PathLike[str],
        *,
        executor: Any = "local",
        jobs: int | None = None,
        on_event: Callable[[dict[str, Any]], None] | None = None,
        allow_mixed: bool = False,
        **rules: Any,
    ) -> None:
        self.plan = plan if isinstance(plan, Plan) else read_plan(plan)
        unknown = sorted(rules.keys() - Rules.__dataclass_fields__.keys())
        if unknown:
            raise TypeError(f"run() has no option {unknown[0]!r}")
        self.rules = _checked(Rules(**rules))
        first, step = self.rules.shard or (1, 1)
        self.report = Report(
            missing=len(range(first - 1, self.plan.count, step)), passed_over=list(self.plan.passed_over)
        )
        self._executor, self._jobs, self._mixed = executor, jobs, allow_mixed
        self._events = Events(on_event)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        alone = self.plan.task == "measure"
        patience = self.rules.worker_timeout
        engine = (
            _measuring(self._executor, patience) if alone else engine_of(self._executor, self._jobs, patience)
        )
        try:
            self.plan.check()  # before anything is written: a plan that is refused leaves nothing
            sweep_temporary()
            state = State.of(self.plan)
            if self.plan.overwrite or (self.plan.base and state.allows(self.plan.id)):
                self.rules = replace(self.rules, overwrite=True)
            guard = Guard(state, self.plan, overwrite=self.rules.overwrite)
            guard.begin()
            state.begin(self.plan)
            first, told = check_all(engine, state.settings(), self.plan, allow_mixed=self._mixed)
            if alone:
                check_bench(engine, told)
            self._events({"event": "planned", "total": self.plan.count, "bytes_total": self.plan.bytes_in})
            loop = Loop(
                self.plan,
                engine,
                self.rules,
                self._events,
                lambda: check_newcomers(engine, state.settings(), first, allow_mixed=self._mixed),
                guard=guard,
                more=_told_to_units(state, self.plan),
            )
            self.report = loop.report
            try:
                yield from loop.receipts()
            finally:
                guard.end()
            state.sweep()
            ended = not (loop.report.missing or loop.report.stopped)
            if ended and (loop.report.done or state.manifest_plan() != self.plan.id):
                loop.report.superseded, loop.report.stale = finish(state, self.plan)
            self._events(
                {
                    "event": "finished",
                    **loop.report.as_dict(),
                    "failures": len(loop.report.failures),
                    "passed_over": len(loop.report.passed_over),
                }
            )
        finally:
            engine.close()
            if self.plan.task == "put":
                from tare.scale.stores import ENGINES, let_go

                if engine.name in ENGINES:
                    let_go(self.plan)


def _told_to_units(state: State, plan: Plan) -> dict[str, Any]:
    """Of `put` whether its keys may have been set by an earlier run: what they named before is kept first."""
    if plan.task != "put":
        return {}
    from tare.scale.turns import begin

    turn, has_begun = begin(state, plan)
    return {"turn": turn, "begun": int(has_begun)}


def _measuring(executor: Any, patience: float) -> Engine:
    """An engine that measures: nothing else may run on a host that does, so what we start here is one process."""
    engine = engine_of("local:1" if str(executor).startswith("local") else executor, 1, patience)
    if not isinstance(executor, str) and engine.workers != 1:
        raise UsageError(
            f"executor: one worker is needed to measure, this has {engine.workers}: figures of units side by side "
            "would be each other's; `local`, `dask` and `ray` place one on each host"
        )
    return engine


def _checked(rules: Rules) -> Rules:
    if rules.verify not in ("size", "hash", "decode"):
        raise UsageError(f"verify is size, hash or decode, not {rules.verify!r:.40}")
    if rules.on_failure not in ("continue", "stop"):
        raise UsageError(f"on_failure is continue or stop, not {rules.on_failure!r:.40}")
    if rules.fsync not in ("none", "unit", "all"):
        raise UsageError(f"fsync is none, unit or all, not {rules.fsync!r:.40}")
    if rules.on_loss not in ("fail", "warn", "allow"):
        raise UsageError(f"on_loss is fail, warn or allow, not {rules.on_loss!r:.40}")
    if rules.shard is not None and not 1 <= rules.shard[0] <= rules.shard[1]:
        raise UsageError(f"shard is i/n with i from 1 to n, not {rules.shard[0]}/{rules.shard[1]}")
    return rules
