"""`tare blit`: documents in and out of pipes, one field, where the bytes go, whether all is well."""

from __future__ import annotations

import contextlib
import difflib
import json
import mmap
import os
import shutil
import sys
import tempfile
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from tare.cli import SHOWS
from tare.cli.lines import counted
from tare.errors import DecodeError, Limit, TareError, Unsupported, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["command"]

# Those whose reader may stop when it has seen enough.
_SHOWING = ("get", "info")
_COLLECTION = b"BLS1"
_CHUNKS = ("none", "zstd", "lz4")


@click.group("blit", short_help="Documents that are read by field: encode, decode, get, info, check, repair.")
@click.pass_context
def command(ctx: click.Context) -> None:
    """Documents that are read by field, without being parsed.

    \b
    Examples:
      tare blit encode twitter.json -o twitter.blit
      tare blit get twitter.blit /statuses/0/user/screen_name
      curl -s URL | tare blit encode --ndjson -o events.blits
      tare blit decode twitter.blit --order lexical | less
    """  # noqa: D301 - click keeps lines after a backspace character
    ctx.meta[SHOWS] = ctx.invoked_subcommand in _SHOWING


def _output(function: Any) -> Any:
    for option in reversed(
        (
            click.option("-o", "--output", metavar="OUT", help="Where to write.  [default: standard output]"),
            click.option("-f", "--force", is_flag=True, help="Replace OUT; write to a terminal."),
        )
    ):
        function = option(function)
    return function


_mapped = click.option(
    "--mmap",
    "mapped",
    is_flag=True,
    help="Map FILE instead of reading it: for one that is larger than memory. If it is cut meanwhile, the system ends"
    " the command.",
)


@command.command("encode", short_help="JSON to blit.")
@click.argument("file", default="-")
@click.option("--ndjson", is_flag=True, help="A document a line, into a collection (.blits).")
@click.option(
    "-c", "--compressor", metavar="ID", help="Of a collection's chunks: zstd or lz4.  [default: none]"
)
@click.option(
    "-T",
    "--threads",
    type=click.IntRange(1, 256),
    help="Of --ndjson.  [default: all cores, at most 16]",
)
@click.option("--canonical", is_flag=True, help="The same bytes for the same value.")
@click.option(
    "--layout", type=click.Choice(("columns", "rows")), help="rows: to be patched.  [default: columns]"
)
@click.option("--numbers", type=click.Choice(("value", "text")), help="text: keep the digits as written.")
@click.option("--duplicates", type=click.Choice(("last", "error", "keep")), help="Of names.  [default: last]")
@click.option(
    "--surrogates", type=click.Choice(("error", "keep")), help="Of halves of pairs.  [default: error]"
)
@click.option("--checksum/--no-checksum", default=None, help="[default: from 1,024 bytes on]")
@click.option("--aligned", is_flag=True, help="Long lists of numbers as NumPy and Arrow lay them out.")
@click.option("--pool", is_flag=True, help="Keep strings of mixed lists that come again and again once.")
@click.option(
    "--compress-strings", type=click.IntRange(512), metavar="N", help="Compress strings of N bytes or more."
)
@_output
def encode(
    file: str,
    *,
    output: str | None,
    force: bool,
    ndjson: bool,
    compressor: str | None,
    threads: int | None,
    **options: Any,
) -> None:
    """Encode the JSON of FILE, or of standard input."""
    from tare import blit

    if not ndjson and compressor is not None:
        raise UsageError(
            "--compressor is of a collection's chunks: say --ndjson, or pipe through tare compress"
        )
    if not ndjson and threads is not None:
        raise UsageError("--threads is of a collection's chunks: say --ndjson")
    if compressor is not None and compressor.partition(":")[0] not in _CHUNKS:
        raise UsageError(f"--compressor {compressor[:80]!r}: chunks are compressed by zstd or lz4, or none")
    if ndjson:
        _encode_lines(file, output, force, compressor=compressor, threads=threads, options=options)
        return
    with _named(file):
        data = blit.from_json(_read(file), **options)
    with _sink(output, force, binary=True, source=file) as sink:
        sink.write(data)


