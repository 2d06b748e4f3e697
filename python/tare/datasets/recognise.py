"""What a file is, told by its first bytes, then by its name.

Formats that Tare reads are told by the registry's own magic and by what a text
looks like; others only by the table here, so that a message can name them.
"""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import islice

from tare import formats
from tare.datasets.csv_comments import skipped_part
from tare.formats.csv_rows import unquoted_rows

__all__ = [
    "Known",
    "as_utf8",
    "control_in",
    "encoding_of",
    "foreign",
    "format_option",
    "has_rows",
    "is_text",
    "looks_like",
    "option_named",
    "tell",
]

_OPTION: ContextVar[str] = ContextVar("format_option", default="--format")


@contextlib.contextmanager
def option_named(option: str) -> Iterator[None]:
    """What runs within names a format by another option than ``--format``: advice says that one."""
    token = _OPTION.set(option)
    try:
        yield
    finally:
        _OPTION.reset(token)


def format_option() -> str:
    """The option by which the command that runs is told a format."""
    return _OPTION.get()


@dataclass(frozen=True)
class Known:
    """A file kind that Tare can name but not read.

    Args:
        id: Short name.
        title: Name as people know it.
        magic: The bytes at `offset`.
        offset: Where they stand.
        executes_code: Whether its usual reader runs what the file names.
        within: What else stands in the head of such a file.
        advice: How to make it one that is read; empty for what is said of all.
    """

    id: str
    title: str
    magic: bytes
    offset: int = 0
    executes_code: bool = False
    within: bytes = b""
    advice: str = ""


