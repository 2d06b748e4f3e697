"""Results: one saved run as an object. Everything is computed from its record."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, overload

from tare.codec.route_ids import codec_part
from tare.codec.titles import title_of
from tare.errors import MissingLibrary, UsageError
from tare.kinds import convert, memory_kind
from tare.measure.records.record import DERIVED_VERSION, MAX_BYTES, parse_record, write_record
from tare.measure.result_rows import Rows, arrow_table, pandas_frame, rows_of
from tare.route import RECEIVE_BYTES, Route

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

__all__ = ["Best", "Recommendation", "Result", "load"]

# Kinds of table that data is given in, and that reading then ends in.
_KINDS = ("arrow", "pandas", "polars")


@dataclass(frozen=True)
class Recommendation:
    """What to use, and how sure that is.

    Args:
        profile: The use it is for: ``keep``, ``cache``, ``archive``, ``exchange``, ``message`` or ``random``.
        route_id: Route to use; empty when no winner can be named.
        runner_up: Route or codec that comes next; empty if there is none.
        p_best: Share of the draws in which the winner costs least, 0 to 1; None if nobody won.
        tie: Codecs that cannot be told from the winner.
        named: Whether a winner is named at all; else the tie group is.
        sentence: The answer in words.
        reasons: Why.
        flips: What would change it, each with ``text, axis, at, lo, hi, codec``.
        excluded: Who was left out, each with ``codec, reason``.
        executes_code: Whether reading the route's format runs code that the bytes name.
        detail: Everything, as the record holds it.
        kind: Kind of table that the data was given in and that reading ended in: ``arrow``, ``pandas``, ``polars``;
            empty for files and documents.
    """

    profile: str
    route_id: str = ""
    runner_up: str = ""
    p_best: float | None = None
    tie: tuple[str, ...] = ()
    named: bool = True
    sentence: str = ""
    reasons: tuple[str, ...] = ()
    flips: tuple[Mapping[str, Any], ...] = ()
    excluded: tuple[Mapping[str, Any], ...] = ()
    executes_code: bool = False
    detail: Mapping[str, Any] | None = None
    kind: str = ""

    @property
    def route(self) -> Best:
        """The recommended route, ready to write, read, send and receive; it carries its confidence.

        Raises:
            UsageError: No route qualifies; the text says why.
        """
        if not self.route_id:
            raise UsageError(self.sentence or f"no route qualifies for {self.profile}")
        return Best(self.route_id, recommendation=self, kind=self.kind)


class Best(Route):
    """A recommended route, and how sure the recommendation is.

    A table of pandas, polars or Arrow that was measured as it was given comes back as what it was: `decode`, `read`
    and `receive` end in that kind, which was part of what was measured. Of a file they end in the codec's own kind.

    Args:
        text: Route id.
        recommendation: What recommends it.
        kind: Kind of table that reading ends in: ``arrow``, ``pandas`` or ``polars``; the codec's own by default.

    >>> best = Best("arrow:pyarrow@file", recommendation=Recommendation("cache", detail={"confidence": "clear"}))
    >>> str(best), str(best.codec), best.confidence
    ('arrow:pyarrow@file', 'arrow:pyarrow', 'clear')
    """

    __slots__ = ("kind", "recommendation")

    kind: str
    recommendation: Recommendation

    def __init__(self, text: str, *, recommendation: Recommendation, kind: str = "") -> None:
        super().__init__(text)
        object.__setattr__(self, "recommendation", recommendation)
        object.__setattr__(self, "kind", kind if kind in _KINDS else "")

    def __repr__(self) -> str:
        found = self.recommendation
        return f"Best({str(self)!r}, use={found.profile!r}, confidence={self.confidence!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Best, recommendation=self.recommendation, kind=self.kind), (str(self),)

    def decode(
        self, data: bytes | bytearray | memoryview, *, trust: bool = False, max_bytes: int | None = None
    ) -> Any:
        """Decode bytes to the kind that was measured; see `Route.decode`."""
        return self._as_given(super().decode(data, trust=trust, max_bytes=max_bytes))

    def receive(self, conn: Any, *, trust: bool = False, max_bytes: int = RECEIVE_BYTES) -> Any:
        """Receive one value in the kind that was measured; see `Route.receive`."""
        return self._as_given(super().receive(conn, trust=trust, max_bytes=max_bytes))

    def _as_given(self, value: Any) -> Any:
        """A table in the kind that it was given in; anything else as it is."""
        return convert(value, self.kind) if self.kind and memory_kind(value) != "python" else value

    @property
    def confidence(self) -> str:
        """Confidence that no other codec costs less: ``clear``, ``close`` or ``can't tell``."""
        return str((self.recommendation.detail or {}).get("confidence") or "can't tell")


