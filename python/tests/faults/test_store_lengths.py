"""Lengths in an index that somebody forged, or that a disk damaged: told as damage, and nothing is reserved by them."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tare import open_store

MIB = 1 << 20
# Reads a key with little memory beside; what it was, or the kind of the error.
READ = """
import resource, sys
from tare import open_store
from tare.errors import StoreError
url, how = sys.argv[1:]
with open_store(url, mode="r") as store:
    pages = int(open("/proc/self/statm").read().split()[0])
    most = pages * resource.getpagesize() + (256 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    try:
        if how == "open":
            with store.open("k") as file:
                got = file.read()
        elif how == "mget":
            got = store.mget(["k"])[0]
        elif how == "view":
            got = bytes(store.view("k"))
        else:
            got = store.get("k")
        print("right" if bytes(got) == open(url + "/value", "rb").read() else "wrong")
    except StoreError as error:
        print(type(error).__name__, error)
"""


@pytest.fixture(params=["none", "zstd:3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A store with one large object, in a file of its own."""
    value = random.Random(0).randbytes(MIB // 2) + bytes(MIB // 2)
    with open_store(tmp_path / "store", compressor=request.param) as made:
        made.set("k", value, codec="raw")
    (tmp_path / "store/value").write_bytes(value)
    return tmp_path / "store"


@pytest.mark.parametrize("how", ["get", "mget", "open", "view"])
@pytest.mark.parametrize("column", ["plain_len", "stored_len"])
@pytest.mark.parametrize("number", [0, 1, MIB - 1, MIB + 1, 6 << 30, 9 * 10**18, -1])
def test_a_length_that_is_not_right_is_damage(store: Path, column: str, number: int, how: str) -> None:
    """By whatever it is read."""
    with sqlite3.connect(store / "index.sqlite") as index:
        index.execute(f"UPDATE objects SET {column} = ?", (number,))
    index.close()
    done = subprocess.run(
        [sys.executable, "-c", READ, store, how], capture_output=True, text=True, check=False, timeout=120,
        env={"PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Corrupt "), done.stdout


@pytest.mark.parametrize("how", ["get", "mget", "open", "view"])
def test_what_is_right_is_read(store: Path, how: str) -> None:
    """In the same memory."""
    done = subprocess.run(
        [sys.executable, "-c", READ, store, how], capture_output=True, text=True, check=False, timeout=120,
        env={"PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("right\n", "")