@command.command("decode", short_help="blit to JSON, or a collection to NDJSON.")
@click.argument("file", default="-")
@click.option("--order", type=click.Choice(("insertion", "lexical")), default="insertion", show_default=True)
@click.option("--nan", type=click.Choice(("error", "null", "literal")), default="error", show_default=True)
@click.option("--bytes", "bytes_", type=click.Choice(("error", "base64")), default="error", show_default=True)
@_mapped
@_output
def decode(file: str, output: str | None, force: bool, order: str, mapped: bool, **options: str) -> None:
    """Decode FILE, or standard input: a document to one line of JSON, a collection to a line each.

    Every byte is validated first: what comes out is JSON, and says what the file says.
    """
    from tare import blit

    with _opened(file, mapped) as found, _sink(output, force, binary=False, source=file) as sink:
        found.validate()
        for document in found.views() if isinstance(found, blit.Collection) else [found]:
            sink.write(document.to_json(order, nan=options["nan"], bytes=options["bytes_"]))
            sink.write(b"\n")


@command.command("get", short_help="One value by its JSON Pointer.")
@click.argument("file")
@click.argument("pointer", required=False)
@click.option(
    "--find", "query", metavar="QUERY", help="All values of a JSONPath (RFC 9535), one a line, instead."
)
@click.option("--raw", is_flag=True, help="Text without quotes.")
@_mapped
def get(file: str, pointer: str | None, query: str | None, raw: bool, mapped: bool) -> None:
    """Print the value at POINTER of FILE (- for standard input), as JSON.

    Of a collection the first step is the number of a document, /12/name; a QUERY is put to each
    document, which is its $. What is read is validated first: the whole document, or the chunk it
    lies in. Exit code: 1 if there is no such value; a QUERY may find none.

    \b
    Examples:
      tare blit get twitter.blit /statuses/0/user/screen_name
      tare blit get twitter.blit --find '$.statuses[?@.retweet_count > 100].id'
    """  # noqa: D301 - click keeps lines after a backspace character
    from tare import blit

    if (pointer is None) == (query is None):
        raise UsageError("say a POINTER, or --find QUERY: one of them")
    if query is not None:
        with _opened(file, mapped) as found:
            found.validate()
            for document in found.views() if isinstance(found, blit.Collection) else [found]:
                for value in document.find(query):
                    click.echo(_text(value, raw))
        return
    assert pointer is not None  # told above
    if pointer and not pointer.startswith("/"):
        raise UsageError(f"{pointer[:80]!r} is no JSON Pointer: write /name/0/name, or '' for all")
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    with _opened(file, mapped) as found:
        done = 0
        if isinstance(found, blit.Collection):
            if not steps:
                raise UsageError(f"{file} is a collection: begin with the number of a document, as in /0")
            found, done = _step(found, steps[0], []), 1  # noqa: PLW2901 - one step deeper
        if isinstance(found, blit.View):
            found.validate()
        for place in range(done, len(steps)):
            found = _step(found, steps[place], steps[:place])  # noqa: PLW2901 - one step deeper
        text = _text(found, raw)
    click.echo(text)


@command.command("info", short_help="Where the bytes go.")
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
@_mapped
def info(file: str, as_json: bool, mapped: bool) -> None:
    """Say what FILE (- for standard input) is made of: flags, sections, kinds of lists, share of bytes."""
    from tare._tare import blit_account
    from tare.inspecting.blits import PARTS, STORED

    with _document(file, mapped) as data:
        if _is_collection(data):
            with _collection(file, data, mapped) as collection:
                account = collection.account()
        else:
            account = blit_account(data)
    if as_json:
        click.echo(json.dumps(account, indent=1))
    elif "stored" in account:
        _print_collection(account, PARTS, STORED)
    else:
        _print_account(account, PARTS)


