"""Exchange between languages: what one codec writes and another of the same format reads.

Every value is encoded in the writer's process and decoded in the reader's, which hands it
back as a tagged value; the parent compares with the rule that judges every other probe. A
worker that ends on a value costs that value in that cell, and nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tare.errors import TareError, UsageError, WorkerError
from tare.measure.environment import tempdirs
from tare.measure.fidelity.probe_values import VALUES
from tare.measure.worker_client.languages import LANGUAGES, command_of, inventory, language_of

if TYPE_CHECKING:
    from typing import Self

    from tare.fidelity.comparison import Change, Comparison
    from tare.measure.worker_client.client import Worker

__all__ = [
    "NOT_NAMED",
    "NOT_TRIED",
    "OUTCOMES",
    "OWN",
    "ends_of",
    "exchange",
    "shared_formats",
    "steps_of",
    "summary",
    "untried",
]

OUTCOMES = ("same", "changed", "refused", "error", "n/a")
"""What can become of a value between a writer and a reader."""

OWN = "own data"
"""Name of the user's data among the values."""

NOT_TRIED = "not tried: interrupted"
"""Reason of a pair that nobody came to before the exchange was stopped."""

NOT_NAMED = "left out: --codec names neither"
"""Reason of a pair of two codecs that nobody asked for, where some were named."""

Tell = Callable[[str, int, int], None]
"""Told which codec is at work, and how many of how many steps are done: each codec writes, and reads every other."""

OnlyPairs = Collection[tuple[str, str]] | None

Stop = Callable[[], bool]
"""Asked between values and while a reply is waited for; once it is true, the pairs that are done are all there are."""

DEADLINE_S = 10.0
OWN_DEADLINE_S = 120.0
_SEQUENCES = frozenset({"ndjson"})  # one value is no sequence: such formats have no probes here
_NO_FORMATS = frozenset({"none"})  # what does nothing writes nothing that another could read
CHANGED = frozenset({"type", "lossy"})
MOST_CHANGES = 20_000
"""Kinds of change that are asked for: more than a comparison tells apart, so that all are counted."""


def ends_of(
    format: str,
    given: Mapping[str, str] | None = None,
    languages: Sequence[str] = (),
    *,
    kind: str = "document",
) -> tuple[list[str], dict[str, str]]:
    """Codecs of a format that write and read data of a kind here, Python's first, and which languages cannot run.

    Args:
        format: Id of the format, such as ``json``.
        given: Commands of workers by name, as ``--worker`` gives them.
        languages: Languages to ask; all that are known if none is named.
        kind: ``document`` or ``table``.

    Returns:
        Ids of the codecs; and the reason of each language whose worker does not run.

    >>> ends_of("marshal", languages=["python"])
    (['marshal:stdlib'], {})
    """
    from tare import formats

    wanted = languages or ("python", *dict.fromkeys((*LANGUAGES, *(given or ()))))
    found: list[str] = []
    reasons: dict[str, str] = {}
    known = next((one for one in formats.FORMATS if one.id == format), None)
    if known is not None and "python" in wanted:
        found += [f"{format}:{one.name}" for one in known.libraries if _holds(one, kind)]
    for language in wanted:
        if language != "python":
            here = inventory(language, given or {})
            if here.reason:
                reasons[language] = here.reason
            found += [
                id
                for id, about in here.codecs.items()
                if id.partition(":")[0] == format and kind in about["kinds"]
            ]
    return found, reasons


