"""A server of this machine that speaks S3's language."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.capabilities import need_module


@contextlib.contextmanager
def bucket(log: Path) -> Iterator[str]:
    """A server with the bucket ``bucket``, and a line in a log for each request; its endpoint."""
    need_module("moto.server")
    need_module("obstore")
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=file)
    try:
        until = time.monotonic() + 120
        while (
            found := re.search(rb"Running on (http://127\.0\.0\.1:[1-9][0-9]*)", log.read_bytes())
        ) is None:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, "the server does not come"
            time.sleep(0.05)
        url = found.group(1).decode()
        request = urllib.request.Request(f"{url}/bucket", method="PUT")
        urllib.request.urlopen(request, timeout=60).close()
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
