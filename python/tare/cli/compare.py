"""`tare compare`: two records side by side."""

from __future__ import annotations

from typing import Any

import click

from tare.cli.lines import aligned, bytes_text, clean, time_text
from tare.cli.saved_records import SavedRecord

__all__ = ["command"]


@click.command("compare", short_help="Compare two records case by case.")
@click.argument("a", type=SavedRecord())
@click.argument("b", type=SavedRecord())
@click.option(
    "--across", is_flag=True, help="Compare different machines or data: ratios to the base codec only."
)
@click.option("--all", "everything", is_flag=True, help="Also show what is not shown to differ.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(a: str, b: str, across: bool, everything: bool, as_json: bool) -> int:
    """Compare record B with record A: time with interval, size, memory, and what changed in fidelity.

    \b
    Examples:
      tare compare before.tare.json after.tare.json
      tare compare laptop.tare.json server.tare.json --across
    """  # noqa: D301 - click keeps lines after a backspace character
    from tare.errors import NotComparable
    from tare.measure.comparison.compare import compare
    from tare.measure.result import Result

    found = compare(Result.load(a), Result.load(b), across=across)
    if as_json:
        import orjson

        click.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
    if found["unlike"]:
        raise NotComparable(found["unlike"])
    if as_json:
        return 0
    for line in lines_of(found, everything=everything):
        click.echo(line)
    return 0


# Of so many times at least, this share within this factor of their median, and that beyond this one: all moved alike.
_MANY, _MOST, _ALIKE, _MOVED = 8, 0.7, 1.25, 1.15
# Sizes that are estimated from blocks of the data are off by up to this factor.
_ESTIMATED = 1.03


def lines_of(found: dict[str, Any], *, everything: bool = False) -> list[str]:
    """The comparison as lines of text."""
    head = f"A {clean(found['a']['created'])} {clean(found['a']['dataset'])}   B {clean(found['b']['created'])} {clean(found['b']['dataset'])}"
    floor = f"noise floor {100 * found['floor']:.1f} %" if found["floor"] else "noise floor not measured"
    lines = [head, f"{floor}; ratios are B / A"]
    if found["differences"]:
        lines.append(
            f"across: {clean('; '.join(found['differences']))}; ratios are of ratios to {clean(found['base'])}"
        )
    if found["untimed"]:
        lines.append(clean(found["untimed"]))
    if found["shares"]:
        lines.append(clean(found["shares"]))
    if moved := _all_moved(found):
        lines.append(moved)
    rows = [["codec", "medium", "size", "op", "A", "B", "B / A", "", "bytes", "memory", "fidelity"]]
    hidden = 0
    for case in found["cases"]:
        shown = [
            _op_row(case, op, figures)
            for op, figures in case["ops"].items()
            if everything or figures["differs"]
        ]
        if not shown and not everything and not _changed(case):
            hidden += 1
            continue
        rows += shown or [_op_row(case, "", None)]
    lines += aligned(rows) if len(rows) > 1 else []
    if hidden:
        lines.append(f"{hidden} case{'s' * (hidden > 1)} not shown to differ (--all shows them)")
    lines += [_alone("A", "B", case) for case in found["only_a"]]
    lines += [_alone("B", "A", case) for case in found["only_b"]]
    lines += [
        f"version of {clean(v['codec'])}: {clean(v['a'])} before, {clean(v['b'])} now"
        for v in found["versions"]
    ]
    lines += [
        f"probe {clean(p['probe'])} of {clean(p['codec'])}: {clean(p['a'])} before, {clean(p['b'])} now"
        for p in found["probes"]
    ]
    return lines


def _all_moved(found: dict[str, Any]) -> str:
    """That nearly all times moved by nearly as much, as they do with another load of the machine; empty where they did not."""
    from statistics import median

    ratios = [
        figures["ratio"]
        for case in found["cases"]
        for figures in case["ops"].values()
        if figures["ratio"] > 0
    ]
    if len(ratios) < _MANY:
        return ""
    middle = median(ratios)
    near = sum(1 / _ALIKE <= ratio / middle <= _ALIKE for ratio in ratios) / len(ratios)
    if near < _MOST or 1 / _MOVED < middle < _MOVED:
        return ""
    return f"most times are {middle:.2f} of what they were, whatever the codec: that is the machine rather than the codecs"


def _alone(here: str, there: str, case: dict[str, Any]) -> str:
    """A case of one record only, and what became of its codec in the other."""
    from tare.measure.analysis.ranked_cases import number
    from tare.measure.verdict.text import percent

    what = f"{clean(case['codec'])} on {clean(case['medium'])}, {percent(number(case['size']))} of the data"
    return f"only in {here}: {what}; {there}: {clean(case['other'])}"


def _changed(case: dict[str, Any]) -> bool:
    sized = case["size_ratio"] is not None and not _same_size(case)
    return sized or case["status_a"] != case["status_b"] or bool(case["lost"] or case["regained"])


def _same_size(case: dict[str, Any]) -> bool:
    """Returns whether two sizes are the same; estimates from blocks of the data may differ a little."""
    estimated = case["size"] != case["size_b"]
    return bool(1 / _ESTIMATED <= case["size_ratio"] <= _ESTIMATED if estimated else case["size_ratio"] == 1)


def _op_row(case: dict[str, Any], op: str, figures: dict[str, Any] | None) -> list[str]:
    ratio = "" if figures is None else f"{figures['ratio']:.2f} [{figures['lo']:.2f}, {figures['hi']:.2f}]"
    word = (
        ""
        if figures is None
        else "no difference shown"
        if not figures["differs"]
        else ("slower" if figures["ratio"] > 1 else "faster")
    )
    size = (
        ""
        if case["size_ratio"] is None
        else (
            f"{'about the ' * (case['bytes_a'] != case['bytes_b'])}same"
            if _same_size(case)
            else f"{bytes_text(case['bytes_a'])} -> {bytes_text(case['bytes_b'])}"
        )
    )
    peak = "" if case["peak_ratio"] is None else f"{case['peak_ratio']:.2f}x"
    times = ["", ""] if figures is None else [time_text(figures["a_ns"]), time_text(figures["b_ns"])]
    return [
        clean(case["codec"]),
        clean(case["medium"]),
        clean(case["size"] if case["size"] == case["size_b"] else f"{case['size']} -> {case['size_b']}"),
        op,
        *times,
        ratio,
        word,
        size,
        peak,
        _fidelity(case),
    ]


def _fidelity(case: dict[str, Any]) -> str:
    if case["lost"]:
        return f"now loses {clean(', '.join(case['lost'][:3]))}"
    if case["regained"]:
        return f"now keeps {clean(', '.join(case['regained'][:3]))}"
    if case["status_a"] != case["status_b"]:
        return f"{clean(case['status_a'])} -> {clean(case['status_b'])}"
    return clean(case["verdict_b"] or "")
