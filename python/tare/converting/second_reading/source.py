"""The second reading of what is converted: beside the writing, where the other library lets others run and the result can wait."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tare.converting.second_reading import read_again
from tare.converting.second_reading.beside import Beside
from tare.converting.second_reading.outcome import Request, SecondReading
from tare.converting.second_reading.verdict import judge
from tare.datasets import yaml_notes

if TYPE_CHECKING:
    from typing import Self

    from tare.datasets.source import Source
    from tare.unchanged import Watch

__all__ = ["SourceReading"]


class SourceReading:
    """Reads a source again. As a context manager it leaves no thread that waits.

    Args:
        source: The source; None for what is no file.
        watch: Sees whether it changes; the reading of it ends with this one.
        target: The file that is written, or a file object.
        verify: Whether to verify, as `tare.convert` has it: nothing is read again if it is False.
        allow_loss: Whether the two readers may differ.
    """

    def __init__(
        self, source: Source | None, watch: Watch, target: Any, *, verify: bool | None, allow_loss: bool
    ) -> None:
        self._source = source if verify is not False else None
        self._watch = watch
        self._thorough = bool(verify)
        self._allow_loss = allow_loss
        self._beside: Beside[SecondReading] | None = None
        self._begun = False
        self.found: dict[str, Any] = {}
        self.notes: list[str] = []
        # What goes into a pipe or a file object is not taken back: it has to wait for what the other reader says.
        revocable = not hasattr(target, "write") and (not os.path.exists(target) or os.path.isfile(target))
        if self._source is not None and revocable and Beside.pays(self._source):
            self._beside = Beside(self._source, self._thorough)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._beside is not None and not self._begun:
            self._beside.close()

    def begin(
        self, value: Any, *, columns: list[str] | None, encoding: str | None, notes: Iterable[str]
    ) -> None:
        """Reads the source again, or begins to, and ends the reading of it.

        Args:
            value: What was read of it first.
            columns: As of `Request`.
            encoding: As of `Request`.
            notes: What was noted when it was read.

        Raises:
            DecodeError: Two readers read another value, unless that is only known at the `end`.
            SourceChanged: The source changed meanwhile; likewise.
        """
        if self._source is None:
            self._watch.check()
            return
        request = Request(self._source, value, columns, encoding, thorough=self._thorough)
        if self._beside is not None:
            self._begun = True
            self._beside.begin(lambda: self._read(request))
            return
        if self._source.reader is None:
            self._judge(read_again(request))
        else:
            self._judge(SecondReading(why=f"{self._source.reader} was asked for"))
        if any(note.startswith(yaml_notes.READ_BY) for note in notes):  # which says more of the same
            self.notes = []
        self._watch.check()

    def end(self) -> None:
        """Waits for the reading that was begun. It must be called before the result gets its name.

        Raises:
            DecodeError, SourceChanged: As of `begin`.
        """
        if self._beside is not None and self._begun:
            beside, self._beside = self._beside, None
            self._judge(beside.result())

    def _read(self, request: Request) -> SecondReading:
        found = read_again(request)
        self._watch.check()
        return found

    def _judge(self, again: SecondReading) -> None:
        assert self._source is not None
        self.found = {"source": again.as_dict()}
        self.notes = judge(again, self._source.format, self._source.name, allow_loss=self._allow_loss)
