"""Help in groups, within 80 columns: no option and no command is lost."""

from __future__ import annotations

import errno
import re
from pathlib import Path

import click
import pytest
from support.commands import invoke

from tare.cli import COMMANDS, GROUPS, _message, tare
from tare.cli.grouping import GroupedCommand
from tare.measure.verdict.cost_model import PROFILES
from tare.measure.verdict.text import counts


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


def test_uses_are_a_topic_of_help(tmp_path: Path) -> None:
    """Each use is a line with what it counts and asks for; a topic that does not exist is an error, a file is none."""
    shown = invoke("measure", "--help", "uses", cwd=tmp_path).stdout
    assert all(len(line) <= 80 for line in shown.splitlines())
    for name, use in PROFILES.items():
        line = next(line for line in shown.splitlines() if line.startswith(f"  {name} "))
        said, _, asked = line[12:].partition("; ")
        assert said == counts(use.weights()), name
        assert len(asked.split(", ")) == max(1, len(use.conditions)), name
        assert bool(asked) is bool(use.conditions), name
    wrong = invoke("measure", "--help", "usse", cwd=tmp_path)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "no help topic 'usse': expected uses" in wrong.stderr
    (tmp_path / "x.csv").write_bytes(b"a\n1\n")
    assert "Usage: tare measure" in invoke("measure", "--help", "x.csv", cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("words", "suggested"),
    [
        (("--for", "archiv"), "'random'. Did you mean archive?\n"),
        (("--for", "zzz"), "'random'.\n"),
        (("--fro", "keep"), "No such option '--fro'. Did you mean '--for'?\n"),
        (("--encodign", "latin1"), "Did you mean '--encoding'?\n"),
    ],
)
def test_the_nearest_option_and_value_are_suggested(
    words: tuple[str, ...], suggested: str, tmp_path: Path
) -> None:
    """One, not all that share letters with it."""
    found = invoke("measure", "x.csv", *words, cwd=tmp_path)
    assert found.returncode == 2
    assert found.stderr.endswith(suggested)


def test_a_bucket_that_refuses_says_what_opens_it() -> None:
    """The variables of the environment; of a file of this machine they would be no help."""
    said = _message(PermissionError(errno.EACCES, "Forbidden (403)", "s3://bucket/x.csv"))
    assert said.startswith(
        "s3://bucket/x.csv: forbidden (403). Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY "
    )
    assert "AWS_SKIP_SIGNATURE=true if the bucket is public." in said
    assert _message(PermissionError(errno.EACCES, "Permission denied", "x.csv")) == "x.csv: permission denied"
    gone = FileNotFoundError(errno.ENOENT, "No such key (404)", "s3://bucket/x.csv")
    assert _message(gone) == "s3://bucket/x.csv: no such key (404)"


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_keeps_to_eighty_columns(name: str, tmp_path: Path) -> None:
    """But for lines of examples, which are typed as they are."""
    text = invoke(*filter(None, (name,)), "--help", cwd=tmp_path).stdout
    long = [line for line in text.splitlines() if len(line) > 80 and not line.startswith("    tare ")]
    assert [] == long
