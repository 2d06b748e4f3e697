"""The dialect ``values/1``: every form, its strictness and its limits."""

from __future__ import annotations

import datetime as dt
import json
import struct
import uuid
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from tare.errors import Limit, Malformed, Truncated, Unsupported
from tare.tagged import (
    MISSING,
    NA,
    Attr,
    Factor,
    Other,
    Pairs,
    dump_text,
    exact_json,
    from_tagged,
    is_plain,
    load_text,
    to_tagged,
)

BERLIN = ZoneInfo("Europe/Berlin")

FORMS = [
    (None, None),
    (True, True),
    (2**53, 2**53),
    (2**53 + 1, {"$int": "9007199254740993"}),
    (-(2**200), {"$int": str(-(2**200))}),
    (1.0, {"$f64": "3ff0000000000000"}),
    (-0.0, {"$f64": "8000000000000000"}),
    ("", ""),
    ("\U0001f600", "\U0001f600"),
    ("\ud800", {"$text16": "d800"}),
    ("\ud83d\ude00", {"$text16": "0000d83d0000de00", "as": "utf-32"}),
    (np.float32(0.1), {"$f32": "3dcccccd"}),
    (np.int16(-5), {"$int": "-5", "as": "int16"}),
    (Decimal("1.10"), {"$dec": "1.10"}),
    (Decimal("-0E+5"), {"$dec": "-0E+5"}),
    (b"\x00\xff", {"$bytes": "AP8="}),
    (bytearray(b"a"), {"$bytes": "YQ==", "as": "bytearray"}),
    (dt.date(2020, 2, 29), {"$date": "2020-02-29"}),
    (dt.time(1, 2, 3, 4), {"$time": "01:02:03.000004"}),
    (dt.datetime(2020, 1, 2, 3, 4, 5, 6), {"$ts": "2020-01-02T03:04:05.000006", "unit": "us", "tz": None}),
    (
        dt.datetime(1969, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=30))),
        {"$ts": "1969-01-01T00:00:00.000000+05:30", "unit": "us", "tz": "+05:30"},
    ),
    (
        dt.datetime(2020, 10, 25, 2, 30, tzinfo=BERLIN, fold=1),
        {"$ts": "2020-10-25T02:30:00.000000+01:00", "unit": "us", "tz": "Europe/Berlin"},
    ),
    (
        np.datetime64("2020-01-02T03:04:05.123456789"),
        {"$ts": "2020-01-02T03:04:05.123456789", "unit": "ns", "tz": None},
    ),
    (dt.timedelta(days=-1, microseconds=3), {"$dur": -86399999997, "unit": "us"}),
    (uuid.UUID(int=5), {"$uuid": "00000000-0000-0000-0000-000000000005"}),
    ((1, (2,)), {"$tuple": [1, {"$tuple": [2]}]}),
    ({2, 1}, {"$set": [1, 2]}),
    (frozenset({"a"}), {"$set": ["a"], "as": "frozenset"}),
    ({"a": 1, "": None}, {"a": 1, "": None}),
    ({"$a": 1}, {"$map": [["$a", 1]]}),
    ({1: "a", "1": "b"}, {"$map": [[1, "a"], ["1", "b"]]}),
    (Pairs([("a", 1), ("a", 2)]), {"$map": [["a", 1], ["a", 2]]}),
    (Pairs([([1], 2)]), {"$map": [[[1], 2]]}),
    (NA("real"), {"$na": "real"}),
    (
        Factor((1, None), ("a", "b"), True),
        {"$factor": {"codes": [1, None], "levels": ["a", "b"], "ordered": True}},
    ),
    (Attr({"names": ["a"]}, [1]), {"$attr": {"names": ["a"]}, "of": [1]}),
    (MISSING, {"$missing": 1}),
]


@pytest.mark.parametrize(("value", "tag"), FORMS, ids=lambda item: repr(item)[:30])
def test_each_form_is_written_as_the_protocol_says_and_read_back_exactly(value: object, tag: object) -> None:
    """Value to tag, tag to value, and the types are those that went in."""
    assert tag == to_tagged(value)
    back = from_tagged(json.loads(json.dumps(tag)))
    assert type(value) is type(back)
    assert tag == to_tagged(back)


@pytest.mark.parametrize(
    "bits", ["7ff8000000000000", "7ff80000000007a2", "fff8000000000001", "7ff0000000000001"]
)
def test_nan_keeps_all_its_bits(bits: str) -> None:
    """Payload, sign and the signalling bit survive."""
    assert bits == struct.pack(">d", from_tagged({"$f64": bits})).hex()
    assert {"$f64": bits} == to_tagged(from_tagged({"$f64": bits}))


def test_single_precision_nan_keeps_its_bits() -> None:
    """A NumPy scalar does not quieten what it was made of."""
    assert {"$f32": "7fc00123"} == to_tagged(from_tagged({"$f32": "7fc00123"}))


