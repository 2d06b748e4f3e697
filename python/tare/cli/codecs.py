"""``tare codecs``: every codec, its version and options, and how to install what is missing."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from tare.cli.types import CodecId

if TYPE_CHECKING:
    from tare.formats.base import Format, Library, Option
    from tare.measure.worker_client.languages import Inventory

__all__ = ["command"]

_WIDTH = 100
_PIP = "pip install "


@click.command("codecs")
@click.argument("names", nargs=-1, type=CodecId(), metavar="[FORMAT|CODEC]...")
@click.option(
    "--language",
    metavar="NAME",
    help="Codecs of another language's worker (r, node, java, mono, rust), by asking it.",
)
@click.option(
    "--exchange",
    "exchanged",
    is_flag=True,
    help="Encode each probe in every codec of FORMAT, decode it in every other, in all languages.",
)
@click.option(
    "--worker",
    "workers",
    multiple=True,
    metavar="NAME=COMMAND",
    help="With --exchange or --language: program that has the codecs of a language.",
)
@click.option("--missing", is_flag=True, help="Print only the lines that install what is missing.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON array.")
def command(
    names: tuple[str, ...],
    *,
    language: str | None,
    exchanged: bool,
    workers: tuple[str, ...],
    missing: bool,
    as_json: bool,
) -> int:
    """List every codec: id, version, kinds of data, options with their defaults, installed or how to.

    With FORMAT ids, or ids of codecs of any language (json:orjson, json:r-jsonlite), only these, each with
    what its options mean, or the values that they take. A format that Python has not (smile) is shown as other
    languages have it.

    Marks: `d` documents, `t` tables, `s` can be streamed, `m` can use all cores,
    `x` hostile bytes can run code or crash Python.
    """
    from tare import formats
    from tare.cli.measure import chosen_workers

    given = chosen_workers(workers)
    if exchanged:
        from tare.cli.exchanging import show_exchange
        from tare.measure.exchange.documents import ends_of

        if missing or language is not None:
            raise click.UsageError("--exchange takes all languages: leave --language and --missing out")
        for name in names:
            if not ends_of(name, given)[0]:  # Smile and others are of other languages alone
                formats.get(name)
        return show_exchange(names, given, as_json=as_json)
    elsewhere: dict[str, list[str]] = {}
    if language is None:
        for name in names:
            for of in _languages_of(name, given):
                elsewhere.setdefault(of, []).append(name)
    elif language != "python":
        elsewhere[language] = list(names)
    if workers and not elsewhere:
        raise click.UsageError("--worker goes with --exchange, or with --language of another language")
    ours = [name for name in names if not any(name in some for some in elsewhere.values())]
    pairs = _pairs(ours) if ours or not elsewhere else []
    others = [_of_language(one, some, given) for one, some in elsewhere.items()]
    if missing:
        _print_missing(pairs, others)
    elif as_json:
        listed = [_described(format, library) for format, library in pairs]
        click.echo(json.dumps(listed + [entry for one in others for entry in one.described()], indent=1))
    else:
        if pairs and sys.stdout.isatty():
            _print_table(pairs)
        elif pairs:
            _print_plain(pairs)
        if names:
            _print_options(pairs)
        for one in others:
            _print_language(one, given, explained=bool(names))
    return 0


def _languages_of(name: str, given: dict[str, str]) -> list[str]:
    """The languages whose workers have a codec, or a format that Python has not; none for what is Python's.

    Raises:
        UsageError: No worker that is installed has the format.
    """
    from tare import formats
    from tare.errors import UsageError
    from tare.measure.worker_client.languages import inventories, language_of, languages_begun, name_of

    if of := language_of(name, given):
        return [of]
    # An ending of a file is told of which format it is, and nobody is asked.
    if (
        ":" in name
        or any(format.id == name for format in formats.FORMATS)
        or formats.by_extension(f".{name}")
    ):
        return []
    here = inventories(languages_begun(f"{name}:*", given), given)
    having = [one.language for one in here if any(id.partition(":")[0] == name for id in one.ids)]
    if not having:
        try:
            formats.get(name)
        except UsageError as error:
            unknown = ", ".join(name_of(one.language) for one in here if one.reason)
            raise UsageError(f"{error}" + (f"; could not be asked: {unknown}" if unknown else "")) from None
    return having


def _pairs(names: Sequence[str]) -> list[tuple[Format, Library]]:
    """The libraries of these formats, or of these codecs; all if there are no names.

    Raises:
        UsageError: There is no such format, or the format has no such library.
    """
    from tare import formats
    from tare.codec import Codec

    found: list[tuple[Format, Library]] = []
    for name in names:
        if ":" in name:
            codec = Codec.parse(name)
            found.append((codec.format, codec.library))
        else:
            format = formats.get(name)
            found += [(format, library) for library in format.libraries]
    if names:
        return found
    return [(format, library) for format in formats.FORMATS for library in format.libraries]


def _print_missing(pairs: list[tuple[Format, Library]], others: Sequence[_Others]) -> None:
    lines = _install_lines(pairs) if pairs else []
    lines += dict.fromkeys(line for one in others for line in one.lacking.values())
    for line in lines:
        click.echo(line)
    if not lines:
        click.echo(
            f"nothing is missing: every {'library' if pairs else 'package'} is installed",
            err=True,
        )


def _install_lines(pairs: list[tuple[Format, Library]]) -> list[str]:
    """One line for all that pip installs, and one for each other command, in the registry's order."""
    from tare.codec.peers import PEERS

    lines = [library.install_line for _, library in pairs if not library.installed]
    lines += [one.install_line for one in PEERS if not one.installed]
    pip = [line for line in lines if line.startswith(_PIP) and "&&" not in line]
    names = dict.fromkeys(name for line in pip for name in line.removeprefix(_PIP).split())
    rest = dict.fromkeys(line for line in lines if line and line not in pip)
    return [*([_PIP + " ".join(names)] if names else []), *rest]


