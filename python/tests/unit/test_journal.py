"""Journals: what is finished is kept, what was torn is dropped, and a resumed run knows which is which."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from support import synthetic_records

from tare.errors import RecordError
from tare.measure.records.journal import Journal, fold
from tare.measure.records.record import read_record
from tare.measure.records.resume import reusable, whole_launches


def journal_of(record: dict[str, Any], path: Path) -> Journal:
    """The journal that a run with this record would have written."""
    journal = Journal(path)
    journal.head(record)
    journal.close()
    return journal


def without_derived(record: dict[str, Any]) -> dict[str, Any]:
    """The record as a journal knows it."""
    return {name: value for name, value in record.items() if name not in ("derived", "interrupted")}


def test_fold_gives_the_record(tmp_path: Path) -> None:
    """A complete journal folds into a record equal to the run's own, and is gone then."""
    record = synthetic_records.synthetic_record(derived=False)
    journal = journal_of(record, tmp_path / "a.tare.jsonl")
    place = fold(journal.path, tmp_path / "a.tare.json")
    assert without_derived(record) == without_derived(read_record(place))
    assert not journal.path.exists()


def test_cut_at_every_byte_of_the_last_lines(tmp_path: Path) -> None:
    """Wherever a kill tears the journal, whole lines before it are read and nothing else."""
    record = synthetic_records.synthetic_record(launches=2, rounds=2, growth=False, derived=False)
    record["cases"] = record["cases"][:2]
    data = journal_of(record, tmp_path / "a.tare.jsonl").path.read_bytes()
    lines = data.count(b"\n")
    torn = tmp_path / "torn.tare.jsonl"
    head = data.index(b"\n") + 1
    for cut in [*range(head, len(data), 97), len(data)]:
        torn.write_bytes(data[:cut])
        found = Journal.read(torn)
        kept = sum(1 + len(case["launches"]) for case in found["cases"])
        assert data[:cut].count(b"\n") - 1 == kept <= lines - 1
    torn.write_bytes(data[: head - 1])
    with pytest.raises(RecordError, match="nothing was measured"):
        Journal.read(torn)


def test_appending_after_a_torn_line(tmp_path: Path) -> None:
    """A journal opened again loses its torn end first, so that no line is lost to it."""
    record = synthetic_records.synthetic_record(launches=1, rounds=2, growth=False, derived=False)
    first, second = record["cases"][:2]
    record["cases"] = [first]
    path = journal_of(record, tmp_path / "a.tare.jsonl").path
    path.write_bytes(path.read_bytes() + b'{"case":{"key":"torn')
    with Journal(path) as journal:
        journal.case(second)
        journal.launch(second["key"], {"n": 1, "samples": {}})
    assert [first["key"], second["key"]] == [case["key"] for case in Journal.read(path)["cases"]]


def test_case_written_again_keeps_its_launches_within_a_stage(tmp_path: Path) -> None:
    """A later line of a case updates it; a later stage begins it anew."""
    record = synthetic_records.synthetic_record(launches=2, rounds=2, growth=False, derived=False)
    case = record["cases"][0]
    record["cases"] = [case]
    path = journal_of(record, tmp_path / "a.tare.jsonl").path
    with Journal(path) as journal:
        journal.case({**case, "status": "error", "reason": "later"})
    again = Journal.read(path)["cases"][0]
    assert ("error", 2) == (again["status"], len(again["launches"]))
    with Journal(path) as journal:
        journal.case({**case, "stage": "growth"})
    assert 0 == len(Journal.read(path)["cases"][0]["launches"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"rubbish", "line 2: not JSON"),
        (b"[1]", "line 2: not a line of a journal"),
        (b'{"key":"nobody","launch":{"n":1}}', "line 2: a launch without a number, or of a case"),
        (b'{"stage":"cases","set":{}}', "line 2: cases cannot be set"),
    ],
)
def test_damage_before_the_end_is_told(line: bytes, message: str, tmp_path: Path) -> None:
    """A whole line that makes no sense is an error with its number."""
    record = synthetic_records.synthetic_record(derived=False)
    record["cases"] = []
    path = journal_of(record, tmp_path / "a.tare.jsonl").path
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(RecordError, match=message):
        Journal.read(path)


def test_unknown_lines_are_of_a_later_version(tmp_path: Path) -> None:
    """A line with fields that nobody knows does not hide the others."""
    record = synthetic_records.synthetic_record(derived=False)
    path = journal_of(record, tmp_path / "a.tare.jsonl").path
    path.write_bytes(path.read_bytes() + b'{"event":"new"}\n')
    assert len(record["cases"]) == len(Journal.read(path)["cases"])


def test_launch_cut_short_is_dropped_whole() -> None:
    """Where only some cases of a set have the last launch, none keeps it."""
    record = synthetic_records.synthetic_record(launches=3, growth=False, derived=False)
    record["interrupted"] = True
    weighed = [case for case in record["cases"] if case["stage"] == "weigh" and len(case["launches"]) == 3]
    weighed[0]["launches"] = weighed[0]["launches"][:2]
    medium = weighed[0]["labels"]["medium"]
    kept = [
        [launch["n"] for launch in case["launches"]]
        for case in whole_launches(record)
        if case["stage"] == "weigh" and case["labels"]["medium"] == medium and case["launches"]
    ]
    assert [[1, 2]] * len(kept) == kept
    assert len(kept) > 5


def test_finished_cases_are_used_again() -> None:
    """With the same machine, data, codecs and seed every finished case is used."""
    old = synthetic_records.synthetic_record(growth=False, derived=False)
    found = reusable(old, {**old, "cases": []})
    finished = [case["key"] for case in old["cases"] if case["status"] not in ("n/a", "pending")]
    assert sorted(finished) == sorted(found.cases)
    assert {"they could not be measured then"} == {reason for _, reason in found.redone}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda new: new["machine"].update(host="other"), "another machine: host"),
        (lambda new: new["dataset"].update(hash="other"), "the data are other data"),
        (lambda new: new.update(seed=99), "seed 1 is now 99"),
        (lambda new: new.update(method=2), "samples are taken by another method now"),
    ],
)
def test_nothing_is_used_again_when_the_run_differs(change: Any, reason: str) -> None:
    """Another machine, other data or another seed: everything is measured again, and it says why."""
    old = synthetic_records.synthetic_record(growth=False, derived=False)
    new = copy.deepcopy({**old, "cases": []})
    change(new)
    found = reusable(old, new)
    assert {} == found.cases
    assert len(old["cases"]) == len(found.redone)
    assert all(reason in why for _, why in found.redone)
    assert any(reason in line for line in found.lines())


def test_a_new_version_of_one_library_costs_its_cases_only() -> None:
    """The other codecs' cases are used again."""
    old = synthetic_records.synthetic_record(growth=False, derived=False)
    new = copy.deepcopy({**old, "cases": []})
    codec = "parquet:polars"
    new["codecs"][codec]["version"] = "9.9"
    found = reusable(old, new)
    redone = {reason for key, reason in found.redone if f"codec={codec}|" in key}
    assert {f"{codec} 1.2.3 is now 9.9"} == redone
    assert any("codec=csv:pyarrow|" in key for key in found.cases)
    assert not any(f"codec={codec}|" in key for key in found.cases)


def test_unfinished_cases_are_measured_again() -> None:
    """A case with fewer launches than wanted is redone, with the count."""
    old = synthetic_records.synthetic_record(launches=2, growth=False, derived=False)
    found = reusable(old, {**old, "cases": []}, launches=5)
    assert "2 of 5 launches were finished" in {reason for _, reason in found.redone}
