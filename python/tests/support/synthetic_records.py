"""A made-up record with known truth, for the tests of statistics and reports.

Every time is drawn around a planted one: launch effects, noise that remembers
the round before (AR 0.4), and now and then a preempted sample whose wall clock
runs away while its CPU clock does not. Nothing here is measured.
"""

from __future__ import annotations

import hashlib
import pickle
from typing import Any

import numpy as np

from support.planted_codecs import DOCUMENT, EVERYWHERE, TABLE, Planted
from tare.measure.analysis.ranked_cases import TOTAL

__all__ = ["DOCUMENT", "TABLE", "Planted", "case_key", "synthetic_record"]

COLUMNS = ("wall_ns", "user_ns", "sys_ns", "nivcsw", "nvcsw", "minflt", "majflt", "gc_ns", "gc_n", "drop_ns")
GROWTH_SIZES = (1 / 64, 1 / 16, 1 / 4)

# Records with what is derived from them, by their arguments: deriving is what takes time.
_MADE: dict[str, bytes] = {}
_MOST_MADE = 20


def case_key(labels: dict[str, str]) -> str:
    """The key of a case: its labels, sorted."""
    return "|".join(sorted(f"{name}={level}" for name, level in labels.items()))


def synthetic_record(
    kind: str = "table",
    *,
    planted: tuple[Planted, ...] | None = None,
    base: str | None = None,
    launches: int = 5,
    rounds: int = 9,
    media: tuple[str, ...] = ("memory", "file"),
    growth: bool = True,
    partial: float | None = None,
    launch_sd: float = 0.01,
    noise_sd: float = 0.01,
    ar: float = 0.4,
    preempted: float = 0.02,
    seed: int = 1,
    derived: bool = True,
) -> dict[str, Any]:
    """A whole record, version 1, drawn around planted truth.

    Args:
        kind: ``table`` or ``document``.
        planted: The codecs and their true figures; the lists above by default.
        base: Codec that ratios are taken to; Parquet or the standard library's JSON by default.
        launches: Launches of the weighing stage.
        rounds: Rounds in each launch.
        media: ``memory``, ``file`` and ``tcp`` are known.
        growth: Whether smaller sizes are there too.
        partial: Share of the file that was loaded; None for all.
        launch_sd: Standard deviation of the launch effect, of the logarithm.
        noise_sd: The same for single rounds.
        ar: How much of a round's noise is carried to the next.
        preempted: Share of samples that were preempted.
        seed: Seed of everything drawn.
        derived: Whether ``derived`` is computed too.
    """
    arguments = repr(locals())
    if derived and arguments in _MADE:
        return pickle.loads(_MADE[arguments])
    planted = planted or (TABLE if kind == "table" else DOCUMENT)
    base = base or ("parquet:pyarrow" if kind == "table" else "json:stdlib")
    draw = _Draw(np.random.RandomState(seed), launch_sd, noise_sd, ar, preempted)
    record = _head(kind, seed, partial, base)
    raw = record["dataset"]["sizes"]["1"]
    for truth in planted:
        record["codecs"][truth.codec] = _codec(truth)
        for medium in media if truth.status != "screened" else ():
            record["cases"].append(_full_case(truth, medium, raw, draw, (launches, rounds), kind))
        if growth and truth.status not in ("n/a", "refused", "screened"):
            record["cases"] += _growth_cases(truth, record, draw, kind)
        if truth.status not in ("n/a", "refused"):
            record["cases"].append(_screen_case(truth, record, draw, kind, media[0]))
    by_codec = {truth.codec: truth for truth in planted}
    for medium in media:
        record["cases"].append(
            _full_case(by_codec[base], medium, raw, draw, (launches, rounds), kind, twin=True)
        )
    record["cases"].append(_copy_case(by_codec[base], raw, draw, (launches, rounds)))
    record["fidelity"] = _fidelity(kind, planted, record)
    if derived:
        from tare.measure.derive import derive

        record["derived"] = derive(record)
        while len(_MADE) >= _MOST_MADE:
            del _MADE[next(iter(_MADE))]
        _MADE[arguments] = pickle.dumps(record)
    return record


