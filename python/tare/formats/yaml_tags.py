"""Tags of YAML that have a meaning of their own as values, and what is wrong of a value under one. Not a format."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, cast

__all__ = ["NAMESPACE", "advice_of", "is_finer", "is_foreign", "with_tags"]

NAMESPACE = "tag:yaml.org,2002:"
_CODE = ("python/", "perl/", "ruby/", "java/", "js/")
_WORDS = ("null", "bool", "int", "float", "timestamp")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_FINER = re.compile(r"\.[0-9]{6}[0-9]*[1-9]")  # than microseconds
_DIGITS = re.compile(r"Exceeds the limit \(([0-9]+) digits\).*")  # what Python says of an integer
_MOST_DIGITS = r"it has more digits than the \1 that are read"
_SPACE = re.compile(r"\s+")
_WRONG = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError)


def with_tags(loader: Any, tell_finer: Callable[[Any], None] | None = None) -> type[Any]:
    """Returns a safe loader of PyYAML, changed: it makes the right value of each tag of YAML, or says what is wrong and where.

    An ordered map is a mapping. What PyYAML drops without a word is an error: values of a set, letters of base64 that are
    none, text under null. A time with nanoseconds, which Python's have not, stays the text that it is.

    Args:
        loader: The loader, a class.
        tell_finer: Called with the node of each time that stays text.

    >>> import yaml
    >>> yaml.load("!!omap [b: 1, a: !!set {x: }]", with_tags(type("Own", (yaml.SafeLoader,), {})))
    {'b': 1, 'a': {'x'}}
    """
    known = dict(loader.yaml_constructors)
    for name in _WORDS:
        construct = known[NAMESPACE + name]
        if name == "timestamp":
            construct = _exact(construct, known[f"{NAMESPACE}str"], tell_finer)
        if name == "float":
            construct = _finite(construct)
        loader.add_constructor(NAMESPACE + name, _checked(_null if name == "null" else construct))
    loader.add_constructor(f"{NAMESPACE}binary", _checked(_binary))
    loader.add_constructor(f"{NAMESPACE}omap", _ordered)
    loader.add_constructor(f"{NAMESPACE}set", _set)
    loader.add_constructor(None, _unknown)
    return cast(type[Any], loader)


def is_finer(text: str) -> bool:
    """Returns true if a time has nanoseconds, which Python's have not.

    >>> is_finer("2001-12-14T21:59:43.1234567Z"), is_finer("2001-12-14T21:59:43.1234560Z")
    (True, False)
    """
    return _FINER.search(text) is not None


def advice_of(error: Any) -> str:
    """Returns what to do about an error of a loader with these tags; empty where it is none of theirs."""
    return str(getattr(error, "advice", ""))


def is_foreign(error: Any) -> bool:
    """Returns true if an error is that of a tag for which no value is known."""
    return bool(getattr(error, "foreign", False))


def _refuse(said: str, node: Any, advice: str, *, foreign: bool = False) -> NoReturn:
    from yaml.constructor import ConstructorError

    error: Any = ConstructorError(None, None, said, node.start_mark)
    error.advice, error.foreign = advice, foreign
    raise error


def _short(tag: str) -> str:
    """Returns a tag as it is written."""
    return f"!!{tag.removeprefix(NAMESPACE)}" if tag.startswith(NAMESPACE) else tag


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _checked(construct: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def checked(loader: Any, node: Any) -> Any:
        if not isinstance(node.value, str):
            _refuse(
                f"invalid {_short(node.tag)}: expected a scalar, got a {node.id}", node, "Repair it there."
            )
        try:
            return construct(loader, node)
        except _WRONG as error:
            said = isinstance(error, ValueError) and "invalid literal" not in str(error)
            why = f": {_DIGITS.sub(_MOST_DIGITS, str(error))}" if said else ""
            advice = "Quote the value that is meant as text."
            _refuse(f"invalid {_short(node.tag)} {_shown(node.value)}{why}", node, advice)

    return checked


def _finite(construct: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Returns what makes a number, and no infinity of one that is larger than any double."""

    def finite(loader: Any, node: Any) -> Any:
        value = construct(loader, node)
        if math.isinf(value) and "inf" not in node.value.lower():
            raise ValueError(f"it is {'less' if value < 0 else 'larger'} than any double")
        return value

    return finite


def _null(loader: Any, node: Any) -> None:
    if node.value not in _NULLS:
        raise ValueError("expected nothing, ~ or null")


def _binary(loader: Any, node: Any) -> bytes:
    return base64.b64decode(_SPACE.sub("", node.value).encode("ascii"), validate=True)


def _exact(
    construct: Callable[[Any, Any], Any],
    as_text: Callable[[Any, Any], Any],
    tell_finer: Callable[[Any], None] | None,
) -> Callable[[Any, Any], Any]:
    """Returns what makes a time, or the text that it is if it is finer than microseconds."""

    def exact(loader: Any, node: Any) -> Any:
        value = construct(loader, node)
        if not is_finer(node.value):
            return value
        if tell_finer is not None:
            tell_finer(node)
        return as_text(loader, node)

    return exact


def _ordered(loader: Any, node: Any) -> Iterator[dict[Any, Any]]:
    """Makes a mapping of an ordered map: a list of mappings of one name each."""
    value: dict[Any, Any] = {}
    yield value
    if not isinstance(node.value, list) or node.id != "sequence":
        said = f"invalid !!omap: expected a sequence, got a {node.id}"
        _refuse(said, node, "Write - before each of its names.")
    for item in node.value:
        if item.id != "mapping" or len(item.value) != 1:
            found = f"{len(item.value)} names" if item.id == "mapping" else f"a {item.id}"
            said = f"invalid item of !!omap: expected a mapping of one name, got {found}"
            _refuse(said, item, "Repair it there.")
        name = loader.construct_object(item.value[0][0], True)
        try:
            again = name in value
        except TypeError:
            _refuse("a name of !!omap is a list or a mapping", item, "Use !!pairs, which takes it.")
        if again:
            _refuse(f"!!omap has the name {_shown(name)} twice", item, "Use !!pairs, which takes it.")
        value[name] = loader.construct_object(item.value[0][1])


def _set(loader: Any, node: Any) -> Iterator[set[Any]]:
    """Makes a set of a mapping whose values are null."""
    value: set[Any] = set()
    yield value
    if node.id != "mapping":
        said = f"invalid !!set: expected a mapping, got a {node.id}"
        _refuse(said, node, "Write ? before each of its values.")
    odd = next((item for _, item in node.value if item.tag != f"{NAMESPACE}null"), None)
    if odd is not None:
        _refuse("invalid !!set: one of its names has a value", odd, "Remove the value, or the tag.")
    value.update(loader.construct_mapping(node, True))


def _unknown(loader: Any, node: Any) -> NoReturn:
    tag = _short(node.tag)
    if tag.removeprefix("!!").startswith(_CODE):
        _refuse(f"the tag {tag[:60]} names code", node, "Tags that name code are never loaded.")
    _refuse(
        f"no value is known for the tag {tag[:60]}",
        node,
        "It is of the program that wrote or reads the file: remove it, or write what it stands for.",
        foreign=True,
    )
