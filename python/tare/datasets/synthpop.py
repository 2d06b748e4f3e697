"""A table of people who do not exist, the same on every machine.

Every cell is a pure function of seed, row and column: a counter is hashed to 64
bits and the bits index tables made with integer arithmetic. So row ``i`` does
not depend on how many rows are asked for, nor on how many are made at a time,
nor on the platform's mathematical library. The thirteen columns, their types,
empty cells and share of distinct values are those of a national survey as used
in teaching; its people, places and correlations are made up.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tare.datasets.places import place_names, place_weights
from tare.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

__all__ = ["COLUMNS", "MAX_ROWS", "ROWS", "batches", "synthpop"]

ROWS = 1_000_000
MAX_ROWS = 1 << 40
COLUMNS = (
    "sex", "age", "agegr", "socprof", "income", "marital", "edu",
    "sport", "smoke", "nociga", "alcabuse", "bmi", "location",
)  # fmt: skip

_BATCH_ROWS = 131_072
_TABLE_BITS = 16  # resolution of a drawn quantile
_SEX = ("FEMALE", "MALE")
_BANDS = ("16-24", "25-34", "35-44", "45-59", "60-64", "65+")
_BAND_STARTS = (25, 35, 45, 60, 65)
# People per year of age, as (age, weight) corners joined by straight lines.
_AGES = (
    (16, 30),
    (19, 34),
    (30, 33),
    (41, 29),
    (50, 36),
    (58, 43),
    (63, 30),
    (70, 20),
    (80, 14),
    (90, 4),
    (97, 1),
)
_PROFESSIONS = (
    "EMPLOYED IN PRIVATE SECTOR", "EMPLOYED IN PUBLIC SECTOR", "FARMER", "LONG-TERM SICK/DISABLED",
    "OTHER ECONOMICALLY INACTIVE", "PUPIL OR STUDENT", "RETIRED", "SELF-EMPLOYED", "UNEMPLOYED", None,
)  # fmt: skip
_MARITAL = ("DE FACTO SEPARATED", "DIVORCED", "LEGALLY SEPARATED", "MARRIED", "SINGLE", "WIDOWED", None)
_EDUCATION = ("POST-SECONDARY OR HIGHER", "PRIMARY/NO EDUCATION", "SECONDARY", "VOCATIONAL/GRAMMAR", None)
# Per mille of each category, one row an age band.
_PROFESSION_SHARES = (
    (110, 20, 4, 5, 75, 670, 0, 6, 104, 6),
    (400, 165, 52, 20, 130, 50, 3, 62, 112, 6),
    (350, 220, 82, 30, 128, 18, 8, 60, 94, 10),
    (235, 215, 98, 110, 118, 6, 74, 56, 84, 4),
    (45, 30, 25, 140, 60, 0, 672, 12, 10, 6),
    (10, 5, 5, 110, 28, 0, 825, 4, 5, 8),
)
_MARITAL_SHARES = (
    (1, 2, 0, 45, 950, 1, 1),
    (4, 25, 2, 540, 423, 3, 3),
    (4, 64, 2, 764, 150, 14, 2),
    (8, 60, 3, 778, 86, 63, 2),
    (6, 48, 1, 746, 50, 148, 1),
    (5, 26, 1, 570, 36, 360, 2),
)
_EDUCATION_SHARES = (
    (65, 60, 370, 503, 2),
    (410, 55, 340, 193, 2),
    (245, 100, 285, 368, 2),
    (168, 138, 286, 407, 1),
    (138, 255, 312, 293, 2),
    (110, 525, 232, 131, 2),
)
_SPORT = (500, 850, 620, 660, 540)  # per mille by education
_SMOKE = (120, 220, 225, 330, 265, 435, 315, 400, 190, 340, 80, 210)  # by band, then sex
_ALCOHOL = (30, 110)  # by sex
# Monthly income by profession: share unknown (per mille), then 0th, 10th, 50th, 90th and 100th percentile.
_INCOME = (
    (110, 300, 1000, 1600, 2900, 16000), (110, 400, 1150, 2000, 3500, 15000), (270, 100, 450, 1100, 2600, 14000),
    (60, 100, 480, 900, 1600, 6000), (630, 100, 380, 850, 2000, 10000), (740, 100, 350, 900, 2200, 8000),
    (50, 200, 760, 1250, 2100, 8000), (250, 200, 1000, 2500, 5600, 16000), (640, 100, 320, 720, 1700, 6000),
    (270, 100, 450, 1000, 2400, 9000),
)  # fmt: skip
_PERCENTILES = (0, 10, 50, 90, 100)
_ROUND_TO = ((730, 100), (120, 50), (150, 10))  # per mille of people, and what they round their income to
# Cigarettes a day: (number, weight).
_CIGARETTES = (
    (20, 340), (10, 250), (15, 120), (5, 50), (30, 40), (25, 28), (8, 24), (40, 21), (3, 20), (12, 20), (6, 18),
    (1, 12), (7, 12), (2, 11), (4, 8), (18, 6), (14, 4), (50, 3), (13, 2), (16, 2), (60, 1), (35, 1), (9, 1),
)  # fmt: skip
_HEIGHTS = tuple(range(151, 190, 2))
_WEIGHT_BASE = (54, 58, 62, 66, 68, 66)  # kg of the lightest usual person, by band


def synthpop(rows: int = ROWS, *, start: int = 0, seed: int = 1) -> pa.Table:
    """Make `rows` people, one row each.

    Args:
        rows: Number of rows; the default makes a Parquet file of about 7 MB.
        start: First row. ``synthpop(10, start=5)`` are rows 5 to 14 of the table.
        seed: Another seed gives other people of the same kind.

    Returns:
        A table of 13 columns: six of text, three int32, one double, three booleans.

    Raises:
        UsageError: `rows` or `start` is negative or above ``MAX_ROWS``.

    >>> table = synthpop(1000)
    >>> table.num_rows, table.num_columns
    (1000, 13)
    >>> synthpop(10, start=990).equals(table.slice(990).combine_chunks())
    True
    """
    import pyarrow as pa

    parts = list(batches(rows, start=start, seed=seed))
    return pa.Table.from_batches(parts, schema=_schema()).combine_chunks()


def batches(
    rows: int = ROWS, *, start: int = 0, seed: int = 1, batch_rows: int = _BATCH_ROWS
) -> Iterator[pa.RecordBatch]:
    """Make the same rows as `synthpop`, `batch_rows` at a time, in bounded memory.

    Raises:
        UsageError: `rows` or `start` is negative or above ``MAX_ROWS``.

    >>> [batch.num_rows for batch in batches(25, batch_rows=10)]
    [10, 10, 5]
    """
    if not 0 <= rows <= MAX_ROWS or not 0 <= start <= MAX_ROWS or batch_rows < 1:
        raise UsageError(f"synthpop has 0 to {MAX_ROWS:,} rows; asked for {rows:,} from row {start:,}.")
    return (
        _batch(first, min(batch_rows, start + rows - first), seed)
        for first in range(start, start + rows, batch_rows)
    )


def _schema() -> pa.Schema:
    import pyarrow as pa

    types: dict[str, Any] = dict.fromkeys(COLUMNS, pa.string())
    types |= dict.fromkeys(("age", "income", "nociga"), pa.int32())
    types |= dict.fromkeys(("sport", "smoke", "alcabuse"), pa.bool_())
    types["bmi"] = pa.float64()
    return pa.schema(list(types.items()))


def _batch(start: int, rows: int, seed: int) -> pa.RecordBatch:
    """Rows ``start`` to ``start + rows``; each draw is named by a number that never changes."""
    import numpy as np
    import pyarrow as pa

    counter = np.arange(start, start + rows, dtype=np.uint64)

    def draw(number: int, shift: int = 0) -> Any:
        """16 bits of the hash of (seed, row, number), four such a number."""
        return ((_hash(counter, number, seed) >> np.uint64(16 * shift)) & np.uint64(0xFFFF)).astype(np.intp)

    sex = (draw(0) >= _mille(560)).astype(np.intp)
    age = _age_table()[draw(1)]
    band = np.searchsorted(_BAND_STARTS, age, side="right")
    profession = _shares(_PROFESSION_SHARES)[band, draw(2)]
    marital = _shares(_MARITAL_SHARES)[band, draw(2, 1)]
    education = _shares(_EDUCATION_SHARES)[band, draw(2, 2)]
    smoke = draw(3) < _milles(_SMOKE)[band * 2 + sex]
    income = _income_table()[profession, draw(4)]
    step = _pick(tuple(weight for weight, _ in _ROUND_TO), tuple(unit for _, unit in _ROUND_TO))[draw(4, 1)]
    step = np.where(income > 3000, np.maximum(step, 100), step)
    income = np.maximum((income + step // 2) // step * step, 100)
    cigarettes = _pick(tuple(w for _, w in _CIGARETTES), tuple(n for n, _ in _CIGARETTES))[draw(3, 1)]
    height = np.asarray(_HEIGHTS)[(draw(5) + draw(5, 1)) * len(_HEIGHTS) >> (_TABLE_BITS + 1)]
    # The sum of three draws is bell-shaped; taller people are heavier. Steps of 2 kg keep the values few.
    spread = (draw(5, 2) + draw(5, 3) + draw(6)) * 33 // (3 << _TABLE_BITS)
    weight = (np.asarray(_WEIGHT_BASE)[band] + (height - 170) * 3 // 5) // 2 * 2 + spread * 2 - 14
    unknown_income = draw(4, 2) < _milles(tuple(line[0] for line in _INCOME))[profession]

    def text(values: Sequence[str | None], codes: Any, missing: Any = None) -> Any:
        indices = pa.array(codes.astype(np.int32), mask=missing)
        return pa.DictionaryArray.from_arrays(indices, pa.array(values, pa.string())).cast(pa.string())

    columns = (
        text(_SEX, sex),
        pa.array(age.astype(np.int32)),
        text(_BANDS, band, draw(6, 1) < _mille(1)),
        text(_PROFESSIONS, profession),
        pa.array(income.astype(np.int32), mask=unknown_income),
        text(_MARITAL, marital),
        text(_EDUCATION, education),
        pa.array(draw(6, 2) < _milles(_SPORT)[education]),
        pa.array(smoke),
        pa.array(cigarettes.astype(np.int32), mask=~smoke | (draw(3, 2) < _mille(20))),
        pa.array(draw(6, 3) < _milles(_ALCOHOL)[sex]),
        pa.array(weight * 10_000 / (height * height), mask=draw(3, 3) < _mille(12)),
        text(place_names(), _pick(place_weights())[draw(7)]),
    )
    return pa.RecordBatch.from_arrays(list(columns), schema=_schema())


def _hash(counter: np.ndarray[Any, Any], number: int, seed: int) -> np.ndarray[Any, Any]:
    """64 well-mixed bits of each counter: Evensen's "moremur" finaliser over an odd multiple."""
    import numpy as np

    key = ((seed + 1) * 0xD6E8FEB86659FD93 + (number + 1) * 0xA0761D6478BD642F) & 0xFFFFFFFFFFFFFFFF
    x = counter * np.uint64(0x9FB21C651E98DF25) + np.uint64(key)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x3C79AC492BA7B653)
    x ^= x >> np.uint64(33)
    x *= np.uint64(0x1C69B3F74AC4AE35)
    x ^= x >> np.uint64(27)
    return x


