"""Verdicts on simulated records: who wins, who is left out and why, what would change it."""

from __future__ import annotations

import copy
import re
from functools import partial

import pytest
from support.planted_codecs import Planted
from support.synthetic_records import synthetic_record

from tare.errors import UsageError
from tare.measure.cases import NOT_REACHED
from tare.measure.derive import derive
from tare.measure.verdict import text as wording
from tare.measure.verdict.constraints import allowed, conditions, kept
from tare.measure.verdict.cost_model import Crossing
from tare.measure.verdict.recommend import recommend
from tare.report import terminal

details = partial(terminal.render, verbose=True)

FLAT = {"languages": ["python", "r", "c"], "spec": "https://example.org"}
THREE = (
    Planted("parquet:pyarrow", 80, 30, 0.10, flags=FLAT | {"subset": True}),
    Planted("arrow:pyarrow", 10, 5, 1.00, flags=FLAT | {"append": True}),
    Planted("pickle", 5, 4, 0.80, flags={"executes_code": True, "languages": ["python"], "spec": ""}),
    Planted(
        "csv:stdlib",
        300,
        200,
        0.80,
        "lossy",
        "1 column changed silently",
        (("time_hour", "lossy", 9),),
        flags=FLAT,
    ),
)


@pytest.fixture(scope="module")
def record():
    return synthetic_record("table", planted=THREE, growth=False, derived=False)


def reasons_of(verdict):
    return {row["codec"]: row["reason"] for row in verdict["excluded"]}


def test_the_least_cost_wins_and_the_sentence_says_so(record):
    """For a cache pickle is quickest; the answer names it, its odds, its danger and what came back."""
    verdict = recommend(record, profile="cache")
    assert (
        verdict["route"],
        verdict["named"],
        verdict["runner_up"],
    ) == ("pickle@file", True, "arrow:pyarrow")
    assert verdict["p_best"] > 0.95
    assert abs(sum(verdict["p"].values()) - 1) < 1e-9
    assert verdict["sentence"].startswith("Use pickle (`pickle@file`): 35.3 MB, write ")
    assert "can run code" in verdict["sentence"]
    assert "keeps all 19 columns" in verdict["sentence"]
    assert verdict["confidence"] == "clear"
    lo, hi = verdict["cost_s"]["pickle"][1:]
    assert lo <= verdict["cost_s"]["pickle"][0] <= hi


def test_profiles_leave_out_what_they_must(record):
    """An archive needs a written spec and no code; a silent loss is left out everywhere unasked."""
    verdict = recommend(record, profile="archive")
    assert verdict["route"] == "parquet:pyarrow@file"
    assert "can run code" in reasons_of(verdict)["pickle"]
    assert "has no written spec" in reasons_of(verdict)["pickle"]
    assert reasons_of(verdict)["csv:stdlib"] == "changes data silently: 'time_hour'"
    assert (
        "pickle left out (no written spec; fewer than 2 independent readers; can run code or crash when read)"
        in verdict["reasons"]
    )


def test_losses_may_be_allowed_by_name_or_pattern(record):
    """--allow-loss names the path; another path does not help."""
    assert "csv:stdlib" not in recommend(record, profile="cache")["p"]
    assert "csv:stdlib" not in recommend(record, profile="cache", allow_loss=("price",))["p"]
    assert "csv:stdlib" in recommend(record, profile="cache", allow_loss=("time_*",))["p"]


@pytest.mark.parametrize(
    ("must", "left"),
    [
        (("untrusted",), {"parquet:pyarrow", "arrow:pyarrow"}),
        (("append",), {"arrow:pyarrow"}),
        (("subset", "untrusted"), {"parquet:pyarrow"}),
        (("readable:R,untrusted",), {"parquet:pyarrow", "arrow:pyarrow"}),
        (("keep-types",), {"parquet:pyarrow", "arrow:pyarrow", "pickle"}),
    ],
)
def test_hard_constraints_remove_who_fails_them(record, must, left):
    """--must takes any number, by repetition or by commas; a language is read in any case."""
    assert left == set(recommend(record, profile="cache", must=must)["p"])


