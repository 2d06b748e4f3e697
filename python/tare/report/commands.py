"""The commands and calls that do what an answer recommends, and read back what they made."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from itertools import pairwise
from pathlib import PurePath
from typing import Any

from tare.codec.codec import Codec
from tare.errors import MissingLibrary, Unsupported, UsageError
from tare.measure.verdict import gains
from tare.measure.verdict import text as verdict_text
from tare.measure.verdict.file_names import file_name
from tare.report import text
from tare.report.digest import Digest, items, mapping, number
from tare.report.measured import kept_by, ranked

__all__ = [
    "added_time",
    "as_table",
    "back_call",
    "call",
    "command",
    "encoding_of",
    "for_others",
    "is_default_use",
    "is_sent",
    "other_kind",
    "steps",
    "whole_file",
]

# So many records in a file of so many bytes are asked about as a table.
_RECORDS, _LARGE = 100, 64 << 10
# Of calls below so many seconds what Tare adds to each is told.
_SHORT_S = 10e-6
# The name of data that came through a pipe.
STANDARD_INPUT = "standard input"
# Uses whose bytes nobody but their writer reads, or that the other end reads by the same codec.
_NOT_HANDED_ON = ("cache", "message")
_KINDS = {
    "arrow": "a table of pyarrow",
    "columns": "a dict of lists",
    "pandas": "a data frame of pandas",
    "polars": "a data frame of polars",
    "records": "a list of dicts",
}


def for_others(found: Digest, path: str = "") -> tuple[str, str]:
    """Returns what to do instead where other tools shall read the file, and what that costs; empty where they do.

    Args:
        found: The record.
        path: The user's own file; the name of the data by default.
    """
    verdict = found.verdict
    codec = str(verdict.get("for_others") or "")
    if not codec or codec not in mapping(verdict.get("cost_s")) or found.profile in _NOT_HANDED_ON:
        return "", ""
    from_file = bool(mapping(verdict.get("source")).get("format"))
    done = command(found, path, codec=codec) if from_file else call(found, codec=codec)
    return (done, f"for other tools: {verdict_text.costing(verdict, codec)}") if done else ("", "")


def steps(found: Digest, path: str = "", *, anyway: bool = False) -> list[tuple[str, str]]:
    """Returns what does what was recommended, and reads it back: labels, and the command or calls of Python behind each.

    Args:
        found: The record.
        path: The user's own file; the name of the data by default.
        anyway: Whether a file is converted that had better be kept.
    """
    codec = str(found.verdict.get("codec") or "") if anyway else ""
    shell, python = "" if is_sent(found) else command(found, path, codec=codec), call(found)
    out = [("Do it", shell)] if shell else []
    if shell.startswith("tare "):
        out.append(("Read it", _read_call(found, path)))
    if python and (not shell or found.verdict.get("profile") == "message"):
        out.append(("Python", python))
        if not shell:
            out.append(("Read it", back_call(found)))
    return out


def is_default_use(found: Digest) -> bool:
    """Whether the command was given no use, so that whoever typed it may not know that there are others."""
    named = mapping(found.record.get("settings")).get("profile")
    chosen = named is not None or found.profile != found.derived.get("headline_profile")
    return bool(found.record.get("command")) and not chosen


def is_sent(found: Digest) -> bool:
    """Whether the data is messages that a program sends, so that no command makes a file of them.

    Many messages in one file would be one value; of one document the program calls the codec.
    """
    if found.verdict.get("messages"):
        return True
    return found.profile == "message" and found.dataset.get("kind") == "document" and is_default_use(found)


def whole_file(found: Digest, path: str = "") -> str:
    """The command that measures messages as the file that they came in; empty for all else.

    Args:
        found: The record.
        path: The user's own file; the name of the data by default.
    """
    name = path or text.visible(found.dataset.get("name") or "", 200)
    if (
        found.dataset.get("has_path") is False
        or not is_sent(found)
        or not mapping(found.verdict.get("source")).get("format")
        or not name
    ):
        return ""
    return f"tare measure {path or shlex.quote(name)} --for keep"


def as_table(found: Digest, path: str = "") -> str:
    """The command that makes a table of records that lie as documents; empty for all else.

    Args:
        found: The record.
        path: The user's own file; the name of the data by default.
    """
    data = found.dataset
    large = (number(data.get("items")) or 0) >= _RECORDS and (number(data.get("bytes_disk")) or 0) >= _LARGE
    if not (large and data.get("tabular")) or data.get("source_format") not in ("json", "ndjson"):
        return ""
    if found.profile == "message" or data.get("has_path") is False:
        return ""
    name = path or text.visible(data.get("name") or "", 200)
    if found.files:
        words = [*_words(found, path), _folder(found, "parquet:pyarrow"), "--to", "parquet"]
        return " ".join(map(shlex.quote, ["tare", "convert", *words]))
    return (
        f"tare convert {path or shlex.quote(name)} {shlex.quote(file_name('parquet', PurePath(name).name))}"
    )


def command(found: Digest, path: str = "", *, codec: str = "") -> str:
    """The line of the shell that does what was recommended; empty for a value that is in no file.

    Args:
        found: The record.
        path: The user's own file, or what names several, quoted as a shell takes it; the name of the data by default.
        codec: Another codec to write with than the recommended one.
    """
    verdict, other = found.verdict, codec
    codec, have = codec or str(verdict.get("codec") or ""), mapping(verdict.get("source"))
    format = str(have.get("format") or "")
    if not codec or not format:
        return ""
    if found.dataset.get("has_path") is False and found.dataset.get("name") != STANDARD_INPUT:
        return ""  # bytes that a program has, in no file
    message = verdict.get("profile") == "message"
    same = have.get("codec") == codec or (bool(other) and _is_as_it_is(codec, have))
    if same and len(ranked(found)) < 2:
        return ""  # nothing else was measured
    # Where no choice can be felt, what is there already is the least to do.
    settled = bool(verdict.get("keeps_file")) or str(verdict.get("beside") or "").startswith("the ")
    if same or (settled and not message and not other):
        return "" if message else f"keep the file{'s as they are' if found.files else ' as it is'}"
    name = path or text.visible(found.dataset.get("name") or "data", 200)
    if found.files:
        words = ["tare", "convert", *_words(found, path), _folder(found, codec)]
    else:
        words = ["tare", "convert", name, file_name(codec, PurePath(name).name)]
    words += ["--codec", codec]
    piped = name in (STANDARD_INPUT, "-")
    if piped:
        words[2:4] = ["-", file_name(codec, "data")]
        words += ["--from", format]
    if encoding := encoding_of(found):
        words += ["--encoding", encoding]
    if kept_by(found, codec).startswith("changes"):
        words.append("--allow-loss")
    if format == "pickle":
        words.append("--allow-pickle")
    return " ".join(map(shlex.quote, words)) + (" < FILE" if piped else "")


def _is_as_it_is(codec: str, have: Mapping[str, Any]) -> bool:
    """Whether the file that the user has is what a codec writes, but for spaces, as text by whatever library."""
    return (
        not have.get("compressed")
        and have.get("format") in ("csv", "json", "ndjson")
        and gains.is_own_format(codec, have)
    )


def _words(found: Digest, path: str) -> list[str]:
    """What names several files in a command."""
    return shlex.split(path) if path else [text.visible(found.dataset.get("name") or "data", 200)]


def _folder(found: Digest, codec: str) -> str:
    """A name for the folder of what several files become."""
    parts = PurePath(text.visible(found.dataset.get("name") or "data", 200).split(" and ")[0]).parts
    plain = [part for part in parts if not re.search(r"[*?\[]", part)]
    ending = file_name(codec, "x").partition(".")[2]
    return f"{plain[-1].partition('.')[0] if plain else 'data'}-{ending.replace('.', '-')}/"


def _read_each(found: Digest, codec: str) -> str:
    """The lines of Python that read each file of a folder that `command` makes.

    They run as they are pasted, also with blanks before all but the first: those stand within brackets.
    """
    ending = file_name(codec, "x")[1:]
    folder = json.dumps(_folder(found, codec).rstrip("/"), ensure_ascii=False)
    return (
        f"from pathlib import Path; tables = [\n  tare.read(path, {_how(found)})\n"
        f'  for path in sorted(Path({folder}).rglob("*{ending}"))]'
    )


def encoding_of(found: Digest) -> str:
    """The encoding that the command was told to read the file in; empty if it was told none."""
    try:
        words = shlex.split(str(found.record.get("command") or ""))
    except ValueError:
        return ""
    given = [after for word, after in pairwise(words) if word == "--encoding"]
    given += [word.partition("=")[2] for word in words if word.startswith("--encoding=")]
    return text.visible(given[-1], 40) if given else ""


def _read_call(found: Digest, path: str) -> str:
    """The call of Python that reads the file that `command` writes, as it was measured; of several files lines."""
    codec = str(found.verdict.get("codec") or "")
    name = path or text.visible(found.dataset.get("name") or "data", 200)
    if found.files:
        return _read_each(found, codec)
    stem = "data" if name in (STANDARD_INPUT, "-") else PurePath(name).name
    file = json.dumps(file_name(codec, stem), ensure_ascii=False)
    return f"tare.read({file}, {_how(found)})"


def _how(found: Digest) -> str:
    """The arguments of a call that reads a file as it was measured."""
    codec = str(found.verdict.get("codec") or "")
    trust = ", trust=True" if found.verdict.get("executes_code") or _is_checked(codec) else ""
    part = _part(found)
    columns = f", columns=[{json.dumps(part, ensure_ascii=False)}]" if part else ""
    return f"codec={json.dumps(codec)}{trust}{columns}"


def _part(found: Digest) -> str:
    """The column that is read alone where the use reads columns: the one that was measured, else the first; empty elsewhere."""
    verdict = found.verdict
    if not mapping(verdict.get("weights")).get("n") or found.dataset.get("kind") != "table":
        return ""
    names = [str(mapping(one).get("name") or "") for one in items(found.dataset.get("columns"))]
    return str(verdict.get("part") or "") or next(filter(None, names), "")


def call(found: Digest, *, codec: str = "") -> str:
    """The call of Python that does what was recommended with a value; empty where nothing was.

    Args:
        found: The record.
        codec: Another codec to write with than the recommended one.
    """
    codec = codec or str(found.verdict.get("codec") or "")
    if not codec:
        return ""
    if found.verdict.get("profile") == "message":
        return f"tare.encode(value, {json.dumps(codec)})"
    return f"tare.write(value, {json.dumps(_value_file(codec))}, codec={json.dumps(codec)})"


def back_call(found: Digest) -> str:
    """The call of Python that reads what `call` made."""
    codec = str(found.verdict.get("codec") or "")
    if found.verdict.get("profile") == "message":
        return f"tare.decode(data, {_how(found).removeprefix('codec=')})"
    return f"tare.read({json.dumps(_value_file(codec))}, {_how(found)})"


def other_kind(found: Digest) -> str:
    """What reading gives where a table came in as another kind, and how that comes back; empty where it is the same."""
    codec, given = str(found.verdict.get("codec") or ""), str(found.dataset.get("source_kind") or "")
    try:
        made = Codec.parse(codec).native("table") if found.dataset.get("kind") == "table" else given
    except (UsageError, MissingLibrary, Unsupported):
        return ""
    if made == given or given not in _KINDS or made not in _KINDS:
        return ""
    if found.verdict.get("profile") == "message":
        return f"gives {_KINDS[made]}; result.best.decode(data) gives {_KINDS[given]}"
    what, whole = ("gives that column as ", "all of it as ") if _part(found) else ("gives ", "")
    file = json.dumps(_value_file(codec))
    return f"{what}{_KINDS[made]}; result.best.read({file}) gives {whole}{_KINDS[given]}"


def added_time(found: Digest) -> str:
    """What a call of Tare adds to the library's own, which was timed, where that is so short that it counts; else empty."""
    chosen = mapping(found.verdict.get("chosen"))
    took = [number(chosen.get(name)) for name in ("write_s", "read_s")]
    if (
        found.verdict.get("profile") != "message"
        or None in took
        or min(filter(None, took), default=1.0) > _SHORT_S
    ):
        return ""
    return "a call of Tare adds less than a microsecond to the library's own, which was timed"


def _value_file(codec: str) -> str:
    """A name for the file of a value, which has none of its own."""
    return file_name(codec, "data")


def _is_checked(codec: str) -> bool:
    """Whether bytes that are not trusted are read once more before, which was not measured."""
    try:
        return Codec.parse(codec).library.check is not None
    except (UsageError, MissingLibrary):
        return False
