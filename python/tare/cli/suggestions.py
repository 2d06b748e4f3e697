"""What was meant by an option or a value that does not exist: the nearest one that does."""

from __future__ import annotations

import difflib
import re

import click

__all__ = ["with_suggestion"]

# Options this much less alike than the nearest are not suggested.
_APART = 0.05
_NOT_ONE_OF = re.compile(r"^'(.{1,80}?)' is not one of ")


def with_suggestion(error: click.ClickException) -> click.ClickException:
    """Returns an error with the nearest of the options that click suggests, or with the nearest value of a choice.

    >>> found = with_suggestion(click.NoSuchOption("--fro", possibilities=["--for", "--grow", "--remote"]))
    >>> found.possibilities
    ['--for']
    >>> option = click.Option(["--for"], type=click.Choice(["keep", "archive"]))
    >>> with_suggestion(click.BadParameter("'archiv' is not one of 'keep', 'archive'.", param=option)).message
    "'archiv' is not one of 'keep', 'archive'. Did you mean archive?"
    """
    if isinstance(error, click.NoSuchOption) and error.possibilities:
        near = {name: _likeness(error.option_name, name) for name in error.possibilities}
        nearest = [name for name in near if near[name] >= max(near.values()) - _APART]
        return click.NoSuchOption(error.option_name, possibilities=nearest, ctx=error.ctx)
    if not isinstance(error, click.BadParameter) or error.param is None:
        return error
    kind, given = error.param.type, _NOT_ONE_OF.match(error.message)
    if not isinstance(kind, click.Choice) or given is None:
        return error
    found = difflib.get_close_matches(given[1], [str(name) for name in kind.choices], n=1)
    hint = f" Did you mean {found[0]}?" if found else ""
    return click.BadParameter(f"{error.message}{hint}", error.ctx, error.param, error.param_hint)


def _likeness(one: str, other: str) -> float:
    """How alike two words are, 0 to 1; letters in another order are all but the same."""
    same = 0.95 if sorted(one) == sorted(other) else 0.0
    return max(same, difflib.SequenceMatcher(None, one, other).ratio())
