"""Changes in a result that is not verified as a whole: by the types of a table, and in some rows or items."""

from __future__ import annotations

from typing import Any

from tare import kinds
from tare.codec import Codec
from tare.converting import changes
from tare.converting.encoding import encode
from tare.converting.reading_back import read_back
from tare.converting.second_reading.outcome import numbered, windows
from tare.datasets.opening import Options, load
from tare.datasets.source import find
from tare.errors import TareError

__all__ = ["unverified_changes"]

_ROWS = 1024


def unverified_changes(
    value: Any, name: str, codec: Codec, given: str | None, *, allow_loss: bool, some: bool
) -> list[dict[str, Any]]:
    """Returns the changes that the types of a table show, and the losses in 1,024 of its rows, or of the items of a list.

    The first rows, the last ones and some between are written and read back; not in text formats, where a reader infers
    types from all values.

    Args:
        value: A table, or a document; only lists have items to read back.
        name: What to call it.
        codec: What writes it.
        given: Its id as the user gave it.
        allow_loss: Whether values may be lost.
        some: Whether rows or items are read back.

    Returns:
        Changes as `table_changes` gives them; those of rows or items have no count.

    Raises:
        EncodeError: Values are lost, and none may be.
    """
    table = kinds.kind_of(value) == "table"
    found = changes.type_losses(value.schema, codec) if table else []
    changes.allowed(found, codec, allow_loss=allow_loss)
    count = value.num_rows if table else len(value) if isinstance(value, list) else 0
    if not some or codec.format.text or not count or (table and not value.num_columns):
        return found
    known = {one["path"] for one in found}
    lost = [one for one in _lost(value, count, name, codec, given) if one["path"] not in known]
    return found + changes.allowed(lost, codec, allow_loss=allow_loss)


def _lost(value: Any, count: int, name: str, codec: Codec, given: str | None) -> list[dict[str, Any]]:
    blocks = windows(count, _ROWS)
    rows, kind = _some(value, blocks)
    ours = Options(allow_pickle=True)
    try:
        written = encode(rows, kind, codec, given)
        result = find(written.data, format=codec.format_id, name="the result")
        _, found = read_back(rows, name, result, codec, lambda source: load(source, ours).value)
    except (
        TareError
    ):  # some items alone may be a value that the format has no place for, as all of them are not
        return []
    places = list(numbered(blocks))
    return [
        {**one, "count": None} | ({"row": places[one["row"]]} if "row" in one else {})
        for one in found
        if one["verdict"] == "lossy"
    ]


def _some(value: Any, blocks: list[tuple[int, int]]) -> tuple[Any, str]:
    """Returns blocks of rows or items, and their kind: ``table`` or ``document``."""
    if isinstance(value, list):
        return [item for start, end in blocks for item in value[start:end]], "document"
    import pyarrow as pa

    return pa.concat_tables([value.slice(start, end - start) for start, end in blocks]), "table"
