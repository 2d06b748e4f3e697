"""What to say of a YAML text: words that YAML 1.1 reads otherwise than YAML 1.2, and what is no part of its values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, cast

from tare.datasets.recognise import format_option
from tare.datasets.repeats import first_repeated
from tare.datasets.source import printable
from tare.fidelity.comparison import show
from tare.formats.yaml_tags import with_tags

__all__ = ["READ_BY", "Readings", "core_loader", "loader", "note_dropped", "says_core"]

READ_BY = "read by YAML 1.1"  # how the note begins

_MOST_TOLD = 5
_MERGE = "tag:yaml.org,2002:merge"
_CORE_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")  # of the core schema, YAML 1.2.2, 10.3.2
_CORE_FLOAT = re.compile(
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)
_OCTAL = re.compile(r"[-+]?0[0-7]+")
_CORE: tuple[tuple[str, re.Pattern[str], list[str]], ...] = (
    ("bool", re.compile(r"(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")),
    ("int", re.compile(rf"(?:{_CORE_INTEGER.pattern})$"), list("+-0123456789")),
    ("float", re.compile(rf"(?:{_CORE_FLOAT.pattern})$"), list("+-.0123456789")),
    ("null", re.compile(r"(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]),
)
_FROM_1_1 = ("timestamp", "merge")
_SAYS_CORE = re.compile(rb"(?:\xef\xbb\xbf)?(?:[ \t]*(?:#[^\n]*)?\r?\n)*%YAML[ \t]+1\.2\s")
_CORE_BOOL = frozenset({"true", "True", "TRUE", "false", "False", "FALSE"})


class Readings:
    """Collects plain words that the two versions read differently."""

    def __init__(self) -> None:
        self.count = 0
        self.first: list[str] = []
        self.repeated: list[Any] = []  # names that stand twice, one of each mapping
        self.finer: list[Any] = []  # the first times that have nanoseconds, as nodes

    def add(self, node: Any, value: Any) -> None:
        """Takes a word and what it was read as."""
        self.count += 1
        if len(self.first) < _MOST_TOLD:
            said = f"{printable(node.value, 30)} is {printable(show(value, 30), 30)} (line {node.start_mark.line + 1:,})"
            self.first.append(said)

    def add_finer(self, node: Any) -> None:
        """Takes a time that stays text."""
        self.finer.append(node)

    def note_finer(self) -> str:
        """Returns what to tell of times that stay text; empty if there is none."""
        if not self.finer:
            return ""
        first = self.finer[0]
        more = f" and {len(self.finer) - 1:,} more" if len(self.finer) > 1 else ""
        return (
            f"times with nanoseconds are kept as text: {printable(first.value, 40)} "
            f"(line {first.start_mark.line + 1:,}){more}"
        )

    def note(self) -> str:
        """Returns what to tell the user; empty if there is none."""
        if not self.count:
            return ""
        more = f" and {self.count - _MOST_TOLD:,} more" if self.count > _MOST_TOLD else ""
        return (
            f"{READ_BY}: {', '.join(self.first)}{more}; quote what is meant as text, or say "
            f"{format_option()} yaml:ruamel, which reads it by YAML 1.2"
        )


def loader(base: type[Any], readings: Readings) -> type[Any]:
    """Returns a loader of PyYAML that adds to what it read differently.

    Args:
        base: A safe loader.
        readings: What it adds to.
    """

    def construct_mapping(self: Any, node: Any, deep: bool = False) -> Any:
        own = [key for key, _ in node.value if key.tag != _MERGE]
        merges = len(own) != len(node.value)  # which puts other names beside its own
        value = base.construct_mapping(self, node, deep)
        if merges or len(own) != len(value):
            _note_repeated([self.construct_object(key, True) for key in own], readings)
        return value

    noting: Any = type("Noting", (base,), {"construct_mapping": construct_mapping})
    for tag, differs in _DIFFERS.items():
        noting.add_constructor(tag, _noting(base.yaml_constructors[tag], differs, readings))
    return with_tags(_with_signs(noting), readings.add_finer)


def core_loader(base: type[Any], readings: Readings) -> type[Any]:
    """Returns a loader of PyYAML that reads plain words by the core schema of YAML 1.2, dates and merged keys as before.

    Args:
        base: A safe loader.
        readings: What it adds times to that stay text.
    """
    reading: Any = type("Core", (base,), {"yaml_implicit_resolvers": {}})
    for tag, pattern, first in _CORE:
        reading.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", pattern, first)
    for tag in _FROM_1_1:
        for first, known in base.yaml_implicit_resolvers.items():
            patterns = [pattern for name, pattern in known if name == f"tag:yaml.org,2002:{tag}"]
            for pattern in patterns:
                reading.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", pattern, [first])
    reading.add_constructor("tag:yaml.org,2002:int", _core_integer)
    return with_tags(_with_signs(reading), readings.add_finer)


def says_core(data: bytes) -> bool:
    r"""Returns whether a text says that it is YAML 1.2.

    Args:
        data: The text, in UTF-8.

    >>> says_core(b"# x\n%YAML 1.2\n---\na: 1\n"), says_core(b"%YAML 1.1\n---\na: 1\n"), says_core(b"a: '\n%YAML 1.2'")
    (True, False, False)
    """
    return _SAYS_CORE.match(data) is not None


def _with_signs(loader: Any) -> type[Any]:
    """Returns a loader that takes a plain ``=`` or ``<<`` for the text that it is: YAML 1.1 has types of their own for them."""
    for tag in ("value", "merge"):
        loader.add_constructor(f"tag:yaml.org,2002:{tag}", loader.construct_yaml_str)
    return cast(type[Any], loader)


def _core_integer(loader: Any, node: Any) -> int:
    text = loader.construct_scalar(node)
    return int(text, 0) if text.lstrip("+-")[:2] in ("0o", "0x") else int(text)


def _note_repeated(names: list[Any], readings: Readings) -> None:
    twice = first_repeated(names, readings)
    if twice is not readings:
        readings.repeated.append(twice)


def _noting(
    construct: Callable[[Any, Any], Any], differs: Callable[[str], bool], readings: Readings
) -> Callable[[Any, Any], Any]:
    def noted(loader: Any, node: Any) -> Any:
        value = construct(loader, node)
        if not node.style and differs(node.value) and _is_implicit(loader, node):
            readings.add(node, value)
        return value

    return noted


def _other_integer(text: str) -> bool:
    return _CORE_INTEGER.fullmatch(text) is None or _OCTAL.fullmatch(text) is not None


def _is_number(text: str) -> bool:
    return text[:1] in "+-.0123456789" and bool(_CORE_INTEGER.fullmatch(text) or _CORE_FLOAT.fullmatch(text))


def _is_implicit(loader: Any, node: Any) -> bool:
    """Whether a plain word has its type of itself, not by a tag: then the two versions agree."""
    return bool(loader.resolve(type(node), node.value, (True, False)) == node.tag)


_DIFFERS: dict[str, Callable[[str], bool]] = {
    "tag:yaml.org,2002:bool": lambda text: text not in _CORE_BOOL,
    "tag:yaml.org,2002:int": _other_integer,
    "tag:yaml.org,2002:float": lambda text: _CORE_FLOAT.fullmatch(text) is None,
    "tag:yaml.org,2002:str": _is_number,
}


def note_dropped(data: bytes) -> str:
    r"""Returns what a text has beside its values, which no conversion keeps; empty if that is nothing.

    Args:
        data: UTF-8 that was read well.

    >>> note_dropped(b"a: &x 1  # one\nb: *x\n")
    '1 comment, 1 anchor and 1 alias are not kept: the values are what is compared'
    """
    if not any(mark in data for mark in (b"#", b"&", b"*")):
        return ""
    import yaml

    text = data.decode("utf-8-sig")
    counts = {"comment": 0, "anchor": 0, "alias": 0}
    end = 0
    events: Iterator[Any] = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    for event in events:
        if isinstance(event, yaml.AliasEvent):
            counts["alias"] += 1
        elif getattr(event, "anchor", None) is not None:
            counts["anchor"] += 1
        if type(event).__name__ != "ScalarEvent":
            continue
        start, before, end = event.start_mark.index, end, event.end_mark.index
        counts["comment"] += _comments(text, before, start)
        if event.style in ("|", ">"):  # a block begins behind the rest of its line
            counts["comment"] += _comments(text, start, text.find("\n", start))
    counts["comment"] += _comments(text, end, len(text))
    told = [
        f"{count:,} {name if count == 1 else 'aliases' if name == 'alias' else name + 's'}"
        for name, count in counts.items()
        if count
    ]
    if not told:
        return ""
    said = told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"
    are = "is" if told == [told[0]] and told[0].startswith("1 ") else "are"
    return f"{said} {are} not kept: the values are what is compared"


_COMMENT = re.compile(r"(?:^|[\s])#", re.MULTILINE)


def _comments(text: str, start: int, end: int) -> int:
    """Returns the number of comments in a part of a text without scalars; each takes the rest of its line."""
    if "#" not in text[start:end]:
        return 0
    lines = text[max(start - 1, 0) : end].split("\n")
    return sum(_COMMENT.search(line) is not None for line in lines)
