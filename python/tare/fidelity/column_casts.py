"""Brings a column that came back with another type to the type it went in with.

A column is only of *another type*, not *lossy*, if casting it back gives every
cell again. Casting may use what the original type says (unit, zone, scale) and
nothing else. Where Arrow has no cast, the rules for single values decide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tare.bare_arrays import empty_text, false, null, true
from tare.fidelity.column_masks import (
    Differences,
    as_pairs,
    decoded,
    differences,
    either,
    equal_types,
    in_parts,
    in_rows,
    storage,
    whole,
)
from tare.fidelity.rebuild import verdict_of
from tare.kinds import has_other_time

if TYPE_CHECKING:
    from tare.fidelity.column_masks import Mask

__all__ = ["alike", "cast_differences"]

FAILURES = 2_000

# What the text of a value may look like, loosely: a cast has the last word.
_NUMBER = r"(?i)^\s*[+-]?(?:[0-9.]+(?:e[+-]?[0-9]+)?|inf|infinity|nan)\s*$"
_PLAUSIBLE: tuple[tuple[tuple[Any, ...], str], ...] = (
    ((pa.types.is_integer,), r"^[+-]?[0-9]{1,20}$"),
    ((pa.types.is_floating, pa.types.is_decimal), _NUMBER),
    ((pa.types.is_date, pa.types.is_timestamp), r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    ((pa.types.is_boolean,), r"^(?i:true|false|0|1)$"),
)
_SECONDS_AWAY = r"(?P<sign>[+-])(?P<hours>\d\d):(?P<minutes>\d\d):(?P<seconds>\d\d)$"
_FINE = {"s": r"\.[0-9]{1,6}([+-][0-9:]+|Z)?$", "ms": r"\.[0-9]{4,6}([+-][0-9:]+|Z)?$"}
_BYTES = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
_UUID = "extension<arrow.uuid>"
_TEXT_FORMS = (*_BYTES, pa.types.is_time, pa.types.is_duration, pa.types.is_boolean)


def alike(a: Any, b: Any) -> bool:
    """Whether two types are the same but for names of list items and nullability.

    >>> alike(pa.list_(pa.field("item", pa.int64())), pa.list_(pa.field("element", pa.int64())))
    True
    """
    if equal_types(a, b):
        return True
    if isinstance(a, pa.BaseExtensionType) or isinstance(b, pa.BaseExtensionType) or a.id != b.id:
        return False
    if pa.types.is_struct(a):
        return a.num_fields == b.num_fields and all(
            a.field(at).name == b.field(at).name and alike(a.field(at).type, b.field(at).type)
            for at in range(a.num_fields)
        )
    if pa.types.is_map(a):
        return alike(a.key_type, b.key_type) and alike(a.item_type, b.item_type)
    if pa.types.is_fixed_size_list(a) and a.list_size != b.list_size:
        return False
    if pa.types.is_nested(a) and not pa.types.is_union(a) and not pa.types.is_run_end_encoded(a):
        left: Any = a
        return alike(left.value_type, b.value_type)
    return False


def cast_differences(a: Any, b: Any) -> Differences:
    """Rows of ``a`` that casting ``b`` to the type of ``a`` does not give back.

    >>> cast_differences(pa.array([1, 2]), pa.array(["1", "02"])).value is None
    True
    """
    given = a
    a, b = whole(a), whole(b)
    if not pa.types.is_floating(a.type) and pa.types.is_floating(b.type):
        # Only floats have a NaN, so in any other column it stands for a null.
        wide = b.cast(pa.float32()) if b.type.bit_width == 16 else b
        b = pc.if_else(pc.fill_null(pc.is_nan(wide), false()), null(b.type), b)
    if _is_text(b.type) and not _holds_text(a.type):
        # Nor has any other type an empty text, which is how CSV writes a null.
        b = pc.if_else(pc.fill_null(pc.equal(b, empty_text(b.type)), false()), null(b.type), b)
    if pa.types.is_large_unicode(b.type) and pa.types.is_binary(a.type):
        b = b.cast(pa.string())
    if _is_text(b.type):
        return _uuids_from_text(given, b) if str(given.type) == _UUID else _from_text(a, b)
    return _by_parts(a, b, [FAILURES])


def _uuids_from_text(a: Any, b: Any) -> Differences:
    """UUIDs as texts: all at once in their usual form, single ones in any."""
    usual = pc.replace_substring(pc.utf8_lower(b), "-", "")
    known = pa.array([None if one is None else one.hex() for one in storage(a).to_pylist()], b.type)
    same = pc.or_(pc.fill_null(pc.equal(usual, known), False), pc.and_(pc.is_null(b), pc.is_null(known)))
    return _by_value(a, b, np.flatnonzero(~same.to_numpy(zero_copy_only=False)))


def _from_text(a: Any, b: Any) -> Differences:
    """Casts texts; what cannot be a value of the type is set aside, so that it spoils no cast."""
    b = given = _in_utc(a.type, b)
    a = _as_fine(a, b)
    pattern = next((pattern for tests, pattern in _PLAUSIBLE if any(test(a.type) for test in tests)), None)
    hopeless = None
    if pattern is not None:
        odd = pc.invert(pc.fill_null(pc.match_substring_regex(b, pattern), true()))
        if pc.any(odd).as_py():
            hopeless = odd.to_numpy(zero_copy_only=False)
            b = pc.if_else(odd, null(b.type), b)
    found = _by_parts(a, b, [FAILURES])
    if found.value is not None and any(form(a.type) for form in _TEXT_FORMS):
        found = _by_value(a, b, np.flatnonzero(found.value))
    if hopeless is not None and (pa.types.is_date(a.type) or pa.types.is_timestamp(a.type)):
        hopeless = _other_texts(a, given, hopeless)
        if found.value is not None:  # those set aside became nulls, which no date or moment is
            left = found.value & ~odd.to_numpy(zero_copy_only=False)
            found = Differences(left if left.any() else None)
    if hopeless is not None:
        return Differences(hopeless if found.value is None else found.value | hopeless)
    return found


def _other_texts(a: Any, b: Any, mask: Mask) -> Mask | None:
    """Those rows whose text is not what Arrow writes of a day or moment: that of a year above 9999 it does not read."""
    rows = np.flatnonzero(mask)
    try:
        same = pc.equal(a.take(pa.array(rows)).cast(b.type), b.take(pa.array(rows)))
    except pa.ArrowException:  # one beyond all texts
        return mask
    mask = mask.copy()
    mask[rows] = ~pc.fill_null(same, False).to_numpy(zero_copy_only=False)
    return mask if mask.any() else None


def _in_utc(kind: Any, texts: Any) -> Any:
    """Texts of moments as Arrow reads them: those whose offset has seconds, as of times before 1937 in many zones, in UTC."""
    if not pa.types.is_timestamp(kind) or kind.tz is None or not _is_text(texts.type):
        return texts
    odd = pc.fill_null(pc.match_substring_regex(texts, _SECONDS_AWAY), false())
    if not pc.any(odd).as_py():
        return texts
    parts = pc.extract_regex(texts.filter(odd), f"^(?P<clock>.*){_SECONDS_AWAY}")
    hours, minutes, seconds = (parts.field(name).cast(pa.int64()) for name in ("hours", "minutes", "seconds"))
    away = pc.add(pc.multiply(pc.add(pc.multiply(hours, 60), minutes), 60), seconds)
    away = pc.if_else(pc.equal(parts.field("sign"), pa.scalar("-", texts.type)), pc.negate(away), away)
    try:
        clock = parts.field("clock").cast(pa.timestamp(kind.unit))
    except pa.ArrowInvalid:
        return texts
    moments = pc.subtract(clock, away.cast(pa.duration("s")))
    return pc.replace_with_mask(
        texts, odd, moments.cast(pa.timestamp(kind.unit, "UTC")).cast(pa.string()).cast(texts.type)
    )


def _as_fine(moments: Any, texts: Any) -> Any:
    """Moments in microseconds, if texts have digits of these: Arrow reads no more of them than a unit has."""
    kind = moments.type
    if not pa.types.is_timestamp(kind) or kind.unit not in _FINE or not _is_text(texts.type):
        return moments
    if not pc.any(pc.match_substring_regex(texts, _FINE[kind.unit])).as_py():
        return moments
    try:
        return moments.cast(pa.timestamp("us", kind.tz))
    except pa.ArrowInvalid:  # beyond what microseconds hold
        return moments


def _by_parts(a: Any, b: Any, left: list[int]) -> Differences:
    """Casts all rows at once, or in halves where one row fails: Arrow casts all or nothing.

    ``left`` holds how many more casts may fail; then the rules for single values take over.
    """
    if _has_texts_within(a.type, b.type):
        return _uncast(a, b, left)
    try:
        back = b.cast(a.type)
        found = differences(a, back)
        return found if found.value is not None else found._replace(value=_left_out(back, b))
    except pa.ArrowNotImplementedError:
        return _uncast(a, b, left)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        left[0] -= 1
        if len(a) == 1 or left[0] < 0:
            return _uncast(a, b, left)
    half = len(a) // 2
    first = _by_parts(a.slice(0, half), b.slice(0, half), left)
    second = _by_parts(a.slice(half), b.slice(half), left)
    parts = [
        np.concatenate(
            [
                np.zeros(size, dtype=bool) if mask is None else mask
                for mask, size in ((x, half), (y, len(a) - half))
            ]
        )
        if x is not None or y is not None
        else None
        for x, y in zip(first, second, strict=True)
    ]
    return Differences(*parts)


def _left_out(back: Any, b: Any) -> Mask | None:
    """Rows of which Arrow's cast took a part without a word, at whatever depth; None where it took none.

    Args:
        back: What the cast made.
        b: What it was made of.
    """
    back, b = decoded(back), decoded(b)
    if pa.types.is_struct(back.type) and pa.types.is_struct(b.type):
        return _fields_left_out(back, b)
    if pa.types.is_union(back.type) or pa.types.is_union(b.type):
        return None  # Arrow casts no union: it is as it was
    if pa.types.is_nested(back.type) and pa.types.is_nested(b.type):
        back, b = _as_lists(back, b)
        inner = _left_out(back.flatten(), b.flatten())
        return None if inner is None else in_rows(inner, b)
    if pa.types.is_boolean(back.type) and (pa.types.is_integer(b.type) or pa.types.is_floating(b.type)):
        return _other_numbers(back.cast(pa.int8()).cast(b.type), b)
    if pa.types.is_decimal(back.type) and pa.types.is_floating(b.type):
        # By its text, for Arrow's cast of a decimal to a float is not always to the nearest one.
        return _other_numbers(back.cast(pa.string()).cast(b.type), b)
    again = _moments_again(back, b.type)
    return None if again is None else differences(again, b).value


def _fields_left_out(back: Any, b: Any) -> Mask | None:
    """A cast takes fields by their names, the first of a name first, and leaves those out that are no more wanted."""
    fields: dict[str, list[Any]] = {}
    for at, field in enumerate(b.type):
        fields.setdefault(field.name, []).append(b.field(at))
    out = None
    for at, field in enumerate(back.type):
        if fields.get(field.name):
            out = either(out, _left_out(back.field(at), fields[field.name].pop(0)))
    # What lies under a null is nothing.
    out = None if out is None else out & b.is_valid().to_numpy(zero_copy_only=False)
    return out if out is not None and out.any() else None


def _uncast(a: Any, b: Any, left: list[int]) -> Differences:
    """What Arrow does not cast, by its parts where both have the same, which it may cast; else by single values."""
    if not _same_parts(a.type, b.type):
        return _by_value(a, b, np.arange(len(a)))
    if pa.types.is_map(a.type) != pa.types.is_map(b.type):
        a, b = _as_lists(a, b) if pa.types.is_map(b.type) else reversed(_as_lists(b, a))
    return in_parts(a, b, lambda ours, theirs: _part(storage(ours), storage(theirs), left))


def _part(a: Any, b: Any, left: list[int]) -> Differences:
    return cast_differences(a, b) if _is_text_form(a.type, b.type) else _by_parts(a, _in_utc(a.type, b), left)


def _has_texts_within(a: Any, b: Any) -> bool:
    """Whether two nested types are alike in their parts, and some part of one is the text of the other's."""
    if not pa.types.is_nested(a) or not pa.types.is_nested(b) or not _same_parts(a, b):
        return False
    if not _is_lists(a):
        return any(_is_text_within(a.field(at).type, b.field(at).type) for at in range(a.num_fields))
    if pa.types.is_map(a) or pa.types.is_map(b):
        left, right = (_pair_types(kind) for kind in (a, b))
        return any(map(_is_text_within, left, right))
    left, right = (cast(Any, kind).value_type for kind in (a, b))
    return _is_text_within(left, right)


