"""docs/specs/plan.md has the fields that real plans, receipts, intents, manifests and events have, and its examples are true."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tare import scale
from tare.scale import unit as units
from tare.scale.plan import make_plan, read_plan
from tare.scale.state import State
from tare.scale.unit import canonical, check_unit, unit_key

CSV_AND_MORE = {"delimiter", "decimal", "header", "compressor", "busy"}
"""Options that tasks read and of which no type is checked."""

_CELLS = r"(?:\\\||[^|\n])*"
_ROW = re.compile(rf"^\|({_CELLS})\|({_CELLS})\|", re.MULTILINE)


@pytest.fixture
def spec(root: Path) -> str:
    return (root / "docs/specs/plan.md").read_text(encoding="utf-8")


def table(spec: str, heading: str, first: str = "Field") -> dict[str, str]:
    """The names in the first column of a table under a heading, with the text of the second."""
    begins = re.search(rf"^#+ {re.escape(heading)}$", spec, re.MULTILINE)
    assert begins, heading
    under = re.split(r"^#+ ", spec[begins.end() :], maxsplit=1, flags=re.MULTILINE)[0]
    _, found, rest = under.partition(f"\n| {first} |")
    assert found, first
    rows = _ROW.findall(rest.split("\n\n")[0].split("\n", 1)[1])
    return {name: second for names, second in rows for name in re.findall(r"`([\w.]+)`", names)}


def example(spec: str, heading: str) -> list[Any]:
    """The values of the blocks of JSON under a heading."""
    begins = re.search(rf"^#+ {re.escape(heading)}$", spec, re.MULTILINE)
    assert begins, heading
    under = re.split(r"^#+ ", spec[begins.end() :], maxsplit=1, flags=re.MULTILINE)[0]
    blocks = re.findall(r"^```json\n(.*?)^```$", under, re.MULTILINE | re.DOTALL)
    decoder, found = json.JSONDecoder(), []
    for block in blocks:
        rest = block.strip()
        while rest:
            value, end = decoder.raw_decode(rest)
            found.append(value)
            rest = rest[end:].strip()
    return found


def of_receipt(spec: str, *kinds: str) -> set[str]:
    """The fields of a receipt of some kind."""
    rows = table(spec, "A receipt")
    return {name for name, said in rows.items() if {"all", *kinds} & {one.strip() for one in said.split(",")}}


def lines(count: int, name: Path) -> None:
    rows = (json.dumps({"id": n, "delay": n / 4 if n % 2 else 1}) for n in range(count))
    name.write_text("".join(f"{row}\n" for row in rows))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    lines(200, folder / "good.ndjson")
    (folder / "bad.ndjson").write_text('{"id": 1, "del')
    return folder


def receipts(plan: scale.Plan) -> list[dict[str, Any]]:
    return list(State.of(plan).receipts())


def test_a_conversion(spec: str, logs: Path, tmp_path: Path) -> None:
    """Head, units, inputs, receipts, failures, events and the manifest have the fields of the tables, and no other."""
    events: list[dict[str, Any]] = []
    plan = scale.plan_convert(logs, tmp_path / "out", to="parquet")
    scale.run(plan, executor="inline", on_event=events.append)
    assert set(plan.head) == set(table(spec, "The head"))
    for one in plan.units():
        assert set(one) == set(table(spec, "A unit"))
        assert set(one["options"]) <= set(table(spec, "Options", "Option"))
    (done,) = receipts(plan)
    assert set(done) == of_receipt(spec, "done", "convert")
    assert {name for one in done["fidelity"] for name in one} <= set(
        table(spec, "A receipt", "In `fidelity`")
    )
    state = State.of(plan)
    (failed,) = (state.failure(key) for key in state.failed())
    assert failed is not None
    assert set(failed) == of_receipt(spec, "failed")
    assert set(failed["error"]) | {"count", "also"} == set(table(spec, "A receipt", "In `error`"))
    said = told_of_events(spec)
    for event in events:
        if event["event"] != "finished":
            assert set(event) - {"event"} == said[event["event"]]
    assert {"planned", "unit_failed", "finished"} <= {event["event"] for event in events}
    assert set(events[-1]) - {"event"} == set(table(spec, "Events", "In `finished`"))

    (logs / "bad.ndjson").unlink()
    plan = scale.plan_convert(logs, tmp_path / "out", to="parquet")
    scale.run(plan, executor="inline")
    manifest = json.loads((tmp_path / "out/.tare/manifest.json").read_text())
    assert set(manifest) == set(table(spec, "The manifest"))
    assert [set(one) for one in manifest["outputs"]] == [{"name", "size", "hash"}]


def told_of_events(spec: str) -> dict[str, set[str]]:
    """The fields of each event but the last."""
    found: dict[str, set[str]] = {}
    for name, said in table(spec, "Events", "`event`").items():
        fields = set(re.findall(r"`(\w+)`", said))
        found[name] = found["unit_done"] | fields if said.strip().startswith("the same") else fields
    return found


def test_events_of_the_program(spec: str, root: Path) -> None:
    """Every event that the program has is told, and no other."""
    texts = [path.read_text(encoding="utf-8") for path in (root / "python/tare/scale").glob("*.py")]
    found = {
        name
        for text in texts
        for line in re.findall(r'"event": (.*)', text)
        for name in re.findall(r'^"(\w+)"', line) + re.findall(r'^"\w+" if \w+ else "(\w+)"', line)
    }
    assert found == set(told_of_events(spec))


def test_parts_and_what_a_dead_attempt_leaves(
    spec: str, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A range, and the intent of an attempt that ended behind it."""
    (logs / "bad.ndjson").unlink()
    plan = scale.plan_convert(logs, tmp_path / "out", to="parquet", split="2KiB")
    parts = [one["input"][0]["range"] for one in plan.units()]
    assert len(parts) > 1
    assert {name for one in parts for name in one} == {"kind", "start", "end"}
    assert {"kind", "start", "end", "bytes"} == set(table(spec, "An input", "In `range`"))
    monkeypatch.setattr(State, "drop_intent", lambda self, key: None)
    monkeypatch.setattr(State, "drop_intents", lambda self, keys: None)
    scale.run(plan, executor="inline")
    state = State.of(plan)
    for key in state.intents():
        intent = state.intent(key)
        assert intent is not None
        assert set(intent) == set(table(spec, "An intent"))
    assert len(state.intents()) == plan.count