class _Draw:
    """Draws batches of samples around a true time."""

    def __init__(
        self, random: np.random.RandomState, launch_sd: float, noise_sd: float, ar: float, preempted: float
    ) -> None:
        self.random = random
        self.launch_sd, self.noise_sd, self.ar, self.preempted = launch_sd, noise_sd, ar, preempted

    def rounds(self, true_ns: float, rounds: int, blocked_ns: float = 0.0) -> dict[str, list[int]]:
        random = self.random
        steps = random.standard_normal(rounds) * self.noise_sd * np.sqrt(1 - self.ar**2)
        noise = np.empty(rounds)
        last = random.standard_normal() * self.noise_sd
        for i, step in enumerate(steps):
            noise[i] = last = self.ar * last + step
        times = true_ns * np.exp(noise + random.standard_normal() * self.launch_sd)
        batch = np.full(rounds, max(1, int(2e6 / max(true_ns, 1))))
        hit = random.random_sample(rounds) < self.preempted
        sys_share = 0.06
        columns = {
            "round": np.arange(1, rounds + 1),
            "position": random.randint(1, 40, rounds),
            "batch": batch,
            "wall_ns": (times + blocked_ns) * batch * np.where(hit, 3.0, 1.0005),
            "user_ns": times * batch * (1 - sys_share),
            "sys_ns": times * batch * sys_share,
            "nivcsw": hit * random.randint(1, 6, rounds),
            "nvcsw": np.full(rounds, 2 if blocked_ns else 0),
            "minflt": random.randint(0, 9, rounds),
            "majflt": np.zeros(rounds),
            "gc_ns": np.zeros(rounds),
            "gc_n": np.zeros(rounds),
            "drop_ns": times * batch * 0.03,
        }
        return {name: [int(v) for v in values] for name, values in columns.items()}

    def launch(self, n: int, truths: dict[str, tuple[float, float]], rounds: int) -> dict[str, Any]:
        samples = {op: self.rounds(true_ns, rounds, blocked) for op, (true_ns, blocked) in truths.items()}
        return {
            "n": n,
            "pid": 4000 + 37 * n + int(self.random.randint(30)),
            "cpu": 1,
            "hash_seed": n,
            "started": 1_785_578_400.0 + 60 * n,
            "psi_some": round(0.01 + 0.04 * self.random.random_sample(), 4),
            "load": round(0.5 + self.random.random_sample(), 2),
            "samples": samples,
        }


def set_floor(evidence: Any, floor: float) -> None:
    """Give all figures of whole uses this noise floor, whatever the base showed against itself."""
    for group in evidence.analysis.groups:
        group.floor = {TOTAL: floor}


def _labels(truth: Planted, medium: str, size: float, twin: bool = False) -> dict[str, str]:
    labels = {
        "dataset": "sample",
        "size": f"{size:g}",
        "codec": truth.codec,
        "medium": medium,
        "delivery": "whole",
        "threads": "1",
        "gc": "off",
        "kind": "own",
    }
    if medium == "file":
        labels |= {"cache": "warm", "sync": "none"}
    if twin:
        labels["twin"] = "1"
    return labels


def _truths(truth: Planted, medium: str, size: float, encoded: float) -> dict[str, tuple[float, float]]:
    """True CPU and blocked nanoseconds of each operation of a case."""
    scale = size**truth.exponent * 1e6
    encode, decode = truth.encode_ms * scale, truth.decode_ms * scale
    if medium == "file":
        return {
            "write": (encode + encoded / 2.0, encoded / 8.0 + 30_000),
            "read": (decode + encoded / 6.0, 20_000.0),
        }
    if medium == "tcp":
        span = max(encode, decode, encoded) + 200_000
        return {"send": (encode, 0.0), "receive": (decode, 0.0), "span": (span, 0.0)}
    return {"encode": (encode, 0.0), "decode": (decode, 0.0)}


