"""What `tare send` and `tare receive` share: options of a connection, TLS, tokens, exit codes."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import socket
import stat
import sys
import time
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

import click

from tare.cli.closed_streams import is_closed
from tare.cli.types import Bytes, CodecId, Seconds
from tare.errors import TareError, UsageError

if TYPE_CHECKING:
    from tare.messages import Connection, Server

__all__ = [
    "MOST",
    "Place",
    "Progress",
    "ReaderGone",
    "connecting",
    "drained",
    "local",
    "patient",
    "reached",
    "show_summary",
]

_STANDARD = "-"
_LEAVE_S = 5.0
MOST = 4096
"""Values that are taken at once."""

# Options of the library as the command line spells them.
_SPELLED = re.compile(
    r"\b(max_message|max_depth|tls|token|timeout|framing|codec|retry|crc|follow|keep)=\S*?(?=[\s,:;)]|$)"
)
# What a disk answers, at this end: the connection is well.
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)
_OPENSSL = re.compile(r"^\[SSL: \w+\] |\.? \(_ssl\.c:\d+\)$")


class Unreached(click.ClickException):
    """The connection failed, or nothing came in time."""

    exit_code = 3

    def show(self, file: IO[Any] | None = None) -> None:
        """Print it to standard error."""
        click.echo(f"tare: {self.message}", err=True, file=file)


class LocalTrouble(Unreached):
    """A file at this end cannot be read or written."""

    exit_code = 1


class ReaderGone(BrokenPipeError):
    """Nobody reads standard output any more."""


def output_is_terminal() -> bool:
    """Whether standard output is one.

    Raises:
        UsageError: It is closed, and whatever is opened next would take its place.
    """
    if is_closed(sys.stdout):
        raise UsageError("standard output is closed: point it to /dev/null if nobody wants it")
    return sys.stdout.isatty()


def connecting(function: Any) -> Any:
    """The options that both commands have."""
    for option in reversed(
        (
            click.option("--codec", type=CodecId(), metavar="ID", help="Codec of values, such as msgpack or json:orjson+zstd:3."),
            click.option(
                "--framing", type=click.Choice(("frame", "native", "native:wrap")), default="frame",
                show_default=True,
                help="frame: Tare's own. native: values of msgpack or CBOR one after another, or lines of JSON."
                " native:wrap: each in the bytes of a msgpack one.",
            ),
            click.option("--raw", is_flag=True, help="Bytes as they are."),
            click.option("--listen", is_flag=True, help="Wait at URL for the other end to connect."),
            click.option("--retry", type=Seconds(), metavar="TIME", help="Try so long to connect, such as 10s."),
            click.option(
                "--timeout", type=Seconds(), metavar="TIME",
                help="Give up when nothing moves for so long.  [default: never]",
            ),
            click.option("--max-message", type=Bytes(), metavar="SIZE", help="Longest message.  [default: 64MiB]"),
            click.option(
                "--token-file", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
                help="A secret of 16 to 64 bytes that both ends have.",
            ),
            click.option("--tls", is_flag=True, help="TLS; the other end is verified."),
            click.option(
                "--tls-ca", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
                help="Certificates to verify the other end by.  [default: the system's]",
            ),
            click.option(
                "--tls-cert", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
                help="Certificate of this end; who listens needs one.",
            ),
            click.option(
                "--tls-key", type=click.Path(exists=True, dir_okay=False), metavar="FILE", help="Key of --tls-cert."
            ),
            click.option("--tls-name", metavar="NAME", help="Name that the certificate must have.  [default: the host]"),
            click.option("--summary", is_flag=True, help="At the end print what went through, as JSON, to standard error."),
        )
    ):  # fmt: skip
        function = option(function)
    return function


class Place:
    """Where to send to or receive from, with the options of the connection.

    Args:
        url: As it was given; ``-`` is standard input or output.
        verb: ``send`` or ``receive``.
        options: The command's.

    Raises:
        UsageError: Options that do not go together, or an address that must not be bound like that.
    """

    def __init__(self, url: str, verb: str, options: dict[str, Any]) -> None:
        from tare.messages.urls import scheme_of

        self.url = url
        self.listens: bool = options["listen"]
        self._verb = verb
        self._options = options
        self.scheme = "fd" if url == _STANDARD else scheme_of(url)
        self.shown = ("standard output" if verb == "send" else "standard input") if url == _STANDARD else url
        self._secure = any(options[name] for name in ("tls", "tls_ca", "tls_cert"))
        self._token = _token_of(options["token_file"])
        self._refuse_odd()

    @property
    def is_standard(self) -> bool:
        """Whether it is standard input or output."""
        return self.url == _STANDARD

    @property
    def token_hint(self) -> str:
        """Why the other end may have closed the connection."""
        if self._token is not None:
            return ": has it the same token?"
        # Who listens asks for a token, and is not asked.
        return ": it failed, or had enough" if self.listens else ": it failed, had enough, or wants a token"

    def _refuse_odd(self) -> None:
        from tare.messages.urls import is_loopback

        given = self._options
        if self.listens and self.scheme not in ("tcp", "unix"):
            raise UsageError(f"--listen is for tcp: and unix:, not for {self.shown}")
        if self.listens and given["retry"]:
            raise UsageError("--retry is for the end that connects, not for --listen")
        if given["tls_key"] and not given["tls_cert"]:
            raise UsageError("--tls-key goes with --tls-cert")
        if self._secure and self.scheme != "tcp":
            raise UsageError(f"TLS is for tcp:, not for {self.shown}")
        if self.listens and self._secure and not given["tls_cert"]:
            raise UsageError("who listens with TLS needs a certificate: --tls-cert FILE and --tls-key FILE")
        if self.scheme != "tcp" or self._secure or is_loopback(self.url):
            return
        if self.listens:
            raise UsageError(_open_to_all(self.url, self._verb))
        if self._token is not None:
            raise UsageError("the token would cross the network unencrypted: add --tls, or --tls-ca FILE")

    def settings(self, **more: Any) -> dict[str, Any]:
        """Keyword arguments for `tare.connect` and `tare.listen`."""
        given = self._options
        found = {"framing": given["framing"], "timeout": patient(given["timeout"]), **more}
        for name in ("max_message", "retry"):
            if given[name] is not None:
                found[name] = given[name]
        if self._token is not None:
            found["token"] = self._token
        if self._secure:
            found["tls"] = _context(given, serves=self.listens)
            if given["tls_name"] and not self.listens:
                found["server_hostname"] = given["tls_name"]
        return found

    def listen(self, codec: str | None, **more: Any) -> Server:
        """Listen there, and say where if the port was chosen or somebody looks.

        Raises:
            UsageError, OSError: As `tare.listen`.
        """
        from tare import listen

        with _misuses(), reached(self.shown):
            server = listen(self.url, codec, **self.settings(**more))
        if sys.stderr.isatty() or self.url.endswith(":0"):
            click.echo(f"listening at {server.url}", err=True)
        return server

    def connect(self, codec: str | None, mode: str | None, **more: Any) -> Connection:
        """Connect there, or wait for the one that does.

        Raises:
            UsageError, OSError: As `tare.connect`.
        """
        from tare import connect

        if self.listens:
            with self.listen(codec, **more) as server, reached(self.shown):
                return server.accept()
        url = self.url
        if self.is_standard:
            url = f"fd:{os.dup(1 if self._verb == 'send' else 0)}"
            if self._verb == "receive" and self._options["framing"] == "frame":
                more["end"] = False  # of a socket, the way back may be somebody's standard output
        if self.scheme in ("tcp", "unix") or (self.scheme == "fd" and _is_socket(url)):
            mode = None
        with _misuses(), reached(self.shown, self):
            return connect(url, codec, mode=mode, **self.settings(**more))

    def goes_both_ways(self, conn: Connection) -> bool:
        """Whether the other end can answer."""
        if self.scheme == "fd" and not self.is_standard:
            return _is_socket(f"fd:{conn.fileno()}")
        return self.scheme in ("tcp", "unix")

    def leave(self, conn: Connection) -> None:
        """Close, and see whether the other end took everything, as far as that can be seen.

        Raises:
            OSError: It did not.
        """
        if not self.goes_both_ways(conn):
            conn.close()
            return
        seconds = patient(self._options["timeout"])
        patience = min(_LEAVE_S, seconds if seconds is not None else _LEAVE_S)
        framed = self._options["framing"] == "frame"
        if self._secure and framed:
            from tare.messages.tls import heard_out

            said = heard_out(conn, patience)
            conn.close()
        else:
            said = self._left(conn, patience, framed)
        if not said:
            raise Unreached(
                f"{self.shown}: the other end closed the connection and did not take everything{self.token_hint}"
            )

    def _left(self, conn: Connection, patience: float, framed: bool) -> bool:
        """Close, and whether what comes then is an end in order."""
        with socket.socket(fileno=os.dup(conn.fileno())) as sock:
            conn.close()
            sock.settimeout(patience)
            said = False
            try:
                while sock.recv(1 << 16):
                    said = True
            except TimeoutError:
                return True  # it has the bytes, and takes its time
            except ConnectionError:
                return False
        # Who reads frames to their end and closes says END too; what TLS carries is not seen here.
        return said or self._secure or not framed


def _is_socket(url: str) -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(int(url.partition(":")[2])).st_mode)
    except (OSError, ValueError, OverflowError):
        return False  # opening it will say why


def patient(seconds: float | None) -> float | None:
    """Seconds to wait; None is for ever, which is spelled 0 too."""
    return seconds or None


def _token_of(path: str | None) -> bytes | None:
    if path is None:
        return None
    with local(), open(path, "rb") as file:
        token = file.read(100).rstrip(b"\r\n")
    if not 16 <= len(token) <= 64:
        raise UsageError(
            f"{path}: a token has 16 to 64 bytes, not {len(token)}; make one with: head -c 24 /dev/urandom | base64"
        )
    return token


def _context(given: dict[str, Any], *, serves: bool) -> Any:
    import ssl

    try:
        if serves:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            if given["tls_ca"]:  # then only who has a certificate of it may come
                context.verify_mode = ssl.CERT_REQUIRED
                context.load_verify_locations(given["tls_ca"])
        else:
            context = ssl.create_default_context(cafile=given["tls_ca"])
        if given["tls_cert"]:
            context.load_cert_chain(given["tls_cert"], given["tls_key"])
    except (ssl.SSLError, OSError) as error:
        files = ", ".join(given[name] for name in ("tls_ca", "tls_cert", "tls_key") if given[name])
        raise UsageError(f"no certificate or key that can be read: {files}: {_plain(error)}") from error
    return context


def _open_to_all(url: str, verb: str) -> str:
    """What to type instead of listening to everybody."""
    from tare.messages.urls import host_and_port

    port = host_and_port(url)[1]
    other = "send" if verb == "receive" else "receive"
    place = " --to FOLDER/" if verb == "receive" else " FILE"
    return f"""{url}: whoever reaches this machine could connect. With TLS, and a token too, it is safe:
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 \\
    -subj /CN=tare -addext subjectAltName=DNS:tare -keyout key.pem -out cert.pem
  head -c 24 /dev/urandom | base64 > token
  tare {verb} --listen {url}{place} --tls-cert cert.pem --tls-key key.pem --token-file token
