"""Resuming: which finished cases of an interrupted run may be used again, and why others may not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tare.measure.environment.machine import same_machine
from tare.measure.records.record import method_of

__all__ = ["Resumed", "reusable", "whole_launches"]

_FINISHED = ("ok", "unproven", "lossy", "refused", "error", "timeout", "killed", "screened")
# Why a case that had begun cannot be used again: none of its launches was finished.
_BEFORE_IT_WAS = "the run was stopped before"


@dataclass
class Resumed:
    """What an interrupted run leaves to a new one.

    Args:
        cases: Finished cases by key, with their whole launches.
        redone: Key and reason of each case that must be measured again.
        reasons: Why nothing at all could be used again; empty if something could be.
    """

    cases: dict[str, dict[str, Any]] = field(default_factory=dict)
    redone: list[tuple[str, str]] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """What to tell the user: how much is used again, and why the rest is not.

        >>> Resumed(redone=[("codec=a", "orjson 3.9 is now 3.10"), ("codec=b", "orjson 3.9 is now 3.10")]).lines()
        ['no case is used again', '2 cases are measured again: orjson 3.9 is now 3.10']
        >>> Resumed({"codec=a": {}}, [("codec=b", _BEFORE_IT_WAS)]).lines()
        ['1 case is used again, as it was measured to the end', '1 case is measured now: the run was stopped before it was']
        """
        found = [f"{_cases(len(self.cases))} used again{_whole(len(self.cases))}"]
        by_reason: dict[str, int] = defaultdict(int)
        for _, reason in self.redone:
            by_reason[reason] += 1
        for reason, count in by_reason.items():
            if reason == _BEFORE_IT_WAS:
                they = "it was" if count == 1 else "they were"
                found.append(f"{_cases(count)} measured now: the run was stopped before {they}")
            else:
                found.append(f"{_cases(count)} measured again: {reason}")
        return found


def _cases(count: int) -> str:
    """A number of cases with its verb.

    >>> _cases(0), _cases(1), _cases(2)
    ('no case is', '1 case is', '2 cases are')
    """
    return f"{count or 'no'} case{'s are' if count > 1 else ' is'}"


def _whole(count: int) -> str:
    return f", as {'it was' if count == 1 else 'they were'} measured to the end" if count else ""


def reusable(old: Mapping[str, Any], new: Mapping[str, Any], *, launches: int = 0) -> Resumed:
    """Compare an interrupted record with the one that begins, case by case.

    Args:
        old: The interrupted record.
        new: The new one, with its head, machine, dataset and codecs filled in.
        launches: Launches that a case that came through needs to count as finished; 0: any.

    Returns:
        Cases whose key, data hash, codec version and options, machine and seed agree.
    """
    found = Resumed(reasons=_differences(old, new))
    for case in whole_launches(old):
        key = case["key"]
        reason = "; ".join(found.reasons) or _refusal(case, old, new, launches)
        if reason:
            found.redone.append((key, reason))
        else:
            found.cases[key] = case
    return found


def whole_launches(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The record's cases without the launch that was cut short, if its run was interrupted.

    A launch is a set of workers whose samples are compared with each other: where only
    some cases of a set have it, none keeps it.
    """
    cases = [dict(case) for case in record.get("cases", ())]
    if not record.get("interrupted"):
        return cases
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for case in cases:
        if case["status"] in ("ok", "lossy", "unproven", "pending"):
            labels = {
                name: level
                for name, level in case["labels"].items()
                if name not in ("codec", "twin", "delivery")
            }
            groups[(case.get("stage"), *sorted(labels.items()))].append(case)
    for group in groups.values():
        held = [
            {launch["n"] for launch in case.get("launches", ())} for case in group if case.get("launches")
        ]
        whole = set.intersection(*held) if held else set()
        # Sets that ran at different times have different launches; only the last can be torn.
        last = max(set.union(*held), default=0) if held else 0
        for case in group:
            case["launches"] = [
                one for one in case.get("launches", ()) if one["n"] in whole or one["n"] != last
            ]
    return cases


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What makes every case of the old record useless."""
    found = [
        f"another machine: {text}"
        for text in same_machine(old.get("machine") or {}, new.get("machine") or {})
    ]
    before, now = (record.get("dataset", {}).get("hash") for record in (old, new))
    if before != now or before is None:
        found.append("the data are other data")
    if method_of(old) != method_of(new):
        found.append("samples are taken by another method now")
    if old.get("seed") != new.get("seed"):
        found.append(f"seed {old.get('seed')} is now {new.get('seed')}")
    return found


def _refusal(case: Mapping[str, Any], old: Mapping[str, Any], new: Mapping[str, Any], launches: int) -> str:
    """Why this case cannot be used again; empty if it can."""
    if case["status"] not in _FINISHED:
        return _BEFORE_IT_WAS if case["status"] == "pending" else "they could not be measured then"
    codec, size = case["labels"].get("codec", ""), case["labels"].get("size", "1")
    if codec != "copy":
        before, now = (record.get("codecs", {}).get(codec) for record in (old, new))
        if not isinstance(before, dict) or not isinstance(now, dict):
            return f"{codec} is not part of this run" if now is None else f"nothing is known of {codec}"
        if before.get("version") != now.get("version"):
            return f"{codec} {before.get('version')} is now {now.get('version')}"
        if before.get("options") != now.get("options") or before.get("threads") != now.get("threads"):
            return f"{codec} has other options now"
    sizes = [record.get("dataset", {}).get("sizes", {}).get(size, {}).get("hash") for record in (old, new)]
    if None not in sizes and sizes[0] != sizes[1]:
        return f"the sample of size {size} is another"
    done = len(case.get("launches", ()))
    if case["status"] in ("ok", "lossy") and done < max(1, launches):
        return f"{done} of {max(1, launches)} launches were finished" if done else _BEFORE_IT_WAS
    return ""
