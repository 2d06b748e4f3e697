"""Documents beside Python's own json: the same texts are taken, with the same values."""

from __future__ import annotations

import json
import math
import struct
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from tare import blit
from tare.errors import TareError

floats = st.floats(allow_nan=False, allow_infinity=False)
near = st.integers(-(2**53) - 2, 2**53 + 2) | st.integers(-(2**64), 2**65) | st.integers(-40, 100)
scalars = st.none() | st.booleans() | near | floats | st.text(max_size=12)
names = st.sampled_from(["a", "b", "id", "x", "\u00e9", ""]) | st.text(max_size=4)


def rows(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Lists whose elements are alike, which become columns."""
    row = st.fixed_dictionaries({"id": near}, optional={"a": children, "b": floats, "x": scalars})
    return st.lists(row, max_size=20) | st.lists(st.none() | floats | near, max_size=20)


trees = st.recursive(
    scalars,
    lambda children: (
        st.lists(children, max_size=20) | st.dictionaries(names, children, max_size=8) | rows(children)
    ),
    max_leaves=60,
)


def exact(value: Any) -> Any:
    """The same for values of the same types and bits only, in the same order."""
    if isinstance(value, float):
        return ("float", struct.pack("<d", value))
    if isinstance(value, list):
        return [exact(item) for item in value]
    if isinstance(value, dict):
        return [(name, exact(item)) for name, item in value.items()]
    return (type(value).__name__, value)


@given(trees, st.booleans())
def test_texts_and_objects_give_what_json_gives(tree: Any, ascii_only: bool) -> None:
    text = json.dumps(tree, ensure_ascii=ascii_only)
    document = blit.from_json(text)
    view = blit.view(document)
    view.validate()
    expected = json.loads(text)
    assert exact(expected) == exact(view.to_python())
    assert exact(expected) == exact(json.loads(view.to_json()))
    if not any(isinstance(item, float) and not math.isfinite(item) for item in leaves(tree)):
        assert document == blit.encode(tree)
    lexical = json.loads(view.to_json("lexical"))
    assert json.dumps(lexical) == json.dumps(by_name(expected))


def leaves(value: Any) -> list[Any]:
    """All values that hold no others."""
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, list) else [value]


def by_name(value: Any) -> Any:
    """The same with names in the order of their UTF-8 bytes."""
    if isinstance(value, dict):
        return {name: by_name(value[name]) for name in sorted(value, key=str.encode)}
    return [by_name(item) for item in value] if isinstance(value, list) else value


pieces = st.sampled_from(
    [
        *'{}[]:,"\\ \n\t-+.eE019',
        "true",
        "false",
        "null",
        '"a"',
        '"\\u00e9"',
        '"\\ud83d\\ude00"',
        "1e400",
        "0.1",
        "\u00e9",
    ],
)


@given(st.lists(pieces, max_size=24).map("".join) | st.text(max_size=16) | trees.map(json.dumps))
@example("[1,]")
@example('{"a":1,"a":2}')
@example("[1e400, -0, 123456789012345678901234567890]")
@example("\ufeff[]")
def test_the_same_texts_are_taken(text: str) -> None:
    try:
        expected = json.loads(text, parse_constant=refuse)
        json.dumps(expected, ensure_ascii=False).encode()  # halves of surrogate pairs are refused here
    except (ValueError, RecursionError):
        expected = None
        taken = False
    else:
        taken = True
    document = encoded(text)
    assert taken == (document is not None), "only one of both takes it"
    if document is None:
        return
    found = blit.view(document).to_python()
    # json has -0 as the integer 0, and so have we: the text keeps its sign.
    assert exact(expected) == exact(found)


def encoded(text: str) -> bytes | None:
    """The document of a text; None if it is refused."""
    try:
        return blit.from_json(text)
    except (TareError, UnicodeEncodeError):
        return None


def refuse(name: str) -> None:
    """NaN and infinities are no JSON."""
    raise ValueError(name)
