"""Which codecs of a record qualify for a use, with their figures, and why others do not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tare.codec.ids import split_id
from tare.errors import UsageError
from tare.formats import FORMATS
from tare.measure.analysis.extrapolate import costed
from tare.measure.analysis.figures import Analysis, analyse
from tare.measure.analysis.growth_curves import full_share, growth_rows
from tare.measure.analysis.plausibility import copying, idle
from tare.measure.analysis.ranked_cases import TOTAL, USUAL, main_cases, main_stage, number, of_one_work
from tare.measure.cases import NOT_REACHED
from tare.measure.verdict import text
from tare.measure.verdict.constraints import Condition, allowed, barred, losses
from tare.measure.verdict.cost_model import Costed, Profile
from tare.measure.verdict.default_use import has_short_lines
from tare.measure.verdict.kept import quoted

__all__ = ["Choice", "Evidence", "choose", "file_rate", "gather", "short_of_time"]

# Bytes per second of a file where nothing is known of it, as in records of version 1.
ASSUMED_FILE = 1e9


@dataclass(frozen=True)
class Evidence:
    """What a verdict rests on.

    Args:
        record: The record.
        analysis: Its figures.
        growth: Its growth rows.
    """

    record: Mapping[str, Any]
    analysis: Analysis
    growth: Sequence[Mapping[str, Any]]


@dataclass
class Choice:
    """Who may be chosen, and who may not and why.

    Args:
        profile: The use, with the link and weights asked for.
        medium: Medium whose measured times are used.
        several: Codecs that qualify.
        base: The base's figures, qualified or not; None if it was not measured.
        excluded: (codec, names of the conditions it fails, reason).
        cases: Case behind each codec.
        notes: What was assumed.
        predicted: Whether times are predicted for the whole data from a part.
        flags: Flags of each codec's format.
        unreached: Codecs for which the time did not suffice.
        timed: Figures of every codec that was timed on this medium, qualified or not.
        share: Share of the data that was measured.
        source_format: Format that the data came in; empty if it came as objects.
        index: How many of its columns are the index of a data frame.
        messages: How many messages the data is, where figures are of one of them; else 0.
        file_rate: Bytes per second of a warm file.
    """

    profile: Profile
    medium: str
    several: list[Costed]
    base: Costed | None
    excluded: list[tuple[str, tuple[str, ...], str]]
    cases: dict[str, dict[str, Any]]
    notes: list[str]
    predicted: bool
    flags: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    unreached: list[str] = field(default_factory=list)
    timed: dict[str, Costed] = field(default_factory=dict)
    share: float = 1.0
    source_format: str = ""
    index: int = 0
    messages: int = 0
    file_rate: float = ASSUMED_FILE

    @property
    def waiting(self) -> list[str]:
        """Codecs that hold the data as far as is known and were not weighed: one of them may be the best."""
        return [codec for codec, names, _ in self.excluded if names[0] in ("measured", "screened")]

    @property
    def unmeasured(self) -> list[str]:
        """Codecs that would qualify as far as is known, and were not measured at all."""
        return [codec for codec, names, _ in self.excluded if names[0] == "measured"]

    @property
    def is_alone(self) -> bool:
        """Whether only one codec was measured, of several that would qualify: then nothing can be recommended."""
        screened = any(names[0] == "screened" for _, names, _ in self.excluded)
        return len(self.several) == 1 and bool(self.unmeasured) and not screened

    def runs_code(self, codec: str) -> bool:
        """Whether reading the codec's format runs code that the bytes name."""
        return bool(self.flags.get(codec, {}).get("executes_code"))


def gather(record: Mapping[str, Any]) -> Evidence:
    """The figures and growth rows of a record."""
    analysis = analyse(record)
    return Evidence(record, analysis, growth_rows(record, analysis))


