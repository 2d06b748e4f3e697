"""What the core counts in JSON text is what another pass over it finds, in whatever pieces it comes."""

from __future__ import annotations

import dataclasses
import itertools
import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from tare._tare import JsonStructure
from tare.datasets import jsonscan

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def passed(pieces: list[bytes]) -> dict[str, int]:
    found = JsonStructure()
    for piece in pieces:
        found.pass_over(piece)
    return dict(found.counts())


@given(
    st.lists(VALUES, max_size=4),
    st.sampled_from([None, 1]),
    st.booleans(),
    st.lists(st.integers(0, 400), max_size=5),
    st.integers(0, 400),
)
@example([{'"\\': "\\\\"}], None, True, [3, 4, 5, 6, 7, 8, 9], 400)
def test_counts(values: list[Any], indent: int | None, plain: bool, cuts: list[int], length: int) -> None:
    text = "\n".join(json.dumps(value, indent=indent, ensure_ascii=plain) for value in values).encode()[
        :length
    ]
    ends = [0, *sorted(cuts), len(text)]
    counts = passed([text[start:end] for start, end in itertools.pairwise(ends)])
    expected = dataclasses.asdict(jsonscan.scan(text))
    assert expected.pop("too_deep_at") is None
    *lines, last = text.split(b"\n")
    assert counts.pop("lines") == sum(1 for line in lines if line.strip())
    assert counts.pop("in_line") == bool(last.strip())
    assert counts == expected
