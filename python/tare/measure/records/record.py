"""Records: one saved run each, version 1. docs/specs/record.md is the specification.

A record from elsewhere is data: no path in it is opened, no command in it is run.
"""

from __future__ import annotations

import os
import re
import shlex
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from tare.errors import Limit, RecordError, TareError
from tare.measure.records.encoding import encode_line
from tare.measure.records.schema import check
from tare.measure.worker_client.samples import OURS

__all__ = [
    "DERIVED_VERSION",
    "MAX_BYTES",
    "METHOD",
    "VERSION",
    "method_of",
    "new_record",
    "parse_record",
    "read_record",
    "write_record",
]

VERSION = 2
"""Version that is written; every older one is read too."""

METHOD = 2
"""The method of taking samples: 2 drops each result before the next call, 1 held the results of a batch until the clocks were read."""

# Version of the block ``derived``; an older one is computed again.
DERIVED_VERSION = 3

MAX_BYTES = 1 << 30
"""Longest record that is read, in bytes before compression."""

MAX_DEPTH = 64
_NEEDED = (*OURS, "wall_ns")
COMPRESS_ABOVE_BYTES = 4 << 20
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_PATH = re.compile(r"(?<![\w:/.])(?:~|[A-Za-z]:)?[/\\](?:[^\s'\"/\\:;,()<>]+[/\\])*([^\s'\"/\\:;,()<>]*)")
_URL = re.compile(r"\b([a-z][a-z0-9+.-]{1,20})://[^\s'\"]+")


def new_record(
    *, command: str = "", plan: Mapping[str, Any] | None = None, seed: int = 0, directory: str | None = None
) -> dict[str, Any]:
    """The record of a run that begins now: head and machine, and nothing measured yet.

    Args:
        command: The command line; paths in it are cut to their last part.
        plan: The plan, expanded.
        seed: Seed of every random choice.
        directory: Where the file medium writes; its filesystem is named.

    >>> new_record(command="tare measure /home/ada/d.csv")["command"]
    'tare measure d.csv'
    """
    from tare._version import __version__
    from tare.measure.environment.machine import describe_machine

    return {
        "tare_record": VERSION,
        "method": METHOD,
        "id": uuid.uuid4().hex,
        "created": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "tare": __version__,
        "command": clean_command(command),
        "plan": _anonymous_plan(plan or {"name": "default"}),
        "seed": seed,
        "elapsed_s": 0.0,
        "interrupted": False,
        "machine": describe_machine(directory),
        "dataset": {"name": "", "sizes": {}},
        "codecs": {},
        "cases": [],
        "fidelity": {"probes": {}, "own": {}},
        "noise": {},
        "derived": {},
    }


def method_of(record: Mapping[str, Any]) -> int:
    """Returns the method by which the samples of a record were taken; 1 where the record has none.

    >>> method_of({"method": 2}), method_of({})
    (2, 1)
    """
    return int(record.get("method") or 1)


def write_record(record: Mapping[str, Any], path: str | os.PathLike[str]) -> Path:
    """Save a record in one step: written under a temporary name, then renamed.

    Args:
        record: The record; messages in it are cleaned of paths.
        path: Where; above 4 MiB the record is compressed and ``.zst`` is added to the name.

    Returns:
        Where it is.

    Raises:
        RecordError: The record holds what JSON cannot.
        OSError: The file cannot be written; what was there is untouched.
    """
    from tare.atomic import write_atomic

    place = Path(path)
    data = encode_record(record)
    if place.suffix == ".zst" or len(data) > COMPRESS_ABOVE_BYTES:
        from tare.compress import compress

        data = compress(data, "zstd:3")
        if place.suffix != ".zst":
            place = place.with_name(f"{place.name}.zst")
    write_atomic(place, data)
    return place


def encode_record(record: Mapping[str, Any]) -> bytes:
    """The record as UTF-8 JSON, one line, with paths in messages cut.

    Raises:
        RecordError: The record holds what JSON cannot.
    """
    return encode_line(_clean(record), "the record")


def read_record(source: str | os.PathLike[str] | BinaryIO) -> dict[str, Any]:
    """Read a record of this version or any older one.

    Args:
        source: A path, with or without ``.zst``, or a binary file.

    Raises:
        RecordError: Not a record, damaged, above a limit, or of a newer version, which is named.
        OSError: The file cannot be read.
    """
    if not isinstance(source, (str, os.PathLike)):
        return parse_record(source.read(MAX_BYTES + 1), "record")
    place = Path(source)
    if not place.exists() and (packed := place.with_name(f"{place.name}.zst")).exists():
        place = packed
    with place.open("rb") as file:
        return parse_record(file.read(MAX_BYTES + 1), place.name)


