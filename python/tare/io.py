"""Read, write, convert and inspect files: the format is told by the bytes, then by the name.

>>> import os, tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     path = os.path.join(folder, "x.json.zst")
...     size = write({"a": [1, 2.5]}, path)
...     read(path)
...     convert(path, os.path.join(folder, "x.msgpack")).changes
{'a': [1, 2.5]}
[]
"""

from __future__ import annotations

import contextlib
import copy
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from tare import atomic, formats, kinds
from tare.codec import Codec, Counted, codec_part
from tare.converting import batches, changes, dictionaries, json_elements, line_tables, objects
from tare.converting.conversion import Conversion
from tare.converting.counting import changes_of
from tare.converting.encoding import Encoded, advising, encode, refuse_first, usual_codec
from tare.converting.naming import codec_for, compressor_of, of_files
from tare.converting.non_finite import NonFinite
from tare.converting.reading_back import read_back
from tare.converting.refused import refuse_rows_of_nothing
from tare.converting.second_reading import Request, SecondReading, read_again
from tare.converting.second_reading.source import SourceReading
from tare.converting.second_reading.verdict import judge
from tare.converting.targets import already_there, refuse_target
from tare.converting.unverified import unverified_changes
from tare.converting.watching import watching
from tare.dataset import Dataset, of_source, open_dataset
from tare.datasets.by_codec import read_by_codec
from tare.datasets.csv_comments import loss_of
from tare.datasets.csv_headers import repeated_notes
from tare.datasets.opening import Loaded
from tare.datasets.recognise import option_named
from tare.datasets.source import Source, find, printable
from tare.errors import DecodeError, EncodeError, TareError, Unsupported
from tare.r.losses import Losses, settle
from tare.unchanged import Watch

if TYPE_CHECKING:
    import pyarrow as pa

    from tare.inspecting.findings import Inspection

__all__ = ["Conversion", "convert", "inspect", "read", "write"]

# Sources beyond this are converted batch by batch where both formats allow it.
STREAM_BYTES = 256 << 20
# Below this, what was written is read back and compared before it gets its name.
VERIFY_BYTES = 64 << 20
_BY_BATCHES = "converted batch by batch and not verified; --verify reads it back"


def read(
    path: Any,
    *,
    format: str | None = None,
    codec: str | None = None,
    trust: bool = False,
    columns: list[str] | None = None,
    encoding: str | None = None,
) -> Any:
    """Read a file of any format Tare knows.

    Args:
        path: A path, ``-`` for standard input, or a binary file object.
        format: Id of the format, when neither bytes nor name tell.
        codec: Read with exactly this codec, and give its own in-memory kind.
        trust: Read files that can run code; only for files you trust.
        columns: Names of the columns to read; all by default.
        encoding: Encoding of a text that is not UTF-8.

    Returns:
        A table as `pyarrow.Table`, a document as Python values; with `codec`, what its library gives.

    Raises:
        DecodeError: The file is not what it should be; format and offset are given.
        NotTrusted: Reading would run code, and nobody allowed it.
        UsageError: No such format, codec or column.
        OSError: The file cannot be read.
    """
    if codec is not None:
        chosen = of_files(Codec.parse(codec))
        return read_by_codec(find(path, format=chosen.format_id), chosen, trust=trust, columns=columns)
    name = None
    if not isinstance(path, str) or path == "-" or os.path.exists(path):
        source = find(path, format=format, encoding=encoding)
        if source.format in objects.FORMATS:
            return objects.read(source, columns=columns, encoding=encoding)
        if source.data is not None:  # what could be read once only
            path, name = source.data, source.name
    return open_dataset(
        path, format=format, allow_pickle=trust, columns=columns, encoding=encoding, name=name
    ).value


