"""Screening: in which order candidates are tried, who is thrown out on what evidence, what is shown of it."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tare import measure
from tare.codec import Codec, candidates
from tare.errors import UsageError
from tare.measure.cost import PROFILES
from tare.measure.run import mark_screened
from tare.measure.seat import Seat
from tare.measure.session import Control, Event, Part, Settings
from tare.measure.stages import sizing
from tare.measure.stages.choose import choose, per_call_ns, sure, unfit
from tare.measure.stages.fit import fit_launches
from tare.measure.stages.screen import first_answer_s
from tare.measure.stages.trials import NOT_REACHED, Trials, by_turns

DOCUMENT = [{"n": n, "t": "x" * (n % 7), "f": n / 3} for n in range(400)]
ORJSON, STDLIB, PICKLE = (Codec.parse(text) for text in ("json:orjson", "json:stdlib", "pickle"))


@pytest.fixture(autouse=True)
def _state_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def _seat(codec: Codec, calls: list[float], cold_ns: float, size: int = 1000) -> Any:
    """A screened seat with these times of each operation, and those of the first calls."""
    times = [round(ns) for ns in calls]
    nothing = [0] * len(calls)
    columns = {
        "wall_ns": times, "user_ns": times, "sys_ns": nothing, "batch": [1] * len(calls), "nivcsw": nothing,
    }  # fmt: skip
    return SimpleNamespace(
        codec=codec,
        part=Part(0.1, "", "json", "document", 10, 10, 1000, ""),
        operations=("encode", "decode"),
        samples={"encode": columns, "decode": columns} if calls else {},
        case={
            "status": "ok",
            "bytes": size,
            "reason": "",
            "cold": {"encode_ns": cold_ns, "decode_ns": cold_ns},
        },
        distance=float("inf"),
    )


def test_the_first_codecs_tried_are_of_different_formats():
    """The base, then each format's own default, then the second of each: variants of one format come last."""
    base = Codec.parse("parquet:pyarrow")
    found = candidates("table")
    order = by_turns(found, base)
    assert sorted(map(str, found)) == sorted(map(str, order))
    formats = len({codec.format.id for codec in found})
    assert formats == len({codec.format.id for codec in order[:formats]})
    assert ["parquet:pyarrow", "arrow:pyarrow", "csv:pyarrow"] == [str(codec) for codec in order[:3]]


@pytest.mark.parametrize(
    ("time_s", "opened_s", "sampled_s", "expected"),
    [
        (60, 0.5, 1.5, 8.5),
        (60, 7.0, 8.0, 10.5),
        (60, 2.0, 9.0, 11.0),
        (0, 1.0, 2.0, 8.5),
        (600, 1.0, 2.0, 8.5),
    ],
)
def test_opening_does_not_starve_the_first_answer(time_s, opened_s, sampled_s, expected):
    """It comes within 10 s, or some seconds after the data is open and its sample there."""
    assert expected == pytest.approx(first_answer_s(time_s, opened_s, sampled_s))


def test_one_call_excludes_nobody():
    """The fastest codec, of which only a slow first call is known, is weighed after those that are known."""
    seats = [_seat(PICKLE, [1e6, 1e6], 1e6), _seat(STDLIB, [2e6, 2e6], 1e6), _seat(ORJSON, [], 9e8)]
    assert not sure(seats[2])
    assert ORJSON == choose(seats, STDLIB)[-1]
    once = _seat(ORJSON, [9e8], 9e8)
    assert ORJSON in choose([*seats[:2], once], STDLIB)
    twice = _seat(ORJSON, [9e8, 9e8], 9e8)
    assert ORJSON not in choose([*seats[:2], twice], STDLIB)


def test_the_least_time_counts():
    """On a busy machine most calls are slow; one that was not tells what the codec takes."""
    seats = [_seat(STDLIB, [1e6, 1e6], 1e6), _seat(ORJSON, [9e8, 9e8, 3e5], 9e8)]
    assert 3e5 == per_call_ns(seats[1], "encode")
    assert ORJSON == choose(seats, STDLIB)[0]


