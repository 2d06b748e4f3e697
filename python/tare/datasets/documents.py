"""Documents from files: JSON read exactly, NDJSON, YAML, MessagePack, pickle and what the registry has."""

from __future__ import annotations

import functools
import io
import json
import re
from collections.abc import Callable
from typing import Any

from tare import collector
from tare.datasets import (
    encoding_hints,
    encodings,
    far_dates,
    json_check,
    json_numbers,
    jsonscan,
    on_end,
    prefixes,
    recognise,
    repeats,
    stretches,
    yaml_notes,
)
from tare.datasets.avro_plain import table_of_avro
from tare.datasets.nesting import FLATTEN, MAX_DEPTH, check_tree
from tare.datasets.numbers import finite, has_infinity, has_long_number, may_overflow
from tare.datasets.source import Source, printable
from tare.errors import (
    DecodeError,
    EncodeError,
    Limit,
    Malformed,
    MissingLibrary,
    NotTrusted,
    TareError,
    Truncated,
    Unsupported,
)
from tare.formats import yaml_tags
from tare.formats.avro_bounds import bounded_rows

__all__ = ["FIRST", "MAX_DEPTH", "SPREAD", "load", "parse_json", "parse_lines", "parse_whole"]

FIRST, SPREAD = "first rows", "blocks of items"
_PROBE_BYTES = 1 << 20
_LINES_BYTES = 1 << 20
_WALKED = 200  # items of a list whose bytes in memory stand for those of all
_CHECKED_BYTES = (
    16 << 20
)  # from which on JSON is looked at before it is read: the values are many times as large
_HEAD_BYTES = 4096  # that tell the encoding
_GROWS = 3  # what a byte of text is taken to become in memory, at the least
_TOO_DEEP = re.compile(r"StackError|nest|recurs|depth", re.IGNORECASE)
_INFINITE = re.compile(rb"inf", re.IGNORECASE)  # a word that means it
_LONG = re.compile(rb"[0-9]{19}")  # as numbers.has_long_number has it
# Formats whose values are trees: nothing can be shared, so nothing must be looked up.
_TREES = ("msgpack", "cbor", "bson", "avro", "blit")
# But for the tags 25 and 29 of CBOR, which stand for a text or value that was there before, in heads of any length.
_SHARED_IN_CBOR = re.compile(rb"(?:\xd8|\xd9\0|\xda\0{3}|\xdb\0{7})[\x19\x1d]")
# Why a file of a format that can be read in part is not.
_WHOLE = dict.fromkeys(prefixes.READ, "a file that is one value and no list, or damaged, is read whole")
_FAR = "Where the file is made, write it as a number, or as missing if it stands for no date."
_CUT = "The file was cut: fetch or write it again."
_SPACE = re.compile(r"[ \t\r\n]*")  # of JSON