def write(obj: Any, path: Any, *, codec: str | None = None, sync: bool = True) -> int:
    """Write a document or table to a file, which appears whole or not at all.

    Args:
        obj: A document, or a pandas, polars or Arrow table, or a `Dataset`.
        path: The file, replaced if it is there; or a binary file object.
        codec: Codec id; by default what the name's ending stands for, as in ``x.csv.zst``.
        sync: Whether to wait until the bytes are on the disk.

    Returns:
        Bytes written.

    Raises:
        EncodeError: The format cannot hold the value.
        UsageError: Neither codec nor name say which format.
        OSError: The file cannot be written; what was there is untouched.
    """
    value = obj.value if isinstance(obj, Dataset) else obj
    chosen = codec_for(path, codec)
    if objects.writes(chosen):
        return objects.write(value, path, chosen, sync=sync).bytes
    chosen = usual_codec(chosen, codec, kinds.kind_of(value))
    if hasattr(path, "write"):
        return chosen.write(value, path)
    with atomic.replacing(path, sync=sync) as file:
        return chosen.write(value, file)


@option_named("--from")  # as `tare convert` has it
def convert(  # noqa: PLR0913 - each is an option of the command
    src: Any,
    dst: Any,
    *,
    codec: str | None = None,
    format: str | None = None,
    columns: list[str] | None = None,
    encoding: str | None = None,
    verify: bool | None = None,
    allow_pickle: bool = False,
    allow_loss: bool = False,
    overwrite: bool = True,
    data_only: bool = False,
    variable: str | None = None,
    strict: bool = False,
    sync: bool = True,
    on_progress: Callable[[int, int], None] | None = None,
) -> Conversion:
    """Convert a file from one format to another.

    Large tables go batch by batch in bounded memory where both formats allow it. The
    result appears under its name only when it is complete. If it was verified and a
    value changed, nothing is written, unless `allow_loss`; a changed type is only reported.
    Nor is anything of a file that changes while it is read: one whose size or time is another, or that is
    replaced between two looks. A change that keeps both is not seen. A text that is replaced by renaming
    is what was opened, if it was opened before.

    Args:
        src: What `open_dataset` opens. A pipe is read once, as standard input is.
        dst: The file to write, or a binary file object.
        codec: Codec id of the result; by default what the name's ending stands for.
        format: Id of the source's format, when neither bytes nor name tell; or of a codec that reads it, such as
            ``yaml:ruamel``.
        columns: Names of the columns to convert; all by default.
        encoding: Encoding of a source text that is not UTF-8.
        verify: Read the result back and compare. By default if the data are below 64 MiB. Where only
            the compression changes, bytes are compared by default; True also reads their values.
        allow_pickle: Read sources that can run code; only for files you trust.
        allow_loss: Keep a result in which values changed.
        overwrite: Whether a file that is there may be replaced.
        data_only: Leave out promises, functions, bytecode, active bindings and external pointers of R, from
            R and into it; each is a loss.
        variable: Name of the variable of an RData file to convert; all by default, which a format of tables
            takes if it is one.
        strict: Write nothing if an R object would lose something, which `Conversion.losses` tells without it, or a
            CSV its comment lines, which a note tells.
        sync: Whether to wait until the bytes are on the disk.
        on_progress: Called with bytes of the source read so far and its bytes in all, for large
            sources; for Parquet and Arrow files that is reckoned from rows and batches.

    Raises:
        FileExistsError: `dst` is there and may not be replaced.
        EncodeError: The format cannot hold the data, or values would change.
        LossError: Something of an R object would be lost, or comment lines of a CSV, and ``strict``.
        UsageError: ``data_only`` where neither side is a format of R; ``variable`` where the source is no
            RData file, or has none of that name.
        SourceChanged: The source changed while it was read.
        TareError: The source cannot be read; as `open_dataset`.
    """
    target = codec_for(dst, codec)
    refuse_target(dst, overwrite=overwrite)
    job = _Job(
        target, codec, dst, columns, encoding, allow_loss, verify, data_only, strict, sync, overwrite, on_progress
    )  # fmt: skip
    source = _source(src, format, encoding)
    job.source = source.path if source is not None else None
    if data_only:
        objects.refuse_without_r(source.format if source is not None else None, target)
    objects.select_variable(source, variable)
    if source is not None and source.format in objects.FORMATS:
        source.tabular = target.format.kinds == {"table"}
        source.keyed = objects.keeps_keys(usual_codec(target, codec, "table"))
    left = "what came out is not to be used" if hasattr(dst, "write") else "nothing was written"
    with (
        watching(source, left) as job.watch,
        SourceReading(source, job.watch, dst, verify=verify, allow_loss=allow_loss) as job.reading,
    ):
        return _convert(src, source, job, format=format, allow_pickle=allow_pickle)


