"""How sure a verdict is: noise floors, ties with and without a winner, and what makes it provisional."""

from __future__ import annotations

import copy
import re

import numpy as np
import pytest
from support.planted_codecs import Planted
from support.soak import scaled
from support.synthetic_records import set_floor, synthetic_record

from tare.measure.cost import PROFILES, Costed
from tare.measure.recommend import gather, recommend

FLAT = {"languages": ["python", "r", "c"], "spec": "https://example.org"}
BASE = Planted("parquet:pyarrow", 200, 200, 0.5, flags=FLAT)
QUIET = {"launch_sd": 0.001, "noise_sd": 0.001, "preempted": 0.0}


def verdict_of(step, floor, profile="archive", share=0.5, **noise):
    """Two codecs, the second costs ``step`` times as much; the noise floor is given."""
    pair = (
        Planted("quick:one", 50, 50, 0.5, flags=FLAT),
        Planted("other:one", 50 * step, 50 * step, share, flags=FLAT),
    )
    record = synthetic_record(
        "table", planted=(BASE, *pair), media=("memory",), growth=False, derived=False, **(QUIET | noise)
    )
    evidence = gather(record)
    set_floor(evidence, floor)
    for group in evidence.analysis.groups:
        for figure in group.figures.values():
            figure.letters = ""  # they were made with the record's own floor
    # Free bytes and an endless link: costs are times.
    return recommend(record, profile=profile, gb_seconds=0, link="1000GB", evidence=evidence)


@pytest.mark.parametrize(
    ("step", "floor", "tie", "named"),
    [
        # Quiet: 2 % are no difference that is felt, but more than the machine's own; 0.2 % are not.
        (1.02, 0.004, True, True),
        (1.002, 0.010, True, False),
        (1.10, 0.004, False, True),
        # Noisy: the same 10 % are a tie within a floor of 15 %, and nobody's; 40 % are beyond it.
        (1.10, 0.15, True, False),
        (1.40, 0.15, False, True),
    ],
)
def test_the_noise_floor_decides_what_is_a_tie_and_who_may_win_it(step, floor, tie, named):
    """A tie: not shown beyond 3 % and the floor. A tie has a winner only beyond the floor."""
    verdict = verdict_of(step, floor)
    assert (tie, named) == (len(verdict["tie"]) == 2, verdict["named"])
    assert verdict["p_best"] > 0.9 or not named
    assert verdict["provisional"] is (floor > 0.10)
    assert any("noise floor 15 %" in reason for reason in verdict["reasons"]) is (floor > 0.10)


def test_a_winner_among_ties_on_a_noisy_machine_needs_more_than_the_half():
    """P(best) of 0.6 to 0.95 with a floor of 12 %: no winner; the same odds on a quiet machine name one."""
    noise = {"launch_sd": 0.25, "noise_sd": 0.1, "seed": 5}
    noisy, quiet = (verdict_of(1.2, floor, **noise) for floor in (0.12, 0.004))
    assert 0.6 < max(noisy["p"].values()) < 0.95
    assert noisy["p"] == quiet["p"]
    assert (False, True) == (noisy["named"], quiet["named"])
    assert len(noisy["tie"]) == len(quiet["tie"]) == 2


@pytest.mark.parametrize("launches", [3, 5])
def test_equal_codecs_have_a_winner_in_few_runs(launches):
    """Of two equal codecs one always has half of the odds; the floor keeps it from being named."""
    named = []
    for seed in range(scaled(20, 40)):
        same = tuple(Planted(name, 50, 50, 0.5, flags=FLAT) for name in ("a:a", "b:b"))
        record = synthetic_record(
            "table",
            planted=(BASE, *same),
            media=("memory",),
            growth=False,
            derived=False,
            launches=launches,
            seed=seed,
        )
        named.append(recommend(record, profile="archive", gb_seconds=0, link="1000GB")["named"])
    assert np.mean(named) <= 0.10


def test_bytes_over_a_slow_link_have_no_noise():
    """Half of the bytes over 1 MB/s cost half, however noisy the clock: a winner, and nothing provisional."""
    pair = (
        Planted("small:one", 50, 50, 0.25, flags=FLAT),
        Planted("large:one", 50, 50, 0.27, flags=FLAT),
    )
    record = synthetic_record(
        "table", planted=(BASE, *pair), media=("memory",), growth=False, derived=False, **QUIET
    )
    evidence = gather(record)
    set_floor(evidence, 0.40)
    slow = recommend(record, profile="exchange", link="1MB", evidence=evidence)
    assert (slow["codec"], slow["named"], slow["tie"], slow["provisional"]) == (
        "small:one",
        True,
        ["small:one"],
        False,
    )
    fast = recommend(record, profile="exchange", link="100GB", evidence=evidence)
    assert (fast["named"], fast["provisional"]) == (False, True)


