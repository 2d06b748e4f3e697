"""A file read a second time, by another library: a mistake of a reader does not show where it reads itself again.

`read_again` compares the number of rows, and the values of all rows of a small file, of blocks of them in a large one.
"""

from __future__ import annotations

from collections.abc import Callable

from tare.converting.second_reading.outcome import Difference, Request, SecondReading
from tare.datasets.source import printable

__all__ = ["Difference", "Request", "SecondReading", "read_again"]


def read_again(request: Request) -> SecondReading:
    """Reads a file by another library than the first, and compares what both read.

    It never fails for what the other library does not read: that is said instead.
    """
    read = _reader(request.source.format)
    if read is None:
        return SecondReading(why=f"Tare has no other for {request.source.format}")
    if request.source.cut:
        return SecondReading(why="only a part of the file is read")
    try:
        return read(request)
    except Exception as error:  # of any library; a check fails no conversion
        return SecondReading(why=f"reading it again failed: {printable(str(error) or type(error).__name__)}")


def _reader(format: str) -> Callable[[Request], SecondReading] | None:
    """Returns what reads a format a second time; None where there is one library for it, or none may read it twice."""
    from tare.converting.second_reading import columnar, delimited, trees

    known: dict[str, Callable[[Request], SecondReading]] = {
        "arrow": columnar.read_arrow,
        "avro": columnar.read_avro,
        "csv": delimited.read_csv,
        "json": trees.read_json,
        "msgpack": trees.read_msgpack,
        "ndjson": trees.read_ndjson,
        "parquet": columnar.read_parquet,
        "yaml": trees.read_yaml,
    }
    return known.get(format)