def parse_record(data: bytes, source: str = "record") -> dict[str, Any]:
    """A record from its bytes, compressed or not.

    Args:
        data: JSON, or one zstd frame of it.
        source: Named in errors.

    Raises:
        RecordError: See `read_record`.

    >>> parse_record(b'{"tare_record": 9}', "x.tare.json")
    Traceback (most recent call last):
    tare.errors.RecordError: x.tare.json: record version 9; this Tare reads versions up to 2: install a newer one
    """
    import orjson

    if len(data) > MAX_BYTES:
        raise RecordError(f"{source}: larger than a record may be, {MAX_BYTES} bytes")
    if data.startswith(_ZSTD_MAGIC):
        data = _decompressed(data, source)
    if not data.strip():
        raise RecordError(f"{source}: the file is empty; a record was expected")
    try:
        record = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        at = error.pos
        why = f"not JSON at byte {at} ({error.msg[:80]})"
        if not _is_text(data):
            why = "these bytes are no text"
        raise RecordError(f"{source}: not a record: {why}; a *.tare.json was expected", offset=at) from None
    if isinstance(record, dict) and _is_deep(record, MAX_DEPTH):
        raise RecordError(f"{source}: nested deeper than a record may be, {MAX_DEPTH} levels")
    return checked(record, source)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def checked(record: Any, source: str) -> dict[str, Any]:
    """The record, if its version is known and its shape is right.

    Raises:
        RecordError: See `read_record`.
    """
    if not isinstance(record, dict) or "tare_record" not in record:
        raise RecordError(
            f"{source}: JSON, but not a record: it has no tare_record; did you mean to measure it?"
        )
    version = record["tare_record"]
    if type(version) is not int or version < 1:
        raise RecordError(
            f"{source}: record version {ascii(version)[:40]} does not exist; this Tare reads versions up to {VERSION}"
        )
    if version > VERSION:
        raise RecordError(
            f"{source}: record version {version}; this Tare reads versions up to {VERSION}: install a newer one"
        )
    check(record, path=f"{source}: record")
    for case in record["cases"]:
        _hold_columns(case, source)
    return record


def clean_command(command: str) -> str:
    """A command line whose paths are cut to their last part, for others to read.

    >>> clean_command("tare measure data/flights.csv --out=/tmp/r.json --remote ssh://ada@host")
    'tare measure flights.csv --out=r.json --remote ssh://...'
    """
    try:
        words = shlex.split(command)
    except ValueError:
        return without_paths(command)
    return shlex.join(_last_part(word) for word in words)


def _last_part(word: str) -> str:
    option, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
    scheme, separator, _ = value.partition("://")
    last = f"{scheme}://..." if separator else _base_name(value)
    return f"{option}{equals}{last}"


def _base_name(path: str) -> str:
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1]


def without_paths(text: str) -> str:
    """The text with every path cut to its last part and every address to its scheme.

    >>> without_paths("cannot open '/home/ada/data.csv' on ssh://ada@host/x")
    "cannot open 'data.csv' on ssh://..."
    """
    return _PATH.sub(lambda found: found[1] or found[0][-1:], _URL.sub(r"\1://...", text))


def _hold_columns(case: Mapping[str, Any], source: str) -> None:
    """The columns of an operation are samples side by side: equally long, and each with all its numbers, or absent."""
    for launch in case.get("launches", ()):
        for operation, columns in launch["samples"].items():
            where = f"{source}: case {case['key'][:200]!a}: launch {launch['n']}"
            if len({len(column) for column in columns.values()}) > 1:
                raise RecordError(f"{where}: the columns of {operation[:40]!a} differ in length")
            lacking = {name for name, column in columns.items() if None in column}
            if needed := sorted(lacking.intersection(_NEEDED)):
                raise RecordError(f"{where}: {needed[0]} of {operation[:40]!a} lacks numbers")
            if "sys_ns" in lacking and any(cell is not None for cell in columns["sys_ns"]):
                lacking.add("user_ns")  # which would be taken for all CPU time
            for name in lacking.intersection(columns):
                del columns[name]


def _decompressed(data: bytes, source: str) -> bytes:
    from tare.compress import decompress

    try:
        return decompress(data, "zstd", max_output=MAX_BYTES)
    except Limit:
        raise RecordError(f"{source}: larger than a record may be, {MAX_BYTES} bytes") from None
    except TareError as error:  # damaged, or of a dictionary that nobody has
        raise RecordError(
            f"{source}: the compressed record cannot be read: {error}", offset=error.offset
        ) from error


def _is_deep(value: Any, limit: int) -> bool:
    """Whether objects and lists nest deeper than ``limit``, level by level."""
    level = [value]
    for _ in range(limit):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, (dict, list))
        ]
        if not level:
            return False
    return True


def _clean(record: Mapping[str, Any]) -> dict[str, Any]:
    """A copy whose messages hold no path: error texts of libraries name files."""
    cases = [_without_paths(case) for case in record.get("cases", ())]
    return {**record, "cases": cases}


def _without_paths(case: Mapping[str, Any]) -> Mapping[str, Any]:
    told = {name: case[name] for name in ("reason", "note") if case.get(name)}
    if not any("/" in text or "\\" in text for text in told.values()):
        return case
    return {**case, **{name: without_paths(text) for name, text in told.items()}}


def _anonymous_plan(plan: Mapping[str, Any]) -> dict[str, Any]:
    blocks = plan.get("block")
    if not isinstance(blocks, list):
        return dict(plan)
    named = [
        {**block, "dataset": [_base_name(name) for name in block["dataset"]]} if "dataset" in block else block
        for block in blocks
    ]
    return {**plan, "block": named}
