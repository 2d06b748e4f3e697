"""A link between two network namespaces: what it reaches, who meets there, and that nothing of it stays.

Where the kernel lets nobody make namespaces, there is nothing to test, and the tests say so; that is
no failure in CI either.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.capabilities import need_command, need_linux, unavailable

from tare import measure
from tare._tare import PacketRelay
from tare.measure.environment.link_check import check_link, drift
from tare.measure.plan.plan import Plan
from tare.measure.settings import Settings
from tare.measure.worker_client.network import Reach
from tare.media import lan
from tare.media.lan import METHODS, Lan, LanError
from tare.media.link import Link
from tare.report import markdown

FAST = Link.parse("1Gbit,0.3ms")
PATIENCE_S = 20
pytestmark = pytest.mark.xdist_group("lan")  # they share a link
REFUSED = ("not permitted", "denied", "Invalid argument", "No space", "No such file", "not supported")


def made(link: Link = FAST, methods: Any = METHODS, **options: Any) -> Lan:
    """Namespaces, or a skip where the kernel does not allow them."""
    need_linux()
    need_command("unshare", "nsenter")
    try:
        return Lan(link, methods, **options)
    except LanError as error:
        if any(text in str(error) for text in REFUSED):
            unavailable(f"the kernel gives no namespaces, or nothing to join them: {error}")
        raise


@pytest.fixture(scope="module")
def link() -> Iterator[Lan]:
    """A link of 1 Gbit/s and 0.3 ms."""
    with closing(made()) as found:
        yield found


def inside(side: lan.Side, program: str, *arguments: object) -> subprocess.Popen[str]:
    """A Python program that runs in a namespace."""
    return subprocess.Popen(
        [*side.command(), sys.executable, "-c", program, *map(str, arguments)],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip


def told(found: dict[str, Any], asked: Link) -> str:
    """What a link reached, against what was asked for."""
    rate, trip = (
        found["bytes_per_second"] / asked.bytes_per_second,
        found["rtt_p50_us"] / found["rtt_asked_us"],
    )
    well = "as asked" if abs(rate - 1) <= 0.05 and abs(trip - 1) <= 0.2 else "not as asked"
    return f"{found['method']}: {well}: {rate:.0%} of the rate, {trip:.0%} of the round trip; load {os.getloadavg()[0]:.1f}"


@pytest.mark.alone
@pytest.mark.parametrize("own_user", [False, True], ids=["root", "own user namespace"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("asked", [FAST, Link.parse("40Mbit,4ms")], ids=str)
def test_what_a_link_reaches_is_told(method: str, asked: Link, own_user: bool) -> None:
    """The record names the method, what was asked and what was reached; it is never faster than asked.

    On a quiet machine the rate is within 5 % and the round trip within 20 %; on others it says what it was.
    """
    if not own_user and os.geteuid() != 0:
        unavailable("only root makes namespaces without a user namespace")
    with closing(made(asked, [method], own_user=own_user)) as between:
        found = check_link(asked, between)
    print(told(found, asked))
    assert found["method"].startswith("netns+")
    assert (found["asked"], found["rate_asked"]) == (str(asked), asked.bytes_per_second * 8)
    assert found["rtt_asked_us"] == asked.round_trip_s * 1e6
    assert found["mtu"] == (9000 if asked is FAST else 1500)
    assert found["kernel"] == os.uname().release
    assert 0.2 * asked.bytes_per_second < found["bytes_per_second"] < 1.1 * asked.bytes_per_second
    assert found["rtt_p50_us"] <= found["rtt_p90_us"]
    if method == "tun":
        assert 0.8 * found["rtt_asked_us"] < found["rtt_p50_us"] < 50 * found["rtt_asked_us"]
    else:
        assert "no delay" in found["method"]


def test_a_drift_is_what_changed_most() -> None:
    """Rate or round trip, up or down."""
    before = {"bytes_per_second": 100.0, "round_trip_s": 1.0}
    assert drift(before, before) == 0
    assert drift(before, {"bytes_per_second": 80.0, "round_trip_s": 1.1}) == 0.2
    assert drift(before, {"bytes_per_second": 101.0, "round_trip_s": 0.5}) == 0.5


SERVER = """
import sys, tare
with tare.listen(f"tcp://{sys.argv[1]}:0", "json", timeout=60) as server:
    print(server.url)
    with server.accept() as conn:
        for value in conn:
            conn.send([value])
    print(conn.summary()["messages_in"])
"""
CLIENT = """
import sys, tare
with tare.connect(sys.argv[1], "json", timeout=60) as conn:
    for number in range(200):
        conn.send({"n": number, "text": "x" * number * 50})
        assert conn.receive() == [{"n": number, "text": "x" * number * 50}]
