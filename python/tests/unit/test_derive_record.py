"""Everything derived is recomputable from the raw samples, and says what was planted."""

from __future__ import annotations

import copy
import itertools
import json
import math

import pytest
from support.planted_codecs import Planted
from support.synthetic_records import synthetic_record

from tare.measure.derive import derive, noise_of


@pytest.fixture(scope="module", params=["table", "document"])
def record(request):
    return synthetic_record(request.param)


@pytest.fixture(scope="module")
def table():
    return synthetic_record("table")


def case_of(record, codec, medium="memory", **labels):
    wanted = {"codec": codec, "medium": medium, "size": "1", **labels}
    return next(
        case
        for case in record["cases"]
        if all(case["labels"].get(name) == level for name, level in wanted.items())
        and "twin" not in case["labels"]
    )


def test_derived_is_recomputed_from_raw(record):
    """After a trip through JSON the record derives to the very values it holds."""
    saved = json.loads(json.dumps(record, allow_nan=False))
    assert saved["derived"] == derive(saved)
    without = {name: value for name, value in saved.items() if name != "derived"}
    assert saved["derived"] == derive(without)


def test_derive_changes_nothing_in_the_record(record):
    """The record is read only."""
    before = copy.deepcopy(record)
    derive(record)
    assert before == record


def test_every_case_is_there_with_the_agreed_fields(record):
    """Cases without samples have sizes and flags but no times."""
    derived = record["derived"]
    assert {case["key"] for case in record["cases"]} == set(derived["cases"])
    for case in record["cases"]:
        row = derived["cases"][case["key"]]
        assert {
            "ops",
            "total",
            "bytes",
            "size_share",
            "peak_bytes",
            "copies_encoded",
            "copies_memory",
            "kept",
            "flags",
        } == set(row)
        if not case["launches"]:
            assert (row["ops"], row["total"]) == ({}, None)
        for figure in row["ops"].values():
            if not figure.get("predicted"):
                assert figure["lo_ns"] <= figure["t_ns"] <= figure["hi_ns"]
                assert figure["floor_ns"] <= figure["t_ns"]


def test_times_and_ratios_are_the_planted_ones(table):
    """Medians lie within 3 % of the truth, preempted samples or not; intervals hold it; ratios are to the base."""
    for codec, encode_ms, decode_ms in (
        ("parquet:pyarrow", 85, 22),
        ("pickle", 12, 5),
        ("orc:pyarrow", 140, 60),
    ):
        row = table["derived"]["cases"][case_of(table, codec)["key"]]
        assert encode_ms == pytest.approx(row["ops"]["encode"]["t_ns"] / 1e6, rel=0.03)
        assert decode_ms == pytest.approx(row["ops"]["decode"]["t_ns"] / 1e6, rel=0.03)
        assert (encode_ms + decode_ms) / 107 == pytest.approx(row["total"]["ratio"], rel=0.03)
        assert tuple(row["total"][name] for name in ("launches", "samples", "method", "provisional")) == (
            5,
            45,
            "bootstrap",
            False,
        )
    base = table["derived"]["cases"][case_of(table, "parquet:pyarrow")["key"]]
    assert tuple(base["total"][name] for name in ("ratio", "ratio_lo", "ratio_hi")) == (1.0, 1.0, 1.0)


def test_total_is_the_sum_and_never_the_larger():
    """Writing 40 ms and reading 30 ms is 70 ms on media where one follows the other; over TCP it is the span."""
    pair = (Planted("parquet:pyarrow", 40, 30, 0.001),)
    record = synthetic_record("table", planted=pair, media=("memory", "tcp"), growth=False, preempted=0)
    cases = record["derived"]["cases"]
    assert (
        pytest.approx(cases[case_of(record, "parquet:pyarrow")["key"]]["total"]["t_ns"] / 1e6, rel=0.03) == 70
    )
    tcp = cases[case_of(record, "parquet:pyarrow", "tcp")["key"]]
    assert pytest.approx(tcp["total"]["t_ns"] / 1e6, rel=0.03) == 40.2
    assert tcp["total"]["t_ns"] == tcp["ops"]["span"]["t_ns"]


