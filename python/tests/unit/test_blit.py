"""`tare.blit`: objects into documents, and documents into views and objects."""

from __future__ import annotations

import codecs
import contextlib
import copy
import gc
import json
import lzma
import math
import mmap
import pickle
import struct
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.soak import scaled

from tare import blit, errors

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.binary(max_size=20)
)
# One strategy for documents: like rows, so that tables, gaps and dictionaries come about.
ROWS = st.lists(
    st.fixed_dictionaries(
        {"a": st.integers(-300, 300)}, optional={"b": SCALARS, "c": st.sampled_from("xyz")}
    ),
    max_size=40,
)
DOCUMENTS = ROWS | st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text("abcde/~", max_size=3), inner),
    max_leaves=60,
)


class Point(NamedTuple):
    """A tuple of a subclass."""

    x: int
    y: int


def exact(value: object) -> object:
    """A value with its types and the bits of its floats, for comparison."""
    if isinstance(value, float):
        return ("float", struct.pack("<d", value))
    if isinstance(value, list | tuple):
        return [exact(item) for item in value]
    if isinstance(value, dict):
        return [(key, exact(item)) for key, item in value.items()]
    return (type(value).__name__, value)


def compared(view: object, value: object) -> None:
    """Every way into a view gives what is in the value."""
    if isinstance(view, blit.ObjectView):
        assert isinstance(value, dict)
        assert [*value] == [*view] == [*view.keys()]
        assert len(view) == len(value)
        for key, item in value.items():
            assert key in view
            compared(view[key], item)
            pointer = blit.Path("/" + key.replace("~", "~0").replace("/", "~1"))
            compared(view.get(pointer), item)
        for mine, item in zip(view.values(), value.values()):
            compared(mine, item)
    elif isinstance(view, blit.ListView):
        assert isinstance(value, list)
        assert len(view) == len(value)
        for i, item in enumerate(value):
            compared(view[i], item)
            compared(view[i - len(value)], item)
        for mine, item in zip(view, value):
            compared(mine, item)
    elif isinstance(view, blit.View):
        assert exact(value) == exact(view.to_python())
    else:
        assert exact(value) == exact(view)


@given(DOCUMENTS)
def test_any_value_comes_back_exactly(value):
    document = blit.encode(value)
    view = blit.view(document)
    assert exact(value) == exact(view.to_python())
    view.validate()
    compared(view, value)
    assert view == value
    assert exact(value) == exact(pickle.loads(pickle.dumps(view)).to_python())
    canonical = blit.view(blit.encode(value, canonical=True))
    canonical.validate(canonical=True)
    assert exact(value) == exact(canonical.to_python())
    assert blit.encode(view) == document


def files(shared):
    """The JSON documents of the shared data; of the large ones all in ``make soak``."""
    for path in sorted(Path(shared("data/json")).glob("*.json*")):
        if path.suffix == ".xz":
            text = lzma.decompress(path.read_bytes())
        elif path.suffix == ".json":
            text = path.read_bytes()
        else:
            continue
        if len(text) <= scaled(700_000, 1 << 40):
            yield path.name, text


def test_real_documents_come_back_with_types_and_bits(shared):
    n = 0
    for name, text in files(shared):
        value = json.loads(text)
        document = blit.encode(value)
        assert exact(value) == exact(blit.view(document).to_python()), name
        assert exact(value) == exact(blit.view(blit.from_json(text)).to_python()), name
        assert exact(value) == exact(json.loads(blit.view(document).to_json())), name
        n += 1
    assert n > 5


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ((1, (2,)), [1, [2]]),
        (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (IntEnum("Colour", "RED")["RED"], 1),
        (Point(1, 2), [1, 2]),
        (Decimal("1.50"), 1.5),
        (Decimal(7), 7),
        (2**200, 2**200),
        (-(2**63) - 1, -(2**63) - 1),
        (b"\x00\xff", b"\x00\xff"),
        (type("S", (str,), {})("x"), "x"),
    ],
)
def test_subclasses_and_numbers_are_taken_by_value(value, expected):
    assert exact(expected) == exact(blit.view(blit.encode([value])).to_python()[0])