and at the other end, which has copies of cert.pem and token:
  tare {other} tcp://HOST:{port} ... --tls-ca cert.pem --tls-name tare --token-file token
Or stay on this machine, at tcp://127.0.0.1:{port}, and let ssh carry it: ssh -L {port}:127.0.0.1:{port} HOST"""


@contextlib.contextmanager
def _misuses() -> Iterator[None]:
    """An option that does not go with the URL or the framing is a wrong use of the command."""
    from tare.errors import Truncated, Unsupported

    try:
        yield
    except Truncated as error:  # the tail of a file to append to
        text = str(error.args[0]).replace("repair=True cuts it there", "tare receive prints what is whole")
        raise Truncated(text, format=error.format, offset=error.offset) from error
    except (TypeError, Unsupported) as error:
        text = re.sub(r"^\w+\(\)(: | )", "", str(error))
        raise UsageError(re.sub(r"option '(\w+)'", _option, text)) from error


def _option(match: re.Match[str]) -> str:
    return f"option --{match[1].replace('_', '-')}"


@contextlib.contextmanager
def reached(shown: str, place: Place | None = None) -> Iterator[None]:
    """Errors of the connection, which have an exit code of their own; not those of files at this end.

    Args:
        shown: Where it leads to, for messages.
        place: It, to tell what to do.
    """
    try:
        yield
    except (ReaderGone, TareError, click.ClickException):
        raise
    except TimeoutError as error:
        raise Unreached(f"{shown}: {_plain(error) if str(error) else 'nothing came in time'}") from error
    except OSError as error:
        if isinstance(error, BrokenPipeError) and shown == "standard output":
            raise
        hint = ""
        if isinstance(error, ConnectionResetError | BrokenPipeError):
            hint = ": the other end closed the connection" + (place.token_hint if place is not None else "")
        elif isinstance(error, ConnectionRefusedError | FileNotFoundError) and place is not None:
            hint = "; --retry 10s waits for it" if place.scheme in ("tcp", "unix") else ""
        elif "CERTIFICATE_VERIFY_FAILED" in str(error):
            hint = "; --tls-ca FILE says whom to trust, --tls-name which name to expect"
        elif error.errno in _DISK:
            raise LocalTrouble(f"{shown}: {_plain(error)}") from error
        raise Unreached(f"{shown}: {_plain(error)}{hint}") from error


