"""Private directories that do not outlive whoever made them.

One base directory a process, locked (``flock``) as long as the process lives, one
directory a worker inside. A base directory whose lock can be taken belongs to a
process that was killed; the next one to start removes it.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import tempfile
import threading
from pathlib import Path

__all__ = ["PREFIX", "make", "remove"]

PREFIX = "tare-run-"
_LOCK = ".lock"
_bases: dict[str, tuple[Path, int]] = {}
_guard = threading.Lock()  # workers are started from several threads


def make(workdir: str | os.PathLike[str] | None = None) -> Path:
    """Make a private directory (mode 0700).

    Args:
        workdir: Where; None for the system's directory for temporary files.

    Raises:
        OSError: Nothing can be created there.
    """
    parent = os.path.abspath(workdir if workdir is not None else tempfile.gettempdir())
    with _guard:
        kept = _bases.get(parent)
        if kept is None or not kept[0].is_dir():
            _sweep(parent)
            kept = _bases[parent] = _base(parent)
    return Path(tempfile.mkdtemp(prefix="worker-", dir=kept[0]))


def remove(path: str | os.PathLike[str]) -> None:
    """Remove a directory with all that is in it; what cannot be removed stays."""
    shutil.rmtree(path, ignore_errors=True)


def _base(parent: str) -> tuple[Path, int]:
    # Locked under another name first: a directory that bears the prefix is never without its lock.
    new = Path(tempfile.mkdtemp(prefix=".tare-new-", dir=parent))
    descriptor = os.open(new / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    _try_lock(descriptor)
    path = new.with_name(PREFIX + new.name.removeprefix(".tare-new-"))
    new.rename(path)
    if not _bases:
        atexit.register(_remove_bases, os.getpid())
    return path, descriptor


def _remove_bases(owner: int) -> None:
    if os.getpid() != owner:
        return  # a forked child must not remove its parent's directories
    for path, descriptor in _bases.values():
        remove(path)
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _bases.clear()


def _sweep(parent: str) -> None:
    """Remove what killed processes of this user left."""
    for path in Path(parent).glob(f"{PREFIX}*"):
        try:
            if path.is_symlink() or path.stat().st_uid != os.getuid():
                continue
            descriptor = os.open(path / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            if _try_lock(descriptor):
                remove(path)
        finally:
            os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
