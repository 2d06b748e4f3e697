"""Values as lines of JSON, whatever codec they came in."""

from __future__ import annotations

import json
import math
from typing import Any

from tare.errors import EncodeError

__all__ = ["LineWriter"]


class LineWriter:
    """Makes a line of each value.

    Dates are ISO 8601, bytes base64, decimals and UUIDs their own text, rows of a table a line each. An
    extension type of msgpack is its number and its bytes, a tag of CBOR its number and its value. NaN and
    infinities are written so, as many readers take them, and counted.
    """

    def __init__(self) -> None:
        self.unlike_json = 0
        """Values that hold NaN or infinity."""
        self._number = 0

    def lines(self, values: list[Any]) -> list[bytes]:
        """The lines of values.

        Raises:
            EncodeError: A value has no text.
        """
        import orjson

        from tare.scalar_text import as_text

        option = orjson.OPT_NON_STR_KEYS | orjson.OPT_APPEND_NEWLINE | orjson.OPT_PASSTHROUGH_DATETIME
        made = []
        for value in values:
            self._number += 1
            if hasattr(value, "to_pylist"):
                made += self.lines(value.to_pylist())
                continue
            try:
                line = orjson.dumps(value, default=as_text, option=option)
            except (TypeError, ValueError, RecursionError):
                made.append(self._slowly(value))
                continue
            # Where it had a NaN there is a null now.
            made.append(self._slowly(value) if b"null" in line and _is_odd(value) else line)
        return made

    def _slowly(self, value: Any) -> bytes:
        """With integers of any length, keys that are no text, and NaN."""
        try:
            self.unlike_json += _is_odd(value)
            text = json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))
            return text.encode() + b"\n"
        except UnicodeEncodeError:  # halves of characters
            return json.dumps(_plain(value), separators=(",", ":")).encode() + b"\n"
        except (TypeError, ValueError, RecursionError) as error:
            raise EncodeError(
                f"value {self._number} cannot be printed as JSON: {' '.join(str(error).split())[:200]};"
                " with --framing frame, --raw or --to FOLDER/ keep values as they came"
            ) from error


def _is_odd(value: Any) -> bool:
    """Whether a value holds NaN or infinity."""
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(map(_is_odd, value)) or any(map(_is_odd, value.values()))
    return isinstance(value, list | tuple) and any(map(_is_odd, value))


def _plain(value: Any) -> Any:
    """The value as what JSON has."""
    from tare.scalar_text import as_text, is_foreign

    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, dict):
        return {_key(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset) and not is_foreign(value):
        return [_plain(item) for item in value]
    return as_text(value)


def _key(key: Any) -> Any:
    from tare.scalar_text import as_text

    if key is None or isinstance(key, str | int | float):
        return key
    if isinstance(key, list | tuple | dict):
        return json.dumps(_plain(key), ensure_ascii=False, separators=(",", ":"))
    return as_text(key)
