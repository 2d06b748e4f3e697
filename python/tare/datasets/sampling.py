"""A part of the data that still looks like the whole.

By default it is a few contiguous blocks, spread over the data: neighbours stay neighbours, so that runs, sorted
columns and repetitions compress as they do in the whole. Rows drawn at random do not: 3,000,000 flights sorted by
date take 15.98 MB of Parquet by blocks, 31.4 MB by random rows, and 16.0 MB in truth (docs/decisions.md). A document
that is one map is thinned where it is long: its lists, its parallel lists together, its maps that are used as
tables. Nothing is ever repeated: growing by repetition would flatter compressors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from tare.datasets.levels import levels_of_part
from tare.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

__all__ = ["blocks", "count", "document", "drawn_mask", "masked", "masked_columns", "table"]

_BATCH_ROWS = 65_536
_BLOCKS = 8
# Shorter blocks would cut more of what neighbours have in common than they show of the rest.
_BLOCK_ROWS = 8_192
_BLOCK_ITEMS = 64
# Shorter lists are structure, such as a pair of coordinates, and stay whole.
_SHORT_LIST = 8
_LONG_MAP = 256
# A list that was thinned to within this factor of the wanted share is thin enough.
_NEAR = 0.34


def count(n: int, size: float) -> int:
    """How many of `n` rows a share of `size` is: ``1 + round(n * size)``, at most `n`.

    Raises:
        UsageError: `size` is not in (0, 1].

    >>> count(1000, 0.25), count(1000, 1), count(0, 0.5)
    (251, 1000, 0)
    """
    if not 0 < size <= 1:
        raise UsageError(f"a size is a share above 0 and at most 1; got {size}")
    return min(n, 1 + round(n * size))


def blocks(n: int, wanted: int, least: int, *, seed: int = 0) -> list[tuple[int, int]]:
    """Return where contiguous blocks of `n` elements begin and end: one in each of up to 8 equal stretches.

    Args:
        n: Number of elements.
        wanted: How many of them the blocks hold together, at most `n`.
        least: Elements of a block; fewer blocks are made if they would be shorter.
        seed: Another seed moves each block within its stretch.

    >>> blocks(100, 20, 10)
    [(34, 44), (76, 86)]
    >>> blocks(10, 10, 1)
    [(0, 10)]
    """
    if wanted >= n:
        return [(0, n)] if n else []
    import numpy as np

    generator = np.random.default_rng(seed)
    number = max(1, min(_BLOCKS, wanted // max(1, least)))
    found = []
    for k in range(number):
        first, end = n * k // number, n * (k + 1) // number
        # What the shares before left of it, so that all of them add up.
        length = min(end - first, wanted * (k + 1) // number - wanted * k // number)
        start = first + int(generator.integers(0, end - first - length + 1))
        found.append((start, start + length))
    return found


def table(data: pa.Table, size: float, *, how: str = "blocks", seed: int = 0) -> pa.Table:
    """Some rows of a table, in their order.

    Args:
        data: The table.
        size: Share of the rows, in (0, 1].
        how: ``blocks`` (contiguous ones), ``random``, ``head``, or ``stratify=COLUMN`` for the same share of each
            value.
        seed: Another seed draws other rows.

    Raises:
        UsageError: No such rule or column, or a size out of range.
        Unsupported: Values of a column cannot be picked or told apart.
    """
    import pyarrow as pa

    wanted = count(data.num_rows, size)
    if wanted == data.num_rows:
        return data
    if not data.num_columns:
        return data.slice(0, wanted)  # one row is as good as another
    if how == "head":
        import numpy as np

        return levels_of_part(data, np.arange(data.num_rows) < wanted).slice(0, wanted)
    from tare.datasets.picking import booleans

    mask = _mask(data, wanted, how, seed)
    data = levels_of_part(data, mask)
    try:
        return data.filter(booleans(mask))
    except pa.ArrowNotImplementedError:
        return pa.Table.from_batches(list(masked(data, mask)), data.schema)


def drawn_mask(data: pa.Table, size: float, *, seed: int = 0) -> np.ndarray[Any, Any] | None:
    """Return the mask of the rows in the blocks of `table`; None for all.

    Raises:
        UsageError: A size out of range.
    """
    wanted = count(data.num_rows, size)
    return None if wanted == data.num_rows else _mask(data, wanted, "blocks", seed)


def masked(data: pa.Table, mask: np.ndarray[Any, Any]) -> Iterator[pa.RecordBatch]:
    """The rows where the mask is true, batch by batch.

    Raises:
        Unsupported: Values of a column cannot be picked.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from tare.datasets.picking import booleans, picked

    pool = pa.system_memory_pool()  # the one that gives freed blocks back to the system
    at, whole = 0, True
    for batch in data.to_batches(_BATCH_ROWS):
        part = mask[at : at + batch.num_rows]
        at += batch.num_rows
        try:
            drawn: Any = pc.filter(cast(Any, batch), booleans(part), memory_pool=pool) if whole else None
        except pa.ArrowNotImplementedError:
            whole = False
        if not whole:
            columns = [picked(batch.column(k), part, name) for k, name in enumerate(data.column_names)]
            drawn = pa.RecordBatch.from_arrays(columns, schema=data.schema)
        if drawn.num_rows:
            yield drawn


