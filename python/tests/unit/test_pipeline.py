"""A default run: in which order codecs are tried, which get more rounds, what is shown of the rest."""

from __future__ import annotations

import json
import math
import random
import threading
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tare import measure
from tare.codec import Codec
from tare.codec.shortlist import shortlist
from tare.dataset import open_dataset
from tare.errors import UsageError
from tare.measure.cases import NOT_REACHED
from tare.measure.pipeline import mark_unmeasured, measure_local
from tare.measure.run import check_use
from tare.measure.session import Control, Event, Part
from tare.measure.settings import Settings
from tare.measure.stages import budget, measurement, trials
from tare.measure.stages.budget import fitting_share
from tare.measure.stages.rounds import sample_rounds
from tare.measure.stages.standings import Uses, least_ns
from tare.report import terminal

DOCUMENT = [{"n": n, "t": "x" * (n % 7), "f": n / 3} for n in range(400)]
ORJSON, STDLIB, PICKLE = (Codec.parse(text) for text in ("json:orjson", "json:stdlib", "pickle"))


@pytest.fixture(autouse=True)
def _state_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


class _Timed(SimpleNamespace):
    """A seat with these times of each operation, in nanoseconds; compared by identity."""

    __hash__ = object.__hash__
    __eq__ = object.__eq__

    def sample(self, operation: str, round_: int, position: int, *, in_a_row: int = 1) -> None:
        self.session.taken.append((self.codec, operation, round_))
        self.session.in_a_row.add(in_a_row)
        self.session.elapsed_s += in_a_row * self.took_s
        columns = self.samples.setdefault(operation, {name: [] for name in ("round", "wall_ns", "batch")})
        columns["round"].append(round_)
        columns["wall_ns"].append(round(self.times.pop(0)) if self.times else 1000)
        columns["batch"].append(1)
        for name in columns.keys() - {"round", "wall_ns", "batch"}:
            columns[name].append(columns[name][-1])

    def expected_s(self, operation: str) -> float:
        return self.took_s


def _seat(codec: Codec, calls: list[float], size: int = 1000, status: str = "ok", **more: Any) -> Any:
    times = [round(ns) for ns in calls]
    columns = {"wall_ns": times, "batch": [1] * len(calls), "round": list(range(len(calls)))}
    return _Timed(
        codec=codec,
        part=Part(0.1, "", "json", "document", 10, 10, 1000, ""),
        operations=("encode", "decode"),
        medium="memory",
        samples={"encode": columns, "decode": {name: [*of] for name, of in columns.items()}} if calls else {},
        case={"status": status, "bytes": size, "reason": ""},
        distance=math.inf,
        **{"alive": True, "took_s": 0.01, "times": [], "session": SimpleNamespace(pace_ns=None), **more},
    )


def _tell_cpu(seat: Any, own_ns: int) -> None:
    """Give the one sample of each operation so much CPU time of its own, and no preemption."""
    for columns in seat.samples.values():
        columns.update(round=[0], user_ns=[own_ns], sys_ns=[0], nivcsw=[0])


def _uses(*codecs: Codec, **settings: Any) -> Uses:
    record = {"codecs": {str(codec): {"flags": codec.flags()} for codec in codecs}}
    return Uses(SimpleNamespace(record=record, settings=Settings(**settings)))  # type: ignore[arg-type]


# --- who is near the best ----------------------------------------------------------------------------


def test_the_least_time_counts():
    """On a busy machine most calls are slow; one that was not tells what the codec takes."""
    seat = _seat(ORJSON, [9e8, 9e8, 3e5])
    assert least_ns(seat, "encode") == 3e5
    assert least_ns(_seat(ORJSON, []), "encode") is None


def test_distance_is_that_of_the_use_that_suits_a_codec_best():
    """The small one is the best of an archive, the quick one of a cache; what loses data must win by far."""
    small, slow = Codec.parse("json:orjson+gzip:6"), Codec.parse("yaml:pyyaml")
    lossy = Codec.parse("json:ujson")
    seats = [
        _seat(ORJSON, [1e6], 10_000_000),
        _seat(small, [3e8], 1_000_000),
        _seat(slow, [9e9], 20_000_000),
        _seat(lossy, [1e6], 10_000_000, "lossy"),
    ]
    _uses(ORJSON, small, slow, lossy).measure_distances(seats)
    assert [seat.distance for seat in seats[:2]] == pytest.approx([1.0, 1.0])
    assert seats[2].distance > 10
    assert seats[3].distance == pytest.approx(2.0)


