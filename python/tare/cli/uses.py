"""What each use of `tare measure` counts, a line each: the help topic ``uses``."""

from __future__ import annotations

__all__ = ["help_on_uses"]

_NOTES = (
    "",
    "20 s/GB        each stored GB counts as 20 seconds",
    "at 125 MB/s    bytes travel at this rate; in keep and cache as fast as files",
    "               are read here, which is measured",
    "no code        reading a file cannot run code from it",
    "spec           the format has a written specification",
    "2 languages    independent readers exist in 2 languages",
    "",
    "Default: message for documents and lines below 64 KiB (but for YAML, and what is",
    "compressed or in several files), keep for all else.",
    "--link, --must and --allow-loss change what counts: over a link the bytes of",
    "each read travel at its rate, in every use but random. Its round trip is the",
    "same for every format, and left out. What each use is for:",
    "tare measure --help",
)


def help_on_uses() -> str:
    """Returns what ``--help uses`` shows: each use with what it counts and what it asks of a format, and what the words mean."""
    from tare.measure.verdict.constraints import REQUIRES
    from tare.measure.verdict.cost_model import PROFILES
    from tare.measure.verdict.text import counts

    lines = ["What each use counts, and what it asks of a format (--for):", ""]
    for name, use in PROFILES.items():
        needs = ", ".join(REQUIRES[condition] for condition in use.conditions)
        lines.append(f"  {name:<10}{counts(use.weights())}{needs and f'; {needs}'}")
    return "\n".join([*lines, *_NOTES])
