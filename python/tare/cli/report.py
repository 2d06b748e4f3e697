"""`tare report`: a saved record once more."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tare.cli.lines import columns_asked
from tare.cli.outcome import unanswered
from tare.cli.saved_records import find_record, last_record

if TYPE_CHECKING:
    from tare.measure.result import Result

__all__ = ["command"]

_PROFILES = ("keep", "cache", "archive", "message", "exchange", "random")


@click.command("report", short_help="Show a saved record again.")
@click.argument("record", required=False, type=click.Path(dir_okay=False))
@click.option(
    "--html",
    type=click.Path(dir_okay=False, allow_dash=True),
    help="Write the one-file HTML report; - is standard output.",
)
@click.option("-v", "--verbose", is_flag=True, help="Show every figure, with intervals, ids and noise.")
@click.option(
    "--all", "every", is_flag=True, help="A line for each codec, also those that were not measured."
)
@click.option("--md", "as_md", is_flag=True, help="Print Markdown.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, with bench::mark's columns beside ours.")
@click.option("--json", "as_json", is_flag=True, help="Print the record with everything derived from it.")
@click.option(
    "--png",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Write the charts as PNG files (needs vl-convert-python).",
)
@click.option(
    "--svg",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Write the charts as SVG files (needs vl-convert-python).",
)
@click.option(
    "--theme",
    type=click.Choice(["light", "dark"]),
    default="light",
    show_default=True,
    help="Colours of --png and --svg.",
)
@click.option("--for", "profile", type=click.Choice(_PROFILES), help="Show the verdict for this use.")
@click.option("--link", metavar="RATE,RTT", help="Recommend for bytes that go over this link: 1Gbit,0.3ms.")
@click.option(
    "--field", metavar="NAME", help="Print one value: recommendation.route, dataset.rows, noise.floor, ..."
)
@click.option(
    "--import",
    "source",
    metavar="SOURCE PATH",
    nargs=2,
    type=str,
    help="Show published figures: msgpack-r PATH.",
)
def command(record: str | None, source: tuple[str, str] | None, **options: Any) -> int:
    """Show RECORD: on the terminal, or as HTML, Markdown, CSV, JSON or pictures.

    RECORD is a file, or a name among the saved records; without it the last one is shown.
    If nothing is recommended for the use or link that is asked for, the exit code is 1.

    \b
    Examples:
      tare report
      tare report flights-1 --all
      tare report flights-1.tare.json --for archive
      tare report flights-1.tare.json --html report.html
      tare report flights-1.tare.json --field recommendation.route
      tare report --import msgpack-r benchmarks.csv.xz --html study.html
    """  # noqa: D301 - click keeps lines after a backspace character
    result = _load(record, source)
    if options["link"] or (
        options["profile"] and options["profile"] not in (result.derived.get("profiles") or {})
    ):
        _recommend_again(result, options["profile"], options["link"])
    if options["field"]:
        click.echo(_field(result, options["field"], options["profile"]))
        if options["field"].partition(".")[0] != "recommendation":
            return 0
    else:
        _write(result, record, options)
    # A record alone is shown; a use or a link is a question, as to `tare measure`.
    asked = options["profile"] or (options["link"] and result.derived.get("headline_profile"))
    if asked and (why := unanswered({**result.record, "derived": result.derived}, asked)):
        click.echo(f"tare: {why}", err=True)
        return 1
    return 0


def _load(record: str | None, source: tuple[str, str] | None) -> Result:
    from tare.errors import UsageError
    from tare.measure.result import Result

    if source is not None:
        if record is not None:
            raise UsageError("give a record or --import SOURCE PATH, not both")
        from tare.measure.records.importers import import_record

        return Result(import_record(*source))
    found = last_record() if record is None else find_record(record)
    if found is None:
        raise UsageError(
            "no record was saved yet: run `tare measure FILE`, give a record, or --import msgpack-r PATH"
        )
    result = Result.load(found)
    _ = result.derived  # computed now if the record was saved without
    return result


def _recommend_again(result: Result, profile: str | None, link: str | None) -> None:
    """Put the verdict for another link in the place of the record's own; the record's file is not touched."""
    derived = result.derived
    name = profile or str(derived.get("headline_profile"))
    found = result.recommend(name, link=link)
    derived["profiles"] = {**(derived.get("profiles") or {}), name: dict(found.detail or {})}
    derived |= {"headline_profile": name, "headline": derived["profiles"][name]}
    result.record["derived"] = derived


def _write(result: Result, record: str | None, options: dict[str, Any]) -> None:
    profile, told = options["profile"], False
    if options["html"]:
        from tare.report.html import render as render_html

        page = render_html(result, profile=profile)
        if options["html"] == "-":
            click.echo(page, nl=False)
        else:
            _save(Path(options["html"]), page)
        told = True
    for kind in ("png", "svg"):
        if options[kind]:
            from tare.report.images import export

            for path in export(result, options[kind], kind=kind, theme=options["theme"], profile=profile):
                click.echo(f"chart   {path}", err=True)
            told = True
    from tare.report import csv, json, markdown, terminal

    if options["as_json"]:
        click.echo(json.render(result), nl=False)
    elif options["as_csv"]:
        click.echo(csv.render(result, profile=profile), nl=False)
    elif options["as_md"]:
        click.echo(markdown.render(result, profile=profile), nl=False)
    elif not told:
        terminal.show(
            result,
            width=columns_asked(),
            profile=profile,
            record_path=record,
            verbose=options["verbose"],
            every=options["every"],
        )


def _save(path: Path, page: str) -> None:
    # Written beside and renamed: a reader never sees half a page.
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(page, encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    click.echo(f"report  {path}", err=True)


def _field(result: Result, name: str, profile: str | None) -> str:
    """One value by its dotted name; ``recommendation`` is the verdict shown."""
    from tare.errors import UsageError

    head, _, rest = name.partition(".")
    if head == "recommendation":
        found = result.recommend(profile)
        node: Any = {**dict(found.detail or {}), "route": found.route_id}
    else:
        node, rest = result.record, name
    for step in filter(None, rest.split(".")):
        if isinstance(node, list) and step.isdigit() and int(step) < len(node):
            node = node[int(step)]
        elif isinstance(node, dict) and step in node:
            node = node[step]
        else:
            known = (
                ", ".join(sorted(map(str, node))[:20])
                if isinstance(node, dict)
                else f"{len(node)} items"
                if isinstance(node, list)
                else "nothing"
            )
            raise UsageError(f"the record has no field {name!r}: at {step!r} there is {known}")
    if isinstance(node, str):
        from tare.report import text

        return text.visible(node, 4000)
    import json

    return json.dumps(node, ensure_ascii=True)
