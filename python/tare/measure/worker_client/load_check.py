"""What a language would load as other values than it is given: its codecs would keep those, and lose nothing by it.

So it is given a file that it reads as the very values, or none.
"""

from __future__ import annotations

import functools
import json
import os
from typing import TYPE_CHECKING, Any

from tare.categories import in_one_order
from tare.datasets.saving import is_stream
from tare.errors import EncodeError, WorkerError

if TYPE_CHECKING:
    from tare.fidelity.comparison import Change

__all__ = ["changed_types", "handed", "refuse_other_values"]

# R has no whole numbers beyond 32 bit but as doubles; serde_json has those of 64 bit.
_WHOLE = {"r": (-(2**53), 2**53), "rust": (-(2**63), 2**64 - 1)}
_NAMES = {"r": "R", "rust": "Rust's serde_json"}
# Their own reading of a decimal gives the double beside the nearest one, once in some thousands.
_INEXACT = frozenset({"r", "mono"})
_MOST_CHANGES = 10_000
_R_NA = 1954  # low word of the NaN that R takes for NA


def handed(path: str, kind: str, language: str) -> tuple[str, str]:
    """The file of a part that a worker of the language loads, and how that is called.

    Args:
        path: Where the part is saved; what is written for the language stands beside it.
        kind: How: ``json``, ``values`` or ``arrow``.
        language: Language of the worker; empty for Python.

    Raises:
        WorkerError: The language holds no such values; its type is ``refused``.
    """
    refuse_other_values(path, kind, language)
    if language and kind == "arrow" and is_stream(path):
        raise WorkerError(_orders_apart(path, language), worker=language, type="refused", phase="load")
    if language == "r" and kind == "arrow":
        return _as_rds(path), "rds"
    if language in _INEXACT and kind == "json" and _has_doubles(path):
        return _as_values(path), "values"
    return path, kind


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
        raise _refused(language, f"the whole number {beyond} as another one")


def _refused(language: str, what: str) -> WorkerError:
    said = f"{_NAMES[language]} loads {what}, so that nothing could be held against it"
    return WorkerError(said, worker=language, type="refused", phase="load")


def _orders_apart(path: str, language: str) -> str:
    """Why a table is not handed on whose ordered categories have no order in common."""
    from tare.dataset import load_saved

    try:
        in_one_order(load_saved(path, "arrow"))
    except EncodeError as error:
        said = str(error)
    else:  # of a part that has not the rows of all batches
        said = "the batches of an ordered category contradict each other in the order of its levels"
    return f"{said}; {_NAMES.get(language, language)} is given no such table"


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


class _Double(Exception):
    """A document has one."""


def _has_doubles(path: str) -> bool:
    def found(text: str) -> float:
        raise _Double(text)

    try:
        with open(path, "rb") as file:
            json.load(file, parse_float=found)
    except _Double:
        return True
    return False


def _as_values(path: str) -> str:
    """A document once more, each double by its bits, for every language that needs it; the new file's path."""
    from tare.dataset import load_saved
    from tare.tagged import to_tagged

    made = f"{path}.values"
    if not os.path.exists(made):
        text = json.dumps(to_tagged(load_saved(path, "json"), share=False))
        with open(f"{made}.new", "w", encoding="utf-8") as out:
            out.write(text)
        os.replace(f"{made}.new", made)
    return made


def _as_rds(path: str) -> str:
    """A table once more as R reads it; the new file's path.

    Raises:
        WorkerError: A column has values that R does not hold.
    """
    from tare.codec import Codec
    from tare.dataset import load_saved

    table = load_saved(path, "arrow")
    changed, unknown = _changed_in_r(table)
    if changed:
        raise _refused("r", changed)
    if unknown:
        raise WorkerError(unknown, worker="r", type="refused", phase="load")
    with open(f"{path}.rds", "wb") as out:
        Codec.parse("rds:tare").write(table, out)
    return f"{path}.rds"


