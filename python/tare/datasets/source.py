"""One place the bytes come from: a file, standard input, or a file object; and what they are."""

from __future__ import annotations

import contextlib
import io
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast

from tare import compress, formats
from tare.datasets import draining, encoding_hints, recognise
from tare.datasets.csv_comments import separator_named, skipped_part
from tare.datasets.csv_dialect import delimiter_of_ending, dialect
from tare.errors import DecodeError, Limit, Malformed, TareError, Truncated, Unsupported, UsageError
from tare.unchanged import Identity, identity

if TYPE_CHECKING:
    from typing import Self

    from tare.codec import Codec

__all__ = ["HEAD_BYTES", "Source", "begins", "find", "free_memory", "printable"]

HEAD_BYTES = 64 << 10
_STEP_BYTES = 4 << 20
_BOUND = "Give a bound (max_bytes) to open the part that fits."
_STDIN = "standard input"
_LINES, _TEXTS = ("csv", "ndjson"), ("csv", "ndjson", "json", "yaml")
_LAYERS = 3  # compressors in compressors: more is no honest file
_NEARLY = 0.999  # decompressors read ahead: a part may seem to be the whole
_E = TypeVar("_E", bound=TareError)


@dataclass
class Source:
    """Bytes that can be read more than once, and what is known about them.

    Args:
        name: What to call it: the file's base name, or ``standard input``.
        path: The file, if it is one.
        data: The stored bytes, if it is no file.
        size: Stored bytes, before decompression.
        compressors: Names of the compressors around the format, the outermost first.
        format: Id of the format.
        head: The first bytes, decompressed.
        notes: What the user should know about how it was opened.
        cut: Whether `data` is only the beginning.
        done: Stored bytes read so far by `steps`, or by a reader that goes batch by batch.
        identity: Which version of the file it is, of a regular one that was given by its path.
        others: Versions that were found under the path when it was opened again.
        above: The lines above a CSV's header that are no rows, as comments are, in UTF-8.
        skipped: Their bytes in a text in UTF-8: what is opened and read begins behind them. Of others they are left
            out where the text is decoded.
        said: The delimiter that the user says stands between fields, or its first line: that of its name by default.
        plain: Whether its value was read as JSON that carries it exactly, so that nothing of it need be checked.
        variable: Name of the variable of an RData file that is wanted; None for all.
        tabular: Whether a table is wanted of what is not one, such as a matrix of R.
        keyed: Whether what becomes of a table of R keeps the key ``r`` and the notes of its schema.
        reader: The codec that reads it, if the user named one of several.
        counted: What columns made of the objects of NDJSON that were read batch by batch.
        blank_lines: Places of the lines of NDJSON that hold nothing, in the part that was parsed last.
    """

    name: str
    path: str | None = None
    data: bytes | None = None
    size: int = 0
    compressors: tuple[str, ...] = ()
    format: str = ""
    head: bytes = b""
    notes: list[str] = field(default_factory=list)
    cut: bool = False
    done: int = 0
    identity: Identity | None = None
    others: list[Identity | None] = field(default_factory=list)
    above: bytes = b""
    skipped: bytes = b""
    said: str = ""
    plain: bool = False
    variable: str | None = None
    tabular: bool = False
    keyed: bool = True
    reader: Codec | None = None
    counted: list[tuple[str, str, str, int]] = field(default_factory=list)
    blank_lines: list[int] = field(default_factory=list)

    def line_of(self, item: int) -> int:
        """The place of the line of NDJSON that holds an item; both are counted from 0."""
        for blank in self.blank_lines:
            if blank > item:
                break
            item += 1
        return item

    def open(self) -> BinaryIO:
        """The plain bytes from their start, as a file of the caller's to close."""
        return self.open_counted()[0]

    def open_stored(self) -> BinaryIO:
        """The stored bytes from their start, as a file of the caller's to close."""
        if self.path is None:
            return io.BytesIO(self.data or b"")
        file = open(self.path, "rb")
        if self.identity is not None and (found := identity(os.fstat(file.fileno()))) != self.identity:
            self.others.append(found)
        return file

    def open_counted(self, *, read_ahead: bool = True) -> tuple[BinaryIO, BinaryIO]:
        """The plain bytes, and the stored file beneath, whose ``tell`` says how much was read."""
        stored = self.open_stored()
        plain = stored
        for name in self.compressors:
            plain = compress.open_reader(plain, name, read_ahead=read_ahead)
        left = len(self.skipped)
        while left and (part := plain.read(left)):
            left -= len(part)
        return (plain if plain is stored else cast(BinaryIO, _Owner(plain, stored))), stored

    def read(self, limit: int | None = None) -> tuple[bytes, float]:
        """The first `limit` plain bytes (all by default), and which share of the stored bytes they are.

        Raises:
            Truncated, Malformed, ChecksumMismatch: A compressor's bytes are not what they should be.
        """
        with self.naming() as named, self.open_counted(read_ahead=limit is None)[0] as plain:
            named.stage = "+".join(self.compressors) or None
            if limit is None and self.compressors:
                return self._read_all(plain), 1.0
            data = plain.read(-1 if limit is None else limit)
            if limit is None or len(data) < limit or not plain.read(1):
                return data, 1.0 if not self.cut else min(1.0, len(data) / max(self.size, 1))
            stored = plain.stored.tell() if isinstance(plain, _Owner) else len(data)
            return data, self.part_share(stored)

    def part_share(self, stored: int) -> float:
        """The share of the file that a part of it is, of which so many stored bytes were read; below 1."""
        return min(stored / max(self.size, 1), _NEARLY)

    def _read_all(self, plain: BinaryIO) -> bytes:
        """Everything, unless it grows beyond the memory: small compressed files may stand for endless ones."""
        most = (free_memory() or 1 << 40) // 2
        data = draining.take(plain, most)
        if len(data) == most and plain.read(1):
            raise self.error(
                Limit, f"it decompresses to more than {most:,} bytes, half of the free memory", advice=_BOUND
            )
        return data

    def steps(self, size: int = _STEP_BYTES) -> Iterator[bytes]:
        """The plain bytes in pieces of `size`."""
        plain, stored = self.open_counted()
        with self.naming() as named, plain:
            named.stage = "+".join(self.compressors) or None
            while step := plain.read(size):
                self.done = stored.tell()
                yield step

    @property
    def extension(self) -> str:
        """Ending of the name, of the compressors' and the format's."""
        return os.path.splitext(self.name)[1].lower()

    @property
    def delimiter(self) -> str:
        """The delimiter that the user, the first line or the name stands for, as of ``a.tsv.gz``; empty without one."""
        return self.said or delimiter_of_ending(os.path.splitext(_uncompressed(self.name))[1])

    @property
    def title(self) -> str:
        """Name of the format for people: TSV of a CSV with tabs between its fields."""
        if self.format == "csv" and dialect(self.head, self.delimiter).delimiter == "\t":
            return "TSV"
        return formats.get(self.format).title

    def error(self, kind: type[_E], what: str, *, offset: int | None = None, advice: str = "") -> _E:
        """An error about these bytes: name, format, what was found, where, and what to do."""
        offset = None if offset is None else offset + len(self.skipped)
        where = "" if offset is None else f", at byte {offset:,}"
        text = f"{printable(self.name)}: {self.format or 'format unknown'}: {what}{where}."
        if advice:
            text += f" {advice}"
        return kind(text, format=self.format or None, offset=offset, path=self.path)

    def naming(self) -> _Naming:
        """A block in which errors of compressors and of the operating system get the source's name."""
        return _Naming(self)


