"""`tare inspect`: what a file is and where its bytes go."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from tare.cli.lines import counted

if TYPE_CHECKING:
    from tare.inspecting.findings import Inspection, Part

__all__ = ["command"]

_WIDTH = 100
_ROWS = 40
_KILO = 1_000


@click.command("inspect", short_help="Say what a file is and where its bytes go.")
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
@click.option("--format", "format_", metavar="FORMAT", help="What it is, when neither bytes nor name tell.")
@click.option(
    "--all", "everything", is_flag=True, help=f"List every column and part, not the {_ROWS} largest."
)
@click.option(
    "--tree", is_flag=True, help="Of files of R: print the structure of what they hold, a line a value."
)
@click.option(
    "--fail-on",
    metavar="KIND,...",
    help="Of files of R: exit with 3 if they hold promise, closure, bytecode, active-binding, external-pointer, "
    "unknown-altrep, mmap-altrep or reference-hook.",
)
def command(file: str, *, as_json: bool, format_: str | None, **options: Any) -> int:
    """Say what FILE is (- for standard input): format, compression, columns or shape, and where its bytes go.

    Nothing in the file is run. Exit code: 0; 1 if it is damaged or unknown; 3 if it holds a --fail-on kind.
    """
    from tare.io import inspect

    unwanted, everything = _unwanted(options["fail_on"]), options["everything"]
    found = inspect(file, format=format_, tree=options["tree"], everything=everything)
    if as_json:
        click.echo(json.dumps(found.as_dict(), indent=1, default=str))
    else:
        _print(found, None if everything else _ROWS)
    if found.error or found.damaged or not found.format:
        return 1
    if unwanted and found.kinds is None:
        click.echo(f"tare: --fail-on is of files of R, and this is {found.title}", err=True)
        return 2
    held = [kind for kind in unwanted if (found.kinds or {}).get(kind)]
    if held:
        click.echo(f"tare: it holds {', '.join(held)}", err=True)
    return 3 if held else 0


def _unwanted(text: str | None) -> list[str]:
    """The kinds that --fail-on names.

    Raises:
        UsageError: There is no such kind.
    """
    from tare.errors import UsageError
    from tare.inspecting.kinds import KINDS

    names = [name.strip().replace("_", "-") for name in (text or "").split(",") if name.strip()]
    wrong = next((name for name in names if name not in KINDS), None)
    if wrong is not None:
        raise UsageError(f"--fail-on: there is no kind {wrong[:40]!r}; there are {', '.join(KINDS)}")
    return names


def _print(found: Inspection, most: int | None) -> None:
    _line(
        f"{_safe(found.name, 60)}  {found.title or 'unknown'}{f', {found.version}' if found.version else ''}"
    )
    _facts(found)
    if found.columns is not None:
        _print_table(found, most)
    elif found.parts:
        _print_parts(found.parts, found.plain_bytes, most)
    if found.tree is not None:
        _line("")
        for line in found.tree:
            _line(
                f"  {'  ' * min(line['depth'], 30)}{_safe(line['name'], 60)}  {_safe(line['what'], 100)}".rstrip()
            )
    for flag in found.flags:
        _line(f"! {flag}")
    for note in dict.fromkeys(found.notes):
        _line(f"  note: {note}")
    if found.error:
        _line(f"! {found.error}")


def _facts(found: Inspection) -> None:
    rows: list[tuple[str, str]] = [("size", _bytes(found.bytes))]
    for box in found.containers:
        extra = ", ".join(
            _moment(value) if key == "modified_unix_s" else f"{key.replace('_', ' ')} {_value(value)}"
            for key, value in box.items()
            if key not in ("name", "plain_bytes")
        )
        rows.append(("compression", f"{box['name']}{f': {extra}' if extra else ''}"))
    if found.containers and found.plain_bytes is not None:
        rows.append(("decompressed", _bytes(found.plain_bytes)))
    if found.kind:
        unit, width = "value", ""
        if found.columns is not None:
            unit, width = "row", f" x {counted(len(found.columns), 'column')}"
        count = "" if found.rows is None else f"  {counted(found.rows, unit)}{width}"
        rows.append(("kind", f"{found.kind}{count}"))
    if found.shape:
        rows.append(("shape", ", ".join(f"{key} {_value(value)}" for key, value in found.shape.items())))
    rows += [(key, _value(value)) for key, value in found.details.items()]
    wide = max(18, *(len(key) for key, _ in rows))
    for key, value in rows:
        _line(f"  {key:<{wide}} {_safe(value, 400)}", indent=wide + 3)


def _bytes(n: int) -> str:
    from tare.report import text

    return counted(n, "byte") + (f" ({text.size(n)})" if n >= _KILO else "")


def _print_table(found: Inspection, most: int | None) -> None:
    """Columns with type and nulls, and their bytes where the format tells; the largest first if not all."""
    parts = {part.what: part for part in reversed(found.parts)}
    columns = found.columns or []
    known = [column for column in columns if column["name"] in parts]
    names = {column["name"] for column in columns}
    other = [part for part in found.parts if part.what not in names]
    shown = columns
    if most is not None and len(columns) > most:
        largest = (
            sorted(known, key=lambda column: -parts[column["name"]].bytes)[:most] if known else columns[:most]
        )
        chosen = {id(column) for column in largest}
        shown = [column for column in columns if id(column) in chosen]
    total = sum(part.bytes for part in found.parts) or 1
    _line("")
    _line(f"  {'column':<22} {'type':<18} {'nulls':>9} {'bytes':>12} {'%':>5}  detail")
    for column in shown:
        part = parts.get(column["name"])
        nulls = "-" if column["nulls"] is None else f"{column['nulls']:,}"
        size = "-" if part is None else f"{part.bytes:,}"
        share = "" if part is None else f"{100 * part.bytes / total:.1f}"
        detail = "" if part is None else _detail(part, column["type"])
        _line(
            f"  {_safe(column['name'], 22):<22} {_safe(column['type'], 18):<18} {nulls:>9} {size:>12} {share:>5}  {detail}"
        )
    if len(shown) < len(columns):
        _line(f"  ... {len(columns) - len(shown):,} more columns; --all lists them")
    for part in other[:most]:
        what = _safe(part.what, 41)
        _line(f"  {what:<41} {'':>9} {part.bytes:>12,} {100 * part.bytes / total:>5.1f}  {_detail(part, '')}")
    if most is not None and len(other) > most:
        _line(f"  ... {len(other) - most:,} more parts; --all lists them")


def _detail(part: Part, type_: str) -> str:
    ratio = f"{part.plain_bytes / part.bytes:.1f}x " if part.plain_bytes and part.bytes else ""
    return _safe(f"{ratio}{'' if part.detail == type_ else part.detail}", 26)


def _print_parts(parts: list[Part], plain: int | None, most: int | None) -> None:
    total = plain or sum(part.bytes for part in parts) or 1
    _line("")
    _line(f"  {'where the bytes go':<30} {'bytes':>14} {'%':>6}")
    for part in parts[:most]:
        _line(
            f"  {_safe(part.what, 30):<30} {part.bytes:>14,} {100 * part.bytes / total:>6.1f}  {_safe(part.detail, 40)}"
        )


def _moment(seconds: int) -> str:
    """Returns when a file was changed that was compressed then.

    >>> _moment(1_000_000_000)
    'modified 2001-09-09 01:46:40 UTC'
    """
    return f"modified {datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _safe(text: str, width: int) -> str:
    """Text from a file: its control characters escaped, cut to the width."""
    from tare.datasets.source import printable

    return printable(str(text), width)


def _line(text: str, indent: int = 4) -> None:
    """One line of at most 100 columns, broken at spaces."""
    import textwrap

    if len(text) <= _WIDTH:
        click.echo(text.rstrip())
        return
    for line in textwrap.wrap(text, _WIDTH, subsequent_indent=" " * indent, drop_whitespace=True) or [""]:
        click.echo(line)
