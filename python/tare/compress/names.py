"""Compressors by name, level and effort, and how their files are told."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tare import _tare
from tare.errors import DecodeError, Malformed, Truncated, UsageError

if TYPE_CHECKING:
    from typing_extensions import Buffer  # in the standard library from 3.12 on

__all__ = [
    "COMPRESSORS",
    "Compressor",
    "check_counts",
    "choose",
    "compressor",
    "effort",
    "not_of_ending",
    "of_ending",
    "parse",
    "refuse_auto",
    "sniff",
]


@dataclass(frozen=True)
class Compressor:
    """One compressor: its name, its levels, and how files of it are told.

    Args:
        name: Name in ids and on the command line.
        levels: Lowest and highest level, both allowed; 0 is no level where the lowest is
            negative; None where there are no levels.
        default_level: Level of an id without one.
        extension: File ending, with the dot; empty for none.
        magic: First bytes of its files; empty for none.
    """

    name: str
    levels: tuple[int, int] | None
    default_level: int | None
    extension: str
    magic: bytes

    def check(self, level: int | None) -> int | None:
        """Give ``level``, or the default level for None.

        Raises:
            UsageError: A level out of range.

        >>> compressor("gzip").check(None)
        6
        """
        return _tare.parse(self.name if level is None else f"{self.name}:{level}")[1]


COMPRESSORS: tuple[Compressor, ...] = tuple(Compressor(*row) for row in _tare.compressors())
_BY_NAME = {known.name: known for known in COMPRESSORS}
_ENDINGS = {known.extension: known.name for known in COMPRESSORS if known.extension} | {
    ".bgz": "gzip", ".tgz": "gzip", ".tzst": "zstd", ".tbz2": "bz2", ".txz": "xz", ".lzma": "xz",
}  # fmt: skip


def compressor(name: str) -> Compressor:
    """Find a compressor by its name.

    Raises:
        UsageError: There is none of that name; near names are listed.

    >>> compressor("zstd").extension
    '.zst'
    """
    found = _BY_NAME.get(name)
    refuse_auto(name)
    if name == "zlib":
        raise UsageError(
            "zlib streams are read, never written: gzip holds the same deflate data", format=name
        )
    if found is None:
        import difflib

        near = difflib.get_close_matches(name, _BY_NAME, cutoff=0.4)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(_BY_NAME)}"
        raise UsageError(f"no compressor {name[:80]!a}; {hint}")
    return found


def parse(id: str) -> tuple[str, int | None]:
    """Split a compressor's id into its name and level, the default level if it names none.

    Raises:
        UsageError: No such compressor, level or option.

    >>> parse("zstd"), parse("lz4:-4"), parse("none"), parse("zstd:9,chunk=4MiB")
    (('zstd', 3), ('lz4', -4), ('none', None), ('zstd', 9))
    """
    compressor(id.partition(",")[0].partition(":")[0])
    return _tare.parse(id)[:2]


def effort(name: str, effort: int) -> str:
    """The id of a compressor that takes an effort from 0 (fastest) to 100 (smallest).

    More effort never gives a lower level.

    Args:
        name: The compressor's name.
        effort: 0 to 100.

    Raises:
        UsageError: No such compressor, one without levels, or another effort.

    >>> effort("zstd", 50), effort("lz4", 0)
    ('zstd:7', 'lz4:-8')
    """
    if not 0 <= effort <= 100:
        raise UsageError(f"no effort {effort}; it goes from 0 to 100", format=name)
    return _tare.effort(compressor(name).name, effort)


def choose(
    sample: Buffer, bandwidth: float, *, compressor: str | None = None, threads: int | None = None
) -> str:
    r"""The id that lets the most plain bytes through a link or disk, tried on a sample on this machine.

    Args:
        sample: The first few MiB of what will be compressed.
        bandwidth: What the link or disk takes, in bytes per second.
        compressor: ``zstd`` or ``lz4``, to choose between its levels alone.
        threads: How many will compress; by default all cores, at most 16.

    Raises:
        UsageError: An empty sample, a bandwidth that is not above 0, or another compressor.

    >>> choose(b"station,carrier,distance\n" * 10_000, 10_000, compressor="zstd").partition(":")[0]
    'zstd'
    """
    check_counts(threads=threads)
    return _tare.choose(sample, bandwidth, compressor, threads)


def refuse_auto(id: str) -> None:
    """Say where the choice is made that the command line calls ``auto``.

    Raises:
        UsageError: The id is ``auto``.
    """
    if id.partition(",")[0].partition(":")[0] == "auto":
        raise UsageError("auto is no compressor: choose(sample, bandwidth) gives the id of one")


def check_counts(**given: int | None) -> None:
    """Refuse sizes and counts that are negative, or above what any machine has.

    Raises:
        UsageError: One of them is.
    """
    for name, value in given.items():
        if value is not None and not 0 <= value < 1 << 63:
            raise UsageError(f"{name} is {value}: it cannot be {'negative' if value < 0 else 'so large'}")


def of_ending(path: str) -> str | None:
    """The compressor that a name's ending says; None for other endings.

    >>> of_ending("a.csv.zst"), of_ending("all.TGZ"), of_ending("a.csv")
    ('zstd', 'gzip', None)
    """
    return _ENDINGS.get(os.path.splitext(path)[1].lower())


def not_of_ending(path: str, name: str, head: bytes, hint: str = "") -> DecodeError:
    """The error for plain bytes under a name that ends as a compressor's files do.

    Args:
        path: The name.
        name: The compressor that its ending says.
        head: Its first bytes, as far as they are known; none if it has none.
        hint: What to do, with what comes before it.
    """
    cut = compressor(name).magic.startswith(head)
    what = f"it ends after {len(head)} bytes" if cut else "its first bytes are of no compressor"
    return (Truncated if cut else Malformed)(
        f"{path}: its ending says {name}, but {what}, at byte {len(head) if cut else 0}{hint}",
        format=name,
        offset=len(head) if cut else 0,
        path=path,
    )


def sniff(head: bytes) -> str | None:
    """Tell the compressor from a file's first bytes; None if they are of no compressor.

    >>> sniff(b"BZh91AY&SY"), sniff(b"BZh, a text"), sniff(b"a,b,c")
    ('bz2', None, None)
    """
    name = _tare.sniff(bytes(head[:64]))
    return None if name == "none" else name
