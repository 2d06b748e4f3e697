"""The shape of a record, version 1, as a JSON Schema; and the checker that readers use.

docs/specs/record.schema.json is this table printed. Fields may be added under the same
number, so every object allows more than it names; what is named has the type given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tare.errors import RecordError
from tare.measure.cases import STATUSES

__all__ = ["SCHEMA", "check"]

_MAX_CASES = 1_000_000


def _object(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "object"}
    if required:
        found["required"] = list(required)
    if properties:
        found["properties"] = properties
    return found


def _map(values: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": dict(values)}


def _list(items: Mapping[str, Any], **limits: int) -> dict[str, Any]:
    return {"type": "array", "items": dict(items), **limits}


_TEXT = {"type": "string"}
_TEXT_OR_NULL = {"type": ["string", "null"]}
_COUNT = {"type": ["integer", "null"], "minimum": 0}
_NUMBER = {"type": ["number", "null"]}
_TRUTH = {"type": ["boolean", "null"]}
_TABLE = {"type": ["object", "null"]}
_LEVEL = {"type": "string", "maxLength": 8192}

_VERIFY = {
    "type": ["object", "null"],
    "properties": {
        "verdict": _TEXT_OR_NULL,
        "items_in": _COUNT,
        "items_out": _COUNT,
        "columns": _COUNT,
        "told": _TEXT_OR_NULL,
        "unchecked": _TEXT_OR_NULL,
        "r_lost": _list(_TEXT),
        "changes": _list(_object(path=_TEXT, verdict=_TEXT, count=_COUNT)),
    },
}
_LAUNCH = _object(
    ("n", "samples"),
    n={"type": "integer", "minimum": 0},
    pid=_COUNT,
    cpu={"type": ["integer", "null"]},
    hash_seed=_COUNT,
    started={"type": ["string", "number", "null"]},
    psi_some=_NUMBER,
    load=_NUMBER,
    samples=_map(_map(_list({"type": ["integer", "null"]}))),
)
_EXCHANGE = _object(
    ("codecs", "pairs"),
    set=_TEXT,
    codecs=_list(_TEXT),
    own_share=_NUMBER,
    reason=_TEXT_OR_NULL,
    pairs=_map(
        _map(
            _object(
                ("counts", "values"),
                reason=_TEXT_OR_NULL,
                counts=_map(_COUNT),
                values=_map(
                    _object(
                        ("outcome", "in"),
                        outcome=_TEXT,
                        verdict=_TEXT_OR_NULL,
                        out=_TEXT_OR_NULL,
                        error=_TEXT_OR_NULL,
                        count=_COUNT,
                        at=_TEXT_OR_NULL,
                        **{"in": _TEXT},
                    )
                ),
            )
        )
    ),
)

_CASE = _object(
    ("key", "labels", "status"),
    key={"type": "string", "minLength": 1, "maxLength": 65536},
    labels=_map(_LEVEL),
    status={"type": "string", "enum": list(STATUSES)},
    reason=_TEXT_OR_NULL,
    note=_TEXT_OR_NULL,
    stage=_TEXT_OR_NULL,
    operations=_list(_TEXT),
    bytes=_COUNT,
    sha256=_TEXT_OR_NULL,
    items=_COUNT,
    raw_bytes=_COUNT,
    verify=_VERIFY,
    cold={"type": ["object", "null"], "additionalProperties": _NUMBER},
    first_calls=_list(_TEXT),
    memory={
        "type": ["object", "null"],
        "additionalProperties": {
            "type": ["object", "null"],
            "properties": {"before_bytes": _NUMBER, "peak_bytes": _NUMBER, "method": _TEXT_OR_NULL},
        },
    },
    launches=_list({"$ref": "#/$defs/launch"}),
)
_CODEC = _object(
    options={"type": "object"},
    version=_TEXT_OR_NULL,
    threads={"type": ["integer", "string", "null"]},
    flags={"type": "object"},
    library=_TEXT_OR_NULL,
    format=_TEXT_OR_NULL,
    compressor=_TEXT_OR_NULL,
    compressor_options={"type": "object"},
    versions={"type": "object"},
)
_DATASET = _object(
    ("name",),
    name=_TEXT,
    kind=_TEXT_OR_NULL,
    source_format=_TEXT_OR_NULL,
    source_title=_TEXT_OR_NULL,
    source_compression=_TEXT_OR_NULL,
    rows=_COUNT,
    items=_COUNT,
    bytes_memory=_COUNT,
    bytes_disk=_COUNT,
    files=_COUNT,
    has_path={"type": ["boolean", "null"]},
    compressors={"type": ["array", "null"], "items": _TEXT},
    columns={"type": ["array", "null"], "items": {"type": "object"}},
    index_columns=_COUNT,
    types={"type": ["object", "null"], "additionalProperties": _NUMBER},
    null_share=_NUMBER,
    depth=_COUNT,
    tabular=_TRUTH,
    entropy_bits=_NUMBER,
    partial=_TABLE,
    hash=_TEXT_OR_NULL,
    sampling=_TEXT_OR_NULL,
    sizes=_map(_object(hash=_TEXT_OR_NULL, rows=_COUNT, items=_COUNT, bytes_memory=_COUNT)),
)
_MACHINE = _object(
    cpu_model=_TEXT_OR_NULL,
    cores=_COUNT,
    quota=_NUMBER,
    governor=_TEXT_OR_NULL,
    memory_bytes=_COUNT,
    kernel=_TEXT_OR_NULL,
    virtualised=_TRUTH,
    filesystem=_TEXT_OR_NULL,
    runtimes=_map(_TEXT_OR_NULL),
    host=_TEXT_OR_NULL,
    one_cpu=_TRUTH,
    clocks=_TABLE,
    psi=_TRUTH,
    file_bytes_per_s=_NUMBER,
)
_TEXTS = {"type": ["array", "null"], "items": _TEXT}
_PARTS = {"type": ["array", "null"], "items": {"type": "object"}}
_VERDICT = {
    "type": ["object", "null"],
    "properties": {
        **dict.fromkeys(
            ("profile", "route", "codec", "key", "runner_up", "for_others", "confidence", "part", "sentence"),
            _TEXT_OR_NULL,
        ),
        **dict.fromkeys(("beside", "keeps", "doubt", "preferred", "only_ours"), _TEXT_OR_NULL),
        **dict.fromkeys(("p_best", "near_best", "noise", "share", "messages"), _NUMBER),
        **dict.fromkeys(("provisional", "executes_code", "small", "named"), _TRUTH),
        **dict.fromkeys(("why", "rivals", "tie", "reasons"), _TEXTS),
        **dict.fromkeys(("flips", "excluded"), _PARTS),
        **dict.fromkeys(("weights", "chosen", "fastest", "smallest", "source", "reference"), _TABLE),
        "p": {"type": ["object", "null"], "additionalProperties": _NUMBER},
        "cost_s": {"type": ["object", "null"], "additionalProperties": _list(_NUMBER)},
        "figures": {"type": ["object", "null"], "additionalProperties": _TABLE},
    },
}
_DERIVED = {
    "type": ["object", "null"],
    "properties": {
        "version": {"type": "integer"},
        "base": _TEXT_OR_NULL,
        "headline_profile": _TEXT_OR_NULL,
        "headline": _VERDICT,
        "cases": _map({"type": "object", "properties": {"ops": _map(_TABLE), "total": _TABLE}}),
        "growth": _list({"type": "object"}),
        "pareto": _list(_TEXT),
        "crossings": _list({"type": "object"}),
        "profiles": _map(_VERDICT),
        "noise": _TABLE,
    },
}

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Tare record, versions 1 and 2",
    "type": "object",
    "required": ["tare_record", "id", "created", "tare", "machine", "dataset", "codecs", "cases"],
    "properties": {
        "tare_record": {"enum": [1, 2]},
        "method": {"type": ["integer", "null"], "minimum": 1},
        "id": {"type": "string", "minLength": 1, "maxLength": 200},
        "created": _TEXT,
        "tare": _TEXT,
        "commits": _list(_TEXT_OR_NULL),
        "command": _TEXT_OR_NULL,
        "plan": _TABLE,
        "seed": {"type": ["integer", "null"]},
        "elapsed_s": _NUMBER,
        "interrupted": _TRUTH,
        "machine": _MACHINE,
        "dataset": _DATASET,
        "codecs": _map(_CODEC),
        "cases": _list({"$ref": "#/$defs/case"}, maxItems=_MAX_CASES),
        "fidelity": {
            "type": ["object", "null"],
            "properties": {
                "probes": _map(_map(_map(_object(verdict=_TEXT_OR_NULL)))),
                "own": _map(_VERIFY),
                "exchange": _map(_EXCHANGE),
            },
        },
        "noise": {
            "type": ["object", "null"],
            "properties": {"aa": _list({"type": "object"}), "floor": _NUMBER},
        },
        "derived": _DERIVED,
    },
    "$defs": {"case": _CASE, "launch": _LAUNCH},
}
"""JSON Schema (draft 2020-12) of a record."""

_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: type(value) is int,
    "number": lambda value: type(value) in (int, float),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
_INTEGERS = frozenset({int, type(None)})


def check(value: Any, schema: Mapping[str, Any] = SCHEMA, path: str = "record") -> None:
    """Refuse a value that the schema does not allow, naming the first place.

    Only the few keywords that `SCHEMA` uses are known; a test checks the same records
    with a full JSON Schema library.

    Args:
        value: A parsed record, or a part of one.
        schema: Schema of that part.
        path: Name of the part in the message.

    Raises:
        RecordError: Place, what was found, what was expected.

    >>> check([1, None], {"type": "array", "items": {"type": "string"}}, "labels")
    Traceback (most recent call last):
    tare.errors.RecordError: labels[0]: an integer is there, a string is needed
    """
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    if "const" in schema and (value != schema["const"] or type(value) is not type(schema["const"])):
        raise _error(path, value, f"{schema['const']!r} is needed")
    allowed = schema.get("type")
    if allowed is not None:
        names = [allowed] if isinstance(allowed, str) else allowed
        if not any(_TYPES[name](value) for name in names):
            raise _error(path, value, f"{_a(' or '.join(names))} is needed")
    if isinstance(value, str):
        _check_text(value, schema, path)
    elif isinstance(value, dict):
        _check_object(value, schema, path)
    elif isinstance(value, list):
        _check_list(value, schema, path)
    elif type(value) in (int, float) and value < schema.get("minimum", value):
        raise RecordError(f"{path}: {value} is below {schema['minimum']}", path=path)


def _check_text(value: str, schema: Mapping[str, Any], path: str) -> None:
    if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
        raise RecordError(f"{path}: text of {len(value)} characters is not allowed here", path=path)
    if "enum" in schema and value not in schema["enum"]:
        raise RecordError(
            f"{path}: one of {', '.join(schema['enum'])} is needed, not {value[:80]!a}", path=path
        )


def _check_object(value: dict[str, Any], schema: Mapping[str, Any], path: str) -> None:
    for name in schema.get("required", ()):
        if name not in value:
            raise RecordError(f"{path}: {name} is missing", path=path)
    known = schema.get("properties", {})
    others = schema.get("additionalProperties")
    for name, part in value.items():
        rule = known.get(name, others)
        if rule is not None:
            check(part, rule, f"{path}.{_cut(name)}")


def _check_list(value: list[Any], schema: Mapping[str, Any], path: str) -> None:
    if len(value) > schema.get("maxItems", len(value)):
        raise RecordError(
            f"{path}: {len(value)} entries; at most {schema['maxItems']} are allowed", path=path
        )
    items = schema.get("items")
    if items is None or (items.get("type") == ["integer", "null"] and _INTEGERS.issuperset(map(type, value))):
        return  # raw samples are long lists of integers: checked in one pass
    for place, part in enumerate(value):
        check(part, items, f"{path}[{place}]")


def _error(path: str, value: Any, wanted: str) -> RecordError:
    found = next((name for name in ("integer", *_TYPES) if _TYPES[name](value)), "value")
    return RecordError(f"{path}: {_a(found)} is there, {wanted}", path=path)


def _a(name: str) -> str:
    return name if name == "null" else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _cut(name: str) -> str:
    return ascii(name[:80])[1:-1]
