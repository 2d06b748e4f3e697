"""`plan_convert` and `plan_encode`: files, or parts of large ones, each into a file of another format."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tare._version import __version__
from tare.codec import Codec, codec_part
from tare.converting.naming import ending_of, stem_of
from tare.datasets.source import printable
from tare.errors import TareError, UsageError
from tare.scale.left import Undone, check_some
from tare.scale.place import folder_uri
from tare.scale.plain import is_packed
from tare.scale.plan import Plan, make_plan
from tare.scale.planning.grouping import Limits, in_groups
from tare.scale.planning.schemas import fitting, layout_of_csv, schema_of_lines
from tare.scale.planning.sources import Found, Sources, find_sources, kept_name, listed, named_by
from tare.scale.planning.splitting import parts_of
from tare.scale.planning.taken import Taken, part_name
from tare.scale.planning.telling import format_of, unknown_of
from tare.scale.ranges import schema_to_text
from tare.scale.state import State
from tare.scale.tasks.inputs import as_documents, opened, opened_part
from tare.scale.tasks.lines import are_lines, need_of_lines
from tare.scale.tasks.partition import NAMING
from tare.scale.temporary import prefix
from tare.scale.unit import safe_name

__all__ = ["kept_plan", "named", "parse_bytes", "plan_convert", "plan_encode"]

_UNITS = {
    "": 1,
    "B": 1,
    "KIB": 1 << 10,
    "MIB": 1 << 20,
    "GIB": 1 << 30,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
}
_SMALL_BYTES = 1 << 20
_GROUPS = Limits(usual=32, most=256)
_GROUPED_FROM = 1000  # so many files that a receipt and a flush for each would be what costs most
_MEMORY_FACTOR = 6
_PACKED_RATIO = (
    200  # a compressed file is opened if so much text for each of its bytes would be more than a part
)


def parse_bytes(text: str | int | None) -> int | None:
    """Bytes as people write them; None for ``off``.

    Raises:
        UsageError: Not a size.

    >>> parse_bytes("64MiB"), parse_bytes("1.5 GB"), parse_bytes("off")
    (67108864, 1500000000, None)
    """
    if text is None or (isinstance(text, str) and text.strip().lower() == "off"):
        return None
    if isinstance(text, int):
        text = str(text)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", text)
    size = int(float(found[1]) * _UNITS.get(found[2].upper(), 0)) if found is not None else 0
    if not size:
        raise UsageError(f"{text!r:.40}: a size such as 64MiB, or off, is needed")
    return size


def plan_convert(  # noqa: PLR0913 - each is an option of the command
    sources: Sources,
    destination: str | os.PathLike[str],
    *,
    to: str,
    read: str = "",
    path: str | os.PathLike[str] | None = None,
    split: str | int | None = None,
    split_lines: bool = False,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    partition: str | None = None,
    options: Mapping[str, str | int] | None = None,
    identify: str = "stat",
    whole_schema: bool = False,
    overwrite: bool = False,
    skipped: list[tuple[str, str]] | None = None,
) -> Plan:
    """Plan the conversion of files into a folder.

    Args:
        sources: Files, folders, globs, ``s3://`` prefixes.
        destination: The folder of the results, or ``s3://bucket/prefix``.
        to: Codec id of the results.
        read: Id of the sources' format, when neither bytes nor name tell.
        path: Where the plan is written; by default beside the results.
        split: Bytes of a part of a large file, as ``64MiB``; None leaves files whole.
        split_lines: The user says that no line break of a CSV stands within a value.
        include: Patterns of names under a folder.
        exclude: Patterns that leave out.
        partition: A column whose values become folders ``COLUMN=VALUE``.
        options: More options of each unit: ``columns``, ``encoding``, ``data_only``, ``variable``, ...
        identify: ``stat`` by size and time, ``content`` by hash.
        whole_schema: Look at every line of a text that is split, not at a sample.
        overwrite: Whether results may take the place of files that are not from here, also when `run` is given the
            plan that is returned; its file, which may go anywhere, does not say so.
        skipped: Takes ``(name, why)`` of each file that is no source, or, as `Undone`, that cannot be read, or
            whose result is there.

    Raises:
        PlanError: There is nothing to do, or two results have one name.
        AllUndone: There is nothing to do, as what there is cannot be read, or other files have its results' names.
        FileNotFoundError: A source is not there.
        UsageError: No such codec, or its format has no ending.
    """
    base = folder_uri(destination)
    given = listed(sources)
    to = codec_part(to)
    ending = ending_of(to)
    left: list[tuple[str, str]] = [] if skipped is None else skipped
    before = len(left)
    found = find_sources(
        given, include=include, exclude=exclude, below=base, content=_by_content(identify), skipped=left
    )
    size = parse_bytes(split)
    targets = _targets(found, to, left, read)
    # Of partitions values alone tell the names.
    maybe = [name for one, name in targets if size and not partition and _may_be_cut(one, size)]
    taken = Taken(State(base), targets, ending, cut=maybe, overwrite=overwrite)
    passed = len(left)
    targets = taken.without(targets, left)
    shared = {**(options or {}), "tare": __version__}
    if partition:
        shared |= {"partition": partition, "folders": NAMING}  # named otherwise, it is another unit
    common = {"tare_unit": 1, "task": "convert", "read": read, "write": to}

    def part_unit(part: Mapping[str, Any], name: str, more: Mapping[str, str | int]) -> dict[str, Any]:
        return _unit(common, [part], [name], base, {**shared, **more})

    def units() -> Iterator[dict[str, Any]]:
        small: list[tuple[Found, str]] = []
        for one, name in targets:
            cut = []
            if size:
                try:
                    cut = _cut(
                        one, name, size, read=read, to=to, options=shared, split_lines=split_lines,
                        whole_schema=whole_schema,
                    )  # fmt: skip
                    cut = fitting(cut, part_unit)
                except (TareError, OSError, ValueError) as error:  # Arrow's errors are ValueErrors
                    # A unit that says so: read whole it could take all memory.
                    cut = [(one.as_input(), name, {"unreadable": printable(str(error), 500)})]
            if name in taken.cut and (why := taken.why(name, [made for _, made, _ in cut if made != name])):
                left.append(Undone((one.name, why)))
            elif cut:
                for part in cut:
                    yield part_unit(*part)
            elif len(targets) > _GROUPED_FROM and one.size < _SMALL_BYTES:
                small.append((one, name))
            else:
                yield _unit(common, [one.as_input()], [name], base, shared)
        groups = in_groups(
            small, _GROUPS, source=lambda pair: pair[0], said=lambda pair: [pair[0].as_input(), pair[1]]
        )
        for group in groups:
            yield _unit(
                common, [one.as_input() for one, _ in group], [name for _, name in group], base, shared
            )

    about = f"convert {' '.join(given)} {os.fspath(destination)} --to {to}"
    plan = kept_plan(_some(units(), left, passed), path, "convert", base, about, overwrite=overwrite)
    plan.passed_over = left[before:]
    plan.names = named_by(given, include=include, exclude=exclude)
    return plan


def plan_encode(  # noqa: PLR0913 - each is an option of the command
    sources: Sources,
    destination: str | os.PathLike[str],
    *,
    compressor: str = "",
    path: str | os.PathLike[str] | None = None,
    split: str | int | None = "64MiB",
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    identify: str = "stat",
    overwrite: bool = False,
    skipped: list[tuple[str, str]] | None = None,
) -> Plan:
    """Plan the encoding of documents as collections of blit; NDJSON is cut into parts.

    Args:
        sources: Files, folders, globs, ``s3://`` prefixes.
        destination: The folder of the collections.
        compressor: Of their chunks: ``zstd``, ``zstd:9``, ``lz4``.
        path: Where the plan is written; by default beside the results.
        split: Bytes of a part of a large file; None leaves files whole.
        include: Patterns of names under a folder.
        exclude: Patterns that leave out.
        identify: ``stat`` by size and time, ``content`` by hash.
        overwrite: Whether results may take the place of files that are not from here, also when `run` is given the
            plan that is returned; its file, which may go anywhere, does not say so.
        skipped: Takes ``(name, why)`` of each file that is left out.

    Raises:
        PlanError, AllUndone, FileNotFoundError, UsageError: As `plan_convert`.
    """
    base = folder_uri(destination)
    given = listed(sources)
    left: list[tuple[str, str]] = [] if skipped is None else skipped
    before = len(left)
    found = find_sources(
        given, include=include, exclude=exclude, below=base, content=_by_content(identify), skipped=left
    )
    size = parse_bytes(split)
    ending = ending_of("blit,container=collection")
    targets = _targets(found, "blit,container=collection", left, "")
    maybe = [name for one, name in targets if size and (one.size > size or is_packed(one.uri))]
    taken = Taken(State(base), targets, ending, cut=maybe, overwrite=overwrite)
    passed = len(left)
    targets = taken.without(targets, left)
    shared: dict[str, str | int] = {"tare": __version__, "compressor": compressor}

    def units() -> Iterator[dict[str, Any]]:
        for one, name in targets:
            try:
                with opened_part(one.as_part()) as held:
                    format = format_of(held, one)
                    cut = parts_of(one, held, format, size) if size and format == "ndjson" else []
                more = {}
            except (TareError, OSError, ValueError) as error:
                format, cut, more = "", [], {"unreadable": printable(str(error), 500)}  # a unit that says so
            common = {"tare_unit": 1, "task": "encode", "read": format, "write": "blit:tare"}
            names = [part_name(name, number, len(cut), ending) for number in range(1, len(cut) + 1)]
            if name in taken.cut and (why := taken.why(name, names)):
                left.append(Undone((one.name, why)))
                continue
            if not cut:
                yield _unit(common, [one.as_input()], [name], base, {**shared, **more})
            for part, made in zip(cut, names, strict=True):
                yield _unit(common, [{**one.as_part(), "range": part}], [made], base, shared)

    about = f"encode {' '.join(given)} {os.fspath(destination)}"
    plan = kept_plan(_some(units(), left, passed), path, "encode", base, about, overwrite=overwrite)
    plan.passed_over = left[before:]
    plan.names = named_by(given, include=include, exclude=exclude)
    return plan


def _some(
    units: Iterator[dict[str, Any]], left: list[tuple[str, str]], passed: int
) -> Iterator[dict[str, Any]]:
    """The units, of which there must be one; behind them what was passed over on the way is in order.

    Raises:
        PlanError, AllUndone: There is none.
    """
    count = 0
    for unit in units:
        count += 1
        yield unit
    left[passed:] = sorted(left[passed:])
    check_some([None] * min(count, 1), left)


def _by_content(identify: str) -> bool:
    if identify not in ("stat", "content"):
        raise UsageError(f"--identify is stat or content, not {identify!r:.40}")
    return identify == "content"


def _targets(
    found: Sequence[Found], to: str, left: list[tuple[str, str]], read: str
) -> list[tuple[Found, str]]:
    """Each source whose format is known or given, with the name of its result."""
    asked: Iterable[tuple[str, str] | None] = [None] * len(found) if read else unknown_of(found)
    known = []
    for one, told in zip(found, asked, strict=True):
        if told is None:
            known.append(one)
        else:
            left.append(told)
    return named(known, ending_of(to), left)


def named(found: Sequence[Found], ending: str, left: list[tuple[str, str]]) -> list[tuple[Found, str]]:
    """Each source with the name of its result; where two would become one, their old endings stay.

    Args:
        found: The sources.
        ending: What stands in the place of theirs.
        left: Takes those that no name is left for, with the reason.
    """
    sharing: dict[str, list[Found]] = {}
    for one in found:
        sharing.setdefault(kept_name(stem_of(one.name)) + ending, []).append(one)
    targets = []
    taken: set[str] = set()
    for wanted, some in sharing.items():
        for one in some:
            name = wanted if len(some) == 1 else kept_name(one.name) + ending
            if name in taken or not safe_name(name):
                why = (
                    "its result would have the name of another's"
                    if name in taken
                    else "no result can have its name"
                )
                left.append(Undone((one.name, why)))
                continue
            taken.add(name)
            targets.append((one, name))
    return sorted(targets, key=lambda target: target[0].name)


def _cut(
    one: Found,
    name: str,
    size: int,
    *,
    read: str,
    to: str,
    options: Mapping[str, str | int],
    split_lines: bool,
    whole_schema: bool,
) -> list[tuple[dict[str, Any], str, dict[str, str | int]]]:
    """The parts of a large file: input, name and options of each; none if it is one unit."""
    if not _may_be_cut(one, size):
        return []
    with opened_part(one.as_part()) as path:
        format = read or format_of(path, one)
        parts = parts_of(one, path, format, size, split_lines=split_lines)
        more: dict[str, str | int] | None = {}
        stays = as_documents(Codec.parse(to), options)
        if parts and format == "ndjson" and not stays:
            more = {"schema": schema_to_text(schema_of_lines(path, one.name, whole=whole_schema))}
    if parts and format == "csv":
        more = _layout(one, options)
    if more is None:
        return []
    return [
        ({**one.as_part(), "range": part}, part_name(name, number, len(parts), ending_of(to)), more)
        for number, part in enumerate(parts, 1)
    ]


def _may_be_cut(one: Found, size: int) -> bool:
    """Whether a file is worth opening, to see whether it can be cut."""
    return one.size > size or (is_packed(one.uri) and one.size * _PACKED_RATIO > size)


def _layout(one: Found, options: Mapping[str, str | int]) -> dict[str, str | int] | None:
    """How the parts of a CSV are read; None if it is read whole."""
    if str(options.get("encoding", "utf-8")).lower().replace("_", "-") not in ("utf-8", "utf8"):
        return None
    with opened(one.as_input()) as path:
        return layout_of_csv(path)


def _unit(
    common: Mapping[str, Any],
    given: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    base: str,
    options: Mapping[str, str | int],
) -> dict[str, Any]:
    unit = {
        **common,
        "input": [dict(one) for one in given],
        "output": {"base": base, "names": list(names)},
        "options": dict(options),
    }
    if common["task"] == "convert" and all(are_lines(one, str(common["read"])) for one in given):
        memory = need_of_lines(given, str(common["write"]), options)
    else:
        memory = _MEMORY_FACTOR * sum(_bytes_of(one) for one in given)
    return {**unit, "needs": {"memory": memory, "threads": 1}}


def _bytes_of(given: Mapping[str, Any]) -> int:
    part = given.get("range")
    if not part:
        return int(given["size"])
    return int(part.get("bytes", part["end"] - part["start"] if part["kind"] == "bytes" else given["size"]))


def kept_plan(
    units: Iterator[dict[str, Any]],
    path: str | os.PathLike[str] | None,
    task: str,
    base: str,
    about: str,
    *,
    overwrite: bool = False,
) -> Plan:
    """The plan's file: where the user said, or beside the results under its own id."""
    about = re.sub(r"\?\S*", "", about).encode(errors="replace").decode()
    with tempfile.TemporaryDirectory(prefix=prefix("plan")) as folder:
        where = os.path.join(folder, "plan.jsonl") if path is None else path
        plan = make_plan(units, where, task=task, base=base, about=about)
        plan = plan if path is not None else State(base).kept(plan)
    plan.overwrite = overwrite
    return plan