print("done")
"""


def test_two_processes_in_two_namespaces(link: Lan) -> None:
    """`tare.connect` and `tare.listen` meet over the link, and answers come back."""
    near, far = link.side
    with inside(near, SERVER, near.address) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        assert url.startswith(f"tcp://{near.address}:")
        with inside(far, CLIENT, url) as client:
            assert ("done\n", None) == client.communicate(timeout=PATIENCE_S)
        assert "200\n" == server.stdout.read()
    assert (0, 0) == (server.returncode, client.returncode)
    with pytest.raises(OSError, match=r"."):  # here is another network
        socket.create_connection((near.address, int(url.rpartition(":")[2])), timeout=0.3)


DYING = """
import sys, os, signal, tare
conn = tare.connect(sys.argv[1], "raw", timeout=60)
conn.send(b"first")
conn.send(b"second")
if sys.argv[2] == "inside":
    number, _ = conn.detach()
    os.set_blocking(number, True)
    os.write(number, bytes.fromhex("e040420f00") + bytes(1000))
print("sent")
os.kill(os.getpid(), signal.SIGKILL)
"""
SURVIVOR = """
import sys, tare
with tare.listen(f"tcp://{sys.argv[1]}:0", "raw", timeout=60) as server:
    print(server.url)
    with server.accept() as conn:
        try:
            while True:
                print(conn.receive().decode())
        except (tare.messages.EndOfStream, tare.errors.Truncated) as error:
            print(type(error).__name__, conn.status, conn.partial_size)
"""


@pytest.mark.parametrize(
    ("where", "expected"),
    [("between", "EndOfStream eof_clean 0"), ("inside", "Truncated eof_truncated 1000")],
)
def test_a_peer_that_is_killed(link: Lan, where: str, expected: str) -> None:
    """Killed between messages it has not finished; inside one the stream is cut. What was whole came first."""
    near, far = link.side
    with inside(near, SURVIVOR, near.address) as survivor:
        assert survivor.stdout is not None
        url = survivor.stdout.readline().strip()
        with inside(far, DYING, url, where) as dying:
            dying.wait(PATIENCE_S)
        assert ["first", "second", expected] == survivor.communicate(timeout=PATIENCE_S)[0].splitlines()
    assert -signal.SIGKILL == dying.returncode


def pids_in_namespaces() -> set[str]:
    """Network namespaces that any process is in."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*/ns/net"):
        try:
            found.add(os.readlink(folder))
        except OSError:
            continue
    return found


OWNER = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background may ignore it
from tare.media.lan import Lan
from tare.media.link import Link
lan = Lan(Link.parse("1Gbit,0.3ms"))
print(*(os.readlink(f"/proc/{side.pid}/ns/net") for side in lan.side))
sys.stdin.read()
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_nothing_stays_when_the_owner_is_ended(link: Lan, end: signal.Signals) -> None:
    """However it ends, both namespaces go, with what joined them; the machine's own interfaces are as they were."""
    before = socket.if_nameindex()
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as owner:  # fmt: skip
        assert owner.stdout is not None
        theirs = set(owner.stdout.readline().decode().split())
        assert len(theirs & pids_in_namespaces()) == 2
        owner.send_signal(end)
        owner.wait(PATIENCE_S)
    until = time.monotonic() + PATIENCE_S
    while theirs & pids_in_namespaces() and time.monotonic() < until:
        time.sleep(0.02)
    assert not theirs & pids_in_namespaces()
    assert before == socket.if_nameindex()
    assert check_link(link.link, link)["bytes_per_second"] > 0  # another's goes on


def test_what_cannot_be_had_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the tools, or with a command that fails, the reason is in the error."""
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None)
    with pytest.raises(LanError, match="unshare is not installed"):
        Lan(FAST)
    monkeypatch.undo()
    with closing(made()) as found, pytest.raises(LanError, match=r"ls --nonsense \.\.\."):
        found.side[0].run("ls", "--nonsense")


def refused(*_: object, **__: object) -> None:
    raise LanError("Operation not permitted")


def test_without_namespaces_a_relay_emulates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is asked: the record names the relay, and why there was nothing better."""
    monkeypatch.setattr(lan, "Lan", refused)
    noise: dict[str, Any] = {}
    reach = Reach(Settings(link="1Gbit,0.3ms"), noise)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = reach.through_link("link", f"127.0.0.1:{server.getsockname()[1]}")
        assert address != f"127.0.0.1:{server.getsockname()[1]}"
        assert ([], "tcp") == (reach.inside("link", "reader"), reach.medium("link", "reader")["kind"])
        reach.check_again()
        reach.close()
    assert "socket relay" in noise["link"]["method"]
    assert (None, "Operation not permitted") == (noise["link"]["mtu"], noise["link"]["no_namespaces"])
    assert noise["link"]["drift"] >= 0
    assert noise["link"]["after"]["rate_measured"] > 0


