"""Measuring: which route is fastest, smallest and safest for this data, here.

>>> from tare import measure
>>> len(measure.Plan.named("load").cases()) > 20
True

Names are resolved on first use, so that importing this package costs nothing.

What to do
    calling         the package as a function: ``tare.measure(data)``
    plan            the grid of a study: ``Plan``
    plan_reader     a plan's TOML, checked
    plan_run        runs a plan
    planning        ``--dry-run``: the cases and the time of a run, without running it
    cases           one cell of the grid, named by its labels
    supports        why a cell cannot be measured
    named_data      the data sets that plans name
    subsets         reading a part: a column, rows, a property, the first value

A run, in the parent
    run             a default run: opened, measured, derived, saved
    pipeline        its stages in order: the pass, the others, the rounds; each is in ``stages/``
    describing      what the record says of a codec
    estimate        who is near the best, while it goes on
    limits          its time, and how much of the data it loads
    settings        what it is asked for
    one_file        what is not one file, and what to do instead
    session         what the stages share: settings, parts of the data, cases, budget
    seat            one case in one launch, in a worker
    outcome         its status, and the reason in words
    own_word        what a given worker says came back, held against what its bytes give
    rounds          all seats once per operation, interleaved
    sampling        how many calls make a sample
    batches         takes one that is too short again, of more calls
    kit             a worker of anybody's, held against the protocol
    kit_bench       what a check of it works with
    kit_raw         its program with bare pipes, without a driver
    hello           what it must say of itself
    readings        what a worker's clocks said, as whole numbers
    waited          one sample by the worker's clocks and by the parent's
    told            sums of what a worker told beside what its parent waited
    replies         what each of its replies must hold
    driver          one worker process: requests, replies, deadlines
    spawn           starts a process in isolation
    streams         one message from end to end
    reach           the other ends: the host, the namespaces or the relay of a link
    remote_end      the worker on another host
    foreign         codecs of other languages, and who runs them
    loading         what a language would load as other values
    table_set       several tables, which R alone holds
    link_check      what a link really reaches
    pressure        how busy the machine is
    machine         what a record says of the machine
    scratch         private directories

A worker, in its own process
    worker          answers requests
    ops             one method for each request
    job             one request, sampled
    prepared        one codec with its value and its calls
    ends            the ends of media it holds
    clocks          clocks, and one sample
    memory          peak memory of a call
    touch           reads every value of a lazy view
    phases          errors, and in which phase

Proof: what came back
    exchange        what one codec writes and another reads, across languages
    exchange_tables  the same for tables, column by column
    exchange_moments  its days, times, durations and decimals that came back as another type
    fidelity        encodes, decodes and judges, by the rule of ``tare.fidelity``
    hooks           options that keep more
    probes          single values that formats lose
    probe_columns   columns that formats lose
    probe_robjects  the probe set ``robjects/1``, and what each route makes of R objects

Figures, from a record's samples
    series          samples as launch -> round -> time
    statistics      medians and intervals
    letters         tie letters
    analysis        one figure for each operation of each case
    growth          the fit of a growth curve
    curves          the growth curves of a record
    copied          whether reading did its work: no values come sooner than a copy of the bytes
    derive          all of this in one block: ``derived``

The verdict
    recommend       the use it is for where none was asked for; verdicts are made in ``verdict/``
    mains           the cases it rests on
    constraints     what a codec must offer
    full_size       figures for the whole data, of a part
    cost            what a use costs

Records
    record          reads and writes one
    record_schema   its shape
    result          one as an object: ``Result``
    journal         one while it grows
    resume          what of an interrupted one may be used again
    plan_resume     the same of a plan's run
    like            settings to measure what an earlier one did
    comparing       two side by side: ``compare``
    gating          the check against a baseline: ``gate``
    imports         made of what others published
    replay          what a published study said
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from tare.measure.calling import NAMES, Measure

__all__ = ["Plan", "Result", "compare", "gate", "load", "run"]

if TYPE_CHECKING:
    from tare.measure.comparing import compare
    from tare.measure.gating import gate
    from tare.measure.plan import Plan
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
