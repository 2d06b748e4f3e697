"""Units and plans: one meaning, one key; what comes from outside is checked, line by line."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
from support.capabilities import ROOT

from tare.errors import Malformed, PlanError
from tare.scale.plan import make_plan, read_plan
from tare.scale.ranges import read_range
from tare.scale.room import Room
from tare.scale.unit import canonical, check_unit, unit_key

UNIT: dict[str, Any] = {
    "tare_unit": 1,
    "task": "convert",
    "input": [
        {"uri": "file:///data/a.ndjson", "size": 100, "mtime_ns": 5,
         "range": {"kind": "bytes", "start": 0, "end": 50}},
    ],
    "read": "json",
    "write": "parquet:pyarrow,compression=zstd,level=3",
    "output": {"base": "file:///out", "names": ["a/part-00001.parquet"]},
    "options": {"encoding": "latin-1", "tare": "0.1.0"},
    "needs": {"memory": 600, "threads": 1},
}  # fmt: skip


def test_keys_are_as_they_were() -> None:
    """The key is what a receipt is found by: a new version that changed it would do everything again."""
    for line in (ROOT / "vectors" / "scale" / "keys.jsonl").read_text(encoding="utf-8").splitlines():
        known = json.loads(line)
        assert unit_key(known["unit"]) == known["key"]


def test_the_order_of_fields_is_no_meaning() -> None:
    shuffled = dict(random.Random(1).sample(list(UNIT.items()), len(UNIT)))
    assert unit_key(shuffled) == unit_key(UNIT)
    assert canonical(shuffled) == canonical(UNIT)


def changed(path: str, value: Any) -> dict[str, Any]:
    unit = copy.deepcopy(UNIT)
    place: Any = unit
    *steps, last = path.split(".")
    for step in steps:
        place = place[int(step)] if isinstance(place, list) else place[step]
    place[int(last) if isinstance(place, list) else last] = value
    return unit


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("task", "encode"), ("input.0.uri", "file:///data/b.ndjson"), ("input.0.size", 101),
        ("input.0.mtime_ns", 6), ("input.0.range.end", 51), ("read", "csv"), ("write", "arrow"),
        ("output.names.0", "b.parquet"), ("options.encoding", "utf-8"), ("options.tare", "0.2.0"),
    ],
)  # fmt: skip
def test_what_is_meant_changes_the_key(path: str, value: Any) -> None:
    assert unit_key(changed(path, value)) != unit_key(UNIT)


@pytest.mark.parametrize(("path", "value"), [("needs.memory", 7), ("output.base", "file:///elsewhere")])
def test_where_it_runs_does_not(path: str, value: Any) -> None:
    assert unit_key(changed(path, value)) == unit_key(UNIT)


def test_the_time_of_an_input_that_is_known_by_its_hash_is_no_meaning() -> None:
    given = {**UNIT["input"][0], "hash": "00"}
    bare = {name: value for name, value in given.items() if name != "mtime_ns"}
    assert unit_key(changed("input.0", given)) == unit_key(changed("input.0", bare))
    assert unit_key(changed("input.0", {**given, "hash": "01"})) != unit_key(changed("input.0", bare))


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("tare_unit", 2, "reads 1"), ("task", "shell", "task: one of"), ("task", ["convert"], "a text is needed"),
        ("input.0.uri", "ftp://host/a", "file: and s3:"), ("input.0.uri", "s3://me:secret@bucket/a", "credentials"),
        ("input.0.uri", "file:///a\nb", "URI"), ("input.0.range.kind", "words", "range.kind"),
        ("input.0.range.start", 50, "start comes before end"), ("input.0.range.start", -1, "start comes before end"),
        ("output.names.0", "../a", "relative path"), ("output.names.0", "/etc/passwd", "relative path"),
        ("output.names.0", "a//b", "relative path"), ("output.names.0", ".tare/done/x", "relative path"),
        ("output.names.0", "", "relative path"), ("output.names.0", "a\\..\\b", "relative path"),
        ("options.level", 1.5, "whole numbers and texts"), ("options.level", None, "whole numbers and texts"),
        ("options.on", True, "whole numbers and texts"), ("shell", "rm -rf /", "no field 'shell'"),
        ("output.mode", "x", "no field 'mode'"), ("input.0.command", "x", "no field 'command'"),
        ("options.text", "x" * 70_000, "at most 65,536 bytes"),
    ],
)  # fmt: skip
def test_hostile_units_are_refused(path: str, value: Any, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        check_unit(changed(path, value))


def test_deep_units_are_refused() -> None:
    deep: Any = "x"
    for _ in range(40):
        deep = {"a": deep}
    with pytest.raises(PlanError, match="nested"):
        check_unit(changed("options.deep", deep))


def numbered(count: int) -> list[dict[str, Any]]:
    return [
        changed("output.names.0", f"{n}.parquet") | {"input": [{"uri": f"file:///{n}", "size": n}]}
        for n in range(count)
    ]


def test_a_plan_is_written_largest_first_and_read_lazily(tmp_path: Path) -> None:
    plan = make_plan(numbered(50), tmp_path / "p.jsonl", task="convert", base="file:///out", about="x")
    again = read_plan(tmp_path / "p.jsonl")
    sizes = [unit["input"][0]["size"] for unit in again.units()]
    assert (again.count, again.bytes_in, again.id) == (50, sum(range(50)), plan.id)
    assert sizes == sorted(sizes, reverse=True)
    same = make_plan(numbered(50), tmp_path / "q.jsonl", task="convert", base="file:///out", about="x")
    assert same.id == plan.id
    assert make_plan(numbered(49), tmp_path / "r.jsonl", task="convert", base="file:///out").id != plan.id


def test_two_outputs_of_one_name_are_refused(tmp_path: Path) -> None:
    units = [UNIT, changed("input.0.size", 7)]
    with pytest.raises(PlanError, match=r"two units write a/part-00001\.parquet"):
        make_plan(units, tmp_path / "p.jsonl", task="convert", base="file:///out")
    assert not (tmp_path / "p.jsonl").exists()


@pytest.mark.parametrize(
    ("line", "text", "said"),
    [
        (1, b"hello", "line 1: not a plan"), (1, b"[]", "line 1: not a plan"), (1, b"", "line 1: not a plan"),
        (1, b'{"tare_plan": 2}', "this version reads plan 1"),
        (1, b'{"tare_plan": 1, "id": "x", "task": "convert", "units": "3", "bytes": 1}', "units is missing"),
        (1, b'{"tare_plan": 1, "id": "../x", "task": "convert", "units": 3, "bytes": 1}', "an id has letters"),
        (3, b"{", "line 3: not JSON"), (3, b"[1]", "line 3: a unit is a JSON object"), (3, b'{"a": NaN}', "line 3"),
        (3, b"[" * 100_000, "line 3"), (3, b'"' + b"x" * 70_000 + b'"', "line 3: a unit has at most"),
        (3, b"\xff\xfe", "line 3: not JSON"),
    ],
)  # fmt: skip
def test_a_damaged_plan_names_its_line(tmp_path: Path, line: int, text: bytes, said: str) -> None:
    path = tmp_path / "p.jsonl"
    make_plan(numbered(5), path, task="convert", base="file:///out")
    lines = path.read_bytes().split(b"\n")
    lines[line - 1] = text
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(PlanError, match=said):
        list(read_plan(path).units())


def test_a_cut_plan_is_no_whole_one(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    make_plan(numbered(5), path, task="convert", base="file:///out")
    data = path.read_bytes()
    for end in range(len(data) - 1):
        path.write_bytes(data[:end])
        with pytest.raises(PlanError):
            list(read_plan(path).units())


def test_a_base_that_is_not_the_plans_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    make_plan(numbered(2), path, task="convert", base="file:///out")
    path.write_bytes(
        path.read_bytes().replace(b'"output":{"base":"file:///out"', b'"output":{"base":"file:///etc"')
    )
    with pytest.raises(PlanError, match=r"line 2: output\.base"):
        list(read_plan(path).units())


def test_memory_is_learned_upward() -> None:
    """By processes of large units; small ones are mostly the process itself."""
    mib = 1 << 20

    def unit(size: int, needs: int) -> dict[str, Any]:
        return {"input": [{"uri": "file:///a", "size": size}], "needs": {"memory": needs}}

    room = Room(1000 * mib)
    large, small = unit(64 * mib, 200 * mib), unit(32 * mib, 100 * mib)
    assert room.has_for(large, [large, large])
    room.learn(unit(mib, mib), {"peak_memory": 500 * mib})
    room.learn(large, {"peak_memory": 150 * mib})
    room.learn(large, {"status": "failed"})
    assert (room.need_of(large), room.need_of(small)) == (200 * mib, 100 * mib)
    room.learn(large, {"peak_memory": 400 * mib})
    assert (room.need_of(large), room.need_of(small)) == (400 * mib, 200 * mib)
    assert room.has_for(large, [large])
    assert not room.has_for(large, [large, small])
    assert Room(None).has_for(large, [large] * 1000)


@pytest.mark.parametrize("options", [{}, {"delimiter": ","}, {"schema": "x"}])
def test_a_part_of_a_text_without_a_schema_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(Malformed, match=r"options\.schema is no schema"):
        read_range("a.csv", {"kind": "bytes", "start": 0, "end": 9}, options, "a.csv")
