"""Trials: which codec is tried next, and which no more."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tare import formats
from tare.codec import Codec
from tare.measure.settings import Settings
from tare.measure.stages.trials import Trials, _group

ORJSON, STDLIB, PICKLE = (Codec.parse(id) for id in ("json:orjson", "json:stdlib", "pickle"))


def test_no_trial_begins_that_would_end_after_the_limit():
    """By what the trials before took; the base is tried all the same, for nothing is said without it."""
    session = SimpleNamespace(
        elapsed_s=18.0, base=STDLIB, settings=Settings(), limit_s=lambda share: 20.0 * share
    )
    seats = [SimpleNamespace(codec=codec, tried_s=took) for codec, took in ((PICKLE, 3.0), (ORJSON, 0.0))]
    base = SimpleNamespace(codec=STDLIB, tried_s=0.0)
    waiting: Any = Trials(session, [*seats, base], None)  # type: ignore[arg-type]
    assert [waiting._due(seat, 19.0, True) for seat in (seats[1], base)] == [False, True]
    seats[0].tried_s = 1.0
    assert waiting._due(seats[1], 19.0, True)


def test_a_table_is_tried_as_text_last():
    """Unless it is the user's own format: NDJSON took a third of the first pass, and was never the best."""
    session = SimpleNamespace(
        elapsed_s=1.0,
        base=STDLIB,
        settings=Settings(),
        limit_s=lambda share: 20.0 * share,
        dataset=SimpleNamespace(format=formats.get("csv")),
    )
    ids = ("ndjson:polars+zstd:3", "csv:pyarrow+zstd:3", "csv:pyarrow", "parquet:polars", "orc:pyarrow")
    part = SimpleNamespace(kind="table")
    seats: list[Any] = [
        SimpleNamespace(
            codec=Codec.parse(id),
            part=part,
            language="",
            kind="arrow",
            tried_s=0.0,
            worker=None,
            leaks=False,
            case={"labels": {"codec": id}},
        )
        for id in ids
    ]
    trials = Trials(session, seats, part)  # type: ignore[arg-type]
    taken: list[Any] = []
    while seat := trials._next(19.0, True):
        taken.append(str(seat.codec))
        trials._leave(_group(seat))
    assert taken == [
        "csv:pyarrow",
        "parquet:polars",
        "orc:pyarrow",
        "ndjson:polars+zstd:3",
        "csv:pyarrow+zstd:3",
    ]