class Result:
    """One saved run.

    Args:
        record: A record, version 1 or 2; ``derived`` is computed if it is missing.

    >>> Result({"cases": []}).cases
    []
    """

    def __init__(self, record: dict[str, Any]) -> None:
        self.record = record

    def __repr__(self) -> str:
        name = (self.record.get("dataset") or {}).get("name", "")
        found = self.recommend().detail or {}
        for_what = f" for {found['profile']}" if found.get("profile") else ""
        best = title_of(str(found["codec"])) if found.get("codec") else "no recommendation"
        measured = len({row["codec"] for row in self.table()})
        return f"<Result of {name!r}{for_what}: {best}; {measured} codecs measured>"

    def __str__(self) -> str:
        """Returns what `tare measure` prints, without colours."""
        from tare.report.terminal import render

        return render(self).rstrip("\n")

    def _repr_html_(self) -> str:
        """The verdict and its table, for notebooks."""
        from tare.report.html import fragment

        return fragment(self)

    @overload
    def html(self, path: None = None, *, use: str | None = None) -> str: ...
    @overload
    def html(self, path: str | os.PathLike[str], *, use: str | None = None) -> Path: ...
    def html(self, path: str | os.PathLike[str] | None = None, *, use: str | None = None) -> str | Path:
        """Write the report as one HTML file, as ``tare report --html`` does; without a path return the page as text.

        Args:
            path: The file, replaced if it exists; folders are made.
            use: Use that is shown first; by default the run's own.

        Returns:
            Where it is; without a path the page.

        Raises:
            OSError: The file cannot be written.
        """
        from tare.atomic import make_folders, write_atomic
        from tare.report.html import render

        page = render(self, profile=use)
        if path is None:
            return page
        make_folders(os.fspath(path))
        write_atomic(path, page.encode())
        return Path(path)

    def to_pandas(self, *, medium: str | None = None, all: bool = False) -> pd.DataFrame:
        """Returns the rows of `table` as a data frame of pandas; numbers of bytes are ``Int64``, times ``float64``.

        Raises:
            MissingLibrary: pandas is not installed.
        """
        return pandas_frame(self.table(medium=medium, all=all))

    def to_polars(self, *, medium: str | None = None, all: bool = False) -> pl.DataFrame:
        """Returns the rows of `table` as a data frame of polars.

        Raises:
            MissingLibrary: polars or pyarrow is not installed.
        """
        try:
            import polars as pl
        except ImportError as error:
            raise MissingLibrary("a data frame needs polars. Install it with: pip install polars") from error
        frame = pl.from_arrow(self.to_arrow(medium=medium, all=all))
        assert isinstance(frame, pl.DataFrame)  # of a table, never a series
        return frame

    def to_arrow(self, *, medium: str | None = None, all: bool = False) -> pa.Table:
        """Returns the rows of `table` as a `pyarrow.Table`.

        Raises:
            MissingLibrary: pyarrow is not installed.
        """
        return arrow_table(self.table(medium=medium, all=all))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows of `table` for whatever reads Arrow: ``polars.DataFrame(result)``, ``pyarrow.table(result)``."""
        stream: object = self.to_arrow().__arrow_c_stream__(requested_schema)  # type: ignore[no-untyped-call]
        return stream

    @classmethod
    def load(cls, source: str | os.PathLike[str] | BinaryIO) -> Result:
        """Read a record, or the journal of a run that was cut short.

        Args:
            source: A ``*.tare.json``, ``*.tare.json.zst`` or ``*.tare.jsonl`` path, or a binary file.

        Raises:
            RecordError: Not a record, damaged, above a limit, or of a newer version.
            OSError: The file cannot be read.
        """
        from tare.measure.records.journal import parse_journal

        if isinstance(source, (str, os.PathLike)):
            place = Path(source)
            packed = place.with_name(f"{place.name}.zst")
            place = packed if packed.exists() and not place.exists() else place
            with place.open("rb") as file:
                data, name = file.read(MAX_BYTES + 1), place.name
        else:
            data, name = source.read(MAX_BYTES + 1), "record"
        record = parse_journal(data, name) if _is_journal(data) else parse_record(data, name)
        return cls(record)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Save the record: written under a temporary name, then renamed.

        Args:
            path: Where; above 4 MiB ``.zst`` is added to the name.

        Returns:
            Where it is.

        Raises:
            OSError: The file cannot be written.
        """
        _ = self.derived
        return write_record(self.record, path)

    @property
    def derived(self) -> dict[str, Any]:
        """Figures computed from the raw samples; computed now if the record has none."""
        derived = self.record.get("derived")
        if not derived or (derived.get("version") or 0) < DERIVED_VERSION:
            from tare.measure.derive import derive

            derived = self.record["derived"] = derive(self.record)
        return dict(derived)

    @property
    def cases(self) -> list[dict[str, Any]]:
        """Every case of the record, with its labels, status, proof and raw samples."""
        return list(self.record["cases"])

    @property
    def fidelity(self) -> dict[str, Any]:
        """What came back changed: ``probes`` by set, codec and probe; ``own`` data by codec."""
        return dict(self.record.get("fidelity") or {})

    @property
    def best(self) -> Best:
        """The recommended route for the run's own use, with its confidence; of another use ``recommend(use).route``.

        Raises:
            UsageError: No route qualifies.
        """
        return self.recommend().route

    def case(self, key: str) -> dict[str, Any]:
        """The case with that key, or the weighed one of that codec.

        Args:
            key: A case's key, or a codec id.

        Raises:
            UsageError: There is none; near keys are listed.
        """
        found = [case for case in self.cases if case["key"] == key]
        if not found:
            key = codec_part(key)
            worth = {"weigh": 0, "growth": 1, "screen": 2}
            named = [
                case
                for case in self.cases
                if case["labels"].get("codec") == key and "twin" not in case["labels"]
            ]
            found = sorted(named, key=lambda case: worth.get(case.get("stage") or "", 3))
        if not found:
            from difflib import get_close_matches

            names = sorted({case["labels"].get("codec", "") for case in self.cases})
            near = get_close_matches(key, names, cutoff=0.4)
            raise UsageError(f"the record has no case {key[:200]!r}; it has {', '.join(near or names[:10])}")
        return found[0]

    def samples(self, case: str | Mapping[str, Any]) -> list[dict[str, Any]]:
        """Every raw sample of a case, one row each, with times per call.

        Args:
            case: A case, its key, or a codec id.

        Returns:
            Rows with ``launch, op, round, position, batch`` and the clocks' totals of the
            batch in nanoseconds, and ``per_call_ns``, the wall time of one call.

        Raises:
            UsageError: There is no such case.
        """
        found = self.case(case) if isinstance(case, str) else case
        rows = []
        for launch in found.get("launches", ()):
            for operation, columns in launch["samples"].items():
                for place in range(max(map(len, columns.values()), default=0)):
                    row = {"launch": launch["n"], "op": operation}
                    row |= {name: column[place] for name, column in columns.items()}
                    if row.get("wall_ns") is not None and row.get("batch"):
                        row["per_call_ns"] = row["wall_ns"] / row["batch"]
                    rows.append(row)
        return rows

    def recommend(
        self,
        profile: str | None = None,
        *,
        allow_loss: Sequence[str] = (),
        must: Sequence[str] = (),
        link: str | None = None,
        gb_seconds: float | None = None,
        weights: tuple[float, float] | None = None,
    ) -> Recommendation:
        """Recommend one route for a use.

        Args:
            profile: ``keep``, ``cache``, ``archive``, ``exchange``, ``message`` or ``random``; None for
                the one the run was made for.
            allow_loss: Columns or paths whose silent change is put up with.
            must: Hard constraints: ``keep-types``, ``untrusted``, ``append``, ``subset``, ``readable:LANGUAGE``.
            link: ``RATE,RTT`` that the bytes go over, as ``1Gbit,0.3ms``.
            gb_seconds: Seconds worth spending to save 1 GB.
            weights: (writes, reads) instead of the profile's own.

        Raises:
            UsageError: A profile, constraint or link that does not exist.
        """
        derived = self.derived
        name = profile or derived.get("headline_profile")
        if (
            allow_loss
            or must
            or link
            or gb_seconds is not None
            or weights
            or name not in (derived.get("profiles") or {})
        ):
            from tare.measure.verdict.recommend import recommend

            found = recommend(
                self.record,
                profile=name,
                allow_loss=allow_loss,
                must=must,
                link=link,
                gb_seconds=gb_seconds,
                weights=weights,
            )
        else:
            found = derived["profiles"][name]
        return self._recommendation(found)

    def table(self, *, medium: str | None = None, all: bool = False) -> Rows:
        """The measured codecs, a row each; of a plan a row for each combination of levels.

        The recommended codec comes first, then the others by what they cost in the run's own use, as in the answer.
        What does not qualify for the use follows, the least total time first.

        Sizes and times are of the data as it was measured: of a part where only a part was, and of one call for all
        of it. Those of the whole, and of one message, stand in ``recommend().detail["figures"]``.

        Args:
            medium: Only this medium; None for all.
            all: Whether there are rows of the codecs that were not measured, or failed, too; they come last.

        Returns:
            A list of dicts, which shows itself as a table of names, sizes, times and what was kept. Each has these
            values, None where there is none:

            ``name``, ``codec``: for people, and the id.
            ``medium``, ``delivery``, ``size``: where the bytes went, how, and the share of the loaded data, as a text.
            ``grain``: ``whole``, or ``each`` where each item of a list was encoded by a call of its own.
            ``key``, ``stage``: the case in the record.
            ``status``, ``reason``: ``ok`` or ``lossy``; of what was not measured what happened, and why.
            ``bytes``: encoded size in bytes.
            ``write_ns``, ``read_ns``, ``total_ns``: of one write, one read, and both, in nanoseconds.
            ``ratio``, ``ratio_lo``, ``ratio_hi``: the total as a multiple of the base's, with its interval.
            ``letters``: codecs that share one cannot be told apart by their total.
            ``peak_bytes``: most memory that writing or reading took, in bytes, where it was measured.
            ``kept``: what came back, e.g. ``all``, ``1 silent``, or of data frames ``2/2, not the index``.
        """
        derived = self.derived
        found = (derived.get("profiles") or {}).get(derived.get("headline_profile")) or {}
        costs = {codec: float(cost[0]) for codec, cost in (found.get("cost_s") or {}).items()}
        if best := found.get("codec"):
            costs[best] = -1.0  # first, also where another that is less used costs a little less
        return rows_of(self.cases, derived.get("cases") or {}, costs, medium=medium, every=all)

    def growth(self) -> list[dict[str, Any]]:
        """Exponent, prediction and points of each curve: one row per codec, medium and operation."""
        return list(self.derived.get("growth") or ())

    def crossings(self) -> list[dict[str, Any]]:
        """Bandwidths at which two routes change places, with their intervals, in bytes/s."""
        return list(self.derived.get("crossings") or ())

    def pareto(self) -> list[dict[str, Any]]:
        """Cases that no other beats in size, write and read at once."""
        return [self.case(key) for key in self.derived.get("pareto") or ()]

    def _recommendation(self, found: Mapping[str, Any]) -> Recommendation:
        codec = found.get("codec") or ""
        flags = ((self.record.get("codecs") or {}).get(codec) or {}).get("flags") or {}
        return Recommendation(
            profile=str(found.get("profile") or ""),
            route_id=self._route_id(found),
            runner_up=str(found.get("runner_up") or ""),
            p_best=found.get("p_best"),
            tie=tuple(found.get("tie") or ()),
            named=bool(found.get("named", True)),
            sentence=str(found.get("sentence") or ""),
            reasons=tuple(found.get("reasons") or ()),
            flips=tuple(found.get("flips") or ()),
            excluded=tuple(found.get("excluded") or ()),
            executes_code=bool(flags.get("executes_code")),
            detail=dict(found),
            kind=self._kind(found),
        )

    def _kind(self, found: Mapping[str, Any]) -> str:
        """The kind of table in which the recommended case began and ended; empty if it was the codec's own."""
        kinds = (case["labels"].get("kind") for case in self.cases if case["key"] == found.get("key"))
        kind = str(next(kinds, None) or "")
        return kind if kind in _KINDS else ""

    def _route_id(self, found: Mapping[str, Any]) -> str:
        """The recommended route with the threads, framing and sync that its case was measured with."""
        route = str(found.get("route") or "")
        case = next((case for case in self.cases if case["key"] == found.get("key")), None)
        if not route or case is None:
            return route
        defaults = {"delivery": "whole", "sync": "none", "threads": "1"}
        told = ((name, case["labels"].get(name, default)) for name, default in defaults.items())
        extras = "".join(f",{name}={level}" for name, level in told if level != defaults[name])
        return route if "," in route.partition("@")[2] else f"{route}{extras}"


def load(source: str | os.PathLike[str] | BinaryIO) -> Result:
    """Read a saved run; see `Result.load`.

    Raises:
        RecordError: Not a record, damaged, above a limit, or of a newer version.
        OSError: The file cannot be read.
    """
    return Result.load(source)


def _is_journal(data: bytes) -> bool:
    from tare.measure.records.journal import is_journal

    return is_journal(data[:200])