def test_what_was_timed_once_is_predicted_nothing():
    """It counts as not reached, and nobody reads that it was beaten."""
    seat = _seat(ORJSON, [9e8], 9e8)
    seat.distance = 9.0
    mark_screened([seat], [STDLIB], seat.part)
    assert "pending" == seat.case["status"]
    assert "predicted" not in seat.case
    assert "over the best" not in seat.case["reason"]


def test_screening_goes_on_after_the_first_verdict(monkeypatch):
    """Opening that takes all of the time for the first answer leaves nobody out; the verdict comes first."""
    screen = importlib.import_module("tare.measure.stages.screen")
    run = importlib.import_module("tare.measure.run")
    texts = []
    control = Control()

    def all_of_it(session: Any, *arguments: Any) -> Any:
        monkeypatch.setattr(screen, "_TRY_SHARE", 0.0)
        return screen.screen(session, *arguments[:-1], session.elapsed_s)

    monkeypatch.setattr(run, "screen", all_of_it)

    def note(event: Any) -> None:
        if event.stage == "screen":
            texts.append((event.text, len(event.record["cases"]) if event.record else 0))
            if event.text == "first verdict":
                monkeypatch.setattr(screen, "_TRY_SHARE", 0.75)
            if event.text == "all candidates screened":
                control.stop()

    exclude = ("yaml", "repr", "bson", "cbor", "avro", "csv", "fory")
    result = measure.run(DOCUMENT, time_s=60, quick=True, exclude=exclude, on_progress=note, control=control)
    said = [text for text, _ in texts]
    assert said.index("first verdict") < said.index("json:orjson") < said.index("all candidates screened")
    reasons = [case["reason"] for case in result.cases]
    assert NOT_REACHED not in reasons


def test_only_media_asked_for_are_shown():
    """Everything is tried on files or in memory before it goes through a pipe; no case of that is left."""
    result = measure.run(
        DOCUMENT, time_s=8, quick=True, media=("fifo", "unix"), exclude=("yaml", "repr", "bson")
    )
    shown = {case["labels"]["medium"] for case in result.cases if case["labels"]["codec"] != "copy"}
    assert {"fifo", "unix"} == shown
    weighed = [case for case in result.cases if case["stage"] == "weigh"]
    assert weighed
    for case in result.cases:
        if case["stage"] == "screen":
            assert [] == case["launches"]
            assert case["reason"] or case["status"] not in ("screened", "pending", "refused")
    assert len(result.cases) == len({case["key"] for case in result.cases})


class _Sized(SimpleNamespace):
    """A session in which every part is as large as asked, and no time passes but that of calls."""

    def part(self, share: float) -> Part:
        return Part(share, "", "arrow", "table", 10, 10, round(share * self.dataset.bytes_memory), "")


def test_what_every_call_costs_is_not_taken_for_the_data(monkeypatch):
    """Of 10,000 columns a write takes 0.4 s however few the rows: all of the data is weighed, not 2 %."""
    total = 2_400_000
    session: Any = _Sized(elapsed_s=0.0, start_s=0.3, dataset=SimpleNamespace(bytes_memory=total))
    small = session.part(0.03)
    seats: Any = [Seat.__new__(Seat) for _ in range(2)]
    for seat, codec in zip(seats, (ORJSON, PICKLE), strict=True):
        seat.codec = codec
    monkeypatch.setattr(sizing, "round_s", lambda seat: 0.4)

    def again(session: Any, seat: Any, part: Part) -> tuple[float, float]:
        session.elapsed_s += 1.0
        return 0.4 + part.bytes_memory * 1e-8, 0.01

    monkeypatch.setattr(sizing, "_again", again)
    costs, tried = sizing.costs_of(session, seats, small, 60.0, 5)
    assert tried > small.bytes_memory
    launches, share = fit_launches(costs, small, total, 60.0, 5, tried_bytes=tried)
    assert 1.0 == share
    assert launches >= 3


