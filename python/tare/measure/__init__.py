"""Measures which data format is fastest, smallest and safest for your data, on this machine.

Call the module: ``tare.measure(data)`` encodes and decodes the data with every codec that can hold it, checks what
comes back, and recommends one.

>>> import tare
>>> result = tare.measure({"a": [1, 2.5]}, use="message", time="4s", codecs=["json:orjson", "json:stdlib"])
>>> str(result.best).startswith("json:")
True

In a notebook a result shows itself; ``print(result)`` gives the text that the command prints.

Parameters of ``tare.measure(data, *, ...)``:
    data: A path, a folder or a pattern of files that are one dataset, a built-in name, a table of pandas, polars or
        Arrow, a document (dicts, lists), or a Dataset.
    use: What the data is used for: ``keep``, ``cache``, ``archive``, ``exchange``, ``message`` or ``random``.
        Default: chosen by the kind of the data.
    time: Time limit in seconds, or a text such as ``20s`` or ``5m``; 0 for none.
        Default: 10 s up to 50 MB, 30 s up to 500 MB, else 60 s; three times that with ``all=True``.
    codecs: Only these codecs: ids, or patterns such as ``json:*``. Default: all that are installed.
    exclude: Codecs, libraries or formats to leave out. Default: none.
    media: Where to measure: ``memory``, ``file``, ``tcp`` and others. Default: chosen by the kind of the data.
    must: Hard constraints: ``keep-types``, ``untrusted``, ``append``, ``subset``, ``readable:LANGUAGE``. Default: none.
    allow_loss: Patterns of columns or paths that may change. Default: none.
    threads: 1 or ``all``. Default: 1.
    max_memory: Most memory to load of the data, in bytes or as ``2GiB``. Default: what can be measured in the time.
    format: Format of a file, where neither its bytes nor its name tell it.
    encoding: Encoding of a text file that is not UTF-8.
    out: Where the record of the run is saved. Default: nowhere.
    on_progress: Called with an Event between samples. Default: a notebook shows a line that is updated, all else nothing.
    options: Further words of the command, e.g. ``quick=True``, ``seed=1``; see ``help(type(tare.measure).__call__)``.

It returns a `Result`:
    result.best: The recommended route; ``str`` gives its id, ``result.best.confidence`` says how sure that is.
    result.recommend("archive"): The recommendation for another use of the same figures.
    result.table(), result.to_pandas(), result.to_polars(): A row for each measured codec: sizes in bytes, times in
        nanoseconds; with ``all=True`` also what failed or was not measured. ``pyarrow.table(result)`` reads it too.
    result.best.write(df, "x"), result.best.read("x"): What was measured: a DataFrame in, a DataFrame out.
    result.html("report.html"): The report as a page.
    result.save("run.tare.json"): The record; `load` reads it again.

Besides the call: `run` takes plans and `Settings`, `load` reads a record, `compare` and `gate` set two beside each
other, `Plan` reads and names plans.
"""

# Names are resolved on first use, so that importing this package costs nothing.
#
# Modules
#     run             a run from its settings to its record
#     pipeline        the stages of a default run, in order
#     plan_pipeline   a plan's run
#     estimate        ``--dry-run``: the cases and the time, without running
#     session         what the stages share: data, cases, workers, budget
#     settings        what a run is asked for
#     cases           one cell of the grid, named by its labels
#     derive          figures and verdicts of a record, in one block: ``derived``
#     result          a record as an object: ``Result``
#     result_rows     its measured codecs as rows
#     calling         the package as a function: ``tare.measure(data)``
#     progress        what is being done and the best so far, in a line; below a notebook's cell
#     inputs          what is to be measured: one file, several, or none and what to do instead
#
# Folders
#     plan            plans: their TOML, data sets, parts, what can be measured here
#     plans           the named plans
#     stages          one stage of a run each: trials, rounds, memory, growth, probes
#     sampling        a case in its process, rounds, batches
#     worker          the worker of Python, in its own process
#     worker_client   starts, asks and checks workers of any language
#     environment     the machine: load, memory, limits, temporary folders, links
#     fidelity        probes: values and columns that formats lose
#     exchange        what one codec writes and another reads
#     analysis        figures, intervals, growth curves
#     verdict         what to recommend, how sure, and in which words
#     records         shape, journals, resuming, what others published
#     comparison      two records side by side, and the gate
#     conformance     checks of a worker program

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
