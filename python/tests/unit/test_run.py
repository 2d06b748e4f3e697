"""A whole run in this process: its events, its record, its parts, and the route it ends in."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pytest
from support.capabilities import need_module

from tare import measure
from tare.codec import Codec
from tare.dataset import open_dataset
from tare.errors import MissingLibrary, UsageError, WorkerError
from tare.measure.derive import derive
from tare.measure.pipeline import keep_base
from tare.measure.run import kind_given, open_session, start_record
from tare.measure.sampling.case_runner import Seat
from tare.measure.sampling.memory_limits import memory_limit_bytes
from tare.measure.session import Control, Event, Part, Wiring
from tare.measure.settings import Settings
from tare.measure.stages.measurement import Measurement
from tare.measure.worker_client.client import Worker

DOCUMENT = [{"n": n, "t": "x" * (n % 7), "f": n / 3} for n in range(400)]
TABLE = pa.table(
    {"a": range(3000), "b": [f"x{n % 9}" for n in range(3000)], "c": [n / 3 for n in range(3000)]}
)
ORJSON, STDLIB, PICKLE = (Codec.parse(text) for text in ("json:orjson", "json:stdlib", "pickle"))


@pytest.fixture(autouse=True)
def _state_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One run over memory and file, with its events and its saved record."""
    out = tmp_path_factory.mktemp("run") / "r.tare.json"
    events: list[tuple[str, bool, float, bool]] = []

    def note(event: Event) -> None:
        derived = event.record is not None and "derived" in event.record
        events.append((event.stage, event.verdict, event.elapsed_s, derived))

    result = measure.run(
        DOCUMENT,
        time_s=0,
        codecs=("json:orjson", "pickle"),
        media=("memory", "file"),
        out=out,
        on_progress=note,
    )
    return {"result": result, "events": events, "out": out, "after": len(events)}


one_run = pytest.mark.xdist_group("one run in process")


@one_run
def test_events_come_stage_by_stage(finished):
    """Stages come in order; each verdict comes with what was derived; nothing comes after the end."""
    stages = list(dict.fromkeys(stage for stage, *_ in finished["events"]))
    assert ["open", "pass", "rounds", "probe"] == stages
    verdicts = [event for event in finished["events"] if event[1]]
    assert {"pass", "rounds"} == {stage for stage, *_ in verdicts}
    assert all(derived for *_, derived in verdicts)
    assert finished["after"] == len(finished["events"])


@one_run
def test_the_record_is_of_the_schema(finished, root):
    """What a run saves is what the specification says, and is what the Result holds."""
    schema = json.loads((root / "docs" / "specs" / "record.schema.json").read_text())
    saved = json.loads(finished["out"].read_text())
    jsonschema.validate(saved, schema)
    assert saved == json.loads(json.dumps(finished["result"].record))
    assert not Path(f"{finished['out']}l").exists(), "the journal goes when the record is there"


@one_run
def test_derived_is_recomputed_from_the_samples(finished):
    """Nothing in `derived` comes from anywhere but the record's samples."""
    record = json.loads(finished["out"].read_text())
    again = json.loads(
        json.dumps(derive({name: value for name, value in record.items() if name != "derived"}))
    )
    assert record["derived"] == again


@one_run
def test_both_media_are_weighed_in_one_run(finished):
    """Each codec on each medium, with the operations of the medium, and a twin of the base on each."""
    cases = [case for case in finished["result"].cases if case["stage"] == "weigh"]
    found = {(c["labels"]["codec"], c["labels"]["medium"]): c for c in cases if not c["labels"].get("twin")}
    for codec in ("json:orjson", "pickle", "json:stdlib"):
        for medium, operations in (("memory", {"encode", "decode"}), ("file", {"write", "read"})):
            case = found[codec, medium]
            assert "ok" == case["status"], case["reason"]
            assert operations == set(case["launches"][0]["samples"])
            assert 400 == case["items"]
    assert {"memory", "file"} == {c["labels"]["medium"] for c in cases if c["labels"].get("twin")}


