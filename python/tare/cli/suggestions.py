"""What was meant by an option or a value that does not exist: the nearest one that does."""

from __future__ import annotations

import difflib
import re

import click

__all__ = ["suggest"]

# Options this much less alike than the nearest are not suggested.
_APART = 0.05
_NOT_ONE_OF = re.compile(r"^'(.{1,80}?)' is not one of ")


def suggest(error: click.ClickException) -> None:
    """Leave the nearest option of those that click suggests, and name the nearest value of a choice.

    >>> error = click.NoSuchOption("--fro", possibilities=["--for", "--grow", "--remote"])
    >>> suggest(error)
    >>> error.possibilities
    ['--for']
    >>> error = click.BadParameter("'archiv' is not one of 'keep', 'archive'.")
    >>> error.param = click.Option(["--for"], type=click.Choice(["keep", "archive"]))
    >>> suggest(error)
    >>> error.message
    "'archiv' is not one of 'keep', 'archive'. Did you mean archive?"
    """
    if isinstance(error, click.NoSuchOption) and error.possibilities:
        near = {name: _likeness(error.option_name, name) for name in error.possibilities}
        error.possibilities = [name for name in near if near[name] >= max(near.values()) - _APART]
    elif isinstance(error, click.BadParameter) and isinstance(
        getattr(error.param, "type", None), click.Choice
    ):
        given = _NOT_ONE_OF.match(error.message)
        names = [str(name) for name in error.param.type.choices]
        found = difflib.get_close_matches(given[1], names, n=1) if given else []
        error.message += f" Did you mean {found[0]}?" if found else ""


def _likeness(one: str, other: str) -> float:
    """How alike two words are, 0 to 1; letters in another order are all but the same."""
    same = 0.95 if sorted(one) == sorted(other) else 0.0
    return max(same, difflib.SequenceMatcher(None, one, other).ratio())
