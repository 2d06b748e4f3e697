"""CSV, as described in RFC 4180 (https://www.rfc-editor.org/rfc/rfc4180), and its kin with other delimiters.

A header line names the columns; types are not written, so every reader guesses. A blank line is a
missing value where there is one column, and with several none of the rows of `tare.read` (`csv_rows`).
"""

from __future__ import annotations

import csv as stdlib_csv
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from io import BytesIO, StringIO, TextIOWrapper
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, BinaryIO
from uuid import uuid4

from tare import table_text
from tare.errors import Truncated
from tare.formats import csv_rows, duck
from tare.formats.base import ANY_LANGUAGE, Buffer, Format, Library, Option, Stream
from tare.formats.columnar import (
    CHUNK_ROWS,
    INFER_ROWS,
    batches,
    join,
    need_columns,
    polars_library,
    pyarrow_library,
    run_of_rows,
    written,
)

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from pyarrow import csv as pa_csv

__all__ = ["FORMAT"]

_CHARACTERS = {"comma": ",", "tab": "\t", "semicolon": ";", "pipe": "|", "space": " "}
# What pyarrow says of a row that is longer than a block.
_LONG_ROW = "straddling object straddles two block boundaries"
# What DuckDB says of one that is longer than two million bytes.
_LONG_LINE = "Maximum line size"
_DELIMITER = Option("comma", tuple(_CHARACTERS), "What stands between fields; `tab` makes it TSV.")


def _not_empty(data: Buffer) -> Buffer:
    if not len(data):
        raise Truncated("csv: no bytes at all, expected a header line", format="csv", offset=0)
    return data


def _need_names(table: Any) -> None:
    """Refuse a table without columns: its text would be none that is read as one."""
    if isinstance(table, dict):
        columns = len(table)
    else:
        need_columns(table)
        columns = table.shape[1]
    if not columns:
        raise ValueError("the table has no columns, and a CSV begins with their names")


def _headless(encode: Callable[..., Buffer], empty: Callable[[Any], Any]) -> Callable[..., Buffer]:
    """Rows without the header: what ``encode`` writes behind what it writes of none of them."""

    def append(obj: Any, **options: Any) -> Buffer:
        return encode(obj, **options)[len(encode(empty(obj), **options)) :]

    return append


# -- csv of the standard library: text in, text out


def _encode_stdlib(obj: dict[str, list[Any]], *, delimiter: str) -> bytes:
    _need_names(obj)
    file = StringIO(newline="")
    _write_rows(file, [tuple(obj)], delimiter)
    _write_rows(file, zip(*obj.values(), strict=True), delimiter, one=len(obj) == 1)
    return file.getvalue().encode()


def _write_rows(
    file: StringIO, rows: Iterable[tuple[Any, ...]], delimiter: str, *, one: bool = False
) -> None:
    """Rows as lines. Of one column None is a blank line: `csv` writes it like an empty text."""
    writer = stdlib_csv.writer(file, delimiter=_CHARACTERS[delimiter])
    if not one:
        writer.writerows(rows)
        return
    for missing, some in groupby(rows, lambda row: row[0] is None):
        if missing:
            file.write("\r\n" * sum(1 for _ in some))
        else:
            writer.writerows(some)


def _decode_stdlib(data: Buffer, *, delimiter: str) -> dict[str, list[Any]]:
    rows = _rows_stdlib(data, delimiter)
    return _columns(next(rows, []), list(rows))


def _subset_stdlib(data: Buffer, columns: list[str], *, delimiter: str) -> dict[str, list[Any]]:
    rows = _rows_stdlib(data, delimiter)
    header = next(rows, [])
    places = [header.index(name) for name in columns]
    return _columns(columns, [[row[place] for place in places] for row in rows])


def _part_stdlib(data: Buffer, start: int, count: int, *, delimiter: str) -> dict[str, list[Any]]:
    rows = _rows_stdlib(data, delimiter)
    header = next(rows, [])
    return _columns(header, list(islice(rows, start, start + count)))


def _rows_stdlib(data: Buffer, delimiter: str) -> Iterator[list[Any]]:
    text = str(_not_empty(data), "utf-8-sig")
    return _rows_of(
        stdlib_csv.reader(StringIO(text, newline=""), delimiter=_CHARACTERS[delimiter], strict=True)
    )


