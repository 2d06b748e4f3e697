"""Connections over descriptors: sockets, fifos, files, and whatever was inherited."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import socket
import stat
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tare._tare import MessageBatcher, MessageDeadline, MessageSession
from tare.errors import Limit, Truncated, UsageError
from tare.messages.pulled import ROUND, PulledChannel, poll_for
from tare.messages.urls import host_and_port, scheme_of, tcp_url

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tare.messages.channel import Taken, Timeout

__all__ = ["DescriptorChannel", "open_channel", "open_fifo", "unix_address"]

_READ = 256 << 10
_ALL = 1 << 40
_ATOMIC = 4096  # what POSIX promises for a fifo is less; Linux writes so much in one piece
_FOLLOW_S = 0.05
_LATER = (errno.ECONNREFUSED, errno.ENOENT, errno.ENXIO)
_F_SETPIPE_SZ = 1031  # of Linux; in the module fcntl from 3.10 on, where the system has it


def unix_address(url: str) -> str:
    r"""The address of ``unix:path``; ``unix:@name`` is abstract.

    >>> unix_address("unix:@a")
    '\x00a'
    """
    path = url.removeprefix("unix:")
    return "\0" + path[1:] if path.startswith("@") else path


class DescriptorChannel(PulledChannel):
    """Payloads over a descriptor, which is its own from now on.

    Args:
        descriptor: It.
        session: What cuts and joins its bytes.
        options: The options, checked.
        is_socket: Whether it is a socket.
        is_fifo: Whether it is a fifo that was opened by its name, of which an end before the first
            writer is none.
        mode: ``r``, ``w`` or ``a``; None is what the descriptor allows.
    """

    def __init__(
        self,
        descriptor: int,
        session: MessageSession,
        options: dict[str, Any],
        *,
        is_socket: bool = False,
        is_fifo: bool = False,
        mode: str | None = None,
    ) -> None:
        super().__init__(session, options)
        self._descriptor = descriptor
        self._is_socket = is_socket
        self._is_fifo = is_fifo
        self._is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        self._follow: bool = options.get("follow", False)
        self._sync: bool = options.get("sync", False)
        self._atomic: bool = options.get("atomic", False)
        self._most: int = options["read_size"] or _ALL
        self._spare: int | None = None
        access = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE
        self._reads = mode in (None, "r") and access != os.O_WRONLY
        self._writes = mode != "r" and access != os.O_RDONLY
        # Of a descriptor that others have too, it is given back as it was.
        self._blocking = os.get_blocking(descriptor)
        if self._is_file and not self._follow:
            session.accept_last_line()
        if not self._is_file:
            os.set_blocking(descriptor, False)
        # What tells when it has more is read and waited for by the core, with no Python in between.
        self._told = not self._is_file and not self._follow
        self._source = (descriptor, self._most, is_fifo, self._message_timeout)
        if self._told and self._reads:
            session.watch(descriptor)

    def keep_writer(self, path: str) -> None:
        """Hold a writing end, so that the last writer to go ends nothing."""
        self._spare = os.open(path, os.O_WRONLY | os.O_NONBLOCK)

    def send(self, data: Buffer, timeout: Timeout = ..., compressed: bool = False) -> None:
        """Queue a payload, and flush unless payloads are held."""
        if self._atomic:
            with memoryview(data) as view:
                if view.nbytes + 9 > _ATOMIC:
                    text = (
                        f"atomic=True writes whole messages of at most {_ATOMIC - 9} bytes, not {view.nbytes}"
                    )
                    raise Limit(text, format="frame")
            self.flush(timeout)
        super().send(data, timeout, compressed)

    def send_many(
        self, payloads: Sequence[Buffer], timeout: Timeout = ..., flags: bytes | None = None
    ) -> int:
        """Queue payloads, and flush as they grow, but not at the end; their number."""
        if not self._atomic:
            return super().send_many(payloads, timeout, flags)
        deadline = self._deadline(timeout)
        for index, data in enumerate(payloads):
            self.send(data, deadline.left(), flags is not None and bool(flags[index]))
        return len(payloads)

    def batcher(self) -> MessageBatcher | None:
        """What queues bytes faster within a batch; not where each is written by itself."""
        return None if self._atomic or not self._writes else super().batcher()

    @property
    def is_file(self) -> bool:
        """Whether it is a file, which no system tells to have grown."""
        return self._is_file

    def queue(self, data: Buffer, compressed: bool = False) -> None:
        """Queue a payload, and flush nothing."""
        self._check()
        self._session.send(data, compressed)

    def quick(self) -> MessageSession | None:
        """What `tare.wait` may look at without asking."""
        return self._session if self._told else None

    def watched(self) -> tuple[int, bool, bool]:
        """The descriptor, whether something was taken in already, and whether it is a file."""
        self._more = self._session.more
        return super().watched()

    def take(self, count: int, budget: int, timeout: Timeout = ...) -> Taken | None:
        """At least one message, at most ``count``, and no more behind ``budget`` bytes; None at the end."""
        seconds = self._enter(timeout)
        try:
            self._check_reads()
            if self._is_plain():
                try:
                    found = self._session.pull(self._source, count, budget, seconds)
                except OSError as error:
                    self._fail(error)  # good messages come first
                else:
                    if not isinstance(found, str):
                        return found
                    self._give_up(found)
            return super().take(count, budget, seconds)
        finally:
            self._receiving.release()

    def receive_into(self, buffer: Buffer, timeout: Timeout = ...) -> int | None:
        """The payload of one message into a buffer, its length; None at the end."""
        seconds = self._enter(timeout)
        try:
            self._check_reads()
            if self._is_plain():
                try:
                    found = self._session.pull_into(self._source, buffer, seconds)
                except OSError as error:
                    self._fail(error)
                else:
                    if found is None:
                        return None
                    if not isinstance(found, str):
                        size, self._kept = found
                        return size if self._kept is None else self._copied(buffer)
                    self._give_up(found)
            return super().receive_into(buffer, seconds)
        finally:
            self._receiving.release()

    def poll(self, timeout: Timeout = ...) -> bool:
        """Whether `take` would not wait."""
        seconds = self._enter(timeout)
        try:
            self._check_reads()
            if not (self._told and self._kept is None and self._failed is None):  # as `_is_plain`
                return super().poll(seconds)
            try:
                found = self._session.look(self._source, seconds)
            except OSError as error:
                self._fail(error)
                return True
            if found == "unsent":
                return super().poll(seconds)
            if found == "slow":
                self._fail(self._too_slow())
            return found != "late"
        finally:
            self._receiving.release()

    def _check_reads(self) -> None:
        if self._closed or not self._reads or os.getpid() != self._process:
            super()._check_reads()  # says which

    def _enter(self, timeout: Timeout) -> float | None:
        """Take the lock of those who receive; the seconds that are left."""
        seconds = self._timeout if timeout is ... else timeout
        if self._receiving.acquire(blocking=False):
            return seconds
        deadline = MessageDeadline(seconds)
        if not self._receiving.acquire(timeout=-1 if seconds is None else max(seconds, 0)):
            raise TimeoutError("another thread is at it")
        return deadline.left()

    def _is_plain(self) -> bool:
        """Whether nothing is kept or broken, so that the core may go on by itself."""
        return self._told and self._kept is None and self._failed is None

    def _give_up(self, why: str) -> None:
        """Raise what kept the core from going on; nothing if it is done by turns."""
        if why == "late":
            raise TimeoutError("could not receive in time")
        if why == "slow":
            self._fail(self._too_slow())

    def _flush(self, deadline: MessageDeadline, down_to: int = 0) -> None:
        if self._is_file:
            super()._flush(deadline, down_to)
        elif not self._session.push_out(self._descriptor, down_to, deadline.left()):
            raise TimeoutError("could not send in time")

    def _read(self, place: memoryview) -> int | None:
        raise NotImplementedError  # the core reads

    def _write(self, data: bytes) -> int | None:
        raise NotImplementedError  # the core writes

    def _pushed(self) -> bool:
        return self._session.write_to(self._descriptor) is not None

    def _pump(self) -> bool:
        try:
            total, ended = self._session.read_from(self._descriptor, ROUND, self._most)
        except OSError as error:
            self._fail(error)
            return True
        if ended:
            # Before its first writer a fifo reads as at its end.
            ended = not (self._follow or (self._is_fifo and total == 0 and not self._gone()))
        if ended:
            self._session.received_end()
        self._more = total >= ROUND
        if total == 0 and not ended:
            self._session.rest()
        self._watch()
        return total > 0 or ended

    def _gone(self) -> bool:
        """Whether writers were there: before the first, a fifo reads as at its end."""
        return bool(poll_for(self._descriptor, select.POLLIN, 0) & select.POLLHUP)

    def _await(self, events: int, seconds: float | None) -> None:
        if self._is_file or (self._follow and events & select.POLLIN):
            select.select([], [], [], _FOLLOW_S if seconds is None else min(seconds, _FOLLOW_S))
            return
        poll_for(self._descriptor, events, seconds)

    def _synchronise(self) -> None:
        if self._sync:
            os.fsync(self._descriptor)

    def _peer(self) -> str | None:
        if not self._is_socket:
            return None
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(self._descriptor)) as sock:
            address = sock.getpeername()
            return tcp_url(*address[:2]) if isinstance(address, tuple) else None
        return None

    def _finish(self) -> None:
        if self._is_socket:
            with contextlib.suppress(OSError), socket.socket(fileno=os.dup(self._descriptor)) as sock:
                sock.shutdown(socket.SHUT_WR)

    def _shut(self) -> None:
        sock = socket.socket(fileno=self._descriptor)  # not of a copy: there may be no descriptor left
        try:
            sock.shutdown(socket.SHUT_RDWR)
        finally:
            sock.detach()

    def _release(self) -> None:
        self._let_go()
        os.close(self._descriptor)

    def _let_go(self) -> None:
        self._session.watch(None)
        if self._spare is not None:
            os.close(self._spare)
            self._spare = None
        # A child has the same open description: what it sets there its parent has too.
        if self._blocking and not self._is_file and os.getpid() == self._process:
            with contextlib.suppress(OSError):
                os.set_blocking(self._descriptor, True)

    def _number(self) -> int:
        return self._descriptor

    def detach(self) -> tuple[int, bytes]:
        """The descriptor and the bytes that were read ahead; it is closed without touching the descriptor."""
        self._check()
        ahead = self._session.read_ahead()
        self._let_go()
        self._closed = True
        return self._descriptor, ahead


def open_channel(
    url: str, mode: str | None, deadline: MessageDeadline, wire: dict[str, Any], options: dict[str, Any]
) -> PulledChannel:
    """Connect, or open a file, a fifo or a descriptor.

    Raises:
        TimeoutError: Not in time.
        Truncated: The file to append to is cut.
        OSError: From the system.
    """
    scheme = scheme_of(url)
    session = MessageSession(wire["wire"], _with_sums(wire, scheme))
    channel: PulledChannel
    if scheme in ("tcp", "unix"):
        sock = _patiently(lambda: _connected(url, deadline), deadline, options["retry"])
        if options.get("tls"):
            from tare.messages.tls import TlsChannel, secured

            channel = TlsChannel(secured(sock, url, options, deadline), session, options)
        else:
            channel = DescriptorChannel(sock.detach(), session, options, is_socket=True)
        if options["token"] is not None:
            session.token(options["token"])
            channel.flush(deadline.left())  # nobody is let in before it came
        return channel
    rest = url.partition(":")[2]
    if scheme == "fd":
        return _of_descriptor(rest, mode, session, options)
    if scheme == "fifo":
        return _of_fifo(rest, mode, deadline, session, options)
    return _of_file(rest, mode, session, wire, options)


def _with_sums(wire: dict[str, Any], scheme: str) -> dict[str, Any]:
    crc = wire["crc"] if wire["crc"] is not None else scheme == "file" and wire["wire"] == "frame"
    return wire | {"crc": crc}


def _connected(url: str, deadline: MessageDeadline) -> socket.socket:
    if url.startswith("tcp:"):
        sock = socket.create_connection(host_and_port(url), timeout=deadline.left())
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.settimeout(deadline.left())
        sock.connect(unix_address(url))
    except BaseException:
        sock.close()
        raise
    return sock


def _patiently(work: Any, deadline: MessageDeadline, retry: float | None) -> Any:
    """Try again while nobody listens, with pauses of 10 ms that double up to 1 s."""
    again, pause = MessageDeadline(retry or 0), 0.01
    while True:
        try:
            return work()
        except OSError as error:
            if error.errno not in _LATER or again.over or deadline.over:
                raise
        lefts = [left for left in (again.left(), deadline.left(), pause) if left is not None]
        select.select([], [], [], min(lefts))
        pause = min(pause * 2, 1.0)


def _of_descriptor(
    text: str, mode: str | None, session: MessageSession, options: dict[str, Any]
) -> DescriptorChannel:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise UsageError(f"fd:{text[:40]!a}: expected the number of a descriptor")
    descriptor = int(text)
    is_socket = stat.S_ISSOCK(os.fstat(descriptor).st_mode)
    return DescriptorChannel(descriptor, session, options, is_socket=is_socket, mode=mode)


def _of_fifo(
    path: str, mode: str | None, deadline: MessageDeadline, session: MessageSession, options: dict[str, Any]
) -> DescriptorChannel:
    with contextlib.suppress(FileExistsError):
        os.mkfifo(path, 0o600)
    if not stat.S_ISFIFO(os.stat(path).st_mode):
        raise UsageError(f"{path[:80]!a} is no fifo; use file:{path[:80]}")
    descriptor = open_fifo(path, mode, deadline)
    channel = DescriptorChannel(descriptor, session, options, is_fifo=mode == "r", mode=mode)
    try:
        if options["pipe_size"] is not None:
            fcntl.fcntl(descriptor, _F_SETPIPE_SZ, options["pipe_size"])
        if mode == "r" and options["keep"]:
            channel.keep_writer(path)
    except BaseException:
        channel.close(0, end=False)
        raise
    return channel


def open_fifo(path: str, mode: str | None, deadline: MessageDeadline) -> int:
    """A descriptor of a fifo that is there, which does not block.

    Args:
        path: Of the fifo.
        mode: ``r`` or ``w``.
        deadline: Until when a writer waits for somebody who reads.

    Raises:
        TimeoutError: Nobody reads in time.
        OSError: From the system.
    """
    if mode == "r":
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    # ENXIO: nobody reads yet, which is no error before the deadline.
    try:
        return int(_patiently(lambda: os.open(path, os.O_WRONLY | os.O_NONBLOCK), deadline, 1e8))
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        raise TimeoutError(f"nobody opened the fifo {path[:80]!a} for reading in time") from None


def _of_file(
    path: str, mode: str | None, session: MessageSession, wire: dict[str, Any], options: dict[str, Any]
) -> DescriptorChannel:
    flags = {"r": os.O_RDONLY, "w": os.O_WRONLY | os.O_CREAT | os.O_TRUNC}.get(
        mode or "", os.O_RDWR | os.O_CREAT
    )
    descriptor = os.open(path, flags | os.O_CLOEXEC, 0o666)
    try:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if mode == "a":
            _check_tail(descriptor, path, wire, options)
        return DescriptorChannel(descriptor, session, options, mode=mode)
    except BaseException:
        os.close(descriptor)
        raise


def _check_tail(descriptor: int, path: str, wire: dict[str, Any], options: dict[str, Any]) -> None:
    """Go to the end of a file whose messages are whole, or cut what is not where that was asked for."""
    reader = MessageSession(wire["wire"], wire)
    place = memoryview(bytearray(_READ))
    while count := os.readv(descriptor, [place]):
        reader.received(place[:count])
        _use_up(reader)
    reader.received_end()
    reader.accept_last_line()
    _use_up(reader)
    state, offset, _ = reader.status()
    if state in ("ended", "eof_clean"):
        return
    if state != "eof_truncated" or not options["repair"]:
        hint = "repair=True cuts it there" if state == "eof_truncated" else "it is damaged, not cut"
        raise Truncated(
            f"{path[:80]}: the last message is not whole ({state}): {hint}",
            format=wire["wire"],
            offset=offset,
        )
    os.ftruncate(descriptor, offset or 0)
    os.lseek(descriptor, offset or 0, os.SEEK_SET)


def _use_up(reader: MessageSession) -> None:
    with contextlib.suppress(Exception):  # `status` tells
        while reader.take(1 << 40, 1 << 40) is not None:
            pass