def test_other_tasks(spec: str, logs: Path, tmp_path: Path) -> None:
    """Receipts of collections and of what is put, and folders and files of the state."""
    (logs / "bad.ndjson").unlink()
    plan = scale.plan_encode(logs, tmp_path / "encoded")
    scale.run(plan, executor="inline")
    assert [set(one) for one in receipts(plan)] == [of_receipt(spec, "done")]
    put = scale.plan_put(logs, str(tmp_path / "store"), tmp_path / "put.jsonl", values=True)
    scale.run(put, executor="inline")
    assert [set(one) for one in receipts(put)] == [of_receipt(spec, "done", "put")]
    measure = scale.plan_measure(logs, tmp_path / "records", seconds=2)
    options = set(table(spec, "Options", "Option"))
    for each in (plan, put, measure):
        for one in each.units():
            assert set(one) <= set(table(spec, "A unit"))
            assert set(one["options"]) <= options
    told = set(re.findall(r"`\.tare/([\w]+)", spec[spec.index("## The folder") :]))
    there = {path.name.partition(".")[0] for path in (tmp_path / "encoded/.tare").iterdir()}
    there |= {path.name for path in (tmp_path / "put.jsonl.state").iterdir()}
    assert there <= told


def test_what_is_checked(spec: str) -> None:
    """The tables of units, inputs and options are what the reader of plans goes by."""
    assert set(units._FIELDS) == set(table(spec, "A unit"))
    assert set(units._INPUT) == set(table(spec, "An input"))
    assert set(units._OPTIONS) | CSV_AND_MORE == set(table(spec, "Options", "Option"))
    kinds = {"text": str, "integer": int, "list": list}
    for name, kind in table(spec, "Options", "Option").items():
        assert units._OPTIONS.get(name, kinds[kind.strip()]) is kinds[kind.strip()]
    for kind in units.RANGES:
        assert f"`{kind}`" in spec
    for said in (units.MAX_BYTES, 10_000_000):
        assert f"{said:,}" in spec


def test_the_examples_are_true(spec: str, tmp_path: Path) -> None:
    """The plan is read, its id and its key are as said, the texts are canonical, and each has the fields of its table."""
    (head,) = example(spec, "The head")
    (one,) = example(spec, "A unit")
    done, failed = example(spec, "A receipt")
    path = tmp_path / "plan.jsonl"
    path.write_bytes(canonical(head) + b"\n" + canonical(one) + b"\n")
    assert [one] == list(read_plan(path).units())
    made = make_plan(
        [one], tmp_path / "again.jsonl", task=head["task"], base=head["base"], about=head["about"]
    )
    assert {**head, "tare": ""} == {**made.head, "tare": ""}
    assert done["key"] == unit_key(one)
    assert failed["key"] == unit_key(check_unit(failed["unit"]))
    for value in (head, one, done, failed, *example(spec, "An intent")):
        assert canonical(value).decode() in spec
    (manifest,) = example(spec, "The manifest")
    assert manifest["plan"] == head["id"]
    assert set(done) == of_receipt(spec, "done", "convert")
    assert set(failed) == of_receipt(spec, "failed")
    said = told_of_events(spec)
    for event in example(spec, "Events")[:-1]:
        assert set(event) - {"event"} == said[event["event"]]
