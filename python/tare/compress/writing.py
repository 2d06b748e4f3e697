"""Compressed files that are written."""

from __future__ import annotations

import contextlib
import io
import os
import warnings
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tare import _tare
from tare.atomic import Replacement, commit_both
from tare.compress.facts import Info, Summary
from tare.errors import UsageError

if TYPE_CHECKING:
    from typing import Self

    from typing_extensions import Buffer  # in the standard library from 3.12 on

__all__ = ["WriteFile"]

_STEP_BYTES = 1 << 20


class WriteFile(io.BufferedIOBase):
    """A compressed file that takes plain bytes; made by `tare.compress.open`.

    Args:
        path: A path, a descriptor, or an open binary file.
        mode: ``wb`` or ``xb``.
        compressor: Id.
        options: As `_tare.Writer` takes them.
    """

    def __init__(self, path: Any, mode: str, compressor: str, options: dict[str, Any]) -> None:
        super().__init__()
        self.mode = mode
        self.starting = False
        self.ending = False
        self._summary: Summary | None = None
        self._place: Replacement | None = None
        self._beside: Replacement | None = None
        self._process = os.getpid()
        self._core: _tare.Writer | None = None
        self._file: Any = None
        self._owned = isinstance(path, int)
        # Before anything is made on disk: the ids and options that are refused.
        _tare.Writer(_NOWHERE, compressor, options)
        if isinstance(path, str | bytes | os.PathLike):
            self.name: Any = os.fspath(path)
            self._place = Replacement(os.fsdecode(self.name), exclusive=mode[0] == "x")
            target: Any = self._place.temporary
        else:
            if mode[0] == "x":
                raise UsageError("mode 'x' belongs to paths: a file object is there already")
            if isinstance(path, io.TextIOBase) or not (self._owned or hasattr(path, "write")):
                raise UsageError("the file object takes no bytes; open it in binary mode")
            target = self._file = io.FileIO(path, "w") if self._owned else path
            self.name = getattr(target, "name", "")
        try:
            if self._place is not None and options["index"]:
                self._beside = self._index_place(self._place)
            self._core = _tare.Writer(target, compressor, options)
        except BaseException:
            self.abort()
            raise

    def _index_place(self, place: Replacement) -> Replacement:
        """Where the index goes that stands beside the file."""
        path = os.fsdecode(self.name)
        if place.direct:
            raise UsageError(f"no index stands beside {path}, which is no regular file", path=path)
        return Replacement(f"{path}.gzi", exclusive=place.exclusive)

    def writable(self) -> bool:
        """Always true."""
        return True

    def seekable(self) -> bool:
        """Never, but that a text file asks while it is made: only then it writes a mark of byte order."""
        return self.starting

    def write(self, data: Buffer, /) -> int:
        """Take bytes, and give how many: all.

        Raises:
            OSError, TareError: As `tare.compress.open`; later calls raise it again.
        """
        if self._core is None:
            raise ValueError("write to closed file")
        try:
            view = memoryview(data)
            if type(view.obj) is bytes or view.nbytes <= _STEP_BYTES or view.format == "O":
                return self._core.write(data)
            plain = view.cast("B")
        except (TypeError, ValueError):
            # Other items or another order than a view can take for bytes: the core takes it whole,
            # or says what to do.
            return self._core.write(data)
        # What others may change is copied before it is compressed: a step at a time, not whole.
        with plain as rest:
            for start in range(0, len(rest), _STEP_BYTES):
                self._core.write(rest[start : start + _STEP_BYTES])
            return len(rest)

    def flush(self) -> None:
        """Make all so far readable, and end the chunk at work: more such calls make larger files."""
        if self._core is None:
            if self.closed:
                raise ValueError("flush of closed file")
            return
        if not self.ending:
            self._core.flush()

    def tell(self) -> int:
        """How many plain bytes were taken."""
        if self._core is None:
            raise ValueError("I/O operation on closed file.")
        return self._core.progress()[0]

    def fileno(self) -> int:
        """The system's number of the stored file."""
        if self._core is None:
            raise ValueError("I/O operation on closed file.")
        if self._file is not None:
            return int(self._file.fileno())
        number = self._core.descriptor
        if number is None:
            raise io.UnsupportedOperation("no file of the system")
        return number

    @property
    def info(self) -> Info:
        """What is known of the file so far; its units only after `close`."""
        summary = self._summary
        if summary is not None:
            name = summary.compressor.partition(",")[0].partition(":")[0]
            return Info(
                name,
                summary.layout,
                summary.units,
                summary.bytes_in,
                summary.bytes_out,
                complete=summary.completeness,
            )
        if self._core is None:
            raise ValueError("I/O operation on closed file.")
        taken, written = self._core.progress()
        return Info(self._core.kind, plain_size=taken, stored_size=written)

    @property
    def summary(self) -> Summary | None:
        """What was written, after `close`; None before, and after `abort`."""
        return self._summary

    def close(self) -> None:
        """End the file, and give it its name.

        Raises:
            OSError, TareError: As `tare.compress.open`; then nothing is left at the path.
        """
        core, self._core = self._core, None
        if core is None:
            super().close()
            return
        try:
            found = core.finish()
            if found is not None:
                self._summary = Summary(*found)
            if self._owned:
                self._file.close()
            if self._place is not None:
                self._commit(self._place)
            self._place = self._beside = None
        except BaseException:
            self._summary = None
            self.abort()
            raise
        super().close()

    def _commit(self, place: Replacement) -> None:
        if self._beside is None or self._summary is None:
            place.commit()
            return
        with open(self._beside.temporary, "wb") as beside:
            beside.write(self._summary.index or b"")
        commit_both(place, self._beside)

    def abort(self) -> None:
        """Close without ending the file: nothing is left at its path."""
        core, self._core = self._core, None
        places = [place for place in (self._place, self._beside) if place is not None]
        self._place = self._beside = None
        if self._process == os.getpid():
            # In a forked child the threads and the file are the parent's.
            if core is not None:
                core.abort()
            for place in places:
                place.abandon()
            if self._owned:
                with contextlib.suppress(OSError):
                    self._file.close()
        super().close()

    def __enter__(self) -> Self:
        if self.closed:
            raise ValueError("I/O operation on closed file.")
        return self

    def __exit__(
        self,
        type: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if type is None:
            self.close()
        else:
            self.abort()

    def __sizeof__(self) -> int:
        core = self._core
        return object.__sizeof__(self) + (0 if core is None else core.__sizeof__())

    def __del__(self) -> None:
        if getattr(self, "_core", None) is None:
            return
        if self._process == os.getpid():
            warnings.warn(
                f"unclosed file {self.name!r}: nothing is left of it",
                ResourceWarning,
                stacklevel=2,
                source=self,
            )
        self.abort()


# Takes nothing: options are checked before a byte is written.
_NOWHERE = io.BytesIO()
