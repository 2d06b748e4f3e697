"""`tare store`: values under keys, in folders, R's storr, memory of servers and object stores."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from tare.cli import SHOWS
from tare.cli.types import CodecId
from tare.errors import UsageError

if TYPE_CHECKING:
    from tare.store import CheckReport, Store, TransferReport

__all__ = ["command"]

# Those whose reader may stop when it has seen enough.
_SHOWING = ("get", "ls", "stat")
_STEP = 1 << 20
_FOUND = 3  # problems were found


@click.group(
    "store", short_help="Values under keys: set, get, ls, rm, stat, gc, check, repair, export, import, copy."
)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Values under keys, equal ones kept once, each verified when it is read.

    URL is a folder, storr:FOLDER of R's package storr, s3://BUCKET/PREFIX, gs://, az://, redis://HOST/DB?prefix=P
    or postgres://USER@HOST/DB?schema=S.

    \b
    Examples:
      tare store set cache model model.rds
      tare store set cache flights flights.csv --codec arrow
      tare store get cache flights --as csv | head
      tare store copy storr:.drake s3://bucket/cache
      tare store check cache --full
    """  # noqa: D301 - click keeps lines after a backspace character
    ctx.meta[SHOWS] = ctx.invoked_subcommand in _SHOWING


def _opening(function: Any) -> Any:
    return click.option(
        "-O",
        "--option",
        "options",
        multiple=True,
        metavar="NAME=VALUE",
        help="An option of the driver, such as mangle_key=true.",
    )(function)


def _in_namespace(function: Any) -> Any:
    return click.option(
        "-n", "--namespace", default="objects", show_default=True, metavar="NS", help="Namespace of the keys."
    )(function)


def _as_json(function: Any) -> Any:
    return click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")(function)


@command.command("set", short_help="Set a key to a file.")
@click.argument("url")
@click.argument("key")
@click.argument("file", default="-")
@_in_namespace
@click.option(
    "--codec",
    type=CodecId(),
    metavar="ID",
    help="Read FILE as the data it is, and store it so.  [default: its bytes as they are]",
)
@click.option(
    "--compressor",
    metavar="ID",
    default="auto",
    show_default=True,
    help="zstd:3 where it helps; none; any other.",
)
@click.option(
    "--durability", type=click.Choice(("none", "batch", "each")), default="batch", show_default=True,
    help="What survives a power failure.",
)  # fmt: skip
@click.option("--if-absent", is_flag=True, help="Fail if there is such a key.")
@_opening
def set_(
    url: str, key: str, file: str, *, namespace: str, codec: str | None, if_absent: bool, **given: Any
) -> None:
    """Set KEY of the store at URL to FILE, or to standard input; print its hash."""
    options = _options(given.pop("options"))
    if codec is None and url.startswith("storr:"):
        raise UsageError(
            "R's storr holds R objects, not files: --codec rds reads FILE as data and stores it so"
        )
    with _opened(url, "rw", **given, **options) as store:
        if codec is not None:
            hash = store.set(key, _data(file, codec), namespace, codec, None, None, if_absent)
        else:
            with contextlib.nullcontext(sys.stdin.buffer) if file == "-" else open(file, "rb") as source:
                hash = store.set(key, source, namespace, "raw", None, None, if_absent)
    click.echo(hash)


def _data(file: str, codec: str) -> Any:
    """Returns what a file holds; objects of JSON as a table where a codec has nothing but tables."""
    from tare.converting import line_tables
    from tare.datasets.source import find
    from tare.formats import FORMATS
    from tare.io import read

    name = re.split("[:,+]", codec, maxsplit=1)[0]
    if os.path.isfile(file) and any(one.id == name and one.kinds == {"table"} for one in FORMATS):
        rows = line_tables.table_of(find(file))
        if rows is not None:
            return rows[0].combine_chunks()
    return read(file)


