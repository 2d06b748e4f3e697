"""What a worker that was given by ``--worker`` says came back, held against what its bytes give.

``verify`` is the worker's own comparison. That of Tare's workers is tested with Tare; of somebody else's nothing is known. So its
bytes are decoded once more, in a process of their own, and handed back as tagged values, which are compared here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tare.errors import TareError, Unsupported, WorkerError
from tare.measure import scratch

if TYPE_CHECKING:
    from tare.measure.session import Part, Session

__all__ = ["Given", "held"]

_MOST_BYTES = 64 << 20
_LEAST_S = 2.0
# Patterns of paths, not values, are counted: real data have few.
_MOST_CHANGES = 1000
_OF_VERIFY = ("(key order)", "(levels)", "(metadata)")
"""Ends of paths that are left to the worker: tagged values have no levels of categories, and not every language an order."""


@dataclass(frozen=True)
class Given:
    """Who says it, and of what.

    Args:
        session: The run; it remembers what was compared, as other media have the same bytes.
        part: The data that were loaded.
        codec: Id of the codec.
        language: Its language.
        factors: What ``prepare`` is asked beside the codec.
        writes: Whether the codec lists the medium ``file``.
    """

    session: Session
    part: Part
    codec: str
    language: str
    factors: Mapping[str, str]
    writes: bool


def held(found: dict[str, Any], given: Given, written: str | None) -> dict[str, Any]:
    """The reply to ``verify`` as it is to be believed.

    Args:
        found: The reply.
        given: Whose it is; what is not of a given worker is believed.
        written: The file that the medium wrote; None where the bytes are to be asked for.

    Returns:
        ``found``; with what is lost, and ``told``, the worker's own verdict, where that was better; with ``unchecked``, why, where
        nothing could be compared.

    Raises:
        Stopped: The user asked to stop.
    """
    session = given.session
    if given.language not in session.settings.workers or found["verdict"] == "lossy":
        return found
    folder = scratch.make()
    try:
        if given.part.bytes_memory > _MOST_BYTES:
            raise Unsupported(f"more than {_MOST_BYTES >> 20} MiB are not compared")
        lost = _lost(given, written, folder)
    except (TareError, OSError, ValueError, RecursionError) as error:
        session.check()
        # What a part of the data lost, all of them lose.
        lost = next((one for key, one in session.handed_back.items() if key[0] == given.codec and one), [])
        if not lost:
            return {**found, "unchecked": " ".join(str(error).split())[:200]}
    finally:
        scratch.remove(folder)
    return {**found, "verdict": "lossy", "changes": lost[:20], "told": found["verdict"]} if lost else found


def _lost(given: Given, written: str | None, folder: Path) -> list[dict[str, Any]]:
    """Changes that lose something, between the part and what the bytes give.

    Raises:
        TareError: The worker does not hand the values back, or they cannot be compared.
        OSError, ValueError: What it handed back cannot be read.
    """
    known = given.session.handed_back
    what = Path(written).read_bytes() if written else json.dumps(dict(given.factors)).encode()
    key = (given.codec, given.part.path, hashlib.blake2b(what).digest())
    if key not in known:
        out = folder / "out"
        _hand_back(given, written or str(folder / "encoded"), out, asked=written is None)
        known[key] = _compared(given.part, given.language, json.loads(out.read_bytes()))
    return known[key]


def _hand_back(given: Given, encoded: str, out: Path, *, asked: bool) -> None:
    """Have the bytes decoded, in a process that nothing is timed in: it may end of what it does not know."""
    session, codec = given.session, given.codec
    limit_s = min(session.settings.deadline_s, max(_LEAST_S, session.limit_s(1.0) - session.elapsed_s))
    told = {"kind": "table"} if given.part.kind == "table" else {}
    # As rows of tagged values a table takes about what records do.
    worker = session.worker(given.part, "records", loading=True, language=given.language)
    try:
        if asked:
            worker.request("load", deadline_s=limit_s, **session.given(given.part, given.language))
            worker.request("prepare", deadline_s=limit_s, codec=codec, threads=1, cold=False, **given.factors)
            try:
                worker.request("encode_to", deadline_s=limit_s, codec=codec, path=encoded)
            except WorkerError as error:
                if error.type != "Unsupported" or not given.writes:
                    raise
                worker.request(
                    "run", deadline_s=limit_s, what="write", codec=codec, path=encoded, samples=1, batch=1
                )
        worker.request("prepare", deadline_s=limit_s, codec=codec, encoded=encoded, cold=False, **told)
        worker.request("decode_from", deadline_s=limit_s, codec=codec, path=encoded, out=str(out))
    finally:
        session.release(worker)


def _compared(part: Part, language: str, tree: Any) -> list[dict[str, Any]]:
    """What is lost. Other types are the worker's to tell, and so is what tagged values have no place for."""
    from tare.dataset import load_saved
    from tare.kinds import convert
    from tare.measure.exchange_tables import as_columns, nulls
    from tare.measure.fidelity import compare
    from tare.tagged import from_tagged

    back = from_tagged(tree)
    if part.as_ == "json":
        original = json.loads(Path(part.path).read_bytes())
    else:
        original = load_saved(part.path, part.as_, part.kind)
    if part.kind == "table":
        back = as_columns(back, dict.fromkeys(original.column_names))
        if language == "r":
            back = {name: nulls(cells) for name, cells in back.items()}
        # What makes no table here may yet be one there: no loss.
        back = _with_times(convert(back, "arrow"), original)
    found = compare(original, back, kind=part.kind, limit=_MOST_CHANGES)
    lost = [
        change.as_dict()
        for change in found.changes
        if change.verdict == "lossy" and not change.path.endswith(_OF_VERIFY)
    ]
    if found.more and not lost:
        raise Unsupported(f"more than {_MOST_CHANGES} paths came back otherwise")
    return lost


def _with_times(back: Any, original: Any) -> Any:
    """The table with times of day where they came back as the time since midnight: R has no other."""
    import pyarrow as pa

    for at, name in enumerate(back.column_names):
        place = original.schema.get_field_index(name)
        wanted = original.schema.types[place] if place >= 0 else pa.null()
        if not pa.types.is_time(wanted) or not pa.types.is_duration(back.schema.types[at]):
            continue
        whole = pa.int32() if wanted.bit_width == 32 else pa.int64()
        since = back.column(at).cast(pa.duration(wanted.unit)).cast(pa.int64())
        back = back.set_column(at, name, since.cast(whole).cast(wanted))
    return back