def shared_formats(given: Mapping[str, str] | None = None, *, kind: str = "document") -> list[str]:
    """Formats of a kind of data that workers of two languages or more have here, in the order of Python's.

    Args:
        given: Commands of workers by name.
        kind: ``document`` or ``table``.
    """
    from tare import formats

    languages: dict[str, set[str]] = {one.id: set() for one in formats.FORMATS}
    for one in formats.FORMATS:
        if any(_holds(library, kind) for library in one.libraries):
            languages[one.id].add("python")
    for language in dict.fromkeys((*LANGUAGES, *(given or ()))):
        for id, about in inventory(language, given or {}).codecs.items():
            if kind in about["kinds"]:
                languages.setdefault(id.partition(":")[0], set()).add(language)
    left_out = _NO_FORMATS | (_SEQUENCES if kind == "document" else frozenset())
    return [id for id, some in languages.items() if len(some) > 1 and id not in left_out]


def _holds(library: Any, kind: str) -> bool:
    return bool(library.installed and library.writes and kind in library.native)


def exchange(  # noqa: PLR0913 - one keyword for each thing a caller may decide
    format: str,
    codecs: Sequence[str],
    *,
    given: Mapping[str, str] | None = None,
    only: Sequence[str] = (),
    own: Any = None,
    has_own: bool = False,
    only_pairs: OnlyPairs = None,
    workdir: str | Path | None = None,
    tell: Tell | None = None,
    stop: Stop | None = None,
) -> dict[str, Any]:
    """Every value written by every codec and read by every codec, as the record holds it.

    Args:
        format: Id of the format that the codecs share.
        codecs: Their ids; each is a writer and a reader.
        given: Commands of workers by name.
        only: Names of probes; all of ``values/1`` if none is named.
        own: A document of the user's.
        has_own: Whether there is one; None is a document too.
        only_pairs: Writers and readers to try; every pair of the codecs if None.
        workdir: Where files are kept until the end; None for the system's temporary files.
        tell: Told the codec that is at work.
        stop: Whether to end; a worker that is asked something then is killed.

    Returns:
        ``set``, ``codecs``, and ``pairs``: writer, reader, then ``counts`` of each outcome and
        ``values``, those that did not come back the same, each with ``outcome, in, out, error``.
        Pairs that were not tried have neither, and a ``reason``.

    Raises:
        UsageError: A codec of another format, or no such probe.
    """
    from tare.measure.fidelity.probe_values import get

    wanted = {one.name: one.tree for one in ([get(name) for name in only] or VALUES) if not one.encoded}
    folder = tempdirs.make(workdir)
    try:
        if has_own:
            from tare.tagged import to_tagged

            wanted[OWN] = to_tagged(own)
        paths = _written_values(folder, wanted)
        judged: dict[tuple[str, bytes], dict[str, Any]] = {}

        def cells(seat: Seat, name: str, written: dict[str, Any]) -> dict[str, dict[str, Any]]:
            value = own if name == OWN else _built(name)
            return {name: _cell(seat, name, written, folder / "out", value=value, judged=judged)}

        values = Values("document", wanted, lambda name, _: (paths[name], "values"), cells)
        pairs = paired(
            format, codecs, values, folder, given=given or {}, only_pairs=only_pairs, tell=tell, stop=stop
        )
    finally:
        tempdirs.remove(folder)
    return {"set": "values/1", "codecs": list(codecs), "pairs": pairs}


def summary(block: Mapping[str, Any], most: int = 3) -> list[str]:
    """What one codec writes and another reads, in words: what is lost first, and there the user's own data.

    Args:
        block: What `exchange` gave.
        most: Changes told of each pair.
    """
    lines: list[tuple[tuple[bool, bool], str]] = []
    for writer, readers in block["pairs"].items():
        for reader, pair in readers.items():
            bad = [
                (name, cell)
                for name, cell in pair["values"].items()
                if cell["outcome"] in ("changed", "error")
            ]
            # The user's own first, then what nothing said, then what can be rebuilt, then what failed aloud.
            bad.sort(key=lambda found: (not found[0].startswith(OWN), _gravity(found[1])))
            for name, cell in bad[:most]:
                rank = (_gravity(cell) > 0, not name.startswith(OWN))
                was = f" {cell['in']}" if cell["in"] else ""
                lines.append((rank, f"{writer} writes {name}{was}, {reader} {_read(cell)}"))
            if len(bad) > most:
                lines.append(((True, True), f"{writer} to {reader}: {len(bad) - most} more"))
    return [line for _, line in sorted(lines, key=lambda one: one[0])]


