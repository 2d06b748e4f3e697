"""`help()` of `tare.blit`: every public name says what it is, and examples give what they say."""

from __future__ import annotations

import doctest
from collections.abc import Iterator
from types import MemberDescriptorType
from typing import Any

import pytest

from tare import blit, errors

COMPILED = [blit.View, blit.ObjectView, blit.ListView, blit.Edit, blit.Path]


def members() -> Iterator[tuple[str, Any]]:
    """Public names of the module, and of its classes, which the classes define themselves."""
    for name in blit.__all__:
        thing = getattr(blit, name)
        yield name, thing
        if isinstance(thing, type):
            for inner, member in vars(thing).items():
                is_slot = isinstance(member, MemberDescriptorType)
                if not inner.startswith("_") and not is_slot and hasattr(member, "__get__"):
                    yield f"{name}.{inner}", member


def test_every_public_name_is_documented() -> None:
    """Functions, classes, their methods and properties."""
    inherited = {"MissingName.kind"}
    bare = [name for name, thing in members() if not (getattr(thing, "__doc__", None) or "").strip()]
    assert [name for name in bare if name not in inherited] == []


def test_what_is_compiled_has_examples_that_are_true() -> None:
    """Each method and function, with an example that gives what it says."""
    functions = [
        blit.view,
        blit.encode,
        blit.from_json,
        blit.from_ndjson,
        blit.edit,
        blit.patch,
    ]
    found = {function.__name__: function for function in functions}
    for kind in COMPILED:
        for name, member in vars(kind).items():
            if not name.startswith("_"):
                found[f"{kind.__name__}.{name}"] = member
    for name, thing in found.items():
        text = thing.__doc__ or ""
        assert ">>>" in text, name
        test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
        assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test).failed == 0, name
    assert len(found) > 30


def test_a_view_shows_strings_as_python_does() -> None:
    """Names and values, in the same quotes."""
    view = blit.view(blit.encode({"s": "x", "it's": "a'b\"c", "n": "\n", "long": "y" * 400}))
    assert repr(view).startswith("ObjectView({'s': 'x', \"it's\": 'a\\'b\"c', 'n': '\\n', 'long': 'yyy")
    assert '"y' not in repr(view)
    assert repr(blit.view(blit.encode([{"a": 1}, "\u00e9"]))) == "ListView([{...}, '\u00e9'])"


def test_names_values_and_items_go_backwards() -> None:
    """As those of a dict."""
    value = {"a": 1, "b": 2, "c": 3}
    view = blit.view(blit.encode(value))
    assert list(reversed(view.keys())) == list(reversed(value.keys()))
    assert list(reversed(view.values())) == list(reversed(value.values()))
    assert list(reversed(view.items())) == list(reversed(value.items()))


def test_an_object_that_has_no_place_says_what_helps() -> None:
    """The error names `default=`, which names of objects do not have."""
    with pytest.raises(errors.Unsupported, match=r"type .*object.*default="):
        blit.encode({"a": object()})
    with pytest.raises(errors.Unsupported) as caught:
        blit.encode({1: "a"})
    assert "default=" not in str(caught.value)


def test_a_value_is_patched_at_a_path() -> None:
    """A parsed pointer, as everywhere."""
    document = bytearray(blit.encode({"to": ["LHR"]}))
    blit.patch(document, blit.Path("/to/0"), "JFK")
    assert blit.view(document).to_python() == {"to": ["JFK"]}
