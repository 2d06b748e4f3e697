"""Reading a plan's tables: every key is known, every value checked, nothing is run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from tare.errors import PlanError
from tare.measure.cases import FACTORS, label_text

__all__ = ["Block", "Grow", "Override", "Statistics", "is_level", "read_plan"]

OPERATIONS = ("encode", "decode", "write", "read", "send", "receive", "span", "subset", "open")
_TOP = ("plan", "name", "question", "grow", "statistics", "block", "exclude", "override")
# What a plan that grows has no use for: one launch a size, and as many rounds as go into a part of `stop_s`.
_NOT_GROWN = ("launches", "slow_s", "slow_launches", "slow_rounds")
_MAX_BLOCKS = 1000
_MAX_LEVELS = 10_000
_MAX_TEXT = 1000
_MAX_BITS = 64
_PLAN_FACTORS = tuple(name for name in FACTORS if name != "twin")


@dataclass(frozen=True)
class Grow:
    """Growth: sizes from ``start`` times ``factor`` until a curve ends.

    Args:
        start: First share of the data, in (0, 1].
        factor: What a share is multiplied by; above 1.
        stop_s: A curve ends when a total exceeds this many seconds, at size 1, or with a failure.
    """

    start: float = 0.001
    factor: float = 2.0
    stop_s: float = 10.0

    def sizes(self) -> tuple[float, ...]:
        """Shares, smallest first, the last one always 1.

        >>> Grow(start=0.25, factor=2).sizes()
        (0.25, 0.5, 1.0)
        """
        steps = math.ceil(math.log(1 / self.start) / math.log(self.factor) - 1e-9)
        return (*(self.start * self.factor**step for step in range(steps)), 1.0)

    def as_dict(self) -> dict[str, float]:
        """As in a plan file."""
        return {"start": self.start, "factor": self.factor, "stop_s": self.stop_s}


@dataclass(frozen=True)
class Statistics:
    """How often a plan measures.

    Args:
        launches: Sets of fresh worker processes.
        rounds: Rounds in each launch.
        slow_s: A case slower than this many seconds per call is measured less often.
        slow_launches: Launches of a slow case.
        slow_rounds: Rounds in each launch of a slow case.
        deadline_s: A call that takes longer is ended, in seconds; the time limit of a run may end it sooner.
    """

    launches: int = 5
    rounds: int = 9
    slow_s: float = 1.0
    slow_launches: int = 2
    slow_rounds: int = 1
    deadline_s: float = 30.0

    def as_dict(self) -> dict[str, float]:
        """As in a plan file."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True)
class Block:
    """One table of levels; its cases are the outer product.

    Args:
        levels: Levels of each factor it names, as text.
        operations: What is timed; empty for what the medium implies.
    """

    levels: Mapping[str, tuple[str, ...]]
    operations: tuple[str, ...] = ()

    def product(self) -> int:
        """How many combinations it has."""
        return math.prod(len(levels) for levels in self.levels.values())

    def narrowed(self, wanted: Mapping[str, tuple[str, ...] | None]) -> Block | None:
        """The block with only the wanted levels; None if nothing is left."""
        levels = dict(self.levels)
        for name, patterns in wanted.items():
            if patterns is None:
                continue
            had = levels.get(name, (FACTORS[name].default or "",))
            kept = tuple(level for level in had if any(is_level(pattern, level) for pattern in patterns))
            if not kept:
                return None
            levels[name] = kept
        return Block(levels, self.operations)

    def as_dict(self) -> dict[str, list[str]]:
        """As in a plan file."""
        found = {name: list(levels) for name, levels in self.levels.items()}
        if self.operations:
            found["operations"] = list(self.operations)
        return found


@dataclass(frozen=True)
class Override:
    """Changes the cases it matches.

    Args:
        where: Levels of the factors that a case must have.
        max_size: Sizes above are not run, and say so.
        note: Shown with the case, and the reason above ``max_size``.
        operations: What is timed instead.
        launches: Launches instead of the plan's.
        rounds: Rounds instead of the plan's.
    """

    where: Mapping[str, tuple[str, ...]]
    max_size: float | None = None
    note: str = ""
    operations: tuple[str, ...] = ()
    launches: int = 0
    rounds: int = 0

    def as_dict(self) -> dict[str, Any]:
        """As in a plan file."""
        found: dict[str, Any] = {"where": {name: list(levels) for name, levels in self.where.items()}}
        for name in ("max_size", "note", "operations", "launches", "rounds"):
            value = getattr(self, name)
            if value:
                found[name] = list(value) if isinstance(value, tuple) else value
        return found


