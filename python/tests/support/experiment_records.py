"""Records and figures as small as a test of an experiment's page needs them."""

from __future__ import annotations

import importlib
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from support.capabilities import ROOT

BENCH = ROOT / "bench"
FIGURES = {
    "heading": "", "operation": "encode", "unit": "x", "base": "json:stdlib", "rows": [],
}  # fmt: skip


def modules(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """The modules of the benchmarks that make the pages, by what they do."""
    monkeypatch.syspath_prepend(str(BENCH))
    names = ("figures", "table", "commits", "method", "reach", "curves", "page")
    return {name: importlib.import_module(f"experiment_pages.{name}") for name in names} | {
        "run": importlib.import_module("experiments")
    }


def record_of(*cases: tuple[str, float, str]) -> dict[str, Any]:
    """A record of encodes in memory: codec, nanoseconds, status."""
    listed, derived = [], {}
    for codec, t_ns, status in cases:
        labels = {"codec": codec, "dataset": "d", "medium": "memory", "size": "1"}
        listed.append({"key": codec, "labels": labels, "status": status, "reason": "why not"})
        times = {"t_ns": t_ns, "lo_ns": t_ns, "hi_ns": t_ns, "samples": 9, "launches": 5}
        derived[codec] = {"ops": {"encode": times}, "bytes": 1e6, "kept": "all"}
    return {"cases": listed, "derived": {"cases": derived, "growth": []}}


def growth_row(lo: float, hi: float, codec: str = "msgpack:msgpack", **more: Any) -> dict[str, Any]:
    """A row of growth whose prediction has these ends."""
    row = {"codec": codec, "medium": "memory", "delivery": "whole", "op": "total", "k": 1.0}
    row |= {"predicted_ns": lo, "predicted_lo_ns": lo, "predicted_hi_ns": hi, "measured": False}
    return row | {"points": [[0.1, 1, 1, 1.0]] * 4} | more


def record_of_sizes(*totals: tuple[str, str, float]) -> dict[str, Any]:
    """A record of totals in memory at sizes."""
    cases, derived = [], {}
    for codec, size, total in totals:
        labels = {"codec": codec, "dataset": "d", "medium": "memory", "size": size}
        key = f"{codec}{size}"
        cases.append({"key": key, "labels": labels, "status": "ok", "reason": "", "launches": [{}]})
        one = {"t_ns": total / 2, "samples": 1}
        ops = {"encode": one, "decode": one}
        derived[key] = {"ops": ops, "total": {"t_ns": total, "samples": 1}, "bytes": 1e6, "kept": "all"}
    return {"cases": cases, "derived": {"cases": derived, "growth": []}}


def result_of(*cases: tuple[str, float, str], floor: float = 0.01, **more: Any) -> SimpleNamespace:
    """What a page is made of, from such cases."""
    record = record_of(*cases)
    machine = {"cpu_model": "x", "cores": 2, "kernel": "k", "filesystem": "f"}
    record |= {"machine": machine, "elapsed_s": 1.0, "created": "2026-11-23T00:00:00Z", "tare": "0"}
    record |= {"plan": {"statistics": {"launches": 1, "rounds": 1}}, "codecs": {}, **more}
    derived = record.pop("derived") | {"noise": {"floor": floor, "quiet": floor < 0.05}}
    return SimpleNamespace(record=record, cases=record["cases"], derived=derived)
