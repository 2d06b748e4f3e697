"""One server of S3's language for all tests that ask it: they are of one group, and each has a prefix of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.s3_server import bucket


@pytest.fixture(scope="session")
def s3_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file in which the server logs each request."""
    return tmp_path_factory.mktemp("server") / "log"


@pytest.fixture(scope="session")
def s3_server(s3_log: Path) -> Iterator[str]:
    """A bucket; its endpoint."""
    with bucket(s3_log) as url:
        yield url
