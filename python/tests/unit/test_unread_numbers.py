"""Numbers that nothing here reads as they are: of too many digits, or beyond all doubles. Each is told with its place."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from support.capabilities import need_codec

import tare
from tare.codec import Codec
from tare.datasets.json_numbers import first_unread
from tare.errors import DecodeError, EncodeError, Malformed, TareError, Unsupported

LONG = "9" * 5000
TOLD = "an integer of 5,000 digits, more than the 4,300 that are read"
COPIED = "arrays of JSON and NDJSON become each other with any number"


def refused(name: str, text: str, tmp_path: Path) -> TareError:
    """What reading a file of this text says."""
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(TareError) as caught:
        tare.read(path)
    return caught.value


@pytest.mark.parametrize(
    ("name", "text", "place", "offset"),
    [
        ("x.json", f'{{"a": [1, {LONG}]}}', "/a/1", 10),
        ("x.json", f"-{LONG}", "", 0),
        ("x.json", f'{{"a~/": [{{}}, [], {{"b": "[,{{", "c": {LONG}}}]}}', "/a~0~1/2/c", 35),
        ("x.ndjson", f'{{"a": 1}}\n{{"a": {LONG}}}\n', "/a", 15),
    ],
)
def test_an_integer_of_too_many_digits_is_told_with_its_place(
    name: str, text: str, place: str, offset: int, tmp_path: Path
) -> None:
    """It is valid JSON; Python's message names an option of Python and no place."""
    error = refused(name, text, tmp_path)
    assert (Unsupported, offset) == (type(error), error.offset)
    assert f"{TOLD}{f', at {place}' * bool(place)}, at byte {offset}. " in str(error)
    assert COPIED in str(error)


def test_the_advice_is_true(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(f"[{LONG}, 1e400]")
    tare.convert(path, tmp_path / "x.ndjson")
    assert f"{LONG}\n1e400\n" == (tmp_path / "x.ndjson").read_text()


@pytest.mark.parametrize(("text", "said"), [(LONG, "it has more digits than the 4300"), ("1.0e+400", "it is larger than any double"), ("-1.0e+400", "it is less than any double")])  # fmt: skip
def test_yaml_says_the_line(text: str, said: str, tmp_path: Path) -> None:
    """A number beyond all doubles was an infinity, without a word."""
    error = refused("x.yaml", f"b: 0x10\na: {text}\n", tmp_path)
    assert (Malformed, 11) == (type(error), error.offset)
    assert said in str(error)
    assert "in line 2" in str(error)


def test_infinities_of_yaml_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("[.inf, -.INF, 1.0e+308]")
    assert tare.read(path) == [math.inf, -math.inf, 1e308]


@pytest.mark.parametrize("codec", ["json:stdlib", "json:ujson", "yaml:ruamel"])
def test_a_reader_that_was_asked_for_is_said_to_make_infinities(codec: str, tmp_path: Path) -> None:
    need_codec(codec)
    path = tmp_path / "x"
    path.write_text("[1e400]")
    note = "a number that is larger, or less, than any double was read as an infinity"
    assert note in tare.convert(path, tmp_path / "x.msgpack", format=codec).notes
    path.write_text("[1e40]")
    assert note not in tare.convert(path, tmp_path / "y.msgpack", format=codec).notes


def test_the_place_of_a_number_beyond_all_doubles(tmp_path: Path) -> None:
    error = refused("x.json", '[1, {"a": ["1e400", -1e400]}]', tmp_path)
    assert isinstance(error, Malformed)
    assert "json: -1e400 is less than any double, at /1/a/1, at byte 20. " in str(error)
    assert first_unread(b'{"a": "1e999", "b": 1e99}') is None


@pytest.mark.parametrize("codec", ["msgpack", "json", "yaml", "ndjson", "bson"])
def test_what_holds_an_integer_of_any_length_is_said(codec: str, tmp_path: Path) -> None:
    need_codec(codec)
    need_codec("cbor")
    value = [{"a": 1}, {"a": 10**5000}]
    with pytest.raises(
        EncodeError, match=r"at /1/a \(.*Say --codec cbor, which holds integers of any length"
    ):
        tare.convert(value, tmp_path / "x", codec=codec)
    tare.convert(value, tmp_path / "x", codec="cbor")


def test_codecs_say_it_in_words() -> None:
    with pytest.raises(DecodeError, match="an integer of more than 4,300 digits is not read from text"):
        Codec.parse("json:stdlib").decode(LONG.encode())
    with pytest.raises(EncodeError, match="an integer of more than 4,300 digits is not written as text"):
        Codec.parse("json:stdlib").encode(10**5000)


@pytest.mark.parametrize(
    ("cells", "is_told"),
    [(["0x10", "1e400"], True), (["0x10", "1.5"], True), (["99999999999999999999", "0x1"], True), (["0x10", "word"], False)],
)  # fmt: skip
def test_columns_of_numbers_of_several_spellings_are_said_to_be_text(
    cells: list[str], is_told: bool, tmp_path: Path
) -> None:
    """Each alone is told."""
    path = tmp_path / "x.csv"
    path.write_text("\n".join(["a,b", *(f"{cell},1" for cell in cells), ""]))
    done = tare.convert(path, tmp_path / "x.json")
    assert [row["a"] for row in json.loads((tmp_path / "x.json").read_text())] == cells
    assert is_told == any("are kept as text: 'a'" in note for note in done.notes)


def test_integers_of_yaml_that_take_no_decimal_digits_are_read(tmp_path: Path) -> None:
    """Their note failed, as it wrote them in decimal digits."""
    path = tmp_path / "x.yaml"
    path.write_text(f"[0b{'1' * 20000}, 0x{'f' * 5000}]")
    assert tare.read(path) == [(1 << 20000) - 1, (1 << 20000) - 1]