def load(
    source: Source,
    *,
    max_bytes: int | None = None,
    encoding: str | None = None,
    allow_pickle: bool = False,
    check_names: bool = False,
    enough_bytes: int | None = None,
) -> tuple[Any, float, str]:
    """Read the document, or as much of it as fits in memory.

    Args:
        source: The file; its format decides how it is read.
        max_bytes: Bound on the value's bytes in memory, for the formats that can be read in part.
        encoding: The text's encoding if it is not UTF-8.
        allow_pickle: Whether a file may be read that names code to run.
        check_names: Note a name that stands twice in one object, and what YAML has beside its values.
        enough_bytes: Bytes in memory that suffice where the file is JSON whose items can be read from all over it.

    Returns:
        The value, the share of the file's bytes that was read, and which part that is where it is below 1:
        ``blocks of items`` spread over the file, or its ``first rows``.

    Raises:
        Truncated, Malformed: Not what the format says; the offset is given.
        Limit: Nested too deeply, or larger than can be read.
        NotTrusted: Reading would run code.
    """
    readers: dict[str, Callable[[Source, bytes], Any]] = {
        "json": parse_whole,
        "ndjson": parse_lines,
        "yaml": _yaml,
    }
    read = None if source.reader is not None else readers.get(source.format)
    if read is not None and (enough := min(filter(None, (max_bytes, enough_bytes)), default=0)):
        spread = _spread(source, enough, encoding, read)
        if spread is not None:
            return (*spread, SPREAD)
    large = max_bytes is not None and source.size * (8 if source.compressors else 1) * _GROWS > max_bytes
    if read is None:
        if max_bytes is not None and large and source.format in prefixes.READ:
            part = _first_items(source, max_bytes)
            if part is not None:
                return (*part, FIRST)
        value = _other(source, max_bytes, allow_pickle, encoding)
        if check_names and source.format == "yaml":
            source.notes += filter(None, [yaml_notes.note_dropped(source.read()[0])])
        if check_names and source.format in repeats.BINARY:
            source.notes += filter(None, [repeats.told_of(source.format, source.read()[0])])
        return value, 1.0, FIRST
    limit = None
    if max_bytes is not None and large:
        limit = _limit(source, max_bytes, encoding, read)
    data, share = source.read(limit)
    if encoding is None and recognise.encoding_of(data[:4]) is None:
        _refuse_two_bytes(source, data)
    data = encodings.to_utf8(source, data, encoding, final=share == 1.0)
    if share < 1.0:
        whole, used = _whole(source, data)
        share, data = share * used / len(data), whole
    if re.search(rb"\S", data) is None:
        if source.format == "ndjson":  # which writes a list without an item as a blank line
            return [], share, FIRST
        raise source.error(Truncated, "it holds white space only", offset=0, advice="Write it again.")
    if share == 1.0 and len(data) >= _CHECKED_BYTES and source.format in ("json", "ndjson"):
        _refuse_early(source, data)
    value = read(source, data)
    if check_names and source.format in ("json", "ndjson"):
        source.notes += filter(None, [repeats.told(data, lines=source.format == "ndjson")])
    if check_names and source.format == "yaml":
        source.notes += filter(None, [yaml_notes.note_dropped(data)])
    return value, share, FIRST


def _refuse_early(source: Source, data: bytes) -> None:
    """Refuses JSON that is cut or damaged before the values that stand before the place are made."""
    lines = source.format == "ndjson"
    found = json_check.first_wrong(data, lines=lines)
    if found is not None and lines:
        raise _line_fault(source, data, found.offset, found.text, found.error)
    if found is not None:
        raise _json_fault(source, found.text, found.error, base=found.offset)


def _refuse_two_bytes(source: Source, data: bytes) -> None:
    """Refuses UTF-16 without a byte order mark: some of it is UTF-8 with a NUL behind each character.

    Raises:
        Malformed: It is; the encoding is named.
    """
    at = data.find(b"\0", 0, _HEAD_BYTES)
    if at >= 0 and (two := encoding_hints.without_mark(data[:_HEAD_BYTES])):
        advice = f"It may be {two}: read it with --encoding {two}."
        raise source.error(Malformed, "half of its bytes are NUL", offset=at, advice=advice)


def _spread(
    source: Source, enough: int, encoding: str | None, read: Callable[[Source, bytes], Any]
) -> tuple[Any, float] | None:
    """As many items of JSON as suffice, from all over the file, and their share of it; None where all, or the first, are read."""
    if source.format not in ("json", "ndjson") or source.size * _GROWS <= enough:
        return None
    if encoding is not None and encodings.codecs_name(encoding) != "utf-8":
        return None
    notes = list(source.notes)
    try:
        limit = _limit(source, enough, encoding, read)
        found = None if limit is None else stretches.spread(source, limit)
        if found is not None:
            return read(source, encodings.to_utf8(source, found[0], encoding)), found[1]
    except TareError:
        pass  # reading from the beginning names the place of what is wrong
    source.notes[:] = notes
    return None


def parse_json(data: bytes) -> Any:
    """Read JSON without changing a value: integers of any length stay integers, NaN stays NaN.

    Raises:
        ValueError: It is no JSON, or has a number that no double holds.
        RecursionError: It is nested deeper than can be read.

    >>> parse_json(b'[18446744073709551616, NaN]')
    [18446744073709551616, nan]
    """
    return _parsed(data)[0]


