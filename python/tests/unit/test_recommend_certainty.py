"""How sure a verdict is: noise floors, ties with and without a winner, and what makes it provisional."""

from __future__ import annotations

import copy
import re

import numpy as np
import pytest
from support.planted_codecs import Planted
from support.soak import scaled
from support.synthetic_records import set_floor, synthetic_record

from tare.codec.titles import title_of
from tare.measure.cases import NOT_REACHED
from tare.measure.verdict.choice import gather
from tare.measure.verdict.cost_model import PROFILES, Costed
from tare.measure.verdict.recommend import recommend

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
    ("step", "floor", "level"),
    [
        # Quiet: a tenth matters, a hundredth does not.
        (1.25, 0.004, "clear"),
        (1.02, 0.004, "close"),
        # The same codec, measured twice, differs by 15 %: 40 % are beyond that, 12 % are not.
        (1.40, 0.15, "clear"),
        (1.12, 0.15, "close"),
        (1.40, 0.60, "can't tell"),
    ],
)
def test_noise_and_distance_decide_how_sure_it_is(step, floor, level):
    """Clear beyond a tenth and the noise; close within a quarter; else nobody can tell."""
    verdict = verdict_of(step, floor)
    assert (verdict["confidence"], verdict["codec"]) == (level, "quick:one")
    assert verdict["rivals"] == ([] if level == "clear" else ["other:one"])
    assert any("measured twice, differed by" in why for why in verdict["why"]) is (
        floor > 0.10 and level != "clear"
    )
    assert verdict["provisional"] is (floor > 0.10)


def test_close_names_at_most_three_and_none_that_costs_a_tenth_more():
    """What costs 11 % more is as good only where the times vary by as much, and then that is said."""
    near = tuple(Planted(f"n{i}:n", 50 + i / 2, 50 + i / 2, 0.5, flags=FLAT) for i in range(6))
    far = Planted("far:f", 55.6, 55.6, 0.5, flags=FLAT)
    record = synthetic_record(
        "table", planted=(BASE, *near, far), media=("memory",), growth=False, derived=False,
        **(QUIET | {"launch_sd": 0.03, "noise_sd": 0.03}),
    )  # fmt: skip
    evidence = gather(record)
    set_floor(evidence, 0.004)
    verdict = recommend(record, profile="archive", gb_seconds=0, link="1000GB", evidence=evidence)
    assert verdict["confidence"] == "close"
    costs = {
        codec: cost[0] / verdict["cost_s"][verdict["codec"]][0] for codec, cost in verdict["cost_s"].items()
    }
    assert {codec for codec, ratio in costs.items() if ratio <= 1.1} == {verdict["codec"], *verdict["rivals"]}
    named = [codec for codec in verdict["rivals"] if f"{title_of(codec)} costs" in verdict["doubt"]]
    assert named == verdict["rivals"][:3]
    assert f"{len(verdict['rivals']) - 3} more cost" in verdict["doubt"]
    assert "vary by as much" not in verdict["doubt"]


def test_a_rival_within_the_noise_is_said_to_be():
    """12 % more, where the same codec differed by 15 %: that is close for the noise alone."""
    doubt = verdict_of(1.12, 0.15)["doubt"]
    assert re.search(
        r"other \(one\) costs 12 % more in all( \([^)]*\))?\. The times vary by as much\.", doubt
    )
    assert "vary" not in verdict_of(1.02, 0.004)["doubt"]


@pytest.mark.parametrize(("noise", "level"), [(0.02, "close"), (0.6, "can't tell")])
def test_times_that_vary_by_more_than_the_codecs_differ_tell_nothing(noise, level):
    """8 % apart: close where launches agree, and nobody can tell where they do not; a reason is given."""
    verdict = verdict_of(1.08, 0.004, launch_sd=noise, noise_sd=noise / 2, seed=5)
    assert verdict["confidence"] == level
    assert bool(verdict["why"]) is (level == "can't tell")
    assert ("By default use " in verdict["sentence"]) is (level == "can't tell")


@pytest.mark.parametrize("launches", [1, 3, 5])
def test_equal_codecs_are_never_clear(launches):
    """Of two equal codecs one always has half of the odds; that makes it no clear winner."""
    levels = set()
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
        levels.add(recommend(record, profile="archive", gb_seconds=0, link="1000GB")["confidence"])
    assert levels <= {"close", "can't tell"}


