"""Lines of JSON whose objects lack most names: few bytes do not become a table of gigabytes."""

from __future__ import annotations

import json

import pytest

from tare._tare import NdjsonFinder
from tare.converting import line_tables
from tare.datasets.source import Source
from tare.errors import TareError

WIDE = json.dumps({f"n{n}": n for n in range(500)}).encode()


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(b"{}\n" * 40_000 + WIDE, id="names that come late"),
        pytest.param(b'{"o":%s}\n' % WIDE + b'{"o":null}\n' * 40_000, id="objects that are null"),
        pytest.param(b'{"o":%s}\n' % WIDE + b"{}\n" * 40_000, id="objects that are missing"),
        pytest.param(b'{"l":[%s%s]}\n' % (WIDE, b",null" * 40_000), id="items that are null"),
        pytest.param(b'{"l":[%s%s]}\n' % (b"{}," * 40_000, WIDE), id="items that lack names"),
    ],
)
def test_few_bytes_do_not_become_many_nulls(lines: bytes) -> None:
    """Each missing name is a value in its column: 20 million of a text of 200 kB are left to those who keep what is there."""
    with pytest.raises(TareError, match="too many names that most objects have not"):
        NdjsonFinder().read(lines)
    with pytest.raises(TareError, match="too many names that most objects have not"):
        NdjsonFinder().read_array(b"[%s]" % lines.strip().replace(b"\n", b","))


def test_few_bytes_do_not_become_many_nulls_in_other_blocks() -> None:
    """Where names come in a later block, those before get their nulls when the rows are taken."""
    finder = NdjsonFinder()
    finder.read(b'{"a":1}\n' * 40_000)
    finder.read(WIDE)
    with pytest.raises(TareError, match="too many names that most objects have not"):
        finder.take()


def test_a_table_of_few_bytes_and_many_nulls_is_left_to_others() -> None:
    # The names of the second block are those of the first one's objects too.
    text = b'{"a":1}\n' * 40_000 + WIDE
    source = Source("s", data=text, size=len(text), head=text, format="ndjson")
    assert line_tables.table_of(source, size=40_000 * 8) is None
    assert line_tables.table_of(source, size=1 << 24) is None
