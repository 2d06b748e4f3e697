"""Measures the goals of ``definitions/regret.toml``: how right the recommendations of ``tare measure`` are.

Regret is the cost, by the oracle's figures, of the codec that is recommended, over the least cost of any eligible
codec. One run of the command a dataset answers all uses. The oracle is ``oracle.py``, the formulas and the
uses are ``uses.py``, the data is ``data.py``, the commands are ``answers.py``.

Variables: ``REGRET_ONLY`` names datasets by patterns, separated by commas; ``REGRET_TIME`` is the limit of each
run, 20s by default, and the command's own if it is empty; ``REGRET_SECONDS`` is how long the oracle times a direction of a
codec; ``REGRET_CACHE`` is where data, figures and answers are kept; ``REGRET_REUSE=1`` takes the last run's answers.
"""

from __future__ import annotations

import functools
import math
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from regret import timeit_check
from regret.answers import Answer, asked, reported, settled, verdicts, weights
from regret.data import CACHE, Dataset, csv_of_bytes, selected
from regret.machine import file_rate, rates
from regret.oracle import ALONE, SHORTLIST, oracle, oracle_of_lines, true_times
from regret.uses import (
    Choice,
    Figures,
    calibration,
    cost,
    eligible,
    factor,
    judge,
    median,
    quantile,
    uses_of,
)

SIZE_WHOLE, SIZE_BLOCKS = 0.01, 0.03  # how far the size of the whole may be off
CSV_BYTES = {"10MB": 10_000_000, "100MB": 100_000_000, "2GB": 2_000_000_000}
FREE_BYTES = 6_000_000_000  # on disk, for the largest CSV and what the command writes of it
LIMIT = {"answers": os.environ.get("REGRET_TIME", "20s"), "timeit": "20s"}


@dataclass(frozen=True)
class Cell:
    """One dataset in one use.

    Args:
        dataset: Its name.
        use: The use.
        codec: What was recommended; empty if nothing was.
        word: The confidence in words.
        choice: What the oracle says of it.
    """

    dataset: str
    use: str
    codec: str
    word: str
    choice: Choice

    def line(self) -> str:
        """Returns the cell as a line of the table."""
        regret = "-" if self.choice.regret is None else f"{self.choice.regret:.3f}"
        second = f"{self.choice.second:.2f}" if math.isfinite(self.choice.second) else "-"
        wrong = f" | not eligible: {self.choice.wrong}" if self.choice.wrong else ""
        named = self.codec or "none"
        return f"{self.dataset} | {self.use} | {named} | {self.choice.best} | {regret} | {second} | {self.word}{wrong}"


HEADER = "dataset | use | recommended | best | regret | second best | word"
CELLS: dict[str, list[Cell]] = {}


def quick() -> None:
    """Three small datasets and little time: whether everything runs, not how right it is."""
    os.environ.setdefault("REGRET_ONLY", "seattle-weather,senators,books")
    LIMIT.update(answers="6s", timeit="4s")
    CSV_BYTES.update({"10MB": 1_000_000, "100MB": 2_000_000, "2GB": 3_000_000})


def about() -> dict[str, Any]:
    """Returns what the record holds beside the goals: every cell, and the oracle's figures."""
    if not CELLS:
        return {}
    return {
        "datasets": [one.name for one in selected()],
        "limit": LIMIT["answers"],
        "file_mb_per_s": round(file_rate() / 1e6),
        "oracle_alone": {load: _alone(load) for load in CELLS},
        "cells": {load: [HEADER, *(cell.line() for cell in cells)] for load, cells in CELLS.items()},
        "oracle": {one.name: _listed(_candidates(one)) for one in selected()},
    }


def _alone(load: str) -> dict[str, float]:
    """Returns the regret of choosing by a single process of each codec: what the machine's own variation costs."""
    found = []
    for dataset in selected():
        for name, use in uses_of(verdicts(answer(dataset, load).record)).items():
            true = figures(dataset, load, name)
            once = ALONE[dataset.name, dataset.kind == "lines" and name == "message"]
            costs = {id: cost(use, one, file_rate()) for id, one in once.items() if eligible(id, use, one)}
            costs = {id: value for id, value in costs.items() if math.isfinite(value)}
            choice = judge(use, min(costs, key=costs.__getitem__), true, file_rate()) if costs else None
            if choice is not None and choice.regret is not None:
                found.append(choice.regret)
    return {
        "median": round(median(found), 3),
        "95 %": round(quantile(found, 0.95), 3),
        "worst": round(max(found, default=math.nan), 3),
    }