def test_shared_lists_stay_one_list() -> None:
    """``$def`` and ``$ref`` carry identity."""
    inner = [1]
    tree = to_tagged([inner, {"x": inner}])
    assert [{"$def": 1, "of": [1]}, {"x": {"$ref": 1}}] == tree
    back = from_tagged(tree)
    assert back[0] is back[1]["x"]


def test_without_sharing_copies_are_written() -> None:
    """What is hashed or saved as plain data must not depend on identity."""
    inner = [1]
    assert [[1], [1]] == to_tagged([inner, inner], share=False)


def test_a_cycle_comes_back_as_a_cycle() -> None:
    """A list that holds itself, through a tuple and a map as well."""
    cycle: list[object] = [1]
    cycle.append(({"me": cycle},))
    back = from_tagged(json.loads(json.dumps(to_tagged(cycle))))
    assert back is back[1][0]["me"]


def test_a_cycle_without_sharing_is_refused() -> None:
    """The writer stops at its limit instead of filling memory."""
    cycle: list[object] = []
    cycle.append(cycle)
    with pytest.raises(Limit, match="max_nodes"):
        to_tagged(cycle, share=False, max_nodes=1000)
    pair: list[object] = [1]
    pair.append(pair)
    with pytest.raises(Limit, match="max_nodes"):
        to_tagged(pair, share=False, max_nodes=1000)


def test_depth_costs_no_stack() -> None:
    """100,000 lists, and 3,000 maps and tuples, go through text and back."""
    lists: list[object] = []
    for _ in range(99_000):
        lists = [lists]
    assert {"$nest": 99_000, "of": []} == to_tagged(lists)
    mixed: object = 1.5
    for level in range(3_000):
        mixed = {"a": mixed, "b\n": "\u00e9"} if level % 2 else (mixed,)
    text = dump_text(mixed)
    assert text == dump_text(load_text(text))


def test_foreign_types_are_refused_or_described() -> None:
    """An error names the place; with ``other`` the nearest value comes along."""

    class Celsius(float):
        """A subclass, as libraries give."""

    with pytest.raises(
        Unsupported, match=r"Celsius cannot be handed to another process, at \$\.a\[0\]: give"
    ):
        to_tagged({"a": [Celsius(1)]})
    tag = to_tagged({"a": [Celsius(1)]}, other=True)
    assert {"$f64": "3ff0000000000000"} == tag["a"][0]["of"]
    back = from_tagged(tag)["a"][0]
    assert isinstance(back, Other)
    assert back.name.endswith("Celsius")


BAD = [
    ({"$what": 1}, "unknown tag"),
    ({"a": 1, "$b": 2}, "unknown tag"),
    ({"$dec": "1", "x": 2}, r"\$dec has no field 'x'"),
    (1.5, r"a float needs \$f64"),
    (2**53 + 1, r"needs \$int"),
    ({"$int": "01"}, "decimal digits"),
    ({"$int": 5}, "decimal digits"),
    ({"$int": "300", "as": "int8"}, "does not fit|Malformed|out of bounds"),
    ({"$int": "1", "as": "object"}, "none of"),
    ({"$f64": "3ff"}, "16 hexadecimal"),
    ({"$f64": "zzzzzzzzzzzzzzzz"}, "hexadecimal"),
    ({"$dec": "1_0"}, "canonical|decimal number"),
    ({"$dec": "abc"}, "decimal number"),
    ({"$bytes": "a"}, "base64"),
    ({"$bytes": None}, "base64"),
    ({"$text16": "d8"}, "cut inside"),
    ({"$date": "2020-02-30"}, "ISO 8601"),
    ({"$date": 5}, "ISO 8601"),
    ({"$ts": "2020-01-01T00:00:00", "unit": "day"}, "unit"),
    ({"$ts": "2020-01-01T00:00:00+01:00", "tz": None}, "offset but no tz"),
    ({"$ts": "2020-01-01T00:00:00", "tz": "+01:00"}, "tz but no offset"),
    ({"$ts": "2020-01-01T00:00:00+01:00", "unit": "ns", "tz": "+05830"}, "tz needs"),
    ({"$ts": "2020-01-01T00:00:00.000000001a01:00", "unit": "ns", "tz": "Europe/Berlin"}, "ISO 8601"),
    ({"$ts": "2020-01-01T034:05", "unit": "ns", "tz": None}, "ISO 8601"),
    ({"$ts": "2020-07-01T00:00:00+05:00", "tz": "Europe/Berlin"}, "no such offset"),
    ({"$ts": "2020-07-01T00:00:00+05:00", "tz": "+x"}, "tz needs"),
    ({"$dur": 1.5, "unit": "us"}, "whole number"),
    ({"$dur": {"$int": "1" + "0" * 30}, "unit": "us"}, "out of range"),
    ({"$uuid": "5"}, "36"),
    ({"$tuple": 5}, "needs a list"),
    ({"$set": [1, 1]}, "repeats"),
    ({"$set": [1], "as": "list"}, "frozenset"),
    ({"$map": [[1]]}, r"\[key, value\]"),
    ({"$na": "x"}, "none of"),
    ({"$factor": {"codes": []}}, "codes and levels"),
    ({"$factor": {"codes": [1.5], "levels": []}}, "whole numbers"),
    ({"$attr": 5, "of": 1}, "needs an object"),
    ({"$def": 1}, "new number"),
    ([{"$def": 1, "of": []}, {"$def": 1, "of": []}], "new number"),
    ({"$ref": 1}, "no finished"),
    ({"$nest": 0, "of": 1}, "at least 1"),
    ({"$def": 1, "of": {"$tuple": [{"$ref": 1}]}}, "no finished"),
    ("\ud800", "surrogate"),
    ({"\ud800": 1}, "surrogate"),
    (..., "nothing JSON gives"),
]


