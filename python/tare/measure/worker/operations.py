"""What a worker can be asked to do: one method for each operation of the protocol.

A worker holds one value and any number of codecs prepared for it; a request names its
codec, or means the one prepared last. A new ``load`` forgets all of them.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from tare._version import __version__
from tare.errors import Unsupported
from tare.measure.worker import clocks
from tare.measure.worker.errors import OpError, phase
from tare.measure.worker.job import Job, digest, text
from tare.measure.worker.prepared_codec import JSON_TEXT, Prepared, sorted_names
from tare.measure.worker.transfer import MESSAGES
from tare.measure.worker_client.handshake import PROTOCOL

if TYPE_CHECKING:
    from tare.codec import Codec
    from tare.media.store import Shelf

__all__ = ["Ops"]

_KINDS = ("document", "table")


class Ops:
    """The state of a worker and its operations (``op_NAME(request) -> reply``)."""

    def __init__(self) -> None:
        self.value: Any = None
        self.loaded = False
        self._is_finite = False
        self._of_r: list[str] | None = None
        self.data_kind = ""
        self.items = 0
        self.resident = 0
        self._natives: dict[str, Any] = {}
        # By codec, then by grain; the grain prepared last is the last key.
        self._prepared: dict[str, dict[str, Prepared]] = {}
        self._current = ""
        self._ends: Any = None
        self._shelves: dict[tuple[str, str], Shelf] = {}

    # --- life -----------------------------------------------------------------

    def op_hello(self, request: dict[str, Any]) -> dict[str, Any]:
        """Who we are. ``list: false`` leaves the codecs out: listing them costs their imports."""
        if request.get("proto", PROTOCOL) != PROTOCOL:
            raise OpError("usage", f"this worker speaks protocol {PROTOCOL}, not {request.get('proto')!r}")
        if "random" in sys.modules and request.get("seed") is not None:
            sys.modules["random"].seed(request["seed"])
        version = sys.version_info
        return {
            "proto": PROTOCOL,
            "worker": "python",
            "tare": __version__,
            "runtime": sys.implementation.name,
            "version": f"{version[0]}.{version[1]}.{version[2]}",
            "pid": os.getpid(),
            "codecs": _codecs() if request.get("list", True) else [],
            "clocks": list(clocks.COLUMNS),
            "cpu_source": clocks.CPU_SOURCE,
            "gc": ["off", "on"],
        }

    def op_load(self, request: dict[str, Any]) -> dict[str, Any]:
        """Load the value that every codec gets."""
        from tare.measure.worker.peak_memory import resident_bytes

        path, as_, kind = text(request, "path"), text(request, "as"), request.get("kind")
        self._forget()
        self.data_kind = kind if kind in _KINDS else "table" if as_ == "arrow" else "document"
        before = resident_bytes()
        with phase("load"):
            self.value, self._is_finite = _load(path, as_, self.data_kind)
            self.loaded, self._of_r = True, request.get("of_r")
            self.items = self.count(self.value)
        if before is None:
            from tare.kinds import resident_bytes as measure_value

            self.resident = measure_value(self.value)
        else:
            self.resident = max(0, (resident_bytes() or before) - before)
        gc.collect()
        gc.freeze()
        rows = self.items if self.data_kind == "table" else None
        return {"kind": self.data_kind, "items": self.items, "rows": rows, "resident_bytes": self.resident}

    def op_prepare(self, request: dict[str, Any]) -> dict[str, Any]:
        """Make a codec ready; encode and decode once, unless ``cold`` is false."""
        from tare.codec import Codec, set_threads

        with phase("encode"):
            codec = Codec.parse(text(request, "codec"))
            codec.require()
            modules = codec.library.modules + (codec.peer.modules if codec.peer is not None else ())
            import_ns = _import(modules)
        set_threads(codec, request.get("threads", 1))
        kind, encoded = request.get("kind"), request.get("encoded")
        grain = request.get("grain", "whole")
        self._prepared.setdefault(str(codec), {}).pop(grain, None)
        with phase("load"):
            value = None if not self.loaded else self._in_kind(codec.native(self.data_kind), kind)
            part = _part(request)
            if part is not None:
                value = part(value)
            if kind == JSON_TEXT and self.loaded:
                value = _as_json(value, grain)
            ready = Prepared(
                codec,
                self.data_kind or _kind_given(kind),
                value,
                kind=kind,
                grain=grain,
                order=request.get("order", "insertion"),
                has_value=self.loaded,
            )
            if ready.grain == "each" and encoded is not None:
                raise Unsupported("documents encoded one by one have no file")
        ready.delivery = request.get("delivery") or "whole"
        ready.part = part
        reply: dict[str, Any] = {"import_ns": import_ns}
        if encoded is not None:
            from tare.media import file

            with phase("io"):
                ready.encoded = file.read(encoded)
        elif not self.loaded:
            raise OpError("usage", "nothing to encode: load first, or give 'encoded'", "load")
        if request.get("cold", True):
            self._cold(ready, reply)
        if ready.encoded is not None:
            reply |= {"bytes": ready.encoded_bytes, "sha256": digest(ready.encoded)}
        self._prepared[str(codec)][grain] = ready
        self._current = str(codec)
        return reply

    def op_quit(self, _: dict[str, Any]) -> dict[str, Any]:
        """Nothing to say; the loop ends after the reply."""
        return {}

    # --- proof ----------------------------------------------------------------

    def op_verify(self, request: dict[str, Any]) -> dict[str, Any]:
        """Compare the last value that came back with the one that was loaded."""
        from tare.fidelity.non_finite import JSON_FORMATS, add_non_finite
        from tare.measure.fidelity.run_probes import compare

        ready = self.codec(request)
        if not self.loaded:
            raise OpError("usage", "nothing to compare with: load first", "load")
        if ready.last is None and ready.last_call is not None:
            with phase("decode"):
                ready.last = ready.last_call()
        if ready.kind == JSON_TEXT:
            ready.last = _of_json(ready.last)
        wanted = self.value
        if ready.part is not None:
            wanted = ready.part(wanted)
        limit = int(request.get("limit", 20)) if request.get("full", True) else 1
        with phase("verify"):
            if ready.order == "lexical" and self.data_kind == "document":
                wanted = sorted_names(wanted)
            as_frame = ready.kind == "pandas" and self.data_kind == "table"
            found = compare(wanted, ready.last, kind=self.data_kind, limit=limit, as_frame=as_frame)
            if ready.codec.format_id in JSON_FORMATS and self._may_be_non_finite():
                read = ready.own_reading()
                found = add_non_finite(found, ready.codec.format_id, read, kind=self.data_kind, limit=limit)
            lost = {} if self._of_r is None else {"r_lost": self._lost_of_r(ready.codec, self._of_r)}
        ready.last = None
        return {**found.as_dict(), **lost}

    def _lost_of_r(self, codec: Codec, beside: list[str]) -> list[str]:
        """Returns the paths of what files of a codec do not keep of the object of R that was loaded."""
        from tare.datasets.r_losses import paths_lost

        return paths_lost(beside, self.value, self.data_kind, codec)

    def _may_be_non_finite(self) -> bool:
        """Returns whether the loaded value may have NaN or infinities."""
        from tare.table_text import is_finite

        return not self._is_finite and not (self.data_kind == "table" and is_finite(self.value))

    def op_probe(self, request: dict[str, Any]) -> dict[str, Any]:
        """Put each probe value through a codec."""
        from tare.codec import Codec
        from tare.measure.fidelity.run_probes import probe

        with phase("encode"):
            codec = Codec.parse(request.get("codec") or self._current)
            codec.require()
            return {"cells": probe(codec, request.get("set", "values/1"), only=request.get("only"))}

    # --- time and memory --------------------------------------------------------

    def op_run(self, request: dict[str, Any]) -> dict[str, Any]:
        """Take samples of one operation."""
        watched = clocks.tracer()
        if watched:
            raise OpError("traced", f"refused to time anything: {watched}")
        what = text(request, "what")
        if what in ("send", "receive"):
            from tare.measure.worker import endpoints

            return endpoints.run(self._stream_ends(), self.codec(request), what, request, self.count)
        job = Job(self, what, request)
        with phase(job.phase):
            return job.run()

    def op_mem(self, request: dict[str, Any]) -> dict[str, Any]:
        """Peak memory of one call; truthful in a process that has not made it before."""
        from tare.measure.worker.peak_memory import peak

        job = Job(self, text(request, "what"), request)
        for ready in (one for grains in self._prepared.values() for one in grains.values()):
            ready.last = None  # a value kept for verify is not part of what the call needs
        with phase(job.phase):
            reply = peak(job.once)
            job.clean()
        return reply

    # --- exchange ---------------------------------------------------------------

    def op_encode_to(self, request: dict[str, Any]) -> dict[str, Any]:
        """Write the encoded value to a file."""
        from tare.media import file

        ready = self.codec(request)
        with phase("encode"):
            encoded = ready.need_encoded()
            if ready.grain == "each":
                raise Unsupported("documents encoded one by one have no file")
        with phase("io"):
            return {"bytes": file.write(text(request, "path"), encoded)}

    def op_decode_from(self, request: dict[str, Any]) -> dict[str, Any]:
        """Decode a file that another worker wrote; write tagged values to ``out``."""
        from tare.media import file

        ready = self.codec(request)
        with phase("io"):
            data = file.read(text(request, "path"))
        with phase("decode"):
            value = ready.last = ready.decode(data)
            items = self.count(value)
        if request.get("out"):
            from tare.tagged import to_tagged

            with phase("io"):
                tagged = to_tagged(_plain(value, ready.data_kind))
                with open(request["out"], "w", encoding="utf-8") as out:
                    json.dump(tagged, out, allow_nan=False)
        return {"items": items}

    # --- streams ----------------------------------------------------------------

    def op_open(self, request: dict[str, Any]) -> dict[str, Any]:
        """Open one end of a medium; a reader answers before the writer has come."""
        medium = request.get("medium")
        if not isinstance(medium, dict):
            raise OpError("usage", "open needs medium: {kind, role, address, token}")
        with phase("open"):
            handle, address = self._stream_ends().open(medium)
        return {"handle": handle, "address": address}

    def op_close(self, request: dict[str, Any]) -> dict[str, Any]:
        """Close an end."""
        with phase("io"):
            self._stream_ends().close(request.get("handle"))
        return {}

    # --- private ----------------------------------------------------------------

    def _stream_ends(self) -> Any:
        if self._ends is None:
            from tare.measure.worker.endpoints import Ends

            self._ends = Ends()
        return self._ends

    def shelf(self, path: str, sync: str) -> Shelf:
        """The store at a path, opened once.

        Args:
            path: Its folder.
            sync: ``none`` or ``fsync``.

        Raises:
            OpError: It cannot be opened.
        """
        from tare.media.store import Shelf

        if (path, sync) not in self._shelves:
            with phase("open"):
                self._shelves[path, sync] = Shelf(path, sync=sync)
        return self._shelves[path, sync]

    def _forget(self) -> None:
        self._prepared.clear()
        while self._shelves:
            self._shelves.popitem()[1].close()
        self._natives.clear()
        self.value, self.loaded, self._current = None, False, ""
        gc.unfreeze()
        gc.collect()

    def codec(self, request: dict[str, Any]) -> Prepared:
        """The codec that a request names, in the grain that it names, or what was prepared last."""
        name = request.get("codec") or self._current
        grains = self._prepared.get(name)
        if grains is None and name:
            from tare.codec import Codec

            grains = self._prepared.get(str(Codec.parse(name)))
        grain = request.get("grain") or next(reversed(grains or {}), "")
        if not grains or grain not in grains:
            raise OpError("usage", f"{name or 'no codec'} is not prepared")
        return grains[grain]

    def _in_kind(self, native: str, kind: str | None) -> Any:
        """The loaded value in the kind that calls start from, converted once."""
        from tare.kinds import convert, memory_kind

        if self.data_kind == "document":
            return self.value
        wanted = native if kind in (None, "", "own", *_KINDS) else str(kind)
        if wanted == memory_kind(self.value):
            return self.value
        if wanted not in self._natives:
            self._natives = {
                wanted: convert(self.value, wanted)
            }  # one at a time: each may be several times the data
        return self._natives[wanted]

    def _cold(self, ready: Prepared, reply: dict[str, Any]) -> None:
        """The first calls, each its own figure, and the proof that data came back."""
        if ready.encoded is None:
            with phase("encode"):
                reply["cold_encode_ns"], ready.encoded = _timed(ready.encode, ready.value)
                if ready.encoded is None:
                    raise OpError("refused", "encode returned nothing", "encode")
                _ = ready.encoded_bytes
        with phase("decode"):
            reply["cold_decode_ns"], ready.last = _timed(ready.decode, ready.encoded)
            reply["items"] = self.count(ready.last)
        ready.last_call = lambda: ready.decode(ready.encoded)

    def count(self, value: Any) -> int:
        """Items of a value that came back; 0 if it is nothing, or nothing that can be counted."""
        if value is None:
            return int(self.loaded and self.value is None)
        from tare.kinds import count_items

        try:
            return int(count_items(_of_json(value)))
        except Exception:
            return 0


def _as_json(value: Any, grain: str) -> Any:
    """JSON text of a document, or of each document of a list."""

    def text(one: Any) -> bytes:
        return json.dumps(one, separators=(",", ":"), ensure_ascii=False).encode()

    return [text(one) for one in value] if grain == "each" else text(value)


def _of_json(value: Any) -> Any:
    """The document of JSON text, or those of a list of texts; anything else as it is."""
    if isinstance(value, bytes):
        return json.loads(value)
    if isinstance(value, list) and value and all(isinstance(one, bytes) for one in value):
        return [json.loads(one) for one in value]
    return value


def _timed(call: Callable[[Any], Any], argument: Any) -> tuple[int, Any]:
    began = time.perf_counter_ns()
    result = call(argument)
    return time.perf_counter_ns() - began, result


def _part(request: dict[str, Any]) -> Callable[[Any], Any] | None:
    """Returns what draws the documents that calls get from those loaded; None where they get all of them."""
    share = request.get("share")
    if share is None:
        return None
    from tare.datasets import sampling

    return partial(sampling.document, size=float(share), seed=int(request.get("seed", 0)))


def _load(path: str, as_: str, kind: str) -> tuple[Any, bool]:
    """Returns the value, and whether it is known to have no NaN and no infinity."""
    if as_ == "bytes":
        from tare.media import file

        return file.read(path), False
    if as_ == "json":
        found: list[str] = []

        def constant(word: str) -> float:
            found.append(word)
            return float(word)

        with open(path, "rb") as source:
            return json.loads(source.read(), parse_constant=constant), not found
    if as_ == "rds":
        raise Unsupported("this worker does not read RDS; give the data as arrow, json or values")
    from tare.dataset import load_saved

    value = load_saved(path, as_, kind)
    if kind == "table":
        from tare.pandas_metadata import with_pandas_types

        value = with_pandas_types(value)
    return value, False


def _kind_given(kind: str | None) -> str:
    if kind in _KINDS:
        return str(kind)
    return "document" if kind in (None, "", "own", "python") else "table"


def _import(modules: tuple[str, ...]) -> int:
    """Import what the library needs, so that the first call is not the import; its time."""
    import importlib

    began = time.perf_counter_ns()
    for name in modules:
        importlib.import_module(name)
    return time.perf_counter_ns() - began


def _plain(value: Any, kind: str) -> Any:
    if kind == "document":
        return value
    from tare.kinds import convert

    return convert(value, "columns")


def _codecs() -> list[dict[str, Any]]:
    """Every codec that is installed, as ``hello`` lists them."""
    from tare.formats import FORMATS
    from tare.media import MEDIA

    media = [medium.name for medium in MEDIA]
    found = []
    for format in FORMATS:
        for library in format.libraries:
            if not library.installed:
                continue
            parts = ["streaming"] if library.stream is not None else []
            found.append({
                "id": f"{format.id}:{library.name}",
                "library": library.name,
                "version": library.version,
                "options": {name: option.default for name, option in library.options.items()},
                "kinds": sorted(library.native),
                "media": media,
                "delivery": ["whole", "buffered", *parts, *MESSAGES],
                "subset": list(format.subset) if library.subset is not None else [],
                "threads": list(library.threads),
                "executes_code": library.executes_code or format.executes_code,
            })  # fmt: skip
    return found