def _pair_types(kind: Any) -> list[Any]:
    pair = kind.field(0).type if pa.types.is_map(kind) else kind.value_type
    return [pair.field(0).type, pair.field(1).type]


def _is_text_within(a: Any, b: Any) -> bool:
    return _is_text_form(a, b) or _has_texts_within(a, b)


def _is_text_form(a: Any, b: Any) -> bool:
    """Whether a type has a text form that Arrow's cast does not read, and the other is text."""
    return _is_text(b) and any(form(a) for form in _TEXT_FORMS)


def _same_parts(a: Any, b: Any) -> bool:
    """Whether both are lists or maps, structs of the same names, or unions of as many members."""
    if pa.types.is_union(a) and pa.types.is_union(b):
        return bool(a.type_codes == b.type_codes)
    if pa.types.is_struct(a) and pa.types.is_struct(b):
        return [field.name for field in a] == [field.name for field in b]
    if not (_is_lists(a) and _is_lists(b)):
        return False
    maps = [pa.types.is_map(kind) for kind in (a, b)]
    return all(maps) or not any(maps) or _holds_pairs(b if maps[0] else a)


def _is_lists(kind: Any) -> bool:
    return pa.types.is_nested(kind) and not pa.types.is_struct(kind) and not pa.types.is_union(kind)


