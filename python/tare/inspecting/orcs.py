"""ORC: what its footer says."""

from __future__ import annotations

from tare.datasets.source import Source
from tare.datasets.tables import arrow_errors, random_access
from tare.inspecting.findings import Findings, Part

__all__ = ["look"]


def look(source: Source, max_bytes: int) -> Findings:
    """Read the footer; sizes of single columns are not in it."""
    from pyarrow import orc

    with arrow_errors(source), random_access(source) as file:
        opened = orc.ORCFile(file)
        findings = Findings(version=opened.file_version, kind="table", rows=opened.nrows)
        findings.columns = [
            {"name": field.name, "type": str(field.type), "nulls": None} for field in opened.schema
        ]
        data = opened.content_length
        footer = opened.file_footer_length + opened.file_postscript_length
        findings.parts = [
            Part("stripes", data),
            Part("stripe statistics", opened.stripe_statistics_length),
            Part("footer", footer),
        ]
        findings.details = {
            "writer": f"{opened.software_version}", "compression": str(opened.compression).lower(),
            "stripes": opened.nstripes, "row index stride": opened.row_index_stride,
        }  # fmt: skip
    return findings