def test_nothing_qualifies_says_who_fell_to_what_and_what_to_give_up(record):
    """The sentence names the constraint and the codecs; the reasons say which one to give up."""
    verdict = recommend(record, profile="cache", must=("readable:javascript",))
    assert (verdict["route"], verdict["p_best"], verdict["tie"], verdict["named"]) == (None, None, [], False)
    assert (
        "Parquet (snappy), Arrow / Feather, uncompressed and pickle left out (not read in javascript)"
        in verdict["sentence"]
    )
    assert any(reason.startswith("without readable:javascript") for reason in verdict["reasons"])
    both = recommend(record, profile="cache", must=("append", "subset"))
    assert "without append Parquet (snappy) would qualify" in both["reasons"]
    assert "without subset Arrow / Feather, uncompressed would qualify" in both["reasons"]


def test_without_partial_reads_it_says_what_can_and_what_to_ask_instead():
    """JSON cannot be read in part: the sentence says so, the reasons say who can and which wish to drop."""
    own = Planted("json:stdlib", 50, 50, 0.5, flags=FLAT)
    record = synthetic_record("document", planted=(own,), growth=False, derived=False, media=("memory",))
    verdict = recommend(record, profile="random", must=("subset",))
    assert "No codec fits random: JSON (stdlib) left out (cannot be read in part)." == verdict["sentence"]
    assert [
        "blit can be read in part, and so can Parquet, Arrow / Feather, ORC and 1 more, which hold tables; "
        "for another use (--for cache, say, without --must subset) JSON (stdlib) could qualify"
    ] == verdict["reasons"]
    assert "say)" in recommend(record, profile="random")["reasons"][0]


def test_random_access_needs_a_measured_partial_read(record):
    """Without a measured partial read nobody is recommended for it; with one the reader wins."""
    verdict = recommend(record, profile="random")
    assert verdict["route"] is None
    assert reasons_of(verdict)["parquet:pyarrow"] == "no reading of a part was measured"
    changed = copy.deepcopy(record)
    for case in changed["cases"]:
        if case["labels"]["codec"] == "parquet:pyarrow" and case["labels"]["medium"] == "file":
            for launch in case["launches"]:
                launch["samples"]["subset"] = launch["samples"]["read"]
    verdict = recommend(changed, profile="random")
    assert verdict["route"] == "parquet:pyarrow@file"
    # The part that is read is what the use is about, and is what is shown.
    assert verdict["chosen"]["part_s"] == verdict["chosen"]["read_s"]
    assert "; read a part " in verdict["sentence"] or ", read a part " in verdict["sentence"]
    assert "part_s" not in recommend(changed, profile="cache")["chosen"]


def test_equal_costs_are_close_and_the_smaller_is_recommended():
    """Three codecs of one speed: the smallest is recommended, and the others are named beside it."""
    same = tuple(Planted(f"f{i}", 50, 50, share, flags=FLAT) for i, share in enumerate((0.6, 0.5, 0.55)))
    base = Planted("parquet:pyarrow", 150, 150, 0.5, flags=FLAT)
    record = synthetic_record(
        "table", planted=(base, *same), growth=False, derived=False, media=("memory",), launch_sd=0.01, seed=1
    )
    verdict = recommend(record, profile="cache")
    assert (verdict["codec"], verdict["route"], verdict["confidence"]) == ("f1", "f1@file", "close")
    assert set(verdict["rivals"]) == {"f0", "f2"}
    assert verdict["sentence"].startswith("Use f1 (`f1@file`): 22.1 MB, ")
    assert re.search(r" Close: f\d costs .*; f\d costs .*\.$", verdict["sentence"])


