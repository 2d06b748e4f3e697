"""`tare compress` and `tare decompress`: files in, files out, standard containers."""

from __future__ import annotations

import os
import re
import sys
import time
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from tare.cli.signals import ended_by_signals
from tare.cli.types import Bytes, Rate
from tare.errors import DecodeError, Limit, TareError, Unsupported, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tare.compressed_files import Done, Progress

__all__ = ["command", "compress", "decompress"]


_SPELLED = {"range_": "--range", "output": "-o", "to_stdout": "--stdout", "remove": "--rm"}
# Options as the errors of the library spell them.
_LIMITS = re.compile(r"\bmax_(window|output)\b")


def _threads(function: Any) -> Any:
    return click.option(
        "-T", "--threads", type=click.IntRange(1, 256), help="Threads.  [default: all cores, at most 16]"
    )(function)


def _outputs(function: Any) -> Any:
    for option in reversed(
        (
            click.option("-o", "--output", metavar="OUT", help="Where to write; for one FILE."),
            click.option("--stdout", "to_stdout", is_flag=True, help="Write to standard output."),
            click.option("-f", "--force", is_flag=True, help="Replace what is there; write to a terminal."),
            click.option("--rm", "remove", is_flag=True, help="Remove FILE once its output was checked."),
            click.option("-q", "--quiet", is_flag=True, help="Only errors."),
        )
    ):
        function = option(function)
    return function


@click.command("compress", short_help="Compress files on all cores, for stock tools to read.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "-c",
    "--compressor",
    default=None,
    metavar="ID",
    help="Compressor and level: zstd:9, lz4, gzip:6, bz2, xz, or auto for a --bandwidth.  [default: zstd:3]",
)
@_threads
@click.option("--chunk", "chunk_size", type=Bytes(), help="Plain bytes in a chunk.  [default: by compressor]")
@click.option(
    "--layout",
    type=click.Choice(("seekable", "single", "members")),
    help="How chunks are laid out.  [default: seekable]",
)
@click.option("--effort", type=click.IntRange(0, 100), help="Level on one scale: 0 fastest, 100 smallest.")
@click.option("--bandwidth", type=Rate(), help="For -c auto: what the disk or link carries, such as 125MB/s.")
@click.option("--index", is_flag=True, help="Write bgzip's index beside: OUT.gzi, of gzip's layout seekable.")
@click.option("--memory", "memory_limit", type=Bytes(), help="Most memory for buffers and contexts.")
@_outputs
def compress(files: tuple[str, ...], **options: Any) -> int:
    """Compress each FILE beside itself; - is standard input.

    FILE stays. Its mode and time of change are kept. An output appears whole or not at all, and
    replaces nothing without -f.

    \b
    Examples:
      tare compress flights.csv
      tare compress -c lz4 -T 4 *.json
      tare compress -c auto --bandwidth 125MB/s dump.sql
      pg_dump db | tare compress - -o db.sql.zst
    """  # noqa: D301 - click keeps lines after a backspace character
    from tare import compressed_files

    _refuse_odd_outputs(files, options)
    chosen = _chosen(options)

    def one(file: str, tell: Progress | None) -> Done:
        compressor = chosen or _auto(file, options)
        ending = _ending(compressor)
        return compressed_files.compress_file(
            _source(file),
            _target(file, options, None if file == "-" else file + ending, packed=True),
            compressor,
            overwrite=options["force"],
            remove=options["remove"],
            on_progress=tell,
            threads=options["threads"],
            chunk_size=options["chunk_size"],
            layout=options["layout"],
            index=options["index"],
            memory_limit=options["memory_limit"],
        )

    return _each(files, options, one)


