"""What a language would load as other values than it is given: its codecs would keep those, and lose nothing by it."""

from __future__ import annotations

import functools
import json

from tare.errors import WorkerError

__all__ = ["refuse_other_values"]

# R has no whole numbers beyond 32 bit but as doubles; serde_json has those of 64 bit.
_WHOLE = {"r": (-(2**53), 2**53), "rust": (-(2**63), 2**64 - 1)}
_NAMES = {"r": "R", "rust": "Rust's serde_json"}


def refuse_other_values(path: str, kind: str, language: str) -> None:
    """Refuse to have a document loaded that would be another one there.

    Args:
        path: Where it is saved.
        kind: How: ``json``, ``values`` or ``arrow``; JSON alone is looked at.
        language: Language of the worker; empty for Python.

    Raises:
        WorkerError: A whole number is beyond what the language holds; its type is ``refused``.
    """
    if kind != "json" or language not in _WHOLE:
        return
    beyond = _beyond(path, *_WHOLE[language])
    if beyond is not None:
        raise WorkerError(
            f"{_NAMES[language]} loads the whole number {beyond} as another one, so that nothing could be held against it",
            worker=language,
            type="refused",
            phase="load",
        )


@functools.lru_cache(maxsize=64)
def _beyond(path: str, least: int, most: int) -> str | None:
    """The first whole number outside, shortened; None if there is none."""
    found: list[str] = []

    def look(text: str) -> None:
        if len(text) > 15 and not found and (len(text) > 20 or not least <= int(text) <= most):
            found.append(text if len(text) <= 40 else f"{text[:37]}...")

    with open(path, "rb") as file:
        json.load(file, parse_int=look)
    return found[0] if found else None
