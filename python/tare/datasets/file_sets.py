"""Several files that are one dataset: a folder, a pattern, or names; which of its files hold data, and what is passed over."""

from __future__ import annotations

import glob
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tare import compress, formats
from tare.codec import Codec
from tare.datasets import recognise
from tare.datasets.source import HEAD_BYTES, printable
from tare.errors import UsageError
from tare.formats.base import Format
from tare.quantities import amount

__all__ = ["FileSet", "find_file_set"]

_MOST = 100_000
# Below so many bytes on average, what each file has once is a large part of it.
_SMALL_BYTES = 64 << 10
# As many files are named in a message.
_NAMED = 2
# Formats of text in which a file of one line may look like the other one.
_JSON = ("json", "ndjson")


@dataclass(frozen=True)
class FileSet:
    """Files of one format, in the order of their names.

    Args:
        name: What to call them: the folder with a slash, the pattern, or the first name and how many more.
        paths: The files.
        sizes: The bytes of each.
        words: What a command is given to mean these files and no others: a folder, a pattern, or their names.
        notes: What was passed over.
    """

    name: str
    paths: tuple[str, ...]
    sizes: tuple[int, ...]
    words: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def bytes_disk(self) -> int:
        """Returns the bytes of all files together."""
        return sum(self.sizes)


def find_file_set(named: Sequence[str]) -> FileSet:
    """Returns the files that a folder, a pattern or several names stand for.

    Files and folders whose names begin with a dot or an underscore are passed over, as Spark and Hive do; so are
    empty files and, if there are others, files whose ending names no format.

    Args:
        named: A folder, a pattern, or names of files, folders and patterns.

    Raises:
        FileNotFoundError: A name or a pattern without files.
        IsADirectoryError: A folder without files of data.
        UsageError: Files of several formats, or too many.
    """
    found = list(dict.fromkeys(path for one in named for path in _files(one)))
    what = _what(named, len(found))
    if len(found) > _MOST:
        raise UsageError(f"{what}: more than {_MOST:,} files: name a pattern that fewer of them match")
    sizes = {path: os.stat(path).st_size for path in found}
    filled = [path for path in found if sizes[path]]
    kinds = _kinds_of(filled)
    data = [path for path in filled if path in kinds]
    if not data:
        raise IsADirectoryError(f"{what}: {_without_data(found, sizes)}")
    of = Counter(kinds[path] for path in data)
    if len(of) > 1:
        raise UsageError(_mixed(what, named, data, kinds, sizes))
    words = _words(named, found, data)
    return FileSet(
        _what(named, len(data)),
        tuple(data),
        tuple(sizes[path] for path in data),
        words,
        (*_passed_over(found, filled, data), *_notes(data, sum(sizes[path] for path in data))),
    )


def _files(named: str) -> Iterator[str]:
    """The files that one name stands for, in order."""
    if os.path.isdir(named):
        yield from _below(named)
    elif os.path.lexists(named):
        yield named
    elif glob.has_magic(named):
        matched = sorted(glob.glob(named, recursive=True), key=_natural)
        several = [path for path in matched if os.path.isfile(path)]
        # A pattern of folders, as year=*/, means what is in them.
        several += [path for folder in matched if os.path.isdir(folder) for path in _below(folder)]
        if not several:
            raise FileNotFoundError(f"{_shown(named)}: no file matches this pattern. Check the path.")
        yield from several
    else:
        raise FileNotFoundError(f"{_shown(named)}: no such file. Check the path.")


def _below(folder: str) -> Iterator[str]:
    """The files in a folder and below it, in order, but for those of names that begin with a dot or an underscore."""
    found = []
    for at, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name[0] not in "._"]
        found += [os.path.join(at, name) for name in names if name[0] not in "._"]
        if len(found) > _MOST:  # refused: nothing more is looked for
            break
    yield from sorted(found, key=_natural)


def _natural(path: str) -> list[list[str | int]]:
    """What paths are sorted by: folder by folder, and numbers by their value, so that 2 comes before 10.

    >>> sorted(["b/log-10", "b/log-2", "a"], key=_natural)
    ['a', 'b/log-2', 'b/log-10']
    """
    return [
        [int(part) if place % 2 else part for place, part in enumerate(re.split(r"([0-9]+)", name))]
        for name in path.split(os.sep)
    ]


def _kinds_of(paths: Sequence[str]) -> dict[str, str]:
    """The format of each file by its ending; where no ending names one, by the first bytes."""
    named = {path: codec.format_id for path in paths if (codec := Codec.for_path(path)) is not None}
    if not named:
        named = {path: id for path in paths if (id := _told(path)) is not None}
    return dict.fromkeys(named, "ndjson") if set(named.values()) == set(_JSON) else named