def test_flips_are_where_costs_are_equal(record):
    """Below the bandwidth of the flip the other codec is best, above it the winner still is."""
    verdict = recommend(record, profile="exchange")
    assert verdict["route"] == "parquet:pyarrow@file"
    flip = next(flip for flip in verdict["flips"] if flip["axis"] == "bandwidth" and flip["side"] == "above")
    assert flip["codec"] == "arrow:pyarrow"
    assert flip["lo"] <= flip["at"] <= flip["hi"]
    assert flip["text"].startswith("above ")
    rate = flip["at"]
    assert recommend(record, profile="exchange", link=f"{0.85 * rate:.0f}B")["codec"] == "parquet:pyarrow"
    assert recommend(record, profile="exchange", link=f"{1.15 * rate:.0f}B")["codec"] == "arrow:pyarrow"


@pytest.mark.parametrize(
    ("axis", "side", "ends", "said"),
    [
        ("reads", "below", (2.49, 1.52, 7.85), "fewer than 3 reads [2, 8]: a"),
        ("reads", "above", (2.49, 1.52, 7.85), "more than 2 reads [1, 7]: a"),
        ("reads", "above", (12_345.6, 12_001.0, 13_000.2), "more than 12,345 reads [12,001, 13,000]: a"),
        ("reads", "below", (40.0, 40.0, 40.0), "fewer than 40 reads: a"),
        ("reads", "above", (1.2, 1.1, 1.3), "more than 1 read: a"),
        ("bandwidth", "below", (12.5e6, 12.5e6, 12.5e6), "below 12.5 MB/s: a"),
        ("bandwidth", "above", (21e6, 18e6, 25e6), "above 21 MB/s [18, 25]: a"),
    ],
)
def test_flips_have_whole_reads_and_no_interval_of_one_run(axis, side, ends, said):
    """Fewer than 2.49 reads are at most 2; an interval whose ends are the same is none."""
    assert said == wording.flip(axis, side, Crossing(*ends), "a")


def test_many_columns_are_grouped_in_thousands():
    """In sentences and cells as in the line that names the data."""
    wide = {"verify": {"verdict": "same", "columns": 10_000, "changes": []}}
    assert "keeps all 10,000 columns" == wording.came_back(wide)
    wide["verify"]["changes"] = [{"path": "a", "verdict": "type"}]
    assert "keeps every value, column 'a' as another type" == wording.came_back(wide)
    wide["verify"]["changes"] += [{"path": f"c{n}", "verdict": "type"} for n in range(1200)]
    assert "keeps every value, 'a', 'c0', 'c1' and 1,198 more as another type" == wording.came_back(wide)
    assert "10,000/10,000" == kept(wide)


def test_reads_flip_the_choice():
    """One codec is costly to write and quick to read: from some number of reads on it is best."""
    pair = (
        Planted("parquet:pyarrow", 10, 40, 0.5, flags=FLAT),
        Planted("slow:writer", 400, 10, 0.5, flags=FLAT),
    )
    record = synthetic_record(
        "table", planted=pair, growth=False, derived=False, media=("memory",), preempted=0
    )
    verdict = recommend(record, profile="archive")
    flip = next(flip for flip in verdict["flips"] if flip["axis"] == "reads")
    assert (flip["codec"], flip["side"]) == ("slow:writer", "above")
    assert 12 < flip["at"] < 14
    assert flip["text"].startswith("more than 1")
    assert recommend(record, profile="archive", weights=(1, 20))["codec"] == "slow:writer"


def test_price_of_bytes_and_link_change_the_choice(record):
    """Free bytes favour speed, dear ones the small format; so do fast and slow links."""
    assert recommend(record, profile="archive", gb_seconds=0, link="10GB")["codec"] == "arrow:pyarrow"
    assert recommend(record, profile="archive", gb_seconds=100, link="10GB")["codec"] == "parquet:pyarrow"
    assert (
        recommend(record, profile="message", link="1MB,1ms", must=("untrusted",))["codec"]
        == "parquet:pyarrow"
    )


