"""The report as JSON: the record itself, with everything derived from it."""

from __future__ import annotations

import json
from typing import Any

from tare.report.rendering import rendering

__all__ = ["render"]


@rendering
def render(result: Any, *, indent: int | None = 1) -> str:
    r"""Write the record, version 1, with ``derived``.

    Args:
        result: A Result, or a record as a dict.
        indent: Spaces per level; None for one line.

    >>> render({"tare_record": 1}, indent=None)
    '{"tare_record":1}\n'
    """
    record = result if isinstance(result, dict) else result.record
    separators = (",", ":") if indent is None else (",", ": ")
    return json.dumps(record, ensure_ascii=True, allow_nan=False, indent=indent, separators=separators) + "\n"
