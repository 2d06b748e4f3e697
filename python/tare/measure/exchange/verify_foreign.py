"""What a worker that was given by ``--worker`` says came back, held against what its bytes give.

``verify`` is the worker's own comparison. That of Tare's workers is tested with Tare; of somebody else's nothing is known. So its
bytes are decoded once more, in a process that loaded nothing, and handed back as tagged values, which are compared here.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tare.errors import EncodeError, Limit, TareError, Unsupported, WorkerError
from tare.fidelity.comparison import Change, column_of
from tare.measure.environment import tempdirs
from tare.tagged.stand_ins import Attr, Factor, Other, Pairs

if TYPE_CHECKING:
    from tare.measure.session import Part, Session

__all__ = ["Given", "held"]

_MOST_BYTES = 64 << 20
_LEAST_S = 2.0
# Patterns of paths, not values, are counted: real data have few.
_MOST_CHANGES = 1000
_OF_VERIFY = frozenset({"key order", "levels", "metadata"})
"""Sides that are left to the worker: tagged values have no levels of categories, and not every language an order."""
_OF_THE_REQUEST = frozenset({"Unsupported", "unknown_op", "usage", "memory", "timeout"})
"""Errors that tell nothing of the bytes: a request is not there, or the tagged values take more than there is."""
# Arrow's own conversion of nested lists is recursive; a few thousand end the process.
_MOST_DEPTH_OF_TABLES = 200
_MOST_DEPTH = 100_000
_MOST_SHARED = 10_000_000
_CONTAINERS = frozenset({dict, list, tuple, set, frozenset, Pairs, Attr, Other})


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
        WorkerError: The bytes are not decoded by a process that has nothing else, or what it handed back is no tagged value.
        Stopped: The user asked to stop.
    """
    session = given.session
    if given.language not in session.settings.workers or found["verdict"] == "lossy":
        return found
    folder = tempdirs.make()
    try:
        if given.part.bytes_memory > _MOST_BYTES:
            raise Unsupported(f"more than {_MOST_BYTES >> 20} MiB are not compared")
        lost = _lost(given, written, folder)
    except (TareError, OSError, ValueError, RecursionError) as error:
        session.check()
        if isinstance(error, WorkerError) and error.type not in _OF_THE_REQUEST:
            raise
        # What a part of the data lost, all of them lose.
        lost = next((one for key, one in session.handed_back.items() if key[0] == given.codec and one), [])
        if not lost:
            return {**found, "unchecked": " ".join(str(error).split())[:200]}
    finally:
        tempdirs.remove(folder)
    return {**found, "verdict": "lossy", "changes": lost[:20], "told": found["verdict"]} if lost else found


def _lost(given: Given, written: str | None, folder: Path) -> list[dict[str, Any]]:
    """Changes that lose something, between the part and what the bytes give.

    Raises:
        TareError: The worker does not hand the values back, or they cannot be compared.
        OSError, ValueError: Files of the run cannot be read or written.
    """
    known = given.session.handed_back
    asked = (given.codec, given.part.path, json.dumps(dict(given.factors)).encode())
    if written is None and asked in known:
        return known[asked]
    encoded = _encoded(given, folder) if written is None else Path(written)
    key = (given.codec, given.part.path, hashlib.blake2b(encoded.read_bytes()).digest())
    if key not in known:
        known[key] = _compared(given.part, given.language, _decoded(given, encoded, folder / "out"))
    if written is None:
        known[asked] = known[key]
    return known[key]


@contextlib.contextmanager
def _asking(given: Given) -> Iterator[Callable[..., dict[str, Any]]]:
    """Requests to a process that nothing is timed in: it may end of what it does not know."""
    session = given.session
    limit_s = min(session.settings.deadline_s, max(_LEAST_S, session.limit_s(1.0) - session.elapsed_s))
    # As rows of tagged values a table takes about what records do.
    worker = session.worker(given.part, "records", loading=True, language=given.language)
    try:
        yield lambda op, **fields: worker.request(op, deadline_s=limit_s, codec=given.codec, **fields)
    finally:
        session.release(worker)


def _encoded(given: Given, folder: Path) -> Path:
    """The part's bytes, in a file with nothing beside it: what else its writer left is not for who decodes them."""
    inside, apart = folder / "inside", folder / "encoded"
    inside.mkdir()
    path = str(inside / "encoded")
    with _asking(given) as ask:
        ask("load", **given.session.given(given.part, given.language))
        ask("prepare", threads=1, cold=False, **given.factors)
        try:
            ask("encode_to", path=path)
        except WorkerError as error:
            if error.type != "Unsupported" or not given.writes:
                raise
            ask("run", what="write", path=path, samples=1, batch=1)
    try:
        os.replace(path, apart)
    except FileNotFoundError:
        raise _wrong(given, "encode", "no bytes were written") from None
    tempdirs.remove(inside)
    return apart