@one_run
def test_first_calls_are_timed_once(finished):
    """The first launch times them and compares what came back; later launches do not do it again."""
    for case in finished["result"].cases:
        if case["stage"] == "weigh" and case["labels"]["codec"] != "copy":
            assert min(case["cold"].values()) > 0
            assert "same" == case["verify"]["verdict"]


@one_run
def test_columns_of_samples_are_of_one_length(finished):
    """Every column of an operation has a figure for each sample."""
    for case in finished["result"].cases:
        for launch in case["launches"]:
            for columns in launch["samples"].values():
                assert 1 == len({len(values) for values in columns.values()})
                assert min(columns["batch"]) >= 1
                assert min(columns["wall_ns"]) > 0


@one_run
def test_the_best_route_writes_what_was_measured(finished, tmp_path):
    """Its bytes have the digest that the record holds, and read back as the data."""
    result = finished["result"]
    recommendation = result.recommend()
    case = result.case(recommendation.detail["key"])
    route = result.best
    path = tmp_path / "out"
    route.write(DOCUMENT, path)
    assert case["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert DOCUMENT == route.read(path, trust=recommendation.executes_code)


@one_run
def test_the_base_and_its_twin_give_the_noise(finished):
    """A/A pairs are there, with a floor."""
    noise = finished["result"].record["noise"]
    assert noise["timer_floor_ns"] > 0
    assert 0 <= noise["psi_some"] <= 1 if noise["psi_some"] is not None else True
    assert "json:stdlib" == finished["result"].record["base"] == finished["result"].derived["base"]


# --- stopping -------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["open", "pass", "rounds"])
def test_a_stop_keeps_what_is_finished(tmp_path, stage):
    """After stop() no event comes, the record says so and is saved, the journal is gone."""
    control, out, after = Control(), tmp_path / "r.tare.json", []

    def stop(event: Event) -> None:
        after.append(event.stage)
        if event.stage == stage:
            control.stop()

    result = measure.run(
        DOCUMENT,
        time_s=30,
        codecs=("json:orjson",),
        control=control,
        on_progress=stop,
        out=out,
        media=("memory",),
    )
    assert stage == after[-1]
    assert 1 == after.count(stage)
    record = measure.load(out).record
    assert record["interrupted"] is True
    assert result.record["id"] == record["id"]
    assert ["r.tare.json"] == [path.name for path in tmp_path.iterdir() if path.name.startswith("r.")]
    assert "derived" in record


def test_a_failing_display_leaves_nothing(tmp_path, monkeypatch):
    """An error of the caller's own ends the run, its workers and its files."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def fail(event: Event) -> None:
        if event.stage == "pass":
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        measure.run(
            DOCUMENT, time_s=6, codecs=("json:orjson",), on_progress=fail, out=tmp_path / "r.tare.json"
        )
    assert [] == [path for path in tmp_path.glob("tare-*") if not path.name.startswith("tare-run-")]
    assert [] == list(tmp_path.glob("tare-run-*/worker-*"))


# --- settings -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"media": ("fifi",)}, "did you mean fifo"),
        ({"media": ("remote",)}, "needs the other host"),
        ({"remote": "http://x"}, "is not a remote"),
        ({"link": "fast"}, "is not a link"),
        ({"base": "jsn"}, "json"),
        ({"must": ("keep-type",)}, "keep-types"),
        ({"codecs": ("json:orjsn",)}, "orjson"),
        ({"codecs": ("json:orjson,level=1",)}, "level"),
        ({"kind": "numpy"}, "kind is one of own, arrow"),
        ({"exclude": ("json",), "codecs": ("json:orjson",), "base": "json:none"}, "none"),
        ({"profile": "caching"}, "invalid use 'caching': expected one of keep, cache"),
        ({"time_s": -1.0}, "time_s"),
        ({"time_s": float("nan")}, "time_s"),
        ({"time_s": float("inf")}, "time_s"),
        ({"time_s": 1.9}, "at least 2 seconds"),
        ({"deadline_s": 0.0}, "deadline_s"),
        ({"threads": 3}, "threads"),
    ],
)
def test_settings_that_cannot_be_are_refused(tmp_path, fields, message):
    """Before anything is opened or started, in words that name what is near."""
    with pytest.raises(UsageError, match=message):
        measure.run(DOCUMENT, out=tmp_path / "r.tare.json", **fields)
    assert [] == list(tmp_path.iterdir())


def test_a_column_that_may_change_is_one_of_the_table(tmp_path):
    """A name that no column has would allow nothing: it is refused with the names that there are, and a pattern that fits is not."""
    name = TABLE.column_names[0]
    with pytest.raises(UsageError, match=rf"'nosuch\*': .*no such column; it has {name}"):
        measure.run(TABLE, allow_loss=(name, "nosuch*"), out=tmp_path / "r.tare.json", time_s=4)
    assert [] == list(tmp_path.iterdir())
    found = measure.run(TABLE, allow_loss=(f"{name[0]}*",), codecs=("arrow:pyarrow",), time_s=4)
    assert found.record["settings"]["allow_loss"] == [f"{name[0]}*"]


def test_an_unknown_setting_is_a_type_error():
    """Names of settings are names of fields."""
    with pytest.raises(TypeError, match="tme_s"):
        measure.run(DOCUMENT, tme_s=4)


def test_a_library_that_is_missing_says_how_to_get_it(monkeypatch):
    """A codec asked for that is not installed ends the run with the install line."""
    library = type(ORJSON.library)
    monkeypatch.setattr(library, "installed", property(lambda self: self.name != "orjson"))
    with pytest.raises(MissingLibrary, match="pip install"):
        measure.run(DOCUMENT, codecs=("json:orjson",), time_s=4)


# --- kinds ----------------------------------------------------------------------


def _given(kind: str) -> Any:
    if kind == "pandas":
        need_module("pandas")
        return TABLE.to_pandas()
    return need_module("polars").from_arrow(TABLE)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_data_given_as_an_object_is_measured_in_its_kind(kind):
    """Every case starts from and ends in the kind given; its conversion is in the time."""
    result = measure.run(
        _given(kind), time_s=0, codecs=("csv:pyarrow",), base="csv:pyarrow", media=("memory",), quick=True
    )
    cases = [case for case in result.cases if case["labels"]["codec"] == "csv:pyarrow"]
    assert {kind} == {case["labels"]["kind"] for case in result.cases}
    assert {"ok"} == {case["status"] for case in cases}
    assert 3000 == cases[0]["items"]


def test_kinds_of_what_is_given(tmp_path):
    """Paths, names and documents are measured in each library's own kind."""
    pandas = need_module("pandas")
    frame, path = pandas.DataFrame({"a": [1]}), tmp_path / "a.csv"
    frame.to_csv(path, index=False)
    for data, expected in (
        (frame, "pandas"),
        (TABLE, "arrow"),
        (open_dataset(frame), "pandas"),
        (DOCUMENT, "own"),
        (str(path), "own"),
        (path, "own"),
        ("synthpop:10", "own"),
        (open_dataset(path), "own"),
    ):
        assert expected == kind_given(data, open_dataset(data)), data


# --- parts, memory, groups: without a worker ------------------------------------


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A session over the table; it starts no worker by itself."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    dataset, settings = open_dataset(TABLE, name="t"), Settings(seed=3)
    with open_session(dataset, settings, start_record(dataset, settings, ""), Wiring()) as made:
        yield made
    # The process keeps its own (locked, empty) folder until it ends.
    assert [] == [path for path in tmp_path.rglob("*") if path.is_file() and path.name != ".lock"]


def test_a_part_is_the_same_rows_for_everybody(session):
    """A share is drawn once; workers of every codec load the same file, told in the record."""
    part = session.part(0.25)
    assert part is session.part(0.25)
    assert part.path == session.part(0.25).path
    assert 1 + round(3000 * 0.25) == part.rows == part.items
    told = session.block["sizes"]["0.25"]
    assert (part.hash, part.rows, part.bytes_memory) == (told["hash"], told["rows"], told["bytes_memory"])
    from tare.dataset import load_saved

    saved = load_saved(part.path, part.as_, part.kind)
    rows = saved.column("a").to_pylist()
    assert rows == sorted(rows), "in the order of the source"
    assert part.hash == open_dataset(saved).hash()


def test_another_seed_draws_other_rows(session):
    """The seed of the settings decides, and the whole is the whole for all."""
    settings = Settings(seed=4)
    with open_session(
        session.dataset, settings, start_record(session.dataset, settings, ""), Wiring()
    ) as other:
        assert session.part(0.25).hash != other.part(0.25).hash
        assert session.part(1.0).hash == other.part(1.0).hash == session.dataset.hash()


def test_workers_load_on_any_cpu_and_are_timed_on_one(session):
    """Two load at a time: pinned in turn, they shared a CPU as often as not, and were timed at half its speed."""
    several = [session.worker(session.part(0.25), "arrow", loading=True) for _ in range(3)]
    try:
        assert {frozenset(os.sched_getaffinity(one.pid)) for one in several} == {frozenset(session.cpus)}
        session.settle(several[0])
        assert os.sched_getaffinity(several[0].pid) == {session.timed_cpu}
        session.loosen(several[0])
        assert os.sched_getaffinity(several[0].pid) == set(session.cpus)
    finally:
        for one in several:
            session.release(one)


def test_a_case_is_made_once_for_a_stage(session):
    """The same labels are the same case; a later stage takes an earlier one's place."""
    part = session.part(1.0)
    screened = session.case("json:orjson", part, "screen", medium="memory")
    assert screened is session.case("json:orjson", part, "screen", medium="memory")
    weighed = session.case("json:orjson", part, "weigh", medium="memory")
    assert weighed is not screened
    assert [weighed] == session.record["cases"]
    assert session.case("json:orjson", part, "weigh", medium="file") is not weighed


def _part(bytes_memory: int, share: float = 1.0, kind: str = "document") -> Part:
    return Part(share, "", "json", kind, 10, 10, bytes_memory, "")


@pytest.mark.parametrize(
    ("kind", "size", "expected"),
    [
        ("arrow", 1000, 2 << 30),
        ("arrow", 4 << 30, 36 << 30),
        ("pandas", 4 << 30, 24 << 30),
        ("records", 1 << 30, 72 << 30),
        ("python", 2 << 30, 9 << 30),
        ("unheard-of", 2 << 30, 12 << 30),
    ],
)
def test_a_worker_may_hold_three_copies_in_its_kind(kind, size, expected):
    """At least 2 GiB; else three times the part as the worker's kind holds it, nine times for Arrow."""
    assert expected == memory_limit_bytes(_part(size), kind, available=1 << 30)


def test_a_worker_may_hold_a_quarter_of_what_is_empty():
    """A small part on a large machine is not held to the floor; a large one is not held to the quarter."""
    assert memory_limit_bytes(_part(1000), "records", available=24 << 30) == 6 << 30
    assert memory_limit_bytes(_part(1 << 30), "records", available=24 << 30) == 72 << 30


def test_the_best_few_have_the_base_among_them():
    """The base takes the last place if it is not good enough for one."""
    assert [ORJSON, STDLIB] == keep_base([ORJSON, PICKLE, STDLIB], STDLIB, 2)
    assert [ORJSON, STDLIB] == keep_base([ORJSON, STDLIB, PICKLE], STDLIB, 2)
    assert [ORJSON] == keep_base([ORJSON], STDLIB, 2)


# --- time -------------------------------------------------------------------------


def test_a_run_that_is_late_says_by_how_much(monkeypatch):
    """When the time is up after the pass, its answer stands and the record says by how much it was late."""
    answer = Measurement.answer

    def late(self: Any) -> None:
        answer(self)
        self.session.started_at -= 100.0

    monkeypatch.setattr(Measurement, "answer", late)
    result = measure.run(DOCUMENT, time_s=60, codecs=("json:orjson",))
    assert 40 < result.record["noise"]["overrun_s"] < 100
    assert "ok" == result.case(result.recommend().detail["key"])["status"]


# --- limits ---------------------------------------------------------------------


def test_a_codec_that_needs_far_more_memory_is_stopped(monkeypatch):
    """A codec that wants many copies of the data ends with that reason; one that wants few is well."""
    # Parsing a Python literal takes some 100 times the memory of its numbers.
    monkeypatch.setattr("tare.measure.sampling.memory_limits._WORKER_FLOOR_BYTES", 120 << 20)
    monkeypatch.setattr("tare.measure.environment.limits.available_bytes", lambda: 0)
    dataset, settings = open_dataset(list(range(400_000))), Settings(time_s=60)
    with open_session(dataset, settings, start_record(dataset, settings, ""), Wiring()) as made:
        found = {}
        for name in ("repr:stdlib", "marshal"):
            case = made.case(name, made.part(1.0), "weigh", medium="memory")
            seat = Seat(made, case, Codec.parse(name), made.part(1.0))
            seat.start()
            seat.ready(verify=True)
            seat.close()
            found[name] = case
    assert "ok" == found["marshal"]["status"], found["marshal"]["reason"]
    assert found["repr:stdlib"]["status"] in ("error", "killed")
    assert "emory" in found["repr:stdlib"]["reason"]
    assert "; its process was held to 0." in found["repr:stdlib"]["reason"]


def test_streams_alone_end_in_a_route_over_one_of_them():
    """Who asks for a fifo is not sent to a file; data given as pandas arrives as pandas."""
    frame = need_module("pandas").DataFrame({"a": range(500)})
    result = measure.run(
        frame, time_s=0, codecs=("csv:pyarrow",), base="csv:pyarrow", media=("fifo",), quick=True
    )
    weighed, twin = (case for case in result.cases if case["stage"] == "weigh")
    assert twin["labels"] == weighed["labels"] | {"twin": "1"}
    assert result.record["derived"]["noise"]["floor"] is not None
    assert ("ok", "fifo", "pandas") == (
        weighed["status"],
        weighed["labels"]["medium"],
        weighed["labels"]["kind"],
    )
    assert {"span", "send", "receive"} == set(weighed["launches"][0]["samples"])
    assert "csv:pyarrow@fifo" == result.recommend("cache").route_id


def test_all_threads_are_a_level_of_their_own():
    """threads="all" is in every label and in what the record says of a codec."""
    result = measure.run(
        TABLE, time_s=0, codecs=("parquet:pyarrow",), threads="all", media=("memory",), quick=True
    )
    assert {"all"} == {case["labels"]["threads"] for case in result.cases}
    assert {"all"} == {entry["threads"] for entry in result.record["codecs"].values()}
    assert "ok" == next(c["status"] for c in result.cases if c["labels"]["codec"] == "parquet:pyarrow")
    assert str(result.best).endswith("threads=all")


def test_settings_are_not_changed_by_options():
    """Keyword arguments go over the settings given, which stay as they are."""
    given = Settings(time_s=4, codecs=("json:orjson",))
    assert replace(given, seed=5) != given
    with pytest.raises(UsageError, match="did you mean"):
        measure.run(DOCUMENT, settings=given, media=("memry",))
    assert given.media is None


def test_a_worker_ended_by_another_thread_is_not_read(tmp_path):
    """Whoever waits for it gets a WorkerError, never another file's bytes or a bad descriptor."""
    for _ in range(5):
        worker = Worker(workdir=tmp_path)
        number = worker.send("hello", proto=2, list=False)
        killer = threading.Thread(target=worker.kill)
        killer.start()
        with pytest.raises(WorkerError) as caught:  # noqa: PT012 - any of the calls may be the one
            while True:
                worker.wait(number, 60.0)
                number = worker.send("hello", proto=2, list=False)
        assert caught.value.type in ("closed", "killed")
        killer.join()
        with pytest.raises(WorkerError):
            worker.request("hello", deadline_s=60.0, proto=2)
