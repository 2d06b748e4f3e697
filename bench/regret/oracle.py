"""The oracle: every eligible installed codec on the whole of a dataset, a fresh process for each.

It shares no code with ``tare.measure`` but the formulas of costs, which ``uses`` writes out again. Its
figures are kept by the data, the versions of the libraries, the calls themselves and the machine, so that a
second run takes them as they are. Run it on a quiet machine.

A machine that others share is fast and slow by turns, by a half and more within seconds. So what may be the best
of a use is measured in further processes, all of them in turn, and the least counts. `ALONE` keeps the figures of
the first process of each, which tell how far a single measurement is off.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from regret.data import CACHE, Dataset, document_path
from regret.machine import file_rate, machine, rates
from regret.uses import FAR, FIRST, SECOND, Figures, Use, barred, cost, eligible, far_behind

HERE = Path(__file__).resolve().parent
# Not by its path: the folder would be searched for modules, and libraries would find `tables` there.
CHILD = f"import sys; sys.path.insert(0, {str(HERE.parent)!r}); from regret.child import main; main()"
SCOUT_ROWS = 20_000  # rows on which codecs that make Python objects are tried first
SCOUT_CELLS = 2_000_000  # values of a table from which on they are
SCOUT_BYTES = 2_000_000  # bytes of a document from which on slow codecs are tried on a tenth of that first
# Codecs that are measured on the whole at once.
QUICK_TABLES = (
    *("parquet:", "arrow:", "orc:"),
    *("csv:pyarrow", "csv:polars", "csv:duckdb", "csv:pandas", "ndjson:polars"),
)
QUICK_DOCUMENTS = ("json:", "ndjson:", "msgpack:", "cbor:", "blit:", "bson:")
# Whether glibc gives memory back after each call depends on what a process did before: decoding the same 46 MB of
# MessagePack took 0.7 or 1.27 s. The oracle times the codec, in a process that keeps its heap.
KEPT_HEAP = {"MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_MMAP_THRESHOLD_": str(1 << 25)}
ONE_THREAD = {
    f"{name}_{rest}": "1"
    for name, rest in (
        ("OMP", "NUM_THREADS"),
        ("OPENBLAS", "NUM_THREADS"),
        ("MKL", "NUM_THREADS"),
        ("NUMEXPR", "NUM_THREADS"),
        ("NUMBA", "NUM_THREADS"),
        ("RAYON", "NUM_THREADS"),
        ("POLARS", "MAX_THREADS"),
        ("ARROW", "IO_THREADS"),
        ("BLOSC", "NTHREADS"),
    )
}
# What people use, by kind: the shortlist of the design, likeliest first.
SHORTLIST: Mapping[str, tuple[str, ...]] = {
    "table": (
        "parquet:pyarrow,compression=zstd,level=3",
        "parquet:polars",
        "parquet:duckdb,compression=zstd",
        "arrow:pyarrow",
        "arrow:pyarrow,compression=lz4",
        "arrow:pyarrow,compression=zstd",
        "orc:pyarrow,compression=zstd",
        "parquet:pyarrow,compression=zstd,level=9",
        "csv:pyarrow+zstd:3",
        "ndjson:polars+zstd:3",
    ),
    "document": (
        "json:orjson",
        "json:msgspec",
        "json:stdlib",
        "msgpack:msgspec",
        "msgpack:ormsgpack",
        "msgpack:msgpack",
        "json:orjson+zstd:3",
        "msgpack:msgspec+zstd:3",
        "msgpack:msgspec+lz4:1",
        "cbor:cbor2",
        "blit:tare",
    ),
}
# Others outside the defaults of the registry, which may be the best of something.
BESIDE: Mapping[str, tuple[str, ...]] = {
    "table": (
        "parquet:pyarrow,compression=lz4",
        "parquet:polars,compression=snappy",
        "parquet:polars,compression=lz4",
        "parquet:polars,level=9",
        "parquet:duckdb,compression=zstd,level=9",
        "arrow:polars,compression=zstd",
        "orc:pyarrow,compression=lz4",
        "csv:polars+zstd:3",
        "csv:polars+lz4:1",
    ),
    "document": (
        "json:orjson+lz4:1",
        "json:msgspec+zstd:3",
        "msgpack:ormsgpack+zstd:3",
        "msgpack:ormsgpack+lz4:1",
        "blit:tare+zstd:3",
        "blit:tare+lz4:1",
    ),
}
# Codecs that cost at most so many times the best of a use are measured in so many further processes; in up to so many
# if the two least differ by more than this: one process in a slow state had called an encoder twice as slow as it is.
CLOSE, AGAIN, MOST, AGREE = 2.0, 2, 4, 1.1
ALONE: dict[tuple[str, bool], dict[str, Figures]] = {}
OF_LINES = ("ndjson:orjson+zstd:3", "ndjson:msgspec+zstd:3", "ndjson:msgspec+lz4:1")


@dataclasses.dataclass(frozen=True)
class Bounds:
    """Limits of how long and how often the oracle calls.

    Args:
        seconds: Seconds of each direction of a codec, if the least number of calls takes no longer.
        calls: Least number of timed runs.
        limit_s: Seconds after which the process of a codec is ended.
    """

    seconds: float = 0.2
    calls: int = 3
    limit_s: float = 120.0


BOUNDS = Bounds(seconds=float(os.environ.get("REGRET_SECONDS", "0.2")))
# Objects come from a heap that settles: of a document of 13 MB the page faults of a call fell from 6,886 to 1,788 within
# twelve calls, and its time by a third. So documents are called so often at the least; large ones, half as often.
SETTLED, LARGE_BYTES = 12, 32_000_000


def bounds_of(dataset: Dataset) -> Bounds:
    """Returns the limits for a dataset."""
    if dataset.kind == "table":
        return BOUNDS
    large = dataset.path().stat().st_size > LARGE_BYTES
    return dataclasses.replace(BOUNDS, calls=SETTLED // 2 if large else SETTLED)


def candidates(kind: str) -> list[str]:
    """Returns the ids of the installed codecs that may be the best of anything, likeliest first.

    Args:
        kind: ``table``, ``document`` or ``lines``.
    """
    from tare.codec import Codec
    from tare.codec import candidates as registered

    of = "table" if kind == "table" else "document"
    listed = [str(codec) for codec in registered(of, sequence=kind == "lines")]
    ids = [*SHORTLIST[of], *(OF_LINES if kind == "lines" else ()), *BESIDE[of], *listed]
    found = dict.fromkeys(str(Codec.parse(id)) for id in ids)
    return [id for id in found if Codec.parse(id).installed and not barred(id, Use())]


def oracle(dataset: Dataset, more: Iterable[str] = (), bounds: Bounds | None = None) -> dict[str, Figures]:
    """Returns the figures of every candidate, and of others that were recommended.

    Args:
        dataset: The data.
        more: Ids beside the candidates.
        bounds: How long and how often each is called; by default what suits the data.
    """
    bounds = bounds or bounds_of(dataset)
    return _all(dataset, dict.fromkeys([*candidates(dataset.kind), *more]), bounds, each=False)


def oracle_of_lines(
    dataset: Dataset, more: Iterable[str] = (), bounds: Bounds | None = None
) -> dict[str, Figures]:
    """Returns the same where each line is a message of its own; those far behind on the whole are left out."""
    bounds = bounds or bounds_of(dataset)
    whole = oracle(dataset, more, bounds)
    some = [id for id, one in whole.items() if id in more or not (one.failed or one.behind)]
    return _all(dataset, some, bounds, each=True)


def _all(dataset: Dataset, ids: Iterable[str], bounds: Bounds, *, each: bool) -> dict[str, Figures]:
    folder = CACHE / "oracle" / f"{dataset.name}-{digest(dataset)[:12]}{'-each' if each else ''}"
    rate = file_rate()
    found: dict[str, Figures] = {}
    best: dict[str, float] = {}
    for number, id in enumerate(ids := list(ids)):
        path = folder / f"{key_of(id, bounds, dataset.kind)}.json"
        if path.exists():
            one = _figures(path.read_text())
        else:
            if not found or number % 10 == 0:
                print(f"  oracle: {folder.name} {number}/{len(ids)}", file=sys.stderr, flush=True)
            job = {"path": str(opened(dataset)), "kind": dataset.kind, "each": each, "id": id}
            job |= {"best": best, "file_rate": rate, **dataclasses.asdict(bounds)}
            job["limit_s"] = min(bounds.limit_s, limit_of(best)) if best and not each else bounds.limit_s
            one = (None if each else scouted(dataset, job)) or measure(job)
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(_text(one))
        found[id] = one
        for name, use in (SECOND | FIRST).items():
            if eligible(id, use, one) and not use.parts:
                best[name] = min(best.get(name, float("inf")), cost(use, one, rate))
    ALONE.setdefault((dataset.name, each), dict(found))
    return found | _again(dataset, found, bounds, folder, each=each)


def _again(
    dataset: Dataset, found: Mapping[str, Figures], bounds: Bounds, folder: Path, *, each: bool
) -> dict[str, Figures]:
    """Returns the figures of what may be the best of a use: the least of several processes, taken in turn."""
    several = {id: [found[id]] for id in near(found, file_rate())}
    job = {"kind": dataset.kind, "each": each, "best": {}, "file_rate": file_rate()}
    for turn in range(1, MOST + 1):
        for id, ones in several.items():
            if turn > AGAIN and agree(ones):
                continue
            path = folder / f"{key_of(id, bounds, dataset.kind)}-{turn}.json"
            if not path.exists():
                here = {"path": str(opened(dataset)), "id": id, **dataclasses.asdict(bounds)}
                path.write_text(_text(measure(job | here)))
            ones.append(_figures(path.read_text()))
    return {id: functools.reduce(least_of, ones) for id, ones in several.items()}


def agree(several: Sequence[Figures]) -> bool:
    """Returns whether the two least times agree, of each direction."""
    good = [one for one in several if not one.failed]
    ways = (sorted(one.encode_s for one in good), sorted(one.decode_s for one in good))
    return all(len(times) > 1 and times[1] <= AGREE * times[0] for times in ways)


def near(found: Mapping[str, Figures], rate: float) -> list[str]:
    """Returns the codecs that cost at most `CLOSE` times the best of some use.

    Args:
        found: Figures of every codec.
        rate: Bytes a second of a warm file.
    """
    some: dict[str, None] = {}
    for use in SECOND.values():
        costs = {id: cost(use, one, rate) for id, one in found.items() if eligible(id, use, one)}
        limit = CLOSE * min((value for value in costs.values() if math.isfinite(value)), default=0.0)
        some |= dict.fromkeys(id for id, value in costs.items() if value <= limit)
    return list(some)


def least_of(one: Figures, other: Figures) -> Figures:
    """Returns the smaller times of two measurements of a codec; a failed one counts for nothing."""
    if other.failed or one.failed:
        return other if one.failed else one
    parts = [part for part in (one.part_s, other.part_s) if part is not None]
    return dataclasses.replace(
        one,
        encode_s=min(one.encode_s, other.encode_s),
        decode_s=min(one.decode_s, other.decode_s),
        part_s=min(parts, default=None),
    )


def limit_of(best: Mapping[str, float]) -> float:
    """Returns the seconds after which a codec is certainly far behind: it encodes and decodes once to be checked."""
    return 20.0 + 2 * FAR * max(best.values())


def measure(job: Mapping[str, Any]) -> Figures:
    """Returns the figures of one codec; what goes wrong is in ``failed``.

    Args:
        job: What ``child`` takes, and ``limit_s``.
    """
    environment = os.environ | ONE_THREAD | heap_of(job["kind"])
    environment |= {"REGRET_KIND": job["kind"], "PYTHONHASHSEED": "0"}
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", CHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(json.dumps(dict(job)), timeout=job.get("limit_s", 120.0))
    except subprocess.TimeoutExpired:
        _end(process)
        return Figures(failed=f"took longer than {job.get('limit_s', 120.0):.0f} s")
    except BaseException:
        _end(process)
        raise
    if process.returncode < 0:
        return Figures(failed=f"crashed: {signal.Signals(-process.returncode).name}")
    if process.returncode:
        return Figures(failed=(err.strip().splitlines() or ["failed"])[-1][:200])
    return _figures(out.splitlines()[-1])


def heap_of(kind: str) -> dict[str, str]:
    """Returns the variables of the C library's heap; libraries of tables have heaps of their own."""
    return {} if kind == "table" else KEPT_HEAP