def _rows_of(lines: Iterator[list[Any]]) -> Iterator[list[Any]]:
    """The header and the rows: a blank line is None where there is one column, and none of them elsewhere."""
    header = next(filter(None, lines), None)
    if header is None:
        return
    yield header
    yield from (row or [None] for row in lines) if len(header) == 1 else filter(None, lines)


def _columns(header: list[str], rows: list[list[Any]]) -> dict[str, list[Any]]:
    if not rows:
        return {name: [] for name in header}
    if len(set(header)) != len(header):
        raise ValueError("two columns have the same name")
    for number, row in enumerate(rows):
        if len(row) != len(header):
            raise ValueError(f"row {number + 1} has {len(row)} fields, the header {len(header)}")
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


def _write_stdlib(obj: dict[str, list[Any]], file: BinaryIO, *, delimiter: str) -> None:
    rows = zip(*obj.values(), strict=True)
    head: list[Any] = [tuple(obj)]
    while True:
        part = StringIO(newline="")
        chunk = head + list(islice(rows, CHUNK_ROWS))
        if not chunk:
            return
        _write_rows(part, chunk, delimiter, one=len(obj) == 1)
        file.write(part.getvalue().encode())
        head = []


def _read_stdlib(file: BinaryIO, *, delimiter: str) -> Iterator[dict[str, list[Any]]]:
    text = TextIOWrapper(file, "utf-8-sig", newline="")
    rows = _rows_of(stdlib_csv.reader(text, delimiter=_CHARACTERS[delimiter], strict=True))
    header = next(rows, None)
    if header is None:
        _not_empty(b"")
        return
    while chunk := list(islice(rows, CHUNK_ROWS)):
        yield _columns(header, chunk)
    text.detach()


def _join_stdlib(parts: list[dict[str, list[Any]]]) -> dict[str, list[Any]]:
    return {name: [value for part in parts for value in part[name]] for name in (parts[0] if parts else ())}


# -- pandas


def _encode_pandas(obj: pd.DataFrame, *, delimiter: str, engine: str) -> bytes:
    obj = _with_index(obj)
    _need_names(obj)
    return _text_pandas(obj, delimiter, header=True).encode()


def _with_index(obj: pd.DataFrame) -> pd.DataFrame:
    """The frame with its index as its last columns, unless that has no name and only numbers the rows."""
    index = obj.index
    if index.nlevels == 1 and index.name is None and index.dtype.kind in "iu":
        return obj
    names = [
        f"__index_level_{place}__" if name is None or name in obj.columns else str(name)
        for place, name in enumerate(index.names)
    ]
    flat = obj.reset_index(names=names)
    places = [*range(len(names), flat.shape[1]), *range(len(names))]
    return flat.iloc[:, places]


def _text_pandas(obj: pd.DataFrame, delimiter: str, *, header: bool) -> str:
    """Rows as text. A missing value of a column by itself is a blank line: pandas writes it like an empty text."""
    mark = uuid4().hex[:16] if obj.shape[1] == 1 and obj.iloc[:, 0].hasnans else ""
    text: str = obj.to_csv(sep=_CHARACTERS[delimiter], index=False, header=header, na_rep=mark)
    return text.replace(mark, "") if mark else text


def _decode_pandas(data: Buffer, *, delimiter: str, engine: str) -> pd.DataFrame:
    return _read_pandas_csv(data, delimiter=delimiter, engine=engine)


def _subset_pandas(data: Buffer, columns: list[str], *, delimiter: str, engine: str) -> pd.DataFrame:
    return _read_pandas_csv(data, delimiter=delimiter, engine=engine, usecols=columns)[columns]


def _part_pandas(data: Buffer, start: int, count: int, *, delimiter: str, engine: str) -> pd.DataFrame:
    return _read_pandas_csv(
        data, delimiter=delimiter, engine=engine, skiprows=range(1, start + 1), nrows=count
    )


