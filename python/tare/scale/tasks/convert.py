"""`convert`: a file, a part of a large one, or some small ones, each into a file of another format."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from tare import io
from tare.codec import Codec
from tare.converting import batches as stream
from tare.converting import objects
from tare.converting.counting import told_of
from tare.converting.encoding import usual_codec
from tare.converting.naming import compressor_of
from tare.errors import EncodeError, Malformed, TareError
from tare.r.losses import Loss, settle
from tare.scale.failures import LossRefused, NameTaken, Several
from tare.scale.place import shown
from tare.scale.ranges import line_blocks, open_plain
from tare.scale.running import Made, Writing
from tare.scale.tasks import lines
from tare.scale.tasks.inputs import as_documents, named, opened, opened_part
from tare.scale.tasks.partition import partitions
from tare.scale.tasks.reading import columns_of, lost_with_schema, rows_of
from tare.scale.tasks.written import Terms, write_rows

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["run"]


def run(unit: dict[str, Any], writing: Writing) -> Made:
    """Convert every input of the unit; one that fails costs the outputs of no other.

    Raises:
        TareError, OSError: What failed; `Several` of a unit of several inputs.
    """
    made = Made(libraries=dict(_libraries(str(unit["write"]))), extra={"compared": 0})
    failed: list[Exception] = []
    for given, name in zip(unit["input"], unit["output"]["names"], strict=True):
        mark, before = writing.mark(), made.rows
        try:
            if why := unit["options"].get("unreadable"):
                raise Malformed(str(why))
            if given.get("range") or unit["options"].get("partition"):
                _part(unit, given, name, writing, made)
            else:
                _whole(unit, given, name, writing, made)
        except (TareError, OSError) as error:
            writing.back_to(
                mark
            )  # what was written before it failed, or before its source changed, is no result
            failed.append(named(error, str(given["uri"])))
        writing.rows[name] = made.rows - before
    uris = dict(zip(unit["output"]["names"], (str(one["uri"]) for one in unit["input"]), strict=True))
    failed += [named(error, uris[name]) for name, error in writing.give_up_others().items()]
    if failed:
        if len(unit["input"]) > len(failed):
            try:
                writing.commit()  # what is well is done; the rest is what a second run is for
            except (NameTaken, Several) as error:
                failed += error.errors if isinstance(error, Several) else [error]
        raise failed[0] if len(unit["input"]) == 1 else Several(failed)
    return made


def _whole(unit: dict[str, Any], given: Mapping[str, Any], name: str, writing: Writing, made: Made) -> None:
    with opened(given) as path, writing.output(name) as target:
        maybe = lines.may_be_lines(given, str(unit.get("read", "")))
        if maybe and _in_blocks(unit, path, target, name=name, writing=writing, made=made):
            return
        _convert(unit, path, target, name=name, writing=writing, made=made)


def _in_blocks(
    unit: dict[str, Any], path: str, target: str, *, name: str, writing: Writing, made: Made
) -> bool:
    """Whether it was lines of JSON that could be written as a table block by block, with the same result."""
    write = str(unit["write"])
    if not lines.goes_in_blocks(write, unit["options"], writing.verify):
        return False
    done = lines.converted(path, target, read=str(unit.get("read", "")), write=write)
    if done is None:
        return False
    made.rows += done.rows
    made.fidelity += told_of(name, done.counted)
    _note(made, done.notes)
    return True


def _convert(
    unit: dict[str, Any], path: str, target: str, *, name: str, writing: Writing, made: Made
) -> None:
    """One file as `tare.convert` does it."""
    options = unit["options"]
    try:
        done = io.convert(
            path,
            target,
            codec=_told_codec(str(unit["write"])),
            format=str(unit.get("read", "")) or None,
            columns=options["columns"].split(",") if options.get("columns") else None,
            encoding=options.get("encoding"),
            verify=True if writing.verify == "decode" else None,
            allow_loss=writing.allow_loss,
            data_only=bool(options.get("data_only")),
            variable=options.get("variable"),
            strict=bool(options.get("strict")),
            allow_pickle=writing.allow_pickle,
            sync=False,  # its writing waits, if it shall
        )
    except EncodeError as error:
        if "would change" in str(error):
            raise LossRefused(str(error), format=error.format, path=error.path) from error
        raise
    made.rows += done.rows
    made.fidelity += _told(name, done.changes, done.losses)
    if done.verified and not done.same_bytes:
        made.extra["compared"] += 1
    _note(made, done.notes)


def _note(made: Made, said: list[str]) -> None:
    notes = made.extra.setdefault("notes", [])
    notes += [note for note in said if note not in notes]


def _told_codec(write: str) -> str | None:
    """A codec as `io.convert` takes it: a format alone is written as files of that ending are."""
    return write if {",", "+", ":"}.intersection(write) else None


def _part(unit: dict[str, Any], given: Mapping[str, Any], name: str, writing: Writing, made: Made) -> None:
    """A range of rows, or rows that go to folders by the values of a column."""
    codec, options = Codec.parse(str(unit["write"])), unit["options"]
    codec = usual_codec(codec, _told_codec(str(unit["write"])), "table")
    if options.get("data_only") and given.get("range"):  # of a whole file its reader says it
        objects.refuse_without_r("fst" if given["range"]["kind"] == "rows" else None, codec)
    if _are_lines(given, options) and as_documents(codec, options):
        _documents(unit, given, name, codec=codec, writing=writing, made=made)
        return
    strict, data_only = bool(options.get("strict")), bool(options.get("data_only"))
    source = os.path.basename(shown(str(given["uri"])))
    with opened_part(given) if given.get("range") else opened(given) as path:
        found = rows_of(
            path, given, options, codec, read=str(unit.get("read", "")), trust=writing.allow_pickle
        )
        settle(found.losses, [], strict=strict, what=source)
        before, is_part = made.rows, bool(given.get("range") or options.get("partition"))
        terms = Terms(writing.verify, writing.allow_loss, strict, data_only, part=is_part)
        # Values tell the names of partitions: no plan could look whose they are.
        writing.guarded = bool(options.get("partition")) and not writing.overwrite
        for piece, rows in _pieces(found.schema, found.batches, name, options.get("partition")):
            with writing.output(piece) as target:
                done = write_rows(rows, target, codec, piece, terms)
            made.rows += done.rows
            made.fidelity += _told(piece, done.changes, [loss.as_dict() for loss in done.losses])
            _note(made, done.notes)
    if options.get("partition") and not given.get("range") and made.rows == before:
        _note(made, ["a source without rows has no folders: nothing is written of it"])
    gone = lost_with_schema(found, codec)
    settle(gone, [], strict=strict, what=source)
    made.fidelity += _told(name, [], [loss.as_dict() for loss in (*found.losses, *gone)])
    made.fidelity += told_of(name, found.counted, written=columns_of(options))
    _note(made, found.notes)


def _pieces(
    schema: pa.Schema, rows: Iterable[pa.RecordBatch], name: str, column: str | None
) -> Iterator[tuple[str, tuple[pa.Schema, Iterable[pa.RecordBatch]]]]:
    """Outputs and their rows: one, or for each value of a column ``COLUMN=VALUE/NAME`` without that column."""
    import pyarrow as pa

    if not column:
        yield name, (schema, rows)
        return
    for folder, some in partitions(pa.Table.from_batches(list(rows), schema), column):
        yield f"{folder}/{name}", (some.schema, some.to_batches())


def _are_lines(given: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
    """Whether the part is lines of JSON."""
    return (given.get("range") or {}).get("kind") == "bytes" and "delimiter" not in options


def _documents(
    unit: dict[str, Any], given: Mapping[str, Any], name: str, *, codec: Codec, writing: Writing, made: Made
) -> None:
    """Lines of JSON as the documents that they are; lines that stay lines keep their very bytes, unless values are checked."""
    if codec.format_id == "ndjson" and writing.verify != "decode":
        with writing.output(name) as target:
            made.rows += _copied(given, target, compressor_of(codec))
        _note(
            made,
            [
                "lines of JSON were copied as they are; whether they are valid was not checked (--verify reads them)"
            ],
        )
        return
    with writing.output(name) as target:
        held = f"{target}.lines.ndjson"
        try:
            _copied(given, held, None)
            _convert({**unit, "read": "ndjson"}, held, target, name=name, writing=writing, made=made)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(held)


def _copied(given: Mapping[str, Any], target: str, packed: str | None) -> int:
    """The very bytes of the lines, compressed or not; how many lines have anything."""
    count = 0
    start, end = int(given["range"]["start"]), int(given["range"]["end"])
    with opened_part(given) as path, open_plain(path) as plain:  # noqa: SIM117
        with open(target, "xb") as file, stream.compressing(cast(BinaryIO, file), packed) as out:
            for _, block in line_blocks(plain, start, end):
                out.write(block)
                count += sum(1 for line in block.split(b"\n") if line and not line.isspace())
    return count


def _told(name: str, found: list[dict[str, Any]], losses: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Changes as a receipt holds them: counts and first examples, texts alone."""
    told = [
        {"name": name, "path": str(one["path"]), "verdict": str(one["verdict"]),
         "from": str(one["from"])[:80], "to": str(one["to"])[:80]}
        for one in found[:20]
    ]  # fmt: skip
    return told + [
        {"name": name, "path": one["path"], "verdict": "kept" if Loss(**one).is_information else "lost",
         "what": one["kind"]}
        for one in losses[:20]
    ]  # fmt: skip


@functools.cache
def _libraries(write: str) -> dict[str, str]:
    """Versions of what a codec is written with: asked once, as each answer is the reading of a file."""
    return {name: str(version) for name, version in Codec.parse(write).versions().items() if version}
