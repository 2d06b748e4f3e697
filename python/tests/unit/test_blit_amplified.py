"""Documents of few bytes that say they have any number of elements: limits, and searches that end."""

from __future__ import annotations

import itertools
import json
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import process_time
from types import FrameType
from typing import Any

import pytest
from support.soak import scaled

import tare
from tare import blit, errors

ENDLESS = 1 << 40
"""Elements that nobody looks at one by one."""


class _Interrupted(Exception):
    """What Ctrl-C raises here."""


@contextmanager
def interrupted(after: float) -> Iterator[None]:
    """Raises in the block when a signal comes, as Ctrl-C does."""

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise _Interrupted

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, after)
    try:
        with pytest.raises(_Interrupted):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


TRAILER = bytes.fromhex("00 00 00 00 0c 00 01 0a 42 54")


def rv(value: int) -> bytes:
    """A number as documents have it."""
    groups = [value >> shift & 127 for shift in range(0, max(value.bit_length(), 1), 7)]
    return bytes([groups.pop(), *(group | 128 for group in reversed(groups))])


def amplified(rows: int, columns: int) -> bytes:
    """A document of `rows` arrays of `columns` nulls each, in some 30 bytes."""
    lists = rv(columns) + rv(rows) + b"\xa6"
    return b"BLT1\0\0" + rv(rows * columns) + b"\xa1" + lists + TRAILER


def test_views_of_few_bytes_and_many_elements_are_limited(tmp_path: Path):
    assert amplified(1 << 10, 1 << 10) == blit.encode([[None] * (1 << 10)] * (1 << 10))
    small = blit.view(amplified(1 << 11, 1 << 11))
    assert blit.encode(small) == amplified(1 << 11, 1 << 11)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    view = blit.view(amplified(1 << 29, 1 << 29))
    with pytest.raises(errors.Limit, match="elements"):
        blit.encode([view])
    collection = blit.open_collection(tmp_path / "a.blits", "w")
    with collection, pytest.raises(errors.Limit, match="elements"):
        collection.append(view)
    with pytest.raises(errors.Limit, match="elements"):
        blit.encode([blit.view(amplified(1 << 14, 1 << 15))])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 600 << 10


def nulls(n: int) -> blit.ListView:
    """A view of `n` nulls, in some 20 bytes."""
    view: blit.ListView = blit.view(b"BLT1\0\0" + rv(n) + b"\xa1" + TRAILER)
    assert len(view) == n
    return view


def test_what_a_list_says_once_is_looked_at_once():
    view = nulls(ENDLESS)
    assert view.count(None) == ENDLESS
    assert view.count(1) == 0
    assert 1 not in view
    assert None in view
    assert view.index(None, 5) == 5
    with pytest.raises(ValueError, match="not in the array"):
        view.index(1)
    rows = blit.view(amplified(ENDLESS >> 8, 3))
    assert rows.count([None] * 3) == ENDLESS >> 8
    assert [None] * 2 not in rows
    assert list(itertools.islice(reversed(view), 3)) == [None] * 3
    assert next(reversed(rows)) == [None] * 3


@pytest.mark.parametrize("n", [1, 17, 70_000])
@pytest.mark.parametrize("layout", ["columns", "rows"])
def test_counting_by_runs_is_counting_one_by_one(n: int, layout: str):
    makers: list[Callable[[int], Any]] = [
        lambda i: i < 66_000,
        lambda i: [1, "x"] * 2 if i < 65_536 else [],
        lambda i: {"a": 1, "b": i % 3},
        lambda i: None,
        lambda i: {"a": 1, "b": []},
        lambda i: [[0, 0]] * 3,
        lambda i: {"a": [{"b": None}] * 2},
        lambda i: 7 if i % 2 else "",
        lambda i: "",
    ]
    # Rows lie in segments of 65,536: what changes at the end of one is counted beyond it.
    for maker in makers if n < 65_536 else makers[: scaled(2 if layout == "columns" else 1, len(makers))]:
        values = [maker(i) for i in range(n)]
        view = blit.view(blit.encode(values, layout=layout))
        for value in (values[0], values[-1], 5, None):
            assert view.count(value) == values.count(value)
            assert (value in view) == (value in values)
            if value in values:
                start = n // 2 if value in values[n // 2 :] else 0
                assert view.index(value, start) == values.index(value, start)
        assert list(reversed(view))[:5] == values[::-1][:5]


