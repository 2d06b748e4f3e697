"""A process of its own for readers that damaged bytes can crash: it dies alone, and the caller gets an error.

One process is started when it is first needed and serves one request after another, within limits of memory and
processor time; one that does nothing at all is ended too. After a crash the next request starts another. It ends with its
parent. A request is a line of JSON, and the bytes to read where they are no file; the answer is a line of JSON. Batches stand
in memory that both share, where the system has that: the line names the descriptors, and what is in them can be written no
more before it is looked at. Else they follow as an Arrow stream, and a line that says whether all went well. What comes out of
it is looked at like a foreign file.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import io
import json
import os
import select
import signal
import sys
import threading
import weakref
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, cast

from tare import errors
from tare.errors import Limit, Malformed, TareError, Unsupported
from tare.formats.columnar import check_values

if TYPE_CHECKING:
    import subprocess

    import pyarrow as pa

    Buffer = bytes | bytearray | memoryview
    # Neighbouring columns: their schema, and their rows in batches.
    Run = tuple[pa.Schema, Iterable[pa.RecordBatch]]

__all__ = ["ask", "main", "read_table"]

# Where the functions stand that can be asked for. Each takes an Arrow file and keywords; see `main`.
_TASKS = {
    "decode": ("tare.child_process", "_decode"),
    "load_orc": ("tare.datasets.orc_stripes", "load"),
    "describe_orc": ("tare.inspecting.orcs", "facts"),
    "describe_parquet": ("tare.inspecting.parquets", "chunks"),
}
# Tasks that read columns on several threads.
_THREADED = ("load_orc",)
_START = "import json,sys; sys.path[:] = json.loads(sys.argv[1]); from tare.child_process import main; main()"
_SPARE_BYTES = 4 << 30  # of addresses: libraries reserve more than they use
_END_S = 1.0  # for which one whose output ended may take to end
_CPU_S, _BYTES_A_CPU_S = 60, 1 << 20  # processor time of a request, and what more bytes get more of
_LOOK_S = 1.0  # how often a process that does not answer is looked at
_MOST_QUIET = 60  # looks at which it has done nothing since the one before
_MOST_WAITS = 10  # looks at which it does not answer, for each second of processor time that it may take
_PIPE_BYTES = 1 << 16


def ask(task: str, source: str | Buffer, **options: Any) -> Any:
    """Returns what a task says of a file, as JSON has it.

    Args:
        task: Its name.
        source: Path of the file, or its bytes.
        **options: Keywords of the task.

    Raises:
        Malformed: The process died: the bytes are damaged, or made to crash their reader.
        Limit: It took more memory or time than it may.
        TareError, pyarrow.ArrowException, OSError: As the task raises it.
    """
    with _borrowed() as child:
        return child.ask(task, source, options)


def read_table(task: str, source: str | Buffer, **options: Any) -> tuple[pa.Table, Any]:
    """Returns the table that a task reads, and what else it says.

    Args:
        task: Its name.
        source: Path of the file, or its bytes.
        **options: Keywords of the task.

    Raises:
        TareError, pyarrow.ArrowException, OSError: As `ask`.
    """
    with _borrowed() as child:
        table, said = child.read(task, source, options)
    check_values(table)  # the process read foreign bytes: its own are not to be trusted more
    return table, said


class _Child:
    """A process that answers requests."""

    def __init__(self) -> None:
        if not sys.executable:
            raise Unsupported(
                "this format is read in a process of its own, and the Python program is not known"
            )
        import subprocess  # which files of other formats do not need

        self.pid = os.getpid()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _START, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        self._shares = hasattr(os, "memfd_create") and _may_list(f"/proc/{self._process.pid}/fd")
        self._patience = _Patience(self._process, 0)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        if _CAN_POLL:
            os.set_blocking(self._process.stdin.fileno(), False)
        self._answers = io.BufferedReader(_Answers(self))

    @property
    def is_alive(self) -> bool:
        """Whether it can take another request."""
        return self._process.poll() is None

    def ask(self, task: str, source: str | Buffer, options: dict[str, Any]) -> Any:
        """Returns what a task says."""
        self._send(task, source, options)
        return self._answer()["said"]

    def read(self, task: str, source: str | Buffer, options: dict[str, Any]) -> tuple[pa.Table, Any]:
        """Returns a table, and what a task says."""
        import pyarrow as pa
        from pyarrow import ipc

        self._send(task, source, options, threads=pa.cpu_count() if self._shares else 0)
        answer = self._answer()
        said = answer["said"]
        if "files" in answer:
            return self._shared(answer["files"]), said
        try:
            with ipc.open_stream(cast(Any, self._answers)) as reader:
                table = reader.read_all()
        except (pa.ArrowException, OSError):
            if self._patience.why or self._ends_soon():
                self._died()
            self.close()
            raise
        self._answer()
        return table, said

    def _ends_soon(self, within_s: float = _END_S) -> bool:
        from subprocess import TimeoutExpired

        with contextlib.suppress(TimeoutExpired):
            self._process.wait(within_s)
            return True
        return False

    def _shared(self, numbers: list[Any]) -> pa.Table:
        """Returns what stands in memory of the process; its descriptors are closed, and what they held is ours alone."""
        try:
            parts = [_sealed(f"/proc/{self._process.pid}/fd/{int(number)}") for number in numbers]
            self._write(b"\n")
        except BaseException:
            self.close()  # it waits for this line
            raise
        return _side_by_side(parts)

    def close(self) -> None:
        """Ends the process."""
        self.forget()
        self._process.kill()
        self._ends_soon()  # unless it waits for a disk, and dies behind that

    def forget(self) -> None:
        """Closes its pipes on this side, and leaves it to the process that started it."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _send(self, task: str, source: str | Buffer, options: dict[str, Any], *, threads: int = 0) -> None:
        """Sends a request; with threads the answer may stand in shared memory."""
        request: dict[str, Any] = {"task": task, "options": options, "threads": threads}
        request |= {"path": os.path.abspath(source)} if isinstance(source, str) else {"size": len(source)}
        size = _size_of(source)
        self._patience = _Patience(self._process, _MOST_WAITS * (_CPU_S + size // _BYTES_A_CPU_S))
        try:
            self._write(json.dumps(request).encode() + b"\n")
            if not isinstance(source, str):
                self._write(source)
        except OSError:
            self._died()

    def _write(self, data: Buffer) -> None:
        assert self._process.stdin is not None
        rest = memoryview(data).cast("B")
        while rest and self._patience.wait(self._process.stdin.fileno(), writing=True):
            rest = rest[self._process.stdin.write(rest[:_PIPE_BYTES]) or 0 :]

    def take(self, into: Any) -> int:
        """Reads some bytes of its answer into a buffer, and returns how many; 0 where there are no more.

        Args:
            into: The buffer.
        """
        assert self._process.stdout is not None
        if not self._patience.wait(self._process.stdout.fileno()):
            return 0
        return int(cast(Any, self._process.stdout).readinto(into) or 0)

    def _answer(self) -> Any:
        line = self._answers.readline()
        if not line.endswith(b"\n"):
            self._died()
        answer = json.loads(line)
        if "error" in answer:
            raise _error(answer)
        return cast("dict[str, Any]", answer)

    def _died(self) -> NoReturn:
        if self._patience.why:
            self.close()
            raise Limit(self._patience.why)
        if not self._ends_soon(_MOST_QUIET * _LOOK_S):
            self._process.kill()
        code = self._process.wait()
        self.close()
        if code < 0 and -code in (getattr(signal, "SIGXCPU", 0), getattr(signal, "SIGKILL", 0)):
            raise Limit("its reader took more time or memory than it may and was ended")
        how = f"died of {signal.Signals(-code).name}" if code < 0 else f"ended with the code {code}"
        raise Malformed(
            f"its reader {how}, in a process of its own: the bytes are damaged, or made to crash it"
        )


class _Answers(io.RawIOBase):
    """The answers of a process as a file.

    Args:
        child: The process.
    """

    def __init__(self, child: _Child) -> None:
        super().__init__()
        self._child = weakref.ref(child)

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        child = self._child()
        return 0 if child is None else child.take(into)


class _Patience:
    """How long a request is waited for: as long as its process does something, within a limit.

    It is looked at from time to time rather than by a clock, so that what was stopped as a whole is not taken for idle.

    Args:
        process: The process.
        most: Looks at which it may be without an answer.
    """

    def __init__(self, process: subprocess.Popen[bytes], most: int) -> None:
        self._process = process
        self._most = most
        self._looks = 0
        #: Why it was ended; empty while it was not.
        self.why = ""

    def wait(self, pipe: int, *, writing: bool = False) -> bool:
        """Waits until a pipe has bytes, or takes some; false if the process was ended instead.

        Args:
            pipe: Its descriptor.
            writing: Whether bytes are to be written.
        """
        if self.why:
            return False
        if not _CAN_POLL:
            return True
        ready = select.poll()
        ready.register(pipe, select.POLLOUT if writing else select.POLLIN)
        quiet, before = 0, _work_of(self._process.pid)
        while not ready.poll(_LOOK_S * 1000):
            self._looks += 1
            now = _work_of(self._process.pid)
            quiet = quiet + 1 if now is not None and now == before else 0
            before = now
            if quiet >= _MOST_QUIET:
                self.why = (
                    f"its reader did nothing for {quiet * _LOOK_S:.0f} s and was ended: the bytes are made to hang it, "
                    "or the disk that they are on does not answer"
                )
            elif self._looks >= self._most:
                self.why = "its reader took more time than it may and was ended"
            if self.why:
                self._process.kill()
                return False
        return True


def _work_of(pid: int) -> tuple[int, ...] | None:
    """Returns numbers that change when a process does something; None where it waits for a processor, or nothing is known."""
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            if _fields_of(f"/proc/{pid}/task/{thread}/stat")[0] == b"R":
                return None
        fields = _fields_of(f"/proc/{pid}/stat")
        moved: list[int] = []
        with contextlib.suppress(PermissionError), open(f"/proc/{pid}/io", "rb") as file:
            moved += [int(line.split()[1]) for line in file if line.startswith((b"rchar", b"wchar"))]
    except (OSError, ValueError, IndexError):
        return None
    return (int(fields[11]), int(fields[12]), *moved)  # processor time of its own, and of the system for it


def _fields_of(path: str) -> list[bytes]:
    """Returns what stands in a file of the process table behind the name of the program."""
    with open(path, "rb") as file:
        return file.read().rpartition(b")")[2].split()


def _size_of(source: str | Buffer) -> int:
    if not isinstance(source, str):
        return memoryview(source).nbytes
    try:
        return os.path.getsize(source)
    except OSError:  # which the process tells
        return 0


_CAN_POLL = hasattr(select, "poll")
_idle: list[_Child] = []
_lock = threading.Lock()


@contextlib.contextmanager
def _borrowed() -> Iterator[_Child]:
    """Gives a process, which is kept for the next request unless it died."""
    with _lock:
        while _idle and _idle[-1].pid != os.getpid():  # after a fork
            _idle.pop().forget()
        child = _idle.pop() if _idle else None
    child = child or _Child()
    try:
        yield child
    except Exception:
        if child.is_alive:
            _keep(child)
        raise
    except BaseException:
        child.close()
        raise
    _keep(child)


def _keep(child: _Child) -> None:
    with _lock:
        if not _idle:
            _idle.append(child)
            return
    child.close()


@atexit.register
def _end() -> None:
    while _idle:
        child = _idle.pop()
        if child.pid == os.getpid():
            child.close()


def _error(answer: dict[str, Any]) -> Exception:
    """Returns the error that a process told of, if it is of a kind that readers raise."""
    import pyarrow as pa

    name, message = str(answer["error"]), str(answer.get("message"))
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, TareError):
        return kind(message, format=answer.get("format"), offset=answer.get("offset"))
    kind = getattr(pa, name, None) or {"OSError": OSError, "MemoryError": MemoryError}.get(name)
    if isinstance(kind, type) and issubclass(kind, Exception):
        return kind(message)
    return Malformed(f"{name}: {message}"[:300])


def main() -> None:
    """Answers requests until there are no more."""
    requests = sys.stdin.buffer
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # what a library prints is no answer
        _forbid_core_files()
        while line := requests.readline():
            request = json.loads(line)
            data = None if "path" in request else requests.read(request["size"])
            _limit(os.path.getsize(request["path"]) if data is None else len(data))
            shared: list[int] = []
            _serve(request, data, answers, shared)
            answers.flush()
            if shared:
                requests.readline()  # whoever asked has them too
                _close(shared)


def _serve(request: dict[str, Any], data: bytes | None, answers: BinaryIO, shared: list[int]) -> None:
    """Answers a request; fills in the descriptors that are closed when they were taken."""
    import pyarrow as pa
    from pyarrow import ipc

    def say(**answer: Any) -> None:
        answers.write(json.dumps(answer).encode() + b"\n")

    module, name = _TASKS[request["task"]]
    options, threads = request["options"], int(request["threads"])
    if request["task"] in _THREADED:
        options["threads"] = threads
    writer = None
    try:
        with pa.OSFile(request["path"], "rb") if data is None else pa.BufferReader(data) as file:
            found = getattr(importlib.import_module(module), name)(file, **options)
            if not isinstance(found, tuple):
                say(said=found)
                return
            said, runs = found
            if threads:
                _store(runs, threads, shared)
                say(said=said, files=shared)
                return
            say(said=said)
            ((schema, batches),) = runs
            writer = ipc.new_stream(cast(Any, answers), schema)
            for batch in batches:
                writer.write_batch(batch)
                answers.flush()
        writer.close()
        say(said=None)
    except Exception as error:
        _close(shared)
        if writer is not None:
            writer.close()
        kind = (
            type(error).__name__
            if not isinstance(error, OSError) or isinstance(error, pa.ArrowException)
            else "OSError"
        )
        say(
            error=kind,
            message=str(error),
            format=getattr(error, "format", None),
            offset=getattr(error, "offset", None),
        )


def _decode(file: Any, *, format: str, library: str, options: dict[str, Any]) -> Any:
    """A table by a library of the registry."""
    from tare import formats

    found = formats.holding(format, library).library(library)
    assert found is not None
    table = found.decode(memoryview(file.read_buffer()), **options)
    return None, [(table.schema, table.to_batches())]


def _store(runs: list[Run], threads: int, shared: list[int]) -> None:
    """Writes each run as an Arrow stream into memory of its own; fills in the descriptors."""
    shared += [os.memfd_create("tare", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING) for _ in runs]
    if len(runs) == 1 or threads == 1:
        for run, number in zip(runs, shared, strict=True):
            _write(run, number)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(_write, runs, shared):
            pass


def _write(run: Run, number: int) -> None:
    import pyarrow as pa
    from pyarrow import ipc

    schema, batches = run
    with pa.OSFile(f"/proc/self/fd/{number}", "wb") as file, ipc.new_stream(file, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _close(numbers: list[int]) -> None:
    while numbers:
        os.close(numbers.pop())


def _may_list(folder: str) -> bool:
    try:
        os.listdir(folder)
    except OSError:
        return False
    return True


def _sealed(path: str) -> pa.Table:
    """Returns the Arrow stream in memory that the process at the other end can change no more.

    Args:
        path: Of its descriptor.

    Raises:
        Malformed: It is no such memory.
        pyarrow.ArrowException, OSError: It holds no Arrow stream.
    """
    import fcntl

    import pyarrow as pa
    from pyarrow import ipc

    with open(path, "r+b", buffering=0) as file:
        try:
            fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE)
        except OSError as error:
            raise Malformed(f"its reader gave no memory that can be sealed: {error}") from error
        with (
            pa.memory_map(f"/proc/self/fd/{file.fileno()}", "r") as mapped,
            ipc.open_stream(mapped) as reader,
        ):
            return reader.read_all()


def _side_by_side(parts: list[pa.Table]) -> pa.Table:
    """Returns the columns of several tables of the same rows as one."""
    import pyarrow as pa

    if len(parts) == 1:
        return parts[0]
    if len({part.num_rows for part in parts}) != 1:
        raise Malformed("its reader gave columns of different lengths")
    fields = [field for part in parts for field in part.schema]
    columns = [column for part in parts for column in part.columns]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, cast(Any, parts[0].schema.metadata)))


def _forbid_core_files() -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit(size: int) -> None:
    """Sets limits of memory and processor time for a request of so many bytes, where the system has them."""
    try:
        import resource
    except ImportError:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu = int(used.ru_utime + used.ru_stime) + _CPU_S + size // _BYTES_A_CPU_S
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    free = _free_bytes()
    if free is not None:
        with contextlib.suppress(ValueError, OSError):
            hard = resource.getrlimit(resource.RLIMIT_AS)[1]
            resource.setrlimit(resource.RLIMIT_AS, (free + _SPARE_BYTES, hard))


def _free_bytes() -> int | None:
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            found = next((line for line in file if line.startswith("MemAvailable:")), "")
    except OSError:
        return None
    return int(found.split()[1]) * 1024 if found else None