@command.command("get", short_help="Write the value of a key.")
@click.argument("url")
@click.argument("key")
@_in_namespace
@click.option("-o", "--output", metavar="FILE", help="Where to write.  [default: standard output]")
@click.option("-f", "--force", is_flag=True, help="Replace FILE; write to a terminal.")
@click.option(
    "--as", "as_", type=CodecId(), metavar="CODEC", help="Convert the value, for example to json or csv."
)
@click.option("--hash", "by_hash", is_flag=True, help="KEY is a hash.")
@click.option("--allow-pickle", is_flag=True, help="Read values that can run code; only of stores you trust.")
@_opening
def get(
    url: str,
    key: str,
    *,
    namespace: str,
    output: str | None,
    force: bool,
    as_: str | None,
    by_hash: bool,
    **given: Any,
) -> None:
    """Write the value of KEY, as its codec wrote it, or converted."""
    with _opened(url, "r", allow_pickle=given["allow_pickle"], **_options(given["options"])) as store:
        if as_ is not None:
            from tare.codec import Codec

            value = store.get_value(key) if by_hash else store.get(key, namespace)
            with _sink(output, force, text=_is_text(as_)) as sink:
                Codec.parse(as_).write(_plain(value), sink)
        elif by_hash:
            data = store.get_value(key, "raw")
            with _sink(output, force, text=False) as sink:
                sink.write(data)
        else:
            codec = store.codec_of(key, namespace)
            if output is not None:
                _agree(output, codec)
            text = _is_text(codec)
            with store.open(key, namespace) as source, _sink(output, force, text=text) as sink:
                while part := source.read(_STEP):
                    sink.write(part)


def _agree(output: str, codec: str) -> None:
    """Refuses a file whose name says another format than the bytes of a codec have.

    Raises:
        UsageError: It does.
    """
    from tare.formats import by_extension

    named, held = by_extension(output), codec.partition(":")[0]
    if named is not None and held not in ("raw", named.id):
        raise UsageError(
            f"the value is {held} and {output!r} says {named.id}: --as {named.id} converts it, or choose another name"
        )


@command.command("ls", short_help="List keys, namespaces or hashes.")
@click.argument("url")
@click.argument("prefix", default="")
@_in_namespace
@click.option("-l", "--long", "long_", is_flag=True, help="Hash, codec, plain bytes and time of each key.")
@click.option("--namespaces", is_flag=True, help="List namespaces.")
@click.option("--hashes", is_flag=True, help="List the hashes of all objects.")
@_as_json
@_opening
def ls(
    url: str, prefix: str, *, namespace: str, long_: bool, namespaces: bool, hashes: bool, **given: Any
) -> None:
    """List the keys that begin with PREFIX, a line each; with --json an object a line."""
    if namespaces and hashes:
        raise UsageError("--namespaces or --hashes, not both")
    with _opened(url, "r", **_options(given["options"])) as store:
        if namespaces or hashes:
            for name in store.namespaces() if namespaces else store.list_hashes():
                click.echo(json.dumps(name) if given["as_json"] else _shown(name))
            return
        for page in _pages(store.iter_keys(namespace, prefix)):
            if not long_ and not given["as_json"]:
                for key in page:
                    click.echo(_shown(key))
                continue
            for row in _rows(store, page, namespace):
                click.echo(json.dumps(row) if given["as_json"] else _line(row))


@command.command("rm", short_help="Delete keys.")
@click.argument("url")
@click.argument("keys", nargs=-1, required=True)
@_in_namespace
@_opening
def rm(url: str, keys: tuple[str, ...], *, namespace: str, options: tuple[str, ...]) -> int:
    """Delete KEYS. Their objects stay until `tare store gc`. Exit code 1 if one was not there."""
    with _opened(url, "rw", create=False, **_options(options)) as store:
        there = store.del_([*keys], namespace)
    missing = [key for key, was in zip(keys, there, strict=True) if not was]
    for key in missing:
        click.echo(f"tare: no key {_shown(key)} in {_shown(namespace)}", err=True)
    return 1 if missing else 0


