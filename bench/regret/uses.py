"""The arithmetic of regret: what a codec costs in a use, which codecs are eligible, how far a choice is off.

The formula and the weights are those of ``tare.measure.verdict.cost_model``, written out again so that the two check each
other. ``FIRST`` holds the uses of records of version 1, ``SECOND`` those that follow them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

GB = 1e9
LINK = 125e6  # bytes a second of a message, without a link of its own
RIGHT = 1.10  # regret up to which a verdict is right
APART = 1.25  # cost of the second best, over the best, from which on a verdict should be clear
FAR = 5.0  # a codec that costs more than this times the best in every use is not timed further
FELT_S = 10e-3  # seconds more in the whole use that nobody feels, who keeps the file as it is


@dataclass(frozen=True)
class Use:
    """One way of using data, as numbers and conditions.

    Args:
        writes: w.
        reads: r.
        price: s, seconds a GB.
        rate: v, bytes a second; None for a warm file of this machine.
        parts: Reads of a part.
        must: Conditions: ``no code``, ``two languages``, ``three languages``, ``part``.
        optional: Whether a record may have no answer.
    """

    writes: float = 1
    reads: float = 1
    price: float = 0
    rate: float | None = None
    parts: float = 0
    must: tuple[str, ...] = ()
    optional: bool = False


_SHARED = {
    "archive": Use(price=20, rate=200e6, must=("no code", "two languages")),
    "exchange": Use(reads=3, rate=12.5e6, must=("no code", "three languages")),
    "message": Use(rate=LINK, must=("no code",)),
    "random": Use(parts=1000, must=("part",), optional=True),
}
FIRST = {"cache": Use(reads=10), **_SHARED}
SECOND = {"keep": Use(reads=5, price=20, must=("no code",)), "cache": Use(reads=10, price=1), **_SHARED}


def uses_of(named: Iterable[str]) -> dict[str, Use]:
    """Returns the table of uses that a record's verdicts belong to."""
    return SECOND if "keep" in set(named) else FIRST


# What is known of formats, whatever library writes them. Readers of Tare's own are not counted.
ONE_LANGUAGE = frozenset(
    "pickle marshal repr rds rdata qs qs2 qdata fst dput npy pgjsonb".split()  # noqa: SIM905
)
FEW_LANGUAGES: Mapping[str, int] = {"blit": 0, "sqlitejsonb": 1}
RUNS_CODE = frozenset("pickle marshal hdf5 parquet:fastparquet".split())  # noqa: SIM905
READS_PARTS = frozenset("parquet arrow orc".split())  # noqa: SIM905


def format_of(id: str) -> str:
    """Returns the format of a codec id.

    >>> format_of("json:orjson+zstd:3"), format_of("pickle,protocol=2")
    ('json', 'pickle')
    """
    return id.partition("+")[0].partition(",")[0].partition(":")[0]


def barred(id: str, use: Use) -> str:
    """Returns why a codec cannot be chosen for a use, whatever it costs; empty if it can.

    >>> barred("qdata:tare", SECOND["exchange"]), barred("csv:pyarrow", SECOND["exchange"])
    ('of one language', '')
    """
    plain = id.partition("+")[0].partition(",")[0]
    name = format_of(id)
    if name in ONE_LANGUAGE:
        return "of one language"
    if "no code" in use.must and (name in RUNS_CODE or plain in RUNS_CODE):
        return "hostile bytes run code or crash it"
    languages = FEW_LANGUAGES.get(name, 3)
    for least, words in ((2, "two languages"), (3, "three languages")):
        if words in use.must and languages < least:
            return f"read in fewer than {words}"
    if "part" in use.must and (name not in READS_PARTS or "+" in id):
        return "cannot read a part"
    return ""


@dataclass(frozen=True)
class Figures:
    """Figures of the oracle for one codec on the whole of a dataset.

    Args:
        bytes: Encoded bytes.
        encode_s: Smallest time of a call.
        decode_s: Smallest time of a call.
        part_s: Smallest time to read a part; None if it was not measured.
        lost: What did not come back; empty if the values are kept.
        failed: Reason for missing figures; empty if there are some.
        behind: Whether it was timed only until it was seen to be far behind.
    """

    bytes: float = math.nan
    encode_s: float = math.nan
    decode_s: float = math.nan
    part_s: float | None = None
    lost: str = ""
    failed: str = ""
    behind: bool = False


def cost(use: Use, one: Figures, file_rate: float) -> float:
    """Returns ``w E + r (B/v + D) + s B`` and the reads of a part, in seconds; round trips are left out.

    Args:
        use: The use.
        one: A codec's figures.
        file_rate: Bytes a second of a warm file.

    >>> cost(Use(reads=2, price=10, rate=1e8), Figures(1e8, 1.0, 0.5), 1e9)
    5.0
    """
    parts = use.parts * (one.part_s if one.part_s is not None else math.inf) if use.parts else 0.0
    passage = one.bytes / (use.rate or file_rate)
    return (
        use.writes * one.encode_s + parts + use.reads * (passage + one.decode_s) + use.price * one.bytes / GB
    )