def test_what_no_use_allows_is_never_near():
    """Bytes that run code are for nobody else; where append is asked for, who cannot is far from any use."""
    seats = [_seat(PICKLE, [1.0]), _seat(STDLIB, [1e6])]
    uses = _uses(PICKLE, STDLIB, must=("untrusted",))
    uses.measure_distances(seats)
    assert seats[0].distance == math.inf
    assert seats[1].distance == 1.0


def test_the_small_part_predicts_by_what_the_base_grew():
    """Of ten times the data the base takes five times as long: so is expected of the others."""
    base = (_seat(STDLIB, [1e6], 1000), _seat(STDLIB, [5e6], 10_000))
    quick, slow = _seat(ORJSON, [5e5], 1000), _seat(PICKLE, [1e7], 1000)
    uses = _uses(STDLIB, ORJSON, PICKLE)
    found = uses.predicted([quick, slow], base, [base[1]])
    assert found[quick] == pytest.approx(0.5, rel=0.2)
    assert found[slow] == pytest.approx(10, rel=0.2)


# --- rounds ------------------------------------------------------------------------------------------


def _session(**more: Any) -> Any:
    return SimpleNamespace(
        **{
            "elapsed_s": 0.0,
            "rng": random.Random(1),
            "taken": [],
            "in_a_row": set(),
            "pace_ns": None,
            "tell": lambda *_, **__: None,
            **more,
        }
    )


def test_every_codec_gets_a_few_rounds_and_those_near_the_best_more():
    """Three of each, after the first in one order and then in reverse; the near one goes on until its figures are narrow."""
    session = _session()
    seats = [_seat(ORJSON, [], session=session), _seat(PICKLE, [], session=session)]
    taken = sample_rounds(session, seats, lambda: seats[:1], seats, first=0, until_s=100.0)
    rounds = {
        codec: len([1 for one, op, _ in session.taken if (one, op) == (codec, "encode")])
        for codec in (ORJSON, PICKLE)
    }
    assert rounds[PICKLE] in (3, 4)
    assert rounds[ORJSON] >= 9
    assert taken == max(round_ for *_, round_ in session.taken)
    first, second = ([one[:2] for one in session.taken if one[2] == n] for n in (2, 3))
    assert first == second[::-1]


def test_figures_that_are_not_narrow_get_more_rounds():
    """Times that never agree are sampled up to the most rounds, and no more."""
    session = _session()
    seat = _seat(ORJSON, [], session=session, times=[1000 * 2**n for n in range(60)] + [1] * 60)
    sample_rounds(session, [seat], lambda: [seat], [], first=0, until_s=100.0)
    assert len(seat.samples["encode"]["round"]) > 9


def test_no_sample_begins_that_would_end_after_the_limit():
    """A slow codec's next call is not made, whatever is left of the round."""
    session = _session()
    seats = [_seat(ORJSON, [], session=session, took_s=0.3), _seat(PICKLE, [], session=session, took_s=2.0)]
    sample_rounds(session, seats, lambda: seats, [], first=0, until_s=5.0)
    assert session.elapsed_s <= 5.0
    assert session.taken


def test_what_people_use_is_sampled_once_before_the_best_go_on():
    """A trial is a cold call beside another codec's; only what was far off in it waits."""
    session = _session()
    best, usual, far = (_seat(codec, [], session=session) for codec in (ORJSON, STDLIB, PICKLE))
    best.distance, usual.distance, far.distance = 1.0, 1.7, 2.9
    sample_rounds(
        session, [best, usual, far], lambda: [best], [usual, far], first=0, until_s=100.0, once=True
    )
    assert Counter(codec for codec, *_ in session.taken) == {ORJSON: 2, STDLIB: 2}


