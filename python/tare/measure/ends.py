"""The ends of media with two ends that a worker holds, and sampling over them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare.errors import UsageError
from tare.measure import clocks, sampling
from tare.measure.phases import OpError, phase
from tare.measure.streams import RECEIVE_STAMPS, SEND_STAMPS, Receiver, Sender

if TYPE_CHECKING:
    import io
    from collections.abc import Callable

    from tare.measure.prepared import Prepared

__all__ = ["Ends", "run"]

_ROLES = ("reader", "writer")


class Ends:
    """Open ends by handle. A reader's writer is waited for at its first ``receive``."""

    def __init__(self) -> None:
        self._next = 1
        self._listeners: dict[int, Any] = {}
        self._raw: dict[int, io.RawIOBase] = {}
        self._senders: dict[tuple[int, str], Sender] = {}
        self._receivers: dict[tuple[int, str], Receiver] = {}

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
        for kept in (self._senders, self._receivers):
            for key in [key for key in kept if key[0] == handle]:
                del kept[key]  # type: ignore[attr-defined]
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

    def sender(self, handle: int, ready: Prepared, **options: Any) -> Sender:
        """The sender of an end for a codec."""
        key = (handle, str(ready.codec))
        if key not in self._senders:
            self._senders[key] = Sender(self.raw(handle, None), ready.delivery, ready.encode, **options)
        return self._senders[key]

    def receiver(self, handle: int, ready: Prepared, timeout_s: float | None, **options: Any) -> Receiver:
        """The receiver of an end for a codec; one for each end, because it may have read ahead."""
        key = (handle, "")
        if key not in self._receivers:
            self._receivers[key] = Receiver(self.raw(handle, timeout_s), ready.delivery, ready.decode, **options)
        return self._receivers[key]


def run(
    ends: Ends, ready: Prepared, what: str, request: dict[str, Any], count: Callable[[Any], int]
) -> dict[str, Any]:
    """Take samples of sending or receiving; the stamps follow the usual columns."""
    handle = request.get("handle")
    options: dict[str, Any] = {"ack": bool(request.get("ack"))}
    with phase("open"):
        if ready.delivery == "streaming":
            options |= {"stream": ready.need_stream(), "options": dict(ready.codec.options)}
        if ready.grain == "each":
            raise OpError("Unsupported", "send documents one by one as framed batches", "open")
        timeout_s = request.get("timeout_s")
        end: Sender | Receiver
        if what == "send":
            end = ends.sender(handle, ready, **options)  # type: ignore[arg-type]
            call, argument, names = end.send, ready.value, SEND_STAMPS
        else:
            end = ends.receiver(handle, ready, timeout_s, **options)  # type: ignore[arg-type]
            call, argument, names = end.receive, None, RECEIVE_STAMPS
    ready.last = None
    # Only framed messages leave the connection open for another one.
    again = ready.delivery == "framed"
    batch = max(1, int(request.get("batch") or 1)) if again else 1
    reply: dict[str, Any] = {}

    def look(result: Any) -> None:
        reply["bytes"] = end.count if what == "receive" else result
        if what == "receive":
            reply["items"] = count(result)
            ready.last = result

    with phase("decode" if what == "receive" else "encode"):
        rows = sampling.take(
            call, argument, batch,
            samples=max(1, int(request.get("samples", 1))) if again else 1,
            collect=request.get("gc", "off") == "on",
            budget_ns=None, before=end.reset, extra=end.stamps, look=look,
        )  # fmt: skip
    return {"cols": [*clocks.COLUMNS, *names], "samples": rows, "batch": batch, **reply}