def _mille(share: int) -> int:
    """A share in per mille as a threshold for a draw."""
    return (share << _TABLE_BITS) // 1000


def _milles(shares: Sequence[int]) -> np.ndarray[Any, Any]:
    import numpy as np

    return np.asarray([_mille(share) for share in shares])


@functools.cache
def _pick(weights: tuple[int, ...], values: tuple[int, ...] | None = None) -> np.ndarray[Any, Any]:
    """For every possible draw the value (default: the index) it picks."""
    import numpy as np

    ends = np.cumsum(np.asarray(weights, dtype=np.int64))
    draws = np.arange(1 << _TABLE_BITS, dtype=np.int64) * int(ends[-1]) >> _TABLE_BITS
    index = np.searchsorted(ends, draws, side="right")
    return index if values is None else np.asarray(values)[index]


@functools.cache
def _shares(rows: tuple[tuple[int, ...], ...]) -> np.ndarray[Any, Any]:
    import numpy as np

    return np.stack([_pick(row) for row in rows])


@functools.cache
def _age_table() -> np.ndarray[Any, Any]:
    import numpy as np

    ages = np.arange(_AGES[0][0], _AGES[-1][0] + 1)
    weights = _line(ages, tuple((age, 100 * weight) for age, weight in _AGES))
    return _pick(tuple(weights.tolist()), tuple(ages.tolist()))


@functools.cache
def _income_table() -> np.ndarray[Any, Any]:
    """For every profession and draw the income before rounding."""
    import numpy as np

    draws = np.arange(1 << _TABLE_BITS)
    ends = [(percentile << _TABLE_BITS) // 100 for percentile in _PERCENTILES]
    return np.stack([_line(draws, tuple(zip(ends, line[1:], strict=True))) for line in _INCOME])


def _line(x: np.ndarray[Any, Any], corners: Sequence[tuple[int, int]]) -> np.ndarray[Any, Any]:
    """Heights of a polygonal line at each `x`, in whole numbers."""
    import numpy as np

    at, height = (np.asarray(part, dtype=np.int64) for part in zip(*corners, strict=True))
    k = np.clip(np.searchsorted(at, x, side="right") - 1, 0, len(at) - 2)
    return height[k] + (height[k + 1] - height[k]) * (x - at[k]) // (at[k + 1] - at[k])
