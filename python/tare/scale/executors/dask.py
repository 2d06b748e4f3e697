"""Dask: a cluster of the user's, or a scheduler and workers of our own on this machine.

Futures are released as soon as they are read: Dask computes finished tasks again when the worker that held
their results dies. Deaths are counted by the loop, so our own scheduler allows none.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from tare._version import __version__
from tare.errors import UsageError
from tare.scale.executors.base import THREADS, Engine
from tare.scale.preflight import EngineError, EngineMissing
from tare.scale.unit import unit_key

__all__ = ["Cluster", "DaskEngine"]

_START_S = 60.0
_CONNECT_S = 10.0
_NAMED = 5
_ABSENT = re.compile(r"No module named \\?'([\w.]+)")
_GRACE_S = 3.0
_NUMBER = itertools.count()
_GONE = "dask: the scheduler has gone; what is done is kept"

# Reads a process group a line. When its input ends without the word `end`, whoever wrote was killed: it ends them.
_WATCH = """
groups=
while read -r group; do
  [ "$group" = end ] && exit
  groups="$groups $group"
done
for group in $groups; do kill -s TERM -- "-$group"; done
sleep 2
for group in $groups; do kill -s KILL -- "-$group"; done
"""


class Cluster:
    """A scheduler and workers, each a process of its own, on loopback; ended by their own pids.

    Args:
        workers: How many.
        nanny: Whether each has a process that starts it again when it dies.
    """

    def __init__(self, workers: int, *, nanny: bool = True) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tare-dask-")
        self.file = os.path.join(self._folder.name, "scheduler.json")
        environment = {
            **os.environ,
            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0",
            **(dict.fromkeys(THREADS, "1") if workers > 1 else {}),
        }
        self._watcher = subprocess.Popen(
            ["sh", "-c", _WATCH], stdin=subprocess.PIPE, start_new_session=True, text=True, bufsize=1
        )
        dask = [sys.executable, "-m", "dask"]
        self.scheduler = self._start(
            [*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
             "--scheduler-file", self.file],
            environment,
        )  # fmt: skip
        self._await_file()
        self.workers = [
            self._start(
                [*dask, "worker", "--scheduler-file", self.file, "--host", "127.0.0.1", "--nworkers", "1",
                 "--nthreads", "1", "--no-dashboard", "--resources", "bench=1", "--local-directory",
                 os.path.join(self._folder.name, f"w{k}"), "--nanny" if nanny else "--no-nanny"],
                environment,
            )
            for k in range(workers)
        ]  # fmt: skip

    def close(self) -> None:
        """End them all; they get a moment to tidy up."""
        processes = [*self.workers, self.scheduler]
        for process in processes:
            _signal(process, signal.SIGTERM)
        until = time.monotonic() + _GRACE_S
        for process in processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, until - time.monotonic()))
            _signal(process, signal.SIGKILL)
            process.wait()
        with contextlib.suppress(BrokenPipeError):
            self._watcher.communicate("end\n", timeout=_GRACE_S)
        with contextlib.suppress(OSError):
            self._folder.cleanup()

    def _start(self, command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
        log = open(os.path.join(self._folder.name, "log"), "ab")
        with log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )
        if self._watcher.stdin is not None:
            self._watcher.stdin.write(f"{process.pid}\n")
        return process

    def _await_file(self) -> None:
        until = time.monotonic() + _START_S
        while time.monotonic() < until:
            with contextlib.suppress(OSError, ValueError), open(self.file, encoding="utf-8") as file:
                json.load(file)
                return
            if self.scheduler.poll() is not None:
                break
            time.sleep(0.05)
        with open(os.path.join(self._folder.name, "log"), encoding="utf-8", errors="replace") as log:
            tail = log.read()[-500:]
        raise EngineError(f"dask: its scheduler did not start: {tail}")


class DaskEngine(Engine):
    """Units as tasks of a Dask cluster.

    Args:
        text: ``dask``, ``dask://host:port`` or ``dask+file:PATH``.
        workers: How many to start, for ``dask``.
        patience: Seconds to wait for the scheduler and the first worker of a cluster of the user's. Those that are
            started here are known to come.
    """

    repeats = True

    def __init__(self, text: str, workers: int, patience: float = _START_S) -> None:
        try:
            distributed: Any = importlib.import_module("distributed")
        except ImportError as error:
            raise EngineMissing("--executor dask needs distributed: pip install distributed") from error
        self.name = "dask"
        self._own: Cluster | None = None
        given: dict[str, Any] = {}
        if text == "dask":
            self._own = Cluster(workers)
            given["scheduler_file"] = self._own.file
        elif text.startswith("dask+file:"):
            given["scheduler_file"] = text.partition(":")[2]
            if not os.path.exists(given["scheduler_file"]):
                self.close()
                raise EngineError(f"{given['scheduler_file']}: no scheduler has written this file")
        elif text.startswith("dask://"):
            given["address"] = f"tcp://{text.removeprefix('dask://')}"
        else:
            raise UsageError(f"--executor {text!r:.60}: dask, dask://host:port or dask+file:PATH")
        try:
            patience = _START_S if self._own else patience
            self._client = distributed.Client(
                **given, timeout=min(_CONNECT_S, patience), set_as_default=False
            )
            self._await_workers(text, workers if self._own else 1, patience)
        except (OSError, TimeoutError, ValueError) as error:
            self.close()
            raise EngineError(f"{text}: no scheduler answers: {error}") from error
        except EngineError:
            self.close()
            raise
        self._known: set[str] = set()
        self._count()

    def _await_workers(self, text: str, count: int, patience: float) -> None:
        try:
            self._client.wait_for_workers(count, timeout=patience)
        except TimeoutError as error:
            raise EngineError(
                f"{text}: its scheduler answers, but had no worker for {patience:g} s: start some "
                "(`dask worker ADDRESS`), or wait longer with --worker-timeout"
            ) from error

    def submit(self, unit: dict[str, Any], settings: Mapping[str, Any]) -> Future[dict[str, Any]]:
        """Begin a unit; nothing is kept on the cluster."""
        from tare.scale.running import run_unit

        key = f"tare-{unit_key(unit)}-{settings.get('attempt', 1)}-{os.getpid()}-{next(_NUMBER)}"
        resources = unit.get("needs", {}).get("resources") or None
        there = self._client.submit(
            run_unit, unit, dict(settings), key=key, pure=False, retries=0, resources=resources
        )
        ours = _Linked(there)
        there.add_done_callback(lambda future: _hand_over(future, ours))
        return ours

    def is_death(self, error: BaseException) -> bool:
        """Whether a worker died with the unit, or with it in its queue."""
        return type(error).__name__ == "KilledWorker"

    def who_died(self, error: BaseException) -> str:
        """The address of the worker; each unit that it had tells it."""
        return str(getattr(getattr(error, "last_worker", None), "address", ""))

    def give_up(self) -> None:
        """Our own workers are started again; those of others go on with what they have."""
        if self._own is not None:
            self._client.restart(timeout=_START_S, wait_for_workers=True)

    def probe(self, settings: Mapping[str, Any], uri: str) -> list[dict[str, Any]]:
        """Each worker reaches the first input and the destination, and the scheduler can pass units on."""
        from tare.scale.preflight import probe
        from tare.scale.running import run_unit

        try:  # it loads what it passes on
            self._client.run_on_scheduler(callable, run_unit)
        except Exception as error:
            raise EngineError(f"dask: the scheduler: {_lack(error, 'dask scheduler')}") from error
        told = self._client.run(probe, dict(settings), uri, on_error="return")
        _check_answers(told)
        self._known = set(told)
        known = self._client.scheduler_info(**_all_workers(self._client))["workers"]
        return [
            {**one, "bench": int(known.get(address, {}).get("resources", {}).get("bench", 0))}
            for address, one in told.items()
        ]

    def newcomers(self, settings: Mapping[str, Any], uri: str) -> list[dict[str, Any]]:
        """What workers say that joined the cluster since it was last asked."""
        from tare.scale.preflight import probe

        try:
            late = sorted(self._count() - self._known)
            told = (
                self._client.run(probe, dict(settings), uri, workers=late, on_error="return") if late else {}
            )
        except (OSError, TimeoutError, ValueError, RuntimeError):
            return []  # a scheduler that has gone: `alive` finds out
        told = {address: one for address, one in told.items() if not isinstance(one, OSError)}  # left again
        _check_answers(told)
        self._known |= set(told)
        return list(told.values())

    def alive(self) -> bool:
        """Whether the scheduler answers and has a worker."""
        if self._own is not None and self._own.scheduler.poll() is not None:
            raise EngineError(_GONE)
        try:
            return bool(self._client.nthreads())
        except (OSError, TimeoutError, ValueError, RuntimeError):
            return False

    def _count(self) -> set[str]:
        """The addresses of all workers; each thread of theirs takes a unit."""
        threads = self._client.nthreads()
        self.workers = max(1, sum(threads.values()))
        return set(threads)

    def close(self) -> None:
        """Leave the cluster; end it if it is our own."""
        with contextlib.suppress(Exception):
            self._client.close(timeout=_GRACE_S)
        if self._own is not None:
            self._own.close()


class _Linked(Future[dict[str, Any]]):
    """A future whose cancelling reaches the cluster."""

    def __init__(self, there: Any) -> None:
        super().__init__()
        self._there = there

    def cancel(self) -> bool:
        """Cancel it here, and there as far as that goes."""
        with contextlib.suppress(Exception):
            self._there.cancel()
        return super().cancel()


def _check_answers(told: Mapping[str, Any]) -> None:
    """Name every worker that cannot even load what asks it: most often it has no Tare.

    Raises:
        EngineError: There is such a worker.
    """
    lacking: dict[str, list[str]] = {}
    for address, answer in told.items():
        if isinstance(answer, BaseException):
            lacking.setdefault(_lack(answer), []).append(address)
    if not lacking:
        return
    said = []
    for lack, some in lacking.items():
        more = f" and {len(some) - _NAMED:,} more" if len(some) > _NAMED else ""
        said.append(f"worker{'s' * (len(some) > 1)} {', '.join(some[:_NAMED])}{more}: {lack}")
    raise EngineError(f"dask: {'; '.join(said)}")


def _lack(error: BaseException, command: str = "dask worker") -> str:
    """What a worker lacks, or the scheduler, and what to do."""
    absent = _ABSENT.search(str(error))  # Dask gives the text alone of what its own thread met
    if absent:
        install = (
            f"install Tare {__version__} in the Python that runs `dask worker` there, and start it again"
        )
        return f"no module '{absent[1]}': {install}"
    if isinstance(error, OSError):
        return f"does not answer: {error}"
    return f"cannot run Tare: {type(error).__name__}: {str(error)[:200]}"


def _all_workers(client: Any) -> dict[str, int]:
    """For `scheduler_info`: some versions tell of five workers unless they are asked for all."""
    return {"n_workers": -1} if "n_workers" in inspect.signature(client.scheduler_info).parameters else {}


def _hand_over(there: Any, ours: Future[dict[str, Any]]) -> None:
    """The result, and nothing of it stays on the cluster."""
    if ours.cancelled():
        return
    if there.status == "lost":  # its worker died behind it; the scheduler has it done again
        there.add_done_callback(lambda future: _hand_over(future, ours))
        return
    try:
        if there.status == "finished":
            ours.set_result(_fetched(there))
        elif there.status == "error":
            ours.set_exception(there.exception())
        else:  # cancelled by nobody here
            ours.set_exception(EngineError(_GONE))
    except Exception as error:
        with contextlib.suppress(Exception):
            ours.set_exception(error)
    finally:
        with contextlib.suppress(Exception):
            there.release()


def _fetched(there: Any) -> dict[str, Any]:
    """What a unit that is done gave: the scheduler passes it on, and may go before it has.

    Raises:
        EngineError: It has gone; the unit has no part in that.
        Exception: What the unit met that was done again meanwhile, or why its result cannot be read.
    """
    try:
        found: dict[str, Any] = there.result()
    except Exception as error:
        own = there.status == "error"
        lost = there.status == "cancelled" or there.client.status != "running"
        if not own and (lost or isinstance(error, OSError)):
            raise EngineError(_GONE) from error
        raise
    return found


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