def test_ties_share_letters_and_the_rest_do_not(table):
    """Letters exist for the proven and the lossy; the fastest has the first."""
    letters = {
        case["labels"]["codec"]: table["derived"]["cases"][case["key"]]["ops"]["decode"]["letters"]
        for case in table["cases"]
        if case["stage"] == "weigh"
        and case["labels"]["medium"] == "memory"
        and case["status"] in ("ok", "lossy")
        and "twin" not in case["labels"]
        and case["labels"]["codec"] != "copy"
    }
    assert letters["arrow:pyarrow"] == "a"
    assert set(letters["parquet:pyarrow"]) & set(letters["parquet:polars"])
    assert not set(letters["arrow:pyarrow"]) & set(letters["pickle"])


def test_unproven_reading_has_no_total_and_is_no_winner(table):
    """A decode that brought nothing back is never ranked, whatever its time."""
    case = case_of(table, "csv:broken")
    row = table["derived"]["cases"][case["key"]]
    assert row["total"] is None
    assert row["ops"]["decode"]["letters"] == ""
    assert all(case["key"] != key for key in table["derived"]["pareto"])
    assert all("csv:broken" not in profile["p"] for profile in table["derived"]["profiles"].values())


def test_decode_faster_than_copying_is_flagged(table):
    """900 ns for 38 MB is no decoding; a copy of the bytes takes 5 ms."""
    flags = table["derived"]["cases"][case_of(table, "csv:broken")["key"]]["flags"]
    assert "reads in less time than its bytes are copied" in flags
    assert table["derived"]["cases"][case_of(table, "pickle")["key"]]["flags"] == []


def test_screened_codecs_show_predicted_figures(table):
    """They stand in the same table, marked, without an interval or a letter."""
    case = next(case for case in table["cases"] if case["labels"]["codec"] == "csv:stdlib")
    row = table["derived"]["cases"][case["key"]]
    assert (case["stage"], case["status"]) == ("screen", "screened")
    assert row["total"]["predicted"]
    assert tuple(row["total"][name] for name in ("lo_ns", "hi_ns", "letters")) == (None, None, "")
    assert pytest.approx(row["total"]["t_ns"] / 1e6, rel=0.03) == 3400
    assert pytest.approx(row["total"]["ratio"], rel=0.05) == 3400 / 107
    assert "predicted from the screening" in row["flags"]


def test_growth_finds_the_planted_exponents_and_ends():
    """K = 1.6 is flagged with its interval; a failure ends its curve at its size."""
    planted = (
        Planted("json:stdlib", 40, 40, 0.5),
        Planted("steep:one", 400, 40, 0.5, exponent=1.6),
        Planted("ends:early", 4000, 4000, 0.5, "timeout", "no answer in 30 s", fails_at=0.25),
    )
    record = synthetic_record("document", planted=planted, media=("memory",))
    rows = {(row["codec"], row["op"]): row for row in record["derived"]["growth"]}
    steep = rows["steep:one", "encode"]
    assert pytest.approx(steep["k"], abs=0.03) == 1.6
    assert steep["superlinear"]
    assert steep["k_lo"] <= steep["k"] <= steep["k_hi"]
    assert not rows["json:stdlib", "total"]["superlinear"]
    assert [point[0] for point in rows["json:stdlib", "total"]["points"]] == [1 / 64, 1 / 16, 1 / 4, 1.0]
    assert rows["ends:early", "total"]["end"] == {
        "size": 0.25,
        "status": "timeout",
        "reason": "no answer in 30 s",
    }
    assert not rows["ends:early", "total"]["measured"]
    flags = record["derived"]["cases"][case_of(record, "steep:one")["key"]]["flags"]
    assert any(flag.startswith("encode grows faster than the data: k=1.6") for flag in flags)