def test_bytes_over_a_slow_link_have_no_noise():
    """Half of the bytes over 1 MB/s cost half, however noisy the clock: that is clear, and nothing provisional."""
    pair = (
        Planted("small:one", 50, 50, 0.20, flags=FLAT),
        Planted("large:one", 50, 50, 0.27, flags=FLAT),
    )
    record = synthetic_record(
        "table", planted=(BASE, *pair), media=("memory",), growth=False, derived=False, **QUIET
    )
    evidence = gather(record)
    set_floor(evidence, 0.40)
    slow = recommend(record, profile="exchange", link="1MB", evidence=evidence)
    assert (slow["codec"], slow["confidence"], slow["provisional"]) == ("small:one", "clear", False)
    fast = recommend(record, profile="exchange", link="100GB", evidence=evidence)
    assert (fast["confidence"], fast["provisional"]) == ("can't tell", True)


def test_codecs_that_nobody_can_tell_apart_are_no_change_for_each_other():
    """No 'more than 1.5 reads: b' among codecs of which none is known to be better; of others there is."""
    truth = (
        Planted("a:a", 50, 50, 0.500, flags=FLAT),
        Planted("b:b", 56, 46, 0.501, flags=FLAT),
        Planted("tiny:t", 400, 400, 0.02, flags=FLAT),
    )
    record = synthetic_record(
        "table", planted=(BASE, *truth), media=("memory",), growth=False, derived=False, **QUIET
    )
    evidence = gather(record)
    near = recommend(record, profile="message", link="10GB", evidence=evidence)
    assert (near["confidence"], near["rivals"]) == ("close", ["b:b"])
    assert {"b:b", "tiny:t"} == {flip["codec"] for flip in near["flips"]}
    set_floor(evidence, 0.5)
    unknown = recommend(record, profile="message", link="10GB", evidence=evidence)
    assert (unknown["confidence"], unknown["rivals"]) == ("can't tell", ["b:b"])
    assert {"tiny:t"} == {flip["codec"] for flip in unknown["flips"]}


def test_a_shortlist_that_was_not_reached_leaves_the_answer_open():
    """What many people use and was not measured may be the best; what few use is no reason to doubt."""
    truth = (Planted("quick:q", 20, 20, 0.3, flags=FLAT), Planted("orc:pyarrow,compression=zstd", 50, 50, 0.4, flags=FLAT),
             Planted("rare:r", 50, 50, 0.4, flags=FLAT))  # fmt: skip
    record = synthetic_record(
        "table", planted=(BASE, *truth), media=("file",), growth=False, derived=False, **QUIET
    )
    assert recommend(record, profile="cache")["confidence"] == "clear"
    late(record, "rare:r")
    assert recommend(record, profile="cache")["confidence"] == "clear"
    late(record, "orc:pyarrow,compression=zstd")
    verdict = recommend(record, profile="cache")
    assert (verdict["confidence"], verdict["codec"]) == ("can't tell", "quick:q")
    assert verdict["why"] == [
        "it rests on 2 codecs: there was no time left for ORC (zstd) (--time gives more)"
    ]


def test_a_format_of_many_messages_is_not_waited_for_where_one_is_a_message():
    """NDJSON was measured whole, and never line by line: no time would help."""
    truth = (Planted("json:stdlib", 200, 200, 1.0, flags=FLAT), Planted("quick:q", 20, 20, 0.3, flags=FLAT),
             Planted("ndjson:orjson+zstd:3", 5, 5, 0.1, flags=FLAT))  # fmt: skip
    record = synthetic_record(
        "document", planted=truth, media=("memory",), growth=False, derived=False, **QUIET
    )
    record["dataset"]["shape"] = {"items": 100, "mean_doc_bytes": 300}
    for case in record["cases"]:
        if not case["labels"]["codec"].startswith("ndjson"):
            case["labels"]["grain"] = "each"
    verdict = recommend(record, profile="message")
    assert (verdict["confidence"], verdict["codec"]) == ("clear", "quick:q")
    assert {one["codec"]: one["reason"] for one in verdict["excluded"]} == {
        "ndjson:orjson+zstd:3": "it holds many messages, not one"
    }