@command.command("check", short_help="Whether every byte is as it should be.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--canonical", is_flag=True, help="Also whether it has the bytes that this value always has.")
@click.option("-q", "--quiet", is_flag=True, help="Only what is wrong.")
@_mapped
def check(files: tuple[str, ...], canonical: bool, quiet: bool, mapped: bool) -> int:
    """Look at every byte of each FILE (- for standard input).

    Of a collection, up to the end of its last commit; what is behind it is told.

    Exit code: 1 if one is wrong, with the rule of the specification and the byte.
    """
    from tare.datasets.source import printable

    wrong = False
    for file in files:
        try:
            with _opened(file, mapped) as found:
                size = _validated(found, canonical)
                behind = _behind(file, found, size)
        except OSError as error:
            wrong = True
            text = (error.strerror or str(error)).lower()
            click.echo(f"tare: {printable(file)}: {text}", err=True)
            continue
        except (DecodeError, Limit, Unsupported) as error:
            wrong = True
            click.echo(f"{printable(file)}  FAILED  {str(error).removeprefix(f'{printable(file)}: ')}")
            continue
        if not quiet:
            click.echo(f"{printable(file)}  ok  {size:,} bytes{behind}")
    return int(wrong)


def _behind(file: str, found: Any, size: int) -> str:
    """What stands behind a collection's last commit, in words."""
    from tare import blit

    if file == "-" or not isinstance(found, blit.Collection):
        return ""
    more = os.stat(file).st_size - size
    if more <= 0:
        return ""
    return f"; {more:,} behind its last commit: somebody appends, or did (tare blit repair cuts them off)"


@command.command("repair", short_help="Cut a torn collection back to its last whole commit.")
@click.argument("file")
def repair(file: str) -> None:
    """Cut the collection FILE back to its last whole commit: what a crash while appending leaves."""
    from tare import blit
    from tare.datasets.source import printable

    if file == "-":
        raise UsageError("a collection is cut where it is: name its file")
    with _document(file, mapped=True) as data:
        if not _is_collection(data):
            raise UsageError(f"{file} is no collection: only what is appended to can be repaired")
    documents, cut = blit.repair(file)
    click.echo(f"{printable(file)}: {documents:,} documents, {cut:,} bytes cut off", err=True)


def _text(value: Any, raw: bool) -> str:
    """A value as JSON; as it is, if it is text that is wanted raw."""
    if raw and isinstance(value, str):
        return value
    text: bytes = _view(value).to_json(nan="literal", bytes="base64")
    return text.decode()


def _view(value: Any) -> Any:
    """A value as a view; a scalar of a document is a plain one."""
    from tare import blit

    return value if isinstance(value, blit.View) else blit.view(blit.encode(value, surrogates="keep"))


def _step(value: Any, step: str, before: list[str]) -> Any:
    """The next value on the way.

    Raises:
        TareError: There is none; near names are told.
    """
    where = "".join(f"/{name.replace('~', '~0').replace('/', '~1')}" for name in before) or "the top"
    if hasattr(value, "keys"):
        try:
            return value[step]
        except KeyError:
            near = difflib.get_close_matches(step, list(value.keys()), cutoff=0.5)
            hint = f": did you mean {', '.join(near)}?" if near else ""
            raise TareError(f"there is no name {step[:80]!r} at {where}{hint}", format="blit") from None
    if hasattr(value, "__getitem__") and not isinstance(value, str | bytes):
        is_index = step == "0" or (step.isascii() and step.isdigit() and step[0] != "0")
        if not is_index or int(step) >= len(value):
            raise TareError(
                f"there is no element {step[:80]!r} at {where}: it has {len(value):,}", format="blit"
            )
        return value[int(step)]
    raise TareError(f"there is nothing below {where}, which is no array and no object", format="blit")


def _validated(found: Any, canonical: bool) -> int:
    """Bytes that were looked at, all of them."""
    from tare import blit

    if not isinstance(found, blit.Collection):
        return int(found.validate(canonical=canonical).bytes)
    if canonical:
        raise UsageError("--canonical is of one document, not of a collection")
    return int(found.validate().bytes)


