"""Two records side by side: ratios with intervals, sizes, fidelity, and what is refused."""

from __future__ import annotations

import copy
import json

import pytest
from support.planted_codecs import Planted
from support.synthetic_records import synthetic_record

from tare.cli.compare import lines_of
from tare.errors import NotComparable
from tare.measure.comparison.compare import compare
from tare.measure.comparison.gate import gate


def planted(factor=1.0, **changes):
    return (
        Planted("parquet:pyarrow", 80, 30, 0.10),
        Planted("arrow:pyarrow", 10 * factor, 5 * factor, 1.00),
        Planted("pickle", 5, 4, 1.00, **changes),
    )


def record(seed, truth, **options):
    """A record of one machine and one data set, whatever the seed of its noise."""
    made = synthetic_record("table", planted=truth, growth=False, derived=False, seed=seed, **options)
    made["machine"]["host"] = "same"
    made["dataset"]["hash"] = "same"
    return made


@pytest.fixture(scope="module")
def before():
    return record(1, planted())


def row_of(found, codec, medium="memory"):
    return next(row for row in found["cases"] if (row["codec"], row["medium"]) == (codec, medium))


def test_slower_codec_is_found_and_the_others_are_not(before):
    """A codec 1.3 times slower differs, with the truth in its interval; untouched ones do not differ."""
    found = compare(before, record(2, planted(1.3)))
    total = row_of(found, "arrow:pyarrow")["ops"]["total"]
    assert total["lo"] <= 1.3 <= total["hi"]
    assert total["differs"]
    assert not row_of(found, "pickle")["ops"]["total"]["differs"]
    assert not row_of(found, "parquet:pyarrow")["ops"]["total"]["differs"]
    json.dumps(found, allow_nan=False)


def test_record_against_itself_is_one_everywhere(before):
    """The same samples give 1 with no width, and nothing changed."""
    found = compare(before, before)
    assert {(1.0, 1.0, 1.0)} == {
        (op["ratio"], op["lo"], op["hi"]) for row in found["cases"] for op in row["ops"].values()
    }
    assert tuple(found[name] for name in ("only_a", "only_b", "versions", "probes", "differences")) == (
        [],
        [],
        [],
        [],
        [],
    )
    assert {1.0} == {row["size_ratio"] for row in found["cases"]}


def test_twins_and_the_floor_row_are_no_cases(before):
    """Codecs are compared; the base's twin and the copying row are not."""
    found = compare(before, before)
    assert {"parquet:pyarrow", "arrow:pyarrow", "pickle"} == {row["codec"] for row in found["cases"]}
    assert len(found["cases"]) == 6


def test_sizes_memory_versions_losses_and_probes_are_told(before):
    """Whatever changed besides time has its place."""
    after = copy.deepcopy(before)
    after["codecs"]["pickle"]["version"] = "2.0"
    cell = after["fidelity"]["probes"]["columns/1"]["pickle"]["decimal"]
    cell["verdict"] = "refused" if cell["verdict"] != "refused" else "same"
    for case in after["cases"]:
        if case["labels"]["codec"] == "pickle":
            case["bytes"] *= 2
            case["status"] = "lossy"
            case["verify"]["changes"] = [
                {"path": "time_hour", "verdict": "lossy", "count": 1, "in": "1", "out": "2"}
            ]
            for entry in case["memory"].values():
                entry["peak_bytes"] *= 3
    found = compare(before, after)
    row = row_of(found, "pickle")
    assert tuple(row[name] for name in ("size_ratio", "peak_ratio", "lost", "regained")) == (
        2.0,
        3.0,
        ["time_hour"],
        [],
    )
    assert (row["status_a"], row["status_b"]) == ("ok", "lossy")
    assert found["versions"] == [{"codec": "pickle", "a": "1.2.3", "b": "2.0"}]
    assert [probe["probe"] for probe in found["probes"]] == ["decimal"]
    assert row_of(compare(after, before), "pickle")["regained"] == ["time_hour"]


def test_cases_of_one_record_only_are_listed(before):
    """What has no counterpart is named, not dropped."""
    after = copy.deepcopy(before)
    after["cases"] = [case for case in after["cases"] if case["labels"]["codec"] != "pickle"]
    assert len(compare(before, after)["only_a"]) == 2
    assert len(compare(after, before)["only_b"]) == 2


@pytest.mark.parametrize(
    ("part", "name", "value", "text"),
    [
        ("machine", "host", "other", "host"),
        ("machine", "cpu_model", "another", "processor"),
        ("dataset", "hash", "f00", "data"),
    ],
)
def test_other_machines_and_data_are_refused(before, part, name, value, text):
    """The message says what differs and how to compare all the same."""
    after = copy.deepcopy(before)
    after[part][name] = value
    with pytest.raises(NotComparable, match=rf"{text}.*--across"):
        compare(before, after)
    assert len(compare(before, after, across=True)["differences"]) == 1


def test_across_machines_ratios_to_the_base_are_compared(before):
    """A machine three times slower changes no ratio; a codec that got slower there still shows."""
    slow = record(
        5,
        tuple(Planted(one.codec, 3 * one.encode_ms, 3 * one.decode_ms, one.share) for one in planted(1.3)),
        media=("memory",),
    )
    slow["machine"]["host"] = "other"
    slow["dataset"]["name"] = "another.csv"
    for case in slow["cases"]:
        case["labels"]["dataset"] = "another"
    found = compare(before, slow, across=True)
    assert len(found["cases"]) == 3
    total = row_of(found, "arrow:pyarrow")["ops"]["total"]
    assert total["lo"] <= 1.3 <= total["hi"]
    assert total["differs"]
    assert not row_of(found, "pickle")["ops"]["total"]["differs"]
    assert row_of(found, "parquet:pyarrow")["ops"]["total"]["ratio"] == 1.0