def test_the_file_as_a_whole_stands_for_no_message():
    """Of lines only the whole file was measured in the time: there is no answer for messages yet, and one for files."""
    truth = (Planted("json:stdlib", 200, 200, 1.0, flags=FLAT), Planted("quick:q", 20, 20, 0.3, flags=FLAT))
    record = synthetic_record(
        "document", planted=truth, media=("memory",), growth=False, derived=False, **QUIET
    )
    record["dataset"] |= {"source_format": "ndjson", "shape": {"items": 100, "mean_doc_bytes": 300}}
    whole = [case for case in record["cases"] if "twin" not in case["labels"]]
    record["cases"] += [
        {
            **case,
            "key": f"{case['key']}|grain=each",
            "labels": case["labels"] | {"grain": "each"},
            "status": "pending",
            "reason": NOT_REACHED,
            "launches": [],
        }
        for case in whole
    ]
    verdict = recommend(record, profile="message")
    assert verdict["route"] is None
    assert verdict["sentence"] == "No answer yet: the time was over before a single message was measured."
    assert "--time gives more" in verdict["reasons"]
    assert recommend(record, profile="keep")["codec"] == "quick:q"


def test_a_busy_machine_matters_only_where_a_rival_may_be_quicker_without_it():
    """Few samples while others had the CPU: what a codec itself ran and waited is the least that it may take."""
    levels = {}
    for who, busy in (("quick:one", 0.5), ("other:one", 0.9), ("other:one", 0.5)):
        pair = (Planted("quick:one", 50, 50, 0.5, flags=FLAT), Planted("other:one", 75, 75, 0.5, flags=FLAT))
        record = synthetic_record(
            "table", planted=(BASE, *pair), media=("memory",), growth=False, derived=False, **QUIET
        )
        evidence = gather(record)
        set_floor(evidence, 0.004)
        key = next(case["key"] for case in record["cases"] if case["labels"]["codec"] == who)
        figure = evidence.analysis.figures[key]["total"]
        figure.contended, figure.samples = True, 2
        figure.wall_ns, figure.cpu_ns, figure.blocked_ns = 100.0, 100.0 * busy, 0.0
        verdict = recommend(record, profile="archive", gb_seconds=0, link="1000GB", evidence=evidence)
        levels[who, busy] = verdict["confidence"], verdict["codec"]
    assert levels == {
        ("quick:one", 0.5): ("clear", "quick:one"),
        ("other:one", 0.9): ("clear", "quick:one"),
        ("other:one", 0.5): ("close", "quick:one"),
    }


def test_a_run_that_ended_between_writing_and_reading_has_an_answer():
    """A codec was written in one round and read in the next: the least of each is added."""
    pair = (Planted("quick:one", 50, 50, 0.5, flags=FLAT), Planted("other:one", 75, 75, 0.5, flags=FLAT))
    record = synthetic_record(
        "table", planted=(BASE, *pair), media=("memory",), growth=False, derived=False, launches=1, **QUIET
    )
    record["method"] = 2
    for case in record["cases"]:
        for launch in case["launches"] if case["labels"]["codec"] == "quick:one" else ():
            read = launch["samples"]["decode"]
            read["round"] = [1000 + number for number in read["round"]]
    evidence = gather(record)
    verdict = recommend(record, profile="archive", gb_seconds=0, link="1000GB", evidence=evidence)
    assert verdict["codec"] == "quick:one"
    assert verdict["cost_s"]["quick:one"][0] == pytest.approx(0.1, rel=0.05)


def late(record, codec):
    """Make the time end before a codec is reached."""
    for case in record["cases"]:
        if case["labels"]["codec"] == codec:
            case |= {"status": "pending", "reason": "not reached in the time given", "launches": []}


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
    """With one codec weighed of four there are no odds and no order: it is not recommended, and its figures are told."""
    verdict = recommend(cut_short, profile="cache")
    assert (verdict["codec"], verdict["p_best"], verdict["provisional"]) == (None, None, True)
    assert verdict["confidence"] is None
    assert verdict["sentence"].startswith(
        "No answer yet: the time was over when one codec was measured, Parquet (snappy) (22.1 MB, "
    )
    assert verdict["sentence"].endswith(", and 3 others were not.")
    assert list(verdict["figures"]) == ["parquet:pyarrow"]
    assert "provisional: 3 of 4 codecs were not timed enough in the time given" in verdict["reasons"]
    for case in cut_short["cases"]:
        case["bytes"] = case["bytes"] if case["launches"] else None
    untouched = recommend(cut_short, profile="cache")["reasons"]
    assert "provisional: 3 of 4 codecs were not reached in the time given" in untouched
    # What the flags alone rule out is not waited for.
    nobody = recommend(cut_short, profile="cache", must=("append",))
    assert not nobody["provisional"]
    assert nobody["sentence"].startswith("No codec fits cache: ")


