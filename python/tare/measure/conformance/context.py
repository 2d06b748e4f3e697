"""What a check of the conformance kit works with: a program, a codec of it, a folder, and documents."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tare.errors import WorkerError
from tare.measure.worker_client.client import Worker

__all__ = ["DEADLINE_S", "DOCUMENT", "Bench", "NotOffered", "need", "tested"]

DEADLINE_S = 60.0
# Names in the order that languages whose mappings have none write them in.
DOCUMENT = [{"id": n, "name": f"n{n}", "note": None, "price": n / 4, "tags": ["a", "b"]} for n in range(500)]


class NotOffered(Exception):
    """The worker says that it cannot do it."""


@dataclass
class Bench:
    """What a check has: the program, a codec of it, a folder, and the document in it."""

    command: tuple[str, ...]
    codec: str
    folder: Path
    about: dict[str, Any] = field(default_factory=dict)

    def worker(self) -> Worker:
        """Start the program."""
        return Worker("under test", self.command, workdir=self.folder)

    def ask(self, worker: Worker, op: str, **fields: Any) -> dict[str, Any]:
        """The reply to a request.

        Raises:
            NotOffered: The worker says ``Unsupported``.
            WorkerError: Any other error.
        """
        try:
            return worker.request(op, deadline_s=DEADLINE_S, **fields)
        except WorkerError as error:
            if error.type == "Unsupported":
                raise NotOffered(str(error)[:100]) from error
            raise

    def file(self, name: str, value: Any) -> str:
        """Write a value as JSON; where."""
        path = self.folder / name
        path.write_text(json.dumps(value), encoding="utf-8")
        return str(path)

    def ready(self, worker: Worker, value: Any = None, **fields: Any) -> dict[str, Any]:
        """Load a value, by default the document, and prepare the codec; the reply to ``prepare``."""
        path = self.file("document.json", DOCUMENT if value is None else value)
        self.ask(worker, "load", path=path, kind="document", **{"as": "json"})
        return self.ask(worker, "prepare", codec=self.codec, threads=1, delivery="whole", **fields)

    def encoded(self, worker: Worker, name: str) -> Path:
        """A file of the encoded bytes of what is prepared: by ``encode_to``, else as the medium file writes them.

        Raises:
            NotOffered: The worker has neither.
        """
        path = self.folder / name
        try:
            self.ask(worker, "encode_to", path=str(path))
        except NotOffered as error:
            if "file" not in self.about["media"]:
                raise NotOffered(f"{error}, and its codec does not list the medium file") from error
            self.ask(worker, "run", what="write", path=str(path), batch=1, samples=1)
        return path

    def refused(self, worker: Worker, op: str, **fields: Any) -> WorkerError:
        """The error that a request must be answered with; AssertionError is raised where it is answered otherwise."""
        try:
            reply = worker.request(op, deadline_s=DEADLINE_S, **fields)
        except WorkerError as error:
            return error
        raise AssertionError(f"{op} {fields} was answered with {str(reply)[:80]} instead of an error")


@contextlib.contextmanager
def tested(what: str) -> Iterator[None]:
    """Within it nothing may be left out: what is not offered raises AssertionError, which fails the check."""
    try:
        yield
    except NotOffered as error:
        raise AssertionError(f"{what} cannot be tested: {error}") from error


def need(condition: object, said: str) -> None:
    """Unless the condition holds, raise AssertionError with what was said, which fails the check."""
    if not condition:
        raise AssertionError(said)