@command.command("stat", short_help="Say how much a store holds.")
@click.argument("url")
@_as_json
@_opening
def stat(url: str, *, as_json: bool, options: tuple[str, ...]) -> None:
    """Say how much the store at URL holds, and what its driver is."""
    from tare.report.text import size

    with _opened(url, "r", **_options(options)) as store:
        facts, found = store.info(), store.stat()
    if as_json:
        click.echo(json.dumps({**facts, **found.as_dict()}, indent=1))
        return
    click.echo(f"{_shown(facts['url'])}  {facts['driver']}, hashes {facts['hash']}")
    click.echo(f"  {found.keys:,} keys in {found.namespaces:,} namespaces")
    unnamed = f", {found.unnamed:,} of them without a key" if found.unnamed else ""
    click.echo(f"  {found.objects:,} objects{unnamed}")
    click.echo(f"  {size(found.plain_bytes)} plain, {size(found.stored_bytes)} stored")
    for name, value in facts["options"].items():
        click.echo(f"  {name} {value}")


@command.command("gc", short_help="Delete objects that no key names.")
@click.argument("url")
@click.option(
    "--grace",
    metavar="TIME",
    default="24h",
    show_default=True,
    help="Keep what lost its key later than so long ago: 90s, 30m, 24h, 7d; 0 keeps nothing.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@_as_json
@_opening
def gc(url: str, *, grace: str, dry_run: bool, as_json: bool, options: tuple[str, ...]) -> None:
    """Delete objects that no key names, and has named for the grace."""
    from tare.report.text import size
    from tare.store.grace import seconds

    kept_s = seconds(grace)
    with _opened(url, "rw", create=False, **_options(options)) as store:
        done = store.gc(kept_s, dry_run)
    if as_json:
        click.echo(json.dumps(done.as_dict()))
        return
    what = "would be deleted" if dry_run else "deleted"
    click.echo(
        f"{done.deleted:,} objects {what}, {size(done.bytes)}; {done.condemned - done.deleted:,} without a key are kept"
    )
    if done.swept:
        click.echo(f"{done.swept:,} temporary files of dead writers removed")


@command.command("check", short_help="Find damage.")
@click.argument("url")
@click.option("--full", is_flag=True, help="Read and hash every object.")
@_as_json
@_opening
def check(url: str, *, full: bool, as_json: bool, options: tuple[str, ...]) -> int:
    """Compare keys, objects and places with each other. Exit code 3 if data is damaged or lost."""
    with _opened(url, "r", **_options(options)) as store, _told("objects") as tell:
        found = store.check("full" if full else "quick", tell)
    if as_json:
        click.echo(json.dumps({"clean": found.is_clean, **found.as_dict()}, indent=1))
    else:
        _print_findings(found)
    return 0 if found.is_clean else _FOUND


@command.command("repair", short_help="Mend what check --full finds.")
@click.argument("url")
@click.option("--apply", is_flag=True, help="Do it; without, only the plan is printed.")
@click.option("--purge", is_flag=True, help="Delete damaged objects instead of setting them aside.")
@_as_json
@_opening
def repair(url: str, *, apply: bool, purge: bool, as_json: bool, options: tuple[str, ...]) -> int:
    """Set damaged objects and dangling keys aside, rebuild counts, sweep temporary files.

    Exit code 3 if problems were found and are not mended.
    """
    with _opened(url, "rw", create=False, **_options(options)) as store:
        done = store.repair(apply, purge)
        clean = store.check("full").is_clean if apply else done.before.is_clean
    if as_json:
        click.echo(json.dumps({"clean": clean, **done.as_dict()}, indent=1))
        return 0 if clean else _FOUND
    for action in done.actions:
        mark = "done" if apply and action.done else "would" if action.done else "left"
        click.echo(
            f"{mark:<6} {action.finding.kind:<15} {_shown(action.what)}  {_shown(action.finding.place)}"
        )
    if not done.actions:
        _print_findings(done.before)
    elif not apply:
        click.echo("nothing was changed: --apply does it")
    if apply and not clean:
        click.echo("keys whose values are lost stay until they are set again; --purge deletes them")
    return 0 if clean else _FOUND


@command.command("export", short_help="Copy keys into another store, a folder or a tar.")
@click.argument("url")
@click.argument("dest")
@click.argument("keys", nargs=-1)
@click.option(
    "-n", "--namespace", metavar="NS", help="Namespace of the keys.  [default: all; objects for KEYs]"
)
@_as_json
@_opening
def export(
    url: str,
    dest: str,
    keys: tuple[str, ...],
    *,
    namespace: str | None,
    as_json: bool,
    options: tuple[str, ...],
) -> int:
    """Copy all keys of URL, or KEYS, into DEST: a store, or x.tar.

    Keys whose object is damaged or gone are named and passed over; the exit code is 1 then.
    """
    with _opened(url, "r", **_options(options)) as store, _told("keys") as tell:
        if dest.endswith(".tar"):
            if keys or namespace:
                raise UsageError("a tar is of a whole store: name no keys and no namespace")
            done = store.archive_export(dest, tell, skip_damaged=True)
        else:
            done = store.export_(dest, keys or None, namespace=namespace, skip_damaged=True, on_progress=tell)
    return _print_copied(done, as_json)


@command.command("import", short_help="Copy keys of another store, a folder or a tar into this one.")
@click.argument("url")
@click.argument("src")
@click.argument("keys", nargs=-1)
@click.option(
    "-n", "--namespace", metavar="NS", help="Namespace of the keys.  [default: all; objects for KEYs]"
)
@_as_json
@_opening
def import_(
    url: str,
    src: str,
    keys: tuple[str, ...],
    *,
    namespace: str | None,
    as_json: bool,
    options: tuple[str, ...],
) -> int:
    """Copy all keys of SRC, or KEYS, into URL.

    A key that is there gets the value of SRC; bytes that are there are not copied. Keys whose object is damaged or
    gone are named and passed over; the exit code is 1 then.
    """
    from tare.store import moving

    is_archive = os.path.isfile(src)
    if is_archive and (keys or namespace):
        raise UsageError("a tar is of a whole store: name no keys and no namespace")
    with (
        moving.opened_archive(src)
        if is_archive
        else _opened(src, "r") as source,  # or no store is made of it
        _opened(url, "rw", **_options(options)) as store,
        _told("keys") as tell,
    ):
        done = store.import_(source, keys or None, namespace=namespace, skip_damaged=True, on_progress=tell)
    return _print_copied(done, as_json)


@command.command("copy", short_help="Copy a whole store to another URL.")
@click.argument("src")
@click.argument("dest")
@_as_json
@_opening
def copy(src: str, dest: str, *, as_json: bool, options: tuple[str, ...]) -> int:
    """Copy all namespaces and keys of SRC into DEST, for example storr:old to s3://bucket/new.

    A key that is there gets the value of SRC. Bytes that are there are not copied again, so that a copy that was
    stopped goes on quickly. -O is of DEST.

    Keys whose object is damaged or gone are named and passed over; the exit code is 1 then.
    """
    with (
        _opened(src, "r") as source,
        _opened(dest, "rw", **_options(options)) as target,
        _told("keys") as tell,
    ):
        done = target.import_(source, skip_damaged=True, on_progress=tell)
    return _print_copied(done, as_json)


@contextlib.contextmanager
def _opened(url: str, mode: str, **options: Any) -> Iterator[Store]:
    from tare.store import open_store

    with open_store(url, mode=mode, **options) as store:
        yield store


def _options(given: tuple[str, ...]) -> dict[str, str]:
    """Options of a driver.

    Raises:
        UsageError: One has no value.
    """
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"--option {text[:80]!r}: write NAME=VALUE")
        found[name] = value
    return found