def test_the_first_round_takes_what_is_quick_first_and_nothing_twice():
    """If the time limit ends the round early, the next one continues with the remaining operations."""
    session = _session()
    slow, quick = (_seat(codec, [], session=session, took_s=s) for codec, s in ((STDLIB, 2.0), (ORJSON, 0.3)))
    seats, near = [slow, quick], lambda: [slow, quick]
    taken = sample_rounds(session, seats, near, [], first=0, until_s=0.7)
    assert [codec for codec, *_ in session.taken] == [ORJSON, ORJSON]
    sample_rounds(session, seats, near, [], first=taken, until_s=3.0, once=True)
    assert [codec for codec, *_ in session.taken] == [ORJSON, ORJSON, STDLIB]


@pytest.mark.parametrize(
    ("took_s", "until_s", "in_a_row"), [(0.01, 100.0, 2), (3.0, 4.0, 1), (0.002, 0.1, 5)]
)
def test_a_call_is_sampled_in_a_row_while_there_is_time(took_s: float, until_s: float, in_a_row: int):
    """The first pays for memory that went back to the system; of short ones as many as fit into ten milliseconds."""
    session = _session()
    seat = _seat(ORJSON, [], session=session, took_s=took_s)
    sample_rounds(session, [seat], lambda: [seat], [], first=0, until_s=until_s)
    assert session.in_a_row == {in_a_row}


def test_what_waited_for_the_system_in_its_trial_has_its_turn_early():
    """Writing Arrow took 367 ms in a trial, 3 of them in its own code: it comes before what computes for 100 ms."""
    session = _session()
    cold, computes = (_seat(codec, [367e6], session=session) for codec in (ORJSON, STDLIB))
    for seat, own_ns in ((cold, 3_000_000), (computes, 100_000_000)):
        _tell_cpu(seat, own_ns)
        seat.took_s = 0.4
    sample_rounds(session, [computes, cold], lambda: [computes, cold], [], first=0, until_s=1.7)
    assert [codec for codec, *_ in session.taken] == [ORJSON, ORJSON]
    assert session.in_a_row == {2}, "the first call pays for what the next one finds"


def test_a_cold_trial_keeps_no_codec_from_being_near():
    """What it cost beyond the codec's own code may not come again; figures that are shown stay what was measured."""
    best, cold, slow = (
        _seat(codec, [ms * 1e6]) for codec, ms in ((ORJSON, 20), (STDLIB, 400), (PICKLE, 400))
    )
    for seat, own_ms in ((best, 20), (cold, 4), (slow, 390)):
        _tell_cpu(seat, own_ms * 1_000_000)
    _uses(ORJSON, STDLIB, PICKLE).measure_distances([best, cold, slow])
    assert best.distance == 1.0
    assert cold.distance < 1.6 < slow.distance
    assert least_ns(cold, "encode") == 400e6


def test_a_call_that_does_not_fit_keeps_no_other_waiting():
    """What is left of the time is for those that are quick."""
    session = _session()
    quick, slow = (_seat(codec, [], session=session, took_s=s) for codec, s in ((ORJSON, 0.1), (STDLIB, 9.0)))
    sample_rounds(session, [slow, quick], lambda: [slow, quick], [], first=0, until_s=3.0)
    assert {codec for codec, *_ in session.taken} == {ORJSON}
    assert {round_ for *_, round_ in session.taken} >= {1, 2, 3, 4, 5}, "later rounds are for them too"


@pytest.mark.parametrize(("calls", "in_a_row", "samples"), [(1, 2, 2), (1, 1, 1), (50, 2, 2), (0, 5, 5)])
def test_short_calls_are_sampled_as_often_as_asked(calls: int, in_a_row: int, samples: int):
    """The first batch finds the caches full of another codec's data, and the least of three is far from the least of many."""
    from tare.measure.sampling.case_runner import Seat

    seat: Any = Seat.__new__(Seat)
    asked: list[int] = []
    seat.session = SimpleNamespace(settings=Settings(), full_batches=set())
    seat.shared, seat.worker, seat.language, seat.case = False, None, "", {"key": "k"}
    seat._batch_of = lambda _: calls

    def request(_operation: str, *, samples: int, batch: int, **_: Any) -> dict[str, Any]:
        asked.append(samples)
        return {"cols": ["wall_ns"], "samples": [[5_000_000]] * samples, "batch": max(1, batch)}

    seat._request = request
    assert len(seat._run("encode", in_a_row=in_a_row)["samples"]) == samples
    assert asked == [samples]


