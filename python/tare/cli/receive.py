"""`tare receive`: values printed as lines of JSON or kept as files, and files under their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tare.cli import SHOWS
from tare.cli.connecting import Place, connecting, drained, reached, show_summary
from tare.cli.receiving import Guest, Receiver, Target
from tare.cli.reception import Reception
from tare.cli.signals import ended_by_signals
from tare.errors import Malformed, UsageError

if TYPE_CHECKING:
    from tare.messages import Connection

__all__ = ["command"]


@click.command("receive", short_help="Receive what `tare send` or another program sends.")
@click.argument("url")
@click.option("-n", "count", type=click.IntRange(1), help="End after so many values, or files.")
@click.option(
    "--to",
    metavar="PLACE",
    help="ndjson: print values as lines of JSON, the default. FOLDER/: files under their names, or each value"
    " in a file. FILE: the one file, or all values.",
)
@click.option("--force", is_flag=True, help="Replace files that are there.")
@click.option(
    "--max-files",
    type=click.IntRange(1),
    default=10_000,
    show_default=True,
    help="Most files that one sender may make in FOLDER/.",
)
@click.option(
    "--follow",
    is_flag=True,
    help="Go on behind the end: of a file that grows, a fifo's writer that went, one sender after another.",
)
@click.option(
    "--require-end/--no-require-end",
    default=None,
    help="Fail if the sender did not say that it finished.  [default: for files and --raw]",
)
@click.option("--require-crc", is_flag=True, help="Fail at a frame without a checksum.")
@click.option("--fidelity", is_flag=True, help="Say what a sender in R did to values before they were sent.")
@connecting
@click.pass_context
def command(ctx: click.Context, /, url: str, **options: Any) -> int:
    """Receive from URL, and print values as lines of JSON or keep files.

    URL is tcp://HOST:PORT, unix:PATH, fifo:PATH, file:PATH, fd:NUMBER, or - for standard input. Without
    --codec the sender says what it sends; --framing native is json unless --codec says otherwise.

    A file has its name when it is whole and is what was sent, else it is not there. Messages before an error
    are always printed. Exit code: 0 done, 1 bad or cut data, 2 usage, 3 could not connect or timed out.

    \b
    Examples:
      tare receive --listen tcp://127.0.0.1:7000 --to folder/
      tare receive unix:/run/events -n 10 | jq .name
      tare receive file:stream.msgpack --framing native --codec msgpack
      tare receive fifo:queue --follow --codec json > log.ndjson
      nc host 7000 | tare receive - --framing native --codec cbor
    """  # noqa: D301 - click keeps lines after a backspace character
    target = Target(options["to"], raw=options["raw"], force=options["force"])
    ctx.meta[SHOWS] = target.is_output
    place = Place(url, "receive", options)
    if options["fidelity"]:
        _check_fidelity(options)
    codec, more = _wanted(place, target, options)
    with ended_by_signals(), Receiver(target, options) as receiver:
        code = 0
        if place.listens and options["follow"]:
            with place.listen(codec, **more) as server:
                code = Reception(place, server, receiver, options).run()
        else:
            _from_one(place, place.connect(codec, "r", **more), receiver, options)
        receiver.finish()
    return code


def _wanted(place: Place, target: Target, options: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """The codec to open with, and options."""
    from tare.messages.files import FILE
    from tare.messages.options import DEFAULT_ACCEPT

    framed, codec = options["framing"] == "frame", options["codec"]
    more: dict[str, Any] = {}
    if options["raw"] and codec not in (None, "raw"):
        raise UsageError("--raw writes payloads as they are, whatever --codec they are in: give one")
    if target.is_folder and not framed:
        raise UsageError("--to FOLDER/ goes with --framing frame; print the values, or say --to FILE")
    if options["require_end"] and not framed:
        raise UsageError("--require-end is for --framing frame: others have no END")
    if framed:
        more["hello"] = False  # what goes back are receipts, and the end
    if options["require_crc"]:
        more["require_crc"] = True
    if place.listens:
        more["speaks_first"] = True  # who connects and says nothing keeps no sender away
    if codec is None and (options["raw"] or (target.is_folder and framed)):
        codec = "raw"  # whatever is sent is taken as it is
    elif codec is None and framed:
        more["accept"] = (*DEFAULT_ACCEPT, FILE)
    elif codec is None:
        codec = "json"
    if options["follow"] and not place.listens:
        if place.scheme not in ("file", "fifo"):
            raise UsageError(f"--follow is for file:, fifo: and --listen, not for {place.shown}")
        more["follow" if place.scheme == "file" else "keep"] = True
    if options["follow"] and not (target.is_folder or target.is_output):
        raise UsageError(
            "--follow has no end, when a FILE would be whole: print to one with >, or --to FOLDER/"
        )
    return codec, more


def _check_fidelity(options: dict[str, Any]) -> None:
    if (options["codec"] or "msgpack").partition(":")[0].partition("+")[0] != "msgpack" or options["raw"]:
        raise UsageError(
            "--fidelity is about values that R's package msgpack sends: --codec msgpack, no --raw"
        )


def _from_one(place: Place, conn: Connection, receiver: Receiver, options: dict[str, Any]) -> None:
    """Everything of one connection."""
    with reached(place.shown), conn:
        try:
            with Guest(conn, receiver) as guest:
                for values in drained(conn):
                    guest.take(values)
                    if receiver.left < 1:
                        return
                guest.check_end(options["require_end"])
        except Malformed as error:
            if error.format == "frame" and error.offset == 0:
                error.args = (f"{error}; --framing native reads lines of JSON, msgpack and CBOR",)
            raise
        finally:
            show_summary(conn, options)