def test_full_size_is_predicted_when_a_part_was_loaded():
    """A tenth was loaded: n^1.5 takes 32 times as long for the whole, and bytes grow by ten."""
    planted = (Planted("json:stdlib", 40, 40, 0.5), Planted("steep:one", 40, 40, 0.5, exponent=1.5))
    record = synthetic_record("document", planted=planted, media=("memory",), partial=0.1)
    row = next(
        row for row in record["derived"]["growth"] if (row["codec"], row["op"]) == ("steep:one", "total")
    )
    assert pytest.approx(row["predicted_ns"], rel=0.05) == 80e6 * 10**1.5
    assert row["predicted_lo_ns"] <= row["predicted_ns"] <= row["predicted_hi_ns"]
    assert pytest.approx(row["predicted_bytes"], rel=0.01) == 10 * 0.5 * 135e6


def test_pareto_holds_the_extremes_and_no_dominated_codec(table):
    """The smallest and the fastest are on the front; ORC, slower and larger than Parquet with zstd, is not."""
    front = {case["labels"]["codec"] for case in table["cases"] if case["key"] in table["derived"]["pareto"]}
    assert {"arrow:pyarrow", "parquet:pyarrow,compression=zstd,level=9"} <= front
    assert "orc:pyarrow" not in front
    assert "csv:pyarrow" not in front


def test_crossings_go_from_small_to_fast(table):
    """Each crossing hands over to the next; bandwidths rise; intervals hold them."""
    crossings = table["derived"]["crossings"]
    assert len(crossings) >= 2
    assert crossings[0]["a"] == "parquet:pyarrow,compression=zstd,level=9"
    assert crossings[-1]["b"] == "arrow:pyarrow"
    for one, following in itertools.pairwise(crossings):
        assert one["b"] == following["a"]
        assert one["v_bytes_s"] < following["v_bytes_s"]
    assert all(row["lo"] <= row["v_bytes_s"] <= row["hi"] for row in crossings)


def test_noise_is_the_base_against_itself(record):
    """One row an operation and medium; the floor is the largest relative half width of the totals."""
    noise = record["derived"]["noise"]
    assert {"encode", "decode", "write", "read", "total"} == {row["op"] for row in noise["aa"]}
    widths = [
        math.exp(max(abs(math.log(row["lo"])), abs(math.log(row["hi"])))) - 1
        for row in noise["aa"]
        if row["op"] == "total"
    ]
    assert max(widths) == pytest.approx(noise["floor"], rel=1e-3)
    assert (noise["launches"], noise["rounds"], noise["quiet"]) == (5, 9, True)


def test_contention_is_marked():
    """Half of the samples preempted: wall clocks are marked, times stay."""
    pair = (Planted("json:stdlib", 40, 40, 0.5), Planted("json:other", 20, 20, 0.5))
    record = synthetic_record("document", planted=pair, growth=False, media=("memory",), preempted=0.7)
    row = record["derived"]["cases"][case_of(record, "json:other")["key"]]
    assert row["total"]["contended"]
    assert pytest.approx(row["total"]["t_ns"] / 1e6, rel=0.03) == 40
    assert any(flag.startswith("contended") for flag in row["flags"])
    assert not record["derived"]["noise"]["quiet"]


def test_missing_launches_and_ragged_rounds_are_lived_with(table):
    """A worker that died in launch 4, a round that is missing, a base that was cut short: figures stay."""
    changed = copy.deepcopy(table)
    dead = case_of(changed, "pickle", "file")
    dead["launches"] = dead["launches"][:3]
    short = case_of(changed, "orc:pyarrow", "file")["launches"][1]["samples"]["read"]
    for name in short:
        short[name] = short[name][:4]
    base = case_of(changed, "parquet:pyarrow", "file")
    base["launches"] = base["launches"][1:]
    cases = derive(changed)["cases"]
    assert tuple(cases[dead["key"]]["total"][name] for name in ("launches", "method")) == (3, "student")
    assert tuple(
        cases[case_of(changed, "orc:pyarrow", "file")["key"]]["total"][n] for n in ("samples", "method")
    ) != (40, "student")
    for codec in ("pickle", "orc:pyarrow"):
        old, new = (
            c[case_of(changed, codec, "file")["key"]]["total"] for c in (table["derived"]["cases"], cases)
        )
        assert old["ratio"] == pytest.approx(new["ratio"], rel=0.05)