@pytest.mark.parametrize(("tree", "words"), BAD, ids=lambda item: repr(item)[:40])
def test_wrong_trees_are_refused_with_a_place(tree: object, words: str) -> None:
    """One clear error, never a guess, whatever is wrong."""
    with pytest.raises(Malformed, match=words):
        from_tagged(tree)


def test_errors_name_the_place() -> None:
    """The path leads to the wrong value."""
    with pytest.raises(Malformed, match=r"at \$\.rows\[2\]\.x") as caught:
        from_tagged({"rows": [1, 2, {"x": {"$dec": "?"}}]})
    assert "$.rows[2].x" == caught.value.path


def test_what_this_machine_lacks_is_unsupported() -> None:
    """A leap second or an unknown zone is no fault of the text."""
    with pytest.raises(Unsupported, match="leap second"):
        from_tagged({"$ts": "2016-12-31T23:59:60.000000+00:00", "unit": "us", "tz": "+00:00"})
    with pytest.raises(Unsupported, match="time zone"):
        from_tagged({"$ts": "2016-12-31T23:59:00+00:00", "unit": "us", "tz": "Mars/Olympus"})
    with pytest.raises(Unsupported, match="hash"):
        from_tagged({"$set": [[1]]})


def test_limits_hold() -> None:
    """Depth and number of values, also when a tag only claims them."""
    with pytest.raises(Limit, match="max_depth"):
        from_tagged({"$nest": 10**9, "of": 1})
    with pytest.raises(Limit, match="max_depth"):
        from_tagged([[[[1]]]], max_depth=3)
    with pytest.raises(Limit, match="max_nodes"):
        from_tagged([1] * 100, max_nodes=50)
    with pytest.raises(Limit, match="max_bytes"):
        load_text(b"[1, 2, 3]", max_bytes=5)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (b"", Truncated),
        (b"[1,", Truncated),
        (b'{"a"', Truncated),
        (b"[" * 50_000, Truncated),
        (b'{"a":1}x', Malformed),
        (b"[1]]", Malformed),
        (b"\xff\xfe", Malformed),
        (b"[1.5]", Malformed),
        (b"[NaN]", Malformed),
        (b'"\\ud800"', Malformed),
        (b"[" * 700_000, Limit),
    ],
    ids=lambda item: repr(item)[:20],
)
def test_wrong_text_is_refused(text: bytes, kind: type[Exception]) -> None:
    """Truncated, garbage and too deep are told apart."""
    with pytest.raises(kind):
        load_text(text)


def test_every_prefix_of_a_text_is_refused() -> None:
    """No cut text reads as a value."""
    text = dump_text({"a": [1.5, "\u00e9", (None, True)], "b": {3: b"x"}})
    for end in range(len(text)):
        with pytest.raises((Malformed, Truncated)):
            load_text(text[:end])


@pytest.mark.parametrize(
    ("document", "plain"),
    [
        ({"a": [1, 1.5, None, True, "\u00e9"]}, True),
        ([2**64 - 1, -(2**63)], True),
        ([-0.0, 5e-324], True),
        ([2**64], False),
        ([float("nan")], False),
        ([float("inf")], False),
        ((1,), False),
        ({1: 2}, False),
        (["\ud800"], False),
        ([b"x"], False),
        ([dt.date(2020, 1, 1)], False),
        ([uuid.UUID(int=1)], False),
        ([np.float64(1.5)], False),
    ],
    ids=lambda item: repr(item)[:30],
)
def test_plain_documents_are_told_by_their_bytes(document: object, plain: bool) -> None:
    """JSON is offered only where it loses nothing."""
    assert plain == is_plain(document)
    if plain:
        assert dump_text(document) == dump_text(json.loads(exact_json(document) or b""))


def test_the_stored_forms_are_read_for_ever(root: Path) -> None:
    """Golden vectors: text, and the text that writing its value gives."""
    vectors = json.loads((root / "vectors/values/dialect.json").read_text())
    for name, text in vectors["values"].items():
        assert text == dump_text(load_text(text.encode())).decode(), name
    for name, text in vectors["errors"].items():
        with pytest.raises((Malformed, Truncated, Limit, Unsupported)):
            load_text(text.encode())
        assert name
