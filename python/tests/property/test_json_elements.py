"""Any lines of JSON become an array of the same values, and the array lines again, however the text is cut."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tare._tare import JsonArrayLines, json_elements

VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


def parsed(text: str | bytes) -> Any:
    """What Python's json reads, numbers by their digits."""
    return json.loads(text, parse_float=Decimal)


@given(
    values=st.lists(VALUES, min_size=1, max_size=8), ascii=st.booleans(), indent=st.sampled_from([None, 1]),
    size=st.integers(1, 40),
)  # fmt: skip
@settings(max_examples=300)
def test_values_are_the_same_both_ways(values: list[Any], ascii: bool, indent: int | None, size: int) -> None:
    array = json.dumps(values, ensure_ascii=ascii, indent=indent).encode()
    cutter = JsonArrayLines()
    lines = b"".join(cutter.pass_over(array[at : at + size]) for at in range(0, len(array), size))
    cutter.end()
    assert [parsed(line) for line in lines.split(b"\n")[:-1]] == parsed(array)
    text, count = json_elements(lines, b",")
    assert count == len(values)
    assert parsed(b"[" + text + b"]") == parsed(array)
    compact = json.dumps(values, ensure_ascii=ascii, separators=(",", ":")).encode()
    assert b"[" + text + b"]" == compact
