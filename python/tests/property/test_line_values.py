"""Lines of JSON of any shape, read by the core: row by row the values that Python's json reads, whatever spelling they have."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare._tare import NdjsonFinder, NdjsonReader
from tare.errors import Malformed, TareError

# Texts of JSON whose values are of one type.
Texts = st.SearchStrategy[str]


@st.composite
def spelled(draw: Callable[..., Any], text: Texts) -> str:
    """Draws a string of JSON in which some characters are escaped, in one of the ways there are."""
    said = []
    for char in draw(text):
        units = char.encode("utf-16-be", "surrogatepass")
        long = "".join(f"\\u{int.from_bytes(units[at : at + 2]):04x}" for at in range(0, len(units), 2))
        short = {
            "\n": "\\n",
            "\t": "\\t",
            "\r": "\\r",
            "\b": "\\b",
            "\f": "\\f",
            '"': '\\"',
            "\\": "\\\\",
            "/": "\\/",
        }
        ways = [
            long,
            "\\u" + long[2:].upper().replace("\\U", "\\u"),
            *([short[char]] * 4 if char in short else []),
        ]
        if char >= " " and char not in '"\\':
            ways += [char] * 6
        said.append(draw(st.sampled_from(ways)))
    return f'"{"".join(said)}"'


@st.composite
def double(draw: Callable[..., Any]) -> str:
    """Draws a number with a fraction or an exponent, of up to 40 digits."""
    sign = draw(st.sampled_from(["", "-"]))
    whole = draw(st.one_of(st.just("0"), st.integers(1, 10 ** draw(st.integers(1, 25))).map(str)))
    fraction = "." + draw(st.text("0123456789", min_size=1, max_size=20))
    exponent = (
        draw(st.sampled_from("eE")) + draw(st.sampled_from(["", "+", "-"])) + str(draw(st.integers(0, 330)))
    )
    return sign + whole + draw(st.sampled_from([fraction, exponent, fraction + exponent]))


SPACE = st.sampled_from(["", "", "", " ", "\t", "  ", "\r"])
SHORT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
WHOLE = st.one_of(
    st.integers(-9, 9),
    st.sampled_from([-(2**63), 2**63 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 10**18]),
    st.integers(-(2**63), 2**63 - 1),
)
UNSIGNED = st.one_of(st.integers(0, 9), st.sampled_from([2**63, 2**64 - 1]), st.integers(0, 2**64 - 1))
# Whole numbers that a column of doubles takes.
EXACT = st.one_of(st.integers(-9, 9), st.integers(-(2**53), 2**53)).map(str)
FLOAT = double().filter(lambda text: math.isfinite(float(text)))


@st.composite
def _list(draw: Callable[..., Any], item: Texts) -> str:
    values = draw(st.lists(st.one_of(item, item, st.just("null")), max_size=4))
    return "[" + ",".join(draw(SPACE) + value + draw(SPACE) for value in values) + "]"


@st.composite
def _object(draw: Callable[..., Any], names: list[str], values: list[Texts]) -> str:
    places = draw(st.permutations(range(len(names))))
    there = [at for at in places if draw(st.integers(0, 4))]
    members = []
    for at in there:
        value = draw(st.one_of(values[at], values[at], values[at], st.just("null")))
        name = draw(spelled(st.just(names[at])))
        members.append("".join([draw(SPACE), name, draw(SPACE), ":", draw(SPACE), value, draw(SPACE)]))
    return "{" + ",".join(members) + "}"


@st.composite
def _objects(draw: Callable[..., Any], inner: st.SearchStrategy[Texts], most: int) -> Texts:
    names = draw(st.lists(NAMES, max_size=most, unique=True))
    return _object(names, [draw(inner) for _ in names])


# Strategies of strategies: a shape first, then values that all have it.
LEAVES: st.SearchStrategy[Texts] = st.sampled_from(
    [WHOLE.map(str), UNSIGNED.map(str), FLOAT, st.one_of(FLOAT, EXACT), spelled(SHORT), st.sampled_from(["true", "false"]), st.just("null")]
)  # fmt: skip
SHAPES = st.recursive(LEAVES, lambda inner: st.one_of(inner.map(_list), _objects(inner, 3)), max_leaves=8)
ROWS = _objects(SHAPES, 5)


@st.composite
def lines(draw: Callable[..., Any]) -> list[str]:
    """Draws objects of one shape, with names that some lack."""
    return draw(st.lists(draw(ROWS), min_size=1, max_size=12))  # type: ignore[no-any-return]


def filled(value: Any, kind: pa.DataType) -> Any:
    """Python's value in a column: what it lacks is null, and whole numbers among doubles are doubles of the same value."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        assert set(value) <= {field.name for field in kind}
        return {field.name: filled(value.get(field.name), field.type) for field in kind}
    if pa.types.is_list(kind):
        return [filled(item, kind.value_type) for item in value]
    if pa.types.is_floating(kind):
        assert not isinstance(value, bool)
        assert float(value) == value
        return float(value)
    kinds = {bool: pa.types.is_boolean, int: pa.types.is_integer, str: pa.types.is_string}
    assert kinds[type(value)](kind), (value, kind)
    return value


