"""Pairs of connected ends over every URL, and a loop's twin of them, for the tests of messages."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tare
from support.capabilities import need_openssl
from tare.messages import Connection, aio

__all__ = ["URLS", "Looped", "certificate", "paired", "paired_aio", "raw_peer"]

URLS = ("tcp", "unix", "abstract", "fifo", "file", "fd")
_SECONDS = 60.0


@contextlib.contextmanager
def paired(
    kind: str,
    folder: Path,
    codec: str | None = "json",
    *,
    reader: dict[str, Any] | None = None,
    **options: Any,
) -> Iterator[tuple[Connection, Connection]]:
    """Two ends, the writer first; what the reader alone takes is apart."""
    reading = {"codec": codec, "timeout": _SECONDS} | options | (reader or {})
    options = {"codec": codec, "timeout": _SECONDS} | options
    with contextlib.ExitStack() as ends:
        if kind in ("tcp", "unix", "abstract"):
            url = {
                "tcp": "tcp://127.0.0.1:0",
                "unix": f"unix:{folder}/s",
                "abstract": f"unix:@tare-{os.getpid()}-{folder.name}",
            }[kind]
            server = ends.enter_context(tare.listen(url, **reading))
            writer = ends.enter_context(_quiet(tare.connect(server.url, **options)))
            yield writer, ends.enter_context(_quiet(server.accept()))
            return
        if kind == "file":
            path = f"file:{folder}/messages"
            writer = ends.enter_context(_quiet(tare.connect(path, mode="w", **options)))
            follow = {"follow": True} | reading
            yield writer, ends.enter_context(_quiet(tare.connect(path, mode="r", **follow)))
            return
        if kind == "fifo":
            path = f"fifo:{folder}/pipe"
            made: list[Connection] = []
            thread = threading.Thread(target=lambda: made.append(tare.connect(path, mode="r", **reading)))
            thread.start()
            writer = ends.enter_context(_quiet(tare.connect(path, mode="w", **options)))
            thread.join(_SECONDS)
            yield writer, ends.enter_context(_quiet(made[0]))
            return
        out, into = os.pipe()
        writer = ends.enter_context(_quiet(tare.connect(f"fd:{into}", mode="w", **options)))
        yield writer, ends.enter_context(_quiet(tare.connect(f"fd:{out}", mode="r", **reading)))


@contextlib.contextmanager
def _quiet(end: Connection) -> Iterator[Connection]:
    """An end that is closed whatever became of it, and whoever of the other."""
    try:
        yield end
    finally:
        with contextlib.suppress(OSError, tare.TareError):
            end.close(timeout=1)


@contextlib.contextmanager
def raw_peer(codec: str | None = "raw", **options: Any) -> Iterator[tuple[socket.socket, Connection]]:
    """A bare socket, for peers that misbehave, and the connection at its other end."""
    mine, theirs = socket.socketpair()
    with mine:
        conn = tare.connect(f"fd:{theirs.detach()}", codec, **({"timeout": _SECONDS} | options))
        with _quiet(conn):
            yield mine, conn


def certificate(folder: Path, name: str, *, issuer: tuple[Path, Path] | None = None) -> tuple[Path, Path]:
    """A certificate for a name, and its key, made by the command of OpenSSL."""
    need_openssl()
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    command += ["-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"]
    if issuer is not None:
        command += ["-CA", str(issuer[0]), "-CAkey", str(issuer[1])]
        command += ["-addext", "basicConstraints=critical,CA:FALSE"]
    subprocess.run([*command, "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key


class Looped:
    """An asynchronous end whose verbs are called: each runs in a loop of its own thread.

    So that one set of tests is for both faces.
    """

    def __init__(self, end: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.end = end
        self.loop = loop

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.end, name)
        if not callable(value) or name in {"tell", "summary", "partial"}:
            return value

        def call(*args: Any, **keywords: Any) -> Any:
            async def run() -> Any:
                return await value(*args, **keywords)

            return asyncio.run_coroutine_threadsafe(run(), self.loop).result(60)

        return call

    def __iter__(self) -> Iterator[Any]:
        each = aiter(self.end)
        while True:
            try:
                yield asyncio.run_coroutine_threadsafe(_next(each), self.loop).result(60)
            except StopAsyncIteration:
                return


async def _next(each: Any) -> Any:
    return await anext(each)


@contextlib.contextmanager
def paired_aio(
    kind: str,
    folder: Path,
    codec: str | None = "json",
    *,
    reader: dict[str, Any] | None = None,
    **options: Any,
) -> Iterator[tuple[Any, Any]]:
    """As `paired`, over `tare.messages.aio`."""
    reading = {"codec": codec, "timeout": _SECONDS} | options | (reader or {})
    options = {"codec": codec, "timeout": _SECONDS} | options
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def opened() -> tuple[Any, Any, Any]:
        if kind in ("tcp", "unix", "abstract"):
            url = {
                "tcp": "tcp://127.0.0.1:0",
                "unix": f"unix:{folder}/s",
                "abstract": f"unix:@tare-a{os.getpid()}-{folder.name}",
            }[kind]
            server = await aio.listen(url, **reading)
            writer = await aio.connect(server.url, **options)
            return writer, await server.accept(), server
        if kind == "file":
            path = f"file:{folder}/messages"
            writer = await aio.connect(path, mode="w", **options)
            return writer, await aio.connect(path, mode="r", **({"follow": True} | reading)), None
        if kind == "fifo":
            path = f"fifo:{folder}/pipe"
            both = aio.connect(path, mode="w", **options), aio.connect(path, mode="r", **reading)
            writer, receiver = await asyncio.gather(*both)
            return writer, receiver, None
        out, into = os.pipe()
        writer = await aio.connect(f"fd:{into}", mode="w", **options)
        return writer, await aio.connect(f"fd:{out}", mode="r", **reading), None

    async def closed(*ends: Any) -> None:
        for end in ends:
            if end is not None:
                with contextlib.suppress(OSError, tare.TareError):
                    await end.close()
        await asyncio.sleep(0.01)

    try:
        writer, receiver, server = asyncio.run_coroutine_threadsafe(opened(), loop).result(60)
        try:
            yield Looped(writer, loop), Looped(receiver, loop)
        finally:
            asyncio.run_coroutine_threadsafe(closed(writer, receiver, server), loop).result(60)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
