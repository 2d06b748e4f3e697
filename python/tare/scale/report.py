"""What a run did, and what failed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tare.datasets.source import printable
from tare.errors import TareError
from tare.scale.left import any_undone

__all__ = ["Failures", "Report", "errors_of", "grouped"]

_EXAMPLES = 3
_GROUPS = 200
_NAME = 4096  # a path's length: names are shown whole
_STOPPED = {
    "resources": "stopped for want of disk or rights",
    "interrupted": "interrupted",
    "failure": "stopped at the first failure",
}


class Failures(TareError):
    """Not all is done: `Report.failures` has the receipts of units, `Report.passed_over` what was in no unit."""


@dataclass
class Report:
    """What became of the units of a plan.

    Args:
        done: Units carried out by this run.
        skipped: Units whose receipt was there.
        duplicate: Units that somebody else finished meanwhile.
        failed: Units that failed.
        missing: Units without a receipt that were not reached.
        bytes_in: Bytes that units of this run read.
        bytes_out: Bytes that they wrote.
        rows: Rows or documents.
        seconds: Wall time of the run.
        cpu_seconds: CPU time of its units.
        hosts: Units by host.
        deaths: Workers that died.
        failures: Receipts of those that failed.
        stopped: Why it ended early: ``resources``, ``interrupted``, ``failure``; empty if it did not.
        files: The files made, or put into a store (those of `done` and `duplicate`).
        files_before: Those of `skipped`.
        files_failed: Those that are not there because theirs failed; a unit may have many.
        compared: Those of `files` that were read back and compared before they got their name.
        changes: What came back as another type or value, and what was lost: groups with ``verdict, what,
            count`` of files, and three ``examples``, the first by name.
        notes: What the user should know, each with the number of units that say it.
        superseded: Results removed at the end: of an earlier state of these sources, or under a name that they have no more.
        stale: Results that stay of sources under the folders and patterns of this run, and in none of its units: deleted or
            renamed since, or passed over. Counted when a plan that was just made is done for the first time.
        not_deterministic: Units whose second run gave other bytes.
        passed_over: ``(name, why)`` of what is in no unit, if the plan was just made: `Undone` if it was asked for and
            may be data. A plan that was read from its file does not know.
    """

    done: int = 0
    skipped: int = 0
    duplicate: int = 0
    failed: int = 0
    missing: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    rows: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    hosts: Counter[str] = field(default_factory=Counter)
    deaths: int = 0
    failures: list[dict[str, Any]] = field(default_factory=list)
    stopped: str = ""
    files: int = 0
    files_before: int = 0
    files_failed: int = 0
    compared: int = 0
    changes: list[dict[str, Any]] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    superseded: int = 0
    stale: int = 0
    not_deterministic: int = 0
    passed_over: list[tuple[str, str]] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether every unit is done, and nothing that was asked for is in none."""
        return not (self.failed or self.missing or self.stopped or any_undone(self.passed_over))

    @property
    def exit_code(self) -> int:
        """0 all done, 1 some failed or were passed over, 4 stopped for want of disk or rights, 130 interrupted."""
        if self.stopped == "interrupted":
            return 130
        if self.stopped == "resources":
            return 4
        return 0 if self.ok else 1

    def add(self, receipt: dict[str, Any], files: int = 1) -> None:
        """Count a receipt, of a unit with so many outputs; what goes into a store is counted by its inputs."""
        files = files or len(receipt["input"])
        status = str(receipt["status"])
        setattr(self, status, getattr(self, status) + 1)
        if status == "failed":
            self.failures.append(receipt)
            lost = int(receipt["error"].get("count", files))  # one that fails costs no other of its unit
            self.files_failed += lost
            self.files += files - lost
            self.rows += int(receipt["rows"])
            self.bytes_out += int(receipt["bytes_out"])
        else:
            self.files += files
        if status in ("done", "duplicate"):
            self.compared += int(receipt.get("compared", 0))
            self.bytes_in += int(receipt["bytes_in"])
            self.bytes_out += int(receipt["bytes_out"])
            self.rows += int(receipt["rows"])
            self.hosts[str(receipt["host"])] += 1
        self.cpu_seconds += float(receipt.get("cpu_seconds", 0.0))
        self.not_deterministic += int(receipt.get("not_deterministic", 0))
        self.notes.update(receipt.get("notes", []))
        self._add_changes(receipt["fidelity"])

    def add_before(self, receipt: dict[str, Any], files: int) -> None:
        """Count a unit that an earlier run has done; what changed in it is still so, and told again."""
        self.skipped += 1
        self.files_before += files or len(receipt.get("input", []))
        self._add_changes(receipt.get("fidelity", []))

    def _add_changes(self, found: list[dict[str, Any]]) -> None:
        """Group what changed, so that a million files with one change are one line."""
        seen: set[tuple[str, str, str]] = set()
        for one in found:
            verdict = str(one["verdict"])
            what = str(one["what"]) if "what" in one else f"{one['from']} comes back as {one['to']}"
            if (verdict, what, one["name"]) in seen:  # another column of the same file
                continue
            seen.add((verdict, what, one["name"]))
            group = next(
                (each for each in self.changes if (each["verdict"], each["what"]) == (verdict, what)), None
            )
            if group is None:
                if len(self.changes) >= _GROUPS:
                    continue
                group = {"verdict": verdict, "what": what, "count": 0, "examples": []}
                self.changes.append(group)
            group["count"] += 1
            example = f"{one['name']}: {one['path']}" if one.get("path") else one["name"]
            # Units end in any order, and those of large files first.
            group["examples"] = sorted([*group["examples"], example])[:_EXAMPLES]

    def raise_for_failures(self) -> None:
        """Raise if not all is done that was asked for: unless `ok`.

        Raises:
            Failures: The first messages, how many more there are, and why it ended early.
        """
        if self.ok:
            return
        messages = [str(error["message"]) for one in self.failures for error in errors_of(one)]
        undone = [f"{printable(one[0])}: {one[1]}" for one in self.passed_over if any_undone([one])]
        early = [_STOPPED.get(self.stopped, self.stopped)] if self.stopped else []
        early += [f"{self.missing:,} unit{'s' * (self.missing != 1)} not begun"] if self.missing else []
        raise Failures("; ".join([*_first(messages), *_first(undone), *early]))

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        passed = [
            {"name": printable(one[0], _NAME), "why": one[1], "undone": any_undone([one])}
            for one in self.passed_over
        ]
        return {
            **vars(self), "hosts": dict(self.hosts), "notes": dict(self.notes), "passed_over": passed, "ok": self.ok,
        }  # fmt: skip


