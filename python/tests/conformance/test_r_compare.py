"""What R's worker says of two values: the verdict, how many cells, and an example that shows the difference."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.capabilities import need_r
from support.planted_levels import LEVELS, LevelsColumn, of_arrow

import tare
from tare.measure.fidelity.run_probes import compare

FOLDER = Path(tare.__file__).parent / "workers" / "r"

# Whole numbers of 64 bits by bit64; a column is a table of its own.
PRELUDE = """
for (part in c("json", "tagged", "dput", "codecs", "compare", "rebuild", "shown"))
  if (file.exists(file.path(FOLDER, paste0(part, ".R")))) sys.source(file.path(FOLDER, paste0(part, ".R")), globalenv())
f <- function(x) structure(list(l = x), class = "data.frame", row.names = .set_row_names(length(x)))
i <- function(...) bit64::as.integer64(c(...))
span <- function(n, units) as.difftime(n, units = units)
at <- function(seconds, zone = "UTC") .POSIXct(seconds, tz = zone)
empty <- structure(list(), names = character())
nan <- function(low) readBin(as.raw(c(low, 0, 0, 0, 0, 0, 0xf8, 0x7f)), "double", 1L)
p <- function(...) { d <- data.frame(k = seq_along(..1)); d$p <- data.frame(...); d }
deep <- function(x, around) Reduce(function(inner, .) around(inner), seq_len(40), x)
"""

# What was given, what came back, the verdict.
VERDICTS = {
    "negative whole numbers": ("f(i(-1, -2, -3))", "f(i(-7, -8, -9))", "lossy"),
    "whole numbers of 64 bits": ("f(i(-1, 5, NA))", "f(i(-1, 5, NA))", "same"),
    "NaN in the place of negative ones": (
        "f(i(-1, -2))",
        "f(structure(c(NaN, NaN), class = 'integer64'))",
        "lossy",
    ),
    "one of many": ("f(i(-3e9, -4e9))", "f(i(-3e9, -4e9 - 1))", "lossy"),
    "negative ones in lists": ("f(list(i(-1), 2L))", "f(list(i(-2), 2L))", "lossy"),
    "negative ones in documents": ("list(a = i(-1), b = 1)", "list(a = i(-2), b = 1)", "lossy"),
    "negative ones as plain": ("list(a = i(-5))", "list(a = -5)", "type"),
    "negative ones as other plain ones": ("list(a = i(-5))", "list(a = -6)", "lossy"),
    "a column of negative ones as plain": ("f(i(-5, NA))", "f(c(-5, NA))", "type"),
    "plain ones as 64 bits": ("f(c(-5, NA))", "f(i(-5, NA))", "type"),
    "an attribute": ("f(i(1, 2^40))", "f(structure(i(1, 2^40), foo = 1))", "type"),
    "a NaN of other bits": ("f(c(NaN, 1))", "f(c(nan(7), 1))", "same"),
    "a NaN of other bits in a document": ("list(NaN, 1)", "list(nan(7), 1)", "same"),
    "NA for NaN": ("f(c(NaN, 1))", "f(c(NA, 1))", "lossy"),
    "halves for whole numbers": ("f(c(1L, 2L))", "f(c('1.5', '2.9'))", "lossy"),
    "other bases and spaces for numbers": ("f(c(16, 16))", "f(c('0x10', '16'))", "lossy"),
    "spaces around a number": ("f(16L)", "f(' 16 ')", "lossy"),
    "a line end behind a number": ("f(16)", "f('16\\n')", "lossy"),
    "a plus before a number": ("f(16)", "f('+16')", "lossy"),
    "other bases for whole numbers of 64 bits": ("f(i(16))", "f('0x10')", "lossy"),
    "spaces around one of 64 bits": ("f(i(16))", "f(' 16')", "lossy"),
    "a line end behind one of 64 bits": ("f(i(16))", "f('16\\n')", "lossy"),
    "a plus before one of 64 bits": ("f(i(16))", "f('+16')", "lossy"),
    "another base beside texts": ("f(c(16, 1))", "f(list('0x10', 1))", "lossy"),
    "another base for a day": ("f(structure(16, class = 'Date'))", "f('0x10')", "lossy"),
    "another base for a time": ("f(at(16))", "f('0x10')", "lossy"),
    "numbers as R writes them": (
        "f(c(1e5, -1.5, 1e-300, 0.5, Inf, -Inf, NaN, NA, NA, -0))",
        "f(c('1e+05', '-1.5', '1E-300', '.5', 'Inf', '-Inf', 'NaN', 'NA', '', '-0'))",
        "type",
    ),
    "numbers as others write them": ("f(c(Inf, -Inf, 5))", "f(c('Infinity', '-Infinity', '5.'))", "type"),
    "powers of ten for one of 64 bits": ("f(i(100000))", "f('1e+05')", "type"),
    "whole numbers as texts": ("f(c(1L, 2L, NA))", "f(c('1', '2.0', ''))", "type"),
    "halves for whole numbers of 64 bits": ("f(i(1, 2))", "f(c('1.5', '2.9'))", "lossy"),
    "doubles for whole numbers of 64 bits": ("f(i(1, 2))", "f(c(1.5, 2))", "lossy"),
    "one beyond the largest": ("f(i('9223372036854775807'))", "f('9223372036854775808')", "lossy"),
    "the largest": ("f(i('9223372036854775807'))", "f('9223372036854775807')", "type"),
    "five for yes": ("f(TRUE)", "f(5)", "lossy"),
    "one for yes": ("f(c(TRUE, FALSE, NA))", "f(c(1, 0, NA))", "type"),
    "words for yes": ("f(c(TRUE, NA))", "f(c('TRUE', 'no'))", "lossy"),
    "a time for a day": ("f(as.Date('2020-01-01'))", "f('2020-01-01 23:59:59')", "lossy"),
    "midnight for a day": ("f(as.Date('2020-01-01'))", "f('2020-01-01T00:00:00Z')", "type"),
    "a day as text": ("f(as.Date(c('2020-01-01', NA)))", "f(c('2020-01-01', 'NA'))", "type"),
    "more behind a time": ("f(at(0))", "f('1970-01-01 00:00:00 +05:00')", "lossy"),
    "a time as text": ("f(at(c(0, NA)))", "f(c('1970-01-01T00:00:00Z', NA))", "type"),
    "times as texts with an offset": (
        "f(at(c(0, 0, 3600.1, -3600, -0.5), 'Europe/Berlin'))",
        "f(c('1970-01-01T00:00:00+00:00', '1970-01-01 01:00+0100', '1970-01-01T02:00:00.1+01:00',"
        " '1969-12-31 17:30:00 -0530', '1970-01-01T04:59:59.500+05:00'))",
        "type",
    ),
    "times as texts that say UTC": (
        "f(at(c(0, 0, 5), 'Europe/Berlin'))",
        "f(c('1970-01-01 UTC', '1970-01-01T00:00 UTC', '1970-01-01 00:00:05 UTC'))",
        "type",
    ),
    "a time as text of its own zone": ("f(at(0, 'Europe/Berlin'))", "f('1970-01-01 01:00:00')", "type"),
    "a time of another offset": ("f(at(0))", "f('1970-01-01T00:00:00+01:00')", "lossy"),
    "a day with an offset": ("f(at(0))", "f('1970-01-01+00:00')", "lossy"),
    "an offset that is none": ("f(at(0))", "f('1970-01-01T00:00:00+00:75')", "lossy"),
    "an offset and a Z": ("f(at(0))", "f('1970-01-01T00:00:00+00:00Z')", "lossy"),
    "fractions of a second": (
        "f(at(c(60.3, 0.1, 1700000000.123)))",
        "f(c('1970-01-01T00:01:00.3Z', '1970-01-01 01:00:00.1+01:00', '2023-11-14T23:13:20.123+0100'))",
        "type",
    ),
    "a time that is none": ("f(at(c(0, NA)))", "f(c('1970-01-01T00:00:00Z', 'soon'))", "lossy"),
    "a zone": ("f(at(0))", "f(at(0, 'America/New_York'))", "type"),
    "minutes for seconds": (
        "f(as.difftime(c(60, 120), units = 'secs'))",
        "f(as.difftime(c(60, 120), units = 'mins'))",
        "lossy",
    ),
    "seconds as minutes": (
        "f(as.difftime(c(60, 120), units = 'secs'))",
        "f(as.difftime(c(1, 2), units = 'mins'))",
        "type",
    ),
    "no number for a missing one of 64 bits": ("f(i(1, NA))", "f(c('1', 'abc'))", "lossy"),
    "no number for a missing one": ("f(c(1.5, NA))", "f(c('1.5', 'abc'))", "lossy"),
    "no level for a missing one": (
        "f(factor(c('a', NA), levels = c('a', 'b')))",
        "f(c('a', 'zzz'))",
        "lossy",
    ),
    "a category as text": ("f(factor(c('a', NA)))", "f(c('a', NA))", "type"),
    "an object for an array": ("list(a = list(), b = list(1L, 2L))", "list(a = empty, b = c(1L, 2L))", "lossy"),
    "an array for an object": ("list(a = empty, b = list(1L, 2L))", "list(a = list(), b = c(1L, 2L))", "lossy"),
    "a negative zero beside texts": ("f(c(-0, NaN, NA, 0.1 + 0.2))", "f(list(-0, 'NaN', 'NA', 0.1 + 0.2))", "type"),
    "a zero for a negative one beside texts": ("f(c(-0, NaN))", "f(list(0, 'NaN'))", "lossy"),
    "names of a vector of 64 bits": ("list(x = 1L, y = 2L)", "structure(i(1, 2), names = c('x', 'y'))", "type"),
    "other names of a vector of 64 bits": ("list(x = 1L, y = 2L)", "structure(i(1, 2), names = c('x', 'z'))", "lossy"),
    "a vector of 64 bits without names": ("list(x = 1L, y = 2L)", "i(1, 2)", "lossy"),
    "cells of a list": ("f(c(1L, NA, 3L))", "f(list(1, NULL, 3L))", "type"),
    "cells of a list, texts": ("f(c('a', NA))", "f(list('a', NULL))", "type"),
    "cells that are other durations": ("f(span(60, 'secs'))", "f(list(span(60, 'mins')))", "lossy"),
    "cells that are durations": (
        "f(span(c(60, 0.3, 7200, NA), 'secs'))",
        "f(list(span(1, 'mins'), span(0.3, 'secs'), span(2, 'hours'), NULL))",
        "type",
    ),
    "cells that are times for days": ("f(as.Date(c('2020-01-01', NA)))", "f(list(at(1577836800), NULL))", "type"),
    "cells that are other times for days": ("f(as.Date('2020-01-01'))", "f(list(at(1577836801)))", "lossy"),
    "cells that are days for times": ("f(at(c(86400, 5)))", "f(list(as.Date('1970-01-02'), at(5, 'Asia/Tokyo')))", "type"),
    "cells that are days for texts": ("f(c('2020-01-01', 'a'))", "f(list(as.Date('2020-01-01'), 'a'))", "type"),
    "whole numbers in lists": ("f(list(c(1, 2), c(3, NA), 5))", "f(list(1:2, c(3L, NA), 5L))", "type"),
    "other whole numbers in lists": ("f(list(c(1, 2), c(3, 4)))", "f(list(1:2, c(3L, 5L)))", "lossy"),
    "halves in lists of whole numbers": ("f(list(1:2, 3:4))", "f(list(c(1, 2), c(3, 4.5)))", "lossy"),
    "whole numbers of 64 bits in lists": ("f(list(i(-5, 6)))", "f(list(c(-5, 6)))", "type"),
    "lists of several types": ("f(list(1, 2L, TRUE, 'a', NA, NULL))", "f(list(1L, 2, 1, 'a', NA, NULL))", "type"),
    "others in lists of several types": ("f(list(1, 2L, TRUE, 'a'))", "f(list(1L, 2, 1, 'b'))", "lossy"),
    "no zero below in a list": ("f(list(c(1, -0)))", "f(list(c(1L, 0L)))", "lossy"),
    "a missing one for a number in a list": ("f(list(c(1, NaN)))", "f(list(c(1L, NA)))", "lossy"),
    "fewer in a list": ("f(list(c(1, 2), c(3, 4)))", "f(list(1:2, 3L))", "lossy"),
    "fewer lists": ("f(list(c(1, 2), c(3, 4)))", "f(list(1:2))", "lossy"),
    "days in lists as texts": (
        "f(list(as.Date(c('2020-01-01', NA)), as.Date(character())))",
        "f(list(c('2020-01-01', NA), list()))",
        "type",
    ),
    "an empty list of a type that nothing says": ("f(list('a', character()))", "f(list('a', list()))", "type"),
    "no rows of a type that nothing says": ("f(list(f(1), f(numeric())))", "f(list(f(1L), list()))", "type"),
    "no list for an empty one": ("f(list(1, numeric()))", "f(list(1, NULL))", "lossy"),
    "an empty list for none": ("f(list(1, NULL))", "f(list(1, list()))", "lossy"),
    "an empty object for no list": ("f(list(1, NULL))", "f(list(1, empty))", "lossy"),
    "an empty object for an empty list": ("f(list(1, numeric()))", "f(list(1, empty))", "lossy"),
    "an empty list for an empty object": ("f(list(1, empty))", "f(list(1, list()))", "lossy"),
    "names in lists": ("f(list(c(x = 1, y = 2)))", "f(list(1:2))", "lossy"),
    "functions in lists": ("f(list(sum, mean))", "f(list(sum, max))", "lossy"),
    "objects in lists": ("f(list(list(a = 1, b = 'x')))", "f(list(list(a = 1L, b = 'x')))", "type"),
    "other objects in lists": ("f(list(list(a = 1, b = 'x')))", "f(list(list(a = 1L, b = 'y')))", "lossy"),
    "lists in lists": ("f(list(list(c(1, 2), 3), list()))", "f(list(list(1:2, 3L), list()))", "type"),
    "others in lists in lists": ("f(list(list(c(1, 2), 3), list()))", "f(list(list(1:2, 4L), list()))", "lossy"),
    "lists 40 deep of another type": (
        "f(list(deep(1, function(x) list(x, 'a'))))",
        "f(list(deep(1L, function(x) list(x, 'a'))))",
        "type",
    ),
    "tables in lists": ("f(list(f(c(1, 2)), f(3)))", "f(list(f(1:2), f(3L)))", "type"),
    "other tables in lists": ("f(list(f(c(1, 2)), f(3)))", "f(list(f(1:2), f(4L)))", "lossy"),
    "a column of columns": ("p(x = c(1, 2), y = c('a', NA))", "p(x = 1:2, y = c('a', NA))", "type"),
    "other columns of a column": ("p(x = c(1, 2), y = c('a', NA))", "p(x = c(1L, 3L), y = c('a', NA))", "lossy"),
    "a column gone of a column": ("p(x = c(1, 2), y = c('a', NA))", "p(x = 1:2)", "lossy"),
    "a list of columns for a column of them": (
        "p(x = c(1, 2))",
        "structure(list(k = 1:2, p = list(x = 1:2)), class = 'data.frame', row.names = 1:2)",
        "type",
    ),
    "a line end behind a day": ("f(as.Date('2020-01-01'))", "f('2020-01-01\\n')", "lossy"),
    "a text that is no UTF-8": ("f('caf\\xe9')", "f('caf\\xe9')", "same"),
}  # fmt: skip

# What was given, what came back: how many cells, and the example.
EXAMPLES = {
    "whole numbers of 64 bits": (
        "f(i(3e9, 2^62, 5))",
        "f(i(3e9, 2^62, 7))",
        (1, "5 (integer64)", "7 (integer64)"),
    ),
    "a negative one": (
        "f(i(-3e9, -1))",
        "f(i(-3e9, -2))",
        (1, "-1 (integer64)", "-2 (integer64)"),
    ),
    "a sign beside a number": ("f(c(1, -0, 0.5))", "f(c(2, 0, 0.5))", (2, "1 (numeric)", "2 (numeric)")),
    "no object": ("list(a = empty)", "list(a = list())", (1, "named list of 0", "list of 0")),
    "a millisecond": (
        "f(at(1700000000.123))",
        "f(at(1700000000.124))",
        (1, "2023-11-14 22:13:20.123 UTC (POSIXct)", "2023-11-14 22:13:20.124 UTC (POSIXct)"),
    ),
    "before 1970": (
        "f(at(-1e-6))",
        "f(at(0))",
        (1, "1969-12-31 23:59:59.999999 UTC (POSIXct)", "1970-01-01 00:00:00 UTC (POSIXct)"),
    ),
    "less than a microsecond": (
        "f(at(1e-9))",
        "f(at(2e-9))",
        (1, "1970-01-01 00:00:00 UTC, 1.0000000000000001e-09 (POSIXct)", "1970-01-01 00:00:00 UTC, 2.0000000000000001e-09 (POSIXct)"),
    ),
    "a zone": (
        "f(at(0))",
        "f(at(0, 'America/New_York'))",
        (1, "1970-01-01 00:00:00 UTC (POSIXct)", "1969-12-31 19:00:00 EST (POSIXct)"),
    ),
    "half a day": (
        "f(as.Date('2020-01-01'))",
        "f(as.Date('2020-01-01') + 0.5)",
        (1, "2020-01-01, 18262 (Date)", "2020-01-01, 18262.5 (Date)"),
    ),
    "names": (
        "structure(list(a = 1, b = 2, c = 3), class = 'data.frame', row.names = 1L)",
        "structure(list(a = 1, b = 2, d = 3), class = 'data.frame', row.names = 1L)",
        (1, "[3] c (character)", "[3] d (character)"),
    ),
    "the end of a text": (
        "f(paste0(strrep('x', 300), 'a'))",
        "f(paste0(strrep('x', 300), 'b'))",
        (1, "...xxxxxxxxxxxxxxxxxxxxa (character)", "...xxxxxxxxxxxxxxxxxxxxb (character)"),
    ),
    "an attribute": (
        "f(structure(c(1, 2), unit = 'm'))",
        "f(structure(c(1, 2), unit = 's'))",
        (1, 'numeric of 2 (unit: "m")', 'numeric of 2 (unit: "s")'),
    ),
    "no attribute": (
        "f(structure(c(1, 2), unit = 'm'))",
        "f(c(1, 2))",
        (1, 'numeric of 2 (unit: "m")', "numeric of 2 (unit: NULL)"),
    ),
    "the lists that are lost": (
        "f(list(c(1, 2), c(3, 4), c(5, 6), c(7, 8)))",
        "f(list(1:2, c(3L, 9L), 5:6, 8:7))",
        (2, "4 (numeric)", "9 (integer)"),
    ),
    "lists of another type": (
        "f(list(c(1, 2), c(3, 4)))",
        "f(list(1:2, 3:4))",
        (1, "[1] numeric of 2", "[1] integer of 2"),
    ),
    "a list before another that is lost": (
        "f(list(list(c(1, 2), 3), c(5, 6)))",
        "f(list(list(c(1, 9), 3), c(5, 7)))",
        (2, "2 (numeric)", "9 (numeric)"),
    ),
    "another that is lost before a list": (
        "f(list(c(5, 6), list(c(1, 2), 3)))",
        "f(list(c(5, 7), list(c(1, 9), 3)))",
        (2, "6 (numeric)", "7 (numeric)"),
    ),
    # Looked at once at each depth: twice would take years.
    "lists 40 deep": (
        "f(list(deep('a', function(x) list(x, 1L))))",
        "f(list(deep('b', function(x) list(x, 1))))",
        (1, "a (character)", "b (character)"),
    ),
    "objects 40 deep": (
        "f(list(list(k = 1), deep('a', function(x) list(k = x))))",
        "f(list(list(k = 1), deep('b', function(x) list(k = x))))",
        (1, "a (character)", "b (character)"),
    ),
    "tables 40 deep": (
        "f(list(deep(f('a'), function(x) f(list(x)))))",
        "f(list(deep(f('b'), function(x) f(list(x)))))",
        (1, "a (character)", "b (character)"),
    ),
    "what is lost of a column of columns": (
        "p(x = c(1, 2, 3), y = 1:3)",
        "p(x = c(1, 5, 6), y = 1:3)",
        (2, "2 (numeric)", "5 (numeric)"),
    ),
    "levels that no cell has": (
        "f(factor('b', levels = c('a', 'b', 'c')))",
        "f('b')",
        (2, "a, b, c (character)", "b (character)"),
    ),
    "the order of levels": (
        "f(factor(c('lo', 'hi'), levels = c('lo', 'hi'), ordered = TRUE))",
        "f(c('lo', 'hi'))",
        (1, "lo < hi (character)", "lo, hi (character)"),
    ),
    "a question mark for a byte": (
        "f(c('a', 'caf\\xe9'))",
        "f(c('a', 'caf?'))",
        (1, "...caf<e9> (character)", "...caf? (character)"),
    ),
    "one byte for another": (
        "list('\\xff')",
        "list('\\xfe')",
        (1, "...<ff> (character)", "...<fe> (character)"),
    ),
    "a byte at the end of a text": (
        "f(paste0(strrep('x', 300), '\\xe9'))",
        "f(paste0(strrep('x', 300), '?'))",
        (1, "...xxxxxxxxxxxxxxxxxxxx<e9> (character)", "...xxxxxxxxxxxxxxxxxxxx? (character)"),
    ),
    "a name with a byte": (
        "structure(list(1), names = 'a\\xe9', class = 'data.frame', row.names = 1L)",
        "structure(list(1), names = 'a?', class = 'data.frame', row.names = 1L)",
        (1, "...a<e9> (character)", "...a? (character)"),
    ),
}  # fmt: skip


def of_r(column: LevelsColumn) -> str:
    """The table of one column, as R's source."""
    cells, levels, ordered = column
    texts = f"c({', '.join('NA' if cell is None else json.dumps(cell) for cell in cells)})"
    if levels is None:
        return f"f(as.character({texts}))"
    known = f"as.character(c({', '.join(map(json.dumps, levels))}))"
    return f"f(factor({texts}, levels = {known}, ordered = {str(ordered).upper()}))"


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """All that it says, of one process."""
    need_r("bit64")
    pairs = {f"v {name}": case[:2] for name, case in VERDICTS.items()}
    pairs |= {f"e {name}": case[:2] for name, case in EXAMPLES.items()}
    pairs |= {f"l {name}": (of_r(one), of_r(other)) for name, (one, other, _) in LEVELS.items()}
    lines = [f"FOLDER <- {json.dumps(str(FOLDER))}", PRELUDE, "invisible(requireNamespace('bit64'))"]
    for name, (one, other) in pairs.items():
        lines.append(
            f"said <- tryCatch(compare({one}, {other}, 9), error = function(e) list(error = conditionMessage(e)))"
        )
        lines.append(f'cat({json.dumps(json.dumps(name))}, ":", json_write(said), "\\n")')
    done = subprocess.run(
        ["Rscript", "--vanilla", "-"],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return {
        json.loads(key): json.loads(said)
        for key, said in (line.split(" :", 1) for line in done.stdout.splitlines())
    }


@pytest.mark.parametrize("name", VERDICTS)
def test_a_verdict(told: dict[str, Any], name: str) -> None:
    """What can be rebuilt knowing only its type is of another type; what cannot is lost."""
    said = told[f"v {name}"]
    assert said.get("verdict") == VERDICTS[name][2], said


@pytest.mark.parametrize("name", LEVELS)
def test_levels_are_judged_as_python_judges_them(told: dict[str, Any], name: str) -> None:
    """One rule: the order of an ordered category is lost, that of others is in their type."""
    one, other, verdict = LEVELS[name]
    of_python = compare(of_arrow(one), of_arrow(other), kind="table")
    assert (told[f"l {name}"]["verdict"], of_python.verdict) == (verdict, verdict), told[f"l {name}"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_shows_what_differs(told: dict[str, Any], name: str) -> None:
    """Two equal texts tell nothing."""
    change = told[f"e {name}"]["changes"][0]
    assert (change["count"], change["in"], change["out"]) == EXAMPLES[name][2]
