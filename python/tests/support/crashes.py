"""Processes that end in the middle of their work, and the files that they leave."""

from __future__ import annotations

import hashlib
import os
import random
from pathlib import Path
from typing import Any

from support.soak import scaled

__all__ = ["end_at_step", "some_steps", "visible_hashes"]


def visible_hashes(folder: Path) -> dict[str, str]:
    """Return the names and hashes of the files that a reader sees, without receipts."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".tare" not in path.parts
    }


def some_steps() -> range:
    """Return steps to end at: each of them in ``make soak``, else every fourth from one that the run's seed and the test choose."""
    stride = scaled(4, 1)
    seed = f"{os.environ.get('TARE_TEST_SEED', '')} {os.environ.get('PYTEST_CURRENT_TEST', '')}"
    return range(random.Random(seed).randrange(stride), 200, stride)


def end_at_step(number: int) -> None:
    """Let this process end instead of its nth change of the file system."""
    left = [number]

    def counting(real: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            if left[0] == 0:
                os._exit(9)
            left[0] -= 1
            return real(*args, **options)

        return call

    for name in ("replace", "fsync", "unlink", "makedirs", "rename", "rmdir"):
        setattr(os, name, counting(getattr(os, name)))
