"""Texts of JSON lines of random shape, most of which are tables."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

__all__ = ["rows", "texts"]

WHOLE = st.one_of(
    st.integers(-5, 5), st.integers(-(2**63), 2**64), st.sampled_from([2**53, 2**53 + 1, 2**53 + 2, 2**70, -(2**63)])
)  # fmt: skip
FLOATS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([1e300, -0.0, 5e-324, 2.0**60])
)
TEXT = st.text(max_size=6)
PLAIN = st.one_of(st.none(), st.booleans(), WHOLE, FLOATS, TEXT)
# Values of one name are mostly of one type, or nothing would have a table.
KINDS = st.sampled_from(
    [
        WHOLE, st.integers(-9, 9), FLOATS, st.one_of(st.integers(-9, 9), FLOATS), TEXT, st.booleans(), st.none(), PLAIN,
        st.integers(0, 2**64 - 1), st.lists(st.lists(st.one_of(st.none(), st.integers(2**62, 2**64 - 1)), max_size=2), max_size=2),
        st.lists(st.integers(0, 9), max_size=3), st.lists(st.one_of(st.none(), FLOATS), max_size=3),
        st.lists(st.one_of(st.integers(-9, 9), FLOATS), max_size=3),
        st.fixed_dictionaries({"x": st.integers(0, 9)}, optional={"y": TEXT, "z": FLOATS}),
        st.fixed_dictionaries({"x": st.integers(0, 9), "y": st.one_of(st.none(), TEXT)}),
        st.fixed_dictionaries({}, optional={"b": st.integers(0, 9), "a": st.one_of(st.integers(0, 9), FLOATS)}),
        st.lists(st.fixed_dictionaries({"p": TEXT}, optional={"q": st.integers(0, 9)}), max_size=2),
    ]
)  # fmt: skip


@st.composite
def rows(draw: Any) -> list[dict[str, Any]]:
    """Draws objects."""
    names = draw(
        st.lists(st.sampled_from(["a", "b", "c\u00e9", 'd"', ""]), min_size=1, max_size=4, unique=True)
    )
    kinds = {name: draw(KINDS) for name in names}
    holes = draw(st.booleans())
    made = []
    for _ in range(draw(st.integers(1, 25))):
        there = [name for name in names if not holes or draw(st.integers(0, 9)) > 1]
        made.append({name: None if draw(st.integers(0, 9)) == 0 else draw(kinds[name]) for name in there})
    return made


@st.composite
def texts(draw: Any) -> bytes:
    """Draws lines of objects."""
    said = []
    for n, row in enumerate(draw(rows())):
        said.append(json.dumps(row, ensure_ascii=n % 2 == 0))
        said += [draw(st.sampled_from([""] * 4 + [" ", "\t"]))] * (draw(st.integers(0, 9)) == 0)
    end = draw(st.sampled_from(["\n", "\r\n"]))
    text = (end.join(said) + end * draw(st.integers(0, 1))).encode("utf-8", "surrogatepass")
    return text.replace(b": -1,", b": -0,") if draw(st.booleans()) else text
