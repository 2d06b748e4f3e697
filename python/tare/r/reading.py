"""`tare.r.read`: a file of R as values, or as the R object it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tare.errors import Malformed, TareError, Unsupported, UsageError
from tare.r import frames, odd_names, sources
from tare.r.arguments import MOST, checked_encoding, checked_names, checked_text
from tare.r.limits import Limits
from tare.r.losses import Loss, settle
from tare.r.values import Settings, converted, is_table

if TYPE_CHECKING:
    from tare._tare import RObject as Core

__all__ = ["objects", "read"]

_KINDS = ("python", "arrow", "pandas", "polars", "robject")


def read(  # noqa: PLR0913 - each is an option of reading
    source: Any,
    *,
    as_: str = "python",
    columns: list[str] | None = None,
    rows: tuple[int, int] | slice | range | None = None,
    scalars: bool = False,
    na: str = "null",
    strict: bool = False,
    loss: list[Loss] | None = None,
    encoding: str | None = None,
    limits: Limits | Mapping[str, int | None] | None = None,
    format: str | None = None,
) -> Any:
    """Read a file of R: RDS, RData, fst, qs2, qdata, qs, or text of `dput`. Nothing in it is run.

    Args:
        source: A path, the bytes, or a binary file object.
        as_: ``python`` gives a `pyarrow.Table` of a data frame, arrays of vectors, lists and dicts, and
            `RObject` for what is no data; ``arrow``, ``pandas`` and ``polars`` the table or vector of theirs;
            ``robject`` everything as it is. Of an RData file always a dict of its variables.
        columns: Names of the columns of a data frame to read; all by default. Of fst no other is read, and of
            RDS and qs2 no other kept in memory.
        rows: First row and the one behind the last, of those that are there; all by default. Of fst no
            others are read.
        scalars: Whether vectors of one value are that value.
        na: ``null``, or ``nan`` to make missing doubles NaN, which is told as a loss.
        strict: Whether the first thing that would be lost is an error.
        loss: A list to fill with what was not kept. Without it one warning says how much that is.
        encoding: Encoding of strings without a mark, such as ``latin1``, where the file does not say it, or they are
            not valid in the one that it says.
        limits: Of depth, memory and the ratio of decompression.
        format: Id of the format, where the bytes do not tell it: ``dput``.

    Raises:
        Truncated, Malformed, ChecksumMismatch: The file is not what it should be, with the byte.
        Unsupported: It is no file of R, or what it holds has no such form.
        Limit: It goes beyond a limit.
        LossError: Something would be lost, and ``strict``.
        UsageError: An option or column that does not exist.
        OSError: It cannot be read.

    >>> read(b"list(a = 1L, b = NULL)", format="dput", scalars=True)
    {'a': 1, 'b': None}
    """
    if as_ not in _KINDS:
        raise UsageError(f"as_={as_!r:.40} does not exist; there are {', '.join(_KINDS)}")
    if na not in ("null", "nan"):
        raise UsageError(f"na={na!r:.40} does not exist; there are null and nan")
    columns, encoding = checked_names("columns", columns), checked_encoding(encoding)
    checked_text("format", format)
    window = _window(rows)
    how = _How(as_, columns, window, scalars, na)
    options = Limits.of(limits).options() | ({} if encoding is None else {"encoding": encoding})
    if columns is not None and as_ != "robject":
        options["columns"] = columns  # of a data frame no other is kept in memory
    found: list[Loss] = []
    with sources.naming(source):
        value = _read(sources.opened(source), format, how, options, found)
    settle(found, loss, strict=strict, what=sources.name_of(source))
    return value


def _read(source: Any, format: str | None, how: _How, options: dict[str, Any], found: list[Loss]) -> Any:
    known = sources.told(source, format)
    options["format"] = known
    if known == "fst":
        from tare._tare import fst_read, fst_schema

        rows = how.rows
        if rows is not None:
            last = fst_schema(source)["rows"]
            rows = min(rows[0], last), min(rows[1], last)
        core = fst_read(source, how.columns, rows, options)
        core = odd_names.in_encoding(core, source, options, found)
        return _one(core, replace(how, columns=None, rows=None), found)
    return _value(objects(source, options), how, found)


@dataclass(frozen=True)
class _How:
    """What is wanted of what a file holds, as the arguments of `read` say it."""

    as_: str
    columns: list[str] | None
    rows: tuple[int, int] | None
    scalars: bool
    na: str


def objects(source: Any, options: Mapping[str, Any]) -> Core | list[tuple[str, Core]]:
    """What a file holds: an object, or the named ones of an RData file; the data frame of fst.

    Args:
        source: A path as text, or bytes.
        options: Of the core: limits, ``format``, ``encoding``.

    Raises:
        Malformed: It is in another format than ``format``, or damaged.
        TareError: As `read`.
    """
    from tare._tare import fst_read, r_read

    format = options["format"]
    told = None if format == "dput" else sources.sniffed(source)
    if told not in (None, format):
        raise Malformed(f"{format}: its bytes are those of {told}", format=format, offset=0)
    try:
        given = dict(options)
        return fst_read(source, None, None, given) if format == "fst" else r_read(source, given)
    except TareError as error:
        error.format = error.format or format
        if (
            format == "fst" and told is None and isinstance(error, Unsupported)
        ):  # not even its beginning is one of a file of R
            raise Malformed(str(error), format=format, offset=0) from error
        raise


def _value(held: Core | list[tuple[str, Core]], how: _How, found: list[Loss]) -> Any:
    if not isinstance(held, list):
        return _one(held, how, found)
    if (how.columns is not None or how.rows is not None) and not any(is_table(core) for _, core in held):
        raise Unsupported("columns= and rows= are of data frames, and none of the variables is one")
    named = {}
    for name, core in held:
        inner: list[Loss] = []
        part = how if is_table(core) else replace(how, columns=None, rows=None)
        named[name] = _one(core, part, inner, nested=True)
        found.extend(Loss(f"${name}{one.path}", one.kind, one.r, one.kept, one.count) for one in inner)
    if len(named) < len(held):
        found.append(Loss("", "duplicate_names", "variables of one name", "the last", len(held) - len(named)))
    return named


def _one(core: Core, how: _How, found: list[Loss], *, nested: bool = False) -> Any:
    from tare.r.robject import RObject

    of_table = how.columns is not None or how.rows is not None
    if how.as_ == "robject":
        if of_table:
            raise UsageError("columns= and rows= are of tables, not of as_='robject'")
        return RObject(core)
    if not of_table:
        return converted(core, Settings(how.as_, scalars=how.scalars, na=how.na, nested=nested), found)
    if not is_table(core):
        raise Unsupported(f"columns= and rows= are of data frames, and this is of type {core.type}")
    keyed = how.as_ in ("python", "arrow")
    table = frames.part(frames.table(core, how.na, "", found, how.columns, keyed=keyed), None, how.rows)
    names = frames.row_names(core) if how.as_ == "pandas" else None
    if names is not None and how.rows is not None:
        names = names[slice(*how.rows)]
    return frames.faced(table, how.as_, names)


def _window(rows: tuple[int, int] | slice | range | None) -> tuple[int, int] | None:
    """The first row and the one behind the last.

    Raises:
        UsageError: Steps, or counting from the end.
    """
    if rows is None:
        return None
    if isinstance(rows, slice | range):
        if rows.step not in (None, 1) or rows.stop is None:
            raise UsageError("rows= takes rows side by side: (first, behind the last)")
        rows = (rows.start or 0, rows.stop)
    if not isinstance(rows, tuple | list) or len(rows) != 2 or not all(hasattr(n, "__index__") for n in rows):
        raise UsageError(f"rows= is (first, behind the last), not {rows!r:.40}")
    first, behind = rows
    if first < 0 or behind < first:
        raise UsageError(
            f"rows=({first}, {behind}): the first row is 0, and the second number is behind the last"
        )
    return min(int(first), MOST), min(int(behind), MOST)
