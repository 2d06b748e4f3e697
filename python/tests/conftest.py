"""Fixtures and hooks of every test: ``root``, ``shared``, the number of examples, short names for long parameters."""

from __future__ import annotations

import os
import signal
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from support.capabilities import ROOT, need, unavailable
from support.soak import scaled

_LONGEST_NAME = 200
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)

# No deadline for one example: a busy machine is no fault of the code.
settings.register_profile("tare", deadline=None, max_examples=scaled(50, 500))
settings.load_profile("tare")

# A shell ignores Ctrl-C for what it starts in the background, and every child would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What is printed into a pipe is as wide as this says, and tests expect the usual width.
os.environ.pop("COLUMNS", None)


def pytest_make_parametrize_id(val: object) -> str | None:
    """A long value is named by its length and a checksum: pytest puts the name of a test into the environment of its children."""
    if not isinstance(val, (str, bytes)) or len(val) <= _LONGEST_NAME:
        return None
    data = val if isinstance(val, bytes) else val.encode("utf-8", "surrogatepass")
    return f"{len(val)}-{zlib.crc32(data):08x}"


@pytest.fixture(autouse=True)
def process_stays_as_it_was() -> Iterator[None]:
    """Fail a test that leaves the process with another signal handler or working directory, and restore them.

    Without that, later tests fail, or, where SIGPIPE has its default action, end the process.
    """
    folder, handlers = os.getcwd(), {number: signal.getsignal(number) for number in _SIGNALS}
    yield
    changed = []
    if (now := _working_directory()) != folder:
        os.chdir(folder)
        changed.append(f"working directory: expected {folder}, got {now}")
    for number, before in handlers.items():
        if (after := signal.getsignal(number)) is not before:
            signal.signal(number, before)
            changed.append(f"handler of {number.name}: expected {before}, got {after}")
    assert not changed, f"the test left the process changed: {'; '.join(changed)}"


def _working_directory() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "a directory that was removed"


@pytest.fixture
def two_threads() -> Iterator[None]:
    """Let Arrow have two threads, whatever the machine has."""
    import pyarrow as pa

    before = pa.cpu_count()
    pa.set_cpu_count(2)
    yield
    pa.set_cpu_count(before)


@pytest.fixture
def no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail whoever makes documents of a text of JSON."""
    from tare.datasets import documents

    def fail(*_: object) -> None:
        raise AssertionError("values became Python's")

    monkeypatch.setattr(documents, "parse_lines", fail)
    monkeypatch.setattr(documents, "parse_whole", fail)


@pytest.fixture
def root() -> Path:
    """The top folder of the repository."""
    return ROOT


@pytest.fixture
def shared() -> Callable[[str], Path]:
    """``shared("data/x.csv")``: a path under ``TARE_SHARED`` (default: ``../shared``)."""
    folder = Path(os.environ.get("TARE_SHARED", ROOT.parent / "shared"))

    def find(path: str = "") -> Path:
        found = folder / path
        if os.environ.get("TARE_SHARED") or folder.is_dir():
            need(found.exists(), f"the shared file {path!r} is not under {folder}")
        elif not found.exists():
            # The shared data is not part of the repository: a lone clone goes without.
            unavailable(f"no shared data at {folder}; set TARE_SHARED")
        return found

    return find