def _encode_lines(
    file: str,
    output: str | None,
    force: bool,
    *,
    compressor: str | None,
    threads: int | None,
    options: dict[str, Any],
) -> None:
    """A document a line into a collection, which appears whole or not at all."""
    from tare import atomic, blit

    if options["canonical"] or options["pool"] or options["checksum"] is not None:
        odd = "canonical" if options["canonical"] else "pool" if options["pool"] else "checksum"
        raise UsageError(f"--{odd} is of one document, not of a collection: its chunks have checksums")
    options = {name: value for name, value in options.items() if value}
    to_stdout = output in (None, "-")
    if to_stdout and sys.stdout.buffer.isatty() and not force:
        raise UsageError("encoded bytes do not go to a terminal: name a file with -o, pipe them, or say -f")
    if not to_stdout and output is not None and not force and os.path.lexists(output):
        raise FileExistsError(f"{output} exists already. Say --force to replace it.")
    with contextlib.ExitStack() as undo:
        if to_stdout or output is None:
            folder = undo.enter_context(tempfile.TemporaryDirectory(prefix="tare-"))
            place: Any = None
            path = os.path.join(folder, "x.blits")
        else:
            place = atomic.Replacement(output, source=None if file == "-" else file)
            undo.callback(place.abandon)
            path = os.fspath(place.temporary)
        with blit.open_collection(path, "w", compressor=compressor, **options) as collection:
            _append_lines(file, collection, threads)
        if place is not None:
            place.commit()
        else:
            with open(path, "rb") as made:
                shutil.copyfileobj(made, sys.stdout.buffer, 1 << 20)
            sys.stdout.buffer.flush()


def _append_lines(file: str, collection: Any, threads: int | None) -> None:
    from tare import unchanged
    from tare.datasets.source import printable

    if file == "-":
        _extend(file, sys.stdin.buffer, collection, threads)
        return
    with open(file, "rb") as source, unchanged.opened(printable(file), source.fileno()) as watch:
        _extend(file, source, collection, threads)
        watch.check()


def _extend(file: str, source: BinaryIO, collection: Any, threads: int | None) -> None:
    from tare.datasets.source import printable

    told: Any = _Told(source, collection) if sys.stderr.isatty() else source
    try:
        collection.extend_ndjson(told, threads=threads)
    except (DecodeError, Limit, Unsupported) as error:
        if file != "-":
            error.args = (f"{printable(file)}: {error}",)
        raise
    finally:
        if told is not source:
            click.echo("\r\x1b[K", nl=False, err=True)


class _Told:
    """A file that tells on the terminal how far it was read."""

    def __init__(self, source: BinaryIO, collection: Any) -> None:
        self.source = source
        self.collection = collection
        self.done = 0

    def read(self, most: int) -> bytes:
        from tare.report.text import size

        block = self.source.read(most)
        self.done += len(block)
        text = f"  {len(self.collection):,} documents, {size(self.done)}"
        click.echo(f"\r\x1b[K{text}", nl=False, err=True)
        return block


@contextlib.contextmanager
def _opened(file: str, mapped: bool) -> Iterator[Any]:
    """The view of a document, or a collection."""
    from tare import blit

    with _document(file, mapped) as data:
        if not _is_collection(data):
            yield blit.view(data)
            return
        with _collection(file, data, mapped) as collection:
            yield collection


@contextlib.contextmanager
def _collection(file: str, data: Any, mapped: bool) -> Iterator[Any]:
    """The collection of a file; of standard input, by a file of its own."""
    from tare import blit

    if file != "-":
        with blit.open_collection(file, mmap=mapped) as collection:
            yield collection
        return
    with tempfile.TemporaryDirectory(prefix="tare-") as folder:
        path = os.path.join(folder, "x.blits")
        with open(path, "wb") as copy:
            copy.write(data)
        with blit.open_collection(path) as collection:
            yield collection


def _is_collection(data: Any) -> bool:
    return bytes(data[:4]) == _COLLECTION


@contextlib.contextmanager
def _named(file: str) -> Iterator[None]:
    """Errors begin with the name of the file."""
    from tare.datasets.source import printable

    try:
        yield
    except (DecodeError, Limit, Unsupported) as error:
        # Those of a file that was opened by its name have it.
        if file != "-" and not str(error).startswith(f"{printable(file)}: "):
            error.args = (f"{printable(file)}: {error}",)
        raise


