"""The report as one HTML file: no network, no fonts, no tracking; it opens from disk and prints.

The page is written whole on the server's side: verdict, tables and fidelity are
HTML and need no script. Scripts add the charts (Vega, its expressions run by an
interpreter so that the content security policy can forbid evaluation), the
switches and the sliders. The same record gives the same bytes.
"""

from __future__ import annotations

from typing import Any

__all__ = ["render"]


def render(result: Any, *, profile: str | None = None) -> str:
    """Lay a Result out as one HTML document.

    Args:
        result: A Result, or a record as a dict.
        profile: Profile shown first; the record's headline by default.
    """
    from tare.report.html.page import page

    return page(result, profile=profile)
