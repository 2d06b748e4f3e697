"""Records and journals survive anything a disk or a stranger may do to them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import synthetic_records

from tare.errors import RecordError
from tare.measure.records.journal import Journal, parse_journal
from tare.measure.records.record import encode_record, parse_record


@lru_cache
def small() -> bytes:
    """A small record as bytes."""
    record = synthetic_records.synthetic_record(launches=1, rounds=2, growth=False, derived=False)
    record["cases"] = record["cases"][:3]
    return encode_record(record)


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_flipped_and_cut_records_are_records_or_errors(data: st.DataObject) -> None:
    """A changed byte or a lost end gives a record or a RecordError, never anything else."""
    raw = bytearray(small())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(raw)))
    message = ""
    try:
        assert 1 == parse_record(bytes(raw[:cut]))["tare_record"]
    except RecordError as error:
        message = str(error)
    assert len(message) < 2000


def test_every_prefix_of_a_record_is_refused() -> None:
    """No part of a record passes for the whole."""
    raw = small().rstrip()
    for cut in range(0, len(raw), 41):
        with pytest.raises(RecordError):
            parse_record(raw[:cut])


@given(st.binary(max_size=300))
@settings(deadline=None)
def test_garbage_is_a_record_error(raw: bytes) -> None:
    """Bytes that nobody wrote are refused by both readers."""
    for read in (parse_record, parse_journal):
        try:
            read(raw)
        except RecordError:
            continue
        raise AssertionError("garbage was read")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)


@given(
    st.dictionaries(
        st.text(max_size=8).filter(lambda name: name not in ("cases", "derived")), VALUES, max_size=4
    )
)
@settings(max_examples=60, deadline=None)
def test_additive_fields_are_kept(more: dict[str, Any]) -> None:
    """Fields that this version does not know come back as they were."""
    record = parse_record(small())
    extra = {name: value for name, value in more.items() if name not in record}
    assert {**record, **extra} == parse_record(encode_record({**record, **extra}))


@given(cut=st.integers(0, 100_000))
@settings(max_examples=50, deadline=None)
def test_a_journal_cut_anywhere_gives_its_whole_lines(
    cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Every prefix of a journal is the run so far, or nothing at all."""
    raw = _journal(tmp_path_factory.getbasetemp())
    cut = min(cut, len(raw))
    whole = raw[:cut].count(b"\n")
    if whole == 0:
        with pytest.raises(RecordError):
            parse_journal(raw[:cut])
        return
    record = parse_journal(raw[:cut])
    assert whole - 1 == sum(1 + len(case["launches"]) for case in record["cases"])


@lru_cache
def _journal(folder: Path) -> bytes:
    record = parse_record(small())
    with Journal(folder / "property.tare.jsonl") as journal:
        journal.head(record)
    return journal.path.read_bytes()
