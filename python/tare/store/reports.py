"""What a store reports of itself: plain data classes, ready for JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = [
    "Action",
    "CheckReport",
    "Finding",
    "GcReport",
    "RepairReport",
    "Stat",
    "TransferReport",
    "check_report",
]


@dataclass(frozen=True)
class _Report:
    """What all reports have."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Stat(_Report):
    """How much a store holds.

    Args:
        keys: Keys in all namespaces.
        namespaces: Namespaces that hold a key.
        objects: Objects.
        unnamed: Objects that no key names.
        plain_bytes: Plain bytes of all objects, where they are known.
        stored_bytes: Stored bytes of all objects.
    """

    keys: int
    namespaces: int
    objects: int
    unnamed: int
    plain_bytes: int
    stored_bytes: int


@dataclass(frozen=True)
class GcReport(_Report):
    """What a collection did, or would do.

    Args:
        condemned: Objects that nothing names.
        deleted: Of those, the ones deleted.
        bytes: Stored bytes of the deleted ones.
        kept_until: When the next of the others may go, in seconds since 1970 by the store's clock; None for never.
        swept: Temporary files of dead writers that were removed.
    """

    condemned: int
    deleted: int
    bytes: int
    kept_until: float | None
    swept: int


@dataclass(frozen=True)
class Finding(_Report):
    """One thing that a check found.

    Args:
        kind: ``corrupt-object``, ``missing-object``, ``dangling-key``, ``bad-key``, ``orphan-object``,
            ``wrong-count``, ``leftover``, ``foreign`` or ``index``.
        problem: Whether data is damaged or lost; others are untidy only.
        hash: The object's hash, if it is about one.
        namespace: Namespace of the key, if it is about one.
        key: The key.
        place: Where it lies.
        detail: What was found, what was expected.
    """

    kind: str
    problem: bool
    hash: str | None
    namespace: str | None
    key: str | None
    place: str
    detail: str


@dataclass(frozen=True)
class CheckReport(_Report):
    """What a check found.

    Args:
        findings: All of it, problems and untidiness.
        keys: Keys that were looked at.
        objects: Objects that were looked at.
        bytes: Plain bytes that were hashed.
    """

    findings: list[Finding]
    keys: int
    objects: int
    bytes: int

    @property
    def problems(self) -> list[Finding]:
        """Findings of data that is damaged or lost."""
        return [finding for finding in self.findings if finding.problem]

    @property
    def is_clean(self) -> bool:
        """Whether there are none."""
        return not self.problems


@dataclass(frozen=True)
class Action(_Report):
    """One thing that a repair did, or would do.

    Args:
        finding: What it is about.
        what: What was done, or what somebody has to do.
        done: Whether it is done, or would be.
    """

    finding: Finding
    what: str
    done: bool


@dataclass(frozen=True)
class RepairReport(_Report):
    """What a repair found and did.

    Args:
        applied: Whether it did it, or told only what it would do.
        actions: What, in order.
        before: What the check said first.
    """

    applied: bool
    actions: list[Action]
    before: CheckReport


@dataclass(frozen=True)
class TransferReport(_Report):
    """What was copied from one store into another.

    Args:
        keys: Keys that name the same value in both stores now.
        unchanged: Of those, the ones that did before.
        missing: Keys that did not exist.
        copied: Objects whose stored bytes were copied as they are.
        rehashed: Objects that were unpacked and set again, because the stores name objects by other hashes.
        converted: Of those, the ones of another codec now.
        bytes: Stored bytes that were read.
        damaged: Keys that were passed over because their object is damaged or gone: namespace, key, what is wrong.
        notes: What changed, in words.
    """

    keys: int
    unchanged: int = 0
    missing: int = 0
    copied: int = 0
    rehashed: int = 0
    converted: int = 0
    bytes: int = 0
    damaged: list[tuple[str, str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def check_report(found: dict[str, Any]) -> CheckReport:
    """The core's report with names."""
    findings = [Finding(**finding) for finding in found["findings"]]
    return CheckReport(findings, found["keys"], found["objects"], found["bytes"])
