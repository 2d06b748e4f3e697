"""What the charts show of a record, and that those who see only a picture are told what it is of."""

from __future__ import annotations

import copy
import re

import pytest
from support.capabilities import need_module
from support.planted_codecs import Planted
from support.synthetic_records import synthetic_record

from tare.codec.titles import title_of
from tare.measure.result import Result
from tare.report.charts import bases, chart_data, featured, group_of, group_said
from tare.report.digest import digest
from tare.report.html import render
from tare.report.images import complete_spec, export

FEW = (
    Planted("json:stdlib", 4.0, 5.0, 0.5),
    Planted("json:orjson", 0.5, 1.0, 0.4),
    Planted("msgpack:msgpack", 0.8, 1.2, 0.3),
)


@pytest.fixture(scope="module")
def stored():
    return synthetic_record("document", planted=FEW)


@pytest.fixture
def record(stored):
    return copy.deepcopy(stored)


def pictures(record, folder, **options):
    """Every chart of the record as SVG, by its name."""
    need_module("vl_convert")
    return {path.stem: path.read_text() for path in export(record, folder, **options)}


def texts(picture):
    """What is written in a picture."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", picture)


def in_two_ways(record):
    """The record with the base's curves once more, as of another delivery."""
    growth = record["derived"]["growth"]
    growth += [{**entry, "delivery": "framed"} for entry in growth if entry["codec"] == "json:stdlib"]
    return record


def test_samples_are_of_cpu_time_however_it_is_split(record):
    """A runtime that tells no sys_ns has all CPU time in user_ns; the wall clock is another time."""
    before = chart_data(digest(record))["samples"]
    for case in record["cases"]:
        for launch in case["launches"]:
            for columns in launch["samples"].values():
                both = zip(columns["user_ns"], columns.pop("sys_ns"), strict=True)
                columns["user_ns"] = [user + system for user, system in both]
    assert chart_data(digest(record))["samples"] == before


def test_each_delivery_is_a_curve_of_its_own(record):
    """A codec that was handed over in two ways has two curves, told apart by name and looks, in one colour."""
    data = chart_data(digest(in_two_ways(record)))
    ends = [end for end in data["ends"] if end["panel"] == "memory, total"]
    base = {end["series"]: end for end in ends if end["codec"] == "json:stdlib"}
    assert {"JSON (stdlib), framed", "JSON (stdlib), whole"} == set(base)
    assert "JSON (orjson)" in {end["series"] for end in ends}
    forms, slots = ({end[key] for end in base.values()} for key in ("form", "slot"))
    assert (2, 1) == (len(forms), len(slots))
    for panel in {point["panel"] for point in data["growth"]}:
        sizes = [
            point["size"]
            for point in data["growth"]
            if (point["panel"], point["series"]) == (panel, "json:stdlib, whole")
        ]
        assert len(set(sizes)) == len(sizes)


def test_curves_are_drawn_apart_and_named_at_their_ends(record, tmp_path):
    """The exported picture has a name and k for every curve of every panel, and a line for each."""
    found = digest(in_two_ways(record))
    data = chart_data(found)
    picture = pictures(record, tmp_path)["growth"]
    written = texts(picture)
    for end in data["ends"]:
        assert end["label"] in end["said"]
        assert re.match(r"\d", end["said"])
        assert end["said"] in written
    lines = picture.count('class="mark-line role-mark"')
    assert len(data["ends"]) == lines


def test_a_curve_that_failed_says_how(record):
    """The end of a curve names the failure, and the text of one that grew too fast has an exclamation mark."""
    first, second = [entry for entry in record["derived"]["growth"] if entry["op"] == "total"][:2]
    first["end"] = {"size": 1, "status": "timeout", "reason": "no answer within 30 s"}
    second["superlinear"] = True
    ends = {
        end["codec"]: end
        for end in chart_data(digest(record))["ends"]
        if end["panel"] == f"{first['medium']}, total"
    }
    assert ends[first["codec"]]["said"].endswith(f"{title_of(first['codec'])}: timeout")
    assert "! " in ends[second["codec"]]["said"]


def test_a_panel_of_an_emulated_link_says_so(record):
    """An emulated link is never taken for a network."""
    for entry in record["derived"]["growth"]:
        entry["medium"] = "link"
    assert {"link(emulated)"} == {
        point["panel"].split(",")[0] for point in chart_data(digest(record))["growth"]
    }


def test_curves_that_end_early_have_colours(record):
    """Where no codec reached the whole of the data, the curves are still told apart."""
    for case in record["cases"]:
        if case["stage"] != "growth":
            case |= {"status": "timeout", "launches": []}
    record["derived"] |= {"cases": {}, "profiles": {}, "pareto": [], "headline": {}, "base": ""}
    assert {truth.codec for truth in FEW} == set(featured(digest(record)))


def test_charts_say_which_group_they_are_of(record, tmp_path):
    """One of several groups is named in the picture; the growth and the noise are of the whole run."""
    found = digest(record)
    drawn = pictures(record, tmp_path)
    for name, picture in drawn.items():
        said = group_said(found, name)
        assert said in texts(picture), name
        assert (group_of(found, name) is None) == (name in ("growth", "noise"))
        grid = group_of(found, name)
        if grid is not None:
            assert f"{grid.title} (one of {len(found.grids)} groups that were measured)" in said
    assert found.dataset["name"] in group_said(found, "times")


