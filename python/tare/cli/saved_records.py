"""Records that `tare measure` saves without --out: their folder, the last one, and lookup by name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

__all__ = ["SavedRecord", "find_record", "last_record", "name_of_record", "records_folder"]

_ENDINGS = (".tare.json", ".tare.json.zst")
# The journal of a run that was cut short before it had a record.
_JOURNAL = ".tare.jsonl"


def records_folder() -> Path:
    """Returns the folder of the records, which need not exist: below ``XDG_STATE_HOME``, else ``~/.local/state``."""
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return state / "tare" / "records"


def last_record() -> str | None:
    """Returns the path of the record that was saved last; None if there is none."""
    folder = records_folder()
    if not folder.is_dir():
        return None
    saved = [path for path in folder.iterdir() if path.name.endswith(_ENDINGS)]
    return str(max(saved, key=lambda path: path.stat().st_mtime)) if saved else None


def name_of_record(path: str) -> str:
    """Returns what `tare report` takes for a record: its name in the folder, else its path.

    >>> name_of_record("build/flights.tare.json")
    'build/flights.tare.json'
    """
    if Path(path).parent != records_folder():
        return path
    return Path(path).name.removesuffix(".zst").removesuffix(".tare.json")


class SavedRecord(click.Path):
    """The file of a record, or a name among the saved ones, such as ``flights-1``."""

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path of the record."""
        return super().convert(find_record(str(value)), param, ctx)


def find_record(name: str) -> str:
    """Returns the path of a record: a file as it is named, else one of the folder, with or without its ending.

    Args:
        name: A path, or a name such as ``flights-1``.
    """
    if os.path.exists(name) or os.sep in name:
        return name
    known = (records_folder() / f"{name}{ending}" for ending in ("", *_ENDINGS, _JOURNAL))
    return next((str(path) for path in known if path.is_file()), name)
