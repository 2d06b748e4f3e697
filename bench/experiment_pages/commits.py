"""Which Tare measured an experiment: the commit of the sources, kept in the record, also of a run in parts.

A record says only which version it is of, and between two versions there are many commits. So that a run
that was killed has its commit too, it stands in a file beside the journal until the record is there.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

__all__ = ["begin", "commit_of", "commits_said", "keep"]

Commits = list[str | None]
# What runs themselves write: it measures nothing.
_WRITTEN = (":!bench/records", ":!docs/experiments")


def commit_of(root: Path) -> str | None:
    """The commit of the Tare that will measure, with ``+changes`` where the folder has some; None if nothing tells.

    Args:
        root: The repository's folder.
    """
    import tare
    from tare._tare import __commit__

    core = None if __commit__ == "unknown" else str(__commit__)
    if not Path(tare.__file__).resolve().is_relative_to(root.resolve()):
        return core  # installed from a wheel: nothing of this folder runs
    top, head = _git(root, "rev-parse", "--show-toplevel"), _git(root, "rev-parse", "--short", "HEAD")
    if not top or not head or Path(top).resolve() != root.resolve():
        return core
    dirty = "+changes" if _git(root, "status", "--porcelain", "--", ".", *_WRITTEN) else ""
    built = f", core {core}" if core and not (head.startswith(core) or core.startswith(head)) else ""
    return f"{head}{dirty}{built}"


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def begin(path: Path, before: Path | None, commit: str | None) -> None:
    """Note what measures from now on, beside the journal.

    Args:
        path: Where the record will be.
        before: The record or journal that the run goes on from; None if it begins.
        commit: What `commit_of` gave.
    """
    commits: Commits = [] if before is None else _earlier(path, before)
    _note(path).write_text(json.dumps([*commits, commit]), encoding="utf-8")


def _earlier(path: Path, before: Path) -> Commits:
    """What measured the part that is there; one that is not known where nothing says it."""
    from tare.measure.records.record import read_record

    note = _note(path)
    if before.suffix == ".jsonl":
        return list(json.loads(note.read_text(encoding="utf-8"))) if note.exists() else [None]
    return list(read_record(before).get("commits") or [None])


def keep(path: Path, known: Container[str]) -> None:
    """Put the commits into the record that the run has written, if it has, and remove the note.

    Args:
        path: Where the record is, with or without ``.zst``.
        known: Ids of the records that were there before.
    """
    from tare.measure.records.record import read_record, write_record

    for place in (path, Path(f"{path}.zst")):
        if not place.exists() or (record := read_record(place))["id"] in known:
            continue
        commits: Commits = list(json.loads(_note(path).read_text(encoding="utf-8")))
        # Where nothing could be used again, only the last part is in the record.
        resumed = record.get("resumed") or {}
        record["commits"] = commits if resumed.get("used") else commits[-1:]
        write_record(record, place)
        with suppress(FileNotFoundError):
            _note(path).unlink()
        return


def _note(path: Path) -> Path:
    return Path(f"{path}.commits")


def commits_said(record: Mapping[str, Any]) -> str:
    """The commit of a record, or those of its parts, for a page.

    >>> commits_said({"commits": ["abc"]}), commits_said({}), commits_said({"commits": [None, "abc"]})
    ('commit abc', 'commit not recorded', 'parts of it at different commits: not recorded, abc')
    >>> commits_said({"resumed": {"before_s": 3.0}})
    'commits of its parts not recorded'
    """
    commits: Sequence[str | None] = list(dict.fromkeys(record.get("commits") or ()))
    if len(commits) > 1:
        return f"parts of it at different commits: {', '.join(one or 'not recorded' for one in commits)}"
    if commits and commits[0]:
        return f"commit {commits[0]}"
    parts = (record.get("resumed") or {}).get("before_s")
    return "commits of its parts not recorded" if parts else "commit not recorded"