def inspect(
    path: Any,
    *,
    format: str | None = None,
    max_bytes: int = 128 << 20,
    tree: bool = False,
    everything: bool = False,
) -> Inspection:
    """Say what a file is and where its bytes go; nothing in it is run.

    Args:
        path: A path, ``-`` for standard input, or a binary file object.
        format: Id of the format, when neither bytes nor name tell.
        max_bytes: How much of a large file is looked at; what follows is estimated, and said to be.
        tree: Of files of R: also the structure of what they hold, in lines.
        everything: Whether that has every line.

    Returns:
        Format, version, compression, kind, columns or shape, parts by bytes, flags, notes.

    Raises:
        OSError, UsageError: The file cannot be read; there is no such format.
    """
    from tare.inspecting.report import inspect as run

    return run(path, format=format, max_bytes=max_bytes, tree=tree, everything=everything)


@dataclass
class _Job:
    """One conversion's settings."""

    codec: Codec
    given: str | None
    dst: Any
    columns: list[str] | None
    encoding: str | None
    allow_loss: bool
    verify: bool | None
    data_only: bool
    strict: bool
    sync: bool
    overwrite: bool
    on_progress: Callable[[int, int], None] | None
    source: str | None = None
    again: dict[str, Any] = field(default_factory=dict)
    reading: SourceReading = field(init=False)
    watch: Watch = field(default_factory=lambda: Watch("", None, lambda: None))


def _convert(
    src: Any, source: Source | None, job: _Job, *, format: str | None, allow_pickle: bool
) -> Conversion:
    """The way that source and target allow; each ends its reading by a check, before it writes a name."""
    losses = Losses()
    if source is not None:
        target, same = job.codec, _same_bytes(source, job.codec, job)
        if objects.stays(source.format, target) and job.columns is None and (job.data_only or not same):
            return _object(source, job)
        if same:
            if job.verify:
                open_dataset(replace(source, notes=[]), allow_pickle=allow_pickle)  # or raises
            source.skipped = b""
            return _recompress(source, job)
        if job.strict and (error := loss_of(source)) is not None:
            raise error
        if job.data_only and source.format in objects.FORMATS and source.format != "fst":
            return _whole(_data_only(source, job, losses), source, job, losses)
        if _streams(source, target, job):
            with contextlib.suppress(Unsupported):  # such as a CSV with stray quotes: read whole
                return _streamed(source, job)
        if (done := _elements(source, job)) is not None:
            return done
        if (done := _of_lines(source, job)) is not None:
            return done
    data = open_dataset(
        src if source is None else source, format=format, allow_pickle=allow_pickle, encoding=job.encoding,
        columns=job.columns, check_names=True, losses=losses,
    )  # fmt: skip
    job.reading.begin(data.value, columns=job.columns, encoding=job.encoding, notes=data.notes)
    try:
        settle(losses, [], strict=job.strict, what=printable(data.name))
        return _whole(data, source, job, losses)
    except (TareError, OSError):
        job.reading.end()  # what is wrong with the source comes first
        raise


def _elements(source: Source, job: _Job) -> Conversion | None:
    """Lines of JSON into an array, or an array into lines, by their own text; None if they are read as documents."""
    asked = job.columns is not None or job.encoding is not None
    if asked or not json_elements.may_copy(source, job.codec, job.given):
        return None
    small = bool(job.verify) or source.size * (6 if source.compressors else 1) <= VERIFY_BYTES
    verify = job.verify is not False and small  # by the texts: some numbers of JSON are no value here
    notes = [*source.notes, "each value's own text was copied"]
    parts: Iterable[tuple[bytes, int]] = json_elements.pieces(source, job.codec)
    try:
        if small:
            parts = list(parts)
            notes += filter(None, [json_elements.repeated_note(source)])
        elif hasattr(job.dst, "write"):  # what went into a file object is not taken back
            for _ in json_elements.pieces(source, job.codec):
                pass
        if verify:
            text = b"".join(text for text, _ in parts)
            again = json_elements.read_back(source, job.codec, text, thorough=bool(job.verify))
            if again is None:
                return None
            notes += judge(again, job.codec.format_id, "the result", result=True, allow_loss=job.allow_loss)
            job.again["result"] = again.as_dict()
        else:
            notes.append("not verified; --verify reads it back")
        rows, size = _copied(source, job, parts)
    except json_elements.NotCopied:
        if not job.allow_loss:
            json_elements.refuse_non_finite(source, job.codec)
        return None
    return Conversion(
        source.format, str(job.codec), rows, source.size, size, not small, verify, False, [], [], notes, job.again
    )  # fmt: skip