def test_across_needs_one_base(before):
    """Ratios to different bases say nothing about each other."""
    other = synthetic_record("table", planted=planted(), base="pickle", growth=False, derived=False, seed=3)
    with pytest.raises(NotComparable, match="--base"):
        compare(before, other, across=True)


def test_times_of_two_methods_are_not_compared(before):
    """Results were held in the older one: its times are others. Sizes and losses are what they were."""
    after = copy.deepcopy(before) | {"method": 2}
    for case in after["cases"]:
        if case["labels"]["codec"] == "pickle":
            case["bytes"] = 2 * case["bytes"]
    found = compare(before, after)
    assert found["untimed"] == (
        "times are not compared: A was measured with results held in memory, B with each result freed at once"
    )
    assert {str(row["ops"]) for row in found["cases"]} == {"{}"}
    assert row_of(found, "pickle")["size_ratio"] == 2.0
    assert not found["unlike"]
    assert not compare(after, after)["untimed"]
    assert row_of(compare(after, after), "pickle")["ops"]


def slower(factor):
    return tuple(
        Planted(one.codec, factor * one.encode_ms, factor * one.decode_ms, one.share) for one in planted()
    )


def as_share(found, share):
    """A record as if it had measured so much of the data."""
    for case in found["cases"]:
        case["labels"]["size"] = share
        case["key"] = case["key"].replace("|size=1|", f"|size={share}|")
    return found


@pytest.mark.parametrize(("a", "b"), [("0.8", "1"), ("1", "0.8")])
def test_shares_that_differ_a_little_are_compared_by_figures_of_the_whole(a, b):
    """Two ordinary runs weigh what there was time for: 1.25 times the data in as much more time is no difference."""
    truth = {"0.8": planted(), "1": slower(1.25)}
    found = compare(as_share(record(1, truth[a]), a), as_share(record(2, truth[b]), b))
    assert not found["unlike"]
    assert len(found["cases"]) == 6
    row = row_of(found, "pickle")
    assert (row["size"], row["size_b"], row["peak_ratio"]) == (a, b, None)
    assert row["size_ratio"] == pytest.approx(
        0.8 if a == "0.8" else 1.25, rel=1e-3
    )  # as many bytes of another share
    for op in row["ops"].values():
        assert op["lo"] < 1 < op["hi"]
        assert op["hi"] / op["lo"] > 1.25 ** (2 * 0.15)
        assert op["b_ns"] / op["a_ns"] == pytest.approx(op["ratio"], rel=1e-4)
    said = {"0.8": "80 %", "1": "100 %"}
    text = f"A weighed {said[a]}, B {said[b]} of the data: their times and sizes are estimates for the whole, and less sure"
    assert found["shares"] == text
    assert text in lines_of(found)


@pytest.mark.parametrize(("both", "expected"), [(True, 1.0), (False, 1.25)])
def test_sizes_of_two_shares_are_of_one_kind(before, both, expected):
    """The whole as it was written is not held against an estimate, which may be off in its own way."""
    near = as_share(copy.deepcopy(before), "0.8")
    whole = copy.deepcopy(before)
    for case in [*near["cases"], *(whole["cases"] if both else ())]:
        case["whole_bytes"] = 7
    assert row_of(compare(whole, near), "pickle")["size_ratio"] == pytest.approx(expected, rel=1e-3)


def test_shares_further_apart_are_refused_and_a_gate_is_strict(before):
    """Beyond a factor of 1.5 nothing is estimated; a gate does not estimate at all."""
    other = as_share(copy.deepcopy(before), "0.6")
    assert compare(before, other)["unlike"].startswith("A weighed 100 %, B 60 % of the data: not comparable")
    near = as_share(copy.deepcopy(before), "0.8")
    assert not compare(before, near)["unlike"]
    assert gate(before, near)["outcome"] == "unsure"
    assert "not comparable" in gate(before, near)["findings"][0]["text"]


def test_cases_of_one_share_come_first(before):
    """A case that has its like is compared with it, and not with one of a near share."""
    both = copy.deepcopy(before)
    both["cases"] += as_share(copy.deepcopy(before), "0.8")["cases"]
    found = compare(before, both)
    assert (found["shares"], len(found["cases"]), len(found["only_b"])) == ("", 6, 6)


def test_times_that_all_moved_alike_are_said_to_be_the_machine():
    """Nobody changed fifty codecs at once; where some moved and others did not, nothing is said."""

    def found(ratios):
        case = {
            "codec": "json:orjson",
            "medium": "memory",
            "size": "1",
            "size_b": "1",
            "size_ratio": 1,
            "bytes_a": 1,
            "bytes_b": 1,
        }
        case |= dict.fromkeys(("status_a", "status_b"), "ok") | dict.fromkeys(("lost", "regained"), ())
        figures = {"a_ns": 1.0, "b_ns": 1.0, "lo": 1.0, "hi": 1.0, "differs": False}
        heads = {name: {"created": "now", "dataset": "a"} for name in ("a", "b")}
        rest = dict.fromkeys(("only_a", "only_b", "versions", "probes", "differences"), ())
        cases = [case | {"ops": {"encode": figures | {"ratio": ratio}}} for ratio in ratios]
        return {**heads, **rest, "floor": 0.01, "untimed": "", "shares": "", "cases": cases}

    said = "that is the machine rather than the codecs"
    assert any(
        line.startswith("most times are 0.50 ") and said in line
        for line in lines_of(found([0.5] * 9 + [0.9]))
    )
    assert not any(said in line for line in lines_of(found([1.02] * 10)))
    assert not any(said in line for line in lines_of(found([0.5] * 4 + [1.0] * 6)))