def _case(truth: Planted, labels: dict[str, str], dims: dict[str, int], stage: str) -> dict[str, Any]:
    encoded = int(truth.share * dims["bytes_memory"]) + 40
    return {
        "key": case_key(labels),
        "labels": labels,
        "status": truth.status,
        "reason": truth.reason,
        "note": "",
        "bytes": encoded,
        "sha256": hashlib.sha256(labels["codec"].encode()).hexdigest(),
        "items": dims["items"],
        "raw_bytes": dims["bytes_memory"],
        "verify": None,
        "cold": {},
        "memory": {},
        "stage": stage,
        "launches": [],
    }


def _full_case(
    truth: Planted,
    medium: str,
    raw: dict[str, int],
    draw: _Draw,
    shape: tuple[int, int],
    kind: str,
    twin: bool = False,
) -> dict[str, Any]:
    launches, rounds = shape
    case = _case(truth, _labels(truth, medium, 1.0, twin), raw, "weigh")
    if truth.status in ("n/a", "refused", "error", "timeout", "killed"):
        case |= {"bytes": None, "sha256": None, "items": None}
        return case
    case["verify"] = _verify(truth, raw, kind)
    truths = _truths(truth, medium, 1.0, case["bytes"])
    if truth.status == "unproven":
        truths = {op: (max(t, 900.0), 0.0) for op, (t, _) in truths.items() if op in ("decode", "read")}
    case["launches"] = [draw.launch(n, truths, rounds) for n in range(1, launches + 1)]
    case["cold"] = {"encode_ns": int(truth.encode_ms * 1.8e6), "decode_ns": int(truth.decode_ms * 1.5e6)}
    if not twin:
        case["memory"] = {
            op: {
                "before_bytes": 81_000_000,
                "peak_bytes": int(truth.peak * case["bytes"] * factor),
                "method": "hwm",
            }
            for op, factor in zip(truths, (1.0, 1.4, 1.0), strict=False)
        }
    return case


def _growth_cases(truth: Planted, record: dict[str, Any], draw: _Draw, kind: str) -> list[dict[str, Any]]:
    cases = []
    for size in GROWTH_SIZES:
        dims = _dims(record["dataset"]["sizes"]["1"], size)
        record["dataset"]["sizes"][f"{size:g}"] = dims
        case = _case(truth, _labels(truth, "memory", size), dims, "growth")
        if truth.fails_at is not None and size >= truth.fails_at:
            cases.append(case | {"bytes": None})
            break
        case |= {
            "status": "ok" if truth.status in ("timeout", "killed", "screened", "error") else truth.status
        }
        case["verify"] = _verify(truth, dims, kind)
        truths = _truths(truth, "memory", size, case["bytes"])
        case["launches"] = [draw.launch(n, truths, 3) for n in (1, 2)]
        cases.append(case)
    return cases


def _screen_case(
    truth: Planted, record: dict[str, Any], draw: _Draw, kind: str, medium: str
) -> dict[str, Any]:
    """The case of the screening; a codec beaten there stays with figures predicted for the full size."""
    dims = _dims(record["dataset"]["sizes"]["1"], 0.05)
    record["dataset"]["sizes"]["0.05"] = dims
    medium = medium if medium in ("memory", "file") else "memory"
    case = _case(truth, _labels(truth, medium, 0.05), dims, "screen")
    if truth.status in ("error", "unproven"):
        return case | {"bytes": None}
    truths = _truths(truth, medium, 0.05, case["bytes"])
    case |= {
        "status": "lossy" if truth.changes else "ok",
        "reason": "" if not truth.changes else truth.reason,
    }
    case["verify"] = _verify(truth, dims, kind)
    case["launches"] = [draw.launch(1, truths, 3)]
    if truth.status == "screened":
        case["predicted"] = {
            "size": "1",
            "bytes": case["bytes"] * 20,
            "ops": {op: int(time_ns + blocked_ns) * 20 for op, (time_ns, blocked_ns) in truths.items()},
        }
        case |= {"status": "screened", "reason": truth.reason, "verdict_at_screening": case["status"]}
    return case