def test_a_codec_that_reads_parts_fast_is_near():
    """It may be the best of ``random`` only."""
    parquet, arrow = (Codec.parse(text) for text in ("parquet:pyarrow", "arrow:pyarrow"))
    seats = [_seat(parquet, [1e6]), _seat(arrow, [9e6])]
    for seat, ns in zip(seats, (1e6, 1e4), strict=True):
        seat.operations, seat.medium = ("write", "read", "subset"), "file"
        seat.samples = {"write": seat.samples["encode"], "read": seat.samples["decode"]}
        seat.samples["subset"] = {"wall_ns": [round(ns)], "batch": [1], "round": [1]}
    uses = _uses(parquet, arrow)
    uses.measure_distances(seats)
    assert [seat.distance for seat in seats] == [1.0, 1.0]


def test_a_codec_that_hangs_while_it_is_timed_holds_nobody_up(monkeypatch: pytest.MonkeyPatch):
    """Trials are timed one at a time, but wait for each other for a moment only."""
    monkeypatch.setattr(trials, "_PATIENCE_S", 0.01)
    timing = threading.Lock()
    hung, other, third = (trials._Turn(timing) for _ in range(3))
    with hung:
        with other:
            assert timing.locked()
        assert timing.locked(), "what another holds is not given back"
    assert not timing.locked()
    with third:
        assert timing.locked()
    assert not timing.locked()


def test_trial_samples_go_when_there_are_others():
    """Two are tried at a time: their times count only until two rounds are there."""
    from tare.measure.sampling.case_runner import Seat

    seat: Any = Seat.__new__(Seat)
    seat.samples = {"encode": {"round": [0, 1], "wall_ns": [900, 100]}}
    seat.forget(0)
    assert seat.samples["encode"]["round"] == [0, 1]
    seat.samples = {"encode": {"round": [0, 1, 2], "wall_ns": [900, 100, 110]}}
    seat.forget(0)
    assert seat.samples["encode"] == {"round": [1, 2], "wall_ns": [100, 110]}


# --- how much of the data ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "time_s", "free", "expected"),
    [
        (1 << 20, 10.0, 100 << 30, 1.0),
        (100 << 20, 30.0, 100 << 30, 1.0),
        (1000 << 20, 10.0, 100 << 30, 0.19),
        (1000 << 20, 0.0, 100 << 30, 1.0),
        (1 << 30, 60.0, 18 << 30, 0.5),
        (1 << 30, 2.0, 100 << 30, 0.037),
    ],
)
def test_all_of_the_data_is_measured_if_it_fits(monkeypatch, size, time_s, free, expected):
    """One pass must fit into two fifths of the time, and the data into the memory as often as processes hold it."""
    monkeypatch.setattr(budget, "available_bytes", lambda: free)
    monkeypatch.setattr(budget, "_pace", lambda session, base: (1e-9, 0.0))
    limit = time_s or math.inf
    session: Any = SimpleNamespace(
        dataset=SimpleNamespace(bytes_memory=size, kind="table"),
        settings=Settings(time_s=time_s),
        elapsed_s=0.0,
        limit_s=lambda share: share * limit,
    )
    base = Codec.parse("parquet:pyarrow")
    assert fitting_share(session, base, [base] * 10) == pytest.approx(expected, rel=0.06)
    if expected == 0.19:
        # Two libraries that start for 1 s each, two at a time, and a call a line for a twentieth of the data.
        monkeypatch.setattr(budget, "_pace", lambda session, base: (1e-9, 1.0))
        codecs = [base] * 9 + [Codec.parse("parquet:polars")]
        assert fitting_share(session, base, codecs) == pytest.approx(0.19 * 3 / 4, rel=0.06)
        assert fitting_share(session, base, codecs, lines=0.03) == pytest.approx(
            0.19 * 3 / 4 - 0.06, rel=0.06
        )


