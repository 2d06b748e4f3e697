"""Text in compressed files."""

from __future__ import annotations

import io
import warnings
from types import TracebackType
from typing import Any

from tare.compress.facts import Info, Summary
from tare.compress.reading import ReadFile
from tare.compress.writing import WriteFile

__all__ = ["TextFile"]


class TextFile(io.TextIOWrapper):
    """A compressed file of text; made by `tare.compress.open` in a text mode.

    Args:
        file: The compressed file below.
        encoding: As of `io.TextIOWrapper`.
        newline: As of `io.TextIOWrapper`.
        mode: The mode it was opened in.
    """

    def __init__(self, file: ReadFile | WriteFile, *, encoding: str, newline: str | None, mode: str) -> None:
        if isinstance(file, WriteFile):
            file.starting = True
        super().__init__(file, encoding=encoding, newline=newline)
        if isinstance(file, WriteFile):
            file.starting = False
        self._mode = mode

    @property
    def mode(self) -> str:
        """The mode it was opened in."""
        return self._mode

    @property
    def info(self) -> Info:
        """What is known of the file below so far."""
        info: Info = self._below().info
        return info

    @property
    def summary(self) -> Summary | None:
        """What was written or read, after `close`."""
        summary: Summary | None = self._below().summary
        return summary

    def _below(self) -> Any:
        return self.buffer

    def abort(self) -> None:
        """Close without ending the file: nothing is left at its path."""
        below = self._below()
        below.abort() if isinstance(below, WriteFile) else below.close()

    def close(self) -> None:
        """Write what is left, and end the file."""
        below = self._below()
        if isinstance(below, WriteFile):
            below.ending = True  # the flush that comes is no boundary, the end is
        try:
            super().close()
        except BaseException:
            self.abort()
            raise

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

    def __del__(self) -> None:
        try:
            below = self._below()
        except (AttributeError, ValueError):  # never made, or detached
            return
        if isinstance(below, WriteFile) and not below.closed:
            warnings.warn(
                f"unclosed file {below.name!r}: nothing is left of it",
                ResourceWarning,
                stacklevel=2,
                source=self,
            )
            below.abort()
