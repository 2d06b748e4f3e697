"""The uses of `tare measure` in words, and what each counts: the help topic ``uses``."""

from __future__ import annotations

import textwrap

__all__ = ["USES", "help_on_uses"]

USES = {
    "keep": "files you keep and come back to: small, and quick to read",
    "cache": "written once, read often, here",
    "archive": "kept for years, readable by others",
    "exchange": "read by other people, in other languages",
    "message": "sent once, read once",
    "random": "parts of it are read, often",
}
"""Use -> what it is for, as `measure --help` lists them."""


def help_on_uses() -> str:
    """Returns what ``--help uses`` shows: each use with what it counts, and what it asks of a codec."""
    from tare.measure.verdict.constraints import REQUIRES
    from tare.measure.verdict.cost_model import PROFILES
    from tare.measure.verdict.text import weights

    lines = ["Uses, for --for:", ""]
    for name, said in USES.items():
        needs = ", ".join(REQUIRES[condition] for condition in PROFILES[name].conditions)
        told = [weights(PROFILES[name]), f"only codecs that {needs}" if needs else "any codec"]
        lines.append(f"  {name:<10}{said}")
        lines += [f"            {line}" for one in told for line in textwrap.wrap(one, 66)]
    default = "Default: message for documents below 64 KiB and for lines of JSON, keep for all else."
    more = f"{default} --link, --must and --allow-loss change what counts."
    return "\n".join([*lines, "", *textwrap.wrap(more, 78)])
