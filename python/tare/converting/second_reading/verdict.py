"""What a conversion makes of a second reading: an error, or a note."""

from __future__ import annotations

from tare.converting.second_reading.outcome import SecondReading
from tare.datasets.source import printable
from tare.errors import DecodeError, EncodeError

__all__ = ["judge"]

# Texts have several readings: words for missing values, YAML 1.1 and 1.2. Which one is meant, the user knows.
_AMBIGUOUS = ("csv", "yaml")


def judge(
    found: SecondReading, format: str, name: str, *, result: bool = False, allow_loss: bool = False
) -> list[str]:
    """Returns what is to be noted of a second reading.

    Args:
        found: What it said.
        format: Id of the file's format.
        name: What to call the file.
        result: Whether it is what was written.
        allow_loss: Whether it may differ.

    Raises:
        DecodeError: Two readers read another value in the source, and only one of them can be right.
        EncodeError: So they do in the result.
    """
    if found.difference is None:
        return []
    differs = found.difference
    other = found.reader or "its own records"
    text = (
        f"{printable(name)}: {format}: {differs.place}: Tare reads {differs.first}, {other} {differs.second}"
    )
    if allow_loss or format in _AMBIGUOUS:
        return [text]
    advice = (
        "Nothing was written. Say --allow-loss to take what Tare reads, or --no-verify to compare nothing."
    )
    raise (EncodeError if result else DecodeError)(f"{text}. {advice}", format=format, path=differs.place)