class _Naming:
    """Adds the name of the source to errors that do not have it yet."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.stage: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _type: object, error: BaseException | None, _trace: object) -> None:
        name = printable(self.source.name)
        if isinstance(error, DecodeError | Limit | Unsupported) and not str(error).startswith(name):
            text = f"{name}: {error}".rstrip(".")
            if len(self.source.head) and str(error).startswith("csv:") and isinstance(error, DecodeError):
                text += f". {_advice_on_codec(self.source)}"
            elif isinstance(error, Truncated):
                text += ". The file ends too early: fetch or write it again."
            elif isinstance(error, DecodeError):
                text += ". The file is damaged or is something else: fetch it again, or name its format."
            kind = type(error)
            raise kind(
                text, format=error.format or self.stage, offset=error.offset, path=self.source.path
            ) from error


def _advice_on_codec(source: Source) -> str:
    """What to do where a codec that was asked for does not read a CSV: codecs expect plain ones with commas."""
    delimiter = dialect(source.head, source.delimiter).delimiter
    option = {"\t": "tab", ";": "semicolon", "|": "pipe"}.get(delimiter)
    other = (
        f" Its fields seem to stand between {delimiter!r}: codecs have delimiter={option} for that."
        if option
        else ""
    )
    return f"Without a codec, Tare's own reader takes other delimiters and encodings, or says what is wrong.{other}"


class _Owner(io.BufferedIOBase):
    """A decompressing reader that closes the stored file with itself."""

    def __init__(self, plain: BinaryIO, stored: BinaryIO) -> None:
        self.plain, self.stored = plain, stored

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        return self.plain.read(-1 if size is None else size)

    def readline(self, size: int | None = -1) -> bytes:
        return self.plain.readline(-1 if size is None else size)

    def close(self) -> None:
        try:
            self.plain.close()
        finally:
            self.stored.close()
            super().close()


def find(
    x: Any,
    *,
    format: str | None = None,
    name: str | None = None,
    max_bytes: int | None = None,
    known_only: bool = True,
    encoding: str | None = None,
    look_bytes: int | None = None,
) -> Source:
    """Make a source of a path, ``-`` for standard input, a binary file object, or bytes, and tell its format.

    Args:
        x: The path or file object, or the bytes themselves; a source that was found is given back.
        format: Id of the format, when the bytes and the name do not tell or lie; ``tsv`` is CSV with tabs. Or of
            a codec, such as ``yaml:ruamel``, which then reads it.
        name: What to call it in messages and tables.
        max_bytes: How much to take from what is not a file on disk.
        known_only: Refuse what Tare cannot read; otherwise `Source.format` is empty for it.
        encoding: The text's encoding if the user names it: its format is told by what it holds.
        look_bytes: How much to take of a text that is not a file on disk, for who only looks at it.

    Raises:
        FileNotFoundError, IsADirectoryError, PermissionError: As the operating system says.
        UsageError: No such format.
        Truncated, Malformed, Unsupported: Empty, unknown, or a format that is not read.
    """
    if isinstance(x, Source):
        return x
    reader = _reader(format) if format is not None and (":" in format or "," in format) else None
    format = format if reader is None else reader.format_id
    format, said = ("csv", "\t") if format == "tsv" else (format, "")
    if format is not None:
        formats.get(format)
    with contextlib.ExitStack() as opened:
        source, rest = _stored(x, name, opened)
        source.said, source.reader = said, reader
        if not source.head:
            source.format = format or _named(source.name) or ""
            none = " If it is to hold no items, write one blank line." if source.format == "ndjson" else ""
            raise source.error(
                Truncated, "the file is empty (0 bytes)", offset=0, advice=f"Write it again.{none}"
            )
        if rest is not None and compress.sniff(source.head) is not None:
            _drain(source, rest, max_bytes)  # what it holds may begin behind the head
            rest = None
        _unwrap(source)
        source.format = format or ""
        if format is None:
            _tell(source, encoding, known_only=known_only)
        if rest is not None:  # by its head it is something that is read
            part = look_bytes if source.format in _TEXTS or not source.format else None
            _drain(source, rest, part if max_bytes is None else max_bytes, lines=source.format in _LINES)
    if source.format == "csv":
        source.above = skipped_part(recognise.as_utf8(source.head, encoding), source.delimiter)
        source.skipped = source.above if source.head.startswith(source.above) else b""
        source.said = source.said or separator_named(source.above)
        source.head = source.head[len(source.skipped) :]
    return source


def _reader(id: str) -> Codec:
    from tare.codec import Codec

    codec = Codec.parse(id)
    if codec.compressor is not None:
        plain = id.partition("+")[0]
        raise UsageError(f"{id[:80]!r}: compressors around a file are told by its bytes: say {plain[:80]!r}")
    codec.require()
    return codec


def free_memory() -> int | None:
    """Bytes of memory that are free or can be freed now; None where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        return None
    return None