def _plain(error: OSError) -> str:
    text = error.strerror or str(error) or type(error).__name__
    if type(error).__name__ == "SSLEOFError":
        text = "the other end closed the connection in the middle: has it the same token?"
    text = _OPENSSL.sub("", text)
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


@contextlib.contextmanager
def local(path: str | None = None) -> Iterator[None]:
    """Errors of files at this end.

    Args:
        path: The file, where the error does not name it.
    """
    from tare.datasets.source import printable

    try:
        yield
    except TareError:
        raise
    except OSError as error:
        name = error.filename or path
        where = f"{printable(os.fsdecode(name), 400)}: " if isinstance(name, str | bytes) else ""
        raise LocalTrouble(f"{where}{_plain(error)}") from error


def drained(conn: Connection, most: int = MOST) -> Iterator[list[Any]]:
    """Values as they come, as many at once as were taken in; an error after those before it.

    Args:
        conn: Where from.
        most: The most to give at once.
    """
    from tare.messages import EndOfStream

    while True:
        values: list[Any] = []
        try:
            values.append(conn.receive())
            while conn.has_ready and len(values) < most:
                values.append(conn.receive(0))
        except EndOfStream:
            return
        except Exception:
            if values:
                yield values
            raise
        yield values


def show_summary(conn: Connection, options: dict[str, Any]) -> None:
    """What went through, if that was asked for."""
    if options["summary"]:
        click.echo(json.dumps(conn.summary()), err=True)


class Progress:
    """A line on the terminal for the file that is on its way; nothing in a pipe."""

    def __init__(self) -> None:
        self._shows = sys.stderr.isatty()
        self._start = self._shown = time.monotonic()
        self._name = ""

    def __call__(self, name: str, done: int, total: int | None) -> None:
        """Tell how far a file is."""
        if not self._shows:
            return
        now = time.monotonic()
        if name != self._name or done < 1:
            self._name, self._start = name, now
        if now - self._shown < 0.1:
            return
        self._shown = now
        from tare.report.text import size

        seconds = max(now - self._start, 1e-3)
        text = f"{name[-40:]}  {size(done)}"
        if total:
            text += f" of {size(total)}  {100 * done // total} %"
        text += f"  {done / seconds / 1e6:.0f} MB/s"
        if total and 0 < done < total:
            text += f"  {seconds * (total - done) / done:.0f} s left"
        sys.stderr.write(f"\r\x1b[K{text[:100]}")
        sys.stderr.flush()

    def say(self, text: str) -> None:
        """A line that stays, on a terminal."""
        if self._shows:
            sys.stderr.write(f"\r\x1b[K{text}\n")
            sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self._shows:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