@pytest.mark.parametrize(("launches", "said"), [(2, True), (5, False)])
def test_a_tie_says_when_it_is_provisional(launches, said):
    """The sentence of a tie begins as that of a winner does."""
    same = tuple(Planted(f"f{i}", 50, 50, 0.5 + i / 1000, flags=FLAT) for i in range(3))
    record = synthetic_record(
        "table", planted=(BASE, *same), media=("memory",), growth=False, derived=False, launches=launches,
        launch_sd=0.02, seed=2,
    )  # fmt: skip
    verdict = recommend(record, profile="archive")
    assert (verdict["named"], verdict["provisional"]) == (False, said)
    assert verdict["sentence"].startswith(
        "Provisional: a tie for archive, smallest first: `f0`, " if said else "A tie for archive, smallest first: `f0`, "
    )  # fmt: skip
    assert ("provisional: fewer than 3 launches" in verdict["reasons"]) is said


def test_members_of_a_tie_are_no_change_for_each_other():
    """No 'more than 1.5 reads: b' among codecs of which none is shown to be better; of others there is."""
    truth = (
        Planted("a:a", 50, 50, 0.500, flags=FLAT),
        Planted("b:b", 56, 46, 0.501, flags=FLAT),
        Planted("tiny:t", 400, 400, 0.02, flags=FLAT),
    )
    record = synthetic_record(
        "table", planted=(BASE, *truth), media=("memory",), growth=False, derived=False, **QUIET
    )
    evidence = gather(record)
    named = recommend(record, profile="message", link="10GB", evidence=evidence)
    assert {"b:b", "tiny:t"} == {flip["codec"] for flip in named["flips"]}
    set_floor(evidence, 0.08)
    tied = recommend(record, profile="message", link="10GB", evidence=evidence)
    assert (tied["named"], tied["tie"]) == (False, ["a:a", "b:b"])
    assert {"tiny:t"} == {flip["codec"] for flip in tied["flips"]}


def test_a_change_in_a_tie_is_where_nobody_of_the_tie_is_cheaper():
    """The smallest of the tie loses to another codec from 1.5 GB/s on, but the cheapest only from 1.8 GB/s."""
    truth = (
        Planted("small:s", 60, 44, 0.10, flags=FLAT),
        Planted("cheap:c", 60, 40, 0.11, flags=FLAT),
        Planted("quick:q", 50, 30, 0.91, flags=FLAT),
    )
    record = synthetic_record(
        "table", planted=(BASE, *truth), media=("memory",), growth=False, derived=False, **QUIET
    )
    evidence = gather(record)
    set_floor(evidence, 0.08)
    verdict = recommend(record, profile="message", link="500MB", evidence=evidence)
    assert (verdict["named"], verdict["tie"]) == (False, ["small:s", "cheap:c"])
    (flip,) = [flip for flip in verdict["flips"] if flip["axis"] == "bandwidth"]
    assert (flip["codec"], flip["side"]) == ("quick:q", "above")
    assert flip["at"] == pytest.approx(44_145_000 * 0.80 / 0.020, rel=0.03)


def test_a_change_to_a_codec_that_is_not_the_best_there_is_none():
    """Above 1.1 GB/s the outsider beats the cheapest of the tie, but another of the tie beats both."""
    truth = (
        Planted("small:s", 60, 40, 0.10, flags=FLAT),
        Planted("member:m", 60, 37, 0.15, flags=FLAT),
        Planted("quick:q", 57, 35, 0.30, flags=FLAT),
    )
    record = synthetic_record(
        "table", planted=(BASE, *truth), media=("memory",), growth=False, derived=False, **QUIET
    )
    evidence = gather(record)
    set_floor(evidence, 0.08)
    verdict = recommend(record, profile="message", link="500MB", evidence=evidence)
    assert (verdict["named"], verdict["tie"]) == (False, ["small:s", "member:m"])
    assert [] == [flip for flip in verdict["flips"] if flip["axis"] == "bandwidth"]