def _read_pandas_csv(data: Buffer, *, delimiter: str, engine: Any, **more: Any) -> pd.DataFrame:
    import pandas as pd

    # "c" would warn of columns of mixed types by chunk; reading whole types them once.
    memory: dict[str, Any] = {"low_memory": False} if engine == "c" else {}
    read: Any = pd.read_csv
    start = csv_rows.one_column_start(data, _CHARACTERS[delimiter])
    file = BytesIO(memoryview(data)[start or 0 :])
    if start is not None:
        more["skip_blank_lines"] = False
        if engine == "python":
            more["index_col"] = False  # else it takes a blank first row for a line with the index's name
    try:
        frame: pd.DataFrame = read(file, sep=_CHARACTERS[delimiter], engine=engine, **memory, **more)
    except pd.errors.ParserError as error:
        if engine != "pyarrow" or not _is_cut(error):
            raise
        # Pandas does not let that engine expect line breaks in quotes, nor rows longer than a block.
        return _read_pandas_csv(data, delimiter=delimiter, engine="c", **more)
    return frame


def _write_pandas(obj: pd.DataFrame, file: BinaryIO, *, delimiter: str, engine: str) -> None:
    obj = _with_index(obj)
    for start in range(0, max(len(obj), 1), CHUNK_ROWS):
        part = obj.iloc[start : start + CHUNK_ROWS]
        file.write(_text_pandas(part, delimiter, header=start == 0).encode())


def _read_pandas(file: BinaryIO, *, delimiter: str, engine: str) -> Iterator[pd.DataFrame]:
    import pandas as pd

    rest, one = csv_rows.opened(file, _CHARACTERS[delimiter])
    yield from pd.read_csv(
        rest, sep=_CHARACTERS[delimiter], chunksize=CHUNK_ROWS, low_memory=False, skip_blank_lines=not one
    )


