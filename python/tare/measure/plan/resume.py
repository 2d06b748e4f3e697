"""Plans that go on: what an earlier run of the plan finished, data set by data set, or case by case of growing curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tare.measure.records.resume import reusable

if TYPE_CHECKING:
    from tare.measure.cases import Case
    from tare.measure.session import Session

__all__ = ["Earlier", "data_key", "has_ended", "take"]

_ENDED = ("refused", "error", "timeout", "killed")


def data_key(name: str, content: str) -> str:
    """What the record calls the data of a plan's case: the data set, and the variant that was generated.

    >>> data_key("runif:3", "sorted"), data_key("twitter", "")
    ('runif:3,content=sorted', 'twitter')
    """
    return f"{name},content={content}" if content else name


class Earlier:
    """The record, or the journal, of a run of a plan.

    Args:
        record: As `Result.load` gives it.
    """

    def __init__(self, record: Mapping[str, Any]) -> None:
        self._record = record
        hashes = list(record.get("data_hashes") or {})
        # Cases are compared within their rounds: what the run was in when it was cut short has no whole rounds.
        self._cut = hashes[-1] if record.get("interrupted") and hashes else None
        self._lines: list[str] = []
        self._ended = {case["key"] for case in record.get("cases", ()) if case["status"] != "pending"}
        self.used = 0

    @property
    def seconds(self) -> float:
        """What it took, and those that it went on with."""
        before = (self._record.get("resumed") or {}).get("before_s") or 0.0
        return float(self._record.get("elapsed_s") or 0.0) + float(before)

    def head(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """What the new journal begins with: all that was finished, or a kill would lose it."""
        both = {
            name: {**(self._record.get(name) or {}), **(record.get(name) or {})}
            for name in ("datasets", "data_hashes", "codecs")
        }
        return {**record, **both, "cases": list(self._record.get("cases", ()))}

    def seems_finished(self, wanted: Sequence[Case]) -> bool:
        """Whether it ended every one of these cases; whether they can be used again is seen where the data are opened."""
        return all(case.status != "pending" or case.key in self._ended for case in wanted)

    def finished(self, session: Session, key: str, wanted: Sequence[Case]) -> list[dict[str, Any]]:
        """The cases of a data set, and those of the base's twin and of copying, if all that are wanted are finished."""
        if key == self._cut:
            self._say(f"{key}: is measured again, for its rounds were cut short")
            return []
        found = self.cases(session, key)
        if not wanted or not all(case.key in found for case in wanted):
            return []
        labels = wanted[0].labels
        taken = [
            case
            for case in found.values()
            if case["labels"].get("dataset") == labels["dataset"]
            and case["labels"].get("content", "") == labels.get("content", "")
        ]
        self.used += len(taken)
        return taken

    def cases(self, session: Session, key: str) -> dict[str, dict[str, Any]]:
        """The finished cases by key, if the data, the machine, the seed and the codecs are the same."""
        hashes = [(record.get("data_hashes") or {}).get(key) for record in (self._record, session.record)]
        views = [
            {**record, "dataset": {"hash": hash}}
            for record, hash in zip((self._record, session.record), hashes, strict=True)
        ]
        found = reusable(*views)
        if found.reasons and hashes[0] is not None:
            self._say(f"{key}: is measured again: {'; '.join(found.reasons)}")
        return found.cases

    def told(self, used: int) -> dict[str, Any]:
        """What the record says of it.

        Args:
            used: Cases of growing curves that were taken over.
        """
        total = self.used + used
        return {
            "used": total,
            "before_s": self.seconds,
            "lines": [f"{total} cases are used again", *self._lines],
        }

    def _say(self, line: str) -> None:
        if line not in self._lines:
            self._lines.append(line)


def has_ended(case: Mapping[str, Any]) -> bool:
    """Whether the curve of a growing case ends with it."""
    return case["status"] in _ENDED or str(case.get("note", "")).startswith("the curve ends here")


def take(session: Session, cases: Sequence[dict[str, Any]]) -> None:
    """Put finished cases into the record and its journal."""
    for case in cases:
        session.record["cases"].append(case)
        if session.journal is not None:
            session.journal.case(case)
            for launch in case.get("launches", ()):
                session.journal.launch(case["key"], launch)
