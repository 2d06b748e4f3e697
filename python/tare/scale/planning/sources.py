"""The files that a user's words name: paths, folders, globs and ``s3://``, with what is left out."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote

from tare.datasets.source import printable
from tare.errors import PlanError, UsageError
from tare.scale.left import Undone, any_undone
from tare.scale.opening import special
from tare.scale.place import (
    LocalPlace,
    Place,
    as_uri,
    bucket_and_key,
    hashed,
    local_path,
    place_of,
    said_by,
    shown,
    split_uri,
)

__all__ = [
    "Found",
    "NoFiles",
    "Sources",
    "find_sources",
    "is_glob",
    "kept_name",
    "listed",
    "matches",
    "named_by",
]

Sources = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

_WILD = re.compile(r"[*?\[]")
_UNKEPT = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udfff]")


class NoFiles(PlanError, FileNotFoundError):
    """A source in which there is nothing to do: to a command as wrong as a pattern that leaves nothing over."""


@dataclass(frozen=True)
class Found:
    """A file to read.

    Args:
        uri: Where it is.
        name: What its result is named after, with ``/``.
        size: Its bytes.
        identity: ``mtime_ns``, ``etag``, or ``hash`` beside the time that the hashed file had.
        named: Whether the user named this very file, and so asks for it whatever it holds.
    """

    uri: str
    name: str
    size: int
    identity: dict[str, int | str]
    named: bool = False

    def as_input(self) -> dict[str, object]:
        """As a unit holds it."""
        time = "mtime_ns" if "hash" in self.identity else ""
        return {"uri": self.uri, "size": self.size} | {
            name: value for name, value in self.identity.items() if name != time
        }

    def as_part(self) -> dict[str, object]:
        """As a unit of a part of it holds it: beside a hash the time, lest each part ask for the hash of the whole."""
        return {"uri": self.uri, "size": self.size, **self.identity}


def listed(sources: Sources) -> list[str]:
    """What a caller named, one or several, as texts.

    >>> listed("a"), listed(["a", "b"])
    (['a'], ['a', 'b'])
    """
    several = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    return [os.fspath(one) for one in several]


def kept_name(name: str) -> str:
    r"""A file's name as plans hold it: bytes that are not UTF-8, control characters, backslashes as ``%E9``.

    >>> kept_name("a/caf\udce9.csv"), kept_name("a\\b\n.csv")
    ('a/caf%E9.csv', 'a%5Cb%0A.csv')
    """
    if not _UNKEPT.search(name):
        return name
    return _UNKEPT.sub(lambda one: "".join(f"%{byte:02X}" for byte in os.fsencode(one[0])), name)


def is_glob(text: str) -> bool:
    """Whether a text stands for the files that it matches; a file of that very name goes first."""
    return bool(_WILD.search(text)) and not os.path.lexists(text)


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name, or its last part, is matched by one of the patterns; ``**`` goes over folders.

    A pattern without wildcards that is a folder's name means all that is in it.

    >>> matches("a/b.csv", ["*.csv"]), matches("a/b.csv", ["a/**"]), matches("a/b.csv", ["b/*"])
    (True, True, False)
    >>> matches("x/a/b.csv", ["a"]), matches("x/a/b.csv", ["x/a/"]), matches("x/ab/b.csv", ["a"])
    (True, True, False)
    """
    last = name.rsplit("/", 1)[-1]
    folders = name.split("/")[:-1]
    for pattern in patterns:
        if not _WILD.search(pattern):
            path = pattern.rstrip("/").split("/")
            if path == folders[: len(path)] or (len(path) == 1 and path[0] in folders):
                return True
        wanted = _translated(pattern)
        if wanted.fullmatch(name) or ("/" not in pattern and wanted.fullmatch(last)):
            return True
    return False


