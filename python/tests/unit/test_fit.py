"""Codecs in groups that fit into the memory."""

from __future__ import annotations

from tare.codec import Codec
from tare.measure.session import Part
from tare.measure.stages.budget import in_groups
from tare.measure.stages.weigh import Contender

ORJSON, STDLIB, PICKLE = (Codec.parse(text) for text in ("json:orjson", "json:stdlib", "pickle"))


def _part(bytes_memory: int, share: float = 1.0, kind: str = "document") -> Part:
    return Part(share, "", "json", kind, 10, 10, bytes_memory, "")


def test_groups_keep_the_copies_in_bounds():
    """The base is in each group; no group is above the limit unless one alone is."""
    part = _part(1 << 20)
    contenders = [Contender(codec, {}) for codec in (ORJSON, STDLIB, PICKLE, Codec.parse("msgpack:msgspec"))]
    assert [contenders[1:2] + contenders[:1] + contenders[2:]] == in_groups(contenders, STDLIB, part, 1 << 40)
    tight = in_groups(contenders, STDLIB, part, 9 << 20)
    assert [[STDLIB, ORJSON], [STDLIB, PICKLE], [STDLIB, Codec.parse("msgpack:msgspec")]] == [
        [c.codec for c in group] for group in tight
    ]
    hopeless = in_groups(contenders, STDLIB, part, 1)
    assert [2, 2, 2] == [len(group) for group in hopeless]
    assert [[contenders[1]]] == in_groups([contenders[1]], STDLIB, part, 1)
