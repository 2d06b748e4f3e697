"""Why a combination of levels cannot be measured here: a row with a reason, never a hole."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, cast

from tare.errors import UsageError
from tare.measure.cases import ONE_END, STREAMS
from tare.measure.plan.datasets import dataset_kind
from tare.measure.plan.reader import is_level
from tare.measure.plan.subsets import refusal
from tare.measure.verdict.constraints import readable_in
from tare.measure.worker_client.languages import (
    Foreign,
    Inventory,
    found_here,
    inventories,
    inventory,
    language_of,
    languages_begun,
    name_of,
)

if TYPE_CHECKING:
    from tare.codec import Codec
    from tare.dataset import Dataset
    from tare.measure.settings import Settings

__all__ = [
    "asked_for",
    "canonical",
    "check_id",
    "left_after",
    "not_on",
    "others",
    "supports",
    "tried",
    "usual_medium",
]


Ask = Callable[[Iterable[str]], list[Inventory]]
_NONE: Mapping[str, str] = MappingProxyType({})
_LATER = ("rds", "rdata", "dput", "fst", "qs", "qs2", "qdata")


class Given(Protocol):
    """What the command line gave, as far as it decides what can be measured."""

    @property
    def remote(self) -> str | None:
        """Address of a remote host."""

    @property
    def link(self) -> str | None:
        """Rate and round trip of an emulated link."""

    @property
    def workers(self) -> Mapping[str, str]:
        """Commands of further workers, by name."""


def supports(labels: Mapping[str, str], settings: Given | None = None) -> str | None:
    """Why the combination of these labels cannot be measured here; None if it can.

    Args:
        labels: Level of each factor.
        settings: What the command line gave: a remote host, a link, further workers.

    >>> supports({"codec": "json:stdlib", "medium": "conn"})
    "a connection in R's memory: only the R worker has it"
    >>> supports({"codec": "json:stdlib", "medium": "memory"}) is None
    True
    """
    given = settings.workers if settings is not None else _NONE
    language = language_of(labels["codec"], given)
    if language:
        found = inventory(language, given)
        kind = dataset_kind(labels.get("dataset", ""))
        return Foreign(labels["codec"], found).refusal(labels, kind)
    return _codec(labels) or _medium(labels.get("medium", "memory"), settings) or _parts(labels)


def canonical(codec: str) -> str:
    """The id as the registry prints it; as it is when the registry does not know it.

    >>> canonical("json:orjson,default=refuse"), canonical("rds:r,version=2")
    ('json:orjson', 'rds:r,version=2')
    """
    from tare.codec import Codec

    try:
        return str(Codec.parse(codec))
    except UsageError:
        return codec


def asked_for(
    wanted: Iterable[str],
    installed: Sequence[Codec],
    settings: Settings | None = None,
    kind: str | None = None,
    check: Callable[[], None] = lambda: None,
) -> tuple[list[Codec], list[str]]:
    """The codecs that ``--codec`` means.

    Args:
        wanted: Ids; each names one codec, and what it leaves out is at its default. One that ends
            in ``*`` stands for every codec whose id begins so: of Python's those that are tried by
            default, and those that the workers of other languages have here.
        installed: What is tried by default.
        settings: What the command line gave: media, and commands of further workers.
        kind: Kind of the data; None if it is not known.
        check: Called while workers are asked what they have; what it raises ends them.

    Returns:
        The codecs; and what a ``*`` would have meant too and why it was left out, a line a reason.

    Raises:
        UsageError: There is no such codec, or the worker of its language cannot measure it.
        MissingLibrary: Its library is not installed.

    >>> from tare.codec import candidates
    >>> found, left_out = asked_for(["pickle", "json:std*"], candidates("document", languages=None))
    >>> [str(codec) for codec in found], left_out
    (['pickle', 'json:stdlib'], [])
    """
    from tare.codec import Codec

    found: dict[Codec, None] = {}
    left_out: dict[str, None] = {}
    given = settings.workers if settings is not None else _NONE
    media = _media(settings, kind)
    for text in wanted:
        if text.endswith("*"):
            here = inventories(languages_begun(text, given), given, check)
            several, reasons = _begun(text, installed, here, media, kind)
            found |= dict.fromkeys(several)
            left_out |= dict.fromkeys(reasons)
        elif language := language_of(text, given):
            foreign = Foreign(text, *inventories([language], given, check))
            if reason := _unable(foreign, media, kind):
                raise UsageError(f"{text[:80]}: {reason}")
            found[cast("Codec", foreign.printed())] = None
        else:
            codec = Codec.parse(text)
            codec.require()
            found[codec] = None
    return list(found), list(left_out)


@dataclass(frozen=True)
class _Media:
    """What a run measures on: where everything is screened, and what was asked for."""

    screened: str
    asked: tuple[str, ...]


def _media(settings: Settings | None, kind: str | None) -> _Media:
    usual = usual_medium(settings, kind)
    asked = (settings.media if settings is not None else None) or (usual,)
    return _Media(next((one for one in asked if one in ONE_END), usual), asked)


def usual_medium(settings: Settings | None, kind: str | None) -> str:
    """Returns the medium of a run that names none: ``memory``; ``file`` for tables where other languages' codecs are asked for.

    A file's bytes cost the same whatever the codec, so the rate of a warm file is measured once and added: files written
    by each codec differ by what the disk does meanwhile. Of R's codecs of tables most read and write files alone.

    Args:
        settings: What the command line gave; None for nothing.
        kind: ``table`` or ``document``; None if it is not known yet.

    >>> from tare.measure.settings import Settings
    >>> usual_medium(Settings(), "table"), usual_medium(Settings(codecs=("fst:r",)), "table")
    ('memory', 'file')
    """
    if kind != "table" or settings is None:
        return "memory"
    given = settings.workers
    others = (
        languages_begun(text, given) if text.endswith("*") else language_of(text, given)
        for text in settings.codecs or ()
    )
    return "file" if any(others) else "memory"


def _unable(foreign: Foreign, media: _Media, kind: str | None) -> str | None:
    """Why a run cannot have a codec; None if it can, on one of its media at least: on others its rows say why not."""
    if reason := foreign.refusal({"medium": media.screened}, kind):
        return reason
    reasons = [foreign.refusal({"medium": medium}, kind) for medium in media.asked]
    return reasons[0] if all(reasons) else None


def not_on(codec: Codec, medium: str) -> str | None:
    """Why a codec that is tried has no figures on a medium; None if it has: what Python's codecs cannot, their rows say.

    Args:
        codec: One of `asked_for`.
        medium: The medium.

    >>> here = Inventory("r", codecs={"json:r": {"kinds": ["document"], "media": ["memory"]}})
    >>> not_on(Foreign("json:r", here), "memory"), not_on(Foreign("json:r", here), "unix")
    (None, 'json:r is not measured on unix by the R worker')
    """
    stand_in: object = codec
    return stand_in.refusal({"medium": medium}, None) if isinstance(stand_in, Foreign) else None


def _begun(
    pattern: str,
    installed: Sequence[Codec],
    here: Sequence[Inventory],
    media: _Media,
    kind: str | None,
) -> tuple[list[Codec], list[str]]:
    """Every codec whose id begins so, and what was left out and why.

    Raises:
        UsageError: There is none; what would have to be installed is named.
    """
    able, left_out = _of_languages(pattern, here, media, kind)
    found = [*(codec for codec in installed if is_level(pattern, str(codec))), *able]
    if not found:
        why = left_out or [f"{id} is not installed: {line}" for id, line in _lacking(pattern, here, kind)]
        why += [one.reason for one in here if one.reason]
        raise UsageError(
            f"no codec that can be tried for this data begins with {pattern[:-1][:80]!r}"
            + "".join(f"; {reason}" for reason in why)
        )
    absent = [name_of(one.language) for one in here if one.absent]
    if absent and _may_have(pattern, here):
        left_out.append(f"codecs of {_in_words(absent)} (not installed: see tare codecs --language NAME)")
    left_out += [
        f"codecs of {name_of(one.language)} ({one.reason})" for one in here if one.reason and not one.absent
    ]
    return found, left_out


def _may_have(pattern: str, here: Sequence[Inventory]) -> bool:
    """Whether those that are not installed may have such codecs: nobody but they could say, so others must be like them.

    They may if the library is named, if a language that runs has one, or if none runs.
    """
    if pattern[:-1].partition(":")[2]:
        return True
    return all(one.reason for one in here) or _known(pattern, here)


def _of_languages(
    pattern: str, here: Iterable[Inventory], media: _Media, kind: str | None
) -> tuple[list[Codec], list[str]]:
    """The codecs of other languages whose ids begin so, and those that cannot hold the data and why."""
    found: list[Codec] = []
    refused: dict[str, list[str]] = {}
    for one in here:
        for id in one.codecs:
            # What does nothing is a yardstick, and no contestant unless it is named.
            if not is_level(pattern, id) or (id.startswith("none:") and not pattern.startswith("none")):
                continue
            foreign = Foreign(id, one)
            if reason := _unable(foreign, media, kind):
                refused.setdefault(reason.removeprefix(f"{id} "), []).append(id)
            else:
                found.append(cast("Codec", foreign))
    return found, [f"{', '.join(ids)} ({reason})" for reason, ids in refused.items()]


def _lacking(pattern: str, here: Iterable[Inventory], kind: str | None) -> Iterator[tuple[str, str]]:
    """Codecs that begin so and are not installed, with the lines that install them."""
    from tare import formats

    for format in formats.FORMATS:
        for library in format.libraries:
            id = f"{format.id}:{library.name}"
            if is_level(pattern, id) and not library.installed and (kind is None or kind in library.native):
                yield id, library.install_line
    for one in here:
        yield from ((id, line) for id, line in one.missing.items() if is_level(pattern, id))


def others(given: Collection[str] = (), kind: str = "") -> str:
    """What a run that names no codec leaves unsaid: the languages found here whose codecs it does not try.

    Empty if there are none. No process is started for it.

    Args:
        given: Names of further workers, which the run was given commands of.
        kind: ``table`` or ``document``, for a format that holds such data; both have one by default.
    """
    languages = found_here(given)
    if not languages:
        return ""
    formats = {"table": "'parquet:*'", "document": "'json:*'"}.get(kind, "'json:*' or 'parquet:*'")
    return (
        f"codecs of {_in_words(list(map(name_of, languages)))} can be measured too: "
        f"--codec {formats} for all of a format, --codec '*' for all"
    )


def _in_words(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def tried(
    settings: Settings, dataset: Dataset, check: Callable[[], None] = lambda: None
) -> tuple[list[Codec], list[str]]:
    """The codecs that a run of data tries, but for its base, and what a ``*`` left out and why.

    Args:
        settings: What was asked for.
        dataset: The data.
        check: Called while workers of other languages are asked what they have; what it raises ends them.

    Raises:
        UsageError: A codec that was asked for, or was not wanted, does not exist or cannot be measured.
        MissingLibrary: The library of a codec that was asked for is not installed.
    """
    from tare.codec import candidates

    sequence = dataset.kind == "document" and isinstance(dataset.value, list)
    found = candidates(
        dataset.kind,
        sequence=sequence,
        source_format=dataset.stored_as,
        languages=None if settings.all_codecs or settings.codecs else readable_in(settings.must),
    )
    left_out: list[str] = []
    if settings.codecs:
        found, left_out = asked_for(settings.codecs, found, settings, dataset.kind, check)
    return left_after(settings.exclude, found, settings.workers, check), left_out


def left_after(
    unwanted: Iterable[str],
    found: Sequence[Codec],
    given: Mapping[str, str] = _NONE,
    check: Callable[[], None] = lambda: None,
) -> list[Codec]:
    """The codecs that ``--not`` leaves.

    Args:
        unwanted: Ids of codecs, of libraries as ``json:orjson`` with all their options, or of
            formats; names of libraries and compressors alone, as ``duckdb``; one that ends in ``*`` stands for every
            codec whose id begins so.
        found: What would be tried.
        given: Commands of further workers, by name.
        check: Called while workers are asked what they have; what it raises ends them.

    Raises:
        UsageError: There is no such codec, library or format: a mistyped one would leave nothing out.

    >>> from tare.codec import Codec
    >>> left = left_after(["json", "pickle:stdlib"], [Codec.parse("json:orjson"), Codec.parse("csv:stdlib")])
    >>> [str(codec) for codec in left]
    ['csv:stdlib']
    >>> left_after(["orjson"], [Codec.parse("json:orjson"), Codec.parse("ndjson:orjson")])
    []
    """
    out: set[Codec] = set()
    for text in unwanted:
        several = [
            codec
            for codec in found
            if _printed(text, codec)
            in (str(codec), codec.format.id, f"{codec.format.id}:{codec.library.name}")
            or text.lower() in (codec.library.name.lower(), codec.compressor)
            or (text.endswith("*") and is_level(text, str(codec)))
        ]
        if not several:
            # One that exists and is not tried for this data is left out already.
            check_id(text, given, partial(inventories, given=given, check=check))
        out.update(several)
    return [codec for codec in found if codec not in out]


def _printed(text: str, codec: Codec) -> str:
    """The id as it is printed, if it is one of the language of this codec."""
    stand_in: object = codec
    return str(Foreign(text, stand_in.found).printed()) if isinstance(stand_in, Foreign) else text


def check_id(text: str, given: Mapping[str, str] = _NONE, ask: Ask | None = None) -> None:
    """Refuse an id that no codec has, and with a ``*`` what no id begins with.

    Args:
        text: The id, or that of a format; or how ids begin, and ``*``.
        given: Commands of further workers, by name.
        ask: Asks languages what they have. Without it they may have all that they can: of other hosts nobody knows.

    Raises:
        UsageError: There is no such codec, library or format, or none that begins so.
    """
    from tare.codec import Codec
    from tare.codec.ids import may_follow

    head, star, rest = text.removesuffix("*"), text.endswith("*"), ""
    if star:
        options = max(head.rfind(","), head.rfind("+"))
        if options < 0:
            _check_begun(text, given, ask)
            return
        head, rest = head[:options], head[options:]  # it begins an option or a compressor of this one
    if language := language_of(head, given):
        if ask is None and star:
            raise _none_begins(text)  # what a host lists are ids without options
        [here] = ask([language]) if ask is not None else [Inventory(language, reason="not asked")]
        if not here.reason:
            _check_foreign(head, rest, here)
        return
    try:
        codec = Codec.parse(head)
    except UsageError:
        if ask is None or star or not head or set(head) & set(":,+") or not _has_format(head, given, ask):
            raise
        return
    if star and not may_follow(codec, rest):
        raise _none_begins(text)


def _check_foreign(head: str, rest: str, here: Inventory) -> None:
    """Refuse an id that a worker has not, or what it cannot go on with.

    Raises:
        UsageError: There is no such codec, or none that begins so.
    """
    foreign = Foreign(head, here)
    if fault := foreign.fault() or (rest.startswith("+") and Foreign(head + rest, here).fault()):
        raise UsageError(fault)
    if not foreign.may_follow(rest):
        raise _none_begins(f"{head}{rest}*")


def _check_begun(pattern: str, given: Mapping[str, str], ask: Ask | None) -> None:
    """Refuse what no id begins with; a language that does not run may have what is named as its own.

    Raises:
        UsageError: No id begins so.
    """
    from tare import formats
    from tare.codec import Codec

    ours = (Codec(format.id, library.name) for format in formats.FORMATS for library in format.libraries)
    if any(is_level(pattern, str(codec)) for codec in ours):
        return
    languages = languages_begun(pattern, given)
    if ask is None:
        if not languages:
            raise _none_begins(pattern)
        return
    here = ask(languages)
    named = pattern[:-1].partition(":")[2]
    if not _known(pattern, here) and not (named and any(one.reason for one in here)):
        raise _none_begins(pattern, *(one.reason for one in here if one.reason))


def _has_format(format: str, given: Mapping[str, str], ask: Ask) -> bool:
    """Whether a language that runs has a format that Python has not."""
    pattern = f"{format}:*"
    return _known(pattern, ask(languages_begun(pattern, given)))


def _known(pattern: str, here: Iterable[Inventory]) -> bool:
    """Whether a language that runs knows a codec whose id begins so, installed or not."""
    return any(is_level(pattern, id) for one in here for id in one.ids)


def _none_begins(pattern: str, *reasons: str) -> UsageError:
    return UsageError("; ".join((f"no codec begins with {pattern[:-1][:80]!r}", *reasons)))


def _codec(labels: Mapping[str, str]) -> str | None:
    from tare.codec import Codec

    text = labels["codec"]
    library_name = _library(text)
    format_id = text.partition("+")[0].partition(",")[0].partition(":")[0]
    try:
        codec = Codec.parse(text)
    except UsageError as error:
        if format_id in _LATER:
            return (
                f"{format_id}:{library_name or 'tare'} is not part of this version: it joins when it is built"
            )
        return str(error)
    if not codec.installed:
        return f"not installed: {codec.install_line}"
    if not codec.library.writes:
        return f"{codec.library.name} reads {format_id} and does not write it"
    kind = dataset_kind(labels.get("dataset", ""))
    if kind is not None and kind not in codec.library.native:
        return f"{codec.library.name} holds {' and '.join(codec.library.native)}s, not {kind}s"
    return None


def _medium(medium: str, settings: Given | None) -> str | None:
    if medium == "conn":
        return "a connection in R's memory: only the R worker has it"
    if medium == "remote" and not (settings is not None and settings.remote):
        return "no remote host: give --remote ssh://host"
    if medium == "link" and not (settings is not None and settings.link):
        return "no link: give --link RATE,RTT, for example --link 1Gbit,0.3ms"
    return None


def _parts(labels: Mapping[str, str]) -> str | None:
    """Whether the library can do what the other factors ask."""
    from tare.codec import Codec

    codec = Codec.parse(labels["codec"])
    library, stream = codec.library, labels.get("medium", "memory") in STREAMS
    delivery = labels.get("delivery", "whole")
    subset, materialise = labels.get("subset", "all"), labels.get("materialise", "full")
    packed = codec.compressor is not None
    no_part = None if subset == "all" else refusal(codec, subset, grain=labels.get("grain", "whole"))
    stored = labels.get("medium") == "store"
    warm, whole = labels.get("cache", "warm") == "warm", labels.get("grain", "whole") == "whole"
    checks = (
        (stored and not warm, "is read from a store as it is: cold reads are of files"),
        (stored and (materialise != "full" or subset != "all"), "is read from a store whole"),
        (stored and not whole, "is measured in memory and framed with one call a document"),
        (
            labels.get("threads") == "all" and "all" not in codec.threads(labels.get("medium", "memory")),
            "uses one thread only",
        ),
        (delivery != "whole" and not stream, f"has no {delivery} delivery: the medium has one end"),
        (delivery == "streaming" and codec.stream is None, "cannot encode and decode in parts"),
        (
            materialise != "full" and (packed or library.open is None),
            "has no view to open: reading is always full",
        ),
        (bool(no_part), no_part or ""),
        ("order" in labels and "sort_keys" not in library.options, "writes names in the order they come"),
        (
            labels.get("kind") == "json" and (packed or library.from_json is None or library.to_json is None),
            "takes and gives objects, not JSON text",
        ),
        ("orient" in labels, "takes orient as an option of its id: orient=columns"),
    )
    found = next((text for failed, text in checks if failed), None)
    if found is None:
        return None
    return f"{codec.peer.name if codec.peer is not None else f'{codec.format_id}:{library.name}'} {found}"


def _library(codec: str) -> str:
    return codec.partition("+")[0].partition(",")[0].partition(":")[2]