def _copy_case(base: Planted, raw: dict[str, int], draw: _Draw, shape: tuple[int, int]) -> dict[str, Any]:
    truth = Planted("copy", 0, 0, base.share)
    case = _case(truth, _labels(truth, "memory", 1.0), raw, "weigh")
    case["launches"] = [
        draw.launch(n, {"copy": (case["bytes"] / 8.0, 0.0)}, shape[1]) for n in range(1, shape[0] + 1)
    ]
    return case


def _dims(raw: dict[str, Any], size: float) -> dict[str, Any]:
    rows = 1 + round(raw["items"] * size)
    return {
        "hash": hashlib.sha256(f"{size:g}".encode()).hexdigest(),
        "rows": rows if raw["rows"] else None,
        "items": rows,
        "bytes_memory": int(raw["bytes_memory"] * rows / raw["items"]),
    }


def _verify(truth: Planted, dims: dict[str, int], kind: str) -> dict[str, Any]:
    verdicts = {verdict for _, verdict, _ in truth.changes}
    worst = next((v for v in ("lossy", "refused", "type") if v in verdicts), "same")
    changes = [
        {"path": path, "verdict": verdict, "count": count, "in": "N14228", "out": "14228"}
        for path, verdict, count in truth.changes
    ]
    back = 0 if truth.status == "unproven" else dims["items"]
    return {
        "verdict": "none" if truth.status == "unproven" else worst,
        "items_in": dims["items"],
        "items_out": back,
        "changes": changes,
        "columns": 19 if kind == "table" else None,
    }


def _codec(truth: Planted) -> dict[str, Any]:
    head, _, compressor = truth.codec.partition("+")
    name, *options = head.split(",")
    format, _, library = name.partition(":")
    flags = {
        "executes_code": False,
        "spec": "https://example.org/spec",
        "languages": list(EVERYWHERE),
        "streams": False,
        "append": False,
        "subset": False,
        "text": True,
    }
    return {
        "options": dict(option.split("=") for option in options),
        "version": "1.2.3",
        "threads": 1,
        "flags": flags | truth.flags,
        "library": library or format,
        "format": format,
        "compressor": compressor or None,
    }


