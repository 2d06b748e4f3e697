"""Plans: the grid of a study, as data.

A plan is a TOML file of blocks. A block is a table *factor -> list of levels*;
its cases are the outer product, and the plan's cases are the union over blocks,
keyed by the full set of labels, so a later block replaces exactly the cases it
names again. A plan names data and codecs only: it can start no program.
See docs/guides/plans.md.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

from tare.errors import PlanError, UsageError
from tare.measure.cases import FACTORS, Case, case_key, full_labels, operations
from tare.measure.plan.availability import canonical
from tare.measure.plan.reader import Block, Grow, Override, Statistics, is_level, read_plan

__all__ = ["PLANS", "Plan"]

PLANS = ("transports", "files", "load", "compress", "documents")
"""The named plans, one for each of the five studies."""

MAX_CASES = 100_000
MAX_FILE_BYTES = 1 << 20

Supports = Callable[[Mapping[str, str]], "str | None"]
"""Why the combination of these labels cannot be measured here; None if it can."""


@dataclass(frozen=True)
class Plan:
    """A study: which cases to measure, and how long.

    Args:
        name: Short name, as on the command line.
        question: What the study asks, one sentence.
        blocks: Their outer products, united, are the cases.
        exclude: Cases that match one of these are left out.
        overrides: Change the cases they match.
        grow: Sizes to grow through; None measures the sizes the blocks name.
        statistics: Launches, rounds and samples.
        source: File the plan was read from, or its name.
        notes: What of its file is not heeded, in sentences.

    >>> plan = Plan.from_dict({"plan": 1, "name": "mine", "block": [
    ...     {"dataset": ["data.csv"], "codec": ["csv:stdlib", "csv:pyarrow"], "medium": ["memory", "file"]}]})
    >>> len(plan.cases())
    4
    """

    name: str
    question: str = ""
    blocks: tuple[Block, ...] = ()
    exclude: tuple[Mapping[str, tuple[str, ...]], ...] = ()
    overrides: tuple[Override, ...] = ()
    grow: Grow | None = None
    statistics: Statistics = field(default_factory=Statistics)
    source: str = ""
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def named(cls, name: str) -> Plan:
        """One of the five studies: ``transports``, ``files``, ``load``, ``compress``, ``documents``.

        Raises:
            PlanError: There is no plan of that name; the text lists them.

        >>> Plan.named("load").statistics.launches
        5
        """
        if name not in PLANS:
            raise PlanError(
                f"there is no plan {name[:80]!r}; plans are {', '.join(PLANS)}, or a path to a .toml file"
            )
        text = (resources.files("tare.measure") / "plans" / f"{name}.toml").read_bytes()
        return cls.parse(text, f"{name}.toml")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Plan:
        """Read a plan file.

        Args:
            path: A TOML file, at most 1 MiB.

        Raises:
            PlanError: It is not a plan; file, key path and allowed values are named.
            OSError: It cannot be read.
        """
        with Path(path).open("rb") as file:
            text = file.read(MAX_FILE_BYTES + 1)
        if len(text) > MAX_FILE_BYTES:
            raise PlanError(f"{Path(path).name}: a plan has at most {MAX_FILE_BYTES} bytes")
        return cls.parse(text, Path(path).name)

    @classmethod
    def open(cls, name_or_path: str) -> Plan:
        """A named plan, or else a plan file.

        Raises:
            PlanError: Neither; or the file is not a plan.
        """
        if name_or_path in PLANS:
            return cls.named(name_or_path)
        if not Path(name_or_path).is_file():
            return cls.named(name_or_path)
        return cls.read(name_or_path)

    @classmethod
    def from_dict(cls, value: Mapping[str, Any], *, source: str = "plan") -> Plan:
        """A plan from what a TOML parser gives, or from ``record["plan"]``.

        Args:
            value: The plan's tables.
            source: Named in errors.

        Raises:
            PlanError: A key or a value is not known; the nearest known key is named.
        """
        read = read_plan(value, source)
        return cls(source=source, **read)

    @classmethod
    def parse(cls, text: bytes, source: str = "plan.toml") -> Plan:
        """A plan from the bytes of a TOML file.

        Args:
            text: UTF-8 TOML.
            source: Named in errors.

        Raises:
            PlanError: It is not a plan; file, key path and allowed values are named.
        """
        import tomllib

        try:
            value = tomllib.loads(text.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise PlanError(f"{source}: not UTF-8 text at byte {error.start}", offset=error.start) from error
        except RecursionError:
            raise PlanError(f"{source}: nested too deeply for a plan") from None
        except ValueError as error:  # tomllib's own error, and its int() of an overlong number
            raise PlanError(f"{source}: not TOML: {str(error)[:200]}") from error
        return cls.from_dict(value, source=source)

    def as_dict(self) -> dict[str, Any]:
        """The plan as the record holds it; `from_dict` reads it back."""
        found: dict[str, Any] = {"plan": 1, "name": self.name, "question": self.question}
        if self.grow is not None:
            found["grow"] = self.grow.as_dict()
        found["statistics"] = self.statistics.as_dict()
        found["block"] = [block.as_dict() for block in self.blocks]
        found["exclude"] = [{"where": {k: list(v) for k, v in where.items()}} for where in self.exclude]
        found["override"] = [override.as_dict() for override in self.overrides]
        return found

    def narrow(
        self,
        *,
        codecs: Iterable[str] | None = None,
        media: Iterable[str] | None = None,
        datasets: Iterable[str] | None = None,
        threads: Iterable[str] | None = None,
        where: Mapping[str, Iterable[str]] | None = None,
        stop_s: float | None = None,
    ) -> Plan:
        """The same plan with fewer levels, as ``--codec``, ``--medium`` and ``--where`` ask.

        Levels may end in ``*``, which keeps every one that begins so: ``json:*``.

        Args:
            codecs: Codec ids; each names one codec, with the library and the options that the id
                leaves out at their defaults. None keeps all.
            media: Media; None keeps all.
            datasets: Data sets; None keeps all.
            threads: ``1`` or ``all``; None keeps both.
            where: Levels of any factors, by name: ``{"content": ["rounded"]}``; None keeps all.
            stop_s: Where a growth curve ends, in seconds; None keeps the plan's.

        Raises:
            PlanError: Nothing is left, or there is no such factor.

        >>> {case.labels["codec"] for case in Plan.named("load").narrow(codecs=["json:orjson"]).cases()}
        {'json:orjson'}
        >>> pickles = Plan.named("load").narrow(codecs=["pickle,*"]).cases()
        >>> sorted({case.labels["codec"] for case in pickles})
        ['pickle,impl=python', 'pickle,protocol=0', 'pickle,protocol=2']
        """
        wanted = {
            "codec": None if codecs is None else tuple(map(canonical, codecs)),
            "medium": _levels(media),
            "dataset": _levels(datasets),
            "threads": _levels(threads),
        }
        more = {name: _levels(levels) for name, levels in (where or {}).items()}
        for name in more:
            if name not in FACTORS:
                raise PlanError(f"there is no factor {name[:80]!r}; factors are {', '.join(FACTORS)}")
        if more.get("codec"):
            more["codec"] = tuple(map(canonical, more["codec"] or ()))
        blocks = tuple(
            kept
            for block in self.blocks
            if (once := block.narrowed(wanted)) is not None and (kept := once.narrowed(more)) is not None
        )
        if not blocks:
            asked = ", ".join(
                level for levels in (*wanted.values(), *more.values()) for level in levels or ()
            )
            raise PlanError(f"{self.source}: the plan has no case with {asked[:200]}")
        grow = (
            replace(self.grow, stop_s=stop_s) if self.grow is not None and stop_s is not None else self.grow
        )
        return replace(self, blocks=blocks, grow=grow)

    def sizes(self) -> tuple[float, ...]:
        """The shares a growth plan goes through, smallest first; ``(1.0,)`` without growth."""
        return (1.0,) if self.grow is None else self.grow.sizes()

    def count(self) -> int:
        """An upper bound of the number of cases, found without making them."""
        sizes = len(self.sizes())
        return sum(block.product() * (1 if "size" in block.levels else sizes) for block in self.blocks)

    def cases(self, *, supports: Supports | None = None) -> list[Case]:
        """Every case of the plan, in the order of its blocks.

        Args:
            supports: Says for labels why that combination cannot be measured here, or
                None; such cases get the status ``n/a`` and the reason. None asks nobody.

        Raises:
            PlanError: More than 100,000 cases, or a combination that no case can have.

        >>> plan = Plan.named("transports").narrow(codecs=["rds:r"], media=["memory"])
        >>> len(plan.cases()), plan.cases()[0].labels["size"]
        (21, '0.001')
        """
        if self.count() > MAX_CASES:
            raise PlanError(f"{self.source}: {self.count()} cases; a plan has at most {MAX_CASES}")
        found: dict[str, Case] = {}
        verdicts: dict[str, str | None] = {}
        for number, block in enumerate(self.blocks, 1):
            for labels in self._products(block, number):
                if any(matches(where, labels) for where in self.exclude):
                    continue
                key = case_key(labels)
                made = Case(key, labels, operations=block.operations or operations(labels))
                if supports is not None:
                    made = _supported(made, supports, verdicts)
                made = self._overridden(made)
                found.pop(key, None)  # the later block replaces it, in its own place
                found[key] = made
        return list(found.values())

    def _products(self, block: Block, number: int) -> Iterable[dict[str, str]]:
        levels = dict(block.levels)
        if "size" not in levels:
            levels["size"] = tuple(f"{size:g}" for size in self.sizes())
        # The size varies fastest, so that a curve's cases stand together.
        names = [name for name in levels if name != "size"] + ["size"]
        for combination in itertools.product(*(levels[name] for name in names)):
            try:
                yield full_labels(dict(zip(names, combination, strict=True)))
            except UsageError as error:
                raise PlanError(f"{self.source}: block[{number}]: {error}") from error

    def _overridden(self, case: Case) -> Case:
        for override in self.overrides:
            if not matches(override.where, case.labels):
                continue
            case = replace(
                case,
                note=override.note or case.note,
                operations=override.operations or case.operations,
                launches=override.launches or case.launches,
                rounds=override.rounds or case.rounds,
            )
            above = override.max_size is not None and case.size > override.max_size * (1 + 1e-9)
            if above and case.status == "pending":
                why = f": {override.note}" if override.note else ""
                case = replace(case, status="n/a", reason=f"not run above size {override.max_size:g}{why}")
        return case


def matches(where: Mapping[str, tuple[str, ...]], labels: Mapping[str, str]) -> bool:
    """Whether labels are of those a ``where`` table means; a level may end in ``*``.

    >>> matches({"codec": ("yaml:*",)}, {"codec": "yaml:ruamel", "medium": "file"})
    True
    """
    return all(
        any(is_level(pattern, labels.get(name, "")) for pattern in patterns)
        for name, patterns in where.items()
    )


def _levels(wanted: Iterable[str] | None) -> tuple[str, ...] | None:
    return None if wanted is None else tuple(wanted)


def _supported(case: Case, supports: Supports, verdicts: dict[str, str | None]) -> Case:
    curve = case.curve  # whether a combination can be measured does not depend on the size
    if curve not in verdicts:
        verdicts[curve] = supports(case.labels)
    reason = verdicts[curve]
    return case if reason is None else replace(case, status="n/a", reason=reason)