@contextlib.contextmanager
def _document(file: str, mapped: bool) -> Iterator[Any]:
    """The bytes of a file, read or mapped; of a collection only the first, for it is opened by its name."""
    if file == "-":
        with _named("-"):
            yield sys.stdin.buffer.read()
        return
    with open(file, "rb") as opened, _named(file):
        head = opened.read(64)
        _plain(head)
        if _is_collection(head):
            yield head
            return
        data: Any = None
        if mapped:
            with contextlib.suppress(ValueError, OSError):  # empty, or no regular file
                data = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        yield head + opened.read() if data is None else data  # not closed: views of it may still be there


def _read(file: str) -> bytes:
    from tare import unchanged
    from tare.datasets.source import printable

    if file == "-":
        return sys.stdin.buffer.read()
    with open(file, "rb") as opened, unchanged.opened(printable(file), opened.fileno()) as watch:
        data = opened.read()
        watch.check()
    _plain(data[:64])
    return data


def _plain(head: bytes) -> None:
    """Refuse what is compressed.

    Raises:
        Unsupported: It is; by what, and how it becomes plain.
    """
    from tare.compress.names import sniff

    name = sniff(head)
    if name is not None:
        raise Unsupported(f"it is compressed by {name}: pipe it through tare decompress")


@contextlib.contextmanager
def _sink(output: str | None, force: bool, *, binary: bool, source: str) -> Iterator[BinaryIO]:
    """Where to write: a file that appears whole or not at all, or standard output."""
    if output in (None, "-"):
        sink = sys.stdout.buffer
        if binary and sink.isatty() and not force:
            raise UsageError(
                "encoded bytes do not go to a terminal: name a file with -o, pipe them, or say -f"
            )
        yield sink
        sink.flush()
        return
    assert output is not None  # told above
    if not force and os.path.lexists(output):
        raise FileExistsError(f"{output} exists already. Say --force to replace it.")
    from tare import atomic

    with atomic.replacing(output, source=None if source == "-" else source) as file:
        yield file


def _print_collection(account: dict[str, Any], parts: dict[str, str], stored: dict[str, str]) -> None:
    total, raw = account["bytes"], account["raw"]
    click.echo(
        f"blit collection, version 1  {total:,} bytes  {counted(account['documents'], 'document')} in "
        f"{counted(account['chunks'], 'chunk')} of {counted(account['commits'], 'commit')}  "
        f"{counted(account['keys'], 'name')}, {counted(account['shapes'], 'key sequence')}"
    )
    _print_parts("file", account["stored"], total, stored)
    if raw:
        packed = f": {raw:,} bytes before {account['compressed']:,} of them were compressed"
        click.echo(f"\nin the chunks{packed if account['compressed'] else ''}", nl=False)
        _print_parts("part", account["parts"], raw, parts)
        _print_kinds(account["kinds"], raw)


def _print_account(account: dict[str, Any], words: dict[str, str]) -> None:
    total = account["bytes"]
    names = f"{counted(account['keys'], 'name')}, {counted(account['shapes'], 'key sequence')}"
    pool = f", {counted(account['pool'], 'pooled string')}" if account["pool"] else ""
    click.echo(f"blit, version 1  {total:,} bytes  {names}{pool}")
    click.echo(f"flags: {', '.join(account['flags']) or 'none'}")
    _print_parts("part", account["parts"], total, words)
    _print_kinds(account["kinds"], total)


def _print_parts(what: str, parts: dict[str, int], total: int, words: dict[str, str]) -> None:
    click.echo(f"\n{what:<10} {'bytes':>14} {'%':>6}")
    for name, size in sorted(parts.items(), key=lambda part: -part[1]):
        click.echo(f"{name:<10} {size:>14,} {100 * size / total:>6.1f}  {words[name]}")


def _print_kinds(kinds: dict[str, tuple[int, int]], total: int) -> None:
    if kinds:
        click.echo(f"\n{'lists':<10} {'bytes':>14} {'%':>6}  {'how many':>10}")
    for name, (count, size) in sorted(kinds.items(), key=lambda kind: -kind[1][1]):
        click.echo(f"{name:<10} {size:>14,} {100 * size / total:>6.1f}  {count:>10,}")
