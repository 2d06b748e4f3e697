"""The end of the program while a thread of Arrow still holds what it reads."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest
from support.capabilities import need_linux

READING = textwrap.dedent(
    """
    import io, sys, time
    from tare import cli
    import pyarrow.csv as csv

    class Slow(io.RawIOBase):
        calls = 0

        def readable(self):
            return True

        def read(self, size=-1):
            Slow.calls += 1
            if Slow.calls > 1:
                time.sleep(0.5)  # a thread of Arrow is here when the program ends
            return b"a\\n" + b"1\\n" * (1 << 19)

    def work(*_, **__):
        global reader
        reader = csv.open_csv(Slow(), read_options=csv.ReadOptions(block_size=1 << 16))
        reader.read_next_batch()
        {last}

    cli.tare.main = work
    cli.main()
    """
)


def end(last: str) -> subprocess.CompletedProcess[str]:
    text = READING.format(last=last)
    return subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    ("last", "code"),
    [
        ("print('written', end='')", 0),
        ("print('written', end=''); return 3", 3),
        ("print('written', end=''); raise SystemExit(143)", 143),
    ],
)
def test_the_program_ends_with_its_own_code(last: str, code: int) -> None:
    """Nothing that Arrow does at the end changes the exit code, and all that was printed is there."""
    done = end(last)
    assert (code, "written", "") == (done.returncode, done.stdout, done.stderr)


def test_what_asks_to_be_called_at_the_end_is_called() -> None:
    """Files of the program's own are removed, servers stopped, whoever asked."""
    done = end("import atexit; atexit.register(print, 'removed')")
    assert (0, "removed\n", "") == (done.returncode, done.stdout, done.stderr)


def test_who_gives_arguments_goes_on() -> None:
    """In a larger program the command line ends nothing but itself."""
    done = subprocess.run(
        [sys.executable, "-c", "import pyarrow\nfrom tare.cli import main\n"
         "try:\n    main(['--version'])\nexcept SystemExit:\n    pass\nraise SystemExit(7)"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 7, done.stderr


def test_output_that_cannot_be_written_is_no_success() -> None:
    """A full disk under standard output is told by the interpreter, with 120."""
    need_linux("/dev/full")
    text = "import pyarrow\nfrom tare import cli\ncli.tare.main = lambda **_: print('x')\ncli.main()"
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", text],
            stdout=full, stderr=subprocess.PIPE, timeout=60, check=False,
            env={**os.environ, "PYTHONUNBUFFERED": ""},
        )  # fmt: skip
    assert done.returncode == 120, done.stderr
