"""The end of the program, before a library's threads can spoil it.

Arrow's threads let go of what they read after the call that read it has returned. One that lets go of a
Python object while the interpreter is torn down aborts the process (apache/arrow#34314, #36389) or waits
for ever (#33975, #50482): all work done, and exit code 134.
"""

from __future__ import annotations

import atexit
import os
import sys

__all__ = ["Leaving"]


class Leaving:
    """The last thing that the program does, if Arrow was loaded: end without a teardown.

    To be made before anything else asks to be called at the end: such calls are made latest first, so that
    all of them come before this one. Threads that are not daemons have ended by then.

    >>> Leaving().code is None
    True
    """

    def __init__(self) -> None:
        #: The exit code; None leaves the end to the interpreter.
        self.code: int | None = None
        atexit.register(self._leave)

    def _leave(self) -> None:
        if self.code is None or "pyarrow" not in sys.modules:
            return
        for stream in (sys.stdout, sys.stderr):
            try:
                if stream is not None:  # as under a service that closed it
                    stream.flush()
            except (OSError, ValueError):
                return  # the interpreter says so, and exits with 120
        os._exit(self.code)
