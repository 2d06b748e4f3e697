"""The command line within this process: most of what a command takes as a process is its start."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path
from unittest import mock

from click.testing import CliRunner

from tare import cli

__all__ = ["invoke", "invoke_bytes"]


def invoke(*words: str, cwd: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
    """Run ``tare WORDS`` in a folder, in this process; its exit code and output are those of a process."""
    done = invoke_bytes(*words, cwd=cwd, stdin=stdin)
    out, err = (text.decode("utf-8", "surrogateescape") for text in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(words, done.returncode, out, err)


def invoke_bytes(*words: str, cwd: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """As `invoke`, where output is bytes."""
    code: object = 0
    with (
        contextlib.chdir(cwd),
        mock.patch.object(sys, "argv", ["tare", *words]),
        CliRunner().isolation(stdin) as (out, err, _),
    ):
        try:
            cli.main([*words])
        except SystemExit as ended:
            code = ended.code
        sys.stdout.flush()
        sys.stderr.flush()
    assert isinstance(code, int), code
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())
