"""YAML, as defined in https://yaml.org/spec/1.2.2/ (PyYAML: version 1.1).

Only loaders that build plain values: no tag in a file makes an object of a class.
"""

from __future__ import annotations

import functools
import json as stdlib_json
import re
from datetime import UTC, date, datetime, timedelta
from io import BytesIO
from typing import Any

from tare.formats.base import Buffer, Format, Library, Option
from tare.formats.scalars import DEFAULT, DOCUMENTS_ONLY, NATIVE, ORIENT, hook, texted
from tare.formats.yaml_tags import NAMESPACE, is_finer, with_tags

__all__ = ["FORMAT"]

_LOADER = Option(
    "safe", ("safe", "c"), "safe = the loader in pure Python, PyYAML's own default; c = the one of libyaml."
)
_SORT_KEYS = Option(True, (True, False), "Write keys in alphabetical order, PyYAML's own default.")
_SIGNS = (
    "tag:yaml.org,2002:value",
    "tag:yaml.org,2002:merge",
)  # a plain = or <<, as a value: no loader makes one of it
# Numbers of the core schema of YAML 1.2.2, 10.3.2.
_CORE_NUMBER = re.compile(
    r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+)\Z"
)
_KNOWN = (bool, int, float, str, bytes, date, datetime, set)


def _encode_pyyaml(obj: Any, *, default: str, loader: str, orient: str, sort_keys: bool) -> bytes:
    import yaml

    dumper = _safe_dumper(loader)
    value = texted(obj, _KNOWN, default)
    try:
        text: bytes = yaml.dump(value, Dumper=dumper, encoding="utf-8", sort_keys=sort_keys)
    except yaml.representer.RepresenterError as error:  # whose message is a tuple
        raise TypeError(f"{error.args[0]} of type {type(error.args[-1]).__name__}") from error
    return text


@functools.cache
def _safe_dumper(name: str) -> Any:
    """Returns a safe dumper of PyYAML that writes moments whose offset has seconds in UTC: YAML's offsets have none.

    Texts that only YAML 1.2 reads as numbers (``1e3``, ``0o17``, ``09``) are quoted, as those of YAML 1.1 are.
    """
    import yaml

    base = yaml.CSafeDumper if name == "c" else yaml.SafeDumper
    dumper: Any = type("Safe", (base,), {})
    dumper.add_representer(datetime, lambda self, value: self.represent_datetime(_whole_minutes(value)))
    # Asked after the resolvers of YAML 1.1, so that no number is written otherwise; no value has this tag.
    dumper.add_implicit_resolver(f"{NAMESPACE}core", _CORE_NUMBER, list("-+.0123456789"))
    return dumper


def _whole_minutes(value: datetime) -> datetime:
    """Returns the moment, in UTC if its offset has seconds."""
    offset = value.utcoffset()
    return value if offset is None or not offset % timedelta(minutes=1) else value.astimezone(UTC)


def _decode_pyyaml(data: Buffer, *, default: str, loader: str, orient: str, sort_keys: bool) -> Any:
    import yaml

    return yaml.load(bytes(data), Loader=_safe_loader(loader))  # noqa: S506 - it is safe


@functools.cache
def _safe_loader(name: str) -> Any:
    """Returns a safe loader of PyYAML that takes a plain ``=`` or ``<<``, of which YAML 1.1 has types of their own, for text."""
    import yaml

    base = yaml.CSafeLoader if name == "c" else yaml.SafeLoader
    loader: Any = type("Safe", (base,), {})
    for tag in _SIGNS:
        loader.add_constructor(tag, base.construct_yaml_str)
    return with_tags(loader)


def _encode_ruamel(obj: Any, *, default: str, orient: str) -> bytes:
    file = BytesIO()
    _ruamel().dump(texted(obj, _KNOWN, default), file)
    return file.getvalue()


def _decode_ruamel(data: Buffer, *, default: str, orient: str) -> Any:
    documents = list(_ruamel().load_all(bytes(data)))
    return documents[0] if len(documents) == 1 else documents


def _ruamel() -> Any:
    from ruamel.yaml import YAML

    yaml = YAML(typ="safe", pure=True)
    yaml.Constructor = _ruamel_constructor()
    yaml.Representer = _ruamel_representer()
    return yaml


@functools.cache
def _ruamel_representer() -> Any:
    """Returns a representer of ruamel.yaml that writes moments as that of PyYAML does."""
    from ruamel.yaml.representer import SafeRepresenter

    def represent_time(self: Any, value: datetime) -> Any:
        return SafeRepresenter.represent_datetime(self, _whole_minutes(value))

    representer: Any = type("Representer", (SafeRepresenter,), {})
    representer.add_representer(datetime, represent_time)
    return representer


