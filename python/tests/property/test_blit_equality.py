"""Views and plain values: equal where the values are, and only there."""

from __future__ import annotations

import collections
import copy
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare import blit

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(max_size=3)
)
trees = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=12)
        | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
        | st.lists(st.fixed_dictionaries({"id": st.integers(0, 9)}, optional={"x": inner}), max_size=20)
    ),
    max_leaves=30,
)


def view_of(value: Any, layout: str) -> Any:
    """The view of a document of it."""
    return blit.view(blit.encode(value, layout=layout))


@given(trees, trees, st.sampled_from(["columns", "rows"]))
def test_a_view_equals_what_its_value_equals(one: Any, other: Any, layout: str) -> None:
    mine, theirs = view_of(one, layout), view_of(other, "columns")
    assert mine == one
    assert one == mine
    assert (mine == other) == (one == other) == (mine == theirs) == (other == mine)
    assert (mine != other) == (one != other)
    assert mine == copy.copy(mine) == copy.deepcopy(mine) == view_of(one, "columns")


@given(trees)
def test_parts_of_a_view_equal_parts_of_the_value(value: Any) -> None:
    whole = blit.view(blit.encode([value, [value], {"a": value}]))
    assert whole[0] == value
    assert whole[1][0] == value
    assert whole[2]["a"] == value
    assert value in list(whole)
    assert list(whole).index(value) == 0


def test_what_is_equal_is_what_python_says() -> None:
    """Numbers by value, objects without order, arrays with it; nothing else than dict and list."""
    view = blit.view(blit.encode({"a": 1, "b": [1.0, True, -0.0]}))
    assert view == {"b": [1, 1, 0], "a": True}
    assert view == collections.OrderedDict(a=1, b=[1, 1, 0])
    assert view["b"] == [1, True, 0]
    assert view["b"] != [1, 1]
    assert view["b"] != (1, 1, 0)
    assert view["b"] != {0: 1}
    assert view != [("a", 1)]
    assert view != {"a": 1, "b": [1, 1, 0], "c": None}
    assert view != {"a": 1}
    assert view != None  # noqa: E711 - the operator is what is tested
    assert view != "a"
    assert view != object()
    assert blit.view(blit.encode(7)) == 7 == blit.view(blit.encode(7.0))
    assert blit.view(blit.encode(None)) == None  # noqa: E711
    assert blit.view(blit.encode([math.nan])) != [math.nan]
    assert blit.view(blit.encode({})) != blit.view(blit.encode([]))
    with pytest.raises(TypeError, match="unhashable"):
        hash(view)


def test_numbers_kept_as_text_equal_what_they_are() -> None:
    """Integers and decimals exactly, however long; floats as the float that they are."""
    texts = blit.view(blit.encode([Decimal("1.10"), Decimal("1E+400"), 2**70]))
    assert texts == [Decimal("1.10"), Decimal("1e400"), 2**70]
    assert texts == [1.1, 10**400, float(2**70)]
    assert texts == texts.to_python()
    assert texts != [Decimal("1.11"), Decimal("1e400"), 2**70]
    assert texts != [1.1, 10**400, 2**70 + 1]
    assert texts == blit.view(blit.encode([Decimal("1.1"), Decimal("10E+399"), 2**70]))
    assert texts != ["1.10", None, 2**70]
    assert blit.view(blit.encode(Decimal("1.10"))) == Decimal("1.1")


def test_long_integers_are_compared_whatever_python_converts() -> None:
    """No comparison is a limit of digits."""
    long = blit.view(blit.from_json("[" + "9" * 5000 + "]"))
    assert long != [1]
    assert long != [math.inf]
    assert long != [10**5000]
    assert long == [10**5000 - 1]
    assert long == blit.view(blit.from_json("[" + "9" * 5000 + "]"))
    assert blit.view(blit.from_json("[1, " + "9" * 5000 + "]")) != [1, 10**5000 - 2]