@dataclass(frozen=True)
class _Others:
    """Codecs of another language: what its worker says of those that are here, and what installs the rest."""

    found: Inventory
    here: dict[str, Mapping[str, Any]]
    lacking: dict[str, str]

    def described(self) -> list[dict[str, Any]]:
        listed = [{"id": id, "installed": True, **about} for id, about in self.here.items()]
        return listed + [{"id": id, "installed": False, "install": line} for id, line in self.lacking.items()]


def _of_language(language: str, names: Sequence[str], given: dict[str, str]) -> _Others:
    """What the worker of a language says that it has, of these formats or codecs; all if there are no names.

    Raises:
        UsageError: There is no such language or codec, or its worker does not run.
    """
    from tare.errors import UsageError
    from tare.measure.worker_client.languages import LANGUAGES, Foreign, inventory, name_of

    if language not in LANGUAGES and language not in given:
        raise UsageError(
            f"--language is python, {', '.join(LANGUAGES)}, or the name of a --worker NAME=COMMAND, "
            f"not {language[:40]!r}"
        )
    found = inventory(language, given)
    if found.reason:
        raise UsageError(found.reason)
    wanted = {name.partition("+")[0].partition(",")[0] for name in names}
    for name in names:
        if ":" in name and (fault := Foreign(name, found).fault()):
            raise UsageError(fault)

    def chosen(id: str) -> bool:
        return not wanted or id in wanted or id.partition(":")[0] in wanted

    here = {id: about for id, about in found.codecs.items() if chosen(id)}
    lacking = {id: line for id, line in found.missing.items() if chosen(id)}
    of = {part for id in (*here, *lacking) for part in (id, id.partition(":")[0])}
    if unknown := sorted(wanted - of):
        formats = ", ".join(dict.fromkeys(id.partition(":")[0] for id in (*found.codecs, *found.missing)))
        raise UsageError(f"{name_of(language)} has no {unknown[0][:40]!r}; its formats are {formats}")
    return _Others(found, here, lacking)


def _print_language(others: _Others, given: dict[str, str], *, explained: bool) -> None:
    """A line for each codec; the values that its options take, as far as its worker tells them, if explained."""
    from tare.measure.worker_client.languages import name_of, node_folders, spelled

    language = others.found.language
    click.echo(f"{name_of(language)} {others.found.version}".rstrip(), err=True)
    if language == "node" and language not in given:
        click.echo(f"packages from {', '.join(node_folders())}", err=True)
    width = max(map(len, [*others.here, *others.lacking]), default=0)
    for id, about in others.here.items():
        choices = about.get("choices", {}) if explained else {}
        options = " ".join(
            f"{name}={spelled(value)}"
            + (f" ({'|'.join(map(spelled, choices[name]))})" if choices.get(name) else "")
            for name, value in {**dict.fromkeys(choices, "auto"), **about["options"]}.items()
        )
        code = "x" if about.get("executes_code") else "-"
        media = ",".join(map(str, about["media"]))
        click.echo(f"{id:<{width}}  {about['version']:<9}  {code}  {media:<26}  {options}".rstrip())
    for id, line in others.lacking.items():
        click.echo(f"{id:<{width}}  {'-':<9}  -  not installed: {line}")