def _of_lines(source: Source, job: _Job) -> Conversion | None:
    """Lines of JSON into a table, no value of which is Python's; None if they are read as the documents that they are."""
    goes = job.encoding is None and line_tables.becomes_columns(source, job.codec, job.verify)
    found = line_tables.table_of(source, columns=job.columns) if goes else None
    if found is None:
        return None
    data = of_source(source, Loaded(found[0], "table", notes=source.notes))
    try:
        job.reading.begin(data.value, columns=job.columns, encoding=None, notes=data.notes)
        return _whole(data, source, job, Losses(), counted=found[1])
    except (DecodeError, EncodeError, Unsupported) as error:
        if changes.tells_loss(error):
            job.verify = True  # documents have more bytes, which else might not be compared
        return None  # whatever is wrong is said of the documents


def _data_only(source: Source, job: _Job, losses: Losses) -> Dataset:
    """A file of R without what is no data."""
    value = objects.data_of(source, encoding=job.encoding, columns=job.columns, losses=losses)
    job.watch.check()
    told = formats.get(source.format)
    data = Dataset(value, name=source.name, format=told, bytes_disk=source.size, notes=tuple(source.notes))
    settle(losses, [], strict=job.strict, what=printable(data.name))
    return data


def _source(src: Any, format: str | None, encoding: str | None) -> Source | None:
    """Where the bytes come from; None for what is no file, such as a table or the name of built-in data."""
    path = isinstance(src, str) and (src == "-" or os.path.exists(src))
    known = path or isinstance(src, os.PathLike) or hasattr(src, "read")
    return find(src, format=format, encoding=encoding) if known else None


@contextlib.contextmanager
def _opened(job: _Job) -> Iterator[BinaryIO]:
    if hasattr(job.dst, "write"):
        yield cast(BinaryIO, job.dst)
        return
    try:
        with atomic.replacing(job.dst, sync=job.sync, exclusive=not job.overwrite, source=job.source) as file:
            yield file
            job.reading.end()
    except FileExistsError as error:  # another conversion was quicker
        raise already_there(job.dst) from error


def _object(source: Source, job: _Job) -> Conversion:
    """From one format of R to another: every object stays what it is."""
    held = objects.read_object(source, encoding=job.encoding)
    job.watch.check()
    value, losses, note = objects.of_name(held, job.codec, source.name)
    verify = source.size <= VERIFY_BYTES if job.verify is None else job.verify
    done = objects.write(value, None, job.codec, data_only=job.data_only, strict=job.strict, kept=True)
    if verify and not done.loss:
        objects.same(value, done.data, job.codec)
    with _opened(job) as file:
        file.write(done.data)
    return Conversion(
        source.format, str(job.codec), 0, source.size, done.bytes, False, verify and not done.loss, False, [],
        [loss.as_dict() for loss in [*losses, *done.loss]],
        [*source.notes, *filter(None, [note]), *objects.notes_of(job.codec)],
    )  # fmt: skip