def test_a_chart_is_the_same_file_each_time(record, tmp_path):
    """However many were drawn before it: a page that is made anew changes only where its record did."""
    first = pictures(record, tmp_path / "a")
    assert pictures(record, tmp_path / "b") == first
    assert any("clip0" in picture for picture in first.values())


def test_the_page_says_which_group_a_chart_is_of(record):
    """Costs are of a fixed group, which is named; other charts follow the switch."""
    page = render(record)
    costs = re.search(r'<span id="d-bandwidth">(.*?)</span>', page).group(1)
    assert "Made of the times of " in costs
    assert "chosen under Measured on" in re.search(r'<span id="d-pareto">(.*?)</span>', page).group(1)
    assert "chosen under" not in re.search(r'<span id="d-growth">(.*?)</span>', page).group(1)
    alone = render(synthetic_record("document", planted=FEW, media=("memory",)))
    assert "Made of the times of" not in alone


def test_costs_are_of_the_usual_group(record):
    """Beside the verdict's own grid, a medium is stood for by its most usual conditions, not by the first name."""
    more = []
    for case in record["cases"]:
        if case["labels"]["medium"] == "file" and case["stage"] == "weigh":
            odd = copy.deepcopy(case)
            odd["labels"] |= {"cache": "cold"}
            odd["key"] = case["key"].replace("cache=warm", "cache=cold")
            assert odd["key"] != case["key"]
            record["derived"]["cases"][odd["key"]] = record["derived"]["cases"][case["key"]]
            more.append(odd)
    record["cases"] += more
    for profile in ("message", "exchange"):
        found = digest(record, profile=profile)
        assert "warm" == bases(found)["file"].labels["cache"]


def test_no_picture_of_memory_that_was_not_measured(record, tmp_path):
    """Peaks of another group than the one that is exported make no empty picture."""
    head = digest(record).grids[0]
    for row in head.rows:
        row.case["memory"] = {}
    assert any(row["mw"] for row in chart_data(digest(record))["rows"])
    assert "memory" not in pictures(record, tmp_path)


def test_a_plan_that_only_reads_has_one_panel(record, tmp_path):
    """Size against time without a write has no empty panel, whose axis would be of nothing."""
    keys = {row.key for row in digest(record).grids[0].rows}
    for key in keys:
        ops = record["derived"]["cases"][key]["ops"]
        for op in ("encode", "write"):
            ops.pop(op, None)
    drawn = pictures(record, tmp_path)
    found = digest(record)
    first, second = found.grids[0].ops
    written = texts(drawn["pareto"])
    assert f"{second} time" in written
    assert f"{first} time" not in written
    assert "Infinity" not in drawn["pareto"]


def test_a_narrow_axis_has_labels(record, tmp_path):
    """Sizes that are all of one magnitude still have figures on their axis."""
    head = digest(record).grids[0]
    for place, row in enumerate(head.rows):
        for part in (row.case, record["derived"]["cases"][row.key]):
            part["bytes"] = 26_000 + 6_000 * place
    written = texts(pictures(record, tmp_path)["pareto"])
    assert any(re.fullmatch(r"\d+ kB", word) for word in written)


def noisy(lo, hi, ratio=1.1):
    return {"medium": "memory", "size": "1", "op": "total", "ratio": ratio, "lo": lo, "hi": hi}


@pytest.mark.parametrize(
    ("pairs", "least", "most"),
    [
        ([(0.02, 15.0), (0.9, 1.3)], 0.5, 2.0),
        ([(0.99, 1.01), (0.98, 1.02)], 0.8, 1.2),
        ([(-0.5, 2.5), (0.9, 1.3)], 0.5, 2.0),
    ],
)
def test_one_wide_interval_does_not_set_the_axis_of_the_noise(record, tmp_path, pairs, least, most):
    """Ratios are on an axis of ratios; an interval that reaches far ends at its edge."""
    record["derived"]["noise"] |= {"aa": [noisy(*pair) for pair in pairs], "floor": 0.02}
    record["noise"] = {}
    picture = pictures(record, tmp_path)["noise"]
    ticks = [float(word) for word in texts(picture) if re.fullmatch(r"[\d.\u2212-]+", word)]
    assert len(ticks) >= 3
    assert 1.0 in ticks
    assert least <= min(ticks) < 1 < max(ticks) <= most


def test_pairs_of_the_noise_stand_by_operation(record, tmp_path):
    """The parts of the noise are named: write, read, then their sum."""
    given = [{**noisy(0.9, 1.2), "op": op} for op in ("total", "decode", "encode", "total")]
    record["derived"]["noise"] |= {"aa": given}
    record["noise"] = {}
    rows = chart_data(digest(record))["aa"]
    assert ["encode", "decode", "total", "total"] == [row["part"] for row in rows]
    assert [1, 2, 3, 4] == [row["n"] for row in rows]
    assert {"encode", "decode", "total"} <= set(texts(pictures(record, tmp_path)["noise"]))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_headings_are_written_in_the_colours_of_the_theme(record, theme):
    """The line under a heading can be read on dark paper too."""
    found = digest(record)
    whole = complete_spec(found, "times", chart_data(found), theme=theme)
    assert whole["title"]["subtitleColor"] == whole["config"]["range"]["ink"][1]


def test_a_result_that_was_stored_without_what_is_derived_is_drawn_all_the_same() -> None:
    """Who leaves it out wants it made anew."""
    record = synthetic_record("document", media=("memory",), growth=False, derived=False, seed=1)
    found = digest(Result(record))
    assert any(row.timed for grid in found.grids for row in grid.rows)
