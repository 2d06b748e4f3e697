"""Generated data, where no real file covers a size or shape: the same bytes on every machine."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau".split()  # noqa: SIM905
DAY_MS = 86_400_000


# --- generated tables ------------------------------------------------------------------------


def flights(rows: int, *, ordered: bool) -> Callable[[Path], object]:
    """Writes a narrow table of flights: sorted by date, or shuffled."""

    def make(to: Path) -> None:
        import numpy as np
        import pyarrow as pa

        some = np.random.default_rng(7)
        days = np.sort(some.integers(0, 3650, rows)) if ordered else some.integers(0, 3650, rows)
        distance = some.choice(some.integers(80, 4900, 1200), rows)
        delay = np.rint(some.gamma(1.2, 14, rows) - 12).astype(np.int64)
        names = np.array([a + b for a in "ABDEHJLMNOPRSTUVW" for b in ("FO", "LX", "QA", "WR", "DT")])
        table = {
            "date": pa.array(days * DAY_MS, pa.timestamp("ms")).cast(pa.date32()),
            "delay": pa.array(delay, mask=some.random(rows) < 0.02),
            "distance": pa.array(distance),
            "origin": pa.array(some.choice(names, rows, p=_zipf(len(names)))),
            "destination": pa.array(some.choice(names, rows, p=_zipf(len(names)))),
        }
        _write_csv(pa.table(table), to)

    return make


def orders(rows: int) -> Callable[[Path], object]:
    """Writes an unsorted table of orders: text, numbers, dates, truth values, nulls."""

    def make(to: Path) -> None:
        import numpy as np
        import pyarrow as pa

        some = np.random.default_rng(11)
        moments = some.integers(0, 700 * DAY_MS // 1000, rows) * 1000 + 1_600_000_000_000
        first, last = np.array(WORDS), np.array([f"{word}son" for word in WORDS])
        table = {
            "id": pa.array(some.permutation(rows) + 100_000),
            "customer": pa.array(
                [f"{a} {b}" for a, b in zip(some.choice(first, rows), some.choice(last, rows))]
            ),
            "sku": pa.array([f"S{n:06}" for n in some.integers(0, 40_000, rows)]),
            "created": pa.array(moments, pa.timestamp("ms")),
            "due": pa.array(moments // DAY_MS * DAY_MS, pa.timestamp("ms")).cast(pa.date32()),
            "price": pa.array(np.round(some.gamma(2, 30, rows), 2)),
            "quantity": pa.array(some.integers(1, 12, rows)),
            "discount": pa.array(np.round(some.random(rows) * 0.3, 3), mask=some.random(rows) < 0.7),
            "paid": pa.array(some.random(rows) < 0.8),
            "country": pa.array(some.choice(["DE", "FR", "US", "GB", "JP", "BR"], rows)),
            "note": pa.array(
                [
                    None if odd else " ".join(words)
                    for odd, words in zip(some.random(rows) < 0.7, _texts(some, rows, 8))
                ]
            ),
        }
        _write_csv(pa.table(table), to)

    return make


def wide(rows: int, columns: int) -> Callable[[Path], object]:
    """Writes a table of many sensors: random walks, with nulls in some."""

    def make(to: Path) -> None:
        import numpy as np
        import pyarrow as pa

        some = np.random.default_rng(13)
        table = {"second": pa.array(np.arange(rows))}
        for number in range(columns - 1):
            walk = np.round(some.normal(0, 0.3, rows).cumsum() + 20, 2)
            mask = some.random(rows) < (0.05 if number % 4 == 0 else 0.0)
            table[f"sensor_{number:03}"] = pa.array(walk, mask=mask)
        _write_csv(pa.table(table), to)

    return make


def doubles(rows: int) -> Callable[[Path], object]:
    """Writes two columns of random doubles, which nothing compresses."""

    def make(to: Path) -> None:
        import numpy as np
        import pyarrow as pa

        some = np.random.default_rng(17)
        _write_csv(pa.table({"x": pa.array(some.random(rows)), "y": pa.array(some.normal(0, 1, rows))}), to)

    return make


def reviews(rows: int) -> Callable[[Path], object]:
    """Writes a table of long texts, as Parquet."""

    def make(to: Path) -> None:
        import numpy as np
        import pyarrow as pa
        from pyarrow import parquet

        some = np.random.default_rng(19)
        table: dict[str, Any] = {
            "stars": pa.array(some.integers(1, 6, rows).astype(np.int8)),
            "text": pa.array([" ".join(words) for words in _texts(some, rows, 60)]),
        }
        parquet.write_table(pa.table(table), to)

    return make


def _zipf(count: int) -> Any:
    import numpy as np

    weights = 1 / np.arange(1, count + 1)
    return weights / weights.sum()


def _texts(some: Any, rows: int, words: int) -> Iterator[list[str]]:
    """Yields a text a row, of words that are mostly rare."""
    import numpy as np

    vocabulary = np.array([a + b for a in WORDS for b in ("", "s", "ing", "ed", "ly", "er", *WORDS)])
    for picked in some.choice(vocabulary, (rows, words), p=_zipf(len(vocabulary))):
        yield list(picked)


def _write_csv(table: Any, to: Path) -> None:
    from pyarrow import csv

    csv.write_csv(table, to)


# --- generated documents -----------------------------------------------------------------------


def document_of(size: int) -> list[dict[str, Any]]:
    """Returns orders with customers, lines, prices and notes: a document of about so many bytes of JSON."""
    some = random.Random(1)
    orders: list[dict[str, Any]] = []
    written = 2
    while written < size:
        items = [
            {
                "sku": f"S{some.randrange(10**6):06}",
                "price": some.randrange(10**5) / 100,
                "n": some.randrange(9),
            }
            for _ in range(some.randrange(1, 6))
        ]
        order = {
            "id": len(orders),
            "customer": {"name": " ".join(some.choices(WORDS, k=2)), "age": some.randrange(18, 90)},
            "lines": items,
            "paid": some.random() < 0.8,
            "note": None if some.random() < 0.7 else " ".join(some.choices(WORDS, k=8)),
        }
        orders.append(order)
        written += len(json.dumps(order)) + 2
    return orders


def events(count: int) -> Callable[[Path], object]:
    """Writes events of a web server, one a line."""

    def make(to: Path) -> None:
        some = random.Random(3)
        with to.open("w", encoding="utf-8") as file:
            for number in range(count):
                event = {
                    "time": f"2026-03-{1 + number * 28 // count:02}T{some.randrange(24):02}:{some.randrange(60):02}:00Z",
                    "path": "/" + "/".join(some.choices(WORDS, k=some.randrange(1, 4))),
                    "status": some.choice([200] * 8 + [304, 404, 500]),
                    "ms": round(some.expovariate(0.02), 3),
                    "user": None if some.random() < 0.4 else f"u{some.randrange(10**5):05}",
                    "bytes": some.randrange(10**6),
                }
                file.write(json.dumps(event) + "\n")

    return make
