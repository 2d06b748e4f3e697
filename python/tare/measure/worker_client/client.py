"""Driving one worker process: requests out, replies in, deadlines, and its end.

Any program that speaks the protocol can be driven; ours is the default. Whatever the
process does (dies, hangs, prints rubbish, answers with the wrong id) costs that worker
and nothing else: a WorkerError names it, and the process group and its directory go.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tare.errors import UsageError, WorkerError
from tare.measure.environment import tempdirs
from tare.measure.worker_client.handshake import PROTOCOL
from tare.measure.worker_client.process import Spawned, clean_environment, spawn
from tare.measure.worker_client.replies import hold_form, parse_reply
from tare.measure.worker_client.samples import readings
from tare.measure.worker_client.strays import descendants, end_strays

if TYPE_CHECKING:
    from typing import Self

__all__ = ["HELLO_DEADLINE_S", "LINE_BYTES", "LOG_BYTES", "PYTHON_COMMAND", "Worker"]

LINE_BYTES = 16 << 20
"""Longest reply."""

LOG_BYTES = 64 << 10
"""How much of a worker's standard error is kept: the end."""

HELLO_DEADLINE_S = 30.0
"""How long a worker may take to say hello, in seconds."""

PYTHON_COMMAND = ("-c", "from tare.measure.worker.main import main; main()")
"""Arguments of this interpreter that start our own worker."""

_GRACE_S = 1.0
_SLICE_S = 0.25
_SEND_S = 10.0
_READ_BYTES = 1 << 16
_live: dict[int, weakref.ref[Worker]] = {}  # by pid: a copy of its values is safe to walk in any thread


