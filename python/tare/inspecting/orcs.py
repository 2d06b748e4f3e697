"""ORC: what its footer says."""

from __future__ import annotations

from typing import Any

from tare import child_process
from tare.datasets.source import Source
from tare.datasets.tables import arrow_errors
from tare.inspecting.findings import Findings, Part

__all__ = ["facts", "look"]


def look(source: Source, max_bytes: int) -> Findings:
    """Read the footer; sizes of single columns are not in it."""
    plain = source.path if source.path is not None and not source.compressors else source.read()[0]
    with arrow_errors(source):
        said = child_process.ask("describe_orc", plain)
    findings = Findings(version=said["version"], kind="table", rows=said["rows"])
    findings.columns = said["columns"]
    findings.parts = [Part(what, size) for what, size in said["parts"].items()]
    findings.details = said["details"]
    return findings


def facts(file: Any) -> dict[str, Any]:
    """Returns what the footer says, as JSON has it: asked of a process that may crash.

    Args:
        file: An Arrow file.
    """
    from pyarrow import orc

    opened = orc.ORCFile(file)
    return {
        "version": opened.file_version,
        "rows": opened.nrows,
        "columns": [{"name": field.name, "type": str(field.type), "nulls": None} for field in opened.schema],
        "parts": {
            "stripes": opened.content_length,
            "stripe statistics": opened.stripe_statistics_length,
            "footer": opened.file_footer_length + opened.file_postscript_length,
        },
        "details": {
            "writer": f"{opened.software_version}", "compression": str(opened.compression).lower(),
            "stripes": opened.nstripes, "row index stride": opened.row_index_stride,
        },
    }  # fmt: skip