@pytest.fixture
def cut_short():
    """A run whose time sufficed for the base alone: the others are pending."""
    others = tuple(Planted(f"f{i}", 50, 50, 0.5, flags=FLAT) for i in range(3))
    record = synthetic_record(
        "table", planted=(BASE, *others), media=("file",), growth=False, derived=False, **QUIET
    )
    for case in record["cases"]:
        if case["labels"]["codec"].startswith("f"):
            case |= {"status": "pending", "reason": "not reached in the time given", "launches": []}
    return record


def test_the_best_of_one_is_no_winner_of_a_race(cut_short):
    """With one codec weighed of four there are no odds and no order: it is too early to choose."""
    verdict = recommend(cut_short, profile="cache")
    assert (verdict["codec"], verdict["p_best"], verdict["provisional"]) == ("parquet:pyarrow", None, True)
    assert (verdict["named"], verdict["vague"]) == (False, True)
    assert (
        verdict["sentence"]
        == "Too early to choose for cache: of 4 codecs only `parquet:pyarrow` was weighed. By default "
        "`parquet:pyarrow@file`: 22.1 MB; all 19 columns came back unchanged."
    )
    assert "provisional: 3 of 4 codecs were not timed enough in the time given" in verdict["reasons"]
    for case in cut_short["cases"]:
        case["bytes"] = case["bytes"] if case["launches"] else None
    untouched = recommend(cut_short, profile="cache")["reasons"]
    assert "provisional: 3 of 4 codecs were not reached in the time given" in untouched
    # What the flags alone rule out is not waited for.
    nobody = recommend(cut_short, profile="cache", must=("append",))
    assert not nobody["provisional"]
    assert nobody["sentence"].startswith("No route for cache: ")


def test_the_only_one_that_qualifies_is_called_so():
    """A constraint left one codec: it is measured against the base, but has no odds to print."""
    other = Planted("csv:pyarrow", 400, 400, 0.7, flags=FLAT | {"append": True})
    record = synthetic_record(
        "table", planted=(BASE, other), media=("file",), growth=False, derived=False, **QUIET
    )
    sentence = recommend(record, profile="cache", must=("append",))["sentence"]
    assert sentence.startswith("Use `csv:pyarrow@file`: the only codec that qualifies, 1.")
    assert "P(best)" not in sentence


def test_a_tie_warns_of_members_that_run_code():
    """Whoever chooses from the tie is told which of it is unsafe."""
    same = (
        Planted("pickle", 50, 50, 0.5, flags={"executes_code": True}),
        Planted("arrow:pyarrow", 50, 50, 0.6, flags=FLAT),
    )
    record = synthetic_record("table", planted=(BASE, *same), media=("file",), growth=False, derived=False,
                              launch_sd=0.02, seed=4)  # fmt: skip
    verdict = recommend(record, profile="cache")
    assert not verdict["named"]
    assert "; of `pickle`: bytes from others can run code or crash it" in verdict["sentence"]


def use_rtt(profile, options):
    """The round trip of a use in milliseconds: a link given in its place keeps it."""
    use = PROFILES[profile].with_link(options.get("link"))
    return f"{1e3 * use.rtt_s:.6f}"


WORDS = ("removed", "None%", "nan", "inf ", "  ", "..", "; ;", ": ;", "1.00x the cost of", "P(best) 1.00")