def test_the_only_one_that_qualifies_is_called_so():
    """A constraint left one codec: it is compared with nothing, and said to be the only one."""
    other = Planted("csv:pyarrow", 400, 400, 0.7, flags=FLAT | {"append": True})
    record = synthetic_record(
        "table", planted=(BASE, other), media=("file",), growth=False, derived=False, **QUIET
    )
    verdict = recommend(record, profile="cache", must=("append",))
    assert verdict["sentence"].endswith("; the only codec that qualifies.")
    assert (verdict["confidence"], verdict["p_best"]) == ("clear", None)


def use_rtt(profile, options):
    """The round trip of a use in milliseconds: a link given in its place keeps it."""
    use = PROFILES[profile].with_link(options.get("link"))
    return f"{1e3 * use.rtt_s:.6f}"


WORDS = ("removed", "None%", "nan", "inf ", "  ", "..", "; ;", ": ;", "1.00x the cost of", "P(best)")


@pytest.mark.parametrize("kind", ["table", "document"])
@pytest.mark.parametrize("options", [
    {}, {"must": ("untrusted",)}, {"must": ("append,subset",)}, {"must": ("keep-types", "readable:r")},
    {"allow_loss": ("*",)}, {"gb_seconds": 0.0}, {"gb_seconds": 500.0}, {"weights": (1, 1000)}, {"weights": (50, 1)},
    {"weights": (0, 1)}, {"weights": (1, 0)}, {"link": "1Gbit,0.3ms"}, {"link": "56kbit,200ms"},
])  # fmt: skip
def test_sentences_headlines_and_flips_agree(kind, options, whole):
    """For every use and wish: the sentence names the route, flips name another codec, nothing is said twice."""
    for profile in PROFILES:
        if profile == "random" and "link" in options:
            continue  # it takes none
        verdict = recommend(whole[kind], profile=profile, evidence=whole[kind, "evidence"], **options)
        texts = [verdict["sentence"], *verdict["reasons"], *(flip["text"] for flip in verdict["flips"])]
        assert not [text for text in texts if any(word in text for word in WORDS)]
        assert verdict["sentence"].count("`") % 2 == 0
        assert len(set(verdict["reasons"])) == len(verdict["reasons"])
        if verdict["route"] is None:
            assert verdict["sentence"].startswith(f"No codec fits {profile}: ")
            continue
        assert f"`{verdict['route']}`" in verdict["sentence"]
        least = min(cost[0] for cost in verdict["cost_s"].values())
        assert verdict["cost_s"][verdict["codec"]][0] <= 1.10 * least
        assert ("can run code" in verdict["sentence"]) >= verdict["executes_code"]
        own = verdict["cost_s"][verdict["codec"]][0]
        for flip in verdict["flips"]:
            assert flip["codec"] != verdict["codec"]
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
    from tare.measure.verdict.cost_model import timed_share

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


def test_a_codec_that_costs_far_more_is_no_rival_however_much_times_vary():
    """Twice as dear, and at times cheaper by noise: likely, and not certain; a rival is near."""
    verdict = verdict_of(1.9, 0.004, launch_sd=0.5, noise_sd=0.4, seed=4)
    assert verdict["confidence"] != "clear"
    assert verdict["rivals"] == []


def test_text_of_a_table_that_was_not_reached_is_no_doubt_where_bytes_are_cheap():
    """Over a slow link it may be the best for its size, so the answer is open there."""
    record = synthetic_record(
        "table",
        planted=(
            BASE,
            Planted("quick:q", 20, 20, 0.3, flags=FLAT),
            Planted("csv:pyarrow+zstd:3", 50, 50, 0.4, flags=FLAT),
        ),
        media=("memory",),
        growth=False,
        derived=False,
        **QUIET,
    )
    late(record, "csv:pyarrow+zstd:3")
    assert recommend(record, profile="cache")["confidence"] == "clear"
    assert recommend(record, profile="exchange")["confidence"] == "can't tell"
