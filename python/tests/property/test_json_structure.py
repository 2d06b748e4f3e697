"""The structure scan of JSON text against a naive twin, and the cut of a prefix."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from tare.datasets import jsonscan

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**6), 10**6), st.floats(allow_nan=False, allow_infinity=False),
    st.text(alphabet='ab"\\{}[],: \u00e9\U0001f600', max_size=8),
)  # fmt: skip
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5), st.dictionaries(st.text(alphabet='k"\\', max_size=3), inner, max_size=4)
    ),
    max_leaves=25,
)


def naive(value: object) -> tuple[int, int, int]:
    """Depth, number of keys, number of scalars."""
    if isinstance(value, dict):
        inner = [naive(child) for child in value.values()]
        keys = len(value)
    elif isinstance(value, list):
        inner, keys = [naive(child) for child in value], 0
    else:
        return 0, 0, 1
    return (
        1 + max((d for d, _, _ in inner), default=0),
        keys + sum(k for _, k, _ in inner),
        sum(v for _, _, v in inner),
    )


@settings(max_examples=150)
@given(value=DOCUMENTS, indent=st.sampled_from([None, 1]), ascii_=st.booleans(), step=st.integers(1, 40))
def test_a_scan_in_any_blocks_finds_what_a_parser_finds(value, indent, ascii_, step):
    """Depth, keys and values agree with the parsed document; every byte is counted once."""
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_).encode()
    found = jsonscan.scan(text[k : k + step] for k in range(0, len(text), step))
    depth, keys, values = naive(value)
    assert (depth, keys, values) == (found.depth, found.key_count, found.values)
    assert (0, False) == (found.open_levels, found.in_string)
    parts = (found.strings, found.keys, found.numbers, found.words, found.structure, found.space)
    assert len(text) == sum(parts) == found.length


@settings(max_examples=150)
@given(value=DOCUMENTS, share=st.floats(0, 1))
def test_a_cut_prefix_parses_and_agrees(value, share):
    """What is left of a prefix is JSON and the beginning of the whole."""
    text = json.dumps(value).encode()
    whole, used = jsonscan.cut(text[: int(len(text) * share)])
    assert used <= len(text)
    if used:
        json.loads(whole)
        assert text.startswith(whole[:used])


@settings(max_examples=80)
@given(value=DOCUMENTS, share=st.floats(0, 1))
def test_an_open_end_is_seen(value, share):
    """A text that is cut inside an array, an object or a string is seen to be open."""
    text = json.dumps([value]).encode()
    end = int(len(text) * share)
    found = jsonscan.scan(text[:end])
    assert (0 < end < len(text)) == (found.open_levels > 0)


def test_depth_over_a_limit_has_its_offset():
    """The first bracket that goes too deep is found, across blocks."""
    found = jsonscan.scan([b"[" * 600, b"[" * 600], max_depth=1000)
    assert (1200, 1000) == (found.depth, found.too_deep_at)
