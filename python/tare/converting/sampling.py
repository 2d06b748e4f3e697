"""What changes in a table that is too large to be read back: by its types, and in some of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare.codec import Codec
from tare.converting import changes
from tare.converting.encoding import encode
from tare.converting.reading_back import read_back
from tare.converting.second_reading.outcome import numbered, windows
from tare.datasets.opening import Options, load
from tare.datasets.source import find

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["changes_of_unread"]

_ROWS = 1024


def changes_of_unread(
    table: pa.Table, name: str, codec: Codec, given: str | None, *, allow_loss: bool, some: bool
) -> list[dict[str, Any]]:
    """Returns what the types of a table tell, and what is lost of its first rows, its last ones and some between.

    These rows are written and read back. Texts are not: the types that are read in them are those of all their values.

    Args:
        table: The table.
        name: What to call it.
        codec: What writes it.
        given: Its id as the user gave it.
        allow_loss: Whether values may be lost.
        some: Whether rows are read back.

    Returns:
        Changes; of some rows without a count.

    Raises:
        EncodeError: Values are lost, and none may be.
    """
    found = changes.allowed(changes.type_losses(table.schema, codec), codec, allow_loss=allow_loss)
    if not some or codec.format.text or not table.num_rows or not table.num_columns:
        return found
    known = {one["path"] for one in found}
    lost = [one for one in _lost(table, name, codec, given) if one["path"] not in known]
    return found + changes.allowed(lost, codec, allow_loss=allow_loss)


def _lost(table: pa.Table, name: str, codec: Codec, given: str | None) -> list[dict[str, Any]]:
    import pyarrow as pa

    blocks = windows(table.num_rows, _ROWS)
    rows = pa.concat_tables([table.slice(start, end - start) for start, end in blocks])
    written = encode(rows, "table", codec, given)
    result = find(written.data, format=codec.format_id, name="the result")
    ours = Options(allow_pickle=True)
    _, found = read_back(rows, name, result, codec, lambda source: load(source, ours).value)
    places = list(numbered(blocks))
    return [
        {**one, "count": None, **({"row": places[one["row"]]} if "row" in one else {})}
        for one in found
        if one["verdict"] == "lossy"
    ]