def _holds_pairs(kind: Any) -> bool:
    """Whether lists are as those of the pairs of a map, whatever the names."""
    pair = kind.value_type
    return pa.types.is_struct(pair) and len({field.name for field in pair}) == pair.num_fields == 2


def _as_lists(back: Any, b: Any) -> tuple[Any, Any]:
    """Both as lists; those of a map hold its pairs, by whatever names the cast gave them."""
    names = ["key", "value"]
    if not pa.types.is_map(back.type) and pa.types.is_map(b.type):
        names = [field.name for field in back.type.value_type]
    pairs = (as_pairs(array, names) if pa.types.is_map(array.type) else array for array in (back, b))
    return next(pairs), next(pairs)


def _other_numbers(a: Any, b: Any) -> Mask | None:
    """Rows with other numbers; that a zero has a sign is no other number where none can be held."""
    mask: Mask = pc.fill_null(pc.not_equal(a, b), False).to_numpy(zero_copy_only=False)
    return mask if mask.any() else None


def _moments_again(back: Any, kind: Any) -> Any:
    """The moments of another type that days or times of day stand for; None if that is not what was cast.

    The day must give the moment again, which is midnight in UTC; the time one of the first day of 1970.
    """
    if pa.types.is_date(back.type) and pa.types.is_timestamp(kind):
        return back.cast(kind)
    if pa.types.is_time(back.type) and pa.types.is_timestamp(kind):
        small = kind.unit in ("s", "ms")
        clock = back.cast(pa.time32(kind.unit) if small else pa.time64(kind.unit))
        return clock.cast(pa.int32() if small else pa.int64()).cast(pa.int64()).cast(kind)
    return None


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _holds_text(kind: Any) -> bool:
    return (
        _is_text(kind)
        or any(form(kind) for form in _BYTES)
        or pa.types.is_nested(kind)
        or "view" in str(kind)
    )


