"""The driver of a worker process: replies, deadlines, deaths, isolation, tidiness."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from support.capabilities import need_linux
from support.worker_requests import DEADLINE_S

from tare.errors import UsageError, WorkerError
from tare.measure.environment import tempdirs
from tare.measure.worker_client.client import Worker
from tare.measure.worker_client.process import clean_environment

PRELUDE = """
import json, os, sys, time
def read():
    return json.loads(sys.stdin.readline())
def reply(request, **ok):
    print(json.dumps({"id": request["id"], "ok": ok}), flush=True)
reply(read(), proto=2)
"""


def stub(body: str, prelude: str = PRELUDE, **options: object) -> Worker:
    """A worker of a few lines: says hello, then runs the body."""
    return Worker("stub", (sys.executable, "-S", "-c", prelude + textwrap.dedent(body)), **options)


def loses(worker: Worker, *, deadline_s: float = DEADLINE_S) -> WorkerError:
    """The error of one request; the worker must be gone after it."""
    with worker, pytest.raises(WorkerError) as caught:
        worker.request("run", deadline_s=deadline_s)
    assert not worker.alive
    assert not worker.directory.exists()
    assert not Path(f"/proc/{worker.pid}").exists()
    return caught.value


def test_our_own_worker_says_hello():
    """Protocol, pid and clocks are told."""
    with Worker() as worker:
        assert (worker.hello["proto"], worker.hello["pid"]) == (2, worker.pid)
        assert worker.hello["clocks"][:3] == ["wall_ns", "user_ns", "sys_ns"]


def test_starting_does_not_wait():
    """Requests can be sent before the first reply, and replies taken in any order."""
    with stub("for _ in range(3): r = read(); reply(r, op=r['op'])") as worker:
        first, second = worker.send("a"), worker.send("b")
        assert worker.wait(second, DEADLINE_S) == {"op": "b"}
        assert worker.wait(first, DEADLINE_S) == {"op": "a"}
        with pytest.raises(UsageError, match="taken already"):
            worker.wait(first, DEADLINE_S)


def test_fields_that_are_none_are_not_sent():
    """A foreign worker sees only what was meant."""
    with stub("r = read(); reply(r, keys=sorted(r))") as worker:
        assert worker.request("x", deadline_s=DEADLINE_S, a=1, b=None) == {"keys": ["a", "id", "op"]}


def test_an_error_reply_costs_nothing():
    """Type, message and phase come through; the next request is served."""
    body = """
    r = read()
    print("what I was doing", file=sys.stderr, flush=True)
    print(json.dumps({"id": r["id"], "error": {"type": "memory", "message": "m", "phase": "decode"}}), flush=True)
    reply(read())
    """
    with stub(body) as worker:
        with pytest.raises(WorkerError) as caught:
            worker.request("run", deadline_s=DEADLINE_S)
        error = caught.value
        assert (error.worker, error.type, str(error), error.phase) == ("stub", "memory", "m", "decode")
        assert error.log_tail == "what I was doing\n"
        assert worker.request("run", deadline_s=DEADLINE_S) == {}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("read(); print('rubbish', flush=True); time.sleep(600)", "not a reply: 'rubbish'"),
        ("read(); print('[1]', flush=True); time.sleep(600)", "a reply to nothing that was asked"),
        ("reply({'id': 99}); time.sleep(600)", "a reply to nothing that was asked"),
        ("reply({'id': True}); time.sleep(600)", "a reply to nothing that was asked"),
        (
            "r = read(); print(json.dumps({'id': r['id'], 'ok': 7}), flush=True); time.sleep(600)",
            "neither ok nor error",
        ),
        ("read(); print('[' * 100_000, flush=True); time.sleep(600)", "not a reply"),
        ("read(); os.write(1, b'\\xff\\xfe\\n'); time.sleep(600)", "not a reply"),
        ("read(); os.close(1); time.sleep(600)", "closed its output"),
    ],
)
def test_rubbish_costs_the_worker(body, message):
    """Whatever is no reply to what was asked ends that worker, at once."""
    error = loses(stub(body))
    assert (error.type, message in str(error)) == ("protocol", True), str(error)


@pytest.mark.parametrize("text", ["'\\\\ud800'", "b'\\xed\\xa0\\x80'.decode('latin-1')"])
@pytest.mark.parametrize("where", ["ok", "error"])
def test_lone_surrogates_are_escaped(text, where):
    """No record holds them: the run would end of what one worker said."""
    body = f"""
    r = read()
    text = {text}
    line = '{{"id":%d,"{where}":{{"message":"a%sb \\\\ud83d\\\\ude00","k%s":["%s"]}}}}\\n' % (r["id"], text, text, text)
    os.write(1, line.encode("latin-1"))
    reply(read())
    """
    with stub(body) as worker:
        if where == "ok":
            found = worker.request("x", deadline_s=DEADLINE_S)
            assert found == {"message": "a\\ud800b \U0001f600", "k\\ud800": ["\\ud800"]}
        else:
            with pytest.raises(WorkerError, match=r"^a\\ud800b \U0001f600$"):
                worker.request("x", deadline_s=DEADLINE_S)
        assert worker.request("x", deadline_s=DEADLINE_S) == {}


def test_an_endless_line_costs_the_worker():
    """A reply ends within 16 MiB; no more is kept."""
    error = loses(stub("read()\nwhile True: os.write(1, b'x' * 65536)"))
    assert (error.type, str(error)) == ("protocol", f"a reply is longer than {16 << 20} bytes")


def test_a_long_line_is_read_whole():
    """Just below the limit is fine."""
    with stub("reply(read(), text='x' * (16_000_000))") as worker:
        assert len(worker.request("run", deadline_s=DEADLINE_S)["text"]) == 16_000_000


@pytest.mark.parametrize(
    ("body", "type", "message"),
    [
        ("read(); sys.exit(3)", "exit", "exited with code 3"),
        ("read()", "exit", "exited with code 0"),
        ("read(); os.kill(os.getpid(), 9)", "killed", "killed by SIGKILL (memory?)"),
        ("read(); os.kill(os.getpid(), 6)", "killed", "killed by SIGABRT"),
    ],
)
def test_a_death_tells_how(body, type, message):
    """Exit codes and signals that we did not send."""
    error = loses(stub(body))
    assert (error.type, str(error)) == (type, message)


def test_a_lost_worker_stays_lost():
    """Every later request tells the same reason, without waiting."""
    worker = stub("read(); sys.exit(3)")
    first = loses(worker)
    with pytest.raises(WorkerError) as caught:
        worker.send("run")
    assert caught.value is first


def test_a_worker_that_never_says_hello():
    """A program that is no worker is told by what it prints."""
    worker = Worker("cat", (sys.executable, "-S", "-c", "print('usage: ...', flush=True); input()"))
    with worker, pytest.raises(WorkerError, match="not a reply"):
        _ = worker.hello


def test_a_worker_of_another_protocol_is_refused():
    """Version 1 held its results: its times are others."""
    prelude = PRELUDE.replace("proto=2", "proto=1")
    with (
        stub("read()", prelude) as worker,
        pytest.raises(
            WorkerError, match=r"speaks version 1 of the worker protocol, not 2: update the worker"
        ),
    ):
        _ = worker.hello


def test_a_program_that_does_not_exist():
    """The worker cannot be started; nothing is left."""
    with pytest.raises(WorkerError) as caught:
        Worker("none", ("/does/not/exist",))
    assert (caught.value.type, caught.value.worker) == ("start", "none")


def test_a_name_without_a_command():
    """Only our own worker needs none."""
    with pytest.raises(UsageError, match="no command is known"):
        Worker("r")


def test_a_deadline_kills_the_group():
    """A child that the worker started dies with it."""
    body = """
    import subprocess
    r = read()
    child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
    reply(r, child=child.pid)
    read()
    time.sleep(600)
    """
    worker = stub(body)
    child = worker.request("start", deadline_s=DEADLINE_S)["child"]
    assert loses(worker, deadline_s=0.05).type == "timeout"
    until = time.monotonic() + 60
    while _state(child) not in ("Z", "") and time.monotonic() < until:
        time.sleep(0.01)
    assert _state(child) in ("Z", "")


def test_waiting_is_not_busy():
    """Waiting costs the parent next to no CPU."""
    with stub("r = read(); time.sleep(0.6); reply(r)") as worker:
        _ = worker.hello
        before = time.process_time()
        worker.request("run", deadline_s=DEADLINE_S)
        assert time.process_time() - before < 0.3


def test_stderr_of_a_waiting_peer_is_drained():
    """A worker that fills its log while we wait for another one is not blocked for ever."""
    noisy_body = """
    r = read()
    for _ in range(64): os.write(2, b"x" * 65536)
    open(r["path"], "w").close()
    reply(r)
    """
    quiet_body = """
    r = read()
    while not os.path.exists(r["path"]): time.sleep(0.01)
    reply(r)
    """
    with stub(noisy_body) as noisy, stub(quiet_body) as quiet:
        path = str(noisy.directory / "done")
        asked = noisy.send("run", path=path)
        quiet.request("run", deadline_s=DEADLINE_S, path=path)
        noisy.wait(asked, DEADLINE_S)
        assert len(noisy.log_tail()) == 64 << 10


def test_the_directory_is_private_and_goes():
    """Working directory and TMPDIR are one private directory; close removes it with its content."""
    body = """
    r = read()
    open("left behind", "w").close()
    reply(r, cwd=os.getcwd(), tmp=os.environ["TMPDIR"], mode=oct(os.stat(".").st_mode & 0o777))
    read()
    """
    with stub(body) as worker:
        found = worker.request("run", deadline_s=DEADLINE_S)
        assert found == {"cwd": str(worker.directory), "tmp": str(worker.directory), "mode": "0o700"}
    assert not worker.directory.exists()


def test_the_directory_goes_after_kill_9(tmp_path):
    """Whoever kills the child, its directory is removed."""
    with Worker(workdir=tmp_path) as worker:
        _ = worker.hello
        os.kill(worker.pid, signal.SIGKILL)
        with pytest.raises(WorkerError, match="killed by SIGKILL"):
            worker.request("run", deadline_s=DEADLINE_S, what="null")
        assert list(tmp_path.glob("tare-run-*/worker-*")) == []


def test_what_a_killed_parent_left_is_swept(tmp_path):
    """The next process removes directories whose owner has gone, and no others."""
    code = (
        "import os, sys; from tare.measure.environment import tempdirs; print(tempdirs.make(sys.argv[1]), flush=True);"
        "os.kill(os.getpid(), 9)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False
    )
    left = Path(done.stdout.strip())
    assert left.is_dir()
    living = tempdirs.make(tmp_path)
    assert (left.exists(), living.is_dir()) == (False, True)
    tempdirs._sweep(str(tmp_path))
    assert living.is_dir()
    tempdirs.remove(living)


def test_threads_share_one_base_directory(tmp_path, monkeypatch):
    """Workers are started side by side: no folder and no lock is made that nobody knows of."""
    base, together = tempdirs._base, threading.Barrier(16)
    made, found = [], []

    def slow(parent: str) -> tuple[Path, int]:
        made.append(parent)
        time.sleep(0.1)  # every other thread looks meanwhile
        return base(parent)

    def make() -> None:
        together.wait()
        found.append(tempdirs.make(tmp_path))

    monkeypatch.setattr(tempdirs, "_base", slow)
    threads = [threading.Thread(target=make) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 16
    assert made == [str(tmp_path)]
    assert [path.name for path in tmp_path.iterdir()] == [found[0].parent.name]
    for path in found:
        tempdirs.remove(path)


def test_the_environment_is_clean(monkeypatch):
    """Proxies, secrets and locale of the user do not reach a worker; the seed and the knobs do."""
    for name in ("https_proxy", "HTTP_PROXY", "MY_SECRET", "LC_NUMERIC", "PYTHONTRACEMALLOC"):
        monkeypatch.setenv(name, "leaked")
    with stub("r = read(); reply(r, **os.environ)", threads=1, hash_seed=42) as worker:
        found = worker.request("run", deadline_s=DEADLINE_S)
    assert "leaked" not in found.values()
    expected = {"LC_ALL": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "42", "OMP_NUM_THREADS": "1"}
    assert expected == {name: found.get(name) for name in expected}


def test_all_threads_leaves_the_knobs_alone(tmp_path):
    """``all`` is each library's own default."""
    assert "OMP_NUM_THREADS" not in clean_environment(tmp_path, threads="all", hash_seed=0)


