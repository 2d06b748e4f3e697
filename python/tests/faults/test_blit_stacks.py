"""What calls itself on threads of small stacks ends with an error, never with the process."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tare import blit, errors

SCRIPT = """
import sys, threading
from tare import blit
from tare.errors import Limit

class Left:
    def __init__(self, n):
        self.n = n

def bare(left):
    return Left(left.n - 1) if left.n else 1

def listed(left):
    return [Left(left.n - 1)] if left.n else 1

# More values than are counted one by one, and behind them some that are far inside each other.
deep = blit.view(blit.from_json(b"[" * 1000 + b"]" * 1000))
many = b'{"a":[' + b'{"b":1},"c",' * 600_000 + b'1],"d":'
wide = blit.view(blit.from_json(many + b"[" * 1000 + b"]" * 1000 + b"}"))
works = {
    "ten of default": lambda: blit.encode(Left(10), default=bare),
    "default": lambda: blit.encode(Left(250), default=bare),
    "default in lists": lambda: blit.encode(Left(250), default=listed),
    "deep": lambda: blit.encode([deep]),
    "wide": lambda: blit.encode([wide]),
}

def run():
    for name, work in works.items():
        try:
            work()
        except Limit as error:
            assert "levels" in str(error), error
            assert name != "ten of default"
    print("ended")

threading.stack_size(int(sys.argv[1]) << 10)
thread = threading.Thread(target=run)
thread.start()
thread.join()
"""


@pytest.mark.parametrize("kib", [64, 128, 256, 1024])
def test_threads_of_small_stacks_end_with_an_error(kib: int) -> None:
    """In a process of its own, which a stack that overflows would end."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(kib)], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")


@pytest.mark.parametrize("kib", [256, 512])
def test_threads_of_small_stacks_are_safe(kib: int) -> None:
    """All of it, or a plain error, in this process."""
    nested: Any = 1
    entry: Any = 1
    for _ in range(1000):
        nested, entry = [nested], {"a": entry}
    data = [blit.encode(nested), blit.encode(entry)]
    texts = [blit.view(each).to_json() for each in data]
    works: list[Callable[[], object]] = [
        *(lambda value=value: blit.encode(value) for value in (nested, entry)),
        *(lambda each=each: blit.view(each).to_python() for each in data),
        *(lambda each=each: blit.view(each)[0 if each is data[0] else "a"].raw() for each in data),
        lambda: blit.encode([blit.view(data[0])]),
    ]
    ended: list[bool] = []

    def run() -> None:
        for each, text in zip(data, texts, strict=True):
            assert blit.view(each).to_json() == text
            assert blit.from_json(text) == each
            blit.view(each).validate(canonical=False)
        for work in works:
            # All of it, or a plain error: never the end of the process.
            with contextlib.suppress(errors.Limit):
                work()
        ended.append(True)

    before = threading.stack_size(kib << 10)
    try:
        thread = threading.Thread(target=run)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert ended == [True]