def _first(said: list[str]) -> list[str]:
    """The first few, and how many more there are."""
    more = f", and {len(said) - _EXAMPLES:,} more" if len(said) > _EXAMPLES else ""
    return ["; ".join(said[:_EXAMPLES]) + more] if said else []


def errors_of(receipt: dict[str, Any]) -> list[dict[str, Any]]:
    """The error of each input of a unit that failed."""
    return [receipt["error"], *receipt["error"].get("also", [])]


def grouped(failures: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Failures by class, kind and format, the most frequent first, each with three different examples, the first by name.

    >>> grouped([{"error": {"class": "input", "kind": "Truncated", "format": "json", "message": "a: cut"}}])
    [{'class': 'input', 'kind': 'Truncated', 'format': 'json', 'count': 1, 'examples': ['a: cut']}]
    """
    counts: dict[tuple[str, str, str], list[str]] = {}
    for error in (error for one in failures for error in errors_of(one)):
        key = (str(error["class"]), str(error["kind"]), str(error.get("format", "")))
        counts.setdefault(key, []).append(str(error["message"]))
    listed = sorted(counts.items(), key=lambda item: (-len(item[1]), item[0]))
    return [
        {
            "class": name,
            "kind": kind,
            "format": format,
            "count": len(said),
            "examples": sorted(set(said))[:_EXAMPLES],
        }
        for (name, kind, format), said in listed
    ]
