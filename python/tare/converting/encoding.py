"""How a value is written: the options that keep most of it, and what is said of what a format refuses."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tare.codec import Codec, codec_part
from tare.converting import refused
from tare.datasets.source import printable
from tare.errors import EncodeError, Unsupported

if TYPE_CHECKING:
    from tare.formats.base import Buffer

__all__ = ["advising", "encoded_by", "usual_codec"]


def usual_codec(chosen: Codec, given: str | None, kind: str) -> Codec:
    """The codec with the options that keep most, where the user named none."""
    given = None if given is None else codec_part(given)
    if given is not None and ("," in given or ":" in given.partition("+")[0]):
        return chosen
    more: dict[str, object] = {}
    if kind == "table" and "default" in chosen.library.options:
        more["default"] = "text"  # dates and decimals become text instead of an error
    if chosen.format_id == "yaml" and chosen.library_name == "pyyaml":
        more |= {"loader": "c", "sort_keys": False}
    settings = {key: value for key, value in more.items() if chosen.library.options[key].default != value}
    return replace(chosen, settings=tuple(sorted({**settings, **dict(chosen.settings)}.items())))


def encoded_by(value: Any, codec: Codec, given: str | None) -> tuple[Buffer, Codec]:
    """The bytes of a value, and the codec: of a document that is refused as it is, the one that writes dates and the like as text.

    Raises:
        EncodeError: The format cannot hold it; or there is nothing in it, and the format has no file of nothing.
    """
    try:
        encoded = codec.encode(value)
    except EncodeError as error:
        refused_by, codec = codec, usual_codec(codec, given, "table")
        if codec == refused_by:
            raise
        try:
            encoded = codec.encode(value)
        except EncodeError:
            raise error from None
    if not encoded and codec.format_id == "csv":
        raise EncodeError("there is neither a column nor a row, and an empty file is no CSV", format="csv")
    return encoded, codec


def _is_rows_alone(value: Any) -> bool:
    """Whether a document is a table but for the columns, which its rows do not have."""
    return isinstance(value, list) and all(isinstance(row, dict) and not row for row in value)


@contextlib.contextmanager
def advising(name: str, kind: str, value: Any, codec: Codec, hint: str = "") -> Iterator[None]:
    """Name the source in what an encoder says, the part of it that is refused, and what to do.

    Args:
        name: Of the source.
        kind: ``document`` or ``table``.
        value: What is written.
        codec: How.
        hint: What to do first, where that is known.

    Raises:
        EncodeError, Unsupported: The block raised it; of the same class.
    """
    try:
        yield
    except (EncodeError, Unsupported) as error:
        advice = "Choose another --codec" + (", or some --columns." if kind == "table" else ".")
        where, path = "", error.path
        part = refused.first_refused(codec, value) if kind == "document" and path is None else None
        if part is not None:
            path = part[0]
            where = f", at {printable(path) or 'the top'} ({printable(repr(part[1]), 40)})"
        said = str(error).rstrip(".")
        if kind == "document" and "document" not in codec.format.kinds and not _is_rows_alone(value):
            said = f"{codec.format_id} stores tables, and this document is not one: {said}"
        text = f"{printable(name)}: {said}{where}. Nothing was written. {hint}{advice}"
        raise type(error)(text, format=error.format, path=path) from error