def _parsed(data: bytes) -> tuple[Any, bool]:
    """Returns what `parse_json` does, and whether orjson read it: then JSON is known to carry it exactly."""
    import orjson

    if not has_long_number(data):
        try:
            return orjson.loads(data), True
        except orjson.JSONDecodeError:
            pass  # perhaps NaN or half a surrogate pair, which the standard library takes
    return _exactly(data, wide=may_overflow(data)), False


def _exactly(data: bytes, *, wide: bool) -> Any:
    """By the standard library, which makes an infinity of a number that no double holds, unless it is asked for each."""
    return json.loads(data, parse_float=finite) if wide else json.loads(data)


def _parse_line(data: bytes, *, wide: bool) -> Any:
    """As `parse_json`; of a line it is quicker to search than to stride."""
    import orjson

    return _exactly(data, wide=wide) if _LONG.search(data) else orjson.loads(data)


def parse_whole(source: Source, data: bytes) -> Any:
    """Read JSON of a file as exactly as `parse_json` does.

    Raises:
        Truncated, Malformed, Limit: It is no JSON; the offset is given.
    """
    try:
        with collector.paused():
            value, source.plain = _parsed(data)
    except (ValueError, RecursionError) as error:
        values = _on_end(source, data) if getattr(error, "msg", "") == "Extra data" else None
        if values is None:
            raise _json_fault(source, data, error) from None
        source.notes.append(f"{len(values):,} JSON values on end, read as a list")
        return values
    return value


def _on_end(source: Source, data: bytes) -> list[Any] | None:
    """Returns objects and arrays that stand one behind the other; None if something else follows the first."""
    text = data.decode("utf-8", "surrogatepass")
    decoder = json.JSONDecoder(parse_float=finite) if may_overflow(data) else json.JSONDecoder()
    values: list[Any] = []
    at = 0
    while space := _SPACE.match(text, at):  # it matches nothing too
        at = space.end()
        if at == len(text):
            break
        if text[at] not in "{[":
            return None
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            rest, before = (
                text[at:].encode("utf-8", "surrogatepass"),
                len(text[:at].encode("utf-8", "surrogatepass")),
            )
            if isinstance(error, json.JSONDecodeError):
                error.pos -= at
            raise _json_fault(
                source, rest, error, base=before, where=f" in value {len(values) + 1:,}"
            ) from None
        values.append(value)
    return values


def parse_lines(source: Source, data: bytes) -> list[Any]:
    """Read NDJSON as exactly as `parse_json` does, one value a line; empty lines are skipped.

    Raises:
        Truncated, Malformed, Limit: A line is no JSON; its number and offset are given.
    """
    import orjson

    loads: Callable[[bytes], Any] = orjson.loads
    plain = True
    if has_long_number(data):
        loads, plain = functools.partial(_parse_line, wide=may_overflow(data)), False
    values: list[Any] = []
    at = number = 0
    source.blank_lines = []
    with collector.paused():
        while at < len(data):
            # A piece at a time: the lines of all of it would need the memory of the text and more.
            end = data.find(b"\n", at + _LINES_BYTES) + 1 or len(data)
            lines = data[at:end].split(b"\n")
            if not lines[-1]:
                lines.pop()
            try:
                values += list(map(loads, lines))
            except (ValueError, RecursionError):  # of an empty line too
                found, loaded = _one_by_one(source, data, (at, end, number), loads)
                values += found
                plain = plain and loaded
            at, number = end, number + len(lines)
    source.plain = plain
    return values


def _one_by_one(
    source: Source, data: bytes, part: tuple[int, int, int], loads: Callable[[bytes], Any]
) -> tuple[list[Any], bool]:
    """Returns the values of the lines between two bytes of a text, the first of which has a number; and whether `loads` read all."""
    values: list[Any] = []
    plain = True
    at, end, first = part
    for number, whole in enumerate(io.BytesIO(data[at:end]), first):
        line = whole.removesuffix(b"\n")
        if line.strip():
            try:
                values.append(loads(line))
            except (ValueError, RecursionError):
                plain = False
                try:
                    values.append(parse_json(line))
                except (ValueError, RecursionError) as error:
                    raise _line_fault(source, data, at, line, error) from None
        else:
            source.blank_lines.append(number)
        at += len(whole)
    return values, plain