def _is_text(id: str) -> bool:
    from tare.codec import Codec

    if id == "raw" or id.startswith("arrow"):
        return False
    codec = Codec.parse(id)
    return codec.format.text and codec.compressor is None


def _plain(value: Any) -> Any:
    """What codecs take: of an R object its value in Python."""
    return value.to_python() if type(value).__name__ == "RObject" else value


@contextlib.contextmanager
def _sink(output: str | None, force: bool, *, text: bool) -> Iterator[BinaryIO]:
    """Where to write: a file that appears whole or not at all, or standard output."""
    if output is None or output == "-":
        sink = sys.stdout.buffer
        if not text and sink.isatty() and not force:
            raise UsageError("bytes do not go to a terminal: name a file with -o, pipe them, or say -f")
        yield sink
        sink.flush()
        return
    if not force and os.path.lexists(output):
        raise FileExistsError(f"{output} exists already. Say --force to replace it.")
    from tare import atomic

    with atomic.replacing(output) as file:
        yield file


@contextlib.contextmanager
def _told(what: str) -> Iterator[Callable[[int], None] | None]:
    """Progress on a terminal; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    try:
        yield lambda done: click.echo(f"\r\x1b[K  {done:,} {what}", nl=False, err=True)
    finally:
        click.echo("\r\x1b[K", nl=False, err=True)


def _pages(keys: Iterator[str], most: int = 1000) -> Iterator[list[str]]:
    page: list[str] = []
    for key in keys:
        page.append(key)
        if len(page) == most:
            yield page
            page = []
    yield page


def _rows(store: Store, keys: list[str], namespace: str) -> Iterator[dict[str, Any]]:
    """What is known of keys."""
    import datetime as dt

    records = store._records(keys, namespace)  # noqa: SLF001 - a row for each key, as `index_export` has them
    hashes = [record[0] for record in records if record is not None]
    stats = dict(zip(hashes, store._stat_objects(hashes), strict=True))  # noqa: SLF001 - as above
    for key, record in zip(keys, records, strict=True):
        if record is None:
            continue  # deleted meanwhile
        hash, codec, at = record
        found = stats[hash]
        time = dt.datetime.fromtimestamp(at / 1e6, dt.UTC).isoformat(timespec="seconds") if at else None
        yield {
            "namespace": namespace,
            "key": key,
            "hash": hash,
            "codec": codec,
            "plain_bytes": found[0] if found else None,
            "stored_bytes": found[1] if found else None,
            "compressor": found[2] if found else None,
            "time": time,
        }


def _line(row: dict[str, Any]) -> str:
    size = "-" if row["plain_bytes"] is None else f"{row['plain_bytes']:,}"
    return f"{row['hash'][:12]}  {_shown(row['codec']):<12} {size:>14}  {row['time'] or '-':<25}  {_shown(row['key'])}"


def _shown(text: str) -> str:
    from tare.cli.lines import clean

    return clean(text, 2000)


def _print_findings(found: CheckReport) -> None:
    for one in found.findings:
        about = f"  {_shown(one.namespace or '')}/{_shown(one.key)}" if one.key is not None else ""
        click.echo(
            f"{'!' if one.problem else ' '} {one.kind:<15} {_shown(one.place)}{about}: {_shown(one.detail)}"
        )
    problems = len(found.problems)
    said = f"{problems:,} problem{'s' * (problems != 1)}" if problems else "clean"
    click.echo(f"{said}: {found.keys:,} keys, {found.objects:,} objects, {found.bytes:,} bytes hashed")


def _print_copied(done: TransferReport, as_json: bool) -> int:
    """Says what was copied, and names what was not; the exit code."""
    for namespace, key, what in done.damaged:
        space = "" if namespace == "objects" else f" of namespace {_shown(namespace)}"
        click.echo(f"{_shown(key)}{space} was not copied: {what}", err=True)
    code = 1 if done.damaged else 0
    if as_json:
        click.echo(json.dumps(done.as_dict()))
        return code
    from tare.report.text import size

    before = f", {done.unchanged:,} of them before" if done.unchanged else ""
    click.echo(f"{done.keys:,} keys are there{before}; {size(done.bytes)} read")
    for count, what in (
        (done.copied, "objects copied as they are"),
        (done.rehashed, "objects set again"),
        (done.missing, "keys did not exist"),
        (len(done.damaged), "keys not copied: their objects are damaged or gone"),
    ):
        if count:
            click.echo(f"  {count:,} {what}")
    for note in done.notes:
        click.echo(f"  {note}")
    return code
