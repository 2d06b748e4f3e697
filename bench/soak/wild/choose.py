"""Choose the files of `sources.tsv`: `python bench/soak/wild/choose.py FOLDER`.

FOLDER has bare git repositories: ``owner+name/repo``, or one of the places of `fetching.mirrored`. Of each repository
and kind as many files are taken as `_MOST` says, by the order of their blob ids: neither the largest nor the
best-known ones, but always the same.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from fetching import mirrored
from sources import Source, kind_of, write_sources

# Files of one kind and repository; of the others as many as ``None`` says.
_MOST: dict[str | None, int] = {
    None: 14, "arrow": 30, "avro": 16, "csv": 16, "expected": 90, "fst": 20, "json": 7, "orc": 50, "parquet": 26, "qs": 20,
    "rdata": 12, "rds": 24, "yaml": 6,
}  # fmt: skip
_MOST_BYTES = 1_500_000
# What belongs to the tools of a repository, not to its data; and files of 2 million rows.
_TOOLS = re.compile(
    r"(^|/)(\.|node_modules/|build/|package(-lock)?\.json$|_config|_pkgdown|mkdocs|conda|environment|docs?/)|"
    r"demo-1[12]-zlib\.orc$|(^|/)(\w*lint\w*|appveyor|codecov|dependabot|pre-commit|tsconfig[^/]*|composer|manifest)\.(ya?ml|json)$"
)


def main(folder: Path) -> None:
    """Write the list."""
    found: list[Source] = []
    seen: set[str] = set()
    for place in sorted(path for path in folder.iterdir() if "+" in path.name):
        repository = place.name.replace("+", "/", 1)
        git = mirrored(repository, folder)
        if git is not None:
            found += chosen(repository, git, seen)
    write_sources(found)
    print(Counter(source.kind for source in found), len(found), len({source.repository for source in found}))


def chosen(repository: str, git: Path, seen: set[str]) -> list[Source]:
    """Return the files of one repository that are taken; no bytes twice."""
    commit = _git(git, "rev-parse", "HEAD").decode().strip()
    candidates: dict[str, list[Source]] = {}
    for entry in _git(git, "ls-tree", "-r", "-z", commit).decode("utf-8", "replace").split("\0")[:-1]:
        about, _, path = entry.partition("\t")
        mode, _, blob = about.split(" ")
        kind = kind_of(path)
        plain = path.isprintable() and "\ufffd" not in path
        if kind and mode.startswith("100") and plain and not _TOOLS.search(path):
            candidates.setdefault(kind, []).append(Source(repository, commit, blob, 0, kind, path))
    taken: list[Source] = []
    for kind, sources in candidates.items():
        here = 0
        for source in sorted(sources, key=lambda one: (one.blob, one.path)):
            if here == _MOST.get(kind, _MOST[None]):
                break
            size = _size(git, source.blob) if source.blob not in seen else None
            if size is not None and size <= _MOST_BYTES and not _is_pointer(git, source.blob, size):
                seen.add(source.blob)
                taken.append(Source(repository, commit, source.blob, size, kind, source.path))
                here += 1
    return taken


def _size(git: Path, blob: str) -> int | None:
    """Return the size of a blob that the repository has."""
    command = ["git", f"--git-dir={git}", "cat-file", "-s", blob]
    done = subprocess.run(command, capture_output=True, check=False)
    return int(done.stdout) if done.returncode == 0 else None


def _is_pointer(git: Path, blob: str, size: int) -> bool:
    """Return whether a file only says where its data are."""
    return size < 200 and _git(git, "cat-file", "blob", blob).startswith(b"version https://git-lfs")


def _git(git: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", f"--git-dir={git}", *arguments], capture_output=True, check=True).stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]))