def test_decimals_are_read_as_such_on_request():
    view = blit.view(blit.encode({"a": Decimal("0.100000000000000000001")}))
    assert view.to_python(decimal=True) == {"a": Decimal("0.100000000000000000001")}


def test_not_finite_floats():
    values = blit.view(blit.encode([math.nan, math.inf, -math.inf, 1.5])).to_python()
    assert math.isnan(values[0])
    assert values[1:] == [math.inf, -math.inf, 1.5]
    with pytest.raises(errors.Unsupported):
        blit.view(blit.encode([math.nan])).to_json()


@pytest.mark.parametrize(
    ("value", "error", "path"),
    [
        ({"a": [1, {"b": object()}]}, errors.Unsupported, "$.a[1].b"),
        ({"x y": {1, 2}}, errors.Unsupported, '$["x y"]'),
        ([{1: 2}], errors.Unsupported, "$[0]"),
        ({"a": "\ud800"}, errors.EncodeError, "$.a"),
    ],
)
def test_what_has_no_place_is_refused_with_its_path(value, error, path):
    with pytest.raises(error) as caught:
        blit.encode(value)
    assert (path, "blit") == (caught.value.path, caught.value.format)
    assert path in str(caught.value)


def test_an_unknown_type_is_a_type_error_and_default_helps():
    with pytest.raises(TypeError):
        blit.encode({"a": 1j})
    assert blit.view(blit.encode({"a": 1j}, default=str))["a"] == "1j"
    with pytest.raises(errors.Limit):
        blit.encode(1j, default=lambda value: value)
    with pytest.raises(ZeroDivisionError):
        blit.encode(1j, default=lambda value: 1 / 0)


def test_default_may_change_what_is_encoded():
    victim = {f"k{i}": object() for i in range(100)}

    def clear(_value):
        victim.clear()
        gc.collect()
        return 1

    with pytest.raises(RuntimeError):
        blit.encode(victim, default=clear)
    items = [object() for _ in range(100)]
    assert blit.view(blit.encode(items, default=lambda _: items.clear())).to_python() == [None]


def test_cycles_and_depth_are_a_limit():
    cycle = []
    cycle.append({"a": cycle})
    with pytest.raises(errors.Limit):
        blit.encode(cycle)
    deep = 1
    for _ in range(1024):
        deep = [deep]
    found = blit.view(blit.encode(deep)).to_python()
    for _ in range(1024):  # to compare them, Python would recurse too deep
        (found,) = found
    assert found == 1
    with pytest.raises(errors.Limit):
        blit.encode([deep])


def test_of_names_that_are_there_twice_the_last_stands():
    text = "[" + ",".join(f'{{"a":{i},"b":0,"a":{i // 2}}}' for i in range(40)) + "]"
    view = blit.view(blit.from_json(text, duplicates="keep"))
    assert view.to_python() == json.loads(text)
    assert view.to_json() == text.encode()
    with pytest.raises(errors.Malformed):
        blit.from_json(text, duplicates="error")


def test_lone_surrogates_are_kept_on_request():
    value = {"a\ud800": "\udc00x"}
    view = blit.view(blit.encode(value, surrogates="keep"))
    assert view.to_python() == value
    assert view["a\ud800"] == "\udc00x"
    assert pickle.loads(pickle.dumps(view)).to_python() == value


@given(st.lists(DOCUMENTS, max_size=8))
def test_what_was_written_before_makes_no_other_bytes(documents):
    again = documents + documents[::-1]
    warm = [blit.encode(document) for document in again]
    # Nothing is known of names where duplicates are kept.
    assert warm == [blit.encode(document, duplicates="keep") for document in again]


