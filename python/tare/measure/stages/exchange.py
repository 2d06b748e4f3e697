"""Exchange: after all figures, what the codecs of each shared format read of each other's bytes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any

from tare.measure.session import Stopped

if TYPE_CHECKING:
    from tare.measure.session import Session
    from tare.measure.settings import Settings

__all__ = ["measure_exchange"]

_OWN_BYTES = 16 << 20
_NOTHING = "nothing was exchanged"


@dataclass(frozen=True)
class _Due:
    """A format to exchange: its name in the record, its codecs, the call, and its pairs by when they come."""

    block: str
    codecs: list[str]
    call: Callable[..., dict[str, Any]]
    rounds: list[list[tuple[str, str]]]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """All that are tried."""
        return [pair for some in self.rounds for pair in some]


def measure_exchange(session: Session) -> None:
    """Fill in ``fidelity.exchange``: the probes, and the user's data or a part of it.

    A document is exchanged with the probes of documents, a table with those of columns. Pairs of two codecs that
    ``--codec`` names come first, of every format, then those of one such codec; others are left out. All that is
    to be tried is in the record before the first of it is, so that a run that is stopped says what was not.

    Args:
        session: The run; ``--codec`` chooses the formats and among Python's codecs, ``--not`` leaves out of any language.

    Raises:
        Stopped: The user asked to stop; what was tried until then is kept.
    """
    from tare.measure.exchange.documents import steps_of, untried
    from tare.measure.worker_client.languages import LANGUAGES, inventories

    given = session.settings.workers
    # What each says it has is remembered; one may build its worker first, and a stop is heeded meanwhile.
    inventories(dict.fromkeys((*LANGUAGES, *given)), given, session.check)
    share = min(1.0, _OWN_BYTES / max(1, session.dataset.bytes_memory))
    found = session.record["fidelity"].setdefault("exchange", {})
    due = _due(session, share)
    found.update({one.block: {"codecs": one.codecs, "pairs": untried(one.codecs, one.pairs)} for one in due})
    turns = [(one, some) for at in range(2) for one in due for some in one.rounds[at : at + 1] if some]
    total = sum(steps_of(one.codecs, some) for one, some in turns)
    pairs = sum(len(some) for _, some in turns)
    began_s, done = session.elapsed_s, 0
    names = ", ".join(one.block for one in due) or "no format of two codecs"
    session.tell(
        "exchange", 0, total, f"{pairs} pairs of {names}; not part of --time, Ctrl-C keeps what is done"
    )
    for one, some in turns:
        tell = partial(_told, session, done, total)
        _merge(found[one.block], _kept(one, some, share, tell=tell, stop=lambda: session.stop_asked), some)
        done += steps_of(one.codecs, some)
        if session.journal is not None:
            session.journal.stage("fidelity", session.record["fidelity"])
        session.check()
    session.tell("exchange", total, total, f"{pairs} pairs in {session.elapsed_s - began_s:.0f} s")


def _told(session: Session, before: int, total: int, line: str, done: int, _: int) -> None:
    with contextlib.suppress(Stopped):  # the exchange asks for itself, and keeps what is there
        session.tell("exchange", before + done, total, line)


def _due(session: Session, share: float) -> list[_Due]:
    """What is to be exchanged, format by format, with the user's data or this share of it."""
    from tare.measure.exchange.documents import ends_of, exchange, shared_formats
    from tare.measure.exchange.tables import exchange_tables, table_block

    dataset, given = session.dataset, session.settings.workers
    own = dataset.value if share == 1.0 else dataset.subset(share).value
    how: Callable[..., dict[str, Any]] = (
        partial(exchange, has_own=True) if dataset.kind == "document" else exchange_tables
    )
    due: dict[str, _Due] = {}
    for format in shared_formats(given, kind=dataset.kind):
        codecs = _asked(session.settings, ends_of(format, given, kind=dataset.kind)[0])
        if len(codecs) > 1:
            block = format if dataset.kind == "document" else table_block(format, due)
            codecs, rounds = _rounds(session.settings, codecs)
            due[block] = _Due(block, codecs, partial(how, format, codecs, given=given, own=own), rounds)
    return list(due.values())