def _line_fault(source: Source, data: bytes, at: int, line: bytes, error: Exception) -> TareError:
    number = data.count(b"\n", 0, at) + 1
    fault = _json_fault(source, line, error, base=at, where=f" in line {number:,}")
    # A line with its end was written whole: only what follows the last line end can be cut.
    if isinstance(fault, Truncated) and at + len(line) < len(data):
        return source.error(
            Malformed, f"line {number:,} is not one whole JSON value", offset=at, advice="Repair that line."
        )
    return fault


def _json_fault(
    source: Source, data: bytes, error: Exception, *, base: int = 0, where: str = ""
) -> TareError:
    """What is wrong with JSON text: nested too deeply, cut, or malformed at a byte."""
    found = jsonscan.scan(data, max_depth=MAX_DEPTH)
    if found.too_deep_at is not None:
        return source.error(
            Limit,
            f"nested {found.depth:,} levels deep{where}; at most {MAX_DEPTH:,} are read",
            offset=base + found.too_deep_at,
            advice=FLATTEN,
        )
    position = getattr(error, "pos", None)
    text = getattr(error, "msg", None) or str(error)
    if position is None:
        place = f"{where.removeprefix(' in ')}: " if where else ""
        if (found_number := json_numbers.first_unread(data)) is not None:
            return _number_fault(source, found_number, base, place)
        return source.error(Malformed, place + printable(text), advice="Repair it.")
    at = len(data.decode("utf-8", "replace")[:position].encode())
    # A string that never ends is reported where it starts.
    if (found.open_levels > 0 or found.in_string) and (
        at >= len(data.rstrip()) or text.startswith("Unterminated")
    ):
        return source.error(
            Truncated,
            f"it ends inside {'a string' if found.in_string else 'an array or object'}{where}",
            offset=base + len(data),
            advice="The file was cut: fetch or write it again.",
        )
    if at >= len(data.rstrip()):
        return source.error(
            Truncated, f"it ends too early{where}", offset=base + len(data), advice="Fetch or write it again."
        )
    context = printable(data[at : at + 20].decode("utf-8", "replace"), 40)
    return source.error(
        Malformed, f"{text}{where}, near {context!a}", offset=base + at, advice="Repair it there."
    )


def _number_fault(source: Source, found: json_numbers.Unread, base: int, place: str) -> TareError:
    """A number that no value here holds; JSON has it, so that text that is copied keeps it."""
    at = f", at {printable(found.pointer, 80)}" if found.pointer else ""
    return source.error(
        Unsupported if found.is_integer else Malformed,
        f"{place}{found.text}{at}",
        offset=base + found.offset,
        advice="Write it as text, in quotes; arrays of JSON and NDJSON become each other with any number.",
    )


def _yaml(source: Source, data: bytes) -> Any:
    try:
        import yaml
    except ImportError:
        raise MissingLibrary("Reading YAML needs PyYAML. Install it with: pip install PyYAML") from None
    readings = yaml_notes.Readings()
    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    core = yaml_notes.says_core(data)
    loader = yaml_notes.core_loader(base, readings) if core else yaml_notes.loader(base, readings)
    _yaml_depth(source, data)
    try:
        values = list(yaml.load_all(data, Loader=loader))  # a safe loader
    except yaml.YAMLError as error:
        raise _yaml_fault(source, data, error) from None
    except RecursionError:
        raise source.error(Limit, f"nested deeper than {MAX_DEPTH:,} levels", advice=FLATTEN) from None
    except (ValueError, TypeError, OverflowError) as error:  # such as a date on the 31st of February
        raise source.error(
            Malformed, printable(str(error)), advice="Quote the value that is meant as text."
        ) from None
    value = values[0] if len(values) == 1 else values
    if len(values) > 1:
        source.notes.append(f"{len(values):,} YAML documents, read as a list")
    check_tree(source, value, shares=b"*" in data, size=len(data))
    source.notes += filter(None, [readings.note(), readings.note_finer(), repeats.note(readings.repeated)])
    return value