def _head(kind: str, seed: int, partial: float | None, base: str) -> dict[str, Any]:
    table = kind == "table"
    dims = (
        {"rows": 336_776, "items": 336_776, "bytes_memory": 44_145_000}
        if table
        else {"rows": None, "items": 18_801, "bytes_memory": 135_000_000}
    )
    columns = (
        [
            {"name": name, "type": kind_of, "nulls": nulls, "distinct_share": share}
            for name, kind_of, nulls, share in (
                ("year", "int64", 0, 0.0),
                ("dep_delay", "double", 8_255, 0.002),
                ("carrier", "string", 0, 0.0),
                ("tailnum", "string", 2_512, 0.012),
                ("time_hour", "timestamp[us, tz=UTC]", 0, 0.02),
            )
        ]
        if table
        else []
    )
    shape = {} if table else {"maps": 210_000, "lists": 90_000, "leaves": 1_900_000, "mean_doc_bytes": 3_980}
    digest = hashlib.sha256(f"{kind}{seed}".encode()).hexdigest()
    return {
        "tare_record": 1,
        "id": digest[:32],
        "created": "2026-08-01T10:00:00Z",
        "tare": "0.1.0",
        "command": "tare measure flights.csv",
        "plan": {"name": "default", "base": base, "plan": 1},
        "settings": {"profile": "cache"} if table else {},
        "seed": seed,
        "elapsed_s": 48.2,
        "interrupted": False,
        "machine": {
            "cpu_model": "Example CPU at 2.4 GHz",
            "cores": 2,
            "quota": None,
            "governor": "performance",
            "memory_bytes": 8 << 30,
            "kernel": "6.1.0",
            "virtualised": True,
            "filesystem": "ext4",
            "runtimes": {"python": "3.11.7"},
            "host": digest[-16:],
            "one_cpu": False,
            "clocks": {"cpu": "CLOCK_PROCESS_CPUTIME_ID"},
            "psi": True,
        },
        "dataset": {
            "name": "flights.csv" if table else "companies.ndjson",
            "kind": kind,
            "source_format": "csv" if table else "ndjson",
            "rows": dims["rows"],
            "items": dims["items"],
            "bytes_memory": dims["bytes_memory"],
            "bytes_disk": 31_000_000,
            "columns": columns,
            "types": {"int": 9, "num": 4, "text": 5, "time": 1}
            if table
            else {"text": 900_000, "null": 400_000},
            "null_share": 0.007,
            "depth": 1 if table else 6,
            "shape": shape,
            "entropy_bits": 4.7,
            "partial": None if partial is None else {"rule": "first rows", "share": partial},
            "hash": digest,
            "sizes": {"1": {"hash": digest, **dims}},
            "sampling": "contiguous blocks of rows, spread over the data",
        },
        "codecs": {},
        "cases": [],
        "fidelity": {},
        "noise": {
            "aa": [],
            "floor": 0.004,
            "timer_floor_ns": 180,
            "contended_share": 0.03,
            "steal": 0.0,
            "psi_some": 0.03,
            "quiet": True,
            "rounds": 9,
            "launches": 5,
        },
    }


PROBES = {
    "columns/1": (
        "int64_null",
        "uint64",
        "float_nan_null",
        "minus_zero",
        "text_001",
        "empty_vs_null",
        "bytes",
        "timestamp_ns_zone",
        "decimal",
        "category",
        "list",
    ),
    "values/1": (
        "int_2_53_plus_1",
        "int_2_200",
        "nan",
        "minus_zero",
        "decimal_1_10",
        "lone_surrogate",
        "bytes",
        "datetime_zone",
        "tuple",
        "int_key",
        "depth_2000",
    ),
}


def _fidelity(kind: str, planted: tuple[Planted, ...], record: dict[str, Any]) -> dict[str, Any]:
    name = "columns/1" if kind == "table" else "values/1"
    cells: dict[str, Any] = {}
    for place, truth in enumerate(planted):
        if truth.status == "n/a":
            continue
        cells[truth.codec] = {}
        for i, probe in enumerate(PROBES[name]):
            order = (
                ("same", "type", "lossy", "refused", "hook", "n/a")
                if truth.changes
                else ("same", "same", "same", "type", "refused")
            )
            verdict = order[(i + place) % len(order)]
            cells[truth.codec][probe] = {
                "verdict": verdict,
                "in": {"$int": "9007199254740993"},
                "out": None
                if verdict in ("refused", "n/a")
                else {"$int": "9007199254740993" if verdict != "lossy" else "9007199254740992"},
                "bytes_hex": "cb4340000000000000",
                "hook": "option=1" if verdict == "hook" else None,
                "error": "ValueError: out of range" if verdict == "refused" else None,
                "repro": f'python -c "import tare; print(tare.decode(tare.encode(2**53+1, {truth.codec!r}), {truth.codec!r}))"',
            }
    own = {
        case["labels"]["codec"]: case["verify"]
        for case in record["cases"]
        if case["stage"] in ("weigh", "screen")
        and case["verify"]
        and "twin" not in case["labels"]
        and case["labels"]["codec"] != "copy"
    }
    return {"probes": {name: cells}, "own": own}
