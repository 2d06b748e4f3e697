"""NaN and the infinities in columns on their way into JSON, which has no such numbers: they are found before they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from operator import add
from typing import TYPE_CHECKING, Any, cast

from tare.codec import Codec
from tare.converting import changes
from tare.fidelity.non_finite import JSON_FORMATS, NOT_JSON, WORDS

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["NonFinite"]


class NonFinite:
    """Counts such numbers, batch by batch.

    Args:
        codec: What writes the rows.
        allow_loss: Whether they may be written as what they are not.

    >>> import pyarrow as pa
    >>> from tare.codec import Codec
    >>> found = NonFinite(Codec.parse("ndjson"), allow_loss=True)
    >>> found.pass_over(pa.table({"x": [1.5, float("inf")], "l": [[0.5], [None, float("nan")]]}))
    >>> [(one["path"], one["from"], one["count"], one["row"]) for one in found.changes]
    [('x', 'inf', 1, 1), ('l[]', 'nan', 1, 1)]
    """

    def __init__(self, codec: Codec, *, allow_loss: bool) -> None:
        self._codec = codec
        self._allow_loss = allow_loss
        self._found: dict[str, dict[str, Any]] = {}
        self._rows = 0

    def pass_over(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Looks at rows, which stand behind those before.

        Raises:
            EncodeError: One has such a number, and no loss is allowed.
        """
        if self._codec.format_id not in JSON_FORMATS:
            return
        for name, column in zip(rows.schema.names, rows.columns, strict=True):
            for path, values, row_of in _floats(name, column):
                self._count(path, values, row_of)
        self._rows += rows.num_rows
        changes.allowed(self.changes, self._codec, allow_loss=self._allow_loss)

    @property
    def changes(self) -> list[dict[str, Any]]:
        """The changes that were found: path, verdict, from, to, count and the row of the first, from 0."""
        return list(self._found.values())

    def _count(self, path: str, values: Any, row_of: Any) -> None:
        import pyarrow.compute as pc

        compute: Any = pc
        wrong = compute.invert(compute.is_finite(values))
        count = compute.sum(wrong).as_py() or 0
        if not count:
            return
        if path in self._found:
            self._found[path]["count"] += count
            return
        at = compute.index(wrong, True).as_py()
        word = str(values[at].as_py())
        as_words = self._codec.library_name == "stdlib"
        self._found[path] = {
            "path": path,
            "verdict": "lossy",
            "from": WORDS[word] if as_words else word,
            "to": NOT_JSON if as_words else "null",
            "count": count,
            "row": self._rows + row_of(at),
        }


def _floats(path: str, column: Any) -> Iterator[tuple[str, Any, Callable[[int], int]]]:
    """Yields the arrays of doubles in a column, and what gives the row that a value of one stands in."""
    import pyarrow as pa

    if not _has_floats(column.type):
        return
    before = 0
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        yield from _within(path, chunk, partial(add, before))
        before += len(chunk)


def _within(
    path: str, values: Any, row_of: Callable[[int], int]
) -> Iterator[tuple[str, Any, Callable[[int], int]]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind, compute = values.type, cast(Any, pc)
    if isinstance(kind, pa.BaseExtensionType):
        yield from _within(path, values.storage, row_of)
    elif pa.types.is_dictionary(kind):
        yield from _within(path, values.dictionary_decode(), row_of)
    elif pa.types.is_floating(kind):
        yield path, values.cast(pa.float32()) if pa.types.is_float16(kind) else values, row_of
    elif pa.types.is_struct(kind):
        for at, field in enumerate(kind):
            if _has_floats(field.type):
                yield from _within(f"{path}.{field.name}", compute.struct_field(values, at), row_of)
    elif pa.types.is_map(kind):
        for inner in (values.keys, values.items):
            if _has_floats(inner.type):
                yield from _within(path, pa.ListArray.from_arrays(values.offsets, inner), row_of)
    else:
        parents = compute.list_parent_indices(values)
        inner_row = partial(_row_of_item, parents, row_of)
        yield from _within(f"{path}[]", compute.list_flatten(values), inner_row)


def _row_of_item(parents: Any, row_of: Callable[[int], int], at: int) -> int:
    return row_of(parents[at].as_py())


def _has_floats(kind: Any) -> bool:
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        return _has_floats(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return _has_floats(kind.value_type)
    if pa.types.is_map(kind):
        return _has_floats(kind.key_type) or _has_floats(kind.item_type)
    if pa.types.is_struct(kind):
        return any(_has_floats(field.type) for field in kind)
    if any(
        is_kind(kind) for is_kind in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    ):
        return _has_floats(kind.value_type)
    return bool(pa.types.is_floating(kind))
