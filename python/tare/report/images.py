"""The charts as PNG or SVG files, drawn from the specs of the page by vl-convert."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

from tare.errors import MissingLibrary, UsageError
from tare.report.charts import CHARTS, basis_of, chart_data, group_said, link_of, spec, themes
from tare.report.digest import Digest, digest

__all__ = ["complete_spec", "export"]

_WIDTH = 1000
_HEAD = 52  # room for a heading above a chart
_PAPER = {"light": "#fcfcfa", "dark": "#15171c"}


def export(
    result: Any,
    folder: str | os.PathLike[str],
    *,
    kind: str = "svg",
    theme: str = "light",
    profile: str | None = None,
) -> list[Path]:
    """Write one file per chart that the record has data for.

    Args:
        result: A Result, or a record as a dict.
        folder: Where; it is made if it is not there.
        kind: ``svg`` or ``png``.
        theme: ``light`` or ``dark``.
        profile: Profile of the costs and the order; the record's headline by default.

    Returns:
        The files, in the order of the page.

    Raises:
        MissingLibrary: vl-convert-python is not installed.
        UsageError: A kind or theme that does not exist.
        OSError: A file cannot be written.
    """
    if kind not in ("svg", "png") or theme not in _PAPER:
        raise UsageError(f"a chart is svg or png, light or dark, not {kind} and {theme}")
    try:
        import vl_convert
    except ImportError as error:
        raise MissingLibrary(
            "charts as files need vl-convert-python: pip install vl-convert-python"
        ) from error
    found = digest(result, profile=profile)
    data = chart_data(found)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    written = []
    for name in CHARTS:
        whole = complete_spec(found, name, data, theme=theme)
        if whole is None:
            continue
        path = target / f"{name}.{kind}"
        if kind == "svg":
            path.write_text(_numbered_anew(vl_convert.vega_to_svg(whole)), encoding="utf-8")
        else:
            path.write_bytes(vl_convert.vega_to_png(whole, scale=2))
        written.append(path)
    return written


def _numbered_anew(svg: str) -> str:
    """A chart whose ids count from its own first one: those of vl-convert count on from chart to chart of a process.

    >>> _numbered_anew('<clipPath id="clip7"/><g clip-path="url(#clip7)"/><x id="gradient_9"/>')
    '<clipPath id="clip0"/><g clip-path="url(#clip0)"/><x id="gradient_1"/>'
    """
    numbers: dict[str, int] = {}

    def again(found: re.Match[str]) -> str:
        return f"{found[1]}{found[2]}{numbers.setdefault(found[2] + found[3], len(numbers))}"

    return re.sub(r"""(id="|url\(["']?#)(clip|gradient_)(\d+)""", again, svg)


def complete_spec(
    found: Digest, name: str, data: dict[str, list[dict[str, Any]]], *, theme: str = "light"
) -> dict[str, Any] | None:
    """A chart's spec with data, size, signals and colours; None when there is nothing to draw."""
    if not _drawn(found, name, data):
        return None
    whole = spec(name)
    weights = link_of(found, found.profile)
    signals = {
        "profile": found.profile,
        "grid": 0,
        **{key: weights[key] for key in ("w", "r", "n", "rtt", "s")},
        "v": weights["v"] or 125e6,
        "linked": weights["v"] is not None,
        "basis": basis_of(found, found.profile),
        "ops": list(found.grids[0].ops) if found.grids else ["write", "read"],
    }
    for signal in whole["signals"]:
        if signal["name"] in signals and "update" not in signal:
            signal["value"] = signals[signal["name"]]
    for dataset in whole["data"]:
        if dataset["name"] in data and "source" not in dataset:
            dataset["values"] = data[dataset["name"]]
    config = themes()[theme]
    whole |= {
        "width": _WIDTH,
        "height": _height(name, data),
        "padding": {"top": _HEAD, "left": 8, "right": 8, "bottom": 8},
        "title": {
            "text": CHARTS[name][0],
            "subtitle": group_said(found, name),
            "frame": "group",
            "offset": 12,
            "fontSize": 15,
            "subtitleFontSize": 12,
            "subtitleColor": config["range"]["ink"][1],
            "subtitlePadding": 5,
        },
        "config": config,
        "background": _PAPER[theme],
    }
    return whole


def _drawn(found: Digest, name: str, data: dict[str, list[dict[str, Any]]]) -> bool:
    """Whether a chart has something to show of the group that it is exported of."""
    if name in ("growth", "noise"):
        return bool(data[{"growth": "growth", "noise": "aa"}[name]])
    if name == "bandwidth":
        basis = basis_of(found, found.profile)
        return any(row["basis"] == basis for row in data["cost"])
    rows = [row for row in data["samples" if name == "samples" else "rows"] if row["grid"] == 0]
    if name == "memory":
        return any(row["mw"] or row["mr"] for row in rows)
    return any(row["B"] for row in rows) if name == "pareto" else bool(rows)


def _height(name: str, data: dict[str, list[dict[str, Any]]]) -> int:
    """As the page lays the charts out at this width."""
    first = [row for row in data["rows"] if row["grid"] == 0]
    rows = max(1, len(first))
    if name == "growth":
        curves = Counter(row["panel"] for row in data["ends"])
        tall = max(270, 82 + 17 * max(curves.values(), default=0))
        return math.ceil(len(curves) / min(2, max(1, len(curves)))) * tall + 10
    if name == "samples":
        return 50 + 36 * max(1, len({row["codec"] for row in data["samples"] if row["grid"] == 0}))
    if name == "noise":
        pairs = len(data["aa"])
        return 60 + max(42, pairs * (7 if pairs > 24 else 14))
    heights: dict[str, int] = {
        "bandwidth": 520,
        "pareto": 400,
        "times": 44 + 28 * rows,
        "memory": 54 + 28 * max(1, sum(row["mw"] is not None or row["mr"] is not None for row in first)),
    }
    return heights[name]
