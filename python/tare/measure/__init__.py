"""Measuring: which route is fastest, smallest and safest for this data, here.

>>> from tare import measure
>>> len(measure.Plan.named("load").cases()) > 20
True

Names are resolved on first use, so that importing this package costs nothing.

Modules
    run             a run from its settings to its record
    pipeline        the stages of a default run, in order
    plan_pipeline   a plan's run
    estimate        ``--dry-run``: the cases and the time, without running
    session         what the stages share: data, cases, workers, budget
    settings        what a run is asked for
    cases           one cell of the grid, named by its labels
    derive          figures and verdicts of a record, in one block: ``derived``
    result          a record as an object: ``Result``
    calling         the package as a function: ``tare.measure(data)``
    one_file        what is not one file, and what to do instead

Folders
    plan            plans: their TOML, data sets, parts, what can be measured here
    plans           the named plans
    stages          one stage of a run each: trials, rounds, memory, growth, probes
    sampling        a case in its process, rounds, batches
    worker          the worker of Python, in its own process
    worker_client   starts, asks and checks workers of any language
    environment     the machine: load, memory, limits, temporary folders, links
    fidelity        probes: values and columns that formats lose
    exchange        what one codec writes and another reads
    analysis        figures, intervals, growth curves
    verdict         what to recommend, how sure, and in which words
    records         shape, journals, resuming, what others published
    comparison      two records side by side, and the gate
    conformance     checks of a worker program
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from tare.measure.calling import NAMES, Measure

__all__ = ["Plan", "Result", "compare", "gate", "load", "run"]

if TYPE_CHECKING:
    from tare.measure.comparison.compare import compare
    from tare.measure.comparison.gate import gate
    from tare.measure.plan.plan import Plan
    from tare.measure.result import Result, load
    from tare.measure.run import run

sys.modules[__name__].__class__ = Measure


def __getattr__(name: str) -> Any:
    home = NAMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tare.measure' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