def test_a_worker_is_pinned_from_its_start():
    """The child runs on the given CPU only; the parent is not moved."""
    need_linux()
    before = os.sched_getaffinity(0)
    cpu = max(before)
    with stub("r = read(); reply(r, cpus=sorted(os.sched_getaffinity(0)))", cpu=cpu) as worker:
        assert worker.request("run", deadline_s=DEADLINE_S) == {"cpus": [cpu]}
    assert os.sched_getaffinity(0) == before


def test_memory_is_limited():
    """RLIMIT_DATA is the given one."""
    need_linux()
    body = "import resource; r = read(); reply(r, limit=resource.getrlimit(resource.RLIMIT_DATA)[0])"
    with stub(body, memory_limit=1 << 30) as worker:
        _ = worker.hello
        assert worker.request("run", deadline_s=DEADLINE_S) == {"limit": 1 << 30}


def test_a_worker_leads_its_own_session():
    """Ctrl-C in the user's terminal reaches the parent only."""
    with stub("r = read(); reply(r, session=os.getsid(0), group=os.getpgid(0))") as worker:
        assert worker.request("run", deadline_s=DEADLINE_S) == {"session": worker.pid, "group": worker.pid}


def test_a_killed_parent_leaves_no_worker(tmp_path):
    """Even a worker that never reads its input again ends with its parent."""
    need_linux()
    code = textwrap.dedent("""
        import os, sys
        from tare.measure.worker_client.client import Worker
        worker = Worker(workdir=sys.argv[1])
        worker.hello
        print(worker.pid, flush=True)
        os.kill(worker.pid, 19)  # stopped: it cannot see the end of its input
        os.kill(os.getpid(), 9)
    """)
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False
    )
    pid = int(done.stdout)
    until = time.monotonic() + 60
    while _state(pid) not in ("Z", "") and time.monotonic() < until:
        time.sleep(0.01)
    assert _state(pid) in ("Z", "")


