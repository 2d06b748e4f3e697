"""Lists of data frames, as maps are in R: one type of Arrow for all of them, where some only lack values that tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from tare._tare import RObject as Core

__all__ = ["column_of"]


def column_of(core: Core, options: dict[str, Any]) -> pa.Array[Any] | None:
    """Returns a list of data frames as an array of lists of structs; None if it is none, or they have no one type.

    The column `list()` of a data frame without rows tells no type: the core takes it for another one than that of
    lists which hold something, and keeps each data frame as bytes.

    Args:
        core: The list.
        options: As of the core's `to_arrow`.
    """
    import pyarrow as pa

    from tare.r.frames import has_levels
    from tare.r.vectors import imported

    cells = [core.child(place) for place in range(len(core))]
    if any(cell.type != "NULL" and "data.frame" not in cell.r_class for cell in cells):
        return None
    arrays: list[Any] = []
    for cell in cells:
        if cell.type == "NULL":
            arrays.append(None)
            continue
        exported, lost = cell.to_arrow(options)
        made = imported(exported)
        if lost or any(has_levels(kind) for kind in made.schema.types):  # which bytes keep
            return None
        arrays.append(made.to_struct_array().combine_chunks())
    kinds = dict.fromkeys(array.type for array in arrays if array is not None)
    kind: Any = pa.null()
    for one in kinds:
        kind = _joined(kind, one)
        if kind is None:
            return None
    rows = [array.cast(kind) for array in arrays if array is not None]
    offsets, at = [0], 0
    for array in arrays:
        at += 0 if array is None else len(array)
        offsets.append(at)
    mask = pa.array([array is None for array in arrays])
    inner: Any = pa.concat_arrays(rows) if rows else pa.nulls(0)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), inner, mask=mask)


def _joined(first: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Returns the type that holds two which differ only where one has no values; None if they differ elsewhere.

    >>> import pyarrow as pa
    >>> str(_joined(pa.list_(pa.null()), pa.list_(pa.int32())))
    'list<item: int32>'
    """
    import pyarrow as pa

    if first.equals(other) or pa.types.is_null(other):
        return first
    if pa.types.is_null(first):
        return other
    if pa.types.is_list(first) and pa.types.is_list(other):
        item = _joined(first.value_type, other.value_type)
        return None if item is None else pa.list_(item)
    if not (pa.types.is_struct(first) and pa.types.is_struct(other)):
        return None
    ours, theirs = ([kind.field(place) for place in range(kind.num_fields)] for kind in (first, other))
    if [field.name for field in ours] != [field.name for field in theirs]:
        return None
    fields = []
    for mine, their in zip(ours, theirs, strict=True):
        kind = _joined(mine.type, their.type)
        if kind is None:
            return None
        fields.append(pa.field(mine.name, kind))
    return pa.struct(fields)
