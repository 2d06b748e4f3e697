"""Files of R as tables and documents, read by the core from the file itself, its compressor included."""

from __future__ import annotations

from typing import Any

from tare.datasets.source import Source, free_memory, printable
from tare.errors import Limit, TareError, Truncated, UsageError
from tare.r import Loss
from tare.r.arguments import checked_encoding
from tare.r.losses import Losses

__all__ = ["FORMATS", "beside", "load", "notes_of", "stored"]

FORMATS = ("rds", "rdata", "fst", "qs2", "qdata", "qs", "dput")
# Compressors that the core undoes itself; a file in another is decompressed before it is read.
_OURS = frozenset({"gzip", "bz2", "xz", "zstd"})
_SHOWN = 3


def load(
    source: Source,
    *,
    max_bytes: int | None,
    encoding: str | None,
    columns: list[str] | None,
    losses: list[Loss],
    data_only: bool = False,
) -> Any:
    """An Arrow table of a data frame, else lists, dicts and scalars.

    Args:
        source: The file.
        max_bytes: Most bytes of memory; by default those that are free.
        encoding: Encoding of strings without a mark.
        columns: Names of the columns of a data frame; all by default.
        losses: A list to fill with what the value has not.
        data_only: Whether what is no data becomes None, with a loss.

    Raises:
        DecodeError: It is not what it should be.
        Unsupported: It holds what is no data, such as a function, and not ``data_only``.
        Limit: It takes more memory than there is.
        UsageError: It has no such column, or is no data frame.
    """
    from tare.r.frames import part
    from tare.r.plain import plain_value

    found = Losses()
    budget = max_bytes
    if budget is None and source.format != "dput":  # whose reader has a limit by the length of the text
        budget = free_memory()
    options: dict[str, Any] = {"memory_budget": budget}
    if encoding is not None:
        options["encoding"] = checked_encoding(encoding)
    if columns is not None:
        options["columns"] = columns
    try:
        value = plain_value(
            stored(source),
            source.format,
            options,
            found,
            data_only=data_only,
            variable=source.variable,
            tabular=source.tabular,
            keyed=source.keyed,
        )
    except Limit as error:
        raise source.error(
            Limit, _said(source, error), advice="In Python, max_bytes= of open_dataset raises it."
        ) from error
    except Truncated as error:
        raise source.error(
            Truncated,
            _said(source, error),
            offset=error.offset,
            advice="The file was cut: fetch or write it again.",
        ) from error
    except TareError as error:
        raise source.error(type(error), _said(source, error), offset=error.offset) from error
    if columns is not None and hasattr(value, "column_names"):
        try:
            value = part(value, columns, None)
        except UsageError as error:
            raise source.error(UsageError, str(error)) from None
    elif columns is not None:
        raise source.error(UsageError, "columns are of a data frame, and this is none")
    if not hasattr(value, "column_names"):
        value, rounded = _with_datetimes(value)
        if rounded:
            found.append(Loss("", "precision", "fractions of a microsecond", "whole ones", rounded))
    losses.extend(found)
    if isinstance(losses, Losses):
        losses.of_schema.extend(found.of_schema)
        losses.of_zones.extend(found.of_zones)
    return value


def beside(losses: list[Loss], kind: str) -> tuple[str, ...]:
    """Returns the paths of what the schema of a table, or the zones of a document, alone keep of an object of R.

    Args:
        losses: What was found by `load`.
        kind: ``table`` or ``document``.
    """
    if not isinstance(losses, Losses):
        return ()
    found = losses.of_schema if kind == "table" else losses.of_zones
    return tuple(dict.fromkeys(loss.path for loss in found if not loss.is_information))


def _with_datetimes(value: Any) -> tuple[Any, int]:
    """Returns a document with `datetime` for times of pandas, which no format of documents takes; lists and dicts are changed.

    Returns:
        The document, and how many of its times were no whole microseconds, as those of R often are.
    """
    box, rounded = [value], 0
    work: list[Any] = [box]
    while work:
        node = work.pop()
        kinds = set(map(type, node.values() if isinstance(node, dict) else node))
        if any(kind.__name__ == "Timestamp" for kind in kinds):
            for at, one in list(node.items() if isinstance(node, dict) else enumerate(node)):
                if type(one).__name__ == "Timestamp":
                    rounded += one.nanosecond != 0
                    node[at] = one.to_pydatetime(warn=False)
        if kinds & {list, dict}:
            inner = node.values() if isinstance(node, dict) else node
            work.extend(one for one in inner if isinstance(one, list | dict))
    return box[0], rounded


def stored(source: Source) -> str | bytes:
    """What the core reads: the path of the file, or its bytes."""
    if (
        all(name in _OURS for name in source.compressors)
        and len(source.compressors) < 2
        and source.format != "fst"
    ):
        if source.path is not None:
            return source.path
        with source.open_stored() as file:
            return file.read()
    if source.path is not None and not source.compressors:
        return source.path
    return source.read()[0]


def _said(source: Source, error: TareError) -> str:
    """An error of the core without what `Source.error` says again."""
    text = printable(str(error), 300).removeprefix(f"{source.format}: ").rstrip(".")
    return text if error.offset is None else text.removesuffix(f", at byte {error.offset}")


def notes_of(found: list[Loss]) -> list[str]:
    """Returns notes on what a value has not of R's."""
    real = [loss for loss in found if not loss.is_information]
    notes = [f"R: not kept: {printable(str(loss), 120)}" for loss in real[:_SHOWN]]
    if len(real) > _SHOWN:
        notes.append(f"R: {len(real) - _SHOWN:,} more things are not kept; tare.r.read lists them")
    return notes
