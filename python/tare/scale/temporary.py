"""What passes through this machine's temporary folder: copies of objects, results on their way to a bucket, plans.

Each stands in a folder that tells its process, as attempts in ``.tare/writing`` do, so that what a killed one left is found.
"""

from __future__ import annotations

import os
import re
import tempfile

from tare.scale.attempts import attempt_of, is_dead, sweep

__all__ = ["prefix", "sweep_temporary"]

_NAME = re.compile(r"tare-(get|put|plan)\.")


def prefix(what: str) -> str:
    """How the name of a temporary folder of this process begins.

    Args:
        what: ``get``, ``put`` or ``plan``.
    """
    return attempt_of(f"tare-{what}", "")


def sweep_temporary() -> int:
    """Remove what processes left that can be seen to be gone, for whichever destination; how many files.

    Never by its age: a plan is written once, and read as long as its run takes. A number that another process has by now
    is one that lives, until that has ended too.
    """
    own = os.getuid()

    def is_over(one: os.DirEntry[str]) -> bool:
        if not _NAME.match(one.name) or not one.is_dir(follow_symlinks=False):
            return False
        return one.stat(follow_symlinks=False).st_uid == own and is_dead(one.name)

    return sweep(tempfile.gettempdir(), is_over)
