"""Help in groups, within 80 columns: no option and no command is lost."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from support.commands import invoke

from tare.cli import COMMANDS, GROUPS, tare
from tare.cli.grouping import GroupedCommand


def sections(text: str) -> dict[str, list[str]]:
    """First words of a help text's lines by the title of their section."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if title := re.fullmatch(r"([A-Z][^:]*):", line):
            found[title[1]] = []
        elif found and (item := re.match(r"  (\S.*?)(?:  |$)", line)):
            found[list(found)[-1]].append(item[1])
    return found


def test_the_commands_are_in_groups(tmp_path: Path) -> None:
    """Each once."""
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(COMMANDS) == sorted(grouped)
    shown = sections(invoke("--help", cwd=tmp_path).stdout)
    assert ["Options", *GROUPS] == list(shown)
    assert {title: list(names) for title, names in GROUPS.items()} == {
        title: shown[title] for title in GROUPS
    }


def test_the_options_of_measure_are_in_groups(tmp_path: Path) -> None:
    """Every parameter of the command is in one group, and each of its options is shown once."""
    command = tare.get_command(click.Context(tare), "measure")
    assert isinstance(command, GroupedCommand)
    parameters = command.get_params(click.Context(command))
    options = [one for one in parameters if isinstance(one, click.Option) and not one.hidden]
    grouped = [name for names in command.groups.values() for name in names]
    names = {"help" if "--help" in one.opts else str(one.name) for one in options}
    assert sorted(names) == sorted(grouped)
    shown = sections(invoke("measure", "--help", cwd=tmp_path).stdout)
    assert ["Everyday", "Conditions", "Records", "Advanced"] == [name for name in shown if name != "Examples"]
    listed = [re.findall(r"--[a-z-]+", item)[0] for title in command.groups for item in shown[title]]
    assert sorted(one.opts[-1] for one in options) == sorted(listed)


def test_what_has_no_group_is_shown_all_the_same() -> None:
    """Under a title of its own."""
    command = GroupedCommand(
        "x", params=[click.Option(["--a"]), click.Option(["--b"])], groups={"First": ("b",), "None": ()}
    )
    shown = sections(command.get_help(click.Context(command)))
    assert {"First": ["--b TEXT"], "Other options": ["--a TEXT", "--help"]} == shown


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_keeps_to_eighty_columns(name: str, tmp_path: Path) -> None:
    """But for lines of examples, which are typed as they are."""
    text = invoke(*filter(None, (name,)), "--help", cwd=tmp_path).stdout
    long = [line for line in text.splitlines() if len(line) > 80 and not line.startswith("    tare ")]
    assert [] == long
