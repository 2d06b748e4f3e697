"""Records as JSON: UTF-8, whatever the names of files and columns are."""

from __future__ import annotations

from typing import Any

from tare.errors import RecordError

__all__ = ["encode_line", "escaped"]


def encode_line(value: Any, what: str) -> bytes:
    r"""Return a value as a line of JSON; what of its texts is no UTF-8, as names of files may be, is escaped as text.

    Args:
        value: Of plain values, and NumPy's.
        what: What it is, for errors.

    Raises:
        RecordError: It holds what JSON cannot.

    >>> encode_line({"name": "d\udcff.json"}, "the record")
    b'{"name":"d\\\\udcff.json"}\n'
    """
    import orjson

    options = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE
    try:
        return orjson.dumps(value, option=options)
    except TypeError:
        try:
            return orjson.dumps(escaped(value), option=options)
        except TypeError as error:
            raise RecordError(f"{what} cannot be written as JSON: {error}") from error


def escaped(value: Any) -> Any:
    """Return a value whose texts are UTF-8: halves of surrogate pairs are escaped as text."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list | tuple):
        return [escaped(one) for one in value]
    if isinstance(value, dict):
        return {escaped(name): escaped(one) for name, one in value.items()}
    return value
