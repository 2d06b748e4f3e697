"""Tare's formats inside Dask and Ray: one reader of a part, and what each engine makes of it.

Public interfaces of both alone are used: `dask.dataframe.from_map`, `dask.bag.from_sequence`,
`ray.data.from_items` and ``flat_map``. Nothing of them is imported before it is needed.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tare import io, kinds
from tare._version import __version__
from tare.codec import Codec
from tare.converting import line_tables
from tare.datasets.source import find, printable
from tare.errors import DecodeError, MissingLibrary, TareError, UsageError
from tare.scale.left import any_undone, check_some
from tare.scale.place import folder_uri, place_of, shown
from tare.scale.planning.convert import parse_bytes
from tare.scale.planning.schemas import schema_of_lines
from tare.scale.planning.sources import Found, find_sources
from tare.scale.planning.splitting import parts_of
from tare.scale.planning.telling import unknown_of
from tare.scale.ranges import read_range, schema_to_text
from tare.scale.running import Writing
from tare.scale.state import State
from tare.scale.tasks.inputs import opened, opened_part, table_of
from tare.scale.unit import unit_key

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["dask_bag", "dask_dataframe", "ray_dataset", "read_unit", "units_of", "write_parts"]

# What a unit is read by whose rows the core may read.
_LINES = ("", "json", "ndjson")
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def units_of(paths: Paths, codec: str | None = None, split: str | int | None = None) -> list[dict[str, Any]]:
    """The parts that files are read in: plain data, which any engine can send to its workers.

    Args:
        paths: Files, folders, globs, ``s3://`` prefixes.
        codec: Codec id, when neither bytes nor name tell.
        split: Bytes of a part of a large file; None leaves files whole.

    What is no data, as the ``_SUCCESS`` of a folder of Spark's, is passed over; what may be some is not.

    Raises:
        FileNotFoundError: Nothing is there.
        PlanError: What is there is no data.
        TareError: Something that was asked for cannot be read.
    """
    listed = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    left: list[tuple[str, str]] = []
    found = find_sources([os.fspath(one) for one in listed], skipped=left)
    for passed in left:
        if any_undone([passed]):
            raise TareError(f"{printable(passed[0])}: {passed[1]}")
    if not codec:
        found = _with_data(found, left)
    size = parse_bytes(split)
    units = []
    for one in found:
        unit = {"input": [one.as_input()], "read": codec or "", "options": {}}
        parts = _parts(one, codec, size) if size and one.size > size else []
        units += [
            {**unit, "input": [{**one.as_input(), "range": part}], "options": more} for part, more in parts
        ] or [unit]
    return units


def _with_data(found: list[Found], left: list[tuple[str, str]]) -> list[Found]:
    """Those that hold data, or may: reading them says what they lack."""
    told = list(unknown_of(found))
    kept = [one for one, why in zip(found, told, strict=True) if why is None or any_undone([why])]
    check_some(kept, [*left, *(why for why in told if why is not None)])
    return kept


def _parts(one: Found, codec: str | None, size: int) -> list[tuple[dict[str, Any], dict[str, str]]]:
    known = Codec.parse(codec) if codec else Codec.for_path(one.name)
    format = known.format_id if known is not None else ""
    with opened_part(one.as_input()) as source:
        parts = parts_of(one, source, format, size)
        lines = parts and format == "ndjson"
        more = {"schema": schema_to_text(schema_of_lines(source, one.name))} if lines else {}
    return [(part, more) for part in parts]


def read_unit(unit: Mapping[str, Any] | str | os.PathLike[str], columns: list[str] | None = None) -> pa.Table:
    """A file, or a part of one, as a table: the reader that all engines have.

    Args:
        unit: A path, or a part as `units_of` gives it.
        columns: Only these.

    Raises:
        TareError, OSError: As `tare.read`.
        UsageError: What it holds is no table; or it is a folder of several files.
    """
    import pyarrow as pa

    if not isinstance(unit, Mapping):
        units = units_of(unit)
        if len(units) > 1:
            raise UsageError(
                f"{os.fspath(unit)} is {len(units):,} files, and one is read here: name it; "
                "dask_dataframe and ray_dataset read all"
            )
        (unit,) = units
    given = unit["input"][0]
    name = shown(str(given["uri"]))
    if given.get("range"):
        with opened_part(given) as source:
            schema, rows = read_range(source, given["range"], unit["options"], name)
            table = pa.Table.from_batches(list(rows), schema)
        return table if columns is None else table.select(columns)
    read = str(unit.get("read", ""))
    with opened(given) as path:
        lines = line_tables.table_of(find(path, format=read or None)) if read in _LINES else None
        value = io.read(path, codec=read or None) if lines is None else lines[0]
    try:
        table = table_of(value, name)
    except UsageError as error:
        raise UsageError(f"{error}; dask_bag reads documents") from error
    return table if columns is None else table.select(columns)


class _Part:
    """Reads a part as a frame of pandas, with the dtypes of all others; Dask passes the columns that are used."""

    def __init__(self, schema: bytes) -> None:
        self._schema = schema

    def __call__(self, unit: Mapping[str, Any], columns: list[str] | None = None) -> Any:
        import pyarrow as pa
        from pyarrow import ipc

        from tare.frames import pandas_by_types

        wanted = ipc.read_schema(pa.py_buffer(self._schema))
        table = read_unit(unit)
        if not table.schema.remove_metadata().equals(wanted):
            name = shown(str(unit["input"][0]["uri"]))
            raise DecodeError(
                f"{name}: its columns are {_told(table.schema)}, those of the first part {_told(wanted)}"
            )
        return pandas_by_types(table if columns is None else table.select(columns))


def _told(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)[:300]


def dask_dataframe(
    paths: Paths, codec: str | None = None, columns: list[str] | None = None, split: str | int | None = None
) -> Any:
    """A Dask data frame of files in any format that Tare reads: rds, qs2, fst, Arrow, blit, ...

    One partition a file, or a part of one. Columns that are not used are read, but not made into pandas'.

    The dtypes follow from the types of the columns, and are the same in every partition. As any of them may have
    nulls, whole numbers and truth values are of ``ArrowDtype``, ``int64[pyarrow]``; so are dates, decimals, bytes and
    lists. A null among floats is NaN, as everywhere in pandas. What was an index is a column.

    Args:
        paths: Files, folders, globs, ``s3://`` prefixes.
        codec: Codec id, when neither bytes nor name tell.
        columns: Only these.
        split: Bytes of a part of a large file; None leaves files whole.

    Raises:
        MissingLibrary: Dask is not installed.
        DecodeError: When it is computed: a part has other columns than the first.
    """
    from tare.frames import pandas_by_types

    frames = _imported("dask.dataframe", "dask[dataframe]")
    utils = _imported("dask.dataframe.utils", "dask[dataframe]")
    units = units_of(paths, codec, split)
    first = read_unit(units[0])
    schema = first.schema.remove_metadata()
    # Each part has categories of its own: that there are none would be taken for the truth.
    meta = utils.clear_known_categories(pandas_by_types(schema.empty_table()))
    return frames.from_map(
        _Part(schema.serialize().to_pybytes()),
        units,
        meta=meta if columns is None else meta[columns],
        columns=columns,
        label="tare",
    )


def dask_bag(paths: Paths, codec: str | None = None) -> Any:
    """A Dask bag of the documents of files; a file is a partition.

    Args:
        paths: Files, folders, globs, ``s3://`` prefixes.
        codec: Codec id, when neither bytes nor name tell.

    Raises:
        MissingLibrary: Dask is not installed.
    """
    bag = _imported("dask.bag", "dask")
    return bag.from_sequence(units_of(paths, codec), partition_size=1).map(documents).flatten()


def documents(unit: Mapping[str, Any]) -> list[Any]:
    """The documents of a file: its items, if it is a list of them; else the one that it holds."""
    with opened(unit["input"][0]) as path:
        value = io.read(path, codec=str(unit.get("read", "")) or None)
    if kinds.kind_of(value) == "table":
        return list(kinds.convert(value, "records"))
    return value if isinstance(value, list) else [value]


def ray_dataset(paths: Paths, codec: str | None = None, columns: list[str] | None = None) -> Any:
    """A Ray dataset of files in any format that Tare reads: blocks of Arrow, as the files have them.

    Where Ray makes frames of pandas of them, whole numbers with nulls are ``Int64``; what was an index is a column,
    as Ray drops what is none.

    Args:
        paths: Files, folders, globs, ``s3://`` prefixes.
        codec: Codec id, when neither bytes nor name tell.
        columns: Only these.

    Raises:
        MissingLibrary: Ray is not installed.
    """
    data = _imported("ray.data", "ray[data]")
    items = [{"unit": unit} for unit in units_of(paths, codec)]
    return data.from_items(items, override_num_blocks=len(items)).map_batches(
        _tables, batch_size=1, batch_format="pandas", fn_kwargs={"columns": columns}
    )


def _tables(batch: Any, columns: list[str] | None) -> Any:
    """What a batch of one part holds."""
    from tare.frames import with_nullable_types

    return with_nullable_types(read_unit(batch["unit"].iloc[0], columns))


def write_parts(
    frame: Any, destination: str | os.PathLike[str], *, to: str, overwrite: bool = False
) -> list[str]:
    """Write each partition of a Dask data frame as a file, by the codec: whole or not at all, with a receipt.

    What an earlier frame left in files of the same ending is replaced; what it had more of goes. An index is written
    as columns of its names, unless it only counts rows and has none. NaN in a column of NumPy is a null.

    Args:
        frame: A Dask data frame.
        destination: The folder, or ``s3://bucket/prefix``.
        to: Codec id of the files.
        overwrite: Whether they may take the place of files that no receipt knows.

    Returns:
        Their paths, or URLs, in the order of the partitions.

    Raises:
        MissingLibrary: Dask is not installed.
        EncodeError: The format cannot hold a partition.
        UsageError: A file of somebody else has the name of a part; the index has the name of a column.
    """
    from tare.converting.naming import ending_of

    dask = _imported("dask", "dask")
    meta = _imported("dask.dataframe.utils", "dask[dataframe]").make_meta(frame)
    counts = _only_counts(meta)
    ending, base = ending_of(to), folder_uri(destination)
    names = [f"part-{n:05}{ending}" for n in range(1, frame.npartitions + 1)]
    writing = [
        dask.delayed(_write_part)(part, base, name, to, counts=counts, overwrite=overwrite)
        for part, name in zip(frame.to_delayed(), names, strict=True)
    ]
    written = list(dask.compute(*writing))
    _remove_older(State(base), names, ending, to)
    return written


def _only_counts(meta: Any) -> bool:
    """Whether the index of a frame is the default one: it tells where rows were, and is no data.

    Raises:
        UsageError: It has the name of a column.
    """
    import pandas as pd

    names = [str(name) for name in meta.index.names if name is not None]
    both = next((name for name in names if name in map(str, meta.columns)), None)
    if both is not None:
        raise UsageError(
            f"the index and a column are both named {both[:80]!r}: "
            "reset_index(drop=True) drops the index, rename_axis gives it another name"
        )
    return isinstance(meta.index, pd.RangeIndex) and not names


def _with_index(part: Any, counts: bool) -> Any:
    """A partition whose index has a name, or only counts: alike in all partitions, whatever each of them holds."""
    index = part.index
    if index.nlevels > 1 or index.name is not None:
        return part
    if counts and (index.dtype.kind in "iu" or not len(index)):
        return part.reset_index(drop=True)
    return part.rename_axis("__index_level_0__")  # as pandas names it, which takes it for an index again


def _part_key(name: str, to: str) -> str:
    return unit_key({"tare_unit": 1, "task": "write_parts", "write": to, "output": {"names": [name]}})


def _remove_older(state: State, names: list[str], ending: str, to: str) -> None:
    """What earlier frames left here: a reader of the folder would take the rows of a larger one for ours.

    An attempt that died before its receipt has said in an intent what it would rename.
    """
    keys = {_part_key(name, to) for name in names}
    for receipt in state.receipts():
        if receipt["key"] not in keys and _removed(state, receipt, names, ending):
            state.forget(receipt["key"])
    for key in sorted(state.intents()):
        intent = state.intent(key)
        if intent is not None and _removed(state, intent, names, ending, read=True):
            state.drop_intent(key)


def _removed(
    state: State, told: Mapping[str, Any], names: list[str], ending: str, *, read: bool = False
) -> bool:
    """Away with parts that a receipt, or an intent, tells of and that are as it says; whether it is of a frame."""
    if told.get("input") != []:  # of a unit: it has inputs
        return False
    part = re.compile(r"part-\d{5,}" + re.escape(ending))
    made = [one for one in told["output"] if part.fullmatch(one["name"])]
    for one in made:
        if one["name"] not in names and state.stands(one, read=read):
            state.place.remove(one["name"])
    return bool(made)


def _write_part(part: Any, base: str, name: str, to: str, *, counts: bool, overwrite: bool) -> str:
    """Write beside, say what is renamed, rename, then the receipt, as units do."""
    state = State(base)
    key = _part_key(name, to)
    writing = Writing(place_of(base), key, {"state": base, "overwrite": overwrite})
    writing.guarded, writing.noted = not overwrite, True
    writing.to_replace = "pass overwrite=True"
    table = kinds.convert(_with_index(part, counts), "arrow")
    try:
        with writing.output(name) as target:
            io.write(table, target, codec=to, sync=False)  # its writing waits
        output = writing.commit()
    finally:
        writing.discard()
    state.write_receipt({
        "key": key, "status": "done", "output": output, "input": [], "bytes_in": 0, "rows": table.num_rows,
        "bytes_out": sum(int(one["size"]) for one in output), "fidelity": [], "tare": __version__,
    })  # fmt: skip
    state.drop_intent(key)
    return shown(f"{base}/{name}")


def _imported(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingLibrary(f"needs {error.name or module}: pip install '{extra}'") from error
