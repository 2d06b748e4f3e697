"""The ends of media with two ends that a worker holds, and sampling over them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare.errors import Unsupported, UsageError
from tare.measure.worker import calibration, clocks
from tare.measure.worker.errors import phase
from tare.measure.worker.transfer import DELIVERIES, MESSAGES, RECEIVE_STAMPS, SEND_STAMPS, Receiver, Sender

if TYPE_CHECKING:
    import io
    from collections.abc import Callable

    from tare.measure.worker.prepared_codec import Prepared

__all__ = ["Ends", "run"]

_ROLES = ("reader", "writer")


class Ends:
    """Open ends by handle. A reader's writer is waited for at its first ``receive``."""

    def __init__(self) -> None:
        self._next = 1
        self._listeners: dict[int, Any] = {}
        self._raw: dict[int, io.RawIOBase] = {}
        self._users: dict[int, tuple[str, Sender | Receiver]] = {}

    def open(self, medium: dict[str, Any]) -> tuple[int, str]:
        """Open one end.

        Args:
            medium: ``kind``, ``role``, ``address`` (or ``path``), ``token`` in hex, ``timeout_s``.

        Returns:
            Handle and address (for a reader: what its writer must be given).
        """
        from tare.media import medium as find

        module = find(str(medium.get("kind"))).stream()
        role = medium.get("role")
        address = medium.get("address") or medium.get("path") or ""
        token = bytes.fromhex(medium.get("token") or "")
        handle, self._next = self._next, self._next + 1
        if role == "reader":
            listener = module.listen(address, token=token)
            self._listeners[handle] = listener
            return handle, listener.address
        if role == "writer":
            self._raw[handle] = module.connect(address, token=token, timeout_s=medium.get("timeout_s"))
            return handle, address
        raise UsageError(f"role is {' or '.join(_ROLES)}, not {role!r}")

    def close(self, handle: int | None) -> None:
        """Close an end and what it listened on; an unknown handle is an error."""
        if handle not in self._raw and handle not in self._listeners:
            raise UsageError(f"no open end has the handle {handle!r}")
        end, listener = self._raw.pop(handle, None), self._listeners.pop(handle, None)
        if handle is not None:
            self._users.pop(handle, None)
        try:
            if end is not None:
                end.close()
        finally:
            if listener is not None:
                listener.close()

    def raw(self, handle: int | None, timeout_s: float | None) -> io.RawIOBase:
        """The end; a reader waits here for its writer."""
        if handle in self._raw:
            return self._raw[handle]
        if handle in self._listeners:
            self._raw[handle] = self._listeners[handle].accept(timeout_s=timeout_s)
            return self._raw[handle]
        raise UsageError(f"no open end has the handle {handle!r}")

    def user(
        self,
        handle: Any,
        codec: str,
        make: Callable[[io.RawIOBase], Sender | Receiver],
        timeout_s: float | None,
    ) -> Any:
        """The sender or receiver of an end, kept while the codec is the same: a receiver may have read ahead."""
        kept = self._users.get(handle)
        if kept is None or kept[0] != codec:
            kept = self._users[handle] = (codec, make(self.raw(handle, timeout_s)))
        return kept[1]


def run(
    ends: Ends, ready: Prepared, what: str, request: dict[str, Any], count: Callable[[Any], int]
) -> dict[str, Any]:
    """Take samples of sending or receiving; the stamps follow the usual columns.

    Args:
        ends: The open ends.
        ready: The codec; its ``last`` value becomes the one received.
        what: ``send`` or ``receive``.
        request: The request.
        count: Counts the items of a received value.

    Returns:
        The reply of ``run``.

    Raises:
        OpError: An unknown handle, a delivery that the codec lacks, or whatever went wrong.
    """
    delivery = request.get("delivery") or ready.delivery
    with phase("open"):
        if delivery not in DELIVERIES:
            raise UsageError(f"delivery is one of {', '.join(DELIVERIES)}, not {delivery!r}")
        if ready.grain == "each":
            raise Unsupported("documents are sent one by one as a batch of framed messages")
        options: dict[str, Any] = {"ack": bool(request.get("ack"))}
        if delivery == "streaming":
            options |= {"stream": ready.need_stream(), "options": dict(ready.codec.options)}

        def make(end: io.RawIOBase) -> Sender | Receiver:
            if what == "send":
                return Sender(end, delivery, ready.encode, **options)
            return Receiver(end, delivery, ready.decode, **options)

        end = ends.user(request.get("handle"), str(ready.codec), make, request.get("timeout_s"))
        call, argument, names = (
            (end.send, ready.need_value(), SEND_STAMPS)
            if what == "send"
            else (end.receive, None, RECEIVE_STAMPS)
        )
    ready.last = None
    # Only messages leave the connection open for another one.
    again = delivery in MESSAGES
    batch = max(1, int(request.get("batch") or 1)) if again else 1
    around = _Stamps(ready, end, count if what == "receive" else None)
    with phase("decode" if what == "receive" else "encode"):
        rows = calibration.take(
            call,
            argument,
            batch,
            samples=int(request.get("samples", 1)) if again else 1,
            collect=request.get("gc", "off") == "on",
            budget_ns=None,
            around=around,
        )
    return {"cols": [*clocks.COLUMNS, *names], "samples": rows, "batch": batch, **around.found}


class _Stamps(calibration.Around):
    """Resets the stamps before each sample and adds them to its row."""

    def __init__(self, ready: Prepared, end: Sender | Receiver, count: Callable[[Any], int] | None) -> None:
        self.found: dict[str, Any] = {}
        self._ready = ready
        self._end = end
        self._count = count

    def before(self) -> None:
        self._end.reset()
        self._ready.last = None

    def look(self, result: Any) -> None:
        self.found["bytes"] = self._end.count
        if self._count is not None:
            self.found["items"] = self._count(result)
            self._ready.last = result

    def extra(self) -> list[int]:
        return self._end.stamps()
