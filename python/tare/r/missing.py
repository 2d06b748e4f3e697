"""R's missing values, one for each of its types: Python's None has no type."""

from __future__ import annotations

import struct
from typing import NoReturn

__all__ = ["NA", "NA_character", "NA_complex", "NA_integer", "NA_logical", "NA_real"]


class NA:
    """A missing value of one of R's types.

    It stands in lists and dicts that `tare.r.write` is given. It equals itself alone and is neither
    true nor false.

    Args:
        type: The type of the vector that it is missing from.
        text: How R writes it.

    >>> [NA_integer, NA_logical, NA_character]
    [NA_integer_, NA, NA_character_]
    """

    __slots__ = ("text", "type")

    def __init__(self, type: str, text: str) -> None:
        self.type = type
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def __bool__(self) -> NoReturn:
        raise TypeError(f"{self.text} is neither true nor false")

    def __reduce__(self) -> str:
        return f"NA_{self.type}"


NA_logical = NA("logical", "NA")
NA_integer = NA("integer", "NA_integer_")
NA_character = NA("character", "NA_character_")

# A NaN with R's payload: arithmetic and NumPy arrays take it, and it is written as R's NA.
NA_real: float = struct.unpack("<d", struct.pack("<Q", 0x7FF8_0000_0000_07A2))[0]
NA_complex = complex(NA_real, 0.0)
