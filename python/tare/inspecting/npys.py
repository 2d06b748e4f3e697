"""NPY: what the header says, and the bytes of the items."""

from __future__ import annotations

from tare.datasets.source import Source
from tare.inspecting.findings import Findings, Part

__all__ = ["look"]


def look(source: Source, max_bytes: int) -> Findings:
    """Type, shape and order of the array."""
    from tare.formats import npy

    data, share = source.read(max_bytes)
    findings = Findings(kind="array")
    shape, fortran, dtype, start = npy.header(data)
    rest = (source.size if share < 1.0 else len(data)) - start
    findings.rows = shape[0] if shape else 1
    findings.details = {
        "type": str(dtype),
        "array shape": " x ".join(f"{length:,}" for length in shape) or "one value",
        "order": "Fortran" if fortran else "C",
    }
    findings.parts = [Part("items", rest), Part("header", start)]
    return findings
