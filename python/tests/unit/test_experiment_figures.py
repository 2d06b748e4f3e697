"""A published figure beside ours: when it is as published, when that cannot be told, and where a curve stands."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from support.experiment_records import FIGURES, growth_row, modules, record_of, record_of_sizes


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    return modules(monkeypatch)


def agreement(bench: dict[str, ModuleType], published: Any, ours_ns: float, status: str = "ok") -> str:
    figures = {**FIGURES, "rows": [{"codec": "msgpack:msgpack", "published": published}]}
    record = record_of(("json:stdlib", 100, "ok"), ("msgpack:msgpack", ours_ns, status))
    (row,) = bench["figures"].compared(figures, record)
    return str(row.agrees)


@pytest.mark.parametrize(
    ("published", "ours_ns", "agrees"),
    [
        (0.5, 50, "yes"), (0.5, 74, "yes"), (0.5, 76, "direction"), (0.5, 30, "direction"),
        (0.5, 99, "no"), (0.14, 100, "no"), (0.5, 200, "no"), (10, 160, "direction"), (10, 90, "no"),
        ([0.4, 0.75], 60, "yes"), ([0.4, 0.75], 20, "direction"), ([0.4, 0.75], 120, "no"),
        # On the other side of the base nothing is as published, unless both are no distance from it.
        (1.07, 88.1, "no"), (0.963, 130, "no"), (1.04, 96, "yes"), (1.0, 120, "no"), (1.03, 133, "yes"),
    ],
)  # fmt: skip
def test_a_published_multiple_beside_ours(bench, published, ours_ns, agrees):
    assert agreement(bench, published, ours_ns) == agrees


def test_what_was_not_measured_agrees_with_nothing(bench):
    figures = {**FIGURES, "rows": [{"codec": "msgpack:msgpack", "published": 0.5}]}
    record = record_of(("json:stdlib", 100, "ok"), ("msgpack:msgpack", 50, "unproven"))
    (row,) = bench["figures"].compared(figures, record)
    assert (row.agrees, row.ours, row.reason) == ("", None, "why not")
    assert "| `msgpack:msgpack` | 0.5 |  |  |  |  | why not |" in bench["table"].table(figures, [row])


def test_seconds_of_another_machine_are_compared_as_multiples(bench):
    rows = [{"codec": "json:stdlib", "published": 2.0}, {"codec": "msgpack:msgpack", "published": 1.0}]
    figures = {**FIGURES, "unit": "s", "rows": rows}
    record = record_of(("json:stdlib", 100, "ok"), ("msgpack:msgpack", 60, "ok"))
    base, other = bench["figures"].compared(figures, record)
    assert (base.agrees, other.multiple, other.agrees) == ("base", [0.5, 0.5], "yes")
    assert other.ours == (0.6, 0.6, 0.6)


def test_sizes_are_compared_as_closely_as_the_study_allows(bench):
    rows = [{"codec": "json:stdlib", "published": 1.04}, {"codec": "msgpack:msgpack", "published": 1.06}]
    figures = {"heading": "", "operation": "bytes", "unit": "MB", "within": 0.05, "rows": rows}
    found = bench["figures"].compared(
        figures, record_of(("json:stdlib", 1, "ok"), ("msgpack:msgpack", 1, "ok"))
    )
    assert [row.agrees for row in found] == ["yes", "no"]


def test_bytes_of_a_small_document_are_compared_as_such(bench):
    """Nothing is divided, and there is no direction without a base."""
    rows = [{"codec": "blit:tare", "published": 11}, {"codec": "json:stdlib", "published": 14.5}]
    figures = {"heading": "", "operation": "bytes", "unit": "B", "within": 0.1, "rows": rows}
    record = record_of(("blit:tare", 1, "ok"), ("json:stdlib", 1, "ok"))
    for row in record["derived"]["cases"].values():
        row["bytes"] = 14
    found = bench["figures"].compared(figures, record)
    assert [row.agrees for row in found] == ["no", "yes"]
    table = bench["table"].table(figures, found)
    assert table[0] == "| codec | published B | here B | as published | kept |"
    assert table[2] == "| `blit:tare` | 11 | 14 | no | all |"


def test_shares_of_a_size_have_the_margin_of_sizes(bench):
    """A share of 0.6 is not 0.64 within five percent, though within a factor of 1.5."""
    rows = [{"codec": "msgpack:msgpack", "published": value} for value in (0.64, 0.61)]
    figures = {**FIGURES, "operation": "bytes", "within": 0.05, "rows": rows}
    record = record_of(("json:stdlib", 1, "ok"), ("msgpack:msgpack", 1, "ok"))
    record["derived"]["cases"]["msgpack:msgpack"]["bytes"] = 0.6e6
    assert [row.agrees for row in bench["figures"].compared(figures, record)] == ["direction", "yes"]


@pytest.mark.parametrize(
    ("times", "agrees", "shown"),
    [
        ({"samples": 2}, "untold", "|  | 2, base 9 |"),
        ({"lo_ns": 40, "hi_ns": 60}, "yes", "| 0.4 to 0.6 | 9, base 9 |"),
        ({"lo_ns": 30, "hi_ns": 60}, "untold", "| 0.3 to 0.6 | 9, base 9 |"),
        ({"lo_ns": 1, "hi_ns": 999, "t_ns": 999}, "untold", "| 0.01 to 9.99 |"),
    ],
)
def test_what_few_samples_or_a_wide_interval_say_is_nothing(bench, times, agrees, shown):
    figures = {**FIGURES, "rows": [{"codec": "msgpack:msgpack", "published": 0.5}]}
    record = record_of(("json:stdlib", 100, "ok"), ("msgpack:msgpack", 50, "ok"))
    record["derived"]["cases"]["msgpack:msgpack"]["ops"]["encode"] |= times
    (row,) = bench["figures"].compared(figures, record)
    assert row.agrees == agrees
    assert shown in bench["table"].table(figures, [row])[-1]


def grown(bench: dict[str, ModuleType], figures: dict[str, Any], record: dict[str, Any]) -> Any:
    """The second row of a table of predicted totals."""
    figures = {"heading": "", "operation": "total", "base": "json:stdlib", "predicted": True, **figures}
    return bench["figures"].compared({"unit": "s", "where": {"medium": "memory"}, **figures}, record)[1]


def test_a_prediction_that_is_too_wide_or_of_what_fails_is_not_told(bench):
    figures = {
        "where": {"medium": "memory", "size": "1"},
        "rows": [
            {"codec": "json:stdlib", "published": 1.0},
            {"codec": "msgpack:msgpack", "published": 2.0, "sum": 3.0},
        ],
    }
    record = record_of(("json:stdlib", 1, "pending"))
    record["derived"]["growth"] = [growth_row(100, 110, "json:stdlib"), growth_row(300, 310)]
    row = grown(bench, figures, record)
    assert (row.agrees, row.multiple) == ("yes", [3.0, 3.0])  # of the sum, not of the total
    record["derived"]["growth"][1] = growth_row(100, 310)
    row = grown(bench, figures, record)
    assert (row.agrees, row.ours) == ("untold", None)
    assert "cannot be told" in row.reason
    record = record_of(("json:stdlib", 1, "pending"), ("msgpack:msgpack", 1, "n/a"))
    record["derived"]["growth"] = [growth_row(100, 110, "json:stdlib"), growth_row(300, 310)]
    row = grown(bench, figures, record)
    assert (row.agrees, row.ours, row.reason) == ("", None, "why not")


def test_single_runs_are_compared_over_several_sizes(bench):
    sizes = ["0.1", "0.2", "0.4"]
    row = {"codec": "msgpack:msgpack", "sizes": sizes, "write": 1.0, "read": 2.0, "published": 3.0}
    base = {**row, "codec": "json:stdlib", "multiple": [1, 1]}
    totals = [("json:stdlib", size, 100.0) for size in sizes]
    record = record_of_sizes(
        *totals, *(("msgpack:msgpack", size, 100.0 * by) for size, by in zip(sizes, (3, 5, 4)))
    )
    for multiple, more, agrees in (
        ([4, 5], {}, "yes"),
        ([6, 7], {}, "untold"),
        ([30, 40], {}, "direction"),
        ([2, 8], {}, "untold"),
        ([4, 5], {"void": True}, "void"),
    ):
        rows = [base, {**row, "multiple": multiple, **more}]
        found = grown(bench, {"rows": rows, "predicted": False}, record)
        assert (found.agrees, found.ours, found.parts) == (agrees, (4.0, 3.0, 5.0), (200.0, 200.0))


def test_a_curve_stands_at_the_largest_size_that_was_measured(bench):
    record = record_of_sizes(
        *((codec, "0.1", total * 1e6) for codec, total in (("a:b", 9), ("c:d", 5), ("e:f", 7)))
    )
    record["derived"]["growth"] = [
        growth_row(2e9, 4e9, "a:b"),
        growth_row(2e9, 9e9, "c:d"),
        growth_row(1e9, 2e9, "e:f"),
    ]
    labels = {"codec": "e:f", "dataset": "d", "medium": "memory", "size": "1"}
    why = "not run above size 0.14: overflow"
    record["cases"] += [{"key": "x", "labels": labels, "status": "n/a", "reason": why}]
    result = SimpleNamespace(
        record=record | {"plan": {"grow": {"factor": 1.5, "stop_s": 1}}},
        cases=record["cases"],
        derived=record["derived"],
    )
    said = "\n".join(bench["curves"].curves(result, {"e:f": "(untested)"}))
    told, wide, limit = (line for line in said.splitlines() if line.startswith("| `"))
    assert "`c:d` | 10 %" in told
    assert "cannot be told" in told
    assert "not told: above its limit | its limit" in wide
    assert "~2.00 s (2.00 s to 4.00 s) | the run's time" in limit
    assert "- `e:f`: not run above size 0.14: overflow (untested)" in said
    assert "screened" not in said


def test_a_curve_that_failed_says_so_and_where(bench):
    """A time limit of one request is not the end of the run's time; what was tried and failed is no limit either."""
    record = record_of_sizes(*((codec, "0.1", 5e6) for codec in ("a:b", "c:d", "e:f", "g:h")))
    ends = (("a:b", "timeout", "no answer within 30 s"), ("c:d", "error", "decode: x | y"))
    record["cases"] += [
        {"key": codec, "labels": {**record["cases"][0]["labels"], "codec": codec, "size": "0.18"}}
        | {"status": status, "reason": reason, "launches": []}
        for codec, status, reason in (*ends, ("e:f", "pending", ""))
    ]
    result = SimpleNamespace(
        record=record | {"plan": {"grow": {"factor": 1.5, "stop_s": 1}}},
        cases=record["cases"],
        derived=record["derived"],
    )
    said = "\n".join(bench["curves"].curves(result, {}))
    ended = {
        line.split("`")[1]: line.split(" | ")[-2] for line in said.splitlines() if line.startswith("| `")
    }
    assert "timeout at 18 %: no answer within 30 s | all" in said
    assert "error at 18 %: decode: x \\| y | all" in said
    assert ended["e:f"] == ended["g:h"] == "the run's time"
    assert "- `a:b`: timeout at 18 % of the data: no answer within 30 s" in said
    assert "- `e:f`" not in said


