"""Cases: one cell of the grid each, named by the levels of a closed list of factors.

A case's labels always hold the factors of `ALWAYS`; the others appear when they
are not at their default, so that keys stay short and equal between runs.

>>> case_key(full_labels({"dataset": "d", "codec": "json:orjson", "size": 0.25}))[:42]
'cache=warm|codec=json:orjson|dataset=d|del'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tare.errors import UsageError

__all__ = [
    "ALWAYS",
    "CONN",
    "FACTORS",
    "NOT_REACHED",
    "ONE_END",
    "STATUSES",
    "Case",
    "Factor",
    "case_key",
    "full_labels",
    "label_text",
    "operations",
    "parse_key",
]

NOT_REACHED = "not reached in the time given; --time gives more"
"""Reason of a case for which the time did not suffice."""
STATUSES = (
    "ok",
    "unproven",
    "lossy",
    "refused",
    "error",
    "timeout",
    "killed",
    "n/a",
    "screened",
    "pending",
)


@dataclass(frozen=True)
class Factor:
    """One factor of the grid.

    Args:
        name: As in plans, labels and keys.
        levels: Levels, the default first; empty for free text.
        default: Level when a plan does not say; None: a plan must say.
        prefixes: Further levels are allowed that begin with one of these.
        help: What it varies, one sentence.
    """

    name: str
    levels: tuple[str, ...] = ()
    default: str | None = None
    prefixes: tuple[str, ...] = ()
    help: str = ""

    def refuses(self, level: str) -> str:
        """Why ``level`` is not one of this factor; empty if it is.

        >>> FACTORS["sync"].refuses("often")
        'sync is one of none, fsync'
        """
        if self.name == "size":
            return "" if _is_share(level) else "size is a share of the data in (0, 1]"
        if not level or any(mark in level for mark in "|\n\r\0"):
            return f"a level of {self.name} is text without line ends and |"
        if not self.levels or level in self.levels or level.startswith(self.prefixes or ("\0",)):
            return ""
        known = [*self.levels, *(f"{prefix}..." for prefix in self.prefixes)]
        return f"{self.name} is one of {', '.join(known)}"


_LIST = (
    Factor("dataset", help="a path or a named set"),
    Factor("size", default="1", help="share of the data in (0, 1]"),
    Factor("codec", help="codec id"),
    Factor(
        "medium",
        ("memory", "file", "conn", "fifo", "unix", "tcp", "remote", "link", "store"),
        "memory",
        help="where the encoded bytes go",
    ),
    Factor(
        "delivery",
        ("whole", "buffered", "streaming", "framed", "wrapped"),
        "whole",
        help="how a reader gets them",
    ),
    Factor("orient", ("rows", "columns"), "rows", help="a table through a document codec"),
    Factor("threads", ("1", "all"), "1", help="threads a codec may use; never mixed in one column"),
    Factor("gc", ("off", "on"), "off", help="the garbage collector during a sample"),
    Factor("cache", ("warm", "cold"), "warm", help="the file's pages before reading"),
    Factor("sync", ("none", "fsync"), "none", help="whether writing waits for the disk"),
    Factor("materialise", ("full", "open", "touch"), "full", help="what reading must reach"),
    Factor("subset", ("all", "first"), "all", ("column:", "rows:", "path:"), help="the part that is read"),
    Factor(
        "kind", ("own", "arrow", "pandas", "polars", "records", "json"), "own", help="the kind it must end in"
    ),
    Factor("grain", ("whole", "each"), "whole", help="one call for all, or one per document"),
    Factor("order", ("insertion", "lexical"), "insertion", help="order of names written back"),
    Factor("content", default="", help="variant of a generated set"),
    Factor("twin", ("1",), "", help="the base codec's second worker, for the noise floor"),
)
FACTORS: Mapping[str, Factor] = MappingProxyType({factor.name: factor for factor in _LIST})
"""Every factor, by name."""

ALWAYS = (
    "dataset",
    "size",
    "codec",
    "medium",
    "delivery",
    "threads",
    "gc",
    "cache",
    "sync",
    "materialise",
    "kind",
)
"""Factors that every case's labels hold, default or not."""

CONN = "conn"
"""A connection in R's own memory: a medium that no other language has."""

ONE_END = ("memory", "file", "store")
"""Media that one process writes and reads, on which every codec is screened first."""

STREAMS = ("fifo", "unix", "tcp", "remote", "link")
_ONE_SIDED = {"memory": ("encode", "decode"), CONN: ("write", "read")}


