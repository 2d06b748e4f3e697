"""Journals: a record while it grows, one line for each thing that is finished.

```
{"tare_journal": 1, "head": {...}}             head, machine, dataset, codecs
{"case": {...}}                                a case without its launches
{"key": "...", "launch": {...}}                one finished launch of that case
{"stage": "fidelity", "set": {...}}            a block of the record, or a part of one
```
A line is written whole and flushed; a torn last line is ignored by the reader. At the
end the journal is folded into the record by write-and-rename.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from tare import atomic
from tare.errors import RecordError
from tare.measure.analysis.ranked_cases import shown_cases
from tare.measure.records.encoding import encode_line
from tare.measure.records.record import MAX_BYTES, checked, write_record

__all__ = ["Journal", "fold", "is_journal", "parse_journal"]

VERSION = 1
_MAX_CASES = 1_000_000


class Journal:
    """The journal of a run in progress; appended to, never rewritten.

    Args:
        path: A ``*.tare.jsonl`` file. `head` starts it anew.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> journal = Journal(Path(folder.name) / "x.tare.jsonl")
    >>> journal.head({"tare_record": 1, "id": "x", "created": "", "tare": "", "machine": {},
    ...               "dataset": {"name": "d"}, "codecs": {}})
    >>> journal.case({"key": "codec=a", "labels": {"codec": "a"}, "status": "pending"})
    >>> journal.launch("codec=a", {"n": 1, "samples": {}})
    >>> journal.close()
    >>> record = Journal.read(journal.path)
    >>> record["interrupted"], len(record["cases"][0]["launches"])
    (True, 1)
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._file: BinaryIO | None = None
        self._made: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    @property
    def started(self) -> bool:
        """Whether the head has been written."""
        return self._file is not None

    def head(self, record: Mapping[str, Any]) -> None:
        """Start the journal with the record's head: everything but cases, which have lines of their own.

        Raises:
            OSError: The file cannot be written.
        """
        self.close()
        self._made += atomic.make_folders(self.path)
        # A journal of that name may be the one that is being resumed: it goes only when this one is whole.
        new = self.path.with_name(self.path.name + ".new")
        self._file = new.open("wb")
        head = {name: value for name, value in record.items() if name not in ("cases", "derived")}
        self._line({"tare_journal": VERSION, "head": head})
        for case in record.get("cases", ()):
            self.case(case)
            for launch in case.get("launches", ()):
                self.launch(case["key"], launch)
        new.replace(self.path)

    def case(self, case: Mapping[str, Any]) -> None:
        """Add a case, or replace what is known of it; launches have lines of their own.

        Raises:
            OSError: The file cannot be written.
        """
        self._line({"case": {name: value for name, value in case.items() if name != "launches"}})

    def launch(self, key: str, launch: Mapping[str, Any]) -> None:
        """Add a finished launch of the case with that key.

        Raises:
            OSError: The file cannot be written.
        """
        self._line({"key": key, "launch": launch})

    def stage(self, name: str, values: Mapping[str, Any]) -> None:
        """Set a block of the record (``fidelity``, ``noise``, ``codecs``, ``dataset``, ...), or a part of it.

        Raises:
            OSError: The file cannot be written.
        """
        self._line({"stage": name, "set": values})

    def close(self) -> None:
        """Close the file; the journal stays on the disk."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def remove(self) -> None:
        """Close and delete it, with the folders made for it that are empty: its record was saved, or there is none."""
        self.close()
        self.path.unlink(missing_ok=True)
        atomic.remove_folders(self._made)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> dict[str, Any]:
        """The record so far, with ``interrupted`` true; a torn last line is ignored.

        Args:
            path: A ``*.tare.jsonl`` file.

        Raises:
            RecordError: Not a journal, damaged before its last line, or of a newer version.
            OSError: The file cannot be read.
        """
        place = Path(path)
        with place.open("rb") as file:
            return parse_journal(file.read(MAX_BYTES + 1), place.name)

    def _line(self, value: Mapping[str, Any]) -> None:
        if self._file is None:
            self._file = self._reopened()
        self._file.write(encode_line(value, "a line of the journal"))
        self._file.flush()

    def _reopened(self) -> BinaryIO:
        """The file for appending, after any torn line was cut off."""
        file = self.path.open("r+b") if self.path.exists() else self.path.open("w+b")
        end = file.seek(0, os.SEEK_END)
        while end > 0:
            start = max(0, end - 65536)
            file.seek(start)
            cut = file.read(end - start).rfind(b"\n")
            if cut >= 0:
                end = start + cut + 1
                break
            end = start
        file.truncate(end)
        file.seek(end)
        return file


def fold(journal: str | os.PathLike[str], path: str | os.PathLike[str]) -> Path:
    """Make a record of a journal, then remove the journal.

    Args:
        journal: The ``*.tare.jsonl`` file.
        path: Where the record is written; see `tare.measure.records.record.write_record`.

    Returns:
        Where the record is.

    Raises:
        RecordError: See `Journal.read`.
        OSError: A file cannot be read or written; the journal is still there then.
    """
    place = write_record(Journal.read(journal), path)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(journal)
    return place


def parse_journal(data: bytes, source: str = "journal") -> dict[str, Any]:
    """The record so far from a journal's bytes; see `Journal.read`.

    Args:
        data: Lines of JSON.
        source: Named in errors.

    Raises:
        RecordError: Not a journal, damaged before its last line, or of a newer version.
    """
    if len(data) > MAX_BYTES:
        raise RecordError(f"{source}: larger than a record may be, {MAX_BYTES} bytes")
    return _fold_lines(_lines(data), source)


def is_journal(data: bytes) -> bool:
    """Whether a file that begins with these bytes is a journal.

    >>> is_journal(b'{"tare_journal":1,"head"')
    True
    """
    return data.lstrip()[:20].replace(b" ", b"").startswith(b'{"tare_journal":')


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Line numbers and lines; the last one only if it is whole."""
    start, number = 0, 0
    while (end := data.find(b"\n", start)) >= 0:  # what follows the last line end is torn
        number += 1
        if data[start:end].strip():
            yield number, data[start:end]
        start = end + 1


