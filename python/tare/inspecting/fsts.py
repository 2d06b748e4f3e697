"""fst: columns and their types, rows and keys, from the headers alone."""

from __future__ import annotations

from typing import Any

from tare.datasets.robjects import stored
from tare.datasets.source import Source
from tare.inspecting.findings import Findings

__all__ = ["look"]


def look(source: Source, max_bytes: int) -> Findings:
    """Read the headers.

    Raises:
        DecodeError: They are damaged, or it is a file of before fst 0.8.
    """
    from tare._tare import fst_schema

    schema: dict[str, Any] = fst_schema(stored(source))
    columns = [_column(*column) for column in schema["columns"]]
    keys = [columns[key]["name"] for key in schema["keys"]]
    return Findings(
        version="version 1",
        kind="table",
        rows=schema["rows"],
        columns=columns,
        details={"sorted by": ", ".join(keys)} if keys else {},
        flags=["its column data have no checksum: a byte that changed comes back as another value"],
        kinds={},
    )


def _column(name: str, kind: str, classes: list[str], units: str | None, zone: str | None) -> dict[str, Any]:
    more = ", ".join(filter(None, [units, zone]))
    shown = "/".join(classes) or kind
    return {"name": name, "type": f"{shown} ({more})" if more else shown, "nulls": None}