def test_groups_that_took_turns_are_paired_with_their_own_base():
    """Where memory held half of the workers, the base ran in both halves; pairs are taken within a half."""
    trio = (Planted("parquet:pyarrow", 40, 40, 0.5), Planted("a:a", 20, 20, 0.5), Planted("b:b", 60, 60, 0.5))
    record = synthetic_record("table", planted=trio, growth=False, media=("memory",), preempted=0)
    base = case_of(record, "parquet:pyarrow")
    slow = copy.deepcopy(base["launches"])
    for launch in [
        *slow,
        *case_of(record, "b:b")["launches"],
    ]:  # the second half ran on a machine twice as slow
        launch["started"] += 30
        for column in launch["samples"].values():
            for name in ("wall_ns", "user_ns", "sys_ns"):
                column[name] = [2 * value for value in column[name]]
    base["launches"] = [launch for pair in zip(base["launches"], slow, strict=True) for launch in pair]
    cases = derive(record)["cases"]
    assert pytest.approx(cases[case_of(record, "a:a")["key"]]["total"]["ratio"], rel=0.03) == 0.5
    assert pytest.approx(cases[case_of(record, "b:b")["key"]]["total"]["ratio"], rel=0.03) == 1.5


def test_records_with_next_to_nothing_derive():
    """No cases, unknown codecs, cases without verify or bytes: a verdict that says so, no error."""
    assert derive({"id": "", "cases": []})["headline"]["route"] is None
    bare = {
        "key": "codec=x|size=1",
        "labels": {"codec": "x", "size": "1"},
        "status": "pending",
        "launches": [],
    }
    found = derive({"id": "a", "cases": [bare], "codecs": {"y": {}}, "dataset": {}, "noise": {}})
    assert {"codec=x|size=1"} == set(found["cases"])
    assert {"x", "y"} == {row["codec"] for row in found["headline"]["excluded"]}


def test_run_under_way_derives_at_every_step(table):
    """After each launch the display asks for a verdict: cases are pending, verify and bytes may be missing."""
    for launches in range(4):
        changed = copy.deepcopy(table)
        for case in changed["cases"]:
            case["launches"] = case["launches"][:launches]
            if not case["launches"]:
                case["status"] = "pending"
                for name in ("bytes", "verify", "items", "cold"):
                    case.pop(name, None)
        json.dumps(derive(changed), allow_nan=False)


def test_interrupted_clocks_do_not_matter():
    """A runtime without switch counts or a CPU clock still has times; its CPU time is None, not 0."""
    pair = (Planted("json:stdlib", 40, 40, 0.5), Planted("json:node", 20, 20, 0.5))
    record = synthetic_record("document", planted=pair, growth=False, media=("memory",), preempted=0)
    case = case_of(record, "json:node")
    for launch in case["launches"]:
        for columns in launch["samples"].values():
            for name in ("user_ns", "sys_ns", "nivcsw", "nvcsw"):
                columns.pop(name)
    row = derive(record)["cases"][case["key"]]
    assert pytest.approx(row["ops"]["encode"]["t_ns"] / 1e6, rel=0.03) == 20
    assert row["ops"]["encode"]["cpu_ns"] is None


def test_cpu_time_is_the_same_however_it_is_split():
    """A process that tells no sys_ns has all CPU time in user_ns, also beside one that tells both."""
    record = synthetic_record("document", growth=False, media=("memory",))
    before = derive(record)["cases"]
    for case in record["cases"]:
        for launch in case["launches"][::2]:
            for columns in launch["samples"].values():
                both = zip(columns["user_ns"], columns.pop("sys_ns"), strict=True)
                columns["user_ns"] = [user + system for user, system in both]
    assert derive(record)["cases"] == before


def test_noise_without_a_twin_is_what_the_run_noted():
    """Without an A/A pair the noise floor of the record's own noise block stands."""
    record = synthetic_record("table", growth=False, derived=False)
    record["cases"] = [case for case in record["cases"] if "twin" not in case["labels"]]
    assert tuple(noise_of(record)[name] for name in ("aa", "floor")) == ([], 0.004)