def _decoded(given: Given, encoded: Path, out: Path) -> Any:
    """What the bytes give in a process that knows nothing else of the data.

    Raises:
        WorkerError: It does not decode them, or what it handed back is no tagged value.
        Unsupported: A value of a type that is not known here.
    """
    from tare.tagged import load_text

    told = {"kind": "table"} if given.part.kind == "table" else {}
    try:
        with _asking(given) as ask:
            ask("prepare", encoded=str(encoded), cold=False, **told)
            ask("decode_from", path=str(encoded), out=str(out))
    except WorkerError as error:
        raise WorkerError(
            f"in a process that loaded nothing: {' '.join(str(error).split())}",
            worker=error.worker, type=error.type, phase=error.phase, log_tail=error.log_tail,
        ) from error  # fmt: skip
    depth = _MOST_DEPTH_OF_TABLES if told else _MOST_DEPTH
    try:
        data = out.read_bytes()
        back = load_text(data, max_bytes=len(data), max_nodes=len(data) + _MOST_BYTES, max_depth=depth)
        if b'"$ref"' in data:
            _hold_shared(back, depth)
        return back
    except Unsupported:
        raise
    except (TareError, OSError) as error:
        raise _wrong(given, "decode", f"what decode_from wrote cannot be read: {error}") from error


def _hold_shared(value: Any, depth: int) -> None:
    """Refuse what holds itself, or grows without end where shared values are copied: Arrow copies them, as marshal does.

    Raises:
        Limit: It does.
    """
    layer, left = [value], _MOST_SHARED
    for _ in range(depth):
        inside = [_inside(item) for item in layer]
        left -= sum(map(len, inside))
        if left < 0:
            break
        layer = [item for items in inside for item in items]
        if not layer:
            return
    raise Limit("shared values that hold themselves, or come to too many")


def _inside(item: Any) -> Collection[Any]:
    if isinstance(item, dict):
        return (*item.keys(), *item.values())
    if isinstance(item, Attr):
        return (item.attributes, item.of)
    if isinstance(item, Other):
        return (item.of,)
    return item if isinstance(item, list | tuple | set | frozenset) else ()


def _wrong(given: Given, phase: str, why: str) -> WorkerError:
    return WorkerError(why, worker=given.language, type="protocol", phase=phase)


def _compared(part: Part, language: str, back: Any) -> list[dict[str, Any]]:
    """What is lost. Other types are the worker's to tell, and so is what tagged values have no place for."""
    from tare.dataset import load_saved
    from tare.measure.fidelity.run_probes import compare

    if part.as_ == "json":
        original = json.loads(Path(part.path).read_bytes())
    else:
        original = load_saved(part.path, part.as_, part.kind)
    if part.kind == "table":
        found, more = _compared_tables(original, back, language)
    else:
        whole = compare(original, back, kind=part.kind, limit=_MOST_CHANGES)
        found, more = list(whole.changes), whole.more
    lost = [one.as_dict() for one in found if one.verdict == "lossy" and one.side not in _OF_VERIFY]
    if more and not lost:
        raise Unsupported(f"more than {_MOST_CHANGES} paths came back otherwise")
    if language == "r" and part.kind == "table":
        return _without_lists(lost, original)
    return lost


def _without_lists(lost: list[dict[str, Any]], original: Any) -> list[dict[str, Any]]:
    """What is lost beside columns of lists and maps: a list of one value is that value in R, and a map a table.

    Raises:
        Unsupported: Nothing else is.
    """
    import pyarrow as pa

    from tare.fidelity.column_masks import holds

    kinds = dict(zip(original.column_names, original.schema.types, strict=True))
    left = [
        one
        for one in lost
        if not holds(
            kinds.get(column_of(one), pa.null()),
            lambda kind: pa.types.is_nested(kind) and not pa.types.is_struct(kind),
        )
    ]
    if lost and not left:
        raise Unsupported(
            f"column {lost[0]['path'][:80]!r} holds lists or maps, which R hands back as something else"
        )
    return left