def _by_value(a: Any, b: Any, rows: Any) -> Differences:
    """The rules for single values, on the given rows only."""
    out = np.zeros(len(a), dtype=bool)
    beyond = has_other_time(a)
    for row in rows.tolist():
        try:
            before, after = a[row], b[row].as_py()
            finer = _is_finer(before)
            if beyond and not finer and has_other_time(a.slice(row, 1)):
                out[row] = True  # Python's value is another
                continue
            out[row] = before.cast(b.type).as_py() != after if finer else not _kept(before.as_py(), after)
        except (ValueError, TypeError, OverflowError, ImportError, pa.ArrowNotImplementedError):
            out[row] = True
    return Differences(out if out.any() else None)


def _is_finer(cell: Any) -> bool:
    """Whether it is a time of day of which Python's value would leave nanoseconds out, or a moment that is none to pandas."""
    kind = cell.type
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return bool(cell.value == -(2**63))
    return pa.types.is_time64(kind) and kind.unit == "ns" and cell.is_valid and cell.value % 1000 != 0


def _kept(a: Any, b: Any) -> bool:
    """Whether a cell can be had back; of lists, structs and maps each member, as a NaN in them equals none.

    >>> _kept({"a": float("nan")}, [("a", float("nan"))]), _kept([0.0], [-0.0])
    (True, False)
    """
    if isinstance(a, dict) and isinstance(b, list):
        return len(b) == len(dict(b)) and _kept(a, dict(b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_kept(value, b[name]) for name, value in a.items())
    if isinstance(a, list) and isinstance(b, dict):
        b = list(b.items())
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(_kept, a, b))
    return verdict_of(a, b) in ("same", "type")