def _rounds(settings: Settings, codecs: list[str]) -> tuple[list[str], list[list[tuple[str, str]]]]:
    """The codecs, those that ``--codec`` names first; and their pairs: both named, then one of them; all if none is."""
    from tare.measure.exchange.documents import every_pair

    if settings.codecs is None:
        return codecs, [every_pair(codecs)]
    chosen = _chosen(settings.codecs)
    named = [one for one in codecs if _named(one, chosen)]
    codecs = named + [one for one in codecs if one not in named]
    both = every_pair(named)
    return codecs, [both, [pair for pair in every_pair(codecs) if (pair[0] in named) != (pair[1] in named)]]


def _merge(found: dict[str, Any], made: dict[str, Any], pairs: list[tuple[str, str]]) -> None:
    """Put the pairs of one turn into the record's block; of a turn that failed, that they were not tried.

    A block says why nothing was exchanged only if every turn failed.
    """
    failed_before = str(found.get("reason") or "").startswith(_NOTHING)
    if not str(made.get("reason") or "").startswith(_NOTHING):
        if failed_before:
            del found["reason"]
        found.update({name: value for name, value in made.items() if name != "pairs"})
    elif failed_before or "own_share" not in found:
        found["reason"] = made["reason"]
    for writer, reader in pairs:
        failed = {"counts": {}, "values": {}, "reason": "not tried: the exchange failed"}
        found["pairs"][writer][reader] = made["pairs"].get(writer, {}).get(reader, failed)


def _kept(
    one: _Due,
    pairs: list[tuple[str, str]],
    share: float,
    *,
    tell: Callable[..., None],
    stop: Callable[[], bool],
) -> dict[str, Any]:
    """The exchange of some pairs of a format, or why there is none: all figures are there by now, and must not go with it."""
    from tare.measure.exchange.documents import reason_of

    try:
        block = one.call(only_pairs=pairs, tell=tell, stop=stop)
    except Exception as error:  # whatever the user's data or a program of others did
        return {"codecs": one.codecs, "pairs": {}, "reason": f"{_NOTHING}: {reason_of(error)}"}
    return {**block, "own_share": None if _no_own(block) else share}


def _no_own(block: dict[str, Any]) -> bool:
    """Whether nothing of the user's data was exchanged; a column that was not leaves the others there."""
    from tare.measure.exchange.tables import NOT_OWN

    return str(block.get("reason") or "").startswith(NOT_OWN)


def _asked(settings: Settings, codecs: list[str]) -> list[str]:
    """The codecs that the options leave: of the formats that ``--codec`` names; of Python's those that it names, if any.

    Bytes are exchanged without options and compressors: a variant that ``--codec`` names is its plain codec here, and
    one that ``--not`` names is none of these.
    """
    from tare.measure.worker_client.languages import language_of

    plain = [one for one in settings.exclude if "," not in one and "+" not in one]
    left = [one for one in codecs if not _named(one, plain)]
    if settings.codecs is None:
        return left
    chosen = _chosen(settings.codecs)
    if not any(_named(one, chosen) for one in left):
        return []
    ours = [one for one in left if not language_of(one, settings.workers)]
    named = [one for one in ours if _named(one, chosen)]
    return [one for one in left if one not in ours or one in (named or ours)]


def _chosen(codecs: Sequence[str]) -> list[str]:
    """Ids without options and compressors."""
    return [one.partition("+")[0].partition(",")[0] for one in codecs]


def _named(codec: str, patterns: list[str]) -> bool:
    """Whether a codec is one of the ids, or of a format named."""
    return any(fnmatchcase(codec, one) or codec.partition(":")[0] == one for one in patterns)
