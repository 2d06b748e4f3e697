"""The measuring process: answers one request a line until its input ends.

Started as ``python -c "from tare.measure.worker.main import main; main()"`` or ``tare worker``.
It keeps copies of its standard input and output for the protocol and points the
originals elsewhere (input at nothing, output at standard error), so that no library
can read a request or print into a reply. Nothing is imported before it is needed: a
worker that measures the standard library's json never sees pyarrow.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from tare.measure.worker.errors import OpError, cut, describe

__all__ = ["LINE_BYTES", "main", "serve"]

LINE_BYTES = 16 << 20
"""Longest line of the protocol, request or reply."""

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_SIGKILL = 9  # importing signal would cost 4 ms

_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def main() -> None:
    """Serve the protocol on standard input and output; returns at ``quit`` or the end of the input."""
    source, sink = _take_stdio()
    _die_with_parent()
    from tare.measure.worker.operations import Ops

    gc.disable()  # every sample collects before it begins; nothing else may begin a collection
    serve(source, sink, Ops())


def serve(source: int, sink: int, ops: Any) -> None:
    """Answer requests until ``quit`` or the end of the input.

    Args:
        source: Descriptor that requests are read from.
        sink: Descriptor that replies are written to.
        ops: Object with a method ``op_NAME`` for each operation.

    Raises:
        SystemExit: A codec called for the end of the process; every other exception becomes a reply.
    """
    for line in _lines(source):
        number: Any = None
        name: Any = None
        reply: dict[str, Any] = {}
        try:
            request = _parse(line)
            number, name = request.get("id"), request.get("op")
            handler = _handler(ops, name)
            reply = {"id": number, "ok": handler(request)}
            data = _encode(reply)
            if len(data) > LINE_BYTES:
                raise OpError(
                    "protocol", f"the reply would be {len(data)} bytes long; the most is {LINE_BYTES}"
                )
        except (SystemExit, KeyboardInterrupt):
            raise
        except OpError as error:
            data = _failure(number, error.type, str(error), error.phase)
        except BaseException as error:
            data = _failure(number, *describe(error, "protocol"))
        del reply
        try:
            _write(sink, data.encode() + b"\n")
        except BrokenPipeError:
            return  # the parent has gone
        if name == "quit":
            return


def _handler(ops: Any, name: Any) -> Callable[[dict[str, Any]], Any]:
    handler = getattr(ops, f"op_{name}", None) if isinstance(name, str) and name.isidentifier() else None
    if handler is None:
        known = ", ".join(sorted(method[3:] for method in dir(ops) if method.startswith("op_")))
        raise OpError("unknown_op", f"no operation {str(name)[:80]!r} (there are {known})")
    found: Callable[[dict[str, Any]], Any] = handler
    return found


def _parse(line: bytes | None) -> dict[str, Any]:
    if line is None:
        raise OpError("protocol", f"a line is longer than {LINE_BYTES} bytes")
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise OpError("protocol", f"not JSON: {error}") from None
    if not isinstance(request, dict):
        raise OpError("protocol", "a request is an object")
    return request


def _failure(number: Any, type: str, message: str, phase: str) -> str:
    return _encode({"id": number, "error": {"type": type, "message": cut(message), "phase": phase}})


def _lines(source: int) -> Iterator[bytes | None]:
    """Lines of the input, without their end; None for one that is too long."""
    pending = bytearray()
    skipping = False
    while data := os.read(source, 1 << 16):
        pending += data
        while (end := pending.find(b"\n")) >= 0:
            line = bytes(pending[:end])
            del pending[: end + 1]
            if skipping:
                skipping = False
                yield None
            elif line.strip():
                yield None if len(line) > LINE_BYTES else line
        if len(pending) > LINE_BYTES:
            skipping = True
            pending.clear()


def _write(sink: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(sink, view) :]


def _take_stdio() -> tuple[int, int]:
    """Copies of descriptors 0 and 1 for us; nothing and standard error for everybody else."""
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.stdout.flush()
    os.dup2(2, 1)
    return source, sink


def _die_with_parent() -> None:
    """Ask Linux to kill this process when the one that started it ends, even by SIGKILL; and to adopt what codecs leave.

    The end of the input does it otherwise, but not while a codec hangs. A process whose parent has ended becomes a child
    of this one, so that who started this one finds and ends it.
    """
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    parent = os.getppid()
    try:
        prctl = ctypes.CDLL(None).prctl
        prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
        prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (OSError, AttributeError):
        return
    if os.getppid() != parent:
        os._exit(0)