def _text(one: Figures) -> str:
    known = {name: value for name, value in dataclasses.asdict(one).items() if value is not None}
    return json.dumps({name: value for name, value in known.items() if not _is_nan(value)})


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _figures(text: str) -> Figures:
    """Figures from JSON, in which what is not known is null."""
    return Figures(**{name: value for name, value in json.loads(text).items() if value is not None})


def _end(process: subprocess.Popen[str]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def scouted(dataset: Dataset, job: Mapping[str, Any]) -> Figures | None:
    """Returns the figures of a slow codec by those of a part, if it is far behind by so much; else None.

    Of a table that would become many Python objects the first rows are the part. Of a document there is none,
    so a codec in pure Python is tried on a small one, and a third of the extrapolated time is counted.
    """
    if dataset.kind == "table":
        rows, columns = shape(dataset)
        if rows * columns <= SCOUT_CELLS or job["id"].startswith(QUICK_TABLES):
            return None
        one, times = measure({**job, "rows": SCOUT_ROWS, "best": {}}), rows / SCOUT_ROWS
        size = one.bytes * times
    else:
        if job["id"].startswith(QUICK_DOCUMENTS) or os.path.getsize(job["path"]) < SCOUT_BYTES:
            return None
        small = document_path(SCOUT_BYTES // 10)
        one = measure({**job, "kind": "document", "path": str(small), "best": {}})
        times, size = os.path.getsize(job["path"]) / os.path.getsize(small) / 3, 0.0
    if one.failed:
        return one
    whole = Figures(size, one.encode_s * times, one.decode_s * times, None, one.lost, behind=True)
    ways = (SECOND | FIRST).items()
    return whole if far_behind(ways, whole, job.get("best", {}), job["file_rate"]) else None


@functools.cache
def opened(dataset: Dataset) -> Path:
    """Returns the file that the oracle loads, written once a run: what opening gives may change."""
    return dataset.plain()


def shape(dataset: Dataset) -> tuple[int, int]:
    """Returns the rows and columns of a table."""
    import pyarrow as pa
    from pyarrow import ipc

    table = ipc.open_file(pa.memory_map(str(opened(dataset)))).read_all()
    return table.num_rows, table.num_columns


# --- what figures depend on --------------------------------------------------------------


@functools.cache
def digest(dataset: Dataset) -> str:
    """Returns the hash of the data, once a run."""
    with opened(dataset).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def key_of(id: str, bounds: Bounds, kind: str) -> str:
    """Returns what the figures of a codec depend on beside the data, as a file's name."""
    from tare.codec import Codec

    versions = Codec.parse(id).versions()
    core = _core() if "tare" in versions else ""
    parts = [
        id,
        str(sorted(versions.items(), key=str)),
        core,
        _calls(),
        machine(),
        str(bounds),
        platform.python_version(),
    ]
    parts += heap_of(kind).values()
    if "pyarrow" not in versions:
        parts.append(metadata.version("pyarrow"))  # tables are converted by it
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]


@functools.cache
def _core() -> str:
    from tare import _tare

    with open(str(_tare.__file__), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@functools.cache
def _calls() -> str:
    texts = [(HERE / f"{name}.py").read_bytes() for name in ("calls", "tables", "child", "values")]
    return hashlib.sha256(b"".join(texts)).hexdigest()


def true_times(one: Figures) -> dict[str, float]:
    """Returns the seconds of each operation that a record may report: in memory, and of a file."""
    write, read = rates()["write"], rates()["read"]
    return {
        "encode": one.encode_s,
        "decode": one.decode_s,
        "write": one.encode_s + write[0] + write[1] * one.bytes,
        "read": one.decode_s + read[0] + read[1] * one.bytes,
    }
