"""Documents that JSON carries exactly, because they were read from it: their hash, and their parts as files."""

from __future__ import annotations

import gc
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tare
from tare import collector
from tare.datasets import documents, hashing
from tare.datasets.source import Source

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


@given(VALUES)
def test_the_hash_is_that_of_a_value_from_elsewhere(value):
    """Documents marked as plain hash to the same value without the check as with it."""
    source = Source("x.json", format="json")
    text = json.dumps(value).encode()
    found = documents.parse_whole(source, text)
    assert hashing.hash_document(found, plain=source.plain) == hashing.hash_document(found)
    lines = Source("x.ndjson", format="ndjson")
    rows = documents.parse_lines(lines, text + b"\n" + text)
    assert hashing.hash_document(rows, plain=lines.plain) == hashing.hash_document(rows)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (b'{"a": [1, 1.5, null, "x"]}', True),
        (b"[1.0, -0.0, 1e300]", True),
        (b"[NaN]", False),
        (b"[18446744073709551616]", False),
        (b'["\\ud800"]', False),
        (b"[" * 300 + b"]" * 300, True),
    ],
)
def test_what_only_the_standard_library_reads_is_not_plain(tmp_path, text, plain):
    """Its values are looked at; what is nested too deeply for JSON's writer is written as tagged values."""
    path = tmp_path / "x.json"
    path.write_bytes(text)
    data = tare.open_dataset(path)
    assert data.plain is plain
    assert data.hash() == hashing.hash_document(data.value)
    saved = data.save_part(tmp_path / "part")
    assert saved.hash == data.hash()
    assert saved.as_ == hashing.text_of(data.value)[0]


def test_parts_of_a_plain_document_are_plain(tmp_path):
    """A part holds nothing but what the whole does."""
    path = tmp_path / "x.ndjson"
    path.write_text("".join(f'{{"a": {n}}}\n' for n in range(100)))
    part = tare.open_dataset(path).subset(0.2)
    assert part.plain
    assert part.hash() == hashing.hash_document(part.value)
    assert not tare.open_dataset([{"a": 1}]).plain


def test_the_collector_is_as_it_was():
    """On if it was on, off if it was off, also where parsing fails."""
    assert gc.isenabled()
    with collector.paused():
        assert not gc.isenabled()
        with collector.paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(tare.errors.Truncated):
        documents.parse_whole(Source("x.json", format="json"), b"[")
    assert gc.isenabled()