def _told(path: str) -> str | None:
    """The format that a file's first bytes tell."""
    with open(path, "rb") as file:
        head = file.read(HEAD_BYTES)
    if (name := compress.sniff(head)) is not None:
        with open(path, "rb") as file, compress.open_reader(file, name, read_ahead=False) as plain:
            head = plain.read(4096)
    return recognise.tell(head, None)[0]


def _mixed(
    what: str, named: Sequence[str], data: Sequence[str], kinds: dict[str, str], sizes: dict[str, int]
) -> str:
    """What files of several formats there are, and the command for those of the most bytes."""
    total: Counter[str] = Counter()
    for path in data:
        total[kinds[path]] += sizes[path]
    counts = Counter(kinds[path] for path in data)
    said = ", ".join(
        f"{counts[id]:,} of {formats.get(id).title} ({amount(size)})" for id, size in total.most_common()
    )
    most = [path for path in data if kinds[path] == total.most_common(1)[0][0]]
    words = shlex.join(_pattern(named, most, data) or [max(most, key=lambda path: sizes[path])])
    return f"{what}: files of several formats: {said}. Measure those of one: tare measure {words}"


def _words(named: Sequence[str], found: Sequence[str], data: Sequence[str]) -> tuple[str, ...]:
    """What a command is given to mean these files alone."""
    if len(named) == 1 and set(found) == set(data):
        return tuple(named)
    return _pattern(named, data, ()) or tuple(data)


def _pattern(named: Sequence[str], wanted: Sequence[str], among: Sequence[str]) -> tuple[str, ...]:
    """A pattern that matches the wanted files and no others; empty if there is none so simple."""
    folder = os.path.commonpath([os.path.dirname(path) or "." for path in wanted]) if wanted else "."
    folder = "" if folder == "." and not wanted[0].startswith("./") else folder
    for ending in sorted({_ending(path) for path in wanted}, key=len):
        for middle in ("*", os.path.join("**", "*")):
            pattern = os.path.join(glob.escape(folder), middle + glob.escape(ending))
            try:
                matched = {os.path.normpath(path) for path in _files(pattern)}
            except FileNotFoundError:
                continue
            if matched == {os.path.normpath(path) for path in wanted}:
                return (pattern,)
    return ()


def _ending(path: str) -> str:
    """The ending of the format, and of what compresses it."""
    base = os.path.basename(path)
    codec = Codec.for_path(path)
    known: tuple[str, ...] = () if codec is None else _endings(codec.format)
    lower = base.lower()
    place = max((lower.rfind(end) for end in known), default=-1)
    return base[place:] if place > 0 else os.path.splitext(base)[1]


def _endings(format: Format) -> tuple[str, ...]:
    return tuple(format.extensions)


def _passed_over(found: Sequence[str], filled: Sequence[str], data: Sequence[str]) -> Iterator[str]:
    empty = [path for path in found if path not in set(filled)]
    other = [path for path in filled if path not in set(data)]
    for several, why in ((empty, "empty"), (other, "of no format that is known by the ending")):
        if several:
            names = ", ".join(printable(os.path.basename(path), 40) for path in several[:_NAMED])
            more = ", ..." if len(several) > _NAMED else ""
            yield f"{len(several):,} file{'s' * (len(several) > 1)} passed over: {why} ({names}{more})"


def _notes(data: Sequence[str], total: int) -> Iterator[str]:
    """What else to know of files that are measured as one: columns in the names of their folders, and small files."""
    keys = [part.partition("=")[0] for part in os.path.dirname(data[0]).split(os.sep) if "=" in part]
    if keys:
        yield f"columns that names of folders hold are not measured: {', '.join(printable(key, 30) for key in keys)}"
    if len(data) > 1 and total < _SMALL_BYTES * len(data):
        yield "small files are measured as one: converted one by one, they take more than the sizes that are shown"


def _without_data(found: Sequence[str], sizes: dict[str, int]) -> str:
    """Says that none of the files holds data, and what to do."""
    if not found:
        return "the folder has no files. Name a file."
    of = f"none of its {len(found):,} files is" if len(found) > 1 else "its one file is not"
    name = shlex.quote(_shown(max(found, key=lambda path: sizes[path])))
    return f"{of} of a format that is known. Say what one is: tare measure {name} --format FORMAT"


def _what(named: Sequence[str], count: int) -> str:
    """What to call several files.

    >>> _what(["data/logs/"], 3), _what(["logs/*.csv"], 2), _what(["a/x.csv", "a/y.csv", "a/z.csv"], 3)
    ('logs/', 'logs/*.csv', 'x.csv and 2 more files')
    """
    if len(named) > 1:
        more = len(named) - 1
        name = printable(os.path.basename(named[0].rstrip("/")))
        files = f" file{'s' * (more != 1)}" if count == len(named) else ""
        return f"{name} and {more:,} more{files}"
    if os.path.isdir(named[0]) or named[0].endswith("/"):
        return f"{printable(os.path.basename(os.path.abspath(named[0])))}/"
    return _shown(named[0])


def _shown(text: str) -> str:
    return printable(text, 400)