def test_names_are_known_by_their_objects_only_as_long_as_these_live():
    for i in range(200):
        names = [f"name-{i}-{j}" for j in range(i % 7)]
        document = {name: {"inner": j, names[0]: name} for j, name in enumerate(names)}
        assert blit.view(blit.encode(document)).to_python() == document
        del names, document


def test_a_default_that_encodes_leaves_the_names_of_others_alone():
    value = {"a": {"b": 1}, "c": 1j, "d": [{"a": 2}]}

    def default(_value):
        return blit.encode({"d": {"c": 5}, "e": 6}).hex()

    first = blit.encode(value, default=default)
    assert first == blit.encode(value, default=default)
    assert blit.view(first).to_python() == value | {"c": default(None)}
    for _ in range(2):
        with pytest.raises(TypeError):
            blit.encode(value)
        assert blit.encode({"a": {"b": 1}}) == blit.encode({"a": {"b": 1}}, duplicates="keep")


class Text(str):
    """Text that has something else to say of its bytes."""

    __slots__ = ()

    def encode(self, *arguments):
        raise AssertionError(arguments)


@contextlib.contextmanager
def surrogates_by(handler):
    """Halves of surrogate pairs are decoded and encoded by code of one's own."""
    before = codecs.lookup_error("surrogatepass")

    def handle(error):
        handler()
        return before(error)

    codecs.register_error("surrogatepass", handle)
    try:
        yield
    finally:
        codecs.register_error("surrogatepass", before)


def test_surrogates_are_those_that_str_has_whatever_a_subclass_says():
    value = {"a\ud800": "\udc00x"}
    document = blit.encode({Text("a\ud800"): Text("\udc00x")}, surrogates="keep")
    assert blit.view(document).to_python() == value
    with pytest.raises(errors.Malformed):
        blit.from_json(Text('"\ud800"'))
    assert blit.view(document).get(Text("/a\ud800")) == "\udc00x"


def test_code_that_runs_while_names_are_made_may_read_documents():
    document = blit.encode({"a\ud800": 1, "b": "\udc00"}, surrogates="keep")
    seen = []

    def read():
        seen.append(blit.view(blit.from_json(b'{"c":[{"d":1}]}')).to_python())
        thread = threading.Thread(target=lambda: seen.append(blit.view(document)["b"]))
        if len(seen) == 1:
            thread.start()
            thread.join()

    with surrogates_by(read):
        made = blit.view(document).to_python()
    assert made == {"a\ud800": 1, "b": "\udc00"}
    assert {"c": [{"d": 1}]} in seen
    assert "\udc00" in seen


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("change", [gc.enable, gc.disable, None])
def test_the_collector_is_as_others_left_it(before, change):
    document = blit.encode([{"a": "\udc00"}] * 3, surrogates="keep")
    seen = []

    def handler():
        seen.append(gc.isenabled())
        blit.view(blit.encode([1])).to_python()
        seen.append(gc.isenabled())
        if change is not None:
            thread = threading.Thread(target=change)
            thread.start()
            thread.join()

    (gc.enable if before else gc.disable)()
    try:
        with surrogates_by(handler):
            blit.view(document).to_python()
        after = gc.isenabled()
    finally:
        gc.enable()
    assert seen[:2] == [before, before]
    assert after == {gc.enable: True, gc.disable: False, None: before}[change]


def test_a_name_with_code_of_its_own_cannot_take_the_value_away():
    class Name(str):
        __slots__ = ()

        def encode(self, *arguments):
            held.clear()
            return str.encode(self, "utf-8", "surrogatepass")

    held = {Name("\ud800"): [1.5 * i for i in range(50)], Name("a"): "\ud800", "b": [1, 2, 3] * 10}
    expected = dict(held)
    assert blit.view(blit.encode(held, surrogates="keep")).to_python() == expected
    assert held == expected


