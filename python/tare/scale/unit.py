"""A unit: one piece of work that can run anywhere, alone, any number of times.

A unit is a JSON object of integers and texts. It names what to read, how to write it and where; it holds no
code and no credentials. Its key is the content hash of what it means, so that two units of one meaning
have one key on every host.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from tare._tare import Blake3
from tare.errors import PlanError

__all__ = ["MAX_BYTES", "RANGES", "TASKS", "canonical", "check_unit", "input_bytes", "safe_name", "unit_key"]

TASKS = ("convert", "encode", "put", "measure")
RANGES = ("bytes", "rows", "row_groups", "batches", "chunks")
MAX_BYTES = 64 << 10
SCHEMES = ("file", "s3")

_MAX_DEPTH = 16
_FIELDS: dict[str, type] = {
    "tare_unit": int,
    "task": str,
    "input": list,
    "read": str,
    "write": str,
    "output": dict,
    "options": dict,
    "needs": dict,
}
_INPUT: dict[str, type] = {
    "uri": str, "size": int, "mtime_ns": int, "etag": str, "hash": str, "range": dict,
}  # fmt: skip
_NEEDED = {
    "convert": ("input", "options", "write", "output"),
    "encode": ("input", "options", "output"),
    "put": ("input", "options"),
    "measure": ("input", "options", "output"),
}
_OPTIONS: dict[str, type] = {
    "columns": str, "encoding": str, "schema": str, "partition": str, "folders": int,
    "data_only": int, "strict": int, "store": str, "namespace": str, "keys": list, "values": int, "codecs": list, "seconds": int,
    "tare": str, "unreadable": str, "variable": str,
}  # fmt: skip
# What whoever runs a plan allows, never the plan: it may come from anywhere.
_OF_A_RUN = {
    "allow_pickle": "to run code",
    "on_loss": "that values change",
    "overwrite": "to replace files that no plan knows",
}
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def canonical(value: Any) -> bytes:
    """JSON with sorted names and without spaces: equal values have equal bytes.

    >>> canonical({"b": 1, "a": ["x"]})
    b'{"a":["x"],"b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def unit_key(unit: Mapping[str, Any]) -> str:
    """The key of a unit: BLAKE3 of all that it means, 64 hex digits.

    What it needs to run, the folder that its outputs stand in, and the time of an input that is known by its
    hash are left out.

    >>> unit = {"tare_unit": 1, "task": "convert", "output": {"base": "file:///a", "names": ["x"]}}
    >>> unit_key(unit) == unit_key(unit | {"needs": {"memory": 1}})
    True
    """
    meant = {name: value for name, value in unit.items() if name != "needs"}
    if isinstance(meant.get("output"), dict):
        meant["output"] = {name: value for name, value in meant["output"].items() if name != "base"}
    if any("mtime_ns" in one and one.get("hash") for one in meant.get("input", ())):
        meant["input"] = [_without_time(one) for one in meant["input"]]
    hasher = Blake3()
    hasher.update(canonical(meant))
    return str(hasher.hexdigest())


def check_unit(unit: Any, *, base: str | None = None) -> dict[str, Any]:
    """A unit that came from outside, checked; itself if all is well.

    Args:
        unit: What the line of a plan holds.
        base: The folder that outputs must stand in; not compared if it is not given.

    Raises:
        PlanError: What is wrong, and in which field.
    """
    if not isinstance(unit, dict):
        raise PlanError("a unit is a JSON object")
    if unit.get("tare_unit") != 1:
        raise PlanError(f"tare_unit: this version reads 1, not {unit.get('tare_unit')!r:.40}")
    for name, value in unit.items():
        if name not in _FIELDS:
            raise PlanError(f"there is no field {name!r:.60}: fields are {', '.join(_FIELDS)}")
        if type(value) is not _FIELDS[name]:
            raise PlanError(f"{name}: {_article(_FIELDS[name])} is needed, not {value!r:.60}")
    if unit.get("task") not in TASKS:
        raise PlanError(f"task: one of {', '.join(TASKS)}, not {unit.get('task')!r:.60}")
    if not _is_plain(unit, 0):
        _check_values(unit, "unit", 0)
    for number, given in enumerate(unit.get("input", [])):
        _check_input(given, f"input[{number}]")
    _check_output(unit.get("output", {}), base)
    _check_task(unit)
    if len(canonical(unit)) > MAX_BYTES:
        raise PlanError(f"a unit has at most {MAX_BYTES:,} bytes")
    return unit


def input_bytes(unit: Mapping[str, Any]) -> int:
    """Bytes that a unit reads, as far as its inputs say.

    >>> input_bytes({"input": [{"uri": "file:///a", "size": 9, "range": {"kind": "bytes", "start": 2, "end": 6}}]})
    4
    """
    total = 0
    for given in unit.get("input", []):
        part = given.get("range") or {}
        whole = int(given.get("size", 0))
        total += int(part.get("bytes", part["end"] - part["start"] if part.get("kind") == "bytes" else whole))
    return total


def safe_name(name: object) -> bool:
    """Whether a text is a relative path of plain parts.

    >>> [safe_name(name) for name in ("a/b.parquet", "../a", "/a", "a//b", "a/.tare/b", "")]
    [True, False, False, False, False, False]
    """
    if not isinstance(name, str) or not name or len(name.encode(errors="surrogatepass")) > 1024:
        return False
    if _CONTROL.search(name) or "\\" in name:
        return False
    return all(part not in ("", ".", "..", ".tare") for part in name.split("/"))