def printable(text: str, limit: int = 80) -> str:
    r"""Text from outside made safe for a message: control characters escaped, cut to `limit`.

    >>> printable("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return safe if len(safe) <= limit else safe[: limit - 3] + "..."


def _stored(x: Any, name: str | None, opened: contextlib.ExitStack) -> tuple[Source, Any]:
    """The source; and, of what can be read once only, the file that gives what is behind the head."""
    if isinstance(x, bytes | bytearray | memoryview):
        data = bytes(x)
        return Source(name or "bytes", data=data, size=len(data), head=data[:HEAD_BYTES]), None
    if isinstance(x, str) and x == "-":
        import sys

        return _begun(sys.stdin.buffer, name or _STDIN)
    if hasattr(x, "read"):
        known = getattr(x, "name", None)
        return _begun(x, name or (os.path.basename(known) if isinstance(known, str) else "file object"))
    path = os.fspath(x)
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    return _file(path, name, opened)


def _file(path: str, name: str | None, opened: contextlib.ExitStack) -> tuple[Source, Any]:
    shown = name or os.path.basename(path.rstrip("/")) or path
    try:
        kind = os.stat(path)
    except FileNotFoundError:
        raise FileNotFoundError(_missing(path)) from None
    except (ValueError, OSError) as error:  # a NUL in the name; a name that is too long; a loop of links
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"{printable(path)}: {reason}. Check the name.") from None
    if stat.S_ISDIR(kind.st_mode):
        raise IsADirectoryError(f"{printable(path)} is a folder. Name one file in it.")
    if not stat.S_ISREG(kind.st_mode):
        pipe = opened.enter_context(open(path, "rb"))  # such as the shell's <(...)
        source, rest = _begun(pipe, shown)
        if source.head and stat.S_ISCHR(kind.st_mode) and not pipe.isatty():
            raise UsageError(
                f"{printable(path)} is a device, whose bytes may have no end. Name a file, or pipe a part of it: "
                f"head -c 1000000 {printable(path)}"
            )
        return source, rest
    try:
        with open(path, "rb") as file:
            kind = os.fstat(file.fileno())  # of the file that the head is from
            head = file.read(HEAD_BYTES)
    except PermissionError:
        raise PermissionError(f"{printable(path)} may not be read by this user. Check its mode.") from None
    return Source(shown, path=path, size=kind.st_size, head=head, identity=identity(kind)), None


def _missing(path: str) -> str:
    import difflib

    if os.path.islink(path):
        return f"{printable(path)} is a link to {printable(os.readlink(path))}, which does not exist. Check the link."
    folder, base = os.path.split(path)
    try:
        near = difflib.get_close_matches(base, os.listdir(folder or "."), n=2, cutoff=0.7)
    except OSError:
        return f"{printable(path)}: no such file, and no such folder. Check the path."
    hint = f" Did you mean {' or '.join(printable(n) for n in near)}?" if near else " Check the path."
    return f"{printable(path)}: no such file.{hint}"


def _begun(file: Any, name: str) -> tuple[Source, Any]:
    try:
        head = draining.take(file, HEAD_BYTES)
    except TypeError:
        raise UsageError(
            f"{printable(name)}: the file object gives text; open it in binary mode ('rb')."
        ) from None
    return Source(name, data=head, size=len(head), head=head), file


def _drain(source: Source, file: Any, part: int | None, *, lines: bool = False) -> None:
    """Take what a file gives behind the head: a part of it, or all that fits in half of the free memory."""
    most = part if part is not None else (free_memory() or 1 << 40) // 2
    longest = draining.LONGEST_LINE_BYTES if lines and part is None else None
    try:
        data = draining.take(file, most + 1, head=source.data or b"", longest_line=longest)
    except draining.LineTooLong as error:
        raise source.error(
            Limit,
            f"a line is longer than {longest:,} bytes",
            offset=error.start,
            advice=f"Say what it is{_said(source)} if it has no lines.",
        ) from None
    source.data, source.size, source.cut = data[:most], len(data), len(data) > most
    if source.cut and part is None:
        raise source.error(
            Limit, f"it gives more than {most:,} bytes, half of the free memory", advice=_BOUND
        )


def _unwrap(source: Source) -> None:
    """Look through compressors: what they hold decides the format."""
    for _ in range(_LAYERS):
        name = compress.sniff(source.head)
        if name is None:
            return
        source.compressors += (name,)
        source.format = name
        with source.naming(), source.open() as plain:
            source.head = _some(plain)
        if not source.head:
            raise source.error(Truncated, "it holds nothing (0 bytes)", offset=0, advice="Write it again.")
    if compress.sniff(source.head) is not None:
        raise source.error(Limit, f"compressed more than {_LAYERS} times over", advice="Decompress it first.")


def _some(plain: BinaryIO) -> bytes:
    """Up to the head's size; what stands before a fault counts, the fault shows on reading the rest."""
    got = b""
    try:
        while len(got) < HEAD_BYTES and (more := plain.read(min(4096, HEAD_BYTES - len(got)))):
            got += more
    except TareError:
        if not got:
            raise
    return got


