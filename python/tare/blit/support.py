"""What views hand out beside values: names, entries, what validation saw, a name that is not there."""

from __future__ import annotations

import difflib
from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from tare.errors import NotFound

if TYPE_CHECKING:
    from tare._tare import BlitObjectView

__all__ = ["Items", "Keys", "MissingName", "NumberText", "Summary", "Values"]


class Summary(NamedTuple):
    """What validation saw of a document.

    Attributes:
        bytes: Of the document.
        depth: Most containers inside each other.
        keys: Different names.
        shapes: Different sequences of names.
        kinds: Lists of each kind, by name.
    """

    bytes: int
    depth: int
    keys: int
    shapes: int
    kinds: dict[str, int]


class MissingName(NotFound):
    """An object has no such name; ``args[0]`` is the name, the text tells near ones."""

    kind = "missing_name"

    def __init__(self, name: object = "", names: Iterator[str] | None = None) -> None:
        super().__init__(name, format="blit")  # type: ignore[arg-type] # as `KeyError` has it: any object
        self._names = names

    def __str__(self) -> str:
        name = self.args[0]
        text = f"{name!r:.80}"
        if not isinstance(name, str) or self._names is None:
            return text
        near = difflib.get_close_matches(name, [*self._names], n=3)
        return f"{text}; near: {', '.join(map(repr, near))}" if near else text


class NumberText:
    """A number that a document keeps as text, beside one of Python: equal where it is the same.

    >>> NumberText("1.10") == Decimal("1.1"), NumberText("1.10") == 1.1, NumberText("1.10") == 1
    (True, True, False)
    """

    __slots__ = ("_text",)
    __hash__ = None  # type: ignore[assignment] # it equals numbers that do not equal each other

    def __init__(self, text: str) -> None:
        self._text = text

    def _exact(self) -> Decimal | None:
        try:
            return Decimal(self._text)
        except ArithmeticError:  # an exponent that no Decimal has
            return None

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NumberText):
            return self._text == other._text or (self._exact() == other._exact() is not None)
        is_integer = not {*self._text} & {*".eE"}
        if is_integer or isinstance(other, int | Decimal):
            exact = self._exact()
            return exact is not None and exact == other
        return float(self._text) == other


class Keys(KeysView[str]):
    """The names of an object."""

    def __reversed__(self) -> Iterator[str]:
        return iter([*self][::-1])

    def __repr__(self) -> str:
        return f"Keys({[*self]!r})"


class Values(ValuesView[Any]):
    """The values of an object."""

    _mapping: BlitObjectView

    def __iter__(self) -> Iterator[Any]:
        return (value for _, value in self._mapping.entries())

    def __reversed__(self) -> Iterator[Any]:
        return iter([*self][::-1])

    def __repr__(self) -> str:
        return f"Values({[*self]!r})"


class Items(ItemsView[str, Any]):
    """The names and values of an object."""

    _mapping: BlitObjectView

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return iter(self._mapping.entries())

    def __reversed__(self) -> Iterator[tuple[str, Any]]:
        return iter([*self][::-1])

    def __repr__(self) -> str:
        return f"Items({[*self]!r})"
