"""The document comparer against a naive one, and planted differences."""

from __future__ import annotations

import copy
import struct
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tare.fidelity.values import compare_values

bits = st.binary(min_size=8, max_size=8).map(lambda data: struct.unpack("<d", data)[0])
special = st.sampled_from(
    [0.0, -0.0, 1.0, 1, True, False, 0, "1", "", None, float("nan"), b"1", bytearray(b"1"), Decimal("1.0")]
)
scalars = (
    special | st.integers() | bits | st.text(max_size=4) | st.binary(max_size=4) | st.dates() | st.decimals()
)
keys = st.text(max_size=3) | st.integers(0, 3) | st.booleans()
documents = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(keys, inner, max_size=3)
    ),
    max_leaves=12,
)


def naive(a: Any, b: Any) -> bool:
    """Equality by the definition, recursive and slow."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return struct.pack("<d", a) == struct.pack("<d", b)
    if isinstance(a, Decimal):
        return str(a) == str(b)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(naive, a, b))
    if isinstance(a, dict):
        return len(a) == len(b) and all(
            naive(ka, kb) and naive(va, vb) for (ka, va), (kb, vb) in zip(a.items(), b.items(), strict=True)
        )
    return bool(a == b)


@given(documents, documents)
def test_same_exactly_when_the_naive_reference_says_equal(a: Any, b: Any) -> None:
    """For any two documents, and for a document and its copy."""
    assert naive(a, b) == (compare_values(a, b).verdict == "same")
    assert "same" == compare_values(a, copy.deepcopy(a)).verdict


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all scalars."""
    if isinstance(value, dict):
        return [place for key in value for place in places(value[key], (*path, key))]
    if isinstance(value, list):
        return [place for at, item in enumerate(value) for place in places(item, (*path, at))]
    return [path]


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy with another scalar at a path."""
    if not path:
        return new
    out = copy.copy(value)
    out[path[0]] = put(value[path[0]], path[1:], new)
    return out


nested = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=4)
        | st.dictionaries(st.text(max_size=3), inner, min_size=1, max_size=3)
    ),
    max_leaves=12,
)


@given(nested, st.data())
def test_a_planted_change_is_found_once(document: Any, data: st.DataObject) -> None:
    """Anywhere in a document: one change, counted once, with what was there before."""
    place = data.draw(st.sampled_from(places(document)))
    old = document
    for key in place:
        old = old[key]
    new = data.draw(scalars.filter(lambda value: not naive(old, value)))
    found = compare_values([document] * 3, [document, document, put(document, place, new)])
    assert 1 == sum(change.count for change in found.changes)
    assert found.changes[0].at.startswith("[2]")


@given(st.lists(nested, max_size=5), nested)
def test_every_type_change_can_be_undone_or_is_lossy(before: list[Any], other: Any) -> None:
    """The comparer never fails, and the verdict is the worst of the changes."""
    found = compare_values(before, other)
    verdicts = {change.verdict for change in found.changes}
    expected = "lossy" if "lossy" in verdicts else "type" if verdicts else "same"
    assert expected == found.verdict
    assert all(len(change.in_) <= 80 and len(change.out) <= 80 for change in found.changes)
