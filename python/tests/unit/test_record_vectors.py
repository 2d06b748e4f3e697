"""Records of versions 1 and 2 are read for ever, and what is not a record is refused by name."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from support import synthetic_records

from tare.errors import RecordError
from tare.measure.records.journal import Journal
from tare.measure.records.record import encode_record, parse_record, read_record
from tare.measure.records.schema import SCHEMA, check
from tare.measure.result import Result

ERRORS = (
    "cols", "deep", "empty", "label", "list", "negative", "newer-3", "nocases", "other", "samples", "status", "true",
    "truncated", "version_text",
)  # fmt: skip


def test_golden_record_is_read_with_its_samples(root: Path) -> None:
    """Version 1, as the first release wrote it, gives its cases, samples and statuses."""
    result = Result.load(root / "vectors/record/v1-small.tare.json")
    assert ["ok", "ok", "ok", "ok", "timeout"] == [case["status"] for case in result.cases]
    rows = result.samples("json:orjson")
    assert 2 * 2 * 3 == len(rows)
    assert 260010 + 125 == rows[0]["per_call_ns"]
    assert "json:orjson" == str(result.best.codec)


def test_compressed_golden_record_is_the_same(root: Path) -> None:
    """The compressed form holds the same record."""
    folder = root / "vectors/record"
    assert read_record(folder / "v1-small.tare.json") == read_record(folder / "v1-small.tare.json.zst")


def test_golden_journal_without_its_torn_line(root: Path) -> None:
    """A journal cut in its last line gives all that came before, and says it was interrupted."""
    record = Journal.read(root / "vectors/record/v1-cut.tare.jsonl")
    whole = read_record(root / "vectors/record/v1-small.tare.json")
    assert record["interrupted"] is True
    assert [case["key"] for case in whole["cases"]] == [case["key"] for case in record["cases"]]
    assert [2, 2, 2, 1, 0] == [len(case["launches"]) for case in record["cases"]]
    assert whole["fidelity"] == record["fidelity"]


def test_golden_record_of_version_2(root: Path) -> None:
    """One process for each library: a case has one launch, and its figure is the least of its samples."""
    result = Result.load(root / "vectors/record/v2-small.tare.json")
    case = next(case for case in result.cases if case["labels"]["codec"] == "json:orjson")
    [launch] = case["launches"]
    columns = launch["samples"]["encode"]
    least = min(wall / batch for wall, batch in zip(columns["wall_ns"], columns["batch"], strict=True))
    figure = result.derived["cases"][case["key"]]["ops"]["encode"]
    assert figure["method"] == "least"
    assert figure["t_ns"] <= least
    assert result.recommend("message").detail["confidence"] in ("clear", "close", "can't tell")


@pytest.mark.parametrize("name", ERRORS)
def test_refusals_name_file_and_place(name: str, root: Path) -> None:
    """Each damaged record is refused with the message that was frozen with it."""
    folder = root / "vectors/record/errors"
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    with pytest.raises(RecordError) as caught:
        read_record(folder / f"{name}.json")
    assert expected[f"{name}.json"] == str(caught.value)


def test_schema_file_is_the_table_printed(root: Path) -> None:
    """docs/specs/record.schema.json is what the reader checks by."""
    assert SCHEMA == json.loads((root / "docs/specs/record.schema.json").read_text("utf-8"))


@pytest.mark.parametrize("kind", ["table", "document"])
def test_records_satisfy_the_schema_by_a_full_validator(kind: str, root: Path) -> None:
    """A simulated record, with everything derived, and the golden one are valid by the jsonschema library."""
    validator = jsonschema.Draft202012Validator(SCHEMA)
    simulated = json.loads(encode_record(synthetic_records.synthetic_record(kind)))
    golden = read_record(root / "vectors/record/v1-small.tare.json")
    for record in (simulated, golden):
        assert [] == list(validator.iter_errors(record))
        check(record)


@pytest.mark.parametrize("name", ["cols", "label", "negative", "nocases", "samples", "status"])
def test_reader_and_validator_agree_on_refusals(name: str, root: Path) -> None:
    """What the reader refuses for its shape the library refuses too; only the lengths of columns are beyond it."""
    record = json.loads((root / f"vectors/record/errors/{name}.json").read_text("utf-8"))
    valid = jsonschema.Draft202012Validator(SCHEMA).is_valid(record)
    assert (name == "cols") == valid


def test_a_record_from_elsewhere_is_data() -> None:
    """Markup, control characters and paths in a record stay text."""
    nasty = "</script><b>\x1b[31m\u202e../../etc/passwd"
    record = synthetic_records.synthetic_record(derived=False)
    record["dataset"]["name"] = nasty
    record["cases"][0]["reason"] = nasty
    back = parse_record(encode_record(record))
    assert nasty == back["dataset"]["name"]