def choose(
    evidence: Evidence, use: Profile, wanted: Sequence[Condition], allow_loss: Sequence[str]
) -> Choice:
    """Sort the codecs of a record into those that qualify for a use and those that do not."""
    record, analysis = evidence.record, evidence.analysis
    notes: list[str] = []
    grain = _grain(record, use, notes)
    mains = main_cases(record, grain=grain)
    if grain == "each":
        # What was measured whole alone is in no race with messages.
        mains = {at: case for at, case in mains.items() if case["labels"].get("grain") == "each"}
    stage, size = main_stage(record, grain="each" if grain == "each" else "")
    # A codec that was tried on a small part only is in no race with those that were weighed.
    weighed = {
        at: case
        for at, case in mains.items()
        if (case.get("stage", "weigh"), case["labels"].get("size", "1")) == (stage, size)
    }
    weighed, odd = of_one_work(weighed)
    notes += _work_note(record, odd)
    # One way alone is in no race with both, unless the whole plan asked for one way.
    both = {at: case for at, case in weighed.items() if len(case.get("operations") or ()) != 1}
    weighed = both or weighed
    if not both:
        use = _one_way(weighed, use, notes)
    medium, use = _medium(weighed, analysis, use, file_rate(record), notes)
    full = full_share(record) / (number(size) or 1.0)
    # A message costs the same in the first thousand lines as in the next: of them a part says all.
    predicted = not math.isclose(full_share(record) if grain == "each" else full, 1.0)
    choice = Choice(use, medium, [], None, [], {}, notes, predicted)
    choice.share = min(1.0, 1 / full)
    choice.file_rate = file_rate(record)
    choice.source_format = str((record.get("dataset") or {}).get("source_format") or "")
    choice.index = int((record.get("dataset") or {}).get("index_columns") or 0)
    if choice.predicted:
        notes.append(f"provisional: predicted from {text.percent(1 / full)} of the data")
    elif grain == "each" and not math.isclose(full, 1.0):
        notes.append(f"messages were timed on {text.percent(1 / full)} of the lines, in contiguous blocks")
    if grain == "each":
        choice.messages = _messages(record.get("dataset") or {})
    per_byte = copying(record, analysis)
    names = list(record.get("codecs") or {})
    names += [codec for codec, _ in mains if codec not in names]
    for codec in names:
        case = mains.get((codec, medium)) or next(
            (c for (name, _), c in mains.items() if name == codec), None
        )
        one = None
        if case is not None:
            choice.cases[codec] = case
            one = (
                costed(case, analysis, evidence.growth, full, str(record.get("id", "")))
                if (codec, medium) in weighed
                else None
            )
            if one is not None and choice.messages:
                one = one.divided(choice.messages)
        if one is not None:
            choice.timed[codec] = one
        if codec == analysis.base:
            choice.base = one
        entry = (record.get("codecs") or {}).get(codec) or {}
        if case is not None and case.get("status") == "pending" and not barred(entry, wanted):
            choice.unreached.append(codec)
        choice.flags[codec] = entry.get("flags") or {}
        if one is not None:
            one.copied = bool(choice.flags[codec].get("copies"))
        failed, why = _unfit(case, one, allow_loss)
        known = [condition for condition in wanted if condition.by_flags]
        if failed == ("loss",) and barred(entry, wanted):
            # Nor would it help to allow the loss.
            more, also = _failing(entry, {}, None, use, known)
            failed, why = (*failed, *more), "; ".join(filter(None, (why, also)))
        elif failed == ("measured",) and barred(entry, wanted):
            # Time would not help it.
            failed, why = _failing(entry, {}, None, use, known)
        elif not why and case is not None and one is not None:
            failed, why = _failing(entry, case, one, use, wanted)
        reads = not why and case is not None and use.reads + use.subset_reads > 0
        if reads and case and idle(record, case, analysis.figures.get(case["key"], {}), per_byte):
            failed, why = ("idle",), text.IDLE
        if not why and entry.get("asked") is False:
            failed, why = ("asked",), "for comparison only, as --codec does not name it"
        if case is None and grain == "each" and _holds_many(codec):
            failed, why = ("message",), "it holds many messages, not one"
        elif case is None and failed == ("measured",) and record.get("weighing"):
            why = NOT_REACHED
        if why or one is None:
            choice.excluded.append((codec, failed, why))
        else:
            choice.several.append(one)
    notes += short_of_time(choice)
    return choice


def _messages(dataset: Mapping[str, Any]) -> int:
    """How many messages the whole file holds: an estimate where part of it was opened.

    >>> _messages({"shape": {"items": 30}}), _messages({"shape": {"items": 30}, "partial": {"rows_total": 101}})
    (30, 101)
    """
    total = (dataset.get("partial") or {}).get("rows_total")
    return int(total or (dataset.get("shape") or {}).get("items") or 0)


def _one_way(weighed: Mapping[tuple[str, str], Mapping[str, Any]], use: Profile, notes: list[str]) -> Profile:
    """The use without the way that was not measured: it would count as no time at all."""
    ways = {operation for case in weighed.values() for operation in case.get("operations") or ()}
    if ways and ways <= {"decode", "read", "receive"} and use.writes:
        notes.append(text.READING_ALONE)
        return replace(use, writes=0.0)
    if ways and ways <= {"encode", "write", "send"} and use.reads:
        notes.append(text.WRITING_ALONE)
        return replace(use, reads=0.0)
    return use


def short_of_time(choice: Choice) -> list[str]:
    """Returns that the time did not suffice for every codec, if so."""
    # What was encoded once was reached, and its first calls are no times to compare.
    untimed = sum(choice.cases[codec].get("bytes") is not None for codec in choice.unreached)
    some, of = len(choice.unreached) - untimed, len(choice.several) + len(choice.excluded)
    return [f"provisional: {text.unreached(some, of, untimed)}"] if choice.unreached else []


