"""Fuzz target: files of every format but R's, as `tare.read`, `tare.inspect` and `tare.convert` take them.

The first line of an input is the file's ending, which says its format; what follows is the file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tare
from tare.errors import TareError

__all__ = ["ENDINGS", "fuzz"]

# HDF5 and ORC are read by libraries that can crash: SECURITY.md. Pickle and marshal are never read without trust.
ENDINGS = (
    "arrow", "avro", "blit", "bson", "cbor", "csv", "json", "msgpack", "ndjson", "npy", "parquet", "tsv", "yaml",
)  # fmt: skip
RESULTS = ("a.parquet", "a.ndjson", "a.csv")


def fuzz(data: bytes) -> None:
    """Values, or errors of Tare's own; nothing is written where a conversion is refused."""
    head, _, rest = data.partition(b"\n")
    ending = head.decode("ascii", "replace")
    if ending not in ENDINGS:
        ending = ENDINGS[len(data) % len(ENDINGS)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"x.{ending}")
        path.write_bytes(rest)
        is_read = attempted(lambda: tare.read(path))
        attempted(lambda: tare.inspect(path).as_dict())
        for name in RESULTS if is_read else ():
            result = Path(folder, name)
            is_written = attempted(lambda result=result: tare.convert(path, result, verify=True, sync=False))
            assert result.exists() == is_written


def attempted(work: Callable[[], Any]) -> bool:
    """Whether work was done; false where Tare refuses it."""
    try:
        work()
    except TareError as error:
        assert str(error).strip(), "an error without a word"
        return False
    except Exception:
        raise
    except BaseException as error:  # a panic of the core, which passes `except Exception`
        if type(error).__name__ == "PanicException":
            raise AssertionError(f"the core panics: {error}") from error
        raise
    return True
