"""Exchange: after all figures, what the codecs of each shared format read of each other's bytes."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tare.measure.session import Session

__all__ = ["measure_exchange"]

_OWN_BYTES = 16 << 20


def measure_exchange(session: Session) -> None:
    """Fill in ``fidelity.exchange``: the probes, and the user's data or a part of it.

    A document is exchanged with the probes of documents, a table with those of columns.

    Args:
        session: The run; ``--codec`` chooses the formats and among Python's codecs, ``--not`` among all.
    """
    from tare.measure.exchange import ends_of, exchange, shared_formats
    from tare.measure.exchange_tables import exchange_tables, table_block

    dataset, given = session.dataset, session.settings.workers
    document = dataset.kind == "document"
    share = min(1.0, _OWN_BYTES / max(1, dataset.bytes_memory))
    own = dataset.value if share == 1.0 else dataset.subset(share).value
    found = session.record["fidelity"].setdefault("exchange", {})
    for format in shared_formats(given) if document else []:
        codecs = _asked(session, ends_of(format, given)[0])
        if session.stop_asked or len(codecs) < 2:
            continue
        found[format] = _kept(exchange, format, codecs, share, given=given, own=own, has_own=True)
        session.tell("exchange", len(found), len(found), format)
    for format in [] if document else shared_formats(given, kind="table"):
        codecs = _asked(session, ends_of(format, given, kind="table")[0])
        if session.stop_asked or len(codecs) < 2:
            continue
        found[table_block(format, found)] = _kept(
            exchange_tables, format, codecs, share, given=given, own=own
        )
        session.tell("exchange", len(found), len(found), f"{format} tables")
    if session.journal is not None:
        session.journal.stage("fidelity", session.record["fidelity"])


def _kept(
    how: Callable[..., dict[str, Any]], format: str, codecs: list[str], share: float, **options: Any
) -> dict[str, Any]:
    """The exchange of a format, or why there is none: all figures are there by now, and must not go with it."""
    from tare.measure.exchange import reason_of

    try:
        block = how(format, codecs, **options)
    except Exception as error:  # whatever the user's data or a program of others did
        return {"codecs": codecs, "pairs": {}, "reason": f"nothing was exchanged: {reason_of(error)}"}
    return {**block, "own_share": None if block.get("reason") else share}


def _asked(session: Session, codecs: list[str]) -> list[str]:
    """The codecs that the options leave: of the formats that ``--codec`` names; of Python's those that it names, if any."""
    from tare.measure.foreign import language_of

    chosen, workers = session.settings.codecs, session.settings.workers
    left = [one for one in codecs if not _named(one, session.settings.exclude)]
    if chosen is None:
        return left
    if not any(_named(one, chosen) for one in left):
        return []
    ours = [one for one in left if not language_of(one, workers)]
    named = [one for one in ours if _named(one, chosen)]
    return [one for one in left if one not in ours or one in (named or ours)]


def _named(codec: str, patterns: tuple[str, ...]) -> bool:
    """Whether a codec is one of the ids, without their options and compressors, or of a format named."""
    plain = [one.partition("+")[0].partition(",")[0] for one in patterns]
    return any(fnmatchcase(codec, one) or codec.partition(":")[0] == one for one in plain)