def _listed(found: dict[str, Figures]) -> list[str]:
    """The oracle's figures as lines: codec, bytes, encode and decode in microseconds, and what is wrong."""
    lines = []
    for id, one in found.items():
        if one.failed:
            lines.append(f"{id} | failed: {one.failed}")
            continue
        odd = " | far behind" if one.behind else ""
        odd += f" | changes {one.lost}" if one.lost else ""
        lines.append(f"{id} | {one.bytes:.0f} | {one.encode_s * 1e6:.4g} | {one.decode_s * 1e6:.4g}{odd}")
    return lines


def epilogue() -> None:
    """Prints every cell, and what the words are worth; remove the largest file."""
    for load, several in CELLS.items():
        print(f"\n{load}: regret of choosing by one process of each codec: {_alone(load)}")
        print(f"\n{load}: {HEADER}")
        for cell in several:
            print(cell.line())
        for word, (right, count) in sorted(calibration((c.word, c.choice) for c in several)[2].items()):
            print(f"{load}: {word}: {right} of {count} right")
    (CACHE / "data" / f"flights-{CSV_BYTES['2GB'] // 1_000_000}MB.csv").unlink(missing_ok=True)


# --- answers and cells -----------------------------------------------------------------------


@functools.cache
def _candidates(dataset: Dataset) -> dict[str, Figures]:
    return oracle(dataset)


@functools.cache
def answer(dataset: Dataset, load: str) -> Answer:
    """Returns the answer for a dataset; all of the oracle's figures come first, on the quiet machine."""
    for one in selected():
        _candidates(one)
    return asked(dataset.name, dataset.path(), load, limit=LIMIT["answers"])


@functools.cache
def figures(dataset: Dataset, load: str, use: str) -> dict[str, Figures]:
    """Returns the oracle's figures of the candidates and of all that was recommended."""
    named = {id for id, _ in verdicts(answer(dataset, load).record).values() if id}
    # A line is a message; everything else is used whole.
    each = dataset.kind == "lines" and use == "message"
    return (oracle_of_lines if each else oracle)(dataset, tuple(sorted(named)))


def cells(load: str) -> list[Cell]:
    """Returns every cell of a load, judged."""
    if load not in CELLS:
        CELLS[load] = [cell for dataset in selected() for cell in _cells(dataset, load)]
    return CELLS[load]


def _cells(dataset: Dataset, load: str) -> Iterator[Cell]:
    answers = verdicts(answer(dataset, load).record)
    for name, use in uses_of(answers).items():
        codec, word = answers.get(name, (None, "can't tell"))
        if use.optional and codec is None:
            continue
        choice = judge(use, codec, figures(dataset, load, name), file_rate())
        if choice is not None:
            yield Cell(dataset.name, name, codec or "", word, choice)


def _regrets(load: str) -> list[float]:
    return [cell.choice.regret for cell in cells(load) if cell.choice.regret is not None]


# --- goals: regret and words --------------------------------------------------------------------


def median_regret(load: str) -> float:
    """Returns the median of the regret of all cells."""
    return median(_regrets(load))


def regret_95(load: str) -> float:
    """Returns the regret that 95 % of the cells do not exceed."""
    return quantile(_regrets(load), 0.95)


def worst_regret(load: str) -> float:
    """Returns the largest regret."""
    return max(_regrets(load), default=math.nan)


def not_eligible(load: str) -> float:
    """Returns how many cells have no recommendation, or one that changes values or does not satisfy the use."""
    return sum(bool(cell.choice.wrong) for cell in cells(load))


def clear_right(load: str) -> float:
    """Returns the share of verdicts called clear that are right."""
    return calibration((cell.word, cell.choice) for cell in cells(load))[0]


def clear_called(load: str) -> float:
    """Returns the share called clear of the cells whose second best is far behind the best."""
    return calibration((cell.word, cell.choice) for cell in cells(load))[1]


def weights_agree(load: str) -> float:
    """Returns how many verdicts were computed with other weights than the table of uses has."""
    wrong = 0
    for dataset in selected():
        record = answer(dataset, load).record
        for name, use in uses_of(verdicts(record)).items():
            has = weights(record, name)
            same = (has.get("w"), has.get("r"), has.get("n")) == (use.writes, use.reads, use.parts)
            wrong += bool(has) and not (same and math.isclose(has["s"] * 1e9, use.price, abs_tol=1e-9))
    return wrong


# --- goals: figures -----------------------------------------------------------------------------


def sizes(load: str) -> tuple[float, float, float, dict[str, Any]]:
    """Returns the largest error of a size of the whole, over what is allowed of it: measured whole, or in blocks."""
    worst, where = 0.0, ""
    for dataset in selected():
        true = figures(dataset, load, "")
        for id, one in reported(answer(dataset, load).record).items():
            if not _known(true.get(id)) or not math.isfinite(one.bytes):
                continue
            allowed = SIZE_WHOLE if one.whole else SIZE_BLOCKS
            error = abs(one.bytes / true[id].bytes - 1) / allowed
            if error > worst:
                worst, where = error, f"{dataset.name} {id}: {one.bytes:.0f} for {true[id].bytes:.0f} bytes"
    return worst, 1, worst, {"detail": where}