def test_fewer_launches_before_less_of_the_data():
    """Three launches of all of it are better than five of a part; five are made where there is time for them."""
    small = Part(0.1, "", "json", "document", 10, 10, 1_000_000, "")
    costs = {ORJSON: sizing.Cost(0.0, 1e-7)}
    found = [
        fit_launches(costs, small, 10_000_000, budget, 5, tried_bytes=10_000_000)
        for budget in (20.0, 12.0, 5.0, float("inf"))
    ]
    assert [(5, 1.0), (4, 1.0)] == found[:2]
    assert 3 == found[2][0]
    assert 0.3 < found[2][1] < 1.0
    assert (5, 1.0) == found[3]


OPTIONS: dict[str, Any] = {"codecs": ("json:orjson",), "time_s": 0, "media": ("memory",), "quick": True}
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
def test_a_run_that_had_all_its_launches_is_resumed(before, tmp_path):
    """Killed after the last launch, it goes on behind it, with the twin and the floor it had."""
    result = measure.run(DOCUMENT, resume=cut(before, tmp_path), **OPTIONS)
    made = {case["key"]: len(case["launches"]) for case in before["cases"] if case["stage"] == "weigh"}
    assert made == {case["key"]: len(case["launches"]) for case in result.cases if case["stage"] == "weigh"}


@one_run
def test_a_kill_before_the_controls_were_saved_is_made_up_for(before, tmp_path):
    """An interrupted run that had the base's only launch, but not its twin's, makes one more on resume."""
    cases = [
        {**case, "launches": case["launches"][:1]}
        for case in before["cases"]
        if not case["labels"].get("twin") and case["labels"]["codec"] != "copy"
    ]
    result = measure.run(DOCUMENT, resume=cut({**before, "cases": cases}, tmp_path), **OPTIONS)
    assert result.record["resumed"]["used"] > 0
    assert {"ok"} == {case["status"] for case in result.cases}
    for case in result.cases:
        if case["labels"].get("twin") or case["labels"]["codec"] == "copy":
            assert case["launches"], case["key"]


def test_who_fails_a_condition_takes_nobodys_place():
    """The fastest codec is not weighed if it can never be chosen; the base is, whatever it fails; both are told why."""
    seats = [_seat(PICKLE, [1e6, 1e6], 1e6), _seat(STDLIB, [9e6, 9e6], 1e6), _seat(ORJSON, [3e6, 3e6], 1e6)]
    barred = {PICKLE: "runs code", STDLIB: "slow by nature"}
    assert [ORJSON, STDLIB] == choose(seats, STDLIB, barred=barred)
    assert seats[2].distance == pytest.approx(1.0)
    mark_screened(seats, [ORJSON, STDLIB], seats[0].part, barred)
    assert ("screened", "runs code") == (seats[0].case["status"], seats[0].case["reason"])


def test_what_was_asked_for_names_every_second_codec():
    """Over a slow link the smallest is first, though it is far from the best in all other uses but one."""
    others = [Codec.parse(text) for text in ("cbor", "msgpack:msgpack", "json:orjson", "pickle")]
    seats = [_seat(codec, [1e6 + i, 1e6 + i], 1e6, 10_000_000) for i, codec in enumerate(others)]
    small = Codec.parse("json:stdlib+gzip:6")
    seats.append(_seat(small, [3e8, 3e8], 1e6, 1_000_000))
    assert small != choose(seats, STDLIB)[0]
    slow = PROFILES["message"].with_link("8Mbit,20ms")
    assert small == choose(seats, STDLIB, asked=slow)[0]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"must": ("append",)}, {"pickle", "json:orjson"}),
        ({"profile": "message"}, {"pickle"}),
        ({"profile": "cache", "must": ("keep-types",)}, set()),
    ],
)
def test_conditions_that_flags_tell_are_known_beforehand(settings, expected):
    """Those of the profile as those of --must; what needs the data to come back bars nobody."""
    codecs = [Codec.parse(text) for text in ("pickle", "json:orjson", "ndjson:orjson")]
    record = {
        "codecs": {str(codec): {"flags": codec.flags()} for codec in codecs},
        "settings": {"profile": settings.get("profile", "cache")},
    }
    session = SimpleNamespace(record=record, settings=Settings(**settings))
    assert expected == {str(codec) for codec in unfit(session, codecs)}


