"""Workers that tests share: starting one takes longer than most of what a test asks it."""

from __future__ import annotations

import atexit
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from support.worker_requests import worker_command
from tare.measure.worker_client.client import Worker

__all__ = ["in_one_process", "shared_worker"]

_workers: dict[tuple[tuple[str, ...], str], Worker] = {}


@contextmanager
def shared_worker(language: str, role: str = "", command: Sequence[str] = ()) -> Iterator[Worker]:
    """Yield the worker of a language that tests of this process share, with whatever an earlier test loaded.

    Args:
        language: Python's own is ``python``.
        role: Workers with different roles are different processes, e.g. both ends of a connection.
        command: Program and arguments, if not those of the language's worker.
    """
    key = tuple(command or worker_command(language)), role
    worker = _workers.get(key)
    if worker is None or not worker.alive:
        if worker is not None:
            worker.close()
        worker = _workers[key] = Worker(role or language, key[0])
    yield worker


def in_one_process(language: str) -> pytest.MarkDecorator:
    """Mark tests of a language that one process of xdist is to run, so that its worker starts once."""
    return pytest.mark.xdist_group(f"worker {language}")


@atexit.register
def _close() -> None:
    """End all workers."""
    while _workers:
        _workers.popitem()[1].close()
