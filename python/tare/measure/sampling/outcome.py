"""What the calls of a case came to: its status, and the reason in words."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

from tare.fidelity.non_finite import NOT_JSON

if TYPE_CHECKING:
    from tare.errors import WorkerError
    from tare.measure.session import Part

__all__ = ["fail", "judge_verify", "lacks_descriptors"]

_STATUS_OF = {"timeout": "timeout", "killed": "killed", "refused": "refused", "encode": "refused"}


def lacks_descriptors(reason: str) -> bool:
    """Whether an error says that its process has too many files open: perhaps another codec's.

    >>> lacks_descriptors("decode: [Errno 24] Too many open files: 'x'"), lacks_descriptors("no such file")
    (True, False)
    """
    return os.strerror(errno.EMFILE) in reason


def fail(case: dict[str, Any], error: WorkerError) -> None:
    """Write a worker's error into the case: status and a reason in words."""
    status = _STATUS_OF.get(error.type, "error")
    if error.type in ("Unsupported", "EncodeError") and error.phase == "encode":
        status = "refused"
    where = f"{error.phase}: " if error.phase and error.phase != "protocol" else ""
    case["status"] = status
    case["reason"] = f"{where}{error}"[:400]
    if error.log_tail and status in ("killed", "error"):
        case["note"] = error.log_tail.strip().splitlines()[-1][:200] if error.log_tail.strip() else ""


def judge_verify(case: dict[str, Any], verify: dict[str, Any], part: Part) -> None:
    """Set the case's status from what the worker's comparison found."""
    case["verify"] = verify
    # What a call gave counts: a None in place of the value is nothing, not one changed document.
    came = min(verify.get("items_out") or 0, case.get("items", part.items) or 0)
    first = verify["changes"][0] if verify.get("changes") else {}
    if not came and part.items:
        unit = "rows" if part.kind == "table" else "documents"
        case["status"] = "unproven"
        case["reason"] = f"no data came back (0 of {part.items} {unit})"
    elif first.get("path") == "(whole)" and came < part.items and not _is_column(first, part):
        # A generator, a view, a handle: a promise of data, whose time is not that of decoding.
        case["status"] = "unproven"
        case["reason"] = f"something else than the data came back: {first.get('out', '')}"[:200]
    elif verify["verdict"] in ("same", "type"):
        case["status"], case["reason"] = "ok", ""
    else:
        where = f" at {first['path']}" if first.get("path") else ""
        case["status"] = "lossy"
        told = f"; its worker said {verify['told']}" if "told" in verify else ""
        if first.get("out") == NOT_JSON:
            case["reason"] = f"writes {first.get('in')}{where} as {NOT_JSON}{told}"
        else:
            case["reason"] = f"changed silently{where}{told}"


def _is_column(change: dict[str, Any], part: Part) -> bool:
    """Whether a change at ``(whole)`` is of a column that has this name."""
    return part.kind == "table" and change.get("side") == ""
