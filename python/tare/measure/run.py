"""A whole measurement: open the data, go through the stages, derive, save.

```
open -> pass -> first answer -> variants and others -> rounds -> probes (memory, growth) -> derive
```
It prints nothing; a display is told by events, and the stages of a plan are in ``plan_pipeline``.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tare.codec.route_ids import codec_part, split_route
from tare.datasets.source import printable
from tare.errors import Unsupported, UsageError
from tare.measure.analysis.ranked_cases import shown_cases
from tare.measure.cases import CONN, FACTORS
from tare.measure.environment.file_rate import measure_file_rate
from tare.measure.environment.limits import with_limits
from tare.measure.inputs import gather_files
from tare.measure.pipeline import measure_stages
from tare.measure.session import Control, Event, Session, Stopped, Wiring
from tare.measure.settings import Settings
from tare.measure.verdict.constraints import names_column
from tare.measure.verdict.cost_model import PROFILES
from tare.measure.verdict.file_names import file_name

if TYPE_CHECKING:
    from tare.dataset import Dataset
    from tare.measure.result import Result

__all__ = ["LEAST_S", "run"]

_HASHED_AT_ONCE = 32 << 20
"""Bytes in memory of a document from which on its hash is computed beside the first pass."""
LEAST_S = 2.0
"""Shortest time limit of a run, in seconds: in less, not even a first library is started and tried."""


def run(  # noqa: PLR0913 - one keyword for each thing a caller may decide
    data: Any,
    *,
    settings: Settings | None = None,
    plan: Any = None,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    on_progress: Callable[[Event], None] | None = None,
    control: Control | None = None,
    command: str = "",
    allow_pickle: bool = False,
    shared: str | Path | None = None,
    waited_s: float = 0.0,
    **options: Any,
) -> Result:
    """Weigh every codec that can hold the data, on this machine.

    Args:
        data: A path, a folder or a pattern of files that are one dataset, a built-in name, an object, or an opened
            Dataset.
        settings: What to do; single fields can be given as keyword arguments instead
            (``time_s=10``, ``codecs=("json:orjson",)``, ``media=("memory", "file")``, ...).
        plan: A Plan to run instead of the default stages.
        out: Where the record is saved; nowhere if None.
        resume: An interrupted record whose finished cases are used again.
        on_progress: Called with an Event between samples, never during one.
        control: How to stop the run from another thread or a signal handler.
        command: The command line, for the record.
        allow_pickle: Whether ``data`` may be a pickle file, which runs code when read.
        shared: Folder of the data sets that named plans use; None if there is none.
        waited_s: Seconds that the user has waited already, e.g. for the program to start; part of the time limit.
        **options: Fields of Settings.

    Returns:
        The Result; ``result.best`` is the route to use.

    Raises:
        DecodeError: The file is not what it should be.
        UsageError: A codec, medium or option does not exist.
        OSError: The file cannot be read, or the record cannot be written.

    Example:
        >>> from tare import measure
        >>> result = measure.run({"a": list(range(1000))}, time_s=4, codecs=("json:orjson", "pickle"))
        >>> sorted(case["status"] for case in result.cases if case["stage"] == "weigh")[0]
        'ok'
    """
    from tare.dataset import FileSet, open_dataset
    from tare.measure.result import Result

    settings = without_media(replace(settings or Settings(), **options))
    check_settings(settings)
    wiring = Wiring(out, resume, on_progress, control or Control(), command, shared)
    if plan is not None:
        from tare.measure.plan_pipeline import run_plan

        return run_plan(plan, data, settings, wiring)
    began_s = time.monotonic() - waited_s
    before = None if resume is None else Result.load(resume).record
    if before is not None and settings.max_bytes is None:
        # Free memory is another now, and of other data nothing could be used again.
        asked = before.get("settings") or {}
        settings = replace(settings, max_bytes=asked.get("max_bytes"), enough_bytes=asked.get("enough_bytes"))
    given = data = gather_files(data)
    if not isinstance(data, str | bytes | os.PathLike | FileSet) and not hasattr(data, "read"):
        data = open_dataset(data)
    settings = with_limits(settings, data)
    dataset = open_dataset(
        data,
        allow_pickle=allow_pickle,
        max_bytes=settings.max_bytes,
        enough_bytes=settings.enough_bytes,
        check_names=True,
    )
    if settings.kind is None:
        settings = replace(settings, kind=kind_given(given, dataset))
    check_use(settings, dataset)
    check_columns_named(settings, dataset)
    record = start_record(dataset, settings, command, hash_late=before is None)
    with open_session(dataset, settings, record, wiring) as session:
        session.started_at = began_s  # opening is part of the time that was given
        hash_beside(session)
        try:
            try:
                measure_stages(session, before)
            finally:
                note_time(session)  # before the exchange, which is no part of the time
            if settings.exchange:
                from tare.measure.stages.exchange import measure_exchange

                measure_exchange(session)
        except Stopped:
            record["interrupted"] = True
        finish(session, out)
    return Result(record)


def check_use(settings: Settings, dataset: Dataset) -> None:
    """Refuse a use that no codec of the data's kind is measured for, and codecs of tables for a document.

    Raises:
        UsageError: ``random`` for a document.
        Unsupported: A codec that was named does not hold documents.
    """
    from tare.codec import Codec

    if dataset.kind != "document":
        return
    for id in settings.codecs or ():
        with contextlib.suppress(UsageError):  # of another language, or of several
            codec = Codec.parse(id)
            if "document" not in codec.library.native:
                raise Unsupported(
                    f"{id} holds tables, not documents{_as_table(dataset, '; ')}", format=codec.format_id
                )
    if settings.profile == "random":
        others = [name for name in PROFILES if name != "random"]
        raise UsageError(
            f"invalid use 'random' for {dataset.name}: parts are read of tables, and this is a document; expected one of "
            f"{', '.join(others)}{_as_table(dataset, ', or ')}"
        )


def check_columns_named(settings: Settings, dataset: Dataset) -> None:
    """Refuse a column that may change where the table has none of that name.

    Raises:
        UsageError: A pattern matches no column; those that there are are named.
    """
    if dataset.kind != "table" or not settings.allow_loss:
        return
    names = list(map(str, dataset.value.column_names))
    for pattern in settings.allow_loss:
        if not names_column(pattern, names):
            have = printable(", ".join(names), 200) or "none"
            raise UsageError(
                f"invalid allow_loss {printable(pattern, 40)!r}: {printable(dataset.name, 80)} has no such column; "
                f"it has {have}"
            )


def _as_table(dataset: Dataset, joined: str) -> str:
    """Returns how objects in a list become a table, of which parts can be read; empty of other documents."""
    if not dataset.words or not dataset.summary()["tabular"]:
        return ""
    words = [printable(word, 400) for word in dataset.words]
    table = ["tables/", "--to", "parquet"] if dataset.files else [file_name("parquet", words[0])]
    return f"{joined}make a table of it first: {shlex.join(['tare', 'convert', *words, *table])}"


def without_media(settings: Settings) -> Settings:
    """The settings with codec ids for route ids; media that ``codecs`` names are those to measure on.

    Raises:
        UsageError: A medium that does not exist.

    >>> found = without_media(Settings(codecs=("arrow:pyarrow@file",), exclude=("orc@file",)))
    >>> found.codecs, found.media, found.exclude
    (('arrow:pyarrow',), ('file',), ('orc',))
    """
    routes = [split_route(text) for text in settings.codecs or ()]
    named = tuple(dict.fromkeys(medium for _, medium, _ in routes if medium is not None))
    return replace(
        settings,
        codecs=None if settings.codecs is None else tuple(codec for codec, _, _ in routes),
        exclude=tuple(codec_part(text) for text in settings.exclude),
        base=None if settings.base is None else codec_part(settings.base),
        media=settings.media or named or None,
    )


def check_settings(settings: Settings) -> None:
    """Refuse what no run could do, before anything is opened or started.

    Raises:
        UsageError: A codec, medium, link, remote host, constraint, kind, profile or time that does not exist.
    """
    from tare.codec import Codec
    from tare.measure.verdict.constraints import conditions
    from tare.measure.worker_client.languages import language_of, name_of
    from tare.media import medium
    from tare.media.link import Link
    from tare.media.remote import Remote

    if settings.kind is not None and (refusal := FACTORS["kind"].refuses(settings.kind)):
        raise UsageError(f"{refusal}, not {settings.kind!r}")
    if settings.profile is not None and settings.profile not in PROFILES:
        raise UsageError(f"invalid use {settings.profile!r:.80}: expected one of {', '.join(PROFILES)}")
    if settings.limit_s != 0 and not LEAST_S <= settings.limit_s < float("inf"):
        raise UsageError(
            f"time_s is 0 (no limit) or at least {LEAST_S:g} seconds, in which processes start and load, "
            f"not {settings.time_s!r}"
        )
    if not 0 < settings.deadline_s < float("inf"):
        raise UsageError(f"deadline_s is more than 0 seconds, not {settings.deadline_s!r}")
    if settings.share is not None and not 0 < settings.share <= 1:
        raise UsageError(f"share is a share of the data in (0, 1], not {settings.share!r}")
    if settings.threads not in (1, "all"):
        raise UsageError(f"threads is 1 or 'all', not {settings.threads!r}")
    for name in settings.media or ():
        if name == CONN:
            continue
        if medium(name).name == "remote" and not settings.remote:
            raise UsageError("the medium 'remote' needs the other host: --remote ssh://host")
    if settings.link:
        Link.parse(settings.link)
        if settings.profile is not None and "link" not in (settings.media or ()):
            PROFILES[settings.profile].with_link(settings.link)  # refused where it would count for nothing
    if settings.remote:
        Remote.parse(settings.remote)
    if settings.base:
        if language := language_of(settings.base, settings.workers):
            raise UsageError(
                f"--base {settings.base}: is of the {name_of(language)} worker; the base is one of Python's codecs"
            )
        Codec.parse(settings.base).require()
    conditions((), settings.must)


def kind_given(data: Any, dataset: Dataset) -> str:
    """The in-memory kind of the object given; ``own`` for a path, a name or a document.

    >>> from tare.dataset import open_dataset
    >>> kind_given("synthpop:10", open_dataset("synthpop:10"))
    'own'
    """
    from tare.dataset import FileSet

    named = isinstance(data, str | bytes | os.PathLike | FileSet) or hasattr(data, "read")
    # Of an opened Dataset only these kinds tell that an object was given: tables from files are Arrow too.
    sure = ("pandas", "polars") if data is dataset else ("arrow", "pandas", "polars")
    return dataset.source_kind if not named and dataset.source_kind in sure else "own"


def start_record(
    dataset: Dataset,
    settings: Settings,
    command: str,
    plan: dict[str, Any] | None = None,
    *,
    hash_late: bool = False,
) -> dict[str, Any]:
    """The record before anything was measured.

    Args:
        dataset: The data.
        settings: What was asked for.
        command: The command line.
        plan: The plan's head; None for a default run.
        hash_late: Whether the hash of a large document may be left to `hash_beside`.
    """
    from tare.measure.records.record import new_record

    record = new_record(
        command=command, plan=plan or {"name": "default"}, seed=settings.seed, directory=settings.directory
    )
    record["machine"]["file_bytes_per_s"] = measure_file_rate(settings.directory)
    summary = dataset.summary()
    late = hash_late and dataset.kind == "document" and dataset.bytes_memory > _HASHED_AT_ONCE
    record["dataset"] = {
        **summary,
        "hash": None if late else dataset.hash(),
        "sizes": {},
        "sampling": _sampling(dataset),
    }
    record["settings"] = {
        "time_s": settings.time_s,
        "profile": settings.profile,
        "link": settings.link,
        "allow_loss": list(settings.allow_loss),
        "must": list(settings.must),
        "share": settings.share,
        "all_codecs": settings.all_codecs,
        "max_bytes": settings.max_bytes,
        "enough_bytes": settings.enough_bytes,
    }
    record.setdefault("noise", {})
    record.setdefault("fidelity", {}).setdefault("probes", {})
    record.setdefault("cases", [])
    return record


def hash_beside(session: Session) -> None:
    """Hashes a large document while codecs are tried: it takes longer than parsing it."""
    if session.block["hash"] is not None:
        return

    def work() -> None:
        session.block["hash"] = session.dataset.hash()
        if session.journal is not None and session.journal.started:
            session.journal.stage("dataset", {"hash": session.block["hash"]})

    session.hashing = threading.Thread(target=work, daemon=True)
    session.hashing.start()


def open_session(dataset: Dataset, settings: Settings, record: dict[str, Any], wiring: Wiring) -> Session:
    """The session of a run, with its journal if a record is to be saved."""
    from tare.measure.records.journal import Journal

    journal = None
    if wiring.out is not None:
        journal = Journal(Path(f"{wiring.out}l"))
    if journal is not None and wiring.resume is None:
        journal.head({name: value for name, value in record.items() if name != "cases"})
    try:
        return Session(dataset, settings, record, wiring, journal)
    except OSError:
        if journal is not None and wiring.resume is None:
            journal.remove()
        raise


def note_time(session: Session) -> None:
    """Fill in how long was measured, and how quiet it was meanwhile."""
    record = session.record
    record["elapsed_s"] = round(session.elapsed_s, 3)
    record["noise"].update(session.pressure_since_start())
    if session.settings.limit_s:
        record["noise"]["overrun_s"] = round(max(0.0, session.elapsed_s - session.settings.limit_s), 3)


def finish(session: Session, out: str | Path | None) -> None:
    """Derive, save, and drop the journal."""
    from tare.measure.derive import derive
    from tare.measure.result import Result

    session.reach.check_again()
    session.wait_for_hash()
    record = session.record
    record["cases"] = shown_cases(record)
    record["fidelity"]["own"] = {
        case["labels"]["codec"]: case["verify"] for case in record["cases"] if "verify" in case
    }
    record["derived"] = derive(record)
    if out is not None:
        Result(record).save(out)
        if session.journal is not None:
            session.journal.remove()


def _sampling(dataset: Dataset) -> str:
    return f"contiguous blocks of {'rows' if dataset.kind == 'table' else 'items'}, spread over the data"
