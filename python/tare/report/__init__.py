"""One record, five faces: terminal, Markdown, CSV, JSON and a single HTML file.

Every renderer takes a Result (anything with a ``record`` dict that holds
``derived``) and returns text; none of them prints, measures or computes a
statistic. What they show, and in which order, is decided once in
`tare.report.digest`; how a number is written, once in `tare.report.text`.
"""

from __future__ import annotations

__all__: list[str] = []