def test_part_of_the_data_predicts_the_whole():
    """A tenth was loaded: costs are of the whole data, superlinear codecs pay more, and it is said."""
    pair = (
        Planted("parquet:pyarrow", 100, 100, 0.5, flags=FLAT),
        Planted("bends:up", 60, 60, 0.5, exponent=1.5, flags=FLAT),
    )
    record = synthetic_record(
        "table", planted=pair, partial=0.1, media=("memory",), derived=False, preempted=0
    )
    verdict = recommend(record, profile="archive")
    whole = synthetic_record("table", planted=pair, media=("memory",), derived=False, preempted=0)
    assert recommend(whole, profile="archive")["codec"] == "bends:up"
    assert verdict["codec"] == "parquet:pyarrow"
    assert "provisional: predicted from 10 % of the data" in verdict["reasons"]
    assert verdict["provisional"]
    assert recommend(record, profile="archive")["p"] == verdict["p"]
    slow = verdict["cost_s"]["bends:up"][0]
    passage = 10 * 0.5 * 44_145_000 * (1 / 200e6 + 20e-9)
    assert 0.12 * 10**1.5 + passage == pytest.approx(slow, rel=0.06)


def test_two_samples_are_provisional(record):
    """The first answer rests on one pass or two and says so."""
    first = synthetic_record("table", planted=THREE, growth=False, derived=False, launches=1, rounds=2)
    assert recommend(first, profile="archive")["provisional"]
    assert not recommend(record, profile="archive")["provisional"]


def test_codecs_that_were_only_screened_do_not_race_with_those_weighed(record):
    """A run that was stopped holds codecs tried on 5 % of the data only; their times are 20 times less."""
    changed = copy.deepcopy(record)
    changed["cases"] = [
        case
        for case in changed["cases"]
        if not (case["stage"] == "weigh" and case["labels"]["codec"] == "arrow:pyarrow")
    ]
    verdict = recommend(changed, profile="cache")
    assert "arrow:pyarrow" not in verdict["p"]
    assert "was not measured" in reasons_of(verdict)["arrow:pyarrow"]


def test_screening_alone_gives_a_verdict(record):
    """Before anything is weighed the screened sample answers, scaled to the whole data."""
    changed = copy.deepcopy(record)
    changed["cases"] = [case for case in changed["cases"] if case["stage"] == "screen"]
    verdict = recommend(changed, profile="archive")
    assert verdict["route"] == "parquet:pyarrow@file"
    assert "provisional: predicted from 5 % of the data" in verdict["reasons"]


@pytest.mark.parametrize(
    "status", ["unproven", "error", "timeout", "killed", "refused", "screened", "n/a", "pending"]
)
def test_only_proven_cases_are_ranked(record, status):
    """A case with any other status is left out with its reason, however quick it was."""
    changed = copy.deepcopy(record)
    for case in changed["cases"]:
        if case["labels"]["codec"] == "pickle":
            case |= {"status": status, "reason": "said why"}
    verdict = recommend(changed, profile="cache")
    assert "pickle" not in verdict["p"]
    assert reasons_of(verdict)["pickle"].endswith("said why")


def test_a_way_that_no_case_measured_counts_for_nothing_and_is_told(record):
    """A plan of reading alone: its verdict is of reading, and says so in every report."""
    reading = copy.deepcopy(record)
    for case in reading["cases"]:
        case["operations"] = ["decode"]
        for launch in case["launches"]:
            launch["samples"] = {
                name: columns for name, columns in launch["samples"].items() if name == "decode"
            }
    verdict = recommend(reading, profile="archive")
    assert verdict["weights"]["w"] == 0
    assert ": 1 read at" in verdict["reasons"][0]
    assert "writing was not measured: of reading alone" in verdict["reasons"]
    reading["derived"] = derive(reading)
    assert "Writing was not measured: of reading alone." in " ".join(details(reading).split())
    assert recommend(record, profile="archive")["weights"]["w"] == 1


