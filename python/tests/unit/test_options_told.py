"""Every option of the command line stands in the documentation, beside its command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from tare import cli
from tare.cli import COMMANDS

# Commands that are told of together: what is said of one stands beside the name of another.
FAMILIES = (
    {"convert", "plan", "run", "status", "clean"},
    {"measure", "report", "compare", "gate", "codecs"},
    {"compress", "decompress"},
    {"send", "receive"},
)


def options_of(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each long option of a command, and of those below it, with the words that name the command."""
    for parameter in command.params:
        if not getattr(parameter, "hidden", False):
            for option in (*parameter.opts, *parameter.secondary_opts):
                if option.startswith("--"):
                    yield words, option
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from options_of(below, (*words, name))


def sections(root: Path) -> list[str]:
    """The documentation, cut at its headings, and at comments in blocks."""
    texts = [
        path.read_text(encoding="utf-8") for path in (root / "README.md", *(root / "docs").rglob("*.md"))
    ]
    return [part for text in texts for part in re.split(r"(?m)^(?=#+ )", text)]


def commands_by_option(root: Path) -> dict[str, set[str]]:
    """Of each long option the commands that are named in the sections where it stands."""
    found: dict[str, set[str]] = {}
    for part in sections(root):
        names = {name for name in COMMANDS if re.search(rf"\btare`? `?{name}\b", part)}
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", part):
            found.setdefault(option, set()).update(names)
    return found


def test_every_option_is_told(root: Path) -> None:
    """In a section that names its command, or one of its family: README.md and docs."""
    told = commands_by_option(root)
    missing = []
    for words, option in options_of(cli.tare, ()):
        family = next((one for one in FAMILIES if words and words[0] in one), set(words[:1]))
        if option not in told or (words and not told[option] & family):
            missing.append(f"tare {' '.join(words)} {option}")
    assert [] == missing


def test_what_is_missing_is_found() -> None:
    """The tree is walked to its leaves: groups, negations and all."""
    found = {(" ".join(words), option) for words, option in options_of(cli.tare, ())}
    assert ("plan put", "--values") in found
    assert ("blit encode", "--no-checksum") in found
    assert ("convert", "--unit-timeout") in found
    assert ("convert", "--check") not in found
    assert len(found) > 250
