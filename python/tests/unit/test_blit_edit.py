"""Edits of documents from Python: reads that see them, their errors, halves of pairs, many of them."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from tare import blit, errors

PAIR = "\ud83d" + "\ude00"
"""Two halves one after the other, which are not the one character that they stand for."""


def editing(value: Any, **options: Any) -> blit.Edit:
    return blit.edit(blit.view(blit.encode(value, **options)))


def test_reads_see_the_changes():
    changes = editing({"a": {"b": [1, 2, {"c": 3}], "d": "x"}, "/a": 5, "e": [[7]]})
    changes.set("/a/b/0", 10)
    assert changes["a"] == changes.get("a") == {"b": [10, 2, {"c": 3}], "d": "x"}
    assert (changes["/a"], changes["/a/b/2/c"], changes.get(blit.Path("/a/d"))) == (5, 3, "x")
    assert changes["e"] == changes["/e"] == [[7]]
    before = changes["a"]
    changes.delete("/a/d")
    changes.insert("/a/b/-", None)
    assert changes.get("") == {"a": {"b": [10, 2, {"c": 3}, None]}, "/a": 5, "e": [[7]]}
    assert before == {"b": [10, 2, {"c": 3}], "d": "x"}, "what was read stays as it was"
    assert changes.get("/a/d") is None
    assert changes.get("d", 4) == changes.get("nothing/there", 4) == changes.get("/e/1", 4) == 4
    assert "a" in changes
    assert "/a/b/3" in changes
    assert "/a/d" not in changes
    assert 0 not in changes
    assert blit.view(changes.to_blit()) == changes.get("").to_python()


@pytest.mark.parametrize("key", ["d", "/a/d", "/e/1", "", blit.Path("/d"), 0])
def test_what_an_edit_does_not_have_is_a_key_error(key: Any):
    if key == "":
        assert editing({"a": 1})[key] == {"a": 1}
        return
    with pytest.raises(KeyError) as caught:
        editing({"a": {}, "e": [1]})[key]
    assert isinstance(caught.value, blit.MissingName)
    assert isinstance(caught.value, errors.NotFound)


def test_an_edited_array_is_read_as_a_list():
    changes = editing([1, 2, 3])
    for _ in range(2):
        values = changes.get("").to_python()
        assert [changes[i] for i in range(len(values))] == values
        assert (changes[-1], changes[1:], changes[::-2]) == (values[-1], values[1:], values[::-2])
        for beyond in (len(values), -len(values) - 1, 10**30):
            with pytest.raises(IndexError):
                changes[beyond]
        changes.insert("/-", "x")
        changes.delete("/0")
    with pytest.raises(TypeError):
        changes[None]
    with pytest.raises(TypeError):
        iter(changes)
    assert editing(7).get("") == 7
    assert editing(7).get("a", 1) == 1


@pytest.mark.alone
def test_edits_cost_what_they_touch_however_many_there_are():
    def seconds(n: int, edit: Callable[[blit.Edit, int], None]) -> float:
        changes = editing({"o": {}, "l": list(range(n))})
        start = process_time()
        for i in range(n):
            edit(changes, i)
        return process_time() - start

    for edit in (
        lambda changes, i: changes.set(f"/o/k{i}", i),
        lambda changes, i: changes.set(f"/l/{i}", None),
        lambda changes, i: changes.insert("/l/0", i),
        lambda changes, i: changes.patch([{"op": "add", "path": f"/o/k{i}", "value": 1}]),
        lambda changes, i: changes.merge({"o": {f"k{i}": 1}}),
        lambda changes, i: (changes.set(f"/o/k{i}", i), changes.get(f"/o/k{i}")),
    ):
        few = min(seconds(1000, edit) for _ in range(3))
        assert seconds(20_000, edit) < few * 100, "linear is 20, quadratic 400"


def test_errors_of_edits_are_of_tare_and_change_nothing():
    changes = editing({"a": [1], "b": {"c": 2}})
    nowhere: list[Callable[[], object]] = [
        lambda: changes.set("/x/y", 1),
        lambda: changes.set("/a/1", 1),
        lambda: changes.insert("/a/2", 1),
        lambda: changes.delete("/b/d"),
        lambda: changes.patch([{"op": "remove", "path": "/x"}]),
        lambda: changes.patch(
            [{"op": "add", "path": "/n", "value": 1}, {"op": "move", "from": "/b", "path": "/x/y"}]
        ),
        lambda: changes.patch([{"op": "move", "from": "/b", "path": "/x/y"}]),
        lambda: changes.patch([{"op": "test", "path": "/a", "value": 1}]),
        lambda: blit.patch(bytearray(blit.encode({"a": 1})), "/c", 1),
    ]
    for wrong in nowhere:
        with pytest.raises(errors.NotFound) as caught:
            wrong()
        assert isinstance(caught.value, KeyError)
        assert ("not_found", "blit") == (caught.value.kind, caught.value.format)
        assert not str(caught.value).startswith("'"), "plain words, unlike those of a `KeyError`"
    misused: list[Callable[[], object]] = [
        lambda: changes.set("a", 1),
        lambda: changes.get("/~2"),
        lambda: changes.set(0, 1),
        lambda: changes.delete(""),
        lambda: changes.patch(1),
        lambda: blit.patch(blit.encode({"a": 1}), "/a", 2),
    ]
    for wrong in misused:
        with pytest.raises(errors.UsageError):
            wrong()
    assert changes.get("") == {"a": [1], "b": {"c": 2}}


def test_merging_is_what_the_standard_says():
    for target, patch, expected in (
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": {"0": {"b": None, "d": 1}}}, {"a": {"0": {"d": 1}}}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({}, {"x": {"y": 1}, "z": 2}, {"x": {"y": 1}, "z": 2}),
    ):
        for given in (patch, json.dumps(patch)):
            changes = editing(target)
            changes.merge(given)
            assert (
                blit.view(changes.to_blit()).to_json() == json.dumps(expected, separators=(",", ":")).encode()
            )
    changes.merge(blit.view(blit.from_json('{"a":1,"a":2}', duplicates="keep")))
    assert changes["a"] == 2


def test_halves_of_pairs_are_kept_where_the_changed_document_keeps_them():
    value = {"a": 1, "\ud83d": {"~/\ude00": 2}}
    for keeps in (True, False):
        changes = editing(value if keeps else {"a": 1}, surrogates="keep")
        changes.set("/\ud83d", {})
        changes.set(blit.Path("/\ud83d/~0~1\ude00"), "\udc00x")
        changes.patch([{"op": "add", "path": "/\udc00", "value": 1}])
        changes.patch(r'[{"op": "add", "path": "/\udc01", "value": "\ud800"}]')
        changes.merge({"\ud83e": {"\ud83e": "\ud83e"}})
        changes.delete("/\udc00")
        expected: dict[str, Any] = {"a": 1}
        expected["\ud83d"] = {"~/\ude00": "\udc00x"}
        expected["\udc01"] = "\ud800"
        expected["\ud83e"] = {"\ud83e": "\ud83e"}
        assert changes.get("") == expected
        assert changes["\ud83d"]["~/\ude00"] == changes["/\ud83d/~0~1\ude00"] == "\udc00x"
        assert "\udc00" not in changes
        assert blit.view(changes.to_blit(surrogates="keep")) == expected
        if keeps:
            assert blit.view(changes.to_blit()) == expected
        else:
            with pytest.raises(errors.Malformed, match='surrogates="keep"'):
                changes.to_blit()


def test_two_halves_one_after_the_other_are_refused_in_plain_words():
    for value in (PAIR, {PAIR: 1}, [f"\ud83d{PAIR}"]):
        for surrogates in ("error", "keep"):
            with pytest.raises(errors.EncodeError, match="makes them the one character"):
                blit.encode(value, surrogates=surrogates)
    assert PAIR.encode("utf-16", "surrogatepass").decode("utf-16") == "\U0001f600"
    backwards = "\ude00\ud83d"
    assert blit.view(blit.encode([backwards], surrogates="keep")) == [backwards]
    changes = editing({"a": 1})
    with pytest.raises(errors.EncodeError):
        changes.set("/a", PAIR)
    with pytest.raises(errors.UsageError):
        changes.set("/" + PAIR, 1)
    view = blit.view(blit.encode({"\U0001f600": 1}))
    assert view.get("/" + PAIR, 5) == view.get(PAIR, 5) == 5
    with pytest.raises(KeyError):
        view[PAIR]


def test_paths_may_have_halves_of_pairs():
    path = blit.Path("/\ud83d~1/0")
    view = blit.view(blit.encode({"\ud83d/": [7]}, surrogates="keep"))
    assert view.get(path) == 7
    assert pickle.loads(pickle.dumps(path)) == path
    assert hash(blit.Path(str(path))) == hash(path)
    assert repr(path) == r"Path('/\ud83d~1/0')"
    with pytest.raises(errors.UsageError):
        blit.Path("\ud83d")


def test_halves_of_pairs_are_refused_as_all_else_is(tmp_path: Path):
    with pytest.raises(errors.UsageError, match="half of a surrogate pair"):
        blit.view(blit.encode({"a": 1})).find("$['\ud83d']")
    document = bytearray(blit.encode({"a": 1, "s": "abc"}))
    with pytest.raises(errors.NotFound):
        blit.patch(document, "/\ud83d", 1)
    with pytest.raises(errors.NotPatchable):
        blit.patch(document, blit.Path("/s"), "\ud83d")
    with blit.open_collection(tmp_path / "c.blits", "w") as collection:
        with pytest.raises(errors.Malformed, match="at byte 1"):
            collection.append_json('"\ud83d"')
        collection.append({"a": [1, 2]})
    flights = blit.open_collection(tmp_path / "c.blits")
    assert (flights.column("/\ud83d"), flights.column("/a/1")) == ([None], [2])
    for pointer in (None, 0, "a", "\ud83d"):
        with pytest.raises(errors.UsageError):
            flights.column(pointer)
    assert blit.Path(blit.Path("/a")) == blit.Path("/a")


def test_edits_and_patches():
    changes = blit.edit(blit.view(blit.encode({"a": [1, 2], "b": "x"})))
    changes.set("/a/0", 10)
    changes.insert("/a/-", {"c": None})
    changes.patch([{"op": "move", "from": "/b", "path": "/d"}])
    changes.merge({"e": 1.5})
    with pytest.raises(KeyError):
        changes.delete("/nothing")
    expected = {"a": [10, 2, {"c": None}], "d": "x", "e": 1.5}
    assert blit.view(changes.to_blit()).to_python() == expected
    document = bytearray(blit.encode({"a": 7, "b": "abc"}))
    blit.patch(document, "/b", "xyz")
    assert blit.view(document)["b"] == "xyz"
    with pytest.raises(errors.TareError):
        blit.patch(document, "/b", "longer")


@pytest.mark.parametrize("part", [False, True])
def test_an_edited_document_keeps_what_it_kept(part: bool):
    twice = blit.view(blit.from_json('{"o":{"a":1,"a":2}}', duplicates="keep"))
    halves = blit.view(blit.encode({"o": {"a\ud800": "\udc00x"}}, surrogates="keep"))
    changes = blit.edit(twice["o"] if part else twice)
    at = "" if part else "/o"
    changes.set(at + "/b", 3)

    def text(**options: str) -> bytes:
        return blit.view(changes.to_blit(**options)).get(at).to_json()

    assert text() == b'{"a":1,"a":2,"b":3}'
    assert text(duplicates="last") == b'{"a":2,"b":3}'
    with pytest.raises(errors.Malformed):
        changes.to_blit(canonical=True)
    changes = blit.edit(halves["o"] if part else halves)
    changes.set(at + "/b", 3)
    assert blit.view(changes.to_blit()).get(at).to_python() == {"a\ud800": "\udc00x", "b": 3}
    with pytest.raises(errors.Malformed):
        changes.to_blit(surrogates="error")
