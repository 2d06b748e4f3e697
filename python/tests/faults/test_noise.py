"""With every core busy a run still knows what it knows: pairs, noise floor and contention are told."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tare import measure
from tare.measure.plan.plan import Plan

pytestmark = pytest.mark.alone

CODECS = ("json:stdlib", "json:orjson", "msgpack:msgspec", "pickle,protocol=2")
DOCUMENT = [
    {
        "id": n,
        "customer": {"name": f"name {n % 97}", "age": n % 70},
        "lines": [n / 7] * (n % 5),
        "paid": n % 3 > 0,
    }
    for n in range(4000)
]


@pytest.fixture
def busy() -> Iterator[None]:
    """A process for each core that does nothing but count."""
    load = [
        subprocess.Popen([sys.executable, "-c", "while True: sum(range(10000))"])
        for _ in range(os.cpu_count() or 2)
    ]
    yield
    for process in load:
        process.kill()
        process.wait()


def reduced(root: Path) -> Plan:
    """The noise plan with fewer libraries and rounds."""
    plan = Plan.read(root / "bench" / "plans" / "noise.toml").as_dict()
    plan["statistics"] |= {"launches": 3, "rounds": 5}
    return Plan.from_dict(plan).narrow(codecs=CODECS)


def test_a_busy_machine_is_told_and_the_base_equals_itself(root: Path, busy: None) -> None:
    """Every codec is measured; the base against itself is within a factor of three; load and floor are in the record."""
    result = measure.run(DOCUMENT, plan=reduced(root), time_s=25, base="json:orjson")
    record, derived = result.record, result.derived
    cases = [
        case for case in result.cases if not case["labels"].get("twin") and case["labels"]["codec"] != "copy"
    ]
    assert sorted(CODECS) == sorted(case["labels"]["codec"] for case in cases)
    assert {"ok"} == {case["status"] for case in cases}
    noise = derived["noise"]
    assert noise["aa"], "the base has a twin in every launch"
    assert 0 < noise["floor"] < math.inf
    for row in noise["aa"]:
        assert 0.3 < row["ratio"] < 3, (
            row
        )  # a shared machine is slower by a half at times; nonsense is far off
        assert row["lo"] <= row["ratio"] <= row["hi"]
    marks = [
        figure["contended"] for case in cases for figure in derived["cases"][case["key"]]["ops"].values()
    ]
    assert {bool} == {type(mark) for mark in marks}
    told = record["noise"]
    if told["psi_some"] is not None:
        assert told["psi_some"] > 0, "more runs than there are cores, so some task waited"
    ratios = {case["labels"]["codec"]: derived["cases"][case["key"]]["total"]["ratio"] for case in cases}
    # Several times faster on any machine: a load that hits longer calls harder must not turn it round.
    assert ratios["json:orjson"] < ratios["json:stdlib"]