def _yaml_depth(source: Source, data: bytes) -> None:
    """Refuse what no loader survives before it is loaded: brackets and items nested in lines."""
    if data.count(b"[") + data.count(b"{") > MAX_DEPTH:
        found = jsonscan.scan(data, max_depth=MAX_DEPTH)
        # Apostrophes in text confuse the count; a really deep file has as many opens in a row.
        if found.too_deep_at is not None and re.search(rb"(?:[\[{]\s*){%d}" % MAX_DEPTH, data):
            raise source.error(
                Limit, f"nested {found.depth:,} levels deep; at most {MAX_DEPTH:,} are read",
                offset=found.too_deep_at, advice=FLATTEN,
            )  # fmt: skip
    deep = re.search(rb"(?:- ){%d}" % MAX_DEPTH, data)
    if deep is not None:
        raise source.error(
            Limit,
            f"nested deeper than {MAX_DEPTH:,} levels",
            offset=deep.start() + 2 * MAX_DEPTH,
            advice=FLATTEN,
        )


def _yaml_fault(source: Source, data: bytes, error: Any) -> TareError:
    mark = getattr(error, "problem_mark", None)
    problem = printable(str(getattr(error, "problem", None) or error).split("\n")[0], 160)
    if mark is None:
        return source.error(Malformed, problem, advice="Repair it.")
    at = min(len(data.decode("utf-8", "replace")[: mark.index].encode()), len(data))
    if "nesting depth" in problem:  # libyaml 0.2.6 counts for itself, to as many levels
        return source.error(Limit, f"nested deeper than {MAX_DEPTH:,} levels", offset=at, advice=FLATTEN)
    if problem == "found unhashable key":
        said = f"a list or mapping as a key, which is not read, in line {mark.line + 1:,}"
        return source.error(Unsupported, said, offset=at, advice="Write it as a list of pairs.")
    where = f"{problem} in line {mark.line + 1:,}"
    if advice := yaml_tags.advice_of(error):
        return source.error(
            Unsupported if yaml_tags.is_foreign(error) else Malformed, where, offset=at, advice=advice
        )
    if at >= len(data.rstrip()):
        return source.error(Truncated, where, offset=at, advice=_CUT)
    return source.error(Malformed, where, offset=at, advice="Repair it there.")


def _other(source: Source, max_bytes: int | None, allow_pickle: bool, encoding: str | None) -> Any:
    """Formats that are read whole, by their codec."""
    from tare.codec import Codec, decode_exactly

    codec = source.reader or Codec.parse(source.format)
    format, own = codec.format, "" if source.reader else source.format
    if codec.executes_code and not allow_pickle:
        raise NotTrusted(
            f"{printable(source.name)}: {format.id}: reading it can run any code that the file names. If you trust who "
            "wrote it, say --allow-pickle (allow_pickle=True). `tare inspect` shows what it would import, running nothing.",
            format=format.id,
            path=source.path,
        )
    if max_bytes is not None and source.size > max_bytes:
        raise source.error(
            Limit,
            f"{source.size:,} bytes do not fit in {max_bytes:,}, and {_WHOLE.get(source.format, 'this format is read whole')}",
            advice="Raise the limit (max_bytes= in Python), or convert it to NDJSON or Parquet on a larger machine.",
        )
    data, _ = source.read(None if max_bytes is None else max_bytes * 2)
    if format.text:
        data = encodings.to_utf8(source, data, encoding)
    try:
        with collector.paused():
            read = table_of_avro if own == "avro" else on_end.READERS.get(own)
            if read is not None:
                value = read(source, data, functools.partial(decode_exactly, codec))
            else:
                value = decode_exactly(codec, data, trust=allow_pickle)
    except DecodeError as error:
        value = on_end.msgpack_values(source, data) if source.format == "msgpack" else None
        if value is None:
            text = printable(re.sub(r"^[\w,=:]+: ", "", str(error)), 160).rstrip(".")
            if error.offset is not None:
                text = text.removesuffix(f", at byte {error.offset}")
            if _TOO_DEEP.search(text):
                raise source.error(Limit, "nested deeper than its reader goes", advice=FLATTEN) from None
            if far := far_dates.first_far(source.format, data):
                raise source.error(
                    Unsupported,
                    f"{printable(far, 160)}, beyond the years 1 to 9999, which dates have here",
                    advice=_FAR,
                ) from None
            if own and (fault := _fault_of(own, data)):
                raise source.error(fault.kind, fault.what, offset=fault.offset, advice=fault.advice) from None
            again = f"Fetch it again, or say {recognise.format_option()}."
            advice = _CUT if isinstance(error, Truncated) else again
            raise source.error(type(error), text, offset=error.offset, advice=advice) from None
    except Limit as error:
        if error.offset is None:
            raise
        raise source.error(Limit, str(error), offset=error.offset, advice="Expand it elsewhere.") from None
    except RecursionError:
        value = None
        raise source.error(Limit, f"nested deeper than {MAX_DEPTH:,} levels", advice=FLATTEN) from None
    except EncodeError as error:  # a table whose columns have no one type
        if own != "avro":
            raise
        value = _rows_of_avro(source, data, error)
    shares = source.format not in _TREES or (
        source.format == "cbor" and _SHARED_IN_CBOR.search(data) is not None
    )
    check_tree(source, value, shares=shares, size=len(data))
    if format.text and may_overflow(data) and _INFINITE.search(data) is None and has_infinity(value):
        source.notes.append("a number that is larger, or less, than any double was read as an infinity")
    return value