def find_sources(
    sources: Sequence[str],
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    below: str = "",
    content: bool = False,
    skipped: list[tuple[str, str]] | None = None,
) -> list[Found]:
    """Every file that the sources name, once, by name.

    Args:
        sources: Files, folders, globs, or ``s3://`` prefixes and globs.
        include: Patterns of names under a folder; all by default.
        exclude: Patterns that leave out.
        below: The folder of the results: where a source's folder has it within, what is there is no source.
        content: Identify local files by their content instead of by time.
        skipped: Takes ``(name, why)`` of each that is no file, and, as `Undone`, of each file and folder (``name/``)
            that cannot be read.

    Raises:
        FileNotFoundError: A source is not there.
        NoFiles: A folder has none, or a glob matches nothing; not if `skipped` says what could not be read there.
        UsageError: Two sources have one name, or one is the folder of the results.
    """
    found: dict[str, Found] = {}
    names: dict[str, str] = {}
    for source in sources:
        count = 0
        if below and _real(as_uri(source)) == _real(below):
            raise UsageError(
                f"{printable(source)} is the source and the folder of the results; name another folder for these"
            )
        passed: list[tuple[str, str]] = []
        results = _results_in(source, below) if below else ""
        for one in _of(source, passed):
            if results and _is_result(one.uri, results, below):
                continue
            if (include and not matches(one.name, include)) or matches(one.name, exclude):
                continue
            count += 1
            if one.uri in found:
                continue
            if one.name in names:
                raise UsageError(
                    f"{shown(one.uri)} and {shown(names[one.name])} have one name; convert their folder instead"
                )
            try:
                found[one.uri] = _identified(one) if content else one
            except OSError as error:
                passed.append(Undone((one.name, said_by(error))))
                continue
            names[one.name] = one.uri
        passed = [one for one in passed if not _left_out(one[0], include, exclude)]
        if skipped is not None:
            skipped += passed
            count += any_undone(passed)
        if not count and not include and not exclude:
            but = f"; {printable(passed[0][0])}: {passed[0][1]}" if passed else ""
            raise NoFiles(f"{printable(source)}: no file is there{but}")
    return sorted(found.values(), key=lambda one: one.name)


def named_by(
    sources: Sequence[str], *, include: Sequence[str] = (), exclude: Sequence[str] = ()
) -> Callable[[str], bool]:
    """Of the URI of a file that need not be there, whether folders and globs among the sources name it.

    >>> would = named_by(["s3://b/raw", "/logs/*.csv"], exclude=["tmp"])
    >>> [would(uri) for uri in ("s3://b/raw/x/a", "s3://b/raw/tmp/a", "s3://b/raws", "file:///logs/a.csv")]
    [True, False, False, True]
    """
    roots: list[tuple[str, re.Pattern[str]]] = []
    for source in sources:
        head, rest = _split(source) if is_glob(source) else (source, "**")
        roots.append((_plain(as_uri(head or ".")).rstrip("/") + "/", _translated(rest)))

    def named(uri: str) -> bool:
        plain = _plain(uri)
        names = [(plain[len(root) :], wanted) for root, wanted in roots if plain.startswith(root)]
        return any(
            wanted.fullmatch(name) and (not include or matches(name, include)) and not matches(name, exclude)
            for name, wanted in names
        )

    return named


def _plain(uri: str) -> str:
    return local_path(uri) if uri.startswith("file:") else uri


def _real(uri: str) -> str:
    """A URI without the links on its way, so that one folder has one."""
    return as_uri(os.path.realpath(local_path(uri))) if uri.startswith("file:") else uri


def _results_in(source: str, below: str) -> str:
    """The folder of the results, spelt as files of a source's folder are; empty if it is not within.

    A file that is named is no result, wherever it lies.
    """
    head = as_uri((_split(source)[0] or ".") if is_glob(source) else source)
    outer, inner = _real(head).rstrip("/"), _real(below)
    if not inner.startswith(outer + "/"):
        return ""
    spelt = as_uri(local_path(head)) if head.startswith("file:") else head
    return spelt.rstrip("/") + inner[len(outer) :]


def _is_result(uri: str, results: str, below: str) -> bool:
    """Whether a file lies in the folder of the results, or is a link to one that does."""
    if uri.startswith(results + "/"):
        return True
    is_link = uri.startswith("file:") and os.path.islink(local_path(uri))
    return is_link and _real(uri).startswith(_real(below) + "/")


def _left_out(name: str, include: Sequence[str], exclude: Sequence[str]) -> bool:
    """Whether nobody asks for what was passed over: of a folder, ``name/``, whether for nothing in it."""
    if matches(name, exclude):
        return True
    if not include or matches(name, include):
        return False
    return not (name.endswith("/") and any("/" not in one or _reaches(one, name) for one in include))


def _reaches(pattern: str, folder: str) -> bool:
    """Whether a pattern can match what is in a folder, ``name/``.

    >>> [_reaches(one, "a/b/") for one in ("*", "a/*", "a/*/c", "a/**", "x/**", "**/*.csv")]
    [False, False, True, True, False, True]
    """
    wanted, parts = pattern.split("/"), folder.rstrip("/").split("/")
    for k, part in enumerate(parts):
        if k + 1 >= len(wanted) and "**" not in wanted[-1]:
            return False
        if "**" in wanted[k]:
            return True
        if not _translated(wanted[k]).fullmatch(part):
            return False
    return True