def read_plan(value: Mapping[str, Any], source: str) -> dict[str, Any]:
    """The fields of a Plan from its tables.

    Args:
        value: What a TOML parser gives.
        source: Named in errors.

    Raises:
        PlanError: File, key path and allowed values are named.
    """
    reader = _Reader(source)
    table = reader.table(value, "", _TOP)
    version = table.get("plan")
    if version != 1 or isinstance(version, bool):
        raise reader.error("plan", f"this version reads plan = 1, not {_show(version)}")
    blocks = reader.tables(table, "block")
    if not blocks:
        raise reader.error("block", "a plan needs at least one [[block]] with dataset and codec")
    if len(blocks) > _MAX_BLOCKS:
        raise reader.error("block", f"at most {_MAX_BLOCKS} blocks")
    read = {
        "name": reader.text(table, "name", "", needed=True),
        "question": reader.text(table, "question", ""),
        "grow": reader.grow(table["grow"]) if "grow" in table else None,
        "statistics": reader.statistics(table.get("statistics", {})),
        "blocks": tuple(reader.block(block, f"block[{n}]") for n, block in enumerate(blocks, 1)),
        "exclude": tuple(
            reader.exclude(one, f"exclude[{n}]") for n, one in enumerate(reader.tables(table, "exclude"), 1)
        ),
        "overrides": tuple(
            reader.override(one, f"override[{n}]")
            for n, one in enumerate(reader.tables(table, "override"), 1)
        ),
    }
    return {**read, "notes": tuple(_unused(table))}


def _unused(table: Mapping[str, Any]) -> Iterable[str]:
    """What a plan that grows says and nothing heeds.

    >>> list(_unused({"grow": {}, "statistics": {"launches": 5, "rounds": 9}, "override": [{"rounds": 1}]}))
    ['statistics.launches, override[1].rounds: not used, for a plan that grows makes one launch a size, whatever they say']
    """
    if "grow" not in table:
        return
    names = [f"statistics.{name}" for name in table.get("statistics", {}) if name in _NOT_GROWN]
    for number, override in enumerate(table.get("override", ()), 1):
        names += [f"override[{number}].{name}" for name in ("launches", "rounds") if override.get(name)]
    if names:
        yield f"{', '.join(names)}: not used, for a plan that grows makes one launch a size, whatever they say"


