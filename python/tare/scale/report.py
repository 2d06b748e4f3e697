"""What a run did, and what failed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tare.errors import TareError

__all__ = ["Failures", "Report", "grouped"]


class Failures(TareError):
    """Units failed; `Report.failures` has their receipts."""


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
        conversions: Of `convert`: what each file became, as `tare convert` tells it.
        not_deterministic: Units whose second run gave other bytes.
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
    conversions: list[dict[str, Any]] = field(default_factory=list)
    not_deterministic: int = 0

    @property
    def ok(self) -> bool:
        """Whether every unit is done."""
        return not (self.failed or self.missing or self.stopped)

    @property
    def exit_code(self) -> int:
        """0 all done, 1 some failed, 4 stopped for want of disk or rights, 130 interrupted."""
        if self.stopped == "interrupted":
            return 130
        if self.stopped == "resources":
            return 4
        return 0 if self.ok else 1

    def add(self, receipt: dict[str, Any]) -> None:
        """Count a receipt."""
        status = str(receipt["status"])
        setattr(self, status, getattr(self, status) + 1)
        if status == "failed":
            self.failures.append(receipt)
        if status in ("done", "duplicate"):
            self.bytes_in += int(receipt["bytes_in"])
            self.bytes_out += int(receipt["bytes_out"])
            self.rows += int(receipt["rows"])
            self.hosts[str(receipt["host"])] += 1
        self.cpu_seconds += float(receipt.get("cpu_seconds", 0.0))
        self.not_deterministic += int(receipt.get("not_deterministic", 0))
        self.conversions += receipt.get("conversions", [])

    def raise_for_failures(self) -> None:
        """Raise if a unit failed.

        Raises:
            Failures: The first one's message, and how many there are.
        """
        if self.failures:
            first = self.failures[0]["error"]
            more = f", and {self.failed - 1:,} more" if self.failed > 1 else ""
            raise Failures(f"{first['message']}{more}")

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        plain = {name: value for name, value in vars(self).items() if name != "hosts"}
        return {**plain, "hosts": dict(self.hosts), "ok": self.ok}


def grouped(failures: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Failures by class, kind and format, the most frequent first, each with three examples.

    >>> grouped([{"error": {"class": "input", "kind": "Truncated", "format": "json", "message": "a: cut"}}])
    [{'class': 'input', 'kind': 'Truncated', 'format': 'json', 'count': 1, 'examples': ['a: cut']}]
    """
    counts: dict[tuple[str, str, str], list[str]] = {}
    for one in failures:
        error = one["error"]
        key = (str(error["class"]), str(error["kind"]), str(error.get("format", "")))
        counts.setdefault(key, []).append(str(error["message"]))
    listed = sorted(counts.items(), key=lambda item: (-len(item[1]), item[0]))
    return [
        {"class": name, "kind": kind, "format": format, "count": len(said), "examples": said[:3]}
        for (name, kind, format), said in listed
    ]
