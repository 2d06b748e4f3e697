"""URLs of connections: what each begins with, and the parts of one for TCP."""

from __future__ import annotations

import ipaddress

from tare.errors import UsageError

__all__ = ["SCHEMES", "host_and_port", "is_loopback", "scheme_of", "tcp_url"]

SCHEMES = ("tcp", "unix", "fifo", "file", "fd")
_LOOPBACK = "127.0.0.1"


def scheme_of(url: str) -> str:
    """What a URL begins with.

    Raises:
        UsageError: Nothing that connections know.

    >>> scheme_of("tcp://127.0.0.1:7000"), scheme_of("unix:a.sock")
    ('tcp', 'unix')
    """
    scheme, colon, _ = url.partition(":")
    if not colon or scheme not in SCHEMES or (scheme == "tcp" and not url.startswith("tcp://")):
        forms = "tcp://HOST:PORT, unix:PATH, fifo:PATH, file:PATH or fd:NUMBER"
        raise UsageError(f"{url[:80]!a} is no place for messages: expected {forms}")
    if len(url) == len(scheme) + 1:
        raise UsageError(f"{url!a} names no place behind the colon")
    return scheme


def host_and_port(url: str) -> tuple[str, int]:
    """Host and port of ``tcp://host:port``; without a host, this machine alone.

    Raises:
        UsageError: It is neither.

    >>> host_and_port("tcp://:0"), host_and_port("tcp://[::1]:80")
    (('127.0.0.1', 0), ('::1', 80))
    """
    host, colon, port = url.removeprefix("tcp://").rpartition(":")
    # Only ASCII digits, and few: int() would take others, or refuse a thousand.
    if not colon or not (port.isascii() and port.isdigit() and len(port) <= 5) or int(port) > 65535:
        raise UsageError(f"{url[:80]!a}: expected tcp://HOST:PORT (a port from 0 to 65535)")
    return host.removeprefix("[").removesuffix("]") or _LOOPBACK, int(port)


def tcp_url(host: str, port: int) -> str:
    """The URL of an address.

    >>> tcp_url("::1", 80)
    'tcp://[::1]:80'
    """
    return f"tcp://[{host}]:{port}" if ":" in host else f"tcp://{host}:{port}"


def is_loopback(url: str) -> bool:
    """Whether a TCP URL names this machine alone.

    >>> is_loopback("tcp://localhost:1"), is_loopback("tcp://0.0.0.0:1")
    (True, False)
    """
    host = host_and_port(url)[0]
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
