"""Whether JSON alone carries a document exactly, found without walking it in Python."""

from __future__ import annotations

from typing import Any

from tare.collector import paused

__all__ = ["exact_json", "is_plain"]


def exact_json(document: Any, *, checked: bool = False) -> bytes | None:
    """The document as JSON text if JSON carries it exactly, else None.

    Exactly means: parsed again it is equal value by value and type by type. That
    holds for null, booleans, finite floats, integers of 64 bits, text without
    surrogates, lists, and maps with text keys, up to 254 deep. It costs about one
    encoding and one decoding; nothing is walked in Python.

    Args:
        document: Any value.
        checked: Whether the document was read from JSON and not changed: then it costs one encoding. The result is
            None all the same for one that is nested deeper than 254.

    >>> exact_json({"a": [1, 1.5]})
    b'{"a":[1,1.5]}'
    >>> exact_json((1, 2)) is None
    True
    """
    import marshal

    import orjson

    passthrough = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
    try:
        text = orjson.dumps(document, option=passthrough | orjson.OPT_PASSTHROUGH_SUBCLASS)
        if checked:
            return text
        with paused():
            exact = marshal.dumps(orjson.loads(text), 2) == marshal.dumps(document, 2)
    except (TypeError, ValueError, RecursionError):
        return None
    return text if exact else None


def is_plain(document: Any) -> bool:
    """Whether JSON carries the document exactly; see ``exact_json``.

    >>> is_plain([1, "a", None]), is_plain([float("nan")])
    (True, False)
    """
    return exact_json(document) is not None
