"""`messages`: whole values over fifos, sockets, TCP and files, in any codec that runs no code.

>>> import tare
>>> with tare.listen("tcp://127.0.0.1:0", "json") as server:
...     client = tare.connect(server.url, "json")
...     with server.accept(timeout=10) as conn, client:
...         client.send_all([{"a": 1}, [2.5, None]])
...         client.close()
...         list(conn)
2
[{'a': 1}, [2.5, None]]

Sending and receiving:
    connect, listen   a `Connection`, and a `Server` that accepts them
    wait              which of several have a whole message, an end, or an error
    aio               the same for asyncio

A clean end is `EndOfStream`; a stream that is cut is `tare.errors.Truncated`. Both are an
``EOFError``: catch `EndOfStream`, or iterate.
"""

from __future__ import annotations

import importlib
from typing import Any

from tare.messages.connection import Connection
from tare.messages.ends import EndOfStream, Status
from tare.messages.opening import connect, listen
from tare.messages.server import Server
from tare.messages.waiting import wait

__all__ = ["Connection", "EndOfStream", "Server", "Status", "aio", "connect", "listen", "wait"]


def __getattr__(name: str) -> Any:
    if name == "aio":  # asyncio costs more to import than all the rest
        return importlib.import_module("tare.messages.aio")
    raise AttributeError(f"module 'tare.messages' has no attribute {name!r}")