def alike(one: Any, other: Any) -> bool:
    """Whether two values are the same, the sign of zero too."""
    return repr(one) == repr(other)


def read(text: bytes, threads: int, blocks: int) -> pa.Table:
    """The table of lines that come in so many blocks."""
    finder = NdjsonFinder()
    parts = text.split(b"\n")
    size = -(-len(parts) // blocks)
    for start in range(0, len(parts), size):
        finder.read(b"\n".join(parts[start : start + size]), threads)
    schema = pa.schema(finder)  # type: ignore[arg-type]
    return pa.Table.from_batches(map(pa.record_batch, finder.take()), schema)  # type: ignore[arg-type]


def is_a_table(values: list[Any]) -> bool:
    """Whether one type holds the numbers of each path: none is negative where one is beyond 2^63, and doubles are no whole ones beyond 2^53."""
    present = [value for value in values if value is not None]
    if any(isinstance(value, dict) for value in present):
        names = {name for value in present for name in value}
        return all(is_a_table([value.get(name) for value in present]) for name in names)
    if any(isinstance(value, list) for value in present):
        return is_a_table([item for value in present for item in value])
    numbers = [value for value in present if type(value) is int]
    return not numbers or min(numbers) >= 0 or max(numbers) < 2**63


@given(lines(), st.integers(1, 3), st.integers(1, 4))
def test_each_row_is_what_python_reads(said: list[str], threads: int, blocks: int) -> None:
    text = "\n".join(said).encode()
    values = [json.loads(line) for line in said]
    assert is_a_table(values)
    table = read(text, threads, blocks)
    table.validate(full=True)
    kind = pa.struct(list(table.schema))
    expected = [filled(value, kind) for value in values]
    # Of objects without any name there are rows, which a table of no columns does not count.
    assert len(table) == len(said) or not table.num_columns
    found = table.to_pylist() if table.num_columns else [{}] * len(said)
    for row, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert alike(one, other), (row, said[row])
    reader = NdjsonReader(table.schema)
    assert alike(pa.record_batch(reader.read(text)).to_pylist() or found, found)  # type: ignore[call-overload]


@given(lines(), st.integers(1, 3))
def test_each_element_is_what_python_reads(said: list[str], threads: int) -> None:
    text = "[" + ",\n".join(said) + "]"
    finder = NdjsonFinder()
    finder.read_array(text.encode(), threads)
    assert len(finder) == len(said)
    schema = pa.schema(finder)  # type: ignore[arg-type]
    table = pa.Table.from_batches(map(pa.record_batch, finder.take()), schema)  # type: ignore[arg-type]
    expected = [filled(value, pa.struct(list(schema))) for value in json.loads(text)]
    assert alike(table.to_pylist() or [{}] * len(said), expected)


@given(lines(), st.data())
def test_a_name_that_stands_twice_is_refused(said: list[str], data: st.DataObject) -> None:
    """In any object, at any level; Python's json keeps the last one without a word."""
    at = data.draw(st.integers(0, len(said) - 1))
    opened = [place for place, char in enumerate(said[at]) if char == "{" and not is_inside(said[at], place)]
    place = data.draw(st.sampled_from(opened)) + 1
    rest = said[at][place:]
    more = '"k\\u006b": null, "\\u006bk": null' + ("" if rest.lstrip().startswith("}") else ",")
    spoilt = [*said[:at], said[at][:place] + more + rest, *said[at + 1 :]]
    assert json.loads(spoilt[at])
    with pytest.raises(Malformed, match="stands twice"):
        NdjsonFinder().read("\n".join(spoilt).encode())
    with pytest.raises(Malformed, match="stands twice"):
        NdjsonFinder().read_array(f"[{','.join(spoilt)}]".encode())


def is_inside(line: str, place: int) -> bool:
    """Whether a place of a line is in a string."""
    inside = escaped = False
    for char in line[:place]:
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = inside
        elif char == '"':
            inside = not inside
    return inside


@given(
    st.text(max_size=3),
    st.integers(0xD800, 0xDFFF),
    st.sampled_from(["", "x", "\\n", "\\ud800", "\\u0041"]),
    st.booleans(),
)
def test_half_a_surrogate_pair_is_no_text(before: str, half: int, after: str, as_name: bool) -> None:
    text = f'"{json.dumps(before)[1:-1]}\\u{half:04X}{after}"'
    assert any("\ud800" <= char <= "\udfff" for char in json.loads(text))
    line = f'{{"a": 1, {text}: 1}}' if as_name else f'{{"a": {text}}}'
    with pytest.raises(TareError, match="surrogate"):
        NdjsonFinder().read(line.encode())
