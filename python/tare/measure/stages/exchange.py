"""Exchange: after all figures, what the codecs of each shared format read of each other's bytes."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tare.measure.session import Session

__all__ = ["measure_exchange"]

_OWN_BYTES = 16 << 20


def measure_exchange(session: Session) -> None:
    """Fill in ``fidelity.exchange``: the probes, and a document of the user's or a part of it.

    Args:
        session: The run; ``--codec`` and ``--not`` choose among Python's codecs.
    """
    from tare.measure.exchange import ends_of, exchange, shared_formats
    from tare.measure.foreign import language_of

    settings, dataset = session.settings, session.dataset
    given, chosen = settings.workers, settings.codecs
    document = dataset.kind == "document"
    share = min(1.0, _OWN_BYTES / max(1, dataset.bytes_memory))
    own = (dataset.value if share == 1.0 else dataset.subset(share).value) if document else None
    found = session.record["fidelity"].setdefault("exchange", {})
    for format in shared_formats(given):
        codecs = [
            one
            for one in ends_of(format, given)[0]
            if not _named(one, settings.exclude)
            and (chosen is None or language_of(one, given) or _named(one, chosen))
        ]
        if session.stop_asked or len(codecs) < 2:
            continue
        found[format] = exchange(format, codecs, given=given, own=own, has_own=document)
        found[format]["own_share"] = share if document else None
        session.tell("exchange", len(found), len(found), format)
    if session.journal is not None:
        session.journal.stage("fidelity", session.record["fidelity"])


def _named(codec: str, patterns: tuple[str, ...]) -> bool:
    """Whether a codec is one of the ids, without their options and compressors, or of a format named."""
    plain = [one.partition("+")[0].partition(",")[0] for one in patterns]
    return any(fnmatchcase(codec, one) or codec.partition(":")[0] == one for one in plain)
