"""A foreign record is data: whatever its numbers are, deriving from it ends with figures or one clear error."""

from __future__ import annotations

import copy
import json
from random import Random

import pytest
from support.planted_codecs import Planted
from support.soak import scaled
from support.synthetic_records import synthetic_record

from tare.errors import TareError
from tare.measure.derive import derive

PAIR = (
    Planted("parquet:pyarrow", 40, 30, 0.2),
    Planted("a:a", 20, 10, 0.5),
    Planted("b:b", 20, 10, 0.5, "lossy", "changed", (("x", "lossy", 1),)),
)
ODD = (0, 1, -1, -(10**9), 2**31, 2**53, 2**63, 10**300, 0.5, 1e-300)


@pytest.fixture(scope="module")
def record():
    return synthetic_record(
        "table", planted=PAIR, media=("memory", "file"), launches=5, rounds=3, derived=False
    )


def numbers(value, path=()):
    """Where the numbers of a record are."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from numbers(item, (*path, name))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from numbers(item, (*path, place))
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path


@pytest.mark.parametrize("seed", range(scaled(12, 30)))
def test_odd_numbers_never_crash(record, seed):
    """Zero, negative and huge counts, sizes and times, some here, some everywhere in a column."""
    random = Random(seed)
    changed = copy.deepcopy(record)
    places = [path for path in numbers(changed) if path[0] in ("cases", "noise", "dataset", "seed")]
    for path in random.sample(places, random.randint(1, 8)):
        parent = changed
        for step in path[:-1]:
            parent = parent[step]
        value = random.choice(ODD)
        if isinstance(parent, list) and random.random() < 0.5:
            parent[:] = [value] * len(parent)
        else:
            parent[path[-1]] = value
    try:
        json.dumps(derive(changed), allow_nan=False)
    except TareError:
        pass


@pytest.mark.parametrize("seed", range(scaled(8, 15)))
def test_missing_parts_never_crash(record, seed):
    """A record under way or by another program lacks optional fields, launches and whole blocks."""
    random = Random(seed)
    changed = copy.deepcopy(record)
    optional = (
        "reason",
        "note",
        "bytes",
        "sha256",
        "items",
        "raw_bytes",
        "verify",
        "cold",
        "memory",
        "stage",
    )
    for case in changed["cases"]:
        for name in random.sample(optional, random.randint(0, 3)):
            case.pop(name)
        case["launches"] = case["launches"][: random.randint(0, 5)]
    for name in random.sample(("noise", "fidelity", "codecs", "machine", "plan"), random.randint(0, 3)):
        changed.pop(name)
    json.dumps(derive(changed), allow_nan=False)