def test_the_exponents_of_transports_are_those_of_the_study(bench, shared):
    """Each is what our fit gives of the study's own timings; where its reader never ran there is none."""
    from tare.measure.records.importers import import_msgpack_r

    growth = import_msgpack_r(shared("data/r/msgpack-r/benchmarks.csv.xz"))["derived"]["growth"]
    known = {(row["medium"], row["codec"], row["op"]): row["k"] for row in growth}
    said = [
        (figures, row)
        for figures in bench["run"].read_study("transports")["figures"]
        for row in figures["rows"]
        if "sizes" in row
    ]
    for figures, row in said:
        medium = {"link": "remote"}.get(figures["where"]["medium"], figures["where"]["medium"])
        k = known.get((medium, row["codec"], figures["operation"]))
        assert row.get("k") == (None if k is None else pytest.approx(k, abs=0.006)), (medium, row["codec"])
        assert row.get("void", False) == (k is None)
    assert {figures["where"]["medium"] for figures, _ in said} == {
        "memory",
        "conn",
        "file",
        "fifo",
        "tcp",
        "link",
    }


def test_both_ends_at_work_at_once_have_a_span_and_exponents_beside_each_other(bench):
    sizes = ["0.1", "0.2", "0.4"]
    row = {"codec": "a:b", "sizes": sizes, "write": 1.0, "read": 3.0, "published": 3.0, "multiple": [3, 3]}
    base = {**row, "codec": "json:stdlib", "multiple": [1, 1]}
    rows = [{**base, "k": 1.0}, {**row, "where": {"delivery": "streaming"}, "k": 1.5}]
    record = record_of_sizes(*((codec, size, 100.0) for codec in ("json:stdlib", "a:b") for size in sizes))
    for case in record["cases"]:
        delivery = "streaming" if case["labels"]["codec"] == "a:b" else "buffered"
        case["labels"] |= {"medium": "fifo", "delivery": delivery}
        one = {"samples": 1, "launches": 1}
        ops = {name: {"t_ns": t_ns, **one} for name, t_ns in (("send", 5e6), ("receive", 7e6), ("span", 9e6))}
        record["derived"]["cases"][case["key"]]["ops"] = ops
    record["derived"]["growth"] = [
        growth_row(1, 1, "a:b", medium="fifo", delivery=delivery, op="span", k=k)
        for delivery, k in (("buffered", 9.0), ("streaming", 1.25))
    ]
    figures = {
        "operation": "span",
        "unit": "s",
        "base": "json:stdlib",
        "base_where": {"delivery": "buffered"},
    }
    figures |= {"where": {"medium": "fifo", "delivery": "buffered"}, "rows": rows}
    table = bench["table"].table(figures, bench["figures"].compared(figures, record))
    assert "| their send | their receive | their longer end | x base | their k | our send |" in table[0]
    assert "| 3 s | 3 | 1.50 | 5.00 ms | 7.00 ms | 9.00 ms | 1 | 1.25 |" in table[3]
    assert table[3].startswith("| `a:b` streaming | 40 % |")


