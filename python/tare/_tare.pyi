"""The compiled core: what needs Rust and is used by more than one module.

Functions take any contiguous bytes-like object without copying it when it is read-only
(``bytes``, a ``memoryview`` of them, an Arrow buffer); a writable one is copied first,
because other threads may change it while the GIL is released.
"""

from collections.abc import Callable
from typing import Self

from typing_extensions import Buffer

__version__: str
"""Version of the core and of the package: the one in Cargo.toml."""

__commit__: str
"""Short commit the core was built from; ``unknown`` outside a repository."""

__features__: list[str]
"""What the core was built with: the names of its compressors."""

__debug_build__: bool
"""Whether the core was built without optimisation, which no measurement should use."""

def compress(name: str, data: Buffer, level: int | None = None) -> bytes:
    """Compress ``data`` into one frame or member of a container that stock tools read.

    Args:
        name: ``none``, ``zstd``, ``lz4`` or ``gzip``.
        data: Any contiguous bytes-like object.
        level: Native level; by default zstd 3, lz4 1, gzip 6.

    Returns:
        The compressed bytes; the same for the same data and level.

    Raises:
        UsageError: No such compressor or level.

    >>> len(compress("zstd", b"a" * 1000)) < 40
    True
    """

def decompress(name: str, data: Buffer, max_bytes: int | None = None) -> bytes:
    """Decompress all frames or members of ``data``, verifying every checksum present.

    Args:
        name: ``none``, ``zstd``, ``lz4`` or ``gzip``.
        data: Any contiguous bytes-like object; it must end where the last frame ends.
        max_bytes: Longest result allowed, in bytes; by default as much as there is memory.

    Returns:
        The plain bytes.

    Raises:
        Truncated: More bytes could make ``data`` valid.
        Malformed: It is no such container, is damaged, or other bytes follow it.
        ChecksumMismatch: Well formed, but damaged.
        Unsupported: A dictionary, an old version, or reserved bits.
        Limit: The result would be longer than ``max_bytes``.

    >>> decompress("gzip", compress("gzip", b"plain"))
    b'plain'
    """

class Relay:
    """A TCP relay that delays and paces every connection, to emulate a link.

    It runs until it is collected. What it reaches must be measured: it is no network.

    Args:
        target: ``IP:PORT`` that connections are passed on to.
        bytes_per_second: Rate of each direction; 0 for no limit.
        round_trip_s: Time from a byte sent to its answer, beside the rate, in seconds.

    Raises:
        ValueError: The target is no address, or the time is negative.
        OSError: No port can be bound.
    """

    address: str
    """Where to connect instead of the target, as ``IP:PORT``."""
    bytes_moved: int
    """Bytes that left the relay so far, both directions."""

    def __new__(cls, target: str, bytes_per_second: float, round_trip_s: float) -> Self: ...

class Reader:
    """The plain bytes of a compressed stream, read once from front to back.

    Args:
        name: ``none``, ``zstd``, ``lz4`` or ``gzip``.
        read: Called with a number of bytes, gives at most so many; ``b""`` is the end.

    Raises:
        UsageError: No such compressor.

    >>> import io
    >>> Reader("lz4", io.BytesIO(compress("lz4", b"plain")).read).read(3)
    b'pla'
    """

    def __new__(cls, name: str, read: Callable[[int], bytes]) -> Self: ...
    def read(self, size: int) -> bytes:
        """Give up to ``size`` plain bytes; none at the proven end.

        Raises:
            Truncated, Malformed, ChecksumMismatch, Unsupported, Limit: As `decompress`.
            Exception: What ``read`` raised, as it was.
        """