@click.command("decompress", short_help="Decompress or test files, or read a part of one.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@_threads
@click.option(
    "--range", "range_", metavar="A:B", help="Only plain bytes A to before B, to standard output or -o."
)
@click.option("--test", is_flag=True, help="Decode and verify, write nothing; one line a file.")
@click.option("--strict", is_flag=True, help="Fail where nothing proves that a file's end is its end.")
@click.option("--max-output", type=Bytes(), help="Most plain bytes.  [default: no limit]")
@click.option(
    "--max-window", type=Bytes(), default="128MiB", show_default=True, help="Most memory of a frame."
)
@_outputs
def decompress(files: tuple[str, ...], **options: Any) -> int:
    """Decompress each FILE beside itself, without its ending; - is standard input.

    What a FILE is, its bytes say. FILE stays. An output appears whole or not at all, and replaces
    nothing without -f.

    \b
    Examples:
      tare decompress flights.csv.zst
      tare decompress --test *.gz
      tare decompress --range 1GB:1001MB big.csv.zst | head
      curl -s URL | tare decompress - --stdout
    """  # noqa: D301 - click keeps lines after a backspace character
    from tare import compressed_files

    _refuse_odd_outputs(files, options)
    reading = {name: options[name] for name in ("threads", "strict", "max_output", "max_window")}
    if options["test"]:
        for name in ("range_", "output", "to_stdout", "remove"):
            if options[name]:
                raise UsageError(f"--test writes and removes nothing: not with {_SPELLED[name]}")
        return _test(files, reading)
    if options["range_"] is not None:
        if options["remove"]:
            raise UsageError("--range reads a part: not with --rm, which removes the whole")
        with ended_by_signals():
            return _range(files, options, reading)

    def one(file: str, tell: Progress | None) -> Done:
        plain = None if file == "-" else compressed_files.plain_name(file)
        if file != "-" and plain is None and not (options["output"] or options["to_stdout"]):
            raise UsageError(f"{file} has no ending to leave out: say -o OUT or --stdout", path=file)
        return compressed_files.decompress_file(
            _source(file),
            _target(file, options, plain, packed=False),
            overwrite=options["force"],
            remove=options["remove"],
            on_progress=tell,
            **reading,
        )

    return _each(files, options, one)


def _each(files: Iterable[str], options: dict[str, Any], one: Callable[[str, Progress | None], Done]) -> int:
    """Do each file, go on after a failure; 1 if any failed, 2 if all that failed were misused."""
    with ended_by_signals():
        return _each_file(files, options, one)


def _each_file(
    files: Iterable[str], options: dict[str, Any], one: Callable[[str, Progress | None], Done]
) -> int:
    codes = set()
    for file in files:
        tell = _Line(file) if sys.stderr.isatty() and not options["quiet"] else None
        try:
            done = one(file, tell)
        except (TareError, OSError) as error:
            if isinstance(error, BrokenPipeError):
                raise
            codes.add(2 if isinstance(error, UsageError) else 1)
            _say(tell, _worded(file, error))
            continue
        if not options["quiet"]:
            if tell is not None:
                _say(tell, _told(file, done))
            if done.looks_cut:
                click.echo(_looks_cut(file), err=True)
    return 1 if 1 in codes else max(codes, default=0)


def _told(file: str, done: Done) -> str:
    from tare.report.text import size

    ratio = done.plain / done.stored if done.stored else 1.0
    return f"{file}: {size(done.plain)} plain, {size(done.stored)} stored, {ratio:.2f}x  {done.compressor}"


def _looks_cut(file: str) -> str:
    return f"tare: {file}: looks cut: it ends between two chunks, without the end that tare writes"


def _worded(file: str, error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        from tare.datasets.source import printable

        name = printable(os.fsdecode(error.filename), 400)
        return f"tare: {name}: {error.strerror[:1].lower()}{error.strerror[1:]}"
    text = str(error)
    if isinstance(error, Limit | Unsupported):
        text = _LIMITS.sub(r"--max-\1", text)
    text = text.removesuffix(": compressor='none' reads it as it is")
    return f"tare: {text}" if file == "-" or file in text else f"tare: {file}: {text}"


def _test(files: Iterable[str], reading: dict[str, Any]) -> int:
    from tare import compressed_files

    failed = False
    for file in files:
        found = compressed_files.test_file(_source(file), **reading)
        verdict = "ok" if found.error is None else "FAILED"
        click.echo(
            f"{file}  {verdict}  {found.container or '-'}  {found.units}  {found.plain}  "
            f"{found.stored}  {found.complete or '-'}"
        )
        if found.error is not None:
            failed = True
            click.echo(_worded(file, found.error), err=True)
        elif found.looks_cut:
            click.echo(_looks_cut(file), err=True)
    return int(failed)


def _range(files: tuple[str, ...], options: dict[str, Any], reading: dict[str, Any]) -> int:
    from tare import compressed_files

    if len(files) != 1 or files[0] == "-":
        raise UsageError("--range reads one file by its name")
    first, colon, last = options["range_"].partition(":")
    if not colon:
        raise UsageError(f"--range is A:B, such as 1GB:1001MB or 500:, not {options['range_']!r}")
    start = Bytes().convert(first, None, None) if first else 0
    end = Bytes().convert(last, None, None) if last else None
    if end is not None and end < start:
        raise UsageError(f"--range {options['range_']} ends before it begins")
    output = options["output"]
    sink = sys.stdout.buffer if output in (None, "-") else output
    try:
        _written, found = compressed_files.read_range(
            files[0], start, end, sink, overwrite=options["force"], **reading
        )
    except (DecodeError, Limit, Unsupported) as error:
        click.echo(_worded(files[0], error), err=True)
        return 1
    if not isinstance(sink, str):
        sink.flush()
    if not found and not options["quiet"]:
        click.echo(f"tare: {files[0]} has no chunks to be found by offset: decoded from its start", err=True)
    return 0


def _refuse_odd_outputs(files: tuple[str, ...], options: dict[str, Any]) -> None:
    if options["output"] and options["to_stdout"]:
        raise UsageError("-o and --stdout both say where to write: give one")
    if options["output"] and len(files) > 1:
        raise UsageError("-o names one output, and there are several files")
    if options["remove"] and (options["to_stdout"] or options["output"] == "-"):
        raise UsageError("--rm removes files whose output can be checked: not with --stdout or -o -")
    if options["remove"] and "-" in files:
        raise UsageError("--rm removes files, and - is none")


def _chosen(options: dict[str, Any]) -> str | None:
    """The compressor's id as asked for; None for auto."""
    from tare.compress import effort, parse

    text: str = options["compressor"] or ("zstd" if options["effort"] is not None else "zstd:3")
    if options["effort"] is not None and (":" in text or text == "auto"):
        raise UsageError(f"-c {text[:80]} and --effort both say the level: give one")
    if text == "auto":
        if options["bandwidth"] is None:
            raise UsageError("-c auto needs --bandwidth, such as 125MB/s")
        return None
    if options["effort"] is not None:
        return effort(text.partition(":")[0], options["effort"])
    parse(text)
    return text


def _auto(file: str, options: dict[str, Any]) -> str:
    """The compressor for a bandwidth, tried on the first two chunks."""
    from tare.compress import choose

    if file == "-":
        raise UsageError("-c auto tries the first chunks of a file, and - has none to try: name a file")
    with open(file, "rb") as start:
        sample = start.read(2 * (options["chunk_size"] or 2 << 20))
    chosen: str = choose(sample, options["bandwidth"], threads=options["threads"])
    return chosen


def _ending(compressor: str) -> str:
    from tare.compress import compressor as known

    return known(compressor.partition(":")[0].partition(",")[0]).extension


def _source(file: str) -> str | BinaryIO:
    return sys.stdin.buffer if file == "-" else file


def _target(file: str, options: dict[str, Any], beside: str | None, *, packed: bool) -> str | BinaryIO:
    if options["output"] and options["output"] != "-":
        name: str = options["output"]
        return name
    if options["to_stdout"] or beside is None or options["output"] == "-":
        sink = sys.stdout.buffer
        if packed and sink.isatty() and not options["force"]:
            raise UsageError("compressed bytes do not go to a terminal: name a file, pipe them, or say -f")
        return sink
    return beside


def _say(tell: Progress | None, text: str) -> None:
    if isinstance(tell, _Line):
        tell.clear()
    click.echo(text, err=True)


class _Line:
    """One line on the terminal that follows a file: bytes in and out, ratio, speed, time left."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._start = self._shown = time.monotonic()

    def __call__(self, plain: int, stored: int, total: int) -> None:
        now = time.monotonic()
        if now - self._shown < 0.1:
            return
        self._shown = now
        from tare.report.text import size

        seconds = now - self._start
        text = f"{self._file[-30:]}  {size(plain)} plain  {size(stored)} stored"
        if stored:
            text += f"  {plain / stored:.2f}x"
        text += f"  {plain / seconds / 1e6:.0f} MB/s"
        if total > plain > 0:
            text += f"  {seconds * (total - plain) / plain:.0f} s left"
        sys.stderr.write(f"\r\x1b[K{text[:100]}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away."""
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


command = compress
