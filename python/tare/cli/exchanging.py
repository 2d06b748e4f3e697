"""``tare codecs FORMAT --exchange``: what one library or language writes and another reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import click

__all__ = ["show_exchange"]


def show_exchange(names: Sequence[str], given: Mapping[str, str], *, as_json: bool) -> int:
    """Exchange the probes of each format between all codecs that are installed; print the matrices.

    Args:
        names: Formats; all that two languages share here if none is named.
        given: Commands of workers by name.
        as_json: Print what a record would hold.

    Returns:
        The exit code: 1 if there was nothing to exchange.

    Raises:
        UsageError: No such format.
    """
    from tare.measure.exchange.documents import ends_of, exchange, shared_formats
    from tare.measure.exchange.tables import exchange_tables, table_block

    last = ""

    def tell(line: str, done: int = 0, total: int = 0) -> None:
        nonlocal last
        if line != last:
            click.echo(f"{line}  ({done} of {total} steps)" if total else line, err=True)
        last = line

    if not names:
        tell("every format of every language here: a minute or two; name a format for less")
    found: dict[str, dict[str, Any]] = {}
    of_documents, of_tables = shared_formats(given), shared_formats(given, kind="table")
    for format in names or [*of_documents, *(one for one in of_tables if one not in of_documents)]:
        codecs, reasons = ends_of(format, given)
        tables = ends_of(format, given, kind="table")[0] if format in of_tables or not codecs else []
        if len(codecs) > 1:
            found[format] = exchange(format, codecs, given=given, tell=tell)
        if len(tables) > 1:
            found[table_block(format, found)] = exchange_tables(format, tables, given=given, tell=tell)
        if len(codecs) < 2 and len(tables) < 2:
            tell(f"{format}: {' and '.join(codecs or tables) or 'no codec'} here, so no exchange")
        for reason in reasons.values():
            click.echo(f"{format}: {reason}", err=True)
    if as_json:
        click.echo(json.dumps(found, indent=1))
    else:
        for line in _lines(found):
            click.echo(line)
    return 0 if found else 1


def _lines(found: Mapping[str, dict[str, Any]]) -> list[str]:
    from tare.report import exchanging

    lines = []
    for format, block in found.items():
        for part in exchanging.parts(block):
            lines += [f"{format}: {part.legend}", *table_lines(exchanging.rows(block, part)), ""]
            lines += [*exchanging.said(block, part), ""]
    return lines


def table_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of text, each column as wide as its widest cell."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