def _fault_of(format: str, data: bytes) -> Any:
    """What is wrong with bytes, where their reader names no place."""
    from tare.datasets import avro_faults, binary_faults, bson_faults

    find = {"avro": avro_faults.first_fault, "bson": bson_faults.first_fault}.get(format)
    return binary_faults.first_fault(format, data) if find is None else find(data)


def _rows_of_avro(source: Source, data: bytes, error: TareError) -> list[Any]:
    """Returns values as they are, where they are no rows, or a union of several types is no column: documents hold them."""
    rows = list(bounded_rows(io.BytesIO(data)))
    if error.path is None:
        source.notes.append("its values are not records: read as a list")
        return rows
    where = f" (column {printable(error.path, 40)!r})"
    source.notes.append(f"a union of several types is none of a table's{where}: read as a list of objects")
    return rows


def _first_items(source: Source, max_bytes: int) -> tuple[Any, float] | None:
    """As many items as fit; None if the whole must be read, which also names what is wrong with it."""
    try:
        found = prefixes.first_items(source, max_bytes)
    except Exception:  # the readers of four libraries, each with errors of its own
        return None
    if found is not None:
        check_tree(source, found[0], shares=source.format == "cbor")
    return found


def _whole(source: Source, data: bytes) -> tuple[bytes, int]:
    """The part of a beginning that can be parsed, and how many bytes it stands for."""
    if source.format in ("ndjson", "yaml"):
        # A document of YAML ends where the next begins.
        end = data.rfind(b"\n" if source.format == "ndjson" else b"\n---") + 1
        whole, used = data[:end], end
    else:
        whole, used = jsonscan.cut(data)
    if not used:
        raise source.error(
            Limit,
            f"no value ends within the first {len(data):,} bytes",
            advice="Raise the memory limit (max_bytes).",
        )
    return whole, used


def _limit(
    source: Source, max_bytes: int, encoding: str | None, read: Callable[[Source, bytes], Any]
) -> int | None:
    """How many bytes of text make a value of `max_bytes`, judged by the first of them."""
    from tare import kinds

    data, share = source.read(min(_PROBE_BYTES, max(max_bytes // 4, 4096)))
    if share == 1.0:
        return None
    if source.format == "yaml" and b"\n---" not in data:  # one document: it is read whole if at all
        if source.size > max_bytes:
            raise source.error(
                Limit,
                f"{source.size:,} bytes do not fit in {max_bytes:,}, and one YAML document is read whole",
                advice="Raise the limit (max_bytes= in Python), or convert it to NDJSON on a larger machine.",
            )
        return None
    notes = list(source.notes)
    data, used = _whole(source, encodings.to_utf8(source, data, encoding, final=False))
    value, share = read(source, data), 1.0
    source.notes[:] = notes
    if isinstance(value, list) and len(value) > 2 * _WALKED:  # walking all of it takes longer than reading it
        some = value[:: len(value) // _WALKED]
        value, share = some, len(some) / len(value)
    per_byte = kinds.resident_bytes(value) / share / max(used, 1)
    limit = max(int(max_bytes / max(per_byte, 0.1)), 4096)
    return None if limit >= source.size and not source.compressors else limit