def _tell(source: Source, encoding: str | None, *, known_only: bool) -> None:
    named = _named(source.name)
    head = recognise.as_utf8(source.head, encoding)
    found, note = recognise.tell(head, named)
    known = recognise.foreign(head)
    if known is not None and found == named == "csv" and recognise.has_rows(head):
        known = None  # `<html>` may be a name of a column
    if not known_only and (found is None or (known is not None and formats.get(found).text)):
        source.format = ""
        return
    if known is not None and (found is None or formats.get(found).text):
        source.format = known.id
        raise source.error(
            Unsupported,
            f"Tare does not read this kind of file yet: {known.title}",
            advice=known.advice
            or "`tare inspect` says what can be known about it. Convert it with its own tool first.",
        )
    if found is None:
        source.format = named or ""
        begin = begins(source.head)
        if named is not None and (fault := _no_text(source, named)) is not None:
            raise fault
        if named is not None:
            raise source.error(
                Malformed,
                f"named as {named}, but it is not: {begin}",
                offset=0,
                advice=f"Fetch it again, or say what it is{_said(source)}.",
            )
        raise source.error(
            Unsupported,
            f"cannot tell what it is: {begin}",
            offset=0,
            advice=f"Say what it is{_said(source)}; `tare codecs` lists the formats.",
        )
    source.format = found
    if note:
        source.notes.append(note)