def _without_time(given: Mapping[str, Any]) -> dict[str, Any]:
    """An input as its key knows it: its hash, if it has one, and then not its time."""
    return {name: value for name, value in given.items() if name != "mtime_ns" or not given.get("hash")}


def _article(kind: type) -> str:
    return {int: "a whole number", str: "a text", list: "a list", dict: "an object"}[kind]


def _is_plain(value: Any, depth: int) -> bool:
    """Whether a value is of objects, lists, whole numbers and texts: without the words that say where it is not."""
    kind = type(value)
    if kind is str or kind is int:
        return True
    if depth > _MAX_DEPTH or kind not in (dict, list):
        return False
    for part in value.values() if kind is dict else value:  # noqa: SIM110 - a generator takes twice as long
        if not _is_plain(part, depth + 1):
            return False
    return True


def _check_values(value: Any, where: str, depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise PlanError(f"{where[:80]}: nested more than {_MAX_DEPTH} deep")
    if isinstance(value, dict):
        for name, part in value.items():
            _check_values(part, f"{where}.{name}", depth + 1)
    elif isinstance(value, list):
        for number, part in enumerate(value):
            _check_values(part, f"{where}[{number}]", depth + 1)
    elif type(value) not in (int, str):
        raise PlanError(f"{where[:80]}: whole numbers and texts only, not {value!r:.40}")


def _check_input(given: Any, where: str) -> None:
    if not isinstance(given, dict) or not isinstance(given.get("uri"), str):
        raise PlanError(f"{where}: an object with a uri is needed")
    for name, value in given.items():
        if name not in _INPUT:
            raise PlanError(f"{where}: there is no field {name!r:.60}")
        early = name == "mtime_ns"  # before 1970 it is negative
        if type(value) is not _INPUT[name] or (type(value) is int and value < 0 and not early):
            raise PlanError(f"{where}.{name}: {_article(_INPUT[name])} is needed, not {value!r:.60}")
    _check_uri(given["uri"], f"{where}.uri")
    part = given.get("range")
    if part is None:
        return
    if part.get("kind") not in RANGES:
        raise PlanError(f"{where}.range.kind: one of {', '.join(RANGES)}")
    start, end = part.get("start"), part.get("end")
    if type(start) is not int or type(end) is not int or not 0 <= start < end:
        raise PlanError(f"{where}.range: start and end are whole numbers, and start comes before end")


def _check_output(output: dict[str, Any], base: str | None) -> None:
    unknown = sorted(output.keys() - {"base", "names"})
    if unknown:
        raise PlanError(f"output: there is no field {unknown[0]!r:.60}")
    if "base" in output:
        _check_uri(output["base"], "output.base")
        if base is not None and output["base"] != base:
            raise PlanError(
                f"output.base: {output['base']!r:.200} is not the folder {base!r:.200} of this plan"
            )
    names = output.get("names", [])
    if not isinstance(names, list):
        raise PlanError("output.names: a list of relative paths is needed")
    for name in names:
        if not safe_name(name):
            raise PlanError(f"output.names: {name!r:.80} is no relative path of plain parts")
    if len(set(names)) != len(names):
        raise PlanError("output.names: two are the same")


def _check_task(unit: dict[str, Any]) -> None:
    """What the task cannot do without, and the types of the options that are known."""
    for name in _NEEDED[unit["task"]]:
        if name not in unit:
            raise PlanError(f"{name}: a unit of {unit['task']} has it")
    options, count = unit["options"], len(unit["input"])
    for name, what in _OF_A_RUN.items():
        if name in options:
            raise PlanError(f"options.{name}: {what} is allowed by whoever runs a plan, not by a plan")
    for name, value in options.items():
        kind = _OPTIONS.get(name, type(value))
        if type(value) is not kind:
            raise PlanError(f"options.{name}: {_article(kind)} is needed, not {value!r:.60}")
        if isinstance(value, list) and not all(isinstance(one, str) for one in value):
            raise PlanError(f"options.{name}: a list of texts is needed")
    if not count:
        raise PlanError("input: a unit has one at least")
    if unit["task"] in ("convert", "encode"):
        if len(unit["output"].get("names", [])) != count or "base" not in unit["output"]:
            raise PlanError("output: a base, and a name for each input")
    elif unit["task"] == "put" and ("store" not in options or len(options.get("keys", [])) != count):
        raise PlanError("options: a store, and a key for each input")


def _check_uri(uri: Any, where: str) -> None:
    if not isinstance(uri, str) or _CONTROL.search(uri):
        raise PlanError(f"{where}: a URI is needed")
    if uri.startswith("file:///"):  # no host, so no credentials: most inputs, of which a unit has hundreds
        return
    try:
        parts = urlsplit(uri)
    except ValueError as error:
        raise PlanError(f"{where}: {error}") from error
    if parts.scheme not in SCHEMES:
        raise PlanError(f"{where}: file: and s3: are read, not {uri!r:.60}")
    if parts.password is not None or parts.username is not None:
        raise PlanError(f"{where}: credentials come from the environment, not from a plan")
