"""Scale: one function over many inputs, on a process pool, Dask, Ray, a batch system, or nothing.

Work is a plan: a list of units, each of which can run anywhere, alone, any number of times. What is done is a
receipt beside the output, so that a killed run goes on where it ended, and two runs of one unit are harmless.

What
    unit, plan      a unit and its key; a plan's file
    place, listing  files by URI; objects under a prefix
    object_file, object_errors  an object as a file; what an object store says, in a line
    object_errors   what an object store says, as the system's errors
    left            what a plan leaves out, and whether that was asked for
    state, started  receipts, failures, the manifest; the plans in the order of their starts
    stored, stores  whether a store has what was put; the one that is open for it
    turns           plans of `put` at one path, one after another
    owners          whose a file is that has the name of a result
    planning        which files, cut where, into what
    tasks           what a unit does: convert, encode, put, measure
    ranges, csv_ranges  the rows of a part of a file, of lines and of CSV
    plain           how much text a compressed file holds
    widening        the type that columns of JSON have after further rows
    running, attempts  carries out one unit; the folder that an attempt at it writes in
Who
    executors       inline, local, Dask, Ray, any ``concurrent.futures`` executor
    preflight       what every worker must have and see
    loop, runs, room  all units of a plan; retries, deaths, limits; what memory has room for
    ending          what stands, what is superseded, the manifest
    failures        classes of failures
    events, report, standing  what a run tells
    readers         Tare's formats inside Dask and Ray
    remote          one object where a file is wanted

Names are resolved on first use, so that importing this package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tare.scale.left import AllUndone, Undone
    from tare.scale.plan import Plan, read_plan
    from tare.scale.planning.convert import plan_convert, plan_encode
    from tare.scale.planning.others import plan_measure, plan_put
    from tare.scale.preflight import EngineError
    from tare.scale.readers import dask_bag, dask_dataframe, ray_dataset, read_unit, write_parts
    from tare.scale.report import Report
    from tare.scale.running import run_unit
    from tare.scale.runs import convert, iter_run, run, status
    from tare.scale.standing import clean

_WHERE = {
    "AllUndone": "tare.scale.left",
    "EngineError": "tare.scale.preflight",
    "Plan": "tare.scale.plan",
    "Report": "tare.scale.report",
    "Undone": "tare.scale.left",
    "clean": "tare.scale.standing",
    "convert": "tare.scale.runs",
    "dask_bag": "tare.scale.readers",
    "dask_dataframe": "tare.scale.readers",
    "iter_run": "tare.scale.runs",
    "plan_convert": "tare.scale.planning.convert",
    "plan_encode": "tare.scale.planning.convert",
    "plan_measure": "tare.scale.planning.others",
    "plan_put": "tare.scale.planning.others",
    "ray_dataset": "tare.scale.readers",
    "read_plan": "tare.scale.plan",
    "read_unit": "tare.scale.readers",
    "run": "tare.scale.runs",
    "run_unit": "tare.scale.running",
    "status": "tare.scale.runs",
    "write_parts": "tare.scale.readers",
}

__all__ = [
    "AllUndone",
    "EngineError",
    "Plan",
    "Report",
    "Undone",
    "clean",
    "convert",
    "dask_bag",
    "dask_dataframe",
    "iter_run",
    "plan_convert",
    "plan_encode",
    "plan_measure",
    "plan_put",
    "ray_dataset",
    "read_plan",
    "read_unit",
    "run",
    "run_unit",
    "status",
    "write_parts",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'tare.scale' has no attribute {name!r}")
    import importlib
    import sys

    found = getattr(importlib.import_module(_WHERE[name]), name)
    setattr(sys.modules[__name__], name, found)  # a module of the same name must not take its place
    return found
