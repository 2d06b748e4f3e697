"""Starting a process in isolation: own session, clean environment, pinned, limited.

Processes are started from one thread that lives as long as this process: Linux tells a
child of its parent's death when the *thread* that started it ends, and whoever asks for
a worker may do so from a thread of a pool.
"""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Spawned", "clean_environment", "spawn"]

_KEPT = (
    "PATH", "HOME", "SYSTEMROOT", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
    "R_HOME", "R_LIBS", "R_LIBS_USER", "R_LIBS_SITE", "JAVA_HOME", "NODE_PATH", "TARE_NODE_MODULES", "MONO_PATH",
    "XDG_CACHE_HOME", "XDG_DATA_HOME", "TARE_JAVA_CLASSES", "TARE_MONO_LIB",
)  # fmt: skip
"""What a runtime needs to be found and to find its libraries; nothing else is passed on."""


@dataclass
class Spawned:
    """A process that has been started: its handle and the ends of its pipes."""

    process: subprocess.Popen[bytes]
    stdin: int
    stdout: int
    stderr: int


def clean_environment(directory: Path, *, threads: int | str, hash_seed: int) -> dict[str, str]:
    """The environment of a worker.

    Args:
        directory: Its private directory; for temporary files.
        threads: 1 sets every library's own knob to one thread; ``all`` leaves them alone.
        hash_seed: Seed of Python's text hashes, 0 to 2^32 - 1.

    >>> env = clean_environment(Path("/x"), threads=1, hash_seed=7)
    >>> env["PYTHONHASHSEED"], env["OMP_NUM_THREADS"], "http_proxy" in env
    ('7', '1', False)
    """
    found = {name: os.environ[name] for name in _KEPT if name in os.environ}
    if folder := found.get("TARE_NODE_MODULES"):  # it starts in a folder of its own
        found["TARE_NODE_MODULES"] = os.path.abspath(folder)
    found |= {
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "TMPDIR": str(directory),
        "PYTHONHASHSEED": str(hash_seed),
        "PYTHONSAFEPATH": "1",
    }
    from tare.codec import thread_environment

    return found | thread_environment(threads)


def spawn(
    command: Sequence[str],
    directory: Path,
    environment: dict[str, str],
    *,
    cpu: int | None,
    memory_limit: int | None,
) -> Spawned:
    """Start a process as the leader of a new session.

    Args:
        command: Program and arguments.
        directory: Its working directory.
        environment: Its whole environment.
        cpu: CPU it is pinned to, from its first instruction; None for no pin.
        memory_limit: RLIMIT_DATA in bytes; None for no limit.

    Raises:
        OSError: The program cannot be started.
    """
    job: Future[Spawned] = Future()
    _queue().put((job, (list(command), directory, environment, cpu, memory_limit)))
    return job.result()


def _start(
    command: list[str],
    directory: Path,
    environment: dict[str, str],
    cpu: int | None,
    memory_limit: int | None,
) -> Spawned:
    before = _pin(cpu)
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd=directory, env=environment, start_new_session=True, bufsize=0,
        )  # fmt: skip
    finally:
        if before is not None:
            os.sched_setaffinity(0, before)
    if memory_limit is not None and sys.platform.startswith("linux"):
        import resource

        with contextlib.suppress(OSError):  # it may have died already; whoever waits for it will tell
            resource.prlimit(process.pid, resource.RLIMIT_DATA, (memory_limit, memory_limit))
    ends = [pipe.fileno() for pipe in (process.stdin, process.stdout, process.stderr) if pipe is not None]
    for end in ends:
        os.set_blocking(end, False)
    return Spawned(process, *ends)


def _pin(cpu: int | None) -> set[int] | None:
    """Pin this thread, so that its next child is born pinned; what it was allowed before."""
    if cpu is None or not hasattr(os, "sched_setaffinity"):
        return None
    before = os.sched_getaffinity(0)
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, {cpu})
        return before
    return None


_Job = tuple["Future[Spawned]", tuple[list[str], Path, dict[str, str], "int | None", "int | None"]]
_thread: tuple[int, queue.SimpleQueue[_Job]] | None = None
_lock = threading.Lock()


def _queue() -> queue.SimpleQueue[_Job]:
    global _thread  # noqa: PLW0603 -- one thread a process, made when first needed
    with _lock:
        if _thread is None or _thread[0] != os.getpid():
            _thread = (os.getpid(), queue.SimpleQueue())
            threading.Thread(target=_serve, args=(_thread[1],), name="tare-spawn", daemon=True).start()
        return _thread[1]


def _serve(jobs: queue.SimpleQueue[_Job]) -> None:
    while True:
        job, arguments = jobs.get()
        try:
            job.set_result(_start(*arguments))
        except BaseException as error:
            job.set_exception(error)