class _Reader:
    """Checks tables and names the place of what is wrong."""

    def __init__(self, source: str) -> None:
        self.source = source

    def error(self, path: str, message: str) -> PlanError:
        return PlanError(f"{self.source}: {path}: {message}", path=path)

    def table(self, value: object, path: str, known: Sequence[str]) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            raise self.error(path or "plan", f"a table is needed, not {_show(value)}")
        for key in value:
            if key not in known:
                raise self.error(_join(path, str(key)), _unknown(str(key), known))
        return value

    def tables(self, table: Mapping[str, Any], key: str) -> Sequence[Any]:
        value = table.get(key, [])
        if not isinstance(value, list):
            raise self.error(key, f"write it as [[{key}]], not {_show(value)}")
        return value

    def block(self, value: object, path: str) -> Block:
        table = self.table(value, path, (*_PLAN_FACTORS, "operations"))
        for name in ("dataset", "codec"):
            if name not in table:
                raise self.error(path, f"a block needs {name} = [...]")
        levels = {
            name: self.levels(name, table[name], _join(path, name)) for name in table if name != "operations"
        }
        return Block(levels, self.operations(table, path))

    def levels(self, name: str, value: object, path: str, *, patterns: bool = False) -> tuple[str, ...]:
        found = value if isinstance(value, list) else [value]
        if not found or len(found) > _MAX_LEVELS:
            raise self.error(path, f"1 to {_MAX_LEVELS} levels are needed, not {len(found)}")
        levels: dict[str, None] = {}
        for level in found:
            if not isinstance(level, (str, int, float)) or (
                isinstance(level, int) and level.bit_length() > _MAX_BITS
            ):
                raise self.error(path, f"a level is text or a number, not {_show(level)}")
            text = label_text(name, level)
            refusal = "" if text == FACTORS[name].default else FACTORS[name].refuses(text)
            if patterns and text.endswith("*"):
                refusal = ""
            if len(text) > _MAX_TEXT:
                refusal = f"a level has at most {_MAX_TEXT} characters"
            if refusal:
                raise self.error(path, f"{refusal}, not {_show(level)}")
            levels[text] = None
        return tuple(levels)

    def operations(self, table: Mapping[str, Any], path: str) -> tuple[str, ...]:
        value = table.get("operations", [])
        if not isinstance(value, list) or any(
            not isinstance(one, str) or one not in OPERATIONS for one in value
        ):
            raise self.error(_join(path, "operations"), f"a list of {', '.join(OPERATIONS)} is needed")
        return tuple(dict.fromkeys(value))

    def where(self, table: Mapping[str, Any], path: str) -> dict[str, tuple[str, ...]]:
        path = _join(path, "where")
        value = table.get("where")
        if not value:
            raise self.error(path, "where = { factor = level } is needed")
        where = self.table(value, path, _PLAN_FACTORS)
        return {
            name: self.levels(name, level, _join(path, name), patterns=True) for name, level in where.items()
        }

    def exclude(self, value: object, path: str) -> dict[str, tuple[str, ...]]:
        return self.where(self.table(value, path, ("where",)), path)

    def override(self, value: object, path: str) -> Override:
        table = self.table(value, path, tuple(field.name for field in fields(Override)))
        return Override(
            where=self.where(table, path),
            max_size=self.number(table, "max_size", None, path, low=0.0, high=1.0),
            note=self.text(table, "note", path),
            operations=self.operations(table, path),
            launches=self.count(table, "launches", 0, path, low=0),
            rounds=self.count(table, "rounds", 0, path, low=0),
        )

    def grow(self, value: object) -> Grow:
        table = self.table(value, "grow", ("start", "factor", "stop_s"))
        start = self.number(table, "start", Grow.start, "grow", low=1e-9, high=1.0)
        factor = self.number(table, "factor", Grow.factor, "grow", low=1.01, high=1e9)
        stop_s = self.number(table, "stop_s", Grow.stop_s, "grow", low=1e-3, high=1e6)
        return Grow(start or Grow.start, factor or Grow.factor, stop_s or Grow.stop_s)

    def statistics(self, value: object) -> Statistics:
        known = tuple(field.name for field in fields(Statistics))
        table = self.table(value, "statistics", known)
        counts = {
            name: self.count(table, name, getattr(Statistics, name), "statistics")
            for name in known
            if name not in ("slow_s", "deadline_s")
        }
        slow_s = self.number(table, "slow_s", Statistics.slow_s, "statistics", low=0.0, high=1e6)
        deadline_s = self.number(table, "deadline_s", Statistics.deadline_s, "statistics", low=1.0, high=1e6)
        return Statistics(
            **counts,
            slow_s=Statistics.slow_s if slow_s is None else slow_s,
            deadline_s=deadline_s or Statistics.deadline_s,
        )

    def text(self, table: Mapping[str, Any], key: str, path: str, *, needed: bool = False) -> str:
        value = table.get(key, "")
        if not isinstance(value, str) or len(value) > _MAX_TEXT or (needed and not value):
            raise self.error(_join(path, key), f"text of at most {_MAX_TEXT} characters is needed")
        return value

    def number(
        self, table: Mapping[str, Any], key: str, default: float | None, path: str, *, low: float, high: float
    ) -> float | None:
        value = table.get(key, default)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            raise self.error(
                _join(path, key), f"a number in [{low:g}, {high:g}] is needed, not {_show(value)}"
            )
        return float(value)

    def count(self, table: Mapping[str, Any], key: str, default: int, path: str, *, low: int = 1) -> int:
        value = table.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= 10_000:
            raise self.error(
                _join(path, key), f"a whole number in [{low}, 10000] is needed, not {_show(value)}"
            )
        return value


def is_level(pattern: str, level: str) -> bool:
    """Whether a level is meant: by itself, or by how it begins if the pattern ends in ``*``.

    >>> is_level("pickle", "pickle,protocol=2"), is_level("pickle*", "pickle,protocol=2")
    (False, True)
    """
    return level.startswith(pattern[:-1]) if pattern.endswith("*") else level == pattern


def _join(path: str, key: str) -> str:
    return f"{path}.{key[:80]}" if path else key[:80]


def _show(value: object) -> str:
    """A value from a file, cut and escaped; a container or a huge number by its type only."""
    if isinstance(value, (dict, list)):
        return "a table" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        return f"a number of {value.bit_length()} bits"
    return ascii(value[:80] if isinstance(value, str) else value)[:80]


def _unknown(key: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    names = list(known)
    near = get_close_matches(key[:80], names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"known keys are {', '.join(names)}"
    return f"unknown key; {hint}"
