"""What a plan asks that no run of its experiment did: codecs that were never measured over some of its media."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from experiment_pages.figures import percent
from experiment_pages.method import reached

__all__ = ["unasked"]

_MEDIA = ("memory", "conn", "file", "store", "fifo", "unix", "tcp", "link", "remote")
_NAMED = 3


def unasked(study: Mapping[str, Any], results: Mapping[str, Any]) -> Iterator[str]:
    """Sentences, one for each set of media that some codecs of the plan were never tried over.

    A case that could not be measured was tried, and says why; a run that leaves codecs out says nothing of them.

    Args:
        study: What the study's file says.
        results: The Result of each run, by its name.
    """
    from tare.measure.plan.plan import Plan

    if "plan" not in study or study.get("reduced"):
        return
    planned = _pairs(Plan.named(study["plan"]).cases())
    tried = {pair for result in results.values() for pair in _pairs(result.cases)}
    by_media: dict[tuple[str, ...], list[str]] = {}
    for codec in sorted({codec for codec, _ in planned}):
        media = tuple(medium for medium in _MEDIA if (codec, medium) in planned - tried)
        if media:
            by_media.setdefault(media, []).append(codec)
    for media, codecs in by_media.items():
        others = sorted({codec for codec, _ in planned} - set(codecs))
        have = "has" if len(codecs) == 1 else "have"
        yield f"{_called(codecs, others)} {have} never been measured over {_listed(media, 'or')}{_only(codecs, results)}."
    done = {medium for result in results.values() for _, medium in _pairs(result.cases, measured=True)}
    if never := [
        medium for medium in _MEDIA if medium not in done and any(medium == one for _, one in planned)
    ]:
        yield f"Of no codec is there a time over {_listed(tuple(never), 'or')}."


def _pairs(cases: Any, *, measured: bool = False) -> set[tuple[str, str]]:
    """Codec and medium of the cases of a plan or of a record."""
    found = set()
    for case in cases:
        labels = case["labels"] if isinstance(case, Mapping) else case.labels
        if not measured or case.get("launches"):
            found.add((labels["codec"], labels.get("medium", "memory")))
    return found


def _called(codecs: list[str], others: list[str]) -> str:
    """The codecs by what they have in common, or by their names."""
    from tare.measure.worker_client.languages import language_of

    if (
        others
        and all(language_of(one, ()) == "r" for one in others)
        and not any(language_of(one, ()) == "r" for one in codecs)
    ):
        return f"The plan's {len(codecs)} codecs that are not R's"
    names = ", ".join(f"`{codec}`" for codec in codecs[:_NAMED])
    more = f" and {len(codecs) - _NAMED} more" if len(codecs) > _NAMED else ""
    return f"The plan's {'codec' if len(codecs) == 1 else 'codecs'} {names}{more}"


def _only(codecs: list[str], results: Mapping[str, Any]) -> str:
    """Over what these were measured instead, in which run, and how much of the data it reached."""
    said = []
    for name, result in results.items():
        own = {medium for codec, medium in _pairs(result.cases, measured=True) if codec in codecs}
        if own:
            run = [f"run `{name}`"] if name else []
            share = reached(result)
            run += [f"{percent(share)} of the data reached"] if share else []
            media = _listed(tuple(medium for medium in _MEDIA if medium in own), "and")
            said.append(f"over {media}" + (f" ({', '.join(run)})" if run else ""))
    return f": only {'; '.join(said)}" if said else ""


def _listed(names: tuple[str, ...], last: str) -> str:
    """Names in a sentence.

    >>> _listed(("fifo", "tcp", "link"), "or")
    'fifo, tcp or link'
    """
    return f" {last} ".join(filter(None, (", ".join(names[:-1]), names[-1])))
