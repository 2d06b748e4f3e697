"""Tagged values, dialect ``values/1``: any value as plain JSON, exactly.

JSON cannot tell 1.0 from 1 in every language, holds no bytes, dates, tuples or
NaN, and readers round integers above 2**53. The dialect keeps what is safe as
it is and wraps the rest in one-key objects such as ``{"$f64": "8000000000000000"}``.
The worker protocol defines it; probes and documents that JSON cannot carry
travel in it.

Additions that other readers may ignore or must know:

- ``as``: the host type when it is not the usual one (see ``tare.tagged.scalars``);
  ``$set`` may say ``frozenset``.
- ``{"$nest": n, "of": v}``: ``v`` inside ``n`` lists of one item each. JSON parsers
  stop at a depth of about 1,000; written so, depth costs none.
- ``{"$other": "module.Type", "of": v}``: a type outside the dialect, only written
  when asked for.

>>> to_tagged({"price": 1.5, "id": 7})
{'price': {'$f64': '3ff8000000000000'}, 'id': 7}
>>> from_tagged(to_tagged((1, {2: b"x"})))
(1, {2: b'x'})
"""

from __future__ import annotations

from tare.tagged.plain import exact_json, is_plain
from tare.tagged.reader import from_tagged
from tare.tagged.stand_ins import MISSING, NA, Attr, Factor, Missing, Other, Pairs
from tare.tagged.text import dump_text, load_text
from tare.tagged.writer import to_tagged

__all__ = [
    "MISSING",
    "NA",
    "Attr",
    "Factor",
    "Missing",
    "Other",
    "Pairs",
    "dump_text",
    "exact_json",
    "from_tagged",
    "is_plain",
    "load_text",
    "to_tagged",
]