def _grain(record: Mapping[str, Any], use: Profile, notes: list[str]) -> str:
    """One call per document where messages are small, if that was to be measured: the whole is no message, and stands for none."""
    dataset = record.get("dataset") or {}
    each = [case for case in record.get("cases", ()) if case["labels"].get("grain") == "each"]
    if use.name != "message" or not each or not has_short_lines(dataset):
        return "whole"
    if any(case.get("launches") for case in each):
        mean = dataset["shape"]["mean_doc_bytes"]
        notes.append(f"one call per document, as documents are {mean:.0f} bytes on average")
    return "each"


def _work_note(record: Mapping[str, Any], odd: Mapping[str, str]) -> list[str]:
    """What the verdict is of, where other data, or other forms of it, were measured too; parts and orders go without saying."""
    cases = [case["labels"] for case in record.get("cases", ())]
    several = [
        name
        for name in ("kind", "content")
        if len({labels.get(name, USUAL[name]) for labels in cases if labels.get("codec") != "copy"}) > 1
    ]
    told = ", ".join(f"{name} {odd.get(name, USUAL[name])}" for name in several)
    return [f"of {told} alone; the rest stands in the tables"] if told else []


def file_rate(record: Mapping[str, Any]) -> float:
    """Returns the bytes per second of a warm file, as the run measured it.

    >>> file_rate({"machine": {"file_bytes_per_s": 6e9}}), file_rate({})
    (6000000000.0, 1000000000.0)
    """
    return float((record.get("machine") or {}).get("file_bytes_per_s") or ASSUMED_FILE)


def _medium(
    mains: Mapping[tuple[str, str], Mapping[str, Any]],
    analysis: Analysis,
    use: Profile,
    rate: float,
    notes: list[str],
) -> tuple[str, Profile]:
    """The medium whose times are used, and the use with what had to be assumed."""
    timed = {medium for (_, medium), case in mains.items() if TOTAL in analysis.figures.get(case["key"], {})}
    streams = [medium for medium in ("link", "remote", "tcp", "unix", "fifo") if medium in timed]
    local = [medium for medium in use.measured if medium in timed]
    if (
        use.name == "message"
        and not use.linked
        and streams
        and (streams[0] in ("link", "remote") or not local)
    ):
        notes.append(f"the measured span over {streams[0]}")
        return streams[0], replace(use, medium=streams[0], bytes_per_s=math.inf, rtt_s=0.0)
    if not local:
        if not streams:
            return use.measured[0], use
        notes.append(f"the measured span over {streams[0]}")
        return streams[0], replace(use, medium=streams[0], bytes_per_s=math.inf, rtt_s=0.0)
    medium = local[0]
    if use.measured[0] == "memory" and medium == "file":
        notes.append("encode and decode taken from warm files, as memory was not measured")
    if medium == "store":
        notes.append("writing and reading taken from the store, as nothing else was measured")
        use = replace(use, medium="store")
    if use.measured[0] == "file" and medium == "memory" and not use.linked:
        notes.append(f"measured in memory; a file's bytes are read at {text.rate(rate)}")
        use = replace(use, bytes_per_s=rate)
    return medium, use


def _holds_many(codec: str) -> bool:
    """Returns whether a codec's format is one of many documents, such as NDJSON; false of a codec that is not known."""
    try:
        format = split_id(codec)[0]
    except UsageError:
        return False
    return any(one.id == format and one.sequence for one in FORMATS)


def _unfit(
    case: Mapping[str, Any] | None, one: Costed | None, allow_loss: Sequence[str]
) -> tuple[tuple[str, ...], str]:
    """Why a codec's case cannot be ranked at all: what it is called, and the reason in words."""
    if case is None:
        return ("measured",), "was not measured"
    status, lost = case.get("status"), losses(case.get("verify"))
    if status == "lossy" or lost:
        if not allowed(case.get("verify"), allow_loss):
            named = text.listed([quoted(path[:60]) for path in lost], width=80)
            return ("loss",), f"changes data silently: {named}" if lost else "changes data silently"
    elif status == "pending":
        return ("measured",), case.get("reason") or "the time ran out before it was measured"
    elif status != "ok":
        return (str(status),), text.failure(str(status), str(case.get("reason") or ""))
    if one is None:
        return ("measured",), "was not measured both ways at this size and on this medium"
    return (), ""


def _failing(
    entry: Mapping[str, Any],
    case: Mapping[str, Any],
    one: Costed | None,
    use: Profile,
    wanted: Sequence[Condition],
) -> tuple[tuple[str, ...], str]:
    """Which conditions a codec fails, and why in words; empty if it qualifies."""
    failed = [
        (condition.name, reason)
        for condition in wanted
        if (reason := condition.failing(entry, case.get("verify") or {}))
    ]
    if (
        one is not None
        and use.subset_reads
        and one.subset_s is None
        and not any(name == "subset" for name, _ in failed)
    ):
        failed.append(("subset measured", "no reading of a part was measured"))
    return tuple(name for name, _ in failed), "; ".join(reason for _, reason in failed)