class Worker:
    """A measuring process of its own.

    Starting does not wait: ``hello`` (or the first reply) does, so that several can
    start side by side. Use it as a context manager, or call ``close``.

    Args:
        name: What errors call it; ``python`` is our own worker unless ``command`` is given.
        command: Program and arguments of another worker.
        cpu: CPU to pin it to; None for no pin.
        hash_seed: PYTHONHASHSEED, and the seed given in ``hello``.
        threads: 1 sets every library's thread knob to one; ``all`` leaves them alone.
        memory_limit: RLIMIT_DATA in bytes; None for no limit.
        workdir: Where its private directory is made; None for the system's temporary files.
        lists: Whether ``hello`` is to list the codecs, which takes time; None lists those of other
            workers than ours.
        stop: Asked four times a second or more while a reply is waited for; the worker is killed once it is true.

    Raises:
        UsageError: A worker other than ``python`` without a command.
        WorkerError: The program cannot be started.

    >>> with Worker() as worker:
    ...     worker.hello["proto"]
    2
    """

    def __init__(  # noqa: PLR0913 - one keyword for each thing that a process is started with
        self,
        name: str = "python",
        command: Sequence[str] | None = None,
        *,
        cpu: int | None = None,
        hash_seed: int = 0,
        threads: int | str = 1,
        memory_limit: int | None = None,
        workdir: str | os.PathLike[str] | None = None,
        lists: bool | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> None:
        if command is None and name != "python":
            raise UsageError(f"no command is known for the worker {name!r}; give one")
        lists = command is not None if lists is None else lists
        self.name = name
        self.memory_limit = memory_limit
        self._stop = stop
        self.directory = tempdirs.make(workdir)
        self._log = bytearray()
        self._pending = bytearray()
        self._replies: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}
        self._asked: dict[int, dict[str, Any]] = {}  # requests without a reply yet
        self._next = 1
        self._dead: WorkerError | None = None
        self._quitting = False
        environment = clean_environment(self.directory, threads=threads, hash_seed=hash_seed)
        try:
            self._spawned: Spawned = spawn(
                command or (sys.executable, *PYTHON_COMMAND), self.directory, environment,
                cpu=cpu, memory_limit=memory_limit,
            )  # fmt: skip
        except OSError as error:
            tempdirs.remove(self.directory)
            raise WorkerError(
                f"cannot start the worker {name}: {error}", worker=name, type="start"
            ) from error
        self.pid = self._spawned.process.pid
        # Reentrant: a signal handler may end the worker while its own thread reads from it.
        self._guard = threading.RLock()
        self._strays: list[int] = []  # descriptors of processes
        self._end = weakref.finalize(
            self, _end, self._spawned, str(self.directory), self._guard, self._strays
        )
        self._poll = select.poll()
        for descriptor in (self._spawned.stdout, self._spawned.stderr):
            self._poll.register(descriptor, select.POLLIN)
        _live[self.pid] = weakref.ref(self)
        self._hello_id = self.send(
            "hello", proto=PROTOCOL, seed=hash_seed, **({} if lists else {"list": False})
        )
        self._hello: dict[str, Any] | None = None

    # --- talking ----------------------------------------------------------------

    @property
    def hello(self) -> dict[str, Any]:
        """What the worker says of itself; waited for at first use."""
        if self._hello is None:
            self._hello = self.wait(self._hello_id, HELLO_DEADLINE_S)
            if self._hello.get("proto") != PROTOCOL:
                proto = f"{self._hello.get('proto')!r:.40}"
                raise self._lose(
                    "protocol",
                    f"speaks version {proto} of the worker protocol, not {PROTOCOL}: update the worker",
                )
        return self._hello

    @property
    def alive(self) -> bool:
        """Whether it can still be asked (as far as we know without asking)."""
        return self._dead is None

    @property
    def descriptors(self) -> int | None:
        """How many files it has open; None where that is not shown."""
        try:
            return len(os.listdir(f"/proc/{self.pid}/fd"))
        except OSError:
            return None

    def request(self, op: str, *, deadline_s: float | None = None, **fields: Any) -> dict[str, Any]:
        """Send a request and wait for its reply.

        Args:
            op: The operation.
            deadline_s: Longest wait, in seconds; then the worker is killed. None waits for ever.
            **fields: The request's fields; None values are left out.

        Returns:
            The reply's ``ok``.

        Raises:
            WorkerError: The worker's own error (it lives on), or ``timeout``, ``killed``,
                ``exit``, ``protocol`` (it is gone).
        """
        return self.wait(self.send(op, **fields), deadline_s)

    def send(self, op: str, **fields: Any) -> int:
        """Send a request without waiting; returns its id for ``wait``.

        Raises:
            WorkerError: The worker has gone, or takes no more requests.
        """
        if self._dead is not None:
            raise self._dead
        number, self._next = self._next, self._next + 1
        request = {
            "id": number,
            "op": op,
            **{key: value for key, value in fields.items() if value is not None},
        }
        line = json.dumps(request, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        if len(line) > LINE_BYTES:
            raise UsageError(f"the request is {len(line)} bytes long; the most is {LINE_BYTES}")
        self._asked[number] = request
        self._write(line)
        return number

    def wait(self, number: int, deadline_s: float | None = None) -> dict[str, Any]:
        """Wait for the reply to a request.

        Args:
            number: What ``send`` returned.
            deadline_s: Longest wait from now, in seconds; None waits for ever.

        Raises:
            WorkerError: As ``request``.
        """
        until = None if deadline_s is None else time.monotonic() + deadline_s
        while number not in self._replies:
            if self._stop is not None and self._stop():
                self.kill()
            if self._dead is not None:
                raise self._dead
            if number not in self._asked:
                raise UsageError(f"no request has the id {number}, or its reply was taken already")
            left_s = _SLICE_S if until is None else min(_SLICE_S, until - time.monotonic())
            if left_s <= 0:
                raise self._lose("timeout", f"no answer within {float(f'{deadline_s:.2g}'):g} s")
            self._pump(left_s)
        request, reply = self._replies.pop(number)
        error = reply.get("error")
        if error is None:
            try:
                found = readings(reply["ok"])
                hold_form(request, found)
            except ValueError as wrong:
                raise self._lose("protocol", f"a reply to {request['op']} that is none: {wrong}") from None
            return found
        raise WorkerError(
            str(error.get("message", "")), worker=self.name, type=str(error.get("type", "error")),
            phase=str(error.get("phase", "protocol")), log_tail=self.log_tail(),
        )  # fmt: skip

    def log_tail(self) -> str:
        """The end of what the worker wrote to its standard error."""
        self._drain_log()
        return self._log.decode("utf-8", "replace")

    # --- ending -----------------------------------------------------------------

    def quit(self) -> None:
        """Ask the worker to end, without waiting for it: ``close`` must follow."""
        if self._dead is None and not self._asked:  # one that is busy would not read it
            self._strays += descendants(self.pid)  # once it has ended, nothing tells whose they were
            with contextlib.suppress(WorkerError, OSError):
                self.send("quit")
                self._quitting = True

    def close(self) -> None:
        """End the worker: ``quit``, then the end of its input, then TERM and KILL; its directory goes."""
        if self._dead is None:
            self.quit()
            if self._quitting:
                _wait_exit(self._spawned, _GRACE_S)
            self._dead = self._error("closed", "the worker has been closed")
        self._end()

    def kill(self) -> None:
        """End the worker now, with all it started; its directory goes."""
        if self._dead is None:
            self._dead = self._error("closed", "the worker has been ended")
            self._strays += descendants(self.pid)
            _signal_group(self._spawned, signal.SIGKILL)
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- private ----------------------------------------------------------------

    def _write(self, line: bytes) -> None:
        view = memoryview(line)
        until = time.monotonic() + _SEND_S
        while view:
            try:
                with self._open_pipes():
                    written = os.write(self._spawned.stdin, view)
                view = view[written:]
            except BlockingIOError:
                if time.monotonic() > until:
                    raise self._lose("timeout", f"took no request within {_SEND_S:g} s") from None
                waiting = select.poll()
                waiting.register(self._spawned.stdin, select.POLLOUT)
                waiting.poll(_SLICE_S * 1000)
                self._drain_log()
            except BrokenPipeError:
                raise self._gone() from None

    def _pump(self, seconds: float) -> None:
        """Wait for something to read, and read it."""
        ready = self._poll.poll(seconds * 1000)
        if not ready:
            # A worker that logs more than its pipe holds would wait for us, and we, perhaps, for its peer.
            for kept in list(_live.values()):
                if (peer := kept()) is not None:
                    peer._drain_log()  # noqa: SLF001 -- a worker of this class
            return
        for descriptor, _ in ready:
            if descriptor == self._spawned.stderr:
                self._drain_log()
            else:
                self._read()

    def _read(self) -> None:
        try:
            with self._open_pipes():
                data = os.read(self._spawned.stdout, _READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            raise self._gone()
        start = len(self._pending)
        self._pending += data
        while (end := self._pending.find(b"\n", start)) >= 0:
            line = bytes(self._pending[:end])
            del self._pending[: end + 1]
            start = 0
            self._take(line)
        if len(self._pending) > LINE_BYTES:
            raise self._lose("protocol", f"a reply is longer than {LINE_BYTES} bytes")

    @contextlib.contextmanager
    def _open_pipes(self) -> Iterator[None]:
        """Inside, no other thread closes the pipes; once they are closed, the reason is raised.

        A descriptor that was closed may be another file's by now: it is neither read nor written.
        """
        with self._guard:
            if not self._end.alive:
                raise self._dead or self._error("closed", "the worker has been closed")
            try:
                yield
            except OSError:
                if self._end.alive:
                    raise
                # A signal handler of this very thread ended it.
                raise (self._dead or self._error("closed", "the worker has been closed")) from None

    def _take(self, line: bytes) -> None:
        try:
            reply = parse_reply(line)
        except (ValueError, RecursionError):
            raise self._lose("protocol", f"not a reply: {_shown(line)}") from None
        number = reply.get("id") if isinstance(reply, dict) else None
        if not isinstance(number, int) or number not in self._asked:
            raise self._lose("protocol", f"a reply to nothing that was asked: {_shown(line)}")
        if not isinstance(reply.get("ok"), dict) and not isinstance(reply.get("error"), dict):
            raise self._lose("protocol", f"a reply with neither ok nor error: {_shown(line)}")
        self._replies[number] = self._asked.pop(number), reply

    def _drain_log(self) -> None:
        # Other threads drain it too; nobody may read a descriptor that has been closed, and perhaps opened anew.
        with self._guard:
            while self._end.alive:
                try:
                    data = os.read(self._spawned.stderr, _READ_BYTES)
                except OSError:
                    return
                if not data:
                    with contextlib.suppress(KeyError, ValueError):
                        self._poll.unregister(self._spawned.stderr)
                    return
                self._log += data
                if len(self._log) > LOG_BYTES:
                    del self._log[:-LOG_BYTES]

    def _gone(self) -> WorkerError:
        """The process closed its output: say how it ended."""
        code = _wait_exit(self._spawned, _GRACE_S)
        if code is None:
            return self._lose("protocol", "closed its output and lives on")
        if code < 0:
            name = signal.Signals(-code).name if -code in signal.valid_signals() else f"signal {-code}"
            guess = " (memory?)" if -code == signal.SIGKILL else ""
            return self._lose("killed", f"killed by {name}{guess}")
        return self._lose("exit", f"exited with code {code}")

    def _lose(self, type: str, message: str) -> WorkerError:
        """The worker is no more use: end it, keep the reason."""
        if type in ("timeout", "protocol"):
            self._strays += descendants(self.pid)
            _terminate(self._spawned)
        self._dead = self._error(type, message)
        self._end()
        return self._dead

    def _error(self, type: str, message: str) -> WorkerError:
        return WorkerError(message, worker=self.name, type=type, phase="protocol", log_tail=self.log_tail())


def _shown(line: bytes) -> str:
    return repr(line[:80])[1:] + ("..." if len(line) > 80 else "")


def _terminate(spawned: Spawned) -> None:
    """TERM, a second, KILL: to the whole group."""
    _signal_group(spawned, signal.SIGTERM)
    if _wait_exit(spawned, _GRACE_S) is None:
        _signal_group(spawned, signal.SIGKILL)
        _wait_exit(spawned, _GRACE_S)


def _signal_group(spawned: Spawned, number: signal.Signals) -> None:
    if spawned.process.returncode is None:  # not reaped: its id is nobody else's yet
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(spawned.process.pid, number)


def _wait_exit(spawned: Spawned, seconds: float) -> int | None:
    """Exit code (negative: signal) once the process has ended, None if it has not; it is not reaped."""
    process = spawned.process
    if process.returncode is not None:
        return process.returncode
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        until = time.monotonic() + seconds
        while (code := _peek(process.pid)) is None and time.monotonic() < until:
            time.sleep(0.002)
        return code
    try:
        waiting = select.poll()
        waiting.register(descriptor, select.POLLIN)
        waiting.poll(seconds * 1000)
    finally:
        os.close(descriptor)
    return _peek(process.pid)


def _peek(pid: int) -> int | None:
    try:
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    if ended is None:
        return None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def _end(spawned: Spawned, directory: str, guard: threading.RLock, strays: list[int]) -> None:
    """Everything goes: the group, the process, what left the group, its pipes, its directory."""
    process = spawned.process
    _live.pop(process.pid, None)
    _signal_group(spawned, signal.SIGKILL)
    process.wait()
    end_strays(directory, strays)
    with guard:
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
    tempdirs.remove(directory)