@pytest.mark.parametrize(("elapsed_s", "expected"), [(0.0, 16 / 320), (4.8, 8 / 320), (9.0, 4 / 320)])
def test_where_time_is_short_less_is_measured_in_place_of_fewer_codecs(monkeypatch, elapsed_s, expected):
    """A codec takes a second for 20 MiB, and of ten the pass has 6 s: so much that three fit, and no less than 4 MiB."""
    total = 320 << 20
    monkeypatch.setattr(budget, "available_bytes", lambda: 100 << 30)
    monkeypatch.setattr(budget, "_pace", lambda session, base: (1 / (20 << 20) / 1.2, 0.0))
    session: Any = SimpleNamespace(
        dataset=SimpleNamespace(bytes_memory=total, kind="document"),
        settings=Settings(time_s=10.0),
        elapsed_s=elapsed_s,
        limit_s=lambda share: share * 10.0,
    )
    assert fitting_share(session, STDLIB, [STDLIB] * 10) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1}\n{"a": 2}\n', ", or make a table of it first: tare convert '"),
        ('{"a": {"b": 2}}\n', "message, exchange"),
    ],
)
def test_a_document_that_random_does_not_suit_is_told_what_to_do(tmp_path, text, said):
    """Objects in lines become a table, of which parts can be read; one object does not."""
    path = tmp_path / ("a b.ndjson" if "convert" in said else "x.json")
    path.write_text(text)
    with pytest.raises(UsageError, match="parts are read of tables") as caught:
        check_use(Settings(profile="random"), open_dataset(path))
    assert said in str(caught.value)
    assert str(caught.value).endswith(("a b.parquet'", "exchange"))


# --- whole runs --------------------------------------------------------------------------------------


def test_what_people_use_is_tried_first_and_the_first_answer_follows():
    """Before the first answer nothing else is tried; what the time did not reach says so."""
    tried: list[str] = []

    def note(event: Event) -> None:
        if event.stage == "pass":
            tried.append(event.text)

    result = measure.run(DOCUMENT, time_s=4, exclude=("yaml", "repr", "bson"), on_progress=note)
    before = set(tried[: tried.index("first answer")])
    assert before <= {*shortlist("document", sequence=True), "json:stdlib"}
    case = next(case for case in result.cases if case["labels"]["codec"] == "json:simplejson")
    assert "json:simplejson" in tried or case["reason"] == NOT_REACHED


def test_only_media_asked_for_are_shown():
    """Everything is tried in memory before it goes through a pipe; no case of that is left."""
    result = measure.run(DOCUMENT, time_s=8, media=("fifo", "unix"), codecs=("json:orjson", "pickle"))
    shown = {case["labels"]["medium"] for case in result.cases if case["labels"]["codec"] != "copy"}
    assert shown == {"fifo", "unix"}
    assert len(result.cases) == len({case["key"] for case in result.cases})


def test_lines_of_json_are_messages(tmp_path):
    """Each line is one call, and the whole is measured too."""
    path = tmp_path / "events.ndjson"
    path.write_text("".join(json.dumps(one) + "\n" for one in DOCUMENT))
    result = measure.run(path, time_s=0, codecs=("json:orjson", "ndjson:orjson"))
    found = {
        (case["labels"]["codec"], case["labels"].get("grain", "whole"))
        for case in result.cases
        if case["launches"] and "twin" not in case["labels"]
    }
    assert {("json:orjson", "each"), ("json:orjson", "whole"), ("ndjson:orjson", "whole")} <= found
    assert ("ndjson:orjson", "each") not in {
        (case["labels"]["codec"], case["labels"].get("grain", "whole")) for case in result.cases
    }
    assert {case["status"] for case in result.cases} == {"ok"}
    pids = {
        case["launches"][0]["pid"]
        for case in result.cases
        if case["labels"]["codec"] in ("json:orjson", "ndjson:orjson")
    }
    assert len(pids) == 1, "a process holds the lines for messages and for the whole"