def _gravity(cell: Mapping[str, Any]) -> int:
    return 2 if cell["outcome"] == "error" else int(cell.get("verdict") != "lossy")


def _read(cell: Mapping[str, Any]) -> str:
    return f"reads {cell.get('out')}" if cell["outcome"] == "changed" else f"fails: {cell.get('error')}"


@dataclass(frozen=True)
class Values:
    """What is exchanged.

    Args:
        kind: ``document`` or ``table``.
        names: Of the values.
        hand: Gives a value, by name and by the language that takes it, as a file, and says what the file is.
        cells: What a reader made of a value; by name, as one of the user's may be told in parts.
    """

    kind: str
    names: Collection[str]
    hand: Callable[[str, str], tuple[Path, str]]
    cells: Callable[[Seat, str, dict[str, Any]], dict[str, dict[str, Any]]]


def paired(
    format: str,
    codecs: Sequence[str],
    values: Values,
    folder: Path,
    *,
    given: Mapping[str, str],
    only_pairs: OnlyPairs,
    tell: Tell | None,
    stop: Stop | None,
) -> dict[str, dict[str, Any]]:
    """Every value by every writer and every reader: ``pairs`` of a record.

    Args:
        format: Id of the format that the codecs share.
        codecs: Their ids; each is a writer and a reader.
        values: What is exchanged.
        folder: Where files are kept until the end.
        given: Commands of workers by name.
        only_pairs: Writers and readers to try; all if None.
        tell: Told the codec that is at work.
        stop: Whether to end.

    Raises:
        UsageError: A codec of another format.
    """
    for codec in codecs:
        if codec.partition(":")[0] != format:
            raise UsageError(f"{codec} is no codec of {format}: bytes are exchanged within one format")
    told, ends = tell or (lambda *_: None), stop or (lambda: False)
    pairs, total = untried(codecs, only_pairs), steps_of(codecs, only_pairs)
    wanted = every_pair(codecs) if only_pairs is None else only_pairs
    writers = [codec for codec in codecs if any(codec == writer for writer, _ in wanted)]
    readers = {reader: [one for one in writers if (one, reader) in wanted] for reader in codecs}
    written: dict[str, dict[str, dict[str, Any]]] = {}
    with contextlib.suppress(_Ended):
        for place, codec in enumerate(writers):
            told(f"{codec} writes", place, total)
            with Seat(codec, given, values.kind, ends) as seat:
                written[codec] = {
                    name: _written(seat, name, values, folder / f"{place}-{number}")
                    for number, name in enumerate(values.names)
                }
        done = len(writers)
        for reader in (one for one in codecs if readers[one]):
            known: dict[tuple[str, bytes], dict[str, dict[str, Any]]] = {}
            with Seat(reader, given, values.kind, ends) as seat:
                for writer in readers[reader]:
                    told(f"{reader} reads", done, total)
                    found: dict[str, dict[str, Any]] = {}
                    for name, cell in written[writer].items():
                        found |= _read_once(known, seat, name, cell, values)
                    pairs[writer][reader] = _counted(found)
                    done += 1
    return pairs


def _read_once(
    known: dict[tuple[str, bytes], dict[str, dict[str, Any]]],
    seat: Seat,
    name: str,
    written: dict[str, Any],
    values: Values,
) -> dict[str, dict[str, Any]]:
    """What a reader made of a value: bytes that it read already, as another writer's, are not read again.

    Many writers write the same, and the user's own data may be long. What ended the reader is tried
    with every writer: that may have been chance.
    """
    seat.heed()
    key = (name, written.get("digest", b""))
    if key in known:
        return known[key]
    cells = values.cells(seat, name, written)
    if key[1] and not seat.gone:
        known[key] = cells
    return cells


