"""A worker with codecs that misbehave, one way each, beside the real ones.

Run as a program it serves the worker protocol; nothing here is a test.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from tare import formats
from tare.formats.base import Format, Library

PARENT_SECONDS = 600


def encode(value: object) -> bytes:
    return json.dumps(value).encode()


def decode(data: bytes) -> Any:
    return json.loads(bytes(data))


def decode_nothing(data: bytes) -> None:
    decode(data)


def decode_lazily(data: bytes) -> Iterator[Any]:
    yield from decode(data)


def decode_swallowing(data: bytes) -> list[Any]:
    """The published CSV reader: an undefined connection, and the error swallowed."""
    try:
        return [connection.read() for connection in (undefined_connection,)]
    except NameError:
        return []


def decode_changing(data: bytes) -> Any:
    value = decode(data)
    value[-1] = value[-1] + 1
    return value


def decode_sleeping(data: bytes) -> Any:
    time.sleep(0.05)
    return decode(data)


def decode_hanging(data: bytes) -> Any:
    while True:
        time.sleep(PARENT_SECONDS)


def decode_hanging_stubbornly(data: bytes) -> Any:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return decode_hanging(data)


def decode_printing(data: bytes) -> Any:
    print("half of the data was read", flush=True)
    os.write(1, b'{"id":3,"ok":{}}\n')
    return decode(data)


def decode_hogging(data: bytes) -> Any:
    return [bytes(1 << 30) for _ in range(100)]


def decode_exiting(data: bytes) -> Any:
    sys.exit(3)


def decode_killed(data: bytes) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def decode_crashing(data: bytes) -> Any:
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGSEGV)


def decode_raising(data: bytes) -> Any:
    raise ValueError("line 7 is not a line\x00" + "x" * 5000)


def decode_panicking(data: bytes) -> Any:
    class Panic(BaseException):
        """What compiled codecs raise: no Exception."""

    raise Panic("index out of bounds")


def decode_forking(data: bytes) -> Any:
    if os.fork() == 0:
        time.sleep(PARENT_SECONDS)
        os._exit(0)
    return decode(data)


def decode_logging(data: bytes) -> Any:
    os.write(2, b"x" * 500_000 + b"the last words")
    return decode(data)


def encode_refusing(value: object) -> bytes:
    raise TypeError("Type is not JSON serializable: set")


def encode_nothing(value: object) -> None:
    return None


_DECODERS: dict[str, Callable[[bytes], Any]] = {
    "honest": decode,
    "nothing": decode_nothing,
    "lazy": decode_lazily,
    "swallow": decode_swallowing,
    "change": decode_changing,
    "sleep": decode_sleeping,
    "hang": decode_hanging,
    "stubborn": decode_hanging_stubbornly,
    "print": decode_printing,
    "hog": decode_hogging,
    "exit": decode_exiting,
    "kill": decode_killed,
    "crash": decode_crashing,
    "raise": decode_raising,
    "panic": decode_panicking,
    "fork": decode_forking,
    "log": decode_logging,
}
_ENCODERS = {"refuse": encode_refusing, "encode-nothing": encode_nothing}


def libraries() -> tuple[Library, ...]:
    """One library for each way to misbehave."""
    native = {"document": "python"}
    decoders = [Library(name, native, encode, function) for name, function in _DECODERS.items()]
    encoders = [Library(name, native, function, decode) for name, function in _ENCODERS.items()]
    return (*decoders, *encoders)


def register() -> None:
    """Add the format ``planted`` to the registry of this process."""
    planted = Format("planted", "Planted faults", (".planted",), frozenset({"document"}), libraries())
    formats.FORMATS = (*formats.FORMATS, planted)


if __name__ == "__main__":
    from tare.measure.worker.main import main

    register()
    main()
