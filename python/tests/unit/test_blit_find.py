"""Searches of `tare.blit`: where a value lies, within limits, and stopped by a signal."""

from __future__ import annotations

import os
import signal
import threading
import time
import tracemalloc
import weakref
from typing import Any

import pytest
from support.blit_documents import EMPTY, NULL, array_of_equal

from tare import blit
from tare.errors import Limit, Malformed, UsageError


@pytest.fixture
def flights() -> Any:
    """A view of an object with rows."""
    rows = [{"id": i, "to": f"airport {i % 7}", "late": i % 3 == 0} for i in range(20_000)]
    return blit.view(blit.encode({"year": {"rows": rows}, "$": 1}))


@pytest.mark.alone
def test_a_part_is_searched_where_it_lies(flights: Any) -> None:
    """A part is the root of its own searches, and is not copied for them."""
    year = flights["year"]
    assert year.find("$.rows[5].id") == flights.find("$.year.rows[5].id") == [5]
    assert year["rows"].find("$[?@.id == $[7].id].to") == ["airport 0"]
    row = year["rows"][9]
    assert row.find("$.late") == [True]
    assert row.find("$") == [row.to_python()]
    tracemalloc.start()
    year.find("$.rows[5].id")
    assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()


def test_no_more_is_looked_at_than_may_be(flights: Any) -> None:
    """`max_elements` bounds what is looked at, in a part too."""
    assert len(flights.find("$.year.rows[*].id", max_elements=100_000)) == 20_000
    for view, query in [(flights, "$.year.rows[*].id"), (flights["year"]["rows"], "$[?@.id < 0]")]:
        with pytest.raises(Limit, match="max_elements"):
            view.find(query, max_elements=1000)
        with pytest.raises(Limit, match="max_elements"):
            list(view.finditer(query, max_elements=1000))
    with pytest.raises(Limit):
        array_of_equal(1 << 40, NULL).find("$[*]", max_elements=1 << 16)


def test_equal_containers_in_one_place_are_one_object() -> None:
    """What few bytes say many times takes a word each time."""
    n = 1 << 21
    view = array_of_equal(n, EMPTY)
    tracemalloc.start()
    found = view.find("$[*]")
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found) == n
    assert found[0] is found[-1]
    assert found[0] == {}
    assert size < 24 * n


@pytest.mark.alone
@pytest.mark.parametrize(
    "query", ["$[?@.a == 1]", "$[*]", "$..a", "$[?length($) > 5]", "$[?count($[*]) < 1]"]
)
def test_a_signal_ends_a_search(query: str) -> None:
    """A handler runs soon, and what it raises ends the search."""
    rang = []

    def ring(*_: object) -> None:
        rang.append(time.perf_counter())
        raise TimeoutError("rung")

    before = signal.signal(signal.SIGALRM, ring)
    try:
        most = 1 << 62  # or the limit may come first
        for search in (
            lambda view, query: view.find(query, max_elements=most),
            lambda view, query: list(view.finditer(query, max_elements=most)),
        ):
            began = time.perf_counter()
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(TimeoutError, match="rung"):
                search(array_of_equal(1 << 60, EMPTY), query)
            assert time.perf_counter() - began < 60
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.alone
def test_other_threads_run_meanwhile() -> None:
    """Ctrl-C may come from another thread, which needs its turn for it."""
    # A run in the background has it ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            array_of_equal(1 << 60, NULL).find("$[?@.a==1]", max_elements=1 << 62)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)


def test_values_one_after_the_other(flights: Any) -> None:
    """An iterator finds the same, keeps what it reads, and looks for no more than is asked."""
    query = "$.year.rows[?@.late == true].id"
    found = flights.finditer(query)
    assert iter(found) is found
    assert [next(found), next(found)] == [0, 3]
    assert [0, 3, *found] == flights.find(query)
    assert next(found, None) is None
    first = blit.view(blit.encode([{"a": [1]}])).finditer("$[*]")  # nothing else keeps the view
    assert next(first)["a"][0] == 1
    assert next(array_of_equal(1 << 60, EMPTY).finditer("$[*]")) == {}
    with pytest.raises(UsageError):
        flights.finditer("nothing")


def test_views_can_be_referred_to_weakly(flights: Any) -> None:
    """A cache may hold views by weak references."""
    for view in (flights, flights["year"]["rows"], blit.view(blit.encode(1))):
        assert weakref.ref(view)() is view
    gone = weakref.ref(flights["year"])
    assert gone() is None


def test_a_damaged_name_is_an_error_with_its_byte() -> None:
    """A name that is not UTF-8, of a document that says it may have halves of pairs."""
    view = blit.view(bytes.fromhex("424c5431008100ffb080088167000080030106010d10010a4254"))
    for read in (view.to_python, lambda: list(view.items()), lambda: list(view), lambda: view["x"]):
        with pytest.raises((Malformed, KeyError)) as caught:
            read()
        if isinstance(caught.value, Malformed):
            assert caught.value.offset is not None
            assert view.raw()[caught.value.offset] >= 0x80
    with pytest.raises(Malformed, match="V10"):
        view.to_python()
