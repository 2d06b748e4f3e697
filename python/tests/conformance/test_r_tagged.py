"""What R's worker writes as tagged values is read by the parent as what it is, or refused with the reason."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from support.capabilities import need_r

import tare
from tare.tagged import NA, Pairs, from_tagged, to_tagged

FOLDER = Path(tare.__file__).parent / "workers" / "r"

PRELUDE = """
for (part in c("json", "tagged")) sys.source(file.path(FOLDER, paste0(part, ".R")), globalenv())
at <- function(seconds, zone = "UTC") .POSIXct(seconds, tz = zone)
span <- function(n) as.difftime(n, units = "secs")
f <- function(x) structure(list(l = x), class = "data.frame", row.names = .set_row_names(length(x)))
"""

BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")

# A value of R, and what it is in Python.
VALUES: dict[str, tuple[str, Any]] = {
    "names": ("c(a = 1L, b = 2L)", {"a": 1, "b": 2}),
    "a name with a dollar": ("c('$ref' = 'x')", {"$ref": "x"}),
    "a name twice": ("c(a = 1, a = 2)", Pairs([("a", 1.0), ("a", 2.0)])),
    "a name twice in a list": ("list(a = 1L, a = 'x')", Pairs([("a", 1), ("a", "x")])),
    "no name": ("structure(1:2, names = c('a', NA))", {"a": 1, "NA": 2}),
    "no name in a list": ("structure(list(1L, 2L), names = c('a', NA))", {"a": 1, "NA": 2}),
    "names of nothing": ("structure(integer(), names = character())", {}),
    "an offset with seconds": (
        "at(-1e10, 'Europe/Berlin')",
        dt.datetime(1653, 2, 10, 7, 6, 48, tzinfo=BERLIN),
    ),
    "moments": (
        "at(c(-1e10, 0.25, NA, 1.5e9), 'America/New_York')",
        [
            dt.datetime(1653, 2, 10, 1, 17, 18, tzinfo=NEW_YORK),
            dt.datetime(1969, 12, 31, 19, 0, 0, 250_000, tzinfo=NEW_YORK),
            NA("real"),
            dt.datetime(2017, 7, 13, 22, 40, tzinfo=NEW_YORK),
        ],
    ),
    "the second time of an hour": (
        "at(1383460200, 'America/New_York')",
        dt.datetime(2013, 11, 3, 1, 30, fold=1, tzinfo=NEW_YORK),
    ),
    "just before 1970": ("at(-1e-6)", dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=dt.UTC)),
    "years before 1000": (
        "list(as.Date('0987-06-05'), at(-62135596800))",
        [dt.date(987, 6, 5), dt.datetime(1, 1, 1, tzinfo=dt.UTC)],
    ),
    "durations": (
        "span(c(1.5, NA, NaN, -1e-6))",
        [dt.timedelta(seconds=1.5), NA("real"), NA("real"), dt.timedelta(microseconds=-1)],
    ),
}  # fmt: skip

# A value of R that no tag holds.
REFUSED = {
    "span(Inf)": "R has no tag for infinite durations",
    "f(span(c(1, NA, -Inf)))": "R has no tag for infinite durations",
    "at(-Inf)": "R has no tag for moments outside the years 1 to 9999",
    "f(at(c(0, NA, Inf), 'Europe/Berlin'))": "R has no tag for moments outside the years 1 to 9999",
    "at(1e12)": "R has no tag for moments outside the years 1 to 9999",
    "at(-62135596801)": "R has no tag for moments outside the years 1 to 9999",
    "structure(c(0, NA, Inf), class = 'Date')": "R has no tag for days outside the years 1 to 9999",
    "structure(-1e6, class = 'Date')": "R has no tag for days outside the years 1 to 9999",
}

# What Python writes, and the seconds since 1970 that R makes of it.
MOMENTS = [
    dt.datetime(1653, 2, 10, 7, 6, 48, tzinfo=BERLIN),
    dt.datetime(1653, 2, 10, 1, 17, 18, 500_000, tzinfo=NEW_YORK),
    dt.datetime(2017, 7, 13, 22, 40, tzinfo=NEW_YORK),
]


def told(lines: list[str]) -> list[Any]:
    """What R prints, one JSON value for each line that is given."""
    need_r()
    done = subprocess.run(
        ["Rscript", "--vanilla", "-"],
        input="\n".join([f"FOLDER <- {json.dumps(str(FOLDER))}", PRELUDE, *lines]),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def written() -> dict[str, Any]:
    """All tagged values and refusals, of one process."""
    values = [one for one, _ in VALUES.values()] + list(REFUSED)
    said = "tryCatch(to_tagged({}), error = function(e) json_write(conditionMessage(e)))"
    return dict(zip(values, told([f'cat({said.format(one)}, "\\n")' for one in values]), strict=True))


@pytest.mark.parametrize("name", VALUES)
def test_a_value_is_read_as_what_it_is(written: dict[str, Any], name: str) -> None:
    """Names that are tags or stand twice, offsets of old, years of three digits."""
    value, expected = VALUES[name]
    back = from_tagged(written[value])
    assert to_tagged(back) == to_tagged(expected)
    assert type(back) is type(expected)


@pytest.mark.parametrize("value", REFUSED)
def test_what_no_tag_holds_is_refused(written: dict[str, Any], value: str) -> None:
    """By what it is: the parent would only say that it cannot read it."""
    assert written[value] == REFUSED[value]


def test_offsets_with_seconds_are_read() -> None:
    """As Python writes them: before there were zones, places had their own time."""
    texts = [json.dumps(json.dumps(to_tagged(moment))) for moment in MOMENTS]
    lines = [f'cat(sprintf("%.6f", as.double(tagged_read(charToRaw({text})))), "\\n")' for text in texts]
    assert told(lines) == [moment.timestamp() for moment in MOMENTS]
