"""Long integers in text are found wherever they stand."""

from __future__ import annotations

import json
import re
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tare
from tare.datasets import numbers
from tare.datasets.documents import parse_json
from tare.errors import Malformed


@given(
    parts=st.lists(
        st.one_of(st.integers(1, 30).map(lambda n: b"7" * n), st.sampled_from([b",", b"x", b"."])),
        max_size=12,
    ),
    pad=st.integers(0, 40),
)
def test_agrees_with_a_regular_expression(parts, pad):
    """A run of nineteen digits is found if and only if there is one."""
    data = b" " * pad + b"".join(parts)
    assert (re.search(rb"\d{19}", data) is not None) == numbers.has_long_number(data)


def test_runs_across_blocks_are_found(monkeypatch):
    """A run over the edge of a block is seen, whatever the block."""
    monkeypatch.setattr(numbers, "_BLOCK_BYTES", 50)
    for at in range(120):
        for digits in (18, 19, 20):
            data = b"x" * at + b"1" * digits + b"x" * 60
            assert (digits >= 19) == numbers.has_long_number(data), (at, digits)


LARGE = [
    "1e400",
    "-1e309",
    "1.5E+0400",
    "2e308",
    "9" * 309 + ".0",
    "-" + "9" * 250 + "e99",
    "1" + "0" * 308 + "e1",
]


@pytest.mark.parametrize("number", LARGE)
@pytest.mark.parametrize("beside", ["1", "18446744073709551616", "NaN"])
def test_what_no_double_holds_is_refused(tmp_path: Path, number: str, beside: str) -> None:
    """By whatever reads the text: an infinity was never written there."""
    shown = number if len(number) <= 50 else f"{number[:47]}..."
    told = re.escape(shown) + f" is {'less' if number.startswith('-') else 'larger'} than any double"
    for name, text, where in (
        ("a.json", f'{{"x": [{beside}, {number}]}}', "json: "),
        ("a.ndjson", f'{{"x": 1.5}}\n{{"x": {number}, "y": {beside}}}\n', "ndjson: line 2: "),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(Malformed, match=where + told):
            tare.read(tmp_path / name)
        with pytest.raises(Malformed, match=told):
            tare.convert(tmp_path / name, tmp_path / "out.parquet")


@pytest.mark.parametrize("number", ["1e308", "-1.7e+0308", "1e-400", "9" * 309, "Infinity", "-Infinity"])
def test_what_a_double_or_an_integer_holds_is_read(number: str) -> None:
    for beside in ("1", "18446744073709551616", "NaN"):
        text = f'[{beside}, {number}, "3e123456"]'
        assert repr(parse_json(text.encode())) == repr(json.loads(text))


@given(
    st.text('0123456789eE+-. \n",[]', max_size=40),
    st.integers(0, 400),
    st.sampled_from(["1e400", "9" * 309]),
    st.text("e19 ", max_size=40),
)
def test_texts_that_may_have_one_are_found(before: str, space: int, number: str, after: str) -> None:
    """Wherever it stands, over the edge of a block too."""
    data = (before + " " * space + number + after).encode()
    with mock.patch.object(numbers, "_BLOCK_BYTES", 64):
        assert numbers.may_overflow(data)
    assert numbers.may_overflow(data)
