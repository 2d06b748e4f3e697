"""A file of R as a table or a document, as formats other than R's could hold it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tare.r import frames
from tare.r.losses import Loss, Losses
from tare.r.reading import objects
from tare.r.values import Settings, converted, is_table

if TYPE_CHECKING:
    import pyarrow as pa

    from tare._tare import RObject as Core
    from tare.r.robject import RObject

__all__ = ["of_frame", "plain_value"]

_PLAIN = Settings("plain", scalars=True)
_BARE = Settings("bare")


def plain_value(
    source: Any, format: str, options: Mapping[str, Any], found: list[Loss], *, data_only: bool = False
) -> Any:
    """An Arrow table of a data frame, and of an RData file of nothing but one; else lists, dicts, scalars.

    Args:
        source: A path as text, or bytes.
        format: Id of the format.
        options: Limits and ``encoding``, as of the core.
        found: The list that losses are added to; `Losses` have those of a table's schema too.
        data_only: Whether what is no data becomes None, with a loss.

    Raises:
        DecodeError: The bytes are not what they should be.
        Unsupported: It holds what is no data, such as a function, and not ``data_only``.
        Limit: It goes beyond a limit.
    """
    held = objects(source, {**options, "format": format})
    settings = replace(_PLAIN, data_only=data_only)
    if isinstance(held, list):
        if len(held) != 1 or not is_table(held[0][1]):
            return {name: _of(core, settings, found, f"${name}", nested=True) for name, core in held}
        held = held[0][1]
    value = _of(held, settings, found)
    if is_table(held) and isinstance(found, Losses):
        _add_of_schema(held, found)
    return value


def of_frame(held: RObject, found: Losses) -> pa.Table:
    """The Arrow table of a data frame that was read as it is, as `plain_value` gives that of a file.

    Args:
        held: The data frame.
        found: The list that losses are added to, and those of the schema.
    """
    core = held._core  # noqa: SLF001 - what it holds is not copied
    table: pa.Table = _of(core, _PLAIN, found)
    _add_of_schema(core, found)
    return table


def _add_of_schema(core: Core, found: Losses) -> None:
    bare: list[Loss] = []
    frames.value(core, _BARE, "", bare)
    found.of_schema.extend(loss for loss in bare if loss not in found)


def _of(core: Core, settings: Settings, found: list[Loss], path: str = "", *, nested: bool = False) -> Any:
    inner: list[Loss] = []
    if is_table(core) and not nested:
        value: Any = frames.table(core, "null", "", inner)
    else:
        value = converted(core, settings, inner)
    found.extend(Loss(path + one.path, one.kind, one.r, one.kept, one.count) for one in inner)
    return value
