"""The codec id's grammar: any text is a codec, printed and parsed again, or a usage error."""

from __future__ import annotations

from tare.codec import Codec
from tare.errors import MissingLibrary, UsageError


def fuzz(data: bytes) -> None:
    """Parse any text as a codec id."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        codec = Codec.parse(text)
    except (UsageError, MissingLibrary) as error:
        assert len(str(error)) < 2000, "an id from outside is cut in messages"
        return
    assert Codec.parse(str(codec)) == codec