def test_spans_are_used_where_both_ends_work_at_once():
    """Over TCP alone the cost is the measured span: no sum of both sides, no modelled link."""
    record = synthetic_record(
        "table", planted=THREE, growth=False, derived=False, media=("tcp",), preempted=0
    )
    verdict = recommend(record, profile="message", must=("untrusted",))
    assert verdict["route"] == "arrow:pyarrow@tcp"
    assert [flip for flip in verdict["flips"] if flip["axis"] == "bandwidth"] == []
    assert pytest.approx(verdict["cost_s"]["parquet:pyarrow"][0], rel=0.05) == 0.080 + 0.0002
    assert "the measured span over tcp" in verdict["reasons"]


@pytest.mark.parametrize(
    ("kwargs", "text"),
    [
        ({"profile": "cash"}, "^invalid use 'cash': expected one of keep, cache, archive"),
        ({"must": ("fast",)}, "^invalid must 'fast': expected one of keep-types, untrusted"),
        ({"must": ("readable:",)}, "readable:LANGUAGE"),
        ({"must": ("readable:cobol",)}, "no format names that language; there are c, c"),
        ({"link": "quick"}, "1Gbit,0.3ms"),
        ({"weights": (-1, 1)}, "0 or more"),
        ({"gb_seconds": float("nan")}, "0 or more"),
    ],
)
def test_wrong_questions_are_refused_with_what_there_is(record, kwargs, text):
    """A wrong name lists the right ones."""
    with pytest.raises(UsageError, match=text):
        recommend(record, **kwargs)


def test_conditions_are_each_asked_once():
    """A condition of the profile that the user repeats stays one; blanks between commas do not matter."""
    assert [c.name for c in conditions(["subset"], ["subset, append", "append", ""])] == ["subset", "append"]


def test_patterns_take_brackets_as_they_are():
    """Paths of documents hold brackets; only * and ? are wildcards."""
    verify = {"changes": [{"path": "items[*].price", "verdict": "lossy"}]}
    assert allowed(verify, ["items[*].price"])
    assert allowed(verify, ["items*"])
    assert not allowed(verify, ["items[0].price"])
    assert not allowed({"changes": []}, ["a"])


def test_kept_counts_columns_or_paths():
    """Columns that changed type are kept; silent changes are not; documents count paths."""
    changes = [{"path": "a", "verdict": "lossy"}, {"path": "b", "verdict": "type"}]
    assert kept({"verify": {"verdict": "lossy", "columns": 19, "changes": changes}}) == "18/19"
    assert kept({"verify": {"verdict": "lossy", "columns": None, "changes": changes}}) == "1 changed"
    assert kept({"verify": {"verdict": "type", "changes": changes[1:]}}) == "all"
    assert kept({"status": "unproven", "verify": {"verdict": "same", "changes": []}}) == ""
    assert kept({}) == ""


def test_a_failure_of_all_is_told_with_its_reason():
    """One example says more than a number."""
    excluded = [
        ("json:stdlib", ("refused",), "refuses the data: encode: ValueError: Circular reference detected")
    ]
    said, _ = wording.nothing("message", excluded)
    assert (
        "1 failed: JSON (stdlib) refuses the data: encode: ValueError: Circular reference detected." in said
    )


def test_columns_of_another_type_are_named_with_what_they_become():
    """Up to three of them, with the order of categories where that changed; then how many more."""
    text = "dictionary<values=string, indices={}, ordered=0>"
    changes = [
        {
            "path": "cat",
            "verdict": "type",
            "side": "",
            "in": text.format("int32"),
            "out": text.format("int8"),
        },
        {
            "path": "cat (levels)",
            "verdict": "type",
            "side": "levels",
            "in": "['b', 'a']",
            "out": "['a', 'b']",
        },
        {"path": "lst", "verdict": "type", "side": "", "in": "list<l: int8>", "out": "list<l: int32>"},
    ]
    case = {"verify": {"verdict": "type", "columns": 7, "changes": changes}}
    cat = "'cat' with another dictionary index type (categories in another order)"
    assert wording.came_back(case) == f"keeps every value, {cat}, 'lst' as another list"
    changes += [
        {"path": f"t{n}", "verdict": "type", "side": "", "in": "int32", "out": "double"} for n in range(3)
    ]
    assert (
        wording.came_back(case)
        == f"keeps every value, {cat}, 'lst' as another list, 't0' as double and 2 more"
    )
    case["verify"]["changes"] = changes[1:2]
    assert wording.came_back(case) == "keeps every value, column 'cat' with its categories in another order"