@functools.cache
def _ruamel_constructor() -> Any:
    """Returns a constructor of ruamel.yaml that takes a plain ``=`` or ``<<`` for text, as times that are finer than Python's."""
    from ruamel.yaml.constructor import SafeConstructor

    def construct_time(self: Any, node: Any) -> Any:
        value = SafeConstructor.construct_yaml_timestamp(self, node)
        return str(node.value) if is_finer(node.value) else value

    constructor: Any = type("Constructor", (SafeConstructor,), {})
    constructor.add_constructor(f"{NAMESPACE}timestamp", construct_time)
    for tag in _SIGNS:
        constructor.add_constructor(tag, SafeConstructor.construct_yaml_str)
    return constructor


def _encode_rapidyaml(obj: Any, *, default: str, orient: str) -> bytes:
    import ryml

    text = stdlib_json.dumps(obj, ensure_ascii=False, default=hook(default))
    return str(ryml.emit_yaml(ryml.parse_in_arena(text))).encode()


def _decode_rapidyaml(data: Buffer, *, default: str, orient: str) -> Any:
    import ryml

    text = str(data, "utf-8")  # rapidyaml takes any bytes for text
    return stdlib_json.loads(ryml.emit_json(ryml.parse_in_arena(text)), strict=False)


_OPENS = re.compile(rb"(%YAML|---[ \r\n]|(#[^\n]*\n|\s*\n)*(- \S|[\w\"'][^:,{}\[\]\n]*:([ \r\n]|$)))")
_DEEP = re.compile(rb"[\[{]|[\]}]|^[ -]+(?=\S)", re.MULTILINE)


def depth(data: Buffer, limit: int) -> int:
    """An upper bound of the nesting of YAML text, counted no further than one above ``limit``.

    Brackets count wherever they stand, and so does each step of indentation
    and each dash: text that is full of them may be taken for deep.

    >>> depth(b"- - - a", 100), depth(b"[[[]]]", 100)
    (3, 3)
    """
    now = deepest = 0
    for token in _DEEP.finditer(data):
        text = token.group()
        if text in (b"[", b"{"):
            now += 1
        elif text in (b"]", b"}"):
            now = max(now - 1, 0)
        else:  # at most one level per dash, or per column of indentation
            deepest = max(deepest, now + (text.count(b"-") or len(text)))
        deepest = max(deepest, now)
        if deepest > limit:
            return deepest
    return deepest


def _sniff(head: bytes) -> bool:
    return b"\0" not in head and _OPENS.match(head.removeprefix(b"\xef\xbb\xbf")) is not None


FORMAT = Format(
    id="yaml",
    title="YAML",
    extensions=(".yaml", ".yml"),
    kinds=frozenset({"document", "table"}),
    spec="https://yaml.org/spec/1.2.2/",
    languages=("c", "c++", "csharp", "go", "java", "javascript", "php", "python", "r", "ruby", "rust"),
    text=True,
    sniff=_sniff,
    depth=depth,
    libraries=(
        Library(
            name="pyyaml",
            native=NATIVE,
            encode=_encode_pyyaml,
            decode=_decode_pyyaml,
            modules=("yaml",),
            distribution="PyYAML",
            extra="documents",
            options={"default": DEFAULT, "loader": _LOADER, "orient": ORIENT, "sort_keys": _SORT_KEYS},
            variants={
                "document": ({"loader": "c"}, {"loader": "c", "sort_keys": False}, {}),
                "table": (),
            },
            max_depth=3_000,  # libyaml's loader overflows its stack before 50,000
            slow=True,
            notes=("Sorts the keys by default; as YAML 1.1 it reads a bare `no` as false.",),
        ),
        Library(
            name="rapidyaml",
            native=NATIVE,
            encode=_encode_rapidyaml,
            decode=_decode_rapidyaml,
            modules=("ryml",),
            distribution="rapidyaml",
            extra="documents",
            options={"default": DEFAULT, "orient": ORIENT},
            variants=DOCUMENTS_ONLY,
            notes=(
                "Through its JSON: values of YAML that JSON lacks come as text, and `~` comes as text too.",
            ),
        ),
        Library(
            name="ruamel",
            native=NATIVE,
            encode=_encode_ruamel,
            decode=_decode_ruamel,
            modules=("ruamel.yaml",),
            distribution="ruamel.yaml",
            extra="documents",
            options={"default": DEFAULT, "orient": ORIENT},
            variants=DOCUMENTS_ONLY,
            slow=True,
        ),
    ),
)