@dataclass(frozen=True)
class Case:
    """One cell of the grid, before it is measured.

    Args:
        key: Sorted ``factor=level`` pairs joined by ``|``; the name of the case for ever.
        labels: Level of each factor, as text.
        status: ``pending``, or ``n/a`` when the combination cannot be measured here.
        reason: Why the status is not ``pending``.
        note: Shown with the case: a plan's remark.
        operations: What is timed: ``encode``, ``decode``, ``write``, ``read``, ``send``,
            ``receive``, ``span``, ``subset``, ``open``.
        launches: Launches wanted; 0 for the plan's.
        rounds: Rounds wanted in each launch; 0 for the plan's.
    """

    key: str
    labels: Mapping[str, str]
    status: str = "pending"
    reason: str = ""
    note: str = ""
    operations: tuple[str, ...] = ()
    launches: int = 0
    rounds: int = 0

    @property
    def size(self) -> float:
        """Share of the data, in (0, 1]."""
        return float(self.labels.get("size", "1"))

    @property
    def curve(self) -> str:
        """The key without the size: what a growth curve runs through."""
        return case_key({name: level for name, level in self.labels.items() if name != "size"})

    @property
    def source(self) -> str:
        """The data to open: the data set, and the variant of it that is generated."""
        content = self.labels.get("content", "")
        return f"{self.labels['dataset']},content={content}" if content else self.labels["dataset"]

    def as_dict(self) -> dict[str, object]:
        """The case as the record holds it, without results."""
        return {
            "key": self.key,
            "labels": dict(self.labels),
            "status": self.status,
            "reason": self.reason,
            "note": self.note,
            "operations": list(self.operations),
            "launches": [],
        }


def label_text(name: str, level: object) -> str:
    """A level as the text that labels hold: sizes as ``%g``, numbers as digits.

    >>> label_text("size", 1.0), label_text("threads", 1), label_text("size", 2**-9)
    ('1', '1', '0.00195312')
    """
    text = ("1" if level else "0") if isinstance(level, bool) else str(level)
    return f"{float(text):g}" if name == "size" and _is_share(text) else text


def full_labels(labels: Mapping[str, object]) -> dict[str, str]:
    """Labels with the factors of `ALWAYS` filled in and other defaults left out.

    Args:
        labels: Levels by factor; ``dataset`` and ``codec`` are needed.

    Raises:
        UsageError: A factor or a level does not exist, or one that has no default is missing.

    >>> full_labels({"dataset": "d", "codec": "json:orjson", "grain": "whole"})["medium"]
    'memory'
    """
    full: dict[str, str] = {}
    for name, level in labels.items():
        factor = FACTORS.get(name)
        if factor is None:
            raise UsageError(f"there is no factor {name[:80]!r}; factors are {', '.join(FACTORS)}")
        text = label_text(name, level)
        if text == factor.default and name not in ALWAYS:
            continue
        refusal = factor.refuses(text)
        if refusal:
            raise UsageError(f"{refusal}, not {text[:80]!r}")
        full[name] = text
    for name in ALWAYS:
        default = FACTORS[name].default
        if name not in full and default is None:
            raise UsageError(f"a case needs a level of {name}")
        full.setdefault(name, default or "")
    return {name: full[name] for name in FACTORS if name in full}


def case_key(labels: Mapping[str, str]) -> str:
    """The case's key: its labels, sorted.

    >>> case_key({"size": "1", "codec": "json:orjson"})
    'codec=json:orjson|size=1'
    """
    return "|".join(f"{name}={labels[name]}" for name in sorted(labels))


def parse_key(key: str) -> dict[str, str]:
    """The labels a key stands for.

    >>> parse_key("codec=csv:pyarrow,delimiter=;|size=1")
    {'codec': 'csv:pyarrow,delimiter=;', 'size': '1'}
    """
    pairs: Iterator[tuple[str, str, str]] = (part.partition("=") for part in key.split("|") if part)
    return {name: level for name, _, level in pairs}


def operations(labels: Mapping[str, str]) -> tuple[str, ...]:
    """What is timed in a case with these labels, unless its plan says otherwise.

    >>> operations({"medium": "tcp"})
    ('send', 'receive', 'span')
    >>> operations({"medium": "file", "cache": "cold"})
    ('read',)
    """
    medium = labels.get("medium", "memory")
    if labels.get("subset", "all") != "all":
        return ("subset",)
    if labels.get("materialise", "full") == "open":
        return ("open",)
    if medium in STREAMS:
        return ("send", "receive", "span")
    write, read = _ONE_SIDED.get(medium, ("write", "read"))
    if labels.get("sync", "none") != "none":
        return (write,)
    if labels.get("cache", "warm") != "warm" or labels.get("materialise", "full") == "touch":
        return (read,)
    return (write, read)


def _is_share(level: str) -> bool:
    try:
        return 0.0 < float(level) <= 1.0
    except ValueError:
        return False
