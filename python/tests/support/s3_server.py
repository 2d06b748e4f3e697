"""A server of this machine that speaks S3's language."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import need


@contextlib.contextmanager
def bucket(log: Path) -> Iterator[str]:
    """A server with the bucket ``bucket``, and a line in a log for each request; its endpoint."""
    try:
        import moto  # noqa: F401
        import obstore  # noqa: F401
    except ImportError as error:
        need(False, f"{error.name} is not installed")
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port = chosen.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=file)
    url = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + 60
        while True:
            try:
                request = urllib.request.Request(f"{url}/bucket", method="PUT")
                with urllib.request.urlopen(request, timeout=5):
                    break
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
        yield url
    finally:
        process.kill()
        process.wait()


def sign_in(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    """Have this process, and those that it starts, ask the server with credentials of a test."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-the-test")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
