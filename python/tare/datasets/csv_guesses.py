"""Columns of a CSV that were read as numbers and would lose digits as such: they are taken back.

Such are ``007``, ``0x1F``, phone numbers as ``+491701234567``, integers above 64 bits, numbers above 2^53 with more digits than a double holds, and
those that no double holds at all, as ``1e309``.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    import pyarrow as pa

__all__ = ["doubtful", "numbers_as_text", "taken_back"]

_MAX_EXACT = 2.0**53


def doubtful(table: pa.Table, codes: AbstractSet[str]) -> list[int]:
    """Returns the places of the columns that were read as numbers, of which their text has to say whether they are.

    Args:
        table: What the text was read as.
        codes: Columns with a field that is written as no decimal number is.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    found = []
    for place, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if pa.types.is_floating(column.type) and name not in codes:
            ends: Any = pc.min_max(column).as_py()
            if any(end is not None and abs(end) >= _MAX_EXACT for end in ends.values()):
                found.append(place)
        elif name in codes and (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            found.append(place)
    return found


def numbers_as_text(table: pa.Table, codes: AbstractSet[str], decimal: str) -> frozenset[str]:
    """Returns the columns that were read as text for numbers of several spellings alone, as ``0x10`` beside ``1e400`` or ``1.5``.

    Args:
        table: What the text was read as.
        codes: Columns with a field that is written as no decimal number is.
        decimal: The decimal point.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    point = f"[{decimal}]"
    number = (
        rf"^[ \t]*[+-]?(0[xX][0-9a-fA-F]+|([0-9]+({point}[0-9]*)?|{point}[0-9]+)([eE][+-]?[0-9]+)?)[ \t]*$"
    )
    found = set()
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name in codes and pa.types.is_string(column.type):
            matches: Any = pc.all(pc.match_substring_regex(column, number)).as_py()
            if matches and column.null_count < len(column):
                found.add(name)
    return frozenset(found)


def taken_back(
    table: pa.Table, texts: Mapping[int, Any], codes: AbstractSet[str], decimal: str
) -> dict[int, Any]:
    """Returns the doubtful columns that are no numbers, as their text, and those whose integers fit uint64 alone as that.

    Args:
        table: What the text was read as.
        texts: The doubtful columns as text, by their places in the table.
        codes: Columns with a field that is written as no decimal number is.
        decimal: The decimal point.
    """
    kept, names = {}, table.column_names
    for place, text in texts.items():
        if names[place] in codes or (not _integers(text) and _loses_digits(text, decimal)):
            kept[place] = text
        elif _integers(text):
            kept[place] = _unsigned(text)
    return kept


def _loses_digits(text: Any, decimal: str) -> bool:
    """Whether a cell above 2^53 has digits that its nearest double does not give back, or no double is near."""
    import pyarrow.compute as pc

    long = text.filter(pc.match_substring_regex(text, r"[0-9][0-9.,]{15}|[eE][+]?[0-9]{3}"))
    cells = (cell.strip().replace(decimal, ".") for cell in pc.unique(long).to_pylist() if cell is not None)
    return any(abs(float(cell)) >= _MAX_EXACT and _changes(cell) for cell in cells)


def _changes(cell: str) -> bool:
    """Whether a number is not what its nearest double is; `Decimal` itself has no place for exponents of twenty digits."""
    return math.isinf(float(cell)) or not _round_trips(Decimal(cell))


def _round_trips(number: Decimal) -> bool:
    """Whether the nearest double, written with as many digits, is the number.

    >>> _round_trips(Decimal("9007199254740993")), _round_trips(Decimal("100000000000000000000"))
    (False, True)
    """
    digits = len("".join(map(str, number.as_tuple().digits)).strip("0"))
    return Decimal(f"{float(number):.{max(digits, 1)}g}") == number


def _integers(text: Any) -> bool:
    """Whether all are written as integers: then no double was meant."""
    import pyarrow.compute as pc

    return bool(pc.all(pc.match_substring_regex(text, r"^[ \t]*[+-]?[0-9]+[ \t]*$")).as_py())


def _unsigned(text: Any) -> Any:
    """As uint64 if they fit, else the text itself."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return pc.cast(pc.utf8_trim(text, " \t"), pa.uint64())
    except pa.ArrowInvalid:
        return text