def every_pair(codecs: Sequence[str]) -> list[tuple[str, str]]:
    """Every codec as the writer and as the reader of every codec."""
    return [(writer, reader) for writer in codecs for reader in codecs]


def untried(codecs: Sequence[str], only_pairs: OnlyPairs = None) -> dict[str, dict[str, Any]]:
    """``pairs`` of a record before any was tried; those that are not to be are left out.

    >>> untried(["rds:r"])
    {'rds:r': {'rds:r': {'counts': {}, 'values': {}, 'reason': 'not tried: interrupted'}}}
    """
    return {
        writer: {
            reader: {
                "counts": {},
                "values": {},
                "reason": NOT_TRIED if only_pairs is None or (writer, reader) in only_pairs else NOT_NAMED,
            }
            for reader in codecs
        }
        for writer in codecs
    }


def steps_of(codecs: Sequence[str], only_pairs: OnlyPairs = None) -> int:
    """Steps of an exchange: each codec writes, and reads what each wrote; of some pairs, those.

    >>> steps_of(["json:a", "json:b"]), steps_of(["json:a", "json:b"], [("json:a", "json:b")])
    (6, 2)
    """
    pairs = every_pair(codecs) if only_pairs is None else only_pairs
    return len({writer for writer, _ in pairs}) + len(pairs)


def _built(name: str) -> Any:
    from tare.measure.fidelity.probe_values import value

    try:
        return value(name)
    except TareError:
        return None


def _written_values(folder: Path, values: Mapping[str, Any]) -> dict[str, Path]:
    paths = {}
    for place, (name, tree) in enumerate(values.items()):
        paths[name] = folder / f"value-{place}.json"
        paths[name].write_text(json.dumps(tree, allow_nan=False), encoding="utf-8")
    return paths


class _Ended(Exception):
    """Whoever asked for the exchange wants no more of it."""


class Seat:
    """A worker of one codec, started again whenever a value ended it."""

    def __init__(self, codec: str, given: Mapping[str, str], kind: str, stop: Stop) -> None:
        self.codec, self.given, self.kind, self.stop = codec, given, kind, stop
        self.worker: Worker | None = None
        self.ready = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.worker is not None and self.stop():
            self.worker.kill()
        elif self.worker is not None:
            self.worker.close()

    def heed(self) -> None:
        """Leave at once if that was asked for."""
        if self.stop():
            raise _Ended

    @property
    def gone(self) -> bool:
        """Whether its process ended: it crashed, or took too long, which is no refusal."""
        return self.worker is None or not self.worker.alive

    def ask(self, op: str, deadline_s: float, **fields: Any) -> dict[str, Any]:
        self.heed()
        if self.worker is None or not self.worker.alive:
            from tare.measure.worker_client.client import Worker

            if self.worker is not None:
                self.worker.close()
            language = language_of(self.codec, self.given)
            command = command_of(language, self.given) if language else None
            self.worker = Worker(language or "python", command, lists=False, stop=self.stop)
            self.ready = False
        try:
            return self.worker.request(op, deadline_s=deadline_s, **fields)
        except WorkerError:
            self.heed()  # that is why it was killed, and says nothing of the value
            raise

    def decode(self, path: Path, out: Path, deadline_s: float, *, parts: bool = False) -> None:
        if self.worker is None or not self.worker.alive or not self.ready:
            told = {"kind": "table"} if self.kind == "table" else {}  # documents are what is usual
            self.ask("prepare", DEADLINE_S, codec=self.codec, encoded=str(path), cold=False, **told)
            self.ready = True
        by_column = {"parts": True} if parts else {}
        self.ask("decode_from", deadline_s, codec=self.codec, path=str(path), out=str(out), **by_column)


