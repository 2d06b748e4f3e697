"""Records that somebody forged: whatever a part of one is, each renderer shows it or refuses it in words."""

from __future__ import annotations

import contextlib
import json
import random
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from support.synthetic_records import DOCUMENT, TABLE, synthetic_record

from tare.errors import RecordError
from tare.measure.records.record import encode_record, parse_record
from tare.measure.result import Result
from tare.report import csv, html, markdown, terminal
from tare.report import json as report_json

RENDERERS: dict[str, Callable[[Any], str]] = {
    "terminal": terminal.render,
    "details": partial(terminal.render, verbose=True, every=True),
    "markdown": markdown.render,
    "csv": csv.render,
    "json": report_json.render,
    "html": html.render,
    "cell": html.fragment,
}
OTHERS: list[Any] = [
    None, True, False, 0, -1, 1e308, 5e-324, 1 << 70, "", "x", "9" * 30, [], {}, [[]], [None], [1], ["x"], [{}],
    {"x": None}, {"x": {}}, {"codec": []}, {"text": {}},
]  # fmt: skip


@pytest.fixture(scope="module", params=["table", "document"])
def record(request: pytest.FixtureRequest) -> dict[str, Any]:
    """A record as `tare measure` writes them."""
    planted = (TABLE if request.param == "table" else DOCUMENT)[:4]
    made = synthetic_record(request.param, planted=planted, media=("memory",), launches=2, rounds=3)
    made["fidelity"] = {
        "probes": {"base": {"json:orjson": {"nan": {"verdict": "lossy", "note": "x"}}}},
        "own": {"json:orjson": {"verdict": "lossy", "changes": [{"path": "a", "verdict": "lossy", "count": 2}]}},
        "exchange": {"json": {
            "codecs": ["json:orjson"], "own_share": 1.0, "set": "base",
            "pairs": {"json:orjson": {"json:orjson": {
                "counts": {"same": 3, "changed": 1},
                "values": {"nan": {"outcome": "changed", "verdict": "lossy", "in": "NaN", "out": "null"}},
            }}},
        }},
    }  # fmt: skip
    return parse_record(encode_record(made))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every part, but for raw samples, which are many and alike."""
    if path:
        yield path
    if "samples" in path:
        return
    if isinstance(value, dict):
        for name, part in value.items():
            yield from places(part, (*path, name))
    elif isinstance(value, list):
        for place, part in enumerate(value[:2]):
            yield from places(part, (*path, place))


def put(record: dict[str, Any], path: tuple[Any, ...], value: Any) -> None:
    """Replace a part; one that was replaced with its whole stays gone."""
    node: Any = record
    with contextlib.suppress(KeyError, IndexError, TypeError):
        for step in path[:-1]:
            node = node[step]
        node[path[-1]] = value


def shown(record: dict[str, Any]) -> None:
    """Show a record in every way, or have it refused."""
    with contextlib.suppress(RecordError):
        read = parse_record(json.dumps(record).encode())
        for render in RENDERERS.values():
            with contextlib.suppress(RecordError):
                assert render(Result(json.loads(json.dumps(read))))


@pytest.mark.parametrize("derived", [True, False])
def test_any_part_may_be_anything(record: dict[str, Any], derived: bool) -> None:
    """Figures and verdicts above all: what is computed from samples is believed as it stands in the file."""
    choose = random.Random(derived)
    found = [path for path in places(record) if (path[0] == "derived") == derived]
    assert len(found) > 100
    for _ in range(50):
        forged = json.loads(json.dumps(record))
        for _ in range(choose.randint(1, 3)):
            put(forged, choose.choice(found), choose.choice(OTHERS))
        shown(forged)


def test_lists_of_a_verdict_are_lists(record: dict[str, Any]) -> None:
    """What failed: each list of a verdict as each other thing."""
    name = record["derived"]["headline_profile"]
    for field in ("reasons", "flips", "excluded", "cost_s", "figures", "chosen", "source", "why", "rivals"):
        for value in (1, [1], {"x": "y"}):
            forged = json.loads(json.dumps(record))
            forged["derived"]["profiles"][name][field] = value
            forged["derived"]["headline"][field] = value
            shown(forged)


HOSTILE = "<script>alert(1)</script>|\u202e`[a](http://x)"


def test_no_text_of_a_record_is_markup(record: dict[str, Any]) -> None:
    """Each text of a record alone: no tag, no cell more, no turned direction."""
    # One of each kind: cases and codecs are alike.
    texts = {path[-3:]: path for path in places(record) if isinstance(at(record, path), str)}.values()
    assert len(texts) > 60
    plain = markdown.render(Result(json.loads(json.dumps(record))))
    cells = {line.count("|") for line in re.sub(r"\\\|", "", plain).splitlines() if line.startswith("|")}
    for path in texts:
        forged = json.loads(json.dumps(record))
        put(forged, path, HOSTILE)
        if path[-1] in ("status", "stage", "kind", "key"):
            continue  # a text that the schema chooses, or by which parts find each other
        with contextlib.suppress(RecordError):
            page = markdown.render(Result(parse_record(json.dumps(forged).encode())))
            outside = re.sub(r"(`+)(?!`).*?\1", "", page)  # what is code is shown as it is
            assert "<script>" not in outside, path
            assert "\u202e" not in page, path
            there = {
                line.count("|") for line in re.sub(r"\\\|", "", page).splitlines() if line.startswith("|")
            }
            assert there <= cells, path


def at(record: Any, path: tuple[Any, ...]) -> Any:
    """Return a part."""
    for step in path:
        record = record[step]
    return record
