"""A second reading in a thread of its own, while what was read is written: the libraries that read or write let others run."""

from __future__ import annotations

import contextlib
import importlib
import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from tare.converting.second_reading.outcome import Request, may_load

if TYPE_CHECKING:
    from tare.datasets.source import Source

__all__ = ["Beside"]

_T = TypeVar("_T")
# By format, what is loaded to read it a second time. Of CSV that is mostly Python's own code, beside which tables are
# written; documents are written by such code as well.
_READERS = {"parquet": ("duckdb", "polars"), "arrow": ("polars",), "avro": (), "csv": ()}
# Smaller texts are soon read; a change of the file is none once both readings have ended.
_LEAST_TEXT_BYTES = 16 << 20


class Beside(Generic[_T]):
    """A thread that loads the other library as soon as it is made, and reads when it is asked to.

    It is ended by `result`, or by `close`.

    Args:
        source: The file that is to be read.
        thorough: As of `Request`.
    """

    def __init__(self, source: Source, thorough: bool) -> None:
        self._asked: queue.SimpleQueue[Callable[[], _T] | None] = queue.SimpleQueue()
        self._found: _T | None = None
        self._error: BaseException | None = None
        request = Request(source, None, thorough=thorough)
        self._names = may_load(request, *_READERS[source.format])[0][:1]
        self._thread = threading.Thread(target=self._run, name="second reading", daemon=True)
        self._thread.start()

    @staticmethod
    def pays(source: Source) -> bool:
        """Returns whether a source is read a second time while others run."""
        small = source.format == "csv" and source.size < _LEAST_TEXT_BYTES
        return source.format in _READERS and source.reader is None and not source.cut and not small

    def begin(self, read: Callable[[], _T]) -> None:
        """Begins the reading.

        Args:
            read: What reads, in the other thread.
        """
        self._asked.put(read)

    def result(self) -> _T:
        """Waits for the reading that was begun, and returns what it found.

        Raises:
            BaseException: What it raised.
        """
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._found  # type: ignore[return-value]  # set without an error

    def close(self) -> None:
        """Lets the thread end if nothing was begun."""
        self._asked.put(None)

    def _run(self) -> None:
        with contextlib.suppress(Exception):  # what cannot be loaded is said where it reads
            _load(self._names)
        read = self._asked.get()
        if read is None:
            return
        try:
            self._found = read()
        except BaseException as error:  # of the other thread
            self._error = error


def _load(names: list[str]) -> None:
    if "duckdb" in names:
        from tare.formats import duck

        duck.connection()
    if "polars" in names:
        importlib.import_module("polars")