def test_views_are_mappings_and_sequences():
    view = blit.view(blit.encode({"a": [1, 2, {"b": None}], "/a": 7, "c": 1}))
    assert isinstance(view, Mapping)
    assert isinstance(view["a"], Sequence)
    assert (7, 2, 9) == (view.get("/a"), view.get("/a/1", 9), view.get("zz", 9))
    assert view.get("") == view
    assert view.get(blit.Path("/a/2")) == {"b": None}
    assert view.keys() & {"a", "q"} == {"a"}
    assert ("c", 1) in view.items()
    assert [*reversed(view["a"])][-1] == 1
    assert (1, 1) == (view["a"].index(2), view["a"].count(2))
    assert 2 in view["a"]
    assert view["a"][::-2] == [{"b": None}, 1]
    assert view["a"] != (1, 2)
    assert view != {"a": 1}
    match view:
        case {"a": [first, *_], "c": 1}:
            assert first == 1
        case _:
            pytest.fail("a view is no mapping to match")
    assert copy.deepcopy(view) is view
    with pytest.raises(TypeError):
        hash(view)
    with pytest.raises(IndexError):
        view["a"][3]
    with pytest.raises(errors.UsageError):
        blit.Path("a")


def test_a_missing_name_tells_near_ones():
    view = blit.view(blit.encode({"origin": 1, "destination": 2}))
    with pytest.raises(KeyError) as caught:
        view["orgin"]
    assert caught.value.args == ("orgin",)
    assert isinstance(caught.value, errors.TareError)
    assert "'origin'" in str(caught.value)


def test_repr_is_short():
    view = blit.view(blit.encode({"a": "x" * 10_000, "b": [1] * 1000, **{f"k{i}": i for i in range(999)}}))
    assert len(repr(view)) < 400
    assert "1001" in repr(view)


def test_buffers_live_as_long_as_views(tmp_path):
    document = blit.encode({"a": ["x", {"y": 300}]})
    path = tmp_path / "a.blit"
    path.write_bytes(document)
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    changing = bytearray(document)
    views = [blit.view(source)["a"] for source in (bytes(document), memoryview(document), mapped, changing)]
    changing[:] = bytes(len(changing))
    del mapped
    gc.collect()
    for view in views:
        assert view == ["x", {"y": 300}]


@pytest.mark.parametrize("bad", [b"", b"BLT1", b"x" * 40, blit.encode([1])[:-1]])
def test_what_is_no_document_is_refused(bad):
    with pytest.raises(errors.DecodeError) as caught:
        blit.view(bad)
    assert caught.value.format == "blit"


def test_damage_never_crashes():
    document = blit.encode([{"a": i, "b": str(i % 3), "c": [i, 0.5], "d": None} for i in range(30)])
    for at in range(len(document)):
        damaged = bytearray(document)
        damaged[at] ^= 1 << at % 8
        try:
            view = blit.view(damaged)
            view.to_python(max_elements=10_000) if isinstance(view, blit.View) else None
            repr(view)
            blit.view(damaged).to_arrow()
        except (errors.TareError, ValueError):
            pass


def test_limits_count_before_anything_is_made():
    view = blit.view(blit.encode([[None] * 1000] * 100))
    with pytest.raises(errors.Limit):
        view.to_python(max_elements=50_000)
    assert len(view.to_python()) == 100


def test_many_threads_read_one_view():
    rows = [{"id": i, "name": f"n{i % 7}"} for i in range(2000)]
    view = blit.view(blit.encode(rows))
    failures = []

    def read():
        try:
            assert view.to_python() == rows
            assert [row["id"] for row in view] == [*range(2000)]
            assert json.loads(view.to_json()) == rows
        except AssertionError as error:
            failures.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_options_are_checked():
    with pytest.raises(errors.UsageError, match="rows"):
        blit.encode(1, layout="colums")
    with pytest.raises(errors.UsageError):
        blit.encode(1, canonical=True, checksum=True)


def test_queries_find_values():
    view = blit.view(blit.encode({"f": [{"d": 5, "to": "a"}, {"d": 90, "to": "b"}]}))
    assert view.find("$.f[?@.d > 60].to") == ["b"]
    assert view["f"].find("$[*].d") == [5, 90]
    assert view.find("$.f[1]")[0] == {"d": 90, "to": "b"}
    with pytest.raises(errors.UsageError):
        view.find("f[")