def _compared_tables(original: Any, back: Any, language: str) -> tuple[list[Change], int]:
    """What changed of a table, and how many changes are left out."""
    from tare.kinds import convert
    from tare.measure.exchange.tables import as_columns
    from tare.measure.fidelity.run_probes import compare

    if len(set(original.column_names)) < original.num_columns:
        raise Unsupported("two columns have one name, which tagged values have no place for")
    with contextlib.suppress(ValueError):  # neither columns nor rows: no table
        back = as_columns(back, dict.fromkeys(original.column_names))
    apart: list[Change] = []
    if isinstance(back, dict):
        kinds = dict(zip(original.column_names, original.schema.types, strict=True))
        back = {name: _as_cells(cells, kinds.get(name), language) for name, cells in back.items()}
        mixed = {name for name, cells in back.items() if _is_mixed(cells)}
        apart = _compared_cells(original.select([name for name in kinds if name in mixed]), back)
        if mixed and len(mixed) == len(back):
            return [*apart, *_gone(original, back)], 0
        original = original.select([name for name in kinds if name not in mixed])
        back = {name: cells for name, cells in back.items() if name not in mixed}
    with contextlib.suppress(Unsupported):  # no table, as the comparison says
        back = _with_times(convert(back, "arrow"), original)
    found = compare(original, back, kind="table", limit=_MOST_CHANGES)
    return [*apart, *found.changes], found.more


def _as_cells(column: Any, kind: Any, language: str) -> Any:
    """Cells of a column. R has one of structs as the columns of a table, and one of texts as a factor."""
    import pyarrow as pa

    from tare.measure.exchange.tables import nulls

    if isinstance(column, Factor):
        return nulls(column)
    if not isinstance(column, dict) or kind is None or not pa.types.is_struct(kind):
        return nulls(column) if language == "r" else column
    kinds = {field.name: field.type for field in kind}
    parts = {name: _as_cells(part, kinds.get(name), language) for name, part in column.items()}
    lengths = {len(part) if isinstance(part, list) else -1 for part in parts.values()}
    if len(lengths) != 1 or -1 in lengths:
        return column
    return [dict(zip(parts, row, strict=True)) for row in zip(*parts.values(), strict=True)]


def _is_mixed(cells: Any) -> bool:
    """Whether a list holds values that no one type of Arrow holds: a column of the language may."""
    from tare.kinds import convert

    if _ends_arrow(cells):
        return True
    try:
        convert({"cells": cells}, "arrow")
    except EncodeError:
        return True
    except Unsupported:  # no list
        pass
    return False


def _ends_arrow(cells: Any) -> bool:
    """Whether NumPy's moments stand among its numbers in lists or fields: Arrow dies of that, with the process."""
    import numpy as np

    layers = [cells] if isinstance(cells, list) else []
    while layers:
        layer = layers.pop()
        types = set(map(type, layer))
        kinds = [kind for kind in types if issubclass(kind, np.generic)]
        if len(kinds) > 1 and any(issubclass(kind, np.datetime64 | np.timedelta64) for kind in kinds):
            return True
        if types.isdisjoint(_CONTAINERS):
            continue
        fields: dict[Any, list[Any]] = {}
        for item in layer:
            if isinstance(item, dict):
                for name, value in item.items():
                    fields.setdefault(name, []).append(value)
            else:
                fields.setdefault(None, []).extend(_inside(item))
        layers += filter(None, fields.values())
    return False


def _compared_cells(original: Any, back: dict[str, Any]) -> list[Change]:
    """What is lost of each column, its cells held one by one."""
    from tare.measure.exchange.tables import cells_of, judge_columns

    found = []
    for name, cells in cells_of(original).items():
        cell = judge_columns(original, {name: cells}, {name: back[name]})
        if cell.get("verdict") == "lossy":
            shown = (cell.get(key, "") for key in ("in", "out", "at"))
            found.append(Change(name, "lossy", cell.get("count", 1), *shown))
    return found


def _gone(original: Any, back: dict[str, Any]) -> list[Change]:
    """Columns that did not come back."""
    return [
        Change(field.name, "lossy", 1, str(field.type), "(missing)")
        for field in original.schema
        if field.name not in back
    ]


def _with_times(back: Any, original: Any) -> Any:
    """The table with times of day where they came back as the time since midnight: R has no other."""
    import pyarrow as pa

    for at, name in enumerate(back.column_names):
        place = original.schema.get_field_index(name)
        wanted = original.schema.types[place] if place >= 0 else pa.null()
        if not pa.types.is_time(wanted) or not pa.types.is_duration(back.schema.types[at]):
            continue
        whole = pa.int32() if wanted.bit_width == 32 else pa.int64()
        with contextlib.suppress(pa.ArrowInvalid):  # finer than the time was, or too long for one
            since = back.column(at).cast(pa.duration(wanted.unit)).cast(pa.int64())
            back = back.set_column(at, name, since.cast(whole).cast(wanted))
    return back