def test_appendable_codecs_are_tried_first_and_alone_weighed():
    """Of a run for --must append no other codec but the base is weighed, and each says why."""
    result = measure.run(DOCUMENT, time_s=6, must=("append",))
    weighed = {case["labels"]["codec"] for case in result.cases if case["stage"] == "weigh"} - {"copy"}
    flags = {codec: entry["flags"] for codec, entry in result.record["codecs"].items()}
    assert all(flags[codec]["append"] for codec in weighed - {"json:stdlib"})
    assert len(weighed) > 1
    others = [c for c in result.cases if c["stage"] == "screen" and not flags[c["labels"]["codec"]]["append"]]
    assert all(
        "cannot be appended to" in case["reason"]
        for case in others
        if case["status"] in ("screened", "pending")
    )
    assert result.recommend().route_id


def test_a_launch_that_would_end_late_is_made_of_fewer_codecs():
    """The base counts twice; whoever does not fit after it is left out, and without any other there is no launch."""
    seats = [_seat(codec, [1e9, 1e9], 1e9) for codec in (ORJSON, STDLIB, PICKLE)]
    for seat in seats:
        seat.tried_s = 3.0
        seat.samples["encode"]["wall_ns"] = [1_000_000_000] * 2
    seats[2].tried_s = 9.0
    # A trial of two at once, a start, and a round of 2 s: 4 s each, and 7 s for the last.
    times = {8.0: [], 12.5: [ORJSON, STDLIB], 20.0: [ORJSON, STDLIB, PICKLE]}
    assert times == {left: sizing.in_time(seats, STDLIB, left, 1.0) for left in times}


def test_what_was_only_begun_stands_before_no_figure(tmp_path):
    """A stop in the first launch leaves a verdict of screening: its times are shown, and a resumed run goes on alike."""
    control, out = Control(), tmp_path / "r.tare.json"

    def stop(event: Event) -> None:
        if event.stage == "weigh":
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
    again = measure.run(DOCUMENT, time_s=4, codecs=("json:orjson", "pickle"), resume=out)
    sizes = {case["labels"]["size"] for case in again.cases if case["stage"] == "weigh"}
    assert {"0.5"} == sizes


def test_a_share_that_is_given_is_weighed():
    """Whatever the time would suffice for."""
    result = measure.run(DOCUMENT, time_s=4, codecs=("json:orjson",), share=0.25)
    assert {"0.25"} == {case["labels"]["size"] for case in result.cases if case["stage"] == "weigh"}
    with pytest.raises(UsageError, match="share is a share"):
        measure.run(DOCUMENT, share=1.5)


def test_no_trial_begins_that_would_end_after_the_limit():
    """By what the trials before took; the base is tried all the same, for nothing is said without it."""
    session = SimpleNamespace(
        elapsed_s=18.0, base=STDLIB, settings=Settings(), limit_s=lambda share: 20.0 * share
    )
    seats = [SimpleNamespace(codec=codec, tried_s=took) for codec, took in ((PICKLE, 3.0), (ORJSON, 0.0))]
    base = SimpleNamespace(codec=STDLIB, tried_s=0.0)
    trials: Any = Trials(session, [*seats, base], None)  # type: ignore[arg-type]
    assert [False, True] == [trials._due(seat, 19.0, True) for seat in (seats[1], base)]
    seats[0].tried_s = 1.0
    assert trials._due(seats[1], 19.0, True)
