"""A file of R as a table or a document, as formats other than R's could hold it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tare.errors import Unsupported, UsageError
from tare.r import documents, frames, matrices, odd_names, vectors
from tare.r.losses import Loss, Losses
from tare.r.reading import objects
from tare.r.structure import lines
from tare.r.values import Settings, converted, is_table

if TYPE_CHECKING:
    import pyarrow as pa

    from tare._tare import RObject as Core
    from tare.r.robject import RObject

__all__ = ["of_frame", "plain_value"]

_PLAIN = Settings("plain", scalars=True)
_BARE = Settings("bare")
_ARROW = Settings("arrow")
# The column of a vector that has no name of its own.
_COLUMN = "value"
_SHOWN = 12


def plain_value(
    source: Any,
    format: str,
    options: Mapping[str, Any],
    found: list[Loss],
    *,
    data_only: bool = False,
    variable: str | None = None,
    tabular: bool = False,
    keyed: bool = True,
) -> Any:
    """An Arrow table of a data frame, and of an RData file of nothing but one; else lists, dicts, scalars.

    Args:
        source: A path as text, or bytes.
        format: Id of the format.
        options: Limits and ``encoding``, as of the core.
        found: The list that losses are added to; `Losses` have those of a table's schema too.
        data_only: Whether what is no data becomes None, with a loss.
        variable: Name of the only variable of an RData file that is wanted; all by default.
        tabular: Whether a table is wanted: a vector is one of one column, a matrix one of its columns.
        keyed: Whether what follows keeps the key ``r`` and the notes of a schema; if not, times in parts are instants,
            and a data frame with lists that only R's bytes could hold is a list of its rows, unless ``tabular``.

    Raises:
        DecodeError: The bytes are not what they should be.
        Unsupported: It holds what is no data, such as a function, and not ``data_only``; several variables,
            and ``tabular``.
        UsageError: There is no such variable.
        Limit: It goes beyond a limit.
    """
    held = objects(source, {**options, "format": format})
    if format == "fst" and not isinstance(held, list):
        held = odd_names.in_encoding(held, source, options, found)
    settings = replace(_PLAIN, data_only=data_only)
    name, path = _COLUMN, ""
    if variable is not None:
        held = _chosen(held, variable)
        name, path = variable, f"${variable}"
    if isinstance(held, list):
        first = held[0][1] if len(held) == 1 else None
        if first is not None and (is_table(first) or (tabular and _is_vector(first))):
            name, held = held[0]
            path = f"${name}"
        elif tabular and not _are_columns(held):
            raise Unsupported(
                f"it holds {len(held):,} variables: choose one with --variable NAME (variable=) of {_listed(held)}"
            )
        else:
            return {
                name: _variable(core, settings, found, f"${name}", tabular=tabular) for name, core in held
            }
    if tabular and _is_vector(held):
        return _columns(held, name, path, found)
    if is_table(held) and not keyed:
        return _without_schema(held, path, found, tabular=tabular)
    value = _of(held, settings, found, path)
    if tabular and not is_table(held):
        found.append(Loss(path, "type_changed", held.type, "a table"))
    if is_table(held) and isinstance(found, Losses):
        _add_of_schema(held, path, found)
    return value


def _variable(core: Core, settings: Settings, found: list[Loss], path: str, *, tabular: bool) -> Any:
    """The value of one of several variables; complex numbers that become a column are structs of both parts, as in a data frame."""
    if tabular and core.type == "complex":
        return _of(core, _ARROW, found, path, nested=True).to_pylist()
    return _of(core, settings, found, path, nested=True)


def _without_schema(
    core: Core, path: str, found: list[Loss], *, tabular: bool
) -> pa.Table | list[dict[str, Any]]:
    """A data frame as its values alone, for what keeps no notes beside them."""
    table: pa.Table = frames.value(core, _BARE, path, found)
    if tabular or not frames.has_mixed_lists(core, table) or len(set(table.column_names)) < table.num_columns:
        return table
    columns = frames.cells(core, table, path, found)
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def chosen(held: Mapping[str, Any], variable: str) -> Any:
    """The variable of that name.

    Args:
        held: Variables by name.
        variable: The name.

    Raises:
        UsageError: There is none.
    """
    if variable not in held:
        raise UsageError(f"there is no variable {variable[:60]!a}; there are {', '.join(held)[:200]}")
    return held[variable]


def _chosen(held: Core | list[tuple[str, Core]], variable: str) -> Core:
    if not isinstance(held, list):
        raise UsageError("a variable is chosen of an RData file, and this holds one object without a name")
    core: Core = chosen(dict(held), variable)
    return core


def _listed(held: list[tuple[str, Core]]) -> str:
    """Variables with what they are, as `tare inspect` tells it."""
    shown = [f"{name} ({next(lines(core)).what})" for name, core in held[:_SHOWN]]
    return ", ".join([*shown, "..."] if len(held) > _SHOWN else shown)


def _is_vector(core: Core) -> bool:
    """Whether it is a vector, with dimensions or without, or a time in parts."""
    return core.type in vectors.TYPES or (core.type == "list" and "POSIXlt" in core.r_class)


def _are_columns(held: list[tuple[str, Core]]) -> bool:
    """Whether the variables are vectors side by side, of one length and without dimensions."""
    vector = all(core.type in vectors.TYPES and core.dim is None for _, core in held)
    return vector and len({len(core) for _, core in held}) == 1


def _columns(core: Core, name: str, path: str, found: list[Loss]) -> pa.Table:
    """The table of a vector: a column of that name, or those of a matrix."""
    import pyarrow as pa

    if matrices.is_matrix(core):
        return matrices.table(core, "null", path, found)
    if core.dim is not None and len(core.dim) > 2:
        sizes = " x ".join(map(str, core.dim))
        raise Unsupported(
            f"{path or 'it'} is an array of {sizes}, and tables have rows and columns: convert it to a format of documents "
            "or of R, such as .json or .rds",
            format="rds",
            path=path,
        )
    array = _of(core, _ARROW, found, path, nested=True)
    found.append(Loss(path, "type_changed", "vector", f"column {name[:40]} of a table"))
    return pa.table({name: array})


def of_frame(held: RObject, found: Losses) -> pa.Table:
    """The Arrow table of a data frame that was read as it is, as `plain_value` gives that of a file.

    Args:
        held: The data frame.
        found: The list that losses are added to, and those of the schema.
    """
    core = held._core  # noqa: SLF001 - what it holds is not copied
    table: pa.Table = _of(core, _PLAIN, found)
    _add_of_schema(core, "", found)
    return table


def _add_of_schema(core: Core, path: str, found: Losses) -> None:
    bare: list[Loss] = []
    frames.value(core, _BARE, path, bare)
    found.of_schema.extend(loss for loss in bare if loss not in found)


def _of(core: Core, settings: Settings, found: list[Loss], path: str = "", *, nested: bool = False) -> Any:
    if is_table(core) and not nested:
        return frames.table(core, "null", path, found)
    value = converted(core, settings, found, path)
    if settings.to == "plain":
        documents.tell(core, value, path, found)
    return value
