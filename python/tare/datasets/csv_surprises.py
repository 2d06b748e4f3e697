"""Notes on columns of a CSV whose type is not what their text suggests: times that lose their offsets, versions that are read as numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tare.datasets import csv_misfits, csvs
from tare.datasets.source import HEAD_BYTES, Source, printable
from tare.errors import TareError
from tare.formats.csv_rows import BOM, RARE_DELIMITERS, header_of

if TYPE_CHECKING:
    import pyarrow as pa

    from tare.datasets.csv_dialect import Dialect

__all__ = ["note_surprises"]

_OFFSET = re.compile(r"[+-]\d\d:?(?:\d\d)?$")
_UTC = re.compile(r"[+-]00:?(?:00)?$")
_DECIMAL_COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
# What other countries put between thousands; and signs beside a number, as in accounts.
_SPACED = re.compile(r"[+-]?\d{1,3}(?:['\u2019 \u00a0\u202f]\d{3})+(?:[.,]\d+)?")
_SIGN = r"[%\u2030$\u00a3\u00a5\u20ac]"
_SIGNED = re.compile(
    rf"[+-]?(?:{_SIGN}\s?[+-]?\d[\d.,'\u2019 \u00a0\u202f]*|\d[\d.,'\u2019 \u00a0\u202f]*{_SIGN})"
)
_SIGNED_FIELD = re.compile(
    rb"\d(?:'|\xe2\x80\x99| |\xc2\xa0|\xe2\x80\xaf)(?:\d{3}|%)|\d%|[$%]\d|\xe2\x82\xac|\xc2[\xa3\xa5]|\xe2\x80\xb0"
)
_PLAIN = re.compile(r"[+-]?\d+(?:\.\d+)?")
# A number with a comma, in quotes or where commas separate nothing.
_COMMA_FIELD = re.compile(rb'(?:^|["\t|])[ ]*[+-]?[\d.]*\d,\d[\d,.]*[ ]*(?:["\t|\r\n]|\Z)', re.MULTILINE)
# Day and month before the year, the year before them with slashes or dots, and how Arrow's reader takes dates.
_OTHER_DATE = re.compile(
    r"(?:(\d{1,2})([./-])(\d{1,2})\2\d{4}|(\d{1,2})/(\d{1,2})/\d\d|\d{4}([./])(\d{1,2})\6(\d{1,2}))"
    r"(?:,?[ T]\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?: ?[AaPp][Mm])?)?"
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[ T].*)?")
_DATE_FIELD = re.compile(
    rb"(?<!\d)(?:\d{1,2}[./-]\d{1,2}[./-]\d{4}|\d{1,2}/\d{1,2}/\d\d|\d{4}[./]\d{1,2}[./]\d)"
)
_INTEGER = re.compile(r"[+-]?\d+")
_TRAILING_ZERO = re.compile(rb"\.\d+0[\"\s,;|]")
_DECIMAL = re.compile(r"[+-]?(\d+)\.(\d+)")
_TOLD = 5
_MARKS = r"\.[A-Z_]?|--?|\?|\\N|#(?:NULL!|DIV/0!|VALUE!|REF!|NUM!|NAME\?)"
_MARK = re.compile(_MARKS)
_MARK_FIELD = re.compile(
    rf'(?:^|[,;\t|^\x01])[ "]*(?:{_MARKS})[ "]*(?:[,;\t|^\x01\r\n]|\Z)'.encode(), re.MULTILINE
)
_NUMBER = re.compile(r"[+-]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][+-]?\d+)?")


def note_surprises(source: Source, data: bytes, schema: pa.Schema, style: Dialect) -> None:
    """Notes what a type does not say: offsets of times, decimal commas, integers with a plus, texts such as 1.10 read as numbers.

    Args:
        source: The file; it gets the notes.
        data: The text in UTF-8, or as much of it as there is; its head is looked at.
        schema: What it was read as.
        style: How fields stand in it.
    """
    import pyarrow as pa

    if style.delimiter in RARE_DELIMITERS:
        source.notes.append(f"its fields are taken to be separated by {style.delimiter!r}")
    source.notes += filter(
        None, [csv_misfits.header_below(source, data, style), _header_again(source, data, style)]
    )
    zoned = [one.name for one in schema if pa.types.is_timestamp(one.type) and one.type.tz]
    head = data[:HEAD_BYTES].removeprefix(BOM)
    commas = style.delimiter == ";" or _COMMA_FIELD.search(head) is not None
    texts = [one.name for one in schema if commas and one.type == pa.string()]
    signed = [one.name for one in schema if one.type == pa.string()] if _SIGNED_FIELD.search(head) else []
    dated = [one.name for one in schema if one.type == pa.string()] if _DATE_FIELD.search(head) else []
    has_zeros = _TRAILING_ZERO.search(head) is not None
    doubles = [one.name for one in schema if (has_zeros or b"+" in head) and one.type == pa.float64()]
    often = Counter(schema.names)
    marked = [one.name for one in schema if one.type == pa.string()] if _MARK_FIELD.search(head) else []
    names = [
        name
        for name in dict.fromkeys([*zoned, *texts, *signed, *dated, *doubles, *marked])
        if often[name] == 1
    ]
    if not names:
        return
    try:
        plain = csvs.texts_of(
            source, head[: csvs.last_row(head, style)] if len(data) >= HEAD_BYTES else head, style, names
        )
    except (TareError, KeyError):
        return
    cells = {name: [str(one) for one in plain.column(name).to_pylist() if one] for name in names}
    cells = {name: [one for one in found if one not in csvs.MISSING] for name, found in cells.items()}
    _note(source, "times with offsets are read as UTC", zoned, cells, _have_offsets)
    _note(source, "numbers with thousands separators are read as text", signed, cells, _are_spaced)
    _note(source, "numbers with a percent or currency sign are read as text", signed, cells, _have_signs)
    if style.delimiter != ";":  # with those a comma is taken for the decimal one
        _note(source, "numbers with thousands separators are read as text", texts, cells, _have_thousands)
        texts = [name for name in texts if not _have_thousands(cells.get(name, []))]
    _note(source, "numbers with a decimal comma are read as text", texts, cells, _are_decimal)
    _note(source, "dates in another form than 2024-01-31 are read as text", dated, cells, _are_dates)
    _note(source, "integers with a plus are read as doubles", doubles, cells, _have_plus)
    for mark, found in _marks_of(marked, cells).items():
        what = f"{mark!r} is read as text; if it stands for a missing value, leave the field empty"
        _note(source, what, found, {}, lambda _: True)
    _note(source, "texts such as 1.10 are read as numbers (1.1)", doubles, cells, _are_versions)


def _note(
    source: Source,
    what: str,
    names: Sequence[str],
    cells: dict[str, list[str]],
    applies: Callable[[list[str]], bool],
) -> None:
    found = [repr(printable(name, 30)) for name in names if applies(cells.get(name, []))]
    if found:
        more = ", ..." if len(found) > _TOLD else ""
        source.notes.append(f"{what}: {', '.join(found[:_TOLD])}{more}")


def _header_again(source: Source, data: bytes, style: Dialect) -> str:
    """Returns the note on a header that stands among the rows, as where files were joined; empty without one."""
    names = header_of(data, (style.delimiter,))
    line = names.removeprefix(BOM).strip(b"\r\n")
    if style.one or b"\n" in line:
        return ""
    for again in (b"\n" + line, b"\n" + BOM + line):
        at = data.find(again, len(names) - 1)
        if at >= 0 and data[at + len(again) : at + len(again) + 1] in (b"", b"\r", b"\n"):
            number = source.above.count(b"\n") + data.count(b"\n", 0, at) + 2
            return f"its header stands again in line {number:,}, as where files were joined: there it is read as a row"
    return ""


def _marks_of(names: Sequence[str], cells: dict[str, list[str]]) -> dict[str, list[str]]:
    r"""Returns marks of missing values that this reader does not take for such, with the columns that are text for them.

    They are those of SAS, Excel, SPSS and others in columns of numbers; and that of MySQL, Hive and Postgres in any.

    >>> _marks_of(["a", "b", "c"], {"a": ["1", "."], "b": ["x", "."], "c": ["x", r"\N"]})
    {'.': ['a'], '\\N': ['c']}
    """
    found: dict[str, list[str]] = {}
    for name in names:
        plain = {cell.strip() for cell in cells.get(name, [])}
        marks = {cell for cell in plain if _MARK.fullmatch(cell)}
        rest = plain - marks
        if rest and not all(map(_NUMBER.fullmatch, rest)):
            marks &= {r"\N"}
        for mark in sorted(marks)[:1]:
            found.setdefault(mark, []).append(name)
    return found


def _have_offsets(cells: list[str]) -> bool:
    """Returns whether a time has an offset other than that of UTC.

    >>> _have_offsets(["2024-01-01T00:00:00Z", "2024-01-01T00:00:00+02:00"]), _have_offsets(["2024-01-01T00:00:00Z"])
    (True, False)
    """
    return any(_OFFSET.search(cell) and not _UTC.search(cell) for cell in map(str.strip, cells))


def _are_decimal(cells: list[str]) -> bool:
    """Returns whether all texts are numbers, some of them with a decimal comma.

    >>> _are_decimal(["7.779,20", "12"]), _are_decimal(["12.345"]), _are_decimal(["1,5", "a"])
    (True, False, False)
    """
    plain = [cell.strip() for cell in cells]
    return any("," in cell for cell in plain) and all(_DECIMAL_COMMA.fullmatch(cell) for cell in plain)


def _have_thousands(cells: list[str]) -> bool:
    """Returns whether all texts are numbers, some of them with commas between thousands.

    >>> _have_thousands(["1,234.50", "12.00", "7"]), _have_thousands(["12.5"]), _have_thousands(["1,5", "1,234"])
    (True, False, False)
    """
    plain = [cell.strip() for cell in cells]
    return any(map(_THOUSANDS.fullmatch, plain)) and all(
        _THOUSANDS.fullmatch(cell) or _PLAIN.fullmatch(cell) for cell in plain
    )


def _are_spaced(cells: list[str]) -> bool:
    """Returns whether all texts are numbers, some of them with apostrophes or spaces between thousands.

    >>> _are_spaced(["1'234.50", "12"]), _are_spaced(["1\u202f234,5"]), _are_spaced(["12"]), _are_spaced(["1 23"])
    (True, True, False, False)
    """
    return _are_numbers(cells, _SPACED)


def _have_signs(cells: list[str]) -> bool:
    """Returns whether all texts are numbers, some of them with the sign of percent or of a currency.

    >>> _have_signs(["5 %", "12"]), _have_signs(["$1,234.50", "-$3"]), _have_signs(["12"]), _have_signs(["$a"])
    (True, True, False, False)
    """
    return _are_numbers(cells, _SIGNED)


def _are_numbers(cells: list[str], form: re.Pattern[str]) -> bool:
    """Returns whether all texts are numbers, some of them of a form."""
    plain = [cell.strip() for cell in cells]
    return any(map(form.fullmatch, plain)) and all(
        form.fullmatch(cell) or _NUMBER.fullmatch(cell) for cell in plain
    )


def _are_dates(cells: list[str]) -> bool:
    """Returns whether all texts are dates, some of them in a form that Arrow's reader does not take.

    >>> _are_dates(["31.01.2024", "01.02.2024 10:30"]), _are_dates(["2024-01-31", "1/31/24"]), _are_dates(["10.20.2024.1"])
    (True, True, False)
    >>> _are_dates(["2024-01-31", "soon"]), _are_dates(["99/99/2024"]), _are_dates(["1.2.10"])
    (False, False, False)
    """
    plain = [cell.strip() for cell in cells]
    others = [cell for cell in plain if _DATE.fullmatch(cell) is None]
    return bool(others) and all(map(_is_other_date, others))


def _is_other_date(cell: str) -> bool:
    found = _OTHER_DATE.fullmatch(cell)
    if found is None:
        return False
    first, second = (int(part) for part in found.group(1, 3, 4, 5, 7, 8) if part)
    return 0 < min(first, second) <= 12 and max(first, second) <= 31


def _have_plus(cells: list[str]) -> bool:
    """Returns whether all numbers are integers, some of them with a plus, which no integer of Arrow's reader has.

    >>> _have_plus(["+12", "-3"]), _have_plus(["12", "-3"]), _have_plus(["+1.5", "+2"])
    (True, False, False)
    """
    plain = [cell.strip() for cell in cells]
    return any(cell.startswith("+") for cell in plain) and all(_INTEGER.fullmatch(cell) for cell in plain)


def _are_versions(cells: list[str]) -> bool:
    """Returns true for numbers such as 1.9 and 1.10, which are versions.

    Programs write numbers in as few digits as possible, or with a fixed number of decimals or of significant digits;
    trailing zeros beside fewer decimals are none of these.

    >>> _are_versions(["1.9", "1.10"]), _are_versions(["1.90", "1.10"]), _are_versions(["12.3", "1.10"])
    (True, False, False)
    """
    found = [match.groups() for cell in cells if (match := _DECIMAL.fullmatch(cell.strip()))]
    zeros = any(len(decimals) > 1 and decimals.endswith("0") for _, decimals in found)
    varies = len({len(decimals) for _, decimals in found}) > 1
    return zeros and varies and len({len((whole + decimals).lstrip("0")) for whole, decimals in found}) > 1