def test_the_timings_of_transports_are_those_of_the_study(bench, shared):
    """Sums are of its writes and reads, or the longer where both ran at once; what it did not measure is predicted."""
    import csv
    import lzma

    from tare.measure.analysis.scaling_fit import fit_growth

    source = shared("data/r/msgpack-r/benchmarks.csv.xz")
    names = {"rds:r": "serialize", "dput:r": "dput", "csv:r": "csv"}
    sums: dict[tuple[str, str], dict[str, tuple[float, float]]] = {}
    with lzma.open(source, "rt") as file:
        for row in csv.DictReader(file):
            times = tuple(max(0.0, float(row[f"{part}.elapsed"])) for part in ("write", "read"))
            sums.setdefault((row["method"], row["encoder"]), {})[f"{float(row['size']):.6g}"] = times

    def of(method: str, codec: str) -> dict[str, tuple[float, float]]:
        encoders = {name.lower(): sums[key] for key in sums if key[0] == method for name in [key[1]]}
        return encoders[names.get(codec, codec.partition("-")[2]).lower()]

    methods = {"memory": "convert", "tcp": "socket", "link": "remote"}
    for figures in bench["run"].read_study("transports")["figures"]:
        medium = figures["where"]["medium"]
        method = methods.get(medium, medium)
        joint = sum if medium in bench["figures"].ENDS else max
        for row in figures["rows"]:
            timed = {size: joint(both) for size, both in of(method, row["codec"]).items()}
            if "sizes" in row:
                last = row["sizes"][-1]
                assert (row["write"], row["read"]) == pytest.approx(of(method, row["codec"])[last], abs=6e-4)
                assert row["published"] == pytest.approx(timed[last], abs=6e-4)
                base = of(method, "rds:r")
                ratios = [timed[size] / joint(base[size]) for size in row["sizes"]]
                assert row["multiple"] == pytest.approx([min(ratios), max(ratios)], rel=0.01)
            elif "reached" in row:
                assert max(map(float, timed)) == pytest.approx(row["reached"])
                grown = fit_growth(
                    [float(size) for size in timed], [t * 1e9 + 1 for t in timed.values()], 1, floor_ns=1e6
                )
                assert grown.predicted_ns / 1e9 == pytest.approx(row["sum"], rel=0.01)
            elif "sum" in row:
                assert timed["1"] == pytest.approx(row["sum"], abs=6e-4)
