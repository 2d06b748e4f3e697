"""Help in groups: the options that most people need come first, those that few need last."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import click

__all__ = ["GroupedCommand", "write_groups"]

_REST = "Other options"


class GroupedCommand(click.Command):
    """A command whose options stand in groups; those of no group come last.

    Args:
        groups: Names of parameters by the title of their group, in the order in which help shows them;
            ``help`` is `--help`.
        topics: What ``--help TOPIC`` shows, by topic: functions that return the text.
        **more: As `click.Command` takes them.
    """

    def __init__(
        self,
        *args: Any,
        groups: Mapping[str, Sequence[str]],
        topics: Mapping[str, Callable[[], str]] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(*args, **more)
        self.groups = groups
        self.topics = topics or {}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Show the topic that follows `--help`; refuse one that does not exist and is no file."""
        for option, word in pairwise(args):
            if not self.topics or option not in ctx.help_option_names or word.startswith("-"):
                continue
            if word in self.topics:
                click.echo(self.topics[word]())
                ctx.exit()
            if not os.path.exists(word):
                raise click.UsageError(f"no help topic {word!r}: expected {' or '.join(self.topics)}", ctx)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each group as a section of its own."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        # click's own option has another name in each version.
        records = {
            "help" if "--help" in option.opts else str(option.name): option.get_help_record(ctx)
            for option in options
        }
        grouped = {name for names in self.groups.values() for name in names}
        rest = [name for name in records if name not in grouped]
        sections = {
            title: [record for name in names if (record := records.get(name)) is not None]
            for title, names in {**self.groups, _REST: rest}.items()
        }
        write_groups(formatter, sections)


def write_groups(formatter: click.HelpFormatter, groups: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    """Write lists of names and what they mean, each under its title; empty ones are left out."""
    for title, records in groups.items():
        if records:
            with formatter.section(title):
                formatter.write_dl(records)