def _known(one: Figures | None) -> bool:
    """Returns true if the oracle's figures are exact: those of codecs far behind are not."""
    return one is not None and not one.failed and not one.behind


def times(load: str) -> tuple[float, float, float, dict[str, Any]]:
    """Returns the factor by which 90 % of the times of the whole are off at most, over the shortlist."""
    found = []
    for dataset in selected():
        true = figures(dataset, load, "")
        listed = shortlist_of(dataset)
        for id, one in reported(answer(dataset, load).record).items():
            if id not in listed or not _known(true.get(id)):
                continue
            for operation, seconds in true_times(true[id]).items():
                if operation in one.times:
                    off = factor(one.times[operation], seconds)
                    found.append((off, f"{dataset.name} {id} {operation}"))
    limit = 1.25 if load == "quiet" else 1.5
    ours = quantile([off for off, _ in found], 0.9)
    detail = {"figures": len(found), "detail": [f"{where}: {off:.2f}" for off, where in sorted(found)[-5:]]}
    return ours, limit, ours / limit, detail


def ns_a_call() -> tuple[float, float, float, dict[str, Any]]:
    """Returns the largest factor between a time that is reported and ``timeit`` of the same call."""
    rows = timeit_check.compared(LIMIT["timeit"])
    offs = [factor(row["ours"] or 0.0, row["timeit"]) for row in rows]
    near = sum(off <= 1.10 for off in offs) / len(offs)
    known = [off for off in offs if math.isfinite(off)]
    worst = max(offs)
    detail = {
        "within_10_percent": round(near, 3),
        "reported": f"{len(known)} of {len(offs)}",
        "median": round(median(known), 4) if known else None,
        "calls": [
            f"{row['codec']} {row['op']} {row['size']} B: "
            f"{'-' if row['ours'] is None else format(row['ours'] * 1e9, '.4g')} ns, timeit {row['timeit'] * 1e9:.4g}"
            for row in rows
        ],
    }
    # What is not reported at all is far off; JSON has no infinity.
    worst = worst if math.isfinite(worst) else 1e9
    return worst, 1.10, worst / 1.10, detail


def shortlist_of(dataset: Dataset) -> list[str]:
    """Returns the codecs of the shortlist that are installed."""
    from tare import Codec

    of = "table" if dataset.kind == "table" else "document"
    return [str(codec) for codec in map(Codec.parse, SHORTLIST[of]) if codec.installed]


def shortlist_measured(load: str) -> tuple[float, float, float, dict[str, Any]]:
    """Returns the smallest share of the installed shortlist that a record has figures of, or a lasting reason."""
    worst, where = 1.0, ""
    for dataset in selected():
        wanted = shortlist_of(dataset)
        done = settled(answer(dataset, load).record)
        share = sum(id in done for id in wanted) / len(wanted)
        if share < worst:
            worst, where = (
                share,
                f"{dataset.name}: without {', '.join(id for id in wanted if id not in done)}",
            )
    goal = 1.0 if load == "quiet" else 0.8
    return worst, goal, worst / goal, {"detail": where}


# --- goals: time to an answer ---------------------------------------------------------------------


@functools.cache
def _of_csv(size: str, load: str) -> Answer:
    if shutil.disk_usage(CACHE.parent if CACHE.parent.exists() else "/").free < FREE_BYTES:
        raise RuntimeError("not enough room on disk for the largest CSV")
    found = asked(f"csv-{size}", csv_of_bytes(CSV_BYTES[size]), load)
    if found.failed:
        raise RuntimeError(found.failed)
    return found


def first_answer(size: str, load: str) -> float:
    """Returns the seconds to the first verdict on a CSV, imports and opening included; the limit is the command's own."""
    first = _of_csv(size, load).first_s
    if first is None:
        raise RuntimeError("no verdict came before the end")
    return first


def final_answer(size: str, load: str) -> float:
    """Returns the seconds of the whole command on a CSV."""
    return _of_csv(size, load).elapsed_s


def limit_kept(load: str) -> tuple[float, float, float, dict[str, Any]]:
    """Returns by how many seconds a command went on beyond its limit, at most."""
    worst, where = -math.inf, ""
    for dataset in selected():
        one = answer(dataset, load)
        if one.limit_s and one.elapsed_s - one.limit_s > worst:
            worst, where = (
                one.elapsed_s - one.limit_s,
                f"{dataset.name}: {one.elapsed_s:.2f} of {one.limit_s:.0f} s",
            )
    if not math.isfinite(worst):
        raise RuntimeError("no command named its limit")
    goal = 1.0 if load == "quiet" else 2.0
    return worst, goal, worst / goal, {"detail": where, "file": {k: v[0] for k, v in rates().items()}}