def _described(format: Format, library: Library) -> dict[str, Any]:
    from tare.codec import Codec

    codec = Codec(format.id, library.name)
    return {
        "id": str(codec),
        "format": format.id,
        "library": library.name,
        "version": library.version,
        "installed": library.installed,
        "install": library.install_line,
        "kinds": {kind: codec.native(kind) for kind in library.native},
        "options": {
            name: {
                "default": option.default,
                "choices": list(option.choices),
                "type": option.value_type,
                "help": option.help,
            }
            for name, option in library.options.items()
        },
        "variants": {kind: list(map(dict, sets)) for kind, sets in library.variants.items()},
        "threads": list(library.threads),
        "extensions": list(format.extensions),
        "lazy": library.open is not None,
        "writes": library.writes,
        "title": format.title,
        "notes": list(library.notes),
        **codec.flags(),
    }


def _row(format: Format, library: Library) -> tuple[str, str, str, str]:
    """Id, version, marks, and the options or the install line."""
    from tare.codec import Codec

    codec = Codec(format.id, library.name)
    marks = "".join(
        mark if holds else "-"
        for mark, holds in (
            ("d", "document" in library.native),
            ("t", "table" in library.native),
            ("s", library.stream is not None),
            ("m", "all" in library.threads),
            ("x", codec.executes_code),
        )
    )
    if not library.installed:
        return str(codec), "-", marks, f"not installed: {library.install_line}"
    options = " ".join(f"{name}={_spelled(option)}" for name, option in library.options.items())
    return str(codec), library.version or "?", marks, options


def _spelled(option: Option) -> str:
    from tare.formats.base import spell

    return "auto" if option.default is None else spell(option.default)


def _print_plain(pairs: list[tuple[Format, Library]]) -> None:
    rows = [("codec", "version", "marks", "options with their defaults"), *(_row(*pair) for pair in pairs)]
    widths = [max(len(row[place]) for row in rows) for place in range(3)]
    for row in rows:
        head = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        for line in _wrapped(row[3], _WIDTH - len(head) - 2):
            click.echo(f"{head}  {line}".rstrip())
            head = " " * len(head)


def _compressors() -> str:
    """Every compressor as an id ends with it, with its levels."""
    from tare.compress import COMPRESSORS

    return "  ".join(
        f"+{known.name}:{known.default_level} ({known.levels[0]}..{known.levels[1]})"
        for known in COMPRESSORS
        if known.levels is not None
    )


def _peers() -> str:
    """The compressors of other libraries as an id ends with them, and which are not installed."""
    from tare.codec.compressing import compressor_id
    from tare.codec.peers import PEERS

    return "  ".join(
        compressor_id(
            f"+{one.compressor}",
            one.default_level,
            () if one.own_container else (("library", one.name),),
        )
        + ("" if one.installed else " (not installed)")
        for one in PEERS
    )


def _wrapped(text: str, width: int) -> list[str]:
    import textwrap

    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def _print_table(pairs: list[tuple[Format, Library]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold", width=min(_WIDTH, console.width))
    for name in ("codec", "version", "marks"):
        table.add_column(name, no_wrap=True)
    table.add_column("options with their defaults")
    for format, library in pairs:
        style = "" if library.installed else "dim"
        table.add_row(*(Text(cell, style=style) for cell in _row(format, library)))
    console.print(table)
    click.echo(f"compressors: {_compressors()}", err=True)
    for line in _wrapped(f"to be measured beside them: {_peers()}", _WIDTH):
        click.echo(line, err=True)
    missing = len(_install_lines(pairs))
    click.echo(
        "d documents  t tables  s streams  m all cores  x hostile bytes can run code or crash Python"
        + ("\n`tare codecs --missing` prints how to install the rest" if missing else ""),
        err=True,
    )


def _print_options(pairs: list[tuple[Format, Library]]) -> None:
    """What each option and each note of the chosen formats says."""
    for format, library in pairs:
        click.echo(f"\n{format.id}:{library.name}  {' '.join(format.extensions)}  {format.spec}".rstrip())
        entries = [
            f"{name}={_spelled(option)} ({option.expected}): {option.help}"
            for name, option in library.options.items()
        ]
        for entry in (*entries, *library.notes):
            for place, line in enumerate(_wrapped(entry, _WIDTH - 4)):
                click.echo(("  " if place == 0 else "    ") + line)