def masked_columns(data: pa.Table, mask: np.ndarray[Any, Any]) -> Iterator[pa.ChunkedArray[Any]]:
    """Each column's values where the mask is true, one column at a time."""
    import pyarrow as pa

    for at, field in enumerate(data.schema):
        parts = [batch.column(0) for batch in masked(data.select([at]), mask)]
        yield pa.chunked_array(parts, field.type)


def document(data: Any, size: float, *, how: str = "blocks", seed: int = 0) -> Any:
    """Some items of a list, or one map with its long lists thinned.

    Args:
        data: The document; it is not changed.
        size: Share of the items, in (0, 1].
        how: ``blocks`` (contiguous runs of items), ``random`` or ``head``.
        seed: Another seed draws other items.

    Raises:
        UsageError: No such rule, or a size out of range.

    >>> document(list(range(10)), 0.5, how="head")
    [0, 1, 2, 3, 4, 5]
    >>> sorted(document({"name": "x", "values": list(range(100))}, 0.1)) == ["name", "values"]
    True
    """
    if how not in ("blocks", "random", "head"):
        raise UsageError(f"invalid way to sample a document {how[:40]!a}: expected blocks, random or head")
    if not 0 < size <= 1:
        raise UsageError(f"a size is a share above 0 and at most 1; got {size}")
    if size == 1:
        return data
    import numpy as np

    drawer = _Drawer(how, seed, np.random.default_rng(seed))
    if isinstance(data, list) and data:
        wanted = count(len(data), size)
        chosen = [data[k] for k in drawer.indices(len(data), wanted)]
        rest = size * len(data) / wanted
        return chosen if rest > _NEAR else [_thin(item, rest, drawer) for item in chosen]
    return _thin(data, size, drawer)


class _Drawer:
    """Draws indices by the rule and the generator of one sample."""

    def __init__(self, how: str, seed: int, generator: np.random.Generator) -> None:
        self.how = how
        self.seed = seed
        self.generator = generator

    def indices(self, n: int, wanted: int) -> list[int]:
        if self.how == "head" or wanted >= n:
            return list(range(min(n, wanted)))
        if self.how == "blocks":
            runs = blocks(n, wanted, _BLOCK_ITEMS, seed=self.seed)
            return [k for start, end in runs for k in range(start, end)]
        return sorted(self.generator.permutation(n)[:wanted].tolist())