_SHEET = "Save the sheet as CSV: in pandas, pd.read_excel(path).to_csv(...); or in the program that made it."
FOREIGN = (
    Known("rdata", "R data of before R 1.4 (RData, version 1)", b"RDX1\n"),
    Known("rdata", "R data of before R 1.4 (RData, version 1, text)", b"RDA1\n"),
    Known("rdata", "R data of before R 1.4 (RData, version 1, native)", b"RDB1\n"),
    Known("feather", "Feather version 1", b"FEA1"),
    Known("parquet", "Parquet, encrypted", b"PARE"),
    Known("hdf5", "HDF5", b"\x89HDF\r\n\x1a\n"),
    Known("hdf4", "HDF4", b"\x0e\x03\x13\x01"),
    Known("netcdf", "NetCDF classic", b"CDF\x01"),
    Known("npy", "NumPy array (npy)", b"\x93NUMPY", 0, True),
    Known("sqlite", "SQLite database", b"SQLite format 3\x00"),
    Known("duckdb", "DuckDB database", b"DUCK", 8),
    Known("lance", "Lance", b"LANC"),
    Known("vortex", "Vortex", b"VTXF"),
    Known("matlab", "MATLAB file", b"MATLAB 5.0"),
    Known("spss", "SPSS data", b"$FL2"),
    Known("stata", "Stata data", b"<stata_dta>"),
    Known("xls", "Excel workbook (xls)", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", advice=_SHEET),
    Known("xlsx", "Excel workbook (xlsx)", b"PK\x03\x04", within=b"xl/", advice=_SHEET),
    Known(
        "ods",
        "OpenDocument spreadsheet (ods)",
        b"PK\x03\x04",
        within=b"opendocument.spreadsheet",
        advice=_SHEET,
    ),
    Known("zip", "ZIP archive (also xlsx, npz)", b"PK\x03\x04", advice="Unpack it first, as by unzip."),
    Known("7z", "7-Zip archive", b"7z\xbc\xaf\x27\x1c"),
    Known("rar", "RAR archive", b"Rar!\x1a\x07"),
    Known("tar", "tar archive", b"ustar", 257),
    Known("snappy", "Snappy frames", b"\xff\x06\x00\x00sNaPpY"),
    Known("lz4-legacy", "LZ4, the legacy frame", b"\x02\x21\x4c\x18"),
    Known("compress", "compress (.Z)", b"\x1f\x9d"),
    Known("lzip", "lzip", b"LZIP"),
    Known("pdf", "PDF document", b"%PDF-"),
    Known("png", "PNG image", b"\x89PNG\r\n\x1a\n"),
    Known("jpeg", "JPEG image", b"\xff\xd8\xff"),
    Known("gif", "GIF image", b"GIF8"),
    Known("elf", "ELF program", b"\x7fELF"),
    Known("java", "Java serialized objects", b"\xac\xed\x00\x05", 0, True),
    Known("xml", "XML", b"<?xml"),
    Known("html", "HTML page", b"<!DOCTYPE"),
    Known("html", "HTML page", b"<html"),
)

_BOMS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_JSON_START = re.compile(rb'(?:\{\s*(?:"|\}|$)|\[\s*(?:[\[\]{"\-0-9]|true|false|null|$))')
_YAML_START = re.compile(rb"(?:---(?:\s|$)|%YAML)")
_YAML_LINE = re.compile(rb"\s*(?:#.*|- .*|[A-Za-z_][\w .-]*:(?: .*)?)?")
_SURE = ("rds", "fst")  # no magic alone tells all of their files, but their own look at the head is sure
_MAGIC_IS_OPTIONAL = ("cbor", "pickle")  # untagged CBOR; pickle protocols 0 and 1
_DELIMITERS = (b",", b"\t", b";", b"|")
# So many rows tell a CSV; the last one of a head that is longer may be cut.
_ROWS, _MAY_BE_CUT = 50, 4096


def looks_like(head: bytes) -> str | None:
    r"""Id of the format the first bytes are surely in, whatever the name says; None if they are not sure.

    Args:
        head: The first bytes of the file, decompressed; 4 KiB or more tell most.

    >>> looks_like(b"PAR1\x15"), looks_like(b'{"a": 1}'), looks_like(b"hello")
    ('parquet', 'json', None)
    """
    for format in formats.FORMATS:
        if any(head.startswith(magic) for magic in format.magic):
            return format.id
    for id in _SURE:
        sniff = formats.get(id).sniff
        if sniff is not None and sniff(head):
            return id
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "pickle"
    if head[:4] == b"\xff\xff\xff\xff" and len(head) >= 8:
        return "arrow"  # a stream: continuation marker, then the length of the schema
    if not is_text(head):
        return None
    text = _without_bom(head).lstrip()
    if _JSON_START.match(text):
        return "ndjson" if _values_on_lines(text) else "json"
    return "yaml" if _YAML_START.match(text) else None


def foreign(head: bytes) -> Known | None:
    r"""The entry of the table of formats that are only recognised; None if none fits.

    >>> foreign(b"SQLite format 3\x00").id
    'sqlite'
    """
    return next(
        (known for known in FOREIGN if head.startswith(known.magic, known.offset) and known.within in head),
        None,
    )


def is_text(head: bytes) -> bool:
    r"""Whether the bytes may be text: no control characters but white space and escape.

    >>> is_text(b"a,b\n1,2\n"), is_text(b"\x00\x01")
    (True, False)
    """
    if any(head.startswith(bom) for bom, _ in _BOMS):
        return True
    return _CONTROL.search(head) is None


def encoding_of(head: bytes) -> str | None:
    """The encoding that a byte order mark names; None without one.

    >>> encoding_of("a,b".encode("utf-16"))
    'utf-16'
    """
    return next((name for bom, name in _BOMS if head.startswith(bom)), None)


def control_in(head: bytes) -> int | None:
    r"""Returns where the first control character is that no text has; None without one.

    >>> control_in(b"a,b\n\x00"), control_in(b"a,b\n")
    (4, None)
    """
    found = _CONTROL.search(head)
    return None if found is None else found.start()


def as_utf8(head: bytes, encoding: str | None) -> bytes:
    """Returns the first bytes in UTF-8, of a text in another encoding; the same bytes if they are in no such.

    Args:
        head: The first bytes of the file, decompressed.
        encoding: What the user says they are; None for what a byte order mark says.
    """
    name = encoding or encoding_of(head)
    if name in (None, "utf-8-sig") or looks_like(head) is not None:
        return head
    try:
        if not getattr(codecs.lookup(name), "_is_text_encoding", True):  # such as rot13 and zip
            return head
        return codecs.getincrementaldecoder(name)("strict").decode(head).encode()
    except (LookupError, ValueError, AttributeError):  # it is named where the text is read
        return head


def tell(head: bytes, named: str | None) -> tuple[str | None, str | None]:
    r"""Decide between what the bytes look like and what the name says.

    Args:
        head: The first bytes, decompressed.
        named: Id of the format that the file's name stands for, if any.

    Returns:
        The id of the format, or None if nothing tells; and a note for the user if
        the name was wrong.

    >>> tell(b'[{"a": 1}]', "csv")
    ('json', 'named as csv, but it is json')
    >>> tell(b'"a","b"\n1,2\n', "json")
    ('csv', 'named as json, but it looks like csv; --format json if it is not')
    >>> tell(b"a,b\n1,2\n", None)
    ('csv', None)
    """
    found = looks_like(head)
    sure = found is not None
    if found is None and (named is None or not _fits(head, named)):
        found = _text_without_marks(head)
    if found is None or found == named:
        return (named if named and _fits(head, named) else found), None
    if named is None or (named == "yaml" and found == "json"):
        return named or found, None  # JSON is YAML too
    if named == "ndjson" and found == "json":
        first, newline, rest = _without_bom(head).strip().partition(b"\n")
        # One line may be a stream of one value, and one that is broken the first of many.
        if not newline or (_is_one_value(first) and rest.lstrip()[:1] not in (b",", b"]", b"}")):
            return named, None
    if sure:
        return found, f"named as {named}, but it is {found}"
    other = f"; {format_option()} {named} if it is not" if formats.get(named).text else ""
    return found, f"named as {named}, but it looks like {found}{other}"


def _fits(head: bytes, named: str) -> bool:
    """Whether bytes that look like nothing in particular may be in the format."""
    format = formats.get(named)
    if format.magic and named not in _MAGIC_IS_OPTIONAL:
        return False
    if named in ("json", "ndjson"):
        start = _without_bom(head).lstrip()[:1]
        # Words, numbers and quoted texts begin values, but rows of them with delimiters are no JSON.
        if start not in (b"{", b"[") and _text_without_marks(head) == "csv":
            return False
        return start in (
            b'"',
            b"t",
            b"f",
            b"n",
            b"-",
            b"",
            *(b"%d" % digit for digit in range(10)),
            b"{",
            b"[",
            b"N",
            b"I",
        )
    return is_text(head) or _is_utf8(head) if format.text else True


def _is_utf8(head: bytes) -> bool:
    """Whether the bytes are UTF-8 without NUL: then other control characters are part of a text."""
    if b"\0" in head:
        return False
    try:
        codecs.utf_8_decode(head, "strict", False)
    except UnicodeDecodeError:
        return False
    return True


def _text_without_marks(head: bytes) -> str | None:
    """CSV if the first lines have the same number of delimiters, YAML if they are keys and items.

    Of a text that is neither, comment lines before it are passed over.
    """
    if not is_text(head):
        return None
    lines = [line for line in _without_bom(head).splitlines()[:_ROWS] if line.strip()]
    if len(lines) > 2 and len(head) > _MAY_BE_CUT:
        lines = lines[:-1]  # the last one may be cut
    if any(_has_columns(head, lines, delimiter) for delimiter in _DELIMITERS):
        return "csv"
    if lines and all(_YAML_LINE.fullmatch(line) for line in lines):
        return "yaml"
    skipped = skipped_part(head)
    return _text_without_marks(head[len(skipped) :]) if skipped else None


def _has_columns(head: bytes, lines: list[bytes], delimiter: bytes) -> bool:
    """Whether the first lines have the same number of a delimiter; else the first rows, with line ends in quotes."""

    def are_rows(found: list[bytes]) -> bool:
        counts = {line.count(delimiter) for line in found}
        return len(found) > 1 and len(counts) == 1 and 0 not in counts

    if are_rows([re.sub(rb'"[^"]*"', b"", line) for line in lines]):
        return True
    if b'"' not in head:
        return False
    rows = [
        row for row in islice(unquoted_rows(_without_bom(head), delimiter.decode()), _ROWS) if row.strip()
    ]
    return are_rows(rows[:-1] if len(rows) > 2 and len(head) > _MAY_BE_CUT else rows)


def has_rows(head: bytes) -> bool:
    r"""Returns whether the first lines have the same number of delimiters.

    >>> has_rows(b"<html>,b\n1,2\n"), has_rows(b"<html>\n<body>\n")
    (True, False)
    """
    return _text_without_marks(head) == "csv"


def _is_one_value(line: bytes) -> bool:
    """Whether a line that opens a bracket has its like at the end."""
    line = line.strip()
    return (line[:1], line[-1:]) in ((b"{", b"}"), (b"[", b"]"))


def _values_on_lines(text: bytes) -> bool:
    """Whether the first line is a whole JSON value and another one follows."""
    import json  # which takes NaN, Infinity and half surrogates, as those do who write them

    first, newline, rest = text.partition(b"\n")
    following = rest.lstrip()
    if not newline or not following:
        return False
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return False
    return following[:1] in (b"{", b"[", b'"')


def _without_bom(head: bytes) -> bytes:
    return head[3:] if head.startswith(b"\xef\xbb\xbf") else head