def _fold_lines(lines: Iterator[tuple[int, bytes]], source: str) -> dict[str, Any]:
    import orjson

    record: dict[str, Any] = {}
    cases: dict[str, dict[str, Any]] = {}
    for number, line in lines:
        where = f"{source}: line {number}"
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise RecordError(f"{where}: not JSON ({error.msg[:80]}); a *.tare.jsonl was expected") from None
        if not isinstance(value, dict):
            raise RecordError(f"{where}: not a line of a journal")
        if not record:
            record = _head(value, where)
        else:
            _apply(value, record, cases, where)
    if not record:
        raise RecordError(f"{source}: no head line: nothing was measured before the run ended")
    record["cases"] = [{**case, "launches": list(case["launches"].values())} for case in cases.values()]
    record["interrupted"] = True
    record = checked(record, source)
    return {**record, "cases": shown_cases(record)}


def _head(value: dict[str, Any], where: str) -> dict[str, Any]:
    version = value.get("tare_journal")
    if type(version) is not int or not isinstance(value.get("head"), dict):
        raise RecordError(f"{where}: not the head of a journal; a *.tare.jsonl was expected")
    if version != VERSION:
        raise RecordError(f"{where}: journal version {version}; this Tare reads version {VERSION}")
    return dict(value["head"])


def _apply(
    value: dict[str, Any], record: dict[str, Any], cases: dict[str, dict[str, Any]], where: str
) -> None:
    case, launch, block = value.get("case"), value.get("launch"), value.get("set")
    if isinstance(case, dict) and isinstance(case.get("key"), str):
        key = case["key"]
        if len(cases) >= _MAX_CASES:
            raise RecordError(f"{where}: more than {_MAX_CASES} cases")
        before = cases.get(key, {})
        # A later stage begins a case anew; within a stage its launches stay.
        kept = before["launches"] if before and before.get("stage") == case.get("stage") else {}
        cases[key] = {**case, "launches": kept}
    elif isinstance(launch, dict) and isinstance(value.get("key"), str):
        if value["key"] not in cases or type(launch.get("n")) is not int:
            raise RecordError(f"{where}: a launch without a number, or of a case that no line before names")
        cases[value["key"]]["launches"][launch["n"]] = launch
    elif isinstance(block, dict) and isinstance(value.get("stage"), str):
        if value["stage"] in ("cases", "tare_record"):
            raise RecordError(f"{where}: {value['stage']} cannot be set as a block")
        known = record.get(value["stage"])
        record[value["stage"]] = {**known, **block} if isinstance(known, dict) else block
    # Any other line is of a later version that added something: it is not needed to read the rest.