def eligible(id: str, use: Use, one: Figures) -> bool:
    """Returns whether a codec may be the best in a use: it keeps the values and satisfies the use."""
    return not one.failed and not one.lost and not barred(id, use)


@dataclass(frozen=True)
class Choice:
    """A recommendation beside what the oracle found.

    Args:
        regret: Its cost over the least; None if the oracle has no cost of it, or nothing was recommended.
        best: The codec that costs least.
        second: Cost of the second best over the best.
        wrong: Why the recommended codec is not eligible at all; empty if it is.
    """

    regret: float | None
    best: str
    second: float
    wrong: str = ""

    @property
    def right(self) -> bool:
        """True if the recommendation costs at most a tenth more than the best, and is eligible."""
        return not self.wrong and self.regret is not None and self.regret <= RIGHT


def judge(
    use: Use, recommended: str | None, found: Mapping[str, Figures], file_rate: float, *, own: str = ""
) -> Choice | None:
    """Returns how far a recommendation is off; None where nothing is eligible.

    Args:
        use: The use.
        recommended: Codec id; None if nothing was recommended.
        found: The oracle's figures of every codec.
        file_rate: Bytes a second of a warm file.
        own: Format that the file is in, where it is used whole: keeping it is no regret while that costs less than `FELT_S` more.
    """
    costs = {id: cost(use, one, file_rate) for id, one in found.items() if eligible(id, use, one)}
    ranked = sorted((value, id) for id, value in costs.items() if math.isfinite(value))
    if not ranked:
        return None
    least, best = ranked[0]
    second = ranked[1][0] / least if len(ranked) > 1 else math.inf
    if recommended is None:
        return Choice(None, best, second, "nothing was recommended")
    one = found.get(recommended)
    if one is None or one.failed:
        return Choice(None, best, second, one.failed if one else "not known to the oracle")
    wrong = barred(recommended, use) or (f"changes {one.lost}" if one.lost else "")
    spent = cost(use, one, file_rate)
    kept = bool(own) and format_of(recommended) == own and "+" not in recommended
    if kept and spent - least < FELT_S:
        return Choice(1.0, best, second, wrong)
    # One that is not eligible may cost less than any that is.
    return Choice(max(1.0, spent / least) if math.isfinite(spent) else None, best, second, wrong)


def far_behind(
    ways: Iterable[tuple[str, Use]], one: Figures, best: Mapping[str, float], file_rate: float
) -> bool:
    """Returns whether a codec costs more than five times the best in every use of which a best is known."""
    known = [(use, best[name]) for name, use in ways if name in best and not use.parts]
    return bool(known) and all(cost(use, one, file_rate) > FAR * least for use, least in known)


def quantile(values: Sequence[float], share: float) -> float:
    """Returns the smallest value that at least that share of the values does not exceed; NaN of none.

    >>> quantile([1, 2, 3, 4], 0.5), quantile([1, 2, 3, 4], 0.95), quantile([5], 0.0)
    (2, 4, 5)
    """
    ranked = sorted(values)
    if not ranked:
        return math.nan
    return ranked[max(0, math.ceil(share * len(ranked)) - 1)]


def median(values: Sequence[float]) -> float:
    """Returns the median; NaN of none.

    >>> median([1, 2, 4]), median([1, 2, 4, 8])
    (2, 3.0)
    """
    ranked = sorted(values)
    if not ranked:
        return math.nan
    half = len(ranked) // 2
    return ranked[half] if len(ranked) % 2 else (ranked[half - 1] + ranked[half]) / 2


def factor(reported: float, true: float) -> float:
    """Returns how many times a figure is off, in either direction.

    >>> factor(2.0, 1.0), factor(1.0, 2.0)
    (2.0, 2.0)
    """
    return max(reported / true, true / reported) if reported > 0 and true > 0 else math.inf


def calibration(judged: Iterable[tuple[str, Choice]]) -> tuple[float, float, dict[str, tuple[int, int]]]:
    """Returns what the words are worth.

    Args:
        judged: The word of each verdict (``clear``, ``close``, ``can't tell``) beside its choice.

    Returns:
        Share of *clear* verdicts that are right; share of cells whose second best is far from the best that
        were called *clear*; and of each word how many are right, and how many there are. A share of none is 1.
    """
    words: dict[str, tuple[int, int]] = {}
    called = apart = 0
    for word, choice in judged:
        right, count = words.get(word, (0, 0))
        words[word] = (right + choice.right, count + 1)
        if choice.second >= APART:
            apart += 1
            called += word == "clear"
    right, count = words.get("clear", (0, 0))
    return (right / count if count else 1.0), (called / apart if apart else 1.0), words