def test_what_is_made_of_too_many_elements_is_a_limit():
    view = nulls(ENDLESS)
    for make in (
        lambda: view[:],
        lambda: view[::-2],
        view.to_python,
        lambda: view.column("").to_list(),
        lambda: view.column("").to_numpy(),
        lambda: view.column("").to_arrow(),
        lambda: blit.edit(view)[:],
    ):
        with pytest.raises(errors.Limit):
            make()
    assert view[5:8] == [None] * 3
    assert nulls(1 << 20)[::2] == [None] * (1 << 19)


@pytest.mark.alone
def test_a_signal_ends_what_takes_long():
    class Slow:
        """Equal to nothing, which takes a while."""

        __hash__ = None

        def __eq__(self, other: object) -> bool:
            return False

    bits = blit.view(blit.encode([i % 3 == 0 for i in range(1 << 22)] * 4))
    start = process_time()
    for work in (
        lambda: bits.count(Slow()),
        lambda: bits.index(Slow()),
        lambda: Slow() in bits,
        lambda: bits.count(2),
        lambda: bits[:],
        lambda: bits.find("$[*]"),
        # No limit comes before the signal.
        lambda: nulls(ENDLESS).find("$[*]", max_elements=1 << 62),
        lambda: nulls(ENDLESS).find("$[?@ == 1]", max_elements=1 << 62),
        lambda: bits.find("$[?@ == 1]"),
        lambda: blit.view(amplified(1 << 20, 1 << 20)).find("$[*][*]", max_elements=1 << 62),
        lambda: sum(reversed(bits)),
    ):
        with interrupted(0.02):
            while True:
                work()
    assert process_time() - start < 15


def test_an_error_of_a_deep_value_names_the_first_of_its_steps():
    deep: Any = 1
    for _ in range(2000):
        deep = {"a name of some length": [deep]}
    for make in (lambda: blit.encode(deep), lambda: blit.edit(blit.view(blit.encode(1))).set("", deep)):
        with pytest.raises(errors.Limit, match="1024 levels") as caught:
            make()
        assert len(str(caught.value)) < 500
        assert str(caught.value.path).endswith("...")
    with pytest.raises(errors.Limit) as caught:
        blit.from_json(json.dumps([]).replace("[]", "[" * 2000 + "]" * 2000))
    assert len(str(caught.value)) < 200


LIKE_DOCUMENTS = bytes.fromhex(
    "424c53310100000000000000000000000000a1100000000000000003000000030000000000000000000000668d7276c4"
    "1cb6aa10000000000000000000000000000000ffffffff01000000000000000000000000000000000000000000000000"
    "00000001000000000000008200e4d25f244fd5424c53312d656e64"
)
"""A collection of 4,294,967,295 documents, each null, in one chunk of three bytes."""


def test_lists_of_the_documents_of_a_collection_are_limited(tmp_path: Path):
    """They are counted before any is made; one by one all can be read."""
    place = tmp_path / "like.blits"
    place.write_bytes(LIKE_DOCUMENTS)
    collection = blit.open_collection(place)
    assert len(collection) == 2**32 - 1
    assert collection[2**32 - 2] is None
    assert list(itertools.islice(collection, 3)) == [None] * 3
    assert collection[:5] == [None] * 5
    for all_of in (
        lambda: collection.column("/a"),
        lambda: collection[:],
        lambda: tare.read(place),
        lambda: tare.convert(place, tmp_path / "like.json"),
    ):
        with pytest.raises(errors.Limit, match="4,294,967,295"):
            all_of()
    assert not (tmp_path / "like.json").exists()
