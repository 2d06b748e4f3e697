"""An emulated link between two network namespaces: packets are delayed and paced, as on a wire.

Two processes hold a namespace each, made by ``unshare``: nothing has a name that could stay
behind, and when this process ends, however it ends, the kernel removes both with all that is in
them. The machine's own interfaces and settings are not touched.

Between the namespaces is one of two things, the first that works here:

* *TUN*: a device in each, and a process that passes packets from one to the other at the link's
  rate and delay (`tare._tare.PacketRelay`). It needs ``/dev/net/tun``.
* *veth*: a pair of devices with the token bucket of the kernel (``tc ... tbf``), which paces and
  does not delay. It needs ``ip`` and ``tc``.

Both need the right to make namespaces: root, or a kernel that lets users have their own.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.media.link import Link

__all__ = ["METHODS", "Lan", "LanError", "own_program"]

METHODS = ("tun", "veth")
"""Ways to join two namespaces, the better first."""

_SAID = {
    "tun": "netns+tun relay: each packet delayed and paced",
    "veth": "netns+veth+tbf: the rate alone, no delay",
}
_SLOW_BYTES_PER_SECOND = 25e6
_MTU, _LARGE_MTU = 1500, 9000
_PASSING_S = 40e-6
"""What a round trip through two devices and the relay takes beside the delay that was asked for."""
_ADDRESSES = ("10.78.0.1", "10.78.0.2")
_LOOSE = Path("/")
_REPLY_BYTES = 1 << 16
_PATIENCE_S = 20.0
_LAST_S = 5.0


class LanError(OSError):
    """Namespaces, or what joins them, cannot be had here; the text says why."""


class Lan:
    """Two namespaces and the link between them.

    Args:
        link: Its rate and round trip.
        methods: Ways to try, of `METHODS`.
        own_user: Whether the namespaces belong to a user namespace of their own, which needs no right
            but that to make one; None tries both ways, the plain one first if this is root.

    Raises:
        LanError: None of them works here.
    """

    def __init__(self, link: Link, methods: Sequence[str] = METHODS, *, own_user: bool | None = None) -> None:
        self.link = link
        self.mtu = _LARGE_MTU if link.bytes_per_second > _SLOW_BYTES_PER_SECOND else _MTU
        self._open = contextlib.ExitStack()
        self.method = ""
        self.side: tuple[Side, Side]
        why = []
        ways = (own_user,) if own_user is not None else (False, True) if os.geteuid() == 0 else (True,)
        for way, method in product(ways, methods):
            try:
                self._begin(method, own_user=way)
            except LanError as error:
                why.append(f"{method}: {error}")
            else:
                self.method = _SAID[method]
                return
        raise LanError("; ".join(why) or "no method was asked for")

    def close(self) -> None:
        """End the processes that hold the namespaces, and with them all that is there."""
        self._open.close()

    def _begin(self, method: str, *, own_user: bool) -> None:
        with contextlib.ExitStack() as making:
            near = making.enter_context(contextlib.closing(Side(_ADDRESSES[0], own_user=own_user)))
            far = making.enter_context(contextlib.closing(Side(_ADDRESSES[1], near, own_user=own_user)))
            if method == "tun":
                making.callback(_ended, _tun_between(near, far, self.link, self.mtu))
            else:
                _veth_between(near, far, self.link, self.mtu)
            self.side = (near, far)
            self._open = making.pop_all()


class Side:
    """A namespace of its own, and the process that holds it.

    Args:
        address: Address that its device gets.
        beside: Another, whose user namespace this one shares.
        own_user: Whether it belongs to a user namespace.

    Raises:
        LanError: It cannot be made.
    """

    def __init__(self, address: str, beside: Side | None = None, *, own_user: bool = False) -> None:
        self.address = address
        self._of_user = own_user
        if self._of_user and beside is not None:
            apart = [*beside.command(net=False), *_tool("unshare"), "-n"]
        else:
            apart = [*_tool("unshare"), "-Urn" if self._of_user else "-n"]
        self._asking, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [*apart, *own_program("tare.media.lan_holder")],
                stdin=theirs.fileno(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True, cwd=_LOOSE,
            )  # fmt: skip
        self._asking.settimeout(_PATIENCE_S)
        try:
            self.ask("hello")
        except BaseException:
            self.close()
            raise

    def command(self, *, net: bool = True) -> list[str]:
        """What to put before a command, so that it runs there; it keeps its process id.

        Raises:
            LanError: ``nsenter`` is not installed.
        """
        found = [*_tool("nsenter"), "-t", str(self._process.pid)]
        found += ["-n"] if net else []
        return [*found, "-U", "--preserve-credentials"] if self._of_user else found

    def listen(self) -> socket.socket:
        """A socket that listens there, on a port that the system chooses."""
        return self._socket(self.ask("listen", address=self.address))

    def connect(self, port: int, host: str) -> socket.socket:
        """A connection from there."""
        return self._socket(self.ask("connect", host=host, port=port))

    def run(self, *words: str) -> None:
        """Run a command there.

        Raises:
            LanError: It is not installed, or failed; what it said is in the text.
        """
        _tool(words[0])
        self.ask("run", command=list(words))

    def ask(self, op: str, **fields: Any) -> int | None:
        """Ask the holder for something; the descriptor that it gives, if it gives one.

        Raises:
            LanError: It cannot, or has gone; the text says why.
        """
        try:
            self._asking.send(json.dumps({"op": op, **fields}).encode())
            text, descriptors, _, _ = socket.recv_fds(self._asking, _REPLY_BYTES, 1)
        except OSError as error:
            raise LanError(f"{error}{self._last_words()}") from None
        if not text:
            raise LanError(f"cannot make a namespace{self._last_words()}")
        reply = json.loads(text)
        if "error" in reply:
            raise LanError(str(reply["error"]))
        return descriptors[0] if descriptors else None

    @staticmethod
    def _socket(descriptor: int | None) -> socket.socket:
        if descriptor is None:
            raise LanError("no socket came from the namespace")
        return socket.socket(fileno=descriptor)

    @property
    def pid(self) -> int:
        """Process that holds it."""
        return self._process.pid

    def _last_words(self) -> str:
        self._asking.close()
        if self._process.stderr is None or self._process.stderr.closed:
            return ""
        try:
            _, said = self._process.communicate(timeout=_LAST_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            _, said = self._process.communicate()
        lines = said.decode(errors="replace").strip().splitlines()
        return f" ({lines[-1][:200]})" if lines else ""

    def close(self) -> None:
        """End the process; the namespace goes with the last that is in it."""
        self._asking.close()
        _ended(self._process)


def own_program(module: str) -> list[str]:
    """The command that runs ``serve()`` of a module of this very package, whatever else is installed.

    Args:
        module: Its full name.
    """
    root = str(Path(__file__).resolve().parents[2])
    text = f"import sys; sys.path.insert(0, {root!r}); from {module} import serve; serve()"
    return [sys.executable, "-I", "-c", text]


def _tun_between(near: Side, far: Side, link: Link, mtu: int) -> subprocess.Popen[bytes]:
    """A device on each side, and the process that passes packets between them."""
    devices = []
    try:
        for side in (near, far):
            device = side.ask("tun", address=side.address, mtu=mtu)
            if device is None:
                raise LanError("no device came from the namespace")
            devices.append(device)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = subprocess.Popen(
                own_program("tare.media.lan_relay"),
                stdin=theirs.fileno(), stdout=subprocess.DEVNULL, start_new_session=True, cwd=_LOOSE,
            )  # fmt: skip
        with ours:
            ours.settimeout(_PATIENCE_S)
            delay_s = max(0.0, link.round_trip_s - _PASSING_S)
            rates = json.dumps([link.bytes_per_second, delay_s]).encode()
            try:
                socket.send_fds(ours, [rates], devices)
                ready = ours.recv(1)
            except OSError:
                ready = b""
            if not ready:
                _ended(process)
                raise LanError("the process that passes packets did not start")
            # It lives until we do: this socket is its lifeline.
            process.stdin = ours.makefile("wb")  # closed as a pipe would be
    finally:
        for device in devices:
            os.close(device)
    return process


def _veth_between(near: Side, far: Side, link: Link, mtu: int) -> None:
    """A pair of devices, each with a token bucket."""
    rate = f"{max(8, round(link.bytes_per_second * 8))}bit"
    near.run("ip", "link", "add", "va", "type", "veth", "peer", "name", "vb", "netns", str(far.pid))
    for side, device in ((near, "va"), (far, "vb")):
        side.run("ip", "addr", "add", f"{side.address}/24", "dev", device)
        side.run("ip", "link", "set", device, "mtu", str(mtu), "up")
        side.run("ip", "link", "set", "lo", "up")
        side.run(
            "tc", "qdisc", "replace", "dev", device, "root", "tbf", "rate", rate,
            "burst", "128kb", "latency", "20ms",
        )  # fmt: skip


def _tool(name: str) -> list[str]:
    """The path of a program of the system.

    Raises:
        LanError: It is not installed.
    """
    path = shutil.which(name, path=f"{os.defpath}:/usr/sbin:/sbin")
    if path is None:
        raise LanError(f"{name} is not installed")
    return [path]


def _ended(process: subprocess.Popen[bytes]) -> None:
    """A process that ends with its input, or is ended."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    try:
        process.wait(1)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stderr is not None:
        process.stderr.close()
