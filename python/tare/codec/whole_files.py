"""Reads a whole file by a codec: its bytes in memory first, or where the library's values stay."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, BinaryIO

from tare.codec.compressing import unpacked
from tare.codec.refusals import mapped
from tare.errors import Malformed, Unsupported

if TYPE_CHECKING:
    from tare.codec.codec import Codec

__all__ = ["copies", "decode_columns", "decode_exactly", "decode_file"]


def copies(codec: Codec) -> bool:
    """Returns whether decoding copies the bytes and does no more, which reading a file does already.

    >>> from tare.codec import Codec
    >>> copies(Codec.parse("arrow:pyarrow")), copies(Codec.parse("arrow:pyarrow,compression=lz4"))
    (True, False)
    """
    given = codec.library.copies.items()
    return bool(given) and codec.compressor is None and all(codec.options.get(k) == v for k, v in given)


def decode_exactly(codec: Codec, data: bytes, *, trust: bool = False) -> Any:
    """Decodes the bytes of a file that is opened: nothing is cut that the library, as `Codec.decode` calls it, would cut.

    Args:
        codec: The codec.
        data: The bytes, not compressed.
        trust: As of `Codec.decode`.

    Raises:
        DecodeError, NotTrusted, Unsupported: As of `Codec.decode`; the library cuts a value and its format has another that does not.
    """
    if (exact := codec.library.bind_exact) is None:
        return codec.decode(data, trust=trust)
    codec.require()
    with mapped(codec, Malformed):
        return exact(**codec.options)(data)


def decode_file(codec: Codec, file: BinaryIO, path: str | None, *, trust: bool) -> Any:
    """Decodes what is in a file, copied once if the codec does nothing but copy.

    Args:
        codec: The codec.
        file: The file, open at its begin.
        path: Where the very bytes of it are; None if they are nowhere, or compressed.
        trust: As of `Codec.decode`.

    Raises:
        DecodeError, NotTrusted: As of `Codec.decode`.
    """
    read = codec.library.read_file
    if not (trust and read is not None and path and os.path.getsize(path) and copies(codec)):
        return codec.decode(file.read(), trust=trust)
    with mapped(codec, Malformed):
        return read(path)


def decode_columns(codec: Codec, file: BinaryIO, path: str | None, columns: list[str], *, trust: bool) -> Any:
    r"""Decodes some columns of the table in a file by the library's own means.

    Args:
        codec: The codec.
        file: The file, open at its begin.
        path: Where the very bytes of it are; None if they are nowhere, or compressed.
        columns: Names of the columns.
        trust: As of `Codec.decode`.

    Raises:
        DecodeError: The bytes are invalid, or lack a column.
        Unsupported: The library has no means, or must not read what is not trusted in this process.
        MissingLibrary: The library is not installed.

    >>> import io
    >>> from tare.codec import Codec
    >>> decode_columns(Codec.parse("csv:stdlib"), io.BytesIO(b"a,b\n1,2\n"), None, ["b"], trust=False)
    {'b': ['2']}
    """
    library, name, settings = codec.library, codec.compressor, codec.compressor_settings
    if library.subset is None or (not trust and (library.crashes or codec.executes_code)):
        raise Unsupported(f"{codec} cannot read some columns only", format=codec.format_id)
    codec.require()
    check = None if trust else library.check
    with mapped(codec, Malformed):
        if path and name is None and check is None and library.subset_file is not None:
            return library.subset_file(path, columns)
        data = file.read()
        plain = data if name is None else unpacked(data, name, None, settings)
        if check is not None:
            check(plain)
        return library.subset(plain, columns, **codec.options)
