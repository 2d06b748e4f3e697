"""Get the files of the list: from their public repositories, or from a folder of mirrors.

Only blobs are fetched, in one request a repository. They lie under their ids in the cache and are checked by them.

- ``TARE_WILD_CACHE`` is the folder of the cache, by default ``build/soak/wild`` of the repository;
- ``TARE_WILD_MIRROR`` is a folder of git repositories that are read instead of the public ones.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from sources import Source

__all__ = ["cache_folder", "fetch_all", "file_of", "mirrored"]

ROOT = Path(__file__).resolve().parents[3]
_FETCH = (
    "-c", "fetch.negotiationAlgorithm=noop", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
    "--recurse-submodules=no", "--filter=blob:none", "--depth=1", "--stdin", "origin",
)  # fmt: skip
_LIMIT_S = 600


def cache_folder() -> Path:
    """Return the folder in which the files lie."""
    named = os.environ.get("TARE_WILD_CACHE")
    return Path(named) if named else ROOT / "build" / "soak" / "wild"


def file_of(source: Source, folder: Path) -> Path:
    """Return where a file lies in the cache: under its own name, which says its format."""
    return folder / "files" / source.blob[:2] / source.blob / source.path.rpartition("/")[2]


def mirrored(repository: str, folder: Path) -> Path | None:
    """Return the git directory of a mirror; None if there is none.

    Args:
        repository: ``owner/name``.
        folder: What has the mirrors: ``owner+name/repo``, ``owner+name.git`` or ``owner/name.git``, bare or not.
    """
    joined = repository.replace("/", "+")
    for place in (folder / joined / "repo", folder / f"{joined}.git", folder / f"{repository}.git"):
        for git in (place / ".git", place):
            if (git / "HEAD").is_file():
                return git
    return None


def fetch_all(sources: Iterable[Source], folder: Path) -> dict[str, str]:
    """Get what the cache lacks.

    Returns:
        Why, by name, for each file that cannot be had.
    """
    missing: dict[str, list[Source]] = {}
    for source in sources:
        if not file_of(source, folder).is_file():
            missing.setdefault(source.repository, []).append(source)
    problems: dict[str, str] = {}
    for number, (repository, wanted) in enumerate(missing.items(), 1):
        print(f"fetch {number}/{len(missing)}: {repository}", file=sys.stderr, flush=True)
        try:
            git = _repository(repository, wanted, folder)
        except (OSError, subprocess.SubprocessError) as error:
            why = getattr(error, "stderr", b"") or str(error).encode()
            last = why.decode("utf-8", "replace").strip().splitlines()[-1:]
            problems.update((source.name, " ".join(last)) for source in wanted)
            continue
        for source in wanted:
            if why := _save(source, git, folder):
                problems[source.name] = why
    return problems


def _repository(repository: str, wanted: list[Source], folder: Path) -> Path:
    """Return a git directory that has the blobs."""
    mirrors = os.environ.get("TARE_WILD_MIRROR")
    if mirrors and (git := mirrored(repository, Path(mirrors))):
        return git
    git = folder / "repositories" / f"{repository.replace('/', '+')}.git"
    if not (git / "HEAD").is_file():
        _run("git", "init", "--quiet", "--bare", str(git))
        _run("git", f"--git-dir={git}", "config", "remote.origin.url", wanted[0].address)
        _run("git", f"--git-dir={git}", "config", "remote.origin.promisor", "true")
    blobs = "".join(f"{source.blob}\n" for source in wanted).encode()
    _run("git", f"--git-dir={git}", *_FETCH, given=blobs)
    return git


def _save(source: Source, git: Path, folder: Path) -> str:
    """Write a blob into the cache; return why that is not possible."""
    command = ["git", f"--git-dir={git}", "cat-file", "blob", source.blob]
    data = subprocess.run(command, capture_output=True, check=False, timeout=_LIMIT_S, env=_alone()).stdout
    if hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest() != source.blob:
        return "the repository does not have it"
    path = file_of(source, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_bytes(data)
    unfinished.replace(path)
    return ""


def _run(*command: str, given: bytes = b"") -> None:
    subprocess.run(command, input=given, capture_output=True, check=True, timeout=_LIMIT_S, env=_alone())


def _alone() -> dict[str, str]:
    """Return an environment in which git never prompts, and fetches no missing objects on demand."""
    return {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}
