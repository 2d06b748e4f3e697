"""Trials: which codec is tried next, and which no more."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from tare import formats
from tare.codec import Codec
from tare.measure.cases import NOT_REACHED
from tare.measure.settings import Settings
from tare.measure.stages.measurement import _in_turn
from tare.measure.stages.trials import Trials, _group

BOTH = ("encode", "decode")
TIMED: dict[str, Any] = {"encode": {}, "decode": {}}
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


@pytest.mark.parametrize(
    ("timed", "elapsed_s", "due"),
    [(2, 19.0, True), (2, 20.9, True), (2, 21.0, False), (1, 29.0, True), (1, 30.0, False), (3, 19.0, False)],
)
def test_one_codec_is_no_answer(timed, elapsed_s, due):
    """Until three have been timed the next is tried though the pass is over, and a second beyond the limit; until two, half of it."""
    session = SimpleNamespace(
        elapsed_s=3.0, base=STDLIB, settings=Settings(), limit_s=lambda share: 20.0 * share
    )

    def seat(codec: Codec, samples: dict[str, Any], grain: str = "whole") -> Any:
        labels = {} if grain == "whole" else {"grain": grain}
        return SimpleNamespace(
            codec=codec,
            tried_s=3.0 * bool(samples),
            samples=samples,
            operations=BOTH,
            case={"labels": labels},
        )

    several = [seat(PICKLE, dict(TIMED)) for _ in range(timed)]
    lines = [seat(PICKLE, dict(TIMED), "each") for _ in range(3)]
    # What was written, and is being read when the time is over, has no figure.
    failed, left = seat(PICKLE, {"encode": {}}), seat(ORJSON, {})
    waiting: Any = Trials(session, [*several, *lines, failed, left], None, fewest=3)  # type: ignore[arg-type]
    session.elapsed_s = elapsed_s
    assert waiting._due(left, 12.0, True) is due
    late: Any = Trials(session, [*several, failed, left], None, fewest=3)  # type: ignore[arg-type]
    assert late._due(left, 12.0, True) is (timed < 3)  # opening took that long
    # What the answer is not of is tried in the usual time alone.
    other: Any = Trials(session, [*several, left], None, fewest=3, grain="each")  # type: ignore[arg-type]
    assert not other._due(left, 12.0, True)


@pytest.mark.parametrize(("elapsed_s", "due"), [(58.0, True), (60.0, False)])
def test_where_opening_took_longer_than_the_limit_so_may_the_answer(elapsed_s, due):
    """The data was there after 40 of 20 s: while nothing has a figure, codecs are tried for half as long again."""
    session = SimpleNamespace(
        elapsed_s=40.0, base=STDLIB, settings=Settings(), limit_s=lambda share: 20.0 * share
    )
    left = SimpleNamespace(codec=ORJSON, tried_s=0.0, samples={}, operations=BOTH, case={"labels": {}})
    waiting: Any = Trials(session, [left], None, fewest=3)  # type: ignore[arg-type,list-item]
    session.elapsed_s = elapsed_s
    assert waiting._due(left, 12.0, True) is due


class _Worker:
    """A worker whose codec never answers, until it is killed."""

    descriptors = None

    def __init__(self) -> None:
        self.killed = threading.Event()

    @property
    def alive(self) -> bool:
        return not self.killed.is_set()


def test_what_has_not_ended_when_the_time_is_over_was_not_reached():
    """A trial that goes on beyond the limit is ended with its process; the codec before it keeps its figures."""
    worker = _Worker()
    session: Any = SimpleNamespace(
        elapsed_s=1.0,
        end_s=18.0,
        base=STDLIB,
        settings=Settings(time_s=20.0),
        limit_s=lambda share: 20.0 * share,
        kill_workers=worker.killed.set,
        dataset=SimpleNamespace(format=None),
        check=lambda: None,
    )

    def seat(codec: Codec) -> Any:
        labels = {"codec": str(codec)}
        case = {"labels": labels, "status": "pending", "reason": "", "note": ""}
        return SimpleNamespace(
            codec=codec, case=case, tried_s=0.0, samples={}, operations=BOTH, part=SimpleNamespace(kind="document"),
            language="", kind="python", worker=worker, leaks=False, alive=True,
        )  # fmt: skip

    quick, endless, last = seat(ORJSON), seat(PICKLE), seat(STDLIB)

    class Tried(Trials):
        def _loaded_for(self, seat: Any, group: Any) -> Any:
            self._workers[group] = worker
            return worker

        def _try_in(self, seat: Any, worker: Any, limit_s: float) -> bool:
            seat.tried_s = 1.0
            if seat is endless:
                session.elapsed_s = 19.0
                assert worker.killed.wait(60)
                seat.case.update(status="killed", reason="the worker has been ended")
                seat.alive = False
                return False
            seat.case["status"], seat.samples = "ok", dict(TIMED)
            return True

    trials = Tried(session, [quick, endless, last], quick.part)
    trials.run(15.0, last=True, on_done=lambda done, seat: None)
    assert quick.case["status"] == "ok"
    assert (endless.case["status"], endless.case["reason"]) == ("pending", NOT_REACHED)
    assert not worker.alive


@pytest.mark.parametrize(
    ("timed", "elapsed_s", "patience_s"),
    [(1, 11.9, 3.0), (1, 13.0, 17.0), (1, 29.0, 3.0), (2, 13.0, 8.0), (3, 13.0, 3.0)],
)
def test_a_slow_machine_is_no_failure_of_what_the_answer_needs(timed, elapsed_s, patience_s):
    """The pass was to end at 12 of 20 s: the second may take until half of the limit is over again, the third a second more."""
    session = SimpleNamespace(
        elapsed_s=3.0, base=STDLIB, settings=Settings(), limit_s=lambda share: 20.0 * share
    )
    several: Any = [
        SimpleNamespace(
            codec=PICKLE, samples=TIMED if k < timed else {}, operations=BOTH, case={"labels": {}}
        )
        for k in range(4)
    ]
    waiting = Trials(session, several, None, fewest=3)  # type: ignore[arg-type]
    session.elapsed_s = elapsed_s
    assert waiting._patience_s(several[-1], 12.0, 3.0) == patience_s
    assert Trials(session, several, None)._patience_s(several[-1], 12.0, 3.0) == 3.0  # type: ignore[arg-type]


@pytest.mark.parametrize(("timed", "due"), [(4, True), (5, False)])
def test_half_of_the_usual_codecs_are_worth_more_than_further_calls(timed, due):
    """The pass is over at 12 of 20 s; while it has reached fewer than half of its codecs it goes on to 16."""
    session = SimpleNamespace(
        elapsed_s=15.0, base=STDLIB, settings=Settings(), limit_s=lambda share: 20.0 * share
    )
    seats: list[Any] = [
        SimpleNamespace(
            codec=PICKLE,
            tried_s=0.1 * (k < timed),
            samples=TIMED if k < timed else {},
            operations=BOTH,
            case={"labels": {}},
        )
        for k in range(10)
    ]
    waiting: Any = Trials(session, seats, None, fewest=3)  # type: ignore[arg-type]
    assert waiting._due(seats[-1], 12.0, True) is due
    session.elapsed_s = 16.0
    assert not waiting._due(seats[-1], 12.0, True)


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


def test_lines_that_the_answer_needs_are_timed_beyond_the_limit():
    """Preparing and comparing took until 21 of 20 s: while no codec has a figure, it is timed until half the limit is over again."""
    session: Any = SimpleNamespace(
        elapsed_s=3.0, base=STDLIB, settings=Settings(), limit_s=lambda share: 20.0 * share
    )

    class Line(SimpleNamespace):
        def share(self, worker: Any) -> None:
            pass

        def ready(self, *, verify: bool) -> None:
            session.elapsed_s = 21.0

        def expected_s(self, operation: str) -> float:
            return 0.1

        def sample(self, operation: str, round_: int, position: int) -> None:
            self.samples[operation] = {}

    def tried(known: list[Any]) -> Any:
        seat: Any = Line(
            codec=ORJSON, is_plain=False, alive=True, operations=BOTH, samples={}, case={"labels": {}}
        )
        Trials(session, [seat], None, known, fewest=3)._try_in(seat, None, 3.0)  # type: ignore[arg-type]
        session.elapsed_s = 3.0
        return seat.samples

    others: Any = [
        SimpleNamespace(worker=None, samples=TIMED, operations=BOTH, case={"labels": {}}) for _ in range(3)
    ]
    assert tried([]) == TIMED
    assert tried(others) == {}


def test_lines_come_before_the_file_where_the_answer_is_of_them():
    """Messages of every codec are tried first where they are what is sent; else a message and a file by turns."""
    codecs = [Codec.parse(id) for id in ("json:orjson", "json:orjson+zstd:3", "ndjson:orjson+zstd:3")]

    def turns(**options: bool) -> list[tuple[str, str]]:
        return [(str(codec), grain) for codec, grain in _in_turn(codecs, ("each", "whole"), **options)]

    assert [grain for _, grain in turns(lines_first=True)] == ["each", "each", "whole", "whole", "whole"]
    assert turns()[:2] == [("json:orjson", "each"), ("json:orjson+zstd:3", "whole")]
    assert sorted(turns()) == sorted(turns(lines_first=True))