def test_a_worker_outlives_the_thread_that_started_it():
    """Workers may be started from a pool whose threads end."""
    workers = []
    thread = threading.Thread(target=lambda: workers.append(Worker()))
    thread.start()
    thread.join()
    with workers[0] as worker:
        assert worker.hello["proto"] == 2
        assert "samples" in worker.request("run", deadline_s=DEADLINE_S, what="null", batch=1)


def test_a_forgotten_worker_is_ended():
    """Losing the last reference ends the process and removes its directory."""
    worker = Worker()
    pid, directory = worker.pid, worker.directory
    del worker
    assert not Path(f"/proc/{pid}").exists()
    assert not directory.exists()


def test_kill_is_immediate():
    """A busy worker is ended without waiting for it."""
    worker = stub("read(); time.sleep(600)")
    _ = worker.hello
    worker.send("run")
    worker.kill()
    assert not worker.directory.exists()
    with pytest.raises(WorkerError, match="ended"):
        worker.send("run")


def test_close_twice():
    """Closing what is closed does nothing."""
    worker = Worker()
    worker.close()
    worker.close()
    with pytest.raises(WorkerError) as caught:
        worker.request("run")
    assert caught.value.type == "closed"


def _state(pid: int) -> str:
    """State letter of a process; empty if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def test_samples_are_whole_numbers():
    """A language without 64-bit integers sends large ones as floats; records hold whole numbers."""
    body = (
        "r = read(); reply(r, cols=['wall_ns', 'nivcsw'], samples=[[1.7954341434442033e+18, None]], batch=1)"
    )
    with stub(body) as worker:
        assert worker.request("run")["samples"] == [[1795434143444203264]]


@pytest.mark.parametrize("row", ["[True]", "['1']", "[1, 2]", "[float('inf')]", "7", "[]"])
def test_what_is_no_sample_ends_the_worker(row):
    found = loses(stub(f"r = read(); reply(r, cols=['wall_ns'], samples=[{row}], batch=1)"))
    assert (found.type, found.phase) == ("protocol", "protocol")
    assert "sample" in str(found) or "clock" in str(found)