@pytest.mark.parametrize("kind", ["table", "document"])
@pytest.mark.parametrize("options", [
    {}, {"must": ("untrusted",)}, {"must": ("append,subset",)}, {"must": ("keep-types", "readable:r")},
    {"allow_loss": ("*",)}, {"gb_seconds": 0.0}, {"gb_seconds": 500.0}, {"weights": (1, 1000)}, {"weights": (50, 1)},
    {"weights": (0, 1)}, {"weights": (1, 0)}, {"link": "1Gbit,0.3ms"}, {"link": "56kbit,200ms"},
])  # fmt: skip
def test_sentences_headlines_and_flips_agree(kind, options, whole):
    """For every use and wish: the sentence names the route, flips name another codec, nothing is said twice."""
    for profile in PROFILES:
        verdict = recommend(whole[kind], profile=profile, evidence=whole[kind, "evidence"], **options)
        texts = [verdict["sentence"], *verdict["reasons"], *(flip["text"] for flip in verdict["flips"])]
        assert not [text for text in texts if any(word in text for word in WORDS)]
        assert verdict["sentence"].count("`") % 2 == 0
        assert len(set(verdict["reasons"])) == len(verdict["reasons"])
        if verdict["route"] is None:
            assert verdict["sentence"].startswith(f"No route for {profile}: ")
            continue
        assert (f"`{verdict['route']}`" if verdict["named"] else f"`{verdict['codec']}` takes") in verdict[
            "sentence"
        ]
        assert ("can run code" in verdict["sentence"]) >= verdict["executes_code"]
        own = min(verdict["cost_s"][codec][0] for codec in verdict["tie"])
        own = verdict["cost_s"][verdict["codec"]][0] if verdict["named"] else own
        for flip in verdict["flips"]:
            assert flip["codec"] not in ([verdict["codec"]] if verdict["named"] else verdict["tie"])
            assert verdict["cost_s"][flip["codec"]][0] >= own
            assert flip["lo"] <= flip["at"] <= flip["hi"]
            if flip["axis"] == "reads":
                writes = options.get("weights", (PROFILES[profile].writes,))[0]
                there = {"weights": (writes, flip["at"])}
            elif "link" in options or PROFILES[profile].measured[0] == "memory":
                there = {"link": f"{flip['at']:.6f}B,{use_rtt(profile, options)}ms"}
            else:  # A given link would take the times of memory in the place of the file's.
                continue
            moved = recommend(
                whole[kind], profile=profile, evidence=whole[kind, "evidence"], **(options | there)
            )
            least = min(cost[0] for cost in moved["cost_s"].values())
            assert moved["cost_s"][flip["codec"]][0] == pytest.approx(least, rel=1e-4)
        found = re.search(r"([\d.e-]+)x the base \(`(.+?)`\) in total", verdict["sentence"])
        if found and found[2] in verdict["cost_s"]:
            assert float(found[1]) == pytest.approx(own / verdict["cost_s"][found[2]][0], rel=0.06)


@pytest.fixture(scope="module")
def whole():
    found = {}
    for kind in ("table", "document"):
        found[kind] = synthetic_record(kind, growth=False, derived=False)
        for case in found[kind]["cases"]:
            for launch in case["launches"] if case["labels"]["codec"].startswith("parquet") else ():
                launch["samples"]["subset"] = copy.deepcopy(next(iter(launch["samples"].values())))
        found[kind, "evidence"] = gather(found[kind])
    return found


def test_timed_share_is_that_of_the_clock():
    """A cost of 1 s of times and 3 s of bytes is timed to a quarter; costs of nothing count as timed."""
    from tare.measure.cost import timed_share

    one = Costed("a", "a", 3e6, 0.5, 0.5, np.ones(2), np.ones(2))
    assert timed_share(one, PROFILES["exchange"].with_link("1MB")) == pytest.approx(2.0 / (2.0 + 9.0))
    free = Costed("a", "a", 0, 0.0, 0.0, np.zeros(2), np.zeros(2))
    assert timed_share(free, PROFILES["archive"]) == 1.0


@pytest.mark.parametrize(
    ("label", "level", "usual"), [("kind", "json", "own"), ("content", "rounded", "uniform")]
)
def test_cases_of_other_work_are_in_no_race(label, level, usual):
    """A codec's quick case of text, or of data that are easier, says nothing beside others' cases of all of it."""

    def record_of(x):
        planted = (BASE, Planted("x:one", x, x, 0.5, flags=FLAT), Planted("y:one", 60, 60, 0.5, flags=FLAT))
        return synthetic_record(
            "table", planted=planted, media=("memory",), growth=False, derived=False, **QUIET
        )

    record, other = record_of(100), record_of(10)
    quick = [case for case in other["cases"] if case["labels"]["codec"] == "x:one"]
    for case in quick:
        case["labels"][label] = level
        case["key"] = f"A{case['key']}|{label}={level}"  # before the others by name
    record["cases"] += quick
    verdict = recommend(record, profile="archive", gb_seconds=0, link="1000GB")
    assert verdict["codec"] == "y:one"
    assert f"of {label} {usual} alone; the rest stands in the tables" in verdict["reasons"]
    record["cases"] = [case for case in record["cases"] if case["labels"]["codec"] != "x:one"] + quick
    verdict = recommend(record, profile="archive", gb_seconds=0, link="1000GB")
    assert (verdict["codec"], "x:one" in verdict["p"]) == ("y:one", False)