def test_many_lines_are_messages_on_a_part(tmp_path, monkeypatch):
    """A call a line is measured on a few blocks of lines, in the process that holds all; the answer says so."""
    monkeypatch.setattr(measurement, "_LINES_BYTES", 1 << 14)
    path = tmp_path / "events.ndjson"
    path.write_text("".join(json.dumps(one) + "\n" for one in DOCUMENT))
    result = measure.run(path, time_s=0, codecs=("json:orjson", "msgpack:msgspec"))
    each = [case for case in result.cases if case["labels"].get("grain") == "each"]
    whole = [case for case in result.cases if case["labels"].get("grain", "whole") == "whole"]
    assert {case["status"] for case in result.cases} == {"ok"}
    (size,) = {float(case["labels"]["size"]) for case in each}
    assert 0 < size < 0.5
    assert {case["labels"]["size"] for case in whole} == {"1"}
    assert all(0 < one["bytes"] < size * 1.1 * whole[0]["bytes"] for one in each if "orjson" in one["key"])
    message = result.recommend("message")
    assert any("of the lines, in contiguous blocks" in reason for reason in message.reasons)
    true = sum(len(json.dumps(one, separators=(",", ":"))) for one in DOCUMENT)
    assert message.detail["messages"] == len(DOCUMENT)
    said = message.detail["figures"]["json:orjson"]["bytes"] * len(DOCUMENT)
    assert said == pytest.approx(true, rel=0.05), "the figure is the mean of all lines"
    shown = " ".join(terminal.render(result.record).split())
    assert "Figures are of one message, the mean of 400." in shown
    assert "of the lines, in blocks use: message" in shown
    assert "Python: tare.encode(" in shown
    assert "Do it:" not in shown, "a file of them all would be one value"


def test_what_was_tried_on_a_small_part_is_predicted_for_the_whole():
    """Times and bytes grow with the data; the reason says that more is not known."""
    scout = _seat(ORJSON, [2e6], 400)
    scout.distance = 7.0
    late = _seat(PICKLE, [], 400)
    race: Any = SimpleNamespace(
        scouts=[scout, late], part=Part(0.5, "", "json", "document", 10, 10, 50_000, "")
    )
    mark_unmeasured(race)
    assert scout.case["predicted"] == {
        "size": "0.5",
        "bytes": 20_000,
        "ops": {"encode": 100_000_000, "decode": 100_000_000},
    }
    assert (scout.case["status"], scout.case["verdict_at_screening"]) == ("screened", "ok")
    assert "7 times the best" in scout.case["reason"]
    assert (late.case["status"], late.case["reason"]) == ("pending", NOT_REACHED)


def test_large_data_are_tried_on_a_part_first(monkeypatch):
    """Further codecs: those near the best on the part are measured on the whole, the others keep what it predicts."""
    monkeypatch.setattr(measurement, "_SMALL_BYTES", {"document": 1 << 14, "table": 1 << 14})
    result = measure.run(DOCUMENT, time_s=12, exclude=("bson", "avro", "fory"))
    stages = {case["labels"]["codec"]: case["stage"] for case in result.cases if "twin" not in case["labels"]}
    assert stages["json:orjson"] == "weigh"
    slow = next(case for case in result.cases if case["labels"]["codec"] == "yaml:pyyaml,loader=c")
    assert slow["stage"] == "screen"
    assert slow["status"] in ("screened", "lossy", "pending")
    assert len(result.cases) == len({case["key"] for case in result.cases})


OPTIONS: dict[str, Any] = {"codecs": ("json:orjson",), "time_s": 0, "media": ("memory",)}
one_run = pytest.mark.xdist_group("one run to be resumed")


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The record of a run that others go on from."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        return json.loads(json.dumps(measure.run(DOCUMENT, **OPTIONS).record))


def cut(record: dict[str, Any], folder: Path) -> Path:
    """The record, saved as that of a run that was interrupted."""
    path = folder / "r.tare.json"
    path.write_text(json.dumps({**record, "interrupted": True, "derived": {}}))
    return path