def begins(head: bytes) -> str:
    r"""Returns how a file begins, in words: by its first line if that is plain text.

    >>> begins(b'title = "x"\n[owner]'), begins(b"\x01\x02")
    ('it begins with \'title = "x"\'', 'its first bytes are 01 02')
    """
    line = head.partition(b"\n")[0].rstrip(b"\r")
    text = line.decode("ascii", "replace")
    if text.strip() and text.isascii() and text.isprintable():
        return f"it begins with {printable(text, 40)!r}"
    return f"its first bytes are {head[:8].hex(' ')}{' ...' * (len(head) > 8)}"


def _no_text(source: Source, named: str) -> Malformed | None:
    """The error of a file that is named as a text and holds a character that none does; None without one."""
    at = recognise.control_in(source.head)
    if not formats.get(named).text or at is None:
        return None
    if two := encoding_hints.without_mark(source.head):
        what = f"named as {named}, but half of its bytes are NUL"
        return source.error(
            Malformed, what, offset=at, advice=f"It may be {two}: read it with --encoding {two}."
        )
    byte = source.head[at]
    name = "NUL, byte 0x00" if byte == 0 else f"the control character 0x{byte:02x}"
    return source.error(
        Malformed,
        f"named as {named}, but it holds {name}, as no text does",
        offset=at,
        advice=f"Fetch it again, or, if that is part of a value, read it{_said(source)} {named}."
        if source.path or source.name == _STDIN
        else f"Fetch it again, or, if that is part of a value, read it with format={named!r}.",
    )


def _said(source: Source) -> str:
    """How a format is named: bytes and file objects come from Python only."""
    python_only = source.path is None and source.name != _STDIN
    return ", such as format='csv'" if python_only else f" with {recognise.format_option()}"


def _uncompressed(name: str) -> str:
    """The name in small letters, endings of compressors removed."""
    lower = name.lower()
    for _ in range(_LAYERS):
        ending = next(
            (c.extension for c in compress.COMPRESSORS if c.extension and lower.endswith(c.extension)), None
        )
        if ending is None:
            break
        lower = lower[: -len(ending)]
    return lower


def _named(name: str) -> str | None:
    """The format the name stands for, endings of compressors removed."""
    lower = _uncompressed(name)
    if lower.endswith((".tsv", ".tab", ".psv")):
        return "csv"
    found = formats.by_extension(lower)
    return found.id if found is not None else None