def test_a_part_keeps_what_its_document_keeps():
    twice = blit.view(blit.from_json('{"o":{"a":1,"a":2}}', duplicates="keep"))["o"]
    text = b'{"a":1,"a":2}'
    assert blit.view(twice.raw()).to_json() == text
    assert pickle.loads(pickle.dumps(twice)).to_json() == text
    assert twice.nbytes == len(blit.from_json(text, duplicates="keep"))
    assert twice.find("$.*") == [1, 2]
    halves = blit.view(blit.encode({"o": {"a\ud800": "\udc00x"}}, surrogates="keep"))["o"]
    assert blit.view(halves.raw()).to_python() == {"a\ud800": "\udc00x"}


@pytest.mark.parametrize(
    ("text", "options"), [('{"a":1,"a":2}', {"duplicates": "keep"}), (r'"\ud800"', {"surrogates": "keep"})]
)
def test_what_is_kept_is_not_canonical(text: str, options: dict[str, str]):
    view = blit.view(blit.from_json(text, **options))
    view.validate()
    with pytest.raises(errors.Malformed, match="V30"):
        view.validate(canonical=True)


def test_strings_are_pooled_or_compressed_on_request():
    text = "a string that comes again"
    rows = [[i, text, None] if i % 2 else {"a": text, "b": [text]} for i in range(100)]
    pooled = blit.encode(rows, pool=True)
    assert len(pooled) < len(blit.encode(rows)) * 0.6
    assert blit.view(pooled).to_python() == rows
    assert blit.from_json(json.dumps(rows), pool=True) == pooled
    lines = "\n".join(map(json.dumps, rows))
    assert blit.from_ndjson(lines, pool=True) == pooled
    long = [{"a": "abc " * 1000}]
    packed = blit.encode(long, compress_strings=512)
    assert len(packed) < 200
    assert blit.view(packed).to_python() == long
    assert blit.from_json(json.dumps(long), compress_strings=512) == packed
    assert blit.from_ndjson(json.dumps(long[0]), compress_strings=512) == packed
    assert blit.edit(blit.view(blit.encode(long))).to_blit(compress_strings=512) == packed
    with pytest.raises(errors.UsageError):
        blit.encode(long, compress_strings=511)


def test_halves_of_pairs_are_looked_up_and_refused_as_all_else_is():
    view = blit.view(blit.encode({"o": {"a\ud800": [7, {"/\udc00": 8}]}}, surrogates="keep"))
    assert view.get("\ud800", 5) == view.get("/\ud800", 5) == view.get("/o/a\ud801", 5) == 5
    assert view["o"].get("a\ud800") == view.get("/o/a\ud800") == [7, {"/\udc00": 8}]
    assert view.get("/o/a\ud800/0") == 7
    assert view.get("/o/a\ud800/1/~1\udc00") == 8
    assert view.get("/o/a\ud800/01") is None
    assert view["o"]["a\ud800"].get("/1/~1\udc00") == 8
    assert blit.view(blit.encode({"a": 1})).get("/\ud800", 5) == 5
    for parse in (blit.from_json, blit.from_ndjson):
        with pytest.raises(errors.DecodeError, match="at byte 1"):
            parse('"\ud800"')


@pytest.mark.parametrize("i", [10**30, -(10**30), 2, -3])
def test_places_beyond_all_elements_are_index_errors(i: int):
    with pytest.raises(IndexError):
        blit.view(blit.encode([1, 2]))[i]


def test_a_number_that_no_decimal_has_is_a_limit():
    for number in ("1e999999999999999999999", "0.1E-999999999999999999999"):
        view = blit.view(blit.from_json(f"[{number}]"))
        with pytest.raises(errors.Limit, match=number[:5]):
            view.to_python(decimal=True)
        assert view.to_python() in ([math.inf], [0.0])
