"""The exponents of a published study come out again from its own table."""

from __future__ import annotations

import csv
import lzma
from collections import defaultdict

import pytest

from tare.measure.analysis.scaling_fit import fit_growth

# Times of 0.05 s and less were left out of the fits: twenty times this floor.
FLOOR_NS = 0.05e9 / 20
EXPONENTS = [
    ("convert", "dput", 1.89, 1.80),
    ("file", "RJSONIO", 1.95, 1.86),
    ("conn", "RJSONIO", 1.95, 1.87),
    ("socket", "RJSONIO", 1.74, None),
    ("convert", "RJSONIO", 1.00, None),
    ("conn", "jsonlite", 1.79, 1.75),
    ("conn", "msgpack", 1.69, 1.58),
    ("file", "msgpack", 1.67, 1.49),
]


@pytest.fixture(scope="module")
def curves():
    return {}


def curve(shared, curves, method, encoder, summed):
    """Sizes and times of one codec on one medium: the published total, or reading and writing added."""
    if not curves:
        found = defaultdict(list)
        with lzma.open(shared("data/r/msgpack-r/benchmarks.csv.xz"), "rt", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                found[row["method"], row["encoder"]].append(row)
        curves.update(found)
    points = []
    for row in curves[method, encoder]:
        try:
            parts = ("read.elapsed", "write.elapsed") if summed else ("total.elapsed",)
            points.append((float(row["size"]), sum(float(row[part]) for part in parts) * 1e9))
        except ValueError:  # NA: not measured
            continue
    return zip(*sorted(points), strict=True)


@pytest.mark.parametrize(("method", "encoder", "total", "summed"), EXPONENTS)
def test_published_exponents(shared, curves, method, encoder, total, summed):
    """To 0.03, from the published totals and from the true sums."""
    for expected, added in ((total, False), (summed, True)):
        if expected is not None:
            sizes, times = curve(shared, curves, method, encoder, added)
            fit = fit_growth(sizes, times, 1.0, floor_ns=FLOOR_NS)
            assert expected == pytest.approx(fit.k, abs=0.03)
            assert fit.superlinear == (expected > 1.4)


def test_full_size_that_was_never_reached(shared, curves):
    """Dput got to 4.5 % of the data in 10 s; the whole would take about an hour."""
    sizes, times = curve(shared, curves, "convert", "dput", False)
    fit = fit_growth(sizes, times, 1.0, floor_ns=FLOOR_NS)
    assert fit.predicted_lo_ns <= 3800e9 <= fit.predicted_hi_ns
    assert fit.predicted_ns == pytest.approx(3800e9, rel=0.1)