def _join_pandas(parts: list[pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd

    return pd.concat(parts, ignore_index=True)


# -- pyarrow


def _encode_pyarrow(obj: pa.Table, *, delimiter: str, newlines: bool) -> bytes:
    return written(partial(_write_pyarrow, obj, delimiter=delimiter, newlines=newlines))


def _decode_pyarrow(data: Buffer, *, delimiter: str, newlines: bool) -> pa.Table:
    from pyarrow import csv

    table = _read_by_pyarrow(data, delimiter, newlines, csv.read_csv)
    _ = table.column_names  # raises if they are not UTF-8, which Arrow does not look at
    return table


def _subset_pyarrow(data: Buffer, columns: list[str], *, delimiter: str, newlines: bool) -> pa.Table:
    from pyarrow import csv

    convert = csv.ConvertOptions(include_columns=columns)
    return _read_by_pyarrow(data, delimiter, newlines, partial(csv.read_csv, convert_options=convert))


def _part_pyarrow(data: Buffer, start: int, count: int, *, delimiter: str, newlines: bool) -> pa.Table:
    from pyarrow import csv

    def part(source: Any, *, parse_options: Any, read_options: Any) -> pa.Table:
        read_options.skip_rows_after_names = start
        with csv.open_csv(source, read_options=read_options, parse_options=parse_options) as reader:
            return run_of_rows(batches(reader), 0, count)

    return _read_by_pyarrow(data, delimiter, newlines, part)


def _read_by_pyarrow(data: Buffer, delimiter: str, newlines: bool, read: Callable[..., pa.Table]) -> pa.Table:
    """What ``read`` makes of the text; again with what it takes where a block was cut within quotes, or a row.

    Without line breaks in quotes pyarrow cuts blocks at any line end, a third faster. It raises where that
    was one within quotes, so that the usual text is not looked through for them.
    """
    import pyarrow as pa
    from pyarrow import csv

    start = csv_rows.one_column_start(_not_empty(data), _CHARACTERS[delimiter])
    view = memoryview(data)[start or 0 :]
    size = csv.ReadOptions().block_size or 1 << 20

    def attempt(newlines: bool, size: int) -> pa.Table:
        block = csv_rows.uncut(data, start or 0, size) if newlines else size
        return read(
            pa.BufferReader(view),
            parse_options=_parse_options(delimiter, newlines, one=start is not None),
            read_options=csv.ReadOptions(block_size=block),
        )

    try:
        return attempt(newlines, size)
    except pa.ArrowInvalid as error:
        if not _is_cut(error) or (newlines and _LONG_ROW not in str(error)) or len(view) <= size:
            raise
    try:
        return attempt(True, size)
    except pa.ArrowInvalid as error:
        if _LONG_ROW not in str(error):
            raise
    return attempt(True, len(view) + 1)


def _is_cut(error: Exception) -> bool:
    """Whether pyarrow says that blocks do not end where rows do, or that a row does not fit."""
    return any(words in str(error) for words in ("CSV parse", _LONG_ROW))


def _parse_options(delimiter: str, newlines: bool, *, one: bool) -> pa_csv.ParseOptions:
    from pyarrow import csv

    return csv.ParseOptions(
        delimiter=_CHARACTERS[delimiter], newlines_in_values=newlines, ignore_empty_lines=not one
    )


def _write_pyarrow(obj: pa.Table, file: Any, *, delimiter: str, newlines: bool) -> None:
    from pyarrow import csv

    _need_names(obj)
    csv.write_csv(obj, file, csv.WriteOptions(delimiter=_CHARACTERS[delimiter]))


def _arrow_by_pyarrow(table: pa.Table, *, delimiter: str, newlines: bool) -> Iterator[Buffer] | None:
    return table_text.csv_parts(table, _CHARACTERS[delimiter])


def _read_pyarrow(file: BinaryIO, *, delimiter: str, newlines: bool) -> Iterator[pa.Table]:
    from pyarrow import csv

    # What is read once cannot be read again with line breaks in quotes, and to expect them costs no time here.
    rest, one = csv_rows.opened(file, _CHARACTERS[delimiter], whole_ends=True)
    with csv.open_csv(rest, parse_options=_parse_options(delimiter, True, one=one)) as reader:
        yield from batches(reader)


# -- polars


def _encode_polars(obj: pl.DataFrame, *, dates: bool, delimiter: str, infer_rows: int) -> bytes:
    _need_names(obj)
    file = BytesIO()
    obj.write_csv(file, separator=_CHARACTERS[delimiter])
    return file.getvalue()


def _decode_polars(data: Buffer, *, dates: bool, delimiter: str, infer_rows: int) -> pl.DataFrame:
    return _read_polars_csv(data, None, dates=dates, delimiter=delimiter, infer_rows=infer_rows)


def _subset_polars(
    data: Buffer, columns: list[str], *, dates: bool, delimiter: str, infer_rows: int
) -> pl.DataFrame:
    return _read_polars_csv(data, columns, dates=dates, delimiter=delimiter, infer_rows=infer_rows)


def _part_polars(
    data: Buffer, start: int, count: int, *, dates: bool, delimiter: str, infer_rows: int
) -> pl.DataFrame:
    import polars as pl

    lazy = pl.scan_csv(
        BytesIO(_not_empty(data)),
        separator=_CHARACTERS[delimiter],
        infer_schema_length=infer_rows or None,
        try_parse_dates=dates,
    )
    return lazy.slice(start, count).collect()


def _read_polars_csv(
    data: Buffer, columns: list[str] | None, *, dates: bool, delimiter: str, infer_rows: int
) -> pl.DataFrame:
    import polars as pl

    whole = bytes(_not_empty(data))
    whole[: whole.find(b"\n")].decode()  # raises if the names are not UTF-8: polars would mend them
    return pl.read_csv(
        whole,
        columns=columns,
        separator=_CHARACTERS[delimiter],
        infer_schema_length=infer_rows or None,
        try_parse_dates=dates,
    )


# -- duckdb


def _encode_duckdb(obj: pa.Table, *, delimiter: str) -> bytes:
    return duck.copy_to(obj, f"FORMAT csv, HEADER, DELIMITER '{_CHARACTERS[delimiter]}'")


def _decode_duckdb(data: Buffer, *, delimiter: str) -> pa.Table:
    return _query_duckdb(data, "FROM {csv}", delimiter)


def _subset_duckdb(data: Buffer, columns: list[str], *, delimiter: str) -> pa.Table:
    return _query_duckdb(data, f"SELECT {duck.quote(columns)} FROM {{csv}}", delimiter)  # noqa: S608 - quoted


def _part_duckdb(data: Buffer, start: int, count: int, *, delimiter: str) -> pa.Table:
    return _query_duckdb(data, f"FROM {{csv}} LIMIT {count} OFFSET {start}", delimiter)


def _query_duckdb(data: Buffer, sql: str, delimiter: str) -> pa.Table:
    """What a query gives, in which ``{csv}`` stands for the text; again where a row is longer than DuckDB takes one to be."""
    import duckdb

    given = f"header = true, delim = '{_CHARACTERS[delimiter]}'"
    try:
        return duck.query(_not_empty(data), sql.replace("{csv}", f"read_csv({{path}}, {given})"))
    except duckdb.Error as error:
        if _LONG_LINE not in str(error):
            raise
    given += f", max_line_size = {len(data)}"
    return duck.query(data, sql.replace("{csv}", f"read_csv({{path}}, {given})"))


def _sniff(head: bytes) -> bool:
    """Two full lines or more with the same number, above zero, of one delimiter."""
    try:
        text = head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 3:  # not just a character that the cut went through
            return False
        text = head[: error.start].decode("utf-8-sig")
    if "\0" in text:
        return False
    for character in (",", "\t", ";", "|"):
        rows = list(stdlib_csv.reader(StringIO(text, newline=""), delimiter=character))[:20]
        whole = rows[:-1] if len(rows) > 2 else rows
        if len(whole) >= 2 and len(whole[0]) > 1 and len({len(row) for row in whole}) == 1:
            return True
    return False


FORMAT = Format(
    id="csv",
    title="CSV",
    extensions=(".csv", ".tsv", ".tab"),
    extension_options={".tsv": {"delimiter": "tab"}, ".tab": {"delimiter": "tab"}},
    kinds=frozenset({"table"}),
    spec="https://www.rfc-editor.org/rfc/rfc4180",
    languages=ANY_LANGUAGE,
    text=True,
    sniff=_sniff,
    libraries=(
        pyarrow_library(
            encode=_encode_pyarrow,
            append=_headless(_encode_pyarrow, lambda table: table.slice(0, 0)),
            decode=_decode_pyarrow,
            of_arrow=_arrow_by_pyarrow,
            options={
                "delimiter": _DELIMITER,
                "newlines": Option(
                    False,
                    (False, True),
                    "Expect line ends inside quoted fields; else they are met by reading again.",
                ),
            },
            write=_write_pyarrow,
            stream=Stream(_write_pyarrow, _read_pyarrow, join),
            subset=_subset_pyarrow,
            rows=_part_pyarrow,
        ),
        polars_library(
            encode=_encode_polars,
            append=_headless(_encode_polars, lambda frame: frame.head(0)),
            decode=_decode_polars,
            options={
                "dates": Option(False, (False, True), "Turn text that looks like a date or time into one."),
                "delimiter": _DELIMITER,
                "infer_rows": INFER_ROWS,
            },
            subset=_subset_polars,
            rows=_part_polars,
        ),
        duck.library(
            encode=_encode_duckdb,
            append=_headless(_encode_duckdb, lambda table: table.slice(0, 0)),
            decode=_decode_duckdb,
            options={"delimiter": _DELIMITER},
            subset=_subset_duckdb,
            rows=_part_duckdb,
        ),
        Library(
            name="pandas",
            native={"table": "pandas"},
            encode=_encode_pandas,
            append=_headless(_encode_pandas, lambda frame: frame.head(0)),
            decode=_decode_pandas,
            modules=("pandas",),
            distribution="pandas",
            extra="tables",
            options={
                "delimiter": _DELIMITER,
                "engine": Option("c", ("c", "pyarrow", "python"), "Which parser reads."),
            },
            stream=Stream(_write_pandas, _read_pandas, _join_pandas),
            subset=_subset_pandas,
            rows=_part_pandas,
        ),
        Library(
            name="stdlib",
            native={"table": "columns"},
            encode=_encode_stdlib,
            append=_headless(_encode_stdlib, lambda columns: {name: [] for name in columns}),
            decode=_decode_stdlib,
            options={"delimiter": _DELIMITER},
            stream=Stream(_write_stdlib, _read_stdlib, _join_stdlib),
            subset=_subset_stdlib,
            rows=_part_stdlib,
            slow=True,
            notes=("Every field comes back as text.",),
        ),
    ),
)
