"""The list of the files: `sources.tsv`, one file a line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["LIST", "R_KINDS", "Source", "kind_of", "read_sources", "write_sources"]

LIST = Path(__file__).with_name("sources.tsv")
R_KINDS = frozenset({"fst", "qs", "qs2", "rdata", "rds"})
_TITLES = ("repository", "commit", "blob", "size", "kind", "path")
_KINDS = {
    "arrow": "arrow", "arrow_file": "arrow", "feather": "arrow", "ipc": "arrow", "stream": "arrow",
    "avro": "avro", "bson": "bson", "cbor": "cbor", "csv": "csv", "fst": "fst", "json": "json",
    "geojson": "json", "jsn": "expected", "jsonl": "ndjson", "mp": "msgpack", "msgpack": "msgpack", "ndjson": "ndjson",
    "orc": "orc", "parquet": "parquet", "qs": "qs", "qs2": "qs2", "rda": "rdata", "rdata": "rdata",
    "rds": "rds", "tab": "csv", "tsv": "csv", "yaml": "yaml", "yml": "yaml",
}  # fmt: skip


@dataclass(frozen=True)
class Source:
    """One file of a public repository.

    Attributes:
        repository: ``owner/name`` on GitHub.
        commit: The commit that has the file.
        blob: Git's id of its bytes, a SHA-1.
        size: Its bytes.
        kind: Its format, e.g. ``csv`` or ``rdata``.
        path: Where it is in the repository.
    """

    repository: str
    commit: str
    blob: str
    size: int
    kind: str
    path: str

    @property
    def address(self) -> str:
        """Return what `git fetch` reads."""
        return f"https://github.com/{self.repository}"

    @property
    def name(self) -> str:
        """Return what messages and the known findings call it."""
        return f"{self.repository}/{self.path}"


def kind_of(path: str) -> str | None:
    """Return the format that a file's name says, compressed or not; None if no kind is tried.

    >>> kind_of("data/x.csv.gz"), kind_of("data/x.RData"), kind_of("x.py")
    ('csv', 'rdata', None)
    """
    name = path.rpartition("/")[2].lower()
    for ending in (".gz", ".bz2", ".xz", ".zst"):
        name = name.removesuffix(ending)
    return _KINDS.get(name.rpartition(".")[2]) if "." in name else None


def read_sources(path: Path = LIST) -> list[Source]:
    """Return the files of the list.

    Raises:
        ValueError: A line has other columns than the first one says.
    """
    found = []
    lines = path.read_text(encoding="utf-8").splitlines()
    if tuple(lines[0].split("\t")) != _TITLES:
        raise ValueError(f"invalid {path.name}: expected the columns {', '.join(_TITLES)}, got {lines[0]!r}")
    for number, line in enumerate(lines[1:], 2):
        fields = line.split("\t")
        if len(fields) != len(_TITLES):
            raise ValueError(f"invalid {path.name}, line {number}: expected {len(_TITLES)} columns")
        repository, commit, blob, size, kind, name = fields
        found.append(Source(repository, commit, blob, int(size), kind, name))
    return found


def write_sources(sources: list[Source], path: Path = LIST) -> None:
    """Write a list, in the order of its repositories and paths."""
    rows = sorted((s.repository, s.commit, s.blob, str(s.size), s.kind, s.path) for s in sources)
    path.write_text("\n".join("\t".join(row) for row in [_TITLES, *rows]) + "\n", encoding="utf-8")
