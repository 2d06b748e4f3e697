"""One ``run`` or ``mem`` request, turned into a call with its argument and sampled."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any

from tare.measure.worker import calibration, clocks
from tare.measure.worker.errors import OpError, phase
from tare.measure.worker.prepared_codec import Prepared, Target

if TYPE_CHECKING:
    from collections.abc import Callable

    from tare.measure.worker.operations import Ops
    from tare.media.store import Shelf

__all__ = ["Job", "digest", "text"]

_COLD_AT_MOST = 0.05


class Job(calibration.Around):
    """One ``run`` or ``mem`` request turned into a call with its argument."""

    def __init__(self, ops: Ops, what: str, request: dict[str, Any]) -> None:
        self.ops = ops
        self.what = what
        self.request = request
        self.phase = {"encode": "encode", "write": "encode"}.get(what, "decode")
        self.target: Target | None = None
        self.shelf: Shelf | None = None
        self.residency: float | None = None
        self._evict = ""
        self._items: int | None = None
        self._bytes: int | None = None
        self._ready: Prepared | None = None
        if what == "null":
            self.call: Callable[[Any], Any] = _nothing
            self.argument: Any = None
            return
        self._ready = ops.codec(request)
        make = getattr(self, f"_make_{what}", None)
        if make is None:
            raise OpError("usage", f"run cannot do {what!r}")
        with phase(self.phase):
            self.call, self.argument = make(self._ready)

    def run(self) -> dict[str, Any]:
        """Take the samples."""
        request, ready = self.request, self._ready
        if ready is not None and self.what in ("decode", "read", "subset", "open"):
            ready.last_call = self.once if ready.grain == "whole" else self._all_of
        budget = request.get("budget_ms")
        try:
            batch = self._batch()
            rows = calibration.take(
                self.call,
                self.argument,
                batch,
                samples=int(request.get("samples", 1)),
                collect=request.get("gc", "off") == "on",
                budget_ns=None if budget is None else int(budget * 1e6),
                around=self,
            )
        finally:
            if self.target is not None:
                self.target.clear(keep_first=True)
        reply: dict[str, Any] = {"cols": list(clocks.COLUMNS), "samples": rows, "batch": batch}
        if ready is not None and request.get("keep") and self.what in ("encode", "write"):
            reply["sha256"] = digest(ready.encoded) if self.what == "encode" else _digest_of(request["path"])
        proof = {"items": self._items, "bytes": self._bytes, "residency": self.residency}
        return reply | {name: value for name, value in proof.items() if value is not None}

    def once(self) -> Any:
        """Make the call once."""
        return self.call(self.argument)

    def _hold(self, ready: Prepared, result: Any) -> None:
        """Hold what the call made: the bytes, to be decoded, or the value, to be compared."""
        if self.what == "encode":
            if result is None:
                raise OpError("refused", "encode returned nothing", "encode")
            ready.encoded = result
        elif self.what in ("decode", "read"):
            ready.last = result

    def _all_of(self) -> Any:
        """Decode every document once and keep them, to be compared."""
        assert self._ready is not None
        return self._ready.decode(self._ready.need_encoded())

    def clean(self) -> None:
        """Remove what a single call left."""
        if self.target is not None:
            self.target.clear(keep_first=True)

    # --- how each operation is made -------------------------------------------

    def _make_encode(self, ready: Prepared) -> tuple[Callable[[Any], Any], Any]:
        return ready.timed_encode, ready.need_value()

    def _make_decode(self, ready: Prepared) -> tuple[Callable[[Any], Any], Any]:
        return ready.decoder(self.request.get("materialise", "full")), ready.need_encoded()

    def _make_copy(self, ready: Prepared) -> tuple[Callable[[Any], Any], Any]:
        from tare.media.memory import copy

        data = ready.need_encoded()
        if ready.grain == "each":
            return (lambda parts: [copy(part) for part in parts]), data
        return copy, data

    def _make_write(self, ready: Prepared) -> tuple[Callable[[Any], Any], Any]:
        if self._in_store():
            shelf = self.shelf = self._shelf()
            shelf.clear()
            return ready.shelver(shelf), ready.need_value()
        self.target = Target(text(self.request, "path"))
        return ready.writer(self.target, self.request.get("sync", "none")), ready.need_value()

    def _make_read(self, ready: Prepared) -> tuple[Callable[[Any], Any], Any]:
        if self._in_store():
            shelf = self._shelf()
            with phase("io"):
                if not shelf.holds():
                    shelf.write(ready.need_encoded())
            return ready.unshelver(shelf), None
        path = self._file(ready)
        return ready.reader(path, self.request.get("materialise", "full")), None

    def _make_open(self, ready: Prepared) -> tuple[Callable[[Any], Any], Any]:
        if self.request.get("path"):
            return ready.reader(self._file(ready), "open"), None
        return ready.opener(), ready.need_encoded()

    def _make_subset(self, ready: Prepared) -> tuple[Callable[[Any], Any], Any]:
        read = ready.subsetter(text(self.request, "subset"), self.ops.items)
        if self.request.get("path"):
            from tare.media import file

            path = self._file(ready)
            return (lambda _: read(file.mapped(path))), None
        return read, ready.need_encoded()

    # --- private --------------------------------------------------------------

    def _in_store(self) -> bool:
        return self.request.get("medium") == "store"

    def _shelf(self) -> Shelf:
        """The store of the request, which stays open; what it cannot do is refused."""
        for name, only in (("cache", "warm"), ("materialise", "full")):
            if self.request.get(name, only) != only:
                raise OpError("Unsupported", f"a store is measured with {name}={only}", "io")
        return self.ops.shelf(text(self.request, "path"), self.request.get("sync", "none"))

    def _file(self, ready: Prepared) -> str:
        """The file to read; written now if nobody has written it. Marks cold reads."""
        from tare.media import file

        path = text(self.request, "path")
        with phase("io"):
            if not os.path.exists(path):
                file.write(path, ready.need_encoded())
            if self.request.get("cache", "warm") == "cold":
                self._evict = path
        return path

    def _batch(self) -> int:
        request = self.request
        if self._evict or self.shelf is not None:
            return 1  # a second read of the batch would be warm, a second set of the same bytes none
        wanted = int(request.get("batch", 0))
        if wanted > 0:
            return wanted
        key = (self.what, *(request.get(name) for name in ("path", "sync", "materialise", "subset", "gc")))
        kept = self._ready.batches if self._ready is not None else {}
        if key not in kept:
            kept[key] = calibration.calibrate(
                self.call,
                self.argument,
                target_ns=int(request.get("target_ns", calibration.TARGET_NS)),
            )
        return kept[key]

    def before(self) -> None:
        """Free what the last call made, remove what the last write left; drop a file to be read cold."""
        if self._ready is not None:
            self._ready.last = None  # freed before, not during
        if self.shelf is not None:
            self.shelf.clear()
        if self.target is not None:
            self.target.clear(keep_first=False)
        if self._evict:
            from tare.media import file

            left = file.evict(self._evict)
            if left is None or left > _COLD_AT_MOST:
                where = file.filesystem(os.path.dirname(os.path.abspath(self._evict))) or "this system"
                raise OpError("Unsupported", f"cold not possible on {where}", "io")
            self.residency = max(left, self.residency or 0.0)

    def after(self) -> None:
        """Remove all files of the batch but the first."""
        if self.target is not None:
            self.target.clear(keep_first=True)

    def look(self, result: Any) -> None:
        """Count what came back, or the bytes made; of one call a document nothing is kept."""
        ready = self._ready
        if ready is not None and self.request.get("keep"):
            self._hold(ready, result)
        if result is None and ready is not None and ready.grain == "each":
            # Every call returned; what they returned is gone, and was compared when it was first made.
            self._items = len(ready.need_encoded()) if self.what == "decode" else None
            self._bytes = ready.encoded_bytes if self.what == "encode" else None
            return
        if self.what in ("decode", "read", "subset", "open"):
            from tare.measure.worker.materialize import items_of

            lazy = self.what == "open" or self.request.get("materialise", "full") != "full"
            view = items_of(result) if lazy else None
            self._items = self.ops.count(result) if view is None else view
        elif self.what == "write":
            self._bytes = result
        elif self.what in ("encode", "copy"):
            parts = result if isinstance(result, list) else [result]
            self._bytes = sum(memoryview(part).nbytes for part in parts if part is not None)


def _nothing(_: Any) -> None:
    """The empty call: what the loop and the clocks cost."""


def digest(encoded: Any) -> str:
    """Returns the SHA-256 of encoded bytes in hex, or of all encoded documents."""
    found = hashlib.sha256()
    for part in encoded if isinstance(encoded, list) else [encoded]:
        found.update(part)
    return found.hexdigest()


def _digest_of(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def text(request: dict[str, Any], name: str) -> str:
    """A field of a request that must be there and be text.

    Raises:
        OpError: It is not.
    """
    value = request.get(name)
    if not isinstance(value, str):
        raise OpError("usage", f"{request.get('op')} needs {name!r}, a text")
    return value