def _written(seat: Seat, name: str, values: Values, out: Path) -> dict[str, Any]:
    """Where the bytes of a value are, or why there are none."""
    deadline_s = OWN_DEADLINE_S if name == OWN else DEADLINE_S
    try:
        path, what = values.hand(name, language_of(seat.codec, seat.given))
        seat.ask("load", deadline_s, path=str(path), kind=seat.kind, **{"as": what})
    except TareError as error:
        # The language, or the type of this value in it, has no such thing; or the process is gone.
        return {"outcome": "error" if seat.gone else "n/a", "error": reason_of(error)}
    try:
        seat.ask("prepare", deadline_s, codec=seat.codec, cold=False)
        seat.ask("encode_to", deadline_s, codec=seat.codec, path=str(out))
    except TareError as error:
        return {"outcome": "error" if seat.gone else "refused", "error": reason_of(error)}
    return {"path": out, "digest": digest_of(out)}


def digest_of(path: Path) -> bytes:
    """What tells the bytes of a file from others; nothing if the worker wrote none, which its readers will say.

    Raises:
        OSError: The file is there and cannot be read.
    """
    return hashlib.blake2b(path.read_bytes()).digest() if path.is_file() else b""


def _cell(
    seat: Seat,
    name: str,
    written: dict[str, Any],
    out: Path,
    *,
    value: Any,
    judged: dict[tuple[str, bytes], dict[str, Any]],
) -> dict[str, Any]:
    """What the reader made of one value that was written; `judged` has what readers handed back before."""
    from tare.fidelity.comparison import show
    from tare.tagged import from_tagged

    kept = name == OWN
    shown = "" if kept else show(value["v"]) if isinstance(value, dict) else ""
    if "path" not in written:
        return {**written, "in": shown}
    out.unlink(missing_ok=True)
    try:
        seat.decode(written["path"], out, OWN_DEADLINE_S if kept else DEADLINE_S)
        key = (name, digest_of(out))
        if key in judged:
            return judged[key]
        tree = json.loads(out.read_bytes())
        seat.heed()
        back = from_tagged(tree)
    except (TareError, OSError, ValueError, RecursionError) as error:
        return {"outcome": "error", "in": shown, "error": reason_of(error)}
    seat.heed()
    judged[key] = _judged(value, back, shown, kept=kept)
    return judged[key]


def _judged(value: Any, back: Any, shown: str, *, kept: bool) -> dict[str, Any]:
    from tare.fidelity.comparison import show
    from tare.measure.fidelity.run_probes import compare

    found = compare(value, back, kind="document", limit=MOST_CHANGES)
    if found.verdict not in CHANGED:
        return {"outcome": "same"}
    first, count = gravest(found) if found.changes else (None, 0)
    whole = not kept and isinstance(back, dict) and list(back) == ["v"]
    return {
        "outcome": "changed",
        "verdict": found.verdict,
        "in": first.in_ if first is not None and kept else shown,
        "out": show(back["v"]) if whole else first.out if first is not None and kept else show(back),
        **({"at": first.at or first.path, "count": count} if first is not None and kept else {}),
    }


def gravest(found: Comparison) -> tuple[Change, int]:
    """The first change of the gravest verdict, and how often that verdict was given in all.

    Args:
        found: A comparison with all its changes (`MOST_CHANGES`), the gravest first.
    """
    first = found.changes[0]
    return first, sum(change.count for change in found.changes if change.verdict == first.verdict)


def _counted(cells: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    counts = Counter(cell["outcome"] for cell in cells.values())
    return {
        "counts": {name: counts[name] for name in OUTCOMES if counts[name]},
        "values": {
            name: cell
            for name, cell in cells.items()
            if cell["outcome"] not in ("same", "n/a") or (cell["outcome"] == "n/a" and name.startswith(OWN))
        },
    }


def reason_of(error: BaseException) -> str:
    prefix = f"{error.type}: " if isinstance(error, WorkerError) else f"{type(error).__name__}: "
    return (prefix + " ".join(str(error).split()))[:200]
