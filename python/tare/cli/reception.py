"""Takes several senders at once: one that fails, or does not read what it is told, holds no other up."""

from __future__ import annotations

import contextlib
import select
from typing import TYPE_CHECKING, Any

import click

from tare._tare import MessageDeadline
from tare.cli.connecting import MOST, Place, drained, patient, reached, show_summary
from tare.cli.receiving import HEARD_S, Guest, Receiver
from tare.errors import TareError

if TYPE_CHECKING:
    from tare.messages import Connection, Server

__all__ = ["Reception"]

_LOOK_S = 0.05  # between two looks at whether somebody reads what it is told
_MOST_TO_FOLDER = 64  # messages that are taken before others have their turn: each may be a file
_GONE = (OSError, EOFError, TareError, click.ClickException)


class _Sender:
    """A connection, what it brings, and how far its leaving is.

    Args:
        conn: The connection.
        peer: Where it comes from, for messages.
        receiver: Where its values go.
    """

    def __init__(self, conn: Connection, peer: str, receiver: Receiver) -> None:
        self.conn = conn
        self.peer = peer
        self.guest = Guest(conn, receiver, waits=False)
        self._stream = drained(conn, _MOST_TO_FOLDER if receiver.target.is_folder else MOST)
        self._leaves: MessageDeadline | None = None
        self._error: BaseException | None = None

    @property
    def leaves(self) -> bool:
        """Whether nothing more is taken from it, and it is only heard out."""
        return self._leaves is not None

    def step(self, require_end: bool | None) -> bool:
        """Take what is there; whether more may come.

        Raises:
            TareError, click.ClickException: It failed.
        """
        values = next(self._stream, None)
        if values is None:
            self.guest.check_end(require_end)
            return False
        self.guest.take(values)
        return True

    def part(self, error: BaseException | None) -> None:
        """Take nothing more from it: close, or hear it out where it has something to read still."""
        self._error = error
        hears = self.guest.refuse(error, 0) or self.guest.owes
        if error is None and self.guest.wants_receipt:  # what it says after its receipt must not find nobody
            hears = hears or not str(self.conn.status).startswith(("ended", "eof"))
        if hears and isinstance(error, Exception | None):
            self._leaves = MessageDeadline(HEARD_S)
        else:
            self.close()

    def hear_out(self) -> None:
        """Pass over what still comes, and close at its end, or when it took too long."""
        assert self._leaves is not None
        try:
            self.guest.push()
            if (self._error is not None or not self.guest.owes) and self.conn.poll(0):
                self.conn.receive(timeout=0)
                while self.conn.has_ready:
                    self.conn.receive(timeout=0)
        except _GONE:
            self.close()
        if self._leaves.over:
            self.close()

    def close(self) -> None:
        """Close at once, whether or not it reads."""
        if self._error is not None:
            self.conn.__exit__(type(self._error), self._error, None)
            return
        with contextlib.suppress(OSError, TareError):
            self.conn.close(timeout=0)


class Reception:
    """Takes what all senders of a server bring.

    Args:
        place: Where it listens.
        server: It.
        receiver: Where values go.
        options: The command's.
    """

    def __init__(self, place: Place, server: Server, receiver: Receiver, options: dict[str, Any]) -> None:
        self._place = place
        self._server = server
        self._receiver = receiver
        self._options = options
        self._patience = MessageDeadline(patient(options["timeout"]))
        self._senders: dict[Connection, _Sender] = {}
        self._failed = False

    def run(self) -> int:
        """Take senders until there is enough; 1 if one of them failed, which costs the others nothing.

        Raises:
            click.ClickException: Nothing came in time.
        """
        error: BaseException | None = None
        try:
            while self._receiver.left > 0:
                self._turn()
        except BaseException as broken:
            error = broken
            raise
        finally:
            self._end(error)
        return int(self._failed)

    def _end(self, error: BaseException | None) -> None:
        """Part with everybody, and hear out those who must be, all at once."""
        for sender in self._senders.values():
            if not sender.leaves:
                self._part(sender, error)
        while leaving := [sender for sender in self._senders.values() if not sender.conn.closed]:
            for sender in leaving:
                sender.hear_out()
            select.select([], [], [], _LOOK_S)

    def _turn(self) -> None:
        """Wait for somebody, and take what came."""
        with reached(self._place.shown):
            ready = self._ready()
            if self._server in ready:
                with contextlib.suppress(TimeoutError):  # it may not have shown its token yet
                    conn = self._server.accept(timeout=0)
                    peer = conn.summary()["peer"] or self._place.shown
                    self._senders[conn] = _Sender(conn, peer, self._receiver)
        for conn, sender in [*self._senders.items()]:
            if sender.leaves:
                sender.hear_out()
            elif sender.guest.owes or conn in ready:
                self._take(sender)
            if conn.closed:
                del self._senders[conn]

    def _ready(self) -> set[Connection | Server]:
        """Return who has something.

        Raises:
            TimeoutError: Nobody for so long as the command allows.
        """
        from tare import wait

        senders = self._senders.items()
        ends: list[Connection | Server] = [self._server]
        ends += [conn for conn, sender in senders if not (sender.leaves or sender.guest.owes)]
        lefts = [self._patience.left()]
        if len(ends) <= len(senders):
            lefts.append(_LOOK_S)
        ready = wait(ends, min((left for left in lefts if left is not None), default=None))
        if ready:
            self._patience = MessageDeadline(patient(self._options["timeout"]))
        elif self._patience.over:
            raise TimeoutError
        return set(ready)

    def _take(self, sender: _Sender) -> None:
        try:
            with reached(sender.peer):
                if sender.guest.owes:
                    sender.guest.push()
                elif not sender.step(self._options["require_end"]):
                    self._part(sender, None)
        except (TareError, click.ClickException) as error:
            self._failed = True
            peer = sender.peer
            click.echo(f"tare: {error if peer in str(error) else f'{peer}: {error}'}", err=True)
            self._part(sender, error)

    def _part(self, sender: _Sender, error: BaseException | None) -> None:
        show_summary(sender.conn, self._options)
        sender.part(error)