def _of(source: str, passed: list[tuple[str, str]]) -> Iterator[Found]:
    if is_glob(source):
        yield from _globbed(source, passed)
        return
    uri = as_uri(source)
    if uri.startswith("file:") and os.path.isdir(local_path(uri)):
        yield from _under(LocalPlace(local_path(uri)), passed)
        return
    place, name = (place_of(uri), "") if _is_bucket(uri) else split_uri(uri)
    entry = place.stat(name) if name else None
    if entry is not None and uri.startswith("file:") and (why := special(os.stat(local_path(uri)).st_mode)):
        passed.append(Undone((name, why)))
    elif entry is not None:
        yield Found(uri, name, entry.size, entry.identity, named=True)
    elif uri.startswith("s3:"):
        yield from _under(place_of(uri), passed)
    else:
        what = "is a link to nothing" if os.path.islink(source) else "does not exist"
        raise NoFiles(f"{printable(source, 400)} {what}")


def _is_bucket(uri: str) -> bool:
    return uri.startswith("s3:") and not bucket_and_key(uri)[1]


def _under(place: Place, passed: list[tuple[str, str]]) -> Iterator[Found]:
    """Every file of a place but those whose name, or folder, begins with a dot."""
    for entry in place.entries():
        if not _hidden(entry.name):
            yield Found(_joined(place, entry.name), entry.name, entry.size, entry.identity)
    passed += [one for one in place.passed if not _hidden(one[0])]


def _hidden(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/"))


def _joined(place: Place, name: str) -> str:
    return as_uri(place.path(name)) if isinstance(place, LocalPlace) else f"{place.uri}/{name}"


def _globbed(pattern: str, passed: list[tuple[str, str]]) -> Iterator[Found]:
    """Files by a pattern; names are what stands behind its fixed beginning."""
    head, rest = _split(pattern)
    place, wanted = place_of(as_uri(head or ".")), _translated(rest)
    for entry in place.entries():
        if wanted.fullmatch(entry.name) and not _hidden(entry.name):
            yield Found(_joined(place, entry.name), entry.name, entry.size, entry.identity)
    passed += [
        one
        for one in place.passed
        if (_reaches(rest, one[0]) if one[0].endswith("/") else wanted.fullmatch(one[0]))
        and not _hidden(one[0])
    ]


def _split(pattern: str) -> tuple[str, str]:
    """The folder before the first wild part, and the rest, which names are matched with."""
    scheme, mark, path = pattern.partition("://") if "://" in pattern else ("", "", pattern)
    parts = path.split("/")
    first = next(k for k, part in enumerate(parts) if _WILD.search(part))
    head = "/".join(parts[:first]) or ("/" if path.startswith("/") else "")
    rest = "/".join(parts[first:])
    return f"{scheme}{mark}{head}", unquote(rest, errors="surrogateescape") if scheme == "file" else rest


def _translated(pattern: str) -> re.Pattern[str]:
    """A glob as a pattern of names: ``*`` stays within a folder, ``**`` does not."""
    out, at = "", 0
    while at < len(pattern):
        char = pattern[at]
        if pattern.startswith("**/", at):
            out += "(?:.*/)?"
            at += 3
        elif pattern.startswith("**", at):
            out += ".*"
            at += 2
        elif char == "*":
            out += "[^/]*"
            at += 1
        elif char == "?":
            out += "[^/]"
            at += 1
        elif char == "[" and "]" in pattern[at + 2 :]:
            end = pattern.index("]", at + 2)
            out += _class(pattern[at + 1 : end])
            at = end + 1
        else:
            out += re.escape(char)
            at += 1
    try:
        return re.compile(out, re.DOTALL)
    except re.error as error:
        raise UsageError(f"{printable(pattern)} is no pattern of names: {error.msg}") from error


def _class(inner: str) -> str:
    """A class of characters, of which only the hyphen between two means more: in ``re`` pairs do too."""
    mark = "^" if inner[0] in "!^" else ""
    parts = re.finditer("(.)-(.)|(.)", inner[len(mark) :], re.DOTALL)
    return f"[{mark}{''.join('-'.join(re.escape(char) for char in part.groups() if char) for part in parts)}]"


def _identified(one: Found) -> Found:
    """The same with the content hash of a local file."""
    if not one.uri.startswith("file:"):
        return one
    return replace(one, identity={**one.identity, "hash": hashed(local_path(one.uri))[1]})