def _whole(
    data: Dataset, source: Source | None, job: _Job, losses: Losses, counted: Any = None
) -> Conversion:
    codec = usual_codec(job.codec, job.given, data.kind if counted is None else "document")
    left_out = False
    hint = objects.encoding_hint(losses, data.value)
    of_r = data.format is not None and data.format.id in objects.FORMATS
    if data.kind == "table" and of_r:
        data = copy.copy(data)  # which may be the caller's
        data.value = objects.with_losses_told(data.value, codec, losses, strict=job.strict, name=data.name)
    line_of = source.line_of if source is not None and source.format == "ndjson" else None
    verify = data.bytes_memory <= VERIFY_BYTES if job.verify is None else job.verify
    later = not verify and not hasattr(job.dst, "write")  # what went into a file object is not taken back
    refuse_rows_of_nothing(data.value, codec, source)
    advise = partial(advising, data.name, data.value, data.kind, given=job.given, line_of=line_of, hint=hint)
    with advise(codec):
        if data.kind == "table" and objects.writes(codec):
            done = objects.write(data.value, None, codec, data_only=job.data_only, strict=job.strict)
            losses += done.loss
            left_out = job.data_only and bool(done.loss)
            written = Encoded(done.data, codec)
        else:
            written = encode(data.value, data.kind, codec, job.given, later=later, base64=not hint)
            codec = written.codec
            written = written if counted is None else replace(written, counted=counted)
            gone = objects.not_kept(losses, data.value, data.kind, codec, written.counted if of_r else ())
            losses += gone
            settle(gone, [], strict=job.strict, what=printable(data.name))
    verify = verify and not left_out  # it differs, as was asked for
    found = changes_of(written.counted, nulls_alone=verify and counted is None)
    repeated = repeated_notes(data.value.schema) if data.kind == "table" else []
    notes = [
        *dict.fromkeys([*data.notes, *repeated, *filter(None, [hint.removesuffix(". ")])]),
        *objects.notes_of(codec, data.value),
        *written.told,
    ]
    further: list[str] = []
    if verify:
        changed, again = _verify(data, written.data, codec, job)
        # Nulls of documents are of no type that could change.
        found += [
            one for one in changed if counted is None or (one["verdict"], one.get("from")) != ("type", "null")
        ]
        further += judge(again, codec.format_id, "the result", result=True, allow_loss=job.allow_loss)
        job.again["result"] = again.as_dict()
    elif not left_out:
        some = job.verify is None and not objects.writes(codec)  # R's writers tell what they lose
        unread = partial(unverified_changes, allow_loss=job.allow_loss, some=some)
        found += unread(data.value, data.name, codec, job.given)
    if not verify:
        found += _non_finite(data, codec, job)
        further += written.notes
        further.append(
            f"not verified{', as something was left out' if left_out else '; --verify reads it back'}"
        )
    with _opened(job) as file, advise(codec):
        size = written.write(file)
    return Conversion(
        data.format.id if data.format is not None else data.source_kind, str(codec), data.items,
        data.bytes_disk or 0, size, False, verify, False, changes.without_told(found, losses),
        [loss.as_dict() for loss in losses], [*notes, *job.reading.notes, *further],
        {**job.reading.found, **job.again},
    )  # fmt: skip


def _non_finite(data: Dataset, codec: Codec, job: _Job) -> list[dict[str, Any]]:
    """NaN and infinities on their way into JSON, which are found without reading it back.

    Raises:
        EncodeError: There are some, and no loss is allowed.
    """
    if data.kind != "table":
        found = changes.non_finite_losses(codec, data.value, data.kind)
        return changes.allowed(found, codec, allow_loss=job.allow_loss)
    finite = NonFinite(codec, allow_loss=job.allow_loss)
    finite.pass_over(data.value)
    return finite.changes


def _verify(
    data: Dataset, encoded: bytes, codec: Codec, job: _Job
) -> tuple[list[dict[str, Any]], SecondReading]:
    """What `read` would give back beside what was written, and what another reader reads.

    Raises:
        EncodeError: A value changed, and no loss is allowed.
    """
    if codec.format_id == "ndjson" and not data.items:  # no rows are no text: there is nothing to read
        none = SecondReading(why="there is nothing to read")
        return (changes.table_changes(data.value, []) if data.kind == "table" else []), none
    result = find(encoded, format=codec.format_id, name="the result")
    # Our own bytes: nothing foreign is run when a pickle is read back.
    back, found = read_back(
        data.value, data.name, result, codec, lambda source: open_dataset(source, allow_pickle=True).value
    )
    found = [*changes.non_finite_losses(codec, back, data.kind), *found]
    changes.allowed(found, codec, allow_loss=job.allow_loss)
    again = read_again(Request(result, back, thorough=bool(job.verify)))
    return found, again