def _changed_in_r(table: Any) -> tuple[str, str]:
    """What refuses a table for R; both empty if nothing does.

    Returns:
        The first column whose values R holds as others, with the first such value, and the first of which nothing
        can be said.
    """
    # By position: two columns may have one name.
    asked = table.select(
        [at for at, field in enumerate(table.schema) if not _is_held(field.type) or _has_na(table.column(at))]
    )
    changes, opaque = _after_r(asked)
    for change in changes:
        if change.verdict == "lossy" and change.side != "metadata":  # what codecs lose of those, each tells
            shown = f"{change.in_[:80]} as {change.out[:80]}"
            return f"column {change.path[:60]!r} with other values ({shown})", ""
    if not opaque:
        return "", ""
    field = asked.schema.field(opaque[0])
    what = f"column {field.name[:60]!r} ({str(field.type)[:80]}) cannot be checked"
    return "", f"{what}: in R its values are of several types, and no table of ours holds those"


def changed_types(path: str, kind: str, language: str) -> list[dict[str, Any]]:
    """Columns that a language loads as another type, their values being the same: no codec of it gives back the type that they had.

    Args:
        path: Where the part is saved.
        kind: How: ``json``, ``values`` or ``arrow``.
        language: Language of the worker; empty for Python.

    Returns:
        Changes as ``verify`` tells them. R's alone are known: others tell of each column themselves.
    """
    if language != "r" or kind != "arrow":
        return []
    from tare.dataset import load_saved

    table = load_saved(path, "arrow")
    asked = table.select([at for at, field in enumerate(table.schema) if not _is_r_type(field.type)])
    return [one.as_dict() for one in _after_r(asked)[0] if one.verdict == "type"]


def _after_r(table: Any) -> tuple[tuple[Change, ...], list[int]]:
    """What changed of a table that was R's in between, and which columns no type of Arrow holds then."""
    from tare.fidelity.tables import compare_tables

    if not table.num_columns or not table.num_rows:
        return (), []
    back = _as_r_has_it(table)
    opaque = _opaque(table, back)
    plain = [at for at in range(table.num_columns) if at not in opaque]
    before = _without_maps(table.select(plain))
    return compare_tables(before, back.select(plain), limit=_MOST_CHANGES).changes, opaque


def _as_r_has_it(table: Any) -> Any:
    """A table that was R's in between, once more of Arrow."""
    from tare._tare import r_from_arrow, r_write
    from tare.codec import decode
    from tare.kinds import convert

    data, _ = r_write(r_from_arrow(table, {})[0], None, {"format": "rds", "compressor": "none"})
    assert isinstance(data, bytes)  # no sink was given
    return convert(decode(data, "rds:tare"), "arrow")


def _opaque(given: Any, back: Any) -> list[int]:
    """Columns that came back as the bytes of R's objects: no type of Arrow holds all of their values."""
    pairs = zip(given.schema.types, back.schema.types, strict=True)
    return [at for at, (was, now) in enumerate(pairs) if str(now).count("binary") > str(was).count("binary")]


def _has_na(column: Any) -> bool:
    """Whether a column of doubles has a NaN of the bits that are R's NA: there it is no value, but a missing one."""
    import numpy as np
    import pyarrow as pa

    if not pa.types.is_float64(column.type):
        return False
    for chunk in column.chunks:
        cells = chunk.to_numpy(zero_copy_only=False)  # what is null is a NaN of other bits
        if np.any(np.isnan(cells) & (cells.view(np.uint64) & 0xFFFF_FFFF == _R_NA)):
            return True
    return False


def _without_maps(table: Any) -> Any:
    """The table with maps as what R has of them: lists of keys with their values."""
    import pyarrow as pa

    for at, field in enumerate(table.schema):
        if pa.types.is_map(field.type):
            pairs = pa.list_(pa.struct([("key", field.type.key_type), ("value", field.type.item_type)]))
            table = table.set_column(at, field.name, table.column(at).cast(pairs))
    return table


def _is_r_type(kind: Any) -> bool:
    """Whether an Arrow type is one that R's own vectors come back as."""
    import pyarrow as pa

    types = pa.types
    return bool(
        types.is_string(kind) or types.is_boolean(kind) or types.is_int32(kind) or types.is_float64(kind)
    )


def _is_held(kind: Any) -> bool:
    """Whether R has every value of an Arrow type, but for NaN of its NA's bits, so that none needs to be looked at."""
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        return bool(types.is_string(kind.value_type) or types.is_large_string(kind.value_type))
    small = types.is_integer(kind) and kind.bit_width <= 32 and kind != pa.uint32()
    text = types.is_string(kind) or types.is_large_string(kind)
    return bool(small or text or types.is_boolean(kind) or types.is_floating(kind) or types.is_date32(kind))
