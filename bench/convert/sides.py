"""One side of a race: a process that converts a file as often as it is told, by Tare or by a library.

``python sides.py SIDE SOURCE TARGET once`` converts and ends, as a user's script would. With ``serve`` in the place
of ``once`` it converts whenever a line comes, and answers with the seconds.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# What a library reads and writes of files, by ending.
READS = {
    "polars": ("csv", "tsv", "ndjson", "json", "parquet", "feather", "avro"),
    "duckdb": ("csv", "tsv", "ndjson", "json", "parquet"),
    "pyarrow": ("csv", "tsv", "ndjson", "parquet", "feather", "orc"),
}
WRITES = {
    "polars": ("csv", "tsv", "ndjson", "json", "parquet", "feather", "avro"),
    "duckdb": ("csv", "tsv", "ndjson", "json", "parquet"),
    "pyarrow": ("csv", "tsv", "parquet", "feather", "orc"),
}


def converter(side: str) -> Callable[[str, str], object]:
    """Returns the function that converts a file by a library, which is imported by then."""
    return {"tare": _tare, "polars": _polars, "duckdb": _duckdb, "pyarrow": _pyarrow}[side]()


def _tare() -> Callable[[str, str], object]:
    from tare import convert

    return lambda source, target: convert(source, target, sync=False)


def _ending(path: str) -> str:
    return path.rpartition(".")[2]


def _polars() -> Callable[[str, str], object]:
    import polars as pl

    def read(path: str) -> Any:
        ending = _ending(path)
        if ending in ("csv", "tsv"):
            return pl.read_csv(path, separator="\t" if ending == "tsv" else ",", infer_schema_length=None)
        readers = {
            "ndjson": lambda path: pl.read_ndjson(path, infer_schema_length=None),
            "json": lambda path: pl.read_json(path, infer_schema_length=None),
            "parquet": pl.read_parquet,
            "feather": pl.read_ipc,
            "avro": pl.read_avro,
        }
        return readers[ending](path)

    def run(source: str, target: str) -> None:
        frame, ending = read(source), _ending(target)
        if ending in ("csv", "tsv"):
            frame.write_csv(target, separator="\t" if ending == "tsv" else ",")
        elif ending == "parquet":
            frame.write_parquet(target, compression="snappy")
        else:
            name = {"ndjson": "ndjson", "json": "json", "feather": "ipc", "avro": "avro"}[ending]
            getattr(frame, f"write_{name}")(target)

    return run


def _duckdb() -> Callable[[str, str], object]:
    import duckdb

    reads = {
        "csv": "read_csv('{}', sample_size=-1)",
        "tsv": "read_csv('{}', delim='\t', sample_size=-1)",
        "ndjson": "read_ndjson('{}', sample_size=-1)",
        "json": "read_json('{}', sample_size=-1, format='array')",
        "parquet": "read_parquet('{}')",
    }
    writes = {
        "csv": "FORMAT csv, HEADER",
        "tsv": "FORMAT csv, HEADER, DELIMITER '\t'",
        "ndjson": "FORMAT json",
        "json": "FORMAT json, ARRAY true",
        "parquet": "FORMAT parquet",
    }

    def run(source: str, target: str) -> None:
        rows = reads[_ending(source)].format(source)
        duckdb.execute(f"COPY (FROM {rows}) TO '{target}' ({writes[_ending(target)]})")

    return run


def _pyarrow() -> Callable[[str, str], object]:
    from pyarrow import csv, feather, json, orc, parquet

    def read(path: str) -> Any:
        ending = _ending(path)
        if ending in ("csv", "tsv"):
            return csv.read_csv(
                path,
                parse_options=csv.ParseOptions(delimiter="\t" if ending == "tsv" else ","),
                convert_options=csv.ConvertOptions(strings_can_be_null=True, null_values=[""]),
            )
        readers = {
            "ndjson": json.read_json,
            "parquet": parquet.read_table,
            "feather": lambda path: feather.read_table(path, memory_map=False),
            "orc": orc.read_table,
        }
        return readers[ending](path)

    def run(source: str, target: str) -> None:
        table, ending = read(source), _ending(target)
        if ending in ("csv", "tsv"):
            csv.write_csv(table, target, csv.WriteOptions(delimiter="\t" if ending == "tsv" else ","))
        elif ending == "feather":
            feather.write_feather(table, target, compression="uncompressed")
        else:
            {"parquet": parquet, "orc": orc}[ending].write_table(table, target)

    return run


def peak_bytes() -> int:
    """Returns the most memory that this process had since it started, or since it was last reset."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    return 0


def main() -> None:
    """Converts once, or whenever it is told."""
    side, source, target, how = sys.argv[1:5]
    run = converter(side)
    if how == "once":
        run(source, target)
        print(peak_bytes(), flush=True)
        return
    print("ready", flush=True)
    for _ in sys.stdin:
        if os.path.exists(target):
            os.remove(target)
        start = time.perf_counter()
        run(source, target)
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