@one_run
def test_a_finished_run_is_resumed_with_all_it_had(before, tmp_path):
    """Killed at its end, it goes on behind it, with the twin and the copying it had."""
    result = measure.run(DOCUMENT, resume=cut(before, tmp_path), **OPTIONS)
    made = {case["key"]: case["launches"] for case in before["cases"] if case["stage"] == "weigh"}
    assert made == {case["key"]: case["launches"] for case in result.cases if case["stage"] == "weigh"}


@one_run
def test_controls_that_were_not_saved_are_measured_on_resume(before, tmp_path):
    """An interrupted run that had the base but not its twin gets one."""
    cases = [
        case
        for case in before["cases"]
        if not case["labels"].get("twin") and case["labels"]["codec"] != "copy"
    ]
    result = measure.run(DOCUMENT, resume=cut({**before, "cases": cases}, tmp_path), **OPTIONS)
    assert result.record["resumed"]["used"] > 0
    assert {case["status"] for case in result.cases} == {"ok"}
    for case in result.cases:
        if case["labels"].get("twin") or case["labels"]["codec"] == "copy":
            assert case["launches"], case["key"]


def test_a_stop_in_the_pass_leaves_an_answer(tmp_path):
    """What was tried is shown, and a resumed run measures the same share."""
    control, out = Control(), tmp_path / "r.tare.json"

    def stop(event: Event) -> None:
        if event.stage == "pass" and event.text == "first answer":
            control.stop()

    first = measure.run(
        DOCUMENT,
        time_s=20,
        codecs=("json:orjson", "pickle"),
        control=control,
        on_progress=stop,
        out=out,
        share=0.5,
    )
    assert first.record["interrupted"]
    assert first.recommend().sentence
    rows = {row["codec"]: row for row in first.table()}
    assert {"json:orjson", "pickle", "json:stdlib"} == set(rows)
    assert all(row["total_ns"] for row in rows.values())
    again = measure.run(DOCUMENT, time_s=0, codecs=("json:orjson", "pickle"), resume=out)
    assert {case["labels"]["size"] for case in again.cases if case["stage"] == "weigh"} == {"0.5"}


def test_a_share_that_is_given_is_measured():
    """Whatever the time would suffice for."""
    result = measure.run(DOCUMENT, time_s=0, codecs=("json:orjson",), share=0.25)
    assert {case["labels"]["size"] for case in result.cases if case["stage"] == "weigh"} == {"0.25"}
    with pytest.raises(UsageError, match="share is a share"):
        measure.run(DOCUMENT, share=1.5)


def test_what_may_be_the_best_is_sampled_before_others_are_tried():
    """Also a variant: of 300 kB of texts the best one had its trial alone, where ten that nobody uses were tried after it."""
    done: list[Any] = []

    class Race(SimpleNamespace):
        medium, seats, scouts = "memory", (), ()
        part = SimpleNamespace(kind="document", share=1.0)

        def __getattr__(self, name: str) -> Any:
            return lambda *codecs, **more: done.append((name, more.get("once", False)))

    session = _session(
        settings=Settings(time_s=10.0),
        dataset=SimpleNamespace(format=None, value={}, items=1, partial=None, kind="document"),
        record={"noise": {}},
        limit_s=lambda share: 10.0 * share,
        end_s=9.0,
        wait_for_hash=lambda: None,
        verdict=lambda *_: None,
    )
    measure_local(session, [Race()], [ORJSON], [STDLIB], streams=False)  # type: ignore[list-item]
    assert [one for one in done if one[0] in ("rounds", "variants", "others")] == [
        ("rounds", True), ("variants", False), ("rounds", True), ("others", False), ("rounds", False),
    ]  # fmt: skip


def test_the_users_own_format_is_near_until_it_has_two_rounds():
    """Ratios of the answer refer to it; what only shares its format is not."""
    session = _session()
    session.dataset = SimpleNamespace(stored_as="json")
    race: Any = SimpleNamespace(session=session)
    own, other = (_seat(codec, [], session=session) for codec in (ORJSON, STDLIB))
    race._common = {own}
    is_own = measurement.Measurement._is_users_own
    assert [is_own(race, seat) for seat in (own, other)] == [True, False]
    session.dataset.stored_as = "json+gzip"
    assert not is_own(race, own)
