"""Calls on several threads, whose results come in the order of what they are given. Not a format."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

__all__ = ["in_order"]

_In = TypeVar("_In")
_Out = TypeVar("_Out")


def in_order(items: Iterable[_In], act: Callable[[_In], _Out]) -> Generator[_Out, None, None]:
    """Yields what is made of each item, on as many threads as Arrow has; a few items ahead.

    An error comes behind what was made of the items before it.

    Args:
        items: What is given to the calls; each item is asked for when a call can begin.
        act: The function that is called, in any of the threads.

    >>> list(in_order([3, 1, 2], lambda number: number * 2))
    [6, 2, 4]
    """
    import pyarrow as pa

    threads = pa.cpu_count()
    if threads == 1:
        yield from map(act, items)
        return
    from concurrent.futures import Future, ThreadPoolExecutor

    given, fault = iter(items), None
    waiting: deque[Future[_Out]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            while fault is None:
                try:
                    waiting.append(pool.submit(act, next(given)))
                except StopIteration:
                    break
                except Exception as error:
                    fault = error
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for one in waiting:
                one.cancel()
    if fault is not None:
        raise fault
