"""Columns of a CSV that were read as numbers and would lose digits as such: they are taken back.

Such are ``007``, ``0x1F``, phone numbers as ``+491701234567``, integers above 64 bits, numbers above 2^53 with more digits than a double holds, and
those that no double holds at all, as ``1e309``.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from tare.datasets.csv_dialect import Dialect

__all__ = ["doubtful", "holds_codes", "taken_back"]

_MAX_EXACT = 2.0**53
_STEP_BYTES = 8 << 20
_LEAST_PHONE = 1e6
_CODE = r"^[ \t]*(?:[+-]?0[0-9xX]|\+[1-9][0-9]{6,14}[ \t]*$)"
_BEFORE = b" \t+-"  # that may stand between a field's begin and its digits: pyarrow passes over blanks


def doubtful(data: bytes, style: Dialect, table: pa.Table) -> list[str]:
    """The columns that were read as numbers, of which their text has to say whether they are.

    Args:
        data: The text.
        style: How fields stand in it.
        table: What it was read as.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    numeric = {f.name for f in table.schema if pa.types.is_integer(f.type) or pa.types.is_floating(f.type)}
    found = set(numeric) if numeric and _has_leading_zero(data, style) else set()
    least = _LEAST_PHONE if b"+" in data else _MAX_EXACT
    for name in numeric - found:
        column = table.column(table.schema.get_all_field_indices(name)[0])
        if pa.types.is_floating(column.type):
            ends: Any = pc.min_max(column).as_py()
            if any(end is not None and abs(end) >= least for end in ends.values()):
                found.add(name)
    return [name for name in dict.fromkeys(table.column_names) if name in found]


def taken_back(table: pa.Table, texts: pa.Table, decimal: str) -> dict[str, Any]:
    """The doubtful columns that are no numbers, as their text, and those whose integers fit uint64 alone as that.

    Args:
        table: What the text was read as.
        texts: The doubtful columns as text.
        decimal: The decimal point.
    """
    import pyarrow as pa

    kept = {}
    for name in texts.column_names:
        text = texts.column(texts.schema.get_all_field_indices(name)[0])
        if holds_codes(text):
            kept[name] = text
        elif pa.types.is_floating(table.field(table.schema.get_all_field_indices(name)[0]).type):
            if _integers(text):
                kept[name] = _unsigned(text)
            elif _loses_digits(text, decimal):
                kept[name] = text
    return kept


def holds_codes(text: Any) -> bool:
    """Whether a value of a text column is none that a decimal number is written as.

    Such begin with a zero that a digit or an ``x`` follows, or are phone numbers: a plus and seven to fifteen digits
    (ITU-T E.164), which programs do not write before integers.
    """
    import pyarrow.compute as pc

    return bool(pc.any(pc.match_substring_regex(text, _CODE)).as_py())


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


def _has_leading_zero(data: bytes, style: Dialect) -> bool:
    """Whether a field may start with a zero and another digit, or an ``x``; blanks and a sign before it count for nothing."""
    import numpy as np

    begins, between, digit = (np.zeros(256, dtype=bool) for _ in range(3))
    begins[[ord(style.delimiter), *b'\n\r"']] = True
    between[[*_BEFORE]] = True
    digit[[*b"0123456789xX"]] = True
    for start in range(0, len(data), _STEP_BYTES):
        part = np.frombuffer(data, np.uint8, min(_STEP_BYTES + 3, len(data) - start), start)
        zero = np.flatnonzero(part[2:-1] == ord("0")) + 2
        zero = zero[digit[part[zero + 1]]]
        before = part[zero - 1]
        if begins[before].any():
            return True
        # Within dates and exponents a sign or a blank stands behind a digit or a letter.
        if (begins | between)[part[zero[between[before]] - 2]].any():
            return True
    return False