def _same_bytes(source: Source, target: Codec, job: _Job) -> bool:
    """Whether only the compression differs: then the very bytes are kept."""
    codec = job.given
    plain = codec is None or (
        not target.settings and codec.partition("+")[0] in (target.format_id, str(target).partition("+")[0])
    )
    same = source.format == target.format_id and not target.settings and plain
    return (
        same
        and job.columns is None
        and job.encoding is None
        and source.variable is None
        and source.path is not None
        and bool(source.compressors or target.compressor)
    )


def _recompress(source: Source, job: _Job) -> Conversion:
    compare = source.size <= VERIFY_BYTES if job.verify is None else job.verify
    _, size = _copied(source, job, ((step, 0) for step in source.steps()), compare=compare)
    other = f", not written again by {job.codec.library_name}" * (":" in codec_part(job.given or ""))
    note = f"only the compression changed: the same bytes were copied{other}"
    if compare and job.codec.compressor is not None:
        note += ", decompressed again and compared"
    if not job.verify:
        note += f"; whether they are valid {source.format} was not checked (--verify reads them)"
    return Conversion(
        source.format, str(job.codec), 0, source.size, size, True, bool(job.verify), True, [], [],
        [*source.notes, note, *objects.notes_of(job.codec)],
    )  # fmt: skip


def _copied(
    source: Source, job: _Job, parts: Iterable[tuple[bytes, int]], *, compare: bool = False
) -> tuple[int, int]:
    """Writes pieces of text; gives how many values they have, and the bytes that were written."""
    rows = 0
    with _opened(job) as file:
        counted = Counted(file)
        with batches.compressing(cast(BinaryIO, counted), compressor_of(job.codec), compare=compare) as out:
            for text, count in parts:
                out.write(text)
                rows += count
                if job.on_progress is not None:
                    job.on_progress(min(source.done, source.size), source.size)
        job.watch.check()
    return rows, counted.count


def _streams(source: Source, target: Codec, job: _Job) -> bool:
    large = source.size * (6 if source.compressors or source.format == "parquet" else 1) > STREAM_BYTES
    simple = target.library_name in ("pyarrow", "orjson") and job.encoding is None and source.reader is None
    return (
        source.path is not None and large and simple and not job.verify and source.format in batches.READ and target.format_id in batches.WRITTEN
        and not (source.format == target.format_id == "ndjson")
    )  # fmt: skip


def _streamed(source: Source, job: _Job) -> Conversion:
    """Lines of JSON are read once if the types of the first are those of all: else what was written is begun again."""
    if source.format == "ndjson" and not hasattr(job.dst, "write"):
        with contextlib.suppress(line_tables.Contradicted):
            return _stream(source, job, *line_tables.batches_of_once(source, job.columns))
    return _stream(source, job, *dictionaries.rows_for(source, job.codec, job.columns))


def _stream(source: Source, job: _Job, schema: pa.Schema, rows: Iterator[pa.RecordBatch]) -> Conversion:
    import pyarrow as pa

    codec = usual_codec(job.codec, job.given, "table")
    found = changes.allowed(changes.type_losses(schema, codec), codec, allow_loss=job.allow_loss)
    finite = NonFinite(codec, allow_loss=job.allow_loss)
    source.counted, count, batch = [], 0, None
    with _opened(job) as file:
        counted = Counted(file)
        try:
            with (
                batches.compressing(cast(BinaryIO, counted), compressor_of(codec)) as out,
                batches.writer(out, codec, schema) as writer,
            ):
                for batch in rows:
                    finite.pass_over(batch)
                    writer.write_batch(batch)
                    count += batch.num_rows
                    if job.on_progress is not None:
                        job.on_progress(min(source.done, source.size), source.size)
        except (pa.ArrowException, EncodeError, Unsupported, OSError) as error:
            gone = bool(counted.count) and hasattr(job.dst, "write")  # which is not taken back
            if not (count or gone):
                refuse_first(schema, batch or next(rows, None), codec, job.given, source.name)
            raise batches.refusal(error, codec, rows=count, is_gone=gone) from None
        job.watch.check()
    found += [*finite.changes, *changes_of(source.counted, nulls_alone=False)]
    notes = [*dict.fromkeys([*source.notes, *repeated_notes(schema)]), _BY_BATCHES]
    return Conversion(
        source.format, str(codec), count, source.size, counted.count, True, False, False, found, [], notes
    )
