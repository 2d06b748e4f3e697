"""Names whose bytes are no UTF-8 and whose encoding nothing tells: what stands for them, and the loss that tells it."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tare.r.losses import Loss

if TYPE_CHECKING:
    from tare._tare import RObject as Core

__all__ = ["in_encoding", "shown", "tell", "texts"]

_R = "names without a mark of their encoding that are not UTF-8 (encoding= names it)"
_MARKED = "names that are no text"
_KIND = "bytes_string"
# Of an fst file: where its header tells columns and chunk set, and what stands between that and the names.
_COLUMNS_AT, _SET_AT, _TABLE_BYTES, _SET_BYTES, _NAMES_BYTES = 28, 32, 48, 80, 24
# Of names as fst 0.9 writes them: neither compressed nor marked, in groups with where each ends.
_PLAIN_GROUPS = (0).to_bytes(4, "little")
_BYTES = (0x2009).to_bytes(4, "big")  # what stands before a string that R marks as bytes
_HEADER_BYTES = 23  # of R's serialization in version 3 with UTF-8 as native encoding


def shown(raw: bytes) -> str:
    r"""Returns bytes as R prints them.

    >>> shown("caf\u00e9".encode("latin1"))
    'caf\\xe9'
    """
    return raw.decode("utf-8", "backslashreplace")


def texts(strings: Iterable[str | bytes | None]) -> list[str]:
    """Returns the strings of a vector as text; a missing one is NA, as R shows it."""
    return ["NA" if one is None else shown(one) if isinstance(one, bytes) else one for one in strings]


def tell(names: Core | None, path: str, found: list[Loss], wanted: Iterable[str] | None = None) -> None:
    """Tells names of which nothing says the encoding.

    Args:
        names: The vector of names; None for none.
        path: Where they are, for the loss.
        found: The list that the loss is added to.
        wanted: Those that are kept, as they are shown; all by default.
    """
    if names is None or names.type != "character":
        return
    odd = [shown(one) for one in names.strings() if isinstance(one, bytes)]
    if wanted is not None and odd:
        odd = list(set(odd).intersection(wanted))
    if odd:
        marked = _BYTES in names.to_bytes(3, "xdr")
        found.append(
            Loss(path, _KIND, _MARKED if marked else _R, "the text that R shows for their bytes", len(odd))
        )


def in_encoding(core: Core, source: Any, options: Mapping[str, Any], found: list[Loss]) -> Core:
    """Returns the data frame of an fst file with its names in the encoding that was named; without one the guess is told.

    fst marks no name: the core takes for latin1 what is not UTF-8.

    Args:
        core: The data frame.
        source: The path of the file, or its bytes.
        options: Those of reading, with ``encoding`` or without.
        found: The list that the loss is added to.
    """
    names = core.names or []
    if all(name is None or name.isascii() for name in names):
        return core
    block = _names_of(source)
    guessed = [name for name in names if name is not None and _is_guess(name, block)]
    encoding = options.get("encoding")
    if not guessed:
        return core
    if encoding is None:
        found.append(Loss("@names", _KIND, _R, "text in latin1, a guess", len(guessed)))
        return core
    try:
        known = {name: name.encode("latin1").decode(encoding) for name in guessed}
    except (UnicodeDecodeError, LookupError):
        found.append(Loss("@names", _KIND, _R, "text in latin1, a guess", len(guessed)))
        return core
    return _renamed(core, [known.get(name or "", name) for name in names])


def _is_guess(name: str, block: bytes) -> bool:
    """Returns whether a name stands in the file in latin1, and not in UTF-8."""
    if name.isascii() or max(name) > "\u00ff":
        return False
    return name.encode("latin1") in block and name.encode() not in block


def _names_of(source: Any) -> bytes:
    """Returns the part of an fst file that has its names; nothing if they are compressed."""
    if isinstance(source, str):
        with open(source, "rb") as file:
            return _block(lambda at, size: (file.seek(at), file.read(size))[1])
    return _block(lambda at, size: bytes(memoryview(source)[at : at + size]))


def _block(read: Any) -> bytes:
    head = read(0, _TABLE_BYTES)
    columns, at = struct.unpack_from("<iq", head, _COLUMNS_AT)
    at += _SET_BYTES + 8 * columns + _NAMES_BYTES
    begin = read(at, 8)
    if begin[:4] != _PLAIN_GROUPS:
        return b""
    per = int.from_bytes(begin[4:], "little")
    groups = -(-columns // max(per, 1))
    ends = read(at + 8, 8 * groups)
    last = int.from_bytes(ends[-8:], "little")
    block: bytes = read(at, last)
    return block


def _renamed(core: Core, names: list[str | None]) -> Core:
    """Returns the data frame with other names: in its serialization they stand behind its columns."""
    from tare._tare import r_from_python, r_read

    own = core.attribute("names")
    assert own is not None, "a data frame has names"
    plain = core.to_bytes(3, "xdr")
    old, new = (
        b"names" + one.to_bytes(3, "xdr")[_HEADER_BYTES:] for one in (own, r_from_python(names, {})[0])
    )
    before, known, behind = plain.rpartition(old)
    made = r_read(before + new + behind if known else plain, {"format": "rds"})
    assert not isinstance(made, list), "an RDS holds one object"
    return made