def test_columns_with_brackets_in_their_names_are_columns():
    """Two of them are two, and one of the whole table is told by its side."""
    changes = [{"path": f"price ({unit})", "verdict": "type", "side": ""} for unit in ("EUR", "USD")]
    case = {"verify": {"verdict": "type", "columns": 3, "changes": changes}}
    assert "keeps every value, 'price (EUR)', 'price (USD)' as another type" == wording.came_back(case)
    case["verify"]["changes"] = [{"path": "(order)", "verdict": "type", "side": ""}]
    assert "keeps every value, column '(order)' as another type" == wording.came_back(case)
    case["verify"]["changes"] = [{"path": "(column order)", "verdict": "type", "side": "column order"}]
    assert "keeps all columns, but not their order" == wording.came_back(case)
    lost = [
        {"path": "a", "verdict": "lossy", "side": ""},
        {"path": "a (metadata)", "verdict": "lossy", "side": "metadata"},
    ]
    assert "1/2" == kept({"verify": {"verdict": "lossy", "columns": 2, "changes": lost}})


def test_what_a_use_bars_was_not_left_for_want_of_time():
    """More time does not help a codec that does not qualify."""
    record = synthetic_record("table", growth=False, derived=False)
    record["weighing"] = {"part": ""}
    record["codecs"]["pickle:x"] = {"flags": {"executes_code": True}}
    record["codecs"]["late:x"] = {"flags": FLAT}
    reasons = reasons_of(recommend(record, profile="keep"))
    assert reasons["pickle:x"] == "bytes from others can run code or crash it"
    assert reasons["late:x"] == NOT_REACHED


def test_a_format_that_tare_alone_reads_says_so():
    """And what costs least of what others read."""
    ours = FLAT | {"independent": []}
    theirs = FLAT | {"independent": ["c", "go", "r"]}
    planted = (
        Planted("json:stdlib", 400, 400, 0.5, flags=theirs),
        Planted("json:orjson", 120, 130, 0.5, flags=theirs),
        Planted("blit:tare", 50, 50, 0.4, flags=ours),
    )
    record = synthetic_record(
        "document", planted=planted, media=("memory",), growth=False, base="json:stdlib"
    )
    verdict = recommend(record, profile="keep")
    assert verdict["codec"] == "blit:tare"
    assert re.match(
        r"only Tare reads blit; the cheapest that other tools read is JSON \(orjson\), \d+ % dearer",
        verdict["only_ours"],
    )
    assert verdict["only_ours"] in verdict["sentence"]
    assert verdict["for_others"] == "json:orjson"
    record["codecs"]["blit:tare"]["flags"]["independent"] = ["go"]
    verdict = recommend(record, profile="keep")
    assert (verdict["only_ours"], verdict["for_others"]) == ("", None)


@pytest.mark.parametrize("timed", [False, True])
def test_the_time_was_too_short_where_nothing_was_timed(timed):
    """That some codecs run code is no reason while others wait: it is one once those were tried and failed."""
    excluded = [("pickle", ("no code",), "runs code"), ("json:orjson", ("measured",), "not reached")]
    said, more = wording.nothing("keep", excluded, provisional=True, timed=timed)
    if timed:
        assert said.startswith("Provisional: no codec fits keep: pickle left out")
    else:
        assert (said, more) == (
            "No answer yet: the time was over before a codec was measured.",
            ["--time gives more"],
        )
