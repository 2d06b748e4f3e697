"""The process that holds a network namespace: it makes sockets and devices there and hands them out.

It is started inside a new namespace and serves requests of its parent on the socket that is its
standard input, one JSON object a message, until that closes. A socket, or a device, belongs to the
namespace that it was made in, whoever uses it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import struct
import subprocess
from typing import Any

__all__ = ["serve"]

# From linux/if_tun.h, linux/if.h and linux/sockios.h.
_TUNSETIFF, _TUN_NO_INFO = 0x400454CA, 0x0001 | 0x1000
_SIOCSIFADDR, _SIOCSIFNETMASK, _SIOCSIFMTU = 0x8916, 0x891C, 0x8922
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _UP = 0x8913, 0x8914, 0x1 | 0x40
_SIOCSIFTXQLEN, _QUEUE_PACKETS = 0x8943, 4096  # a relay that is not run for a moment loses nothing
_MASK = "255.255.255.0"
_NAME_BYTES, _REQUEST_BYTES = 16, 1 << 16


def serve() -> None:
    """Answer requests until the parent has gone."""
    with socket.socket(fileno=os.dup(0)) as parent:
        while text := parent.recv(_REQUEST_BYTES):
            try:
                given = _done(**json.loads(text))
            except (OSError, subprocess.SubprocessError) as error:
                parent.send(json.dumps({"error": _told(error)}).encode())
                continue
            socket.send_fds(parent, [b"{}"], [] if given is None else [given])
            if given is not None:
                os.close(given)


def _done(op: str, **fields: Any) -> int | None:
    """What was asked for, as a descriptor if it is one."""
    if op == "tun":
        _set_up("lo")
        return _tun(fields["address"], fields["mtu"])
    if op == "listen":
        return socket.create_server((fields["address"], 0)).detach()
    if op == "connect":
        made = socket.create_connection((fields["host"], fields["port"]), timeout=10)
        made.settimeout(None)
        return made.detach()
    if op == "run":
        subprocess.run(
            fields["command"], check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
    return None


def _tun(address: str, mtu: int) -> int:
    """A device that gives and takes IP packets; its descriptor."""
    device = os.open("/dev/net/tun", os.O_RDWR)
    try:
        fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", b"tn0", _TUN_NO_INFO))
        _ask("tn0", _SIOCSIFADDR, _address(address))
        _ask("tn0", _SIOCSIFNETMASK, _address(_MASK))
        _ask("tn0", _SIOCSIFMTU, struct.pack("i20x", mtu))
        with contextlib.suppress(PermissionError):  # in a user's own namespace the queue stays short
            _ask("tn0", _SIOCSIFTXQLEN, struct.pack("i20x", _QUEUE_PACKETS))
        _set_up("tn0")
    except BaseException:
        os.close(device)
        raise
    return device


def _set_up(name: str) -> None:
    flags = struct.unpack_from("h", _ask(name, _SIOCGIFFLAGS, bytes(24)), _NAME_BYTES)[0]
    _ask(name, _SIOCSIFFLAGS, struct.pack("h22x", flags | _UP))


def _address(text: str) -> bytes:
    return struct.pack("HH4s16x", socket.AF_INET, 0, socket.inet_aton(text))


def _ask(name: str, request: int, value: bytes) -> bytes:
    """A request about an interface, as the system's ``struct ifreq``: name, then 24 bytes."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        return fcntl.ioctl(sock, request, name.encode().ljust(_NAME_BYTES, b"\0") + value)


def _told(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        words = " ".join(map(str, error.cmd[:3]))
        return f"{words} ...: {(error.stderr or '').strip()[-200:]}"
    return str(error)