def _mask(data: pa.Table, wanted: int, how: str, seed: int) -> Any:
    import numpy as np

    mask = np.zeros(data.num_rows, dtype=bool)
    if how == "blocks":
        for start, end in blocks(data.num_rows, wanted, _BLOCK_ROWS, seed=seed):
            mask[start:end] = True
        return mask
    generator = np.random.default_rng(seed)
    if how == "random":
        order = np.arange(data.num_rows, dtype=np.int32 if data.num_rows < 1 << 31 else np.int64)
        generator.shuffle(order)
        mask[order[:wanted]] = True
        return mask
    name = how.removeprefix("stratify=")
    if name == how or name not in data.column_names:
        raise UsageError(
            f"invalid way to sample rows {how[:80]!a}: expected blocks, random, head or stratify=COLUMN of the table"
        )
    codes = _codes(data[name], name)
    order = generator.permutation(data.num_rows)
    order = order[np.argsort(codes[order], kind="stable")]  # grouped, random within a group
    # Rows evenly spaced over the groups take the same share of each.
    mask[order[(np.arange(wanted) * data.num_rows) // wanted]] = True
    return mask


def _codes(column: Any, name: str) -> Any:
    """A number for each distinct value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from tare.datasets.numbered import Numbered
    from tare.datasets.picking import unsupported
    from tare.fidelity.column_masks import storage, whole

    column = pa.chunked_array([storage(chunk) for chunk in column.chunks]) if column.num_chunks else column
    if pa.types.is_dictionary(column.type):
        levels = Numbered(column)
        numbers = [levels.of(chunk.dictionary).take(chunk.indices) for chunk in column.chunks]
        codes: Any = pc.cast(pa.chunked_array(numbers), pa.int64())
        return codes.fill_null(-1).to_numpy()
    try:
        try:
            encoded: Any = pc.dictionary_encode(column, null_encoding="encode")
        except pa.ArrowNotImplementedError:
            plain = pa.chunked_array([whole(chunk) for chunk in column.chunks])
            encoded = pc.dictionary_encode(plain, null_encoding="encode")
    except pa.ArrowNotImplementedError as error:
        raise unsupported(name, column.type, "they are in no groups") from error
    return encoded.combine_chunks().indices.to_numpy()


def _thin(value: Any, share: float, drawer: _Drawer) -> Any:
    """The value with its outermost long parts thinned to `share`; iterative, as documents may be deep."""
    box: list[Any] = [None]
    work: list[tuple[Any, float, Any, Any]] = [(value, share, box, 0)]
    while work:
        node, part, parent, place = work.pop()
        made: Any
        if isinstance(node, list):
            made, rest = _thin_list(node, part, drawer)
        elif isinstance(node, dict):
            made, rest = _thin_map(node, part, drawer)
        else:
            parent[place] = node
            continue
        parent[place] = made
        if rest <= _NEAR:
            inner = made.items() if isinstance(made, dict) else enumerate(made)
            work.extend((child, rest, made, at) for at, child in inner if isinstance(child, dict | list))
    return box[0]


def _thin_list(node: list[Any], share: float, drawer: _Drawer) -> tuple[list[Any], float]:
    if len(node) < _SHORT_LIST and not any(isinstance(child, dict | list) for child in node):
        return list(node), 1.0
    wanted = max(1, min(len(node), round(len(node) * share))) if node else 0
    rest = share * len(node) / wanted if wanted else 1.0
    return [node[k] for k in drawer.indices(len(node), wanted)], rest


def _thin_map(node: dict[Any, Any], share: float, drawer: _Drawer) -> tuple[dict[Any, Any], float]:
    lengths = {len(child) if isinstance(child, list) else -1 for child in node.values()}
    if len(node) > 1 and len(lengths) == 1 and min(lengths) >= _SHORT_LIST:
        # Columns: the same rows of each.
        n = lengths.pop()
        chosen = drawer.indices(n, max(1, round(n * share)))
        return {key: [child[k] for k in chosen] for key, child in node.items()}, 1.0
    if len(node) >= _LONG_MAP:
        wanted = max(1, round(len(node) * share))
        keys = list(node)
        return {keys[k]: node[keys[k]] for k in drawer.indices(len(keys), wanted)}, share * len(node) / wanted
    return dict(node), share