def test_a_link_that_breaks_is_told(link: Lan, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that carries nothing gives way to the relay; one that broke behind the samples costs no record."""
    del link  # namespaces can be had

    class Mute(Lan):
        def _begin(self, method: str, *, own_user: bool) -> None:
            super()._begin(method, own_user=own_user)
            self.side[1].connect = refused  # type: ignore[method-assign]

    noise: dict[str, Any] = {}
    reach = Reach(Settings(link="1Gbit,0.3ms"), noise)
    with monkeypatch.context() as patched:
        patched.setattr(lan, "Lan", Mute)
        assert [] == reach.inside("link", "writer")
    assert "link" not in noise
    reach = Reach(Settings(link="1Gbit,0.3ms"), noise)
    assert reach.inside("link", "writer")
    assert reach.inside("link", "reader") != reach.inside("link", "writer")
    assert reach.medium("link", "reader")["address"].startswith("10.")
    reach._lan.side[1].close()
    reach.check_again()
    reach.close()
    assert "error" in noise["link"]["after"]
    assert "drift" not in noise["link"]


def test_the_plan_transports_runs_over_every_medium(
    link: Lan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One size of each of a codec's curves: all are measured, and the link's workers are in its namespaces."""
    del link  # namespaces can be had
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    media = ["memory", "file", "fifo", "tcp", "link"]
    how = {"delivery": ("whole", "framed", "wrapped")}
    plan = Plan.named("transports").narrow(codecs=["pickle"], media=media, where=how, stop_s=1e-6)
    plan = dataclasses.replace(plan, statistics=dataclasses.replace(plan.statistics, rounds=2))
    table = pa.table({"n": range(6_000), "text": [f"x{number % 9}" for number in range(6_000)]})
    found = measure.run(table, plan=plan)
    done = [case for case in found.record["cases"] if case["launches"]]
    assert {"ok"} == {case["status"] for case in done}
    assert {(case["labels"]["medium"], case["labels"]["delivery"]) for case in done} == {
        ("memory", "whole"), ("file", "whole"),
        *((medium, how) for medium in media[2:] for how in ("framed", "wrapped")),
    }  # fmt: skip
    said = found.record["noise"]["link"]
    assert said["method"].startswith("netns+")
    assert {"after", "drift", "rtt_p50_us"} <= set(said)
    assert "link(emulated)" in markdown.render(found)
    # No value is there before the packets that carry it: a quarter of the round trip at the least.
    for case in done:
        if case["labels"]["medium"] == "link":
            assert min(case["launches"][0]["samples"]["span"]["first_value_after_ns"]) > 75_000


# --- the relay of packets, between sockets that keep packets apart ------------------


RELAY = """
import json, socket, sys
from tare._tare import PacketRelay
near, far = int(sys.argv[1]), int(sys.argv[2])
relay = PacketRelay(near, far, float(sys.argv[3]), float(sys.argv[4]))
sys.stdin.read()
print(json.dumps(relay.counts))
"""


def relayed(rate: float, round_trip_s: float, packets: list[bytes]) -> tuple[list[bytes], float, list[int]]:
    """Packets through a relay of its own process: what arrived, in how many seconds, and its counts."""
    ours, near = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    far, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with (
        ours, near, far, theirs,
        subprocess.Popen(
            [sys.executable, "-c", RELAY, str(near.fileno()), str(far.fileno()), str(rate), str(round_trip_s)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=(near.fileno(), far.fileno()),
        ) as process,
    ):  # fmt: skip
        theirs.settimeout(PATIENCE_S)
        ours.send(b"awake")
        assert b"awake" == theirs.recv(100)
        began = time.monotonic()
        got = []
        for packet in packets:
            ours.send(packet)
        got = [theirs.recv(1 << 16) for _ in packets]
        took = time.monotonic() - began
        said, _ = process.communicate()
        return got, took, json.loads(said)


def test_packets_arrive_in_order_and_not_before_their_time() -> None:
    """Each waits for its delay and for those before it; none is lost, none is changed."""
    packets = [bytes([number]) * 1000 for number in range(100)]
    got, took, counts = relayed(1e6, 0.02, packets)
    assert packets == got
    assert took >= 100 * 1000 / 1e6 + 0.01 - 0.001
    # The last may have arrived before it was counted.
    assert counts in ([101, 100_005, 0], [100, 99_005, 0])
    got, took, _ = relayed(0.0, 0.05, packets[:5])
    assert (packets[:5], True) == (got, 0.025 <= took)


@pytest.mark.parametrize("trip", [-1.0, float("nan")])
def test_a_negative_delay_is_refused(trip: float) -> None:
    """Said before any thread begins."""
    with pytest.raises(ValueError, match=r"."):
        PacketRelay(0, 0, 1e6, trip)
